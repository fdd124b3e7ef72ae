package demosite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kijiji shows 40 adverts a page and up to 6 paid ones above them, which are often those of the page before.
const (
	kijijiPage = 40
	kijijiTop  = 6
	kijijiPath = "/b-apartments-condos/ville-de-montreal/c37l1700281"
)

// look is the part of an advert that search pages show, kept while its state stays.
type look struct {
	of          state
	nodes       [2][]byte // organic, top
	ld, card    []byte
	quarter     string // of the cache's NeighbourhoodInfo
	quarterNode []byte
}

// look returns the rendered parts of an advert.
func (h *half) look(a shown) *look {
	h.mu.RLock()
	l := h.looks[a.id]
	h.mu.RUnlock()
	if l != nil && l.of == a.state {
		return l
	}
	l = &look{of: a.state}
	if h.platform == Kijiji {
		key, name := a.neighbourhood()
		l.quarter = "NeighbourhoodInfo:" + key
		l.quarterNode = encode(map[string]any{"__typename": "NeighbourhoodInfo", "id": key, "name": name})
		l.nodes = [2][]byte{encode(a.kijijiNode(false, false)), encode(a.kijijiNode(false, true))}
		l.ld = encode(a.residence(teaser(a.texts[bit(a.edit)])))
		l.card = []byte(a.kijijiCard())
	} else {
		l.card = []byte(a.kangalouCard())
	}
	h.mu.Lock()
	h.looks[a.id] = l // bounded by the number of adverts
	h.mu.Unlock()
	return l
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("demosite: encode: " + err.Error()) // of our own types
	}
	return b
}

// kijijiCard is the advert as people see it.
func (a shown) kijijiCard() string {
	e := html.EscapeString
	price := "Please contact"
	if a.cents > 0 {
		price = dollars(a.cents, "\u00a0")
	}
	if a.was > 0 {
		price += " <s>" + dollars(a.was, "\u00a0") + "</s>"
	}
	label := ""
	if a.top {
		label = `<span class="tag">Top ad</span> `
	}
	return fmt.Sprintf(`<li class="card" data-testid="listing-card" data-listingid="%s"><a href="%s"><img src="%s" alt="" `+
		`width="200" height="150" loading="lazy"></a><div><p class="price">%s</p><h3>%s<a href="%[2]s">%[6]s</a></h3>`+
		`<p class="where">%s · %s · %s</p><p>%s</p></div></li>`+"\n",
		a.id, here+e(a.path()), a.photo(1), price, label, e(a.heading()), e(a.quartier), a.size(),
		a.sorted.Format("2006-01-02 15:04"), e(teaser(a.texts[bit(a.edit)])))
}

var kijijiPageN = regexp.MustCompile(`^page-([1-9][0-9]{0,5})$`)

// kijijiSearch answers a category's search page.
func (s *Site) kijijiSearch(r *http.Request, kind string) reply {
	h := s.halves[Kijiji]
	n := 1
	if p := r.PathValue("page"); p != "" {
		m := kijijiPageN.FindStringSubmatch(p)
		if m == nil {
			return notFound("no such page")
		}
		n, _ = strconv.Atoi(m[1]) // six digits
	}
	if r.PathValue("place") != "c37l1700281" {
		return notFound("the demo has the long term rentals of Montréal only: c37l1700281")
	}
	list := s.active(h, s.o.Now())
	if kind == "empty" {
		list = nil
	}
	total, offset := len(list), (n-1)*kijijiPage
	main := list[min(offset, total):min(offset+kijijiPage, total)]
	var paid, top []shown
	for _, a := range list {
		if a.top {
			paid = append(paid, a)
		}
	}
	if len(main) > 0 { // from page to page they move on by four, so two of them are seen again
		for i := range min(kijijiTop, len(paid)) {
			top = append(top, paid[((n-1)*4+i)%len(paid)])
		}
	}
	return s.kijijiResults(h, r.URL.Path, n, total, top, main, kind)
}

func (s *Site) kijijiResults(h *half, at string, n, total int, top, main []shown, kind string) reply {
	var (
		entries, ld, cards bytes.Buffer
		refs               [2][]ref
		seen               = map[string]bool{}
	)
	entries.Grow((len(top) + len(main)) * 5 << 10)
	ld.Grow((len(top) + len(main)) * 3 << 9)
	cards.Grow((len(top) + len(main)) * 3 << 9)
	for which, list := range [2][]shown{top, main} {
		refs[which] = []ref{} // never null
		for _, a := range list {
			l := h.look(a)
			refs[which] = append(refs[which], ref{"RealEstateListing:" + a.id})
			if ld.Len() > 0 {
				ld.WriteByte(',')
			}
			fmt.Fprintf(&ld, `{"position":%d,"item":%s,"@type":"ListItem"}`, len(refs[0])+len(refs[1]), l.ld)
			cards.Write(l.card)
			if !seen[a.id] {
				seen[a.id] = true
				fmt.Fprintf(&entries, `,"RealEstateListing:%s":%s`, a.id, l.nodes[1-which])
			}
			if !a.pro && !seen[l.quarter] {
				seen[l.quarter] = true
				fmt.Fprintf(&entries, `,"%s":%s`, l.quarter, l.quarterNode)
			}
		}
	}
	lang, category := "en", "apartments-condos"
	if strings.HasPrefix(at, "/b-appartement-condo/") {
		lang, category = "fr", "appartement-condo"
	}
	heading := fmt.Sprintf("%d apartments, condos & houses for rent in City of Montréal", total)
	var p bytes.Buffer
	p.Grow(entries.Len() + ld.Len() + cards.Len() + 16<<10)
	head(&p, lang, heading, Kijiji)
	if kind != "shape" {
		fmt.Fprintf(&p, `<script type="application/ld+json">{"@context":"https://schema.org","@type":"ItemList",`+
			`"itemListElement":[%s],"name":""}</script>`+"\n", ld.Bytes())
	}
	body(&p)
	fmt.Fprintf(&p, "<h1>%s</h1>\n<p class=\"sub\">Page %d · the most recent first</p>\n<ul class=\"cards\">\n%s</ul>\n",
		html.EscapeString(heading), n, cards.Bytes())
	if len(main) == 0 {
		p.WriteString("<p>No results.</p>\n")
	}
	pager(&p, n, (total+kijijiPage-1)/kijijiPage, func(n int) string {
		base, location, _ := cutLast(kijijiPageless(at))
		if n == 1 {
			return base + "/" + location
		}
		return fmt.Sprintf("%s/page-%d/%s", base, n, location)
	})
	if kind == "shape" {
		fmt.Fprintf(&p, `<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"dehydrated":{}}},`+
			`"page":"/search/[...slug]","buildId":"demo"}</script>`)
	} else {
		fmt.Fprintf(&p, `<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"__APOLLO_STATE__":`+
			`{"ROOT_QUERY":%s%s,%s}},"__N_SSP":true},"page":"/srp/[...categoryOrLocation]","query":%s,"buildId":"demo",`+
			`"locale":"%s","locales":["en","fr"],"defaultLocale":"en"}</script>`, encode(kijijiQuery(at, n, total, refs)), entries.Bytes(), kijijiCommon,
			encode(map[string]any{
				"params": strings.TrimPrefix(at, "/b-"+category+"/"), "categoryOrLocation": []string{category},
			}), lang)
	}
	foot(&p)
	return htmlReply(p.Bytes())
}

// kijijiQuery is the root of a search page's cache: refs are the adverts that are paid for, and the others.
func kijijiQuery(at string, n, total int, refs [2][]ref) map[string]any {
	offset := (n - 1) * kijijiPage
	return map[string]any{
		"__typename": "Query",
		"userLocale": kijijiLocale,
		"searchResultsPageByUrl:" + at: map[string]any{
			"__typename": "SearchResultsPage",
			"controls": map[string]any{"__typename": "SearchControls", "filtering": []any{}, "sorting": []any{
				map[string]any{"__typename": "SortOption", "by": "DATE", "direction": "DESC", "label": "Most recent",
					"isSelected": true}}},
			"pagination": map[string]any{"__typename": "Pagination", "offset": offset, "limit": kijijiPage, "totalCount": total},
			"searchQuery": map[string]any{
				"__typename": "SearchQuery", "area": nil, "keywords": "", "filters": []any{}, "seoUrl": here + kijijiPath,
				"category": ref{"Category:37"}, "location": ref{"Location:1700281"}, "canonicalUrl": here + at,
				"searchString": fmt.Sprintf("sort=DATE&order=DESC&type=OFFER&offset=%d&limit=40&topAdCount=6&keywords="+
					"&category=37&location=1700281&eaTopAdPosition=1", offset),
			},
			"results": map[string]any{
				"__typename": "SearchResults", "topListings": refs[0], "clusters": nil,
				fmt.Sprintf(`mainListings({"pagination":{"limit":%d,"offset":%d}})`, kijijiPage, offset): refs[1],
			},
		},
		"searchState": map[string]any{"pageViewType": "LIST", "currentPage": n},
	}
}

// kijijiCommon are entries that every page's cache has.
const kijijiCommon = `"Category:34":{"__typename":"Category","id":34,"localizedName":"Real Estate","parentId":0},` +
	`"Category:30349001":{"__typename":"Category","id":30349001,"localizedName":"For Rent","parentId":34},` +
	`"Category:37":{"__typename":"Category","id":37,"localizedName":"Long Term Rentals","parentId":30349001,` +
	`"searchSeoUrl":"` + here + kijijiPath + `","categoryPaths":[{"__ref":"Category:34"},{"__ref":"Category:30349001"},` +
	`{"__ref":"Category:37"}]},"Location:1700281":{"__typename":"Location","id":1700281,` +
	`"localizedName":"City of Montréal","name":{"__typename":"Locale","en_CA":"City of Montréal",` +
	`"fr_CA":"Ville de Montréal"}}`

var kijijiLocale = map[string]string{
	"apiLocale": "en_CA", "cookieLocale": "en-CA", "languageKey": "en", "routeLocale": "en",
}

// kijijiPageless is a search page's path without its page-N.
func kijijiPageless(at string) string {
	parts := strings.Split(at, "/")
	return strings.Join(slices.DeleteFunc(parts, kijijiPageN.MatchString), "/")
}

func cutLast(path string) (before, after string, found bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}

// kijijiDetail answers an advert's page, and leads from one that is gone to the search, as the site does.
func (s *Site) kijijiDetail(r *http.Request, kind string) reply {
	h := s.halves[Kijiji]
	a, ok := s.one(h, r.PathValue("id"), s.o.Now())
	if !ok || a.removed {
		return reply{status: http.StatusFound, location: kijijiPath + "?adRemoved=" + url.QueryEscape(r.PathValue("id"))}
	}
	text := a.texts[bit(a.edit)]
	var p bytes.Buffer
	head(&p, "en", a.heading(), Kijiji)
	if kind != "shape" {
		ld := a.residence(html.UnescapeString(tags.ReplaceAllString(text, ""))) // without spaces: the site does that
		fmt.Fprintf(&p, `<script type="application/ld+json">%s</script>`+"\n", encode(ld))
	}
	body(&p)
	e := html.EscapeString
	price := "Please contact"
	if a.cents > 0 {
		price = dollars(a.cents, "\u00a0")
	}
	if a.was > 0 {
		price += " <s>" + dollars(a.was, "\u00a0") + "</s>"
	}
	fmt.Fprintf(&p, "<p class=\"sub\"><a href=\"%s\">Long term rentals in City of Montréal</a></p>\n<h1>%s</h1>\n"+
		"<p class=\"price\">%s</p>\n<p class=\"where\">%s · %s</p>\n",
		kijijiPath, e(a.heading()), price, e(a.address), e(a.quartier))
	photos(&p, a.home)
	fmt.Fprintf(&p, "<div class=\"text\">%s</div>\n<table>\n", text)
	for _, at := range a.kijijiAttributes(true).All {
		if v := at.Shown[0]; v != "No" && v != "0" {
			fmt.Fprintf(&p, "<tr><th>%s</th><td>%s</td></tr>\n", e(at.Label), e(v))
		}
	}
	fmt.Fprintf(&p, "</table>\n<p class=\"sub\">%s · posted %s · advert %s</p>\n", e(a.seller),
		a.posted.Format("2006-01-02"), a.id)
	n := a.kijijiNode(true, false)
	key, name := a.neighbourhood()
	if kind == "shape" {
		p.WriteString(`<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"dehydrated":{}}},` +
			`"page":"/listing/[id]","buildId":"demo"}</script>`)
	} else {
		kindOf := [2]string{"FSBO", "RE_PROFESSIONAL"}[bit(a.pro)]
		root := map[string]any{
			"__typename": "Query",
			"userLocale": kijijiLocale,
			`listing({"id":"` + a.id + `","isExternalId":false,"trackView":true})`: ref{"RealEstateListing:" + a.id},
			`profile({"id":"` + n.Poster.ID + `"})`:                                ref{"CommercialProfileV2:" + n.Poster.ID},
			`category({"id":37})`:                                                  ref{"Category:37"},
		}
		fmt.Fprintf(&p, `<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"isExternalId":false,`+
			`"listingId":"%s","correlationId":null,"isVipVisited":false,"promotedUrls":[],"__APOLLO_STATE__":{"ROOT_QUERY":%s,`+
			`"RealEstateListing:%[1]s":%[3]s,"NeighbourhoodInfo:%s":%s,"CommercialProfileV2:%s":%s,%s}},"__N_SSP":true},`+
			`"page":"/vip/[...params]","query":%s,"buildId":"demo","locale":"en","locales":["en","fr"],"defaultLocale":"en"}`+
			`</script>`, a.id, encode(root), encode(n), key,
			encode(map[string]any{"__typename": "NeighbourhoodInfo", "id": key, "name": name}), n.Poster.ID,
			encode(map[string]any{"__typename": "CommercialProfileV2", "id": n.Poster.ID, "name": a.seller,
				"numberOfListings": 1, "userType": kindOf, "verified": a.pro, "websiteUrl": nil}), kijijiCommon,
			encode(map[string]any{"params": []string{"apartments-condos", "ville-de-montreal", a.slug, a.id}}))
	}
	foot(&p)
	return htmlReply(p.Bytes())
}
