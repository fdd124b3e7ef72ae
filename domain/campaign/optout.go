package campaign

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// stopWords are the messages that mean: send me nothing more. Without accents and punctuation, in lower case.
var stopWords = []string{
	"stop", "stop all", "stopall", "stop promotions", "unsubscribe", "cancel", "end", "quit", "opt out", "optout",
	"remove me", // English
	"arret", "arreter", "arretez", "arreter les promotions", "desabonner", "desabonnement", "me desabonner",
	"se desabonner", "desinscrire", "desinscription", "me desinscrire", "fin", // French
	"baja", "parar", "cancelar suscripcion", "detener promociones", // Spanish
	"sair", "descadastrar", "cancelar inscricao", "interromper promocoes", // Portuguese
}

// IsOptOut says that a message, or the title of a button, is a request for no more messages: it is nothing but one of a
// list of words in English, French, Spanish and Portuguese, in any case and with or without accents and punctuation.
// "Stop by tomorrow" is none.
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
	return slices.Contains(stopWords, strings.Join(strings.Fields(bare), " "))
}
