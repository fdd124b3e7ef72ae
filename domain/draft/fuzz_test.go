package draft_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func FuzzExtract(f *testing.F) {
	pages, err := filepath.Glob(filepath.Join("testdata", "*.html"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range pages {
		page, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(page, shop)
	}
	f.Add([]byte(`<h1>a<p>SKU<i itemprop=price>٣٫٥ ر.س`), "https://x.example/%zz/?id=&p=1")
	f.Fuzz(func(t *testing.T, page []byte, address string) {
		d, err := draft.Extract(page, address)
		if err != nil {
			return
		}
		out, err := json.Marshal([]any{d, d.Candidates()})
		require.NoError(t, err)
		if again, _ := draft.Extract(page, address); true {
			twice, _ := json.Marshal([]any{again, again.Candidates()})
			assert.Equal(t, twice, out)
		}
		if d.Price != nil && strings.Trim(d.Price.Value, "0123456789.") != "" {
			t.Errorf("the price %q is not decimal", d.Price.Value)
		}
		if d.Description != nil && utf8.RuneCountInString(d.Description.Value) > 5000 {
			t.Error("the description is too long")
		}
		if len(d.Images) > 50 || len(d.Variants) > 200 {
			t.Errorf("%d images, %d variants", len(d.Images), len(d.Variants))
		}
	})
}

// TestExtractHostile reads pages that were made to take long: in the gate a quarter of them, for each takes 0.1 to 2 s
// alone on a core. The limit is for a machine that is busy with other tests, and far below quadratic time.
func TestExtractHostile(t *testing.T) {
	t.Parallel()

	quarters, limit := 4, 40*time.Second
	if testing.Short() {
		quarters, limit = 1, 10*time.Second
	}
	many := func(s string, n int) string { return strings.Repeat(s, n*quarters/4) }
	var numbers strings.Builder
	for n := range 75_000 * quarters {
		fmt.Fprintf(&numbers, "<i data-id=%d></i>", 100_000+n)
	}
	web := func(layers, each int, property, item string) string { // of references to shared items
		var b strings.Builder
		b.WriteString(`<h1>Lamp</h1><script type="application/ld+json">{"@graph":[`)
		for n := range layers {
			ids := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"@id":"#%d"},`, n+1), each), ",")
			fmt.Fprintf(&b, `{"@id":"#%d",%s"%s":[%s]},`, n, item, property, ids)
		}
		fmt.Fprintf(&b, `{"@id":"#%d","name":"e"}]}</script>`, layers)
		return b.String()
	}
	// thousands of items that have one name, or lead to one offer, or to the same offers
	const long = 300_000 // words
	graph := func(items ...string) string {
		return `<h1>Lamp</h1><script type="application/ld+json">{"@graph":[` + strings.Join(items, ",") + `]}</script>`
	}
	const slow = `1kg 1kg 1kg 1kg 1kg 1kg 1kg 1kg 1kg` // no price
	var brands strings.Builder
	for n := range 100_000 * quarters {
		fmt.Fprintf(&brands, `"brand":"b%d",`, n)
	}
	pages := map[string]string{
		"links in the name": "<h1>" + strings.Repeat(`<a href="/x"><table><tr><td>`, 70) +
			many(`<i class="`+strings.Repeat("a ", 300)+`"></i>`, 15_000) + "Lamp</h1><p>$5</p>",
		"lines of colons":         "<h1>Lamp</h1>" + many("<p>"+strings.Repeat("a:", 149), 32_000),
		"numbers and words":       "<h1>Lamp</h1>" + many("<p>"+strings.Repeat("1 a ", 490), 5_000),
		"many brands in a script": "<h1>" + strings.Repeat("lamp x", 330) + "</h1><script>" + brands.String() + "</script>",
		"one name of many products": graph(many(`{"@type":"Product","name":{"@id":"#n"}},`, 19_000)+"{}",
			`{"@id":"#n","name":"`+many("lamp  of brass ", long)+`"}`),
		"one offer of many": graph(`{"@type":"Product","name":"Lamp","offers":[`+strings.Repeat(`{"@id":"#o"},`, 5_000)+`{}]}`,
			`{"@id":"#o","@type":"Offer","price":"5.00","name":"`+many("lamp  of brass ", long)+`"}`),
		"offers of all sizes": graph(strings.Repeat(`{"@type":"Product","name":"Lamp","offers":{"@id":"#a"}},`, 100)+"{}",
			`{"@id":"#a","offers":[`+many(`{"@type":"Offer","price":"`+slow+`","highPrice":"`+slow+`"},`, 5_000)+`{}]}`),
		"a description of open elements": `<h1>Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"n",` +
			`"description":"<p>` + strings.Repeat("<b id=1><b id=2>", 200) + many("<p>x", 100_000) + `"}</script>`,
		"a web of references":    web(17, 12, "x", ""),
		"a web of products":      web(17, 12, "isRelatedTo", `"@type":"Product",`),
		"a web of offers":        web(8, 60, "offers", `"@type":"Product","name":"Lamp",`),
		"many names in the data": many(`<meta property="og:title" content="lamp">`, 150_000) + strings.Repeat("<h2>lamp</h2>", 3_000),
		"5 MB of inline script":  "<h1>Lamp</h1><script>" + many(`var a={"price":1.5,b:"x"};`, 200_000) + "</script><b>$5</b>",
		"one string of 5 MB":     `<h1>Lamp</h1><script>"price":"` + many("a", 5<<20) + "</script>",
		"deep":                   strings.Repeat(`<div class="price"><span>$1</span>`, 400) + "<h1>Lamp</h1>",
		"deeper than parsers go": many("<font>", 100_000) + "<h1>Lamp</h1><b>$5</b>",
		"many amounts":           "<h1>Lamp</h1>" + many(`<div class="price"><a href="/x"><b>SKU: 1234</b> $1.99</a></div>`, 20_000),
		"one long line":          "<h1>Lamp</h1><p>" + many("$1.00 Brand: x ", 200_000),
		"colons":                 "<h1>Lamp</h1><script>" + many(":", 5<<20) + "</script>",
		"many inline elements":   "<h1>Lamp</h1><p>" + many("<sup>1</sup>", 200_000),
		"nested breadcrumbs": "<h1>Lamp</h1>" + strings.Repeat("<div class=breadcrumb>", 290) + "x" +
			many("<a></a>", 1_000_000),
		"nested prices": "<h1>Lamp</h1>" + strings.Repeat("<span class=price>", 290) + "5" +
			many("<a></a>", 1_000_000),
		"nested, a digit before each": "<h1>Lamp</h1>" + strings.Repeat("<span>5<b class=title>", 140) +
			many("<a></a>", 1_000_000),
		"a million elements":  "<h1>Lamp</h1>" + many("<b>x</b>\n", 1_000_000),
		"many names":          "<title>" + strings.Repeat("lamp ", 90) + "</title>" + many("<b class=name>x</b>", 500_000),
		"many numbers":        "<h1>Lamp</h1>" + numbers.String(),
		"deep, each a number": strings.Repeat("<div>", 290) + many("<i data-id=1234></i>", 400_000),
		"free, many times":    "<h1>Lamp</h1><p>" + many("<i class=price>Free</i>", 450_000),
		"nested articles": "<h1>Lamp</h1>" + strings.Repeat("<article><h2>", 250) +
			"<b class=price>$5</b><a href=/x>x</a>" + many("<p>"+strings.Repeat("Ж", 100), 40_000),
		"headings of others": "<h1>Lamp</h1>" + many("<div><h3>Similar items</h3></div>", 200_000),
		"long attributes":    "<h1>Lamp</h1>" + many(`<i class="`+strings.Repeat("price-old ", 50)+`">1</i>`, 5_000),
	}
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			var err error
			took := servicetest.CPU(func() { _, err = draft.Extract([]byte(page), shop) })
			assert.NoError(t, err)
			if took > limit {
				t.Errorf("took %v", took)
			} else {
				t.Logf("%d bytes took %v", len(page), took)
			}
		})
	}
}

// BenchmarkExtract reads the pages of the benchmark, one after another.
func BenchmarkExtract(b *testing.B) {
	all := samples(b)
	size := 0
	for _, s := range all {
		size += len(s.HTML)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, s := range all {
			if _, err := draft.Extract(s.HTML, s.URL); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(all)*b.N)/b.Elapsed().Seconds(), "pages/s")
}
