package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
)

// parseBox reads west,south,east,north, the order of GeoJSON. "" is no box. Its error says what was expected.
func parseBox(s string) (*db.Box, error) {
	if s == "" {
		return nil, nil
	}
	wrong := errors.New("expected west,south,east,north in degrees")
	parts := strings.Split(s, ",")
	if len(parts) != 4 {
		return nil, wrong
	}
	var v [4]float64
	for i, p := range parts {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		limit := 180.0
		if i%2 == 1 {
			limit = 90
		}
		if err != nil || !(f >= -limit && f <= limit) { // NaN is neither
			return nil, wrong
		}
		v[i] = f
	}
	b := &db.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
	if b.West > b.East || b.South > b.North {
		return nil, errors.New("expected west <= east and south <= north")
	}
	return b, nil
}

// cursor is a position with the order that it belongs to, so that it cannot be used with another.
type cursor struct {
	Sort string `json:"s"`
	db.Position
}

func writeCursor(p db.Position, sort string) string {
	doc, err := json.Marshal(cursor{sort, p})
	if err != nil {
		panic(err) // a time, a number and an ID
	}
	return base64.RawURLEncoding.EncodeToString(doc)
}

// parseCursor reads what writeCursor wrote. "" is the first page. Its error says what was expected.
func parseCursor(s, sort string) (*db.Position, error) {
	if s == "" {
		return nil, nil
	}
	var c cursor
	doc, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(doc, &c)
	}
	if err != nil || c.Position.ID == uuid.Nil {
		return nil, errors.New("expected a next_cursor of an earlier page")
	}
	if c.Sort != sort {
		return nil, errors.New("is of a page in another order; keep sort as it was, or start without cursor")
	}
	return &c.Position, nil
}
