package contact_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"

	"github.com/mtlrent/conveyor/domain/contact"
)

// Headers of files of the Nordic countries, of Central and South-East Europe, Greece, Israel and East Asia.
func TestHeadersFar(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Förnamn;Efternamn;Mobilnummer;E-postadress;Ort\nÅsa;Ek;+46701234567;a@example.se;Umeå":   "given_name family_name phone email .",
		"Fornavn;Etternavn;Tlf;E-post;Poststed\nKari;Ek;+4791234567;k@example.no;Bodø":            "given_name family_name phone email .",
		"Nimi;Matkapuhelin;Sähköpostiosoite;Kaupunki\nAino;+358401234567;a@example.fi;Oulu":       "name phone email .",
		"Příjmení;Jméno;Telefonní číslo;E-mailová adresa\nNová;Eva;+420602123456;e@example.cz":    "family_name given_name phone email",
		"Meno a priezvisko;Telefónne číslo;Fax\nEva Nová;+421902123456;":                          "name phone .",
		"Név;Mobilszám;E-mail cím;Város\nNagy Éva;+36301234567;e@example.hu;Pécs":                 "name phone email .",
		"Nume și prenume;Număr de telefon;Oraș\nIon Pop;+40721234567;Iași":                        "name phone .",
		"Nume;Telefon\nIon Pop;+40721234567":                                                      "name phone",
		"Ime;Prezime;Mobitel;E-pošta\nIva;Horvat;+385911234567;i@example.hr":                      "given_name family_name phone email",
		"Ονοματεπώνυμο;Κινητό τηλέφωνο;Σταθερό;Πόλη\nΝίκος Παππάς;+306941234567;2101234567;Πάτρα": "name phone phone .",
		"שם פרטי,שם משפחה,נייד,דוא\"ל\nדנה,כהן,+972502345678,d@example.co.il":                     "given_name family_name phone email",
		"お名前,携帯電話番号,電話番号,メールアドレス\n山田,+819012345678,0312345678,y@example.jp":                       "name phone phone email",
		"성명,휴대전화번호,이메일 주소,비고\n김,+821012345678,k@example.kr,x":                                     "name phone email .",
		"Nama Lengkap,No. WA,Alamat Email,Kota\nBudi,+6281234567890,b@example.id,Bogor":           "name phone email .",
		"Họ tên,SĐT,Địa chỉ\nNguyễn An,+84912345678,Huế":                                          "name phone .",
		"ชื่อ-นามสกุล,เบอร์มือถือ,อีเมล\nสมชาย ใจดี,+66812345678,s@example.th":                    "name phone email",
	} {
		f, err := tryImport(t, []byte(text+"\n"), contact.Options{})
		require.NoError(t, err, text)
		require.Equal(t, want, fieldsOf(f.plan.Mapping), text)
	}
	for _, tt := range []struct {
		name string
		in   encoding.Encoding
		text string
		want string
	}{
		{"windows-1253", charmap.Windows1253, "Επώνυμο;Όνομα;Κινητό\nΠαππάς;Νίκος;+306941234567\n", "+306941234567 Νίκος Παππάς"},
		{"windows-1255", charmap.Windows1255, "שם,טלפון\nדנה,+972502345678\n", "+972502345678 דנה"},
		{"windows-874", charmap.Windows874, "ชื่อ,โทรศัพท์\nสมชาย,+66812345678\n", "+66812345678 สมชาย"},
		{"shift_jis", japanese.ShiftJIS, "氏名,電話番号\n山田太郎,+819012345678\n", "+819012345678 山田太郎"},
		{"euc-jp", japanese.EUCJP, "氏名,電話番号\n山田太郎,+819012345678\n", "+819012345678 山田太郎"},
		{"euc-kr", korean.EUCKR, "이름,전화번호\n김철수,+821012345678\n", "+821012345678 김철수"},
		{"windows-1250", charmap.Windows1250, "Jméno;Příjmení;Telefon\nJiří;Dvořák;+420602123456\n", "+420602123456 Jiří Dvořák"},
	} {
		data, err := tt.in.NewEncoder().Bytes([]byte(tt.text))
		require.NoError(t, err)
		f := importFile(t, data, contact.Options{})
		require.Equal(t, tt.name, f.plan.Format.Encoding, tt.text)
		require.Equal(t, tt.want, f.String(), tt.text)
	}
}

// Exports of programs of sales and of mail: each number of a row, and the whole name.
func TestExportsOfSales(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Person - Name,Person - Phone - Work,Person - Phone - Mobile,Person - Phone - Other,Person - Email - Work,Person - Email - Home\n" +
			"Ann Lee,514-555-0100,514-555-0123,,,ann@example.com\nBob Roy,438-555-0199,,,b@example.com,\n": "+15145550123 ann@example.com Ann Lee\n+14385550199 b@example.com Bob Roy",
		"EMAIL,FIRSTNAME,LASTNAME,SMS,LANDLINE_NUMBER,WHATSAPP\na@example.com,Ann,Lee,15145550123,,\n,Bob,Roy,,14385550199,\n":                  "+15145550123 a@example.com Ann Lee\n+14385550199 Bob Roy",
		"Invitee Name,Invitee First Name,Invitee Last Name,Invitee Email,Text Reminder Number\nAnn Lee,Ann,Lee,a@example.com,+1 514-555-0123\n": "+15145550123 a@example.com Ann Lee",
		"First name,Email address - other,Phone - home,Phone - mobile\nAnn,a@example.com,514-555-0100,514-555-0123\n":                           "+15145550123 a@example.com Ann",
		"1. Full name,2. Phone number,Q3) E-mail\nAnn Lee,514-555-0123,a@example.com\n":                                                         "+15145550123 a@example.com Ann Lee",
		"Qualité.,1.5,Nom complet,Téléphone\nx,2,Ann Lee,514-555-0123\n":                                                                        "+15145550123 Ann Lee",
		"Name,SMS,Phone\nAnn,yes,514-555-0123\n":                                                                                                "+15145550123 Ann",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, want, f.String(), text)
	}
}

// Country codes beside numbers may be those of ISO 3166-1.
func TestCountriesOfNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Name,Country Code,Phone\nAnn,GB,2079460958\nBob,ca,438-555-0199\nKim,,514-555-0123\nZoé,GB,+14505550111\n": "+442079460958 Ann\n+14385550199 Bob\n+15145550123 Kim\n+14505550111 Zoé",
		"Phone,Country code\n0612345678,FR\n33612345678,FR\n":                                                       "+33612345678\n+33612345678",
		"Country Code,Phone\nFR,514-555-0123\n":                                                                     "line 2: phone phone_invalid",
		"Country Code,Phone\nUK,2079460958\n":                                                                       "+442079460958",
		"Code,Phone\nGB,514-555-0123\n":                                                                             "+15145550123",
		"Country,Phone\nGB,514-555-0123\n":                                                                          "+15145550123",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, want, f.String(), text)
	}
}

// Until 2019 mobiles in Mexico were called by 044 or 045, and other areas by 01.
func TestTrunksOfMexico(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"044 55 1234 5678": "+525512345678", "045-55-1234-5678": "+525512345678", "01 (55) 1234 5678": "+525512345678",
		"044.55.1234.5678": "+525512345678", "55 1234 5678": "+525512345678", "01 55 1234 567": "", "044 55 1234 56789": "",
		"001 514 555 0123": "+15145550123",
	} {
		phone, _, wrong := contact.ReadPhone(cell, "MX")
		require.Equal(t, want, phone, cell)
		require.Equal(t, want == "", wrong != nil, cell)
	}
	_, _, wrong := contact.ReadPhone("044 55 1234 5678", "US")
	require.NotNil(t, wrong)
}

// A column of countries says of which country the numbers of its rows are: by codes, or by names in several languages.
func TestNumbersOfCountries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Name,Country,Phone\nAnn,CA,514-555-0123\nBea,FR,06 12 34 56 78\nCas,MX,55 1234 5678\nDan,,438-555-0199\nEva,FR,514-555-0124\n": "+15145550123 Ann\n+33612345678 Bea\n+525512345678 Cas\n+14385550199 Dan\n+15145550124 Eva",
		"Téléphone,Ville,Pays\n06 12 34 56 78,Lyon,France\n0612-345678,Rabat,Maroc\n079 123 45 67,Bern,Suisse\n":                        "+33612345678\n+212612345678\n+41791234567",
		"Phone,Country\n617-555-0188,USA\n07400 123456,UK\n0171 2345678,DEU\n":                                                          "+16175550188\n+447400123456\n+491712345678",
		"Phone,Country\n514-555-0123,Country\n514-555-0124,Folk\n":                                                                      "+15145550123\n+15145550124",
		"Phone,Country of birth\n514-555-0123,France\n":                                                                                 "+15145550123",
		"Co. phone,Cell\n514-555-0100,514-555-0123\n514-555-0101,\n":                                                                    "+15145550123\n+15145550101",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, want, f.String(), text)
	}
}
