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

func writeCursor(p db.Position, sort string) string { return encodeCursor(cursor{sort, p}) }

// encodeCursor hides what a cursor is made of from those who would make one up.
func encodeCursor(c any) string {
	doc, err := json.Marshal(c)
	if err != nil {
		panic(err) // times, numbers and IDs
	}
	return base64.RawURLEncoding.EncodeToString(doc)
}

func decodeCursor(s string, c any) error {
	doc, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(doc, c)
}

var errCursor = errors.New("expected a next_cursor of an earlier page")

func writeLetterCursor(p db.LetterPosition) string { return encodeCursor(p) }

// parseLetterCursor reads what writeLetterCursor wrote. "" is the first page. Its error says what was expected.
func parseLetterCursor(s string) (*db.LetterPosition, error) {
	if s == "" {
		return nil, nil
	}
	var p db.LetterPosition
	if err := decodeCursor(s, &p); err != nil || p.ID < 1 || p.LastAt.IsZero() {
		return nil, errCursor
	}
	return &p, nil
}

// parseCursor reads what writeCursor wrote. "" is the first page. Its error says what was expected.
func parseCursor(s, sort string) (*db.Position, error) {
	if s == "" {
		return nil, nil
	}
	var c cursor
	if err := decodeCursor(s, &c); err != nil || c.Position.ID == uuid.Nil {
		return nil, errCursor
	}
	if c.Sort != sort {
		return nil, errors.New("is of a page in another order; keep sort as it was, or start without cursor")
	}
	return &c.Position, nil
}
