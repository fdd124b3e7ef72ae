package contact

import (
	"net/mail"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// ReadEmail reads an e-mail address, also one with a name or mailto: before it, and of several in the notation of
// Google Contacts ("a ::: b") the first. The domain becomes lower case and ASCII; the local part stays as it is. An
// address that mail cannot be sent to is a Problem without a Field.
func ReadEmail(cell string) (address string, problem *Problem) {
	s, _, _ := strings.Cut(cell, ":::")
	s = strings.TrimSpace(withoutInvisible(s))
	if len(s) > 7 && strings.EqualFold(s[:7], "mailto:") {
		s, _, _ = strings.Cut(strings.TrimSpace(s[7:]), "?")
	}
	s = bareAddress(s)
	refuse := func(message string) (string, *Problem) {
		return "", &Problem{Code: CodeEmail, Message: excerpt(cell) + " " + message}
	}
	if !plainAddress(s) {
		parsed, err := mail.ParseAddress(s)
		if err != nil {
			if strings.Count(s, "@") > 1 {
				return refuse("is more than one e-mail address; keep one")
			}
			return refuse("is no e-mail address; write it as name@example.com, or leave it empty")
		}
		s = strings.Trim((&mail.Address{Address: parsed.Address}).String(), "<>") // a local part in quotes keeps them
	}
	at := strings.LastIndexByte(s, '@')
	local, domain := s[:at], strings.TrimSuffix(s[at+1:], ".")
	if !isASCII(domain) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return refuse("has no domain that can exist; correct what follows the @")
		}
		domain = ascii
	}
	domain = strings.ToLower(domain)
	if len(local) > 64 || len(domain) > 253 {
		return refuse("is too long for an e-mail address; correct it")
	}
	labels := strings.Split(domain, ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' || strings.Trim(l, hostBytes) != "" {
			return refuse("has no domain that can exist; correct what follows the @")
		}
	}
	if len(labels) < 2 || strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return refuse("has no domain that can exist; correct what follows the @")
	}
	return local + "@" + domain, nil
}

// bareAddress is an address without what people and programs put around it: quotes in pairs, a comma or semicolon of a
// list, "Roy, Bob <…>" without the quotes that the name needs.
func bareAddress(s string) string {
	s = strings.Map(narrow, strings.TrimRight(strings.Trim(s, " ,;\u00a0"), "."))
	for _, q := range []string{"''", `""`, "‘’", "“”", "«»", "<>"} {
		open, size := utf8.DecodeRuneInString(q)
		if inner, ok := strings.CutPrefix(s, string(open)); ok {
			if inner, ok := strings.CutSuffix(inner, q[size:]); ok {
				s = strings.TrimSpace(inner)
			}
		}
	}
	if i := strings.LastIndexByte(s, '<'); i > 0 && strings.HasSuffix(s, ">") && !strings.Contains(s[:i], `"`) {
		inner := strings.TrimPrefix(strings.TrimSpace(s[i+1:len(s)-1]), "mailto:")
		if before := strings.TrimSpace(s[:i]); !strings.Contains(before, "@") || strings.EqualFold(before, inner) {
			s = inner
		}
	}
	return strings.Trim(s, "'‘’`") // one that has lost its pair, or says to a spreadsheet that the cell is text
}

// narrow is a character as ASCII has it, where it is one of full width.
func narrow(r rune) rune {
	if r >= '！' && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

const hostBytes = "abcdefghijklmnopqrstuvwxyz0123456789-"

// plainAddress says that s is an address of letters, digits and the usual marks, which needs no parser.
func plainAddress(s string) bool {
	at := -1
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '+' && at < 0:
		case c == '.' && i > 0 && s[i-1] != '.' && s[i-1] != '@' && i < len(s)-1 && s[i+1] != '@':
		case c == '@' && at < 0 && i > 0:
			at = i
		default:
			return false
		}
	}
	return at > 0 && at < len(s)-1
}
