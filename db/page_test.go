package db

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestPage(t *testing.T) {
	t.Parallel()
	letter := func(n int) string { return string(rune('a' + n)) }
	for _, tt := range []struct {
		name  string
		rows  []int
		limit int
		cut   []int
		next  *string
	}{
		{"no rows", []int{}, 2, []int{}, nil},
		{"fewer than fit", []int{1}, 2, []int{1}, nil},
		{"as many as fit", []int{1, 2}, 2, []int{1, 2}, nil},
		{"one more", []int{1, 2, 3}, 2, []int{1, 2}, new("c")},
	} {
		cut, next := CutPage(tt.rows, tt.limit, letter)
		require.Equal(t, tt.cut, cut, tt.name)
		require.Equal(t, tt.next, next, tt.name)
	}
}

// largeRows are rows of one column of so many bytes each.
type largeRows struct {
	pgx.Rows

	sizes  []int
	at     int
	closed bool
}

func (r *largeRows) Next() bool {
	r.at++
	return !r.closed && r.at <= len(r.sizes)
}

func (r *largeRows) RawValues() [][]byte { return [][]byte{make([]byte, r.sizes[r.at-1])} }
func (r *largeRows) Close()              { r.closed = true }
func (r *largeRows) Err() error          { return nil }

func TestRowsUpTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		sizes []int
		held  []int
		more  bool
	}{
		{"no rows", nil, []int{}, false},
		{"all of them", []int{4, 5}, []int{4, 5}, false},
		{"the last of them is too large", []int{4, 50}, []int{4, 50}, false},
		{"enough", []int{4, 6, 1}, []int{4, 6}, true},
		{"one is, that is too large", []int{50, 1, 1}, []int{50}, true},
	} {
		rows := &largeRows{sizes: tt.sizes}
		held, more, err := collectUpTo(rows, 10, func(row pgx.CollectableRow) (int, error) {
			return len(row.RawValues()[0]), nil
		})
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.held, held, tt.name)
		require.Equal(t, tt.more, more, tt.name)
		require.True(t, rows.closed, tt.name)
	}
}

func TestPositionKeys(t *testing.T) {
	t.Parallel()
	id, at := (*Position)(nil).Keys()
	require.Nil(t, id)
	require.Nil(t, at)
	p := Position{At: time.Unix(1, 0), ID: uuid.New()}
	id, at = p.Keys()
	require.Equal(t, p.ID, *id)
	require.Equal(t, p.At, *at)
}
