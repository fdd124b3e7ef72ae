package prose

import "strings"

// coldAir reads air conditioning in letters at i, "A/C", "AC", "CAC", and returns its first token. French writers cut
// "avec" to "ac", and rooms to "cac": "CAC fermée", "salon, CAC, cuisine".
func (p *Prose) coldAir(i int) (from int, ok bool) {
	switch p.word(i) {
	case "c":
		s, from := p.sym(i-1), i-2
		if p.word(from) != "a" || s != '/' && s != '.' || p.words[i].space != p.words[i-1].space ||
			s == '.' && p.words[i].space || p.sym(i-3) == '.' && !p.words[from].space {
			return 0, false
		}
		return from, p.hasAir(from, i)
	case "cac":
		if !p.itemBegins(i) || !p.listEnds(i+1) || ownRooms[p.word(i+2)] || ownRooms[p.word(i-2)] || ownRooms[p.word(i-3)] {
			return 0, false
		}
	case "ac":
		return i, p.hasAir(i, i) && (p.upper(i) || p.airItem(i))
	default:
		return 0, false
	}
	return i, p.hasAir(i, i) && p.upper(i)
}

func (p *Prose) hasAir(from, to int) bool {
	return !p.deniedThing(from) && !p.deniedAmong(from, to) && !p.deniedAfter(to) && !p.roughIn(from)
}

// roughIn tells whether the place for the thing at i is only prepared: "rough-in A/C", "roughed in for central air".
func (p *Prose) roughIn(i int) bool {
	for k := i - 1; k >= i-4 && !p.stop(k+1); k-- {
		switch p.word(k) {
		case "rough", "roughed":
			return true
		case "in", "for", "":
		default:
			return false
		}
	}
	return false
}

// upper tells whether the word at i is in capitals in a text that is not.
func (p *Prose) upper(i int) bool {
	from := int(p.at[p.words[i].start])
	return strings.HasPrefix(p.text[from:], strings.ToUpper(p.words[i].w)) && !p.allCapitals()
}

// allCapitals tells whether the text has no small letter: it is looked through once.
func (p *Prose) allCapitals() bool {
	if !p.heard {
		p.heard, p.loud = true, p.text == strings.ToUpper(p.text)
	}
	return p.loud
}

// airItem tells whether "ac" in small letters at i is an item of a list, and not "avec" cut short, which leads to
// another word: "has ac, dishwasher", "heat, ac and parking", "ac mural".
func (p *Prose) airItem(i int) bool {
	switch w := p.word(i + 1); {
	case w == "mural" || w == "unit" || w == "central" || w == "units":
		return true
	case p.sym(i+1) != ',' && p.sym(i+1) != '/' && p.sym(i+1) != '+' && w != "and" && !p.stop(i+1):
		return false
	}
	w := p.word(i - 1)
	return p.besideItems(i-1) || p.itemStart(i) || w == "has" || w == "central" || w == "including" || w == "includes"
}
