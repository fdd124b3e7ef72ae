package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

var update = flag.Bool("update", false, "write the golden files anew")

var scraped = contract.ScrapedListing{
	Platform: "kijiji", PlatformID: "1329279535", URL: "https://www.kijiji.ca/v-appartement/1329279535",
	ScrapedAt: time.Date(2026, 11, 20, 14, 3, 5, 0, time.UTC), Title: "Beau 4 ½ à louer, près du métro",
	Description: "<p>Lumineux &amp; calme.</p>",
	Price:       contract.ScrapedPrice{AmountCents: new(int64(125_050)), Type: "FIXED", Text: "1 250,50 $"},
	Address:     "74 Rue Saint-Joseph, Montréal, QC H2L 3Z1", Latitude: new(45.5231), Longitude: new(-73.5817),
	Attributes: map[string][]string{"numrooms": {"4.5"}, "utilities": {"heat", "hydro"}},
	ImageURLs:  []string{"https://i.example/1.jpg", "https://i.example/2.jpg"},
	Contact:    contract.ScrapedContact{Name: "Zoé", Phone: "514 555-0199"},
	PostedAt:   new(time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)),
	Raw:        json.RawMessage(`{"id":"1329279535","slug":"beau-4-1-2"}`),
}

func event(name, data string) contract.Event {
	return contract.Event{
		EventID: "3f0d6f5e-5c0e-5d3c-9c45-0d6b1f0a7a11", EventName: name,
		TS: time.Date(2026, 11, 20, 14, 3, 6, 250_000_000, time.UTC), Platform: "kijiji", Data: json.RawMessage(data),
	}
}

// tenantEvent is an event about something of a tenant.
func tenantEvent(name string, data any) contract.Event {
	e := event(name, eventData(data))
	e.Platform, e.Tenant = "", "acme"
	return e
}

// draftEvent is an event of drafts: it has neither platform nor tenant.
var draftEvent = func() contract.Event {
	e := event(contract.DraftCompleted, eventData(contract.DraftData{
		RequestID: "8e2f3d1c-4b7a-5e5f-9a3b-2c1d0e9f8a7b", DraftID: "3f0d6f5e-5c0e-5d3c-9c45-0d6b1f0a7a11",
		URL: "https://shop.example/p/123", FinalURL: "https://shop.example/en/p/123", Outcome: "succeeded", Status: 200,
		Name: "Kettle", Brand: "Acme", Price: "1299.00", PriceTo: "1499.00", Currency: "EUR", Availability: "InStock",
		SKU: "K-1", GTIN: "4006381333931", MPN: "K1-EU", CrawledAt: scraped.ScrapedAt,
	}))
	e.Platform = ""
	return e
}()

// eventData writes what an event carries.
func eventData(data any) string {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestGolden fixes the wire form of every message and event: a change of it is a change for other teams.
func TestGolden(t *testing.T) {
	t.Parallel()

	id := "8e2f3d1c-4b7a-5e5f-9a3b-2c1d0e9f8a7b"
	normalized := contract.ListingData{
		ListingID: id, PlatformID: "1329279535", Revision: 2, URL: scraped.URL, Title: scraped.Title,
		RentCents: 125_050, Bedrooms: new(0),
	}
	published := normalized
	published.Neighbourhood, published.Address = "villeray", "7000, rue Saint-Denis, Montréal"
	published.Latitude, published.Longitude, published.ImageURL = new(45.54), new(-73.62), "https://i.example/1.jpg"
	published.Change, published.Changes = "updated", []contract.Change{
		{Field: "description"},
		{Field: "rent_cents", From: json.RawMessage("130000"), To: json.RawMessage("125050")},
	}
	known := contract.Enrichment{
		Facts:  []contract.Fact{{Field: "heating", Value: "electric", From: "description"}},
		Places: []contract.Nearby{{Kind: "metro", Name: "Jarry", Metres: 420}}, Attribution: "© the city, CC-BY 4.0",
	}
	published.Enrichment = &known
	rejected := contract.ListingData{
		ListingID: id, PlatformID: "1329279535", Revision: 1, URL: scraped.URL,
		Reasons: []contract.Reason{{Field: "price", Code: "missing", Message: "no price is stated"}},
	}
	archived := contract.ListingData{ListingID: id, PlatformID: "1329279535", Revision: 2, URL: scraped.URL}
	merged := contract.HomeData{
		ListingData: contract.ListingData{ListingID: id, PlatformID: "1329279535", Revision: 2, URL: scraped.URL,
			Title: scraped.Title, RentCents: 125_050, Bedrooms: new(2), Reasons: []contract.Reason{
				{Field: "home", Code: "duplicate", Message: "same rent: 1250.50 $"}}},
		HomeID: "3f0d6f5e-5c0e-5d3c-9c45-0d6b1f0a7a11", ShownID: "3f0d6f5e-5c0e-5d3c-9c45-0d6b1f0a7a11", Kind: "duplicate",
	}
	split := merged
	split.Reasons, split.Kind, split.Reviewer = nil, "", "ops"
	image := contract.ImageData{
		ListingID: id, URL: "https://i.example/1.jpg", Key: "images/ab/abcd.jpg", SHA256: strings.Repeat("ab", 32),
		Width: 800, Height: 600, SortOrder: 0,
	}
	for _, tt := range []struct {
		name  string
		value any
		read  func([]byte) (any, error)
	}{
		{"scraped", scraped, decoded[contract.ScrapedListing]},
		{"staged", contract.StagedListing{
			Platform: "kijiji", PlatformID: "1329279535", URL: scraped.URL, ScrapedAt: scraped.ScrapedAt,
			Claimed: true, Listing: json.RawMessage(`{"title":"Beau 4 ½","rent_cents":125050,"bedrooms":2}`),
		}, decoded[contract.StagedListing]},
		{"images.pending", contract.PendingImage{
			Platform:  "kijiji",
			ListingID: id, URL: "https://i.example/1.jpg", SortOrder: 3,
		}, decoded[contract.PendingImage]},
		{contract.ListingNormalized, event(contract.ListingNormalized, eventData(normalized)), read[contract.Event]},
		{contract.ListingPublished, event(contract.ListingPublished, eventData(published)), read[contract.Event]},
		{"crawler.url.requested", contract.CrawlRequested{
			EventName: contract.CrawlRequestedName, EventID: id, TS: new(time.Date(2026, 1, 27, 12, 34, 56, 0, time.UTC)),
			Data: contract.CrawlRequest{URL: "https://example.com/p/123", OutDir: "out"},
		}, decoded[contract.CrawlRequested]},
		{contract.QueueCrawler, contract.CrawledPage{
			URL: "https://example.com/page1", Text: new("example text"), Metadata: contract.CrawledMetadata{
				Title: "Example Page", Description: "An example", Timestamp: time.Date(2025, 11, 1, 12, 0, 0, 0, time.UTC),
				StatusCode: 200,
			},
		}, decoded[contract.CrawledPage]},
		{contract.QueueCrawler + ".ours", contract.CrawledPage{
			URL: "https://example.com/page1", Text: new("page un exemple"), Metadata: contract.CrawledMetadata{
				Title: "Page un", Timestamp: time.Date(2025, 11, 1, 12, 0, 0, 0, time.UTC), StatusCode: 200,
				Language: "fr-CA", Headings: []string{"page un"}, ContentType: "text/html; charset=utf-8",
			},
		}, decoded[contract.CrawledPage]},
		{contract.QueueCrawler + ".removed", contract.CrawledPage{
			URL: "https://example.com/page1", Text: new(""), Removed: true, Metadata: contract.CrawledMetadata{
				Timestamp: time.Date(2025, 11, 1, 12, 0, 0, 0, time.UTC), StatusCode: 404,
			},
		}, decoded[contract.CrawledPage]},
		{contract.ListingRejected, event(contract.ListingRejected, eventData(rejected)), read[contract.Event]},
		{contract.ListingArchived, event(contract.ListingArchived, eventData(archived)), read[contract.Event]},
		{contract.ListingEnriched, event(contract.ListingEnriched, eventData(contract.EnrichedData{
			ListingID: id, PlatformID: "1329279535", Revision: 2, URL: scraped.URL,
			Enrichment: known,
		})), read[contract.Event]},
		{contract.ListingClaimed, event(contract.ListingClaimed, eventData(archived)), read[contract.Event]},
		{contract.ListingUnclaimed, event(contract.ListingUnclaimed, eventData(archived)), read[contract.Event]},
		{contract.ListingMerged, event(contract.ListingMerged, eventData(merged)), read[contract.Event]},
		{contract.ListingSplit, event(contract.ListingSplit, eventData(split)), read[contract.Event]},
		{contract.ImageAttached, event(contract.ImageAttached, eventData(image)), read[contract.Event]},
		{contract.ContactsImported, tenantEvent(contract.ContactsImported, contract.ContactsData{
			UploadID: id, FileName: "contacts.csv", Rows: 10, Valid: 7, Invalid: 2, Duplicate: 1, New: 4, Updated: 2, Skipped: 1,
		}), read[contract.Event]},
		{contract.CampaignCompleted, tenantEvent(contract.CampaignCompleted, contract.CampaignData{
			CampaignID: id, Name: "Spring sale", State: "done", Total: 21, Sent: 1, Delivered: 2, Read: 3, Failed: 4, Unknown: 5,
			Skipped: 6, StartedAt: scraped.ScrapedAt, FinishedAt: scraped.ScrapedAt.Add(time.Hour),
		}), read[contract.Event]},
		{contract.MessageStatus, tenantEvent(contract.MessageStatus, contract.MessageData{
			MessageID: id, CampaignID: "3f0d6f5e-5c0e-5d3c-9c45-0d6b1f0a7a11", Kind: "campaign", Status: "failed",
			At: scraped.ScrapedAt, WAMID: "wamid.HBgL", Class: "recipient", Code: 131026,
			Error: "the recipient cannot be reached by WhatsApp",
		}), read[contract.Event]},
		{contract.DraftCompleted, draftEvent, read[contract.Event]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			file := filepath.Join("testdata", tt.name+".json")
			compact, err := json.Marshal(tt.value)
			require.NoError(t, err)
			var got bytes.Buffer
			require.NoError(t, json.Indent(&got, compact, "", "  "))
			got.WriteByte('\n')
			if *update {
				require.NoError(t, os.WriteFile(file, got.Bytes(), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())

			compacted := new(bytes.Buffer)
			require.NoError(t, json.Compact(compacted, want))
			back, err := tt.read(compacted.Bytes())
			require.NoError(t, err)
			require.Equal(t, tt.value, back)
		})
	}
}

// decoded reads a message as a consumer does, with its check; read reads what has none.
func decoded[M interface{ Check() error }](body []byte) (any, error) {
	return contract.Decode[M](body, contract.MaxBody)
}

func read[M any](body []byte) (any, error) {
	var m M
	err := json.Unmarshal(body, &m)
	return m, err
}

// TestRawReadsTheSame: the bridge checks a message as a ScrapedListing and the normalizer reads the stored payload as
// a Raw; a field that one of them spells otherwise would be lost silently.
func TestRawReadsTheSame(t *testing.T) {
	t.Parallel()

	var m contract.ScrapedListing
	fill(t, reflect.ValueOf(&m).Elem())
	body, err := json.Marshal(m)
	require.NoError(t, err)
	var raw listing.Raw
	require.NoError(t, json.Unmarshal(body, &raw))
	require.Equal(t, listing.RawOf(m), raw)

	// And the other way round: what Raw writes is the message, but for the members that it does not know.
	var names, rawNames map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(body, &names))
	again, err := json.Marshal(raw)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(again, &rawNames))
	delete(names, "raw")
	require.Equal(t, names, rawNames)
}

// TestScrapedRoundTrip: a field that is forgotten in the conversion between a ScrapedListing and a Raw is lost
// silently.
func TestScrapedRoundTrip(t *testing.T) {
	t.Parallel()

	var m contract.ScrapedListing
	fill(t, reflect.ValueOf(&m).Elem())
	require.Equal(t, m, listing.RawOf(m).Message(m.Raw))

	var raw listing.Raw
	fill(t, reflect.ValueOf(&raw).Elem())
	require.Equal(t, raw, listing.RawOf(raw.Message(nil)))
}

// fill gives every field of v a value of its own that is not zero. A type that it does not know fails the test.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()

	n := 0
	var set func(v reflect.Value)
	set = func(v reflect.Value) {
		n++
		switch v.Interface().(type) {
		case time.Time:
			v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 14, 0, n, 0, time.UTC)))
			return
		case json.RawMessage:
			v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))))
			return
		}
		switch v.Kind() {
		case reflect.String:
			v.SetString(fmt.Sprint("text ", n))
		case reflect.Int, reflect.Int64:
			v.SetInt(int64(n))
		case reflect.Float64:
			v.SetFloat(float64(n) + 0.5)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			set(v.Elem())
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			set(v.Index(0))
			set(v.Index(1))
		case reflect.Map:
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			set(key)
			set(value)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		case reflect.Struct:
			for _, field := range v.Fields() {
				set(field)
			}
		default:
			require.Fail(t, "no value for a field", "%s", v.Type())
		}
	}
	set(v)
}

// with is the golden message with one member replaced, or removed when value is "".
func with(member, value string) []byte {
	body, err := json.Marshal(scraped)
	if err != nil {
		panic(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		panic(err)
	}
	if members[member] = json.RawMessage(value); value == "" {
		delete(members, member)
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for name, v := range members { // by hand: Marshal would refuse or mend what the tests break on purpose
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + name + `":`)
		out.Write(v)
	}
	out.WriteByte('}')
	return out.Bytes()
}

func TestDecodeScraped(t *testing.T) {
	t.Parallel()

	long := `"https://www.kijiji.ca/` + strings.Repeat("x", 2048) + `"`
	for _, tt := range []struct {
		name   string
		body   []byte
		fields []string // that are wrong, in order; nil = the message is fine
		reason string   // part of the first one's
	}{
		{"the golden message", with("title", `"x"`), nil, ""},
		{"unknown members", with("extra", `{"a":[1e400]}`), nil, ""},
		{"a title of 10,000 runes", with("title", `"`+strings.Repeat("é", 10_000)+`"`), nil, ""},
		{"a price of 10^12", with("price", `{"amount_cents":1000000000000}`), nil, ""},
		{"optional members are null", with("price", `null`), nil, ""},
		{"no body", nil, []string{""}, "not JSON"},
		{"not JSON", []byte(`<html>`), []string{""}, "not JSON at byte 1"},
		{"JSON that ends too early", []byte(`{"platform":"kijiji"`), []string{""}, "not JSON"},
		{"two documents", []byte(`{} {}`), []string{""}, "not JSON"},
		{"an array", []byte(`[]`), []string{""}, "is a JSON array, expected an object"},
		{"a string", []byte(`"kijiji"`), []string{""}, "is a JSON string"},
		{"null", []byte(`null`), []string{"platform", "platform_id", "url", "scraped_at"}, "is missing"},
		{"all required members are missing", []byte(`{}`),
			[]string{"platform", "platform_id", "url", "scraped_at"}, "is missing"},
		{"the platform is missing", with("platform", ""), []string{"platform"}, "is missing"},
		{"the ID is null", with("platform_id", `null`), []string{"platform_id"}, "is missing"},
		{"the ID is a number", with("platform_id", `1329279535`), []string{"platform_id"}, "is a number, expected string"},
		{"the ID could leave its path", with("platform_id", `"../x"`), []string{"platform_id"}, "is not an ID"},
		{"the platform is a topic pattern", with("platform", `"#"`), []string{"platform"}, "is not a platform name"},
		{"the address is not http", with("url", `"file:///etc/passwd"`),
			[]string{"url"}, "is not an absolute http(s) address"},
		{"a bare percent sign in the address", with("url", `"https://site.example/rabais-50%/17"`), nil, ""},
		{"the address is relative", with("url", `"/v-1"`), []string{"url"}, "is not an absolute http(s) address"},
		{"the address is too long", with("url", long), []string{"url"}, "the most is 2048"},
		{"the host's name is too long", with("url", `"https://`+strings.Repeat("x", 250)+`.com/"`), []string{"url"},
			"has a host name of 254 bytes, the most is 253"},
		{"latitude abc", with("latitude", `"abc"`), []string{"latitude"}, "is a string, expected float64"},
		{"latitude without end", with("latitude", `1e999`), []string{"latitude"}, "is a number 1e999"},
		{"a price in words", with("price", `{"amount_cents":"1250"}`),
			[]string{"price.amount_cents"}, "is a string, expected int64"},
		{"a price with cents", with("price", `{"amount_cents":1250.5}`),
			[]string{"price.amount_cents"}, "is a number 1250.5"},
		{"attributes as a list", with("attributes", `[]`), []string{"attributes"}, "is a array"},
		{"image addresses as text", with("image_urls", `"x"`), []string{"image_urls"}, "is a string"},
		{"a time in words", with("scraped_at", `"yesterday"`), []string{"scraped_at"},
			`is "yesterday", expected an RFC 3339 time such as`},
		{"a time as a number", with("scraped_at", `1700000000`), []string{"scraped_at"},
			"is 1700000000, expected an RFC 3339 time such as"},
		{"a time that is before all years in UTC", with("scraped_at", `"0000-01-01T00:00:00+05:00"`),
			[]string{"scraped_at"}, "expected a year from 1 to 9999"},
		{"a time that no year of four digits has in UTC", with("scraped_at", `"9999-12-31T23:59:59-05:00"`),
			[]string{"scraped_at"}, "expected a year from 1 to 9999"},
		{"a posting time at the end of all years", with("posted_at", `"9999-12-31T23:59:59-05:00"`), nil, ""},
		{"a posting time in words", with("posted_at", `"hier"`), []string{"posted_at"}, "hier"},
		{"a body of 2 MiB", with("title", `"`+strings.Repeat("x", 2<<20)+`"`), []string{""}, "the most is 1048576"},
		{"a raw NUL byte", with("title", "\"a\x00b\""), []string{""}, "not JSON"},
		{"an escaped NUL", with("title", `"a\u0000b"`), []string{"title"}, "contains a NUL"},
		{"an escaped NUL in a nested value", with("attributes", `{"a":["x",{"b":1},"\u0000"]}`), []string{"attributes"}, ""},
		{"an escaped NUL in a nested name", with("raw", `{"a":{"b\u0000":1}}`), []string{"raw"}, "contains a NUL"},
		{"an escaped NUL in a member's name", with(`a\u0000b`, `1`), []string{"ab"}, "contains a NUL"},
		{"an escaped NUL in an unknown member", with("extra", `["\u0000"]`), []string{"extra"}, "contains a NUL"},
		{"an escaped backslash before u0000", with("title", `"a\\u0000b"`), nil, ""},
		{"invalid UTF-8", with("title", "\"a\xffb\""), []string{""}, "not UTF-8 at byte"},
		{"compressed by gzip", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"), []string{""}, "not UTF-8 at byte 1: it is compressed (gzip)"},
		{"compressed by zlib", []byte("x\x9c\xab\x56"), []string{""}, "not UTF-8 at byte 1: it is compressed (zlib)"},
		{"compressed a little by zlib", []byte("x\x01\x01\x00"), []string{""}, "invalid character 'x' looking for beginning of value: it is compressed (zlib)"},
		{"UTF-16 with a mark", []byte("\xff\xfe{\x00}\x00"), []string{""}, "not UTF-8 at byte 0: it is in UTF-16"},
		{"UTF-16 without one", []byte("{\x00\"\x00"), []string{""}, "it is in UTF-16, and is to be JSON in UTF-8"},
		{"an object of Java", []byte("\xac\xed\x00\x05sr"), []string{""}, "it is a serialized object of Java"},
		{"half a rune at the end", []byte("{\"title\":\"\xc3"), []string{""}, "not UTF-8 at byte 10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			// A member that the table breaks cannot be named twice, so the order in the body does not matter.
			_, err := contract.Decode[contract.ScrapedListing](tt.body, contract.MaxBody)
			requireFields(t, err, tt.fields, tt.reason)
		})
	}
}

// requireFields checks that err names exactly these fields, and gives this reason for the first.
func requireFields(t *testing.T, err error, fields []string, reason string) {
	t.Helper()

	if fields == nil {
		require.NoError(t, err)
		return
	}
	var all contract.Errors
	require.True(t, errors.As(err, &all), "got %v", err)
	var got []string
	for _, e := range all {
		got = append(got, e.Field)
	}
	require.Equal(t, fields, got, "got %v", err)
	require.Contains(t, all[0].Reason, reason)
	require.NotContains(t, err.Error(), "\x00")
}

func TestDecodeStaged(t *testing.T) {
	t.Parallel()

	staged := func(l string) []byte {
		return []byte(`{"platform":"kijiji","platform_id":"1","url":"https://k.example/1",` +
			`"scraped_at":"2026-11-20T14:03:05Z"` + l + `}`)
	}
	for _, tt := range []struct {
		name   string
		body   []byte
		fields []string
		reason string
	}{
		{"a listing", staged(`,"listing":{"title":"x","rent_cents":1,"bedrooms":0}`), nil, ""},
		{"no listing", staged(``), []string{"listing"}, "is missing"},
		{"the listing is text", staged(`,"listing":"x"`), []string{"listing"}, "is a JSON string, expected an object"},
		{"the rent is text", staged(`,"listing":{"title":"x","rent_cents":"1","bedrooms":1}`),
			[]string{"listing.rent_cents"}, "is a string, expected int64"},
		{"half of a bedroom", staged(`,"listing":{"title":"x","rent_cents":1,"bedrooms":1.5}`),
			[]string{"listing.bedrooms"}, "is a number 1.5, expected int"},
		{"everything is missing", []byte(`{"listing":{}}`), []string{
			"platform", "platform_id", "url", "scraped_at", "listing.title", "listing.rent_cents", "listing.bedrooms",
		}, "is missing"},
		{"a rent of nothing", staged(`,"listing":{"title":"x","rent_cents":0,"bedrooms":1}`),
			[]string{"listing.rent_cents"}, "above 0"},
		{"a price of a house", staged(`,"listing":{"title":"x","rent_cents":45000000,"bedrooms":1}`),
			[]string{"listing.rent_cents"}, "at most 10000000"},
		{"fewer than no bedrooms", staged(`,"listing":{"title":"x","rent_cents":1,"bedrooms":-1}`),
			[]string{"listing.bedrooms"}, "0 to 99"},
		{"more bedrooms than a column holds", staged(`,"listing":{"title":"x","rent_cents":1,"bedrooms":3000000000}`),
			[]string{"listing.bedrooms"}, "0 to 99"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, err := contract.Decode[contract.StagedListing](tt.body, contract.MaxBody)
			requireFields(t, err, tt.fields, tt.reason)
		})
	}
}

func TestDecodePendingImage(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, body string
		fields     []string
		reason     string
	}{
		{"an image",
			`{"listing_id":"8e2f3d1c-4b7a-5e5f-9a3b-2c1d0e9f8a7b","url":"http://i.example/1.jpg","sort_order":999}`, nil, ""},
		{"everything is missing", `{}`, []string{"listing_id", "url"}, "is missing"},
		{"a file", `{"listing_id":"x","url":"file:///etc/passwd"}`, []string{"url"}, "http(s)"},
		{"a place before the first", `{"listing_id":"x","url":"http://i.example/1.jpg","sort_order":-1}`,
			[]string{"sort_order"}, "0 to 999"},
		{"a place in words", `{"listing_id":"x","url":"http://i.example/1.jpg","sort_order":"first"}`,
			[]string{"sort_order"}, "is a string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, err := contract.Decode[contract.PendingImage]([]byte(tt.body), contract.MaxBody)
			requireFields(t, err, tt.fields, tt.reason)
		})
	}
}

func TestDecodeCrawledPage(t *testing.T) {
	t.Parallel()

	metadata := `"metadata":{"title":"Example Page","timestamp":"2025-11-01T12:00:00Z","status_code":200}`
	for _, tt := range []struct {
		name, body string
		fields     []string
		reason     string
	}{
		{"the example of the contract", `{"url":"https://example.com/page1","text":"Example Text",` + metadata + `}`, nil, ""},
		{"HTML instead of text", `{"url":"https://example.com/","html":"<p>x",` + metadata + `}`, nil, ""},
		{"a page without words", `{"url":"https://example.com/","text":"",` + metadata + `}`, nil, ""},
		{"no title", `{"url":"https://example.com/","text":"x","metadata":{"timestamp":"2025-11-01T12:00:00.5+02:00",` +
			`"status_code":304}}`, nil, ""},
		{"an address of 4,096 bytes", `{"url":"https://example.com/` + strings.Repeat("x", 4076) + `","text":"x",` +
			metadata + `}`, nil, ""},
		{"one more", `{"url":"https://example.com/` + strings.Repeat("x", 4077) + `","text":"x",` + metadata + `}`,
			[]string{"url"}, "the most is 4096"},
		{"a page that is gone", `{"url":"https://example.com/","removed":true,` + metadata + `}`, nil, ""},
		{"a page that is not", `{"url":"https://example.com/","removed":false,` + metadata + `}`, []string{"text"}, "is missing"},
		{"everything is missing", `{}`, []string{"url", "text", "metadata.timestamp", "metadata.status_code"}, "is missing"},
		{"null", `null`, []string{"url", "text", "metadata.timestamp", "metadata.status_code"}, "is missing"},
		{"no status", `{"url":"https://example.com/","text":"x","metadata":{"timestamp":"2025-11-01T12:00:00Z",` +
			`"status_code":0}}`, []string{"metadata.status_code"}, "100 to 599"},
		{"a status in words", `{"url":"https://example.com/","text":"x","metadata":{"status_code":"200"}}`,
			[]string{"metadata.status_code"}, "is a string"},
		{"an integer with a fraction of 0", `{"url":"https://example.com/","text":"x","metadata":{` +
			`"timestamp":"2025-11-01T12:00:00Z","status_code":2.0e2}}`, nil, ""},
		{"half a status", `{"url":"https://example.com/","text":"x","metadata":{"status_code":200.5}}`,
			[]string{"metadata.status_code"}, "is 200.5, expected an integer"},
		{"a huge status", `{"url":"https://example.com/","text":"x","metadata":{"timestamp":"2025-11-01T12:00:00Z",` +
			`"status_code":1e300}}`, []string{"metadata.status_code"}, "100 to 599"},
		{"a page without HTML", `{"url":"https://example.com/","html":"",` + metadata + `}`, nil, ""},
		{"no text", `{"url":"https://example.com/","text":null,"html":null,` + metadata + `}`, []string{"text"}, "is missing"},
		{"a NUL character", `{"url":"https://example.com/","text":"a\u0000b","x\u0000":1,` + metadata + `}`, nil, ""},
		{"a NUL character in the address", `{"url":"https://example.com/\u0000","text":"",` + metadata + `}`,
			[]string{"url"}, "not an absolute"},
		{"bytes that are not UTF-8", `{"url":"https://example.com/","text":"` + "\xff" + `",` + metadata + `}`,
			[]string{""}, "is not UTF-8"},
		{"an address of 5,000 bytes", `{"url":"https://example.com/` + strings.Repeat("x", 4980) + `","text":"x",` +
			metadata + `}`, []string{"url"}, "has 5000 bytes, the most is 4096"},
		{"a day", `{"url":"https://example.com/","text":"x","metadata":{"timestamp":"2025-11-01","status_code":200}}`,
			[]string{"metadata.timestamp"}, "expected an ISO 8601 time"},
		{"no such day", `{"url":"https://example.com/","text":"x","metadata":{"timestamp":"2025-02-30T12:00:00Z"}}`,
			[]string{"metadata.timestamp"}, "expected an ISO 8601 time"},
		{"a time in words", `{"url":"https://example.com/","text":"x","metadata":{"timestamp":"yesterday"}}`,
			[]string{"metadata.timestamp"}, `is "yesterday", expected an ISO 8601 time`},
		{"a time as a number", `{"url":"https://example.com/","text":"x","metadata":{"timestamp":1700000000}}`,
			[]string{"metadata.timestamp"}, "is 1700000000, expected a string"},
		{"metadata in words", `{"url":"https://example.com/","text":"x","metadata":"x"}`, []string{"metadata"}, "is a string"},
		{"a text in parts", `{"url":"https://example.com/","text":["x"],` + metadata + `}`, []string{"text"}, "is a array"},
		{"a title of several", `{"url":"https://example.com/","text":"x","metadata":{"title":["x"],` +
			`"timestamp":"2025-11-01T12:00:00Z","status_code":200}}`, []string{"metadata.title"}, "is a array"},
		{"unknown fields", `{"url":"https://example.com/","text":"x","links":[1],"metadata":{"title":null,"depth":{"a":1},` +
			`"timestamp":"2025-11-01T12:00:00","status_code":200,"language":7,"headings":{"h1":["x"]},"content_type":[]}}`,
			nil, ""},
		{"a file", `{"url":"file:///etc/passwd","text":"x",` + metadata + `}`, []string{"url"}, "http(s)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, err := contract.Decode[contract.CrawledPage]([]byte(tt.body), contract.MaxCrawledPage)
			requireFields(t, err, tt.fields, tt.reason)
		})
	}
}

// A time is UTC where it names no zone.
func TestCrawledTimestamp(t *testing.T) {
	t.Parallel()

	for said, want := range map[string]string{
		"2025-11-01T12:00:00Z": "2025-11-01T12:00:00Z", "2025-11-01T12:00:00.25": "2025-11-01T12:00:00.25Z",
		"2025-11-01T12:00:00+02:00": "2025-11-01T10:00:00Z", "2025-11-01T12:00:00.5-0500": "2025-11-01T17:00:00.5Z",
		"2025-11-01t12:00:00.123456789z": "2025-11-01T12:00:00.123456789Z", "2025-11-01 12:00:00+00:00": "2025-11-01T12:00:00Z",
		"2025-11-01T12:00:00,5Z": "2025-11-01T12:00:00.5Z", "2025-11-01 12:00:00.5+02": "2025-11-01T10:00:00.5Z",
		"2025-11-01T12:00Z": "2025-11-01T12:00:00Z", "2025-11-01T12:00": "2025-11-01T12:00:00Z",
		"20251101T120000Z": "2025-11-01T12:00:00Z", "20251101T120000.25-0500": "2025-11-01T17:00:00.25Z",
		"2025-11-01T23:30:00-05:30": "2025-11-02T05:00:00Z",
	} {
		m, err := contract.Decode[contract.CrawledPage]([]byte(`{"url":"https://example.com/","text":"x","metadata":{`+
			`"timestamp":"`+said+`","status_code":200}}`), contract.MaxCrawledPage)
		require.NoError(t, err, said)
		require.Equal(t, want, m.Metadata.Timestamp.Format(time.RFC3339Nano))
	}
}

// FuzzDecode: whatever the bytes are, Decode neither panics nor lets through what Postgres cannot store.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"scraped", "staged", "images.pending", contract.ListingPublished, contract.QueueCrawler} {
		body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		require.NoError(f, err)
		f.Add(body)
	}
	for _, body := range [][]byte{
		nil, []byte(`{}`), []byte(`null`), []byte(`[[]]`), with("latitude", `"abc"`), with("title", `"\u0000"`),
		with("raw", `{"a":{"\u0000":[]}}`), with("title", "\"\xff\""), with("scraped_at", `"x"`),
		with("price", `{"amount_cents":1e99}`),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := contract.Decode[contract.ScrapedListing](body, contract.MaxBody)
		if _, serr := contract.Decode[contract.StagedListing](body, contract.MaxBody); serr != nil {
			require.NotEmpty(t, serr.Error())
		}
		if _, ierr := contract.Decode[contract.PendingImage](body, contract.MaxBody); ierr != nil {
			require.NotEmpty(t, ierr.Error())
		}
		if _, perr := contract.Decode[contract.CrawledPage](body, contract.MaxCrawledPage); perr != nil {
			require.NotEmpty(t, perr.Error())
		}
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.NoError(t, m.Check())
		again, err := json.Marshal(m)
		require.NoError(t, err)
		back, err := contract.Decode[contract.ScrapedListing](again, contract.MaxBody)
		require.NoError(t, err, "%s", again)
		require.Equal(t, m.Title, back.Title)
		require.NotContains(t, m.Title+m.Description+m.Address+m.Contact.Name+m.PlatformID, "\x00")
	})
}
