package listing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/listing"
)

func home(platform, id string, change func(*listing.Listing)) listing.Listing {
	lat, lon := 46.8, -71.2
	l := listing.Listing{
		Ref: listing.Ref{Platform: platform, PlatformID: id}, Title: "5 1/2 à louer au 900 rue Laudance #101", Rooms: 5.5,
		Bedrooms:  3,
		RentCents: 126_500, Latitude: &lat, Longitude: &lon,
		Description: "Grand logement rénové près des services, plancher de bois franc.",
		Address:     listing.Address{Civic: []string{"900"}, Street: "Rue Laudance", City: "Québec"},
	}
	if change != nil {
		change(&l)
	}
	return l
}

func TestSameHome(t *testing.T) {
	t.Parallel()
	far := 46.8005
	for _, tt := range []struct {
		name     string
		platform string
		change   func(*listing.Listing)
		want     listing.MatchKind
	}{
		{"identical elsewhere", "kangalou", nil, listing.Duplicate},
		{"identical on one platform", "kijiji", nil, listing.Repost},
		{"english twin", "kangalou", func(l *listing.Listing) {
			l.Title, l.Description = "3 Bdrm available at 900 Laudance Street #101",
				"Large renovated apartment, hardwood floors, close to everything."
		}, listing.Duplicate},
		{"rooms unknown in one", "kangalou", func(l *listing.Listing) { l.Rooms = 0 }, listing.Duplicate},
		{"near rent, same words", "kangalou", func(l *listing.Listing) { l.RentCents = 120_000 }, ""},
		{"rent within a percent, same words", "kangalou", func(l *listing.Listing) { l.RentCents = 125_800 },
			listing.Duplicate},
		{"rent within a percent, other words", "kangalou", func(l *listing.Listing) {
			l.RentCents, l.Description = 125_800, "Logement lumineux au coeur du quartier, libre tout de suite."
		}, ""},
		{"other rooms, same words", "kangalou", func(l *listing.Listing) { l.Rooms = 6.5 }, listing.Duplicate},
		{"near rent, other words, unit known in one", "kangalou", func(l *listing.Listing) {
			l.RentCents, l.Title, l.Description, l.Address.Unit = 120_000, "x", "y", "101"
		}, ""},
		{"near rent, other words", "kangalou", func(l *listing.Listing) {
			l.RentCents, l.Title, l.Description = 120_000, "x",
				"y"
		}, ""},
		{"other rent", "kangalou", func(l *listing.Listing) { l.RentCents = 100_000 }, ""},
		{"other rooms", "kangalou", func(l *listing.Listing) {
			l.Rooms, l.Description = 4.5, "Logement lumineux au coeur du quartier, libre tout de suite."
		}, ""},
		{"other bedrooms", "kangalou", func(l *listing.Listing) { l.Bedrooms = 2 }, ""},
		{"other civic number", "kangalou", func(l *listing.Listing) { l.Address.Civic = []string{"902"} }, ""},
		{"one of several buildings", "kangalou", func(l *listing.Listing) { l.Address.Civic = []string{"898", "900"} },
			listing.Duplicate},
		{"a room", "kangalou", func(l *listing.Listing) { l.RoomRental = true }, ""},
		{"other area", "kangalou", func(l *listing.Listing) { l.AreaSqFt = 900 }, listing.Duplicate},
		{"55 m away", "kangalou", func(l *listing.Listing) { l.Latitude = &far }, ""},
		{"no coordinates, same address", "kangalou", func(l *listing.Listing) { l.Latitude = nil }, listing.Duplicate},
		{"no coordinates, no address", "kangalou", func(l *listing.Listing) {
			l.Latitude, l.Address = nil,
				listing.Address{}
		}, ""},
		{"no rent", "kangalou", func(l *listing.Listing) { l.RentCents = 0 }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := home("kijiji", "1", nil), home(tt.platform, "2", tt.change)
			got, back := listing.SameHome(a, b), listing.SameHome(b, a)
			assert.Equal(t, tt.want, got.Kind, got)
			assert.NotEmpty(t, got.Reasons)
			assert.Equal(t, back, got, "not symmetric")
		})
	}
	same := home("kijiji", "1", nil)
	if m := listing.SameHome(same, same); m.Kind != "" {
		t.Errorf("an advert matches itself: %+v", m)
	}
	a := home("kijiji", "1", func(l *listing.Listing) { l.Address.Unit = "101" })
	b := home("kangalou", "2", func(l *listing.Listing) { l.Address.Unit = "102" })
	if m := listing.SameHome(a, b); m.Kind != "" {
		t.Errorf("units 101 and 102 match: %+v", m)
	}
	a = home("kijiji", "1", func(l *listing.Listing) { l.Floor = "15" })
	b = home("kangalou", "2", func(l *listing.Listing) { l.Floor = "17" })
	if m := listing.SameHome(a, b); m.Kind != "" {
		t.Errorf("floors 15 and 17 match: %+v", m)
	}
	a = home("centris", "1", func(l *listing.Listing) { l.CentrisNumber = "28598358" })
	b = home("realtor", "2", func(l *listing.Listing) { l.CentrisNumber, l.Bedrooms, l.Latitude = "28598358", 1, nil })
	if m := listing.SameHome(a, b); m.Kind != listing.Duplicate || !m.Figures.Centris {
		t.Errorf("a shared Centris number: %+v", m)
	}
	building := func(l *listing.Listing) { l.BuildingRef = "b1" }
	a, b = home("rentals", "1", building), home("rentals", "2", building)
	if m := listing.SameHome(a, b); m.Kind != listing.Repost {
		t.Errorf("two of one building that say the same: %+v", m)
	}
	b.Available = "07-01"
	if m := listing.SameHome(a, b); m.Kind != "" {
		t.Errorf("two of one building that are free at other times: %+v", m)
	}
	postal := func(l *listing.Listing) {
		l.Latitude, l.Address = nil, listing.Address{Civic: []string{"900"}, PostalCode: "G1X 4A1"}
	}
	a, b = home("kijiji", "1", postal), home("kangalou", "2", postal)
	if m := listing.SameHome(a, b); m.Kind != listing.Duplicate {
		t.Errorf("one civic number and postal code: %+v", m)
	}
	b.Address.PostalCode = "G1X"
	if m := listing.SameHome(a, b); m.Kind != "" {
		t.Errorf("half a postal code: %+v", m)
	}
	town := func(l *listing.Listing) { l.Latitude, l.Address.City = nil, "Québec" }
	a, b = home("kijiji", "1", town), home("kangalou", "2", town)
	b.Address.City = "Lévis"
	if m := listing.SameHome(a, b); m.Kind != "" {
		t.Errorf("one street name in two towns: %+v", m)
	}
	coarse := func(l *listing.Listing) { l.Address = listing.Address{City: "Québec", PostalCode: "G1K"} }
	a, b = home("kijiji", "1", coarse), home("kangalou", "2", coarse)
	b.Title, b.Description = "tout autre chose", "rien à voir"
	if m := listing.SameHome(a, b); m.Kind != "" {
		t.Errorf("a postal code's place settles it: %+v", m)
	}
}

// Pictures confirm what place, size and rent say, where words do not; they confirm nothing else.
func TestSameHomeByPictures(t *testing.T) {
	t.Parallel()
	lat, lon := 45.5432, -73.6281
	advert := func(platform string, photos ...uint64) listing.Listing {
		return listing.Listing{
			Ref: listing.Ref{Platform: platform, PlatformID: platform}, Title: "Beau 4½ " + platform, RentCents: 120_000,
			Bedrooms: 2, Latitude: &lat, Longitude: &lon, Address: listing.Address{PostalCode: "H2P 1A1"}, Photos: photos,
		}
	}
	const one, two, three, four = 0xf0f0_1234_5678_9abc, 0x0ff0_aaaa_1111_7777, 0x1357_9bdf_0246_8ace, 0x9999_3333_cccc_0f0f
	a, b := advert("kijiji", one, two, three), advert("kangalou", two^1, three^0b1111, one, four)
	for _, tt := range []struct {
		name   string
		change func(a, b *listing.Listing)
		want   listing.MatchKind
	}{
		{"the same pictures", func(*listing.Listing, *listing.Listing) {}, listing.Duplicate},
		{"none", func(a, b *listing.Listing) { a.Photos, b.Photos = nil, nil }, ""},
		{"too few", func(a, _ *listing.Listing) { a.Photos = a.Photos[:2] }, ""},
		{"one is another", func(a, _ *listing.Listing) { a.Photos = []uint64{one, two, four ^ 0b11111} }, ""},
		{"another rent", func(a, _ *listing.Listing) { a.RentCents = 121_000 }, ""},
		{"another size", func(a, _ *listing.Listing) { a.Bedrooms = 3 }, ""},
		{"another area", func(a, b *listing.Listing) { a.AreaSqFt, b.AreaSqFt = 800, 850 }, ""},
		{"another unit", func(a, b *listing.Listing) { a.Address.Unit, b.Address.Unit = "101", "102" }, ""},
		{"units of one building", func(a, b *listing.Listing) {
			b.Platform, a.BuildingRef, b.BuildingRef = a.Platform, "x", "x"
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, b := a, b
			tt.change(&a, &b)
			m, back := listing.SameHome(a, b), listing.SameHome(b, a)
			if m.Kind != tt.want || back.Kind != tt.want {
				t.Errorf("got %q and %q, want %q: %v", m.Kind, back.Kind, tt.want, m.Reasons)
			}
		})
	}
}
