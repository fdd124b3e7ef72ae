package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
)

// Letters of a query go out in the encoding of the page, those of a path in UTF-8 (WHATWG URL 4.4).
func TestEncodedQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ label, href, want string }{
		{"windows-1252", "/recherche?q=café", "/recherche?q=caf%E9"},
		{"iso-8859-1", "/prix-€?p=€", "/prix-%E2%82%AC?p=%80"},
		{"windows-1252", "?v=été&w='a b'#é?é", "/d/e?v=%E9t%E9&w=%27a%20b%27"},
		{"windows-1252", "/x?caf%C3%A9", "/x?caf%C3%A9"},
		{"windows-1252", "/é#?é", "/%C3%A9"},
		{"windows-1252", "/x?a=ж", "/x?a=%26%231078%3B"},
		{"windows-1251", "//b.example/ж?a=ж", "https://b.example/%D0%B6?a=%E6"},
		{"shift_jis", "?表", "/d/e?%95\\"},
		{"euc-kr", "?가", "/d/e?%B0%A1"},
		{"", "?é", "/d/e?%C3%A9"}, {"utf-8", "?é", "/d/e?%C3%A9"}, {"utf-16le", "?é", "/d/e?%C3%A9"}, {"nonsense", "?é", "/d/e?%C3%A9"},
		{"replacement", "?é", "/d/e?%C3%A9"},
	} {
		base, err := web.NewBase("https://a.example/d/e?f")
		require.NoError(t, err)
		got, ok := base.Encoded(tt.label).Resolve(tt.href)
		require.True(t, ok, tt.href)
		want := tt.want
		if want[0] == '/' {
			want = "https://a.example" + want
		}
		require.Equal(t, want, got.URL, "%s in %q", tt.href, tt.label)
	}
}
