package outreach_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/retention"
)

// ofTenants are the kinds of what tenants have but searches, tested as in TestDeleteExpired: what they are filled with, how much is
// deleted, and what is left.
var ofTenants = map[string]struct {
	fill    func(t *testing.T, m *mailing, old, edge time.Time)
	deleted int
	left    string // SELECT
	want    []string
}{
	retention.Messages: {func(t *testing.T, m *mailing, old, edge time.Time) {
		for _, c := range []struct {
			name, state string
			finished    *time.Time
		}{
			{"a done", "done", &old}, {"b edge", "done", &edge}, {"c running", "running", nil}, {"d canceled", "canceled", &old},
			{"e reopened", "running", &old}, {"f empty", "done", &old}, {"g done", "done", &old},
		} {
			id := uuid.New()
			m.exec(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, failed, created_by, created_at,
				updated_at, finished_at) VALUES ($1, 'acme', $2, $3, '{}', '{}', $4, 3, '', $5, $5, $6)`, id, c.name, m.sender, c.state,
				old, c.finished)
			if c.name != "f empty" {
				m.fill(t, 3, &id, "failed", old)
			}
		}
		m.fill(t, 1, nil, "sent", old)
	}, 9, `SELECT name, failed, (SELECT count(*) FROM messages WHERE campaign = c.id), (SELECT count(*)
			FROM message_attempts a JOIN messages m ON m.id = a.message WHERE m.campaign = c.id), (SELECT count(*) FROM message_attempts)
			FROM campaigns c ORDER BY 1`,
		[]string{"a done 3 0 0 10", "b edge 3 3 3 10", "c running 3 3 3 10", "d canceled 3 0 0 10", "e reopened 3 3 3 10",
			"f empty 3 0 0 10", "g done 3 0 0 10"}},
	retention.Transactional: {func(t *testing.T, m *mailing, old, edge time.Time) {
		id := uuid.New()
		m.fill(t, 2, &id, "read", old)
		for _, state := range campaign.Statuses {
			m.fill(t, 1, nil, string(state), old)
		}
		m.fill(t, 1, nil, "sent", edge)
		m.exec(t, "UPDATE messages SET read_at = $1 WHERE state = 'read' AND campaign IS NULL", edge)
	}, 5, `SELECT state, count(*), (SELECT count(*) FROM message_attempts) FROM messages WHERE campaign IS NULL GROUP BY state ORDER BY 1`,
		[]string{"queued 1 6", "read 1 6", "sending 1 6", "sent 1 6"}},
	retention.Unreported: {func(t *testing.T, m *mailing, old, edge time.Time) {
		id := uuid.New()
		m.exec(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, unknown, created_by, created_at,
			updated_at) VALUES ($1, 'acme', 'c', $2, '{}', '{}', 'done', 3, '', $3, $3)`, id, m.sender, old)
		m.fill(t, 3, &id, "unknown", old)
		m.fill(t, 1, nil, "unknown", edge)
		m.fill(t, 1, nil, "sent", old)
		m.exec(t, "UPDATE messages SET class = 'unknown' WHERE state = 'unknown'")
		m.exec(t, `UPDATE message_attempts SET at = $1 WHERE message = (SELECT id FROM messages WHERE campaign = $2 LIMIT 1)`,
			edge, id) // it waited for its sender until then
	}, 2, `SELECT state, class, count(*), (SELECT unknown FROM campaigns) FROM messages GROUP BY 1, 2 ORDER BY 1, 2`,
		[]string{"sent  1 3", "unknown unknown 2 3", "unknown unreported 2 3"}},
	retention.Webhooks: {func(t *testing.T, m *mailing, old, edge time.Time) {
		for _, e := range []struct {
			name              string
			received, applied *time.Time
		}{
			{"a", &old, &old}, {"b waits", &old, nil}, {"c applied late", &old, &edge}, {"d", &old, &old}, {"e", &old, &old},
			{"f new", &edge, &edge}, {"g new", &edge, nil},
		} {
			m.exec(t, `INSERT INTO webhook_events (digest, received_at, applied_at, error, body) VALUES (sha256($1::text::bytea), $2, $3, $1, '')`,
				e.name, e.received, e.applied)
		}
		for i, at := range []time.Time{old, edge} {
			m.exec(t, "INSERT INTO wa_user_changes VALUES ('acme', $1, 'CA.0', $2)", fmt.Sprint("CA.", i), at)
			m.exec(t, "INSERT INTO wa_user_wishes VALUES ('acme', $1, 'stop', $2, $3)", fmt.Sprint("CA.", i), old, at)
		}
	}, 3, `SELECT error FROM webhook_events UNION ALL SELECT was FROM wa_user_changes UNION ALL SELECT wa_user FROM wa_user_wishes
			ORDER BY 1`, []string{"CA.1", "CA.1", "b waits", "c applied late", "f new", "g new"}},
	retention.UploadFiles: {func(t *testing.T, m *mailing, old, edge time.Time) {
		for _, u := range []struct {
			name, state string
			finished    *time.Time
			refused     int
		}{
			{"a done", "done", &old, 5}, {"b edge", "done", &edge, 1}, {"c running", "running", nil, 1}, {"d failed", "failed", &old, 4},
			{"e canceled", "canceled", &old, 0}, {"f held", "held", nil, 0},
		} {
			m.upload(t, u.name, u.state, u.finished, u.refused)
		}
		m.exec(t, "INSERT INTO unused_blobs VALUES ('blob of a done', now())")
	}, 5 + 1 + 4 + 1 + 1 + 1, `SELECT u.blob, u.copy, file_name, state, swept_at IS NOT NULL, (SELECT count(*) FROM upload_errors WHERE upload = u.id),
			(SELECT string_agg(key || ' ' || due_at, ', ' ORDER BY key) FROM unused_blobs) FROM uploads u ORDER BY file_name`,
		[]string{
			"a done done false 0 " + fourBlobs, "blob of b edge copy b edge done false 1 " + fourBlobs,
			"blob of c running copy c running running false 1 " + fourBlobs, "d failed failed false 0 " + fourBlobs,
			"e canceled canceled false 0 " + fourBlobs, "f held canceled true 0 " + fourBlobs,
		}},
	retention.Uploads: {func(t *testing.T, m *mailing, old, edge time.Time) {
		for _, u := range []struct {
			name, state string
			finished    *time.Time
		}{
			{"a done", "done", &old}, {"b edge", "done", &edge}, {"c running", "running", nil}, {"d with its file", "done", &old},
			{"e failed", "failed", &old},
		} {
			id := m.upload(t, u.name, u.state, u.finished, 0)
			m.exec(t, `INSERT INTO upload_chunks (tenant, upload, n, byte_offset, byte_length, first_row, first_line, lines, rows, created_at)
				SELECT 'acme', $1, n, 0, 0, 0, 0, 0, 0, now() FROM generate_series(1, 4) n`, id)
			m.exec(t, `INSERT INTO upload_keys SELECT 'acme', $1, gen_random_uuid() FROM generate_series(1, 5) n`, id)
			if u.name != "d with its file" {
				m.exec(t, "UPDATE uploads SET blob = '' WHERE id = $1", id)
			}
		}
	}, 2 * (4 + 1), `SELECT file_name, (SELECT count(*) FROM upload_chunks), (SELECT count(*) FROM upload_keys) FROM uploads ORDER BY 1`,
		[]string{"b edge 12 15", "c running 12 15", "d with its file 12 15"}},
	retention.Lists: {func(t *testing.T, m *mailing, old, edge time.Time) {
		s := dboutreach.NewContacts(m.pool, nil)
		members := []int64{put(t, s, "acme", someone("+15145550102")), put(t, s, "acme", someone("+15145550103")),
			put(t, s, "acme", someone("+15145550104"))}
		for _, l := range []struct {
			name    string
			deleted *time.Time
			members []int64
		}{
			{"a deleted", &old, members}, {"b edge", &edge, members[:2]}, {"c kept", nil, members}, {"d empty", &old, nil},
		} {
			id := uuid.New()
			m.exec(t, `INSERT INTO contact_lists (id, tenant, name, created_at, deleted_at) VALUES ($1, 'acme', $2, $3, $4)`,
				id, l.name, old, l.deleted)
			m.exec(t, `INSERT INTO contact_list_members SELECT 'acme', $1::uuid, unnest($2::bigint[])`, id, l.members)
		}
	}, 3 + 1 + 1, `SELECT name, (SELECT count(*) FROM contact_list_members WHERE list = l.id),
			(SELECT count(*) FROM contact_list_members), (SELECT count(*) FROM contacts) FROM contact_lists l ORDER BY 1`,
		[]string{"b edge 2 5 3", "c kept 3 5 3"}},
}

const fourBlobs = "blob of a done -infinity, blob of d failed -infinity, blob of e canceled -infinity, blob of f held -infinity"

// fill stores messages of acme with an attempt each, which were last due at a time.
func (m *mailing) fill(t *testing.T, n int, of *uuid.UUID, state string, at time.Time) {
	t.Helper()

	m.exec(t, `WITH made AS (
		INSERT INTO messages (id, tenant, sender, campaign, kind, state, digest, recipient, body, due_at, queued_at)
		SELECT gen_random_uuid(), 'acme', $2, $3, CASE WHEN $3::uuid IS NULL THEN 'transactional' ELSE 'campaign' END, $4, '', '',
			'{}', $5::timestamptz, $5::timestamptz FROM generate_series(1, $1::int) RETURNING id
	) INSERT INTO message_attempts (tenant, message, n, took_ms, at, outcome) SELECT 'acme', id, 1, 1, $5, '' FROM made`,
		n, m.sender, of, state, at)
}

// upload stores an upload of acme, with rows that were refused.
func (m *mailing) upload(t *testing.T, name, state string, finished *time.Time, refused int) (id uuid.UUID) {
	t.Helper()

	id = uuid.New()
	m.exec(t, `INSERT INTO uploads (id, tenant, file_name, blob, copy, bytes, sha256, state, created_by, created_at, finished_at)
		VALUES ($1, 'acme', $2, 'blob of ' || $2::text, 'copy', 1, '', $3, '', $4, $5)`, id, name, state, dbtest.Start.AddDate(0, 0, -9), finished)
	m.exec(t, `INSERT INTO upload_errors (tenant, upload, row, line, problems, record)
		SELECT 'acme', $1, n, n, '[]', '{}' FROM generate_series(1, $2::int) n`, id, refused)
	return id
}

func TestDeleteExpiredOfTenants(t *testing.T) {
	t.Parallel()

	require.ElementsMatch(t, dbtest.ExpiresOfOutreach, slices.Collect(maps.Keys(ofTenants)))
	for kind, test := range ofTenants {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()

			m := newMailing(t)
			require.Zero(t, dbtest.Expire(t, m.pool, kind, dbtest.Start), "of empty tables")
			test.fill(t, m, dbtest.Start.Add(-time.Microsecond), dbtest.Start)
			require.Equal(t, test.deleted, dbtest.Expire(t, m.pool, kind, dbtest.Start))
			require.Equal(t, test.want, m.lines(t, test.left))
			require.Zero(t, dbtest.Expire(t, m.pool, kind, dbtest.Start), "of what must stay")
			require.Equal(t, test.want, m.lines(t, test.left))
		})
	}
}

// A message that no webhook tells of is not sent again when a person retries what has failed, and a webhook that comes
// very late still counts.
func TestUnreportedMessages(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	id := m.put(t, "k", "+15145550123")
	token, claims := m.claim(t, 1)
	m.record(t, token, campaign.Verdict{Outcome: campaign.Unknown, Class: campaign.ClassUnknown}, claims...)
	r := db.NewRetention(m.pool)
	step, err := r.DeleteExpired(t.Context(), retention.Unreported, time.Now().Add(time.Minute), "", 10)
	require.NoError(t, err)
	require.Equal(t, 1, step.Deleted)
	row, _, err := m.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, campaign.MessageUnknown, row.State)
	require.Equal(t, campaign.ClassUnreported, row.Class)
	require.False(t, row.Class.MayRetry())
	_, claims = m.claim(t, 1)
	require.Empty(t, claims)
	got, err := m.Backlog(t.Context())
	require.NoError(t, err)
	require.Zero(t, got.Unknown)
	report := campaign.Report{PhoneNumberID: "acme", Message: id, WAMID: "wamid.1", Status: campaign.MessageDelivered, At: time.Now()}
	event, err := m.hooks.Store(t.Context(), []byte("{}"), 1, 0, time.Now())
	require.NoError(t, err)
	_, err = m.hooks.Apply(t.Context(), event, []campaign.Report{report}, nil, time.Now())
	require.NoError(t, err)
	row, _, err = m.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	require.Equal(t, campaign.MessageDelivered, row.State)
}

// What was told of user IDs is deleted beside whoever forgets a person and has some of it: that is left to the other.
func TestUserIDsExpireBesideOthers(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.exec(t, `INSERT INTO wa_user_changes (tenant, was, wa_user, at)
		SELECT 'acme', 'CA.' || n, 'CA.9', now() - interval '1 day' FROM generate_series(1, 3) n`)
	tx, err := m.pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	for _, text := range []string{
		"SELECT set_config('conveyor.tenant', '*', true)", "SELECT FROM wa_user_changes WHERE was = 'CA.2' FOR UPDATE",
	} {
		_, err = tx.Exec(ctx, text)
		require.NoError(t, err)
	}
	_, err = db.NewRetention(m.pool).DeleteExpired(ctx, retention.Webhooks, time.Now(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []string{"CA.2"}, m.lines(t, "SELECT was FROM wa_user_changes"))
}

// Refused rows are read by their bytes, so that those of a hostile file do not fill the memory of a process.
func TestRefusedRowsAreLarge(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	s, ctx, texts := dboutreach.NewUploads(m.pool), t.Context(), dbtest.Statements(t)
	looked := func(upload uuid.UUID, limit int) int {
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		require.NoError(t, m.system(ctx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+texts["sqlUploadRefused"], "acme", upload, 0, limit,
				"quote", 8<<20).Scan(&plans)
		}))
		return plans[0].Plan.Hit + plans[0].Plan.Read
	}
	for of, record := range map[string]string{
		"one cell": "ARRAY[repeat('x', 1 << 20)]", "empty cells": "array_fill(''::text, ARRAY[200000])",
	} {
		id := m.upload(t, of, "done", &dbtest.Start, 0)
		m.exec(t, `INSERT INTO upload_errors (tenant, upload, row, line, problems, record)
			SELECT 'acme', $1, n, n, '[{"code": "quote"}]', `+record+` FROM generate_series(1, 30) n`, id)
		require.InDelta(t, looked(id, 9), looked(id, 30), 20, "only what is shown is unpacked")
		for name, read := range map[string]func(after int64) ([]contact.Row, *int64, error){
			"errors": func(after int64) ([]contact.Row, *int64, error) { return s.Errors(ctx, "acme", id, after, 200) },
			"refused": func(after int64) ([]contact.Row, *int64, error) {
				return s.Refused(ctx, "acme", id, "quote", after, 29)
			},
		} {
			var numbers []int64
			for after := new(int64(0)); after != nil; {
				rows, next, err := read(*after)
				require.NoError(t, err)
				require.NotEmpty(t, rows)
				require.LessOrEqual(t, len(rows), 9, "%s of %s", name, of)
				for _, r := range rows {
					numbers = append(numbers, r.Number)
				}
				after = next
			}
			require.Len(t, numbers, 30)
			require.True(t, slices.IsSorted(numbers))
			require.Equal(t, []int64{1, 30}, []int64{numbers[0], numbers[29]})
		}
	}
}

// A file of contacts is used while its upload names it, whoever looks.
func TestUploadedFilesAreUsed(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	r := db.NewRetention(m.pool)
	m.upload(t, "a", "done", &dbtest.Start, 0)
	m.exec(t, "UPDATE uploads SET blob = 'uploads/01/file'")
	keys := []string{"uploads/01/file", "uploads/02/file"}
	n, err := r.MarkUnused(t.Context(), keys, dbtest.Start)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	m.exec(t, "INSERT INTO unused_blobs VALUES ('uploads/01/file', $1)", dbtest.Start)
	var removed []string
	remove := func(_ context.Context, key string) error {
		removed = append(removed, key)
		return nil
	}
	step, err := r.DeleteUnused(t.Context(), dbtest.Start, "", 10, remove)
	require.NoError(t, err)
	require.Equal(t, 1, step.Deleted)
	require.Equal(t, keys[1:], removed)
}
