package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/picture"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/sim/demosite"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at() time.Time { return noon }

// read checks a picture as the workers' child processes do.
func read(_ context.Context, data []byte) (web.Photo, error) { return picture.Read(data) }

// world is the demo site on a loopback port, and a client that may ask that port.
func world(t testing.TB, o fetch.Options) (*httptest.Server, *demosite.Site, *fetch.Client) {
	t.Helper()
	site := demosite.New(demosite.Options{Now: at, Drip: time.Hour})
	srv := httptest.NewServer(site)
	t.Cleanup(srv.Close)
	o.AllowPrivate = append(o.AllowPrivate, srv.Listener.Addr().String())
	o.Now, o.Picture = at, read
	c := fetch.New(o)
	t.Cleanup(c.Close)
	return srv, site, c
}

func TestPhoto(t *testing.T) {
	t.Parallel()
	srv, site, c := world(t, fetch.Options{UserAgent: "test/1"})
	site.Handle("/echo", "/echo", "checks the request", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != "test/1" || r.Header.Get("Accept-Encoding") != "identity" || r.Header.Get("Referer") != "" ||
			r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("asked with %v", r.Header)
		}
		w.Header().Set("Set-Cookie", "a=b")
		http.Redirect(w, r, "/echo2?token=1", http.StatusSeeOther)
	}))
	site.Handle("/echo2", "/echo2", "checks the request", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Referer") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("asked with %v after a redirect", r.Header)
		}
		_, _ = w.Write(demosite.Photo("echo", 1))
	}))
	site.Handle("/percent", "/percent", "leads to a bare percent sign", http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Location"] = []string{"/photos/1/100%.jpg"}
			w.WriteHeader(http.StatusFound)
		}))
	site.Handle("/photos/1/100%.jpg", "/photos/1/100%.jpg", "a photo", http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(demosite.Photo("percent", 1)) }))
	flat := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	for name, encode := range map[string]func() []byte{
		"png":  func() []byte { var b bytes.Buffer; _ = png.Encode(&b, flat); return b.Bytes() },
		"gif":  func() []byte { var b bytes.Buffer; _ = gif.Encode(&b, flat, nil); return b.Bytes() },
		"webp": func() []byte { return tinyWebP },
	} {
		data := encode()
		site.Handle("/as/"+name, "/as/"+name, name, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(data)
		}))
	}
	for _, tt := range []struct {
		path, mime, ext string
		w, h            int
	}{
		{"/photos/1/1.jpg", "image/jpeg", "jpg", 800, 600},
		{"/photos/1/2.jpg?rule=kijijica-640-webp#part", "image/jpeg", "jpg", 800, 600},
		{"/bad/untyped", "image/jpeg", "jpg", 800, 600},
		{"/bad/redirect-chain/5", "image/jpeg", "jpg", 800, 600},
		{"/echo", "image/jpeg", "jpg", 800, 600},
		{"/percent", "image/jpeg", "jpg", 800, 600},
		{"/photos/1/100%.jpg", "image/jpeg", "jpg", 800, 600},
		{"/as/png", "image/png", "png", 40, 30},
		{"/as/gif", "image/gif", "gif", 40, 30},
		{"/as/webp", "image/webp", "webp", 1, 1},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			img, err := c.Photo(t.Context(), " "+srv.URL+tt.path+" ")
			require.NoError(t, err)
			if img.ContentType != tt.mime || img.Ext != tt.ext || img.Width != tt.w || img.Height != tt.h ||
				len(img.Data) == 0 {
				t.Errorf("Photo = %s %s %d x %d; want %+v", img.ContentType, img.Ext, img.Width, img.Height, tt)
			}
			thumb, err := jpeg.DecodeConfig(bytes.NewReader(img.Thumbnail))
			if err != nil || thumb.Width != min(tt.w, picture.ThumbWidth) || thumb.Height > tt.h {
				t.Errorf("thumbnail is %d x %d, %v", thumb.Width, thumb.Height, err)
			}
		})
	}
}

// Everything the demo site does wrong has a class and a reason that an operator understands, and says no secrets.
func TestPhotoOfABadSite(t *testing.T) {
	t.Parallel()
	srv, _, c := world(t, fetch.Options{Timeout: 10 * time.Second})
	srvQuick, _, quick := world(t, fetch.Options{Timeout: 100 * time.Millisecond})
	for _, tt := range []struct {
		path  string
		class fault.Class
		after time.Duration
		text  string
	}{
		{"/bad/404", fault.Gone, 0, "status 404 Not Found"},
		{"/bad/410", fault.Gone, 0, "status 410"},
		{"/bad/401", fault.Blocked, 0, "status 401"},
		{"/bad/403", fault.Blocked, 0, "status 403"},
		{"/bad/451", fault.Blocked, 0, "status 451"},
		{"/bad/400", fault.Invalid, 0, "status 400"},
		{"/bad/304", fault.Invalid, 0, "status 304"},
		{"/bad/204", fault.Invalid, 0, "status 204"},
		{"/bad/500", fault.Transient, 0, "status 500"},
		{"/bad/503-then-ok/1", fault.Throttled, time.Second, "status 503"},
		{"/bad/429", fault.Throttled, 7 * time.Second, "status 429"},
		{"/bad/429-date", fault.Throttled, 90 * time.Second, "status 429"},
		{"/bad/429?after=86400", fault.Throttled, 5 * time.Minute, "status 429"},
		{"/bad/429?after=99999999999999999999", fault.Throttled, 5 * time.Minute, "status 429"},
		{"/bad/429?after=9223372036854775807", fault.Throttled, 5 * time.Minute, "status 429"},
		{"/bad/429?after=Fri,+20+Nov+2099+12:00:00+GMT", fault.Throttled, 5 * time.Minute, "status 429"},
		{"/bad/429?after=Fri,+20+Nov+2020+12:00:00+GMT", fault.Throttled, 0, "status 429"},
		{"/bad/429?after=-5", fault.Throttled, 0, "status 429"},
		{"/bad/429?after=soon", fault.Throttled, 0, "status 429"},
		{"/bad/html", fault.Invalid, 0, "it is text/html, not JPEG, PNG, GIF or WebP"},
		{"/bad/svg", fault.Invalid, 0, "it is image/svg+xml"},
		{"/bad/redirect-loop", fault.Invalid, 0, "redirects in a loop"},
		{"/bad/redirect-chain/6", fault.Invalid, 0, "more than 5 redirects"},
		{"/bad/redirect-private", fault.Invalid, 0, "refused: the host is on a private or reserved network"},
		{"/bad/redirect-loopback", fault.Invalid, 0, "refused: only ports 80 and 443"},
		{"/bad/redirect-file", fault.Invalid, 0, `follow redirect: scheme "file", want http or https`},
		{"/bad/redirect-login", fault.Invalid, 0, "follow redirect: address holds credentials"},
		{"/bad/redirect-nowhere", fault.Invalid, 0, "without a Location"},
		{"/bad/reset", fault.Transient, 0, "EOF"},
		{"/bad/endless", fault.Invalid, 0, "body is larger, the most is 20 MiB"},
		{"/bad/huge", fault.Invalid, 0, "body is 25.0 MiB, the most is 20 MiB"},
		{"/bad/truncated", fault.Invalid, 0, "image is damaged or cut off"},
		{"/bad/png-30000", fault.Invalid, 0, "image is 30000 x 30000 px, the most is 50 megapixels"},
		{"/bad/gzip-bomb", fault.Invalid, 0, `content encoding "gzip", which was not asked for`},
		{"/bad/length", fault.Transient, 0, "unexpected EOF"},
		{"/bad/empty", fault.Invalid, 0, "empty body"},
		{"/bad/slow", fault.Transient, 0, "timed out after 100ms"},
		{"/bad/silent", fault.Transient, 0, "timed out after 100ms"},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			c, url := c, srv.URL
			if strings.Contains(tt.text, "100ms") {
				c, url = quick, srvQuick.URL
			}
			address := url + tt.path
			if strings.Contains(address, "?") {
				address += "&token=s3cr3t"
			} else {
				address += "?token=s3cr3t"
			}
			_, err := c.Photo(t.Context(), address)
			class, after := fault.Of(err)
			if err == nil || class != tt.class || after != tt.after || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Photo = %v (%s, %s); want %s, %s, %q", err, class, after, tt.class, tt.after, tt.text)
			}
			if err != nil && strings.Contains(strings.ToLower(err.Error()), "s3cr3t") {
				t.Errorf("the error gives a secret away: %v", err)
			}
		})
	}
}

// The guard sees through names, other spellings and redirects. Only listed addresses are let in, as they are spelt.
func TestGuard(t *testing.T) {
	t.Parallel()
	names := newNames(t)
	srv, _, c := world(t, fetch.Options{Resolver: names.resolver, Timeout: 10 * time.Second})
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	const private, ports = "private or reserved network", "only ports 80 and 443"
	for _, tt := range []struct {
		address string
		class   fault.Class
		text    string
	}{
		{"http://127.0.0.1/", fault.Invalid, private},
		{"http://127.0.0.1:443/", fault.Invalid, private},
		{"http://127.9.9.9/", fault.Invalid, private},
		{"http://[::1]/", fault.Invalid, private},
		{"http://[::ffff:127.0.0.1]/", fault.Invalid, private},
		{"http://[64:ff9b::7f00:1]/", fault.Invalid, private},
		{"http://[2002:7f00:1::]/", fault.Invalid, private},
		{"http://[fe80::1%25lo]/", fault.Invalid, private},
		{"http://0.0.0.0/", fault.Invalid, private},
		{"http://10.0.0.1/", fault.Invalid, private},
		{"http://172.16.5.4/", fault.Invalid, private},
		{"http://192.168.1.1/", fault.Invalid, private},
		{"http://100.64.0.1/", fault.Invalid, private},
		{"http://169.254.169.254/latest/meta-data/", fault.Invalid, private},
		{"http://224.0.0.1/", fault.Invalid, private},
		{"http://255.255.255.255/", fault.Invalid, private},
		{"http://inside.test/", fault.Invalid, private},
		{"https://inside.test/", fault.Invalid, private},
		{"http://inside6.test/", fault.Invalid, private},
		{"http://rebinds.test/", fault.Invalid, private},
		// The port of the demo site is listed for 127.0.0.1, not for other names of that address.
		{"http://inside.test:" + port + "/photos/1/1.jpg", fault.Invalid, ports},
		{"http://localhost:" + port + "/photos/1/1.jpg", fault.Invalid, ports},
		{"http://[::ffff:127.0.0.1]:" + port + "/photos/1/1.jpg", fault.Invalid, ports},
		{"http://0.0.0.0:" + port + "/photos/1/1.jpg", fault.Invalid, ports},
		{"http://127.0.0.1:1/", fault.Invalid, ports},
		{"http://192.0.2.1:22/", fault.Invalid, ports},
		// These spellings are the system's to read, and it may read them as names or as addresses.
		{"http://127.1/", "", ""},
		{"http://2130706433/", "", ""},
		{"http://0x7f000001/", "", ""},
		{"http://0177.0.0.1/", "", ""},

		{"http://nobody.test/", fault.Gone, "host does not exist"},
		{"http://broken.test/", fault.Transient, "look up host"},

		{"", fault.Invalid, "scheme"},
		{"photo.jpg", fault.Invalid, "scheme"},
		{"//127.0.0.1/", fault.Invalid, "scheme"},
		{"file:///etc/passwd", fault.Invalid, `scheme "file", want http or https`},
		{"FILE:///etc/passwd", fault.Invalid, `scheme "file"`},
		{"ftp://demo.test/", fault.Invalid, "scheme"},
		{"gopher://demo.test/", fault.Invalid, "scheme"},
		{"data:image/png;base64,AAAA", fault.Invalid, "scheme"},
		{"http://", fault.Invalid, "no valid host"},
		{"http:///photo.jpg", fault.Invalid, "no valid host"},
		{"http://user:s3cr3t@demo.test/", fault.Invalid, "credentials"},
		{"http://user:s3cr3t/x@demo.test/", fault.Invalid, "not a valid address"},
		{"http://demo.test:x/?s3cr3t", fault.Invalid, "not a valid address"},
		{"http://demo.test/\r\nX: s3cr3t", fault.Invalid, "not a valid address"},
		{"http://" + strings.Repeat("x", 301) + "/", fault.Invalid, "no valid host"},
		{"http://demo.test/" + strings.Repeat("x", 8192), fault.Invalid, "longer than 8192"},
	} {
		t.Run(tt.address[:min(len(tt.address), 60)], func(t *testing.T) {
			t.Parallel()
			_, err := c.Photo(t.Context(), tt.address)
			class, _ := fault.Of(err)
			if err == nil || tt.class != "" && class != tt.class || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Photo(%q) = %v (%s); want %s, %q", tt.address, err, class, tt.class, tt.text)
			}
			if err != nil && (strings.Contains(err.Error(), "s3cr3t") || len(err.Error()) > 700) {
				t.Errorf("the error says too much: %v", err)
			}
		})
	}
}

// Being listed is for the host that is listed: a redirect from it goes through the guard like any address.
func TestListedHosts(t *testing.T) {
	t.Parallel()
	photos, _, _ := world(t, fetch.Options{})
	listed := photos.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(listed)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/to-photos":
			http.Redirect(w, r, photos.URL+"/photos/1/1.jpg", http.StatusFound)
		default:
			_, _ = w.Write(demosite.Photo("other", 1))
		}
	}))
	t.Cleanup(other.Close)
	for _, tt := range []struct {
		name    string
		allow   []string
		address string
		ok      bool
	}{
		{"nothing listed", nil, photos.URL + "/photos/1/1.jpg", false},
		{"host and port", []string{listed}, photos.URL + "/photos/1/1.jpg", true},
		{"host and port, another port", []string{listed}, other.URL + "/1.jpg", false},
		{"host alone", []string{"127.0.0.1"}, other.URL + "/1.jpg", true},
		{"host alone, another host", []string{"127.0.0.2"}, other.URL + "/1.jpg", false},
		{"a name", []string{"LocalHost:" + port}, "http://localhost:" + port + "/photos/1/1.jpg", true},
		{"a name does not list its address", []string{"localhost"}, photos.URL + "/photos/1/1.jpg", false},
		{"redirect, both listed", []string{"127.0.0.1"}, other.URL + "/to-photos", true},
		{"redirect to one not listed", []string{other.Listener.Addr().String()}, other.URL + "/to-photos", false},
		{"an empty entry lists nothing", []string{"", ":", "[]"}, photos.URL + "/photos/1/1.jpg", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := fetch.New(fetch.Options{AllowPrivate: tt.allow, Picture: read})
			t.Cleanup(c.Close)
			_, err := c.Photo(t.Context(), tt.address)
			if class, _ := fault.Of(err); (err == nil) != tt.ok || err != nil && class != fault.Invalid {
				t.Errorf("Photo = %v; want ok = %v", err, tt.ok)
			}
		})
	}
}

func TestTurn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var turns []string
	full := &fault.Error{Class: fault.Throttled, After: time.Minute, Err: errors.New("wait for a turn")}
	srv, site, c := world(t, fetch.Options{Turn: func(_ context.Context, host string) error {
		mu.Lock()
		defer mu.Unlock()
		if turns = append(turns, host); len(turns) > 4 {
			return full
		}
		return nil
	}})
	if _, err := c.Photo(t.Context(), srv.URL+"/bad/redirect-chain/3"); err != nil {
		t.Fatal(err)
	}
	if len(turns) != 4 || turns[3] != srv.Listener.Addr().String() {
		t.Errorf("took turns %v; want one for each of four requests", turns)
	}
	_, err := c.Photo(t.Context(), srv.URL+"/photos/9/1.jpg")
	if class, after := fault.Of(err); class != fault.Throttled || after != time.Minute {
		t.Errorf("without a turn: %v (%s, %s); want throttled, 1m", err, class, after)
	}
	if hits := site.Hits("/photos/9/1.jpg"); len(hits) != 0 {
		t.Errorf("asked %d times without a turn", len(hits))
	}
}

func TestPhotoCancelled(t *testing.T) {
	t.Parallel()
	srv, site, c := world(t, fetch.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	site.Handle("/wait", "/wait", "waits", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	go func() { <-asked; cancel() }()
	if _, err := c.Photo(ctx, srv.URL+"/wait"); !errors.Is(err, context.Canceled) {
		t.Errorf("Photo = %v; want context.Canceled", err)
	}
}

// A picture is refused for the memory it would take before it takes that.
func TestPhotoBombs(t *testing.T) {
	srv, site, c := world(t, fetch.Options{}) // not parallel: it measures memory
	var small bytes.Buffer
	require.NoError(t, jpeg.Encode(&small, image.NewGray(image.Rect(0, 0, 4000, 4000)), nil))
	scan := small.Bytes()[bytes.Index(small.Bytes(), []byte{0xff, 0xda}):]
	scans := append([]byte(nil), small.Bytes()...)
	for range 200 {
		scans = append(scans, scan[:20]...)
	}
	for name, data := range map[string][]byte{"scans": scans, "cut-header": scans[:30], "one-byte": {0xff}} {
		site.Handle("/bomb/"+name, "/bomb/"+name, name, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(data)
		}))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for path, text := range map[string]string{
		"/bad/png-30000":   "30000 x 30000",
		"/bad/gzip-bomb":   "content encoding",
		"/bomb/scans":      "201 scans of 4000 x 4000 px",
		"/bomb/cut-header": "image is damaged or cut off",
		"/bomb/one-byte":   "unsupported type of image",
	} {
		_, err := c.Photo(t.Context(), srv.URL+path)
		if class, _ := fault.Of(err); class != fault.Invalid || !strings.Contains(err.Error(), text) {
			t.Errorf("GET %s = %v (%s); want invalid, %q", path, err, class, text)
		}
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 64 {
		t.Errorf("the bombs cost %d MiB", used)
	}
}

func BenchmarkImage(b *testing.B) {
	srv, _, c := world(b, fetch.Options{})
	for b.Loop() {
		if _, err := c.Photo(b.Context(), srv.URL+"/bad/untyped"); err != nil {
			b.Fatal(err)
		}
	}
}

// names is a name server on a loopback port. It knows the .test names of these tests, and asks no other.
type names struct{ resolver *net.Resolver }

func newNames(t *testing.T) names {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for rebinds := 0; ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.RCode, m.Additionals = true, dnsmessage.RCodeSuccess, nil
			answer := func(a [4]byte) {
				if q.Type == dnsmessage.TypeA {
					m.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0},
						Body:   &dnsmessage.AResource{A: a},
					}}
				}
			}
			switch strings.TrimSuffix(q.Name.String(), ".") {
			case "inside.test", "localhost":
				answer([4]byte{127, 0, 0, 1})
			case "rebinds.test": // another private address each time: there is none to be cached and trusted
				rebinds++
				answer([4]byte{10, 0, 0, byte(rebinds)})
			case "inside6.test":
				if q.Type == dnsmessage.TypeAAAA {
					m.Answers = []dnsmessage.Resource{{
						Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
						Body:   &dnsmessage.AAAAResource{AAAA: [16]byte{15: 1}},
					}}
				}
			case "broken.test":
				m.RCode = dnsmessage.RCodeServerFailure
			default:
				m.RCode = dnsmessage.RCodeNameError
			}
			if out, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(out, from)
			}
		}
	}()
	return names{&net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}}
}

// tinyWebP is one lossless pixel.
var tinyWebP = []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00" +
	"\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")
