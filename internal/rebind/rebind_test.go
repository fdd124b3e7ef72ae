package rebind_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/rebind"
)

// front is a guarded proxy before a server, which ui.example is a name of.
func front(t *testing.T, behind *httptest.Server) *httptest.Server {
	t.Helper()
	to, err := url.Parse(behind.URL)
	require.NoError(t, err)
	trust := x509.NewCertPool()
	if behind.Certificate() != nil {
		trust.AddCert(behind.Certificate())
	}
	names := rebind.NamesOf("", rebind.HostOf("https://ui.example:8443/x"))
	server := httptest.NewServer(names.Guard("UI_URL", rebind.Proxy(to, trust, slog.New(slog.DiscardHandler))))
	t.Cleanup(server.Close)
	return server
}

func ask(t *testing.T, method, at, host string, body io.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, at, body)
	require.NoError(t, err)
	if host != "" {
		r.Host = host
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(text)
}

// A page of another site sends its own name, and reads nothing; the server behind does not see its request.
func TestGuard(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	behind := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		fmt.Fprint(w, r.Host)
	}))
	t.Cleanup(behind.Close)
	server := front(t, behind)
	var answered int64
	for host, status := range map[string]int{
		"127.0.0.1:8233": 200, "[::1]:8233": 200, "localhost": 200, "localhost:8233": 200, "a.localhost": 200, "ui.example": 200,
		"UI.example.:8233": 200, "rebind.example": 421, "rebind.example:8233": 421, "rebind": 421, "x.ui.example": 421,
		"ui.example.evil.example": 421, "127.0.0.1.evil.example": 421, "xlocalhost": 421, "127.1": 421,
	} {
		answer, text := ask(t, http.MethodGet, server.URL, host, nil)
		require.Equal(t, status, answer.StatusCode, host)
		if status == 200 {
			answered++
			require.Equal(t, host, text)
		} else {
			require.Contains(t, text, "UI_URL adds its host")
		}
	}
	require.Equal(t, answered, seen.Load())
}

// What is asked and answered passes whole and unchanged: addresses with escaped slashes, large bodies, headers.
func TestProxyPassesAll(t *testing.T) {
	t.Parallel()
	sent, told := bytes.Repeat([]byte("ask "), 1<<20), bytes.Repeat([]byte("tell "), 2<<20)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.New()
		_, _ = io.Copy(got, r.Body)
		w.Header().Set("Asked", fmt.Sprintf("%s %s %x", r.Method, r.RequestURI, got.Sum(nil)))
		w.Header().Set("Set-Cookie", "_csrf=1; Path=/")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(told)
	}))
	t.Cleanup(behind.Close)
	server := front(t, behind)
	const path = "/namespaces/conveyor/workflows/listing%2Fkijiji%2F9?a=b&c=%2F"
	answer, text := ask(t, http.MethodPost, server.URL+path, "", bytes.NewReader(sent))
	require.Equal(t, http.StatusAccepted, answer.StatusCode)
	require.Equal(t, fmt.Sprintf("POST %s %x", path, sha256.Sum256(sent)), answer.Header.Get("Asked"))
	require.Equal(t, "_csrf=1; Path=/", answer.Header.Get("Set-Cookie"))
	require.True(t, text == string(told), "%d bytes of %d came", len(text), len(told))
}

// An answer is seen as it comes, and one that breaks off does not look like a whole one.
func TestProxyStreams(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "first")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-read:
		case <-r.Context().Done():
		}
		if r.URL.Path == "/broken" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, ", last")
	}))
	t.Cleanup(behind.Close)
	server := front(t, behind)
	for path, last := range map[string]string{"/": ", last", "/broken": ""} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		first := make([]byte, len("first"))
		_, err = io.ReadFull(answer.Body, first) // the rest is not written before this is read
		require.NoError(t, err)
		require.Equal(t, "first", string(first))
		read <- struct{}{}
		rest, err := io.ReadAll(answer.Body)
		require.Equal(t, last, string(rest))
		require.Equal(t, last == "", err != nil, "%v", err)
	}
}

func TestProxyWithoutServer(t *testing.T) {
	t.Parallel()
	behind := httptest.NewServer(http.NotFoundHandler())
	server := front(t, behind)
	behind.Close()
	answer, text := ask(t, http.MethodGet, server.URL, "", nil)
	require.Equal(t, http.StatusBadGateway, answer.StatusCode)
	require.Equal(t, "the server behind this proxy does not answer: look at its log\n", text)
}
