package kijiji

import (
	"encoding/json"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadSearch reads the adverts of the page's Apollo cache, paid ones first, or those of its JSON-LD where it has no
// cache; Total is then -1. Without a count, a page after the first that lists none is the last. A page that lists
// none although its count says that there are some is a *ShapeError.
func (Platform) ReadSearch(p web.Page) (scrape.Results, error) { return scrape.Once(read(p)) }

func read(p web.Page) (scrape.Results, error) {
	if err := web.Check(p); err != nil {
		return scrape.Results{}, err
	}
	d, err := open(p)
	if err != nil {
		return scrape.Results{}, err
	}
	if d.cache != nil {
		return d.cache.search(p)
	}
	r, err := searchLD(p, d.ld)
	return r, web.Unread(p, err)
}

func (c cache) search(p web.Page) (scrape.Results, error) {
	var none scrape.Results
	keys, queries, err := c.query("searchResultsPageByUrl")
	if err != nil {
		return none, err
	}
	if len(keys) == 0 {
		return none, web.Unrecognized("no searchResultsPageByUrl in the Apollo cache")
	}
	key := keys[0]
	if u, err := url.Parse(p.URL); err == nil { // a browser's cache may hold the pages before, too
		key = keys[max(0, slices.Index(keys, "searchResultsPageByUrl:"+u.Path))]
	}
	var found struct {
		Pagination struct {
			Offset     int  `json:"offset"`
			Limit      int  `json:"limit"`
			TotalCount *int `json:"totalCount"`
		} `json:"pagination"`
		Results map[string]json.RawMessage `json:"results"`
	}
	if err := c.get(queries[key], &found); err != nil {
		return none, err
	}
	main := members(found.Results, "mainListings")
	if len(main) == 0 {
		return none, web.Unrecognized("no mainListings in %s", key)
	}
	r := scrape.Results{Total: -1}
	add := func(member string) (listed int, err error) {
		var entries []json.RawMessage
		if err := c.get(found.Results[member], &entries); err != nil {
			return 0, err
		}
		for _, raw := range entries {
			card, ok, err := c.card(p, raw)
			if err != nil {
				return 0, err
			}
			if ok {
				listed, r.Cards = listed+1, append(r.Cards, card)
			}
		}
		return listed, nil
	}
	if _, err := add("topListings"); err != nil {
		return none, err
	}
	organic := 0
	for _, member := range main {
		n, err := add(member)
		if err != nil {
			return none, err
		}
		organic += n
	}
	at, limit := found.Pagination.Offset, max(found.Pagination.Limit, organic)
	if n := found.Pagination.TotalCount; n != nil && *n >= organic { // less than what is there is no count
		r.Total = *n
	}
	switch {
	case organic > 0:
		r.Last = r.Total >= 0 && at+limit >= r.Total
	case r.Total > at:
		return none, web.Unrecognized("%d adverts from %d on, and none is listed", r.Total-at, at)
	case r.Total < 0 && at <= 0:
		return none, web.Unrecognized("no adverts and no count")
	default:
		r.Last = true
	}
	r.Last = r.Last || pageOf(p.Asked) > pageOf(p.URL) // the site led back
	return r, nil
}

// A node is an advert in the cache, on a search page and on its own.
type node struct {
	Type        string   `json:"__typename"`
	ID          text     `json:"id"`
	URL         string   `json:"url"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	ImageURLs   []string `json:"imageUrls"`
	ImageCount  *int     `json:"imageCount"` // search pages, since 2026
	Price       price    `json:"price"`
	Location    struct {
		ID          int64  `json:"id"`
		Name        string `json:"name"`
		Address     string `json:"address"`
		Coordinates *struct {
			Latitude  *float64 `json:"latitude"`
			Longitude *float64 `json:"longitude"`
		} `json:"coordinates"`
		NeighbourhoodInfo json.RawMessage `json:"neighbourhoodInfo"`
		ShowPin           *bool           `json:"showPinOnMap"`
	} `json:"location"`
}

// A price has an amount in cents, or none (NonAmountPrice): then its type is CONTACT, GIVE_AWAY or SWAP_TRADE.
type price struct {
	Type           string   `json:"type"`
	Amount         *float64 `json:"amount"`
	OriginalAmount *float64 `json:"originalAmount"`
	Currency       string   `json:"currency"`
}

// cents rounds an amount; nil stays nil, and an amount that no rent can be becomes nil.
func cents(amount *float64) *int64 {
	if amount == nil || !(*amount >= 0 && *amount < 1e12) {
		return nil
	}
	n := int64(math.Round(*amount))
	return &n
}

var ids = regexp.MustCompile(`^\d{4,20}$`)

// card reads one entry of a list; ok is false for an entry that is no advert.
func (c cache) card(p web.Page, raw json.RawMessage) (card scrape.Card, ok bool, err error) {
	var n node
	if err := c.get(raw, &n); err != nil {
		return card, false, err
	}
	if n.ID == "" && n.Type != "" && !strings.HasSuffix(n.Type, "Listing") {
		return card, false, nil // something between the adverts
	}
	u := p.Link(n.URL)
	if !ids.MatchString(string(n.ID)) || u == nil || n.Title == "" {
		return card, false, web.Unrecognized("%s has id %q, url %q and title %q", n.Type, n.ID, n.URL, n.Title)
	}
	u.RawQuery = ""
	images := len(n.ImageURLs)
	if n.ImageCount != nil {
		images = *n.ImageCount
	}
	amount := n.Price.Type
	if c := cents(n.Price.Amount); c != nil {
		amount += strconv.FormatInt(*c, 10)
	}
	return scrape.Card{PlatformID: string(n.ID), URL: u.String(), Title: n.Title, Fingerprint: scrape.Fingerprint(n.Title,
		amount, n.Location.Address, n.Description, strconv.Itoa(images))}, true, nil
}
