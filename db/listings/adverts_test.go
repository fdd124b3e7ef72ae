package listings_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
)

// looked is how many rows one step of a statement looks at, at most. sort is "off" where rows are to be read in the order
// of an index, as they are where there are many more of them.
func looked(t testing.TB, pool *pgxpool.Pool, sort, text string, args ...any) int {
	t.Helper()

	var plans []struct{ Plan dbtest.Explained }
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SET LOCAL enable_sort = "+sort); err != nil {
			return err
		}
		return tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+text, args...).Scan(&plans)
	}), text)
	return plans[0].Plan.Most()
}

// A filter that few adverts pass looks at the next 10,000 of them, and the list goes on after the last of these.
func TestFewOfManyAdverts(t *testing.T) {
	t.Parallel()

	pool, ctx, texts := dbtest.New(t), t.Context(), dbtest.Statements(t)
	s := dblistings.NewListings(pool)
	receive(t, s, arrival(refOf("refused"), "Wanted", 0))
	receive(t, s, arrival(refOf("twin"), "Beau", 0))
	dbtest.Exec(t, pool, `UPDATE raw_listings SET platform = platform_id, reasons = '[{"code": "rare"}]', refused_at = CASE platform_id WHEN 'refused' THEN now() END,
		duplicate_of = CASE platform_id WHEN 'twin' THEN id END,
		status = CASE platform_id WHEN 'twin' THEN 'duplicate' ELSE 'rejected' END`)
	dbtest.Exec(t, pool, `INSERT INTO raw_listings SELECT m.* FROM raw_listings r, generate_series(1, 10500) n,
		jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'platform_id', gen_random_uuid(), 'platform', 'many',
			'reasons', '[]'::jsonb, 'payload', '{}'::jsonb, 'revised_at', r.revised_at + n * interval '1 s')) m`)
	dbtest.Alter(t, pool, "ANALYZE raw_listings")
	rejected, duplicate := []string{"rejected"}, []string{"duplicate"}
	for _, tt := range []struct {
		f    dblistings.AdvertFilter
		want []int
	}{
		{dblistings.AdvertFilter{Status: rejected, Platform: []string{"refused"}}, []int{1}},
		{dblistings.AdvertFilter{Status: duplicate, Platform: []string{"refused"}, Text: "wanted"}, []int{0}},
		{dblistings.AdvertFilter{Status: duplicate, Code: []string{"rare"}}, []int{0, 1}},
		{dblistings.AdvertFilter{Status: rejected, Text: "WANTED"}, []int{0, 1}},
		{dblistings.AdvertFilter{Status: rejected, Text: "wanted", Since: dbtest.After(1)}, []int{0, 0}},
		{dblistings.AdvertFilter{Status: append(duplicate, "rejected"), Code: []string{"rare"}}, []int{0, 0, 2}},
		{dblistings.AdvertFilter{Status: append(duplicate, "rejected"), Code: []string{"rare"}, Platform: []string{"twin"}}, []int{1}},
	} {
		var found []int
		for f := tt.f; ; {
			f.Limit = 5
			page, next, err := s.Adverts(ctx, f)
			require.NoError(t, err)
			found = append(found, len(page))
			if f.After = next; next == nil {
				break
			}
		}
		require.Equal(t, tt.want, found, fmt.Sprint(tt.f))
	}
	for _, name := range []string{"sqlAdvertsRejectedSome", "sqlAdvertsDuplicatesSome", "sqlAdvertsBothSome"} {
		require.LessOrEqual(t, looked(t, pool, "off", texts[name], nil, nil, nil, nil, 6, []string{"none"}, nil), 10_000, name)
	}
}

// The rents of neighbourhoods are of every active listing, and read once a minute.
func TestPlaceRentsAreKept(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	active := func(s *dblistings.Listings) (n int64) {
		places, err := s.PlaceRents(ctx)
		require.NoError(t, err)
		for _, p := range places {
			if p.Bedrooms == nil {
				n += p.Active
			}
		}
		return n
	}
	publishNew(t, pool, "1")
	dbtest.Exec(t, pool, "INSERT INTO neighbourhoods SELECT 'n', '', '', ''")
	dbtest.Exec(t, pool, "UPDATE listings SET neighbourhood = 'n'")
	require.EqualValues(t, 1, active(s))
	dbtest.Exec(t, pool, "UPDATE listings SET status = 'archived'")
	require.EqualValues(t, 1, active(s))
	require.Zero(t, active(dblistings.NewListings(pool)))
}
