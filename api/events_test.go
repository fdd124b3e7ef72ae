package api_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/listing"
)

// streaming serves the API with quick streams.
func streaming(t *testing.T, change ...func(*apitest.Parts)) *apitest.Door {
	t.Helper()
	return apitest.Open(t, append([]func(*apitest.Parts){func(p *apitest.Parts) {
		p.Events.Every, p.Events.Heartbeat, p.Events.Again = 5*time.Millisecond, time.Hour, 10*time.Millisecond
	}}, change...)...)
}

// A reader is told that the stream lives although nothing happens.
func TestEventsBeat(t *testing.T) {
	t.Parallel()
	d := streaming(t, func(p *apitest.Parts) { p.Events.Heartbeat = 5 * time.Millisecond })
	w := d.Watch(t, "?topics=letters")
	first, _ := w.Until(t, "resync")
	id, _ := w.Until(t, "beat")
	require.Empty(t, id)
	w.Until(t, "beat")
	_, name, _ := d.Watch(t, "?topics=letters", "Last-Event-ID", first).Next()
	require.Equal(t, "beat", name)
}

func TestEvents(t *testing.T) {
	t.Parallel()
	d := streaming(t, func(p *apitest.Parts) {
		p.Events.Report = func(context.Context) backlog.Report {
			return backlog.Report{DeadLetters: []backlog.DeadCount{{Open: 28}}, Concerns: make([]backlog.Concern, 4)}
		}
	})
	w := d.Watch(t, "?topics=letters,feed,report")
	before, data := "", ""
	for before == "" || data == "" { // in either order
		id, name, said := w.Next()
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
	d.Publish(t, listing.Listing{Ref: apitest.Kijiji("1"), Title: "4½", RentCents: 90_000}, "", apitest.Now)
	_, data = w.Until(t, "feed")
	require.Equal(t, "{}", data)
	d.Bury(t, "a", 1)
	last, _ := w.Until(t, "letters")

	again := d.Watch(t, "?topics=letters,feed", "Last-Event-ID", before) // while the first one looks on
	_, name, _ := again.Next()
	require.Equal(t, "feed", name)
	id, _ := again.Until(t, "letters")
	require.Equal(t, last, id)
	for _, unknown := range []string{"", "x", "elsewhere-1", last + "9"} {
		_, name, _ := d.Watch(t, "?topics=letters", "Last-Event-ID", unknown).Next()
		require.Equal(t, "resync", name, unknown)
	}
	run := d.Crawl(t)
	other := d.Watch(t, "?topics=platforms,replays,drafts,flow,run:1")
	other.Until(t, "resync")
	_, err := d.Pool.Exec(t.Context(), "UPDATE crawl_runs SET updated_at = now() WHERE id = $1", run)
	require.NoError(t, err)
	other.Until(t, "run:1")

	apitest.Tenant(t, d.Pool, "acme")
	upload, campaign := uuid.New(), uuid.New()
	d.System(t, `INSERT INTO uploads (id, tenant, file_name, blob, bytes, sha256, state, known, options, created_by, created_at)
		VALUES ($1, 'acme', 'people.csv', 'x', 1, '', 'running', 'update', '{}', 'test', now())`, upload)
	d.System(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, created_by, created_at, updated_at)
		VALUES ($1, 'acme', 'x', $1, '{}', '{}', 'draft', 'test', now(), now())`, campaign)
	sends := d.Watch(t, "?topics=upload:"+upload.String()+",campaign:"+campaign.String())
	sends.Until(t, "resync")
	d.System(t, "UPDATE uploads SET chunks = 5 WHERE id = $1", upload)
	sends.Until(t, "upload:"+upload.String())
	d.System(t, "UPDATE campaigns SET sent = 1 WHERE id = $1", campaign)
	sends.Until(t, "campaign:"+campaign.String())

	for _, wrong := range []string{"", "?topics=", "?topics=feed,audit", "?topics=run:0", "?topics=feed%00", "?topics=upload:1", "?topics=campaign:",
		"?topics=" + strings.Repeat("run:1", 3)} {
		require.Equal(t, []string{"query.topics"}, apitest.Refused(t, d.Get(t, "/events"+wrong), 422).Fields(), wrong)
	}
}

// HEAD of a stream leaves its connection to the next request.
func TestEventsHead(t *testing.T) {
	t.Parallel()
	streaming(t).HeadEnds(t, "/events?topics=letters")
}

// A stream ends with the key of its caller, and with the API.
func TestEventsEnd(t *testing.T) {
	t.Parallel()
	stop, clock := make(chan struct{}), &apitest.Clock{At: time.Now()}
	d := streaming(t, func(p *apitest.Parts) {
		p.Stopping = stop
		p.Guard = api.NewGuard(api.GuardOptions{Keys: p.Keys.Store, Log: apitest.Quiet, Now: clock.Now})
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
	apitest.Refused(t, d.Get(t, "/events?topics=feed"), 401)
	ana := d.Watch(t, "?topics=feed", "Authorization", "Bearer "+keys["ana"])
	bo := d.Watch(t, "?topics=feed", "Authorization", "Bearer "+keys["bo"])
	ana.Until(t, "resync")
	bo.Until(t, "resync")
	_, err := d.Keys.Store.Revoke(t.Context(), "ana", "test", time.Now())
	require.NoError(t, err)
	clock.Add(5 * time.Second) // so old is what is known of keys by now
	ana.Ends(t, "its key is revoked")
	bo.Until(t, "beat")
	bo.Until(t, "beat") // the other goes on
	close(stop)
	bo.Ends(t, "the API stops")
}
