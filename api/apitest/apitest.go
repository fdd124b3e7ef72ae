// Package apitest is the API for tests: with all of its parts over a database of its own, with credentials, and with
// rows of each system.
package apitest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	apisearch "github.com/mtlrent/conveyor/api/search"
	"github.com/mtlrent/conveyor/db"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// Now is when everything in these tests happens, unless it says otherwise.
var Now = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// Quiet logs nothing.
var Quiet = slog.New(slog.DiscardHandler)

// Parts are the API's settings and all of its parts.
type Parts struct {
	api.Options
	Listings    apilistings.Listings
	Duplicates  apilistings.Duplicates
	DeadLetters api.DeadLetters
	Replays     apilistings.Replays
	Forget      apilistings.Forget
	Staleness   apilistings.Staleness
	Platforms   apilistings.Platforms
	Drafts      apidrafts.Drafts
	Crawls      apicrawl.Crawls
	Search      apisearch.Search
	Images      apilistings.Images
	Health      api.Health
	Keys        api.Keys
	Queues      api.Queues
	Audit       api.AuditLog
	Contacts    apioutreach.Contacts
	Uploads     apioutreach.Uploads
	Tenancy     apioutreach.Tenants
	Senders     apioutreach.Senders
	Campaigns   apioutreach.Campaigns
	Messages    apioutreach.Messages
	Webhooks    apioutreach.Webhooks
	Searches    apilistings.Searches
	Sessions    api.Sessions
	Flow        api.Flow
	Events      api.Events
	History     api.QueueHistory
	Find        api.Find
	Licences    api.Licences
}

func (p *Parts) handler() http.Handler {
	return api.New(p.Options, p.List()...)
}

// List is all parts.
func (p *Parts) List() []api.Part {
	return []api.Part{
		p.Listings, p.Duplicates, p.DeadLetters, p.Replays, p.Forget, p.Staleness, p.Platforms, p.Drafts, p.Crawls,
		p.Search, p.Images, p.Health, p.Keys, p.Queues, p.Audit, p.Uploads, p.Contacts, p.Tenancy, p.Senders,
		p.Campaigns, p.Messages, p.Webhooks, p.Searches,
		p.Sessions, p.Flow, p.Events, p.History, p.Find, p.Licences,
	}
}

// Starting makes s start the work of every part.
func (p *Parts) Starting(s interface {
	apilistings.ListingStarter
	apilistings.ReplayStarter
	apilistings.StalenessStarter
	apilistings.ScraperStarter
	apidrafts.DraftStater
	apicrawl.CrawlStarter
	apisearch.SearchStarter
	apilistings.Forgetter
	apioutreach.UploadStarter
	apioutreach.DispatchStarter
	apioutreach.CampaignStarter
	apioutreach.Eraser
}) {
	p.Listings.Launch, p.Replays.Launch, p.Staleness.Launch, p.Platforms.Launch, p.Drafts.Launch = s, s, s, s, s
	p.Duplicates.Launch, p.Tenancy.Launch = s, s
	p.Crawls.Launch, p.Search.Launch, p.Forget.Launch, p.Uploads.Launch = s, s, s, s
	wakes := apioutreach.NewWakes(s, 0, Quiet)
	p.Tenancy.Wakes, p.Senders.Wakes, p.Messages.Wakes, p.Campaigns.Wakes = wakes, wakes, wakes, wakes
	p.Campaigns.Launch = s
}

// Door is the API on a real server.
type Door struct {
	Parts
	Address  string
	Store    *dblistings.Listings
	Letters  *db.DeadLetters
	Pool     *pgxpool.Pool
	Pictures *blob.Store
	Started  *Starter
}

// Open serves the API over a database and a folder of its own; change may take parts of them away.
func Open(t *testing.T, change ...func(*Parts)) *Door {
	t.Helper()

	pool := dbtest.New(t)
	d := &Door{Pool: pool, Store: dblistings.NewListings(pool), Letters: db.NewDeadLetters(pool, nil), Started: &Starter{}}
	var err error
	d.Pictures, err = blob.Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Pictures.Close()) })
	d.Metrics = telemetry.Registry()
	d.Tenants, d.Contacts.Store = db.NewTenants(pool), dboutreach.NewContacts(pool, nil)
	d.Listings.Store, d.DeadLetters.Store, d.Replays.Store = d.Store, d.Letters, dblistings.NewReplays(pool)
	d.Duplicates.Store = d.Store
	d.Platforms.Store, d.Audit.Store = dblistings.NewPlatforms(pool), db.NewAuditLog(pool)
	d.Staleness.Audit, d.Listings.Audit, d.Keys.Store = d.Audit.Store, d.Audit.Store, db.NewKeys(pool)
	d.Forget.Store = dblistings.NewForgets(pool)
	d.Drafts = apidrafts.Drafts{
		Store: dbdrafts.NewDrafts(pool), Blobs: d.Pictures,
		Requests: apidrafts.DraftRequests{Target: dbdrafts.Target{Exchange: "events", RoutingKey: Crawls}, Queue: Crawls, Ours: true},
	}
	d.Crawls = apicrawl.Crawls{Store: dbcrawl.NewCrawls(pool), Defaults: crawl.Defaults, Blobs: d.Pictures}
	index := dbsearch.NewSearchIndex(pool)
	d.Search = apisearch.Search{
		Engines: map[string]search.Engine{search.EnginePostgres: index}, Use: search.EnginePostgres,
		Store: dbsearch.NewPages(pool), Audit: d.Audit.Store,
	}
	d.Images.Blobs = d.Pictures
	d.Uploads.Store, d.Uploads.Blobs = dboutreach.NewUploads(pool), d.Pictures
	d.Tenancy = apioutreach.Tenants{Erasures: dboutreach.NewErasures(pool, nil), Files: d.Pictures}
	d.Senders = apioutreach.Senders{
		Store: dboutreach.NewSenders(pool), Audit: d.Audit.Store, Secrets: SecretBox(t, "new", "old"),
	}
	d.Drafts.Secrets = d.Senders.Secrets
	d.Platforms.Secrets = d.Senders.Secrets
	d.Messages.Store = dboutreach.NewMessages(pool, nil)
	d.Campaigns = apioutreach.Campaigns{
		Store: dboutreach.NewCampaigns(pool, nil), Messages: d.Messages.Store, Senders: d.Senders.Store,
		Secrets: d.Senders.Secrets,
	}
	d.Webhooks = apioutreach.Webhooks{
		Store: dboutreach.NewWebhooks(pool, nil), AppSecrets: []string{"other", "s3cret"}, VerifyTokens: []string{"t0ken"},
	}
	d.History.Store, d.Find.Store = db.NewSamples(pool), db.NewFinder(pool, dblistings.NewListings(pool).FindWords)
	d.Find.Within = time.Minute // whatever else the machine does
	d.Flow.Store, d.Events.Store = db.NewFlow(pool), db.NewMarks(pool)
	d.Searches = apilistings.Searches{Store: dblistings.NewSaved(pool), Secrets: d.Senders.Secrets}
	d.Starting(d.Started)
	d.Serve(t, change...)
	return d
}

// Bare serves the API with nothing behind it but the parts that change adds.
func Bare(t *testing.T, change ...func(*Parts)) *Door {
	t.Helper()

	d := &Door{}
	d.Metrics = prometheus.NewRegistry()
	d.Serve(t, change...)
	return d
}

// Serve serves the parts that there are after changes, until the test ends.
func (d *Door) Serve(t *testing.T, change ...func(*Parts)) {
	t.Helper()

	d.Uploads.Limits = apioutreach.UploadLimits{Bytes: 1 << 30, Share: 5000, All: 40_000, Low: 80}
	d.Log, d.Version, d.URL = Quiet, "1.2.3", "http://conveyor.test"
	d.TemporalUI, d.Namespace = "http://temporal.test/", "conveyor"
	d.Now = func() time.Time { return Now }
	for _, f := range change {
		f(&d.Parts)
	}
	server := httptest.NewServer(d.handler())
	t.Cleanup(server.Close)
	d.Address = server.URL
}

// Reply is an HTTP response, its body read.
type Reply struct {
	Status int
	Header http.Header
	Body   string
}

// Get asks for a path. headers are names and values in turn.
func (d *Door) Get(t *testing.T, path string, headers ...string) Reply {
	t.Helper()
	return d.Ask(t, http.MethodGet, path, "", headers...)
}

// HeadEnds asks for the head of a stream, and then by the same connection for something else.
func (d *Door) HeadEnds(t *testing.T, path string) {
	t.Helper()

	client := http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	for _, ask := range [][2]string{{http.MethodHead, path}, {http.MethodGet, "/openapi.json"}} {
		r, err := http.NewRequestWithContext(t.Context(), ask[0], d.Address+ask[1], nil)
		require.NoError(t, err)
		answer, err := client.Do(r)
		require.NoError(t, err, ask[1])
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode)
		if ask[0] == http.MethodHead {
			require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
		}
	}
}

// Ask sends a request. headers are names and values in turn.
func (d *Door) Ask(t *testing.T, method, path, body string, headers ...string) Reply {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), method, d.Address+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), "%s %s", method, path)
	return Reply{answer.StatusCode, answer.Header, string(all)}
}

// Read decodes the body of a good answer.
func Read[T any](t *testing.T, r Reply, status int) (v T) {
	t.Helper()

	require.Equal(t, status, r.Status, r.Body)
	require.Equal(t, "application/json", strings.Split(r.Header.Get("Content-Type"), ";")[0])
	require.NoError(t, json.Unmarshal([]byte(r.Body), &v), r.Body)
	return v
}

// problem is RFC 9457 with huma's list of what is wrong.
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Errors []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
		Value    any    `json:"value"`
	} `json:"errors"`
}

// Refused reads a problem of the given status.
func Refused(t *testing.T, r Reply, status int) (p problem) {
	t.Helper()

	require.Equal(t, status, r.Status, r.Body)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(r.Body), &p), r.Body)
	require.Equal(t, status, p.Status)
	require.Equal(t, http.StatusText(status), p.Title)
	require.NotEmpty(t, p.Detail)
	return p
}

// Fields lists where a problem says that something is wrong.
func (p problem) Fields() (out []string) {
	for _, e := range p.Errors {
		out = append(out, e.Location)
	}
	return out
}

// Starter records the calls that would start workflows.
type Starter struct {
	mu    sync.Mutex
	Err   error
	Calls []string
	Draft string      // state of a crawl request's workflow
	Ended []uuid.UUID // crawl requests whose workflows were canceled
	Index launch.Reindexing
}

// Listing implements listings.ListingStarter.
func (s *Starter) Listing(_ context.Context, ref listing.Ref, a launch.Arrival, summary string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := fmt.Sprintf("%s at %s, revision %d, force %v: %s", ref, a.Stage, a.Revision, a.Force, summary)
	s.Calls = append(s.Calls, call)
	return s.Err
}

// Replay implements listings.ReplayStarter.
func (s *Starter) Replay(_ context.Context, r listing.Replay) error {
	return s.note("replay %s by %s", r.ID, r.By)
}

// CancelReplay implements listings.ReplayStarter.
func (s *Starter) CancelReplay(_ context.Context, id uuid.UUID) error { return s.note("cancel %s", id) }

// Forget implements listings.Forgetter.
func (s *Starter) Forget(_ context.Context, ref listing.Ref) (string, error) {
	return "forget/" + ref.ID().String(), s.note("forget %s", ref)
}

// Erase implements outreach.Eraser.
func (s *Starter) Erase(_ context.Context, tenant string) error { return s.note("erase %s", tenant) }

// ArchiveStale implements listings.StalenessStarter.
func (s *Starter) ArchiveStale(context.Context) (string, bool, error) {
	return "staleness-by-hand", false, s.note("archive stale")
}

// Scraper implements listings.ScraperStarter.
func (s *Starter) Scraper(_ context.Context, platform, summary string) error {
	return s.note("scrape %s: %s", platform, summary)
}

// CancelDraft implements drafts.DraftStater.
func (s *Starter) CancelDraft(_ context.Context, event uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Ended = append(s.Ended, event)
	return s.Err
}

// DraftState implements drafts.DraftStater.
func (s *Starter) DraftState(context.Context, uuid.UUID) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Draft, s.Err
}

// StartCrawl implements crawl.CrawlStarter.
func (s *Starter) StartCrawl(_ context.Context, r crawl.Run) (bool, error) {
	return true, s.note("start crawl %d of %s", r.ID, r.RootURL)
}

// WakeCrawl implements crawl.CrawlStarter.
func (s *Starter) WakeCrawl(_ context.Context, r crawl.Run) error {
	return s.note("wake crawl %d", r.ID)
}

// SignalCrawl implements crawl.CrawlStarter.
func (s *Starter) SignalCrawl(_ context.Context, id int64) error {
	return s.note("signal crawl %d", id)
}

// ReindexPages implements search.SearchStarter.
func (s *Starter) ReindexPages(_ context.Context, to string) (string, bool, error) {
	return search.ReindexWorkflowID, s.Index.Running, s.note("re-index to %s", to)
}

// Reindexing implements search.SearchStarter.
func (s *Starter) Reindexing(context.Context) (launch.Reindexing, bool, error) {
	return s.Index, s.Index.To != "", s.Err
}

// DeletePages implements search.SearchStarter.
func (s *Starter) DeletePages(_ context.Context, site string) (string, bool, error) {
	return search.DeleteWorkflowID(site), false, s.note("delete pages of %s", site)
}

// StartImport implements outreach.UploadStarter.
func (s *Starter) StartImport(_ context.Context, tenant string, id uuid.UUID) error {
	return s.note("import %s of %s", id, tenant)
}

// CancelImport implements outreach.UploadStarter.
func (s *Starter) CancelImport(_ context.Context, id uuid.UUID) error {
	return s.note("cancel import %s", id)
}

// WakeDispatch implements outreach.DispatchStarter.
func (s *Starter) WakeDispatch(_ context.Context, tenant string) error {
	return s.note("wake dispatch of %s", tenant)
}

// StartCampaign implements outreach.CampaignStarter.
func (s *Starter) StartCampaign(_ context.Context, tenant string, id uuid.UUID) error {
	return s.note("start campaign %s of %s", id, tenant)
}

// WakeCampaign implements outreach.CampaignStarter.
func (s *Starter) WakeCampaign(_ context.Context, id uuid.UUID) error {
	return s.note("wake campaign %s", id)
}

func (s *Starter) note(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Calls = append(s.Calls, fmt.Sprintf(format, args...))
	return s.Err
}

// ComesBack checks that an answer is a 503 that says to try again and reveals no internals.
func ComesBack(t *testing.T, r Reply) {
	t.Helper()

	p := Refused(t, r, http.StatusServiceUnavailable)
	require.Equal(t, "5", r.Header.Get("Retry-After"))
	require.Equal(t, "a service that this needs is unavailable; try again in 5 s; see /ready", p.Detail)
}

// Look looks something up, and returns what was found as kind and href.
func (d *Door) Look(t *testing.T, typed string, headers ...string) (out []string) {
	t.Helper()

	for _, f := range Read[api.Findings](t, d.Get(t, "/find?q="+url.QueryEscape(typed), headers...), 200).Items {
		require.NotEmpty(t, f.Title)
		out = append(out, f.Kind+" "+f.Href)
	}
	return out
}

// A watch is a stream of events that is read.
type watch struct {
	*http.Response
	lines *bufio.Scanner
}

// Watch opens a stream; its test ends when it says nothing for a minute.
func (d *Door) Watch(t *testing.T, query string, headers ...string) *watch {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Address+"/events"+query, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	return &watch{answer, bufio.NewScanner(answer.Body)}
}

// Next reads the next event: its ID, name and data. All are empty at the end of the stream.
func (w *watch) Next() (id, name, data string) {
	for w.lines.Scan() {
		field, value, _ := strings.Cut(w.lines.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			return id, name, value
		}
	}
	return "", "", ""
}

// Until reads events up to one of a name, and returns its ID and data.
func (w *watch) Until(t *testing.T, name string) (id, data string) {
	t.Helper()

	for {
		i, n, d := w.Next()
		require.NotEmpty(t, n, "the stream ended before %s", name)
		if n == name {
			return i, d
		}
	}
}

// Ends requires that nothing but heartbeats comes before the end of the stream, and that it comes.
func (w *watch) Ends(t *testing.T, why string) {
	t.Helper()

	for {
		_, name, _ := w.Next()
		if name == "" {
			require.NoError(t, w.lines.Err(), why)
			return
		}
		require.Equal(t, "beat", name, why)
	}
}
