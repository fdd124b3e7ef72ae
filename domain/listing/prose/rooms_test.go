package prose_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

func TestParseRooms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want []float64
	}{
		{"4 1/2 à louer", []float64{4.5}},
		{"4½", []float64{4.5}},
		{"4 ½ à louer", []float64{4.5}},
		{"41/2 à deux pas des plaines", []float64{4.5}},
		{"grand logement 41\\2 a louer", []float64{4.5}},
		{"4 1 \\ 2", []float64{4.5}},
		{"4 1 / 2 Beauport", []float64{4.5}},
		{"Location 4-1/2", []float64{4.5}},
		{"4 - 1/2 Limoilou", []float64{4.5}},
		{"4,5 à Ste-Foy", []float64{4.5}},
		{"4.5 CHARLESBOURG", []float64{4.5}},
		{"Superbe 3,5 pièce - St-Foy", []float64{3.5}},
		{"Grand 4 et demi a louer", []float64{4.5}},
		{"4 ET DEMIE", []float64{4.5}},
		{"quatre et demi rénové", []float64{4.5}},
		{"four and a half", []float64{4.5}},
		{"4 et 1/2", []float64{4.5}},
		{"3 demi meublé", []float64{3.5}},
		{"grand 3 pièces et demi", []float64{3.5}},
		{"5 pièces et demie rénové", []float64{5.5}},
		{"5&amp;1/2 Apartment", []float64{5.5}},
		{"4⁄1/2", nil},
		{"4 1⁄2", []float64{4.5}},
		{"𝟒 𝟏/𝟐 à louer", []float64{4.5}},
		{"SUPERFICIE4 1/2 - a partir", []float64{4.5}},
		{"4 1/2demi sous-sol", []float64{4.5}},
		{"NOUVELLEMENT RÉNOVÉ - 4 1/2 demi sous-sol", []float64{4.5}},
		{"4 demi sous-sol", nil},
		{"demi sous-sol", nil},
		{"1025 Chauvigny - 4.5", []float64{4.5}},
		{"250 Joseph-Isabelle - 4.5", []float64{4.5}},
		{"A31 Grand 5.5 rénové", []float64{5.5}},
		{"TRU-15 TRES GRAND 4.5 LUMINEUX", []float64{4.5}},
		{"3½ et 4½ avenue Maricourt", []float64{3.5, 4.5}},
		{"2 1/2 , 3 1/2 et 4 1/2 pour juillet", []float64{2.5, 3.5, 4.5}},
		{"4½ 5½ a Louer", []float64{4.5, 5.5}},
		{"4 1/2 1 1/2 salle de bain", []float64{4.5}},
		{"1,5 salle de bain", nil},
		{"1 1/2 bath", nil},
		{"2.5 bathrooms", nil},
		{"4 1/2 à 695$/MOIS", []float64{4.5}},
		{"800.50 $", nil},
		{"1,5 km du métro", nil},
		{"plafond 9,5 pieds", nil},
		{"5 pièces 1 chambre", []float64{5}},
		{"3 pièces fermées", nil},
		{"libre 1/2", nil},
		{"01/02/2018", nil},
		{"3BR near McGill", nil},
		{"13 1/2", nil},
		{"", nil},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			if got := prose.ParseRooms(tt.in); !slices.Equal(got, tt.want) {
				t.Errorf("ParseRooms(%q) = %v; want %v", tt.in, got, tt.want)
			}
		})
	}
}

func TestBedroomsOf(t *testing.T) {
	t.Parallel()
	for rooms, want := range map[float64]int{1: 0, 1.5: 0, 2.5: 0, 3.5: 1, 4.5: 2, 5.5: 3, 6.5: 4} {
		assert.Equal(t, want, prose.BedroomsOf(rooms), rooms)
	}
}

func TestParseBedrooms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want int
		den  bool
		ok   bool
	}{
		{"2 chambres à coucher", 2, false, true},
		{"Deux grandes chambres fermées", 2, false, true},
		{"3 CHAMBRES FERMÉES", 3, false, true},
		{"3 Bdrs 51/2", 3, false, true},
		{"3BR STEPS FROM McGILL", 3, false, true},
		{"2-bedroom apartment", 2, false, true},
		{"2 bed 1 bath", 2, false, true},
		{"Three large bedrooms", 3, false, true},
		{"2 CH - 1 SDB", 2, false, true},
		{"3 cc. bien rénové", 3, false, true},
		{"2 cac", 2, false, true},
		{"trois (3) chambres", 3, false, true},
		{"2 Chambre(s) à Coucher", 2, false, true},
		{"3 pièces fermées", 3, false, true},
		{"2 grandes chambres et 1 moyenne", 3, false, true},
		{"2 chambres et 1 grand salon", 2, false, true},
		{"2 chambres et 1 bureau", 2, true, true},
		{" 1 + Den", 1, true, true},
		{"2 bedrooms + den", 2, true, true},
		{" Bachelor/Studio", 0, false, true},
		{"studio meublé", 0, false, true},
		{"2 chambres de bain", 0, false, false},
		{"studio de yoga à côté", 0, false, false},
		{"chambre à louer", 0, false, false},
		{"2e chambre", 0, false, false},
		{"4 1/2", 0, false, false},
		{"1, 2 and 3 bedrooms", 3, false, true},
		{"", 0, false, false},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, den, ok := prose.ParseBedrooms(tt.in)
			if got != tt.want || den != tt.den || ok != tt.ok {
				t.Errorf("ParseBedrooms(%q) = %d, %t, %t; want %d, %t, %t", tt.in, got, den, ok, tt.want, tt.den, tt.ok)
			}
		})
	}
}

func TestParseBathrooms(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]float64{
		"2.5 salles de bain": 2.5, "1,5 salle de bain": 1.5, "1½ bath": 1.5, "1 1/2 salles de bains": 1.5, "2 sdb": 2,
		"2 full baths":           2,
		"salle de bain complète": 1, "deux salles de bain complètes": 2, "1 salle de bain et 1 salle d'eau": 1.5,
		"2 CH - 1 SDB":       1,
		"1 Salle(s) de Bain": 1, "2 bathrooms": 2, "two bathrooms": 2, "bain tourbillon": 0, "bath tub": 0, "": 0,
		"99 salles de bain": 0, "salle de bain rénovée": 0, "1+1 bathrooms": 1.5, "3-piece bathroom": 1,
	} {
		assert.Equal(t, want, prose.ParseBathrooms(in), in)
	}
}

func TestParseArea(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		"600 pi²": 600, "1000p2": 1000, "1,900 sqft": 1900, "grand loft (850 pc)": 850, "[650 PC]": 650,
		"(+1250 pi ca)": 1250, "1180 pi2": 1180,
		"900 pieds carrés": 900, "550 pieds carré": 550, "1 250 pi2": 1250, "800 sq. ft.": 800, "800 sq ft": 800,
		"750 p.c.": 750, "1050pi carré": 1050,
		"700 square feet": 700, "75 m²": 807, "1’200pi2": 1200, "75 m2": 807, "80 mètres carrés": 861, "1200 pi. ca.": 1200,
		"1350 pi.ca.": 1350, "Superficie brute 450 pc": 450,
		"1000 pieds2": 1000, "0": 0, "1 pi2": 0, "12 pieds x 12 pieds": 0, "850 $": 0, "2 pc": 0, "99999999 pi2": 0, "": 0,
		"975 pi.2": 975, "1 400 p.c.": 1400,
	} {
		assert.Equal(t, want, prose.ParseArea(in), in)
	}
}

func TestParseUnits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want []listing.Unit
	}{
		{"2 ½ ; 900-1000$ / 3 ½ ; 1200-1300$", []listing.Unit{{Rooms: 2.5, RentCents: 900_00}, {Rooms: 3.5, Bedrooms: 1,
			RentCents: 1200_00}}},
		{"Studio à partir de 795$ 3½ à partir de 890$", []listing.Unit{{Rooms: 1.5, RentCents: 795_00}, {Rooms: 3.5,
			Bedrooms: 1, RentCents: 890_00}}},
		{"3 1/2 et 4 1/2", []listing.Unit{{Rooms: 3.5, Bedrooms: 1}, {Rooms: 4.5, Bedrooms: 2}}},
		{"650$ 3 1/2, 750$ 4 1/2", []listing.Unit{{Rooms: 3.5, Bedrooms: 1, RentCents: 650_00}, {Rooms: 4.5, Bedrooms: 2,
			RentCents: 750_00}}},
		{"SUPERBE STUDIO (1½)", nil},
		{"4 1/2 - 1 1/2 salle de bain", nil},
		{"4 1/2 … grand 4 1/2", nil},
		{"", nil},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			if got := prose.ParseUnits(tt.in); !slices.Equal(got, tt.want) {
				t.Errorf("ParseUnits(%q) = %+v; want %+v", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzParseRooms(f *testing.F) {
	for _, s := range []string{"4 1/2", "41/2", "4½ 5½", "4 et demi sous-sol", "9 1\\2 1/2 1/2/1/2", "1,5 salle de bain",
		"deux chambres et 1 bureau", "1 2 3 4 5 $"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range prose.ParseRooms(s) {
			if r < 1.5 || r > 12.5 {
				t.Errorf("ParseRooms(%q) = %g", s, r)
			}
		}
		if n, _, ok := prose.ParseBedrooms(s); n < 0 || n > 18 || !ok && n != 0 {
			t.Errorf("ParseBedrooms(%q) = %d", s, n)
		}
		if b := prose.ParseBathrooms(s); b < 0 || b > 12.5 {
			t.Errorf("ParseBathrooms(%q) = %g", s, b)
		}
		if a := prose.ParseArea(s); a != 0 && (a < listing.MinAreaSqFt || a > listing.MaxAreaSqFt) {
			t.Errorf("ParseArea(%q) = %d", s, a)
		}
		prose.ParseUnits(s)
	})
}
