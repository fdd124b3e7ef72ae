package contact

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A ParsedChunk is the rows of a chunk, all of them and in the order of the file.
type ParsedChunk struct {
	N     int
	Rows  []Row
	First []bool // of each row: it is valid, and no row before it in the file has its key; nil = not known yet
}

// RowsWriter writes rows in a compact form, for a store between parsing and storing them. The form may change with each
// release: what cannot be read is parsed once more.
type RowsWriter struct{ b []byte }

const rowsVersion = 2

// Add appends a row.
func (w *RowsWriter) Add(r Row) {
	if w.b == nil {
		w.b = append(make([]byte, 0, 256<<10), rowsVersion)
	}
	c := r.Contact
	w.number(r.Number)
	w.number(r.Line)
	for _, s := range []string{c.Key, c.Phone, c.Country, c.Email, c.Name, c.GivenName, c.FamilyName, c.Locale} {
		w.text(s)
	}
	w.texts(c.Tags)
	w.number(int64(len(c.Fields)))
	for name, value := range c.Fields {
		w.text(name)
		w.text(value)
	}
	w.number(int64(len(r.Problems)))
	for _, p := range r.Problems {
		w.text(p.Field)
		w.text(p.Code)
		w.text(p.Message)
	}
	w.texts(r.Record)
	w.texts(r.Keys)
}

func (w *RowsWriter) number(n int64) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

func (w *RowsWriter) text(s string) {
	w.number(int64(len(s)))
	w.b = append(w.b, s...)
}

func (w *RowsWriter) texts(list []string) {
	w.number(int64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

// Len is how many bytes were written.
func (w *RowsWriter) Len() int { return len(w.b) }

// Bytes are all rows, with a checksum. Nothing is added after it.
func (w *RowsWriter) Bytes() []byte {
	if w.b == nil {
		w.b = []byte{rowsVersion}
	}
	return binary.BigEndian.AppendUint32(w.b, crc32.ChecksumIEEE(w.b))
}

// ReadRows returns the rows that a RowsWriter has written. Anything else is fault.Invalid.
func ReadRows(data []byte) ([]Row, error) {
	end := len(data) - crc32.Size
	if end < 1 || data[0] != rowsVersion || binary.BigEndian.Uint32(data[end:]) != crc32.ChecksumIEEE(data[:end]) {
		return nil, fault.Newf(fault.Invalid, "read parsed rows: they are damaged, or of another release")
	}
	r := rowsReader{text: string(data[1:end])}
	var rows []Row
	for r.text != "" && !r.bad {
		rows = append(rows, r.row())
	}
	if r.bad {
		return nil, fault.Newf(fault.Invalid, "read parsed rows: they are damaged")
	}
	return rows, nil
}

// rowsReader cuts its strings from one text, which all rows share.
type rowsReader struct {
	text string
	bad  bool
}

func (r *rowsReader) row() (row Row) {
	c := &row.Contact
	row.Number, row.Line = r.number(), r.number()
	for _, s := range []*string{&c.Key, &c.Phone, &c.Country, &c.Email, &c.Name, &c.GivenName, &c.FamilyName, &c.Locale} {
		*s = r.string()
	}
	c.Tags = r.strings()
	if n := r.count(); n > 0 {
		c.Fields = make(map[string]string, n)
		for range n {
			name := r.string()
			c.Fields[name] = r.string()
		}
	}
	if n := r.count(); n > 0 {
		row.Problems = make([]Problem, n)
		for i := range row.Problems {
			p := &row.Problems[i]
			p.Field, p.Code, p.Message = r.string(), r.string(), r.string()
		}
	}
	row.Record, row.Keys = r.strings(), r.strings()
	return row
}

func (r *rowsReader) number() int64 {
	var n uint64
	for i := 0; i < len(r.text) && i < binary.MaxVarintLen64; i++ {
		b := r.text[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.text = r.text[i+1:]
			return int64(n) //nolint:gosec // written from an int64
		}
	}
	r.text, r.bad = "", true
	return 0
}

// count is a number of things that take a byte or more each.
func (r *rowsReader) count() int {
	n := r.number()
	if n < 0 || n > int64(len(r.text)) {
		r.text, r.bad = "", true
		return 0
	}
	return int(n)
}

func (r *rowsReader) string() string {
	n := r.count()
	s := r.text[:n]
	r.text = r.text[n:]
	return s
}

func (r *rowsReader) strings() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.string()
	}
	return list
}
