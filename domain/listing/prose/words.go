// Package prose reads rental adverts: what their words say about rent, rooms, pets and all else, and how that and the
// platform's own fields become one Listing. The words of each topic are data in tables where they can be. It does no
// I/O and reads no clock.
package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/page"
)

// Prose is a text taken apart once, so that every topic (rent, rooms, pets …) reads words instead of characters. It
// is made by Read and not changed afterwards; it is not safe for concurrent use, since amounts are found on demand.
type Prose struct {
	text  string // as given
	fold  string // lower-case ASCII
	at    []int32
	words []token

	money   []amount
	counted bool
}

type kind uint8

const (
	symbol kind = iota
	word
	number
)

// A token is a word, a number or a symbol. Numbers are split from letters that touch them: "SUPERFICIE4 1/2" is two.
type token struct {
	w     string // the folded word
	cents int64  // the value × 100
	start int32
	end   int32
	topic topic // the subjects that the word may be about

	kind   kind
	sym    byte // the symbol itself
	space  bool // white space comes before it
	line   bool // a line end comes before it
	digits int8 // of the whole part; 0 for "½" alone
	dec    int8 // digits after the separator
	half   bool // written "4 1/2" or "4 et demi": a room count, hardly ever anything else
}

// Read takes plain text apart. Pass the result of page.Text or page.Line.
func Read(plain string) *Prose {
	s, at := page.FoldAt(plain)
	p := &Prose{text: plain, fold: s, at: at}
	p.words = make([]token, 0, len(s)/4+8)
	var space, line bool
	line = true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\n':
			space, line = true, true
			i++
			continue
		case c == ' ':
			space = true
			i++
			continue
		case c == '\'':
			i++
			continue
		}
		t := token{start: int32(i), space: space, line: line}
		space, line = false, false
		switch {
		case isLetter(c):
			j := i + 1
			for j < len(s) && isLetter(s[j]) {
				j++
			}
			t.kind, t.w = word, s[i:j]
			t.topic = topics[t.w]
			if t.topic == 0 || j-i == 1 || j-i <= 4 && alsoShort[t.w] {
				if words, end := p.shortAt(i, j); len(words) > 0 {
					p.addWhole(t, words, end)
					i = end
					continue
				}
			}
			if t.topic == 0 && j-i >= 6 {
				if k := p.seam(i, j); k < j {
					j, line = k, true // words that a lost tag held apart were lines of their own
					t.w = s[i:j]
					t.topic = topics[t.w]
				} else {
					j = t.respell(s, i, j)
				}
			}
			i = j
		case isDigit(c):
			t.kind = number
			i = t.readNumber(s, i)
		case c == '.' && p.leader(i) > i: // "Chauffage.....locataire"
			t.sym, i = ':', p.leader(i)
		default:
			t.sym = c
			i++
			if w := p.mark(int(t.start)); w != "" { // "Hydro: ❌"
				t.kind, t.w, t.sym = word, w, 0
				t.topic = topics[w]
			}
		}
		t.end = int32(i)
		p.words = append(p.words, t)
	}
	return p
}

// leader returns the end of the points that lead from a label to its value at i, or i. Three points end a thought as
// well.
func (p *Prose) leader(i int) int {
	j := i
	for char(p.fold, j) == '.' {
		j++
	}
	next := char(p.fold, j)
	if j-i < 4 || !isLetter(char(p.fold, i-1)) || !isLetter(next) && !isDigit(next) && next != ' ' {
		return i
	}
	return j
}

// mark reads the sign at the byte i that answers a label, "Hydro: ❌", or forbids what follows, "🚫 pets": "" for none.
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
		if p.sym(len(p.words)-1) == ':' && p.valueEnds(i+1) {
			return "no"
		}
	}
	return ""
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

// addWhole adds the words that a short form at t stands for, which ends at the byte end. Each has all of its bytes.
func (p *Prose) addWhole(t token, words []string, end int) {
	t.end = int32(end) //nolint:gosec // an advert is short
	for _, w := range words {
		t.w, t.kind, t.sym, t.topic = w, word, 0, topics[w]
		if !isLetter(w[0]) {
			t.w, t.kind, t.sym = "", symbol, w[0]
		}
		p.words = append(p.words, t)
		t.space, t.line = false, false
	}
}

// seam returns where a new word begins inside the letters s[i:j], or j: "inclusBalcon", from a page whose tags were
// dropped without a space. Short beginnings are names ("McGill", "WiFi", "DuProprio").
func (p *Prose) seam(i, j int) int {
	for k := i + 4; k < j; k++ {
		at := int(p.at[k])
		if c := p.text[at]; c > 'Z' && c < utf8.RuneSelf { // most letters
			continue
		}
		r, size := utf8.DecodeRuneInString(p.text[at:])
		last, _ := utf8.DecodeLastRuneInString(p.text[:at])
		next, _ := utf8.DecodeRuneInString(p.text[at+size:])
		if unicode.IsUpper(r) && unicode.IsLower(last) && unicode.IsLower(next) {
			return k
		}
	}
	return j
}

// respell corrects a word that no reader knows, and returns where it ends: "stationnnement" becomes "stationnement",
// of "chauffageinclus" the first word is taken.
func (t *token) respell(s string, i, j int) int {
	w := t.w
	if right, ok := misspelt[w]; ok {
		t.w, t.topic = right, topics[right]
		return j
	}
	if right := slip(w); right != "" {
		t.w, t.topic = right, topics[right]
		return j
	}
	if len(w) < 10 {
		return j
	}
	if strings.HasPrefix(w, "stati") && (strings.HasSuffix(w, "ment") || strings.HasSuffix(w, "ments")) {
		t.w = "stationnement"
		t.topic = topics[t.w]
		return j
	}
	if k := strings.LastIndex(w, "inclu"); k >= 4 && topics[w[k:]] != 0 && topics[w[:k]] != 0 {
		t.w, t.topic = w[:k], topics[w[:k]]
		return i + k
	}
	return j
}

// slip returns the long word of the vocabulary of which w has the letters, with two neighbours changed over or a letter
// doubled or not ("écaliré", "bedrooom", "imediatement"), or "". Other slips are in misspelt: a rule for a missing letter
// would find words where there are none.
func slip(w string) string {
	var buf [24]byte
	n := undoubled(&buf, w)
	if n < 6 {
		return ""
	}
	if right, ok := spellings[string(buf[:n])]; ok {
		return right
	}
	if !sums[lettersSum(buf[:n])] { // most words: no other order of the letters is in the vocabulary
		return ""
	}
	for i := 1; i+1 < n; i++ {
		buf[i], buf[i+1] = buf[i+1], buf[i]
		if right, ok := spellings[string(buf[:n])]; ok && buf[i] != buf[i+1] {
			return right
		}
		buf[i], buf[i+1] = buf[i+1], buf[i]
	}
	return ""
}

// undoubled writes w with each run of a letter as one, and returns its length, 0 for a word too long.
func undoubled(buf *[24]byte, w string) (n int) {
	for i := range len(w) {
		if i > 0 && w[i] == w[i-1] {
			continue
		}
		if n == len(buf) {
			return 0
		}
		buf[n] = w[i]
		n++
	}
	return n
}

// lettersSum is the same for any order of the letters.
func lettersSum(letters []byte) (sum uint32) {
	for _, c := range letters {
		sum += uint32(c) * uint32(c) * uint32(c) * 2654435761
	}
	return sum
}

// sums are those of the letters of spellings.
var sums = func() map[uint32]bool {
	m := make(map[uint32]bool, len(spellings))
	for w := range spellings {
		m[lettersSum([]byte(w))] = true
	}
	return m
}()

// spellings are the long words of the vocabulary without doubled letters. Where two words
// are the same without them, the shorter one stands.
var spellings = func() map[string]string {
	m := map[string]string{}
	for w, t := range topics {
		if len(w) < 6 || t&^(inFrench|inEnglish|anAmenity|aCost) == 0 {
			continue
		}
		var buf [24]byte
		if n := undoubled(&buf, w); n >= 6 {
			key := string(buf[:n])
			if have := m[key]; have == "" || len(w) < len(have) || len(w) == len(have) && w < have {
				m[key] = w
			}
		}
	}
	return m
}()

// misspelt are slips that adverts repeat. A rule for all of them would find words where there are none.
var misspelt = map[string]string{
	"cessassion": "cession", "cessession": "cession", "jullet": "juillet", "juilet": "juillet", "julliet": "juillet",
	"juilliet": "juillet", "juillett": "juillet",
	"fevier": "fevrier", "ferier": "fevrier", "fervier": "fevrier", "setembre": "septembre",
	"septembe": "septembre", "novenbre": "novembre", "decenbre": "decembre", "maitenant": "maintenant",
	"mantenant": "maintenant", "imediatement": "immediatement", "immediatment": "immediatement",
	"immediatemment": "immediatement", "immediatly": "immediately", "imediately": "immediately",
	"immediatley": "immediately", "avaliable": "available", "availble": "available", "availabe": "available",
	"disponble": "disponible", "disponnible": "disponible", "disponibe": "disponible", "eletricite": "electricite",
	"electricitee": "electricite", "electicite": "electricite", "eclerage": "eclairage", "chaufage": "chauffage",
	"chauffages": "chauffage", "chaufe": "chauffe", "chaufee": "chauffee", "eclere": "eclaire",
	"inclued": "included", "inlcus": "inclus", "funished": "furnished", "furnised": "furnished",
	"stationnment": "stationnement", "immediatem": "immediatement",
	"apartement": "appartement", "bedrm": "bedroom", "bathrm": "bathroom", "bathrooom": "bathroom", "bedrom": "bedroom",
	"stuido": "studio", "baedroom": "bedroom", "electrcity": "electricity", "utilties": "utilities",
	"untilities": "utilities",
	"comprends":  "comprend", "comprent": "comprend", "comprant": "comprenant", "incluts": "inclut",
	"inclusent": "incluent",
	"inculded":  "included", "inluded": "included", "inclded": "included",
	"fermes": "fermees", "juille": "juillet", "janvie": "janvier", "septemb": "septembre", "octobr": "octobre",
	"novemb": "novembre", "decemb": "decembre", "immedia": "immediatement",
	"mainteant": "maintenant", "mainenant": "maintenant", "maintenat": "maintenant",
	"extrieur": "exterieur", "intrieur": "interieur", "scheuse": "secheuse", "immdiat": "immediat",
	"lectricit": "electricite", "laceuse": "laveuse", "lavesue": "laveuse", "uillet": "juillet",
	"includ": "included", "furnish": "furnished", "parkin": "parking", "gararge": "garage",
}

// readNumber reads the number at i: a room count in any of its spellings, a decimal with comma or point, thousands
// with comma or point ("1,250.50"). Thousands with a space are left to the reader of money.
func (t *token) readNumber(s string, i int) int {
	j := i
	var v int64
	for j < len(s) && isDigit(s[j]) {
		if v < 1e14 {
			v = v*10 + int64(s[j]-'0')
		}
		j++
	}
	t.digits = int8(min(j-i, 99))
	t.cents = v * 100
	if j-i <= 2 {
		if end, glued := halfEnd(s, i, j); end > 0 {
			if glued { // "41/2"
				t.cents = v / 10 * 100
			}
			t.cents += 50
			t.half, t.dec = true, 1
			return end
		}
	}
	if v == 1 && j-i == 1 {
		if k := halfTail(s, i); k > 0 { // "1/2" alone
			t.cents, t.digits, t.dec = 50, 0, 1
			return k
		}
	}
	grouped := false
	for j < len(s) && (s[j] == '.' || s[j] == ',' || s[j] == '\'') {
		k := j + 1
		if s[j] == '.' && k < len(s) && s[k] == '.' { // "750..00"
			k++
		}
		end := k
		for end < len(s) && isDigit(s[end]) {
			end++
		}
		switch n := end - k; {
		case n == 3 && k == j+1 && (t.digits <= 3 || grouped) && v != 0 && v < 1e11:
			v = v*1000 + int64(s[k]-'0')*100 + int64(s[k+1]-'0')*10 + int64(s[k+2]-'0')
			t.cents, t.digits, grouped = v*100, t.digits+3, true
			j = end
			continue
		case s[j] == '\'': // "1'200" is thousands, "13'6" feet and inches
			return j
		case n == 1 || n == 2:
			if end+1 < len(s) && (s[end] == '.' || s[end] == ',') && isDigit(s[end+1]) {
				return j // "01.02.2018"
			}
			t.dec = int8(n)
			t.cents += int64(s[k]-'0') * 10
			if n == 2 {
				t.cents += int64(s[k+1] - '0')
			}
			j = end
		}
		return j
	}
	return j
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func slash(c byte) bool { return c == '/' || c == '\\' }

// char is s[i], or 0 outside.
func char(s string, i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

// skip passes spaces, at most three.
func skip(s string, i int) int {
	for n := 0; n < 3 && char(s, i) == ' '; n++ {
		i++
	}
	return i
}

// halfTail returns the end of "1/2", "1\2" or "1 / 2" at i, or 0. A date ("1/2/2018") is not one.
func halfTail(s string, i int) int {
	if c := char(s, i); c != '1' && c != 'l' {
		return 0
	}
	j := skip(s, i+1)
	if !slash(char(s, j)) {
		return 0
	}
	j = skip(s, j+1)
	if char(s, j) != '2' || isDigit(char(s, j+1)) || slash(char(s, j+1)) && isDigit(char(s, j+2)) {
		return 0
	}
	return j + 1
}

// halfEnd returns the end of the room count whose whole part is s[i:j], or 0. Glued is "41/2".
func halfEnd(s string, i, j int) (end int, glued bool) {
	if s[i] == '0' || isDigit(char(s, i-2)) && (slash(char(s, i-1)) || char(s, i-1) == ',' || char(s, i-1) == '.') {
		return 0, false
	}
	if j-i == 2 && s[j-1] == '1' {
		if end := halfTail(s, j-1); end > 0 {
			return end, true
		}
	}
	k := skip(s, j)
	if end := halfTail(s, k); end > 0 {
		return end, false
	}
	switch c := char(s, k); {
	case c == '-' || c == '&' || c == '+' || c == '.' || c == ',' && k == j && char(s, k+1) != ' ':
		if end := halfTail(s, skip(s, k+1)); end > 0 {
			return end, false
		}
		k = skip(s, k+1)
	}
	for _, and := range [...]string{"et", "and"} {
		if !strings.HasPrefix(s[k:], and) || isLetter(char(s, k+len(and))) && and == "and" {
			continue
		}
		n := k + len(and)
		for c := char(s, n); c == ' ' || c == '-'; c = char(s, n) {
			n++
		}
		if end := halfTail(s, n); end > 0 {
			return end, false
		}
		if strings.HasPrefix(s[n:], "a half") {
			return n + len("a half"), false
		}
		k = n
		break
	}
	return halfWord(s, k), false
}

// halfWord returns the end of "demi" at k, or 0. In "4 demi sous-sol" the half belongs to the basement.
func halfWord(s string, k int) int {
	if !strings.HasPrefix(s[k:], "demi") {
		return 0
	}
	k += len("demi")
	if char(s, k) == 'e' || char(s, k) == 's' {
		k++
	}
	if isLetter(char(s, k)) {
		return 0
	}
	n := k
	for c := char(s, n); c == ' ' || c == '-'; c = char(s, n) {
		n++
	}
	if strings.HasPrefix(s[n:], "sous") || strings.HasPrefix(s[n:], "ss") || strings.HasPrefix(s[n:], "s.-sol") ||
		strings.HasPrefix(s[n:], "s-sol") || strings.HasPrefix(s[n:], "s.sol") || strings.HasPrefix(s[n:], "s/sol") {
		return 0
	}
	return k
}

// word returns the i-th token's word, and "" outside or for anything else.
func (p *Prose) word(i int) string {
	if i < 0 || i >= len(p.words) {
		return ""
	}
	return p.words[i].w
}

// sym returns the i-th token's symbol, or 0.
func (p *Prose) sym(i int) byte {
	if i < 0 || i >= len(p.words) {
		return 0
	}
	return p.words[i].sym
}

// num returns the i-th token when it is a number, or nil.
func (p *Prose) num(i int) *token {
	if i < 0 || i >= len(p.words) || p.words[i].kind != number {
		return nil
	}
	return &p.words[i]
}

// about tells whether the i-th word may be about any of the topics.
func (p *Prose) about(i int, t topic) bool {
	return i >= 0 && i < len(p.words) && p.words[i].topic&t != 0
}

// seq tells whether the words from i are these; "" stands for any one token.
func (p *Prose) seq(i int, words ...string) bool {
	if i < 0 || i+len(words) > len(p.words) {
		return false
	}
	for k, w := range words {
		if w != "" && p.words[i+k].w != w {
			return false
		}
	}
	return true
}

// stop tells whether a thought ends before the i-th token: a line end, or one of ". ; ! ?" there.
func (p *Prose) stop(i int) bool {
	if i <= 0 || i >= len(p.words) {
		return true
	}
	t := &p.words[i]
	if t.line {
		return true
	}
	switch t.sym {
	case ';', '!', '?':
		return true
	case '.':
		return !abbreviated[p.word(i-1)] && (i+1 >= len(p.words) || p.words[i+1].space || p.words[i+1].line)
	}
	return false
}

// abbreviated words end in a point that ends no thought.
var abbreviated = set("stat int ext env approx app apt appt")

// quote returns the words from token i to token j as the advert has them, without contact data.
func (p *Prose) quote(i, j int) string {
	i, j = max(i, 0), min(j, len(p.words)-1)
	if i > j {
		return ""
	}
	from, to := int(p.at[p.words[i].start]), len(p.text)
	if end := int(p.words[j].end); end < len(p.at) {
		to = int(p.at[end])
	}
	for end := int(p.words[j].end); to <= from && end < len(p.at); end++ { // inside one rune that folds to several
		to = int(p.at[end])
	}
	if to <= from {
		to = len(p.text)
	}
	return quoted(p.text[from:to])
}

// quoted prepares words for Source.Text.
func quoted(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' || c >= utf8.RuneSelf && !utf8.ValidString(s) {
			s, _ = page.Clean(s, false)
			break
		}
	}
	s, _ = page.Cut(strings.TrimSpace(s), 200)
	s = page.Mask(s)
	s, _ = page.Cut(s, 120)
	return s
}

// set is a table of words that share one meaning.
func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// meanings is a table of words, folded, by what they mean; the zero value means none of it. A word has one meaning: it
// panics at start otherwise.
func meanings[T comparable](words map[T]string) map[string]T {
	m := map[string]T{}
	for meaning, list := range words {
		for w := range strings.FieldsSeq(list) {
			if was, ok := m[w]; ok && was != meaning {
				panic("two meanings of " + w)
			}
			m[w] = meaning
		}
	}
	return m
}

var numberWords = map[string]int{
	"un": 1, "une": 1, "one": 1, "deux": 2, "two": 2, "trois": 3, "three": 3, "quatre": 4, "four": 4,
	"cinq": 5, "five": 5, "six": 6, "sept": 7, "seven": 7,
}
