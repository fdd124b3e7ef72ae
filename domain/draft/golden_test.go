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
			if err != nil {
				t.Fatal(err)
			}
			d, err := draft.Extract(page, address.FindString(string(page)))
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(d); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(name, ".html") + ".json"
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("the draft is\n%s\nwant (-update writes it)\n%s", b.Bytes(), want)
			}
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
