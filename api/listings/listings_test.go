package listings_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

const plateau = "le-plateau-mont-royal"

func TestSearch(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	at := func(lat, lon float64) (*float64, *float64) { return &lat, &lon }
	lat, lon := at(45.52, -73.58)
	farLat, farLon := at(46.81, -71.21)
	for i, l := range []listing.Listing{
		{Ref: apitest.Kijiji("cheap"), Title: "Studio meublé près du métro", RentCents: 80_000, Latitude: lat, Longitude: lon,
			Furnished: "yes", AreaSqFt: 400, Pets: listing.Pets{Policy: "no"}, ScrapedAt: apitest.Now, Available: "now"},
		{Ref: apitest.Kijiji("middle"), Title: "Beau 4½", RentCents: 150_050, Bedrooms: 2, Latitude: lat, Longitude: lon,
			Rooms: 4.5, Parking: listing.Parking{Offer: "included", Type: "indoor"}, Pets: listing.Pets{Cats: "yes"},
			Lease: "one-year", ScrapedAt: apitest.Now, Available: "2099-07"},
		{Ref: apitest.Kijiji("far"), Title: "Loft, Québec", RentCents: 120_000, Bedrooms: 1, Latitude: farLat, Longitude: farLon},
		{Ref: listing.Ref{Platform: "kangalou", PlatformID: "dear"}, Title: "Maison de ville", RentCents: 400_000,
			Bedrooms: 4},
	} {
		d.Publish(t, l, "", apitest.Now.Add(time.Duration(i)*time.Hour))
	}
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"everything, newest first", "", []string{"dear", "far", "middle", "cheap"}},
		{"cheapest first", "sort=price", []string{"cheap", "far", "middle", "dear"}},
		{"dearest first", "sort=-price", []string{"dear", "middle", "far", "cheap"}},
		{"the last changed first", "sort=-updated", []string{"dear", "far", "middle", "cheap"}},
		{"changed since, inclusive", "updated_since=" + url.QueryEscape(apitest.Now.Add(2*time.Hour).Format(time.RFC3339Nano)),
			[]string{"dear", "far"}},
		{"with pictures", "has_images=yes", []string{}},
		{"without pictures", "has_images=no&max_price=1300", []string{"far", "cheap"}},
		{"a platform", "platform=kangalou", []string{"dear"}},
		{"a platform without listings", "platform=nobody", []string{}},
		{"active", "status=active", []string{"dear", "far", "middle", "cheap"}},
		{"archived", "status=archived", []string{}},
		{"claimed", "status=claimed", []string{}},
		{"any status", "status=any", []string{"dear", "far", "middle", "cheap"}},
		{"a neighbourhood without listings", "neighbourhood=" + plateau, []string{}},
		{"from a price, inclusive", "min_price=1200&sort=price", []string{"far", "middle", "dear"}},
		{"up to a price, cents count", "max_price=1500", []string{"far", "cheap"}},
		{"between prices", "min_price=1000&max_price=2000", []string{"far", "middle"}},
		{"one count of bedrooms", "bedrooms=2", []string{"middle"}},
		{"studios", "bedrooms=0", []string{"cheap"}},
		{"several counts of bedrooms", "bedrooms=0,4", []string{"dear", "cheap"}},
		{"at least as many bedrooms", "min_bedrooms=2", []string{"dear", "middle"}},
		{"Quebec room counts", "rooms=3.5,4.5", []string{"middle"}},
		{"from an area", "min_area=300", []string{"cheap"}},
		{"up to an area", "max_area=399", []string{}},
		{"cats", "pets=cats", []string{"middle"}},
		{"no pets", "pets=no", []string{"cheap"}},
		{"furnished in one of two ways", "furnished=yes,semi", []string{"cheap"}},
		{"a place for the car", "parking=yes", []string{"middle"}},
		{"indoor or in the street", "parking=indoor,street", []string{"middle"}},
		{"a lease", "lease=one-year,month-to-month", []string{"middle"}},
		{"a lease and furniture", "lease=one-year&furnished=yes", []string{}},
		{"free soon", "available_by=2099-06-30", []string{"cheap"}},
		{"free later", "available_by=2099-07-01", []string{"middle", "cheap"}},
		{"a part of the map", "bbox=-73.6,45.5,-73.5,45.6", []string{"middle", "cheap"}},
		{"a part of the map, spaces", "bbox=" + url.QueryEscape("-72, 46.5, -71, 47"), []string{"far"}},
		{"words without their accents", "text=metro", []string{"cheap"}},
		{"words in capitals", "text=LOFT", []string{"far"}},
		{"without a word", "text=" + url.QueryEscape("quebec -loft"), []string{}},
		{"a phrase", "text=" + url.QueryEscape(`"maison de ville"`), []string{"dear"}},
		{"operators of a query language are words", "text=" + url.QueryEscape(`loft & | ! ( '`), []string{"far"}},
		{"another form of a word", "text=studios", []string{"cheap"}},
		{"the beginning of a word", "text=" + url.QueryEscape("meub*"), []string{"cheap"}},
		{"in the title", "text=" + url.QueryEscape("intitle:ville"), []string{"dear"}},
		{"only without a word", "text=" + url.QueryEscape("-loft -maison"), []string{"middle", "cheap"}},
		{"the best first", "sort=relevance&text=4%C2%BD", []string{"middle"}},
		{"filters combine", "platform=kijiji&max_price=1300&bedrooms=1", []string{"far"}},
		{"an empty filter is none", "platform=&bbox=&text=", []string{"dear", "far", "middle", "cheap"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := d.Get(t, "/listings?"+tt.query)
			require.Equal(t, tt.want, apitest.Read[apitest.Page](t, r, http.StatusOK).Names())
			require.NotContains(t, r.Body, "null")
		})
	}
}

// A text that makes no query has the right form: it is a 400, as a q of pages is.
func TestSearchTextWithoutWords(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t) // none of these reaches a database
	for _, text := range []string{"&", `""`, "-", "site:a.example", "loft lang:fr", "loft type:html", "lang:french"} {
		p := apitest.Refused(t, d.Get(t, "/listings?text="+url.QueryEscape(text)), http.StatusBadRequest)
		require.Equal(t, []string{"query.text"}, p.Fields(), text)
		require.NotEmpty(t, p.Errors[0].Message)
	}
}

func TestSearchNeighbourhood(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	d.Publish(t, listing.Listing{Ref: apitest.Kijiji("1"), Title: "Grand 3½", RentCents: 100_000}, "anjou", apitest.Now)
	d.Publish(t, listing.Listing{Ref: apitest.Kijiji("2"), Title: "Grand 5½", RentCents: 100_000}, "", apitest.Now)
	got := apitest.Read[apitest.Page](t, d.Get(t, "/listings?neighbourhood=anjou"), http.StatusOK)
	require.Equal(t, []string{"1"}, got.Names())
	require.Equal(t, "Anjou", *got.Items[0].NeighbourhoodName)
}

// Every order, in pages, shows every listing once, though many have one price and one time.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	const n = 23
	for i := range n {
		rent := int64(100_000 + i%3*10_000)
		at := apitest.Now.Add(time.Duration(i%4) * time.Minute)
		d.Publish(t, listing.Listing{Ref: apitest.Kijiji(fmt.Sprint(i)), Title: "4½", RentCents: rent}, "", at)
	}
	for _, sort := range []string{"newest", "-updated", "price", "-price", "relevance&text=4%C2%BD"} {
		t.Run(sort, func(t *testing.T) {
			t.Parallel()
			var all []apilistings.ListingSummary
			cursor := ""
			for pages := 1; ; pages++ {
				p := apitest.Read[apitest.Page](t, d.Get(t, "/listings?limit=5&sort="+sort+"&cursor="+cursor), http.StatusOK)
				all = append(all, p.Items...)
				if cursor = p.NextCursor; cursor == "" {
					require.Equal(t, 5, pages)
					break
				}
				require.Len(t, p.Items, 5)
			}
			seen := map[uuid.UUID]bool{}
			for i, l := range all {
				seen[l.ID] = true
				if i == 0 {
					continue
				}
				before := all[i-1]
				switch sort {
				case "newest":
					require.False(t, l.PublishedAt.After(before.PublishedAt))
				case "-updated":
					require.False(t, l.UpdatedAt.After(before.UpdatedAt))
				case "price":
					require.GreaterOrEqual(t, l.RentCents, before.RentCents)
				case "-price":
					require.LessOrEqual(t, l.RentCents, before.RentCents)
				}
			}
			require.Len(t, seen, n)
			require.Len(t, all, n)
		})
	}
	t.Run("a page that is just full is the last", func(t *testing.T) {
		t.Parallel()
		p := apitest.Read[apitest.Page](t, d.Get(t, fmt.Sprint("/listings?limit=", n)), http.StatusOK)
		require.Len(t, p.Items, n)
		require.Empty(t, p.NextCursor)
	})
	t.Run("twenty unless asked", func(t *testing.T) {
		t.Parallel()
		require.Len(t, apitest.Read[apitest.Page](t, d.Get(t, "/listings"), http.StatusOK).Items, 20)
	})
	t.Run("a cursor of another order", func(t *testing.T) {
		t.Parallel()
		p := apitest.Read[apitest.Page](t, d.Get(t, "/listings?limit=5&sort=price"), http.StatusOK)
		wrong := apitest.Refused(t, d.Get(t, "/listings?cursor="+p.NextCursor), http.StatusUnprocessableEntity)
		require.Equal(t, []string{"query.cursor"}, wrong.Fields())
		require.Contains(t, wrong.Errors[0].Message, "sort")
	})
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t) // none of these reaches a database
	encode := base64.RawURLEncoding.EncodeToString
	for _, tt := range []struct {
		name, query, field string
	}{
		{"a platform that is no name", "platform=Kijiji%20Inc", "platform"},
		{"a platform with NUL", "platform=a%00", "platform"},
		{"a platform that is not UTF-8", "platform=%ff", "platform"},
		{"an unknown status", "status=sold", "status"},
		{"a neighbourhood that is no key", "neighbourhood=C%C3%B4te", "neighbourhood"},
		{"a price that is no number", "min_price=cheap", "min_price"},
		{"a price below zero", "min_price=-1", "min_price"},
		{"a price without end", "max_price=Inf", "max_price"},
		{"a price that is not a number", "max_price=NaN", "max_price"},
		{"a price beyond all bounds", "max_price=99999999999999999999", "max_price"},
		{"prices the wrong way round", "min_price=2000&max_price=1000", "max_price"},
		{"bedrooms that are no number", "bedrooms=two", "bedrooms"},
		{"one of the bedrooms is no number", "bedrooms=2,x", "bedrooms"},
		{"bedrooms below zero", "bedrooms=-1", "bedrooms"},
		{"bedrooms beyond all bounds", "bedrooms=5000000000", "bedrooms"},
		{"too many bedrooms", "bedrooms=1,2,3,4,5,6,7,8,9,10,11", "bedrooms"},
		{"bedrooms twice", "bedrooms=1&bedrooms=2", "bedrooms"},
		{"least bedrooms no number", "min_bedrooms=x", "min_bedrooms"},
		{"least bedrooms beyond all bounds", "min_bedrooms=51", "min_bedrooms"},
		{"rooms that are not a number", "rooms=NaN", "rooms"},
		{"no rooms", "rooms=0", "rooms"},
		{"pictures of a kind", "has_images=big", "has_images"},
		{"a change without a time", "updated_since=today", "updated_since"},
		{"areas the wrong way round", "min_area=900&max_area=800", "max_area"},
		{"animals nobody keeps", "pets=dragons", "pets"},
		{"one kind of parking is unknown", "parking=yes,roof", "parking"},
		{"an unknown lease", "lease=forever", "lease"},
		{"a day that is none", "available_by=2026-02-30", "available_by"},
		{"a box of three", "bbox=1,2,3", "bbox"},
		{"a box of words", "bbox=a,b,c,d", "bbox"},
		{"a box that is not a number", "bbox=NaN,45,-73,46", "bbox"},
		{"a box off the earth", "bbox=-74,45,-73,91", "bbox"},
		{"a box inside out", "bbox=-73,45,-74,46", "bbox"},
		{"a box upside down", "bbox=-74,46,-73,45", "bbox"},
		{"text with NUL", "text=a%00b", "text"},
		{"text that is not UTF-8", "text=%c3%28", "text"},
		{"text without end", "text=" + strings.Repeat("a", 201), "text"},
		{"more words than are looked for", "text=" + url.QueryEscape(words(33)), "text"},
		{"a longer phrase than is looked for", "text=" + url.QueryEscape(`"`+words(33)+`"`), "text"},
		{"an unknown order", "sort=oldest", "sort"},
		{"relevance without a text", "sort=relevance", "sort"},
		{"a cursor by relevance without its place", "sort=relevance&text=a&cursor=" +
			encode([]byte(`{"s":"relevance","i":"`+uuid.NewString()+`"}`)), "cursor"},
		{"no listings a page", "limit=0", "limit"},
		{"too many listings a page", "limit=101", "limit"},
		{"a page size that is no number", "limit=ten", "limit"},
		{"a cursor that is not base64", "cursor=%21%21", "cursor"},
		{"a cursor that is not JSON", "cursor=" + encode([]byte("{")), "cursor"},
		{"a cursor without ID", "cursor=" + encode([]byte(`{"s":"newest"}`)), "cursor"},
		{"a cursor of a time that is none", "cursor=" + encode([]byte(`{"s":"newest","t":"x","i":"`+uuid.NewString()+`"}`)),
			"cursor"},
		{"a filter that there is not", "rent=900", "rent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := apitest.Refused(t, d.Get(t, "/listings?"+tt.query), http.StatusUnprocessableEntity)
			require.NotEmpty(t, p.Errors)
			for _, e := range p.Errors {
				require.Equal(t, "query."+tt.field, strings.Split(e.Location, "[")[0])
				require.NotEmpty(t, e.Message)
			}
		})
	}
	t.Run("the number of words", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/listings?", "/listings/count?", "/listings/export?", "/listings/cells?bbox=-74,45,-73,46&"} {
			p := apitest.Refused(t, d.Get(t, path+"text="+url.QueryEscape(words(33))), http.StatusUnprocessableEntity)
			require.Equal(t, []string{"query.text"}, p.Fields())
			require.Equal(t, "expected at most 32 words or phrases, and phrases of at most 32 words", p.Errors[0].Message)
		}
	})
	t.Run("all that is wrong is told at once", func(t *testing.T) {
		t.Parallel()
		p := apitest.Refused(t, d.Get(t, "/listings?limit=0&bbox=1&cursor=x"), http.StatusUnprocessableEntity)
		require.ElementsMatch(t, []string{"query.limit", "query.bbox", "query.cursor"}, p.Fields())
	})
}

// words are so many different words.
func words(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("w%d", i))
	}
	return strings.Join(list, " ")
}

// advert is GET /listings/{id} as a client reads it.
type advert struct {
	ID       uuid.UUID
	Listing  *apilistings.ListingSummary
	Details  *listing.Listing
	Images   []apilistings.ImageDetail
	History  []apilistings.HistoryEvent
	Audit    apilistings.Audit
	Workflow api.WorkflowLink
}

func TestGet(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	ctx := t.Context()
	l := listing.Listing{
		Ref: apitest.Kijiji("1"), Title: "Beau 4½", RentCents: 150_000, Bedrooms: 2, Rooms: 4.5,
		ImageURLs: []string{"https://img.example/1.jpg", "https://img.example/2.jpg"},
		Sources:   map[string]listing.Source{"rooms": {From: "title", Text: "4½"}},
		Warnings:  []listing.Warning{{Field: "rooms", Code: "conflict", Message: "title says 4½, attribute 5½"}},
	}
	d.Publish(t, l, "anjou", apitest.Now)
	l.RentCents = 140_000
	d.Publish(t, l, "anjou", apitest.Now.Add(time.Hour))
	sum := strings.Repeat("ab", 32)
	stored := listing.StoredImage{
		Image: listing.Image{URL: l.ImageURLs[0]}, SHA256: sum, Key: "images/ab/ab/" + sum + ".jpg",
		ThumbnailKey: "thumbs/ab/ab/" + sum + ".jpg", ContentType: "image/jpeg", Bytes: 9, Width: 4, Height: 3,
	}
	require.NoError(t, d.Store.AttachImage(ctx, l.Ref, stored, apitest.Now))

	raw := listing.Raw{Ref: apitest.Kijiji("2")}
	revision := d.Scrape(t, raw.Ref, "Cherche 4½", apitest.Now)
	reasons := []listing.Reason{{Field: "title", Code: "wanted", Message: "the advert looks for a home"},
		{Field: "price", Code: "missing", Message: "none is stated"}}
	require.NoError(t, d.Store.Reject(ctx, raw, listing.Payload{Revision: revision, Body: []byte(`{}`)}, &listing.Rejection{Reasons: reasons},
		listing.Run{WorkflowID: "listing/kijiji/2"}, apitest.Now))
	d.Scrape(t, apitest.Kijiji("3"), "Just in", apitest.Now)

	t.Run("published", func(t *testing.T) {
		t.Parallel()
		r := d.Get(t, "/listings/"+l.ID().String())
		got := apitest.Read[advert](t, r, http.StatusOK)
		require.Equal(t, l.ID(), got.ID)
		require.Equal(t, int64(140_000), got.Listing.RentCents)
		require.Equal(t, 1, got.Listing.Images)
		require.Equal(t, stored.ThumbnailKey, *got.Listing.Thumbnail)
		require.Equal(t, l.Warnings, got.Details.Warnings)
		require.Equal(t, l.Sources, got.Details.Sources)
		require.Len(t, got.Images, 2)
		require.Equal(t, "attached", got.Images[0].State)
		require.Equal(t, stored.Key, *got.Images[0].Key)
		require.Equal(t, "pending", got.Images[1].State)
		require.Nil(t, got.Images[1].Key)
		kinds := slices.Collect(func(yield func(string) bool) {
			for _, e := range got.History {
				yield(e.Kind)
			}
		})
		require.Equal(t, []string{"created", "price"}, kinds)
		require.Equal(t, int64(150_000), *got.History[1].OldRentCents)
		require.Equal(t, "imported", got.Audit.Status)
		require.True(t, got.Audit.Settled)
		require.Equal(t, int64(2), got.Audit.Revision)
		require.Len(t, got.Audit.Revisions, 2)
		require.Equal(t, int64(2), got.Audit.Revisions[0].Revision, "the newest first")
		require.Contains(t, string(got.Audit.Revisions[0].Payload), "Beau 4½")
		require.Equal(t, api.WorkflowLink{
			ID: "listing/kijiji/1", URL: "http://temporal.test/namespaces/conveyor/workflows/listing%2Fkijiji%2F1",
		}, got.Workflow)
		require.Contains(t, r.Body, `"reasons":[]`)
	})
	t.Run("rejected", func(t *testing.T) {
		t.Parallel()
		r := d.Get(t, "/listings/"+raw.ID().String())
		got := apitest.Read[advert](t, r, http.StatusOK)
		require.Nil(t, got.Listing)
		require.Equal(t, "rejected", got.Audit.Status)
		require.Equal(t, reasons, got.Audit.Reasons)
		for _, list := range []string{"images", "history"} {
			require.Contains(t, r.Body, fmt.Sprintf(`%q:[]`, list))
		}
		require.NotContains(t, r.Body, "null")
	})
	t.Run("on its way", func(t *testing.T) {
		t.Parallel()
		got := apitest.Read[advert](t, d.Get(t, "/listings/"+apitest.Kijiji("3").ID().String()), http.StatusOK)
		require.Equal(t, "scraped", got.Audit.Status)
		require.False(t, got.Audit.Settled)
		require.Nil(t, got.Details)
	})
	t.Run("capital letters", func(t *testing.T) {
		t.Parallel()
		apitest.Read[advert](t, d.Get(t, "/listings/"+strings.ToUpper(l.ID().String())), http.StatusOK)
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		id := uuid.NewString()
		require.Equal(t, "there is no listing "+id, apitest.Refused(t, d.Get(t, "/listings/"+id), http.StatusNotFound).Detail)
	})
	for _, id := range []string{"1", "not-a-uuid", "%00", strings.Repeat("a", 36)} {
		t.Run("not a UUID: "+id, func(t *testing.T) {
			t.Parallel()
			p := apitest.Refused(t, d.Get(t, "/listings/"+id), http.StatusUnprocessableEntity)
			require.Equal(t, []string{"path.id"}, p.Fields())
			require.Contains(t, p.Errors[0].Message, "UUID")
		})
	}
}

// The contact of an advert is for the pipeline only and in no answer, however the scraper spells it.
func TestContactIsNeverShown(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	l := listing.Listing{Ref: apitest.Kijiji("1"), Title: "4½", RentCents: 100_000}
	d.Publish(t, l, "", apitest.Now)
	for _, r := range []apitest.Reply{
		d.Get(t, "/listings"), d.Get(t, "/listings/"+l.ID().String()),
		d.Ask(t, http.MethodPost, "/listings/kijiji/1/process", ""),
	} {
		require.Less(t, r.Status, 300)
		for _, secret := range apitest.PersonalData {
			require.NotContains(t, r.Body, secret)
		}
	}
	got := apitest.Read[advert](t, d.Get(t, "/listings/"+l.ID().String()), http.StatusOK)
	var payload map[string]any
	require.NoError(t, json.Unmarshal(got.Audit.Revisions[0].Payload, &payload))
	require.Equal(t, map[string]any{"id": 7., "list": []any{map[string]any{"kept": true}}}, payload["raw"])
	require.Contains(t, string(got.Audit.Revisions[0].Payload), `"size":1.50`, "numbers stay as they were printed")
}

func TestProcess(t *testing.T) {
	t.Parallel()
	published := listing.Listing{Ref: apitest.Kijiji("1"), Title: "Beau 4½", RentCents: 150_000, Bedrooms: 2}
	for _, tt := range []struct {
		name, path, body string
		status           int
		start            string   // the workflow that was started
		fields           []string // the fields with an error
	}{
		{"without a body", "kijiji/1", "", 202, "kijiji/1 at normalize, revision 1, force true: Beau 4½ · 1500 $", nil},
		{"without a stage", "kijiji/1", "{}", 202, "kijiji/1 at normalize, revision 1, force true: Beau 4½ · 1500 $", nil},
		{"at a stage", "kijiji/1", `{"stage":"import"}`, 202,
			"kijiji/1 at import, revision 1, force true: Beau 4½ · 1500 $", nil},
		{"an advert that is not published", "kijiji/2", `{"stage":"normalize"}`, 202,
			"kijiji/2 at normalize, revision 1, force true: kijiji/2", nil},
		{"a stage that needs a normalized form", "kijiji/2", `{"stage":"dedupe"}`, 409, "", nil},
		{"an unknown stage", "kijiji/1", `{"stage":"enrich"}`, 422, "", []string{"body.stage"}},
		{"a stage that is no text", "kijiji/1", `{"stage":1}`, 422, "", []string{"body.stage"}},
		{"a misspelt member", "kijiji/1", `{"stages":"import"}`, 422, "", []string{"body.stages"}},
		{"a list", "kijiji/1", `[]`, 422, "", []string{"body"}},
		{"not JSON", "kijiji/1", `{`, 400, "", []string{"body"}},
		{"an unknown advert", "kijiji/404", "", 404, "", nil},
		{"an unknown platform", "nobody/1", "", 404, "", nil},
		{"no platform name", "Kijiji!/1", "", 422, "", []string{"path.platform"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := apitest.Open(t)
			d.Publish(t, published, "", apitest.Now)
			d.Scrape(t, apitest.Kijiji("2"), "Just in", apitest.Now)
			r := d.Ask(t, http.MethodPost, "/listings/"+tt.path+"/process", tt.body)
			if tt.start == "" {
				p := apitest.Refused(t, r, tt.status)
				require.Equal(t, tt.fields, p.Fields())
				require.Empty(t, d.Started.Calls)
				return
			}
			got := apitest.Read[apilistings.ProcessStarted](t, r, tt.status)
			require.Equal(t, []string{tt.start}, d.Started.Calls)
			require.Equal(t, "/listings/"+got.ListingID.String(), r.Header.Get("Location"))
			require.Equal(t, "listing/"+tt.path, got.Workflow.ID)
			apitest.Read[advert](t, d.Get(t, r.Header.Get("Location")), http.StatusOK)
		})
	}
	t.Run("Temporal refuses the input", func(t *testing.T) {
		t.Parallel()
		d := apitest.Open(t)
		d.Scrape(t, apitest.Kijiji("1"), "Just in", apitest.Now)
		d.Started.Err = fault.Newf(fault.Invalid, "start listing/kijiji/1: the ID is too long")
		apitest.Refused(t, d.Ask(t, http.MethodPost, "/listings/kijiji/1/process", ""), http.StatusUnprocessableEntity)
	})
}
