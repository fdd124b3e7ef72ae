package demosite_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/sim/demosite"
)

// The webhook shows the newest of what it was told.
func TestHook(t *testing.T) {
	t.Parallel()
	site := demosite.New(demosite.Options{})
	ask := func(method, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, "/admin/hook", strings.NewReader(body))
		r.Header.Set("Conveyor-Delivery", "one")
		site.ServeHTTP(w, r)
		return w
	}
	require.JSONEq(t, `[]`, ask(http.MethodGet, "").Body.String())
	require.Equal(t, http.StatusBadRequest, ask(http.MethodPost, "<html>").Code)
	for n := range 30 {
		require.Equal(t, http.StatusNoContent, ask(http.MethodPost, fmt.Sprintf(`{"n":%d}`, n)).Code)
	}
	asked := ask(http.MethodPost, `{"type":"challenge","challenge":"QX5"}`)
	require.Equal(t, http.StatusOK, asked.Code)
	require.JSONEq(t, `{"challenge":"QX5"}`, asked.Body.String())
	var got []demosite.Hooked
	require.NoError(t, json.Unmarshal(ask(http.MethodGet, "").Body.Bytes(), &got))
	require.Len(t, got, 20)
	require.JSONEq(t, `{"n":29}`, string(got[0].Body))
	require.Equal(t, "one", got[0].Headers["Conveyor-Delivery"])
}
