package listing

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxImages is how many images a listing keeps.
const MaxImages = 50

// Codes of reasons and warnings.
const (
	CodeMissing     = "missing"      // reason: a required field is not stated anywhere
	CodeOutOfRange  = "out_of_range" // reason, or warning for a value that was dropped
	CodeWanted      = "wanted"       // reason: somebody looks for a home
	CodeSwap        = "swap"         // reason: a home for a home
	CodeSale        = "sale"         // reason: for sale
	CodeNotAHome    = "not_a_home"   // reason: shop, office, parking place
	CodePerDay      = "per_day"      // reason: a price per day has no monthly equivalent
	CodeConflict    = "conflict"     // warning: two sources disagree
	CodeMultiUnit   = "multi_unit"   // warning: several homes in one advert
	CodePlaceholder = "placeholder"  // warning: a value that only fills a form
	CodeTruncated   = "truncated"    // warning
	CodeCleaned     = "cleaned"      // warning: bytes that no text should hold were dropped
	CodeWeekly      = "weekly"       // warning: a rent per week was converted
	CodeDoubtful    = "doubtful"     // warning: possible, but unlikely
	CodeInvalidURL  = "invalid_url"  // warning: an image address was dropped
	CodeTooMany     = "too_many"     // warning: more images than MaxImages
	CodeRoom        = "room"         // warning: a room in a shared home
	CodeElsewhere   = "elsewhere"    // warning: the home is far from where the advert was posted
)

// Stated is what a platform's own fields say, in the listing's terms. Fill the Listing's members and Note each, for
// only noted fields count; then Normalize adds what the words say and settles conflicts.
type Stated struct {
	Listing
	blank map[string]bool
}

// Note records that a field was read from the platform's attribute of that name.
func (s *Stated) Note(field, name, value string) {
	if s.Sources == nil {
		s.Sources = make(map[string]Source, 32)
	}
	s.Sources[field] = Source{From: "attribute", Name: name, Text: quoted(value)}
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
	s.Warnings = append(s.Warnings, Warning{Field: field, Code: code, Message: fmt.Sprintf(format, args...)})
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

// Normalize makes the listing: what the platform's fields state, then what title, description, price and address
// say. A title, a rent in MinRentCents..MaxRentCents and bedrooms are required; everything that keeps the advert out is
// in the *Rejection, not only the first thing. Fields that disagree are warnings which name both values.
//
// Precedence: the title counts bedrooms best, then the platform's field, then the description, then rooms − 2; "2
// chambres et un bureau" against a field of 3 is 2 and a den. The rent is the platform's amount, then its printed
// price, the title, the description. Where an advert offers several homes, the listing is the one at its price, else
// the one its title names, else the cheapest, else the smallest. Coordinates out of range, image addresses that are
// not absolute http(s) and overlong texts are mended with a warning. The result depends on the arguments alone and
// owns its memory.
func Normalize(raw Raw, stated Stated) (Listing, error) {
	n := normalizer{raw: raw, stated: stated, l: stated.Listing}
	n.l.Ref, n.l.ScrapedAt, n.l.PostedAt = raw.Ref, raw.ScrapedAt, raw.PostedAt
	n.l.URL = strings.ReplaceAll(strings.ToValidUTF8(strings.TrimSpace(raw.URL), ""), "\x00", "")
	n.l.Sources = make(map[string]Source, 32) // apart from stated's, which conflicts are told from
	maps.Copy(n.l.Sources, stated.Sources)
	n.text()
	n.headline()
	n.place()
	n.rooms()
	n.rent()
	n.features()
	n.images()
	n.l.Warnings = append(n.l.Warnings, n.warnings...)
	if len(n.reasons) > 0 {
		return Listing{}, &Rejection{Reasons: n.reasons}
	}
	return n.l, nil
}

type normalizer struct {
	raw         Raw
	stated      Stated
	l           Listing
	title, body *Prose
	reasons     []Reason
	warnings    []Warning
	studio      bool

	inTitle, inBody inclusions // what each says the rent includes
	titleAt, bodyAt findings

	only float64 // the one room count of a title, where the description offers several
}

func (n *normalizer) reject(field, code, format string, args ...any) {
	n.reasons = append(n.reasons, Reason{field, code, fmt.Sprintf(format, args...)})
}

func (n *normalizer) warn(field, code, format string, args ...any) {
	n.warnings = append(n.warnings, Warning{field, code, fmt.Sprintf(format, args...)})
}

func (n *normalizer) note(field, from string, p *Prose, i, j int) {
	n.l.Sources[field] = Source{From: from, Text: p.quote(i, j)}
}

// conflict warns that two sources disagree about a field; kept is the value that stands.
func (n *normalizer) conflict(field, kept, keptFrom, other, otherFrom, words string) {
	if words != "" {
		words = " (" + strconv.Quote(words) + ")"
	}
	n.warn(field, CodeConflict, "%s says %s, %s says %s%s; kept %s", keptFrom, kept, otherFrom, other, words, kept)
}

func (n *normalizer) text() {
	var dirty bool
	clean := func(field, s string, lines bool) string {
		out, bad := plain(s, lines)
		dirty = bad
		if dirty {
			n.warn(field, CodeCleaned, "bytes that no text should hold were dropped")
		}
		return out
	}
	var long bool
	n.l.Title = clean("title", n.raw.Title, false)
	if n.l.Title, long = cut(n.l.Title, MaxTitle); long {
		n.warn("title", CodeTruncated, "cut to %d characters", MaxTitle)
	}
	n.l.Description = clean("description", n.raw.Description, true)
	if n.l.Description, long = cut(n.l.Description, MaxDescription); long {
		n.warn("description", CodeTruncated, "cut to %d characters", MaxDescription)
	}
	n.title, n.body = Read(n.l.Title), Read(n.l.Description)
	if n.l.Title == "" {
		n.reject("title", CodeMissing, "no title")
	}
	n.l.Language = n.body.language()
	if n.l.Language == "" {
		n.l.Language = n.title.language()
	}
}

// headline settles what the advert is about.
func (n *normalizer) headline() {
	switch o, i, j := n.title.offer(); o {
	case wanted:
		n.reject("title", CodeWanted, "somebody looks for a home: %q", n.title.quote(i, j+1))
	case swapped:
		n.reject("title", CodeSwap, "a home for a home: %q", n.title.quote(i-1, j))
	case sold:
		n.reject("title", CodeSale, "for sale: %q", n.title.quote(i-1, j))
	case business:
		n.reject("title", CodeNotAHome, "a business place: %q", n.title.quote(i, j+2))
	case carPlace:
		n.reject("title", CodeNotAHome, "a place for a car or things: %q", n.title.quote(i, j+2))
	}
	if room, i := n.title.roomRental(); room {
		n.l.RoomRental = true
		n.note("room_rental", "title", n.title, i, i+2)
		n.warn("room_rental", CodeRoom, "a room in a shared home, by the title: %q", n.title.quote(i-1, i+2))
	}
	if sub, i := n.title.sublet(true); sub {
		n.l.Sublet = true
		n.note("sublet", "title", n.title, i, i+2)
	} else if sub, i := n.body.sublet(false); sub {
		n.l.Sublet = true
		n.note("sublet", "description", n.body, i, i+2)
	}
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
		n.warn("address", CodeElsewhere, "the title names a place abroad: %q", n.title.quote(i, i))
	}
}

// from names the attribute a stated field was read from.
func (s *Stated) from(field string) string { return "attribute " + s.Sources[field].Name }

// kindStated reads the kind of home that a description offers: only what stands at its beginning, for further on it
// tells of the neighbourhood.
func (p *Prose) kindStated() (string, int, int) {
	short := *p
	short.words = p.words[:min(len(p.words), 25)]
	v, i, j := short.kind()
	if v == "house" || v == "apartment" {
		return "", i, j
	}
	return v, i, j
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

func (n *normalizer) place() {
	lat, lon := n.raw.Latitude, n.raw.Longitude
	switch {
	case lat == nil && lon == nil:
	case lat == nil || lon == nil:
		n.warn("latitude", CodePlaceholder, "one coordinate without the other was dropped")
	case math.IsNaN(*lat) || math.IsNaN(*lon) || math.Abs(*lat) > 90 || math.Abs(*lon) > 180:
		n.warn("latitude", CodeOutOfRange, "coordinates %v, %v were dropped: want latitude -90..90 and longitude -180..180",
			*lat, *lon)
	case *lat == 0 && *lon == 0:
		n.warn("latitude", CodePlaceholder, "coordinates 0, 0 were dropped")
	default:
		a, b := *lat, *lon
		n.l.Latitude, n.l.Longitude = &a, &b
	}
	text, dirty := plain(n.raw.Address, false)
	if dirty {
		n.warn("address", CodeCleaned, "bytes that no text should hold were dropped")
	}
	if text, dirty = cut(text, MaxTitle); dirty {
		n.warn("address", CodeTruncated, "cut to %d characters", MaxTitle)
	}
	n.l.Address = ParseAddress(text)
	rest, _ := cutPostalCode(text)
	for part := range strings.SplitSeq(rest, ",") {
		if code := province(strings.TrimSpace(part)); code != "" {
			n.warn("address", CodeElsewhere, "the address is in another province: %s", code)
		}
	}
	if text != "" {
		n.l.Sources["address"] = Source{From: "address", Text: quoted(text)}
	}
	if len(n.l.Address.Civic) > 0 {
		if n.l.Address.Unit == "" {
			n.unit()
		}
		return
	}
	a, i, j, ok := n.title.address(true)
	from, p := "title", n.title
	if !ok {
		a, i, j, ok = n.body.address(false)
		from, p = "description", n.body
	}
	if !ok || n.l.Address.PostalCode != "" && a.PostalCode != "" && a.PostalCode[:3] != n.l.Address.PostalCode[:3] {
		return
	}
	n.l.Address.Civic, n.l.Address.Street, n.l.Address.Unit = a.Civic, a.Street, a.Unit
	if n.l.Address.City == "" {
		n.l.Address.City = a.City
	}
	if len(n.l.Address.PostalCode) < len(a.PostalCode) {
		n.l.Address.PostalCode = a.PostalCode
	}
	n.note("address.civic", from, p, i, j)
}

// unit looks for "#101" beside the civic number in the title, or for the landlord's code at its beginning.
func (n *normalizer) unit() {
	a, i, j, ok := n.title.address(true)
	if ok && a.Unit != "" && slices.Equal(a.Civic, n.l.Address.Civic) {
		n.l.Address.Unit = a.Unit
		n.note("address.unit", "title", n.title, i, j)
	} else if code, end := n.title.unitCode(); code != "" {
		n.l.Address.Unit = code
		n.note("address.unit", "title", n.title, 0, end)
	}
}

// unitCode reads the code that big landlords begin a headline with: "A31 – Grand 5.5", "TRU-15 TRES GRAND", "A - 56".
func (p *Prose) unitCode() (code string, end int) {
	if len(p.words) < 3 || p.words[0].kind != word || len(p.words[0].w) > 3 || p.words[0].topic != 0 || p.bare(0) {
		return "", 0
	}
	k := 1
	if p.sym(k) == '-' {
		k++
	}
	t := p.num(k)
	if t == nil || t.half || t.dec > 0 || t.digits > 4 || t.digits == 0 || k == 1 && t.space || p.sym(k+1) == '$' {
		return "", 0
	}
	if k == 2 && len(p.words[0].w) > 1 && t.space { // "LA - 3 chambres"
		return "", 0
	}
	return strings.ToUpper(p.words[0].w) + itoa(int(t.cents/100)), k
}

// rooms settles rooms, bedrooms, bathrooms, area and, for an advert about several homes, its units.
func (n *normalizer) rooms() {
	l := &n.l
	inTitle, inBody := n.title.rooms(true), n.body.rooms(false)
	distinct := distinctCounts(inTitle)
	n.units(distinct)

	// Quebec rooms: the title, then the platform, then the description's first.
	known := n.stated.has("rooms")
	switch {
	case len(l.Units) > 0:
		if u := l.Units[n.chosen()]; u.Rooms > 0 {
			if known && u.Rooms != n.stated.Rooms {
				n.conflict("rooms", number64(u.Rooms), "the unit chosen", number64(n.stated.Rooms), n.stated.from("rooms"), "")
			}
			l.Rooms = u.Rooms
		}
	case len(inTitle) > 0:
		c := inTitle[0]
		if known && c.value != n.stated.Rooms {
			n.conflict("rooms", number64(c.value), "title", number64(n.stated.Rooms), n.stated.from("rooms"),
				n.title.quote(c.from, c.to))
		}
		l.Rooms = c.value
		n.note("rooms", "title", n.title, c.from, c.to)
	// the sites' last choice is "6 ½ or more"
	case known && l.Rooms >= 6.5 && len(inBody) > 0 && inBody[0].value > l.Rooms:
		l.Rooms = inBody[0].value
		n.note("rooms", "description", n.body, inBody[0].from, inBody[0].to)
	case known:
		if len(inBody) > 0 && inBody[0].value != l.Rooms && !hasValue(inBody, l.Rooms) {
			n.conflict("rooms", number64(l.Rooms), n.stated.from("rooms"), number64(inBody[0].value), "description",
				n.body.quote(inBody[0].from, inBody[0].to))
		}
	case len(inBody) > 0:
		l.Rooms = inBody[0].value
		n.note("rooms", "description", n.body, inBody[0].from, inBody[0].to)
	}
	n.bedrooms()
	n.bathrooms()
	n.area()
}

func hasValue(list []count, v float64) bool {
	return slices.ContainsFunc(list, func(c count) bool { return c.value == v })
}

func number64(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func distinctCounts(list []count) []count {
	var out []count
	for _, c := range list {
		if !hasValue(out, c.value) {
			out = append(out, c)
		}
	}
	return out
}

// chosen returns the index of the unit that stands for the listing: the one at the advert's price, the only one in the
// title, the platform's room count when the price decides nothing; else the cheapest, else the smallest.
func (n *normalizer) chosen() int {
	if cents := n.raw.Price.AmountCents; cents != nil && *cents > 0 {
		if i := slices.IndexFunc(n.l.Units, func(u Unit) bool { return u.RentCents == *cents }); i >= 0 {
			return i
		}
	}
	if n.only > 0 {
		if i := slices.IndexFunc(n.l.Units, func(u Unit) bool { return u.Rooms == n.only }); i >= 0 {
			return i
		}
	}
	best := 0
	for i, u := range n.l.Units {
		b := n.l.Units[best]
		switch {
		case u.RentCents > 0 && (b.RentCents == 0 || u.RentCents < b.RentCents):
			best = i
		case u.RentCents == 0 && b.RentCents == 0 && u.Rooms < b.Rooms:
			best = i
		}
	}
	return best
}

// units finds the homes of an advert that offers several.
func (n *normalizer) units(distinct []count) {
	units, from, p := n.title.units(true), "title", n.title
	if len(units) < 2 || !priced(units) {
		_, _, counted := n.title.bedrooms() // a title about one home is not overruled by a list of its neighbours
		if more := n.body.units(false); len(more) >= 2 && (!counted || len(distinct) > 0) && (len(distinct) != 1 ||
			hasUnit(more, distinct[0].value)) {
			units, from, p = more, "description", n.body
			if len(distinct) == 1 {
				n.only = distinct[0].value
			}
		}
	}
	if len(units) < 2 {
		if many, i := n.title.multi(); many {
			n.warn("units", CodeMultiUnit, "the title offers several homes: %q", n.title.quote(i-2, i+2))
		}
		return
	}
	n.l.Units = units
	counts := p.rooms(from == "title")
	n.l.Sources["units"] = Source{From: from, Text: p.quote(counts[0].from, len(p.words)-1)}
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = number64(u.Rooms)
		if u.RentCents > 0 {
			names[i] += " at " + dollars(u.RentCents)
		}
	}
	n.warn("units", CodeMultiUnit, "%s offers %d homes: %s; kept %s", from, len(units), strings.Join(names, ", "),
		names[n.chosen()])
}

func priced(units []Unit) bool {
	return slices.ContainsFunc(units, func(u Unit) bool { return u.RentCents > 0 })
}

func hasUnit(units []Unit, rooms float64) bool {
	return slices.ContainsFunc(units, func(u Unit) bool { return u.Rooms == rooms })
}

// ParseUnits returns the homes that s offers, when it offers at least two with different room counts:
// "Studio à partir de 795$ 3½ à partir de 890$". A studio without a count has 1.5 rooms.
func ParseUnits(s string) []Unit {
	p := Read(Line(s))
	if u := p.units(true); len(u) >= 2 {
		return u
	}
	return nil
}

// units pairs room counts with the rents and areas that follow them. In a headline counts alone make units; in running
// text each needs a rent of its own, or "aussi 3 ½ disponible" would do.
func (p *Prose) units(headline bool) []Unit {
	counts := p.rooms(headline)
	if len(counts) == 0 {
		return nil
	}
	if i, ok := p.studio(); ok && !(len(counts) > 0 && counts[0].value <= 2.5) { // "studio (1½)" is one home
		near := slices.ContainsFunc(counts, func(c count) bool { return c.value <= 2.5 })
		if !near && (p.moneyNear(i) || headline && len(counts) >= 1 && i < counts[0].from && p.listed(i, counts[0].from)) {
			counts = append(counts, count{value: 1.5, from: i, to: i})
			slices.SortFunc(counts, func(a, b count) int { return a.from - b.from })
		}
	}
	if len(distinctCounts(counts)) < 2 {
		return nil
	}
	var rents []amount
	for _, a := range p.amounts() {
		if a.role == forRent && a.cents >= lowRentCents && (a.per == unstated || a.per == perMonth) {
			rents = append(rents, a)
		}
	}
	first := len(rents) > 0 && rents[0].from < counts[0].from && len(rents) >= len(counts) // the price comes before
	var out []Unit
	for i, c := range counts {
		u := Unit{Rooms: c.value, Bedrooms: BedroomsOf(c.value)}
		end := len(p.words)
		if i+1 < len(counts) {
			end = counts[i+1].from
		}
		begin := c.to
		if first {
			begin, end = 0, c.from
			if i > 0 {
				begin = counts[i-1].to
			}
		}
		for _, a := range rents {
			if a.from >= begin && a.to <= end {
				u.RentCents = a.cents
				break
			}
		}
		if area, ok := p.area(c.to, end); ok {
			u.AreaSqFt = int(area.value)
		}
		if k := slices.IndexFunc(out, func(o Unit) bool { return o.Rooms == u.Rooms }); k >= 0 {
			if out[k].RentCents == 0 {
				out[k].RentCents = u.RentCents
			}
			if out[k].AreaSqFt == 0 {
				out[k].AreaSqFt = u.AreaSqFt
			}
			continue
		}
		if len(out) < 12 {
			out = append(out, u)
		}
	}
	if !headline {
		out = slices.DeleteFunc(out, func(u Unit) bool { return u.RentCents == 0 })
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// moneyNear tells whether a rent follows within a few words of i.
func (p *Prose) moneyNear(i int) bool {
	return slices.ContainsFunc(p.amounts(), func(a amount) bool {
		return a.role == forRent && a.from > i &&
			a.from <= i+7
	})
}

// listed tells whether only separators stand between the tokens.
func (p *Prose) listed(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if w := p.word(k); p.words[k].kind != symbol && w != "et" && w != "ou" && w != "and" || p.words[k].sym == '(' {
			return false
		}
	}
	return true
}

func (n *normalizer) bedrooms() {
	l := &n.l
	inTitle, titleDen, okTitle := n.title.bedrooms()
	inBody, bodyDen, okBody := n.body.bedrooms()
	known := n.stated.has("bedrooms")
	okTitle = okTitle && (!inTitle.weak || l.Rooms == 0 || inTitle.closed && l.Rooms == 2.5)
	set := func(v int, den bool, from string, p *Prose, c count) {
		if known && v != n.stated.Bedrooms {
			n.conflict("bedrooms", strconv.Itoa(v), from, strconv.Itoa(n.stated.Bedrooms), n.stated.from("bedrooms"),
				p.quote(c.from, c.to))
		}
		l.Bedrooms, l.Den = v, den || n.stated.Den && v == n.stated.Bedrooms
		n.note("bedrooms", from, p, c.from, c.to)
	}
	implied := BedroomsOf(l.Rooms)
	switch {
	case l.RoomRental:
		l.Bedrooms, l.Den = 1, false
		l.Sources["bedrooms"] = l.Sources["room_rental"]
		if known && n.stated.Bedrooms != 1 {
			n.conflict("bedrooms", "1", "a room", strconv.Itoa(n.stated.Bedrooms), n.stated.from("bedrooms"), "")
		}
	case len(l.Units) > 0 && (n.only == 0 || !okTitle):
		l.Bedrooms = l.Units[n.chosen()].Bedrooms
		l.Sources["bedrooms"], l.Sources["rooms"] = l.Sources["units"], l.Sources["units"]
		if known && l.Bedrooms != n.stated.Bedrooms {
			if slices.ContainsFunc(l.Units, func(u Unit) bool { return u.Bedrooms == n.stated.Bedrooms }) {
				break
			}
			n.conflict("bedrooms", strconv.Itoa(l.Bedrooms), "the unit chosen", strconv.Itoa(n.stated.Bedrooms),
				n.stated.from("bedrooms"), "")
		}
	case okTitle:
		set(int(inTitle.value), titleDen, "title", n.title, inTitle)
		n.odd(l.Bedrooms, "title", n.title, inTitle)
	case known && okBody && !inBody.weak && bodyDen && int(inBody.value) == n.stated.Bedrooms-1:
		set(int(inBody.value), true, "description", n.body, inBody)
	case known:
		if okBody && !inBody.weak && int(inBody.value) != l.Bedrooms {
			n.conflict("bedrooms", strconv.Itoa(l.Bedrooms), n.stated.from("bedrooms"), strconv.Itoa(int(inBody.value)),
				"description", n.body.quote(inBody.from, inBody.to))
		} else if l.Rooms > 0 && implied != l.Bedrooms {
			n.warn("bedrooms", CodeConflict, "%s says %d, %g rooms make %d; kept %d", n.stated.from("bedrooms"), l.Bedrooms,
				l.Rooms, implied, l.Bedrooms)
		}
	case okBody && !inBody.weak && (l.Rooms == 0 || plausible(int(inBody.value), l.Rooms)):
		set(int(inBody.value), bodyDen, "description", n.body, inBody)
		n.odd(l.Bedrooms, "description", n.body, inBody)
	case l.Rooms > 0:
		l.Bedrooms = implied
		l.Sources["bedrooms"] = l.Sources["rooms"]
		if okBody && !inBody.weak && int(inBody.value) != implied {
			n.warn("bedrooms", CodeConflict, "%g rooms make %d, description says %d (%q); kept %d", l.Rooms, implied,
				int(inBody.value), n.body.quote(inBody.from, inBody.to), implied)
		}
	case n.studio:
		l.Bedrooms = 0
		l.Sources["bedrooms"] = l.Sources["property_type"]
	default:
		if i, ok := n.title.studio(); ok {
			n.note("bedrooms", "title", n.title, i, i)
			break
		}
		if okBody && inBody.weak {
			set(int(inBody.value), false, "description", n.body, inBody)
			break
		}
		if l.PropertyType == "loft" || l.PropertyType == "studio" {
			l.Sources["bedrooms"] = l.Sources["property_type"]
			break
		}
		n.reject("bedrooms", CodeMissing, "neither bedrooms nor rooms are stated")
	}
	if l.Bedrooms < 0 || l.Bedrooms > 20 {
		n.reject("bedrooms", CodeOutOfRange, "%d bedrooms; want 0 to 20", l.Bedrooms)
	}
}

// plausible tells whether a home of that many Quebec rooms can have so many bedrooms. A description that counts others
// tells of another home, or of one floor.
func plausible(bedrooms int, rooms float64) bool {
	return bedrooms <= int(rooms)-1 && bedrooms >= int(rooms)-4 && (bedrooms > 0 || rooms < 3)
}

// odd warns when counted bedrooms and the rule of rooms − 2 differ.
func (n *normalizer) odd(bedrooms int, from string, p *Prose, c count) {
	if implied := BedroomsOf(n.l.Rooms); n.l.Rooms > 0 && implied != bedrooms {
		n.warn("bedrooms", CodeConflict, "%s says %d (%q), %g rooms make %d; kept %d", from, bedrooms, p.quote(c.from, c.to),
			n.l.Rooms, implied, bedrooms)
	}
}

func (n *normalizer) bathrooms() {
	c, ok := n.title.bathrooms()
	from, p := "title", n.title
	if !ok || c.weak {
		if b, found := n.body.bathrooms(); found && (!ok || !b.weak) {
			c, ok, from, p = b, true, "description", n.body
		}
	}
	switch {
	case !ok:
	case n.stated.has("bathrooms"):
		if !c.weak && c.value != n.l.Bathrooms {
			n.conflict("bathrooms", number64(n.l.Bathrooms), n.stated.from("bathrooms"), number64(c.value), from, p.quote(c.from,
				c.to))
		}
	default:
		n.l.Bathrooms = c.value
		n.note("bathrooms", from, p, c.from, c.to)
	}
}

func (n *normalizer) area() {
	if len(n.l.Units) > 0 {
		if u := n.l.Units[n.chosen()]; u.AreaSqFt > 0 && !n.stated.has("area_sqft") {
			n.l.AreaSqFt = u.AreaSqFt
			n.l.Sources["area_sqft"] = n.l.Sources["units"]
			return
		}
	}
	c, ok := n.title.area(0, 1<<30)
	from, p := "title", n.title
	if !ok {
		c, ok = n.body.area(0, 1<<30)
		from, p = "description", n.body
	}
	switch {
	case !ok:
	case n.l.Rooms >= 3.5 && c.value < 250: // a terrace, or a storage room
		n.warn("area_sqft", CodeDoubtful, "%s says %g sq ft (%q), too small for %g rooms; dropped", from, c.value,
			p.quote(c.from, c.to), n.l.Rooms)
	case n.stated.has("area_sqft"):
		if have := float64(n.l.AreaSqFt); math.Abs(have-c.value) > have/10 {
			n.conflict("area_sqft", strconv.Itoa(n.l.AreaSqFt), n.stated.from("area_sqft"), number64(c.value), from,
				p.quote(c.from, c.to))
		}
	default:
		n.l.AreaSqFt = int(c.value)
		n.note("area_sqft", from, p, c.from, c.to)
	}
}

// rent settles the monthly rent.
func (n *normalizer) rent() {
	l := &n.l
	printed := ParsePrice(n.raw.Price.Text)
	title, body := n.title.rent(), n.body.rent()
	kind := strings.ToUpper(strings.TrimSpace(n.raw.Price.Type))
	if kind == "" || kind == "FIXED" {
		if printed.Kind == "SWAP_TRADE" {
			kind = printed.Kind
		}
	}
	if kind == "SWAP_TRADE" && !slices.ContainsFunc(n.reasons, func(r Reason) bool { return r.Code == CodeSwap }) {
		n.reject("price", CodeSwap, "a swap or trade, not a rent")
	}
	set := func(cents int64, from, words string) {
		l.RentCents = cents
		l.Sources["rent_cents"] = Source{From: from, Text: words}
	}
	amount := n.raw.Price.AmountCents
	switch {
	case amount != nil && *amount != 0:
		set(*amount, "price", dollars(*amount))
		n.perWeek(printed, title, body)
		if l.RentCents > 0 && l.RentCents < lowRentCents {
			n.low(printed, title, body)
		} else if l.RentCents >= MinRentCents && l.RentCents <= MaxRentCents && title.Cents > 0 && !title.Low &&
			len(l.Units) == 0 &&
			title.Cents != l.RentCents && !n.title.names(l.RentCents) &&
			math.Abs(float64(title.Cents-l.RentCents)) > float64(l.RentCents)/50 {
			n.conflict("rent_cents", dollars(l.RentCents), "price", dollars(title.Cents), "title", title.Text)
		}
		l.RentFrom = printed.From || title.From && title.Cents == l.RentCents || body.From && body.Cents == l.RentCents ||
			len(l.Units) > 0 && n.only == 0
	case printed.Cents > 0:
		set(printed.Cents, "price", printed.Text)
		l.RentFrom = printed.From
		if printed.Per == "week" {
			n.warn("rent_cents", CodeWeekly, "%s a week is %s a month", dollars(printed.Stated), dollars(printed.Cents))
		}
		if printed.Low {
			n.low(Price{}, title, body)
		}
	case len(l.Units) > 0 && l.Units[n.chosen()].RentCents > 0:
		set(l.Units[n.chosen()].RentCents, l.Sources["units"].From, l.Sources["units"].Text)
		l.RentFrom = true
	case title.Cents > 0 && !title.Low:
		set(title.Cents, "title", title.Text)
		l.RentFrom = title.From
		n.weekly(title)
	case body.Cents > 0 && !body.Low:
		set(body.Cents, "description", body.Text)
		l.RentFrom = body.From
		n.weekly(body)
	case printed.Per == "day" || title.Per == "day" || body.Per == "day":
		n.reject("price", CodePerDay, "a price per day has no monthly equivalent")
		return
	case amount != nil:
		n.reject("price", CodeMissing, "the price is 0")
		return
	default:
		what := "no rent is stated"
		if kind != "" && kind != "FIXED" {
			what += ": the price is " + quoted(kind)
		} else if printed.Kind != "" {
			what += ": the price is " + printed.Kind
		}
		n.reject("price", CodeMissing, "%s", what)
		return
	}
	if l.RentCents < MinRentCents || l.RentCents > MaxRentCents {
		n.reject("price", CodeOutOfRange, "%s a month; want 0.01 to 100,000 $", dollars(l.RentCents))
	}
	n.promote()
}

// names tells whether the text holds that very amount: "850 $ à 750 $" agrees with either.
func (p *Prose) names(cents int64) bool {
	return slices.ContainsFunc(p.amounts(), func(a amount) bool { return a.cents == cents })
}

func (n *normalizer) weekly(p Price) {
	if p.Per == "week" {
		n.warn("rent_cents", CodeWeekly, "%s a week is %s a month", dollars(p.Stated), dollars(p.Cents))
	}
}

// perWeek corrects an amount that the words say is for a week or a day.
func (n *normalizer) perWeek(prices ...Price) {
	for _, p := range prices {
		if p.Stated != n.l.RentCents {
			continue
		}
		switch p.Per {
		case "month":
			return
		case "week":
			n.l.RentCents = p.Cents
			n.warn("rent_cents", CodeWeekly, "%s a week is %s a month", dollars(p.Stated), dollars(p.Cents))
			return
		case "day":
			n.reject("price", CodePerDay, "%s a day has no monthly equivalent", dollars(p.Stated))
			return
		}
	}
}

// low looks for a likelier rent than a placeholder of a few dollars.
func (n *normalizer) low(prices ...Price) {
	was := n.l.RentCents
	for i, p := range prices {
		if p.Cents >= lowRentCents && p.Cents <= MaxRentCents {
			from := [...]string{"price", "title", "description"}[i]
			n.l.RentCents, n.l.RentFrom = p.Cents, p.From
			n.l.Sources["rent_cents"] = Source{From: from, Text: p.Text}
			n.conflict("rent_cents", dollars(p.Cents), from, dollars(was), "price", "")
			return
		}
	}
	n.warn("rent_cents", CodeDoubtful, "%s a month is hardly a home's rent: a placeholder, or a price per square foot",
		dollars(was))
}

func (n *normalizer) promote() {
	text, i, j := n.title.promotion()
	from, p := "title", n.title
	if text == "" {
		text, i, j = n.body.promotion()
		from, p = "description", n.body
	}
	if text != "" {
		n.l.Promotion = text
		n.note("promotion", from, p, i, j)
	}
}

// images keeps the addresses that can be fetched, once each.
func (n *normalizer) images() {
	l := &n.l
	l.ImageURLs = nil
	seen := make(map[string]bool, len(n.raw.ImageURLs))
	notAbsolute, tooMany := 0, 0
	for _, raw := range n.raw.ImageURLs {
		raw = strings.TrimSpace(raw)
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(raw) > 2048 ||
			!utf8.ValidString(raw) {
			notAbsolute++
			continue
		}
		if key := imageKey(raw); seen[key] {
			continue
		} else if len(l.ImageURLs) == MaxImages {
			tooMany++
			continue
		} else {
			seen[key] = true
		}
		l.ImageURLs = append(l.ImageURLs, raw)
	}
	if notAbsolute > 0 {
		n.warn("image_urls", CodeInvalidURL, "%d dropped: not an absolute http or https address", notAbsolute)
	}
	if tooMany > 0 {
		n.warn("image_urls", CodeTooMany, "%d dropped: a listing keeps %d", tooMany, MaxImages)
	}
}
