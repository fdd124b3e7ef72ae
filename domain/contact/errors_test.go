package contact_test

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// errorsCSV writes the refused rows of a file, as GET /uploads/{id}/errors.csv does.
func errorsCSV(t testing.TB, f file) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := contact.NewErrorsWriter(&out, f.plan.Format.Columns)
	require.NoError(t, err)
	for _, r := range f.rows {
		if !r.Valid() {
			require.NoError(t, w.Write(r.Line, r.Record, r.Problems))
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// TestErrorsAgain imports a file of refused rows as it is: each is refused again for the same reasons, with the same
// cells. Mended, each is a contact.
func TestErrorsAgain(t *testing.T) {
	t.Parallel()

	const text = "Name;Phone;Email;Note;Langue\n" +
		"=HYPERLINK(\"http://x\");12;;-1+1;\n" +
		"@bob;+1514555;bob@;'tis;fr\n" +
		"'=x;13;;''+y;klingon!\n" +
		"\"two\r\nlines\";14;;\"a;b \"\"c\"\"\";\n" +
		"\"\ttab\";5.14E+09;; spaces ;\n" +
		"+15145550123;+15145550199x5;;＝full;\n" +
		"long;5145550123;;;;extra;-more\n" +
		"\"open;5145550123;;;\n" +
		"good;5145550123;;;\n"
	first := importFile(t, []byte(text), contact.Options{})
	if first.invalid != 8 || first.valid != 1 {
		t.Fatalf("%d invalid, %d valid:\n%s", first.invalid, first.valid, first)
	}
	out := errorsCSV(t, first)
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(out, []byte("\uFEFF"))))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	require.NoError(t, err)
	for _, record := range records {
		for _, cell := range record {
			if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") && strings.Trim(cell[1:], "0123456789") != "" {
				t.Errorf("a spreadsheet takes %q for a formula", cell)
			}
		}
	}
	again := importFile(t, out, contact.Options{})
	if again.invalid != 7 || again.valid != 1 { // the quote that was not closed is doubled now, so the row is good
		t.Fatalf("again: %d invalid, %d valid:\n%s", again.invalid, again.valid, again)
	}
	for i, r := range again.rows {
		was := first.rows[i]
		if was.Problems[0].Code == contact.CodeQuote {
			continue
		}
		assert.Equal(t, codes(was), codes(r), i+1)
	}

	// Mended as in a spreadsheet, which keeps all other cells as they are.
	for _, record := range records[1:] {
		record[1], record[2], record[4] = "5145550123", "", ""
	}
	var fixed bytes.Buffer
	w := csv.NewWriter(&fixed)
	w.WriteAll(records)
	want := []string{`=HYPERLINK("http://x")|-1+1`, "@bob|'tis", "'=x|''+y", "two lines|a;b \"c\"", "tab|spaces", "+15145550123|＝full",
		"long|", "\"open|"}
	good := importFile(t, fixed.Bytes(), contact.Options{})
	for i, r := range good.rows {
		if i == 6 {
			continue // its cells beyond the columns are still there
		}
		if got := r.Contact.Name + "|" + r.Contact.Fields["note"]; got != want[i] || !r.Valid() {
			t.Errorf("row %d: %q, want %q; %v", i+1, got, want[i], r.Problems)
		}
		if len(r.Contact.Fields) > 1 {
			t.Errorf("row %d: columns of ours are fields: %v", i+1, r.Contact.Fields)
		}
	}
}

// TestErrorsTwice imports refused rows that were not mended, and takes the refused ones of that: the file says of the
// last import what was wrong, once.
func TestErrorsTwice(t *testing.T) {
	t.Parallel()

	first := importFile(t, []byte("Name,Phone\nAnn,5145550123\nBob,12\nC\x00y,5145550124\n514,5145550125,more\n"), contact.Options{})
	second := importFile(t, errorsCSV(t, first), contact.Options{})
	got := string(errorsCSV(t, second))
	want := "\uFEFFName,Phone,error_line,error_field,error_code,error_message\n" +
		"Bob,12,2,phone,phone_invalid,\"\"\"12\"\" is not a valid telephone number; correct it\"\n" +
		"C\uFFFDy,5145550124,3,name,encoding,\"\"\"C\uFFFDy\"\" has \uFFFD where a character could not be read; write that character, or " +
		"remove the sign\"\n" +
		"514,5145550125,4,,too_many_columns,\"the row has 7 cells, and the header 6: cell 7 is \"\"more\"\"; put quotes around a cell " +
		"that has a delimiter in it\",more\n"
	require.Equal(t, want, got)
	if again := importFile(t, []byte("Name,Phone\nZo\uFFFD,5145550123\n"), contact.Options{}); again.valid != 1 {
		t.Errorf("a file of others: %s", again)
	}
}

// Of a record that is too large to be kept, the longest cells are cut on a character. What was cut is not imported as if
// it was whole, but once it is mended.
func TestErrorsOfLargeRecords(t *testing.T) {
	t.Parallel()

	long := func(n int) string { return strings.Repeat("é", n) }
	text := "Name,Phone,A,B,C,D\nAnn,12," + strings.Join([]string{long(3901), "short", long(3999), long(3000)}, ",") + "\n" +
		"Bob,13," + strings.Repeat("y", 16<<10-5) + ",,,\n" +
		"Cy,14" + strings.Repeat(",z", 100_000) + "\n" +
		"\"open,15," + strings.Repeat("w", 900_000) + "\n"
	first := importFile(t, []byte(text), contact.Options{})
	require.Equal(t, 4, first.invalid, first)
	for i, r := range first.rows {
		kept := 0
		for _, cell := range r.Record {
			require.True(t, utf8.ValidString(cell), i)
			kept += len(cell)
		}
		require.LessOrEqual(t, kept, 17<<10, i)
	}
	record := first.rows[0].Record
	require.Equal(t, []string{"Ann", "12", "short"}, []string{record[0], record[1], record[3]}, "what is short is whole")
	for _, i := range []int{2, 4, 5} {
		require.Equal(t, strings.Repeat("é", 2729)+"…\uFFFD", record[i], i)
	}
	require.Equal(t, strings.Repeat("y", 16<<10-5), first.rows[1].Record[2], "all of it fits")

	out := errorsCSV(t, first)
	require.Equal(t, 3, strings.Count(string(out), "; no more than 16 KB of a row are kept: cells that end in …\uFFFD are cut; copy"))
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(out, []byte("\uFEFF"))))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	require.NoError(t, err)
	again := func(record []string) contact.Row {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		require.NoError(t, w.WriteAll([][]string{records[0], record}))
		f := importFile(t, b.Bytes(), contact.Options{})
		require.Len(t, f.rows, 1)
		return f.rows[0]
	}
	ann := slices.Clone(records[1])
	ann[1] = "5145550123"
	refused := again(ann)
	require.Equal(t, []string{"A encoding", "C encoding", "D encoding"}, codes(refused))
	require.Contains(t, refused.Problems[0].Message, "it was cut")
	ann[2], ann[4], ann[5] = long(3901), long(3999), long(3000)
	mended := again(ann)
	require.True(t, mended.Valid(), mended.Problems)
	require.Equal(t, long(3999), mended.Contact.Fields["c"])
}

func codes(r contact.Row) (codes []string) {
	for _, p := range r.Problems {
		codes = append(codes, p.Field+" "+p.Code)
	}
	return codes
}

// A file that Writer has written is read as what was written.
func TestWriterIsReadAgain(t *testing.T) {
	t.Parallel()

	var b bytes.Buffer
	w, err := contact.NewWriter(&b, []string{"phone", "name", "tags", "fields.mobile", "fields.city"})
	if err == nil {
		err = w.Write([]string{"+15145550123", "=Zoé, \"Z\"", "a; b", "+1 no phone", "Montréal\nQC"})
	}
	if err == nil {
		err = w.Close()
	}
	require.NoError(t, err)
	src := bytes.NewReader(b.Bytes())
	plan, err := contact.Sniff(src, src.Size(), contact.Options{})
	require.NoError(t, err)
	rows, err := plan.Preview(src, src.Size(), 2)
	if err != nil || len(rows) != 1 || len(rows[0].Problems) > 0 {
		t.Fatalf("Preview = %+v, %v", rows, err)
	}
	want := contact.Contact{
		Key: "+15145550123", Phone: "+15145550123", Country: "CA", Name: "=Zoé, \"Z\"", Tags: []string{"a", "b"},
		Fields: map[string]string{"mobile": "+1 no phone", "city": "Montréal\nQC"},
	}
	require.Equal(t, want, rows[0].Contact)
}

// A file of refused rows comes back from a spreadsheet with all of its digits, and, refused again, as it was.
func TestErrorsInSpreadsheet(t *testing.T) {
	t.Parallel()

	cells := []string{"+447911123456", "+6593123456", "447911123456", "0612345678", "5145550123", "0", "'=x", "4.5", "00"}
	text := "Phone,Email,Code\n"
	for _, c := range cells {
		text += c + ",bob@," + c + "\n"
	}
	out := errorsCSV(t, importFile(t, []byte(text), contact.Options{}))
	for range 2 {
		r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(out, []byte("\uFEFF"))))
		records, err := r.ReadAll()
		require.NoError(t, err)
		for i, want := range []string{"'+447911123456", "'+6593123456", "'447911123456", "'0612345678", "5145550123", "0", "''=x", "4.5", "'00"} {
			if got := records[i+1]; got[0] != want || got[2] != want {
				t.Errorf("%q is written as %q", cells[i], got)
			}
		}
		again := importFile(t, out, contact.Options{Region: "GB"})
		out = errorsCSV(t, again)
	}
	out = bytes.ReplaceAll(out, []byte("bob@,"), []byte("bob@example.com,"))
	mended := importFile(t, out, contact.Options{Region: "GB"})
	if got := mended.rows[0].Contact; got.Phone != "+447911123456" || got.Fields["code"] != "+447911123456" {
		t.Errorf("mended %+v", mended.rows[0])
	}
	require.Equal(t, "+6593123456", mended.rows[1].Contact.Phone, "mended")
}
