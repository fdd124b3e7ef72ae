package prose_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want listing.Address
	}{
		{"Montréal, QC H2L 3Z1", listing.Address{City: "Montréal", PostalCode: "H2L 3Z1"}},
		{"Av. Pigeon, Montréal, QC H1G", listing.Address{Street: "Av. Pigeon", City: "Montréal", PostalCode: "H1G"}},
		{"4500 - 4520 - 4570, 4e Avenue Est, QUÉBEC, QC, G1H 3N3", listing.Address{Civic: []string{"4500", "4520", "4570"},
			Street: "4e Avenue Est", City: "Québec", PostalCode: "G1H 3N3"}},
		{"400 Rue de l'Érablière, Beaupré, QC G0A 1E0, Canada", listing.Address{Civic: []string{"400"},
			Street: "Rue de l'Érablière", City: "Beaupré", PostalCode: "G0A 1E0"}},
		{"3515-53 avenue Lacombe, Montréal, QC, H3T 1M2", listing.Address{Civic: []string{"3515"}, Unit: "53",
			Street: "avenue Lacombe", City: "Montréal", PostalCode: "H3T 1M2"}},
		{"53-3515 avenue Lacombe, Montréal", listing.Address{Civic: []string{"3515"}, Unit: "53", Street: "avenue Lacombe",
			City: "Montréal"}},
		{"4500-4520 rue Sherbrooke Ouest, Montréal", listing.Address{Civic: []string{"4500", "4520"},
			Street: "rue Sherbrooke Ouest", City: "Montréal"}},
		{"1885 Avenue Maufils #1, Ville de Québec, QC G1J 4J5, Canada", listing.Address{Civic: []string{"1885"}, Unit: "1",
			Street: "Avenue Maufils", City: "Québec", PostalCode: "G1J 4J5"}},
		{"900 rue Laudance, app. 101, Québec", listing.Address{Civic: []string{"900"}, Unit: "101", Street: "rue Laudance",
			City: "Québec"}},
		{"8535 Gordon Ave Unit 301, Fort McMurray, AB T9H 0B7, Canada", listing.Address{Civic: []string{"8535"}, Unit: "301",
			Street: "Gordon Ave", City: "Fort McMurray", PostalCode: "T9H 0B7"}},
		{"576 115e Rue, Ville de Québec, QC G1C 3H2, Canada", listing.Address{Civic: []string{"576"}, Street: "115e Rue",
			City: "Québec", PostalCode: "G1C 3H2"}},
		{"6060 Rue Jean Talon Est, St Leonard, Quebec H1S 3A9", listing.Address{Civic: []string{"6060"},
			Street: "Rue Jean Talon Est", City: "Saint-Léonard", PostalCode: "H1S 3A9"}},
		{"6280 Northcrest, Montreal, QC, H3S 2N1", listing.Address{Civic: []string{"6280"}, Street: "Northcrest",
			City: "Montréal", PostalCode: "H3S 2N1"}},
		{"1234A rue Saint-Denis, Montréal, QC H2X3K1", listing.Address{Civic: []string{"1234A"}, Street: "rue Saint-Denis",
			City: "Montréal", PostalCode: "H2X 3K1"}},
		{"Québec, QC", listing.Address{City: "Québec"}},
		{"1234 rue Saint-Denis Montréal (Québec) H2J 2L1", listing.Address{Civic: []string{"1234"},
			Street: "rue Saint-Denis", City: "Montréal", PostalCode: "H2J 2L1"}},
		{"12 rue des Pins (Québec)", listing.Address{Civic: []string{"12"}, Street: "rue des Pins"}},
		{"12 rue des Pins (Beauport) (Québec)", listing.Address{Civic: []string{"12"}, Street: "rue des Pins",
			City: "Beauport"}},
		{"9, 11 et 13, rue des Pins, Lévis", listing.Address{Civic: []string{"9", "11", "13"}, Street: "rue des Pins",
			City: "Lévis"}},
		{"4100 4110 4120 boulevard Hamel, Québec", listing.Address{Civic: []string{"4100", "4110", "4120"},
			Street: "boulevard Hamel", City: "Québec"}},
		{"Le Cartier, 10 au 20 rue des Pins, Laval", listing.Address{Civic: []string{"10", "20"}, Street: "rue des Pins",
			City: "Laval"}},
		{"Montréal, 12 rue des Pins", listing.Address{Civic: []string{"12"}, Street: "rue des Pins", City: "Montréal"}},
		{"110 125 Street, Edmonton", listing.Address{Civic: []string{"110"}, Street: "125 Street", City: "Edmonton"}},
		{"1 - 6030 boul. Chevrier, Brossard", listing.Address{Civic: []string{"6030"}, Unit: "1", Street: "boul. Chevrier",
			City: "Brossard"}},
		{"101-791 Goldstream Ave, Victoria, British Columbia", listing.Address{Civic: []string{"791"}, Unit: "101",
			Street: "Goldstream Ave", City: "Victoria"}},
		{"101, 110 Country Hills Landing NW, Calgary, Alberta T3K 5P3", listing.Address{Civic: []string{"110"}, Unit: "101",
			Street: "Country Hills Landing NW", City: "Calgary", PostalCode: "T3K 5P3"}},
		{"103 1485 Garnet Rd, Saanich", listing.Address{Civic: []string{"1485"}, Unit: "103", Street: "Garnet Rd",
			City: "Saanich"}},
		{"102A-1644 Hillside Ave, Victoria", listing.Address{Civic: []string{"1644"}, Unit: "102A", Street: "Hillside Ave",
			City: "Victoria"}},
		{"C - 6971 ch. Côte-de-Liesse, Saint-Laurent", listing.Address{Civic: []string{"6971"}, Unit: "C",
			Street: "ch. Côte-de-Liesse", City: "Saint-Laurent"}},
		{"#10, 6020 - 1A Street S.W.|CALGARY, Alberta T2H0G3", listing.Address{Civic: []string{"6020"}, Unit: "10",
			Street: "1A Street S.W", City: "Calgary", PostalCode: "T2H 0G3"}},
		{"1200 Rue St-Alexandre|#630|Montréal (Ville-Marie), Quebec H3B3H5", listing.Address{Civic: []string{"1200"},
			Unit: "630", Street: "Rue St-Alexandre", City: "Montréal", PostalCode: "H3B 3H5"}},
		{"Rue Sherbrooke - 12 minutes du métro", listing.Address{Street: "Rue Sherbrooke-12 minutes du métro"}},
		{"3-15 rue Principale", listing.Address{Civic: []string{"15"}, Unit: "3", Street: "rue Principale"}},
		{"9-11 rue Principale", listing.Address{Civic: []string{"9", "11"}, Street: "rue Principale"}},
		{"Le Duke - 790 rue William, Montréal, QC", listing.Address{Civic: []string{"790"}, Street: "rue William",
			City: "Montréal"}},
		{"150-156 rue Wharf, Hudson", listing.Address{Civic: []string{"150", "156"}, Street: "rue Wharf", City: "Hudson"}},
		{"3491 4e Ave. App.01, Québec", listing.Address{Civic: []string{"3491"}, Unit: "01", Street: "4e Ave.",
			City: "Québec"}},
		{"City of Montréal", listing.Address{City: "Montréal"}},
		{"", listing.Address{}},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got := prose.ParseAddress(tt.in)
			assert.Equal(t, tt.in, got.Text)
			if !slices.Equal(got.Civic, tt.want.Civic) || got.Unit != tt.want.Unit || got.Street != tt.want.Street ||
				got.City != tt.want.City || got.PostalCode != tt.want.PostalCode {
				t.Errorf("ParseAddress(%q) = %+v; want %+v", tt.in, got, tt.want)
			}
		})
	}
}

func TestAddressIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in       string
		headline bool
		civic    string
		unit     string
		street   string
	}{
		{"LE BARON II6060 Rue Jean Talon Est, St Leonard, Quebec H1S 3A9", false, "6060", "", "Rue Jean Talon Est"},
		{"5 1/2 À LOUER STYLE CONDO/VILLERAY (7078 CLARK) 1er JUILLET 2026", true, "7078", "", "Clark"},
		{"250 Joseph-Isabelle - 4.5", true, "250", "", "Joseph-Isabelle"},
		{"1025 Chauvigny - 4.5", true, "1025", "", "Chauvigny"},
		{"5 1/2 à louer au 900 rue Laudance #101", true, "900", "101", "rue Laudance"},
		{"4 1/2 à louer au 2200 avenue Chapdelaine, Ville De Québec", true, "2200", "", "avenue Chapdelaine"},
		{"situé au 121 rue d'Orléans, à beauport", false, "121", "", "rue d'Orléans"},
		{"4 1/2 - 800 Pieds carrés", true, "", "", ""},
		{"3 1/2 JUILLET 2018 Limoilou", true, "", "", ""},
		{"850$ Beauport", true, "", "", ""},
		{"à 5 minutes de la rue Cartier", false, "", "", ""},
		{"Located at 55 Charles Street West, near Bloor", false, "55", "", "Charles Street West"},
		{"Nos logements du 118, 120 et 122 rue Aylwin", false, "118", "", "rue Aylwin"},
		{"Logement au 6245 (haut) rue Chabot", false, "6245", "", "rue Chabot"},
		{"Steps to 100 Queen Street West", false, "", "", ""},
		{"Only 5 Minutes To Park Avenue", false, "", "", ""},
		{"2 Bedrooms On Main Street", false, "", "", ""},
		{"12, 14 et 3 chambres", false, "", "", ""},
		{"", true, "", "", ""},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			a, ok := prose.AddressIn(tt.in, tt.headline)
			civic := ""
			if len(a.Civic) > 0 {
				civic = a.Civic[0]
			}
			if ok != (tt.civic != "") || civic != tt.civic || a.Unit != tt.unit || a.Street != tt.street {
				t.Errorf("AddressIn(%q) = %+v, %t; want %q %q %q", tt.in, a, ok, tt.civic, tt.unit, tt.street)
			}
		})
	}
}

func FuzzParseAddress(f *testing.F) {
	for _, s := range []string{"3515-53 avenue Lacombe, Montréal, QC, H3T 1M2", "4500 - 4520, 4e", "#", "H1H1H1", "- - -",
		"1 - 2 - 3", "ville de", "12 # 3 # 4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a := prose.ParseAddress(s)
		if len(a.Civic) > 20 || len(a.PostalCode) > 7 {
			t.Errorf("ParseAddress(%q) = %+v", s, a)
		}
		prose.AddressIn(page.Line(s), true)
		prose.AddressIn(page.Line(s), false)
	})
}
