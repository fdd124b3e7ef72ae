package drafts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/secret"
)

func TestRequestCrawl(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	first := d.RequestDraft(t, `{"url":" https://shop.example/p/1 ","out_dir":"a/b","locale":"fr-CA"}`)
	ids, m := d.Outboxed(t)
	require.Equal(t, []uuid.UUID{first.EventID}, ids)
	require.Equal(t, contract.CrawlRequest{URL: "https://shop.example/p/1", OutDir: "a/b", Locale: "fr-CA"}, m.Data)
	require.Equal(t, contract.CrawlRequestedName, m.EventName)

	other := d.RequestDraft(t, `{"url":"https://shop.example/p/1"}`)
	require.NotEqual(t, first.EventID, other.EventID, "nothing says that it is the same request")
	keyed := d.RequestDraft(t, `{"url":"https://shop.example/p/1"}`, "Idempotency-Key", "order 7")
	require.Equal(t, keyed, d.RequestDraft(t, `{"url":"https://shop.example/p/1"}`, "Idempotency-Key", "order 7"))
	named := `{"url":"https://shop.example/p/1","event_id":"3f0d6f5e-5c0e-4d3c-9c45-0d6b1f0a7a11"}`
	require.Equal(t, "3f0d6f5e-5c0e-4d3c-9c45-0d6b1f0a7a11", d.RequestDraft(t, named).EventID.String())
	d.RequestDraft(t, named, "Idempotency-Key", "order 7")
	ids, _ = d.Outboxed(t)
	require.Len(t, ids, 4, "the same request is published once")

	changed := d.Ask(t, http.MethodPost, "/crawl-requests", `{"url":"https://shop.example/p/2"}`, "Idempotency-Key", "order 7")
	require.Contains(t, apitest.Refused(t, changed, http.StatusConflict).Detail, "another url")
	changed = d.Ask(t, http.MethodPost, "/crawl-requests", `{"url":"https://shop.example/p/1","locale":"de"}`,
		"Idempotency-Key", "order 7")
	require.Contains(t, apitest.Refused(t, changed, http.StatusConflict).Detail, "or locale")
	list := apitest.Read[apidrafts.DraftRequestPage](t, d.Get(t, "/crawl-requests"), http.StatusOK).Items
	require.True(t, slices.ContainsFunc(list, func(r apidrafts.DraftRequestSummary) bool { return r.Locale == "fr-CA" }))
}

func TestRequestCrawlRefuses(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for body, field := range map[string]string{
		`{"url":""}`:                                "body.url",
		`{"url":"ftp://shop.example/"}`:             "body.url",
		`{"url":"/p/1"}`:                            "body.url",
		`{"url":"https://me:secret@shop.example/"}`: "body.url",
		`{"url":"https://s.example/` + strings.Repeat("x", 5000) + `"}`:       "body.url",
		`{"url":"https://s.example/","out_dir":"../x"}`:                       "body.out_dir",
		`{"url":"https://s.example/","out_dir":"/etc"}`:                       "body.out_dir",
		`{"url":"https://s.example/","out_dir":"a\\b"}`:                       "body.out_dir",
		`{"url":"https://s.example/","locale":"fr-CA, en"}`:                   "body.locale",
		`{"url":"https://s.example/","event_id":"7"}`:                         "body.event_id",
		`{"url":"https://s.example/","event_id":"` + uuid.Nil.String() + `"}`: "body.event_id",
	} {
		p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/crawl-requests", body), http.StatusUnprocessableEntity)
		require.Equal(t, []string{field}, slices.Compact(p.Fields()), body)
		require.NotContains(t, fmt.Sprint(p.Detail, p.Errors[0].Message), "secret")
	}
	ids, _ := d.Outboxed(t)
	require.Empty(t, ids)
}

// The state of a request follows its workflow.
func TestCrawlRequest(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	w := d.RequestDraft(t, `{"url":"https://shop.example/p/1"}`)
	path := "/crawl-requests/" + w.EventID.String()
	see := func() apidrafts.DraftRequestState {
		return apitest.Read[apidrafts.DraftRequestState](t, d.Get(t, path), http.StatusOK)
	}
	got := see()
	require.Equal(t, "queued", got.State)
	require.Equal(t, "https://shop.example/p/1", got.URL)
	require.Equal(t, apitest.Now, got.RequestedAt.UTC())
	require.Equal(t, "http://temporal.test/namespaces/conveyor/workflows/draft%2F"+w.EventID.String(), got.Workflow.URL)
	d.Started.Draft = "running"
	require.Equal(t, "running", see().State)
	d.Started.Err = errors.New("temporal is away")
	got = see()
	require.Equal(t, []string{"queued", "Temporal does not answer: it may be running, or have failed"},
		[]string{got.State, got.Warning}, "Postgres knows of it")
	d.Started.Err = nil
	d.Started.Draft = "failed"
	require.Equal(t, "dead", see().State)

	letter := db.DeadLetter{
		Key: "message/" + w.EventID.String(), Body: []byte("{}"),
		Route:  contract.Route{Exchange: "events", RoutingKey: apitest.Crawls, Queue: apitest.Crawls},
		Reason: "no Chromium", Class: "transient", WorkflowID: "draft/" + w.EventID.String(), At: apitest.Now,
	}
	require.NoError(t, d.Letters.Archive(t.Context(), letter))
	got = see()
	require.Equal(t, "dead", got.State)
	require.Equal(t, "no Chromium", got.Error)
	require.NotNil(t, got.DeadLetter)

	result := draft.Fail(draft.Request{EventID: w.EventID, URL: got.URL, OutDir: "out"}, fault.Gone, "HTTP 404", apitest.Now)
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), result, nil, apitest.Now))
	got = see()
	require.Equal(t, "failed", got.State)
	require.Equal(t, "HTTP 404", got.Error)
	require.Equal(t, w.DraftID, *got.DraftID)
	require.Nil(t, got.DeadLetter)

	d.Started.Draft = ""
	apitest.Refused(t, d.Get(t, "/crawl-requests/"+uuid.NewString()), http.StatusNotFound)
	apitest.Refused(t, d.Get(t, "/crawl-requests/x"), http.StatusUnprocessableEntity)
	d.Started.Err = errors.New("temporal is away")
	apitest.Refused(t, d.Get(t, "/crawl-requests/"+uuid.NewString()), http.StatusServiceUnavailable)
	require.Equal(t, "failed", see().State, "a stored draft needs no Temporal")
}

// A cancel holds without Temporal; what has its draft, or is not known, cannot be canceled.
func TestCancelCrawlRequest(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	w := d.RequestDraft(t, `{"url":"https://shop.example/p/1"}`)
	path := "/crawl-requests/" + w.EventID.String()
	cancel := func(path string) apitest.Reply { return d.Ask(t, http.MethodPost, path+"/cancel", "") }
	d.Started.Draft = "running"
	require.NoError(t, d.Letters.Archive(t.Context(), db.DeadLetter{
		Key: w.EventID.String(), Route: contract.Route{Queue: apitest.Crawls}, Body: []byte("{}"), Class: "transient",
		WorkflowID: draft.WorkflowID(w.EventID), Reason: "no Chromium", At: apitest.Now,
	}))
	got := apitest.Read[apidrafts.DraftRequestState](t, cancel(path), http.StatusOK)
	require.Equal(t, "canceled", got.State)
	require.Empty(t, got.Warning)
	require.Nil(t, got.DeadLetter, "nobody must decide about it any more")
	require.Equal(t, "anonymous", got.CanceledBy)
	require.Equal(t, apitest.Now, *got.CanceledAt)
	require.Equal(t, []uuid.UUID{w.EventID}, d.Started.Ended)
	list := apitest.Read[apidrafts.DraftRequestPage](t, d.Get(t, "/crawl-requests?state=canceled"), http.StatusOK)
	require.Len(t, list.Items, 1)

	d.Started.Err = errors.New("temporal is away")
	again := apitest.Read[apidrafts.DraftRequestState](t, cancel(path), http.StatusOK)
	require.Contains(t, again.Warning, "could not be reached")
	apitest.Refused(t, cancel("/crawl-requests/"+uuid.NewString()), http.StatusServiceUnavailable)
	d.Started.Err, d.Started.Draft = nil, ""
	apitest.Refused(t, cancel("/crawl-requests/"+uuid.NewString()), http.StatusNotFound)
	apitest.Refused(t, cancel("/crawl-requests/x"), http.StatusUnprocessableEntity)

	old := uuid.New() // of RabbitMQ: its letter is here, and Temporal has forgotten its workflow
	require.NoError(t, d.Letters.Archive(t.Context(), db.DeadLetter{
		Key: old.String(), Route: contract.Route{Queue: apitest.Crawls}, Body: []byte("{}"), Class: "transient",
		WorkflowID: draft.WorkflowID(old), Reason: "no Chromium", At: apitest.Now,
	}))
	got = apitest.Read[apidrafts.DraftRequestState](t, cancel("/crawl-requests/"+old.String()), http.StatusOK)
	require.Equal(t, "canceled", got.State)
	require.Nil(t, got.DeadLetter)

	made := d.RequestDraft(t, `{"url":"https://shop.example/p/2"}`)
	gone := draft.Fail(draft.Request{EventID: made.EventID, URL: "https://shop.example/p/2"}, fault.Gone, "HTTP 404", apitest.Now)
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), gone, nil, apitest.Now))
	require.Contains(t, apitest.Refused(t, cancel("/crawl-requests/"+made.EventID.String()), http.StatusConflict).Detail,
		"has its draft")
}

// The list holds what was requested with POST, each with the state that its draft or its dead letter gives it.
func TestCrawlRequests(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	ask := func(n int) uuid.UUID {
		id := uuid.New()
		r := draft.Request{EventID: id, URL: fmt.Sprintf("https://shop.example/p/%d", n)}
		require.NoError(t, d.Drafts.Store.RequestDraft(t.Context(), r, db.Sealed{}, "me", d.Drafts.Requests.Target,
			apitest.Now.Add(time.Duration(n)*time.Minute)))
		return id
	}
	die := func(id uuid.UUID, at time.Time) {
		require.NoError(t, db.NewDeadLetters(d.Pool, nil).Archive(t.Context(), db.DeadLetter{
			Key: id.String(), Route: contract.Route{Queue: apitest.Crawls}, Body: []byte("{}"), Class: "transient",
			WorkflowID: draft.WorkflowID(id), Reason: "no Chromium", At: at,
		}))
	}
	pending, dead, failed, good, replayed := ask(1), ask(2), ask(3), ask(4), ask(5)
	die(dead, apitest.Now)
	die(replayed, apitest.Now)
	_, err := d.Pool.Exec(t.Context(), `UPDATE dead_letters SET state = 'replayed' WHERE workflow_id = $1`,
		draft.WorkflowID(replayed))
	require.NoError(t, err)
	gone := draft.Fail(draft.Request{EventID: failed, URL: "https://shop.example/p/3"}, fault.Gone, "HTTP 404", apitest.Now)
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), gone, nil, apitest.Now))
	made := draft.Result{Request: draft.Request{EventID: good, URL: "https://shop.example/p/4"}, Outcome: draft.Succeeded,
		CrawledAt: apitest.Now}
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), made, &draft.Document{}, apitest.Now))

	list := func(query string) apidrafts.DraftRequestPage {
		return apitest.Read[apidrafts.DraftRequestPage](t, d.Get(t, "/crawl-requests"+query), http.StatusOK)
	}
	ids := func(p apidrafts.DraftRequestPage) (out []uuid.UUID) {
		for _, r := range p.Items {
			out = append(out, r.EventID)
		}
		return out
	}
	for query, want := range map[string][]uuid.UUID{
		"": {replayed, good, failed, dead, pending}, "?state=pending": {replayed, pending}, "?state=dead": {dead},
		"?state=failed": {failed}, "?state=succeeded": {good},
		"?since=" + apitest.Now.Add(4*time.Minute).UTC().Format(time.RFC3339): {replayed, good},
	} {
		require.Equal(t, want, ids(list(query)), query)
	}
	first := list("?limit=2")
	second := list("?limit=2&cursor=" + first.NextCursor)
	third := list("?limit=2&cursor=" + second.NextCursor)
	require.Equal(t, []uuid.UUID{replayed, good, failed, dead, pending},
		slices.Concat(ids(first), ids(second), ids(third)))
	require.Empty(t, third.NextCursor)
	require.Equal(t, draft.ID(good), *first.Items[1].DraftID)
	require.Equal(t, "HTTP 404", *second.Items[0].Error)
	require.Equal(t, "no Chromium", *second.Items[1].Error)
	require.NotNil(t, second.Items[1].DeadLetter)
	require.Nil(t, first.Items[0].DeadLetter, "it was replayed")
	for _, query := range []string{"?state=good", "?cursor=x", "?limit=0", "?colour=red"} {
		apitest.Refused(t, d.Get(t, "/crawl-requests"+query), http.StatusUnprocessableEntity)
	}
}

func TestDrafts(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	kettle := d.Persist(t, 1, "Kettle, 1.7 l", "25.00", "K-1")
	pot := d.Persist(t, 2, "Tea pot", "9.5", "K-2")
	gone := draft.Fail(draft.Request{EventID: uuid.New(), URL: "https://shop1.example/q", OutDir: "out"}, fault.Gone, "HTTP 404", apitest.Now)
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), gone, nil, apitest.Now.Add(3*time.Minute)))
	ids := func(query string) (list []uuid.UUID) {
		for _, item := range apitest.Read[apidrafts.DraftPage](t, d.Get(t, "/drafts"+query), http.StatusOK).Items {
			list = append(list, item.ID)
		}
		return list
	}
	all := []uuid.UUID{draft.ID(gone.EventID), pot, kettle}
	for query, want := range map[string][]uuid.UUID{
		"": all, "?outcome=failed": all[:1], "?outcome=succeeded": all[1:], "?host=SHOP1.example": {all[0], kettle},
		"?name=KETTLE": {kettle}, "?brand=acme": {pot, kettle}, "?sku=K-2": {pot}, "?gtin=4006381333931": {pot, kettle},
		"?min_price=9.5&max_price=10": {pot}, "?min_price=10&currency=EUR": {kettle}, "?currency=USD": nil,
		"?outcome=failed,succeeded": all, "?outcome=failed&outcome=succeeded": all, "?sku=K-1,K-2": {pot, kettle},
		"?host=shop1.example,Shop0.example": all, "?brand=nobody&brand=ACME": {pot, kettle}, "?brand=nobody": nil,
		"?currency=USD,EUR": {pot, kettle}, "?gtin=4006381333931,00000000": {pot, kettle}, "?mpn=x,y": nil,
		"?availability=OutOfStock,InStock": {pot, kettle}, "?sku=K%2C1": nil,
		"?availability=InStock": {pot, kettle}, "?url=https://shop0.example/p": {pot},
		"?since=" + apitest.Now.Add(2*time.Minute).UTC().Format(time.RFC3339): all[:2],
	} {
		require.Equal(t, want, ids(query), query)
	}
	_, err := d.Pool.Exec(t.Context(), "UPDATE product_drafts SET brand = 'Pot, Pan & Co' WHERE id = $1", pot)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{pot}, ids("?brand="+url.QueryEscape("POT, pan & Co")), "a comma of its own")
	require.Equal(t, []uuid.UUID{pot, kettle}, ids("?brand="+url.QueryEscape("POT, pan & Co")+"&brand=acme"))
	first := apitest.Read[apidrafts.DraftPage](t, d.Get(t, "/drafts?limit=2"), http.StatusOK)
	require.Len(t, first.Items, 2)
	require.Equal(t, all[2:], ids("?limit=2&cursor="+first.NextCursor))

	got := apitest.Read[apidrafts.DraftAnswer](t, d.Get(t, "/drafts/"+kettle.String()), http.StatusOK)
	require.Equal(t, "25.00", *got.Price)
	require.Equal(t, draft.JSONLD, got.Draft.Name.Source)
	require.Len(t, got.Redirects, 1)
	require.Empty(t, got.Locale)
	require.False(t, got.Secrets)
	_, err = d.Pool.Exec(t.Context(), `
		INSERT INTO draft_requests (event_id, url, out_dir, locale, sealed, requested_by, requested_at)
		VALUES ($1, $2, 'out', 'fr-CA', true, 'zoe', now())`, got.EventID, got.URL)
	require.NoError(t, err)
	got = apitest.Read[apidrafts.DraftAnswer](t, d.Get(t, "/drafts/"+kettle.String()), http.StatusOK)
	require.Equal(t, "fr-CA", got.Locale, "as it was asked for, so that it can be asked for again")
	require.True(t, got.Secrets)
	bad := apitest.Read[apidrafts.DraftAnswer](t, d.Get(t, "/drafts/"+all[0].String()), http.StatusOK)
	require.Nil(t, bad.Draft)
	require.Equal(t, "HTTP 404", bad.Error)
	byMessage := draft.Result{Request: draft.Request{EventID: uuid.New(), URL: "https://shop.example/p/9"}, Outcome: draft.Succeeded,
		CrawledAt: apitest.Now}
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), byMessage, &draft.Document{Locale: "fr-CA", Sealed: true}, apitest.Now))
	got = apitest.Read[apidrafts.DraftAnswer](t, d.Get(t, "/drafts/"+draft.ID(byMessage.EventID).String()), http.StatusOK)
	require.Equal(t, "fr-CA", got.Locale)
	require.True(t, got.Secrets)

	for _, query := range []string{"?min_price=x", "?currency=eur", "?gtin=1", "?cursor=x", "?colour=red", "?outcome=good", "?limit=0", "?name=%00"} {
		apitest.Refused(t, d.Get(t, "/drafts"+query), http.StatusUnprocessableEntity)
	}
	apitest.Refused(t, d.Get(t, "/drafts/"+uuid.NewString()), http.StatusNotFound)
	apitest.Refused(t, d.Get(t, "/drafts/x"), http.StatusUnprocessableEntity)
}

// A captured page is served as an inert file: none of its scripts run.
func TestDraftFiles(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	page := "<script>alert(1)</script><link\nrel=preconnect href=//shop.example><p>"
	key, sum, err := d.Pictures.PutFile(t.Context(), []byte(page), "html")
	require.NoError(t, err)
	id := d.Persist(t, 1, "Kettle", "1", "K",
		draft.File{Name: "page.html", Key: key, SHA256: sum, Bytes: int64(len(page))},
		draft.File{Name: "screenshot.png", Key: "files/aa/aa/" + strings.Repeat("a", 64) + ".png"})
	path := "/drafts/" + id.String() + "/files/"
	r := d.Get(t, path+"page.html")
	require.Equal(t, http.StatusOK, r.Status)
	require.Equal(t, strings.Replace(page, "<link", "<wbr ", 1), r.Body, "and no host is connected to")
	require.Equal(t, "off", r.Header.Get("X-DNS-Prefetch-Control"))
	require.Equal(t, "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "+
		"form-action 'none'; frame-ancestors 'self'", r.Header.Get("Content-Security-Policy"))
	require.Equal(t, "SAMEORIGIN", r.Header.Get("X-Frame-Options"))
	require.Equal(t, "DENY", d.Get(t, path+"draft.json").Header.Get("X-Frame-Options"))
	require.Equal(t, r.Body, d.Get(t, path+"page.html", "Range", "bytes=27-").Body)
	require.Equal(t, "text/html; charset=utf-8", r.Header.Get("Content-Type"))
	require.Equal(t, http.StatusNotModified, d.Get(t, path+"page.html", "If-None-Match", r.Header.Get("ETag")).Status)
	gone := apitest.Refused(t, d.Get(t, path+"screenshot.png"), http.StatusNotFound)
	require.Equal(t, "the file screenshot.png of draft "+id.String()+" is not stored any more", gone.Detail)
	apitest.Refused(t, d.Get(t, path+"draft.json"), http.StatusNotFound)
	apitest.Refused(t, d.Get(t, path+"other.html"), http.StatusUnprocessableEntity)
	apitest.Refused(t, d.Get(t, "/drafts/"+uuid.NewString()+"/files/page.html"), http.StatusNotFound)
}

// Headers and cookies of a request are stored sealed, and are in neither its message nor an answer.
func TestRequestCrawlWithSecrets(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	const body = `{"url":"https://shop.example/p","headers":{"X-A":"s3cret"},
		"cookies":[{"name":"a","value":"s3cret","path":"/p"}]}`
	for range 2 {
		d.RequestDraft(t, body, "Idempotency-Key", "7")
	}
	got := d.RequestDraft(t, body, "Idempotency-Key", "7")
	ids, m := d.Outboxed(t)
	require.Len(t, ids, 1)
	require.Equal(t, contract.CrawlRequest{URL: "https://shop.example/p", Sealed: true}, m.Data)
	sealed, err := d.Drafts.Store.SealedDraft(t.Context(), got.EventID)
	require.NoError(t, err)
	require.NotContains(t, string(sealed.Box), "s3cret")
	plain, err := d.Drafts.Secrets.Open(draft.SecretsPurpose(got.EventID), sealed.Key, sealed.Box)
	require.NoError(t, err)
	require.JSONEq(t, `{"url":"https://shop.example/p","headers":{"X-A":"s3cret"},
		"cookies":[{"name":"a","value":"s3cret","path":"/p"}]}`, string(plain))
	for _, path := range []string{"/crawl-requests", "/crawl-requests/" + got.EventID.String(), "/audit"} {
		require.NotContains(t, string(apitest.Read[json.RawMessage](t, d.Get(t, path), http.StatusOK)), "s3cret")
	}
	changed := d.Ask(t, http.MethodPost, "/crawl-requests", `{"url":"https://shop.example/p"}`, "Idempotency-Key", "7")
	require.Contains(t, apitest.Refused(t, changed, http.StatusConflict).Detail, "without headers and cookies")

	for body, field := range map[string]string{
		`"headers":{"Host":"s3cret"}`:                             "body.headers.Host",
		`"headers":{"Proxy-Authorization":"s3cret"}`:              "body.headers.Proxy-Authorization",
		`"headers":{"Cookie":"s3cret"}`:                           "body.headers.Cookie",
		`"headers":{"X-A":"s3cret\nX-B: c"}`:                      "body.headers.X-A",
		`"cookies":[{"name":"a","value":"s3cret; Path=/"}]`:       "body.cookies.0.value",
		`"cookies":[{"name":"a","value":"x","path":"s3cret"}]`:    "body.cookies.0.path",
		`"cookies":[{"name":"s3cret=","value":"x","path":"/"}]`:   "body.cookies.0.name",
		`"cookies":[{"name":"a","value":"x","domain":".s3cret"}]`: "body.cookies[0].domain",
	} {
		p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/crawl-requests", `{"url":"https://s.example/",`+body+`}`),
			http.StatusUnprocessableEntity)
		require.Equal(t, []string{field}, slices.Compact(p.Fields()), body)
		require.NotContains(t, fmt.Sprint(p), "s3cret")
	}
	for _, body := range []string{
		`{"headers":{"X-A":"s3cret"}}`, `{"cookies":[{"name":"a","value":"s3cret","path":"/"}],"x":1}`,
		`{"url":"https://s.example/","headers":{"X-A":"s3cret"`,
	} {
		require.NotContains(t, d.Ask(t, http.MethodPost, "/crawl-requests", body).Body, "s3cret", body)
	}

	none := apitest.Open(t, func(p *apitest.Parts) { p.Drafts.Secrets = new(secret.Box) })
	why := apitest.Refused(t, none.Ask(t, http.MethodPost, "/crawl-requests", body), http.StatusConflict).Detail
	require.Contains(t, why, "CONVEYOR_SECRET_KEYS")
	none.RequestDraft(t, `{"url":"https://shop.example/p"}`)
}
