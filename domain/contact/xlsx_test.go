package contact_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// workbook is an XLSX file of these cells of its first sheet, with a second sheet, "Other". Style 1 is a date, style 2 a
// date and time of a format of its own, style 3 a number of a format with letters in quotes.
func workbook(rows string, more ...string) []byte {
	const ns = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	files := []string{
		"[Content_Types].xml", `<Types/>`,
		"xl/workbook.xml", `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><workbook ` + ns + `><workbookPr/><sheets>` +
			`<sheet name="Hidden" sheetId="3" state="hidden" r:id="rId3"/><sheet name="People" sheetId="1" r:id="rId1"/>` +
			`<sheet name="Other" sheetId="2" r:id="rId2"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="rId2" Type="x/worksheet" Target="/xl/worksheets/sheet2.xml"/>` +
			`<Relationship Id="rId3" Type="x/worksheet" Target="worksheets/sheet3.xml"/>` +
			`<Relationship Id="rId4" Type="x/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="rId5" Type="x/styles" Target="styles.xml"/></Relationships>`,
		"xl/styles.xml", `<styleSheet ` + ns + `><numFmts><numFmt numFmtId="164" formatCode="[$-40C]dd/mm/yyyy\ hh:mm"/>` +
			`<numFmt numFmtId="165" formatCode="0&quot;days&quot;"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>`,
		"xl/sharedStrings.xml", `<sst ` + ns + `><si><t>Name</t></si><si><t>Phone</t></si><si><t>Note</t></si>` +
			`<si><r><t xml:space="preserve">Zoé </t></r><r><t>Côté</t></r><rPh><t>not this</t></rPh></si><si><t>one` + "\n" + `two, "three"</t></si></sst>`,
		"xl/worksheets/sheet1.xml", `<worksheet ` + ns + `><cols/><sheetData>` + rows + `</sheetData><mergeCells><mergeCell ref="A3:A4"/></mergeCells>` +
			`<ignoredErrors><ignoredError sqref="` + strings.Repeat("B1234:B1240 ", 10_000) + `"/></ignoredErrors></worksheet>`, // as Excel writes
		"xl/worksheets/sheet2.xml", `<worksheet ` + ns + `><sheetData><row><c t="inlineStr"><is><t>Phone</t></is></c></row><row><c><v>5145550111</v></c></row></sheetData></worksheet>`,
	}
	return zipped(append(files, more...)...)
}

const header = `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c></row>`

func TestXLSX(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, rows, want string }{
		{"numbers, rich text, line breaks", header +
			`<row r="2"><c r="A2" t="s"><v>3</v></c><c r="B2"><v>5145550123</v></c><c r="C2" t="s"><v>4</v></c></row>` +
			`<row r="3"><c r="B3"><v>1.4385550199E10</v></c></row>`,
			"2 +15145550123 Zoé Côté map[note:one\ntwo, \"three\"]\n3 +14385550199  map[]"},
		{"dates", header +
			`<row r="2"><c r="B2"><v>5145550123</v></c><c r="C2" s="1"><v>33010</v></c></row>` +
			`<row r="3"><c r="B3"><v>4385550199</v></c><c r="C3" s="2"><v>33010.5625</v></c></row>` +
			`<row r="4"><c r="B4"><v>4505550111</v></c><c r="C4" s="3"><v>33010</v></c></row>` +
			`<row r="5"><c r="B5"><v>4505550112</v></c><c r="C5" s="1"><v>1</v></c></row>` +
			`<row r="6"><c r="B6"><v>4505550113</v></c><c r="C6" s="2"><v>0.75</v></c></row>`,
			"2 +15145550123  map[note:1990-05-17]\n3 +14385550199  map[note:1990-05-17 13:30:00]\n4 +14505550111  map[note:33010]\n" +
				"5 +14505550112  map[note:1900-01-01]\n6 +14505550113  map[note:18:00:00]"},
		{"formulas", header +
			`<row r="2"><c r="B2" t="str"><f>"+1"&amp;"5145550123"</f><v>+15145550123</v></c><c r="C2" t="b"><f>TRUE()</f><v>1</v></c></row>` +
			`<row r="3"><c r="B3"><f>A1</f></c></row><row r="4"><c r="B4" t="e"><f>X</f><v>#N/A</v></c></row>` +
			`<row r="5"><c r="B5"><v>4505550112</v></c><c r="C5" t="str"><f>""</f><v></v></c></row>`,
			"2 +15145550123  map[note:TRUE]\n3 phone formula_error\n4 phone formula_error\n5 +14505550112  map[]"},
		{"formulas whose results are left empty", header + `<row r="2"><c r="A2"><f>A1</f><v></v></c><c r="B2"><f>B1</f><v/></c></row>`,
			"2 phone formula_error"},
		{"merged cells, gaps, columns without references", header +
			`<row r="3"><c r="A3" t="inlineStr"><is><t>Ann</t></is></c><c r="B3"><v>5145550123</v></c></row>` +
			`<row r="4"><c r="A4"/><c><v>4385550199</v></c></row><row r="9" spans="1:2"><c t="inlineStr"><is><t>Bob</t></is></c></row>`,
			"3 +15145550123 Ann map[]\n4 +14385550199  map[]\n9 phone missing"},
		{"more digits than a spreadsheet keeps", header + `<row r="2"><c r="B2"><v>5.1455501231234567E15</v></c></row>`, "2 phone phone_scientific"},
		{"an ID of more digits", header + `<row r="2"><c r="B2"><v>5145550123</v></c><c r="C2"><v>1234567890123456</v></c></row>`,
			"2 +15145550123  map[note:1234567890123456]"},
		{"characters that XML does not have", header + `<row r="2"><c r="B2"><v>5145550123</v></c><c r="C2" t="inlineStr"><is><t>a_x000D_
b_x005F_x000D_ _xZZ</t></is></c></row>`, "2 +15145550123  map[note:a\nb_x000D_ _xZZ]"},
		{"no rows", header, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := importFile(t, workbook(tt.rows), contact.Options{})
			var got []string
			for _, r := range f.rows {
				if r.Valid() {
					got = append(got, fmt.Sprint(r.Line, " ", r.Contact.Phone, " ", r.Contact.Name, " ", r.Contact.Fields))
				} else {
					got = append(got, fmt.Sprint(r.Line, " ", r.Problems[0].Field, " ", r.Problems[0].Code))
				}
			}
			assert.Equal(t, tt.want, strings.Join(got, "\n"))
		})
	}
	other := importFile(t, workbook(header), contact.Options{Sheet: "Other"})
	require.Equal(t, "+15145550111", other.String(), "the other sheet")
}

// Numbers are as a sheet shows them where only their storage differs: 15 digits, zeros before codes, hours that have
// elapsed; dates, words and characters in each notation of the standard.
func TestXLSXValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ cell, format, want string }{
		{`<c r="C2"><v>19.989999999999998</v></c>`, "", "19.99"}, {`<c r="C2"><v>0.10299999999999999</v></c>`, "", "0.103"},
		{`<c r="C2"><v>124599.99999999999</v></c>`, "", "124600"}, {`<c r="C2"><v>7.4999999999999997E-2</v></c>`, "", "0.075"},
		{`<c r="C2"><v>-0.30000000000000004</v></c>`, "", "-0.3"}, {`<c r="C2"><v>123456789012345</v></c>`, "", "123456789012345"},
		{`<c r="C2" s="3"><v>2035</v></c>`, "00000", "02035"}, {`<c r="C2" s="3"><v>123456</v></c>`, "00000", "123456"},
		{`<c r="C2" s="3"><v>12.5</v></c>`, "00000", "12.5"}, {`<c r="C2" s="3"><v>-5</v></c>`, "00000", "-5"},
		{`<c r="C2" s="3"><v>2035</v></c>`, "00000;@", "02035"}, {`<c r="C2" s="3"><v>5</v></c>`, "0", "5"},
		{`<c r="C2" s="3"><v>5</v></c>`, strings.Repeat("0", 1000), strings.Repeat("0", 254) + "5"},
		{`<c r="C2" s="3"><v>1.5208333333333333</v></c>`, "[h]:mm", "36:30:00"}, {`<c r="C2" s="3"><v>0.25</v></c>`, "[h]:mm:ss", "06:00:00"},
		{`<c r="C2" s="3"><v>45368</v></c>`, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "2024-03-17"},
		{`<c r="C2" s="3"><v>45368.5</v></c>`, "[$€-en-US]#,##0.00", "45368.5"},
		{`<c r="C2" t="d"><v>2024-03-17</v></c>`, "", "2024-03-17"}, {`<c r="C2" t="d"><v>2024-03-17T13:45:30</v></c>`, "", "2024-03-17 13:45:30"},
		{`<c r="C2" t="d"><v>2024-03-17T00:00:00.000Z</v></c>`, "", "2024-03-17"}, {`<c r="C2" t="d"><v>13:45:30</v></c>`, "", "13:45:30"},
		{`<c r="C2" t="b"><v>true</v></c>`, "", "TRUE"}, {`<c r="C2" t="b"><v>false</v></c>`, "", "FALSE"},
		{`<c r="C2" t="inlineStr"><is><t>Ren_x00E9_ _x005F_x00E9_ _xD83D_</t></is></c>`, "", "René _x00E9_ _xD83D_"},
		{`<c r="C2" t="str"><v>a_x0020_b</v></c>`, "", "a b"},
	} {
		rows := header + `<row r="2"><c r="B2"><v>1.5145550123000002E10</v></c>` + tt.cell + `</row>`
		f := importFile(t, remade(workbook(rows), func(name, text string) (string, string) {
			if tt.format != "" {
				text = strings.Replace(text, "0&quot;days&quot;", tt.format, 1)
			}
			return name, text
		}), contact.Options{})
		if got := f.rows[0].Contact; got.Phone != "+15145550123" || got.Fields["note"] != tt.want {
			t.Errorf("%s of %q is %q, want %q: %s", tt.cell, tt.format, got.Fields["note"], tt.want, f)
		}
	}
}

// Workbooks whose parts have other names than Excel's, and those that begin with a chart.
func TestXLSXParts(t *testing.T) {
	t.Parallel()
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
	people := workbook(header + `<row r="2"><c r="A2" t="s"><v>3</v></c><c r="B2"><v>5145550123</v></c></row>`)
	for name, edit := range map[string]func(name, text string) (string, string){
		"backslashes in names": func(name, text string) (string, string) { return strings.ReplaceAll(name, "/", `\`), text },
		"backslashes in targets": func(name, text string) (string, string) {
			return name, strings.ReplaceAll(text, "worksheets/", `worksheets\`)
		},
		"a stroke before names": func(name, text string) (string, string) { return "/" + name, text },
		"capitals": func(name, text string) (string, string) {
			return strings.ReplaceAll(name, "workbook", "Workbook"), text
		},
		"workbook2.xml": func(name, text string) (string, string) {
			if name == "[Content_Types].xml" {
				return "_rels/.rels", `<Relationships><Relationship Id="rId1" Type="` + office + `" Target="/xl/workbook2.xml"/></Relationships>`
			}
			return strings.ReplaceAll(name, "workbook.xml", "workbook2.xml"), text
		},
		"a chart first": func(name, text string) (string, string) {
			text = strings.Replace(text, "<sheets>", `<sheets><sheet name="Chart" sheetId="9" r:id="rId9"/>`, 1)
			return name, strings.Replace(text, "<Relationships>", `<Relationships><Relationship Id="rId9" Type="x/chartsheet" Target="chartsheets/sheet1.xml"/>`, 1)
		},
		"a relation without a type": func(name, text string) (string, string) {
			return name, regexp.MustCompile(` Type="[^"]*/worksheet"`).ReplaceAllString(text, "")
		},
	} {
		f := importFile(t, remade(people, edit), contact.Options{})
		if got := f.String(); got != "+15145550123 Zoé Côté" || f.plan.Format.Sheet != "People" {
			t.Errorf("%s: %s of %s", name, got, f.plan.Format.Sheet)
		}
	}
	charts := remade(people, func(name, text string) (string, string) {
		return name, strings.ReplaceAll(text, "/worksheet\"", "/chartsheet\"")
	})
	_, err := contact.Sniff(bytes.NewReader(charts), int64(len(charts)), contact.Options{})
	require.ErrorContains(t, err, "no visible sheet of cells")
}

// remade is a zip with its files changed.
func remade(data []byte, edit func(name, text string) (string, string)) []byte {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		panic(err)
	}
	var files []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			panic(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			panic(err)
		}
		name, changed := edit(f.Name, string(text))
		files = append(files, name, changed)
	}
	return zipped(files...)
}

// TestExcelize reads a workbook that another program wrote.
func TestExcelize(t *testing.T) {
	t.Parallel()

	data := sharedtest.Read(t, "testdata/excelize.xlsx")
	f := importFile(t, data, contact.Options{Region: "CA"})
	want := "+5215512345678 Zoé Côté\n+15145550123 Bob, \"Bobby\"\n+15145550124 Merged\n+14385550125 After a gap"
	for _, r := range f.rows {
		for _, p := range r.Problems {
			t.Logf("line %d: %+v", r.Line, p)
		}
	}
	if got := f.String(); got != strings.Replace(want, "+5215512345678 Zoé Côté", "line 2: Formula formula_error", 1) {
		t.Errorf("got\n%s", got)
	}
	require.Equal(t, "1990-05-17 13:30:00", f.rows[1].Contact.Fields["birthday"], "birthday")
	f = importFile(t, data, contact.Options{Mapping: map[string]string{"formula": "-"}})
	require.Equal(t, want, f.String(), "without the formula")
}

// A member list with a portrait a row has a file a picture.
func TestXLSXWithPictures(t *testing.T) {
	t.Parallel()

	var pictures []string
	for n := range 3000 {
		pictures = append(pictures, fmt.Sprintf("xl/media/image%d.png", n), "x")
	}
	f := importFile(t, workbook(header+`<row r="2"><c r="B2"><v>5145550123</v></c></row>`, pictures...), contact.Options{})
	require.Contains(t, f.String(), "+15145550123")
}

func TestXLSXRefused(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		data []byte
		o    contact.Options
		says []string
	}{
		{"a sheet that there is not", workbook(header), contact.Options{Sheet: "Nope"}, []string{`"Nope"`, `"People"`}},
		{"no table on the first sheet", workbook(`<row r="1"><c r="A1" t="inlineStr"><is><t>Fill in the next one</t></is></c></row>`),
			contact.Options{}, []string{"no column", `sheet "People"`, `"Other"`}},
		{"nothing on the first sheet", workbook(""), contact.Options{}, []string{"empty", `"Other"`}},
		{"rows out of order", workbook(header + `<row r="5"/><row r="4"/>`), contact.Options{}, []string{"damaged", "row"}},
		{"a row far beyond", workbook(header + `<row r="9999999"/>`), contact.Options{}, []string{"damaged"}},
		{"a column far beyond", workbook(header + `<row r="2"><c r="XFD2"><v>1</v></c></row>`), contact.Options{}, []string{"row 2", "column"}},
		{"cut XML", workbook(header + `<row r="2"><c r="A2"`), contact.Options{}, []string{"damaged"}},
		{"a string that there is not", workbook(header + `<row r="2"><c r="A2" t="s"><v>99</v></c></row>`), contact.Options{}, []string{"damaged", `"99"`}},
		{"binary", zipped("xl/workbook.bin", ""), contact.Options{}, []string{".xlsb"}},
		{"a bomb of one cell", workbook(header + `<row r="2"><c r="A2" t="inlineStr"><is><t>` + strings.Repeat("x", 1<<20) + `</t></is></c></row>`),
			contact.Options{}, []string{"cell A2"}},
		{"a bomb", workbook(header + strings.Repeat(`<row><!--`+strings.Repeat("xxxx", 200)+`--></row>`, 40<<10)), contact.Options{}, []string{"unpacks to more"}},
		{"a bomb of empty cells", workbook(header + strings.Repeat(`<row>`+strings.Repeat("<c/>", 200)+`</row>`, 40<<10)), contact.Options{}, []string{"almost no cells with a value"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tryImport(t, tt.data, tt.o)
			refused(t, err, tt.says...)
		})
	}
}

// The table of texts is read where a cell refers to it.
func TestXLSXTexts(t *testing.T) {
	t.Parallel()
	const inline = `<row><c t="inlineStr"><is><t>Phone</t></is></c></row><row><c><v>5145550123</v></c></row>`
	for rows, refers := range map[string]bool{inline: false, header: true} {
		data := remade(workbook(rows), func(name, text string) (string, string) {
			if name == "xl/sharedStrings.xml" {
				text = `<sst><si><t>Name</t></si><si>`
			}
			return name, text
		})
		plan, err := contact.Sniff(bytes.NewReader(data), int64(len(data)), contact.Options{})
		if refers {
			refused(t, err, "damaged")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "People", plan.Format.Sheet)
	}
}

func FuzzXLSX(f *testing.F) {
	f.Add([]byte(header))
	f.Add([]byte(`<row r="2"><c r="A2" s="1"><v>33010</v></c></row>`))
	f.Fuzz(func(t *testing.T, rows []byte) {
		data := workbook(header + string(rows))
		src, size := bytes.NewReader(data), int64(len(data))
		plan, err := contact.Sniff(src, size, contact.Options{})
		if err == nil {
			_, err = plan.Preview(src, size, 20)
		}
		if err != nil {
			refused(t, err)
		}
	})
}
