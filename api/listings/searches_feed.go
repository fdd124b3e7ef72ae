package listings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/saved"
)

// feedItems is how many news a feed has, the newest.
const feedItems = 100

// problems is the content of a refusal on a route that huma does not serve.
var problems = map[string]*huma.MediaType{"application/problem+json": {
	Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"},
}}

// feeds registers the feeds of saved searches. Who knows the address may read one: these are gin routes, as they answer
// in formats that huma does not write; huma knows them for the gate and the document.
func (h Searches) feeds(d *api.Door) {
	d.API.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "get-feed", Method: http.MethodGet, Path: "/feeds/{file}", Tags: []string{"searches"},
		Summary: "Read the feed of a saved search: Atom, or JSON Feed",
		Description: "The address, which cannot be guessed, is the only credential. If-None-Match is answered with 304 while " +
			"there is nothing new.",
		Parameters: []*huma.Param{{
			Name: "file", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
			Description: "token of the feed with .atom or .json",
		}},
		Responses: map[string]*huma.Response{
			"200": {Description: "The newest news", Content: map[string]*huma.MediaType{
				"application/atom+xml": {}, "application/feed+json": {},
			}},
			"304": {Description: "Nothing is new"},
			"404": {Description: "There is no such feed", Content: problems},
			"429": {Description: "Too many requests from the address", Content: problems},
			"503": {Description: "The database is away", Content: problems},
		},
	})
	d.Router.GET("/feeds/:file", h.feed)
}

func (h Searches) feed(c *gin.Context) {
	token, format, _ := strings.Cut(c.Param("file"), ".")
	if format != "atom" && format != "json" {
		api.Answer(c, huma.Error404NotFound("there is no such feed"))
		return
	}
	ctx := c.Request.Context()
	f, err := h.Store.Feed(ctx, sumOf(token), feedItems)
	if err != nil {
		api.Answer(c, api.Problem(ctx, h.door.Log, err))
		return
	}
	body, kind, err := atomOf(f), "application/atom+xml; charset=utf-8", error(nil)
	if format == "json" {
		kind = "application/feed+json; charset=utf-8"
		if body, err = jsonFeedOf(f); err != nil {
			api.Answer(c, api.Problem(ctx, h.door.Log, err))
			return
		}
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	c.Header("ETag", tag)
	c.Header("Cache-Control", "private, max-age=60")
	c.Header("X-Robots-Tag", "noindex")
	if api.Unchanged(c.GetHeader("If-None-Match"), tag) {
		c.Status(http.StatusNotModified)
		return
	}
	c.Data(http.StatusOK, kind, body)
}

// updated is when the newest item of a feed was found, or the feed was made.
func updated(f dblistings.SavedFeed) time.Time {
	at := f.CreatedAt
	for _, i := range f.Items {
		if i.At.After(at) {
			at = i.At
		}
	}
	return at.UTC().Truncate(time.Second)
}

// itemID is the same for one piece of news whatever becomes of its listing.
func itemID(f dblistings.SavedFeed, i saved.Item) string {
	at := i.At.UTC().Format(time.RFC3339Nano)
	sum := sha256.Sum256([]byte(f.Search.String() + string(i.Kind) + i.Listing.String() + at))
	return "urn:conveyor:news:" + hex.EncodeToString(sum[:16])
}

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Entries []atomEntry `xml:"entry"`
}

type atomEntry struct {
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Link    atomLink `xml:"link"`
	Summary string   `xml:"summary,omitempty"`
}

type atomLink struct {
	Href string `xml:"href,attr"`
}

func atomOf(f dblistings.SavedFeed) []byte {
	out := atomFeed{
		ID: "urn:uuid:" + f.Search.String(), Title: f.Name, Updated: updated(f).Format(time.RFC3339), Author: "Conveyor",
	}
	for _, i := range f.Items {
		out.Entries = append(out.Entries, atomEntry{
			ID: itemID(f, i), Title: i.HeadlineIn(f.Language), Updated: i.At.UTC().Format(time.RFC3339), Link: atomLink{i.URL},
			Summary: i.Address,
		})
	}
	body, err := xml.Marshal(out)
	if err != nil {
		panic(err) // text and times: there is nothing that cannot be written
	}
	return append([]byte(xml.Header), body...)
}

type jsonFeed struct {
	Version string         `json:"version"`
	Title   string         `json:"title"`
	Items   []jsonFeedItem `json:"items"`
}

type jsonFeedItem struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	Title     string    `json:"title"`
	Text      string    `json:"content_text"`
	Published time.Time `json:"date_published"`
	Home      FoundHome `json:"_conveyor"`
}

func jsonFeedOf(f dblistings.SavedFeed) ([]byte, error) {
	out := jsonFeed{Version: "https://jsonfeed.org/version/1.1", Title: f.Name, Items: []jsonFeedItem{}}
	for _, i := range f.Items {
		out.Items = append(out.Items, jsonFeedItem{
			ID: itemID(f, i), URL: i.URL, Title: i.HeadlineIn(f.Language), Text: i.Address, Published: i.At.UTC(),
			Home: showFound(i),
		})
	}
	return json.Marshal(out)
}
