package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each command asks for what it says, and prints what it is answered.
func TestDuplicates(t *testing.T) {
	t.Parallel()

	const home, one = "8e2f3d1c-4b7a-5e5f-9a3b-2c1d0e9f8a7b", "3f0d6f5e-5c0e-5d3c-9c45-0d6b1f0a7a11"
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"items": [{"id": "`+home+`", "shown": "`+one+`", "members": [{"listing_id": "`+one+`",
				"platform": "kijiji", "rent_cents": 125000, "reasons": [{"message": "0 m apart"}]}], "verdicts": [{"number": 7}]}]}`)
		case r.URL.Path == "/duplicates/"+home:
			_, _ = io.WriteString(w, `{"number": 7, "home": "`+home+`", "restarted": 1}`)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(s.Close)
	require.NoError(t, run(t, s.URL, "duplicates", "list", "--kind", "duplicate"))
	require.NoError(t, run(t, s.URL, "duplicates", "different", home, one))
	require.NoError(t, run(t, s.URL, "duplicates", "undo", "7"))
	require.Len(t, asked, 3)
	require.Equal(t, "GET /duplicates?kind=duplicate&limit=50 ", asked[0])
	require.Contains(t, asked[1], `"verdict":"different"`)
	require.Contains(t, asked[1], `"listing_id":"`+one+`"`)
	require.Contains(t, asked[2], "POST /duplicates/verdicts/7/undo")
}
