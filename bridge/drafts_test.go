package bridge_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/secret"
)

const requests = "crawler.url.requested.v1"

func request(id, url string) []byte {
	return fmt.Appendf(nil, `{"event_name":"crawler/url.requested","event_id":%q,"ts":"2026-01-27T12:34:56Z","data":{"url":%q,"out_dir":" a ","locale":"fr-CA"}}`, id, url)
}

func (r *rig) publishCrawl(body []byte, messageID string) {
	r.broker.Send("events", requests, amqp.Publishing{MessageId: messageID, Body: body})
}

// settled stops the bridge and requires that it leaves nothing behind.
func (r *rig) settled(t *testing.T, stop func()) {
	t.Helper()

	stop()
	require.Zero(t, r.broker.Ready(requests), "unacked requests are in the queue again")
}

// settledBut stops the bridge and requires that it leaves so many requests in their queue.
func (r *rig) settledBut(t *testing.T, stop func(), waiting int) {
	t.Helper()

	stop()
	require.Equal(t, waiting, r.broker.Ready(requests))
}

// A crawl request is acked when its draft is stored, and not before.
func TestCrawlRequested(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	slow := make(chan struct{})
	r.temp.set(func(string) error { <-slow; return nil })
	stop := r.start(t)
	id := uuid.New()
	r.publishCrawl(request(strings.ToUpper(id.String()), " https://shop.example/p "), id.String())
	r.publishCrawl(request(uuid.NewString(), "https://shop.example/q"), "")
	r.eventually(t, func() bool { return r.temp.called() == 1 && r.broker.Ready(requests) == 1 }, "one is in hand, one waits")
	close(slow)
	r.eventually(t, func() bool { return r.temp.called() == 2 }, "the other is taken")
	r.settled(t, stop)
	r.temp.mu.Lock()
	defer r.temp.mu.Unlock()
	require.Equal(t, id, r.temp.drafts[0].EventID)
	require.Equal(t, "https://shop.example/p", r.temp.drafts[0].URL)
	require.Equal(t, "a", r.temp.drafts[0].OutDir)
	require.Equal(t, "fr-CA", r.temp.drafts[0].Locale)
}

// A request that cannot become a draft is a dead letter at once, whatever its class, and the next one is taken.
func TestCrawlRequestedDies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	down := &launch.Failed{WorkflowID: "draft/x", RunID: "run", Err: fault.Newf(fault.Transient, "no Chromium at 127.0.0.1:9222")}
	r.temp.set(func(url string) error {
		if strings.Contains(url, "down") {
			return down
		}
		return nil
	})
	stop := r.start(t)
	id := uuid.NewString()
	bodies := [][]byte{
		[]byte("{"), request("", "https://shop.example/"), request("7", "https://shop.example/"), request(id, ""), request(id, "ftp://shop.example/"),
		[]byte(`{"event_name":"other","event_id":"` + id + `","data":{"url":"https://shop.example/"}}`),
		[]byte(`{"event_id":"` + id + `","data":{"url":"https://shop.example/","out_dir":"../x"}}`),
		[]byte(`{"event_id":"` + id + `","data":{"url":"https://shop.example/","locale":"fr_CA\\r\\nCookie: x"}}`),
		[]byte(`{"event_id":"` + id + `","data":[]}`),
	}
	for _, body := range bodies {
		r.publishCrawl(body, "")
	}
	r.publishCrawl(request(id, "https://shop.example/"), uuid.NewString()) // another MessageId
	r.publishCrawl(request(id, "https://shop.example/down"), id)
	last := uuid.NewString()
	r.publishCrawl(request(last, "https://shop.example/good"), last)
	want := len(bodies) + 2
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE queue = $1", requests) == want }, "dead letters")
	r.eventually(t, func() bool { return r.temp.called() == 2 }, "the good one is taken")
	r.settled(t, stop)

	var reason, class, workflow, run string
	require.NoError(t, r.pool.QueryRow(t.Context(), `SELECT reason, class, workflow_id, run_id FROM dead_letters
		WHERE convert_from(body, 'UTF8') LIKE '%/down%'`).Scan(&reason, &class, &workflow, &run))
	require.Equal(t, []string{"no Chromium at 127.0.0.1:9222", "transient", "draft/x", "run"}, []string{reason, class, workflow, run})
	require.NoError(t, r.pool.QueryRow(t.Context(), `SELECT reason FROM dead_letters WHERE message_id <> '' AND workflow_id = ''`).Scan(&reason))
	require.Contains(t, reason, "event_id: is not the message's MessageId")
}

// A request that was canceled, or has its draft, is settled without a dead letter, also when its workflow fails.
func TestCrawlRequestedCanceled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := dbdrafts.NewDrafts(r.pool)
	before, meanwhile, made := uuid.New(), uuid.New(), uuid.New()
	require.NoError(t, s.CancelDraft(t.Context(), before, true, "me", time.Unix(0, 0)))
	r.temp.set(func(url string) error {
		end := s.CancelDraft(t.Context(), meanwhile, true, "me", time.Unix(0, 0))
		if strings.HasSuffix(url, made.String()) {
			end = s.PersistDraft(t.Context(), dbtest.Crawled(made, dbtest.Start), dbtest.Draft("Kettle", "25.00"), dbtest.Start)
		}
		return errors.Join(end, &launch.Failed{WorkflowID: "draft/x", RunID: "run", Err: errors.New("canceled")})
	})
	stop := r.start(t)
	for _, id := range []uuid.UUID{before, meanwhile, made} {
		r.publishCrawl(request(id.String(), "https://shop.example/"+id.String()), id.String())
	}
	r.eventually(t, func() bool { return r.temp.called() == 2 }, "the others are taken")
	r.settled(t, stop)
	require.Zero(t, r.rows(t, "dead_letters"))
}

// A request that comes again has its draft, also when Temporal has forgotten its workflow: the page is not loaded
// again, and headers that are gone with the draft are not missed.
func TestCrawlRequestedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var err error
	r.drafts.Secrets, err = secret.Parse("k:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	require.NoError(t, err)
	s := dbdrafts.NewDrafts(r.pool)
	plain, sealed, last := uuid.New(), uuid.New(), uuid.New()
	for _, id := range []uuid.UUID{plain, sealed} {
		require.NoError(t, s.PersistDraft(t.Context(), dbtest.Crawled(id, dbtest.Start), dbtest.Draft("Kettle", "25.00"),
			dbtest.Start))
	}
	stop := r.start(t)
	r.publishCrawl(request(plain.String(), "https://shop.example/p"), plain.String())
	r.publishCrawl(fmt.Appendf(nil, `{"event_id":%q,"data":{"url":"https://shop.example/p","headers":{"X-Store":"7"}}}`,
		sealed), sealed.String())
	r.publishCrawl(request(last.String(), "https://shop.example/last"), last.String())
	r.eventually(t, func() bool {
		r.temp.mu.Lock()
		defer r.temp.mu.Unlock()
		return slices.ContainsFunc(r.temp.drafts, func(d draft.Request) bool { return d.EventID == last })
	}, "the last is taken")
	r.settled(t, stop)
	require.Equal(t, 1, r.temp.called())
	require.Zero(t, r.rows(t, "dead_letters"))
}

// While Temporal is away the request is held; nothing else is taken, and nothing is lost.
func TestCrawlRequestedHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.temp.set(func(string) error { return errors.New("temporal is away") })
	stop := r.start(t)
	id := uuid.NewString()
	r.publishCrawl(request(id, "https://shop.example/"), id)
	r.publishCrawl(request(uuid.NewString(), "https://shop.example/"), "")
	r.eventually(t, func() bool { return r.temp.called() >= 3 }, "it is tried again")
	require.Equal(t, 1, r.broker.Ready(requests))
	require.Zero(t, r.rows(t, "dead_letters"))
	r.temp.set(nil)
	r.eventually(t, func() bool { return r.broker.Ready(requests) == 0 }, "both are taken")
	r.settled(t, stop)
}

// Prefetch is how many are in hand, each on its own: none waits for a slow neighbour.
func TestCrawlsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.drafts.Prefetch = 3
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r.temp.set(func(url string) error {
		if strings.Contains(url, "slow") {
			<-ctx.Done()
		}
		return nil
	})
	stop := r.start(t)
	for _, path := range []string{"slow", "slow", "1", "2", "3", "4"} {
		r.publishCrawl(request(uuid.NewString(), "https://shop.example/"+path), "")
	}
	r.eventually(t, func() bool { return r.temp.called() == 6 }, "the quick ones are done")
	cancel()
	r.settled(t, stop)
}

// Workflow headers set by a sender are ignored, and do not stop the archive.
func TestWorkflowHeadersOfSenders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start(t)
	for _, said := range []string{"\xff\x00", strings.Repeat("x", 3000), "draft/" + uuid.NewString()} {
		r.broker.Send("events", requests, amqp.Publishing{
			Body: []byte("{"), Headers: amqp.Table{"x-workflow-id": said, "x-workflow-run": said},
		})
	}
	r.broker.Send("events.dlx", requests, amqp.Publishing{ // past the bridge, into the dead-letter queue itself
		Body: []byte("["), Headers: amqp.Table{"x-workflow-id": "\xff\x00", "x-workflow-run": strings.Repeat("x", 3000)},
	})
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE queue = $1", requests) == 2 }, "all are archived")
	require.Zero(t, r.rows(t, "dead_letters WHERE workflow_id <> '' AND convert_from(body, 'UTF8') = '{'"))
}

// A bridge without draft requests neither declares nor needs their queue.
func TestCrawlRequestsOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.drafts = nil
	r.start(t)
	require.Equal(t, -1, r.consumers(requests))
}

// Requests stay in their queue while no worker makes drafts, and are taken when there is one.
func TestCrawlRequestsWaitForAWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.WatchEvery(20 * time.Millisecond)
	r.temp.serve(false)
	stop := r.start(t)
	r.publishCrawl(request(uuid.NewString(), "https://shop.example/p"), "")
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "messages stay in their queue") }, "no log")
	require.Zero(t, r.consumers(requests))
	require.Equal(t, 1, r.broker.Ready(requests))
	r.eventually(t, func() bool { return r.consumers(requests+".dlq") == 1 }, "dead letters need no worker")
	r.temp.serve(true)
	r.eventually(t, func() bool { return r.temp.called() == 1 }, "it is not taken")

	r.temp.serve(false)
	r.eventually(t, func() bool { return r.consumers(requests) == 0 }, "it is still consumed")
	r.publishCrawl(request(uuid.NewString(), "https://shop.example/q"), "")
	require.Equal(t, 1, r.broker.Ready(requests))
	r.settledBut(t, stop, 1)
	require.Equal(t, 1, r.temp.called())
}

// Headers and cookies of a request are sealed before its workflow starts, and in no dead letter; a replay has them.
func TestCrawlRequestedWithSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var err error
	r.drafts.Secrets, err = secret.Parse("k:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	require.NoError(t, err)
	r.temp.set(func(url string) error {
		if strings.Contains(url, "down") {
			return &launch.Failed{WorkflowID: "draft/x", RunID: "run", Err: fault.Newf(fault.Transient, "no Chromium")}
		}
		return nil
	})
	stop := r.start(t)
	body := func(id uuid.UUID, path, more string) []byte {
		return fmt.Appendf(nil, `{"event_id":%q,"data":{"url":"https://shop.example/%s",%s}}`, id, path, more)
	}
	const headers = `"headers":{"Authorization":"s3cret"},"cookies":[{"name":"a","value":"s3cret"}]`
	good, down, wrong, past := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	r.publishCrawl(body(good, "p", headers), good.String())
	r.publishCrawl(body(down, "down", headers), down.String())
	r.publishCrawl(body(wrong, "p", `"headers":{"Host":"s3cret"}`), wrong.String())
	r.publishCrawl([]byte(`{"data":{"headers":{"A":"s3cret"}`), "")
	r.broker.Send("events.dlx", requests, amqp.Publishing{ // past the bridge, as the broker does with too many deliveries
		MessageId: past.String(), Body: body(past, "p", headers),
	})
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 4 && r.temp.called() == 2 }, "dead letters")
	require.Zero(t, r.rows(t, "dead_letters WHERE concat(convert_from(body, 'UTF8'), headers, reason) LIKE '%s3cret%'"))
	require.Equal(t, 1, r.rows(t, `dead_letters WHERE message_id = $1 AND
		convert_from(body, 'UTF8') = '{"data":{"sealed":true,"url":"https://shop.example/down"},"event_id":"' || $1 || '"}'`,
		down.String()))
	require.Equal(t, 1, r.rows(t, "dead_letters WHERE reason LIKE '%data.headers.Host: is made of the URL'"))
	require.Zero(t, r.rows(t, "draft_secrets WHERE box LIKE '%s3cret%'"))
	require.NotContains(t, r.logs.String(), "s3cret")
	for _, id := range []uuid.UUID{good, down} {
		sealed, err := dbdrafts.NewDrafts(r.pool).SealedDraft(t.Context(), id)
		require.NoError(t, err)
		plain, err := r.drafts.Secrets.Open(draft.SecretsPurpose(id), sealed.Key, sealed.Box)
		require.NoError(t, err)
		require.Contains(t, string(plain), `"headers":{"Authorization":"s3cret"}`)
	}

	var letter int64
	require.NoError(t, r.pool.QueryRow(t.Context(), "SELECT id FROM dead_letters WHERE message_id = $1", down.String()).
		Scan(&letter))
	r.temp.set(nil)
	_, err = r.DeadLetters.Replay(t.Context(), letter, false, "me", time.Now())
	require.NoError(t, err)
	r.eventually(t, func() bool { return r.temp.called() == 3 }, "it is replayed")
	r.settled(t, stop)
	r.temp.mu.Lock()
	defer r.temp.mu.Unlock()
	for _, started := range r.temp.drafts {
		require.True(t, started.Sealed)
	}
}

// Without a key, a request with headers dies and says why; the others are taken.
func TestCrawlRequestedWithoutAKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.drafts.Secrets = new(secret.Box)
	stop := r.start(t)
	const data = `{"url":"https://shop.example/","headers":{"A":"s3cret"}}`
	r.publishCrawl(fmt.Appendf(nil, `{"event_id":%q,"data":%s}`, uuid.New(), data), "")
	r.publishCrawl(request(uuid.NewString(), "https://shop.example/p"), "")
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 1 && r.temp.called() == 1 }, "one dies")
	require.Equal(t, 1, r.rows(t,
		"dead_letters WHERE reason LIKE '%CONVEYOR_SECRET_KEYS has no key%' AND class = 'conflict'"))
	require.Zero(t, r.rows(t, "dead_letters WHERE convert_from(body, 'UTF8') LIKE '%s3cret%'"))
	r.settled(t, stop)
}
