package campaign

import (
	"slices"
	"strings"
)

// endsSomethingElse says that what a message asks to end is not our messages: calls, of a person who wants messages
// instead; mails; or messages while the person is busy. Where any part of it asks for more than that, it is a request.
func endsSomethingElse(parts []part) bool {
	asked, calls, mails, forNow := false, true, true, true
	written, busy := false, false
	for _, p := range parts {
		noMail := slices.Contains(noMails, strings.Join(p.words, " "))
		said := reach(p.words, optOut())
		if _, _, found := around(p.words, reasons()); found && !noMail || said&weakly != 0 {
			return false
		}
		written = written || p.joint != "or" && p.joint != "ou" && wantsMessages(p.words)
		busy = busy || hasAny(p.words, absences) && !hasAny(p.words, otherWork)
		mails = mails && !goesOn(p)
		if !means(said) {
			continue
		}
		asked = true
		calls = calls && contains(p.words, calling) && !contains(p.words, writing)
		mails = mails && noMail
		forNow = forNow && hasAny(p.words, notYet) && !contains(p.words, forGood)
	}
	return asked && (mails || calls && written || forNow && busy)
}

// wantsMessages says that words ask for messages.
func wantsMessages(words []string) bool {
	return !contains(words, negations) &&
		(hasAny(words, writeInstead) || len(words) == 1 && slices.Contains(messageNames, words[0]))
}

// goesOn says that a part goes on with what is wanted no more: "or texts", "ni mensajes". "Texto, svp" asks for one.
func goesOn(p part) bool {
	more := slices.Contains(alsoWords, p.joint)
	for i, w := range p.words {
		name := slices.Contains(listed, w) || more && slices.Contains(messageNames, w)
		switch {
		case name && i == len(p.words)-1:
			return p.joint == "" || slices.Contains(alsoWords, p.joint)
		case slices.Contains(alsoWords, w):
			more = true
		case !name && !slices.Contains(listWords, w):
			return false
		}
	}
	return false
}

// hasAny says that one of phrases stands in words.
func hasAny(words, phrases []string) bool {
	text := " " + strings.Join(words, " ") + " "
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, " "+phrase+" ") })
}

// In the notation of stopWords.
var (
	calling = one("call|calls|calling|ring|ringing|appelez|appelle|appeler|appels|telephonez|telephoner|llamen|llame|" +
		"llames|llamarme|llamar|llamadas|ligue|liguem|ligar|bel|bellen|anrufen")
	writing = one("text|texting|message|messages|messaging|write|writing|contact|contacting|contacted|send|sending|" +
		"ecrivez|ecris|ecrire|textez|texte|texter|contactez|contacte|contacter|envoyez|envoie|envoyer|escriban|escriba|" +
		"escribas|escribirme|contacten|contacte|contactarme|manden|mande|mandarme|envien|enviarme")
	messageNames = one("text|texts|sms|message|messages|whatsapp|texto|textos|mensaje|mensajes")
	writeInstead = slices.Concat(
		rows(one("text|message|write|write to|sms|whatsapp|txt|msg"), one("me|instead|only")),
		one("only text|only texts|send a text|send me a text|send me a message|send me texts|texts are fine|"+
			"texting is fine|by text|by message"), // English
		rows(one("textez|texte|ecrivez|ecris"), one("moi")),
		rows(one("envoyez|envoie"), one("moi|"), one("un texto|un message|un sms|des textos|des messages")),
		one("par texto|par textos|par message|par messages|par ecrit|par sms|par whatsapp"), // French
		one("escribanme|escribame|escribeme|escribidme|por mensaje|por mensajes|por escrito|por whatsapp|por texto"),
		rows(one("mandenme|mandeme|mandame|envienme|envieme|enviame"), one("mensajes|un mensaje|mensaje|un texto")),
		// Spanish
	)
	listed = one("texts|messages|calls|textos|mensajes|llamadas|appels|whatsapps|notifications|notificaciones|" +
		"promotions|promociones|alerts|alertes|alertas")
	alsoWords = one("or|ou|and|et|y|o|e|ni|nor|no|not|pas")
	listWords = one("de|d|any|your|vos|sus|tus|text|phone|whatsapp")
	negations = one("not|don|dont|never|no|nor|neither|ne|n|plus|pas|jamais|ni|nunca|stop|quit|cease|arretez|arrete|" +
		"arreter|cessez|deje|dejen|deja|ya")

	noMails = slices.Concat(
		rows(one("|i"), one("do not want|don t want|dont want|do not need|don t need|dont need"),
			one("mail|mails|email|emails|e mail|e mails")),
		rows(one("je ne veux|je veux|j veux|je ne souhaite"), one("pas"), one("de|d"),
			one("mail|mails|email|emails|e mail|e mails|courriel|courriels")),
		rows(one("no quiero"), one("correo|correos|correo electronico|correos electronicos|mail|mails|email|emails")),
	)

	// notYet ask for no messages, and do not say for how long.
	notYet = slices.Concat(
		rows(one("do not|don t|dont"), one("text|message|write|write to|contact|bother|disturb"), one("me")),
		rows(one("no me"), one("escriba|escriban|escribas|contacte|contacten|moleste|molesten|mande|manden|envie|envien")),
		rows(one("nao me"), one("escreva|escrevam|contate|contatem|incomode|incomodem|mande|mandem|envie|enviem")),
		rows(one("schreiben sie|schreibt|schreib|storen sie|stort|stor|kontaktieren sie|kontaktiert"), one("mir|mich"),
			one("nicht")),
	)
	forGood  = one("again|anymore|any|more|ever|never|longer|mas|nunca|plus|jamais|mais|mehr|nie")
	absences = one("driving|at work|working|in a meeting|in meetings|in class|at the doctor|at the doctors|" +
		"at the hospital|at the dentist|in court|sleeping|asleep|busy|at a funeral|on a plane|on the road|on a call|" +
		"je conduis|au volant|en reunion|au travail|en cours|occupe|occupee|chez le medecin|chez le dentiste|" +
		"manejando|conduciendo|en una reunion|en una junta|trabajando|en el trabajo|ocupado|ocupada|en clase|durmiendo|" +
		"em reuniao|numa reuniao|no trabalho|trabalhando|dirigindo|ao volante|em aula|dormindo|no medico|" +
		"im meeting|in einem meeting|in einer besprechung|bei der arbeit|auf der arbeit|am steuer|im unterricht|beim arzt|" +
		"beschaftigt")
	// otherWork has words of absences, and is no reason to write later.
	otherWork = one("working with|working for|trabajando con|trabalhando com|see you in court|not busy")
)

// noCallsOrMessages are requests for no messages that are for no calls as well, joined by words that else part a
// sentence.
func noCallsOrMessages() []string {
	return slices.Concat(
		rows(one("stop|quit|cease"), one("calling|texting|messaging|contacting|emailing|writing|bothering"), one("and|or"),
			one("calling|texting|messaging|contacting|emailing|writing|bothering"), one("me|us|this number")),
		rows(one("|i"), one("do not want|don t want|dont want|no longer want"), one("|any|any more|more|your"),
			one("calls|phone calls"), one("or|and"), one("texts|text messages|messages|emails")),
		rows(one("ne m appelez|ne m appelle|ne nous appelez"), one("et|ni|ou"), one("|ne"),
			one("m ecrivez|m ecris|me textez|me texte|me contactez|nous ecrivez"), one("plus|plus jamais")),
		rows(one("je ne veux|je veux|j veux"), one("plus|pas"), one("d appels|d appel|de vos appels"), one("ni|et|ou"),
			one("de messages|de textos|de courriels|de sms|de vos messages|de vos textos")),
		rows(one("no|ya no"), one("me"), one("llame|llamen|llames"), one("|mas"), one("ni"), one("|me"),
			one("escriba|escriban|escribas|contacte|contacten|mande mensajes|manden mensajes"), one("|mas|nunca mas")),
		rows(one("no more"), one("calls|phone calls"), one("|or|and|no"), one("texts|text messages|messages|emails")),
		rows(one("plus d|plus de"), one("appels"), one("|ni|et|ou"), one("|de"), one("messages|textos|courriels|sms")),
		rows(one("no mas|basta de"), one("llamadas"), one("|ni|y|o"), one("mensajes|textos|correos")),
		rows(one("no quiero|ya no quiero"), one("|ni|mas|recibir|recibir mas"), one("llamadas"), one("ni|y|o"),
			one("mensajes|textos|correos")),
	)
}

// norMessages are behind what is plainly a stop: "I don't want your mails or your texts".
func norMessages() []string {
	return rows(one("ni|or|nor|and|et|ou|y|o"), one("|de|de vos|vos|d|sus|tus|your|any"), ofMessages)
}

// withMessages are behind it, too: "leave me alone with your ads".
func withMessages() []string {
	return rows(one("with|avec|con|com|mit"), one("your|these|this|vos|tes|ces|votre|cette|sus|su|tus|estos|"+
		"esos|suas|essas|estas|ihrer|ihren|ihrem|eurer|euren|eurem|deiner|deinen|deinem|diesem|diesen|dieser"), ofMessages)
}
