package demosite

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Centris' part is built like the site's pages of 2026: the first search page as HTML, the others as the answers that
// its script is given.
const (
	centrisPage   = 20
	centrisSearch = "/fr/propriete~a-louer~montreal"
)

// centrisPath is the address of the search, with what it filters by packed as the site does.
var centrisPath = sync.OnceValue(func() string {
	return centrisSearch + "?q=" + packed(`{"fieldsValues":[{"fieldId":"Category","value":"Residential"},`+
		`{"fieldId":"SellingType","value":"Rent"}]}`)
})

func packed(search string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(search)) // to memory
	_ = w.Close()
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// centrisKind is the category of a home. The site has no titles.
func (a shown) centrisKind() string {
	if a.bedrooms() == 0 {
		return "Loft / Studio à louer"
	}
	return "Condo / Appartement à louer"
}

// centrisPrice is the offer of a home in microdata.
func (a shown) centrisPrice() string {
	if a.cents == 0 {
		return `<div class="price" itemprop="offers"><span>Sur demande</span></div>`
	}
	return fmt.Sprintf(`<div class="price" itemprop="offers"><meta itemprop="priceCurrency" content="CAD">`+
		`<meta itemprop="price" content="%s"><span>%s</span><span class="desc"> /mois</span></div>`,
		strconv.FormatFloat(float64(a.cents)/100, 'f', -1, 64), dollars(a.cents, "\u00a0"))
}

// centrisCounts are the counts of rooms, each as wordy as the page has them.
func (a shown) centrisCounts(bedrooms, bathrooms string) string {
	out := ""
	if n := a.bedrooms(); n > 0 {
		out = fmt.Sprintf("<div class=\"cac\">%d%s</div>", n, bedrooms)
	}
	return out + fmt.Sprintf("<div class=\"sdb\">%d%s</div>", a.bathrooms/10, bathrooms)
}

func (a shown) centrisCard() string {
	e := html.EscapeString
	street, city, _ := strings.Cut(a.address, ", ")
	return fmt.Sprintf(`<div class="property-thumbnail-item card"><meta itemprop="sku" content="%s">`+
		`<a class="property-thumbnail-summary-link" href="%s"><img itemprop="image" src="%s" alt="" width="200" height="150" `+
		`loading="lazy"></a><div><button class="photo-btn">%d</button>%s<div class="category"><div>%s</div></div>`+
		`<div class="address"><div>%s</div><div>%s</div></div>%s</div></div>`+"\n",
		a.id, e(a.path()), strings.TrimPrefix(a.photo(1), here), a.photos, a.centrisPrice(), e(a.centrisKind()), e(street),
		e(city), a.centrisCounts("", ""))
}

// centrisCards is the n-th page of cards, and how many adverts there are.
func (s *Site) centrisCards(n int, kind string) (cards []byte, total int) {
	list := s.active(s.halves[Centris], s.o.Now())
	if kind == "empty" {
		list = nil
	}
	total = len(list)
	var p bytes.Buffer
	for _, a := range list[min((n-1)*centrisPage, total):min(n*centrisPage, total)] {
		p.WriteString(a.centrisCard())
	}
	return centrisShape(p.Bytes(), kind), total
}

// centrisShape is a page whose classes are called something else, for the fault "shape".
func centrisShape(page []byte, kind string) []byte {
	if kind != "shape" {
		return page
	}
	return []byte(strings.NewReplacer("property-thumbnail", "tile_x1", "numberOfResults", "tile_x2",
		"ListingId", "tile_x3", "itemprop", "data-x4").Replace(string(page)))
}

// centrisResults answers the first search page.
func (s *Site) centrisResults(_ *http.Request, kind string) reply {
	cards, total := s.centrisCards(1, kind)
	var p bytes.Buffer
	head(&p, "fr", "Propriétés résidentielles à louer à Montréal", Centris)
	body(&p)
	fmt.Fprintf(&p, "<h1>Propriétés résidentielles à louer</h1>\n<p class=\"sub\">%d propriétés</p>\n"+
		"<div id=\"divMainResult\" class=\"cards\">\n%s</div>\n<div hidden><span id=\"pageSize\">%d</span>"+
		"<span id=\"currentPage\">1</span><span id=\"numberOfResults\">%[1]d</span></div>\n", total, cards, centrisPage)
	foot(&p)
	return htmlReply(centrisShape(p.Bytes(), kind))
}

// centrisMore answers a later page.
func (s *Site) centrisMore(r *http.Request, kind string) reply {
	n, err := strconv.Atoi(r.URL.Query().Get("page"))
	var asked struct {
		Page int `json:"page"`
	}
	wrong := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 64<<10)).Decode(&asked)
	if err != nil || wrong != nil || n < 1 || n > 1_000_000 || asked.Page != n {
		return notFound("no such page")
	}
	cards, total := s.centrisCards(n, kind)
	out := map[string]any{"d": map[string]any{"Succeeded": true, "Result": map[string]any{
		"html": string(cards), "count": total, "inscNumberPerPage": centrisPage}}}
	return reply{status: http.StatusOK, contentType: "application/json; charset=utf-8", body: encode(out)}
}

// centrisDetail answers an advert's page. How the site answers for a removed one is not known; here it leads back.
func (s *Site) centrisDetail(r *http.Request, kind string) reply {
	a, ok := s.one(s.halves[Centris], r.PathValue("id"), s.o.Now())
	switch {
	case !ok:
		return notFound("cette propriété n'existe pas")
	case a.removed:
		return reply{status: http.StatusFound, location: centrisPath()}
	}
	e := html.EscapeString
	var p bytes.Buffer
	head(&p, "fr", a.centrisKind(), Centris)
	body(&p)
	fmt.Fprintf(&p, "%s<h1 itemprop=\"category\"><span data-id=\"PageTitle\">%s</span></h1>\n"+
		"<h2 itemprop=\"address\">%s</h2>\n"+
		"<meta itemprop=\"latitude\" content=\"%v\"><meta itemprop=\"longitude\" content=\"%v\">\n"+
		"<div hidden><span id=\"ListingId\">%s</span></div>\n<div class=\"teaser\">%s</div>\n",
		a.centrisPrice(), e(a.centrisKind()), e(a.address), a.lat, a.lon, a.id,
		a.centrisCounts(" chambres", " salle de bain"))
	if a.furnished {
		p.WriteString("<div class=\"carac-container\"><div class=\"carac-title\">Caractéristiques additionnelles</div>" +
			"<div class=\"carac-value\"><span>Meublé</span></div></div>\n")
	}
	fmt.Fprintf(&p, "<div id=\"property-roomvo-data\" data-photo-urls=\"%s\"></div>\n", strings.Join(a.allPhotos(), ","))
	fmt.Fprintf(&p, "<div itemprop=\"description\">%s<br>%s</div>\n"+
		"<p class=\"sub\">No Centris <span id=\"ListingDisplayId\">%s</span></p>\n",
		e(a.heading()), kangalouText(a.texts[bit(a.edit)]), a.id)
	foot(&p)
	return htmlReply(centrisShape(p.Bytes(), kind))
}
