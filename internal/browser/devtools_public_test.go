package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

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

// What is asked for over http is asked for over http, with the headers of the request.
func TestCaptureOverHTTP(t *testing.T) {
	t.Parallel()
	const name = "www.example.com"
	s := newSite(t)
	s.HandleFunc("/p/1", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>asked with [%s]", r.Header.Get("X-Store"))
	})
	dial, dialed := s.public(name)
	d := drive(t, sharedChromium(t), browser.DevtoolsOptions{Dial: dial})
	c, err := d.Capture(t.Context(), "http://"+name+"/p/1", "", draft.Secrets{Headers: map[string]string{"X-Store": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Status != http.StatusOK || len(c.Redirects) > 0 || !strings.Contains(string(c.HTML), "asked with [7]") {
		t.Errorf("Capture = %d, redirects %q, %.300q", c.Status, c.Redirects, c.HTML)
	}
	if slices.Contains(dialed(), name+":443") {
		t.Errorf("dialed were %q", dialed())
	}
}
