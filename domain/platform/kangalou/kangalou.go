// Package kangalou reads the adverts of kangalou.com.
package kangalou

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
)

// Platform is kangalou.com.
type Platform struct{}

// Name returns "kangalou".
func (Platform) Name() string { return "kangalou" }

// Normalize interprets one advert. Raw.Attributes holds the fields of the owner's form (appartmentsize, bedroomcount,
// bathroomcount, size, type, rentfrequency, availability) and, under "criteria" or each under its own name, the ids of
// the boxes that the owner ticked ("criteria-hot-water"). The site prints its prices in text ("1 450 $"). No advert of
// the live site was at hand when this was written: the vocabulary is that of its form, and what is unknown says
// nothing.
func (Platform) Normalize(raw listing.Raw) (listing.Listing, error) {
	var s prose.Stated
	for _, name := range slices.Sorted(maps.Keys(raw.Attributes)) {
		values := raw.Attributes[name]
		key := strings.ToLower(strings.TrimSpace(name))
		if key == "criteria" || key == "criterias" {
			for _, v := range values {
				tick(&s, name, v)
			}
			continue
		}
		if box := criterion(key); criteria[box] != nil {
			if len(values) == 0 || on(values[0]) {
				tick(&s, name, box)
			}
			continue
		}
		read := fields[key]
		if read == nil || len(values) == 0 || strings.TrimSpace(values[0]) == "" {
			continue
		}
		read(&s, name, strings.TrimSpace(values[0]))
	}
	switch period(raw) {
	case "week":
		raw.Price = each(raw.Price, "semaine")
	case "day":
		raw.Price = each(raw.Price, "jour")
	}
	return prose.Normalize(raw, s)
}

// period returns the rent's period as the form has it: "month" or "week", "" when it is not stated.
func period(raw listing.Raw) string {
	for _, name := range [...]string{"rentfrequency", "rentFrequency"} {
		for _, v := range raw.Attributes[name] {
			return ParseFrequency(v)
		}
	}
	return ""
}

// ParseFrequency reads the form's rent frequency ("Every month", "Chaque semaine"): month, week, day, year or "".
func ParseFrequency(s string) string {
	f := page.Fold(s)
	switch {
	case strings.Contains(f, "month"), strings.Contains(f, "mois"), strings.Contains(f, "mensuel"):
		return "month"
	case strings.Contains(f, "week"), strings.Contains(f, "semaine"), strings.Contains(f, "hebdo"):
		return "week"
	case strings.Contains(f, "day"), strings.Contains(f, "jour"):
		return "day"
	case strings.Contains(f, "year"), strings.Contains(f, "annee"), strings.Contains(f, "annuel"):
		return "year"
	}
	return ""
}

// each says in the price's text what the form says in another field, where the shared rules look for it.
func each(p listing.RawPrice, period string) listing.RawPrice {
	if p.AmountCents != nil && *p.AmountCents > 0 {
		p.Text = strconv.FormatFloat(float64(*p.AmountCents)/100, 'f', 2, 64) + " $ / " + period
		return p
	}
	if r := prose.ParsePrice(p.Text); r.Stated > 0 && r.Per == "" {
		p.Text = strconv.FormatFloat(float64(r.Stated)/100, 'f', 2, 64) + " $ / " + period
	}
	return p
}

func on(v string) bool {
	switch page.Fold(strings.TrimSpace(v)) {
	case "0", "false", "no", "non", "off":
		return false
	}
	return true
}

// criterion is a box's id without its prefix: "criteria-hot-water" → "hot-water".
func criterion(id string) string {
	id = strings.ToLower(strings.TrimSpace(id))
	id = strings.TrimPrefix(id, "criteria-")
	return strings.ReplaceAll(id, "_", "-")
}

func tick(s *prose.Stated, name, id string) {
	if f := criteria[criterion(id)]; f != nil {
		f(s, name, id)
	}
}
