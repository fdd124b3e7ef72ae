package markup_test

import (
	"compress/gzip"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mtlrent/conveyor/domain/markup"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// TestPages reads the pages of real shops, which may not be published. The counts are those of the pages, so they do
// not fall unless the reader gets worse.
func TestPages(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(sharedtest.Dir(t, "the markup of real shops"), "data", "products")
	list := sharedtest.Read(t, filepath.Join(dir, "ground-truth.json"))
	var pages map[string]struct{ URL string }
	require.NoError(t, json.Unmarshal(list, &pages))
	products := map[markup.Syntax]int{}
	prices, none := 0, 0
	for name, page := range pages {
		d := readPage(t, filepath.Join(dir, "html", name+".html.gz"), page.URL)
		seen := map[markup.Syntax]bool{}
		for _, p := range d.Find("Product", "ProductGroup") {
			seen[p.Syntax] = true
		}
		for syntax := range seen {
			products[syntax]++
		}
		if d.Meta["og:price:amount"] != nil || d.Meta["product:price:amount"] != nil {
			prices++
		} else if len(seen) == 0 {
			none++
		}
		t.Logf("%s %v, %d items, %d names of meta: %s", name[:8], seen, len(d.Items), len(d.Meta), page.URL)
	}
	t.Logf("%d pages: %v have a product, %d a price in their meta elements, %d none of these", len(pages), products, prices, none)
	if products[markup.JSONLD] < 15 || products[markup.Microdata] < 10 {
		t.Errorf("products on %v pages", products)
	}
}

func readPage(t *testing.T, path, address string) markup.Data {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	doc, err := html.Parse(z)
	require.NoError(t, err)
	base, err := url.Parse(address)
	require.NoError(t, err)
	return markup.Read(doc, base)
}
