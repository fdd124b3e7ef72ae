package draft_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/draft"
)

// TestYetToCome reads pages without data of products that are yet to come, or are ordered in, and of some that are not.
func TestYetToCome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, html string
		want       draft.Availability
	}{
		{"Danish", `<button>Forudbestil</button>`, draft.PreOrder},
		{"Bulgarian", `<button>Предварителна поръчка</button>`, draft.PreOrder},
		{"Russian", `<p>Предзаказ, поступление в марте</p><button>Оформить предзаказ</button>`, draft.PreOrder},
		{"Polish", `<p>Przedsprzedaż</p>`, draft.PreOrder},
		{"Chinese", `<button>預購</button>`, draft.PreOrder},
		{"the status, beside a button that buys", `<div class="availability"><ul><li>Pre-Order</li></ul></div>` + cart,
			draft.PreOrder},
		{"a sentence of its own, beside one", `<p>Preventa. Disponible a partir del mes de abril</p>` + cart, draft.PreOrder},
		{"ordered in", `<p class="stock">Available on backorder</p>` + cart, draft.BackOrder},
		{"ordered in, in German", `<p class="stock">Lieferbar auf Nachbestellung</p>` + cart, draft.BackOrder},
		{"more can be ordered in", `<p class="stock">3 in stock (can be on backorder)</p>` + cart, draft.InStock},
		{"more can be ordered in, behind a comma", `<p class="stock">In stock, backorders allowed</p>` + cart, draft.InStock},
		{"the same in German", `<p class="stock">Auf Lager, Nachbestellung möglich</p>` + cart, draft.InStock},
		{"it is not ordered in", `<p class="stock">Backorder: No</p>` + cart, draft.InStock},
		{"it is not yet to come", `<ul><li>Vorbestellung: Nein</li></ul>` + cart, draft.InStock},
		{"a row of a table", `<table><tr><th>Pre-order</th><td>No</td></tr></table>` + cart, draft.InStock},
		{"of several", `<ul><li>Pre-orders</li><li>Free returns</li></ul>` + cart, draft.InStock},
		{"a heading", cart + `<h3>Pre-orders</h3><p>They ship as soon as they are released.</p>`, draft.InStock},
		{"a link to what is yet to come", `<p><a href="/pre-order">Pre-order</a></p>` + cart, draft.InStock},
		{"a sentence about it", `<p>Our pre-order terms are on the page of the terms</p>` + cart, draft.InStock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantAvailability(t, `<h1>A lamp of brass</h1><div class="price">$20.00</div>`+tt.html, tt.want)
		})
	}
}
