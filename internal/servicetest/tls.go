package servicetest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An Authority signs certificates of an hour. CA is the file of its own, in PEM.
type Authority struct {
	CA string

	t      testing.TB
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
}

// NewAuthority makes an authority of its own.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()

	a := &Authority{t: t, folder: t.TempDir()}
	root := &x509.Certificate{
		Subject: pkix.Name{CommonName: "conveyor test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	der, key := a.sign(root, root, nil)
	var err error
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.key = key
	a.CA = a.file("ca.pem", "CERTIFICATE", der)
	return a
}

// sign makes a certificate and its key; without a signer it signs itself.
func (a *Authority) sign(c, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	if signer == nil {
		signer = key
	}
	c.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	require.NoError(a.t, err)
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	require.NoError(a.t, err)
	return der, key
}

func (a *Authority) file(name, kind string, der []byte) string {
	path := filepath.Join(a.folder, name)
	require.NoError(a.t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

// Issue makes a certificate, of a server at a loopback address or of a client, and returns the files of it and its key.
func (a *Authority) Issue(name string) (cert, key string) {
	a.t.Helper()

	der, private := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, a.key)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(a.t, err)
	return a.file(name+".pem", "CERTIFICATE", der), a.file(name+".key", "PRIVATE KEY", raw)
}

// Front is an address that speaks TLS, with a certificate of the authority, before a service that does not: the
// handshake is a real one, and so is the service. Where clients is set, they need a certificate of it, too. A Postgres
// is asked for TLS first, as its protocol has it.
func (a *Authority) Front(service string, clients, postgres bool) (address string) {
	a.t.Helper()

	pair, err := tls.LoadX509KeyPair(a.Issue("server"))
	require.NoError(a.t, err)
	known := x509.NewCertPool()
	known.AddCert(a.cert)
	// gRPC takes h2 alone; clients of HTTP take the first, which is what the services behind speak.
	conf := &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: known, NextProtos: []string{"http/1.1", "h2"},
	}
	if postgres {
		conf.NextProtos = []string{"postgresql"}
	}
	if clients {
		conf.ClientAuth = tls.RequireAndVerifyClientCert
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(a.t, err)
	a.t.Cleanup(func() { _ = door.Close() })
	go func() { // ends with door
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			go forward(c, conf, service, postgres) // ends with the connection
		}
	}()
	return door.Addr().String()
}

// The request of Postgres' protocol for TLS, and the answer that it is spoken.
var (
	askTLS   = []byte{0, 0, 0, 8, 4, 210, 22, 47}
	speakTLS = []byte{'S'}
)

func forward(c net.Conn, conf *tls.Config, service string, postgres bool) {
	defer c.Close()
	if postgres {
		asked := make([]byte, len(askTLS))
		if _, err := io.ReadFull(c, asked); err != nil || !bytes.Equal(asked, askTLS) {
			return // a cancel request, or a client without TLS
		}
		if _, err := c.Write(speakTLS); err != nil {
			return
		}
	}
	client := tls.Server(c, conf)
	if client.Handshake() != nil {
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, c) // a reset would reach the client before it has read why
		return
	}
	server, err := net.Dial("tcp", service)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { // ends with the connections
		_, _ = io.Copy(server, client)
		_ = server.Close()
		_ = client.Close()
	}()
	_, _ = io.Copy(client, server)
}
