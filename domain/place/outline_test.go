package place_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/place"
)

// Each district keeps its ground, with a tenth of its points.
func TestOutlines(t *testing.T) {
	t.Parallel()

	points := 0
	for _, o := range place.Outlines() {
		assert.NotEmpty(t, o.Polygons, o.Key)
		for _, polygon := range o.Polygons {
			for _, ring := range polygon {
				points += len(ring)
				if len(ring) < 4 || ring[0] != ring[len(ring)-1] {
					t.Errorf("%s has a ring that is not closed: %v", o.Key, ring)
				}
			}
		}
	}
	if n := len(place.Outlines()); n != 91 || points < 1500 || points > 6000 {
		t.Errorf("there are %d outlines of %d points", n, points)
	}
	for key, at := range map[string][2]float64{
		"saint-leonard-grande-prairie": {45.5879, -73.57814}, "ville-marie-montagne": {45.494002, -73.5820276},
		"westmount": {45.4833, -73.5967},
	} {
		for _, o := range place.Outlines() {
			in := false
			for _, polygon := range o.Polygons {
				in = in || place.InRings(at[0], at[1], polygon)
			}
			if in != (o.Key == key) {
				t.Errorf("%v is in %s: %v", at, o.Key, in)
			}
		}
	}
}
