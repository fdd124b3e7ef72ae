package listings_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A tenant has the default of each quota that it is not given; a change may take one away.
func TestTenantQuotas(t *testing.T) {
	t.Parallel()
	s := db.NewTenants(dbtest.New(t))
	require.NoError(t, s.Create(t.Context(), db.Tenant{
		ID: "acme", Name: "Acme", Tier: "standard", CreatedAt: dbtest.Start, Quotas: db.Quotas{MaxLists: new(int64(0))},
	}, "test"))
	got, err := s.Get(t.Context(), "acme")
	require.NoError(t, err)
	require.Equal(t, db.Quotas{
		MaxContacts: new(int64(10_000_000)), MaxMessagesDay: new(int64(1_000_000)),
		MaxSearches: new(int64(200)), MaxNoticesDay: new(int64(10_000)), MaxLists: new(int64(0)),
		MaxSegments: new(int64(500)), MaxBytes: new(int64(20 << 30)), MaxTargets: new(int64(2000)),
		MaxConditions: new(int64(200)),
	}, got.Quotas)
	_, err = s.Change(t.Context(), "acme", "test", dbtest.After(1), func(t *db.Tenant) { t.MaxBytes = new(int64(-1)) })
	dbtest.RequireClass(t, fault.Invalid, err)
	_, err = s.Change(t.Context(), "acme", "test", dbtest.After(1), func(t *db.Tenant) { t.MaxSearches = nil })
	require.NoError(t, err)
	got, err = s.Get(t.Context(), "acme")
	require.NoError(t, err)
	require.Nil(t, got.MaxSearches)
}

// limits changes the quotas of acme.
func (w *telling) limits(t *testing.T, change func(*db.Tenant)) {
	t.Helper()

	_, err := db.NewTenants(w.pool).Change(t.Context(), "acme", "test", dbtest.Start, change)
	require.NoError(t, err)
}

// One search, list or segment more than the quota is refused; what is there is changed as before.
func TestQuotasOfThings(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.limits(t, func(t *db.Tenant) {
		t.MaxSearches, t.MaxLists, t.MaxSegments = new(int64(1)), new(int64(1)), new(int64(1))
	})
	id := w.search(t, "one", saved.Criteria{})
	err := w.Add(t.Context(), saved.Search{
		ID: uuid.New(), Tenant: "acme", Name: "two", Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start, CreatedAt: dbtest.Start,
	}, nil, "test")
	dbtest.RequireClass(t, fault.Conflict, err)
	require.ErrorContains(t, err, "max_searches")
	require.NoError(t, w.Change(t.Context(), "acme", id, "test", dbtest.After(1), func(s *saved.Search) { s.Name = "1" }))

	people := dboutreach.NewContacts(w.pool, nil)
	for range 2 {
		_, err = people.CreateList(t.Context(), "acme", "one", "test", dbtest.Start)
		require.NoError(t, err)
	}
	_, err = people.CreateList(t.Context(), "acme", "two", "test", dbtest.Start)
	dbtest.RequireClass(t, fault.Conflict, err)
	require.ErrorContains(t, err, "max_lists")

	segment := dboutreach.Segment{ID: uuid.New(), Name: "one", Filter: contact.Filter{Tag: "a"}}
	for range 2 {
		_, err = people.PutSegment(t.Context(), "acme", segment, "test", dbtest.Start)
		require.NoError(t, err)
	}
	segment.ID, segment.Name = uuid.New(), "two"
	_, err = people.PutSegment(t.Context(), "acme", segment, "test", dbtest.Start)
	dbtest.RequireClass(t, fault.Conflict, err)
	require.ErrorContains(t, err, "max_segments")
	_, err = people.PutSegment(t.Context(), "other", segment, "test", dbtest.Start)
	require.NoError(t, err)
}

// All targets of a tenant's searches count for its quota, those of deleted ones and of other tenants do not.
func TestQuotaOfTargets(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	add := func(tenant, name string, targets int) (uuid.UUID, error) {
		s := saved.Search{
			ID: uuid.New(), Tenant: tenant, Name: name, Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start,
			CreatedAt: dbtest.Start,
		}
		var list []dblistings.NewTarget
		for range targets {
			list = append(list, feed())
		}
		return s.ID, w.Add(t.Context(), s, list, "test")
	}
	more := func(tenant string, search uuid.UUID) error {
		return w.AddTarget(t.Context(), tenant, search, feed(), "test", dbtest.Start)
	}
	full := func(err error) {
		t.Helper()
		dbtest.RequireClass(t, fault.Conflict, err)
		require.ErrorContains(t, err, "the tenant has as many targets of saved searches as its quota max_targets allows")
	}
	w.limits(t, func(t *db.Tenant) { t.MaxTargets = new(int64(4)) })
	_, err := add("acme", "more than all", 5)
	full(err)
	first, err := add("acme", "first", 3)
	require.NoError(t, err)
	_, err = add("acme", "second", 2)
	full(err)
	second, err := add("acme", "second", 1)
	require.NoError(t, err)
	full(more("acme", first))
	other, err := add("other", "first", 3)
	require.NoError(t, err)
	require.NoError(t, more("other", other), "each tenant has its own")

	s, err := w.Get(t.Context(), "acme", first)
	require.NoError(t, err)
	require.NoError(t, w.DeleteTarget(t.Context(), "acme", first, s.Targets[0].ID, "test", dbtest.After(1)))
	require.NoError(t, more("acme", second))
	full(more("acme", second))
	require.NoError(t, w.Delete(t.Context(), "acme", first, "test", dbtest.After(1)))
	require.NoError(t, more("acme", second))
	require.NoError(t, more("acme", second))
	full(more("acme", second))
	_, err = add("acme", "none", 0)
	require.NoError(t, err, "it has no target")
	w.limits(t, func(t *db.Tenant) { t.MaxTargets = nil })
	require.NoError(t, more("acme", second))
}

func feed() dblistings.NewTarget {
	id := uuid.New()
	return dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: id, Kind: saved.Feed}, Address: db.Sealed{Key: "k1", Box: []byte("a")}, Token: id[:],
	}
}

// Requests at once take turns: the last place of a quota is that of one of them.
func TestQuotasAtOnce(t *testing.T) {
	t.Parallel()
	w, ctx := newTelling(t), t.Context()
	search := w.search(t, "all", saved.Criteria{}) // with two targets
	w.limits(t, func(t *db.Tenant) {
		t.MaxLists, t.MaxSegments, t.MaxBytes = new(int64(1)), new(int64(1)), new(int64(150))
		t.MaxTargets = new(int64(3))
	})
	people, uploads := dboutreach.NewContacts(w.pool, nil), dboutreach.NewUploads(w.pool)
	tx, err := w.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	for _, text := range []string{
		"SELECT set_config('conveyor.tenant', 'acme', true)", "SELECT FROM tenants WHERE id = 'acme' FOR NO KEY UPDATE",
	} {
		_, err = tx.Exec(ctx, text)
		require.NoError(t, err)
	}
	ended := make(chan error, 8)
	for _, name := range []string{"one", "two"} {
		go func() {
			_, err := people.CreateList(ctx, "acme", name, "test", dbtest.Start)
			ended <- err
		}()
		go func() {
			segment := dboutreach.Segment{ID: uuid.New(), Name: name, Filter: contact.Filter{Tag: "a"}}
			_, err := people.PutSegment(ctx, "acme", segment, "test", dbtest.Start)
			ended <- err
		}()
		go func() { ended <- w.AddTarget(ctx, "acme", search, feed(), "test", dbtest.Start) }()
		go func() {
			_, err := uploads.Create(ctx, dboutreach.Upload{
				ID: uuid.New(), Tenant: "acme", Blob: name, Bytes: 100, SHA256: []byte{1}, CreatedAt: dbtest.Start,
				CreatedBy: "test", FileName: "a.csv",
			})
			ended <- err
		}()
	}
	require.Eventually(t, func() bool {
		return len(ended) > 0 || dbtest.Count(t, w.pool,
			"pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == int64(cap(ended))
	}, servicetest.Patience(), 5*time.Millisecond)
	require.Empty(t, ended, "one did not wait")
	require.NoError(t, tx.Commit(ctx))
	full := 0
	for range cap(ended) {
		if err := <-ended; err != nil {
			dbtest.RequireClass(t, fault.Conflict, err)
			full++
		}
	}
	require.Equal(t, 4, full)
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM contact_lists"))
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM segments"))
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM uploads"))
	require.Equal(t, []int64{3}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_targets"))
}

// The searches of all tenants together have a bounded place in memory.
func TestSavedSlots(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	wide := saved.Criteria{Box: []float64{-73.69, 45.41, -73.63, 45.47}, Bedrooms: []int{0, 1, 2}}
	need, err := wide.Slots()
	require.NoError(t, err)
	require.Greater(t, need, 30)
	id := w.search(t, "first", saved.Criteria{})
	w.system(t, fmt.Sprintf("UPDATE saved_searches SET slots = %d", saved.MaxSlots-need))
	second := w.search(t, "second", wide)
	for _, err := range []error{
		w.Add(t.Context(), saved.Search{
			ID: uuid.New(), Tenant: "other", Name: "third", Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start, CreatedAt: dbtest.Start,
		}, nil, "test"),
		w.Change(t.Context(), "acme", second, "test", dbtest.After(1), func(s *saved.Search) {
			s.Filter.Bedrooms = append(s.Filter.Bedrooms, 3)
		}),
	} {
		dbtest.RequireClass(t, fault.Conflict, err)
		require.ErrorContains(t, err, "no room")
	}
	require.NoError(t, w.Delete(t.Context(), "acme", id, "test", dbtest.After(1)))
	w.search(t, "third", saved.Criteria{})
}

// A tenant is told so many times a day: what is more is dropped, the newest, and says why.
func TestNoticesADay(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	told := func(minutes int) []saved.Notice { // they end: of a target no more than two are under way
		t.Helper()
		notices := w.begun(t, minutes)
		for _, n := range notices {
			require.NoError(t, w.EndNotice(t.Context(), "acme", n.ID, "sent", "", dbtest.After(minutes)))
		}
		return notices
	}
	w.limits(t, func(t *db.Tenant) { t.MaxNoticesDay = new(int64(3)) })
	for n := range 5 {
		w.search(t, fmt.Sprint(n), saved.Criteria{})
	}
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 5, w.match(t, 2))
	require.Len(t, told(3), 3)
	require.Equal(t, []int64{2}, dbtest.Seen(t, w.pool, `SELECT count(*) FROM saved_deliveries
		WHERE state = 'dropped' AND reason LIKE '%max_notices_day%' AND finished_at IS NOT NULL`))
	w.advert(t, "2", 1000, 4)
	require.Equal(t, 5, w.match(t, 5))
	require.Empty(t, told(6))
	w.limits(t, func(t *db.Tenant) { t.MaxNoticesDay = new(int64(5)) })
	w.advert(t, "2b", 1000, 7)
	require.Equal(t, 5, w.match(t, 8))
	require.Len(t, told(9), 2, "what was dropped is not counted")
	w.limits(t, func(t *db.Tenant) { t.MaxNoticesDay = new(int64(3)) })
	const day = 24 * 60
	w.advert(t, "3", 1000, day)
	require.Equal(t, 5, w.match(t, day))
	require.Len(t, told(day+1), 3, "the next day")
	w.limits(t, func(t *db.Tenant) { t.MaxNoticesDay = nil })
	w.advert(t, "4", 1000, day+2)
	require.Equal(t, 5, w.match(t, day+2))
	require.Len(t, told(day+3), 5)
}

// A target to which nothing was delivered for days is stopped, with the reason; one that answered meanwhile is not.
func TestTargetsThatFail(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	search := w.search(t, "all", saved.Criteria{})
	day := 0
	next := func(fail bool) dblistings.SavedTarget {
		day++
		at := day * 24 * 60
		w.advert(t, fmt.Sprint(day), 1000, at)
		require.Equal(t, 1, w.match(t, at))
		for _, n := range w.begun(t, at+1) {
			var err error
			if fail {
				err = w.FailNotice(t.Context(), "acme", n.ID, fault.Transient, "HTTP 500", dbtest.After(at+1))
			} else {
				err = w.EndNotice(t.Context(), "acme", n.ID, "sent", "", dbtest.After(at+1))
			}
			require.NoError(t, err)
		}
		s, err := w.Get(t.Context(), "acme", search)
		require.NoError(t, err)
		i := slices.IndexFunc(s.Targets, func(t dblistings.SavedTarget) bool { return t.Kind == saved.Webhook })
		return s.Targets[i]
	}
	for _, fail := range []bool{true, true, true, false, true, true, true} {
		require.Equal(t, saved.TargetActive, next(fail).State, day)
	}
	stopped := next(true)
	require.Equal(t, saved.TargetStopped, stopped.State)
	require.Equal(t, "nothing could be delivered for 3 days: HTTP 500", stopped.Reason)
}

// Files of a tenant, held ones too, and copies count until they are deleted.
func TestUploadsRoom(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.limits(t, func(t *db.Tenant) { t.MaxBytes = new(int64(1000)) })
	s := dboutreach.NewUploads(w.pool)
	room := func() int64 {
		left, err := s.Room(t.Context(), "acme", uuid.Nil)
		require.NoError(t, err)
		return *left
	}
	add := func(state dboutreach.UploadState) dboutreach.Upload {
		u, err := s.Create(t.Context(), dboutreach.Upload{
			ID: uuid.New(), Tenant: "acme", Blob: uuid.NewString(), Bytes: 100, SHA256: []byte{1}, CreatedAt: dbtest.Start, State: state,
			CreatedBy: "test", FileName: "a.csv",
		})
		require.NoError(t, err)
		return u
	}
	require.EqualValues(t, 1000, room())
	add(dboutreach.UploadHeld)
	u := add(dboutreach.UploadReceived)
	require.EqualValues(t, 800, room())
	require.ErrorIs(t, s.Copied(t.Context(), "acme", u.ID, 801), contact.ErrRoom, "others took the room")
	require.EqualValues(t, 800, room())
	require.NoError(t, s.Copied(t.Context(), "acme", u.ID, 800))
	require.NoError(t, s.Planned(t.Context(), "acme", u.ID, json.RawMessage("{}"), "copy", dbtest.After(1)))
	require.Zero(t, room())
	anew, err := s.Room(t.Context(), "acme", u.ID)
	require.NoError(t, err)
	require.EqualValues(t, 800, *anew, "its copy is made anew")
	_, err = s.Cancel(t.Context(), "acme", u.ID, "test", dbtest.After(2))
	require.NoError(t, err)
	for more := true; more; {
		more, err = s.Sweep(t.Context(), "acme", u.ID, 10, dbtest.After(3))
		require.NoError(t, err)
	}
	require.EqualValues(t, 800, room())
	got, err := s.Get(t.Context(), "acme", u.ID)
	require.NoError(t, err)
	require.Empty(t, got.Copy)
	w.limits(t, func(t *db.Tenant) { t.MaxBytes = nil })
	left, err := s.Room(t.Context(), "acme", uuid.Nil)
	require.NoError(t, err)
	require.Nil(t, left)
}
