package contact

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/page"
)

// The fields that a column may be. A custom field is FieldCustom and its name.
const (
	FieldPhone   = "phone"
	FieldEmail   = "email"
	FieldName    = "name"
	FieldGiven   = "given_name"
	FieldFamily  = "family_name"
	FieldLocale  = "locale"
	FieldTags    = "tags"
	FieldCustom  = "fields."
	FieldIgnored = "-"
)

var fields = []string{FieldPhone, FieldEmail, FieldName, FieldGiven, FieldFamily, FieldLocale, FieldTags, FieldIgnored}

// Mapping says for each column of a file, in its order, which field it is.
type Mapping []Column

// Column is what one column of a file is taken for. Where several columns are the same field, the first in the order of
// Rank, then of the file, that has a value is taken; tags are taken from all.
type Column struct {
	Header     string  `json:"header"`
	Field      string  `json:"field"`
	Rank       int     `json:"rank,omitempty"` // among the columns of one field, the lowest first
	Confidence float64 `json:"confidence"`     // 1 = given, or a known header; 0 = unknown, so a custom field
	Why        string  `json:"why"`
	// Label is the number, from 1, of the column that says of each row what this telephone number is; 0 = none.
	Label int `json:"label,omitempty"`
	// Code is the number, from 1, of the column that has of each row the country code of this telephone number; 0 = none.
	Code int `json:"code,omitempty"`
	// Country is the number, from 1, of the column that has of each row the country where this telephone number is looked
	// for before the region of the file; 0 = none.
	Country int `json:"country,omitempty"`
	// Area is the number, from 1, of the column that has of each row the area code of this telephone number; 0 = none.
	Area int `json:"area,omitempty"`
}

// has says that a column is that field.
func (m Mapping) has(field string) bool {
	return slices.ContainsFunc(m, func(c Column) bool { return c.Field == field })
}

// reaches says that a column is a phone or an address.
func (m Mapping) reaches() bool { return m.has(FieldPhone) || m.has(FieldEmail) }

// mapColumns says which column is what: as given, as the export has it that the headers are of, as a header says, and,
// where no column is a phone or an address by that, as the values in it look. What reaches another person by its
// header, or by what stands above that (groups), counts where nothing else is there (standIns, others). A file with
// neither is fault.Invalid.
func mapColumns(columns, groups []string, sample [][]string, o Options) (Mapping, []Reason, error) {
	m := make(Mapping, len(columns))
	folded := make([]string, len(columns))
	for i, h := range columns {
		folded[i] = fold(h)
		m[i].Header = h
	}
	var reasons []Reason
	taken := map[string]bool{}
	if err := given(m, folded, o.Mapping, taken); err != nil {
		return nil, nil, err
	}
	grouped := func(i int) bool { return i < len(groups) && holdsAny(fold(groups[i]), others) }
	own := func(i int) bool { return !holdsAny(folded[i], others) && !grouped(i) }
	aside := map[int]Column{}
	p := exportOf(folded)
	if p.name != "" {
		reasons = append(reasons, Reason{Setting: "mapping", Value: p.name, Why: "the headers are those of this export"})
	}
	for i, f := range folded {
		if m[i].Field != "" {
			continue
		}
		k, sure, why := p.column(m[i].Header, f, sample, i)
		if taken[k.field] {
			k, sure, why = known{}, 0, "" // a person said which column it is
		}
		if sure < 1 && another(f) || grouped(i) {
			aside[i] = Column{Header: m[i].Header, Field: k.field, Rank: k.rank, Confidence: sure, Why: why}
			continue
		}
		m[i].Field, m[i].Rank, m[i].Confidence, m[i].Why = k.field, k.rank, sure, why
	}
	for _, field := range []string{FieldPhone, FieldEmail, FieldName, FieldGiven, FieldFamily, FieldLocale} {
		sureOnly(m, field)
	}
	oneRole(m)
	standIn(m, aside, own)
	byContent(m, folded, sample, o.Region, taken, own)
	if !m.reaches() {
		byContent(m, folded, sample, o.Region, taken, func(int) bool { return true })
	}
	nameAlone(m, folded, sample)
	nameOfRole(m, folded, sample)
	labelled(m, folded)
	coded(m, folded, sample)
	located(m, folded, sample)
	slugs := map[string]bool{}
	for _, c := range m {
		slugs[c.Field] = true
	}
	for i := range m {
		if c := &m[i]; c.Field == "" {
			c.Field = freeSlug(slugs, folded[i], i)
			c.Why = "unknown, so a custom field"
		}
	}
	if !m.reaches() {
		return nil, nil, fault.Newf(fault.Invalid, "no column looks like telephone numbers or e-mail addresses (the columns "+
			"are %s); say which one is, by a mapping such as {%q: %q}", listed(m), "#1", FieldPhone)
	}
	for i, c := range m {
		_, by := lookup(o.Mapping, c.Header, i)
		is := listedHeader(m, i) + " = " + c.Field
		reasons = append(reasons, Reason{Setting: "mapping", Value: is, Why: c.Why, Given: by})
	}
	return m, reasons, nil
}

// column says what the column i is by its header, as the export has it or as most files do, unless the values in it
// contradict a guess.
func (p preset) column(header, folded string, sample [][]string, i int) (k known, sure float64, why string) {
	k, sure, why = byHeader(header, folded)
	_, exact := headers[folded]
	_, made := compound(folded)
	asks := holdsWord(folded, "sms") || holdsWord(folded, "whatsapp") // these may have yes and no
	guessed := sure < 1 || made && !exact || asks || k.field == FieldLocale && headers[folded] != known{FieldLocale, 0}
	if guessed && belied(k.field, sample, i) {
		k, sure, why = known{}, 0, ""
	}
	if more, ok := p.fields[folded]; ok {
		return more, 1, p.name
	}
	if p.part(folded) {
		return known{FieldIgnored, 0}, 1, "says what another column is"
	}
	if custom, ok := strings.CutPrefix(header, FieldCustom); ok && custom != "" && slug(custom) == custom {
		return known{header, 0}, 1, "a column of an export of ours"
	}
	return k, sure, why
}

// standIn takes what was left aside, as it reaches another person, where there is no other, or nothing else at all.
func standIn(m Mapping, aside map[int]Column, own func(int) bool) {
	reach := []string{FieldPhone, FieldEmail}
	for _, field := range reach {
		none := !m.has(field)
		for i, c := range aside {
			if none && c.Field == field && own(i) {
				c.Why += "; there is no other"
				m[i] = c
			}
		}
	}
	if !m.reaches() {
		for i, c := range aside {
			if slices.Contains(reach, c.Field) {
				c.Why += "; there is nothing else"
				m[i] = c
			}
		}
	}
	for _, field := range reach {
		sureOnly(m, field)
	}
}

// sureOnly leaves, beside columns of a field whose headers are known, none that only has words of it, and else only the
// first of these: "emergency phone" is another person's, and may not stand in for a phone that is missing.
func sureOnly(m Mapping, field string) {
	best := -1
	for i, c := range m {
		if c.Field != field {
			continue
		}
		if best < 0 || c.Confidence > m[best].Confidence || c.Confidence == m[best].Confidence && c.Rank < m[best].Rank {
			best = i
		}
	}
	for i, c := range m {
		if c.Field == field && c.Confidence < 1 && i != best {
			m[i] = Column{Header: c.Header}
		}
	}
}

// given applies what a person said, which Options.Check found right.
func given(m Mapping, folded []string, said map[string]string, taken map[string]bool) error {
	for i := range m {
		if field, ok := lookup(said, m[i].Header, i); ok {
			m[i].Field, m[i].Confidence, m[i].Why = field, 1, "given"
		}
	}
	for _, column := range slices.Sorted(maps.Keys(said)) {
		found := false
		for i := range m {
			found = found || names(column, m[i].Header, folded[i], i)
		}
		if !found {
			return fault.Newf(fault.Invalid, "mapping: there is no column %q; the columns are %s", column, listed(m))
		}
		switch field := said[column]; field {
		case FieldPhone, FieldEmail, FieldName, FieldGiven, FieldFamily, FieldLocale:
			taken[field] = true
		}
	}
	return nil
}

// names says that a key of a given mapping means that column.
func names(key, header, folded string, i int) bool {
	return key == header || key == numberOfColumn(i) || header != "" && fold(key) == folded && folded != ""
}

func numberOfColumn(i int) string { return "#" + strconv.Itoa(i+1) }

// lookup is what a given mapping says of a column: by its number, which no other column has, else by its header, else
// by one that is written otherwise.
func lookup(said map[string]string, header string, i int) (string, bool) {
	for _, key := range []string{numberOfColumn(i), header} {
		if field, ok := said[key]; ok {
			return field, true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if names(key, header, fold(header), i) {
			return said[key], true
		}
	}
	return "", false
}

// exportOf is the export that a file is; one without a name where it is none that is known.
func exportOf(folded []string) preset {
	for _, p := range presets {
		has := func(n string) bool { return slices.Contains(folded, n) }
		if !slices.ContainsFunc(p.needs, func(n string) bool { return !has(n) }) && !has(p.not) {
			return p
		}
	}
	return preset{}
}

// part says that a column belongs to another: "Phone 1 - Label".
func (p preset) part(folded string) bool {
	bare := strings.Join(strings.FieldsFunc(folded, func(r rune) bool { return r == ' ' || unicode.IsDigit(r) }), " ")
	return slices.Contains(p.parts, bare)
}

// share is how many of the values of a column are so, 0 where there are none.
func share(sample [][]string, i int, is func(string) bool) (part float64, values int) {
	hits := 0
	for _, r := range sample {
		if i < len(r) && strings.TrimSpace(r[i]) != "" {
			values++
			if is(r[i]) {
				hits++
			}
		}
	}
	return float64(hits) / float64(max(values, 1)), values
}

// belied says that the values of a column are nothing like the field that its header seems to name: "WhatsApp updates"
// has yes and no, "Sprache" may have how well a language is spoken, and "Contact" may be telephone numbers.
func belied(field string, sample [][]string, i int) bool {
	var is func(string) bool
	switch field {
	case FieldPhone:
		is = func(s string) bool { return digitsOf(s) >= 4 && !isDate(s) && !isYear(s) }
	case FieldEmail:
		is = func(s string) bool { return strings.Contains(s, "@") }
	case FieldLocale: // what stands for no language refuses its row, so it counts
		part, values := share(sample, i, func(s string) bool { return readLocale(oneLine(s)) != "" })
		return values > 0 && part < .5
	case FieldName:
		part, _ := share(sample, i, func(s string) bool { return phoneLike(s) || strings.Contains(s, "@") })
		return part > .5
	default:
		return false
	}
	part, values := share(sample, i, is)
	empty, _ := share(sample, i, filler)
	return values > 0 && empty < 1 && part < .2*(1-empty)
}

// isYear says that a cell is a year, and no more.
func isYear(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) == 4 && digitsOf(s) == 4 && (s[:2] == "19" || s[:2] == "20")
}

// filler says that a cell only stands for one that is empty.
func filler(s string) bool {
	folded := fold(s)
	return !strings.Contains(s, "@") && (folded == "" || slices.Contains(fillers, folded) || s == `\N`)
}

// byContent finds the phone, and the address, in the values where no header says so. Of columns of digits it takes the
// one with the most numbers that exist: customers have numbers, too.
func byContent(m Mapping, folded []string, sample [][]string, region string, taken map[string]bool,
	own func(int) bool) {
	for _, kind := range []struct {
		field  string
		is     func(string) bool
		exists func(string) bool
		what   string
	}{
		{FieldPhone, phoneLike, func(s string) bool {
			_, _, wrong := ReadPhone(s, region)
			return wrong == nil
		}, "telephone numbers"},
		{FieldEmail, func(s string) bool { return strings.Contains(s, "@") && valueLike(s) }, func(s string) bool {
			_, wrong := ReadEmail(s)
			return wrong == nil
		}, "e-mail addresses"},
	} {
		if m.has(kind.field) || taken[kind.field] {
			continue
		}
		best, most, existing := -1, 0.0, 0.0
		for i := range m {
			if m[i].Field != "" || unreached(folded[i]) || !own(i) {
				continue
			}
			part, _ := share(sample, i, kind.is)
			if part < .6 {
				continue
			}
			exist, _ := share(sample, i, kind.exists)
			if best < 0 || exist > existing || exist == existing && part > most {
				best, most, existing = i, part, exist
			}
		}
		if best >= 0 {
			m[best].Field, m[best].Confidence = kind.field, .6
			m[best].Why = fmt.Sprintf("%.0f %% of its values look like %s", 100*most, kind.what)
		}
	}
}

// phoneLike says that a cell has the digits of a telephone number and little else.
func phoneLike(s string) bool {
	digits, others := 0, 0
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits++
		case !strings.ContainsRune("+-(). /'", r):
			others++
		}
	}
	return digits >= 7 && digits <= 15 && others <= 2 && strings.Count(s, "-") < 5 && !isDate(s)
}

// isDate says that a cell begins with the eight digits of a day, and ends there or goes on with a time: the numbers of
// France are written 06-12-34-56-78, too.
func isDate(s string) bool {
	s = strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return asciiDigit(r)
		}
		return r
	}, strings.TrimSpace(s))
	if len(s) < 10 || len(s) > 10 && s[10] != ' ' && s[10] != 'T' || digitsOf(s[:10]) != 8 {
		return false
	}
	return s[4] == '-' && s[7] == '-' || s[4] == '/' && s[7] == '/' ||
		s[2] == '/' && s[5] == '/' || s[2] == '-' && s[5] == '-' || s[2] == '.' && s[5] == '.'
}

// nameAlone takes a column "Nom", or "Nume", for the whole name where no column has given names, and "Nome", or
// "Nombre", where none has family names and most of its values are of several words; then those of givenBeside beside a
// family name for given ones, and "Name" for the family's beside a "Vorname" alone, as German has it.
func nameAlone(m Mapping, folded []string, sample [][]string) {
	nameless, whole := !m.has(FieldGiven) && !m.has(FieldName), !m.has(FieldFamily) && !m.has(FieldName)
	for i := range m {
		said := unowned(unasked(folded[i]))
		if whole && m[i].Field == FieldGiven && (said == "nome" || said == "nombre") && m[i].Why != "given" {
			several, _ := share(sample, i, func(s string) bool { return strings.Contains(strings.TrimSpace(s), " ") })
			if several > .5 {
				m[i].Field, m[i].Confidence, m[i].Why = FieldName, .7, "there is no column of family names"
			}
		}
		if nameless && m[i].Field == FieldFamily && (said == "nom" || said == "nume") && m[i].Why != "given" {
			m[i].Field, m[i].Confidence, m[i].Why = FieldName, .7, "there is no column of given names"
		}
	}
	for i := range m {
		if slices.Contains(givenBeside, folded[i]) && (m[i].Field == "" || m[i].Field == FieldName) &&
			m[i].Why != "given" && m.has(FieldFamily) && !m.has(FieldGiven) {
			m[i].Field, m[i].Confidence, m[i].Why = FieldGiven, 1, "the family name stands in a column of its own"
		}
	}
	if !m.has(FieldFamily) && (slices.Contains(folded, "vorname") || slices.Contains(folded, "voornaam")) {
		for i := range m {
			if m[i].Field == FieldName && (folded[i] == "name" || folded[i] == "naam") && m[i].Why != "given" {
				m[i].Field, m[i].Why = FieldFamily, "the given name stands in a column of its own"
			}
		}
	}
}

// labelled finds the columns that say what telephone numbers are, as Google Contacts has them: "Phone 1 - Label".
func labelled(m Mapping, folded []string) {
	for i := range m {
		name, ok := strings.CutSuffix(folded[i], " value")
		if !ok || m[i].Field != FieldPhone {
			continue
		}
		m[i].Label = 1 + max(slices.Index(folded, name+" label"), slices.Index(folded, name+" type"))
	}
}

// coded finds columns of country codes, and of area codes, beside those of telephone numbers, the one before a number
// first. They remain custom fields.
func coded(m Mapping, folded []string, sample [][]string) {
	for i := range m {
		if m[i].Field != FieldPhone {
			continue
		}
		for _, at := range []int{i - 1, i + 1} {
			if at < 0 || at >= len(m) || m[at].Field != "" {
				continue
			}
			if m[i].Code == 0 && dialling(folded[at], sample, at) {
				m[i].Code = at + 1
				m[i].Why += fmt.Sprintf("; the country codes are in column %d", at+1)
			} else if m[i].Area == 0 && ofArea(folded[at], sample, at) {
				m[i].Area = at + 1
				m[i].Why += fmt.Sprintf("; the area codes are in column %d", at+1)
			}
		}
	}
}

// dialling says that a column has country codes. "Vorwahl" and "indicatif" are area codes as well, unless its values
// begin with +.
func dialling(folded string, sample [][]string, i int) bool {
	holds := func(w string) bool { return holdsWord(folded, w) }
	if !slices.ContainsFunc(dialWords, holds) {
		return false
	}
	ofCountry := slices.ContainsFunc(dialCountryWords, holds)
	part, _ := share(sample, i, func(s string) bool {
		of, ok := dialled(s)
		return ok && of != "" && (ofCountry || strings.Contains(s, "+")) || filler(s)
	})
	empty, _ := share(sample, i, filler)
	return part > .9 && empty < 1
}

// ofArea says that a column has area codes.
func ofArea(folded string, sample [][]string, i int) bool {
	if !slices.Contains(areaHeaders, folded) {
		return false
	}
	part, _ := share(sample, i, func(s string) bool { return areaCode.MatchString(plainCell(s)) || filler(s) })
	return part > .9
}

var areaCode = regexp.MustCompile(`^\s*\(?0?[1-9][0-9]{1,4}(?:\.0)?\)?\s*$`)

var dialCode = regexp.MustCompile(`^(?:\+|00)?([1-9][0-9]{0,2})(?:\.0)?$`)

// dialled is the region whose numbers have that country code, or that has that code of ISO 3166-1, "" where none has;
// ok is false for what is no such code.
func dialled(cell string) (region string, ok bool) {
	switch iso := strings.ToUpper(strings.TrimSpace(cell)); {
	case iso == "UK": // as people write GB, and ISO reserves it
		return "GB", true
	case len(iso) == 2 && KnownRegion(iso):
		return iso, true
	}
	code := dialCode.FindStringSubmatch(strings.Trim(cleanPhone(cell), "() "))
	if code == nil {
		return "", false
	}
	n, _ := strconv.Atoi(code[1])
	region = phonenumbers.GetRegionCodeForCountryCode(n)
	if region == phonenumbers.UNKNOWN_REGION || region == phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY {
		return "", true
	}
	return region, true
}

// slug is a header as the name of a custom field: folded, with _ for spaces, at most 63 bytes.
func slug(header string) string {
	s := strings.ReplaceAll(fold(header), " ", "_")
	if len(s) > 63 {
		s = strings.TrimRight(page.CutBytes(s, 63), "_")
	}
	return s
}

// freeSlug is the custom field of a column that no other has.
func freeSlug(used map[string]bool, folded string, i int) string {
	name := slug(folded)
	if name == "" {
		name = "column_" + strconv.Itoa(i+1)
	}
	field := FieldCustom + name
	for n := 2; used[field]; n++ {
		field = FieldCustom + name + "_" + strconv.Itoa(n)
	}
	used[field] = true
	return field
}

// listed are the first columns, for a message, by their numbers. A header is told where it is one that is known: any
// other may be a cell of a file without a header, and so a person's.
func listed(m Mapping) string {
	var names []string
	for i := range m {
		if i == 10 {
			names = append(names, fmt.Sprintf("and %d more", len(m)-i))
			break
		}
		name := numberOfColumn(i)
		if m[i].Header != "" && knownHeader(m[i].Header) {
			name += " " + strconv.Quote(m[i].Header)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// listedHeader is the header of a column, or its number where it has none.
func listedHeader(m Mapping, i int) string {
	if m[i].Header == "" {
		return numberOfColumn(i)
	}
	return m[i].Header
}
