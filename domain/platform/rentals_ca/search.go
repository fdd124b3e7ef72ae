package rentalsca

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/platform/body"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// ReadSearch reads the entries of App.store.search, which a script of the page holds: a list of edges, whether it goes
// on, and how many there are. A page without entries is empty only where the count is 0, or where it comes after
// the last.
func (Platform) ReadSearch(p web.Page) (scrape.Results, error) { return scrape.Read(p, search) }

// A connection is a list of entries as GraphQL gives it.
type connection struct {
	Edges []struct {
		Node node `json:"node"`
	} `json:"edges"`
	PageInfo *struct {
		HasNextPage *bool `json:"hasNextPage"`
	} `json:"pageInfo"`
	Meta struct {
		TotalCount *int `json:"totalCount"`
	} `json:"meta"`
}

// A node is a building or home on a search page. Two versions of the site name its members differently.
type node struct {
	ID      string `json:"id"` // base64 of "rentallisting:704308"
	Path    string `json:"path"`
	Name    string `json:"name"`
	OldName string `json:"rentalListingName"`
	Address struct {
		Street     string `json:"street"`
		PostalCode string `json:"postalCode"`
	} `json:"address"`
	Rent       json.RawMessage `json:"rentRange"`
	Beds       json.RawMessage `json:"bedsRange"`
	Baths      json.RawMessage `json:"bathsRange"`
	Size       json.RawMessage `json:"sizeRange"`
	FloorPlans json.RawMessage `json:"floorPlans"`
	Images     int             `json:"imagesCount"`
}

func search(p web.Page) (scrape.Results, error) {
	var none scrape.Results
	doc, err := body.HTML(p)
	if err != nil {
		return none, err
	}
	store, err := body.Assigned(doc, "App.store.search")
	if err != nil {
		return none, err
	}
	raw := connectionIn(store, 8)
	if raw == nil {
		return none, web.Unrecognized("no App.store.search with edges and pageInfo")
	}
	var found connection
	if err := json.Unmarshal(raw, &found); err != nil {
		return none, web.Unrecognized("App.store.search: %v", err)
	}
	if found.PageInfo == nil || found.PageInfo.HasNextPage == nil {
		return none, web.Unrecognized("App.store.search does not say whether a page follows")
	}
	r := scrape.Results{Total: -1, Last: !*found.PageInfo.HasNextPage}
	if n := found.Meta.TotalCount; n != nil && *n >= len(found.Edges) {
		r.Total = *n
	}
	for _, e := range found.Edges {
		c, err := cardOf(p, e.Node)
		if err != nil {
			return none, err
		}
		r.Cards = append(r.Cards, c)
	}
	switch {
	case len(r.Cards) > 0:
	case !r.Last, r.Total != 0 && pageOf(p.Asked) == 1:
		return none, web.Unrecognized("App.store.search has no entries, and no count of 0")
	}
	return r, nil
}

// connectionIn finds the list of entries within the store: the object, at most deep levels down, that has edges and
// pageInfo. Members are looked at in the order of their names.
func connectionIn(raw json.RawMessage, deep int) json.RawMessage {
	var object map[string]json.RawMessage
	if deep == 0 || json.Unmarshal(raw, &object) != nil {
		return nil
	}
	if object["edges"] != nil && object["pageInfo"] != nil {
		return raw
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if found := connectionIn(object[name], deep-1); found != nil {
			return found
		}
	}
	return nil
}

func cardOf(p web.Page, n node) (c scrape.Card, err error) {
	id := idOf(n.ID)
	u := p.Link("/" + strings.TrimPrefix(n.Path, "/"))
	title := body.Line(n.Name)
	for _, other := range []string{n.OldName, n.Address.Street} {
		if title == "" {
			title = body.Line(other)
		}
	}
	if id == "" || u == nil || !advertPath.MatchString(u.Path) || title == "" {
		return c, web.Unrecognized("an entry has the id %q, the path %q and the name %q", n.ID, n.Path, title)
	}
	u.RawQuery, u.ForceQuery = "", false
	c = scrape.Card{PlatformID: id, URL: u.String(), Title: title}
	c.Fingerprint = scrape.Fingerprint(title, n.Address.Street, n.Address.PostalCode, string(n.Rent), string(n.Beds),
		string(n.Baths), string(n.Size), string(n.FloorPlans), strconv.Itoa(n.Images))
	return c, nil
}

// idOf is the number within a node's ID, "" for anything else.
func idOf(id string) string {
	plain, err := base64.StdEncoding.DecodeString(id)
	if err != nil {
		return ""
	}
	number, ok := strings.CutPrefix(string(plain), "rentallisting:")
	if n, err := strconv.ParseInt(number, 10, 64); !ok || err != nil || n < 1 {
		return ""
	}
	return number
}
