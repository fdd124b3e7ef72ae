package listing

// Traits are what a filter asks for of the values that an advert states: any of each that is not empty. An advert that
// does not state one meets no filter on it.
type Traits struct {
	Pets      string   `json:"pets,omitempty" doc:"yes, cats, dogs or no: animals that may move in; yes: some"`
	Furnished []string `json:"furnished,omitempty" doc:"yes, semi, optional, no"`
	Parking   []string `json:"parking,omitempty" doc:"yes, included, available, extra, street, none, indoor, outdoor; yes: included, available or extra"`
	Lease     []string `json:"lease,omitempty" doc:"one-year, 6-month, month-to-month"`
}

// The values that a filter may have.
var (
	PetsTraits      = []string{"yes", "cats", "dogs", "no"}
	FurnishedTraits = []string{"yes", "semi", "optional", "no"}
	ParkingTraits   = []string{"yes", "included", "available", "extra", "street", "none", "indoor", "outdoor"}
	LeaseTraits     = []string{"one-year", "6-month", "month-to-month"}
)

// Groups are the traits as the database's function listing_traits writes them, such as pets_cats: a listing must have
// one of each group.
func (t Traits) Groups() (groups [][]string) {
	add := func(prefix string, values ...string) {
		var group []string
		for _, v := range values {
			if v != "" {
				group = append(group, prefix+v)
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	add("pets_", t.Pets)
	add("furnished_", t.Furnished...)
	add("parking_", t.Parking...)
	add("lease_", t.Lease...)
	return groups
}
