package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// What is known of a listing beyond its advert: the facts of its text, and the home that it offers.
func TestEnrichmentAndHomes(t *testing.T) {
	t.Parallel()

	var asked atomic.Int64
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		asked.Add(1)
		answer, _ := json.Marshal(`{"fields": [{"field": "view", "value": "water", "quote": "vue sur le fleuve"},
			{"field": "for", "value": "students", "quote": "les étudiants"}]}`)
		_, _ = fmt.Fprintf(w, `{"choices": [{"message": {"role": "assistant", "content": %s}}]}`, answer)
	}))
	t.Cleanup(model.Close)
	stations := filepath.Join(t.TempDir(), "metro.csv")
	require.NoError(t, os.WriteFile(stations, []byte("name,lat,lon\nA station,45.5121,-73.6252\n"), 0o600))
	w, _ := withAPI(t, "CONVEYOR_ENRICH_URL="+model.URL+"/v1", "CONVEYOR_ENRICH_KEY=secret", "CONVEYOR_ENRICH_MODEL=small",
		"CONVEYOR_ENRICH_PLACES=metro="+stations, "CONVEYOR_ENRICH_PLACES_ATTRIBUTION=© the city")
	t.Run("listings are enriched", func(t *testing.T) { w.in(t).enriches(&asked) })
	t.Run("a replay judges homes again", func(t *testing.T) { w.in(t).judgesHomesAgain() })
}

// A published listing gets the facts of its text, the places near it, and what a language model read in it; of a model
// that lies, only what the text shows. A second advert with the same text asks no second time.
func (w *world) enriches(asked *atomic.Int64) {
	t := w.t
	text := func(m map[string]any) {
		m["title"], m["description"] = "Grand 4 ½ rénové", "Chauffage au gaz. On préfère les étudiants."
	}
	w.publish("scraped", "kijiji", advert("7001", text, with("latitude", 45.512), with("longitude", -73.625)))
	shown := func(id string) (a apilistings.Advert) {
		ref := listing.Ref{Platform: "kijiji", PlatformID: id}
		w.get("/listings/"+ref.ID().String(), &a)
		return a
	}
	w.eventually("it is enriched, by the model too", func() bool {
		e := shown("7001").Enrichment
		return e != nil && len(e.Facts) == 3
	})
	got := shown("7001")
	require.Equal(t, []listing.Fact{
		{Field: "heating", Value: "gas", From: "description", Text: "Chauffage au gaz"},
		{Field: "renovated", Value: "all", From: "title", Text: "rénové"},
		{Field: "for", Value: "students", From: "model", Text: "les étudiants"},
	}, got.Enrichment.Facts)
	require.Equal(t, []listing.Nearby{{Kind: "metro", Name: "A station", Metres: 19}}, got.Enrichment.Places)
	require.Equal(t, "© the city", got.Enrichment.Attribution)
	w.eventually("its event is out", func() bool {
		return one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.enriched'") >= 1
	})

	w.publish("scraped", "kijiji", advert("7002", text, with("latitude", 45.6), with("longitude", -73.5)))
	w.eventually("so is another with that text", func() bool {
		e := shown("7002").Enrichment
		return e != nil && len(e.Facts) == 3
	})
	require.EqualValues(t, 1, asked.Load())
}

// Another team enriches between normalize and dedupe, as in the original pipeline.
func TestEnrichmentIsTheirs(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := withAPI(t, "CONVEYOR_ENRICH=elsewhere")
	require.Zero(t, w.consumers("listings.normalized"))
	require.Equal(t, 1, w.consumers("listings.enriched"))
	theirs := w.otherTeam(listing.StageEnrich)
	w.publish("scraped", "kijiji", advert("7101"))
	w.eventually("it is published with what they added", func() bool {
		return strings.Contains(one[string](w, "SELECT coalesce((SELECT details->>'amenities' FROM listings), '')"), "sauna")
	})
	theirs.saw(listing.StageEnrich, "7101")
	require.Zero(t, one[int](w, "SELECT count(*) FROM listing_enrichments"))
}
