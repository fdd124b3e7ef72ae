package prose

import "strings"

// sizes tell bedrooms apart.
var sizes = set("grande grandes petite petites moyenne moyennes large big small spacious spacieuse spacieuses")

// moreBedrooms reads the rest of a count in two parts, "2 grandes chambres et 1 moyenne": nothing may follow the size,
// or it is the size of something else. After a comma or "+" it is a part only if the first has a size, too, before its
// noun or behind: "2 chambres, 1 grande, 1 petite" are two.
func (p *Prose) moreBedrooms(i int, sized bool) (n, end int) {
	if end := p.oneMoreBedroom(i); end > i {
		return 1, end
	}
	for k := i; k < len(p.words) && k < i+4 && !p.words[k].line; k++ {
		switch w := p.word(k); {
		case w == "et" || w == "and" || p.sym(k) == ',' || p.sym(k) == '+':
			if k+2 >= len(p.words) || p.words[k].kind == symbol && !sized {
				return 0, 0
			}
			if w := p.word(k + 2); p.word(k+1) == "une" && (w == "troisieme" || w == "quatrieme" || w == "deuxieme") &&
				p.words[k].kind == word && !p.about(k+3, aBathroom|aPiece) { // "2 grandes chambres et une troisième plus petite"
				return 1, k + 2
			}
			if w := p.word(k + 2); p.word(k+1) == "a" && (w == "small" || w == "smaller") && p.word(k+3) == "one" &&
				p.listEnds(k+4) { // "two big bedrooms and a smaller one"
				return 1, k + 3
			}
			n, _ := p.small(k + 1)
			switch p.word(k + 2) {
			case "moyenne", "moyennes", "petite", "petites", "grande", "grandes", "autre", "plus", "small", "smaller", "medium":
			default:
				return 0, 0
			}
			end := k + 2
			if w := p.word(end + 1); p.word(end) == "plus" && sizes[w] || w == "ones" || w == "one" {
				end++ // "two smaller ones"
			}
			if n > 0 && (end+1 >= len(p.words) || p.words[end+1].line || p.words[end+1].kind == symbol && p.sym(end+1) != '-') {
				return n, end
			}
			return 0, 0
		case adjectives[w], w == "moyenne", w == "moyennes", w == "a", w == "coucher", w == "plutot":
			sized = sized || sizes[w]
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// oneMoreBedroom returns the last token of one bedroom more that the count before i goes on to, the noun left out,
// "plus a smaller third one", "and a third smaller one", or i. "And a third that can be an office" is another room.
func (p *Prose) oneMoreBedroom(i int) int {
	if w := p.word(i); w != "and" && w != "plus" && p.sym(i) != '+' && p.sym(i) != '&' || p.word(i+1) != "a" {
		return i
	}
	third, size := false, false
	k := i + 2
	for ; k <= i+3; k++ {
		switch p.word(k) {
		case "third", "fourth", "second":
			third = true
		case "small", "smaller", "large", "larger", "big", "bigger":
			size = true
		}
	}
	if third && size && p.word(k) == "one" && p.listEnds(k+1) {
		return k
	}
	return i
}

// mainBefore returns where the main bedroom begins that "et", "and" or "+" joins to the count at i, or -1.
func (p *Prose) mainBefore(i int) int {
	k := i - 1
	if w := p.word(k); w != "et" && w != "and" && w != "plus" && p.sym(k) != '+' && p.sym(k) != '&' || p.stop(i) {
		return -1
	}
	k--
	switch w := p.word(k); {
	case w == "maitres" || w == "maitre":
		if k -= 2; p.about(k, aBedroom) {
			return k
		}
	case w == "principale":
		for k--; p.word(k) == "coucher" || p.word(k) == "a"; k-- {
		}
		if p.about(k, aBedroom) && p.num(k-1) == nil {
			return k
		}
	case w == "master", w == "primary":
		return k
	case p.about(k, aBedroom) || w == "suite":
		if w := p.word(k - 1); (w == "master" || w == "primary" || w == "main" || w == "principal") && p.num(k-2) == nil {
			return k - 1
		}
	}
	return -1
}

// mainEarlier tells whether the sentence up to the count at i has named the main bedroom.
func (p *Prose) mainEarlier(i int) bool {
	for k := i - 1; k >= 0 && k >= i-16 && !p.stop(k+1); k-- {
		switch p.word(k) {
		case "maitres", "maitre", "principale", "principal", "master", "primary":
			return p.about(k+1, aBedroom|aBathroom) == p.about(k+1, aBedroom)
		}
	}
	return false
}

// nthOne reads the bedroom that ends a count by its ordinal, the noun left out or not, in the sentence from i on: "et
// une quatrième au sous-sol", "plus a third one downstairs". It returns its ordinal and its last token.
func (p *Prose) nthOne(i int) (nth, end int) {
	for k := i; k < len(p.words) && k < i+16 && !p.stop(k); k++ {
		if w := p.word(k); w != "une" && w != "a" && w != "la" && w != "the" || ordinals[p.word(k+1)] == "" {
			continue
		}
		next := k + 2
		if p.word(next) == "one" || p.about(next, aBedroom) && !p.about(next, aBathroom) || p.floorAt(next) > next {
			return int(ordinals[p.word(k+1)][0] - '0'), k + 1
		}
	}
	return 0, i
}

// othersBeside counts the bedrooms that are joined to the main one at i, the noun left out: "a master bedroom and two
// others", "une chambre des maîtres et deux autres".
func (p *Prose) othersBeside(i int) (n, end int) {
	k := i + 1
	if p.seq(k, "des", "maitres") {
		k += 2
	} else if p.word(k) == "principale" {
		k++
	}
	if w := p.word(k); w != "and" && w != "et" && w != "plus" && p.sym(k) != '+' && p.sym(k) != '&' || k+2 >= len(p.words) {
		return 0, i
	}
	if n, _ = p.small(k + 1); n < 1 {
		return 0, i
	}
	w, end := p.word(k+2), k+3
	if p.word(end) == "s" { // "two children's rooms"
		end++
	}
	switch next := p.word(end); {
	case n > 1 && (w == "others" || w == "autres") && p.listEnds(k+3):
		return n, k + 2
	case apartRooms[w] && (next == "rooms" || n == 1 && next == "room"): // "and two kids' rooms"
		return n, end
	}
	return 0, i
}

// bedroomKinds follow the noun of a bedroom that is counted by itself.
var bedroomKinds = set("double doubles simple simples fermee fermees secondaire secondaires")

// ownKinds after the first bedrooms tell them from those after a comma: "1 ch. double, 1 ch. simple".
var ownKinds = set("double doubles simple simples principale maitres maitre")

// bedroomsApart reads the bedrooms that a text counts after the first ones: "2 chambres au premier et 1 au sous-sol",
// "une grande chambre et une petite chambre", "3 bdrms up, 2 down".
func (p *Prose) bedroomsApart(i int) (n, end int) {
	if p.sym(i) == '.' && i+1 < len(p.words) && !p.words[i+1].line && !p.capital(i+1) { // "2 ch. en haut"
		i++
	}
	floor, kind := false, false // of the first ones
	for k := i; k < len(p.words) && k < i+9 && !p.stop(k); k++ {
		w := p.word(k)
		joint := w == "et" || w == "and" || w == "plus" || p.sym(k) == ',' || p.sym(k) == '+'
		if !joint || k+2 >= len(p.words) {
			v, article := p.small(k) // "3 chambres dont deux en haut"
			if p.about(k, aBathroom|aPiece) || p.words[k].kind == number || v > 0 && !article {
				return n, end
			}
			floor = floor || p.floorAt(k) > k
			kind = kind || ownKinds[w]
			continue
		}
		if p.sym(k) == ',' && (p.word(k+1) == "et" || p.word(k+1) == "and" || p.word(k+1) == "plus") {
			k++
		}
		if e := p.floorAt(k + 1); e > k+1 { // "and downstairs has 2"
			if w := p.word(e); w == "has" || w == "a" || w == "have" || p.sym(e) == ':' {
				if e+1 >= len(p.words) {
					return n, end
				}
				noun := e + 2
				for m := 0; m < 3 && adjectives[p.word(noun)]; m++ {
					noun++
				}
				ends := p.about(noun, aBedroom) && !p.about(noun, aBathroom) || p.stop(e+2) || p.sym(e+2) == ','
				if more, article := p.small(e + 1); more > 0 && !article && ends {
					return n + more, e + 1
				}
			}
			return n, end
		}
		more, article := p.small(k + 1)
		if more < 1 {
			return n, end
		}
		if w := p.word(k + 2); w == "more" && (p.floorAt(k+3) > k+3 || p.about(k+3, aBedroom)) { // ", two more upstairs"
			return n + more, k + 3
		}
		j := k + 2
		for m := 0; m < 3 && (adjectives[p.word(j)] || otherRooms[p.word(j)]); m++ {
			j++
		}
		noun := p.about(j, aBedroom) && !p.about(j, aBathroom)
		after := j + 1
		if noun && p.sym(after) == '.' {
			after++
		}
		switch {
		case j > k+2 && noun && k < i+5 && more <= 2: // "et une petite chambre"
			n, end, i = n+more, j, j
			k = j
		case p.sym(k) == ',' && !floor && !(kind && noun && bedroomKinds[p.word(after)]):
			return n, end // "3 chambres, 1 au sous-sol" is one of the three
		case noun && j == k+2 && p.unitAt(j): // "3 bedroom main floor and 2 bedroom basement" are two homes
			return n, end
		case noun && j == k+2 && k < i+6 && (bedroomKinds[p.word(after)] || p.floorAt(after) > after):
			return n + more, after
		case article && !(floor && p.floorAt(k+2) > k+2): // "3 chambres en haut et une en bas"
			return n, end
		case p.word(k+2) == "au", p.seq(k+2, "in", "the"), p.seq(k+2, "on", "the"), p.floorAt(k+2) > k+2:
			return n + more, k + 2
		default:
			return n, end
		}
	}
	return n, end
}

// otherRooms lead to bedrooms beside the first ones: "et 2 autres ch.".
var otherRooms = set("autre autres other small smaller")

// unitAt tells whether the noun at i is of a home on a floor, "2 bedroom basement", and not of bedrooms there.
func (p *Prose) unitAt(i int) bool {
	w := p.word(i)
	if strings.HasSuffix(w, "s") || strings.HasPrefix(w, "ch") {
		return false
	}
	switch p.word(i + 1) {
	case "basement", "soussol", "main", "upper", "lower", "finished":
		return true
	}
	return false
}

// floorLeads tells whether a floor and a colon lead to the count at i: "À l'étage : 3 chambres".
func (p *Prose) floorLeads(i int) bool {
	if p.sym(i-1) != ':' {
		return false
	}
	for k := i - 2; k >= i-5 && k >= 0; k-- {
		if e := p.floorAt(k); e == i-1 && e > k {
			return true
		}
	}
	return p.word(i-2) == "etage" || p.word(i-2) == "floor"
}

// bedroomsByFloor adds up the counts after token i that a floor and a colon lead to.
func (p *Prose) bedroomsByFloor(i int) (n, end int) {
	for k := i; k < len(p.words) && k < i+30; k++ {
		if p.sym(k) != ':' || !p.floorLeads(k+1) || k+2 >= len(p.words) {
			continue
		}
		if more, article := p.small(k + 1); more > 0 && !article && p.about(k+2, aBedroom) && !p.about(k+2, aBathroom) {
			n, end = n+more, k+2
		}
	}
	return n, end
}

// floorAt returns the token after "en haut", "au sous-sol", "upstairs", "on main", "in the basement" or "s.-sol" at i:
// a place in the home. Where there is none it is i.
func (p *Prose) floorAt(i int) int {
	k := i
	switch w := p.word(k); {
	case w == "upstairs", w == "downstairs", w == "up", w == "down":
		return k + 1
	case w == "en" && (p.word(k+1) == "haut" || p.word(k+1) == "bas"):
		return k + 2
	case w == "a" && p.seq(k+1, "l", "etage"):
		return k + 3
	case w == "au" || w == "on" || w == "in" || w == "dans":
		if k++; p.word(k) == "the" || p.word(k) == "le" {
			k++
		}
	}
	if p.word(k) == "finished" {
		k++
	}
	switch p.word(k) {
	case "main", "upper", "lower":
		if w := p.word(k + 1); w == "floor" || w == "level" {
			return k + 2
		}
		if k > i {
			return k + 1
		}
	case "soussol", "sousol", "basement", "rdc", "premier", "deuxieme":
		return k + 1
	case "sous", "rez":
		for n := 0; n < 4 && (p.sym(k+1) == '-' || p.word(k+1) == "sol" || p.word(k+1) == "de" ||
			p.word(k+1) == "chaussee"); n++ {
			k++
		}
		return k + 1
	}
	return i
}

// bedroomsElsewhere tells whether the floor in tokens from..to is where some bedrooms are, and others are counted on
// another: "two bedrooms on the main floor and two in the basement".
func (p *Prose) bedroomsElsewhere(from, to int) bool {
	beds := false
	for k := from - 1; k >= 0 && k >= from-9 && !p.stop(k+1); k-- {
		beds = beds || p.about(k, aBedroom)
	}
	for k := to + 1; beds && k <= to+6 && !p.stop(k); k++ {
		if p.listJoint(k) && p.bedroomsOnFloor(k+1) {
			return true
		}
	}
	for k := from - 1; k >= 0 && k >= from-6 && !p.stop(k+1); k-- { // "two" of "and two in the basement"
		if p.listJoint(k) && p.bedroomsOnFloor(k+1) {
			return p.floorBefore(k)
		}
	}
	return false
}

// bedroomsOnFloor tells whether a count and a floor follow at i, with a noun for bedrooms or none: "two in the
// basement", "une autre au 2e étage".
func (p *Prose) bedroomsOnFloor(i int) bool {
	if p.listJoint(i) { // ", and two"
		i++
	}
	if i >= len(p.words) {
		return false
	}
	if n, _ := p.small(i); n < 1 && p.word(i) != "another" {
		return false
	}
	i++
	for adjectives[p.word(i)] || otherRooms[p.word(i)] || p.word(i) == "more" || p.about(i, aBedroom) && !p.unitAt(i) {
		i++
	}
	if p.seq(i, "a", "coucher") {
		i += 2
	}
	switch p.word(i) {
	case "in", "on", "au", "dans", "a", "sur":
		for k := i + 1; k <= i+4; k++ {
			if p.floorAt(k) > k || floorNouns[p.word(k)] || ordinals[p.word(k)] != "" {
				return true
			}
		}
	}
	return p.floorAt(i) > i
}

// floorBefore tells whether the sentence up to i has bedrooms on a floor.
func (p *Prose) floorBefore(i int) bool {
	floor := false
	for k := i - 1; k >= 0 && k >= i-10 && !p.stop(k+1); k-- {
		if floor = floor || floorNouns[p.word(k)] || p.floorAt(k) > k; floor && p.about(k, aBedroom) {
			return true
		}
	}
	return false
}
