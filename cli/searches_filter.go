package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/saved"
)

// searchFilter are the flags that say which listings a saved search is about.
type searchFilter struct {
	Platform string `help:"Only listings of this platform." placeholder:"NAME"`
	homeFlags
	BBox      signed `name:"bbox" help:"Part of the map: west,south,east,north in degrees." placeholder:"W,S,E,N"`
	Polygon   string `help:"GeoJSON file with one polygon of at most 500 corners, without holes." type:"existingfile" placeholder:"FILE"`
	Near      signed `help:"At most so far from a point, in a straight line: latitude,longitude,metres." placeholder:"LAT,LON,M"`
	HasImages bool   `help:"Only listings with at least one stored picture."`
	Claimed   string `help:"Whether an owner has taken the listing over: yes or no." enum:"yes,no," default:"" placeholder:"WHICH"`
	Text      string `help:"Words in title, description and address: as of GET /listings."`
	Filter    string `help:"Filter as the API takes it, to which the other flags are added." placeholder:"JSON"`
}

// criteria are what the flags say. It returns the error of the first flag that means nothing.
func (f *searchFilter) criteria() (saved.Criteria, error) {
	c, err := f.over(saved.Criteria{})
	if err != nil {
		return c, err
	}
	return c, c.Check()
}

// over is c, or the whole filter of --filter in its place, with what the other flags say, unchecked. It returns the
// error of the first flag that cannot be read.
func (f *searchFilter) over(c saved.Criteria) (saved.Criteria, error) {
	if f.Filter != "" {
		c = saved.Criteria{}
		d := json.NewDecoder(strings.NewReader(f.Filter))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return c, Usage("read --filter: %v", err)
		}
	}
	overlay(&c.Platform, f.Platform)
	overlay(&c.Text, f.Text)
	f.overlay(&c)
	c.HasImages = c.HasImages || f.HasImages
	if f.Claimed != "" {
		c.Claimed = new(f.Claimed == "yes")
	}
	var err error
	if f.BBox != "" {
		if c.Box, err = degrees(string(f.BBox), 4); err != nil {
			return c, Usage("read --bbox: %v", err)
		}
	}
	if f.Near != "" {
		n, err := degrees(string(f.Near), 3)
		if err != nil {
			return c, Usage("read --near: %v", err)
		}
		c.Near = &saved.Near{Latitude: n[0], Longitude: n[1], Metres: n[2]}
	}
	if f.Polygon != "" {
		if c.Polygon, err = readPolygon(f.Polygon); err != nil {
			return c, fmt.Errorf("read %s: %w", f.Polygon, err)
		}
	}
	return c, nil
}

// overlay puts a value that is not zero in the place of another.
func overlay[T comparable](to *T, value T) {
	var zero T
	if value != zero {
		*to = value
	}
}

// some puts values in the place of others, where there are any.
func some[T any](to *[]T, values []T) {
	if len(values) > 0 {
		*to = values
	}
}

// degrees reads n numbers with commas between them.
func degrees(text string, n int) (out []float64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		value, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", part)
		}
		out = append(out, value)
	}
	if len(out) != n {
		return nil, fmt.Errorf("%q has %d numbers, expected %d", text, len(out), n)
	}
	return out, nil
}

// maxGeoJSON is how much of a file is read: one polygon is far less.
const maxGeoJSON = 4 << 20

func readPolygon(file string) ([][]float64, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	doc, err := io.ReadAll(io.LimitReader(in, maxGeoJSON+1))
	if err != nil {
		return nil, err
	}
	if len(doc) > maxGeoJSON {
		return nil, fmt.Errorf("it has more than %d MiB", maxGeoJSON>>20)
	}
	return polygonOf(doc)
}

// A geoJSON is as much of RFC 7946 as holds polygons.
type geoJSON struct {
	Type        string          `json:"type"`
	Features    []geoJSON       `json:"features"`
	Geometry    *geoJSON        `json:"geometry"`
	Geometries  []geoJSON       `json:"geometries"`
	Coordinates json.RawMessage `json:"coordinates"`
}

// rings are the polygons of a document, each a list of rings.
func (g *geoJSON) rings() (out [][][][]float64, err error) {
	parts := append(g.Features, g.Geometries...)
	if g.Geometry != nil {
		parts = append(parts, *g.Geometry)
	}
	for i := range parts {
		more, err := parts[i].rings()
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	switch g.Type {
	case "Polygon":
		var one [][][]float64
		err = json.Unmarshal(g.Coordinates, &one)
		out = append(out, one)
	case "MultiPolygon":
		var several [][][][]float64
		err = json.Unmarshal(g.Coordinates, &several)
		out = append(out, several...)
	}
	return out, err
}

// polygonOf returns the corners of the one polygon of a GeoJSON document, longitude first, the first not again at the
// end.
func polygonOf(doc []byte) (corners [][]float64, err error) {
	var g geoJSON
	if err := json.Unmarshal(bytes.TrimPrefix(doc, []byte("\ufeff")), &g); err != nil {
		return nil, err
	}
	polygons, err := g.rings()
	if err != nil {
		return nil, err
	}
	if len(polygons) != 1 {
		return nil, fmt.Errorf("it has %d polygons, expected one", len(polygons))
	}
	switch len(polygons[0]) {
	case 0:
		return nil, errors.New("its polygon is empty")
	case 1:
	default:
		return nil, errors.New("its polygon has holes")
	}
	for _, c := range polygons[0][0] {
		if len(c) < 2 {
			return nil, errors.New("a corner is not a longitude and a latitude")
		}
		corners = append(corners, c[:2]) // without an altitude
	}
	if n := len(corners) - 1; n > 0 && corners[0][0] == corners[n][0] && corners[0][1] == corners[n][1] {
		corners = corners[:n]
	}
	if len(corners) > saved.MaxCorners {
		return nil, fmt.Errorf("its polygon has %d corners, expected at most %d: simplify it", len(corners), saved.MaxCorners)
	}
	return corners, nil
}
