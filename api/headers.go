package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
)

// front sets the headers of every answer, redirects and refusals included: a browser does not guess its type, run it,
// show it in a frame or cache it, unless a handler sets other headers. HEAD is answered wherever GET is; net/http
// leaves the body out. There are no CORS headers, so other origins cannot read answers. Requests are read as their
// senders mean them: see asMeant.
func front(next http.Handler, tls bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		h.Set("X-Frame-Options", "DENY") // for browsers without frame-ancestors
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if tls {
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if r.Method == http.MethodHead {
			r = r.WithContext(context.WithValue(r.Context(), headKey{}, true))
			r.Method = http.MethodGet
		}
		asMeant(r)
		next.ServeHTTP(w, r)
	})
}

// plusOffset is a parameter of a query that is a time whose offset begins with a bare plus, which a query has for a
// space.
var plusOffset = regexp.MustCompile(`(?i)^([^=]+=[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.%A]+)\+([0-9]{2}(?::|%3A)[0-9]{2})$`)

// offsets puts back the pluses of times in a query. In what is looked for a plus is a space.
func offsets(query string) string {
	parameters := strings.Split(query, "&")
	for i, p := range parameters {
		if !strings.HasPrefix(p, "q=") && !strings.HasPrefix(p, "text=") {
			parameters[i] = plusOffset.ReplaceAllString(p, "${1}%2B${2}")
		}
	}
	return strings.Join(parameters, "&")
}

// asMeant reads what many clients write: a time with a bare plus in a query, and a media type in capital letters.
func asMeant(r *http.Request) {
	if strings.Contains(r.URL.RawQuery, "+") {
		r.URL.RawQuery = offsets(r.URL.RawQuery)
	}
	media, parameters, more := strings.Cut(r.Header.Get("Content-Type"), ";")
	if low := strings.ToLower(media); low != media {
		if more {
			low += ";" + parameters
		}
		r.Header.Set("Content-Type", low)
	}
}

type headKey struct{}

// OnlyHead says that a request is a HEAD: whatever is written, nothing is given out.
func OnlyHead(ctx context.Context) bool {
	head, _ := ctx.Value(headKey{}).(bool)
	return head
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// documented allows the documentation's page to run its own files, and its inline scripts by their hashes. Swagger UI
// sets inline styles, so those are allowed.
func documented(docs http.Handler) http.Handler {
	page := httptest.NewRecorder()
	docs.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/docs", nil))
	scripts := []string{"'self'"}
	for _, m := range inlineScript.FindAllStringSubmatch(page.Body.String(), -1) {
		sum := sha256.Sum256([]byte(m[1]))
		scripts = append(scripts, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	policy := "default-src 'none'; script-src " + strings.Join(scripts, " ") + "; style-src 'self' 'unsafe-inline'; " +
		"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-cache") // its files are big, and revalidated by their ETags
		docs.ServeHTTP(w, r)
	})
}
