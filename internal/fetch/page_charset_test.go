package fetch_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// An exchange says which charset its text was decoded from.
func TestCharset(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1019)
	for _, tt := range []struct{ kind, body, charset, text string }{
		{"text/html; charset=iso-8859-1", "caf\xe9", "windows-1252", "café"},
		{"text/html", "<meta charset=windows-1251>\xe6", "windows-1251", "<meta charset=windows-1251>ж"},
		{"text/html; charset=utf-8", "<meta charset=windows-1252>café", "", "<meta charset=windows-1252>café"},
		{"text/html", "café", "", "café"},
		{"text/html", "<meta charset=latin1><a href='?q=caf&eacute;'>", "windows-1252", "<meta charset=latin1><a href='?q=caf&eacute;'>"},
		{"text/html", "<meta charset=gbk>x", "gbk", "<meta charset=gbk>x"},
		{"text/html", "<meta charset=utf-8>x", "", "<meta charset=utf-8>x"},
		{"text/html", "x", "", "x"},
		{"text/html", "", "", ""},
		{"text/html; charset=utf-8", "<meta charset=gbk>x", "", "<meta charset=gbk>x"},
		{"text/html", "<meta charset=latin1>" + long + "é", "", "<meta charset=latin1>" + long + "é"},
		{"text/html", long + "é<meta charset=latin1>", "", long + "é<meta charset=latin1>"},
	} {
		srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			_, _ = w.Write([]byte(tt.body))
		}, fetch.Options{})
		e, err := c.Ask(t.Context(), web.Request{URL: srv.URL})
		require.NoError(t, err)
		require.Equal(t, tt.charset, e.Charset, tt.kind)
		require.Equal(t, tt.text, string(e.Body))
	}
}
