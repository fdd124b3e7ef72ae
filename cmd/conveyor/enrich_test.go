package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/config"
)

func TestReadPlaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "metro.csv")
	require.NoError(t, os.WriteFile(path, []byte("name,lat,lon\nA station,45.5,-73.6\n"), 0o600))
	points, err := readPlaces(config.Enrich{Places: []string{"metro=" + path}, Attribution: "© the city"})
	require.NoError(t, err)
	require.Equal(t, "© the city", points.Attribution)
	require.Equal(t, "A station", points.Near(45.5, -73.6)[0].Name)

	points, err = readPlaces(config.Enrich{})
	require.NoError(t, err)
	require.Nil(t, points)
	_, err = readPlaces(config.Enrich{Places: []string{"metro=" + path, "school=" + path + ".none"}})
	require.ErrorContains(t, err, "read places of kind school: open ")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 20)), 0o600))
	_, err = readUpTo(path, 19)
	require.ErrorContains(t, err, "more than 19 bytes")
	_, err = readUpTo(path, 20)
	require.NoError(t, err)
}
