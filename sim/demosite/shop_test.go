package demosite

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
)

// The shop's products, described in each of its ways, are read from their pages.
func TestProductsAreRead(t *testing.T) {
	t.Parallel()
	site := New(Options{})
	const shop = "https://shop.example/shop/"
	for _, slug := range Products {
		t.Run(slug, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/shop/"+slug, nil))
			got, err := draft.Extract(w.Body.Bytes(), shop+slug)
			require.NoError(t, err)
			p := products[slug]
			for field, v := range map[string]struct {
				got  *draft.Found[string]
				want string
			}{
				"name": {got.Name, p.Name}, "brand": {got.Brand, p.Brand}, "description": {got.Description, p.Text},
				"price": {got.Price, p.Amount}, "currency": {got.Currency, p.Currency}, "sku": {got.SKU, p.SKU},
				"gtin": {got.GTIN, p.GTIN}, "mpn": {got.MPN, p.MPN},
			} {
				if v.got == nil || v.got.Value != v.want {
					t.Errorf("%s is %+v; want %q", field, v.got, v.want)
				}
			}
			if a := got.Availability; a == nil || string(a.Value) != p.Available {
				t.Errorf("availability is %+v; want %q", a, p.Available)
			}
			if len(got.Images) == 0 || got.Images[0].Value != shop+slug+".svg" {
				t.Errorf("images are %+v; want %s first", got.Images, shop+slug+".svg")
			}
			trail := append([]string{"Demo"}, p.Trail...)
			if b := got.Breadcrumbs; b == nil || !reflect.DeepEqual(b.Value, trail) {
				t.Errorf("breadcrumbs are %+v; want %q", b, trail)
			}
			if got.Price != nil && p.Data != "none" && got.Price.Source == draft.Page {
				t.Errorf("the price was read from %s; want it from the page's data", got.Price.Source)
			}
			var options []string
			for _, v := range got.Variants {
				options = append(options, v.Value.Name)
			}
			assert.Equal(t, p.Options, options, got.Variants)
		})
	}
}

// Everything that a page of the shop refers to is there.
func TestDrawings(t *testing.T) {
	t.Parallel()
	site := New(Options{})
	for _, slug := range Products {
		w := httptest.NewRecorder()
		at := url.URL{Path: "/shop/" + slug + ".svg"}
		site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, at.String(), nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "image/svg+xml" {
			t.Errorf("%s: %d, %s", at.Path, w.Code, w.Header())
		}
	}
}
