package apitest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
)

// Crawls is the queue of crawl requests, and its key.
const Crawls = "crawler.url.requested.v1"

// Outboxed are the messages that the outbox holds.
func (d *Door) Outboxed(t *testing.T) (ids []uuid.UUID, last contract.CrawlRequested) {
	t.Helper()

	rows, err := d.Pool.Query(t.Context(), `SELECT message_id, exchange || '/' || routing_key, body FROM outbox ORDER BY id`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id uuid.UUID
		var to string
		var body []byte
		require.NoError(t, rows.Scan(&id, &to, &body))
		require.Equal(t, "events/"+Crawls, to)
		last, err = contract.Decode[contract.CrawlRequested](body, contract.MaxBody)
		require.NoError(t, err)
		require.Equal(t, id.String(), last.EventID)
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids, last
}

// RequestDraft asks for a draft with POST /crawl-requests, and requires that it is accepted.
func (d *Door) RequestDraft(t *testing.T, body string, headers ...string) apidrafts.DraftRequestAccepted {
	t.Helper()

	r := d.Ask(t, http.MethodPost, "/crawl-requests", body, headers...)
	got := Read[apidrafts.DraftRequestAccepted](t, r, http.StatusAccepted)
	require.Equal(t, "/crawl-requests/"+got.EventID.String(), r.Header.Get("Location"))
	require.Equal(t, draft.ID(got.EventID), got.DraftID)
	return got
}

// Persist stores a draft n minutes after now.
func (d *Door) Persist(t *testing.T, n int, name, price, sku string, files ...draft.File) uuid.UUID {
	t.Helper()

	found := func(s string) *draft.Found[string] {
		return &draft.Found[string]{Value: s, Source: draft.JSONLD, Confidence: 0.9}
	}
	at := Now.Add(time.Duration(n) * time.Minute)
	r := draft.Result{
		Request: draft.Request{EventID: uuid.New(), URL: fmt.Sprintf("https://shop%d.example/p", n%2), OutDir: "out"},
		Outcome: draft.Succeeded, Status: 200, Files: files, CrawledAt: at, TookMS: 1500,
	}
	document := draft.Document{URL: r.URL, FinalURL: r.URL + "?final", Redirects: []string{r.URL}, Draft: draft.Draft{
		Name: found(name), Price: found(price), Currency: found("EUR"), Brand: found("Acme"), SKU: found(sku),
		GTIN:         found("4006381333931"),
		Availability: &draft.Found[draft.Availability]{Value: draft.InStock, Source: draft.Page, Confidence: 0.8},
	}}
	require.NoError(t, d.Drafts.Store.PersistDraft(t.Context(), r, &document, at))
	return draft.ID(r.EventID)
}
