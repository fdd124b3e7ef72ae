package browser_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/browser"
)

// public makes the site answer to a public name, which Chromium treats in ways that an address of this machine is
// exempt from, at port 80. It returns what was dialed.
func (s *site) public(name string) (dial func(context.Context, string, string) (net.Conn, error), dialed func() []string) {
	var mu sync.Mutex
	var all []string
	dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		all = append(all, address)
		mu.Unlock()
		if address != name+":80" {
			return nil, errors.New("connection refused")
		}
		return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
	}
	return dial, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// What is asked for over http is asked for over http, letter for letter, with the headers of the request.
func TestCaptureOverHTTP(t *testing.T) {
	t.Parallel()
	const name = "www.example.com"
	s := newSite(t)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, path, _ := strings.Cut(r.RequestURI, "/")
		fmt.Fprintf(w, "<p>asked for [/%s] with [%s] by [%s]", html.EscapeString(path), r.Header.Get("X-Store"),
			r.Header.Get("X-Forwarded-For"))
	})
	dial, dialed := s.public(name)
	d := drive(t, sharedChromium(t), browser.DevtoolsOptions{Dial: dial})
	for path, want := range map[string]string{
		"/p/1":                                  "",
		"/cgi?cat=3;item=44":                    "",
		"/combo?b;a&c=50%&a=1":                  "",
		"/a%2Fb|c":                              "/a%2Fb%7Cc",
		"/\u0442\u043e\u0432\u0430\u0440/a%2Fb": "/%D1%82%D0%BE%D0%B2%D0%B0%D1%80/a%2Fb",
		"/100%-cotton?q=5%":                     "/100%25-cotton?q=5%",
	} {
		t.Run(path, func(t *testing.T) {
			if want == "" {
				want = path
			}
			c, err := d.Capture(t.Context(), "http://"+name+path, "", draft.Secrets{
				Headers: map[string]string{"X-Store": "7", "X-Forwarded-For": "192.0.2.1"},
			})
			require.NoError(t, err)
			want = html.EscapeString(fmt.Sprintf("asked for [%s] with [7] by [192.0.2.1]", want))
			if c.Status != http.StatusOK || len(c.Redirects) > 0 || !strings.Contains(string(c.HTML), want) {
				t.Errorf("Capture = %d, redirects %q, %.300q; want %q", c.Status, c.Redirects, c.HTML, want)
			}
		})
	}
	require.NotContains(t, dialed(), name+":443")
}
