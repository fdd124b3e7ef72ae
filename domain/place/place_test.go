package place_test

import (
	_ "embed"
	"encoding/json"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/place"
)

//go:embed data/quartiers.geojson
var quartiersJSON []byte

func TestAt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		lat, lon  float64
		key, show string // "" = nowhere
		how       string
	}{
		{"kijiji, 6060 Jean-Talon Est", 45.5879, -73.57814, "saint-leonard-grande-prairie",
			"Grande-Prairie (Saint-Léonard)", place.Quartier},
		{"kijiji, 2125 Saint-Marc: an opaque name", 45.494002, -73.5820276, "ville-marie-montagne",
			"Montagne (Ville-Marie)", place.Quartier},
		{"kijiji, 6280 Northcrest", 45.51195, -73.62514, "cote-des-neiges-notre-dame-de-grace-parc-kent",
			"Parc-Kent (Côte-des-Neiges–Notre-Dame-de-Grâce)", place.Quartier},
		{"centris, avenue L.-O.-David (by hand, about the middle)", 45.5578, -73.6090,
			"villeray-saint-michel-parc-extension-gabriel-sagard",
			"Gabriel-Sagard (Villeray–Saint-Michel–Parc-Extension)", place.Quartier},
		{"a linked city has no borough", 45.4833, -73.5967, "westmount", "Westmount", place.Quartier},
		{"a borough that is one quartier", 45.6050, -73.5550, "anjou", "Anjou", place.Quartier},
		{"the river off Ville-Marie", 45.5115, -73.5285, "ville-marie", "Ville-Marie", place.Borough},
		{"the river off LaSalle", 45.4206, -73.5913, "lasalle", "LaSalle", place.Borough},
		{"the harbour, outside every limit", 45.559315, -73.518083, "mercier-hochelaga-maisonneuve-maisonneuve",
			"Maisonneuve (Mercier–Hochelaga-Maisonneuve)", place.Nearest},
		{"Longueuil", 45.5312, -73.5181, "", "", ""},
		{"Laval", 45.6066, -73.7124, "", "", ""},
		{"Québec", 46.8139, -71.2080, "", "", ""},
		{"latitude and longitude swapped", -73.5820276, 45.494002, "", "", ""},
		{"null island", 0, 0, "", "", ""},
		{"NaN", math.NaN(), -73.6, "", "", ""},
		{"NaN longitude", 45.5, math.NaN(), "", "", ""},
		{"infinite", math.Inf(1), math.Inf(-1), "", "", ""},
		{"out of range", 91, -73.6, "", "", ""},
		{"the pole, where a degree of longitude is nothing", 90, -73.6, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := place.At(tt.lat, tt.lon)
			if got.Key != tt.key || ok != (tt.key != "") || got.Label() != tt.show || got.How != tt.how {
				t.Errorf("At(%v, %v) = %+v, %v; want %q, %q, %q", tt.lat, tt.lon, got, ok, tt.key, tt.show, tt.how)
			}
		})
	}
}

// Nearest means metres, where a degree of longitude is 78 km and one of latitude 111. The distance is measured here on
// a sphere, to every edge there is.
func TestAtNearest(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	all := features(t)
	var near, far int
	for near < 20 || far < 20 {
		shore := all[rnd.IntN(len(all))].Geometry.Coordinates[0][0]
		p := shore[rnd.IntN(len(shore))]
		lat, lon := p[1]+(rnd.Float64()-0.5)*0.006, p[0]+(rnd.Float64()-0.5)*0.008 // within some 300 m
		n, ok := place.At(lat, lon)
		if n.How == place.Quartier || n.How == place.Borough {
			continue
		}
		d, name := distance(all, lat, lon)
		switch {
		case d < place.MaxNearestMetres-1:
			near++
			if !ok || n.How != place.Nearest || n.Name != name {
				t.Errorf("At(%v, %v) = %+v, %v; %q is %.1f m away", lat, lon, n, ok, name, d)
			}
		case d > place.MaxNearestMetres+1:
			far++
			if ok {
				t.Errorf("At(%v, %v) = %+v; the nearest, %q, is %.1f m away", lat, lon, n, name, d)
			}
		}
	}
}

func TestEveryQuartierHoldsItsOwnPoints(t *testing.T) {
	t.Parallel()
	for _, f := range features(t) {
		p := f.Properties
		t.Run(p.Borough+" "+p.Name, func(t *testing.T) {
			t.Parallel()
			largest := slices.MaxFunc(f.Geometry.Coordinates, func(a, b [][][2]float64) int { return len(a[0]) - len(b[0]) })
			for _, polygon := range f.Geometry.Coordinates {
				lat, lon := inner(polygon)
				n, ok := place.At(lat, lon)
				if !ok || n.How != place.Quartier || n.Name != p.Name || n.City != p.City {
					t.Errorf("At(%v, %v) = %+v, %v; want %+v", lat, lon, n, ok, p)
				}
				if len(polygon[0]) < len(largest[0]) {
					continue // islets lie on this side of the limit in one layer, on that side in the other
				}
				if b, ok := place.BoroughAt(lat, lon); !ok || (b.Borough != n.Borough || b.City != n.City) {
					t.Errorf("BoroughAt(%v, %v) = %+v; the quartier layer says %+v", lat, lon, b, n)
				}
			}
		})
	}
}

// Layers drawn by different hands disagree along their limits, and only there.
func TestLayersAgree(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var quartiers, agree int
	for range 50_000 {
		lat, lon := 45.39+rnd.Float64()*0.33, -74.0+rnd.Float64()*0.54
		n, ok := place.At(lat, lon)
		if !ok || n.How != place.Quartier {
			continue
		}
		quartiers++
		if b, ok := place.BoroughAt(lat, lon); ok && b.Borough == n.Borough && b.City == n.City {
			agree++
		}
	}
	if quartiers < 5000 || float64(agree) < 0.995*float64(quartiers) {
		t.Errorf("of %d points in a quartier, %d lie in its borough too; want 99.5 %%", quartiers, agree)
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	all := place.All()
	slug := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	count := map[string]int{}
	for _, n := range all {
		if !slug.MatchString(n.Key) || seen[n.Key] || n.Name == "" || n.City == "" || n.Borough == "N/A" {
			t.Errorf("All holds %+v; want a key of its own, a name and a city", n)
		}
		seen[n.Key] = true
		count[n.How]++
	}
	// 16 of the 19 boroughs are more than one quartier, and L'Île-Dorval belongs to none.
	if count[place.Quartier] != 91 || count[place.Borough] != 17 {
		t.Errorf("All holds %v; want 91 quartiers and 17 boroughs", count)
	}
	if !slices.IsSortedFunc(all, func(a, b place.Neighbourhood) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("All is not sorted by key")
	}
	all[0].Name = "changed"
	require.NotEqual(t, place.All()[0].Name, "changed", "All hands out the table itself")
}

func TestHoles(t *testing.T) {
	t.Parallel()
	square := func(r float64) [][2]float64 { return [][2]float64{{-r, -r}, {r, -r}, {r, r}, {-r, r}, {-r, -r}} }
	polygon := [][][2]float64{square(3), square(2), square(1)} // ground, a lake in it, an island in that
	for _, tt := range []struct {
		name     string
		lat, lon float64
		want     bool
	}{
		{"ground", 2.5, 0, true},
		{"lake", 1.5, 0, false},
		{"lake, level with a corner of the island", 1, 1.5, false},
		{"island", 0, 0, true},
		{"outside", 3.5, 0, false},
		{"outside, level with a corner", 3, 4, false},
	} {
		assert.Equal(t, tt.want, place.InRings(tt.lat, tt.lon, polygon), tt.name)
	}
}

func TestAtAllocatesNothing(t *testing.T) {
	place.At(45.5, -73.6)
	if n := testing.AllocsPerRun(100, func() { place.At(45.5, -73.6); place.At(45.43, -73.5) }); n != 0 {
		t.Errorf("At allocates %v times", n)
	}
}

func FuzzAt(f *testing.F) {
	keys := map[string]place.Neighbourhood{}
	for _, n := range place.All() {
		keys[n.Key] = n
	}
	f.Add(45.5, -73.6)
	f.Add(90.0, 180.0)
	f.Add(math.Inf(-1), math.NaN())
	f.Fuzz(func(t *testing.T, lat, lon float64) {
		n, ok := place.At(lat, lon)
		if !ok {
			if n != (place.Neighbourhood{}) {
				t.Errorf("At(%v, %v) = %+v, false", lat, lon, n)
			}
			return
		}
		want := keys[n.Key]
		if want.How = n.How; n != want {
			t.Errorf("At(%v, %v) = %+v, which All does not hold", lat, lon, n)
		}
		if lat < 45.38 || lat > 45.72 || lon < -74.01 || lon > -73.46 {
			t.Errorf("At(%v, %v) = %+v, far from the island", lat, lon, n)
		}
	})
}

func BenchmarkAt(b *testing.B) {
	place.At(0, 0)
	rnd := rand.New(rand.NewPCG(3, 4))
	sets := map[string][][2]float64{}
	for len(sets["inside"]) < 4096 || len(sets["outside"]) < 4096 {
		p := [2]float64{45.38 + rnd.Float64()*0.34, -74.01 + rnd.Float64()*0.55}
		sets["anywhere"] = append(sets["anywhere"], p)
		where := "outside"
		if _, ok := place.At(p[0], p[1]); ok {
			where = "inside"
		}
		sets[where] = append(sets[where], p)
	}
	for _, name := range []string{"inside", "outside", "anywhere"} {
		b.Run(name, func(b *testing.B) {
			points := sets[name]
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p := points[i%len(points)]
				i++
				place.At(p[0], p[1])
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		place.Load()
	}
}

type feature struct {
	Properties struct {
		Name    string `json:"nom_qr"`
		Borough string `json:"nom_arr"`
		City    string `json:"nom_mun"`
	}
	Geometry struct{ Coordinates [][][][2]float64 }
}

func features(tb testing.TB) []feature {
	tb.Helper()
	var c struct{ Features []feature }
	require.NoError(tb, json.Unmarshal(quartiersJSON, &c))
	require.Len(tb, c.Features, 91)
	return c.Features
}

// inner returns a point in the polygon: the middle of the longest stretch of it on a horizontal line half way up, found
// without the code under test.
func inner(polygon [][][2]float64) (lat, lon float64) {
	south, north := math.Inf(1), math.Inf(-1)
	for _, p := range polygon[0] {
		south, north = min(south, p[1]), max(north, p[1])
	}
	lat = (south + north) / 2
	var xs []float64
	for _, r := range polygon {
		for i := range len(r) - 1 {
			p, q := r[i], r[i+1]
			if (p[1] <= lat) != (q[1] <= lat) {
				xs = append(xs, p[0]+(lat-p[1])/(q[1]-p[1])*(q[0]-p[0]))
			}
		}
	}
	slices.Sort(xs)
	widest := 0.0
	for i := 0; i+1 < len(xs); i += 2 {
		if w := xs[i+1] - xs[i]; w > widest {
			widest, lon = w, xs[i]+w/2
		}
	}
	return lat, lon
}

// distance returns the metres to the nearest quartier and its name.
func distance(all []feature, lat, lon float64) (metres float64, name string) {
	const radius = 6_371_008.8
	my := radius * math.Pi / 180
	mx := my * math.Cos(lat*math.Pi/180)
	metres = math.Inf(1)
	for _, f := range all {
		for _, polygon := range f.Geometry.Coordinates {
			for _, r := range polygon {
				for i := range len(r) - 1 {
					a := complex((r[i][0]-lon)*mx, (r[i][1]-lat)*my)
					b := complex((r[i+1][0]-lon)*mx, (r[i+1][1]-lat)*my)
					if d := segment(a, b); d < metres {
						metres, name = d, f.Properties.Name
					}
				}
			}
		}
	}
	return metres, name
}

// segment returns the distance from the origin to the segment from a to b.
func segment(a, b complex128) float64 {
	if a == b {
		return cmplx.Abs(a)
	}
	t := -real(a*cmplx.Conj(b-a)) / real((b-a)*cmplx.Conj(b-a))
	return cmplx.Abs(a + complex(min(1, max(0, t)), 0)*(b-a))
}
