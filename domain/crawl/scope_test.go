package crawl_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

func TestScope(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, seed, mode string
		hosts            []string
		in, out          []string
	}{
		{"host", "https://example.com/a/", crawl.SameHost, []string{"example.com", "www.example.com"},
			[]string{"http://example.com/", "https://www.example.com/x?y", "https://example.com:443/"},
			[]string{"https://cdn.example.com/", "https://example.com:8443/", "https://example.org/", "https://xexample.com/"}},
		{"www", "https://www.example.com/", crawl.SameHost, []string{"example.com", "www.example.com"},
			[]string{"http://example.com/"}, []string{"https://www.www.example.com/"}},
		{"port", "http://127.0.0.1:8080/", crawl.SameHost, []string{"127.0.0.1:8080"},
			[]string{"http://127.0.0.1:8080/x", "https://127.0.0.1:8080/x"},
			[]string{"http://127.0.0.1/", "http://127.0.0.1:8081/", "http://localhost:8080/"}},
		{"name and port", "http://site.test:8080/", crawl.SameHost, []string{"site.test:8080", "www.site.test:8080"},
			[]string{"http://www.site.test:8080/"}, []string{"http://site.test/"}},
		{"IPv6", "http://[::1]:8080/", crawl.SameDomain, []string{"[::1]:8080"},
			[]string{"http://[0:0::1]:8080/"}, []string{"http://[::2]:8080/"}},
		{"one label", "http://localhost/", crawl.SameDomain, []string{"localhost", "www.localhost"},
			[]string{"http://www.localhost/"}, []string{"http://a.localhost/"}},
		{"domain", "https://news.example.co.uk/", crawl.SameDomain, []string{"news.example.co.uk", "www.news.example.co.uk"},
			[]string{"https://example.co.uk/", "http://a.b.example.co.uk/", "https://example.co.uk./"},
			[]string{"https://co.uk/", "https://other.co.uk/", "https://xexample.co.uk/", "https://a.example.co.uk:8080/"}},
		{"domain and port", "http://a.example.com:8080/", crawl.SameDomain,
			[]string{"a.example.com:8080", "www.a.example.com:8080"},
			[]string{"http://b.example.com:8080/"}, []string{"http://b.example.com/", "http://a.example.com/"}},
		{"private suffix", "https://me.github.io/", crawl.SameDomain, []string{"me.github.io", "www.me.github.io"},
			[]string{"https://x.me.github.io/"}, []string{"https://you.github.io/"}},
		{"a public suffix", "https://co.uk/", crawl.SameDomain, []string{"co.uk", "www.co.uk"},
			[]string{"https://co.uk/x"}, []string{"https://x.co.uk/"}},
		{"prefix", "https://example.com/docs/v1/index.html?x=/y/", crawl.Prefix, []string{"example.com", "www.example.com"},
			[]string{"https://www.example.com/docs/v1/", "https://example.com/docs/v1/a/b?c"},
			[]string{"https://example.com/docs/v1", "https://example.com/docs/v10/", "https://example.com/", "https://example.org/docs/v1/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := address(t, tt.seed)
			s, err := crawl.NewScope(root, tt.mode)
			if err != nil || !slices.Equal(s.Hosts(), tt.hosts) {
				t.Fatalf("NewScope has %q, %v; want %q", s.Hosts(), err, tt.hosts)
			}
			again := crawl.ScopeOf(root, tt.mode, tt.hosts)
			for _, a := range tt.in {
				if a := address(t, a); !s.Has(a) || !again.Has(a) {
					t.Errorf("%s is out", a.URL)
				}
			}
			for _, a := range tt.out {
				if a := address(t, a); s.Has(a) || again.Has(a) {
					t.Errorf("%s is in", a.URL)
				}
			}
		})
	}
	_, err := crawl.NewScope(address(t, "https://example.com/"), "all")
	if class, _ := fault.Of(err); class != fault.Invalid {
		t.Errorf("a mode that is none: %v", err)
	}
}

func address(t *testing.T, s string) web.Address {
	t.Helper()
	a, err := web.Canonical(s)
	require.NoError(t, err)
	return a
}

func TestIsDocument(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/a.pdf": true, "/a.PDF?x=1": true, "/a.tar.gz": true, "/site.webmanifest": false, "/a.b/c.Zip": true, "/a.png": false,
		"/": false, "": false, "/a": false, "/a.html": false, "/a.htm": false, "/a.xhtml": false, "/a.php": false, "/a.asp": false,
		"/a.aspx": false, "/a.jsp": false, "/a.cgi": false, "/v1.2": false, "/a.pdf/": false, "/a.pdf/b": false,
		"/download?file=a.pdf": false, "/.pdf": true, "/a.": false, "/example.com": false, "/a.averyverylongextension": false,
		"/x.do": false, "/feed.xml": false, "/a.pdf;jsessionid=0A": true, "/a.html;v=1.pdf": false, "/a;v=1/b.pdf": true, "/Doe;Ann.pdf": true,
	} {
		assert.Equal(t, want, crawl.IsDocument(path), path)
	}
}
