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
	"unicode/utf16"

	"github.com/klauspost/compress/zip"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/safexml"
)

// A worksheet becomes comma-separated text, one physical line a row of the sheet, so that the line of a problem is the
// number that the spreadsheet shows. Line breaks in cells are vertical tabs there, which Parse reads as line breaks.
// Dates are ISO 8601, whatever their format; numbers have all digits that a sheet shows; a formula is its last result;
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
	maxSheetDay   = 2958466   // the day after 31 December 9999
	maxSheets     = 1000
	maxSheetName  = 1024    // bytes; Excel has at most 31 characters
	maxParts      = 10_000  // relations of a workbook to its parts
	maxStyles     = 100_000 // Excel has at most 65,490
	sheetsShown   = 50      // names in a message
)

// A sheet of more XML than sparseFrom bytes may have at most sparseMost bytes of it for each byte of text: what is read
// to find nothing costs as much time as what is there. A token counts as tokenLeast bytes: an empty cell is two, of
// which Excel makes some 20 bytes, and a file that is made to hurt four.
const (
	sparseFrom = 64 << 20
	sparseMost = 256
	tokenLeast = 10
)

// sheet reads a worksheet as text.
type sheet struct {
	written
	name    string
	sheets  []string // names of all, quoted
	xml     *safexml.Decoder
	tokens  int64                 // that were read of it
	texts   func() (table, error) // that cells refer to; nil = strings has them
	strings table
	formats []numberFormat // by style
	epoch   time.Time
	wrote   int64
	row     int // of the sheet, that was written last
	cells   []string
}

// written is text that is made piece by piece, as it is read.
type written struct {
	out []byte
	err error
}

// read gives what is written, and has next append the next piece to out where there is none.
func (w *written) read(p []byte, next func() error) (int, error) {
	for len(w.out) == 0 {
		if w.err != nil {
			return 0, w.err
		}
		w.err = next()
	}
	n := copy(p, w.out)
	if w.out = w.out[n:]; len(w.out) == 0 {
		w.out = w.out[:0:cap(w.out)]
	}
	return n, nil
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
		to := rel.target
		if !path.IsAbs(to) {
			to = path.Join(book.folder, to)
		}
		to = strings.TrimPrefix(to, "/")
		switch kind := path.Base(rel.kind); {
		case rel.id == chosen.rel:
			target = to
		case kind == "sharedStrings":
			strs = to
		case kind == "styles":
			styles = to
		}
	}
	// Once a cell refers to one: they may be hundreds of megabytes, and a sheet is also opened for its name.
	s.texts = func() (table, error) { return readStrings(z, strs) }
	if s.formats, err = readFormats(z, styles); err != nil {
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

// Read gives the sheet as text.
func (s *sheet) Read(p []byte) (int, error) { return s.read(p, s.next) }

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
	n := s.xml.InputOffset()
	s.tokens++
	if cost := max(n, tokenLeast*s.tokens); cost > sparseFrom && cost > sparseMost*s.wrote {
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
			return damaged(fault.NoEOF(err))
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
			return "", damaged(fault.NoEOF(err))
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
		if s.texts != nil {
			var err error
			if s.strings, err = s.texts(); err != nil {
				return "", err
			}
			s.texts = nil
		}
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
		if v == "1" || v == "true" {
			return "TRUE", nil
		}
		return "FALSE", nil
	case "d":
		return isoDate(v), nil
	case "", "n":
		var f numberFormat
		if i, err := strconv.Atoi(style); err == nil && i >= 0 && i < len(s.formats) {
			f = s.formats[i]
		}
		return s.number(v, f), nil
	case "str":
		return unescapedXML(v), nil
	}
	return v, nil // e
}

// isoDate is a date that the file has as ISO 8601, as number writes one.
func isoDate(v string) string {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, v); err == nil {
			return shownDate(at)
		}
	}
	return v
}

// shownDate is a day, with its time where it has one.
func shownDate(at time.Time) string {
	if at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0 {
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateTime)
}

var escapedXML = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// unescapedXML is a text with the characters that a workbook writes as _x000D_: those that XML does not have, and any
// others (ECMA-376, ST_Xstring).
func unescapedXML(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	return escapedXML.ReplaceAllStringFunc(s, func(e string) string {
		n, _ := strconv.ParseUint(e[2:6], 16, 16)
		if utf16.IsSurrogate(rune(n)) {
			return e
		}
		return string(rune(n))
	})
}

// number is a number with the 15 digits that spreadsheets show: what 0.1+0.2 leaves, 0.30000000000000004, is 0.3. A
// number of more digits before its point is as it stands.
func (s *sheet) number(v string, format numberFormat) string {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return v
	}
	if math.Abs(f) >= 1e15 {
		return v
	}
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	switch {
	case format.elapsed && f >= 0 && f < maxSheetDay:
		seconds := int64(math.Round(f * 86400))
		return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	case !format.date || f < 0 || f >= maxSheetDay:
		out := strconv.FormatFloat(f, 'f', -1, 64)
		if n := format.zeros - len(out); n > 0 && f >= 0 && f == math.Trunc(f) {
			out = strings.Repeat("0", n) + out
		}
		return out
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
