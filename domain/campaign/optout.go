package campaign

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// stopWords are the messages that mean: send me nothing more. Without accents and punctuation, in lower case.
var stopWords = []string{
	"stop", "stop all", "stopall", "stop promotions", "unsubscribe", "cancel", "end", "quit", "revoke", "opt out",
	"optout", "remove me", "remove me from your list", "remove me from the list", "unsub", "unsubscribe me", "opt me out",
	"stop messages", "stop messaging", "stop messaging me", "stop texting", "stop texting me", "stop sending messages",
	"stop sending me messages", "stop contacting me", "no more messages", "stop sms", "stop pub",
	"do not contact me", "don t contact me", "take me off the list", "take me off your list", // English
	"arret", "arrete", "arretes", "arreter", "arretez", "arreter les promotions", "desabonner", "desabonnement",
	"me desabonner", "se desabonner", "desinscrire", "desinscription", "me desinscrire", "revoquer", "fin",
	"desabonnez moi", "desabonne moi", "desinscrivez moi", "desinscris moi", "je veux me desabonner",
	"je veux me desinscrire", "je me desabonne", "retirez moi de la liste", "retirez moi de votre liste",
	"arretez de m ecrire", "arrete de m ecrire", "ne m ecrivez plus", "ne m ecris plus", "ne me contactez plus",
	"ne me contacte plus", "plus de message", "plus de messages", // French
	"baja", "parar", "cancelar", "cancelar suscripcion", "detener promociones", "revocar", "darme de baja", "dar de baja",
	"dame de baja", "denme de baja", "deme de baja", "quiero darme de baja", "no mas mensajes",
	"no quiero mas mensajes", "no me escriban mas", "desuscribir", "desuscribirme", // Spanish
	"sair", "descadastrar", "cancelar inscricao", "interromper promocoes", "revogar", "pare", "me descadastre",
	"quero sair", "nao quero mais mensagens", "nao quero mais receber mensagens", // Portuguese
}

// startWords are the messages by which a person who has said one of stopWords takes it back, in the same notation.
var startWords = []string{
	"start", "unstop", "subscribe", "resubscribe", "subscribe me", "resubscribe me", "opt in", "optin",
	"opt me in", // English
	"reabonner", "me reabonner", "se reabonner", "reabonnez moi", "reabonne moi", "je veux me reabonner", "reinscrire",
	"me reinscrire", "reinscrivez moi", // French
	"alta", "darme de alta", "dar de alta", "dame de alta", "quiero darme de alta", "reanudar promociones", // Spanish
	"me reinscrever", "reinscrever", "retomar promocoes", // Portuguese
}

// courtesies are what people say before and after a stop word and mean nothing by, in the same notation.
var courtesies = []string{
	"please", "pls", "plz", "kindly", "thanks", "thank you", "thank you very much", "many thanks", "thanks a lot", "thx",
	"no thanks", "no thank you", "hello", "hi", "hey", "good morning", "good evening", "sorry", "have a nice day",
	"have a good day", "goodbye", "bye", // English
	"s il vous plait", "s il te plait", "svp", "stp", "merci", "merci beaucoup", "merci bien", "merci d avance",
	"non merci", "bonjour", "bonsoir", "salut", "desole", "desolee", "bonne journee", "bonne soiree", "cordialement",
	"au revoir", // French
	"por favor", "gracias", "muchas gracias", "no gracias", "hola", "buenos dias", "buenas tardes", "lo siento",
	"adios", // Spanish
	"obrigado", "obrigada", "muito obrigado", "muito obrigada", "nao obrigado", "nao obrigada", "ola", "bom dia",
	"boa tarde", "desculpe", // Portuguese
}

// IsOptOut says that a message, or the title of a button, is a request for no more messages: it is nothing but one of a
// list of words in English, French, Spanish and Portuguese, in any case and with or without accents and punctuation,
// and courtesies around it. "Stop. Thank you" is one, "Stop by tomorrow, please" is none.
func IsOptOut(text string) bool { return says(text, stopWords) }

// IsOptIn says that a message, which a person has typed, takes back such a request. It is written as IsOptOut has it.
func IsOptIn(text string) bool { return says(text, startWords) }

// says reports whether a text is one of phrases and nothing else but courtesies.
func says(text string, phrases []string) bool {
	words := bareWords(text)
	for n := len(words); n > 0; n = len(words) {
		if slices.Contains(phrases, strings.Join(words, " ")) {
			return true
		}
		if words = courteous(words); len(words) == n {
			return false
		}
	}
	return false
}

// bareWords are the words of a short text, in the notation of stopWords; none of a long one.
func bareWords(text string) []string {
	if len(text) > 100 {
		return nil
	}
	bare := strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Cf):
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFKD.String(text))
	return slices.Compact(spelled(strings.Fields(bare)))
}

// stopPayloads are the payloads of buttons and rows that mean what stop words do, in the same notation. A payload is a
// name that a program gave, so words that name other things, too, are not among them: "baja" is also a ground floor,
// "arret" a bus stop, and "cancel" may be of an appointment.
var stopPayloads = []string{
	"stop", "stop all", "stopall", "stop promotions", "stop messages", "stop messaging", "unsubscribe", "unsubscribe me",
	"unsub", "opt out", "optout", "opt me out", // English
	"arreter les promotions", "desabonner", "desabonnement", "me desabonner", "se desabonner", "desinscrire",
	"desinscription", "me desinscrire", "se desinscrire", // French
	"cancelar suscripcion", "detener promociones", "darme de baja", "dar de baja", "desuscribir",
	"desuscribirme", "descadastrar", "me descadastre", "cancelar inscricao", // Spanish and Portuguese
	"interromper promocoes",
}

// IsOptOutPayload says that the payload of a button or a row, which its sender chose and the person may never have
// seen, means nothing but a stop.
func IsOptOutPayload(payload string) bool {
	return slices.Contains(stopPayloads, strings.Join(bareWords(payload), " "))
}

// spelled are the words, one where all of them are single letters: "S.T.O.P".
func spelled(words []string) []string {
	if len(words) < 3 || slices.ContainsFunc(words, func(w string) bool { return utf8.RuneCountInString(w) > 1 }) {
		return words
	}
	return []string{strings.Join(words, "")}
}

// courteous is a message without the first courtesy that it begins or ends with.
func courteous(words []string) []string {
	for n := min(len(words), 4); n > 0; n-- {
		if slices.Contains(courtesies, strings.Join(words[:n], " ")) {
			return words[n:]
		}
		if end := len(words) - n; slices.Contains(courtesies, strings.Join(words[end:], " ")) {
			return words[:end]
		}
	}
	return words
}
