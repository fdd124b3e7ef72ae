package api_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
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
	"github.com/mtlrent/conveyor/internal/telemetry"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is when everything in these tests happens, unless it says otherwise.
var now = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

var quiet = slog.New(slog.DiscardHandler)

// parts are the API's settings and all of its parts.
type parts struct {
	api.Options
	Listings    api.Listings
	Duplicates  api.Duplicates
	DeadLetters api.DeadLetters
	Replays     api.Replays
	Forget      api.Forget
	Staleness   api.Staleness
	Platforms   api.Platforms
	Drafts      api.Drafts
	Crawls      api.Crawls
	Search      api.Search
	Images      api.Images
	Health      api.Health
	Keys        api.Keys
	Queues      api.Queues
	Audit       api.AuditLog
	Contacts    api.Contacts
	Uploads     api.Uploads
	Tenancy     api.Tenants
	Campaigns   api.Campaigns
	Messages    api.Messages
	Webhooks    api.Webhooks
	Searches    api.Searches
	Sessions    api.Sessions
	Flow        api.Flow
	Events      api.Events
	History     api.QueueHistory
	Find        api.Find
	Licences    api.Licences
}

func (p *parts) handler() http.Handler {
	return api.New(p.Options, p.list()...)
}

func (p *parts) list() []api.Part {
	return []api.Part{
		p.Listings, p.Duplicates, p.DeadLetters, p.Replays, p.Forget, p.Staleness, p.Platforms, p.Drafts, p.Crawls,
		p.Search, p.Images, p.Health, p.Keys, p.Queues, p.Audit, p.Uploads, p.Contacts, p.Tenancy,
		p.Campaigns, p.Messages, p.Webhooks, p.Searches,
		p.Sessions, p.Flow, p.Events, p.History, p.Find, p.Licences,
	}
}

// starting makes s start the work of every part.
func (p *parts) starting(s interface {
	api.ListingStarter
	api.ReplayStarter
	api.StalenessStarter
	api.ScraperStarter
	api.DraftStater
	api.CrawlStarter
	api.SearchStarter
	api.Forgetter
	api.UploadStarter
	api.DispatchStarter
	api.CampaignStarter
	api.Eraser
}) {
	p.Listings.Launch, p.Replays.Launch, p.Staleness.Launch, p.Platforms.Launch, p.Drafts.Launch = s, s, s, s, s
	p.Duplicates.Launch, p.Tenancy.Launch = s, s
	p.Crawls.Launch, p.Search.Launch, p.Forget.Launch, p.Uploads.Launch = s, s, s, s
	wakes := api.NewWakes(s, quiet)
	p.Tenancy.Wakes, p.Messages.Wakes, p.Campaigns.Wakes, p.Campaigns.Launch = wakes, wakes, wakes, s
}

// door is the API on a real server.
type door struct {
	parts
	url      string
	store    *dblistings.Listings
	letters  *db.DeadLetters
	pool     *pgxpool.Pool
	pictures *blob.Store
	started  *starter
}

// open serves the API over a database and a folder of its own; change may take parts of them away.
func open(t *testing.T, change ...func(*parts)) *door {
	t.Helper()

	pool := dbtest.New(t)
	d := &door{pool: pool, store: dblistings.NewListings(pool), letters: db.NewDeadLetters(pool, nil), started: &starter{}}
	var err error
	d.pictures, err = blob.Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.pictures.Close()) })
	d.Metrics = telemetry.Registry()
	d.Tenants, d.Contacts.Store = db.NewTenants(pool), dboutreach.NewContacts(pool, nil)
	d.Listings.Store, d.DeadLetters.Store, d.Replays.Store = d.store, d.letters, dblistings.NewReplays(pool)
	d.Duplicates.Store = d.store
	d.Platforms.Store, d.Audit.Store = dblistings.NewPlatforms(pool), db.NewAuditLog(pool)
	d.Staleness.Audit, d.Listings.Audit, d.Keys.Store = d.Audit.Store, d.Audit.Store, db.NewKeys(pool)
	d.Forget.Store = dblistings.NewForgets(pool)
	d.Drafts = api.Drafts{
		Store: dbdrafts.NewDrafts(pool), Blobs: d.pictures,
		Requests: api.DraftRequests{Target: dbdrafts.Target{Exchange: "events", RoutingKey: crawls}, Queue: crawls, Ours: true},
	}
	d.Crawls = api.Crawls{Store: dbcrawl.NewCrawls(pool), Defaults: crawl.Defaults, Blobs: d.pictures}
	index := dbsearch.NewSearchIndex(pool)
	d.Search = api.Search{
		Engines: map[string]search.Engine{search.EnginePostgres: index}, Use: search.EnginePostgres,
		Store: dbsearch.NewPages(pool), Audit: d.Audit.Store,
	}
	d.Images.Blobs = d.pictures
	d.Uploads.Store, d.Uploads.Blobs = dboutreach.NewUploads(pool), d.pictures
	d.Tenancy = api.Tenants{
		Senders: dboutreach.NewSenders(pool), Audit: d.Audit.Store, Secrets: secretBox(t, "new", "old"),
		Erasures: dboutreach.NewErasures(pool, nil), Files: d.pictures,
	}
	d.Drafts.Secrets = d.Tenancy.Secrets
	d.Platforms.Secrets = d.Tenancy.Secrets
	d.Messages.Store = dboutreach.NewMessages(pool, nil)
	d.Campaigns = api.Campaigns{Store: dboutreach.NewCampaigns(pool, nil), Messages: d.Messages.Store, Senders: d.Tenancy.Senders}
	d.Webhooks = api.Webhooks{
		Store: dboutreach.NewWebhooks(pool, nil), AppSecrets: []string{"other", "s3cret"}, VerifyTokens: []string{"t0ken"},
	}
	d.History.Store, d.Find.Store = db.NewSamples(pool), db.NewFinder(pool, dblistings.NewListings(pool).FindWords)
	d.Find.Within = time.Minute // whatever else the machine does
	d.Flow.Store, d.Events.Store = db.NewFlow(pool), db.NewMarks(pool)
	d.Searches = api.Searches{Store: dblistings.NewSaved(pool), Secrets: d.Tenancy.Secrets}
	d.starting(d.started)
	d.serve(t, change...)
	return d
}

// bare serves the API with nothing behind it but the parts that change adds.
func bare(t *testing.T, change ...func(*parts)) *door {
	t.Helper()

	d := &door{}
	d.Metrics = prometheus.NewRegistry()
	d.serve(t, change...)
	return d
}

func (d *door) serve(t *testing.T, change ...func(*parts)) {
	t.Helper()

	d.Uploads.Limits = api.UploadLimits{Bytes: 1 << 30, Share: 5000, All: 40_000, Low: 80}
	d.Log, d.Version, d.URL = quiet, "1.2.3", "http://conveyor.test"
	d.TemporalUI, d.Namespace = "http://temporal.test/", "conveyor"
	d.Now = func() time.Time { return now }
	for _, f := range change {
		f(&d.parts)
	}
	server := httptest.NewServer(d.handler())
	t.Cleanup(server.Close)
	d.url = server.URL
}

// reply is an HTTP response, its body read.
type reply struct {
	Status int
	Header http.Header
	Body   string
}

// get asks for a path. headers are names and values in turn.
func (d *door) get(t *testing.T, path string, headers ...string) reply {
	t.Helper()
	return d.ask(t, http.MethodGet, path, "", headers...)
}

func (d *door) ask(t *testing.T, method, path, body string, headers ...string) reply {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), method, d.url+path, strings.NewReader(body))
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
	return reply{answer.StatusCode, answer.Header, string(all)}
}

// read decodes the body of a good answer.
func read[T any](t *testing.T, r reply, status int) (v T) {
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

// refused reads a problem of the given status.
func refused(t *testing.T, r reply, status int) (p problem) {
	t.Helper()

	require.Equal(t, status, r.Status, r.Body)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(r.Body), &p), r.Body)
	require.Equal(t, status, p.Status)
	require.Equal(t, http.StatusText(status), p.Title)
	require.NotEmpty(t, p.Detail)
	return p
}

// fields lists where a problem says that something is wrong.
func (p problem) fields() (out []string) {
	for _, e := range p.Errors {
		out = append(out, e.Location)
	}
	return out
}

// starter records the calls that would start workflows.
type starter struct {
	mu    sync.Mutex
	err   error
	calls []string
	draft string      // state of a crawl request's workflow
	ended []uuid.UUID // crawl requests whose workflows were canceled
	index launch.Reindexing
}

func (s *starter) Listing(_ context.Context, ref listing.Ref, a launch.Arrival, summary string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := fmt.Sprintf("%s at %s, revision %d, force %v: %s", ref, a.Stage, a.Revision, a.Force, summary)
	s.calls = append(s.calls, call)
	return s.err
}

func (s *starter) Replay(_ context.Context, r listing.Replay) error {
	return s.note("replay %s by %s", r.ID, r.By)
}

func (s *starter) CancelReplay(_ context.Context, id uuid.UUID) error { return s.note("cancel %s", id) }

func (s *starter) Forget(_ context.Context, ref listing.Ref) (string, error) {
	return "forget/" + ref.ID().String(), s.note("forget %s", ref)
}

func (s *starter) Erase(_ context.Context, tenant string) error { return s.note("erase %s", tenant) }

func (s *starter) ArchiveStale(context.Context) (string, bool, error) {
	return "staleness-by-hand", false, s.note("archive stale")
}

func (s *starter) Scraper(_ context.Context, platform, summary string) error {
	return s.note("scrape %s: %s", platform, summary)
}

func (s *starter) CancelDraft(_ context.Context, event uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, event)
	return s.err
}

func (s *starter) DraftState(context.Context, uuid.UUID) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draft, s.err
}

func (s *starter) StartCrawl(_ context.Context, r crawl.Run) (bool, error) {
	return true, s.note("start crawl %d of %s", r.ID, r.RootURL)
}

func (s *starter) WakeCrawl(_ context.Context, r crawl.Run) error {
	return s.note("wake crawl %d", r.ID)
}

func (s *starter) SignalCrawl(_ context.Context, id int64) error {
	return s.note("signal crawl %d", id)
}

func (s *starter) ReindexPages(_ context.Context, to string) (string, bool, error) {
	return search.ReindexWorkflowID, s.index.Running, s.note("re-index to %s", to)
}

func (s *starter) Reindexing(context.Context) (launch.Reindexing, bool, error) {
	return s.index, s.index.To != "", s.err
}

func (s *starter) DeletePages(_ context.Context, site string) (string, bool, error) {
	return search.DeleteWorkflowID(site), false, s.note("delete pages of %s", site)
}

func (s *starter) StartImport(_ context.Context, tenant string, id uuid.UUID) error {
	return s.note("import %s of %s", id, tenant)
}

func (s *starter) CancelImport(_ context.Context, id uuid.UUID) error {
	return s.note("cancel import %s", id)
}

func (s *starter) WakeDispatch(_ context.Context, tenant string) error {
	return s.note("wake dispatch of %s", tenant)
}

func (s *starter) StartCampaign(_ context.Context, tenant string, id uuid.UUID) error {
	return s.note("start campaign %s of %s", id, tenant)
}

func (s *starter) WakeCampaign(_ context.Context, id uuid.UUID) error {
	return s.note("wake campaign %s", id)
}

func (s *starter) note(format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
	return s.err
}

func TestUnknownRoute(t *testing.T) {
	t.Parallel()
	d := bare(t)
	for _, path := range []string{"/nothing", "/listings/a/b/c", "/%00", "/..%2f"} {
		r := d.get(t, path)
		if r.Status == http.StatusMovedPermanently { // to the path with its slash
			r = d.get(t, r.Header.Get("Location"))
		}
		require.NotContains(t, r.Body, "goroutine")
		refused(t, r, http.StatusNotFound)
	}
	require.Equal(t, "there is no GET /nothing; see /docs", refused(t, d.get(t, "/nothing"), 404).Detail)
}

func TestWrongMethod(t *testing.T) {
	t.Parallel()
	d := bare(t)
	for _, tt := range []struct{ method, path, allow string }{
		{http.MethodPost, "/listings", "GET"},
		{http.MethodDelete, "/listings/6f1d1a0e-9c58-5c7e-8d7c-0b5a7f3f2c11", "GET"},
		{http.MethodGet, "/listings/kijiji/1/process", "POST"},
		{http.MethodPut, "/health", "GET"},
		{http.MethodPost, "/images/a.jpg", "GET"},
	} {
		r := d.ask(t, tt.method, tt.path, "")
		p := refused(t, r, http.StatusMethodNotAllowed)
		require.Equal(t, tt.allow, r.Header.Get("Allow"), tt.path)
		require.Equal(t, tt.path+" allows "+tt.allow, p.Detail)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	d := bare(t)
	for path, status := range map[string]int{"/health": 200, "/docs": 200, "/openapi.json": 200, "/nothing": 404} {
		r := d.ask(t, http.MethodHead, path, "")
		require.Equal(t, status, r.Status, path)
		require.Empty(t, r.Body, path)
		require.Equal(t, d.get(t, path).Header.Get("Content-Type"), r.Header.Get("Content-Type"), path)
	}
}

// A panic is a 500 whose body does not reveal the cause; the next request is answered.
func TestPanic(t *testing.T) {
	t.Parallel()
	d := bare(t, func(p *parts) { p.Listings.Store = nil })
	p := refused(t, d.get(t, "/listings"), http.StatusInternalServerError)
	require.NotContains(t, p.Detail, "nil")
	require.Equal(t, http.StatusOK, d.get(t, "/health").Status)
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	d := bare(t)
	doc := read[struct {
		OpenAPI string
		Info    struct{ Title, Version string }
	}](t, reply{200, http.Header{"Content-Type": {"application/json"}}, d.get(t, "/openapi.json").Body}, 200)
	require.Equal(t, "3.1.0", doc.OpenAPI)
	require.Equal(t, "1.2.3", doc.Info.Version)

	const golden = "testdata/openapi.golden.yaml"
	got := d.get(t, "/openapi.yaml").Body
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "the document is generated: go generate ./api")
}

// The page works without the internet: everything it loads is ours.
func TestDocs(t *testing.T) {
	t.Parallel()
	d := bare(t)
	r := d.get(t, "/")
	require.Equal(t, http.StatusFound, r.Status)
	require.Equal(t, "/ui/", d.ask(t, "GET", "/", "", "Accept", "text/html,*/*;q=0.8").Header.Get("Location"))
	page := d.get(t, r.Header.Get("Location"))
	require.Equal(t, http.StatusOK, page.Status)
	require.Contains(t, page.Header.Get("Content-Type"), "text/html")
	require.Contains(t, page.Body, `"swaggerJsonUrl":"/openapi.json"`)
	require.Regexp(t, `validatorUrl:\s*null`, page.Body) // or swagger.io would be asked

	assets := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body, -1)
	require.GreaterOrEqual(t, len(assets), 4)
	for _, a := range assets {
		require.Truef(t, strings.HasPrefix(a[1], "/docs/"), "%s is not ours", a[1])
		asset := d.get(t, a[1])
		require.Equal(t, http.StatusOK, asset.Status, a[1])
		require.Greater(t, len(asset.Body), 100, a[1])
		require.NotContains(t, asset.Header.Get("Content-Type"), "text/plain", a[1])
		if strings.HasSuffix(a[1], ".css") {
			require.NotRegexp(t, `(?:url\(|@import\s*)["']?(?:https?:)?//`, asset.Body, a[1])
		}
	}
}
