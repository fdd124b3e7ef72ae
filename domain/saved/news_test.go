package saved_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/saved"
)

func TestNews(t *testing.T) {
	t.Parallel()
	early, late := noon.Add(-time.Hour), noon.Add(time.Hour) // before and after there was a search
	back := []saved.Kind{saved.Back}
	for name, tt := range map[string]struct {
		event  saved.Event // at its rent of 1,000
		fitted bool
		told   int64 // rent that the home was told of with; 0 = it was not
		kinds  []saved.Kind
		want   saved.Kind // "" = it is no news
	}{
		"a new home":            {saved.Event{Kind: saved.Created}, false, 0, saved.Kinds, saved.New},
		"not wanted":            {saved.Event{Kind: saved.Created}, false, 0, back, ""},
		"a second advert":       {saved.Event{Kind: saved.Created, Standing: true}, false, 1000_00, saved.Kinds, ""},
		"a cheaper one":         {saved.Event{Kind: saved.Created, Standing: true}, false, 1100_00, saved.Kinds, saved.PriceDrop},
		"a rent that fell":      {saved.Event{Kind: saved.Price, OldRentCents: 1100_00}, true, 1100_00, saved.Kinds, saved.PriceDrop},
		"into view":             {saved.Event{Kind: saved.Price, OldRentCents: 1100_00}, false, 0, saved.Kinds, saved.New},
		"told for that already": {saved.Event{Kind: saved.Price, OldRentCents: 1100_00}, true, 1000_00, saved.Kinds, ""},
		"a rent that rose":      {saved.Event{Kind: saved.Price, OldRentCents: 900_00}, true, 900_00, saved.Kinds, ""},
		"back":                  {saved.Event{Kind: saved.Returned}, false, 1000_00, saved.Kinds, saved.Back},
		"back, from before":     {saved.Event{Kind: saved.Returned, Published: early}, false, 0, saved.Kinds, saved.Back},
		"back, missed when new": {saved.Event{Kind: saved.Returned, Published: late}, false, 0, saved.Kinds, saved.New},
		"only what is back":     {saved.Event{Kind: saved.Returned, Published: late}, false, 0, back, saved.Back},
		"another was there":     {saved.Event{Kind: saved.Returned, Published: late, Standing: true}, false, 0, back, ""},
		"edited into view":      {saved.Event{Kind: saved.Edited, Published: early}, false, 0, saved.Kinds, saved.New},
		"edited, not wanted":    {saved.Event{Kind: saved.Edited}, false, 0, back, ""},
		"edited, in view":       {saved.Event{Kind: saved.Edited, Published: late}, true, 0, saved.Kinds, ""},
		"edited, told before":   {saved.Event{Kind: saved.Edited}, false, 1100_00, saved.Kinds, ""},
		"before the search":     {saved.Event{Kind: saved.Created, At: early}, false, 0, saved.Kinds, ""},
	} {
		e, s := tt.event, saved.Search{Kinds: tt.kinds, Since: noon}
		if e.Visible, e.Listing.RentCents = true, 1000_00; e.At.IsZero() {
			e.At = late
		}
		got, ok := s.News(&e, tt.fitted, saved.Told{Ever: tt.told > 0, RentCents: tt.told})
		require.Equal(t, tt.want, got, name)
		require.Equal(t, tt.want != "", ok, name)
	}
}

// A rent that falls is no news of a home that another advert offers for no more, if the search was told of that one.
func TestNewsOfTheDearerAdvert(t *testing.T) {
	t.Parallel()
	s := saved.Search{Kinds: saved.Kinds, Since: noon}
	e := saved.Event{
		Kind: saved.Price, At: noon, OldRentCents: 1100_00, ListingID: uuid.New(), Visible: true,
		Listing: saved.Listing{RentCents: 1000_00},
	}
	told := saved.Told{Ever: true, RentCents: 900_00, Listing: uuid.New()}
	for name, tt := range map[string]struct {
		listing uuid.UUID
		offered *int64
		want    bool
	}{
		"for less":             {told.Listing, new(int64(900_00)), false},
		"for as much":          {told.Listing, new(int64(1000_00)), false},
		"for more by now":      {told.Listing, new(int64(1001_00)), true},
		"no more":              {told.Listing, nil, true},
		"by the advert itself": {e.ListingID, new(int64(1000_00)), true},
	} {
		told.Listing, told.Offered = tt.listing, tt.offered
		_, ok := s.News(&e, true, told)
		require.Equal(t, tt.want, ok, name)
	}
}
