package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
