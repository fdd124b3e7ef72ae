package prose

import (
	"strings"
	"unicode/utf8"
)

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

// mark reads the sign at the byte i that answers a label, "Hydro: ❌", or forbids what follows, "🚫 pets": "" for none.
func (p *Prose) mark(i int) string {
	if strings.HasPrefix(p.text[p.at[i]:], "🚫") {
		return "no"
	}
	if says := p.checkmark(i); says != "" && p.sym(len(p.words)-1) == ':' && p.valueEnds(i+1) {
		return says
	}
	return ""
}

// markAfter reads the sign at the byte i that answers the word right before it, on a line whose signs stand behind
// their items: "Heat ✔ Hot water ✔ Hydro ❌". It returns the words that it stands for.
func (p *Prose) markAfter(i int) []string {
	says := p.checkmark(i)
	if says == "" || len(p.words) == 0 || p.words[len(p.words)-1].kind != word || !p.marksTrail(i) {
		return nil
	}
	return []string{":", says, ";"}
}

// pictured returns the words that the sign or picture at the byte i stands for, nil for most.
func (p *Prose) pictured(i int) []string {
	if words := p.markAfter(i); words != nil {
		return words
	}
	return p.picture(i)
}

// pictures stand for a label before an answer, or before a figure that is all else: "🐱 oui 🐶 non", "🛏 2 🛁 1".
var pictures = map[rune]string{'🐱': "chats", '🐈': "chats", '🐶': "chiens", '🐕': "chiens", '🐩': "chiens", '🐾': "animaux",
	'🛏': "chambres", '🛁': "sdb", '🚿': "sdb", '🚗': "stationnement", '🅿': "stationnement"}

// picture reads the picture at the byte i as a label and returns the words that it stands for.
func (p *Prose) picture(i int) []string {
	from := int(p.at[i])
	if p.text[from] < utf8.RuneSelf {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(p.text[from:])
	name := pictures[r]
	if last := len(p.words) - 1; name != "" && last >= 0 && p.words[last].w == "no" && int(p.words[last].end) == i {
		return []string{name, ";"} // "🚫🐶"
	}
	if r == '🚭' {
		return []string{";", "no", "smoking", ";"}
	}
	if name == "" {
		return nil
	}
	s := p.fold
	k := skip(s, i+1)
	colon := char(s, k) == ':'
	if colon {
		k = skip(s, k+1)
	}
	n := k
	for n < len(s) && isLetter(s[n]) {
		n++
	}
	figure := false
	if next := char(s, skip(s, k+1)); isDigit(char(s, k)) {
		figure = next == 0 || next == ';' || next == '|' || next == ',' || next == '\n'
	}
	if w := s[k:n]; !figure && answers[w] == 0 && w != "ok" && p.checkmark(min(k, len(s)-1)) == "" {
		return nil
	}
	if colon {
		return []string{";", name}
	}
	return []string{";", name, ":"}
}

// checkmarks are the signs that stand for an answer.
var checkmarks = map[rune]string{'✅': "yes", '✔': "yes", '✓': "yes", '☑': "yes", '❌': "no", '✖': "no", '✗': "no",
	'✘': "no"}

// checkmark is what the sign at the byte i says where it is one, "yes" or "no".
func (p *Prose) checkmark(i int) string {
	from := int(p.at[i])
	if p.text[from] < utf8.RuneSelf {
		return ""
	}
	r, _ := utf8.DecodeRuneInString(p.text[from:])
	return checkmarks[r]
}

// crossed tells whether the sign at the byte i denies the item that it stands before: "❌ Animaux", "❌ A/C". Before a
// denial, "❌ No pets", and before what a home cannot lack it is a bullet.
func (p *Prose) crossed(i int) bool {
	if p.checkmark(i) != "no" || p.marksTrail(i) {
		return false
	}
	s := p.fold
	k := skip(s, i+1)
	n := k
	for n < len(s) && isLetter(s[n]) {
		n++
	}
	w := s[k:n]
	return topics[w]&(aPet|aSmoke|aParking|anAmenity) != 0 || thingNames[w] != noUtility || w == "ac" || w == "wi" ||
		w == "hot" || strings.HasPrefix(s[k:], "a/c")
}

// marksTrail tells whether the signs of the line of the byte i stand behind their items, "Heat ✅ Hydro ❌": the line
// ends with one, and does not begin with one. A line is looked at once.
func (p *Prose) marksTrail(i int) bool {
	if m := &p.marked; i < m.from || i >= m.to {
		m.from, m.to = strings.LastIndexByte(p.fold[:i], '\n')+1, len(p.fold)
		if n := strings.IndexByte(p.fold[i:], '\n'); n >= 0 {
			m.to = i + n
		}
		line := p.fold[m.from:m.to]
		first, last := len(line)-len(strings.TrimLeft(line, " ")), len(strings.TrimRight(line, " "))-1
		m.trail = p.checkmark(m.from+last) != "" && p.checkmark(m.from+first) == ""
	}
	return p.marked.trail
}

// checked calls f for each utility of the items that a check mark or a cross stands before and that name nothing else:
// "✅ Heat & hot water", "❌ Hydro". "✅ Chauffage électrique" says what heats the home, and a television is furniture.
func (p *Prose) checked(f func(what utility, yes bool, from, to int)) {
	for i := range p.words {
		if p.words[i].kind != symbol {
			continue
		}
		said := p.checkmark(int(p.words[i].start))
		k := i + 1
		if said == "no" && p.word(k) == "no" {
			k++
		}
		if said == "" || p.stop(k) || !p.onlyThings(k) || p.marksTrail(int(p.words[i].start)) {
			continue
		}
		for ; !p.stop(k); k++ {
			what, last := p.thing(k)
			if w := p.word(last); (what < parkingPlace || what == collective) && what != noUtility && w != "electrique" &&
				w != "tv" && w != "television" && w != "tele" {
				f(what, said == "yes", i, last)
			}
			k = last
		}
	}
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
