package e2e

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// importsDrafts takes over the drafts of another system: each is stored once, a newer one of ours stays, and what is no
// draft is named with its row.
func (w *world) importsDrafts() {
	t := w.t
	file := filepath.Join(t.TempDir(), "drafts.sqlite")
	from, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	t.Cleanup(func() { _ = from.Close() })
	write := func(statement string) {
		_, err := from.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	write(`PRAGMA journal_mode = wal`) // as Turso's files are: rows may stand in the log only
	write(`CREATE TABLE product_drafts (id TEXT PRIMARY KEY, url TEXT, result TEXT, error TEXT, event_id TEXT UNIQUE,
		created_at TEXT)`)
	write(`INSERT INTO product_drafts VALUES
		('a', 'https://shop.example/p/1', '{"name": "Mug", "price": "12.50", "currency": "CAD"}', NULL, 'evt-1', '2026-03-04 12:00:00'),
		('b', 'https://shop.example/p/2', NULL, 'page.goto: Timeout', 'evt-2', '2026-03-04 12:00:00'),
		('c', 'not an address', '{}', NULL, 'evt-3', '2026-03-04 12:00:00'),
		('d', 'https://shop.example/p/4', '{"name": "Cup"}', NULL, '7d9b1f0e-3c1a-4f0b-9d55-1c2f3a4b5c6d', '2026-03-04 12:00:00'),
		('e', 'https://shop.example/p/5', '{"name": "Jug", "sku": 4711001}', NULL, 'evt-5', '2026-03-04 12:00:00')`)
	_, err = w.db.Exec(t.Context(), `INSERT INTO draft_cancels (event_id, canceled_by, canceled_at)
		VALUES ('7d9b1f0e-3c1a-4f0b-9d55-1c2f3a4b5c6d', 'me', now())`)
	require.NoError(t, err)
	refused := filepath.Join(t.TempDir(), "refused.csv")
	require.Contains(t, w.run("import", "drafts", file, "--dry-run"), "5 rows: 4 would be imported, 1 refused\n")
	const theirs = "SELECT count(*) FROM product_drafts WHERE url LIKE 'https://shop.example/%'"
	require.Zero(t, one[int](w, theirs))
	for range 2 {
		said := w.run("import", "drafts", file, "--refused", refused)
		require.Contains(t, said, "5 rows: 3 imported, 2 refused\n  1: its crawl request was canceled (row 4)\n"+
			"  1: url: is no absolute http(s) address without a password (row 3)\n")
	}
	require.Equal(t, 3, one[int](w, theirs))
	require.Equal(t, "4711001", one[string](w, "SELECT sku FROM product_drafts WHERE name = 'Jug'"))
	require.Equal(t, "12.50 CAD", one[string](w, "SELECT price || ' ' || currency FROM product_drafts WHERE name = 'Mug'"))
	require.Equal(t, "page.goto: Timeout", one[string](w, "SELECT error FROM product_drafts WHERE outcome = 'failed'"))

	write(`UPDATE product_drafts SET result = '{"name": "Old mug"}', created_at = '2026-03-03 12:00:00' WHERE id = 'a'`)
	w.run("import", "drafts", file)
	require.Zero(t, one[int](w, "SELECT count(*) FROM product_drafts WHERE name = 'Old mug'"), "an earlier crawl")
	text, err := os.ReadFile(refused)
	require.NoError(t, err)
	require.Equal(t, "row,id,reason\n3,evt-3,url: is no absolute http(s) address without a password\n"+
		"4,7d9b1f0e-3c1a-4f0b-9d55-1c2f3a4b5c6d,its crawl request was canceled\n", string(text))
}

// TestADumpOfListingsIsImported takes over the table of another system: what was offered is published once, however
// often it is imported, what cannot be is named with its row, and what was archived stays where it is.
func TestADumpOfListingsIsImported(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	const dump = `-- PostgreSQL database dump
COPY public.listings (id, source, source_id, source_url, title, price, bedrooms, lat, lng, status, images, updated_at) FROM stdin;
1	kijiji	9701	https://a.example/9701	Beau 4½ à Rosemont	1450.00	2	45.54	-73.58	active	\N	2026-03-04 12:00:00+00
2	kangalou	9702	https://a.example/9702	Studio\tprès du métro	900	0	\N	\N	claimed	\N	2026-03-04 12:00:00+00
3	kijiji	9703	https://a.example/9703	No bedrooms	900	\N	\N	\N	active	\N	2026-03-04 12:00:00+00
4	kijiji	9704	https://a.example/9704	Let	900	1	\N	\N	archived	\N	2026-03-04 12:00:00+00
\.
`
	w, _ := running(t)
	file := filepath.Join(t.TempDir(), "listings.sql")
	require.NoError(t, os.WriteFile(file, []byte(dump), 0o600))
	said := w.run("import", "listings", file, "--dry-run")
	require.Contains(t, said, "platform_id    from column source_id\n")
	require.Contains(t, said, "not read: id\n")
	require.Contains(t, said, "4 rows: 2 would be imported, 1 refused, 1 archived\n  1: bedrooms: is missing (row 3)\n")
	require.Zero(t, one[int](w, "SELECT count(*) FROM raw_listings"))

	refused := filepath.Join(t.TempDir(), "refused.csv")
	for range 2 {
		require.Contains(t, w.run("import", "listings", file, "--refused", refused), "4 rows: 2 imported, 1 refused, 1 archived\n")
	}
	w.eventually("both are published", func() bool {
		return one[int](w, "SELECT count(*) FROM listings") == 2 &&
			one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.published'"))
	require.Equal(t, "active", one[string](w, "SELECT status FROM listings WHERE platform_id = '9701'"))
	require.Equal(t, "claimed", one[string](w, "SELECT status FROM listings WHERE platform_id = '9702'"))
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.claimed'"))
	require.Equal(t, int64(145_000), one[int64](w, "SELECT rent_cents FROM listings WHERE platform_id = '9701'"))
	require.NotEmpty(t, one[string](w, "SELECT neighbourhood FROM listings WHERE platform_id = '9701'"))
	require.Equal(t, "Studio\tprès du métro", one[string](w, "SELECT title FROM listings WHERE platform_id = '9702'"))
	text, err := os.ReadFile(refused)
	require.NoError(t, err)
	require.Equal(t, "row,id,reason\n3,9703,bedrooms: is missing\n", string(text))
}
