package contact_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// seeds are texts with what records are hard about.
var seeds = []string{
	small, "a,b\n\"x\ny\",z\n", "a,b\n\"x\"\"y\",\"\"\n", "\"never closed,\nb,c\n", "a \"b\" c,d\n", " \"a\" , \"b\"\n", "\"a\"b,c\n\"d\",e\n",
	"\"a\nb\"c,d\ne,f\n", "\r\n\r\n", "a\rb\rc", "\",\"\n\",\"\n", "\"\"\"\n\"\"\"\"\n", "\uFEFFa,b\n", ",,,\n,\n", "a;b\tc|d\n", "\x00\xff\xfe\n",
	"x,\"a\n,b\"\n\"\n", "\" \"\r\n\"\r\"\n", "'a','b'\n'c''d',e\n", "\"a\\\"b\",\"c\\\\\"\n\"\\\"\n",
}

func planOf(delimiter, quote, newline string, header bool, columns int) contact.Plan {
	f := contact.Format{Container: contact.Plain, Encoding: contact.UTF8, Delimiter: delimiter, Quote: quote, Newline: newline, Header: header}
	m := contact.Mapping{}
	for i := range columns {
		f.Columns = append(f.Columns, string(rune('a'+i)))
		m = append(m, contact.Column{Header: f.Columns[i], Field: "fields." + f.Columns[i]})
	}
	return contact.Plan{Format: f, Mapping: m, Region: "CA"}
}

// rowsOf reads a text in chunks. The chunks follow each other without gaps, to the end.
func rowsOf(t *testing.T, p contact.Plan, text []byte) (rows []contact.Row, chunks []contact.Chunk) {
	t.Helper()
	end, err := p.Split(bytes.NewReader(text), contact.Position{}, func(c contact.Chunk) error {
		chunks = append(chunks, c)
		return nil
	})
	require.NoError(t, err)
	for i, c := range chunks {
		if i > 0 && c.Offset != chunks[i-1].Offset+chunks[i-1].Length || c.Rows == 0 || c.Offset+c.Length > int64(len(text)) {
			t.Fatalf("chunks %+v of %d bytes", chunks, len(text))
		}
		if err := p.Parse(bytes.NewReader(text[c.Offset:c.Offset+c.Length]), c, func(r contact.Row) error {
			rows = append(rows, r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(chunks); n > 0 && chunks[n-1].Offset+chunks[n-1].Length != int64(len(text)) {
		t.Fatalf("chunks %+v of %d bytes", chunks, len(text))
	}
	require.Equal(t, int64(len(rows)), end.Row-1, len(rows))
	return rows, chunks
}

// FuzzSplit cuts any text: the chunks joined are the text, and their rows are those of the text read at once, also where
// splitting goes on after a restart at any row.
func FuzzSplit(f *testing.F) {
	for _, s := range seeds {
		for _, d := range []string{",", ";", "\t"} {
			f.Add([]byte(s), d, `"`, false, 2)
		}
		f.Add([]byte(s), ",", "'", true, 3)
		f.Add([]byte(s), ",", "", true, 1)
		f.Add([]byte(s), ",", `"`, true, 7)
		f.Add([]byte(strings.Repeat(s, 700)), ",", `"`, true, 2)
	}
	f.Fuzz(func(t *testing.T, text []byte, delimiter, quote string, header bool, columns int) {
		if len(delimiter) != 1 || len(quote) > 1 || delimiter == quote || strings.ContainsAny(delimiter+quote, "\r\n ") ||
			delimiter[0] >= 0x80 || quote != "" && quote[0] >= 0x80 {
			return
		}
		p := planOf(delimiter, quote, "\n", header, (columns%5+5)%5)
		if columns > 5 && delimiter != `\` && quote != `\` {
			p.Format.Escape = `\`
		}
		rows, chunks := rowsOf(t, p, text)
		whole := rows
		for i, c := range chunks {
			if i == 3 {
				break
			}
			var rest []contact.Chunk
			if _, err := p.Split(bytes.NewReader(text[c.End().Offset:]), c.End(), func(c contact.Chunk) error {
				rest = append(rest, c)
				return nil
			}); err != nil || len(rest) != len(chunks)-i-1 || len(rest) > 0 && !reflect.DeepEqual(rest, chunks[i+1:]) {
				t.Fatalf("after chunk %d: %+v, want %+v, %v", i, rest, chunks[i+1:], err)
			}
		}
		// Each row by itself, as if chunks had one row.
		if len(whole) > 1 && len(chunks) == 1 && len(text) < 4000 {
			one := chunks[0]
			var again []contact.Row
			if err := p.Parse(&oneByte{text[one.Offset : one.Offset+one.Length]}, one, func(r contact.Row) error {
				again = append(again, r)
				return nil
			}); err != nil || !reflect.DeepEqual(again, whole) {
				t.Fatalf("byte by byte: %+v, want %+v, %v", again, whole, err)
			}
		}
	})
}

// oneByte gives a byte a time.
type oneByte struct{ b []byte }

func (o *oneByte) Read(p []byte) (int, error) {
	if len(o.b) == 0 {
		return 0, io.EOF
	}
	p[0], o.b = o.b[0], o.b[1:]
	return 1, nil
}

// FuzzWellFormed reads what encoding/csv wrote: the same cells.
func FuzzWellFormed(f *testing.F) {
	f.Add("a", "b\nc", `d "e"`, ",")
	f.Add("", " x ", "\t", ";")
	f.Fuzz(func(t *testing.T, a, b, c, delimiter string) {
		if len(delimiter) != 1 || strings.ContainsAny(delimiter, "\"\r\n \x00") || delimiter[0] >= 0x80 {
			return
		}
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		w.Comma = rune(delimiter[0])
		want := [][]string{{"1", a, b, c}, {c, b, a, "2"}}
		if err := w.WriteAll(want); err != nil {
			return
		}
		p := planOf(delimiter, `"`, "\n", false, 4)
		for i := range p.Mapping { // all rows are refused, so that their cells are shown
			p.Mapping[i].Field = contact.FieldIgnored
		}
		rows, _ := rowsOf(t, p, out.Bytes())
		require.Len(t, rows, 2, out.String())
		for i, r := range rows {
			for j, cell := range r.Record {
				if got, want := cell, storableOf(want[i][j]); got != want {
					t.Errorf("row %d cell %d: %q, want %q, in %q", i, j, got, want, out.String())
				}
			}
		}
	})
}

// FuzzSniff looks at any bytes: a plan that reads them, or a refusal.
func FuzzSniff(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add(gzipped([]byte(small)))
	f.Add(zipped("a.csv", small))
	f.Add(utf16of(small, binary.LittleEndian, true))
	f.Add(workbook(header))
	f.Add([]byte("Name,Phone\x00\nAnn,5145550123\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		src, size := bytes.NewReader(data), int64(len(data))
		plan, err := contact.Sniff(src, size, contact.Options{Region: "CA", Mapping: map[string]string{"#1": "phone"}})
		if err != nil {
			refused(t, err)
			return
		}
		storedPlan(t, plan)
		if _, err := plan.Preview(src, size, 20); err != nil {
			refused(t, err)
		}
	})
}

// storedPlan checks that a plan is the same after it was stored, and has nothing that Postgres refuses.
func storedPlan(t testing.TB, plan contact.Plan) {
	t.Helper()
	data, err := json.Marshal(plan)
	require.NoError(t, err)
	var back contact.Plan
	require.NoError(t, json.Unmarshal(data, &back))
	if was, is := fmt.Sprint(plan), fmt.Sprint(back); was != is || strings.Contains(is, "\x00") {
		t.Errorf("the plan %q is stored as %q", was, is)
	}
}

// FuzzPhone reads any cell: a number in E.164 that is read as itself, or a problem.
func FuzzPhone(f *testing.F) {
	for _, s := range []string{"514-555-0123", "+33 6 12 34 56 78", "tel:+1514;ext=4", "5,1E+9", "a ::: b", "\u202a+1 514", "0033612345678"} {
		f.Add(s, "CA")
		f.Add(s, "")
	}
	f.Fuzz(func(t *testing.T, cell, region string) {
		if len(cell) > 500 {
			return
		}
		phone, country, p := contact.ReadPhone(cell, region)
		if p != nil {
			if p.Code == "" || p.Message == "" || phone != "" {
				t.Errorf("%q: %+v", cell, p)
			}
			return
		}
		again, country2, p := contact.ReadPhone(phone, region)
		if again != phone || country2 != country || p != nil {
			t.Errorf("%q is %q, which is %q, %+v", cell, phone, again, p)
		}
		if key := contact.Key(phone, ""); contact.Key(key, "") != key {
			t.Errorf("the key of %q is not its own", phone)
		}
	})
}

// storableOf is a cell as it is shown: Postgres takes neither NUL nor what is not UTF-8.
func storableOf(s string) string { return contact.Storable(s) }
