package contact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// mapped is the mapping as "header=field", without the columns that are left out.
func mapped(m contact.Mapping) string {
	var parts []string
	for i, c := range m {
		if c.Field != contact.FieldIgnored {
			h := c.Header
			if h == "" {
				h = fmt.Sprintf("#%d", i+1)
			}
			parts = append(parts, h+"="+c.Field)
		}
	}
	return strings.Join(parts, " · ")
}

func TestExports(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, preset, text, mapping, rows string }{
		{"google 2024", "Google Contacts (2024)",
			"First Name,Middle Name,Last Name,Phonetic First Name,Phonetic Middle Name,Phonetic Last Name,Name Prefix,Name Suffix," +
				"Nickname,File As,Organization Name,Organization Title,Organization Department,Birthday,Notes,Photo,Labels," +
				"E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Label,Phone 1 - Value,Phone 2 - Label,Phone 2 - Value\n" +
				"Zoé,,Côté,,,,,,Zo,,Acme,,,1990-05-17,,,Friends ::: * myContacts,* ,zoe@example.com,Mobile,+1 514-555-0123 ::: +1 514-555-0100,Work,438-555-0199\n",
			"First Name=given_name · Middle Name=fields.middle_name · Last Name=family_name · Phonetic First Name=fields.phonetic_first_name · " +
				"Phonetic Middle Name=fields.phonetic_middle_name · Phonetic Last Name=fields.phonetic_last_name · Name Prefix=fields.name_prefix · " +
				"Name Suffix=fields.name_suffix · Nickname=fields.nickname · File As=fields.file_as · Organization Name=fields.organization_name · " +
				"Organization Title=fields.organization_title · Organization Department=fields.organization_department · " +
				"Birthday=fields.birthday · Notes=fields.notes · Photo=fields.photo · Labels=tags · E-mail 1 - Value=email · " +
				"Phone 1 - Value=phone · Phone 2 - Value=phone",
			"+15145550123 zoe@example.com Zoé Côté [Friends] map[birthday:1990-05-17 nickname:Zo organization_name:Acme]"},
		{"google until 2024", "Google Contacts (until 2024)",
			"Name,Given Name,Additional Name,Family Name,Group Membership,E-mail 1 - Type,E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value\n" +
				"Zoé Côté,Zoé,,Côté,* myContacts ::: Voisins,* ,zoe@example.com,Mobile,514-555-0123\n",
			"Name=name · Given Name=given_name · Additional Name=fields.additional_name · Family Name=family_name · Group Membership=tags · " +
				"E-mail 1 - Value=email · Phone 1 - Value=phone",
			"+15145550123 zoe@example.com Zoé Côté [Voisins] map[]"},
		{"outlook", "Outlook",
			"Title,First Name,Middle Name,Last Name,Suffix,Company,Business Phone,Business Fax,Home Phone,Mobile Phone,Categories,E-mail Address,E-mail Type,Language\r\n" +
				"Ms,Zoé,,Côté,,Acme,514-555-0100,514-555-0101,514-555-0102,514-555-0123,VIP;Voisins,zoe@example.com,SMTP,French (Canada)\r\n",
			"Title=fields.title · First Name=given_name · Middle Name=fields.middle_name · Last Name=family_name · Suffix=fields.suffix · " +
				"Company=fields.company · Business Phone=phone · Business Fax=fields.business_fax · Home Phone=phone · Mobile Phone=phone · " +
				"Categories=tags · E-mail Address=email · Language=fields.language",
			"+15145550123 zoe@example.com Zoé Côté [VIP Voisins] map[business_fax:514-555-0101 company:Acme language:French (Canada) title:Ms]"},
		{"outlook, french", "Outlook (French)",
			"Titre;Prénom;Deuxième prénom;Nom;Société;Télécopie (bureau);Téléphone (bureau);Tél. mobile;Adresse de messagerie;Type de messagerie;Catégories\r\n" +
				"Mme;Zoé;;Côté;Acme;514 555-0101;514 555-0100;514 555-0123;zoe@example.com;SMTP;VIP\r\n",
			"Titre=fields.titre · Prénom=given_name · Deuxième prénom=fields.deuxieme_prenom · Nom=family_name · Société=fields.societe · " +
				"Télécopie (bureau)=fields.telecopie_bureau · Téléphone (bureau)=phone · Tél. mobile=phone · Adresse de messagerie=email · Catégories=tags",
			"+15145550123 zoe@example.com Zoé Côté [VIP] map[societe:Acme telecopie_bureau:514 555-0101 titre:Mme]"},
		{"meta lead ads", "Meta lead ads",
			"id\tcreated_time\tad_id\tad_name\tform_id\tform_name\tis_organic\tplatform\temail\tfull_name\tphone_number\n" +
				"l:123\t2024-05-17T10:00:00-04:00\tag:1\tMay\tf:9\tRent\tfalse\tig\tzoe@example.com\tZoé Côté\tp:+15145550123\n",
			"id=fields.lead_id · created_time=fields.created_time · ad_id=fields.ad_id · ad_name=fields.ad_name · form_id=fields.form_id · " +
				"form_name=fields.form_name · is_organic=fields.is_organic · platform=fields.platform · email=email · full_name=name · phone_number=phone",
			"+15145550123 zoe@example.com Zoé Côté [] map[ad_id:ag:1 ad_name:May created_time:2024-05-17T10:00:00-04:00 form_id:f:9 " +
				"form_name:Rent is_organic:false lead_id:l:123 platform:ig]"},
		{"meta custom audience", "Meta custom audience", "email,phone,fn,ln,ct\nzoe@example.com,15145550123,Zoé,Côté,Montréal\n",
			"email=email · phone=phone · fn=given_name · ln=family_name · ct=fields.ct",
			"+15145550123 zoe@example.com Zoé Côté [] map[ct:Montréal]"},
		{"french", "", "Prénom;Nom;N° de téléphone;Courriel;Langue;Étiquettes\nZoé;Côté;514 555-0123;zoe@example.com;Français;a, b\n",
			"Prénom=given_name · Nom=family_name · N° de téléphone=phone · Courriel=email · Langue=locale · Étiquettes=tags",
			"+15145550123 zoe@example.com Zoé Côté fr [a b] map[]"},
		{"french, one name", "", "Nom,Cellulaire\nZoé Côté,514 555-0123\n", "Nom=name · Cellulaire=phone", "+15145550123 Zoé Côté [] map[]"},
		{"words in headers", "", "Client name,Customer Mobile No.,Phone type,Billing e-mail\nZoé,514 555-0123,cell,zoe@example.com\n",
			"Client name=name · Customer Mobile No.=phone · Phone type=fields.phone_type · Billing e-mail=email",
			"+15145550123 zoe@example.com Zoé [] map[phone_type:cell]"},
		{"words in headers, beside a known one", "", "Name,Emergency phone,Phone,Agent email\nZoé,438 555-0199,514 555-0123,agent@example.com\n",
			"Name=name · Emergency phone=fields.emergency_phone · Phone=phone · Agent email=email",
			"+15145550123 agent@example.com Zoé [] map[emergency_phone:438 555-0199]"},
		{"words in two headers", "", "Name,Spouse phone,Customer mobile\nZoé,438 555-0199,514 555-0123\n",
			"Name=name · Spouse phone=fields.spouse_phone · Customer mobile=phone", "+15145550123 Zoé [] map[spouse_phone:438 555-0199]"},
		{"assistant", "", "Name,Phone,Assistant's Phone\nZoé,514 555-0123,438 555-0199\n",
			"Name=name · Phone=phone · Assistant's Phone=fields.assistant_s_phone", "+15145550123 Zoé [] map[assistant_s_phone:438 555-0199]"},
		{"by the values", "", "who,reach,since\nZoé,514 555-0123,2024-05-17\nBob,438 555-0199,2024-05-18\n",
			"who=fields.who · reach=phone · since=fields.since", "+15145550123 [] map[since:2024-05-17 who:Zoé]"},
		{"locale", "", "phone,locale\n5145550123,fr_CA\n", "phone=phone · locale=locale", "+15145550123 fr-CA [] map[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := importFile(t, []byte(tt.text), contact.Options{})
			assert.Equal(t, tt.mapping, mapped(f.plan.Mapping))
			preset := ""
			for _, r := range f.plan.Reasons {
				if strings.HasPrefix(r.Why, "the headers are") {
					preset = r.Value
				}
			}
			assert.Equal(t, tt.preset, preset)
			c := f.rows[0].Contact
			got := strings.Join(strings.Fields(fmt.Sprint(c.Phone, " ", c.Email, " ", c.Name, " ", c.Locale, " ", c.Tags, " ", c.Fields)), " ")
			if got != tt.rows || !f.rows[0].Valid() {
				t.Errorf("row\n%s\nwant\n%s\n%v", got, tt.rows, f.rows[0].Problems)
			}
		})
	}
}

func TestMappingGiven(t *testing.T) {
	t.Parallel()

	const text = "A,Téléphone,Phone,Note,\nx,5145550100,5145550123,hi,y\n"
	for _, tt := range []struct {
		name  string
		given map[string]string
		want  string
	}{
		{"none", nil, "A=fields.a · Téléphone=phone · Phone=phone · Note=fields.note · #5=fields.column_5"},
		{"one phone only", map[string]string{"Phone": "phone"},
			"A=fields.a · Téléphone=fields.telephone · Phone=phone · Note=fields.note · #5=fields.column_5"},
		{"folded, by number, left out", map[string]string{"telephone": "phone", "#1": "name", "NOTE": "-", "#5": "fields.code"},
			"A=name · Téléphone=phone · Phone=fields.phone · #5=fields.code"},
		{"email", map[string]string{"A": "email"}, "A=email · Téléphone=phone · Phone=phone · Note=fields.note · #5=fields.column_5"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := importFile(t, []byte(text), contact.Options{Mapping: tt.given})
			assert.Equal(t, tt.want, mapped(f.plan.Mapping))
		})
	}
}

// Of the keys that mean one column the most exact one counts: Go walks maps in any order.
func TestMappingGivenTwice(t *testing.T) {
	t.Parallel()

	const text = "Phone,Name,Phone,NAME\n5145550123,Ann,4385550199,Bob\n"
	given := map[string]string{"Phone": "phone", "#3": "-", "name": "-", "Name": "name", "NAME": "fields.alias"}
	for range 100 {
		f := importFile(t, []byte(text), contact.Options{Mapping: given})
		require.Equal(t, "phone name - .", fieldsOf(f.plan.Mapping))
	}
}

// What is refused is stored with the reason longer than the file, so the reason quotes no cell that may be a person's.
func TestRefusedMappingQuotesNobody(t *testing.T) {
	t.Parallel()

	const text = "Zoé Côté,Laval\nBob Roy,Gaspé\n"
	for name, o := range map[string]contact.Options{
		"no phones":            {Header: new(true)},
		"mapping of no column": {Header: new(true), Mapping: map[string]string{"Tel": "phone"}},
	} {
		_, err := tryImport(t, []byte(text), o)
		if err == nil || !strings.Contains(err.Error(), "#1, #2") || strings.Contains(err.Error(), "Zoé") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
