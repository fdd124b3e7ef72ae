package contact

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zip"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/safexml"
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
	maxSheetRow   = 1 << 20
	maxPart       = 64 << 20  // bytes of XML, for all but sheets and strings
	maxStrings    = 64 << 20  // bytes of the shared strings, as text
	maxStringsXML = 256 << 20 // bytes of their XML
	maxStringsN   = 4 << 20   // shared strings
	maxSheetCell  = 32767 * 4 // bytes; Excel has at most 32,767 characters
	maxSheets     = 1000
	maxSheetName  = 1024    // bytes; Excel has at most 31 characters
	maxParts      = 10_000  // relations of a workbook to its parts
	maxStyles     = 100_000 // Excel has at most 65,490
	sheetsShown   = 50      // names in a message
)

// A sheet of more XML than sparseFrom bytes may have at most sparseMost bytes of it for each byte of text: what is read
// to find nothing costs as much time as what is there.
const (
	sparseFrom = 64 << 20
	sparseMost = 256
)

// sheet reads a worksheet as text.
type sheet struct {
	name    string
	sheets  []string // names of all, quoted
	xml     *safexml.Decoder
	strings table
	dates   []bool // by style: numbers in it are dates
	epoch   time.Time
	out     []byte
	wrote   int64
	row     int // of the sheet, that was written last
	err     error
	cells   []string
}

// table holds the strings that cells refer to by number, in blocks, none of which is ever copied to grow. A string lies
// in one block: what is left of the one before is not used.
type table struct {
	blocks [][]byte
	ends   []uint32 // as if the blocks were one piece
}

const tableBlock = 1 << 20 // bytes, more than a string may have

func (t *table) add(text []byte) {
	last := len(t.blocks) - 1
	if last < 0 || len(t.blocks[last])+len(text) > tableBlock {
		t.blocks = append(t.blocks, make([]byte, 0, tableBlock))
		last++
	}
	t.blocks[last] = append(t.blocks[last], text...)
	t.ends = append(t.ends, uint32(last*tableBlock+len(t.blocks[last])))
}

func (t *table) at(i int) (string, bool) {
	if i < 0 || i >= len(t.ends) {
		return "", false
	}
	from, end := uint32(0), t.ends[i]
	if i > 0 {
		from = t.ends[i-1]
	}
	if from == end {
		return "", true
	}
	block := (end - 1) / tableBlock
	from = max(from, block*tableBlock)
	return string(t.blocks[block][from-block*tableBlock : end-block*tableBlock]), true
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
	s := &sheet{name: chosen.name, sheets: book.names(), epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	if on := book.date1904; on == "1" || on == "true" {
		s.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	var target string
	var strs, styles string
	for _, rel := range book.rels {
		to := path.Join("xl", rel.target)
		if strings.HasPrefix(rel.target, "/") {
			to = rel.target[1:]
		}
		switch kind := path.Base(rel.kind); {
		case rel.id == chosen.rel:
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
		return nil, fault.Newf(fault.Invalid, "the workbook has no cells for its sheet %q; save it once more", chosen.name)
	}
	s.xml = decoder(r)
	return s, nil
}

// book is what a workbook says of its sheets.
type book struct {
	date1904 string
	sheets   []sheetOf
	rels     []rel
}

type sheetOf struct{ name, state, rel string }

type rel struct{ id, kind, target string }

func readBook(z *zip.Reader) (b book, err error) {
	err = elements(z, "xl/workbook.xml", func(parent string, e xml.StartElement) error {
		switch {
		case e.Name.Local == "workbookPr":
			b.date1904 = attr(e, "date1904")
		case e.Name.Local == "sheet" && parent == "sheets":
			s := sheetOf{name: attr(e, "name"), state: attr(e, "state")}
			for _, a := range e.Attr {
				if a.Name.Local == "id" { // r:id, in either namespace of the standard
					s.rel = a.Value
				}
			}
			if b.sheets = append(b.sheets, s); len(b.sheets) > maxSheets || len(s.name) > maxSheetName {
				return fault.Newf(fault.Invalid, "the workbook has more than %d sheets, or one whose name is longer than %d "+
					"bytes; save the sheet as CSV", maxSheets, maxSheetName)
			}
		}
		return nil
	})
	if err != nil {
		return book{}, err
	}
	err = elements(z, "xl/_rels/workbook.xml.rels", func(_ string, e xml.StartElement) error {
		if e.Name.Local != "Relationship" {
			return nil
		}
		b.rels = append(b.rels, rel{attr(e, "Id"), attr(e, "Type"), attr(e, "Target")})
		return tooMany(len(b.rels), maxParts, "parts")
	})
	return b, err
}

func tooMany(n, most int, what string) error {
	if n <= most {
		return nil
	}
	return fault.Newf(fault.Invalid, "the workbook has more than %d %s; save the sheet as CSV", most, what)
}

// choose is the sheet of a name.
func (b book) choose(name string) (sheetOf, error) {
	for _, s := range b.sheets {
		if name == s.name || name == "" && (s.state == "" || s.state == "visible") {
			return s, nil
		}
	}
	if name == "" {
		return sheetOf{}, fault.Newf(fault.Invalid, "the workbook has no visible sheet")
	}
	return sheetOf{}, fault.Newf(fault.Invalid, "the workbook has no sheet %q; it has %s", name,
		strings.Join(b.names(), ", "))
}

// names of the sheets, quoted, for messages.
func (b book) names() (names []string) {
	for i, s := range b.sheets {
		if i == sheetsShown {
			return append(names, fmt.Sprintf("and %d more", len(b.sheets)-i))
		}
		names = append(names, fmt.Sprintf("%q", s.name))
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

func decoder(r io.Reader) *safexml.Decoder {
	return safexml.NewDecoder(r, false, func(label string, in io.Reader) (io.Reader, error) {
		enc, err := encodingOf(strings.ToLower(label))
		if err != nil {
			return nil, err
		}
		return enc.NewDecoder().Reader(in), nil
	})
}

// elements calls each for the elements of a part of the workbook, in their order, with the name of what they stand in.
func elements(z *zip.Reader, name string, each func(parent string, e xml.StartElement) error) error {
	r, err := part(z, name, maxPart)
	if err != nil || r == nil {
		return errors.Join(err, missing(r, name))
	}
	d := decoder(r)
	var path []xml.Name
	for {
		tok, err := d.RawToken()
		if err != nil {
			return damaged(noEOF(err))
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			parent := ""
			if len(path) > 0 {
				parent = path[len(path)-1].Local
			}
			path = append(path, tok.Name)
			if err := each(parent, tok); err != nil {
				return err
			}
		case xml.EndElement:
			if len(path) == 0 || path[len(path)-1] != tok.Name {
				return damaged(fmt.Errorf("</%.40s> ends nothing", tok.Name.Local))
			}
			if path = path[:len(path)-1]; len(path) == 0 {
				return nil
			}
		}
	}
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
func readStrings(z *zip.Reader, name string) (t table, err error) {
	r, err := part(z, name, maxStringsXML)
	if err != nil || r == nil {
		return table{}, err
	}
	var text []byte
	bytes := 0
	d := decoder(r)
	for {
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return table{}, damaged(err)
		}
		if start, ok := tok.(xml.StartElement); ok && start.Name.Local == "si" {
			if text, err = textOf(d.RawToken, "si", text[:0]); err != nil {
				return table{}, err
			}
			if bytes += len(text); bytes > maxStrings {
				return table{}, fault.Newf(fault.Invalid, "the workbook has more than %d MiB of text; save the sheet as CSV",
					maxStrings>>20)
			}
			t.add(text)
			if err := tooMany(len(t.ends), maxStringsN, "texts"); err != nil {
				return table{}, err
			}
		}
	}
}

// textOf appends the text of the t elements up to the end of the element. It ends beyond what a cell may have.
func textOf(next func() (xml.Token, error), element string, text []byte) ([]byte, error) {
	in, aloud := false, 0
	for {
		tok, err := next()
		if err != nil {
			return nil, damaged(noEOF(err))
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
				return text, nil
			case "t":
				in = false
			case "rPh":
				aloud--
			}
		case xml.CharData:
			if !in || aloud != 0 {
				continue
			}
			if len(text)+len(tok) > maxSheetCell {
				return nil, errLongCell
			}
			text = append(text, tok...)
		}
	}
}

var errLongCell = fault.Newf(fault.Invalid, "a text of the workbook is longer than Excel allows; shorten it")

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readDates says of each style whether a number in it is a date or a time.
func readDates(z *zip.Reader, name string) ([]bool, error) {
	if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.EqualFold(f.Name, name) }) {
		return nil, nil
	}
	custom := map[int]bool{}
	var cells []int
	err := elements(z, name, func(parent string, e xml.StartElement) error {
		switch {
		case e.Name.Local == "numFmt" && parent == "numFmts":
			custom[intOf(attr(e, "numFmtId"))] = datesIn(attr(e, "formatCode"))
		case e.Name.Local == "xf" && parent == "cellXfs":
			cells = append(cells, intOf(attr(e, "numFmtId")))
		}
		return tooMany(max(len(custom), len(cells)), maxStyles, "styles")
	})
	if err != nil {
		return nil, err
	}
	dates := make([]bool, len(cells))
	for i, n := range cells {
		dates[i] = n >= 14 && n <= 22 || n >= 27 && n <= 36 || n >= 45 && n <= 47 || n >= 50 && n <= 58
		if is, ok := custom[n]; ok {
			dates[i] = is
		}
	}
	return dates, nil
}

// intOf is a number as the XML has it, 0 where it has none.
func intOf(s string) int {
	n, _ := strconv.Atoi(s)
	return n
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
		tok, err := s.token()
		if err != nil {
			return damaged(err) // io.EOF is the end
		}
		if end, ok := tok.(xml.EndElement); ok && end.Name.Local == "sheetData" {
			return io.EOF // what follows is formats and warnings, with ranges of any length
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
		s.wrote += int64(len(s.out))
		return nil
	}
}

// token is the next one of the sheet.
func (s *sheet) token() (xml.Token, error) {
	if n := s.xml.InputOffset(); n > sparseFrom && n > sparseMost*s.wrote {
		return nil, fault.Newf(fault.Invalid, "up to row %d, sheet %q has %d MiB of XML and almost no cells with a value; delete "+
			"the empty rows and columns, or save the sheet as CSV", s.row, s.name, n>>20)
	}
	return s.xml.RawToken()
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
	column, bytes := -1, 0
	for {
		tok, err := s.token()
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
			if bytes > MaxRecord { // the record is refused as too long, whatever else it has
				continue
			}
			bytes += len(value)
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
		tok, err := s.token()
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
				text, err := textOf(s.token, "is", nil)
				if errors.Is(err, errLongCell) {
					return "", s.longCell(c)
				}
				if err != nil {
					return "", err
				}
				value.Write(text)
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
			return "", s.longCell(c)
		}
	}
}

func (s *sheet) longCell(c xml.StartElement) error {
	return fault.Newf(fault.Invalid, "cell %.20s of sheet %q is longer than Excel allows; shorten it", attr(c, "r"), s.name)
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
