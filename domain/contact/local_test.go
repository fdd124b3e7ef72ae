package contact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"

	"github.com/mtlrent/conveyor/domain/contact"
)

// A number in scientific notation that has all of its digits is one; a rounded one is refused.
func TestExactScientific(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"5.145550123E9": "+15145550123", "5.145550123E+09": "+15145550123", "5,145550123e9": "+15145550123",
		"1.5145550123E10": "+15145550123", "3.3612345678e+10": "+33612345678", "3,3612345678E+10": "+33612345678",
		"5.14555012E9": "", "5.14555E+09": "", "3.36123E+10": "", "5.1455501234E9": "", "5E9": "", "0.5145550123E10": "",
	} {
		phone, _, wrong := contact.ReadPhone(cell, "CA")
		require.Equal(t, want, phone, cell)
		if want == "" {
			require.Equal(t, contact.CodeScientific, wrong.Code, cell)
		}
	}
}

// Two numbers in a cell are told as such, whatever stands between them, and one that is written in parts is one.
func TestTwoNumbers(t *testing.T) {
	t.Parallel()
	for cell, region := range map[string]string{
		"514-555-0123 438-555-0199": "CA", "5145550123 4385550199": "CA", "514-555-0123 - 438-555-0199": "CA",
		"+15145550123+14385550199": "", "+1 514 555 0123 +33 6 12 34 56 78": "", "06 12 34 56 78 - 06 98 76 54 32": "FR",
		"514-555-0123 (438-555-0199)": "CA", "0171 2345678 oder 030 23125456": "DE", "0171 2345678 und 030 23125456": "DE",
		"(11) 98765-4321 e (11) 91234-5678": "BR",
	} {
		_, _, wrong := contact.ReadPhone(cell, region)
		require.NotNil(t, wrong, cell)
		require.Equal(t, contact.CodeSeveral, wrong.Code, cell)
	}
	for cell, region := range map[string]string{
		"514 - 555 - 0123": "CA", "+44 (0)20 7946 0958": "", "030 / 231 254 56": "DE", "0171 - 2345678": "DE",
	} {
		_, _, wrong := contact.ReadPhone(cell, region)
		require.Nil(t, wrong, cell)
	}
}

func TestExtensionsInOtherWords(t *testing.T) {
	t.Parallel()
	for cell, region := range map[string]string{
		"514-555-0123 (ext. 12)": "CA", "514-555-0123 [x12]": "CA", "514 555-0123, local 12": "CA", "030 23125456 Durchwahl 12": "DE",
		"030 23125456 DW 12": "DE", "912 345 678 extensión 12": "ES", "912 345 678 anexo 12": "ES", "070 123 4567 toestel 12": "NL",
	} {
		_, _, wrong := contact.ReadPhone(cell, region)
		require.NotNil(t, wrong, cell)
		require.Equal(t, contact.CodeExtension, wrong.Code, cell)
	}
}

// A number with stray digits behind it is none abroad, and one with the end of another line is none by itself; a number
// of another country, in its own groups or in those that people write, is read.
func TestDigitsBehindNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ cell, region, code, want string }{
		{"917-234-5678 12", "US", contact.CodeExtension, ""}, {"(917) 234-5678 12", "US", contact.CodeExtension, ""},
		{"917 234 5678 12", "US", contact.CodeExtension, ""}, {"9172345678 12", "US", contact.CodeExtension, ""},
		{"613-238-1234 5", "CA", contact.CodeExtension, ""}, {"613.238.1234-5", "CA", contact.CodeExtension, ""},
		{"030 2312545/46", "DE", contact.CodeSeveral, ""}, {"040/12345678/79", "DE", contact.CodeSeveral, ""},
		{"+49 30 2312545 / -46", "", contact.CodeSeveral, ""}, {"06 1234567/8", "IT", contact.CodeSeveral, ""},
		{"613-238-1234/5", "CA", contact.CodeSeveral, ""}, {"01 23 45 67 89/90", "FR", contact.CodeSeveral, ""},
		{"33 6 12 34 56 78", "CA", "", "+33612345678"}, {"33 6 12 34 56 78", "PL", "", "+33612345678"},
		{"34 612 34 56 78", "PL", "", "+34612345678"}, {"213 661 12 34 56", "US", "", "+213661123456"},
		{"380 67 123 45 67", "US", "", "+380671234567"}, {"244 923 456 789", "PT", "", "+244923456789"},
		{"91 98765 43210", "CA", "", "+919876543210"}, {"52 (55) 1234-5678", "US", "", "+525512345678"},
		{"06/12/34/56/78", "FR", "", "+33612345678"}, {"0171/234 56 78", "DE", "", "+491712345678"},
		{"040/12/34/56/78", "DE", "", "+494012345678"}, {"0475/12.34.56", "BE", "", "+32475123456"},
		{"514-234-5678/", "CA", "", "+15142345678"}, {"030 2312545-46", "DE", "", "+4930231254546"},
	} {
		phone, _, wrong := contact.ReadPhone(tt.cell, tt.region)
		require.Equal(t, tt.want, phone, tt.cell)
		if tt.code != "" {
			require.Equal(t, tt.code, wrong.Code, tt.cell)
		}
	}
}

// Numbers in the links and the IDs of WhatsApp, with points half up, and with a pause before an extension.
func TestNumbersOfPrograms(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"https://api.whatsapp.com/send?phone=15145550123": "+15145550123", "whatsapp://send?phone=%2B33612345678": "+33612345678",
		"https://api.whatsapp.com/send/?phone=+33612345678&text=hi": "+33612345678", "15145550123@c.us": "+15145550123",
		"33612345678@s.whatsapp.net": "+33612345678", "514·555·0123": "+15145550123", "➕33612345678": "+33612345678",
		"514-555-0123,12": "", "514-555-0123;12#": "", "514•••0123": "", "15145550123@g.us": "", "https://example.com/?phone=15145550123": "",
	} {
		phone, _, wrong := contact.ReadPhone(cell, "CA")
		require.Equal(t, want, phone, cell)
		require.Equal(t, want == "", wrong != nil, cell)
	}
}

// A language may have its country in brackets.
func TestLanguagesWithCountries(t *testing.T) {
	t.Parallel()
	f := importFile(t, []byte("Phone,Langue\n5145550123,Français (Canada)\n4385550199,English (United Kingdom)\n4505550111,Elvish (x)\n"),
		contact.Options{})
	require.Equal(t, "fr-CA", f.rows[0].Contact.Locale)
	require.Equal(t, "en", f.rows[1].Contact.Locale)
	require.Equal(t, contact.CodeLocale, f.rows[2].Problems[0].Code)
}

// What spreadsheets show for a formula without a result is refused in their languages, and other text with a # is not.
func TestFormulaErrorsAbroad(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"#ERROR!", "#NV", "#WERT!", "#VALEUR!", "#NOM?", "#BEZUG!", "#¿NOMBRE?", "#NU\u0301M!", "#Н/Д", "#CALC!"} {
		f := importFile(t, []byte("Phone,Note\n5145550123,"+cell+"\n"), contact.Options{})
		require.Equal(t, []string{"Note " + contact.CodeFormula}, codes(f.rows[0]), cell)
	}
	f := importFile(t, []byte("Phone,Note\n5145550123,#12\n4385550199,#VIP\n"), contact.Options{})
	require.Equal(t, 2, f.valid)
}

// The names of languages are read in each language whose headers are.
func TestLanguagesByName(t *testing.T) {
	t.Parallel()
	for tag, names := range map[string]string{
		"en": "English|Anglais|Englisch|Inglés|Inglese|Inglês|Engels", "fr": "French|Français|Französisch|Francés|Francese|Francês|Frans",
		"de": "German|Allemand|Deutsch|Alemán|Tedesco|Alemão|Duits", "es": "Spanish|Espagnol|Spanisch|Español|Spagnolo|Espanhol|Spaans",
		"it": "Italian|Italien|Italienisch|Italiano|Italiaans", "pt": "Portuguese|Portugais|Portugiesisch|Portugués|Portoghese|Portugees",
		"nl": "Dutch|Néerlandais|Niederländisch|Neerlandés|Olandese|Holandês|Nederlands",
	} {
		for name := range strings.SplitSeq(names, "|") {
			f := importFile(t, []byte("Phone,Sprache\n5145550123,"+name+"\n"), contact.Options{})
			require.Equal(t, tag, f.rows[0].Contact.Locale, name)
		}
	}
}

// What people and programs put around an address is none of it.
func TestEmailsAsWritten(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"bob@example.com,": "bob@example.com", ";bob@example.com ;": "bob@example.com", "'bob@example.com'": "bob@example.com",
		`"bob@example.com"`: "bob@example.com", "“bob@example.com”": "bob@example.com", "Roy, Bob <bob@example.com>": "bob@example.com",
		"bob@example.com <bob@example.com>": "bob@example.com", "bob@example.com <mailto:Bob@example.com>": "Bob@example.com",
		"mailto: bob@example.com?subject=hi": "bob@example.com", "bob＠example.com": "bob@example.com",
		"o'neil@example.ie": "o'neil@example.ie", `"Roy, Bob" <bob@example.com>`: "bob@example.com",
		"bob@example.com; ann@example.com": "", "ann@example.com <bob@example.com>": "", "Roy, Bob <bob at example.com>": "",
		"bob@exam'ple.com": "",
	} {
		got, wrong := contact.ReadEmail(cell)
		require.Equal(t, want, got, cell)
		require.Equal(t, want == "", wrong != nil, cell)
	}
}

// Headers of other languages, of two, with notes, and without spaces.
func TestHeadersAsWritten(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Vorname;Nachname;Telefonnummer;E-Mail-Adresse;Sprache":                                    "given_name family_name phone email locale",
		"Anrede;Vorname;Name;Handy;Mail":                                                           "fields.anrede given_name family_name phone email",
		"Voornaam;Achternaam;Mobiel;E-mailadres;Taal":                                              "given_name family_name phone email locale",
		"Nome;Cognome;Cellulare;Email;Lingua":                                                      "given_name family_name phone email locale",
		"Nombre y apellidos;Número de celular;E-mail":                                              "name phone email",
		"Nome;Sobrenome;Telefone celular;Correio eletrónico":                                       "given_name family_name phone email",
		"Prénom / First name;Nom / Last name;Téléphone / Phone;Courriel / Email;Langue / Language": "given_name family_name phone email locale",
		"Full Name;Phone Number (10 digits);Email (required)":                                      "name phone email",
		"Phone (with country code);Name*":                                                          "phone name",
		"MobilePhone;ContactName;PreferredLanguage":                                                "phone name locale",
		"WhatsApp (consent);Phone;Name":                                                            "fields.whatsapp_consent phone name",
		"Phone (type);Phone;Name":                                                                  "fields.phone_type phone name",
		"Name (spouse);Name;Phone":                                                                 "fields.name_spouse name phone",
		"Phone (spouse);Phone;Name":                                                                "fields.phone_spouse phone name",
		"Numéro (dossier);Cellulaire du locataire;Nom":                                             "fields.numero_dossier phone name",
		"To (city);Recipient (company);Phone":                                                      "fields.to_city fields.recipient_company phone",
		"Segment (code);Groupe (pays);Phone":                                                       "fields.segment_code fields.groupe_pays phone",
		"Contact (emergency);Client (entreprise);Phone":                                            "fields.contact_emergency fields.client_entreprise phone",
		"Name (company);First name (required);Phone(s)":                                            "fields.name_company given_name phone",
		"Téléphone (conjoint);Cell (mandatory);Prénom (assistant)":                                 "fields.telephone_conjoint phone fields.prenom_assistant",
		"Téléphone du conjoint;Téléphone (avec indicatif pays);Nom":                                "fields.telephone_du_conjoint phone name",
		"Teléfono (código de país);Correo;Nombre":                                                  "phone email given_name",
		"Téléphone (indicatif pays canadien);Nom":                                                  "phone name",
		"Kunde Telefono mit Vorwahl;Naam":                                                          "phone name",
		"Téléphone avec indicatif;Nom":                                                             "phone name",
		"Indicatif téléphone;Pays (tel);Courriel":                                                  "fields.indicatif_telephone fields.pays_tel email",
		"Name;Phone Number;WhatsApp Phone Number":                                                  "name phone phone",
		"WhatsApp No.;Phone;N° WhatsApp;Número de WhatsApp":                                        "phone phone phone phone",
		"WhatsApp of spouse;Phone;Nº WhatsApp":                                                     "fields.whatsapp_of_spouse phone phone",
		"Language(s);Langue (parlée);Phone":                                                        "fields.language_s fields.langue_parlee phone",
	} {
		sample := map[string]string{"phone": "+4917123456", "email": "a%d@example.com", "locale": "de"}
		var row []string
		for i, field := range strings.Fields(want) {
			v := sample[field]
			if v == "" {
				v = fmt.Sprintf("x%d", i)
			}
			row = append(row, strings.ReplaceAll(v, "%d", "1"))
		}
		f := importFile(t, []byte(header+"\n"+strings.Join(row, ";")+"\n"), contact.Options{})
		var got []string
		for _, c := range f.plan.Mapping {
			got = append(got, c.Field)
		}
		require.Equal(t, want, strings.Join(got, " "), header)
	}
}

// A header that says the same in two languages on two lines of a cell is known in text and in a sheet.
func TestHeadersOnTwoLines(t *testing.T) {
	t.Parallel()
	const want = "given_name family_name phone phone phone"
	headers := []string{"Prénom\nFirst name", "Nom\nLast name", "Cellulaire\nCell", "Téléphone\nPhone", "Phone\nNumber"}
	values := []string{"Zoé", "Côté", "", "514-555-0123", ""}
	for _, end := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll(`"`+strings.Join(headers, `","`)+`"`, "\n", end) + end + strings.Join(values, ",") + end
		f := importFile(t, []byte(text), contact.Options{})
		require.Equal(t, want, fieldsOf(f.plan.Mapping))
		require.Equal(t, "+15145550123 Zoé Côté", f.String())
		require.Equal(t, "Prénom / First name", f.plan.Mapping[0].Header)
		require.Equal(t, "Phone Number", f.plan.Mapping[4].Header)
		again := importFile(t, errorsCSV(t, f), contact.Options{Header: new(true), Mapping: map[string]string{"prenom first name": "name"}})
		require.Equal(t, strings.Replace(want, "given_name", "name", 1)+" - - - -", fieldsOf(again.plan.Mapping))
	}
	row := func(cells []string) string {
		return `<row><c t="inlineStr"><is><t>` + strings.Join(cells, `</t></is></c><c t="inlineStr"><is><t>`) + `</t></is></c></row>`
	}
	f := importFile(t, workbook(row(headers)+row(values)), contact.Options{})
	require.Equal(t, want, fieldsOf(f.plan.Mapping))
	require.Equal(t, "+15145550123 Zoé Côté", f.String())
}

// Years, dates and numbers are names of columns beside known ones; a row with somebody's number or address is none of names.
func TestHeadersWithYears(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Name,Phone,Email,2023,2024\nAnn,514-555-0123,a@example.com,5,\n": "name phone email . .",
		"Name,Phone,2024-05-17\nAnn,514-555-0123,yes\n":                   "name phone .",
		"Paid\n,,\nPhone,Name,1\n514-555-0123,Ann,2\n":                    "phone name .",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		require.True(t, f.plan.Format.Header, text)
		require.Equal(t, want, fieldsOf(f.plan.Mapping), text)
		require.Len(t, f.rows, 1, text)
		require.Contains(t, f.String(), "+15145550123", text)
	}
	f := importFile(t, []byte("Ann,514-555-0123,Phone,Mobile,2024\nBob,438-555-0199,Mobile,,2024\n"), contact.Options{})
	require.False(t, f.plan.Format.Header)
	require.Len(t, f.rows, 2)
}

// A column whose header speaks of telephones, and whose values do not, is none; of columns of digits, the numbers that
// exist are those of telephones.
func TestColumnsByValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"who;Llamadas WhatsApp;reach\nAnn;sí;514-555-0123\nBob;no;438-555-0199\n":                   "fields.who fields.llamadas_whatsapp phone",
		"id_client;kontakt\n1000200030;514-555-0123\n1000200031;438-555-0199\n":                     "fields.id_client phone",
		"Newsletter email;Who;Where\nyes;Ann;ann@example.com\nno;Bob;bob@example.com\n":             "fields.newsletter_email fields.who email",
		"Customer mobile;note\n5.14555E+09;x\n514-555-0123;y\n":                                     "phone fields.note",
		"SIRET;Ort;Ruf\n73282932000074;Paris;+33 6 12 34 56 78\n73282932000075;Lyon;+33698765432\n": "fields.siret fields.ort phone",
		"Téléphone du client;x\n06-12-34-56-78;a\n06-98-76-54-32;b\n":                               "phone fields.x",
		"Téléphone (requis);x\n06/12/34/56/78;a\n06/98/76/54/32;b\n":                                "phone fields.x",
		"Mobile since;Phone\n2024-05-01;514-555-0123\n01/05/2024 10:00;438-555-0199\n":              "fields.mobile_since phone",
		"Phone first seen;Phone\n2024-05-01T10:00:00Z;514-555-0123\n2024/05/02;438-555-0199\n":      "fields.phone_first_seen phone",
		"Tenant phone;x\nN/A;a\n-;b\nnone;c\n#N/A;d\naucun;e\nn/d;f\n514-555-0123;g\n":              "phone fields.x",
		"Tenant email;Phone\nN/A;514-555-0123\n-;\n--;\nnone;\n?;\nnull;\nann@example.com;\n":       "email phone",
		"Numéro (dossier);Cellulaire du locataire\n20240001;514-555-0123\n20240002;438-555-0199\n":  "fields.numero_dossier phone",
		"Téléphone du conjoint;Téléphone (avec indicatif pays)\n514-555-0123;+14385550199\n":        "fields.telephone_du_conjoint phone",
		"Tel Kunde mit Vorwahl;Tel Partner\n+4930231254;+4917123456\n":                              "phone fields.tel_partner",
		"Phone;Sprache\n514-555-0123;fließend\n438-555-0199;Schweizer Mundart\n":                    "phone fields.sprache",
		"Phone;Langue / Language\n514-555-0123;Français, anglais\n438-555-0199;les deux\n":          "phone fields.langue_language",
		"Phone;Langue\n514-555-0123;Français, anglais\n438-555-0199;les deux\n":                     "phone locale",
		"Endereço;Número;Email;Telefone\nRua A;123;a@example.com;\n":                                "fields.endereco fields.numero email phone",
		"Number;Name;Phone\n30231254;Ann;514-555-0123\n":                                            "fields.number name phone",
		"Number;Name;Email\n123;Ann;a@example.com\n":                                                "fields.number name email",
		"Number;Name;Emergency phone\n514-555-0123;Ann;438-555-0199\n":                              "phone name fields.emergency_phone",
		"Name;Email;Contact\nAnn;a@example.com;514-555-0123\n":                                      "name email phone",
		"Nom;Contact\nAnn;514-555-0123\n;\n":                                                        "name phone",
		"Name;Client;Phone\nAnn;Acme;514-555-0123\n":                                                "name fields.client phone",
		"Customer;Contact (required);Phone\nAcme;Ann;514-555-0123\n":                                "fields.customer name phone",
		"Client;To\nAnn;514-555-0123\n":                                                             "name phone",
		"Phone;PreferredLanguage\n514-555-0123;Engels\n438-555-0199;Klingon, sometimes\n":           "phone locale",
	} {
		f := importFile(t, []byte(text), contact.Options{})
		var got []string
		for _, c := range f.plan.Mapping {
			got = append(got, c.Field)
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
}

// Files of old Macs are told from those of Windows by where their letters stand.
func TestMacintosh(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"Prénom;Nom;Téléphone\nZoé;Côté;514 555-0123\nFrançois;Légaré;438 555-0199\nAnaïs;L’Écuyer;450 555-0111\n",
		"Name;Phone\nZoé;5145550123\nRené Légaré;4385550199\n", "NOM;TÉLÉPHONE\nBÉLANGER À ÇA;5145550123\n", "Name;Phone\nMüller “Max” – Ñandú;5145550123\n",
		"Name;Phone\nŒuvré “Bob”;4385550199\nSøren Ångström;5145550123\n",
	} {
		for name, in := range map[string]*charmap.Charmap{"macintosh": charmap.Macintosh, "windows-1252": charmap.Windows1252} {
			data, err := in.NewEncoder().Bytes([]byte(text))
			require.NoError(t, err)
			f := importFile(t, data, contact.Options{})
			require.Equal(t, name, f.plan.Format.Encoding, text)
			require.Equal(t, importFile(t, []byte(text), contact.Options{}).String(), f.String())
		}
	}
	for _, text := range []string{"Name;Phone\nŽižek Šimek;5145550123\n", "Name;Phone\nL’été – 5 €;5145550123\nNike™ Žák;4385550199\n",
		"Name;Phone\nJean–Luc;5145550123\n", "Name;Phone\nTéléTech™Plus;5145550123\n", "Name;Phone\nWait…what;5145550123\n",
		"Name;Phone\nJean–Luc—Roy;5145550123\nA–B–C–D;4385550199\nX®Y;4505550111\n", "Name;Phone\nMacŽak;5145550123\n"} {
		f := importFile(t, cp1252(text), contact.Options{})
		require.Equal(t, contact.Windows1252, f.plan.Format.Encoding, text)
	}
}
