package draft_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

var update = flag.Bool("update", false, "write the drafts of testdata anew")

// TestGolden compares the whole drafts of the handwritten pages. Their addresses stand in their second line.
func TestGolden(t *testing.T) {
	t.Parallel()

	pages, err := filepath.Glob(filepath.Join("testdata", "*.html"))
	if err != nil || len(pages) < 8 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	address := regexp.MustCompile(`https://\S+`)
	for _, name := range pages {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			page, err := os.ReadFile(name)
			require.NoError(t, err)
			d, err := draft.Extract(page, address.FindString(string(page)))
			require.NoError(t, err)
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			require.NoError(t, enc.Encode(d))
			golden := strings.TrimSuffix(name, ".html") + ".json"
			if *update {
				require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), b.String(), "-update writes it")
		})
	}
}

func TestExtractRefuses(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, address string
		page          []byte
	}{
		{"a relative address", "/p/lamp", []byte("<h1>Lamp</h1>")},
		{"too large", shop, make([]byte, draft.MaxPage+1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := draft.Extract(tt.page, tt.address)
			if class, _ := fault.Of(err); class != fault.Invalid {
				t.Errorf("Extract: %v, want %s", err, fault.Invalid)
			}
		})
	}
}
