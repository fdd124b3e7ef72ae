package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/mtlrent/conveyor/api"
	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/workflows"
)

// crawls is the queue of crawl requests, and their routing key.
const crawls = "crawler.url.requested.v1"

// drafting makes a world in which an API runs, and a bridge that takes crawl requests. Workers do not.
func drafting(t *testing.T, settings ...string) (w *world, bridge *process) {
	t.Helper()

	servicetest.Address(t, "CHROME_DEVTOOLS_URL")
	w = newWorld(t, settings...)
	bridge = w.start("bridge")
	w.start("api")
	w.queuesCrawls()
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
	return w, bridge
}

// queuesCrawls waits until a bridge has bound the queue of crawl requests: until then a request goes nowhere. It is
// consumed once a worker makes drafts.
func (w *world) queuesCrawls() {
	w.t.Helper()

	w.eventually("crawl requests have a queue", func() bool {
		var bindings []struct{ Source, Destination string }
		w.broker.Call(http.MethodGet, "/api/bindings/"+w.broker.Vhost, nil, &bindings)
		for _, b := range bindings {
			if b.Source != "" && b.Destination == crawls {
				return true
			}
		}
		return false
	})
}

// A draftRequest is one message crawler/url.requested.
type draftRequest struct {
	event       uuid.UUID
	url, outDir string
}

// draftRequest returns a request for a page of the demo site, not published yet.
func (w *world) draftRequest(path string) draftRequest {
	return draftRequest{event: uuid.New(), url: w.siteURL + path}
}

func (q draftRequest) body(change ...func(map[string]any)) []byte {
	m := map[string]any{
		"event_name": "crawler/url.requested", "event_id": q.event.String(), "ts": "2026-01-27T12:34:56Z",
		"data": map[string]any{"url": q.url, "out_dir": q.outDir},
	}
	for _, f := range change {
		f(m)
	}
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return body
}

// ask publishes requests as other services do.
func (w *world) ask(requests ...draftRequest) {
	w.t.Helper()

	for _, q := range requests {
		w.broker.Send("events", crawls, amqp.Publishing{
			ContentType: "application/json", MessageId: q.event.String(), Type: "crawler/url.requested", Body: q.body(),
		})
	}
}

// drafted waits until a request has led to a draft, succeeded or failed, and returns it.
func (w *world) drafted(q draftRequest) (d apidrafts.DraftAnswer) {
	w.t.Helper()

	var state apidrafts.DraftRequestState
	w.eventually("a draft of "+q.url, func() bool {
		return w.get("/crawl-requests/"+q.event.String(), &state) == http.StatusOK && state.DraftID != nil
	})
	require.Equal(w.t, http.StatusOK, w.get("/drafts/"+state.DraftID.String(), &d))
	require.Equal(w.t, d.Outcome, state.State)
	require.Equal(w.t, q.event, d.EventID)
	require.Equal(w.t, 1, one[int](w, "SELECT count(*) FROM product_drafts WHERE event_id = $1", q.event))
	return d
}

// made is drafted for a page with a product on it.
func (w *world) made(q draftRequest) apidrafts.DraftAnswer {
	w.t.Helper()

	d := w.drafted(q)
	require.Equal(w.t, draft.Succeeded, d.Outcome, "%s: %s", q.url, d.Error)
	require.NotNil(w.t, d.Name, q.url)
	return d
}

// dies waits until the workflow of a request has failed and left a dead letter and no draft, and returns the letter.
func (w *world) dies(q draftRequest) (letter api.LetterDetail) {
	w.t.Helper()

	id := w.letterWhere("state = 'open' AND workflow_id = 'draft/" + q.event.String() + "'")
	w.closed(q, enums.WORKFLOW_EXECUTION_STATUS_FAILED)
	require.Equal(w.t, http.StatusOK, w.get("/dead-letters/"+id, &letter))
	require.Equal(w.t, crawls, letter.Queue)
	require.Zero(w.t, one[int](w, "SELECT count(*) FROM product_drafts WHERE event_id = $1", q.event))
	var state apidrafts.DraftRequestState
	require.Equal(w.t, http.StatusOK, w.get("/crawl-requests/"+q.event.String(), &state))
	require.Equal(w.t, "dead", state.State)
	require.Equal(w.t, letter.ID, *state.DeadLetter)
	require.Equal(w.t, letter.Reason, state.Error)
	return letter
}

// replayed sends a dead letter back and waits for the good draft that it leads to.
func (w *world) replayed(q draftRequest, letter api.LetterDetail) apidrafts.DraftAnswer {
	w.t.Helper()

	require.Equal(w.t, http.StatusAccepted, w.send(http.MethodPost, fmt.Sprintf("/dead-letters/%d/replay", letter.ID), ""))
	d := w.made(q)
	w.eventually("its letter is resolved", func() bool {
		return one[string](w, "SELECT state FROM dead_letters WHERE id = $1", letter.ID) == "resolved"
	})
	return d
}

// closed waits until the workflow of a request has ended with status, and returns its cost in state transitions.
func (w *world) closed(q draftRequest, status enums.WorkflowExecutionStatus) (cost int64) {
	w.t.Helper()

	id := "draft/" + q.event.String()
	w.eventually(id+" is "+status.String(), func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), id, "")
		cost = d.GetWorkflowExecutionInfo().GetStateTransitionCount()
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == status
	})
	return cost
}

// acked ends a bridge and requires that it has left nothing in the queue: an unacked request would be there again.
func (w *world) acked(bridge *process) {
	w.t.Helper()

	bridge.stop(w.t)
	require.Zero(w.t, w.broker.Ready(crawls))
	require.Zero(w.t, w.broker.Ready(crawls+".dlq"))
}

func (w *world) hits(path string) int { return len(w.site.Hits(path)) }

// outRoot is where the folders of drafts are.
func (w *world) outRoot() string { return filepath.Join(w.dir, "drafts") }

// hold lets the requests for a page wait at the site's door, until they are let through. asked says how many there are.
func (w *world) hold(path string) (asked func() int, let func()) {
	var mu sync.Mutex
	n := 0
	through := make(chan struct{})
	w.at(func(r *http.Request) {
		if r.URL.Path != path {
			return
		}
		mu.Lock()
		n++
		mu.Unlock()
		select {
		case <-through:
		case <-r.Context().Done():
		}
	})
	let = sync.OnceFunc(func() { close(through) })
	w.t.Cleanup(let)
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}, let
}

// bytesOf reads a file of the API.
func (w *world) bytesOf(path string) (data []byte, contentType string) {
	w.t.Helper()

	resp, err := http.Get(w.api + path)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	data, err = io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, resp.StatusCode, string(data))
	return data, resp.Header.Get("Content-Type")
}

// What becomes of requests for drafts. The cases share a world and have pages of their own.
func TestDrafts(t *testing.T) {
	t.Parallel()

	w, bridge := drafting(t, secretKeys)
	worker := w.start("worker")
	t.Run("a crawl request becomes a draft", func(t *testing.T) { w.in(t).drafts() })
	t.Run("drafts of a file are imported", func(t *testing.T) { w.in(t).importsDrafts() })
	t.Run("a page that wants a login", func(t *testing.T) { w.in(t).draftsWithALogin(bridge, worker) })
	w.acked(bridge)
}

// One message is one visit and one draft, with its files in the requested folder and by REST; then it is acked. The
// same message again changes nothing.
func (w *world) drafts() {
	t := w.t
	q := w.draftRequest("/shop/kettle?secret=1")
	q.outDir = "kitchen/kettle"
	w.ask(q)
	d := w.made(q)
	require.Equal(t, draft.ID(q.event), d.ID)
	require.Equal(t, q.url, d.URL)
	require.Equal(t, []string{"Copper kettle, 1.7 litres", "Northpot", "1049.00", "CAD", "InStock", "NP-170-CU",
		"4006381333931", "NP170"}, []string{*d.Name, *d.Brand, *d.Price, *d.Currency, *d.Availability, *d.SKU, *d.GTIN, *d.MPN})
	require.Equal(t, http.StatusOK, *d.Status)
	require.Equal(t, draft.JSONLD, d.Draft.Price.Source)
	require.False(t, d.Unstable)
	require.Empty(t, d.Redirects)

	types := map[string]string{"page.html": "text/html", "screenshot.png": "image/png", "draft.json": "application/json"}
	require.Len(t, d.Files, len(types))
	for _, f := range d.Files {
		data, contentType := w.bytesOf("/drafts/" + d.ID.String() + "/files/" + f.Name)
		require.Contains(t, contentType, types[f.Name])
		require.Len(t, data, int(f.Bytes))
		out, err := os.ReadFile(filepath.Join(w.outRoot(), q.outDir, f.Name))
		require.NoError(t, err)
		if f.Name == draft.PageName { // as it is served, it names no other host to connect to
			out = bytes.ReplaceAll(out, []byte("<link"), []byte("<wbr "))
		}
		require.True(t, bytes.Equal(data, out), f.Name)
		switch f.Name {
		case draft.PageName:
			require.Contains(t, string(data), "<h1>Copper kettle, 1.7 litres</h1>")
		case draft.ScreenshotName:
			shot, err := png.Decode(bytes.NewReader(data))
			require.NoError(t, err)
			require.GreaterOrEqual(t, shot.Bounds().Dy(), 1000)
		case draft.DocumentName:
			var doc draft.Document
			require.NoError(t, json.Unmarshal(data, &doc))
			require.Equal(t, &q.event, doc.EventID)
			require.Equal(t, *d.Draft, doc.Draft)
		}
	}

	// The workflow's result tells the outcome, and its summary leaves out the query, which may hold a secret.
	// beats is what a worker that takes its time costs: a state transition each.
	beats := func(tookMS int64) int64 { return tookMS / (workflows.DraftHeartbeat / 4).Milliseconds() }
	cost := w.closed(q, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED) - beats(d.TookMS)
	var result workflows.DraftResult
	require.NoError(t, w.temporal.GetWorkflow(w.ctx(), "draft/"+q.event.String(), "").Get(w.ctx(), &result))
	require.Equal(t, "1049.00 CAD", result.Price)
	require.Equal(t, *d.Name, result.Name)
	require.Equal(t, []any{draft.Succeeded, d.ID}, []any{result.Outcome, result.DraftID})
	flow, err := w.temporal.DescribeWorkflow(w.ctx(), "draft/"+q.event.String(), "")
	require.NoError(t, err)
	summary, err := flow.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, w.siteURL+"/shop/kettle?…", summary)

	// Delivered again, twice: the next message waits for them, for one is taken at a time.
	w.ask(q, q)
	other := w.draftRequest("/shop/wasserkocher")
	w.ask(other)
	o := w.made(other)
	cost = min(cost, w.closed(other, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)-beats(o.TookMS))
	require.LessOrEqual(t, cost, int64(12), "state transitions of one whose tasks were not tried again")
	require.Equal(t, []string{"1049.90", "EUR"}, []string{*o.Price, *o.Currency})
	require.Equal(t, draft.DefaultOutDir, o.OutDir)
	require.FileExists(t, filepath.Join(w.outRoot(), "out", draft.ScreenshotName))
	again := w.drafted(q)
	require.Equal(t, d.ID, again.ID)
	require.Equal(t, d.UpdatedAt, again.UpdatedAt)
	require.Equal(t, []int{1, 1}, []int{w.hits("/shop/kettle"), w.hits("/shop/wasserkocher")})
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM product_drafts"))
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters"))
}

// A message that can never become a draft is dead-lettered with the reason, and the next message is taken.
func TestBadCrawlRequestsDie(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, bridge := drafting(t, "CONVEYOR_ARCHIVE_DEAD_LETTERS=false")
	w.start("worker")
	outside := t.TempDir()
	require.NoError(t, os.MkdirAll(w.outRoot(), 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(w.outRoot(), "link")))
	q := w.draftRequest("/shop/kettle")
	data := func(url, outDir string) func(map[string]any) {
		return with("data", map[string]any{"url": url, "out_dir": outDir})
	}
	without := func(key string) func(map[string]any) { return func(m map[string]any) { delete(m, key) } }
	bad := []struct {
		name, messageID string
		body            []byte
		want            string
	}{
		{"not JSON", "", []byte(`{"event_id":`), "not JSON"},
		{"no data", "", q.body(without("data")), "data.url: is missing"},
		{"no URL", "", q.body(data("", "")), "data.url: is missing"},
		{"blank URL", "", q.body(data(" \t", "")), "data.url: is missing"},
		{"file URL", "", q.body(data("file:///etc/passwd", "")), "data.url"},
		{"URL with a password", "", q.body(data("http://me:secret@shop.example/", "")), "password"},
		{"no event_id", "", q.body(without("event_id")), "event_id: is missing"},
		{"no event_id but a MessageId", q.event.String(), q.body(without("event_id")), "event_id: is missing"},
		{"event_id is none", "", q.body(with("event_id", "42")), `event_id: "42" is not a UUID`},
		{"another MessageId", uuid.NewString(), q.body(), "MessageId"},
		{"another event", "", q.body(with("event_name", "crawler/url.failed")), "event_name"},
		{"out_dir above", "", q.body(data(q.url, "../x")), "data.out_dir"},
		{"out_dir above, by a detour", "", q.body(data(q.url, "a/../../x")), "data.out_dir"},
		{"absolute out_dir", "", q.body(data(q.url, outside)), "data.out_dir"},
		{"a link out", q.event.String(), q.body(data(q.url, "link/x")), "by a link"}, // of the good message's event
	}
	for _, b := range bad {
		w.broker.Send("events", crawls, amqp.Publishing{MessageId: b.messageID, Body: b.body})
	}
	good := w.draftRequest("/shop/mug")
	w.ask(good)
	require.Equal(t, `Mug with a "lid"`, *w.made(good).Name)
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM product_drafts"))
	require.Zero(t, w.hits("/shop/kettle"), "a bad request costs no visit")
	bridge.stop(t)
	require.Zero(t, w.broker.Ready(crawls))

	err := w.temporal.GetWorkflow(w.ctx(), "draft/"+q.event.String(), "").Get(w.ctx(), nil)
	require.ErrorContains(t, err, "leads out of the folder of all drafts, by a link")
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)

	// Where they lie in the broker, each says why.
	letters := w.drain(crawls + ".dlq")
	require.Len(t, letters, len(bad))
	for i, l := range letters {
		require.Contains(t, l.Headers["x-error"], bad[i].want, bad[i].name)
		require.Equal(t, []any{"invalid", crawls, int64(1)},
			[]any{l.Headers["x-error-class"], l.Headers["x-origin-queue"], l.Headers["x-attempt"]}, bad[i].name)
		require.NotEmpty(t, l.Headers["x-conveyor-version"])
		require.Equal(t, bad[i].body, l.Body)
		require.Equal(t, bad[i].messageID, l.MessageId)
		w.broker.Send("events.dlx", crawls, amqp.Publishing{MessageId: l.MessageId, Headers: l.Headers, Body: l.Body})
	}

	// A bridge that archives them has them in Postgres, and nothing in the broker.
	archiving := w.start("bridge", "CONVEYOR_ARCHIVE_DEAD_LETTERS=true")
	w.eventually("all are archived", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE class = 'invalid' AND state = 'open'") == len(bad)
	})
	for _, b := range bad {
		require.Positive(t, one[int](w, `SELECT count(*) FROM dead_letters
			WHERE body = $1 AND message_id = $2 AND queue = $3 AND position($4 in reason) > 0`, b.body, b.messageID, crawls, b.want))
	}
	link := w.dies(q)
	w.acked(archiving)

	// The link is gone: the same event becomes a draft.
	require.NoError(t, os.Remove(filepath.Join(w.outRoot(), "link")))
	w.start("bridge", "CONVEYOR_ARCHIVE_DEAD_LETTERS=true")
	w.replayed(q, link)
	require.FileExists(t, filepath.Join(w.outRoot(), "link", "x", draft.PageName))
	require.Equal(t, 1, w.hits("/shop/kettle"))
}

// Drafts by REST and by command: one request is one draft, however often it is repeated.
func TestDraftsByRESTAndCommand(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, bridge := drafting(t, "RABBITMQ_PREFETCH=3")
	w.start("worker")
	post := func(key, body string) (code int, accepted apidrafts.DraftRequestAccepted, location string) {
		r, err := http.NewRequestWithContext(w.ctx(), http.MethodPost, w.api+"/crawl-requests", strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		_ = json.NewDecoder(resp.Body).Decode(&accepted) // a problem has other fields
		return resp.StatusCode, accepted, resp.Header.Get("Location")
	}
	body := fmt.Sprintf(`{"url":%q,"out_dir":"by/rest"}`, w.siteURL+"/shop/drill")
	asked, let := w.hold("/shop/drill")
	code, first, location := post("order 66", body)
	require.Equal(t, http.StatusAccepted, code)
	require.Equal(t, "/crawl-requests/"+first.EventID.String(), location)
	w.eventually("the page is asked for", func() bool { return asked() == 1 })
	var state apidrafts.DraftRequestState
	require.Equal(t, http.StatusOK, w.get(location, &state))
	require.Equal(t, "running", state.State)
	require.NotNil(t, state.RequestedAt)

	// Again while it is being made: by its key, and thrice by message.
	code, second, _ := post("order 66", body)
	require.Equal(t, []any{http.StatusAccepted, first}, []any{code, second})
	code, _, _ = post("order 66", strings.Replace(body, "drill", "mug", 1))
	require.Equal(t, http.StatusConflict, code)
	q := draftRequest{first.EventID, w.siteURL + "/shop/drill", "by/rest"}
	w.ask(q, q, q)
	w.eventually("two more are in hand", func() bool { return w.broker.Ready(crawls) == 1 })
	let()
	d := w.made(q)
	require.Equal(t, first.DraftID, d.ID)
	require.FileExists(t, filepath.Join(w.outRoot(), "by/rest", draft.PageName))
	w.eventually("all are taken", func() bool { return w.broker.Ready(crawls) == 0 })
	w.at(nil)

	// By command, which prints JSON and nothing else on its output.
	command := func(env []string, args ...string) (out string, err error) {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env = env
		said := new(bytes.Buffer)
		cmd.Stderr = said
		data, err := cmd.Output()
		t.Logf("conveyor %v: %s", args, said)
		return string(data), err
	}
	out, err := command(w.env, "draft", "--out-dir", "by/command", w.siteURL+"/shop/lamp")
	require.NoError(t, err)
	var lamp apidrafts.DraftAnswer
	require.NoError(t, json.Unmarshal([]byte(out), &lamp), out)
	require.Equal(t, []string{"Desk lamp", "1299.00", "SEK"}, []string{*lamp.Name, *lamp.Price, *lamp.Currency})
	out, err = command(w.env, "draft", w.siteURL+"/shop/bad/gone")
	require.Error(t, err)
	var gone apidrafts.DraftAnswer
	require.NoError(t, json.Unmarshal([]byte(out), &gone), out)
	require.Equal(t, []string{draft.Failed, string(fault.Gone)}, []string{gone.Outcome, gone.Class})

	var page apidrafts.DraftPage
	require.Equal(t, http.StatusOK, w.get("/drafts?outcome=succeeded&min_price=1000", &page))
	require.Len(t, page.Items, 1)
	require.Equal(t, lamp.ID, page.Items[0].ID)
	require.Equal(t, []int{1, 1}, []int{w.hits("/shop/drill"), w.hits("/shop/lamp")})
	require.Equal(t, 3, one[int](w, "SELECT count(*) FROM product_drafts"))
	w.acked(bridge)

	// A saved page is extracted without any service.
	out, err = command([]string{"PATH=" + os.Getenv("PATH")}, "extract", "--url", w.siteURL+"/shop/lamp",
		filepath.Join(w.outRoot(), "by/command", draft.PageName))
	require.NoError(t, err)
	var saved draft.Document
	require.NoError(t, json.Unmarshal([]byte(out), &saved), out)
	require.Equal(t, *lamp.Draft, saved.Draft)
}

// A page that cannot be loaded is a failed draft with the reason, and its message is acked. A page that misbehaves
// harms neither the worker, nor Chromium, nor the pages beside it. Not in parallel: a page has 30 s, and three of these
// take every core that they get.
func TestPagesThatMisbehave(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	w, bridge := drafting(t, "RABBITMQ_PREFETCH=3", "CONVEYOR_DRAFT_PAGES=3")
	worker := w.start("worker")
	type page struct {
		url   string
		class fault.Class // "" = there is a draft, of the kettle
		want  string      // in the reason; of a draft: unstable, "" = either
	}
	slow := []page{{"/shop/bad/endless", "", "unstable"}, {"/shop/bad/busy", "", "unstable"}}
	pages := []page{
		{"/bad/silent", fault.Transient, "timed out after 30s"},
		{"/shop/bad/restless", "", "unstable"},
		{"/shop/bad/popups", "", ""}, // where Chromium lets it open any
		{"/shop/bad/inside", "", ""},
		{"/shop/bad/moved", "", ""},
		{"/shop/bad/download", fault.Invalid, "download"},
		{"/shop/bad/private", fault.Invalid, ""},
		{"/shop/bad/gone", fault.Gone, "HTTP 404"},
		{"/bad/403", fault.Blocked, "HTTP 403"},
		{"/bad/429", fault.Throttled, "HTTP 429"},
		{"/bad/500", fault.Transient, "HTTP 500"},
		{"/bad/redirect-loop", fault.Invalid, "REDIRECTS"},
		{"/bad/reset", fault.Transient, ""},
		{"/style.css", fault.Invalid, "no product"},
		{"http://nowhere.invalid/", fault.Gone, ""},
		{"http://10.0.0.1/", fault.Invalid, ""},
	}
	const soon = 40 * time.Second
	requests := map[string]draftRequest{}
	ask := func(p page) {
		q := draftRequest{event: uuid.New(), url: p.url}
		if strings.HasPrefix(p.url, "/") {
			q = w.draftRequest(p.url)
		}
		requests[p.url] = q
		w.ask(q)
	}
	for _, p := range slow {
		ask(p)
		w.eventually(p.url+" is asked for", func() bool { return w.hits(p.url) == 1 })
	}
	good := w.draftRequest("/shop/mug")
	w.ask(good)
	w.made(good)
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM product_drafts"), "it waited for none of the slow ones")
	for _, p := range slow { // they take a core each, which large pages need on a slow machine
		w.drafted(requests[p.url])
	}
	huge := page{"/shop/bad/huge", "", ""} // needs one for itself, to be read within its 30 s
	ask(huge)
	w.drafted(requests[huge.url])
	for _, p := range pages {
		ask(p)
	}
	alerts := w.requestDraft("/shop/bad/alerts")
	for _, p := range slices.Concat(slow, []page{huge}, pages) {
		d := w.drafted(requests[p.url])
		t.Logf("%s: %s %s after %d ms %s", p.url, d.Outcome, d.Class, d.TookMS, d.Error)
		require.Equal(t, string(p.class), d.Class, "%s: %s", p.url, d.Error)
		require.Less(t, d.TookMS, soon.Milliseconds(), p.url)
		if strings.HasPrefix(p.url, "/shop/") {
			require.Equal(t, 1, w.hits(p.url), p.url)
		}
		w.closed(requests[p.url], enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		if p.class != "" {
			require.Equal(t, draft.Failed, d.Outcome, p.url)
			require.NotEmpty(t, d.Error, p.url)
			require.Contains(t, d.Error, p.want, p.url)
			continue
		}
		require.Equal(t, []string{draft.Succeeded, "Copper kettle, 1.7 litres", "1049.00"},
			[]string{d.Outcome, *d.Name, *d.Price}, p.url)
		require.Len(t, d.Files, 3, "%s: %v", p.url, d.Files)
		require.True(t, d.Unstable || p.want == "", p.url)
	}
	d := w.drafted(alerts)
	require.Less(t, d.TookMS, soon.Milliseconds())
	require.Empty(t, d.Error)
	require.True(t, d.Unstable && *d.Name == "Copper kettle, 1.7 litres", alerts.url)

	moved := w.drafted(requests["/shop/bad/moved"])
	require.Equal(t, []string{w.siteURL + "/shop/bad/moved"}, moved.Redirects)
	require.Equal(t, w.siteURL+"/shop/kettle", *moved.FinalURL)
	w.made(w.requestDraft("/shop/theiere"))
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters"))
	select {
	case <-worker.end:
		t.Fatal("the worker died: " + worker.log.tail(3000))
	default:
	}
	w.acked(bridge)
}

// requestDraft publishes a request for a page of the demo site, and returns it.
func (w *world) requestDraft(path string) draftRequest {
	w.t.Helper()

	q := w.draftRequest(path)
	w.ask(q)
	return q
}
