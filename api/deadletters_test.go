package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/oidc"
	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
)

type letters struct {
	Items      []api.LetterItem
	NextCursor string `json:"next_cursor"`
}

func (l letters) ids() []int64 {
	out := []int64{}
	for _, i := range l.Items {
		out = append(out, i.ID)
	}
	return out
}

// A token of no tenant with the role read sees no dead letter of a tenant: their reasons may name persons.
func TestDeadLettersOfTenantsAreTheirs(t *testing.T) {
	t.Parallel()
	issuer := oidctest.New(t)
	d := apitest.Open(t, func(p *apitest.Parts) {
		now := func() time.Time { return apitest.Now }
		p.Guard = api.NewGuard(api.GuardOptions{
			Keys: p.Keys.Store, Log: apitest.Quiet, Now: now,
			Tokens: oidc.New(oidc.Options{Issuer: issuer.URL, Audience: "conveyor", Now: now}),
		})
	})
	as := func(role string) []string {
		return []string{"Authorization", "Bearer " + issuer.Token(t, issuer.Claims(apitest.Now, map[string]any{"roles": role}))}
	}
	apitest.Tenant(t, d.Pool, "acme")
	common := d.Bury(t, "a", 1)
	theirs := d.Bury(t, "b", 2, func(l *db.DeadLetter) {
		l.Queue, l.Tenant, l.Reason = "message_dispatch", "acme", "+15145550123 does not exist"
	})
	ids := func(role, path string) []int64 {
		return apitest.Read[letters](t, d.Get(t, path, as(role)...), 200).ids()
	}
	require.Equal(t, []int64{common}, ids("read", "/dead-letters"))
	require.Empty(t, ids("read", "/dead-letters?reason=15145550123"))
	require.Equal(t, []int64{theirs, common}, ids("operate", "/dead-letters"))
	require.Len(t, apitest.Read[api.LetterGroups](t, d.Get(t, "/dead-letters/groups", as("read")...), 200).Items, 1)
	require.Len(t, apitest.Read[api.LetterGroups](t, d.Get(t, "/dead-letters/groups", as("operate")...), 200).Items, 2)
	for _, path := range []string{"/dead-letters?tenant=acme", letterPath(theirs)} {
		require.Contains(t, apitest.Refused(t, d.Get(t, path, as("read")...), 403).Detail, "the token names no tenant")
		require.Equal(t, 200, d.Get(t, path, as("operate")...).Status)
	}
	require.Equal(t, 200, d.Get(t, letterPath(common), as("read")...).Status)
	find := func(role string) []api.Finding {
		return apitest.Read[api.Findings](t, d.Get(t, fmt.Sprintf("/find?q=%d", theirs), as(role)...), 200).Items
	}
	require.Empty(t, find("read"))
	require.Len(t, find("operate"), 1)
}

func letterPath(id int64) string { return fmt.Sprintf("/dead-letters/%d", id) }

func TestListDeadLetters(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	advert := d.Bury(t, "a", 1, func(l *db.DeadLetter) { l.WorkflowID, l.RunID = "listing/kijiji/a", "run 1" })
	image := d.Bury(t, "b", 2, func(l *db.DeadLetter) {
		l.Queue, l.Class, l.Reason, l.WorkflowID = "images.pending", "gone", "fetch: HTTP 404", "listing/kijiji/a"
	})
	other := d.Bury(t, "c", 3, func(l *db.DeadLetter) { l.Queue, l.Reason = "scraped.kangalou", "Not JSON at byte 1" })
	gone := d.Bury(t, "d", 4)
	require.NoError(t, d.Letters.Discard(t.Context(), gone, "Ginette", apitest.Now))
	sent := d.Bury(t, "e", 5)
	_, err := d.Letters.Replay(t.Context(), sent, false, "Ginette", apitest.Now)
	require.NoError(t, err)

	for _, tt := range []struct {
		name, query string
		want        []int64
	}{
		{"open, the last first", "", []int64{other, image, advert}},
		{"discarded", "state=discarded", []int64{gone}},
		{"replayed", "state=replayed", []int64{sent}},
		{"resolved", "state=resolved", []int64{}},
		{"any state", "state=any", []int64{sent, gone, other, image, advert}},
		{"of a queue", "queue=images.pending", []int64{image}},
		{"of a class", "class=gone", []int64{image}},
		{"of a platform, images included", "platform=kijiji", []int64{image, advert}},
		{"of another platform", "platform=kangalou", []int64{other}},
		{"words of the reason", "reason=not+json", []int64{other}},
		{"signs of a pattern are signs", "reason=" + url.QueryEscape("%"), []int64{}},
		{"of a workflow", "workflow_id=" + url.QueryEscape("listing/kijiji/a"), []int64{image, advert}},
		{"since, inclusive", "since=" + apitest.Now.Add(2*time.Minute).Format(time.RFC3339), []int64{other, image}},
		{"until, inclusive, in another zone", "until=" + url.QueryEscape("2026-10-01T08:02:00-04:00"), []int64{image, advert}},
		{"filters combine", "platform=kijiji&class=invalid", []int64{advert}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := d.Get(t, "/dead-letters?"+tt.query)
			require.Equal(t, tt.want, apitest.Read[letters](t, r, http.StatusOK).ids())
			for _, secret := range apitest.PersonalData {
				require.NotContains(t, r.Body, secret, "no bodies in lists")
			}
		})
	}
	t.Run("in pages", func(t *testing.T) {
		t.Parallel()
		var all []int64
		for cursor := ""; ; {
			p := apitest.Read[letters](t, d.Get(t, "/dead-letters?state=any&limit=2&cursor="+cursor), http.StatusOK)
			all = append(all, p.ids()...)
			if cursor = p.NextCursor; cursor == "" {
				break
			}
			require.Len(t, p.Items, 2)
		}
		require.Equal(t, []int64{sent, gone, other, image, advert}, all)
	})
	t.Run("the fields of each", func(t *testing.T) {
		t.Parallel()
		p := apitest.Read[letters](t, d.Get(t, "/dead-letters?workflow_id=listing/kijiji/a&queue=scraped.kijiji"), http.StatusOK)
		got := p.Items[0]
		require.Equal(t, api.WorkflowLink{
			ID: "listing/kijiji/a", URL: "http://temporal.test/namespaces/conveyor/workflows/listing%2Fkijiji%2Fa/run%201",
		}, *got.Workflow)
		require.Equal(t, []string{"open", "scraped", "kijiji", "m-a", "price: is missing"},
			[]string{got.State, got.Exchange, got.RoutingKey, got.MessageID, got.Reason})
		require.Equal(t, 1, got.Deaths)
	})
}

func TestListDeadLettersRefuses(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t) // none of these reaches a database
	encode := base64.RawURLEncoding.EncodeToString
	for _, tt := range []struct{ name, query, field string }{
		{"an unknown state", "state=dead", "state"},
		{"a platform that is no name", "platform=Kijiji", "platform"},
		{"a queue with NUL", "queue=a%00", "queue"},
		{"a reason that is not UTF-8", "reason=%ff", "reason"},
		{"a reason without end", "reason=" + strings.Repeat("a", 201), "reason"},
		{"a time that is none", "since=yesterday", "since"},
		{"times the wrong way round", "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "until"},
		{"no letters a page", "limit=0", "limit"},
		{"too many letters a page", "limit=101", "limit"},
		{"a cursor that is not base64", "cursor=%21", "cursor"},
		{"a cursor that is not JSON", "cursor=" + encode([]byte("{")), "cursor"},
		{"a cursor without a number", "cursor=" + encode([]byte(`{"t":"2026-01-01T00:00:00Z"}`)), "cursor"},
		{"a cursor of the audit", "cursor=" + encode([]byte(`{"s":"audit","t":"2026-01-01T00:00:00Z","i":1}`)), "cursor"},
		{"a filter of one value twice", "reason=a&reason=b", "reason"},
		{"a filter that there is not", "que=a", "que"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := apitest.Refused(t, d.Get(t, "/dead-letters?"+tt.query), http.StatusUnprocessableEntity)
			require.Equal(t, []string{"query." + tt.field}, p.Fields())
		})
	}
}

// letter is GET /dead-letters/{id} as a client reads it.
type letter struct {
	api.LetterDetail
	Body map[string]any `json:"body"`
}

func TestGetDeadLetter(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	long := "price: " + strings.Repeat("very ", 200) + "missing"
	id := d.Bury(t, "a", 1, func(l *db.DeadLetter) {
		l.Reason, l.Headers["x-contact-phone"] = long, apitest.PersonalData[1]
	})
	r := d.Get(t, letterPath(id))
	got := apitest.Read[letter](t, r, http.StatusOK)
	require.Equal(t, long, got.Reason, "all of it")
	require.Equal(t, map[string]string{"mine": "kept", "x-error": "price: is missing"}, got.Headers)
	require.Equal(t, map[string]any{"platform_id": "a", "size": 1.5}, got.Body)
	require.Contains(t, r.Body, "1.50", "numbers as they were printed")
	require.Contains(t, r.Body, `"audit":[]`)
	require.Nil(t, got.Replay)
	for _, secret := range apitest.PersonalData {
		require.NotContains(t, r.Body, secret)
	}
	require.Less(t, len(apitest.Read[letters](t, d.Get(t, "/dead-letters"), http.StatusOK).Items[0].Reason), 510)

	t.Run("a body that is not JSON", func(t *testing.T) {
		for _, body := range []string{"<html>", "\"\xff\"", "{} {}", ""} {
			id := d.Bury(t, "not json"+body, 1, func(l *db.DeadLetter) { l.Body = []byte(body) })
			got := apitest.Read[api.LetterDetail](t, d.Get(t, letterPath(id)), http.StatusOK)
			require.Empty(t, got.Body)
			require.Equal(t, body, string(got.BodyBase64))
		}
	})
	t.Run("unknown", func(t *testing.T) {
		p := apitest.Refused(t, d.Get(t, "/dead-letters/999999"), http.StatusNotFound)
		require.Equal(t, "there is no dead letter 999999", p.Detail)
	})
	for _, bad := range []string{"0", "-1", "x", "1.5", "99999999999999999999", "replay"} {
		t.Run("no number: "+bad, func(t *testing.T) {
			p := apitest.Refused(t, d.Get(t, "/dead-letters/"+bad), http.StatusUnprocessableEntity)
			require.Equal(t, []string{"path.id"}, p.Fields())
		})
	}
}

func TestReplayDeadLetter(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	id := d.Bury(t, "a", 1)
	replay := func(body string) apitest.Reply { return d.Ask(t, http.MethodPost, letterPath(id)+"/replay", body) }
	r := replay("")
	require.Equal(t, api.Replayed{ID: id, Queue: "scraped.kijiji", Replays: 1}, apitest.Read[api.Replayed](t, r, http.StatusAccepted))
	require.Equal(t, letterPath(id), r.Header.Get("Location"))
	require.Equal(t, 1, apitest.Value[int](t, d, "SELECT count(*) FROM outbox WHERE routing_key = 'scraped.kijiji' AND exchange = ''"))

	// Asked again, it is not sent again, whether the first is on its way or not.
	for _, body := range []string{"", `{"force":true}`} {
		require.Contains(t, apitest.Refused(t, replay(body), http.StatusConflict).Detail, "waits to be sent")
	}
	_, err := d.Pool.Exec(t.Context(), "UPDATE outbox SET published_at = $1", apitest.Now)
	require.NoError(t, err)
	require.Contains(t, apitest.Refused(t, replay(""), http.StatusConflict).Detail, "has not died since; force")
	require.Contains(t, apitest.Refused(t, replay(`{"force":false}`), http.StatusConflict).Detail, "2026-10-01T12:00:00Z")
	require.Equal(t, 1, apitest.Value[int](t, d, "SELECT count(*) FROM outbox"))
	require.Equal(t, 2, apitest.Read[api.Replayed](t, replay(`{"force":true}`), http.StatusAccepted).Replays)

	got := apitest.Read[letter](t, d.Get(t, letterPath(id)), http.StatusOK)
	require.Equal(t, "replayed", got.State)
	require.Equal(t, 2, got.Replays)
	require.NotNil(t, got.Replay)
	require.Nil(t, got.Replay.SentAt)
	require.Len(t, got.Audit, 2)
	require.Equal(t, "dead_letter.replayed", got.Audit[0].Action)
	require.Equal(t, "anonymous", got.Audit[0].Actor)
	require.JSONEq(t, `{"queue":"scraped.kijiji","class":"invalid","deaths":1,"replays":1}`, string(got.Audit[0].Detail))

	apitest.Refused(t, d.Ask(t, http.MethodPost, "/dead-letters/999/replay", ""), http.StatusNotFound)
	p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/dead-letters/x/replay", ""), http.StatusUnprocessableEntity)
	require.Equal(t, []string{"path.id"}, p.Fields())
	p = apitest.Refused(t, replay(`{"force":"yes"}`), http.StatusUnprocessableEntity)
	require.Equal(t, []string{"body.force"}, p.Fields())
	p = apitest.Refused(t, replay(`{"farce":true}`), http.StatusUnprocessableEntity)
	require.Equal(t, []string{"body.farce"}, p.Fields())
	apitest.Refused(t, replay(`{`), http.StatusBadRequest)

	nowhere := d.Bury(t, "b", 1, func(l *db.DeadLetter) { l.Queue = "" })
	p = apitest.Refused(t, d.Ask(t, http.MethodPost, letterPath(nowhere)+"/replay", ""), http.StatusConflict)
	require.Contains(t, p.Detail, "does not say which queue")
}

func TestReplayDeadLettersByFilter(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	var mine []int64
	for n := range 12 {
		mine = append(mine, d.Bury(t, fmt.Sprint("a", n), n))
	}
	d.Bury(t, "b", 1, func(l *db.DeadLetter) { l.Queue = "images.pending" })
	require.NoError(t, d.Letters.Discard(t.Context(), mine[11], "Ginette", apitest.Now))
	ask := func(body string) api.LettersReplayed {
		r := d.Ask(t, http.MethodPost, "/dead-letters/replay", body)
		for _, secret := range apitest.PersonalData {
			require.NotContains(t, r.Body, secret)
		}
		return apitest.Read[api.LettersReplayed](t, r, http.StatusOK)
	}
	dry := ask(`{"queue":"scraped.kijiji"}`)
	require.True(t, dry.DryRun)
	require.Equal(t, []int{11, 0, 11}, []int{dry.Matched, dry.Replayed, dry.Left})
	require.Len(t, dry.Sample, 10)
	require.Equal(t, mine[10], dry.Sample[0].ID)
	require.Zero(t, apitest.Value[int](t, d, "SELECT count(*) FROM outbox"))

	some := ask(`{"queue":"scraped.kijiji","limit":4,"dry_run":false}`)
	require.Equal(t, []int{11, 4, 7}, []int{some.Matched, some.Replayed, some.Left})
	require.Equal(t, mine[3], apitest.Value[int64](t, d, "SELECT max(id) FROM dead_letters WHERE state = 'replayed'"), "the oldest")
	require.Equal(t, 4, apitest.Value[int](t, d, "SELECT count(*) FROM audit WHERE action = 'dead_letter.replayed'"))
	rest := ask(`{"platform":"kijiji","class":"invalid","reason":"MISSING","since":"2026-10-01T00:00:00Z","dry_run":false}`)
	require.Equal(t, []int{7, 7, 0}, []int{rest.Matched, rest.Replayed, rest.Left})
	all := ask(`{"dry_run":false}`)
	require.Equal(t, []int{1, 1, 0}, []int{all.Matched, all.Replayed, all.Left})
	require.Equal(t, 12, apitest.Value[int](t, d, "SELECT count(*) FROM outbox"))
	lost := d.Bury(t, "c", 1, func(l *db.DeadLetter) { l.Queue, l.Tenant = "upload_jobs", "acme" })
	over := ask(`{"queue":"upload_jobs","dry_run":false}`)
	require.Equal(t, []int{1, 0, 1, 0}, []int{over.Matched, over.Replayed, over.Over, over.Left}, "nothing is left to ask for again")
	require.Equal(t, "dead_letter.resolved", apitest.Value[string](t, d, fmt.Sprintf("SELECT action FROM audit WHERE subject = 'dead-letter/%d'", lost)))
	require.Equal(t, 12, apitest.Value[int](t, d, "SELECT count(*) FROM outbox"))

	for body, field := range map[string]string{
		`{"limit":0}`: "body.limit", `{"limit":10001}`: "body.limit", `{"dry_run":"no"}`: "body.dry_run",
		`{"since":"2026-01-02T00:00:00Z","until":"2026-01-01T00:00:00Z"}`: "body.until", `{"queue":"\u0000"}`: "body.queue",
		`{"queue":" , ","dry_run":false}`: "body.queue", `{"queue":""}`: "body.queue", `{"class":","}`: "body.class",
		`{"tenant":""}`: "body.tenant", `{"reason":" "}`: "body.reason", `{"workflow_id":""}`: "body.workflow_id",
		`{"since":"x"}`: "body.since", `{"state":"any"}`: "body.state", `{"platform":"A"}`: "body.platform",
	} {
		p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/dead-letters/replay", body), http.StatusUnprocessableEntity)
		require.Contains(t, p.Fields(), field, body)
	}
	apitest.Refused(t, d.Ask(t, http.MethodPost, "/dead-letters/replay", ""), http.StatusBadRequest)
}

func TestDiscardDeadLetter(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	id := d.Bury(t, "a", 1)
	for range 2 { // twice is once
		r := d.Ask(t, http.MethodDelete, letterPath(id), "")
		require.Equal(t, http.StatusNoContent, r.Status, r.Body)
	}
	got := apitest.Read[letter](t, d.Get(t, letterPath(id)), http.StatusOK)
	require.Equal(t, "discarded", got.State)
	require.Len(t, got.Audit, 1)
	require.Equal(t, "dead_letter.discarded", got.Audit[0].Action)
	p := apitest.Refused(t, d.Ask(t, http.MethodPost, letterPath(id)+"/replay", ""), http.StatusConflict)
	require.Contains(t, p.Detail, "is discarded; force")

	require.Equal(t, id, d.Bury(t, "a", 2))
	require.Equal(t, "open", apitest.Read[letter](t, d.Get(t, letterPath(id)), http.StatusOK).State, "it died again")
	apitest.Refused(t, d.Ask(t, http.MethodDelete, "/dead-letters/999", ""), http.StatusNotFound)
	apitest.Refused(t, d.Ask(t, http.MethodDelete, "/dead-letters/0", ""), http.StatusUnprocessableEntity)
}
