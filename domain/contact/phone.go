package contact

import (
	"fmt"
	"regexp"
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
	decimal    = regexp.MustCompile(`^([0-9]{7,15})[.,]0+$`)
	extension  = regexp.MustCompile(`(?i)[0-9)][\s,;.-]*(?:ext(?:ension|n)?|x|poste|int(?:erno)?|ramal|;ext=|#)[\s.:=]*[0-9]{1,7}$`)
	several    = regexp.MustCompile(`(?i)[/;,|\n]|\s(?:or|ou|and|et|y|o|&)\s`)
	prefixes   = []string{"whatsapp:", "tel:", "phone:", "callto:", "sms:", "p:"}
)

func readPhone(cell, region string) (phone, country string, problem *Problem) {
	s := cleanPhone(cell)
	refuse := func(code, message string) (string, string, *Problem) {
		return "", "", &Problem{Code: code, Message: excerpt(cell) + " " + message}
	}
	if compact, ok := plainNumber(s); ok {
		s = compact
	} else {
		if scientific.MatchString(s) {
			return refuse(CodeScientific, "is in scientific notation: a spreadsheet has dropped digits. Format the column as "+
				"text (or as a number without decimals), and export it again")
		}
		if m := decimal.FindStringSubmatch(s); m != nil {
			s = m[1]
		}
		if extension.MatchString(s) {
			return refuse(CodeExtension, "has an extension, which cannot be written to; give a direct number, or remove the "+
				"extension if the main number has WhatsApp")
		}
		if moreThanOne(s) {
			return refuse(CodeSeveral, "is more than one number; keep one, and put others into columns of their own")
		}
		if strings.ContainsFunc(s, unicode.IsLetter) {
			return refuse(CodeLetters, "has letters; write the digits")
		}
	}
	digits := digitsOf(s)
	international := strings.HasPrefix(s, "+")
	if digits < 4 || digits > 17 {
		return refuse(CodePhone, "is no telephone number; correct it")
	}
	var number *phonenumbers.PhoneNumber
	tooLong := region == ""
	if international || region != "" {
		of := region
		if international {
			of = ""
		}
		var err error
		if number, err = parse(s, of); err == nil {
			if phone, country, ok := valid(number); ok {
				return phone, country, nil
			}
			tooLong = phonenumbers.IsPossibleNumberWithReason(number) == phonenumbers.TOO_LONG
		}
	}
	if !international {
		if phone, country, ok := withoutPlus(s, digits, tooLong); ok {
			return phone, country, nil
		}
		if region == "" {
			return refuse(CodeCountry, "has no country code; write it with + and the code (+1 514 555 0123), or give the "+
				"region of the numbers")
		}
	}
	if number == nil {
		return refuse(CodePhone, "is no telephone number; check the country code after the +")
	}
	where := "of region " + region
	if international {
		where = fmt.Sprint("with country code +", number.GetCountryCode())
	}
	switch phonenumbers.IsPossibleNumberWithReason(number) {
	case phonenumbers.TOO_SHORT:
		return refuse(CodePhone, "is too short for a number "+where+"; add the missing digits")
	case phonenumbers.TOO_LONG:
		return refuse(CodePhone, "is too long for a number "+where+"; remove digits, or write + before a country code")
	}
	return refuse(CodePhone, "is no number that exists "+where+"; correct it")
}

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
			case unicode.IsSpace(r):
				return ' '
			case unicode.Is(unicode.Pd, r), r == '\u2212':
				return '-'
			case unicode.IsDigit(r) && r > unicode.MaxLatin1: // of other scripts
				return r
			}
			return r
		}, norm.NFKC.String(s))
	}
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, `="`); ok {
		s = strings.TrimSuffix(inner, `"`)
	}
	s = strings.TrimSpace(strings.TrimLeft(strings.Trim(s, `"`), "'’`"))
	for _, p := range prefixes {
		if len(s) > len(p) && strings.EqualFold(s[:len(p)], p) {
			s = strings.TrimSpace(s[len(p):])
			break
		}
	}
	if _, path, ok := strings.Cut(s, "wa.me/"); ok && (strings.HasPrefix(s, "http") || strings.HasPrefix(s, "wa.me")) {
		path, _, _ = strings.Cut(path, "?")
		s = "+" + strings.TrimPrefix(path, "+")
	}
	return s
}

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

// invisible says that a character has no width: marks of direction, joiners, the byte order mark.
func invisible(r rune) bool {
	switch r {
	case 0x00AD, 0x061C, 0xFEFF, 0x2060:
		return true
	}
	return r >= 0x200B && r <= 0x200F || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
