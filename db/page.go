package db

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"
)

// A Position is a row's place in a list, for keyset pagination: the thousandth page costs what the first does.
// RentCents counts only in the orders by rent, Rank only in that by relevance.
type Position struct {
	At        time.Time
	RentCents int64
	ID        uuid.UUID
	Rank      *RankPosition
}

// Keys are the position of the newest first as arguments of a query, NULL for the beginning.
func (p *Position) Keys() (id *uuid.UUID, at *time.Time) {
	if p == nil {
		return nil, nil
	}
	return &p.ID, &p.At
}

// An IDPosition is a row's place in a list by time and number, for keyset pagination.
type IDPosition struct {
	At time.Time
	ID int64
}

// args are the two of a statement; nil of none.
func (p *IDPosition) args() (id *int64, at *time.Time) {
	if p == nil {
		return nil, nil
	}
	return &p.ID, &p.At
}

// CutPage cuts rows, read with a limit of one more, to limit. next is the position of the last row, to go on from: nil
// when there are no more rows.
func CutPage[T, P any](rows []T, limit int, position func(T) P) (cut []T, next *P) {
	if len(rows) <= limit {
		return rows, nil
	}
	return rows[:limit], new(position(rows[limit-1]))
}

// A Looked row is one of those that a filter was asked of. The filter is asked of a bounded number of rows after the
// position: one that few of them pass would read all there are.
type Looked[T any] struct {
	Row    T
	Passes bool // the filter
	Last   bool // the filter was not asked of those after it
}

// CutLooked is CutPage for rows of which those that pass a filter are shown: next is also the position of the last one
// that it was asked of, whether that passes or not.
func CutLooked[T, P any](rows []Looked[T], limit int, position func(T) P) (shown []T, next *P) {
	rows, next = CutPage(rows, limit, func(r Looked[T]) P { return position(r.Row) })
	if end := len(rows) - 1; next == nil && end >= 0 && rows[end].Last {
		next = new(position(rows[end].Row))
	}
	shown = []T{} // a list is never null
	for _, r := range rows {
		if r.Passes {
			shown = append(shown, r.Row)
		}
	}
	return shown, next
}

// A RankPosition is a place in the order by relevance. What scores depend on stays as it was for the first page, so
// that listings that do not change keep their places.
type RankPosition struct {
	Score float32   `json:"score"`
	Until time.Time `json:"until"` // listings that were published later are left out
	Scale []byte    `json:"scale"` // search.Scale, rounded
}

// URLKey is what a URL is found by in a run: the first 16 bytes of the SHA-256 of its canonical form.
func URLKey(canonical string) uuid.UUID {
	sum := sha256.Sum256([]byte(canonical))
	return uuid.UUID(sum[:16])
}
