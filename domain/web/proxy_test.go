package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

func TestParseProxy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, shown, at, credentials string }{
		{"http://proxy.example", "http://proxy.example", "proxy.example:80", ""},
		{"https://me:s%40crt@proxy.example:8443/", "https://proxy.example:8443", "proxy.example:8443", "me:s%40crt"},
		{"socks5://me:secret@[::1]", "socks5://[::1]", "[::1]:1080", "me:secret"},
		{"socks5://10.0.0.7:1081", "socks5://10.0.0.7:1081", "10.0.0.7:1081", ""},
	} {
		p, err := web.ParseProxy(tt.in)
		if err != nil || p.String() != tt.shown || p.HostPort() != tt.at || p.Credentials() != tt.credentials {
			t.Errorf("ParseProxy(%q) = %s at %s, %q, %v", tt.in, p, p.HostPort(), p.Credentials(), err)
		}
		bare, _ := web.ParseProxy(tt.shown)
		if again, err := bare.WithCredentials(tt.credentials); again != p || err != nil {
			t.Errorf("%s with its credentials is another, %v", tt.shown, err)
		}
		body, _ := json.Marshal(p)
		for _, printed := range []string{fmt.Sprintf("%v", web.Request{Proxy: p}), fmt.Sprintf("%+v", p), fmt.Sprintf("%#v", p), string(body)} {
			if tt.credentials != "" && strings.Contains(printed, tt.credentials) {
				t.Errorf("%s shows its credentials: %s", tt.shown, printed)
			}
		}
	}
	for _, in := range []string{
		"", "proxy.example:80", "ftp://proxy.example", "http://", "http://a/path", "http://a?b", "socks5://me@host",
		"socks5://:secret@host", "http://me:secret@%zz",
	} {
		_, err := web.ParseProxy(in)
		if class, _ := fault.Of(err); class != fault.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseProxy(%q) = %v", in, err)
		}
	}
}
