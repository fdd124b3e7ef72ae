package api

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
)

// However many values an address has room for, few of them are looked at before they are refused.
func TestPartsAreFew(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30_000 {
		many = append(many, fmt.Sprint(i))
	}
	require.Len(t, parts(strings.Join(many, ",")), mostValues+1)
	require.Len(t, parts(many...), mostValues+1)
	require.Len(t, parts(many[:mostValues]...), mostValues)

	var values []string
	again := url.Values{"brand": strings.Split(strings.Repeat("a,b;", mostValues+1), ";")}
	require.ErrorIs(t, Filter{Name: "brand", Values: &values, Commas: true}.read(again), errManyValues)
}

// A cursor is of its list only, and those that callers hold from before an update can be read.
func TestCursorsOfTheirLists(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	written := map[string]string{
		"audit":        EncodeCursor(timeCursorAt(&db.IDPosition{At: at, ID: 7}, auditOrder)),
		"letters":      EncodeCursor(timeCursorAt(&db.IDPosition{At: at, ID: 7}, lettersOrder)),
		"no order":     EncodeCursor(map[string]any{"t": at, "i": 7}),
		"matches":      EncodeCursor(CursorOf(new(int64(7)), "matches")),
		"matches, 0.6": EncodeCursor(map[string]any{"s": "matches", "i": 7, "e": 7}),
		"matches, -1":  EncodeCursor(map[string]any{"s": "matches", "i": -1}),
		"names":        EncodeCursor(CursorOf(new("Plateau"), "searches")),
		"names, 0.6":   EncodeCursor(map[string]any{"s": "searches", "i": "Plateau", "n": "Plateau"}),
		"a NUL":        EncodeCursor(map[string]any{"s": "searches", "i": "\x00"}),
	}
	reads := func(read func(s string) bool) (names []string) {
		for _, name := range slices.Sorted(maps.Keys(written)) {
			if read(written[name]) {
				names = append(names, name)
			}
		}
		return names
	}
	byTime := func(sort string) func(s string) bool {
		return func(s string) bool {
			p, err := parseTimeCursor(s, sort)
			return err == nil && *p == db.IDPosition{At: at, ID: 7}
		}
	}
	require.Equal(t, []string{"audit"}, reads(byTime(auditOrder)))
	require.Equal(t, []string{"letters"}, reads(byTime(lettersOrder)))
	require.Equal(t, []string{"matches", "matches, 0.6"}, reads(func(s string) bool {
		id, err := ParseIDCursor(s, "matches")
		return err == nil && id == 7
	}))
	require.Equal(t, []string{"names", "names, 0.6"}, reads(func(s string) bool {
		name, err := ParseTextCursor(s, "searches")
		return err == nil && name == "Plateau"
	}))
}
