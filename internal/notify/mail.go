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
	"net/smtp"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

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
	RootCAs *x509.CertPool // that its certificate is checked against; nil = the system's
	Now     func() time.Time
}

// Mail sends notices by SMTP, with one connection an e-mail.
type Mail struct {
	o        MailOptions
	host     string        // of the server
	address  string        // with its port
	implicit bool          // TLS from the first byte on
	tls      string        // of smtp://: required, optional or off
	user     *url.Userinfo // nil = the server is not told who sends
	from     *mail.Address // its domain in ASCII
}

// NewMail returns a sender. It opens nothing. The error quotes neither the URL nor what it holds.
func NewMail(o MailOptions) (*Mail, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("the URL of the mail server is not smtp[s]://[user:password@]host[:port]")
	}
	m := &Mail{o: o, host: u.Hostname(), implicit: u.Scheme == "smtps", tls: u.Query().Get("tls")}
	port := u.Port()
	switch {
	case port != "":
	case m.implicit:
		port = "465"
	default:
		port = "587"
	}
	m.address = net.JoinHostPort(m.host, port)
	ip, err := netip.ParseAddr(m.host)
	local := m.host == "localhost" || err == nil && ip.IsLoopback()
	if m.tls == "" {
		if m.tls = "required"; local {
			m.tls = "optional"
		}
	}
	_, has := u.User.Password()
	switch {
	case m.tls != "required" && m.tls != "optional" && m.tls != "off":
		return nil, errors.New("tls of the mail server is not required, optional or off")
	case u.User != nil && (u.User.Username() == "" || !has):
		return nil, errors.New("the URL of the mail server has a user without a password")
	case has && !local && !m.implicit && m.tls == "off":
		return nil, errors.New("the password of the mail server would travel in clear text")
	case has:
		m.user = u.User
	}
	m.from, err = mail.ParseAddress(o.From)
	if err == nil {
		local, domain := parted(m.from.Address)
		if strings.ContainsFunc(domain, func(r rune) bool { return r >= utf8.RuneSelf }) {
			domain, err = idna.Lookup.ToASCII(domain) // not every server takes the letters of one
		}
		m.from.Address = local + "@" + domain
	}
	if err != nil {
		return nil, errors.New("the sender of e-mails is not an address such as Homes <homes@example.org>")
	}
	return m, nil
}

// parted are the two parts of an address.
func parted(address string) (local, domain string) {
	at := strings.LastIndexByte(address, '@')
	return address[:at], address[at+1:]
}

// mailbox is an address as commands have it: a name with marks that mean something there is in quotes.
func mailbox(address string) string {
	return strings.Trim((&mail.Address{Address: address}).String(), "<>")
}

// Send sends a notice to its address. An address that does not exist is fault.Gone; what the server refuses for good
// otherwise of this recipient or message is fault.Blocked; any other failure may pass. No error quotes an address, or
// a text of the server, which may do so. What breaks off after the e-mail was handed over is sent again, under the same
// Message-ID.
func (m *Mail) Send(ctx context.Context, n saved.Notice) error {
	body, err := m.write(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	at, err := m.deliver(ctx, n.Address.Email, body)
	if err == nil {
		return nil
	}
	return refusal(at, err)
}

// The commands that an answer of the server is about.
const (
	atConnect  = "the connection"
	atTLS      = "STARTTLS"
	atAuth     = "AUTH"
	atSender   = "MAIL"
	atReceiver = "RCPT"
	atData     = "DATA"
)

// deliver hands a message to the server. at is the command that failed.
func (m *Mail) deliver(ctx context.Context, to string, body []byte) (at string, err error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", m.address)
	if err != nil {
		return atConnect, saved.ErrUnreached
	}
	defer raw.Close()
	defer context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })()
	config := &tls.Config{ServerName: m.host, RootCAs: m.o.RootCAs, MinVersion: tls.VersionTLS12}
	conn := raw
	if m.implicit {
		conn = tls.Client(raw, config)
	}
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return atConnect, err
	}
	_, domain := parted(m.from.Address)
	if err := c.Hello(domain); err != nil {
		return atConnect, err
	}
	if !m.implicit && m.tls != "off" {
		switch offered, _ := c.Extension("STARTTLS"); {
		case offered:
			if err := c.StartTLS(config); err != nil {
				return atTLS, err
			}
		case m.tls == "required":
			return atTLS, errors.New("it is not offered")
		}
	}
	if m.user != nil {
		if err := c.Auth(newCredentials(m.user, m.host)); err != nil {
			return atAuth, err
		}
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
	if _, err := w.Write(body); err != nil {
		return atData, err
	}
	if err := w.Close(); err != nil {
		return atData, err
	}
	_ = c.Quit() // it has taken the message
	return "", nil
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
	if !errors.As(err, &answer) {
		return fmt.Errorf("the mail server failed at %s", at)
	}
	if status := enhanced.FindString(answer.Msg); status != "" {
		return fmt.Errorf("the mail server answered %d %s to %s", answer.Code, status, at)
	}
	return fmt.Errorf("the mail server answered %d to %s", answer.Code, at)
}
