package api

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
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
		p := &pacedWriter{
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

func TestUnlinked(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "<": "<", "<lin": "<lin", "<link": "<link", "text": "text",
		`<link rel=preconnect>`:                 `<wbr  rel=preconnect>`,
		"<LiNk/>":                               "<wbr />",
		"<link\nx><link\tx><link\fx><link\rx>":  "<wbr \nx><wbr \tx><wbr \fx><wbr \rx>",
		"<link><link><<link>":                   "<wbr ><wbr ><<wbr >",
		"<links><link-x></link>":                "<links><link-x></link>",
		"<svg><title><link rel=dns-prefetch>":   "<svg><title><wbr  rel=dns-prefetch>",
		"<noscript><link ></noscript>":          "<noscript><wbr  ></noscript>",
		strings.Repeat("é<link>", 20_000) + "<": strings.Repeat("é<wbr >", 20_000) + "<",
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "one byte": iotest.OneByteReader,
			"data with the end": iotest.DataErrReader,
		} {
			source := bytes.NewReader([]byte(in))
			u := &unlinked{page: struct {
				io.Reader
				io.Seeker
			}{wrap(source), source}}
			got, err := io.ReadAll(u)
			require.NoError(t, err)
			require.Equal(t, want, string(got), name)
		}
	}
	u := &unlinked{page: strings.NewReader("<link>")}
	for range 2 {
		size, err := u.Seek(0, io.SeekEnd)
		require.NoError(t, err)
		require.EqualValues(t, 6, size)
		_, err = u.Seek(0, io.SeekStart)
		require.NoError(t, err)
		got, err := io.ReadAll(u)
		require.NoError(t, err)
		require.Equal(t, "<wbr >", string(got))
	}
	_, err := u.Seek(3, io.SeekStart)
	require.Error(t, err)
	broken := &unlinked{page: struct {
		io.Reader
		io.Seeker
	}{iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ab"))), nil}}
	got, err := io.ReadAll(broken)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.Equal(t, "a", string(got))
}
