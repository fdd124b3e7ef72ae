package saved_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/saved"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) // 07:00 in Montréal

func TestFitter(t *testing.T) {
	t.Parallel()
	lat, lon := 45.5231, -73.5817
	l := saved.Listing{
		Platform: "kijiji", Neighbourhood: "plateau", RentCents: 145_000, Bedrooms: 2, Latitude: &lat, Longitude: &lon,
		Title: "Grand 4½ ensoleillé", Description: "Près du parc La Fontaine, chauffé", Address: "rue Rachel",
	}
	for name, tt := range map[string]struct {
		filter saved.Criteria
		want   bool
	}{
		"everything":            {saved.Criteria{}, true},
		"its platform":          {saved.Criteria{Platform: "kijiji"}, true},
		"another platform":      {saved.Criteria{Platform: "kangalou"}, false},
		"its rent, inclusive":   {saved.Criteria{MinPrice: 1450, MaxPrice: 1450}, true},
		"a lower rent":          {saved.Criteria{MaxPrice: 1449}, false},
		"other bedrooms":        {saved.Criteria{Bedrooms: []int{1, 3}}, false},
		"at least two bedrooms": {saved.Criteria{MinBedrooms: 2}, true},
		"around it":             {saved.Criteria{Polygon: [][]float64{{-73.6, 45.5}, {-73.5, 45.5}, {-73.55, 45.6}}}, true},
		"beside it":             {saved.Criteria{Polygon: [][]float64{{-73.6, 45.5}, {-73.59, 45.5}, {-73.6, 45.6}}}, false},
		"a circle around it":    {saved.Criteria{Near: &saved.Near{Latitude: 45.5231, Longitude: -73.57, Metres: 1000}}, true},
		"a circle that ends":    {saved.Criteria{Near: &saved.Near{Latitude: 45.5231, Longitude: -73.57, Metres: 900}}, false},
		"a box":                 {saved.Criteria{Box: []float64{-73.6, 45.5, -73.5, 45.6}}, true},
		"words":                 {saved.Criteria{Text: "parc ensoleillé"}, true},
		"a phrase":              {saved.Criteria{Text: `"parc la fontaine"`}, true},
		"another order":         {saved.Criteria{Text: `"fontaine la parc"`}, false},
		"without a word":        {saved.Criteria{Text: "parc -chauffé"}, false},
		"a word that is absent": {saved.Criteria{Text: "piscine"}, false},
	} {
		fits, err := tt.filter.Fitter()
		require.NoError(t, err, name)
		require.Equal(t, tt.want, fits(&l), name)
	}
	for name, f := range map[string]saved.Criteria{
		"two corners":   {Polygon: [][]float64{{-73, 45}, {-74, 45}}},
		"off the earth": {Near: &saved.Near{Latitude: 91, Metres: 1}},
		"upside down":   {MinPrice: 2, MaxPrice: 1},
		"site:":         {Text: "site:example.org"},
	} {
		_, err := f.Fitter()
		require.Error(t, err, name)
	}
}

// The index finds the searches that comparing a listing with each of them finds, and looks at few others.
func TestIndexFindsAll(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	x := saved.NewIndex()
	fits := map[uuid.UUID]func(*saved.Listing) bool{}
	for i := range 3000 {
		var f saved.Criteria
		if dice.IntN(2) == 0 {
			f.MaxPrice = int64(800 + dice.IntN(2000))
		}
		if dice.IntN(2) == 0 {
			f.Bedrooms = []int{dice.IntN(4), dice.IntN(4)}
		}
		lon, lat := -73.9+dice.Float64()*.4, 45.4+dice.Float64()*.3
		switch i % 6 {
		case 0:
			f.Near = &saved.Near{Latitude: lat, Longitude: lon, Metres: 300 + 2000*dice.Float64()}
		case 1:
			f.Box = []float64{lon, lat, lon + .03, lat + .02}
		case 2:
			f.Polygon = [][]float64{{lon, lat}, {lon + .04, lat}, {lon + .02, lat + .03}}
		case 3:
			f.Neighbourhood = fmt.Sprintf("hood-%d", dice.IntN(40))
		case 4:
			f.Text = fmt.Sprintf("balcony beautiful%d", dice.IntN(50))
		}
		s := saved.Search{
			ID: uuid.New(), Name: "x", Filter: f, Kinds: saved.Kinds, State: saved.Active,
		}
		x.Put(s)
		fit, err := f.Fitter()
		require.NoError(t, err)
		fits[s.ID] = fit
	}
	looked := 0
	const listings = 100
	for range listings {
		lon, lat := -73.9+dice.Float64()*.4, 45.4+dice.Float64()*.3
		l := saved.Listing{
			Neighbourhood: fmt.Sprintf("hood-%d", dice.IntN(40)), RentCents: int64(60_000 + dice.IntN(250_000)),
			Bedrooms: dice.IntN(4), Latitude: &lat, Longitude: &lon, Title: fmt.Sprintf("beautiful%d", dice.IntN(50)),
			Description: "with a balcony",
		}
		found := map[uuid.UUID]bool{}
		looked += x.Meet(&l, 0, func(s *saved.Search, _ bool) {
			require.False(t, found[s.ID], "found twice")
			found[s.ID] = true
		})
		for id, fit := range fits {
			require.Equal(t, fit(&l), found[id])
		}
	}
	require.Less(t, looked/listings, 700, "of 3,000")
	for id := range fits {
		x.Remove(id)
	}
	require.Zero(t, x.Len())
}

func TestDue(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		due, err := time.Parse(time.RFC3339, s)
		require.NoError(t, err)
		return due
	}
	for name, tt := range map[string]struct {
		schedule saved.Schedule
		now      time.Time
		want     string
	}{
		"at once":                {saved.Schedule{}, noon, "2026-11-23T12:00:00Z"},
		"the next hour":          {saved.Schedule{Pace: saved.Hourly}, noon.Add(time.Minute), "2026-11-23T13:00:00Z"},
		"today at eight":         {saved.Schedule{Pace: saved.Daily}, noon, "2026-11-23T13:00:00Z"},
		"tomorrow at six":        {saved.Schedule{Pace: saved.Daily, At: "06:00"}, noon, "2026-11-24T11:00:00Z"},
		"in the quiet":           {saved.Schedule{QuietAt: "22:00", QuietTo: "07:30"}, noon, "2026-11-23T12:30:00Z"},
		"before the quiet":       {saved.Schedule{QuietAt: "22:00", QuietTo: "06:30"}, noon, "2026-11-23T12:00:00Z"},
		"in another zone":        {saved.Schedule{QuietAt: "12:00", QuietTo: "14:00", TimeZone: "UTC"}, noon, "2026-11-23T14:00:00Z"},
		"over the end of summer": {saved.Schedule{Pace: saved.Daily}, at("2026-10-31T13:00:00Z"), "2026-11-01T13:00:00Z"},
	} {
		require.NoError(t, tt.schedule.Check(), name)
		require.Equal(t, at(tt.want), tt.schedule.Due(tt.now), name)
	}
	for _, s := range []saved.Schedule{
		{Pace: "weekly"}, {At: "25:00"}, {QuietAt: "22:00"}, {TimeZone: "Mars"}, {TimeZone: "Local"},
	} {
		require.Error(t, s.Check())
	}
}

// Items of one home are told as one.
func TestTogether(t *testing.T) {
	t.Parallel()
	home, other := uuid.New(), uuid.New()
	got := saved.Together([]saved.Item{
		{Events: []int64{1}, Kind: saved.New, Home: home, RentCents: 150_000},
		{Events: []int64{2}, Kind: saved.New, Home: other, RentCents: 90_000},
		{Events: []int64{3}, Kind: saved.PriceDrop, Home: home, RentCents: 140_000, OldRentCents: new(int64(150_000))},
	})
	require.Len(t, got, 2)
	require.Equal(t, []int64{1, 3}, got[0].Events)
	require.Equal(t, saved.New, got[0].Kind)
	require.Equal(t, int64(140_000), got[0].RentCents)
	require.Nil(t, got[0].OldRentCents)
	require.Equal(t, "1,450.50 $", saved.Dollars(145_050))
}
