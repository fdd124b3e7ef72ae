package draft_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// TestBrandInData reads what JSON-LD has for the brand: names, whatever their words, and statements, which are none.
func TestBrandInData(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"Dr. Martens Made in England": true, "The North Face": true, "Marks & Spencer": true, "sans complexe": true,
		"for all mankind": true, "The Museum of Modern Art Design Store": true, "7 For All Mankind": true,
		"With Love and Care": true, "Au Nom de la Rose": true, "See by Chloé": true, "Only & Sons": true,
		"United Colors of Benetton": true, "Haus am Meer": true, "& Other Stories": true,
		"Made In": true, "Made by Mitchell": true, "Made Good": true, "Fear of God": true, "Various Artists": true,
		"Made in Cookware": true, "Hergestellt am Meer": true, "Produced by Nature Farms": true,
		"Feito em Portugal": false, "Manufactured in Ohio": false, "Produit en France": false,
		"various manufacturers": false, "Marque non précisée": false, "Hersteller unbekannt": false,
		"see packaging": false, "siehe Verpackung": false, "voir emballage": false, "Please see the packaging": false,
		"The brand is on the box": false, "Made in Italy": false, "made in the EU": false, "Hergestellt in Deutschland": false,
		"no brand": false, "not available": false, "A lamp of brass for your home and garden": false,
	} {
		page := `<title>Lamp</title><script type="application/ld+json">{"@type":"Product","name":"Lamp","brand":{"@type":"Brand",
			"name":"` + said + `"},"offers":{"@type":"Offer","price":"9.00","priceCurrency":"USD"}}</script><h1>Lamp</h1>`
		d, err := draft.Extract([]byte(page), shop)
		require.NoError(t, err)
		if got, _ := drafttest.Value(d, "brand"); want != (got == said) || !want && got != "" {
			t.Errorf("the brand of %q is %q", said, got)
		}
	}
}
