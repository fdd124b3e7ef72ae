package browser_test

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// A page whose request has a proxy goes through it, with all that it asks for, and nowhere when the proxy fails; other
// pages go directly, in the same Chromium.
func TestLoadThroughAProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/page", `<p>here<script src="/script.js"></script>`)
	s.HandleFunc("/script.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
	})
	open := fetch.Dial([]string{s.Listener.Addr().String()}, nil)
	var through, direct atomic.Int32
	b := launch(t, browser.Options{
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			direct.Add(1)
			return open(ctx, network, addr)
		},
		Through: func(p web.Proxy) fetch.Dialer {
			return func(ctx context.Context, network, addr string) (net.Conn, error) {
				through.Add(1)
				if p.String() == "socks5://10.0.0.8" {
					return nil, &web.ProxyError{Proxy: p.String(), Reason: "no route"}
				}
				return open(ctx, network, addr)
			}
		},
	}, s)
	proxy := func(address string) web.Proxy {
		p, err := web.ParseProxy(address)
		require.NoError(t, err)
		return p
	}
	load := func(p web.Proxy) error {
		page, err := b.Load(t.Context(), web.Request{URL: s.URL + "/page", Proxy: p})
		if err == nil {
			require.Contains(t, string(page.Body), "here")
		}
		return err
	}
	require.NoError(t, load(proxy("socks5://me:secret@10.0.0.7")))
	require.NotZero(t, through.Load())
	require.Zero(t, direct.Load())
	require.Equal(t, []string{"GET /page", "GET /script.js"}, s.requests())
	used := through.Load()
	require.NoError(t, load(web.Proxy{}))
	require.Equal(t, used, through.Load(), "a connection through the proxy was used again")
	require.NotZero(t, direct.Load())

	direct.Store(0)
	asked := len(s.requests())
	var failed *web.ProxyError
	require.ErrorAs(t, load(proxy("socks5://10.0.0.8")), &failed)
	require.Zero(t, direct.Load())
	require.Len(t, s.requests(), asked)
}
