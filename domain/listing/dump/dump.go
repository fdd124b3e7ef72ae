package dump

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/price"
)

// mostShown is how many characters of a wrong value a message has.
const mostShown = 41

// fields are what a row is read for, with the names that columns have for it, compared in snake_case. The first column
// that a table has counts.
var fields = map[string][]string{
	"platform":      {"platform", "source", "provider", "site"},
	"platform_id":   {"platform_id", "external_id", "source_id", "original_id", "ad_id", "advert_id"},
	"url":           {"url", "source_url", "original_url", "listing_url", "link"},
	"title":         {"title", "name", "heading"},
	"description":   {"description", "body", "text"},
	"rent_cents":    {"rent_cents", "price_cents", "monthly_rent_cents"},
	"rent":          {"rent", "price", "monthly_rent", "price_monthly", "rent_cad", "price_cad"},
	"bedrooms":      {"bedrooms", "beds", "bedroom_count", "num_bedrooms", "number_of_bedrooms"},
	"rooms":         {"rooms", "room_count", "pieces"},
	"bathrooms":     {"bathrooms", "baths", "bathroom_count", "num_bathrooms"},
	"area_sqft":     {"area_sqft", "sqft", "square_feet", "size_sqft", "area"},
	"property_type": {"property_type", "unit_type", "type"},
	"address":       {"address", "full_address", "street_address", "address_text", "location"},
	"city":          {"city", "town", "municipality"},
	"postal_code":   {"postal_code", "postcode", "zip", "zip_code"},
	"latitude":      {"latitude", "lat"},
	"longitude":     {"longitude", "lng", "lon", "long"},
	"furnished":     {"furnished", "is_furnished"},
	"pets":          {"pets_allowed", "pets", "pet_friendly"},
	"lease":         {"lease", "lease_type", "lease_term"},
	"available":     {"available_from", "available_at", "available_date", "availability_date", "available"},
	"image_urls":    {"image_urls", "images", "photos", "photo_urls"},
	"amenities":     {"amenities", "features"},
	"scraped_at":    {"last_scraped_at", "scraped_at", "last_seen_at", "updated_at", "created_at"},
	"posted_at":     {"posted_at", "date_posted", "published_at"},
	"status":        {"status", "state"},
}

// Options say how a table is read.
type Options struct {
	Platform string            // of all rows, instead of a column
	Columns  map[string]string // field → column, for columns of other names
}

// A Plan says which column each field is read from.
type Plan struct {
	platform string
	Columns  map[string]string // field → column
	Ignored  []string          // columns that nothing is read from, sorted
}

// Find decides by the columns of a table which of them are read. Its error names the field that no column was found
// for, or the option that is wrong.
func Find(columns []string, o Options) (Plan, error) {
	p := Plan{platform: o.Platform, Columns: map[string]string{}}
	byName := map[string]string{}
	for _, c := range columns {
		byName[snake(c)] = c
	}
	for field, column := range o.Columns {
		if _, ok := fields[field]; !ok {
			return p, fmt.Errorf("there is no field %q; there are %s", field,
				strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
		if !slices.Contains(columns, column) {
			return p, fmt.Errorf("field %s: there is no column %q; there are %s", field, column, strings.Join(columns, ", "))
		}
		p.Columns[field] = column
	}
	used := map[string]bool{}
	for _, column := range p.Columns {
		used[column] = true
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		for _, name := range fields[field] {
			if column, ok := byName[name]; ok && p.Columns[field] == "" && !used[column] {
				p.Columns[field], used[column] = column, true
			}
		}
	}
	for _, c := range columns {
		if !used[c] {
			p.Ignored = append(p.Ignored, c)
		}
	}
	slices.Sort(p.Ignored)
	for _, field := range []string{"platform", "platform_id", "url", "title", "rent", "bedrooms", "scraped_at"} {
		if p.Columns[field] != "" || field == "platform" && p.platform != "" ||
			field == "rent" && p.Columns["rent_cents"] != "" {
			continue
		}
		return p, fmt.Errorf("no column was found for %s among %s; name it", field, strings.Join(columns, ", "))
	}
	return p, nil
}

// snake is a name in snake_case: platformId → platform_id.
func snake(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			r, lower = unicode.ToLower(r), false
		case r == ' ' || r == '-':
			r, lower = '_', false
		default:
			lower = r != '_'
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "__", "_")
}

// Status is a row's state as its table has it, in lower case; "" where it has none.
func (p Plan) Status(r Row) string { return strings.ToLower(p.get(r, "status")) }

func (p Plan) get(r Row, field string) string { return strings.TrimSpace(r.Values[p.Columns[field]]) }

// Message is what the row says as another team's normalizer would send it, claimed where its status is. Its error is
// contract.Errors, with each field that keeps the row from being one.
func (p Plan) Message(r Row) (contract.StagedListing, error) {
	d := reader{plan: p, row: r}
	m := contract.StagedListing{
		Platform: p.platform, PlatformID: p.get(r, "platform_id"), URL: p.get(r, "url"), ScrapedAt: d.time("scraped_at"),
		Claimed: p.Status(r) == "claimed",
	}
	if m.Platform == "" {
		m.Platform = strings.ToLower(p.get(r, "platform"))
	}
	l := listing.Listing{
		Ref: listing.Ref{Platform: m.Platform, PlatformID: m.PlatformID}, URL: m.URL, ScrapedAt: m.ScrapedAt,
		Title: p.get(r, "title"), Description: p.get(r, "description"), RentCents: d.rent(), Bedrooms: d.bedrooms(),
		Rooms: d.number("rooms"), Bathrooms: d.number("bathrooms"), AreaSqFt: int(math.Round(d.number("area_sqft"))),
		PropertyType: strings.ToLower(p.get(r, "property_type")), Furnished: d.yesNo("furnished"), Lease: p.get(r, "lease"),
		Available: d.day("available"), ImageURLs: d.list("image_urls"), Amenities: d.list("amenities"),
		Address:  listing.Address{Text: p.get(r, "address"), City: p.get(r, "city"), PostalCode: p.get(r, "postal_code")},
		Latitude: d.degrees("latitude", 90), Longitude: d.degrees("longitude", 180),
		Sources: map[string]listing.Source{},
	}
	l.Pets.Policy = d.yesNo("pets")
	slices.Sort(l.Amenities)
	if at := d.time("posted_at"); !at.IsZero() {
		l.PostedAt = &at
	}
	if (l.Latitude == nil) != (l.Longitude == nil) {
		l.Latitude, l.Longitude = nil, nil
	}
	if len(d.wrong) > 0 {
		return m, d.wrong
	}
	doc, err := json.Marshal(l)
	if err != nil {
		return m, fmt.Errorf("write row %d: %w", r.Number, err)
	}
	m.Listing = doc
	return m, m.Check()
}

// reader reads the values of a row and collects what is wrong with them.
type reader struct {
	plan  Plan
	row   Row
	wrong contract.Errors
}

func (d *reader) add(field, format string, args ...any) {
	d.wrong = append(d.wrong, contract.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// number is a number, 0 where none is stated.
func (d *reader) number(field string) float64 {
	text := d.plan.get(d.row, field)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 1e9 {
		d.add(field, "is %q, expected a number", page.Short(text, mostShown))
		return 0
	}
	return n
}

func (d *reader) degrees(field string, most float64) *float64 {
	text := d.plan.get(d.row, field)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(n) <= most) {
		d.add(field, "is %q, expected degrees from -%g to %g", page.Short(text, mostShown), most, most)
		return nil
	}
	return &n
}

// rent is CAD cents a month, 0 where none is stated. One outside listing.MinRentCents..MaxRentCents is wrong.
func (d *reader) rent() int64 {
	field, wrong := "rent", len(d.wrong)
	var cents float64
	if d.plan.Columns["rent_cents"] != "" {
		field = "rent_cents"
		cents = d.number(field)
	} else {
		cents = d.dollars(field) * 100
	}
	text := d.plan.get(d.row, field)
	if text == "" || len(d.wrong) > wrong {
		return 0
	}
	cents = math.Round(cents)
	if !(cents >= float64(listing.MinRentCents) && cents <= float64(listing.MaxRentCents)) {
		d.add(field, "is %q, expected %s to %s a month", page.Short(text, mostShown), listing.Dollars(listing.MinRentCents),
			listing.Dollars(listing.MaxRentCents))
		return 0
	}
	return int64(cents)
}

// monthly is what may stand beside an amount, without spaces.
var monthly = []string{"", "month", "permonth", "mo", "mois", "parmois", "m"}

// dollars is an amount of CAD a month, as a database writes numbers or as it is printed in French or English. A point
// before three digits at the end groups thousands, as in French. Another currency or period and a range are wrong.
func (d *reader) dollars(field string) float64 {
	text := d.plan.get(d.row, field)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if point := strings.IndexByte(text, '.'); err == nil && (point < 0 || point != len(text)-4) {
		return n
	}
	p, ok := price.Parse(text, price.Hint{Currency: "CAD"})
	words := strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) || unicode.IsSpace(r) || strings.ContainsRune(".,'/$", r) {
			return -1
		}
		return r
	}, strings.Replace(text, p.Symbol, "", 1)))
	if ok && p.Currency == "CAD" && slices.Contains(monthly, words) {
		if n, err = strconv.ParseFloat(p.Amount, 64); err == nil {
			return n
		}
	}
	d.add(field, "is %q, expected CAD a month", page.Short(text, mostShown))
	return 0
}

func (d *reader) bedrooms() int {
	text := d.plan.get(d.row, "bedrooms")
	if strings.EqualFold(text, "studio") {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		d.add("bedrooms", "is missing")
	case err != nil || n != math.Trunc(n) || n < 0 || n > 99:
		d.add("bedrooms", "is %q, expected a whole number", page.Short(text, mostShown))
	}
	return int(n)
}

// yesNo reads a boolean; another word stays as it is.
func (d *reader) yesNo(field string) string {
	switch text := strings.ToLower(d.plan.get(d.row, field)); text {
	case "t", "true", "1", "yes", "oui":
		return "yes"
	case "f", "false", "0", "no", "non":
		return "no"
	default:
		return text
	}
}

// times are the forms of times in dumps; those without a zone are UTC.
var times = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", time.DateOnly,
}

func (d *reader) time(field string) time.Time {
	text := d.plan.get(d.row, field)
	if text == "" {
		return time.Time{}
	}
	for _, layout := range times {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	d.add(field, "is %q, expected a time such as 2026-03-04 12:00:00+00", page.Short(text, mostShown))
	return time.Time{}
}

// day is a date as Listing.Available has it; the time of day is left out.
func (d *reader) day(field string) string {
	text := d.plan.get(d.row, field)
	if text == "" || strings.EqualFold(text, "now") {
		return strings.ToLower(text)
	}
	return d.time(field).Format(time.DateOnly)
}

// list reads a JSON array of strings, or of objects with a url, or an array of Postgres.
func (d *reader) list(field string) (out []string) {
	text := d.plan.get(d.row, field)
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "{"):
		return pgArray(text)
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		d.add(field, "is %q, expected a list", page.Short(text, mostShown))
		return nil
	}
	for _, item := range items {
		var s string
		var object struct{ URL string }
		if json.Unmarshal(item, &s) != nil && json.Unmarshal(item, &object) == nil {
			s = object.URL
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// pgArray reads an array of texts as Postgres writes it: {a,"b c",NULL}. Quotes and backslashes are read as far as they
// go.
func pgArray(s string) (out []string) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
	var b strings.Builder
	quoted, was := false, false
	flush := func() {
		if text := b.String(); text != "" && (was || !strings.EqualFold(text, "NULL")) {
			out = append(out, text)
		}
		b.Reset()
		was = false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case c == '"':
			quoted, was = !quoted, true
		case c == ',' && !quoted:
			flush()
		default:
			b.WriteByte(c)
		}
	}
	flush()
	return out
}
