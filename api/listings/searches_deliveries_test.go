package listings_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

// What a search has found is listed an event each, and what it tells a delivery each, page by page.
func TestSearchDeliveries(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t, func(p *apitest.Parts) { p.Searches.Secrets = apitest.SecretBox(t, "new") })
	made := apitest.Read[apilistings.SavedSearch](t, d.Ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"x","filter":{},
		"targets":[{"kind":"webhook","url":"https://hooks.example/private"},{"kind":"feed"}]}`), 201)
	path := "/searches/" + made.ID.String()
	require.Len(t, apitest.Read[apilistings.SearchDeliveries](t, d.Get(t, path+"/deliveries?tenant=acme"), 200).Items, 1, "the challenge")
	require.JSONEq(t, `{"items":[]}`, d.Get(t, path+"/matches?tenant=acme").Body)
	store := dblistings.NewSaved(d.Pool)
	asked, err := store.Begin(t.Context(), 1, 1, apitest.Now, apitest.Now)
	require.NoError(t, err)
	require.Len(t, asked, 1)
	require.NoError(t, store.EndNotice(t.Context(), "acme", asked[0].ID, "sent", "", apitest.Now))
	matcher := store.Matcher()
	var due []dblistings.DueNotice
	for i, id := range []string{"1", "2", "3"} {
		at := apitest.Now.Add(time.Duration(i+1) * time.Minute)
		d.Publish(t, listing.Listing{Ref: apitest.Kijiji(id), Title: "4½ " + id, RentCents: 90_000}, "", at)
		_, err := matcher.Next(t.Context(), 10, at)
		require.NoError(t, err)
		if i < 2 {
			begun, err := store.Begin(t.Context(), 1, 1, apitest.Now, at)
			require.NoError(t, err)
			due = append(due, begun...)
		}
	}
	require.Len(t, due, 2)
	_, err = store.PutOffNotice(t.Context(), "acme", due[0].ID, saved.Pause{
		Until: apitest.Now, At: apitest.Now, Reason: "the webhook answered 500", Counts: true,
	})
	require.NoError(t, err)
	require.NoError(t, store.EndNotice(t.Context(), "acme", due[0].ID, "sent", "", apitest.Now.Add(time.Second)))

	first := apitest.Read[apilistings.SearchDeliveries](t, d.Get(t, path+"/deliveries?tenant=acme&limit=2"), 200)
	require.Len(t, first.Items, 2)
	require.Equal(t, apitest.Now.Add(3*time.Minute), first.Items[0].DueAt.UTC())
	require.Equal(t, "waiting", first.Items[0].State)
	rest := apitest.Read[apilistings.SearchDeliveries](t, d.Get(t, path+"/deliveries?tenant=acme&limit=2&cursor="+first.NextCursor), 200)
	require.Len(t, rest.Items, 2)
	require.Empty(t, rest.NextCursor)
	require.Equal(t, asked[0].ID, rest.Items[1].ID)
	got := rest.Items[0]
	require.Equal(t, due[0].ID, got.ID)
	require.Equal(t, "sent", got.State)
	require.Equal(t, 1, got.Tries)
	require.Equal(t, 1, got.Items)
	require.Equal(t, "https://hooks.example", got.Target.Label)
	require.Equal(t, saved.TargetActive, got.Target.State)
	require.Equal(t, "notify/"+got.ID.String(), got.Workflow.ID)
	require.Len(t, apitest.Read[apilistings.SearchDeliveries](t, d.Get(t, path+"/deliveries?tenant=acme&state=waiting"), 200).Items, 1)
	require.Len(t, apitest.Read[apilistings.SearchDeliveries](t, d.Get(t, path+"/deliveries?tenant=acme&state=waiting,sent"), 200).Items, 3)

	found := apitest.Read[apilistings.SearchMatches](t, d.Get(t, path+"/matches?tenant=acme&limit=2"), 200)
	require.Len(t, found.Items, 2)
	require.Equal(t, apitest.Kijiji("3").ID(), found.Items[0].ListingID)
	require.True(t, found.Items[0].Offered)
	last := apitest.Read[apilistings.SearchMatches](t, d.Get(t, path+"/matches?tenant=acme&limit=2&cursor="+found.NextCursor), 200)
	require.Len(t, last.Items, 1)
	require.Equal(t, apitest.Kijiji("1").ID(), last.Items[0].ListingID)
	for _, wrong := range []string{"/deliveries?cursor=x", "/matches?cursor=x", "/deliveries?cursor=" + found.NextCursor,
		"/matches?cursor=" + first.NextCursor, "/deliveries?state=lost", "/matches?state=sent"} {
		p := apitest.Refused(t, d.Get(t, path+wrong+"&tenant=acme"), 422)
		_, query, _ := strings.Cut(wrong, "?")
		name, _, _ := strings.Cut(query, "=")
		require.Equal(t, []string{"query." + name}, p.Fields(), wrong)
	}
	apitest.Refused(t, d.Get(t, "/searches/"+due[0].ID.String()+"/deliveries?tenant=acme"), 404)
	apitest.Refused(t, d.Get(t, "/searches/"+due[0].ID.String()+"/matches?tenant=acme"), 404)
}
