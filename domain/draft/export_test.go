package draft

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// PriceTwice chooses the price of one page two times over, and returns the points of each choice.
func PriceTwice(page string) (first, second string, points [2]float64, err error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", "", points, err
	}
	p := newPage(allWeights(), doc, &url.URL{Scheme: "https", Host: "shop.example"}, 0)
	p.findTitle(nil)
	p.findAmounts()
	p.findCards(p.amounts)
	p.findButton()
	a := p.priceOf(nil, nil, state{})
	b := p.priceOf(nil, nil, state{})
	return a.amount, b.amount, [2]float64{a.total(), b.total()}, nil
}

// Grounds is how many grounds confidences were counted for.
func Grounds() int { return len(measured) }

// OtherChoice looks for a choice beside each element of a page that has a class, and returns how many have one, and how
// many elements were looked at for one of them, at most.
func OtherChoice(page, class string) (with, looked int, err error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return 0, 0, err
	}
	p := newPage(allWeights(), doc, &url.URL{Scheme: "https", Host: "shop.example"}, 0)
	for i := range p.els {
		if attr(p.els[i].node, "class") != class {
			continue
		}
		other, n := p.otherChoice(i)
		if looked = max(looked, n); other {
			with++
		}
	}
	return with, looked, nil
}

// SoldOutWhole says of a line which says that something is sold out that it speaks of the whole product.
func SoldOutWhole(line, name string) bool { return ofWhole(strings.ToLower(line), name) }

// InCues is where the first of some cues stands in a text, and which is the first of them, in their order, that does.
func InCues(cues []string, s string) (found, first string) {
	l := cuesOf(cues)
	if start, end := l.find(s); start >= 0 {
		found = s[start:end]
	}
	first, _ = l.first(s)
	return found, first
}
