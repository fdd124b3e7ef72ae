package fetch_test

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// A line of a head that is no field costs itself alone, as in browsers. RFC 9112, 2.2: a recipient that receives
// whitespace before the first field may "consume each whitespace-preceded line without further processing of it".
func TestLinesThatAreNoFields(t *testing.T) {
	t.Parallel()

	const head = "HTTP/1.1 200 OK\r\n"
	for _, lines := range []string{
		head + "no colon here\r\n", head + "X: 1\r\nno colon\r\nY: 2\r\n", head + " X: 1\r\n  and more\r\n", head + ": 1\r\n",
		head + "é: 1\r\n", head + "<!-- a warning -->\r\n", head + "X: a\x01b\r\n", head + "HTTP/1.1 200 OK\r\n",
		head + "no colon\r\n which goes on: 1\r\n", head + "no colon\n",
		"HTTP/1.1 103 Early Hints\r\nno colon\r\n\r\n" + head + "nor here\r\n",
	} {
		answer := func(w http.ResponseWriter, _ *http.Request) {
			hijacker, _ := w.(http.Hijacker)
			conn, buf, err := hijacker.Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = buf.WriteString(lines + "Content-Type: text/html\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\nno: field\n\nwhat is beyond")
			_ = buf.Flush()
			_ = conn.Close()
		}
		turns := 0
		plain, c, _ := site(t, answer, fetch.Options{Turn: func(context.Context, string) error { turns++; return nil }})
		secure := httptest.NewTLSServer(http.HandlerFunc(answer))
		t.Cleanup(secure.Close)
		roots := x509.NewCertPool()
		roots.AddCert(secure.Certificate())
		trusting := fetch.New(fetch.Options{AllowPrivate: []string{secure.Listener.Addr().String()}, RootCAs: roots})
		for address, c := range map[string]*fetch.Client{plain.URL: c, secure.URL: trusting} {
			e, err := c.Ask(t.Context(), web.Request{URL: address})
			require.NoError(t, err, lines)
			require.Equal(t, "no: field", string(e.Body), lines)
			require.Equal(t, "text/html", e.ContentType, lines)
			require.Equal(t, `"a"`, e.Header.Get("ETag"), lines)
		}
		require.Equal(t, 2, turns, "each request has its own")
	}
}

// What is no head at all stays an error, and an endless one ends.
func TestHeadsThatAreNone(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"HTTP/1.1 200 OK\r\nno colon", "HTTP/1.1 200 OK\r\nno colon\r\nX: " + string(make([]byte, 1<<20)), ""} {
		srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
			hijacker, _ := w.(http.Hijacker)
			conn, buf, _ := hijacker.Hijack()
			_, _ = buf.WriteString(text)
			_ = buf.Flush()
			_ = conn.Close()
		}, fetch.Options{})
		_, err := c.Ask(t.Context(), web.Request{URL: srv.URL})
		require.Error(t, err)
	}
}
