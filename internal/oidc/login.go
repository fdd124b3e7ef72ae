package oidc

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A Client is what the issuer knows the API by. All of it must be set.
type Client struct {
	ID       string
	Secret   string
	Redirect string   // the address that the issuer sends persons back to
	Scopes   []string // openid among them
}

// A Login lets persons log in at the issuer: the authorization code flow with PKCE. It has no state of its own: what a
// login must remember is sealed with a key made of the client's secret, and the browser keeps it, so that any process
// can finish what another began.
type Login struct {
	v    *Verifier
	c    Client
	seal cipher.AEAD
	http *http.Client
}

// LoginTime is how long a person may take at the issuer.
const LoginTime = 10 * time.Minute

// Login returns the logins of a client of the issuer. Like New it sends no request.
func (v *Verifier) Login(c Client) (*Login, error) {
	if c.Secret == "" { // everybody could make the key of logins
		return nil, errors.New("CONVEYOR_OIDC_CLIENT_SECRET is missing at the API: CONVEYOR_OIDC_CLIENT_ID has no login " +
			"without; set both or neither")
	}
	key, err := hkdf.Key(sha256.New, []byte(c.Secret), nil, "conveyor: logins by OIDC", 32)
	if err != nil {
		return nil, fmt.Errorf("make the key of logins: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make the key of logins: %w", err)
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make the key of logins: %w", err)
	}
	// The secret goes to the address of the discovery document, and nowhere else.
	direct := *v.o.Client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Login{v: v, c: c, seal: seal, http: &direct}, nil
}

// A Reason is why a login failed. The console has a sentence for each, that says what to do.
type Reason string

// The reasons.
const (
	Stale   Reason = "stale"   // it took too long, was finished before, or another one was begun: begin again
	Denied  Reason = "denied"  // by the person, or the issuer on its own
	Invalid Reason = "invalid" // the issuer's answer cannot be trusted
	Setup   Reason = "setup"   // the issuer does not accept the client
	Away    Reason = "away"    // the issuer does not answer
)

// Reasons are all of them.
var Reasons = []Reason{Stale, Denied, Invalid, Setup, Away}

// A Failure is a login that failed. Its text is for the log: it may have the issuer's words.
type Failure struct {
	Reason Reason
	Err    error
}

func (f *Failure) Error() string { return "log in: " + string(f.Reason) + ": " + f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

func fail(r Reason, format string, args ...any) error {
	return &Failure{r, fmt.Errorf(format, args...)}
}

// kept is what a login remembers.
type kept struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"` // of PKCE
	To       string    `json:"t"` // where the login was asked for
	Until    time.Time `json:"u"`
}

// Begin returns the address at the issuer that a person logs in at, and what Finish wants back, sealed: the browser is
// to keep it for LoginTime. to is returned by Finish. The error is a *Failure.
func (l *Login) Begin(to string) (address, sealed string, err error) {
	provider, err := l.v.issuer()
	if err != nil {
		return "", "", &Failure{Away, err}
	}
	k := kept{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), to, l.v.o.Now().Add(LoginTime)}
	doc, err := json.Marshal(k)
	if err != nil {
		return "", "", &Failure{Setup, err}
	}
	address = l.client(provider).AuthCodeURL(k.State, oauth2.S256ChallengeOption(k.Verifier),
		oauth2.SetAuthURLParam("nonce", k.Nonce))
	return address, base64.RawURLEncoding.EncodeToString(l.seal.Seal(nil, nil, doc, nil)), nil
}

// client is what the issuer is asked as. It says how a client is to name itself; who tries both ways uses up the code.
func (l *Login) client(p *oidc.Provider) *oauth2.Config {
	at := p.Endpoint()
	var says struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	_ = p.Claims(&says) // one that cannot be read is none
	at.AuthStyle = oauth2.AuthStyleInHeader
	if len(says.Methods) > 0 && !slices.Contains(says.Methods, "client_secret_basic") {
		at.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: l.c.ID, ClientSecret: l.c.Secret, RedirectURL: l.c.Redirect, Scopes: l.c.Scopes, Endpoint: at,
	}
}

// Finish ends a login: sealed is from Begin, and answer is the query that the issuer sent the browser back with. It
// returns who the person is, and to of Begin. Role and tenant are those of the ID token's claims; where these give
// none, of the access token, if the API would accept it as a bearer token of the same person. The error is a *Failure;
// to is returned with it where it is known.
func (l *Login) Finish(
	ctx context.Context, sealed string, answer url.Values,
) (who access.Caller, to string, err error) {
	k, err := l.open(sealed)
	if err != nil {
		return who, "", fail(Stale, "%w", err)
	}
	if same := subtle.ConstantTimeCompare([]byte(k.State), []byte(answer.Get("state"))); same != 1 {
		return who, k.To, fail(Stale, "the state belongs to another login")
	}
	if iss := answer.Get("iss"); iss != "" && iss != l.v.o.Issuer { // RFC 9207
		return who, k.To, fail(Invalid, "the answer comes from the issuer %.200q", iss)
	}
	switch code := answer.Get("error"); code {
	case "":
	case "access_denied", "login_required", "consent_required", "interaction_required":
		return who, k.To, fail(Denied, "the issuer says %s", code)
	case "temporarily_unavailable", "server_error":
		return who, k.To, fail(Away, "the issuer says %s", code)
	default:
		return who, k.To, fail(Setup, "the issuer says %.100q: %.200q", code, answer.Get("error_description"))
	}
	who, err = l.exchange(ctx, answer.Get("code"), k)
	return who, k.To, err
}

func (l *Login) open(sealed string) (k kept, err error) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(sealed) > longest {
		return k, errors.New("there is no login under way")
	}
	doc, err := l.seal.Open(nil, nil, b, nil)
	if err != nil {
		return k, errors.New("there is no login under way")
	}
	if err := json.Unmarshal(doc, &k); err != nil {
		return k, err
	}
	if !l.v.o.Now().Before(k.Until) {
		return k, errors.New("the login took too long")
	}
	return k, nil
}

// exchange trades a code for tokens, and reads who they are of.
func (l *Login) exchange(ctx context.Context, code string, k kept) (who access.Caller, err error) {
	provider, err := l.v.issuer()
	if err != nil {
		return who, &Failure{Away, err}
	}
	asking, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, l.http), patience)
	defer cancel()
	tokens, err := l.client(provider).Exchange(asking, code, oauth2.VerifierOption(k.Verifier))
	var said *oauth2.RetrieveError
	switch {
	case errors.As(err, &said) && said.ErrorCode == "invalid_grant":
		return who, fail(Stale, "the code is not good any more")
	case errors.As(err, &said) && said.Response.StatusCode/100 == 4:
		return who, fail(Setup, "exchange the code: HTTP %d %.100q", said.Response.StatusCode, said.ErrorCode)
	case err != nil:
		return who, fail(Away, "exchange the code: %.300s", err)
	}
	text, _ := tokens.Extra("id_token").(string)
	if text == "" || len(text) > longest {
		return who, fail(Invalid, "there is no ID token in the answer, or a too long one")
	}
	t, claims, err := l.v.check(ctx, text, l.c.ID)
	if fault.ClassOf(err) == fault.Transient {
		return who, &Failure{Away, err}
	}
	if err != nil {
		return who, &Failure{Invalid, err}
	}
	if subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(k.Nonce)) != 1 {
		return who, fail(Invalid, "the nonce belongs to another login")
	}
	if party, ok := claims["azp"]; ok && party != l.c.ID {
		return who, fail(Invalid, "the ID token was issued to another client")
	}
	if who, err = l.v.caller(t.Subject, claims); err != nil {
		return who, &Failure{Invalid, err}
	}
	if who.Role == "" || l.v.o.TenantClaim != "" && who.Tenant == "" {
		if same, err := l.v.Verify(ctx, tokens.AccessToken); err == nil && same.Name == who.Name {
			who.Role, who.Tenant = cmp.Or(who.Role, same.Role), cmp.Or(who.Tenant, same.Tenant)
		}
	}
	return who, nil
}
