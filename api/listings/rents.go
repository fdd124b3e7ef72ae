package listings

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

func (h Listings) registerRents(d *api.Door) {
	api.Serve(d, api.Needs(access.Read, api.Query("listings", "get-rents", "GET /stats/rents",
		"Get the rents asked, by place, bedrooms and time",
		"A group is the listings of a place and a number of bedrooms that were published first in an interval, archived "+
			"ones included, at the rent last asked. Adverts of one home count as one: the one that is shown, else the last of "+
			"those asked for. Rooms in shared homes are left out unless property_type=room. since and until default to the "+
			"last twelve months.")), h.rents)
}

type rentsInput struct {
	By           string `query:"by" enum:"borough,neighbourhood" default:"borough"`
	Interval     string `query:"interval" enum:"week,month,quarter" default:"month" doc:"in UTC; weeks begin on Mondays"`
	Since        string `query:"since" format:"date" doc:"inclusive" example:"2026-01-01"`
	Until        string `query:"until" format:"date" doc:"exclusive" example:"2027-01-01"`
	Bedrooms     []int  `query:"bedrooms" maxItems:"10" doc:"any of these, separated by commas; 0 is a studio"`
	PropertyType string `query:"property_type" pattern:"^[a-z-]{1,40}$" example:"apartment"`
	Least        int    `query:"least" minimum:"1" maximum:"1000" default:"5" doc:"groups of fewer homes are left out"`

	since, until time.Time // zero = not given
}

// longestRents is the longest time that may be asked for.
const longestRents = 10 * 366 * 24 * time.Hour

// Resolve checks what a schema cannot express.
func (in *rentsInput) Resolve(huma.Context) (wrong []error) {
	refuse := api.Refusing(&wrong)
	read := func(name, value string) (t time.Time) {
		if value != "" {
			var err error
			t, err = time.Parse(time.DateOnly, value)
			if err != nil {
				refuse(name, value, errors.New("expected a date such as 2026-01-01"))
			}
		}
		return t
	}
	in.since, in.until = read("since", in.Since), read("until", in.Until)
	switch {
	case in.since.IsZero() || in.until.IsZero():
	case !in.until.After(in.since):
		refuse("until", in.Until, errors.New("expected a date after since"))
	case in.until.Sub(in.since) > longestRents:
		refuse("until", in.Until, errors.New("expected at most ten years after since"))
	}
	checkBedrooms(refuse, in.Bedrooms)
	return wrong
}

// Rents is the answer of GET /stats/rents.
type Rents struct {
	Since  time.Time   `json:"since"`
	Until  time.Time   `json:"until"`
	Groups []RentGroup `json:"groups" doc:"in the order of from, place and bedrooms"`
}

// A RentGroup is the rents of one place, number of bedrooms and interval.
type RentGroup struct {
	From      time.Time `json:"from" doc:"start of the interval"`
	Place     string    `json:"place" doc:"name of the borough, or key of the neighbourhood; empty where it is not known"`
	Bedrooms  int       `json:"bedrooms" doc:"0 is a studio"`
	Listings  int       `json:"listings" doc:"one a home"`
	LowCents  int64     `json:"low_cents" doc:"first quartile, CAD cents a month"`
	MidCents  int64     `json:"median_cents" doc:"CAD cents a month"`
	HighCents int64     `json:"high_cents" doc:"third quartile, CAD cents a month"`
}

func (h Listings) rents(ctx context.Context, in *rentsInput) (*api.Body[Rents], error) {
	since, until := in.since, in.until
	if until.IsZero() {
		until = h.door.Now().UTC()
	}
	if since.IsZero() {
		since = until.AddDate(-1, 0, 0)
	}
	if until.Sub(since) > longestRents {
		return nil, fault.Newf(fault.Invalid, "since: is %s, expected at most ten years ago", in.Since)
	}
	groups, err := h.Store.Rents(ctx, dblistings.RentQuery{
		Since: since, Until: until, Interval: in.Interval, By: in.By, Bedrooms: in.Bedrooms,
		PropertyType: in.PropertyType, Least: in.Least,
	})
	if err != nil {
		return nil, err
	}
	shown := api.Each(groups, func(g dblistings.RentGroup) RentGroup { return RentGroup(g) })
	return api.BodyOf(Rents{since, until, shown}), nil
}
