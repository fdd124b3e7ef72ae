package listings_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/domain/saved"
)

// begun begins what is due, and returns it as it would be sent.
func (w *telling) begun(t *testing.T, minutes int) (out []saved.Notice) {
	t.Helper()

	due, err := w.Begin(t.Context(), 100, 100, dbtest.Start, dbtest.After(minutes))
	require.NoError(t, err)
	for _, d := range due {
		n, err := w.Notice(t.Context(), d.Tenant, d.ID)
		require.NoError(t, err)
		out = append(out, n)
	}
	return out
}

// An e-mail address and a Telegram chat are asked first, told only what is found after they were confirmed, and nothing
// once they are stopped.
func TestSavedOwned(t *testing.T) {
	t.Parallel()
	for _, kind := range []saved.Channel{saved.Email, saved.Telegram} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			savedOwned(t, kind)
		})
	}
}

func savedOwned(t *testing.T, kind saved.Channel) {
	w := newTelling(t)
	search := saved.Search{
		ID: uuid.New(), Tenant: "acme", Name: "all", Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start, CreatedAt: dbtest.Start,
		Language: saved.French,
	}
	require.NoError(t, w.Add(t.Context(), search, []dblistings.NewTarget{{
		SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: kind}, Token: sum("mail"), Sum: sum("jo"),
	}}, "test"))
	again := dblistings.NewTarget{SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: kind}, Token: sum("again"), Sum: sum("jo")}
	err := w.AddTarget(t.Context(), "acme", search.ID, again, "test", dbtest.After(1))
	dbtest.RequireClass(t, fault.Conflict, err)
	require.ErrorContains(t, err, "was asked to confirm in the last 24h0m0s and has not")
	w.advert(t, "1", 1250, 1)
	require.Equal(t, 1, w.match(t, 1))
	got := w.begun(t, 2)
	require.Len(t, got, 1, "the question, and no news")
	require.True(t, got[0].Confirms)
	require.Empty(t, got[0].Items)
	require.Empty(t, got[0].Idle())
	require.Equal(t, saved.French, got[0].Language)
	require.NoError(t, w.EndNotice(t.Context(), "acme", got[0].ID, "sent", "", dbtest.After(2)))

	_, err = w.Confirm(t.Context(), sum("other"), "jo", dbtest.After(3))
	dbtest.RequireClass(t, fault.Gone, err)
	for range 2 {
		s, err := w.Confirm(t.Context(), sum("mail"), "jo", dbtest.After(3))
		require.NoError(t, err)
		require.Equal(t, saved.TargetActive, s.State)
	}
	got[0].Standing = saved.TargetActive
	require.NotEmpty(t, got[0].Idle(), "it is asked no more")
	w.advert(t, "2", 1250, 4)
	require.Equal(t, 1, w.match(t, 4))
	news := w.begun(t, 5)
	require.Len(t, news, 1)
	require.Len(t, news[0].Items, 1)
	require.Equal(t, "https://k.example/2", news[0].Items[0].URL)

	for range 2 {
		s, err := w.Unsubscribe(t.Context(), sum("mail"), "jo", dbtest.After(6))
		require.NoError(t, err)
		require.Equal(t, saved.TargetStopped, s.State)
	}
	_, err = w.Confirm(t.Context(), sum("mail"), "jo", dbtest.After(6))
	dbtest.RequireClass(t, fault.Conflict, err)
	n, err := w.Notice(t.Context(), "acme", news[0].ID)
	require.NoError(t, err)
	require.Equal(t, "the target is stopped", n.Idle(), "what waits is not sent")
	w.advert(t, "3", 1250, 7)
	require.Equal(t, 1, w.match(t, 7))
	require.Empty(t, w.begun(t, 8))
	require.Equal(t, []string{
		"search.saved", "search.target_confirmed", "search.target_stopped",
	}, dbtest.Query[string](t, w.pool, "SELECT action FROM audit WHERE action LIKE 'search%' ORDER BY id"))
}

// A webhook is told nothing before its host has answered its challenge. One that fails says why, makes no dead letter,
// and can be asked again; so can one that was stopped. A tenant asks so many at a time.
func TestSavedWebhookChallenge(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	search := saved.Search{
		ID: uuid.New(), Tenant: "acme", Name: "all", Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start, CreatedAt: dbtest.Start,
	}
	hook := uuid.New()
	require.NoError(t, w.Add(t.Context(), search, []dblistings.NewTarget{{
		SavedTarget: dblistings.SavedTarget{ID: hook, Kind: saved.Webhook}, Token: sum("hook"),
	}}, "test"))
	target := func() dblistings.SavedTarget {
		s, err := w.Get(t.Context(), "acme", search.ID)
		require.NoError(t, err)
		return s.Targets[0]
	}
	again := func(minutes int) error {
		_, err := w.Challenge(t.Context(), "acme", search.ID, hook, "test", dbtest.After(minutes))
		return err
	}
	w.advert(t, "1", 1250, 1)
	require.Equal(t, 1, w.match(t, 1))
	got := w.begun(t, 2)
	require.Len(t, got, 1, "the challenge, and no news")
	require.True(t, got[0].Challenges())
	require.Empty(t, got[0].Idle())
	_, err := w.PutOffNotice(t.Context(), "acme", got[0].ID, missedUntil("the webhook answered 404", 3))
	require.NoError(t, err)
	require.Equal(t, "the webhook answered 404", target().Reason, "while it is tried")
	require.NoError(t, again(2))
	require.Len(t, dbtest.Seen(t, w.pool, "SELECT 1 FROM saved_deliveries"), 1, "it is being asked")
	for range 2 {
		require.NoError(t, w.EndNotice(t.Context(), "acme", got[0].ID, "failed", "the webhook answered 500", dbtest.After(3)))
	}
	require.Equal(t, dblistings.SavedTarget{
		ID: hook, Kind: saved.Webhook, State: saved.TargetUnconfirmed, Reason: "the webhook answered 500",
	}, target())
	require.Zero(t, dbtest.Count(t, w.pool, "dead_letters"))

	require.NoError(t, again(4))
	require.Empty(t, target().Reason)
	got = w.begun(t, 5)
	require.Len(t, got, 1)
	require.Equal(t, []int64{2}, dbtest.Seen(t, w.pool, "SELECT hooks::bigint FROM saved_asks"))
	for range 2 {
		require.NoError(t, w.EndNotice(t.Context(), "acme", got[0].ID, "sent", "", dbtest.After(5)))
	}
	require.Equal(t, dblistings.SavedTarget{ID: hook, Kind: saved.Webhook, State: saved.TargetActive}, target())
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT hooks::bigint FROM saved_asks"))
	dbtest.RequireClass(t, fault.Conflict, again(6))
	w.advert(t, "2", 1250, 6)
	require.Equal(t, 1, w.match(t, 6))
	news := w.begun(t, 7)
	require.Len(t, news, 1)
	require.Len(t, news[0].Items, 1, "of what was found since")

	require.NoError(t, w.FailNotice(t.Context(), "acme", news[0].ID, fault.Gone, "it is gone", dbtest.After(7)))
	require.Equal(t, saved.TargetStopped, target().State)
	require.NoError(t, again(8))
	require.Equal(t, saved.TargetUnconfirmed, target().State)
	dbtest.Seen(t, w.pool, "UPDATE saved_asks SET hooks = 2000 RETURNING 1")
	dbtest.Seen(t, w.pool, "UPDATE saved_deliveries SET state = 'dropped', finished_at = now() WHERE state = 'waiting' RETURNING 1")
	dbtest.RequireClass(t, fault.Conflict, again(9))
	require.Equal(t, []string{
		"search.saved", "search.target_challenged", "search.target_confirmed", "search.target_challenged",
	}, dbtest.Query[string](t, w.pool, "SELECT action FROM audit WHERE action LIKE 'search%' ORDER BY id"))
	_, err = w.Challenge(t.Context(), "other", search.ID, hook, "test", dbtest.After(9))
	dbtest.RequireClass(t, fault.Gone, err)
}

// A target that is gone is stopped, and makes no dead letter.
func TestSavedTargetGone(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	id := w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1250, 1)
	w.match(t, 1)
	n := w.begun(t, 2)[0]
	for range 2 {
		require.NoError(t, w.FailNotice(t.Context(), "acme", n.ID, fault.Gone, "the chat is closed", dbtest.After(2)))
	}
	require.Zero(t, dbtest.Count(t, w.pool, "dead_letters"))
	s, err := w.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, dblistings.SavedTarget{
		ID: n.Target, Kind: saved.Webhook, State: saved.TargetStopped, Reason: "the chat is closed",
	}, s.Targets[indexOf(s.Targets, n.Target)])
	w.advert(t, "2", 1250, 3)
	require.Equal(t, 1, w.match(t, 3))
	require.Empty(t, w.begun(t, 4))
}

func indexOf(targets []dblistings.SavedTarget, id uuid.UUID) int {
	for i, t := range targets {
		if t.ID == id {
			return i
		}
	}
	return -1
}

// A target that is added is told what is found from then on; one that is deleted, nothing more. What it was told stays
// until retention deletes it.
func TestSavedTargets(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	id := w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1250, 1)
	w.match(t, 1)
	late := dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: saved.Telegram}, Token: sum("late"), Sum: sum("late"),
	}
	require.NoError(t, w.AddTarget(t.Context(), "acme", id, late, "test", dbtest.After(2)))
	w.confirmAll(t)
	require.Len(t, w.notices(t, 3), 1)
	w.advert(t, "2", 1250, 4)
	w.match(t, 4)
	begun := w.begun(t, 5)
	require.Len(t, begun, 2)
	deliveries := func() int64 { return dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_deliveries")[0] }
	require.EqualValues(t, 3, deliveries())
	dbtest.RequireClass(t, fault.Gone, w.DeleteTarget(t.Context(), "other", id, late.ID, "test", dbtest.After(6)))
	require.NoError(t, w.DeleteTarget(t.Context(), "acme", id, late.ID, "test", dbtest.After(6)))
	dbtest.RequireClass(t, fault.Gone, w.DeleteTarget(t.Context(), "acme", id, late.ID, "test", dbtest.After(6)))
	require.EqualValues(t, 3, deliveries(), "they may be very many")
	s, err := w.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Len(t, s.Targets, 2)
	list, err := w.List(t.Context(), "acme", "", 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	told, _, err := w.Deliveries(t.Context(), "acme", id, nil, nil, 10)
	require.NoError(t, err)
	require.Len(t, told, 2)
	_, err = w.Subscription(t.Context(), sum("late"))
	dbtest.RequireClass(t, fault.Gone, err)
	require.Equal(t, []int64{0}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_targets WHERE address IS NOT NULL"))
	for _, n := range begun {
		if n.Target == late.ID {
			n, err := w.Notice(t.Context(), "acme", n.ID)
			require.NoError(t, err)
			require.Equal(t, "the target is stopped", n.Idle(), "what waits is not sent")
		}
	}
	w.advert(t, "3", 1250, 6)
	w.match(t, 6)
	require.EqualValues(t, 4, deliveries())
	require.Equal(t, 1+1+1, dbtest.Expire(t, w.pool, retention.Searches, dbtest.After(7)), "an item, a delivery, the target")
	require.EqualValues(t, 3, deliveries())
	require.Equal(t, []int64{1, 2, 3}, dbtest.Seen(t, w.pool, "SELECT (SELECT count(*) FROM saved_searches) UNION ALL "+
		"SELECT count(*) FROM saved_targets UNION ALL SELECT count(*) FROM saved_matches"))
	late.ID, late.Token = uuid.New(), sum("later")
	dbtest.RequireClass(t, fault.Gone, w.AddTarget(t.Context(), "other", id, late, "test", dbtest.After(7)))
	for n := range saved.MaxTargets - 2 {
		late.ID, late.Token, late.Sum = uuid.New(), []byte{byte(n)}, []byte{byte(n)}
		require.NoError(t, w.AddTarget(t.Context(), "acme", id, late, "test", dbtest.After(7)))
	}
	late.ID, late.Token, late.Sum = uuid.New(), sum("too many"), sum("too many")
	dbtest.RequireClass(t, fault.Conflict, w.AddTarget(t.Context(), "acme", id, late, "test", dbtest.After(7)))
}

// What is deleted because it is old makes nothing news again.
func TestSavedRetentionTellsNothingTwice(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1250, 1)
	w.match(t, 1)
	require.Len(t, w.notices(t, 2), 1)
	w.advert(t, "1", 1200, 3)
	w.match(t, 3)
	require.Len(t, w.notices(t, 4), 1)
	for _, kind := range []string{retention.Notices, retention.News} {
		require.Positive(t, dbtest.Expire(t, w.pool, kind, dbtest.After(60*24*365)), kind)
	}
	require.Equal(t, []int64{0}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_deliveries"))
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches"))

	home := refOf("1").ID()
	w.advert(t, "2", 1200, 5)
	for _, id := range []string{"1", "2"} {
		dbtest.Exec(t, w.pool, `INSERT INTO home_members (listing_id, home_id, keys, rent_cents, judged_at)
			VALUES ($1, $2, '{}', 0, now())`, refOf(id).ID(), home)
	}
	require.Zero(t, w.match(t, 5), "a second advert of a home that was told for that rent")
	archive(t, w.listings, 2)
	w.advert(t, "1", 1200, 60*48+1)
	require.Equal(t, 1, w.match(t, 60*48+2))
	require.Equal(t, [][]string{{"Back again: 4 ½ à louer, 1,200 $ a month"}}, w.notices(t, 60*48+3))
}

// What is due and was not tried is late; what was tried, or is due later, is not.
func TestSavedUntried(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	untried := func(minutes int) float64 {
		age, _, err := w.Untried(t.Context(), dbtest.After(minutes))
		require.NoError(t, err)
		return age
	}
	require.Zero(t, untried(1))
	w.search(t, "at once", saved.Criteria{})
	w.search(t, "hourly", saved.Criteria{}, func(s *saved.Search) { s.Schedule.Pace = saved.Hourly })
	w.advert(t, "1", 1250, 1)
	require.Equal(t, 2, w.match(t, 2))
	require.InDelta(t, 180, untried(5), 1)
	n := w.begun(t, 5)
	require.Len(t, n, 1)
	require.InDelta(t, 60, untried(6), 1, "it was begun, and its worker may be dead")
	_, err := w.PutOffNotice(t.Context(), "acme", n[0].ID, saved.Pause{Until: dbtest.After(20)})
	require.NoError(t, err)
	require.Zero(t, untried(15), "it waits for its turn, or for the end of quiet hours")
	require.Zero(t, untried(20))
	require.InDelta(t, 60, untried(21), 1, "it should have been looked at again")
	_, err = w.PutOffNotice(t.Context(), "acme", n[0].ID, missedUntil("HTTP 500", 6))
	require.NoError(t, err)
	require.Zero(t, untried(7))
	require.Positive(t, untried(60*24), "the other one is due")
}
