package limit

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/redis/go-redis/v9"
)

// A Server is where Redis is.
type Server struct {
	// URL is redis://user:password@host:port/database, or rediss:// with TLS. With ?master_name=NAME its host, and each
	// addr=host:port of its query, are Sentinels, and user and password are theirs; those of Redis are the query's
	// username and password.
	URL string
	// Files in PEM: of the authorities that its certificate is checked with, and of the client's certificate and key.
	// Empty = the system's authorities, and no certificate.
	CA, Cert, Key string
}

// Dial returns a client of the Redis, or of the one that Sentinels name as the master. It does not connect: a Redis
// that is away is an error of each command, at once and without a retry, because callers go on by themselves. Its
// errors quote no password.
func Dial(s Server) (redis.UniversalClient, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("read REDIS_URL: not a URL")
	}
	secured, err := s.secured()
	if err != nil {
		return nil, err
	}
	if u.Query().Has("master_name") {
		o, err := redis.ParseFailoverURL(s.URL)
		if err != nil {
			return nil, fmt.Errorf("read REDIS_URL: %w", err)
		}
		o.MaxRetries, o.DialerRetries = -1, 1
		if secured != nil && o.TLSConfig != nil {
			o.TLSConfig = secured
		}
		if o.TLSConfig != nil {
			// Of Sentinels and of servers, whose names differ: each connection checks that which it was made to. The client
			// would have all of them bear the name of the first Sentinel.
			o.TLSConfig.ServerName = ""
		}
		return redis.NewFailoverClient(o), nil
	}
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		return nil, fmt.Errorf("read REDIS_URL: %w", err)
	}
	o.MaxRetries, o.DialerRetries = -1, 1
	if secured != nil && o.TLSConfig != nil {
		secured.ServerName = u.Hostname()
		o.TLSConfig = secured
	}
	return redis.NewClient(o), nil
}

// secured is the configuration of TLS that the files make; nil = none is named.
func (s Server) secured() (*tls.Config, error) {
	if s.CA == "" && s.Cert == "" && s.Key == "" {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("read REDIS_CA_FILE: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read REDIS_CA_FILE: there is no certificate in %s", s.CA)
		}
	}
	if s.Cert != "" || s.Key != "" {
		pair, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return nil, fmt.Errorf("read REDIS_CERT_FILE and REDIS_KEY_FILE: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}
