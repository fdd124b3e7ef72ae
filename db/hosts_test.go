package db_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func opened(t *testing.T, address *url.URL) *pgxpool.Pool {
	t.Helper()

	pool, err := db.Open(t.Context(), address.String(), 1)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// Hosts that refuse, do not answer, or are standbys are passed over.
func TestThePrimaryIsFoundAmongHosts(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(dbtest.Direct(t, dbtest.New(t)))
	require.NoError(t, err)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	u.Host = "127.0.0.1:1," + silent.Addr().String() + "," + u.Host
	q := u.Query()
	q.Set("target_session_attrs", "read-write")
	q.Set("connect_timeout", "1")
	u.RawQuery = q.Encode()
	servicetest.Undisturbed(t, func() error { return opened(t, u).Ping(t.Context()) })
}

// The host that was right at last is tried first: one that does not answer costs one connection, not each. Each host
// keeps its own configuration of TLS, or the certificate would be checked with the name of another.
func TestConnectionsBeginWithTheLastPrimary(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(dbtest.Direct(t, dbtest.New(t)))
	require.NoError(t, err)
	silent, err := net.Listen("tcp", "127.0.0.2:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	authority := servicetest.NewAuthority(t)
	const wait = 2 * time.Second
	for name, c := range map[string]struct {
		host string
		tls  url.Values
	}{
		"in clear":               {u.Host, url.Values{"sslmode": {"disable"}}},
		"TLS where it is spoken": {u.Host, url.Values{"sslmode": {"prefer"}}},
		"TLS": {
			authority.Front(u.Host, false, true),
			url.Values{"sslmode": {"verify-full"}, "sslrootcert": {authority.CA}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			u := *u
			u.Host = silent.Addr().String() + "," + c.host
			c.tls.Set("target_session_attrs", "read-write")
			c.tls.Set("connect_timeout", "2")
			u.RawQuery = c.tls.Encode()
			pool := opened(t, &u)
			ping := func() time.Duration {
				began := time.Now()
				require.NoError(t, pool.Ping(t.Context()))
				pool.Reset()
				return time.Since(began)
			}
			require.GreaterOrEqual(t, ping(), wait, "the first host was not waited for: this proves nothing")
			servicetest.Undisturbed(t, func() error {
				for range 3 {
					if took := ping(); took >= wait {
						return fmt.Errorf("a connection took %s", took)
					}
				}
				return nil
			})

			// The connection that listens is beside the pool.
			servicetest.Undisturbed(t, func() error {
				ctx, cancel := context.WithTimeout(t.Context(), wait)
				defer cancel()
				added := make(chan struct{})
				ended := make(chan error, 1)
				go func() { ended <- db.NewOutbox(pool).Wait(ctx, added) }()
				for {
					if _, err := pool.Exec(ctx, "NOTIFY outbox"); err != nil {
						<-ended
						return fmt.Errorf("it does not listen within the time that the first host takes: %w", err)
					}
					select {
					case <-added:
						cancel()
						require.Error(t, <-ended)
						return nil
					case <-time.After(50 * time.Millisecond):
					}
				}
			})
		})
	}
}

// Without target_session_attrs any host that answers is right, a standby too: the order of the url holds.
func TestConnectionsKeepTheOrderOfHosts(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(dbtest.Direct(t, dbtest.New(t)))
	require.NoError(t, err)
	closed, err := net.Listen("tcp", "127.0.0.3:0") // where no other test takes the port
	require.NoError(t, err)
	first := closed.Addr().String()
	require.NoError(t, closed.Close())
	u.Host = first + "," + u.Host
	pool := opened(t, u)
	require.NoError(t, pool.Ping(t.Context()))
	pool.Reset()
	listener, err := net.Listen("tcp", first)
	require.NoError(t, err)
	asked := make(chan struct{})
	go func() { // ends with the first connection
		if c, err := listener.Accept(); err == nil {
			close(asked)
			_ = c.Close()
		}
		_ = listener.Close()
	}()
	require.NoError(t, pool.Ping(t.Context()))
	select {
	case <-asked:
	default:
		require.Fail(t, "the first host was not tried")
	}
}

// A server that has become a standby refuses to write; its connection is given up for one with the primary.
func TestConnectionsOfAStandbyAreGivenUp(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(dbtest.Direct(t, dbtest.New(t)))
	require.NoError(t, err)
	pool := opened(t, u)
	writes := func() error {
		_, err := pool.Exec(t.Context(), "CREATE TEMPORARY TABLE IF NOT EXISTS t (n integer); DELETE FROM listings WHERE false")
		return err
	}
	require.NoError(t, writes())
	_, err = pool.Exec(t.Context(), "SET default_transaction_read_only = on")
	require.NoError(t, err)
	require.ErrorContains(t, writes(), "read-only transaction")
	require.NoError(t, writes(), "on a connection of its own")
}

// DATABASE_URL names certificates as libpq does: sslmode, sslrootcert, sslcert, sslkey.
func TestTLS(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(dbtest.Direct(t, dbtest.New(t)))
	require.NoError(t, err)
	service := u.Host
	ours, other := servicetest.NewAuthority(t), servicetest.NewAuthority(t)
	cert, key := ours.Issue("client")
	for name, c := range map[string]struct {
		clients  bool // need a certificate
		settings url.Values
		says     string // "" when it works
	}{
		"private authority":       {false, url.Values{"sslrootcert": {ours.CA}}, ""},
		"authority not named":     {false, url.Values{}, "unknown authority"},
		"another authority":       {false, url.Values{"sslrootcert": {other.CA}}, "unknown authority"},
		"client with certificate": {true, url.Values{"sslrootcert": {ours.CA}, "sslcert": {cert}, "sslkey": {key}}, ""},
		"client without":          {true, url.Values{"sslrootcert": {ours.CA}}, "certificate required"},
	} {
		c.settings.Set("sslmode", "verify-full")
		u.Host, u.RawQuery = ours.Front(service, c.clients, true), c.settings.Encode()
		err := opened(t, u).Ping(t.Context())
		if c.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
	}
}
