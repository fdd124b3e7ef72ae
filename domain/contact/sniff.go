package contact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Format is how a file is read, settled.
type Format struct {
	Container  string   `json:"container"` // Plain, Gzip, Zip or XLSX
	Encoding   string   `json:"encoding"`
	Delimiter  string   `json:"delimiter"`        // one byte
	Quote      string   `json:"quote"`            // one byte, or "" for none
	Escape     string   `json:"escape,omitempty"` // "\\", or "" where quotes are doubled
	Newline    string   `json:"newline"`          // "\n" (also for \r\n) or "\r"
	Skip       int      `json:"skip"`             // physical lines before the header
	Header     bool     `json:"header"`
	HeaderText string   `json:"header_text,omitempty"` // the header as it stands in the file, but for what cannot be stored
	Columns    []string `json:"columns"`               // headers; "" where there are none
	Sheet      string   `json:"sheet,omitempty"`
	Wrapped    bool     `json:"wrapped,omitempty"` // each line is one quoted cell that holds the row
	Cards      bool     `json:"cards,omitempty"`   // of vCard, which are read as a table
	Twice      bool     `json:"twice,omitempty"`   // UTF-8 that was read as Windows-1252, and written as UTF-8 again
}

// Plan is all that Split and Parse need to know of a file. It does not change once the file is being read, so it is
// stored with the upload.
type Plan struct {
	Format  Format   `json:"format"`
	Mapping Mapping  `json:"mapping"`
	Region  string   `json:"region,omitempty"` // of phone numbers without a country code
	Reasons []Reason `json:"reasons,omitempty"`
	// Records asks Parse for the cells of all rows: where the store may refuse valid ones (known contacts, a quota), they
	// too are written back as they were.
	Records bool `json:"records,omitempty"`
	// Again leaves out each record with the cells of the header, in whatever notation. Plans of before it leave out those
	// with its very bytes, and the chunks that were found by them count so.
	Again bool `json:"again,omitempty"`
}

// Reason says what was decided about a file, and why.
type Reason struct {
	Setting string `json:"setting"` // the option that overrides it
	Value   string `json:"value"`
	Why     string `json:"why"`
	Given   bool   `json:"given,omitempty"` // by a person
}

const (
	sniffBytes   = 1 << 20 // of the text, that Sniff reads
	sniffRecords = 500
	preambleMax  = 20 // records that may stand before the header
)

func (f Format) dialect() dialect {
	d := dialect{newline: '\n', delimiter: ',', columns: len(f.Columns)}
	if f.Delimiter != "" {
		d.delimiter = f.Delimiter[0]
	}
	if f.Quote != "" {
		d.quote = f.Quote[0]
	}
	if f.Escape != "" {
		d.escape = f.Escape[0]
	}
	if f.Newline == "\r" {
		d.newline = '\r'
	}
	return d
}

// Sniff finds out how a file is to be read from its first MiB of text, as far as the options leave it open. A file
// that is none of contacts, is empty, or contradicts the options is fault.Invalid, and the message says what to do.
// size is the number of bytes of src.
func Sniff(src io.ReaderAt, size int64, o Options) (Plan, error) {
	s := sniffer{options: o}
	if err := s.sniff(src, size); err != nil {
		return Plan{}, err
	}
	return s.plan, nil
}

type sniffer struct {
	options Options
	plan    Plan
	text    []byte // the first of it, without the byte order mark
	whole   bool   // text is all there is
	from    int64  // bytes of text before the header
	sheets  []string
	groups  []string // of columns: what stands above the header
}

func (s *sniffer) reason(setting, value string, given bool, why string, args ...any) {
	if given {
		why, args = "given", nil
	}
	r := Reason{Setting: setting, Value: value, Why: fmt.Sprintf(why, args...), Given: given}
	s.plan.Reasons = append(s.plan.Reasons, r)
}

func (s *sniffer) sniff(src io.ReaderAt, size int64) error {
	if err := s.options.Check(); err != nil {
		return err
	}
	s.plan.Region, s.plan.Again = s.options.Region, true
	if err := s.contained(src, size); err != nil {
		return err
	}
	return s.otherSheets(s.table(src, size))
}

// otherSheets says of a sheet that is refused which others there are.
func (s *sniffer) otherSheets(err error) error {
	class, _ := fault.Of(err)
	if err == nil || class != fault.Invalid || len(s.sheets) < 2 {
		return err
	}
	return fault.Newf(fault.Invalid, "%w; this is about sheet %q, and the workbook has %s: give the name of the sheet to read",
		err, s.plan.Format.Sheet, strings.Join(s.sheets, ", "))
}

// table settles the text and the columns.
func (s *sniffer) table(src io.ReaderAt, size int64) error {
	f := &s.plan.Format
	if err := s.encoded(src, size); err != nil {
		return err
	}
	if err := s.read(src, size); err != nil {
		return err
	}
	if f.Container != XLSX {
		if err := s.document(src, size); err != nil {
			return err
		}
	}
	if err := s.newlines(); err != nil {
		return err
	}
	s.wraps()
	if err := s.delimited(); err != nil {
		return err
	}
	recs := s.records(f.dialect())
	if len(recs) == 0 && s.whole {
		return fault.Newf(fault.Invalid, "the file is empty; upload one with a header and at least one row")
	}
	if err := s.headed(recs); err != nil {
		return err
	}
	var sample [][]string
	for _, r := range recs {
		if r.offset > s.from || !f.Header && r.offset == s.from {
			sample = append(sample, r.cells)
		}
	}
	m, reasons, err := mapColumns(f.Columns, s.groups, sample, s.options)
	s.plan.Mapping = m
	s.plan.Reasons = append(s.plan.Reasons, reasons...)
	return err
}

// contained settles the container and the sheet.
func (s *sniffer) contained(src io.ReaderAt, size int64) error {
	head := make([]byte, min(size, 4<<10))
	if n, err := src.ReadAt(head, 0); n < len(head) {
		return fmt.Errorf("read the beginning of the file: %w", err)
	}
	f := &s.plan.Format
	var err error
	if f.Container, err = container(head); err != nil {
		return err
	}
	switch f.Container {
	case Gzip:
		s.reason("container", Gzip, false, "the file begins like a gzip file")
	case Zip:
		z, err := openZip(src, size)
		if err != nil {
			return err
		}
		is, err := isXLSX(z)
		if err != nil {
			return err
		}
		if !is {
			member, err := only(z)
			if err != nil {
				return err
			}
			s.reason("container", Zip, false, "the file is a zip with %q in it", member.Name)
			return nil
		}
		f.Container = XLSX
		s.reason("container", XLSX, false, "the file is a zip with a workbook in it")
		sheet, err := openSheet(z, s.options.Sheet)
		if err != nil {
			return err
		}
		f.Sheet, s.sheets = sheet.name, sheet.sheets
		s.reason("sheet", sheet.name, s.options.Sheet != "", "it is the first visible one that is no chart, of %s",
			strings.Join(sheet.sheets, ", "))
	}
	if f.Container != XLSX && s.options.Sheet != "" {
		return fault.Newf(fault.Invalid, "sheet %q is given, but the file is no workbook; leave it out", s.options.Sheet)
	}
	return nil
}

// encoded settles the encoding by the bytes in the container.
func (s *sniffer) encoded(src io.ReaderAt, size int64) error {
	f := &s.plan.Format
	if f.Container == XLSX {
		f.Encoding = UTF8
		return nil
	}
	r, err := f.unpack(src, size)
	if err != nil {
		return err
	}
	head, whole, err := first(r, sniffBytes)
	if err != nil {
		return err
	}
	if f.Container != Plain {
		inner, err := container(head)
		if err != nil {
			return err
		}
		if inner != Plain {
			return fault.Newf(fault.Invalid, "there is a %s in the %s; upload it unpacked once", inner, f.Container)
		}
	}
	name, why, err := sniffEncoding(head)
	given := s.options.encoding()
	if byteMarked(head) { // which is surer than what a person says
		given = ""
	}
	if given != "" {
		name, err = given, nil
	}
	if err != nil {
		return err
	}
	f.Encoding = name
	if f.Twice = given == "" && name == UTF8 && twice(head, whole); f.Twice {
		why = "it is UTF-8 that was read as Windows-1252 and written as UTF-8 again, which is undone"
	}
	s.reason("encoding", name, given != "", "%s", why)
	return nil
}

// first reads up to n bytes; whole says that there are no more.
func first(r io.Reader, n int) (head []byte, whole bool, err error) {
	head, err = io.ReadAll(io.LimitReader(r, int64(n)+1))
	if len(head) > n {
		return head[:n], false, err
	}
	return head, true, err
}

// sniffEncoding names the encoding of a text by its beginning.
func sniffEncoding(b []byte) (name, why string, err error) {
	switch {
	case bytes.HasPrefix(b, []byte(utf8BOM)):
		return UTF8, "the file begins with a UTF-8 byte order mark", nil
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return UTF16LE, "the file begins with a UTF-16 byte order mark, little-endian", nil
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return UTF16BE, "the file begins with a UTF-16 byte order mark, big-endian", nil
	}
	var zeros [2]int
	controls := 0
	for i, c := range b {
		switch {
		case c == 0:
			zeros[i%2]++
		case c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\v' && c != '\f', c == 0x7f:
			controls++
		}
	}
	half := max(len(b)/2, 1)
	switch {
	case zeros[1]*10 > half*3 && zeros[0]*20 < zeros[1]:
		return UTF16LE, "every second byte is zero, as in UTF-16, little-endian", nil
	case zeros[0]*10 > half*3 && zeros[1]*20 < zeros[0]:
		return UTF16BE, "every first byte of two is zero, as in UTF-16, big-endian", nil
	case controls*20 > len(b), (zeros[0]+zeros[1])*4 > len(b):
		return "", "", fault.Newf(fault.Invalid, "the file is not text; save the table as CSV or XLSX")
	}
	sequences, bad := 0, 0
	for rest := b; len(rest) > 0; {
		if rest[0] < utf8.RuneSelf {
			rest = rest[1:]
			continue
		}
		r, n := utf8.DecodeRune(rest)
		switch {
		case r != utf8.RuneError || n > 1:
			sequences++
		case utf8.FullRune(rest):
			bad++
		}
		rest = rest[n:]
	}
	switch {
	case sequences == 0 && bad == 0:
		return UTF8, "the text is ASCII as far as it was looked at", nil
	case bad == 0:
		return UTF8, "all of it is UTF-8 as far as it was looked at", nil
	case sequences > bad:
		return UTF8, fmt.Sprintf("most of it is UTF-8; %d bytes are not and are read as Windows-1252", bad), nil
	}
	if name := byHeaderNames(b); name != "" {
		return name, "it is not UTF-8, and read so its headers are names of columns that are known", nil
	}
	switch byAccents(b) {
	case Macintosh:
		return Macintosh, "it is not UTF-8, and its accents are where files of old Macs have them; check them, and give the " +
			"encoding where they are wrong", nil
	case IBM850:
		return IBM850, "it is not UTF-8, and its accents are where files of DOS have them; check them, and give the " +
			"encoding where they are wrong", nil
	}
	return Windows1252, "it is not UTF-8, so it is most likely Windows-1252; check the accents, and give the encoding " +
		"where they are wrong", nil
}

// read reads the first of the text.
func (s *sniffer) read(src io.ReaderAt, size int64) error {
	r, err := s.plan.Format.open(src, size)
	if err != nil {
		return err
	}
	if s.text, s.whole, err = first(r, sniffBytes); err != nil {
		return err
	}
	s.text = bytes.TrimPrefix(s.text, []byte(utf8BOM))
	return nil
}

// document refuses a text that is no table, but for cards, which are made one.
func (s *sniffer) document(src io.ReaderAt, size int64) error {
	if !beginsCard(s.text) {
		return document(s.text)
	}
	s.plan.Format.Cards = true
	s.reason("container", "vcard", false, "the text begins like a vCard; each card is a row")
	return s.read(src, size)
}

// newlines settles the line end, and cuts a last line of which only the beginning was read.
func (s *sniffer) newlines() error {
	f := &s.plan.Format
	f.Newline = "\n"
	if returns, feeds := lineEndings(s.text, s.whole); returns > 0 && feeds == 0 && (returns > 1 || s.whole) {
		f.Newline = "\r"
		s.reason("newline", `\r`, false, "lines end with carriage returns only, as in files of old Macs")
	}
	if s.whole {
		return nil
	}
	i := bytes.LastIndex(s.text, []byte(f.Newline))
	if i < 0 {
		return fault.Newf(fault.Invalid, "line 1 is longer than %d KiB; look for missing line breaks, or export the file once more",
			sniffBytes>>10)
	}
	s.text = s.text[:i+1]
	return nil
}

// lineEndings counts the carriage returns and the line feeds that end lines: not those within quotes, nor what follows
// the last line of a whole text. Of \r\n the feed counts.
func lineEndings(text []byte, whole bool) (returns, feeds int) {
	if whole {
		text = bytes.TrimRight(text, "\r\n")
	}
	quoted := false
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '\n':
			feeds++
		case c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			returns++
		}
	}
	return returns, feeds
}

// read is a record and where it stands.
type read struct {
	cells  []string
	raw    string
	line   int64
	offset int64 // in the text, without the byte order mark
	bad    bool
}

// filled is the number of cells that are not empty.
func (r read) filled() (n int) {
	for _, c := range r.cells {
		if strings.TrimSpace(c) != "" {
			n++
		}
	}
	return n
}

// records cuts the first of the text.
func (s *sniffer) records(d dialect) []read {
	d.columns = 0
	rs := newRecords(bytes.NewReader(s.text), d, Position{Line: 1})
	var out []read
	for len(out) < sniffRecords {
		rec, ok := rs.next()
		if !ok {
			break
		}
		r := read{raw: string(rec.raw), line: rec.line, offset: rec.offset, bad: rec.code != ""}
		if r.bad {
			r.cells = d.literal(r.raw, nil)
		} else {
			r.cells = d.cells(r.raw, nil)
		}
		if s.plan.Format.Twice {
			readOnce(r.cells)
		}
		out = append(out, r)
	}
	return out
}

// errEnough ends the reading of a preview.
var errEnough = errors.New("enough")

// Preview returns the first n records of a file as they will be read.
func (p Plan) Preview(src io.ReaderAt, size int64, n int) ([]Row, error) {
	text, err := p.Open(src, size)
	if err != nil {
		return nil, err
	}
	r := newRecords(text, p.Format.dialect(), Position{})
	p.begin(r)
	rows := make([]Row, 0, n)
	err = p.parse(r, 1, func(row Row) error {
		if len(rows) == n {
			return errEnough
		}
		rows = append(rows, row)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return rows, err
}
