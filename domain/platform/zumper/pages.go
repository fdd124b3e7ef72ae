package zumper

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/platform/field"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadSearch reads the list of adverts that the page has for search engines. Its count is 25 on each page that was
// seen, however many it lists, so Total is -1. A page is empty only where the count is 0.
func (Platform) ReadSearch(p web.Page) (scrape.Results, error) { return scrape.Read(p, search) }

// A result is an advert in a search page's list.
type result struct {
	URL   string `json:"url"`
	Name  string `json:"name"`
	About struct {
		Beds    json.RawMessage `json:"numberOfBedrooms"`
		Baths   json.RawMessage `json:"numberOfBathroomsTotal"`
		Size    json.RawMessage `json:"floorSize"`
		Pets    json.RawMessage `json:"petsAllowed"`
		Image   string          `json:"image"`
		Address postal          `json:"address"`
	} `json:"about"`
	Offers struct {
		Price json.RawMessage `json:"price"`
	} `json:"offers"`
}

type postal struct {
	Street   string `json:"streetAddress"`
	Locality string `json:"addressLocality"`
	Region   string `json:"addressRegion"`
	Code     string `json:"postalCode"`
}

func (a postal) String() string { return body.Address(a.Street, a.Locality, a.Region, a.Code) }

func search(p web.Page) (scrape.Results, error) {
	var none scrape.Results
	doc, err := body.HTML(p)
	if err != nil {
		return none, err
	}
	for _, block := range body.LinkedData(doc) {
		var page struct {
			Type string `json:"@type"`
			Main struct {
				Count *int `json:"numberOfItems"`
				Items []struct {
					Item result `json:"item"`
				} `json:"itemListElement"`
			} `json:"mainEntity"`
		}
		if json.Unmarshal(block, &page) != nil || page.Type != "SearchResultsPage" {
			continue
		}
		if page.Main.Count == nil {
			return none, web.Unrecognized("the SearchResultsPage has no numberOfItems")
		}
		r := scrape.Results{Total: -1}
		for _, e := range page.Main.Items {
			c, err := cardOf(p, e.Item)
			if err != nil {
				return none, err
			}
			r.Cards = append(r.Cards, c)
		}
		if r.Last = len(r.Cards) == 0; r.Last && *page.Main.Count != 0 {
			return none, web.Unrecognized("%d adverts, and none is listed", *page.Main.Count)
		}
		return r, nil
	}
	return none, web.Unrecognized("no JSON-LD of a SearchResultsPage")
}

func cardOf(p web.Page, r result) (scrape.Card, error) {
	u, title := p.Link(r.URL), body.Line(r.Name)
	if u == nil || idOf(u.String()) == "" || title == "" {
		return scrape.Card{}, web.Unrecognized("the list has %q at %q", r.Name, r.URL)
	}
	u.RawQuery, u.ForceQuery = "", false
	a := r.About
	c := scrape.Card{PlatformID: idOf(u.String()), URL: u.String(), Title: title}
	c.Fingerprint = scrape.Fingerprint(title, a.Address.String(), string(r.Offers.Price), string(a.Beds), string(a.Baths),
		string(a.Size), string(a.Pets), a.Image)
	return c, nil
}

// ReadAdvert reads the data that the page has for search engines: place and text of the residence, the rent of the
// product, the dates of the listing. The number of the advert stands in the address that was asked for, for the site
// leads to one by street. A removed advert leads to a search.
func (Platform) ReadAdvert(p web.Page) (scrape.Advert, error) { return web.Read(p, advert) }

// blocks is the JSON-LD of an advert's page, taken together.
type blocks struct {
	Residence *struct {
		Description string `json:"description"`
		FloorSize   string `json:"floorSize"`
		Pets        *bool  `json:"petsAllowed"`
		Address     postal `json:"address"`
		Geo         struct {
			Latitude  *float64 `json:"latitude"`
			Longitude *float64 `json:"longitude"`
		} `json:"geo"`
	}
	Product *struct {
		Description string `json:"description"`
		Offers      struct {
			Currency string   `json:"priceCurrency"`
			Count    int      `json:"offerCount"`
			Low      *float64 `json:"lowPrice"` // dollars a month
			High     *float64 `json:"highPrice"`
		} `json:"offers"`
		Image []struct {
			URL string `json:"contentUrl"`
		} `json:"image"`
	}
	Listing struct {
		Posted   string `json:"datePosted"`
		Modified string `json:"dateModified"`
	}
}

func advert(p web.Page) (scrape.Advert, error) {
	if isSearch(p.URL) {
		return scrape.Advert{}, fault.Newf(fault.Gone, "read %q: the site leads to %q: removed", p.Asked, p.URL)
	}
	var none scrape.Advert
	doc, err := body.HTML(p)
	if err != nil {
		return none, err
	}
	var b blocks
	for _, raw := range body.LinkedData(doc) {
		var kind struct {
			Type string `json:"@type"`
		}
		if json.Unmarshal(raw, &kind) != nil {
			continue // a list of events
		}
		var into any
		switch kind.Type {
		case "SingleFamilyResidence":
			into = &b.Residence
		case "Product":
			into = &b.Product
		case "RealEstateListing":
			into = &b.Listing
		default:
			continue
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return none, web.Unrecognized("JSON-LD of a %s: %v", kind.Type, err)
		}
	}
	if b.Residence == nil || b.Product == nil || b.Product.Offers.Low == nil {
		return none, web.Unrecognized("no JSON-LD of a SingleFamilyResidence and of a Product with a lowPrice")
	}
	id := idOf(p.URL)
	if id == "" {
		id = idOf(p.Asked)
	}
	at := p.Link(p.URL)
	if id == "" || at == nil {
		return none, web.Unrecognized("no number in the addresses %q and %q", p.Asked, p.URL)
	}
	at.RawQuery, at.ForceQuery = "", false
	street, said := body.Line(b.Residence.Address.Street), said(b.Product.Description)
	if street == "" {
		return none, web.Unrecognized("advert %s has no street", id)
	}
	a := scrape.Advert{Raw: listing.Raw{
		Ref: listing.Ref{Platform: "zumper", PlatformID: id}, URL: at.String(), Title: strings.TrimSuffix(street+", "+said, ", "),
		Description: b.Residence.Description, Address: b.Residence.Address.String(), Attributes: map[string][]string{},
		Price: b.price(),
	}}
	if said != "" {
		a.Attributes["summary"] = []string{said}
	}
	if b.Residence.FloorSize != "" {
		a.Attributes["floorSize"] = []string{b.Residence.FloorSize}
	}
	if b.Residence.Pets != nil {
		a.Attributes["petsAllowed"] = []string{strconv.FormatBool(*b.Residence.Pets)}
	}
	if b.Residence.Geo.Latitude != nil && b.Residence.Geo.Longitude != nil {
		a.Latitude, a.Longitude = b.Residence.Geo.Latitude, b.Residence.Geo.Longitude
	}
	for _, image := range b.Product.Image {
		a.ImageURLs = append(a.ImageURLs, image.URL)
	}
	a.ImageURLs = body.Images(p, a.ImageURLs...)
	if posted, err := time.Parse(time.RFC3339, b.Listing.Posted); err == nil {
		a.PostedAt = new(posted.UTC())
	}
	extra := map[string]any{"from": "json-ld", "offers": b.Product.Offers.Count}
	if b.Listing.Modified != "" {
		extra["modified"] = b.Listing.Modified
	}
	a.Extra, err = json.Marshal(extra)
	return a, err
}

// price is the rent, of a house with several flats the lowest.
func (b blocks) price() listing.RawPrice {
	offers := b.Product.Offers
	if offers.Currency != "" && offers.Currency != "CAD" {
		return listing.RawPrice{Text: strconv.FormatFloat(*offers.Low, 'f', -1, 64) + " " + offers.Currency}
	}
	price := listing.RawPrice{AmountCents: field.Dollars(*offers.Low)}
	if offers.High != nil && *offers.High > *offers.Low {
		price.Text = "from $" + strconv.FormatFloat(*offers.Low, 'f', -1, 64)
	}
	return price
}

var sentence = regexp.MustCompile(`photos of this ((?:Sq\. Ft\.|\d\.\d|[^.]){1,60})\.`)

// said is the site's summary of the home within its sentence for search engines, "" for a house with several flats.
func said(sentences string) string {
	m := sentence.FindStringSubmatch(sentences)
	if m == nil || !summarized.MatchString(m[1]) {
		return ""
	}
	return body.Line(m[1])
}
