package outreach_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

// A null empties a field; what is absent, or an empty text, stays.
func TestEmptyFieldsOfContact(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	post := func(path, body string) apitest.Reply { return d.Ask(t, http.MethodPost, path+"?tenant=acme", body) }
	put := func(body string) apioutreach.Contact {
		return apitest.Read[apioutreach.ContactStored](t, post("/contacts", body), 200).Contact
	}
	want := put(`{"phone":"+15145550101","email":"zoe@example.org","given_name":"Zoe","family_name":"Roy","locale":"fr",
		"tags":["VIP"],"fields":{"city":"Laval","floor":"2"}}`)
	require.Equal(t, want, put(`{"phone":"+15145550101","email":"","name":"","fields":{"city":""},"tags":null}`))
	require.Equal(t, want, put(`{"phone":"+15145550101","email":null,"name":null,"known":"skip"}`))
	require.Equal(t, want, put(`{"phone":"+15145550101","fields":{"none":null},"tags":null}`))
	require.Equal(t, []string{"contact.added"}, d.Audited(t, fmt.Sprint("contact/", want.ID)))

	want.Email, want.Fields = "", map[string]string{"floor": "3"}
	for range 2 {
		require.Equal(t, want, put(`{"phone":"+15145550101","email":null,"fields":{"city":null,"floor":"3"}}`))
	}
	require.Equal(t, []string{"contact.added", "contact.changed"}, d.Audited(t, fmt.Sprint("contact/", want.ID))[:2])
	want.GivenName, want.Name = "", "Roy"
	require.Equal(t, want, put(`{"phone":"+15145550101","given_name":null}`), "the whole name was made of its parts")
	want.Name = "Madame"
	require.Equal(t, want, put(`{"phone":"+15145550101","name":"Madame","given_name":null}`))
	require.Equal(t, want, put(`{"phone":"+15145550101","given_name":null}`), "it is empty")
	want.Name, want.Locale = "", ""
	require.Equal(t, want, put(`{"phone":"+15145550101","name":null,"locale":null}`))
	want.FamilyName = ""
	require.Equal(t, want, put(`{"phone":"+15145550101","family_name":null}`))
	want.GivenName, want.Name = "Zoë", "Zoë"
	require.Equal(t, want, put(`{"phone":"+15145550101","given_name":"Zoë"}`))
	want.GivenName, want.Name = "", ""
	require.Equal(t, want, put(`{"phone":"+15145550101","given_name":null}`))
	require.Empty(t, put(`{"phone":"+15145550102","email":null,"name":null,"fields":{"city":null}}`).Email, "a new one")

	for _, body := range []string{`{"email":null}`, `{"phone":null}`, `{"phone":"+15145550101","fields":{"A":null}}`,
		`{"phone":"+15145550101","email":7}`, `{"phone":"+15145550101","fields":{"city":7}}`} {
		apitest.Refused(t, post("/contacts", body), 422)
	}
}

// Whoever has opted out by an address stays opted out without it.
func TestEmptyAddressThatOptedOut(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	put := func(body string) apioutreach.Contact {
		r := d.Ask(t, http.MethodPost, "/contacts?tenant=acme", body)
		return apitest.Read[apioutreach.ContactStored](t, r, 200).Contact
	}
	require.Equal(t, 204, d.Ask(t, http.MethodPost, "/opt-outs?tenant=acme", `{"email":"zoe@example.org"}`).Status)
	require.True(t, put(`{"phone":"+15145550101","email":"zoe@example.org"}`).OptedOut)
	c := put(`{"phone":"+15145550101","email":null}`)
	require.Empty(t, c.Email)
	require.True(t, c.OptedOut)
	require.False(t, put(`{"phone":"+15145550102","email":null}`).OptedOut)
}
