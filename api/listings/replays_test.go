package listings_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/listing"
)

func TestStartReplay(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for n := range 3 {
		d.Scrape(t, apitest.Kijiji(fmt.Sprint(n)), "a", apitest.Now.Add(-time.Duration(n)*time.Hour))
	}
	dry := apitest.Read[apilistings.ReplayAccepted](t, d.Ask(t, http.MethodPost, "/replays", `{"dry_run": true,
		"filter": {"scraped_since": "2026-10-01T11:00:00Z"}}`), http.StatusOK)
	require.Equal(t, apilistings.ReplayAccepted{DryRun: true, Total: 2, Counted: true}, dry)
	require.Empty(t, d.Started.Calls)
	require.Empty(t, d.Deeds(t))

	r := d.Ask(t, http.MethodPost, "/replays", `{"stage": "dedupe", "filter": {"platform": "kijiji", "status": ["scraped"]}}`)
	got := apitest.Read[apilistings.ReplayAccepted](t, r, http.StatusAccepted)
	id := got.Replay.ID
	require.Equal(t, "/replays/"+id.String(), r.Header.Get("Location"))
	require.Equal(t, int64(3), got.Total)
	require.Equal(t, "running", got.Replay.State)
	require.EqualValues(t, "dedupe", got.Replay.Stage)
	require.Equal(t, 20, got.Replay.Rate)
	require.Equal(t, "anonymous", got.Replay.StartedBy)
	require.Equal(t, listing.ReplayFilter{Platform: "kijiji", Status: []string{"scraped"}}, got.Replay.Filter)
	require.Equal(t, api.WorkflowLink{
		ID: "replay/" + id.String(), URL: "http://temporal.test/namespaces/conveyor/workflows/replay%2F" + id.String(),
	}, got.Replay.Workflow)
	require.Equal(t, []string{fmt.Sprintf("replay %s by anonymous", id)}, d.Started.Calls)
	require.Equal(t, *got.Replay, apitest.Read[apilistings.Replay](t, d.Get(t, "/replays/"+id.String()), http.StatusOK))

	require.True(t, got.Counted)
	p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/replays", `{"rate": 5}`), http.StatusConflict)
	require.Contains(t, p.Detail, "replay "+id.String()+" is running for kijiji")
	joined := apitest.Read[apilistings.ReplayAccepted](t, d.Ask(t, http.MethodPost, "/replays",
		`{"stage": "dedupe", "filter": {"platform": "kijiji", "status": ["scraped"]}}`), http.StatusAccepted)
	require.Equal(t, id, joined.Replay.ID)
	d.End(t, id)

	// The same request again is the same replay.
	mine := uuid.New()
	body := fmt.Sprintf(`{"id": %q, "rate": 5}`, mine)
	for range 2 {
		again := apitest.Read[apilistings.ReplayAccepted](t, d.Ask(t, http.MethodPost, "/replays", body), http.StatusAccepted)
		require.Equal(t, mine, again.Replay.ID)
		require.EqualValues(t, "normalize", again.Replay.Stage)
	}
	require.Equal(t, []string{
		"anonymous replay.started replay/" + id.String(), "anonymous replay.started replay/" + mine.String(),
	}, d.Deeds(t))
	d.End(t, mine)

	// With a key in place of an ID, also after it has ended.
	keyed := func(key, body string) apitest.Reply {
		return d.Ask(t, http.MethodPost, "/replays", body, "Idempotency-Key", key)
	}
	first := apitest.Read[apilistings.ReplayAccepted](t, keyed("monday", `{}`), http.StatusAccepted)
	require.Equal(t, first.Replay.ID, apitest.Read[apilistings.ReplayAccepted](t, keyed("monday", `{}`), http.StatusAccepted).Replay.ID)
	d.End(t, first.Replay.ID)
	require.Equal(t, "failed", apitest.Read[apilistings.ReplayAccepted](t, keyed("monday", `{}`), http.StatusAccepted).Replay.State)
	require.Contains(t, apitest.Refused(t, keyed("monday", `{"rate": 7}`), http.StatusConflict).Detail, "was another request")
	other := apitest.Read[apilistings.ReplayAccepted](t, keyed("tuesday", `{}`), http.StatusAccepted)
	require.NotEqual(t, first.Replay.ID, other.Replay.ID)
}

func TestStartReplayRefuses(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	ids := strings.TrimSuffix(strings.Repeat(`"`+uuid.NewString()+`",`, 201), ",")
	for _, tt := range []struct{ name, body, field string }{
		{"an unknown stage", `{"stage": "images"}`, "body.stage"},
		{"too fast", `{"rate": 101}`, "body.rate"},
		{"standing still", `{"rate": -1}`, "body.rate"},
		{"an unknown status", `{"filter": {"status": ["archived"]}}`, "body.filter.status[0]"},
		{"no platform's name", `{"filter": {"platform": "Kijiji!"}}`, "body.filter.platform"},
		{"no code", `{"filter": {"reason": "a b"}}`, "body.filter.reason"},
		{"no time", `{"filter": {"scraped_since": "yesterday"}}`, "body.filter.scraped_since"},
		{"a time before the other",
			`{"filter": {"scraped_since": "2026-10-02T00:00:00Z", "scraped_until": "2026-10-01T00:00:00Z"}}`,
			"body.filter.scraped_until"},
		{"too many IDs", `{"filter": {"ids": [` + ids + `]}}`, "body.filter.ids"},
		{"no state at all, which would be all of them or none", `{"filter": {"status": []}}`, "body.filter.status"},
		{"no IDs at all", `{"filter": {"ids": []}}`, "body.filter.ids"},
		{"no ID", `{"id": "12"}`, "body.id"},
		{"a field that is misspelt", `{"filter": {"plattform": "kijiji"}}`, "body.filter.plattform"},
	} {
		p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/replays", tt.body), http.StatusUnprocessableEntity)
		require.Equal(t, []string{tt.field}, p.Fields(), tt.name)
	}
	d.Started.Err = errors.New("temporal is away")
	got := apitest.Read[apilistings.ReplayAccepted](t, d.Ask(t, http.MethodPost, "/replays", "{}"), http.StatusAccepted)
	require.NotEmpty(t, got.Warning)
	require.Equal(t, "running", got.Replay.State, "a worker starts it later")
}

func TestListReplays(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	var want []uuid.UUID
	for _, platform := range []string{"kijiji", "kangalou", "other"} {
		body := fmt.Sprintf(`{"filter": {"platform": %q}}`, platform)
		want = append(want, apitest.Read[apilistings.ReplayAccepted](t, d.Ask(t, http.MethodPost, "/replays", body), 202).Replay.ID)
	}
	first := apitest.Read[apilistings.ReplayPage](t, d.Get(t, "/replays?limit=2"), http.StatusOK)
	rest := apitest.Read[apilistings.ReplayPage](t, d.Get(t, "/replays?limit=2&cursor="+first.NextCursor), http.StatusOK)
	require.Empty(t, rest.NextCursor)
	var got []uuid.UUID
	for _, r := range append(first.Items, rest.Items...) {
		got = append(got, r.ID)
	}
	require.ElementsMatch(t, want, got)
	require.Empty(t, apitest.Read[apilistings.ReplayPage](t, d.Get(t, "/replays?state=failed"), http.StatusOK).Items)
	require.Len(t, apitest.Read[apilistings.ReplayPage](t, d.Get(t, "/replays?state=running"), http.StatusOK).Items, 3)
	for query, field := range map[string]string{
		"state=lost": "query.state", "cursor=x": "query.cursor", "limit=0": "query.limit", "page=2": "query.page",
	} {
		require.Equal(t, []string{field}, apitest.Refused(t, d.Get(t, "/replays?"+query), 422).Fields(), query)
	}
}

// A replay is canceled when Postgres says so, whether its workflow can be told or not.
func TestCancelReplay(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	id := apitest.Read[apilistings.ReplayAccepted](t, d.Ask(t, http.MethodPost, "/replays", "{}"), 202).Replay.ID
	path := "/replays/" + id.String()
	d.Started.Err = errors.New("temporal is away")
	for range 2 {
		r := apitest.Read[apilistings.Replay](t, d.Ask(t, http.MethodDelete, path, ""), http.StatusOK)
		require.Equal(t, "canceled", r.State)
		require.Equal(t, apitest.Now, r.EndedAt.UTC())
	}
	require.Contains(t, d.Started.Calls, "cancel "+id.String())
	require.Equal(t, []string{"anonymous replay.started replay/" + id.String(),
		"anonymous replay.canceled replay/" + id.String()}, d.Deeds(t))
	unknown := "/replays/" + uuid.NewString()
	apitest.Refused(t, d.Ask(t, http.MethodDelete, unknown, ""), http.StatusNotFound)
	apitest.Refused(t, d.Get(t, unknown), http.StatusNotFound)
	apitest.Refused(t, d.Get(t, "/replays/12"), http.StatusUnprocessableEntity)

	d.Started.Err = nil
	done := apitest.Read[apilistings.ReplayAccepted](t, d.Ask(t, http.MethodPost, "/replays", "{}"), 202).Replay.ID
	require.NoError(t, d.Replays.Store.EndReplay(t.Context(), done, listing.ReplayFailed, "why", apitest.Now))
	p := apitest.Refused(t, d.Ask(t, http.MethodDelete, "/replays/"+done.String(), ""), http.StatusConflict)
	require.Contains(t, p.Detail, "has failed")
}

func TestRunStaleness(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	got := apitest.Read[apilistings.StalenessRun](t, d.Ask(t, http.MethodPost, "/staleness/run", ""), http.StatusAccepted)
	require.Equal(t, apilistings.StalenessRun{Workflow: api.WorkflowLink{
		ID: "staleness-by-hand", URL: "http://temporal.test/namespaces/conveyor/workflows/staleness-by-hand",
	}}, got)
	require.Equal(t, []string{"anonymous staleness.started workflow/staleness-by-hand"}, d.Deeds(t))
	d.Started.Err = errors.New("temporal is away")
	apitest.Refused(t, d.Ask(t, http.MethodPost, "/staleness/run", ""), http.StatusServiceUnavailable)
	require.Len(t, d.Deeds(t), 1)
}
