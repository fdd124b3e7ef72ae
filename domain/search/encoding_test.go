package search_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// someWords are the vocabulary of random pages: common ones first.
var someWords = strings.Fields(`the boundary layer flows flowing flow running runs run économie économies maison maisons
	shoes shoe heat heated transfer wing wings lift drag shock waves wave 東京大学 москва foo_bar a.b.c state-of-the-art
	zebra quixotic xylophone`)

// randomText is words, the first of someWords the likeliest.
func randomText(r *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "%s ", someWords[int(float64(len(someWords))*r.Float64()*r.Float64())])
	}
	return b.String()
}

func randomPage(r *rand.Rand, id int64) search.Page {
	site := fmt.Sprintf("s%d.example", r.IntN(7))
	p := search.Page{ID: id, Document: search.Document{
		URL: fmt.Sprintf("https://%s/%s/%d?q=1", site, strings.TrimSpace(randomText(r, 1)), id), Site: site,
		Title: randomText(r, r.IntN(6)), Description: randomText(r, r.IntN(4)), Text: randomText(r, r.IntN(60)),
		Language: []string{"en", "fr", "", "ru"}[r.IntN(4)], Type: []string{"html", "pdf"}[r.IntN(2)],
		CrawledAt: time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)}}
	for range r.IntN(3) {
		p.Headings = append(p.Headings, randomText(r, r.IntN(5)))
	}
	return p
}

func TestBuilderIsDeterministic(t *testing.T) {
	t.Parallel()

	build := func() search.Segment {
		r := rand.New(rand.NewPCG(1, 2))
		b := search.NewBuilder()
		for doc := range int64(50) {
			b.Add(doc*3+5, randomPage(r, doc))
		}
		return b.Segment()
	}
	first := build()
	assert.Equal(t, build(), first, "the same documents give other bytes")
	if !slices.IsSortedFunc(first.Terms, func(a, b search.TermPostings) int { return strings.Compare(a.Term, b.Term) }) {
		t.Error("terms are not sorted")
	}
}

func TestColumns(t *testing.T) {
	t.Parallel()

	b := search.NewBuilder()
	docs := []int64{7, 8, 4_000_000_000, 1 << 40}
	r := rand.New(rand.NewPCG(3, 4))
	for i, doc := range docs {
		b.Add(doc, randomPage(r, int64(1)<<40-int64(i)))
	}
	c, err := search.DecodeColumns(b.Segment().Columns)
	require.NoError(t, err)
	for i, doc := range docs {
		if ord, has := c.Ordinal(doc); !has || ord != i || c.Doc(ord) != doc || c.Page(ord) != int64(1)<<40-int64(i) {
			t.Errorf("document %d is at %d (%v), page %d", doc, ord, has, c.Page(i))
		}
	}
	for _, doc := range []int64{0, 6, 9, 4_000_000_001} {
		if _, has := c.Ordinal(doc); has {
			t.Errorf("document %d is there", doc)
		}
	}
}

func TestKills(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ in, out []int64 }{
		{nil, nil},
		{[]int64{0}, []int64{0}},
		{[]int64{9, 3, 3, 1 << 62, 1 << 31, 9}, []int64{3, 9, 1 << 31, 1 << 62}},
	} {
		if got, err := search.DecodeKills(search.EncodeKills(tt.in)); err != nil || !slices.Equal(got, tt.out) {
			t.Errorf("%v comes back as %v, %v", tt.in, got, err)
		}
	}
}

func TestTextKey(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("Some words of a Page, ", 5)
	for _, tt := range []struct {
		name           string
		title, text    string
		title2, text2  string
		same, anything bool
	}{
		{"long texts, other titles", "One", long, "Two", strings.ToLower(long), true, true},
		{"short texts, other titles", "One", "Not found", "Two", "not found", false, true},
		{"short texts, same title", "One", "Not  found!", "one", "not found", true, true},
		{"no text", "One", "", "One", " ", true, false},
	} {
		a, b := search.TextKey(tt.title, tt.text), search.TextKey(tt.title2, tt.text2)
		if (a == b) != tt.same || (a != 0) != tt.anything {
			t.Errorf("%s: keys %x and %x", tt.name, a, b)
		}
		builder := search.NewBuilder()
		builder.Add(1, search.Page{Document: search.Document{Title: tt.title, Text: tt.text}})
		if c, err := search.DecodeColumns(builder.Segment().Columns); err != nil || c.TextKey(0) != a {
			t.Errorf("%s: the index has another key: %v", tt.name, err)
		}
	}
}

// TestHugePage bounds what one word may cost.
func TestHugePage(t *testing.T) {
	t.Parallel()

	b := search.NewBuilder()
	b.Add(1, search.Page{ID: 1, Document: search.Document{Title: strings.Repeat("word ", 1000),
		Text: strings.Repeat("word ", 1<<20), Language: "en"}})
	s := b.Segment()
	if len(s.Terms) != 1 || len(s.Terms[0].Positions) > 20_000 || len(s.Terms[0].Postings) > 10 {
		t.Errorf("%d terms, %d and %d bytes", len(s.Terms), len(s.Terms[0].Postings), len(s.Terms[0].Positions))
	}
}

// FuzzBroken reads any bytes as a segment of an index.
func FuzzBroken(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	b := search.NewBuilder()
	for doc := range int64(20) {
		b.Add(doc, randomPage(r, doc))
	}
	s := b.Segment()
	for _, t := range s.Terms[:20] {
		f.Add(s.Columns, t.Postings, t.Positions, []byte{2, 1, 1})
	}
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{0xff, 0xff, 0xff, 0x0f, 1}, []byte{0xff, 0xff, 0x0f}, []byte{0xff, 0x0f})
	f.Fuzz(func(t *testing.T, columns, postings, positions, kills []byte) {
		killed, err := search.DecodeKills(kills)
		if err == nil && !bytes.Equal(search.EncodeKills(killed), kills) && len(killed) > 0 {
			_, err = search.DecodeKills(search.EncodeKills(killed))
		}
		if err != nil {
			killed = nil
		}
		c, err := search.DecodeColumns(columns)
		if err != nil {
			if c, err = search.DecodeColumns(s.Columns); err != nil {
				t.Fatal(err)
			}
		}
		snapshot := search.NewSnapshot([]search.Part{{ID: 1, Columns: c, Kills: killed}})
		a := search.Ask{Clauses: []search.Clause{{Words: []string{"a"}}, {Words: []string{"b"}}, {Words: []string{"a", "b"}, Phrase: true}}}
		p := search.NewPlan(a, search.Query{})
		rows := []search.Posted{{Term: "a", Segment: 1, Postings: postings, Positions: positions},
			{Term: "b", Segment: 1, Postings: postings, Positions: positions}}
		if r, err := search.Rank(snapshot, p, rows); err == nil {
			_ = r.Refine(rows)
			r.Facets()
			r.Hits(nil, 10)
		}
		m, err := search.NewMerger(snapshot, []int64{1})
		require.NoError(t, err)
		out := func(search.TermPostings) error { return nil }
		if m.Add(rows[0], out) == nil {
			_ = m.Flush(out)
		}
	})
}
