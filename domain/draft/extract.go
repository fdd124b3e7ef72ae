package draft

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/markup"
	"github.com/mtlrent/conveyor/domain/price"
)

// MaxPage is the largest page that is read, in bytes.
const MaxPage = 10 << 20

// Extract reads a product page, UTF-8, that was loaded from address: data meant for machines first, then the visible
// text, which also decides where the data contradicts itself. A draft of a page
// without a product, see IsProduct, has no price, availability or variants. It returns fault.Invalid for a page above
// MaxPage and for an address that is not absolute.
func Extract(page []byte, address string) (Draft, error) {
	return extractWith(allWeights(), page, address)
}

// extractWith is Extract with these weights.
func extractWith(w weights, page []byte, address string) (Draft, error) {
	at, err := url.Parse(contract.Escaped(address))
	if err != nil || !at.IsAbs() || at.Host == "" {
		return Draft{}, fault.Newf(fault.Invalid, "extract %q: its address is not absolute", address)
	}
	if len(page) > MaxPage {
		return Draft{}, fault.Newf(fault.Invalid, "extract %q: %d bytes are above %d", address, len(page), MaxPage)
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil { // unclosed elements nest too deep for the parser
		doc, err = html.Parse(bytes.NewReader(shallow(page)))
	}
	if err != nil {
		return Draft{}, fault.Newf(fault.Invalid, "extract %q: %w", address, err)
	}
	return extract(w, doc, page, at), nil
}

// shallow drops the tags that nest deeper than any shop's.
func shallow(page []byte) []byte {
	const deepest = 300
	var out bytes.Buffer
	z := html.NewTokenizer(bytes.NewReader(page))
	for depth := 0; ; {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case html.ErrorToken:
			return out.Bytes()
		case html.StartTagToken:
			if name, _ := z.TagName(); !void[atom.Lookup(name)] {
				depth++
			}
		case html.EndTagToken:
			depth--
			if depth >= deepest {
				continue
			}
			depth = max(depth, 0)
		}
		if kind != html.StartTagToken || depth <= deepest {
			out.Write(raw)
		}
	}
}

// void elements have no end.
var void = map[atom.Atom]bool{atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true,
	atom.Hr: true, atom.Img: true, atom.Input: true, atom.Link: true, atom.Meta: true, atom.Source: true,
	atom.Track: true, atom.Wbr: true}

func extract(w weights, doc *html.Node, raw []byte, address *url.URL) Draft {
	base, title := head(doc, address)
	data := markup.Read(doc, base)
	toProducts(data.Items)
	productOf(data)
	p := newPage(w, doc, base, bytes.Count(raw, []byte{'<'})/2)
	p.address, p.hint = address, hintOf(doc, address, data)
	if p.hint.Currency == "" {
		p.hint.Currency = currencyIn(p.scripts)
	}

	p.findName(data, title)
	p.findAmounts()
	p.findCards(p.amounts)
	p.findButton()

	products := p.products(data)
	var offers []offer
	for _, i := range products {
		offers = append(offers, p.offersOf(i)...)
	}
	asked := p.asked(offers, address)
	st := stateOf(p.w, p.scripts, p.hint)
	labelled := p.readLabels()

	var d Draft
	d.Breadcrumbs = p.crumbsOf(data)
	d.Name = p.nameOf(products, data.Meta)
	d.Description = p.descriptionOf(products, data.Meta)
	q := p.priceOf(asked, data.Meta, st)
	sku := p.skuOf(products, asked, data.Meta, labelled, st, raw, address)
	if c, ok := sku.best(leastSKU); ok {
		d.SKU = d.judged("sku", c)
	}
	p.loseClaims("sku", sku, leastSKU, d.SKU, nil)
	brand := p.brandOf(products, data.Meta, labelled, st, d.Breadcrumbs)
	if c, ok := brand.best(leastBrand); ok {
		d.Brand = d.judged("brand", c)
	}
	p.loseClaims("brand", brand, leastBrand, d.Brand, nil)
	of := numbered(products, asked)
	gtin := p.gtinOf(of, asked, data.Meta, labelled)
	if c, ok := gtin.best(leastSKU); ok {
		d.GTIN = d.judged("gtin", c)
	}
	p.loseClaims("gtin", gtin, leastSKU, d.GTIN, nil)
	mpn := p.mpnOf(of, asked, data.Meta, labelled)
	if c, ok := mpn.best(leastSKU); ok && (d.SKU == nil || !sameCode(c.value, d.SKU.Value)) { // else it is the shop's own
		d.MPN = d.judged("mpn", c)
	}
	p.loseClaims("mpn", mpn, leastSKU, d.MPN, d.SKU)
	d.product = p.isProduct(products, data, q, sku, gtin, mpn)
	p.loseQuotes(q, d.product)
	if d.product {
		all := slices.Clone(offers)
		for _, i := range products {
			all = append(all, p.sizesOf(data, i)...)
		}
		if q != nil {
			p.price = canonical(q.amount)
		}
		sold := q != nil || p.title >= 0 && (d.SKU != nil || d.Brand != nil)
		p.sale(&d, q, p.availability(p.asked(all, address), data.Meta, st, sold))
		d.Variants = p.variantsOf(products, offers)
	}
	d.Images = p.imagesOf(products, data.Meta)
	d.lost = p.lost
	return d
}

// findName finds the product's name: where it shows, and what else the product is called.
func (p *page) findName(data markup.Data, title string) {
	called := calledOf(data, title)
	for _, i := range data.Find(productTypes...) {
		if n := i.Text("name"); n != "" && len(called) < 8 {
			called = append(called, fold(n))
		}
	}
	p.called = called
	p.findTitle(called)
	if p.title >= 0 {
		p.name = p.heading()
	} else if len(called) > 0 {
		p.name = called[0]
	}
	p.outNames = outNames(append([]string{p.name}, called...))
}

// sale fills in the price and the availability.
func (p *page) sale(d *Draft, q *quote, stock *Found[Availability]) {
	if d.Availability = stock; stock != nil {
		points := 1.0
		if stock.Source == Assumed && (q == nil || p.unheeded || p.mentionsOut()) {
			points = 0
		}
		stock.Confidence = d.judge("availability", stock.Source, points)
	}
	if q == nil {
		return
	}
	source := Page
	if len(q.sources) > 0 {
		source = q.sources[0]
	}
	d.Price = &Found[string]{Value: q.amount, Source: source, Confidence: d.judge("price", source, q.margin)}
	if q.to != "" {
		d.PriceTo = &Found[string]{Value: q.to, Source: q.toSource, Confidence: d.Price.Confidence}
	}
	currencySource := source
	if q.currency == "" && !q.signed { // a sign that is unknown is not the page's own
		q.currency, currencySource = p.hint.Currency, Assumed
	}
	if q.currency != "" {
		d.Currency = found(q.currency, currencySource)
	}
}

// head reads the page's head: the base of its addresses and its title.
func head(doc *html.Node, address *url.URL) (base *url.URL, title string) {
	base = address
	for n := range doc.Descendants() {
		switch n.DataAtom {
		case atom.Base:
			if u, err := address.Parse(attr(n, "href")); err == nil && u.Host != "" && base == address {
				base = u
			}
		case atom.Title:
			if title == "" && n.Parent.DataAtom == atom.Head {
				title = innerText(n, 500)
			}
		case atom.Body:
			return base, title
		}
	}
	return base, title
}

// hintOf returns how the page writes money, by its data, its language and its address.
func hintOf(doc *html.Node, address *url.URL, data markup.Data) price.Hint {
	for _, i := range data.Find("Offer", "AggregateOffer", "UnitPriceSpecification", "PriceSpecification") {
		if c := currencyCode(i.Text("priceCurrency")); c != "" {
			return price.Hint{Currency: c}
		}
	}
	for _, key := range []string{"product:price:currency", "og:price:currency", "pricecurrency"} {
		for _, v := range data.Meta[key] {
			if c := currencyCode(v); c != "" {
				return price.Hint{Currency: c}
			}
		}
	}
	if c := price.CurrencyOfHost(address.Hostname()); c != "" {
		return price.Hint{Currency: c}
	}
	var tags []string
	if root := htmlElement(doc); root != nil {
		tags = append(tags, attr(root, "lang"))
	}
	for _, v := range data.Meta["og:locale"] {
		tags = append(tags, strings.ReplaceAll(v, "_", "-"))
	}
	home := ""
	for _, tag := range tags {
		if c := price.CurrencyOfLanguage(tag); c != "" {
			return price.Hint{Currency: c, Home: home}
		}
		home = cmp.Or(home, price.HomeOfLanguage(tag))
	}
	return price.Hint{Home: home}
}
