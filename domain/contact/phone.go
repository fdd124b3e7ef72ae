package contact

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/unicode/norm"
)

// ReadPhone reads a telephone number as people and programs write them, and returns it in E.164 with its country (ISO
// 3166-1 alpha-2, "" for numbers of no country). A number without a country code is of the region; "" = no such number
// is read. Of several in the notation of Google Contacts ("a ::: b") the first that can be read is taken. A number that
// is refused is a Problem without a Field.
//
// Spaces, punctuation, invisible characters, a leading ', ="…", tel:, whatsapp:, p: (Meta), https://wa.me/ and 00 are
// understood; so are international numbers that a spreadsheet has taken the + of, where they are too long for the
// region. Letters (1-800-FLOWERS) and extensions are refused, since a message cannot be sent to them: it would reach
// somebody else. Mobile numbers of Mexico with the 1, and of Brazil without the ninth digit, are good: WhatsApp knows
// accounts by them.
func ReadPhone(cell, region string) (phone, country string, problem *Problem) {
	if phone, country, ok := quick(cell, region); ok {
		return phone, country, nil
	}
	if !strings.Contains(cell, ":::") {
		return readPhone(cell, region)
	}
	for part := range strings.SplitSeq(cell, ":::") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		got, of, wrong := readPhone(part, region)
		if wrong == nil {
			return got, of, nil
		}
		if problem == nil {
			problem = wrong
		}
	}
	if problem == nil {
		return readPhone("", region)
	}
	return "", "", problem
}

var (
	scientific = regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]+)?[eE][+-]?[0-9]+$`)
	thousands  = regexp.MustCompile(`^([0-9]{1,3}(?:(?:,[0-9]{3}){2,4}|(?:['’ ][0-9]{3}){2,4}))(?:[.,]0{1,2})?$`)
	ungrouped  = strings.NewReplacer(",", "", "'", "", "’", "", " ", "")
	decimal    = regexp.MustCompile(`^([0-9]{7,15})[.,]0+$`)
	extension  = regexp.MustCompile(`(?i)[0-9)][\s,;.(\[-]*(?:ext(?:ensi[oó]n|n)?|x|poste|int(?:erno)?|ramal|anexo|` +
		`local|durchwahl|dw|toestel|доб|;ext=|#)[\s.:=]*[0-9]{1,7}$`)
	several  = regexp.MustCompile(`(?i)[/;,|\n]|\s(?:or|ou|and|et|y|o|e|und|oder|&)\s`)
	exact    = regexp.MustCompile(`^\+?([1-9])[.,]([0-9]{6,14})[eE]\+?0?([0-9]{1,2})$`)
	prefixes = []string{"whatsapp:", "tel:", "phone:", "callto:", "sms:", "p:"}
)

// A refusal is why a cell is no number: what the message says behind the cell.
type refusal struct {
	code, message string
	tooLong       bool // for the region: it may be an international number that has lost its +
}

var (
	oddLine = &refusal{code: CodePhone,
		message: "has a line break in the cell, and digits besides a whole number; keep one number"}
	rounded = &refusal{code: CodeScientific, message: "is in scientific notation: a spreadsheet has dropped digits. " +
		"Format the column as text (or as a number without decimals), and export it again"}
	extended = &refusal{code: CodeExtension, message: "has an extension, which cannot be written to; give a direct " +
		"number, or remove the extension if the main number has WhatsApp"}
	many = &refusal{code: CodeSeveral,
		message: "is more than one number; keep one, and put others into columns of their own"}
	lettered  = &refusal{code: CodeLetters, message: "has letters; write the digits"}
	noNumber  = &refusal{code: CodePhone, message: "is not a valid telephone number; correct it"}
	wrongCode = &refusal{code: CodePhone, message: "is not a valid telephone number; check the country code after the +"}
	noCountry = &refusal{code: CodePhone, message: "has a + and no country code: as it is grouped, it is a number of the " +
		"region; write the code behind the +"}
	noCode = &refusal{code: CodeCountry, message: "has no country code; write it with + and the code " +
		"(+1 514 555 0123), or give the region of the numbers", tooLong: true}
)

// readPhone reads a cell that holds no ":::".
func readPhone(cell, region string) (phone, country string, problem *Problem) {
	phone, country, why := readClean(cleanPhone(cell), region)
	if why != nil {
		return "", "", &Problem{Code: why.code, Message: excerpt(cell) + " " + why.message}
	}
	return phone, country, nil
}

// readClean reads what cleanPhone has left of a cell.
func readClean(s, region string) (phone, country string, why *refusal) {
	written, why := unbroken(s, region)
	if why != nil {
		return "", "", why
	}
	if s, why = withoutNotation(written); why != nil {
		return "", "", why
	}
	digits := digitsOf(s)
	switch {
	case digits > 15 && twoNumbers(written, region):
		return "", "", many
	case digits < 4 || digits > 17:
		return "", "", noNumber
	case secondEnding(written, region):
		return "", "", many
	case strings.HasPrefix(s, "+"):
		if phone, country, why = numberOf(s, ""); why == nil && ownPlus(written, phone, region) {
			return "", "", noCountry
		}
		return phone, country, why
	}
	why = noCode
	if region == "MX" {
		s = withoutTrunkOfMexico(s)
		digits = digitsOf(s)
	}
	if region != "" {
		if phone, country, ok := mobileOf(s, digits, region); ok {
			return phone, country, nil
		}
		if phone, country, why = numberOf(s, region); why == nil || why == extended {
			return phone, country, why
		}
	}
	if phone, country, ok := withoutPlus(s, digits, why.tooLong); ok {
		if trailed(written, phone, region) {
			return "", "", extended
		}
		if longer(written, region) {
			return "", "", why
		}
		return phone, country, nil
	}
	return "", "", why
}

// withoutTrunkOfMexico is a number without what was dialled before it until 2019, to other areas and to mobiles: the
// library has forgotten it.
func withoutTrunkOfMexico(s string) string {
	for _, trunk := range []string{"044", "045", "01"} {
		if rest, ok := strings.CutPrefix(s, trunk); ok && digitsOf(rest) == 10 {
			return strings.TrimLeft(rest, " -.")
		}
	}
	return s
}

// unbroken puts one number that was broken onto one line: "+1 514\n555 0123". Digits on a line beside a whole number
// are refused: "+1 514 555 0123\n12". Several numbers stay as they are, for withoutNotation to refuse.
func unbroken(s, region string) (string, *refusal) {
	if !strings.ContainsAny(s, lineEnds) || moreThanOne(s) {
		return s, nil
	}
	all := lines(s)
	for _, line := range all {
		if _, _, wrong := readPhone(line, region); wrong == nil && len(all) > 1 {
			return "", oddLine
		}
	}
	return strings.Join(strings.Fields(s), " "), nil
}

// withoutNotation undoes the notation of programs, "5.145550123E9" and "15145550123.0", and refuses what is more than
// a number, or has lost digits.
func withoutNotation(s string) (string, *refusal) {
	if compact, ok := plainNumber(s); ok {
		return compact, nil
	}
	if whole := unscaled(s); whole != "" {
		s = whole
	} else if scientific.MatchString(s) {
		return "", rounded
	}
	if m := thousands.FindStringSubmatch(s); m != nil {
		s = ungrouped.Replace(m[1])
	}
	if m := decimal.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	switch {
	case extension.MatchString(s):
		return "", extended
	case moreThanOne(s):
		return "", many
	case strings.ContainsFunc(s, unicode.IsLetter):
		return "", lettered
	}
	return s, nil
}

// numberOf reads a number of a region, or one that begins with + where region is "".
func numberOf(s, region string) (phone, country string, why *refusal) {
	number, err := parse(s, region)
	switch {
	case err != nil && region == "":
		return "", "", wrongCode
	case err != nil: // the library has a number even so, of no country
		return "", "", noNumber
	}
	if phone, country, ok := valid(number); ok {
		if number.GetExtension() != "" { // "…,12": a pause, and what is dialled after it
			return "", "", extended
		}
		return phone, country, nil
	}
	where := "of region " + region
	if region == "" {
		where = fmt.Sprint("with country code +", number.GetCountryCode())
	}
	why = &refusal{code: CodePhone}
	switch phonenumbers.IsPossibleNumberWithReason(number) {
	case phonenumbers.TOO_SHORT:
		why.message = "is too short for a number " + where + "; add the missing digits"
	case phonenumbers.TOO_LONG:
		why.message = "is too long for a number " + where + "; remove digits, or write + before a country code"
		why.tooLong = true
	default:
		why.message = "is not a number that exists " + where + "; correct it"
	}
	return "", "", why
}

// mobileOf reads a mobile number of a region that has its country code and no +. The library takes the code for digits
// of a landline where these may be as long: in Germany 4917612345678 would be 04917 612345678.
func mobileOf(s string, digits int, region string) (phone, country string, ok bool) {
	if digits < 11 || !strings.HasPrefix(s, strconv.Itoa(phonenumbers.GetCountryCodeForRegion(region))) {
		return "", "", false
	}
	number, err := parse("+"+s, "")
	if err != nil || number.GetExtension() != "" || phonenumbers.GetNumberType(number) != phonenumbers.MOBILE {
		return "", "", false
	}
	phone, country, ok = valid(number)
	return phone, country, ok && country == region
}

// unscaled is a number in scientific notation that has all of its digits, as programs write them, "5.145550123E9"; ""
// for any other. A spreadsheet rounds to fewer.
func unscaled(s string) string {
	m := exact.FindStringSubmatch(s)
	if m == nil || strconv.Itoa(len(m[2])) != m[3] {
		return ""
	}
	return m[1] + m[2]
}

// twoNumbers says that a cell is one number and then another, whatever stands between them.
func twoNumbers(s, region string) bool {
	if len(s) > 100 {
		return false
	}
	for i := 1; i < len(s); i++ {
		if begins := s[i] == '+' || isDigit(s[i]) && !isDigit(s[i-1]) && s[i-1] != '+'; !begins {
			continue
		}
		if _, ok := existing(s[:i], region); !ok {
			continue
		}
		if _, ok := existing(s[i:], region); ok {
			return true
		}
	}
	return false
}

// existing is a part of a cell that is a number by itself.
func existing(part, region string) (*phonenumbers.PhoneNumber, bool) {
	part = strings.TrimRightFunc(strings.TrimSpace(part), trailing)
	if strings.HasPrefix(part, "+") {
		region = ""
	}
	number, err := parse(part, region)
	if err != nil || digitsOf(part) < 7 {
		return nil, false
	}
	_, ok := countryOf(number)
	return number, ok
}

// ending is the end of another line behind a number: "030 2312545/46". A stroke before the last three digits may as
// well stand between the pairs of one number, "06/12/34/56/78".
var ending = regexp.MustCompile(`^([^/]*[0-9]|.*[0-9]{5,})\s*/\s*-?\s*[0-9]{1,3}$`)

// secondEnding says that a cell is a number and the last digits of another.
func secondEnding(s, region string) bool {
	if !strings.Contains(s, "/") { // the pattern takes longer, and every number comes here
		return false
	}
	m := ending.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	_, ok := existing(m[1], region)
	return ok
}

// trailed says that a cell, which as a whole would be a number abroad, is one of the region as it is written there, and
// then further digits: "917-234-5678 12" is none of India. One that stands in the groups of its own country is whole.
func trailed(s, phone, region string) bool {
	all := groups(s)
	if region == "" || len(all) < 2 || len(all) > 7 {
		return false
	}
	if abroad, err := parse(phone, ""); err == nil &&
		slices.Equal(all, groups(phonenumbers.Format(abroad, phonenumbers.INTERNATIONAL))) {
		return false
	}
	for n := 1; n < len(all); n++ {
		number, ok := existing(strings.Join(all[:n], " "), region)
		if ok && (n == 1 || slices.Equal(all[:n], groups(phonenumbers.Format(number, phonenumbers.NATIONAL)))) {
			return true
		}
	}
	return false
}

// longer says that a cell, which would be a number abroad, is one of the region as it is written there, with a digit
// too many at its end: "613-555-01234" is none of Australia.
func longer(s, region string) bool {
	all := groups(s)
	if region == "" || len(all) < 2 || len(all) > 7 {
		return false
	}
	last := &all[len(all)-1]
	*last = (*last)[:len(*last)-1]
	number, ok := existing(strings.Join(all, " "), region)
	return ok && slices.Equal(all, groups(phonenumbers.Format(number, phonenumbers.NATIONAL)))
}

// ownPlus says that a number with a +, which would be one abroad, is one of the region as it is written there:
// "+514 234-5678" is none of Peru.
func ownPlus(s, phone, region string) bool {
	all := groups(s)
	if region == "" || len(all) < 3 || len(all) > 7 {
		return false
	}
	if abroad, err := parse(phone, ""); err == nil &&
		slices.Equal(all, groups(phonenumbers.Format(abroad, phonenumbers.INTERNATIONAL))) {
		return false
	}
	number, ok := existing(strings.Join(all, " "), region)
	return ok && slices.Equal(all, groups(phonenumbers.Format(number, phonenumbers.NATIONAL)))
}

// groups are the groups of digits in a number.
func groups(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsDigit(r) })
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// plainNumber is a number of digits, spaces, hyphens and parentheses only, and a + before them, without all but the +
// and the digits: the library looks at nothing else of such a number, and takes half as long.
func plainNumber(s string) (compact string, ok bool) {
	b := make([]byte, 0, 32)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '+' && i == 0:
			b = append(b, c)
		case c != ' ' && c != '-' && c != '(' && c != ')':
			return "", false
		}
	}
	return string(b), true
}

// withoutPlus reads an international number that has lost its +, or begins with 00. Without the 00 it has 11 digits or
// more, and is too long for the region.
func withoutPlus(s string, digits int, tooLong bool) (phone, country string, ok bool) {
	rest, zeros := strings.CutPrefix(s, "00")
	if !zeros && (digits < 11 || !tooLong) || strings.HasPrefix(rest, "0") {
		return "", "", false
	}
	number, err := parse("+"+rest, "")
	if err != nil {
		return "", "", false
	}
	return valid(number)
}

// valid is the number in E.164 and its country, where it can exist.
func valid(number *phonenumbers.PhoneNumber) (phone, country string, ok bool) {
	phone = phonenumbers.Format(number, phonenumbers.E164)
	if country, ok := countryOf(number); ok {
		return phone, country, true
	}
	if other := canonical(phone); other != phone {
		if number, err := parse(other, ""); err == nil {
			if country, ok := countryOf(number); ok {
				return phone, country, true
			}
		}
	}
	return "", "", false
}

// countryOf is the country of a number that can exist.
func countryOf(number *phonenumbers.PhoneNumber) (string, bool) {
	region := phonenumbers.GetRegionCodeForNumber(number)
	if region == "" || !phonenumbers.IsValidNumberForRegion(number, region) {
		return "", false
	}
	if region == phonenumbers.REGION_CODE_FOR_NON_GEO_ENTITY {
		region = ""
	}
	return region, true
}

// cleanPhone removes what is around a number and what cannot be seen.
func cleanPhone(s string) string {
	if !isASCII(s) {
		s = strings.Map(func(r rune) rune {
			switch {
			case invisible(r):
				return -1
			case r == '·' || r == '∙': // between groups of digits
				return ' '
			case r == '➕':
				return '+'
			case r == '\u0085', r == '\u2028', r == '\u2029':
				return '\n'
			case unicode.IsSpace(r) && r > unicode.MaxASCII:
				return ' '
			case unicode.Is(unicode.Pd, r), r == '\u2212':
				return '-'
			case unicode.IsDigit(r) && r > unicode.MaxLatin1: // of other scripts, of which the library knows a few
				return asciiDigit(r)
			}
			return r
		}, norm.NFKC.String(s))
	}
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, `="`); ok {
		s = strings.TrimSuffix(inner, `"`)
	}
	s = strings.TrimSpace(strings.TrimLeft(strings.Trim(s, `"`), "'’`"))
	if _, query, ok := strings.Cut(s, "?phone="); ok && strings.Contains(s, "whatsapp") { // api.whatsapp.com/send
		query, _, _ = strings.Cut(query, "&")
		s = "+" + strings.TrimPrefix(strings.TrimPrefix(query, "%2B"), "+")
	}
	for _, p := range prefixes {
		if len(s) > len(p) && strings.EqualFold(s[:len(p)], p) {
			s = strings.TrimSpace(s[len(p):])
			break
		}
	}
	for _, server := range []string{"@s.whatsapp.net", "@c.us"} {
		if id, ok := strings.CutSuffix(s, server); ok {
			s = "+" + strings.TrimPrefix(id, "+")
		}
	}
	if _, path, ok := strings.Cut(s, "wa.me/"); ok && (strings.HasPrefix(s, "http") || strings.HasPrefix(s, "wa.me")) {
		path, _, _ = strings.Cut(path, "?")
		s = "+" + strings.TrimPrefix(path, "+")
	}
	if i := strings.IndexByte(s, '+'); i > 0 && strings.IndexFunc(s[:i], meaning) < 0 { // "(+1) 514 …"
		s = s[i:]
	}
	if strings.ContainsFunc(s, unicode.IsLetter) {
		s = unlabelled(s)
	}
	return strings.TrimRightFunc(s, trailing)
}

// asciiDigit is the digit of ASCII that a digit of any script means: they stand together there, from nought on.
func asciiDigit(r rune) rune {
	n := rune(0)
	for unicode.IsDigit(r - n - 1) {
		n++
	}
	return '0' + n%10
}

// meaning says that a character before a + is more than a bracket or a sign.
func meaning(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+*?", r)
}

// trailing says that a character behind a number is none of it: punctuation, closing quotes and brackets, signs such as
// ✔. Those that may stand for a digit, such as ? and * and █, are left to the library.
func trailing(r rune) bool {
	switch {
	case unicode.IsSpace(r), unicode.In(r, unicode.Pd, unicode.Pe, unicode.Pf, unicode.Pi):
		return true
	case unicode.Is(unicode.So, r):
		return r < 0x2500 || r > 0x25FF
	}
	return strings.ContainsRune(",;:.!_'\"`´|/\\~=>^", r)
}

// lines are what stands on the lines of a cell, without those that have no digit.
func lines(s string) (all []string) {
	for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return strings.ContainsRune(lineEnds, r) }) {
		if digitsOf(line) > 0 {
			all = append(all, line)
		}
	}
	return all
}

const lineEnds = "\n\r\v\f"

// moreThanOne says that there are separators with a number on both sides.
func moreThanOne(s string) bool {
	n := 0
	for _, part := range several.Split(s, -1) {
		if digitsOf(part) >= 7 {
			n++
		}
	}
	return n > 1
}

func digitsOf(s string) (n int) {
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// invisible says that a character has no width or nothing to see: marks of direction, joiners, selectors of variants,
// fillers, tags, the byte order mark, the frame around a keycap, the blank of Braille.
func invisible(r rune) bool {
	switch r {
	case 0x20E3, 0x2800, 0xFFFC:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func withoutInvisible(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, s)
}

// seen is a text of people without invisible characters, but for joiners between characters that need them: letters of
// other scripts and parts of an emoji.
func seen(s string) string {
	if !strings.ContainsFunc(s, invisible) {
		return s
	}
	joins := func(r rune) bool { return r >= 0x0590 && !invisible(r) && !unicode.IsSpace(r) }
	runes := []rune(s)
	out := make([]rune, 0, len(runes))
	for i, r := range runes {
		if !invisible(r) {
			out = append(out, r)
			continue
		}
		if r != 0x200C && r != 0x200D || i+1 == len(runes) || !joins(runes[i+1]) {
			continue
		}
		if n := len(out); n > 0 && joins(out[n-1]) {
			out = append(out, r)
		}
	}
	return string(out)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
