package contact

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// unwrapper reads a text of which each line is one quoted cell that holds the row: "Bob,514-555-0123". Programs write
// that where a table was read with the wrong delimiter and saved. Lines that are none stay as they are, and none is
// joined or parted, so that the lines keep their numbers.
type unwrapper struct {
	src     *bufio.Reader
	newline byte
	line    []byte
	out     []byte // of line, what is not read yet
	begun   bool
	long    bool // within a line that is longer than MaxRecord, which stays
	err     error
}

func newUnwrapper(src io.Reader, newline string) *unwrapper {
	u := &unwrapper{src: bufio.NewReaderSize(src, 64<<10), newline: '\n'}
	if newline == "\r" {
		u.newline = '\r'
	}
	return u
}

// Read gives the text.
func (u *unwrapper) Read(p []byte) (int, error) {
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.next()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// next reads a line, or a part of one that is too long.
func (u *unwrapper) next() {
	u.line = u.line[:0]
	more := true
	for more && len(u.line) <= MaxRecord {
		part, err := u.src.ReadSlice(u.newline)
		u.line = append(u.line, part...)
		if more = errors.Is(err, bufio.ErrBufferFull); !more {
			u.err = err
		}
	}
	if !u.begun {
		u.begun, u.line = true, bytes.TrimPrefix(u.line, mark)
	}
	if u.out = u.line; !u.long && !more {
		u.out = unwrapped(u.line, u.newline)
	}
	u.long = more
}

// unwrapped is a line, with its end, without the quotes around all of it and the delimiters of empty cells behind them.
func unwrapped(line []byte, newline byte) []byte {
	body := bytes.TrimSuffix(line, []byte{newline})
	end := line[len(trimCR(body, newline)):]
	body = bytes.TrimRight(bytes.TrimLeft(trimCR(body, newline), " "), " ,;\t|")
	n := len(body)
	if n < 2 || body[0] != '"' || body[n-1] != '"' {
		return line
	}
	out := make([]byte, 0, len(line))
	for i := 1; i < n-1; i++ {
		if body[i] == '"' {
			if i++; i == n-1 || body[i] != '"' {
				return line // it ends a cell, or begins one
			}
		}
		out = append(out, body[i])
	}
	return append(out, end...)
}

// wraps settles whether each line is one cell that holds the row.
func (s *sniffer) wraps() {
	if s.plan.Format.Cards {
		return
	}
	f := &s.plan.Format
	if q := s.options.Quote; q != "" && q != `"` {
		return
	}
	lines, quoted, single := 0, 0, true
	outer := dialect{delimiter: ',', quote: '"', newline: f.Newline[0]}
	var text []byte
	for line := range bytes.Lines(bytes.ReplaceAll(s.text, []byte(f.Newline), []byte("\n"))) {
		if outer.blank(bytes.TrimRight(line, "\n")) {
			text = append(text, line...)
			continue
		}
		if lines++; lines > sniffRecords {
			break
		}
		bare := unwrapped(line, '\n')
		if len(bare) < len(line) {
			quoted++
		} else if bytes.IndexByte(line, ',') >= 0 {
			single = false
		}
		text = append(text, bare...)
	}
	if f.Container == XLSX && !single || f.Container != XLSX && (quoted == 0 || quoted*5 < (lines-1)*4) {
		return
	}
	inner := sniffer{text: text, options: s.options}
	inner.plan.Format.Newline = "\n"
	if err := inner.delimited(); err != nil || !inner.rows() {
		return
	}
	f.Wrapped = true
	s.reason("quote", "lines", false, "each line is one quoted cell that holds the row")
	s.text, _ = io.ReadAll(newUnwrapper(bytes.NewReader(s.text), f.Newline))
}

// rows says that the text is a table of several columns: by two headers that are known above rows of as many cells, or
// by a number or an address in each row of the same number of cells.
func (s *sniffer) rows() bool {
	recs := s.records(s.plan.Format.dialect())
	counts := map[int]int{}
	reach := 0
	for i, r := range recs {
		if known, _ := r.headers(); i < preambleMax && known > 1 && r.reached() {
			same := 0
			for _, below := range recs[i+1:] {
				if len(below.cells) == len(r.cells) {
					same++
				}
			}
			return same*5 >= len(recs[i+1:])*4
		}
		if counts[len(r.cells)]++; slices.ContainsFunc(r.cells, reaching) {
			reach++
		}
	}
	return len(recs) > 1 && len(counts) == 1 && counts[1] == 0 && reach == len(recs)
}
