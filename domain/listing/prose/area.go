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
		if p.words[i].topic&anArea != 0 && i+1 < len(p.words) {
			if v, end := p.labelledArea(i); v > 0 {
				return count{value: v, from: i, to: end}, true
			}
			continue
		}
		t := p.num(i)
		if t == nil || t.half || t.digits == 0 || t.digits > 5 {
			continue
		}
		j := i + 1
		for n := 0; n < 3 && (p.sym(j) == '+' || p.sym(j) == '-' || p.sym(j) == '/'); n++ { // "815 +/- sq. ft."
			j++
		}
		if p.sym(j) == '.' { // "900. pi2"
			j++
		}
		if w := p.word(j); w == "gross" || w == "net" { // "1200 gross sqft"
			j++
		}
		end, metric := p.areaUnit(j)
		if end < 0 || p.words[j].line { // "$2,750", and "Sq Ft.: 718" below it
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
		if p.outside(start, end) {
			continue
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

// labelledArea reads "Sq Ft.: 718" and "Square footage: 950" at i, in square feet, or 0.
func (p *Prose) labelledArea(i int) (v float64, end int) {
	if p.num(i-1) != nil && !p.words[i].line {
		return 0, i
	}
	end, metric := p.areaUnit(i)
	if end < 0 && p.word(i) == "square" && p.word(i+1) == "footage" {
		end, metric = i+1, false
	}
	if end < 0 || metric {
		return 0, i
	}
	k := end + 1
	for p.sym(k) == '.' || p.sym(k) == ')' {
		k++
	}
	if v := p.valueBelow(i, end); v != nil && v.cents >= listing.MinAreaSqFt*100 && v.cents <= listing.MaxAreaSqFt*100 {
		return float64(v.cents) / 100, end + 1
	}
	t := p.num(k + 1)
	if p.sym(k) != ':' || t == nil || t.half || p.words[k+1].line || t.cents < listing.MinAreaSqFt*100 ||
		t.cents > listing.MaxAreaSqFt*100 {
		return 0, i
	}
	return math.Round(float64(t.cents) / 100), k + 1
}

// valueBelow is the number below the label in tokens i..end, each alone on its line: "SQFT" and "879", or nil.
func (p *Prose) valueBelow(i, end int) *token {
	t := p.num(end + 1)
	if t == nil || t.dec > 0 || t.half || !t.line || i > 0 && !p.words[i].line ||
		end+2 < len(p.words) && !p.words[end+2].line {
		return nil
	}
	return t
}

// The parts of a property that are not the home: before an area with "de" or a colon between, and after one in English.
var (
	outsideParts = set("terrasse terrasses terrace balcon balcons balcony patio deck cour yard backyard terrain lot land " +
		"salon lounge locker rangement cabanon garage jardin rooftop roof salle gym piscine exercice exercise property " +
		"jeux playground")
	outsideWords = set("de d of communes commune privee privees prive chacune cloture cloturee cloturees fenced environ " +
		"approximativement area than over approx size")
	outsideAfter = set("amenities commodites terrain land retail")
	outsideFirst = set("very private large huge lovely rooftop roof top outdoor covered sunny each storage beautiful")
)

// outside tells whether the area in tokens from..to is that of a terrace, a lot or a locker.
func (p *Prose) outside(from, to int) bool {
	for k, n := from-1, 0; k >= 0 && n < 6 && !p.words[k+1].line && p.sym(k) != ',' && p.sym(k) != '.'; k, n = k-1, n+1 {
		w := p.word(k)
		if n == 0 && !outsideWords[w] && p.sym(k) != ':' && p.sym(k) != '(' || kinds[w] != "" || p.about(k, anArea) {
			break
		}
		if outsideParts[w] && n > 0 {
			return true
		}
	}
	for k, n := to+1, 0; k < len(p.words) && n < 4 && !p.words[k].line; k, n = k+1, n+1 {
		w := p.word(k)
		if p.sym(k) == '.' && n == 0 {
			continue
		}
		if w == "terrace" || w == "balcony" || w == "patio" || w == "deck" || w == "lot" || w == "yard" || w == "backyard" ||
			w == "locker" || w == "garage" {
			return true
		}
		if n == 0 && (w == "of" || w == "de") && outsideAfter[p.word(k+1)] {
			return true
		}
		if !outsideFirst[w] {
			break
		}
	}
	return false
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
	if w == "sq" && p.sym(i+1) == '/' && p.word(i+2) == "ft" {
		return i + 2, false
	}
	switch w {
	case "pc", "sqft", "sqfeet", "sf", "pica", "sqf", "pca", "sqt":
		return i, false
	case "s": // "984 S.F."
		if p.sym(i+1) == '.' && p.word(i+2) == "f" {
			return i + 2, false
		}
	case "p", "pi", "pied", "pieds", "feet", "ft", "foot":
		t := p.num(i - 1)
		switch {
		// "(1200pi)": no length in a home is so long, but "300 pi du parc" is a way
		case w == "pi" && t != nil && !p.words[i].space && t.digits >= 3 && t.dec == 0 && p.word(next) == "" &&
			p.num(next) == nil:
			return i, false
		case w == "pieds" && t != nil && t.digits >= 3 && t.dec == 0 && p.word(i-2) == "de" && p.num(i-3) != nil &&
			p.words[i-3].half && p.word(next) != "de" && p.word(next) != "du": // "4 1/2 de 1000 pieds"
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
		if w == "sq" {
			if two(i+1) && !p.words[i+1].space {
				return i + 1, false
			}
			end := i+1 == len(p.words) || p.sym(i+1) == '.' && i+2 == len(p.words)
			if t := p.num(i - 1); t != nil && t.digits >= 3 && end {
				return i, false // cut off: "1000 Sq."
			}
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
