// Package centris reads the adverts of centris.ca, those of Quebec's real estate brokers.
package centris

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/platform/field"
)

// Platform is centris.ca.
type Platform struct{}

// Name returns "centris".
func (Platform) Name() string { return "centris" }

// Normalize interprets one advert. Raw.Attributes holds the characteristics of the page by their labels, French or
// English, and the counts above them by the class names of the site: cac, bedrooms; sdb, bathrooms; piece. The last
// counts every room but bathrooms and is no Quebec count: "5 pièces" may be a 3 ½ or a 4 ½, and says nothing. An advert
// for land is rejected whatever its text.
func (Platform) Normalize(raw listing.Raw) (listing.Listing, error) {
	l, err := prose.Normalize(raw, field.Read(raw, attributes))
	for _, kind := range raw.Attributes["category"] {
		if strings.HasPrefix(page.Fold(kind), "terrain") || strings.HasPrefix(page.Fold(kind), "terre ") ||
			strings.HasPrefix(page.Fold(kind), "land ") || strings.HasPrefix(page.Fold(kind), "lot ") {
			return listing.Listing{}, field.NoHome(err, "category", kind)
		}
	}
	return l, err
}

// attributes are the names that Normalize knows, folded.
var attributes = map[string]field.Reader{
	"category": category,
	"cac":      field.Bedrooms,
	"sdb":      field.Bathrooms,

	"superficie brute":     field.Area,
	"superficie nette":     field.Area,
	"superficie habitable": field.Area,
	"gross area":           field.Area,
	"net area":             field.Area,
	"living area":          field.Area,
	"date d'emmenagement":  field.Available,
	"move-in date":         field.Available,
	"stationnement total":  field.Parking,
	"parking (total)":      field.Parking,

	"caracteristiques additionnelles": additional,
	"additional features":             additional,
}

// kinds of home by the first words of the site's category. "Condo / Appartement" is for both: the text of the advert
// may settle it.
var kinds = []struct{ prefix, kind string }{
	{"condo / a", "apartment"}, {"condo", "condo"}, {"appartement", "apartment"}, {"apartment", "apartment"},
	{"maison de ville", "townhouse"}, {"townhouse", "townhouse"}, {"maison", "house"}, {"house", "house"},
	{"duplex", "duplex-triplex"}, {"triplex", "duplex-triplex"}, {"loft / studio", "loft"},
}

func category(s *prose.Stated, name, value string) {
	folded := page.Fold(value)
	for _, k := range kinds {
		if strings.HasPrefix(folded, k.prefix) {
			s.PropertyType = k.kind
			s.Note("property_type", name, value)
			break
		}
	}
	// A loft or studio has no count of bedrooms. Where it has one, "cac" was read before.
	if strings.HasPrefix(folded, "loft / studio") && !stated(s, "bedrooms") {
		s.Bedrooms = 0
		s.Note("bedrooms", name, value)
	}
}

func stated(s *prose.Stated, field string) bool { _, ok := s.Sources[field]; return ok }

// additional reads the list "Semi-meublé, Internet inclus".
func additional(s *prose.Stated, name, value string) {
	for part := range strings.SplitSeq(value, ",") {
		folded := page.Fold(strings.TrimSpace(part))
		switch included := strings.Contains(folded, "inclu"); {
		case strings.Contains(folded, "meuble"), strings.Contains(folded, "furnished"):
			field.Furnished(s, name, strings.TrimSpace(part))
		case !included || strings.HasPrefix(folded, "non ") || strings.Contains(folded, "not "):
		case strings.HasPrefix(folded, "internet"):
			field.Internet(s, name, value)
		case strings.HasPrefix(folded, "electricit"):
			field.Electricity(s, name, value)
		case strings.HasPrefix(folded, "chauffage"), strings.HasPrefix(folded, "heating"):
			field.Heat(s, name, value)
		case strings.HasPrefix(folded, "eau chaude"), strings.HasPrefix(folded, "hot water"):
			field.HotWater(s, name, value)
		}
	}
}
