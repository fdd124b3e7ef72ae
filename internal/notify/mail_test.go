package notify_test

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/notify"
	"github.com/mtlrent/conveyor/internal/notify/smtptest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// mailer sends to a server by a URL, in which HOST stands for its address.
func mailer(t *testing.T, s *smtptest.Server, address string, timeout time.Duration) *notify.Mail {
	t.Helper()

	m, err := notify.NewMail(notify.MailOptions{
		URL: strings.Replace(address, "HOST", s.Address, 1), From: "Logements Québec <homes@conveyor.example>",
		Links: "https://api.example/", Timeout: timeout, RootCAs: s.Roots, Now: func() time.Time { return noon },
	})
	require.NoError(t, err)
	return m
}

// parts returns the subject of an e-mail and its text and HTML, and requires that it has both.
func parts(t *testing.T, e smtptest.Email) (subject, plain, page string) {
	t.Helper()

	m := e.Message(t)
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	require.NoError(t, err)
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/alternative", kind)
	r := multipart.NewReader(m.Body, params["boundary"])
	var bodies []string
	for _, want := range []string{"text/plain; charset=UTF-8", "text/html; charset=UTF-8"} {
		p, err := r.NextRawPart()
		require.NoError(t, err)
		require.Equal(t, want, p.Header.Get("Content-Type"))
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		require.NoError(t, err)
		bodies = append(bodies, string(body))
	}
	_, err = r.NextPart()
	require.ErrorIs(t, err, io.EOF)
	return subject, bodies[0], bodies[1]
}

func dropped() saved.Notice {
	return saved.Notice{
		ID: uuid.MustParse("0b5f0c9e-52e7-4a35-8f0b-5d1c5f0c7a11"), Name: "Plateau", Language: saved.English,
		Address: saved.Address{Email: "jo@example.org", Token: "t0ken"},
		Items: []saved.Item{{
			Kind: saved.PriceDrop, Title: "4½ <b>near</b>\r\nBcc: all@example.org", RentCents: 139_000,
			OldRentCents: new(int64(145_000)), Address: "4000 Rue Saint-Denis", District: "Plateau-Mont-Royal",
			URL: "https://www.kijiji.ca/v-1?a=1&b=2", Offered: true,
		}},
	}
}

// An e-mail has what changed, in text and HTML, and the ways to stop it; what an advert says is only text.
func TestMail(t *testing.T) {
	t.Parallel()
	s := smtptest.New(t, smtptest.Options{StartTLS: true, Auth: true})
	m := mailer(t, s, "smtp://me:pa%20ss@HOST?tls=required", 20*time.Second)
	require.NoError(t, m.Send(t.Context(), dropped()))
	require.Len(t, s.Taken(), 1)
	e := s.Taken()[0]
	require.True(t, e.TLS)
	require.Equal(t, "PLAIN AG1lAHBhIHNz", e.Auth)
	require.Equal(t, []string{"homes@conveyor.example", "jo@example.org"}, []string{e.From, e.To})
	h := e.Message(t).Header
	require.Equal(t, "<0b5f0c9e-52e7-4a35-8f0b-5d1c5f0c7a11@conveyor.example>", h.Get("Message-ID"))
	require.Equal(t, "<https://api.example/subscriptions/t0ken/unsubscribe>", h.Get("List-Unsubscribe"))
	require.Equal(t, "List-Unsubscribe=One-Click", h.Get("List-Unsubscribe-Post"))
	require.Equal(t, "<jo@example.org>", h.Get("To"))
	require.Empty(t, h.Get("Bcc"))
	for line := range strings.SplitSeq(e.Text, "\n") {
		require.LessOrEqual(t, len(line), 998)
	}
	subject, plain, page := parts(t, e)
	require.Equal(t, "Price drop: 4½ <b>near</b> Bcc: all@example.org, 1,390 $ a month instead of 1,450 $", subject)
	for _, want := range []string{"4000 Rue Saint-Denis (Plateau-Mont-Royal)", "1,450 $ → 1,390 $"} {
		require.Contains(t, plain, want)
		require.Contains(t, page, want)
	}
	require.Contains(t, plain, "\nhttps://www.kijiji.ca/v-1?a=1&b=2\n")
	require.Contains(t, page, `<a href="https://www.kijiji.ca/v-1?a=1&amp;b=2"><b>Price drop: 4½ &lt;b&gt;near`)
	for _, body := range []string{plain, page} {
		require.Contains(t, body, "https://api.example/subscriptions/t0ken/unsubscribe")
		require.NotContains(t, body, "/confirm")
	}
	require.NotContains(t, page, "<b>near")

	n := dropped()
	n.Language, n.Items = saved.French, append(n.Items, saved.Item{
		Kind: saved.New, Title: "Loft", RentCents: 123_450, URL: "javascript:alert(1)", District: "Mile End",
	})
	require.NoError(t, m.Send(t.Context(), n))
	subject, plain, page = parts(t, s.Taken()[1])
	require.Equal(t, "2 logements : Plateau", subject)
	require.Contains(t, plain, "Nouveau : Loft, 1\u00a0234,50\u00a0$ par mois\nMile End\nn’est plus offert")
	require.NotContains(t, plain+page, "javascript")
}

// A server that offers no PLAIN is told who sends by LOGIN, and one that offers neither by what it does offer.
func TestMailLogin(t *testing.T) {
	t.Parallel()
	s := smtptest.New(t, smtptest.Options{StartTLS: true, Login: true})
	require.NoError(t, mailer(t, s, "smtp://me:pa%20ss@HOST?tls=required", 20*time.Second).Send(t.Context(), dropped()))
	require.True(t, s.Taken()[0].TLS)
	require.Equal(t, "LOGIN bWU= cGEgc3M=", s.Taken()[0].Auth)
	s = smtptest.New(t, smtptest.Options{StartTLS: true, Cram: true})
	require.NoError(t, mailer(t, s, "smtp://me:pa%20ss@HOST?tls=required", 20*time.Second).Send(t.Context(), dropped()))
	require.True(t, s.Taken()[0].TLS)
	require.Contains(t, s.Taken()[0].Auth, "CRAM-MD5 ")
}

// A server may name what it offers in lower case.
func TestMailLoginInLowerCase(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]smtptest.Options{
		"PLAIN AG1lAHBhIHNz":  {StartTLS: true, Auth: true, Login: true, Lower: true},
		"LOGIN bWU= cGEgc3M=": {StartTLS: true, Login: true, Cram: true, Lower: true},
		"CRAM-MD5 ":           {StartTLS: true, Cram: true, Lower: true},
	} {
		s := smtptest.New(t, o)
		require.NoError(t, mailer(t, s, "smtp://me:pa%20ss@HOST", 20*time.Second).Send(t.Context(), dropped()), want)
		require.True(t, s.Taken()[0].TLS)
		require.True(t, strings.HasPrefix(s.Taken()[0].Auth, want), s.Taken()[0].Auth)
	}
	s := smtptest.New(t, smtptest.Options{StartTLS: true})
	err := mailer(t, s, "smtp://me:hunter2@HOST", 20*time.Second).Send(t.Context(), dropped())
	require.ErrorIs(t, err, saved.ErrUnreached)
	require.Empty(t, s.Taken(), "a server that offers no way to log in")
}

// However the address of the API is written, the header has that of the page that stops a target, in one line.
func TestMailLinks(t *testing.T) {
	t.Parallel()
	long := "https://homes.example/" + strings.Repeat("path/", 120)
	for api, want := range map[string]string{
		"HTTPS://Homes.Example/API/":       "https://Homes.Example/API",
		"Http://127.0.0.1:8080":            "http://127.0.0.1:8080",
		"https://québec.example/logements": "https://xn--qubec-csa.example/logements",
		"https://québec.example:8443/é":    "https://xn--qubec-csa.example:8443/%C3%A9",
		"https://[2001:DB8::1]:8080/a%20b": "https://[2001:DB8::1]:8080/a%20b",
		long:                               strings.TrimSuffix(long, "/"),
	} {
		s := smtptest.New(t, smtptest.Options{})
		m, err := notify.NewMail(notify.MailOptions{
			URL: "smtp://" + s.Address, From: "homes@conveyor.example", Links: api, Timeout: 20 * time.Second,
			Now: func() time.Time { return noon },
		})
		require.NoError(t, err)
		require.NoError(t, m.Send(t.Context(), dropped()))
		e := s.Taken()[0]
		want += "/subscriptions/t0ken/unsubscribe"
		require.Contains(t, e.Text, "List-Unsubscribe: <"+want+">\n")
		require.Equal(t, "List-Unsubscribe=One-Click", e.Message(t).Header.Get("List-Unsubscribe-Post"))
		for line := range strings.SplitSeq(e.Text, "\n") {
			require.LessOrEqual(t, len(line), 998)
		}
		_, plain, page := parts(t, e)
		require.Contains(t, plain, want)
		require.Contains(t, page, want)
	}
}

// A password goes to no other machine in clear text, nor an answer that is made of it, whatever the server offers.
func TestMailPassword(t *testing.T) {
	t.Parallel()
	for _, o := range []smtptest.Options{{Auth: true}, {Login: true}, {Cram: true}, {Auth: true, StartTLS: true}} {
		s := smtptest.New(t, o)
		m, err := notify.NewMail(notify.MailOptions{
			URL: "smtp://me:hunter2@mail.example?tls=optional", From: "homes@conveyor.example", Timeout: 20 * time.Second,
			Now: func() time.Time { return noon },
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				require.Equal(t, "mail.example:587", address)
				return new(net.Dialer).DialContext(ctx, network, s.Address)
			},
		})
		require.NoError(t, err)
		err = m.Send(t.Context(), dropped())
		require.ErrorIs(t, err, saved.ErrUnreached)
		require.Equal(t, fault.Transient, fault.ClassOf(err))
		require.NotContains(t, err.Error(), "hunter2")
		require.Empty(t, s.Taken())
	}
}

// However long a subject is in the letters of e-mails, no line is longer than servers take.
func TestMailSubject(t *testing.T) {
	t.Parallel()
	s := smtptest.New(t, smtptest.Options{})
	for n, letter := range []string{"家", "🏠", "é ", "a "} {
		notice := dropped()
		notice.Items[0].Title = strings.Repeat(letter, 150)
		require.NoError(t, mailer(t, s, "smtp://HOST", 20*time.Second).Send(t.Context(), notice))
		e := s.Taken()[n]
		for line := range strings.SplitSeq(e.Text, "\n") {
			require.LessOrEqual(t, len(line), 200, line)
		}
		subject, _, _ := parts(t, e)
		require.Equal(t, notice.Letter().Subject, subject)
	}
}

// Commands have addresses in their own form: a name with an at sign is in quotes, or the e-mail could go elsewhere, and
// a domain of other letters is in ASCII.
func TestMailAddresses(t *testing.T) {
	t.Parallel()
	s := smtptest.New(t, smtptest.Options{})
	m, err := notify.NewMail(notify.MailOptions{
		URL: "smtp://" + s.Address, From: "Logements <homes@québec.example>", Timeout: 20 * time.Second,
		Now: func() time.Time { return noon },
	})
	require.NoError(t, err)
	for n, tt := range [][2]string{
		{"jo+homes@example.org", "jo+homes@example.org"}, {"a@b.example@example.org", `"a@b.example"@example.org`},
		{"a..b@example.org", `"a..b"@example.org`},
	} {
		notice := dropped()
		notice.Address.Email = tt[0]
		require.NoError(t, m.Send(t.Context(), notice))
		e := s.Taken()[n]
		require.Equal(t, []string{"homes@xn--qubec-csa.example", tt[1]}, []string{e.From, e.To})
		h := e.Message(t).Header
		require.Equal(t, "<"+tt[1]+">", h.Get("To"))
		require.Equal(t, `"Logements" <homes@xn--qubec-csa.example>`, h.Get("From"))
		require.Equal(t, "<"+notice.ID.String()+"@xn--qubec-csa.example>", h.Get("Message-ID"))
	}
}

// The first e-mail asks for the confirmation of its address, and tells nothing of homes.
func TestMailConfirms(t *testing.T) {
	t.Parallel()
	s := smtptest.New(t, smtptest.Options{})
	n := dropped()
	n.Confirms, n.Items = true, nil
	require.NoError(t, mailer(t, s, "smtp://HOST", 20*time.Second).Send(t.Context(), n))
	subject, plain, page := parts(t, s.Taken()[0])
	require.Equal(t, "Please confirm: news of homes for rent", subject)
	for _, body := range []string{plain, page} {
		require.Contains(t, body, "https://api.example/subscriptions/t0ken/confirm")
		require.Contains(t, body, "https://api.example/subscriptions/t0ken/unsubscribe")
	}
}

// What a server says decides whether an e-mail is tried again. No error has the address or the server's text.
func TestMailRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		trick smtptest.Trick
		class fault.Class // "" = it is sent
		says  string
	}{
		"busy":       {smtptest.Trick{At: "CONNECT", Answer: "421 4.3.2 jo@example.org later"}, fault.Transient, "421"},
		"greylisted": {smtptest.Trick{At: "RCPT", Answer: "451 4.7.1 jo@example.org later"}, fault.Transient, "451 4.7.1 to RCPT"},
		"nobody":     {smtptest.Trick{At: "RCPT", Answer: "550 5.1.1 <jo@example.org> who?"}, fault.Gone, "550 5.1.1 to RCPT"},
		"refused":    {smtptest.Trick{At: "RCPT", Answer: "550 5.7.1 jo@example.org no"}, fault.Blocked, "550 5.7.1 to RCPT"},
		"no status":  {smtptest.Trick{At: "RCPT", Answer: "550 jo@example.org no"}, fault.Blocked, "550 to RCPT"},
		"nobody, told late": {
			smtptest.Trick{At: "END", Answer: "550 5.1.1 <jo@example.org> who?"}, fault.Gone, "550 5.1.1 to DATA",
		},
		"too much for it": {smtptest.Trick{At: "END", Answer: "550 5.2.1 rate"}, fault.Blocked, "550 5.2.1 to DATA"},
		"relay's DNS":     {smtptest.Trick{At: "END", Answer: "550 5.1.2 no host"}, fault.Blocked, "550 5.1.2 to DATA"},
		"closed":          {smtptest.Trick{At: "RCPT", Answer: "550 5.2.1 closed"}, fault.Gone, "550 5.2.1 to RCPT"},
		"spam":            {smtptest.Trick{At: "END", Answer: "554 5.6.0 jo@example.org spam"}, fault.Blocked, "554 5.6.0 to DATA"},
		"full":            {smtptest.Trick{At: "END", Answer: "452 4.2.2 full"}, fault.Transient, "452 4.2.2 to DATA"},
		"sender refused":  {smtptest.Trick{At: "MAIL", Answer: "550 5.7.1 not you"}, fault.Transient, "550 5.7.1 to MAIL"},
		"lost after DATA": {smtptest.Trick{At: "END", Drop: true}, fault.Transient, "failed at DATA"},
		"lost at once":    {smtptest.Trick{At: "CONNECT", Drop: true}, fault.Transient, "failed at the connection, STARTTLS or AUTH"},
		"quit refused":    {smtptest.Trick{At: "QUIT", Answer: "500 no"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := smtptest.New(t, smtptest.Options{})
			s.Play(tt.trick)
			m := mailer(t, s, "smtp://HOST", 20*time.Second)
			err := m.Send(t.Context(), dropped())
			require.Equal(t, tt.class, fault.ClassOf(err), "%v", err)
			if err == nil {
				return
			}
			require.ErrorContains(t, err, tt.says)
			before := tt.trick.At == "CONNECT" || tt.trick.At == "MAIL"
			require.Equal(t, before, errors.Is(err, saved.ErrUnreached), "what is said of us costs no try")
			require.NotContains(t, err.Error(), "example.org")
			require.NoError(t, m.Send(t.Context(), dropped()), "the next time")
		})
	}
	s := smtptest.New(t, smtptest.Options{})
	s.Play(smtptest.Trick{At: "END", Drop: true})
	m := mailer(t, s, "smtp://HOST", 20*time.Second)
	require.Error(t, m.Send(t.Context(), dropped()))
	require.NoError(t, m.Send(t.Context(), dropped()))
	require.Len(t, s.Taken(), 2, "the answer to the first was lost")
	require.Equal(t, s.Taken()[0].Message(t).Header.Get("Message-ID"), s.Taken()[1].Message(t).Header.Get("Message-ID"))
}

// A server that does not answer is left in time.
func TestMailHangs(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"CONNECT", "RCPT", "END"} {
		s := smtptest.New(t, smtptest.Options{})
		s.Play(smtptest.Trick{At: at, Hang: true})
		err := mailer(t, s, "smtp://HOST", 100*time.Millisecond).Send(t.Context(), dropped())
		require.Equal(t, fault.Transient, fault.ClassOf(err), "%s: %v", at, err)
	}
}

// A server whose answer does not end is given up before the process holds it.
func TestMailSaysTooMuch(t *testing.T) {
	t.Parallel()
	for name, greeting := range map[string]string{"a line": strings.Repeat("2", 4096), "lines": "220-" + strings.Repeat("a", 900) + "\r\n"} {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		sent := make(chan int, 1)
		go func() {
			total := 0
			defer func() { sent <- total }()
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			for total < 64<<20 && err == nil {
				var n int
				n, err = conn.Write([]byte(greeting))
				total += n
			}
		}()
		m, err := notify.NewMail(notify.MailOptions{
			URL: "smtp://" + l.Addr().String(), From: "homes@conveyor.example", Timeout: servicetest.Patience(),
			Now: func() time.Time { return noon },
		})
		require.NoError(t, err)
		require.ErrorContains(t, m.Send(t.Context(), dropped()), "the mail server says more than 262144 bytes", name)
		require.Less(t, <-sent, 64<<20, name)
	}
}

// A password, and news, travel encrypted unless the settings say otherwise.
func TestMailTLS(t *testing.T) {
	t.Parallel()
	plain, offers := smtptest.New(t, smtptest.Options{}), smtptest.New(t, smtptest.Options{StartTLS: true})
	implicit := smtptest.New(t, smtptest.Options{Implicit: true})
	for name, tt := range map[string]struct {
		server *smtptest.Server
		url    string
		sent   bool
		tls    bool
	}{
		"required, not offered":   {plain, "smtp://HOST?tls=required", false, false},
		"on the loopback":         {plain, "smtp://HOST", true, false},
		"on the loopback, there":  {offers, "smtp://HOST", true, true},
		"off":                     {offers, "smtp://HOST?tls=off", true, false},
		"from the beginning":      {implicit, "smtps://HOST", true, true},
		"smtps to a plain server": {plain, "smtps://HOST", false, false},
	} {
		had := len(tt.server.Taken())
		err := mailer(t, tt.server, tt.url, 5*time.Second).Send(t.Context(), dropped())
		require.Equal(t, tt.sent, err == nil, "%s: %v", name, err)
		if tt.sent {
			require.Equal(t, tt.tls, tt.server.Taken()[had].TLS, name)
		}
	}
	stranger := smtptest.New(t, smtptest.Options{StartTLS: true})
	stranger.Roots = nil
	err := mailer(t, stranger, "smtp://HOST?tls=required", 5*time.Second).Send(t.Context(), dropped())
	require.ErrorContains(t, err, "has a certificate that is not valid for it")
	require.Empty(t, stranger.Taken())
}

func TestNewMail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, from string
		ok        bool
	}{
		{"smtp://mail.example", "a@b.example", true},
		{"smtp://me:hunter2@mail.example:2525?tls=optional", "Jo <a@b.example>", true},
		{"smtps://me:hunter2@mail.example", "a@b.example", true},
		{"smtp://me:hunter2@127.0.0.1:25?tls=off", "a@b.example", true},
		{"smtp://me:hunter2@mail.example?tls=off", "a@b.example", false},
		{"smtp://hunter2@mail.example", "a@b.example", false},
		{"smtp://mail.example?tls=hunter2", "a@b.example", false},
		{"http://mail.example", "a@b.example", false},
		{"smtp://", "a@b.example", false},
		{"smtp://mail.example:70000", "a@b.example", false},
		{"smtp://mail.example", "hunter2", false},
		{"smtp://mail.example", "a@b.example\r\nBcc: c@d.example", false},
	} {
		_, err := notify.NewMail(notify.MailOptions{URL: tt.url, From: tt.from})
		require.Equal(t, tt.ok, err == nil, "%s %s: %v", tt.url, tt.from, err)
		if err != nil {
			require.NotContains(t, err.Error(), "hunter2")
		}
	}
}
