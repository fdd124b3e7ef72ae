package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
)

func TestAudit(t *testing.T) {
	t.Parallel()
	var queries []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.Query().Encode())
		page := api.AuditPage{NextCursor: "next", Items: []api.AuditEntry{{
			ID: 7, At: noon, Actor: "ops\x1b[2J", Action: "dead_letter.replayed", Subject: "dead-letter/12",
			Remote: "192.0.2.7", Detail: json.RawMessage(`{"queue":"scraped.kijiji"}`),
		}}}
		if r.URL.Query().Get("cursor") != "" {
			page = api.AuditPage{Items: []api.AuditEntry{{
				ID: 6, At: noon.Add(-time.Hour), Actor: "cli:jo", Action: "api_key.created", Subject: "api-key/x",
				Detail: json.RawMessage(`{}`),
			}}}
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	t.Cleanup(server.Close)
	var b strings.Builder
	shown, more, err := (&AuditCmd{Actor: "ops", Since: when{noon}}).entries().print(t.Context(), &b, Client{URL: server.URL})
	require.NoError(t, err)
	require.Equal(t, 2, shown)
	require.False(t, more)
	require.Equal(t, `AT (UTC)             ACTOR    ACTION                SUBJECT         FROM       DETAIL
2026-11-21 12:00:00  ops [2J  dead_letter.replayed  dead-letter/12  192.0.2.7  {"queue":"scraped.kijiji"}
2026-11-21 11:00:00  cli:jo   api_key.created       api-key/x                  {}
`, b.String())
	require.Equal(t, []string{
		"actor=ops&limit=100&since=2026-11-21T12%3A00%3A00Z", "actor=ops&cursor=next&limit=100&since=2026-11-21T12%3A00%3A00Z",
	}, queries)

	b.Reset()
	shown, more, err = (&AuditCmd{listFlags: listFlags{1, true}}).entries().print(t.Context(), &b, Client{URL: server.URL})
	require.NoError(t, err)
	require.Equal(t, 1, shown)
	require.True(t, more)
	var e api.AuditEntry
	require.NoError(t, json.Unmarshal([]byte(b.String()), &e))
	require.Equal(t, int64(7), e.ID)
}

// A command that goes over the rate limit waits for as long as the API says.
func TestCallWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in map[string]int
		_ = json.NewDecoder(r.Body).Decode(&in)
		bodies = append(bodies, r.Method+" "+r.Header.Get("Content-Type"))
		switch {
		case r.URL.Path == "/never":
			http.Error(w, `{"detail":"too many"}`, http.StatusTooManyRequests)
		case len(bodies) == 1:
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"detail":"too many"}`, http.StatusTooManyRequests)
		default:
			_ = json.NewEncoder(w).Encode(in)
		}
	}))
	t.Cleanup(server.Close)
	var out map[string]int
	client := Client{URL: server.URL}
	require.NoError(t, client.call(t.Context(), http.MethodPost, "/x", map[string]int{"n": 1}, &out))
	require.Equal(t, map[string]int{"n": 1}, out)
	require.Equal(t, []string{"POST application/json", "POST application/json"}, bodies)
	require.ErrorContains(t, client.call(t.Context(), http.MethodGet, "/never", nil, nil), "too many")
}
