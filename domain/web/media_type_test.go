package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
)

func TestMediaType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ header, kind, charset string }{
		{"text/html", "text/html", ""}, {" Text/HTML ; Charset=UTF-8", "text/html", "UTF-8"}, {"text/html;", "text/html", ""},
		{"text/html;;charset=koi8-r", "text/html", "koi8-r"}, {`text/html; a; b=";charset=no"; charset = "koi8-r"`, "text/html", "koi8-r"},
		{"text/html; charset=koi8-r; charset=utf-8", "text/html", "koi8-r"}, {"text/html; charset='koi8-r'", "text/html", "koi8-r"},
		{`text/html; charset="koi8-r`, "text/html", "koi8-r"}, {`text/html; a="\";charset=no"`, "text/html", ""},
		{"text/html; charset=; charset=koi8-r", "text/html", "koi8-r"}, {"text/html charset=utf-8", "text/html", ""},
		// A header that was sent twice.
		{"text/html, text/html", "text/html", ""}, {"text/html;charset=koi8-r, text/html", "text/html", "koi8-r"},
		{"text/html, text/html;charset=koi8-r", "text/html", "koi8-r"}, {"text/plain;charset=koi8-r, text/html", "text/html", ""},
		{"text/html, */*", "text/html", ""}, {"*/*, text/html", "text/html", ""}, {"text/html,", "text/html", ""},
		{`text/html; a="x, text/plain"`, "text/html", ""},
		// One that says nothing.
		{"", "", ""}, {"html", "", ""}, {"/html", "", ""}, {"text/", "", ""}, {"charset=utf-8", "", ""}, {"*/*", "", ""},
		{"unknown/unknown", "", ""}, {"application/Unknown; charset=koi8-r", "", "koi8-r"}, {",", "", ""}, {";", "", ""},
	} {
		kind, charset := web.MediaType(tt.header)
		require.Equal(t, tt.kind, kind, tt.header)
		require.Equal(t, tt.charset, charset, tt.header)
	}
}
