package prose_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing/prose"
)

// Prices as sites and people print them, without a sign or with the code of the currency behind it.
func TestPricesAsPrinted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]prose.Price{
		"from 900":                        {Cents: 900_00, From: true},
		"À partir de 1 250":               {Cents: 1250_00, From: true},
		"starting at 1395":                {Cents: 1395_00, From: true},
		"dès 900":                         {Cents: 900_00, From: true},
		"between 850 and 1100":            {Cents: 850_00, From: true},
		"850 à 1100":                      {Cents: 850_00, From: true},
		"850 à 1 100":                     {Cents: 850_00, From: true},
		"1 100 à 1 250":                   {Cents: 1100_00, From: true},
		"entre 850 et 1 100":              {Cents: 850_00, From: true},
		"1 100 - 950":                     {Cents: 950_00, From: true},
		"[1 250, 1 250]":                  {Cents: 1250_00},
		"1 250,50":                        {Cents: 1250_50},
		"[1250 950]":                      {Cents: 950_00, From: true},
		"between $850 and $1100":          {Cents: 850_00, From: true},
		"entre 850 $ et 1100 $":           {Cents: 850_00, From: true},
		"1,250 $ CAD / month":             {Cents: 1250_00, Per: "month"},
		"1 250 $ CAD par mois":            {Cents: 1250_00, Per: "month"},
		"$1,250 CAD":                      {Cents: 1250_00},
		"CA$1,250 pcm":                    {Cents: 1250_00, Per: "month"},
		"1250":                            {Cents: 1250_00},
		"[2450.0, 2450.0]":                {Cents: 2450_00},
		"4 1/2 from 2 people, 3 bedrooms": {},
	} {
		got := prose.ParsePrice(text)
		require.Equal(t, want.Cents, got.Cents, text)
		require.Equal(t, want.From, got.From, text)
		require.Equal(t, want.Per, got.Per, text)
	}
}

func TestDaysThatThereAreNot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-02-28": "2026-02-28", "2024-02-29": "2024-02-29", "29/02/2024": "2024-02-29", "31/12/2026": "2026-12-31",
		"2026-02-30": "", "2026-02-29": "", "31/06/2026": "", "30/02/2026": "", "2026-13-01": "", "2026-07-32": "2026-07",
	} {
		d, ok := prose.ParseDate(text)
		if want == "" {
			require.False(t, ok, text)
			continue
		}
		require.Equal(t, want, d.String(), text)
	}
}

// A unit before a civic number has a hyphen with or without spaces; doors of a row ascend. Half numbers are civic.
func TestCivicNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"302 - 200 Main St, Gatineau QC":            "200|Main St|302",
		"302-200 Main St, Gatineau QC":              "200|Main St|302",
		"200 - 302 Main St, Gatineau QC":            "200+302|Main St|",
		"4500 - 4520 - 4570, 4e Avenue Est, Québec": "4500+4520+4570|4e Avenue Est|",
		"1234 1/2 rue Saint-Denis, Montréal":        "1234 1/2|rue Saint-Denis|",
		"1234½ rue Saint-Denis, Montréal":           "1234 1/2|rue Saint-Denis|",
		"8452-8450 rue Saint-Denis, Montréal":       "8452+8450|rue Saint-Denis|",
		"8452A - 8450A rue Saint-Denis, Montréal":   "8452A+8450A|rue Saint-Denis|",
		"1502-1200 rue Saint-Denis, Montréal":       "1200|rue Saint-Denis|1502",
		"202-200 rue Saint-Denis, Montréal":         "200|rue Saint-Denis|202",
		"3515-53 avenue Lacombe, Montréal, QC":      "3515|avenue Lacombe|53",
		"712-710 rue Saint-Joseph, Québec":          "712+710|rue Saint-Joseph|",
		"12-10 rue Cartier, Québec":                 "12+10|rue Cartier|",
	} {
		a := prose.ParseAddress(text)
		require.Equal(t, want, strings.Join(a.Civic, "+")+"|"+a.Street+"|"+a.Unit, text)
	}
}
