package oidctest

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The client that persons log in to.
const (
	ClientID     = "console"
	ClientSecret = "a secret of the console: not one"
)

// Lies are what the issuer does wrong in logins. The zero value is an issuer that does as it should.
type Lies struct {
	Redirect url.Values     // replaces parameters of the redirect: state, code, error, iss
	Claims   map[string]any // replaces claims of the ID token; nil takes one away
	Stranger bool           // the ID token is signed by another key
	Access   map[string]any // claims of a token of the API, sent as the access token; nil = it is no JWT
	NoToken  bool           // no ID token
	Status   int            // of the exchange, instead of 200
	Error    string         // in its body
}

// Lie makes the issuer lie from now on.
func (i *Issuer) Lie(l Lies) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lies = l
}

// asked is a login at the issuer that was not exchanged yet.
type asked struct{ nonce, challenge, redirect string }

// authorize logs everybody in at once.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("state") == "" ||
		q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" {
		http.Error(w, "a request that no issuer takes: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	code := "code" + strconv.Itoa(len(i.codes))
	i.codes[code] = &asked{q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri")}
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
	maps.Copy(answer, i.lies.Redirect)
	to.RawQuery = answer.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// token exchanges a code, once, for who has the verifier of its challenge and the client's secret.
func (i *Issuer) token(t testing.TB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		lies, login := i.lies, i.codes[r.FormValue("code")]
		if login != nil {
			i.codes[r.FormValue("code")] = nil
		}
		i.mu.Unlock()
		id, secret, _ := r.BasicAuth()
		secret, err := url.QueryUnescape(secret)
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		say := func(status int, code string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":"` + code + `","error_description":"<b>words of the issuer</b>"}`))
		}
		switch {
		case lies.Status != 0:
			say(lies.Status, lies.Error)
		case err != nil || id != ClientID || secret != ClientSecret:
			say(http.StatusUnauthorized, "invalid_client")
		case login == nil || login.redirect != r.FormValue("redirect_uri") ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != login.challenge:
			say(http.StatusBadRequest, "invalid_grant")
		default:
			answer(w, i.tokens(t, login, lies))
		}
	}
}

func (i *Issuer) tokens(t testing.TB, login *asked, lies Lies) map[string]any {
	out := map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 300}
	if lies.Access != nil {
		out["access_token"] = i.Token(t, i.Claims(i.now(), lies.Access))
	}
	claims := i.Claims(i.now(), map[string]any{"aud": ClientID, "nonce": login.nonce})
	for name, value := range lies.Claims {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	if out["id_token"] = i.Token(t, claims); lies.Stranger {
		out["id_token"] = i.Stranger(t, claims)
	}
	if lies.NoToken {
		delete(out, "id_token")
	}
	return out
}

// At sets the clock of the issuer's logins; without it they are of now.
func (i *Issuer) At(clock func() time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.clock = clock
}

func (i *Issuer) now() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.clock == nil {
		return time.Now()
	}
	return i.clock()
}

// Visit does what a browser does at the address of a login, and returns the query that it is sent back with.
func (i *Issuer) Visit(t testing.TB, address string) url.Values {
	t.Helper()

	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	resp, err := client.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusFound, resp.StatusCode)
	back, err := resp.Location()
	require.NoError(t, err)
	return back.Query()
}
