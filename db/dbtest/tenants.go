package dbtest

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// TenantRow makes a row of each table of outreach for a tenant: its columns and their values, which have the tenant as
// $1 and a number of the tenant as $2. webhook_events are of no tenant.
var TenantRow = map[string]string{
	"tenants": "(id, name, tier, created_at, updated_at) SELECT $1, $2::text, 'standard', now(), now()",
	"senders": `(id, tenant, name, phone_number_id, business_account_id, token, token_key, created_at, updated_at)
		SELECT gen_random_uuid(), $1, 'n', $2::text, '1', '', 'k', now(), now()`,
	"contacts":             `(tenant, key, digest, created_at, updated_at) SELECT $1, $2::text, '', now(), now()`,
	"contact_lists":        `(id, tenant, name, created_at) SELECT gen_random_uuid(), $1, $2::text, now()`,
	"contact_list_members": `(tenant, list, contact) SELECT $1, gen_random_uuid(), $2::text::int`,
	"segments": `(id, tenant, name, filter, created_at, updated_at)
		SELECT gen_random_uuid(), $1, $2::text, '{}', now(), now()`,
	"opt_outs":        `(tenant, digest, source, at) SELECT $1, $2::text::bytea, 'api', now()`,
	"opt_ins":         `(tenant, digest, at) SELECT $1, $2::text::bytea, now()`,
	"wa_user_changes": `(tenant, was, wa_user, at) SELECT $1, $2::text, 'CA.1', now()`,
	"wa_user_wishes":  `(tenant, wa_user, wish, at) SELECT $1, $2::text, 'stop', now()`,
	"uploads": `(id, tenant, file_name, blob, bytes, sha256, created_by, created_at)
		SELECT gen_random_uuid(), $1, $2::text, 'b', 1, '', 'me', now()`,
	"upload_chunks": `(tenant, upload, n, byte_offset, byte_length, first_row, first_line, lines, rows, created_at)
		SELECT $1, gen_random_uuid(), $2::text::int, 0, 1, 1, 1, 1, 1, now()`,
	"upload_keys": `(tenant, upload, key) SELECT $1, gen_random_uuid(), md5($2)::uuid`,
	"upload_errors": `(tenant, upload, row, line, problems, record)
		SELECT $1, gen_random_uuid(), $2::text::int, 1, '[]', '{}'`,
	"campaigns": `(id, tenant, name, sender, template, audience, created_by, created_at, updated_at)
		SELECT gen_random_uuid(), $1, $2::text, gen_random_uuid(), '{}', '{}', 'me', now(), now()`,
	"messages": `(id, tenant, sender, due_at, queued_at, kind, digest, recipient, body)
		SELECT gen_random_uuid(), $1, gen_random_uuid(), now(), now(), 'campaign', '', $2::text, '{}'`,
	"message_attempts": `(tenant, message, n, took_ms, at, outcome)
		SELECT $1, gen_random_uuid(), $2::text::int, 0, now(), 'sent'`,
	"message_days":   `(tenant, day, n) SELECT $1, '2026-01-01', $2::text::int`,
	"webhook_events": `(received_at, digest, body) SELECT now(), ($1 || $2::text)::bytea, ''`,
	"saved_searches": `(id, tenant, name, filter, kinds, schedule, state, since, created_at, updated_at)
		SELECT gen_random_uuid(), $1, $2::text, '{}', '{new}', '{}', 'active', now(), now(), now()`,
	"saved_targets": `(id, tenant, search, kind, label, token, created_at, updated_at)
		SELECT gen_random_uuid(), $1, gen_random_uuid(), 'feed', '', $2::text::bytea, now(), now()`,
	"saved_matches": `(tenant, search, event, listing, kind, rent_cents, at)
		SELECT $1, gen_random_uuid(), $2::text::int, gen_random_uuid(), 'new', 1, now()`,
	"saved_deliveries": `(id, tenant, target, due_at, reason) SELECT gen_random_uuid(), $1, gen_random_uuid(), now(), $2::text`,
	"saved_asks":       `(tenant, since, asked) SELECT $1, now(), $2::text::int`,
	"saved_told":       `(tenant, day, n) SELECT $1, '2026-01-01', $2::text::int`,
	"tenant_erasures":  `(tenant, requested_at, requested_by) SELECT $1, now(), $2::text`,
	"saved_items": `(tenant, target, event, search, delivery)
		SELECT $1, gen_random_uuid(), $2::text::int, gen_random_uuid(), gen_random_uuid()`,
}

// At is a time of these tests.
func At(minutes int) time.Time {
	return time.Date(2026, 11, 22, 12, minutes, 0, 0, time.UTC).Local() // as pgx returns it
}

// NewTenant makes a tenant.
func NewTenant(t testing.TB, pool *pgxpool.Pool, id string, change ...func(*db.Tenant)) db.Tenant {
	t.Helper()

	tenant := db.Tenant{ID: id, Name: id + " Inc.", Tier: campaign.Standard, Region: "CA", CreatedAt: At(0)}
	for _, c := range change {
		c(&tenant)
	}
	require.NoError(t, db.NewTenants(pool).Create(t.Context(), tenant, "test"))
	return tenant
}

// Audited are the actions on a subject, oldest first.
func Audited(t testing.TB, pool *pgxpool.Pool, subject string) (actions []string) {
	t.Helper()

	list, _, err := db.NewAuditLog(pool).List(t.Context(), db.AuditFilter{Subject: subject}, nil, 100)
	require.NoError(t, err)
	for _, row := range slices.Backward(list) {
		actions = append(actions, row.Action)
	}
	return actions
}
