// Package web is the console: the files that `make web` builds, and the handler that serves them under /ui/.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// Prefix is the path that the console lies under.
const Prefix = "/ui/"

// Options are what the handler has to know of its surroundings.
type Options struct {
	Tiles string // template of the addresses of map tiles, of another host; "" = the map has none
}

// A file is an asset in both forms that it is served in.
type file struct {
	kind        string // its media type
	plain, gzip []byte // gzip is nil where it would save nothing
	tag         string // its ETag
	forever     bool   // its name has the hash of its content
}

// Handler serves the console. A path without a file is a page, which index.html shows; so a reload works everywhere. A
// missing asset is 404: an open tab of an older version then says that a new one is here.
func Handler(o Options) (http.Handler, error) {
	files, err := prepared()
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	csp, err := policy(o)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", csp)
		name := strings.TrimPrefix(r.URL.Path, Prefix)
		f, found := files[name]
		if !found {
			if strings.HasPrefix(name, "assets/") {
				http.NotFound(w, r)
				return
			}
			f = files["index.html"]
		}
		f.serve(w, r)
	}), nil
}

// prepared are the files by their paths. They are packed once in a process: that takes a tenth of a second.
var prepared = sync.OnceValues(func() (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := prepare(name)
		files[strings.TrimPrefix(name, "dist/")] = f
		return err
	})
	delete(files, "SOURCE")
	return files, err
})

func prepare(name string) (file, error) {
	plain, err := dist.ReadFile(name)
	if err != nil {
		return file{}, err
	}
	sum := sha256.Sum256(plain)
	f := file{
		kind: mime.TypeByExtension(path.Ext(name)), plain: plain, tag: `"` + hex.EncodeToString(sum[:12]) + `"`,
		forever: strings.HasPrefix(name, "dist/assets/"),
	}
	switch path.Ext(name) { // not what the machine's own table says
	case ".js":
		f.kind = "text/javascript; charset=utf-8"
	case ".woff2":
		f.kind = "font/woff2"
		return f, nil
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return file{}, err
	}
	if _, err := z.Write(plain); err != nil {
		return file{}, err
	}
	if err := z.Close(); err != nil {
		return file{}, err
	}
	if packed.Len() < len(plain)*9/10 {
		f.gzip = packed.Bytes()
	}
	return f, nil
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, tag := f.plain, f.tag
	if f.gzip != nil && accepts(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body, tag = f.gzip, strings.TrimSuffix(f.tag, `"`)+`-gz"`
	}
	h.Set("ETag", tag)
	for _, known := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(known), "W/") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body) // a caller that has gone needs no answer
}

// accepts reports whether an Accept-Encoding names a coding, unless with a weight of 0.
func accepts(header, coding string) bool {
	for _, one := range strings.Split(header, ",") {
		name, weight, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			weight = strings.TrimSpace(weight)
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

// policy is the Content-Security-Policy of the console: nothing but files of its own origin, no inline script or style,
// and no markup made from strings.
func policy(o Options) (string, error) {
	images := "'self' blob:"
	if o.Tiles != "" {
		u, err := url.Parse(o.Tiles)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, "{};,' ") {
			return "", fmt.Errorf("the address of map tiles %q is not an absolute URL with a fixed host", o.Tiles)
		}
		images += " " + u.Scheme + "://" + u.Host
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src " + images + "; font-src 'self'; " +
		"connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types conveyor", nil
}
