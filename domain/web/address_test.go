package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
)

func TestShow(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://me:secret@shop.example/a%2Fb?token=x#y": "https://shop.example/a%2Fb?…",
		"http://shop.example:8080":                       "http://shop.example:8080",
		"http://shop.example/#secret":                    "http://shop.example/",
		"https://shop.example/100%-cotton#50%":           "https://shop.example/100%25-cotton",
		"http://%zz":                                     "",
		"https://a.example/" + strings.Repeat("é", 200):  "https://a.example/" + strings.Repeat("%C3%A9", 30) + "%C…",
	} {
		assert.Equal(t, want, web.Show(in), in)
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, host, hostPort string }{
		{"https://Shop.Example:443/x", "shop.example", "shop.example"},
		{"https://shop.example:80", "shop.example", "shop.example:80"},
		{"http://u:p@127.0.0.1:8090/", "127.0.0.1", "127.0.0.1:8090"},
		{"http://[::1]:80/", "::1", "[::1]"},
		{"mailto:x@y.example", "", ""},
	} {
		u, err := url.Parse(tt.in)
		require.NoError(t, err)
		if host, port := web.Host(tt.in), web.HostPort(u); host != tt.host || port != tt.hostPort {
			t.Errorf("%s: Host = %q, HostPort = %q; want %q and %q", tt.in, host, port, tt.host, tt.hostPort)
		}
	}
	require.Empty(t, web.Host("http://%zz"))
}
