package devstack

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/mtlrent/conveyor/internal/rebind"
)

// front is what answers at the address of the Web UI. The UI asks for no login, and answers by whatever name it is
// called, so a page of another site could be made to read it: front looks at Host and passes on the rest. Such a page
// could look for the port of the UI itself, too. There the UI speaks TLS, with a certificate that front alone takes: a
// browser gives a page nothing of a server whose certificate is not for its name.
type front struct {
	guard     func(http.Handler) http.Handler
	log       *slog.Logger
	cert, key string // files of the UI

	server *http.Server // nil = it is not open
	ended  chan struct{}
}

// open makes the files of the certificate, anew each time, and serves at an address what is behind, host:port. One that
// is open stays so.
func (f *front) open(ctx context.Context, at, behind string) error {
	if f.server != nil {
		return nil
	}
	trust, err := f.certify(behind)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return err
	}
	to := &url.URL{Scheme: "https", Host: behind}
	f.ended = make(chan struct{})
	f.server = &http.Server{
		Handler: f.guard(rebind.Proxy(to, trust, f.log)), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
	}
	server, ended := f.server, f.ended
	go func() {
		defer close(ended)
		_ = server.Serve(l) // until it is closed
	}()
	return nil
}

// close ends the requests under way, too: the UI only reads, and a page of a running workflow always waits for news.
func (f *front) close() {
	if f.server == nil {
		return
	}
	_ = f.server.Close()
	<-f.ended
	f.server = nil
}

// certify writes a certificate for an address, and its key, and returns what trusts it alone.
func (f *front) certify(address string) (*x509.CertPool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for the Web UI: %w", err)
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: TemporalUI},
		IPAddresses: []net.IP{net.ParseIP(host)}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the Web UI: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write the key of the Web UI: %w", err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(os.WriteFile(f.cert, text, 0o600),
		os.WriteFile(f.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)); err != nil {
		return nil, err
	}
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(text)
	return trust, nil
}

// guardUI lets requests to the Web UI pass that no page of another site can send.
func (s *Stack) guardUI(next http.Handler) http.Handler {
	return rebind.NamesOf(rebind.HostOf(s.opts.UIURL)).Guard("CONVEYOR_TEMPORAL_UI_URL", next)
}
