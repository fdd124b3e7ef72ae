package outreach_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// keyed has the stores of m look for opt-outs that are hashed by a key, and returns it. There is none yet.
func (m *mailing) keyed() *dboutreach.OptOutKey {
	key := dboutreach.NewOptOutKey(m.pool, func(s db.Sealed) ([]byte, error) { return s.Box, nil }).AtOnce()
	m.by(key)
	return key
}

// hashed hashes all opt-outs by key, one by one.
func hashed(t testing.TB, key *dboutreach.OptOutKey) {
	t.Helper()

	for more := true; more; {
		var err error
		more, err = key.Rehash(t.Context(), 1, func() (db.Sealed, error) {
			return db.Sealed{Key: "k", Box: bytes.Repeat([]byte{7}, 32)}, nil
		})
		require.NoError(t, err)
	}
}

// An opt-out that is hashed by the key is found wherever one is looked for, and is one with what is stored of it later.
func TestKeyedOptOuts(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	s, began := dboutreach.NewContacts(m.pool, nil), time.Now().Add(-time.Hour)
	out := put(t, s, "acme", someone("+15145550101", func(c *contact.Contact) { c.Email = "zoe@example.org" }))
	put(t, s, "acme", someone("+15145550102"))
	waits, sent := m.put(t, "waits", "+15145550101"), m.put(t, "sent", "+15145550102")
	mail := contact.Key("", "zoe@example.org")
	plain := func() []string {
		return m.lines(t, "SELECT encode(digest, 'hex') FROM opt_outs WHERE octet_length(digest) = 16 ORDER BY 1")
	}
	optOut := func(keys ...string) {
		require.NoError(t, s.OptOut(ctx, "acme", keys, "api", "tenant/acme", "me", began))
	}
	stop := func(from string, at time.Time) {
		hook, err := m.hooks.Store(ctx, []byte(from+at.String()), 0, 1, time.Now())
		require.NoError(t, err)
		_, err = m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{
			{PhoneNumberID: "acme", From: from, Wish: campaign.WishStop, At: at},
		}, time.Now())
		require.NoError(t, err)
	}
	optOut(mail, "+15145550109") // 109 is no contact
	stop("15145550108", began)
	require.Len(t, plain(), 4)

	key := m.keyed()
	s = dboutreach.NewContacts(m.pool, key)
	hashed(t, key)
	require.Empty(t, plain())
	digest := contact.Digest("acme", "+15145550109")
	require.Equal(t, []string{"1"}, m.lines(t, "SELECT count(*) FROM opt_outs WHERE digest = $1 AND source = 'api'",
		contact.NewPads(bytes.Repeat([]byte{7}, 32)).Keyed(digest[:])))

	c, err := s.Get(ctx, "acme", out)
	require.NoError(t, err)
	require.True(t, c.OptedOut)
	c, err = s.Find(ctx, "acme", "+15145550101")
	require.NoError(t, err)
	require.True(t, c.OptedOut)
	list, _, err := s.Search(ctx, "acme", contact.Filter{}, 0, 10)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.True(t, list[0].OptedOut)
	require.False(t, list[1].OptedOut)
	p, err := s.Export(ctx, "acme", out)
	require.NoError(t, err)
	require.Equal(t, "api", p.OptOut.Source)
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "new", "+15145550101")))
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "nobody", "+15145550109")))
	id := m.draft(t, "all")
	size, err := m.campaigns.Audience(ctx, "acme", id, 10)
	require.NoError(t, err)
	require.Equal(t, dboutreach.AudienceSize{Contacts: 2, OptedOut: 1}, size)
	_, err = m.campaigns.Schedule(ctx, "acme", id, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
	require.NoError(t, err)
	_, err = m.campaigns.Freeze(ctx, "acme", id, 100, time.Now())
	require.NoError(t, err)
	require.Equal(t, []string{"+15145550101 skipped", "+15145550102 queued"}, m.lines(t,
		"SELECT recipient, state FROM messages WHERE campaign = $1 ORDER BY 1", id))
	var exported []string
	e := dboutreach.NewErasures(m.pool, key)
	for _, table := range e.Tables() {
		if table.Name == "contacts" {
			_, err = e.Read(ctx, "acme", table, "", 10, 1<<20, func(row string) { exported = append(exported, row) })
			require.NoError(t, err)
		}
	}
	require.Len(t, exported, 2)
	require.Contains(t, exported[0], `"opted_out": true`)
	require.Contains(t, exported[1], `"opted_out": false`)

	// What does not know the key yet, or cannot open it, sends nothing.
	_, err = dboutreach.NewMessages(m.pool, dboutreach.NewOptOutKey(m.pool, func(db.Sealed) ([]byte, error) {
		return nil, fault.Newf(fault.Limited, "no such key")
	})).Claim(ctx, campaign.Take{Tenant: "acme", Max: 10, Lease: time.Hour})
	dbtest.RequireClass(t, fault.Limited, err)
	claims, err := dboutreach.NewMessages(m.pool, nil).Claim(ctx, campaign.Take{Tenant: "acme", Max: 10, Lease: time.Hour})
	require.NoError(t, err)
	require.Empty(t, claims)
	_, claims = m.claim(t, 10)
	require.Len(t, claims, 2)
	for _, c := range claims {
		require.Equal(t, "+15145550102", c.Recipient)
	}
	require.Equal(t, campaign.MessageSkipped, m.state(t, waits))
	require.Equal(t, campaign.MessageSending, m.state(t, sent))

	// Told again, nothing is new; a later stop counts, and an import is not undone by it.
	optOut(mail, "+15145550109")
	stop("15145550109", began.Add(time.Minute))
	require.Empty(t, plain())
	stop("15145550108", began.Add(time.Minute))
	require.Len(t, plain(), 1)
	hashed(t, key)
	require.Equal(t, []string{"api 0 3", "message 60 1"}, m.lines(t, `SELECT source,
		extract(epoch FROM at - $1)::int, count(*) FROM opt_outs GROUP BY 1, 2 ORDER BY 1`, began))
}

// A wish for more that waits for a row while its digest is hashed takes it back all the same.
func TestKeyedMeanwhile(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	key, at := m.keyed(), time.Now()
	hashed(t, key)
	apply := func(wish campaign.Wish, at time.Time) error {
		hook, err := m.hooks.Store(ctx, []byte(string(wish)+at.String()), 0, 1, time.Now())
		if err != nil {
			return err
		}
		_, err = m.hooks.Apply(ctx, hook, nil, []campaign.Inbound{
			{PhoneNumberID: "acme", From: "15145550199", Wish: wish, At: at},
		}, time.Now())
		return err
	}
	require.NoError(t, apply(campaign.WishStop, at))
	pads, done := contact.NewPads(bytes.Repeat([]byte{7}, 32)), make(chan error, 1)
	require.NoError(t, m.system(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, dboutreach.OptOutsKey, 10, pads.Inner, pads.Outer, time.Duration(0)); err != nil {
			return err
		}
		go func() { done <- apply(campaign.WishResume, at.Add(time.Second)) }()
		require.Eventually(t, func() bool {
			return dbtest.Count(t, m.pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
		}, servicetest.Patience(), time.Millisecond)
		return nil
	}))
	require.NoError(t, <-done)
	require.Equal(t, campaign.MessageQueued, m.state(t, m.put(t, "a", "+15145550199")))

	// Wishes for more are one, too, with the time of the latest.
	hashed(t, key)
	require.NoError(t, apply(campaign.WishResume, at.Add(2*time.Second)))
	hashed(t, key)
	require.Equal(t, []string{"1 32 2"}, m.lines(t, `SELECT count(*), min(octet_length(digest)),
		extract(epoch FROM max(at) - $1)::int FROM opt_ins`, at))
}

// The key is made once, whoever is first, and what cannot be found without it is not looked for.
func TestOptOutKey(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	open := func(s db.Sealed) ([]byte, error) { return s.Box, nil }
	one, two := dboutreach.NewOptOutKey(m.pool, open), dboutreach.NewOptOutKey(m.pool, open)
	for _, key := range []*dboutreach.OptOutKey{one, two} { // both know that there is none
		_, err := dboutreach.NewContacts(m.pool, key).Find(ctx, "acme", "+15145550101")
		dbtest.RequireClass(t, fault.Gone, err)
	}
	generate := func(b string) func() (db.Sealed, error) {
		return func() (db.Sealed, error) { return db.Sealed{Key: "k", Box: []byte(strings.Repeat(b, 32))}, nil }
	}
	_, err := one.Rehash(ctx, 10, generate("1"))
	require.NoError(t, err)
	require.NoError(t, dboutreach.NewContacts(m.pool, nil).OptOut(ctx, "acme", []string{"+15145550101"}, "api", "x", "me", time.Now()))
	_, err = two.Rehash(ctx, 10, generate("2"))
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, m.lines(t, "SELECT count(*) FROM opt_out_key"))
	hashed := func() []string { return m.lines(t, "SELECT count(*) FROM opt_outs WHERE octet_length(digest) = 32") }
	require.Equal(t, []string{"0"}, hashed(), "another process may not know the key yet")
	_, err = two.AtOnce().Rehash(ctx, 10, generate("2"))
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, hashed())
	m.by(one)
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "a", "+15145550101")))
	lost := dboutreach.NewOptOutKey(m.pool, func(db.Sealed) ([]byte, error) { return nil, errors.New("lost") })
	_, err = lost.Rehash(ctx, 10, generate("3"))
	require.ErrorContains(t, err, "lost")
	_, err = dboutreach.NewContacts(m.pool, lost).Find(ctx, "acme", "+15145550101")
	require.ErrorContains(t, err, "lost")
	plan := m.lines(t, "EXPLAIN VERBOSE SELECT opt_out_keyed(digest, 'a', 'b') FROM opt_outs")
	require.Contains(t, strings.Join(plan, " "), "sha256")
	require.NotContains(t, strings.Join(plan, " "), "opt_out_keyed", "a call for each row would cost more than the HMAC")
}

// What was sent is recorded by a process that cannot open the key, with the opt-outs that it tells of.
func TestKeyedRecord(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	sent, refused := m.put(t, "sent", "+15145550101"), m.put(t, "refused", "+15145550102")
	token, claims := m.claim(t, 10)
	require.Len(t, claims, 2)
	key := dboutreach.NewOptOutKey(m.pool, func(s db.Sealed) ([]byte, error) { return s.Box, nil }).AtOnce()
	hashed(t, key)
	m.by(dboutreach.NewOptOutKey(m.pool, func(db.Sealed) ([]byte, error) { return nil, errors.New("lost") }))
	for _, c := range claims {
		verdict := accepted
		if c.ID == refused {
			verdict = campaign.Verdict{Outcome: campaign.FailRecipient, Class: campaign.ClassRecipient, OptsOut: true}
		}
		require.Equal(t, campaign.Recorded{Stored: 1}, m.record(t, token, verdict, c))
	}
	require.Equal(t, campaign.MessageSent, m.state(t, sent))
	require.Equal(t, campaign.MessageFailed, m.state(t, refused))
	hashed(t, key)
	m.by(key)
	require.Equal(t, campaign.MessageSkipped, m.state(t, m.put(t, "again", "+15145550102")))
}

// An export has everyone who opted out, or took it back, also those whose digests are hashed while it is read.
func TestKeyedExport(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	key := m.keyed()
	hashed(t, key) // nothing: it makes the key
	pads, digests := contact.NewPads(bytes.Repeat([]byte{7}, 32)), make([][]byte, 30)
	for i := range digests {
		digest := contact.Digest("acme", fmt.Sprintf("+1514555%04d", i))
		digests[i] = digest[:]
	}
	e := dboutreach.NewErasures(m.pool, key)
	for name, insert := range map[string]string{
		"opt_outs": "INSERT INTO opt_outs (tenant, digest, source, at) SELECT 'acme', unnest($1::bytea[]), 'api', now()",
		"opt_ins":  "INSERT INTO opt_ins (tenant, digest, at) SELECT 'acme', unnest($1::bytea[]), now()",
	} {
		m.exec(t, insert, digests)
		i := slices.IndexFunc(e.Tables(), func(table dboutreach.ExportTable) bool { return table.Name == name })
		had := map[string]bool{}
		for next, begun := "", false; !begun || next != ""; begun = true {
			var err error
			next, err = e.Read(ctx, "acme", e.Tables()[i], next, 4, 1<<20, func(row string) {
				var columns struct{ Digest string }
				require.NoError(t, json.Unmarshal([]byte(row), &columns))
				had[columns.Digest] = true
			})
			require.NoError(t, err)
			_, err = key.Rehash(ctx, 3, nil)
			require.NoError(t, err)
		}
		for i, digest := range digests {
			require.True(t, had[`\x`+hex.EncodeToString(digest)] || had[`\x`+hex.EncodeToString(pads.Keyed(digest))],
				"%s: %d", name, i)
		}
	}
}
