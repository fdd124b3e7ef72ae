package contact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// dialect is how the text of a file is cut into records and cells. encoding/csv is not used: it turns the \r\n of a
// quoted cell into \n, has no other quote, and has the choice only between refusing a file for one bad quote and
// reading the rest of it as one cell.
type dialect struct {
	delimiter byte
	quote     byte // 0 = none
	escape    byte // before a quote that is text within a quoted cell; 0 = such a quote is doubled
	newline   byte // '\n' (a \r before it belongs to it), or '\r' in files of old Macs
	columns   int  // of the header; 0 = not known
}

// record is one record of a text, without its line end.
type record struct {
	raw    []byte // valid until the next call; of a record that is too long, its beginning
	offset int64  // of its first byte in the text
	line   int64  // that it begins on, from 1
	code   string // CodeQuote or CodeRecordBytes; then raw is (the beginning of) one physical line
	column int    // of the bad quote, in characters from 1
}

// records reads a text record by record, in memory of a few MaxRecord.
//
// A quote that is never closed must not swallow the file. A quoted cell ends at a quote before a delimiter or a line
// end. Another single quote within it is text where that is beyond doubt: on the same physical line, and not at the
// beginning of another cell. Where there is doubt, where the cell is not closed within MaxRecord, or where its line
// breaks leave the record with fewer cells than the header, the physical line with the opening quote is a bad record of
// its own, and reading goes on at the line after it.
type records struct {
	dialect
	src    io.Reader
	buf    []byte
	start  int // of what is not read yet
	eof    bool
	err    error
	offset int64 // of buf[start]
	line   int64 // of buf[start], from 1
}

func newRecords(src io.Reader, d dialect, at Position) *records {
	return &records{dialect: d, src: src, offset: at.Offset, line: at.Line}
}

// fill reads on, and says whether there is more in the buffer than before.
func (r *records) fill() bool {
	if r.eof {
		return false
	}
	if r.start > 0 && (r.start >= len(r.buf)/2 || len(r.buf) == cap(r.buf)) {
		r.buf = r.buf[:copy(r.buf, r.buf[r.start:])]
		r.start = 0
	}
	if len(r.buf) == cap(r.buf) {
		grown := make([]byte, len(r.buf), max(64<<10, 2*cap(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if err != nil {
			r.eof = true
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
	r.eof, r.err = true, io.ErrNoProgress
	return false
}

// take passes the next n bytes, which have so many line ends.
func (r *records) take(n int, lines int64) {
	r.start += n
	r.offset += int64(n)
	r.line += lines
}

// physical is the length of the physical line at the start, without and with its line end; ok is false where it is
// longer than MaxRecord. At the end of the text both are 0.
func (r *records) physical() (end, next int, ok bool) {
	from := 0
	for {
		rest := r.buf[r.start:]
		if i := bytes.IndexByte(rest[from:], r.newline); i >= 0 {
			return from + i, from + i + 1, from+i <= MaxRecord
		}
		from = len(rest)
		if from > MaxRecord {
			return from, from, false
		}
		if !r.fill() {
			rest = r.buf[r.start:]
			return len(rest), len(rest), true
		}
	}
}

// skipLine passes one physical line, of any length, and returns its beginning.
func (r *records) skipLine() (begin []byte) {
	end, next, whole := r.physical()
	if next == 0 {
		return nil
	}
	begin = trimCR(r.buf[r.start:r.start+end], r.newline)
	if whole {
		lines := int64(0)
		if next > end {
			lines = 1
		}
		r.take(next, lines)
		return begin
	}
	begin = bytes.Clone(begin[:min(len(begin), excerptBytes)])
	for {
		rest := r.buf[r.start:]
		if i := bytes.IndexByte(rest, r.newline); i >= 0 {
			r.take(i+1, 1)
			return begin
		}
		r.take(len(rest), 0)
		if !r.fill() {
			return begin
		}
	}
}

// excerptBytes of a record that is too long are shown.
const excerptBytes = 1000

// next returns the next record that is not blank; ok is false at the end, or when err is set.
func (r *records) next() (rec record, ok bool) {
	for {
		end, next, whole := r.physical()
		if r.err != nil || next == 0 {
			return record{}, false
		}
		rec = record{offset: r.offset, line: r.line}
		if !whole {
			rec.code = CodeRecordBytes
			rec.raw = r.skipLine()
			return rec, r.err == nil
		}
		line := r.buf[r.start : r.start+end]
		lines := int64(next - end)
		if r.blank(line) {
			r.take(next, lines)
			continue
		}
		if r.quote == 0 || bytes.IndexByte(line, r.quote) < 0 {
			rec.raw = trimCR(line, r.newline)
			r.take(next, lines)
			return rec, true
		}
		for {
			rest := r.buf[r.start:]
			to, bad, st := r.scan(rest, r.eof)
			if st == scanMore && len(rest) <= MaxRecord && r.fill() {
				continue
			}
			if r.err != nil {
				return record{}, false
			}
			if st == scanMore && len(rest) <= MaxRecord { // the end came
				to, bad, st = r.scan(r.buf[r.start:], true)
			}
			if st != scanDone || to > MaxRecord {
				line = r.buf[r.start : r.start+end]
				rec.code, rec.raw = CodeQuote, trimCR(line, r.newline)
				rec.column = utf8.RuneCount(line[:min(bad, len(line))]) + 1
				r.take(next, lines)
				return rec, true
			}
			raw := r.buf[r.start : r.start+to]
			lines = int64(bytes.Count(raw, []byte{r.newline}))
			rec.raw = trimCR(raw, r.newline)
			if to < len(r.buf)-r.start {
				to, lines = to+1, lines+1
			}
			r.take(to, lines)
			return rec, true
		}
	}
}

// blank says that a line has neither text nor a quote: it is empty, or only delimiters and spaces. A file of old Macs
// may end with a \n.
func (d dialect) blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != d.delimiter {
			return false
		}
	}
	return true
}

type scanState int

const (
	scanDone scanState = iota
	scanMore           // the text does not say yet: more of it is needed
	scanBad            // a quote that is not closed
)

// scan finds the end of the record at the beginning of b: the index of its line end, or the length of b at the end of
// the text. bad is where the quote stands that scanBad or scanMore is about.
func (d dialect) scan(b []byte, eof bool) (end, bad int, st scanState) {
	i, cells, multi := 0, 1, -1 // multi is where the first cell with line breaks begins
	for {
		j := d.spaces(b, i)
		if j < len(b) && b[j] == d.quote {
			k, breaks, st := d.quoted(b, j, eof, j > i)
			switch {
			case st == scanMore:
				return 0, j, st
			case st == scanBad && j > i: // a space before it: text
				i = d.plain(b, j)
			case st == scanBad:
				return 0, j, st
			default:
				if breaks && multi < 0 {
					multi = j
				}
				i = k
			}
		} else {
			i = d.plain(b, i)
		}
		if i == len(b) && !eof {
			return 0, max(multi, 0), scanMore
		}
		if i == len(b) || b[i] == d.newline {
			break
		}
		cells++
		i++
	}
	if multi >= 0 && (cells < d.columns || d.swallows(b[:i], multi)) {
		return 0, multi, scanBad
	}
	return i, 0, scanDone
}

// swallows says that the quoted cell at j of a record has whole rows in it: a quote that only begins a word, and one
// far below that ends another (27" of a screen). Then each physical line has as many cells as the header, and those
// within the quotes have somebody's number or address.
func (d dialect) swallows(raw []byte, j int) bool {
	if d.columns < 2 {
		return false
	}
	from := bytes.LastIndexByte(raw[:j], d.newline) + 1
	for first := true; ; first = false {
		line, _, more := bytes.Cut(raw[from:], []byte{d.newline})
		line = trimCR(line, d.newline)
		if bytes.Count(line, []byte{d.delimiter}) != d.columns-1 {
			return false
		}
		if !more {
			return true
		}
		within := line
		if first {
			within = raw[j : from+len(line)]
		}
		if !slices.ContainsFunc(d.literal(string(within), nil), reaching) {
			return false
		}
		from += bytes.IndexByte(raw[from:], d.newline) + 1
	}
}

// reaching says that a cell is a telephone number or an address.
func reaching(cell string) bool {
	return valueLike(cell) && (strings.Contains(cell, "@") || digitsOf(cell) >= 7)
}

// plain is where the cell without quotes ends that begins at i.
func (d dialect) plain(b []byte, i int) int {
	for ; i < len(b); i++ {
		if b[i] == d.delimiter || b[i] == d.newline {
			return i
		}
	}
	return i
}

// spaces is the index of the first byte from i on that is no space.
func (d dialect) spaces(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' && d.delimiter != '\t') {
		i++
	}
	return i
}

// quoted is where the cell ends whose opening quote stands at j, and whether it has line breaks. A cell with a space
// before its quote (spaced) may have none.
func (d dialect) quoted(b []byte, j int, eof, spaced bool) (end int, breaks bool, st scanState) {
	bare := false
	for i := j + 1; ; {
		q := bytes.IndexByte(b[i:], d.quote)
		upto := b[i:]
		if q >= 0 {
			upto = b[i : i+q]
		}
		if !breaks && bytes.IndexByte(upto, d.newline) >= 0 {
			breaks = true
		}
		if breaks && (bare || spaced) {
			return 0, breaks, scanBad
		}
		if q < 0 {
			if eof {
				return 0, breaks, scanBad
			}
			return 0, breaks, scanMore
		}
		q += i
		switch {
		case d.escape != 0 && escapedAt(b[j+1:q], d.escape):
			i = q + 1
			continue
		case d.escape == 0 && q+1 < len(b) && b[q+1] == d.quote:
			i = q + 2
			continue
		}
		k := d.spaces(b, q+1)
		if end := d.returns(b, k); end > k && (end == len(b) || b[end] == d.newline) {
			if end == len(b) && !eof {
				return 0, breaks, scanMore
			}
			k = end
		}
		closed := k == len(b) || b[k] == d.delimiter || b[k] == d.newline
		if k == len(b) && !eof {
			return 0, breaks, scanMore
		}
		if closed && !bare {
			return k, breaks, scanDone
		}
		before := bytes.TrimRight(b[j+1:q], " ")
		opens := len(before) > 0 && before[len(before)-1] == d.delimiter // it looks like another cell's
		if breaks || spaced || opens {
			return 0, breaks, scanBad
		}
		if closed {
			return k, breaks, scanDone
		}
		bare, i = true, q+1
	}
}

// returns is the index of the first byte from i on that is no \r before a \n: there are several where a program has put
// one before each \n of a text that had them already. In a file of old Macs, which may end with a \n, it is as well.
func (d dialect) returns(b []byte, i int) int {
	other := byte('\r')
	if d.newline == '\r' {
		other = '\n'
	}
	for i < len(b) && b[i] == other {
		i++
	}
	return i
}

// escapedAt says that what follows b is escaped: b ends with an odd number of escapes.
func escapedAt(b []byte, escape byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == escape {
		n++
	}
	return n%2 == 1
}

// cells cuts a record that has no code. The cells share memory with raw where they have no doubled quotes.
func (d dialect) cells(raw string, into []string) []string {
	if d.quote == 0 || strings.IndexByte(raw, d.quote) < 0 {
		return d.literal(raw, into)
	}
	b := []byte(raw)
	for i := 0; ; i++ {
		from, cell := i, ""
		j := d.spaces(b, i)
		done := false
		if j < len(b) && b[j] == d.quote {
			if k, _, st := d.quoted(b, j, true, j > i); st == scanDone {
				last := strings.LastIndexByte(raw[:k], d.quote)
				cell = d.unquoted(raw[j+1 : last])
				i, done = k, true
			}
		}
		if !done {
			// Within a record that has line breaks only in quoted cells, a line break cannot follow here.
			if i = strings.IndexByte(raw[from:], d.delimiter); i < 0 {
				i = len(raw)
			} else {
				i += from
			}
			cell = raw[from:i]
		}
		into = append(into, cell)
		if i >= len(b) {
			return into
		}
	}
}

// unquoted is the text between the quotes of a cell.
func (d dialect) unquoted(cell string) string {
	quote := string(rune(d.quote))
	switch {
	case d.escape == 0 && strings.Contains(cell, quote):
		return strings.ReplaceAll(cell, quote+quote, quote)
	case d.escape != 0 && strings.IndexByte(cell, d.escape) >= 0:
		escape := string(rune(d.escape))
		return strings.NewReplacer(escape+escape, escape, escape+quote, quote).Replace(cell)
	}
	return cell
}

// literal cuts at each delimiter, quotes or not.
func (d dialect) literal(raw string, into []string) []string {
	for {
		i := strings.IndexByte(raw, d.delimiter)
		if i < 0 {
			return append(into, raw)
		}
		into = append(into, raw[:i])
		raw = raw[i+1:]
	}
}

// trimCR is the line without the \r of its \r\n, or those of its \r\r\n.
func trimCR(line []byte, newline byte) []byte {
	if newline == '\n' {
		return bytes.TrimRight(line, "\r")
	}
	return line
}

// problem says what is wrong with a record that has a code, and what to do.
func (rec record) problem() Problem {
	if rec.code == CodeRecordBytes {
		return Problem{Code: rec.code, Message: fmt.Sprintf("line %d is longer than %d KiB; "+
			"look for a missing line break, or shorten it", rec.line, MaxRecord>>10)}
	}
	return Problem{Code: rec.code, Message: fmt.Sprintf("line %d, column %d: this quote is not closed, or a quote within "+
		"the cell is not doubled; close it, or write each quote within the cell twice", rec.line, rec.column)}
}
