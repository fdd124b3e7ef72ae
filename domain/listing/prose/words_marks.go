package prose

import "unicode/utf8"

// leader returns the end of the points that lead from a label to its value at i, or i. Three points end a thought as
// well.
func (p *Prose) leader(i int) int {
	if !isLetter(char(p.fold, i-1)) { // looked at once a run of points
		return i
	}
	j := i
	for char(p.fold, j) == '.' {
		j++
	}
	next := char(p.fold, j)
	if j-i < 4 || !isLetter(next) && !isDigit(next) && next != ' ' {
		return i
	}
	return j
}

// mark reads the sign at the byte i that answers a label, "Hydro: ❌", or forbids what follows, "🚫 pets", "❌ Dogs": "" for none.
func (p *Prose) mark(i int) string {
	from := int(p.at[i])
	if p.text[from] < utf8.RuneSelf {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(p.text[from:])
	switch r {
	case '🚫':
		return "no"
	case '✅', '✔', '✓', '☑':
		if p.sym(len(p.words)-1) == ':' && p.valueEnds(i+1) {
			return "yes"
		}
	case '❌', '✖', '✗', '✘':
		if p.sym(len(p.words)-1) == ':' && p.valueEnds(i+1) || p.crossed(i) {
			return "no"
		}
	}
	return ""
}

// crossed tells whether the cross at the byte i forbids the few words of its item of a list: "❌ Pets", but not "❌ No
// pets" and "❌ Chauffage non inclus", which say so themselves.
func (p *Prose) crossed(i int) bool {
	s, before := p.fold, i-1
	for char(s, before) == ' ' {
		before--
	}
	if before >= 0 && s[before] != '\n' && s[before] != ';' {
		return false
	}
	words := 0
	for k := i + 1; k < len(s); {
		j := k
		for isLetter(char(s, j)) {
			j++
		}
		switch c := s[k]; {
		case j > k:
			if words++; words > 3 || denials[s[k:j]] || topics[s[k:j]]&(aNegation|anInclusion) != 0 {
				return false
			}
			k = j
		case c == ' ' || c == '\'' || c == '-' || c == '/':
			k++
		default:
			return words > 0 && (c == '\n' || c == ';' || c == ',' || c == '.')
		}
	}
	return words > 0
}

// valueEnds tells whether nothing but the next label, or the end of the item, follows a value that ends at the byte i:
// "Heat: ✓ Water: ✗", but not the bullets of "Included: ✓ heat ✓ water".
func (p *Prose) valueEnds(i int) bool {
	s := p.fold
	for char(s, i) == ' ' {
		i++
	}
	if c := char(s, i); !isLetter(c) {
		return c != ';' || i+1 >= len(s)
	}
	for n := i; n < len(s) && n < i+30; n++ {
		switch c := s[n]; {
		case c == ':':
			return true
		case !isLetter(c) && c != ' ' && c != '-' && c != '/':
			return false
		}
	}
	return false
}
