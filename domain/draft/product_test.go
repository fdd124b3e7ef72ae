package draft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
)

func TestIsProduct(t *testing.T) {
	t.Parallel()

	const ld = `<script type="application/ld+json">`
	tests := []struct {
		name, html string
		want       bool
	}{
		{"json-ld", ld + `{"@type":"Product","name":"Lamp"}</script><p>…`, true},
		{"microdata", `<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Lamp</h1></div>`, true},
		{"og:type", `<meta property="og:type" content="product"><h1>Lamp</h1>`, true},
		{"product:price", `<meta property="product:price:amount" content="9.90"><h1>Lamp</h1>`, true},
		{"a price by the name", `<h1>Lamp</h1><p>$9.90</p>`, true},
		{"a price that is named one", `<h1>Lamp</h1><p>Brass, with a shade.</p><b class="price">$9.90</b>`, true},
		{"a number", `<h1>Lamp</h1><p>Article number: AB-1234</p>`, true},
		{"a gtin", `<h1>Lamp</h1><p>EAN: 4006381333931</p>`, true},
		{"a button that buys", `<h1>Lamp</h1><button>Add to cart</button>`, true},
		{"a page of a shop that a plugin calls an article", `<meta property="og:type" content="article">` + ld +
			`{"@type":"WebPage","name":"Lamp"}</script><h1>Lamp</h1><button>Add to cart</button>`, true},
		{"an offer on a page of a shop that a plugin calls an article", `<meta property="og:type" content="article">` + ld +
			`{"@type":"Offer","price":"5.00"}</script><h1>Lamp</h1>`, true},
		{"an offer under its seller's name", `<h1>Lamp</h1><p>Brass.</p><article><h2><a href="/seller/lumen">Lumen</a></h2>
			<p>$9.90</p>` + cart + `</article>`, true},
		{"an offer under the words that name its seller", `<h1>Lamp</h1><p>Brass.</p><article><h3>Sold by <a href="/x/lumen">Lumen</a>
			</h3><p>$9.90</p>` + cart + `</article>`, true},
		{"a product called like a fault", ld + `{"@type":"Product","name":"Oops! Board Game"}</script><h1>Oops! Board Game</h1>`,
			true},

		{"nothing", ``, false},
		{"about us", `<h1>About us</h1><p>We are a shop.</p>`, false},
		{"robot wall", `<title>Shop</title><h1>Are you a robot?</h1><p>Reference ID: 18a2f3</p><button>Continue</button>`, false},
		{"not found, beside others", `<h1>Page not found</h1><div><p>Lamp</p><b class="price">$9.90</b>` + cart + `</div>`, false},
		{"404", `<h1>404</h1><p>Error code: 404-12</p>`, false},
		{"access denied", `<h1>Access Denied</h1><p>Reference #18.2d1a1602.1605</p>`, false},
		{"sign in", `<h1>Sign in</h1><form><input name="id" value="12345"><button>Sign in</button></form><p>$5.00</p>`, false},
		{"an article", `<h1>How we saved $5,000</h1><p>By Ann, in May</p><p>We saved $3,000 on hosting in a year, and then some
			more on all of the things that nobody needs.</p><p>The rest, $2,000, came from not renting an office any more.</p>`,
			false},
		{"an article that says so", `<meta property="og:type" content="article"><h1>A cheap lamp</h1><p>$5.00</p>`, false},
		{"an article with an offer", ld + `[{"@type":"NewsArticle","headline":"A cheap lamp"},{"@type":"Offer","price":"5.00"}]</script>
			<h1>A cheap lamp</h1><p>By Ann</p>`, false},
		{"a page of a brand with two products", `<h1>Lumen</h1><ul><li class="item"><h4><a href="/a">Lamp</a></h4><b class="price">$9.90</b>
			<a class="button" href="/cart?a=1">Add to cart</a></li><li class="item"><h4><a href="/b">Shade</a></h4><b class="price">$4.90</b>
			<a class="button" href="/cart?b=1">Add to cart</a></li></ul>`, false},
		{"a page of a seller with one product", `<h1>Lumen</h1><p>Brass.</p><article><h3><a href="/seller/lumen/p/12">Lamp</a></h3>
			<p>$9.90</p>` + cart + `</article>`, false},
		{"a page of a brand with one product", `<h1>Lumen</h1><ul><li class="item"><h4><a href="/a">Lamp</a></h4><b class="price">$9.90</b>
			<a class="button" href="/cart?a=1">Add to cart</a></li></ul>`, false},
		{"a blog post that shows a product", ld + `{"@type":"BlogPosting","headline":"How we made it"}</script><h1>How we made it</h1>
			<p>Our lamps are of brass.</p><div>Lamp <b>$5.00</b><button>Add to cart</button></div>`, false},
		{"a blog post", ld + `{"@type":"BlogPosting","headline":"A cheap lamp"}</script><h1>A cheap lamp</h1><p>$5.00</p>`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(tt.html), shop)
			require.NoError(t, err)
			assert.Equal(t, tt.want, d.IsProduct())
			if !tt.want && (d.Price != nil || d.Currency != nil || d.Availability != nil || d.Variants != nil) {
				t.Errorf("no product, but %+v", d)
			}
		})
	}
}

func TestChallenge(t *testing.T) {
	t.Parallel()

	for page, want := range map[string]bool{
		`<title>Just a moment...</title>`:                      true,
		`<h1>Are you a robot?</h1>`:                            true,
		`<h1>Hi</h1><div class="g-recaptcha"></div>`:           true,
		`<h1>Page not found</h1>`:                              false,
		`<h1>Lamp</h1><p>$9.90</p><button>Buy it now</button>`: false,
	} {
		assert.Equal(t, want, draft.Challenge([]byte(page)), page)
	}
}
