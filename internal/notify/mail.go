package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/textproto"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// MailOptions are the settings of Mail.
type MailOptions struct {
	// URL is smtp://[user:password@]host[:port] or smtps://…, by default on port 587 or 465. With smtp:// a server must
	// offer STARTTLS, unless it is on the loopback interface or ?tls=optional says so; ?tls=off does not ask for it.
	URL     string
	From    string // address that e-mails are from, with or without a name
	Links   string // URL of the API, which the links of e-mails lead to
	Timeout time.Duration
	Dial    gomail.DialContextFunc // nil = any address: an operator chose the server
	RootCAs *x509.CertPool         // that its certificate is checked against; nil = the system's
	Now     func() time.Time
}

// Mail sends notices by SMTP, with one connection an e-mail.
type Mail struct {
	o      MailOptions
	host   string          // of the server
	tls    *tls.Config     // of TLS from the first byte on; nil = STARTTLS or none
	client []gomail.Option // of every connection
	user   *url.Userinfo   // who logs in; nil: nobody does
	from   *mail.Address   // its domain in ASCII
}

// policies are what ?tls= says of STARTTLS.
var policies = map[string]gomail.TLSPolicy{
	"required": gomail.TLSMandatory, "optional": gomail.TLSOpportunistic, "off": gomail.NoTLS,
}

// NewMail returns a sender. It opens nothing. The error quotes neither the URL nor what it holds.
func NewMail(o MailOptions) (*Mail, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("the URL of the mail server is not smtp[s]://[user:password@]host[:port]")
	}
	implicit, ask := u.Scheme == "smtps", u.Query().Get("tls")
	port := gomail.DefaultPortTLS
	if implicit {
		port = gomail.DefaultPortSSL
	}
	if p := u.Port(); p != "" {
		if port, err = strconv.Atoi(p); err != nil || port < 1 || port > 65535 {
			return nil, errors.New("the port of the mail server is not one")
		}
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	m := &Mail{o: o, host: u.Hostname(), user: u.User}
	ip, err := netip.ParseAddr(m.host)
	local := m.host == "localhost" || err == nil && ip.IsLoopback()
	if ask == "" {
		if ask = "required"; local {
			ask = "optional"
		}
	}
	policy, known := policies[ask]
	_, has := u.User.Password()
	switch {
	case !known:
		return nil, errors.New("tls of the mail server is not required, optional or off")
	case u.User != nil && (u.User.Username() == "" || !has):
		return nil, errors.New("the URL of the mail server has a user without a password")
	case has && !local && !implicit && policy == gomail.NoTLS:
		return nil, errors.New("the password of the mail server would travel in clear text")
	case has && !local:
		// Without TLS a challenge of NTLM or CRAM-MD5 would be answered, by which who listens can guess the password.
		policy = gomail.TLSMandatory
	}
	wrong := errors.New("the sender of e-mails is not an address such as Homes <homes@example.org>")
	if m.from, err = mail.ParseAddress(o.From); err != nil {
		return nil, wrong
	}
	name, domain := parted(m.from.Address)
	if !ascii(domain) {
		if domain, err = idna.Lookup.ToASCII(domain); err != nil { // not every server takes the letters of one
			return nil, wrong
		}
	}
	m.from.Address = name + "@" + domain
	config := &tls.Config{ServerName: m.host, RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12}
	m.client = []gomail.Option{
		gomail.WithPort(port), gomail.WithHELO(domain), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(config),
	}
	if implicit {
		m.tls = config
		m.client = append(m.client, gomail.WithSSL())
	}
	return m, nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// parted are the two parts of an address.
func parted(address string) (local, domain string) {
	at := strings.LastIndexByte(address, '@')
	return address[:at], address[at+1:]
}

// mailbox is an address as commands have it: a name with marks that mean something there is in quotes.
func mailbox(address string) string { return (&mail.Address{Address: address}).String() }

// Send sends a notice to its address. An address that does not exist is fault.Gone; what the server refuses for good
// otherwise of this recipient or message is fault.Blocked; any other failure may pass. No error quotes an address, or
// a text of the server, which may do so. What breaks off after the e-mail was handed over is sent again, under the same
// Message-ID.
func (m *Mail) Send(ctx context.Context, n saved.Notice) error {
	letter, err := m.write(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	at, err := m.deliver(ctx, n.Address.Email, letter)
	if err == nil {
		return nil
	}
	return refusal(at, err)
}

// The commands that an answer of the server is about.
const (
	atStart    = "the connection, STARTTLS or AUTH"
	atSender   = "MAIL"
	atReceiver = "RCPT"
	atData     = "DATA"
)

// deliver hands an e-mail to the server; the end of ctx closes the connection. at is the command that failed. The
// library's own Send keeps answers to itself, and their status where a server does not announce that it has one: the
// commands of the e-mail are given here.
func (m *Mail) deliver(ctx context.Context, to string, letter *gomail.Msg) (at string, err error) {
	client, err := gomail.NewClient(m.host, append([]gomail.Option{
		gomail.WithTimeout(m.o.Timeout), gomail.WithDialContextFunc(m.dialer(ctx)),
	}, m.client...)...)
	if err != nil {
		return atStart, err
	}
	c, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return atStart, err
	}
	if err := m.logIn(c); err != nil {
		return atStart, err
	}
	if err := c.Mail(mailbox(m.from.Address)); err != nil {
		return atSender, err
	}
	if err := c.Rcpt(mailbox(to)); err != nil {
		return atReceiver, err
	}
	w, err := c.Data()
	if err != nil {
		return atData, err
	}
	if _, err := letter.WriteTo(w); err != nil {
		return atData, err
	}
	if err := w.Close(); err != nil {
		return atData, err
	}
	_ = c.Quit() // it has taken the message
	return "", nil
}

// dialer connects until the end of ctx, which is that of an e-mail, and not only that of its connection.
func (m *Mail) dialer(ctx context.Context) gomail.DialContextFunc {
	return func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := m.o.Dial(dialing, network, address)
		if err != nil {
			return nil, saved.ErrUnreached
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		conn = &terse{conn, mostSaid}
		if m.tls != nil {
			return tls.Client(conn, m.tls), nil
		}
		return conn, nil
	}
}

// mostSaid is how many bytes a mail server may say of an e-mail, TLS included: an answer is held until it ends.
const mostSaid = 256 << 10

// terse is a connection on which no more than left bytes are read.
type terse struct {
	net.Conn

	left int
}

var errSaysTooMuch = fmt.Errorf("the mail server says more than %d bytes", mostSaid)

func (c *terse) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, errSaysTooMuch
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// enhanced is the status of RFC 3463 that begins an answer.
var enhanced = regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`)

// nobody are the statuses of addresses that do not exist, or do not any more.
var nobody = map[string]bool{"5.1.1": true, "5.1.2": true, "5.1.6": true, "5.1.10": true, "5.2.1": true}

// late are those of nobody that count after the message, too: some servers look the recipient up only then. 5.2.1 may
// be about how much the recipient is sent by then, and 5.1.2 about the name server of a relay.
var late = map[string]bool{"5.1.1": true, "5.1.6": true, "5.1.10": true}

// An unheard is a failure before the server was told of the recipient: it is saved.ErrUnreached, in words of its own.
type unheard struct{ error }

// Is implements errors.Is.
func (unheard) Is(target error) bool { return target == saved.ErrUnreached }

// refusal classifies a failure. What the server says of us, and not of the recipient, an operator can mend: until then,
// it costs no e-mail its tries.
func refusal(at string, err error) error {
	var answer *textproto.Error
	if errors.Is(err, saved.ErrUnreached) {
		return fault.Newf(fault.Transient, "the mail server %w", err)
	}
	if at != atReceiver && at != atData {
		return &fault.Error{Class: fault.Transient, Err: unheard{said(at, err)}}
	}
	if !errors.As(err, &answer) {
		return &fault.Error{Class: fault.Transient, Err: said(at, err)}
	}
	status, cause := enhanced.FindString(answer.Msg), said(at, err)
	switch {
	case answer.Code < 500:
		return &fault.Error{Class: fault.Transient, Err: cause}
	case at == atReceiver && nobody[status], late[status]:
		return &fault.Error{Class: fault.Gone, Err: cause}
	}
	return &fault.Error{Class: fault.Blocked, Err: cause}
}

// said is a failure without the text of the server.
func said(at string, err error) error {
	var answer *textproto.Error
	var stranger *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errSaysTooMuch):
		return errSaysTooMuch
	case errors.As(err, &stranger):
		return errors.New("the mail server has a certificate that is not valid for it")
	case !errors.As(err, &answer):
		return fmt.Errorf("the mail server failed at %s", at)
	}
	if status := enhanced.FindString(answer.Msg); status != "" {
		return fmt.Errorf("the mail server answered %d %s to %s", answer.Code, status, at)
	}
	return fmt.Errorf("the mail server answered %d to %s", answer.Code, at)
}
