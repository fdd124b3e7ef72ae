package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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
