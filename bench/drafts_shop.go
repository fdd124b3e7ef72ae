package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

// shopPath is the path below which the products of the bench are.
const shopPath = "/bench/"

// productPrice is the price of the n-th product, as a decimal.
func productPrice(n int) string { return fmt.Sprintf("%d.%02d", 10+n%900, n%100) }

// newShop is a shop with any number of products, /bench/1 and so on. A page is as heavy for a browser as those of real
// shops: 90 KB of HTML with menus, reviews and others' prices, 32 KB of style, 44 KB of script that adds some more
// after the page was loaded, and 24 photos of 5 KB. Every second one describes its product by JSON-LD, the others only
// by text.
func newShop() http.Handler {
	mux := http.NewServeMux()
	serve := func(path, kind string, body []byte) {
		mux.HandleFunc("GET "+shopPath+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write(body)
		})
	}
	serve("style.css", "text/css", []byte(shopStyle()))
	serve("script.js", "text/javascript", []byte(shopScript()))
	for i := range 24 {
		serve(fmt.Sprintf("photo%d.jpg", i), "image/jpeg", photo(uint64(i)))
	}
	mux.HandleFunc("GET "+shopPath+"{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("n"))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(productPage(n))
	})
	return mux
}

func productPage(n int) []byte {
	name, sku, price := fmt.Sprintf("Copper kettle no. %d, 1.7 litres", n), fmt.Sprintf("NP-%06d", n), productPrice(n)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%s | Northpot</title>`+
		`<link rel="stylesheet" href="style.css"><script src="script.js" defer></script>`, name)
	if n%2 == 0 {
		data, _ := json.Marshal(map[string]any{ // of strings only
			"@context": "https://schema.org", "@type": "Product", "name": name, "sku": sku, "mpn": "MPN" + sku,
			"brand": map[string]any{"@type": "Brand", "name": "Northpot"}, "image": []string{"photo0.jpg"},
			"offers": map[string]any{
				"@type": "Offer", "price": price, "priceCurrency": "EUR", "availability": "https://schema.org/InStock",
			},
		})
		fmt.Fprintf(&b, `<script type="application/ld+json">%s</script>`, data)
	}
	b.WriteString(`</head><body><header><nav class="menu"><ul>`)
	for i := range 250 {
		fmt.Fprintf(&b, `<li class="menu-item level-%d"><a href="/c/%d" class="menu-link">Kitchen and more %d</a></li>`,
			i%3, i, i)
	}
	fmt.Fprintf(&b, `</ul></nav></header><main class="product"><h1 class="product-title">%s</h1>`+
		`<div class="gallery">`, name)
	for i := range 8 {
		fmt.Fprintf(&b, `<img src="photo%d.jpg" width="480" height="360" alt="%s, seen from side %d">`, i, name, i)
	}
	fmt.Fprintf(&b, `</div><div class="buy"><p class="price-now"><span class="price">€%s</span></p>`+
		`<p class="stock">In stock</p><form><label>Colour <select name="colour"><option>Copper<option>Steel</select></label>`+
		`<button type="button" class="add-to-cart">Add to cart</button></form><p>SKU: <span class="sku">%s</span></p></div>`+
		`<section class="description"><h2>Description</h2>`, price, sku)
	for range 10 {
		fmt.Fprintf(&b, "<p>%s</p>", shopText)
	}
	b.WriteString(`</section><table class="facts"><tr><th>Brand</th><td>Northpot</td></tr>`)
	for i := range 40 {
		fmt.Fprintf(&b, `<tr><th class="fact-name">Measure %d</th><td class="fact-value">%d mm</td></tr>`, i, 17*i+n%10)
	}
	b.WriteString(`</table><section class="reviews"><h2>Reviews</h2>`)
	for i := range 100 {
		fmt.Fprintf(&b, `<article class="review"><h3>Somebody %d</h3><div class="stars"><i></i><i></i><i></i><i></i></div>`+
			`<p>%s</p></article>`, i, shopText)
	}
	b.WriteString(`</section></main><aside><h2>You may also like</h2><ul class="cards">`)
	for i := range 32 {
		fmt.Fprintf(&b, `<li class="card"><a href="%d"><img src="photo%d.jpg" width="240" height="180" alt="">`+
			`<span class="card-name">Another kettle %d</span><span class="price">€%d.99</span></a></li>`, i+1, i%24, i, 20+i)
	}
	b.WriteString(`</ul></aside><footer>`)
	for i := range 100 {
		fmt.Fprintf(&b, `<a class="footer-link" href="/help/%d">Help, delivery and returns %d</a> `, i, i)
	}
	b.WriteString(`</footer></body></html>`)
	return b.Bytes()
}

const shopText = "Boils a litre in three minutes, keeps it hot for an hour, and says so with a bell that nobody hears but " +
	"you. The handle stays cold, the lid stays on, and the spout does not drip. Two years of warranty, spare parts for ten. " +
	"We have had ours for years now, and would take it again; only its cord could be longer than it is."

func shopStyle() string {
	var b strings.Builder
	b.WriteString(`body{font:16px sans-serif;margin:0}.menu ul,.cards{display:flex;flex-wrap:wrap;list-style:none}` +
		`.menu-item{padding:2px 8px;font-size:12px}.gallery{display:grid;grid-template-columns:repeat(4,1fr)}` +
		`.card{width:260px;box-shadow:0 1px 4px #0004;margin:8px}.price{font-weight:bold;font-size:20px}`)
	for i := range 400 {
		fmt.Fprintf(&b, ".module-%d .part:hover,.module-%d>.part:nth-child(%d){margin:%dpx;color:#%06x}",
			i, i, i%7+1, i%9, i*4099)
	}
	return b.String()
}

// shopScript works for some 20 ms, and adds the elements that shops add late.
func shopScript() string {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "function part%d(a,b){var c=a*%d+b;for(var i=0;i<500;i++){c=(c*31+i)%%1000003}return c}\n",
			i, i)
	}
	b.WriteString("var sum=0;")
	for i := range 400 {
		fmt.Fprintf(&b, "sum+=part%d(%d,sum);", i, i)
	}
	b.WriteString(`addEventListener('load',()=>setTimeout(()=>{for(let i=0;i<20;i++){` +
		`let p=document.createElement('p');p.textContent='Seen lately '+i;document.querySelector('aside').append(p)}},100))`)
	return b.String()
}

// photo is a JPEG of 5 KB.
func photo(seed uint64) []byte {
	dice := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // the same each time
	m := image.NewRGBA(image.Rect(0, 0, 480, 360))
	for y := range 360 {
		for x := range 480 {
			g := uint8(x/4 + y/4 + dice.IntN(8)) //nolint:gosec // wraps, which is as good
			m.SetRGBA(x, y, color.RGBA{g, g / 2, 200 - g/2, 255})
		}
	}
	var b bytes.Buffer
	_ = jpeg.Encode(&b, m, &jpeg.Options{Quality: 70}) // to memory
	return b.Bytes()
}
