package kangalou

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadAdvert reads a detail page by the selectors of a scraper of 2019 and the ids of the owner's form; no page was at
// hand, but what that scraper read of 55 adverts. An advert that leads back to a search was removed.
func (Platform) ReadAdvert(p web.Page) (scrape.Advert, error) { return web.Read(p, advert) }

func advert(p web.Page) (scrape.Advert, error) {
	if u, err := url.Parse(p.URL); err == nil && isSearch(u) {
		return scrape.Advert{}, fault.Newf(fault.Gone, "read %q: the site leads to %q: removed", p.Asked, p.URL)
	}
	doc, err := body.HTML(p)
	if err != nil {
		return scrape.Advert{}, err
	}
	price, below := body.Line(doc.Find("span.cost").First().Text()), doc.Find("p.details-title-meta").First()
	if price == "" || below.Length() == 0 {
		return scrape.Advert{}, web.Unrecognized("no span.cost and p.details-title-meta")
	}
	// The page's own address, or the one that a saved page says it has.
	var at *url.URL
	for _, s := range []string{p.URL, doc.Find(`link[rel="canonical"]`).AttrOr("href", ""),
		doc.Find(`meta[property="og:url"]`).AttrOr("content", "")} {
		if u := p.Link(s); u != nil && idOf(u) != "" {
			at = u
			break
		}
	}
	if at == nil {
		return scrape.Advert{}, web.Unrecognized("no number in the address %q", p.URL)
	}
	id := idOf(at)
	at.RawQuery, at.ForceQuery = "", false

	lines := strings.Split(strings.TrimSpace(below.Text()), "\n")
	if len(lines) == 1 {
		lines = strings.Split(page.Text(body.Inner(below)), "\n") // <br> instead of line ends
	}
	for i := range lines {
		lines[i] = body.Line(lines[i])
	}
	said := readMeta(lines)
	if said.number != "" && said.number != strings.TrimLeft(id, "0") {
		return scrape.Advert{}, web.Unrecognized("the page of advert %s says that it is advert %s", id, said.number)
	}
	title := body.Line(doc.Find(".details-header h1, h1").First().Text())
	if title == "" && said.number != "" {
		title = "Annonce " + said.number
	}
	if title == "" {
		return scrape.Advert{}, web.Unrecognized("advert %s has no title", id)
	}
	a := scrape.Advert{Raw: listing.Raw{
		Ref: listing.Ref{Platform: "kangalou", PlatformID: id}, URL: at.String(), Title: title,
		Description: body.Inner(doc.Find(".ui-nt + p").First()), Price: listing.RawPrice{Text: price},
		Address: said.address, Attributes: attributes(doc), ImageURLs: images(p, doc),
	}}
	if a.Attributes["availability"] == nil && said.available != "" {
		a.Attributes["availability"] = []string{said.available}
	}
	if d := body.Line(doc.Find(".details-header .property__dimension").First().Text()); d != "" {
		name := "appartmentsize"
		if len(prose.ParseRooms(d)) == 0 {
			name = "size"
		}
		if a.Attributes[name] == nil {
			a.Attributes[name] = []string{d}
		}
	}
	a.Latitude, a.Longitude = coordinates(doc)
	a.Extra, err = json.Marshal(map[string]any{"from": "html", "meta": lines})
	return a, err
}

// meta is what the lines below an advert's title say.
type meta struct{ address, available, number string }

var (
	numbered = regexp.MustCompile(`^annonce (?:# ?)?0*(\d+)$`)
	free     = regexp.MustCompile(`^(libre|dispo|maintenant|immediat|available|now)|^(le )?\d{1,2}(er)? [a-z]+ \d{4}$`)
	civic    = regexp.MustCompile(`^\d`)
)

// readMeta reads the lines by what they say: their order is address, quarter, kind, availability and number of the
// advert, but adverts with priority have one line fewer or more.
func readMeta(lines []string) (m meta) {
	first := ""
	for _, line := range lines {
		folded := page.Fold(line)
		switch number := numbered.FindStringSubmatch(folded); {
		case line == "", strings.HasPrefix(folded, "annonce prioritaire"):
		case number != nil:
			m.number = number[1]
		case free.MatchString(folded):
			m.available = line
		case m.address == "" && civic.MatchString(folded):
			m.address = line
		case first == "":
			first = line
		}
	}
	if m.address == "" {
		m.address = first
	}
	return m
}

// attributes reads the form's fields by their ids, and its boxes: those that are listed, or ticked where they are
// inputs.
func attributes(doc *goquery.Document) map[string][]string {
	out := map[string][]string{}
	for name := range fields {
		if v := value(doc.Find("#" + name + `, [data-field="` + name + `"]`).First()); v != "" {
			out[name] = []string{v}
		}
	}
	if v := value(doc.Find(`#rentfrequency, [data-field="rentfrequency"]`).First()); v != "" {
		out["rentfrequency"] = []string{v}
	}
	doc.Find(`[id^="criteria-"], [class*="criteria-"]`).Each(func(_ int, s *goquery.Selection) {
		if _, ticked := s.Attr("checked"); s.Is("input") && !ticked {
			return
		}
		for _, id := range append(strings.Fields(s.AttrOr("class", "")), s.AttrOr("id", "")) {
			if strings.HasPrefix(id, "criteria-") && !slices.Contains(out["criteria"], id) {
				out["criteria"] = append(out["criteria"], id)
			}
		}
	})
	return out
}

// value is the value of a field: an input's value, the chosen option of a select, or the text.
func value(s *goquery.Selection) string {
	if s.Is("select") {
		return body.Line(s.Find("option[selected]").First().Text())
	}
	if v, ok := s.Attr("value"); ok {
		return body.Line(v)
	}
	return body.Line(s.Text())
}

// images returns the photos of the slider in order. Its script copies slides to both ends.
func images(p web.Page, doc *goquery.Document) (out []string) {
	doc.Find("div.slick-slide:not(.slick-cloned) a.js-LightobxTrigger img").Each(func(_ int, s *goquery.Selection) {
		src := s.AttrOr("src", "")
		for _, lazy := range []string{"data-src", "data-lazy"} {
			if v := s.AttrOr(lazy, ""); v != "" {
				src = v
			}
		}
		u := p.Link(src)
		if u == nil {
			return
		}
		u.ForceQuery = false // "….jpg?"
		if !slices.Contains(out, u.String()) {
			out = append(out, u.String())
		}
	})
	return out
}

// coordinates reads a marker of the page's map, nil and nil where it has none.
func coordinates(doc *goquery.Document) (lat, lon *float64) {
	for _, names := range [][2]string{{"data-lat", "data-lng"}, {"data-latitude", "data-longitude"}} {
		s := doc.Find("[" + names[0] + "][" + names[1] + "]").First()
		if lat, lon = body.Degrees(s.AttrOr(names[0], ""), s.AttrOr(names[1], "")); lat != nil {
			return lat, lon
		}
	}
	return nil, nil
}
