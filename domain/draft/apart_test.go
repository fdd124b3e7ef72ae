package draft_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// What follows a heading of other sellers or products is theirs, up to the next box that heads itself.
func TestBehindHeadingOfOthers(t *testing.T) {
	t.Parallel()
	const own = `<h1>A lamp of brass</h1><div class="price">$20.00</div><button>Add to cart</button>`
	for html, want := range map[string]string{
		own + `<div><h3>Other sellers</h3></div><div><a href="/v/1">Shop One</a> <span>$19.00</span></div>
			<div><h3>Details</h3><p>EAN: 4006381333931</p></div>`: "4006381333931",
		own + `<section><h2>Similar items</h2></section><div><h2>Lamp two</h2><p>EAN: 4006381333931</p><p>$30.00</p></div>`: "",
	} {
		d, err := draft.Extract([]byte(html), shop)
		require.NoError(t, err)
		got, _ := drafttest.Value(d, "gtin")
		require.Equal(t, want, got, html)
	}
}
