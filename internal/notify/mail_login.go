package notify

import (
	"errors"
	"slices"
	"strings"

	"github.com/wneessen/go-mail/smtp"
)

// logIn logs in by the first of the ways below that the server offers. The library, which could do so itself, passes
// over ways that a server names in lower case. PLAIN and LOGIN send the password unencrypted to the loopback interface
// only.
func (m *Mail) logIn(c *smtp.Client) error {
	if m.user == nil {
		return nil
	}
	name, host := m.user.Username(), m.host
	password, _ := m.user.Password()
	_, offers := c.Extension("AUTH")
	offered := strings.Fields(strings.ToUpper(offers))
	state, err := c.GetTLSConnectionState() // which the ways of PLUS are bound to
	for _, way := range []struct {
		name string
		auth func() smtp.Auth
	}{
		{"PLAIN", func() smtp.Auth { return smtp.PlainAuth("", name, password, host, false) }},
		{"LOGIN", func() smtp.Auth { return smtp.LoginAuth(name, password, host, false) }},
		{"SCRAM-SHA-256-PLUS", func() smtp.Auth { return smtp.ScramSHA256PlusAuth(name, password, state) }},
		{"SCRAM-SHA-256", func() smtp.Auth { return smtp.ScramSHA256Auth(name, password) }},
		{"SCRAM-SHA-1-PLUS", func() smtp.Auth { return smtp.ScramSHA1PlusAuth(name, password, state) }},
		{"SCRAM-SHA-1", func() smtp.Auth { return smtp.ScramSHA1Auth(name, password) }},
		{"NTLM", func() smtp.Auth { return smtp.NTLMAuth(name, password, "") }},
		{"CRAM-MD5", func() smtp.Auth { return smtp.CRAMMD5Auth(name, password) }},
	} {
		if slices.Contains(offered, way.name) && (err == nil || !strings.HasSuffix(way.name, "-PLUS")) {
			return c.Auth(way.auth())
		}
	}
	return errors.New("the mail server offers no way to log in that is known")
}
