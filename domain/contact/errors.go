package contact

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/formula"
)

// Writer writes contacts as a file that can be imported again: UTF-8 with a byte order mark, which Excel needs, with
// commas and \n. A cell that a spreadsheet would take for a formula gets a ' before it, which an import takes away;
// telephone numbers in E.164 are left alone.
type Writer struct {
	csv  *csv.Writer
	line []string
}

// NewWriter writes the header. Nothing may be written to w before it.
func NewWriter(w io.Writer, columns []string) (*Writer, error) {
	if _, err := io.WriteString(w, utf8BOM); err != nil {
		return nil, err
	}
	out := &Writer{csv: csv.NewWriter(w)}
	return out, out.Write(columns)
}

// Write writes one row.
func (w *Writer) Write(cells []string) error {
	w.line = w.line[:0]
	for _, cell := range cells {
		if cell = formula.Escape(cell); marked(cell) {
			cell = "'" + cell
		}
		w.line = append(w.line, cell)
	}
	return w.csv.Write(w.line)
}

// Close writes what is left. It does not close the writer beneath.
func (w *Writer) Close() error {
	w.csv.Flush()
	return w.csv.Error()
}

// ErrorsWriter writes refused rows as a file that can be mended in a spreadsheet and imported again: the columns as
// they were, then error_line, error_field, error_code and error_message, which an import leaves out. It is UTF-8 with a
// byte order mark, which Excel needs, with commas and \n. A cell that a spreadsheet would take for a formula, or would
// not write back as it is, gets a ' before it, which an import takes away (asText). Of a file that has these four
// columns already, which it was once written with, they are left out. Of a record of more than 16 KB the longest cells
// are cut, as the message says, and refused again until they are mended.
type ErrorsWriter struct {
	csv     *csv.Writer
	columns []bool // of the file: those that are written
	line    []string
}

// NewErrorsWriter writes the header for a file of these columns (Format.Columns). A column without a name is called by
// its number. Nothing may be written to w before it.
func NewErrorsWriter(w io.Writer, columns []string) (*ErrorsWriter, error) {
	if _, err := io.WriteString(w, utf8BOM); err != nil {
		return nil, err
	}
	e := &ErrorsWriter{csv: csv.NewWriter(w), columns: make([]bool, len(columns))}
	again := !slices.ContainsFunc(columnsOfErrors, func(c string) bool { return !slices.Contains(columns, c) })
	for i, c := range columns {
		if e.columns[i] = !again || !slices.Contains(columnsOfErrors, c); !e.columns[i] {
			continue
		}
		if c == "" {
			c = "column " + strconv.Itoa(i+1)
		}
		e.line = append(e.line, formula.Escape(c))
	}
	return e, e.csv.Write(append(e.line, columnsOfErrors...))
}

// Write writes one refused row: all its problems stand in one line. Cells beyond the columns come last.
func (e *ErrorsWriter) Write(line int64, record []string, problems []Problem) error {
	e.line = e.line[:0]
	for i, written := range e.columns {
		if !written {
			continue
		}
		cell := ""
		if i < len(record) {
			cell = asText(record[i])
		}
		e.line = append(e.line, cell)
	}
	var fields, codes, messages []string
	for _, p := range problems {
		if p.Field != "" && !slices.Contains(fields, p.Field) {
			fields = append(fields, p.Field)
		}
		if !slices.Contains(codes, p.Code) {
			codes = append(codes, p.Code)
		}
		messages = append(messages, p.Message)
	}
	if slices.ContainsFunc(record, isCut) {
		messages = append(messages, fmt.Sprintf("no more than %d KB of a row are kept: cells that end in %s are cut; copy "+
			"them from line %d of the original file", shownBytes>>10, cutMark, line))
	}
	e.line = append(e.line, strconv.FormatInt(line, 10), formula.Escape(strings.Join(fields, "; ")),
		strings.Join(codes, "; "), formula.Escape(strings.Join(messages, "; ")))
	for i := len(e.columns); i < len(record); i++ {
		e.line = append(e.line, asText(record[i]))
	}
	return e.csv.Write(e.line)
}

// shownBytes is how much is kept of a record that is refused, about: those of a file may have a thousand times as much,
// and are kept for weeks where disks are dear.
const shownBytes = 16 << 10

// cutMark ends a cell that was cut. In a file of refused rows its second sign is one that could not be read: whoever
// imports the file again without the rest of the cell is told so.
const cutMark = "…\uFFFD"

// cut cuts the longest cells of a record with more than shownBytes, all to one length.
func cut(cells []string) {
	left := 0
	lengths := make([]int, len(cells))
	for i, c := range cells {
		lengths[i] = len(c)
		left += len(c)
	}
	if left <= shownBytes {
		return
	}
	slices.Sort(lengths)
	left = shownBytes
	most := 0
	for i, n := range lengths {
		if most = left / (len(lengths) - i); n > most {
			break
		}
		left -= n
	}
	for i, c := range cells {
		if len(c) <= most {
			continue
		}
		end := most
		for end > 0 && !utf8.RuneStart(c[end]) {
			end--
		}
		cells[i] = c[:end] + cutMark
	}
}

func isCut(cell string) bool { return strings.HasSuffix(cell, cutMark) }

// asText is a cell that a spreadsheet keeps as it is. Of digits it would drop a + and zeros at the beginning, and write
// more than eleven in scientific notation: "+447911123456" would come back as 4.47911E+11.
func asText(cell string) string {
	const shown = 11 // digits of a number without a format, in Excel
	digits := strings.TrimPrefix(cell, "+")
	if digits != "" && strings.Trim(digits, "0123456789") == "" &&
		(digits != cell || len(digits) > shown || len(digits) > 1 && digits[0] == '0') {
		return "'" + cell
	}
	return formula.Escape(cell)
}

// withoutMark is the cell that asText was given.
func withoutMark(cell string) string {
	if v := formula.Unescape(cell); v != cell || !marked(cell) {
		return v
	}
	return cell[1:]
}

// Close writes what is left. It does not close the writer beneath.
func (e *ErrorsWriter) Close() error {
	e.csv.Flush()
	return e.csv.Error()
}

// plainCell is the text of a cell without what says to a spreadsheet that it is text: ="007", or '007. What Writer has
// put before a formula is no such sign.
func plainCell(cell string) string {
	if v := withoutMark(cell); v != cell {
		return v
	}
	if v, ok := strings.CutPrefix(strings.TrimSpace(cell), `="`); ok {
		if v, ok = strings.CutSuffix(v, `"`); ok && !strings.Contains(v, `"`) {
			return v
		}
	}
	return cell
}

// marked says that a cell is a number with apostrophes before it.
func marked(cell string) bool {
	number := strings.TrimLeft(cell, "'")
	return len(number) < len(cell) && number != "" && number[0] >= '0' && number[0] <= '9'
}
