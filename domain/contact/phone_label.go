package contact

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers"
)

// labelLetters are what people shorten labels of their own numbers to, before a number.
var labelLetters = wordsOf("c m h w t p")

func wordsOf(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// unlabelled is a number without a word before or behind it for what it is: "Cell: 514-555-0123", "514-555-0123
// (WhatsApp)". Any other word may make it another person's, or a fax, and stays.
func unlabelled(s string) string {
	first := strings.IndexFunc(s, func(r rune) bool { return unicode.IsDigit(r) || r == '+' })
	last := strings.LastIndexFunc(s, unicode.IsDigit)
	if first < 0 || last < first || strings.ContainsAny(s, lineEnds) {
		return s
	}
	if open := strings.LastIndexByte(s[:first], '('); open > 0 && !strings.Contains(s[open:first], ")") {
		first = open // of an area code
	}
	before, number, after := s[:first], s[first:last+1], s[last+1:]
	if strings.ContainsFunc(number, unicode.IsLetter) {
		return s
	}
	label, behind := fold(before), fold(after)
	switch {
	case label != "" && behind == "" && !countsFirst(before, number) &&
		(ownLabel(label) || labelLetters[label] && !joined(before) || ofRegion(label, number)):
		return number
	case label == "" && behind != "" && ownLabel(behind):
		return before + number
	}
	return s
}

// countsFirst says that a number behind a label may begin with a digit that counts the telephones: of "Tel 2 021 123
// 4567" a number of Egypt would be read for one of Romania. That of "Cell 1-514-555-0123" stands in the number.
func countsFirst(before, number string) bool {
	first := strings.TrimLeft(number, "(")
	if first[0] < '1' || first[0] > '9' || len(first) < 3 || isDigit(first[1]) || strings.Contains(before, ":") {
		return false
	}
	return first[0] != '1' || first[1] != '-' && first[1] != '.' || !isDigit(first[2])
}

// joined says that a label stands at its number without a space, as the letter of a customer's number does:
// "C5145550123".
func joined(before string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	return unicode.IsLetter(last)
}

// ownLabel says that a folded word names a telephone of the person's own.
func ownLabel(folded string) bool {
	if rank, ok := places[folded]; ok {
		return rank != rankSecond
	}
	k, ok := headers[folded]
	return ok && k.field == FieldPhone
}

// ofRegion says that a folded word is the code of the region whose calling code the number begins with.
func ofRegion(folded, number string) bool {
	region := strings.ToUpper(folded)
	return KnownRegion(region) &&
		strings.HasPrefix(number, "+"+strconv.Itoa(phonenumbers.GetCountryCodeForRegion(region)))
}

// numberIn reads a number of a telephone column in this row, behind its area code where it has one and the number none.
func (b *builder) numberIn(i int, v string) (phone, country string, problem *Problem) {
	if at := b.mapping[i].Country - 1; at >= 0 && at < len(b.cells) {
		if region := countryOfCell(b.cells[at]); region != "" && region != b.region {
			if phone, country, problem = b.numberOf(i, v, region); problem == nil {
				return phone, country, nil
			}
		}
	}
	return b.numberOf(i, v, b.regionOf(i))
}

// numberOf reads a telephone number of a region, with the area code that is beside it.
func (b *builder) numberOf(i int, v, region string) (phone, country string, problem *Problem) {
	at := b.mapping[i].Area - 1
	if at < 0 || at >= len(b.cells) || strings.HasPrefix(v, "+") || strings.HasPrefix(v, "0") {
		return ReadPhone(v, region)
	}
	area := strings.Trim(strings.TrimSuffix(strings.TrimSpace(plainCell(b.cells[at])), ".0"), "() ")
	if areaCode.MatchString(area) && !strings.HasPrefix(strings.TrimLeft(v, "( "), strings.TrimPrefix(area, "0")) {
		code := "+" + strconv.Itoa(phonenumbers.GetCountryCodeForRegion(region))
		phone, country, problem = ReadPhone(area+" "+v, region)
		if problem == nil && strings.HasPrefix(phone, code) {
			return phone, country, nil
		}
	}
	return ReadPhone(v, region)
}
