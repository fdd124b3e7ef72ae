// Package place names the Montréal neighbourhood of a coordinate. It does no I/O: the polygons are in the binary
// (data/README.md names their source; the attribution must stay).
package place

import (
	"math"
	"slices"
	"sync"
)

// MaxNearestMetres is how far outside every polygon a point may lie and still belong to the nearest quartier: a
// geocoder puts an address by the water on the quay or in the river.
const MaxNearestMetres = 150

// How a neighbourhood was found.
const (
	Quartier = "quartier" // inside a housing reference district
	Borough  = "borough"  // inside a borough or linked city only, e.g. on its water
	Nearest  = "nearest"  // outside everything, at most MaxNearestMetres from the quartier named
)

// Neighbourhood is a housing reference district or, where none fits, a borough or a city of the island of Montréal.
type Neighbourhood struct {
	Key     string `json:"key"`               // stable, [a-z0-9-], e.g. "ville-marie-montagne"
	Name    string `json:"name"`              // as the city spells it; may be opaque: show Label
	Borough string `json:"borough,omitempty"` // "" in the linked cities, which have none
	City    string `json:"city"`              // "Montréal" or a linked city, e.g. "Westmount"
	How     string `json:"how"`               // Quartier, Borough or Nearest
}

// Label is the name to show: "Montagne (Ville-Marie)", or the name alone where it is the borough's or the city's.
// Several district names (Centre, Est, Ouest, Montagne) say nothing without their borough.
func (n Neighbourhood) Label() string {
	if n.Borough == "" || n.Borough == n.Name {
		return n.Name
	}
	return n.Name + " (" + n.Borough + ")"
}

// At returns the neighbourhood of a point given in degrees, WGS 84: the quartier it lies in, else the borough or city
// it lies in, else the nearest quartier within MaxNearestMetres. False means none, also for NaN and for coordinates out
// of range. A point on a limit that two areas share belongs to one of them. The first call parses the polygons (about
// 15 ms); the others take about a microsecond and allocate nothing.
func At(lat, lon float64) (Neighbourhood, bool) {
	if !(lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180) { // false for NaN too
		return Neighbourhood{}, false
	}
	m, p := atlas(), point{x: lon, y: lat}
	if n, ok := m.quartiers.at(p); ok {
		return n, true
	}
	if n, ok := m.boroughs.at(p); ok {
		return n, true
	}
	if n, ok := m.quartiers.near(p, MaxNearestMetres); ok {
		n.How = Nearest
		return n, true
	}
	return Neighbourhood{}, false
}

// All returns every neighbourhood that At can return, once each and sorted by Key, to fill a table. How is Quartier or
// Borough: the layer it comes from. The slice is the caller's own.
func All() []Neighbourhood { return slices.Clone(atlas().all) }

// atlas is parsed at the first use, not at the start of every process that links this package.
var atlas = sync.OnceValue(load)

type point struct{ x, y float64 } // longitude, latitude

// layer is a set of areas that do not overlap.
type layer []area

// area is one neighbourhood's ground. Its rings are outer limits and holes alike: by the even-odd rule a point in a
// hole crosses two of them, so it needs no flag.
type area struct {
	Neighbourhood
	box   box
	rings []ring
}

type ring struct {
	box    box
	points []point // first == last
}

type box struct{ min, max point }

func (b box) has(p point) bool {
	return p.x >= b.min.x && p.x <= b.max.x && p.y >= b.min.y && p.y <= b.max.y
}

func (b box) grown(dx, dy float64) box {
	return box{point{b.min.x - dx, b.min.y - dy}, point{b.max.x + dx, b.max.y + dy}}
}

func (b box) and(c box) box {
	return box{
		point{min(b.min.x, c.min.x), min(b.min.y, c.min.y)},
		point{max(b.max.x, c.max.x), max(b.max.y, c.max.y)},
	}
}

func (l layer) at(p point) (Neighbourhood, bool) {
	for i := range l {
		if l[i].box.has(p) && l[i].has(p) {
			return l[i].Neighbourhood, true
		}
	}
	return Neighbourhood{}, false
}

// has counts the limits that a ray from p to the east crosses. An edge owns its southern end only, so neighbours that
// share an edge never both have, nor both miss, a point on it.
func (a *area) has(p point) bool {
	in := false
	for _, r := range a.rings {
		if p.y < r.box.min.y || p.y > r.box.max.y || p.x > r.box.max.x {
			continue
		}
		q := r.points[0]
		for _, s := range r.points[1:] {
			if (q.y > p.y) != (s.y > p.y) && p.x < (s.x-q.x)*(p.y-q.y)/(s.y-q.y)+q.x {
				in = !in
			}
			q = s
		}
	}
	return in
}

// near returns the area whose limit is nearest to p, at most limit metres away. p is outside every area.
func (l layer) near(p point, limit float64) (Neighbourhood, bool) {
	// Metres a degree at this latitude (WGS 84 series); flat is exact enough at this range: millimetres.
	phi := p.y * math.Pi / 180
	my := 111_132.954 - 559.822*math.Cos(2*phi) + 1.175*math.Cos(4*phi)
	mx := 111_412.84*math.Cos(phi) - 93.5*math.Cos(3*phi)
	best, found := limit*limit, -1
	for i := range l {
		if !l[i].box.grown(limit/mx, limit/my).has(p) {
			continue
		}
		for _, r := range l[i].rings {
			if !r.box.grown(limit/mx, limit/my).has(p) {
				continue
			}
			if d := r.squareMetres(p, mx, my); d <= best {
				best, found = d, i
			}
		}
	}
	if found < 0 {
		return Neighbourhood{}, false
	}
	return l[found].Neighbourhood, true
}

// squareMetres is the square of the distance from p to the ring, mx and my being metres a degree.
func (r ring) squareMetres(p point, mx, my float64) float64 {
	best := math.Inf(1)
	qx, qy := (r.points[0].x-p.x)*mx, (r.points[0].y-p.y)*my
	for _, s := range r.points[1:] {
		sx, sy := (s.x-p.x)*mx, (s.y-p.y)*my
		dx, dy := sx-qx, sy-qy
		x, y := qx, qy
		if d := dx*dx + dy*dy; d > 0 {
			t := min(1, max(0, -(qx*dx+qy*dy)/d))
			x, y = qx+t*dx, qy+t*dy
		}
		best = min(best, x*x+y*y)
		qx, qy = sx, sy
	}
	return best
}
