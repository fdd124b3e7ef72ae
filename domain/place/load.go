package place

import (
	_ "embed" // the polygons
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed data/quartiers.geojson
var quartiersJSON []byte

//go:embed data/boroughs.geojson
var boroughsJSON []byte

const montreal = "Montréal"

type maps struct {
	quartiers, boroughs layer
	all                 []Neighbourhood
}

// collection is as much of GeoJSON as the two files use: MultiPolygons, as polygon, ring, point, [lon, lat].
type collection[P any] struct {
	Features []struct {
		Properties P
		Geometry   struct {
			Type        string
			Coordinates [][][][2]float64
		}
	}
}

type quartierProps struct {
	Name    string `json:"nom_qr"`
	Borough string `json:"nom_arr"` // "N/A" in the linked cities
	City    string `json:"nom_mun"`
}

func (p quartierProps) neighbourhood() Neighbourhood {
	if p.Borough == "N/A" {
		p.Borough = ""
	}
	return Neighbourhood{Name: p.Name, Borough: p.Borough, City: p.City, How: Quartier}
}

type boroughProps struct {
	Name string `json:"NOM"`
	Type string `json:"TYPE"` // "Arrondissement" or "Ville liée"
}

// load parses both layers. It panics on bad data, which only a bad build can hold.
func load() maps {
	var (
		m     maps
		spell = map[string]string{} // slug → the spelling of the quartier layer, which has the right dashes
		byKey = map[string]bool{}
		add   = func(l layer, n Neighbourhood, polygons [][][][2]float64) layer {
			n.Key = key(n)
			if !byKey[n.Key] {
				byKey[n.Key] = true
				m.all = append(m.all, n)
			}
			return append(l, newArea(n, polygons))
		}
	)
	for _, f := range parse[quartierProps](quartiersJSON).Features {
		n := f.Properties.neighbourhood()
		for _, name := range []string{n.Borough, n.City} {
			spell[slug(name)] = name
		}
		m.quartiers = add(m.quartiers, n, f.Geometry.Coordinates)
	}
	for _, f := range parse[boroughProps](boroughsJSON).Features {
		n := Neighbourhood{Name: f.Properties.Name, How: Borough}
		if s, ok := spell[slug(n.Name)]; ok {
			n.Name = s
		}
		if n.City = n.Name; f.Properties.Type == "Arrondissement" {
			n.Borough, n.City = n.Name, montreal
		}
		m.boroughs = add(m.boroughs, n, f.Geometry.Coordinates)
	}
	slices.SortFunc(m.all, func(a, b Neighbourhood) int { return strings.Compare(a.Key, b.Key) })
	return m
}

func parse[P any](data []byte) collection[P] {
	var c collection[P]
	if err := json.Unmarshal(data, &c); err != nil {
		panic(fmt.Sprintf("place: parse embedded polygons: %v", err))
	}
	return c
}

func newArea(n Neighbourhood, polygons [][][][2]float64) area {
	a := area{Neighbourhood: n}
	for _, polygon := range polygons {
		for _, coordinates := range polygon {
			r := ring{points: make([]point, len(coordinates))}
			for i, c := range coordinates {
				p := point{x: c[0], y: c[1]}
				if r.points[i] = p; i == 0 {
					r.box = box{p, p}
				}
				r.box = r.box.and(box{p, p})
			}
			if len(a.rings) == 0 {
				a.box = r.box
			}
			a.box = a.box.and(r.box)
			a.rings = append(a.rings, r)
		}
	}
	if len(a.rings) == 0 {
		panic(fmt.Sprintf("place: %q has no polygon", n.Name))
	}
	return a
}

// key is the slug of the borough and the name, or of the name alone where they are one: so the quartier Anjou and the
// borough Anjou, which are the same ground, have the same key.
func key(n Neighbourhood) string {
	if n.Borough == "" || n.Borough == n.Name {
		return slug(n.Name)
	}
	return slug(n.Borough + "-" + n.Name)
}

// slug folds case, accents, dashes and everything else that is written differently by different hands.
func slug(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(s)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r): // an accent
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}
