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
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

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
