package saved_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/saved"
)

// Places of any size are found, by whichever squares they are filed: what an index finds is what each filter takes.
func TestIndexFindsPlacesOfAnySize(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(3, 4))
	const lat, lon = 45.5, -73.6
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, degrees := range []float64{1e-6, .001, .01, .05, .1, .3, .5, 1, 3, 20, 80} {
		var corners [][]float64
		for i := range saved.MaxCorners {
			a := 2 * math.Pi * float64(i) / saved.MaxCorners
			r := degrees / 2 * (.6 + .4*dice.Float64())
			corners = append(corners, []float64{lon + r*math.Cos(a), lat + r/2*math.Sin(a)})
		}
		h := degrees / 2
		for _, f := range []saved.Criteria{
			{Polygon: corners}, {Polygon: corners, Bedrooms: []int{2}}, {Polygon: corners, Bedrooms: all},
			{Box: []float64{lon - h, lat - h/2, lon + h, lat + h/2}, Bedrooms: all},
			{Near: &saved.Near{Latitude: lat, Longitude: lon, Metres: min(h*111_195, saved.MaxMetres)}},
		} {
			x := saved.NewIndex()
			s := saved.Search{ID: uuid.New(), Name: "x", Filter: f, Kinds: saved.Kinds, State: saved.Active}
			x.Put(s)
			fits, err := f.Fitter()
			require.NoError(t, err)
			in := 0
			for range 400 {
				a, o := lat+(dice.Float64()-.5)*degrees*1.2, lon+(dice.Float64()-.5)*degrees*1.2
				l := saved.Listing{RentCents: 100_000, Bedrooms: dice.IntN(12), Latitude: &a, Longitude: &o}
				found := 0
				x.Meet(&l, nil, func(*saved.Search, bool) { found++ })
				want := 0
				if fits(&l) {
					want = 1
					in++
				}
				require.Equal(t, want, found, "%v degrees, %f %f", degrees, a, o)
			}
			if f.Near == nil || degrees < 2 { // a circle is at most so large
				require.Positive(t, in)
			}
			require.LessOrEqual(t, x.Slots(), 64, "of one search")
			nowhere := saved.Listing{RentCents: 100_000, Bedrooms: 2}
			x.Meet(&nowhere, nil, func(*saved.Search, bool) { require.Fail(t, "it is in no place") })
			x.Remove(s.ID)
			require.Zero(t, x.Slots())
		}
	}
}

// A circle goes on behind the edge of the map, and around a pole.
func TestIndexFindsPlacesBehindTheEdge(t *testing.T) {
	t.Parallel()
	for _, at := range [][4]float64{
		{0, 179.999, 0, -179.999}, {-16.8, -179.99, -16.8, 179.99}, {52, 180, 52, -180}, {52, -180, 52, 179.999},
		{89.99, 0, 89.99, 180}, {-90, 0, -89.995, 123}, {85, 10, 85, 9.9},
	} {
		f := saved.Criteria{Near: &saved.Near{Latitude: at[0], Longitude: at[1], Metres: 3000}}
		fits, err := f.Fitter()
		require.NoError(t, err)
		l := saved.Listing{RentCents: 100_000, Latitude: &at[2], Longitude: &at[3]}
		require.True(t, fits(&l), at)
		x, found := saved.NewIndex(), 0
		x.Put(saved.Search{ID: uuid.New(), Name: "x", Filter: f, Kinds: saved.Kinds, State: saved.Active})
		x.Meet(&l, nil, func(*saved.Search, bool) { found++ })
		require.Equal(t, 1, found, at)
		west, south, east, north, ok := f.Bounds()
		require.True(t, ok && west <= at[3] && at[3] <= east && south <= at[2] && at[2] <= north, at)
	}
}
