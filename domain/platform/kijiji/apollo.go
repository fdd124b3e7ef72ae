package kijiji

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/PuerkitoBio/goquery"

	"github.com/mtlrent/conveyor/domain/web"
)

// A document is the data of a page: the site's own cache, and the data for search engines.
type document struct {
	cache cache             // nil = the page has none
	id    string            // of the advert, on a detail page
	ld    []json.RawMessage // JSON-LD
}

// A cache is Apollo's: entities by "Type:id", and under "ROOT_QUERY" what each query of the page returned.
type cache map[string]json.RawMessage

// open takes a page apart. A page that was cut off is a *ShapeError, unless all of the cache arrived. A page
// with the site's own data, whatever is in it, is no challenge.
func open(p web.Page) (document, error) {
	var d document
	html, err := goquery.NewDocumentFromReader(bytes.NewReader(p.Body))
	if err != nil {
		return d, web.Unrecognized("no HTML: %v", err)
	}
	next := html.Find("script#__NEXT_DATA__")
	if next.Length() > 0 {
		var data struct {
			Props struct {
				PageProps struct {
					ListingID text  `json:"listingId"`
					Apollo    cache `json:"__APOLLO_STATE__"`
				} `json:"pageProps"`
			} `json:"props"`
		}
		if err := json.Unmarshal([]byte(next.First().Text()), &data); err != nil {
			return d, web.Unrecognized("__NEXT_DATA__: %v", err)
		}
		d.cache, d.id = data.Props.PageProps.Apollo, string(data.Props.PageProps.ListingID)
	}
	if d.cache != nil {
		return d, nil
	}
	// A browser closes what is open: of a page that was cut off, it leaves the application without its data, or no
	// text.
	if !bytes.Contains(bytes.ToLower(p.Body[max(0, len(p.Body)-1024):]), []byte("</html>")) ||
		next.Length() == 0 && (html.Find("#__next").Length() > 0 || blank(html.Find("body"))) {
		return d, web.Unread(p, web.Unrecognized("neither __NEXT_DATA__ nor a whole page without it"))
	}
	html.Find(`script[type="application/ld+json"]`).Each(func(_ int, s *goquery.Selection) {
		if raw := []byte(s.Text()); json.Valid(raw) {
			d.ld = append(d.ld, raw)
		}
	})
	return d, nil
}

// blank tells whether an element shows no word.
func blank(s *goquery.Selection) bool {
	s = s.Clone()
	s.Find("script").Remove()
	return strings.IndexFunc(s.Text(), unicode.IsLetter) < 0
}

// get decodes a member into out, following a reference. A member that is missing or null leaves out alone.
func (c cache) get(raw json.RawMessage, out any) error {
	var link struct {
		Ref string `json:"__ref"`
	}
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &link); err != nil {
			return web.Unrecognized("%v", err)
		}
	}
	if link.Ref != "" {
		var ok bool
		if raw, ok = c[link.Ref]; !ok {
			return web.Unrecognized("%s is referred to and missing", link.Ref)
		}
	}
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return web.Unrecognized("%s: %v", link.Ref, err)
	}
	return nil
}

// query returns what the queries called name returned, in the order of their arguments: "name", "name:…" or
// "name({…})".
func (c cache) query(name string) (keys []string, results map[string]json.RawMessage, err error) {
	if err := c.get(c["ROOT_QUERY"], &results); err != nil {
		return nil, nil, err
	}
	return members(results, name), results, nil
}

// members lists the keys of a query and its arguments.
func members(m map[string]json.RawMessage, name string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(key string) bool {
		rest, ok := strings.CutPrefix(key, name)
		return !ok || rest != "" && rest[0] != ':' && rest[0] != '('
	})
}

// text is a string that some versions of the site send as a number.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(t))
	}
	var n json.Number
	err := json.Unmarshal(b, &n)
	*t = text(n)
	return err
}
