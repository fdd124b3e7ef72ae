package contact

import (
	"slices"
	"strings"
)

// headerNames are names of columns that are one field.
type headerNames struct {
	known
	names string
}

// headers are the known names of columns, folded (fold).
var headers = func() map[string]known {
	m := map[string]known{}
	for _, g := range slices.Concat(headersNear, headersAbroad) {
		for name := range strings.SplitSeq(g.names, "|") {
			name = fold(name)
			m[name] = g.known
			m[strings.ReplaceAll(name, "ı", "i")] = g.known // of capitals: SOYADI
		}
	}
	return m
}()

// headersNear are the usual headers of English and French files, and the commonest of Spanish, Portuguese, German,
// Italian and Dutch ones.
var headersNear = []headerNames{
	{known{FieldPhone, rankMobile}, `mobile|mobile phone|mobile number|mobile no|mobile phone number|cell|cell phone|
		cellphone|cell number|cellular|whatsapp|whatsapp number|whatsapp phone|whatsapp id|wa id|wa|msisdn|portable|
		tel portable|telephone portable|numero de portable|cellulaire|tel cellulaire|telephone cellulaire|tel mobile|
		telephone mobile|numero de mobile|numero mobile|numero whatsapp|
		whatsapp phone number|whatsapp no|whatsapp nr|whatsapp mobile|whatsapp mobile number|no whatsapp|n whatsapp|
		nr whatsapp|numero de whatsapp|numero do whatsapp|numero di whatsapp|telefono whatsapp|telefone whatsapp|
		telephone whatsapp|tel whatsapp|whatsapp nummer|whatsappnummer|gsm|celular|telefono movil|movil|telemovel|
		phone mobile|numero de celular|numero celular|numero de movil|telefono celular|telefone celular|telefone movel|
		numero de telemovel|handy|handynummer|handy nr|mobil|mobilnummer|mobiltelefon|mobilfunknummer|cellulare|
		numero di cellulare|telefono cellulare|mobiel|mobiel nummer|mobiele telefoon|gsm nummer|
		mobil tel nr|sms|sms phone|sms phone number|sms number|numero sms|remote jid`},
	{known{FieldPhone, rankAny}, `phone|phone number|phone no|phone 1|phone1|telephone|telephone number|telephone 1|tel|tel no|
		contact number|contact no|number|phonenumber|phone numbers|telephone principal|primary phone|main phone|
		default phone|phone e164|e164|numero|numero de telephone|numero de tel|no de telephone|no telephone|no tel|
		n de telephone|num tel|n tel|n telephone|num telephone|telephones|telefono|numero de telefono|telefone|
		numero de telefone|phone 1 value|to|recipient|telefono de contacto|numero de contacto|telefone de contato|
		numero de contato|telefono 1|telefone 1|telefon|telefonnummer|telefon nr|telefonnr|rufnummer|
		numero di telefono|telefoon|telefoonnummer|text reminder number|direct phone|direct line|primary phone number|
		telefone principal`},
	{known{FieldPhone, rankSecond}, `phone 2|phone2|phone 2 value|other phone|second phone|secondary phone|mobile 2|mobile phone 2|
		tel 2|telephone 2|phone 3 value|phone 3|alternate phone|telefono 2|telefone 2|telefon 2`},
	{known{FieldPhone, rankHome}, `home phone|home phone 2|home tel|telephone domicile|tel domicile|telephone domicile 2|
		telephone personnel|telephone maison|tel maison|phone 4 value|landline|telephone fixe|tel fixe|telefono fijo|
		telefone fixo|telefone residencial|festnetz|festnetznummer|telefon privat|telefono fisso|landline number|
		phone home`},
	{known{FieldPhone, rankWork}, `business phone|business phone 2|work phone|office phone|company main phone|
		company phone|company tel|co phone|co tel|co phone number|
		telephone bureau|telephone bureau 2|tel bureau|tel travail|telephone travail|telephone professionnel|
		tel professionnel|tel societe|telephone societe|telefono trabajo|telefono oficina|telefone comercial|
		telefon geschaftlich|telefono ufficio|phone work`},
	{known{FieldEmail, rankMobile}, `email|e mail|email address|e mail address|mail|email 1|e mail 1 value|primary email|
		courriel|adresse courriel|adresse e mail|adresse email|adresse mail|adresse de messagerie|adresse electronique|
		courrier electronique|adel|mel|correo|correo electronico|emailaddress|work email|email work|e mail de contact|
		adresse de courriel|direccion de correo|direccion de correo electronico|endereco de email|endereco de e mail|
		correio eletronico|correio electronico|e mail adresse|emailadresse|e mailadresse|mailadresse|indirizzo email|
		indirizzo e mail|e mailadres|emailadres|premiere adresse electronique`},
	{known{FieldEmail, rankSecond}, `email 2|e mail 2|e mail 2 value|e mail 2 address|adresse de messagerie 2|other email|
		secondary email|email 3|e mail 3|e mail 3 value|e mail 3 address|adresse de messagerie 3|personal email|
		adresse electronique secondaire`},
	{known{FieldName, 0}, `name|full name|fullname|contact name|display name|contact|customer name|customer|client|client name|
		nom complet|nom et prenom|prenom et nom|nom prenom|prenom nom|nom du contact|nom du client|nombre completo|
		nome completo|file as|nombre y apellidos|nombre y apellido|nome e sobrenome|nome e cognome|cognome e nome|
		vollstandiger name|vor und nachname|vorname und nachname|kundenname|naam|volledige naam|invitee name|
		nom d affichage|nom affiché|nombre mostrado|nombre para mostrar|anzeigename|nome visualizzato|nome de exibição|
		weergavenaam`},
	{known{FieldGiven, 0}, `name first|name first name|full name first|full name first name|
		first name|firstname|given name|givenname|given|first|forename|fn|fname|prenom|prenoms|prenom s|
		nombre|nombres|primer nombre|nome|primeiro nome|vorname|rufname|voornaam`},
	{known{FieldFamily, 0}, `name last|name last name|full name last|full name last name|
		last name|lastname|family name|familyname|surname|last|ln|lname|nom|nom de famille|apellido|apellidos|
		sobrenome|apelido|apellido paterno|primer apellido|apellido 1|apellido1|1er apellido|1 apellido|surname 1|
		cognome|nachname|familienname|achternaam`},
	{known{FieldGiven, rankOfRole}, `customer first name|contact first name|client first name|billing first name|
		invitee first name`},
	{known{FieldFamily, rankOfRole}, `customer last name|contact last name|client last name|billing last name|
		invitee last name`},
	{known{FieldLocale, 0}, `locale|language|lang|preferred language|language code|langue|langue preferee|langue de communication|
		idioma|idioma preferido`},
	{known{FieldLocale, rankGuessed}, `sprache|lingua|taal`},
	{known{FieldTags, 0}, `tags|tag|labels|label|group membership|groups|group|categories|category|etiquettes|etiquette|
		groupes|groupe|mots cles|categorie|segment|segments|etiquetas|etiqueta|grupos|grupo|categorias|kategorien|
		kategorie|gruppen|gruppe|etichette`},
	{known{FieldIgnored, 0}, `error line|error field|error code|error message`},
}

var presets = []preset{
	{name: "Google Contacts (2024)", needs: []string{"first name", "last name", "labels", "organization name"},
		parts:  []string{"phone label", "e mail label"},
		fields: map[string]known{"nickname": {"fields.nickname", 0}, "file as": {"fields.file_as", 0}}},
	{name: "Google Contacts (until 2024)", needs: []string{"name", "given name", "family name", "group membership"},
		parts: []string{"phone type", "e mail type"}},
	{name: "Outlook", needs: []string{"first name", "last name", "e mail address"},
		parts:  []string{"e mail type", "e mail display name"},
		fields: map[string]known{"language": {"fields.language", 0}, "title": {"fields.title", 0}}},
	{name: "Outlook (French)", needs: []string{"prenom", "nom", "adresse de messagerie"},
		parts:  []string{"type de messagerie", "nom complet de l adresse de messagerie"},
		fields: map[string]known{"langue": {"fields.langue", 0}, "titre": {"fields.titre", 0}}},
	{name: "Outlook (German)", needs: []string{"vorname", "nachname", "e mail adresse", "e mail typ"},
		parts: []string{"e mail typ", "e mail angezeigter name"}},
	{name: "Outlook (Spanish)",
		needs: []string{"nombre", "apellidos", "direccion de correo electronico", "tipo de correo electronico"},
		parts: []string{"tipo de correo electronico", "nombre de pantalla de correo electronico"},
		fields: map[string]known{"particular": {FieldPhone, rankHome}, "telefono del trabajo": {FieldPhone, rankWork},
			"titulo": {"fields.titulo", 0}}},
	{name: "Shopify orders", needs: []string{"name", "email", "financial status", "billing name", "billing phone"},
		fields: map[string]known{"name": {"fields.order", 0}, "billing name": {FieldName, 0},
			"billing phone": {FieldPhone, rankSecond}}},
	{name: "Yahoo", needs: []string{"first", "last", "email", "messenger id", "home", "work", "mobile", "other"},
		fields: map[string]known{"home": {FieldPhone, rankHome}, "work": {FieldPhone, rankWork},
			"other": {FieldPhone, rankSecond}}},
	{name: "Shopify", needs: []string{"first name", "last name", "email", "phone", "default address phone"},
		fields: map[string]known{"default address phone": {FieldPhone, rankSecond}}},
	{name: "Meta lead ads", needs: []string{"created time", "ad id", "form id"},
		fields: map[string]known{"id": {"fields.lead_id", 0}, "platform": {"fields.platform", 0}}},
	{name: "vCard", needs: []string{"fn", "n"}, not: "ln",
		fields: map[string]known{"fn": {FieldName, 0}, "n": {"fields.n", 0}}},
	{name: "Meta custom audience", needs: []string{"email", "phone", "fn", "ln"}},
}

// vague are names of telephone columns that are as well those of files, of houses, of letters or of messages, and names
// of persons' columns that may hold how they are reached, or a company.
var vague = []string{"number", "numero", "to", "recipient", "contact", "customer", "client"}

// requiredWords are the words of notes that say whether a cell may be empty.
var requiredWords = strings.Fields(`required mandatory obligatoire requis obligatorio obligatoria requerido obrigatorio
	pflichtfeld pflicht erforderlich obbligatorio verplicht optional facultatif facultative optionnel opcional
	facoltativo optioneel обязательно wymagane zorunlu 必填 必須 选填 選填 مطلوب`)

// noteWords are the words of notes that change nothing, beside numbers; phoneNoteWords are those of telephones.
var (
	noteWords      = append(strings.Fields(`primary main principal principale preferred s`), requiredWords...)
	phoneNoteWords = strings.Fields(`digits digit chiffres digitos ziffern stellig cifre cijfers
		mobile cell cellphone cellular cellulaire portable celular movil telemovel handy mobil cellulare mobiel gsm
		with including incl without only no avec sans con com sin sem mit ohne met the de del do du
		country area code codes international format indicatif pays regional codigo pais vorwahl landesvorwahl
		landervorwahl prefisso internazionale landcode e164 dashes spaces tirets espaces`)
)

type headerWords struct {
	words string
	known
}

// words in a header that is not known as a whole, that still say what it is; all words of a row must be there.
var words = foldedWords(slices.Concat([]headerWords{
	{"whatsapp", known{FieldPhone, rankMobile}}, {"mobile", known{FieldPhone, rankMobile}},
	{"cell", known{FieldPhone, rankMobile}}, {"cellulaire", known{FieldPhone, rankMobile}},
	{"portable", known{FieldPhone, rankMobile}}, {"phone", known{FieldPhone, rankSecond}},
	{"telephone", known{FieldPhone, rankSecond}}, {"tel", known{FieldPhone, rankSecond}},
	{"telefono", known{FieldPhone, rankSecond}}, {"phone number", known{FieldPhone, rankSecond}},
	{"courriel", known{FieldEmail, rankSecond}}, {"email", known{FieldEmail, rankSecond}},
	{"e mail", known{FieldEmail, rankSecond}}, {"messagerie", known{FieldEmail, rankSecond}},
}, wordsAbroad))

func foldedWords(list []headerWords) []headerWords {
	for i := range list {
		list[i].words = fold(list[i].words)
	}
	return list
}

// notWords make a header none of words: a fax is not called, and a type or a date of a phone is no phone.
var notWords = slices.Concat([]string{"fax", "pager", "telecopie", "telecopieur", "type", "label", "date", "time",
	"status", "opt", "consent", "verified", "valid", "model", "count", "country", "code", "display", "assistant", "ext",
	"extension", "poste", "optin", "subscribed", "accepts", "consentement", "accepte", "abonne", "indicatif", "pays",
	"statut", "consentimiento", "acepta", "fecha", "tipo", "pais", "consentimento", "aceita", "einwilligung", "datum",
	"typ", "vorwahl", "telefax"}, strings.Fields(fold(notWordsAbroad)))

// codeWords of notWords say how a number is written where they stand in a note, or behind one of withWords.
var (
	codeWords = []string{"indicatif", "pays", "pais", "vorwahl"}
	withWords = []string{"avec", "con", "com", "mit", "met", "with"}
)

// dialWords make a header one of country codes where it also has one of dialCountryWords, or its values a +.
var (
	dialWords = strings.Fields(fold(`code codigo indicatif vorwahl prefijo prefixo prefisso ddi landesvorwahl landervorwahl
		landcode landnummer kod kodu код 区号 區號 代码 代碼 رمز`))
	dialCountryWords = strings.Fields(fold(`country dial dialing dialling calling isd ddi pays pais paese landesvorwahl
		landervorwahl landcode landnummer страны kraju ülke 国家 國家 الدولة internazionale internacional international`))
)

// areaHeaders are those of columns of area codes.
var areaHeaders = foldedList(`area code|area|ddd|vorwahl|ortsvorwahl|código de área|código área|prefijo|prefisso|
	indicatif régional|code régional|kierunkowy|код города|区号|區號`)

var fillers = []string{"n a", "na", "none", "null", "nil", "nan", "nd", "n d", "s o", "so", "tbd", "empty", "unknown",
	"anonymous", "anonyme", "anonym", "not available", "missing",
	"blank", "undefined", "vide", "neant", "aucun", "aucune", "inconnu",
	"sans", "sans objet", "non disponible", "ninguno",
	"ninguna", "sin", "nenhum", "nenhuma", "keine", "kein", "keiner", "k a", "unbekannt", "nessuno", "nessuna", "geen",
	"onbekend"}
