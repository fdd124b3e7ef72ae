package kangalou

import (
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
)

type reader func(s *prose.Stated, name, value string)

// fields are the owner form's inputs.
var fields = map[string]reader{
	"appartmentsize": rooms,
	"apartmentsize":  rooms,
	"bedroomcount":   bedrooms,
	"bathroomcount":  bathrooms,
	"size":           area,
	"type":           kind,
	"availability":   available,
}

// criteria are the form's boxes. A box that is not ticked says nothing.
var criteria = map[string]reader{
	"cat-allowed": func(s *prose.Stated, name, v string) { allow(s, name, v, "yes", "") },
	"dog-allowed": func(s *prose.Stated, name, v string) { allow(s, name, v, "", "yes") },
	"small-dog-allowed": func(s *prose.Stated, name, v string) {
		if s.Pets.Dogs != "yes" { // "dogs" says more than "small dogs"
			allow(s, name, v, "", "small")
		}
	},
	"no-animals-allowed": func(s *prose.Stated, name, v string) {
		if s.Pets.Cats != "" || s.Pets.Dogs != "" {
			s.Warn("pets", listing.CodeConflict, "boxes for and against animals are both ticked")
			s.Pets.Policy = "conflict"
			return
		}
		s.Pets = listing.Pets{Policy: "no"}
		s.Note("pets", name, v)
	},
	"parking":  func(s *prose.Stated, name, v string) { park(s, name, v, "") },
	"interior": func(s *prose.Stated, name, v string) { park(s, name, v, "indoor") },
	"exterior": func(s *prose.Stated, name, v string) { park(s, name, v, "outdoor") },
	"hot-water": func(s *prose.Stated, name, v string) {
		s.Utilities.HotWater = yes()
		s.Note("utilities.hot_water", name, v)
	},
	"heated": func(s *prose.Stated, name, v string) {
		s.Utilities.Heat = yes()
		s.Note("utilities.heat", name, v)
	},
	"furnished": func(s *prose.Stated, name, v string) {
		s.Furnished = "yes"
		s.Note("furnished", name, v)
	},
	"air-conditioning":            amenity("air_conditioning"),
	"fridge":                      amenity("fridge"),
	"stove":                       amenity("stove"),
	"washer":                      amenity("washer"),
	"dryer":                       amenity("dryer"),
	"dishwasher":                  amenity("dishwasher"),
	"washer-and-dryer-connectors": amenity("washer_dryer_hookups"),
	"storage":                     amenity("storage"),
	"fireplace":                   amenity("fireplace"),
	"carpet":                      amenity("carpet"),
	"terrace":                     amenity("balcony"),
	"private-yard":                amenity("yard"),
	"elevator":                    amenity("elevator"),
	"gym":                         amenity("gym"),
	"sauna":                       amenity("sauna"),
	"pool":                        amenity("pool"),
	"laundromat":                  amenity("laundry_in_building"),
	"alarm-system-cameras":        amenity("security"),
}

func yes() *bool {
	v := true
	return &v
}

// allow adds a kind of animal. Naming one kind alone leaves the others out; both without limits is a yes.
func allow(s *prose.Stated, name, value, cats, dogs string) {
	if s.Pets.Policy == "no" {
		s.Warn("pets", listing.CodeConflict, "boxes for and against animals are both ticked")
		s.Pets.Policy = "conflict"
		return
	}
	if cats != "" {
		s.Pets.Cats = cats
	}
	if dogs != "" {
		s.Pets.Dogs = dogs
	}
	s.Pets.Policy = "limited"
	if s.Pets.Cats == "yes" && s.Pets.Dogs == "yes" {
		s.Pets.Policy = "yes"
	}
	s.Note("pets", name, value)
}

func park(s *prose.Stated, name, value, where string) {
	s.Parking.Offer = "included" // the boxes are what comes with the home
	if where != "" {
		s.Parking.Type = where
	}
	s.Note("parking", name, value)
}

func amenity(key string) reader {
	return func(s *prose.Stated, name, value string) { s.AddAmenity(key, name, value) }
}

// rooms reads the size select, "4 ½" up to "6 ½ +".
func rooms(s *prose.Stated, name, value string) {
	list := prose.ParseRooms(strings.TrimSuffix(strings.TrimSpace(value), "+"))
	if len(list) == 0 {
		return
	}
	s.Rooms = list[0]
	s.Note("rooms", name, value)
}

func bedrooms(s *prose.Stated, name, value string) {
	n, err := strconv.Atoi(strings.TrimSuffix(value, "+"))
	if err != nil || n < 0 || n > 20 {
		return
	}
	s.Bedrooms = n
	s.Note("bedrooms", name, value)
}

func bathrooms(s *prose.Stated, name, value string) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSuffix(value, "+"), ",", "."), 64)
	if err != nil || !(v >= .5 && v <= 12) {
		return
	}
	s.Bathrooms = v
	s.Note("bathrooms", name, value)
}

// area reads "75 m" and "800 ft", the form's units, and the usual spellings of square feet and metres.
func area(s *prose.Stated, name, value string) {
	v := prose.ParseArea(value)
	if v == 0 {
		if f := strings.Fields(page.Fold(value)); len(f) == 2 && (f[1] == "m" || f[1] == "ft") {
			v = prose.ParseArea(f[0] + " " + f[1] + "2")
		}
	}
	if v == 0 {
		return
	}
	s.AreaSqFt = v
	s.Note("area_sqft", name, value)
}

func kind(s *prose.Stated, name, value string) {
	t := prose.ParsePropertyType(value)
	if t == "" {
		switch page.Fold(value) {
		case "single family", "unifamilial", "unifamiliale":
			t = "house"
		default:
			return
		}
	}
	s.PropertyType = t
	s.Note("property_type", name, value)
}

func available(s *prose.Stated, name, value string) {
	if s.Available = prose.ParseAvailable(value); s.Available == "" {
		return
	}
	s.Note("available", name, value)
}
