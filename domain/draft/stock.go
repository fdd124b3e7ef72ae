package draft

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// outWords say that the product cannot be had, wherever in a line they stand; each holds none of the others.
var outWords = phrasesOf(slices.Concat(alertWords.list, []string{"out of stock", "sold out", "currently unavailable",
	"temporarily unavailable", "no longer available", "item is unavailable", "product is unavailable",
	"item unavailable", "product unavailable", "this listing was ended", "bidding has ended", "out-of-stock",
	"unavailable online", "currently not available", "not currently available", "no longer sold",
	"has been discontinued", "item discontinued", "product discontinued", "when or if this item will be back",
	"not in stock", "ausverkauft", "nicht auf lager", "derzeit nicht verfügbar", "derzeit nicht lieferbar",
	"zurzeit nicht", "momentan nicht", "aktuell nicht", "nicht mehr verfügbar", "nicht mehr lieferbar",
	"angebot wurde beendet", "rupture de stock", "en rupture", "actuellement indisponible",
	"temporairement indisponible", "momentanément indisponible", "plus disponible", "produit indisponible",
	"victime de son succès", "esaurito", "attualmente non disponibile",
	"non più disponibile", "inserzione è scaduta", "prodotto non disponibile", "momentaneamente non disponibile",
	"agotado", "sin stock", "fuera de stock", "producto no disponible", "no disponible por el momento", "esgotado",
	"produto indisponível", "fora de estoque", "sem estoque", "sem stock", "brak w magazynie", "produkt niedostępny",
	"wyprzedan", "vyprodané", "vyprodáno", "není skladem", "nie je skladom", "momentálne nedostupn",
	"momentálně nedostupn", "stoc epuizat", "nu este in stoc", "nu este în stoc", "nu mai este disponibil",
	"elfogyott", "nincs készleten", "uitverkocht", "niet op voorraad", "niet leverbaar", "tijdelijk niet", "udsolgt",
	"ikke på lager", "slutsåld", "slut i lager", "ej i lager", "utsolgt", "loppuunmyyty", "ei saatavilla", "tükendi",
	"stokta yok", "εξαντλήθηκε", "μη διαθέσιμο", "нет в наличии", "нет на складе", "распродан", "снят с производства",
	"немає в наявності", "няма наличност", "在庫切れ", "品切れ", "売り切れ", "在庫なし", "缺貨", "售完", "補貨中", "缺货", "无货", "無貨", "沒有貨",
	"沒有货", "没有货", "품절", "غير متوفر", "نفذت الكمية", "نفدت الكمية", "אזל מהמלאי", "สินค้าหมด", "hết hàng",
	"stok habis", "rasprodano", "ni na zalogi", "trenutno nedostup", "trenutno ni na", "nije dostupno",
	"nema na zalihi", "nema na stanju", "ni dobavljivo", "läbi müüdud", "pole saadaval", "otsas", "ei ole laos",
	"nav pieejam", "izpārdots", "nav noliktavā", "nėra sandėlyje", "išparduota", "išpirkta", "neturime",
	"nincs raktár", "jelenleg nem kapható", "stoc indisponibil", "indisponibil momentan", "изчерпан", "не е наличен",
	"няма в наличност", "немає на складі", "закінчився", "нет в продаже", "закончился", "товар отсутствует",
	"отсутствует в продаже", "ожидается поступление", "δεν είναι διαθέσιμο", "προσωρινά μη", "stokta kalmadı",
	"stokta bulunm", "temin edilemiyor", "המוצר אינו במלאי", "לא במלאי", "המלאי אזל", "אין במלאי", "לא זמין",
	"غير متاح", "نفذ المخزون", "نفد من المخزون", "انتهت الكمية", "판매종료", "판매 종료", "판매중지", "매진", "완판", "已下架",
	"售罄", "完售", "无库存", "無庫存", "販売終了", "完売", "販売を終了", "入荷待ち", "現在お取り扱い", "現在在庫", "取り扱いできません",
	"หมดสต็อก", "tạm hết", "ngừng kinh doanh", "tidak tersedia", "kehabisan stok", "habis dijual", "uppselt",
	"ekki til á lager", "tillfälligt slut", "väliaikaisesti loppu", "tilapäisesti loppu", "momenteel niet",
	"niet meer leverbaar", "niet beschikbaar", "nicht mehr erhältlich", "online nicht verfügbar",
	"online nicht lieferbar", "wieder verfügbar", "vorübergehend nicht", "zur zeit nicht", "stock épuisé",
	"article épuisé", "article est épuisé", "produit épuisé", "produit est épuisé", "temporairement épuisé",
	"non è più in vendita", "al momento non", "temporaneamente non", "temporalmente sin",
	"no está disponible", "ya no está", "indisponível no momento", "temporariamente indisponível",
	"chwilowo niedostępn", "produkt wycofany", "towar niedostępny", "brak towaru", "dočasně nedostupn",
	"dočasne nedostupn", "prodej ukončen", "predaj ukončen", "predaj bol ukončený", "coming back soon",
	"sorry, this item", "this product is no longer", "this item is no longer", "temporarily out", "temporarily sold",
	"all gone", "out of print", "not available for delivery", "not available to buy", "not available for purchase",
	"sale has ended", "listing has ended", "listing expired", "posting has expired", "posting has been deleted",
	"anzeige ist nicht mehr", "inserat ist nicht mehr", "vergriffen", "rupture temporaire", "bientôt de retour",
	"de retour bientôt", "produit discontinué", "article discontinué", "en réappro", "not enough products",
	"nicht genügend artikel", "nicht genügend produkte", "pas assez de produits", "pas assez d'articles",
	"non ci sono abbastanza prodotti in", "no hay suficientes productos", "onvoldoende producten", "stok kosong",
	"uit voorraad", "niet in voorraad", "ikke længere tilgængelig", "fuori stock",
	"retired product", "product has been retired", "product is retired", "auction has ended", "auction ended",
	"auction closed", "auction is closed", "bidding is closed", "bidding closed", "offer has ended", "offer has expired",
	"this item has sold", "already sold", "has been sold", "bereits verkauft", "wurde verkauft", "auktion beendet",
	"auktion ist beendet", "verkauf beendet", "déjà vendu", "a été vendu", "vente terminée", "enchère terminée",
	"enchères terminées", "annonce expirée", "offre expirée", "publicación pausada", "publicación finalizada",
	"anuncio finalizado", "subasta finalizada", "subasta cerrada", "ya vendido", "già venduto", "asta terminata",
	"asta conclusa", "annuncio scaduto", "já vendido", "anúncio finalizado", "anúncio pausado", "leilão encerrado",
	"reeds verkocht", "veiling gesloten", "veiling afgelopen", "oferta zakończona", "sprzedaż zakończona",
	"aukcja zakończona", "ogłoszenie nieaktualne", "aukce skončila", "aukcia skončila", "prodej skončil",
	"auktionen är avslutad", "redan såld", "allerede solgt", "huutokauppa on päättynyt", "продажа завершена",
	"аукцион завершён", "аукцион завершен", "лот продан"}))

// alertWords offer a message when the product is back. Templates keep such a form in the buy box of
// every product, and show it when it is needed.
var alertWords = phrasesOf([]string{"notify me when", "email me when", "e-mail me when", "back in stock",
	"join the waitlist",
	"join waitlist", "benachrichtigen sie mich, wenn", "m'avertir", "avvisami quando", "avísame cuando", "avise-me",
	"powiadom o dostępności", "powiadom mnie", "hlídat dostupnost", "strážiť dostupnosť", "сообщить о поступлении",
	"入荷お知らせ", "貨到通知", "到貨通知", "pranešti, kai", "értesítést kérek", "anunță-mă când", "anunta-ma cand",
	"повідомити про наявність", "уведомить о поступлении", "gelince haber ver", "עדכנו אותי", "أعلمني عند", "재입고",
	"in-stock alert", "auto notify", "stock alert", "alert me when", "tell me when it",
	"meddela mig när", "gi meg beskjed når", "giv mig besked når", "ilmoita kun", "mail mij wanneer", "mail me wanneer",
	"bei verfügbarkeit", "verfügbarkeit benachricht", "alerte stock", "avisarme cuando", "me avise quando",
	"notificar-me", "register your interest"})

// backAlone say in data that the product can be had again, where a clause says nothing else. On pages they are links.
var backAlone = []string{"back in stock", "now back in stock", "wieder verfügbar", "jetzt wieder verfügbar",
	"ab sofort wieder verfügbar"}

// cutAlerts leaves out of an availability, lower case, what says that it is back, and offers of a message when it is.
func cutAlerts(s string) (rest string, back, alert bool) {
	var kept []string
	for clause := range clauses(s) {
		if aloneOf(clause, backAlone) {
			back = true
			continue
		}
		end := len(clause)
		if n, _ := alertWords.find(clause); n >= 0 {
			end, alert = n, true
		}
		kept = append(kept, clause[:end])
	}
	return strings.Join(kept, ", "), back, alert
}

// outAlone say so where a line says nothing else but, perhaps, the thing that it speaks of.
var outAlone = []string{"unavailable", "not available", "discontinued", "nicht verfügbar", "nicht lieferbar",
	"non disponible", "indisponible", "épuisé", "épuisée", "discontinué", "non disponibile", "no disponible", "terminato",
	"scaduta",
	"indisponível",
	"niedostępny", "nedostupné", "není k dispozici", "indisponibil", "loppu", "habis", "ended", "sold",
	"no stock", "coming soon", "launching soon", "próximamente", "prossimamente", "demnächst",
	"vendu", "vendue", "verkauft", "vendido",
	"vendida", "venduto", "venduta", "verkocht", "sprzedane", "prodáno",
	"predané", "såld", "solgt", "myyty", "продано", "vândut", "eladva", "satıldı", "πουλήθηκε", "売約済み", "retired"}

// preWords say that it is yet to come, and backWords that it is ordered in for who buys it.
var (
	preWords = phrasesOf([]string{"pre-order", "preorder", "pre order", "vorbestell", "précommand", "pré-command",
		"preordina",
		"preordine", "reservar ahora", "preventa", "pre-venta", "pré-venda", "pré-encomend", "voorbestell",
		"przedsprzeda", "předobjed", "predobjed", "předprodej", "predpredaj", "förbeställ", "förhandsb", "forudbestil",
		"forhåndsb", "ennakkotila", "előrendel", "precomand", "ön sipariş", "предзаказ", "передзамов",
		"предварителна поръчка", "προπαραγγελία", "הזמנה מוקדמת", "الطلب المسبق", "طلب مسبق", "予約", "預購", "预购", "預售",
		"预售", "예약구매", "예약 구매", "예약판매", "พรีออเดอร์", "đặt trước", "prednarudžb", "prednaroč", "eeltellim",
		"išankstinis užsakymas", "priekšpasūtī"})
	backWords = phrasesOf([]string{"backorder", "back-order", "back order", "nachbestellung", "nachbestellt",
		"nabestelling", "restordre"})
	// orderWords say so of what is out of stock: alone, "sur commande" is what is made for who buys it.
	orderWords = phrasesOf([]string{"available to order", "available on order", "available by order", "can be ordered",
		"can still be ordered", "special order", "order now", "order it now", "order today", "we can order",
		"sur commande", "commandez", "commander maintenant", "peut être commandé", "commande possible",
		"auf bestellung", "bestellbar", "bestellt werden", "für sie bestellt", "bestellung möglich",
		"wir bestellen", "bajo pedido", "sobre pedido", "por encargo", "encargar", "se puede pedir", "ordinabil",
		"su ordinazione", "su richiesta", "si può ordinare", "sob encomenda", "sob pedido", "pode ser encomendado",
		"op bestelling", "te bestellen", "na zamówienie", "na objednávku", "på bestilling", "på beställning"})
)

// inWords say that the product can be had, if nothing denies it.
var inWords = phrasesOf([]string{"in stock", "auf lager", "lieferbar", "verfügbar", "vorrätig", "existencias",
	"existências",
	"en stock", "disponibile",
	"disponible", "em estoque", "disponível", "in magazzino", "na skladě", "skladem",
	"skladom", "w magazynie", "dostępny", "dostępna", "dostępne", "in stoc", "disponibil", "raktáron",
	"op voorraad", "leverbaar", "beschikbaar", "på lager", "i lager", "tilgængelig", "tillgänglig", "tilgjengelig",
	"varastossa", "saatavilla", "laos", "saadaval", "ir noliktavā", "pieejams", "pieejama", "yra sandėlyje",
	"turime", "na zalogi", "dobavljivo", "na zalihi", "na stanju", "dostupno", "na lageru", "készleten", "налично",
	"в наличност", "на складе", "במלאי", "متاح", "재고 있음", "구매 가능", "库存充足", "庫存充足", "尚有庫存", "有库存", "มีสินค้า",
	"còn hàng", "tersedia", "til á lager", "stokta var", "σε απόθεμα", "άμεσα διαθέσιμο", "в наличии",
	"є в наявності", "в наявності", "доступен", "доступно", "在庫あり", "有貨", "有货", "現貨", "متوفر", "available",
	"nur noch"})

// nots deny words that follow within a few words of them, noNouns words that follow at once: "no reviews are available"
// says nothing of the product.
var (
	nots = wordSet(`not nicht non niet pas ikke inte ej ei nie ne nu no não nao не ні není nije nincs nem isn't
		isn’t aren't aren’t n'est`)
	noNouns = wordSet(`0 zero kein keine keiner geen ingen inget nessun aucun ningún ninguna brak нет sem sin senza`)
	// denials are answers after a colon.
	denials = wordSet(`0 no out none nein nicht non niet nej nei nee nie ne não nao нет немає ei hayır zero`)
)

// stockLabels are labels before a colon and a denial.
var stockLabels = cuesOf([]string{"availability", "available", "verfügbar*", "lieferbar*", "lager", "lagerbestand",
	"disponibil*", "disponible", "disponív*", "estoque", "magazzino", "voorraad", "beschikbaar*", "dostępno*",
	"dostupnos*", "skladem", "skladom", "наличи*", "stan magazynowy", "készlet*", "raktár*", "stok*", "stoc*",
	"tình trạng", "laoseis", "zaloga", "zaliha", "likutis", "สถานะสินค้า"})

// otherThings are things beside the product that may be unavailable.
var otherThings = cuesOf([]string{"shipping", "delivery", "pickup", "pick up", "pick-up", "collect", "collection",
	"store",
	"return", "review", "rating", "image", "photo", "video", "description", "coupon", "gift", "financing", "installment",
	"abholung", "filiale", "markt", "versand", "lieferung", "livraison", "retrait", "magasin", "ritiro", "negozio",
	"spedizione", "tienda", "recogida", "envío", "loja", "odbiór", "winkel"})

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// inStock reads a line, lower case: whether it says that the product can be had, or that it cannot. A denial counts
// within its clause: "no minimum, in stock".
func inStock(line string) (in, out bool) {
	if strings.IndexByte(line, ':') < 0 && !inWords.in(line) {
		return false, false
	}
	for clause := range clauses(line) {
		if subject, answer, ok := strings.Cut(clause, ":"); ok {
			answer = strings.TrimLeft(answer, " :")
			word, rest, _ := strings.Cut(answer, " ")
			if denials[word] && len(rest) < 12 && stockLabels.in(subject) && !otherThings.in(subject) {
				return false, true
			}
		}
		w, n := inWords.first(clause)
		if n < 0 {
			continue
		}
		before := clause[:n]
		if endsSoon(before, w) {
			return false, true
		}
		before = before[strings.LastIndexByte(before, ':')+1:]
		switch {
		case !denied(before, w):
			in = true
		case !otherThings.in(clause):
			return false, true
		}
	}
	return in, false
}

// clauses yields the parts of a line that stand between commas and such.
func clauses(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i < len(line); i++ {
			if strings.IndexByte(",;.!|", line[i]) < 0 || i+1 < len(line) && line[i+1] != ' ' {
				continue
			}
			if !yield(line[start:i]) {
				return
			}
			start = i + 1
		}
		yield(line[start:])
	}
}

// denied says that the words before one of inWords deny it.
func denied(before, in string) bool {
	words := strings.Fields(before)
	for k := 1; k <= 3 && k <= len(words); k++ {
		w := strings.Trim(words[len(words)-k], "()\"'*-–")
		if k == 1 && (noNouns[w] || nots[w]) {
			return true
		}
		if !nots[w] {
			continue
		}
		next := words[len(words)-k+1]
		switch {
		case w == "no" && (digits(next) > 0 || in == "available" || in == "in stock"): // item no 12345; no reviews available
		case w == "ne" && next == "reste": // … que 2
		default:
			return true
		}
	}
	return false
}

// later is PreOrder or BackOrder where a line, lower case, says so, else "". What is in stock now may say that more can
// be ordered in, in parentheses or behind it: "In stock, backorders allowed".
func later(line string) Availability {
	if _, answer, ok := strings.Cut(line, ":"); ok && denials[strings.Trim(answer, " .")] {
		return "" // "Pre-order: no"
	}
	if preWords.in(line) {
		return PreOrder
	}
	if line, _, _ = strings.Cut(line, "("); !backWords.in(line) {
		return ""
	}
	for clause := range clauses(line) {
		if backWords.in(clause) {
			return BackOrder
		}
		if in, _ := inStock(clause); in {
			return ""
		}
	}
	return ""
}

// isStatus says that a clause of the line of the element i, lower case, is one of preWords, or begins with one of
// backWords, and no control of the page and no heading or label of a text about it: "Preventa. Disponible en abril".
func (p *page) isStatus(i int, line string, when Availability) bool {
	for level := 0; i >= 0 && level < 3; i, level = p.els[i].parent, level+1 {
		switch p.els[i].tag {
		case atom.A, atom.Button, atom.Label, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt, atom.Th,
			atom.Summary:
			return false
		}
	}
	for clause := range clauses(line) {
		clause, _, labelled := strings.Cut(strings.TrimSpace(clause), ":")
		back := strings.TrimPrefix(strings.TrimPrefix(clause, "available "), "on ")
		if when == BackOrder && !labelled && slices.ContainsFunc(backWords.list, func(w string) bool {
			return strings.HasPrefix(back, w)
		}) {
			return true
		}
		for _, w := range preWords.list {
			rest, ok := strings.CutPrefix(clause, w)
			if ok && len(rest) <= 4 && rest != "s" && rest != "es" { // several are other people's
				return true
			}
		}
	}
	return false
}

// stockShown reads the visible text for whether the product can be had: the sum of the signs for and against, above 0
// in stock. A line counts by how near to the product's name and to the button it is. when is PreOrder or BackOrder
// where a short line says so; plain says that the line is about stock and nothing else, so that a button that buys
// orders it.
func (p *page) stockShown() (points float64, when Availability, plain bool) {
	from, to := 0, len(p.text)
	if p.title >= 0 {
		from = max(p.els[p.title].start-300, 0)
		to = min(p.els[p.title].end+6000, len(p.text))
	} else {
		to = min(to, 8000)
	}
	cover := p.coverer()
	lower := ""
	var ways ways
	for start, line := range p.lines() {
		if start < from || start > to || len(line) > 120 {
			lower = ""
			continue
		}
		above := lower
		lower = p.withoutName(strings.ToLower(line))
		said := p.saidOfStock(start, line, lower, above)
		if said == (stockSaid{}) {
			continue
		}
		out, in, before := said.out, said.in, said.before
		i := cover(start, start+len(line))
		if i < 0 || p.beside(i) {
			continue
		}
		if p.veiledAt(i) || p.optional(i) || strings.Contains(lower, "?") ||
			out && (!ofWhole(lower, p.name) || p.amongChoices(i, line) || p.inButton(i, lower) ||
				p.underContent(i, lower, above)) {
			p.unheeded = p.unheeded || out
			continue
		}
		if out && p.button >= 0 && p.els[p.button].start > start && !alertWords.in(lower) && p.sellsAnother() {
			p.button = -1
		}
		way := out && ofWay(lower, above)
		online := out && !way && ofOnline(lower, above)
		if out && !way && !alertWords.in(lower) && p.inOwnBox(i) {
			p.boxOut, ways.boxOut = p.boxOut || !online, true
		}
		if in && (p.boxOut || ways.boxOut && !said.ready) { // another seller's
			continue
		}
		times := 1 / (1 + float64(start-from)/stockReach)
		if p.named(i, stocks) || out && answersStock(lower, above) {
			times *= p.w[stockNamed]
		}
		if len(line) > 60 {
			times *= p.w[stockLong]
		}
		switch {
		case way || online:
			ways.out += p.w[stockOut] * times
		case out:
			points += p.w[stockOut] * times
		case said.ready && before == "":
			ways.ready = true
			if in {
				points += p.w[stockIn] * times
			}
		case before != "":
			short, status := utf8.RuneCountInString(line) < 40, p.isStatus(i, lower, before)
			if own := said.ordered || status || short && p.named(i, stocks); own && !plain || short && when == "" {
				when, plain = before, own
			}
		default:
			points += p.w[stockIn] * times
		}
	}
	if points += ways.points(); ways.out != 0 && ways.ready {
		p.unheeded = true
	}
	p.boxOut = p.boxOut || ways.boxOut && !ways.ready
	if p.sells() && !p.boxOut {
		points += p.w[stockButton]
	}
	return points, when, plain
}

// stockSaid is what a line says of stock.
type stockSaid struct {
	out, in bool         // something cannot be had, or can
	before  Availability // see later
	ready   bool         // see readyBy
	ordered bool         // it is out of stock, and ordered in for who buys it
}

// saidOfStock reads a line that begins at a place, and is below the line above; both lower case, too.
func (p *page) saidOfStock(start int, line, lower, above string) (s stockSaid) {
	s.out = outWords.in(lower) || aloneOf(lower, outAlone)
	if !s.out && len(lower) < 80 {
		if s.in, s.out = inStock(lower); s.out && otherThings.in(above) { // "Click & Collect" / "Not available"
			return stockSaid{}
		}
	}
	if rest := p.withoutAmount(start, line); rest != "" && aloneOf(rest, outAlone) {
		s.out = true
	}
	s.before, s.ready = later(lower), !s.out && readyBy(lower, above, s.in)
	if s.out && s.before == "" && orderWords.in(lower) {
		s.before = BackOrder
	}
	if s.ordered = s.out && s.before == BackOrder && ordersIn(lower) && ofWhole(lower, p.name) && p.sells(); s.ordered {
		s.out = false
	}
	return s
}

// ordersIn says that a line, lower case, has one of backWords or orderWords in a clause that denies nothing: "Nicht auf
// Lager – wird nachbestellt", but not "Sold out, no backorders".
func ordersIn(line string) bool {
	for clause := range clauses(line) {
		clause = clause[lastDash(clause):]
		no := slices.ContainsFunc(strings.Fields(clause), func(w string) bool { return nots[w] || noNouns[w] })
		if !no && (backWords.in(clause) || orderWords.in(clause)) {
			return true
		}
	}
	return false
}

// mentionsOut says that a line of the page, wherever it stands, says of something that it is sold out.
func (p *page) mentionsOut() bool {
	for _, line := range p.lines() {
		if len(line) <= 120 && outWords.in(strings.ToLower(line)) {
			return true
		}
	}
	return false
}

// answersStock says that a line, lower case, is nothing but an answer to whether the product is in stock: behind a
// colon, "Availability: out of stock", or below the line above.
func answersStock(line, above string) bool {
	label, answer, ok := strings.Cut(line, ":")
	if !ok {
		label, answer = above, line
	}
	return len(label) < 30 && (stockLabels.in(label) || statusLabels.in(label)) &&
		!otherThings.in(label) && (aloneOf(answer, outWords.list) || aloneOf(answer, outAlone))
}

// statusLabels are labels of stock that no denial is looked for behind.
var statusLabels = cuesOf([]string{"stock", "stock status", "availability status", "disponibilité", "disponibilità",
	"disponibilidad", "disponibilidade", "verfügbarkeit", "наявність", "наличие", "tillgänglighet", "tilgængelighed",
	"saatavuus", "dostupnost*", "διαθεσιμότητα", "beschikbaarheid"})

// inButton says that the line of the element i, lower case, is in the button that buys, and not all that it says: it
// may hold the text of a product that is sold out, too, for the style sheet to choose.
func (p *page) inButton(i int, line string) bool {
	if p.button < 0 || !p.els[p.button].inside(p.button, i) {
		return false
	}
	return buysBy(line) || strings.ToLower(p.of(p.button)) != line
}

// inOwnBox says that an element is in the product's own buy box, which has no button that buys: one further down, and
// offers in stock, are other sellers'. A button before it is the product's, and the line speaks of something else.
func (p *page) inOwnBox(i int) bool {
	e := &p.els[i]
	if p.title < 0 || e.start < p.els[p.title].end || p.button >= 0 && p.els[p.button].start < e.start {
		return false
	}
	for level := 0; i >= 0 && level < 6; i, level = p.els[i].parent, level+1 {
		if p.holdsTitle(i) || p.button >= 0 && p.els[i].inside(i, p.button) {
			return false
		}
		if p.els[i].own&buys != 0 && p.els[i].tag != atom.Button {
			return true
		}
	}
	return false
}

// aloneOf says that a line is one of the words, or ends in one after a colon.
func aloneOf(s string, list []string) bool {
	if n := strings.LastIndexByte(s, ':'); n >= 0 {
		s = s[n+1:]
	}
	return slices.Contains(list, strings.Trim(s, " .!"))
}

// longWord says that a word may go on.
func longWord(w string) bool { return len(w) >= 9 || w[len(w)-1] >= utf8.RuneSelf }

// optional says that an element is one of the choices of a product: that a size is sold out does not say that all are.
func (p *page) optional(i int) bool {
	for level := 0; i >= 0 && level < 6; i, level = p.els[i].parent, level+1 {
		if p.holdsTitle(i) {
			return false
		}
		e := &p.els[i]
		if e.own&option != 0 && !p.holdsTag(i, atom.Form) || e.tag == atom.Option || e.tag == atom.Select ||
			attr(e.node, "role") == "option" {
			return true
		}
	}
	return false
}

// named says that an element or one of the next three around it has a mark of its own.
func (p *page) named(i int, m mark) bool {
	for level := 0; i >= 0 && level < 4; i, level = p.els[i].parent, level+1 {
		if p.els[i].own&m != 0 {
			return true
		}
	}
	return false
}

// soonest orders availabilities: of the offers of a product, one for each of its sizes, the first to be had counts.
func soonest(a Availability) int {
	return slices.Index([]Availability{InStock, PreOrder, BackOrder, OutOfStock, Discontinued}, a)
}

// availability decides whether the product can be had. Data is taken at its word, in stock if any of its offers is,
// unless the page plainly says otherwise. A page that names a price and says nothing sells it.
func (p *page) availability(offers []offer, meta map[string][]string, st state, sold bool) *Found[Availability] {
	told := map[Source]Availability{}
	var order []Source
	tell := func(s Source, a Availability) {
		if a == "" {
			return
		}
		if old, ok := told[s]; !ok {
			told[s] = a
			order = append(order, s)
		} else if soonest(a) < soonest(old) {
			told[s] = a
		}
	}
	for _, o := range offers {
		tell(o.source, o.availability)
	}
	for _, key := range []string{"product:availability", "og:availability"} {
		for _, v := range meta[key] {
			tell(OpenGraph, availabilityOf(v))
		}
	}
	shown, when, plain := p.stockShown()
	if len(order) > 0 {
		source := order[0]
		a := told[source]
		switch {
		case a == InStock && several(offers, source): // the page may speak of the size that it shows
		case a == InStock && (p.boxOut || shown < stockSurelyOut && !p.sells()):
			a, source = OutOfStock, Page
		case a == InStock && plain: // shops that sell ahead have their software say so of all that they sell
			a, source = when, Page
		case a == InStock && p.preOrders():
			a, source = PreOrder, Page
		case a == OutOfStock && shown > stockSurelyIn:
			a, source = InStock, Page
		}
		for n, s := range order {
			why := Weaker
			if n == 0 { // the first is what the data says, so only the page can say otherwise
				why = Contradicted
			}
			if told[s] != a {
				p.lose("availability", string(told[s]), s, why)
			}
		}
		return foundAs(a, source)
	}
	switch {
	case shown < stockNo:
		return foundAs(OutOfStock, Page)
	case when != "" && (plain || shown < stockPreOrder):
		return foundAs(when, Page)
	case shown > stockYes:
		return foundAs(InStock, Page)
	case sold && !p.sells() && st.no > 0 && st.in == 0:
		return foundAs(OutOfStock, Page)
	case sold:
		return foundAs(InStock, Assumed)
	}
	return nil
}
