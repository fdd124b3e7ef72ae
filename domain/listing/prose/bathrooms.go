package prose

import "github.com/mtlrent/conveyor/domain/page"

// ParseBathrooms returns the bathrooms that s counts, in halves from 0.5 to 12: "2.5 salles de bain",
// "1,5 salle de bain", "1½ bath", "2 sdb", "salle de bain complète" (1). "Salle d'eau" counts half a bathroom when a
// bathroom is named as well. It is 0 when s counts none.
func ParseBathrooms(s string) float64 {
	c, ok := Read(page.Line(s)).bathrooms()
	if !ok {
		return 0
	}
	return c.value
}

func (p *Prose) bathrooms() (c count, ok bool) {
	powder := false
	for i := range p.words {
		if !p.about(i, aBathroom) {
			continue
		}
		start := i
		switch p.word(i) {
		case "bain", "bains": // "salle de bain", "salles de bains"
			if p.word(start-1) == "de" || p.word(start-1) == "des" {
				start--
			}
			if p.sym(start-1) == ')' && p.word(start-2) == "s" && p.sym(start-3) == '(' { // "Salle(s) de Bain"
				start -= 3
			}
			switch p.word(start - 1) {
			case "salle", "salles", "sale", "chambre", "chambres":
				start--
			default: // "bain tourbillon", "bain podium"
				continue
			}
		case "eau": // "salle d'eau" is a powder room
			if w := p.word(i - 2); w == "salle" || w == "salles" {
				powder = true
			}
			continue
		case "toilette", "toilettes", "douche":
			continue
		case "bath":
			if w := p.word(i + 1); w == "tub" || w == "tubs" {
				continue
			}
		case "ba", "sb":
			if i == 0 || p.words[i-1].kind != number {
				continue
			}
		}
		if n, end := p.labelled(i, aBathroom); n > 0 {
			return count{value: float64(n), from: start, to: end}, true
		}
		k := start - 1
		for n := 0; n < 3 && k >= 0 && (adjectives[p.word(k)] || p.sym(k) == '-' || p.sym(k) == '(' ||
			p.sym(k) == '+'); n++ {
			k--
		}
		found := count{value: 1, weak: true, from: start, to: i}
		if t := p.num(k); t != nil {
			v := float64(t.cents) / 100
			if (t.cents%50 == 0) && v >= .5 && v <= 12 && !p.cutNumber(k) {
				found = count{value: v, from: k, to: i}
			}
		} else if n := numberWords[p.word(k)]; n > 0 {
			found = count{value: float64(n), weak: n == 1, from: k, to: i}
		}
		if !ok || c.weak && !found.weak {
			c, ok = found, true
		}
	}
	if ok && powder && c.value == 1 {
		c.value = 1.5
	}
	return c, ok
}

// cutNumber tells whether the number at i is a piece of something longer: "2018-2", "#3", "$5".
func (p *Prose) cutNumber(i int) bool {
	if i <= 0 || p.words[i].space {
		return false
	}
	switch p.sym(i - 1) {
	case '#', '$':
		return true
	case '-', '/', '.':
		return p.num(i-2) != nil && !p.words[i-1].space
	}
	return false
}
