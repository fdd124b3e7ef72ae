package place

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
)

// Limits on files of places, and on what is said of them.
const (
	MaxPointsFile = 32 << 20 // bytes of one file
	MaxPoints     = 50_000   // places of one kind
	NearMetres    = 2_000    // straight distance beyond which a place is not near
	NearCount     = 3        // places of a kind that are named
)

// Points are the places of several kinds. A nil one has none.
type Points struct {
	Sets        []Set  // in the order in which their kinds are named
	Attribution string // whose data they are, and their licence: to be shown wherever a place is
}

// A Set is the places of one kind: metro, school …
type Set struct {
	Kind   string
	points []named // by latitude
}

type named struct {
	point
	name string
}

// Len is the number of places.
func (s Set) Len() int { return len(s.points) }

// Near returns the NearCount nearest places of each kind within NearMetres of a point in degrees, WGS 84, by kind and
// distance. Several places of one name and kind, such as the entrances of a station, count as the nearest of them.
func (p *Points) Near(lat, lon float64) []listing.Nearby {
	if p == nil || !(lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180) {
		return nil
	}
	var out []listing.Nearby
	for _, set := range p.Sets {
		out = append(out, set.near(point{x: lon, y: lat})...)
	}
	return out
}

func (s Set) near(p point) []listing.Nearby {
	reach := float64(NearMetres) / listing.MetresPerDegree
	from, _ := slices.BinarySearchFunc(s.points, p.y-reach, func(n named, y float64) int {
		if n.y < y {
			return -1
		}
		return 1
	})
	nearest := map[string]int{}
	for _, n := range s.points[from:] {
		if n.y > p.y+reach {
			break
		}
		d := int(math.Round(listing.Metres(p.y, p.x, n.y, n.x)))
		if known, ok := nearest[n.name]; d <= NearMetres && (!ok || d < known) {
			nearest[n.name] = d
		}
	}
	list := make([]listing.Nearby, 0, len(nearest))
	for name, d := range nearest {
		list = append(list, listing.Nearby{Kind: s.Kind, Name: name, Metres: d})
	}
	slices.SortFunc(list, func(a, b listing.Nearby) int {
		if a.Metres != b.Metres {
			return a.Metres - b.Metres
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list[:min(len(list), NearCount)]
}

// ReadPoints reads a file of places: a GeoJSON FeatureCollection of points whose properties have a name, or a CSV file
// with a header that names the columns of name, latitude and longitude (also those of stops.txt of GTFS). Degrees are
// WGS 84. Places without a name, other geometries, and rows whose coordinates are none are skipped; a file without any
// place, or with more than MaxPoints, is an error.
func ReadPoints(kind string, data []byte) (Set, error) {
	s := Set{Kind: kind}
	read := s.csv
	if trimmed := bytes.TrimLeft(data, "\ufeff \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		read, data = s.geoJSON, trimmed
	}
	if err := read(data); err != nil {
		return Set{}, fmt.Errorf("read places of kind %s: %w", kind, err)
	}
	switch n := len(s.points); {
	case n == 0:
		return Set{}, fmt.Errorf("read places of kind %s: there are none", kind)
	case n > MaxPoints:
		return Set{}, fmt.Errorf("read places of kind %s: there are %d, the most is %d", kind, n, MaxPoints)
	}
	slices.SortFunc(s.points, func(a, b named) int {
		if a.y != b.y {
			if a.y < b.y {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return s, nil
}

func (s *Set) add(name string, lon, lat float64) {
	name, _ = page.Clean(name, false)
	name, _ = page.Cut(strings.TrimSpace(name), 120)
	if name != "" && lat >= -90 && lat <= 90 && lon >= -180 && lon <= 180 && (lat != 0 || lon != 0) {
		s.points = append(s.points, named{point{x: lon, y: lat}, name})
	}
}

// nameKeys are the properties and columns that hold a name, the best first; so are latKeys and lonKeys.
var (
	nameKeys = []string{"name", "nom", "stop_name", "station", "nom_officiel", "nom_etab", "nom_immeuble", "nom_offic",
		"nom_offcl"}
	latKeys = []string{"lat", "latitude", "stop_lat", "y"}
	lonKeys = []string{"lon", "lng", "long", "longitude", "stop_lon", "x"}
)

func (s *Set) geoJSON(data []byte) error {
	var doc struct {
		Type     string
		Features []struct {
			Properties map[string]any
			Geometry   struct {
				Type        string
				Coordinates json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	if doc.Type != "FeatureCollection" {
		return fmt.Errorf("it is a GeoJSON %.40q, expected a FeatureCollection", doc.Type)
	}
	for _, f := range doc.Features {
		var at []float64
		if f.Geometry.Type != "Point" || json.Unmarshal(f.Geometry.Coordinates, &at) != nil || len(at) < 2 {
			continue
		}
		values := map[string]string{}
		for key, value := range f.Properties {
			if text, ok := value.(string); ok {
				values[strings.ToLower(key)] = text
			}
		}
		s.add(first(values, nameKeys), at[0], at[1])
	}
	return nil
}

// first is the value of the first key that has one.
func first(values map[string]string, keys []string) string {
	for _, key := range keys {
		if v := strings.TrimSpace(values[key]); v != "" {
			return v
		}
	}
	return ""
}

func (s *Set) csv(data []byte) error {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.FieldsPerRecord, r.ReuseRecord, r.LazyQuotes = -1, true, true
	line, _, _ := bytes.Cut(data, []byte("\n"))
	if bytes.Count(line, []byte(";")) > bytes.Count(line, []byte(",")) {
		r.Comma = ';'
	}
	header, err := r.Read()
	if err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	column := func(keys []string) int {
		for _, key := range keys {
			i := slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), key) })
			if i >= 0 {
				return i
			}
		}
		return -1
	}
	name, lat, lon := column(nameKeys), column(latKeys), column(lonKeys)
	if name < 0 || lat < 0 || lon < 0 {
		return errors.New("the header names no columns name, latitude and longitude")
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(row) <= max(name, lat, lon) {
			continue
		}
		y, err1 := strconv.ParseFloat(strings.TrimSpace(row[lat]), 64)
		x, err2 := strconv.ParseFloat(strings.TrimSpace(row[lon]), 64)
		if err1 == nil && err2 == nil {
			s.add(row[name], x, y)
		}
	}
}
