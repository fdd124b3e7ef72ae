package web_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/sharedtest"
	"github.com/mtlrent/conveyor/web"
)

// Budgets of what a browser loads, in bytes of gzip. `make bench ARGS='-only console'` measures times beside them.
const (
	firstJS  = 215_000
	firstCSS = 18_000
	chunk    = 40_000
)

// libraries are chunks that may be larger: each is a library that few pages load, or all.
var libraries = []string{"map", "react", "router"}

func TestSizes(t *testing.T) {
	t.Parallel()

	h, err := web.Handler(web.Options{})
	require.NoError(t, err)
	sent := func(path string) []byte {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.Bytes()
	}
	page := sharedtest.Read(t, "dist/index.html")
	var first []string
	for _, m := range regexp.MustCompile(`(?:src|href)="/ui/assets/([^"]+)"`).FindAllStringSubmatch(string(page), -1) {
		first = append(first, m[1])
	}
	assets, err := os.ReadDir("dist/assets")
	require.NoError(t, err)
	js, css := 0, 0
	for _, a := range assets {
		size := len(sent("/ui/assets/" + a.Name()))
		library := slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(a.Name(), l+"-") })
		switch {
		case strings.HasSuffix(a.Name(), ".css") && slices.Contains(first, a.Name()):
			css += size
		case !strings.HasSuffix(a.Name(), ".js"):
		case slices.Contains(first, a.Name()):
			js += size
		case !library && size > chunk:
			t.Errorf("%s is %d bytes packed, more than %d", a.Name(), size, chunk)
		}
	}
	if js == 0 || css == 0 {
		t.Fatalf("the page names %v, of which nothing is loaded first", first)
	}
	if js > firstJS || css > firstCSS {
		t.Errorf("first load: %d bytes of JavaScript and %d of styles, more than %d and %d", js, css, firstJS, firstCSS)
	}
}
