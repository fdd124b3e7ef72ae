package main

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// bounded accepts connections while fewer than most are open. A further one takes the place of one on which no request
// is served, so that whoever only keeps connections open keeps nobody out. Where all are served it waits, and those
// after it in the kernel. One address has at most half of them; proxies, which are addresses and networks, may have
// all. The server that accepts them is one of tellServed.
func bounded(most int, proxies []string) func(net.Listener) net.Listener {
	l := &shares{most: most, open: map[*share]bool{}, of: map[netip.Prefix]int{}}
	l.changed = sync.NewCond(&l.mu)
	for _, s := range proxies {
		p, err := netip.ParsePrefix(s)
		if ip, notNetwork := netip.ParseAddr(s); err != nil && notNetwork == nil {
			p = netip.PrefixFrom(ip, ip.BitLen())
		}
		l.proxies = append(l.proxies, p)
	}
	return func(from net.Listener) net.Listener {
		l.Listener = modest{from}
		return l
	}
}

// shares is a listener that closes connections of an address that has its share open.
type shares struct {
	net.Listener
	most    int
	proxies []netip.Prefix

	mu      sync.Mutex
	changed *sync.Cond // one was closed, or is not served any more, or the listener is closed
	closed  bool
	turn    int // of waits, for their order
	open    map[*share]bool
	of      map[netip.Prefix]int // by address; of IPv6, by the network of 64 bits that one caller has
}

// A share is a connection that is counted until it is closed.
type share struct {
	net.Conn
	in     *shares
	from   netip.Prefix
	served bool // it has a request whose response is not written; or, not served, it waits since the turn
	since  int
}

// Accept implements net.Listener.
func (l *shares) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		s := &share{Conn: conn, in: l}
		if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			ip := tcp.AddrPort().Addr().Unmap().WithZone("")
			s.from, _ = ip.Prefix(min(ip.BitLen(), 64)) // never more bits than the address has
		}
		if l.take(s) {
			return s, nil
		}
		_ = conn.Close()
	}
}

// Close implements net.Listener.
func (l *shares) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.changed.Broadcast()
	return l.Listener.Close()
}

// take counts a connection, as soon as there is a place for it. It does not where its address has its share open.
func (l *shares) take(s *share) bool {
	proxy := slices.ContainsFunc(l.proxies, func(p netip.Prefix) bool { return p.Contains(s.from.Addr()) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if !proxy && l.of[s.from] >= l.most/2 {
		return false
	}
	for len(l.open) >= l.most && !l.closed {
		if idle := l.idlest(); idle != nil {
			l.leave(idle)
			_ = idle.Conn.Close() // its server sees that
		} else {
			l.changed.Wait()
		}
	}
	l.turn++
	l.open[s], s.since = true, l.turn
	l.of[s.from]++
	return !l.closed
}

// idlest is the connection that waits the longest for a request, of the address that has most of those; nil where all
// are served. The caller of it and of leave holds the lock.
func (l *shares) idlest() (out *share) {
	waits := map[netip.Prefix]int{}
	for s := range l.open {
		if !s.served {
			waits[s.from]++
		}
	}
	for s := range l.open {
		if !s.served && (out == nil ||
			cmp.Or(cmp.Compare(waits[out.from], waits[s.from]), cmp.Compare(s.since, out.since)) < 0) {
			out = s
		}
	}
	return out
}

func (l *shares) leave(s *share) {
	if !l.open[s] {
		return
	}
	delete(l.open, s)
	if l.of[s.from]--; l.of[s.from] == 0 {
		delete(l.of, s.from)
	}
	l.changed.Signal()
}

// Close implements net.Conn.
func (s *share) Close() error {
	s.in.mu.Lock()
	s.in.leave(s)
	s.in.mu.Unlock()
	return s.Conn.Close()
}

// serve says that a request was read of the connection, or that its response is written.
func (s *share) serve(begun bool) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	if s.served = begun; !begun {
		s.in.turn++
		s.since = s.in.turn
		s.in.changed.Signal()
	}
}

// connKey is that of the connection in the context of a request.
type connKey struct{}

// tellServed has a server tell its connections when they are served: from the end of a request's header, so that one
// that is sent slowly does not count, to the end of its response.
func tellServed(server *http.Server) {
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s, ok := r.Context().Value(connKey{}).(*share); ok {
			s.serve(true)
		}
		handler.ServeHTTP(w, r)
	})
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if s, ok := c.(*share); ok && state == http.StateIdle {
			s.serve(false)
		}
	}
}
