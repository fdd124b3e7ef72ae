package draft_test

import (
	"regexp"
	"testing"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestWeights(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, w := range draft.Weights() {
		if !name.MatchString(w.Name) || w.Why == "" || w.Value == 0 || seen[w.Name] {
			t.Errorf("%+v", w)
		}
		seen[w.Name] = true
	}
	if len(seen) < 100 {
		t.Errorf("there are %d weights", len(seen))
	}
}

// TestExtractWithout leaves out one weight that a page's price hangs on, and one that it does not.
func TestExtractWithout(t *testing.T) {
	t.Parallel()
	page := []byte(`<h1>Lamp</h1><div class="price"><del>$99.00</del></div><p>$79.00</p>` + cart)
	for _, tt := range []struct{ without, price string }{
		{"price.struck", "99.00"},
		{"stock.out", "79.00"},
	} {
		t.Run(tt.without, func(t *testing.T) {
			t.Parallel()
			d, err := draft.ExtractWithout(tt.without, page, shop)
			if got, _ := drafttest.Value(d, "price"); err != nil || got != tt.price {
				t.Errorf("price %q, %v; want %q", got, err, tt.price)
			}
		})
	}
	if d, err := draft.Extract(page, shop); err != nil || d.Price.Value != "79.00" {
		t.Errorf("with all weights: %+v, %v", d.Price, err)
	}
	_, err := draft.ExtractWithout("price.none", page, shop)
	if class, _ := fault.Of(err); class != fault.Invalid {
		t.Errorf("an unknown weight: %v", err)
	}
}

// TestPriceTwice holds that choosing the price leaves the page as it was.
func TestPriceTwice(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		`<h1>Lamp</h1><p>RRP $79.90 - $89.90</p><p>$49.90 - $59.90</p>` + cart,
		`<h1>Lamp</h1><p>All priced $1.00, $2.00 and $4.00.</p><p class="price">$49.90</p>` + cart,
	} {
		a, b, points, err := draft.PriceTwice(page)
		if err != nil || a != b || points[0] != points[1] {
			t.Errorf("%s: %s, then %s, worth %v, %v", page, a, b, points, err)
		}
	}
}
