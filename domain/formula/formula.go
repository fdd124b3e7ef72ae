// Package formula keeps spreadsheets from taking a cell of a file that we write for a formula (OWASP, CSV Injection).
package formula

import (
	"strings"
	"unicode/utf8"
)

// Escape is a cell that no spreadsheet takes for a formula: where it might, with a ' before it. Telephone numbers in
// E.164 stay as they are. Apostrophes that stand there already count, so that Unescape is the inverse.
func Escape(cell string) string {
	if begins(strings.TrimLeft(cell, "'")) && !isE164(cell) {
		return "'" + cell
	}
	return cell
}

// Unescape is the cell that Escape was given.
func Unescape(cell string) string {
	if strings.HasPrefix(cell, "'") && begins(strings.TrimLeft(cell, "'")) {
		return cell[1:]
	}
	return cell
}

// begins says that a cell begins as a formula does.
func begins(cell string) bool {
	r, _ := utf8.DecodeRuneInString(cell)
	switch r {
	case '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
		return true
	}
	return false
}

// isE164 says that a cell is + and 6 to 15 digits, nothing else.
func isE164(s string) bool {
	if len(s) < 7 || len(s) > 16 || s[0] != '+' {
		return false
	}
	return strings.Trim(s[1:], "0123456789") == ""
}
