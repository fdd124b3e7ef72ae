package prose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
)

// features settles everything about the home that no advert must state.
func (n *normalizer) features() {
	n.inTitle, n.titleAt = n.title.utilities()
	n.inBody, n.bodyAt = n.body.utilities()
	n.furnished()
	n.pets()
	n.parking()
	n.utilities()
	n.amenities()
	n.smoking()
	n.terms()
}

// either reads a value from the title, else from the description.
func (n *normalizer) either(read func(*Prose) (string, int, int)) (v, from string, p *Prose, i, j int) {
	if v, i, j = read(n.title); v != "" {
		return v, "title", n.title, i, j
	}
	v, i, j = read(n.body)
	return v, "description", n.body, i, j
}

// settle combines a stated value with the one that words give. A stated value stands unless it was blank.
func (n *normalizer) settle(field string, value *string, read func(*Prose) (string, int, int)) {
	v, from, p, i, j := n.either(read)
	switch {
	case v == "" || *value == v:
	case *value == "":
		*value = v
		n.note(field, from, p, i, j)
	case n.stated.blank[field]:
		n.conflict(field, v, from, *value, n.stated.from(field), p.quote(i, j))
		*value = v
		n.note(field, from, p, i, j)
	default:
		n.conflict(field, *value, n.stated.from(field), v, from, p.quote(i, j))
	}
}

func (n *normalizer) furnished() {
	_, from, p, i, j := n.either((*Prose).furnished)
	v, _, _ := p.furnished()
	// "Semi-meublé" and "meublé en option" say more than the platform's yes: no conflict.
	if n.l.Furnished == "yes" && (v == "semi" || v == "optional") {
		n.l.Furnished = v
		n.note("furnished", from, p, i, j)
		return
	}
	n.settle("furnished", &n.l.Furnished, (*Prose).furnished)
}

func (n *normalizer) smoking() { n.settle("smoking", &n.l.Smoking, (*Prose).smoking) }

// pets joins the platform's yes or no with the words. A "yes" that the words deny outright is a conflict that a person
// must settle; words that only narrow it ("un petit chien") refine it.
func (n *normalizer) pets() {
	l := &n.l
	words, i, j := n.title.pets()
	from, p := "title", n.title
	if words.Policy == "" {
		words, i, j = n.body.pets()
		from, p = "description", n.body
	} else if words.Policy == "limited" { // "cats OK", and below it "no dogs"
		more, _, _ := n.body.pets()
		words = merged(words, more)
	}
	if words.Policy == "" {
		return
	}
	stated := n.stated.Pets
	switch {
	case stated.Policy == "":
		l.Pets = words
		n.note("pets", from, p, i, j)
	case stated.Policy == words.Policy:
		l.Pets = merged(stated, words)
	case stated.Policy == "yes" && words.Policy == "no":
		l.Pets = listing.Pets{Policy: "conflict", Cats: words.Cats, Dogs: words.Dogs}
		n.warn("pets", listing.CodeConflict, "%s says yes, %s says no (%q); both stand until an operator settles it", n.stated.from("pets"),
			from, p.quote(i, j))
	case stated.Policy == "no" && !n.stated.blank["pets"]:
		l.Pets = listing.Pets{Policy: "conflict", Cats: words.Cats, Dogs: words.Dogs}
		n.warn("pets", listing.CodeConflict, "%s says no, %s says %s (%q); both stand until an operator settles it", n.stated.from("pets"),
			from, words.Policy, p.quote(i, j))
	default: // the words say more
		if stated.Policy != "yes" || words.Policy != "limited" {
			n.conflict("pets", words.Policy, from, stated.Policy, n.stated.from("pets"), p.quote(i, j))
		}
		l.Pets = merged(words, stated)
		n.note("pets", from, p, i, j)
	}
}

func merged(a, b listing.Pets) listing.Pets {
	if a.Cats == "" {
		a.Cats = b.Cats
	}
	if a.Dogs == "" {
		a.Dogs = b.Dogs
	}
	return a
}

func (n *normalizer) parking() {
	l := &n.l
	words, sure, i, j := n.title.parking()
	from, p := "title", n.title
	if sure < 2 { // a title that only names it: "TOUT INCLUS + STAT."
		if more, better, a, b := n.body.parking(); better > sure {
			words, i, j = more, a, b
			from, p = "description", n.body
		}
	} else if words.Spots == 0 || words.Type == "" { // the description has what the title leaves out
		if more, better, _, _ := n.body.parking(); better >= 2 && more.Offer == words.Offer {
			words.Spots, words.Type = cmp.Or(words.Spots, more.Spots), cmp.Or(words.Type, more.Type)
		}
	}
	if u, where := n.inTitle, &n.titleAt; u.parking != nil && *u.parking && words.Offer != "extra" &&
		words.Offer != "street" {
		words.Offer = "included"
		i, j, from, p = where[parkingPlace].from, where[parkingPlace].to, "title", n.title
	} else if u, where := n.inBody, &n.bodyAt; u.parking != nil && *u.parking && words.Offer != "extra" &&
		words.Offer != "street" && words.Offer != "included" {
		words.Offer = "included"
		i, j, from, p = where[parkingPlace].from, where[parkingPlace].to, "description", n.body
	}
	if words.Offer == "" {
		return
	}
	switch {
	case !n.stated.has("parking"):
		l.Parking = words
		n.note("parking", from, p, i, j)
	case l.Parking.Offer != words.Offer && (words.Offer == "extra" || n.stated.blank["parking"]):
		spots := l.Parking.Spots
		n.conflict("parking", words.Offer, from, l.Parking.Offer, n.stated.from("parking"), p.quote(i, j))
		l.Parking = words
		if l.Parking.Spots == 0 {
			l.Parking.Spots = spots
		}
		n.note("parking", from, p, i, j)
	default:
		if l.Parking.Type == "" {
			l.Parking.Type = words.Type
		}
	}
}

func (n *normalizer) utilities() {
	l := &n.l
	inTitle, titleAt := &n.inTitle, &n.titleAt
	inBody, bodyAt := &n.inBody, &n.bodyAt
	for _, f := range [...]struct {
		name     string
		what     utility
		slot     **bool
		tit, bod *bool
	}{
		{"utilities.heat", heat, &l.Utilities.Heat, inTitle.Heat, inBody.Heat},
		{"utilities.hot_water", hotWater, &l.Utilities.HotWater, inTitle.HotWater, inBody.HotWater},
		{"utilities.electricity", electricity, &l.Utilities.Electricity, inTitle.Electricity, inBody.Electricity},
		{"utilities.internet", internet, &l.Utilities.Internet, inTitle.Internet, inBody.Internet},
		{"utilities.water", water, &l.Utilities.Water, inTitle.Water, inBody.Water},
		{"utilities.cable", cable, &l.Utilities.Cable, inTitle.Cable, inBody.Cable},
	} {
		words, from, p, at := f.tit, "title", n.title, titleAt[f.what]
		if words == nil {
			words, from, p, at = f.bod, "description", n.body, bodyAt[f.what]
		} else if f.bod != nil && *f.bod != *words {
			n.conflict(f.name, yesNo(*words), "title", yesNo(*f.bod), "description", n.body.quote(bodyAt[f.what].from,
				bodyAt[f.what].to))
		}
		switch {
		case words == nil:
		case *f.slot == nil:
			*f.slot = words
			n.note(f.name, from, p, at.from, at.to)
		case **f.slot != *words && n.stated.blank[f.name]:
			*f.slot = words
			n.note(f.name, from, p, at.from, at.to)
		case **f.slot != *words:
			n.conflict(f.name, yesNo(**f.slot), n.stated.from(f.name), yesNo(*words), from, p.quote(at.from, at.to))
		}
	}
	for _, p := range [...]*Prose{n.title, n.body} {
		if c, ok := p.electricityEstimate(); ok && l.Utilities.ElectricityEstimateCents == 0 {
			l.Utilities.ElectricityEstimateCents = c
		}
	}
}

func (p *Prose) electricityEstimate() (int64, bool) {
	for _, a := range p.amounts() {
		if a.role == forHydro && (a.per == perMonth || a.per == unstated) {
			if p.bimonthly(a.to + 1) { // "hydro is $120 every two months"
				return a.cents / 2, true
			}
			return a.cents, true
		}
	}
	return 0, false
}

// bimonthly tells whether a sum up to the token i is for two months.
func (p *Prose) bimonthly(i int) bool {
	w, n := p.word(i), p.word(i+1)
	if w == "tous" && n == "les" {
		i, w, n = i+1, n, p.word(i+2)
	}
	t := p.num(i + 1)
	two := n == "two" || n == "deux" || t != nil && t.cents == 2_00
	m := p.word(i + 2)
	return (w == "every" || w == "aux" || w == "les") && two && (m == "months" || m == "mois")
}

func yesNo(b bool) string {
	if b {
		return "included"
	}
	return "not included"
}

func (n *normalizer) amenities() {
	l := &n.l
	l.Amenities = slices.Clone(l.Amenities)
	for _, from := range [...]string{"title", "description"} {
		p := n.title
		if from == "description" {
			p = n.body
		}
		p.amenities(func(name string, i, j int) {
			if slices.Contains(l.Amenities, name) {
				return
			}
			l.Amenities = append(l.Amenities, name)
			if _, ok := l.Sources["amenities"]; !ok {
				n.note("amenities", from, p, i, j)
			}
		})
	}
	slices.Sort(l.Amenities)
	if len(l.Amenities) == 0 {
		l.Amenities = nil
	}
}

// terms settles the lease and when the home is free.
func (n *normalizer) terms() {
	n.settle("lease", &n.l.Lease, (*Prose).lease)
	if n.l.Available != "" {
		return
	}
	v, i, j := n.title.available(true)
	from, p := "title", n.title
	if b, a, c := n.body.available(false); b != "" && (v == "" || v != "now" && sameMonth(v, b) && len(b) > len(v)) {
		v, i, j, from, p = b, a, c, "description", n.body
	}
	if v == "" {
		v, i, j = n.title.vacant()
		from, p = "title", n.title
	}
	if v == "" {
		v, i, j = n.body.vacantItem()
		from, p = "description", n.body
	}
	if v != "" {
		n.l.Available = v
		n.note("available", from, p, i, j)
	}
}

// sameMonth tells whether two answers of available name one month: "07-01" and "<=2018-07-01".
func sameMonth(a, b string) bool { return monthOf(a) != "" && monthOf(a) == monthOf(b) }

func monthOf(s string) string {
	s = strings.TrimPrefix(s, "<=")
	switch {
	case len(s) >= 7 && s[4] == '-':
		return s[5:7]
	case len(s) == 5:
		return s[:2]
	}
	return ""
}
