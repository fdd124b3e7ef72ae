package prose_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

func TestParseRent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     int64
		class    fault.Class
	}{
		{"french, narrow space", "1\u202f250,50 $ / mois", 125_050, ""},
		{"french, no-break space", "1\u00a0490 $ par mois", 149_000, ""},
		{"english", "$1,250.50 / month", 125_050, ""},
		{"sign before", "$850", 85_000, ""},
		{"apostrophe for thousands", "$1'440", 144_000, ""},
		{"sign glued to the month", "755,00 $par mois", 75_500, ""},
		{"slash and a letter", "760$/M rénové", 76_000, ""},
		{"no sign, per month", "755.00 / m", 75_500, ""},
		{"no sign, after the word for price", "prix 750.00 non chauffe", 75_000, ""},
		{"no sign, after the word for rent", "Loyer: 925", 92_500, ""},
		{"only a number", "1450", 145_000, ""},
		{"only a number with thousands", "1 450", 145_000, ""},
		{"dollars in letters", "900 dollars par mois", 90_000, ""},
		{"stray dot", "900.00.$", 90_000, ""},
		{"two dots", "750..00 $", 75_000, ""},
		{"year before the price", "juillet 2018 800,00 $ par mois", 80_000, ""},
		{"year and full stop before the price", "2018. 610$ par mois", 61_000, ""},
		{"day of the month before the price", "1er juillet 725$", 72_500, ""},
		{"rooms before the price", "3 1/2 660$", 66_000, ""},
		{"rooms with a vulgar fraction", "3½ 660 $", 66_000, ""},
		{"rooms in decimals", "4.5 $850", 85_000, ""},
		{"rooms and thousands", "5 1/2 1 200 $", 120_000, ""},
		{"parking first", "stationnement 59 $, loyer 725 $", 72_500, ""},
		{"indoor parking in english first", "Indoor parking is $59 per month. Rent is $950.", 95_000, ""},
		{"parking after", "745$ et 100$ pour le garage, si désiré", 74_500, ""},
		{"hydro", "hydro 65 $, 815 $ par mois", 81_500, ""},
		{"hydro estimate after", "$870/ mois électricité non comprise moyenne $125/mois", 87_000, ""},
		{"furniture", "660$ (meublé +100$)", 66_000, ""},
		{"lower bound", "À partir de 1315$ par mois.", 131_500, ""},
		{"range", "900-1000$", 90_000, ""},
		{"range with a word", "de 900 à 1000 $ par mois", 90_000, ""},
		{"parking as a feature", "4 1/2 avec stationnement 800$", 80_000, ""},
		{"deposit", "dépôt de 500 $, loyer 900 $", 90_000, ""},
		{"discount", "recevez 500$ de rabais! 1 050 $/mois", 105_000, ""},
		{"per week, french", "159$/semaine", 68_900, ""},
		{"per week, english", "$185 weekly rate", 80_167, ""},
		{"per week or per month", "$300/week or $1100/month", 110_000, ""},
		{"html", "<b>1 250</b>&nbsp;$", 125_000, ""},
		{"the largest", "100 000 $", 10_000_000, ""},
		{"a sale price is not a rent", "425 000 $", 0, fault.Invalid},
		{"an absurd amount", "$1,000,000,000,000", 0, fault.Invalid},
		{"per day", "$50/day or $300/week", 0, fault.Invalid},
		{"on request", " Sur demande", 0, fault.Invalid},
		{"surcharges alone", "PLUS $ 20.00 ET MEUBLE PLUS $ 100.00", 0, fault.Invalid},
		{"nothing", "", 0, fault.Invalid},
		{"zero", "0 $", 0, fault.Invalid},
		{"not a number", "$$$", 0, fault.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := prose.ParseRent(tt.in)
			if class, _ := fault.Of(err); got != tt.want || class != tt.class {
				t.Errorf("ParseRent(%q) = %d, %q; want %d, %q", tt.in, got, class, tt.want, tt.class)
			}
		})
	}
}

func TestParsePrice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		kind     string
		per      string
		from     bool
		low      bool
	}{
		{"on request", " Sur demande", "CONTACT", "", false, false},
		{"please contact", "Please Contact", "CONTACT", "", false, false},
		{"please contact, french", "Veuillez communiquer / contacter", "CONTACT", "", false, false},
		{"swap", " Échange", "SWAP_TRADE", "", false, false},
		{"swap, english", "Swap/Trade", "SWAP_TRADE", "", false, false},
		{"free", "Gratuit", "GIVE_AWAY", "", false, false},
		{"and more", "936.00 $ ET PLUS PAR MOIS", "", "month", true, false},
		{"and up", "$1,050 and up", "", "", true, false},
		{"range with two signs", "850 $ - 950 $", "", "", true, false},
		{"a free month is not a free home", "2 mois gratuits", "", "", false, false},
		{"plus sign", "950$+", "", "", true, false},
		{"as of", "dès 795$/mois", "", "month", true, false},
		{"starting at", "Starting at $1,295 per month", "", "month", true, false},
		{"range of a site", "[2450.0, 2600.0]", "", "", true, false},
		{"one price of a site", "[2450.0, 2450.0]", "", "", false, false},
		{"weekly", "159$/semaines", "", "week", false, false},
		{"per square foot", "$20", "", "", false, true},
		{"placeholder", "1 $", "", "", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := prose.ParsePrice(tt.in)
			if p.Kind != tt.kind || p.Per != tt.per || p.From != tt.from || p.Low != tt.low {
				t.Errorf("ParsePrice(%q) = %+v; want %+v", tt.in, p, tt)
			}
		})
	}
}

func TestParsePriceExtras(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in    string
		what  string
		cents int64
	}{
		{"Indoor parking is $59 per month", "parking", 59_00},
		{"745$ et 100$ pour le garage, si désiré", "parking", 100_00},
		{"stationnement extérieur à 19 $ par mois", "parking", 19_00},
		{"hydro environ 65 $/mois", "electricity", 65_00},
		{"$870/ mois électricité non comprise moyenne $125/mois", "electricity", 125_00},
		{"660$ meublé + 100$", "furnished", 100_00},
		{"dépôt de 500 $", "deposit", 500_00},
		{"500 $ de rabais", "discount", 500_00},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			for _, e := range prose.ParsePrice(tt.in).Extras {
				if e.For == tt.what && e.Cents == tt.cents {
					return
				}
			}
			t.Errorf("ParsePrice(%q).Extras = %+v; want %d for %s", tt.in, prose.ParsePrice(tt.in).Extras, tt.cents, tt.what)
		})
	}
}

func FuzzParseRent(f *testing.F) {
	for _, s := range []string{"1 250,50 $ / mois", "$1,250.50", "3 1/2 660$", "900-1000$", "1,2,3$4 5 6", "$ $ $",
		"99999999999999999999$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := prose.ParseRent(s)
		if err == nil && (v < listing.MinRentCents || v > listing.MaxRentCents) {
			t.Errorf("ParseRent(%q) = %d, outside the range", s, v)
		}
	})
}

// TestYearlyRentalKeepsThePrice: a platform asks for a sum a month, and "yearly" beside it is how the home is let.
func TestYearlyRentalKeepsThePrice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ title, body string }{
		{"$4,200 Yearly Rental, 2 bedrooms", ""},
		{"2 bedrooms", "Rent: $4,200. Annually renewable."},
		{"2 bedrooms", "Yearly rent: $4,200"},
		{"2 bedrooms", "Rent of $4,200 a year"},
	} {
		cents := int64(4200_00)
		l, err := normalize(listing.Raw{Title: tt.title, Description: tt.body,
			Price: listing.RawPrice{AmountCents: &cents}})
		if err != nil || l.RentCents != cents {
			t.Errorf("%q, %q: %d (%v), want the platform's %d", tt.title, tt.body, l.RentCents, err, cents)
		}
	}
	cents := int64(9000_00)
	l, err := normalize(listing.Raw{Title: "2 bedrooms", Description: "Rent of $9,000 a year",
		Price: listing.RawPrice{AmountCents: &cents}})
	if err != nil || l.RentCents != cents {
		t.Errorf("%d (%v), want the platform's own %d", l.RentCents, err, cents)
	}
}
