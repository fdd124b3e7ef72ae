// Package oidctest is an OpenID Connect issuer for tests: discovery, keys that rotate, tokens of every kind, and logins
// that lie.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// An Issuer is a real server with keys of its own.
type Issuer struct {
	URL     string
	Fetches atomic.Int32 // requests for the keys
	Away    atomic.Bool  // answer 503 to everything

	mu   sync.Mutex
	id   string
	key  *rsa.PrivateKey
	keys []jose.JSONWebKey // published

	lies  Lies
	codes map[string]*asked // nil = exchanged
	clock func() time.Time
}

// New starts an issuer with one key, and stops it when the test ends.
func New(t testing.TB) *Issuer {
	t.Helper()

	i := &Issuer{codes: map[string]*asked{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize",
			"token_endpoint": i.URL + "/token",
			// An issuer may say that it signs with secrets; a verifier that trusts this can be deceived by every client.
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		i.Fetches.Add(1)
		i.mu.Lock()
		defer i.mu.Unlock()
		answer(w, jose.JSONWebKeySet{Keys: i.keys})
	})
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.Away.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	i.URL = server.URL
	i.Rotate(t, "first")
	return i
}

func answer(w http.ResponseWriter, doc any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc) // to a test
}

// Rotate makes a new key, publishes it beside the ones before, and signs with it from now on.
func (i *Issuer) Rotate(t testing.TB, id string) {
	t.Helper()

	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.id, i.key = id, key
	i.keys = append(i.keys, jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: "RS256", Use: "sig"})
}

// Claims are those of a good token at a time; change adds to them, and nil takes one away.
func (i *Issuer) Claims(now time.Time, change map[string]any) map[string]any {
	c := map[string]any{
		"iss": i.URL, "aud": []string{"conveyor", "other"}, "sub": "jo",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	for name, value := range change {
		c[name] = value
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

// Token signs claims with the newest key.
func (i *Issuer) Token(t testing.TB, claims map[string]any) string {
	t.Helper()

	i.mu.Lock()
	defer i.mu.Unlock()
	return sign(t, jose.RS256, i.id, i.key, claims)
}

// stranger is a key of no issuer. Making one takes a quarter of a second.
var stranger = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// Stranger signs claims with a key that is not published, under the ID of the newest.
func (i *Issuer) Stranger(t testing.TB, claims map[string]any) string {
	t.Helper()

	key, err := stranger()
	require.NoError(t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	return sign(t, jose.RS256, i.id, key, claims)
}

// Shared signs claims with the public key as if it were a secret, the oldest trick there is.
func (i *Issuer) Shared(t testing.TB, claims map[string]any) string {
	t.Helper()

	i.mu.Lock()
	defer i.mu.Unlock()
	return sign(t, jose.HS256, i.id, i.key.N.Bytes(), claims)
}

// Unsigned is a token of alg none.
func (i *Issuer) Unsigned(t testing.TB, claims map[string]any) string {
	t.Helper()

	doc, err := json.Marshal(claims)
	require.NoError(t, err)
	text := base64.RawURLEncoding
	return text.EncodeToString([]byte(`{"alg":"none","kid":"`+i.id+`"}`)) + "." + text.EncodeToString(doc) + "."
}

func sign(t testing.TB, alg jose.SignatureAlgorithm, id string, key any, claims map[string]any) string {
	t.Helper()

	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	require.NoError(t, err)
	doc, err := json.Marshal(claims)
	require.NoError(t, err)
	signed, err := signer.Sign(doc)
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}
