package centris

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/platform/field"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadAdvert reads the microdata of an advert's page; there is no JSON-LD. How the site answers for a removed advert is
// not known: that it leads to a search is taken for it, as on other sites. The broker is a person and is left out.
func (Platform) ReadAdvert(p web.Page) (scrape.Advert, error) { return web.Read(p, advert) }

func advert(p web.Page) (scrape.Advert, error) {
	if u, err := url.Parse(p.URL); err == nil && searchPath.MatchString(u.Path) {
		return scrape.Advert{}, fault.Newf(fault.Gone, "read %q: the site leads to %q: removed", p.Asked, p.URL)
	}
	doc, err := body.HTML(p)
	if err != nil {
		return scrape.Advert{}, err
	}
	id := body.Text(doc.Find("#ListingId"))
	kind, address := body.Text(doc.Find(`h1[itemprop="category"]`)), body.Text(doc.Find(`h2[itemprop="address"]`))
	price := doc.Find(`[itemprop="offers"]`).First()
	switch {
	case id == "" || kind == "" || address == "" || price.Length() == 0:
		return scrape.Advert{}, web.Unrecognized("no #ListingId, category, address and offer: %q, %q, %q", id, kind, address)
	case !digits.MatchString(id):
		return scrape.Advert{}, web.Unrecognized("#ListingId is %q", id)
	case body.Text(doc.Find("#ListingDisplayId")) != id: // it stands at the end: the page is whole
		return scrape.Advert{}, web.Unrecognized("#ListingDisplayId is not %s", id)
	}
	at := addressOf(p, doc, id)
	if at == nil {
		return scrape.Advert{}, web.Unrecognized("advert %s has another number in its address %q", id, p.URL)
	}
	a := scrape.Advert{Raw: listing.Raw{
		Ref: listing.Ref{Platform: "centris", PlatformID: id}, URL: at.String(), Title: kind + ", " + address,
		Description: body.Inner(doc.Find(`div[itemprop="description"]`).First()), Price: priceOf(price), Address: address,
		Attributes: map[string][]string{"category": {kind}, "centris_number": {id}}, ImageURLs: photos(p, doc),
	}}
	for _, name := range []string{"piece", "cac", "sdb"} {
		if v := body.Text(doc.Find(".teaser ." + name)); v != "" {
			a.Attributes[name] = []string{v}
		}
	}
	doc.Find(".carac-container").Each(func(_ int, s *goquery.Selection) {
		name, value := body.Text(s.Find(".carac-title")), body.Text(s.Find(".carac-value"))
		if name != "" && value != "" && a.Attributes[name] == nil {
			a.Attributes[name] = []string{value}
		}
	})
	a.Latitude, a.Longitude = body.Degrees(doc.Find(`meta[itemprop="latitude"]`).AttrOr("content", ""),
		doc.Find(`meta[itemprop="longitude"]`).AttrOr("content", ""))
	extra := map[string]any{"from": "html"}
	if score, err := strconv.Atoi(body.Text(doc.Find(".walkscore a span"))); err == nil {
		extra["walk_score"] = score
	}
	a.Extra, err = json.Marshal(extra)
	return a, err
}

// addressOf is the page's address: the one that was loaded, or the one that a saved page says it has. Nil where it is
// that of another advert.
func addressOf(p web.Page, doc *goquery.Document, id string) *url.URL {
	for _, s := range []string{p.URL, doc.Find(`link[rel="canonical"]`).AttrOr("href", ""), body.Text(doc.Find("#SummaryUrl"))} {
		u := p.Link(s)
		if u == nil || idOf(u) == "" {
			continue
		}
		if idOf(u) != id {
			return nil
		}
		u.RawQuery, u.ForceQuery = "", false
		return u
	}
	return nil
}

// priceOf reads the rent. An advert for sale or rent has both prices, and microdata only of the first: there the one
// with a period is taken. #RawPrice is 0 for rents.
func priceOf(s *goquery.Selection) listing.RawPrice {
	price := listing.RawPrice{Text: body.Text(s)}
	periods := 0
	s.Find("span.desc").Each(func(_ int, desc *goquery.Selection) {
		amount, per := body.Text(desc.Prev()), body.Text(desc)
		if amount != "" && strings.HasPrefix(per, "/") {
			price.Text = amount + " " + per
			periods++
		}
	})
	sale := body.Text(s.Find("#BuyPrice")) != ""
	monthly := strings.HasSuffix(price.Text, "/mois") || strings.HasSuffix(price.Text, "/month")
	if dollars, err := strconv.ParseFloat(s.Find(`meta[itemprop="price"]`).AttrOr("content", ""), 64); err == nil &&
		!sale && monthly && periods == 1 {
		price.AmountCents = field.Dollars(dollars)
	}
	return price
}

// photos are those of the gallery, or the one that the page has for other sites.
func photos(p web.Page, doc *goquery.Document) []string {
	if list := doc.Find("#property-roomvo-data").AttrOr("data-photo-urls", ""); list != "" {
		return body.Images(p, strings.Split(list, ",")...)
	}
	return body.Images(p, doc.Find(`meta[property="og:image"]`).AttrOr("content", ""))
}
