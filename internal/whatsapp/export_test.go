package whatsapp

import (
	"crypto/tls"
	"net/http"
)

// Trust has c trust the certificates of a test server.
func (c *Client) Trust(conf *tls.Config) {
	c.http.Transport.(*http.Transport).TLSClientConfig = conf //nolint:forcetypeassert // New makes it
}
