package browser

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

// origin is the scheme, host and port of an address, "" of one without a host. The port is there also where it is the
// scheme's own.
func origin(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	u, err := url.Parse(scheme + "://" + rest[:strings.IndexAny(rest+"/", "/?#")]) // Chromium takes any path
	if err != nil || u.Hostname() == "" {
		return ""
	}
	scheme = strings.ToLower(scheme)
	port := u.Port()
	switch {
	case port != "":
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// withHeaders returns the answer to paused requests of a page: those to the origin of address get headers in place of
// their own ones of the same names; all others go on as they are, and without those headers where a redirect has handed
// them on. Chromium pauses each hop of a redirect, and each request of the page's frames on its own.
func withHeaders(address string, headers map[string]string) func(map[string]any) (string, map[string]any) {
	if len(headers) == 0 {
		return continued
	}
	to, ours := origin(address), map[string]string{}
	for name, value := range headers {
		ours[strings.ToLower(name)] = value
	}
	type header = map[string]string
	return func(paused map[string]any) (string, map[string]any) {
		own := origin(text(paused, "request", "url")) == to
		request, _ := paused["request"].(map[string]any)
		given, _ := request["headers"].(map[string]any)
		var sent []header
		carried := false
		for _, name := range slices.Sorted(maps.Keys(given)) {
			value, _ := given[name].(string)
			if mine, replaced := ours[strings.ToLower(name)]; replaced && (own || value == mine) {
				carried = true
				continue
			}
			sent = append(sent, header{"name": name, "value": value})
		}
		if !own && !carried {
			return continued(paused)
		}
		if own {
			for _, name := range slices.Sorted(maps.Keys(headers)) {
				sent = append(sent, header{"name": name, "value": headers[name]})
			}
		}
		return "Fetch.continueRequest", map[string]any{"headers": sent}
	}
}

// setCookies gives the page's context the cookies of a request: for the host of its address alone, on any port as all
// cookies are; from an https address by https only; and out of reach of scripts, which may be of third parties.
func (t *tab) setCookies(s draft.Secrets) error {
	for i, c := range s.Cookies {
		path := c.Path
		if path == "" {
			path = "/"
		}
		result, err := t.cdp.Send("Network.setCookie", map[string]any{
			"url": t.address, "name": c.Name, "value": c.Value, "path": path, "httpOnly": true,
			"secure": strings.HasPrefix(origin(t.address), "https:"),
		})
		done, _ := result.(map[string]any)
		switch refused := done["success"] == false; {
		case refused, err != nil && strings.Contains(err.Error(), "Sanitizing cookie failed"):
			return fault.Newf(fault.Invalid, "Chromium does not take cookie %d of the request", i)
		case err != nil:
			return fmt.Errorf("set cookie %d: %w", i, err)
		}
	}
	return nil
}
