package api_test

import (
	"bufio"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// With a maximal age every key has an end, those that were made without one too.
func TestKeyMaxAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	f := apitest.Guarded(t, func(o *api.GuardOptions) { o.MaxAge = 30 * day })
	admin := f.Key(t, "root", access.Admin)
	made := apitest.Read[api.KeyMade](t, f.As(t, admin, "POST", "/keys", `{"name":"ci","role":"read"}`), 201)
	require.True(t, made.ExpiresAt.Equal(apitest.Now.Add(30*day)), made.ExpiresAt)
	sooner := apitest.Now.Add(day).Format(time.RFC3339)
	soon := apitest.Read[api.KeyMade](t, f.As(t, admin, "POST", "/keys", `{"name":"b","role":"read","expires_at":"`+sooner+`"}`), 201)
	require.True(t, soon.ExpiresAt.Equal(apitest.Now.Add(day)))
	later := apitest.Now.Add(31 * day).Format(time.RFC3339)
	p := apitest.Refused(t, f.As(t, admin, "POST", "/keys", `{"name":"c","role":"read","expires_at":"`+later+`"}`), 422)
	require.Contains(t, p.Detail, "CONVEYOR_KEY_MAX_AGE")
	for _, k := range apitest.Read[api.KeyList](t, f.As(t, admin, "GET", "/keys"), 200).Items {
		require.NotNil(t, k.ExpiresAt, k.Name)
	}
	f.Clock.Add(30 * day)
	apitest.Refused(t, f.As(t, admin, "GET", "/keys"), http.StatusUnauthorized)
}

// A time that cannot be shown is not kept: the list of all keys would have it for ever.
func TestKeyExpiresInAYearOfFourDigits(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	admin := f.Key(t, "root", access.Admin)
	p := apitest.Refused(t, f.As(t, admin, "POST", "/keys",
		`{"name":"x","role":"read","expires_at":"9999-12-31T23:59:59-05:00"}`), 422)
	require.Equal(t, []string{"body.expires_at"}, p.Fields())
	apitest.Read[api.KeyMade](t, f.As(t, admin, "POST", "/keys", `{"name":"x","role":"read","expires_at":"9999-12-31T23:59:59Z"}`), 201)
	require.Len(t, apitest.Read[api.KeyList](t, f.As(t, admin, "GET", "/keys"), 200).Items, 2)
}

// A stream of an upload's progress ends with the key that it was opened by.
func TestUploadEventsEndWithTheKey(t *testing.T) {
	t.Parallel()
	clock := &apitest.Clock{At: apitest.Now}
	var keys *db.Keys
	d := apitest.Open(t, func(p *apitest.Parts) {
		keys = p.Keys.Store
		p.Guard = api.NewGuard(api.GuardOptions{Keys: keys, Log: apitest.Quiet, Now: clock.Now})
	})
	apitest.Tenant(t, d.Pool, "acme")
	f := &apitest.Fort{Door: d, Pool: d.Pool, KeyStore: keys, Clock: clock}
	key := f.Key(t, "reader", access.Operate)
	u := apitest.Read[apioutreach.Upload](t, d.Upload(t, "&hold=true", apitest.FormOf("a.csv", apitest.People), "Authorization", "Bearer "+key), 202)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		d.Address+"/uploads/"+u.ID.String()+"/events?tenant=acme", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	stream := bufio.NewScanner(answer.Body)
	require.True(t, stream.Scan())
	require.Equal(t, "event: progress", stream.Text())
	_, err = keys.Revoke(t.Context(), "reader", "test", apitest.Now)
	require.NoError(t, err)
	clock.Add(10 * time.Second)
	for stream.Scan() { // ends
		require.NotContains(t, stream.Text(), "event: end")
	}
	require.NoError(t, stream.Err())
}
