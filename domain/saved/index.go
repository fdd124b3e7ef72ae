package saved

import (
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/search"
)

// A Listing is what searches are compared with.
type Listing struct {
	Platform      string   `json:"platform"`
	Neighbourhood string   `json:"neighbourhood"` // key
	RentCents     int64    `json:"rent_cents"`    // CAD a month
	Bedrooms      int      `json:"bedrooms"`
	Rooms         *float64 `json:"rooms"`     // Quebec room count; nil = not stated
	AreaSqFt      *int     `json:"area_sqft"` // nil = not stated
	Available     string   `json:"available"` // the first day on which it is free, such as 2026-07-01; "" = not stated
	Traits        []string `json:"traits"`    // as listing.Traits.Groups has them
	Latitude      *float64 `json:"latitude"`
	Longitude     *float64 `json:"longitude"`
	Title         string   `json:"title"`
	Description   string   `json:"description"`
	Address       string   `json:"address"`
	HasImages     bool     `json:"has_images"` // at least one picture is stored
	Claimed       bool     `json:"claimed"`    // an owner has taken it over
}

// sameText says that a text finds both or neither.
func (l *Listing) sameText(o *Listing) bool {
	return l.Title == o.Title && l.Description == o.Description && l.Address == o.Address &&
		l.Neighbourhood == o.Neighbourhood
}

// An Index finds the searches that a listing meets without looking at the others. Each search is filed under one of
// what it requires: the squares of the map that its place is in, or its neighbourhood, or a word of its text, or its
// numbers of bedrooms with a band of rents; one that requires none of these is looked at for every listing, which most
// listings meet. Within a place, searches are filed by their numbers of bedrooms. A large place is in large squares, so
// that a search takes a bounded part of the memory: some 8 KB, and 16 bytes a corner of its polygon. An Index is not
// safe for concurrent use.
type Index struct {
	searches map[uuid.UUID]*entry
	filed    map[slot]map[uuid.UUID]*entry
	worded   int // searches filed by a word
}

type entry struct {
	search  Search // without its polygon
	polygon []float64
	text    []search.Condition
	slots   []slot
}

// fits is Criteria.fits of the whole filter.
func (e *entry) fits(l *Listing) bool {
	return e.search.Filter.fits(l) && (e.polygon == nil ||
		l.Latitude != nil && l.Longitude != nil && inRing(e.polygon, *l.Longitude, *l.Latitude))
}

// A slot is where searches are filed.
type slot struct {
	by       byte   // 's'quare, 'n'eighbourhood, 'w'ord, 'r'ent or 0: everything
	size     int8   // of the square: an index of squareDegrees
	key      string // neighbourhood or word
	x, y     int32  // square; of rents, the band is x, any = -1
	bedrooms int32  // any = -1
}

const (
	mostSquares = 16     // of one size, for a place: a larger place is in larger squares
	mostSlots   = 64     // of a search that requires several things: one that would have more is filed by one of them
	bandCents   = 200_00 // a band of rents
	mostBands   = 40     // rents above are all in the last band
	anyBand     = int32(-1)
	anyBedrooms = int32(-1)
)

// squareDegrees are the sizes of squares: the first is some 1.5 by 2.2 km at Montréal. A place that is too large for
// the last is not filed by squares.
var squareDegrees = [...]float64{0.02, 0.08, 0.32}

// MaxSlots is for how many places an Index has room: some 250 MB of memory. Searches that need more are not to be
// saved.
const MaxSlots = 2_000_000

// Slots is in how many places of an Index a filter is filed.
func (f *Criteria) Slots() (int, error) {
	if f.Text == "" {
		return len(slotsOf(f, nil)), nil
	}
	text, err := Conditions(f.Text)
	if err != nil {
		return 0, err
	}
	return len(slotsOf(f, text)), nil
}

// NewIndex returns an index without searches.
func NewIndex() *Index {
	return &Index{searches: map[uuid.UUID]*entry{}, filed: map[slot]map[uuid.UUID]*entry{}}
}

// Len is how many searches it has.
func (x *Index) Len() int { return len(x.searches) }

// Slots is how many places searches are filed in. What it takes in memory grows with them.
func (x *Index) Slots() int { return len(x.filed) }

// Put files a search, in place of what had its ID. One that is not active, or whose text cannot be read, is taken out.
func (x *Index) Put(s Search) {
	x.Remove(s.ID)
	if s.State != Active {
		return
	}
	e := &entry{search: s, polygon: ring(s.Filter.Polygon)}
	if s.Filter.Text != "" {
		var err error
		if e.text, err = Conditions(s.Filter.Text); err != nil {
			return // it was readable when it was stored: the syntax has changed since
		}
	}
	e.slots = slotsOf(&s.Filter, e.text)
	e.search.Filter.Polygon = nil
	if e.slots[0].by == 'w' {
		x.worded++
	}
	x.searches[s.ID] = e
	for _, at := range e.slots {
		if x.filed[at] == nil {
			x.filed[at] = map[uuid.UUID]*entry{}
		}
		x.filed[at][s.ID] = e
	}
}

// Remove takes a search out.
func (x *Index) Remove(id uuid.UUID) {
	e := x.searches[id]
	if e == nil {
		return
	}
	delete(x.searches, id)
	if e.slots[0].by == 'w' {
		x.worded--
	}
	for _, at := range e.slots {
		if delete(x.filed[at], id); len(x.filed[at]) == 0 {
			delete(x.filed, at)
		}
	}
}

// slotsOf says where a search is filed: at least in one place.
func slotsOf(f *Criteria, text []search.Condition) (slots []slot) {
	sizes := sizesOf(f)
	if b, ok := f.bounds(); ok {
		if slots = squaresOf(b, sizes); len(slots) > 0 {
			return slots
		}
	}
	if f.Neighbourhood != "" {
		for _, n := range sizes {
			slots = append(slots, slot{by: 'n', key: f.Neighbourhood, bedrooms: n})
		}
		return slots
	}
	if terms := anchor(text); len(terms) > 0 {
		for _, t := range terms {
			slots = append(slots, slot{by: 'w', key: t, bedrooms: anyBedrooms})
		}
		return slots
	}
	if f.MaxPrice == 0 && sizes[0] == anyBedrooms {
		return []slot{{bedrooms: anyBedrooms}}
	}
	top := int32(mostBands)
	if f.MaxPrice > 0 {
		top = band(f.MaxPrice * 100)
	}
	from := band(f.MinPrice * 100)
	if int(top-from+1)*len(sizes) > mostSlots {
		from, top = anyBand, anyBand
	}
	for x := from; x <= top; x++ {
		for _, n := range sizes {
			slots = append(slots, slot{by: 'r', x: x, bedrooms: n})
		}
	}
	return slots
}

// squaresOf are the squares of the smallest size of which a part of the map has few; none where it is too large.
func squaresOf(b bounds, sizes []int32) (slots []slot) {
	for size := range squareDegrees {
		west, south, east, north := square(size, b.west), square(size, b.south), square(size, b.east), square(size, b.north)
		n := (int64(east) - int64(west) + 1) * (int64(north) - int64(south) + 1)
		if n > mostSquares {
			continue
		}
		if n*int64(len(sizes)) > mostSlots {
			sizes = []int32{anyBedrooms}
		}
		for x := west; x <= east; x++ {
			for y := south; y <= north; y++ {
				for _, bedrooms := range sizes {
					slots = append(slots, slot{by: 's', size: int8(size), x: x, y: y, bedrooms: bedrooms})
				}
			}
		}
		return slots
	}
	return nil
}

// sizesOf are the numbers of bedrooms that a filter takes, or anyBedrooms where it does not say up to which.
func sizesOf(f *Criteria) (sizes []int32) {
	for _, n := range f.Bedrooms {
		if size := int32(n); n >= f.MinBedrooms && !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	if len(sizes) == 0 {
		return []int32{anyBedrooms}
	}
	return sizes
}

func square(size int, degrees float64) int32 { return int32(math.Floor(degrees / squareDegrees[size])) }

func band(cents int64) int32 { return int32(min(cents/bandCents, mostBands)) }

// Meet calls f with each search that a listing meets, without its polygon, in no particular order. looked is how many
// were compared with it. A listing that met a search as it was before met it already: fitted. before may be nil.
func (x *Index) Meet(l, before *Listing, f func(s *Search, fitted bool)) (looked int) {
	var text, textBefore *words // read once, if at all
	reading := func() *words {
		if text == nil {
			text = wordsOf(l)
		}
		return text
	}
	readingBefore := func() *words {
		if textBefore == nil && before.sameText(l) {
			textBefore = reading()
		} else if textBefore == nil {
			textBefore = wordsOf(before)
		}
		return textBefore
	}
	compare := func(e *entry) {
		looked++
		if e.fits(l) && (e.text == nil || reading().meet(e.text)) {
			f(&e.search, before != nil && e.fits(before) && (e.text == nil || readingBefore().meet(e.text)))
		}
	}
	try := func(at slot) {
		for _, e := range x.filed[at] {
			compare(e)
		}
	}
	size := int32(l.Bedrooms)
	for _, n := range []int32{anyBedrooms, size} {
		if l.Latitude != nil && l.Longitude != nil {
			for i := range squareDegrees {
				try(slot{by: 's', size: int8(i), x: square(i, *l.Longitude), y: square(i, *l.Latitude), bedrooms: n})
			}
		}
		if l.Neighbourhood != "" {
			try(slot{by: 'n', key: l.Neighbourhood, bedrooms: n})
		}
		try(slot{by: 'r', x: band(l.RentCents), bedrooms: n})
		try(slot{by: 'r', x: anyBand, bedrooms: n})
	}
	try(slot{bedrooms: anyBedrooms})
	if x.worded == 0 {
		return looked
	}
	seen := map[uuid.UUID]bool{} // a search is filed under all forms of its word
	for term := range reading().at {
		for id, e := range x.filed[slot{by: 'w', key: term, bedrooms: anyBedrooms}] {
			if seen[id] {
				continue
			}
			seen[id] = true
			compare(e)
		}
	}
	return looked
}

// Fits reports whether a listing meets a search of the index.
func (x *Index) Fits(id uuid.UUID, l *Listing) bool {
	e := x.searches[id]
	return e != nil && e.fits(l) && (e.text == nil || wordsOf(l).meet(e.text))
}

// Fitter returns what says whether a listing meets a filter, whatever it was before. A filter that Check refuses is
// fault.Invalid.
func (f Criteria) Fitter() (func(*Listing) bool, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	var text []search.Condition
	if f.Text != "" {
		var err error
		if text, err = Conditions(f.Text); err != nil {
			return nil, err
		}
	}
	e := entry{search: Search{Filter: f}, polygon: ring(f.Polygon)}
	e.search.Filter.Polygon = nil
	return func(l *Listing) bool { return e.fits(l) && (text == nil || wordsOf(l).meet(text)) }, nil
}
