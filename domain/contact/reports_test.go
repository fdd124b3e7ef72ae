package contact_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// Characters that nobody sees, of every kind.
var invisibles = []rune{
	0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x180B, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x202A, 0x2060, 0x2061, 0x2062, 0x2063,
	0x2064, 0x2066, 0x206A, 0x20E3, 0x2800, 0x3164, 0xFE00, 0xFE0E, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFC, 0xE0001, 0xE0061, 0xE007F,
	0xE0100,
}

// Invisible characters are left out of telephone numbers, addresses and names, wherever they stand.
func TestInvisible(t *testing.T) {
	t.Parallel()
	for _, r := range invisibles {
		c := string(r)
		for _, cell := range []string{"+1" + c + "-514-234-5678", c + "+15142345678", "+1514234" + c + c + "5678" + c} {
			phone, _, wrong := contact.ReadPhone(cell, "")
			require.Nil(t, wrong, "%U", r)
			require.Equal(t, "+15142345678", phone, "%U", r)
		}
		for _, cell := range []string{c + "dan5@example.org", "dan5" + c + "@exam" + c + "ple.org" + c} {
			email, wrong := contact.ReadEmail(cell)
			require.Nil(t, wrong, "%U", r)
			require.Equal(t, "dan5@example.org", email, "%U", r)
		}
		f := importFile(t, []byte("Name,Phone,Tags\n"+c+"Ann"+c+" Lee"+c+",5145550123,a"+c+"b\n"), contact.Options{})
		require.Equal(t, "Ann Lee", f.rows[0].Contact.Name, "%U", r)
		require.Equal(t, []string{"ab"}, f.rows[0].Contact.Tags, "%U", r)
	}
	const joined = "می\u200Cخواهم क्\u200Dष 👩\u200D🚀"
	f := importFile(t, []byte("Name,Phone\n"+joined+",5145550123\n"), contact.Options{})
	require.Equal(t, joined, f.rows[0].Contact.Name, "joiners that a script needs")
}

func TestPhonesAsWritten(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"+33612345678,": "+33612345678", "+15142345685'": "+15142345685", "+33612345678:": "+33612345678", "+33612345678!": "+33612345678",
		"+33612345678_": "+33612345678", "+33612345678 ✔": "+33612345678", "+33612345678✅": "+33612345678", "+33612345678…": "+33612345678",
		"+33612345678.;": "+33612345678", "(514) 234-5685": "+15142345685", "[+33612345678]": "+33612345678", "+33612345678”": "+33612345678",
		"514\n234-5685": "+15142345685", "514-234\r\n5685": "+15142345685", "514\u2028234-5685": "+15142345685",
		"514 234\u00855685": "+15142345685", "\n5142345685\n": "+15142345685", "5142345685\v": "+15142345685",
		"+49301234567\n8": "", "+33612345678\n+33612345679": "", "home\n5142345685": "",
	} {
		phone, _, wrong := contact.ReadPhone(cell, "CA")
		require.Equal(t, want, phone, "%q: %v", cell, wrong)
		require.Equal(t, want == "", wrong != nil, "%q", cell)
	}
	phone, _, wrong := contact.ReadPhone("0612345678,", "FR")
	require.Nil(t, wrong)
	require.Equal(t, "+33612345678", phone)
	_, _, wrong = contact.ReadPhone("+49301234567\n8", "")
	require.Contains(t, wrong.Message, "a line break in the cell")
}

// A + number whose country code there is not says so.
func TestUnknownCountryCode(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"+999123456789", "+0123456789", "+999 12 34 56", "+2101234567", "+00 123456"} {
		for _, region := range []string{"", "CA"} {
			_, _, wrong := contact.ReadPhone(cell, region)
			require.NotNil(t, wrong, cell)
			require.Contains(t, wrong.Message, "check the country code after the +", cell)
		}
	}
}

// Of the quotes, those count by which the file is a table.
func TestQuoteByScore(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"'Name','Phone'\n'Ann, the first','5145550123'\n'Écran 27\" SA, Inc.','5145550124'\n'Bob, Jr.','5145550125'\n'Zoé','5145550126'\n",
		"'Name';'Phone'\n'Ann; \"Annie\"';'5145550123'\n'Ben';'5145550124'\n'Bob';'5145550125'\n'Zoé';'5145550126'\n",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, 4, f.valid, f.String())
		require.Equal(t, "'", f.plan.Format.Quote)
	}
	for _, text := range []string{
		"Name,Phone\n'Ann,5145550123\n'Ben,5145550124\nO'Neil,5145550125\n'Zoé','5145550126'\n",
		"\"Name\",\"Phone\"\n\"'Ann', the first\",'5145550123\n\"'Ben', Jr.\",'5145550124\n\"'Bob'\",5145550125\n\"Zoé\",5145550126\n",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, 4, f.valid, f.String())
		require.Equal(t, `"`, f.plan.Format.Quote)
	}
}

// A quote that begins a word, and another far below that ends one, do not make one contact of all between them.
func TestSwallowedRows(t *testing.T) {
	t.Parallel()
	rows := []string{"\"Chez Max|+15145550121|a@example.org", "Ann|+15145550122|b@example.org", "Ben|+15145550123|c@example.org",
		"Bob|+15145550124|d@example.org", "Écran 27\"|+15145550125|e@example.org"}
	for _, delimiter := range []string{"\t", ",", ";"} {
		for _, n := range []int{0, 1, 3} { // rows between
			for _, end := range []string{"\n", "\r\n"} {
				all := append(append([]string{"Name|Phone|Email", rows[0]}, rows[1:1+n]...), rows[4])
				text := strings.ReplaceAll(strings.Join(all, end)+end, "|", delimiter)
				f := importFile(t, []byte(text), contact.Options{})
				require.Len(t, f.rows, n+2, f.String())
				require.Equal(t, 1, f.invalid, f.String())
				require.Equal(t, contact.CodeQuote, f.rows[0].Problems[0].Code)
			}
		}
	}
	for _, text := range []string{ // cells that have line breaks
		"Address,Phone\n\"12 Main, Apt 3\nMontreal, QC\nCanada\",5145550123\n",
		"Name,Phone,Note\nAnn,5145550123,\"call, 5145550124\nor, write\"\n",
		"Name\tPhone\tNote\nAnn\t5145550123\t\"a\nb\nc\"\n",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, 1, f.valid, f.String())
		require.Len(t, f.rows, 1)
	}
}

// What says to a spreadsheet that a cell is text is no part of it.
func TestTextMarks(t *testing.T) {
	t.Parallel()
	f := importFile(t, []byte("Phone,Code,Other\n5145550123,\"=\"\"007\"\"\",'008\n5145550124,=\"007\",'tis\n5145550125,'=x,\"=\"\"a\"\"&\"\"b\"\"\"\n"),
		contact.Options{})
	var got []string
	for _, r := range f.rows {
		got = append(got, fmt.Sprint(r.Contact.Fields))
	}
	require.Equal(t, []string{"map[code:007 other:008]", "map[code:007 other:'tis]", `map[code:=x other:="a"&"b"]`}, got)

	values := []string{"007", "'008", "''9", `="007"`, "=x", "'=x", "'tis", "+15145550123", "-1"}
	for _, v := range values { // what is written is read as it was
		var out bytes.Buffer
		w, err := contact.NewWriter(&out, []string{"Phone", "Code"})
		require.NoError(t, err)
		require.NoError(t, w.Write([]string{"+15145550123", v}))
		require.NoError(t, w.Close())
		back := importFile(t, out.Bytes(), contact.Options{})
		require.Equal(t, v, back.rows[0].Contact.Fields["code"])
	}
}
