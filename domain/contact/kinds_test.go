package contact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// kinds are files as programs export them and people upload them, and what is right: phone, address and name of each
// row, "-" for one that is refused, and "refused" for a file. Rows of cells only have one column.
var kinds = []struct{ name, region, text, want string }{
	// Exports.
	{"shopify orders", "", "Name,Email,Financial Status,Billing Name,Billing Phone,Shipping Name,Shipping Phone,Phone\n" +
		"#1001,z@example.com,paid,Zoé Côté,514-555-0123,Bob Roy,438-555-0199,\n", "+15145550123 z@example.com Zoé Côté"},
	{"airbnb", "", "Confirmation code,Status,Guest name,Contact,# of adults,Start date\nHMABC1,Confirmed,Zoé Côté,+1 514-555-0123,2,2024-05-17\n" +
		"HMABC2,Confirmed,Bob Roy,+33 6 12 34 56 78,1,2024-06-01\n", "+15145550123 Zoé Côté\n+33612345678 Bob Roy"},
	{"microsoft forms", "", "ID,Start time,Completion time,Email,Name,Full name,Cell phone number\n1,5/17/24 10:00:00,5/17/24 10:02:00,anonymous,,Zoé Côté,514-555-0123\n",
		"+15145550123 Zoé Côté"},
	{"microsoft forms, french", "", "ID,Heure de début,Heure de fin,Adresse de messagerie,Nom,Votre nom complet,Numéro de cellulaire\n1,17/05/2024 10:00,17/05/2024 10:02,anonyme,,Zoé Côté,514-555-0123\n",
		"+15145550123 Zoé Côté"},
	{"salesforce report", "", "\"First Name\",\"Last Name\",\"Mobile\",\"Email\"\n\"Zoé\",\"Côté\",\"(514) 555-0123\",\"z@example.com\"\n\n\n\"Copyright (c) 2000-2024 salesforce.com, inc. All rights reserved.\"\n\"Confidential Information - Do Not Distribute\"\n",
		"+15145550123 z@example.com Zoé Côté\n-\n-"},
	{"linkedin", "", "Notes:\n\"When exporting your connection data, you may notice that some of the email addresses are missing.\"\n\nFirst Name,Last Name,URL,Email Address,Company,Position,Connected On\nZoé,Côté,https://x.example/in/zoe,z@example.com,Acme,CEO,17 May 2024\nBob,Roy,https://x.example/in/bob,,Acme,CFO,18 May 2024\n",
		"z@example.com Zoé Côté\n-"},
	{"qualtrics", "", "ResponseId,Q1,Q2\nResponse ID,What is your name?,What is your phone number?\n\"{\"\"ImportId\"\":\"\"_recordId\"\"}\",\"{\"\"ImportId\"\":\"\"QID1\"\"}\",\"{\"\"ImportId\"\":\"\"QID2\"\"}\"\nR_1,Ann,514-555-0123\n",
		"-\n+15145550123 Ann"},
	{"surveymonkey", "", "Respondent ID,Name,Phone number\n,Open-Ended Response,Open-Ended Response\n118012,Ann,514-555-0123\n", "-\n+15145550123 Ann"},
	{"thunderbird, german", "DE", "Vorname,Nachname,Anzeigename,Spitzname,Primäre E-Mail-Adresse,Sekundäre E-Mail-Adresse,Tel. dienstlich,Tel. privat,Fax-Nummer,Pager-Nummer,Mobil-Tel.-Nr.\nZoe,Kurz,Zoe Kurz,,z@example.de,,030 23125456,,,,0171 2345678\n",
		"+491712345678 z@example.de Zoe Kurz"},
	{"thunderbird, french", "FR", "Prénom,Nom de famille,Nom à afficher,Surnom,Première adresse électronique,Adresse électronique secondaire,Tél. professionnel,Tél. personnel,Fax,Pager,Portable\nZoé,Côté,Zoé Côté,,z@example.fr,,01 23 45 67 89,,,,06 12 34 56 78\n",
		"+33612345678 z@example.fr Zoé Côté"},
	{"yahoo", "", "First,Middle,Last,Nickname,Email,Category,Distribution Lists,Messenger ID,Home,Work,Pager,Fax,Mobile,Other\nZoé,,Côté,,z@example.com,,,,514-555-0123,,,,,\n",
		"+15145550123 z@example.com Zoé Côté"},
	{"dynamics", "", "(Do Not Modify) Contact,(Do Not Modify) Row Checksum,(Do Not Modify) Modified On,Full Name,Email,Business Phone,Mobile Phone\n0f8fad5b-d9cb-469f-a165-70867728950e,abc/+9=,2024-05-17 10:00,Zoé Côté,z@example.com,514-555-0100,514-555-0123\n",
		"+15145550123 z@example.com Zoé Côté"},
	{"power query", "", "Column1,Column2,Column3\nName,Phone,Email\nAnn,514-555-0123,a@example.com\n", "+15145550123 a@example.com Ann"},
	{"pandas", "", "Unnamed: 0,name,phone,email\n0,Ann,5145550123.0,nan\n1,Bob,,b@example.com\n", "+15145550123 Ann\nb@example.com Bob"},
	{"markdown", "", "| Name | Phone |\n|------|-------|\n| Ann | 514-555-0123 |\n| Bob | 438-555-0199 |\n", "-\n+15145550123 Ann\n+14385550199 Bob"},
	{"psql", "", " name |    phone     \n------+--------------\n Ann  | 514-555-0123\n Bob  | 438-555-0199\n(2 rows)\n", "-\n+15145550123 Ann\n+14385550199 Bob\n-"},
	{"group extractor", "", "Country Code,Country Name,Formatted Phone,Phone,Name,Is My Contact\n1,Canada,+1 514-555-0123,15145550123,Ann,TRUE\n33,France,+33 6 12 34 56 78,33612345678,Bob,FALSE\n",
		"+15145550123 Ann\n+33612345678 Bob"},
	{"apple by an app", "", "First name,Last name,Phone : mobile,Phone : home,Email : work,Company\nZoé,Côté,,514-555-0123,z@example.com,Acme\n", "+15145550123 z@example.com Zoé Côté"},
	{"odoo", "", "name,phone,mobile,email,is_company,parent_id/name\nZoé Côté,514-555-0100,514-555-0123,z@example.com,False,Acme\n", "+15145550123 z@example.com Zoé Côté"},
	{"suitecrm", "", "\"First Name:\",\"Last Name:\",\"Office Phone:\",\"Mobile:\",\"Email Address:\",\"Assigned To:\"\nZoé,Côté,514-555-0100,514-555-0123,z@example.com,admin\n", "+15145550123 z@example.com Zoé Côté"},
	{"zoho", "", "Record Id,Contact Owner,Contact Name,Account Name,Email,Phone,Mobile,Email Opt Out\nzcrm_1,Sam,Zoé Côté,Acme,z@example.com,514-555-0100,514-555-0123,false\n", "+15145550123 z@example.com Zoé Côté"},
	{"stripe", "", "id,Description,Email,Name,Created (UTC),Delinquent,Phone,Currency\ncus_1,,z@example.com,Zoé Côté,2024-05-17 10:00,false,15145550123,cad\n", "+15145550123 z@example.com Zoé Côté"},
	{"eventbrite", "", "Order #,Order Date,Buyer First Name,Buyer Last Name,Buyer Email,First Name,Last Name,Email,Cell Phone,Home Phone\n123,2024-05-17,Bob,Roy,b@example.com,Zoé,Côté,z@example.com,514-555-0123,\n", "+15145550123 z@example.com Zoé Côté"},
	{"school list", "", "Élève,Classe,Courriel,Cell. parent\nZoé Côté,4B,z@example.com,438-555-0199\n", "+14385550199 z@example.com Zoé Côté"},
	{"parents are all there is", "", "Student,Grade,Parent name,Parent cell\nZoé,4,Ann Côté,514-555-0123\n", "+15145550123 Ann Côté"},
	{"parent beside an address", "", "Student Name,Email,Parent cell\nZoé Côté,z@example.com,438-555-0199\nBob Roy,,438-555-0188\n", "+14385550199 z@example.com Zoé Côté\n+14385550188 Bob Roy"},
	{"parent beside a number", "", "Name,Phone,Parent phone\nZoé Côté,,438-555-0199\nBob Roy,514-555-0123,438-555-0188\n", "-\n+15145550123 Bob Roy"},
	{"parent and emergency beside an address", "", "Name,Courriel,Tél. urgence,Tél. parent\nZoé Côté,z@example.com,514-555-0123,438-555-0199\n",
		"+14385550199 z@example.com Zoé Côté"},
	{"parent's address beside a number", "", "Name,Phone,Parent email\nZoé Côté,438-555-0199,p@example.com\n", "+14385550199 p@example.com Zoé Côté"},
	{"parent beside numbers of files", "", "Student ID,Name,Parent phone\n5145550101,Zoé Côté,438-555-0199\n", "+14385550199 Zoé Côté"},
	{"emergency beside numbers of files", "", "Member ID,Name,Emergency phone\n5145550101,Zoé Côté,438-555-0199\n", "+14385550199 Zoé Côté"},
	{"emergency beside an address", "", "Name,Email,Emergency contact phone\nZoé Côté,z@example.com,438-555-0199\n", "z@example.com Zoé Côté"},
	{"groups over their columns", "", "Employee,,,Emergency contact,\nName,Phone,Email,Name,Phone\nZoé Côté,,z@example.com,Bob Roy,438-555-0199\nAnn Lee,514-555-0123,,Kim,438-555-0188\n",
		"z@example.com Zoé Côté\n+15145550123 Ann Lee"},
	{"parents over their columns", "", "Parents,,,Children\nName,Email,Phone,Name\nAnn Côté,a@example.com,438-555-0199,Zoé\n", "+14385550199 a@example.com Ann Côté"},
	{"title of former members", "", "Former members,,2024\nName,Email,Phone\nZoé Côté,z@example.com,438-555-0199\n", "+14385550199 z@example.com Zoé Côté"},
	{"title with cells", "", "Exported,2024-05-17,Old system\nName,Email,Phone\nZoé Côté,z@example.com,438-555-0199\n", "+14385550199 z@example.com Zoé Côté"},
	{"role alone", "", "Locataire,Logement,Loyer,Tél.\nZoé Côté,12,950,514-555-0123\nBob Roy,14,1020,438-555-0199\n", "+15145550123 Zoé Côté\n+14385550199 Bob Roy"},
	{"role alone, english", "", "Unit,Tenant,Phone,Balance\n101,Zoé Côté,514-555-0123,0\n102,Bob Roy,438-555-0199,20\n", "+15145550123 Zoé Côté\n+14385550199 Bob Roy"},
	{"role that is a mark", "", "Member,First name,Phone\nYes,Ann,514-555-0123\nNo,Bob,438-555-0199\n", "+15145550123 Ann\n+14385550199 Bob"},
	{"role that is an agent's", "", "Owner,Company,Phone\nSam Roy,Acme,514-555-0123\nSam Roy,Best,438-555-0199\nSam Roy,Cool,438-555-0198\n",
		"+15145550123\n+14385550199\n+14385550198"},
	{"role that is a mark, no name", "", "Member,Phone\nYes,514-555-0123\nNo,438-555-0199\n", "+15145550123\n+14385550199"},
	// Area codes beside numbers.
	{"area code", "", "Name,Area Code,Phone Number\nAnn,514,555-0123\nBob,438,555-0199\n", "+15145550123 Ann\n+14385550199 Bob"},
	{"ddd", "BR", "Nome;DDD;Telefone\nAna Lima;11;98765-4321\nRui Dias;21;99876-5432\n", "+5511987654321 Ana Lima\n+5521998765432 Rui Dias"},
	{"vorwahl", "DE", "Name;Vorwahl;Rufnummer\nZoe Kurz;0171;2345678\nJan Lang;030;23125456\n", "+491712345678 Zoe Kurz\n+493023125456 Jan Lang"},
	{"área", "MX", "Nombre,Código de área,Teléfono\nAna,55,1234 5678\n", "+525512345678 Ana"},
	{"area code beside whole numbers", "", "Name,Area code,Phone\nAnn,514,514-555-0123\nBob,514,+1 438 555 0199\n", "+15145550123 Ann\n+14385550199 Bob"},
	// Text.
	{"UTF-8 twice", "", "PrÃ©nom;Nom;TÃ©lÃ©phone\nZoÃ©;CÃ´tÃ©;514-555-0123\nRenÃ©;Roy;438-555-0199\n", "+15145550123 Zoé Côté\n+14385550199 René Roy"},
	{"UTF-8 twice, plain header", "", "Name,Phone\nZoÃ© CÃ´tÃ©,514-555-0123\nFranÃ§ois Roy,438-555-0199\nAnn,514-555-0111\n", "+15145550123 Zoé Côté\n+14385550199 François Roy\n+15145550111 Ann"},
	{"sep with a tab", "", "sep=\t\nName\tPhone\nDoe, John\t514-555-0123\n", "+15145550123 Doe, John"},
	{"sep in quotes", "", "\"sep=;\"\nName;Phone\nDoe, John;514-555-0123\n", "+15145550123 Doe, John"},
	{"sep with spaces", "", "SEP=;;\nName;Phone\nDoe, John;514-555-0123\n", "+15145550123 Doe, John"},
	{"comment", "", "# exported by crm-tool 1.2, 2024-05-17\n#\nName,Phone\nAnn,514-555-0123\n", "+15145550123 Ann"},
	{"pages", "", "Members,,\nName,Phone,City\nAnn,514-555-0123,Laval\nPage 1 of 2,,\nName,Phone,City\nBob,438-555-0199,Gaspé\nPage 2 of 2,,\nTotal,2,\n", "+15145550123 Ann\n-\n+14385550199 Bob\n-\n-"},
	{"blank cells that do not break", "", "Name\u00a0\tPhone\u00a0\n\u00a0Ann\u00a0\t\u00a0514-555-0123\u00a0\n", "+15145550123 Ann"},
	{"spaced semicolons", "", "Name ; Phone ; Email\nAnn ; 514-555-0123 ; a@example.com\nBob ; 438-555-0199 ; \n", "+15145550123 a@example.com Ann\n+14385550199 Bob"},
	{"names in their scripts", "", "Name,Phone\nمحمد العلي,+966 51 234 5678\n王小明,+886 912 345 678\nNguyễn Văn Á,+84 912 345 678\nאורי כהן,+972 50-234-5678\nΓιώργος,+30 691 234 5678\n",
		"+966512345678 محمد العلي\n+886912345678 王小明\n+84912345678 Nguyễn Văn Á\n+972502345678 אורי כהן\n+306912345678 Γιώργος"},
	// Cells.
	{"a digit too many", "", "Phone\n613-555-01234\n613-555-0123\n", "-\n+16135550123"},
	{"a digit too many, bracketed", "", "Phone\n(613) 555-01234\n613.555.01234\n", "-\n-"},
	{"a digit too many, united states", "US", "Phone\n415-555-01234\n484 555 01234\n", "-\n-"},
	{"a whole number abroad", "", "Phone\n61 3 5550 1234\n61355501234\n", "+61355501234\n+61355501234"},
	{"ways out of a country", "", "Phone\n011 44 7911 123456\n011-33-6-12-34-56-78\n0033 (0)6 12 34 56 78\n", "+447911123456\n+33612345678\n+33612345678"},
	{"ways out of australia", "AU", "Phone\n0011 44 7911 123456\n0412 345 678\n", "+447911123456\n+61412345678"},
	{"russian eight", "RU", "Phone\n8 (912) 345-67-89\n8-912-345-67-89\n79123456789\n9123456789\n", "+79123456789\n+79123456789\n+79123456789\n+79123456789"},
	{"signs", "", "Phone\n🇨🇦 514-555-0123\n📱514-555-0123\n☎ 514-555-0123\n514/555-0123\n", "+15145550123\n+15145550123\n+15145550123\n+15145550123"},
	{"fancy digits", "", "Phone\n𝟓𝟏𝟒-𝟓𝟓𝟓-𝟎𝟏𝟐𝟑\n５１４−５５５−０１２３\n514‑555‑0123\n", "+15145550123\n+15145550123\n+15145550123"},
	{"extensions", "", "Phone\n514-555-0123 p. 12\n514-555-0123 *12\n514-555-0123 Ext: 12\n514-555-0123x12\n", "-\n-\n-\n-"},
	{"several in a cell", "", "Phone\n514-555-0123 \\ 438-555-0199\n\"C: 514-555-0123\nH: 438-555-0199\"\n514-555-0123 + 438-555-0199\n514-555-0123 or 0145\n", "-\n-\n-\n-"},
	{"of others", "", "Phone\n514-555-0123 (Marie)\nMère: 514-555-0123\n514-555-O123\n", "-\n-\n-"},
	{"addresses", "", "Email\nzoe@exämple.com\nzoe@例え.jp\nzoe+news@example.com\nZOE@EXAMPLE.COM\n", "zoe@xn--exmple-cua.com\nzoe@xn--r8jz45g.jp\nzoe+news@example.com\nZOE@example.com"},
	{"no addresses", "", "Email\nzoe@localhost\nzoe@example..com\nzoe@192.168.0.1\nzoe (at) example.com\nzoe@example,com\n", "-\n-\n-\n-\n-"},
	{"names with addresses", "", "Email\nZoé Côté <z@example.com>\n\"\"\"Côté, Zoé\"\" <z@example.com>\"\nz@example.com (Zoé Côté)\nZoé Côté [z@example.com]\n", "z@example.com\nz@example.com\nz@example.com\n-"},
	{"columns of months", "", "Name,Phone,Jan 2024,Feb 2024,17/05/2024\nAnn,514-555-0123,50,,x\n", "+15145550123 Ann"},
	{"note in the header on two lines", "", "\"Name\n(required)\",\"Phone\n(with country code)\"\nAnn,+1 514 555 0123\n", "+15145550123 Ann"},
	{"consent beside numbers", "", "Name,SMS consent,Do not call,Phone\nAnn,yes,no,514-555-0123\n", "+15145550123 Ann"},
	{"numbers of files beside numbers", "", "No dossier,No client,Nom,No tél\n5145550101,4385550102,Ann,514-555-0123\n", "+15145550123 Ann"},
	{"fax alone", "", "Name,Fax,Courriel\nAnn,514-555-0123,a@example.com\n", "a@example.com Ann"},
	{"previous number", "", "Name,Old phone,New phone\nAnn,514-555-0100,514-555-0123\nBob,438-555-0199,\n", "+15145550123 Ann\n-"},
	{"of the company", "", "Contact name,Company phone,Direct phone,Email\nAnn,514-555-0100,514-555-0123,a@example.com\n", "+15145550123 a@example.com Ann"},
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range kinds {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			f, err := tryImport(t, []byte(tt.text), contact.Options{Region: tt.region})
			if err != nil {
				got = "refused"
			}
			lines := strings.Split(f.String(), "\n")
			for i, r := range f.rows {
				if !r.Valid() {
					lines[i] = "-"
				}
			}
			if err == nil {
				got = strings.Join(lines, "\n")
			}
			if got != tt.want {
				t.Errorf("%s\ngot\n%s\n%v\nwant\n%s", tt.text, got, err, tt.want)
			}
		})
	}
}

// Words that Germanic languages make of two, names with two surnames, years below "SMS", and the telephone of a parent.
func TestHeadersOfTwoParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Naam,Hoofdtelefoon\nBob,514-555-0123\n":                                     "Naam=name · Hoofdtelefoon=phone",
		"Naam,Privételefoonnummer,Hoofdmail\nBob,514-555-0123,b@example.org\n":       "Naam=name · Privételefoonnummer=phone · Hoofdmail=email",
		"Name,Haupttelefon,Arbeitshandy\nBob,514-555-0111,514-555-0123\n":            "Name=name · Haupttelefon=phone · Arbeitshandy=phone",
		"Namn,Hemtelefon\nBob,514-555-0123\n":                                        "Namn=name · Hemtelefon=phone",
		"Name,Haupttelefonanlage,Telefon\nBob,ja,514-555-0123\n":                     "Name=name · Haupttelefonanlage=fields.haupttelefonanlage · Telefon=phone",
		"Nombre,Apellido 1,Apellido 2,Teléfono\nAna,Ruiz,Gil,5145550123\n":           "Nombre=given_name · Apellido 1=family_name · Apellido 2=fields.apellido_2 · Teléfono=phone",
		"Name,Phone,SMS\nAna,5145550123,2019\nEva,5145550124,2020\n":                 "Name=name · Phone=phone · SMS=fields.sms",
		"Name,Email,SMS\nAna,a@example.org,2019\nEva,b@example.org,2020\n":           "Name=name · Email=email · SMS=fields.sms",
		"Student,Grade,Parent cell\nAna Ruiz,3,5145550123\nEva Lopez,2,5145550124\n": "Student=name · Grade=fields.grade · Parent cell=phone",
	} {
		require.Equal(t, want, mapped(importFile(t, []byte(text), contact.Options{}).plan.Mapping), text)
	}
}
