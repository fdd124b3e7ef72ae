package draft_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
)

// TestNamesAreNoLabels reads products in whose names the words stand that say an amount is not the price. The name is
// the line above the price, and the other product costs less.
func TestNamesAreNoLabels(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"Coffee Table", "Peach Tea", "Beach Towel", "Taxi Toy", "Private Journal", "Luna Lamp",
		"Forbidden City", "Volkswagen Transporter", "Wine Reserve", "Gift Card Holder", "Phone Warranty Card",
		"Save Our Seas Mug", "Shipping Scale"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, page := range []string{
				`<h1>` + name + `</h1><p>$49.90</p><button>Add to cart</button><p>You may need</p><p>Widget Pad $9.90</p>`,
				`<h1>` + name + `</h1><h2>` + name + `</h2><p>$49.90</p><button>Add to cart</button><p>Widget Pad $9.90</p>`,
				`<div><h1 style="display:inline">` + name + `</h1> <b>$49.90</b></div>` + cart + `<p>Widget Pad $9.90</p>`,
			} {
				d, err := draft.Extract([]byte(page), shop)
				require.NoError(t, err)
				want{price: "49.90"}.check(t, d)
			}
		})
	}
}

// TestCues reads the words around amounts on one line.
func TestCues(t *testing.T) {
	t.Parallel()

	tests := []struct{ html, price string }{
		{`<p>Was $79.90 Now $49.90</p>` + cart, "49.90"},
		{`<p>RRP $79.90 Our price: $49.90</p>` + cart, "49.90"},
		{`<p>Statt 79,90 € jetzt nur 49,90 €</p>` + cart, "49.90"},
		{`<p>Save $30: $49.90</p>` + cart, "49.90"},
		{`<p>You save $30.00 today! Now $49.90</p>`, "49.90"},
		{`<p>Was $79.90, $49.90</p>` + cart, "49.90"},
		{`<p>$49.90 Shipping: $5.00</p>` + cart, "49.90"},
		{`<p>$4.16/mo $49.90</p>` + cart, "49.90"},
		{`<p>$10 off $49.90</p>` + cart, "49.90"},
		{`<p>RRP $79.90 - $89.90</p><p>$49.90 - $59.90</p>` + cart, "49.90"},
		{`<p>All priced $1.00, $2.00 and $4.00.</p><p>$49.90</p>` + cart, "49.90"},
		{`<p>£1.50 - £2.50</p>` + cart, "1.50"},
		{`<p>12.99 - 15.99 EUR</p>` + cart, "12.99"},
		{`<p>Standardversand 4,90 €</p><p>49,90 €</p>` + cart, "49.90"},
		{`<p>送料800円</p><p>4,900円</p>` + cart, "4900"},
		{`<p>Без стоимости доставки: 49 руб.</p><p>300 руб.</p>` + cart, "300"},
		{`<p>Peso: 61,8 kg</p><p>Precio: $ 49,90</p>` + cart, "49.90"},
	}
	for _, tt := range tests {
		t.Run(tt.html, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(`<h1>A lamp of brass</h1>`+tt.html), shop)
			require.NoError(t, err)
			want{price: tt.price}.check(t, d)
		})
	}
}

// TestStockNegated reads lines in which words for being in stock are negated, and lines that only look like it.
func TestStockNegated(t *testing.T) {
	t.Parallel()

	lines := map[draft.Availability][]string{
		draft.OutOfStock: {"Actualmente no disponible", "No disponible actualmente", "Articolo non disponibile",
			"Leider nicht lieferbar", "Dieser Artikel ist derzeit leider nicht lieferbar", "Produit non disponible en ligne",
			"Not available online", "0 in stock", "In stock: no", "No stock", "Stock: 0", "Availability: Out",
			"Momentan niet beschikbaar", "Нет в наличии", "brak w magazynie", "ikke på lager", "Auf Lager: nein",
			"Dieses Produkt ist zur Zeit nicht verfügbar", "This item isn't available", "Not yet in stock",
			"No se encuentra disponible", "沒有貨", "Cet article est épuisé", "Épuisée",
			"Verfügbarkeit: nicht lieferbar", "Produto não disponível"},
		draft.InStock: {"Not in stock? Call us", "no minimum, in stock", "Nicht vergessen: auf Lager",
			"Il ne reste que 2 en stock", "10 in stock", "Item no 12345 in stock", "No reviews available. In stock",
			"Only 3 left in stock", "Nur noch 2 auf Lager", "Availability: in stock", "Stock: 10", "No hassle, available now",
			"Do not wait. In stock", "Un voyant signale que la batterie est épuisée", "Il rentre chez lui, épuisé"},
	}
	for wanted, list := range lines {
		for _, line := range list {
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				d, err := draft.Extract([]byte(`<h1>A lamp of brass</h1><div class="price">$20.00</div><p>`+line+`</p>`), shop)
				require.NoError(t, err)
				want{stock: string(wanted)}.check(t, d)
			})
		}
	}
	for _, line := range []string{"No reviews available", "Store pickup not available", "Gift wrap: not available",
		"Not available at Springfield", "Click & Collect</p><p>Not available for this item",
		"Delivery</p><p>Not available for this item</p><p>Returns</p><p>Not available for this item"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(`<h1>A lamp of brass</h1><div class="price">$20.00</div>`+cart+`<p>`+line+`</p>`), shop)
			require.NoError(t, err)
			want{stock: "InStock"}.check(t, d)
		})
	}
}

// TestPrintable reads a page whose texts would steer a terminal, in its data and in its words.
func TestPrintable(t *testing.T) {
	t.Parallel()

	const evil = "x\u009b31m\u009d0;y\u0085\u202ez\u2066\u061c\x1b[2J\x07\x7f"
	for _, page := range []string{
		`<h1>Lamp</h1>` + cart + `<script type="application/ld+json">{"@type":"Product","name":"Lamp ` + evil[:len(evil)-6] +
			`","description":"` + evil + `","sku":"` + evil + `","mpn":"` + evil + `","brand":"` + evil + `","color":"` + evil +
			`","image":"/` + evil + `","hasVariant":{"@type":"Product","name":"` + evil + `","sku":"` + evil + `","color":"` + evil +
			`","url":"/` + evil + `"},"offers":{"@type":"Offer","price":"5","priceCurrency":"EUR","sku":"` + evil + `"}}</script>` +
			`<script type="application/ld+json">{"@type":"BreadcrumbList","itemListElement":{"name":"` + evil + `"}}</script>`,
		`<div class=breadcrumb><a>` + evil + `</a><a>b` + evil + `</a></div><h1>Lamp ` + evil + `</h1><b>$5</b><p>Brand: ` + evil +
			`</p><p>SKU: A1` + evil + `</p><p>MPN: B2` + evil + `</p><select name=color><option value=1>` + evil + `</select>` + cart,
	} {
		d, err := draft.Extract([]byte(page), shop)
		require.NoError(t, err)
		var b strings.Builder
		enc := json.NewEncoder(&b)
		require.NoError(t, enc.Encode([]any{d, d.Candidates()}))
		var loose any
		require.NoError(t, json.Unmarshal([]byte(b.String()), &loose))
		text := fmt.Sprint(loose)
		if i := strings.IndexFunc(text, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
		}); i >= 0 {
			t.Errorf("%q holds a control character at %d", text, i)
		}
	}
}
