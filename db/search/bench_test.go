package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/search"
)

// A writer makes pages of pronounceable words, as common as those of a language are (Zipf).
type writer struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

const vocabulary = 200_000

func newWriter(seed uint64) *writer {
	rng := rand.New(rand.NewPCG(seed, 1))
	return &writer{rng, rand.NewZipf(rng, 1.5, 40, vocabulary-1)}
}

// wordOf is the word of a rank: common ones are short.
func wordOf(rank uint64) string {
	const consonants, vowels = "bcdfghjklmnprstvz", "aeiou"
	var b []byte
	for n := rank*2 + 3; n > 0; {
		b = append(b, consonants[n%17])
		n /= 17
		b = append(b, vowels[n%5])
		n /= 5
	}
	return string(b)
}

func (w *writer) words(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(wordOf(w.zipf.Uint64()))
	}
	return b.String()
}

// page is the nth page: its text has 6 KB in the middle.
func (w *writer) page(n int) search.Incoming {
	site := fmt.Sprintf("site%d.example", n%997)
	p := incoming(site, fmt.Sprintf("/%s/%d", wordOf(w.zipf.Uint64()), n), w.words(3+w.rng.IntN(8)),
		w.words(int(900*math.Exp(w.rng.NormFloat64()*0.6))), n)
	p.Headings = []string{w.words(4), w.words(3)}
	p.Description = w.words(15)
	if n%3 == 0 {
		p.Language = "fr"
	}
	return p
}

// fill stores pages in batches, merging segments as a worker does.
func (l library) fill(t testing.TB, pages, batch int) {
	t.Helper()
	w := newWriter(1)
	for n := 0; n < pages; n += batch {
		all := make([]search.Incoming, min(batch, pages-n))
		for i := range all {
			all[i] = w.page(n + i)
		}
		l.put(t, all...)
		for more := true; more; {
			var err error
			more, err = l.index.Compact(t.Context())
			require.NoError(t, err)
		}
	}
}

func size(name string, pages int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return pages
}

// BenchmarkSearchFill stores batches; PAGES in the environment is how many pages there are before.
func BenchmarkSearchFill(b *testing.B) {
	l := newLibrary(b)
	before := size("PAGES", 3000)
	l.fill(b, before, 300)
	for _, batch := range []int{1, 300} {
		b.Run(strconv.Itoa(batch), func(b *testing.B) {
			w, n := newWriter(uint64(batch+b.N)), before
			var store, index time.Duration
			for b.Loop() {
				b.StopTimer()
				pages := make([]search.Incoming, batch)
				for i := range pages {
					n++
					pages[i] = w.page(n + b.N*1000)
				}
				b.StartTimer()
				start := time.Now()
				stored, err := l.Store(b.Context(), pages, time.Now())
				require.NoError(b, err)
				store += time.Since(start)
				fresh := make([]search.Page, batch)
				for i, s := range stored {
					fresh[i] = search.Page{ID: s.ID, Revision: s.Revision, Document: pages[i].Document}
				}
				start = time.Now()
				require.NoError(b, l.index.Index(b.Context(), fresh))
				index += time.Since(start)
			}
			b.ReportMetric(float64(store.Microseconds())/1000/float64(b.N), "store-ms")
			b.ReportMetric(float64(index.Microseconds())/1000/float64(b.N), "index-ms")
		})
	}
}

const sizesOfSearch = `
SELECT c.relname, pg_relation_size(c.oid), coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)
FROM pg_class c WHERE c.relname ~ '^(pages|search_)' AND c.relkind IN ('r', 'i') ORDER BY 1`

// BenchmarkSearch answers queries over PAGES pages.
func BenchmarkSearch(b *testing.B) {
	l := newLibrary(b)
	pages := size("PAGES", 3000)
	start := time.Now()
	l.fill(b, pages, 300)
	fmt.Printf("filled %d pages in %s\n", pages, time.Since(start))
	dbtest.Alter(b, l.pool, "SELECT gin_clean_pending_list('search_terms_trgm')")
	rows, err := l.pool.Query(b.Context(), sizesOfSearch)
	require.NoError(b, err)
	for rows.Next() {
		var name string
		var main, toast int64
		require.NoError(b, rows.Scan(&name, &main, &toast))
		fmt.Printf("%-26s %7d + toast %7d bytes a page\n", name, main/int64(pages), toast/int64(pages))
	}
	stats, err := l.index.Stats(b.Context())
	require.NoError(b, err)
	fmt.Printf("%d segments, %d words, %d bytes a page\n", stats.Segments, stats.Terms, stats.Bytes/int64(pages))

	common := func(n int) string {
		var words []string
		for i := range n {
			words = append(words, wordOf(uint64(i*2)))
		}
		return strings.Join(words, " ")
	}
	rng := rand.New(rand.NewPCG(3, 3))
	rare := func(n int) string {
		var words []string
		for range n {
			words = append(words, wordOf(uint64(2000+rng.IntN(20000))))
		}
		return strings.Join(words, " ")
	}
	for name, query := range map[string]func() search.Query{
		"common1":  func() search.Query { return search.Query{Text: common(1)} },
		"common2":  func() search.Query { return search.Query{Text: common(2)} },
		"common5":  func() search.Query { return search.Query{Text: common(5)} },
		"rare1":    func() search.Query { return search.Query{Text: rare(1)} },
		"rare2":    func() search.Query { return search.Query{Text: rare(2)} },
		"rare5":    func() search.Query { return search.Query{Text: rare(5)} },
		"twenty":   func() search.Query { return search.Query{Text: common(10) + " " + rare(10)} },
		"facets":   func() search.Query { return search.Query{Text: common(2), Facets: true} },
		"filter":   func() search.Query { return search.Query{Text: common(2), Sites: []string{"site7.example"}} },
		"typo":     func() search.Query { return search.Query{Text: rare(1) + "x"} },
		"typos":    func() search.Query { return search.Query{Text: rare(1) + "x " + rare(1) + "q " + rare(1) + "w"} },
		"prefix":   func() search.Query { return search.Query{Text: wordOf(4000)[:3] + "*"} },
		"phrase":   func() search.Query { return search.Query{Text: `"` + common(2) + `"`} },
		"negative": func() search.Query { return search.Query{Text: "-" + common(1)} },
		"many":     func() search.Query { return search.Query{Text: common(32)} },
		"letter":   func() search.Query { return search.Query{Text: "b*"} },
	} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				q := query()
				q.Limit = 10
				start := time.Now()
				_, err := l.index.Search(b.Context(), q)
				took = append(took, time.Since(start))
				require.NoError(b, err)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
	b.Run("suggest", func(b *testing.B) {
		for b.Loop() {
			_, err := l.index.Suggest(b.Context(), "b", 10)
			require.NoError(b, err)
		}
	})
}
