package draft_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/draft"
)

// TestConfidenceOfClosePrices holds that a price which another all but equals is claimed with less confidence.
func TestConfidenceOfClosePrices(t *testing.T) {
	t.Parallel()

	confidence := func(html string) float64 {
		t.Helper()
		d, err := draft.Extract([]byte(`<h1>A lamp of brass</h1>`+html), shop)
		if err != nil || d.Price == nil || d.Price.Source != draft.Page {
			t.Fatalf("%q: %+v, %v", html, d.Price, err)
		}
		return d.Price.Confidence
	}
	sure := confidence(`<p class="price">$49.90</p>` + cart)
	close := confidence(`<p>$49.90</p><p>$59.90</p><p>$69.90</p>` + cart)
	if sure < 0.85 || close > sure-0.1 || close < 0.5 {
		t.Errorf("confidence alone %.2f, among others %.2f", sure, close)
	}
}
