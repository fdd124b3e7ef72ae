package kijiji

import (
	"encoding/json"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// A residence is the data about an advert that the page has for search engines. Its strings hold entities.
type residence struct {
	Type        string          `json:"@type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	URL         string          `json:"url"`
	Image       json.RawMessage `json:"image"`   // an address, or several
	Address     json.RawMessage `json:"address"` // a string, or a PostalAddress
	DatePosted  string          `json:"datePosted"`
	Offers      struct {
		Price text `json:"price"` // dollars
	} `json:"offers"`
	Geo struct {
		Latitude  text `json:"latitude"`
		Longitude text `json:"longitude"`
	} `json:"geo"`
	FloorSize struct {
		Value text `json:"value"`
	} `json:"floorSize"`
	Bedrooms    text `json:"numberOfBedrooms"`
	Rooms       text `json:"numberOfRooms"`          // bedrooms, too
	Bathrooms   text `json:"numberOfBathroomsTotal"` // 1.5, not in tenths
	PetsAllowed text `json:"petsAllowed"`
	LeaseLength text `json:"leaseLength"`
}

// kinds of home that the site has used or may use for its adverts.
var residences = []string{"SingleFamilyResidence", "Residence", "Apartment", "House", "Accommodation"}

// searchLD reads an ItemList. It has no count, so an empty one is not known to be meant, and no page is the last.
func searchLD(p web.Page, blocks []json.RawMessage) (scrape.Results, error) {
	r := scrape.Results{Total: -1}
	for _, block := range blocks {
		var list struct {
			Type  string `json:"@type"`
			Items []struct {
				Item residence `json:"item"`
			} `json:"itemListElement"`
		}
		if json.Unmarshal(block, &list) != nil || list.Type != "ItemList" {
			continue
		}
		for _, e := range list.Items {
			u, id := e.Item.at(p)
			if u == "" || e.Item.Name == "" {
				return scrape.Results{}, web.Unrecognized("JSON-LD lists %q at %q", e.Item.Name, e.Item.URL)
			}
			title := html.UnescapeString(e.Item.Name)
			r.Cards = append(r.Cards, scrape.Card{PlatformID: id, URL: u, Title: title,
				Fingerprint: scrape.Fingerprint(title, string(e.Item.Offers.Price), e.Item.address(), e.Item.Description)})
		}
	}
	if len(r.Cards) == 0 {
		return r, web.Unrecognized("neither an Apollo cache nor a JSON-LD list of adverts")
	}
	return r, nil
}

// advertLD reads a residence.
func advertLD(p web.Page, blocks []json.RawMessage) (scrape.Advert, error) {
	for _, block := range blocks {
		var r residence
		if json.Unmarshal(block, &r) != nil || !slices.Contains(residences, r.Type) {
			continue
		}
		if r.URL == "" {
			r.URL = p.URL
		}
		u, id := r.at(p)
		if own := idOf(p.URL); u == "" || r.Name == "" || own != "" && own != id {
			return scrape.Advert{}, web.Unrecognized("JSON-LD has %q at %q", r.Name, r.URL)
		}
		a := scrape.Advert{Raw: listing.Raw{
			Ref: listing.Ref{Platform: "kijiji", PlatformID: id}, URL: u, Title: html.UnescapeString(r.Name),
			Description: html.UnescapeString(r.Description), Address: r.address(), Attributes: map[string][]string{},
			ImageURLs: images(p, strs(r.Image)),
		}}
		if dollars, err := strconv.ParseFloat(string(r.Offers.Price), 64); err == nil {
			dollars *= 100
			a.Price.AmountCents = cents(&dollars)
		} else {
			a.Price.Text = html.UnescapeString(string(r.Offers.Price))
		}
		a.Latitude, a.Longitude = body.Degrees(string(r.Geo.Latitude), string(r.Geo.Longitude))
		if posted, err := time.Parse(time.RFC3339, r.DatePosted); err == nil {
			posted = posted.UTC()
			a.PostedAt = &posted
		}
		if r.Rooms == "" {
			r.Rooms = r.Bedrooms
		}
		for name, value := range map[string]text{"numberOfRooms": r.Rooms, "numberOfBathroomsTotal": r.Bathrooms,
			"floorSize.value": r.FloorSize.Value, "petsAllowed": r.PetsAllowed, "leaseLength": r.LeaseLength} {
			if value != "" {
				a.Attributes[name] = []string{string(value)}
			}
		}
		a.Extra = json.RawMessage(`{"from":"json-ld"}`)
		return a, nil
	}
	return scrape.Advert{}, web.Unrecognized("neither an Apollo cache nor a JSON-LD residence")
}

// at returns the advert's address and ID, "" and "" where it has none.
func (r residence) at(p web.Page) (address, id string) {
	u := p.Link(html.UnescapeString(r.URL))
	if u == nil {
		return "", ""
	}
	u.RawQuery = ""
	if id = idOf(u.String()); id == "" {
		return "", ""
	}
	return u.String(), id
}

func (r residence) address() string {
	var postal struct {
		Street   string `json:"streetAddress"`
		Locality string `json:"addressLocality"`
		Region   string `json:"addressRegion"`
		Code     string `json:"postalCode"`
	}
	if json.Unmarshal(r.Address, &postal) == nil {
		parts := []string{postal.Street, postal.Locality, postal.Region, postal.Code}
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		return html.UnescapeString(strings.Join(parts, ", "))
	}
	return html.UnescapeString(strings.Join(strs(r.Address), ", "))
}

// strs reads a string or a list of them, nil for anything else.
func strs(raw json.RawMessage) (out []string) {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}
