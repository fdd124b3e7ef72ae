package draft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

const shop = "https://shop.example/p/lamp"

// want are the values that a test asks of a draft; "-" = the field must be empty, "" = not asked.
type want struct{ price, currency, stock, sku, brand, gtin, mpn, name string }

func (w want) check(t *testing.T, d draft.Draft) {
	t.Helper()
	currency, name := "", ""
	if d.Currency != nil {
		currency = d.Currency.Value
	}
	if d.Name != nil {
		name = d.Name.Value
	}
	ask := func(field, want, got string) {
		t.Helper()
		if want == "-" {
			want = ""
		} else if want == "" {
			return
		}
		assert.Equal(t, want, got, field)
	}
	for _, f := range []struct{ field, want string }{{"price", w.price}, {"availability", w.stock}, {"sku", w.sku},
		{"brand", w.brand}, {"gtin", w.gtin}, {"mpn", w.mpn}} {
		got, _ := drafttest.Value(d, f.field)
		ask(f.field, f.want, got)
	}
	ask("currency", w.currency, currency)
	ask("name", w.name, name)
}

// cart is a button that buys.
const cart = `<button class="btn">Add to cart</button>`

// A heading without a character that can be seen is no name.
func TestNoName(t *testing.T) {
	t.Parallel()

	d, err := draft.Extract([]byte(`<h1>&#8203;&#8203;</h1><div class=price>25.00 €</div>`+cart), shop)
	if err != nil || d.Name != nil || d.Price == nil {
		t.Errorf("the name is %+v, the price %+v, %v", d.Name, d.Price, err)
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, address, html string
		want                want
	}{
		{"json-ld", shop, `<script
			type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"Lamp",
			"sku":"L-100","mpn":"AC-77X","gtin13":"4006381333931","brand":{"@type":"Brand","name":"Acme"},"offers":{"@type":"Offer",
			"price":"19.90","priceCurrency":"EUR","availability":"https://schema.org/OutOfStock"}}</script><h1>Lamp</h1>`,
			want{"19.90", "EUR", "OutOfStock", "L-100", "Acme", "4006381333931", "AC-77X", "Lamp"}},
		{"microdata", shop, `<div itemscope itemtype="http://schema.org/Product"><h1 itemprop="name">Lamp</h1>
			<span itemprop="brand">Acme</span><span itemprop="sku">L-100</span><div itemprop="offers" itemscope
			itemtype="http://schema.org/Offer"><meta itemprop="priceCurrency" content="USD"><span itemprop="price"
			content="1299.00">$1,299.00</span><link itemprop="availability" href="http://schema.org/InStock"></div></div>`,
			want{"1299.00", "USD", "InStock", "L-100", "Acme", "-", "-", "Lamp"}},
		{"rdfa", shop, `<div vocab="https://schema.org/" typeof="Product"><h1 property="name">Lamp</h1><div
			property="offers"
			typeof="Offer"><span property="price" content="12.50">12.50</span><meta property="priceCurrency" content="GBP">
			</div></div>`, want{price: "12.50", currency: "GBP", name: "Lamp"}},
		{"opengraph", shop, `<meta property="og:title" content="Lamp"><meta property="product:price:amount" content="49.00">
			<meta property="product:price:currency" content="CHF"><meta property="product:brand" content="Acme">
			<meta property="product:availability" content="out of stock"><p>nothing</p>`,
			want{price: "49.00", currency: "CHF", stock: "OutOfStock", brand: "Acme", name: "Lamp"}},
		{"twitter data", shop, `<meta name="twitter:label1" content="Price"><meta name="twitter:data1"
			content="£14.99"><h1>Lamp</h1>`,
			want{price: "14.99", currency: "GBP"}},
		{"aggregate offer", shop, `<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":{"@type":
			"AggregateOffer","lowPrice":10,"highPrice":"30","priceCurrency":"USD","offerCount":3}}</script><h1>Lamp</h1>
			<p>from $10 to $30</p>`, want{price: "10", currency: "USD"}},
		{"price specification, list price aside", shop, `<script
			type="application/ld+json">{"@type":"Product","name":"Lamp",
			"offers":{"@type":"Offer","priceSpecification":[{"@type":"UnitPriceSpecification","priceType":
			"https://schema.org/ListPrice","price":"99","priceCurrency":"EUR"},{"@type":"UnitPriceSpecification","price":"79",
			"priceCurrency":"EUR"}]}}</script><h1>Lamp</h1>`, want{price: "79", currency: "EUR"}},
		{"product group", shop, `<script type="application/ld+json">{"@type":"ProductGroup","name":"Lamp","hasVariant":[
			{"@type":"Product","sku":"L-1","offers":{"@type":"Offer","price":"5.00","priceCurrency":"EUR"}},
			{"@type":"Product","sku":"L-2","offers":{"@type":"Offer","price":"6.00","priceCurrency":"EUR"}}]}</script>
			<h1>Lamp</h1><div class="price">5,00 €</div>`, want{price: "5.00", currency: "EUR"}},
		{"the noise of a float", shop, `<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":{"@type":
			"Offer","price":19.989999999999998,"priceCurrency":"EUR"}}</script><h1>Lamp</h1><p>19,99 €</p>`,
			want{price: "19.99", currency: "EUR"}},
		{"the noise of a float, upwards", shop, `<meta property="product:price:amount" content="130.00000000000001">
			<meta property="product:price:currency" content="EUR"><h1>Lamp</h1>`, want{price: "130.00"}},
		{"the noise of a float, to thousandths", shop, `<script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"offers":{"@type":"Offer","price":12.344999999999999,"priceCurrency":"KWD"}}</script><h1>Lamp</h1>`,
			want{price: "12.345", currency: "KWD"}},
		{"availability is a reference", shop, `<script type="application/ld+json">{"@type":"Product","name":"Lamp","sku":"L1",
			"offers":{"@type":"Offer","price":"5","priceCurrency":"EUR","availability":{"@id":
			"https://schema.org/OutOfStock"}}}</script><h1>Lamp</h1>`, want{price: "5", stock: "OutOfStock"}},
		{"availability ends with a slash", shop, `<script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"offers":{"@type":"Offer","price":"5","priceCurrency":"EUR","availability":"https://schema.org/SoldOut/"}}
			</script><h1>Lamp</h1>`, want{price: "5", stock: "OutOfStock"}},
		{"related products in the data", shop, `<script type="application/ld+json">[{"@type":"ItemList","itemListElement":[
			{"@type":"Product","name":"Desk","offers":{"@type":"Offer","price":"300","priceCurrency":"EUR"}}]},
			{"@type":"Product","name":"Lamp","offers":{"@type":"Offer","price":"20","priceCurrency":"EUR"}}]</script>
			<h1>Lamp</h1>`, want{price: "20", name: "Lamp"}},
		{"the data is stale, the page is not", shop, `<script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"offers":{"@type":"Offer","price":"0","priceCurrency":"EUR"}}</script><h1>Lamp</h1><div class="product-price">
			<span class="current-price">24,90 €</span></div>` + cart, want{price: "24.90", currency: "EUR"}},

		{"struck through", shop, `<h1>Lamp</h1><div class="price"><del>$99.00</del> <ins>$79.00</ins></div>` + cart, want{price: "79.00"}},
		{"sale first, was second", shop, `<h1>Lamp</h1><div><span>€70.50</span> <span>€78.50</span></div>` + cart, want{price: "70.50"}},
		{"words around", shop, `<h1>Lamp</h1><p>Was £120.00</p><p>Now £90.00</p><p>You save £30.00</p>` + cart, want{price: "90.00", currency: "GBP"}},
		{"instalments", "https://loja.example.com.br/p/1", `<h1>Cadeira</h1><div class="price">R$ 1.299,90</div>
			<p>ou 10x de R$ 129,99 sem juros</p><button>Comprar</button>`, want{price: "1299.90", currency: "BRL"}},
		{"monthly", shop, `<h1>Sofa</h1><p>As low as $33/month with Affirm</p><div class="price">$399</div>` + cart, want{price: "399"}},
		{"shipping", shop, `<h1>Lampe</h1><div class="preis">12,99 €</div><p>zzgl. 4,95 € Versand</p><button>In den
			Warenkorb</button>`,
			want{price: "12.99", currency: "EUR"}},
		{"free shipping bar above", shop, `<div class="topbar">Free shipping on orders over $50</div><h1>Lamp</h1>
			<span class="price">$19.99</span>` + cart, want{price: "19.99"}},
		{"basket in the header", shop, `<header><a class="minicart">Cart
			$0.00</a></header><h1>Lamp</h1><span>$19.99</span>` + cart,
			want{price: "19.99"}},
		{"unit price", shop, `<h1>Tee</h1><span class="price">8,33 €</span> <span>(36,22 € /
			kg)</span><button>Kaufen</button>`,
			want{price: "8.33"}},
		{"other products", shop, `<h1>Lamp</h1><div><b>$20.00</b></div>` + cart + `<div class="related-products"><ul>
			<li class="card"><a href="/a"><img src="a.jpg">A <span class="price sale-price">$5.00</span></a></li>
			<li class="card"><a href="/b"><img src="b.jpg">B <span class="price sale-price">$6.00</span></a></li>
			<li class="card"><a href="/c"><img src="c.jpg">C <span class="price sale-price">$7.00</span></a></li></ul></div>`,
			want{price: "20.00"}},
		{"other products that nothing names", shop, `<h1>Lamp</h1><div><b>$20.00</b></div><div class="x1">` +
			`<div class="x2"><a href="/a"><img src="a.jpg">A</a><span class="price">$5.00</span></div>` +
			`<div class="x2"><a href="/b"><img src="b.jpg">B</a><span class="price">$5.00</span></div>` +
			`<div class="x2"><a href="/c"><img src="c.jpg">C</a><span class="price">$5.00</span></div></div>`,
			want{price: "20.00"}},
		{"cents in <sup>", "https://magazin.example.ro/p", `<h1>Whiskey</h1><p class="product-new-price">173<sup>34</sup>
			<span>Lei</span></p>
			<button>Adauga in Cos</button>`, want{price: "173.34", currency: "RON", stock: "InStock"}},
		{"symbol, whole and fraction apart", shop, `<h1>Lamp</h1><span class="price"><span class="sr">$12.99</span><span
			aria-hidden="true"><span>$</span><span
			class="whole">12<span class="dot">.</span></span><span class="fraction">99</span></span></span>` + cart,
			want{price: "12.99"}},
		{"number without a currency", shop, `<h1>米</h1><div class="product-price">29</div><button>加入購物車</button>`,
			want{price: "29"}},
		{"only the scripts know", shop, `<h1>Lamp</h1><p>Loading…</p><script>var p = {"productName": "Lamp",
			"finalPrice": 18.5}</script>`,
			want{price: "18.5"}},
		{"hidden template", shop, `<h1>Lamp</h1><div style="display:none">$1.00 Sold out</div><span>$19.99</span>` + cart,
			want{price: "19.99", stock: "InStock"}},
		{"cookie banner", shop, `<div class="cookie-consent">Win $1000 now
			<button>OK</button></div><h1>Lamp</h1><span>$19.99</span>` + cart,
			want{price: "19.99"}},
		{"coupon and points", shop, `<h1>Lamp</h1><p>Save $5.00 with coupon</p><p class="price">$25.00</p><p>Earn $2.50
			in points</p>` + cart,
			want{price: "25.00"}},
		{"prose", shop, `<h1>Lamp</h1><p>Our sale is on and thousands of articles cost $1.00, $2.00 or $3.00 only, so do
			come along and have a
			look at all of them in each of our stores.</p><span>$60</span>`, want{price: "60"}},
		{"no price", shop, `<h1>About us</h1><p>We are a shop.</p>`, want{price: "-", sku: "-", stock: "-"}},

		{"sold out, english", shop, `<h1>Lamp</h1><span class="price">$20</span><p>Sold out</p><button>Notify me when
			available</button>`,
			want{stock: "OutOfStock"}},
		{"ausverkauft", shop, `<h1>Lampe</h1><span class="preis">20 €</span><p class="stock">Ausverkauft</p>`,
			want{stock: "OutOfStock"}},
		{"rupture", shop, `<h1>Lampe</h1><span class="prix">20 €</span><p>En rupture de stock</p>`,
			want{stock: "OutOfStock"}},
		{"esaurito", shop, `<h1>Lampada</h1><span class="prezzo">20 €</span><p>Esaurito</p>`, want{stock: "OutOfStock"}},
		{"agotado", shop, `<h1>Lámpara</h1><span class="precio">20 €</span><p>Agotado</p>`, want{stock: "OutOfStock"}},
		{"niedostępny", shop, `<h1>Lampa</h1><span class="cena">20 zł</span><p>Produkt niedostępny</p>`,
			want{stock: "OutOfStock"}},
		{"нет в наличии", shop, `<h1>Лампа</h1><span class="price">20 руб.</span><p>Нет в наличии</p>`,
			want{stock: "OutOfStock"}},
		{"在庫切れ", shop, `<h1>ランプ</h1><span class="price">2,000円</span><p>在庫切れ</p>`,
			want{stock: "OutOfStock", price: "2000", currency: "JPY"}},
		{"one size is sold out", shop, `<h1>Shirt</h1><span class="price">$20</span><ul
			class="size-options"><li>S</li><li>M <i>Sold out</i></li></ul>` + cart,
			want{stock: "InStock"}},
		{"another product is sold out", shop, `<h1>Lamp</h1><span class="price">$20</span>` + cart +
			`<div class="recommendations"><div>Desk <span>Out of stock</span></div></div>`, want{stock: "InStock"}},
		{"not said, but sold", shop, `<h1>Lamp</h1><span class="price">$20</span>`, want{stock: "InStock"}},
		{"pre-order", shop, `<h1>Lamp</h1><span class="price">$20</span><button>Pre-order</button>`,
			want{stock: "PreOrder"}},

		{"label: value", shop, `<h1>Lamp</h1><p>SKU: AB-1234</p><p>Brand: Acme</p><p>MPN: X99-7</p><p>EAN:
			4006381333931</p>`,
			want{sku: "AB-1234", brand: "Acme", mpn: "X99-7", gtin: "4006381333931"}},
		{"table", shop, `<h1>Lampe</h1><table><tr><th>Artikelnummer</th><td>123456</td></tr><tr><th>Marke</th><td>Acme</td></tr>
			<tr><th>Herstellernummer</th><td>X99-7</td></tr></table>`, want{sku: "123456", brand: "Acme", mpn: "X99-7"}},
		{"definition list, italian", shop, `<h1>Lampada</h1><dl><dt>Codice
			prodotto</dt><dd>123456</dd><dt>Marca</dt><dd>Acme</dd></dl>`,
			want{sku: "123456", brand: "Acme"}},
		{"spans without white space", shop, `<h1>Lampe</h1><div><span>Réf.</span><span>AB123</span></div>`,
			want{sku: "AB123"}},
		{"a line with several", shop, `<h1>Lamp</h1><p>Item #: 55-1234 | Model: ZX-900B | Brand: Acme</p>`,
			want{sku: "55-1234", mpn: "ZX-900B", brand: "Acme"}},
		{"wrong check digit", shop, `<h1>Lamp</h1><p>EAN: 4006381333932</p>`, want{gtin: "-"}},
		{"isbn", shop, `<h1>Book</h1><p>ISBN-13: 978-3-16-148410-0</p>`, want{gtin: "9783161484100"}},
		{"number of the address that scripts know, too", "https://shop.example/lamp-987654.html", `<h1>Lamp</h1><div
			data-product-id="987654">` + cart + `</div><script>dataLayer=[{"productId":"987654"}]</script>`, want{sku: "987654"}},
		{"a number of the address alone is none", "https://shop.example/2020/lamp", `<h1>Lamp</h1>` + cart, want{sku: "-"}},
		{"label against address", "https://shop.example/p466383.html", `<h1>Lamp</h1><p>Item no. 45979556</p><i
			data-id="466383"></i>`,
			want{sku: "45979556"}},
		{"a voucher's code", shop, `<h1>Lamp</h1><p>Use code: SAVE20</p>`, want{sku: "-"}},
		{"mpn is the sku", shop, `<script
			type="application/ld+json">{"@type":"Product","name":"Lamp","sku":"002.937.72","mpn":
			"00293772"}</script><h1>Lamp</h1>`, want{sku: "002.937.72", mpn: "-"}},
		{"a date is no number", shop, `<h1>Lamp</h1><p>Ref: 2024-11-05</p><p>$5</p>`, want{sku: "-"}},
		{"control characters", shop, `<script type="application/ld+json">{"@type":"Product","name":"Lamp","sku":"L\u0007-1\u0000"}
			</script><h1>Lamp</h1>`, want{sku: "L-1"}},
		{"unfilled template", shop, `<h1>Lamp</h1><p>Brand: {{brand}}</p><p>SKU: ${sku}</p>`, want{brand: "-", sku: "-"}},
		{"link to the brand's shop", shop, `<a class="brand" href="/acme">Visit the Acme Store</a><h1>Lamp</h1>`,
			want{brand: "Acme"}},
		{"brand above the name, and in the title", shop, `<title>Acme Boots - green</title><h3>Acme</h3><h1>Boots</h1>`, want{brand: "Acme"}},

		{"kr by the host", "https://butik.example.se/p", `<h1>Lampa</h1><span class="price">1 299
			kr</span><button>Köp</button>`,
			want{price: "1299", currency: "SEK"}},
		{"$ by the host", "https://shop.example.ca/p", `<h1>Lamp</h1><span class="price">$1,299.00</span>`,
			want{price: "1299.00", currency: "CAD"}},
		{"indian grouping", "https://shop.example.in/p", `<h1>Fan</h1><span class="price">₹1,23,456.00</span>`,
			want{price: "123456.00", currency: "INR"}},
		{"arabic", "https://shop.example.sa/p", `<html lang="ar"><h1>مصباح</h1><span class="price">99
			ر.س</span><button>أضف إلى السلة</button>`,
			want{price: "99", currency: "SAR", stock: "InStock"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(tt.html), tt.address)
			require.NoError(t, err)
			tt.want.check(t, d)
		})
	}
}

// Images and addresses may be references, as contexts have them that say so of a property.
func TestReferences(t *testing.T) {
	t.Parallel()

	d, err := draft.Extract([]byte(`<script type="application/ld+json">{"@type":"Product","name":"Lamp",
		"image":{"@id":"https://shop.example/a.jpg"},"hasVariant":[{"@type":"Product","sku":"A","url":{"@id":"/p/lamp?a"},
		"offers":{"@type":"Offer","price":5}}]}</script><h1>Lamp</h1>`), shop)
	if err != nil || len(d.Images) != 1 || d.Images[0].Value != "https://shop.example/a.jpg" || len(d.Variants) != 1 ||
		d.Variants[0].Value.URL != shop+"?a" {
		t.Errorf("images %+v, variants %+v, %v", d.Images, d.Variants, err)
	}
}

// The variants of a product that are its offers have the numbers of these.
func TestVariantsOfOffers(t *testing.T) {
	t.Parallel()

	d, err := draft.Extract([]byte(`<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":[
		{"@type":"Offer","sku":"A","gtin13":"4006381333931","price":"5"},
		{"@type":"Offer","sku":"B","gtin":"4006381333932","price":"6"}]}</script><h1>Lamp</h1>`), shop)
	if err != nil || len(d.Variants) != 2 || d.Variants[0].Value.GTIN != "4006381333931" ||
		d.Variants[1].Value.GTIN != "" {
		t.Errorf("variants %+v, %v", d.Variants, err)
	}
}

// TestLoneOffer reads the offer of a page whose template has left out the product around it, and not one of several.
func TestLoneOffer(t *testing.T) {
	t.Parallel()
	const offer = `<div itemprop="offers" itemscope itemtype="http://schema.org/Offer"><meta itemprop="price" content="45">
		<meta itemprop="priceCurrency" content="EUR"><link itemprop="availability" href="https://schema.org/OutOfStock"></div>`
	for page, want := range map[string]string{`<h1>Lamp</h1>` + offer: "45 OutOfStock", `<h1>Lamp</h1>` + offer + offer: " "} {
		d, err := draft.Extract([]byte(page), shop)
		require.NoError(t, err)
		price, _ := drafttest.Value(d, "price")
		stock, _ := drafttest.Value(d, "availability")
		assert.Equal(t, want, price+" "+stock, page)
	}
}

// TestSalePrice reads a page whose meta elements name the price of a sale beside the one before it.
func TestSalePrice(t *testing.T) {
	t.Parallel()
	meta := func(name, amount string) string {
		return `<meta property="product:` + name + `:amount" content="` + amount + `">`
	}
	const shown = `<h1>Lamp</h1><table><tr><th>Price</th><td><strong class="price">$21.00</strong></td></tr><tr><th>Sale
		price</th><td><span class="price">$18.90 ($2.10 off)</span></td></tr></table>`
	for head, want := range map[string]string{
		meta("price", "21.00") + meta("sale_price", "18.90"): "18.90",
		meta("price", "21.00") + meta("sale_price", ""):      "21.00",
		meta("price", "21.00") + meta("sale_price", "21.00"): "21.00",
		meta("price", "21.00") + meta("sale_price", "0.00"):  "21.00",
	} {
		d, err := draft.Extract([]byte(head+shown+cart), shop)
		require.NoError(t, err)
		if got, _ := drafttest.Value(d, "price"); got != want {
			t.Errorf("%s: price = %q; want %q", head, got, want)
		}
	}
}
