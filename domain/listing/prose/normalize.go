package prose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// Stated is what a platform's own fields say, in the listing's terms. Fill the Listing's members and Note each, for
// only noted fields count; then Normalize adds what the words say and settles conflicts.
type Stated struct {
	listing.Listing
	blank map[string]bool
}

// Note records that a field was read from the platform's attribute of that name.
func (s *Stated) Note(field, name, value string) {
	if s.Sources == nil {
		s.Sources = make(map[string]listing.Source, 32)
	}
	s.Sources[field] = listing.Source{From: "attribute", Name: name, Text: quoted(value)}
}

// NoteBlank is Note for a "no" that may as well be a form field left alone: clear words win over it.
func (s *Stated) NoteBlank(field, name, value string) {
	s.Note(field, name, value)
	if s.blank == nil {
		s.blank = map[string]bool{}
	}
	s.blank[field] = true
}

// Warn records an oddity that the platform's reader noticed.
func (s *Stated) Warn(field, code, format string, args ...any) {
	s.Warnings = append(s.Warnings, listing.Warning{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
}

// AddAmenity records an amenity from an attribute.
func (s *Stated) AddAmenity(amenity, name, value string) {
	if !slices.Contains(s.Amenities, amenity) {
		s.Amenities = append(s.Amenities, amenity)
	}
	if _, ok := s.Sources["amenities"]; !ok {
		s.Note("amenities", name, value)
	}
}

func (s *Stated) has(field string) bool { _, ok := s.Sources[field]; return ok }

// Normalize makes the listing: what the platform's fields state, then what title, description, price and address say.
// A title, a rent in listing.MinRentCents..MaxRentCents and bedrooms are required; everything that keeps the advert
// out is in the *listing.Rejection, not only the first thing. Fields that disagree are warnings which name both
// values.
//
// Precedence: the title counts bedrooms best, then the platform's field, then the description, then rooms − 2; "2
// chambres et un bureau" against a field of 3 is 2 and a den. The rent is the platform's amount, then its printed
// price, the title, the description. Where an advert offers several homes, the listing is the one at its price, else
// the one its title names, else the cheapest, else the smallest. Coordinates out of range, image addresses that are
// not absolute http(s) and overlong texts are mended with a warning. The result depends on the arguments alone and
// owns its memory.
func Normalize(raw listing.Raw, stated Stated) (listing.Listing, error) {
	n := normalizer{raw: raw, stated: stated, l: stated.Listing}
	n.l.Ref, n.l.ScrapedAt = raw.Ref, raw.ScrapedAt
	n.posted()
	n.l.URL = strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(raw.URL), ""), "\x00", "")
	n.l.Sources = make(map[string]listing.Source, 32) // apart from stated's, which conflicts are told from
	maps.Copy(n.l.Sources, stated.Sources)
	n.text()
	n.headline()
	n.place()
	n.register()
	n.rooms()
	n.rent()
	n.features()
	n.images()
	n.l.Warnings = append(n.l.Warnings, n.warnings...)
	if len(n.reasons) > 0 {
		return listing.Listing{}, &listing.Rejection{Reasons: n.reasons}
	}
	return n.l, nil
}

// posted keeps the time at which the advert was posted.
func (n *normalizer) posted() {
	at := n.raw.PostedAt
	if at != nil && !contract.TimeFits(*at) {
		n.warn("posted_at", listing.CodeOutOfRange, "%s was dropped: want a year from 1 to 9999", at.Format(time.RFC3339))
		at = nil
	}
	n.l.PostedAt = at
}

type normalizer struct {
	raw         listing.Raw
	stated      Stated
	l           listing.Listing
	title, body *Prose
	reasons     []listing.Reason
	warnings    []listing.Warning
	studio      bool

	inTitle, inBody inclusions // what each says the rent includes
	titleAt, bodyAt findings

	only float64 // the one room count of a title, where the description offers several
}

func (n *normalizer) reject(field, code, format string, args ...any) {
	n.reasons = append(n.reasons, listing.Reason{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (n *normalizer) warn(field, code, format string, args ...any) {
	n.warnings = append(n.warnings, listing.Warning{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (n *normalizer) note(field, from string, p *Prose, i, j int) {
	n.l.Sources[field] = listing.Source{From: from, Text: p.quote(i, j)}
}

// conflict warns that two sources disagree about a field; kept is the value that stands.
func (n *normalizer) conflict(field, kept, keptFrom, other, otherFrom, words string) {
	if words != "" {
		words = " (" + strconv.Quote(words) + ")"
	}
	n.warn(field, listing.CodeConflict, "%s says %s, %s says %s%s; kept %s", keptFrom, kept, otherFrom, other, words, kept)
}

func (n *normalizer) text() {
	var dirty bool
	clean := func(field, s string, lines bool) string {
		out, bad := page.Clean(s, lines)
		dirty = bad
		if dirty {
			n.warn(field, listing.CodeCleaned, "bytes that no text should hold were dropped")
		}
		return out
	}
	var long bool
	n.l.Title = clean("title", n.raw.Title, false)
	if n.l.Title, long = page.Cut(n.l.Title, listing.MaxTitle); long {
		n.warn("title", listing.CodeTruncated, "cut to %d characters", listing.MaxTitle)
	}
	n.l.Description = clean("description", n.raw.Description, true)
	if n.l.Description, long = page.Cut(n.l.Description, listing.MaxDescription); long {
		n.warn("description", listing.CodeTruncated, "cut to %d characters", listing.MaxDescription)
	}
	n.title, n.body = Read(n.l.Title), Read(withoutOthers(n.l.Title, n.l.Description))
	if n.l.Title == "" {
		n.reject("title", listing.CodeMissing, "no title")
	}
	n.l.Language = n.body.language()
	if n.l.Language == "" {
		n.l.Language = n.title.language()
	}
}

// headline settles what the advert is about.
func (n *normalizer) headline() {
	n.offersHome()
	n.room()
	if sub, i := n.title.sublet(true); sub {
		n.l.Sublet = true
		n.note("sublet", "title", n.title, i, i+2)
	} else if sub, i := n.body.sublet(false); sub {
		n.l.Sublet = true
		n.note("sublet", "description", n.body, i, i+2)
	}
	n.kind()
	if b, i := n.title.building(); b != "" {
		n.l.Building = b
		n.note("building", "title", n.title, i, i)
	} else if b, i := n.body.building(); b != "" {
		n.l.Building = b
		n.note("building", "description", n.body, i, i)
	}
	if f, i, j := n.title.floor(true); f != "" {
		n.l.Floor = f
		n.note("floor", "title", n.title, i, j)
	} else if f, i, j := n.body.floor(false); f != "" {
		n.l.Floor = f
		n.note("floor", "description", n.body, i, j)
	}
	if i := n.title.abroad(); i >= 0 {
		n.warn("address", listing.CodeElsewhere, "the title names a place abroad: %q", n.title.quote(i, i))
	}
}

// offersHome rejects an advert that offers no home to let: "Recherche 4 ½", "garage à louer".
func (n *normalizer) offersHome() {
	o, i, j := n.title.offer()
	switch o {
	case wanted:
		n.reject("title", listing.CodeWanted, "the advert looks for a home: %q", n.title.quote(i, j+1))
	case swapped:
		n.reject("title", listing.CodeSwap, "a home for a home: %q", n.title.quote(i-1, j))
	case sold:
		n.reject("title", listing.CodeSale, "for sale: %q", n.title.quote(i-1, j))
	case business:
		n.reject("title", listing.CodeNotAHome, "a business place: %q", n.title.quote(i, j+2))
	case carPlace:
		n.reject("title", listing.CodeNotAHome, "land, or a place for a car or things: %q", n.title.quote(i, j+2))
	case aHome:
		if n.title.letting() {
			break
		}
		if i, j := n.body.seeks(); i >= 0 {
			n.reject("description", listing.CodeWanted, "the advert looks for a home: %q", n.body.quote(i, j))
		}
	}
	if len(n.reasons) == 0 && !n.title.namesHome() {
		if i := n.body.offersPlace(); i >= 0 {
			n.reject("description", listing.CodeNotAHome, "a place for a car or things: %q", n.body.quote(0, i+2))
		}
	}
}

// room settles whether a room in a shared home is let. The description tells only where the title counts nothing:
// "chambre à louer dans un 5 ½".
func (n *normalizer) room() {
	if room, i := n.title.roomRental(); room {
		n.roomBy("title", n.title, i)
		return
	}
	i := n.body.roomOffered()
	if n.l.RoomRental || i < 0 || len(n.title.rooms(true)) > 0 {
		return
	}
	if _, _, counted := n.title.bedrooms(); !counted {
		n.roomBy("description", n.body, i)
	}
}

// roomBy takes the room that a text offers at token i: "chambre à louer".
func (n *normalizer) roomBy(from string, p *Prose, i int) {
	n.l.RoomRental = true
	n.note("room_rental", from, p, i, i+2)
	n.warn("room_rental", listing.CodeRoom, "a room in a shared home, by the %s: %q", from, p.quote(i-1, i+2))
}

// kind settles the kind of home. A platform's stands against the words, which are a conflict where the title's are
// clearer: "loft" against a field of "apartment", but not "studio".
func (n *normalizer) kind() {
	kind, i, j := n.title.kind()
	from, p := "title", n.title
	if kind == "" || kind == "apartment" { // "logement" in the title, "condo" in the text
		if k, a, b := n.body.kindStated(); k != "" {
			kind, i, j, from, p = k, a, b, "description", n.body
		}
	}
	switch have := n.l.PropertyType; {
	case n.l.RoomRental:
		n.l.PropertyType = "room"
		n.l.Sources["property_type"] = n.l.Sources["room_rental"]
	case kind == "":
	case have == "":
		n.l.PropertyType = kind
		n.note("property_type", from, p, i, j)
	case have != kind && from == "title" && kind != "apartment" && !(kind == "studio" && (have == "apartment" ||
		have == "condo")):
		n.conflict("property_type", have, n.stated.from("property_type"), kind, from, p.quote(i, j))
	}
	n.studio = kind == "studio"
}

// from names the attribute a stated field was read from.
func (s *Stated) from(field string) string { return "attribute " + s.Sources[field].Name }

// kindStated reads the kind of home that a description offers: only what stands at its beginning, for further on it
// tells of the neighbourhood.
func (p *Prose) kindStated() (string, int, int) {
	for i := range p.words {
		k := p.passBullet(i)
		// an item of a list: "- Condo neuf de 2015"
		if p.words[i].line && i > 0 && (p.word(k) == "condo" || p.word(k) == "loft") && !p.likened(k) {
			return p.word(k), k, k
		}
	}
	end := min(len(p.words), 25)
	// to the end of a long sentence
	for end < len(p.words) && end < 45 && (!p.stop(end) || p.sym(end) == '.' && p.about(end-1, anArea)) {
		end++
	}
	short := *p
	short.words = p.words[:end]
	v, i, j := short.kind()
	if v == "house" && p.statedHouse(i) {
		return v, i, j
	}
	if v == "house" || v == "apartment" {
		return "", i, j
	}
	return v, i, j
}

// statedHouse tells whether the house at i is what a description offers: "house for rent", "this charming house", "3
// bedroom house".
func (p *Prose) statedHouse(i int) bool {
	if w := p.word(i + 1); w == "house" || w == "home" { // "two-storey house"
		i++
	}
	if w := p.word(i + 1); w == "with" || w == "avec" || w == "de" { // "a charming house with five bedrooms"
		for k := i + 2; k <= i+6 && !p.stop(k); k++ {
			if n, _ := p.small(k); n >= 2 && (p.about(k+1, aBedroom) || p.about(k+2, aBedroom)) {
				return true
			}
		}
	}
	if p.seq(i+1, "for", "rent") || p.seq(i+1, "to", "rent") || p.seq(i+1, "a", "louer") || p.word(i+1) == "rental" ||
		p.about(i-1, aBedroom|aBathroom) || p.areaItem(i) {
		return true
	}
	alone := p.stop(i+1) || p.sym(i+1) == ','
	for k, n := i-1, 0; k >= 0 && n < 4; k, n = k-1, n+1 {
		switch w := p.word(k); {
		case alone && (p.stop(k) || p.words[k-1].kind == symbol && p.stop(k-1)) && p.words[k].kind == word &&
			w != "la" && w != "open" && !noAdjectives[w]: // "Beautiful renovated house."
			return true
		case w == "this" || w == "cette" || w == "entire":
			return true
		case p.words[k].kind != word, noAdjectives[w]:
			return false
		}
	}
	return false
}

// areaItem tells whether an area that is an item of a list stands before i: "2 bed, 2 bath, 1400 Sq. Ft. house".
func (p *Prose) areaItem(i int) bool {
	k := i - 1
	for p.sym(k) == '.' || p.about(k, anArea) {
		k--
	}
	return k < i-1 && p.num(k) != nil && p.sym(k-1) == ',' && p.about(k-2, aBedroom|aBathroom)
}

// abroad finds a place outside Quebec in a headline.
func (p *Prose) abroad() int {
	for i := range p.words {
		switch p.word(i) {
		case "floride", "florida", "miami", "hallandale", "hollywood", "mexique", "mexico", "cuba", "punta", "costa",
			"portugal", "espagne", "paris", "fort":
			if p.word(i) == "fort" && p.word(i+1) != "lauderdale" || p.word(i) == "costa" && p.word(i+1) != "rica" ||
				p.word(i) == "punta" && p.word(i+1) != "cana" {
				continue
			}
			if w := p.word(i - 1); w == "rue" || w == "style" || w == "avenue" || w == "boulevard" || w == "de" &&
				p.word(i) == "paris" {
				continue
			}
			return i
		}
	}
	return -1
}
