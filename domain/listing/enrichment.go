package listing

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Who enriches listings. "off" is nobody.
const (
	EnrichHere      = "here"      // this system, when they are published
	EnrichElsewhere = "elsewhere" // another team's consumer of listings.normalized, which answers on listings.enriched
)

// StageEnrich is the stage of another team that enriches adverts between normalize and dedupe. It is none of Stages:
// where nobody else enriches, no advert enters or leaves the pipeline there.
const StageEnrich = "enrich"

// An Enrichment is what is known of a listing beyond what its advert states in fields of a Listing.
type Enrichment struct {
	Facts       []Fact   // that rules read in the text, in the order of FactFields
	Places      []Nearby // by kind, the nearest first
	Attribution string   // of the files that Places are from
	Question    []byte   // hash of the question to a language model; empty = there is no model
	Model       []Fact   // that the model read; nil = not asked, or no answer
}

// All are the facts of rules and of the model. Where both have the one value of a field, that of the rules stands.
func (e Enrichment) All() []Fact { return JoinFacts(e.Facts, e.Model) }

// Says reports whether both say the same to whoever reads them.
func (e Enrichment) Says(o Enrichment) bool {
	return slices.Equal(e.All(), o.All()) && slices.Equal(e.Places, o.Places) && e.Attribution == o.Attribution
}

// An Enriching is a listing that is about to be enriched: it is published, or will be in the same transaction.
type Enriching struct {
	Listing  Listing
	Revision int64       // of the raw advert that it was made of
	Pass     int64       // as Payload.Pass
	Stored   *Enrichment // from before; nil = none
	Of       int64       // the revision that Stored was made of
}

// A Fact is a detail that the text of an advert states and that no field of a Listing has.
type Fact struct {
	Field string `json:"field"` // one of FactFields
	Value string `json:"value"` // of those that the field takes
	From  string `json:"from"`  // title or description, read by rules; model = read by a language model
	Text  string `json:"text"`  // the words it was read from, at most 120 runes, never contact data
}

// A Nearby is a place in the neighbourhood of a listing.
type Nearby struct {
	Kind   string `json:"kind"` // as the operator named the file: metro, school …
	Name   string `json:"name"`
	Metres int    `json:"metres"` // straight distance
}

// A FactField is a field of facts with the values that it takes.
type FactField struct {
	Name   string
	Values []string // nil = a whole number of Low..High
	Low    int
	High   int
	Many   bool // a listing may have several values of it
	Doc    string
}

// FactFields are the fields of facts, in the order in which they are shown. What a Listing has as a field is not among
// them.
var FactFields = []FactField{
	{Name: "amenity", Values: Extras, Many: true, Doc: "further things of the home or its building"},
	{Name: "heating", Values: []string{"electric", "gas", "hot_water", "oil", "forced_air"}, Doc: "how it is heated"},
	{Name: "renovated", Values: []string{"all", "kitchen", "bathroom"}, Many: true, Doc: "what was renovated"},
	{Name: "construction", Values: []string{"new"}, Doc: "a building that was just built"},
	{Name: "year_built", Low: 1700, High: 2100, Doc: "year in which the building was built"},
	{Name: "storeys", Low: 2, High: 99, Doc: "floors of the building"},
	{Name: "appliances", Low: 1, High: 9, Doc: "number of appliances that come with the home"},
	{Name: "occupants", Low: 1, High: 9, Doc: "most persons that may live there"},
	{Name: "metro_minutes", Low: 1, High: 60, Doc: "minutes to a metro station, as the advert says"},
	{Name: "view", Values: []string{"city", "mountain", "park", "water"}, Many: true, Doc: "what is seen from the home"},
	{Name: "credit_check", Values: []string{"yes"}, Doc: "the landlord asks for a credit check"},
	{Name: "references", Values: []string{"yes"}, Doc: "the landlord asks for references"},
	{Name: "for", Values: []string{"seniors", "students"}, Many: true, Doc: "tenants that the home is meant for"},
}

// Extras are the values of the field amenity. None is an amenity of a Listing.
var Extras = []string{
	"bathtub", "ceiling_fan", "cinema", "coworking", "ev_charger", "exposed_brick", "freezer", "games_room",
	"heated_floors", "high_ceilings", "hot_tub", "mezzanine", "microwave", "private_entrance", "rooftop", "skylight",
	"soundproofed", "walk_in_closet",
}

// takes reports whether a value is one of the field's. A number is in decimal digits without leading zeros.
func (f FactField) takes(value string) bool {
	if f.Values != nil {
		return slices.Contains(f.Values, value)
	}
	n, err := strconv.Atoi(value)
	return err == nil && n >= f.Low && n <= f.High && strconv.Itoa(n) == value
}

// factField returns the field of a name.
func factField(name string) (FactField, bool) {
	i := slices.IndexFunc(FactFields, func(f FactField) bool { return f.Name == name })
	if i < 0 {
		return FactField{}, false
	}
	return FactFields[i], true
}

// Valid reports whether the fact has a known field, a value that the field takes, and words.
func (f Fact) Valid() bool {
	field, ok := factField(f.Field)
	return ok && field.takes(f.Value) && strings.TrimSpace(f.Text) != ""
}

// JoinFacts adds to facts those of more that say something else: a field that has one value keeps that of facts. The
// result is in the order of FactFields and, within a field, of the values.
func JoinFacts(facts, more []Fact) []Fact {
	out := slices.Clone(facts)
	for _, f := range more {
		field, ok := factField(f.Field)
		known := func(o Fact) bool { return o.Field == f.Field && (!field.Many || o.Value == f.Value) }
		if ok && !slices.ContainsFunc(out, known) {
			out = append(out, f)
		}
	}
	order := func(f Fact) int {
		return slices.IndexFunc(FactFields, func(field FactField) bool { return field.Name == f.Field })
	}
	slices.SortStableFunc(out, func(a, b Fact) int {
		if n := order(a) - order(b); n != 0 {
			return n
		}
		return strings.Compare(a.Value, b.Value)
	})
	return out
}

// MinRentSample is how many other listings a median rent is of, at least. Fewer say too little to compare with.
const MinRentSample = 10

// A RentComparison is a rent beside those of the listings of the same size in the same place.
type RentComparison struct {
	Scope       string // neighbourhood, or borough where the neighbourhood has too few
	Place       string // key of the neighbourhood, or name of the borough
	Sample      int    // listings that the median is of, MinRentSample or more; this one is not among them
	MedianCents int64  // CAD cents a month
	Percent     int    // by how much the rent is above the median (below: negative), rounded
}

// CompareRent completes a comparison by the rent in CAD cents a month.
func (c RentComparison) CompareRent(rentCents int64) RentComparison {
	if c.MedianCents > 0 {
		tenth := (rentCents - c.MedianCents) * 1000 / c.MedianCents // of a percent
		if c.Percent = int(tenth+5) / 10; tenth < 0 {
			c.Percent = int(tenth-5) / 10
		}
	}
	return c
}

// placeKind is how an operator may name a kind of place.
var placeKind = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// ValidPlaceKind reports whether a kind of place may have a name: lower-case letters, digits and _, at most 32.
func ValidPlaceKind(kind string) bool { return placeKind.MatchString(kind) }
