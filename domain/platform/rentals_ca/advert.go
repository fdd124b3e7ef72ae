package rentalsca

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/platform/field"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadAdvert reads App.store.listing, which a script of the page holds: a building, whose units that are to let become
// adverts of their own. They share the building's address, text and photos, and the attribute "building". An advert
// that is not active, or of whose units none is to let, was removed, as was one that leads to a search. One without
// units was never seen and is a *web.ShapeError.
func (Platform) ReadAdvert(p web.Page) (scrape.Advert, error) { return web.Read(p, advert) }

// The most that is read of a page: each unit is an advert with all that its building has.
const (
	maxUnits       = 200
	maxAmenities   = 200
	maxParking     = 20
	maxDescription = 32 << 10 // characters, tags included
)

// A building is the site's own record of an advert.
type building struct {
	ID         int64  `json:"id"`
	Active     *bool  `json:"active"`
	URL        string `json:"url"`
	Name       string `json:"name"`
	Address1   string `json:"address1"`
	PostalCode string `json:"postal_code"`
	City       struct {
		Name   string `json:"name"`
		Region struct {
			Code string `json:"code"`
		} `json:"region"`
	} `json:"city"`
	Location struct {
		Lat *float64 `json:"lat"`
		Lng *float64 `json:"lng"`
	} `json:"location"`
	PropertyType string `json:"property_type"`
	PetFriendly  *bool  `json:"pet_friendly"`
	LeaseTerm    string `json:"lease_term"`
	Description  string `json:"description"`
	Created      string `json:"created"`
	Updated      string `json:"updated"`
	Source       string `json:"source"`
	Units        []unit `json:"units"`
	Photos       []struct {
		URL  string `json:"url"`
		Unit *int64 `json:"unit_id"`
	} `json:"photos"`
	Amenities []struct {
		Slug     string `json:"slug"`
		Category struct {
			Slug string `json:"slug"`
		} `json:"category"`
	} `json:"amenities"`
	ParkingTypes []struct {
		Type string   `json:"parking_type"`
		Rate *float64 `json:"monthly_rate"` // dollars
	} `json:"parking_types"`
}

// A unit is a kind of home in a building, as the site counts them: one row for one or several alike.
type unit struct {
	ID           int64    `json:"id"`
	Name         string   `json:"name"`
	RawName      string   `json:"raw_name"`
	Beds         *float64 `json:"beds"`
	Baths        *float64 `json:"baths"`
	Dimensions   *float64 `json:"dimensions"` // square feet
	Rent         *float64 `json:"rent"`       // dollars a month
	RentMax      *float64 `json:"rent_max"`
	Furnished    string   `json:"furnished"`
	ParkingSpots int      `json:"parking_spots"`
	IsAvailable  *bool    `json:"is_available"`
	Availability struct {
		Immediate bool   `json:"immediate"`
		Date      string `json:"date"`
	} `json:"availability"`
}

func advert(p web.Page) (scrape.Advert, error) {
	var none scrape.Advert
	doc, err := body.HTML(p)
	if err != nil {
		return none, err
	}
	raw, err := body.Assigned(doc, "App.store.listing")
	if err != nil {
		return none, err
	}
	if raw == nil {
		if at, err := url.Parse(p.URL); err == nil && searchPath.MatchString(at.Path) && p.URL != p.Asked {
			if store, _ := body.Assigned(doc, "App.store.search"); store != nil {
				return none, fault.Newf(fault.Gone, "read %q: the site leads to %q: removed", p.Asked, p.URL)
			}
		}
		return none, web.Unrecognized("no App.store.listing")
	}
	var b building
	if err := json.Unmarshal(raw, &b); err != nil {
		return none, web.Unrecognized("App.store.listing: %v", err)
	}
	title := body.Line(b.Name)
	if title == "" {
		title = body.Line(b.Address1)
	}
	at := p.Link(b.URL)
	if at == nil {
		at = p.Link(p.URL)
	}
	if b.ID < 1 || title == "" || at == nil || b.Active == nil {
		return none, web.Unrecognized("App.store.listing has the id %d, the name %q and the address %q", b.ID, title, b.URL)
	}
	id := strconv.FormatInt(b.ID, 10)
	if !*b.Active {
		return none, fault.Newf(fault.Gone, "read %q: advert %s is not active", p.Asked, id)
	}
	if len(b.Units) == 0 || len(b.Units) > maxUnits {
		return none, web.Unrecognized("advert %s has %d units; want 1 to %d", id, len(b.Units), maxUnits)
	}
	description, _ := page.Cut(b.Description, maxDescription)
	at.RawQuery, at.ForceQuery = "", false
	extra, err := json.Marshal(map[string]string{"from": "App.store.listing", "source": b.Source, "updated": b.Updated})
	if err != nil {
		return none, web.Unrecognized("App.store.listing: %v", err)
	}
	a := scrape.Advert{Raw: listing.Raw{
		Ref: listing.Ref{Platform: "rentals_ca", PlatformID: id}, URL: at.String(), Title: title,
		Description: description, Address: b.address(), Attributes: b.attributes(id), PostedAt: b.posted(),
	}, Extra: extra}
	if b.Location.Lat != nil && b.Location.Lng != nil {
		a.Latitude, a.Longitude = b.Location.Lat, b.Location.Lng
	}
	if a.Units, err = b.homes(p, a); err != nil {
		return none, err
	}
	return a, nil
}

// homes are the adverts of the units that are to let, of which there is one at least.
func (b *building) homes(p web.Page, whole scrape.Advert) (homes []scrape.Advert, err error) {
	id, photos := whole.PlatformID, b.photos()
	seen := map[int64]bool{}
	for _, u := range b.Units {
		if u.ID < 1 || seen[u.ID] || u.IsAvailable == nil {
			return nil, web.Unrecognized("advert %s has a unit with the id %d, or does not say whether it is to let", id, u.ID)
		}
		seen[u.ID] = true
		if *u.IsAvailable {
			home := homeOf(whole, u)
			home.ImageURLs = body.Images(p, slices.Concat(photos[u.ID], photos[0])...)
			home.ImageURLs = home.ImageURLs[:min(len(home.ImageURLs), listing.MaxImages)]
			homes = append(homes, home)
		}
	}
	if homes == nil {
		return nil, fault.Newf(fault.Gone, "read %q: none of the %d units of advert %s is to let", p.Asked, len(b.Units), id)
	}
	return homes, nil
}

// photos are addresses by unit; 0 = of the building.
func (b *building) photos() map[int64][]string {
	photos := map[int64][]string{}
	for _, photo := range b.Photos {
		of := int64(0)
		if photo.Unit != nil {
			of = *photo.Unit
		}
		if len(photos[of]) < listing.MaxImages {
			photos[of] = append(photos[of], photo.URL)
		}
	}
	return photos
}

// homeOf makes the advert of a unit from that of its building.
func homeOf(whole scrape.Advert, u unit) scrape.Advert {
	a := whole
	a.PlatformID += "-" + strconv.FormatInt(u.ID, 10)
	name := body.Line(u.RawName)
	if name == "" {
		name = body.Line(u.Name)
	}
	if u.Beds != nil && *u.Beds == 0 && (name == "" || strings.HasPrefix(name, "0 ")) {
		name = "Studio"
	}
	a.Title = strings.TrimSuffix(whole.Title+", "+name, ", ")
	a.Attributes = maps.Clone(whole.Attributes)
	number := func(name string, v *float64) {
		if v != nil {
			a.Attributes[name] = []string{strconv.FormatFloat(*v, 'f', -1, 64)}
		}
	}
	number("beds", u.Beds)
	number("baths", u.Baths)
	number("dimensions", u.Dimensions)
	if u.Furnished != "" {
		a.Attributes["furnished"] = []string{u.Furnished}
	}
	if u.ParkingSpots > 0 {
		a.Attributes["parking_spots"] = []string{strconv.Itoa(u.ParkingSpots)}
	}
	switch {
	case u.Availability.Date != "":
		a.Attributes["available"] = []string{u.Availability.Date}
	case u.Availability.Immediate:
		a.Attributes["available"] = []string{"now"}
	}
	if u.Rent != nil {
		a.Price.AmountCents = field.Dollars(*u.Rent)
		if u.RentMax != nil && *u.RentMax > *u.Rent {
			a.Price.Text = "from $" + strconv.FormatFloat(*u.Rent, 'f', -1, 64)
		}
	}
	return a
}

func (b building) address() string {
	return body.Address(b.Address1, b.City.Name, b.City.Region.Code, b.PostalCode)
}

// attributes are those that hold for each unit. What is nearby is none of them.
func (b building) attributes(id string) map[string][]string {
	out := map[string][]string{"building": {id}}
	if b.PropertyType != "" {
		out["property_type"] = []string{b.PropertyType}
	}
	if b.PetFriendly != nil {
		out["pet_friendly"] = []string{strconv.FormatBool(*b.PetFriendly)}
	}
	if b.LeaseTerm != "" {
		out["lease_term"] = []string{b.LeaseTerm}
	}
	for _, a := range b.Amenities[:min(len(b.Amenities), maxAmenities)] {
		switch a.Category.Slug {
		case "utilities":
			out["utilities"] = append(out["utilities"], a.Slug)
		case "unit-features", "building-features":
			out["amenities"] = append(out["amenities"], a.Slug)
		}
	}
	for _, t := range b.ParkingTypes[:min(len(b.ParkingTypes), maxParking)] {
		value := t.Type
		if t.Rate != nil {
			value += " " + strconv.FormatFloat(*t.Rate, 'f', -1, 64)
		}
		out["parking"] = append(out["parking"], value)
	}
	return out
}

func (b building) posted() *time.Time {
	at, err := time.Parse(time.RFC3339, b.Created)
	if err != nil {
		return nil
	}
	return new(at.UTC())
}
