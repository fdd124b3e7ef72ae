package listings_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// offer publishes a listing with these texts, minutes after the start.
func offer(t testing.TB, s *dblistings.Listings, id, title, description, address, neighbourhood string, minutes int) {
	t.Helper()

	l := normalized(refOf(id))
	l.Title, l.Description, l.Address.Text = title, description, address
	receive(t, s, arrival(l.Ref, id, 0))
	_, err := s.Publish(t.Context(), listing.Publication{
		Version: listing.Version{Listing: l, Revision: 1}, Neighbourhood: neighbourhood,
	}, runOf(l.Ref), dbtest.After(minutes))
	require.NoError(t, err)
}

// offers are what TestListingTexts looks for.
func offers(t testing.TB, s *dblistings.Listings) {
	t.Helper()

	for i, o := range []struct{ id, title, description, address, place string }{
		{"fr", "Bel appartement rénové", "L'eau chaude est incluse. Près du métro, dans un quartier tranquille pour les familles.",
			"12 rue Saint-Denis", "le-plateau-mont-royal"},
		{"en", "Two apartments to rent", "The heating and the water are included in the rent. Walking distance to the park.",
			"7 Main Street", ""},
		{"half", "4½ à louer", "balcon, eau", "", ""},
		{"sum", "Grand 4 1/2", "balcons, wi-fi, lave-vaisselle", "8 Ste-Anne", ""},
		{"loft", "Loft", "appartement", "", ""},
		{"long", "Un immense penthouse", strings.Repeat("L'étage a des fenêtres et une vue sur la ville; ", 400) + "piscine", "", ""},
		{"odd", `L'"étage" \ 'x'`, "東京大学 foo_bar C++", "9 Jean St-Jacques", ""},
	} {
		offer(t, s, o.id, o.title, o.description, o.address, o.place, i)
	}
}

// texts are queries, and the listings of offers that they find, the newest first.
var texts = []struct {
	name, text string
	want       []string
	exact      bool // also found where words are not filled
}{
	{"a word", "loft", []string{"loft"}, true},
	{"capitals and accents", "RENOVE", []string{"fr"}, true},
	{"a plural finds the singular", "appartements", []string{"loft", "fr"}, false},
	{"a singular finds the plural", "apartment", []string{"en"}, false},
	{"a form in a text too short to tell its language", "balcon", []string{"sum", "half"}, false},
	{"an elision", "eau", []string{"half", "fr"}, true},
	{"an elision in the query", "l'eau", []string{"half", "fr"}, true},
	{"a half, written as one", "4½", []string{"sum", "half"}, false},
	{"a half, written as a sum", "4 1/2", []string{"sum", "half"}, false},
	{"all words", "eau metro", []string{"fr"}, true},
	{"all words, not some", "eau loft", nil, true},
	{"a side of the city", "métro est", []string{"fr"}, true},
	{"not the other side of the city", "street est", nil, true},
	{"words that tell nothing", "the water and the park", []string{"en"}, true},
	{"only such words", "the", []string{"en"}, true},
	{"a phrase", `"près du métro"`, []string{"fr"}, true},
	{"a phrase of forms", `"to rent"`, []string{"en"}, true},
	{"a phrase that stands nowhere", `"metro près"`, nil, true},
	{"not across title and text", `"loft appartement"`, nil, false},
	{"the beginning of words", "immen*", []string{"long"}, true},
	{"no stem begins with it", "fr*", nil, true},
	{"without a word", "eau -metro", []string{"half"}, true},
	{"without a form of it", "balcon -wifi -\"lave vaisselle\"", []string{"half"}, false},
	{"only without", "-balcon -eau -appartement", []string{"odd", "long", "en"}, false},
	{"only without a phrase", `-"à louer"`, []string{"odd", "long", "loft", "sum", "en", "fr"}, true},
	{"without what none has", "-introuvable", []string{"odd", "long", "loft", "sum", "half", "en", "fr"}, true},
	{"in the title", "intitle:appartement", []string{"fr"}, true},
	{"without it in the title", "appartement -intitle:appartement", []string{"loft"}, true},
	{"only without it in the title", "-intitle:appartement -étage -rent", []string{"loft", "sum", "half"}, false},
	{"a phrase in the title", `intitle:"bel appartement"`, []string{"fr"}, true},
	{"without a phrase in the title", `appartement -intitle:"bel appartement"`, []string{"loft"}, false},
	{"a stem in the title", "intitle:appartements", []string{"fr"}, false},
	{"a prefix in the title", "intitle:app*", []string{"fr"}, true},
	{"a word with a hyphen that the listing has without", "pent-house", []string{"long"}, true},
	{"another form of it", "pent-houses", []string{"long"}, false},
	{"not by a part of it", "pent-vue", nil, true},
	{"without a word with a hyphen", "vue -pent-house", nil, true},
	{"a saint, written short", "rue st-denis", []string{"fr"}, false},
	{"another saint", "rue ste-denis", nil, false},
	{"the street", `"rue saint denis"`, []string{"fr"}, false},
	{"a saint, written long", "jean saint-jacques", []string{"odd"}, false},
	{"a female one", "sainte-anne", []string{"sum"}, false},
	{"the neighbourhood", "plateau mont-royal", []string{"fr"}, false},
	{"at the end of a long text", "piscine", []string{"long"}, false},
	{"signs", `l'étage & | ! ( ' \`, []string{"odd", "long"}, true},
	{"pairs of characters", "大学", []string{"odd"}, false},
	{"an identifier", "foo_bar c++", []string{"odd"}, false},
	{"or is left out", "loft OR appartement", []string{"loft"}, true},
}

func found(t testing.TB, s *dblistings.Listings, f dblistings.ListingFilter) (ids []string, next *db.Position) {
	t.Helper()

	if f.Limit == 0 {
		f.Limit = 100
	}
	page, next, err := s.Search(t.Context(), f)
	require.NoError(t, err)
	for _, l := range page {
		ids = append(ids, l.PlatformID)
	}
	return ids, next
}

func TestListingTexts(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	offers(t, s)
	for _, tt := range texts {
		got, _ := found(t, s, dblistings.ListingFilter{Text: tt.text})
		require.Equal(t, tt.want, got, tt.name)
		best, _ := found(t, s, dblistings.ListingFilter{Text: tt.text, Sort: dblistings.Relevance})
		require.ElementsMatch(t, tt.want, best, tt.name)
	}
	for _, text := range []string{"", "&", `""`, "site:a.example", "loft lang:fr", "type:pdf", "a -site:b.example"} {
		_, _, err := s.Search(t.Context(), dblistings.ListingFilter{Text: text, Sort: dblistings.Relevance, Limit: 1})
		dbtest.RequireClass(t, fault.Invalid, err)
	}
}

// Rows of the release before are found by what that release kept, then filled, and a text that is changed without its
// words is filled again.
func TestFillWords(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	offers(t, s)
	const stored = "SELECT words::text FROM listings ORDER BY id"
	want := dbtest.Query[string](t, pool, stored)
	dbtest.Exec(t, pool, "UPDATE listings SET words = NULL")
	for _, tt := range texts {
		got, _ := found(t, s, dblistings.ListingFilter{Text: tt.text})
		if tt.exact {
			require.Equal(t, tt.want, got, tt.name)
		}
		best, _ := found(t, s, dblistings.ListingFilter{Text: tt.text, Sort: dblistings.Relevance})
		require.Equal(t, got, best, tt.name) // the newest first: nothing is known of them
	}
	var last uuid.UUID
	var counts []int
	for range 10 {
		next, n, err := s.FillWords(ctx, last, 3)
		require.NoError(t, err)
		counts = append(counts, n)
		if last = next; next == uuid.Nil {
			break
		}
	}
	require.Equal(t, []int{3, 3, 1}, counts)
	require.Equal(t, want, dbtest.Query[string](t, pool, stored))

	dbtest.Exec(t, pool, "UPDATE listings SET title = 'Château' WHERE platform_id = 'loft'")
	got, _ := found(t, s, dblistings.ListingFilter{Text: "chateau"})
	require.Equal(t, []string{"loft"}, got)
	got, _ = found(t, s, dblistings.ListingFilter{Text: "-loft -appartement"})
	require.NotContains(t, got, "loft")
	_, n, err := s.FillWords(ctx, uuid.Nil, 3)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	got, _ = found(t, s, dblistings.ListingFilter{Text: "chateaux", Sort: dblistings.Relevance})
	require.Equal(t, []string{"loft"}, got)
	dbtest.Exec(t, pool, "UPDATE listings SET status = 'archived', title = title")
	require.Zero(t, dbtest.Count(t, pool, "listings WHERE words IS NULL"))
}

// No text is too much for a tsvector. What is beyond its bounds is left out; the address never is.
func TestWordsBounds(t *testing.T) {
	t.Parallel()

	s := dblistings.NewListings(dbtest.New(t))
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < 20*listing.MaxDescription; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return "debut " + b.String()
	}
	for i, text := range []string{
		numbered("é%d "), numbered("économies%d'tests "), strings.Repeat("a ", 50_000) + "fin",
		numbered("ab%[1]d.cd%[1]d_ef%[1]d::gh%[1]d.ij%[1]d.kl%[1]d.mn%[1]d.op%[1]d "),
		strings.Repeat("debut ", 20_000), "debut " + strings.Repeat("東京大学", 10_000), numbered("fooBarBazQux%dQuux "),
		"debut " + strings.Repeat("'", 5000) + strings.Repeat(`\`, 5000) + strings.Repeat("x", 100_000),
	} {
		offer(t, s, fmt.Sprint(i), "Grand", text, "12 rue Rachel", "", i)
		got, _ := found(t, s, dblistings.ListingFilter{Text: "rachel grand -introuvable", Limit: 1, Sort: dblistings.Newest})
		require.Equal(t, []string{fmt.Sprint(i)}, got)
	}
	got, _ := found(t, s, dblistings.ListingFilter{Text: "debut rachel", Sort: dblistings.Relevance})
	require.Len(t, got, 7)
}

// A listing that is being written is left to its writer.
func TestFillWordsPassesOver(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	imported(t, s, "1")
	imported(t, s, "2")
	dbtest.Exec(t, pool, "UPDATE listings SET words = NULL")
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(ctx)) })
	_, err = tx.Exec(ctx, "UPDATE listings SET rent_cents = 1 WHERE platform_id = '1'")
	require.NoError(t, err)
	_, n, err := s.FillWords(ctx, uuid.Nil, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestListingsByRelevance(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	filler := strings.Repeat("de belles pièces avec une grande cuisine pour les familles du quartier ", 8)
	for i, o := range [][2]string{
		{"far", "balcon " + filler + " stationnement"},
		{"once", "un stationnement et un balcon " + filler},
		{"often", "balcon, balcon arrière, stationnement, balcon avant " + filler},
		{"short", "balcon stationnement"},
		{"Balcon et stationnement", filler},
		{"none", "rien"},
	} {
		offer(t, s, o[0], o[0], o[1], "", "", i)
	}
	got, next := found(t, s, dblistings.ListingFilter{Text: "balcon stationnement", Sort: dblistings.Relevance})
	require.Nil(t, next)
	require.Equal(t, []string{"short", "often", "Balcon et stationnement", "once", "far"}, got)

	// Filters hold, and another order is what it was.
	got, _ = found(t, s, dblistings.ListingFilter{Text: "balcon", Sort: dblistings.Relevance, Status: []string{"archived"}})
	require.Empty(t, got)
	got, _ = found(t, s, dblistings.ListingFilter{Text: "balcon stationnement", Sort: dblistings.Newest})
	require.Equal(t, []string{"Balcon et stationnement", "short", "often", "once", "far"}, got)
}

// A ranking that takes long looks at each listing once: what was found in time stays, whether it is found in the order
// of the answer or not.
func TestRankingIsMadeOnce(t *testing.T) {
	t.Parallel()

	for _, plan := range []string{"enable_sort", "enable_indexscan"} {
		t.Run("without "+plan, func(t *testing.T) {
			t.Parallel()
			const listings = 40
			pool := dbtest.New(t)
			for i := range listings {
				offer(t, dblistings.NewListings(pool), fmt.Sprint(i), "Grand", "balcon", "", "", i)
			}
			// Words take 20 ms to read: 40 listings more than the half second that is given to the order of the answer.
			dbtest.Alter(t, pool, `ALTER TABLE listings RENAME TO kept_listings;
				CREATE FUNCTION slowly(id text, words tsvector) RETURNS tsvector STABLE COST 1000 LANGUAGE plpgsql AS $$ BEGIN
					RAISE NOTICE 'listing %', id; PERFORM pg_sleep(0.02); RETURN words;
				END $$`)
			columns := dbtest.Query[string](t, pool, `SELECT string_agg(CASE attname WHEN 'words'
				THEN 'slowly(platform_id, words) AS words' ELSE quote_ident(attname) END, ', ' ORDER BY attnum)
				FROM pg_attribute WHERE attrelid = 'kept_listings'::regclass AND attnum > 0 AND NOT attisdropped`)
			dbtest.Alter(t, pool, "CREATE VIEW listings AS SELECT "+columns[0]+" FROM kept_listings")
			dbtest.Alter(t, pool, "GRANT SELECT ON listings TO PUBLIC")
			looks := map[string]int{}
			slow, err := db.Open(t.Context(), dbtest.Direct(t, pool), 1, func(conf *pgxpool.Config) {
				conf.ConnConfig.RuntimeParams[plan] = "off"
				conf.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { looks[n.Message]++ }
			})
			require.NoError(t, err)
			defer slow.Close()
			page, _, err := dblistings.NewListings(slow).Search(t.Context(), dblistings.ListingFilter{
				Text: "balcon", Sort: dblistings.Relevance, Limit: 100,
			})
			require.NoError(t, err)
			require.Len(t, page, listings)
			require.Len(t, looks, listings)
			again := 0
			for _, n := range looks { // once for the condition, and once for the answer
				require.LessOrEqual(t, n, 4)
				if n > 2 {
					again++
				}
			}
			require.LessOrEqual(t, again, 1, "but for the one that it was at")
		})
	}
}

// What is rare tells more, by the statistics of Postgres.
func TestRareWordsTellMore(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	offer(t, s, "rare", "Sauna", "appartement voisin", "", "", 0)
	offer(t, s, "common", "Appartement", "sauna voisin", "", "", 1)
	for i := range 40 {
		offer(t, s, fmt.Sprint(i), "Logement", "appartement voisin", "", "", 2)
	}
	f := dblistings.ListingFilter{Text: "appartement sauna", Sort: dblistings.Relevance}
	got, _ := found(t, s, f)
	require.Equal(t, []string{"common", "rare"}, got, "nothing is known yet: the newer one is first")
	dbtest.Alter(t, pool, "ANALYZE listings")
	got, _ = found(t, s, f)
	require.Equal(t, []string{"rare", "common"}, got)
}

// Pages by relevance neither repeat nor miss a listing, though others are published and statistics change meanwhile.
func TestRelevancePages(t *testing.T) {
	t.Parallel()

	const listings = 60
	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for i := range listings {
		offer(t, s, fmt.Sprint(i), "Appartement", strings.Repeat("balcon ", i%7)+strings.Repeat("cour ", i%5)+"métro", "", "", i%9)
	}
	dbtest.Alter(t, pool, "ANALYZE listings")
	f := dblistings.ListingFilter{Text: "appartement metro -piscine", Sort: dblistings.Relevance}
	all, next := found(t, s, f)
	require.Len(t, all, listings)
	require.Nil(t, next)
	for _, limit := range []int{1, 7, 59, 60} {
		f.Limit, f.After = limit, nil
		var ids []string
		for page := 0; ; page++ {
			got, next := found(t, s, f)
			ids = append(ids, got...)
			if next == nil {
				break
			}
			require.Len(t, got, limit)
			cursor, err := json.Marshal(next) // as the API hands it out
			require.NoError(t, err)
			f.After = new(db.Position)
			require.NoError(t, json.Unmarshal(cursor, f.After))
			if page == 0 {
				offer(t, s, fmt.Sprint("new", limit), "Appartement métro", "métro métro", "", "", 100+limit)
				dbtest.Alter(t, pool, "ANALYZE listings")
			}
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return strings.HasPrefix(id, "new") })
		require.Len(t, ids, listings, limit)
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), listings, limit)
	}
}

// The plans of texts: words that few listings have are found by the index, words that many have in the order of the
// answer; and what is without a word that all have is not looked for listing by listing.
func TestTextPlans(t *testing.T) {
	t.Parallel()

	pool, ctx, sql := dbtest.New(t), t.Context(), dbtest.Statements(t)
	s := dblistings.NewListings(pool)
	dbtest.Exec(t, pool, dbtest.ManyListings, 20_000)
	dbtest.Alter(t, pool, "VACUUM ANALYZE listings")
	for _, tt := range []struct {
		text, words, index string
		found              int
	}{
		{"tout", "'tout'", "using listings_newest", 21},
		{"piscine", "'piscine'", "on listings_words", 4},
		{"introuvable", "'introuvable'", "on listings_words", 0},
		{"-tout", "!'tout' & ':'", "on listings_words", 0},
		{"-presque", "!'presque' & ':'", "on listings_words", 20},
		{"-moitie", "!'moitie' & ':'", "using listings_newest", 21},
		{"-piscine", "!'piscine' & ':'", "using listings_newest", 21},
		{"-introuvable", "!'introuvable' & ':'", "using listings_newest", 21},
		{"tout -tout", "'tout' & !'tout'", "on listings_words", 0},
	} {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sql["sqlTextPatience"])
			require.NoError(t, err)
			name := fmt.Sprintf("%x", tt.text)
			_, err = tx.Prepare(ctx, name, sql["sqlListingsNewest"])
			require.NoError(t, err)
			rows, _ := tx.Query(ctx, fmt.Sprintf(`EXPLAIN EXECUTE %q ('{active}', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
				NULL, NULL, NULL, $q$%s$q$, NULL, NULL, 21, $q$%s$q$, NULL, NULL, NULL, NULL,
				NULL, NULL, NULL, NULL)`, name, tt.words, tt.words))
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			plan := strings.Join(lines, "\n")
			require.Contains(t, plan, "Scan "+tt.index, "%s: %s", tt.text, plan)
			return nil
		})
		require.NoError(t, err)
		began := time.Now()
		got, _ := found(t, s, dblistings.ListingFilter{Text: tt.text, Status: []string{"active"}, Limit: 21})
		t.Logf("%s: %s", tt.text, time.Since(began))
		require.Len(t, got, tt.found, tt.text)
	}
}
