package browser

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/internal/chromium"
)

const (
	versionTimeout = 2 * time.Second
	maxVersion     = 64 << 10 // bytes of its answer
)

// advice is what to do where no Chromium answers.
var advice = "start Chromium with --headless --remote-debugging-port=9222 --user-data-dir=<an empty folder> " +
	strings.Join(chromium.Advised, " ") + ", or set CHROME_DEVTOOLS_URL to where it runs"

// endpoint is where a Chromium lets itself be driven.
type endpoint struct {
	url *url.URL // http or https
	at  string   // as errors may show it
}

// parseEndpoint reads a DevTools address, which is set by a variable. Its errors quote nothing: there may be a password
// in it.
func parseEndpoint(variable, address string) (endpoint, error) {
	u, err := url.Parse(address)
	if err != nil {
		return endpoint{}, errors.New(variable + " cannot be read; expected http://host:port")
	}
	switch u.Scheme {
	case "ws":
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	case "http", "https":
	default:
		return endpoint{}, errors.New(variable + " is not an http, https, ws or wss address; " +
			"expected http://host:port")
	}
	if u.Hostname() == "" {
		return endpoint{}, errors.New(variable + " has no host; expected http://host:port")
	}
	u.Path, u.RawPath, u.Fragment = "", "", ""
	return endpoint{url: u, at: u.Scheme + "://" + u.Host}, nil
}

// version asks Chromium for its version, and returns the address of its WebSocket at the endpoint's host and port.
func (e endpoint) version(ctx context.Context) (ws string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, versionTimeout, fmt.Errorf("no answer within %s", versionTimeout))
	defer cancel()
	ws, err = e.ask(ctx)
	switch {
	case err == nil:
		return ws, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return "", fmt.Errorf("GET /json/version: %s; %s", e.clean(err.Error()), advice)
}

func (e endpoint) ask(ctx context.Context) (string, error) {
	u, err := e.resolved(ctx)
	if err != nil {
		return "", err
	}
	u.Path = "/json/version"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return "", err
	}
	client := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, // no proxy: Chromium is next door
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	resp, err := client.Do(r)
	if err != nil {
		if asked, ok := errors.AsType[*url.Error](err); ok {
			err = asked.Err // without the address
		}
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxVersion))
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the answer is status %d: %.200q", resp.StatusCode, strings.TrimSpace(string(body)))
	}
	var said struct {
		Socket string `json:"webSocketDebuggerUrl"`
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Socket == "" {
		return "", fmt.Errorf("the answer has no webSocketDebuggerUrl, so it is not Chromium's: %.200q", body)
	}
	socket, err := url.Parse(said.Socket)
	if err != nil {
		return "", errors.New("the webSocketDebuggerUrl of the answer is not an address")
	}
	// The host it names is the one that it was asked by, or that of its own network.
	u.Path, u.RawPath = socket.Path, socket.RawPath
	if u.RawQuery == "" {
		u.RawQuery = socket.RawQuery
	}
	u.User = nil // a header says it
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	return u.String(), nil
}

// resolved has an address for a host, IPv4 first: Chromium refuses requests by name. What speaks TLS is no Chromium
// but something before it, which goes by names.
func (e endpoint) resolved(ctx context.Context) (*url.URL, error) {
	u := *e.url
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil || u.Scheme == "https" {
		return &u, nil
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	best := found[0].String()
	for _, a := range found {
		if a.IP.To4() != nil {
			best = a.String()
			break
		}
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	u.Host = net.JoinHostPort(best, port)
	return &u, nil
}

// facing is the address of this process on the way to the endpoint: there its Chromium reaches our proxy.
func (e endpoint) facing(ctx context.Context) (host string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, versionTimeout, fmt.Errorf("no answer within %s", versionTimeout))
	defer cancel()
	port := cmp.Or(e.url.Port(), map[string]string{"http": "80", "https": "443"}[e.url.Scheme])
	c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(e.url.Hostname(), port))
	if err != nil {
		return "", fmt.Errorf("connect to %s: %w", e.at, cmp.Or(context.Cause(ctx), err))
	}
	defer c.Close()
	host, _, err = net.SplitHostPort(c.LocalAddr().String())
	return host, err
}

// header has the credentials of the address.
func (e endpoint) header() map[string]string {
	if e.url.User == nil {
		return nil
	}
	password, _ := e.url.User.Password()
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(e.url.User.Username(), password)
	return map[string]string{"Authorization": r.Header.Get("Authorization")}
}

// clean takes the secrets of the address out of a text.
func (e endpoint) clean(text string) string {
	secrets := []string{e.url.RawQuery}
	for _, list := range e.url.Query() {
		secrets = append(secrets, list...)
	}
	if e.url.User != nil {
		password, _ := e.url.User.Password()
		secrets = append(secrets, e.url.User.String(), password, e.header()["Authorization"])
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "(hidden)")
		}
	}
	return text
}
