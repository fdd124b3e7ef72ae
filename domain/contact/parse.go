package contact

import (
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Parse reads a chunk and calls each for its rows, in order. The text is the bytes of the chunk and nothing else. A
// row is kept by each as it likes. An error of each, or of the reader, ends it; so does a text that has other rows than
// the chunk says, for then it is another text: fault.Invalid.
func (p Plan) Parse(text io.Reader, c Chunk, each func(Row) error) error {
	n := 0
	r := newRecords(text, p.Format.dialect(), Position{Offset: c.Offset, Line: c.FirstLine})
	err := p.parse(r, c.FirstRow, func(row Row) error {
		n++
		return each(row)
	})
	if err == nil && n != c.Rows {
		return fault.Newf(fault.Invalid, "chunk %d at byte %d has %d rows, and had %d when the file was split; upload it again",
			c.N, c.Offset, n, c.Rows)
	}
	return err
}

// parse reads the rows from r on, the first of which is the record of that number.
func (p Plan) parse(r *records, row int64, each func(Row) error) error {
	ps := newParser(p)
	for {
		rec, ok := p.next(r)
		if !ok {
			return r.err
		}
		if err := each(ps.row(rec, row)); err != nil {
			return err
		}
		row++
	}
}

// parser reads records as a plan says. It keeps what it has found out about values that come again.
type parser struct {
	dialect
	region   string
	records  bool
	mapping  Mapping
	phones   []int // columns, in the order in which they are tried
	emails   []int
	names    []int
	given    []int
	family   []int
	locales  []int
	tags     []int
	custom   []customColumn
	language map[string]string
	cells    []string
	labels   map[string]labelRank // what has been read of columns that say what the numbers are; nil = there is none
	ranked   []int                // phones, in the order in which they are tried in a row
	ranks    []int                // their ranks in it, by column
	twice    bool                 // Format.Twice
	exact    bool                 // the cells are a request's, which means what it says
	refused  bool                 // the file is one of refused rows: U+FFFD stands there for what could not be read
}

type customColumn struct {
	i     int
	name  string
	label string
}

func newParser(p Plan) *parser {
	ps := &parser{
		dialect: p.Format.dialect(), region: p.Region, records: p.Records, mapping: p.Mapping, language: map[string]string{},
		twice: p.Format.Twice,
	}
	for i, c := range p.Mapping {
		ps.refused = ps.refused || c.Header == columnCode && c.Field == FieldIgnored
		switch c.Field {
		case FieldPhone:
			ps.phones = append(ps.phones, i)
			if c.Label > 0 && ps.labels == nil {
				ps.labels, ps.ranks = map[string]labelRank{}, make([]int, len(p.Mapping))
			}
		case FieldEmail:
			ps.emails = append(ps.emails, i)
		case FieldName:
			ps.names = append(ps.names, i)
		case FieldGiven:
			ps.given = append(ps.given, i)
		case FieldFamily:
			ps.family = append(ps.family, i)
		case FieldLocale:
			ps.locales = append(ps.locales, i)
		case FieldTags:
			ps.tags = append(ps.tags, i)
		case FieldIgnored:
		default:
			ps.custom = append(ps.custom, customColumn{i, strings.TrimPrefix(c.Field, FieldCustom), listedHeader(p.Mapping, i)})
		}
	}
	for _, columns := range [][]int{ps.phones, ps.emails, ps.names, ps.given, ps.family, ps.locales} {
		slices.SortStableFunc(columns, func(a, b int) int { return p.Mapping[a].Rank - p.Mapping[b].Rank })
	}
	return ps
}

// row reads one record.
func (p *parser) row(rec record, number int64) Row {
	row := Row{Number: number, Line: rec.line}
	raw := string(rec.raw)
	switch rec.code {
	case CodeRecordBytes:
		row.Problems, row.Record = []Problem{rec.problem()}, []string{storable(raw)}
		return row
	case CodeQuote:
		row.Problems, row.Record = []Problem{rec.problem()}, p.shown(p.literal(raw, nil))
		return row
	}
	p.cells = p.dialect.cells(raw, p.cells[:0])
	if p.twice {
		readOnce(p.cells)
	}
	b := builder{parser: p, row: &row}
	b.read()
	if len(row.Problems) > 0 {
		row.Keys, row.Contact = row.Contact.Persons(), Contact{}
	}
	if len(row.Problems) > 0 || p.records {
		row.Record = p.shown(p.cells)
	}
	return row
}

// shown are the cells of a record as they can be stored and written back: those of a file of refused rows without what
// was put before them then. Those beyond MaxColumns are one: a cell takes more memory than the delimiter that makes it.
// Of a record with more than shownBytes, the longest cells are cut.
func (p *parser) shown(cells []string) []string {
	out := make([]string, 0, min(len(cells), MaxColumns+1))
	for _, c := range cells[:min(len(cells), MaxColumns)] {
		if p.refused {
			c = withoutMark(c)
		}
		out = append(out, storable(c))
	}
	if len(cells) > MaxColumns {
		out = append(out, storable(strings.Join(cells[MaxColumns:], string(rune(p.dialect.delimiter)))))
	}
	cut(out)
	return out
}

// storable is text that Postgres takes.
func storable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(decoded(s), "\uFFFD"), "\x00", "\uFFFD")
}

// builder makes one row.
type builder struct {
	*parser
	row *Row
}

func (b *builder) problem(field, code, format string, args ...any) {
	b.row.Problems = append(b.row.Problems, Problem{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (b *builder) read() {
	for i := len(b.mapping); i < len(b.cells); i++ {
		if strings.TrimSpace(b.cells[i]) != "" {
			b.problem("", CodeColumns, "the row has %d cells, and the header %d: cell %d is %s; put quotes around a cell that "+
				"has a delimiter in it", len(b.cells), len(b.mapping), i+1, excerpt(b.cells[i]))
			return // what stands where is not known
		}
	}
	c := &b.row.Contact
	b.phone(c)
	b.email(c)
	c.GivenName = b.name(b.given, FieldGiven)
	c.FamilyName = b.name(b.family, FieldFamily)
	c.Name = b.name(b.names, FieldName)
	if c.Name == "" {
		c.Name = strings.TrimSpace(c.GivenName + " " + c.FamilyName)
	}
	c.Locale = b.locale()
	c.Tags = b.tagged()
	for _, f := range b.custom {
		v, ok := b.cell(f.i, f.label, MaxField)
		if !ok || v == "" {
			continue
		}
		if c.Fields == nil {
			c.Fields = make(map[string]string, len(b.custom))
		}
		c.Fields[f.name] = v
	}
	if c.Phone == "" && c.Email == "" && len(b.row.Problems) == 0 {
		field := FieldPhone
		if len(b.phones) == 0 {
			field = FieldEmail
		}
		b.problem(field, CodeMissing, "the row has neither a telephone number nor an e-mail address; fill in one of them")
	}
	c.Key = Key(c.Phone, c.Email)
}

// phone takes the first column with a number that can be read. If there is none, the problem is that of the first with
// a value.
func (b *builder) phone(c *Contact) {
	var first *Problem
	for _, i := range b.tried() {
		mark := len(b.row.Problems)
		v, ok := b.cell(i, FieldPhone, MaxField)
		var wrong *Problem
		switch {
		case !ok:
			wrong = &b.row.Problems[mark]
			wrong = &Problem{Field: wrong.Field, Code: wrong.Code, Message: wrong.Message}
			b.row.Problems = b.row.Problems[:mark]
		case v == "":
			continue
		default:
			if c.Phone, c.Country, wrong = b.numberIn(i, v); wrong == nil {
				return
			}
			if b.empty(v) {
				continue
			}
			wrong.Field = FieldPhone
		}
		if first == nil {
			first = wrong
		}
	}
	if first != nil {
		b.row.Problems = append(b.row.Problems, *first)
	}
}

// regionOf is the region of a telephone column in this row: that of its country code, else that of the file. A code
// that cannot be read leaves none, for in the region of the file the number could be another person's.
func (b *builder) regionOf(i int) string {
	at := b.mapping[i].Code - 1
	if at < 0 || at >= len(b.cells) || filler(b.cells[at]) {
		return b.region
	}
	region, _ := dialled(b.cells[at])
	return region
}

// tried are the columns of telephone numbers in the order in which a row's are tried: without those that it says are of
// a fax or a pager, and as it says which are mobiles, of home or of work.
func (b *builder) tried() []int {
	if b.labels == nil {
		return b.phones
	}
	b.ranked = b.ranked[:0]
	for _, i := range b.phones {
		b.ranks[i] = b.mapping[i].Rank
		if at := b.mapping[i].Label - 1; at >= 0 && at < len(b.cells) && b.cells[at] != "" {
			l := b.rankOf(b.cells[at])
			if l.unreached {
				continue
			}
			if l.known {
				b.ranks[i] = l.rank
			}
		}
		b.ranked = append(b.ranked, i)
	}
	slices.SortStableFunc(b.ranked, func(i, j int) int { return b.ranks[i] - b.ranks[j] })
	return b.ranked
}

// A labelRank is what a label says of its number.
type labelRank struct {
	unreached bool // it is of a fax or a pager
	known     bool
	rank      int // where known
}

// maxLabels bounds how many labels are remembered; most files have a few.
const maxLabels = 300

func (p *parser) rankOf(cell string) labelRank {
	l, ok := p.labels[cell]
	if ok {
		return l
	}
	label := fold(cell)
	l.unreached = unreached(label) || unreached(fold(parted(cell))) // of Apple: _$!<HomeFAX>!$_
	for _, name := range []string{label, label + " phone", "telephone " + label, "telefon " + label} {
		if k, ok := header(name); ok && k.field == FieldPhone {
			l.known, l.rank = true, k.rank
			break
		}
	}
	if len(p.labels) < maxLabels {
		p.labels[strings.Clone(cell)] = l
	}
	return l
}

func (b *builder) email(c *Contact) {
	for _, i := range b.emails {
		v, ok := b.cell(i, FieldEmail, MaxField)
		if !ok || v == "" {
			continue
		}
		var wrong *Problem
		if c.Email, wrong = ReadEmail(v); wrong != nil {
			if b.empty(v) {
				continue
			}
			b.problem(FieldEmail, wrong.Code, "%s", wrong.Message)
		}
		return
	}
}

// empty says that a cell has nothing in it, or only what stands for nothing: N/A.
func (p *parser) empty(v string) bool { return v == "" || !p.exact && filler(v) }

// text is the first value of the columns.
func (b *builder) text(columns []int, field string, limit int) string {
	for _, i := range columns {
		if v, ok := b.cell(i, field, limit); ok && v != "" {
			return oneLine(v)
		}
	}
	return ""
}

// name is the first value of the columns of a name. Programs of the web export names as they stand in their pages:
// O&#39;Neil, or even O&amp;#39;Neil.
func (b *builder) name(columns []int, field string) string {
	v := b.text(columns, field, MaxName)
	for range 2 {
		if b.exact || !strings.Contains(v, "&") {
			break
		}
		v = oneLine(norm.NFC.String(entity.ReplaceAllStringFunc(v, unescapedHTML)))
	}
	return v
}

// unescapedHTML is the character of an entity, unless it is a control character, or none.
func unescapedHTML(entity string) string {
	if s := html.UnescapeString(entity); !strings.ContainsRune(s, utf8.RuneError) &&
		!strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	return entity
}

var entity = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});`)

// oneLine is a text with single spaces for all white space, without characters that cannot be seen.
func oneLine(v string) string {
	if simple(v) && !strings.Contains(v, "  ") {
		return v
	}
	return strings.Join(strings.Fields(seen(v)), " ")
}

// locale is the language as BCP 47, of the first column that has more in it than what stands for nothing.
func (b *builder) locale() string {
	for _, i := range b.locales {
		v, ok := b.cell(i, FieldLocale, MaxName)
		if !ok || v == "" {
			continue
		}
		v = oneLine(v)
		switch tag := b.languageOf(v); tag {
		case FieldIgnored:
		case "":
			b.problem(FieldLocale, CodeLocale, "%s is not a language; write its code, such as fr or en-CA, or leave it empty",
				excerpt(v))
			return ""
		default:
			return tag
		}
	}
	return ""
}

// languageOf is the tag of a language, "" of what is none, FieldIgnored of what stands for nothing. A request means the
// code that it writes: an is Aragonese there.
func (p *parser) languageOf(v string) string {
	tag, ok := p.language[v]
	if ok {
		return tag
	}
	code, err := language.Parse(v)
	switch folded := fold(v); {
	case p.exact && err == nil && code != language.Und:
		tag = code.String()
	case p.empty(v) && !slices.Contains(fillerLanguages, folded):
		tag = FieldIgnored
	default:
		if tag = readLocale(v); tag == "" && p.region == "CA" && !p.exact {
			tag = lettersInCanada[folded]
		}
	}
	if len(p.language) < 1000 {
		p.language[v] = tag
	}
	return tag
}

// languages are the names of languages, folded, and the tag of each.
var languages = func() map[string]string {
	m := map[string]string{
		"english": "en", "anglais": "en", "ingles": "en", "french": "fr", "francais": "fr", "frances": "fr", "spanish": "es",
		"espagnol": "es", "espanol": "es", "portuguese": "pt", "portugais": "pt", "portugues": "pt", "german": "de",
		"allemand": "de", "deutsch": "de", "italian": "it", "italien": "it", "italiano": "it", "arabic": "ar", "arabe": "ar",
		"chinese": "zh", "chinois": "zh", "mandarin": "zh", "creole": "ht", "haitian creole": "ht", "dutch": "nl",
		"neerlandais": "nl", "eng": "en", "fre": "fr", "fra": "fr",
		"englisch": "en", "inglese": "en", "engels": "en", "franzosisch": "fr", "francese": "fr", "frans": "fr",
		"spanisch": "es", "spagnolo": "es", "spaans": "es", "espanhol": "es", "castellano": "es",
		"portugiesisch": "pt", "portoghese": "pt", "portugees": "pt", "aleman": "de", "alemao": "de", "tedesco": "de",
		"duits": "de", "italienisch": "it", "italiaans": "it", "niederlandisch": "nl", "hollandisch": "nl",
		"hollandais": "nl", "holandes": "nl", "neerlandes": "nl", "olandese": "nl", "nederlands": "nl",
		"ang": "en", "angl": "en", "an": "en", "fran": "fr", "franc": "fr", "esp": "es", "all": "de", // shortened
		"canadian french": "fr-CA", "francais canadien": "fr-CA", "canadian english": "en-CA", "anglais canadien": "en-CA",
	}
	for tag, names := range languagesAbroad {
		for name := range strings.SplitSeq(names, "|") {
			m[fold(name)] = tag
		}
	}
	return m
}()

// lettersInCanada are the official languages as forms there shorten them: French, English, anglais.
var lettersInCanada = map[string]string{"f": "fr", "e": "en", "a": "en"}

// fillerLanguages are those of fillers that are codes of languages: Somali and Sinhala.
var fillerLanguages = []string{"so", "sin"}

// isLanguage says that what stands behind a language is another one, not a country: two capitals are one.
func isLanguage(s string) bool {
	country := len(s) == 2 && strings.ToUpper(s) == s
	return languages[fold(s)] != "" || !country && readLocale(s) != ""
}

// isCharset says that a text is the name of one, as it stands behind the locales of programs, or is empty.
func isCharset(s string) bool {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "@") // ISO-8859-15@euro
	_, err := encodingOf(strings.ToLower(s))
	return s == "" || err == nil || strings.EqualFold(s, "utf8")
}

func readLocale(v string) string {
	if tag, ok := languages[fold(v)]; ok {
		return tag
	}
	if code, charset, ok := strings.Cut(v, "."); ok && isCharset(charset) { // of Fr. and fr_CA.UTF-8
		v = code
	}
	if _, other, ok := strings.Cut(v, " - "); ok && !isLanguage(other) {
		v = strings.Replace(v, " - ", "(", 1)
	}
	// As Odoo has it: "French / Français".
	if one, other, _ := strings.Cut(v, " / "); languages[fold(one)] != "" && languages[fold(one)] == languages[fold(other)] {
		return languages[fold(one)]
	}
	// As Outlook has it: "French (Canada)".
	if name, country, ok := strings.Cut(v, "("); ok {
		if tag := languages[fold(name)]; tag != "" {
			if fold(country) == "canada" {
				return tag + "-CA"
			}
			return tag
		}
	}
	tag, err := language.Parse(strings.ReplaceAll(v, "_", "-"))
	if err != nil || tag == language.Und {
		return ""
	}
	return tag.String()
}

// formulaErrors are what spreadsheets show for a formula that has no result, in the languages whose headers are known.
var formulaErrors = slices.Concat(strings.Fields(`#N/A #REF! #NAME? #VALUE! #DIV/0! #NUM! #NULL! #SPILL! #GETTING_DATA
	#ERROR! #FIELD! #BLOCKED! #CONNECT! #BUSY! #UNKNOWN!
	#VALEUR! #NOM? #NOMBRE! #NUL! #PROPAGATION! #NV #WERT! #BEZUG! #ZAHL! #ÜBERLAUF!
	#¡VALOR! #¿NOMBRE? #¡REF! #¡NUM! #¡DIV/0! #¡NULO! #¡DESBORDAMIENTO! #VALOR! #NOME? #NÚM! #NULO! #N/D
	#VALORE! #RIF! #NULLO! #ESPANSIONE! #WAARDE! #NAAM? #VERW! #GETAL! #DEEL/0! #LEEG! #N/B #OVERLOOP!
	#ARG! #NAZWA? #ADR! #LICZBA! #ZERO! #DZIEL/0! #N/D! #DEĞER! #AD? #BAŞV! #SAYI! #SAYI/0! #BÖL/0! #BOŞ! #YOK
	#ЗНАЧ! #ИМЯ? #ССЫЛКА! #ЧИСЛО! #ДЕЛ/0! #ПУСТО! #Н/Д`), []string{noResult})

// cell is the text of a column, cleaned; ok is false where it cannot be read, and the problem is noted.
func (b *builder) cell(i int, field string, limit int) (v string, ok bool) {
	if i >= len(b.cells) {
		return "", true
	}
	v = plainCell(b.cells[i])
	if !simple(v) {
		if v = decoded(v); !utf8.ValidString(v) {
			b.problem(field, CodeEncoding, "%s has bytes that are not text in UTF-8; save the file as UTF-8, or give its encoding",
				excerpt(v))
			return "", false
		}
		odd := false
		for _, r := range v {
			switch {
			case r == 0:
				b.problem(field, CodeNUL, "the cell has a NUL character in it; remove it, or save the file as UTF-8")
				return "", false
			case r == utf8.RuneError && b.refused && isCut(v):
				b.problem(field, CodeEncoding, "the cell ends where it was cut, at %s; copy the rest from the original file, or "+
					"remove the signs", cutMark)
				return "", false
			case r == utf8.RuneError && b.refused:
				b.problem(field, CodeEncoding, "%s has � where a character could not be read; write that character, or remove the sign",
					excerpt(v))
				return "", false
			case strings.ContainsRune(odds, r):
				odd = true
			case unicode.IsControl(r):
				b.problem(field, CodeControl, "the cell has the control character U+%04X in it; remove it", r)
				return "", false
			}
		}
		if odd {
			v = breaks.Replace(v)
		}
		v = norm.NFC.String(v)
		v = strings.Trim(v, "\uFEFF\u200B")
	}
	v = strings.TrimSpace(v)
	if len(v) > limit && utf8.RuneCountInString(v) > limit {
		b.problem(field, CodeTooLong, "the cell has %d characters, and at most %d are kept; shorten it",
			utf8.RuneCountInString(v), limit)
		return "", false
	}
	if strings.HasPrefix(v, "#") && slices.Contains(formulaErrors, v) {
		b.problem(field, CodeFormula, "the cell is %s: its formula has no result. Correct it in the spreadsheet, or empty the cell; "+
			"where the spreadsheet shows a result, open and save it there", v)
		return "", false
	}
	return v, true
}

// odds are characters that are written otherwise, as breaks says: Excel writes line breaks as vertical tabs.
const odds = "\t\n\r\v\f\u0085\u2028\u2029"

var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n",
	"\u2029", "\n", "\t", " ")

// simple says that a cell is ASCII without control characters.
func simple(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}

// decoded is a cell that is not UTF-8 read as Windows-1252, as in a UTF-8 file that rows of another were added to. A
// cell with bytes that Windows-1252 does not have stays as it is.
func decoded(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case 0x81, 0x8d, 0x8f, 0x90, 0x9d:
			return s
		}
	}
	out, err := charmap.Windows1252.NewDecoder().String(s)
	if err != nil {
		return s
	}
	return out
}

// excerpt is the beginning of a cell, quoted, for a message.
func excerpt(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
	if utf8.RuneCountInString(s) > 40 {
		s = string([]rune(s)[:39]) + "…"
	}
	return strconv.Quote(s)
}
