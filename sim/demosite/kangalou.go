package demosite

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
)

// Kangalou's half is our guess at the site, from the selectors of its scrapers: no page of it was at hand.
const (
	kangalouPage = 20
	kangalouPath = "/fr/recherche/"
)

// kangalouCard is the advert as the search page shows it.
func (a shown) kangalouCard() string {
	e := html.EscapeString
	return fmt.Sprintf(`<div class="property__inner card" data-id="%s"><a href="%s?keywords="><img src="%s" alt="" width="200" `+
		`height="150" loading="lazy"></a><div><p class="price"><span class="js-cost">%s</span></p>`+
		`<h3 class="js-propertyTitle"><a href="%[2]s?keywords=">%[5]s</a></h3><p class="where">`+
		`<span class="property__address">%s</span> · <span class="property__dimension">%s</span></p><p>%s</p></div></div>`+"\n",
		a.id, e(a.path()), strings.TrimPrefix(a.photo(1), here), a.kangalouPrice(), e(a.heading()), e(a.address), a.size(),
		e(teaser(a.texts[bit(a.edit)])))
}

func (a shown) kangalouPrice() string {
	if a.cents == 0 {
		return "Sur demande"
	}
	return dollars(a.cents, " ")
}

// kangalouSearch answers the search page.
func (s *Site) kangalouSearch(r *http.Request, kind string) reply {
	n := 1
	if q := r.URL.Query(); q.Has("page") {
		var err error
		if n, err = strconv.Atoi(q.Get("page")); err != nil || n < 1 || n > 1_000_000 {
			return notFound("no such page")
		}
	}
	h := s.halves[Kangalou]
	list := s.active(h, s.o.Now())
	if kind == "empty" {
		list = nil
	}
	total := len(list)
	var p bytes.Buffer
	head(&p, "fr", "Logements à louer", Kangalou)
	body(&p)
	fmt.Fprintf(&p, "<h1>Logements à louer</h1>\n<p class=\"sub js-count\">%d logements</p>\n"+
		"<div id=\"js-GenResult\"><div id=\"slist\" class=\"cards\">\n", total)
	main := list[min((n-1)*kangalouPage, total):min(n*kangalouPage, total)]
	for _, a := range main {
		p.Write(h.look(a).card)
	}
	if len(main) == 0 {
		p.WriteString("<p class=\"no-result\">Aucun résultat ne correspond à votre recherche.</p>\n")
	}
	p.WriteString("</div></div>\n")
	pager(&p, n, (total+kangalouPage-1)/kangalouPage, func(n int) string { return fmt.Sprintf("?page=%d", n) })
	foot(&p)
	return htmlReply(renamed(p.Bytes(), kind))
}

// renamed is a page whose classes are called something else, for the fault "shape".
func renamed(page []byte, kind string) []byte {
	if kind != "shape" {
		return page
	}
	return []byte(strings.NewReplacer("property__inner", "tile_x1", "js-propertyTitle", "tile_x2", "js-cost", "tile_x3",
		"js-GenResult", "tile_x4", "slist", "tile_x5", "details-", "tile_x6-", `"cost"`, `"tile_x7"`,
		"property__", "tile_x8-", "js-Lightobx", "tile_x9-").Replace(string(page)))
}

// A pin is an advert on the map.
type pin struct {
	ID    int     `json:"id"`
	Lat   float64 `json:"lat"`
	Lng   float64 `json:"lng"`
	Price string  `json:"price"`
	Title string  `json:"title"`
	URL   string  `json:"url"`
}

// kangalouPins answers the map's question, which is a form by POST: every advert at once.
func (s *Site) kangalouPins(_ *http.Request, kind string) reply {
	pins := []pin{}
	if kind != "empty" {
		for _, a := range s.active(s.halves[Kangalou], s.o.Now()) {
			id, _ := strconv.Atoi(a.id)
			pins = append(pins, pin{id, a.lat, a.lon, a.kangalouPrice(), a.heading(), a.path()})
		}
	}
	out := map[string]any{"pins": pins, "total": len(pins)}
	if kind == "shape" {
		out = map[string]any{"v": 2, "clusters": []any{map[string]any{"n": len(pins)}}}
	}
	return reply{status: http.StatusOK, contentType: "application/json; charset=utf-8", body: encode(out)}
}

// kangalouBoxes are the boxes of the owner's form that an advert's words tick.
var kangalouBoxes = []struct {
	id, label string
	words     []string
}{
	{"criteria-heated", "Chauffé", []string{"chauffé", "chauffage inclus", "tout inclus"}},
	{"criteria-hot-water", "Eau chaude", []string{"eau chaude"}},
	{"criteria-exterior", "Stationnement extérieur", []string{"stationnement"}},
	{"criteria-air-conditioning", "Air climatisé", []string{"climatis"}},
	{"criteria-fridge", "Réfrigérateur", []string{"frigo", "réfrigérateur"}},
	{"criteria-dishwasher", "Lave-vaisselle", []string{"lave-vaisselle"}},
	{"criteria-washer-and-dryer-connectors", "Entrée laveuse-sécheuse", []string{"laveuse"}},
	{"criteria-storage", "Rangement", []string{"rangement"}},
	{"criteria-terrace", "Balcon ou terrasse", []string{"balcon", "terrasse"}},
	{"criteria-elevator", "Ascenseur", []string{"ascenseur"}},
	{"criteria-pool", "Piscine", []string{"piscine"}},
	{"criteria-laundromat", "Buanderie", []string{"buanderie"}},
}

// kangalouDetail answers an advert's page.
func (s *Site) kangalouDetail(r *http.Request, kind string) reply {
	a, ok := s.one(s.halves[Kangalou], r.PathValue("id"), s.o.Now())
	switch {
	case !ok:
		return notFound("cette annonce n'existe pas")
	case a.removed:
		return reply{status: http.StatusFound, location: kangalouPath}
	}
	e := html.EscapeString
	available := "Libre immédiatement"
	if a.says("juillet") {
		available = "Libre le 1er juillet 2026"
	}
	kindOf := "Appartement"
	if a.says("condo") {
		kindOf = "Condominium"
	}
	var p bytes.Buffer
	head(&p, "fr", a.heading(), Kangalou)
	body(&p)
	fmt.Fprintf(&p, `<div class="details-header"><h1>%s</h1><p class="price"><span class="cost">%s</span> `+
		`<span class="property__dimension">%s</span></p>
<p class="details-title-meta">
%s
%s
%s
%s
Annonce %s
</p></div>
`, e(a.heading()), a.kangalouPrice(), a.size(), e(a.address), e(a.quartier), kindOf, available, a.id)
	photos(&p, a.home)
	fmt.Fprintf(&p, "<p class=\"sub\" data-lat=\"%v\" data-lng=\"%v\">%[1]v, %[2]v</p>\n", a.lat, a.lon)
	fmt.Fprintf(&p, "<h2 class=\"ui-nt\">Description</h2>\n<p class=\"text\">%s</p>\n", kangalouText(a.texts[bit(a.edit)]))
	fmt.Fprintf(&p, `<table>
<tr><th>Grandeur</th><td id="appartmentsize">%s</td></tr>
<tr><th>Chambres</th><td id="bedroomcount">%d</td></tr>
<tr><th>Salles de bain</th><td id="bathroomcount">%d</td></tr>
<tr><th>Type</th><td id="type">%s</td></tr>
<tr><th>Loyer</th><td id="rentfrequency">Chaque mois</td></tr>
<tr><th>Disponibilité</th><td id="availability">%s</td></tr>
</table>
<ul class="criteria">
`, a.size(), a.bedrooms(), a.bathrooms/10, kindOf, available)
	tick := func(id, label string) { fmt.Fprintf(&p, "<li id=\"%s\">%s</li>\n", id, label) }
	for _, box := range kangalouBoxes {
		if a.says(box.words...) {
			tick(box.id, box.label)
		}
	}
	if a.furnished {
		tick("criteria-furnished", "Meublé")
	}
	switch a.pets {
	case "1":
		tick("criteria-cat-allowed", "Chats acceptés")
		tick("criteria-dog-allowed", "Chiens acceptés")
	case "0":
		tick("criteria-no-animals-allowed", "Animaux refusés")
	}
	p.WriteString("</ul>\n")
	foot(&p)
	return htmlReply(renamed(p.Bytes(), kind))
}

// kangalouText is a description as one paragraph: lines, and no tags but those between them.
func kangalouText(text string) string {
	var lines []string
	for line := range strings.Lines(tags.ReplaceAllString(text, "\n")) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "<br>")
}
