package campaign

import (
	"slices"
	"strings"
)

// In the notation of stopWords.

// objections take back a consent, or end all contact, in the words of letters and laws.
func objections() []string {
	return slices.Concat(
		rows(one("stop|cease|end|quit|discontinue"), one("|all|any|your|the|all further|any further|further|all your"),
			one("communication|communications|contact|correspondence"), one("|with me|with this number|immediately")),
		rows(one("i"), one("object to|withdraw|revoke|do not consent to|don t consent to|did not consent to"),
			one("|my|the|your|any"), one("consent|use of my data|use of my number|being contacted|these messages|"+
				"receiving messages|direct marketing|marketing"), one("|for marketing|for advertising|to be contacted|"+
				"to receive messages")),
		rows(one("i"), one("do not want|don t want|dont want|no longer want|do not wish|don t wish|no longer wish"),
			one("to be|to stay|to remain"), one("on|in|part of|a part of"), one("this|your|any of your"),
			one("list|lists|mailing list|mailing lists|contact list|contacts|distribution list|database|system")), // English

		rows(one("cessez|arretez|cesser|arreter|cesse|arrete|mettez fin a|mettre fin a"), one("|toute|toutes|les|vos|la|"+
			"le|tout|ces"), one("communication|communications|contact|contacts|correspondance|sollicitation|sollicitations|"+
			"demarchage"), one("|avec moi|avec ce numero|immediatement")),
		rows(one("je m oppose"), one("a l utilisation de mes donnees|au traitement de mes donnees|a toute sollicitation|"+
			"a la prospection|a recevoir vos messages|a vos messages"), one("|a des fins publicitaires|"+
			"a des fins de marketing|a des fins de prospection")),
		rows(one("je retire|je revoque"), one("mon consentement"), one("|a recevoir vos messages")), // French

		rows(one("cesen|cese|terminen|detengan|suspendan"), one("|toda|todas|la|las|cualquier|el|todo"),
			one("comunicacion|comunicaciones|contacto"), one("|conmigo|con este numero")),
		rows(one("no autorizo|no autorice|no doy permiso para|no doy permiso a|no doy autorizacion para|no consiento"),
			one("que|a que"), one("me contacten|me escriban|me manden mensajes|me envien mensajes|usen mis datos|"+
				"usen mi numero"), one("|por este medio|por aqui|por whatsapp|a este numero")),
		rows(one("retiro|revoco"), one("mi consentimiento|mi autorizacion")),
		rows(one("ya no|no|nunca"), one("me|nos"), one("vuelvan a|vuelva a|vuelvas a"), one("escribir|contactar|"+
			"molestar|textear|mandar mensajes|enviar mensajes|mandar mensaje")),
		rows(one("me opongo"), one("al uso de mis datos|al tratamiento de mis datos|a recibir publicidad|"+
			"a recibir mensajes"),
			one("|con fines publicitarios|con fines comerciales|para fines publicitarios")), // Spanish

		rows(one("cessem|cesse|encerrem|parem com"), one("|toda|todas|a|as|qualquer|o|todo"), one("comunicacao|"+
			"comunicacoes|contato|contacto"), one("|comigo|com este numero")),
		rows(one("nao autorizo|nao autorizei|nao dou permissao para|nao consinto"), one("|que|o"), one("me contatem|"+
			"me mandem mensagem|me mandem mensagens|contato|contacto|uso dos meus dados|uso do meu numero"),
			one("|por aqui|por whatsapp|por este meio")),
		rows(one("nao|nunca mais"), one("voltem a|volte a"), one("me escrever|me contatar|me incomodar|"+
			"me mandar mensagem|me mandar mensagens|me enviar mensagem|me enviar mensagens")),
		rows(one("retiro|revogo"), one("meu consentimento|o meu consentimento|minha autorizacao")),
		rows(one("nao me"), one("contatar|contactar|mandar mensagem|mandar mensagens|enviar mensagem|enviar mensagens|"+
			"escrever|incomodar|importunar"), one("|mais|nunca mais|novamente|de novo")), // Portuguese

		rows(one("ich widerspreche"), one("der|jeder|dem|jeglicher"), one("nutzung|verwendung|verarbeitung|weitergabe|"+
			"speicherung|kontaktaufnahme|werbung|erhalt"), one("|meiner daten|meiner nummer|meiner personenbezogenen daten|"+
			"durch sie"), one("|zu werbezwecken|fur werbezwecke|fur werbung|zu werbung")),
		rows(one("ich mochte|ich will|ich moechte"), one("nicht mehr|nicht langer"), one("auf|in"), one("ihrer|eurer|"+
			"deiner|dieser|ihrem|eurem"), one("liste|verteiler|mailingliste|kontaktliste|datenbank"), one("stehen|sein")),
		rows(one("ich widerrufe|ich ziehe"), one("meine|die|jede"), one("einwilligung|zustimmung|erlaubnis"),
			one("|zuruck|zum erhalt von nachrichten|zur kontaktaufnahme")),
		rows(one("stellen sie|stellt|stell|stelle"), one("die|diese|ihre|eure|deine|das|den|alle|jede|jeden|jegliche|"+
			"jeglichen"), slices.Concat(ofMessagesGerman, one("kontakt|kommunikation|kontaktaufnahme")),
			one("ein|sofort ein|umgehend ein")), // German

		one("send nothing|send me nothing|send nothing more|send me nothing more"),
		rows(one("n envoyez|n envoie|ne m envoyez|ne m envoie|ne nous envoyez"), one("rien|plus rien|rien de plus"),
			one("|jamais")),
		rows(one("no|ya no"), one("|me|nos"), one("manden|mande|mandes|envien|envie|envies|escriban|escriba"),
			one("nada|nada mas|mas nada")),
		rows(one("nao"), one("|me|nos"), one("mande|mandem|envie|enviem|escrevam|manda"), one("nada|mais nada|nada mais")),
		rows(one("schick|schicke|schickt|schicken sie|sende|sendet|senden sie"), one("|mir|uns"), one("|gar|bloss"),
			one("nichts|nix"), one("|mehr")),
	)
}

// threats say what follows the next message. Without a word of anything else they are a request; "Fix the heating or I
// will report you" is none.
func threats() []string {
	en := rows(one("i will|i ll|ill|i am going to|i m going to|im going to|i m gonna|im gonna|gonna|i m about to"),
		slices.Concat(
			rows(one("report|block"), one("you|u|you guys|you people|this number|your number"), one("|as spam|for spam|"+
				"for spamming|for harassment|to the police|to whatsapp|to the authorities")),
			rows(one("report"), one("this|it|these|these messages"), one("as spam|as harassment|to whatsapp")),
		))
	en = append(en, rows(one("i am|i m|im"), one("reporting|blocking"), one("you|u|this number|your number|"+
		"this as spam|you as spam|it as spam"))...)
	fr := slices.Concat(
		rows(one("je vais|je vais vous|je vais te|je vais devoir vous"), one("signaler|bloquer|denoncer"), one("|"+
			"comme spam|comme pourriel|pour harcelement|a la police|au crtc|a whatsapp")),
		rows(one("je vous|je te"), one("signale|bloque|denonce"), one("|comme spam|comme pourriel|pour harcelement")),
	)
	es := slices.Concat(
		rows(one("voy a|los voy a|lo voy a|la voy a|te voy a|les voy a|os voy a"), one("denunciar|bloquear|reportar|"+
			"denunciarlos|bloquearlos|reportarlos|denunciarlo|bloquearlo|reportarlo|denunciar y bloquear|"+
			"bloquear y denunciar|bloquear y reportar"), one("|por acoso|por spam|como spam|a la policia")),
	)
	pt := slices.Concat(
		rows(one("vou|irei|vou te|vou ter que"), one("denunciar|bloquear|reportar|bloquear e denunciar|"+
			"denunciar e bloquear"), one("|voces|vcs|voce|esse numero|este numero|como spam|por assedio")),
	)
	de := slices.Concat(
		rows(one("ich werde sie|ich werde dich|ich werde euch"), one("melden|blockieren|anzeigen|verklagen")),
		rows(one("ich"), one("melde|blockiere|verklage"), one("sie|dich|euch|diese nummer"), one("|als spam|wegen spam|"+
			"jetzt")),
	)
	return slices.Concat(en, fr, es, pt, de)
}

// vows are threats that may be about anything, but behind nextTime.
func vows() []string {
	return slices.Concat(
		rows(one("i will|i ll|ill|i am going to|i m going to|i m gonna|im gonna|gonna"), one("call|contact"),
			one("the police|the cops|my lawyer|a lawyer")),
		rows(one("i am|i m|im"), one("calling|contacting"), one("the police|the cops|my lawyer|a lawyer")),
		one("je vais porter plainte|je porte plainte|j appelle la police|je vais appeler la police|"+
			"voy a llamar a la policia|llamo a la policia|vou chamar a policia|vou processar voces|ich erstatte anzeige|"+
			"ich rufe die polizei|ich gehe zum anwalt|gehe ich zum anwalt|rufe ich die polizei|erstatte ich anzeige"),
	)
}

// nextTime stands before or behind a threat.
func nextTime() []string {
	return slices.Concat(
		rows(one("if you|if u|if you guys|if you people"), one("text|write|message|contact|call|bother|msg|write to"),
			one("|me"), one("again|one more time|once more|anymore")),
		rows(one("if you|if u|if you guys"), one("keep"), one("texting|messaging|writing|spamming|bothering|harassing|"+
			"contacting|sending"), one("|me|to me|me messages|me this")),
		rows(one("if i"), one("get|receive|see"), one("one more|another|one single|any more"), one("message|text|msg|"+
			"sms|messages|texts"), one("|from you|from you guys|from this number")),
		one("if this continues|if this keeps up|if it continues|if you don t stop|if you dont stop|if you do not stop|"+
			"next time"), // English
		one("si ca continue|si vous continuez|si tu continues|si ca n arrete pas|si vous m ecrivez encore|"+
			"si vous n arretez pas|la prochaine fois"), // French
		rows(one("si je"), one("recois|vois"), one("encore un|un autre|encore un seul|un seul autre"), one("message|texto|"+
			"sms|courriel"), one("|de vous|de votre part")),
		rows(one("si"), one("recibo|me llega"), one("otro|un|un solo|otro solo"), one("mensaje|mensaje mas"), one("|suyo|"+
			"de ustedes")),
		rows(one("si"), one("siguen|sigue|sigues|continuan|vuelven a|vuelve a"), one("|molestando|escribiendo|mandando|"+
			"enviando mensajes|mandando mensajes|escribiendome|molestandome|molestar|escribirme|asi|con esto")),
		one("si no paran|si no dejan de molestar|la proxima vez"), // Spanish
		rows(one("se"), one("continuarem|continuar|continuam|insistirem"), one("|mandando mensagem|mandando mensagens|"+
			"assim|me incomodando|incomodando|com isso")),
		rows(one("se eu|se"), one("receber"), one("outra|mais uma"), one("mensagem"), one("|sua|de voces")),
		one("se nao pararem|da proxima vez"), // Portuguese
		rows(one("wenn ich"), one("noch eine|nochmal eine|wieder eine"), one("nachricht|sms|mail"), one("|von ihnen|"+
			"von euch"), one("bekomme|erhalte")),
		rows(one("wenn sie|wenn ihr|wenn du|falls sie|falls ihr"), one("weiter|mir weiter|nochmal|mir nochmal|"+
			"mir noch einmal|noch einmal"), one("schreiben|schreibt|schreibst|machen|macht|nerven|nervt")),
		one("wenn das so weitergeht|wenn das nicht aufhort|beim nachsten mal"), // German
	)
}

// endsForEver says that words ask for no messages while the person is busy, "or ever".
func endsForEver(words []string) bool {
	for n := 2; n <= 3 && n < len(words); n++ {
		rest := words[:len(words)-n]
		if !slices.Contains(everTails, strings.Join(words[len(rest):], " ")) {
			continue
		}
		at := slices.IndexFunc(rest, func(w string) bool { return slices.Contains(whiles, w) })
		if at > 0 && means(reach(rest[:at], optOut())) {
			return true
		}
	}
	return false
}

var (
	everTails = one("or ever|or at all|or ever again|ou jamais|ou plus jamais|o nunca|ni nunca|o nunca mas|ou nunca|" +
		"ou nunca mais|oder jemals|oder uberhaupt|of ooit|ni jamais")
	whiles = one("while|when|during|at|before|after|on|pendant|quand|lorsque|durant|mientras|cuando|durante|wahrend|" +
		"wenn|enquanto|quando|terwijl|als|tijdens")
)
