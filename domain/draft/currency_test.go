package draft_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
)

// TestCurrencyOfScripts reads what a sign of many currencies stands for where nothing but the scripts of the page says.
func TestCurrencyOfScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, html, want string }{
		{"one", `<p>$49.90</p><script>var p = {"price":{"current":49.9,"currency":"CAD"}}</script>`, "CAD"},
		{"the same twice", `<p>$49.90</p><script>x({currencyCode:"CAD"})</script><script>y({"currency":"CAD"})</script>`, "CAD"},
		{"a choice", `<p>$49.90</p><script>x([{"currency":"CAD"},{"currency":"USD"}])</script>`, ""},
		{"no currency", `<p>$49.90</p><script>x({"currency":"ALL OF THEM","currencyCode":"XYZ"})</script>`, ""},
		{"another key", `<p>$49.90</p><script>x({"currencySelector":"CAD"})</script>`, ""},
		{"the active one", `<p>$49.90</p><script>Shopify.currency = {"active":"CAD","rate":"1.0"};</script>`, "CAD"},
		{"an object", `<p>$49.90</p><script>var shop = {"currency":{"id":1,"name":"Dollar","iso_code":"CAD","sign":"$"}}</script>`, "CAD"},
		{"a choice of objects", `<p>$49.90</p><script>x([{"currency":{"code":"CAD"}},{"currency":{"code":"USD"}}])</script>`, ""},
		{"an object of other things", `<p>$49.90</p><script>x({"currency":{"label":"CAD","next":{"code":"CAD"}}})</script>`, ""},
		{"a variable", `<p>$49.90</p><script>var shopCurrency = 'CAD';</script>`, "CAD"},
		{"a default beside a key", `<p>$49.90</p><script>t.currency="USD"; x({"currency":"CAD"})</script>`, "CAD"},
		{"a parameter", `<p>$49.90</p><script>function f(n, currency = "USD") {} x({"currency":"CAD"})</script>`, "CAD"},
		{"a comparison", `<p>$49.90</p><script>if (currency == "CAD") { x() }</script>`, ""},
		{"a sign of one currency", `<p>€49.90</p><script>x({"currency":"CAD"})</script>`, "EUR"},
		{"data of the product", `<p>$49.90</p><script>x({"currency":"CAD"})</script>
			<meta property="product:price:currency" content="USD"><meta property="product:price:amount" content="49.90">`, "USD"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draft.Extract([]byte(`<h1>Lamp</h1>`+tt.html+cart), shop)
			require.NoError(t, err)
			assert.Equal(t, tt.want, templateValue(d, "currency"))
		})
	}
}
