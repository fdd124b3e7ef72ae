package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

func TestContactsSet(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.RequestURI+" "+string(body))
		c := apioutreach.ContactStored{Added: true, Contact: apioutreach.Contact{
			ID: 7, Phone: "+15145550101", Name: "Zoë", Tags: []string{"VIP", "old"}, Fields: map[string]string{"city": "Montréal"},
		}}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet:
			c.Tags = []string{"VIP"}
			_ = json.NewEncoder(w).Encode(c.Contact)
		case strings.HasPrefix(r.URL.Path, "/contacts/tags"):
			_ = json.NewEncoder(w).Encode(apioutreach.ContactsTagged{Changed: 1})
		default:
			_ = json.NewEncoder(w).Encode(c)
		}
	}))
	t.Cleanup(server.Close)
	var b strings.Builder
	c := contactsSetCmd{Phone: "514 555-0101", Name: "Zoë", Tag: []string{"VIP"}, Untag: []string{"old"}}
	require.NoError(t, c.run(t.Context(), ofTenant{"acme"}, Client{URL: server.URL}, &b))
	require.Equal(t, `contact      7 (added)
phone        +15145550101
name         Zoë
tags         VIP
fields.city  Montréal
`, b.String())
	require.Equal(t, []string{
		`POST /contacts?tenant=acme {"phone":"514 555-0101","name":"Zoë","tags":["VIP"]}`,
		`POST /contacts/tags?tenant=acme {"contacts":[7],"remove":["old"]}`,
		`GET /contacts/7?tenant=acme `,
	}, asked)
}

func TestContactsSetEmpty(t *testing.T) {
	t.Parallel()
	c := contactsSetCmd{Phone: "1", Empty: []string{"email", "fields.city"}, Field: map[string]string{"floor": "2"}}
	put, err := c.put()
	require.NoError(t, err)
	body, err := json.Marshal(put)
	require.NoError(t, err)
	require.JSONEq(t, `{"phone":"1","email":null,"fields":{"city":null,"floor":"2"}}`, string(body))
	c.Empty = []string{"phone"}
	_, err = c.put()
	require.ErrorContains(t, err, "--empty phone")
	c.Empty = []string{"fields.floor"}
	_, err = c.put()
	require.ErrorContains(t, err, "--empty fields.floor")
}
