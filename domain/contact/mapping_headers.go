package contact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// The columns that ErrorsWriter adds. They are left out when its file is imported again.
const (
	columnLine    = "error_line"
	columnField   = "error_field"
	columnCode    = "error_code"
	columnMessage = "error_message"
)

var columnsOfErrors = []string{columnLine, columnField, columnCode, columnMessage}

// Ranks of telephone columns: a message goes to a mobile rather than to an office.
const (
	rankMobile = iota
	rankAny
	rankSecond
	rankHome
	rankWork
)

// rankGuessed is that of a column of languages whose header may as well be of languages that are spoken.
const rankGuessed = 1

// oneRole leaves the given and family names of one role: none where columns have a name and no role, else those of the
// column that a person gave, else of the first. Of two, "Billing First Name" and "Last Name", a row would be a person
// who is nobody, and beside a whole name the given one would be another's.
func oneRole(m Mapping) {
	kept, found := "", false
	for _, c := range m {
		if c.Field != FieldGiven && c.Field != FieldFamily && c.Field != FieldName {
			continue
		}
		role := roleOf(c.Header)
		if role == "" {
			kept = ""
			break
		}
		if !found || c.Why == "given" {
			kept, found = role, true
		}
	}
	for i, c := range m {
		if c.Rank == rankOfRole && (c.Field == FieldGiven || c.Field == FieldFamily) && roleOf(c.Header) != kept {
			m[i] = Column{Header: c.Header}
		}
	}
}

// roleOf is the first word of a header of the names of a role, else "".
func roleOf(header string) string {
	role, _, _ := strings.Cut(fold(parted(header)), " ")
	k, _, _ := byHeader(header, fold(header))
	if k.rank != rankOfRole || k.field != FieldGiven && k.field != FieldFamily {
		return ""
	}
	return role
}

// rankOfRole is that of a column of names that says as what the person is named so.
const rankOfRole = 1

type known struct {
	field string
	rank  int
}

// unspaced are headers of several words as programs write them, in one: MOBILEPHONE.
var unspaced = func() map[string]known {
	const shortest = 6
	m := map[string]known{}
	for name, k := range headers {
		if joined := strings.ReplaceAll(name, " ", ""); joined != name && len(joined) >= shortest {
			m[joined] = k
		}
	}
	return m
}()

// header is what a folded header means as a whole.
func header(folded string) (known, bool) {
	if k, ok := headers[folded]; ok {
		return k, true
	}
	if k, ok := unspaced[folded]; ok {
		return k, true
	}
	if k, ok := numbered(folded); ok {
		return k, true
	}
	return compound(folded)
}

// numbered is what a header means that is the name of a telephone or an address and a digit: "Courriel 2". Those after
// the first come after all others.
func numbered(folded string) (known, bool) {
	n := len(folded) - 1
	if n < 1 || !isDigit(folded[n]) || folded[n] == '0' {
		return known{}, false
	}
	name := strings.TrimSuffix(folded[:n], " ")
	k, ok := headers[name]
	if !ok {
		k, ok = compound(name)
	}
	if !ok || k.field != FieldPhone && k.field != FieldEmail || slices.Contains(vague, name) {
		return known{}, false
	}
	if folded[n] != '1' {
		k.rank = max(k.rank, rankSecond)
	}
	return k, true
}

// preset is an export whose columns are known. It counts where all of needs are there, and says more of some columns
// than their names do.
type preset struct {
	name   string
	needs  []string
	not    string // a column that makes it something else
	fields map[string]known
	parts  []string // columns with these words at their ends say of others what they are, so they are left out
}

// fold is a header as headers has it: lower case, without accents, one space for all that is no letter or digit.
func fold(header string) string {
	var b strings.Builder
	space := false
	for _, r := range norm.NFKD.String(header) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = false
			b.WriteRune(unicode.ToLower(r))
		default:
			space = true
		}
	}
	return b.String()
}

// knownHeader says that a cell is the name of a column.
func knownHeader(cell string) bool {
	if len(cell) > 100 {
		return false
	}
	_, ok := meaningOf(cell)
	return ok
}

// meaningOf is what a header means that is known as a whole, or whose parts in two languages are, or without its note.
func meaningOf(name string) (known, bool) {
	name = unnumbered(name)
	if k, ok := header(fold(name)); ok {
		return k, true
	}
	if k, ok := inLanguages(name); ok {
		return k, true
	}
	return withoutNote(name)
}

// unnumbered is a header without the number that forms put before their questions: "2. Phone number", "Q2) Phone".
func unnumbered(header string) string {
	rest := strings.TrimLeft(strings.TrimLeft(header, "Qq"), "0123456789")
	if n := len(header) - len(rest); n > 0 && n <= 3 && rest != "" && (rest[0] == '.' || rest[0] == ')') {
		return strings.TrimSpace(rest[1:])
	}
	return header
}

// inLanguages is what a header means that says the same in several languages: "Courriel / Email". "Nom" alone, which
// may be a whole name or a part of one, is what the other says.
func inLanguages(written string) (all known, ok bool) {
	parts := strings.FieldsFunc(written, func(r rune) bool { return strings.ContainsRune("/|"+lineEnds, r) })
	if len(parts) < 2 || len(parts) > 4 {
		return known{}, false
	}
	for _, part := range parts {
		folded := fold(part)
		k, found := header(folded)
		switch {
		case !found || ok && folded != "nom" && k.field != all.field:
			return known{}, false
		case folded != "nom" && !ok:
			all, ok = k, true
		}
	}
	return all, ok
}

// withoutNote is what a header means that has a note in brackets that changes nothing: "Phone (10 digits)". Any other
// note makes something else of the column, "Numéro (dossier)", and no note makes surer what may be anything.
func withoutNote(header string) (known, bool) {
	name, note := noteOf(header)
	folded := fold(name)
	k, ok := headers[folded]
	if !ok || k.field == FieldLocale || k.field == FieldPhone && slices.Contains(vague, folded) {
		return known{}, false
	}
	said := false
	for _, w := range strings.Fields(note) {
		if _, err := strconv.Atoi(w); err == nil {
			continue
		}
		said = true
		if k.field == FieldName && !slices.Contains(requiredWords, w) {
			return known{}, false
		}
		if !slices.Contains(noteWords, w) && (k.field != FieldPhone || !slices.Contains(phoneNoteWords, w)) {
			return known{}, false
		}
	}
	return k, said
}

// noteOf parts a header from what follows its first bracket, which is folded.
func noteOf(header string) (name, note string) {
	i := strings.IndexAny(header, "([（【")
	if i < 0 {
		return header, ""
	}
	return header[:i], fold(header[i:])
}

// parted puts spaces where a header has a capital within a word: "MobilePhone".
func parted(header string) string {
	var b strings.Builder
	before := ' '
	for _, r := range header {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = r
	}
	return b.String()
}

// cleanHeader is a header as it is shown: trimmed, on one line. Lines in several languages stay apart by strokes, for
// without them the header is not known.
func cleanHeader(s string) string {
	if strings.ContainsAny(s, lineEnds) {
		_, whole := header(fold(s))
		if _, each := inLanguages(s); each && !whole {
			s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(lineEnds, r) }), " / ")
		}
	}
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || invisible(r)
	}), " ")
}

// disowned says that notWords make a header none of words.
func disowned(header, folded string) bool {
	have := strings.Fields(folded)
	with := slices.ContainsFunc(withWords, func(w string) bool { return slices.Contains(have, w) })
	name, _ := noteOf(header)
	outside := strings.Fields(fold(name))
	return slices.ContainsFunc(notWords, func(w string) bool {
		if slices.Contains(codeWords, w) {
			return !with && slices.Contains(outside, w)
		}
		return holdsWord(folded, w)
	})
}

// byHeader is what a header says, with a confidence of 1 for a known name, .9 for one with a note, .8 for one that may
// as well be something else, .7 for words in it, 0 for nothing.
func byHeader(written, folded string) (known, float64, string) {
	for _, name := range []string{folded, fold(parted(written)), fold(unnumbered(written))} {
		if k, ok := header(name); ok {
			if slices.Contains(vague, name) {
				return k, .8, "known header, of other things too"
			}
			return k, 1, "known header"
		}
	}
	if k, ok := inLanguages(written); ok {
		return k, 1, "known header in each of its languages"
	}
	if k, ok := withoutNote(written); ok {
		return k, .9, "known header, but for the note"
	}
	if disowned(written, folded) {
		return known{}, 0, ""
	}
	for _, w := range words {
		if holdsWord(folded, w.words) {
			return w.known, .7, fmt.Sprintf("%q in the header", w.words)
		}
	}
	return known{}, 0, ""
}
