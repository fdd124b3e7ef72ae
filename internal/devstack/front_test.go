package devstack

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// uiStack is a stack of nothing but the Web UI, which is not started, at free ports.
func uiStack(t *testing.T) (*Stack, []*service) {
	t.Helper()
	s := fakeStack(t)
	ports, held, err := freePorts()
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Close() })
	s.ports = ports
	services, err := s.temporalUI()
	require.NoError(t, err)
	return s, services
}

// said is what an address answers to a request with a header Host.
func said(t *testing.T, at, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	require.NoError(t, err)
	r.Host = host
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(all)
}

// A page whose name was made to resolve to this machine reads nothing of the Web UI, which has no login: what answers at
// its address refuses the name itself. Behind it is nobody here.
func TestTemporalUIChecksHost(t *testing.T) {
	t.Parallel()
	s, services := uiStack(t)
	require.NoError(t, services[0].prepare(t.Context()))
	own := s.addr(s.ports.TemporalUI)
	for _, path := range []string{"/", "/api/v1/settings", "/healthz"} {
		requireMisdirected(t, "http://"+own+path)
		if status, text := said(t, "http://"+own+path, own); status != http.StatusBadGateway {
			t.Errorf("by its own name, %s: %d, %.200q, expected to be passed on", path, status, text)
		}
	}
	services[0].shut()
	// Not portFree: a connection of any other process may have the port meanwhile.
	_, err := new(net.Dialer).DialContext(t.Context(), "tcp", own)
	require.ErrorIs(t, err, syscall.ECONNREFUSED, "it still answers")
}

func requireMisdirected(t *testing.T, at string) {
	t.Helper()
	if status, text := said(t, at, "rebind.example"); status != http.StatusMisdirectedRequest ||
		!strings.Contains(text, "CONVEYOR_TEMPORAL_UI_URL") {
		t.Errorf("by another name, %s: %d, %.200q", at, status, text)
	}
}

// The real Web UI, without a Temporal: it needs none to show its pages. It is reached at its address alone, and neither
// by a page nor by a browser where it listens itself.
func TestTemporalUIBehindItsFront(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow) // it may have to be built, which the gate waits for nowhere
	t.Parallel()
	s, services := uiStack(t)
	ui := goTools[slices.IndexFunc(goTools, func(tool goTool) bool { return tool.name == "temporal-ui" })]
	require.NoError(t, s.alone(t.Context(), func() error { return s.buildTool(t.Context(), ui) }))
	s.tools.temporalUI = filepath.Join(ui.dir(s.opts.Bin), "server")
	require.NoError(t, s.launch(t.Context(), services))
	at, own := "http://"+s.addr(s.ports.TemporalUI), s.addr(s.ports.TemporalUI)
	for _, path := range []string{"/", "/api/v1/settings", "/healthz"} {
		requireMisdirected(t, at+path)
	}
	if status, text := said(t, at+"/api/v1/settings", own); status != http.StatusOK || !strings.Contains(text, Namespace) {
		t.Errorf("settings: %d, %.200q", status, text)
	}
	// The page is there to its end.
	if status, text := said(t, at, own); status != http.StatusOK || !strings.HasSuffix(strings.TrimSpace(text), "</html>") {
		t.Errorf("page: %d, …%q", status, text[max(0, len(text)-100):])
	}
	behind := s.addr(s.ports.TemporalUIBehind)
	if status, text := said(t, "http://"+behind, behind); status != http.StatusBadRequest || strings.Contains(text, "</html>") {
		t.Errorf("behind its address it answers %d, %.200q", status, text)
	}
	conn, err := tls.Dial("tcp", behind, nil)
	if err == nil {
		_ = conn.Close()
		t.Error("a browser would trust it")
	}
	require.NoError(t, s.Stop(context.Background()))
	require.True(t, portFree(s.ports.TemporalUI), "its address is taken after Stop")
}

// A page of a running workflow always waits for news: the front closes without it, and can be opened again.
func TestFrontCloses(t *testing.T) {
	t.Parallel()
	s := fakeStack(t)
	ports, held, err := freePorts()
	require.NoError(t, err)
	defer held.Close()
	begun, ended := make(chan struct{}), make(chan struct{})
	f := &front{
		log: slog.New(slog.DiscardHandler), cert: filepath.Join(s.opts.Dir, "cert"), key: filepath.Join(s.opts.Dir, "key"),
		guard: func(http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				close(begun)
				<-r.Context().Done()
				close(ended)
			})
		},
	}
	f.close() // before it is open: nothing
	at := s.addr(ports.TemporalUI)
	for range 2 { // the second changes nothing
		require.NoError(t, f.open(t.Context(), at, s.addr(ports.TemporalUIBehind)))
	}
	go func() {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at, http.NoBody)
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-begun
	f.close()
	<-ended
	// A process that another test is starting has a copy of every socket of ours until its exec.
	eventually(t, "it is opened again", func() bool {
		return f.open(t.Context(), at, s.addr(ports.TemporalUIBehind)) == nil
	})
	f.close()
}
