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

// What stands in a body or a header is not repeated: it may be a secret, or a person's. Names that callers make up are
// cut.
func TestProblemsRepeatNoBodies(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t) // none of these reaches a database
	const sender = `"sender":"7c9e6679-7425-40de-944b-e07fc1f90ae7"`
	for _, tt := range []struct{ path, body, hidden string }{
		{"/session", `{"key":"cvr_abcdefgh_` + strings.Repeat("S", 200) + `"}`, "SSS"},
		{"/session", `{"key":4711471147114711}`, "4711"},
		{"/session", `{"api_key":"hunter2"}`, "hunter2"},
		{"/tenants/acme/senders", `{"name":"n","phone_number_id":"1","business_account_id":"1","token":998877}`, "998877"},
		{"/crawl-requests", `{"url":"https://shop.example/a","cookies":[{"name":"sid","value":776655}]}`, "776655"},
		{"/messages?tenant=acme", `{` + sender + `,"to":"514-555-0199"}`, "0199"},
		{"/messages?tenant=acme", `{` + sender + `,"to":15145550199}`, "0199"},
	} {
		r := d.Ask(t, http.MethodPost, tt.path, tt.body)
		require.NotEmpty(t, apitest.Refused(t, r, http.StatusUnprocessableEntity).Errors[0].Location, tt.body)
		require.NotContains(t, r.Body, tt.hidden)
	}
	key := strings.Repeat("K", 201)
	r := d.Ask(t, http.MethodPost, "/messages?tenant=acme", `{}`, "Idempotency-Key", key)
	require.Contains(t, apitest.Refused(t, r, http.StatusUnprocessableEntity).Fields(), "header.Idempotency-Key")
	require.NotContains(t, r.Body, "KKK")
	r = d.Ask(t, http.MethodPost, "/session", `{"`+strings.Repeat("k", 900_000)+`":1}`)
	apitest.Refused(t, r, http.StatusUnprocessableEntity)
	require.Less(t, len(r.Body), 2000)
}

// A parameter that is of another type is told what is expected.
func TestProblemsSayWhatIsExpected(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	for query, want := range map[string]string{
		"/listings/recent?after=2026-01-31": "expected an integer such as 42", "/listings?bedrooms=two": "expected an integer such as 42",
		"/listings?rooms=a": "expected a number such as 4.5", "/neighbourhoods?geometry=maybe": "expected true or false",
		"/listings?updated_since=now": "expected a time such as 2026-01-31T09:30:00Z",
	} {
		require.Equal(t, want, apitest.Refused(t, d.Get(t, query), http.StatusUnprocessableEntity).Errors[0].Message, query)
	}
}
