package api

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A reader that takes nothing is cut off long before the answer's own time; one that takes everything gets everything.
func TestSlowReadersAreCutOff(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	type result struct {
		written int64
		err     error
	}
	done := make(chan result, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &PacedWriter{
			ResponseWriter: w, control: http.NewResponseController(w), within: time.Hour, end: time.Now().Add(time.Hour),
		}
		switch r.URL.Path {
		case "/slow":
			p.within = 100 * time.Millisecond
		case "/ended":
			p.end = time.Now().Add(100 * time.Millisecond)
		}
		n, err := io.Copy(p, io.LimitReader(zeros{}, size))
		done <- result{n, err}
	}))
	t.Cleanup(server.Close)
	for _, path := range []string{"/slow", "/ended"} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		got := <-done
		var timeout net.Error
		require.ErrorAs(t, got.err, &timeout)
		require.True(t, timeout.Timeout())
		require.Less(t, got.written, int64(size))
		require.NoError(t, conn.Close())
	}
	answer, err := http.Get(server.URL + "/fast")
	require.NoError(t, err)
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.EqualValues(t, size, n)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
