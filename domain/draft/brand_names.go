package draft

import (
	"strings"
	"unicode"
	"unicode/utf8"

	plain "github.com/mtlrent/conveyor/domain/page"
)

// maker cuts a brand from the text behind its label.
func maker(s string) string {
	if s = makerOf(s); isProse(s) || len(s) > 50 || len(strings.Fields(s)) > 5 {
		return ""
	}
	return s
}

// makerIn is the brand that data names. Nothing else stands there by chance, so that it may be longer, and in small
// letters, where it does not say something.
func makerIn(s string) string {
	if s = makerOf(s); isStatement(s) {
		return ""
	}
	return s
}

func makerOf(s string) string {
	if n := strings.IndexAny(s, "|•;\n\t"); n >= 0 {
		s = s[:n]
	}
	s = cleanText(plain.CutBytes(s, longestText), 60)
	if before, after, ok := strings.Cut(s, ":"); ok && labels[labelKey(before)].field == "brand" {
		s = after
	}
	s = strings.Trim(s, " ,;:-–\"'，。、：；【】「」『』〔〕［］《》")
	if strings.Count(s, ".") == 1 {
		s = strings.TrimRight(s, ".")
	}
	s = shopOf(s)
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Sc, r) }) {
		return "" // a price
	}
	if len(s) <= 2 && digits(s) == len(s) || strings.Contains(s, "://") {
		return ""
	}
	if strings.ContainsAny(s, "{}$<>=") {
		return "" // a template that was not filled in
	}
	if forWhom(labelKey(s)) {
		return ""
	}
	switch labelKey(s) {
	case "no brand", "keine", "default", "generic", "brand", "see all", "other":
		return ""
	}
	if allWares(labelKey(s)) || isNobody(labelKey(s)) {
		return ""
	}
	if nothing(s) {
		return ""
	}
	return s
}

// isProse says that a text goes on behind a label as a sentence does: "see packaging", "en métal doré".
func isProse(s string) bool {
	first, rest, ok := strings.Cut(s, " ")
	return ok && leadWords[first] && rest == strings.ToLower(rest)
}

// isStatement says that a brand in data is a sentence, or where the product was made, and no name: "see packaging",
// "Made in Italy", "Various brands are available". A name of many words has capitals: "The Museum of Modern Art Store".
func isStatement(s string) bool {
	words := strings.Fields(s)
	if len(words) < 2 {
		return false
	}
	lower := strings.ToLower(s)
	first, rest, _ := strings.Cut(lower, " ")
	last := strings.ToLower(words[len(words)-1])
	// "Made In" is a name, and "Made in Cookware".
	if madeIn[first] && len(words) > 2 && beginsWithAny(rest, inWhere) && !(len(words) == 3 && firmWords[last]) ||
		sayWords[first] && (strings.HasPrefix(s, first) || strings.HasSuffix(s, rest)) {
		return true
	}
	small := 0
	for _, w := range words[1:] {
		if r, _ := utf8.DecodeRuneInString(w); unicode.IsLower(r) && !joinWords[w] {
			small++
		}
		if verbWords[w] {
			return true
		}
	}
	return len(words) > 8 || len(words) > 3 && small > 1 || len(s) > 50 && small > 0
}

var (
	madeIn = wordSet(`made hergestellt fabriqué fabricado hecho prodotto feito gemaakt manufactured produced assembled
		produit produziert elaborado fabricato produzido`)
	inWhere = []string{"in", "en", "au", "aux", "à", "em", "no", "na"}
	// firmWords end names of makers, and no places: "Made in Cookware".
	firmWords = wordSet(`co company inc ltd llc gmbh ag srl spa sarl sas bv ab studio studios atelier design designs
		works workshop goods supply cookware kitchenware tableware bakeware homeware knives tools home kitchen paper press
		books toys games wear apparel clothing shoes denim leather skincare cosmetics coffee tea`)
	// sayWords begin statements, verbWords are within them, and joinWords within names.
	sayWords = wordSet(`see siehe voir ver vedi zie please bitte available your these not no nicht kein keine
		pas non contact`)
	verbWords = wordSet(`is are was were has have can may see please contact available siehe ist sind hat kann bitte est sont
		peut voir son è sono vedi`)
	joinWords = wordSet(`of the and for in by on at to with from de du des la le les et d von der die das und für am im aus
		zu y del los las e di da do dos van het en og och i z`)
)

// leadWords begin sentences, and no names that are in small letters.
var leadWords = wordSet(`see siehe voir ver vedi zie as at in for from with on only available please our your this these
	en avec pour dans sur selon à con para según desde mit aus für bei auf nach nur bitte per su da su met voor op uit`)

// allWares says that all words of a text, as keys of labels are written, say what is sold: "coats jackets".
func allWares(key string) bool {
	n := 0
	for w := range strings.FieldsSeq(key) {
		switch {
		case wares[w] || goods[w]:
			n++
		case andWords[w]:
		default:
			return false
		}
	}
	return n > 1
}

// isNobody says that a text, as keys of labels are written, is about makers and names none: "various manufacturers",
// "marque non précisée".
func isNobody(key string) bool {
	vague, makers := false, false
	for w := range strings.FieldsSeq(key) {
		switch {
		case makerWords[w]:
			makers = true
		case vagueWords[w]:
			vague = true
		default:
			return false
		}
	}
	return vague && makers
}

var (
	makerWords = wordSet(`brand brands manufacturer manufacturers maker makers marke marken hersteller marque marques
		fabricant fabricants marca marcas fabricante fabricantes marche produttore produttori merk merken fabrikant`)
	vagueWords = wordSet(`various several unknown unspecified not specified stated diverse verschiedene mehrere unbekannt
		unbekannte unbekannter nicht angegeben divers diverses plusieurs différents différentes inconnu inconnue non
		précisé précisée spécifié spécifiée varios varias desconocido desconocida no especificado especificada vários
		várias diversos diversas desconhecido desconhecida não especificada informado informada vari varie sconosciuto
		sconosciuta specificato specificata onbekend onbekende niet opgegeven`)
)

var (
	andWords = wordSet("and und et y e en og och ja i a")
	goods    = wordSet(`coats jackets dresses tops shirts blouses trousers pants jeans skirts shorts bags boots sneakers
		trainers sandals knitwear sweaters jumpers cardigans hoodies lingerie underwear swimwear sportswear activewear
		jewellery jewelry watches hats scarves gloves socks furniture lighting lamps rugs toys games books electronics
		phones laptops tablets computers audio video cameras kitchen bathroom garden tools beauty makeup skincare
		fragrance health food drinks wine wines grocery pets sports
		mäntel jacken kleider hemden blusen hosen röcke taschen stiefel möbel leuchten spielzeug bücher elektronik
		küche bad garten werkzeug schmuck uhren
		manteaux vestes robes chemises pantalons jupes sacs bottes meubles luminaires jouets livres électronique cuisine
		jardin outils bijoux montres parfums
		abrigos chaquetas vestidos camisas blusas pantalones faldas bolsos botas muebles juguetes libros electrónica
		cocina jardín herramientas joyas relojes
		cappotti giacche vestiti abiti camicie pantaloni gonne borse stivali mobili giocattoli libri elettronica cucina
		giardino gioielli orologi`)
)

// placed is the brand of a text that only its place makes one: badges are put there, too.
func placed(s string) string {
	if s = maker(s); badges[labelKey(s)] || goods[labelKey(s)] || isSlogan(s) {
		return ""
	}
	return s
}

// isSlogan says that a text of three words and more has no capital letter but its first, as names have: "Free returns
// within 30 days".
func isSlogan(s string) bool {
	words := strings.Fields(s)
	if len(words) < 3 {
		return false
	}
	for _, w := range words[1:] {
		if r, _ := utf8.DecodeRuneInString(w); !unicode.IsLower(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// forWhom says that a text, as keys of labels are written, says for whom a product is, and perhaps what: "men s shoes".
// Shops have it where others have the brand.
func forWhom(key string) bool {
	first, rest, _ := strings.Cut(key, " ")
	if wares[first] {
		key = rest
	} else if n := strings.LastIndexByte(key, ' '); n > 0 && wares[key[n+1:]] {
		key = key[:n]
	}
	if first, rest, _ = strings.Cut(key, " "); forWords[first] {
		key = rest
	}
	return audiences[key]
}

var (
	forWords = wordSet("for für pour para per da voor dla pro till til")
	wares    = wordSet(`clothing clothes apparel fashion wear outerwear footwear shoes accessories collection bekleidung
		kleidung mode schuhe vêtements chaussures ropa calzado zapatos moda abbigliamento scarpe roupa roupas calçados kleding
		schoenen odzież obuwie kläder skor tøj sko vaatteet kengät oblečení obuv одежда обувь giyim ayakkabı`)
)

// audiences are those for whom products are, as keys of labels are written.
var audiences = phraseSet("" +
	"men|man|women|woman|men s|women s|mens|womens|ladies|kids|kid|children|boys|girls|boy|girl|baby|" +
	"girl s|boy s|babies|toddler|toddlers|unisex|adult|adults|teens|youth|him|her|herren|damen|kinder|jungen|mädchen|homme|hommes|femme|femmes|enfant|" +
	"enfants|garçon|fille|bébé|mixte|uomo|donna|bambini|bambino|bambina|hombre|hombres|mujer|mujeres|" +
	"niños|niñas|niño|niña|homem|mulher|criança|crianças|masculino|feminino|infantil|heren|dames|" +
	"kinderen|herre|herr|dame|dam|barn|mężczyźni|kobiety|dzieci|męskie|damskie|dziecięce|pánské|dámské|" +
	"dětské|pánske|dámske|detské|muži|ženy|férfi|női|gyerek|bărbați|femei|copii|miehet|naiset|lapset|" +
	"erkek|kadın|çocuk|мужчинам|женщинам|детям|мужское|женское|детское|ανδρικά|γυναικεία|παιδικά|メンズ|" +
	"レディース|キッズ|男裝|女裝|童裝|男装|女装|童装|남성|여성|아동")

// cards are the brands that scripts have of ways to pay.
var cards = phraseSet("visa|mastercard|maestro|amex|american express|discover|diners|diners club|jcb|unionpay|" +
	"union pay|paypal|klarna|apple pay|google pay|elo|hipercard|carte bancaire|cartes bancaires|bancontact|mir")

// badges are put on products, where others have the brand.
var badges = phraseSet("" +
	"new|new in|just in|new arrival|new arrivals|sale|on sale|clearance|best seller|best sellers|bestseller|" +
	"bestsellers|top seller|exclusive|online exclusive|limited edition|special offer|staff pick|neu|neuheit|" +
	"neuheiten|angebot|angebote|aktion|im angebot|nur online|nouveau|nouveauté|nouveautés|promo|promotion|soldes|" +
	"exclusivité|exclusivité web|meilleure vente|nuevo|novedad|novedades|oferta|ofertas|rebajas|más vendido|" +
	"novidade|novidades|promoção|lançamento|mais vendido|novità|saldi|offerta|in offerta|più venduto|nieuw|" +
	"aanbieding|uitverkoop|nowość|nowości|promocja|wyprzedaż|novinka|novinky|akce|výprodej|akcia|nyhet|nyheter|" +
	"nyhed|nyheder|tilbud|uutuus|tarjous|újdonság|akció|noutate|noutăți|reducere|yeni|indirim|новинка|новинки|" +
	"акция|распродажа|хит продаж|新品|新着|セール|限定|신상품|특가|جديد|" +
	// and so are the lists that menus and breadcrumbs lead to
	"nuovi arrivi|ultimi arrivi|nuova collezione|più venduti|offerte|promozioni|outlet|nouveaux arrivages|" +
	"nouvelle collection|meilleures ventes|promotions|promos|bons plans|exclu web|neu eingetroffen|neue kollektion|" +
	"neue artikel|topseller|rabatte|nuevas llegadas|recién llegados|nueva colección|lo más nuevo|lo más vendido|" +
	"los más vendidos|promociones|liquidación|promoções|lançamentos|mais vendidos|nieuwe collectie|" +
	"best verkocht|aanbiedingen|new season|new collection|special offers|offers|deals|gifts|gift ideas|geschenke|" +
	"geschenkideen|idées cadeaux|cadeaux|regali|idee regalo|regalos|presentes|all|all products|all brands|brands|" +
	"alle|alle produkte|alle marken|marken|tous les produits|toutes les marques|marques|tutti i prodotti|marche|" +
	"todos los productos|todas las marcas|marcas|alle merken|merken|home|accueil|startseite|inicio|shop|store|" +
	"boutique|tienda|negozio|winkel|catalog|catalogue|katalog|catalogo|catálogo|products|produits|produkte|prodotti|" +
	"productos|produtos|producten")

// phraseSet is the set of the phrases of a list with bars between them.
func phraseSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.SplitSeq(list, "|") {
		m[w] = true
	}
	return m
}

// isLabel says that a text is itself a label of a table of facts, and no value.
func isLabel(s string) bool {
	key := labelKey(s)
	_, ok := labels[key]
	return ok || otherLabels[key]
}

// otherLabels are labels of values that no field is for, where tables of facts have them beside a brand.
var otherLabels = phraseSet("" +
	"product information|product details|details|description|specifications|specification|features|" +
	"colour|color|size|material|weight|dimensions|energy class|energy efficiency class|warranty|" +
	"country of origin|department|gender|age group|category|condition|type|style name|collection|farbe|" +
	"größe|beschreibung|gewicht|energieeffizienzklasse|herkunftsland|zustand|kategorie|geschlecht|" +
	"couleur|taille|matière|poids|état|catégorie|description du produit|colore|taglia|materiale|peso|" +
	"categoria|condizioni|color del producto|talla|estado|cor|tamanho|condição|kleur|maat|gewicht|kolor|" +
	"rozmiar|stan|kategoria|barva|velikost|цвет|размер|категория|состояние")

// shopPhrases are the words around a brand's name in a link to its shop.
var shopPhrases = [][2]string{{"visit the ", " store"}, {"shop all ", ""}, {"shop ", " products"},
	{"besuche den ", "-store"}, {"besuchen sie den ", "-store"}, {"visitez la boutique ", ""}, {"visita lo store di ", ""},
	{"visita la tienda de ", ""}, {"visite a loja ", ""}, {"visite a loja da ", ""}, {"see all ", " products"},
	{"more from ", ""}, {"mehr von ", ""}, {"alle produkte von ", ""}, {"brand: ", ""}, {"marke: ", ""}, {"marca: ", ""},
	{"marque: ", ""}, {"marque : ", ""}, {"by ", ""}, {"von ", ""}, {"par ", ""}, {"di ", ""}}

// shopOf cuts a brand from the text of a link to its shop.
func shopOf(s string) string {
	lower := strings.ToLower(s)
	if len(lower) != len(s) {
		return s
	}
	for _, p := range shopPhrases {
		if len(s) > len(p[0])+len(p[1]) && strings.HasPrefix(lower, p[0]) && strings.HasSuffix(lower, p[1]) {
			return strings.TrimSpace(s[len(p[0]) : len(s)-len(p[1])])
		}
	}
	return s
}
