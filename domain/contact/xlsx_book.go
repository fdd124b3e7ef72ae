package contact

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zip"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/safexml"
)

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
	main, err := mainPart(z)
	if err != nil || main != "" {
		return main != "", err
	}
	for _, f := range z.File {
		switch f.Name {
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

// mainPart is the name of the workbook in a zip: the one that nearly all have, else what the zip says that it is; ""
// where it has none.
func mainPart(z *zip.Reader) (name string, err error) {
	const usual, relations = "xl/workbook.xml", "_rels/.rels"
	if hasPart(z, usual) {
		return usual, nil
	}
	if !hasPart(z, relations) {
		return "", nil
	}
	err = elements(z, relations, func(_ string, e xml.StartElement) error {
		to := strings.TrimPrefix(slashed(attr(e, "Target")), "/")
		if path.Base(attr(e, "Type")) == "officeDocument" && path.Dir(to) == "xl" && path.Ext(to) == ".xml" {
			name = to
		}
		return nil
	})
	return name, err
}

// hasPart says that there is a file of that name in a zip.
func hasPart(z *zip.Reader, name string) bool {
	return slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.EqualFold(f.Name, name) })
}

// slashed is a path with the strokes of the standard: some programs on Windows write others.
func slashed(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// book is what a workbook says of its sheets.
type book struct {
	folder   string // that targets of rels are relative to
	date1904 string
	sheets   []sheetOf
	rels     []rel
}

type sheetOf struct{ name, state, rel string }

type rel struct{ id, kind, target string }

func readBook(z *zip.Reader) (b book, err error) {
	main, err := mainPart(z)
	if err != nil {
		return book{}, err
	}
	b.folder = path.Dir(main)
	err = elements(z, main, func(parent string, e xml.StartElement) error {
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
	err = elements(z, path.Join(b.folder, "_rels", path.Base(main)+".rels"), func(_ string, e xml.StartElement) error {
		if e.Name.Local != "Relationship" {
			return nil
		}
		b.rels = append(b.rels, rel{attr(e, "Id"), attr(e, "Type"), slashed(attr(e, "Target"))})
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

// choose is the sheet of a name; of "" the first visible one that has cells, not a chart.
func (b book) choose(name string) (sheetOf, error) {
	for _, s := range b.sheets {
		if name == s.name || name == "" && (s.state == "" || s.state == "visible") && b.cells(s) {
			return s, nil
		}
	}
	if name == "" {
		return sheetOf{}, fault.Newf(fault.Invalid, "the workbook has no visible sheet of cells")
	}
	return sheetOf{}, fault.Newf(fault.Invalid, "the workbook has no sheet %q; it has %s", name,
		strings.Join(b.names(), ", "))
}

// cells says that a sheet is one of cells, as far as the workbook says what it is.
func (b book) cells(s sheetOf) bool {
	return !slices.ContainsFunc(b.rels, func(r rel) bool {
		return r.id == s.rel && r.kind != "" && path.Base(r.kind) != "worksheet"
	})
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
			return damaged(fault.NoEOF(err))
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
			return nil, damaged(fault.NoEOF(err))
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

// A numberFormat is what a style makes of a number: a date or a time, a time that has elapsed, or so many digits with
// zeros before them.
type numberFormat struct {
	date, elapsed bool
	zeros         int
}

// readFormats reads the number format of each style.
func readFormats(z *zip.Reader, name string) ([]numberFormat, error) {
	if !hasPart(z, name) {
		return nil, nil
	}
	custom := map[int]numberFormat{}
	var cells []int
	err := elements(z, name, func(parent string, e xml.StartElement) error {
		switch {
		case e.Name.Local == "numFmt" && parent == "numFmts":
			custom[intOf(attr(e, "numFmtId"))] = formatOf(attr(e, "formatCode"))
		case e.Name.Local == "xf" && parent == "cellXfs":
			cells = append(cells, intOf(attr(e, "numFmtId")))
		}
		return tooMany(max(len(custom), len(cells)), maxStyles, "styles")
	})
	if err != nil {
		return nil, err
	}
	formats := make([]numberFormat, len(cells))
	for i, n := range cells {
		formats[i] = numberFormat{
			date:    n >= 14 && n <= 22 || n >= 27 && n <= 36 || n == 45 || n == 47 || n >= 50 && n <= 58,
			elapsed: n == 46,
		}
		if f, ok := custom[n]; ok {
			formats[i] = f
		}
	}
	return formats, nil
}

// intOf is a number as the XML has it, 0 where it has none.
func intOf(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// maxFormat is the most characters that Excel lets a number format have.
const maxFormat = 255

// formatOf reads the code of a number format. It shows a date or a time where it has a y, m, d, h or s outside quotes,
// escapes and [colors].
func formatOf(code string) numberFormat {
	code, _, _ = strings.Cut(code, ";")
	if len(code) > 1 && strings.Trim(code, "0") == "" {
		return numberFormat{zeros: min(len(code), maxFormat)}
	}
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '"', '[':
			end := byte('"')
			if c == '[' {
				end = ']'
			}
			n := strings.IndexByte(code[i+1:], end)
			if n < 0 {
				return numberFormat{}
			}
			if in := strings.ToLower(code[i+1 : i+1+n]); c == '[' && in != "" && strings.Trim(in, "hms") == "" {
				return numberFormat{elapsed: true} // [h]:mm
			}
			i += n + 1
		case '\\', '_', '*':
			i++
		case 'y', 'm', 'd', 'h', 's', 'Y', 'M', 'D', 'H', 'S':
			return numberFormat{date: true}
		case 'G', 'g': // General
			return numberFormat{}
		}
	}
	return numberFormat{}
}
