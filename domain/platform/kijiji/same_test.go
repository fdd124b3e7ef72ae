package kijiji_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/kijiji"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

const pairsGolden = "testdata/same-home.golden.txt"

// TestSameHomeCorpus compares every pair of the corpus that is near enough and writes the matches down. All adverts are
// of one platform, so each match is a repost; the golden file is what a person has looked through.
func TestSameHomeCorpus(t *testing.T) {
	t.Parallel()
	var all []listing.Listing
	for _, raw := range corpus(t) {
		if l, err := (kijiji.Platform{}).Normalize(raw); err == nil {
			all = append(all, l)
		}
	}
	var got bytes.Buffer
	near, matches := 0, 0
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.Latitude == nil || b.Latitude == nil || listing.Metres(*a.Latitude, *a.Longitude, *b.Latitude,
				*b.Longitude) > 30 {
				continue
			}
			near++
			m := listing.SameHome(a, b)
			if m.Kind == "" {
				continue
			}
			matches++
			fmt.Fprintf(&got, "%s %s %s %q\n\t%s\n\t%s\n", m.Kind, a.PlatformID, b.PlatformID, m.Reasons, a.Title, b.Title)
			if a.Bedrooms != b.Bedrooms || m.Kind != listing.Repost {
				t.Errorf("%s and %s: %+v", a.Ref, b.Ref, m)
			}
		}
	}
	t.Logf("%d pairs within 30 m, %d matches", near, matches)
	if *update {
		require.NoError(t, os.WriteFile(pairsGolden, got.Bytes(), 0o644))
		return
	}
	want := sharedtest.Read(t, pairsGolden)
	require.Equal(t, want, got.Bytes(), pairsGolden)
}
