// Package certificate reads the certificates that the URL of a service names in its query, as those of RabbitMQ do:
// cacertfile, certfile and keyfile, each a file in PEM.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
)

// Transport returns a transport for requests to u, and takes the files out of u's query. Without a cacertfile the
// server is checked with the system's authorities, without a certfile it is shown no certificate. Its errors name
// files, and quote no URL.
func Transport(u *url.URL) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented
	q := u.Query()
	ca, cert, key := q.Get("cacertfile"), q.Get("certfile"), q.Get("keyfile")
	if ca == "" && cert == "" && key == "" {
		return t, nil
	}
	if u.Scheme != "https" {
		return nil, errors.New("cacertfile, certfile and keyfile are for https:// only")
	}
	for _, name := range []string{"cacertfile", "certfile", "keyfile"} {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	var err error
	t.TLSClientConfig, err = Config(ca, cert, key)
	return t, err
}

// Config returns the settings of TLS with such files, each "" where there is none.
func Config(ca, cert, key string) (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("read cacertfile: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read cacertfile: there is no certificate in %s", ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read certfile and keyfile: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
