package draft

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Weight is one number that values are weighed with. The numbers were found by trial on pages of real shops; `make
// bench ARGS='-only extraction -without all'` tells how much each is worth.
type Weight struct {
	Name  string  // price.struck
	Value float64 // points, or a factor
	Why   string  // when it counts

	without float64 // the value that leaves it out
}

// weight is the place of a Weight in weightTable, and of its value in weights.
type weight int

// weights are the values of all weights, for one extraction.
type weights []float64

var weightTable []Weight

// adds registers a weight that is added, negative where it speaks against a value.
func adds(name string, value float64, why string) weight {
	return newWeight(Weight{name, value, why, 0})
}

// multiplies registers a weight that is multiplied or divided by.
func multiplies(name string, value float64, why string) weight {
	return newWeight(Weight{name, value, why, 1})
}

func newWeight(w Weight) weight {
	weightTable = append(weightTable, w)
	return weight(len(weightTable) - 1)
}

// Weights are all weights.
func Weights() []Weight { return slices.Clone(weightTable) }

// ExtractWithout is Extract with one weight left out: its points are 0, its factor is 1. It is for measuring the worth
// of a weight. Its errors are those of Extract, and fault.Invalid for an unknown name.
func ExtractWithout(name string, page []byte, address string) (Draft, error) {
	n := slices.IndexFunc(weightTable, func(w Weight) bool { return w.Name == name })
	if n < 0 {
		return Draft{}, fault.Newf(fault.Invalid, "leave out weight %q: there is no such weight", name)
	}
	w := allWeights()
	w[n] = weightTable[n].without
	return extractWith(w, page, address)
}

func allWeights() weights {
	out := make(weights, len(weightTable))
	for n, w := range weightTable {
		out[n] = w.Value
	}
	return out
}

var (
	// The price. An amount that shows in a well-named element by the product's name is worth 4 to 8: data is
	// overruled where the page shows another price plainly, and its own nowhere.
	priceJSONLD      = adds("price.json-ld", 4.5, "an offer in JSON-LD names the amount")
	priceMicrodata   = adds("price.microdata", 4.5, "an offer in microdata does")
	priceRDFa        = adds("price.rdfa", 4, "an offer in RDFa does, which is rarer and older")
	priceOpenGraph   = adds("price.opengraph", 4, "a meta element does")
	priceSecond      = multiplies("price.second", 0.7, "the data names it for a variant, or as the upper end of a range")
	priceZero        = adds("price.zero", 0.5, "an amount of zero in data, as templates write it")
	priceFurther     = multiplies("price.further", 3, "a divisor: a further source that names the same amount")
	priceUnseen      = adds("price.unseen", -1.5, "the visible text does not have the amount")
	priceAgain       = adds("price.again", 0.3, "each further place that shows it, up to maxAgain")
	priceScript      = adds("price.script", 0.4, "a script has it under a key such as price")
	priceScriptFinal = adds("price.script-final", 0.8, "a script has it under a key such as salePrice")
	priceBare        = adds("price.bare", -1.5, "a number in an element named price, without a currency")
	priceStruck      = adds("price.struck", -6, "it is struck through, at any distance")
	priceAside       = adds("price.aside", -3.5, "it is among related products, reviews, advertisements")
	priceChrome      = adds("price.chrome", -3, "it is in the frame of the site: header, footer, cart")
	priceVeiled      = adds("price.veiled", -2.5, "it is in an element whose class says hidden")
	priceOption      = adds("price.option", -0.7, "it belongs to one of the choices")
	priceMain        = adds("price.main", 0.5, "it is in an element named product or detail")
	priceBuys        = adds("price.buys", 0.7, "it is in an element named buy box or cart")
	priceHeading     = adds("price.heading", 0.4, "it is in a heading or in bold, each")
	priceLink        = adds("price.link", -0.8, "it is in a link to another page, each")
	priceCard        = adds("price.card", -3, "it is in one of several like elements with amounts: other products")
	priceInTitle     = adds("price.in-title", -1, "it is part of the product's name")
	priceProse       = adds("price.prose", -1.5, "its line is a paragraph")
	priceSentence    = adds("price.sentence", -0.7, "its line is a sentence, or words lead to it")
	priceNamed       = adds("price.named", 2, "an element close around it is named price")
	priceNow         = adds("price.now", 1.5, "… and named sale, current, final")
	priceNowAlone    = adds("price.now-alone", 0.5, "an element is named sale, current, final, but none price")
	priceWas         = adds("price.was", -2.5, "an element close around it is named old, list, was")
	priceWasAndNow   = adds("price.was-and-now", -0.7, "the names around it say both old and current")
	priceExtra       = adds("price.extra", -3, "an element close around it is named shipping, installment, points")
	priceAbove       = adds("price.above", -1.2, "it stands above the product's name")
	priceByTitle     = adds("price.by-title", 2, "it stands at the product's name …")
	priceFromTitle   = adds("price.from-title", 0.6, "… less this for each doubling of the distance")
	priceDown        = adds("price.down", 0.2, "without a name: less this for each doubling of the distance from the top")
	priceByButton    = adds("price.by-button", 1.2, "it stands at the button that buys …")
	priceFromButton  = adds("price.from-button", 0.35, "… less this for each doubling of the distance")
	pricePairLower   = adds("price.pair-lower", 0.6, "the lower of two amounts side by side: a sale")
	pricePairHigher  = adds("price.pair-higher", -1.2, "the higher of the two")
	pricePairFirst   = adds("price.pair-first", 0.3, "the first of two amounts side by side, the lower of which is net of tax")
	priceNet         = adds("price.net", -2.5,
		"the words around it say that tax is to be added, and no gross amount is beside it")
	priceCueWas   = adds("price.cue-was", -2.5, "the words before it announce an old price: RRP, statt, au lieu de")
	priceCueExtra = adds("price.cue-extra", -2.5,
		"the words before it are about something else: shipping, per month")
	priceCuePrice = adds("price.cue-price", 1.2, "the words before it announce the price: Price:, jetzt nur")
	priceSigned   = adds("price.signed", -3, "a plus or minus sign before it makes it a surcharge or a rebate")
	priceCueFrom  = adds("price.cue-from", -1, "the words before it say that prices begin there")
	priceCueWay   = adds("price.cue-way", -0.5, "the words after it say that it is for one way of paying: no Pix")
	priceCueUnit  = adds("price.cue-unit", -2, "the words after it make it a unit price or a discount: per kg, off")

	// The labels of numbers and brands.
	labelSure   = adds("label.sure", 4, "a label that means one field: Item number, EAN, Marke")
	labelVague  = adds("label.vague", 2.8, "a label that may mean the shop's number: Code, Art., Ref")
	labelLikely = adds("label.likely", 2.5, "a label that mostly means it: Model number, Manufacturer")
	labelWeak   = adds("label.weak", 1.5, "a label that may mean it: Model, by, von")
	labelTail   = adds("label.tail", 3, "a sure label at the end of other words: More details Item No")
	labelBeside = adds("label.beside", -2.5, "the label is not beside the product, or is hidden")

	// The shop's number.
	skuData           = adds("sku.data", 3.5, "data names it sku")
	skuProductID      = adds("sku.product-id", 2.5, "data names it productID")
	skuIdentifier     = adds("sku.identifier", 1, "data names it identifier")
	skuMeta           = adds("sku.meta", 2.5, "a meta element names it as the retailer's")
	skuOffer          = adds("sku.offer", 1.5, "an offer in the data has it")
	skuOnlyOffer      = adds("sku.only-offer", 2.2, "all offers in the data have it, and the product none")
	skuVariant        = adds("sku.variant", 0.5, "a variant's offer in the data has it")
	skuModel          = adds("sku.model", 1, "the label says model, which a shop may use as its number")
	skuAddress        = adds("sku.address", 1, "the address has it …")
	skuAddressed      = adds("sku.addressed", 2.2, "the address has it, and a short line by the product's name")
	skuAddressLate    = adds("sku.address-late", 0.5, "… and at its end, where numbers of products stand")
	skuNamed          = adds("sku.named", 3.2, "an element is named sku, article number")
	skuAttrProductSKU = adds("sku.attr-product-sku", 1.8, "data-product-sku has it")
	skuAttrSKU        = adds("sku.attr-sku", 1.5, "data-sku, data-product-code have it")
	skuAttrProduct    = adds("sku.attr-product", 1.2, "data-product-id, data-pid have it")
	skuAttrArticle    = adds("sku.attr-article", 1, "data-article has it")
	skuAttrItem       = adds("sku.attr-item", 0.8, "data-item-id, data-master-id have it")
	skuAttrASIN       = adds("sku.attr-asin", 0.5, "data-asin, data-product have it: of any product on the page")
	skuAttrID         = adds("sku.attr-id", 0.3, "data-id has it: of anything")
	skuAttrNear       = multiplies("sku.attr-near", 1.5, "the attribute is at the product's name or its button")
	skuInput          = adds("sku.input", 1.2, "a form field such as product_id has it")
	skuScript         = adds("sku.script", 0.4, "a script has it under a key such as productId …")
	skuScriptEach     = adds("sku.script-each", 0.05, "… each time")
	skuState          = adds("sku.state", 2.1, "a script has it under the key sku: the only one, or the first variant's")
	skuMPN            = adds("sku.mpn", 2.5, "data names it mpn, and the address has it")
	skuShows          = adds("sku.shows", 0.7, "the visible text has a value of the data")
	skuAgrees         = adds("sku.agrees", 1, "the address has a value that another source has")
	skuRepeated       = adds("sku.repeated", 0.35, "it is in the address, and in the page: for each doubling of how often")

	// The brand.
	brandData  = adds("brand.data", 4.5, "data names it brand")
	brandMaker = adds("brand.maker", 2, "data names it manufacturer")
	brandMeta  = adds("brand.meta", 3.5, "a meta element names it")
	brandNamed = adds("brand.named", 3,
		"an element named brand by the product's name; 1 less for each brandReach bytes between them")
	brandPrefix = adds("brand.prefix", 2.3,
		"the page's title has it before the product's name, and it stands alone above it")
	brandBegins       = adds("brand.begins", 1, "the product's name begins with it")
	brandWithin       = adds("brand.within", 0.5, "the product's name has it")
	brandScriptBegins = adds("brand.script-begins", 1.8, "a script has it, and the product's name begins with it")
	brandScriptWithin = adds("brand.script-within", 1.8, "a script has it, and the product's name has it as a word")
	brandScriptLine   = adds("brand.script-line", 1.8, "a script has it, and a line by the product's name is nothing else")
	brandLink         = adds("brand.link", 1.8, "a link to all of a brand's products, close to the product's name")
	brandLinkWithin   = adds("brand.link-within", 2, "such a link, and the product's name has its text")
	brandOwn          = adds("brand.own", -2, "the shop is called so")
	brandCategory     = adds("brand.category", -1.5,
		"the breadcrumbs have it, as a category, and the product's name has not")
	brandScript     = adds("brand.script", 0.5, "a script has it …")
	brandScriptEach = adds("brand.script-each", 0.1, "… each time")

	// The global number. A check digit has vouched for it before.
	gtinData  = adds("gtin.data", 4, "data of the product has it")
	gtinOffer = adds("gtin.offer", 3, "an offer in the data has it")
	gtinMeta  = adds("gtin.meta", 3, "a meta element has it")
	gtinOrder = adds("gtin.order", 0.01, "less for a property that is used for other numbers, too")

	// The manufacturer's number.
	mpnData   = adds("mpn.data", 4, "data names it mpn")
	mpnModel  = adds("mpn.model", 1.5, "data names it model")
	mpnOffer  = adds("mpn.offer", 3, "an offer in the data has it")
	mpnMeta   = adds("mpn.meta", 3, "a meta element has it")
	mpnMixed  = adds("mpn.mixed", 0.7, "a model of letters and digits is a number, and no name")
	mpnInName = adds("mpn.in-name", 2.2,
		"the shop's number is part of the product's name, so it is the manufacturer's")

	// The element that shows the product's name.
	titleH1     = adds("title.h1", 1.2, "<h1>")
	titleH2     = adds("title.h2", 0.3, "<h2>")
	titleH3     = adds("title.h3", 0.1, "<h3>, <h4>")
	titleOther  = adds("title.other", 0.2, "any other element, if it is named title or name")
	titleAlike  = adds("title.alike", 2, "its text is like the page's own title: times the likeness, 0..1")
	titleOrder  = adds("title.order", 0.05, "less for each further of the names that the page calls itself by")
	titleNamed  = adds("title.named", 0.3, "it is named title or name")
	titleAside  = adds("title.aside", -0.5, "it is among other products, or in the breadcrumbs")
	titleVeiled = adds("title.veiled", -0.7, "it is in an element whose class says hidden")
	titleDown   = adds("title.down", 0.1, "less this for each doubling of the distance from the top")

	// The item of the data that describes the page's product.
	itemBeside = adds("item.beside", -3, "another item leads to it as related, or a list does")
	itemAlike  = adds("item.alike", 3, "its name is like the product's: times alike, 0..1")
	itemOffers = adds("item.offers", 1, "it has offers or variants")
	itemAside  = adds("item.aside", -2, "its element is among other products or in the frame of the site")
	itemTitle  = adds("item.title", 2, "its element holds the product's name")

	// The button that buys, and the visible signs of stock.
	buttonText     = adds("button.text", 1, "its text says so")
	buttonLabel    = adds("button.label", 0.8, "its title or its label for screen readers says so")
	buttonNamed    = adds("button.named", 0.7, "its class says so")
	buttonDisabled = multiplies("button.disabled", 2, "its class says disabled: a divisor")
	buttonAbove    = adds("button.above", -0.3, "it stands above the product's name")
	stockButton    = adds("stock.button", 1.5, "there is a button that buys")
	stockOut       = adds("stock.out", -1.6, "a line says that it cannot be had")
	stockIn        = adds("stock.in", 0.7, "a line says that it can")
	stockNamed     = multiplies("stock.named", 2, "an element around the line is named stock")
	stockLong      = multiplies("stock.long", 0.6, "the line is long, and may speak of something else")
)

// The points that a value needs to be taken, and other bounds.
const (
	leastTotal = -1  // of an amount, to be the price
	leastSKU   = 2   // of a claim; also of GTIN and MPN: half a sure label
	leastBrand = 1.7 // a name in a script that the product's name begins with is enough

	leastPrice  = 1.2 // of an amount, to make its page a product's with no other sign of one
	leastNumber = 4   // of a number, to do the same: a sure label, or data

	leastAddressed = 1.6  // of a claim, before the address agrees with it; more than any single hint
	leastItem      = -2   // of an item of data, to be the product's
	leastTitle     = 0.6  // likeness of an element other than <h1>, to be the name
	sameImage      = 0.6  // likeness of an image's text, to be a picture of the product
	sameCrumb      = 0.9  // likeness of the last breadcrumb, to be the product and no category
	sameProduct    = 0.5  // likeness of an item's name, to be the product of a page that is headed like an error
	titleMargin    = 0.01 // by which a later element must be a better name
	buttonMargin   = 0.05 // by which a later button must be a better one

	// maxHints is less than a label is worth: a number in the address, in attributes and in scripts may be the shop's
	// own key, which no customer ever sees.
	maxHints       = 2.4
	maxAgain       = 3   // places that priceAgain counts
	maxSKUScript   = 0.8 // points of scripts
	maxBrandScript = 1
	maxRepeats     = 60 // times that skuRepeated counts
	witnesses      = 3  // a second witness of a claim adds its points divided by this

	pairLeast, pairMost = 1.01, 4 // how many times the lower of a pair the higher one is
	mostTax             = 1.3     // how many times the net amount the gross one is

	// How far, in bytes of text, close text is: distances are counted in these.
	priceReach   = 150
	pairReach    = 24
	topReach     = 500 // of a price without a name to be near to
	titleReach   = 3000
	brandReach   = 300
	addressReach = 1000
	stockReach   = 3000

	// How many points of stock shown decide.
	stockSurelyOut = -1.5 // against data that says in stock
	stockSurelyIn  = 2.5  // against data that says out of stock
	stockNo        = -0.8
	stockPreOrder  = 1.5 // below it, a word for pre-order stands
	stockYes       = 0.3
)
