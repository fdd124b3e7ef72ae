// Package zumper reads the adverts of zumper.com.
package zumper

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/platform/field"
)

// Platform is zumper.com.
type Platform struct{}

// Name returns "zumper".
func (Platform) Name() string { return "zumper" }

// Normalize interprets one advert. Raw.Attributes holds what the page states for search engines: "summary", the words
// "2 bed, 1 bath, 815 Sq. Ft. condo", floorSize and petsAllowed. A house with several flats has no summary, and then the
// text alone speaks.
func (Platform) Normalize(raw listing.Raw) (listing.Listing, error) {
	return prose.Normalize(raw, field.Read(raw, map[string]field.Reader{
		"summary": summary, "floorsize": floorSize, "petsallowed": field.Pets,
	}))
}

// summarized is how the site sums up a home, within a sentence for search engines.
var summarized = regexp.MustCompile(
	`\b(?:(?P<beds>\d{1,2}) bed|(?P<studio>[Ss]tudio))(?:, (?P<baths>\d{1,2}(?:\.5)?) bath)?(?:, (?P<area>[\d,]{2,7}) Sq\. Ft\.)? ?(?P<kind>[a-z]+)?`)

var kinds = field.Kind(map[string]string{
	"apartment": "apartment", "condo": "condo", "house": "house", "townhouse": "townhouse", "townhome": "townhouse",
	"duplex": "duplex-triplex", "triplex": "duplex-triplex", "basement": "basement", "loft": "loft", "studio": "studio",
	"room": "room",
})

func summary(s *prose.Stated, name, value string) {
	m := summarized.FindStringSubmatch(value)
	if m == nil {
		return
	}
	part := func(group string) string { return m[summarized.SubexpIndex(group)] }
	if part("studio") != "" {
		field.Bedrooms(s, name, "0")
	} else {
		field.Bedrooms(s, name, part("beds"))
	}
	if baths := part("baths"); baths != "" {
		field.Bathrooms(s, name, baths)
	}
	if area := strings.ReplaceAll(part("area"), ",", ""); area != "" {
		field.Area(s, name, area)
	}
	kinds(s, name, part("kind"))
}

// floorSize reads "815FTK", square feet in the code of UN/CEFACT.
func floorSize(s *prose.Stated, name, value string) {
	number, feet := strings.CutSuffix(value, "FTK")
	if _, err := strconv.ParseFloat(number, 64); feet && err == nil && s.AreaSqFt == 0 {
		field.Area(s, name, number)
	}
}
