package outreach_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contact"
)

// Chunks that are not stored wait, also those of files that nothing has split yet; those of files that are over do not.
func TestWaitingChunks(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	dbtest.NewTenant(t, pool, "acme")
	dbtest.NewTenant(t, pool, "umbrella")
	s := dboutreach.NewUploads(pool)
	got, err := s.Waiting(t.Context(), dbtest.At(10))
	require.NoError(t, err)
	require.Zero(t, got)
	rows := func(n int) (list []contact.Row) {
		for i := range n {
			list = append(list, person(i+1, i))
		}
		return list
	}
	a, parsed := upload(t, s, "acme", rows(6), 2)
	upload(t, s, "umbrella", rows(5), 3)
	over, _ := upload(t, s, "umbrella", rows(5), 1)
	_, err = s.Cancel(t.Context(), "umbrella", over.ID, "me", dbtest.At(2))
	require.NoError(t, err)
	got, err = s.Waiting(t.Context(), dbtest.At(1).Add(10*time.Second))
	require.NoError(t, err)
	require.Equal(t, backlog.ImportCount{Uploads: 2, Chunks: 5, Rows: 11, OldestAgeSeconds: 10}, got)
	require.NoError(t, s.Persist(t.Context(), "acme", a.ID, parsed, dbtest.At(3)))
	got, err = s.Waiting(t.Context(), dbtest.At(1).Add(10*time.Second))
	require.NoError(t, err)
	require.Equal(t, backlog.ImportCount{Uploads: 2, Chunks: 2, Rows: 5, OldestAgeSeconds: 10}, got)
	_, err = s.Create(t.Context(), dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", FileName: "large.csv", Blob: "b", Bytes: 250_000, SHA256: []byte{1}, CreatedBy: "me", CreatedAt: dbtest.At(0),
	})
	require.NoError(t, err)
	got, err = s.Waiting(t.Context(), dbtest.At(1).Add(10*time.Second))
	require.NoError(t, err)
	own, all, err := s.Backlog(t.Context(), "acme", dbtest.At(1).Add(10*time.Second))
	require.NoError(t, err)
	require.EqualValues(t, all.Chunks, got.Chunks, "the brake on uploads counts the same")
	require.Equal(t, 3, own.Chunks)
	require.Equal(t, backlog.ImportCount{Uploads: 3, Chunks: 5, Rows: 5, OldestAgeSeconds: all.Oldest.Seconds()}, got)
}

// What may be sent now waits, by tier and kind; what is paused or stopped is held back.
func TestWaitingMessages(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	none := []backlog.MessageWait{
		{Tier: "standard", Kind: "transactional"}, {Tier: "standard", Kind: "campaign"},
		{Tier: "enterprise", Kind: "transactional"}, {Tier: "enterprise", Kind: "campaign"},
	}
	got, err := m.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, backlog.MessagesWaiting{Waiting: none}, got)

	big := m.tenant(t, "umbrella")
	m.exec(t, "UPDATE tenants SET tier = 'enterprise' WHERE id = 'umbrella'")
	paused := m.addSender(t, "acme", "paused")
	add := func(n int, tenant string, sender uuid.UUID, campaign *uuid.UUID, due string) {
		m.exec(t, `INSERT INTO messages (id, tenant, sender, campaign, kind, digest, recipient, body, due_at, queued_at)
			SELECT gen_random_uuid(), $2, $3, $4, CASE WHEN $4::uuid IS NULL THEN 'transactional' ELSE 'campaign' END, '', '',
				'{}', now() + $5::interval, now() FROM generate_series(1, $1::int)`, n, tenant, sender, campaign, due)
		if campaign != nil {
			m.exec(t, "UPDATE campaigns SET waiting = waiting + $2 WHERE id = $1", campaign, n)
		}
	}
	mail := func(tenant, state string, sender uuid.UUID) *uuid.UUID {
		id := uuid.New()
		m.exec(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, created_by, created_at, updated_at)
			VALUES ($1, $2, $3, $4, '{}', '{}', $3, '', now(), now())`, id, tenant, state, sender)
		return &id
	}
	since := time.Now()
	add(3, "acme", m.sender, nil, "-5 minutes")
	add(2, "acme", m.sender, nil, "1 hour") // another attempt
	add(4, "umbrella", big, nil, "-1 minute")
	add(5, "acme", paused, nil, "-9 minutes")
	add(6, "acme", m.sender, mail("acme", "running", m.sender), "-2 minutes")
	add(7, "acme", m.sender, mail("acme", "running", m.sender), "-3 minutes")
	add(8, "acme", m.sender, mail("acme", "paused", m.sender), "-9 minutes")
	add(9, "acme", paused, mail("acme", "running", paused), "-9 minutes")
	add(1, "acme", m.sender, mail("acme", "canceled", m.sender), "-9 minutes")
	add(9, "acme", m.sender, mail("acme", "running", m.sender), "1 day") // further attempts
	m.exec(t, "UPDATE senders SET state = 'paused' WHERE id = $1", paused)
	m.exec(t, `UPDATE messages SET state = 'unknown', class = CASE WHEN sender = $2 THEN 'unknown' ELSE 'unreported' END,
		due_at = due_at - '1 hour'::interval
		WHERE id IN (SELECT id FROM messages WHERE sender = $1 AND campaign IS NULL LIMIT 2)
		OR id IN (SELECT id FROM messages WHERE sender = $2 AND due_at < now() AND campaign IS NULL LIMIT 1)`, paused, m.sender)
	got, err = m.Backlog(t.Context())
	require.NoError(t, err)
	for i, age := range []float64{300, 180, 60, 0} {
		if age > 0 {
			dbtest.Aged(t, age, got.Waiting[i].OldestAgeSeconds, since)
		} else {
			require.Zero(t, got.Waiting[i].OldestAgeSeconds)
		}
		got.Waiting[i].OldestAgeSeconds = 0
	}
	want := backlog.MessagesWaiting{Waiting: none, Unknown: 1, Held: 3 + 8 + 9}
	for i, n := range []int64{2, 13, 4, 0} {
		want.Waiting[i].Waiting = n
	}
	require.Equal(t, want, got)

	m.exec(t, "UPDATE tenants SET max_messages_day = 1 WHERE id = 'acme'")
	m.exec(t, "INSERT INTO message_days (tenant, day, n) VALUES ('acme', (now() AT TIME ZONE 'UTC')::date, 1)")
	used, err := m.Backlog(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, used.Waiting[0].Waiting)
	require.Zero(t, used.Waiting[1].Waiting, "the messages of the day are used up")
	require.Equal(t, got.Held, used.Held)

	m.exec(t, "UPDATE tenants SET state = 'stopped' WHERE id = 'umbrella'")
	again, err := m.Backlog(t.Context())
	require.NoError(t, err)
	require.Zero(t, again.Waiting[2].Waiting)
	require.Equal(t, got.Held+4, again.Held)
}

// However many messages of one sender are held, those of others that wait are seen, of each tier.
func TestHeldMessagesHideNone(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	big, since := m.tenant(t, "umbrella"), time.Now()
	m.exec(t, "UPDATE tenants SET tier = 'enterprise' WHERE id = 'umbrella'")
	senders := []uuid.UUID{m.sender, big}
	for range 4 { // whichever is read first
		senders = append(senders, m.addSender(t, "acme", uuid.NewString()))
	}
	for i, sender := range senders {
		n, tenant := 3, "acme"
		if i < 2 {
			n, tenant = 1, []string{"acme", "umbrella"}[i]
		}
		m.exec(t, `INSERT INTO messages (id, tenant, sender, kind, digest, recipient, body, due_at, queued_at)
			SELECT gen_random_uuid(), $2, $3, 'transactional', '', '', '{}', now() - '5 minutes'::interval, now()
			FROM generate_series(1, $1::int)`, n, tenant, sender)
	}
	m.exec(t, "UPDATE senders SET state = 'paused', paused_until = now() + '1 hour'::interval WHERE id = ANY($1)", senders[2:])
	got, err := m.BacklogUpTo(t.Context(), 3)
	require.NoError(t, err)
	for i, of := range got.Waiting {
		if of.Kind == "campaign" {
			require.Zero(t, of.Waiting, i)
			continue
		}
		require.EqualValues(t, 1, of.Waiting, of.Tier)
		dbtest.Aged(t, 300, of.OldestAgeSeconds, since)
	}
	require.EqualValues(t, 3, got.Held, "at most")
}
