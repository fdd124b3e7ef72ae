package draft

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// A line that says "sold out" speaks of the whole product, or of one of the forms in which it is sold, of one offer
// beside others, or of no product at all. What follows tells the first from the rest.

// choiceWords name that in which the forms of a product differ.
var choiceWords = cuesOf([]string{"size*", "colour*", "color*", "variant*", "variation*", "option*", "selected",
	"selection",
	"combination*", "configuration*", "shade*", "pack of", "größe*", "farb*", "ausführung*", "auswahl", "ausgewählt*",
	"taille*", "couleur*", "déclinaison*", "pointure*", "sélection*", "talla*", "combinación", "seleccionad*",
	"taglia", "taglie", "misura", "selezionat*", "tamanho*", "cor", "cores", "selecionad*", "maat",
	"maten", "kleur*", "geselecteerd*", "rozmiar*", "kolor*", "wariant*", "velikost*", "veľkos*", "barv*",
	"storlek*", "färg*", "størrelse*", "farve*", "farge*", "koko", "väri*", "méret*", "szín*", "mărime*", "culoare*",
	"suurus", "izmērs", "dydis", "veličin*", "boja", "beden*", "renk*", "размер*", "цвет*", "розмір*", "колір*",
	"μέγεθος", "χρώμα", "מידה", "צבע", "المقاس", "اللون", "*サイズ*", "*カラー*", "*尺寸*", "*尺碼*", "*尺码*", "*顏色*", "*颜色*",
	"*사이즈*", "*색상*", "*옵션*"})

// everyWords make of choiceWords the whole product.
var everyWords = cuesOf([]string{"all", "every", "alle*", "jede*", "toutes", "tous", "tutte", "tutti", "todas", "todos",
	"wszystkie", "všechny", "všetky", "kaikki", "все", "всех", "*全*", "*모든*"})

// nearly are words before "sold out" that say that it is not, yet.
var nearly = []string{"almost", "nearly", "often", "soon", "before it is", "before it's", "fast", "beinahe", "bald",
	"oft", "presque", "bientôt", "quasi",
	"presto", "casi", "pronto", "quase", "bijna", "prawie", "téměř", "takmer", "snart",
	"nästan", "næsten", "nesten", "melkein", "lähes", "почти", "majdnem", "aproape"}

// soonWords say before one of inWords that it is not yet: "Pronto estarán en stock".
var soonWords = wordSet("soon bald demnächst pronto bientôt presto breve binnenkort wkrótce snart kohta brzy čoskoro скоро")

// endsSoon says that one of the last two words of a text before some of inWords is one of soonWords. A dash or a colon
// parts it, "Order soon – in stock", and in Italian and Portuguese "pronto" is ready: "pronto in magazzino".
func endsSoon(before, in string) bool {
	words := strings.Fields(before[lastDash(before):])
	for _, w := range words[max(len(words)-2, 0):] {
		if w = strings.Trim(w, "()\"'*-–¡"); soonWords[w] && (w != "pronto" || !ofReady[in]) {
			return true
		}
	}
	return false
}

// ofReady are those of inWords before which "pronto" is ready.
var ofReady = map[string]bool{"disponibile": true, "in magazzino": true, "disponível": true, "em estoque": true}

// lastDash is where a text goes on behind the last dash that stands by itself.
func lastDash(s string) (at int) {
	for _, dash := range []string{" - ", " – ", " — "} {
		if n := strings.LastIndex(s, dash); n >= 0 {
			at = max(at, n+len(dash))
		}
	}
	return at
}

// conditions begin sentences about what happens when something is sold out.
var conditions = []string{"if", "when", "once", "in case", "items", "products", "wenn", "falls", "sollte*", "sofern",
	"si", "lorsqu*", "quand", "en cas de", "se", "qualora", "quando", "cuando", "als", "wanneer", "jeśli", "gdy", "pokud",
	"ak", "hvis", "om", "jos", "если", "якщо", "ha", "dacă", "eğer"}

// wholeSubjects are what a line may say before a colon or a dash and still speak of the whole product, beside
// stockLabels and the product's name.
var wholeSubjects = cuesOf([]string{"status", "availab*", "disponibilit*", "disponibilidad*", "verfügbarkeit",
	"stock*", "lager*", "statut", "stato", "estado", "stan", "stav", "beschikbaarheid", "tillgänglighet", "tilgængelighed",
	"tilgjengelighet", "saatavuus", "наличие", "наявність", "διαθεσιμότητα", "online", "sorry", "unfortunately", "leider",
	"désolé", "helaas", "temporal*", "midlertidig*", "laos", "laost", "toode", "currently", "momentan*", "note", "notice",
	"hinweis", "attention", "sold by us", "this", "dieser", "ce", "cet", "este", "dit", "item", "product",
	"article", "artikel", "produit", "prodotto", "producto", "produto", "produkt", "товар*", "*商品*", "*상품*",
	"*庫存*", "*库存*", "*在庫*", "*재고*", "זמינות", "מלאי", "התוצר", "التوفر"})

// theseWords make the product of otherThings: "this gift set", "in store and online".
var theseWords = cuesOf([]string{"this", "dieser", "diese", "ce", "cet", "cette", "questo", "questa", "este", "esta",
	"deze", "dit", "online"})

// formName is a form of a product by itself: a letter or figures of a size, an amount with its unit.
var formName = regexp.MustCompile(`^(?:(?:uk|us|eu|it|fr|de)? ?` +
	`(?:x{0,4}[sl]|m|one size|small|medium|large|extra (?:small|large)|\d{1,4}(?:[.,/]\d{1,2}|½)?(?:-\d{1,4})?)` +
	`(?: ?(?:uk|us|eu|cm|mm|m|in|inch(?:es)?|"|″|ml|cl|l|g|kg|mg|oz|lbs?|gb|tb|w|v|` +
	`pcs|pack|years?|yrs?|months?|ans|mois|` +
	`jahre|monate|t|y|stück|st))?)(?: ?[/,+] ?[\pL\d ]{1,20})?$`)

// inOther are the words behind "sold out in" that do not lead to a form of the product.
var inOther = wordSet(`our the this all every stock online
	ligne línea linea este esta estos ce cet cette ces questo questa
	deze dit diesem dieser unserem allen aller alle toutes tous tutte tutti todas todos everything momento moment nuestra
	notre most any`)

// ofWhole says of a line, lower case, which says that something cannot be had, that it speaks of the whole product,
// which is called name.
func ofWhole(lower, name string) bool {
	start, end := outAt(lower)
	if start < 0 { // a denial: "nicht lieferbar"
		start, end = len(lower), len(lower)
	}
	before, after := lower[:start], lower[end:]
	clause := before
	for _, stop := range []string{". ", "! ", ", "} {
		if n := strings.LastIndex(clause, stop); n >= 0 {
			clause = clause[n+len(stop):]
		}
	}
	if clause = strings.TrimLeft(clause, " ¡¿(*•·-–—"); beginsWithAny(clause, conditions) {
		return false
	}
	if endsInAny(strings.TrimRight(before, " (-–"), nearly) {
		return false
	}
	if otherThings.in(clause) && !theseWords.in(clause) &&
		!otherThings.in(strings.ToLower(name)) && !(gone(lower[start:end]) && onWay(clause)) {
		return false // "Pickup currently unavailable"
	}
	if choiceWords.in(lower) {
		return everyWords.in(lower)
	}
	for _, in := range []string{" in ", " en ", " em "} {
		if rest, ok := strings.CutPrefix(after, in); ok {
			word, _, _ := strings.Cut(rest, " ")
			return inOther[strings.Trim(word, ".,!")] || bothWays.in(rest)
		}
	}
	subject := strings.TrimRight(clause, " :：-–—|/·•(（[【,")
	if subject == "" {
		return true
	}
	if formName.MatchString(subject) {
		return false
	}
	if subject == strings.TrimRight(clause, " ") { // no separator: a sentence
		return true
	}
	key := " " + labelKey(subject) + " "
	return wholeSubjects.in(subject) || stockLabels.in(subject) || otherThings.in(subject) || // of a way: see above
		strings.Contains(" "+labelKey(name)+" ", key)
}

// underContent says that a line of the element i, lower case, says of what the heading or label above it names, a part
// of the page, that it is missing: "Assembly video", above "Coming soon".
func (p *page) underContent(i int, line, above string) bool {
	what, _, _ := strings.Cut(above, "(")
	if outWords.in(line) || !endsInAny(what, contentEnds) && !beginsWithAny(what, contentBegins) {
		return false
	}
	for p.els[i].parent >= 0 && p.els[p.els[i].parent].start == p.els[i].start {
		i = p.els[i].parent
	}
	for k := i - 1; k >= 0 && p.els[k].last < i && !p.holdsTitle(k); k = p.els[k].parent {
		switch p.els[k].tag {
		case atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt, atom.Th, atom.Summary:
			return true
		}
	}
	return false
}

// The ends and the beginnings of headings of parts of a page that may be missing.
var (
	contentEnds = []string{"video", "videos", "photos", "images", "reviews", "ratings", "manual", "manuals", "guide",
		"instructions", "size chart", "datasheet", "data sheet", "brochure", "tutorial", "pdf", "vidéo", "vidéos",
		"avis", "avis clients", "mode d'emploi", "fiche technique", "anleitung", "montageanleitung",
		"bedienungsanleitung", "aufbauanleitung", "gebrauchsanleitung", "handbuch", "datenblatt",
		"bewertungen", "kundenbewertungen", "bilder", "fotos", "vídeo", "vídeos", "opiniones", "recensioni",
		"avaliações", "handleiding", "beoordelingen"}
	contentBegins = []string{"vidéo", "vidéos", "notice d*", "guide d*", "mode d'emploi", "photos d*", "avis d*",
		"fiche technique", "vídeo d*", "vídeos d*", "video d*", "manual d*", "guía d*", "ficha técnica", "fotos d*",
		"manuale d*", "guida a*", "scheda tecnica", "guia d*"}
)

// goneWords say of outWords that there is none left, which can be said of no delivery: "Delivery: sold out" is the
// product's.
var goneWords = wordSet(`sold ausverkauft vergriffen épuisé rupture agotado esaurito esgotado uitverkocht wyprzedan
	vyprodáno slutsåld utsolgt udsolgt loppuunmyyty tükendi`)

func gone(out string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(out, "en "), " ")
	return goneWords[first] || first == "out" && strings.HasPrefix(rest, "of stock")
}

// onWay says that of otherThings a clause has only the ways in which a product is sent.
func onWay(clause string) bool {
	for _, w := range []string{"shipping", "delivery", "versand", "lieferung", "livraison", "spedizione", "envío"} {
		clause = strings.ReplaceAll(clause, w, "")
	}
	return !otherThings.in(clause)
}

// The ways in which a product is had, by what its page says of each: sold out for delivery, it may be there to be
// picked up.
type ways struct {
	out    float64 // the points of those that are sold out
	ready  bool    // another is not
	boxOut bool    // the own buy box says that it is sold out, perhaps online only
}

// points is what the ways that are sold out are worth: nothing where the product can be had in another.
func (w ways) points() float64 {
	if w.ready {
		return 0
	}
	return w.out
}

// longestWay is how long a line is, in bytes, that names a way and nothing else: "Delivery", above "Sold out".
const longestWay = 30

// ofWay says that a line which says that something is sold out, lower case, or the one above it, names a way in which a
// product is had.
func ofWay(lower, above string) bool {
	return otherThings.in(lower) || len(above) < longestWay && otherThings.in(above)
}

// ofOnline says the same of what is sold by the shop's site: "Online: sold out", above "In store: available".
func ofOnline(lower, above string) bool {
	return onlineWords.in(lower) || len(above) < longestWay && onlineWords.in(above)
}

var onlineWords = cuesOf([]string{"online", "en ligne", "web", "webshop", "website", "onlineshop", "internet",
	"our site", "notre site", "le site", "en línea", "sul sito", "sito web", "no site", "de site"})

// readyBy says that a line, lower case, says that the product is there to be picked up; in says that by the line it can
// be had.
func readyBy(lower, above string, in bool) bool {
	return (pickupWords.in(lower) || len(above) < longestWay && pickupWords.in(above)) && (in || readyWords.in(lower))
}

var (
	pickupWords = cuesOf([]string{"pickup", "pick up", "pick-up", "collect", "collection", "in store", "in-store",
		"abholung", "filiale", "geschäft", "laden", "boutique", "markt",
		"retrait", "magasin", "ritiro", "negozio", "tienda", "recogida", "loja", "odbiór", "winkel", "afhalen"})
	readyWords = cuesOf([]string{"ready", "today", "within", "abholbereit", "bereit", "heute", "prêt", "sous", "pronto",
		"oggi", "listo", "hoy", "klaar", "vandaag"})
)

// withoutAmount is a line that begins at a place, lower case and without the one amount in it: of "22,00 € Épuisé" the
// badge beside the price. "" = it has none, or more.
func (p *page) withoutAmount(start int, line string) string {
	if len(line) > 50 {
		return ""
	}
	n, _ := slices.BinarySearchFunc(p.spans, start, func(s span, at int) int { return s.start - at })
	end := start + len(line)
	if n == len(p.spans) || p.spans[n].end > end || n+1 < len(p.spans) && p.spans[n+1].start < end {
		return ""
	}
	rest := line[:p.spans[n].start-start] + line[p.spans[n].end-start:]
	return strings.ToLower(strings.Trim(rest, " -–·|,()"))
}

// outNames are the parts of the product's names that have the words for sold out in them, lower case, each with the
// word that follows: "sold out tour" of "Sold Out Tour T-Shirt". Words that nothing follows, or a sign, are no part of a
// name, "Lamp – Sold out", nor are those that stand out, "SOLD OUT Lamp", nor those that another of the names has not.
func outNames(names []string) []string {
	var out []string
	for _, name := range names {
		as := name
		name = strings.ToLower(name)
		start, end := outAt(name)
		for start >= 0 && goesOn(name, end) { // "Ausverkaufte Träume"
			_, size := utf8.DecodeRuneInString(name[end:])
			end += size
		}
		if start < 0 || !strings.HasPrefix(name[end:], " ") || len(as) == len(name) && shouted(as[start:end], as[end:]) {
			continue
		}
		next := strings.IndexFunc(name[end+1:], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if next < 0 {
			next = len(name) - end - 1
		}
		if next > 0 && !behindOut[name[end+1:end+1+next]] && !calledWithout(names, name[:start]+name[end:]) {
			out = append(out, name[start:end+1+next])
		}
	}
	return out
}

// calledWithout says that one of the names is what is left of another without the words for sold out, or begins with
// it.
func calledWithout(names []string, rest string) bool {
	rest = labelKey(rest)
	return slices.ContainsFunc(names, func(name string) bool {
		tail, ok := strings.CutPrefix(labelKey(name), rest)
		return ok && rest != "" && (tail == "" || tail[0] == ' ')
	})
}

// outAhead are the words for sold out that are before no noun in their languages: a name that begins with one says that
// the product is, "Ausverkauft Lampe", but where it can be bought.
var outAhead = wordSet(`ausverkauft vergriffen agotado agotada agotados agotadas esgotado esgotada esaurito esaurita épuisé
	épuisée uitverkocht udsolgt utsolgt slutsåld slutsålt loppuunmyyty vyprodáno vypredané elfogyott tükendi rasprodano`)

// behindOut are words that go on with a statement: "sold out online".
var behindOut = wordSet("online at in until till for on and again now bis im und en et y e em i w v")

// shouted says that words are in capitals, and the word behind them is not: "SOLD OUT Lamp".
func shouted(words, behind string) bool {
	next, _, _ := strings.Cut(strings.TrimLeft(behind, " "), " ")
	return words == strings.ToUpper(words) && next != strings.ToUpper(next)
}

// withoutName cuts out of a line, lower case, what is a part of the product's name.
func (p *page) withoutName(line string) string {
	for _, part := range p.outNames {
		if first, _, _ := strings.Cut(part, " "); outAhead[first] && !p.sells() {
			continue
		}
		line = strings.ReplaceAll(line, part, "")
	}
	return line
}

// bothWays are, behind "out of stock in store", the other way in which the product is sold.
var bothWays = cuesOf([]string{"and online", "& online", "or online", "und online", "et en ligne", "y en línea",
	"y online",
	"e online", "en online", "i online"})

// outAt finds the first of the words that say that something cannot be had; start is -1 where there are none.
func outAt(lower string) (start, end int) {
	start, end = outWords.find(lower)
	if start < 0 && aloneOf(lower, outAlone) {
		start, end = strings.LastIndexByte(lower, ':')+1, len(lower)
	}
	return start, end
}

// amongChoices says that the line that the element i shows belongs to one of several elements alike which each hold a
// short text, and which do not all say that they are sold out: sizes, colors, offers of other sellers.
func (p *page) amongChoices(i int, line string) bool {
	for level := 0; i >= 0 && level < 4; i, level = p.els[i].parent, level+1 {
		if p.holdsTitle(i) {
			return false
		}
		e := &p.els[i]
		switch e.tag {
		case atom.Li, atom.Label, atom.Button, atom.A, atom.Tr, atom.Option:
		case atom.Div, atom.Span:
			if attr(e.node, "class") == "" {
				continue
			}
		default:
			continue
		}
		if e.tag == atom.Li && p.beginsElsewhere(i) && p.anotherElsewhere(i) {
			return true
		}
		own := p.of(i)
		if len(own) > mostChoice {
			continue
		}
		name := strings.TrimSpace(strings.Replace(own, line, "", 1))
		if n, _ := outAt(strings.ToLower(line)); name == "" && n > 0 { // its name is on the line
			name = strings.TrimSpace(line[:min(n, len(line))])
		}
		if !mayName(name) {
			continue
		}
		if e.parent >= 0 {
			if other, _ := p.otherChoice(i); other {
				return true
			}
		}
	}
	return false
}

// beginsElsewhere says that the element i begins with a link to another page which names something: another product.
func (p *page) beginsElsewhere(i int) bool {
	for k := i + 1; k <= min(p.els[i].last, i+mostOfCard) && p.els[k].start == p.els[i].start; k++ {
		href := strings.ToLower(attr(p.els[k].node, "href"))
		if _, brand := behindBrandPath(href); p.els[k].tag != atom.A || brand || picture.MatchString(href) ||
			!p.leadsElsewhere(href) {
			continue
		}
		text := strings.ToLower(p.of(k))
		if n, _ := outAt(text); n < 0 && mayName(text) {
			return true
		}
	}
	return false
}

// anotherElsewhere says that an element like i beside it begins with such a link, too: a single one may lead to a page
// about the product.
func (p *page) anotherElsewhere(i int) bool {
	like, alike := p.shape(i), 0
	for k := range p.childElements(p.els[i].parent) {
		if k == i || p.shape(k) != like {
			continue
		}
		if alike++; alike > mostAlike {
			break
		}
		if p.beginsElsewhere(k) {
			return true
		}
	}
	return false
}

// picture is the end of an address of a picture, to which a gallery leads.
var picture = regexp.MustCompile(`\.(?:jpe?g|png|webp|gif|avif)(?:[?#]|$)`)

// mostChoice is how many bytes the text of a choice has at most.
const mostChoice = 80

// mayName says that a text may be the name of a choice: it is no label of a table of facts.
func mayName(name string) bool {
	first, _, _ := strings.Cut(name, "\n")
	lower := strings.ToLower(strings.Trim(first, " :"))
	says := strings.ContainsFunc(lower, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	return says &&
		!isLabel(lower) && !wholeSubjects.in(lower) && !stockLabels.in(lower)
}

// mostSiblings is how many elements beside a line are looked at for another choice, and mostAlike how many that are of
// its shape: the page decides how many there are, and how many such lines.
const (
	mostSiblings = 300
	mostAlike    = 30
)

// otherChoice says that an element like i beside it has a short text too, which does not say that it is sold out.
// looked is how many elements it looked at.
func (p *page) otherChoice(i int) (other bool, looked int) {
	like, alike := p.shape(i), 0
	for k := range p.childElements(p.els[i].parent) {
		if looked == mostSiblings || alike == mostAlike {
			break
		}
		looked++
		if k == i || p.shape(k) != like {
			continue
		}
		alike++
		text := p.of(k)
		if text == "" || len(text) > mostChoice || !mayName(text) {
			continue
		}
		if n, _ := outAt(strings.ToLower(text)); n < 0 {
			return true, looked
		}
	}
	return false, looked
}

// several says that the offers of a source contradict each other, as those of the sizes of a product do: some can be
// had, and some cannot.
func several(offers []offer, s Source) bool {
	has := func(in bool) bool {
		return slices.ContainsFunc(offers, func(o offer) bool {
			return o.source == s && o.availability != "" && (o.availability == InStock) == in
		})
	}
	return has(true) && has(false)
}
