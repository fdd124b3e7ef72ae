package kijiji_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/kijiji"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const golden = "testdata/corpus.golden.jsonl"

// A summary is what one advert of the corpus became, in a line a person can check against the advert.
type summary struct {
	ID        string           `json:"id"`
	Rejected  []string         `json:"rejected,omitempty"` // field:code
	Rent      int64            `json:"rent,omitempty"`     // cents
	From      bool             `json:"from,omitempty"`
	Rooms     float64          `json:"rooms,omitempty"`
	Bedrooms  *int             `json:"bedrooms,omitempty"`
	Den       bool             `json:"den,omitempty"`
	Baths     float64          `json:"baths,omitempty"`
	Area      int              `json:"area,omitempty"`
	Type      string           `json:"type,omitempty"`
	Building  string           `json:"building,omitempty"`
	Floor     string           `json:"floor,omitempty"`
	Room      bool             `json:"room,omitempty"`
	Sublet    bool             `json:"sublet,omitempty"`
	Furnished string           `json:"furnished,omitempty"`
	Smoking   string           `json:"smoking,omitempty"`
	Pets      string           `json:"pets,omitempty"` // policy/cats/dogs
	Parking   *listing.Parking `json:"parking,omitempty"`
	Utilities string           `json:"utilities,omitempty"` // "+heat -electricity"
	Estimate  int64            `json:"estimate,omitempty"`
	Amenities []string         `json:"amenities,omitempty"`
	Lease     string           `json:"lease,omitempty"`
	Available string           `json:"available,omitempty"`
	Promotion string           `json:"promotion,omitempty"`
	Units     []listing.Unit   `json:"units,omitempty"`
	Civic     []string         `json:"civic,omitempty"`
	Unit      string           `json:"unit,omitempty"`
	Street    string           `json:"street,omitempty"`
	Language  string           `json:"language,omitempty"`
	Warnings  []string         `json:"warnings,omitempty"` // field:code
}

func summarize(raw listing.Raw) summary {
	out := summary{ID: raw.PlatformID}
	l, err := kijiji.Platform{}.Normalize(raw)
	if rejected, ok := errors.AsType[*listing.Rejection](err); ok {
		for _, r := range rejected.Reasons {
			out.Rejected = append(out.Rejected, r.Field+":"+r.Code)
		}
		return out
	}
	out.Rent, out.From, out.Rooms, out.Bedrooms, out.Den = l.RentCents, l.RentFrom, l.Rooms, &l.Bedrooms, l.Den
	out.Baths, out.Area, out.Type, out.Building, out.Floor = l.Bathrooms, l.AreaSqFt, l.PropertyType, l.Building, l.Floor
	out.Room, out.Sublet, out.Furnished, out.Smoking = l.RoomRental, l.Sublet, l.Furnished, l.Smoking
	if l.Pets != (listing.Pets{}) {
		out.Pets = l.Pets.Policy + "/" + l.Pets.Cats + "/" + l.Pets.Dogs
	}
	if l.Parking != (listing.Parking{}) {
		out.Parking = &l.Parking
	}
	u := l.Utilities
	for _, f := range []struct {
		name string
		v    *bool
	}{{"heat", u.Heat}, {"hot_water", u.HotWater}, {"electricity", u.Electricity}, {"internet", u.Internet}, {"water",
		u.Water}, {"cable", u.Cable}} {
		switch {
		case f.v == nil:
		case *f.v:
			out.Utilities += " +" + f.name
		default:
			out.Utilities += " -" + f.name
		}
	}
	out.Estimate, out.Amenities, out.Lease = u.ElectricityEstimateCents, l.Amenities, l.Lease
	out.Available, out.Promotion, out.Units = l.Available, l.Promotion, l.Units
	out.Civic, out.Unit, out.Street, out.Language = l.Address.Civic, l.Address.Unit, l.Address.Street, l.Language
	for _, w := range l.Warnings {
		out.Warnings = append(out.Warnings, w.Field+":"+w.Code)
	}
	return out
}

func corpus(tb testing.TB) []listing.Raw {
	tb.Helper()
	data := sharedtest.Read(tb, filepath.Join("..", "..", "..", "test", "corpus", "quebec-2018.jsonl"))
	var out []listing.Raw
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var raw listing.Raw
		require.NoError(tb, json.Unmarshal(lines.Bytes(), &raw))
		out = append(out, raw)
	}
	return out
}

// TestCorpus compares what becomes of 1,249 real adverts with the golden file. Run with -update after a change of the
// rules, and read the difference: every line of it is an advert that now says something else.
func TestCorpus(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	counts := map[string]int{}
	for _, raw := range corpus(t) {
		s := summarize(raw)
		require.NoError(t, enc.Encode(s))
		if len(s.Rejected) == 0 {
			counts["imported"]++
		}
		for _, r := range s.Rejected {
			counts["rejected "+r]++
		}
		for _, w := range s.Warnings {
			counts["warning "+w]++
		}
	}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-36s %4d", k, counts[k])
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
		return
	}
	want := sharedtest.Read(t, golden)
	g, w := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	shown := 0
	for i := range max(len(g), len(w)) {
		if i < len(g) && i < len(w) && bytes.Equal(g[i], w[i]) {
			continue
		}
		if shown++; shown > 10 {
			t.Fatal("and more; run with -update when the change is meant")
		}
		if i < len(g) {
			t.Errorf("got  %s", g[i])
		}
		if i < len(w) {
			t.Errorf("want %s", w[i])
		}
	}
}

func BenchmarkNormalize(b *testing.B) {
	all := corpus(b)
	b.Run("corpus", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			_, _ = kijiji.Platform{}.Normalize(all[i%len(all)])
		}
	})
	var long []listing.Raw
	for _, raw := range all {
		if n := len(raw.Description); n > 2500 && n < 3500 {
			long = append(long, raw)
		}
	}
	b.Run("3KB", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			_, _ = kijiji.Platform{}.Normalize(long[i%len(long)])
		}
	})
	b.Run("hash", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			_ = listing.ContentHash(long[i%len(long)])
		}
	})
}
