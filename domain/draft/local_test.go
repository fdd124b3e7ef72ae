package draft_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/currency"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// An image that loads late has its address elsewhere than a file that stands in for it.
func TestLateImages(t *testing.T) {
	t.Parallel()
	for markup, want := range map[string]string{
		`<img src="data:image/gif;base64,R0lGOD" data-src="/a.jpg">`:                                          "/a.jpg",
		`<img src="data:image/gif;base64,R0lGOD" data-srcset="/a-300.jpg 300w, /a-9.jpg 1200w, /a.jpg 600w">`: "/a-9.jpg",
		`<img data-srcset="/a-300.jpg 300w,/a-1200.jpg 1200w">`:                                               "/a-1200.jpg",
		`<img src="/img/placeholder.svg" srcset="/a-1.jpg 1x, /a-2.jpg 2x">`:                                  "/a-2.jpg",
		`<img src="/img/spacer.gif?v=2" data-lazy-srcset="/a-300.jpg 300w, /a-1200.jpg 1200w">`:               "/a-1200.jpg",
		`<img data-srcset="/w_300,h_300/a.jpg 300w, /w_900,h_900/a.jpg 900w, /w_600,h_600/a.jpg 600w">`:       "/w_900,h_900/a.jpg",
		`<picture><source srcset="/a.webp 600w"><img src="data:image/gif;base64,R0lGOD"></picture>`:           "/a.webp",
		`<picture><source srcset="/a.webp"><img src="/a.jpg"></picture>`:                                      "/a.jpg",
		`<img src="/transparent-case.jpg" srcset="/a-1.jpg 1x">`:                                              "/transparent-case.jpg",
		`<img src="/google-pixel.jpg" srcset="/a-1.jpg 1x">`:                                                  "/google-pixel.jpg",
		`<img src="/front-loader.png" srcset="/a-1.jpg 1x">`:                                                  "/front-loader.png",
		`<img data-src="/placeholder-1.png" src="/a.jpg" srcset="/a-1.jpg 1x">`:                               "/placeholder-1.png",
		`<img data-src="/blank.png" src="/pixel.gif">`:                                                        "/blank.png",
		`<img src="/pixel.gif" srcset="/a-1.jpg 1x">`:                                                         "/a-1.jpg",
		`<img src="/i/transparent_1x1.GIF#x" srcset="/a-1.jpg 1x">`:                                           "/a-1.jpg",
		`<img src="/grey.gif" srcset="/a-1.jpg 1x">`:                                                          "/a-1.jpg",
		`<img src="/a.b/placeholder_300x300.jpg" srcset="/a-1.jpg 1x">`:                                       "/a-1.jpg",
		`<img src="/img/placeholder.png">`:                                                                    "/img/placeholder.png",
		`<img src="/a.jpg" srcset="/a-1200.jpg 1200w">`:                                                       "/a.jpg",
		`<img srcset=", ,  /a.jpg">`:                                                                          "/a.jpg",
		`<img src="/pixel.gif" data-large_image="/a-9.jpg" data-src="/a.jpg">`:                                "/a-9.jpg",
		`<img data-image="/a.jpg" data-src="data:image/gif;base64,R0lGOD">`:                                   "/a.jpg",
		`<img src="/pixel.gif" data-srcset="/blank.gif 1x" srcset="/a.jpg 1x">`:                               "/a.jpg",
		`<img src="data:image/gif;base64,R0lGOD"><noscript><img src="/a.jpg"></noscript>`:                     "/a.jpg",
		`<noscript><b>x</b><img srcset="/a-1.jpg 1x, /a-2.jpg 2x"></noscript> <img src="/pixel.gif">`:         "/a-2.jpg",
		`<picture><img src="/lazy.svg"></picture><noscript><picture><img src="/a.jpg"></picture></noscript>`:  "/a.jpg",
		`<img src="/a.jpg"><noscript><img src="/b.jpg"></noscript>`:                                           "/a.jpg",
		`<img srcset="/a.jpg 0w">`:                                                                            "",
		`<img data-src="/x_{width}x.jpg" src="/x_300x300.jpg">`:                                               "/x_300x300.jpg",
		`<img data-src="/x_{width}x.jpg" data-srcset="/x_9.jpg 9w, /x_{width}.jpg 99w">`:                      "/x_9.jpg",
		`<img data-src="/x_{width}x.jpg">`:                                                                    "",
		`<img src="/img/ajax-loader.gif" srcset="/a.jpg 1x">`:                                                 "/a.jpg",
		`<img src="/spinner.jpg">`:                                                                            "/spinner.jpg",
	} {
		page := `<html lang="en-CA"><title>Blue Lamp</title><main><h1>Blue Lamp</h1><p class="price">$12.00</p><div class="gallery">` +
			markup + `</div></main></html>`
		d, err := draft.Extract([]byte(page), "https://shop.example.ca/lamp")
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, d.Images, markup)
			continue
		}
		require.Len(t, d.Images, 1, markup)
		require.Equal(t, "https://shop.example.ca"+want, d.Images[0].Value, markup)
	}
}

// An amount without a sign is in the page's currency, and not one whose sign says another.
func TestAssumedCurrency(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		`<p class="price">499</p>`:                     "USD",
		`<p class="price">$499</p>`:                    "USD",
		`<p class="price">499 kr</p>`:                  "",
		`<p class="price">¥1,980</p>`:                  "",
		`<div class="price"><p>kr</p><p>499</p></div>`: "",
		`<p class="price">499 kr</p><script type="application/ld+json">{"@type":"Product","name":"A lamp of brass",
			"offers":{"@type":"Offer","price":"499","priceCurrency":"SEK"}}</script>`: "SEK",
	} {
		page := `<html lang="en-US">` + classPage(html) + `</html>`
		d, err := draft.Extract([]byte(page), "https://shop.example.com/lamp")
		require.NoError(t, err)
		require.NotNil(t, d.Price, html)
		require.Equal(t, want, templateValue(d, "currency"), html)
	}
}

// What data calls a currency is a code or one of its names; every code of ISO 4217 stays itself.
func TestCurrencyOfData(t *testing.T) {
	t.Parallel()
	codes := map[string]string{"NTD": "TWD", "Lei": "RON", "RMB": "CNY", "NIS": "ILS", "€": "EUR", "abc": "ABC", "A1": "", "": ""}
	for c := currency.Query(); c.Next(); {
		codes[c.Unit().String()] = c.Unit().String()
		codes[strings.ToLower(c.Unit().String())] = c.Unit().String()
	}
	require.Greater(t, len(codes), 250)
	for name, want := range codes {
		d, err := draft.Extract([]byte(`<h1>Blue Lamp</h1><script type="application/ld+json">{"@type":"Product","name":"Blue Lamp",
			"offers":{"@type":"Offer","price":"12.00","priceCurrency":"`+name+`"}}</script>`), "https://shop.example.com/lamp")
		require.NoError(t, err)
		require.Equal(t, want, templateValue(d, "currency"), name)
	}
}

// An image of microdata that loads late, names of properties that begin with a capital, and a number in a link.
func TestDataAsWritten(t *testing.T) {
	t.Parallel()
	d, err := draft.Extract([]byte(`<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Wall Clock</h1>
		<img itemprop="image" src="/img/placeholder.gif" data-lazy-src="/c.jpg"><link itemprop="gtin" href="https://id.gs1.org/01/04006381333931/10/A?x">
		<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><b itemprop="priceCurrency">USD</b><b itemprop="price">45.00</b></div></div>`),
		"https://shop.example.com/clock")
	require.NoError(t, err)
	require.Len(t, d.Images, 1)
	require.Equal(t, "https://shop.example.com/c.jpg", d.Images[0].Value)
	require.Equal(t, "04006381333931", d.GTIN.Value)
	d, err = draft.Extract([]byte(`<h1>Wool Scarf</h1><script type="application/ld+json">{"@type":"Product","Name":"Wool Scarf","SKU":"WS1",
		"Offers":{"@type":"Offer","priceCurrency":"CAD","price":"55","Availability":"https://schema.org/InStock"}}</script>`), "https://shop.example.com/scarf")
	require.NoError(t, err)
	require.Equal(t, "55", d.Price.Value)
	require.Equal(t, "CAD", d.Currency.Value)
	require.Equal(t, "WS1", d.SKU.Value)
	require.Equal(t, draft.InStock, d.Availability.Value)
	d, err = draft.Extract([]byte(`<h1>Blue Lamp</h1><script type="application/ld+json">{"@type":"Product","Name":"internal-77","name":"Blue Lamp"}</script>`),
		"https://shop.example.com/lamp")
	require.NoError(t, err)
	require.Equal(t, "Blue Lamp", d.Name.Value)
}

// A label in an element of its own is not glued to the number before it.
func TestLabelsGlued(t *testing.T) {
	t.Parallel()
	d, err := draft.Extract([]byte(`<html lang="de"><h1>Bohrmaschine BM 500</h1><span class="code">Artikel-Nr.: 4711-BM</span><span>EAN: 4006381333931</span>
		<meta itemprop="priceCurrency" content="CHF"><p class="price">89,90</p><button>In den Warenkorb</button>`), "https://shop.example.com/p")
	require.NoError(t, err)
	require.Equal(t, "4711-BM", d.SKU.Value)
	require.Equal(t, "4006381333931", d.GTIN.Value)
	require.Equal(t, "CHF", d.Currency.Value)
	d, err = draft.Extract([]byte(`<html lang="fr"><h1>Lampe laiton</h1><p class="price">49,90 €</p><button>Ajouter au panier</button>
		<span class="sku_wrapper">UGS : <span class="sku">LMP-12</span></span>`), "https://shop.example.fr/p")
	require.NoError(t, err)
	require.Equal(t, "LMP-12", d.SKU.Value)
}

// Addresses of images that are none, in numbers that take many seconds where each is read against all the others.
func TestManyAddresses(t *testing.T) {
	for name, markup := range map[string]string{
		"candidates": `<img srcset="` + strings.Repeat("a 0w,", 150_000) + `">`,
		"sources":    "<picture>" + strings.Repeat("<source>", 20_000) + strings.Repeat("<img>", 20_000) + "</picture>",
		"sources with candidates": "<picture>" + strings.Repeat(`<source srcset="`+strings.Repeat("a 0w,", 500)+`">`, 20) +
			strings.Repeat("<img>", 20_000) + "</picture>",
	} {
		var err error
		took := servicetest.CPU(func() {
			_, err = draft.Extract([]byte(`<h1>Blue Lamp</h1><div class="gallery">`+markup+`</div>`), shop)
		})
		require.NoError(t, err)
		require.Less(t, took, 3*time.Second, name)
	}
}

// Of the candidates of an image, and the sources before it, the first so many are read.
func TestFirstAddresses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string][2]string{
		"candidates": {`<img srcset="` + strings.Repeat("/a.jpg 1w,", 1_000) + `/b.jpg 2w">`, "/a.jpg"},
		"a source for the first of two": {`<picture><source srcset="/a.jpg"><img src="data:,x"><img src="/blank.gif"></picture>`,
			"/a.jpg /blank.gif"},
		"the first source":  {`<picture><source srcset="/a.jpg"> <source srcset="/b.jpg"><!-- --><img></picture>`, "/a.jpg"},
		"a source too many": {`<picture><source srcset="/a.jpg">` + strings.Repeat("<source>", 20) + "<img></picture>", ""},
	} {
		d, err := draft.Extract([]byte(`<h1>Blue Lamp</h1><p class="price">$12.00</p><div class="gallery">`+tt[0]+`</div>`),
			"https://shop.example.ca/lamp")
		require.NoError(t, err)
		var got []string
		for _, i := range d.Images {
			got = append(got, strings.TrimPrefix(i.Value, "https://shop.example.ca"))
		}
		require.Equal(t, tt[1], strings.Join(got, " "), name)
	}
}

// The price of members, and that of ten, is not the one that a page asks for.
func TestConditionalPrices(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		`{"price":"69.00","validForMemberTier":{"@type":"MemberProgramTier","@id":"#gold"}},{"price":"79.00"}`:               "79.00",
		`{"price":"59.00","eligibleQuantity":{"@type":"QuantitativeValue","minValue":10}},{"price":"79.00"}`:                 "79.00",
		`{"price":"79.00","eligibleQuantity":{"@type":"QuantitativeValue","minValue":1,"maxValue":9}},{"price":"59.00"}`:     "79.00",
		`{"price":"99.00","priceType":"https://schema.org/ListPrice"},{"price":"79.00"}`:                                     "79.00",
		`{"price":"99.00","priceType":"https://schema.org/StrikethroughPrice"},{"price":"79.00","priceType":"SalePrice"}`:    "79.00",
		`{"price":"18.00","referenceQuantity":{"@type":"QuantitativeValue","value":"1","unitCode":"LTR"}},{"price":"81.00"}`: "81.00",
		`{"price":"81.00","referenceQuantity":{"@type":"QuantitativeValue","value":"4.5","unitCode":"LTR",
			"valueReference":{"@type":"QuantitativeValue","value":"1","unitCode":"LTR"}}}`: "81.00",
	} {
		page := `<html><title>Blue Lamp</title><script type="application/ld+json">{"@type":"Product","name":"Blue Lamp","offers":
			{"@type":"Offer","priceCurrency":"EUR","priceSpecification":[` + spec + `]}}</script><h1>Blue Lamp</h1></html>`
		d, err := draft.Extract([]byte(page), "https://shop.example.com/lamp")
		require.NoError(t, err)
		require.NotNil(t, d.Price, spec)
		require.Equal(t, want, d.Price.Value, spec)
	}
}
