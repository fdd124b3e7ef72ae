package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestADumpOfListingsIsImported takes over the table of another system: what was offered is published once, however
// often it is imported, what cannot be is named with its row, and what was archived stays where it is.
func TestADumpOfListingsIsImported(t *testing.T) {
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
	require.Contains(t, said, "4 rows: 2 would be sent, 1 refused, 1 archived\n  1: bedrooms: is missing (row 3)\n")
	require.Zero(t, one[int](w, "SELECT count(*) FROM raw_listings"))

	refused := filepath.Join(t.TempDir(), "refused.csv")
	for range 2 {
		require.Contains(t, w.run("import", "listings", file, "--refused", refused), "4 rows: 2 sent, 1 refused, 1 archived\n")
	}
	w.eventually("both are published", func() bool {
		return one[int](w, "SELECT count(*) FROM listings WHERE status = 'active'") == 2 &&
			one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.published'"))
	require.Equal(t, int64(145_000), one[int64](w, "SELECT rent_cents FROM listings WHERE platform_id = '9701'"))
	require.NotEmpty(t, one[string](w, "SELECT neighbourhood FROM listings WHERE platform_id = '9701'"))
	require.Equal(t, "Studio\tprès du métro", one[string](w, "SELECT title FROM listings WHERE platform_id = '9702'"))
	text, err := os.ReadFile(refused)
	require.NoError(t, err)
	require.Equal(t, "row,platform_id,reason\n3,9703,bedrooms: is missing\n", string(text))
}
