package demosite

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// A ref is how Apollo's cache points at an entry.
type ref struct {
	To string `json:"__ref"`
}

// node is an advert in the Apollo cache, on a search page and, with more members, on its own.
type node struct {
	Type        string       `json:"__typename"`
	ID          string       `json:"id"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	ImageCount  int          `json:"imageCount,omitempty"` // search pages only
	ImageURLs   []string     `json:"imageUrls"`
	CategoryID  int          `json:"categoryId"`
	URL         string       `json:"url"`
	Activation  string       `json:"activationDate"`
	Sorting     string       `json:"sortingDate"`
	AdSource    string       `json:"adSource"`
	Location    nodeLocation `json:"location"`
	Price       any          `json:"price"`
	Flags       flags        `json:"flags"`
	Poster      poster       `json:"posterInfo"`
	Attributes  attributes   `json:"attributes"`
	*detail
}

// detail is the data that only the advert's own page has.
type detail struct {
	Kind    string         `json:"type"`
	Status  string         `json:"status"`
	End     string         `json:"endDate"`
	Metrics map[string]any `json:"metrics"`
	Source  any            `json:"externalSource"`
	Tour    *string        `json:"virtualTourUrl"`
	MLS     bool           `json:"mlsAd"`
	Badge   *string        `json:"rentalBadge"`
}

type nodeLocation struct {
	Type          string   `json:"__typename"`
	ID            int      `json:"id"`
	Name          string   `json:"name"`
	Address       string   `json:"address"`
	Distance      *float64 `json:"distance"`
	ShowPin       bool     `json:"showPinOnMap,omitempty"` // detail pages only
	Coordinates   any      `json:"coordinates"`
	Neighbourhood *ref     `json:"neighbourhoodInfo"`
}

type coordinates struct {
	Type      string  `json:"__typename"`
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type amountPrice struct {
	Type     string `json:"__typename"`
	Kind     string `json:"type"`
	Amount   int64  `json:"amount"` // cents
	Currency string `json:"currency,omitempty"`
	Original *int64 `json:"originalAmount"`
}

type noPrice struct {
	Type string `json:"__typename"`
	Kind string `json:"type"`
}

type flags struct {
	Type      string `json:"__typename"`
	PriceDrop bool   `json:"priceDrop"`
	TopAd     bool   `json:"topAd"`
	Showcase  bool   `json:"showcase"`
	Highlight bool   `json:"highlight"`
	Tour      bool   `json:"virtualTour"`
}

type poster struct {
	Type     string   `json:"__typename"`
	ID       string   `json:"posterId"`
	Rating   *float64 `json:"rating"`
	Verified bool     `json:"verified"`
	Seller   string   `json:"sellerType,omitempty"`  // this and the next, detail pages only
	Phone    string   `json:"phoneNumber,omitempty"` // masked
}

type attributes struct {
	Type string      `json:"__typename"`
	All  []attribute `json:"all"`
}

type attribute struct {
	Type   string   `json:"__typename"`
	Name   string   `json:"canonicalName"`
	Values []string `json:"canonicalValues"`
	Shown  []string `json:"values,omitempty"` // this and the next, detail pages only
	Label  string   `json:"name,omitempty"`
}

// kijijiLabels are the attributes in the order in which adverts have them, and their labels.
var kijijiLabels = [][2]string{
	{"heat", "Heat"}, {"hydro", "Hydro"}, {"water", "Water"}, {"cabletv", "Cable / TV"}, {"internet", "Internet"},
	{"yard", "Yard"}, {"balcony", "Balcony"}, {"numberparkingspots", "Parking Included"},
	{"laundryinunit", "Laundry (In Unit)"}, {"laundryinbuilding", "Laundry (In Building)"},
	{"elevator", "Elevator in Building"},
	{"numberbedrooms", "Bedrooms"}, {"numberbathrooms", "Bathrooms"}, {"furnished", "Furnished"},
	{"bicycleparking", "Bicycle Parking"}, {"forrentbyhousing", "For Rent By"}, {"concierge", "Concierge"},
	{"unittype", "Unit Type"}, {"fridgefreezer", "Fridge / Freezer"}, {"dishwasher", "Dishwasher"}, {"pool", "Pool"},
	{"petsallowed", "Pet Friendly"}, {"areainfeet", "Size (sqft)"}, {"airconditioning", "Air Conditioning"},
	{"twentyfourhoursecurity", "24 Hour Security"}, {"smokingpermitted", "Smoking Permitted"},
	{"agreementtype", "Agreement Type"}, {"storagelocker", "Storage Space"}, {"gym", "Gym"},
	{"wheelchairaccessible", "Wheelchair accessible"}, {"visualaids", "Visual Aids"}, {"audioprompts", "Audio Prompts"},
	{"braillelabels", "Braille Labels"}, {"barrierfreeentrancesandramps", "Barrier-free Entrances and Ramps"},
	{"accessiblewashroomsinsuite", "Accessible Washrooms in Suite"}, {"dateavailable", "Move-In Date"},
}

// kijijiValues are an advert's attributes. "0" is the value that a form left blank sends.
func (o *home) kijijiValues() map[string]string {
	yes := func(b bool) string { return strconv.Itoa(bit(b)) }
	v := map[string]string{
		"heat":               yes(o.says("chauffé", "chauffage inclus", "tout inclus") && !o.says("non chauffé")),
		"hydro":              yes(o.says("électricité inclus", "tout inclus", "tout compris")),
		"water":              yes(o.says("eau chaude")),
		"cabletv":            yes(o.says("câble inclus")),
		"internet":           yes(o.says("internet inclus", "wifi inclus")),
		"yard":               yes(o.says("cour arrière", "terrain")),
		"balcony":            yes(o.says("balcon")),
		"numberparkingspots": yes(o.says("stationnement")),
		"laundryinbuilding":  yes(o.says("buanderie")),
		"elevator":           yes(o.says("ascenseur")),
		"numberbedrooms":     strconv.Itoa(min(5, o.bedrooms())),
		"numberbathrooms":    strconv.Itoa(o.bathrooms),
		"furnished":          yes(o.furnished),
		"bicycleparking":     yes(o.says("vélo")),
		"forrentbyhousing":   [2]string{"ownr", "reprofessional"}[bit(o.pro)],
		"unittype":           "apartment",
		"fridgefreezer":      yes(o.says("frigo", "réfrigérateur")),
		"dishwasher":         yes(o.says("lave-vaisselle")),
		"pool":               yes(o.says("piscine")),
		"petsallowed":        o.pets,
		"areainfeet":         "0",
		"airconditioning":    yes(o.says("climatis", "air conditionné")),
		"smokingpermitted":   "0",
		"agreementtype":      "one-year",
		"storagelocker":      yes(o.says("rangement")),
		"gym":                yes(o.says("salle d'entraînement", "gym")),
		"dateavailable":      "",
	}
	switch {
	case o.says("sous-sol"):
		v["unittype"] = "basement-apartment"
	case o.says("duplex", "triplex"):
		v["unittype"] = "duplex-triplex"
	case o.says("condo"):
		v["unittype"] = "condo"
	}
	if o.views%3 == 0 {
		v["areainfeet"] = strconv.Itoa(300 + int(o.rooms*100) + o.views%90)
	}
	if o.says("juillet") {
		v["dateavailable"] = "2026-07-01T00:00:00Z"
	}
	return v
}

// kijijiShown are the values that are not written as a number or as yes and no.
var kijijiShown = map[string]string{
	"apartment": "Apartment", "condo": "Condo", "basement-apartment": "Basement", "duplex-triplex": "Duplex/Triplex",
	"one-year": "1 Year", "ownr": "Owner", "reprofessional": "Professional",
}

func (o *home) kijijiAttributes(full bool) attributes {
	values := o.kijijiValues()
	out := attributes{Type: "RealEstateListingAttributes"}
	for _, l := range kijijiLabels {
		v, ok := values[l[0]]
		if !ok {
			v = "0"
		}
		if v == "" { // not stated: petsallowed, dateavailable
			continue
		}
		a := attribute{Type: "ListingAttributeV2", Name: l[0], Values: []string{v}}
		if full {
			a.Label, a.Shown = l[1], []string{readable(l[0], v)}
			if l[0] == "areainfeet" && v == "0" {
				a.Values = []string{}
			}
		}
		out.All = append(out.All, a)
	}
	return out
}

func readable(name, value string) string {
	switch s := kijijiShown[value]; {
	case s != "":
		return s
	case name == "numberbathrooms":
		n, _ := strconv.Atoi(value)
		return strconv.FormatFloat(float64(n)/10, 'f', -1, 64)
	case strings.HasPrefix(name, "number") || name == "areainfeet":
		return value
	case name == "dateavailable":
		return "July 1, 2026"
	}
	return [2]string{"No", "Yes"}[bit(value == "1")]
}

// teaser is the beginning of a description, as search pages cut it.
func teaser(text string) string {
	s := []rune(plain(text))
	if len(s) <= 200 {
		return string(s)
	}
	cut := string(s[:197])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return cut + " ..."
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (o *home) neighbourhood() (key, name string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.quartier))
	return fmt.Sprintf("g10_%08x", h.Sum32()), o.quartier
}

// kijijiNode is the advert's entry in the cache. full is that of its own page, top that of one that is shown for pay.
func (a shown) kijijiNode(full, top bool) node {
	n := node{
		Type: "RealEstateListing", ID: a.id, Title: a.heading(), CategoryID: 37, URL: here + a.path(), ImageURLs: a.allPhotos(),
		Activation: stamp(a.posted), Sorting: stamp(a.sorted), AdSource: "ORGANIC",
		Location: nodeLocation{
			Type: "RealEstateListingLocation", ID: 1700281, Name: "City of Montréal", Address: a.address,
			Coordinates: coordinates{"LocationCoordinates", a.lat, a.lon},
		},
		Price:      noPrice{"NonAmountPrice", "CONTACT"},
		Flags:      flags{Type: "RealEstateListingFlags", PriceDrop: a.was > 0, TopAd: a.top},
		Poster:     poster{Type: "PosterInfo", ID: "10" + a.id[5:], Verified: a.pro},
		Attributes: a.kijijiAttributes(full),
	}
	if top {
		n.AdSource = "TOP_AD"
	}
	if full || !a.pro {
		key, _ := a.neighbourhood()
		n.Location.Neighbourhood = &ref{"NeighbourhoodInfo:" + key}
	}
	if a.cents > 0 {
		p := amountPrice{Type: "StandardAmountPrice", Kind: "FIXED", Amount: a.cents}
		if a.was > 0 {
			p.Original = &a.was
		}
		if full {
			p.Currency = "CAD"
		}
		n.Price = p
	}
	if !full {
		n.Description, n.ImageCount = teaser(a.texts[bit(a.edit)]), a.photos
		if !a.pro {
			n.ImageURLs = n.ImageURLs[:1]
		}
		return n
	}
	n.Description, n.Location.ShowPin = a.texts[bit(a.edit)], true
	n.Poster.Phone, n.Poster.Seller = a.phone, [2]string{"FSBO", "KMB"}[bit(a.pro)]
	n.detail = &detail{
		Kind: "OFFER", Status: "ACTIVE", End: "3000-01-01T00:00:00.000Z",
		Metrics: map[string]any{"__typename": "ListingMetrics", "views": a.views},
		Source:  map[string]any{"__typename": "ExternalListingSource", "sourceProviderId": "1"},
	}
	return n
}

// residence is the advert in JSON-LD: dollars, and entities in its strings.
func (a shown) residence(text string) map[string]any {
	entities := strings.NewReplacer("&", "&amp;", "'", "&apos;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	v := a.kijijiValues()
	rooms := strconv.Itoa(a.bedrooms())
	offer := map[string]any{"@type": "Offer", "availability": "https://schema.org/InStock", "priceCurrency": "CAD"}
	if a.cents > 0 {
		offer["price"] = strconv.FormatFloat(float64(a.cents)/100, 'f', -1, 64)
	}
	return map[string]any{
		"@context": "https://schema.org", "@type": "SingleFamilyResidence", "name": entities.Replace(a.heading()),
		"description": entities.Replace(text), "image": a.photo(1), "offers": offer, "url": here + a.path(),
		"leaseLength": v["agreementtype"], "numberOfBedrooms": rooms, "numberOfRooms": rooms,
		"numberOfBathroomsTotal": readable("numberbathrooms", v["numberbathrooms"]),
		"petsAllowed":            strconv.FormatBool(v["petsallowed"] == "1"), "address": entities.Replace(a.address),
		"floorSize": map[string]any{"@type": "QuantitativeValue", "unitCode": "FTK", "value": v["areainfeet"]},
	}
}
