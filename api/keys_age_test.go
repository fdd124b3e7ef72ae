package api_test

import (
	"bufio"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// With a maximal age every key has an end, those that were made without one too.
func TestKeyMaxAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	f := guarded(t, func(o *api.GuardOptions) { o.MaxAge = 30 * day })
	admin := f.key(t, "root", access.Admin)
	made := read[api.KeyMade](t, f.as(t, admin, "POST", "/keys", `{"name":"ci","role":"read"}`), 201)
	require.True(t, made.ExpiresAt.Equal(now.Add(30*day)), made.ExpiresAt)
	sooner := now.Add(day).Format(time.RFC3339)
	soon := read[api.KeyMade](t, f.as(t, admin, "POST", "/keys", `{"name":"b","role":"read","expires_at":"`+sooner+`"}`), 201)
	require.True(t, soon.ExpiresAt.Equal(now.Add(day)))
	later := now.Add(31 * day).Format(time.RFC3339)
	p := refused(t, f.as(t, admin, "POST", "/keys", `{"name":"c","role":"read","expires_at":"`+later+`"}`), 422)
	require.Contains(t, p.Detail, "CONVEYOR_KEY_MAX_AGE")
	for _, k := range read[api.KeyList](t, f.as(t, admin, "GET", "/keys"), 200).Items {
		require.NotNil(t, k.ExpiresAt, k.Name)
	}
	f.clock.add(30 * day)
	refused(t, f.as(t, admin, "GET", "/keys"), http.StatusUnauthorized)
}

// A stream of an upload's progress ends with the key that it was opened by.
func TestUploadEventsEndWithTheKey(t *testing.T) {
	t.Parallel()
	clock := &clock{at: now}
	var keys *db.Keys
	d := open(t, func(p *parts) {
		keys = p.Keys.Store
		p.Guard = api.NewGuard(api.GuardOptions{Keys: keys, Log: quiet, Now: clock.now})
	})
	tenant(t, d.pool, "acme")
	f := &fort{door: d, pool: d.pool, keys: keys, clock: clock}
	key := f.key(t, "reader", access.Operate)
	u := read[api.Upload](t, d.upload(t, "&hold=true", formOf("a.csv", people), "Authorization", "Bearer "+key), 202)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		d.url+"/uploads/"+u.ID.String()+"/events?tenant=acme", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+key)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	stream := bufio.NewScanner(answer.Body)
	require.True(t, stream.Scan())
	require.Equal(t, "event: progress", stream.Text())
	_, err = keys.Revoke(t.Context(), "reader", "test", now)
	require.NoError(t, err)
	clock.add(10 * time.Second)
	for stream.Scan() { // ends
		require.NotContains(t, stream.Text(), "event: end")
	}
	require.NoError(t, stream.Err())
}
