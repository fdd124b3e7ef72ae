package fetch_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

func TestRobots(t *testing.T) {
	t.Parallel()
	status, asked := http.StatusOK, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /*?\nCrawl-delay: 3\n\nUser-agent: Conveyor\nDisallow: /private\n"+
			"Crawl-delay: 2\n")
	}))
	t.Cleanup(srv.Close)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	client := fetch.New(fetch.Options{AllowPrivate: []string{srv.Listener.Addr().String()}, Now: clock})
	r := fetch.NewRobots(client.Ask, fetch.RobotsOptions{Now: clock})
	allowed := func(path string) bool {
		t.Helper()
		ok, delay, err := r.Allowed(t.Context(), srv.URL+path)
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, delay)
		return ok
	}
	require.True(t, allowed("/b-apartments-condos/montreal/c37l1700281?price=1"))
	require.False(t, allowed("/private/1"))
	require.Equal(t, 1, asked, "an hour's worth")

	now, status = now.Add(time.Hour), http.StatusInternalServerError
	require.False(t, allowed("/private/1"))
	require.Equal(t, 2, asked, "known rules are good for a day")
	now = now.Add(24 * time.Hour)
	_, _, err := r.Allowed(t.Context(), srv.URL+"/private/1")
	require.Equal(t, fault.Transient, fault.ClassOf(err))

	status = http.StatusTooManyRequests
	_, _, err = r.Allowed(t.Context(), srv.URL+"/")
	require.Equal(t, "429", web.RefusalOf(err).Reason)
	status = http.StatusForbidden
	ok, delay, err := r.Allowed(t.Context(), srv.URL+"/private/1")
	require.NoError(t, err)
	require.True(t, ok, "a 4xx is a site without rules")
	require.Zero(t, delay)

	_, _, err = r.Allowed(t.Context(), "http://10.0.0.1/")
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
}

// A robots.txt is UTF-8 by its standard: what it closes stays closed where a server gives all its texts another charset.
func TestRobotsInUTF8(t *testing.T) {
	t.Parallel()
	const no = "User-agent: *\nDisallow: /priv\u00e9/\n"
	for _, tt := range []struct{ contentType, body string }{
		{"text/plain; charset=iso-8859-1", no}, {"text/plain", no}, {"text/html; charset=windows-1251", no},
		{"application/octet-stream", no}, {"text/plain; charset=iso-8859-1", no + strings.Repeat("\u00e9", robots.MaxSize)},
		{"text/plain; charset=iso-8859-1", strings.ReplaceAll(no, "\u00e9", "\xe9")},
		{"text/plain; charset=utf-16le", strings.Join(strings.Split("User-agent: *\nDisallow: /priv%C3%A9\n", ""), "\x00") + "\x00"},
	} {
		srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.contentType)
			_, _ = io.WriteString(w, tt.body)
		}, fetch.Options{})
		ok, _, err := fetch.NewRobots(c.Ask, fetch.RobotsOptions{}).Allowed(t.Context(), srv.URL+"/priv%C3%A9/1")
		require.NoError(t, err)
		require.False(t, ok, "%s %.50q", tt.contentType, tt.body)
	}
}
