package saved

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// The kinds of events of a listing. All but Edited are as listing_events has them.
const (
	Created  = "created"
	Price    = "price"
	Returned = "status" // from archived to active
	Edited   = "edited" // anything but its rent, its first picture was stored, or an owner took it over or gave it back
)

// An Event is a change of a listing that may be news.
type Event struct {
	ID           int64
	Kind         string // Created, Price, Returned or Edited
	At           time.Time
	OldRentCents int64 // of Price
	ListingID    uuid.UUID
	Home         uuid.UUID // that the listing is of
	Published    time.Time // when the listing was, first
	Standing     bool      // another advert of the home was shown until then, or still is
	Visible      bool      // the listing is offered now
	Listing      Listing   // as it is now
	Before       *Listing  // as it was before a Price, when only its rent differed, or before it was Edited; else nil
}

// A Told is what a search was last told of a home.
type Told struct {
	Ever      bool
	RentCents int64
	Listing   uuid.UUID // the advert that it was told of
	Offered   *int64    // rent of that one now, CAD cents; nil = it is not offered, or meets the search no more
}

// Still says that a home is offered by another advert, which the search was told of, for no more than by this one.
func (t *Told) Still(e *Event) bool {
	return t.Ever && t.Listing != e.ListingID && t.Offered != nil && *t.Offered <= e.Listing.RentCents
}

// News says as which kind an event of a listing that meets a search is told, and false when it is not: nothing is told
// twice, a home once however many adverts it has. fitted is that e.Before met the search, too.
//
// A home that the search was never told of is new when its listing is, when its rent or an edit brought it into the
// search, or when it was first published while the search was there; otherwise an advert that returns is one that is
// back. An edit is no other news. A price counts against what was told last, whichever advert it was told of: a second
// advert of the home is news only when it is cheaper.
func (s *Search) News(e *Event, fitted bool, told Told) (Kind, bool) {
	if !e.Visible || e.At.Before(s.Since) {
		return "", false
	}
	var kinds []Kind
	rent := e.Listing.RentCents
	cheaper := told.Ever && rent < told.RentCents
	switch {
	case e.Kind == Edited && !told.Ever && !fitted:
		kinds = append(kinds, New)
	case e.Kind == Edited:
	case e.Kind == Price && !told.Ever && !fitted:
		kinds = append(kinds, New)
		if rent < e.OldRentCents {
			kinds = append(kinds, PriceDrop)
		}
	case e.Kind == Price && rent < e.OldRentCents && (!told.Ever || rent != told.RentCents) && !told.Still(e):
		kinds = append(kinds, PriceDrop)
	case e.Kind == Price:
	case !told.Ever && (e.Kind == Created || e.Standing || !e.Published.Before(s.Since)):
		if kinds = append(kinds, New); e.Kind == Returned && !e.Standing {
			kinds = append(kinds, Back) // for a search that does not want to be told of new ones
		}
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
