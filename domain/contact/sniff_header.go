package contact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// headed settles where the table begins, and its header.
func (s *sniffer) headed(recs []read) error {
	f := &s.plan.Format
	if len(recs) == 0 {
		return fault.Newf(fault.Invalid, "the file has no record in its first %d KiB; look for a missing line break",
			sniffBytes>>10)
	}
	at, why := s.tableAt(recs)
	if at < 0 {
		return fault.Newf(fault.Invalid, "skip is %d, but the file has only %d lines", *s.options.Skip,
			recs[len(recs)-1].line)
	}
	header := recs[at]
	f.Skip = int(header.line) - 1
	if s.options.Skip != nil {
		f.Skip = *s.options.Skip
	}
	if f.Skip > 0 {
		s.reason("skip", fmt.Sprint(f.Skip), s.options.Skip != nil, "the lines before line %d are not of the table", f.Skip+1)
	}
	f.Header = why != ""
	if s.options.Header != nil {
		f.Header = *s.options.Header
	}
	if header.bad && f.Header {
		return fault.Newf(fault.Invalid, "line %d: the header has a quote that is not closed, or is longer than %d KiB; "+
			"correct the line", header.line, MaxRecord>>10)
	}
	if !f.Header {
		why = "no record looks like the names of columns"
	}
	s.reason("header", fmt.Sprint(f.Header), s.options.Header != nil, "%s", why)
	s.from = header.offset
	if !f.Header {
		width := 0
		for _, r := range recs[at:] {
			width = max(width, len(r.cells))
		}
		f.Columns = make([]string, width)
	} else {
		f.HeaderText = storable(header.raw)
		for _, c := range header.cells {
			f.Columns = append(f.Columns, cleanHeader(c))
		}
		if at > 0 && s.options.Skip == nil {
			s.groups = groupsOf(recs[at-1], f.Columns)
		}
	}
	if len(f.Columns) > MaxColumns {
		return fault.Newf(fault.Invalid, "line %d has %d columns, and at most %d are read; check the delimiter, or delete "+
			"columns", header.line, len(f.Columns), MaxColumns)
	}
	return nil
}

// tableAt is the record that the table begins with, and why it is taken for a header; "" for a table without one. It is
// -1 where the lines that are to be skipped are all there are.
func (s *sniffer) tableAt(recs []read) (at int, why string) {
	start := 0
	if s.options.Skip != nil {
		start = slices.IndexFunc(recs, func(r read) bool { return r.line > int64(*s.options.Skip) })
		if start < 0 {
			return -1, ""
		}
	} else if separator(recs[0].raw) != 0 && len(recs) > 1 {
		start = 1
	}
	last := start + 1
	if s.options.Skip == nil {
		last = min(len(recs), start+preambleMax)
	}
	widest := 0 // of the records before
	for i := start; i < last; i++ {
		r := recs[i]
		known, values := r.headers()
		if n := r.filled(); known > 0 && !values && (n > widest || known > 1 && n == widest) {
			return lowest(recs[:last], i), "its cells are names of columns that are known"
		}
		widest = max(widest, r.filled())
	}
	if r := recs[start]; len(recs) > start+1 && !r.bad && distinct(r.cells) && !slices.ContainsFunc(r.cells, valueLike) {
		for _, below := range recs[start+1:] {
			for i, c := range below.cells {
				if i < len(r.cells) && strings.TrimSpace(r.cells[i]) != "" && valueLike(c) {
					return start, "its cells are words where those below are numbers or addresses"
				}
			}
		}
	}
	if len(recs) == start+1 && !slices.ContainsFunc(recs[start].cells, valueLike) {
		return start, "its only record has no numbers or addresses"
	}
	return start, ""
}

// groupsOf are the groups of columns that a row above the header names, in the first cell of each; none where no two
// columns of different groups have one name, as the row is then a title: "Old customers,,2024".
func groupsOf(above read, columns []string) (groups []string) {
	if len(above.cells) > len(columns) {
		return nil
	}
	group, twice, of := "", false, map[string]string{}
	for i, name := range columns {
		if i < len(above.cells) && strings.TrimSpace(above.cells[i]) != "" {
			group = above.cells[i]
		}
		groups = append(groups, group)
		if name = fold(name); name != "" {
			before, ok := of[name]
			twice = twice || ok && before != group
			of[name] = group
		}
	}
	if !twice {
		return nil
	}
	return groups
}

// headers are how many names of columns a record has, and whether it has values. Years, dates and numbers are names of
// columns beside those of several known ones, one of which is of telephone numbers or addresses.
func (r read) headers() (known int, values bool) {
	reaches := false
	seen := make(map[string]bool, len(r.cells))
	for _, c := range r.cells {
		values = values || valueLike(c)
		reaches = reaches || reaching(c) && !isDate(c)
		if knownHeader(c) && !seen[fold(c)] {
			seen[fold(c)] = true
			known++
		}
	}
	return known, values && (known < 2 || reaches || !r.reached())
}

// reached says that a record names a column of telephone numbers or addresses.
func (r read) reached() bool {
	return slices.ContainsFunc(r.cells, func(c string) bool {
		k, _ := meaningOf(c)
		return k.field == FieldPhone || k.field == FieldEmail
	})
}

// lowest is the header of a table whose header at i may be the first of several rows: groups of columns, and below them
// their names. It is the one that names the most columns, before any row with values.
func lowest(recs []read, i int) int {
	at := i
	most, _ := recs[i].headers()
	for j := i + 1; j < len(recs); j++ {
		known, values := recs[j].headers()
		if values {
			break
		}
		if known > most && recs[j].reached() && recs[j].filled() >= recs[at].filled() {
			at, most = j, known
		}
	}
	return at
}

func distinct(cells []string) bool {
	seen := map[string]bool{}
	for _, c := range cells {
		if c = strings.TrimSpace(c); c != "" && seen[c] {
			return false
		}
		seen[c] = true
	}
	return len(seen) > 0
}

// valueLike says that a cell is a value and no name of a column: a telephone number, an address, a number, a date.
func valueLike(cell string) bool {
	cell = strings.TrimSpace(cell)
	if cell == "" || len(cell) > 100 {
		return false
	}
	if i := strings.IndexByte(cell, '@'); i > 0 && strings.IndexByte(cell[i:], '.') > 0 && !strings.Contains(cell, " ") {
		return true
	}
	digits, others := 0, 0
	for _, r := range cell {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case !strings.ContainsRune("+-()./: '", r):
			others++
		}
	}
	return digits > 0 && others == 0 || digits >= 7 && others <= 2
}

// separator is the delimiter that a line says for Excel, "sep=;", also in quotes and with delimiters behind it, as it
// stands there once the file was saved again; 0 = none.
func separator(line string) byte {
	line = strings.Trim(line, "\"\r")
	if len(line) < 5 || !strings.EqualFold(line[:4], "sep=") || strings.IndexByte(rareDelimiters, line[4]) < 0 ||
		strings.Trim(line[5:], line[4:5]+`"`) != "" {
		return 0
	}
	return line[4]
}
