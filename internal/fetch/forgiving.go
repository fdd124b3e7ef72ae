package fetch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"

	"golang.org/x/net/http/httpguts"
)

// malformed says whether an answer by HTTP/1 has a line among its fields that is none: net/http refuses the answer,
// browsers the line.
func malformed(err error) bool {
	var protocol textproto.ProtocolError
	return errors.As(err, &protocol)
}

// forgiving is a transport for one answer, which it reads without the lines of its head that are no fields.
func forgiving(t *http.Transport) *http.Transport {
	t = t.Clone()
	t.DisableKeepAlives, t.ForceAttemptHTTP2, t.HTTP2 = true, false, nil
	dial, config := t.DialContext, t.TLSClientConfig.Clone()
	config.NextProtos = nil // HTTP/1
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &forgivingConn{Conn: conn, wire: bufio.NewReader(conn)}, nil
	}
	t.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		config := config.Clone()
		if config.ServerName, _, err = net.SplitHostPort(addr); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		secure := tls.Client(conn, config)
		ctx, cancel := context.WithTimeout(ctx, t.TLSHandshakeTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return &forgivingConn{Conn: secure, wire: bufio.NewReader(secure)}, nil
	}
	return t
}

// A forgivingConn reads one answer: its head first, and those of 1xx before it.
type forgivingConn struct {
	net.Conn
	wire *bufio.Reader
	head []byte // that was read and not passed on yet
	body bool   // what follows is passed on as it comes
	kept bool   // the last field was, so that lines which continue it are too
}

func (c *forgivingConn) Read(p []byte) (int, error) {
	if len(c.head) == 0 && !c.body {
		if err := c.readHead(); err != nil {
			return 0, err
		}
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	return c.wire.Read(p)
}

// readHead reads the head of an answer, up to somewhat more than the transport takes.
func (c *forgivingConn) readHead() error {
	c.kept = false
	for n := 0; n <= 2*maxHeader; {
		line, err := c.wire.ReadSlice('\n')
		n += len(line)
		text := bytes.TrimRight(line, "\r\n")
		switch {
		case errors.Is(err, bufio.ErrBufferFull), errors.Is(err, io.EOF) && n > 0: // too long, or cut off: as it is
			c.head, c.body = append(c.head, line...), true
			return nil
		case err != nil:
			return err
		case len(c.head) == 0, len(text) == 0, c.keeps(text):
			c.head = append(c.head, line...)
		}
		if len(text) == 0 { // of 1xx another one follows
			status := bytes.Fields(c.head)
			c.body = len(status) < 2 || status[1][0] != '1'
			return nil
		}
	}
	c.body = true
	return nil
}

// keeps says whether a line is a field of a head, or goes on with one.
func (c *forgivingConn) keeps(line []byte) bool {
	if line[0] != ' ' && line[0] != '\t' {
		name, value, ok := bytes.Cut(line, []byte(":"))
		c.kept = ok && httpguts.ValidHeaderFieldName(string(bytes.TrimRight(name, " "))) &&
			httpguts.ValidHeaderFieldValue(string(value))
	}
	return c.kept
}
