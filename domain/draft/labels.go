package draft

import (
	"bytes"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// A label is a text before a value, "Item no.:", and its meaning.
type label struct {
	field  string // sku, mpn, gtin, brand
	weight weight // how surely it means that field
}

// labels are the labels that pages use; lower case, marks and spaces folded into single spaces.
var labels = func() map[string]label {
	m := map[string]label{}
	add := func(field string, weight weight, list ...string) {
		for _, l := range list {
			m[l] = label{field, weight}
		}
	}
	add("sku", labelSure, "sku", "item number", "item no", "item code", "item id", "product code", "product id",
		"product number", "product no", "article number", "article no", "art no", "art nr", "art n",
		"catalog number",
		"catalogue number", "catalog no", "catalogue no",
		"cat no", "web code", "web id", "stock code", "stock no", "stock number",
		"artikelnummer", "artikel nr", "artikelnr", "bestellnummer", "bestell nr", "bestellnr", "produktnummer",
		"produkt nr", "produktcode", "best nr", "asin", "sku code", "item sku", "product sku", "style number",
		"style no", "style code", "ad number", "lot number",
		"référence", "reference", "réf", "ref", "référence produit", "code article", "numéro de l objet", "réf produit",
		"n d article", "ugs", "référence article", "code produit", "réf article",
		"codice", "codice prodotto", "codice articolo", "cod prodotto", "cod articolo",
		"numero oggetto", "sku prodotto", "riferimento", "articolo",
		"referencia", "código", "código de producto", "código producto", "número de artículo", "ref producto",
		"código del producto", "cód produto", "código do produto", "referência", "cód item", "cod produto",
		"nr artykułu", "nr katalogowy", "nr kat", "kat nr", "kod produktu", "numer katalogowy", "nr ref", "numer artykułu",
		"id produktu", "nr produktu", "nr aukcji", "numer oferty",
		"kód produktu", "kód zboží", "kód tovaru", "objednací číslo", "katalogové číslo", "číslo produktu",
		"cod produs", "cod intern", "id produs", "cikkszám", "termékkód", "kod proizvoda", "šifra izdelka",
		"artikelcode", "productcode", "bestelnummer", "artnr", "varenummer", "varenr", "vare nr", "artikelkod",
		"tuotenumero",
		"tuotekoodi", "ürün kodu", "stok kodu", "κωδικός", "κωδικός προϊόντος", "артикул", "код товара",
		"код продукта",
		"код товару", "номенклатурный номер", "номер товара", "каталожен номер",
		"商品番号", "商品コード", "品番", "管理番号", "商品編號", "商品编号", "貨號", "货号", "商品貨號", "상품번호", "상품코드", "رمز المنتج", "رقم المنتج",
		"رقم الموديل",
		"מק ט", "קוד מוצר", "מספר קטלוגי", "מק ט יצרן", "รหัสสินค้า", "รหัส", "mã sản phẩm", "mã hàng", "kode produk",
		"kode barang", "tootekood", "toote kood", "artikli kood", "preces kods", "artikula nr", "produkta kods",
		"prekės kodas", "prekės nr", "šifra artikla", "šifra proizvoda", "šifra", "kataloški broj", "kataloška številka",
		"koda izdelka", "termékszám", "αριθμός προϊόντος", "κωδ", "код на продукта", "продуктов код", "кат номер",
		"код производа", "каталожный номер", "код модели", "ürün no", "ürün numarası", "vörunúmer", "tuotenro",
		"produktnr", "vare nummer", "anzeigennummer", "anzeigen nr", "anzeigen id", "inserat nr", "inseratnummer",
		"angebotsnummer", "webcode", "online nr", "bestell nummer", "art nummer", "artikelid", "post id", "posting id",
		"ad ref", "item ref", "item reference", "product ref", "product reference", "listing number", "our ref", "plu",
		"part sku", "model sku", "code barre interne", "annonce n", "numéro d annonce", "id annonce", "codice annuncio",
		"codice interno", "art cod", "cod art",
		"código interno", "n de artículo", "ref artículo", "id del producto", "anúncio id",
		"商品型號", "產品編號", "产品编号", "賣場編號", "商品代碼", "商品代号", "品號", "상품 번호", "상품 코드", "제품번호", "제품코드",
		"품번", "製品番号", "お問い合わせ番号", "رقم القطعة", "كود المنتج", "رمز الصنف")
	add("sku", labelVague, "item", "article", "art", "code", "id", "artikel", "style", "cod", "rif",
		"cód", "kod", "kód", "indeks", "symbol", "код", "арт", "listing id", "ad id")
	add("mpn", labelSure, "mpn",
		"manufacturer part number", "manufacturer s part number", "mfr part number", "mfg part number",
		"mfr part", "part number", "part no", "mfg part", "manufacturer number", "manufacturer product number",
		"manufacturer no", "manufacturer code", "mfr", "supplier part number", "vendor code", "manufacturer product code",
		"herstellernummer", "hersteller nr", "herstellerartikelnummer", "hersteller artikelnummer", "teilenummer",
		"herstellerreferenz", "hersteller teilenummer", "herst nr", "hersteller art nr",
		"référence fabricant", "réf fabricant", "référence constructeur", "numéro de pièce", "numéro de pièce fabricant",
		"code fabricant", "codice produttore", "codice fornitore", "numero parte produttore mpn", "codice costruttore",
		"mpn codice", "produktové číslo", "part no výrobcu", "model name number", "model number name",
		"numer producenta", "herstellercode",
		"referencia del fabricante", "número de pieza", "número de parte", "referencia fabricante", "part number pn",
		"kod producenta", "numer katalogowy producenta", "nr katalogowy producenta", "kod výrobce", "kód výrobcu",
		"cod producator", "cod producător", "gyártói cikkszám", "fabrikantcode",
		"producentens varenummer", "tillverkarens artikelnummer", "tillverkarens artnr", "код производителя",
		"produktcode des herstellers", "modellnummer des herstellers", "product part number", "p n", "kód od výrobcu", "pn")
	add("mpn", labelLikely,
		"model number", "item model number", "model no", "modellnummer", "modell nr", "numéro de modèle",
		"numero modello articolo", "numero modello", "número de modelo", "número de modelo del producto",
		"numéro du modèle de l article", "modell nummer", "artikelmodellnummer", "model nr", "型番", "メーカー型番",
		"número do modelo", "nr modelu", "modelnummer", "model code", "style id", "référence du modèle", "part")
	// the product information sheet that goes with the EU's energy label
	add("mpn", labelLikely, "model identifier", "modellkennung", "identificativo del modello", "identificador del modelo",
		"identificador de modelo", "identyfikator modelu", "identifikační značka modelu", "identifikačný kód modelu",
		"typeaanduiding")
	add("brand", labelSure, "supplier s name or trademark", "supplier s name or trade mark",
		"name oder handelsmarke des lieferanten", "nom du fournisseur ou marque", "nom du fournisseur ou marque commerciale",
		"nome o marchio del fornitore", "nombre o marca del proveedor", "nome do fornecedor ou marca",
		"naam van de leverancier of handelsmerk", "nazwa dostawcy lub znak towarowy")
	add("mpn", labelWeak, "model", "modell", "modèle", "modello", "modelo", "модель", "型號", "型号", "model name")
	add("gtin", labelSure, "gtin", "ean", "upc", "ean code", "ean upc", "upc ean", "gtin ean", "ean gtin", "ean nummer",
		"barcode", "bar code", "isbn", "isbn 13", "isbn 10", "isbn13", "isbn10", "code ean", "codice ean", "código ean",
		"ean 13", "ean13", "gtin 13",
		"kod ean", "ean kód", "ean kod", "strichcode", "code barre", "code barres", "codice a barre", "código de barras",
		"kod kreskowy", "čárový kód", "čiarový kód", "штрихкод", "штрих код", "streepjescode", "streckkod", "stregkode",
		"jan",
		"janコード", "jan コード", "gtin13", "upc code", "cod ean", "cod de bare", "universal product code",
		"global trade identification number", "vonalkód")
	add("brand", labelSure, "brand", "brand name", "marke", "marque", "marca", "merk", "märke", "merke", "mærke", "značka",
		"varumärke", "varemerke", "varemærke", "marchio",
		"marka",
		"бренд", "торговая марка", "торгова марка", "ブランド", "品牌", "브랜드", "العلامة التجارية", "الماركة", "מותג", "μάρκα",
		"merkki", "tuotemerkki", "bränd", "kaubamärk", "prekės ženklas", "gamintojo ženklas", "robna marka",
		"blagovna znamka", "ražotāja zīmols", "brand manufacturer", "make manufacturer", "značka výrobce",
		"vörumerki", "廠牌", "牌子", "品牌名稱", "品牌名称", "ブランド名", "브랜드명",
		"thương hiệu", "ยี่ห้อ", "แบรนด์", "márka", "brend", "znamka", "zīmols")
	add("brand", labelLikely,
		"manufacturer", "hersteller", "erzeuger", "fabricant", "produttore", "fabricante", "producent", "výrobce",
		"výrobca", "producator", "producător", "gyártó", "valmistaja", "tillverkare", "fabrikant", "производитель",
		"виробник",
		"fabrikat", "wydawnictwo", "wydawca", "nakladatelství", "vydavatelství", "förlag", "forlag", "uitgeverij",
		"メーカー", "製造元", "maker", "publisher", "verlag", "éditeur", "editore", "editorial", "mfg", "κατασκευαστής",
		"proizvođač", "proizvajalec", "tootja", "gamintojas", "ražotājs", "üretici", "יצרן", "الشركة المصنعة", "제조사",
		"製造商", "制造商", "生產商")
	// those that make wine, food and drink
	add("brand", labelLikely, "winery", "weingut", "bodega", "cantina", "domaine", "brewery", "brasserie", "brauerei",
		"birrificio", "cervecería", "distillery", "distillerie", "destillerie", "distilleria", "destilería", "roastery",
		"roaster", "rösterei", "torréfacteur", "torrefazione", "wijnhuis", "brouwerij")
	// that of a film or a record is a person: one whose name the product has is a brand, and one of food, see ofFood
	add("brand", labelWeak, "producer", "producteur", "productor", "produtor", "produzent",
		"vendor", "designer", "by", "von",
		"par", "di", "de la marque", "sold by brand", "lieferant")
	return m
}()

// labelKey folds the text before a value as the keys of labels are.
func labelKey(s string) string { return string(appendKey(nil, s)) }

// appendKey appends the key of a label to a text that is empty.
func appendKey(key []byte, s string) []byte {
	space := false
	for _, r := range s {
		if r < utf8.RuneSelf {
			c := byte(r)
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c < '0' || c > '9' && c < 'a' || c > 'z' {
				space = true
				continue
			}
			if space && len(key) > 0 {
				key = append(key, ' ')
			}
			space = false
			key = append(key, c)
			continue
		}
		r = unicode.ToLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) || r == 'º' || r == 'ª' {
			space = true
			continue
		}
		if space && len(key) > 0 {
			key = append(key, ' ')
		}
		space = false
		key = utf8.AppendRune(key, r)
	}
	return key
}

// longestLabel is how long a text is that is looked up as a label, in bytes: thousands of items may have one of a
// hundred thousand.
const longestLabel = 200

// labelFor looks a label up.
func labelFor(s string) (label, bool) {
	if len(s) > longestLabel || !mayBeLabel(s) {
		return label{}, false
	}
	var room [128]byte
	l, ok := labels[string(appendKey(room[:0], s))]
	return l, ok
}

// labelOf looks a label up, also without its words in parentheses, "Part Number (MPN)", and without the site's own
// name, "Acme item number" on acme.example.
func (p *page) labelOf(s string) (label, bool) {
	if !p.beginsLabel(s) {
		return label{}, false
	}
	var room [128]byte
	key := appendKey(room[:0], s)
	l, ok := labels[string(key)]
	if n := strings.IndexByte(s, '('); !ok && n > 0 {
		l, ok = labelFor(s[:n])
	}
	value := strings.ContainsAny(strings.TrimRight(s, " :"), ":") // "Manufacturer: Acme" is more than a label
	if !ok && !value && p.site != "" && bytes.Contains(key, []byte(p.site)) {
		l, ok = labels[fold(strings.ReplaceAll(string(key), p.site, ""))]
	}
	return l, ok
}

// labelHeads are the heads of labels.
var labelHeads = func() (heads [16]uint64) {
	for l := range labels {
		if len(l) > 1 {
			h := headOf(l[0], l[1])
			heads[h>>6] |= 1 << (h & 63)
		}
	}
	return heads
}()

// beginsLabel is mayBeLabel of a text that the site's own name may stand in.
func (p *page) beginsLabel(s string) bool {
	return mayBeLabel(s) || p.site != "" && (s[0]|0x20 == p.site[0] || s[1]|0x20 == p.site[0])
}

// mayBeLabel says that a text may be a label, by the two letters or digits that it begins with: where it does not begin
// with two of ASCII, it may.
func mayBeLabel(s string) bool {
	if len(s) < 2 {
		return true
	}
	for i := range 2 {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && !isDigit(s[i]) {
			return true
		}
	}
	h := headOf(s[0]|0x20, s[1]|0x20)
	return labelHeads[h>>6]>>(h&63)&1 != 0
}

// siteOf returns a site's own name by its host: acme, of www.acme.co.uk; "" for too short a name.
func siteOf(host string) string {
	name := ""
	for part := range strings.SplitSeq(strings.ToLower(host), ".") {
		if len(part) > 3 && (len(name) == 0 || name == "shop" || name == "store") {
			name = part
		}
	}
	return name
}

// A labelled is a value that stands on the page behind its label.
type labelled struct {
	label
	said, value string // the label's text, and what stands behind it
	at          int    // the element of the label
}

// maxLabelled bounds how many are kept.
const maxLabelled = 400

// readLabels finds the values of the labels that show: in tables and definition lists, in elements of their own that
// follow the label's, and in "Label: value" lines.
func (p *page) readLabels() []labelled {
	r := labelReader{p: p, seen: map[string]bool{}}
	r.ofElements()
	cover := p.coverer()
	for start, line := range p.lines() {
		if len(line) > 300 || len(r.out) >= maxLabelled {
			continue
		}
		r.ofNumbers(start, line, cover)
		r.beforeMarks(start, line, cover)
	}
	return r.out
}

// A labelReader collects the values of labels.
type labelReader struct {
	p    *page
	out  []labelled
	seen map[string]bool
}

func (r *labelReader) add(l label, said, value string, at int) {
	if at < 0 || value == "" {
		return
	}
	if key := l.field + " " + value; !r.seen[key] {
		r.seen[key] = !r.p.beside(at) && !r.p.veiledAt(at)
		r.out = append(r.out, labelled{l, said, value, at})
	}
}

// ofElements reads the labels that are all of an element.
func (r *labelReader) ofElements() {
	p := r.p
	var (
		last span // whose label was looked up before: an element may be all that another one holds
		l    label
		ok   bool
	)
	for i := range p.els {
		e := &p.els[i]
		size := e.end - e.start
		if size < 2 || size > 60 || len(r.out) >= maxLabelled {
			continue
		}
		if here := (span{e.start, e.end}); here != last {
			last = here
			l, ok = p.labelOf(p.of(i))
		}
		if !ok || e.tag == atom.A || e.tag == atom.Button {
			continue
		}
		r.add(l, p.of(i), p.following(e.end), i)
	}
}

// ofNumbers reads the labels in front of numbers that no mark sets apart: "Nr ref. 45979556".
func (r *labelReader) ofNumbers(start int, line string, cover func(start, end int) int) {
	for segment := range segments(line) {
		if len(segment) >= 60 || !mayBeLabel(strings.TrimLeft(segment, " ")) || strings.ContainsAny(segment, ":#") {
			continue
		}
		fields := strings.Fields(segment)
		if len(fields) > 4 && digits(segment) < 4 {
			continue
		}
		end := 0
		for k := 1; k < len(fields) && k <= 3; k++ {
			end += strings.Index(segment[end:], fields[k-1]) + len(fields[k-1])
			l, ok := labelFor(segment[:end])
			if !ok || l.field == "brand" || l.weight != labelSure {
				continue
			}
			v := code(strings.Join(fields[k:], " "))
			// "Réf. 3-44" and "Cod. art. CP22", but "Ref. 3 of 44" and "Codice SCONTO10"
			// Nothing but a number follows "SKU": "SKU INK-B50".
			short := (strings.HasSuffix(fields[k-1], ".") || strings.EqualFold(fields[k-1], "sku")) && digits(v) > 0
			if digits(v) >= 4 || v != "" && (isDigit(v[0]) || short) && len(fields) == k+1 {
				r.add(l, segment, v, cover(start, start+1))
			}
		}
	}
}

// beforeMarks reads the labels before the colons and such of a line.
func (r *labelReader) beforeMarks(start int, line string, cover func(start, end int) int) {
	p := r.p
	for at := 0; at < len(line); {
		n := markAfter(line, at)
		if n < 0 {
			break
		}
		_, size := utf8.DecodeRuneInString(line[n:])
		after := line[n+size:]
		whole := at + behindLast(line[at:n], "|;")
		l, ok := p.labelOf(line[whole:n]) // "make/manufacturer", "Code (EAN)"
		from := at + behindLast(line[at:n], "|,;()/")
		if !ok {
			l, ok = p.labelOf(line[from:n])
		}
		if !ok {
			l, ok = tailLabel(line[from:n])
		}
		if ok {
			value := strings.TrimLeft(after, " :#.：")
			if value == "" && start+len(line) < len(p.text) {
				value = p.following(start + len(line))
			}
			r.add(l, line[from:n], value, cover(start+n, start+n+1))
		}
		at = len(line) - len(after)
	}
}

// tailLabel is the label that a text ends in, if it means one field: "More details Item No".
func tailLabel(s string) (l label, ok bool) {
	words := strings.Fields(labelKey(s))
	for k := 1; k < len(words) && k < 8; k++ {
		if l, ok = labels[strings.Join(words[k:], " ")]; ok && l.weight == labelSure { // not "use code: SAVE20"
			l.weight = labelTail
			return l, true
		}
	}
	return label{}, false
}

// segments yields the parts of a line that are set apart, if there may be a label and a number among them.
func segments(line string) iter.Seq[string] {
	if digits(line) == 0 {
		return func(func(string) bool) {}
	}
	return strings.FieldsFuncSeq(line, func(r rune) bool {
		return r == '|' || r == '•' || r == '·' || r == '(' || r == ')'
	})
}

// markAfter finds the first of the marks behind a label, ":#：№", at or after a place of a line; -1 = there is none.
func markAfter(line string, at int) int {
	for i := at; i < len(line); i++ {
		switch c := line[i]; {
		case c == ':' || c == '#':
			return i
		case c == 0xef || c == 0xe2: // which ： and № begin with
			if strings.HasPrefix(line[i:], "：") || strings.HasPrefix(line[i:], "№") {
				return i
			}
		}
	}
	return -1
}

// behindLast is the place behind the last of some marks in a text, • and · among them, a byte behind it, 0 = none.
func behindLast(s, marks string) int {
	for i := len(s); i > 0; i-- {
		switch c := s[i-1]; {
		case c < utf8.RuneSelf:
			if strings.IndexByte(marks, c) >= 0 {
				return i
			}
		case c == 0xe2 && strings.HasPrefix(s[i-1:], "•") || c == 0xc2 && strings.HasPrefix(s[i-1:], "·"):
			return i
		}
	}
	return 0
}

// worth is how much a labelled value counts where it stands.
func (p *page) worth(l labelled) float64 {
	if p.beside(l.at) || p.veiledAt(l.at) {
		return p.w[l.weight] + p.w[labelBeside]
	}
	return p.w[l.weight]
}

// labelledAs yields the values of a field and their points.
func (p *page) labelledAs(field string, found []labelled) iter.Seq2[labelled, float64] {
	return func(yield func(labelled, float64) bool) {
		for _, l := range found {
			if l.field == field && !yield(l, p.worth(l)) {
				return
			}
		}
	}
}

// following is the text after a position up to the line's end; where the line ends there, the next line.
func (p *page) following(at int) string {
	rest := strings.TrimLeft(p.text[at:min(at+300, len(p.text))], " :#.：\n\t-–|")
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	return rest
}
