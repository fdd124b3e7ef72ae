package listing_test

import (
	"math"
	"testing"

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
			if math.Abs(m-59) > 5 {
				t.Errorf("the bounds are %.0f m away; want 54 to 64", m)
			}
		}
	}
}
