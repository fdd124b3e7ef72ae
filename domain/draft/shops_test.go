package draft_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// TestPriceMarkup reads prices as the templates of shops set them, the page's name before and a button after them.
func TestPriceMarkup(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, host, html, price string }{
		{"a range and an old one", "com", `<div class="product-price-current"><span class="product-price-value">US $10.49 -
			15.20</span></div><div class="product-price-original"><span class="product-price-value">US $14.99 - 21.71</span>
			<span class="product-price-mark">-30%</span></div>`, "10.49"},
		{"characteristic and mantissa", "com", `<span class="price-group"><span class="price-currency">$</span><span
			class="price-characteristic">12</span><span class="price-mark">.</span><span class="price-mantissa">98</span></span>`,
			"12.98"},
		{"dollars and cents", "com", `<div class="price"><span class="price__dollars">$129</span><span
			class="price__cents">00</span></div>`, "129.00"},
		{"superscript on both sides", "com", `<div class="price"><sup>$</sup>129<sup>97</sup></div>`, "129.97"},
		{"reg. behind", "com", `<div data-test="product-price">$12.99</div><span>reg $15.99</span><span>Sale</span>`, "12.99"},
		{"for screen readers", "com", `<p><span class="screen-reader-only">Price:</span> €12.34+</p>`, "12.34"},
		{"your price, was", "com", `<div class="priceView"><span class="sr-only">Your price for this item is
			$299.99</span><span aria-hidden="true">$299.99</span></div><div>Save $100</div><div>Was $399.99</div>`, "299.99"},
		{"number and currency apart", "de", `<div><span id="normalPriceAmount">99,99</span><span>€</span></div>`, "99.99"},
		{"a dash for the cents", "de", `<div class="price">€ 1299,–</div>`, "1299"},
		{"polish, cents apart", "pl", `<div><span>129,</span><span>99</span> zł</div><div>z dostawą 138,98 zł</div>`, "129.99"},
		{"fraction is the whole", "com.ar", `<span class="price-tag"><span class="price-tag-symbol">$</span><span
			class="price-tag-fraction">1.299</span><span class="price-tag-cents">99</span></span>`, "1299.99"},
		{"names without a meaning", "in", `<div class="_30jeq3">₹1,299</div><div class="_3I9_wc">₹1,999</div><div>35% off</div>`,
			"1299"},
		{"heading", "co.uk", `<ul><li><h2 class="Typography">£12.99</h2></li></ul><p>Spread the cost from £4.33 a month</p>`,
			"12.99"},
		{"euro between", "fr", `<span class="fpPrice">12€<span class="fpCents">99</span></span>`, "12.99"},
		{"cents behind the sign, and the old price", "fr", `<span>109€<sup>90</sup></span><span>139€<sup>90</sup></span>`, "109.90"},
		{"the same in one element", "fr", `<p>79€<sup>90</sup><del>99€<sup>90</sup></del></p>`, "79.90"},
		{"dutch", "nl", `<span class="promo-price">12<sup class="promo-price__fraction">99</sup></span><del>15,99</del>`, "12.99"},
		{"rubles", "ru", `<span>1 299 ₽</span><span>1 999 ₽</span><p>Доставка 199 ₽</p>`, "1299"},
		{"rupiah", "co.id", `<h3>Rp129.000</h3><p>Cicilan Rp10.750/bulan</p>`, "129000"},
		{"dong", "vn", `<div class="pqTWkA">129.000₫</div>`, "129000"},
		{"ringgit", "my", `<div>RM12.90</div><div>RM20.00</div>`, "12.90"},
		{"baht", "co.th", `<span class="pdp-price">฿1,299.00</span>`, "1299.00"},
		{"yen with tax", "jp", `<span>1,980円（税込2,178円）</span>`, "1980"},
		{"spanish, list price first", "es", `<p>PVP recomendado: 59,90 €</p><p>Precio: 39,90 €</p><p>Ahorras 20,00 €</p>`, "39.90"},
		{"lowest price of 30 days", "fr", `<div class="price">19,99 €</div><p>Prix le plus bas des 30 derniers jours : 17,99
			€</p>`, "19.99"},
		{"net and gross", "de", `<div class="price">11,90 € inkl. MwSt.</div><div class="price-net">10,00 € zzgl. MwSt.</div>`,
			"11.90"},
		{"tiers", "de", `<div class="price">10,00 €</div><table class="tier-prices"><tr><td>ab 10</td><td>9,00 €</td></tr><tr>
			<td>ab 50</td><td>8,00 €</td></tr></table>`, "10.00"},
		{"pack and piece", "de", `<div class="price">12,00 €</div><div>(2,00 € pro Stück)</div>`, "12.00"},
		{"a kilogram first", "de", `<div class="base">1 kg = 29,90 €</div><div>300 g</div><div class="total">8,97 €</div>`, "8.97"},
		{"an apostrophe and a dash", "ch", `<div class="p">1'249.–</div><div>Paketpost CHF 9.95, ab CHF 100.– portofrei</div>`,
			"1249"},
		{"trade-in", "com", `<div class="price">$999.00</div><p>From $41.62/mo. or $649 with trade-in</p>`, "999.00"},
		{"gift card", "com", `<div class="offer">Get a $10 gift card</div><div class="price">$59.00</div>`, "59.00"},
		{"warranty", "com", `<div class="price">$59.00</div><div><label><input type="radio"> 2-year protection plan $8.99</label></div>`,
			"59.00"},
		{"members", "com", `<div class="price">$59.00</div><p>Members earn $2.95 back</p>`, "59.00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := `<title>A lamp of brass</title><header>Cart 0</header><h1>A lamp of brass</h1>` + tt.html +
				`<form><button>Add to cart</button></form><footer>Orders over $35 ship free</footer>`
			d, err := draft.Extract([]byte(page), "https://shop.example."+tt.host+"/lamp")
			require.NoError(t, err)
			if got, _ := drafttest.Value(d, "price"); got != tt.price {
				t.Errorf("price = %q, want %q", got, tt.price)
			}
		})
	}
}

// TestStockTexts reads shops' texts about stock, in the place and manner of their templates. All of it stands between a
// name with a price and, where it can be bought, a button.
func TestStockTexts(t *testing.T) {
	t.Parallel()

	const button = `<button>Add to cart</button>`
	tests := []struct {
		name, html string
		want       draft.Availability
	}{
		{"sold-out button", `<button disabled><span>Sold out</span></button>`, draft.OutOfStock},
		{"currently unavailable", `<div id="availability"><span>Currently unavailable.</span> We don't know when or if this
			item will be back in stock.</div>`, draft.OutOfStock},
		{"derzeit nicht verfügbar", `<div id="availability"><span>Derzeit nicht verfügbar.</span></div>`, draft.OutOfStock},
		{"attualmente", `<div id="availability"><span>Attualmente non disponibile.</span></div>`, draft.OutOfStock},
		{"actuellement", `<div><span>Actuellement indisponible.</span></div>`, draft.OutOfStock},
		{"no disponible", `<div><span>No disponible por el momento.</span></div>`, draft.OutOfStock},
		{"stoc epuizat", `<span class="label label-out_of_stock">Stoc epuizat</span>`, draft.OutOfStock},
		{"esgotado", `<p>Produto esgotado</p><button>Avise-me</button>`, draft.OutOfStock},
		{"uitverkocht", `<p>Helaas, dit artikel is uitverkocht</p>`, draft.OutOfStock},
		{"slutsåld", `<p class="lagerstatus">Slutsåld</p>`, draft.OutOfStock},
		{"tükendi", `<button disabled>Tükendi</button>`, draft.OutOfStock},
		{"售完", `<button disabled>已售完</button>`, draft.OutOfStock},
		{"listing ended", `<p>This listing was ended by the seller because the item is no longer available.</p>`, draft.OutOfStock},
		{"dostupnost", `<p>Dostupnost: vyprodáno</p>`, draft.OutOfStock},

		{"left in stock", `<p>Only 3 left in stock - order soon.</p>` + button, draft.InStock},
		{"one store has none", `<p>Not available at Springfield</p>` + button, draft.InStock},
		{"a question", `<p>Sold out? Get notified</p>` + button, draft.InStock},
		{"a hidden template", `<div class="hidden stock">Out of stock</div>` + button, draft.InStock},
		{"a template that nothing hides", `<div>Out of stock</div>` + button + `<div class="stock">In stock</div>`, draft.InStock},
		{"another colour", `<div class="swatches"><span class="swatch">Red</span><span class="swatch">Blue (sold out)</span></div>` +
			button, draft.InStock},
		{"in the reviews", button + `<div id="reviews"><p>It was out of stock for weeks</p></div>`, draft.InStock},
		{"how many were", `<p>1,204 sold</p>` + button, draft.InStock},
		{"returns", `<p>Returns: not available</p>` + button, draft.InStock},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			page := `<h1>A lamp of brass</h1><div class="price">$20.00</div>` + tt.html
			wantAvailability(t, page, tt.want)
		})
	}
}
