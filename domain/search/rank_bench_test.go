package search_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// typical are pages of 6 KB, whose words follow Zipf's law.
func typical(n int) []search.Page {
	r := rand.New(rand.NewPCG(9, 10))
	zipf := rand.NewZipf(r, 1.25, 5, 200_000)
	text := func(words int) string {
		var b strings.Builder
		for range words {
			fmt.Fprintf(&b, "%s ", pronounce(zipf.Uint64()))
		}
		return b.String()
	}
	pages := make([]search.Page, n)
	for i := range pages {
		site := fmt.Sprintf("site%d.example", r.IntN(1000))
		pages[i] = search.Page{ID: int64(i), Document: search.Document{URL: fmt.Sprintf("https://%s/%s/%d", site, pronounce(zipf.Uint64()), i),
			Site: site, Title: text(7), Headings: []string{text(4), text(5)}, Text: text(950), Language: "en", Type: "html"}}
	}
	return pages
}

// pronounce is a pronounceable word for a number, a short one for a small one.
func pronounce(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for n++; n > 0; n /= uint64(len(consonants) * len(vowels)) {
		b.WriteByte(consonants[n%uint64(len(consonants))])
		b.WriteByte(vowels[n/uint64(len(consonants))%uint64(len(vowels))])
	}
	return b.String() + "s"
}

// cpu measures the processor time of a benchmark: other processes may use the machine.
func cpu(b *testing.B) (report func()) {
	spent := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := spent()
	return func() { b.ReportMetric(float64((spent()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}

func BenchmarkBuilder(b *testing.B) {
	pages := typical(300)
	bytes := 0
	for _, p := range pages {
		bytes += len(p.Text) / len(pages)
	}
	size := 0
	report := cpu(b)
	for b.Loop() {
		builder := search.NewBuilder()
		for i, p := range pages {
			builder.Add(int64(i), p)
		}
		s := builder.Segment()
		size = len(s.Columns)
		for _, t := range s.Terms {
			size += len(t.Postings) + len(t.Positions)
		}
	}
	report()
	b.ReportMetric(float64(size)/float64(len(pages)), "index-B/page")
	b.ReportMetric(float64(bytes), "text-B/page")
}

// BenchmarkRank ranks 100,000 pages in a handful of segments.
func BenchmarkRank(b *testing.B) {
	x := newIndex(b)
	r := rand.New(rand.NewPCG(11, 12))
	words := strings.Fields("alpha beta gamma delta epsilon rare")
	shares := []float64{.4, .45, .5, .55, .6, .001}
	id := int64(0)
	for _, size := range []int{64000, 24000, 8000, 3000, 700, 300} {
		var pages []search.Page
		for range size {
			var t strings.Builder
			for i, w := range words {
				if r.Float64() < shares[i] {
					for range 1 + r.IntN(4) {
						t.WriteString(w + " ")
					}
				}
			}
			fmt.Fprintf(&t, "unique%d", id)
			id++
			pages = append(pages, search.Page{ID: id, Document: search.Document{Site: fmt.Sprintf("s%d", id%1000),
				Text: t.String(), Language: "en", Type: "html"}})
		}
		x.add(pages...)
	}
	for _, tt := range []struct{ name, query string }{
		{"five common", "alpha beta gamma delta epsilon"},
		{"two common", "alpha epsilon"},
		{"one common", "epsilon"},
		{"rare", "rare"},
		{"common and rare", "epsilon rare"},
	} {
		b.Run(tt.name, func(b *testing.B) {
			a := parse(b, tt.query)
			s := x.snapshot()
			rows := x.rows(search.NewPlan(a, search.Query{}).Terms())
			report := cpu(b)
			for b.Loop() {
				ranking, err := search.Rank(s, search.NewPlan(a, search.Query{}), rows)
				require.NoError(b, err)
				ranking.Hits(nil, 10)
			}
			report()
		})
	}
	b.Run("facets", func(b *testing.B) {
		a := parse(b, "epsilon")
		ranking, err := search.Rank(x.snapshot(), search.NewPlan(a, search.Query{}), x.rows(search.NewPlan(a, search.Query{}).Terms()))
		require.NoError(b, err)
		report := cpu(b)
		for b.Loop() {
			ranking.Facets()
		}
		report()
	})
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			x.snapshot()
		}
	})
}
