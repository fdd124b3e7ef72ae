package contract_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
)

// Headers and cookies are bounded, and none may change what is asked or how; no error quotes what may be a secret.
func TestHeadersAndCookies(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 33 {
		many[fmt.Sprint("X-", i)] = "s3cret"
	}
	large := map[string]string{}
	for i := range 5 {
		large[fmt.Sprint("X-", i)] = strings.Repeat("s3cret", 4096/6)
	}
	for _, tt := range []struct {
		name    string
		headers map[string]string
		cookies []contract.CrawlCookie
		want    string // "" = nothing is wrong
	}{
		{"good", map[string]string{"Authorization": "Bearer s3cret", "Accept-Language": "de", "x-y": `"a", b`},
			[]contract.CrawlCookie{{Name: "session", Value: "s3cret"}, {Name: "session", Value: "", Path: "/shop"},
				{Name: "__Host-a", Value: "b=c,d"}, {Name: "__Secure-a", Value: `"x y"`, Path: "/x"}}, ""},
		{"host", map[string]string{"HOST": "s3cret"}, nil, "data.headers.HOST: is made of the URL"},
		{"cookie", map[string]string{"Cookie": "s3cret"}, nil, "data.headers.Cookie: is refused: use cookies"},
		{"framing", map[string]string{"Content-Length": "s3cret"}, nil, "data.headers.Content-Length: is refused"},
		{"hop by hop", map[string]string{"connection": "s3cret"}, nil, "data.headers.connection: is refused"},
		{"transfer", map[string]string{"Transfer-Encoding": "s3cret"}, nil, "data.headers.Transfer-Encoding: is refused"},
		{"proxy", map[string]string{"Proxy-Authorization": "s3cret"}, nil, "data.headers.Proxy-Authorization: is refused"},
		{"conditional", map[string]string{"If-None-Match": "s3cret"}, nil, "data.headers.If-None-Match: is refused"},
		{"twice", map[string]string{"X-A": "s3cret", "x-a": "s3cret"}, nil, "data.headers.x-a: is there twice"},
		{"two lines", map[string]string{"X-A": "s3cret\r\nHost: x"}, nil, "data.headers.X-A: is not one line"},
		{"not ascii", map[string]string{"X-A": "s3cret é"}, nil, "data.headers.X-A: is not one line"},
		{"empty", map[string]string{"X-A": ""}, nil, "data.headers.X-A: is not one line"},
		{"a line for a name", map[string]string{"X-A: s3cret": "x"}, nil, "data.headers: has a name that is not"},
		{"long name", map[string]string{strings.Repeat("s3cret", 20): "x"}, nil, "data.headers: has a name that is not"},
		{"long value", map[string]string{"X-A": strings.Repeat("s3cret", 700)}, nil, "data.headers.X-A: has 4200 bytes"},
		{"many", many, nil, "data.headers: has 33 headers, the most is 32"},
		{"large", large, nil, "data.headers: has 20475 bytes"},
		{"no cookie name", nil, []contract.CrawlCookie{{Value: "s3cret"}}, "data.cookies.0.name: is not"},
		{"cookie name", nil, []contract.CrawlCookie{{Name: "a=s3cret"}}, "data.cookies.0.name: is not"},
		{"two in one", nil, []contract.CrawlCookie{{Name: "a", Value: "s3cret; Domain=x"}}, "data.cookies.0.value: is not"},
		{"path", nil, []contract.CrawlCookie{{Name: "a", Value: "b", Path: "s3cret"}}, "data.cookies.0.path: is not a path"},
		{"large cookie", nil, []contract.CrawlCookie{{Name: "a", Value: strings.Repeat("s3cret", 700)}},
			"data.cookies.0: has 4201 bytes"},
		{"cookie twice", nil, []contract.CrawlCookie{{Name: "a", Value: "s3cret"}, {Name: "a", Value: "x"}},
			"data.cookies.1: is there twice"},
		{"host cookie with a path", nil, []contract.CrawlCookie{{Name: "__Host-a", Value: "s3cret", Path: "/x"}},
			"data.cookies.0.path: is not /"},
		{"the same in capitals", nil, []contract.CrawlCookie{{Name: "__HOST-a", Value: "s3cret", Path: "/x"}},
			"data.cookies.0.path: is not /"},
		{"many cookies", nil, make([]contract.CrawlCookie, 51), "data.cookies: has 51 cookies, the most is 50"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := contract.CrawlRequest{URL: "https://shop.example/p", Headers: tt.headers, Cookies: tt.cookies}.Check()
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "s3cret")
			require.NotContains(t, err.Error(), ";", "one thing is wrong")
		})
	}
	for _, name := range []string{"__Secure-a", "__secure-a", "__host-a"} {
		plain := contract.CrawlRequest{URL: "http://shop.example/p", Cookies: []contract.CrawlCookie{{Name: name}}}
		require.ErrorContains(t, plain.Check(), "https pages only", name)
	}
}

func TestStripCrawlRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"none", `{ "data": {"url": "https://s.example/", "n": 1} }`, `{ "data": {"url": "https://s.example/", "n": 1} }`},
		{"no JSON", "{", "{"},
		{"stripped", `{"data":{"sealed":true,"url":"u"},"event_id":"1"}`,
			`{"data":{"sealed":true,"url":"u"},"event_id":"1"}`},
		{"both", `{"event_id":"1","data":{"url":"u","headers":{"A":"s3cret"},"cookies":[{"name":"s3cret"}],
			"n":12345678901234567890}}`,
			`{"data":{"n":12345678901234567890,"sealed":true,"url":"u"},"event_id":"1"}`},
		{"as encoding/json reads them", `{"Data":{"HEADERS":"s3cret","\u0063ookies":7,"cookies":"s3cret"}}`,
			`{"Data":{"sealed":true}}`},
		{"in another place", `{"headers":{"A":"s3cret"},"data":[{"cookies":"s3cret"}]}`, `{"data":[{}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := contract.StripCrawlRequest([]byte(tt.in))
			require.Equal(t, tt.want, string(got))
			require.Equal(t, string(got), string(contract.StripCrawlRequest(got)))
		})
	}
	for _, broken := range []string{
		`{"data":{"headers":{"A":"s3cret"}`, `{"data":{"Cookies":"s3cret"}}}`, `{} {"headers":"s3cret"}`,
	} {
		got := contract.StripCrawlRequest([]byte(broken))
		require.NotContains(t, string(got), "s3cret")
		require.True(t, json.Valid(got))
		require.Equal(t, got, contract.StripCrawlRequest(got))
	}
}
