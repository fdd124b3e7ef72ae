package saved

import (
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/search"
)

// A Listing is what searches are compared with.
type Listing struct {
	Platform      string
	Neighbourhood string // key
	RentCents     int64  // CAD a month
	Bedrooms      int
	Latitude      *float64
	Longitude     *float64
	Title         string
	Description   string
	Address       string
}

// An Index finds the searches that a listing meets without looking at the others. Each search is filed under one of
// what it requires: the squares of the map that its place is in, or its neighbourhood, or a word of its text, or its
// numbers of bedrooms with a band of rents; one that requires none of these is looked at for every listing, which most
// listings meet. Within a place, searches are filed by their numbers of bedrooms. An Index is not safe for concurrent
// use.
type Index struct {
	searches map[uuid.UUID]*entry
	filed    map[slot]map[uuid.UUID]*entry
	worded   int // searches filed by a word
}

type entry struct {
	search Search
	text   []search.Condition
	slots  []slot
}

// A slot is where searches are filed.
type slot struct {
	by       byte   // 's'quare, 'n'eighbourhood, 'w'ord, 'r'ent or 0: everything
	key      string // neighbourhood or word
	x, y     int32  // square; of rents, the band is x
	bedrooms int32  // any = -1
}

const (
	squareDegrees = 0.02   // some 1.5 by 2.2 km at Montréal
	mostSquares   = 400    // a larger place is not filed by squares
	bandCents     = 200_00 // a band of rents
	mostBands     = 40     // rents above are all in the last band
	anyBedrooms   = int32(-1)
)

// NewIndex returns an index without searches.
func NewIndex() *Index {
	return &Index{searches: map[uuid.UUID]*entry{}, filed: map[slot]map[uuid.UUID]*entry{}}
}

// Len is how many searches it has.
func (x *Index) Len() int { return len(x.searches) }

// Put files a search, in place of what had its ID. One that is not active, or whose text cannot be read, is taken out.
func (x *Index) Put(s Search) {
	x.Remove(s.ID)
	if s.State != Active {
		return
	}
	e := &entry{search: s}
	if s.Filter.Text != "" {
		var err error
		if e.text, err = parseText(s.Filter.Text); err != nil {
			return // it was readable when it was stored: the syntax has changed since
		}
	}
	e.slots = slotsOf(&s.Filter, e.text)
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
		west, south, east, north := square(b.west), square(b.south), square(b.east), square(b.north)
		if n := (int64(east) - int64(west) + 1) * (int64(north) - int64(south) + 1); n <= 0 || n > mostSquares {
			ok = false
		}
		for x := west; ok && x <= east; x++ {
			for y := south; y <= north; y++ {
				for _, n := range sizes {
					slots = append(slots, slot{by: 's', x: x, y: y, bedrooms: n})
				}
			}
		}
		if len(slots) > 0 {
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
	for x := band(f.MinPrice * 100); x <= top; x++ {
		for _, n := range sizes {
			slots = append(slots, slot{by: 'r', x: x, bedrooms: n})
		}
	}
	return slots
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

func square(degrees float64) int32 { return int32(math.Floor(degrees / squareDegrees)) }

func band(cents int64) int32 { return int32(min(cents/bandCents, mostBands)) }

// Meet calls f with each search that a listing meets, in no particular order. looked is how many were compared with it.
// A listing that met a search at the rent that it had before met it already: fitted. A rent before of 0 is none.
func (x *Index) Meet(l *Listing, before int64, f func(s *Search, fitted bool)) (looked int) {
	var text *words // read once, if at all
	reading := func() *words {
		if text == nil {
			text = wordsOf(l)
		}
		return text
	}
	try := func(at slot) {
		for _, e := range x.filed[at] {
			looked++
			if e.search.Filter.fits(l, l.RentCents) && (e.text == nil || reading().meet(e.text)) {
				f(&e.search, before > 0 && e.search.Filter.fits(l, before))
			}
		}
	}
	size := int32(l.Bedrooms)
	for _, n := range []int32{anyBedrooms, size} {
		if l.Latitude != nil && l.Longitude != nil {
			try(slot{by: 's', x: square(*l.Longitude), y: square(*l.Latitude), bedrooms: n})
		}
		if l.Neighbourhood != "" {
			try(slot{by: 'n', key: l.Neighbourhood, bedrooms: n})
		}
		try(slot{by: 'r', x: band(l.RentCents), bedrooms: n})
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
			looked++
			if e.search.Filter.fits(l, l.RentCents) && text.meet(e.text) {
				f(&e.search, before > 0 && e.search.Filter.fits(l, before))
			}
		}
	}
	return looked
}

// Fitter returns what says whether a listing meets a filter, whatever it cost before. A filter that Check refuses is
// fault.Invalid.
func (f Criteria) Fitter() (func(*Listing) bool, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	var text []search.Condition
	if f.Text != "" {
		var err error
		if text, err = parseText(f.Text); err != nil {
			return nil, err
		}
	}
	return func(l *Listing) bool { return f.fits(l, l.RentCents) && (text == nil || wordsOf(l).meet(text)) }, nil
}
