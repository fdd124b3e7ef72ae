package contact

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zip"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A worksheet becomes comma-separated text, one physical line a row of the sheet, so that the line of a problem is the
// number that the spreadsheet shows. Line breaks in cells are vertical tabs there, which Parse reads as line breaks.
// Dates are ISO 8601, whatever their format; numbers have all digits that the file has; a formula is its last result;
// a merged cell is its first one, the others are empty.
//
// excelize is not used: it holds the whole file in memory, writes large sheets to temporary files, and gives numbers
// and dates either as they are shown (05-17-90) or as they are stored (33010), with no way to tell a date.

// Bounds of a workbook. Excel itself has at most 1,048,576 rows.
const (
	maxSheetRow  = 1 << 20
	maxPart      = 64 << 20  // bytes of XML, for all but sheets and strings
	maxStrings   = 128 << 20 // bytes of the shared strings, as text
	maxSheetCell = 32767 * 4 // bytes; Excel has at most 32,767 characters
)

// sheet reads a worksheet as text.
type sheet struct {
	name    string
	sheets  []string // names of all, quoted
	xml     *xml.Decoder
	strings table
	dates   []bool // by style: numbers in it are dates
	epoch   time.Time
	out     []byte
	row     int // of the sheet, that was written last
	err     error
	cells   []string
}

// table holds the strings that cells refer to by number, in one piece.
type table struct {
	text string
	ends []uint32
}

func (t table) at(i int) (string, bool) {
	if i < 0 || i >= len(t.ends) {
		return "", false
	}
	from := uint32(0)
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.text[from:t.ends[i]], true
}

// isXLSX says whether a zip is a workbook, and refuses other documents that are zips.
func isXLSX(z *zip.Reader) (bool, error) {
	for _, f := range z.File {
		switch f.Name {
		case "xl/workbook.xml":
			return true, nil
		case "xl/workbook.bin":
			return false, fault.Newf(fault.Invalid, "the file is a binary Excel workbook (.xlsb); save it as XLSX or CSV")
		case "content.xml":
			return false, fault.Newf(fault.Invalid, "the file is an OpenDocument file; save it as XLSX or CSV")
		case "word/document.xml", "ppt/presentation.xml", "Index/Document.iwa":
			return false, fault.Newf(fault.Invalid, "the file is a document, not a table; save the table as XLSX or CSV")
		}
	}
	return false, nil
}

// openSheet opens the sheet of that name; "" is the first that is not hidden.
func openSheet(z *zip.Reader, name string) (*sheet, error) {
	book, err := readBook(z)
	if err != nil {
		return nil, err
	}
	chosen, err := book.choose(name)
	if err != nil {
		return nil, err
	}
	s := &sheet{name: chosen.Name, sheets: book.names(), epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	if on := book.Pr.Date1904; on == "1" || on == "true" {
		s.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	var target string
	var strs, styles string
	for _, rel := range book.rels {
		to := path.Join("xl", rel.Target)
		if strings.HasPrefix(rel.Target, "/") {
			to = rel.Target[1:]
		}
		switch kind := path.Base(rel.Type); {
		case rel.ID == chosen.Rel:
			target = to
		case kind == "sharedStrings":
			strs = to
		case kind == "styles":
			styles = to
		}
	}
	if s.strings, err = readStrings(z, strs); err != nil {
		return nil, err
	}
	if s.dates, err = readDates(z, styles); err != nil {
		return nil, err
	}
	r, err := part(z, target, MaxText)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fault.Newf(fault.Invalid, "the workbook has no cells for its sheet %q; save it once more", chosen.Name)
	}
	s.xml = decoder(r)
	return s, nil
}

type book struct {
	Pr struct {
		Date1904 string `xml:"date1904,attr"`
	} `xml:"workbookPr"`
	Sheets []struct {
		Name  string     `xml:"name,attr"`
		State string     `xml:"state,attr"`
		Attrs []xml.Attr `xml:",any,attr"`
		Rel   string     `xml:"-"`
	} `xml:"sheets>sheet"`
	rels []rel
}

type rel struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
}

func readBook(z *zip.Reader) (book, error) {
	var b book
	if err := unmarshal(z, "xl/workbook.xml", &b); err != nil {
		return book{}, err
	}
	for i, s := range b.Sheets {
		for _, a := range s.Attrs {
			if a.Name.Local == "id" { // r:id, in either namespace of the standard
				b.Sheets[i].Rel = a.Value
			}
		}
	}
	var rels struct {
		Rels []rel `xml:"Relationship"`
	}
	if err := unmarshal(z, "xl/_rels/workbook.xml.rels", &rels); err != nil {
		return book{}, err
	}
	b.rels = rels.Rels
	return b, nil
}

// choose is the sheet of a name.
func (b book) choose(name string) (found struct{ Name, Rel string }, err error) {
	for _, s := range b.Sheets {
		if name == s.Name || name == "" && (s.State == "" || s.State == "visible") {
			return struct{ Name, Rel string }{s.Name, s.Rel}, nil
		}
	}
	if name == "" {
		return found, fault.Newf(fault.Invalid, "the workbook has no visible sheet")
	}
	return found, fault.Newf(fault.Invalid, "the workbook has no sheet %q; it has %s", name, strings.Join(b.names(), ", "))
}

func (b book) names() (names []string) {
	for _, s := range b.Sheets {
		names = append(names, fmt.Sprintf("%q", s.Name))
	}
	return names
}

// part is a file of the workbook, bounded; nil where there is none.
func part(z *zip.Reader, name string, limit int64) (io.Reader, error) {
	for _, f := range z.File {
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		r, err := openMember(f)
		if err != nil {
			return nil, err
		}
		return &limited{src: r, left: limit, name: name}, nil
	}
	return nil, nil
}

// limited ends with fault.Invalid beyond its limit.
type limited struct {
	src  io.Reader
	left int64
	name string
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.src.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fault.Newf(fault.Invalid, "%s of the workbook is too large; save the sheet as CSV", l.name)
	}
	return n, err
}

func decoder(r io.Reader) *xml.Decoder {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		enc, err := encodingOf(strings.ToLower(label))
		if err != nil {
			return nil, err
		}
		return enc.NewDecoder().Reader(in), nil
	}
	return d
}

func unmarshal(z *zip.Reader, name string, into any) error {
	r, err := part(z, name, maxPart)
	if err != nil || r == nil {
		return errors.Join(err, missing(r, name))
	}
	return damaged(noEOF(decoder(r).Decode(into)))
}

func missing(r io.Reader, name string) error {
	if r != nil {
		return nil
	}
	return fault.Newf(fault.Invalid, "the workbook has no %s; save it once more", name)
}

// damaged is broken, but for the end of the XML.
func damaged(err error) error {
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return broken("workbook", err)
}

// readStrings reads the table that text cells refer to. Rich text is joined; what is only there to be read aloud (rPh)
// is left out.
func readStrings(z *zip.Reader, name string) (table, error) {
	r, err := part(z, name, MaxText)
	if err != nil || r == nil {
		return table{}, err
	}
	var t table
	var text strings.Builder
	d := decoder(r)
	for {
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			t.text = text.String()
			return t, nil
		}
		if err != nil {
			return table{}, damaged(err)
		}
		if start, ok := tok.(xml.StartElement); ok && start.Name.Local == "si" {
			if err := textOf(d, "si", func(b []byte) { text.Write(b) }); err != nil {
				return table{}, err
			}
			if text.Len() > maxStrings {
				return table{}, fault.Newf(fault.Invalid, "the workbook has more than %d MiB of text; save the sheet as CSV",
					maxStrings>>20)
			}
			t.ends = append(t.ends, uint32(text.Len()))
		}
	}
}

// textOf gives the text of the t elements up to the end of the element.
func textOf(d *xml.Decoder, element string, give func([]byte)) error {
	in, aloud := false, 0
	for {
		tok, err := d.RawToken()
		if err != nil {
			return damaged(noEOF(err))
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			in = in || tok.Name.Local == "t"
			if tok.Name.Local == "rPh" {
				aloud++
			}
		case xml.EndElement:
			switch tok.Name.Local {
			case element:
				return nil
			case "t":
				in = false
			case "rPh":
				aloud--
			}
		case xml.CharData:
			if in && aloud == 0 {
				give(tok)
			}
		}
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readDates says of each style whether a number in it is a date or a time.
func readDates(z *zip.Reader, name string) ([]bool, error) {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	r, err := part(z, name, maxPart)
	if err != nil || r == nil {
		return nil, err
	}
	if err := decoder(r).Decode(&styles); err != nil {
		return nil, damaged(noEOF(err))
	}
	custom := map[int]bool{}
	for _, f := range styles.Formats {
		custom[f.ID] = datesIn(f.Code)
	}
	dates := make([]bool, len(styles.Cells))
	for i, c := range styles.Cells {
		n := c.Format
		dates[i] = n >= 14 && n <= 22 || n >= 27 && n <= 36 || n >= 45 && n <= 47 || n >= 50 && n <= 58
		if is, ok := custom[n]; ok {
			dates[i] = is
		}
	}
	return dates, nil
}

// datesIn says that a number format shows a date or a time: outside quotes, escapes and [colors] it has a y, m, d, h
// or s.
func datesIn(code string) bool {
	code, _, _ = strings.Cut(code, ";")
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '"', '[':
			end := byte('"')
			if c == '[' {
				end = ']'
			}
			n := strings.IndexByte(code[i+1:], end)
			if n < 0 {
				return false
			}
			if in := strings.ToLower(code[i+1 : i+1+n]); c == '[' && in != "" && strings.Trim(in, "hms") == "" {
				return true // [h]:mm
			}
			i += n + 1
		case '\\', '_', '*':
			i++
		case 'y', 'm', 'd', 'h', 's', 'Y', 'M', 'D', 'H', 'S':
			return true
		case 'G', 'g': // General
			return false
		}
	}
	return false
}

// Read gives the sheet as text.
func (s *sheet) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.err = s.next()
	}
	n := copy(p, s.out)
	if s.out = s.out[n:]; len(s.out) == 0 {
		s.out = s.out[:0:cap(s.out)]
	}
	return n, nil
}

// next appends the next row to out.
func (s *sheet) next() error {
	for {
		tok, err := s.xml.RawToken()
		if err != nil {
			return damaged(err) // io.EOF is the end
		}
		start, ok := tok.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		n := s.row + 1
		if v := attr(start, "r"); v != "" {
			if n, err = strconv.Atoi(v); err != nil {
				n = 0
			}
		}
		if n <= s.row || n > maxSheetRow {
			return fault.Newf(fault.Invalid, "the workbook is damaged: row %d of sheet %q follows row %d; save it once more",
				n, s.name, s.row)
		}
		if err := s.readRow(n); err != nil {
			return err
		}
		s.out = s.out[:0]
		for ; s.row < n-1; s.row++ {
			s.out = append(s.out, '\n')
		}
		s.row = n
		s.out = appendRecord(s.out, s.cells)
		return nil
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// readRow reads the cells up to the end of the row.
func (s *sheet) readRow(row int) error {
	s.cells = s.cells[:0]
	column := -1
	for {
		tok, err := s.xml.RawToken()
		if err != nil {
			return damaged(noEOF(err))
		}
		switch tok := tok.(type) {
		case xml.EndElement:
			if tok.Name.Local == "row" {
				for len(s.cells) > 0 && s.cells[len(s.cells)-1] == "" {
					s.cells = s.cells[:len(s.cells)-1]
				}
				return nil
			}
		case xml.StartElement:
			if tok.Name.Local != "c" {
				continue
			}
			column++
			if ref := attr(tok, "r"); ref != "" {
				column = columnOf(ref)
			}
			value, err := s.readCell(tok)
			if err != nil {
				return err
			}
			if value == "" {
				continue
			}
			if column < 0 || column >= MaxColumns {
				return fault.Newf(fault.Invalid, "row %d of sheet %q has a cell beyond column %d; delete the columns that "+
					"are not needed, or save the sheet as CSV", row, s.name, MaxColumns)
			}
			for len(s.cells) <= column {
				s.cells = append(s.cells, "")
			}
			s.cells[column] = value
		}
	}
}

// columnOf is the column of a reference ("B7" is 1), -1 where there is none.
func columnOf(ref string) int {
	n := 0
	for i := 0; i < len(ref) && i < 4; i++ {
		c := ref[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		n = n*26 + int(c-'A') + 1
	}
	return n - 1
}

// noResult is what a formula is that the file has no result of: some programs write formulas only.
const noResult = "#CALC!"

// readCell is the text of a cell.
func (s *sheet) readCell(c xml.StartElement) (string, error) {
	kind, style := attr(c, "t"), attr(c, "s")
	var value strings.Builder
	formula, result, in := false, false, false
	for {
		tok, err := s.xml.RawToken()
		if err != nil {
			return "", damaged(noEOF(err))
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			switch tok.Name.Local {
			case "f":
				formula = true
			case "v":
				in, result = true, true
			case "is":
				if err := textOf(s.xml, "is", func(b []byte) { value.Write(b) }); err != nil {
					return "", err
				}
			}
		case xml.CharData:
			if in {
				value.Write(tok)
			}
		case xml.EndElement:
			switch tok.Name.Local {
			case "v":
				in = false
			case "c":
				if formula && (!result || kind != "str" && value.Len() == 0) { // a text may be empty
					return noResult, nil
				}
				return s.value(kind, style, value.String())
			}
		}
		if value.Len() > maxSheetCell {
			return "", fault.Newf(fault.Invalid, "cell %s of sheet %q is longer than Excel allows; shorten it", attr(c, "r"), s.name)
		}
	}
}

func (s *sheet) value(kind, style, v string) (string, error) {
	switch kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(v))
		text, ok := s.strings.at(i)
		if err != nil || !ok {
			if v == "" {
				return "", nil
			}
			return "", fault.Newf(fault.Invalid, "the workbook is damaged: it has no string %q; save it once more", v)
		}
		return unescapedXML(text), nil
	case "inlineStr":
		return unescapedXML(v), nil
	case "b":
		if v == "1" {
			return "TRUE", nil
		}
		return "FALSE", nil
	case "", "n":
		i, err := strconv.Atoi(style)
		return s.number(v, err == nil && i >= 0 && i < len(s.dates) && s.dates[i]), nil
	}
	return v, nil // str, e, d
}

var escapedXML = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// unescapedXML is a text with the characters that XML does not have, which a workbook writes as _x000D_.
func unescapedXML(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	return escapedXML.ReplaceAllStringFunc(s, func(e string) string {
		n, _ := strconv.ParseUint(e[2:6], 16, 16)
		if n < 0x20 || n == '_' {
			return string(rune(n))
		}
		return e
	})
}

// number is a number with all its digits where it has at most 15, which is what spreadsheets keep; else as it stands.
func (s *sheet) number(v string, date bool) string {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return v
	}
	if !date || f < 0 || f >= 2958466 { // 31 December 9999
		if math.Abs(f) < 1e15 {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
		return strconv.FormatFloat(f, 'E', -1, 64)
	}
	if f < 60 && s.epoch.Year() == 1899 && f >= 1 {
		f++ // before 1 March 1900 Excel is a day off, for Lotus 1-2-3
	}
	days := math.Floor(f)
	at := s.epoch.AddDate(0, 0, int(days)).Add(time.Duration(math.Round((f-days)*86400)) * time.Second)
	switch {
	case days == 0:
		return at.Format(time.TimeOnly)
	case f == days:
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateTime)
}

// appendRecord writes a record of comma-separated text on one line.
func appendRecord(out []byte, cells []string) []byte {
	for i, c := range cells {
		if i > 0 {
			out = append(out, ',')
		}
		if !strings.ContainsAny(c, ",\"\r\n") && strings.TrimSpace(c) == c {
			out = append(out, c...)
			continue
		}
		out = append(out, '"')
		for j := 0; j < len(c); j++ {
			switch b := c[j]; b {
			case '"':
				out = append(out, '"', '"')
			case '\r':
				if j+1 == len(c) || c[j+1] != '\n' {
					out = append(out, '\v')
				}
			case '\n':
				out = append(out, '\v')
			default:
				out = append(out, b)
			}
		}
		out = append(out, '"')
	}
	return append(out, '\n')
}
