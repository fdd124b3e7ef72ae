package prose_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wholeShort are the shares of the strings of testdata/short.jsonl, in percent, that were read whole when the rules last
// changed, as wholeStrings are of the real ones.
var wholeShort = map[string]float64{"open12": 99, "aside12": 95}

// TestShortForms reads strings written in the short forms that adverts have no end of: W/D, a/c, s.-sol, stat. en sus,
// 250$/sem. The misses of the half set aside are not looked at.
func TestShortForms(t *testing.T) {
	t.Parallel()
	readWritten(t, "short.jsonl", wholeShort)
}

// wholeLandlords are those shares of the strings of testdata/landlords.jsonl.
var wholeLandlords = map[string]float64{"open13": 99, "aside13": 87, "open14": 79, "aside14": 68,
	"open43": 96, "aside43": 86, "aside44": 73, "open80": 99, "open81": 99, "aside80": 80, "aside81": 80, "aside82": 90,
	"open90": 96, "aside90": 60}

// TestLandlords reads strings as landlords write them: labels and values on one line, several doors of a street,
// amenities cut short, what is beside the rent, dates in words. The misses of the half set aside are not looked at.
func TestLandlords(t *testing.T) {
	t.Parallel()
	readWritten(t, "landlords.jsonl", wholeLandlords)
}

// wholeAdverts are those shares of the adverts of testdata/adverts.jsonl.
var wholeAdverts = map[string]float64{"open20": 91, "aside20": 58, "open21": 89, "aside21": 71}

// TestAdverts reads whole adverts as landlords, managers, agencies and students of the provinces write them. The misses
// of the half set aside are not looked at.
func TestAdverts(t *testing.T) {
	t.Parallel()
	readWritten(t, "adverts.jsonl", wholeAdverts)
}

// wholeHomes are those shares of the adverts of testdata/homes.jsonl.
var wholeHomes = map[string]float64{"open30": 86, "aside30": 79, "open31": 85, "aside31": 73}

// TestHomes reads whole adverts as people write them on Kijiji, Craigslist, Marketplace and LesPAC, of which the address
// is labelled as well. The misses of the halves set aside are not looked at.
func TestHomes(t *testing.T) {
	t.Parallel()
	readWritten(t, "homes.jsonl", wholeHomes)
}

// wholeEveryday are those shares of the adverts of testdata/everyday.jsonl.
var wholeEveryday = map[string]float64{"open24": 96, "aside24": 69,
	"open25": 86, "aside25": 61, "open26": 94, "aside26": 42, "open27": 99, "aside27": 99,
	"open28": 93, "aside28": 69}

// TestEveryday reads whole adverts of a few facts each, as people write most of them. The misses of the half set aside
// are not looked at.
func TestEveryday(t *testing.T) {
	t.Parallel()
	readWritten(t, "everyday.jsonl", wholeEveryday)
}

// wholeIncluded are those shares of the strings of testdata/included.jsonl.
var wholeIncluded = map[string]float64{"open50": 98, "aside50": 82, "aside51": 88,
	"open52": 99, "aside52": 82, "open53": 95, "aside53": 75, "aside54": 84}

// TestIncluded reads strings on what a rent includes and what a home has: utilities, amenities, animals, furniture,
// parking. The misses of the half set aside are not looked at.
func TestIncluded(t *testing.T) {
	t.Parallel()
	readWritten(t, "included.jsonl", wholeIncluded)
}

// wholeFigures are those shares of the strings of testdata/figures.jsonl.
var wholeFigures = map[string]float64{"open60": 97, "aside60": 87, "aside61": 85,
	"open70": 99, "open71": 99, "aside70": 87, "aside71": 95, "aside72": 80}

// TestFigures reads strings of rents, addresses, rooms, floors, areas, dates and leases, of adverts of Québec and as
// landlords write them. The misses of the halves set aside are not looked at.
func TestFigures(t *testing.T) {
	t.Parallel()
	readWritten(t, "figures.jsonl", wholeFigures)
}

// readWritten reads the strings of a file of testdata and compares the shares that are whole, by half.
func readWritten(t *testing.T, file string, least map[string]float64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	type score struct{ whole, strings int }
	scores := map[string]*score{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var s struct {
			advertString
			Class string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &s))
		wrong, _ := judge(s.advertString)
		if len(wrong) > 0 && strings.HasPrefix(s.Half, "open") {
			t.Logf("%s, %s %q: %s", s.Class, s.Part, strings.TrimSpace(s.Title+" "+s.Text), strings.Join(wrong, "; "))
		}
		for _, group := range []string{s.Half, s.Half + " " + s.Class} {
			if scores[group] == nil {
				scores[group] = &score{}
			}
			scores[group].strings++
			if len(wrong) == 0 {
				scores[group].whole++
			}
		}
	}
	for _, group := range slices.Sorted(maps.Keys(scores)) {
		g := scores[group]
		share := 100 * float64(g.whole) / float64(g.strings)
		t.Logf("%-22s %3d of %3d strings whole (%.1f %%)", group, g.whole, g.strings, share)
		if share < least[group] {
			t.Errorf("%s: %.1f %% of the strings are whole; want %.1f", group, share, least[group])
		}
	}
	for half := range least {
		if scores[half] == nil {
			t.Errorf("no string is of the half %s", half)
		}
	}
}
