package kangalou

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadSearch reads the cards of a page of HTML, or the pins of the map's JSON. The one page at hand, of 2019, is as the
// site serves it: a script fills its list from a template, and what the list holds then is known from the template and
// from scrapers of 2019 and 2026. The members of pins are guesses. What fits neither is a *ShapeError that names what
// was found. An HTML page without cards is empty only where the list says so in words that are shown.
func (Platform) ReadSearch(p web.Page) (scrape.Results, error) { return scrape.Read(p, search) }

func search(p web.Page) (scrape.Results, error) {
	if answer := body.JSON(p.Body); answer != nil {
		return pins(p, answer)
	}
	return cards(p)
}

// cards reads a page of HTML. It is the last when it links to pages and to none that comes after it, or when the site
// led to another page than the one asked for; without links it is not known, and the next page will say. A page that
// states another number than the one asked for is none of these: it is an error, for the site did not understand.
func cards(p web.Page) (scrape.Results, error) {
	doc, err := body.HTML(p)
	if err != nil {
		return scrape.Results{}, err
	}
	at, pages := numberIn(doc, "#currentPage"), max(numberIn(doc, "#totalPages"), lastLinked(doc))
	if u, err := url.Parse(p.Asked); err == nil && at > 0 && at != pageOf(u) {
		return scrape.Results{}, web.Unrecognized("page %d was asked for, and the site shows page %d", pageOf(u), at)
	}
	r := scrape.Results{Total: count(doc)}
	var bad error
	doc.Find(card).Not(templates).Each(func(_ int, s *goquery.Selection) {
		title := s.Find(".js-propertyTitle").First()
		a := title.Find("a[href]").First()
		if title.Is("a[href]") {
			a = title
		}
		c, ok := cardAt(p, a.AttrOr("href", ""), a.Text(), s.Find("span.js-cost").First().Text(),
			s.Find(".property__dimension").First().Text(), s.Find(".property__address").First().Text())
		if !ok {
			bad = web.Unrecognized("a card has the link %q and the title %q", a.AttrOr("href", ""), body.Line(a.Text()))
		}
		r.Cards = append(r.Cards, c)
	})
	if bad != nil {
		return scrape.Results{}, bad
	}
	if len(r.Cards) == 0 {
		if !none(doc) {
			return scrape.Results{}, web.Unrecognized("no %s, and no word that there are no results", card)
		}
		if at, err := url.Parse(p.URL); err == nil && pageOf(at) == 1 {
			r.Total = 0
		}
		r.Last = true
		return r, nil
	}
	if r.Last = last(p, doc); at > 0 && pages > 0 {
		r.Last = at >= pages
	}
	return r, nil
}

// cardAt makes a card of an advert on a search page; false without a title or a number in the link.
func cardAt(p web.Page, href, title string, shown ...string) (scrape.Card, bool) {
	u, title := p.Link(href), body.Line(title)
	if u == nil || idOf(u) == "" || title == "" {
		return scrape.Card{}, false
	}
	u.RawQuery, u.ForceQuery = "", false // "?keywords=": how one came there
	return scrape.Card{PlatformID: idOf(u), URL: u.String(), Title: title,
		Fingerprint: scrape.Fingerprint(append([]string{title}, shown...)...)}, true
}

var (
	counted = regexp.MustCompile(`^(\d[\d ]{0,9}) (resultats?|logements?|annonces?|appartements?|results?|listings?)\b`)
	nothing = regexp.MustCompile(`\b(aucune?|no|0|zero) (resultats?|logements?|annonces?|appartements?|results?|listings?)\b`)
)

// count is how many adverts the page says that there are, -1 where it does not.
func count(doc *goquery.Document) int {
	total := -1
	doc.Find(`[class*="count"], h1, h2`).EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if m := counted.FindStringSubmatch(page.Fold(body.Line(s.Text()))); m != nil {
			total, _ = strconv.Atoi(strings.ReplaceAll(m[1], " ", ""))
		}
		return total < 0
	})
	return total
}

// none tells whether the list of results says that it is empty. The page has the words from the beginning, and hides
// them until its script has searched.
func none(doc *goquery.Document) bool {
	said := doc.Find("#js-GenResult, #slist, .js-resultListing > .no-results").Not(".hidden")
	return nothing.MatchString(page.Fold(body.Line(said.Text())))
}

// numberIn is the value of an input that nobody sees, 0 where there is none.
func numberIn(doc *goquery.Document, id string) int {
	n, _ := strconv.Atoi(doc.Find(id).AttrOr("value", ""))
	return max(n, 0)
}

// lastLinked is the number of the last page that the list links to, 0 before a script has filled that in.
func lastLinked(doc *goquery.Document) int {
	n, _ := strconv.Atoi(doc.Find(".js-paging-last").AttrOr("data-page", ""))
	return max(n, 0)
}

func last(p web.Page, doc *goquery.Document) bool {
	at, err := url.Parse(p.URL)
	if err != nil {
		return false
	}
	if asked, err := url.Parse(p.Asked); err == nil && pageOf(asked) > pageOf(at) {
		return true
	}
	to := func(rel string) bool { // the page of 2019 has both with an empty address
		link := doc.Find(`[rel~="` + rel + `"]`)
		return link.Length() > 0 && strings.TrimSpace(link.AttrOr("href", "#")) != ""
	}
	linked, after := to("prev"), to("next")
	doc.Find(`a[href*="page="]`).Each(func(_ int, a *goquery.Selection) {
		if u := p.Link(a.AttrOr("href", "")); u != nil && u.Query().Has("page") && isSearch(u) {
			linked = true
			after = after || pageOf(u) > pageOf(at)
		}
	})
	return linked && !after
}

// lists are the members under which the map's adverts may be.
var lists = []string{"pins", "markers", "results", "listings", "properties", "annonces", "items", "data"}

// pins reads the map's JSON: a list of objects or an object with one, or with a piece of HTML that holds cards. The map
// has one page.
func pins(p web.Page, answer []byte) (scrape.Results, error) {
	var entries []map[string]any
	r := scrape.Results{Total: -1, Last: true}
	if json.Unmarshal(answer, &entries) != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(answer, &object); err != nil {
			return r, web.Unrecognized("no JSON of pins: %v", err)
		}
		found := false
		for _, name := range lists {
			if raw, ok := object[name]; ok && string(raw) != "null" && json.Unmarshal(raw, &entries) == nil {
				found = true
				break
			}
		}
		if !found {
			return r, web.Unrecognized("JSON without a list of pins; it has: %s", names(object))
		}
		for _, name := range []string{"total", "count", "totalCount", "nb"} {
			if n := -1; json.Unmarshal(object[name], &n) == nil && n >= 0 {
				r.Total = n
			}
		}
	}
	for _, pin := range entries {
		href, title := first(pin, "url", "link", "href", "permalink"), first(pin, "title", "titre", "name")
		c, ok := cardAt(p, href, title, first(pin, "price", "prix", "cost", "monthlycost"),
			first(pin, "address", "adresse"))
		if !ok {
			return scrape.Results{}, web.Unrecognized("a pin has the link %q and the title %q; it has: %s", href, title,
				names(pin))
		}
		r.Cards = append(r.Cards, c)
	}
	if len(r.Cards) == 0 && r.Total != 0 {
		return scrape.Results{}, web.Unrecognized("a list of no pins, and no count of 0")
	}
	return r, nil
}

// first is the first member of those names, as text.
func first(m map[string]any, names ...string) string {
	for _, name := range names {
		switch v := m[name].(type) {
		case string:
			return v
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return ""
}
