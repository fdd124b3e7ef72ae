package cli

import (
	"net/url"
	"strconv"

	"github.com/mtlrent/conveyor/domain/saved"
)

// homeFlags say which homes the listings are of that an export has, or that a saved search is about.
type homeFlags struct {
	Neighbourhood string    `help:"Only listings in the neighbourhood with this key." placeholder:"KEY"`
	MinPrice      int64     `help:"Least rent in CAD a month." placeholder:"CAD"`
	MaxPrice      int64     `help:"Highest rent in CAD a month." placeholder:"CAD"`
	Bedrooms      []int     `help:"Any of these numbers of bedrooms; 0 is a studio." placeholder:"N"`
	MinBedrooms   int       `help:"Least number of bedrooms." placeholder:"N"`
	Rooms         []float64 `help:"Any of these Quebec room counts; 4.5 is a 4½." placeholder:"N"`
	MinArea       int       `help:"Least area in square feet." placeholder:"N"`
	MaxArea       int       `help:"Largest area in square feet." placeholder:"N"`
	Pets          string    `help:"Animals that may move in: yes, cats, dogs or no." placeholder:"WHICH"`
	Furnished     []string  `help:"Any of: yes, semi, optional, no." placeholder:"WHICH"`
	Parking       []string  `help:"Any of: yes, included, available, extra, street, none, indoor, outdoor." placeholder:"WHICH"`
	Lease         []string  `help:"Any of: one-year, 6-month, month-to-month." placeholder:"WHICH"`
	AvailableBy   string    `help:"Day on which the home is free." placeholder:"2027-07-01"`
}

// setQuery sets the parameters of the flags that are given.
func (f *homeFlags) setQuery(q url.Values) {
	setQuery(q, "neighbourhood", f.Neighbourhood)
	setQuery(q, "bedrooms", commas(f.Bedrooms))
	setQuery(q, "rooms", commas(f.Rooms))
	setQuery(q, "pets", f.Pets)
	setQuery(q, "furnished", commas(f.Furnished))
	setQuery(q, "parking", commas(f.Parking))
	setQuery(q, "lease", commas(f.Lease))
	setQuery(q, "available_by", f.AvailableBy)
	for name, n := range map[string]int64{
		"min_price": f.MinPrice, "max_price": f.MaxPrice, "min_bedrooms": int64(f.MinBedrooms),
		"min_area": int64(f.MinArea), "max_area": int64(f.MaxArea),
	} {
		if n != 0 { // one below 0 is for the API to refuse
			q.Set(name, strconv.FormatInt(n, 10))
		}
	}
}

// overlay puts the flags that are given in the place of what c says.
func (f *homeFlags) overlay(c *saved.Criteria) {
	overlay(&c.Neighbourhood, f.Neighbourhood)
	overlay(&c.Pets, f.Pets)
	overlay(&c.AvailableBy, f.AvailableBy)
	overlay(&c.MinPrice, f.MinPrice)
	overlay(&c.MaxPrice, f.MaxPrice)
	overlay(&c.MinBedrooms, f.MinBedrooms)
	overlay(&c.MinArea, f.MinArea)
	overlay(&c.MaxArea, f.MaxArea)
	some(&c.Bedrooms, f.Bedrooms)
	some(&c.Rooms, f.Rooms)
	some(&c.Furnished, f.Furnished)
	some(&c.Parking, f.Parking)
	some(&c.Lease, f.Lease)
}
