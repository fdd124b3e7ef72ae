package contact

import (
	"bytes"
	"math"
	"strings"
)

// delimiters in the order of preference among equals.
var delimiters = []byte{',', ';', '\t', '|'}

// rareDelimiters are all that may be given.
const rareDelimiters = ",;\t|:^~"

// delimited settles delimiter and quote.
func (s *sniffer) delimited() error {
	f := &s.plan.Format
	if (f.Container == XLSX || f.Cards) && !f.Wrapped {
		f.Delimiter, f.Quote = ",", `"`
		return nil
	}
	given := s.options.delimiter()
	quotes := []string{`"`}
	switch q := s.options.Quote; q {
	case "":
		if bytes.Count(s.text, []byte("'")) >= 4 {
			quotes = append(quotes, "'")
		}
	case `"`, "'":
		quotes = []string{q}
	case "none":
		quotes = []string{""}
	}
	escape := s.escape()
	candidates := delimiters
	why := ""
	line, _, _ := bytes.Cut(s.text, []byte(f.Newline))
	if said := separator(string(line)); given != "" {
		candidates = []byte{given[0]}
	} else if said != 0 {
		candidates, why = []byte{said}, "the first line says so"
	}
	best := -1.0
	for _, q := range quotes {
		for _, c := range candidates {
			d := dialect{delimiter: c, newline: f.Newline[0]}
			if q != "" {
				d.quote = q[0]
			}
			if escape != "" && q == `"` {
				d.escape = escape[0]
			}
			if score := uniform(s.records(d)); score > best+1e-9 {
				best, f.Delimiter, f.Quote, f.Escape = score, string(rune(c)), q, string(d.escape)
			}
		}
	}
	if best <= 0 && given == "" && why == "" {
		f.Delimiter, why = ",", "no character divides the lines, so there is one column"
	}
	if why == "" {
		why = "it divides the lines into cells most evenly"
	}
	s.reason("delimiter", show(f.Delimiter), given != "", "%s", why)
	if f.Escape = strings.Trim(f.Escape, "\x00"); f.Escape != "" || s.options.Escape != "" {
		s.reason("escape", show(f.Escape), s.options.Escape != "", `there are quotes with \ before them, and none that are doubled`)
	}
	if f.Quote != `"` || s.options.Quote != "" {
		s.reason("quote", show(f.Quote), s.options.Quote != "", "cells begin and end with it")
	}
	return nil
}

// escape is the backslash where quotes within cells have it before them, and none is doubled.
func (s *sniffer) escape() string {
	if s.options.Escape != "" {
		return strings.TrimSuffix(s.options.Escape, "none")
	}
	backslashes := false
	for rest := s.text; ; {
		i := bytes.IndexByte(rest, '"')
		if i < 0 || i+1 >= len(rest) {
			break
		}
		before, after := byte('\n'), rest[i+1]
		if i > 0 {
			before = rest[i-1]
		}
		if before == '\\' && bytes.IndexByte([]byte(",;\t|\r\n"), after) < 0 {
			backslashes = true
		}
		if after == '"' && bytes.IndexByte([]byte(",;\t|\r\n"), before) < 0 {
			return ""
		}
		rest = rest[i+1:]
	}
	if backslashes {
		return `\`
	}
	return ""
}

func show(s string) string {
	switch s {
	case "\t":
		return "tab"
	case "":
		return "none"
	}
	return s
}

// uniform scores how well records fit a table: as many cells in each, cells that are telephone numbers, addresses and
// the like whole, headers that are known. It is 0 for a single column.
func uniform(recs []read) float64 {
	counts := map[int]int{}
	for _, r := range recs {
		counts[len(r.cells)]++
	}
	columns, most := 1, 0
	for n, c := range counts {
		if n > 1 && (c > most || c == most && n > columns) {
			columns, most = n, c
		}
	}
	if columns == 1 {
		return 0
	}
	typed, rows, known, bad := 0, 0, 0, 0
	for i, r := range recs {
		if r.bad {
			bad++
		}
		headers, values := 0, false
		for _, c := range r.cells {
			if valueLike(c) {
				values = true
			}
			if i < preambleMax && knownHeader(c) {
				headers++
			}
		}
		known = max(known, headers)
		rows++
		if values {
			typed++
		}
	}
	n := float64(len(recs))
	return float64(most)/n + 0.5*float64(typed)/float64(rows) + 0.3*min(float64(known), 3)/3 +
		0.1*math.Log2(float64(columns)) - 0.5*float64(bad)/n
}
