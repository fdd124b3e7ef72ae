package campaign

import (
	"slices"
	"strings"
	"sync"
)

// stopWords are the messages that mean: send me nothing more, where they are all that a person says, or stand beside
// courtesies and others of their kind. Without accents and punctuation, in lower case. What stopPayloads and
// clearWords have is not repeated.
var stopWords = []string{
	"cancel", "end", "quit", "revoke", "remove", "stop texts", "no more messages", "no more texts", "no more sms",
	"stop pub",
	// English
	"arret", "arrete", "arretes", "arreter", "revoquer", "fin", "cessez", "plus de message", "plus de messages",
	// French
	"baja", "parar", "cancelar", "revocar", // Spanish
	"sair", "quero sair", "revogar", "pare", "parem", // Portuguese
}

// stops are the words for a stop that need nothing else, also beside a reason.
var stops = []string{
	"stop", "stopp", "stoppp", "full stop", // in all languages
	"arretez", "arret", "arrete", "arreter", "cessez", // French
	"pare", "parem", "parad", "paren", // Portuguese and Spanish
	"stoppen", "afmelden", "uitschrijven", "hou op", "houd op", "ophouden", "hou ermee op", "hou hiermee op",
	"hou hier mee op", "houd hiermee op", "houd hier mee op", "hou daarmee op", "stop ermee", "stop hiermee",
	"stop daarmee",                                                                             // Dutch
	"abmelden", "abbestellen", "austragen", "aufhoren", "hor auf", "hort auf", "horen sie auf", // German
}

// weakStops are a stop only beside a reason: alone they may be said of anything.
var weakStops = one("sair|stop it|stop this|stop that|arretez ca|arrete ca|arretez cela|basta|basta ya|" +
	"para ya|para|parar|parem com isso|pare com isso|para com isso|stop dat|stop dit|hor auf damit|" +
	"hort auf damit|horen sie auf damit|horen sie damit auf|hor damit auf|lass das|lassen sie das|lasst das|" +
	"unterlassen sie das|unterlassen sie dies|unterlasst das|unterlass das|cut it out|knock it off|ca suffit|enough|" +
	"chega")

// glue is what may stand between "stop" and a reason that has no mark before it.
var glue = one("i|am|m|im|you|u|have|has|got|the|this|that|is|it|its|s|we|are|re|ve|already|did|my|a|an|by|" +
	"now|j|ai|je|suis|ne|n|c|est|vous|avez|le|la|un|on|tu|deja|que|es|son|tienen|tiene|el|yo|ya|estoy|me|ha|" +
	"han|eu|nao|estou|com|voces|voce|esta|estao|o|ik|ben|heb|jullie|hebben|het|een|ich|bin|habe|das|ist|sie|" +
	"haben|die|hier|du|eine|schon|al|nu|les|de|his|for|at")

// ofNouns stand before "stop" where it is a noun, and so are no glue before it: "this is not the stop". Nor is what
// makes it a part of what is said before: "no necesito que paren".
var ofNouns = one("the|this|that|my|a|an|his|le|la|un|les|el|o|het|een|de|das|die|eine|que")

// rows are all rows of one phrase of each list; "" leaves one out.
func rows(lists ...[]string) []string {
	out := []string{""}
	for _, list := range lists {
		var longer []string
		for _, head := range out {
			for _, tail := range list {
				longer = append(longer, strings.TrimSpace(head+" "+tail))
			}
		}
		out = longer
	}
	return out
}

// one is a list of one phrase or of some, between bars.
func one(phrases string) []string { return strings.Split(phrases, "|") }

// sendings mean a stop by a verb that may have an object of ofMessages or ofSendings.
func sendings() []string {
	return slices.Concat(
		rows(one("stop|quit|cease"), one("sending|texting|messaging|forwarding|pushing"), one("|me|us|to me|"+
			"this number|people")),
		rows(one("do not|don t|dont|never|no longer|do not ever|don t ever|dont ever"), one("send|text|message|forward"),
			one("me|us|this number|this phone"),
			one("|any|any more|anymore")),
		rows(one("do not|don t|dont"), one("send|text|message"), one("any more|anymore|more|again")),
		rows(one("do not|don t|dont"), one("send"), one("|me|us|this number"), one("further|any further")),
		rows(one("i"), one("do not|don t|dont|no longer|never"), one("want|wish|wanna|care"), one("to receive|"+
			"receive|to hear from you|to be sent|to be contacted|to be texted")),
		rows(one("to stop|not to"), one("receive|receiving|get|getting|be contacted|be texted|be messaged")),
		rows(one("not"), one("receive|be contacted|be texted|be messaged")),
		one("stop receiving|stop getting"), // English

		rows(one("arretez|arrete|arreter|d arreter|cessez|cesse|cesser|stop|stoppez"),
			one("de m envoyer|d envoyer|de nous envoyer|de me envoyer|de m partager|de me transmettre")),
		rows(one("ne"), one("m envoyez|m envoie|nous envoyez"), one("plus|plus jamais")),
		rows(one("ne plus|de ne plus"), one("m envoyer|recevoir|nous envoyer")),
		rows(one("je ne veux|je ne souhaite|je n veux|je souhaite ne|je veux ne|je ne desire|je voudrais ne|j veux"),
			one("plus recevoir|plus rien recevoir|plus avoir|plus de")),
		one("je veux pu recevoir|j veux pu recevoir|je veux pu|je ne veux pu recevoir|je veux pus recevoir|"+
			"veux plus recevoir"), // French

		rows(one("deja de|deje de|dejen de|dejad de|dejar de|para de|paren de|basta de"), one("mandarme|enviarme|"+
			"mandar|enviar|mandarnos|enviarnos|pasarme|recibir")),
		rows(one("no|ya no"), one("me"), one("manden|mande|mandes|envien|envie|envies|mandeis|pasen"), one("|mas|"+
			"nunca mas")),
		one("no manden mas|no envien mas|no mande mas|no envie mas|no sigan enviando|no sigan mandando"),
		rows(one("no quiero|ya no quiero|no deseo|ya no deseo"), one("recibir|recibir mas|seguir recibiendo|"+
			"que me manden|que me envien")), // Spanish

		rows(one("pare de|parem de|para de|parar de|deixe de|deixem de|chega de"), one("me mandar|me enviar|"+
			"mandar|enviar|mandar me|receber|mandarem|enviarem")),
		rows(one("nao"), one("me"), one("mande|mandem|envie|enviem|manda"), one("|mais|nunca mais")),
		rows(one("nao quero|nao desejo|nao gostaria de|nao quero mais|nao desejo mais"), one("receber|"+
			"receber mais|ver mais|continuar recebendo|continuar a receber")),
		one("nao mandem mais|nao enviem mais|nao mande mais|nao envie mais"),
		one("nao receber mais|quero deixar de receber|quero parar de receber"), // Portuguese

		rows(one("stuur|zend"), one("me|mij|ons"), one("niet meer|nooit meer|niet langer")),
		rows(one("hou op|houd op|stop"), one("met"), one("|mij|me|het"), one("sturen van|toesturen van|"+
			"versturen van")),
		rows(one("stuur|zend"), one("me|mij|ons"), one("niets meer|niks meer|geen dingen meer|nooit meer iets")),
		rows(one("ik wil|ik wens|wil"), one("niets meer|niks meer"), one("ontvangen|krijgen|van jullie ontvangen|"+
			"van jullie horen")), // Dutch
		rows(one("schick|schicke|schickt|schicken sie|send|sende|sendet|senden sie"), one("mir|uns"),
			one("nichts mehr|nie wieder etwas|so etwas nicht mehr|das nicht mehr|so was nicht mehr|nie wieder was")),
		rows(one("ich mochte|ich will|ich moechte|mochte|ich wunsche"), one("nichts mehr|davon nichts mehr|"+
			"von ihnen nichts mehr"),
			one("bekommen|erhalten|von ihnen horen|von euch horen|von ihnen bekommen")), // German
	)
}

// demands are what people want no more of, when that is one of ofMessages.
func demands() []string {
	return slices.Concat(
		one("no more|no more of|no further|no need for|enough with|enough of|stop with|stop it with|done with|"+
			"no longer want|don t want|"+
			"dont want|do not want|don t need|do not need|dont need|don t want any|don t want any more|stop all|cease"),
		rows(one("i"), one("no longer want|don t want|dont want|do not want|don t need|no longer need|want no|"+
			"want no more|don t like|do not need|dont need|don t want any more|never want|have had enough of|"+
			"had enough of")),
		// Alone these may be said of a flat.
		rows(one("i"), one("do not|don t|dont|no longer|never"), one("want|wish|wanna|care"), one("to get|get|to see")),
		// English
		one("plus besoin de|je n ai plus besoin de|j ai plus besoin de|on n a plus besoin de|"+
			"nous n avons plus besoin de|assez de|assez avec|plus de|plus aucun|plus aucune|"+
			"fini les|arretez avec|arrete avec|arretez|basta de|arretez tous|stop a|"+
			"stop aux|stop avec|stop les|je ne veux plus|je ne veux plus de|je ne veux pas de|je veux plus de|"+
			"je veux pu de|je veux plus|je ne veux pas|marre de|y en a marre de|j en ai marre de|tanne de|pu de"),
		// French
		one("ya no necesito|ya no necesitamos|no necesito mas|basta de|no mas|no quiero|no quiero mas|ya no quiero|"+
			"ya no quiero mas|ni un|ni un mas|paren con|"+
			"paren|paren de|para ya con|basta con|basta ya de|basta"), // Spanish
		one("chega de|chega com|nao quero|nao quero mais|nao quero receber|parem com|pare com|para com|basta de|"+
			"nada de"), // Portuguese
	)
}

// requests are what a person asks with, before one of clearWords or stopPayloads.
var requests = []string{
	"i want to", "i wanna", "i would like to", "i d like to", "id like to", "i want you to", "i d like you to",
	"i wish to", "i need to", "can you", "can u", "could u", "can you guys", "can you people", "could you guys",
	"would you guys",
	"you people need to", "you guys need to", "you need to", "you have to",
	"could you", "would you", "can i", "could i", "may i", "how do i", "how can i", "how to", "you can", "u can",
	"you may", "you can all", "you guys can", "you people can", // English
	"je veux", "je voudrais", "je souhaite", "je desire", "j aimerais", "veuillez", "merci de", "merci d",
	"priere de", "prieres de",
	"pouvez vous", "pourriez vous", "peux tu", "pourrais tu", "comment", "comment puis je", "comment faire pour",
	"vous pouvez", "tu peux", "vous devez", "je vous demande de", "je vous prie de", // French
	"les pido que", "le pido que", "te pido que", "os pido que", "pido que", "les ruego que", "exijo que",
	"les exijo que", "quiero que", "solicito que", "necesito que",
	"ya pueden", "ya puede", "ya puedes", "les pido", "le pido", "favor de", "quiero", "quisiera", "deseo",
	"me gustaria", "puede", "pueden", "podria", "podrian", "como puedo", // Spanish
	"ik wil", "ik wil graag", "ik zou graag", "ik zou me graag", "kunt u", "kun je", "kunnen jullie", "wilt u",
	"wil je",
	"willen jullie", "hoe kan ik", "gelieve", "stuur me", "stuur mij", "stuur ons", // Dutch
	"ich wunsche", "wir wunschen", "ich brauche", "wir brauchen",
	"ich mochte", "ich moechte", "ich will", "ich wurde gern", "ich wurde gerne", "konnen sie", "konnten sie",
	"kannst du",
	"konntest du", "sie konnen", "ihr konnt", "du kannst", "wie kann ich", "schicken sie mir", "schick mir",
	"schickt mir", "senden sie mir", "sende mir",
	"schreiben sie mir", "schreib mir", // German
	"quero", "queria", "gostaria de", "desejo", "pode", "podem", "como faco para", "favor", "peco para",
	// Portuguese
}

// assents are what people say before and after what is plainly a stop. Beside other stop words they may be an
// answer: "ok, cancel".
var assents = []string{"ok", "okay", "d accord", "vale", "oke", "in ordnung"}

// halts say what is to end only with one of ofMessages: "cancel" is of anything, "arreter les messages" is a stop.
var halts = []string{
	"cancel", "arret", "arrete", "arretes", "arreter", "cessez", "cancelar", "parar", "pare", "parem",
}

// ourMessages are messages of ours, behind one of halts or what is plainly a stop: "arretez les alertes".
var ourMessages = []string{
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

// What messages are called, also by the people who are tired of them.
var (
	ofMessagesDutch = one("berichten|bericht|berichtjes|sms|sms jes|sms en|appjes|apps|whatsapps|whatsapp|" +
		"reclame|spam|mails|mailtjes|meldingen|alerts|troep|rommel|rotzooi|onzin|advertenties|dingen")
	ofMessagesGerman = one("nachrichten|nachricht|sms|werbung|spam|mails|e mails|whatsapps|whatsapp|" +
		"benachrichtigungen|mist|mull|scheisse|scheiss|kram|texte|angebote|anzeigen|werbenachrichten|infos")
	ofMessages = slices.Concat(ourMessages, ofMessagesDutch, ofMessagesGerman, one("message|msgs|msg|msges|"+
		"text|mail|mails|email|emails|e mails|spam|crap|shit|junk|garbage|bullshit|bs|rubbish|trash|nonsense|"+
		"promos|promo|ads|advertising|advertisements|solicitations|spamming|harassment|texting|messaging|pub|"+
		"pubs|publicite|publicites|niaiseries|cochonneries|conneries|merde|merdes|saletes|pourriel|pourriels|"+
		"courriels|courriel|spams|texto|mensaje|mensajitos|basura|mierda|porqueria|porquerias|publicidad|"+
		"propaganda|anuncios|promociones|correos|tonterias|mensagem|msgs|porcaria|porcarias|lixo|merda|promocoes|"+
		"propagandas|besteira"))
	// ofSendings are more that people are sent, where they say that they are.
	ofSendings = one("this|these|that|those|it|them|stuff|things|anything|anything else|nothing|offers|" +
		"listings|apartments|houses|flats|rentals|links|ca|cela|ceci|rien|tout ca|des choses|affaires|" +
		"offres|annonces|logements|appartements|truc|trucs|liens|choses|esto|eso|nada|cosas|ofertas|pisos|" +
		"departamentos|enlaces|isso|isto|coisas|anuncios|apartamentos|imoveis|dit|dat|deze|das|dies|so was|sowas|" +
		"so etwas|aanbiedingen|woningen|wohnungen|updates|newsletter|newsletters|reminders|notices|communications|" +
		"relances|sollicitations|infolettres|rappels|envois|avisos|novedades|boletines|envios|recordatorios|" +
		"mitteilungen|informationen|erinnerungen|rundmails")
	// determiners stand before such words.
	determiners = one("the|this|that|these|those|your|ur|my|me|us|any|all|all of|all these|more|so many|such|" +
		"other|of|stupid|fucking|fuckin|damn|damned|goddamn|annoying|unwanted|useless|dumb|ridiculous|constant|" +
		"endless|bloody|spam|rental|marketing|promotional|automated|text|whatsapp|sms|daily|promo|random|" +
		"unsolicited|any more of|any of|shitty|crappy|apartment|apartments|housing|flat|property|" +
		"real estate|listing|condo|house|new|further|weekly|les|ces|cette|ce|cet|vos|tes|votre|ton|de|d|des|du|de vos|" +
		"de ces|de cette|de ce|toutes ces|toutes les|toutes vos|tous ces|tous vos|tous les|tout|ta|la|le|maudits|" +
		"maudites|maudit|maudite|stupides|foutus|foutues|niaiseux|autres|plein de|los|las|el|lo|esta|este|estos|" +
		"estas|esa|ese|esos|esas|sus|tus|tu|su|mas|tanto|tantos|tantas|toda|todos|malditos|malditas|pinches|" +
		"de esta|de este|de estos|de esa|de sus|essa|esse|essas|esses|esta|estas|estes|este|suas|seus|a|as|o|os|" +
		"mais|tantas|tanta|mais essas|mais esse|mais essa|malditas|dessa|dessas|desse|jullie|die|deze|dit|dat|uw|" +
		"je|al|al die|stomme|irritante|zulke|alle|diese|diesen|dieser|ihre|eure|deine|den|das|blode|bloden|" +
		"nervige|nervigen|verdammten|verdammte|solche|weitere|so einen|so ein")
)

// fromLists are behind "remove" or what is plainly a stop.
func fromLists() []string {
	return slices.Concat(
		rows(one("from|off|off of|out of"), one("|the|this|your|all|all your|ur|that|any"), one("list|lists|"+
			"mailing list|mailing lists|contact list|contacts|text list|texts|sms list|phone list|marketing list|"+
			"distribution list|call list|database|system|records")),
		rows(one("de"), one("la|cette|votre|vos|ta|tes|toutes vos|ces"), one("liste|listes|liste d envoi|envois|"+
			"liste de contacts|liste de diffusion|contacts|base de donnees|systeme|base|fichiers|fichier|registre|"+
			"dossiers")),
		rows(one("de|en"), one("la|su|esta|tu|sus|vuestra|esa"), one("lista|listas|lista de contactos|"+
			"lista de correo|base de datos|contactos|sistema|base|agenda|registros|lista de difusion")),
		rows(one("da|dessa|desta|da sua|das suas|de todas as|do seu|do|dos seus|dos|de sua"), one("lista|listas|"+
			"lista de contatos|lista de transmissao|base de dados|cadastro|contatos|sistema|mailing|agenda")),
		rows(one("van|uit"), one("de|deze|jullie|uw|je|die|het"), one("lijst|lijsten|maillijst|mailinglijst|"+
			"contactlijst|bestand|database|systeem|contacten|verzendlijst|mailinglist")),
		rows(one("aus|von"), one("der|dieser|ihrer|eurer|deiner|dem|ihrem|eurem|den|ihren|diesem"), one("liste|"+
			"listen|mailingliste|kontaktliste|verteilerliste|verteiler|system|datenbank|kartei|kontakten|daten|"+
			"verzeichnis")),
	)
}

// endings are behind what is plainly a stop, and no other stop word: "baja ya" is not one.
var endings = []string{
	"the list", "this list", "your list", "anymore", "any more", "again", "now", "immediately", "already",
	"right now",
	"for good", "asap", "no more", "ever again", "from you", "from you guys", "to me", "to this number",
	"at this number",
	"on this number", "to my phone", "on my phone", "every day", "all the time", "all day", "at once", "you",
	"guys", "people",
	"i said", "i asked", "i beg you", "with me", "with this number", "on whatsapp", "by whatsapp", "via whatsapp",
	// English
	"de la liste", "de cette liste", "de votre liste", "de vos listes", "de ta liste", "maintenant",
	"immediatement",
	"tout de suite", "a la fin", "pour toujours", "definitivement", "a ce numero", "sur ce numero",
	"de votre part", "de vous",
	"tous les jours", "sans arret", "des que possible", "au plus vite", "non plus", "de vos contacts",
	"de votre systeme",
	"de votre base de donnees", "de vos fichiers", "de vos listes d envoi", "avec moi", "avec ce numero",
	"a nouveau", "sur whatsapp", "par whatsapp", "de la", "d ici", // French
	"de la lista", "de su lista", "de esta lista", "ya", "ahora", "ya mismo", "ahora mismo", "a este numero",
	"de una vez",
	"mas", "nunca mas", "jamas", "inmediatamente", "de sus contactos", "de su base de datos", "de tu lista", "de ustedes",
	"suyos", "suyas", "tuyos", "tuyas", "vuestros", "vuestras", "de su parte", "conmigo", "de nuevo", "nuevamente",
	"otra vez", "por whatsapp", "nunca", // Spanish
	"da lista", "desta lista", "da sua lista", "agora", "ja", "imediatamente", "mais", "nunca mais",
	"para este numero",
	"nesse numero", "de voces", "de vcs", "da base de dados", "dos contatos", "de uma vez", "seus", "suas", "comigo",
	"novamente", "de novo", "outra vez", // Portuguese
	"nu", "meteen", "onmiddellijk", "direct", "ontvangen", "krijgen", "sturen", "hebben", "van jullie",
	"van de lijst",
	"uit de lijst", "uit jullie lijst", "van jullie lijst", "op dit nummer", "naar dit nummer",
	"uit jullie bestand",
	"van uw lijst", "uit uw lijst", "uit uw bestand", "te ontvangen", // Dutch
	"jetzt", "sofort", "bekommen", "erhalten", "haben", "senden", "schicken", "von ihnen", "von euch",
	"an diese nummer",
	"auf diese nummer", "von dieser liste", "von ihrer liste", "aus ihrer liste", "zu bekommen", "zu erhalten",
	"zusenden",
	"aus ihrem verteiler", "von der liste", "umgehend", "mit mir", "noch einmal", "wieder", "per whatsapp",
	"uber whatsapp", "raus", "heraus", "stehen", "sein", "auftauchen", // German
}

// startWords are the messages by which a person who has said one of stopWords takes it back, in the same notation.
var startWords = []string{
	"start", "unstop", "subscribe", "resubscribe", "subscribe me", "resubscribe me", "opt in", "optin",
	"opt me in", "resume promotions", // English
	"reabonner", "me reabonner", "se reabonner", "reabonnez moi", "reabonne moi", "je veux me reabonner",
	"reinscrire",
	"me reinscrire", "reinscrivez moi", "reprendre les promotions", // French
	"alta", "darme de alta", "dar de alta", "dame de alta", "quiero darme de alta", "reanudar promociones",
	// Spanish
	"me reinscrever", "reinscrever", "retomar promocoes", // Portuguese
}

// courtesies are what people say before and after a stop word and mean nothing by, in the same notation.
var courtesies = []string{
	"please", "pls", "plz", "kindly", "thanks", "thank you", "thank you very much", "many thanks", "thanks a lot",
	"thx",
	"no thanks", "no thank you", "hello", "hi", "hey", "good morning", "good evening", "sorry", "have a nice day",
	"have a good day", "goodbye", "bye", "and", "nope", "yo", "dear sir", "sir", "madam", "ty", "god", "omg",
	"wtf", // English
	"s il vous plait", "s il te plait", "svp", "stp", "merci", "merci beaucoup", "merci bien", "merci d avance",
	"non merci", "bonjour", "bonsoir", "salut", "desole", "desolee", "bonne journee", "bonne soiree",
	"cordialement",
	"au revoir", "et", "madame", "monsieur", "allo", "coudonc", // French
	"por favor", "gracias", "muchas gracias", "no gracias", "hola", "buenos dias", "buenas tardes", "lo siento",
	"adios", "y", // Spanish
	"hallo", "hoi", "dag", "goedemorgen", "goedemiddag", "goedenavond", "bedankt", "dank u", "dank je",
	"dank u wel",
	"dank je wel", "alvast bedankt", "nee bedankt", "nee dank je", "groeten", "mvg", "graag", "fijne dag", "en",
	// Dutch
	"guten tag", "guten morgen", "guten abend", "moin", "danke", "danke schon", "vielen dank", "nein danke",
	"mit freundlichen grussen",
	"mfg", "lg", "viele grusse", "schonen tag", "und", "entschuldigung", "sehr geehrte damen und herren", // German
	"obrigado", "obrigada", "muito obrigado", "muito obrigada", "nao obrigado", "nao obrigada", "ola", "bom dia",
	"boa tarde", "desculpe", "e", // Portuguese
}

// joints are the courtesies that stand between others: "y baja?" is a question, "stop and" is not all.
var joints = []string{"and", "et", "y", "e", "en", "und"}

// stopPayloads are, with "stop", the payloads of buttons and rows that mean what stop words do, in the same
// notation. A payload is a name that a program gave, so words that name other things, too, are not among them:
// "baja" is also a ground floor, "arret" a bus stop, and "cancel" may be of an appointment.
var stopPayloads = []string{
	"stop all", "stopall", "stop promotions", "stop messages", "stop messaging", "unsubscribe", "unsubscribe me",
	"unsub", "opt out", "optout", "opt me out", // English
	"arreter les promotions", "desabonner", "desabonnement", "me desabonner", "se desabonner", "desinscrire",
	"desinscription", "me desinscrire", "se desinscrire", // French
	"cancelar suscripcion", "detener promociones", "darme de baja", "dar de baja", "desuscribir",
	"desuscribirme", "descadastrar", "me descadastre", "cancelar inscricao", // Spanish and Portuguese
	"interromper promocoes",
}

// fillers are left out wherever they stand.
var fillers = one("please|pls|plz|pleas|plse|kindly|just|fucking|fuckin|freaking|damn|bloody|svp|stp|putain|" +
	"crisse|bitte|mal|doch|endlich|eens|alstublieft|alsjeblieft|aub|asjeblieft|nou|haha")

// joiners are words between which a part of a sentence may be a request of its own.
var joiners = one("or|because|otherwise|before|so|then|therefore|and|but|cuz|cause|since|ou|car|sinon|parce|" +
	"avant|alors|donc|et|puisque|porque|sino|entonces|y|pero|asi|senao|entao|e|pois|anders|omdat|dus|maar|oder|" +
	"sonst|weil|also|und|aber|denn|bevor")

// untils are those of joiners that a time may be behind, and persons are not the first word of one.
var (
	untils  = one("before|avant|bevor")
	persons = one("i|we|je|j|nous|on|ich|wir|que")
)

// contrasts begin a part of a sentence and are left out there: "mais" is also Portuguese for more.
var contrasts = one("mais|mas|but|pero|maar|aber|so|oh")

// conditions are words before a request by which it is none yet, or somebody else's.
var conditions = one("if|unless|when|whenever|should|said|says|say|told|wrote|asked|before|si|quand|lorsque|" +
	"dit|disait|cuando|dijo|dice|quando|disse|diz|als|wanneer|zei|zegt|wenn|falls|sagte|sagt|how|what|why|" +
	"comment|pourquoi|como|hoe|waarom|wie|warum")

// reservations are words behind a request that take some of it back.
var reservations = one("not|non|no|nicht|niet|nao|pas|except|unless|until|till|keep|still|only|instead|want|" +
	"sauf|jusqu|seulement|gardez|continuez|excepto|salvo|hasta|sigan|solo|exceto|ate|apenas|continuem|behalve|" +
	"tot|tenzij|alleen|ausser|bis|nur|weiterhin")

// mostReason is how many words one of reasons has at most.
const mostReason = 6

// reasons are why a person may want no messages.
var reasons = sync.OnceValue(func() map[string]bool {
	list := slices.Concat(
		one("wrong number|wrong person|wrong guy|wrong man|wrong woman|wrong girl|wrong lady|wrong one|"+
			"wrong phone|wrong num|not interested|no interest|not looking|no longer looking|not looking anymore|"+
			"no longer interested|not interested anymore|who is this|who s this|whos this|who are you|who dis|"+
			"who tf is this|never signed up|never subscribed|never asked for|never gave|did not sign up|"+
			"didn t sign up|didnt sign up|did not ask|didn t ask|didnt ask|did not subscribe|didn t subscribe|"+
			"never agreed|do not know you|don t know you|dont know you|spam|scam|harassment|harassing|report you|"+
			"reporting you|block you|blocking you|sick of|tired of|annoying|fed up|fuck off|go away|bothering|enough|"+
			"too many|no longer need|don t need|dont need|do not need|not for me|all set|unwanted|unsolicited|"+
			"get lost|shut up|already have a place|already have one|already have an apartment|already got a place|"+
			"new number|not me|somebody else|someone else|a mistake|by mistake|told you|asked you|not my number|"+
			"this isn t|this is not|this ain t|blocked|lawyer|sue you|illegal|privacy|do not call list|moved away|"+
			"moved out|passed away|deceased|no consent|without my consent|not consent"),
		rows(one("you keep|u keep|you guys keep"), one("sending me|texting me|messaging me|"+
			"writing me|writing to me|contacting me|bothering me|spamming me")),
		rows(one("siguen|sigue|sigues"), one("mandando|enviando|escribiendo|molestando|mandandome|escribiendome")),
		rows(one("continuam|ficam|vivem"), one("me mandando|mandando|enviando|me enviando|me incomodando")),
		one("arretez pas de m envoyer|arretez pas de m ecrire|continuez a m ecrire|continuez a m envoyer|"+
			"schreibt mir standig|"+
			"schreiben mir standig|schicken mir standig|schickt mir standig"),
		rows(one("found|rented|bought|signed for|got"), one("one|a place|an apartment|a flat|an appartment|a home|"+
			"a house|a unit|a condo|a room|a new place|another place|something|my apartment|something else|an apt|"+
			"somewhere|another one|already")),
		one("mauvais numero|pas le bon numero|faux numero|trompez de numero|trompes de numero|erreur de numero|"+
			"mauvaise personne|pas la bonne personne|plus interesse|plus interessee|pas interesse|pas interessee|"+
			"aucun interet|deja trouve|deja loue|ai trouve|qui etes vous|qui est ce|c est qui|qui es tu|t es qui|"+
			"connais pas|jamais demande|jamais inscrit|jamais inscrite|jamais donne|rien demande|pas demande|"+
			"pas inscrit|arnaque|harcelement|ca suffit|tanne|tannee|ecoeure|ecoeurant|marre|plus besoin|pas besoin|"+
			"cherche plus|pu interesse|pu interessee|pas pour moi|assez|trouve un logement|trouve un appart|"+
			"trouve un appartement|trouve autre chose|foutez le camp|degagez|degage|interesse pas|m interesse plus|"+
			"m interesse pas|trop de messages|par erreur|une erreur|trop|jamais donne mon numero|je suis pas|"+
			"je ne suis pas|pas moi|pas mon numero|deja dit|vie privee|plainte|illegal|crtc|sans mon consentement|"+
			"pas consenti|qui vous etes|derange|derangez"),
		one("numero equivocado|numero incorrecto|no es mi numero|se equivoco|se equivocaron|se equivoca|"+
			"te equivocaste|persona equivocada|no me interesa|ya no me interesa|no estoy interesado|"+
			"no estoy interesada|no interesado|no interesada|sin interes|ya encontre|ya tengo|ya alquile|ya rente|"+
			"quien es|quien eres|quienes son|no los conozco|no lo conozco|no le conozco|no te conozco|no la conozco|"+
			"nunca pedi|nunca me inscribi|nunca me suscribi|no pedi|no solicite|nunca solicite|no me inscribi|"+
			"no les di|acoso|estafa|basta|harto|harta|ya no busco|no busco|no necesito|ya no necesito|yo no soy|"+
			"no soy|ya les dije|ya dije|denunciar|que fastidio|por error|que pesados|pesados"),
		one("numero errado|numero incorreto|pessoa errada|engano|e engano|nao tenho interesse|"+
			"nao tenho mais interesse|sem interesse|nao me interessa|nao estou interessado|nao estou interessada|"+
			"ja encontrei|ja achei|ja aluguei|ja tenho|quem e|quem esta falando|quem fala|nao conheco|nao te conheco|"+
			"nunca pedi|nunca me inscrevi|nao pedi|nunca me cadastrei|chega|golpe|cansei|nao procuro mais|"+
			"nao preciso|nao sou|ja disse|ja falei|denunciar|incomodo|que saco|nao e meu numero|nao sou essa pessoa|"+
			"nunca autorizei"),
		one("verkeerd nummer|verkeerde nummer|fout nummer|verkeerde persoon|geen interesse|geen interesse meer|"+
			"niet geinteresseerd|niet meer geinteresseerd|wie is dit|wie bent u|wie ben jij|wie ben je|ken je niet|"+
			"ken jullie niet|ken u niet|al iets gevonden|al een huis|al een woning|al een appartement|al een kamer|"+
			"iets gevonden|woning gevonden|huis gevonden|"+
			"appartement gevonden|kamer gevonden|nooit aangemeld|niet aangemeld|nooit om gevraagd|niet om gevraagd|"+
			"nooit gevraagd|niet meer nodig|ben het zat|genoeg|niet meer op zoek|zoek niet meer|al gevonden|"+
			"al voorzien|rot op|sodemieter op|hier niet op|ik ben niet|niet mijn nummer|al gezegd|lastig"),
		one("falsche nummer|falsche person|falscher kontakt|nummer ist falsch|verwahlt|falsch verbunden|"+
			"kein interesse|kein interesse mehr|nicht interessiert|nicht mehr interessiert|wer ist das|wer ist da|"+
			"wer sind sie|wer bist du|kenne sie nicht|kenne dich nicht|kenne euch nicht|schon gefunden|"+
			"etwas gefunden|was gefunden|wohnung gefunden|zimmer gefunden|nie angemeldet|nicht angemeldet|"+
			"nie zugestimmt|nie darum gebeten|nicht darum gebeten|nicht mehr notig|brauche nichts mehr|"+
			"brauche ich nicht|ich bin nicht|nicht meine nummer|schon gesagt|schon eine wohnung|anzeige|dsgvo|"+
			"es reicht|reicht jetzt|belastigung|betrug|nervt|suche nicht mehr|genug|hau ab|haut ab|nicht bestellt|"+
			"verpiss dich"),
	)
	out := map[string]bool{}
	for _, phrase := range list {
		out[phrase] = true
	}
	return out
})
