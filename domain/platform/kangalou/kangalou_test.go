package kangalou_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/kangalou"
)

// advert is synthetic: the owner form's vocabulary, no page of the site.
func advert() listing.Raw {
	return listing.Raw{
		Ref: listing.Ref{Platform: "kangalou", PlatformID: "123456"}, Title: "Logement dans Villeray",
		Price: listing.RawPrice{Text: "1 450 $"}, Address: "7078 rue Clark, Montréal, QC H2S 3G1",
		Attributes: map[string][]string{
			"appartmentsize": {"4 ½"}, "bedroomcount": {"2"}, "bathroomcount": {"1"}, "size": {"75 m"}, "type": {"Condominium"},
			"rentfrequency": {"Every month"}, "availability": {"1er juillet 2026"},
			"criteria": {"criteria-hot-water", "criteria-heated", "criteria-cat-allowed", "criteria-small-dog-allowed",
				"criteria-interior", "criteria-washer-and-dryer-connectors", "criteria-elevator", "criteria-unheard-of"},
		},
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()
	l, err := kangalou.Platform{}.Normalize(advert())
	require.NoError(t, err)
	if l.RentCents != 145_000 || l.Rooms != 4.5 || l.Bedrooms != 2 || l.Bathrooms != 1 || l.AreaSqFt != 807 ||
		l.PropertyType != "condo" || l.Available != "2026-07-01" {
		t.Errorf("listing = %+v", l)
	}
	if u := l.Utilities; u.Heat == nil || !*u.Heat || u.HotWater == nil || !*u.HotWater || u.Electricity != nil {
		t.Errorf("utilities = %+v", u)
	}
	require.Equal(t, (listing.Pets{Policy: "limited", Cats: "yes", Dogs: "small"}), l.Pets)
	require.Equal(t, (listing.Parking{Offer: "included", Type: "indoor"}), l.Parking)
	require.Equal(t, []string{"elevator", "washer_dryer_hookups"}, l.Amenities)
	for field, name := range map[string]string{"rooms": "appartmentsize", "bedrooms": "bedroomcount", "pets": "criteria"} {
		if s := l.Sources[field]; s.From != "attribute" || s.Name != name {
			t.Errorf("Sources[%s] = %+v; want attribute %s", field, s, name)
		}
	}
}

func TestBoxesUnderTheirOwnNames(t *testing.T) {
	t.Parallel()
	raw := advert()
	raw.Attributes = map[string][]string{"criteria-furnished": nil, "no-animals-allowed": {"1"}, "gym": {"0"},
		"appartmentsize": {"6 ½ +"}}
	l, err := kangalou.Platform{}.Normalize(raw)
	require.NoError(t, err)
	if l.Furnished != "yes" || l.Pets.Policy != "no" || len(l.Amenities) != 0 || l.Rooms != 6.5 || l.Bedrooms != 4 {
		t.Errorf("listing = %+v", l)
	}
}

func TestBoxesThatClash(t *testing.T) {
	t.Parallel()
	raw := advert()
	raw.Attributes["criteria"] = []string{"criteria-cat-allowed", "criteria-no-animals-allowed"}
	l, err := kangalou.Platform{}.Normalize(raw)
	require.NoError(t, err)
	if l.Pets.Policy != "conflict" || len(l.Warnings) == 0 {
		t.Errorf("pets = %+v, warnings = %+v", l.Pets, l.Warnings)
	}
}

func TestRentFrequency(t *testing.T) {
	t.Parallel()
	raw := advert()
	raw.Attributes["rentfrequency"] = []string{"Every week"}
	raw.Price.Text = "300 $"
	l, err := kangalou.Platform{}.Normalize(raw)
	if err != nil || l.RentCents != 130_000 {
		t.Errorf("300 $ a week = %d, %v; want 130000", l.RentCents, err)
	}
	cents := int64(300_00)
	raw.Price = listing.RawPrice{AmountCents: &cents}
	if l, err = (kangalou.Platform{}).Normalize(raw); err != nil || l.RentCents != 130_000 {
		t.Errorf("an amount of 300 $ a week = %d, %v; want 130000", l.RentCents, err)
	}
	raw.Attributes["rentfrequency"] = []string{"Every day"}
	var r *listing.Rejection
	if _, err = (kangalou.Platform{}).Normalize(raw); !errors.As(err, &r) {
		t.Errorf("300 $ a day = %v; want a rejection", err)
	}
	for in, want := range map[string]string{"Every month": "month", "Chaque mois": "month", "Every week": "week",
		"Par jour": "day", "Annuel": "year", "": ""} {
		assert.Equal(t, want, kangalou.ParseFrequency(in), in)
	}
}
