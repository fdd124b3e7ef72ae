package search_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// TestRandomOperations holds an index that was changed 10,000 times, its segments merged now and then, against one that is
// built of the same pages anew: statistics, frequencies and rankings are equal.
func TestRandomOperations(t *testing.T) {
	t.Parallel()

	r := rand.New(rand.NewPCG(7, 8))
	x := newIndex(t)
	pages := map[int64]search.Page{}
	for done := 0; done < 10_000; {
		var batch []search.Page
		for range 1 + r.IntN(40) {
			id := int64(r.IntN(800))
			if slices.ContainsFunc(batch, func(p search.Page) bool { return p.ID == id }) {
				continue
			}
			batch = append(batch, randomPage(r, id))
		}
		done += len(batch)
		if r.IntN(4) == 0 {
			var ids []int64
			for _, p := range batch {
				ids = append(ids, p.ID)
				delete(pages, p.ID)
			}
			x.remove(ids...)
		} else {
			for _, p := range batch {
				pages[p.ID] = p
			}
			x.add(batch...)
		}
		for len(x.segments) > 8 && r.IntN(3) == 0 { // any segments, not only neighbours
			places := r.Perm(len(x.segments))[:2+r.IntN(6)]
			x.merge(places...)
		}
	}
	compareWithNew(t, r, x, pages)
	for len(x.segments) > 1 {
		x.merge(0, 1)
	}
	if s := x.segments[0]; len(s.kills) > 0 || s.columns.Len() != len(pages) {
		t.Errorf("one segment of all has %d documents and %d bytes of kills, want %d and none", s.columns.Len(), len(s.kills), len(pages))
	}
	compareWithNew(t, r, x, pages)
}

func compareWithNew(t *testing.T, r *rand.Rand, x *index, pages map[int64]search.Page) {
	t.Helper()
	var list []search.Page
	for _, p := range pages {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b search.Page) int { return int(a.ID - b.ID) })
	anew := newIndex(t)
	anew.add(list...)
	x.pages, anew.pages = pages, pages
	if got, want := x.snapshot().Docs(), anew.snapshot().Docs(); got != want || want != len(pages) {
		t.Fatalf("%d documents, want %d", got, want)
	}
	if got, want := x.snapshot().Sites(20), anew.snapshot().Sites(20); !reflect.DeepEqual(got, want) {
		t.Errorf("sites %v, want %v", got, want)
	}
	if got, want := x.snapshot().Lengths(), anew.snapshot().Lengths(); got != want {
		t.Errorf("lengths %v, want %v", got, want)
	}
	for _, w := range someWords {
		search.Tokenize(w, func(token search.Token) bool {
			a := search.Ask{Clauses: []search.Clause{{Words: []string{token.Word}}}}
			if got, want := x.rank(a, search.Query{}).Found(0), anew.rank(a, search.Query{}).Found(0); got != want {
				t.Errorf("%q is in %d pages, want %d", token.Word, got, want)
			}
			return true
		})
	}
	for range 200 {
		var a search.Ask
		for range 1 + r.IntN(4) {
			word := func() []string { return []string{search.Fold(someWords[r.IntN(len(someWords))])} }
			c := search.Clause{Words: word(), Not: r.IntN(8) == 0, Title: r.IntN(8) == 0}
			if r.IntN(5) == 0 {
				c.Words, c.Phrase = append(c.Words, word()...), true
			}
			a.Clauses = append(a.Clauses, c)
		}
		var q search.Query
		if r.IntN(3) == 0 {
			q.Sites, q.Types = []string{"s1.example", "s3.example"}, []string{"html"}
		}
		one, two := x.rank(a, q), anew.rank(a, q)
		if one.Total != two.Total || one.Relaxed != two.Relaxed || !reflect.DeepEqual(one.Facets(), two.Facets()) {
			t.Fatalf("%v: %d answers, want %d", a, one.Total, two.Total)
		}
		got, _ := one.Hits(nil, one.Total)
		want, _ := two.Hits(nil, two.Total)
		for i := range got {
			got[i].Doc, want[i].Doc = 0, 0
		}
		require.Equal(t, want, got, a)
		require.Equal(t, got, all(one), a)
	}
}

// all is the hits, seven at a time.
func all(r *search.Ranking) []search.Ranked {
	var ranked []search.Ranked
	for more, after := true, (*search.Position)(nil); more; {
		var hits []search.Ranked
		hits, more = r.Hits(after, 7)
		for _, h := range hits {
			h.Doc = 0
			ranked = append(ranked, h)
			after = &h.Position
		}
		if len(hits) == 0 {
			break
		}
	}
	return ranked
}
