package realtorca

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/platform/field"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadSearch reads an answer of the API. Each card has its advert, so no page of an advert is visited. An answer is
// empty only where its own count is 0.
func (Platform) ReadSearch(p web.Page) (scrape.Results, error) { return scrape.Read(p, search) }

// ReadAdvert reads an answer of the API that holds one advert. Pages of adverts are not read: a search has all of them.
func (Platform) ReadAdvert(p web.Page) (scrape.Advert, error) { return web.Read(p, advert) }

func advert(p web.Page) (scrape.Advert, error) {
	r, err := scrape.Read(p, search)
	if err != nil {
		return scrape.Advert{}, err
	}
	if len(r.Cards) != 1 {
		return scrape.Advert{}, web.Unrecognized("an answer with %d adverts; want 1", len(r.Cards))
	}
	return *r.Cards[0].Advert, nil
}

// A result is an advert in an answer. Its brokers, with names and phones, are not decoded.
type result struct {
	ID       string `json:"Id"`
	MLS      string `json:"MlsNumber"`
	Remarks  string `json:"PublicRemarks"`
	Building struct {
		Baths    string `json:"BathroomTotal"`
		Bedrooms string `json:"Bedrooms"`
		Stories  string `json:"StoriesTotal"`
		Type     string `json:"Type"`
		Size     string `json:"SizeInterior"`
	} `json:"Building"`
	Property struct {
		Rent    string `json:"LeaseRent"`                 // $3,100/Monthly
		Amount  string `json:"LeaseRentUnformattedValue"` // 3100
		Type    string `json:"Type"`
		Owned   string `json:"OwnershipType"`
		Spaces  string `json:"ParkingSpaceTotal"`
		Parking string `json:"ParkingType"`
		Address struct {
			Text      string `json:"AddressText"` // street|#unit|city (borough), Quebec H2J3T2
			Longitude string `json:"Longitude"`
			Latitude  string `json:"Latitude"`
			Shown     *bool  `json:"PermitShowAddress"`
		} `json:"Address"`
		Photo []struct {
			High string `json:"HighResPath"`
		} `json:"Photo"`
	} `json:"Property"`
	Alternate struct {
		Details string `json:"DetailsLink"`
	} `json:"AlternateURL"`
	Path     string `json:"RelativeDetailsURL"`
	Inserted string `json:"InsertedDateUTC"` // .NET ticks
}

func search(p web.Page) (scrape.Results, error) {
	var none scrape.Results
	raw := body.JSON(p.Body)
	if raw == nil {
		return none, web.Unrecognized("no JSON")
	}
	var answer struct {
		Error struct {
			ID          int    `json:"Id"`
			Description string `json:"Description"`
		} `json:"ErrorCode"`
		Paging *struct {
			Page  int  `json:"CurrentPage"`
			Pages int  `json:"TotalPages"`
			Total *int `json:"TotalRecords"`
		} `json:"Paging"`
		Results *[]result `json:"Results"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return none, web.Unrecognized("no JSON of results: %v", err)
	}
	switch {
	case answer.Error.ID != 0 && answer.Error.ID != 200:
		return none, web.Unrecognized("the API says %d %q", answer.Error.ID, answer.Error.Description)
	case answer.Results == nil || answer.Paging == nil || answer.Paging.Total == nil || *answer.Paging.Total < 0 ||
		answer.Paging.Page < 1:
		return none, web.Unrecognized("JSON without Results, Paging.TotalRecords and Paging.CurrentPage")
	}
	r := scrape.Results{Total: *answer.Paging.Total, Last: answer.Paging.Page >= answer.Paging.Pages}
	for _, one := range *answer.Results {
		c, err := one.card(p)
		if err != nil {
			return none, err
		}
		r.Cards = append(r.Cards, c)
	}
	if len(r.Cards) == 0 && (!r.Last || r.Total != 0 && answer.Paging.Page == 1) {
		return none, web.Unrecognized("%d adverts in all, and page %d of %d has none", r.Total, answer.Paging.Page,
			answer.Paging.Pages)
	}
	return r, nil
}

var number = regexp.MustCompile(`^\d{4,12}$`)

// card makes the card of a result, with its advert.
func (r result) card(p web.Page) (c scrape.Card, err error) {
	u := p.Link(r.Path)
	parts := strings.FieldsFunc(body.Line(r.Property.Address.Text), func(r rune) bool { return r == '|' })
	address := strings.Join(parts, ", ")
	if !number.MatchString(r.ID) || u == nil || !strings.Contains(u.Path, "/"+r.ID) || address == "" {
		return c, web.Unrecognized("a result has the Id %q, the path %q and the address %q", r.ID, r.Path, address)
	}
	if u.Host == "api2.realtor.ca" { // the API's host has no pages
		u.Host = "www.realtor.ca"
	}
	u.RawQuery, u.ForceQuery = "", false
	title := address
	if r.Building.Type != "" {
		title = r.Building.Type + ", " + address
	}
	a := &scrape.Advert{Raw: listing.Raw{
		Ref: listing.Ref{Platform: "realtor_ca", PlatformID: r.ID}, URL: u.String(), Title: title, Description: r.Remarks,
		Price: r.price(), Address: address, Attributes: r.attributes(), PostedAt: posted(r.Inserted),
	}}
	a.Latitude, a.Longitude = body.Degrees(r.Property.Address.Latitude, r.Property.Address.Longitude)
	for _, photo := range r.Property.Photo {
		a.ImageURLs = append(a.ImageURLs, photo.High)
	}
	a.ImageURLs = body.Images(p, a.ImageURLs...)
	a.Extra, err = json.Marshal(map[string]any{"from": "api", "mls": r.MLS, "show_address": r.Property.Address.Shown})
	if err != nil {
		return c, web.Unrecognized("result %s: %v", r.ID, err)
	}
	c = scrape.Card{PlatformID: r.ID, URL: a.URL, Title: title, Advert: a}
	c.Fingerprint = scrape.Fingerprint(title, r.Property.Rent, r.Building.Bedrooms, r.Building.Baths, r.Building.Size,
		r.Remarks, strings.Join(a.ImageURLs, " "))
	return c, nil
}

// price takes a rent by the month, makes one of a rent by the year, and leaves any other out: the season's and the
// day's have no monthly equivalent.
func (r result) price() listing.RawPrice {
	dollars, err := strconv.ParseFloat(r.Property.Amount, 64)
	_, period, _ := strings.Cut(strings.ToLower(r.Property.Rent), "/")
	switch {
	case err != nil:
		return listing.RawPrice{}
	case period == "monthly":
		return listing.RawPrice{AmountCents: field.Dollars(dollars), Text: r.Property.Rent}
	case period == "yearly":
		return listing.RawPrice{AmountCents: field.Dollars(dollars / 12)}
	}
	return listing.RawPrice{Type: r.Property.Rent}
}

func (r result) attributes() map[string][]string {
	out := map[string][]string{}
	for name, value := range map[string]string{
		"Bedrooms": r.Building.Bedrooms, "BathroomTotal": r.Building.Baths, "StoriesTotal": r.Building.Stories,
		"Type": r.Building.Type, "SizeInterior": r.Building.Size, "OwnershipType": r.Property.Owned,
		"ParkingSpaceTotal": r.Property.Spaces, "ParkingType": r.Property.Parking, "MlsNumber": r.MLS,
		"centris_number": r.centris(),
	} {
		if value = body.Line(value); value != "" {
			out[name] = []string{value}
		}
	}
	return out
}

// centris is the number of the advert at Centris, where the result leads there and names the same number; "" else.
func (r result) centris() string {
	u, err := url.Parse(r.Alternate.Details)
	if err != nil || u.Host != "passerelle.centris.ca" || u.Query().Get("NoMLS") != r.MLS {
		return ""
	}
	return r.MLS
}

// posted reads .NET ticks, 100 ns since the year 1. Anything before 2000 or after 2100 is no date of an advert.
func posted(ticks string) *time.Time {
	const epoch, perSecond = 621_355_968_000_000_000, 10_000_000
	n, err := strconv.ParseInt(ticks, 10, 64)
	if err != nil || n < 630_822_816_000_000_000 || n > 662_380_416_000_000_000 {
		return nil
	}
	return new(time.Unix((n-epoch)/perSecond, (n-epoch)%perSecond*100).UTC())
}
