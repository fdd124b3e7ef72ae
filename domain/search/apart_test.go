package search_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/search"
)

// What is written as one word or as two is found either way, that which is written as in the query first.
func TestRankApart(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	for i, text := range []string{
		1: "a laptop with 16 GB of RAM", 2: "a laptop with 16gb of RAM", 3: "a laptop, 8 GB, its screen has 16 inches",
		4: "a hybrid car with a plug-in", 5: "a hybrid car, plugin", 6: "a hybrid car with its plug in it",
		7: "the plug of a hybrid car", 8: "a lawyer in-house", 9: "a lawyer has a house",
	} {
		if i > 0 {
			x.add(search.Page{ID: int64(i), Document: search.Document{Text: text, Language: "en", CrawledAt: day(1)}})
		}
	}
	for _, c := range []struct {
		text string
		all  []int64 // in order
		some []int64
	}{
		{"laptop 16gb", []int64{2, 1}, []int64{3}},
		{"laptop 16 gb", []int64{1, 2, 3}, nil},
		{"laptop -16gb", []int64{3}, nil},
		{"plug-in hybrid", []int64{5, 4, 6}, []int64{7}},
		{"plug-in", []int64{5, 4, 6}, nil},
		{"hybrid -plug-in", []int64{7}, nil},
		{"in-house lawyer", []int64{8}, []int64{9}},
		{"in-house", []int64{8}, nil},
	} {
		a := parse(t, c.text)
		again(t, a)
		hits, _ := x.rank(a, search.Query{}).Hits(nil, 10)
		var all, some []int64
		for _, h := range hits {
			if h.All {
				all = append(all, h.ID)
			} else {
				some = append(some, h.ID)
			}
		}
		if !slices.Equal(all, c.all) || !slices.Equal(some, c.some) {
			t.Errorf("%q finds %v, and %v by some words; want %v and %v", c.text, all, some, c.all, c.some)
		}
	}
	for text, want := range map[string]string{"16gb": "16 GB", "16 gb": "16"} {
		marks := search.Mark("it has 16 GB", parse(t, text), "en")
		if len(marks) == 0 || "it has 16 GB"[marks[0].Start:marks[0].End] != want {
			t.Errorf("%q marks %v", text, marks)
		}
	}
}

// Of a question it is the verb that is looked for, in whatever order it has its words.
func TestRankAsked(t *testing.T) {
	t.Parallel()

	for text, page := range map[string]string{
		"faut-il un permis": "il faut un permis", "peut-on louer": "on peut louer", "puis-je payer": "je ne puis payer",
		"qu'est-ce qu'un duplex": "un duplex est une maison", "pouvez-vous livrer": "vous pouvez livrer",
		"rendez-vous": "un rendez-vous", "parlez-moi": "parlez",
	} {
		x := newIndex(t)
		x.add(search.Page{ID: 1, Document: search.Document{Text: page, Language: "fr", CrawledAt: day(1)}})
		if hits, _ := x.rank(parse(t, text), search.Query{}).Hits(nil, 1); len(hits) != 1 || !hits[0].All {
			t.Errorf("%q finds %v", text, hits)
		}
	}
}

// What was probably meant is told as people write it.
func TestMeasuresAsTold(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"16 GB ram": "16 gb ram", "16-gb ram": "16 gb ram", "100 m2": "100 m2", "wi-fi": "wi-fi", "16 16-gb": "16 16-gb",
		"16-gb gb": "16-gb gb", "intitle:16-gb": "intitle:16-gb", "5 l 16-gb 3 m": "5 l 16 gb 3 m",
		"7 541 pieces": "7 541 pieces", "7 541 541": "7 541", "1 200 300 gb": "1 200 300 gb", "16 000 gb": "16 000 gb",
	} {
		a := parse(t, text)
		if again(t, a); a.String() != want {
			t.Errorf("%q is told as %q, want %q", text, a, want)
		}
	}
}

// Where the words in a row are too common, a word is looked for as it is.
func TestAffordApart(t *testing.T) {
	t.Parallel()

	p := search.NewPlan(parse(t, "laptop 16gb"), search.Query{})
	if !slices.Contains(p.Terms(), "gb") || !slices.Equal(p.Positions(), []string{"16", "gb"}) {
		t.Fatalf("%q, positions of %q", p.Terms(), p.Positions())
	}
	p.Afford(map[string]search.Size{"gb": {Postings: 10, Positions: 1 << 20}})
	assert.Len(t, p.Positions(), 2, "they are left out at once")
	p.Afford(map[string]search.Size{"gb": {Postings: 10, Positions: 1 << 30}})
	if terms := p.Terms(); len(p.Positions()) > 0 || slices.Contains(terms, "gb") || !slices.Contains(terms, "16gb") {
		t.Errorf("%q, positions of %q", terms, p.Positions())
	}
}

// What is spelt with a sign or without it is found either way.
func TestRankOthers(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	for i, text := range []string{1: "a stream of nodejs", 2: "a stream of Node.js", 3: "its changelog of 1.27.3", 4: "what v1.27.3 has",
		5: "v1.27.4 has a node", 6: "charts by D3.js", 7: "it has 7,541 pieces", 8: "541 pieces and 7 bags"} {
		if i > 0 {
			x.add(search.Page{ID: int64(i), Document: search.Document{Text: text, Language: "en", CrawledAt: day(1)}})
		}
	}
	for text, want := range map[string][]int64{"nodejs": {1, 2}, "node.js": {2, 1}, "v1.27.3": {4, 3}, "ajs": nil,
		"d3js": {6}, "7 541": {7, 8}, "7541": {7}} {
		a := parse(t, text)
		again(t, a)
		hits, _ := x.rank(a, search.Query{}).Hits(nil, 10)
		var got []int64
		for _, h := range hits {
			got = append(got, h.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", text, got, want)
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()

	for word, want := range map[string]string{
		"redbull": "red bull,redb ull", "ps5": "ps 5", "16gb": "16 gb", "iphone15": "iphone 15", "carpe": "", "h2y1a1": "h 2y1a1,h2 y1a1,h2y 1a1,h2y1 a1,h2y1a 1", "backup": "back up,bac kup", "cabin": "cab in",
		"h2y1a1b2c3": "", "login": "log in",
		"1500": "1 500", "123456": "123 456", "12345678": "12 345 678", "0123": "", "1234567890": "123 456 7890", "123": "", "": "", "été": "", "foo_bar": "foo bar", "os.path": "os path", "v1.2": "", "c++": "",
		".push": "push", ".x": "", "acdc": "", "tcpip": "",
		"python3.12": "python 3.12", "node.18": "", "3.12": "3 12", "a.b3.1": "", "v1.2.3": "",
		strings.Repeat("a", 41): "", strings.Repeat("a1", 50_000): "",
	} {
		var got []string
		for _, way := range search.Parts(word, false) {
			got = append(got, strings.Join(way, " "))
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%.40q: %q, want %q", word, got, want)
		}
	}
	for word, want := range map[string]string{
		"acdc": "ac dc", "tcpip": "tc pip,tcp ip", "cabin": "ca bin,cab in", "redbull": "red bull,redb ull", "abc": "",
	} {
		var got []string
		for _, way := range search.Parts(word, true) {
			got = append(got, strings.Join(way, " "))
		}
		if strings.Join(got, ",") != want {
			t.Errorf("short %.40q: %q, want %q", word, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	t.Parallel()

	for word, want := range map[string]bool{
		"9fceb02": true, "document.getel": true, "rtx4090": true, "ps5": false, "refriger": false, "13750": false,
		"192.168.10": false, "": false,
	} {
		assert.Equal(t, want, search.Code(word), word)
	}
}
