package draft_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
)

// A stated is a page of a lamp by what its data says of it, and the values that its draft has.
type stated struct {
	name, html string
	want
}

// statedProduct is a page whose data describes a lamp with these properties, and whose text has its name only.
func statedProduct(props string) string {
	return statedItem(`{"@type":"Product","name":"Lamp",` + props + `}`)
}

func statedItem(json string) string {
	return `<title>Lamp</title><script type="application/ld+json">` + json + `</script><h1>Lamp</h1>`
}

// statedOffer is such a page with one offer.
func statedOffer(props string) string {
	return statedProduct(`"offers":{"@type":"Offer",` + props + `}`)
}

// microOffer is one whose offer is microdata.
func microOffer(props string) string {
	return `<title>Lamp</title><div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Lamp</h1>
		<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">` + props + `</div></div>`
}

func checkStated(t *testing.T, pages []stated) {
	t.Helper()
	for _, tt := range pages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(tt.html), "https://shop.example.com/p/lamp")
			require.NoError(t, err)
			tt.check(t, d)
		})
	}
}

// A price may be a number of JSON, have its currency with it, and be the lower end of a range; below zero it is none.
func TestStatedPrices(t *testing.T) {
	t.Parallel()
	const spec = `"priceSpecification":[{"price":"84.03","priceCurrency":"EUR","valueAddedTaxIncluded":false},
		{"price":"100.00","priceCurrency":"EUR","valueAddedTaxIncluded":true}]`
	checkStated(t, []stated{
		{"an exponent", statedOffer(`"price":1.299E3,"priceCurrency":"EUR"`), want{price: "1299"}},
		{"a negative exponent", statedOffer(`"price":"86e-2","priceCurrency":"EUR"`), want{price: "0.86"}},
		{"below zero", statedOffer(`"price":"-1.00","priceCurrency":"EUR"`), want{price: "-"}},
		{"below zero, with its currency", statedOffer(`"price":"-1.00 EUR"`), want{price: "-"}},
		{"below zero, with a comma", statedOffer(`"price":"-12,99"`), want{price: "-"}},
		{"below zero behind a sign", statedOffer(`"price":"€ −5.00"`), want{price: "-"}},
		{"a dash in a currency", statedOffer(`"price":"US-$ 5.00"`), want{price: "5.00"}},
		{"its currency behind it", statedOffer(`"price":"12.99 USD"`), want{price: "12.99", currency: "USD"}},
		{"its sign before it", statedOffer(`"price":"€12.99"`), want{price: "12.99", currency: "EUR"}},
		{"a sign and a currency", statedOffer(`"price":"$12.99","priceCurrency":"CAD"`), want{price: "12.99", currency: "CAD"}},
		{"net and gross", statedOffer(spec), want{price: "100.00", currency: "EUR"}},
		{"net alone", statedOffer(`"priceSpecification":{"price":"84.03","valueAddedTaxIncluded":"False"}`), want{price: "84.03"}},
		{"net and a gross list price", statedOffer(`"priceSpecification":[{"price":"84.03","valueAddedTaxIncluded":false},
			{"priceType":"ListPrice","price":"120","valueAddedTaxIncluded":true}]`), want{price: "84.03"}},
		{"net and a gross price of a measure", statedOffer(`"priceSpecification":[{"price":"84.03","valueAddedTaxIncluded":false},
			{"price":"12","referenceQuantity":{"unitCode":"KGM"},"valueAddedTaxIncluded":true}]`), want{price: "84.03"}},
		{"net and a gross one without an amount", statedOffer(`"priceSpecification":[{"price":"84.03","valueAddedTaxIncluded":false},
			{"price":"","valueAddedTaxIncluded":true}]`), want{price: "84.03"}},
		{"a blank attribute", microOffer(`<span itemprop="price" content="">€ 14,95</span>`), want{price: "14.95", currency: "EUR"}},
		{"in a field of a form", microOffer(`<input itemprop="price" value="5.00"><input type="hidden" itemprop="priceCurrency"
			value="EUR">`), want{price: "5.00", currency: "EUR"}},
		{"a list price by its itemtype", microOffer(`<div itemprop="priceSpecification" itemscope><meta itemprop="price" content="129">
			<meta itemprop="priceType" itemtype="https://schema.org/ListPrice"></div><div itemprop="priceSpecification" itemscope>
			<meta itemprop="price" content="99"></div>`), want{price: "99"}},
	})
	for data, to := range map[string]string{
		`"price":"10.00 - 20.00","priceCurrency":"EUR"`:                                      "20.00",
		`"priceSpecification":{"minPrice":"10.00","maxPrice":"20.00","priceCurrency":"EUR"}`: "20.00",
		`"priceSpecification":{"minPrice":"10.00","maxPrice":"10.00","priceCurrency":"EUR"}`: "",
	} {
		d, err := draft.Extract([]byte(statedOffer(data)), shop)
		require.NoError(t, err)
		require.Equal(t, "10.00", d.Price.Value, data)
		if to == "" {
			require.Nil(t, d.PriceTo, data)
			continue
		}
		require.Equal(t, to, d.PriceTo.Value, data)
	}
}

// A used or refurbished one is another offer than that of a new one.
func TestStatedCondition(t *testing.T) {
	t.Parallel()
	const offer = `{"price":"%s","priceCurrency":"USD","availability":"%s","itemCondition":"https://schema.org/%sCondition"}`
	used := fmt.Sprintf(offer, "149", "InStock", "Refurbished")
	checkStated(t, []stated{
		{"beside a new one", statedProduct(`"offers":[` + fmt.Sprintf(offer, "199", "SoldOut", "New") + "," + used + "]"),
			want{price: "199", stock: "OutOfStock"}},
		{"alone", statedProduct(`"offers":[` + used + "]"), want{price: "149", stock: "InStock"}},
	})
}

// The numbers of a variant are the product's where it is the only one, or the address asks for it.
func TestStatedVariants(t *testing.T) {
	t.Parallel()
	const variant = `{"@type":"Product","gtin":"%s","mpn":"M-%s","offers":{"price":"9","url":"?v=%[2]s"}}`
	one, two := fmt.Sprintf(variant, "0712345678904", "1"), fmt.Sprintf(variant, "0712345678911", "2")
	for _, tt := range []struct{ variants, query, gtin, mpn string }{
		{one, "", "0712345678904", "M-1"},
		{one + "," + two, "", "", ""},
		{one + "," + two, "?v=2", "0712345678911", "M-2"},
	} {
		page := statedItem(`{"@type":"ProductGroup","name":"Lamp","hasVariant":[` + tt.variants + `]}`)
		d, err := draft.Extract([]byte(page), "https://shop.example.com/p/lamp"+tt.query)
		require.NoError(t, err)
		require.Equal(t, tt.gtin, templateValue(d, "gtin"), tt.query)
		require.Equal(t, tt.mpn, templateValue(d, "mpn"), tt.query)
	}
}

// What is free says so, also by a word; the shipping's word is not the product's.
func TestFree(t *testing.T) {
	t.Parallel()
	const zero = `"price":"0","priceCurrency":"USD"`
	checkStated(t, []stated{
		{"in English", statedOffer(zero) + `<p class="price">Free</p>` + cart, want{price: "0", currency: "USD"}},
		{"in German", statedOffer(zero) + `<div class="product-price"><span>Kostenlos</span></div>`, want{price: "0"}},
		{"the shipping", statedOffer(zero) + `<p class="price">Call for price</p><p class="shipping-price">Free</p>`, want{price: "-"}},
		{"its label", statedOffer(zero) + `<p>Price: <span class="price">Free</span></p>` + cart, want{price: "0"}},
		{"its label in a row", statedOffer(zero) + `<table><tr><td>Price</td><td class="price">Free</td></tr></table>`, want{price: "0"}},
		{"below its brand", statedOffer(zero) + `<p>Acme</p><p class="price">Free</p>` + cart, want{price: "0"}},
		{"the shipping in a row", statedOffer(zero) + `<table><tr><td>Shipping</td><td class="price">Free</td></tr></table>`,
			want{price: "-"}},
		{"the shipping in a list", statedOffer(zero) + `<dl><dt>Shipping</dt><dd class="price">Free</dd></dl>`, want{price: "-"}},
		{"the shipping below its label", statedOffer(zero) + `<div>Shipping</div><div class="price">Free</div>`, want{price: "-"}},
		{"the delivery on its line", statedOffer(zero) + `<p>Delivery: <span class="price">Free</span></p>`, want{price: "-"}},
		{"a gift's wrap", statedOffer(zero) + `<p>Gift wrap <span class=price>Free</span></p>`, want{price: "-"}},
		{"a gift's wrap in a list", statedOffer(zero) + `<dl><dt>Gift wrap</dt><dd class="price">Free</dd></dl>`, want{price: "-"}},
		{"nothing in the data", `<h1>Lamp</h1><p class="price">Free</p>` + cart, want{price: "-"}},
	})
}

// An availability may be in the words that a page shows for it, in data too.
func TestStatedAvailability(t *testing.T) {
	t.Parallel()
	for want, texts := range map[draft.Availability][]string{
		draft.InStock: {"In Stock (12 available)", "Only 3 left in stock", "Auf Lager", "low_stock", "https://schema.org/InStock?",
			"Availability: in stock", "en stock", "Back in stock", "Back in stock!", "Wieder verfügbar",
			"In stock, notify me when price drops", "In stock - notify me when the price drops"},
		draft.OutOfStock: {"Nicht auf Lager", "Rupture de stock", "Out of stock.", "Temporarily out of stock", "out_stock",
			"Ausverkauft", "Not available", "Notify me when available", "Back in stock soon", "Bald wieder verfügbar",
			"Out of stock, notify me when it is back in stock"},
		draft.BackOrder: {"onbackorder", "https://schema.org/Backordered", "Available on backorder"},
		draft.PreOrder:  {"Available for pre-order"},
	} {
		for _, text := range texts {
			for name, page := range map[string]string{
				"data":  statedOffer(`"price":"5","priceCurrency":"EUR","availability":"` + text + `"`),
				"meta":  `<meta property="product:availability" content="` + text + `"><h1>Lamp</h1><p class="price">€5</p>`,
				"micro": microOffer(`<meta itemprop="price" content="5"><span itemprop="availability">` + text + `</span>`),
			} {
				if name == "micro" && (want != draft.OutOfStock || strings.HasPrefix(text, "Notify")) { // the text shows, too
					continue
				}
				d, err := draft.Extract([]byte(page), shop)
				require.NoError(t, err)
				require.NotNil(t, d.Availability, "%s: %s", name, text)
				require.Equal(t, want, d.Availability.Value, "%s: %s", name, text)
			}
		}
	}
}

// An offer may name its product instead of the product its offers, and the forms that it is for.
func TestItemOffered(t *testing.T) {
	t.Parallel()
	checkStated(t, []stated{
		{"at the top", statedItem(`{"@type":"Offer","price":"12.00","priceCurrency":"EUR","availability":"OutOfStock","itemOffered":
			{"@type":"Product","name":"Lamp","sku":"L-1"}}`), want{price: "12.00", currency: "EUR", stock: "OutOfStock", sku: "L-1"}},
		{"two of one product", statedItem(`{"@graph":[{"@type":"Product","@id":"#l","name":"Lamp"},
			{"@type":"Offer","price":"12.00","availability":"OutOfStock","itemOffered":{"@id":"#l"}},
			{"@type":"Offer","price":"13.00","availability":"InStock","itemOffered":{"@id":"#l"}}]}`), want{price: "12.00", stock: "InStock"}},
		{"microdata", `<div itemscope itemtype="https://schema.org/Offer"><div itemprop="itemOffered" itemscope
			itemtype="https://schema.org/Product"><h1 itemprop="name">Lamp</h1></div><meta itemprop="price" content="12.00">
			<meta itemprop="priceCurrency" content="EUR"></div>`, want{price: "12.00", currency: "EUR", name: "Lamp"}},
		{"a supplement", statedItem(`{"@type":"DietarySupplement","name":"Lamp","offers":{"price":"12.00","priceCurrency":"EUR"}}`),
			want{price: "12.00", currency: "EUR"}},
		{"the brand of the group", statedProduct(`"isVariantOf":{"@type":"ProductGroup","name":"Lamps","brand":"Acme"}`),
			want{brand: "Acme"}},
	})
	d, err := draft.Extract([]byte(statedProduct(`"offers":{"@type":"AggregateOffer","lowPrice":13,"highPrice":13,"offers":[
		{"@type":"Offer","availability":"OutOfStock","itemOffered":{"@type":"Product","sku":"A-1","color":"Red"}},
		{"@type":"Offer","availability":"InStock","itemOffered":{"@type":"Product","sku":"A-2","gtin":"4006381333931"}}]}`)), shop)
	require.NoError(t, err)
	require.Len(t, d.Variants, 2)
	require.Equal(t, draft.Variant{SKU: "A-1", Availability: "OutOfStock", Options: map[string]string{"color": "Red"}},
		d.Variants[0].Value)
	require.Equal(t, "4006381333931", d.Variants[1].Value.GTIN)
}

// An address that asks for one form of a product is answered with the price and the stock of that.
func TestFormAsked(t *testing.T) {
	t.Parallel()
	offers := statedProduct(`"offers":[{"@type":"Offer","url":"/p/lamp","price":"9.00","availability":"InStock"},
		{"@type":"Offer","url":"/p/lamp?variant=1","sku":"A-1","price":"10.00","availability":"InStock"},
		{"@type":"Offer","url":"/p/lamp?variant=2","sku":"B-1","price":"12.00","availability":"OutOfStock"}]`)
	group := statedItem(`{"@type":"ProductGroup","name":"Lamp","hasVariant":[
		{"@type":"Product","sku":"A-1","url":"https://shop.example/p/lamp?variant=1","offers":{"price":"10.00","availability":"InStock"}},
		{"@type":"Product","sku":"B-1","url":"https://shop.example/p/lamp?variant=2","offers":{"price":"12.00","availability":"OutOfStock"}}]}`)
	for _, tt := range []struct {
		query, page, price string
		stock              draft.Availability
	}{
		{"", offers, "9.00", draft.InStock},
		{"?utm_source=x", offers, "9.00", draft.InStock},
		{"?variant=3", offers, "9.00", draft.InStock},
		{"?variant=2", offers, "12.00", draft.OutOfStock},
		{"?utm_source=x&variant=2", offers, "12.00", draft.OutOfStock},
		{"", group, "10.00", draft.InStock},
		{"?variant=2", group, "12.00", draft.OutOfStock},
	} {
		d, err := draft.Extract([]byte(tt.page), shop+tt.query)
		require.NoError(t, err)
		require.Equal(t, tt.price, d.Price.Value, tt.query)
		require.Equal(t, tt.stock, d.Availability.Value, tt.query)
		require.GreaterOrEqual(t, len(d.Variants), 2, tt.query)
	}
	// It is the product's own, whatever the page names beside it.
	for _, page := range []string{offers, group} {
		d, err := draft.Extract([]byte(page+`<p>B-1</p><meta property="product:price:amount" content="10.00">`), shop+"?variant=2")
		require.NoError(t, err)
		require.Equal(t, "12.00", d.Price.Value)
		require.NotNil(t, d.SKU)
		require.Equal(t, "B-1", d.SKU.Value)
	}
}

// The query of a page's own address asks for no form where no offer has another: OpenCart has all pages at one path.
func TestNoFormAsked(t *testing.T) {
	t.Parallel()
	const address = "https://shop.example/index.php?route=product/product&product_id=42"
	own := `"url":"` + address + `"`
	micro := `<div itemscope itemtype="https://schema.org/Product"><h2 itemprop="name">Lamp</h2><div itemprop="offers" itemscope
		itemtype="https://schema.org/Offer"><meta itemprop="price" content="12.00"><meta itemprop="priceCurrency" content="EUR">
		</div></div>`
	const (
		this = `"url":"/index.php?route=product/product&product_id=42&form=2"`
		that = `"url":"/index.php?route=product/product&product_id=42&form=1"`
	)
	for _, tt := range []struct{ name, page, query, price, to string }{
		{"the price in microdata", statedOffer(own+`,"availability":"InStock"`) + micro, "", "12.00", ""},
		{"a range", statedProduct(`"offers":{"@type":"AggregateOffer",` + own + `,"lowPrice":"10.00","highPrice":"30.00",
			"priceCurrency":"EUR","offers":[{"@type":"Offer","price":"20.00"},{"@type":"Offer","price":"30.00"}]}`), "", "20.00", ""},
		{"the price in microdata, of several forms", statedProduct(`"offers":[{"@type":"Offer",`+that+`,"availability":"InStock"},
			{"@type":"Offer",`+this+`,"availability":"OutOfStock"}]`) + micro, "&form=2", "12.00", ""},
		{"a form without a price beside one for all", statedProduct(`"offers":[{"@type":"Offer",` + this + `,"availability":"InStock"},
			{"@type":"Offer",` + that + `,"price":"9.00"},{"@type":"Offer","url":"/index.php","price":"12.00"}]`), "&form=2", "12.00", ""},
	} {
		d, err := draft.Extract([]byte(tt.page), address+tt.query)
		require.NoError(t, err)
		require.NotNil(t, d.Price, tt.name)
		require.Equal(t, tt.price, d.Price.Value, tt.name)
		require.Equal(t, tt.to == "", d.PriceTo == nil, tt.name)
	}
}

// Numbers of a product stand behind labels, under names of their own, and without the zero that they begin with; what
// stands for a missing value is none.
func TestStatedNumbers(t *testing.T) {
	t.Parallel()
	pages := []stated{
		{"a label in the value", statedProduct(`"gtin13":"EAN Code:4006381333931"`), want{gtin: "4006381333931"}},
		{"without its zero", statedProduct(`"gtin12":12345678905`), want{gtin: "012345678905"}},
		{"eleven digits that are none", statedProduct(`"gtin12":12345678906`), want{gtin: "-"}},
		{"identifiers", statedProduct(`"identifier":[{"@type":"PropertyValue","propertyID":"gtin13","value":"4006381333931"},
			{"@type":"PropertyValue","propertyID":"SKU","value":"L-1234"},{"@type":"PropertyValue","name":"colour","value":"A-1"}]`),
			want{gtin: "4006381333931", sku: "L-1234", mpn: "-"}},
		{"properties of its own", statedProduct(`"additionalProperty":[{"name":"EAN","value":"4006381333931"},
			{"name":"MPN","value":"AC-77X"}]`), want{gtin: "4006381333931", mpn: "AC-77X", sku: "-"}},
		{"a shared link's", `<meta property="og:type" content="product"><meta property="product:retailer_item_id" content="LMP-001">
			<h1>Lamp</h1>`, want{sku: "LMP-001"}},
	}
	for _, none := range []string{"Does not apply", "N/A", "none", "-", "false", "NaN", "Not specified", "nicht zutreffend"} {
		pages = append(pages, stated{none, statedProduct(strings.ReplaceAll(`"sku":"x","mpn":"x","brand":"x","gtin":"x"`, "x", none)),
			want{sku: "-", mpn: "-", brand: "-", gtin: "-"}})
	}
	checkStated(t, pages)
}

// A picture that is written into a description, and is longer than all that is kept of one, leaves the words behind it.
func TestDescriptionBehindPicture(t *testing.T) {
	t.Parallel()
	picture := `<img src='data:image/png;base64,` + strings.Repeat("iVBORw0KGgo", 20_000) + `'>`
	d, err := draft.Extract([]byte(statedProduct(`"description":"`+picture+`<p>A lamp of brass.</p>"`)), shop)
	require.NoError(t, err)
	require.NotNil(t, d.Description)
	require.Equal(t, "A lamp of brass.", d.Description.Value)
}

// What shops write, and show, where a product has no picture is none of it.
func TestNoPictures(t *testing.T) {
	t.Parallel()
	for _, image := range []string{`false`, `"null"`, `"N/A"`, `"[object Object]"`, `{"@type":"ImageObject","url":false}`,
		`"/media/catalog/product/no_selection"`, `"/uploads/woocommerce-placeholder-600x600.png"`, `"/placeholder/default/i.jpg"`,
		`"/product/placeholder/stores/1/i.jpg"`, `"/product/placeholder/small_image.jpg"`,
		`"/no-image.jpg?v=2"`, `"/noimage_large.jpg"`, `"/no-image-2048-5e88c1b20e087fb7bbe9a377_large.gif"`, `"/photo_missing"`,
		`"/no_image_available.svg"`, `"/image-not-available.png"`, `"/x_{width}x.jpg"`, `"/{{ image }}"`} {
		for _, page := range []string{statedProduct(`"image":` + image),
			`<meta property="og:image" content=` + strings.ReplaceAll(image, `"@`, `@`) + `><h1>Lamp</h1>`} {
			d, err := draft.Extract([]byte(page), shop)
			require.NoError(t, err)
			require.Empty(t, d.Images, image)
		}
	}
	for image, want := range map[string]string{"/nolan-image.jpg": "/nolan-image.jpg", "/x/placeholder-lamp.jpg": "/x/placeholder-lamp.jpg",
		"/placeholder/lamp.jpg": "/placeholder/lamp.jpg", "/placeholder/image-lamp.jpg": "/placeholder/image-lamp.jpg",
		"/nopic-lamp.jpg": "/nopic-lamp.jpg", "//cdn.example/a b.jpg": "https://cdn.example/a%20b.jpg", "lamp.jpg": "/p/lamp.jpg"} {
		d, err := draft.Extract([]byte(statedProduct(`"image":["undefined","`+image+`"]`)), shop)
		require.NoError(t, err)
		require.Len(t, d.Images, 1, image)
		require.Equal(t, want, strings.TrimPrefix(d.Images[0].Value, "https://shop.example"), image)
	}
	d, err := draft.Extract([]byte(statedItem(`{"@type":"ProductGroup","name":"Lamp","hasVariant":[
		{"@type":"Product","image":"/s.jpg"},{"@type":"Product","image":"/m.jpg"}]}`)), shop)
	require.NoError(t, err)
	require.Len(t, d.Images, 2)
}

// A sign that several countries have is that of the country in which a page's language is written.
func TestCurrencyOfLanguage(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{{"sv", "499 kr", "SEK"}, {"da", "499 kr.", "DKK"}, {"nb", "kr 499", "NOK"}, {"is", "4.990 kr", "ISK"},
		{"ja", "¥1,980", "JPY"}, {"zh", "¥199.00", "CNY"}, {"zh-Hans", "¥199.00", "CNY"}, {"zh-Hant", "$499", ""}, {"ja", "$4.99", ""},
		{"en", "$4.99", ""}, {"en", "499 kr", ""}, {"fr", "4,99 $", ""}, {"zh", "$199", ""}, {"pl", "49.90", ""}, {"sv", "49.90", ""},
		{"ko", "$199", ""}, {"tr", "$199", ""}, {"vi", "$199", ""}, {"id", "49.90", ""}, {"pl-PL", "49.90", "PLN"}} {
		page := `<html lang="` + tt[0] + `"><h1>Lamp</h1><p class="price">` + tt[1] + `</p>` + cart
		d, err := draft.Extract([]byte(page), "https://shop.example.com/lamp")
		require.NoError(t, err)
		require.Equal(t, tt[2], templateValue(d, "currency"), "%s: %s", tt[0], tt[1])
	}
}
