package prose

import (
	"math"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// ParseArea returns the floor area in s in square feet, rounded: "600 pi²", "1000p2", "850 pc", "1,900 sqft", "1250 pi
// ca", "900 pieds carrés", "75 m²" (× 10.7639). Placeholders (0, 1) and anything outside listing.MinAreaSqFt to
// listing.MaxAreaSqFt give 0.
func ParseArea(s string) int {
	c, ok := Read(page.Line(s)).area(0, 1<<30)
	if !ok {
		return 0
	}
	return int(c.value)
}

// area finds the first area among the tokens from..to.
func (p *Prose) area(from, to int) (c count, ok bool) {
	for i := from; i < len(p.words) && i < to; i++ {
		t := p.num(i)
		if t == nil || t.half || t.digits == 0 || t.digits > 5 {
			continue
		}
		j := i + 1
		switch p.sym(j) {
		case '+', '-':
			j++
		case '.':
			j++ // "900. pi2"
		}
		end, metric := p.areaUnit(j)
		if end < 0 {
			continue
		}
		v := float64(t.cents) / 100
		start := i
		if prev := p.num(i - 1); prev != nil && t.space && t.digits == 3 && t.dec == 0 && prev.digits == 1 && prev.dec == 0 &&
			prev.cents > 0 { // "1 250 pi2"
			v += float64(prev.cents/100) * 1000
			start--
		}
		if metric {
			v *= 10.7639
		}
		if v = math.Round(v); v < listing.MinAreaSqFt || v > listing.MaxAreaSqFt || ok && metric {
			continue
		}
		c, ok = count{value: v, from: start, to: end}, true
		if !metric {
			break
		}
		to = min(to, end+6) // "93 m² (1 000 pi²)" says it in square feet too
	}
	return c, ok
}

// areaUnit reads a unit of area at i and returns its last token, or -1. A bare "pi" or "ft" is a length.
func (p *Prose) areaUnit(i int) (end int, metric bool) {
	w := p.word(i)
	two := func(k int) bool { // a "2" that touches the word before it
		t := p.num(k)
		return t != nil && t.cents == 200 && t.dec == 0 && t.digits == 1
	}
	next := i + 1
	if s := p.sym(next); s == '.' || s == '-' && !p.words[next].space { // "pi.ca.", "pi-carré"
		next++
	}
	switch w {
	case "pc", "sqft", "sf", "pica", "sqf", "pca":
		return i, false
	case "p", "pi", "pied", "pieds", "feet", "ft", "foot":
		t := p.num(i - 1)
		switch {
		// "(1200pi)": no length in a home is so long, but "300 pi du parc" is a way
		case w == "pi" && t != nil && !p.words[i].space && t.digits >= 3 && t.dec == 0 && p.word(next) == "" &&
			p.num(next) == nil:
			return i, false
		case two(next) && !p.words[next].space, w != "p" && two(next):
			return next, false
		case w == "p" && p.sym(i+1) == '.' && p.word(i+2) == "c":
			return i + 2, false
		}
		switch p.word(next) {
		case "carre", "carres", "caree", "carrees", "carree", "ca", "car", "care", "cares", "sq", "square", "c", "carr":
			return next, false
		}
	case "sq", "square":
		switch p.word(next) {
		case "ft", "feet", "foot", "f", "pi", "pieds", "fts":
			return next, false
		case "m", "meters", "metres":
			return next, true
		}
	case "m", "metre", "metres", "meter", "meters":
		if two(next) && (!p.words[next].space || w != "m") {
			return next, true
		}
		switch p.word(next) {
		case "carre", "carres", "ca", "square":
			return next, true
		}
	}
	return -1, false
}
