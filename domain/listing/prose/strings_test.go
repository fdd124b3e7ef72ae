package prose_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// advertString is a title, or a sentence or line of a description, with what a person reads in it. A string that may
// not be published has no Text: it is the JSON string of which the bytes stand in a shared file. A whole advert is one
// of test/corpus, or a description, whose title its source does not have.
type advertString struct {
	Half     string // "open" or "aside", then a number for a later draw
	City     string
	Language string
	Part     string // "title", "description" or "advert", which is both
	ID       string // of an advert
	Title    string // of an advert
	Text     string
	File     string // under data of the shared folder
	At, Len  int
	Want     map[string]string
}

// wholeStrings are the shares of strings, in percent, that were read whole when the rules last changed. The misses of
// the half set aside are never looked at, or its share would no longer say how strings fare that nobody has tuned to.
var wholeStrings = map[string]float64{"open": 99, "aside": 94, "open2": 99, "aside2": 96, "open3": 99,
	"open4": 99, "open5": 99, "open6": 98, "open7": 97, "aside7": 77, "open8": 98, "open9": 99,
	"open10": 99, "open11": 98, "open15": 90, "aside15": 75, "open16": 89, "aside16": 84,
	"open17": 92, "aside17": 85, "open18": 98, "aside18": 96, "open19": 97, "aside19": 85, "open40": 98, "aside40": 78,
	"open41": 90, "aside41": 80, "open42": 73, "aside42": 86}

// TestStrings reads 1,790 strings of real adverts of five cities, and 953 whole adverts. One is whole when every
// value of its label is read and nothing else is claimed.
func TestStrings(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(sharedtest.Dir(t, "the reading of strings from real adverts"), "data")
	type score struct{ whole, strings, right, values int }
	scores := map[string]*score{}
	for _, s := range readStrings(t, folder) {
		wrong, values := judge(s)
		if len(wrong) > 0 && strings.HasPrefix(s.Half, "open") {
			t.Logf("%s, %s %q: %s", s.City, s.Part, strings.TrimSpace(s.Title+" "+s.Text), strings.Join(wrong, "; "))
		}
		for _, group := range []string{s.Half, s.Half + " " + s.City + " " + s.Language} {
			g := scores[group]
			if g == nil {
				g = &score{}
				scores[group] = g
			}
			g.strings++
			g.values += values
			g.right += max(0, values-len(wrong))
			if len(wrong) == 0 {
				g.whole++
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(scores)) {
		g := scores[group]
		share := 100 * float64(g.whole) / float64(g.strings)
		t.Logf("%-18s %3d of %3d strings whole (%.1f %%), %3d of %3d values", group, g.whole, g.strings, share, g.right,
			g.values)
		if share < wholeStrings[group] {
			t.Errorf("%s: %.1f %% of the strings are whole; want %.1f", group, share, wholeStrings[group])
		}
	}
}

func readStrings(t *testing.T, folder string) (list []advertString) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "strings.jsonl"))
	require.NoError(t, err)
	adverts, files := readAdverts(t), map[string][]byte{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var s advertString
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		if s.ID != "" {
			s.Title, s.Text = adverts[s.ID].Title, adverts[s.ID].Description
		}
		if s.File != "" {
			if files[s.File] == nil {
				if files[s.File], err = os.ReadFile(filepath.Join(folder, filepath.FromSlash(s.File))); err != nil {
					t.Fatal(err)
				}
			}
			quoted := `"` + string(files[s.File][s.At:s.At+s.Len]) + `"`
			if err := json.Unmarshal([]byte(quoted), &s.Text); err != nil {
				s.Text = strings.Trim(quoted, `"`) // a cell of a CSV file
			}
		}
		list = append(list, s)
	}
	return list
}

// readAdverts returns the adverts of test/corpus by their platform's ID.
func readAdverts(t *testing.T) map[string]listing.Raw {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "test", "corpus", "quebec-2018.jsonl"))
	require.NoError(t, err)
	adverts := map[string]listing.Raw{}
	for line := range bytes.Lines(data) {
		var raw listing.Raw
		require.NoError(t, json.Unmarshal(line, &raw))
		adverts[raw.PlatformID] = raw
	}
	return adverts
}

// judge compares what the rules read in a string with its label: "a|b" is either, "-" is not stated and "?" anything.
// What the label does not name must not be claimed. Values counts those of the label.
func judge(s advertString) (wrong []string, values int) {
	got := claims(s)
	want := maps.Clone(s.Want)
	if r := want["rooms"]; r != "" && want["bedrooms"] == "" {
		rooms, _ := strconv.ParseFloat(strings.TrimSuffix(r, "|-"), 64)
		want["bedrooms"] = fmt.Sprintf("%d|-", prose.BedroomsOf(rooms))
	}
	if want["pets"] != "" { // "no pets" may, but need not, say so of each animal
		want["cats"], want["dogs"] = cmp.Or(want["cats"], "?"), cmp.Or(want["dogs"], "?")
	}
	if want["units"] != "" { // which of them is kept depends on the rest of the advert
		want["rooms"], want["bedrooms"], want["rent"], want["type"], want["rent_from"] = "?", "?", "?", "?", "?"
	}
	if want["room_rental"] != "" {
		want["bedrooms"], want["type"], want["rooms"] = "1", "?", "?" // the count may be that of the shared home
	}
	for name := range strings.SplitSeq(want["has"], ",") { // of several amenities, which the fields do not hold
		if name != "" && !slices.Contains(prose.ParseAmenities(s.Text), name) {
			wrong = append(wrong, "no "+name)
		}
	}
	for name := range strings.SplitSeq(want["lacks"], ",") { // of amenities that must not be found
		if name != "" && slices.Contains(prose.ParseAmenities(s.Text), name) {
			wrong = append(wrong, name+", which is not there")
		}
	}
	delete(want, "has")
	delete(want, "lacks")
	if s.Want["type"] == "loft" || s.Want["type"] == "studio" {
		want["bedrooms"] = cmp.Or(want["bedrooms"], "0|-")
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if want[key] == "?" {
			continue
		}
		values++
		if have := cmp.Or(got[key], "-"); !slices.Contains(strings.Split(want[key], "|"), have) {
			wrong = append(wrong, fmt.Sprintf("%s = %s, want %s", key, have, want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if want[key] == "" {
			wrong = append(wrong, fmt.Sprintf("%s = %s, which is not stated", key, got[key]))
		}
	}
	return wrong, values
}

// claims is what the rules read in a string, in the terms of the labels. A rent and bedrooms that it lacks are filled
// in, for without them there is no listing.
func claims(s advertString) map[string]string {
	raw := listing.Raw{Title: "Logement", Description: s.Text} // a passage is one of an advert for a home
	switch s.Part {
	case "title":
		raw.Title, raw.Description = s.Text, ""
	case "advert":
		raw.Title = cmp.Or(s.Title, "Annonce")
	case "address":
		raw.Description, raw.Address = "", s.Text
	case "where": // a passage or an advert of which the address is labelled, too
		raw.Title = cmp.Or(s.Title, raw.Title)
	}
	got := map[string]string{}
	var stated prose.Stated
	l, err := prose.Normalize(raw, stated)
	var r *listing.Rejection
	if errors.As(err, &r) {
		for _, reason := range r.Reasons {
			switch reason.Field {
			case "price":
				cents := int64(999_99)
				raw.Price.AmountCents = &cents
			case "bedrooms":
				stated.Bedrooms = 7
				stated.Note("bedrooms", "filled in", "7")
			default:
				got["refused"] = reason.Code
			}
		}
		if l, err = prose.Normalize(raw, stated); err != nil {
			return got
		}
	}
	words := func(field string) bool {
		return l.Sources[field].From == "title" || l.Sources[field].From == "description"
	}
	put := func(field, key string, v any) {
		text := fmt.Sprint(v)
		if words(field) && text != "" && text != "0" && text != "false" {
			got[key] = strings.Replace(text, "true", "yes", 1)
		}
	}
	if s.Part == "address" || s.Part == "where" {
		for key, v := range map[string]string{"civic": strings.Join(l.Address.Civic, ","), "street": l.Address.Street,
			"unit": l.Address.Unit, "city": l.Address.City} {
			if v != "" {
				got[key] = v
			}
		}
	}
	put("rooms", "rooms", l.Rooms)
	if words("bedrooms") {
		got["bedrooms"] = strconv.Itoa(l.Bedrooms)
	}
	put("bedrooms", "den", l.Den)
	put("den", "den", l.Den)
	if len(l.Units) > 1 {
		list := make([]string, len(l.Units))
		for i, u := range l.Units {
			if list[i] = strconv.FormatFloat(u.Rooms, 'f', -1, 64); u.Rooms == 0 {
				list[i] = strconv.Itoa(u.Bedrooms)
			}
		}
		got["units"] = strings.Join(list, ",")
	}
	put("bathrooms", "bathrooms", l.Bathrooms)
	put("area_sqft", "area", l.AreaSqFt)
	put("rent_cents", "rent", float64(l.RentCents)/100)
	put("rent_cents", "rent_from", l.RentFrom)
	if l.PropertyType != "apartment" && l.PropertyType != "duplex-triplex" {
		put("property_type", "type", l.PropertyType)
	}
	put("floor", "floor", l.Floor)
	put("room_rental", "room_rental", l.RoomRental)
	put("sublet", "sublet", l.Sublet)
	put("furnished", "furnished", l.Furnished)
	put("smoking", "smoking", l.Smoking)
	put("lease", "lease", l.Lease)
	put("available", "available", l.Available)
	put("pets", "pets", l.Pets.Policy)
	put("pets", "cats", l.Pets.Cats)
	put("pets", "dogs", l.Pets.Dogs)
	put("parking", "parking", l.Parking.Offer)
	put("parking", "parking_type", l.Parking.Type)
	put("parking", "parking_spots", l.Parking.Spots)
	put("parking", "parking_rent", float64(l.Parking.PriceCents)/100)
	for name, v := range map[string]*bool{"heat": l.Utilities.Heat, "hot_water": l.Utilities.HotWater,
		"electricity": l.Utilities.Electricity, "internet": l.Utilities.Internet, "water": l.Utilities.Water,
		"cable": l.Utilities.Cable} {
		if v != nil {
			got[name] = map[bool]string{true: "yes", false: "no"}[*v]
		}
	}
	if cents := l.Utilities.ElectricityEstimateCents; cents > 0 {
		got["electricity_estimate"] = fmt.Sprint(float64(cents) / 100)
	}
	for _, name := range l.Amenities {
		switch name {
		case "washer_dryer", "washer_dryer_hookups", "laundry_in_building", "air_conditioning":
			got[name] = "yes"
		}
	}
	return got
}
