package notify

import (
	"net/smtp"
	"net/url"
	"slices"
	"strings"
)

// credentials log in by PLAIN, or by LOGIN where a server offers that and not PLAIN. They are for one connection.
type credentials struct {
	smtp.Auth // by PLAIN; it refuses to send the password in clear text, or to another host

	login []string // what LOGIN is still to ask for; nil = it is PLAIN
	user  *url.Userinfo
}

func newCredentials(user *url.Userinfo, host string) *credentials {
	password, _ := user.Password()
	return &credentials{Auth: smtp.PlainAuth("", user.Username(), password, host), user: user}
}

// Start implements smtp.Auth.
func (c *credentials) Start(server *smtp.ServerInfo) (method string, first []byte, err error) {
	method, first, err = c.Auth.Start(server)
	offers := func(name string) bool {
		return slices.ContainsFunc(server.Auth, func(offered string) bool { return strings.EqualFold(offered, name) })
	}
	if err != nil || offers(method) || !offers("LOGIN") {
		return method, first, err
	}
	password, _ := c.user.Password()
	c.login = []string{c.user.Username(), password}
	return "LOGIN", nil, nil
}

// Next implements smtp.Auth. LOGIN asks for the name, then for the password, in words that differ between servers.
func (c *credentials) Next(asked []byte, more bool) (answer []byte, err error) {
	if !more || len(c.login) == 0 {
		return c.Auth.Next(asked, more)
	}
	answer, c.login = []byte(c.login[0]), c.login[1:]
	return answer, nil
}
