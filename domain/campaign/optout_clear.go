package campaign

import "slices"

// ourData is what people want us to have no longer.
var ourData = one("my number|my phone number|my info|my contact|my data|my phone|my details|this number|" +
	"this contact|my contact info|my contact details|my entry")

// clearWords mean what stopWords do and nothing else, so that they may also follow what a person asks with: "could
// you please remove me".
func clearWords() []string {
	return slices.Concat(clearEnglish(), clearFrench(), clearSpanish(), clearPortuguese(), clearDutch(), clearGerman())
}

func clearEnglish() []string {
	stop := one("stop|quit|cease")
	never := one("do not|don t|dont|not|never|never ever|do not ever|don t ever|dont ever")
	return slices.Concat(
		one("remove me|take me off|remove us|take us off|get us off|unsubscribe us|delete me|be removed|"+
			"be unsubscribed|get me off|get off my phone|"+
			"lose my number|forget my number|leave me be|do not disturb me|"+
			"no more contact|no further contact|no further communication|no more of these|no more of this|"+
			"no more of that|no more of it"),
		rows(one("leave"), one("me|us|this number|my number|my phone|this phone"), one("alone")),
		rows(one("leave"), one("this number|my number|my phone|this phone"), one("out of this|out of it")),
		rows(one("i|we"), one("do not|don t|dont|no longer|never|never ever"), one("want|wish|wanna|care"),
			one("to hear from"), one("your|this|your whole"), one("company|agency|office|team|people|firm|business|bot"),
			one("|again|ever again|anymore|any more")),
		rows(one("i|we"), one("do not|don t|dont|no longer|never|never ever"), one("want|wish|wanna|care"),
			one("to hear from"), one("you people|you guys|you lot|any of you|anyone there"),
			one("|again|ever again|anymore|any more")),
		rows(slices.Concat(stop, one("mind not|do you mind not")), one("texting|messaging|msging|txting|contacting|"+
			"writing|writing to|spamming|harassing|bothering|bugging|annoying|disturbing|pestering|emailing|e mailing|"+
			"calling"), one("me|us|this number|my number|my phone|this phone|people")),
		rows(one("be taken|be removed|be deleted|be erased"), fromLists()),
		rows(one("i"), one("do not|don t|dont|no longer|never"), one("want|wish|wanna|care"), one("to get|get|to see"),
			one("any more|more|your|these|those"), one("offers|listings|stuff|things")),
		one("cancel my subscription|end my subscription|stop my subscription|cancel this subscription|"+
			"cancel the subscription|stop all this|stop all of this|cease and desist|stop blowing up my phone|"+
			"quit blowing up my phone|do not wish to be contacted|don t want to be contacted|"+
			"don t contact this number|do not contact this number|turn these off|"+
			"turn off these messages|turn off the messages|turn off notifications|disable notifications|"+
			"want nothing from you"),
		one("stop texting|stop messaging|stop spamming|stop receiving|stop getting|stop the spam|stop bothering"),
		rows(never, one("contact|message|text|write|write to|bother|spam"), one("me|us|this number|this phone|my phone"),
			one("|again|anymore|any more|ever again")),
		// Who wants no calls may want messages.
		rows(never, one("call"), one("me|us|this number|this phone"), one("again|anymore|any more|ever again")),
		rows(one("delete|remove|erase|take out|forget"), ourData, one("|off|now|from everything")),
		rows(one("take"), ourData, one("off|from everything")),
		rows(one("delete|remove|erase"), one("my number|my phone number|my info|my contact|my data|my details|me|"+
			"this number"),
			one("from your|from the|from this|from"), one("system|database|contacts|phone|files|records|lists|list")),
		rows(one("take|get"), one("me|us|my number|my name|this number|my phone number"), one("off|out of"),
			one("your|the|this|that"), one("list|lists|mailing list|database|system|contacts")),
	)
}

func clearFrench() []string {
	return slices.Concat(
		one("desabonnez moi|desabonne moi|desinscrivez moi|desinscris moi|etre desabonne|etre desabonnee|"+
			"etre desinscrit|etre desinscrite|me retirer de la liste|me retirer de votre liste|je me desabonne|"+
			"je me desinscris|me desabonne|oubliez moi|oubliez mon numero|perdez mon numero|perds mon numero"),
		rows(one("retirez|retire|enlevez|enleve|enlever|retirer|supprimez|supprime|effacez|efface|otez|ote|rayez|"+
			"sortez"),
			one("moi|nous|mon numero|mon nom|mes coordonnees|mon contact|mon tel|mon telephone|ce numero")),
		rows(one("retirer|enlever|supprimer|effacer|oter|rayer"),
			one("mon numero|mon nom|mes coordonnees|mon contact|ce numero")),
		rows(one("arretez|arrete|arreter|d arreter|cessez|cesse|cesser|de cesser|stop|stoppez"),
			one("de m ecrire|de me texter|de me contacter|de me harceler|de me deranger|de m achaler|de me spammer|"+
				"de m appeler|de m importuner|de m embeter|de nous ecrire|de nous texter|de nous contacter|"+
				"de me relancer|de me solliciter|de me gosser|de me faire chier")),
		rows(one("ne"), one("m ecrivez|m ecris|me textez|me texte|me contactez|me contacte|me derangez|me derange|"+
			"m appelez|m appelle|nous ecrivez|nous contactez|m importunez"), one("plus|plus jamais|plus du tout|"+
			"plus svp")),
		rows(one("ne plus|de ne plus|pour ne plus"), one("m ecrire|me contacter|me texter|me deranger|"+
			"me solliciter|etre contacte|etre contactee|nous contacter|m appeler")),
		rows(one("foutez|fous|fichez|fiche|laissez|laisse|lachez|lache"), one("moi|nous"), one("la paix|"+
			"tranquille|en paz|en paix|tranquilles")),
		rows(one("annuler|annulez|resilier|resiliez|arreter|arretez"), one("mon|cet|l"), one("abonnement")),
		rows(one("me|m|etre"), one("retirer|enlever|supprimer|effacer|oter|rayer|sortir|retire|retiree|enleve|"+
			"enlevee|raye|rayee"), fromLists()),
		rows(one("laissez|laisse"), one("mon numero|mon telephone|mon cell|mon cellulaire|ce numero"),
			one("tranquille|en paix|en dehors de ca")),
		rows(one("je ne veux|je veux|j veux|je ne souhaite|on ne veut|nous ne voulons"), one("plus|plus jamais"),
			one("entendre parler|avoir de nouvelles|avoir de contact"), one("de vous|de votre agence|de votre compagnie|"+
				"de votre entreprise|avec vous|de toi|de votre part")),
		one("m effacer|me supprimer|m oter|me rayer|m enlever|aucun autre contact|plus aucun contact|"+
			"pas d autre contact"),
		one("je ne veux plus rien|ne veux plus rien|je ne veux rien recevoir|lachez moi|lache moi|"+
			"je ne veux plus de message|je ne veux plus de messages|plus de messages svp"),
	)
}

func clearSpanish() []string {
	stop := one("deja de|deje de|dejen de|dejad de|dejar de|para de|paren de|basta de")
	return slices.Concat(
		one("no mas mensajes|no quiero mas mensajes|no me escriba|no me escriban|no me contacten|no me contacte|"+
			"no me molesten|no me moleste|eliminenme|eliminarme|borrenme|borrarme|olvidense de mi|"+
			"eliminame|borrame"),
		rows(one("dame|denme|deme|dadme"), one("de baja")),
		rows(one("ya no|no"), one("me"), one("escriban|escriba|escribas|escribais|contacten|contacte|contactes|"+
			"molesten|moleste|molestes|textees"), one("mas|nunca mas|por favor")),
		rows(one("ya no|no"), one("me"), one("llamen|llame"), one("mas|nunca mas")),
		rows(stop, one("escribirme|molestarme|contactarme|acosarme|llamarme|joderme|joder|fastidiar|"+
			"fastidiarme|textearme|hostigarme|escribirnos|molestar")),
		rows(one("dejenme|dejame|dejeme|dejadme"), one("en paz|tranquilo|tranquila|tranquis")),
		rows(one("dejen|deje|deja|dejad"), one("mi numero|mi telefono|mi celular|mi movil|mi whatsapp|este numero"),
			one("en paz|tranquilo|fuera de esto")),
		rows(one("no quiero|ya no quiero|no deseo"), one("volver a saber|volver a saber nada|saber|saber nada|saber mas|"+
			"saber nada mas"), one("de ustedes|de usted|de vosotros|de su empresa|de su agencia|de su inmobiliaria|de ti")),
		rows(one("no|nunca|ya no"), one("vuelvan a|vuelva a|vuelvas a|volvais a"), one("contactarme|escribirme|molestarme|"+
			"textearme|mandarme nada|enviarme nada|mandarme mensajes|enviarme mensajes|mandarme mas|enviarme mas")),
		one("quitennos|saquennos|borrennos|eliminennos|ningun otro contacto|ningun contacto mas|no mas contacto"),
		rows(one("borren|borre|borra|borrad|borrar|eliminen|elimine|elimina|eliminad|eliminar|quiten|quite|quita|"+
			"quitad|quitar|saquen|saque|saca|sacar|sacad|retiren|retire|retira|retirad|retirar"), one("mi numero|"+
			"mi numero de telefono|mi celular|mis datos|mi contacto|mi telefono|mi nombre|"+
			"este numero")),
		rows(one("cancelen|cancela|cancele|cancelar|anulen|anular|cancelad|terminar"), one("mi|la|esta"),
			one("suscripcion|subscripcion|inscripcion")),
		one("no quiero nada mas|no quiero nada mas de ustedes|ya no quiero nada|no quiero saber nada mas|"+
			"no escriban mas|no escriba mas|no llamen mas|no molesten|no molesten mas"),
		rows(one("quitenme|quiteme|quitame|quitadme|quitarme|saquenme|saqueme|sacame|sacadme|sacarme|eliminenme|"+
			"eliminame|borrenme|borrame|darme de baja|dame de baja"), fromLists()),
	)
}

func clearPortuguese() []string {
	stop := one("pare de|parem de|para de|parar de|deixe de|deixem de|chega de")
	return slices.Concat(
		rows(stop, one("me escrever|me contatar|me contactar|me incomodar|me perturbar|me ligar|me chatear|"+
			"encher o saco|me encher|me assediar|me importunar|receber|enviar|me enviar|me mandar mensagem|"+
			"mandar mensagem")),
		rows(one("nao"), one("me"), one("escreva|escrevam|contate|contatem|contacte|contactem|incomode|incomodem|"+
			"ligue|liguem|perturbe|perturbem"), one("mais|nunca mais")),
		rows(one("me deixe|me deixem|me deixa|deixe me|deixem me"), one("em paz")),
		rows(one("tire|tirem|tira|tirar|remova|removam|remover|apague|apaguem|apagar|apaga|exclua|excluam|excluir|"+
			"retire|retirem|retirar|deletem|delete|deletar"), one("o meu|meu|este|esse|os meus|meus"), one("numero|"+
			"contato|contacto|nome|telefone|cadastro|dados")),
		one("me descadastrar|me descadastre|me descadastrem|me remova|me removam|me tire|me tirem|me tira|"+
			"me exclua|me excluam|me retire|me retirem|nao quero mais mensagens|nao quero mais nada|"+
			"nao quero receber mais nada|nao quero nada mais|nao incomode|nao incomodem|nao incomodem mais"),
		rows(one("quero sair|desejo sair|gostaria de sair|me tirar|ser removido|ser removida|me remover|"+
			"me retirar|me excluir"), fromLists()),
		rows(one("cancelar|cancelem|cancele|cancela"), one("a minha|minha|a|essa"), one("inscricao|assinatura")),
	)
}

func clearDutch() []string {
	return slices.Concat(
		one("schrijf me uit|schrijf mij uit|schrijf me maar uit|meld me af|meld mij af|meld me maar af|"+
			"mij afmelden|me afmelden|me uitschrijven|mij uitschrijven|niet meer appen|niet meer sturen|"+
			"niet meer contacteren|niet meer berichten|geen contact meer"),
		rows(one("laat|laten jullie"), one("me|mij|ons"), one("met rust|met vrede")),
		rows(one("geen"), ofMessagesDutch, one("meer")),
		rows(one("val"), one("me|mij|ons"), one("niet|niet meer|niet langer"), one("lastig")),
		rows(one("app|bericht|contacteer|benader|bel|schrijf|sms"), one("me|mij|ons"), one("niet meer|nooit meer")),
		rows(one("haal|verwijder|schrap|gooi|wis|verwijderen"), one("me|mij|mijn nummer|mijn gegevens|"+
			"mijn telefoonnummer|dit nummer|mijn naam")),
		rows(one("haal|verwijder|schrap|gooi"), one("me|mij|mijn nummer|mijn gegevens|dit nummer|mijn naam"),
			one("van|uit"),
			one("de|jullie|deze|uw|je"), one("lijst|lijsten|bestand|database|systeem")),
		rows(one("ik wil|wil|ik hoef|hoef|ik wens"), one("deze berichten|die berichten|deze sms jes|"+
			"dit soort berichten|jullie berichten"), one("niet meer|niet langer")),
		rows(one("ik wil|wil|ik wens"), one("dit|dat"), one("niet meer|niet langer")),
		rows(one("mijn nummer|mijn gegevens|mij"), one("te verwijderen|verwijderen|wissen|schrappen")),
		rows(one("hou op|houd op|stop|ophouden|hou eens op|stop nu"), one("met"), one("|mij|me|mij te|me te|"+
			"ons te|het"),
			one("appen|sturen|berichten|smsen|sms en|spammen|lastigvallen|lastig te vallen|lastig vallen|stalken|"+
				"bellen|schrijven|contacteren|benaderen|berichten sturen|berichten te sturen|appjes sturen|dingen sturen")),
	)
}

func clearGerman() []string {
	stop := one("auf mir zu|auf mich zu|auf uns zu|auf damit mir zu")
	return slices.Concat(
		rows(one("melde|meld|meldet|melden sie|trage|trag|tragt|tragen sie|nehmen sie|nimm|nehmt"), one("mich"),
			one("|von der liste|von ihrer liste|aus der liste|aus ihrer liste|aus dem verteiler|von dieser liste|hier"),
			one("ab|aus|raus|runter|heraus")),
		rows(one("keine|keinen"), ofMessagesGerman, one("mehr")),
		rows(one("keine weiteren|keine weitere|keinerlei|keinerlei weitere"), one("nachrichten|sms|werbung|"+
			"mails|e mails|whatsapps|angebote|anzeigen|benachrichtigungen|anrufe und nachrichten")),
		one("keinen weiteren kontakt|keinerlei kontakt|keinerlei weiteren kontakt"),
		rows(one("ich will|ich mochte|ich moechte|wir wollen|wir mochten"), one("nie wieder|nie mehr|"+
			"nichts mehr"), one("|was|etwas"),
			one("von ihnen|von euch|von ihrer firma|von ihrer agentur|von dieser firma"), one("horen")),
		one("mich abmelden|mich abzumelden|mich austragen|mich auszutragen|mich loschen|mich zu loschen|"+
			"keinen kontakt mehr|nicht mehr schreiben|nicht mehr anschreiben|nicht mehr kontaktieren|nicht mehr texten"),
		rows(one("losch|losche|loscht|loschen sie|loesche|loeschen sie|entfernen sie|entferne|entfern|"+
			"streichen sie|streiche|vergessen sie|vergiss|vergesst"), one("meine nummer|meine telefonnummer|"+
			"meine handynummer|meine daten|meinen kontakt|mich|diese nummer"), one("|aus ihrer liste|aus der liste|"+
			"aus dem verteiler|aus ihrem verteiler|von ihrer liste|von der liste|aus ihren daten|aus eurer liste|"+
			"aus dem system")),
		rows(one("ich will|ich mochte|ich moechte|will|mochte|ich brauche"), one("diese nachrichten|"+
			"ihre nachrichten|diese sms|die nachrichten"), one("nicht mehr|nicht langer|nicht")),
		rows(one("ich will|ich mochte|ich moechte|will|mochte"), one("das|so was|sowas|so etwas"),
			one("nicht mehr|nicht langer")),
		rows(one("hor|hore|hort|horen sie|hoeren sie"), one("auf"), one("mir|uns|mich mit"), ofMessagesGerman,
			one("zu"), one("schreiben|schicken|senden")),
		rows(one("meine nummer|meine daten|meine telefonnummer|mich"), one("loschen|zu loschen|entfernen|"+
			"zu entfernen|streichen")),
		rows(one("lass|lasst|lassen sie"), one("mich|uns|meine nummer|mein handy|mein telefon|"+
			"diese nummer"), one("in ruhe|in frieden|zufrieden")),
		rows(one("schreib|schreibe|schreibt|schreiben sie|textet|texte|texten sie"), one("mir|mich|uns"),
			one("nicht mehr|nie wieder|nichts mehr|nie mehr|nicht mehr an|nicht wieder|nicht")),
		rows(one("kontaktieren sie|kontaktier|kontaktiere|kontaktiert|belastigen sie|belastige|belastigt|"+
			"storen sie|stor|nerven sie|nerv|nervt"), one("mich|uns"), one("nicht mehr|nie wieder|nicht langer|"+
			"nicht weiter|nicht")),
		rows(one("hor|hore|hort|horen sie|hoeren sie"), stop, one("schreiben|schicken|senden|texten|belastigen|"+
			"kontaktieren|storen|nerven|spammen|belaestigen")),
		rows(one("stoppen sie|stopp|stoppt|stoppe"), one("die|diese|ihre|das|den|eure|deine"), one("nachrichten|"+
			"sms|werbung|spam|mails|belastigung|mist")),
	)
}

// takings say that the person's number is to be taken away, and are a request with one of fromLists.
func takings() []string {
	return rows(one("nehmen sie|nimm|nehmt|streichen sie|streich|streicht|entfernen sie|loschen sie"), one("mich|uns|"+
		"meine nummer|meine telefonnummer|meine handynummer|meine daten|meinen namen|diese nummer"))
}

// ourThings are what people want in no list, with mustNotBe and inLists: "my number should not be in your database".
var ourThings = one("i|my number|my phone number|my name|my info|my contact|my contact info|my data|my details|" +
	"my phone|this number|mon numero|mon numero de telephone|mes coordonnees|mon nom|mes donnees|ce numero|mi numero|" +
	"mi numero de telefono|mis datos|mi nombre|mi telefono|mi contacto|este numero|meu numero|o meu numero|meus dados|" +
	"meu nome|meine nummer|meine telefonnummer|meine handynummer|meine daten|mein name|diese nummer|mich|uns")

func mustNotBe() []string {
	return slices.Concat(
		rows(one("should not|shouldn t|shouldnt|should never|must not|must never|is not supposed to|isn t supposed to|"+
			"was not supposed to|was never supposed to|has no reason to|has no right to|are not supposed to"),
			one("be|even be|have been|appear|be listed|be stored|be kept|be saved")),
		one("does not belong|doesn t belong|doesnt belong|has no business|has no business being|has no place|"+
			"have no place|do not belong|don t belong"), // English
		rows(one("ne devrait pas|devrait pas|ne devrait plus|ne doit pas|ne doit plus|n a pas a|n aurait jamais du|"+
			"n aurait pas du|ne devraient pas|ne doivent pas|n ont pas a"), one("etre|figurer|apparaitre|se trouver|"+
			"se retrouver")),
		one("n a rien a faire|a rien a faire|n a pas sa place|n ont rien a faire|n ont pas leur place"), // French
		rows(one("no deberia|no deberian|no debe|no deben|no tiene que|no tiene por que|no tienen por que|no tendria que|"+
			"nunca debio|no debio"), one("estar|aparecer|figurar")),
		one("no pinta nada|no tiene nada que hacer|no tiene nada que estar haciendo"),           // Spanish
		rows(one("nao deveria|nao deveriam|nao deve|nao devem"), one("estar|constar|aparecer")), // Portuguese
		one("gehort nicht|gehoren nicht|sollte nicht|sollten nicht|darf nicht|durfen nicht|soll nicht|sollte gar nicht|"+
			"durfte nicht|hat nichts zu suchen|hat nichts verloren|haben nichts zu suchen|haben nichts verloren"), // German
	)
}

// inLists are where the person's number must not be.
func inLists() []string {
	return slices.Concat(
		rows(one("in|on|part of"), one("|the|this|your|any|any of your|anyone s"), one("list|lists|database|data base|"+
			"system|contacts|records|files|phone|phones|mailing list|contact list|crm")),
		rows(one("dans|sur|parmi"), one("votre|vos|la|cette|ta|tes|ces|le|vos propres"), one("liste|listes|fichier|"+
			"fichiers|base de donnees|base|systeme|registre|registres|contacts|carnet|dossiers")),
		rows(one("en"), one("su|sus|la|tu|tus|vuestra|esta|ninguna"), one("lista|listas|base de datos|bases de datos|"+
			"sistema|contactos|agenda|registros|archivos|fichero")),
		rows(one("na|no|em|nos"), one("|sua|seu|suas|seus|dessa|nenhuma"), one("lista|listas|cadastro|base de dados|"+
			"sistema|contatos|agenda")),
		rows(one("in|auf|zu"), one("ihrer|ihrem|ihre|ihren|ihr|eurer|eurem|eure|euren|deiner|deine|der|dem|die|dieser|"+
			"diese"), one("liste|listen|verteiler|datenbank|system|kartei|kontakten|kontakte|adressbuch|verzeichnis|daten")),
	)
}
