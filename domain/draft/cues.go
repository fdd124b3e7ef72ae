package draft

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	plain "github.com/mtlrent/conveyor/domain/page"
)

// The words around an amount that say it is not the product's present price, in the languages of shops; lower case.
// They are looked for as whole words; "*" lets a word go on, or begin earlier.
var (
	cuesWas = cuesOf([]string{"was", "rrp", "msrp", "list price", "list:", "original price", "originally",
		"regular price", "retail price", "reg.", "save", "saving", "statt", "uvp", "sie sparen", "*ersparnis",
		"ursprünglich*", "unverb. preisempf*", "listenpreis*", "bisher*", "au lieu de", "prix conseillé",
		"prix barré",
		"prix d'origine", "économisez", "avant", "prezzo consigliato", "prezzo di listino", "risparmi*", "invece di",
		"anziché", "antes", "precio recomendado", "precio anterior", "ahorra*", "pvp", "pvr", "de:",
		"cena regularna", "najniższa cena", "cena katalogowa", "oszczędzasz", "poprzednia cena", "běžná cena",
		"původní", "ušetříte", "ušetríte", "pôvodná", "bežná cena", "pret vechi", "prp", "prețul recomandat",
		"économie",
		"m.r.p", "mrp", "old price", "previous*", "poupe", "economize", "de r$", "van", "adviesprijs*", "ord.",
		"ordinarie", "tidigare", "førpris", "før", "vejl*", "normalpris*", "ovh", "norm.", "старая цена", "экономия",
		"通常価格", "参考価格", "定価", "原價", "市價", "建議售價", "قبل", "كان", "discount*", "rabatt*", "remise", "sconto",
		"descuento", "desconto", "rabat", "pvpr"})
	// a membership is a product, and who is no member pays the price
	cuesMember = cuesOf([]string{"member", "membership price", "medlem", "medlemmer*", "medlemmar*", "medlemspri*",
		"*klubpris*",
		"*clubpreis*", "mitglied", "mitglieder*", "mitgliedspreis*", "prix membre*", "prix adhérent*", "precio soci*",
		"precio tarjeta", "prezzo soci", "ledenprijs", "jäsenhin*", "jäsenet", "jäsenille"})
	cuesNoMember = cuesOf([]string{"non-member*", "non member*", "nonmember*", "not a member", "ikke-medlem*",
		"ikke medlem*",
		"icke-medlem*", "icke medlem*", "nicht-mitglied*", "nicht mitglied*", "nichtmitglied*", "non-membre*", "non membre*",
		"non adhérent*", "non abonné*", "non soci*", "no soci*", "niet-leden", "niet leden"})
	cuesExtra = cuesOf([]string{"shipping", "delivery", "postage", "p&p", "*versand*", "lieferung*", "porto",
		"paketpost", "livraison",
		"frais de port", "spedizione", "consegna", "envío", "envio", "gastos de", "dostaw*", "wysyłk*", "doprava",
		"doručení", "livrare", "transport", "transportkosten", "frete", "verzending", "verzendkosten", "bezorg*",
		"frakt*", "levering*", "toimitus*", "доставк*", "送料", "運費", "per month", "/month", "/mo", "a month",
		"monthly", "mtl.", "monatlich*", "par mois", "al mese", "al mes", "por mes", "miesięcznie", "měsíčně",
		"pe luna", "pe lună", "/luna", "/lună", "installment", "instalment", "interest-free", "interest free",
		"payments of", "klarna", "afterpay", "clearpay", "affirm", "raten", "rate da", "rate von", "mensualit*",
		"3x", "4x", "10x", "12x", "cuotas", "parcelas", "sem juros", "ratą", "rat", "splát*", "cashback",
		"points", "gift card", "coupon", "voucher", "*gutschein*", "bon d'achat", "buono", "cupón", "kupon*",
		"warranty", "garantie*", "garanzia", "insurance", "protection plan", "trade-in", "trade in", "retoma",
		"reprise", "inzahlungnahme", "deposit",
		"kaution", "pfand", "pant", "pantti", "consigne", "kaucj*", "zálohy", "statiegeld", "taara", "tax", "taxes",
		"vat", "excl", "excluding", "zzgl", "hors taxe", "ht", "minimum", "spend",
		"ab einem", "*bestellwert", "dès", "a partire da", "above", "over", "free on",
		"earn", "finance", "financing", "import charges", "per unit", "each", "subscribe",
		"abonnement*", "sparabo", "bid", "enchère", "gebot", "gebote", "offerta attuale", "used", "gebraucht*",
		"usato",
		"d'occasion", "seconda mano", "estimate*", "accessor*", "reserve", "handling", "fee", "approximately",
		"approx",
		"circa", "environ", "ungefähr", "priced", "budget"})
	// Of the deliveries, warranties and points of shops in further languages.
	cuesExtraFurther = cuesOf([]string{"משלוח", "пересылк*", "kohaletoimet*", "tarne*", "saatmis*",
		"dostav*", "poštnin*", "poštarin*", "piegād*", "pristatym*", "szállítás*", "kiszállítás*", "μεταφορικ*",
		"αποστολ*", "kargo*", "ongkir*", "ongkos kirim", "phí vận chuyển", "phí giao hàng", "ค่าจัดส่ง", "배송비", "택배비",
		"运费", "邮费", "宅配", "الشحن", "التوصيل", "رسوم", "postikulu*", "garantii*", "garancij*", "garantij*",
		"gwarancj*", "záruk*", "pojištěn*", "ubezpiecz*", "гаранти*", "страхов*", "versicherung*", "assicurazion*",
		"kindlustus*", "보증", "保固", "保証", "אחריות", "warranties",
		"kuumakse", "järelmaks*", "obrok*", "raty", "lizing*", "рассрочк*", "в месяц", "місяц*", "taksit*", "할부",
		"ratengeld", "cicilan", "trả góp", "punkte", "treuepunkt*", "payback", "prämienpunkt*", "punti", "puntos",
		"pontos", "punktów", "punkty", "bodů", "bodov", "poäng", "pistettä", "poin", "бонус*", "балл*",
		"kedvezménypont*",
		"滿", "满", "免運", "免运", "折價券", "折抵", "优惠券", "領券", "期", "利率", "月付", "起標", "月々", "分割", "以上で",
		"クーポン", "쿠폰", "무이자", "월", "mēn*", "mėn*", "kuu", "mnd", "mån*", "kk", "měs*", "mies.", "мес", "aylık",
		"nomaks*", "līzing*", "išsimokėtin*", "dalīt*", "maandelijks*", "kuukaus*",
		"havi",
		"ポイント", "적립", "積分", "积分", "紅利", "回饋", "nectar", "fidélité", "fidelidad", "collect", "rewards", "credits"})
	// Alone before an amount: it is the price.
	cuesPrice = []string{"price", "our price", "your price", "now", "now only", "only", "buy for", "preis",
		"unser preis",
		"jetzt", "nur", "jetzt nur", "prix", "notre prix", "maintenant", "prezzo", "ora", "solo", "precio", "ahora",
		"preço",
		"por", "por apenas", "agora", "cena", "naša cena", "nasza cena", "nyní", "akční cena", "teraz", "cijena",
		"kaina", "hind",
		"hinta", "pris", "nu", "nå", "prijs", "preț", "pret", "ár", "ára", "fiyat", "τιμή", "цена", "ціна", "сейчас",
		"harga",
		"giá", "ราคา", "価格", "販売価格", "税込", "價格", "价格", "特價", "售價", "優惠價", "網路價", "판매가", "가격", "השעה", "מחיר",
		"רק", "السعر", "سعر"}
	cuesFrom = []string{"from", "starting price", "start price", "startpreis", "opening bid", "base price",
		"as low as", "starting at", "starts at", "ab", "à partir de", "a partir de", "desde",
		"da", "od", "vanaf", "fra", "från", "от", "al", "new ("}
	// After an amount, and about it even where another follows.
	cuesUnit = []string{"/*", "per", "pro", "je", "al kg", "le kilo", "par", "al litro", "x", "off", "- off",
		"a month", "al mese", "monthly", "mensual*", "de réduction", "di sconto", "de descuento", "discount",
		"cashback",
		"with code", "with coupon", "using code", "mit code", "mit gutschein", "avec le code", "con código",
		"con cupón",
		"con codice", "com cupom", "z kodem", "s kódem", "met code", "med kod", "saved", "sparen", "gespart",
		"voucher", "gutschein*", "mehr", "more", "deposit", "including postage",
		"including shipping"}
	// After an amount: it is for one way of paying, and may be the only one that is shown.
	cuesWay = []string{"no pix", "com pix", "via pix", "no boleto", "con transferencia*", "por transferencia*",
		"en efectivo"}
	// Alone before an amount: it is a former one, "de R$ 99 por R$ 79".
	cuesWasAlone = []string{"de", "vorher", "war", "était", "era"}
	// After an amount: it is for one piece, which is what is sold.
	cuesPiece = []string{"/ tk", "/tk", "/ szt*", "/szt*", "/ ks", "/ks", "/ kus*", "/ kpl", "/kpl", "/ stk*",
		"/stk*",
		"/ st", "/st", "/ stück", "/stück", "pro stück", "/ pcs", "/pcs", "/ pc", "/pc", "/ piece", "/piece", "/ ea",
		"/ea",
		"/ each", "/each", "each", "/ box", "/box", "/ pack*", "/pack*", "/ roll", "/ pkg", "/ case", "/ kit",
		"/ lot",
		"/ paar", "/ op.", "/ opak*", "/ bal*", "per item", "/ item", "/ set", "/set", "/ pair",
		"/pair", "/ gab*", "/gab*", "/ vnt*",
		"/vnt*", "/ db", "/db", "/ buc*", "/buc*", "/ kom*", "/kom*", "/ шт*", "/шт*", "за шт*", "/ adet", "/adet",
		"/ pz",
		"/pz", "/ unid*", "/ unité", "/ pièce", "/个", "/個", "/개"}
	// After an amount, but about the next if there is one.
	cuesNext = []string{"rabatt*", "shipping", "delivery", "*versand*", "livraison", "postage", "spedizion*", "zľava",
		"sleva"}
)

const measures = `(?:k?g|kgs?|kilo\pL*|gr|mg|[mcd]?l|lt|lit\pL+|m[²³23]?|mtr|met\pL+|mètres?|cm|oz|ounces?|lbs?|` +
	`fl oz|sq ft|ft|yd|кг|г|мл|л|м)`

// The words around an amount that stand in too many orders and forms to be listed.
var (
	// Before or after it: tax is to be added.
	net = regexp.MustCompile(`(?:^|[^\pL])(?:` +
		`(?:ex|exc|excl|excluding|exkl|exklusive|exclusief|bez|ohne|hors|sin|sem|sans|zzgl|plus|before|without|uden|utan|` +
		`utenom|eks|без|χωρίς|fără|fara|ilman|\+)\.? ?` +
		`(?:vat|gst|hst|tax|taxes|mwst|ust|umsatzsteuer|dph|iva|tva|moms|mva|btw|pdv|ddv|áfa|kdv|ндс|пдв|ддс|φπα|alv|` +
		`impuestos|taxe)` +
		`|(?:iva|tva|kdv|áfa|φπα|igic) (?:esclusa|escl|hariç|nélkül|exclu)` +
		`|alv ?0|netto|nettó|neto|net price|ht$|h\.t)(?:[^\pL]|$)|税抜|税別|未税|未稅`)
	// After it: it is the price of a measure, "/ 100 g", "le kilo".
	perUnit = regexp.MustCompile(`^(?:/|=|[aà]l?l?[ao]?|per|pro|je|par|les?|la|por|el|za|na|de|voor|för|for|pr\.?) ?` +
		`(?:[\d.,]+ ?)?` + measures + `(?:[^\pL'’]|$)`)
	// Before it: it is that of a measure, too, "1 kg = ".
	unitIs = regexp.MustCompile(`(?:^|[^\pL])` + measures + ` ?= *$`)
	// Before it: it is the price of so many pieces, "buy 5+", "10 or more", "5-9".
	tier = regexp.MustCompile(`\d ?(?:\+|(?:or|and) (?:more|up)|oder mehr|ou plus|o más|ou mais|[-–] ?\d+)` +
		`(?: \pL{1,6}\.?)?:? *$`)
	// After it: it is for members only, "for members", and at the end of its line "Clubcard price".
	forMembers = regexp.MustCompile(`^(?:(?:only )?(?:for|für|pour|para|per|voor|för|til|dla|pro) (?:\pL{1,6} )?` +
		`(?:members?|\pL*mitglieder\pL*|membres?|adhérents?|abonnés?|soci|soci[oa]s?|leden|medlem\pL*|członk\pL*|` +
		`clubcard)(?:[^\pL]|$)` +
		`|(?:club[- ]?card|members?|mitglieder|medlem\pL*|leden|klub)[-' ]?s? ?(?:only|price|preis|pris|prijs)$)` +
		`|^会員(?:価格|限定)`)
	// Before it: it is the lowest price of the last 30 days, which the law of the EU wants beside a reduced one.
	ofDays = regexp.MustCompile(`30\D{0,12}(?:days?|tage?n?|jours|d[ií]as|giorni|dn[iíůy]|dag\pL*|päiv\pL*|pv|nap\pL*|` +
		`zile|dien\pL*|päev\pL*|dana|дн\pL+|ημ[εέ]ρ\pL+|gün)`)
)

// cuesFree say that the thing that follows an amount is free: "36,49 € Spedizione GRATUITA" is no cost of shipping.
var cuesFree = cuesOf([]string{"free", "gratis", "gratuit*", "kostenlos*", "kostenfrei*", "*frei", "offert", "offerte",
	"grátis", "darmow*", "zdarma", "zadarmo", "бесплатн*", "incl*", "inkl*", "compris*", "enthalten"})

// isNet says that the words around an amount say that tax is to be added to it.
func isNet(before, after string) bool {
	after = plain.CutBytes(after, 30)
	return taxWords.in(before) && net.MatchString(before) || taxWords.in(after) && net.MatchString(after)
}

// What the texts that these expressions match have in them: they are looked for first, for that is faster.
var (
	taxWords = partsOf([]string{"vat", "gst", "hst", "tax", "mwst", "ust", "umsatzsteuer", "dph", "iva", "tva", "moms",
		"mva", "btw", "pdv", "ddv", "áfa", "kdv", "ндс", "пдв", "ддс", "φπα", "igic", "alv", "impuestos", "nett", "neto",
		"net price", "ht", "h.t", "税抜", "税別", "未税", "未稅"})
	memberWords = partsOf([]string{"member", "mitglieder", "membre", "adhérent", "abonn", "soci", "leden", "medlem",
		"członk", "club", "klub", "会員"})
)

// unitBegins are the bytes that perUnit may begin with.
const unitBegins = "/=apjlezndvf\xc3"

// isOfMeasure says that an amount between these texts is the price of a measure.
func isOfMeasure(before, after string) bool {
	return strings.HasSuffix(strings.TrimRight(before, " "), "=") && unitIs.MatchString(before) ||
		after != "" && strings.IndexByte(unitBegins, after[0]) >= 0 && perUnit.MatchString(after)
}

// isForMembers says that an amount before this text is for members only.
func isForMembers(after string) bool { return memberWords.in(after) && forMembers.MatchString(after) }

// cued is the points, 0 or less, that the words before and after an amount give it.
func (p *page) cued(before, after string) float64 {
	points := 0.0
	label := strings.Trim(before, " :")
	if cuesWas.in(before) || slices.Contains(cuesWasAlone, label) ||
		strings.Contains(before, "30") && ofDays.MatchString(before) {
		points += p.w[priceCueWas]
	}
	if cuesMember.in(before) && !cuesNoMember.in(before) ||
		isForMembers(strings.TrimLeft(after, " (*")) && !cuesNoMember.in(after) ||
		cuesExtra.in(before) || cuesExtraFurther.in(before) ||
		digits(before) > 0 && tier.MatchString(before) {
		points += p.w[priceCueExtra]
	} else if points == 0 && slices.Contains(cuesPrice, label) {
		points += p.w[priceCuePrice]
	}
	if endsInAny(before, cuesFrom) {
		points += p.w[priceCueFrom]
	}
	after = strings.TrimLeft(after, " (*")
	if beginsWithAny(after, cuesPiece) {
		return points
	}
	if beginsWithAny(after, cuesWay) {
		points += p.w[priceCueWay]
	}
	if isOfMeasure(before, after) ||
		(beginsWithAny(after, cuesUnit) || beginsWithAny(after, cuesNext)) &&
			!cuesFree.in(plain.CutBytes(after, 30)) {
		points += p.w[priceCueUnit]
	}
	return points
}

// beginsWithAny says that s begins with one of the words.
func beginsWithAny(s string, list []string) bool {
	for _, w := range list {
		w, stem := strings.CutSuffix(strings.TrimPrefix(w, "*"), "*")
		if strings.HasPrefix(s, w) && (stem || !goesOn(s, len(w))) {
			return true
		}
	}
	return false
}

// endsInAny says that s ends in one of the words, which lead to the text that follows s.
func endsInAny(s string, list []string) bool {
	s = strings.TrimRight(s, " \n:")
	for _, w := range list {
		if strings.HasSuffix(s, w) && !goesOn(s, len(s)-len(w)) {
			return true
		}
	}
	return false
}

// goesOn says that a word goes on over a position in s: letters stand on both sides of it, or digits do. In scripts
// that part no words, it never does.
func goesOn(s string, at int) bool {
	if at <= 0 || at >= len(s) {
		return false
	}
	a, _ := utf8.DecodeLastRuneInString(s[:at])
	b, _ := utf8.DecodeRuneInString(s[at:])
	if unicode.IsDigit(a) && unicode.IsDigit(b) {
		return true
	}
	return inWord(a) && inWord(b)
}

func inWord(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsMark(r)) &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}
