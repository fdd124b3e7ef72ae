package draft_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// TestSoldOutOfWhat reads lines that say that something is sold out, labelled before they were read: whole (the
// product), part (a size, a color, an offer), other (neither). Some stand on pages of the benchmark, some are written in
// the manner of shops. Lines of the half set aside are not looked at when they miss.
func TestSoldOutOfWhat(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("testdata/soldout.tsv")
	require.NoError(t, err)
	right, all := map[string]int{}, map[string]int{}
	for row := range strings.Lines(string(table)) {
		fields := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		half, label, line := fields[0], fields[2], fields[3]
		all[half]++
		if draft.SoldOutWhole(line, "A lamp of brass") == (label == "whole") {
			right[half]++
		} else if half == "open" {
			t.Logf("%q is %s", line, label)
		}
	}
	for half, least := range map[string]float64{"open": .97, "aside": .9} {
		share := float64(right[half]) / float64(all[half])
		t.Logf("%s: %d of %d", half, right[half], all[half])
		if all[half] < 60 || share < least {
			t.Errorf("%s: %.3f of %d are right, want %.2f", half, share, all[half], least)
		}
	}
}

// TestSoldOutAmongMany looks for choices beside lines that are sold out: however many elements there are beside them,
// no more than so many are looked at for each.
func TestSoldOutAmongMany(t *testing.T) {
	t.Parallel()
	const line, free = `<li class="c">Small<p>Sold out</p></li>`, `<li class="c">Large</li>`
	for _, tt := range []struct {
		name, page   string
		with, looked int // at most, of any
	}{
		{"two", line + free, 1, 2},
		{"behind a few others", line + strings.Repeat(`<li class="d">Blue</li>`, 50) + free, 1, 52},
		{"beside others without end", line + strings.Repeat(`<li class="d">Blue</li>`, 5_000) + line, 0, 300},
		{"beside its like without end", strings.Repeat(line, 200), 0, 31},
	} {
		with, looked, err := draft.OtherChoice("<ul>"+tt.page+"</ul>", "c")
		require.NoError(t, err)
		if with != tt.with || looked > tt.looked {
			t.Errorf("%s: %d have another choice beside them, after %d looks; want %d, %d", tt.name, with, looked,
				tt.with, tt.looked)
		}
	}
}

// TestSoldOutInTheBox weighs what the buy box says of a part of the product against data that says in stock.
func TestSoldOutInTheBox(t *testing.T) {
	t.Parallel()
	const (
		in      = `"availability":"https://schema.org/InStock"`
		out     = `"availability":"https://schema.org/OutOfStock"`
		head    = `<h1>A lamp of brass</h1><div class="price">$20.00</div><div class="buybox">`
		one     = `{"@type":"Offer","price":"20.00","priceCurrency":"USD",` + in + `}`
		small   = `{"@type":"Offer","sku":"L-S","price":"20.00","priceCurrency":"USD",` + out + `}`
		large   = `{"@type":"Offer","sku":"L-L","price":"20.00","priceCurrency":"USD",` + in + `}`
		choices = `<li class="c">Small</li><li class="c">Large<p>Sold out</p></li>`
	)
	for _, tt := range []struct {
		name, offers, box string
		want              draft.Availability
	}{
		{"the product", one, `<p>Sold out</p>`, draft.OutOfStock},
		{"the product by its name", one, `<p>A lamp of brass: sold out</p>`, draft.OutOfStock},
		{"in all sizes", one, `<p>All sizes are sold out</p>`, draft.OutOfStock},
		{"the product, with facts beside it", one, `<table><tr><td>Availability</td><td>Sold out</td></tr>
			<tr><td>Brand</td><td>Lumen</td></tr></table>`, draft.OutOfStock},
		{"a size by its letter", one, `<p>XL: sold out</p>`, draft.InStock},
		{"the size that is selected", one, `<p>This size is out of stock</p>`, draft.InStock},
		{"another color", one, `<p>Blue - out of stock</p>`, draft.InStock},
		{"one of several alike", one, `<ul>` + choices + `</ul>`, draft.InStock},
		{"each of several alike", one, `<ul><li class="c">Small<p>Sold out</p></li><li class="c">Large<p>Sold out</p></li></ul>`,
			draft.OutOfStock},
		{"an offer of used ones", one, `<p>Used: sold out</p>`, draft.InStock},
		{"a form that is kept for later", one, `<p>Email me when it is available</p></div>` + cart, draft.InStock},
		{"such a form, and nothing to buy with", one, `<p>Email me when it is available</p>`, draft.OutOfStock},
		{"soon", one, `<p>Almost sold out</p>`, draft.InStock},
		{"an offer a size, and the box speaks of one", small + "," + large, `<p>Sold out</p>`, draft.InStock},
		{"an offer a size, none to be had", small + "," + small, `<p>Sold out</p>`, draft.OutOfStock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := `<title>A lamp of brass</title><script type="application/ld+json">{"@type":"Product",
				"name":"A lamp of brass","offers":[` + tt.offers + `]}</script>` + head + tt.box + `</div>`
			wantAvailability(t, page, tt.want)
		})
	}
}

// TestAssumedBesideSoldOut holds that a page which says of something that it is sold out is taken for in stock with
// less confidence than one that says nothing.
func TestAssumedBesideSoldOut(t *testing.T) {
	t.Parallel()
	confidence := func(html string) float64 {
		t.Helper()
		d, err := draft.Extract([]byte(`<h1>A lamp of brass</h1><div class="price">$20.00</div>`+html), shop)
		if err != nil || d.Availability == nil || d.Availability.Source != draft.Assumed {
			t.Fatalf("%q: %+v, %v", html, d.Availability, err)
		}
		return d.Availability.Confidence
	}
	silent, beside := confidence(""), confidence(`<p>Size XL: sold out</p>`)
	if silent < beside+.1 {
		t.Errorf("confidence %.2f of a page that says nothing, %.2f beside a size that is sold out", silent, beside)
	}
}

// TestSoldOutBeside reads pages that say that something is sold out which is not the product, and of which a label in
// the shop's language says that it is.
func TestSoldOutBeside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, html string
		want       draft.Availability
	}{
		{"both texts of a button and both badges", `<span class="badge">Sale</span><span class="badge">Sold out</span>
			<button><span>Add to cart</span><span class="hide">Sold out</span></button>`, draft.InStock},
		{"the form of the choices", `<section class="product-options"><form><p>This item is out of stock.</p></form></section>`,
			draft.OutOfStock},
		{"behind its label, with the button", `<ul><li>Availability: Out Of Stock</li></ul>` + cart, draft.OutOfStock},
		{"below its label, with the button", `<table><tr><th>Verfügbarkeit</th><td>Ausverkauft</td></tr></table>` + cart,
			draft.OutOfStock},
		{"the button of a set", `<p>Out of stock</p><div class="set"><a href="/set/1">With a bulb</a> $29.00` + cart + `</div>`,
			draft.OutOfStock},
		{"the button of the product, apart", `<p>Out of stock</p><div class="side">$20.00, $5.00 shipping` + cart + `</div>
			<div class="stock">In stock</div>`, draft.InStock},
		{"in stock, below a heading of other products", `<p>Sold out</p><section><h2>Similar items</h2><div><a href="/b">Board</a>
			<p>In stock</p>` + cart + `</div></section>`, draft.OutOfStock},
		{"from other sellers", `<p>Out of stock</p><h2>More ways to buy</h2><div>Used $9.00 <p>In stock</p>` + cart + `</div>`,
			draft.OutOfStock},
		{"no delivery", `<p>Delivery: not available</p>` + cart, draft.InStock},
		{"for delivery, sold out", `<p>Lieferung <span>Leider ausverkauft</span></p>`, draft.OutOfStock},
		{"for delivery, sold out, behind a colon", `<p>Delivery: sold out</p>`, draft.OutOfStock},
		{"the same in German", `<p>Versand: ausverkauft</p><p>Abholung: ausverkauft</p>`, draft.OutOfStock},
		{"the same in French", `<p>Livraison : en rupture de stock</p>`, draft.OutOfStock},
		{"sold out for delivery, there to be picked up", `<div class="buybox"><p>Delivery: sold out</p>
			<p>Pickup: ready today</p></div>`, draft.InStock},
		{"there to be picked up, in tiles", `<div><p>Pickup</p><p>Available</p></div><div><p>Delivery</p><p>Sold out</p></div>`,
			draft.InStock},
		{"sold out to be picked up", `<p>Shipping: in stock</p><p>Pickup: sold out</p>`, draft.InStock},
		{"a badge beside the price", `<p>$20.00 <b>Épuisé</b></p>`, draft.OutOfStock},
		{"not in stock, and ordered in", `<p class="stock">Derzeit nicht auf Lager – wird für Sie nachbestellt</p>` + cart,
			draft.BackOrder},
		{"sold out, and not ordered in", `<p class="stock">Sold out, no backorders</p>`, draft.OutOfStock},
		{"sold, in French", `<p>Vendu</p>`, draft.OutOfStock},
		{"how many were, in French", `<p>Vendu par Lumen</p>` + cart, draft.InStock},
		{"the auction is over", `<p>Auction ended</p>`, draft.OutOfStock},
		{"orders for later", `<p>Backorders accepted, will ship in 30 days</p>` + cart, draft.BackOrder},
		{"no pickup", `<p class="availability">Pickup currently unavailable at Leith Walk</p>` + cart, draft.InStock},
		{"other products in a list", `<aside><ul><li><a href="/b4">Board 4</a> $62.00 <span>Out of stock</span></li><li>
			<a href="/b3">Board 3</a> $41.00 <span>Out of stock</span></li></ul></aside>`, draft.InStock},
		{"in a list, when, in Spanish", `<ul><li>Temporalmente agotado</li><li>Envío gratis</li></ul>`, draft.OutOfStock},
		{"in a list, in Dutch", `<ul><li>Helaas uitverkocht</li><li>Gratis verzending</li></ul>`, draft.OutOfStock},
		{"in a list, in Norwegian", `<ul><li>Midlertidig utsolgt</li><li>Fri frakt</li></ul>`, draft.OutOfStock},
		{"in a list, when", `<ul><li>Currently sold out</li><li>Free shipping</li></ul>`, draft.OutOfStock},
		{"behind a picture in a list", `<ul><li><a href="/img/5.jpg">Zoom</a><p>Out of stock</p></li></ul>`, draft.OutOfStock},
		{"behind a link of one item", `<ul><li><a href="/wishlist/5">Add to wishlist</a> <b>Out of stock</b></li></ul>`,
			draft.OutOfStock},
		{"a link beside it in a list", `<ul><li><a href="/stores">Availability</a>: out of stock</li></ul>`, draft.OutOfStock},
		{"not enough, in Italian", `<p>Non ci sono abbastanza prodotti in magazzino</p>`, draft.OutOfStock},
		{"not enough, in French", `<p>Il n'y a pas assez de produits en stock</p>`, draft.OutOfStock},
		{"not enough, in Spanish", `<p>No hay suficientes productos en stock</p>`, draft.OutOfStock},
		{"not enough, in German", `<p>Es sind nicht genügend Artikel auf Lager</p>`, draft.OutOfStock},
		{"a button that is disabled for screen readers", `<button aria-disabled="true">Add to cart</button><p>Sold out</p>`,
			draft.OutOfStock},
		{"soon, in Spanish", `<p>¡Pronto estarán en stock!</p>`, draft.OutOfStock},
		{"soon, in German", `<p>Bald wieder auf Lager</p>`, draft.OutOfStock},
		{"soon, in French", `<p>Bientôt disponible</p>`, draft.OutOfStock},
		{"soon sent, and in stock", `<p>Ships soon, in stock</p>`, draft.InStock},
		{"order soon", `<p>Order soon - in stock</p>`, draft.InStock},
		{"order soon, in French", `<p>Commandez bientôt – en stock</p>`, draft.InStock},
		{"ready, in Italian", `<p>Prodotto pronto in magazzino</p>`, draft.InStock},
		{"back soon, in French", `<p>Bientôt de retour en stock</p>`, draft.OutOfStock},
		{"the last ones", `<p>Order soon only 1 in stock</p>`, draft.InStock},
		{"a size, for screen readers", `<ul><li>S<span class="visually-hidden">Variant sold out or unavailable</span></li></ul>` + cart,
			draft.InStock},
		{"Hungarian", `<p>Készlet: Elfogyott</p>`, draft.OutOfStock},
		{"Indonesian", `<p>Stok: Habis</p>`, draft.OutOfStock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantAvailability(t, `<h1>A lamp of brass</h1><div class="price">$20.00</div>`+tt.html, tt.want)
		})
	}
}

// wantAvailability reads what a page says of its product.
func wantAvailability(t *testing.T, page string, want draft.Availability) {
	t.Helper()
	d, err := draft.Extract([]byte(page), shop)
	require.NoError(t, err)
	if got, _ := drafttest.Value(d, "availability"); draft.Availability(got) != want {
		t.Errorf("%s: availability = %q; want %q", page, got, want)
	}
}

// TestNamedSoldOut reads pages of products whose names have the words for sold out in them.
func TestNamedSoldOut(t *testing.T) {
	t.Parallel()
	const name, price = `<title>Sold Out Tour T-Shirt</title><h1>Sold Out Tour T-Shirt</h1>`, `<div class="price">$20.00</div>`
	for html, want := range map[string]draft.Availability{
		name + price: draft.InStock,
		name + price + `<p>Official Sold Out Tour merchandise.</p>` + cart:                                              draft.InStock,
		name + price + `<ul><li>Shop</li><li>Sold Out Tour T-Shirt</li></ul>`:                                           draft.InStock,
		name + price + `<button disabled>Sold out</button>`:                                                             draft.OutOfStock,
		name + price + `<p>Sold Out Tour T-Shirt: sold out</p>`:                                                         draft.OutOfStock,
		`<title>Lamp</title><h1>Lamp – Sold out</h1>` + price:                                                           draft.OutOfStock,
		`<title>Sold out: Lamp</title><h1>Sold out: Lamp</h1>` + price:                                                  draft.OutOfStock,
		`<title>SOLD OUT Lamp</title><h1>SOLD OUT Lamp</h1>` + price:                                                    draft.OutOfStock,
		`<title>SOLD OUT TOUR</title><h1>SOLD OUT TOUR</h1>` + price:                                                    draft.InStock,
		`<title>Lamp</title><h1>Lamp sold out online</h1>` + price:                                                      draft.OutOfStock,
		`<title>Ausverkauft Lampe</title><h1>Ausverkauft Lampe</h1>` + price:                                            draft.OutOfStock,
		`<title>Agotado Lámpara</title><h1>Agotado Lámpara</h1>` + price:                                                draft.OutOfStock,
		`<title>Lampe - Lumen</title><h1>Ausverkauft Lampe</h1>` + price:                                                draft.OutOfStock,
		`<title>Lamp of brass</title><h1>Sold Out Lamp of brass</h1>` + price:                                           draft.OutOfStock,
		`<title>Ausverkauft Lampe</title><h1>Ausverkauft Lampe</h1>` + price + cart:                                     draft.InStock,
		`<title>Ausverkaufte Träume</title><h1>Ausverkaufte Träume</h1>` + price:                                        draft.InStock,
		`<title>Lamp</title><h1>Lamp (sold out)</h1>` + price:                                                           draft.OutOfStock,
		`<title>Indisponible Rupture de stock roman</title><h1>Rupture de stock roman</h1>` + price + `<p>En stock</p>`: draft.InStock,
	} {
		wantAvailability(t, html, want)
	}
}
