package campaign

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// stopWords are the messages that mean: send me nothing more, where they are all that a person says, or stand beside
// courtesies and others of their kind. Without accents and punctuation, in lower case. What stopPayloads and clearWords
// have is not repeated.
var stopWords = []string{
	"cancel", "end", "quit", "revoke", "remove", "stop texts", "no more messages", "no more texts", "no more sms",
	"stop pub",                                                                                                  // English
	"arret", "arrete", "arretes", "arreter", "revoquer", "fin", "cessez", "plus de message", "plus de messages", // French
	"baja", "parar", "cancelar", "revocar", // Spanish
	"sair", "quero sair", "revogar", "pare", "parem", // Portuguese
}

// clearWords mean what stopWords do and nothing else, so that they may also follow what a person asks with: "could you
// please remove me".
var clearWords = []string{
	"remove me", "take me off", "be removed", "be unsubscribed", "stop texting", "stop texting me", "stop messaging me",
	"stop sending", "stop sending me", "stop contacting me", "stop writing me", "stop writing to me", "stop spamming me",
	"stop receiving", "stop getting", "do not contact me", "don t contact me", "dont contact me", "do not message me",
	"don t message me", "dont message me", "do not text me", "don t text me", "dont text me", "not contact me",
	"not message me", "not text me", // English
	"arretez", "desabonnez moi", "desabonne moi", "desinscrivez moi", "desinscris moi", "etre desabonne",
	"etre desabonnee", "etre desinscrit", "etre desinscrite", "me retirer de la liste", "me retirer de votre liste",
	"je me desabonne", "je me desinscris", "retirez moi", "retire moi", "enlevez moi", "enleve moi", "supprimez moi",
	"supprime moi",
	"arretez de m ecrire", "arrete de m ecrire", "arreter de m ecrire", "arretez de m envoyer", "arrete de m envoyer",
	"arreter de m envoyer", "cessez de m ecrire", "cessez de m envoyer", "cesser de m ecrire", "cesser de m envoyer",
	"ne m ecrivez plus", "ne m ecris plus", "ne plus m ecrire", "ne m envoyez plus", "ne m envoie plus",
	"ne plus m envoyer", "ne me contactez plus", "ne me contacte plus", "ne plus me contacter", "ne plus recevoir",
	"je ne veux plus recevoir", "je ne souhaite plus recevoir", "je ne veux plus de message",
	"je ne veux plus de messages", // French
	"dame de baja", "denme de baja", "deme de baja", "no mas mensajes", "no quiero mas mensajes", "no quiero recibir",
	"no quiero recibir mas", "no me escriban", "no me escriba mas", "no me escriban mas", "no me escribas mas",
	"no me envien mas", "no me envie mas", "no me contacten", "no me contacten mas", "dejar de recibir",
	"dejen de escribirme", "deje de escribirme", "deja de escribirme", "dejen de enviarme", "deje de enviarme",
	"deja de enviarme", "eliminenme", "eliminarme", "borrenme", "borrarme", // Spanish
	"me descadastrar", "nao quero mais mensagens", "nao quero mais receber", "nao quero receber",
	"nao quero receber mais", "nao receber mais", "parar de receber", "pare de enviar", "pare de me enviar",
	"parem de enviar", "parem de me enviar", "me remova", "me removam", "me tire", "me tirem", // Portuguese
}

// requests are what a person asks with, before one of clearWords or stopPayloads.
var requests = []string{
	"i want to", "i wanna", "i would like to", "i d like to", "id like to", "i wish to", "i need to", "can you",
	"could you", "would you", "can i", "could i", "may i", "how do i", "how can i", "how to", // English
	"je veux", "je voudrais", "je souhaite", "je desire", "j aimerais", "veuillez", "merci de", "priere de",
	"pouvez vous", "pourriez vous", "peux tu", "pourrais tu", "comment", "comment puis je", "comment faire pour", // French
	"quiero", "quisiera", "deseo", "me gustaria", "puede", "pueden", "podria", "podrian", "como puedo", // Spanish
	"quero", "queria", "gostaria de", "desejo", "pode", "podem", "como faco para", // Portuguese
}

// assents are what people say before and after what is plainly a stop. Beside other stop words they may be an answer:
// "ok, cancel".
var assents = []string{"ok", "okay", "d accord", "vale"}

// halts say what is to end only with one of ofMessages: "cancel" is of anything, "arreter les messages" is a stop.
var halts = []string{
	"cancel", "arret", "arrete", "arretes", "arreter", "cessez", "cancelar", "parar", "pare", "parem",
}

// ofMessages are messages of ours, behind one of halts or what is plainly a stop: "arretez les alertes".
var ofMessages = []string{
	"messages", "the messages", "these messages", "your messages", "all messages", "any messages", "text messages",
	"texts", "sms", "promotions", "notifications", "alerts", "the alerts", "these alerts", "all alerts",
	"marketing", // English
	"les messages", "ces messages", "vos messages", "des messages", "de message", "de messages", "les promotions",
	"les notifications", "vos notifications", "de notifications", "des notifications", "alertes", "les alertes",
	"vos alertes", "des alertes", "d alertes", "textos", "de textos", "des textos", "de sms", "des sms", "les sms",
	"vos sms", // French
	"mensajes", "mas mensajes", "los mensajes", "sus mensajes", "notificaciones", "las notificaciones", "alertas",
	"las alertas", // Spanish
	"mensagens", "as mensagens", "mais mensagens", "suas mensagens", "notificacoes", "as notificacoes",
	"os alertas", // Portuguese
}

// fromLists are behind "remove" or what is plainly a stop.
var fromLists = []string{"from list", "from the list", "from this list", "from your list", "from your lists",
	"from all lists"}

// endings are behind what is plainly a stop, and no other stop word: "baja ya" is not one.
var endings = []string{
	"the list", "this list", "your list", "anymore", "any more", "again", "now", "immediately", // English
	"de la liste", "de cette liste", "de votre liste", "de vos listes", "de ta liste", "maintenant", "immediatement",
	"tout de suite",                                              // French
	"de la lista", "de su lista", "de esta lista", "ya", "ahora", // Spanish
	"da lista", "desta lista", "da sua lista", "agora", // Portuguese
}

// startWords are the messages by which a person who has said one of stopWords takes it back, in the same notation.
var startWords = []string{
	"start", "unstop", "subscribe", "resubscribe", "subscribe me", "resubscribe me", "opt in", "optin",
	"opt me in", "resume promotions", // English
	"reabonner", "me reabonner", "se reabonner", "reabonnez moi", "reabonne moi", "je veux me reabonner", "reinscrire",
	"me reinscrire", "reinscrivez moi", "reprendre les promotions", // French
	"alta", "darme de alta", "dar de alta", "dame de alta", "quiero darme de alta", "reanudar promociones", // Spanish
	"me reinscrever", "reinscrever", "retomar promocoes", // Portuguese
}

// courtesies are what people say before and after a stop word and mean nothing by, in the same notation.
var courtesies = []string{
	"please", "pls", "plz", "kindly", "thanks", "thank you", "thank you very much", "many thanks", "thanks a lot", "thx",
	"no thanks", "no thank you", "hello", "hi", "hey", "good morning", "good evening", "sorry", "have a nice day",
	"have a good day", "goodbye", "bye", "and", // English
	"s il vous plait", "s il te plait", "svp", "stp", "merci", "merci beaucoup", "merci bien", "merci d avance",
	"non merci", "bonjour", "bonsoir", "salut", "desole", "desolee", "bonne journee", "bonne soiree", "cordialement",
	"au revoir", "et", // French
	"por favor", "gracias", "muchas gracias", "no gracias", "hola", "buenos dias", "buenas tardes", "lo siento",
	"adios", "y", // Spanish
	"obrigado", "obrigada", "muito obrigado", "muito obrigada", "nao obrigado", "nao obrigada", "ola", "bom dia",
	"boa tarde", "desculpe", "e", // Portuguese
}

// joints are the courtesies that stand between others: "y baja?" is a question, "stop and" is not all.
var joints = []string{"and", "et", "y", "e"}

// IsOptOut says that a message is a request for no more messages: it is nothing but some of a list of words in English,
// French, Spanish and Portuguese, in any case and with or without accents and punctuation, with courtesies around them,
// and beside those that mean nothing else what they are said with. "Stop. Thank you" and "I would like to unsubscribe"
// are requests, "Stop by tomorrow, please", "I would like to cancel" and "Can I stop now?" are none.
func IsOptOut(text string) bool { return says(text, optOut) }

// IsOptOutTitle says that the title of a button or a row is such a request: "Remove" is an answer like "Keep".
func IsOptOutTitle(title string) bool {
	return IsOptOut(title) && strings.Join(bareWords(title), " ") != "remove"
}

// IsOptIn says that a message, which a person has typed, takes back such a request. It is written as IsOptOut has it,
// but for what words are said with.
func IsOptIn(text string) bool { return says(text, optIn) }

// What a message says up to one of its words; none = it cannot be read so far.
const (
	nothing = 1 << iota // but courtesies
	agreed
	asked
	halted  // by one of halts, or "stop" that is asked for
	removed // likewise
	hinted  // by what is a stop on its own
	said
)

// A move is what some phrases make of what was said before them.
type move struct {
	from, to int // to: 0 = nothing else
	phrases  []string
}

const anyState = nothing | agreed | asked | halted | removed | hinted | said

var (
	optOut = []move{
		{anyState, 0, courtesies},
		{nothing | hinted | said, hinted, stopWords},
		{nothing | agreed | asked | hinted | said, said, clearWords},
		{nothing | agreed | asked | hinted | said, said, stopPayloads},
		{nothing | agreed | hinted | said, said, []string{"stop"}},
		{asked, halted, []string{"stop"}},
		{nothing | agreed | asked | hinted | said, halted, halts},
		{halted | said, said, ofMessages},
		{nothing | agreed | asked | hinted | said, removed, []string{"remove"}},
		{removed | said, said, fromLists},
		{said, said, endings},
		{said, said, assents},
		{nothing | agreed | hinted, agreed, assents},
		{nothing | agreed | hinted | said, asked, requests},
	}
	optIn = []move{
		{anyState, 0, courtesies},
		{nothing | hinted, hinted, startWords},
	}
)

// says reports whether a text is a row of phrases by which moves come to what is meant.
func says(text string, moves []move) bool {
	words := bareWords(text)
	if len(words) == 0 || slices.Contains(joints, words[0]) || slices.Contains(joints, words[len(words)-1]) {
		return false
	}
	state := make([]int, len(words)+1) // after as many words
	state[0] = nothing
	for i, was := range state[:len(words)] {
		for _, m := range moves {
			to := m.to
			if to == 0 {
				to = was
			}
			if was&m.from == 0 {
				continue
			}
			for n := range beginnings(words[i:], m.phrases) {
				state[i+n] |= to
			}
		}
	}
	return state[len(words)]&(hinted|said) != 0
}

// mostWords is how many words a phrase of any of the lists has at most.
const mostWords = 7

// beginnings are the numbers of words that words begin with and that are, together, one of phrases.
func beginnings(words, phrases []string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 1; n <= min(len(words), mostWords); n++ {
			if slices.Contains(phrases, strings.Join(words[:n], " ")) && !yield(n) {
				return
			}
		}
	}
}

// bareWords are the words of a short text, in the notation of stopWords; none of a long one.
func bareWords(text string) []string {
	if len(text) > 200 {
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
	return spelled(strings.Fields(bare))
}

// stopPayloads are, with "stop", the payloads of buttons and rows that mean what stop words do, in the same notation. A
// payload is a name that a program gave, so words that name other things, too, are not among them: "baja" is also a
// ground floor, "arret" a bus stop, and "cancel" may be of an appointment.
var stopPayloads = []string{
	"stop all", "stopall", "stop promotions", "stop messages", "stop messaging", "unsubscribe", "unsubscribe me",
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
	words := strings.Join(bareWords(payload), " ")
	return words == "stop" || slices.Contains(stopPayloads, words)
}

// spelled are the words, one where all of them are single letters: "S.T.O.P".
func spelled(words []string) []string {
	if len(words) < 3 || slices.ContainsFunc(words, func(w string) bool { return utf8.RuneCountInString(w) > 1 }) {
		return words
	}
	return []string{strings.Join(words, "")}
}
