package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Connections beyond the limit wait until another one is closed, and the kernel does not take megabytes for one that is
// not read.
func TestBounded(t *testing.T) {
	t.Parallel()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener := bounded(1, []string{"127.0.0.1"})(plain)
	taken, served := make(chan int), make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		n := 0
		for err := error(nil); err == nil; {
			var wrote int
			wrote, err = w.Write(make([]byte, 32<<10))
			n += wrote
		}
		taken <- n
	})}
	tellServed(server)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", plain.Addr().String())
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(64<<10))
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		return conn
	}
	first, second := dial(), dial()
	n := <-taken
	t.Logf("%d bytes taken for a connection that is not read", n)
	require.Less(t, n, 2<<20)
	<-taken // the second had its turn
	_ = first.Close()
	_ = second.Close()
}

// Two addresses that keep all connections open, one of them in the midst of a header, keep out nobody who asks, and a
// request that is served goes on.
func TestWhoWaitsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	begun, end, ended := make(chan bool), make(chan bool), make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			begun <- true
			<-end
		}
	})}
	tellServed(server)
	listener := bounded(4, nil)(plain)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	open := func(from, send string) net.Conn {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}
		conn, err := dialer.DialContext(t.Context(), "tcp", plain.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, send)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
		return conn
	}
	answered := func(conn net.Conn) {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode)
	}
	const header = "GET / HTTP/1.1\r\nHost: x\r\n"
	long := open("127.0.0.2", "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
	<-begun
	first := open("127.0.0.3", header)
	for _, asks := range []string{"127.0.0.3", "127.0.0.4", "127.0.0.4", "127.0.0.5", "127.0.0.6"} {
		answered(open(asks, header+"\r\n"))
	}
	_, err = first.Read(make([]byte, 1))
	require.Error(t, err, "it waited for the longest time")
	close(end)
	answered(long)
}

// One address has half of the connections; closing one makes room. A proxy may have all.
func TestOneAddressHasHalf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		proxies []string
		most    int
	}{{nil, 2}, {[]string{"10.0.0.0/8", "::1"}, 2}, {[]string{"127.0.0.0/8"}, 4}} {
		plain, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listener := bounded(4, tt.proxies)(plain)
		accepted := make(chan net.Conn)
		go func() {
			defer close(accepted)
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				accepted <- conn
			}
		}()
		dial := func() net.Conn {
			conn, err := net.Dial("tcp", plain.Addr().String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			return conn
		}
		var open []net.Conn
		for range tt.most {
			dial()
			open = append(open, <-accepted)
		}
		if tt.most < 4 {
			_, err = dial().Read(make([]byte, 1))
			require.Error(t, err, "it is closed")
		}
		require.NoError(t, open[0].Close())
		_ = open[0].Close() // twice is once
		dial()
		open = append(open, <-accepted)
		for _, conn := range open[1:] {
			_ = conn.Close()
		}
		require.NoError(t, listener.Close())
		for range accepted { // until Accept has ended
			continue
		}
	}
}
