package place_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
)

func TestReadPoints(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, data string
		n          int
		err        string
	}{
		{"csv", "name,lat,lon\nJarry,45.5431,-73.6285\n", 1, ""},
		{"semicolons, a mark, other names", "\ufeffNom;Adresse;Latitude;Longitude\nÉcole A;\"1, rue B\";45.5;-73.6\n", 1, ""},
		{"stops of GTFS", "stop_id,stop_name,stop_lon,stop_lat\n1,Station Jarry,-73.6285,45.5431\n2,Station Jean,-73.6,45.5\n", 2, ""},
		{"rows that are no places", "name,lat,lon\n,45,-73\nA,x,-73\nB,45\nC,0,0\nD,95,-73\nE,NaN,-73\nF,45,-73\n", 1, ""},
		{"GeoJSON", `{"type": "FeatureCollection", "features": [
			{"properties": {"NOM": "Jarry"}, "geometry": {"type": "Point", "coordinates": [-73.6285, 45.5431, 20]}},
			{"properties": {"nom": "Parc"}, "geometry": {"type": "Polygon", "coordinates": [[[1, 2]]]}},
			{"properties": {"name": 7}, "geometry": {"type": "Point", "coordinates": [-73.6, 45.5]}},
			{"properties": null, "geometry": null}]}`, 1, ""},
		{"a feature alone", `{"type": "Feature"}`, 0, `it is a GeoJSON "Feature"`},
		{"broken JSON", `{"type": `, 0, "unexpected end"},
		{"no columns", "a,b,c\n1,2,3\n", 0, "the header names no columns"},
		{"nothing", "", 0, "read header: EOF"},
		{"only a header", "name,lat,lon\n", 0, "there are none"},
		{"too many", "name,lat,lon\n" + strings.Repeat("A,45,-73\n", place.MaxPoints+1), 0, "the most is 50000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := place.ReadPoints("metro", []byte(tt.data))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.n, set.Len())
		})
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	metro, err := place.ReadPoints("metro", []byte(`name,lat,lon
far,45.5200,-73.6285
two,45.5451,-73.6285
one,45.5431,-73.6285
one,45.5471,-73.6285
three,45.5391,-73.6285
four,45.5331,-73.6285
beside,45.5431,-73.6600
`))
	require.NoError(t, err)
	school, err := place.ReadPoints("school", []byte("name,lat,lon\nA,45.5441,-73.6285\n"))
	require.NoError(t, err)
	p := &place.Points{Sets: []place.Set{school, metro}}
	require.Equal(t, []listing.Nearby{
		{Kind: "school", Name: "A", Metres: 111}, {Kind: "metro", Name: "one", Metres: 0},
		{Kind: "metro", Name: "two", Metres: 222}, {Kind: "metro", Name: "three", Metres: 445},
	}, p.Near(45.5431, -73.6285))
	require.Equal(t, []listing.Nearby{{Kind: "metro", Name: "beside", Metres: 0}}, p.Near(45.5431, -73.6600)[:1])
	require.Empty(t, p.Near(46, -73))
	require.Empty(t, p.Near(math.NaN(), -73))
	require.Empty(t, (*place.Points)(nil).Near(45.5, -73.6))
}

func FuzzReadPoints(f *testing.F) {
	f.Add([]byte("name,lat,lon\nA,45,-73\n"))
	f.Add([]byte(`{"type": "FeatureCollection", "features": [{"geometry": {"type": "Point", "coordinates": [1, 2]}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := place.ReadPoints("x", data)
		if err == nil && set.Len() == 0 {
			t.Error("no error and no places")
		}
		(&place.Points{Sets: []place.Set{set}}).Near(45, -73)
	})
}
