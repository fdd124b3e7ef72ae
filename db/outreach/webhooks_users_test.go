package outreach_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A told is what one delivery tells.
type told struct {
	name    string
	report  *campaign.Report
	inbound *campaign.Inbound
}

// orders are all orders of a list.
func orders[T any](list []T) (out [][]T) {
	if len(list) == 0 {
		return [][]T{nil}
	}
	for i := range list {
		rest := append(append([]T{}, list[:i]...), list[i+1:]...)
		for _, o := range orders(rest) {
			out = append(out, append([]T{list[i]}, o...))
		}
	}
	return out
}

// hear stores and applies a delivery.
func (m *mailing) hear(ctx context.Context, d told) (out dboutreach.Applied, err error) {
	reports, inbound := d.parts()
	hook, err := m.hooks.Store(ctx, []byte(uuid.NewString()), len(reports), len(inbound), time.Now())
	if err != nil {
		return out, err
	}
	return m.hooks.Apply(ctx, hook, reports, inbound, time.Now())
}

// waiting returns when n sessions wait for locks.
func (m *mailing) waiting(t testing.TB, n int64) {
	t.Helper()

	require.Eventually(t, func() bool {
		return dbtest.Count(t, m.pool,
			`pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == n
	}, servicetest.Patience(), 5*time.Millisecond)
}

func (m *mailing) tell(t testing.TB, d told) dboutreach.Applied {
	t.Helper()

	out, err := m.hear(t.Context(), d)
	require.NoError(t, err)
	return out
}

func (d told) parts() (reports []campaign.Report, inbound []campaign.Inbound) {
	if d.report != nil {
		reports = append(reports, *d.report)
	}
	if d.inbound != nil {
		inbound = append(inbound, *d.inbound)
	}
	return reports, inbound
}

// A renamed is a person to whom a message was sent, and whom WhatsApp calls by several names.
type renamed struct {
	n     int
	phone string
	id    uuid.UUID // of the message
	at    time.Time
}

// rename sends a message to another person.
func (m *mailing) rename(t testing.TB, n int) renamed {
	t.Helper()

	p := renamed{n: n, phone: fmt.Sprintf("+1514555%04d", n), at: time.Now()}
	p.id = m.put(t, uuid.NewString(), p.phone)
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	return p
}

// user is the nth name.
func (p renamed) user(n int) string { return fmt.Sprintf("CA.%d.%d", p.n, n) }

// sent tells under which name the message was delivered.
func (p renamed) sent(name int) told {
	return told{name: "user", report: &campaign.Report{
		PhoneNumberID: "acme", WAMID: wamid(p.id, 1), User: p.user(name), Status: campaign.MessageDelivered, At: p.at,
	}}
}

// change tells that one name became another, some seconds later.
func (p renamed) change(was, name, later int) told {
	return told{name: "change", inbound: &campaign.Inbound{
		PhoneNumberID: "acme", WasUser: p.user(was), User: p.user(name), At: p.at.Add(time.Duration(later) * time.Second),
	}}
}

func (p renamed) stop(name int) told {
	return told{name: "stop", inbound: &campaign.Inbound{PhoneNumberID: "acme", User: p.user(name), Text: "STOP", At: p.at}}
}

// stops requires that all that is told, in the order of list, is one stop of the person.
func (m *mailing) stops(t testing.TB, p renamed, list []told, of ...any) {
	t.Helper()

	opted := 0
	for _, d := range list {
		opted += m.tell(t, d).Opted
	}
	require.Equal(t, 1, opted, of)
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), p.phone)), of)
}

// Meta tells who a person is, who that person became, twice, and what the person wants in any order: each of them may be
// delivered again, hours later. The stop counts once all is told, and the wish for more of somebody who may have another
// number does not.
func TestUserIDsInAnyOrder(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	m.tenant(t, "other")
	sent := func(n int) (phone string, parts []told) {
		p := m.rename(t, n)
		return p.phone, []told{p.sent(1), p.change(1, 2, 0), p.change(2, 3, 0), p.stop(3)}
	}
	names := func(order []told) (out string) {
		for _, d := range order {
			out += d.name + " "
		}
		return out
	}
	n := 0
	for _, order := range orders([]int{0, 1, 2, 3}) {
		for _, together := range []bool{false, true} {
			n++
			phone, parts := sent(n)
			var list []told
			for _, i := range order {
				list = append(list, parts[i])
			}
			name := fmt.Sprint(names(list), together)
			if together {
				for i := range list {
					_, err := m.hooks.Store(t.Context(), []byte{byte(n), byte(i)}, 0, 1, time.Now())
					require.NoError(t, err)
				}
				out, err := m.hooks.ApplyNext(t.Context(), 100, time.Now(), func(e dboutreach.WebhookEvent) (
					[]campaign.Report, []campaign.Inbound, error,
				) {
					reports, inbound := list[e.Body[1]].parts()
					return reports, inbound, nil
				})
				require.NoError(t, err)
				require.Len(t, out.Received, len(list), name)
				require.Equal(t, 1, out.Opted, name)
			} else {
				opted := 0
				for _, d := range list {
					opted += m.tell(t, d).Opted
				}
				require.Equal(t, 1, opted, name)
			}
			require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), phone)), name)
			start := *parts[3].inbound
			start.Text, start.Wish, start.At = "", campaign.WishResume, time.Now().Add(time.Minute)
			m.tell(t, told{inbound: &start})
			require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), phone)), name)
		}
	}

	for range 15 { // all at once
		n++
		phone, parts := sent(n)
		var all errgroup.Group
		for _, d := range parts {
			all.Go(func() error {
				_, err := m.hear(t.Context(), d)
				return err
			})
		}
		require.NoError(t, all.Wait())
		require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), phone)))
	}

	// A circle has an end.
	n++
	phone, parts := sent(n)
	for _, i := range []int{1, 2} {
		m.tell(t, parts[i])
	}
	back := *parts[2].inbound
	back.WasUser, back.User = back.User, parts[1].inbound.WasUser
	m.tell(t, told{inbound: &back})
	m.tell(t, parts[0])
	m.tell(t, parts[3])
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), phone)))

	// A person with messages under the names of two times, of which one is told after the stop.
	n++
	phone, parts = sent(n)
	second := m.rename(t, n+500)
	m.tell(t, parts[0])
	m.tell(t, told{report: &campaign.Report{
		PhoneNumberID: "acme", WAMID: wamid(second.id, 1), User: parts[1].inbound.User,
		Status: campaign.MessageDelivered, At: time.Now(),
	}})
	stop := *parts[3].inbound
	stop.User = parts[1].inbound.User
	require.Equal(t, 1, m.tell(t, told{inbound: &stop}).Opted)
	m.tell(t, parts[1])
	for _, phone := range []string{phone, second.phone} {
		require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), phone)))
	}

	// However often it is told whose a stop is, it counts once.
	n++
	_, parts = sent(n)
	stop = *parts[3].inbound
	stop.User = parts[0].report.User
	opted := m.tell(t, told{inbound: &stop}).Opted
	for _, status := range []campaign.Status{campaign.MessageDelivered, campaign.MessageRead} {
		parts[0].report.Status = status
		opted += m.tell(t, parts[0]).Opted
	}
	require.Equal(t, 1, opted)

	// Of another business the same names mean others.
	n++
	phone, parts = sent(n)
	for _, i := range []int{3, 2, 1} {
		in := *parts[i].inbound
		in.PhoneNumberID = "other"
		m.tell(t, told{inbound: &in})
	}
	m.tell(t, parts[0])
	require.Equal(t, campaign.MessageQueued, m.state(t, m.put(t, uuid.NewString(), phone)))
}

// A person stops under a name of before, which no message was sent under: the stop counts for what was sent since, in
// whatever order Meta tells it. It is no wish of another business' people.
func TestStopUnderANameOfBefore(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	for n, order := range orders([]int{0, 1, 2, 3}) {
		p := m.rename(t, n)
		m.stops(t, p, in(order, p.sent(3), p.change(1, 2, 0), p.change(2, 3, 0), p.stop(1)), order)
		m.tell(t, told{inbound: &campaign.Inbound{
			PhoneNumberID: "acme", User: p.user(1), Wish: campaign.WishResume, At: p.at.Add(time.Minute),
		}})
		require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, uuid.NewString(), p.phone)), "the number may be another's")
	}
}

// in is a list in an order.
func in(order []int, list ...told) (out []told) {
	for _, i := range order {
		out = append(out, list[i])
	}
	return out
}

// Meta tells twice what became of one user ID: a stop under either name counts, in whatever order all is told.
func TestSecondChangeOfAUserID(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	n := 0
	for _, stopped := range []int{1, 2, 3} {
		for _, order := range orders([]int{0, 1, 2, 3}) {
			n++
			p := m.rename(t, n)
			m.stops(t, p, in(order, p.sent(1), p.change(1, 2, 0), p.change(1, 3, 1), p.stop(stopped)), stopped, order)
		}
	}
}

// Meta tells any number of times what became of a user ID, and of those that it became: a stop under any of the names of
// a person counts, whichever a message was sent under, in whatever order all is told.
func TestManyChangesOfAUserID(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	random := rand.New(rand.NewPCG(servicetest.Seed(t), 0))
	for n := range 150 {
		p := m.rename(t, n)
		names := 4 + random.IntN(5)
		list := []told{p.sent(random.IntN(names)), p.stop(random.IntN(names))}
		for name := 1; name < names; name++ { // each is of the same person as one before it
			was, is := random.IntN(name), name
			if n%2 == 0 {
				was = 0 // which became all others
			} else if random.IntN(2) == 0 {
				was, is = is, was
			}
			list = append(list, p.change(was, is, random.IntN(names)))
		}
		if random.IntN(3) == 0 {
			list = append(list, p.change(names-1, 0, names)) // a circle
		}
		order := random.Perm(len(list))
		m.stops(t, p, in(order, list...), n, order, list)
	}

	// Of very many names the nearest count.
	p := m.rename(t, 1_000)
	m.exec(t, `INSERT INTO wa_user_changes (tenant, was, wa_user, at)
		SELECT 'acme', 'CA.1000.' || n, 'CA.1000.' || (n + 1) % 5000, now() FROM generate_series(0, 4999) n`)
	m.stops(t, p, []told{p.sent(20), p.stop(0)})
}

// What is told of the user IDs of a person goes with the person, and otherwise when the deliveries that told it do.
func TestUserIDsForgotten(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	s := dboutreach.NewContacts(m.pool, nil)
	c := someone("+15145550199")
	id := put(t, s, "acme", c)
	first := m.put(t, "first", c.Phone)
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	in := func(in campaign.Inbound) told {
		in.PhoneNumberID, in.At = "acme", time.Now()
		return told{inbound: &in}
	}
	m.tell(t, in(campaign.Inbound{User: "CA.1", Wish: campaign.WishResume}))
	m.tell(t, in(campaign.Inbound{User: "CA.9", Text: "STOP"}))
	m.tell(t, in(campaign.Inbound{User: "CA.00", Wish: campaign.WishResume}))
	m.tell(t, in(campaign.Inbound{WasUser: "CA.00", User: "CA.0"}))
	m.tell(t, in(campaign.Inbound{WasUser: "CA.0", User: "CA.1"}))
	m.tell(t, in(campaign.Inbound{WasUser: "CA.1", User: "CA.2"}))
	m.tell(t, in(campaign.Inbound{WasUser: "CA.8", User: "CA.9"}))
	m.apply(t, campaign.Report{WAMID: wamid(first, 1), User: "CA.1", Status: campaign.MessageDelivered, At: time.Now()})
	kept := `SELECT was, wa_user FROM wa_user_changes UNION ALL SELECT wish, wa_user FROM wa_user_wishes ORDER BY 1, 2`
	require.Equal(t, []string{"CA.0 CA.1", "CA.00 CA.0", "CA.1 CA.2", "CA.8 CA.9", "resume CA.00", "resume CA.1", "stop CA.9"},
		m.lines(t, kept))
	require.NoError(t, s.Delete(t.Context(), "acme", id, "me", time.Now()))
	require.Equal(t, []string{"CA.8 CA.9", "stop CA.9"}, m.lines(t, kept))
}

// A message is queued for a person who is about to be forgotten, and its answer stops the tenant.
func TestForgetBeforeALateMessage(t *testing.T) {
	t.Parallel()

	const phone = "+15145550001"
	for name, limit := range map[string]any{"with a limit of contacts": 5, "without": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m, ctx := newMailing(t), t.Context()
			s := dboutreach.NewContacts(m.pool, nil)
			person := put(t, s, "acme", someone(phone))
			m.exec(t, "UPDATE tenants SET max_contacts = $1", limit)
			tx := m.lockTenants(t)
			var work errgroup.Group
			work.Go(func() error { return s.Delete(context.Background(), "acme", person, "zoe", time.Now()) })
			m.waiting(t, 1)
			m.put(t, "late", phone)
			token, claims := m.claim(t, 1)
			work.Go(func() error {
				_, err := m.Record(context.Background(), "acme", token, []campaign.Result{{
					Claim: claims[0], Verdict: refusal(190), At: time.Now(), Status: 400,
				}}, time.Now())
				return err
			})
			m.waiting(t, 2)
			require.NoError(t, tx.Rollback(ctx))
			require.NoError(t, work.Wait())
			require.Equal(t, []string{"stopped 0"}, m.lines(t, "SELECT state, contacts FROM tenants"))
			require.Empty(t, m.lines(t, "SELECT id FROM messages WHERE recipient = $1", phone))
		})
	}
}

// lockTenants holds the rows of all tenants until the transaction, or the test, ends.
func (m *mailing) lockTenants(t *testing.T) pgx.Tx {
	t.Helper()
	tx, err := m.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	for _, text := range []string{
		"SELECT set_config('conveyor.tenant', '*', true)", "SELECT FROM tenants FOR NO KEY UPDATE",
	} {
		_, err = tx.Exec(t.Context(), text)
		require.NoError(t, err)
	}
	return tx
}

// A person is forgotten while the contact of that person is stored again, as by an import, in a tenant with a limit.
func TestForgetBesidePut(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	s, c := dboutreach.NewContacts(m.pool, nil), someone("+15145550001")
	person := put(t, s, "acme", c)
	m.exec(t, "UPDATE tenants SET max_contacts = 5")
	tx := m.lockTenants(t)
	var work errgroup.Group
	work.Go(func() error {
		c.Name = "Zoé"
		_, _, err := s.Put(context.Background(), "acme", c, dboutreach.KnownUpdate, "test", time.Now())
		return err
	})
	m.waiting(t, 1)
	work.Go(func() error { return s.Delete(context.Background(), "acme", person, "zoe", time.Now()) })
	m.waiting(t, 2)
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, work.Wait())
	require.Equal(t, []string{"0"}, m.lines(t, "SELECT contacts FROM tenants"))
}

// A person is forgotten while others write of the same person and have what the forgetting needs, or it what they need:
// each waits for the other in one order.
func TestForgetWhileToldOf(t *testing.T) {
	t.Parallel()

	const phone = "+15145550001" // of the first contact of a campaign
	again := campaign.Inbound{PhoneNumberID: "acme", WasUser: "CA.1", User: "CA.2", At: time.Now()}
	for name, tt := range map[string]struct {
		limit any
		held  string // what the forgetting waits for first
		told  func(m *mailing, other uuid.UUID, mine campaign.Claim, token uuid.UUID) error
	}{
		"a user ID is told again, and the tenant stopped": {
			5, "SELECT FROM tenants FOR NO KEY UPDATE",
			func(m *mailing, other uuid.UUID, _ campaign.Claim, _ uuid.UUID) error {
				_, err := m.hear(context.Background(), told{inbound: &again, report: &campaign.Report{
					PhoneNumberID: "acme", WAMID: wamid(other, 1), Status: campaign.MessageFailed, Verdict: refusal(190), At: time.Now(),
				}})
				return err
			},
		},
		"a user ID is told again, and a message counted": {
			nil, "SELECT FROM campaigns FOR NO KEY UPDATE",
			func(m *mailing, other uuid.UUID, _ campaign.Claim, _ uuid.UUID) error {
				_, err := m.hear(context.Background(), told{inbound: &again, report: &campaign.Report{
					PhoneNumberID: "acme", WAMID: wamid(other, 1), Status: campaign.MessageDelivered, At: time.Now(),
				}})
				return err
			},
		},
		"the tenant is stopped by another message of a campaign": {
			nil, "SELECT FROM campaigns FOR NO KEY UPDATE",
			func(m *mailing, other uuid.UUID, _ campaign.Claim, _ uuid.UUID) error {
				_, err := m.hear(context.Background(), told{report: &campaign.Report{
					PhoneNumberID: "acme", WAMID: wamid(other, 1), Status: campaign.MessageFailed, Verdict: refusal(190), At: time.Now(),
				}})
				return err
			},
		},
		"WhatsApp has another number": {
			5, "SELECT FROM tenants FOR NO KEY UPDATE",
			func(m *mailing, _ uuid.UUID, mine campaign.Claim, token uuid.UUID) error {
				_, err := m.Record(context.Background(), "acme", token, []campaign.Result{{
					Claim: mine, Verdict: accepted, WAMID: "wamid.x", WaID: "15145550998", At: time.Now(), Status: 200,
				}}, time.Now())
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m, ctx := newMailing(t), t.Context()
			person := put(t, dboutreach.NewContacts(m.pool, nil), "acme", someone(phone))
			first := m.put(t, "first", phone)
			token, claims := m.claim(t, 1)
			m.record(t, token, accepted, claims...)
			m.apply(t, campaign.Report{WAMID: wamid(first, 1), User: "CA.1", Status: campaign.MessageDelivered, At: time.Now()})
			change := again
			change.At = time.Now().Add(-time.Minute)
			m.tell(t, told{inbound: &change})
			m.running(t, "a", m.sender, 2)
			m.exec(t, "UPDATE messages m SET digest = c.digest FROM contacts c WHERE c.id = $1 AND m.recipient = c.phone", person)
			m.exec(t, "UPDATE tenants SET contacts = 3, max_contacts = $1", tt.limit)
			token, claims = m.claim(t, 2)
			mine, other := claims[0], claims[1]
			if other.Recipient == phone {
				mine, other = other, mine
			}
			m.record(t, token, accepted, other)
			if tt.limit == nil {
				require.NoError(t, m.Release(ctx, "acme", token, []uuid.UUID{mine.ID}))
			}

			tx, err := m.pool.Begin(ctx)
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(ctx) }()
			_, err = tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
			require.NoError(t, err)
			_, err = tx.Exec(ctx, tt.held)
			require.NoError(t, err)
			var work errgroup.Group
			work.Go(func() error {
				return dboutreach.NewContacts(m.pool, nil).Delete(ctx, "acme", person, "zoe", time.Now())
			})
			m.waiting(t, 1)
			work.Go(func() error { return tt.told(m, other.ID, mine, token) })
			m.waiting(t, 2)
			require.NoError(t, tx.Rollback(ctx))
			require.NoError(t, work.Wait())
			require.Empty(t, m.lines(t, "SELECT id FROM messages WHERE recipient = $1", phone))
			m.counted(t)
		})
	}
}
