package chromium_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// A Chromium whose process has left its group, and has the pipe, keeps neither the client nor its place.
func TestLenderLetsGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o711)) // for nobody, who runs it where we are root
	held, program := filepath.Join(dir, "held"), filepath.Join(dir, "chromium")
	require.NoError(t, syscall.Mkfifo(held, 0o644))
	require.NoError(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\nsetsid cat %s 2>/dev/null &\n", held), 0o755))
	l := chromium.NewLender(chromium.LenderOptions{
		Executable: program, NoSandbox: true, Password: "s3cr3t", Log: slog.New(slog.DiscardHandler),
	})
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.SetBasicAuth("conveyor", "s3cr3t")
	ws, _, err := websocket.Dial(t.Context(), s.URL+"/devtools/browser", &websocket.DialOptions{HTTPHeader: r.Header})
	require.NoError(t, err)
	_, _, err = ws.Read(t.Context())
	require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
	l.Close()
	end, err := os.OpenFile(held, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err, "nothing had the pipe")
	require.NoError(t, end.Close())
}
