package search_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/cranfield"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// TestCranfield holds the order of answers to what it was when the ranking was made: nDCG@10 .430 and MAP .349.
func TestCranfield(t *testing.T) {
	t.Parallel()

	c, err := cranfield.Read(filepath.Join(sharedtest.Dir(t, "the relevance of answers"), "data", "search", "cranfield"))
	require.NoError(t, err)
	if len(c.Documents) != 1400 || len(c.Questions) != 225 {
		t.Fatalf("%d documents and %d questions", len(c.Documents), len(c.Questions))
	}
	x := newIndex(t)
	x.pages = map[int64]search.Page{}
	var pages []search.Page
	for _, d := range c.Documents {
		p := search.Page{ID: int64(d.Number), Document: search.Document{Title: d.Title, Text: d.Text,
			Language: search.Detect(d.Title + "\n" + d.Text)}}
		pages, x.pages[p.ID] = append(pages, p), p
	}
	x.add(pages...)
	var ndcg, ap float64
	for _, q := range c.Questions {
		var ranking []int
		hits, _ := x.rank(parse(t, q.Text), search.Query{}).Hits(nil, 1000)
		for _, h := range hits {
			ranking = append(ranking, int(h.ID))
		}
		ndcg += q.NDCG(ranking) / float64(len(c.Questions))
		ap += q.AveragePrecision(ranking) / float64(len(c.Questions))
	}
	t.Logf("nDCG@10 %.4f, MAP %.4f", ndcg, ap)
	if ndcg < .42 || ap < .34 {
		t.Errorf("nDCG@10 %.4f and MAP %.4f, want .42 and .34 at least", ndcg, ap)
	}
}

func parse(t testing.TB, text string) search.Ask {
	t.Helper()
	a, err := search.Parse(text)
	require.NoError(t, err)
	return a
}
