package kijiji

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadAdvert reads the listing of the page's Apollo cache, or the JSON-LD of a page without one, which knows less:
// the text has lost its lines, and nothing says whether the advert is still up. The site answers for a removed advert
// with a search page, and says adRemoved in its address; an advert whose status is not ACTIVE is fault.Gone as well.
// Whether an advert offers a home or looks for one is the attribute "adtype", OFFER or WANTED.
func (Platform) ReadAdvert(p web.Page) (scrape.Advert, error) {
	if err := web.Check(p); err != nil {
		return scrape.Advert{}, err
	}
	if u, err := url.Parse(p.URL); err == nil && (u.Query().Has("adRemoved") || search(u.EscapedPath()) != nil) {
		return scrape.Advert{}, fault.Newf(fault.Gone, "read %q: the site leads to %q: removed", p.Asked, p.URL)
	}
	if asked, got := idOf(p.Asked), idOf(p.URL); asked != "" && got != "" && asked != got {
		return scrape.Advert{}, fault.Newf(fault.Gone, "read %q: the site leads to another advert: %q", p.Asked, p.URL)
	}
	d, err := open(p)
	if err != nil {
		return scrape.Advert{}, err
	}
	if d.cache != nil {
		return d.cache.advert(p, d.id)
	}
	a, err := advertLD(p, d.ld)
	return a, web.Unread(p, err)
}

// A detail is the data that only the advert's own page has.
type detail struct {
	node
	Kind           string `json:"type"` // OFFER or WANTED
	Status         string `json:"status"`
	EndDate        string `json:"endDate"`
	ActivationDate string `json:"activationDate"` // of the first posting
	SortingDate    string `json:"sortingDate"`    // of the last bump
	AdSource       string `json:"adSource"`
	CategoryID     int64  `json:"categoryId"`
	Attributes     struct {
		All []struct {
			CanonicalName   string `json:"canonicalName"`
			CanonicalValues []text `json:"canonicalValues"`
		} `json:"all"`
	} `json:"attributes"`
	Flags   map[string]any `json:"flags"`
	Metrics struct {
		Views *int64 `json:"views"`
	} `json:"metrics"`
	PosterInfo struct {
		SellerType  string `json:"sellerType"`
		PhoneNumber string `json:"phoneNumber"`
		Verified    *bool  `json:"verified"`
	} `json:"posterInfo"`
	ExternalSource struct {
		SourceProviderID text `json:"sourceProviderId"`
	} `json:"externalSource"`
	VirtualTourURL string          `json:"virtualTourUrl"`
	YouTubeID      string          `json:"youtubeVideoId"`
	MLS            bool            `json:"mlsAd"`
	RentalBadge    json.RawMessage `json:"rentalBadge"`
}

// extra is kept for the audit: what may explain an advert later, and nothing that identifies its poster. An advert that
// was read from JSON-LD has "from": "json-ld" instead.
type extra struct {
	Status              string         `json:"status,omitempty"`
	EndDate             string         `json:"end_date,omitempty"` // 3000-01-01 = open
	SortingDate         string         `json:"sorting_date,omitempty"`
	AdSource            string         `json:"ad_source,omitempty"` // ORGANIC, TOP_AD …
	CategoryID          int64          `json:"category_id,omitempty"`
	LocationID          int64          `json:"location_id,omitempty"`
	Location            string         `json:"location,omitempty"`
	ShowPin             *bool          `json:"show_pin,omitempty"` // false = the coordinates are not the home's own
	Neighbourhood       *neighbourhood `json:"neighbourhood,omitempty"`
	OriginalAmountCents *int64         `json:"original_amount_cents,omitempty"` // before a price drop
	Currency            string         `json:"currency,omitempty"`
	Flags               []string       `json:"flags,omitempty"` // those that are set
	Views               *int64         `json:"views,omitempty"`
	SellerType          string         `json:"seller_type,omitempty"`
	Verified            *bool          `json:"verified,omitempty"`
	SourceProvider      string         `json:"source_provider,omitempty"`
	VirtualTourURL      string         `json:"virtual_tour_url,omitempty"`
	YouTubeID           string         `json:"youtube_id,omitempty"`
	MLS                 bool           `json:"mls,omitempty"`
	RentalBadge         any            `json:"rental_badge,omitempty"`
}

type neighbourhood struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Walk    *int   `json:"walk,omitempty"` // scores, 0 to 10
	Transit *int   `json:"transit,omitempty"`
	Cycle   *int   `json:"cycle,omitempty"`
}

// advert reads the listing that the page is about.
func (c cache) advert(p web.Page, id string) (scrape.Advert, error) {
	var none scrape.Advert
	keys, queries, err := c.query("listing")
	if err != nil {
		return none, err
	}
	// A browser's cache may hold other adverts, too.
	if id == "" {
		id = idOf(p.URL)
	}
	if own := slices.IndexFunc(keys, func(key string) bool { return strings.Contains(key, `"id":"`+id+`"`) }); own > 0 {
		keys = keys[own:]
	}
	if len(keys) == 0 {
		return none, web.Unrecognized("no listing in the Apollo cache")
	}
	var n detail
	if err := c.get(queries[keys[0]], &n); err != nil {
		return none, err
	}
	if n.ID == "" || id != "" && id != string(n.ID) || !ids.MatchString(string(n.ID)) {
		return none, web.Unrecognized("%s is %q with id %q, want advert %q", keys[0], n.Type, n.ID, id)
	}
	if n.Status != "" && n.Status != "ACTIVE" {
		return none, fault.Newf(fault.Gone, "read %q: its status is %q", p.Asked, n.Status)
	}
	if n.Title == "" {
		return none, web.Unrecognized("%s has no title", n.ID)
	}
	u := p.Link(n.URL)
	if n.URL == "" {
		u = p.Link(p.URL)
	}
	if u == nil {
		return none, web.Unrecognized("%s is at %q", n.ID, n.URL)
	}
	u.RawQuery = ""

	a := scrape.Advert{Raw: listing.Raw{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: string(n.ID)}, URL: u.String(),
		Title: n.Title, Description: n.Description,
		Price:   listing.RawPrice{AmountCents: cents(n.Price.Amount), Type: n.Price.Type},
		Address: n.Location.Address, Attributes: map[string][]string{}, ImageURLs: images(p, n.ImageURLs),
	}}
	if at := n.Location.Coordinates; at != nil && at.Latitude != nil && at.Longitude != nil {
		a.Latitude, a.Longitude = at.Latitude, at.Longitude
	}
	for _, attribute := range n.Attributes.All {
		if attribute.CanonicalName == "" {
			return none, web.Unrecognized("%s has an attribute without a canonicalName", n.ID)
		}
		values := a.Attributes[attribute.CanonicalName]
		for _, v := range attribute.CanonicalValues {
			values = append(values, string(v))
		}
		a.Attributes[attribute.CanonicalName] = values
	}
	if n.Kind != "" {
		a.Attributes["adtype"] = []string{n.Kind}
	}
	if posted, err := time.Parse(time.RFC3339, n.ActivationDate); err == nil {
		posted = posted.UTC()
		a.PostedAt = &posted
	}
	if a.Contact.Name, err = c.profile(queries); err != nil {
		return none, err
	}
	if phone.MatchString(n.PosterInfo.PhoneNumber) {
		a.Contact.Phone = n.PosterInfo.PhoneNumber
	}
	a.Extra, err = c.extra(n)
	return a, err
}

func (c cache) extra(n detail) (json.RawMessage, error) {
	e := extra{
		Status: n.Status, EndDate: n.EndDate, SortingDate: n.SortingDate, AdSource: n.AdSource, CategoryID: n.CategoryID,
		LocationID: n.Location.ID, Location: n.Location.Name, ShowPin: n.Location.ShowPin,
		OriginalAmountCents: cents(n.Price.OriginalAmount), Currency: n.Price.Currency, Views: n.Metrics.Views,
		SellerType: n.PosterInfo.SellerType, Verified: n.PosterInfo.Verified,
		SourceProvider: string(n.ExternalSource.SourceProviderID), VirtualTourURL: n.VirtualTourURL, YouTubeID: n.YouTubeID,
		MLS: n.MLS,
	}
	for _, flag := range slices.Sorted(maps.Keys(n.Flags)) {
		if n.Flags[flag] == true {
			e.Flags = append(e.Flags, flag)
		}
	}
	if s := string(n.RentalBadge); s != "" && s != "null" {
		e.RentalBadge = n.RentalBadge
	}
	var around struct {
		ID     text   `json:"id"`
		Name   string `json:"name"`
		Scores struct {
			Transportation struct {
				Walk, Transit, Cycle struct {
					Score *int `json:"score"`
				}
			} `json:"transportation"`
		} `json:"scores"`
	}
	err := c.get(n.Location.NeighbourhoodInfo, &around) // the advert is read without it, too
	if err == nil && around.Name != "" {
		score := around.Scores.Transportation
		e.Neighbourhood = &neighbourhood{string(around.ID), around.Name, score.Walk.Score, score.Transit.Score,
			score.Cycle.Score}
	}
	return json.Marshal(e)
}

// profile returns the name under which a business posts, "" where the page shows none.
func (c cache) profile(queries map[string]json.RawMessage) (string, error) {
	var profile struct {
		Type string `json:"__typename"`
		Name string `json:"name"`
	}
	for _, key := range members(queries, "profile") {
		if err := c.get(queries[key], &profile); err != nil {
			return "", fmt.Errorf("profile: %w", err)
		}
		if strings.HasPrefix(profile.Type, "CommercialProfile") {
			return profile.Name, nil
		}
	}
	return "", nil
}

// phone is a number to call; the site shows "514256xxxx" until a visitor asks for the rest.
var phone = regexp.MustCompile(`^\+?[\d().\s-]{10,20}$`)

// idOf is the last segment of an advert's address, "" for another address.
func idOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if id := u.Path[strings.LastIndexByte(u.Path, '/')+1:]; ids.MatchString(id) {
		return id
	}
	return ""
}

// images makes image addresses absolute and drops what is none, in order.
func images(p web.Page, urls []string) (out []string) {
	for _, s := range urls {
		if u := p.Link(s); u != nil {
			out = append(out, u.String())
		}
	}
	return out
}
