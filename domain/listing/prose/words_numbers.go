package prose

import (
	"strings"
	"unicode/utf8"
)

// figureEnd returns the end of the digits at i, before the sign of a fraction that touches them: "1235½" is no 12351.
func (p *Prose) figureEnd(i int) int {
	j := i + 1
	for j < len(p.fold) && isDigit(p.fold[j]) && p.text[p.at[j]] < utf8.RuneSelf {
		j++
	}
	return j
}

// readNumber reads the number at i, of which the first digits end at j: a room count in any of its spellings, a decimal
// with comma or point, thousands with comma or point ("1,250.50"). Thousands with a space are left to the reader of
// money.
func (t *token) readNumber(s string, i, j int) int {
	var v int64
	for k := i; k < j && v < 1e14; k++ {
		v = v*10 + int64(s[k]-'0')
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

func slash(c byte) bool { return c == '/' || c == '\\' }

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
	if j-i == 1 && strings.HasPrefix(s[j:], "-1-2") && char(s, i-1) != '-' && char(s, j+4) != '-' && !isDigit(char(s, j+4)) {
		return j + len("-1-2"), false
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

var numberWords = map[string]int{
	"un": 1, "une": 1, "one": 1, "deux": 2, "two": 2, "trois": 3, "three": 3, "quatre": 4, "four": 4,
	"cinq": 5, "five": 5, "six": 6, "sept": 7, "seven": 7,
}
