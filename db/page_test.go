package db

import (
	"testing"
	"time"

	"github.com/google/uuid"
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
