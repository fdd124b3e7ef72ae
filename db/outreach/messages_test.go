package outreach_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// mailing is a database with the tenant acme, its sender, and what sends its messages.
type mailing struct {
	*dboutreach.Messages
	campaigns *dboutreach.Campaigns
	hooks     *dboutreach.Webhooks
	pool      *pgxpool.Pool
	sender    uuid.UUID
}

func newMailing(t testing.TB) *mailing {
	t.Helper()

	m := &mailing{pool: dbtest.New(t)}
	m.by(nil)
	m.sender = m.tenant(t, "acme")
	return m
}

// by makes the stores anew, with the key of opt-outs.
func (m *mailing) by(key *dboutreach.OptOutKey) {
	m.Messages, m.campaigns, m.hooks = dboutreach.NewMessages(m.pool, key), dboutreach.NewCampaigns(m.pool, key), dboutreach.NewWebhooks(m.pool, key)
}

// tenant adds a tenant with a sender, whose phone number ID is the tenant's name.
func (m *mailing) tenant(t testing.TB, name string) uuid.UUID {
	t.Helper()

	m.exec(t, `INSERT INTO tenants (id, name, tier, created_at, updated_at) VALUES ($1, $1, 'standard', now(), now())`, name)
	return m.addSender(t, name, name)
}

func (m *mailing) addSender(t testing.TB, tenant, number string) uuid.UUID {
	t.Helper()

	id := uuid.New()
	m.exec(t, `INSERT INTO senders (id, tenant, name, phone_number_id, business_account_id, token, token_key, created_at,
		updated_at) VALUES ($1, $2, $3, $3, '', '', '', now(), now())`, id, tenant, number)
	return id
}

// exec runs a statement over the rows of all tenants.
func (m *mailing) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	dbtest.ExecAll(t, m.pool, sql, args...)
}

func (m *mailing) system(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, m.pool, pgx.TxOptions{
		BeginQuery: "BEGIN; SELECT set_config('conveyor.tenant', '*', true)",
	}, do)
}

// lines are the rows that a SELECT over all tenants finds, as text.
func (m *mailing) lines(t testing.TB, sql string, args ...any) []string {
	t.Helper()
	return dbtest.Lines(t, m.pool, sql, args...)
}

func text(s string) campaign.Body {
	return campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: s}}
}

// put queues a transactional message of acme.
func (m *mailing) put(t testing.TB, key, to string) uuid.UUID {
	t.Helper()

	id := campaign.TransactionalID("acme", key)
	_, err := m.Put(t.Context(), "acme", dboutreach.NewMessage{ID: id, Sender: m.sender, Recipient: to, Body: text(key)}, time.Now())
	require.NoError(t, err)
	return id
}

// claim leases up to n messages of acme for an hour under a new token: those that were not tried before, then others.
func (m *mailing) claim(t testing.TB, n int) (uuid.UUID, []campaign.Claim) {
	t.Helper()

	take := campaign.Take{Tenant: "acme", Max: n, Token: uuid.New(), Lease: time.Hour}
	claims, err := m.Claim(t.Context(), take)
	require.NoError(t, err)
	take.Tried, take.Max = true, n-len(claims)
	more, err := m.Claim(t.Context(), take)
	require.NoError(t, err)
	return take.Token, append(claims, more...)
}

// record stores the same verdict on claims of acme.
func (m *mailing) record(t testing.TB, token uuid.UUID, v campaign.Verdict, claims ...campaign.Claim) campaign.Recorded {
	t.Helper()

	var results []campaign.Result
	for _, c := range claims {
		r := campaign.Result{Claim: c, Verdict: v, At: time.Now(), Took: time.Second, Status: 400}
		if v.Outcome == campaign.Accepted {
			r.WAMID, r.Status = wamid(c.ID, c.Attempts+1), 200
		}
		results = append(results, r)
	}
	out, err := m.Record(t.Context(), "acme", token, results, time.Now())
	require.NoError(t, err)
	return out
}

var accepted = campaign.Verdict{Outcome: campaign.Accepted}

func wamid(id uuid.UUID, n int) string { return fmt.Sprintf("wamid.%s.%d", id, n) }

// refusal is the verdict on an error of the API.
func refusal(code int) campaign.Verdict {
	return campaign.JudgeError(400, campaign.APIError{Code: code})
}

var lost = campaign.Judge(campaign.Answer{Written: true, Err: context.DeadlineExceeded})

// counted holds the counts of every campaign to the messages that there are.
func (m *mailing) counted(t testing.TB) {
	t.Helper()

	require.Empty(t, m.lines(t, `SELECT c.name, c.waiting, c.unknown, c.sent, c.delivered, c.read, c.failed, c.skipped, n.*
		FROM campaigns c CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE state IN ('queued', 'sending')) AS w,
			count(*) FILTER (WHERE state = 'unknown') AS u, count(*) FILTER (WHERE state = 'sent') AS s,
			count(*) FILTER (WHERE state = 'delivered') AS d, count(*) FILTER (WHERE state = 'read') AS r,
			count(*) FILTER (WHERE state = 'failed') AS f, count(*) FILTER (WHERE state = 'skipped') AS k
			FROM messages WHERE campaign = c.id) n
		WHERE (c.waiting, c.unknown, c.sent, c.delivered, c.read, c.failed, c.skipped) <> (w, u, s, d, r, f, k)`))
}

// told are the events message.status, in the order of writing.
func (m *mailing) told(t testing.TB) []string {
	t.Helper()

	return m.lines(t, `SELECT convert_from(body, 'UTF8')::jsonb->'data'->>'status' FROM outbox
		WHERE routing_key = 'message.status' AND lane ~ '^tenant/' ORDER BY id`)
}

func (m *mailing) state(t testing.TB, id uuid.UUID) campaign.Status {
	t.Helper()

	row, _, err := m.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	return row.State
}

// A transactional message is stored once, whatever is repeated, and only by a tenant that has its sender.
func TestPutMessage(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	other := m.tenant(t, "other")
	id := m.put(t, "k", "+15145550199")
	require.Equal(t, id, m.put(t, "k", "+15145550199"))
	require.Equal(t, []string{"1"}, m.lines(t, "SELECT count(*) FROM messages"))

	n := dboutreach.NewMessage{ID: id, Sender: m.sender, Recipient: "+15145550199", Body: text("another")}
	_, err := m.Put(ctx, "acme", n, time.Now())
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	_, err = m.Put(ctx, "other", dboutreach.NewMessage{ID: uuid.New(), Sender: m.sender, Recipient: "+15145550199", Body: text("a")}, time.Now())
	require.Equal(t, fault.Invalid, fault.ClassOf(err), "a sender of another tenant")
	_, err = m.Put(ctx, "other", dboutreach.NewMessage{ID: id, Sender: other, Recipient: "+15145550199", Body: text("k")}, time.Now())
	require.Error(t, err, "an ID of another tenant")
	_, err = m.Put(ctx, "acme", dboutreach.NewMessage{ID: uuid.New(), Sender: m.sender, Recipient: "+15145550199"}, time.Now())
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	_, _, err = m.Get(ctx, "other", id)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, err = m.Put(ctx, "nobody", n, time.Now())
	require.Error(t, err)

	// Brazil's two notations of a number are one person.
	stop := campaign.Inbound{PhoneNumberID: "acme", From: "5511987654321", Text: "Stop", At: time.Now()}
	hook, err := m.hooks.Store(ctx, []byte("stop"), 0, 1, time.Now())
	require.NoError(t, err)
	applied, err := m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{
		stop, {PhoneNumberID: "acme", From: "15145550100", Text: "Stop it, please"}, {PhoneNumberID: "?", From: "1", Text: "stop"},
	}, time.Now())
	require.NoError(t, err)
	require.Equal(t, 1, applied.Opted)
	row, _, err := m.Get(ctx, "acme", m.put(t, "late", "+551187654321"))
	require.NoError(t, err)
	require.Equal(t, campaign.MessageSkipped, row.State)
	require.Equal(t, campaign.ClassOptedOut, row.Class)
}

// An import is told of a message to one person for as long as it waits to be claimed, and of no other one.
func TestSingleWaits(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	waits := func() bool {
		t.Helper()
		waits, err := m.SingleWaits(t.Context())
		require.NoError(t, err)
		return waits
	}
	require.False(t, waits())
	m.running(t, "a", m.sender, 5)
	require.False(t, waits(), "those of a campaign")
	m.put(t, "old", "+15145550199")
	m.exec(t, "UPDATE messages SET queued_at = queued_at - interval '1 hour' WHERE campaign IS NULL")
	require.False(t, waits(), "it waits for its rate, or its sender")
	m.put(t, "behind", "+15145550199")
	m.exec(t, "UPDATE messages SET due_at = queued_at WHERE campaign IS NULL")
	m.exec(t, "UPDATE messages SET queued_at = now() + interval '1 hour' WHERE campaign IS NULL AND queued_at > now() - interval '30 minutes'")
	require.False(t, waits(), "it waits for the other one of its sender")
	m.exec(t, "DELETE FROM messages WHERE campaign IS NULL")
	m.put(t, "later", "+15145550199")
	m.exec(t, "UPDATE messages SET queued_at = now() + interval '1 hour', due_at = now() + interval '1 hour' WHERE campaign IS NULL")
	require.False(t, waits(), "it is not due")
	m.exec(t, "DELETE FROM messages WHERE campaign IS NULL")
	m.put(t, "now", "+15145550199")
	m.exec(t, "UPDATE messages SET queued_at = now() + interval '1 hour' WHERE campaign IS NULL") // however slow the test is
	require.True(t, waits())
	m.exec(t, "UPDATE senders SET state = 'paused'")
	require.False(t, waits(), "its sender is paused")
	m.exec(t, "UPDATE senders SET state = 'active'")
	_, claims := m.claim(t, 1)
	require.Len(t, claims, 1)
	require.False(t, waits(), "it is claimed")
}

// Transactional messages come first, the campaigns of a tenant take turns, and nothing is taken of what is held back.
func TestClaimOrder(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	second := m.addSender(t, "acme", "second")
	a, b := m.running(t, "a", m.sender, 20), m.running(t, "b", m.sender, 5)
	c := m.running(t, "c", second, 5)
	for i := range 3 {
		m.put(t, fmt.Sprint(i), "+15145550199")
	}
	of := func(claims []campaign.Claim) (names string) {
		for _, claim := range claims {
			names += map[uuid.UUID]string{uuid.Nil: "t", a: "a", b: "b", c: "c"}[claim.Campaign]
		}
		return names
	}
	sorted := func(s string) map[rune]int {
		n := map[rune]int{}
		for _, r := range s {
			n[r]++
		}
		return n
	}
	_, claims := m.claim(t, 9)
	require.Equal(t, "ttt", of(claims)[:3])
	require.Equal(t, map[rune]int{'t': 3, 'a': 2, 'b': 2, 'c': 2}, sorted(of(claims)))

	claims, err := m.Claim(ctx, campaign.Take{
		Tenant: "acme", Max: 1, Sender: m.sender, Token: uuid.New(), Lease: time.Hour,
	})
	require.NoError(t, err)
	require.Len(t, claims, 1)
	require.Equal(t, m.sender, claims[0].Sender, "of one sender")

	_, err = m.campaigns.Pause(ctx, "acme", a, "wait", "zoe", time.Now())
	require.NoError(t, err)
	m.exec(t, "UPDATE senders SET paused_until = now() + interval '1 hour' WHERE id = $1", second)
	_, claims = m.claim(t, 50)
	require.Equal(t, map[rune]int{'b': 3}, sorted(of(claims)), "neither the paused campaign nor the paused sender")
	m.exec(t, "UPDATE senders SET paused_until = now() - interval '1 hour' WHERE id = $1", second)
	m.exec(t, "UPDATE tenants SET state = 'stopped'")
	_, claims = m.claim(t, 50)
	require.Empty(t, claims, "a tenant that is stopped")
	m.exec(t, "UPDATE tenants SET state = 'active'")
	m.exec(t, "UPDATE senders SET state = 'stopped'")
	_, claims = m.claim(t, 50)
	require.Empty(t, claims, "senders that are stopped")
	m.exec(t, "UPDATE senders SET state = 'paused', paused_until = NULL")
	_, claims = m.claim(t, 50)
	require.Empty(t, claims, "senders that a person has paused")
	m.exec(t, "UPDATE senders SET state = 'active'")

	_, err = m.campaigns.Resume(ctx, "acme", a, "zoe", time.Now())
	require.NoError(t, err)
	m.exec(t, "INSERT INTO opt_outs (tenant, digest, source, at) SELECT tenant, digest, 'api', now() FROM messages WHERE campaign = $1", a)
	_, claims = m.claim(t, 50)
	require.Equal(t, map[rune]int{'c': 3}, sorted(of(claims)), "those of a have opted out")
	m.counted(t)
	require.Equal(t, []string{"queued 0", "sending 3", "skipped 17"}, m.lines(t, `SELECT s, count(m.id)
		FROM unnest('{queued,sending,skipped}'::text[]) s LEFT JOIN messages m ON campaign = $1 AND state = s GROUP BY s ORDER BY s`, a))
}

// begun is a campaign of acme with n contacts that has begun.
func (m *mailing) begun(t testing.TB, name string, sender uuid.UUID, n int) uuid.UUID {
	t.Helper()

	ctx, now := t.Context(), time.Now()
	list := uuid.New()
	m.exec(t, "INSERT INTO contact_lists (id, tenant, name, created_at) VALUES ($1, 'acme', $2, now())", list, name)
	m.exec(t, `WITH added AS (
			INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone, given_name)
			SELECT 'acme', now(), now(), substr(sha256(convert_to($2 || n, 'UTF8')), 1, 16), $2 || n, '+1514555' || lpad(n::text, 4, '0'), 'Zoé'
			FROM generate_series(1, $3) n RETURNING id)
		INSERT INTO contact_list_members (tenant, list, contact) SELECT 'acme', $1, id FROM added`, list, name, n)
	c, err := m.campaigns.Create(ctx, "acme", uuid.New(), dboutreach.Plan{
		Name: name, Sender: sender, Template: text("Hello {{given_name|you}}"),
		Audience: campaign.Audience{To: campaign.Groups{Lists: []uuid.UUID{list}}},
	}, "zoe", now)
	require.NoError(t, err)
	_, err = m.campaigns.Schedule(ctx, "acme", c.ID, now, "zoe", now)
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", c.ID, time.Now().Add(time.Second))
	require.NoError(t, err)
	return c.ID
}

// running is a campaign of acme that runs and has messages to n contacts.
func (m *mailing) running(t testing.TB, name string, sender uuid.UUID, n int) uuid.UUID {
	t.Helper()

	ctx, id := t.Context(), m.begun(t, name, sender, n)
	var err error
	for more := true; more; {
		more, err = m.campaigns.Freeze(ctx, "acme", id, 1000, time.Now())
		require.NoError(t, err)
	}
	m.counted(t)
	return id
}

// However many claim at once, each message is claimed once.
func TestClaimAtOnce(t *testing.T) {
	t.Parallel()

	const messages, workers = 1000, 6
	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, messages)
	claimed := make(chan campaign.Claim, messages*2)
	var work errgroup.Group
	for range workers {
		work.Go(func() error {
			for {
				token := uuid.New()
				claims, err := m.Claim(ctx, campaign.Take{Tenant: "acme", Max: 20, Token: token, Lease: time.Hour})
				if err != nil || len(claims) == 0 {
					return err
				}
				var results []campaign.Result
				for _, c := range claims {
					claimed <- c
					results = append(results, campaign.Result{Claim: c, Verdict: accepted, WAMID: wamid(c.ID, 1), At: time.Now()})
				}
				if out, err := m.Record(ctx, "acme", token, results, time.Now()); err != nil || out.Lost > 0 {
					return errors.Join(err, fmt.Errorf("lost %d", out.Lost))
				}
			}
		})
	}
	require.NoError(t, work.Wait())
	close(claimed)
	seen := map[uuid.UUID]bool{}
	for c := range claimed {
		require.False(t, seen[c.ID])
		seen[c.ID] = true
	}
	require.Len(t, seen, messages)
	m.counted(t)
	c, err := m.campaigns.Get(ctx, "acme", id)
	require.NoError(t, err)
	require.Equal(t, campaign.Counts{Sent: messages}, c.Counts)
	require.Len(t, m.told(t), messages)
}

// What each outcome makes of a message, its sender, its campaign and its tenant.
func TestRecord(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name     string
		verdict  campaign.Verdict
		attempts int // with this verdict
		state    campaign.Status
		rest     string // sender paused, campaign, tenant, opted out, dead letters
		told     []string
	}{
		{"accepted", accepted, 1, campaign.MessageSent, "false running active 0 0", []string{"sent"}},
		{"a fault", refusal(131000), 1, campaign.MessageQueued, "false running active 0 0", nil},
		{"three faults", refusal(131000), 3, campaign.MessageFailed, "false running active 0 1", []string{"failed"}},
		{"too fast", refusal(130429), 5, campaign.MessageQueued, "true running active 0 0", nil},
		{"no such recipient", refusal(131026), 1, campaign.MessageFailed, "false running active 0 0", []string{"failed"}},
		{"opted out at Meta", refusal(131050), 1, campaign.MessageFailed, "false running active 1 0", []string{"failed"}},
		{"no such template", refusal(132001), 1, campaign.MessageFailed, "false paused active 0 0", []string{"failed"}},
		{"the token", refusal(190), 1, campaign.MessageQueued, "false running stopped 0 0", nil},
		{"lost", lost, 1, campaign.MessageUnknown, "false running active 0 0", []string{"unknown"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			m := newMailing(t)
			id := m.running(t, "a", m.sender, 1)
			var claims []campaign.Claim
			var token uuid.UUID
			for range tt.attempts {
				m.exec(t, "UPDATE messages SET due_at = now() - interval '1 s'")
				m.exec(t, "UPDATE senders SET paused_until = NULL")
				token, claims = m.claim(t, 1)
				require.Len(t, claims, 1)
				require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, token, tt.verdict, claims...))
			}
			require.Equal(t, campaign.Recorded{Lost: 1}, m.record(t, token, tt.verdict, claims...), "a repeat changes nothing")
			row, attempts, err := m.Get(t.Context(), "acme", claims[0].ID)
			require.NoError(t, err)
			require.Equal(t, tt.state, row.State)
			require.Equal(t, tt.attempts, row.Attempts)
			require.Len(t, attempts, tt.attempts)
			require.Equal(t, tt.verdict.Outcome, attempts[tt.attempts-1].Outcome)
			require.Equal(t, tt.verdict.Class, row.Class)
			require.Equal(t, tt.verdict.Means, row.Error)
			require.Equal(t, "Hello Zoé", row.Body.Text.Body)
			require.Equal(t, []string{tt.rest}, m.lines(t, `SELECT s.paused_until > now() IS TRUE, c.state, t.state,
				(SELECT count(*) FROM opt_outs), (SELECT count(*) FROM dead_letters WHERE queue LIKE 'message\_%' AND tenant = 'acme')
				FROM senders s, campaigns c, tenants t WHERE c.id = $1`, id))
			require.Equal(t, strings.Join(tt.told, " "), strings.Join(m.told(t), " "))
			m.counted(t)
		})
	}
}

// A sender that is told to slow down again and again waits longer each time, until a message is accepted.
func TestSenderHolds(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	m.put(t, "a", "+15145550199")
	for holds := range 3 {
		m.exec(t, "UPDATE senders SET paused_until = NULL")
		token, claims := m.claim(t, 1)
		require.Equal(t, holds, claims[0].Holds)
		before := m.lines(t, "SELECT clock_timestamp()::text")[0]
		m.record(t, token, refusal(130429), claims...)
		require.Equal(t, []string{fmt.Sprint(holds + 1)}, m.lines(t, fmt.Sprintf(`SELECT holds FROM senders
			WHERE paused_until BETWEEN '%[1]s'::timestamptz + '%[2]d s' AND clock_timestamp() + '%[2]d s'`, before, 2<<holds)))
		m.exec(t, "UPDATE senders SET paused_until = paused_until + interval '1 hour'")
		_, claims = m.claim(t, 1)
		require.Empty(t, claims)
	}
	m.exec(t, "UPDATE senders SET paused_until = NULL")
	token, claims := m.claim(t, 1)
	m.record(t, token, accepted, claims...)
	require.Equal(t, []string{"0"}, m.lines(t, "SELECT holds FROM senders"))
}

// A pause that a person has set until a time is no way round the limits of the API: those count when it is over, and
// make it longer when it is not. A pause without end stays.
func TestSenderHoldsAfterPause(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, until, verdict, then string }{
		{"over", "now() - interval '1 s'", "130429", "active 1 2 too many messages a second"},
		{"over, accepted", "now() - interval '1 s'", "0", "active 0 -1 "},
		{"not over", "now() + interval '1 s'", "130429", "paused 1 2 holidays"},
		{"without end", "NULL", "130429", "paused 3 <nil> holidays"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			m := newMailing(t)
			m.put(t, "a", "+15145550199")
			token, claims := m.claim(t, 1)
			verdict := accepted
			if tt.verdict != "0" {
				verdict = refusal(130429)
			}
			m.exec(t, "UPDATE senders SET state = 'paused', reason = 'holidays', holds = 3, paused_until = "+tt.until)
			m.record(t, token, verdict, claims...)
			require.Equal(t, []string{strings.TrimSpace(tt.then)}, m.lines(t, `SELECT state, holds,
				round(extract(epoch FROM paused_until - now()))::int, reason FROM senders`))
			_, claims = m.claim(t, 1)
			require.Empty(t, claims)
		})
	}
}

// Of what was sent before a pause began the result says nothing about it: the pause keeps its reason, and the next one is
// longer. A report does not make it shorter either.
func TestPauseOutlivesEarlierResults(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	for i := range 4 {
		m.put(t, fmt.Sprint(i), fmt.Sprint("+1514555019", i))
	}
	token, claims := m.claim(t, 4)
	m.exec(t, "UPDATE senders SET holds = 1")
	for i := range claims {
		claims[i].Holds = 1
	}
	stands := func() {
		t.Helper()
		require.Equal(t, []string{"2 the sender is restricted because of its quality true"}, m.lines(t,
			"SELECT holds, reason, paused_until > now() + interval '1 hour' FROM senders"))
	}
	m.record(t, token, refusal(131048), claims[0])
	stands()
	m.record(t, token, accepted, claims[1:3]...)
	stands()
	m.record(t, token, refusal(130429), claims[3])
	stands()
	m.apply(t, campaign.Report{
		WAMID: wamid(claims[1].ID, 1), Status: campaign.MessageFailed, At: time.Now(), Verdict: refusal(131048),
	})
	stands()
	m.exec(t, "UPDATE senders SET paused_until = now() - interval '1 s'")
	token, claims = m.claim(t, 1)
	require.Equal(t, 2, claims[0].Holds)
	m.record(t, token, accepted, claims...)
	require.Equal(t, []string{"0 ''"}, m.lines(t, "SELECT holds, quote_literal(reason) FROM senders"))
}

// A recipient that is left alone gets no other message of the sender either.
func TestRecipientWaits(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	first := m.put(t, "a", "+15145550199")
	token, claims := m.claim(t, 1)
	second, other := m.put(t, "b", "+15145550199"), m.put(t, "c", "+15145550100")
	m.record(t, token, refusal(131056), claims...)
	for _, id := range []uuid.UUID{first, second} {
		row, _, err := m.Get(t.Context(), "acme", id)
		require.NoError(t, err)
		require.Equal(t, campaign.MessageQueued, row.State)
		require.Greater(t, row.DueAt.Sub(row.QueuedAt), 3*time.Second)
		m.exec(t, "UPDATE messages SET due_at = due_at + interval '1 hour' WHERE id = $1", id)
	}
	_, claims = m.claim(t, 10)
	require.Len(t, claims, 1)
	require.Equal(t, other, claims[0].ID)
}

// A campaign whose last lease has run out is done. A worker that was only slow may still say that the message waits, or
// that its request was never written: the campaign has not ended then, and a canceled one drops it.
func TestLateResults(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name     string
		canceled bool
		release  bool
		rest     bool   // by a worker that never heard of the claim
		then     string // state of the campaign, state, attempts and class of the message, rows of attempts
		ends     string
	}{
		{"to be tried again", false, false, false, "running queued 1 transient 1", "done sent 2  2"},
		{"not sent", false, true, false, "running queued 0  0", "done sent 1  1"},
		{"to be tried again, canceled", true, false, false, "canceled queued 1 transient 1", "canceled skipped 1 canceled 1"},
		{"not sent, its claim was never heard of", false, true, true, "running queued 0  0", "done sent 1  1"},
		{"not sent, canceled", true, true, false, "canceled queued 0  0", "canceled skipped 0 canceled 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			m, ctx := newMailing(t), t.Context()
			id := m.running(t, "a", m.sender, 1)
			stands := func() []string {
				return m.lines(t, `SELECT c.state, m.state, m.attempts, m.class, (SELECT count(*) FROM message_attempts)
					FROM campaigns c, messages m WHERE m.campaign = c.id`)
			}
			token, claims := m.claim(t, 1)
			m.exec(t, "UPDATE messages SET lease_until = now() - interval '1 s', written_at = now() - interval '60 days'")
			_, err := m.Expire(ctx, 10, time.Now())
			require.NoError(t, err, "a lease that ended long ago")
			if tt.canceled {
				_, err := m.campaigns.Cancel(ctx, "acme", id, "", "zoe", time.Now())
				require.NoError(t, err)
			}
			c, err := m.campaigns.Finish(ctx, "acme", id, time.Now())
			require.NoError(t, err)
			require.NotNil(t, c.FinishedAt)

			if tt.rest {
				require.NoError(t, m.ReleaseRest(ctx, "acme", []uuid.UUID{uuid.New()}, []uuid.UUID{}))
				require.Equal(t, campaign.MessageUnknown, m.state(t, claims[0].ID), "the lease of another worker")
				require.NoError(t, m.ReleaseRest(ctx, "acme", []uuid.UUID{token}, []uuid.UUID{}))
			} else if tt.release {
				require.NoError(t, m.Release(ctx, "acme", uuid.New(), []uuid.UUID{claims[0].ID}))
				require.Equal(t, campaign.MessageUnknown, m.state(t, claims[0].ID), "the lease of another worker")
				require.NoError(t, m.Release(ctx, "acme", token, []uuid.UUID{claims[0].ID}))
			} else {
				require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, token, refusal(131000), claims...))
			}
			require.Equal(t, []string{tt.then}, stands())
			m.counted(t)
			open, err := m.campaigns.Open(ctx, uuid.Nil, 10)
			require.NoError(t, err)
			require.Equal(t, []dboutreach.OpenCampaign{{ID: id, Tenant: "acme"}}, open, "its workflow is started")

			if tt.canceled {
				_, err = m.campaigns.Drop(ctx, "acme", id, 10)
				require.NoError(t, err)
			} else {
				m.exec(t, "UPDATE messages SET due_at = now()")
				token, claims = m.claim(t, 1)
				m.record(t, token, accepted, claims...)
			}
			c, err = m.campaigns.Finish(ctx, "acme", id, time.Now())
			require.NoError(t, err)
			require.NotNil(t, c.FinishedAt)
			require.Equal(t, []string{tt.ends}, stands())
			m.counted(t)
		})
	}
}

// What is given back unsent does not count against the tenant's day.
func TestReleaseGivesDayBack(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.exec(t, "UPDATE tenants SET max_messages_day = 4 WHERE id = 'acme'")
	m.running(t, "a", m.sender, 6)
	day := func() []string { return m.lines(t, "SELECT n FROM message_days") }
	token, claims := m.claim(t, 10)
	require.Len(t, claims, 4)
	require.Equal(t, []string{"4"}, day())
	require.NoError(t, m.Release(ctx, "acme", token, []uuid.UUID{claims[0].ID}))
	require.NoError(t, m.Release(ctx, "acme", token, []uuid.UUID{claims[0].ID}), "once")
	require.NoError(t, m.ReleaseRest(ctx, "acme", []uuid.UUID{token}, []uuid.UUID{claims[2].ID, claims[3].ID}))
	require.Equal(t, []string{"2"}, day())
	m.record(t, token, refusal(131000), claims[2:]...)
	m.exec(t, "UPDATE messages SET due_at = now()")
	token, claims = m.claim(t, 10)
	require.Len(t, claims, 2+2, "two first tries, and those that were tried")
	require.Equal(t, []string{"4"}, day())
	for _, c := range claims {
		require.NoError(t, m.Release(ctx, "acme", token, []uuid.UUID{c.ID}))
	}
	require.Equal(t, []string{"2"}, day(), "further tries do not count")
	token, claims = m.claim(t, 10)
	require.Len(t, claims, 4)
	m.exec(t, "UPDATE messages SET written_at = written_at - interval '1 day' WHERE state = 'sending'")
	require.NoError(t, m.ReleaseRest(ctx, "acme", []uuid.UUID{token}, []uuid.UUID{}))
	require.Equal(t, []string{"4"}, day(), "they were claimed on another day")
}

// A person who is forgotten while the campaign is written gets no message, and none is stored.
func TestForgetWhileWriting(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.begun(t, "a", m.sender, 2)
	contacts := dboutreach.NewContacts(m.pool, nil)
	var person int64
	m.exec(t, "UPDATE tenants SET contacts = 2 WHERE id = 'acme'")
	require.NoError(t, m.system(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "SELECT min(id) FROM contacts").Scan(&person)
	}))
	waiting := func(n int64) func() bool {
		return func() bool {
			return dbtest.Count(t, m.pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n
		}
	}
	tx, err := m.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	_, err = tx.Exec(ctx, `SELECT set_config('conveyor.tenant', '*', true)`)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `INSERT INTO messages (id, tenant, sender, kind, digest, recipient, body, due_at, queued_at)
		VALUES ($1, 'acme', $2, 'campaign', '', '', '{}', now(), now())`, campaign.MessageID(id, person), m.sender)
	require.NoError(t, err)

	var work errgroup.Group
	work.Go(func() error {
		_, err := m.campaigns.Freeze(ctx, "acme", id, 1000, time.Now())
		return err
	})
	require.Eventually(t, waiting(1), 2*time.Minute, 5*time.Millisecond, "it has read the contacts, and waits to store their messages")
	forgotten := make(chan error, 1)
	go func() { forgotten <- contacts.Delete(ctx, "acme", person, "zoe", time.Now()) }()
	require.Eventually(t, func() bool { return waiting(2)() || len(forgotten) > 0 }, 2*time.Minute, 5*time.Millisecond)
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, work.Wait())
	require.NoError(t, <-forgotten)
	require.Equal(t, []string{"queued +15145550002", "skipped"}, m.lines(t, "SELECT state, recipient FROM messages ORDER BY state"))
	m.counted(t)
}

// A person is forgotten while the answer to a message to that person stops the tenant, which has a limit of contacts.
func TestForgetWhileTenantIsStopped(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.running(t, "a", m.sender, 1)
	m.exec(t, "UPDATE tenants SET contacts = 1, max_contacts = 5 WHERE id = 'acme'")
	token, claims := m.claim(t, 1)
	tx, err := m.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	_, err = tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
	require.NoError(t, err)
	var person int64
	require.NoError(t, tx.QueryRow(ctx, "SELECT id FROM contacts FOR UPDATE").Scan(&person))
	waiting := func(n int64) func() bool {
		return func() bool {
			return dbtest.Count(t, m.pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == n
		}
	}
	var work errgroup.Group
	work.Go(func() error {
		return dboutreach.NewContacts(m.pool, nil).Delete(ctx, "acme", person, "zoe", time.Now())
	})
	require.Eventually(t, waiting(1), 2*time.Minute, 5*time.Millisecond, "it waits for the contact")
	work.Go(func() error {
		_, err := m.Record(ctx, "acme", token, []campaign.Result{{
			Claim: claims[0], Verdict: refusal(190), At: time.Now(), Status: 400,
		}}, time.Now())
		return err
	})
	require.Eventually(t, waiting(2), 2*time.Minute, 5*time.Millisecond, "and the answer for the message, or the tenant")
	require.NoError(t, tx.Rollback(ctx))
	require.NoError(t, work.Wait())
	require.Equal(t, []string{"stopped 0"}, m.lines(t, "SELECT state, contacts FROM tenants WHERE id = 'acme'"))
	m.counted(t)
}

// A person who got enough marketing messages is left alone for a day, also where another person has failed messages sent
// again; one who cannot get them is not sent them again at all.
func TestRetryFailedWaits(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, 3)
	token, claims := m.claim(t, 3)
	for i, code := range []int{131049, 130472, 131000} {
		v := refusal(code)
		v.Outcome, v.HoldsAll = campaign.FailRecipient, false // as a webhook reports it
		m.record(t, token, v, claims[i])
	}
	n, err := m.campaigns.RetryFailed(ctx, "acme", id, "zoe", time.Now())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"queued 24", "failed <nil>", "queued 0"}, m.lines(t, `SELECT state,
		CASE state WHEN 'queued' THEN round(extract(epoch FROM due_at - now()) / 3600)::int END
		FROM messages m JOIN unnest($1::uuid[]) WITH ORDINALITY AS o(id, n) USING (id) ORDER BY n`,
		[]uuid.UUID{claims[0].ID, claims[1].ID, claims[2].ID}))
}

// A worker that stops gives back the message whose request it has not written. One that dies leaves its messages unknown,
// for it may have written their requests, and nothing sends them again but a person.
func TestWorkerDies(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, 4)
	token, claims := m.claim(t, 4)
	require.NoError(t, m.Release(ctx, "acme", token, []uuid.UUID{claims[3].ID}))
	expired, err := m.Expire(ctx, 100, time.Now())
	require.NoError(t, err)
	require.Empty(t, expired, "the lease holds")
	m.exec(t, "UPDATE messages SET lease_until = now() - interval '1 s'")
	expired, err = m.Expire(ctx, 100, time.Now())
	require.NoError(t, err)
	require.Equal(t, []dboutreach.Expired{{Tenant: "acme", Messages: 3}}, expired)
	m.counted(t)
	require.Equal(t, []string{"unknown", "unknown", "unknown"}, m.told(t))
	next, again := m.claim(t, 4)
	require.Len(t, again, 1)
	require.Equal(t, claims[3].ID, again[0].ID)
	require.Equal(t, campaign.Recorded{Lost: 1}, m.record(t, token, accepted, claims[3]), "it is another's")
	require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, next, accepted, again...))

	// The first worker was only slow, and the answer that it got settles its message. Meta reports on the second.
	require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, token, accepted, claims[0]))
	m.apply(t, campaign.Report{WAMID: "w", Message: claims[1].ID, Status: campaign.MessageDelivered, At: time.Now()})
	require.Equal(t, campaign.MessageSent, m.state(t, claims[0].ID))
	require.Equal(t, campaign.MessageDelivered, m.state(t, claims[1].ID))
	require.Equal(t, campaign.MessageUnknown, m.state(t, claims[2].ID))
	require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, token, refusal(131000), claims[1]), "it does not go back")
	require.Equal(t, campaign.MessageDelivered, m.state(t, claims[1].ID))
	for _, c := range claims {
		row, attempts, err := m.Get(ctx, "acme", c.ID)
		require.NoError(t, err)
		require.Equal(t, 1, row.Attempts)
		require.Len(t, attempts, 1)
	}
	m.counted(t)
	_, claims = m.claim(t, 4)
	require.Empty(t, claims)
	n, err := m.campaigns.RetryFailed(ctx, "acme", id, "zoe", time.Now())
	require.NoError(t, err)
	require.Zero(t, n)
}

// Of the messages to a person who is forgotten nothing is left that tells the number, also of what is said of them later,
// and none is sent again.
func TestForgottenRecipient(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, 3)
	token, claims := m.claim(t, 3)
	m.record(t, token, accepted, claims[0])
	m.record(t, token, campaign.Verdict{Outcome: campaign.FailContent, Class: campaign.ClassTransient}, claims[1])
	for _, line := range m.lines(t, "SELECT id FROM contacts") {
		person, err := strconv.ParseInt(line, 10, 64)
		require.NoError(t, err)
		require.NoError(t, dboutreach.NewContacts(m.pool, nil).Delete(ctx, "acme", person, "zoe", time.Now()))
	}
	nowhere := func() {
		t.Helper()
		require.Equal(t, []string{"0 0"}, m.lines(t, `SELECT (SELECT count(wamid) FROM messages),
			(SELECT count(wamid) FROM message_attempts)`))
		m.counted(t)
	}
	nowhere()
	n, err := m.campaigns.RetryFailed(ctx, "acme", id, "zoe", time.Now())
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, token, accepted, claims[2]), "it was on its way")
	nowhere()
	require.Equal(t, []string{"sent " + claims[2].ID.String() + " <nil>"}, m.lines(t, `SELECT d->>'status', d->>'message_id', d->>'wamid'
		FROM outbox, LATERAL (SELECT convert_from(body, 'UTF8')::jsonb->'data' AS d) e WHERE d->>'message_id' = $1`, claims[2].ID.String()))
	require.Equal(t, dboutreach.Applied{Found: 1, Changed: 1}, m.apply(t, campaign.Report{
		WAMID: wamid(claims[0].ID, 1), Message: claims[0].ID, Status: campaign.MessageDelivered, At: time.Now(),
	}))
	nowhere()
	require.Equal(t, campaign.MessageDelivered, m.state(t, claims[0].ID))
	require.Equal(t, []string{"0"}, m.lines(t, `SELECT count(*) FROM outbox WHERE convert_from(body, 'UTF8') LIKE '%delivered%'
		AND convert_from(body, 'UTF8') LIKE '%wamid.%'`))
}

// An address that opts out is that of every contact that has it, or gets it later, wherever its messages are by then.
func TestOptOutByAddress(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	s := dboutreach.NewContacts(m.pool, nil)
	of := func(phone, email string) contact.Contact {
		return someone(phone, func(c *contact.Contact) { c.Email = email })
	}
	optedOut := func(id int64) bool {
		c, err := s.Get(ctx, "acme", id)
		require.NoError(t, err)
		return c.OptedOut
	}
	frozen := func(name string) uuid.UUID {
		id := m.draft(t, name)
		_, err := m.campaigns.Schedule(ctx, "acme", id, time.Now(), "zoe", time.Now())
		require.NoError(t, err)
		_, err = m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
		require.NoError(t, err)
		_, err = m.campaigns.Freeze(ctx, "acme", id, 100, time.Now())
		require.NoError(t, err)
		return id
	}
	one := put(t, s, "acme", of("+15145550101", "Zoe@example.org"))
	other := put(t, s, "acme", of("+15145550102", "jo@example.org"))
	frozen("before")
	waits := m.put(t, "waits", "+15145550101")
	require.NoError(t, s.OptOut(ctx, "acme", []string{contact.Key("", "zoe@example.org")}, "api", "tenant/acme", "me", dbtest.At(2)))
	require.True(t, optedOut(one))
	require.False(t, optedOut(other))
	_, claims := m.claim(t, 10)
	require.Len(t, claims, 1)
	require.Equal(t, "+15145550102", claims[0].Recipient)
	require.Equal(t, campaign.MessageSkipped, m.state(t, waits))
	put(t, s, "acme", of("+15145550101", "new@example.org"))
	require.True(t, optedOut(one), "it holds for good")

	// One that is imported with the address later, by a file.
	u, parsed := upload(t, dboutreach.NewUploads(m.pool), "acme", []contact.Row{
		{Number: 1, Line: 2, Contact: of("+15145550103", "ZOE@example.org")},
	}, 1)
	require.NoError(t, dboutreach.NewUploads(m.pool).Persist(ctx, "acme", u.ID, parsed, dbtest.At(3)))
	late, err := s.Find(ctx, "acme", "+15145550103")
	require.NoError(t, err)
	require.True(t, late.OptedOut)
	p, err := s.Export(ctx, "acme", late.ID)
	require.NoError(t, err)
	require.NotNil(t, p.OptOut)
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "late", "+15145550103")))
	frozen("after")
	require.Equal(t, []string{"skipped"}, m.lines(t, `SELECT state FROM messages
		WHERE recipient = '+15145550103' AND campaign IS NOT NULL`))
	_, claims = m.claim(t, 10)
	require.Len(t, claims, 1)
	require.Equal(t, "+15145550102", claims[0].Recipient)

	// The import of a contact and the opt-out of its address did not see each other.
	hidden := put(t, s, "acme", of("+15145550104", "ann@example.org"))
	frozen("race")
	waits = m.put(t, "race", "+15145550104")
	digest := contact.Digest("acme", contact.Key("", "ann@example.org"))
	m.exec(t, "INSERT INTO opt_outs (tenant, digest, source, at) VALUES ('acme', $1, 'api', now())", digest[:])
	_, claims = m.claim(t, 10)
	require.Len(t, claims, 1)
	require.Equal(t, "+15145550102", claims[0].Recipient)
	require.Equal(t, campaign.MessageSkipped, m.state(t, waits))
	require.True(t, optedOut(hidden))
	m.counted(t)
}

// A lease is of one tenant and under one token, and what is given back waits for its campaign to run.
func TestReleaseMessages(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, 2)
	one := m.put(t, "k", "+15145550199")
	token, claims := m.claim(t, 3)
	require.Len(t, claims, 3)
	require.NoError(t, m.Release(ctx, "acme", uuid.New(), []uuid.UUID{one}), "under another token")
	m.tenant(t, "other")
	out, err := m.Record(ctx, "other", token, []campaign.Result{{Claim: claims[0], Verdict: accepted}}, time.Now())
	require.NoError(t, err)
	require.Equal(t, campaign.Recorded{Lost: 1}, out)
	require.NoError(t, m.Release(ctx, "other", token, []uuid.UUID{one}))
	require.Equal(t, campaign.MessageSending, m.state(t, one))
	_, err = m.campaigns.Pause(ctx, "acme", id, "", "zoe", time.Now())
	require.NoError(t, err)
	require.NoError(t, m.Release(ctx, "acme", token, []uuid.UUID{claims[1].ID, claims[2].ID}))
	require.Equal(t, campaign.MessageSending, m.state(t, one))
	_, again := m.claim(t, 10)
	require.Empty(t, again, "its campaign is paused")
	_, err = m.campaigns.Resume(ctx, "acme", id, "zoe", time.Now())
	require.NoError(t, err)
	next, again := m.claim(t, 10)
	require.Len(t, again, 2, "what was given back is due at once")
	_, err = m.campaigns.Cancel(ctx, "acme", id, "", "zoe", time.Now())
	require.NoError(t, err)
	require.NoError(t, m.Release(ctx, "acme", next, []uuid.UUID{again[0].ID}))
	_, claims = m.claim(t, 10)
	require.Empty(t, claims, "its campaign is canceled")
	require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, next, accepted, again[1]), "it was on its way")
	m.counted(t)
}

func TestWaitingAndTenants(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.tenant(t, "idle")
	next := func() string {
		waiting, err := m.Waiting(ctx, "acme")
		require.NoError(t, err)
		tenants, err := m.Tenants(ctx, "", 10)
		require.NoError(t, err)
		var all []string
		for _, w := range waiting {
			require.Equal(t, m.sender, w.Sender)
			all = append(all, fmt.Sprint(w.Wait.Round(time.Minute), w.Transactional, w.Tried))
		}
		return fmt.Sprint(all, tenants)
	}
	require.Equal(t, "[] []", next())
	id := m.running(t, "a", m.sender, 3)
	require.Equal(t, "[0s false false] [acme]", next())
	m.exec(t, "UPDATE messages SET due_at = now() + interval '5 minutes'")
	require.Equal(t, "[5m0s false false] []", next())
	m.exec(t, "UPDATE senders SET paused_until = now() + interval '10 minutes'")
	require.Equal(t, "[10m0s false false] []", next())
	_, err := m.campaigns.Pause(ctx, "acme", id, "", "zoe", time.Now())
	require.NoError(t, err)
	require.Equal(t, "[] []", next())
	m.put(t, "k", "+15145550199")
	require.Equal(t, "[10m0s true false] []", next())
	m.exec(t, "UPDATE senders SET paused_until = '9999-12-31'")
	require.Equal(t, "[24h0m0s true false] []", next(), "a day at most, for no time.Duration is so long")
	m.exec(t, "UPDATE messages SET due_at = now(), attempts = 1 WHERE campaign IS NULL")
	m.exec(t, "UPDATE senders SET paused_until = NULL")
	m.put(t, "l", "+15145550198")
	require.Equal(t, "[0s true false 0s true true] [acme]", next())
	_, claims := m.claim(t, 1)
	require.Equal(t, campaign.TransactionalID("acme", "l"), claims[0].ID)
	m.exec(t, "UPDATE tenants SET state = 'stopped'")
	require.Equal(t, "[] []", next())
}

// Whoever replays dead letters and whoever retries messages of the same campaign wait for one another, and never both.
func TestReplayBesideRetry(t *testing.T) {
	t.Parallel()

	m, ctx, texts := newMailing(t), t.Context(), dbtest.Statements(t)
	letters := db.NewDeadLetters(m.pool, dboutreach.Reopeners())
	m.running(t, "a", m.sender, 2)
	for range campaign.MaxAttempts {
		m.exec(t, "UPDATE messages SET due_at = now() - interval '1 s'")
		token, claims := m.claim(t, 10)
		m.record(t, token, refusal(131000), claims...)
	}
	ids := m.lines(t, "SELECT id::text FROM messages ORDER BY id")
	require.Len(t, ids, 2)
	m.exec(t, `UPDATE dead_letters d SET message_id = m.id FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n FROM messages) m,
		(SELECT id, row_number() OVER (ORDER BY id) AS n FROM dead_letters) l WHERE l.id = d.id AND m.n = l.n`)
	replayed := make(chan error, 1)
	require.NoError(t, db.TenantTx(ctx, m.pool, "acme", func(tx pgx.Tx) error { // as a retry does
		lock := func(id string) {
			_, err := tx.Exec(ctx, "SELECT FROM messages WHERE id = $1 FOR UPDATE", id)
			require.NoError(t, err)
		}
		lock(ids[0])
		go func() {
			_, err := letters.ReplayAll(ctx, db.LetterFilter{Tenant: "acme"}, 10, "zoe", time.Now())
			replayed <- err
		}()
		require.Eventually(t, func() bool {
			return dbtest.Count(t, m.pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
		}, servicetest.Patience(), 5*time.Millisecond)
		lock(ids[1])
		_, err := tx.Exec(ctx, texts["sqlMessageLetters"], "acme", ids[0])
		return err
	}))
	require.NoError(t, <-replayed)
	require.Equal(t, []string{"queued 3 0", "queued 3 0"}, m.lines(t, "SELECT state, attempts, spent FROM messages"))
	m.counted(t)
}

// A message that was given up is queued again with all its attempts when its dead letter is replayed, whatever it is of,
// but for one that may not be sent again.
func TestReplayOfMessages(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	letters := db.NewDeadLetters(m.pool, dboutreach.Reopeners())
	of := m.running(t, "a", m.sender, 1)
	id := m.put(t, "k", "+15145550199")
	for range campaign.MaxAttempts {
		m.exec(t, "UPDATE messages SET due_at = now() - interval '1 s'")
		token, claims := m.claim(t, 10)
		require.Len(t, claims, 2)
		m.record(t, token, refusal(131000), claims...)
	}
	require.Equal(t, []string{"failed 3 3", "failed 3 3"}, m.lines(t, "SELECT state, attempts, spent FROM messages"))
	_, err := m.campaigns.Finish(ctx, "acme", of, time.Now())
	require.NoError(t, err)
	list := m.lines(t, "SELECT queue, tenant, state, class FROM dead_letters")
	require.Equal(t, []string{"message_retry acme open transient", "message_retry acme open transient"}, list)

	n, err := letters.ReplayAll(ctx, db.LetterFilter{Tenant: "acme"}, 10, "zoe", time.Now())
	require.NoError(t, err)
	require.Equal(t, 2, n.Sent)
	require.Equal(t, []string{"queued 3 0", "queued 3 0"}, m.lines(t, "SELECT state, attempts, spent FROM messages"))
	c, err := m.campaigns.Get(ctx, "acme", of)
	require.NoError(t, err)
	require.Equal(t, campaign.Running, c.State, "it runs again")
	open, err := m.campaigns.Open(ctx, uuid.Nil, 10)
	require.NoError(t, err)
	require.Equal(t, []dboutreach.OpenCampaign{{ID: of, Tenant: "acme"}}, open)
	m.counted(t)
	token, claims := m.claim(t, 10)
	m.record(t, token, accepted, claims...)
	require.Equal(t, campaign.MessageSent, m.state(t, id))
	var letter int64
	_, err = fmt.Sscan(m.lines(t, "SELECT min(id) FROM dead_letters")[0], &letter)
	require.NoError(t, err)
	_, err = letters.Replay(ctx, letter, true, "zoe", time.Now())
	require.Equal(t, fault.Conflict, fault.ClassOf(err), "it was sent: %v", err)
	require.NoError(t, letters.Discard(ctx, letter, "zoe", time.Now()))
	m.counted(t)
}

// An API that names two messages alike keeps none of them from being recorded.
func TestRecordOneWAMIDTwice(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	m.running(t, "a", m.sender, 3)
	token, claims := m.claim(t, 3)
	results := make([]campaign.Result, len(claims))
	for i, c := range claims {
		results[i] = campaign.Result{Claim: c, Verdict: accepted, At: time.Now(), Status: 200, WAMID: "wamid.same"}
	}
	out, err := m.Record(t.Context(), "acme", token, results, time.Now())
	require.NoError(t, err)
	require.Equal(t, campaign.Recorded{Stored: 3}, out)
	require.Equal(t, []string{"3 1"}, m.lines(t, "SELECT count(*) || ' ' || count(wamid) FROM messages WHERE state = 'sent'"))
	m.counted(t)
}

// The messages of no campaign of one tenant, the newest first, a page after the other. A filter that few pass is asked
// of 10,000 messages at a time.
func TestMessagesList(t *testing.T) {
	t.Parallel()

	m, ctx, base := newMailing(t), t.Context(), time.Now().Truncate(time.Hour)
	other := m.tenant(t, "other")
	add := func(tenant string, sender uuid.UUID, of *uuid.UUID, first, last int) {
		t.Helper()
		m.exec(t, `INSERT INTO messages (id, tenant, sender, campaign, kind, state, class, code, recipient, digest, body,
				due_at, queued_at)
			SELECT gen_random_uuid(), $1, $2, $3, CASE WHEN $3::uuid IS NULL THEN 'transactional' ELSE 'campaign' END,
				CASE WHEN bad THEN 'failed' WHEN n = 4 THEN 'read' ELSE 'sent' END, CASE WHEN bad THEN 'undeliverable' ELSE '' END,
				CASE WHEN bad THEN 131026 END, '+15145550199', '', '{}', at, at
			FROM (SELECT n, n IN (2, 5, 10002, 10006) AS bad, $6::timestamptz - n * interval '1 min' AS at
				FROM generate_series($4::int, $5::int) n) m`, tenant, sender, of, first, last, base)
	}
	list := func(tenant string, f dboutreach.MessageFilter) (ns, pages []int) {
		t.Helper()
		var after *db.Position
		for more := true; more; more = after != nil {
			found, next, err := m.List(ctx, tenant, f, after, 2)
			require.NoError(t, err)
			pages, after = append(pages, len(found)), next
			for _, r := range found {
				require.Nil(t, r.Campaign)
				ns = append(ns, int(base.Sub(r.QueuedAt)/time.Minute))
			}
		}
		return ns, pages
	}
	add("acme", m.sender, nil, 1, 7)
	add("acme", m.sender, new(uuid.New()), 1, 4)
	add("other", other, nil, 2, 3)
	for _, tt := range []struct {
		tenant string
		f      dboutreach.MessageFilter
		want   []int
	}{
		{"acme", dboutreach.MessageFilter{}, []int{1, 2, 3, 4, 5, 6, 7}},
		{"other", dboutreach.MessageFilter{}, []int{2, 3}},
		{"nobody", dboutreach.MessageFilter{}, nil},
		{"acme", dboutreach.MessageFilter{State: []campaign.Status{"failed"}}, []int{2, 5}},
		{"other", dboutreach.MessageFilter{State: []campaign.Status{"failed"}}, []int{2}},
		{"acme", dboutreach.MessageFilter{State: []campaign.Status{"failed", "read"}}, []int{2, 4, 5}},
		{"acme", dboutreach.MessageFilter{Class: []campaign.Class{"undeliverable", "other"}}, []int{2, 5}},
		{"acme", dboutreach.MessageFilter{Code: []string{"131026"}}, []int{2, 5}},
		{"acme", dboutreach.MessageFilter{Code: []string{"0", "131026"}}, []int{1, 2, 3, 4, 5, 6, 7}},
		{"acme", dboutreach.MessageFilter{State: []campaign.Status{"sent"}, Code: []string{"131026"}}, nil},
	} {
		ns, pages := list(tt.tenant, tt.f)
		require.Equal(t, tt.want, ns, "%v", tt)
		require.Len(t, pages, max(1, (len(tt.want)+1)/2), "%v", tt)
	}

	add("acme", m.sender, nil, 8, 10010)
	ns, pages := list("acme", dboutreach.MessageFilter{State: []campaign.Status{"failed"}})
	require.Equal(t, []int{2, 5, 10002, 10006}, ns)
	require.Equal(t, []int{2, 1, 1}, pages, "each page looks at as many after it")
	ns, pages = list("acme", dboutreach.MessageFilter{State: []campaign.Status{"failed", "read"}})
	require.Equal(t, []int{2, 4, 5, 10002, 10006}, ns)
	require.Equal(t, []int{2, 2, 1}, pages)
	ns, pages = list("acme", dboutreach.MessageFilter{State: []campaign.Status{"read"}})
	require.Equal(t, []int{4}, ns)
	require.Equal(t, []int{1, 0}, pages)
	ns, pages = list("acme", dboutreach.MessageFilter{State: []campaign.Status{"skipped"}})
	require.Empty(t, ns)
	require.Equal(t, []int{0, 0}, pages)

	dbtest.Alter(t, m.pool, "ANALYZE messages")
	texts := dbtest.Statements(t)
	require.NoError(t, m.system(ctx, func(tx pgx.Tx) error {
		for name, args := range map[string][]any{
			"sqlMessagesDirect": {nil, nil, 3}, "sqlMessagesDirectSome": {nil, nil, 3, []string{"failed"}, nil, nil},
		} {
			plan := dbtest.CustomPlan(ctx, t, tx, texts[name], append([]any{"other"}, args...)...)
			require.Contains(t, plan, "Scan Backward using messages_direct", "%s: %s", name, plan)
			require.NotContains(t, plan, "Sort", "%s: %s", name, plan)
			plan = dbtest.CustomPlan(ctx, t, tx, texts[name], append([]any{"acme"}, args...)...) // nearly all are its own
			require.Contains(t, plan, "Scan Backward using messages_", "%s: %s", name, plan)
			require.NotContains(t, plan, "Sort", "%s: %s", name, plan)
		}
		return nil
	}))
}
