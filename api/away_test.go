package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/mtlrent/conveyor/api/apitest"
	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// nowhere is a port that refuses connections.
const nowhere = "127.0.0.1:1"

func TestPostgresIsAway(t *testing.T) {
	t.Parallel()
	pool, err := db.Open(t.Context(), "postgres://conveyor@"+nowhere+"/conveyor", 2)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	d := apitest.Bare(t, func(p *apitest.Parts) {
		p.Listings.Store, p.DeadLetters.Store = dblistings.NewListings(pool), db.NewDeadLetters(pool, nil)
		p.Starting(&apitest.Starter{})
	})
	apitest.ComesBack(t, d.Get(t, "/listings"))
	apitest.ComesBack(t, d.Get(t, "/listings/"+uuid.NewString()))
	apitest.ComesBack(t, d.Ask(t, http.MethodPost, "/listings/kijiji/1/process", ""))
	apitest.ComesBack(t, d.Get(t, "/dead-letters"))
	apitest.ComesBack(t, d.Get(t, "/dead-letters/1"))
	apitest.ComesBack(t, d.Ask(t, http.MethodPost, "/dead-letters/1/replay", ""))
	apitest.ComesBack(t, d.Ask(t, http.MethodPost, "/dead-letters/replay", `{}`))
	apitest.ComesBack(t, d.Ask(t, http.MethodDelete, "/dead-letters/1", ""))
}

func TestTemporalIsAway(t *testing.T) {
	t.Parallel()
	temporal, err := client.NewLazyClient(client.Options{HostPort: nowhere, Logger: sdklog.NewStructuredLogger(apitest.Quiet)})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)
	d := apitest.Open(t, func(p *apitest.Parts) { p.Starting(&launch.Launch{Temporal: temporal}) })
	d.Publish(t, listing.Listing{Ref: apitest.Kijiji("1"), Title: "4½", RentCents: 100_000}, "", apitest.Now)
	asked := d.RequestDraft(t, `{"url":"https://shop.example/p/1"}`)
	start := time.Now()
	apitest.ComesBack(t, d.Ask(t, http.MethodPost, "/listings/kijiji/1/process", ""))
	require.Less(t, time.Since(start), servicetest.Patience())
	require.Len(t, apitest.Read[apitest.Page](t, d.Get(t, "/listings"), http.StatusOK).Items, 1, "reads go on")
	of := apitest.Read[apidrafts.DraftRequestState](t, d.Get(t, "/crawl-requests/"+asked.EventID.String()), http.StatusOK)
	require.Contains(t, of.Warning, "Temporal does not answer")
}
