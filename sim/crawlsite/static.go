package crawlsite

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"testing/fstest"
	"time"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// Static serves a folder as a plain file server does: index.html for a folder, a 301 to the folder's address where its
// slash is missing, 404 for what is not there, and validators. It states no charset.
func Static(files fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		name = strings.TrimSuffix(name, "/")
		if name == "" {
			name = "."
		}
		info, err := fs.Stat(files, name)
		if err == nil && info.IsDir() {
			if !strings.HasSuffix(r.URL.Path, "/") {
				w.Header().Set("Location", r.URL.Path+"/")
				w.WriteHeader(http.StatusMovedPermanently)
				return
			}
			name = path.Join(name, "index.html")
		} else if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentType(name))
		sum := fnv.New64a()
		_, _ = sum.Write(body)
		w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sum.Sum64()))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	})
}

func contentType(name string) string {
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".html", ".htm":
		return "text/html"
	case ".xhtml":
		return "application/xhtml+xml"
	default:
		kind, _, _ := strings.Cut(mime.TypeByExtension(ext), ";")
		if kind == "" {
			kind = "application/octet-stream"
		}
		return kind
	}
}

// Open is the folder, or the content of the .tgz file, at a path of this machine. The one folder at the top of an
// archive is left out.
func Open(name string) (fs.FS, error) {
	if !strings.HasSuffix(name, ".tgz") {
		return os.DirFS(name), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	files := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		body, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		_, inner, _ := strings.Cut(path.Clean(h.Name), "/")
		files[inner] = &fstest.MapFile{Data: body}
	}
}

// A Real is a real site: its pages, where to begin, and what a crawl must find.
type Real struct {
	Files fs.FS
	Seed  string          // path
	Want  map[string]Want // by path and query
}

// OpenReal reads the site name.tgz of a folder, and what is expected of it, name.expected.json beside it:
// {"seeds": [path], "urls": {path: [depth, state]}} with the states ok and missing.
func OpenReal(folder, name string) (Real, error) {
	var r Real
	files, err := Open(path.Join(folder, name+".tgz"))
	if err != nil {
		return r, err
	}
	doc, err := os.ReadFile(path.Join(folder, name+".expected.json"))
	if err != nil {
		return r, err
	}
	var expected struct {
		Seeds []string          `json:"seeds"`
		URLs  map[string][2]any `json:"urls"`
	}
	if err := json.Unmarshal(doc, &expected); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if len(expected.Seeds) == 0 {
		return r, fmt.Errorf("%s: has no seed", name)
	}
	r = Real{Files: files, Seed: expected.Seeds[0], Want: map[string]Want{}}
	for at, v := range expected.URLs {
		depth, _ := v[0].(float64)
		w := Want{Depth: int(depth), State: crawl.Visited, Status: http.StatusOK}
		switch v[1] {
		case "ok":
		case "missing", "not_found", "broken", "404":
			w.State, w.Status = crawl.NotFound, http.StatusNotFound
		default:
			return r, fmt.Errorf("%s: %s has the state %v, which is not known", name, at, v[1])
		}
		r.Want[at] = w
	}
	return r, nil
}

// Expected is Want by URL.
func (r Real) Expected(origin string) map[string]Want {
	out := make(map[string]Want, len(r.Want))
	for at, w := range r.Want {
		out[origin+at] = w
	}
	return out
}
