package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// nowhere is a port that refuses connections.
const nowhere = "127.0.0.1:1"

// comesBack checks that an answer is a 503 that says to try again and reveals no internals.
func comesBack(t *testing.T, r reply) {
	t.Helper()

	p := refused(t, r, http.StatusServiceUnavailable)
	require.Equal(t, "5", r.Header.Get("Retry-After"))
	require.Equal(t, "a service that this needs is unavailable; try again in 5 s; see /ready", p.Detail)
}

func TestPostgresIsAway(t *testing.T) {
	t.Parallel()
	pool, err := db.Open(t.Context(), "postgres://conveyor@"+nowhere+"/conveyor", 2)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	d := bare(t, func(p *parts) {
		p.Listings.Store, p.DeadLetters.Store = dblistings.NewListings(pool), db.NewDeadLetters(pool, nil)
		p.starting(&starter{})
	})
	comesBack(t, d.get(t, "/listings"))
	comesBack(t, d.get(t, "/listings/"+uuid.NewString()))
	comesBack(t, d.ask(t, http.MethodPost, "/listings/kijiji/1/process", ""))
	comesBack(t, d.get(t, "/dead-letters"))
	comesBack(t, d.get(t, "/dead-letters/1"))
	comesBack(t, d.ask(t, http.MethodPost, "/dead-letters/1/replay", ""))
	comesBack(t, d.ask(t, http.MethodPost, "/dead-letters/replay", `{}`))
	comesBack(t, d.ask(t, http.MethodDelete, "/dead-letters/1", ""))
}

func TestTemporalIsAway(t *testing.T) {
	t.Parallel()
	temporal, err := client.NewLazyClient(client.Options{HostPort: nowhere, Logger: sdklog.NewStructuredLogger(quiet)})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	d := open(t, func(p *parts) { p.starting(&launch.Launch{Temporal: temporal}) })
	d.publish(t, listing.Listing{Ref: kijiji("1"), Title: "4½", RentCents: 100_000}, "", now)
	start := time.Now()
	comesBack(t, d.ask(t, http.MethodPost, "/listings/kijiji/1/process", ""))
	require.Less(t, time.Since(start), servicetest.Patience())
	require.Len(t, read[page](t, d.get(t, "/listings"), http.StatusOK).Items, 1, "reads go on")
}
