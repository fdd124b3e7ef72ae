package draft

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/mtlrent/conveyor/domain/markup"
	"github.com/mtlrent/conveyor/domain/price"
)

// productTypes are the types of schema.org for things for sale.
var productTypes = []string{"Product", "ProductGroup", "ProductCollection", "IndividualProduct", "ProductModel",
	"SomeProducts", "Vehicle", "Car", "Motorcycle", "MotorizedBicycle", "BusOrCoach", "DietarySupplement", "Drug", "Book",
	"Audiobook"}

// An offer is a price that structured data names.
type offer struct {
	amount, currency string
	to               string // the upper end of the range whose lower one is amount, "" = none
	availability     Availability
	sku, name, url   string
	condition        string // lower case: "https://schema.org/usedcondition"
	source           Source
	second           bool // a variant's, or the upper end of a range
	item             *markup.Item
	of               *markup.Item // the product it is for
}

// sourceOf is the source that an item's syntax is.
func sourceOf(i *markup.Item) Source { return Source(i.Syntax) }

// related are the properties that lead to other products.
var related = map[string]bool{"isRelatedTo": true, "isSimilarTo": true, "isAccessoryOrSparePartFor": true,
	"itemListElement": true, "isConsumableFor": true, "review": true, "reviews": true, "mentions": true,
	"hasVariant": true, "model": true, "isVariantOf": true, "aggregateRating": true}

// products are the items that describe the page's product, the best of each syntax, in the order of trust.
func (p *page) products(data markup.Data) []*markup.Item {
	beside := besides(data)
	best := map[markup.Syntax]*markup.Item{}
	points := map[markup.Syntax]float64{}
	all := data.Find(productTypes...)
	shown := p.indexes(all)
	for _, i := range all {
		s := 0.0
		if beside[i] {
			s += p.w[itemBeside]
		}
		s += p.w[itemAlike] * alike(i.Text("name"), p.name)
		if len(i.Props["offers"]) > 0 || i.Is("ProductGroup") {
			s += p.w[itemOffers]
		}
		if i.Node != nil && i.Syntax != "json-ld" {
			if at, ok := shown[i.Node]; ok {
				if p.els[at].marks&(aside|chrome) != 0 && !p.holdsTitle(at) {
					s += p.w[itemAside]
				}
				if p.holdsTitle(at) {
					s += p.w[itemTitle]
				}
			}
		}
		if best[i.Syntax] == nil || s > points[i.Syntax] {
			best[i.Syntax], points[i.Syntax] = i, s
		}
	}
	var out []*markup.Item
	for _, syntax := range []markup.Syntax{"json-ld", "microdata", "rdfa"} {
		if best[syntax] != nil && points[syntax] > leastItem {
			out = append(out, best[syntax])
		}
	}
	return out
}

// indexes are those of the elements that show items.
func (p *page) indexes(items []*markup.Item) map[*html.Node]int {
	of := map[*html.Node]int{}
	for _, i := range items {
		if i.Node != nil && i.Syntax != "json-ld" {
			of[i.Node] = -1
		}
	}
	if len(of) == 0 {
		return nil
	}
	for i := range p.els {
		if _, ok := of[p.els[i].node]; ok {
			of[p.els[i].node] = i
		}
	}
	maps.DeleteFunc(of, func(_ *html.Node, i int) bool { return i < 0 }) // what does not show
	return of
}

// toProducts turns the offers of a page that say what they offer into products that have offers, which is what pages
// are read for: {"@type": "Offer", "itemOffered": {"@type": "Product"}}.
func toProducts(items []*markup.Item) {
	turned := map[*markup.Item]bool{}
	for n, o := range items {
		offered := o.Items("itemOffered")
		if !o.Is("Offer", "AggregateOffer") || len(offered) != 1 || !offered[0].Is(productTypes...) ||
			len(offered[0].Props["offers"]) > 0 && !turned[offered[0]] {
			continue
		}
		delete(o.Props, "itemOffered") // no item is a part of itself
		offered[0].Props["offers"] = append(offered[0].Props["offers"], markup.Value{Item: o})
		items[n], turned[offered[0]] = offered[0], true
	}
}

// productOf makes a product of the only offer of a page that names no product: some templates leave out the item around
// it. That of an article is of something else, but plugins call every page of a shop one by og:type.
func productOf(data markup.Data) {
	if len(data.Find(productTypes...)) > 0 || len(data.Find(articleTypes...)) > 0 {
		return
	}
	only := -1
	for n, i := range data.Items {
		if i.Is("Offer", "AggregateOffer") {
			if only >= 0 {
				return
			}
			only = n
		}
	}
	if only >= 0 {
		o := data.Items[only]
		data.Items[only] = &markup.Item{Syntax: o.Syntax, Types: []string{"Product"}, Node: o.Node,
			Props: map[string][]markup.Value{"offers": {{Item: o}}}}
	}
}

// mostSizes is how many products of one name are looked at.
const mostSizes = 100

// sizesOf are the offers of the other items of one syntax that describe the same product: some shops write a product
// for each size, under one name.
func (p *page) sizesOf(data markup.Data, product *markup.Item) []offer {
	name := bare(product.Text("name"))
	if name == "" {
		return nil
	}
	beside := besides(data)
	var out []offer
	looked := 0 // each may lead to thousands of items that have no offer in the end
	for _, i := range data.Find(productTypes...) {
		if i == product || i.Syntax != product.Syntax || beside[i] || bare(i.Text("name")) != name {
			continue
		}
		if looked++; looked > mostSizes || len(out) > 500 {
			break
		}
		out = append(out, p.offersOf(i)...)
	}
	return out
}

// besides are the items that are reached through properties of other products, or as members of lists. Items may be
// shared by references, so that the paths through them are without number: each is visited once for what it is beside,
// once for what it is not, by its shortest path, and nothing lies deeper than deepestItem.
func besides(data markup.Data) map[*markup.Item]bool {
	type visit struct {
		item *markup.Item
		out  bool
	}
	beside, seen := map[*markup.Item]bool{}, map[visit]bool{}
	var next []visit
	for _, i := range data.Items {
		next = append(next, visit{i, i.Is("ItemList", "OfferCatalog", "BreadcrumbList")})
	}
	for depth := 0; depth <= deepestItem; depth++ {
		level := next
		next = nil
		for _, v := range level {
			if seen[v] || beside[v.item] {
				continue
			}
			seen[v] = true
			if v.out {
				beside[v.item] = true
			}
			list := v.out || v.item.Is("ItemList", "OfferCatalog")
			for prop, values := range v.item.Props {
				for _, value := range values {
					if value.Item != nil {
						next = append(next, visit{value.Item, list || related[prop]})
					}
				}
			}
		}
	}
	return beside
}

const (
	deepestItem = 16     // properties from a root of the data
	mostReads   = 20_000 // offers of a page looked at, shared ones as often as they are referred to
)

// offersOf are the prices that a product's data names, the likeliest first.
func (p *page) offersOf(product *markup.Item) []offer {
	var out []offer
	var read func(i *markup.Item, of *markup.Item, second bool, depth int)
	read = func(i *markup.Item, of *markup.Item, second bool, depth int) {
		if p.reads++; depth > 4 || len(out) > 500 || p.reads > mostReads {
			return
		}
		o := p.statedOffer(i)
		o.of, o.url, o.second = of, cmp.Or(o.url, of.Ref("url")), o.second || second
		if of != product { // a variant has its own number
			o.sku = cmp.Or(o.sku, number(of.Text("sku")))
		}
		if o.amount != "" || o.availability != "" {
			out = append(out, o)
		}
		nested := i.Items("offers")
		for n, sub := range nested {
			read(sub, of, second || n > 0 || o.amount != "", depth+1)
		}
		if len(nested) > 0 && i.Text("lowPrice") != "" && o.amount == "" {
			if a := p.amount(i.Text("lowPrice")); a != "" {
				o.amount, o.second = a, true
				if high := p.amount(i.Text("highPrice")); price.Less(a, high) {
					o.to = high
				}
				out = append(out, o)
			}
		}
	}
	for n, i := range product.Items("offers") {
		read(i, product, n > 0, 0)
	}
	if a := p.amount(product.Text("price")); a != "" { // where it does not belong, but is written
		out = append(out, offer{amount: a, currency: currencyCode(product.Text("priceCurrency")),
			availability: availabilityOf(product.Ref("availability")), source: sourceOf(product), item: product,
			of: product})
	} else if v := availabilityOf(product.Ref("availability")); v != "" && len(out) == 0 {
		out = append(out, offer{availability: v, source: sourceOf(product), item: product, of: product})
	}
	for _, variant := range product.Items("hasVariant") {
		for _, i := range variant.Items("offers") {
			read(i, variant, len(out) > 0, 0)
		}
	}
	if slices.ContainsFunc(out, func(o offer) bool { return strings.Contains(o.condition, "new") }) {
		out = slices.DeleteFunc(out, func(o offer) bool { return usedOnes.MatchString(o.condition) })
	}
	return out
}

// usedOnes are the conditions of things that were sold before: where a product is offered new, they are other offers.
var usedOnes = regexp.MustCompile(`used|refurbished|damaged`)

// statedOffer is what an item says of itself as an offer, read once: thousands of references may lead to one.
func (p *page) statedOffer(i *markup.Item) offer {
	if o, ok := p.stated[i]; ok {
		return o
	}
	o := offer{source: sourceOf(i), item: i, sku: number(i.Text("sku")), name: i.Text("name"),
		url: i.Ref("url"), condition: strings.ToLower(i.Ref("itemCondition")),
		availability: availabilityOf(i.Ref("availability"))}
	for _, form := range i.Items("itemOffered") {
		o.sku, o.name = cmp.Or(o.sku, number(form.Text("sku"))), cmp.Or(o.name, form.Text("name"))
	}
	sum := p.sum(i.Text("price"))
	o.amount, o.to = sum.Amount, sum.To
	o.currency = cmp.Or(currencyCode(i.Text("priceCurrency")), currencyCode(i.Text("currency")), sum.Currency)
	if o.amount == "" && len(i.Items("offers")) == 0 {
		o.amount = p.amount(i.Text("lowPrice"))
	}
	if high := p.amount(i.Text("highPrice")); o.amount == p.amount(i.Text("lowPrice")) && price.Less(o.amount, high) {
		o.to, o.second = high, true // a variant's, or another seller's
	}
	for _, spec := range p.specsOf(i) {
		if o.amount == "" {
			o.amount = p.amount(spec.Text("price"))
		}
		if o.amount == "" {
			o.amount = p.amount(spec.Text("minPrice"))
			if most := p.amount(spec.Text("maxPrice")); o.amount != "" && price.Less(o.amount, most) {
				o.to = most
			}
		}
		if o.currency == "" {
			o.currency = currencyCode(spec.Text("priceCurrency"))
		}
	}
	if p.stated == nil {
		p.stated = map[*markup.Item]offer{}
	}
	p.stated[i] = o
	return o
}

// specsOf are the parts of an offer's price that may be all of it: no list price, none with a condition, and no net one
// beside a gross one.
func (p *page) specsOf(i *markup.Item) []*markup.Item {
	specs := slices.DeleteFunc(slices.Clone(i.Items("priceSpecification")), func(spec *markup.Item) bool {
		kind := i.Text("priceType") + spec.Text("priceType")
		return kind != "" && !strings.Contains(kind, "SalePrice") || perMeasure(spec) || conditional(spec)
	})
	if slices.ContainsFunc(specs, func(spec *markup.Item) bool {
		return taxed(spec, "true") && cmp.Or(p.amount(spec.Text("price")), p.amount(spec.Text("minPrice"))) != ""
	}) {
		return slices.DeleteFunc(specs, func(spec *markup.Item) bool { return taxed(spec, "false") })
	}
	return specs
}

// asked leaves out the offers of other forms of a product than the one that the address asks for, "?variant=2". It asks
// for one where another has an address of the same path. An offer at the path alone is of all forms, and goes where the
// same source has a price for the one.
func (p *page) asked(offers []offer, address *url.URL) []offer {
	const (
		apart = iota // it has no address, or that of another page
		all
		this
		other
	)
	asks := address.Query()
	of := make([]int, len(offers))
	priced := map[Source]bool{}
	for n, o := range offers {
		u, err := url.Parse(p.link(o.url))
		switch {
		case err != nil || o.url == "" || u.Host != address.Host || u.Path != address.Path:
			continue
		case u.RawQuery == "":
			of[n] = all
			continue
		}
		of[n] = this
		for key, values := range u.Query() {
			if !slices.Equal(values, asks[key]) {
				of[n] = other
			}
		}
		priced[o.source] = priced[o.source] || of[n] == this && o.amount != ""
	}
	if !slices.Contains(of, this) || !slices.Contains(of, other) {
		return offers
	}
	var out []offer
	first := true
	for n, o := range offers {
		if first && of[n] == this && o.to == "" { // the product's own, not a further one
			o.second, first = false, false
		}
		if of[n] != other && (of[n] != all || !priced[o.source]) {
			out = append(out, o)
		}
	}
	return out
}

// taxed says that a price answers so to whether it has the tax in it: "true" or "false".
func taxed(spec *markup.Item, answer string) bool {
	said := strings.ToLower(spec.Ref("valueAddedTaxIncluded"))
	return said[strings.LastIndexByte(said, '/')+1:] == answer
}

// conditional says that a price is that of members only, or of those who buy several.
func conditional(spec *markup.Item) bool {
	if len(spec.Props["validForMemberTier"]) > 0 {
		return true
	}
	for _, q := range spec.Items("eligibleQuantity") {
		if least := strip(q.Text("minValue")); plainAmount(least) && price.Less("1", least) {
			return true
		}
	}
	return false
}

// perMeasure says that a price is that of a measure, "29.90 per kg". Where the quantity names the one that it refers to,
// as Google has it, the price is that of the whole: 81.00 for 4.5 l, by the litre.
func perMeasure(spec *markup.Item) bool {
	return len(spec.Props["referenceQuantity"]) > 0 &&
		!slices.ContainsFunc(spec.Items("referenceQuantity"), func(q *markup.Item) bool {
			return len(q.Props["valueReference"]) > 0
		})
}

// amount is the amount of sum.
func (p *page) amount(s string) string { return p.sum(s).Amount }

// sum reads the price of structured data, in which a point is a decimal point unless that makes no sense. It has a
// currency where s names one. Nothing below zero is a price.
func (p *page) sum(s string) price.Price {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 40 {
		return price.Price{}
	}
	if plainAmount(s) {
		return price.Price{Amount: exact(strip(s), p.hint.Currency)}
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		if amount := plainly(s); n >= 0 && n < 1e15 && amount != "" { // 1.5E+2
			return price.Price{Amount: exact(strip(amount), p.hint.Currency)}
		}
		return price.Price{}
	}
	if negative.MatchString(s) {
		return price.Price{}
	}
	m, _ := price.Parse(s, p.hint)
	if m.Symbol == "" {
		m.Currency = ""
	}
	return m
}

// negative is a sum below zero: "-12,99", "€ −5.00", but not "US-$ 5.00".
var negative = regexp.MustCompile(`^[-−]|^\D*[-−]\d`)

// plainAmount says that s is digits with at most one point.
func plainAmount(s string) bool {
	points := 0
	for i := range len(s) {
		switch {
		case isDigit(s[i]):
		case s[i] == '.' && i > 0 && i < len(s)-1 && points == 0:
			points++
		default:
			return false
		}
	}
	return s != ""
}

// strip cuts leading zeros, and zeros beyond the second decimal.
func strip(s string) string {
	s = strings.TrimLeft(s, "0")
	if s == "" || s[0] == '.' {
		s = "0" + s
	}
	if dot := strings.IndexByte(s, '.'); dot >= 0 {
		for len(s)-dot > 3 && s[len(s)-1] == '0' {
			s = s[:len(s)-1]
		}
	}
	return s
}

// mostDecimals are those of the prices of things that are sold by the thousand. Beyond them is the noise of a float.
const mostDecimals = 6

// exact takes the noise of a float out of a plain amount: 19.989999999999998, as PHP writes 19.99.
func exact(amount, currency string) string {
	whole, decimals, _ := strings.Cut(amount, ".")
	if len(decimals) <= mostDecimals || len(whole) > 15 {
		return amount
	}
	n, _ := strconv.ParseFloat(amount, 64)
	if rounded := strconv.FormatFloat(n, 'f', price.Decimals(currency), 64); !isZero(rounded) {
		return rounded
	}
	return amount
}

// currencyCode is the code of a currency that data names, "" = it names none. Three letters may be a name, "NTD" and
// "Lei"; those that name nothing are taken for a code.
func currencyCode(s string) string {
	s = strings.TrimSpace(s)
	code := price.CurrencyOf(s, price.Hint{})
	if u := strings.ToUpper(s); code == "" && isCode(u) {
		return u
	}
	return code
}

func isCode(s string) bool {
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return len(s) == 3
}

// availabilityOf reads an availability in data: an address of schema.org or, as some write, words, those that pages
// show for it among them.
func availabilityOf(s string) Availability {
	s = strings.Trim(s, " \u00a0/#?.;,")
	if i := strings.LastIndexAny(s, "/#:"); i >= 0 {
		s = s[i+1:]
	}
	s = strings.ToLower(fold(s))
	switch unspaced.Replace(s) {
	case "instock", "available", "onlineonly", "instoreonly", "limitedavailability", "yes", "true", "in", "1",
		"availablefororder", "availablenow", "madetoorder", "lowstock":
		return InStock
	case "outofstock", "outstock", "soldout", "oos", "unavailable", "notavailable", "no", "false", "0", "reserved",
		"availableoutofstock":
		return OutOfStock
	case "preorder", "presale":
		return PreOrder
	case "backorder", "backordered", "onbackorder", "availableonbackorder":
		return BackOrder
	case "discontinued":
		return Discontinued
	}
	if s == "" || len(s) > 80 {
		return ""
	}
	s, back, alert := cutAlerts(s)
	in, out := inStock(s)
	switch {
	case outWords.in(s) || aloneOf(s, outAlone) || out:
		return OutOfStock
	case preWords.in(s):
		return PreOrder
	case in || back:
		return InStock
	case alert: // and nothing else
		return OutOfStock
	}
	return ""
}
