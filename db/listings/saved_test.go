package listings_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

// telling is a database with listings and saved searches of acme.
type telling struct {
	*dblistings.Saved
	listings *dblistings.Listings
	matcher  *dblistings.SavedMatcher
	pool     *pgxpool.Pool
	scrapes  map[string]int64
}

func newTelling(t *testing.T) *telling {
	t.Helper()

	pool := dbtest.New(t)
	s := dblistings.NewSaved(pool)
	for _, id := range []string{"acme", "other"} {
		require.NoError(t, db.NewTenants(pool).Create(t.Context(), db.Tenant{
			ID: id, Name: id, Tier: campaign.Standard, Region: "CA", CreatedAt: dbtest.Start,
		}, "test"))
	}
	return &telling{s, dblistings.NewListings(pool), s.Matcher(), pool, map[string]int64{}}
}

// search saves a search with a webhook, which is confirmed, and a feed, whose tokens are the name with -hook and -feed.
func (w *telling) search(t *testing.T, name string, f saved.Criteria, change ...func(*saved.Search)) uuid.UUID {
	t.Helper()

	s := saved.Search{
		ID: uuid.New(), Tenant: "acme", Name: name, Filter: f, Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start,
		CreatedAt: dbtest.Start,
	}
	for _, c := range change {
		c(&s)
	}
	target := func(kind saved.Channel, token string) dblistings.NewTarget {
		return dblistings.NewTarget{SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: kind}, Token: sum(token)}
	}
	require.NoError(t, w.Add(t.Context(), s, []dblistings.NewTarget{
		target(saved.Webhook, name+"-hook"), target(saved.Feed, name+"-feed"),
	}, "test"))
	w.confirmAll(t)
	return s.ID
}

// confirmAll makes the targets active that are to be asked, as if they had never been.
func (w *telling) confirmAll(t *testing.T) {
	t.Helper()

	dbtest.Seen(t, w.pool, `WITH asked AS (DELETE FROM saved_deliveries WHERE confirms RETURNING target)
		UPDATE saved_targets SET state = 'active' WHERE id IN (SELECT target FROM asked) RETURNING 1`)
}

func sum(s string) []byte {
	h := sha256.Sum256([]byte(s))
	return h[:]
}

// advert publishes an advert with a rent in CAD.
func (w *telling) advert(t *testing.T, id string, rent int64, minutes int) {
	t.Helper()

	l := normalized(refOf(id))
	l.RentCents = rent * 100
	w.scrapes[id]++
	a := arrival(l.Ref, l.Title, minutes)
	a.ContentHash = sum(id + time.Duration(rent).String() + time.Duration(minutes).String())
	receive(t, w.listings, a)
	publish(t, w.listings, l, w.scrapes[id], minutes)
}

// match compares what waits, and returns how many news were found.
func (w *telling) match(t *testing.T, minutes int) int {
	t.Helper()

	done, err := w.matcher.Next(t.Context(), 100, dbtest.After(minutes))
	require.NoError(t, err)
	return done.Matches
}

// notices begins what is due, and returns the headlines of each.
func (w *telling) notices(t *testing.T, minutes int) (out [][]string) {
	t.Helper()

	due, err := w.Begin(t.Context(), 100, 100, dbtest.Start, dbtest.After(minutes))
	require.NoError(t, err)
	for _, d := range due {
		n, err := w.Notice(t.Context(), d.Tenant, d.ID)
		require.NoError(t, err)
		require.True(t, n.On)
		var lines []string
		for _, i := range n.Items {
			lines = append(lines, i.Headline())
		}
		out = append(out, lines)
		require.NoError(t, w.EndNotice(t.Context(), d.Tenant, d.ID, "sent", "", dbtest.After(minutes)))
	}
	return out
}

// A search is told once of what is new, of a rent that fell, and of what is back.
func TestSavedMatches(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.advert(t, "old", 1000, 0)
	require.Zero(t, w.match(t, 0), "there is no search")
	w.search(t, "cheap", saved.Criteria{MaxPrice: 1300, Bedrooms: []int{2}, Text: "louer"})
	w.search(t, "dear", saved.Criteria{MinPrice: 5000})
	w.search(t, "paused", saved.Criteria{}, func(s *saved.Search) { s.State = saved.Paused })

	w.advert(t, "1", 1250, 1)
	w.advert(t, "2", 1400, 1)
	require.Equal(t, 1, w.match(t, 2))
	require.Zero(t, w.match(t, 2), "nothing waits")
	require.Equal(t, [][]string{{"New: 4 ½ à louer, 1,250 $ a month"}}, w.notices(t, 3))
	require.Empty(t, w.notices(t, 3))

	w.advert(t, "1", 1200, 4)
	w.advert(t, "2", 1300, 4) // its rent brings it into the search
	require.Equal(t, 2, w.match(t, 5))
	require.Equal(t, [][]string{{
		"Price drop: 4 ½ à louer, 1,200 $ a month instead of 1,250 $", "New: 4 ½ à louer, 1,300 $ a month",
	}}, w.notices(t, 6))

	w.advert(t, "1", 1260, 7) // dearer
	require.Zero(t, w.match(t, 8))
	archive(t, w.listings, 3)
	require.Zero(t, w.match(t, 60*48), "what is gone is no news")
	w.advert(t, "1", 1260, 60*48+1)
	require.Equal(t, 1, w.match(t, 60*48+2))
	require.Equal(t, [][]string{{"Back again: 4 ½ à louer, 1,260 $ a month"}}, w.notices(t, 60*48+3))

	f, err := w.Feed(t.Context(), sum("cheap-feed"), 10)
	require.NoError(t, err)
	require.Equal(t, "cheap", f.Name)
	require.Len(t, f.Items, 4)
	require.Equal(t, saved.Back, f.Items[0].Kind)
	_, err = w.Feed(t.Context(), sum("cheap-hook"), 10)
	dbtest.RequireClass(t, fault.Gone, err)
}

// A home is told once however many adverts it has, unless one is cheaper.
func TestSavedHomes(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1250, 1)
	w.advert(t, "2", 1250, 1)
	w.advert(t, "3", 1200, 1)
	home := refOf("1").ID()
	for _, id := range []string{"1", "2", "3"} {
		dbtest.Exec(t, w.pool, `INSERT INTO home_members (listing_id, home_id, keys, rent_cents, judged_at)
			VALUES ($1, $2, '{}', 0, now())`, refOf(id).ID(), home)
	}
	require.Equal(t, 2, w.match(t, 2))
	require.Equal(t, [][]string{{"New: 4 ½ à louer, 1,200 $ a month"}}, w.notices(t, 3))
	w.advert(t, "2", 1200, 4)
	require.Zero(t, w.match(t, 5), "it was told for that rent already")
	w.advert(t, "1", 1240, 6)
	require.Zero(t, w.match(t, 7), "it is offered for less by the advert that was told")
	w.advert(t, "2", 1190, 8)
	require.Equal(t, 1, w.match(t, 9))
	require.Equal(t, [][]string{{"Price drop: 4 ½ à louer, 1,190 $ a month instead of 1,200 $"}}, w.notices(t, 10))
	w.advert(t, "2", 1230, 11)
	w.advert(t, "3", 1150, 12)
	w.advert(t, "1", 1220, 12)
	require.Equal(t, 1, w.match(t, 13), "of the cheapest one alone")
	w.advert(t, "3", 1300, 14)
	w.advert(t, "1", 1210, 15)
	require.Equal(t, 1, w.match(t, 16), "what was told is dearer now")

	found, total, all, err := w.Try(t.Context(), saved.Criteria{MaxPrice: 1250}, dbtest.Start, 10)
	require.NoError(t, err)
	require.True(t, all)
	require.Equal(t, 1, total)
	require.Len(t, found, 1)
}

// An advert that is shown in place of another is no news of its home, which was on offer all the time, unless it is
// cheaper: though the other one is archived some time before this one is published. So it is where it was published before.
func TestSavedTakeover(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	judge := func(l listing.Listing, minutes int, prefer ...string) {
		v, err := w.listings.Load(t.Context(), l.ID())
		require.NoError(t, err)
		_, _, err = w.listings.JoinHome(t.Context(), v, prefer, runOf(l.Ref), dbtest.After(minutes))
		require.NoError(t, err)
	}
	takeOver := func(l listing.Listing, minutes int, prefer string) {
		r := receive(t, w.listings, arrival(l.Ref, fmt.Sprint(l.Title, l.RentCents), minutes))
		require.NoError(t, w.listings.SaveNormalized(t.Context(), l, payload(r.Revision), dbtest.After(minutes)))
		judge(l, minutes, prefer)
		v, err := w.listings.Load(t.Context(), l.ID())
		require.NoError(t, err)
		_, err = w.listings.Publish(t.Context(), listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(minutes+1))
		require.NoError(t, err)
		require.Contains(t, visible(t, w.pool), l.Ref.String())
	}
	for n, cheaper := range []int64{0, 100} {
		first, twin := flat("kijiji", n), flat("kangalou", n)
		twin.RentCents -= cheaper
		pass(t, w.listings, first, 10*n)
		require.Equal(t, 1, w.match(t, 10*n+1))
		require.Len(t, w.notices(t, 10*n+2), 1)
		takeOver(twin, 10*n+3, "kangalou")
		if want := n; want != w.match(t, 10*n+5) {
			t.Errorf("a twin that is %d cheaper: told %v", cheaper, w.notices(t, 10*n+6))
		}
	}
	require.Equal(t, [][]string{{"Price drop: 4 ½ à louer, 1,249 $ a month instead of 1,250 $"}}, w.notices(t, 20))

	first := flat("kijiji", 0)
	first.Title += " !"
	takeOver(first, 30, "kijiji")
	require.Zero(t, w.match(t, 32), "it is shown again, in place of the twin")
}

// A tenant that is stopped is told nothing, and nobody reads its feeds.
func TestSavedOfStoppedTenant(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 1, w.match(t, 2))
	due, err := w.Begin(t.Context(), 100, 100, dbtest.Start, dbtest.After(3))
	require.NoError(t, err)
	require.Len(t, due, 1)
	state := func(to db.TenantState) (idle string, feed error) {
		_, err := db.NewTenants(w.pool).Change(t.Context(), "acme", "test", dbtest.After(3), func(t *db.Tenant) { t.State = to })
		require.NoError(t, err)
		n, err := w.Notice(t.Context(), "acme", due[0].ID)
		require.NoError(t, err)
		_, feed = w.Feed(t.Context(), sum("all-feed"), 10)
		return n.Idle(), feed
	}
	idle, feed := state(db.TenantStopped)
	require.Equal(t, "the tenant is stopped", idle)
	dbtest.RequireClass(t, fault.Gone, feed)
	idle, feed = state(db.TenantActive)
	require.Empty(t, idle)
	require.NoError(t, feed)
}

// What is found in an hour is told together, and what comes while that is sent is told with the next.
func TestSavedDigest(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "hourly", saved.Criteria{}, func(s *saved.Search) { s.Schedule.Pace = saved.Hourly })
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 1, w.match(t, 1))
	w.advert(t, "2", 2000, 2)
	require.Equal(t, 1, w.match(t, 2))
	require.Empty(t, w.notices(t, 3))
	w.advert(t, "3", 3000, 4)
	due, err := w.Begin(t.Context(), 10, 10, dbtest.Start, dbtest.After(60))
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, 1, w.match(t, 4), "the same hour, which is being told")
	again, err := w.Begin(t.Context(), 10, 10, dbtest.Start, dbtest.After(60))
	require.NoError(t, err)
	require.Empty(t, again, "it was begun")
	again, err = w.Begin(t.Context(), 10, 10, dbtest.After(61), dbtest.After(62))
	require.NoError(t, err)
	require.Contains(t, again, due[0], "its process may have died")
	n, err := w.Notice(t.Context(), "acme", due[0].ID)
	require.NoError(t, err)
	require.Len(t, n.Items, 2)
	require.Equal(t, []int64{1, 1, 1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_items GROUP BY event"))
	require.Equal(t, []int64{2}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_deliveries"))
}

// What nothing was compared with until its digest was over is told soon, together, and not with the next one.
func TestSavedDigestThatWasMissed(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "daily", saved.Criteria{}, func(s *saved.Search) {
		s.Schedule = saved.Schedule{Pace: saved.Daily, At: dbtest.After(60).UTC().Format("15:04"), TimeZone: "UTC"}
	})
	w.advert(t, "1", 1000, 1)
	w.advert(t, "2", 2000, 59)
	w.advert(t, "3", 3000, 61)
	for range 3 {
		done, err := w.matcher.Next(t.Context(), 1, dbtest.After(62))
		require.NoError(t, err)
		require.Equal(t, 1, done.Matches)
	}
	require.Empty(t, w.notices(t, 62))
	told := w.notices(t, 72)
	require.Len(t, told, 1)
	require.Len(t, told[0], 2)
	require.Empty(t, w.notices(t, 60+24*60-1))
	require.Len(t, w.notices(t, 60+24*60), 1)
}

// What is compared after an outage is one digest, however long that takes.
func TestSavedDigestAfterOutage(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "daily", saved.Criteria{}, func(s *saved.Search) {
		s.Schedule = saved.Schedule{Pace: saved.Daily, At: dbtest.After(60).UTC().Format("15:04"), TimeZone: "UTC"}
	})
	for i := range 6 {
		w.advert(t, fmt.Sprint(i), 1000, 10+i)
	}
	for i := range 5 {
		at := 100 + 5*i
		done, err := w.matcher.Next(t.Context(), 1, dbtest.After(at))
		require.NoError(t, err)
		require.Equal(t, 1, done.Matches)
		require.Empty(t, w.notices(t, at+4), "more may come")
	}
	told := w.notices(t, 130)
	require.Len(t, told, 1)
	require.Len(t, told[0], 5)
	w.advert(t, "next", 1000, 131)
	require.Equal(t, 2, w.match(t, 60+24*60-2), "one late, which is told with the next digest, and one of it")
	told = w.notices(t, 60+24*60)
	require.Len(t, told, 1)
	require.Len(t, told[0], 2)
}

// Of a target that is slow no more than two messages are under way: what comes meanwhile is told by one more. One that
// a failure has put off keeps nothing from it.
func TestSavedBusyTarget(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	var due []dblistings.DueNotice
	for i := range 6 {
		w.advert(t, fmt.Sprint(i), 1000, i+1)
		require.Equal(t, 1, w.match(t, i+1))
		begun, err := w.Begin(t.Context(), 100, 100, dbtest.Start.Add(-time.Hour), dbtest.After(i+1))
		require.NoError(t, err)
		due = append(due, begun...)
	}
	require.Len(t, due, 2)
	require.Equal(t, []int64{3}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_deliveries"))
	age, _, err := w.Untried(t.Context(), dbtest.After(10))
	require.NoError(t, err)
	require.InDelta(t, (9 * time.Minute).Seconds(), age, 1, "those that are under way are not tried")
	for _, d := range due {
		_, err := w.PutOffNotice(t.Context(), "acme", d.ID, saved.Pause{Until: dbtest.After(20)})
		require.NoError(t, err)
	}
	age, _, err = w.Untried(t.Context(), dbtest.After(10))
	require.NoError(t, err)
	require.Zero(t, age, "it waits for its target")
	require.Empty(t, w.notices(t, 11))
	_, err = w.PutOffNotice(t.Context(), "acme", due[0].ID, missedUntil("HTTP 500", 20))
	require.NoError(t, err)
	told := w.notices(t, 11)
	require.Len(t, told, 1)
	require.Len(t, told[0], 4)

	// One that is replayed may have arrived: it stays as it is.
	require.NoError(t, w.FailNotice(t.Context(), "acme", due[0].ID, fault.Transient, "HTTP 500", dbtest.After(12)))
	letter := dbtest.Query[int64](t, w.pool, `SELECT id FROM dead_letters WHERE queue = 'notify' AND tenant = 'acme'`)
	_, err = db.NewDeadLetters(w.pool, dblistings.Reopeners()).Replay(t.Context(), letter[0], false, "ops", dbtest.After(13))
	require.NoError(t, err)
	w.advert(t, "new", 1000, 14)
	require.Equal(t, 1, w.match(t, 14))
	n, err := w.Notice(t.Context(), "acme", due[0].ID)
	require.NoError(t, err)
	require.Len(t, n.Items, 1)
}

// A delivery that fails is a dead letter, and a replay of it makes it once more.
func TestSavedNoticeFails(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	id := w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1250, 1)
	w.match(t, 2)
	due, err := w.Begin(t.Context(), 10, 10, dbtest.Start, dbtest.After(3))
	require.NoError(t, err)
	require.Len(t, due, 1)
	_, err = w.Notice(t.Context(), "other", due[0].ID)
	dbtest.RequireClass(t, fault.Gone, err)
	tries, err := w.PutOffNotice(t.Context(), "acme", due[0].ID, missedUntil("HTTP 500", 4))
	require.NoError(t, err)
	require.Equal(t, 1, tries)
	for range 2 {
		require.NoError(t, w.FailNotice(t.Context(), "acme", due[0].ID, fault.Transient, "HTTP 500", dbtest.After(4)))
	}
	_, err = w.PutOffNotice(t.Context(), "acme", due[0].ID, missedUntil("x", 5))
	dbtest.RequireClass(t, fault.Conflict, err)
	letters := db.NewDeadLetters(w.pool, dblistings.Reopeners())
	number := dbtest.Query[int64](t, w.pool, `SELECT id FROM dead_letters WHERE queue = 'notify' AND tenant = 'acme'`)
	require.Len(t, number, 1)
	_, err = letters.Replay(t.Context(), number[0], false, "ops", dbtest.After(5))
	require.NoError(t, err)
	require.Equal(t, []string{"replayed"}, dbtest.LetterStates(t, w.pool))
	require.Len(t, w.notices(t, 6), 1)
	require.Equal(t, []string{"resolved"}, dbtest.LetterStates(t, w.pool), "it was sent")

	require.NoError(t, w.Delete(t.Context(), "acme", id, "test", dbtest.After(7)))
	n, err := w.Notice(t.Context(), "acme", due[0].ID)
	require.NoError(t, err)
	require.Equal(t, "the target is stopped", n.Idle())
	_, err = letters.Replay(t.Context(), number[0], true, "ops", dbtest.After(7))
	dbtest.RequireClass(t, fault.Gone, err)
	dbtest.RequireClass(t, fault.Gone, w.Delete(t.Context(), "acme", id, "test", dbtest.After(7)))
	w.advert(t, "2", 1250, 8)
	require.Zero(t, w.match(t, 9), "the matcher knows that it is gone")
}

// numbered are so many different words.
func numbered(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("w%d", i))
	}
	return strings.Join(list, " ")
}

// A search is changed for what comes after, and is seen by its tenant alone.
func TestSavedChange(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	id := w.search(t, "all", saved.Criteria{})
	require.NoError(t, w.Change(t.Context(), "acme", id, "test", dbtest.After(1), func(s *saved.Search) { s.State = saved.Paused }))
	w.advert(t, "1", 1250, 2)
	require.Zero(t, w.match(t, 2))
	require.NoError(t, w.Change(t.Context(), "acme", id, "test", dbtest.After(3), func(s *saved.Search) {
		s.State, s.Filter.MaxPrice = saved.Active, 1000
	}))
	w.advert(t, "2", 900, 4)
	w.advert(t, "3", 1100, 4)
	require.Equal(t, 1, w.match(t, 5))
	got, err := w.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Len(t, got.Targets, 2)
	require.Equal(t, int64(1000), got.Filter.MaxPrice)
	_, err = w.Get(t.Context(), "other", id)
	dbtest.RequireClass(t, fault.Gone, err)
	list, err := w.List(t.Context(), "acme", "", 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	list, err = w.List(t.Context(), "acme", "all", 10)
	require.NoError(t, err)
	require.Empty(t, list)

	for _, text := range []string{strings.Repeat("w1 ", 100), numbered(40), "lang:fr"} { // saved by rules of another day
		dbtest.ExecAll(t, w.pool, "UPDATE saved_searches SET filter = $2 WHERE id = $1", id, saved.Criteria{Text: text})
		for _, state := range []string{saved.Paused, saved.Active} {
			require.NoError(t, w.Change(t.Context(), "acme", id, "test", dbtest.After(6),
				func(s *saved.Search) { s.Name, s.State = text[:7]+state, state }), text)
		}
	}
	err = w.Change(t.Context(), "acme", id, "test", dbtest.After(6), func(s *saved.Search) { s.Filter.Text = numbered(33) })
	dbtest.RequireClass(t, fault.Invalid, err)
	require.NoError(t, w.Change(t.Context(), "acme", id, "test", dbtest.After(6), func(s *saved.Search) { s.Name = "all" }))

	err = w.Change(t.Context(), "acme", id, "test", dbtest.After(6), func(s *saved.Search) { s.Kinds = nil })
	dbtest.RequireClass(t, fault.Invalid, err)
	same := saved.Search{ID: uuid.New(), Tenant: "acme", Name: "all", Kinds: saved.Kinds, State: saved.Active}
	dbtest.RequireClass(t, fault.Conflict, w.Add(t.Context(), same, nil, "test"))
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_items"))
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches"))
}
