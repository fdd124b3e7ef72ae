package listing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/listing"
)

func TestHomeBounds(t *testing.T) {
	t.Parallel()
	lat, lon := 45.5, -73.6
	if _, ok := listing.HomeBounds(listing.Listing{RentCents: 100_000, Latitude: &lat}); ok {
		t.Error("a home without a longitude has bounds")
	}
	for _, tt := range []struct{ rent, low, high int64 }{
		{100_000, 90_000, 110_000},
		{123_456, 111_110, 135_801}, // cents are cut off
		{0, 0, 0},
	} {
		got, ok := listing.HomeBounds(listing.Listing{RentCents: tt.rent, Bedrooms: 2, Latitude: &lat, Longitude: &lon})
		want := listing.Bounds{South: lat - 0.0005, North: lat + 0.0005, West: lon - 0.0008, East: lon + 0.0008,
			MinRentCents: tt.low, MaxRentCents: tt.high, Bedrooms: 2}
		if !ok || got != want {
			t.Errorf("HomeBounds of a home for %d = %+v, %t; want %+v", tt.rent, got, ok, want)
		}
		for _, m := range []float64{
			listing.Metres(lat, lon, got.North, lon), listing.Metres(lat, lon, lat, got.East),
		} {
			assert.LessOrEqual(t, math.Abs(m-59), 5.0, m)
		}
	}
}

// No listing beyond the bounds is the same home, wherever on earth.
func TestSameHomeBounds(t *testing.T) {
	t.Parallel()

	for _, lat := range []float64{0, 45.5, -45.5, 69} {
		lon := -73.6
		l := listing.Listing{RentCents: 100_000, Latitude: &lat, Longitude: &lon}
		b := listing.SameHomeBounds(l)
		for _, p := range [][2]float64{{b.South, lon}, {b.North, lon}, {lat, b.West}, {lat, b.East}} {
			if m := listing.Metres(lat, lon, p[0], p[1]); m <= 30 || m > 31 {
				t.Errorf("a side of the bounds at %g is %g m away, want 30 to 31", lat, m)
			}
		}
	}
	lat, lon := 90.0, 0.0
	if b := listing.SameHomeBounds(listing.Listing{Latitude: &lat, Longitude: &lon}); b.East < 180 || b.West > -180 {
		t.Errorf("bounds at the pole = %+v, want any longitude", b)
	}
}
