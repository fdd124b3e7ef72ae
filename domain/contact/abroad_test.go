package contact_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// fieldsOf is the mapping in short: "." is a custom field.
func fieldsOf(m contact.Mapping) string {
	list := make([]string, len(m))
	for i, c := range m {
		if list[i] = c.Field; strings.HasPrefix(c.Field, contact.FieldCustom) {
			list[i] = "."
		}
	}
	return strings.Join(list, " ")
}

// Headers of Russian, Ukrainian, Chinese, Arabic, Polish, Turkish, Italian and Dutch files.
func TestHeadersAbroad(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Фамилия;Имя;Отчество;Мобильный телефон;Эл. почта;Язык\nИ;И;П;+7 912 345-67-89;i@example.ru;Русский":              "family_name given_name . phone email locale",
		"ФИО;Факс;Раб. тел.;Моб. тел.;Согласие (телефон)\nИ;+7 495 123-45-67;+7 495 123-45-68;+7 912 345-67-89;да":        "name . phone phone .",
		"Прізвище;Ім’я;Телефон клієнта;Пошта\nШ;Т;+380 67 123 45 67;t@example.ua":                                         "family_name given_name phone email",
		"姓名（必填）;客户手机号;邮箱;备注\n王;13812345678;w@example.cn;老":                                                                "name phone email .",
		"姓氏;名字;行動電話;傳真;電子郵件\n陳;大文;+886912345678;+886212345678;c@example.tw":                                               "family_name given_name phone . email",
		"الاسم;الكنية;رقم هاتف العميل;البريد الإلكتروني\nس;ع;+971501234567;s@example.ae":                                  "given_name family_name phone email",
		"الاسم;رقم الجوال;فاكس\nس;+971501234567;+97141234567":                                                             "name phone .",
		"Imię;Nazwisko;Telefon komórkowy;Faks;Adres e-mail\nJ;K;512 345 678;22 123 45 68;j@example.pl":                    "given_name family_name phone . email",
		"Imię i nazwisko;Nr telefonu;Telefon stacjonarny;Data urodzenia\nA;512345678;221234567;1990-05-17":                "name phone phone .",
		"AD;SOYADI;CEP TELEFONU;E-POSTA ADRESİ;DİL\nA;K;0532 123 45 67;a@example.com.tr;Türkçe":                           "given_name family_name phone email locale",
		"İSİM;SOYADI;TELEFON NO\nA;K;0532 123 45 67":                                                                      "given_name family_name phone",
		"Ad;Nom;Téléphone\nTwo rooms;R;514-555-0123":                                                                      ". name phone",
		"Adı Soyadı;Müşteri telefonu;Şehir\nA K;0532 123 45 67;İzmir":                                                     "name phone .",
		"Ad;Phone;Posted\nTwo rooms;514-555-0123;2024-05-17":                                                              ". phone .",
		"Nome;Telefone;CEP\nAna;(11) 98765-4321;01310-100":                                                                "given_name phone .",
		"Nominativo;Num. cellulare;Indirizzo di posta elettronica;Gruppo\nM R;347 123 4567;m@example.it;A":                "name phone email tags",
		"Voornaam;Achternaam;Mobiel telefoonnummer;Vaste telefoon;E-mail adres\nJ;V;06 12345678;020 1234567;j@example.nl": "given_name family_name phone phone email",
		"LASTNAME;FIRSTNAME;MOBILEPHONE;OTHERPHONE;ASSISTANTPHONE\nC;Z;514-555-0123;514-555-0100;514-555-0102":            "family_name given_name phone phone .",
		"Téléphone 1;Téléphone 3;Courriel 2;Numéro 2\n514-555-0123;514-555-0100;a@example.com;7":                          "phone phone email .",
		"who;Fax\nAnn;514-555-0123\n;\nBob;438-555-0199\n;":                                                               "",
		"who;Tél/Fax\nAnn;514-555-0123\nBob;438-555-0199":                                                                 ". phone",
		"Imię;Kod;Poczta;Telefon;E-mail\nJ;00-001;Warszawa;512345678;j@example.pl":                                        "given_name . . phone email",
		"Nombre,Apellidos,Dirección de correo electrónico,Particular\nAna,G,a@example.com,Sí":                             "given_name family_name email .",
		"姓名,邮箱,联系方式\n王,w@example.cn,微信 abc":                                                                               "name email .",
		"姓名,手机,语言\n陈,13812345678,粤语\n李,13812345679,客家话":                                                                   "name phone .",
		"who;Fax;reach\nAnn;514-555-0123;514-555-0100\nBob;438-555-0199;514-555-0101":                                     ". . phone",
	} {
		f, err := tryImport(t, []byte(text+"\n"), contact.Options{})
		if want == "" {
			refused(t, err, "no column looks like")
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, fieldsOf(f.plan.Mapping), text)
	}
	f := importFile(t, []byte("Phone;Language\n5145550123;俄语\n4385550199;Türkçe\n4505550111;polonais\n"+
		"4505550112;Французский (Канада)\n4505550113;French / Français\n"), contact.Options{})
	var locales []string
	for _, r := range f.rows {
		locales = append(locales, r.Contact.Locale)
	}
	require.Equal(t, []string{"ru", "tr", "pl", "fr", "fr"}, locales)
}

// Lines that are one quoted cell each hold the rows, in text and in a sheet.
func TestLinesQuotedAsAWhole(t *testing.T) {
	t.Parallel()
	const want = "+15145550123 b@example.com Roy, Bob\n+14385550199 Ann"
	for name, data := range map[string][]byte{
		"text":                   []byte("\"Name,Phone,Email\"\n\"\"\"Roy, Bob\"\",514-555-0123,b@example.com\"\n\"Ann,438-555-0199,\"\n"),
		"with a mark, \\r\\n":    []byte("\uFEFF\"Name,Phone,Email\";;\r\n\"\"\"Roy, Bob\"\",514-555-0123,b@example.com\";;\r\n\"Ann,438-555-0199,\";;\r\n"),
		"\\r":                    []byte("\"Name;Phone;Email\"\r\"Roy, Bob;514-555-0123;b@example.com\"\r\"Ann;438-555-0199;\"\r"),
		"the header is not":      []byte("Name,Phone,Email\n\"\"\"Roy, Bob\"\",514-555-0123,b@example.com\"\n\"Ann,438-555-0199,\"\n"),
		"gzip of UTF-16":         gzipped(utf16of("\"Name\tPhone\tEmail\"\n\"Roy, Bob\t514-555-0123\tb@example.com\"\n\"Ann\t438-555-0199\t\"\n", binary.LittleEndian, true)),
		"a sheet":                workbook(rowOf(1, "Name,Phone,Email") + rowOf(2, `"Roy, Bob",5145550123,b@example.com`) + rowOf(3, "Ann,4385550199,")),
		"a sheet of semicolons":  workbook(rowOf(1, "Name;Phone;Email") + rowOf(2, `Roy, Bob;5145550123;b@example.com`) + rowOf(3, "Ann;4385550199;")),
		"with a line in between": []byte("\"Name,Phone,Email\"\n\n\"\"\"Roy, Bob\"\",514-555-0123,b@example.com\"\n\"Ann,438-555-0199,\"\n"),
	} {
		f := importFile(t, data, contact.Options{})
		require.Equal(t, want, f.String(), name)
		require.True(t, f.plan.Copied(), name)
	}
	for text, want := range map[string]string{
		"\"Phone\",\"Name\"\n\"5145550123\",\"Roy, Bob\"\n":                                "+15145550123 Roy, Bob",
		"Phone\n\"5145550123\"\n\"4385550199\"\n":                                          "+15145550123\n+14385550199",
		"Phone\n\"514-555-0123, 438-555-0199\"\n":                                          "line 2: phone phone_several",
		"Name,Phone\n\"Roy, Bob\"\n\"Côté, Zoé\"\nAnn,5145550123\nKim,4385550199\n":        "line 2: phone missing\nline 3: phone missing\n+15145550123 Ann\n+14385550199 Kim",
		"Name,Email,Phone\n\"Roy, Bob\",,\n\"Côté, Zoé\",,\n\"Lee, Kim\",k@example.com,\n": "line 2: phone missing\nline 3: phone missing\nk@example.com Lee, Kim",
		"\"Email,other\"\n\"a@example.com\"\n\"b@example.com\"\n\"c@example.com\"\n":       "a@example.com\nb@example.com\nc@example.com",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, want, f.String(), text)
		require.False(t, f.plan.Copied(), text)
	}
	_, err := tryImport(t, []byte("\"Name,Phone\"\n\"Bob,5145550123\"\n"), contact.Options{Quote: "none", Header: new(true)})
	require.NoError(t, err)
}

// A line that is longer than a record may be stays as it is, and those around it are read.
func TestLongLineQuotedAsAWhole(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat(`x,""y"",`, contact.MaxRecord/4) + `"`
	text := "\"Name,Phone\"\n" + strings.Repeat("\"Kim "+strings.Repeat("x", 150)+",4505550111\"\n", 7_000) + long +
		"\n\"Ann,4385550199\"\n"
	f := importFile(t, []byte(text), contact.Options{})
	last := len(f.rows) - 1
	require.Equal(t, 7_001, last)
	require.Equal(t, contact.CodeRecordBytes, f.rows[last-1].Problems[0].Code)
	require.Equal(t, "+14385550199", f.rows[last].Contact.Phone)
	require.EqualValues(t, 7_003, f.rows[last].Line)
}

// A row of Google Contacts says which of its numbers is a mobile, and which is a fax.
func TestLabelsOfNumbers(t *testing.T) {
	t.Parallel()
	const header = "Name,Given Name,Family Name,Group Membership,Phone 1 - Type,Phone 1 - Value,Phone 2 - Type,Phone 2 - Value\n"
	for row, want := range map[string]string{
		"Ann,,,,Work Fax,514-555-0101,* Mobile,514-555-0123": "+15145550123 Ann",
		"Ann,,,,Home,514-555-0101,Mobile,514-555-0123":       "+15145550123 Ann",
		"Ann,,,,Domicile,514-555-0101,Portable,514-555-0123": "+15145550123 Ann",
		"Ann,,,,Work,514-555-0123,Home Fax,514-555-0101":     "+15145550123 Ann",
		"Ann,,,,Bureau,514-555-0101,Domicile,514-555-0123":   "+15145550123 Ann",
		"Ann,,,,,514-555-0123,,514-555-0101":                 "+15145550123 Ann",
		"Ann,,,,Mamie,514-555-0123,Papy,514-555-0101":        "+15145550123 Ann",
		"Ann,,,,Pager,514-555-0123,Télécopie,514-555-0101":   "line 2: phone missing",
		"Ann,,,,Mobile,nope,Work,514-555-0123":               "+15145550123 Ann",
	} {
		f := importFile(t, []byte(header+row+"\n"), contact.Options{})
		require.Equal(t, want, f.String(), row)
	}
	var text strings.Builder
	for n := range 1000 { // more labels than are remembered, and each kind of them again
		fmt.Fprintf(&text, "Ann,,,,Label %d,514-555-0101,Mobile,514-555-0123\nAnn,,,,Fax %[1]d,514-555-0101,Label,514-555-0123\n", n)
	}
	f := importFile(t, []byte(header+text.String()), contact.Options{})
	require.Len(t, f.rows, 2000)
	for _, r := range f.rows {
		require.Equal(t, "+15145550123", r.Contact.Phone, r.Line)
	}
}

// A column of country codes beside one of telephone numbers says whose the numbers are.
func TestCountryCodesOfNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Country Code,Mobile,Name\n+91,9053456789,Asha\n":                       "+919053456789 Asha",
		"Country Code,Mobile,Name\n91,9053456789,Asha\n,514-555-0123,Bob\n":     "+919053456789 Asha\n+15145550123 Bob",
		"Country Code,Mobile\n91.0,9053456789\nN/A,514-555-0123\n":              "+919053456789\n+15145550123",
		"Country Code,Mobile\n91,+14385550199\n91,919053456789\n1,5145550123\n": "+14385550199\n+919053456789\n+15145550123",
		"Phone,Dial code\n9053456789,(+91)\n":                                   "+919053456789",
		"Indicatif,Téléphone\n+33,06 12 34 56 78\n+1,514-555-0123\n":            "+33612345678\n+15145550123",
		"Indicatif,Téléphone\n33,514-555-0123\n":                                "+15145550123",
		"Indicatif pays,Téléphone\n33,06 12 34 56 78\n":                         "+33612345678",
		"Ländervorwahl;Handy\n'+49;0171 2345678\n":                              "+491712345678",
		"Vorwahl;Telefon\n+49;030 2312545\n":                                    "+49302312545",
		"国家代码,手机\n86,13812345678\n":                                             "+8613812345678",
		"Postal code,Phone\n91,514-555-0123\n":                                  "+15145550123",
		"Country Code,Phone\nCA,514-555-0123\n":                                 "+15145550123",
		"Country Code,City,Phone\n33,Paris,514-555-0123\n":                      "+15145550123",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, want, f.String(), text)
	}
	rows := strings.Repeat("+91,9053456789\n", 20)
	f := importFile(t, []byte("Country Code,Mobile\n"+rows+"+999,9053456789\n"), contact.Options{})
	require.Equal(t, contact.CodeCountry, f.rows[20].Problems[0].Code)
	require.Equal(t, "+91", f.rows[0].Contact.Fields["country_code"])
	require.Contains(t, f.plan.Mapping[1].Why, "the country codes are in column 1")
	f = importFile(t, []byte("Country Code,Mobile\n91,5145550123\n"),
		contact.Options{Mapping: map[string]string{"Country Code": "-"}})
	require.Equal(t, "+15145550123", f.rows[0].Contact.Phone)
}

// Exports of shops and of mail programs: numbers of addresses, and tags in quotes.
func TestExportsOfShops(t *testing.T) {
	t.Parallel()
	f := importFile(t, []byte("Customer ID,First Name,Last Name,Email,Default Address Phone,Phone,Tags\n"+
		"'678901,Zoé,Côté,z@example.com,'+15145550100,'+15145550123,\"vip, fr\"\n'678902,Bob,Roy,,438 555-0199,,\n"), contact.Options{})
	require.Equal(t, "+15145550123 z@example.com Zoé Côté\n+14385550199 Bob Roy", f.String())
	f = importFile(t, []byte("Email Address,TAGS\nz@example.com,\"\"\"VIP\"\",\"\"Lead \"\"\"\nb@example.com,\"5\"\" pipe\"\n"), contact.Options{})
	require.Equal(t, []string{"VIP", "Lead"}, f.rows[0].Contact.Tags)
	require.Equal(t, []string{`5" pipe`}, f.rows[1].Contact.Tags)
}

func TestOtherFormatsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"dn: cn=Bob,mail=b@example.com\ncn: Bob\nmail: b@example.com\n": "LDIF", "version: 1\n\ndn: cn=Bob\nmail: b@example.com\n": "LDIF",
		"[[\"Name\",\"Phone\"],\n[\"Bob\",\"5145550123\"]]\n": "JSON", "[\"5145550123\"]": "JSON",
		"-- MySQL dump 10.13\n\nINSERT INTO `c` VALUES ('Bob','5145550123');\n": "SQL", "INSERT INTO c VALUES ('5145550123');": "SQL",
	} {
		_, err := tryImport(t, []byte(text), contact.Options{})
		refused(t, err, want, "CSV")
	}
	f := importFile(t, []byte("[Export 2024]\nName,Phone\nBob,5145550123\n"), contact.Options{})
	require.Equal(t, "+15145550123 Bob", f.String())
}

// rowOf is a row of a sheet with one text in its first cell.
func rowOf(n int, text string) string {
	return fmt.Sprintf(`<row r="%d"><c r="A%d" t="inlineStr"><is><t>%s</t></is></c></row>`, n, n, text)
}
