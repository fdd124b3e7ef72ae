package draft

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/markup"
)

// maxTitles bounds how many elements are looked at for the name.
const maxTitles = 3000

// findTitle finds the element that shows the product's name: the <h1> most like the page's title in its head and data,
// else the named or large element that is.
func (p *page) findTitle(called []string) {
	best, tried := 0.0, 0
	names := make([]nameWords, len(called))
	for n, c := range called {
		names[n] = nameWordsOf(c)
	}
	for i := range p.els {
		e := &p.els[i]
		if tried > maxTitles {
			break
		}
		if e.end == e.start || e.end-e.start > 400 && e.tag != atom.H1 || e.end-e.start > 2000 {
			continue
		}
		points := 0.0
		switch e.tag {
		case atom.H1:
			points = p.w[titleH1]
		case atom.H2:
			points = p.w[titleH2]
		case atom.H3, atom.H4:
			points = p.w[titleH3]
		case atom.Title, atom.A, atom.Button, atom.Li:
			continue
		default:
			if e.own&titled == 0 {
				continue
			}
			points = p.w[titleOther]
		}
		tried++
		text := p.of(i)
		if strings.Count(text, "\n") > 4 {
			if e.tag != atom.H1 {
				continue
			}
			text, _, _ = strings.Cut(text, "\n") // a button inside, and the text that it opens
		}
		like, own := 0.0, wordsOf(text)
		for n := range names {
			like = max(like, names[n].alike(own)-p.w[titleOrder]*float64(n))
		}
		points += p.w[titleAlike] * like
		if e.own&titled != 0 {
			points += p.w[titleNamed]
		}
		if e.marks&(aside|crumbs) != 0 {
			points += p.w[titleAside]
		}
		if e.marks&veiled != 0 {
			points += p.w[titleVeiled]
		}
		if e.tag != atom.H1 && like < leastTitle {
			continue
		}
		points -= p.w[titleDown] * math.Log2(1+float64(e.start)/titleReach)
		if points > best+titleMargin {
			best, p.title = points, i
		}
	}
}

// heading is the product's name as the page shows it.
func (p *page) heading() string {
	text := p.of(p.title)
	if strings.Count(text, "\n") > 4 {
		text, _, _ = strings.Cut(text, "\n")
	}
	return fold(text)
}

// alike is how much two names have in common, 0..1: the share of the words of the shorter that are in the longer, less
// a little where their lengths differ.
func alike(a, b string) float64 {
	words := nameWordsOf(b)
	return words.alike(wordsOf(a))
}

// nameWords are the words of a name that many others are compared with.
type nameWords struct {
	list []string
	set  map[string]bool
}

func nameWordsOf(name string) nameWords {
	n := nameWords{wordsOf(name), map[string]bool{}}
	for _, w := range n.list {
		n.set[w] = true
	}
	return n
}

// alike is how much the name has in common with one of these words.
func (n *nameWords) alike(words []string) float64 {
	if len(words) == 0 || len(n.list) == 0 {
		return 0
	}
	common, short, long := 0, words, n.list
	if len(words) <= len(n.list) {
		for _, w := range words {
			if n.set[w] {
				common++
			}
		}
	} else {
		short, long = n.list, words
		for _, w := range n.list {
			if slices.Contains(words, w) {
				common++
			}
		}
	}
	share := float64(common) / float64(len(short))
	return share * (0.7 + 0.3*float64(len(short))/float64(len(long)))
}

// wordsOf are the first words of a text, lower case.
func wordsOf(s string) []string {
	if len(s) > 500 {
		s = s[:500]
	}
	w := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return w[:min(len(w), 40)]
}

// mostNames is how many names calledOf returns: each is compared with each heading.
const mostNames = 8

// calledOf are the names of the product outside the visible text, the best first, at most mostNames.
func calledOf(data markup.Data, title string) []string {
	var out []string
	add := func(s string) {
		if len(out) == mostNames || len(s) > 10_000 {
			return
		}
		if s = fold(s); s != "" && len(s) < 500 {
			out = append(out, s)
		}
	}
	add(title)
	for _, key := range []string{"og:title", "twitter:title"} {
		for _, v := range data.Meta[key] {
			add(v)
		}
	}
	return out
}

// nameOf is the product's name.
func (p *page) nameOf(products []*markup.Item, meta map[string][]string) *Found[string] {
	var name *Found[string]
	take := func(text string, s Source) {
		n := cleanText(text, 500)
		switch {
		case n == "":
		case name == nil:
			name = found(n, s)
		case n != name.Value:
			p.lose("name", n, s, Weaker)
		}
	}
	for _, i := range products {
		take(i.Text("name"), sourceOf(i))
	}
	if p.title >= 0 && p.els[p.title].tag == atom.H1 {
		take(p.heading(), Page)
	}
	for _, v := range meta["og:title"] {
		take(v, OpenGraph)
	}
	if p.title >= 0 {
		take(p.heading(), Page)
	}
	return name
}
