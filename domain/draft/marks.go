package draft

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A mark is a property of an element's content, as its tag, names and style tell it.
type mark uint32

const (
	hidden   mark = 1 << iota // not shown
	veiled                    // not shown, if its class means what it says
	struck                    // <del>, strike-through
	costs                     // named price
	now                       // named current, sale, final …
	was                       // named old, list, save …
	extra                     // named shipping, instalment, unit …
	aside                     // named related, recommended, reviews, advertisement …
	chrome                    // header, footer, navigation, basket, dialogs
	buys                      // named add-to-cart …
	crumbs                    // named breadcrumb
	fraction                  // named cents
	gallery                   // named gallery, zoom, product image
	main                      // named product, detail, buy box
	brands                    // named brand
	stocks                    // named stock, availability
	titled                    // named title, name
	list                      // named carousel, grid, list, items
	option                    // named variant, swatch, option, size
	cut                       // named discount: beside price the price, else the reduction
	numbers                   // named sku, article number …
	aloud                     // for screen readers only, and apart from the text beside it
)

// notInherited are the marks that hold for an element only, and not for those within.
const notInherited = fraction | titled | brands | stocks | numbers | aloud

// words maps the words of class names, identifiers and such to their marks, in the languages in which shops write them.
var words = func() map[string]mark {
	m := map[string]mark{}
	add := func(k mark, list string) {
		for _, w := range strings.Fields(list) {
			m[w] |= k
		}
	}
	add(costs, `price prices pricing preis preise prix prezzo precio preco cena ceny pris prijs pricetag prc
		productprice pricebox priceblock pdpprice kaina hinta fiyat harga tsena narx giá gia`)
	add(now, `current now sale special final our actual selling sell deal today discounted promo new offer main
		promotional aktuell aktueller actuel actuelle attuale nowprice finalprice saleprice currentprice
		specialprice offerprice nouveau neu nuevo`)
	add(was, `old was list rrp msrp strike striked strikethrough crossed crossedout before original previous compare
		save saving savings saved retail barre barré barred reference uvp streichpreis oldprice
		listprice wasprice originalprice regularprice compareat statt ancien anterior linethrough through
		suggested off percent percentage uplift rebate cashback badge mrp antes alt alter`)
	add(cut, `discount discounts rabatt remise sconto descuento desconto rabat`)
	add(extra, `shipping delivery versand livraison spedizione envio envío installment installments instalment
		instalments monthly month finance financing credit klarna afterpay affirm paypal loan leasing unit perunit
		grundpreis baseprice points reward rewards coupon voucher gift warranty insurance vat deposit postage
		parcelas parcela mensualite mensuel rate raten cuotas cuota fee fees subscribe subscription tradein trade
		excluding excl excltax netto minimum threshold history chart tooltip wholesale used refurbished bulk tier
		tiers quantity`)
	add(aside, `related recommend recommended recommendation recommendations recommender recs similar upsell
		upsells crosssell crosssells cross also viewed recent recently sponsored ads advert adverts
		advertisement banner bundle bundles accessories accessory suggestions suggested suggestion others bought
		frequently together complementary complete look outfit review reviews rating ratings comment comments
		feedback qa questions faq alternatives alternative comparison popular trending bestseller bestsellers
		seen history lastviewed marketing social share newsletter blog merchandising feat sims`)
	add(chrome, `header footer nav navbar navigation menu megamenu minicart cartsummary basket
		minibasket topbar toolbar modal popup dialog overlay cookie cookies consent gdpr signin login
		drawer offcanvas flyout search wishlist chat toast subfooter sitemap`)
	add(buys,
		`addtocart addtobasket addtobag buynow buybutton buybox purchase atc addcart tocart warenkorb panier
		carrello carrito comprar acheter acquista kaufen kopen kosik koszyka`)
	add(crumbs, `breadcrumb breadcrumbs crumb crumbs breadcrumblist ariane fildariane migas`)
	add(fraction, `cents cent decimal decimals fraction fractional centimes centesimi centavos superscript sup penny
		pence fractiondigits`)
	add(gallery, `gallery zoom mainimage productimage heroimage hero imagegallery thumbs thumbnails photo photos
		media slideshow`)
	add(main, `product detail details pdp productdetail productdetails productpage productinfo summary buybox item
		itemdetail productmain essential`)
	add(brands, `brand marca marke marque manufacturer hersteller fabricante designer vendor producent znacka byline
		brandname productbrand fabricant`)
	add(stocks, `stock availability available disponibilita disponibilite disponibilidad verfügbarkeit verfugbarkeit
		lieferbar instock outofstock soldout dostupnost dostepnosc disponibilidade`)
	add(titled, `title name productname producttitle heading headline itemname titre titel titolo titulo`)
	add(list, `carousel slider swiper slick owl grid list items tiles tile cards card row teaser teasers listing
		results products thumbnail`)
	add(numbers,
		`sku productsku itemsku skuid skuvalue articlenumber articleno artnr articlecode itemnumber itemno itemcode
		productnumber productcode productreference partnumber stylenumber modelnumber refnumber productref articlenr
		itemid productidvalue artikelnummer bestellnummer catalognumber referencenumber skunumber codeproduit refproduit`)
	add(option, `variant variants variation variations swatch swatches option options size sizes color colors colour
		colours twister selector`)
	return m
}()

// isNamed says that the words of an attribute describe an element's content.
func isNamed(key string) bool {
	switch key {
	case "class", "id", "itemprop", "property", "data-testid", "data-test", "data-test-id", "data-qa", "data-qa-qualifier",
		"data-role", "data-component", "data-hook", "data-auto-id", "data-automation-id", "data-section",
		"data-feature-name", "data-locator", "data-name", "data-price-type", "data-element":
		return true
	}
	return false
}

// longestName is how long a name of an element is that is read, in bytes.
const longestName = 600

// seenMarks are the marks of the names and styles that were read before: a page repeats few.
type seenMarks struct{ names, words, styles map[string]mark }

// seenOr reads a text by a function, unless it was read before.
func seenOr(seen map[string]mark, s string, read func(string) mark) mark {
	m, ok := seen[s]
	if !ok {
		m = read(s)
		seen[s] = m
	}
	return m
}

// marksOf reads an element's own marks.
func marksOf(n *html.Node, seen seenMarks) mark {
	var m mark
	switch n.DataAtom {
	case atom.Del, atom.S, atom.Strike:
		m |= struck
	case atom.Nav, atom.Footer, atom.Dialog:
		m |= chrome
	case atom.Aside:
		m |= list
	}
	for _, a := range n.Attr {
		switch {
		case a.Key == "hidden":
			m |= hidden
		case a.Key == "style":
			m |= seenOr(seen.styles, a.Val, styleMarks)
		case a.Key == "type" && n.DataAtom == atom.Input && strings.EqualFold(a.Val, "hidden"):
			m |= hidden
		case isNamed(a.Key) && len(a.Val) < longestName:
			m |= seen.namesMarks(a.Val)
		}
	}
	return m
}

// styleMarks reads an inline style.
func styleMarks(s string) mark {
	s = strings.ToLower(strings.ReplaceAll(s, " ", ""))
	var m mark
	if strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden") {
		m |= hidden
	}
	if strings.Contains(s, "line-through") {
		m |= struck
	}
	return m
}

// nameMarks reads the words of a class attribute or an identifier: split at characters that are neither letter nor
// digit and where a small letter meets a capital one; two neighbours are looked up glued, too.
func nameMarks(s string) mark {
	var m mark
	for name := range strings.FieldsSeq(s) {
		m |= wordMarks(name)
	}
	return m
}

// namesMarks is nameMarks of a page, which has few words of many names.
func (seen seenMarks) namesMarks(s string) mark {
	m, ok := seen.names[s]
	if ok {
		return m
	}
	for name := range strings.FieldsSeq(s) {
		m |= seenOr(seen.words, name, wordMarks)
	}
	seen.names[s] = m
	return m
}

// wordMarks reads one of the names that white space parts.
func wordMarks(name string) mark {
	var m mark
	lower := strings.ToLower(name)
	switch lower {
	case "hidden", "hide", "d-none", "display-none", "invisible", "none", "hideme", "nodisplay", "no-display":
		m |= veiled
	case "visually-hidden", "sr-only", "screen-reader-text":
		m |= aloud
	case "overflow-hidden", "text-hidden": // cut off
	case "line-through", "text-line-through", "u-strike":
		m |= struck
	default:
		if strings.HasSuffix(lower, "-hidden") || strings.HasSuffix(lower, "-hide") ||
			strings.HasSuffix(lower, "-invisible") {
			m |= veiled
		}
	}
	own := mark(0)
	var room [80]byte
	glued, before, last := room[:0], 0, 0 // the words, and where the last but one and the last begin
	for w := range split(name) {
		here := len(glued)
		glued = appendLower(glued, w)
		own |= words[string(glued[here:])]
		if last < here {
			own |= words[string(glued[last:])]
		}
		if before < last {
			own |= words[string(glued[before:])]
		}
		before, last = last, here
	}
	switch {
	case own&cut != 0 && own&costs != 0:
		own = own&^cut | now
	case own&cut != 0:
		own = own&^cut | was
	}
	if own&(main|buys) != 0 { // product-header, add-to-basket
		own &^= chrome
	}
	if strings.Contains(lower, "incl") { // price-including-tax
		own &^= extra
	}
	return m | own
}

// split yields the words of a name, as they are written.
func split(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1
		var before rune
		for i, r := range name {
			var letter, upper bool
			if r < utf8.RuneSelf {
				upper = 'A' <= r && r <= 'Z'
				letter = upper || 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
			} else {
				letter, upper = unicode.IsLetter(r) || unicode.IsDigit(r), unicode.IsUpper(r)
			}
			if start >= 0 && (!letter || upper && unicode.IsLower(before)) {
				if !yield(name[start:i]) {
					return
				}
				start = -1
			}
			if letter && start < 0 {
				start = i
			}
			before = r
		}
		if start >= 0 {
			yield(name[start:])
		}
	}
}

// appendLower appends a text in lower case.
func appendLower(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			return append(b, strings.ToLower(s[i:])...)
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}
