// Package dump reads listings that another system has stored, from a dump of its table, and makes messages of them as
// another team's normalizer would send them. It does no I/O of its own and reads no clock.
package dump

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
)

// MaxRow bounds a row, in bytes: a larger one is an error, and reading ends there.
const MaxRow = 4 << 20

// maxCells bounds the cells of a row, before there is room for them: a row of nothing but commas would take a hundred
// times its size. Of JSON all colons count.
const maxCells = 100_000

// A Row is one row of a table. A NULL and a member that is missing have no value.
type Row struct {
	Number  int      // from 1
	Columns []string // all that it has, also those without a value
	Values  map[string]string
}

// Rows reads the rows of a table from its dump: plain SQL of pg_dump (COPY … FROM stdin), CSV with a header, or a JSON
// object a line. Which of them it is shows in its first bytes. table names the table in a dump of several:
// "public.listings"; it counts for plain SQL only. An error comes with the number of the row that cannot be read, and
// the next row follows; one that comes with the number 0 is of the whole, and the last.
func Rows(r io.Reader, table string) iter.Seq2[Row, error] {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(512)
	switch trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"); {
	case len(head) == 0 && err != nil && !errors.Is(err, io.EOF):
		return failing(err)
	case bytes.HasPrefix(head, []byte("PGDMP")):
		return failing(errors.New("it is a dump in pg_dump's custom format; make a plain one of it by " +
			"pg_restore --data-only -t listings -f listings.sql FILE"))
	case bytes.HasPrefix(trimmed, []byte("{")):
		return jsonRows(in)
	case bytes.HasPrefix(trimmed, []byte("--")), bytes.HasPrefix(trimmed, []byte("SET ")),
		bytes.HasPrefix(trimmed, []byte("COPY ")), bytes.HasPrefix(trimmed, []byte(`\restrict`)):
		return sqlRows(in, table)
	}
	return csvRows(in)
}

func failing(err error) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) { yield(Row{}, err) }
}

// line reads a line without its end; io.EOF comes alone, after the last one.
func line(in *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := in.ReadSlice('\n')
		if out = append(out, part...); len(out) > MaxRow {
			return nil, fmt.Errorf("a row has more than %d bytes", MaxRow)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, errors.Is(err, io.EOF) && len(out) > 0:
			return bytes.TrimRight(out, "\r\n"), nil
		}
		return nil, err
	}
}

func jsonRows(in *bufio.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for n := 1; ; n++ {
			text, err := line(in)
			if errors.Is(err, io.EOF) {
				return
			}
			text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
			if err == nil && len(text) == 0 {
				n--
				continue
			}
			if err != nil {
				yield(Row{}, err)
				return
			}
			row := Row{Number: n, Values: map[string]string{}}
			var members map[string]json.RawMessage
			if err = tooMany(bytes.Count(text, []byte(":"))); err == nil {
				err = json.Unmarshal(text, &members)
			}
			for name, value := range members {
				row.Columns = append(row.Columns, name)
				var s string
				switch {
				case string(value) == "null":
				case json.Unmarshal(value, &s) == nil:
					row.Values[name] = s
				default:
					row.Values[name] = string(value)
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// csvRows reads fields as they stand. An empty one is NULL: psql and pg_dump write it so.
func csvRows(in *bufio.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		bounded := &bound{r: in}
		c := csv.NewReader(bounded)
		c.ReuseRecord = true
		var columns []string
		for n := 0; ; n++ {
			bounded.left, bounded.cells = MaxRow, 0
			record, err := c.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			var wrong *csv.ParseError
			if err != nil && (n == 0 || !errors.As(err, &wrong)) {
				yield(Row{}, err)
				return
			}
			if n == 0 {
				columns = append(columns, record...)
				columns[0] = strings.TrimPrefix(columns[0], "\ufeff")
				continue
			}
			row := Row{n, columns, make(map[string]string, len(record))}
			for i, value := range record[:min(len(record), len(columns))] {
				if value != "" {
					row.Values[columns[i]] = value
				}
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// bound ends with an error when a row is read that has too many bytes.
type bound struct {
	r     io.Reader
	left  int
	cells int
}

func (b *bound) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("has more than %d bytes: a quote may be open", MaxRow)
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	b.cells += bytes.Count(p[:n], []byte(","))
	if wrong := tooMany(b.cells); wrong != nil {
		return 0, wrong
	}
	return n, err
}

func tooMany(cells int) error {
	if cells > maxCells {
		return fmt.Errorf("has more than %d cells", maxCells)
	}
	return nil
}

// sqlRows reads the rows between COPY table (columns) FROM stdin; and the line \. after it.
func sqlRows(in *bufio.Reader, table string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var columns []string
		var others []string
		found := false
		for n := 1; ; {
			text, err := line(in)
			switch {
			case errors.Is(err, io.EOF) && found:
				return
			case errors.Is(err, io.EOF):
				yield(Row{}, fmt.Errorf("it has no rows of %s (COPY … FROM stdin)%s; pg_dump -t %s writes them, without --inserts",
					table, hint(others), table))
				return
			case err != nil:
				yield(Row{}, err)
				return
			}
			if columns == nil {
				name, names, ok := copied(string(text))
				switch {
				case !ok:
				case !sameTable(name, table):
					if len(others) < mostHinted {
						others = append(others, strings.Clone(name))
					}
				default:
					columns, found = names, true
				}
				continue
			}
			if string(text) == `\.` {
				columns = nil
				continue
			}
			row, err := copyRow(n, columns, string(text))
			if !yield(row, err) {
				return
			}
			n++
		}
	}
}

// mostHinted is how many of the other tables of a dump are named where the one asked for is not in it.
const mostHinted = 5

func hint(tables []string) string {
	if len(tables) == 0 {
		return ""
	}
	return ", but of " + strings.Join(tables, ", ")
}

// copied reads a COPY command.
func copied(text string) (table string, columns []string, ok bool) {
	rest, ok := strings.CutPrefix(text, "COPY ")
	if !ok || !strings.HasSuffix(rest, " FROM stdin;") || tooMany(strings.Count(rest, ", ")) != nil {
		return "", nil, false
	}
	table, list, ok := strings.Cut(strings.TrimSuffix(rest, " FROM stdin;"), " (")
	if !ok {
		return "", nil, false
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, ")"), ", ") {
		columns = append(columns, unquote(name))
	}
	return table, columns, true
}

// sameTable compares names of tables; without a schema it is any.
func sameTable(a, b string) bool {
	a, b = strings.ReplaceAll(a, `"`, ""), strings.ReplaceAll(b, `"`, "")
	if !strings.Contains(a, ".") || !strings.Contains(b, ".") {
		a, b = a[strings.LastIndex(a, ".")+1:], b[strings.LastIndex(b, ".")+1:]
	}
	return a == b
}

func unquote(name string) string {
	if inner, ok := strings.CutPrefix(name, `"`); ok {
		return strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
	}
	return name
}

// copyRow reads a row in Postgres' text format of COPY.
func copyRow(n int, columns []string, text string) (Row, error) {
	if found := strings.Count(text, "\t") + 1; found != len(columns) {
		return Row{Number: n}, fmt.Errorf("has %d fields, expected %d: the dump is cut off or damaged", found, len(columns))
	}
	fields := strings.Split(text, "\t")
	row := Row{n, columns, make(map[string]string, len(fields))}
	for i, f := range fields {
		if f != `\N` {
			row.Values[columns[i]] = copyText(f)
		}
	}
	return row, nil
}

// copyText decodes a field: backslash sequences as the documentation of COPY lists them.
func copyText(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	plain := map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if c, ok := plain[s[i]]; ok {
			b.WriteByte(c)
			continue
		}
		digits, base := s[i:], 8
		if s[i] == 'x' {
			digits, base = s[i+1:], 16
		}
		k := 0
		for k < len(digits) && k < map[int]int{8: 3, 16: 2}[base] && isDigit(digits[k], base) {
			k++
		}
		if k == 0 {
			b.WriteByte(s[i])
			continue
		}
		code, _ := strconv.ParseUint(digits[:k], base, 16) // digits only
		b.WriteByte(byte(code))
		if i += k - 1; base == 16 {
			i++
		}
	}
	return b.String()
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
