package demosite

import (
	_ "embed" // the shop's template
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

//go:embed shop.html
var shopPage string

var shopTemplate = template.Must(template.New("shop").Parse(shopPage))

// shopDrawing is a box with the product's name on it.
var shopDrawing = template.Must(template.New("drawing").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300">
<rect width="400" height="300" fill="#e8ecf3"/><path d="M100 110l100-40 100 40v110l-100 40-100-40z" fill="#c58a4e"/>
<path d="M100 110l100 40 100-40M200 150v110" fill="none" stroke="#7a4f22" stroke-width="3"/>
<text x="200" y="290" text-anchor="middle" font-family="sans-serif" font-size="16">{{.Name}}</text></svg>`))

// A product of the demo shop. Its page describes it in one of the ways that real shops do.
type product struct {
	Slug, Lang, Data  string // Data is jsonld, broken, microdata, rdfa, opengraph or none
	Name, Brand, Text string
	Price, Was        string // as people read it
	Amount, Currency  string // as machines do
	SKU, GTIN, MPN    string
	Stock, Available  string // for people, and of schema.org
	Trail             []string
	Labels            [5]string // number, brand, maker's number, barcode, the button
	Options           []string
}

var (
	english = [5]string{"SKU", "Brand", "Manufacturer part number", "EAN", "Add to cart"}
	german  = [5]string{"Artikelnummer", "Marke", "Hersteller-Nr.", "EAN", "In den Warenkorb"}
	french  = [5]string{"Réf.", "Marque", "Réf. fabricant", "EAN", "Ajouter au panier"}
)

// Products are the slugs of the demo shop, whose pages are at /shop/<slug>.
var Products = []string{"kettle", "wasserkocher", "theiere", "mug", "drill", "lamp"}

var products = map[string]product{
	"kettle": {
		Lang: "en", Data: "jsonld", Name: "Copper kettle, 1.7 litres", Brand: "Northpot",
		Text:  "Boils a litre in three minutes.",
		Price: "$1,049.00", Was: "$1,199.00", Amount: "1049.00", Currency: "CAD", SKU: "NP-170-CU", GTIN: "4006381333931",
		MPN: "NP170", Stock: "In stock", Available: "InStock", Trail: []string{"Kitchen", "Kettles"}, Labels: english,
		Options: []string{"Copper", "Steel"},
	},
	"wasserkocher": {
		Lang: "de", Data: "none", Name: "Wasserkocher 1,7 l Edelstahl", Brand: "Nordtopf",
		Text:  "Kocht einen Liter in drei Minuten, schaltet sich dann selbst ab und bleibt außen kühl.",
		Price: "1.049,90 €", Was: "1.199,00 €", Amount: "1049.90", Currency: "EUR", SKU: "NT-170-ES", GTIN: "4012345678901",
		MPN: "NT170", Stock: "Auf Lager", Available: "InStock", Trail: []string{"Küche", "Wasserkocher"}, Labels: german,
	},
	"theiere": {
		Lang: "fr", Data: "microdata", Name: "Théière en fonte, 1,2 litre", Brand: "Nordpot",
		Text:  "Garde la chaleur une heure.",
		Price: "89,50 $", Amount: "89.50", Currency: "CAD", SKU: "TH-120", GTIN: "036000291452", MPN: "F-2210",
		Stock: "En rupture de stock", Available: "OutOfStock", Trail: []string{"Cuisine", "Théières"}, Labels: french,
	},
	"mug": {
		Lang: "en", Data: "broken", Name: "Mug with a \"lid\"", Brand: "Northpot", Text: "Holds what it says.",
		Price: "£12", Amount: "12.00", Currency: "GBP", SKU: "MUG-1", GTIN: "5012345678900", MPN: "M1", Stock: "In stock",
		Available: "InStock", Trail: []string{"Kitchen", "Mugs"}, Labels: english,
	},
	"drill": {
		Lang: "en", Data: "rdfa", Name: "Cordless drill 18 V", Brand: "Bolt & Sons", Text: "Two speeds, one battery.",
		Price: "US$ 129.99", Was: "US$ 149.99", Amount: "129.99", Currency: "USD", SKU: "BS-18V",
		GTIN: "012345678905", MPN: "18V2",
		Stock: "Pre-order now", Available: "PreOrder", Trail: []string{"Tools", "Drills"}, Labels: english,
	},
	"lamp": {
		Lang: "en", Data: "opengraph", Name: "Desk lamp", Brand: "Lumen Works", Text: "Bends where you want it.",
		Price: "kr 1 299,00", Amount: "1299.00", Currency: "SEK", SKU: "LW-9", GTIN: "7350012345679", MPN: "L4-0912",
		Stock: "Sold out", Available: "OutOfStock", Trail: []string{"Lighting", "Desk"}, Labels: english,
	},
}

// JSON is the structured data of a page of this kind.
func (p product) JSON() template.JS {
	text := fmt.Sprintf(`{"@context":"https://schema.org","@graph":[{"@type":"Product","name":%q,"brand":{"@type":"Brand",`+
		`"name":%q},"description":%q,"sku":%q,"gtin13":%q,"mpn":%q,"image":["/shop/%s.svg"],"offers":[{"@type":"Offer",`+
		`"price":"%s","priceCurrency":"%s","availability":"https://schema.org/%s"}]}]}`,
		p.Name, p.Brand, p.Text, p.SKU, p.GTIN, p.MPN, p.Slug, p.Amount, p.Currency, p.Available)
	if p.Data == "broken" { // as real shops break it: a comment, a comma too many, a line break in a string
		text = "<!-- product --> /* for search engines */\n" + strings.Replace(text, "Holds what", "Holds\nwhat", 1)
		text = strings.Replace(text, "}]}]}", "},]}]};", 1)
	}
	return template.JS(text) //nolint:gosec // our own constants
}

// Notice is on every page.
func (product) Notice() string {
	return strings.Replace(notice, "no home here is for rent", "nothing here is for sale", 1)
}

func (s *Site) shop() {
	for _, slug := range Products {
		p := products[slug]
		p.Slug = slug
		s.Handle("GET /shop/"+slug, "/shop/"+slug, p.Name+": a product's page, "+map[string]string{
			"jsonld": "with JSON-LD", "broken": "with JSON-LD that is broken", "microdata": "with microdata",
			"rdfa": "with RDFa", "opengraph": "with OpenGraph's meta", "none": "that says nothing to machines",
		}[p.Data], http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = shopTemplate.Execute(w, p)
		}))
		s.mux.HandleFunc("GET /shop/"+slug+".svg", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/svg+xml")
			_ = shopDrawing.Execute(w, p)
		})
	}
	for _, b := range s.badShop() {
		s.Handle(b.pattern, b.pattern, b.about, b.handler)
	}
}

// badShop is everything that a product's page can do to the browser that loads it.
func (s *Site) badShop() []badPage {
	page := func(script string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			p := products["kettle"]
			p.Slug = "kettle"
			var b strings.Builder
			_ = shopTemplate.Execute(&b, p)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprint(w, strings.Replace(b.String(), "</body>", script+"</body>", 1))
		}
	}
	to := func(address string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) }
	}
	return []badPage{
		{"/shop/bad/alerts", "", "a product's page with an alert() without end", page("<script>for (;;) alert(1)</script>")},
		{"/shop/bad/busy", "", "one whose script never stops", page("<script>setTimeout(() => { for (;;); }, 50)</script>")},
		{"/shop/bad/restless", "", "one that changes for ever",
			page("<p id=n></p><script>setInterval(() => { n.textContent = Date.now() }, 20)</script>")},
		{"/shop/bad/popups", "", "one that opens windows",
			page("<script>setInterval(() => open('/shop/mug'), 50)</script>")},
		{"/shop/bad/huge", "", "one with 5 MB of script in it",
			page("<script>var x = '" + strings.Repeat("lorem ipsum ", 5<<20/12) + "'</script>")},
		{"/shop/bad/endless", "", "one that never ends", func(w http.ResponseWriter, r *http.Request) {
			page("")(w, r)
			s.drip(w, r, []byte(strings.Repeat("<p>and more</p>\n", 1000)))
		}},
		{"/shop/bad/download", "", "a file to save", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="kettle.zip"`)
			w.Header().Set("Content-Type", "application/zip")
			_, _ = w.Write([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
		}},
		{"/shop/bad/private", "", "redirects to a cloud's metadata address", to("http://169.254.169.254/latest/meta-data/")},
		{"/shop/bad/inside", "", "a product's page that asks for a private address from within",
			page(`<img src="http://169.254.169.254/a.png"><script>fetch("http://10.0.0.1/x").catch(() => {})</script>`)},
		{"/shop/bad/moved", "", "redirects to the kettle", to("/shop/kettle")},
		{"/shop/bad/gone", "", "404 with a page of its own", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, "<!DOCTYPE html><title>Not found (demo)</title><h1>We do not have that</h1><p>"+notice)
		}},
	}
}
