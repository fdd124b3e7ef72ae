package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both commands ask for what they say, and print what they are answered.
func TestListingsRefused(t *testing.T) {
	t.Parallel()

	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/adverts" {
			_, _ = io.WriteString(w, `{"items": [{"platform": "kijiji", "platform_id": "1",
				"reasons": [{"field": "price", "message": "none is stated"}]}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"counts": [{"day": "2026-11-21T00:00:00Z", "platform": "kijiji", "code": "wanted", "adverts": 3}]}`)
	}))
	t.Cleanup(s.Close)
	require.NoError(t, run(t, s.URL, "listings", "refused", "--reason", "missing", "--limit", "5"))
	require.NoError(t, run(t, s.URL, "listings", "reasons", "--days", "3"))
	require.Equal(t, []string{"/adverts?limit=5&reason=missing&status=rejected", "/adverts/reasons?days=3"}, asked)
}
