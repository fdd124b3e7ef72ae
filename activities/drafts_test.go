package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

const kettle = `<html><head><title>Kettle</title><script type="application/ld+json">
	{"@context":"https://schema.org","@type":"Product","name":"Kettle","offers":{"@type":"Offer","price":"25.00",
	"priceCurrency":"EUR"}}</script></head><body><h1>Kettle</h1></body></html>`

// workshop fakes every dependency of the draft activities.
type workshop struct {
	page  draft.Capture
	fails map[string]error // by the name of the method
	stop  func()           // called while the page loads

	secrets draft.Secrets // that are kept
	asked   draft.Secrets // that the page was asked with

	out    map[string][]byte // by folder and name
	kept   map[string][]byte // by key
	result *draft.Result
	doc    *draft.Document
}

func (w *workshop) CheckDevtools(context.Context) error { return w.fails["check"] }

func (w *workshop) Capture(_ context.Context, _, _ string, s draft.Secrets) (draft.Capture, error) {
	w.asked = s
	if w.stop != nil {
		w.stop()
	}
	return w.page, w.fails["capture"]
}

func (w *workshop) OpenDraft(context.Context, uuid.UUID) (draft.Secrets, error) {
	return w.secrets, w.fails["open"]
}

func (w *workshop) ResolveOutDir(dir string) (string, error) {
	if dir == "" {
		dir = draft.DefaultOutDir
	}
	return dir, w.fails["resolve"]
}

func (w *workshop) WriteOut(dir, name string, data []byte) error {
	w.out[dir+"/"+name] = data
	return w.fails["out"]
}

func (w *workshop) PutFile(_ context.Context, data []byte, ext string) (key, sum string, err error) {
	key = "files/x." + ext
	w.kept[key] = data
	return key, "abcd", w.fails["put "+ext]
}

func (w *workshop) ReadFile(_ context.Context, key string) ([]byte, error) {
	return w.kept[key], w.fails["read"]
}

func (w *workshop) PersistDraft(_ context.Context, r draft.Result, d *draft.Document, _ time.Time) error {
	w.result, w.doc = &r, d
	return w.fails["persist"]
}

func drafting(w *workshop) *activities.Drafts {
	w.out, w.kept = map[string][]byte{}, map[string][]byte{}
	return &activities.Drafts{
		Browser: w, Secrets: w, Reader: readers, Folders: w, Blobs: w, Store: w, Now: func() time.Time { return now },
	}
}

var requested = draft.Request{
	EventID: uuid.MustParse("3f0d6f5e-5c0e-4d3c-9c45-0d6b1f0a7a11"), URL: "https://s.example/k", OutDir: "a/b",
}

func persist(t *testing.T, a *activities.Drafts, r draft.Result) (out activities.Persisted, err error) {
	t.Helper()

	err = do(t, func(ctx context.Context) error {
		out, err = a.PersistDraft(ctx, r)
		return err
	})
	return out, err
}

func TestDraft(t *testing.T) {
	t.Parallel()
	w := &workshop{page: draft.Capture{
		Asked: requested.URL, URL: "https://s.example/kettle", Redirects: []string{requested.URL}, Status: 200,
		HTML: []byte(kettle), Screenshot: []byte("png"),
	}}
	a := drafting(w)
	ctx := t.Context()
	got, err := a.ResolveOutDir(ctx, draft.Request{EventID: requested.EventID, URL: requested.URL})
	require.NoError(t, err)
	require.Equal(t, "out", got.OutDir)

	result, err := a.RunCrawler(ctx, requested)
	require.NoError(t, err)
	require.Equal(t, draft.Succeeded, result.Outcome, result.Error)
	require.Equal(t, requested, result.Request)
	require.Len(t, result.Files, 3)
	require.Equal(t, kettle, string(w.out["a/b/page.html"]))
	require.Equal(t, "png", string(w.out["a/b/screenshot.png"]))
	var document draft.Document
	require.NoError(t, json.Unmarshal(w.out["a/b/draft.json"], &document))
	require.Equal(t, "Kettle", document.Draft.Name.Value)
	require.Equal(t, []string{requested.URL}, document.Redirects)
	require.Equal(t, "https://s.example/kettle", document.FinalURL)

	persisted, err := persist(t, a, result)
	require.NoError(t, err)
	require.Equal(t, activities.Persisted{DraftID: draft.ID(requested.EventID), Name: "Kettle", Price: "25.00 EUR"}, persisted)
	require.Equal(t, &result, w.result)
	require.Equal(t, document.Draft, w.doc.Draft)
}

// A failure of a page, or of storing its files, is a result, not an error.
func TestDraftOfABadPage(t *testing.T) {
	t.Parallel()
	page := func(status int, html string) draft.Capture {
		return draft.Capture{URL: requested.URL, Status: status, HTML: []byte(html), Screenshot: []byte("png")}
	}
	for _, tt := range []struct {
		name  string
		w     workshop
		class fault.Class
		text  string
		files int
	}{
		{"no host", workshop{fails: map[string]error{"capture": fault.Newf(fault.Gone, "no such host")}}, fault.Gone, "no such host", 0},
		{"not classified", workshop{fails: map[string]error{"capture": errors.New("odd")}}, fault.Transient, "odd", 0},
		{"404", workshop{page: page(404, kettle)}, fault.Gone, "HTTP 404", 3},
		{"503", workshop{page: page(503, kettle)}, fault.Throttled, "HTTP 503", 3},
		{"no product", workshop{page: page(200, "<h1>Page not found</h1>")}, fault.Invalid, "no product", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := drafting(&tt.w)
			result, err := a.RunCrawler(t.Context(), requested)
			require.NoError(t, err)
			require.Equal(t, draft.Failed, result.Outcome)
			require.Equal(t, tt.class, result.Class)
			require.Contains(t, result.Error, tt.text)
			require.Len(t, result.Files, tt.files)
			require.Equal(t, tt.w.page.Status, result.Status)
			_, err = persist(t, a, result)
			require.NoError(t, err)
			require.Equal(t, tt.files == 3, tt.w.doc != nil)
		})
	}
}

// A page that is made to take all memory is a failure of the page, which is kept, and the worker goes on.
func TestDraftOfAHostilePage(t *testing.T) {
	t.Parallel()
	page := []byte("<p>" + formats(400) + "x" + strings.Repeat("<p>x", 100_000))
	w := &workshop{page: draft.Capture{URL: requested.URL, Status: 200, HTML: page, Screenshot: []byte("png")}}
	result, err := drafting(w).RunCrawler(t.Context(), requested)
	require.NoError(t, err)
	require.Equal(t, draft.Failed, result.Outcome, result.Error)
	require.Equal(t, fault.Invalid, result.Class)
	require.Regexp(t, `^read page: reading it takes more than `, result.Error)
	require.Len(t, result.Files, 3)
}

// formats are elements that the parser of HTML opens again in each paragraph that follows.
func formats(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<b id=%d>", i)
	}
	return b.String()
}

// A page that takes longer than the activity may gives its slot back: the process that reads it is killed.
func TestDraftThatOverruns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &workshop{page: draft.Capture{
		URL: requested.URL, Status: 200, HTML: []byte("<p>" + formats(400) + "x" + strings.Repeat("<p>x", 100_000)),
	}}
	w.stop = func() { time.AfterFunc(20*time.Millisecond, func() { cancel(context.DeadlineExceeded) }) }
	began := time.Now()
	_, err := drafting(w).RunCrawler(ctx, requested)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), servicetest.Patience())
}

// A process that reads pages and cannot be had says nothing of the page.
func TestDraftWithoutAReader(t *testing.T) {
	t.Parallel()
	w := &workshop{page: draft.Capture{URL: requested.URL, Status: 200, HTML: []byte(kettle)}}
	a := drafting(w)
	closed := confine.New(confine.Options{})
	closed.Close()
	a.Reader = closed
	result, err := a.RunCrawler(t.Context(), requested)
	require.NoError(t, err)
	require.Equal(t, draft.Unmade, result.Outcome)
	require.Equal(t, fault.Transient, result.Class)
}

// A failure of our own storage or browser is no failure of the page.
func TestDraftWithoutAHouse(t *testing.T) {
	t.Parallel()
	full := fault.Newf(fault.Transient, "the disk is full")
	page := draft.Capture{URL: requested.URL, Status: 200, HTML: []byte(kettle), Screenshot: []byte("png")}
	for name, w := range map[string]*workshop{
		"no browser":            {fails: map[string]error{"capture": fmt.Errorf("capture: %w", web.ErrNoBrowser)}},
		"no room":               {page: page, fails: map[string]error{"put png": full}},
		"no room in the folder": {page: page, fails: map[string]error{"out": full}},
	} {
		result, err := drafting(w).RunCrawler(t.Context(), requested)
		require.NoError(t, err, name)
		require.Equal(t, draft.Unmade, result.Outcome, name)
		require.Equal(t, fault.Transient, result.Class, name)
		require.NotEmpty(t, result.Error, name)
	}
}

// A run that is stopped in the middle is no failure of the page.
func TestDraftStopped(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &workshop{fails: map[string]error{"capture": errors.New("closed")}}
	w.stop = func() { cancel(errors.New("worker stops")) }
	_, err := drafting(w).RunCrawler(ctx, requested)
	require.Equal(t, fault.Limited, fault.ClassOf(err), "another worker takes it over")
	require.ErrorContains(t, err, "worker stops")
	w.fails = map[string]error{"check": errors.New("closed")}
	_, err = drafting(w).CheckDevtools(ctx, requested)
	require.Equal(t, fault.Limited, fault.ClassOf(err))
}

// What killed three workers is not loaded again. A worker that stops tells the next one, which does not count it.
func TestDraftCountsDeaths(t *testing.T) {
	t.Parallel()
	for died, want := range map[int32]string{2: draft.Succeeded, 3: draft.Failed} {
		w := &workshop{page: draft.Capture{URL: requested.URL, Status: 200, HTML: []byte(kettle)}}
		a := drafting(w)
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivityWithOptions(func(ctx context.Context) (draft.Result, error) {
			if activity.GetInfo(ctx).Attempt <= died {
				return draft.Result{}, errors.New("killed")
			}
			return a.RunCrawler(ctx, requested)
		}, activity.RegisterOptions{Name: "run"})
		env.ExecuteWorkflow(func(ctx workflow.Context) (r draft.Result, err error) {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond},
			})
			return r, workflow.ExecuteActivity(ctx, "run").Get(ctx, &r)
		})
		var r draft.Result
		require.NoError(t, env.GetWorkflowResult(&r))
		require.Equal(t, want, r.Outcome, r.Error)
		if want == draft.Failed {
			require.Equal(t, "run crawler: the worker that loaded it died or hung, at the last of 3 tries", r.Error)
			require.Empty(t, w.kept)
		}
	}

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetHeartbeatDetails(map[string]int{"lived": 1})
	stopping := make(chan struct{})
	env.SetWorkerStopChannel(stopping)
	told := map[string]int{}
	said := make(chan map[string]int, 10)
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var v map[string]int
		if details.Get(&v) == nil {
			said <- v
		}
	})
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		ctx, _ = activities.WithPulse(ctx)
		ctx, stop := context.WithCancelCause(ctx)
		w := &workshop{fails: map[string]error{"capture": errors.New("closed")}}
		w.stop = func() {
			close(stopping)
			select {
			case told = <-said: // before ctx ends: its process does, too
			case <-time.After(servicetest.Patience()):
			}
			stop(errors.New("worker stops"))
		}
		_, err := drafting(w).RunCrawler(ctx, requested)
		return err
	}, activity.RegisterOptions{Name: "run"})
	_, err := env.ExecuteActivity("run")
	require.ErrorContains(t, err, "worker stops")
	require.Equal(t, map[string]int{"lived": 2}, told)
	require.Empty(t, said, "once")
}

func TestDraftFailures(t *testing.T) {
	t.Parallel()
	down := fault.Newf(fault.Transient, "away")
	w := &workshop{page: draft.Capture{Status: 200, HTML: []byte(kettle), Screenshot: []byte("png")}, fails: map[string]error{"check": down}}
	a := drafting(w)
	_, err := a.CheckDevtools(t.Context(), requested)
	require.ErrorIs(t, err, down)
	w.fails = map[string]error{"resolve": down, "persist": down}
	_, err = a.ResolveOutDir(t.Context(), requested)
	require.ErrorIs(t, err, down)
	result, err := a.RunCrawler(t.Context(), requested)
	require.NoError(t, err)
	_, err = persist(t, a, result)
	require.ErrorIs(t, err, down)
	w.fails = map[string]error{"read": down}
	_, err = persist(t, a, result)
	require.ErrorIs(t, err, down, "a draft whose document cannot be read is not stored without it")
	w.fails, w.kept[result.Files[2].Key] = nil, []byte("{")
	_, err = persist(t, a, result)
	require.Error(t, err)
}

// A page is asked with the secrets of its request, or not at all: without them it would be another page. They are in no
// result.
func TestDraftWithSecrets(t *testing.T) {
	t.Parallel()
	sealed := requested
	sealed.Sealed = true
	ours := draft.Secrets{URL: requested.URL, Headers: map[string]string{"Authorization": "s3cret"}}
	page := draft.Capture{Asked: requested.URL, URL: requested.URL, Status: 200, HTML: []byte(kettle)}
	w := &workshop{page: page, secrets: ours}
	a := drafting(w)
	got, err := a.RunCrawler(t.Context(), requested)
	require.NoError(t, err)
	require.Equal(t, draft.Succeeded, got.Outcome)
	require.True(t, w.asked.None(), "this request has none")
	got, err = a.RunCrawler(t.Context(), sealed)
	require.NoError(t, err)
	require.Equal(t, draft.Succeeded, got.Outcome)
	require.Equal(t, ours, w.asked)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(text)+fmt.Sprint(w.out, ours), "s3cret")

	for name, fail := range map[string]func(){
		"are gone":        func() { w.fails = map[string]error{"open": fault.Newf(fault.Gone, "they are gone")} },
		"for another url": func() { w.fails, w.secrets.URL = nil, "https://other.example/" },
	} {
		fail()
		w.asked, w.out = draft.Secrets{}, map[string][]byte{}
		got, err := a.RunCrawler(t.Context(), sealed)
		require.NoError(t, err)
		require.Equal(t, draft.Unmade, got.Outcome)
		require.Contains(t, got.Error, name)
		require.Empty(t, w.out)
		require.True(t, w.asked.None())
	}
}
