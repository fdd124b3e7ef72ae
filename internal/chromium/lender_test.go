package chromium_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// Who does not know the password, or asks for what no browser of ours does, gets no Chromium.
func TestLenderRefuses(t *testing.T) {
	t.Parallel()
	l := chromium.NewLender(chromium.LenderOptions{
		Executable: "/bin/true", Password: "s3cr3t", Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(l.Close)
	ask := func(path, password string) int {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		if password != "" {
			r.SetBasicAuth("conveyor", password)
		}
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		return w.Code
	}
	for path, want := range map[string]int{
		"/json/version": 200, "/json/list": 404, "/json/new?file:///etc/passwd": 404,
		"/devtools/browser?arg=--renderer-cmd-prefix=/bin/sh": 400, "/devtools/browser?arg=file:///etc/passwd": 400,
		"/devtools/browser?arg=--no-sandbox": 426,
	} {
		require.Equal(t, want, ask(path, "s3cr3t"), path)
		if want != 404 {
			require.Equal(t, 401, ask(path, ""), path)
			require.Equal(t, 401, ask(path, "wrong"), path)
		}
	}
	require.Equal(t, 200, ask("/health", ""))
}
