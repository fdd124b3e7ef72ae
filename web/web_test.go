package web_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/web"
)

// get asks the console for a path.
func get(t *testing.T, o web.Options, path string, header ...string) *http.Response {
	t.Helper()

	h, err := web.Handler(o)
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()

	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func TestEveryFileThatThePageNamesIsThere(t *testing.T) {
	t.Parallel()

	page := body(t, get(t, web.Options{}, "/ui/").Body)
	named := regexp.MustCompile(`(?:src|href)="(/ui/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(named) < 4 {
		t.Fatalf("the page names %d files", len(named))
	}
	for _, m := range named {
		r := get(t, web.Options{}, m[1])
		if kind := r.Header.Get("Content-Type"); r.StatusCode != 200 || strings.HasPrefix(kind, "text/html") {
			t.Errorf("%s: %d, %s", m[1], r.StatusCode, kind)
		}
		forever := strings.Contains(r.Header.Get("Cache-Control"), "immutable")
		if forever != strings.HasPrefix(m[1], "/ui/assets/") {
			t.Errorf("%s: Cache-Control %q", m[1], r.Header.Get("Cache-Control"))
		}
	}
	if strings.Contains(page, "<style") || regexp.MustCompile(`<script>|<script [^>]*>[^<]`).MatchString(page) {
		t.Error("the page has inline scripts or styles, which its policy refuses")
	}
}

func TestPathsWithoutAFile(t *testing.T) {
	t.Parallel()

	page := body(t, get(t, web.Options{}, "/ui/").Body)
	for path, status := range map[string]int{
		"/ui/listings": 200, "/ui/crawl/14/urls": 200, "/ui/x/y.z": 200, "/ui/SOURCE": 200, "/ui/../go.mod": 200,
		"/ui/assets/none.js": 404, "/ui/assets/": 404,
	} {
		r := get(t, web.Options{}, path)
		if r.StatusCode != status || status == 200 && body(t, r.Body) != page {
			t.Errorf("%s: %d, want %d", path, r.StatusCode, status)
		}
		assert.Contains(t, r.Header.Get("Content-Security-Policy"), "require-trusted-types-for 'script'", path)
		if status == 200 && r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: Cache-Control %q", path, r.Header.Get("Cache-Control"))
		}
	}
}

func TestCompressionAndTags(t *testing.T) {
	t.Parallel()

	plain := get(t, web.Options{}, "/ui/")
	packed := get(t, web.Options{}, "/ui/", "Accept-Encoding", "br, gzip;q=0.8")
	z, err := gzip.NewReader(packed.Body)
	require.NoError(t, err)
	if body(t, z) != body(t, plain.Body) || plain.Header.Get("Content-Encoding") != "" {
		t.Error("the two forms differ")
	}
	for _, refused := range []string{"gzip;q=0", "gzip;q=0.000", "deflate", ""} {
		if r := get(t, web.Options{}, "/ui/", "Accept-Encoding", refused); r.Header.Get("Content-Encoding") != "" {
			t.Errorf("Accept-Encoding %q is answered with %s", refused, r.Header.Get("Content-Encoding"))
		}
	}
	tag := plain.Header.Get("ETag")
	if tag == packed.Header.Get("ETag") {
		t.Error("both forms have the tag " + tag)
	}
	if r := get(t, web.Options{}, "/ui/", "If-None-Match", `"other", W/`+tag); r.StatusCode != http.StatusNotModified {
		t.Errorf("a known tag is answered with %d", r.StatusCode)
	}
}

func TestMapTiles(t *testing.T) {
	t.Parallel()

	r := get(t, web.Options{Tiles: "https://tiles.example.org/{z}/{x}/{y}.png"}, "/ui/")
	assert.Contains(t, r.Header.Get("Content-Security-Policy"), "img-src 'self' blob: https://tiles.example.org;")
	for _, wrong := range []string{"/tiles/{z}", "https://{s}.example.org/{z}", "javascript:alert(1)", "https://a;script-src/x"} {
		if _, err := web.Handler(web.Options{Tiles: wrong}); err == nil {
			t.Errorf("%q is taken for an address of tiles", wrong)
		}
	}
}

// The policy is the same on whatever lies under /ui/, answers without a body included.
func TestThePolicyIsOnEveryPath(t *testing.T) {
	t.Parallel()

	const want = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; " +
		"connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types conveyor"
	page := get(t, web.Options{}, "/ui/")
	paths := []string{"/ui/", "/ui", "/ui/login?failed=stale", "/ui/listings/x", "/ui/theme.js", "/ui/assets/none.js", "/ui/%00"}
	for _, m := range regexp.MustCompile(`(?:src|href)="(/ui/[^"]+)"`).FindAllStringSubmatch(body(t, page.Body), -1) {
		paths = append(paths, m[1])
	}
	for _, path := range paths {
		for _, tag := range []string{"", page.Header.Get("ETag")} {
			assert.Equal(t, want, get(t, web.Options{}, path, "If-None-Match", tag).Header.Get("Content-Security-Policy"), path)
		}
	}
}

// sources are the files that dist is built from. What is beside them is for tests.
var sources = []string{
	"src", "public", "index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts",
	"../api/testdata/openapi.golden.yaml",
}

// TestDistIsFresh needs no Node: it compares the sources with the sum that was written when dist was built.
func TestDistIsFresh(t *testing.T) {
	t.Parallel()

	var names []string
	for _, s := range sources {
		err := filepath.WalkDir(s, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.Contains(name, ".test.") && d.Name() != "schema.gen.ts" {
				names = append(names, filepath.ToSlash(name))
			}
			return err
		})
		require.NoError(t, err)
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		sum := sha256.Sum256([]byte(read(t, name)))
		_, _ = io.WriteString(all, name+" "+hex.EncodeToString(sum[:])+"\n")
	}
	if got := hex.EncodeToString(all.Sum(nil)); got != strings.TrimSpace(read(t, "dist/SOURCE")) {
		t.Error("web/dist was built from other sources: run make web, and commit web/dist")
	}
}
