package conveyor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unbounded are functions that hold, or write, as much as a file says: of a stranger's they are called where a bound is
// before them. A name ends in * where all that begin so are meant.
var unbounded = map[string][]string{
	"encoding/xml": {"NewDecoder", "NewTokenDecoder", "Unmarshal"},
	"encoding/gob": {"NewDecoder"},
	"encoding/csv": {"NewReader"},

	"encoding/json": {"NewDecoder"},
	"io":            {"ReadAll"},
	"net/mail":      {"ReadMessage"},
	"net/textproto": {"NewReader", "NewConn", "Dial"},
	"net/smtp":      {"*"},

	"github.com/wneessen/go-mail": {"NewClient"},

	"archive/zip":                         {"NewReader", "OpenReader"},
	"archive/tar":                         {"NewReader"},
	"compress/bzip2":                      {"NewReader"},
	"compress/flate":                      {"NewReader*"},
	"compress/gzip":                       {"NewReader"},
	"compress/lzw":                        {"NewReader"},
	"compress/zlib":                       {"NewReader*"},
	"github.com/klauspost/compress/zip":   {"NewReader", "OpenReader"},
	"github.com/klauspost/compress/flate": {"NewReader*"},
	"github.com/klauspost/compress/gzip":  {"NewReader"},
	"github.com/klauspost/compress/zlib":  {"NewReader*"},
	"github.com/klauspost/compress/s2":    {"NewReader*"},
	"github.com/klauspost/compress/zstd":  {"NewReader"},
	"github.com/andybalholm/brotli":       {"NewReader*"},

	"image":                    {"Decode*"},
	"image/gif":                {"Decode*"},
	"image/jpeg":               {"Decode*"},
	"image/png":                {"Decode*"},
	"golang.org/x/image/bmp":   {"Decode*"},
	"golang.org/x/image/tiff":  {"Decode*"},
	"golang.org/x/image/webp":  {"Decode*"},
	"golang.org/x/net/html":    {"Parse*", "NewTokenizer*"},
	"github.com/goccy/go-yaml": {"Unmarshal*", "NewDecoder"},

	"github.com/PuerkitoBio/goquery": {"NewDocument*"},

	// Of ours, those that take a child process for their bound.
	module + "domain/draft":   {"Read"},
	module + "domain/picture": {"Read"},
	module + "domain/page":    {"Canonical"},
}

// asLong are the packages of those that hold as much as their reader has, and no more.
var asLong = []string{"encoding/json", "io", "net/mail"}

// mayRead are the files that call an unbounded function, each with what bounds it, or whose file it reads.
var mayRead = map[string]map[string]string{
	"encoding/xml": {
		"domain/safexml/safexml.go":       "this is the bound",
		"internal/cranfield/cranfield.go": "collections of questions that a developer downloads to measure searches",
	},
	"encoding/csv": {
		"domain/listing/dump/rows.go": "a reader that ends at the longest record is before it",
		"domain/place/points.go":      "a file of coordinates that an operator configures",
		"cli/contacts.go":             "a row of the refused ones, which the API writes",
		"cli/crawl_export.go":         "an operator's file, in the process of the command",
		"cli/drafts_file.go":          "an operator's file, in the process of the command",
	},
	"encoding/json": {
		"cli/campaigns.go":    "an operator's file, in the process of the command",
		"cli/crawl_export.go": "an operator's file, in the process of the command",
	},
	"io": {
		"api/outreach/webhooks.go":     "http.MaxBytesReader is before it",
		"cli/client.go":                "the answer of an operator's own API, in the process of the command",
		"domain/contact/unwrap.go":     "of a text that is held, which it makes shorter",
		"internal/blob/blob.go":        "files that this system stored",
		"internal/blob/uploads.go":     "files that this system stored, and of them as much as is asked for",
		"internal/devstack/logfile.go": "logs of the local services",
	},
	"github.com/wneessen/go-mail": {"internal/notify/mail.go": "terse is before it"},
	"archive/tar": {
		"internal/npm/npm.go": "a package whose SHA-256 is in the program",
	},
	"compress/gzip": {
		"domain/sitemap/sitemap.go":       "MaxSize bytes are read of it",
		"domain/platform/centris/site.go": "64 KiB are read of it",
		"cli/crawl_export.go":             "an operator's file, in the process of the command",
		"cmd/conveyor/scrape.go":          "an operator's file, in the process of the command",
		"internal/npm/npm.go":             "a package whose SHA-256 is in the program",
		"internal/licences/licences.go":   "embedded in the program",
	},
	"github.com/klauspost/compress/zip":   {"domain/contact/open.go": "the end of the directory says first how many files there are, and few bytes are read"},
	"github.com/klauspost/compress/gzip":  {"domain/contact/open.go": "a reader that ends at MaxText is behind it"},
	"github.com/klauspost/compress/flate": {"internal/fetch/body.go": "bodies are bounded on the wire and unpacked"},
	"github.com/klauspost/compress/zlib":  {"internal/fetch/body.go": "bodies are bounded on the wire and unpacked"},
	"github.com/klauspost/compress/zstd":  {"internal/fetch/body.go": "bodies are bounded on the wire and unpacked, and so is its window"},
	"github.com/andybalholm/brotli":       {"internal/fetch/body.go": "bodies are bounded on the wire and unpacked"},
	"image":                               {"domain/picture/picture.go": "in a child: Read"},
	"golang.org/x/net/html": {
		"domain/draft/extract.go":  "in a child: Read",
		"domain/page/canonical.go": "in a child: Canonical",
		"domain/markup/image.go":   "a text of structured data, whose reader is in a child",
	},
	"github.com/PuerkitoBio/goquery": {
		"domain/platform/body/body.go":     "in a child: pages of platforms",
		"domain/platform/kijiji/apollo.go": "in a child: pages of platforms",
	},
	module + "domain/draft":   {"internal/confine/jobs.go": "the child", "internal/confine/alone.go": "the process of one page"},
	module + "domain/picture": {"internal/confine/jobs.go": "the child"},
	module + "domain/page":    {"internal/confine/jobs.go": "the child", "internal/confine/alone.go": "the process of one page"},
}

// Whatever reads strangers' bytes passes a bound: a reader that has none is called in the files that say why only.
func TestReadersOfStrangersBytesAreBounded(t *testing.T) {
	t.Parallel()
	used := map[string]map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (len(d.Name()) > 1 && d.Name()[0] == '.' || slices.Contains([]string{"bin", "bench", "sim"}, file) ||
			d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasSuffix(d.Name(), "test")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		for _, call := range unboundedCalls(t, file, nil) {
			file := filepath.ToSlash(file)
			if mayRead[call.of][file] == "" {
				t.Errorf("%s:%d calls %s.%s, which holds what a stranger's file says: read it by domain/safexml, in "+
					"internal/confine or within a bound, and say in readers_test.go which", file, call.line, call.of, call.name)
			}
			if used[call.of] == nil {
				used[call.of] = map[string]bool{}
			}
			used[call.of][file] = true
		}
		return nil
	})
	require.NoError(t, err)
	for of, files := range mayRead {
		for file := range files {
			require.True(t, used[of][file], "%s calls nothing of %s any more: take its line away", file, of)
		}
	}
}

// The fence sees a reader by whatever name it is imported.
func TestUnboundedCallsAreSeen(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		`import "encoding/xml"; var _ = xml.Unmarshal`:                                     {"Unmarshal"},
		`import x "encoding/xml"; func f() { x.NewDecoder(nil) }`:                          {"NewDecoder"},
		`import . "archive/zip"`:                                                           {"."},
		`import "image"; import _ "image/png"; func f() { image.DecodeConfig(nil) }`:       {"DecodeConfig"},
		`import "golang.org/x/net/html"; func f() { html.ParseFragment(nil, nil) }`:        {"ParseFragment"},
		`import "` + module + `domain/picture"; var read = picture.Read`:                   {"Read"},
		`import "io"; func f(r io.Reader) { io.ReadAll(r) }`:                               {"ReadAll"},
		`import "io"; func f(r io.Reader) { io.ReadAll(io.LimitReader(r, 9)) }`:            nil,
		`import "encoding/json"; func f(r *bytes.Reader) { json.NewDecoder(r) }`:           {"NewDecoder"},
		`import "encoding/json"; func f(b []byte) { json.NewDecoder(bytes.NewReader(b)) }`: nil,
		`import "encoding/xml"; func f(xml.Token) { xml.NewEncoder(nil) }`:                 nil,
		`import "compress/gzip"; func f() { gzip.NewWriter(nil) }`:                         nil,
		`import "html"; func f() { html.EscapeString("") }; type t struct{ Parse int }`:    nil,
	} {
		var got []string
		for _, call := range unboundedCalls(t, "x.go", "package x; "+source) {
			got = append(got, call.name)
		}
		require.Equal(t, want, got, source)
	}
}

// An unboundedCall is a place where a file has an unbounded function, called or as a value.
type unboundedCall struct {
	of, name string
	line     int
}

func unboundedCalls(t *testing.T, file string, source any) (found []unboundedCall) {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	require.NoError(t, err)
	names := map[string]string{} // in the file, of the packages
	for _, spec := range f.Imports {
		of, _ := strconv.Unquote(spec.Path.Value)
		name := strings.TrimPrefix(path.Base(of), "go-")
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if _, fenced := unbounded[of]; fenced {
			if names[name] = of; name == "." { // its functions could not be told
				found = append(found, unboundedCall{of, name, files.Position(spec.Pos()).Line})
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	within := map[ast.Node]bool{} // functions that are called with a reader that has an end
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && ends(call.Args[0]) {
			within[call.Fun] = true
		}
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := s.X.(*ast.Ident)
		if ok && !(within[s] && slices.Contains(asLong, names[of.Name])) && slices.ContainsFunc(unbounded[names[of.Name]], func(fenced string) bool {
			prefix, any := strings.CutSuffix(fenced, "*")
			return s.Sel.Name == fenced || any && strings.HasPrefix(s.Sel.Name, prefix)
		}) {
			found = append(found, unboundedCall{names[of.Name], s.Sel.Name, files.Position(s.Pos()).Line})
		}
		return true
	})
	return found
}

// ends says whether a reader ends by itself: it is io.LimitReader of another, or of bytes or a text that are held.
func ends(reader ast.Expr) bool {
	call, ok := reader.(*ast.CallExpr)
	return ok && slices.Contains([]string{"io.LimitReader", "bytes.NewReader", "strings.NewReader"}, types.ExprString(call.Fun))
}
