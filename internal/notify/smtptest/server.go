// Package smtptest is an SMTP server for tests. It keeps what it takes, and misbehaves on script.
package smtptest

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Trick is what the server does at a command of one connection: at CONNECT, EHLO, AUTH, MAIL, RCPT, DATA, or END, the
// dot after the message.
type Trick struct {
	At     string
	Answer string // in place of its own, such as "550 5.1.1 no"
	Hang   bool   // it does not answer
	Drop   bool   // it closes the connection; at END it has taken the message
}

// An Email is what the server has taken.
type Email struct {
	From, To string // of the envelope
	TLS      bool
	Auth     string // the credentials, as they were sent
	Text     string // of the whole message
}

// Message parses the message.
func (e Email) Message(t *testing.T) *mail.Message {
	t.Helper()

	m, err := mail.ReadMessage(strings.NewReader(e.Text))
	require.NoError(t, err)
	return m
}

// Options are the abilities of a Server.
type Options struct {
	StartTLS bool // it offers STARTTLS
	Implicit bool // it speaks TLS from the first byte on
	Auth     bool // it offers AUTH PLAIN
	Login    bool // it offers AUTH LOGIN
	Cram     bool // it offers AUTH CRAM-MD5
	Lower    bool // it writes what it offers in lower case
}

// A Server listens on the loopback interface until its test ends.
type Server struct {
	Address string         // host:port
	Roots   *x509.CertPool // that its certificate is of

	o      Options
	config *tls.Config

	mu     sync.Mutex
	tricks []Trick
	taken  []Email
	open   map[net.Conn]bool
}

// New starts a server.
func New(t *testing.T, o Options) *Server {
	t.Helper()

	lender := httptest.NewTLSServer(http.NotFoundHandler()) // of its certificate
	defer lender.Close()
	s := &Server{o: o, Roots: x509.NewCertPool(), open: map[net.Conn]bool{}}
	s.Roots.AddCert(lender.Certificate())
	s.config = &tls.Config{Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS12}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.Address = l.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.keep(conn, true)
			serving.Go(func() {
				defer s.keep(conn, false)
				s.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for conn := range s.open {
			_ = conn.Close()
		}
		s.mu.Unlock()
		serving.Wait()
	})
	return s
}

func (s *Server) keep(conn net.Conn, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open {
		s.open[conn] = true
		return
	}
	delete(s.open, conn)
	_ = conn.Close()
}

// Play gives the next connections a trick each; those after them have none.
func (s *Server) Play(tricks ...Trick) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tricks = append(s.tricks, tricks...)
}

// Taken returns the e-mails so far.
func (s *Server) Taken() []Email {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Email(nil), s.taken...)
}

func (s *Server) serve(conn net.Conn) {
	c := &session{Server: s, conn: conn, email: Email{TLS: s.o.Implicit}}
	s.mu.Lock()
	if len(s.tricks) > 0 {
		c.trick, s.tricks = s.tricks[0], s.tricks[1:]
	}
	s.mu.Unlock()
	if s.o.Implicit {
		c.conn = tls.Server(conn, s.config)
	}
	c.text = textproto.NewConn(c.conn)
	for more := c.say("CONNECT", "220 smtptest ESMTP"); more; {
		line, err := c.text.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		more = c.answer(strings.ToUpper(verb), rest)
	}
}

// A session is one connection of a client.
type session struct {
	*Server

	conn  net.Conn
	text  *textproto.Conn
	trick Trick
	email Email // as far as it is told
}

// say answers, unless the trick is for this command; it is false when the connection is over.
func (c *session) say(at, answer string) bool {
	switch {
	case c.trick.At != at:
	case c.trick.Hang:
		_, _ = io.Copy(io.Discard, bufio.NewReader(c.conn)) // until the client gives up
		return false
	case c.trick.Drop:
		return false
	default:
		answer = c.trick.Answer
	}
	return c.text.PrintfLine("%s", answer) == nil
}

// answer answers a command; it is false when the connection is over.
func (c *session) answer(verb, rest string) bool {
	switch verb {
	case "EHLO", "HELO":
		for _, can := range c.offers(c.email.TLS) {
			if c.text.PrintfLine("250-%s", can) != nil {
				return false
			}
		}
		return c.say("EHLO", "250 8BITMIME")
	case "STARTTLS":
		if !c.say("STARTTLS", "220 go on") {
			return false
		}
		c.conn = tls.Server(c.conn, c.config)
		c.text, c.email.TLS = textproto.NewConn(c.conn), true
		return true
	case "AUTH":
		c.email.Auth = rest
		for _, asks := range map[string][]string{"LOGIN": {"Username:", "Password:"}, "CRAM-MD5": {"<1@smtptest>"}}[rest] {
			_ = c.text.PrintfLine("334 %s", base64.StdEncoding.EncodeToString([]byte(asks)))
			said, err := c.text.ReadLine()
			if err != nil {
				return false
			}
			c.email.Auth += " " + said
		}
		return c.say("AUTH", "235 2.7.0 welcome")
	case "MAIL":
		c.email.From = address(rest)
		return c.say("MAIL", "250 2.1.0 sender ok")
	case "RCPT":
		c.email.To = address(rest)
		return c.say("RCPT", "250 2.1.5 recipient ok")
	case "DATA":
		return c.data()
	case "QUIT":
		_ = c.text.PrintfLine("221 bye")
		return false
	}
	return c.text.PrintfLine("500 5.5.1 what?") == nil
}

// data takes the text of an e-mail.
func (c *session) data() bool {
	if more := c.say("DATA", "354 go on"); !more || c.trick.At == "DATA" {
		return more
	}
	body, err := c.text.ReadDotBytes()
	if err != nil {
		return false
	}
	c.email.Text = string(body)
	if c.trick.At != "END" || c.trick.Drop {
		c.mu.Lock()
		c.taken = append(c.taken, c.email)
		c.mu.Unlock()
	}
	return c.say("END", "250 2.0.0 taken")
}

// offers are the lines of its answer to EHLO, but for the last one.
func (s *Server) offers(encrypted bool) []string {
	lines, auth := []string{"smtptest"}, "AUTH"
	if s.o.StartTLS && !encrypted {
		lines = append(lines, "STARTTLS")
	}
	for _, way := range []struct {
		offered bool
		name    string
	}{{s.o.Auth, "PLAIN"}, {s.o.Login, "LOGIN"}, {s.o.Cram, "CRAM-MD5"}} {
		if way.offered {
			auth += " " + way.name
		}
	}
	if auth != "AUTH" {
		lines = append(lines, auth)
	}
	if s.o.Lower {
		for i := range lines {
			lines[i] = strings.ToLower(lines[i])
		}
	}
	return lines
}

// address is the one between angle brackets.
func address(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}
