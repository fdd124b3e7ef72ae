package fetch_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// While name servers do not answer, only the first few hosts are charged with it, and one request at a time tries it.
func TestOutage(t *testing.T) {
	t.Parallel()

	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(site.Close)
	var at, lookups atomic.Int64
	outage := fetch.NewOutage(func() time.Time { return time.Unix(at.Load(), 0) })
	c := fetch.New(fetch.Options{
		AllowPrivate: []string{"127.0.0.1"}, Outage: outage,
		Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			lookups.Add(1)
			return nil, errors.New("network is unreachable")
		}},
	})
	t.Cleanup(c.Close)
	ask := func(url string) (fault.Class, time.Duration) {
		_, err := c.Ask(t.Context(), web.Request{URL: url})
		return fault.Of(err)
	}
	host := func(n int) string { return fmt.Sprintf("http://h%d.example/", n) }

	for range 10 {
		class, _ := ask(host(0))
		require.Equal(t, fault.Transient, class, "one host may be away, however often it is asked")
	}
	for n := range 4 {
		class, _ := ask(host(n))
		require.Equal(t, fault.Transient, class)
	}
	require.False(t, outage.Active())
	class, after := ask(host(4))
	require.Equal(t, fault.Limited, class)
	require.Equal(t, time.Second, after)
	require.True(t, outage.Active())
	tried := lookups.Load()
	class, _ = ask(host(5))
	require.Equal(t, fault.Limited, class)
	_, err := c.Ask(t.Context(), web.Request{URL: host(5)})
	require.ErrorIs(t, err, web.ErrNoNetwork)
	require.Equal(t, tried, lookups.Load(), "nothing is tried before its time")

	at.Add(1)
	class, after = ask(host(6))
	require.Equal(t, fault.Limited, class, "it is tried, and costs nothing")
	require.Greater(t, lookups.Load(), tried)
	require.Equal(t, 2*time.Second, after)
	at.Add(3601)
	class, _ = ask(host(7))
	require.Equal(t, fault.Transient, class, "hosts that are dead come to an end")
	class, _ = ask(host(8))
	require.Equal(t, fault.Limited, class)

	at.Add(30)
	class, _ = ask(site.URL)
	require.Empty(t, class)
	require.False(t, outage.Active())
	class, _ = ask(host(9))
	require.Equal(t, fault.Transient, class)
	// What was reached, or was never tried, does not count.
	for n := range 10 {
		class, _ = ask(fmt.Sprintf("http://10.0.0.%d/", n))
		require.Equal(t, fault.Invalid, class)
	}
	site.Close()
	for range 10 {
		ask(site.URL)
	}
	require.False(t, outage.Active())
}

// nowhere is the connection to a name server that knows no host.
func nowhere() net.Conn { return nameServer(func() bool { return false }) }

// nameServer is the connection to a name server to which all hosts called site.… are here, while it knows them, and that
// knows no other.
func nameServer(knows func() bool) net.Conn {
	ours, theirs := net.Pipe() // framed as TCP is: the length comes first
	go func() {
		defer func() { _ = theirs.Close() }()
		for {
			size := make([]byte, 2)
			if _, err := io.ReadFull(theirs, size); err != nil {
				return
			}
			m := make([]byte, binary.BigEndian.Uint16(size))
			if _, err := io.ReadFull(theirs, m); err != nil {
				return
			}
			m[2], m[3] = m[2]|0x80, m[3]&0xf0|3 // an answer: NXDOMAIN
			if bytes.HasPrefix(m[12:], []byte("\x04site")) && knows() {
				end := 12 + bytes.IndexByte(m[12:], 0) + 5 // of the question: name, type, class
				kind := m[end-3]
				m = m[:end:end]
				m[3], m[7], m[11] = m[3]&0xf0, 0, 0 // found, without an address …
				if kind == 1 {                      // … unless it is asked for one of IPv4
					m[7] = 1
					m = append(m, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
				}
				binary.BigEndian.PutUint16(size, uint16(len(m)))
			}
			if _, err := theirs.Write(append(size, m...)); err != nil {
				return
			}
		}
	}()
	return ours
}

// That hosts do not exist is neither an outage nor the end of one: a site whose hosts are all misspelt does not stop the
// others, and a resolver that knows no host while the network is away charges none with it.
func TestUnknownHostsAreNoOutage(t *testing.T) {
	t.Parallel()

	var at atomic.Int64
	var known atomic.Bool // whether the name server answers at all
	outage := fetch.NewOutage(func() time.Time { return time.Unix(at.Load(), 0) })
	c := fetch.New(fetch.Options{
		Outage: outage,
		Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			if known.Load() {
				return nowhere(), nil
			}
			return nil, errors.New("network is unreachable")
		}},
	})
	t.Cleanup(c.Close)
	ask := func(n int, unknown bool) (fault.Class, time.Duration) {
		known.Store(unknown)
		_, err := c.Ask(t.Context(), web.Request{URL: fmt.Sprintf("http://h%d.example./", n)})
		return fault.Of(err)
	}

	for n := range 20 {
		class, _ := ask(n, true)
		require.Equal(t, fault.Gone, class, "it is the host's")
	}
	require.False(t, outage.Active())
	for n := range 4 {
		class, _ := ask(n, false)
		require.Equal(t, fault.Transient, class)
	}
	class, _ := ask(30, true)
	require.Equal(t, fault.Gone, class)
	require.False(t, outage.Active(), "it is not the fifth host")
	class, _ = ask(4, false)
	require.Equal(t, fault.Limited, class, "and no answer of the network either")
	require.True(t, outage.Active())

	at.Add(1)
	class, _ = ask(31, true)
	require.Equal(t, fault.Limited, class, "it is not believed, and costs no attempt")
	require.True(t, outage.Active())
	at.Add(3600 + 30)
	class, _ = ask(32, true)
	require.Equal(t, fault.Gone, class, "hosts that are misspelt come to an end")
	require.True(t, outage.Active())
}

// A name server that knows nobody any more, not even those who answered before, is an outage. One that does not know
// a page's dead links is none, however many there are.
func TestANameServerThatKnowsNobodyIsAnOutage(t *testing.T) {
	t.Parallel()

	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(site.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	var at, lookups atomic.Int64
	var knows atomic.Bool
	outage := fetch.NewOutage(func() time.Time { return time.Unix(at.Load(), 0) })
	c := fetch.New(fetch.Options{
		AllowPrivate: []string{"site.one.example.", "site.two.example."}, Outage: outage,
		Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			lookups.Add(1)
			return nameServer(knows.Load), nil
		}},
	})
	t.Cleanup(c.Close)
	ask := func(url string) fault.Class {
		_, err := c.Ask(t.Context(), web.Request{URL: url})
		class, _ := fault.Of(err)
		return class
	}
	next := 0
	dead := func() fault.Class {
		next++
		return ask(fmt.Sprintf("http://h%d.example./", next))
	}

	for range 25 {
		require.Equal(t, fault.Gone, dead(), "no host has answered, so that nothing can be said of the name server")
	}
	knows.Store(true)
	require.Empty(t, ask("http://site.one.example.:"+port))
	require.Empty(t, ask("http://site.two.example.:"+port))
	for range 45 {
		require.Equal(t, fault.Gone, dead(), "the name server knows others")
	}
	require.False(t, outage.Active())

	require.Empty(t, ask("http://site.one.example.:"+port))
	knows.Store(false)
	for range 9 {
		require.Equal(t, fault.Gone, dead())
		require.Equal(t, fault.Gone, ask(fmt.Sprintf("http://h%d.example./", next)), "it counts once")
	}
	require.False(t, outage.Active())
	require.Equal(t, fault.Limited, dead())
	require.True(t, outage.Active())
	tried := lookups.Load()
	require.Equal(t, fault.Limited, dead())
	require.Equal(t, tried, lookups.Load(), "nothing is tried before its time")
	at.Add(1)
	require.Equal(t, fault.Limited, dead(), "it is tried, and costs nothing")
	require.Greater(t, lookups.Load(), tried)
	require.True(t, outage.Active())

	knows.Store(true)
	at.Add(30)
	require.Equal(t, fault.Gone, dead(), "the name server knows others again")
	require.False(t, outage.Active())

	knows.Store(false)
	for range 9 {
		require.Equal(t, fault.Gone, dead())
	}
	require.Equal(t, fault.Limited, dead())
	at.Add(3601)
	require.Equal(t, fault.Gone, dead(), "hosts that are misspelt come to an end")
	require.True(t, outage.Active())
	knows.Store(true)
	at.Add(30)
	require.Empty(t, ask("http://site.one.example.:"+port))
	require.False(t, outage.Active())
}
