package saved

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Notice is a delivery with all that is needed to send it.
type Notice struct {
	ID      uuid.UUID // of the delivery: what a receiver tells repeats by
	Tenant  string
	State   string // of the delivery: it is sent while it is waiting or started
	Due     time.Time
	Tries   int
	Search  uuid.UUID
	Name    string // of the search
	Target  uuid.UUID
	Channel Channel
	On      bool    // the search is active
	Address Address // opened: a store leaves it empty
	Sealed  Sealed  // the Address as it is stored
	Items   []Item
}

// Sealed is an Address that is encrypted, and the ID of the key that opens it.
type Sealed struct {
	Key string
	Box []byte
}

// An Item is what a search is told of a home.
type Item struct {
	Events       []int64 // that it is made of, oldest first
	Kind         Kind
	Listing      uuid.UUID
	Home         uuid.UUID
	Platform     string
	URL          string
	Title        string
	Address      string
	Bedrooms     int
	RentCents    int64  // CAD a month, when it matched last
	OldRentCents *int64 // before, of a price drop
	Latitude     *float64
	Longitude    *float64
	Offered      bool // it is not archived by now
	At           time.Time
}

// Together makes one item of those of a home: its newest advert and rent, the first rent before it fell, and new where
// one of them is. The order is that of the first item of each home.
func Together(items []Item) (out []Item) {
	at := map[uuid.UUID]int{}
	for _, i := range items {
		n, known := at[i.Home]
		if !known {
			at[i.Home] = len(out)
			out = append(out, i)
			continue
		}
		first := out[n]
		i.Events = append(first.Events, i.Events...)
		if first.Kind == New {
			i.Kind, i.OldRentCents = New, nil
		} else if first.OldRentCents != nil {
			i.OldRentCents = first.OldRentCents
			if i.Kind == PriceDrop && *i.OldRentCents <= i.RentCents {
				i.OldRentCents = nil
			}
		}
		out[n] = i
	}
	return out
}

// Headline is an item in a line: "New: 3½ near the park, 1,450 $ a month".
func (i Item) Headline() string {
	title := strings.Join(strings.Fields(i.Title), " ")
	switch {
	case i.Kind == PriceDrop && i.OldRentCents != nil:
		return fmt.Sprintf("Price drop: %s, %s a month instead of %s", title, Dollars(i.RentCents), Dollars(*i.OldRentCents))
	case i.Kind == PriceDrop:
		return fmt.Sprintf("Price drop: %s, %s a month", title, Dollars(i.RentCents))
	case i.Kind == Back:
		return fmt.Sprintf("Back again: %s, %s a month", title, Dollars(i.RentCents))
	}
	return fmt.Sprintf("New: %s, %s a month", title, Dollars(i.RentCents))
}

// Dollars writes CAD cents as 1,450 $, with cents only where there are some.
func Dollars(cents int64) string {
	whole := strconv.FormatInt(cents/100, 10)
	for n := len(whole) - 3; n > 0; n -= 3 {
		whole = whole[:n] + "," + whole[n:]
	}
	if cents%100 != 0 {
		return fmt.Sprintf("%s.%02d $", whole, cents%100)
	}
	return whole + " $"
}
