package contact

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Position is a place in a text between two records.
type Position struct {
	Offset int64 `json:"offset"` // bytes from the beginning of the text
	Line   int64 `json:"line"`   // of that place, from 1
	Row    int64 `json:"row"`    // number of the record after it, from 1
	Chunk  int   `json:"chunk"`  // number of the chunk after it, from 0
}

// Chunk is a range of bytes of a text, at limits of records. Chunks follow each other without gaps.
type Chunk struct {
	N         int   `json:"n"`      // from 0, in the order of the text
	Offset    int64 `json:"offset"` // of its first byte, from the beginning of the text
	Length    int64 `json:"length"` // bytes
	FirstRow  int64 `json:"first_row"`
	FirstLine int64 `json:"first_line"` // physical line of its first byte, from 1
	Rows      int   `json:"rows"`       // records: not blank lines, and not the header once more
	Lines     int64 `json:"lines"`      // line ends
}

// End is the position after the chunk: splitting goes on from there after a restart.
func (c Chunk) End() Position {
	return Position{
		Offset: c.Offset + c.Length, Line: c.FirstLine + c.Lines,
		Row: c.FirstRow + int64(c.Rows), Chunk: c.N + 1,
	}
}

// ChunkRows is how many records a chunk has at most, and chunkBytes how long it may grow before it is closed early. A
// chunk is longer than that only by its last record.
const (
	ChunkRows  = 1000
	chunkBytes = 4 << 20
)

// Split reads a text to its end and calls each for its chunks, in order. The text begins at from, which is the zero
// Position for a whole text, and then preamble and header are passed first. It returns the position at the end, whose
// Row-1 is the number of records in the whole text. An error of each, or of the reader, ends it.
func (p Plan) Split(text io.Reader, from Position, each func(Chunk) error) (Position, error) {
	r := newRecords(text, p.Format.dialect(), from)
	if from == (Position{}) {
		p.begin(r)
		from = Position{Offset: r.offset, Line: r.line, Row: 1}
	}
	c := Chunk{N: from.Chunk, Offset: from.Offset, FirstRow: from.Row, FirstLine: from.Line}
	full := false
	for {
		_, ok := p.next(r)
		if r.err != nil {
			return Position{}, r.err
		}
		if full || !ok && c.Rows > 0 {
			if !ok { // what follows the last record belongs to it
				c.Length, c.Lines = r.offset-c.Offset, r.line-c.FirstLine
			}
			if err := each(c); err != nil {
				return Position{}, err
			}
			end := c.End()
			c = Chunk{N: end.Chunk, Offset: end.Offset, FirstRow: end.Row, FirstLine: end.Line}
		}
		if !ok {
			end := c.End()
			end.Chunk = c.N
			return end, nil
		}
		c.Rows++
		c.Length, c.Lines = r.offset-c.Offset, r.line-c.FirstLine
		full = c.Rows == ChunkRows || c.Length >= chunkBytes
	}
}

// begin passes the byte order mark, the preamble and the header.
func (p Plan) begin(r *records) {
	r.line = 1
	for len(r.buf)-r.start < len(mark) && r.fill() {
	}
	if bytes.HasPrefix(r.buf[r.start:], mark) {
		r.take(len(utf8BOM), 0)
	}
	for range p.Format.Skip {
		r.skipLine()
	}
	if p.Format.Header {
		r.next()
	}
}

var mark = []byte(utf8BOM)

// next is the next record that is not the header once more, as in files that were joined.
func (p Plan) next(r *records) (record, bool) {
	for {
		rec, ok := r.next()
		if !ok || !p.Format.Header || rec.code != "" || !p.again(bytes.TrimPrefix(rec.raw, mark)) {
			return rec, ok
		}
	}
}

// again says that a record is the header: the same bytes, or the same names in other quotes, letters or spaces.
func (p Plan) again(raw []byte) bool {
	f := &p.Format
	if string(raw) == f.HeaderText {
		return true
	}
	if !p.Again || len(raw) > 2*len(f.HeaderText)+4*len(f.Columns) || !begins(raw, f.Columns[0]) {
		return false
	}
	cells := f.dialect().cells(string(raw), nil)
	return slices.EqualFunc(cells, f.Columns, func(cell, column string) bool {
		return strings.EqualFold(cleanHeader(cell), column)
	})
}

// begins says quickly that the first cell of a record may be that header.
func begins(raw []byte, header string) bool {
	raw = bytes.TrimLeft(raw, " \t\"'")
	return header == "" || len(raw) > 0 && (raw[0]|0x20 == header[0]|0x20 || raw[0] >= utf8.RuneSelf)
}
