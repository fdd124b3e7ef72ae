package draft_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
)

// A draft says what was read and not taken, and why.
func TestCandidates(t *testing.T) {
	t.Parallel()

	const data = `<script type="application/ld+json">{"@type":"Product","name":"Lamp of brass","sku":"A-100","mpn":"A100",
		"brand":"Lumen","offers":{"@type":"Offer","price":"25.00","priceCurrency":"EUR",
		"availability":"https://schema.org/InStock"}}</script>`
	for _, tt := range []struct {
		name, page string
		want       []string // field value source why
	}{
		{"a page that agrees", data + `<h1>Lamp of brass</h1><div class=price>25.00 €</div>` + cart, []string{
			"mpn A100 json-ld shops_own",
		}},
		{"a page that says other things",
			data + `<h1>Brass lamp</h1><div class=price>25.00 €</div><p>Shipping 4.95 €</p><p>SKU: B-200</p><p>Sold out</p>`,
			[]string{
				"name Brass lamp page weaker", "sku A-100 json-ld weaker", "mpn A100 json-ld shops_own",
				"price 4.95 EUR page weaker", "availability InStock json-ld contradicted",
			}},
		{"no product", `<h1>Lamps through the ages</h1><p>The first sold for 3.50 € in 1820, in Paris.</p>`, []string{
			"price 3.50 EUR page no_product",
		}},
		{"beside another product", data + `<h1>Lamp of brass</h1><aside class=related><p>Lamp of tin</p><p>9.99 €</p></aside>`,
			[]string{"mpn A100 json-ld shops_own", "price 9.99 EUR page of_another"}},
		{"nothing to pay", data + `<h1>Lamp of brass</h1><div class=price>25.00 €</div><p>Delivery</p><p>0.00 €</p>` + cart,
			[]string{"mpn A100 json-ld shops_own", "price 0.00 EUR page free"}},
		{"far from it", data + `<h1>Lamp of brass</h1><div class=price>25.00 €</div>` + cart + strings.Repeat("<p>Brass is an alloy.</p>", 400) +
			`<p>Order for more than 90.00 € in a year and we thank you for it with a voucher.</p>`,
			[]string{"mpn A100 json-ld shops_own", "price 90.00 EUR page too_little"}},
		{"data of two kinds", data + `<meta property="product:availability" content="oos"><h1>Lamp of brass</h1>
			<div class=price>25.00 €</div>` + cart, []string{"mpn A100 json-ld shops_own", "availability OutOfStock opengraph weaker"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(tt.page), shop)
			require.NoError(t, err)
			var got []string
			for _, c := range d.Candidates() {
				got = append(got, fmt.Sprint(c.Field, " ", c.Value, " ", c.Source, " ", c.Why))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
			read, err := draft.Read([]byte(tt.page), shop)
			if err != nil || !slices.Equal(read.Candidates, d.Candidates()) {
				t.Errorf("Read has %v, %v", read.Candidates, err)
			}
		})
	}
}

// candidatesOf are those of a field of a page: value, source and why.
func candidatesOf(t *testing.T, field, page string) (list []string) {
	t.Helper()
	d, err := draft.Extract([]byte(page), shop)
	require.NoError(t, err)
	for _, c := range d.Candidates() {
		if c.Field == field {
			list = append(list, fmt.Sprint(c.Value, " ", c.Source, " ", c.Why))
		}
	}
	return list
}

// A price that scripts alone speak for is in the draft, so it is not among its candidates where it shows beside another
// product.
func TestPriceIsNoCandidate(t *testing.T) {
	t.Parallel()

	const page = `<script type="application/ld+json">{"@type":"Product","name":"Lamp of brass"}</script>
		<script>var a = {finalPrice: "19.99"}</script><h1>Lamp of brass</h1>
		<aside class=related><p>19.99 €</p><p>Lamp of tin</p><p>9.99 €</p></aside>`
	d, err := draft.Extract([]byte(page), shop)
	if err != nil || d.Price == nil || d.Price.Value != "19.99" {
		t.Fatalf("the price is %v, %v", d.Price, err)
	}
	assert.Equal(t, []string{"9.99 EUR page of_another"}, candidatesOf(t, "price", page))
}

// What is likeliest is kept where there is no room for all: the price of a page of no product, and what labels say of a
// number before the shop's own keys.
func TestLikelierCandidatesFirst(t *testing.T) {
	t.Parallel()

	var amounts, numbers strings.Builder
	for n := range 12 {
		fmt.Fprintf(&amounts, `<p>In 18%d0 it sold for %d.50 € in Paris, as we know from letters of those who bought it.</p>`, n%10, n+3)
		fmt.Fprintf(&numbers, `<p>MPN: LB-20%d</p>`, n+10)
	}
	got := candidatesOf(t, "price", `<h1>Lamps through the ages</h1>`+amounts.String())
	if len(got) != 8 || !strings.HasSuffix(got[0], " no_product") {
		t.Errorf("of a page of no product: %q", got)
	}
	const key = `<script type="application/ld+json">{"@type":"Product","name":"Lamp of brass","mpn":"700"}</script>`
	got = candidatesOf(t, "mpn", key+`<h1>Lamp of brass</h1><p>MPN: LB-2000</p><p>MPN: LB-3000</p>`+cart)
	assert.Equal(t, []string{"LB-3000 page weaker", "700 json-ld shops_own"}, got)
	got = candidatesOf(t, "mpn", key+`<h1>Lamp of brass</h1>`+numbers.String()+cart)
	if len(got) != 8 || slices.ContainsFunc(got, func(c string) bool { return !strings.HasSuffix(c, " page weaker") }) {
		t.Errorf("of many numbers: %q", got)
	}
}

// However much a page says, a few candidates of each field are kept, none twice, none longer than 200 characters.
func TestCandidatesAreFew(t *testing.T) {
	t.Parallel()

	var page strings.Builder
	page.WriteString(`<h1>Lamp</h1>` + cart)
	for n := range 500 {
		fmt.Fprintf(&page, `<script type="application/ld+json">{"@type":"Product","name":"Lamp %d %s","sku":"S-%d","brand":"B%d",
			"offers":{"price":"%d.50","priceCurrency":"EUR"}}</script><p>SKU: T-%[1]d</p><p>%[1]d.25 €</p><p>MPN: M-%[1]d</p>`,
			n, strings.Repeat("é", 300), n, n, n+1)
	}
	d, err := draft.Extract([]byte(page.String()), shop)
	require.NoError(t, err)
	of, seen := map[string]int{}, map[string]bool{}
	for _, c := range d.Candidates() {
		of[c.Field]++
		if key := c.Field + " " + c.Value; seen[key] {
			t.Errorf("%s comes twice", key)
		} else {
			seen[key] = true
		}
		if utf8.RuneCountInString(c.Value) > 200 {
			t.Errorf("%s is too long", c.Value)
		}
	}
	for field, n := range of {
		if n > 8 || n < 8 && slices.Contains([]string{"price", "sku", "mpn"}, field) {
			t.Errorf("%d candidates of %s: %v", n, field, of)
		}
	}
	if len(of) < 4 {
		t.Errorf("candidates of %v", of)
	}
}
