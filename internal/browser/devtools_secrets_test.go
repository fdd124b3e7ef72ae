package browser_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
)

// A guest book has what each request to a site brought, by host and path.
type guestBook struct {
	mu    sync.Mutex
	pages map[string]http.Header
}

func (g *guestBook) serve(t *testing.T, s *site) {
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(r.Host, ":")
		g.mu.Lock()
		if _, twice := g.pages[name+r.URL.Path]; twice && r.URL.Path != "/favicon.ico" {
			t.Errorf("%s%s was asked for twice", name, r.URL.Path)
		}
		g.pages[name+r.URL.Path] = r.Header
		g.mu.Unlock()
		inner.ServeHTTP(w, r)
	})
}

// Headers and cookies of a request are sent to whom they are for, whatever the page does: the origin of its address and
// the host of its address.
func TestCaptureWithSecrets(t *testing.T) {
	t.Parallel()
	s, other := newSite(t), newSite(t)
	book := &guestBook{pages: map[string]http.Header{}}
	book.serve(t, s)
	book.serve(t, other)
	third := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	to := func(address string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) }
	}
	dot := func(site *site, paths ...string) {
		for _, path := range paths {
			site.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Access-Control-Allow-Origin", "*")
				w.Header().Set("Content-Type", "image/gif")
			})
		}
	}
	dot(s, "/own.gif", "/own-fetch", "/shop/own.gif", "/from-frame.gif")
	dot(other, "/third.gif", "/third-fetch", "/hopped.gif", "/style.css")
	s.HandleFunc("/entry", to("/page"))
	s.HandleFunc("/leave", to(third+"/landed"))
	s.HandleFunc("/hop.gif", to(third+"/hopped.gif"))
	s.html("/page", fmt.Sprintf(`<body><img src=/own.gif><img src=/shop/own.gif><img src=/hop.gif>
		<img src="%[1]s/third.gif"><link rel=stylesheet href="%[1]s/style.css"><iframe src="%[1]s/frame"></iframe><script>
		document.body.append("scripts see: " + document.cookie);
		fetch("/own-fetch"); fetch("%[1]s/third-fetch");</script>`, third))
	other.html("/frame", `<p>frame<img src="`+s.URL+`/from-frame.gif">`)
	other.html("/landed", `<p>landed`)
	d := drive(t, sharedChromium(t), browser.DevtoolsOptions{}, s, other)
	secrets := draft.Secrets{
		Headers: map[string]string{"Authorization": "Bearer s3cret", "X-Store": "7", "accept-language": "nl"},
		Cookies: []contract.CrawlCookie{{Name: "session", Value: "c00kie"}, {Name: "cart", Value: "1,2", Path: "/shop"}},
	}
	capture := func(path string, s draft.Secrets, address string) string {
		c, err := d.Capture(t.Context(), address+path, "", s)
		require.NoError(t, err)
		return string(c.HTML)
	}
	require.Contains(t, capture("/entry", secrets, s.URL), "scripts see: <", "scripts see the cookies")
	require.Contains(t, capture("/leave", secrets, s.URL), "landed")
	book.mu.Lock()
	defer book.mu.Unlock()
	for page, want := range map[string]string{
		"127.0.0.1/entry":        "Bearer s3cret 7 nl session=c00kie",
		"127.0.0.1/page":         "Bearer s3cret 7 nl session=c00kie",
		"127.0.0.1/own.gif":      "Bearer s3cret 7 nl session=c00kie",
		"127.0.0.1/own-fetch":    "Bearer s3cret 7 nl session=c00kie",
		"127.0.0.1/shop/own.gif": "Bearer s3cret 7 nl cart=1,2; session=c00kie",
		"127.0.0.1/hop.gif":      "Bearer s3cret 7 nl session=c00kie",
		"127.0.0.1/leave":        "Bearer s3cret 7 nl session=c00kie",
		"localhost/hopped.gif":   "en-US",
		"localhost/third.gif":    "en-US",
		"localhost/third-fetch":  "en-US",
		"localhost/style.css":    "en-US",
		"localhost/frame":        "en-US",
		"localhost/landed":       "en-US",
	} {
		h, asked := book.pages[page]
		got := strings.Join(strings.Fields(strings.Join([]string{h.Get("Authorization"), h.Get("X-Store"),
			strings.TrimSuffix(h.Get("Accept-Language"), ",en;q=0.9"), h.Get("Cookie")}, " ")), " ")
		if !asked || got != want {
			t.Errorf("%s was sent %q (asked for: %t); want %q", page, got, asked, want)
		}
	}
	for page, h := range book.pages {
		if said := fmt.Sprint(h); strings.HasPrefix(page, "localhost/") &&
			(strings.Contains(said, "s3cret") || strings.Contains(said, "c00kie")) {
			t.Errorf("%s was sent %s", page, said)
		}
	}
}

// A cookie that Chromium does not take is the request's fault, which no other Chromium mends.
func TestCookieThatIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/page", `<p>page`)
	d := drive(t, sharedChromium(t), browser.DevtoolsOptions{}, s)
	for _, name := range []string{"__Host-a", "__host-a", "a;b"} { // over http
		_, err := d.Capture(t.Context(), s.URL+"/page", "", draft.Secrets{
			Cookies: []contract.CrawlCookie{{Name: "good", Value: "c00kie"}, {Name: name, Value: "c00kie"}},
		})
		class, _ := fault.Of(err)
		if class != fault.Invalid || errors.Is(err, web.ErrNoBrowser) || !strings.Contains(err.Error(), "cookie 1") ||
			strings.Contains(err.Error(), "c00kie") {
			t.Errorf("Capture with the cookie %s = %v (%s)", name, err, class)
		}
	}
}

// A page that is asked for without secrets has none of another's: each has its own context.
func TestSecretsStayWithTheirPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var mu sync.Mutex
	var cookies []string
	s.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/" {
			cookies = append(cookies, r.Header.Get("Cookie")+r.Header.Get("X-A"))
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>page")
	})
	d := drive(t, sharedChromium(t), browser.DevtoolsOptions{}, s)
	for _, secrets := range []draft.Secrets{
		{Headers: map[string]string{"X-A": "x"}, Cookies: []contract.CrawlCookie{{Name: "a", Value: "b"}}}, {},
	} {
		if _, err := d.Capture(t.Context(), s.URL+"/", "", secrets); err != nil {
			t.Fatal(err)
		}
	}
	require.Equal(t, []string{"a=bx", ""}, cookies)
}
