package campaign

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// stopWords are the messages that mean: send me nothing more. Without accents and punctuation, in lower case.
var stopWords = []string{
	"stop", "stop all", "stopall", "stop promotions", "unsubscribe", "cancel", "end", "quit", "revoke", "opt out",
	"optout", "remove me", // English
	"arret", "arreter", "arretez", "arreter les promotions", "desabonner", "desabonnement", "me desabonner",
	"se desabonner", "desinscrire", "desinscription", "me desinscrire", "revoquer", "fin", // French
	"baja", "parar", "cancelar suscripcion", "detener promociones", "revocar", // Spanish
	"sair", "descadastrar", "cancelar inscricao", "interromper promocoes", "revogar", // Portuguese
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
func IsOptOut(text string) bool {
	if len(text) > 100 {
		return false
	}
	bare := strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Mn, r):
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFD.String(text))
	words := strings.Fields(bare)
	for n := len(words); n > 0; n = len(words) {
		if slices.Contains(stopWords, strings.Join(words, " ")) {
			return true
		}
		if words = courteous(words); len(words) == n {
			return false
		}
	}
	return false
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
