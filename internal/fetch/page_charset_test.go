package fetch_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// An exchange says which charset its text was decoded from.
func TestCharset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, body, charset, text string }{
		{"text/html; charset=iso-8859-1", "caf\xe9", "windows-1252", "café"},
		{"text/html", "<meta charset=windows-1251>\xe6", "windows-1251", "<meta charset=windows-1251>ж"},
		{"text/html; charset=utf-8", "<meta charset=windows-1252>café", "", "<meta charset=windows-1252>café"},
		{"text/html", "café", "", "café"},
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
