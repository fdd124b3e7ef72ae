package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
)

// A page that wants a login is asked with headers and cookies of its request, which came by message or by command, and
// which nothing keeps: neither a history nor a table nor a log.
func (w *world) draftsWithALogin(bridge, worker *process) {
	t := w.t
	var mu sync.Mutex
	sent := map[string]string{}
	w.at(func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent[r.URL.Path] = r.Header.Get("Authorization") + " " + r.Header.Get("Cookie")
	})
	q := w.draftRequest("/shop/kettle")
	body := q.body(func(m map[string]any) {
		data, _ := m["data"].(map[string]any)
		data["headers"] = map[string]any{"Authorization": "Bearer s3cret"}
		data["cookies"] = []any{map[string]any{"name": "session", "value": "s3cret"}}
	})
	w.broker.Send("events", crawls, amqp.Publishing{MessageId: q.event.String(), Body: body})
	w.made(q)
	var made apidrafts.DraftAnswer
	out := w.run("draft", w.siteURL+"/shop/mug", "--header", "Authorization: Bearer s3cret", "--cookie", "session=s3cret")
	_, document, _ := strings.Cut(out, "{") // after the states
	require.NoError(t, json.Unmarshal([]byte("{"+document), &made), out)
	mu.Lock()
	for _, page := range []string{"/shop/kettle", "/shop/mug"} {
		require.Equal(t, "Bearer s3cret session=s3cret", sent[page], page)
	}
	mu.Unlock()

	for _, event := range []string{q.event.String(), made.EventID.String()} {
		id := "draft/" + event
		w.closed(draftRequest{event: made.EventID}, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
		history := w.history(id, "").String()
		require.Contains(t, history, "RunCrawler")
		require.NotContains(t, history, "s3cret")
		flow, err := w.temporal.DescribeWorkflowExecution(w.ctx(), id, "")
		require.NoError(t, err)
		require.NotContains(t, flow.String(), "s3cret")
	}
	require.Zero(t, one[int](w, "SELECT count(*) FROM draft_secrets"))
	for _, table := range []string{"outbox", "draft_requests", "product_drafts", "dead_letters", "audit"} {
		require.Zero(t, one[int](w, fmt.Sprintf(`SELECT count(*) FROM %s t WHERE to_jsonb(t)::text LIKE '%%s3cret%%'
			OR to_jsonb(t)::text LIKE '%%' || encode('s3cret', 'hex') || '%%'`, table)), table)
	}
	w.at(nil)
	for _, p := range []*process{bridge, worker} {
		require.NotContains(t, p.log.tail(16<<20), "s3cret")
	}
}
