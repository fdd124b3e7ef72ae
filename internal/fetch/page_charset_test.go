package fetch_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// declared16 is a page that says it is in UTF-16.
const declared16 = "<?xml version='1.0' encoding='UTF-16'?><html xmlns='http://www.w3.org/1999/xhtml'>café"

// wide is a text in UTF-16, big-endian or not.
func wide(s string, big bool) string {
	order := unicode.LittleEndian
	if big {
		order = unicode.BigEndian
	}
	text, _ := unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().String(s)
	return text
}

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
		// "prescan a byte stream to determine its encoding" of the HTML standard: an XML declaration in UTF-16 says so, one
		// that says so itself could not have been read, and is UTF-8; and a byte order mark before anything else ("BOM sniff").
		{"text/html", wide(declared16, false), "utf-16le", declared16},
		{"application/xml", wide(declared16, true), "utf-16be", declared16},
		{"", wide(declared16, false), "utf-16le", declared16},
		{"text/html; charset=utf-8", wide("\ufeffcafé", true), "utf-16be", "café"},
		{"text/html", declared16, "", declared16},
		{"text/html", "<?xml version='1.0' encoding='UTF-16'?>caf\xe9", "", "<?xml version='1.0' encoding='UTF-16'?>caf\ufffd"},
	} {
		srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{tt.kind}
			_, _ = w.Write([]byte(tt.body))
		}, fetch.Options{})
		e, err := c.Ask(t.Context(), web.Request{URL: srv.URL})
		require.NoError(t, err)
		require.Equal(t, tt.charset, e.Charset, tt.kind)
		require.Equal(t, tt.text, string(e.Body))
	}
}
