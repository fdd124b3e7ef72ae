package db

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// hosts remembers which host of a url was right at last, and has the next connection try it first. In the order of the
// url each one would wait for a host that drops packets, for hostTimeout, as long as that is away.
type hosts struct {
	mu     sync.Mutex
	looked map[string][]string // the addresses of each host, of its last lookup
	right  pgconn.FallbackConfig
}

// remember makes the connections of conf try the host first that was right at last, where its url names several and
// says which is right (target_session_attrs): without that a standby would be kept after its primary is back.
func remember(conf *pgxpool.Config) {
	if conf.ConnConfig.ValidateConnect == nil || !severalHosts(conf.ConnConfig) {
		return
	}
	h := &hosts{looked: map[string][]string{}}
	lookup := conf.ConnConfig.LookupFunc
	conf.ConnConfig.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		addresses, err := lookup(ctx, host)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.looked[host] = addresses
		return addresses, err
	}
	all := candidates(conf.ConnConfig)
	conf.ConnConfig.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		h.connected(all, conn.Conn().RemoteAddr())
		return nil
	}
	conf.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) error {
		h.order(conn)
		return nil
	}
}

// candidates are all hosts of a url in the order in which they are tried, each with its own configuration of TLS. One
// is there twice where it is tried with TLS and without.
func candidates(conf *pgx.ConnConfig) []*pgconn.FallbackConfig {
	first := &pgconn.FallbackConfig{Host: conf.Host, Port: conf.Port, TLSConfig: conf.TLSConfig}
	return append([]*pgconn.FallbackConfig{first}, conf.Fallbacks...)
}

// connected notes the host that an address is of.
func (h *hosts) connected(all []*pgconn.FallbackConfig, address net.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range all {
		if network, at := pgconn.NetworkAddress(c.Host, c.Port); network == "unix" && at == address.String() {
			h.right = *c
			return
		}
		for _, ip := range h.looked[c.Host] {
			if net.JoinHostPort(ip, strconv.Itoa(int(c.Port))) == address.String() {
				h.right = *c
				return
			}
		}
	}
}

// order puts the host that was right at last before the others, which keep their order.
func (h *hosts) order(conf *pgx.ConnConfig) {
	h.mu.Lock()
	right := h.right
	h.mu.Unlock()
	rank := func(c *pgconn.FallbackConfig) int {
		if c.Host == right.Host && c.Port == right.Port {
			return 0
		}
		return 1
	}
	all := candidates(conf)
	slices.SortStableFunc(all, func(a, b *pgconn.FallbackConfig) int { return cmp.Compare(rank(a), rank(b)) })
	conf.Host, conf.Port, conf.TLSConfig = all[0].Host, all[0].Port, all[0].TLSConfig
	conf.Fallbacks = all[1:]
}
