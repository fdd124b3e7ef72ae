package outreach_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
)

// sealed are the columns with what is stored encrypted, each with that of its key's ID and a statement that makes a row
// where both are old.
var sealed = map[string]struct{ key, row string }{
	"senders.token": {"token_key", `INSERT INTO senders (id, tenant, name, phone_number_id, business_account_id, token,
		token_key, created_at, updated_at) VALUES (gen_random_uuid(), 'acme', 'x', '1', '1', 'old', 'old', now(), now())`},
	"saved_targets.box": {"box_key", `WITH s AS (INSERT INTO saved_searches (id, tenant, name, filter, kinds, schedule, state, since,
		created_at, updated_at) VALUES (gen_random_uuid(), 'acme', 'x', '{}', '{}', '{}', 'active', now(), now(), now())
		RETURNING id) INSERT INTO saved_targets (id, tenant, search, kind, label, box, box_key, token, created_at, updated_at)
		SELECT gen_random_uuid(), 'acme', id, 'webhook', '', 'old', 'old', 'x', now(), now() FROM s`},
	"draft_secrets.box": {"box_key", `INSERT INTO draft_secrets (event_id, box, box_key, sealed_at)
		VALUES (gen_random_uuid(), 'old', 'old', now())`},
	"saved_address_key.box": {"box_key", `INSERT INTO saved_address_key (id, box_key, box) VALUES (gen_random_uuid(), 'old', 'old')`},
	"opt_out_key.box":       {"box_key", `INSERT INTO opt_out_key (id, box_key, box) VALUES (gen_random_uuid(), 'old', 'old')`},
	"platforms.proxy_sealed": {"proxy_key", `INSERT INTO platforms (name, url, transport, enabled, delay_ms, max_pages, cooldown_ms,
		proxy_shown, proxy_key, proxy_sealed) VALUES ('p', '', 'http', true, 1, 1, 1, 'http://proxy', 'old', 'old')`},
	"platform_searches.proxy_sealed": {"proxy_key", `WITH p AS (INSERT INTO platforms (name, url, transport, enabled, delay_ms,
		max_pages, cooldown_ms) VALUES ('q', '', 'http', true, 1, 1, 1) RETURNING name)
		INSERT INTO platform_searches (platform, search, proxy_shown, proxy_key, proxy_sealed)
		SELECT name, 's', 'http://proxy', 'old', 'old' FROM p`},
}

// unsealed are the other columns of bytes: hashes, and what is no secret or not ours.
var unsealed = []string{
	"api_keys.sum", "contacts.digest", "contacts.email_digest", "dead_letters.body", "dead_letters.fingerprint",
	"listing_enrichments.text_hash", "listing_images.sha256", "listings.details_hash", "messages.digest",
	"messages.email_digest", "opt_ins.digest", "opt_outs.digest", "outbox.body", "page_inbox.body",
	"raw_listing_revisions.content_hash", "raw_listings.content_hash", "saved_addresses.sum",
	"saved_targets.address", "saved_targets.token", "search_postings.positions", "search_postings.postings",
	"search_segments.columns", "search_segments.filter", "search_segments.kills", "sessions.key_sum",
	"sessions.sum", "uploads.asked", "uploads.sha256", "webhook_events.body", "webhook_events.digest",
}

// All that is stored encrypted is encrypted anew by Reseal, once. A column of bytes that is in neither list is an error.
func TestSealedColumns(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	columns := dbtest.Query[string](t, pool, `SELECT c.relname || '.' || a.attname FROM pg_class c
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND a.atttypid = 'bytea'::regtype`)
	want := slices.Clone(unsealed)
	for column := range sealed {
		want = append(want, column)
	}
	require.ElementsMatch(t, want, columns, "is it encrypted? Then Reseal has to know it")

	dbtest.NewTenant(t, pool, "acme")
	for column, of := range sealed {
		_, err := pool.Exec(ctx, "BEGIN; SELECT set_config('conveyor.tenant', '*', true); "+of.row+"; COMMIT")
		require.NoError(t, err, column)
	}
	purposes := map[string]bool{}
	reseal := func() {
		d := dboutreach.NewSenders(pool)
		for last := uuid.Nil; ; {
			next, err := d.Reseal(ctx, "new", last, 2, true, func(of []string, was db.Sealed) (db.Sealed, error) {
				if was.Key == "new" {
					return was, nil
				}
				require.Equal(t, db.Sealed{Key: "old", Box: []byte("old")}, was, of)
				require.False(t, purposes[of[0]], of)
				purposes[of[0]] = true
				return db.Sealed{Key: "new", Box: []byte("new")}, nil
			})
			require.NoError(t, err)
			if last = next; last == uuid.Nil {
				return
			}
		}
	}
	for range 2 {
		reseal()
		require.Len(t, purposes, len(sealed))
		for column, of := range sealed {
			require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM "+strings.Split(column, ".")[0]+" WHERE "+of.key+" = 'new' AND "+column+
				" = 'new'"), column)
		}
	}
	require.True(t, purposes["proxy/p//http://proxy"])
	require.True(t, purposes["proxy/q/s/http://proxy"])
}
