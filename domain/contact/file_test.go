package contact_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"

	"github.com/mtlrent/conveyor/domain/contact"
)

const small = "Name,Phone,Email\nZoé Côté,514-555-0123,zoe@example.com\nBob,438-555-0199,\n"

const smallRead = "+15145550123 zoe@example.com Zoé Côté\n+14385550199 Bob"

func utf16of(s string, order binary.AppendByteOrder, mark bool) []byte {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xFEFF)
	}
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

func cp1252(s string) []byte {
	b, err := charmap.Windows1252.NewEncoder().Bytes([]byte(s))
	if err != nil {
		panic(err)
	}
	return b
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

func zipped(files ...string) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			panic(err)
		}
		io.WriteString(w, files[i+1])
	}
	z.Close()
	return out.Bytes()
}

// TestComplaints is what users of other importers complain about: each is read right, or refused with the place and
// what to do.
func TestComplaints(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		data []byte
		o    contact.Options
		want string
	}{
		{"plain", []byte(small), contact.Options{}, smallRead},
		{"byte order mark", []byte("\uFEFF" + small), contact.Options{}, smallRead},
		{"byte order mark, quoted header", []byte("\uFEFF\"Phone\",\"Name\"\n5145550123,Bob\n"), contact.Options{}, "+15145550123 Bob"},
		{"\\r\\n", []byte(strings.ReplaceAll(small, "\n", "\r\n")), contact.Options{}, smallRead},
		{"\\r", []byte(strings.ReplaceAll(small, "\n", "\r")), contact.Options{}, smallRead},
		{"no line end at the end", []byte(strings.TrimSuffix(small, "\n")), contact.Options{}, smallRead},
		{"semicolons", []byte(strings.ReplaceAll(small, ",", ";")), contact.Options{}, smallRead},
		{"tabs", []byte(strings.ReplaceAll(small, ",", "\t")), contact.Options{}, smallRead},
		{"bars", []byte(strings.ReplaceAll(small, ",", "|")), contact.Options{}, smallRead},
		{"sep=", []byte("sep=;\r\nName;Phone\r\nDoe, John;5145550123\r\n"), contact.Options{}, "+15145550123 Doe, John"},
		{"commas within semicolons", []byte("Nom;Ville;Téléphone\nDoe, John;Montréal, QC;5145550123\nRoy, Ann;Laval, QC;4385550199\n"),
			contact.Options{}, "+15145550123 Doe, John\n+14385550199 Roy, Ann"},
		{"decimal commas", []byte("Nom;Montant;Tél.\nA;12,50;5145550123\nB;13,75;4385550199\n"), contact.Options{},
			"+15145550123 A\n+14385550199 B"},
		{"single quotes", []byte("'Name','Phone'\n'Côté, Zoé','5145550123'\n'Bob','4385550199'\n"), contact.Options{},
			"+15145550123 Côté, Zoé\n+14385550199 Bob"},
		{"windows-1252", cp1252(strings.ReplaceAll(small, "Bob", "Œuvré “Bob”")), contact.Options{},
			"+15145550123 zoe@example.com Zoé Côté\n+14385550199 Œuvré “Bob”"},
		{"utf-16le with mark", utf16of(small, binary.LittleEndian, true), contact.Options{}, smallRead},
		{"utf-16be with mark", utf16of(small, binary.BigEndian, true), contact.Options{}, smallRead},
		{"utf-16le", utf16of(small, binary.LittleEndian, false), contact.Options{}, smallRead},
		{"utf-16be", utf16of(small, binary.BigEndian, false), contact.Options{}, smallRead},
		{"encoding given", []byte("Name,Phone\nZo\x8e,5145550123\n"), contact.Options{Encoding: "macintosh"}, "+15145550123 Zoé"},
		{"rows of another encoding", []byte("Name,Phone\nZoé,5145550123\nCôté,4385550199\n" + string(cp1252("Noël,4505550111\n"))),
			contact.Options{}, "+15145550123 Zoé\n+14385550199 Côté\n+14505550111 Noël"},
		{"bytes that are no text", []byte("Name,Phone\nZoé Côté Noël,5145550123\nA\x81B,4385550199\n"), contact.Options{},
			"+15145550123 Zoé Côté Noël\nline 3: name encoding"},
		{"gzip", gzipped([]byte(small)), contact.Options{}, smallRead},
		{"gzip of utf-16", gzipped(utf16of(small, binary.LittleEndian, true)), contact.Options{}, smallRead},
		{"zip", zipped("contacts.csv", small), contact.Options{}, smallRead},
		{"zip of macOS", zipped("__MACOSX/._contacts.csv", "x", "dir/", "", "dir/contacts.csv", small, "dir/.DS_Store", "x"),
			contact.Options{}, smallRead},

		{"preamble", []byte("Contacts of May\nExported,2024-05-01\n\nName,Phone\nBob,5145550123\n"), contact.Options{}, "+15145550123 Bob"},
		{"preamble, padded", []byte("Contacts of May;;\n;;\nNom;Téléphone;Courriel\nBob;5145550123;\n"), contact.Options{}, "+15145550123 Bob"},
		{"skip given", []byte("a,b\nc,d\nName,Phone\nBob,5145550123\n"), contact.Options{Skip: new(2)}, "+15145550123 Bob"},
		{"header twice", []byte("Name,Phone\nBob,5145550123\nName,Phone\nZoé,4385550199\n"), contact.Options{},
			"+15145550123 Bob\n+14385550199 Zoé"},
		{"header twice, with a byte order mark", []byte("\uFEFFName,Phone\r\nBob,5145550123\r\n\uFEFFName,Phone\r\nZoé,4385550199\r\n"), contact.Options{},
			"+15145550123 Bob\n+14385550199 Zoé"},
		{"header twice, in another notation", []byte("Nom complet,Téléphone\nBob,5145550123\n\uFEFF\"NOM COMPLET\"; x,\n" +
			" nom  complet ,\"téléphone\"\r\nZoé,4385550199\n"), contact.Options{}, "+15145550123 Bob\nline 3: phone missing\n+14385550199 Zoé"},
		{"header of two rows", []byte("Client,,Coordonnées,\nNom,Téléphone,Courriel,Ville\nBob,5145550123,b@example.com,Laval\n"), contact.Options{},
			"+15145550123 b@example.com Bob"},
		{"header of two rows, the first full", []byte("Contact,Contact,Contact,Address\nName,Phone,Email,City\nBob,5145550123,b@example.com,Laval\n"),
			contact.Options{}, "+15145550123 b@example.com Bob"},
		{"header in two languages", []byte("Name,Phone\nNom,Téléphone\nBob,5145550123\n"), contact.Options{},
			"line 2: phone phone_letters\n+15145550123 Bob"},
		{"no header", []byte("Bob,5145550123\nZoé,4385550199\n"), contact.Options{}, "+15145550123\n+14385550199"},
		{"no header, one column", []byte("5145550123\n4385550199\n"), contact.Options{}, "+15145550123\n+14385550199"},
		{"header of unknown words", []byte("alpha,beta\nBob,5145550123\nZoé,4385550199\n"), contact.Options{}, "+15145550123\n+14385550199"},
		{"one column with a header", []byte("phone\n5145550123\n"), contact.Options{}, "+15145550123"},
		{"one row", []byte("Name,Phone\nBob,5145550123\n"), contact.Options{}, "+15145550123 Bob"},
		{"no rows", []byte("Name,Phone\n"), contact.Options{}, ""},
		{"no rows, no line end", []byte("Name,Phone"), contact.Options{}, ""},
		{"blank lines", []byte("Name,Phone\n\n   \nBob,5145550123\n,\n\r\nZoé,4385550199\n\n"), contact.Options{}, "+15145550123 Bob\n+14385550199 Zoé"},
		{"duplicate", []byte("Name,Phone\nBob,5145550123\nBob again,(514) 555-0123\n"), contact.Options{}, "+15145550123 Bob\n+15145550123 Bob again"},
		{"short row", []byte("Phone,Name,Email\n5145550123\n"), contact.Options{}, "+15145550123"},
		{"long row, empty cells", []byte("Phone,Name\n5145550123,Bob,,\n"), contact.Options{}, "+15145550123 Bob"},
		{"long row", []byte("Phone,Name\n5145550123,Doe, John\n4385550199,Bob\n"), contact.Options{}, "line 2:  too_many_columns\n+14385550199 Bob"},
		{"neither", []byte("Phone,Email,Name\n,,Bob\n,b@example.com,Zoé\n"), contact.Options{}, "line 2: phone missing\nb@example.com Zoé"},

		{"scientific notation", []byte("Name,Phone\nBob,5.14555E+09\n"), contact.Options{}, "line 2: phone phone_scientific"},
		{"scientific notation, french", []byte("Nom;Téléphone\nBob;5,14555E+09\n"), contact.Options{}, "line 2: phone phone_scientific"},
		{"NUL bytes", []byte("Name,Phone\nB\x00ob,5145550123\nZoé,438\x005550199\n"), contact.Options{},
			"line 2: name nul_byte\nline 3: phone nul_byte"},
		{"NUL bytes in the header, twice", []byte("Name,Phone\x00\x00\nBob,5145550123\nName,Phone\x00\x00\nZoé,4385550199\n"), contact.Options{},
			"+15145550123 Bob\n+14385550199 Zoé"},
		{"header of another encoding", []byte("Pr\xe9,Name,Phone\nx,Bob,5145550123\nPr\xe9,Name,Phone\nx,Zoé,4385550199\n"), contact.Options{Encoding: "utf-8"},
			"+15145550123 Bob\n+14385550199 Zoé"},
		{"control character", []byte("Name,Phone\nB\x07ob,5145550123\n"), contact.Options{}, "line 2: name control_character"},
		{"long cell", []byte("Name,Phone\n" + strings.Repeat("é", 201) + ",5145550123\n"), contact.Options{}, "line 2: name too_long"},
		{"several problems", []byte("Name,Phone,Email,Language\nBob,12,zoe@,Klingon!\n"), contact.Options{},
			"line 2: phone phone_invalid email email_invalid locale locale_unknown"},
		{"several phones, the mobile first", []byte("Name,Work Phone,Home Phone,Mobile Phone\nA,514-555-0100,514-555-0101,514-555-0102\n" +
			"B,514-555-0100,,\nC,514-555-0100,514-555-0101,nope\nD,x,,y\n"), contact.Options{},
			"+15145550102 A\n+15145550100 B\n+15145550101 C\nline 5: phone phone_letters"},

		{"malformed: bare quotes", []byte("Name,Phone\nBob \"Bobby\" Roy,5145550123\n5\" pipe,4385550199\n"), contact.Options{},
			"+15145550123 Bob \"Bobby\" Roy\n+14385550199 5\" pipe"},
		{"malformed: not doubled", []byte("Name,Phone\n\"Bob \"Bobby\" Roy\",5145550123\n"), contact.Options{}, "+15145550123 Bob \"Bobby\" Roy"},
		{"malformed: text after the quote", []byte("Name,Phone\n\"Bob\" Roy,5145550123\nZoé,4385550199\n"), contact.Options{},
			"line 2:  quote\n+14385550199 Zoé"},
		{"malformed: never closed", []byte("Name,Phone\n\"Bob,5145550123\nZoé,4385550199\nAnn,4505550111\n"), contact.Options{},
			"line 2:  quote\n+14385550199 Zoé\n+14505550111 Ann"},
		{"malformed: never closed, quoted cells below", []byte("Name,Phone\n\"Bob,5145550123\n\"Zoé\",4385550199\n\"Ann\",\"4505550111\"\n"),
			contact.Options{}, "line 2:  quote\n+14385550199 Zoé\n+14505550111 Ann"},
		{"malformed: closed lines below", []byte("Name,Phone,City\n\"Bob,5145550123,Laval\nZoé,4385550199,\"Laval\nAnn,4505550111,Laval\n"), contact.Options{},
			"line 2:  quote\nline 3:  quote\n+14505550111 Ann"},
		{"malformed: closed below, cells are missing", []byte("Phone,Name,City\n5145550123,\"Bob,Laval\n4385550199,Zoé,Laval\"\n4505550111,Ann,Laval\n"), contact.Options{},
			"line 2:  quote\n+14385550199 Zoé\n+14505550111 Ann"},
		{"malformed: the last line", []byte("Name,Phone\nZoé,4385550199\n\"Bob,5145550123"), contact.Options{}, "+14385550199 Zoé\nline 3:  quote"},
		{"backslashes before quotes", []byte("Name,Phone\n\"Bob \\\"Bobby\\\", Roy\",5145550123\n\"A\\\\\",4385550199\n"), contact.Options{},
			"+15145550123 Bob \"Bobby\", Roy\n+14385550199 A\\"},
		{"paths", []byte("Name,Phone\n\"C:\\dir\\\",5145550123\n"), contact.Options{}, "+15145550123 C:\\dir\\"},
		{"spaces around quotes", []byte("Name,Phone\n \"Roy, Bob\" , \"5145550123\"\n"), contact.Options{}, "+15145550123 Roy, Bob"},
		{"a space and a quote that is text", []byte("Name,Phone\n \"Bob Roy,5145550123\nZoé,4385550199\n"), contact.Options{},
			"+15145550123 \"Bob Roy\n+14385550199 Zoé"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := importFile(t, tt.data, tt.o)
			assert.Equal(t, tt.want, f.String(), f.plan.Reasons[:min(3, len(f.plan.Reasons))])
		})
	}
}

// What is kept of a refused row takes no more memory for the number of its cells.
func TestManyCells(t *testing.T) {
	t.Parallel()
	for _, row := range []string{"x" + strings.Repeat(";", 1_000_000), `"x"y` + strings.Repeat(";z", 500_000)} {
		f := importFile(t, []byte("Name;Phone\nBob;5145550123\n"+row+"\n"), contact.Options{})
		got := f.rows[1].Record
		begin, cut := strings.CutSuffix(strings.Join(got, ";"), "…\uFFFD")
		if len(got) != contact.MaxColumns+1 || !cut || !strings.HasPrefix(row, begin) || len(begin) < 16<<10 {
			t.Errorf("%d cells of %d bytes", len(got), len(begin))
		}
	}
}

// TestRefused is files that are refused as a whole.
func TestRefused(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		data []byte
		o    contact.Options
		says []string
	}{
		{"empty", nil, contact.Options{}, []string{"empty", "upload one with"}},
		{"blank", []byte("\n \n"), contact.Options{}, []string{"empty"}},
		{"byte order mark only", []byte("\uFEFF"), contact.Options{}, []string{"empty"}},
		{"delimiters only", []byte(",,\n,,\n"), contact.Options{}, []string{"empty"}},
		{"a line without an end", bytes.Repeat([]byte("x"), 3<<20), contact.Options{}, []string{"line 1 ", "line breaks"}},
		{"a table of html", []byte("<table><tr><td>Phone</td></tr></table>"), contact.Options{}, []string{"HTML", "spreadsheet"}},
		{"html in utf-16", utf16of("<html><table><tr><td>Phone\n", binary.LittleEndian, true), contact.Options{}, []string{"HTML"}},
		{"html in a gzip", gzipped([]byte("<!-- x -->\n<style>td {}</style>")), contact.Options{}, []string{"HTML"}},
		{"mhtml", []byte("MIME-Version: 1.0\nContent-Type: multipart/related\n\n<html>"), contact.Options{}, []string{"MHTML"}},
		{"rtf", []byte(`{\rtf1\ansi Phone\par 5145550123}`), contact.Options{}, []string{"RTF"}},
		{"pdf", []byte("%PDF-1.7\n..."), contact.Options{}, []string{"PDF", "CSV or XLSX"}},
		{"old excel", []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest"), contact.Options{}, []string{".xls", ".doc", "save the table as"}},
		{"html", []byte("\n<!DOCTYPE html><html></html>"), contact.Options{}, []string{"HTML"}},
		{"json", []byte(`[{"phone": "514"}]`), contact.Options{}, []string{"JSON"}},
		{"json on lines", []byte("[\n  {\"phone\": \"514\"}\n]"), contact.Options{}, []string{"JSON"}},
		{"binary", binaryNoise(4000), contact.Options{}, []string{"not text"}},
		{"utf-32", []byte("\xff\xfe\x00\x00N\x00\x00\x00"), contact.Options{}, []string{"UTF-32"}},
		{"no phones", []byte("Name,City\nBob,Laval\nZoé,Laval\n"), contact.Options{}, []string{`#1 "Name", #2)`, `{"#1": "phone"}`}},
		{"zip of two", zipped("a.csv", small, "b.csv", small), contact.Options{}, []string{"2 files", "a.csv"}},
		{"empty zip", zipped(), contact.Options{}, []string{"empty zip"}},
		{"zip in a zip", zipped("a.zip", string(zipped("a.csv", small))), contact.Options{}, []string{"zip in the zip"}},
		{"opendocument", zipped("mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml", "<x/>"), contact.Options{},
			[]string{"OpenDocument"}},
		{"damaged gzip", gzipped([]byte(strings.Repeat(small, 100)))[:100], contact.Options{}, []string{"damaged"}},
		{"damaged zip", append([]byte("PK\x03\x04"), binaryNoise(500)...), contact.Options{}, []string{"damaged"}},
		{"gzip bomb", gzipped(make([]byte, 64<<20)), contact.Options{}, nil},
		{"encoding that there is not", []byte(small), contact.Options{Encoding: "klingon"}, []string{"klingon", "utf-8"}},
		{"delimiter that is none", []byte(small), contact.Options{Delimiter: "ab"}, []string{`"ab"`}},
		{"space as delimiter", []byte(small), contact.Options{Delimiter: " "}, []string{`" "`}},
		{"quote that is none", []byte(small), contact.Options{Quote: "x"}, []string{`"x"`}},
		{"escape that is none", []byte(small), contact.Options{Escape: "x"}, []string{`"x"`}},
		{"skip beyond the end", []byte(small), contact.Options{Skip: new(10)}, []string{"skip is 10"}},
		{"mapping of no column", []byte(small), contact.Options{Mapping: map[string]string{"Tel": "phone"}}, []string{`"Tel"`, `"Phone"`}},
		{"mapping to no field", []byte(small), contact.Options{Mapping: map[string]string{"Phone": "fone"}}, []string{`"fone"`, "phone, email"}},
		{"region that there is not", []byte(small), contact.Options{Region: "XX"}, []string{`"XX"`, "CA"}},
		{"sheet of no workbook", []byte(small), contact.Options{Sheet: "x"}, []string{`"x"`}},
		{"too many columns", []byte("phone" + strings.Repeat(",c", 1000) + "\n5145550123\n"), contact.Options{}, []string{"1001 columns", "1000"}},
		{"header with an open quote", []byte("\"Phone,Name\n5145550123,Bob\n4385550199,Ann\n"), contact.Options{Header: new(true)}, []string{"line 1", "quote"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tryImport(t, tt.data, tt.o)
			refused(t, err, tt.says...)
		})
	}
}

func binaryNoise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestBombs unpacks what grows: it ends early, within little memory.
func TestBombs(t *testing.T) {
	t.Parallel()

	long := "Name,Phone\n" + strings.Repeat("Bob,5145550123\n", 2<<20)
	for name, data := range map[string][]byte{"gzip": gzipped([]byte(long)), "zip": zipped("a.csv", long)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, size := bytes.NewReader(data), int64(len(data))
			plan, err := contact.Sniff(src, size, contact.Options{})
			require.NoError(t, err)
			text, err := plan.Open(src, size)
			require.NoError(t, err)
			last := contact.Position{}
			_, err = plan.Split(text, contact.Position{}, func(c contact.Chunk) error { last = c.End(); return nil })
			refused(t, err, name, "unpacks to more", "unpacked")
			assert.LessOrEqual(t, last.Offset, int64(64<<20), "bytes that were read before it was refused")
		})
	}
}

// TestLongLine has a line of 200 MB in the middle: it is one bad row, and little memory. It is not parallel, for it
// counts what is allocated.
func TestLongLine(t *testing.T) {
	const size = 200 << 20
	head, tail := "Name,Phone\nBob,5145550123\n", "\nZoé,4385550199\n"
	text := func() io.Reader {
		return io.MultiReader(strings.NewReader(head), io.LimitReader(letters{}, size), strings.NewReader(tail))
	}
	f := importFile(t, []byte(head), contact.Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var chunks []contact.Chunk
	if _, err := f.plan.Split(text(), contact.Position{}, func(c contact.Chunk) error {
		chunks = append(chunks, c)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var rows []contact.Row
	for _, c := range chunks {
		all := text()
		io.CopyN(io.Discard, all, c.Offset)
		if err := f.plan.Parse(io.LimitReader(all, c.Length), c, func(r contact.Row) error {
			rows = append(rows, r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if len(rows) != 3 || !rows[0].Valid() || !rows[2].Valid() || rows[2].Line != 4 {
		t.Fatalf("rows %+v", rows)
	}
	p := rows[1].Problems
	if len(p) != 1 || p[0].Code != contact.CodeRecordBytes || !strings.Contains(p[0].Message, "line 3") || len(rows[1].Record[0]) > 2000 {
		t.Errorf("row %+v", p)
	}
	require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(40<<20))
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestCells is csv-spectrum's cases, and more: the cells as they are in the file.
func TestCells(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, text, want string }{
		{"comma in quotes", "first,phone,address\nJohn,5145550123,\"120 any st., Anytown, WW\"\n", `{"address":"120 any st., Anytown, WW"}`},
		{"empty", "a,phone,c\n1,5145550123,\"\"\n", `{"a":"1"}`},
		{"doubled quotes", "a,phone\n\"ha \"\"ha\"\" ha\",5145550123\n", `{"a":"ha \"ha\" ha"}`},
		{"json", "key,phone\n\"{\"\"type\"\": \"\"Point\"\", \"\"c\"\": [1, 2]}\",5145550123\n", `{"key":"{\"type\": \"Point\", \"c\": [1, 2]}"}`},
		{"line break", "a,phone\n\"once upon\na time\",5145550123\n", `{"a":"once upon\na time"}`},
		{"line break, \\r\\n", "a,phone\r\n\"once upon\r\na time\",5145550123\r\n", `{"a":"once upon\na time"}`},
		{"quotes and line breaks", "a,phone\n\"ha\n\"\"ha\"\"\nha\",5145550123\n", `{"a":"ha\n\"ha\"\nha"}`},
		{"only quotes", "a,phone\n\"\"\"\"\"\",5145550123\n", `{"a":"\"\""}`},
		{"utf-8", "a,phone\nʤ,5145550123\n", `{"a":"ʤ"}`},
		{"vertical tab of excel", "a,phone\none\vtwo,5145550123\n", `{"a":"one\ntwo"}`},
		{"decomposed", "a,phone\nZoe\u0301,5145550123\n", `{"a":"Zoé"}`},
		{"header with a line break", "\"my\nfield\",phone\n1,5145550123\n", `{"my_field":"1"}`},
		{"headers alike", "note,note,phone,\nx,y,5145550123,z\n", `{"column_4":"z","note":"x","note_2":"y"}`},
		{"apostrophes", "a,b,c,phone\n'=1+1,'tis,''=x,5145550123\n", `{"a":"=1+1","b":"'tis","c":"'=x"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := importFile(t, []byte(tt.text), contact.Options{Mapping: map[string]string{"phone": "phone"}})
			if len(f.rows) != 1 || !f.rows[0].Valid() {
				t.Fatalf("rows %+v", f.rows)
			}
			got, _ := json.Marshal(f.rows[0].Contact.Fields)
			assert.Equal(t, tt.want, string(got))
		})
	}
}

// TestSplit has chunks of 1,000 rows, their places, and splitting that goes on after a restart.
func TestSplit(t *testing.T) {
	t.Parallel()

	var b strings.Builder
	b.WriteString("\uFEFFpreamble\n\nName,Phone,Note\n")
	for i := range 2500 {
		fmt.Fprintf(&b, "Person %d,+1514555%04d,\"a\nnote\"\n", i, i)
		if i%500 == 499 {
			b.WriteString("\n\nName,Phone,Note\n")
		}
	}
	data := []byte(b.String())
	f := importFile(t, data, contact.Options{})
	if len(f.chunks) != 3 || f.valid != 2500 {
		t.Fatalf("%d chunks, %d valid", len(f.chunks), f.valid)
	}
	at := f.chunks[0].Offset
	for i, c := range f.chunks {
		if c.N != i || c.Offset != at || c.Rows != min(1000, 2500-1000*i) || c.FirstRow != int64(1000*i+1) ||
			c.FirstLine != int64(bytes.Count(data[:c.Offset], []byte("\n")))+1 {
			t.Errorf("chunk %+v", c)
		}
		at += c.Length
	}
	require.Equal(t, int64(len(data)), at)
	for _, r := range f.rows {
		if line := bytes.Count(data[:bytes.Index(data, []byte(r.Contact.Name+","))], []byte("\n")) + 1; int64(line) != r.Line {
			t.Fatalf("%s: line %d, want %d", r.Contact.Name, r.Line, line)
		}
	}
	for i, c := range f.chunks {
		var rest []contact.Chunk
		end, err := f.plan.Split(bytes.NewReader(data[c.End().Offset:]), c.End(), func(c contact.Chunk) error {
			rest = append(rest, c)
			return nil
		})
		if err != nil || !slices.Equal(rest, f.chunks[i+1:]) || end.Row != f.end.Row {
			t.Errorf("from %+v: %+v, end %+v, %v", c.End(), rest, end, err)
		}
	}
}

// TestReaderFails hands the error of the reader on, as it is: it may pass.
func TestReaderFails(t *testing.T) {
	t.Parallel()

	f := importFile(t, []byte(small), contact.Options{})
	bad := io.MultiReader(strings.NewReader(small), iotest.ErrReader(errOften))
	if _, err := f.plan.Split(bad, contact.Position{}, func(contact.Chunk) error { return nil }); !errors.Is(err, errOften) {
		t.Errorf("split: %v", err)
	}
	c := f.chunks[0]
	if err := f.plan.Parse(iotest.ErrReader(errOften), c, func(contact.Row) error { return nil }); !errors.Is(err, errOften) {
		t.Errorf("parse: %v", err)
	}
	if err := f.plan.Parse(strings.NewReader(""), c, func(contact.Row) error { return nil }); err == nil {
		t.Error("a chunk with fewer rows than it had is no success")
	}
	if err := f.plan.Parse(strings.NewReader(small[17:]), c, func(contact.Row) error { return errOften }); !errors.Is(err, errOften) {
		t.Errorf("each: %v", err)
	}
	one := func(r io.Reader) io.Reader { return iotest.OneByteReader(r) }
	end, err := f.plan.Split(one(strings.NewReader(small)), contact.Position{}, func(got contact.Chunk) error {
		assert.Equal(t, c, got, "byte by byte")
		return nil
	})
	if err != nil || end != f.end {
		t.Errorf("byte by byte: %+v, %v", end, err)
	}
}

// TestFileFails hands the error of the file on, as it is, out of every container.
func TestFileFails(t *testing.T) {
	t.Parallel()

	long := strings.Repeat(small, 2000)
	for name, data := range map[string][]byte{"plain": []byte(long), "gzip": gzipped([]byte(long)), "zip": zipped("a.csv", long),
		"xlsx": workbook(header)} {
		src := &failing{data: data}
		want, err := contact.Sniff(src, int64(len(data)), contact.Options{})
		require.NoError(t, err)
		for n := range src.reads {
			got, err := contact.Sniff(&failing{data: data, at: n + 1}, int64(len(data)), contact.Options{})
			if err == nil && name == "xlsx" && reflect.DeepEqual(got, want) {
				continue // it read on behind the end of the XML
			}
			if !errors.Is(err, errOften) {
				t.Errorf("%s, read %d of %d fails: %v", name, n+1, src.reads, err)
			}
		}
	}
}

// failing fails at one of its reads.
type failing struct {
	data  []byte
	at    int
	reads int
}

func (f *failing) ReadAt(p []byte, offset int64) (int, error) {
	if f.reads++; f.reads == f.at {
		return 0, errOften
	}
	return bytes.NewReader(f.data).ReadAt(p, offset)
}

// TestPreview is the first rows, and a plan that survives JSON.
func TestPreview(t *testing.T) {
	t.Parallel()

	f := importFile(t, []byte(small), contact.Options{})
	stored, err := json.Marshal(f.plan)
	require.NoError(t, err)
	var plan contact.Plan
	if err := json.Unmarshal(stored, &plan); err != nil || !reflect.DeepEqual(plan, f.plan) {
		t.Fatalf("plan %+v, stored %+v, %v", f.plan, plan, err)
	}
	for n := range 4 {
		rows, err := plan.Preview(strings.NewReader(small), int64(len(small)), n)
		if err != nil || len(rows) != min(n, 2) || n > 0 && !reflect.DeepEqual(rows[0], f.rows[0]) {
			t.Errorf("preview of %d: %+v, %v", n, rows, err)
		}
	}
	plan.Records = true
	rows, err := plan.Preview(strings.NewReader(small), int64(len(small)), 1)
	if err != nil || !slices.Equal(rows[0].Record, []string{"Zoé Côté", "514-555-0123", "zoe@example.com"}) {
		t.Errorf("with its cells: %+v, %v", rows, err)
	}
	for _, r := range f.plan.Reasons {
		if r.Setting == "" || r.Value == "" || r.Why == "" {
			t.Errorf("reason %+v", r)
		}
	}
}
