package draft_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

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
		{"a status of something else", `<script>{"status":"active"}</script>`, draft.InStock},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(`<h1>A lamp of brass</h1><div class="price">$20.00</div>`+tt.html), shop)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := drafttest.Value(d, "availability"); draft.Availability(got) != tt.want {
				t.Errorf("availability = %q; want %q", got, tt.want)
			}
		})
	}
}
