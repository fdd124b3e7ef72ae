package demosite

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"time"
)

type badPage struct {
	pattern, example, about string // example "" = the pattern
	handler                 http.HandlerFunc
}

// bad is everything that an image address can do to a client.
func bad(s *Site) []badPage {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "demo: "+http.StatusText(code), code)
		}
	}
	redirect := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		}
	}
	send := func(contentType string, data []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
			_, _ = w.Write(data)
		}
	}
	jpg := Photo("bad", 2)
	return []badPage{
		{"/bad/404", "", "not found", status(http.StatusNotFound)},
		{"/bad/410", "", "gone", status(http.StatusGone)},
		{"/bad/401", "", "asks for a login", status(http.StatusUnauthorized)},
		{"/bad/403", "", "forbidden", status(http.StatusForbidden)},
		{"/bad/451", "", "unavailable for legal reasons", status(http.StatusUnavailableForLegalReasons)},
		{"/bad/400", "", "bad request", status(http.StatusBadRequest)},
		{"/bad/500", "", "server error", status(http.StatusInternalServerError)},
		{"/bad/304", "", "not modified, though the client never had it", status(http.StatusNotModified)},
		{"/bad/503-then-ok/{key}", "/bad/503-then-ok/1", "503 twice for each address, then a photo", s.busyThenFine},
		{"/bad/429", "", "too many requests, Retry-After 7 seconds; ?after= says another value", tooMany},
		{"/bad/429-date", "", "too many requests, Retry-After as a date in 90 seconds", s.tooManyDate},
		{"/bad/html", "", "HTML that calls itself image/jpeg", func(w http.ResponseWriter, _ *http.Request) {
			WritePage(imageType{w}, "Not an image", "<p>It only says so.</p>")
		}},
		{"/bad/svg", "", "SVG", send("image/svg+xml", []byte(`<svg xmlns="http://www.w3.org/2000/svg"><!-- demo --></svg>`))},
		{"/bad/redirect-loop", "", "redirects to itself", redirect("/bad/redirect-loop")},
		{"/bad/redirect-chain/{n}", "/bad/redirect-chain/6", "n redirects, then a photo", chain},
		{"/bad/redirect-private", "", "redirects to a cloud's metadata address", redirect("http://169.254.169.254/latest/")},
		{"/bad/redirect-loopback", "", "redirects to a loopback port", redirect("http://127.0.0.1:1/photo.jpg")},
		{"/bad/redirect-file", "", "redirects to file:", redirect("file:///etc/passwd")},
		{"/bad/redirect-login", "", "redirects to an address with a password", redirect("http://user:secret@demo.invalid/")},
		{"/bad/redirect-nowhere", "", "redirects without saying where", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusFound)
		}},
		{"/bad/slow", "", "a photo, a byte at a time", s.slow},
		{"/bad/silent", "", "takes the request and never answers", func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}},
		{"/bad/reset", "", "cuts the connection before the answer", func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}},
		{"/bad/endless", "", "a photo that never ends", endless},
		{"/bad/huge", "", "25 MiB that begin as a photo", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/jpeg")
			w.Header().Set("Content-Length", strconv.Itoa(25<<20))
			_, _ = io.Copy(w, io.MultiReader(bytes.NewReader(jpg), io.LimitReader(zeros{}, 25<<20-int64(len(jpg)))))
		}},
		{"/bad/truncated", "", "the first half of a photo", send("image/jpeg", jpg[:len(jpg)/2])},
		{"/bad/png-30000", "", "a PNG of 30,000 × 30,000 pixels in 70 bytes", send("image/png", hugePNG(30_000, 30_000))},
		{"/bad/gzip-bomb", "", "1 GB of zeros, gzipped, not asked for", Bomb("image/jpeg")},
		{"/bad/length", "", "says twice the length that it sends", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/jpeg")
			w.Header().Set("Content-Length", strconv.Itoa(2*len(jpg)))
			_, _ = w.Write(jpg)
		}},
		{"/bad/empty", "", "200 and no body", send("image/jpeg", nil)},
		{"/bad/204", "", "no content", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}},
		{"/bad/untyped", "", "a photo that calls itself text: good, in fact", send("text/plain", jpg)},
	}
}

// busyThenFine is per address, so that tests do not meet each other.
func (s *Site) busyThenFine(w http.ResponseWriter, r *http.Request) {
	if len(s.Hits(r.URL.Path)) <= 2 { // this one included
		w.Header().Set("Retry-After", "1")
		http.Error(w, "demo: busy", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	_, _ = w.Write(Photo("busy", 1))
}

func tooMany(w http.ResponseWriter, r *http.Request) {
	after := "7"
	if q := r.URL.Query(); q.Has("after") {
		after = q.Get("after")
	}
	w.Header().Set("Retry-After", after)
	http.Error(w, "demo: slow down", http.StatusTooManyRequests)
}

func (s *Site) tooManyDate(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", s.o.Now().Add(90*time.Second).UTC().Format(http.TimeFormat))
	http.Error(w, "demo: slow down", http.StatusTooManyRequests)
}

func chain(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	switch {
	case err != nil || n < 1 || n > 1000:
		http.Error(w, "demo: a chain is 1 to 1000 long", http.StatusNotFound)
	case n == 1:
		http.Redirect(w, r, "/photos/chain/1.jpg", http.StatusFound)
	default:
		http.Redirect(w, r, fmt.Sprintf("/bad/redirect-chain/%d", n-1), http.StatusFound)
	}
}

func (s *Site) slow(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "image/jpeg")
	s.drip(w, r, Photo("slow", 1))
}

// drip sends a byte at a time.
func (s *Site) drip(w http.ResponseWriter, r *http.Request, data []byte) {
	tick := time.NewTicker(s.o.Drip)
	defer tick.Stop()
	out := http.NewResponseController(w)
	for _, b := range data {
		if _, err := w.Write([]byte{b}); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "image/jpeg")
	block := Photo("endless", 1)
	for r.Context().Err() == nil {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// Bomb serves 1 GB of zeros, gzipped to 1 MB.
func Bomb(contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		if _, err := io.CopyN(z, zeros{}, 1<<30); err == nil { // it fails as soon as the other side has had enough
			_ = z.Close()
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// hugePNG is a PNG that is right in everything but has no pixels: its cost shows only when it is decoded.
func hugePNG(width, height uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
		from := len(b)
		b = append(append(b, name...), data...)
		b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
	}
	head := binary.BigEndian.AppendUint32(nil, width)
	head = binary.BigEndian.AppendUint32(head, height)
	chunk("IHDR", append(head, 8, 6, 0, 0, 0)) // eight bits, RGBA
	chunk("IDAT", []byte{0x78, 0x9c, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01})
	chunk("IEND", nil)
	return b
}

// imageType answers with the content type of a JPEG, in place of the page's own.
type imageType struct{ http.ResponseWriter }

func (w imageType) Write(p []byte) (int, error) {
	w.Header().Set("Content-Type", "image/jpeg")
	return w.ResponseWriter.Write(p)
}
