package draft_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/draft/drafttest"
)

// TestTemplates reads pages in the manner of the templates that shops use. The first line of each is a comment with its
// address and its values, "-" for a field that must be empty; fields that it leaves out are not asked.
func TestTemplates(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("testdata", "templates", "*.html"))
	if err != nil || len(pages) < 60 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, name := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".html"), func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(name)
			require.NoError(t, err)
			first, _, _ := strings.Cut(string(page), "\n")
			values := strings.Split(strings.TrimSuffix(strings.TrimPrefix(first, "<!-- "), " -->"), " | ")
			d, err := draft.Extract(page, values[0])
			require.NoError(t, err)
			for _, v := range values[1:] {
				field, want, _ := strings.Cut(v, ": ")
				if want == "-" {
					want = ""
				}
				assert.Equal(t, want, templateValue(d, field), field)
			}
		})
	}
}

// templateValue is a draft's value of a field, "" = none.
func templateValue(d draft.Draft, field string) string {
	switch {
	case field == "price_to" && d.PriceTo != nil:
		return d.PriceTo.Value
	case field == "name" && d.Name != nil:
		return d.Name.Value
	case field == "currency" && d.Currency != nil:
		return d.Currency.Value
	}
	v, _ := drafttest.Value(d, field)
	return v
}
