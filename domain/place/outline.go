package place

import (
	"math"
	"sync"
)

// outlineMetres is how far a simplified limit may lie from the true one.
const outlineMetres = 20

// An Outline is the ground of a housing reference district, simplified for drawing: At does not use it.
type Outline struct {
	Neighbourhood
	Polygons [][][][2]float64 // as a MultiPolygon of GeoJSON: polygon, ring, point, [longitude, latitude]
}

// Outlines are the districts that cover the island, without the boroughs behind them. The first call takes some tens of
// milliseconds. They must not be changed.
var Outlines = sync.OnceValue(func() (out []Outline) {
	for _, f := range parse[quartierProps](quartiersJSON).Features {
		n := f.Properties.neighbourhood()
		n.Key = key(n)
		o := Outline{Neighbourhood: n}
		for _, polygon := range f.Geometry.Coordinates {
			var rings [][][2]float64
			for i, ring := range polygon {
				r := simplified(ring)
				if len(r) >= 4 {
					rings = append(rings, r)
				} else if i == 0 { // an islet of less than 20 metres, and its holes
					break
				}
			}
			if len(rings) > 0 {
				o.Polygons = append(o.Polygons, rings)
			}
		}
		out = append(out, o)
	}
	return out
})

// simplified leaves out points of a closed ring that are within outlineMetres of the line without them, by Douglas and
// Peucker, and rounds the others to a metre. A ring that is smaller than that has fewer than four points left.
func simplified(ring [][2]float64) [][2]float64 {
	if len(ring) < 4 {
		return nil
	}
	far, most := 0, 0.0 // the ring is cut where it is widest: its ends are one point
	for i, p := range ring {
		if d := metres(ring[0], p); d > most {
			far, most = i, d
		}
	}
	keep := make([]bool, len(ring))
	keep[0], keep[far], keep[len(ring)-1] = true, true, true
	reduce(ring, keep, 0, far)
	reduce(ring, keep, far, len(ring)-1)
	var out [][2]float64
	for i, p := range ring {
		if keep[i] {
			out = append(out, [2]float64{math.Round(p[0]*1e5) / 1e5, math.Round(p[1]*1e5) / 1e5})
		}
	}
	return out
}

// reduce marks the points between two that have to stay.
func reduce(ring [][2]float64, keep []bool, from, to int) {
	worst, most := 0, float64(outlineMetres)
	for i := from + 1; i < to; i++ {
		if d := offLine(ring[from], ring[to], ring[i]); d > most {
			worst, most = i, d
		}
	}
	if worst > 0 {
		keep[worst] = true
		reduce(ring, keep, from, worst)
		reduce(ring, keep, worst, to)
	}
}

// plane is a point in metres, near enough on an island.
func plane(p [2]float64) (x, y float64) {
	const degree = 111_195
	return p[0] * degree * 0.7015, p[1] * degree // the cosine of 45.45°
}

func metres(a, b [2]float64) float64 { return offLine(a, a, b) }

// offLine is the distance of p from the line between a and b.
func offLine(a, b, p [2]float64) float64 {
	ax, ay := plane(a)
	bx, by := plane(b)
	px, py := plane(p)
	dx, dy := bx-ax, by-ay
	t := 0.0
	if l := dx*dx + dy*dy; l > 0 {
		t = max(0, min(1, ((px-ax)*dx+(py-ay)*dy)/l))
	}
	return math.Hypot(px-ax-t*dx, py-ay-t*dy)
}
