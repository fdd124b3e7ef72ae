package api

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// flows is a Part whose only answer takes long.
type flows struct{ meanwhile func() }

func (f flows) Register(d *Door) {
	Stream(d, Needs(access.Read, huma.Operation{
		OperationID: "flow", Method: http.MethodGet, Path: "/flow", Responses: Streamed("It", "text/plain"),
	}), func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return d.Export(File{ContentType: "text/plain"}, func(_ context.Context, w *Export) {
			f.meanwhile()
			w.Text("done\n")
		}), nil
	})
}

// An export whose reader's session has ended is broken off.
func TestFlowEndsWithItsSession(t *testing.T) {
	t.Parallel()
	at, key, sum := time.Now(), access.SumOf("the key"), access.SumOf("secret")
	open := freshRow[db.Session]{db.Session{KeyID: "k", KeySum: key[:], UsedAt: at, EndsAt: at.Add(time.Hour)}, at, nil}
	late := open
	late.value.EndsAt = at
	for name, tt := range map[string]struct {
		then  freshRow[db.Session]
		whole bool
	}{
		"goes on": {open, true}, "ended": {freshRow[db.Session]{read: at, err: fault.Newf(fault.Gone, "none")}, false},
		"over": {late, false},
	} {
		guard := NewGuard(GuardOptions{
			Fixed: []access.Grant{{Name: "ana", Role: access.Read, Sum: key}}, Now: func() time.Time { return at },
		})
		guard.sessions = &sessions{nil, newFresh[access.Sum, db.Session](guard.o.Now)}
		set := func(row freshRow[db.Session]) {
			guard.sessions.mu.Lock()
			defer guard.sessions.mu.Unlock()
			guard.sessions.rows[sum] = row
		}
		set(open)
		server := httptest.NewServer(New(Options{
			Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), Guard: guard,
		}, flows{func() { set(tt.then) }}))
		t.Cleanup(server.Close)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/flow", nil)
		require.NoError(t, err)
		request.AddCookie(&http.Cookie{Name: guard.cookieName(sessionName), Value: "secret"})
		r, err := http.DefaultClient.Do(request)
		if !tt.whole && err != nil {
			continue
		}
		require.NoError(t, err, name)
		text, err := io.ReadAll(r.Body)
		require.NoError(t, r.Body.Close())
		require.Equal(t, tt.whole, err == nil && string(text) == "done\n", "%s: %d %s %v", name, r.StatusCode, text, err)
	}
}

// An export whose reader's key was revoked is broken off, before its last chunk; that of another key is not.
func TestFlowEndsWithItsKey(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	at := time.Now()
	ring := &keyring{now: func() time.Time { return at }, read: at, locks: map[string]db.Lock{
		"live": {Key: db.Key{ID: "live"}}, "gone": {Key: db.Key{ID: "gone", RevokedAt: &at}},
		"old": {Key: db.Key{ID: "old", ExpiresAt: &at}},
	}}
	d := &Door{Options: Options{Log: slog.New(slog.DiscardHandler)}, guard: &Guard{ring: ring}}
	for id, whole := range map[string]bool{"live": true, "gone": false, "old": false, "of the settings": true, "": true} {
		router := gin.New()
		answer := d.Export(File{ContentType: "text/plain"}, func(_ context.Context, w *Export) {
			w.Text("begun\n")
			if !w.Failed() {
				w.err = w.buffer.Flush()
			}
			w.Text("done\n")
		})
		router.GET("/", func(c *gin.Context) {
			c.Request = c.Request.WithContext(as(c.Request.Context(), access.Caller{Name: "x", KeyID: id}))
			answer.Body(humagin.NewContext(&huma.Operation{}, c))
		})
		server := httptest.NewServer(router)
		t.Cleanup(server.Close)
		r, err := http.Get(server.URL)
		if err != nil {
			require.False(t, whole, id)
			continue
		}
		text, err := io.ReadAll(r.Body)
		require.NoError(t, r.Body.Close())
		require.Equal(t, whole, err == nil && bytes.Equal(text, []byte("begun\ndone\n")), "%s: %s %v", id, text, err)
	}
}
