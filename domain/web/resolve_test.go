package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	const page = "http://a.example:8080/x/y/z.html?q=1#f"
	for _, tt := range []struct{ href, want string }{
		{"", "http://a.example:8080/x/y/z.html?q=1"},
		{" \t\n", "http://a.example:8080/x/y/z.html?q=1"},
		{"#top", "http://a.example:8080/x/y/z.html?q=1"},
		{"?", "http://a.example:8080/x/y/z.html?"},
		{"?b#c", "http://a.example:8080/x/y/z.html?b"},
		{"w", "http://a.example:8080/x/y/w"},
		{" w.html ", "http://a.example:8080/x/y/w.html"},
		{"w?a=b&amp;c='\"|", "http://a.example:8080/x/y/w?a=b&amp;c=%27%22|"},
		{"w?a=%zz&b=%e9&é", "http://a.example:8080/x/y/w?a=%zz&b=%e9&%C3%A9"},
		{".", "http://a.example:8080/x/y/"},
		{"./w", "http://a.example:8080/x/y/w"},
		{"..", "http://a.example:8080/x/"},
		{"../w", "http://a.example:8080/x/w"},
		{"../../../../w", "http://a.example:8080/w"},
		{"../..", "http://a.example:8080/"},
		{"u/../w/./v/.", "http://a.example:8080/x/y/w/v/"},
		{"%2e%2E/w", "http://a.example:8080/x/w"},
		{"..w/.v/v../v.", "http://a.example:8080/x/y/..w/.v/v../v."},
		{"/w//v/", "http://a.example:8080/w//v/"},
		{"/./w/..//v", "http://a.example:8080//v"},
		{"w v\té/ü", "http://a.example:8080/x/y/w%20v%C3%A9/%C3%BC"},
		{"w\nv", "http://a.example:8080/x/y/wv"},
		{`\w\v`, "http://a.example:8080/w/v"},
		{"^{}`|", "http://a.example:8080/x/y/%5E%7B%7D%60|"},
		{"1:2", "http://a.example:8080/x/y/1:2"},
		{"./a:b", "http://a.example:8080/x/y/a:b"},
		{"w/a:b?c:d", "http://a.example:8080/x/y/w/a:b?c:d"},
		{"http:w", "http://a.example:8080/x/y/w"},
		{"http:/w", "http://a.example:8080/w"},
		{"http:///b.example", "http://b.example/"},
		{"https:b.example", "https://b.example/"},
		{"//b.example", "http://b.example/"},
		{"//b.example?q", "http://b.example/?q"},
		{`\\b.example\w`, "http://b.example/w"},
		{"HTTP://B.Example:80/W", "http://b.example/W"},
		{"https://b.example:443", "https://b.example/"},
		{"http://b.example:443/", "http://b.example:443/"},
		{"http://b.example:/", "http://b.example/"},
		{"http://b.example:0080/", "http://b.example/"},
		{"http://b.example/../w/./v?#", "http://b.example/w/v?"},
		{"http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"http://faß.example/", "http://xn--fa-hia.example/"},
		{"http://b%2Eexample/", "http://b.example/"},
		{"http://ｂ。example/", "http://b.example/"},
		{"http://b.example./", "http://b.example./"},
		{"http://b_c.example/", "http://b_c.example/"},
		{"http://0x7f.1/", "http://127.0.0.1/"},
		{"http://2130706433/", "http://127.0.0.1/"},
		{"http://0177.0.0.01/", "http://127.0.0.1/"},
		{"http://[0:0::1]:8080/", "http://[::1]:8080/"},
		{"http://256.0.0.1/", ""},
		{"http://1.2.3.4.5/", ""},
		{"http://-1/", ""},
		{"http://1.0x+2/", ""},
		{"http://%2b1/", ""},
		{"http://a-1.b+2/", "http://a-1.b+2/"},
		{"http://-/", "http://-/"},
		{"http://-a.1a/", "http://-a.1a/"},
		{"http://[::1/", ""},
		{"http://b.example:65536/", ""},
		{"http://b.example:x/", ""},
		{"http://b example/", ""},
		{"http://", ""},
		{"https:", ""},
		{"http://u@b.example/", ""},
		{"http://u:p@b.example/", ""},
		{"http://@b.example/", "http://b.example/"},
		{"javascript:void(0)", ""},
		{"java\nscript:void(0)", ""},
		{"JavaScript:void(0)", ""},
		{"mailto:x@b.example", ""},
		{"tel:+1", ""},
		{"data:text/html,x", ""},
		{"ftp://b.example/", ""},
		{"file:///etc/passwd", ""},
		{"about:blank", ""},
		{"\x00w\x01", "http://a.example:8080/x/y/w"},
		{"w\x00v", "http://a.example:8080/x/y/w%00v"},
		{"/" + strings.Repeat("w", web.MaxAddress-22), "http://a.example:8080/" + strings.Repeat("w", web.MaxAddress-22)},
		{"/" + strings.Repeat("w", web.MaxAddress-21), ""},
		{"/" + strings.Repeat("é", web.MaxAddress/6), ""},
		{strings.Repeat("../", 5*web.MaxAddress) + "w", ""},
	} {
		b, err := web.NewBase(page)
		require.NoError(t, err)
		a, ok := b.Resolve(tt.href)
		if ok != (tt.want != "") || ok && a.URL != tt.want {
			t.Errorf("Resolve(%.80q) = %.80q, %t; want %.80q", tt.href, a.URL, ok, tt.want)
		}
		if again, err := web.Canonical(a.URL); ok && (err != nil || again != a) {
			t.Errorf("Canonical(%.80q) = %+v, %v; want the same", a.URL, again, err)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]web.Address{
		"http://Shop.Example:80":         {URL: "http://shop.example/", Host: "shop.example", Path: "/"},
		"https://shop.example:80/a?b#c":  {URL: "https://shop.example:80/a?b", Host: "shop.example:80", Path: "/a?b"},
		" http:shop.example ":            {URL: "http://shop.example/", Host: "shop.example", Path: "/"},
		"http://[::1]:80?x":              {URL: "http://[::1]/?x", Host: "[::1]", Path: "/?x"},
		"http://[2001:DB8::1]:8080/x/..": {URL: "http://[2001:db8::1]:8080/", Host: "[2001:db8::1]:8080", Path: "/"},
		"":                               {},
		"/x":                             {},
		"shop.example":                   {},
		"ftp://shop.example/":            {},
		"https://u:secret@shop.example/": {},
	} {
		a, err := web.Canonical(in)
		if class, _ := fault.Of(err); a != want || (err != nil) != (want.URL == "") || err != nil && class != fault.Invalid {
			t.Errorf("Canonical(%q) = %+v, %v; want %+v", in, a, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v tells a secret", err)
		}
	}
}

func TestRebase(t *testing.T) {
	t.Parallel()
	page, err := web.NewBase("http://a.example/x/y?q")
	require.NoError(t, err)
	for _, tt := range []struct{ base, href, want string }{
		{"", "w", "http://a.example/x/w"},
		{"/b/", "w", "http://a.example/b/w"},
		{"b/c", "", "http://a.example/x/b/c"},
		{"//b.example", "?q", "http://b.example/?q"},
		{"https://b.example:444/c/d#e", "../w", "https://b.example:444/w"},
		{"javascript:x", "w", "http://a.example/x/w"},
		{"data:,x", "w", "http://a.example/x/w"},
		{"http://[", "w", "http://a.example/x/w"},
		{"ftp://b.example/", "w", ""},
		{"ftp://b.example/", "", ""},
		{"ftp://b.example/", "http://c.example/w", "http://c.example/w"},
		{"mailto:x", "?q", ""},
		{"http://u:p@b.example/", "w", ""},
	} {
		if a, ok := page.Rebase(tt.base).Resolve(tt.href); ok != (tt.want != "") || a.URL != tt.want {
			t.Errorf("base %q: Resolve(%q) = %q, %t; want %q", tt.base, tt.href, a.URL, ok, tt.want)
		}
	}
}

// Addresses that are made to be slow, as a page may have thousands of.
func TestResolveIsFast(t *testing.T) {
	t.Parallel()
	b, err := web.NewBase("http://a.example/x/")
	require.NoError(t, err)
	const n = 16_000
	slow := []string{"http://" + strings.Repeat("@", n), "//" + strings.Repeat("a", n) + "@b", " \thttps:\\/\n" + strings.Repeat(":@", n/2),
		"ht\ntp:" + strings.Repeat("@", n), "\\/" + strings.Repeat("@", n), "/\t/" + strings.Repeat("@", n), "http://" + strings.Repeat("é.", n/3),
		"https:" + strings.Repeat("@", n), "http://" + strings.Repeat("1.", n/2), "http://[" + strings.Repeat("1:", n/2), strings.Repeat("../", n/3),
		"\x01/\r\\" + strings.Repeat("@", n), strings.Repeat("/./é", n/5), "http://a:" + strings.Repeat("1", n)}
	took := servicetest.CPU(func() {
		for _, href := range slow {
			for range 50 {
				b.Resolve(href)
				_, _ = web.NewBase(href)
			}
		}
	})
	require.LessOrEqual(t, took, 20*time.Second)
	for _, href := range []string{strings.Repeat("@", 300), "/" + strings.Repeat("@", 300), "x:" + strings.Repeat("@", 300),
		"?" + strings.Repeat("@", 300), "http://b.example/" + strings.Repeat("@", 300)} {
		a, ok := b.Resolve(href)
		if slow, want := b.Slowly(href); ok != want || a != slow || ok == strings.HasPrefix(href, "x:") {
			t.Errorf("Resolve(%q) = %+v, %t", href, a, ok)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/?", "/a?b", "/a?b=%zz&c|", "/100%", "/100%?", "/100%?x", "/%zz/%2f", "/a%2Fb|c", "/a%2fb", "/[x]'!~*(),;:@&=+$", "//b//c",
		"/%e9", "/caf%C3%A9?x=%C3%A9"} {
		a, err := web.Canonical("https://b.example:8443" + path)
		require.NoError(t, err)
		u := a.Target()
		if got := u.RequestURI(); got != path || u.Host != "b.example:8443" || u.Scheme != "https" {
			t.Errorf("Target of %q asks for %q of %q", path, got, u.Host)
		}
	}
}

func TestUsualAddressesArePlain(t *testing.T) {
	t.Parallel()
	b, _ := web.NewBase("https://a.example/x/y?q")
	for _, href := range []string{"w.html", "../../w/v.html?a=b#c", "/", "#x", "?p=2&s=%20", "https://b-c.example/w", "//b.example",
		"mailto:x@y", "javascript:void(0)", "/a:b;c=d,e~f!(g)*h'i+j@k$l[m]", "/caf%C3%A9", "a/../b/./c"} {
		assert.True(t, b.Plainly(href), href)
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"", "..", "../a", "/a/%2e/b", "//b.example/../c", "http:x", "HTTPS:\\\\x", "?a#b", "a:b", "é ", "http://1.2",
		"http://a.b-/", "//a..b/", "http://xn--a/", "http://127.0.0.01:080", "https://1.2.3.4:443?", "http://a:8080/", "a?'", "a?|{}\\", ".", "a/.", "a/..", "..//..", "/.a/..b", "\tjava\nscript:x"} {
		f.Add("http://a.example:8080/x//y?q", s)
		f.Add("https://[::1]", s)
		f.Add("http://127.0.0.1:8090/a?b", s)
	}
	f.Fuzz(func(t *testing.T, base, href string) {
		b, err := web.NewBase(base)
		if err != nil {
			return
		}
		a, ok := b.Resolve(href)
		if slow, want := b.Slowly(href); (ok != want || ok && a != slow) && len(href) <= web.MaxAddress {
			t.Fatalf("base %q: Resolve(%q) = %+v, %t; the library: %+v, %t", base, href, a, ok, slow, want)
		}
		if !ok {
			return
		}
		if again, err := web.Canonical(a.URL); err != nil || again != a {
			t.Errorf("Canonical(%q) = %+v, %v; want the same as %+v", a.URL, again, err, a)
		}
		if u := a.Target(); u.Host != a.Host || u.RequestURI() != a.Path && !strings.HasPrefix(a.Path, "//") {
			t.Errorf("Target(%q) asks for %q of %q", a.URL, u.RequestURI(), u.Host)
		}
		if len(a.URL) > web.MaxAddress || !strings.HasSuffix(a.URL, a.Host+a.Path) || strings.Contains(a.URL, "#") {
			t.Errorf("base %q: Resolve(%q) = %+v", base, href, a)
		}
	})
}
