package draft

import (
	"bytes"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/markup"
	plain "github.com/mtlrent/conveyor/domain/page"
)

// A claim is a value that something on the page says a field has.
type claim struct {
	value  string
	points float64
	hints  float64 // for other signs on the page that agree; at most maxHints count
	source Source
}

func (c claim) total() float64 { return c.points + min(c.hints, maxHints) }

// maxClaims bounds how many values of a field are weighed.
const maxClaims = 300

// claims collects the evidence for each value of a field.
type claims struct {
	list []claim
	at   map[string]int
	keys []claim // of the shop's own, which are not weighed
}

// add notes that a source says a value, worth so many points. A second witness adds less, and the better source names
// the value.
func (c *claims) add(value string, points float64, s Source) {
	if value = strings.TrimSpace(value); value == "" {
		return
	}
	key := bare(value)
	if c.at == nil {
		c.at = map[string]int{}
	}
	n, ok := c.at[key]
	if !ok {
		if len(c.list) >= maxClaims {
			return
		}
		c.at[key] = len(c.list)
		c.list = append(c.list, claim{value: value, points: points, source: s})
		return
	}
	was := &c.list[n]
	if points > was.points {
		was.points, points = points, was.points
		if was.source == Page || s != Page {
			was.value, was.source = value, s
		}
	}
	was.points += points / witnesses
}

// bare is a value as claims compare it: 002.937.72 is 00293772.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// sameCode says that two numbers differ in how they are set at most.
func sameCode(a, b string) bool { return bare(a) == bare(b) }

// best is the value that most speaks for, if it is worth enough.
func (c claims) best(least float64) (claim, bool) {
	var out claim
	for _, x := range c.list {
		if x.total() > out.total() || x.total() == out.total() && x.hints > out.hints {
			out = x
		}
	}
	return out, out.total() >= least
}

// brackets enclose what is beside a number or a name; those of Chinese and Japanese have no space before them.
const brackets = "()[]（）［］【】「」『』〔〕〈〉《》"

// date is one in figures, "2024-11-05" or "5.11.2024".
var date = regexp.MustCompile(`^(?:(?:19|20)\d\d[-./][01]?\d[-./][0-3]?\d|[0-3]?\d[-./][0-3]?\d[-./](?:19|20)\d\d)$`)

// code cuts an article number from the text behind its label: one word, with a digit or in capitals.
func code(s string) string {
	if n := strings.IndexAny(s, "|•;\n\t"); n >= 0 {
		s = s[:n]
	}
	s = strings.TrimSpace(s)
	fields := strings.Fields(s)
	if len(fields) == 0 || len(fields) > 1 && len(s) > 80 {
		return ""
	}
	w := fields[0]
	if n := strings.IndexAny(strings.TrimLeft(w, brackets), brackets); n >= 0 { // 12345（black）
		w = w[:len(w)-len(strings.TrimLeft(w, brackets))+n]
	}
	w = strings.Trim(w, ",;:\"'.#，。、：；"+brackets)
	if len(fields) > 1 && len(fields) <= 4 && len(s) <= 24 && digits(w) > 0 && digits(fields[1]) > 0 &&
		!strings.ContainsAny(s, ":,()") {
		w = strings.Join(fields, " ") // 12 345 67
	}
	if date.MatchString(w) {
		return ""
	}
	if len(w) < 2 || len(w) > 40 || strings.ContainsAny(w, "€$£%@?!<>{}=") || strings.Contains(w, "://") {
		return ""
	}
	if digits(w) == 0 && (len(fields) > 1 || len(w) < 4 || w != strings.ToUpper(w) || w == strings.ToLower(w)) {
		return ""
	}
	return w
}

func digits(s string) int {
	n := 0
	for i := range len(s) {
		if isDigit(s[i]) {
			n++
		}
	}
	return n
}

// urlTokens are the parts of an address that may be a product's number, the likeliest last.
func urlTokens(address *url.URL) []string {
	var out []string
	add := func(s string) {
		if n := digits(s); n >= 4 && len(s) <= 30 || n >= 2 && len(s) >= 6 && len(s) <= 24 && !strings.Contains(s, "-") {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	for seg := range strings.SplitSeq(address.Path, "/") {
		seg = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(seg, ".html"), ".htm"), ".php")
		for _, part := range strings.FieldsFunc(seg, func(r rune) bool { return strings.ContainsRune("-_.,~", r) }) {
			if tail := numberBehind(part); tail != "" {
				add(tail)
				continue
			}
			add(part)
			if len(part) > 5 && !isDigit(part[0]) && digits(part) == len(part)-1 {
				add(part[1:])
			}
		}
		if parts := strings.Split(seg, "-"); len(parts) > 2 { // abc12d00-k11 at the end of words
			add(strings.Join(parts[len(parts)-2:], "-"))
		}
		if numberBehind(seg) == "" {
			add(seg)
		}
	}
	query := address.Query()
	for _, key := range sorted(query) {
		values := query[key]
		switch strings.ToLower(key) {
		case "id", "sku", "pid", "productid", "product_id", "itemid", "item", "p", "product", "articleid", "article",
			"prod", "products_id", "code":
			add(values[0])
		}
	}
	return out
}

// numberBehind is the number at the end of a part of an address that has other keys before it: 278526196 of
// c7200a278526196. "" = the part is a number itself, or none.
func numberBehind(part string) string {
	end := strings.LastIndexFunc(part, func(r rune) bool { return !unicode.IsDigit(r) }) + 1
	if end < 2 || len(part)-end < 6 || digits(part[:end]) == 0 || strings.ContainsAny(part, "-_.") {
		return ""
	}
	return part[end:]
}

// spells says that a part of an address is made of words of the product's name: 13ftx17ft, 32732-bluetooth. A number
// that stands in the name may be the shop's as well.
func (p *page) spells(token string) bool {
	if digits(token) == len(token) {
		return false
	}
	words := map[string]bool{}
	for w := range strings.FieldsSeq(labelKey(p.name)) {
		words[w] = true
	}
	for w := range strings.FieldsSeq(labelKey(token)) {
		if !words[w] {
			return false
		}
	}
	return true
}

// numberAttrs are attributes that carry a product's number.
var numberAttrs = map[string]weight{
	"data-product-sku": skuAttrProductSKU,
	"data-sku":         skuAttrSKU, "data-product-code": skuAttrSKU, "data-productcode": skuAttrSKU,
	"data-product-id": skuAttrProduct, "data-productid": skuAttrProduct, "data-pid": skuAttrProduct,
	"data-article-id": skuAttrArticle, "data-article": skuAttrArticle,
	"data-item-id": skuAttrItem, "data-itemid": skuAttrItem, "data-master-id": skuAttrItem,
	"data-asin": skuAttrASIN, "data-product": skuAttrASIN,
	"data-id": skuAttrID,
}

// numberInputs are the names of form fields that carry one.
var numberInputs = map[string]bool{"sku": true, "product_id": true, "productid": true, "product": true, "pid": true,
	"item_id": true, "itemid": true, "id_product": true, "products_id": true, "asin": true, "article": true,
	"product_sku": true, "productcode": true, "product_code": true, "add-to-cart": true, "code": true, "id": true}

// skuOf chooses the product's number: the one that identifies it on the page, and in its address.
func (p *page) skuOf(products []*markup.Item, offers []offer, meta map[string][]string, found []labelled, s state,
	html []byte, address *url.URL) claims {
	c := skuClaims{p: p, tokens: urlTokens(address), path: bare(address.Path)}
	c.inData(products)
	for _, v := range meta["product:retailer_item_id"] {
		c.add(number(v), c.p.w[skuMeta], OpenGraph)
	}
	c.asMakers(products)
	c.inOffers(offers, oneSKU(products, offers))
	c.behindLabels(found)
	c.inAddress()
	c.onShortLines()
	for i := range p.els {
		c.inNamed(i)
		c.inAttributes(i)
		c.inField(i)
	}
	c.inScripts(s)
	c.agree(html)
	return c.claims
}

// The skuClaims collect the evidence for the shop's number.
type skuClaims struct {
	claims
	p      *page
	tokens []string // see urlTokens
	path   string   // of the address, bare
}

// skuProps are the properties of data that name the shop's number.
var skuProps = []struct {
	name   string
	weight weight
}{{"sku", skuData}, {"productID", skuProductID}, {"identifier", skuIdentifier}, {"productId", skuProductID}}

// inData hears the data of the product: "sku": "4711-B".
func (c *skuClaims) inData(products []*markup.Item) {
	for _, i := range products {
		for _, prop := range skuProps {
			c.add(number(i.Text(prop.name)), c.p.w[prop.weight], sourceOf(i))
		}
		for _, v := range stated(i, "sku") {
			c.add(number(v), c.p.w[skuData], sourceOf(i))
		}
	}
}

// stated are the values of a field that data has under a name of its own: {"@type": "PropertyValue", "propertyID":
// "gtin13", "value": "4006381333931"}.
func stated(i *markup.Item, field string) []string {
	var out []string
	for _, prop := range []string{"identifier", "additionalProperty"} {
		for _, v := range i.Items(prop) {
			for _, name := range []string{v.Text("propertyID"), v.Text("name")} {
				if l, _ := labelFor(name); l.field == field && l.weight == labelSure {
					out = append(out, v.Text("value"))
					break
				}
			}
		}
	}
	return out
}

// asMakers hears what some data calls the manufacturer's: it is the shop's where the address has it, "mpn": "884711" of
// /884711.html.
func (c *skuClaims) asMakers(products []*markup.Item) {
	for _, i := range products {
		if v := number(i.Text("mpn")); digits(v) >= 4 && c.isToken(v) {
			c.add(v, c.p.w[skuMPN], sourceOf(i))
		}
	}
}

// isToken says that a number is a part of the address, in whatever way it is set.
func (c *skuClaims) isToken(v string) bool {
	return slices.ContainsFunc(c.tokens, func(t string) bool { return sameCode(t, v) })
}

// inOffers hears the numbers of offers: {"@type": "Offer", "sku": "4711-B"}. One = all have one, and nothing else does.
func (c *skuClaims) inOffers(offers []offer, one bool) {
	for _, o := range offers {
		w := skuOffer
		switch {
		case o.second:
			w = skuVariant
		case one:
			w = skuOnlyOffer
		}
		c.add(number(o.sku), c.p.w[w], o.source)
	}
}

// oneSKU says that the offers have one number, and the products none of their own.
func oneSKU(products []*markup.Item, offers []offer) bool {
	if slices.ContainsFunc(products, func(i *markup.Item) bool { return number(i.Text("sku")) != "" }) {
		return false
	}
	first := ""
	for _, o := range offers {
		sku := bare(number(o.sku))
		if sku == "" || first != "" && sku != first {
			return false
		}
		first = sku
	}
	return first != ""
}

// behindLabels hears what stands behind a label: "Item no.: 4711-B". A weak one of the manufacturer's may be the
// shop's: "Model: 4711-B".
func (c *skuClaims) behindLabels(found []labelled) {
	for _, l := range found {
		model := l.field == "mpn" && l.weight == labelWeak
		if l.field != "sku" && !model {
			continue
		}
		w := c.p.worth(l)
		if model {
			w += c.p.w[skuModel] - c.p.w[labelWeak]
		}
		v := code(l.value)
		if v == "" && l.weight == labelSure && single(l.value) { // "SKU: 7"
			v = strings.TrimSpace(l.value)
		}
		c.add(v, w, Page)
	}
}

// single says that a text is one digit or capital letter: the number of a product in a small shop.
func single(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) == 1 && (isDigit(s[0]) || 'A' <= s[0] && s[0] <= 'Z')
}

// inAddress hears the parts of the address, the later the more. One that is much like a number, and no words of the
// product's name, is a claim of its own: /884711.html, /abc12d00.
func (c *skuClaims) inAddress() {
	w := c.p.w
	for n, t := range c.tokens {
		c.support(t, w[skuAddress]+w[skuAddressLate]*float64(n+1)/float64(len(c.tokens)),
			(digits(t) >= 5 || digits(t) >= 2 && len(t) >= 8 && bare(t) == strings.ToLower(t)) && !c.p.spells(t))
	}
}

// onShortLines hears the words that are all of a short line, or the end of one, below the product's name, and a part of
// the address: 883/4471 and Item 8834471, of /8834471.html.
func (c *skuClaims) onShortLines() {
	if c.p.title < 0 {
		return
	}
	from := c.p.els[c.p.title].end
	for start, line := range c.p.lines() {
		if start > from+addressReach {
			break
		}
		if start < from || len(line) > 30 {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) > 3 {
			continue
		}
		v := code(fields[len(fields)-1])
		if l, ok := labelFor(fields[len(fields)-1]); ok && l.field == "sku" { // 21335 Item
			v = code(fields[0])
		}
		if digits(v) >= 5 && c.isToken(v) {
			c.add(v, c.p.w[skuAddressed], Page)
		}
	}
}

// inNamed hears the short text of an element that is named so: <span class="sku">Ref: 4711-B</span>.
func (c *skuClaims) inNamed(i int) {
	e := &c.p.els[i]
	if e.own&numbers == 0 || e.end-e.start >= 80 || e.end == e.start || c.p.beside(i) || c.p.veiledAt(i) {
		return
	}
	text := c.p.of(i)
	if v := code(text[strings.LastIndexAny(text, ":#\n")+1:]); digits(v) >= 3 {
		c.add(v, c.p.w[skuNamed], Page)
	}
}

// inAttributes hears the attributes of an element: <div data-product-id="4711">.
func (c *skuClaims) inAttributes(i int) {
	p := c.p
	for _, a := range p.els[i].node.Attr {
		if !strings.HasPrefix(a.Key, "data-") {
			continue
		}
		attr, ok := numberAttrs[a.Key]
		if !ok || !isKey(a.Val) || p.beside(i) {
			continue
		}
		w := p.w[attr]
		if p.holdsTitle(i) || p.button >= 0 && p.els[i].inside(i, p.button) {
			w *= p.w[skuAttrNear]
		}
		c.support(a.Val, w, true)
	}
}

// inField hears a field of a form: <input name="product_id" value="4711">.
func (c *skuClaims) inField(i int) {
	e := &c.p.els[i]
	if e.tag != atom.Input || !numberInputs[strings.ToLower(attr(e.node, "name"))] || c.p.beside(i) {
		return
	}
	if v := attr(e.node, "value"); isKey(v) {
		c.support(v, c.p.w[skuInput], true)
	}
}

// isKey says that the value of an attribute may be a number of a product.
func isKey(v string) bool { return len(v) <= 40 && digits(v) > 2 }

// inScripts hears the scripts: {"productId": 4711}. The data is a script, too: it is no second witness of itself.
func (c *skuClaims) inScripts(s state) {
	w := c.p.w
	if _, ok := c.at[bare(s.sku)]; !ok {
		c.add(s.sku, w[skuState], Page)
	}
	for _, v := range sorted(s.ids) {
		c.support(v, min(w[skuScript]+w[skuScriptEach]*float64(s.ids[v]), maxSKUScript), false)
	}
}

// agree adds to the claims what the page and its address say of them: "4711-B" of the data is to be read in the text,
// and in /p/4711b/blue-widget.
func (c *skuClaims) agree(html []byte) {
	w := c.p.w
	counted := 0
	for n := range c.list {
		x := &c.list[n]
		if x.source != Page && c.p.shows(x.value) {
			x.points += w[skuShows]
		}
		if key := bare(x.value); (len(key) < 6 || !strings.Contains(c.path, key)) && !c.isToken(x.value) {
			continue
		}
		if x.points > leastAddressed {
			x.points += w[skuAgrees]
		}
		if digits(x.value) >= 2 && counted < 20 {
			counted++ // each reads the whole page
			x.hints += w[skuRepeated] * math.Log2(1+float64(repeats(html, []byte(x.value))))
		}
	}
}

// repeats is how often a value stands in a page, maxRepeats at most.
func repeats(html, value []byte) (n int) {
	for n < maxRepeats {
		at := bytes.Index(html, value)
		if at < 0 {
			break
		}
		html = html[at+len(value):]
		n++
	}
	return n
}

// support says that something else agrees with a value that is claimed already; create lets it be a claim of its own.
func (c *claims) support(value string, points float64, create bool) {
	n, ok := c.at[bare(value)]
	if !ok {
		if !create {
			return
		}
		c.add(value, 0, Page)
		if n, ok = c.at[bare(value)]; !ok {
			return
		}
	}
	c.list[n].hints += points
}

// shows says that a value is to be read on the page.
func (p *page) shows(value string) bool {
	return len(value) > 3 && strings.Contains(p.text, value)
}

// longestText is how much is read, in bytes, of a text that is to be a number or a name: thousands of items may have
// it.
const longestText = 4096

// number is a value of structured data that may be an article number.
func number(s string) string {
	s = cleanText(plain.CutBytes(s, longestText), 100)
	if before, after, ok := strings.Cut(s, ":"); ok && labels[labelKey(before)].field != "" {
		s = strings.TrimSpace(after)
	} else if before, after, ok := strings.Cut(s, " "); ok && labels[labelKey(before)].field != "" {
		s = strings.TrimSpace(after)
	}
	if len(s) > 60 || strings.Contains(s, "://") || s == "0" || nothing(s) {
		return ""
	}
	return s
}

// nothings are what stands where a value is missing, as keys of labels are written.
var nothings = phraseSet("n a|na|nan|none|null|nil|undefined|unknown|false|does not apply|not applicable|" +
	"not available|not specified|nicht zutreffend|ne s applique pas|non applicable|no aplica|no aplicable|" +
	"non applicabile|nie dotyczy")

// nothing says that a text stands for a value that is missing.
func nothing(s string) bool {
	key := labelKey(s)
	return key == "" || nothings[key]
}

func abs(n int) int { return max(n, -n) }

// sorted are a map's keys in order, for the same page must always give the same draft.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func firstWord(s string) string {
	w, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return strings.Trim(w, ",;|.")
}

// mpnOf chooses the manufacturer's number.
func (p *page) mpnOf(products []*markup.Item, offers []offer, meta map[string][]string, found []labelled) claims {
	var c claims
	for _, i := range products {
		v := number(i.Text("mpn"))
		if sku := bare(i.Text("sku")); sku != "" && strings.HasPrefix(bare(v), sku) ||
			digits(v) == len(v) && len(v) < 10 && !p.shows(v) {
			c.keys = append(c.keys, claim{value: v, source: sourceOf(i)})
			v = ""
		}
		c.add(v, p.w[mpnData], sourceOf(i))
		for _, v := range stated(i, "mpn") {
			c.add(number(v), p.w[mpnData], sourceOf(i))
		}
		c.add(code(i.Text("model")), p.w[mpnModel], sourceOf(i))
	}
	for _, o := range offers {
		if o.item != nil && !o.second {
			c.add(number(o.item.Text("mpn")), p.w[mpnOffer], o.source)
		}
	}
	for _, key := range []string{"product:mfr_part_no", "product:mpn"} {
		for _, v := range meta[key] {
			c.add(number(v), p.w[mpnMeta], OpenGraph)
		}
	}
	for l, w := range p.labelledAs("mpn", found) {
		v := code(l.value)
		if l.weight == labelWeak { // a model is a number, or it is a name
			if len(v) < 5 || digits(v) == 0 {
				continue
			}
			if len(v) >= 6 && digits(v) < len(v) {
				w += p.w[mpnMixed]
			}
		}
		c.add(v, w, Page)
	}
	for _, l := range found { // a number that is part of the name is not the shop's own
		if v := code(l.value); l.field == "sku" && len(v) >= 5 && digits(v) > 0 && digits(v) < len(v) &&
			l.weight == labelSure && !p.beside(l.at) &&
			slices.Contains(strings.Fields(strings.ToLower(p.name)), strings.ToLower(v)) {
			c.add(v, p.w[mpnInName], Page)
		}
	}
	return c
}
