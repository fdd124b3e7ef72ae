package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
)

// Where a filter is one value, a list is read in the order of the index that begins with it, and no further than the
// page; where it is several, by the one condition.
func TestFilterPlans(t *testing.T) {
	t.Parallel()

	pool, ctx, texts := dbtest.New(t), t.Context(), dbtest.Statements(t)
	dbtest.Exec(t, pool, dbtest.ManyListings, 3000)
	dbtest.Exec(t, pool, "INSERT INTO neighbourhoods SELECT 'n' || n, '', '', '' FROM generate_series(0, 59) n")
	dbtest.Exec(t, pool, `UPDATE listings SET neighbourhood = 'n' || platform_id::int % 60,
		status = CASE platform_id::int % 59 WHEN 7 THEN 'archived' ELSE 'active' END`)
	dbtest.Exec(t, pool, `INSERT INTO dead_letters (fingerprint, queue, exchange, routing_key, body, reason, class, workflow_id,
			message_id, state, first_at, last_at)
		SELECT sha256(n::text::bytea), 'q' || n % 60, '', '', '', '', '', '', '',
			CASE n % 59 WHEN 7 THEN 'discarded' ELSE 'open' END, now(), now() - n * interval '1 min'
		FROM generate_series(1, 3000) n`)
	dbtest.Exec(t, pool, `INSERT INTO product_drafts (id, event_id, url, out_dir, host, outcome, brand, sku, gtin, mpn, crawled_at, took_ms,
			created_at, updated_at)
		SELECT gen_random_uuid(), gen_random_uuid(), '', '', 'v' || n % 60,
			CASE n % 59 WHEN 7 THEN 'failed' ELSE 'succeeded' END, 'V' || n % 60, 'v' || n % 60, 'v' || n % 60, 'v' || n % 60,
			now(), 1, now() - n * interval '1 min', now()
		FROM generate_series(1, 3000) n`)
	dbtest.Exec(t, pool, `INSERT INTO audit (at, actor, action, subject, detail)
		SELECT now() - n * interval '1 min', 'v' || n % 60, 'x.done', '', '{}' FROM generate_series(1, 3000) n`)
	dbtest.Alter(t, pool, "VACUUM ANALYZE listings, dead_letters, product_drafts, audit")
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	list := func(name string, args, filter, limit int, rest map[int]any) func([]string) string {
		return func(values []string) string {
			all := make([]any, args)
			for i, v := range rest {
				all[i] = v
			}
			all[filter], all[limit] = values, 5
			return dbtest.CustomPlan(ctx, t, tx, texts[name], all...)
		}
	}
	const limit = `Limit .*\n *-> +Index Scan using ` // without a sort between them
	listings := map[int]any{0: []string{"active"}, 1: []string{"kijiji"}}
	for _, tt := range []struct {
		name, index, one, other string
		plan                    func(values []string) string
	}{
		{"neighbourhood", limit + "listings_place", "n7", "n8", list("sqlListingsNewest", 24, 2, 14, listings)},
		{"status", limit + "listings_newest", "archived", "claimed", list("sqlListingsNewest", 24, 0, 14, nil)},
		{"queue", limit + "dead_letters_queue", "q7", "q8", list("sqlLetterList", 12, 1, 11, map[int]any{0: []string{"open"}})},
		{"state", limit + "dead_letters_newest", "discarded", "resolved", list("sqlLetterList", 12, 0, 11, nil)},
		{"outcome", limit + "product_drafts_outcome", "failed", "x", list("sqlDraftsSearch", 11, 0, 10, nil)},
		{"host", limit + "product_drafts_host", "v7", "v8", list("sqlDraftsSearch", 11, 1, 10, nil)},
		{"brand", limit + "product_drafts_brand", "v7", "v8", list("sqlDraftsSearch", 11, 3, 10, nil)},
		{"sku", limit + "product_drafts_sku", "v7", "v8", list("sqlDraftsSearch", 11, 4, 10, nil)},
		{"gtin", limit + "product_drafts_gtin", "v7", "v8", list("sqlDraftsSearch", 11, 5, 10, nil)},
		{"mpn", limit + "product_drafts_mpn", "v7", "v8", list("sqlDraftsSearch", 11, 6, 10, nil)},
		{"actor", `Scan Backward using audit_\w*actor\w*`, "v7", "v8", list("sqlAuditList", 8, 1, 7, nil)},
	} {
		plan := tt.plan([]string{tt.one})
		require.Regexp(t, tt.index+` .*\n *Index Cond: .*'`+tt.one+"'::text", plan, "%s: %s", tt.name, plan)
		plan = tt.plan([]string{tt.one, tt.other})
		require.Regexp(t, `= ANY \(('{`+tt.one+","+tt.other+`}'|\$0)`, plan, "%s: %s", tt.name, plan)
		require.NotContains(t, plan, "CASE", "%s: %s", tt.name, plan)
	}
}
