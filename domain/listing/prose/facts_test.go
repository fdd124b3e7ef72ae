package prose_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string // facts as field=value, by spaces
	}{
		{"Rénové au complet, borne de recharge, entrée privée", "amenity=ev_charger amenity=private_entrance renovated=all"},
		{"walk-in shower, ascenseur rénové, maison rénovée", "renovated=all"},
		{"walk-in, balcon", "amenity=walk_in_closet"},
		{"Newly renovated kitchen and bathroom, heated floors", "amenity=heated_floors renovated=bathroom renovated=kitchen"},
		{"Cuisine et salle de bain entièrement rénovées", "renovated=bathroom renovated=kitchen"},
		{"Appartement non rénové dans un immeuble rénové", ""},
		{"Garde-robe walk-in, micro-ondes, toit-terrasse", "amenity=microwave amenity=rooftop amenity=walk_in_closet"},
		{"sans micro-ondes, pas de mezzanine, mal insonorisé", ""},
		{"Chauffage à l'eau chaude inclus", "heating=hot_water"},
		{"Chauffage, eau chaude et électricité inclus", ""},
		{"Chauffage\nélectrique laveuse", ""}, // two items of a list
		{"electric baseboards, storage", "heating=electric"},
		{"Immeuble de 4 étages, construit en 2012", "year_built=2012 storeys=4"},
		{"6-storey building", "storeys=6"},
		{"Grand 5 1/2 sur 2 étages", ""},
		{"construction 1250 rue Sherbrooke", ""},
		{"5 électroménagers inclus", "appliances=5"},
		{"Maximum 2 personnes. Enquête de crédit obligatoire, références exigées",
			"occupants=2 credit_check=yes references=yes"},
		{"No credit check!", ""},
		{"Cartes de crédit acceptées", ""},
		{"À 5 minutes de marche du métro Jarry", "metro_minutes=5"},
		{"3 min walk to the metro", "metro_minutes=3"},
		{"10 minutes en auto du métro", ""},
		{"5 minutes. Métro et bus", ""},
		{"Pour 55 ans et plus, vue sur le fleuve", "view=water for=seniors"},
		{"Idéal pour étudiants, vue sur la ville et vue sur le Mont-Royal", "view=city view=mountain for=students"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range prose.Facts(listing.Listing{Description: tt.text}) {
				require.True(t, f.Valid())
				require.Equal(t, "description", f.From)
				require.Contains(t, tt.text, f.Text)
				got = append(got, f.Field+"="+f.Value)
			}
			require.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

// A field with one value has that of the title, and one with many has each once.
func TestFactsOfTitleAndDescription(t *testing.T) {
	t.Parallel()
	l := listing.Listing{
		Title:       "4½, 5 électros, microwave",
		Description: "4 électroménagers, micro-ondes et congélateur; appelez au 514 555-0123",
	}
	want := []listing.Fact{
		{Field: "amenity", Value: "freezer", From: "description", Text: "congélateur"},
		{Field: "amenity", Value: "microwave", From: "title", Text: "microwave"},
		{Field: "appliances", Value: "5", From: "title", Text: "5 électros"},
	}
	require.Equal(t, want, prose.Facts(l))
}

func FuzzFacts(f *testing.F) {
	f.Add("À 5 minutes de marche du métro, rénové, construit en 2012")
	f.Add("½ max 2 personnes +\n: 55 ans et plus")
	f.Fuzz(func(t *testing.T, text string) {
		for _, fact := range prose.Facts(listing.Listing{Title: text, Description: text}) {
			if !fact.Valid() {
				t.Errorf("%q: %+v", text, fact)
			}
		}
	})
}
