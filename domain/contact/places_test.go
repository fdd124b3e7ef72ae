package contact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// Columns of telephones and addresses that say where the person is reached by them. Each may be the only one that a row
// has, so none of them is left out for another.
func TestHeadersOfPlaces(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Name,Email (Work),Email (Personal)":                                                          "name email email",
		"Name,Home Email,Business Email":                                                              "name email email",
		"Name,Private e-mail,Office e-mail":                                                           "name email email",
		"Nom complet,Courriel personnel,Courriel travail":                                             "name email email",
		"Nom complet,Email pro,Email perso":                                                           "name email email",
		"Nombre completo,Correo personal,Correo del trabajo":                                          "name email email",
		"Nome completo,E-mail pessoal,E-mail comercial":                                               "name email email",
		"Anzeigename,E-Mail (Privat),E-Mail (Arbeit)":                                                 "name email email",
		"Vorname,E-Mail privat,E-Mail geschäftlich":                                                   "given_name email email",
		"Volledige naam,E-mail privé,E-mail werk":                                                     "name email email",
		"Nome e cognome,Email personale,Email lavoro":                                                 "name email email",
		"Name,Telefon (Mobil),Telefon (Privat),Telefon (Arbeit)":                                      "name phone phone phone",
		"Naam,Telefoon privé,Telefoon werk":                                                           "name phone phone",
		"Nom complet,Tél. domicile,Tél. pro":                                                          "name phone phone",
		"Nome completo,Telefone casa,Telefone trabalho":                                               "name phone phone",
		"Name,Email,Emergency email,Company email":                                                    "name email . .",
		"Name,Phone,Work phone extension,Work phone type":                                             "name phone . .",
		"Nombre,Apellidos,Número de teléfono,Número de teléfono móvil,Idioma preferido":               "given_name family_name phone phone locale",
		"Prénom,Nom,Téléphone portable 2,Autre courriel":                                              "given_name family_name phone email",
		"Personne - Nom,Personne - E-mail - Travail,Personne - Téléphone - Mobile":                    "name email phone",
		"Person - Name,Person - Telefon - Büro,Person - Telefon - Mobil,Person - Telefon - Sonstiger": "name phone phone phone",
		"Name / First Name,Emails / Primary Email,Phones / Primary Phone Number,Company / Name":       "given_name email phone .",
		"Voornaam,Achternaam,Telefoon op werk,Telefoon op werk 2,Andere telefoon":                     "given_name family_name phone phone phone",
		"Vorname,Nachname,Telefon (geschäftlich),Anderes Telefon,Andere E-Mail":                       "given_name family_name phone phone email",
		"Nombre mostrado,Teléfono,Móvil":                                                              "name phone phone",
		"Prénom,Nom,Téléphone,Autre téléphone / Other phone":                                          "given_name family_name phone phone",
		"Name,Phones / Label,Phones / Phone,Emails / Label,Emails / Email":                            "name . phone . email",
		"FN,N,TEL;TYPE=CELL,TEL;TYPE=HOME,EMAIL;TYPE=INTERNET,ORG":                                    "name . phone phone email .",
	} {
		cells := strings.Repeat(",", strings.Count(header, ","))
		f := importFile(t, []byte(header+"\nAnn"+cells+"\n"), contact.Options{Delimiter: ","})
		assert.Equal(t, want, fieldsOf(f.plan.Mapping), header)
	}
	for text, want := range map[string]string{
		"Nome,Telefone\nAna Souza,514-555-0123\nRui,438-555-0199\nLia Melo,450-555-0111": "name phone",
		"Nombre,Teléfono\nAna,514-555-0123\nLuz María,438-555-0199\nRui,450-555-0111":    "given_name phone",
		"Nome,Cognome,Telefono\nAnna Maria,Rossi,514-555-0123":                           "given_name family_name phone",
		"EMAIL,NOM,PRENOM,SMS\na@example.com,Roy,Ann,15145550123":                        "email family_name given_name phone",
		"Email,SMS,Landline number\na@example.com,15145550123,14385550199":               "email phone phone",
		"Email,Phone,SMS\na@example.com,15145550123,yes":                                 "email phone .",
		"Phone,Language\n15145550123,French / Français":                                  "phone locale",
		"Phone,SMS / WhatsApp,3. SMS\n15145550123,yes,no":                                "phone . .",
		"Phone,WhatsApp,SMS\n15145550123,no,05.01.2024":                                  "phone . .",
	} {
		f := importFile(t, []byte(text+"\n"), contact.Options{Delimiter: ","})
		assert.Equal(t, want, fieldsOf(f.plan.Mapping), text)
	}
	f := importFile(t, []byte("Name,Work phone,Tel (home),Mobile (work)\nAnn,514-555-0123,514-555-0145,\n"+
		"Bob,514-555-0123,,438-555-0199\nCleo,514-555-0123,,\n"), contact.Options{})
	require.Equal(t, "+15145550145 Ann\n+14385550199 Bob\n+15145550123 Cleo", f.String())
}

// Headers of both parts of a name make it the whole one.
func TestHeadersOfBothNames(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Apellido y Nombre": "name", "Apellidos, Nombres": "name", "Nombres y Apellidos": "name", "First & Last Name": "name",
		"First and last name": "name", "Last, First": "name", "Last Name, First Name": "name", "Nachname, Vorname": "name",
		"Vorname & Nachname": "name", "Prénom / Nom de famille": "name", "Name and Surname": "name", "Name Surname": "name",
		"Cognome Nome": "name", "Achternaam, voornaam": "name", "Customer surname": ".",
		"Spouse first last": ".",
	} {
		f := importFile(t, []byte("\""+header+"\";Phone\nLee Ann;5145550123\n"), contact.Options{})
		if got := fieldsOf(f.plan.Mapping); got != want+" phone" {
			t.Errorf("%s: %s; want %s", header, got, want)
		}
	}
}

// Digits of scripts that the library of numbers does not know.
func TestPhonesInOtherDigits(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string][2]string{
		"๐๘๑-๒๓๔-๕๖๗๘":  {"TH", "+66812345678"},
		"८१२३४ ५६७८९":   {"IN", "+918123456789"},
		"০১৮১২-৩৪৫৬৭৮":  {"BD", "+8801812345678"},
		"٠٥١٢٣٤٥٦٧٨":    {"SA", "+966512345678"},
		"۰۹۱۲ ۳۴۵ ۶۷۸۹": {"IR", "+989123456789"},
		"+၉၅၉၂၁၂၃၄၅၆":   {"", "+9592123456"},
	} {
		phone, _, wrong := contact.ReadPhone(cell, want[0])
		if phone != want[1] {
			t.Errorf("%s: %q, %v; want %q", cell, phone, wrong, want[1])
		}
	}
}

// Headers that are questions of forms, and those of name parts as form builders write them.
func TestHeadersOfForms(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"What's your first name?,What is your last name?,What’s your phone number?": "given_name family_name phone",
		"Your name,Your phone number,Your email":                                    "name phone email",
		"Quel est votre nom ?,Quel est votre numéro de téléphone ?,Votre courriel":  "name phone email",
		"Votre prénom,Votre nom,Votre téléphone":                                    "given_name family_name phone",
		"¿Cuál es su nombre?,¿Cuál es su correo electrónico?,Su teléfono":           "given_name email phone",
		"Ihr Vorname,Ihre E-Mail-Adresse,Ihre Telefonnummer":                        "given_name email phone",
		"Your number,Your contact,Your phone":                                       ". . phone",
		"What is your company,Your budget,Your phone":                               ". . phone",
		"Name (First),Name (Last),Phone":                                            "given_name family_name phone",
		"Full Name - First Name,Full Name - Last Name,Phone":                        "given_name family_name phone",
		"Guest Name,Visits,Guest Phone":                                             "name . phone",
		"Nom du locataire,Logement,Téléphone":                                       "name . phone",
		"Student name,Parent name,Phone":                                            ". . phone",
		"Tenant name,First name,Phone":                                              ". given_name phone",
		"User name,File name,Phone":                                                 ". . phone",
		"नाम,मोबाइल नंबर,ईमेल":                                                      "name phone email",
		"نام,نام خانوادگی,موبایل":                                                   "given_name family_name phone",
		"নাম,মোবাইল নম্বর,ইমেইল":                                                    "name phone email",
	} {
		f := importFile(t, []byte(header+"\nAnn,,\n"), contact.Options{Delimiter: ",", Header: new(true)})
		assert.Equal(t, want, fieldsOf(f.plan.Mapping), header)
	}
}

// Numbers with a word for what they are, which is no other person's and no fax.
func TestPhonesWithLabels(t *testing.T) {
	t.Parallel()
	const want = "+15145550123"
	for cell, read := range map[string]bool{
		"Cell: 514-555-0123": true, "Tél. : 514-555-0123": true, "H: 514-555-0123": true, "(c) 514-555-0123": true,
		"514-555-0123 (cell)": true, "514-555-0123 mobile": true, "514-555-0123 (travail)": true, "+1 514 555 0123 (WhatsApp)": true,
		"(CA) +1 514 555 0123": true, "CA: +1 514-555-0123": true, "Home 514-555-0123": true,
		"Cell: 1 514 555 0123": true, "Cell 1-514-555-0123": true, "Cell: (514) 555-0123": true, "Cell 1 514-555-0123": false,
		"Tel. (4) 514-555-0123": false, "C5145550123": false, "C1 514-555-0123": false,
		"FR: +1 514-555-0123": false, "Fax: 514-555-0123": false, "514-555-0123 (fax)": false, "Mom: 514-555-0123": false,
		"514-555-0123 (wife)": false, "514-555-0123 ext": false, "Cell: 514-555-0123 Home: 438-555-0199": false,
		"Emergency 514-555-0123": false, "514-555-0123 x": false, "Cell: 514-555-FLOW": false,
	} {
		phone, _, wrong := contact.ReadPhone(cell, "CA")
		if (wrong == nil) != read || read && phone != want {
			t.Errorf("%s: %q, %v", cell, phone, wrong)
		}
	}
	for cell, region := range map[string]string{
		"Tel 2 021 123 4567": "RO", "Tel. (7) 9123456789": "IR", "Mobile 4 - (868) 291-1234": "TT",
	} {
		if phone, _, wrong := contact.ReadPhone(cell, region); wrong == nil {
			t.Errorf("%s: %q, of somebody else", cell, phone)
		}
	}
}

// Columns that only look like those of places and roles.
func TestNoHeadersOfPlacesAndRoles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Name,WhatsApp Business,Phone\nAnn,Yes,5145550123":           "name . phone",
		"Name,Mobile home,Phone\nAnn,No,5145550123":                  "name . phone",
		"Your mail,Phone\nYes,5145550123":                            ". phone",
		"Tenant name,Guarantor phone\nAnn,5145550123":                ". phone",
		"Tenant name,Landlord name,Phone\nAnn,Bob,5145550123":        ". . phone",
		"Nome do aluno,Nome da mãe,Telefone\nAna,Bia,5145550123":     ". . phone",
		"Student name,Mother's name,Phone\nAnn,Cleo,5145550123":      ". . phone",
		"Borrower name,Co-borrower name,Phone\nAnn,Bob,5145550123":   ". . phone",
		"Guest name,Property name,Guest phone\nAnn,Villa,5145550123": "name . phone",
		"Nombre de locataire,Téléphone\n3,5145550123":                ". phone",
		"Email,Joined on\nann@example.com,٢٠٢٤-٠١-١٥":                "email .",
		"Email,Joined on\nann@example.com,२०२४/०१/१५":                "email .",
		"N,FN,LN,Phone\n1,Ann,Lee,5145550123":                        ". given_name family_name phone",
		"उपनाम,नाम,फोन\nशर्मा,राम,5145550123":                        "family_name given_name phone",
	} {
		f := importFile(t, []byte(text+"\n"), contact.Options{Delimiter: ",", Header: new(true)})
		assert.Equal(t, want, fieldsOf(f.plan.Mapping), text)
	}
}
