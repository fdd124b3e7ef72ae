package draft_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// classPage is a page of a lamp whose name stands before some HTML and a button after it.
func classPage(html string) string {
	return `<title>A lamp of brass</title><h1>A lamp of brass</h1>` + html + cart
}

// TestAmountsBeside reads pages on which other amounts stand by the price, each row a way in which shops write them.
func TestAmountsBeside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, html, price, to string }{
		{"a ribbon", `<div class="ribbon">Save £20</div><p>£49.90</p>`, "49.90", ""},
		{"an option that costs more", `<label><input type="radio"> With bulb (+ £9.00)</label><p>£49.90</p>`, "49.90", ""},
		{"an option that costs less", `<label>Without cable</label><label>(-£40.00)</label><p>£100.00</p>`, "100.00", ""},
		{"a surcharge glued to its sign", `<p>Blue +£5</p><p>£49.90</p>`, "49.90", ""},
		{"a dash begins an item of a list", `<p>- £49.90</p>`, "49.90", ""},
		{"points of a German shop", `<p>249 Punkte = 2,49 €</p><p>49,90 €</p>`, "49.90", ""},
		{"points of a Russian shop", `<p>бонусы: 99 ₽</p><p>4990 ₽</p>`, "4990", ""},
		{"points of a Japanese shop", `<p>ポイント 499円</p><p>4,990円</p>`, "4990", ""},
		{"shipping in Hebrew", `<p>דמי משלוח: 10 ₪</p><p>499 ₪</p>`, "499", ""},
		{"shipping in Estonian", `<p>Kohaletoimetamine alates 10,99 €</p><p>49,90 €</p>`, "49.90", ""},
		{"free shipping in Chinese", `<p>滿 NT$490 免運</p><p>NT$1,290</p>`, "1290", ""},
		{"a warranty in Estonian", `<p>Pikendatud garantii: 146,70 €</p><p>978,00 € / tk</p>`, "978.00", ""},
		{"a payment a month in Latvian", `<p>nomaksa no 1,90 €</p><p>49,90 €</p>`, "49.90", ""},
		{"a price for members", `<p>Members: £44.90</p><p>£49.90</p>`, "49.90", ""},
		{"a price for members behind it", `<p>£44.90 for members</p><p>£49.90</p>`, "49.90", ""},
		{"one in German behind it", `<p>44,90 € für Clubmitglieder</p><p>49,90 €</p>`, "49.90", ""},
		{"one in French behind it", `<p>44,90 € pour les adhérents</p><p>49,90 €</p>`, "49.90", ""},
		{"one in Spanish behind it", `<p>49,90 €</p><p>44,90 € para socios</p>`, "49.90", ""},
		{"one in Italian behind it", `<p>44,90 € per i soci</p><p>49,90 €</p>`, "49.90", ""},
		{"one in Dutch behind it", `<p>€ 44,90 voor leden</p><p>€ 49,90</p>`, "49.90", ""},
		{"one in Swedish behind it", `<p>449 kr för medlemmar</p><p>499 kr</p>`, "499", ""},
		{"one with a club's card behind it", `<p>£44.90 Clubcard price</p><p>£49.90</p>`, "49.90", ""},
		{"a price, and one for members on its line", `<p>£49.90, £44.90 for members</p>`, "49.90", ""},
		{"one in Japanese behind it", `<p>4,490円 会員価格</p><p>4,990円</p>`, "4990", ""},
		{"a price, and members on its line", `<p>£49.90 Clubcard price £44.90</p>`, "49.90", ""},
		{"one for others, and one for members", `<p>£44.90 for members</p><p>£49.90 for non-members</p>`, "49.90", ""},
		{"one for others in French", `<p>44,90 € pour membres</p><p>49,90 € pour non membres</p>`, "49.90", ""},
		{"one for others in Swedish", `<p>449 kr för medlemmar</p><p>499 kr för icke medlemmar</p>`, "499", ""},
		{"for two", `<p>£49.90 for two people</p><p>£89.90 for four</p>`, "49.90", ""},
		{"a price for others than members", `<p>Ikke-medlem 49,90 kr.</p><p>Medlem 39,90 kr.</p>`, "49.90", ""},
		{"a membership", `<p>Membership: £49.90</p>`, "49.90", ""},
		{"one in Danish", `<p>Medlemspris <b>39,90 kr.</b></p><p>49,90 kr.</p>`, "49.90", ""},
		{"of a seller's other product", `<p>$5.00</p>` + cart + `<ul><li><h4><a href="/p/9?seller=4">Shade</a></h4><b>$3.00</b></li></ul>`,
			"5.00", ""},
		{"one with the shop's card", `<p>$ 49.990</p><p>Precio tarjeta: $ 39.990</p>`, "49990", ""},
		{"per piece", `<p>49,90 € / Stück</p><p>12,00 € / kg</p>`, "49.90", ""},
		{"a bid and where bids began", `<p>Starting price $90</p><p>$400</p>`, "400", ""},
		{"in one way of paying", `<p>R$ 44,90 no Pix</p><p>R$ 49,90</p>`, "49.90", ""},
		{"by a transfer", `<p>$44,90 con transferencia bancaria</p><p>$49,90</p>`, "49.90", ""},
		{"in the only way that is shown", `<b>R$ 49,90</b> no Pix` + cart + `<p>Troca por R$ 15,00</p>`, "49.90", ""},
		{"a label", `<p>Price: £49.90</p><p>£12.00</p>`, "49.90", ""},
		{"other products", `<p>£49.90</p><div class="related"><p class="price">£9.90</p></div>`, "49.90", ""},
		{"other sizes", `<p>£49.90</p><ul class="sizes"><li>Large £59.90</li><li>Small £29.90</li></ul>`, "49.90", ""},
		{"other sizes to choose", `<p>£49.90</p><select name="size"><option>Small £29.90</option></select>`, "49.90", ""},
		{"only a fee for shipping", `<div class="shipping-price">Delivery: £4.90</div>`, "", ""},
		{"sign above the amount", `<div><div>€</div><div>49,90</div></div>`, "49.90", ""},
		{"sign below the amount", `<div><div>49,90</div><div>zł</div></div>`, "49.90", ""},
		{"sign and amount of a list", `<ul><li>€</li><li>49,90</li></ul>`, "49.90", ""},
		{"a sign by itself", `<div>€</div><p>We have sold 49 lamps since we opened the shop.</p>`, "", ""},
		{"a space after the comma", `<p>12, 50 zł</p>`, "12.50", ""},
		{"lakhs", `<p>Rs 1.5 Lacs</p>`, "150000", ""},
		{"a range", `<p>£49.90 - £59.90</p>`, "49.90", "59.90"},
		{"a range with one sign", `<p class="price">US $10.49 - 15.20</p>`, "10.49", "15.20"},
		{"a reduction", `<p>£59.90 <b>£49.90</b></p>`, "49.90", ""},
		{"a range in the data", `<script type="application/ld+json">{"@type":"Product","name":"A lamp of brass","offers":
			{"@type":"AggregateOffer","lowPrice":"49.90","highPrice":"59.90","priceCurrency":"GBP"}}</script>`, "49.90", "59.90"},
		{"the data is of another size", `<script type="application/ld+json">{"@type":"Product","name":"A lamp of brass","offers":
			{"@type":"Offer","price":"12.00","priceCurrency":"GBP"}}</script><div class="product-price"><b>£49.90</b></div>`,
			"49.90", ""},
		{"nothing in the data", `<script type="application/ld+json">{"@type":"Product","name":"A lamp of brass","offers":
			{"@type":"Offer","price":"0","priceCurrency":"GBP"}}</script>`, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(classPage(tt.html)), "https://shop.example/lamp")
			require.NoError(t, err)
			to := ""
			if d.PriceTo != nil {
				to = d.PriceTo.Value
			}
			if got, _ := drafttest.Value(d, "price"); got != tt.price || to != tt.to {
				t.Errorf("price = %q to %q; want %q to %q", got, to, tt.price, tt.to)
			}
		})
	}
}

// TestNumbersOfShops reads the number of a product where shops put it, and what only looks like one.
func TestNumbersOfShops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, address, html, sku, mpn string }{
		{"words of the name in the address", "/garage-4mx5m-13ftx17ft", `<h1>Garage 4mx5m 13ftx17ft</h1>`, "", ""},
		{"they stand before the number", "/garage-13ftx17ft/7221815683", `<h1>Garage 13ftx17ft</h1>
			<a href="/print/7221815683">Print</a><a href="/map/7221815683">Map</a><a href="/13ftx17ft">13ftx17ft</a>`, "7221815683", ""},
		{"other keys before the number", "/c7200a278526196/lamp.html", `<h1>Lamp</h1><a href="/c7200a278526196/print">Print</a>
			<a href="/c7200a278526196/map">Map</a>`, "278526196", ""},
		{"Chinese brackets", "/lamp", `<h1>Lamp</h1><p>商品編號：DRAN1234（黑色）</p>`, "DRAN1234", ""},
		{"a closing bracket", "/lamp", `<h1>Lamp</h1><p>商品編號：【A-4711】</p>`, "A-4711", ""},
		{"the only sku of a script", "/lamp", `<h1>Lamp</h1><script>var p = {"product":{"id":1,"sku":"LMP-47"}}</script>`,
			"LMP-47", ""},
		{"the first variant of a script", "/lamp", `<h1>Lamp</h1><script>var meta = {"product":{"id":1,"variants":[
			{"id":2,"price":4990,"sku":"LMP-47-S"},{"id":3,"price":5990,"sku":"LMP-47-L"}]}}</script>`, "LMP-47-S", ""},
		{"several of no list of variants", "/lamp", `<h1>Lamp</h1><script>var a = [{"sku":"A-471"},{"sku":"B-471"}]</script>`, "", ""},
		{"a label beats a script", "/lamp", `<h1>Lamp</h1><p>SKU: A-4711</p><script>var p = {"sku":"B-4711"}</script>`, "A-4711", ""},
		{"the shop's number named mpn", "/Prod/144432/", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product",
			"name":"Lamp","sku":"TALL LAMP","mpn":"144432"}</script>`, "144432", ""},
		{"its own number and a suffix named mpn", "/lamp", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product",
			"name":"Lamp","sku":"62320522","mpn":"62320522-00"}</script>`, "62320522", ""},
		{"a label with a slash", "/lamp", `<h1>Lamp</h1><p>SKU: A-4711</p><p>model name/number: XWSC61251</p>`, "A-4711",
			"XWSC61251"},
		{"of the only offer, beside a barcode with a zero before it that is no JSON", "/lamp", `<h1>Lamp</h1>
			<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":[{"@type":"Offer","sku":"1230",
			"gtin12":012345678905,"price":49.9,"priceCurrency":"CAD"}]}</script>`, "1230", ""},
		{"of several offers", "/lamp", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"offers":[{"@type":"Offer","sku":"1230","price":49.9},{"@type":"Offer","sku":"1231","price":49.9}]}</script>`, "", ""},
		{"few digits without a colon", "/lamp", `<h1>Lamp</h1><p>Réf. 3-44</p>`, "3-44", ""},
		{"a code that is for paying less", "/lamp", `<h1>Lampada</h1><p>Codice SCONTO10</p>`, "", ""},
		{"one character", "/lamp", `<h1>Lamp</h1><p>SKU: 7</p>`, "7", ""},
		{"a capital letter", "/lamp", `<h1>Lamp</h1><dl><dt>Référence</dt><dd>B</dd></dl>`, "B", ""},
		{"a word in small letters", "/lamp", `<h1>Lamp</h1><p>SKU: x</p>`, "", ""},
		{"one character behind a vague label", "/lamp", `<h1>Lamp</h1><p>Code: 7</p>`, "", ""},
		{"an abbreviation without a colon", "/lamp", `<h1>Lampada</h1><p>Cod. art. CP22</p>`, "CP22", ""},
		{"before its label", "/p/21335", `<h1>Lamp</h1><p>21335 Item</p>`, "21335", ""},
		{"prose behind labels", "/lamp", `<h1>Taladro</h1><p>Código: en efectivo, débito</p><p>Artículo: consultar, por favor</p>`,
			"", ""},
		{"how many of them", "/lamp", `<h1>Lamp</h1><p>Ref. 3 of 44</p>`, "", ""},
		{"Estonian", "/lamp", `<h1>Lamp</h1><p>Tootekood: 763127</p>`, "763127", ""},
		{"Hebrew", "/lamp", `<h1>Lamp</h1><p>קוד מוצר: 101693</p>`, "101693", ""},
		{"Croatian", "/lamp", `<h1>Lamp</h1><p>Šifra: 9470</p>`, "9470", ""},
		{"of a posting", "/lamp", `<h1>Lamp</h1><p>post id: 7235216655</p>`, "7235216655", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(tt.html+`<p>$49.90</p>`+cart), "https://shop.example"+tt.address)
			require.NoError(t, err)
			sku, _ := drafttest.Value(d, "sku")
			if mpn, _ := drafttest.Value(d, "mpn"); sku != tt.sku || mpn != tt.mpn {
				t.Errorf("sku %q, mpn %q; want %q, %q", sku, mpn, tt.sku, tt.mpn)
			}
		})
	}
}

// TestBrands reads the brand where pages have it, and what only looks like one.
func TestBrands(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, html, brand string }{
		{"a link to its products, in the name", `<h1>Brass lamp Lumen 40</h1><p><a href="/brands/lumen">Lumen</a></p>`, "Lumen"},
		{"such a link by the name", `<a href="/brand/lumen-lights">Lumen Lights</a><h1>Lamp</h1>`, "Lumen Lights"},
		{"a logo that leads there", `<h1>Lamp of Lumen</h1><a href="/marke/lumen"><img alt="Lumen" src="/l.png"></a>`, "Lumen"},
		{"a link of the menu", `<a href="/brands/sale">All the brands of our sale</a><h1>Lamp</h1>`, ""},
		{"in a script and in the name", `<h1>Brass lamp Lumen 40</h1><script>var p = {"brand":"Lumen"}</script>`, "Lumen"},
		{"a way to pay in a script", `<h1>Brass lamp</h1><p>Visa</p><script>var p = {"cards":[{"brand":"Visa"}]}</script>`, ""},
		{"a maker that is a way to pay as well", `<h1>Elo touch screen</h1><script>var p = {"brand":"Elo"}</script>`, "Elo"},
		{"in a script alone", `<h1>Brass lamp</h1><script>var p = {"brand":"Lumen"}</script>`, ""},
		{"the shop's own name, and another", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"brand":"Acme"}</script><p>Brand: Lumen</p>`, "Lumen"},
		{"the shop's own name alone", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"brand":"Acme"}</script>`, "Acme"},
		{"a price in an element named brand", `<h1>Lamp</h1><div class="brand-box">249 ₽</div>`, ""},
		{"a number in one", `<h1>Lamp</h1><div class="brand-box">41</div>`, ""},
		{"a label within", `<h1>Lamp</h1><div class="brand">Marke: Lumen</div>`, "Lumen"},
		{"for whom it is", `<div class="brand">Women</div><h1>Lamp</h1>`, ""},
		{"for whom it is, in data", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"brand":"Herren"}</script>`, ""},
		{"for whom it is, and the brand", `<a href="/brand/women">Women</a><h1>Lamp</h1><p>Brand: Lumen</p>`, "Lumen"},
		{"for whom and what it is", `<div class="brand">Men's Outerwear</div><h1>Lamp</h1>`, ""},
		{"what and for whom it is, in data", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"brand":{"name":"Vêtements pour femme"}}</script>`, ""},
		{"a badge", `<div class="brand">Promo</div><h1>Lamp</h1>`, ""},
		{"a brand called like a badge", `<h1>Lamp</h1><p>Brand: Promo</p>`, "Promo"},
		{"a brand called like a badge, in data", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"brand":"Promo"}</script>`, "Promo"},
		{"a brand that begins like it", `<div class="brand">Women'secret</div><h1>Lamp</h1>`, "Women'secret"},
		{"a producer of wine", `<h1>Chablis</h1><p>Producer: Domaine Larue</p><p>Vintage: 2021</p>`, "Domaine Larue"},
		{"a producer of food, in German", `<h1>Käse</h1><p>Produzent: Sennerei Tal</p><dl><dt>Zutaten</dt><dd>Milch</dd></dl>`,
			"Sennerei Tal"},
		{"a producer of a record", `<h1>Night Drive</h1><p>Producer: Jo Marsh</p><p>Format: LP</p>`, ""},
		{"a winery", `<h1>Rioja</h1><p>Bodega: Alcor</p>`, "Alcor"},
		{"a list of the shop", `<nav class="breadcrumb"><a href="/brand/nuovi-arrivi">Nuovi arrivi</a></nav><h1>Lamp</h1>`, ""},
		{"kinds of goods", `<nav class="breadcrumb"><a href="/">Home</a><a href="/brand/coats-jackets">Coats &amp; Jackets</a></nav>
			<h1>Rain coat</h1>`, ""},
		{"a label in data", `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp",
			"brand":"Model identifier"}</script>`, ""},
		{"a category in data, and the brand", `<ol class="breadcrumb"><li><a href="/">Home</a></li><li><a href="/l">Lights</a></li>
			</ol><h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Lamp","brand":"Lights"}</script>
			<p>Brand: Lumen</p>`, "Lumen"},
		{"a slogan", `<div class="brand-usp">Free returns within 30 days</div><h1>Lamp</h1>`, ""},
		{"prose", `<h1>Lamp</h1><p>Brand: see packaging</p>`, ""},
		{"the shop's own name by the product's", `<p class="vendor">Acme</p><h1>Lamp</h1>`, "Acme"},
		{"the next label", `<h1>Lamp</h1><table><tr><th>Brand</th><td></td></tr><tr><th>Model identifier</th><td>LM-40</td></tr>
			</table>`, ""},
		{"a label beside another", `<h1>Lamp</h1><div class="brand">Product information</div>`, ""},
		{"the energy label's sheet", `<h1>Lamp</h1><table><tr><th>Supplier's name or trademark</th><td>Lumen</td></tr>
			<tr><th>Model identifier</th><td>LM-40</td></tr></table>`, "Lumen"},
		{"a category", `<ol class="breadcrumb"><li><a href="/">Home</a></li><li><a href="/lights">Lights</a></li></ol>
			<a href="/b/lights">Lights</a><h1>Lamp</h1>`, ""},
		{"a breadcrumb that leads to a brand", `<nav class="breadcrumb"><a href="/">Home</a> <a href="/brands">Brands</a>
			<a href="/brands/lumen">Lumen</a></nav><h1>Lamp</h1>`, "Lumen"},
		{"a category that is a breadcrumb", `<nav class="breadcrumb"><a href="/">Home</a> <a href="/b/electronics">Electronics</a>
			<a href="/b/tv">TV</a></nav><h1>Screen</h1>`, ""},
		{"a category that the name has", `<ol class="breadcrumb"><li><a href="/">Home</a></li><li><a href="/lumen">Lumen</a></li>
			</ol><a href="/brand/lumen">Lumen</a><h1>Lumen lamp</h1>`, "Lumen"},
		{"a category that a label names", `<ol class="breadcrumb"><li><a href="/">Home</a></li><li><a href="/lumen">Lumen</a></li>
			</ol><h1>Lamp</h1><p>Brand: Lumen</p>`, "Lumen"},
		{"a maker's path to several of the kind", `<a href="/hersteller/lampen">Lampen</a><h1>Tischlampe Mira</h1>`, ""},
		{"such a path in the breadcrumbs", `<nav class="breadcrumb"><a href="/">Start</a> <a href="/hersteller/lampen">Lampen</a>
			</nav><h1>Tischlampe Mira</h1>`, ""},
		{"such a path in French", `<a href="/marque/chaises">Chaises</a><h1>Chaise bistrot</h1>`, ""},
		{"such a path in Italian", `<a href="/marca/lampade">Lampade</a><h1>Lampada da tavolo</h1>`, ""},
		{"a brand that is no kind of the product", `<a href="/hersteller/lampen-welt">Lampen-Welt</a><h1>Tischlampe Mira</h1>`,
			"Lampen-Welt"},
		{"the shop's name behind a label", `<h1>Lamp</h1><p>Brand: <a href="/acme">Acme</a></p><p>Product code: LW-210</p>`,
			"Acme"},
		{"a trademark in Swedish", `<h1>Lampa</h1><p>Varumärke: <a href="/x">Nordljus</a></p>`, "Nordljus"},
		{"one in Italian", `<h1>Lampada</h1><p>Marchio: Lucida</p>`, "Lucida"},
		{"a publisher in Polish", `<h1>Las</h1><p>Wydawnictwo: Dom</p>`, "Dom"},
		{"a producer whom the name has", `<h1>Hollow Creek red wine</h1><p>Producer: Hollow Creek</p>`, "Hollow Creek"},
		{"a maker in Italian", `<h1>Trapano a batteria</h1><p>Produttore: Lumen</p>`, "Lumen"},
		{"the producer of a record", `<h1>Harvest Lights</h1><p>Producer: George Hale</p>`, ""},
		{"the one of a film", `<h1>Le Quai</h1><p>Producteur : Marc Villon</p><p>Marque : Lumen</p>`, "Lumen"},
		{"the only breadcrumb, under a maker's path", `<nav class="breadcrumb"><a href="/">Home</a>
			<a href="/brand/lumen">Lumen</a></nav><h1>Mira 210</h1>`, "Lumen"},
		{"the only one before the product, in French", `<nav class="breadcrumb"><a href="/">Accueil</a>
			<a href="/marques/lumen">Lumen</a> <span>Lampe Mira</span></nav><h1>Lampe Mira</h1>`, "Lumen"},
		{"a maker whose name looks like several of its goods", `<a href="/brand/rains">Rains</a><h1>Rains Rain Jacket</h1>`,
			"Rains"},
		{"Japanese brackets", `<h1>Lamp</h1><p>ブランド：【Lumen】</p>`, "Lumen"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(tt.html+`<p>$49.90</p>`+cart), "https://www.acme.example/lamp")
			require.NoError(t, err)
			if got, _ := drafttest.Value(d, "brand"); got != tt.brand {
				t.Errorf("brand = %q; want %q", got, tt.brand)
			}
		})
	}
}

// TestSoldOut reads the texts by which shops of many languages say that a product cannot be had, where a button that
// buys is missing, and texts with the same words that do not say so.
func TestSoldOut(t *testing.T) {
	t.Parallel()
	for want, lines := range map[draft.Availability][]string{
		draft.OutOfStock: {"Trenutno nedostupno", "Nema na zalihi", "Toode on läbi müüdud", "Nav pieejams", "Išparduota",
			"Nincs raktáron", "Stoc indisponibil", "Продуктът е изчерпан", "Товар закончился", "Немає на складі",
			"Δεν είναι διαθέσιμο", "Stokta kalmadı", "המוצר אינו במלאי", "غير متوفر حاليا", "일시품절", "已售罄", "補貨中",
			"販売終了", "สินค้าหมด", "Tạm hết hàng", "Tidak tersedia", "Uppselt", "Tillfälligt slut", "Midlertidig utsolgt",
			"Niet meer leverbaar", "Online nicht verfügbar", "Stock épuisé", "Prodotto esaurito", "Temporalmente agotado",
			"Indisponível no momento", "Produkt chwilowo niedostępny", "Dočasně nedostupné", "This item is no longer for sale",
			"Temporarily out of stock", "This posting has expired", "Article discontinué", "De retour bientôt",
			"Nicht mehr vorrätig", "Derzeit vergriffen", "Sem existências", "Niet in voorraad", "Maaf, stok kosong"},
		draft.InStock: {"Na zalogi", "Dobavljivo", "Ir noliktavā", "Yra sandėlyje", "במלאי", "庫存充足", "มีสินค้า", "Còn hàng",
			"Vendu par Lumen, en stock", "Notify me of price changes. In stock"},
	} {
		for _, line := range lines {
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				page := `<h1>A lamp of brass</h1><div class="price">$20.00</div><p>` + line + `</p>`
				wantAvailability(t, page, want)
			})
		}
	}
}

// TestOffersOfOthers tells the product's own offer from those of its sizes and those of other sellers.
func TestOffersOfOthers(t *testing.T) {
	t.Parallel()
	offer := func(availability string) string {
		return `{"@type":"Offer","price":"20.00","priceCurrency":"USD","availability":"https://schema.org/` + availability + `"}`
	}
	data := func(json string) string { return `<script type="application/ld+json">` + json + `</script>` }
	product := func(name string, offers ...string) string {
		return `{"@type":"Product","name":"` + name + `","offers":[` + strings.Join(offers, ",") + `]}`
	}
	const (
		lamp    = "A lamp of brass"
		soldOut = `<div class="buybox"><p>Currently unavailable</p></div>`
		sellers = `<div class="sellers"><p>Lumen Ltd: in stock</p><a href="/x">View deal</a></div>`
	)
	for _, tt := range []struct {
		name, html string
		want       draft.Availability
	}{
		{"a size of three", data(product(lamp, offer("OutOfStock"), offer("OutOfStock"), offer("InStock"))), draft.InStock},
		{"no size", data(product(lamp, offer("OutOfStock"), offer("OutOfStock"))), draft.OutOfStock},
		{"a size to come", data(product(lamp, offer("OutOfStock"), offer("PreOrder"))), draft.PreOrder},
		{"a size that is ordered in", data(product(lamp, offer("Discontinued"), offer("BackOrder"))), draft.BackOrder},
		{"a product for each size", data(product(lamp, offer("OutOfStock"))) + data(product(lamp, offer("InStock"))), draft.InStock},
		{"another product", data(product(lamp, offer("OutOfStock"))) + data(product("A lamp of tin", offer("InStock"))),
			draft.OutOfStock},
		{"a related product of the same name", data(`{"@type":"Product","name":"` + lamp + `","offers":` + offer("OutOfStock") +
			`,"isRelatedTo":` + product(lamp, offer("InStock")) + `}`), draft.OutOfStock},
		{"sold out here, and other sellers", soldOut + sellers, draft.OutOfStock},
		{"sold out here, and data of other sellers", data(product(lamp, offer("InStock"))) + soldOut + sellers, draft.OutOfStock},
		{"no delivery here", `<div class="buybox"><p>Delivery: currently unavailable</p></div>` + cart, draft.InStock},
		{"sold out at the shop around the corner", `<div class="buybox"><button>Add to cart</button>
			<p>Out of stock</p></div><p>In stock</p>`, draft.InStock},
		{"a button that only says so", `<button class="add-to-cart">Sold out</button>`, draft.OutOfStock},
		{"a button that offers a message", `<button class="add-to-cart">Notify me when available</button>`, draft.OutOfStock},
		{"in store and online", `<p>Out of stock in store and online</p>`, draft.OutOfStock},
		{"in store alone", `<p>Out of stock in store</p>` + cart, draft.InStock},
		{"online, and in a store", `<div class="buybox"><p>Online: sold out</p><p>In store: available in Leeds</p></div>`,
			draft.InStock},
		{"online, and in no store", `<div class="buybox"><p>Online: sold out</p><p>In store: sold out</p></div>`, draft.OutOfStock},
		{"online, and of other sellers", `<div class="buybox"><p>Sold out online</p></div>` + sellers, draft.OutOfStock},
		{"online, in German", `<p>Online: ausverkauft</p><p>Im Geschäft: verfügbar</p>`, draft.InStock},
		{"out, and can be ordered", `<p>Out of stock, available to order</p>` + cart, draft.BackOrder},
		{"out, and can be ordered, in French", `<p>En rupture, disponible sur commande</p>` + cart, draft.BackOrder},
		{"out, and cannot be ordered", `<p>Ausverkauft – keine Bestellung möglich</p>`, draft.OutOfStock},
		{"out, with no button to order it", `<p>Agotado, disponible bajo pedido</p>`, draft.OutOfStock},
		{"made for who orders it", `<p>Sur commande</p>` + cart, draft.InStock},
		{"yet to come", `<p>Coming soon</p>`, draft.OutOfStock},
		{"a size sold out", `<div class="buybox"><ul class="sizes"><li>Large: sold out</li></ul></div>` + cart, draft.InStock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := `<title>A lamp of brass</title><h1>A lamp of brass</h1><div class="price">$20.00</div>` + tt.html
			wantAvailability(t, page, tt.want)
		})
	}
}

// TestButtonsThatBuy takes pages for a product's by their button alone.
func TestButtonsThatBuy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"Kupi": true, "Naroči": true, "Dodaj v košarico": true, "Lisa korvi": true,
		"Ielikt grozā": true, "Į krepšelį": true, "הוסף לעגלה": true, "Ajouter": true, "장바구니 담기": true, "加到購物車": true,
		"Ajouter à ma liste": false, "Заказать звонок": false, "Zamów newsletter": false, "Naroči se na novice": false} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(`<h1>Lampa</h1><p>Opis</p><button>`+text+`</button>`), shop)
			require.NoError(t, err)
			assert.Equal(t, want, d.IsProduct())
		})
	}
}

// TestBrandIsNotTheName reads a page that calls the element of the product's name its brand's.
func TestBrandIsNotTheName(t *testing.T) {
	t.Parallel()
	const name = `<h1 class="productNameContainer"><span class="productBrand">Brass lamp 40</span></h1>`
	for head, want := range map[string]string{"": "", `<meta property="product:brand" content="Lumen">`: "Lumen"} {
		d, err := draft.Extract([]byte(head+name+`<p>$49.90</p>`+cart), "https://www.acme.example/lamp")
		require.NoError(t, err)
		if got, _ := drafttest.Value(d, "brand"); got != want {
			t.Errorf("brand = %q; want %q", got, want)
		}
	}
}

// TestBrandInTitle reads the brand that a link to another page sets apart at the beginning of the product's name.
func TestBrandInTitle(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		`<h1><a href="/lumen-x-b12">Lumen</a><span> Brass lamp</span></h1>`: "Lumen",
		`<h1><span><a href="/lumen/">Lumen</a></span> Lamp</h1>`:            "Lumen",
		`<h1><a href="/p/lamp">Brass lamp</a></h1>`:                         "",
		`<h1><a href="#reviews">Brass</a> lamp</h1>`:                        "",
		`<h1>Brass lamp <a href="/p/40">40 cm</a></h1>`:                     "",
		`<h1><a href="/lamp">Brass lamp</a> of 40 cm</h1>`:                  "",
		`<h1><a href="https://www.acme.example/">Brass</a> lamp</h1>`:       "",
		`<h1><a href="/new-in">New</a> Brass lamp</h1>`:                     "",
		`<h1><a href="/neu" class="flag">Top</a> Brass lamp</h1>`:           "",
		`<h1><a href="/lamp?maker=8">Lumen</a> Brass lamp</h1>`:             "Lumen",
	} {
		d, err := draft.Extract([]byte(html+`<p>$49.90</p>`+cart), "https://www.acme.example/lamp")
		require.NoError(t, err)
		if got, _ := drafttest.Value(d, "brand"); got != want {
			t.Errorf("%s: brand = %q; want %q", html, got, want)
		}
	}
}
