package api_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A watch is a stream of events that is read.
type watch struct {
	*http.Response
	lines *bufio.Scanner
}

// watch opens a stream; its test ends when it says nothing for a minute.
func (d *door) watch(t *testing.T, query string, headers ...string) *watch {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/events"+query, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	return &watch{answer, bufio.NewScanner(answer.Body)}
}

// next reads the next event: its ID, name and data. All are empty at the end of the stream.
func (w *watch) next() (id, name, data string) {
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

// until reads events up to one of a name, and returns its ID and data.
func (w *watch) until(t *testing.T, name string) (id, data string) {
	t.Helper()

	for {
		i, n, d := w.next()
		require.NotEmpty(t, n, "the stream ended before %s", name)
		if n == name {
			return i, d
		}
	}
}

// ends requires that nothing but heartbeats comes before the end of the stream, and that it comes.
func (w *watch) ends(t *testing.T, why string) {
	t.Helper()

	for {
		_, name, _ := w.next()
		if name == "" {
			require.NoError(t, w.lines.Err(), why)
			return
		}
		require.Equal(t, "beat", name, why)
	}
}

// streaming serves the API with quick streams.
func streaming(t *testing.T, change ...func(*parts)) *door {
	t.Helper()
	return open(t, append([]func(*parts){func(p *parts) {
		p.Events.Every, p.Events.Heartbeat, p.Events.Again = 5*time.Millisecond, time.Hour, 10*time.Millisecond
	}}, change...)...)
}

// A reader is told that the stream lives although nothing happens.
func TestEventsBeat(t *testing.T) {
	t.Parallel()
	d := streaming(t, func(p *parts) { p.Events.Heartbeat = 5 * time.Millisecond })
	w := d.watch(t, "?topics=letters")
	first, _ := w.until(t, "resync")
	id, _ := w.until(t, "beat")
	require.Empty(t, id)
	w.until(t, "beat")
	_, name, _ := d.watch(t, "?topics=letters", "Last-Event-ID", first).next()
	require.Equal(t, "beat", name)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	d := streaming(t, func(p *parts) {
		p.Events.Report = func(context.Context) backlog.Report {
			return backlog.Report{DeadLetters: []backlog.DeadCount{{Open: 28}}, Concerns: make([]backlog.Concern, 4)}
		}
	})
	w := d.watch(t, "?topics=letters,feed,report")
	before, data := "", ""
	for before == "" || data == "" { // in either order
		id, name, said := w.next()
		switch name {
		case "report":
			data = said
		case "resync":
			before = id
		default:
			require.Fail(t, "unexpected", "%q", name)
		}
	}
	require.JSONEq(t, `{"dead_letters":28,"ready":0,"outbox":0,"concerns":4,"services":null,"crawls":0}`, data)
	d.publish(t, listing.Listing{Ref: kijiji("1"), Title: "4½", RentCents: 90_000}, "", now)
	_, data = w.until(t, "feed")
	require.Equal(t, "{}", data)
	d.bury(t, "a", 1)
	last, _ := w.until(t, "letters")

	again := d.watch(t, "?topics=letters,feed", "Last-Event-ID", before) // while the first one looks on
	_, name, _ := again.next()
	require.Equal(t, "feed", name)
	id, _ := again.until(t, "letters")
	require.Equal(t, last, id)
	for _, unknown := range []string{"", "x", "elsewhere-1", last + "9"} {
		_, name, _ := d.watch(t, "?topics=letters", "Last-Event-ID", unknown).next()
		require.Equal(t, "resync", name, unknown)
	}
	run := d.crawl(t)
	other := d.watch(t, "?topics=platforms,replays,drafts,flow,run:1")
	other.until(t, "resync")
	_, err := d.pool.Exec(t.Context(), "UPDATE crawl_runs SET updated_at = now() WHERE id = $1", run)
	require.NoError(t, err)
	other.until(t, "run:1")

	tenant(t, d.pool, "acme")
	upload, campaign := uuid.New(), uuid.New()
	d.system(t, `INSERT INTO uploads (id, tenant, file_name, blob, bytes, sha256, state, known, options, created_by, created_at)
		VALUES ($1, 'acme', 'people.csv', 'x', 1, '', 'running', 'update', '{}', 'test', now())`, upload)
	d.system(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, created_by, created_at, updated_at)
		VALUES ($1, 'acme', 'x', $1, '{}', '{}', 'draft', 'test', now(), now())`, campaign)
	sends := d.watch(t, "?topics=upload:"+upload.String()+",campaign:"+campaign.String())
	sends.until(t, "resync")
	d.system(t, "UPDATE uploads SET chunks = 5 WHERE id = $1", upload)
	sends.until(t, "upload:"+upload.String())
	d.system(t, "UPDATE campaigns SET sent = 1 WHERE id = $1", campaign)
	sends.until(t, "campaign:"+campaign.String())

	for _, wrong := range []string{"", "?topics=", "?topics=feed,audit", "?topics=run:0", "?topics=feed%00", "?topics=upload:1", "?topics=campaign:",
		"?topics=" + strings.Repeat("run:1", 3)} {
		require.Equal(t, []string{"query.topics"}, refused(t, d.get(t, "/events"+wrong), 422).fields(), wrong)
	}
}

// A stream ends with the key of its caller, and with the API.
func TestEventsEnd(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	d := streaming(t, func(p *parts) {
		p.Stopping = stop
		p.Guard = api.NewGuard(api.GuardOptions{Keys: p.Keys.Store, Log: quiet})
		p.Events.Heartbeat = 5 * time.Millisecond
	})
	keys := map[string]string{}
	for _, name := range []string{"ana", "bo"} {
		id, key, err := access.NewKey(rand.Reader)
		require.NoError(t, err)
		keys[name] = key
		require.NoError(t, d.Keys.Store.Create(t.Context(), db.Key{
			ID: id, Name: name, Role: access.Read, CreatedAt: time.Now(), CreatedBy: "test",
		}, access.SumOf(key)))
	}
	refused(t, d.get(t, "/events?topics=feed"), 401)
	ana := d.watch(t, "?topics=feed", "Authorization", "Bearer "+keys["ana"])
	bo := d.watch(t, "?topics=feed", "Authorization", "Bearer "+keys["bo"])
	ana.until(t, "resync")
	bo.until(t, "resync")
	_, err := d.Keys.Store.Revoke(t.Context(), "ana", "test", time.Now())
	require.NoError(t, err)
	ana.ends(t, "its key is revoked")
	bo.until(t, "beat")
	bo.until(t, "beat") // the other goes on
	close(stop)
	bo.ends(t, "the API stops")
}
