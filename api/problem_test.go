package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
)

// However much is wrong with a request, its answer is short: what it repeats of a body is no part of the body's size. It
// needs no key to ask for a session.
func TestProblemsAreShort(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	properties := map[string]any{"long": strings.Repeat("x", 10_000)}
	for i := range 1000 {
		properties[fmt.Sprint("p", i)] = i
	}
	doc, err := json.Marshal(properties)
	require.NoError(t, err)
	for _, body := range []string{string(doc), string(doc[:len(doc)-1]), "[" + string(doc) + "]"} {
		for _, path := range []string{"/session", "/searches/try?tenant=acme", "/contacts/search?tenant=acme"} {
			r := d.Ask(t, http.MethodPost, path, body)
			require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, r.Status, path)
			require.Less(t, len(r.Body), 16<<10, path)
		}
	}
	p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/session", string(doc)), http.StatusUnprocessableEntity)
	require.Equal(t, "unexpected property", p.Errors[1].Message)
	require.Regexp(t, "^and [0-9]+ more$", p.Errors[len(p.Errors)-1].Message)

	p = apitest.Refused(t, d.Get(t, "/listings?limit=1000&min_price=1&min_price=2"), http.StatusUnprocessableEntity)
	require.ElementsMatch(t, []any{"1,2", float64(1000)}, []any{p.Errors[0].Value, p.Errors[1].Value})
	p = apitest.Refused(t, d.Get(t, "/listings?platform=a,%20B&platform="+strings.Repeat("c", 300)), http.StatusUnprocessableEntity)
	require.Equal(t, "a,B,"+strings.Repeat("c", 196)+"…", p.Errors[0].Value)
}
