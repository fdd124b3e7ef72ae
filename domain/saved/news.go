package saved

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// The kinds of events of a listing, as listing_events has them.
const (
	Created  = "created"
	Price    = "price"
	Returned = "status" // from archived to active
)

// An Event is a change of a listing that may be news.
type Event struct {
	ID           int64
	Kind         string // Created, Price or Returned
	At           time.Time
	OldRentCents int64 // of Price
	ListingID    uuid.UUID
	Home         uuid.UUID // that the listing is of
	Published    time.Time // when the listing was, first
	Standing     bool      // another advert of the home was shown until then, or still is
	Visible      bool      // the listing is offered now
	Listing      Listing   // as it is now
}

// A Told is what a search was last told of a home.
type Told struct {
	Ever      bool
	RentCents int64
}

// News says as which kind an event of a listing that meets a search is told, and false when it is not: nothing is told
// twice, a home once however many adverts it has. fitted is that it met the search at its rent before, too.
//
// A home that the search was never told of is new when its listing is, when its rent brought it into the search, or
// when it was first published while the search was there; otherwise an advert that returns is one that is back. A price
// counts against what was told last, whichever advert it was told of: a second advert of the home is news only when it
// is cheaper.
func (s *Search) News(e *Event, fitted bool, told Told) (Kind, bool) {
	if !e.Visible || e.At.Before(s.Since) {
		return "", false
	}
	var kinds []Kind
	rent := e.Listing.RentCents
	cheaper := told.Ever && rent < told.RentCents
	switch {
	case e.Kind == Price && !told.Ever && !fitted:
		kinds = append(kinds, New)
		if rent < e.OldRentCents {
			kinds = append(kinds, PriceDrop)
		}
	case e.Kind == Price && rent < e.OldRentCents && (!told.Ever || rent != told.RentCents):
		kinds = append(kinds, PriceDrop)
	case e.Kind == Price:
	case !told.Ever && (e.Kind == Created || e.Standing || !e.Published.Before(s.Since)):
		kinds = append(kinds, New)
	case e.Standing:
		if cheaper {
			kinds = append(kinds, PriceDrop)
		}
	default: // it returned, or another advert of a home that was gone was created
		if kinds = append(kinds, Back); cheaper {
			kinds = append(kinds, PriceDrop)
		}
	}
	for _, k := range kinds {
		if slices.Contains(s.Kinds, k) {
			return k, true
		}
	}
	return "", false
}
