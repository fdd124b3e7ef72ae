package draft_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// TestBrandOfScripts reads the brand of pages whose scripts alone call it so.
func TestBrandOfScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, html, want string }{
		{"an object, and a line by the name", `<span>Lumen Works</span><h1>Lamp</h1><script>{"product":{"brand":{"id":3,
			"name":"Lumen Works"}}}</script>`, "Lumen Works"},
		{"an object, and the name begins with it", `<h1>Lumen lamp</h1><script>{"brand":{"name":"Lumen"}}</script>`, "Lumen"},
		{"an object alone", `<h1>Lamp</h1><script>{"brand":{"name":"Lumen"}}</script>`, ""},
		{"a part of an object", `<h1>Lumen lamp</h1><script>{"brand":{"logo":{"name":"Lumen"}}}</script>`, ""},
		{"a line that says more", `<p>Ask Lumen Works</p><h1>Lamp</h1><script>{"brand":"Lumen Works"}</script>`, ""},
		{"a line far from the name", `<p>Lumen Works</p><p>` + strings.Repeat("More of it. ", 60) + `</p><h1>Lamp</h1><script>
			{"brand":"Lumen Works"}</script>`, ""},
		{"a category", `<ul class="breadcrumbs"><li><a href="/">Home</a></li><li><a href="/l">Lighting</a></li></ul><h1>Lamp</h1>
			<script>{"brand":"Lighting"}</script>`, ""},
		{"a link to a category begins the name", `<ul class="breadcrumbs"><li><a href="/">Home</a></li><li><a href="/l">Lamps
			</a></li></ul><h1><a href="/l">Lamps</a> Aurora</h1>`, ""},
		{"a link to the first page begins the name", `<h1><a href="/">Start</a> Lamp</h1>`, ""},
		{"the shop's own name", `<p>Acme</p><h1>Lamp</h1><script>{"brand":"Acme"}</script>`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(tt.html+`<p>$49.90</p>`+cart), "https://www.acme.example/lamp")
			require.NoError(t, err)
			if got, _ := drafttest.Value(d, "brand"); got != tt.want {
				t.Errorf("brand = %q; want %q", got, tt.want)
			}
		})
	}
}

// TestStockOfScripts reads whether a product can be had where scripts alone say so.
func TestStockOfScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, html string
		want       draft.Availability
	}{
		{"a word", `<button disabled>Add to cart</button><script>{"stock":{"status":"OUT_OF_STOCK"}}</script>`, draft.OutOfStock},
		{"false", `<button disabled>Add to cart</button><script>{"inStock": false}</script>`, draft.OutOfStock},
		{"a button that buys", cart + `<script>{"inStock":false}</script>`, draft.InStock},
		{"another can be had", `<script>[{"inStock":false},{"inStock":true}]</script>`, draft.InStock},
		{"a status that is false", `<script>{"chat":{"status":false}}</script>`, draft.InStock},
		{"a status of something else", `<script>{"status":"active"}</script>`, draft.InStock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantAvailability(t, `<h1>A lamp of brass</h1><div class="price">$20.00</div>`+tt.html, tt.want)
		})
	}
}

// TestSoldOutInTheButton reads buttons named after buying whose text says that the product is sold out, and lines that
// say that there is too little of something else.
func TestSoldOutInTheButton(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]draft.Availability{
		`<form action="/cart/add"><button type="submit" id="AddToCart"><span id="AddToCartText">Uitverkocht</span></button>
			</form>`: draft.OutOfStock,
		`<form><button class="add-to-cart"><span class="a">Add to cart</span><span class="b">Sold out</span></button></form>`: draft.InStock,
		`<p>Es sind nicht genügend Bewertungen vorhanden</p>`:                                                                 draft.InStock,
		`<p>Non ci sono abbastanza recensioni</p>`:                                                                            draft.InStock,
		`<p>No hay suficientes valoraciones</p>`:                                                                              draft.InStock,
		`<p>Es sind nicht genügend Artikel auf Lager</p>`:                                                                     draft.OutOfStock,
		`<p>Sorry, this gift set is sold out</p>`:                                                                             draft.OutOfStock,
		`<p>In store and online: sold out</p>`:                                                                                draft.OutOfStock,
		`<p>Dieser Artikel ist im Online-Markt ausverkauft</p>`:                                                               draft.OutOfStock,
	} {
		wantAvailability(t, `<h1>A lamp of brass</h1><div class="price">$20.00</div>`+html, want)
	}
}
