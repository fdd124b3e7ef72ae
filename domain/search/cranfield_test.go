package search_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/cranfield"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

func TestCranfield(t *testing.T) {
	c, err := cranfield.Read(filepath.Join(sharedtest.Dir(t, "the relevance of answers"), "data", "search", "cranfield"))
	if err != nil {
		t.Fatal(err)
	}
	x := newIndex(t)
	var pages []search.Page
	for _, d := range c.Documents {
		pages = append(pages, search.Page{ID: int64(d.Number), Document: search.Document{
			URL: "", Title: d.Title, Text: d.Text, Language: "en", Type: "html"}})
	}
	x.add(pages...)
	if os.Getenv("PRF") != "" {
		x.pages = map[int64]search.Page{}
		for _, p := range pages {
			x.pages[p.ID] = p
		}
	}
	type graded struct {
		q    cranfield.Question
		ndcg float64
		top  []int
	}
	var sums [2][3]float64
	var all []graded
	for _, q := range c.Questions {
		var ranking []int
		r := x.rank(parse(t, q.Text), search.Query{})
		hits, _ := r.Hits(nil, 1400)
		for _, h := range hits {
			ranking = append(ranking, int(h.ID))
		}
		half := &sums[(q.Number+1)%2]
		n := q.NDCG(ranking)
		half[0]++
		half[1] += n
		half[2] += q.AveragePrecision(ranking)
		if q.Number%2 == 1 {
			all = append(all, graded{q, n, ranking[:min(10, len(ranking))]})
		}
	}
	odd, even := sums[0], sums[1]
	t.Logf("odd nDCG %.4f MAP %.4f", odd[1]/odd[0], odd[2]/odd[0])
	if os.Getenv("ALL") != "" {
		t.Logf("even nDCG %.4f MAP %.4f", even[1]/even[0], even[2]/even[0])
		t.Logf("all nDCG %.4f MAP %.4f", (odd[1]+even[1])/(odd[0]+even[0]), (odd[2]+even[2])/(odd[0]+even[0]))
	}
	if os.Getenv("WORST") != "" {
		slices.SortFunc(all, func(a, b graded) int { return int(1e6 * (a.ndcg - b.ndcg)) })
		for _, g := range all[:25] {
			t.Logf("%.3f %d %s\n top %v\n rel %v", g.ndcg, g.q.Number, strings.Join(strings.Fields(g.q.Text), " "), g.top, g.q.Grades)
		}
	}
}

func parse(t testing.TB, text string) search.Ask {
	t.Helper()
	a, err := search.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
