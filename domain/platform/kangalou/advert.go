package kangalou

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadAdvert reads a detail page by the selectors of a scraper of 2019 and the ids of the owner's form; no page was at
// hand. An advert that leads back to a search was removed.
func (Platform) ReadAdvert(p web.Page) (scrape.Advert, error) {
	if err := web.Check(p); err != nil {
		return scrape.Advert{}, err
	}
	if u, err := url.Parse(p.URL); err == nil && isSearch(u) {
		return scrape.Advert{}, fault.Newf(fault.Gone, "read %q: the site leads to %q: removed", p.Asked, p.URL)
	}
	a, err := advert(p)
	return a, web.Unread(p, err)
}

func advert(p web.Page) (scrape.Advert, error) {
	doc, err := open(p)
	if err != nil {
		return scrape.Advert{}, err
	}
	price, meta := line(doc.Find("span.cost").First().Text()), doc.Find("p.details-title-meta").First()
	if price == "" || meta.Length() == 0 {
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

	// The lines of the meta: address, two more, availability, number of the advert. Tags inside are none of them.
	lines := strings.Split(strings.TrimSpace(meta.Text()), "\n")
	if len(lines) == 1 {
		lines = strings.Split(page.Text(inner(meta)), "\n") // <br> instead of line ends
	}
	for i := range lines {
		lines[i] = line(lines[i])
	}
	for len(lines) < 5 {
		lines = append(lines, "")
	}
	title := line(doc.Find(".details-header h1, h1").First().Text())
	if title == "" {
		title = lines[4]
	}
	if title == "" {
		return scrape.Advert{}, web.Unrecognized("advert %s has no title", id)
	}
	a := scrape.Advert{Raw: listing.Raw{
		Ref: listing.Ref{Platform: "kangalou", PlatformID: id}, URL: at.String(), Title: title,
		Description: strings.TrimSpace(inner(doc.Find(".ui-nt + p").First())), Price: listing.RawPrice{Text: price},
		Address: lines[0], Attributes: attributes(doc), ImageURLs: images(p, doc),
	}}
	if a.Attributes["availability"] == nil && lines[3] != "" {
		a.Attributes["availability"] = []string{lines[3]}
	}
	if d := line(doc.Find(".details-header .property__dimension").First().Text()); d != "" {
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

// inner is the content of an element, with its tags; "" for none.
func inner(s *goquery.Selection) string {
	if s.Length() == 0 {
		return ""
	}
	html, _ := s.Html() // fails only on a writer that fails
	return html
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
		return line(s.Find("option[selected]").First().Text())
	}
	if v, ok := s.Attr("value"); ok {
		return line(v)
	}
	return line(s.Text())
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
		a, err1 := strconv.ParseFloat(s.AttrOr(names[0], ""), 64)
		b, err2 := strconv.ParseFloat(s.AttrOr(names[1], ""), 64)
		if err1 == nil && err2 == nil {
			return &a, &b
		}
	}
	return nil, nil
}
