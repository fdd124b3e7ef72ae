package contact_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/mtlrent/conveyor/domain/contact"
)

// Line ends with a \r too many, and those of old Macs beside a \n at the end of the file or within quotes.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	const want = "+15145550123 Ann\n+14385550199 Bob"
	for text, newline := range map[string]string{
		"\"Name\",\"Phone\"\r\r\n\"Ann\",\"5145550123\"\r\r\n\"Bob\",\"4385550199\"\r\r\n": "\n",
		"Name,Phone\r\r\nAnn,5145550123\r\r\nBob,4385550199":                               "\n",
		"\"Phone\",\"Name\"\r\r\n\"5145550123\",\"Ann\"\r\r\n\"4385550199\",\"Bob\"\r\r":   "\n",
		"Name,Phone\rAnn,5145550123\rBob,4385550199\n":                                     "\r",
		"Name,Phone\rAnn,5145550123\rBob,4385550199\r\n":                                   "\r",
		"\"Name\",\"Phone\"\r\"Ann\",\"5145550123\"\r\"Bob\",\"4385550199\"\n":             "\r",
		"Name,Phone,Note\rAnn,5145550123,\"a\nb\"\rBob,4385550199,\"c\n\nd\"\r":            "\r",
		"Name,Phone,Note\nAnn,5145550123,\"a\rb\"\nBob,4385550199,\"c\r\rd\"\n":            "\n",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, want, f.String(), "%q", text)
		require.Equal(t, newline, f.plan.Format.Newline, "%q", text)
	}
}

// Files of Windows, old Macs and DOS in other languages: their headers say which encoding makes words of them.
func TestLegacyEncodings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   encoding.Encoding
		text string
		want string
	}{
		{contact.IBM850, charmap.CodePage850, "Prénom;Nom;Téléphone\nAndré;Côté;5145550123\n", "+15145550123 André Côté"},
		{contact.IBM850, charmap.CodePage437, "Prénom;Nom;Téléphone\nAndré;Côté;5145550123\n", "+15145550123 André Côté"},
		{contact.IBM850, charmap.CodePage850, "Nom complet;Tel\nFrançois Côté;5145550123\nHélène Bédard;4385550199\n",
			"+15145550123 François Côté\n+14385550199 Hélène Bédard"},
		{contact.Macintosh, charmap.Macintosh, "Prénom;Nom;Téléphone\nZoé;Roy;5145550123\n", "+15145550123 Zoé Roy"},
		{contact.Windows1252, charmap.Windows1252, "Prénom;Nom;Téléphone\nZoé;Œuvré;5145550123\n", "+15145550123 Zoé Œuvré"},
		{contact.Windows1252, charmap.Windows1252, "Nom complet;Tel\n‚André’…;5145550123\n„Bob“ – Zoé;4385550199\n",
			"+15145550123 ‚André’…\n+14385550199 „Bob“ – Zoé"},
		{"windows-1251", charmap.Windows1251, "Имя;Фамилия;Телефон\nИван;Петров;+79123456789\n", "+79123456789 Иван Петров"},
		{"koi8-r", charmap.KOI8R, "Имя;Фамилия;Телефон\nИван;Петров;+79123456789\n", "+79123456789 Иван Петров"},
		{"ibm866", charmap.CodePage866, "Отчет\n\"ФИО\",\"Телефон\"\nИван,+79123456789\n", "+79123456789 Иван"},
		{"windows-1250", charmap.Windows1250, "Imię;Nazwisko;Telefon\nŁukasz;Wójcik;+48512345678\n", "+48512345678 Łukasz Wójcik"},
		{"windows-1254", charmap.Windows1254, "ADI;SOYADI;MÜŞTERİ ADI;TELEFON NUMARASI\nŞule;İnce;;+905321234567\n", "+905321234567 Şule İnce"},
		{"windows-1256", charmap.Windows1256, "الاسم,رقم الجوال\nسعيد,+971501234567\n", "+971501234567 سعيد"},
		{"gb18030", simplifiedchinese.GBK, "姓名,手机\n王伟,+8613812345678\n", "+8613812345678 王伟"},
		{"big5", traditionalchinese.Big5, "姓名,手機\n陳大文,+886912345678\n", "+886912345678 陳大文"},
	} {
		data, err := tt.in.NewEncoder().Bytes([]byte(tt.text))
		require.NoError(t, err)
		f := importFile(t, data, contact.Options{})
		require.Equal(t, tt.name, f.plan.Format.Encoding, tt.text)
		require.Equal(t, tt.want, f.String(), tt.text)
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} { // a mark is surer than what is given
		for _, given := range []string{"utf-16", "utf-8", "windows-1252"} {
			f := importFile(t, utf16of(small, order, true), contact.Options{Encoding: given})
			require.Equal(t, smallRead, f.String())
		}
	}
	f := importFile(t, []byte("\uFEFF"+small), contact.Options{Encoding: "windows-1252"})
	require.Equal(t, smallRead, f.String())
	russian, err := charmap.Windows1251.NewEncoder().String("Name,Phone\nИван,+79123456789\n")
	require.NoError(t, err)
	f = importFile(t, []byte("\uFEFF"+russian), contact.Options{Encoding: "windows-1251"}) // what is behind the mark is none of its
	require.Equal(t, "+79123456789 Иван", f.String())
	require.Equal(t, "Name", f.plan.Format.Columns[0])
}

// A cell that only stands for an empty one refuses no row that has a number or an address besides.
func TestFillers(t *testing.T) {
	t.Parallel()
	for _, filler := range []string{"N/A", "n/a", "-", "--", "none", "NULL", `\N`, "aucun", "s/o", "?", "(blank)", "NaN", "Néant"} {
		for text, want := range map[string]string{
			"Name,Phone,Email\nAnn,|,ann@example.com\n":               "ann@example.com Ann",
			"Name,Phone,Email\nAnn,5145550123,|\n":                    "+15145550123 Ann",
			"Name,Phone,Email\nAnn,|,|\n":                             "line 2: phone missing",
			"Name,Mobile,Phone\nAnn,|,5145550123\nBob,4385550199,|\n": "+15145550123 Ann\n+14385550199 Bob",
			"Email,Email 2\n|,ann@example.com\nbob@example.com,|\n":   "ann@example.com\nbob@example.com",
			"Phone,Langue\n5145550123,|\n4385550199,fr\n":             "+15145550123\n+14385550199",
			"Phone,Name\n5145550123,Ann\n|,\n":                        "+15145550123 Ann\nline 3: phone missing",
		} {
			text = strings.ReplaceAll(text, "|", filler)
			f := importFile(t, []byte(text), contact.Options{Header: new(true)})
			require.Equal(t, want, f.String(), text)
		}
	}
	f := importFile(t, []byte("Phone,Langue\n5145550123,so\n4385550199,sin\n"), contact.Options{})
	require.Equal(t, "so", f.rows[0].Contact.Locale)
	require.Equal(t, "si", f.rows[1].Contact.Locale)
	f = importFile(t, []byte("Phone,Language,Langue\n5145550123,N/A,fr\n4385550199,en,fr\n4385550188,-,N/A\n"), contact.Options{})
	require.Equal(t, "fr en ", f.rows[0].Contact.Locale+" "+f.rows[1].Contact.Locale+" "+f.rows[2].Contact.Locale)
	for _, name := range []string{"Sans", "Nil", "Na", "So", "Sin", "Nan"} { // and of persons
		f = importFile(t, []byte("Phone,First name,Last name\n5145550123,"+name+","+name+"\n"), contact.Options{})
		require.Equal(t, "+15145550123 "+name+" "+name, f.String())
		require.Equal(t, name, f.rows[0].Contact.GivenName)
	}
}

// Languages as people shorten them, and the official ones of Canada by their first letters.
func TestLanguagesShortened(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"ANG": "en", "Angl.": "en", "AN": "en", "Fr.": "fr", "Fran.": "fr", "ESP": "es", "fr_CA.UTF-8": "fr-CA", "French - Canada": "fr-CA", "French - CA": "fr",
		"Canadian French": "fr-CA", "Français (QC)": "fr", "All.": "de", "F": "fr", "E": "en", "A": "en", "f": "fr",
	} {
		f := importFile(t, []byte("Phone,Langue\n5145550123,"+cell+"\n"), contact.Options{})
		require.Equal(t, want, f.rows[0].Contact.Locale, cell)
	}
	for _, cell := range []string{"No. 5", "English - French", "English - fr", "En. ou fr."} {
		f := importFile(t, []byte("Phone,Language\n5145550123,"+cell+"\n4385550199,fr\n"), contact.Options{})
		require.Equal(t, contact.CodeLocale, f.rows[0].Problems[0].Code, cell)
	}
	for given, want := range map[string]string{"an": "an", "ang": "ang", "AN": "an", "French": "fr", "fr-ca": "fr-CA", "fr_CA.UTF-8": "fr-CA",
		"Fr.": "fr", "A": "", "F": "", "N/A": "", "so": "so"} {
		c, problems := contact.Given(contact.Contact{Phone: "5145550123", Locale: given}, "CA")
		require.Equal(t, want, c.Locale, given)
		require.Equal(t, want == "", len(problems) > 0, given)
	}
	f := importFile(t, []byte("Phone,Langue\n+33612345678,E\n"), contact.Options{Region: "FR"})
	require.Equal(t, contact.CodeLocale, f.rows[0].Problems[0].Code)
}

// Headers of given and family names as programs of the web have them.
func TestHeadersOfNames(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"fname,lname,phone": "given_name family_name phone", "Contact First Name,Contact Last Name,Phone": "given_name family_name phone",
		"billing_first_name,billing_last_name,billing_phone": "given_name family_name phone",
		"Spouse First Name,Emergency Last Name,Phone":        ". . phone",
	} {
		f := importFile(t, []byte(header+"\nAnn,Lee,5145550123\n"), contact.Options{})
		require.Equal(t, want, fieldsOf(f.plan.Mapping), header)
	}
	for _, tt := range []struct {
		header, row, want string
		mapping           map[string]string
	}{
		{"Billing First Name,First Name", "Bob,Ann", " Ann", nil},
		{"Billing First Name,First Name", "Bob,", "", nil},
		{"First Name,Last Name,Billing First Name,Billing Last Name", ",Lee,Bob,Roy", " Lee", nil},
		{"Billing First Name,Last Name", "Bob,Lee", " Lee", nil},
		{"Name,Billing First Name,Billing Last Name", ",Bob,Roy", "", nil},
		{"Customer First Name,Customer Last Name,Billing First Name,BillingLastName", ",Lee,Bob,Roy", " Lee", nil},
		{"BillingFirstName,BillingLastName,Customer First Name", ",Roy,Ann", " Roy", nil},
		{"Customer First Name,Customer Last Name,Billing First Name,Billing Last Name", "Ann,Lee,Bob,Roy", " Bob Roy",
			map[string]string{"Billing First Name": contact.FieldGiven}},
		{"Billing First Name,Last Name", "Bob,Lee", " Bob Lee", map[string]string{"Billing First Name": contact.FieldGiven}},
	} {
		f := importFile(t, []byte(tt.header+",Phone\n"+tt.row+",5145550123\n"), contact.Options{Mapping: tt.mapping})
		require.Equal(t, "+15145550123"+tt.want, f.String(), tt.header)
		if strings.Contains(tt.header, "Last Name,Billing") && tt.mapping == nil {
			require.Equal(t, "Bob", f.rows[0].Contact.Fields["billing_first_name"])
		}
	}
}

// Names of programs of the web, as they stand in pages.
func TestNamesWithEntities(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"O&#39;Neil": "O'Neil", "Ren&eacute;": "René", "Tom &amp; Ann": "Tom & Ann", "L&amp;#039;agap&amp;eacute;": "L'agapé",
		"&nbsp;Ann": "Ann", "Rene&#769;": "René", "AT&T": "AT&T", "A&B;C": "A&B;C", "a&#1;b": "a&#1;b", "&#0;a": "&#0;a", "&#xD800;a": "&#xD800;a", "&nosuch;": "&nosuch;", "&copy=1": "&copy=1",
	} {
		f := importFile(t, []byte("Name,First name,Phone,Note\n\""+cell+"\",\""+cell+"\",5145550123,O&#39;Neil\n"), contact.Options{})
		require.Equal(t, want, f.rows[0].Contact.Name, cell)
		require.Equal(t, want, f.rows[0].Contact.GivenName, cell)
		require.Equal(t, "O&#39;Neil", f.rows[0].Contact.Fields["note"])
	}
}

// Tags as the lists of databases and programs.
func TestTagsAsLists(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string][]string{
		`"[""vip"", ""fr""]"`: {"vip", "fr"}, `"[vip, fr]"`: {"vip", "fr"}, `"{vip,""a b""}"`: {"vip", "a b"}, `"['vip', 'fr']"`: {"vip", "fr"},
		`['vip']`: {"vip"}, `[]`: nil, `{}`: nil, `[VIP]`: {"[VIP]"}, `"[VIP], fr"`: {"[VIP]", "fr"}, `"'vip', fr"`: {"'vip'", "fr"},
		`"[VIP], [Lead]"`: {"[VIP]", "[Lead]"}, `"{a},{b}"`: {"{a}", "{b}"}, `"[""L\u00e9a"",""a, b"",""Le\u0301o""]"`: {"Léa", "a, b", "Léo"},
		`"[""[VIP]"",""[Lead]""]"`: {"[VIP]", "[Lead]"}, `"[1, 2]"`: {"1", "2"}, `"[""a\u0000""]"`: {`a\u0000`}, `"[null,"" * vip ""]"`: {"vip"},
	} {
		f := importFile(t, []byte("Phone,Tags\n5145550123,"+cell+"\n"), contact.Options{Quote: `"`})
		require.Equal(t, want, f.rows[0].Contact.Tags, cell)
	}
}

// A local part that needs quotes keeps them; an apostrophe that has lost its pair is none of the address.
func TestEmailsInQuotes(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		`"ann lee"@example.com`: `"ann lee"@example.com`, `Ann <"a@b"@Example.com>`: `"a@b"@example.com`, `"ann"@example.com`: "ann@example.com",
		"'ann@example.com": "ann@example.com", "ann@example.com’": "ann@example.com", "‘ann@example.com": "ann@example.com", "o'neil@example.com": "o'neil@example.com",
		"ａｎｎ＠example.com": "ann@example.com", "ann@example.com (work)": "ann@example.com", "josé@example.com": "josé@example.com",
	} {
		got, wrong := contact.ReadEmail(cell)
		require.Nil(t, wrong, cell)
		require.Equal(t, want, got, cell)
		again, wrong := contact.ReadEmail(got)
		require.Nil(t, wrong, cell)
		require.Equal(t, got, again, cell)
	}
}

// A number of the region with a + before it, and no country code, is none abroad.
func TestPlusWithoutCountryCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ cell, region, want string }{
		{"+514 234-5678", "CA", ""}, {"+514-234-5678", "US", ""}, {"+(514) 234-5678", "CA", ""}, {"+612 34 56 78", "ES", ""},
		{"+51 42 345678", "CA", "+5142345678"}, {"+5142345678", "CA", "+5142345678"}, {"+514 234-5678", "PE", "+5142345678"},
		{"+514 234-5678", "", "+5142345678"}, {"+501 622-1234", "CA", "+5016221234"}, {"+1 514 234-5678", "CA", "+15142345678"},
		{"+33 6 12 34 56 78", "FR", "+33612345678"},
	} {
		phone, _, wrong := contact.ReadPhone(tt.cell, tt.region)
		require.Equal(t, tt.want, phone, "%s in %s", tt.cell, tt.region)
		require.Equal(t, tt.want == "", wrong != nil, "%s in %s", tt.cell, tt.region)
	}
}

// A country code in brackets, signs before a +, and numbers as a spreadsheet groups their digits.
func TestPhonesInBracketsAndGroups(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"(+1) 514-555-0123": "+15145550123", "(+33) 6 12 34 56 78": "+33612345678", "(+1 514) 555-0123": "+15145550123",
		"[+1] 514 555 0123": "+15145550123", "=+15145550123": "+15145550123", "☎ +1 514 555 0123": "+15145550123", "#+15145550123": "+15145550123",
		"15,145,550,123": "+15145550123", "33,612,345,678.00": "+33612345678", "15'145'550'123": "+15145550123", "15’145’550’123": "+15145550123",
		"438-555-0199 +15145550123": "", "x+15145550123": "", "1,514": "", "15,145,550,1234": "",
	} {
		for _, region := range []string{"", "CA", "FR"} {
			phone, _, wrong := contact.ReadPhone(cell, region)
			require.Equal(t, want, phone, "%s in %s", cell, region)
			require.Equal(t, want == "", wrong != nil, "%s in %s", cell, region)
		}
	}
	for cell, region := range map[string]string{
		"5,145,550,123": "CA", "5,145,550,123.00": "CA", "5'145'550'123": "CA", "5 145 550 123,00": "CA", "5\u202f145\u202f550\u202f123,0": "CA",
	} {
		phone, _, wrong := contact.ReadPhone(cell, region)
		require.Nil(t, wrong, cell)
		require.Equal(t, "+15145550123", phone, cell)
	}
}

// Blanks that do not break, dashes and quotes of Windows-1252 are letters in DOS and on old Macs, and prove neither.
func TestSignsOfWindows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Name,Phone\nJean\xa0Roy,514\xa0555\xa00123\nAnn Lee,438\xa0555\xa00199\n": "+15145550123 Jean Roy\n+14385550199 Ann Lee",
		"Name,Phone\nZo\xe9,5145550123\n" + strings.Repeat("Jean\xa0Roy,4385550199\n", 8): "+15145550123 Zoé" +
			strings.Repeat("\n+14385550199 Jean Roy", 8),
		"Name,Phone\nAnn,514\x96555\x960123\nBob,438\x96555\x960199\nL\xb7Or,514\x96555\x960177\n": "+15145550123 Ann\n" +
			"+14385550199 Bob\n+15145550177 L·Or",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, contact.Windows1252, f.plan.Format.Encoding, "%q", text)
		require.Equal(t, want, f.String(), "%q", text)
	}
}
