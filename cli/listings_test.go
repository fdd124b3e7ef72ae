package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

func TestListingsExportPath(t *testing.T) {
	t.Parallel()
	c := listingsExportCmd{
		Format: "csv", Status: "active", homeFlags: homeFlags{MaxPrice: 900, Bedrooms: []int{0, 2}}, BBox: "-74,45,-73,46",
		Text: "près du métro",
	}
	require.Equal(t, "/listings/export?bbox=-74%2C45%2C-73%2C46&bedrooms=0%2C2&format=csv&max_price=900&status=active"+
		"&text=pr%C3%A8s+du+m%C3%A9tro", c.path())
}

func TestPrintRents(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printRents(&b, apilistings.Rents{Groups: []apilistings.RentGroup{
		{From: noon, Place: "Anjou", Bedrooms: 2, Listings: 12, LowCents: 120_000, MidCents: 140_050, HighCents: 1_500_00},
		{From: noon, Bedrooms: 0, Listings: 5, LowCents: 90_000, MidCents: 95_000, HighCents: 100_000},
	}}))
	require.Equal(t, `FROM        PLACE  BEDROOMS  LISTINGS  LOW     MEDIAN  HIGH
2026-11-21  Anjou  2         12        1200 $  1400 $  1500 $
2026-11-21  –      0         5         900 $   950 $   1000 $
`, b.String())
}

func TestClaim(t *testing.T) {
	t.Parallel()
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Method + " " + r.URL.EscapedPath()
		_, _ = w.Write([]byte(`{"listing_id":"814f8a0d-a910-5984-8259-78f1a467e73c","claimed":true,"changed":` +
			map[bool]string{true: "true", false: "false"}[strings.HasSuffix(r.URL.Path, "/claim")] + `}`))
	}))
	defer s.Close()
	for verb, want := range map[string]string{
		"claim":   "kijiji/17 (listing 814f8a0d-a910-5984-8259-78f1a467e73c): claimed\n",
		"unclaim": "kijiji/17 (listing 814f8a0d-a910-5984-8259-78f1a467e73c): was unclaimed already\n",
	} {
		var b strings.Builder
		a := advertArg{Advert: "kijiji/17"}
		require.NoError(t, a.set(t.Context(), Client{URL: s.URL}, verb, &b))
		require.Equal(t, want, b.String())
		require.Equal(t, "POST /listings/kijiji/17/"+verb, asked)
	}
	for _, bad := range []string{"kijiji", "/1", "kijiji/", "kijiji/1/2"} {
		require.Error(t, (&advertArg{Advert: bad}).Validate(), bad)
	}
}

// A table without rows is words on standard error, and not a head on standard output. Not parallel: see printed.
func TestEmptyTables(t *testing.T) {
	url := serve(t, func(string) any { return "{}" })
	for _, line := range []string{"listings rents", "listings reasons", "platforms list", "platforms search list kijiji"} {
		require.Empty(t, printed(t, func() error { return run(t, url, strings.Fields(line)...) }), line)
		require.NotEmpty(t, printed(t, func() error { return run(t, url, append(strings.Fields(line), "--json")...) }), line)
	}
}

// What no rent can be is for the API to refuse; it was left out, so that everything was exported.
func TestNegativeFilters(t *testing.T) {
	t.Parallel()
	c := listingsExportCmd{homeFlags: homeFlags{MaxPrice: -3, MinArea: -1}}
	require.Contains(t, c.path(), "max_price=-3")
	require.Contains(t, c.path(), "min_area=-1")
	require.NotContains(t, c.path(), "min_price")
}
