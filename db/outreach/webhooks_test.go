package outreach_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// apply stores and applies a delivery of reports, about messages of the sender of acme where they do not say another.
func (m *mailing) apply(t testing.TB, reports ...campaign.Report) dboutreach.Applied {
	t.Helper()

	for i := range reports {
		reports[i].PhoneNumberID = cmp.Or(reports[i].PhoneNumberID, "acme")
	}
	_, err := m.hooks.Store(t.Context(), []byte(uuid.NewString()), len(reports), 0, time.Now())
	require.NoError(t, err)
	out, err := m.hooks.ApplyNext(t.Context(), 1, time.Now(),
		func(dboutreach.WebhookEvent) ([]campaign.Report, []campaign.Inbound, error) { return reports, nil, nil })
	require.NoError(t, err)
	require.Len(t, out.Received, 1)
	return out.Applied
}

// A delivery is stored once and applied once.
func TestWebhookOnce(t *testing.T) {
	t.Parallel()

	m, ctx, now := newMailing(t), t.Context(), time.Now()
	one, err := m.hooks.Store(ctx, []byte("one"), 1, 0, now)
	require.NoError(t, err)
	again, err := m.hooks.Store(ctx, []byte("one"), 1, 0, time.Now())
	require.NoError(t, err)
	require.Equal(t, one, again)
	two, err := m.hooks.Store(ctx, []byte("two"), 1, 0, now.Add(-time.Minute))
	require.NoError(t, err)
	waiting, err := m.hooks.Waiting(ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, waiting, 2)
	require.Equal(t, []byte("one"), waiting[0].Body)
	n, oldest, err := m.hooks.Backlog(ctx, 10, now)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	require.InDelta(t, 60, oldest, 0.001)

	out, err := m.hooks.Apply(ctx, one, nil, nil, time.Now())
	require.NoError(t, err)
	require.Equal(t, dboutreach.Applied{}, out)
	out, err = m.hooks.Apply(ctx, one, nil, nil, time.Now())
	require.NoError(t, err)
	require.True(t, out.Again)
	require.NoError(t, m.hooks.Fail(ctx, two, "not JSON", time.Now()))
	waiting, err = m.hooks.Waiting(ctx, 0, 10)
	require.NoError(t, err)
	require.Empty(t, waiting)
}

// Several appliers at once apply each delivery once, in batches of a bounded size; one that cannot be read holds up no
// other.
func TestApplyNext(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	const messages = 120
	m.running(t, "a", m.sender, messages)
	token, claims := m.claim(t, messages)
	m.record(t, token, accepted, claims...)
	said := map[string][]campaign.Report{}
	for i, c := range claims {
		for _, s := range []campaign.Status{campaign.MessageRead, campaign.MessageDelivered, campaign.MessageSent} {
			body := fmt.Sprint(i, s)
			said[body] = []campaign.Report{{PhoneNumberID: "acme", WAMID: wamid(c.ID, 1), Status: s, At: time.Now()}}
			_, err := m.hooks.Store(ctx, []byte(body), 1, 0, time.Now())
			require.NoError(t, err)
		}
	}
	_, err := m.hooks.Store(ctx, []byte("not an event\x00"), 0, 0, time.Now())
	require.NoError(t, err)
	big, err := m.hooks.Store(ctx, []byte("stop"), 30, 1, time.Now())
	require.NoError(t, err)

	var mu sync.Mutex
	applied := map[int64]int{}
	read := func(e dboutreach.WebhookEvent) ([]campaign.Report, []campaign.Inbound, error) {
		mu.Lock()
		defer mu.Unlock()
		applied[e.ID]++
		if r, ok := said[string(e.Body)]; ok {
			return r, nil, nil
		}
		if e.ID == big {
			return nil, []campaign.Inbound{{PhoneNumberID: "acme", From: "15145550100", Text: "Stop!", At: time.Now()}}, nil
		}
		return nil, nil, errors.New("not an event\x00")
	}
	var all dboutreach.Batch
	g, ctx := errgroup.WithContext(ctx)
	for range 4 {
		g.Go(func() error {
			for {
				out, err := m.hooks.ApplyNext(ctx, 20, time.Now(), read)
				if err != nil || len(out.Received) == 0 {
					return err
				}
				mu.Lock()
				all.Received, all.Reports = append(all.Received, out.Received...), all.Reports+out.Reports
				all.Unreadable, all.Opted = all.Unreadable+out.Unreadable, all.Opted+out.Opted
				mu.Unlock()
				if out.Reports > 20 {
					return fmt.Errorf("%d reports at once", out.Reports)
				}
			}
		})
	}
	require.NoError(t, g.Wait())
	require.Len(t, all.Received, 3*messages+2)
	require.Equal(t, []int{3 * messages, 1, 1}, []int{all.Reports, all.Unreadable, all.Opted})
	for id, n := range applied {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, []string{"read"}, m.lines(t, "SELECT DISTINCT state FROM messages"))
	require.Equal(t, []string{"1"}, m.lines(t, "SELECT count(*) FROM webhook_events WHERE error <> ''"))
	require.Equal(t, []string{"1"}, m.lines(t, "SELECT count(*) FROM opt_outs"))
	waiting, err := m.hooks.Waiting(t.Context(), 0, 1)
	require.NoError(t, err)
	require.Empty(t, waiting)
	m.counted(t)
}

// Reports come in every order, each twice, in one delivery or in many, by Meta's ID of the message or by ours: what
// comes of a set of them is always the same.
func TestReportsInAnyOrder(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	at := time.Now().UTC().Truncate(time.Second)
	times := map[campaign.Status]time.Time{}
	for i, s := range campaign.Reported {
		times[s] = at.Add(time.Duration(i) * time.Minute)
	}
	var orders [][]campaign.Status
	for set := 1; set < 1<<len(campaign.Reported); set++ {
		var said []campaign.Status
		for i, s := range campaign.Reported {
			if set&(1<<i) != 0 {
				said = append(said, s)
			}
		}
		permute(said, func(order []campaign.Status) { orders = append(orders, order) })
	}
	require.Len(t, orders, 4+12+24+24)
	campaigns := m.running(t, "a", m.sender, 2*len(orders))
	token, claims := m.claim(t, 2*len(orders))
	m.record(t, token, accepted, claims[:len(orders)]...) // these are known by Meta's ID
	m.record(t, token, lost, claims[len(orders):]...)     // of these no answer came
	for i, order := range append(orders, orders...) {
		id, known := claims[i].ID, i < len(orders)
		var reports []campaign.Report
		has := map[campaign.Status]bool{}
		for _, s := range append(order, order...) {
			r := campaign.Report{WAMID: wamid(id, 1), Status: s, At: times[s], Verdict: refusal(131026)}
			if !known {
				r.Message = id
			}
			reports, has[s] = append(reports, r), true
		}
		if i%2 == 0 {
			m.apply(t, reports...)
		} else {
			for _, r := range reports {
				m.apply(t, r)
			}
		}
		want := campaign.MessageSent
		for _, s := range campaign.Reported { // the last one that there was
			if has[s] {
				want = s
			}
		}
		row, _, err := m.Get(ctx, "acme", id)
		require.NoError(t, err)
		require.Equal(t, want, row.State, order)
		_, given, err := m.Recipient(ctx, "acme", id, "zoe", time.Now())
		require.NoError(t, err)
		require.Equal(t, wamid(id, 1), given)
		got := map[campaign.Status]*time.Time{campaign.MessageDelivered: row.DeliveredAt, campaign.MessageRead: row.ReadAt,
			campaign.MessageFailed: row.FailedAt}
		for s, when := range got {
			require.Equal(t, has[s], when != nil, "%s of %v", s, order)
			if when != nil {
				require.Equal(t, times[s], when.UTC())
			}
		}
	}
	m.counted(t)
	require.Empty(t, m.lines(t, `SELECT message_id FROM outbox GROUP BY message_id, convert_from(body, 'UTF8')::jsonb->'data'->>'status'
		HAVING count(*) > 1`))
	n, err := m.campaigns.RetryFailed(ctx, "acme", campaigns, "zoe", time.Now())
	require.NoError(t, err)
	require.Zero(t, n, "these recipients cannot be reached")
}

func permute(list []campaign.Status, visit func([]campaign.Status)) {
	if len(list) == 0 {
		visit(nil)
	}
	for i, s := range list {
		rest := append(append([]campaign.Status{}, list[:i]...), list[i+1:]...)
		permute(rest, func(order []campaign.Status) { visit(append([]campaign.Status{s}, order...)) })
	}
}

// Meta may report before the worker has stored the answer: neither undoes the other.
func TestReportBeforeRecord(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.put(t, "k", "+15145550199")
	token, claims := m.claim(t, 1)
	r := campaign.Report{WAMID: wamid(id, 1), Message: id, Status: campaign.MessageDelivered, At: time.Now()}
	require.Equal(t, dboutreach.Applied{Found: 1, Changed: 1}, m.apply(t, r))
	require.Equal(t, dboutreach.Applied{Found: 1}, m.apply(t, r))
	require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, token, accepted, claims...))
	row, attempts, err := m.Get(ctx, "acme", id)
	require.NoError(t, err)
	require.Equal(t, campaign.MessageDelivered, row.State)
	require.NotNil(t, row.SentAt)
	require.Len(t, attempts, 1)
	require.Equal(t, []string{"delivered"}, m.told(t), "an event only goes forwards too")
	require.Equal(t, dboutreach.Applied{}, m.apply(t, campaign.Report{WAMID: "another system's", Status: campaign.MessageRead}))
	require.Equal(t, dboutreach.Applied{}, m.apply(t, campaign.Report{WAMID: "w2", Message: id, Status: campaign.MessageRead}),
		"a message of ours with another of Meta's IDs")
}

// Whatever a sender writes into its requests, Meta's reports of it say nothing of another's messages.
func TestReportOfAnotherSender(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	m.tenant(t, "other")
	waits, sent := m.put(t, "order-1234", "+15145550199"), m.put(t, "order-1235", "+15145550199")
	token, claims := m.claim(t, 2)
	for _, c := range claims {
		if c.ID == sent {
			m.record(t, token, accepted, c)
		} else {
			require.NoError(t, m.Release(t.Context(), "acme", token, []uuid.UUID{c.ID}))
		}
	}
	for _, code := range []int{131050, 131031, 131048} {
		require.Equal(t, dboutreach.Applied{}, m.apply(t,
			campaign.Report{PhoneNumberID: "other", WAMID: "theirs", Message: waits, Status: campaign.MessageFailed,
				At: time.Now(), Verdict: refusal(code)},
			campaign.Report{PhoneNumberID: "other", WAMID: wamid(sent, 1), Message: sent, Status: campaign.MessageFailed,
				At: time.Now(), Verdict: refusal(code)}))
	}
	require.Equal(t, campaign.MessageQueued, m.state(t, waits))
	require.Equal(t, campaign.MessageSent, m.state(t, sent))
	require.Equal(t, []string{"active true 0"}, m.lines(t, `SELECT t.state, s.paused_until IS NULL,
		(SELECT count(*) FROM opt_outs) FROM senders s JOIN tenants t ON t.id = s.tenant WHERE t.id = 'acme'`))
}

// A person whose number Meta does not tell opts out by an answer to a message.
func TestStopWithoutNumber(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.tenant(t, "other")
	id := m.put(t, "first", "+15145550199")
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	stop := func(number, answered string) int {
		hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, time.Now())
		require.NoError(t, err)
		out, err := m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{
			{PhoneNumberID: number, ReplyTo: answered, Text: "Stop", At: time.Now()},
		}, time.Now())
		require.NoError(t, err)
		return out.Opted
	}
	require.Zero(t, stop("acme", "unknown"))
	require.Zero(t, stop("other", wamid(id, 1)), "an answer to another's message")
	require.Equal(t, campaign.MessageQueued, m.state(t, m.put(t, "second", "+15145550199")))
	require.Equal(t, 1, stop("acme", wamid(id, 1)))
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "third", "+15145550199")))
	_, claims = m.claim(t, 10)
	require.Empty(t, claims)
}

// A person whose number Meta does not tell is known by what a report on a message has called that person, until the
// person is forgotten.
func TestStopByUserID(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.tenant(t, "other")
	s := dboutreach.NewContacts(m.pool, nil)
	c := someone("+15145550199")
	contactID := put(t, s, "acme", c)
	first := m.put(t, "first", c.Phone)
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	tell := func(number, user string, wish campaign.Wish, reports ...campaign.Report) dboutreach.Applied {
		hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, time.Now())
		require.NoError(t, err)
		out, err := m.hooks.Apply(ctx, hook, reports, []campaign.Inbound{
			{PhoneNumberID: number, User: user, Wish: wish, At: time.Now()},
		}, time.Now())
		require.NoError(t, err)
		return out
	}
	next := func() campaign.Status { return m.state(t, m.put(t, uuid.NewString(), c.Phone)) }
	report := func(s campaign.Status, user string) campaign.Report {
		return campaign.Report{PhoneNumberID: "acme", WAMID: wamid(first, 1), User: user, Status: s, At: time.Now()}
	}

	require.Equal(t, dboutreach.Applied{Unknown: 1}, tell("acme", "CA.1", campaign.WishStop), "not told yet")
	require.Equal(t, campaign.MessageQueued, next())
	require.Equal(t, 1, m.apply(t, report(campaign.MessageDelivered, "CA.1")).Opted, "it is told whose it was")
	require.Equal(t, campaign.MessageSkipped, next())
	require.Equal(t, dboutreach.Applied{}, tell("acme", "CA.1", campaign.WishResume))
	m.apply(t, report(campaign.MessageRead, "CA.1"))
	require.Equal(t, campaign.MessageQueued, next(), "the latest wish counts")
	require.Equal(t, 1, tell("other", "CA.1", campaign.WishStop).Unknown, "of another's business")
	require.Equal(t, 1, tell("acme", "CA.2", campaign.WishStop).Unknown)
	require.Equal(t, 1, tell("acme", "", campaign.WishStop).Unknown)
	require.Equal(t, campaign.MessageQueued, next())
	require.Equal(t, dboutreach.Applied{Opted: 1}, tell("acme", "CA.1", campaign.WishStop))
	require.Equal(t, campaign.MessageSkipped, next())
	require.Equal(t, dboutreach.Applied{}, tell("acme", "CA.1", campaign.WishResume))
	require.Equal(t, campaign.MessageQueued, next())

	// A person's ID may change. A report that changes nothing else tells it, beside the message of the person; the number
	// may be another's then.
	out := tell("acme", "CA.3", campaign.WishStop, report(campaign.MessageDelivered, "CA.3"))
	require.Equal(t, dboutreach.Applied{Found: 1, Opted: 1}, out)
	require.Equal(t, dboutreach.Applied{Unknown: 1}, tell("acme", "CA.3", campaign.WishResume))

	p, err := s.Export(ctx, "acme", contactID)
	require.NoError(t, err)
	require.Equal(t, "CA.3", p.Messages[0].WAUser)
	require.NoError(t, s.Delete(ctx, "acme", contactID, "me", time.Now()))
	require.Equal(t, []string{"0"}, m.lines(t, "SELECT count(*) FROM messages m WHERE m::text LIKE '%CA.%'"))
	m.apply(t, report(campaign.MessageRead, "CA.3"))
	require.Equal(t, []string{"0"}, m.lines(t, "SELECT count(*) FROM messages m WHERE m::text LIKE '%CA.%'"))
	require.Equal(t, 1, tell("acme", "CA.3", campaign.WishStop).Unknown)
}

// A person whose user ID has changed is known by the new one, where a report had told the old one.
func TestStopAfterUserIDChanged(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		changes [][]string // old and new IDs, in the order of arrival
		number  string     // whose webhook tells it
		user    string     // of the person who stops
		out     bool
	}{
		"changed":                    {[][]string{{"CA.1", "CA.2"}}, "acme", "CA.2", true},
		"twice":                      {[][]string{{"CA.1", "CA.2"}, {"CA.2", "CA.3"}}, "acme", "CA.3", true},
		"told again":                 {[][]string{{"CA.1", "CA.2"}, {"CA.1", "CA.2"}}, "acme", "CA.2", true},
		"of another":                 {[][]string{{"CA.8", "CA.9"}}, "acme", "CA.9", false},
		"of another's business":      {[][]string{{"CA.1", "CA.2"}}, "other", "CA.2", false},
		"of an unknown sender":       {[][]string{{"CA.1", "CA.2"}}, "unknown", "CA.2", false},
		"there is no old one":        {[][]string{{"", "CA.2"}}, "acme", "CA.2", false},
		"there is none to take over": {[][]string{{"CA.1", ""}}, "acme", "CA.1", true},
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprint(name, together), func(t *testing.T) {
				t.Parallel()

				m, ctx, at := newMailing(t), t.Context(), time.Now()
				m.tenant(t, "other")
				id := m.put(t, "first", "+15145550199")
				token, claims := m.claim(t, 1)
				m.record(t, token, accepted, claims...)
				reports := []campaign.Report{
					{PhoneNumberID: "acme", WAMID: wamid(id, 1), User: "CA.1", Status: campaign.MessageDelivered, At: at},
				}
				var list []campaign.Inbound
				for _, c := range tt.changes {
					list = append(list, campaign.Inbound{PhoneNumberID: tt.number, WasUser: c[0], User: c[1], At: at})
				}
				list = append(list, campaign.Inbound{PhoneNumberID: "acme", User: tt.user, Text: "STOP", At: at})
				for len(list) > 0 {
					n := 1
					if together {
						n = len(list)
					}
					hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, n, at)
					require.NoError(t, err)
					_, err = m.hooks.Apply(ctx, hook, reports, list[:n], at)
					require.NoError(t, err)
					reports, list = nil, list[n:]
				}
				want := campaign.MessageQueued
				if tt.out {
					want = campaign.MessageSkipped
				}
				require.Equal(t, want, m.state(t, m.put(t, "second", "+15145550199")))
				require.Equal(t, campaign.MessageDelivered, m.state(t, id))
			})
		}
	}
}

// The number that a person had before another user ID may be somebody else's by now: it hears no wish of that person
// for more, whatever tells the other ID first, and no late report undoes that.
func TestStartAfterUserIDChanged(t *testing.T) {
	t.Parallel()

	for name, order := range map[string][]string{
		"by a message": {"rename"}, "by a report": {"report"}, "by a report before a message": {"report", "rename"},
		"by a report beside a message": {"both"}, "by a report after a message": {"rename", "report"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m, ctx := newMailing(t), t.Context()
			first := m.put(t, "first", "+15145550199")
			token, claims := m.claim(t, 1)
			m.record(t, token, accepted, claims...)
			report := func(s campaign.Status, user string) campaign.Report {
				return campaign.Report{PhoneNumberID: "acme", WAMID: wamid(first, 1), User: user, Status: s, At: time.Now()}
			}
			tell := func(in campaign.Inbound, reports ...campaign.Report) dboutreach.Applied {
				hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, time.Now())
				require.NoError(t, err)
				in.PhoneNumberID, in.At = "acme", time.Now()
				out, err := m.hooks.Apply(ctx, hook, reports, []campaign.Inbound{in}, time.Now())
				require.NoError(t, err)
				return out
			}
			next := func() campaign.Status { return m.state(t, m.put(t, uuid.NewString(), "+15145550199")) }

			m.apply(t, report(campaign.MessageDelivered, "CA.1"))
			rename := campaign.Inbound{WasUser: "CA.1", User: "CA.2"}
			for _, told := range order {
				switch told {
				case "rename":
					tell(rename)
				case "report":
					m.apply(t, report(campaign.MessageRead, "CA.2"))
				default:
					tell(rename, report(campaign.MessageRead, "CA.2"))
				}
			}
			m.apply(t, report(campaign.MessageRead, "CA.1"))
			require.Equal(t, 1, tell(campaign.Inbound{From: "15145550199", User: "CA.9", Text: "STOP"}).Opted, "the new owner")
			require.Equal(t, campaign.MessageSkipped, next())
			for _, start := range []campaign.Inbound{
				{User: "CA.2"}, {User: "CA.2", From: "15145550177"}, {User: "CA.2", ReplyTo: wamid(first, 1)}, {User: "CA.1"},
			} {
				start.Wish = campaign.WishResume
				tell(start)
				require.Equal(t, campaign.MessageSkipped, next())
			}
			tell(campaign.Inbound{From: "15145550199", User: "CA.9", Wish: campaign.WishResume})
			require.Equal(t, campaign.MessageQueued, next())
			require.Equal(t, 1, tell(campaign.Inbound{User: "CA.2", Text: "STOP"}).Opted, "late reports or not")
			require.Equal(t, campaign.MessageSkipped, next())
			require.Equal(t, []string{"~CA.2"}, m.lines(t, "SELECT wa_user FROM messages WHERE wa_user <> ''"))
		})
	}
}

// A stop by the ID that a person had counts beside what tells of another one, in whatever order they wait.
func TestStopBesideUserIDChanged(t *testing.T) {
	t.Parallel()

	type part struct {
		reports []campaign.Report
		inbound campaign.Inbound
	}
	stop := campaign.Inbound{PhoneNumberID: "acme", User: "CA.1", Text: "STOP"}
	other := campaign.Inbound{PhoneNumberID: "other", User: "CA.1", Text: "STOP"}
	rename := campaign.Inbound{PhoneNumberID: "acme", WasUser: "CA.1", User: "CA.2"}
	again := campaign.Inbound{PhoneNumberID: "acme", WasUser: "CA.2", User: "CA.3"}
	between := campaign.Inbound{PhoneNumberID: "acme", User: "CA.2", Text: "STOP"}
	told := []campaign.Report{{PhoneNumberID: "acme", User: "CA.2", Status: campaign.MessageRead}}
	for name, tt := range map[string]struct {
		parts []part
		opted int
	}{
		"before":                {[]part{{nil, stop}, {nil, rename}}, 1},
		"after":                 {[]part{{nil, rename}, {nil, stop}}, 1},
		"before two":            {[]part{{nil, stop}, {nil, rename}, {nil, again}}, 1},
		"between two":           {[]part{{nil, rename}, {nil, between}, {nil, again}}, 1},
		"before a report":       {[]part{{nil, stop}, {told, campaign.Inbound{}}}, 1},
		"of another's business": {[]part{{nil, other}, {nil, rename}}, 0},
		"a wish for more": {[]part{
			{nil, campaign.Inbound{PhoneNumberID: "acme", User: "CA.1", Wish: campaign.WishResume}}, {nil, rename},
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m, ctx, now := newMailing(t), t.Context(), time.Now()
			m.tenant(t, "other")
			id := m.put(t, "first", "+15145550199")
			token, claims := m.claim(t, 1)
			m.record(t, token, accepted, claims...)
			m.apply(t, campaign.Report{
				PhoneNumberID: "acme", WAMID: wamid(id, 1), User: "CA.1", Status: campaign.MessageDelivered, At: now,
			})
			for i := range tt.parts {
				_, err := m.hooks.Store(ctx, []byte{byte(i)}, 0, 1, now)
				require.NoError(t, err)
			}
			out, err := m.hooks.ApplyNext(ctx, 100, now, func(e dboutreach.WebhookEvent) (
				[]campaign.Report, []campaign.Inbound, error,
			) {
				p := tt.parts[e.Body[0]]
				reports := slices.Clone(p.reports)
				for i := range reports {
					reports[i].WAMID, reports[i].At = wamid(id, 1), now
				}
				p.inbound.At = now
				return reports, []campaign.Inbound{p.inbound}, nil
			})
			require.NoError(t, err)
			require.Len(t, out.Received, len(tt.parts))
			require.Equal(t, tt.opted, out.Opted)
			want := campaign.MessageQueued
			if tt.opted > 0 {
				want = campaign.MessageSkipped
			}
			require.Equal(t, want, m.state(t, m.put(t, "second", "+15145550199")))
		})
	}
}

// What a person wrote under the ID of before may come after what tells of another one.
func TestStopLateAfterUserIDChanged(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.tenant(t, "other")
	s := dboutreach.NewContacts(m.pool, nil)
	c := someone("+15145550199")
	contactID := put(t, s, "acme", c)
	first := m.put(t, "first", c.Phone)
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	m.apply(t, campaign.Report{WAMID: wamid(first, 1), User: "CA.1", Status: campaign.MessageDelivered, At: time.Now()})
	tell := func(in campaign.Inbound) dboutreach.Applied {
		hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, time.Now())
		require.NoError(t, err)
		in.PhoneNumberID, in.At = cmp.Or(in.PhoneNumberID, "acme"), time.Now()
		out, err := m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{in}, time.Now())
		require.NoError(t, err)
		return out
	}
	next := func() campaign.Status { return m.state(t, m.put(t, uuid.NewString(), c.Phone)) }

	tell(campaign.Inbound{WasUser: "CA.1", User: "CA.2"})
	require.Equal(t, dboutreach.Applied{Unknown: 1}, tell(campaign.Inbound{PhoneNumberID: "other", User: "CA.1", Text: "STOP"}))
	require.Equal(t, campaign.MessageQueued, next())
	require.Equal(t, dboutreach.Applied{Opted: 1}, tell(campaign.Inbound{User: "CA.1", Text: "STOP"}))
	require.Equal(t, campaign.MessageSkipped, next())
	tell(campaign.Inbound{User: "CA.1", Text: "START", Wish: campaign.WishResume})
	require.Equal(t, campaign.MessageSkipped, next(), "the number may be another's")
	m.exec(t, "DELETE FROM opt_outs")
	m.apply(t, campaign.Report{WAMID: wamid(first, 1), User: "CA.1", Status: campaign.MessageRead, At: time.Now()})
	tell(campaign.Inbound{WasUser: "CA.2", User: "CA.3"})
	for _, user := range []string{"CA.2", "CA.1"} {
		m.exec(t, "DELETE FROM opt_outs")
		require.Equal(t, dboutreach.Applied{Opted: 1}, tell(campaign.Inbound{User: user, Text: "STOP"}), user)
		tell(campaign.Inbound{User: user, Wish: campaign.WishResume})
		require.Equal(t, campaign.MessageSkipped, next(), "the number may be another's")
	}
	p, err := s.Export(ctx, "acme", contactID)
	require.NoError(t, err)
	require.Equal(t, []string{"CA.3", "CA.1 CA.2"}, []string{p.Messages[0].WAUser, p.Messages[0].WAUserWas})
	user := "CA.3"
	for n := range 6 { // those of long ago are forgotten: a row of an index has a bound
		other := fmt.Sprint("CA.", strings.Repeat("9", 490), n)
		tell(campaign.Inbound{WasUser: user, User: other})
		user = other
	}
	require.Equal(t, []string{"1979"}, m.lines(t, "SELECT max(length(wa_user_was)) FROM messages"))
	require.NoError(t, s.Delete(ctx, "acme", contactID, "me", time.Now()))
	require.Equal(t, []string{"0"}, m.lines(t, "SELECT count(*) FROM messages m WHERE m::text LIKE '%CA.%'"))
}

// A person whom WhatsApp has under another number opts out by an answer to a message, and by any other message.
func TestStopFromAnotherNumber(t *testing.T) {
	t.Parallel()

	const phone, number = "+2290190011234", "22990011234"
	m, ctx := newMailing(t), t.Context()
	s := dboutreach.NewContacts(m.pool, nil)
	send := func(to string) uuid.UUID {
		id := m.put(t, uuid.NewString(), to)
		token, claims := m.claim(t, 1)
		require.Len(t, claims, 1)
		_, err := m.Record(ctx, "acme", token, []campaign.Result{campaign.Answer{
			Status: 200, ID: wamid(id, 1), WaID: number, Written: true,
		}.Result(claims[0], time.Now(), time.Second, 0)}, time.Now())
		require.NoError(t, err)
		return id
	}
	tell := func(in campaign.Inbound) int {
		hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, time.Now())
		require.NoError(t, err)
		in.PhoneNumberID, in.From, in.At = "acme", number, time.Now()
		out, err := m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{in}, time.Now())
		require.NoError(t, err)
		return out.Opted
	}
	next := func(to string) campaign.Status { return m.state(t, m.put(t, uuid.NewString(), to)) }

	// One that is no contact is known by the message alone.
	require.Equal(t, 1, tell(campaign.Inbound{Text: "STOP", ReplyTo: wamid(send("+2290190011235"), 1)}))
	require.Equal(t, campaign.MessageSkipped, next("+2290190011235"))

	require.Zero(t, tell(campaign.Inbound{Wish: campaign.WishResume}))
	id := put(t, s, "acme", someone(phone))
	send(phone)
	c, err := s.Get(ctx, "acme", id)
	require.NoError(t, err)
	require.Equal(t, number, c.WaID)
	require.Equal(t, 1, tell(campaign.Inbound{Text: "STOP"}))
	require.Equal(t, campaign.MessageSkipped, next(phone))
	require.Equal(t, campaign.MessageSkipped, next("+"+number))
	require.Zero(t, tell(campaign.Inbound{Wish: campaign.WishResume}))
	require.Equal(t, campaign.MessageQueued, next(phone))

	// Where the answer was lost, a report tells the number.
	const third = "+2290190011236"
	put(t, s, "acme", someone(third))
	lostID := m.put(t, uuid.NewString(), third)
	token, claims := m.claim(t, 10)
	m.record(t, token, lost, claims...)
	m.apply(t, campaign.Report{
		WAMID: "w3", Message: lostID, Status: campaign.MessageSent, WaID: "22990011239", At: time.Now(),
	}, campaign.Report{
		WAMID: "w3", Message: lostID, Status: campaign.MessageDelivered, WaID: "22990011236", At: time.Now(),
	})
	hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, time.Now())
	require.NoError(t, err)
	_, err = m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{
		{PhoneNumberID: "acme", From: "22990011236", Text: "STOP", At: time.Now()},
	}, time.Now())
	require.NoError(t, err)
	require.Equal(t, campaign.MessageSkipped, next(third))
}

// The latest of a person's wishes counts, by its time, in whatever order they come, and come again. What was imported
// stays.
func TestPreferences(t *testing.T) {
	t.Parallel()

	const stop, resume, text = "stop", "resume", "text"
	for name, tt := range map[string]struct {
		wishes  []any // kind and second, in the order of arrival
		out     bool
		counted int
	}{
		"a stop":                          {[]any{stop, 1}, true, 1},
		"taken back":                      {[]any{stop, 1, resume, 2}, false, 1},
		"taken back, told the other way":  {[]any{resume, 2, stop, 1}, false, 1},
		"taken back, and the stop again":  {[]any{stop, 1, resume, 2, stop, 1, text, 1}, false, 3},
		"stopped anew":                    {[]any{stop, 1, resume, 2, stop, 3}, true, 2},
		"stopped anew, told late":         {[]any{stop, 1, stop, 3, resume, 2}, true, 2},
		"an old wish for more":            {[]any{stop, 3, resume, 2, resume, 1}, true, 1},
		"of one time":                     {[]any{stop, 2, resume, 2}, true, 1},
		"of one time, told the other way": {[]any{resume, 2, stop, 2}, true, 1},
		"a text is taken back":            {[]any{text, 1, resume, 2}, false, 1},
		"a text after it":                 {[]any{resume, 2, text, 3}, true, 1},
		"told older and older":            {[]any{resume, 5, resume, 2, stop, 3}, false, 1},
	} {
		for _, way := range []string{"together", "one by one", "hashed by the key between"} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()

				m, ctx := newMailing(t), t.Context()
				key := m.keyed()
				began := time.Now().Add(-time.Hour)
				var list []campaign.Inbound
				for i := 0; i < len(tt.wishes); i += 2 {
					in := campaign.Inbound{
						PhoneNumberID: "acme", From: "15145550199", At: began.Add(time.Duration(tt.wishes[i+1].(int)) * time.Second),
					}
					if in.Wish = campaign.Wish(tt.wishes[i].(string)); in.Wish == text {
						in.Wish, in.Text = "", "STOP"
					}
					list = append(list, in)
				}
				opted := 0
				for len(list) > 0 {
					n := 1
					if way == "together" {
						n = len(list)
					}
					hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, n, time.Now())
					require.NoError(t, err)
					out, err := m.hooks.Apply(ctx, hook, nil, list[:n], time.Now())
					require.NoError(t, err)
					opted, list = opted+out.Opted, list[n:]
					if way == "hashed by the key between" {
						hashed(t, key)
						require.Empty(t, m.lines(t, `SELECT FROM opt_outs GROUP BY tenant HAVING count(*) > 1`))
					}
				}
				want := campaign.MessageQueued
				if tt.out {
					want = campaign.MessageSkipped
				}
				require.Equal(t, want, m.state(t, m.put(t, "a", "+15145550199")))
				require.Equal(t, tt.counted, opted)
			})
		}
	}
}

// Of a person's wishes the latest counts where two workers apply them at once, too.
func TestPreferencesAtOnce(t *testing.T) {
	t.Parallel()

	m, ctx, at := newMailing(t), t.Context(), time.Now()
	people := []string{"15145550101", "15145550102"}
	digest := func(from string) []byte {
		d := contact.Digest("acme", "+"+from)
		return d[:]
	}
	slices.SortFunc(people, func(a, b string) int { return bytes.Compare(digest(a), digest(b)) })
	apply := func(list ...campaign.Inbound) <-chan error {
		done := make(chan error, 1)
		go func() {
			hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, len(list), at)
			if err == nil {
				_, err = m.hooks.Apply(ctx, hook, nil, list, at)
			}
			done <- err
		}()
		return done
	}
	waits := func() int64 {
		return dbtest.Count(t, m.pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	}
	stop := func(from string) campaign.Inbound {
		return campaign.Inbound{PhoneNumberID: "acme", From: from, Text: "STOP", At: at}
	}
	var first, later <-chan error
	require.NoError(t, m.system(ctx, func(tx pgx.Tx) error { // holds the first worker up before its end
		if _, err := tx.Exec(ctx, "INSERT INTO opt_outs VALUES ('acme', $1, 'message', $2)", digest(people[1]), at); err != nil {
			return err
		}
		first = apply(stop(people[0]), stop(people[1]))
		require.Eventually(t, func() bool { return waits() > 0 }, servicetest.Patience(), time.Millisecond)
		later = apply(campaign.Inbound{
			PhoneNumberID: "acme", From: people[0], Wish: campaign.WishResume, At: at.Add(time.Second),
		})
		require.Eventually(t, func() bool { return len(later) > 0 || waits() > 1 }, servicetest.Patience(), time.Millisecond)
		return nil
	}))
	require.NoError(t, <-first)
	require.NoError(t, <-later)
	require.Equal(t, campaign.MessageQueued, m.state(t, m.put(t, "a", "+"+people[0])))
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "b", "+"+people[1])))
}

// A report that opts a person out waits for its turn, too: beside a STOP of another it does not lock up with a worker
// that applies messages of both.
func TestReportsTakeTurns(t *testing.T) {
	t.Parallel()

	m, ctx, at := newMailing(t), t.Context(), time.Now()
	id := m.put(t, "a", "+15145550101")
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	report := campaign.Report{
		PhoneNumberID: "acme", WAMID: wamid(id, 1), Status: campaign.MessageFailed, At: at, Verdict: refusal(131050),
	}
	stop := func(from string) campaign.Inbound {
		return campaign.Inbound{PhoneNumberID: "acme", From: from, Text: "STOP", At: at}
	}
	apply := func(reports []campaign.Report, list ...campaign.Inbound) <-chan error {
		done := make(chan error, 1)
		go func() {
			hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), len(reports), len(list), at)
			if err == nil {
				_, err = m.hooks.Apply(ctx, hook, reports, list, at)
			}
			done <- err
		}()
		return done
	}
	waits := func(n int64) {
		require.Eventually(t, func() bool {
			return n == dbtest.Count(t, m.pool,
				`pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		}, servicetest.Patience(), time.Millisecond)
	}
	var both, beside <-chan error
	require.NoError(t, m.system(ctx, func(tx pgx.Tx) error { // has the other person's turn
		digest := contact.Digest("acme", "+15145550102")
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('acme' || encode($1::bytea, 'hex'), 0))`,
			digest[:]); err != nil {
			return err
		}
		both = apply(nil, stop("15145550101"), stop("15145550102"))
		waits(1)
		beside = apply([]campaign.Report{report}, stop("15145550102"))
		waits(2)
		return nil
	}))
	require.NoError(t, <-both)
	require.NoError(t, <-beside)
	require.Equal(t, []string{"2"}, m.lines(t, "SELECT count(*) FROM opt_outs"))
}

// A wish for more undoes neither what was imported nor what the tenant said, and a failure that Meta reports late no wish.
func TestPreferencesOfOthers(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	resume := func(from string, at time.Time) {
		hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, time.Now())
		require.NoError(t, err)
		_, err = m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{
			{PhoneNumberID: "acme", From: from, Wish: campaign.WishResume, At: at},
		}, time.Now())
		require.NoError(t, err)
	}
	now := time.Now()
	require.NoError(t, dboutreach.NewContacts(m.pool, nil).OptOut(ctx, "acme", []string{"+15145550100"}, "import", "x", "zoe", now.Add(-time.Hour)))
	resume("15145550100", now)
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "a", "+15145550100")))

	// Also of a person who had said it before, whichever form that is stored in.
	for _, key := range []*dboutreach.OptOutKey{nil, m.keyed()} {
		hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), 0, 1, now)
		require.NoError(t, err)
		_, err = m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{
			{PhoneNumberID: "acme", From: "15145550101", Text: "STOP", At: now.Add(-time.Hour)},
		}, now)
		require.NoError(t, err)
		if key != nil {
			hashed(t, key)
		}
		said := m.lines(t, "SELECT count(*) FROM audit WHERE action = 'contact.opted_out'")
		s := dboutreach.NewContacts(m.pool, key)
		require.NoError(t, s.OptOut(ctx, "acme", []string{"+15145550101"}, "api", "x", "zoe", now.Add(-time.Minute)))
		require.NotEqual(t, said, m.lines(t, "SELECT count(*) FROM audit WHERE action = 'contact.opted_out'"))
		for range 2 {
			resume("15145550101", now)
			require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), "+15145550101")), key != nil)
			if key != nil {
				hashed(t, key)
			}
		}
		m.exec(t, "DELETE FROM opt_outs")
		m.exec(t, "DELETE FROM opt_ins")
	}

	id := m.put(t, "b", "+15145550199")
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	resume("15145550199", now)
	m.apply(t, campaign.Report{
		WAMID: wamid(id, 1), Status: campaign.MessageFailed, At: now.Add(-time.Minute), Verdict: refusal(131050),
	})
	require.Equal(t, campaign.MessageFailed, m.state(t, id))
	require.Equal(t, campaign.MessageQueued, m.state(t, m.put(t, "c", "+15145550199")))
}

// A STOP is applied before the statuses that came earlier, however many wait.
func TestStopBeforeStatuses(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.exec(t, `INSERT INTO webhook_events (digest, received_at, statuses, messages, body)
		SELECT sha256(n::text::bytea), now() - interval '1 hour', 1, 0, 'status' FROM generate_series(1, 1000) n`)
	_, err := m.hooks.Store(ctx, []byte("stop"), 0, 1, time.Now())
	require.NoError(t, err)
	out, err := m.hooks.ApplyNext(ctx, 500, time.Now(), func(e dboutreach.WebhookEvent) ([]campaign.Report, []campaign.Inbound, error) {
		if string(e.Body) != "stop" {
			return nil, nil, nil
		}
		return nil, []campaign.Inbound{{PhoneNumberID: "acme", From: "15145550199", Text: "STOP", At: time.Now()}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, out.Opted)
}

// A message that names nobody is understood by the ID of the one that it answers, which a status beside it may bring.
func TestStopBesideItsStatus(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.put(t, "a", "+15145550199")
	m.claim(t, 1) // whose answer was lost
	_, err := m.hooks.Store(ctx, []byte("both"), 1, 0, time.Now())
	require.NoError(t, err)
	out, err := m.hooks.ApplyNext(ctx, 500, time.Now(), func(dboutreach.WebhookEvent) ([]campaign.Report, []campaign.Inbound, error) {
		return []campaign.Report{{
				PhoneNumberID: "acme", WAMID: wamid(id, 1), Message: id, Status: campaign.MessageSent, At: time.Now(),
			}}, []campaign.Inbound{{
				PhoneNumberID: "acme", ReplyTo: wamid(id, 1), Text: "STOP", At: time.Now(),
			}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, 1, out.Found)
	require.Equal(t, 1, out.Opted)
}

// A message that is sent again by a person is not touched by what Meta still says of the first request.
func TestReportOfEarlierRequest(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, 3)
	token, claims := m.claim(t, 3)
	m.record(t, token, accepted, claims[0])
	fail := func(c campaign.Claim, n int, v campaign.Verdict) campaign.Report {
		return campaign.Report{WAMID: wamid(c.ID, n), Message: c.ID, Status: campaign.MessageFailed, At: time.Now(), Verdict: v}
	}
	// The second's worker dies after Meta has reported its failure. The third has arrived before it failed.
	m.apply(t, fail(claims[0], 1, refusal(131000)), fail(claims[1], 1, refusal(131000)), fail(claims[2], 1, refusal(131000)),
		campaign.Report{WAMID: wamid(claims[2].ID, 1), Status: campaign.MessageDelivered, At: time.Now()})
	m.counted(t)
	c, err := m.campaigns.Finish(ctx, "acme", id, time.Now())
	require.NoError(t, err)
	require.Equal(t, campaign.Done, c.State)
	n, err := m.campaigns.RetryFailed(ctx, "acme", id, "zoe", time.Now())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	m.counted(t)
	for _, c := range claims[:2] {
		late := campaign.Report{WAMID: wamid(c.ID, 1), Message: c.ID, Status: campaign.MessageSent, At: time.Now()}
		require.Equal(t, dboutreach.Applied{}, m.apply(t, late, fail(c, 1, refusal(131000))))
		require.Equal(t, campaign.MessageQueued, m.state(t, c.ID))
	}
	token, claims = m.claim(t, 3)
	require.Len(t, claims, 2)
	m.record(t, token, accepted, claims...)
	for _, c := range claims {
		require.Equal(t, dboutreach.Applied{}, m.apply(t, fail(c, 1, refusal(131000))))
		require.Equal(t, dboutreach.Applied{Found: 1, Changed: 1}, m.apply(t, campaign.Report{
			WAMID: wamid(c.ID, 2), Status: campaign.MessageRead, At: time.Now(),
		}))
		row, attempts, err := m.Get(ctx, "acme", c.ID)
		require.NoError(t, err)
		require.Equal(t, 2, row.Attempts)
		require.Len(t, attempts, 2)
	}
	m.counted(t)
	sent := 0
	for _, s := range m.told(t) {
		if s == "sent" {
			sent++
		}
	}
	require.Equal(t, 3, sent, fmt.Sprint(m.told(t)))
}

// A failure that comes by webhook has the same consequences as one that is answered.
func TestReportHolds(t *testing.T) {
	t.Parallel()

	for code, want := range map[int]string{
		132015: "paused false active 0", 131048: "running true active 0", 131031: "running false stopped 0",
		131050: "running false active 1", 131026: "running false active 0",
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()

			m := newMailing(t)
			m.running(t, "a", m.sender, 1)
			token, claims := m.claim(t, 1)
			m.record(t, token, accepted, claims...)
			m.apply(t, campaign.Report{
				WAMID: wamid(claims[0].ID, 1), Status: campaign.MessageFailed, At: time.Now(), Verdict: refusal(code),
			})
			require.Equal(t, []string{want}, m.lines(t, `SELECT c.state, s.paused_until > now() IS TRUE, t.state,
				(SELECT count(*) FROM opt_outs) FROM campaigns c, senders s, tenants t`))
			m.counted(t)
		})
	}
}

// A failure that Meta dates before the last change of the tenant says nothing about what was mended since, and an old
// refusal holds a sender for what is left of its pause.
func TestOldReportHolds(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name    string
		code    int
		changed time.Duration // of the tenant, after the report
		ago     time.Duration
		want    string // state of the tenant, holds, reason and minutes of the pause of the sender
	}{
		{"before the tenant was resumed", 131031, time.Second, 10 * time.Minute, "active 0  -1"},
		{"in the second of it", 131031, 900 * time.Millisecond, 10 * time.Minute, "stopped 0  -1"},
		{"after it", 131031, -time.Minute, 10 * time.Minute, "stopped 0  -1"},
		{"in the pause", 131048, 0, 50 * time.Minute, "active 1 the sender is restricted because of its quality 10"},
		{"after the pause", 131048, 0, 2 * time.Hour, "active 0  -1"},
		{
			"by a clock that is ahead", 131048, 0, -2 * time.Hour,
			"active 1 the sender is restricted because of its quality 60",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			m := newMailing(t)
			m.running(t, "a", m.sender, 1)
			token, claims := m.claim(t, 1)
			m.record(t, token, accepted, claims...)
			at := time.Now().Add(-tt.ago).Truncate(time.Second)
			m.exec(t, "UPDATE tenants SET updated_at = $1", at.Add(tt.changed))
			m.apply(t, campaign.Report{
				WAMID: wamid(claims[0].ID, 1), Status: campaign.MessageFailed, At: at, Verdict: refusal(tt.code),
			})
			require.Equal(t, campaign.MessageFailed, m.state(t, claims[0].ID))
			require.Equal(t, []string{tt.want}, m.lines(t, `SELECT t.state || ' ' || s.holds || ' ' || s.reason || ' ' ||
				coalesce(ceil(extract(epoch FROM s.paused_until - now()) / 60), -1) FROM senders s, tenants t`))
		})
	}
}

// A failure of the template that Meta dates before the last change of its campaign does not pause it again.
func TestOldReportOfTemplate(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name    string
		changed time.Duration // of the campaign, after the report
		written bool          // it has all its messages
		want    string
	}{
		{"before it was resumed", time.Second, true, "running"},
		{"in the second of it", 900 * time.Millisecond, true, "paused the template is paused because of its quality"},
		{"after it", -time.Minute, true, "paused the template is paused because of its quality"},
		{"while its messages are written", time.Second, false, "paused the template is paused because of its quality"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			m := newMailing(t)
			m.running(t, "a", m.sender, 2)
			token, claims := m.claim(t, 1)
			m.record(t, token, accepted, claims...)
			at := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
			m.exec(t, "UPDATE campaigns SET updated_at = $1, written_at = CASE WHEN $2 THEN written_at END", at.Add(tt.changed),
				tt.written)
			m.apply(t, campaign.Report{
				WAMID: wamid(claims[0].ID, 1), Status: campaign.MessageFailed, At: at, Verdict: refusal(132015),
			})
			require.Equal(t, campaign.MessageFailed, m.state(t, claims[0].ID))
			require.Equal(t, []string{tt.want}, m.lines(t, "SELECT state || ' ' || reason FROM campaigns"))
			m.counted(t)
		})
	}
}
