package find_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/find"
	"github.com/mtlrent/conveyor/domain/listing"
)

var platforms = []string{"kijiji", "centris"}

func of(platform, name string) uuid.UUID {
	return listing.Ref{Platform: platform, PlatformID: name}.ID()
}

func TestParse(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("6f1d1a0e-9c58-5c7e-8d7c-0b5a7f3f2c11")
	for _, tt := range []struct {
		name, typed string
		want        find.Query
	}{
		{"nothing", "  ", find.Query{}},
		{"an ID", " " + strings.ToUpper(id.String()) + "\n", find.Query{Text: strings.ToUpper(id.String()), IDs: []uuid.UUID{id}}},
		{"a number", "#8812", find.Query{
			Text: "#8812", Number: 8812, Words: true, Adverts: []uuid.UUID{of("kijiji", "#8812"), of("centris", "#8812")},
		}},
		{"no number has so many digits", strings.Repeat("9", 19), find.Query{
			Text: strings.Repeat("9", 19), Words: true,
			Adverts: []uuid.UUID{of("kijiji", strings.Repeat("9", 19)), of("centris", strings.Repeat("9", 19))},
		}},
		{"words", "3650  rue Saint-Denis ", find.Query{Text: "3650 rue Saint-Denis", Words: true}},
		{"the workflow of an advert", "listing/kijiji/1668602387", find.Query{
			Text: "listing/kijiji/1668602387", Workflow: "listing/kijiji/1668602387",
			Adverts: []uuid.UUID{of("kijiji", "1668602387")},
		}},
		{"the workflow of a draft", "draft/" + id.String(), find.Query{
			Text: "draft/" + id.String(), Workflow: "draft/" + id.String(), IDs: []uuid.UUID{id},
		}},
		{"the workflow of a crawl", "crawl-run/14", find.Query{Text: "crawl-run/14", Workflow: "crawl-run/14", Number: 14}},
		{"the workflow of a platform", "scrape/kijiji", find.Query{Text: "kijiji", Workflow: "scrape/kijiji", Words: true}},
		{"an address that cannot be read", "https://[", find.Query{Text: "https://[", URL: "https://["}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, find.Parse(tt.typed, platforms))
		})
	}
}

// The address of an advert names it, wherever its ID stands.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]uuid.UUID{
		"https://www.kijiji.ca/v-apartments-condos/x/le-plateau/1668602387?utm_source=a#b": of("kijiji", "1668602387"),
		"https://www.centris.ca/en/condos~for-rent~montreal/12345678":                      of("centris", "12345678"),
		"HTTPS://rentals.example/montreal/id-778":                                          of("centris", "778"),
	} {
		q := find.Parse(address, platforms)
		require.Contains(t, q.Adverts, want, address)
		require.Equal(t, address, q.URL)
		require.NotEmpty(t, q.Key)
		require.LessOrEqual(t, len(q.Adverts), 24)
	}
	require.Len(t, find.Parse("https://a.example/"+strings.Repeat("1/2/3/x4/", 400), platforms).Adverts, 10)
	require.Len(t, find.Parse("https://a.example/1/2/3/4/5/6/7/8/9/10/11/12/13/14", platforms).Adverts, 24)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "https://a/1", "listing/a/b", "draft/", "#1", "\xff\x00", "a b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := find.Parse(s, platforms)
		if len(q.Adverts) > 24 || len(q.IDs) > 1 || q.Number < 0 {
			t.Errorf("Parse(%q) = %+v", s, q)
		}
	})
}
