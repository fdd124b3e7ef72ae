package contact

import (
	"slices"
	"strings"
	"unicode"
)

// places are the words of headers that say where or by what a person is reached, and the rank of a telephone there.
var places = func() map[string]int {
	m := map[string]int{}
	for rank, list := range map[int]string{
		rankMobile: `mobile cell cellulaire portable móvil celular telemóvel mobil handy cellulare mobiel gsm`,
		rankSecond: `other autre otro otra outro outra andere anderes altro altra sonstige sonstiger alternate secondary`,
		rankHome: `home personal private perso personnel personnelle domicile maison privé privée particular casa pessoal
			residencial residencia personale privato privata abitazione privat persönlich thuis prywatny domowy
			личный домашний`,
		rankWork: `work business office pro professionnel professionnelle travail bureau trabajo laboral oficina profesional
			trabalho comercial profissional escritório corporativo lavoro ufficio aziendale arbeit geschäftlich dienstlich
			beruflich büro firma werk zakelijk kantoor służbowy praca рабочий служебный`,
	} {
		for w := range strings.FieldsSeq(list) {
			m[fold(w)] = rank
		}
	}
	return m
}()

// linking words may stand between the parts of a compound header.
var linking = strings.Fields("and y e i et und en og och u и й та ve of de del do du della di da op")

// asking are the words with which forms ask, folded; the longest of those that begin alike first.
var asking = foldedList(`what is your|what s your|please enter your|enter your|please provide your|your|
	quel est votre|quelle est votre|indiquez votre|entrez votre|votre|vos|ton|
	cual es su|cual es tu|su|tu|qual e o seu|qual o seu|seu|wie lautet ihre|wie lautet ihr|ihre|ihr|deine|dein|
	qual e il tuo|qual e la tua|il tuo|la tua|wat is uw|wat is je|uw|jouw`)

func foldedList(list string) (all []string) {
	for w := range strings.SplitSeq(list, "|") {
		all = append(all, fold(w))
	}
	return all
}

// unasked is a folded header without the words with which a form asks: "what is your phone number".
func unasked(folded string) string {
	for _, words := range asking {
		if rest, ok := strings.CutPrefix(folded, words+" "); ok {
			return rest
		}
	}
	return folded
}

// owners are the words before a header for what it is one of: "Person - Phone", "Phones / Primary Phone".
var owners = wordsOf("person personne persona pessoa persoon phones emails")

// unowned is a folded header without one of owners.
func unowned(folded string) string {
	if first, rest, ok := strings.Cut(folded, " "); ok && owners[first] {
		return rest
	}
	return folded
}

// roles are those of persons in lists, beside "name" in English and behind "nom du" and the like.
var roles = wordsOf(`guest tenant member patient student parent attendee buyer subscriber owner resident applicant donor
	volunteer participant lead prospect borrower locataire membre patient eleve adherent participant proprietaire
	inquilino socio paciente alumno participante cliente inquilina socia locatario membro aluno`)

// nameWords are the names of names in headers of roles.
var nameWords = strings.Fields("name nom nombre nome")

// ofRole says that a folded header is the name of a person of a role: "guest name", "nom du locataire".
func ofRole(folded string) bool {
	words := strings.Fields(folded)
	switch len(words) {
	case 2:
		return words[1] == "name" && roles[words[0]] || words[0] == "nom" && roles[words[1]]
	case 3, 4:
		return words[0] != "name" && slices.Contains(nameWords, words[0]) && slices.Contains(linking, words[1]) &&
			roles[words[len(words)-1]]
	}
	return false
}

// standIns are words of persons whom lists reach for a child: a number of theirs counts where no header says another,
// and so an address. Of others, and of what was a number before, nothing counts but where nothing else is there.
var (
	standIns = foldedList(`parent|parents|mother|father|mom|mum|dad|guardian|mere|pere|tuteur|tutrice|madre|padre|tutor|
		tutora|mae|pai|responsavel|eltern|mutter|vater|genitore|ouder|родителя|родители|мать|отец|мамы|папы|家长|家長|保護者`)
	others = foldedList(`landlord|seller|spouse|wife|husband|guarantor|child|doctor|co|emergency|next of kin|ice|brother|
		sister|old|former|previous|conjoint|conjointe|garant|enfant|bailleur|vendeur|urgence|urgences|epoux|epouse|ancien|
		ancienne|hijo|conyuge|emergencia|emergencias|esposo|esposa|marido|anterior|antiguo|filho|fiador|vendedor|antigo|
		notfall|notfallkontakt|ehepartner|moglie|marito|emergenza|noodgeval|紧急|緊急|配偶|الطوارئ`)
)

// holdsAny says that a folded text has one of words.
func holdsAny(folded string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return holdsWord(folded, w) })
}

// another says that a folded header has a word of another person.
func another(folded string) bool { return holdsAny(folded, standIns) || holdsAny(folded, others) }

// nameOfRole takes the only column of names of a role for the name, where no column has any: "tenant name", else
// "tenant" alone, where its values are of two words and differ: an "Owner" may be an agent, a "Lead" hot. Of two,
// student and parent, it is not known whose the telephone is, nor beside a telephone of others.
func nameOfRole(m Mapping, folded []string, sample [][]string) {
	if m.has(FieldName) || m.has(FieldGiven) || m.has(FieldFamily) {
		return
	}
	only, alone := -1, -1
	for i := range m {
		words := strings.Fields(folded[i])
		ofPerson := slices.ContainsFunc(words, func(w string) bool { return roles[w] })
		named := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(nameWords, w) })
		switch {
		case ofRole(folded[i]) && only < 0:
			only = i
		case named && (ofPerson || another(folded[i])), len(words) == 1 && ofPerson && alone >= 0:
			return
		case len(words) == 1 && ofPerson:
			alone = i
		}
	}
	like := func(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }
	if only < 0 {
		seen := map[string]bool{}
		only, like = alone, func(s string) bool {
			again := seen[s]
			seen[s] = true
			return !again && len(strings.Fields(s)) > 1 && digitsOf(s) == 0
		}
	}
	if only < 0 || m[only].Field != "" {
		return
	}
	for i, c := range m {
		if (c.Field == FieldPhone || c.Field == FieldEmail) && holdsAny(folded[i], others) != holdsAny(folded[only], others) {
			return
		}
	}
	if part, values := share(sample, only, like); values > 0 && part <= .5 {
		return // French for how many: "nombre de locataire"
	}
	m[only].Field, m[only].Confidence, m[only].Why = FieldName, .7, "the only name of a person"
}

// compound is what a folded header means that is made of known ones.
func compound(folded string) (known, bool) {
	if name := unasked(folded); name != folded && !slices.Contains(vague, name) {
		if k, ok := headers[name]; ok {
			return k, true
		}
	}
	words := strings.Fields(folded)
	if k, ok := inOneWord(words); ok {
		return k, true
	}
	if k, ok := ofVCard(words); ok {
		return k, true
	}
	if name := unowned(folded); name != folded && !slices.Contains(vague, name) {
		k, ok := header(name)
		reaches := k.field == FieldPhone || k.field == FieldEmail
		if ok && (reaches || words[0] != "phones" && words[0] != "emails") { // "Phones / Label" is of the number
			return k, true
		}
	}
	if len(words) < 2 || len(words) > 6 {
		return known{}, false
	}
	if k, ok := placed(words); ok {
		return k, true
	}
	return bothNames(words)
}

// firsts are the first parts of words that Germanic languages make of two, and what they say of a telephone:
// "Hoofdtelefoon", "Arbeitshandy", "Hemtelefon".
var firsts = func() map[string]int {
	m := map[string]int{}
	for rank, list := range map[int]string{
		rankAny:    `hoofd haupt huvud hoved kontakt contact direkt direct kunden klant kund kunde`,
		rankMobile: `mobil mobiel mobile mobilt`,
		rankSecond: `zweit tweede neben alternativ`,
		rankHome:   `privat prive privé thuis huis hem hjemme haus heim festnetz`,
		rankWork: `arbeits arbets arbejds arbeids dienst geschäfts firmen firma büro kontors kontor kantoor werk bedrijfs
			zaken jobb`,
	} {
		for w := range strings.FieldsSeq(list) {
			m[fold(w)] = rank
		}
	}
	return m
}()

// seconds are the last parts of such words: the names of telephones and addresses.
var seconds = wordsOf(`telefon telefoon telefonnummer telefoonnummer telefonnr telefoonnr telefonnumer tlf tel rufnummer
	gsm handy handynummer handynr mobil mobilnummer mobiltelefon mobilnr mobiel mobielnummer email mail mailadresse epost
	mailadres emailadresse emailadres`)

// inOneWord is what such a word means.
func inOneWord(words []string) (known, bool) {
	if len(words) == 0 || len(words) > 2 || len(words) == 2 && words[1] != "nummer" && words[1] != "nr" {
		return known{}, false
	}
	for first, rank := range firsts {
		second, ok := strings.CutPrefix(words[0], first)
		if !ok || !seconds[second] {
			continue
		}
		k := known{FieldPhone, rank}
		switch {
		case strings.Contains(second, "mail") || second == "epost":
			k.field = FieldEmail
		case strings.HasPrefix(second, "mobi"), strings.HasPrefix(second, "handy"), second == "gsm":
			k.rank = rankMobile
		}
		return k, true
	}
	return known{}, false
}

// placed is what a header means that is the name of a telephone or an address, and a place: "E-Mail (privat)", "correo
// del trabajo". A mobile is one everywhere.
func placed(words []string) (known, bool) {
	if k, ok := at(words[0], words[1:]); ok {
		return k, true
	}
	last := len(words) - 1
	rest := words[:last]
	if len(rest) > 1 && slices.Contains(linking, rest[len(rest)-1]) {
		rest = rest[:len(rest)-1]
	}
	return at(words[last], rest)
}

// at is what the name of a telephone or an address means at a place.
func at(place string, words []string) (known, bool) {
	rank, ok := places[place]
	name := strings.Join(words, " ")
	k, is := headers[name]
	switch {
	case !ok || !is || slices.Contains(vague, name) || k.field != FieldPhone && k.field != FieldEmail:
		return k, false
	case rank == rankSecond:
		k.rank = max(k.rank, rank)
	case k.field == FieldPhone && k.rank != rankMobile:
		k.rank = rank
	}
	return k, true
}

// ofVCard is what a property of a vCard means, as programs make headers of them: "TEL;TYPE=CELL".
func ofVCard(words []string) (known, bool) {
	if len(words) < 3 || len(words) > 12 || words[0] != "tel" && words[0] != "email" || words[1] != "type" {
		return known{}, false
	}
	k := headers[words[0]]
	for _, kind := range words[2:] {
		switch kind {
		case "cell", "iphone":
			k.rank = rankMobile
		case "home", "work":
			if k.field == FieldPhone && k.rank != rankMobile {
				k.rank = places[kind]
			}
		case "type", "voice", "pref", "internet", "main", "other", "text", "msg":
		default: // a fax
			return known{}, false
		}
	}
	return k, true
}

// bothNames is the whole name for a header of its parts: "Apellidos, nombre", "First & Last Name".
func bothNames(words []string) (known, bool) {
	for n := 1; n < len(words); n++ {
		first, second := strings.Join(words[:n], " "), words[n:]
		if len(second) > 1 && slices.Contains(linking, second[0]) {
			second = second[1:]
		}
		a, b := headers[first], headers[strings.Join(second, " ")]
		if a.rank != 0 || b.rank != 0 {
			continue
		}
		if a.field == FieldGiven && b.field == FieldFamily || a.field == FieldFamily && b.field == FieldGiven ||
			first == "name" && strings.Join(second, " ") == "surname" {
			return known{FieldName, 0}, true
		}
	}
	return known{}, false
}
