package draft_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// samples reads the pages of the product extraction benchmark, which may not be published.
func samples(t testing.TB) []drafttest.Sample {
	t.Helper()
	dir := sharedtest.Dir(t, "extraction from real pages")
	out, err := drafttest.Samples(os.DirFS(filepath.Join(dir, "data", "products")))
	require.NoError(t, err)
	return out
}

// The floors are the scores that would be left if one page more went wrong, rounded down, so that a rule that costs
// more than a page is noticed. They are measured on all 74 pages, of which 56 were at hand when the rules were written
// (see drafttest.Part), so a floor is no aim: raise it when extraction gets better, and tune no rule to a page. "product"
// is the share of the pages that are seen to be of a product; all of them are.
var (
	floors = map[string]float64{"price": .915, "availability": .97, "sku": .915, "brand": .84, "gtin": .7, "mpn": .66,
		"product": .985}
	// Without their data.
	floorsText = map[string]float64{"price": .89, "availability": .945, "sku": .90, "brand": .765, "gtin": .92, "mpn": .70,
		"product": .955}
)

func TestBenchmark(t *testing.T) {
	t.Parallel()
	grade(t, samples(t), floors)
}

// TestBenchmarkText reads the same pages without the data that is meant for machines, so that reading off the text is
// measured on all of them and not on the few that have nothing else.
func TestBenchmarkText(t *testing.T) {
	t.Parallel()
	all := samples(t)
	for i := range all {
		var err error
		if all[i].HTML, err = drafttest.WithoutData(all[i].HTML); err != nil {
			t.Fatal(err)
		}
	}
	grade(t, all, floorsText)
}

// TestConfidence counts again the shares that the confidences are made of, and holds them to the truth: each reading is
// given the confidence that it would have if its own shop had not been counted.
func TestConfidence(t *testing.T) {
	t.Parallel()
	readings, err := drafttest.Readings(samples(t))
	require.NoError(t, err)
	changed := false
	tally := drafttest.Tally(readings)
	for g, n := range tally {
		right, found := g.Counted()
		changed = changed || right != n[0] || found != n[1]
	}
	if changed || len(tally) != draft.Grounds() {
		t.Errorf("the counts have changed, write these in confidence.go:%s", literal(tally))
	}
	for _, d := range drafttest.LeaveOneShopOut(readings) {
		t.Logf("from %.1f: %3d readings, claimed %.3f, right %.3f", d.From, d.Count, d.Claimed, d.Right)
		if d.Count >= drafttest.EnoughReadings && d.Off() > .05 {
			t.Errorf("of %d readings from %.1f, %.3f are right and %.3f claimed", d.Count, d.From, d.Right, d.Claimed)
		}
	}
}

// literal is a tally as a Go map's elements.
func literal(tally map[draft.Ground][2]int) string {
	var lines []string
	for g, n := range tally {
		lines = append(lines, fmt.Sprintf("\n\t{%q, %q, %d}: {%d, %d},", g.Field, g.Kind, g.Band, n[0], n[1]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// grade extracts every page, prints the misses of the pages that may be looked at and holds the sums to floors.
func grade(t *testing.T, all []drafttest.Sample, floors map[string]float64) {
	t.Helper()
	sum := map[string]drafttest.Grade{}
	byPart := map[string]drafttest.Grade{}
	products := 0
	for _, s := range all {
		d, err := draft.Extract(s.HTML, s.URL)
		if err != nil {
			t.Errorf("%s: %v", s.URL, err)
			continue
		}
		aside := s.Part() == drafttest.Aside
		if d.IsProduct() {
			products++
		} else if !aside {
			t.Logf("product: %s is not seen to be one: %s", s.ID[:4], s.URL)
		}
		for _, field := range drafttest.Graded {
			g := drafttest.Score(d, s.Truth, field)
			sum[field] = sum[field].Add(g)
			byPart[field+" "+string(s.Part())] = byPart[field+" "+string(s.Part())].Add(g)
			got, source := drafttest.Value(d, field)
			if g.Wrong+g.Missed > 0 && !aside {
				t.Logf("%s: %s %q from %q, want %q: %s", field, s.ID[:4], got, source, s.Truth[field], s.URL)
			}
		}
	}
	share := float64(products) / float64(len(all))
	t.Logf("%-12s %d of %d", "product", products, len(all))
	if share < floors["product"] {
		t.Errorf("product: %.3f of the pages is below %.3f", share, floors["product"])
	}
	for _, field := range drafttest.Graded {
		g := sum[field]
		t.Logf("%-12s precision %.3f recall %.3f F1 %.3f %+v", field, g.Precision(), g.Recall(), g.F1(), g)
		if g.F1() < floors[field] {
			t.Errorf("%s: F1 %.3f is below %.3f", field, g.F1(), floors[field])
		}
		for _, part := range drafttest.Parts {
			g := byPart[field+" "+string(part)]
			t.Logf("  %-10s F1 %.3f %+v", part, g.F1(), g)
		}
	}
}
