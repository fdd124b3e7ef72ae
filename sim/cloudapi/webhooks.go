package cloudapi

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/internal/whatsapp"
)

// outbox has the webhooks that wait, soonest first. Its lock is that of the API.
type outbox struct {
	items []*item
	busy  int           // items that are being posted
	wake  chan struct{} // tells Run that there is more
	empty chan struct{} // closed when nothing waits any more; nil = no caller wants to know
}

// item is a status or an inbound message that is to be posted.
type item struct {
	due    time.Time
	tries  int
	sender string
	kind   string // statuses or messages
	body   map[string]any
	from   string // of a message
	name   string
}

func (o *outbox) Len() int           { return len(o.items) }
func (o *outbox) Less(i, j int) bool { return o.items[i].due.Before(o.items[j].due) }
func (o *outbox) Swap(i, j int)      { o.items[i], o.items[j] = o.items[j], o.items[i] }

// Push implements heap.Interface.
func (o *outbox) Push(x any) { o.items = append(o.items, x.(*item)) } //nolint:forcetypeassert // only items are pushed

// Pop implements heap.Interface.
func (o *outbox) Pop() any {
	last := o.items[len(o.items)-1]
	o.items = o.items[:len(o.items)-1]
	return last
}

func (o *outbox) waiting() int { return len(o.items) + o.busy }

// changed tells Run to look again, and Settled when nothing waits.
func (o *outbox) changed() {
	if o.empty != nil && o.waiting() == 0 {
		close(o.empty)
		o.empty = nil
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// schedule puts the webhooks of a message into the outbox. The caller holds the lock.
func (a *API) schedule(m Accepted, r Rule) {
	type step struct {
		status string
		after  time.Duration
	}
	s := a.o.Statuses
	steps := []step{{"sent", s.Sent}, {"delivered", s.Delivered}, {"read", s.Read}}
	if r.Fail != 0 {
		steps = []step{{"sent", s.Sent}, {"failed", max(s.Delivered, s.Sent)}}
	}
	if r.Webhooks == Reversed {
		for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
			steps[i].after, steps[j].after = steps[j].after, steps[i].after
		}
	}
	for _, st := range steps {
		switch {
		case st.after <= 0 || a.o.Webhook == "":
			continue
		case r.Webhooks == Lost:
			a.counts.Unposted++
			continue
		}
		due := m.At.Add(st.after + r.Late)
		body := map[string]any{
			"id": m.WAMID, "status": st.status, "timestamp": strconv.FormatInt(m.At.Add(st.after).Unix(), 10),
		}
		if strings.Contains(m.To, ".") {
			body["recipient_user_id"] = m.To
		} else {
			body["recipient_id"], body["recipient_user_id"] = waID(m.To), UserID(m.To)
		}
		if m.Callback != "" {
			body["biz_opaque_callback_data"] = m.Callback
		}
		if st.status == "failed" {
			title := cmp.Or(errorsOf[r.Fail].title, "An error")
			body["errors"] = []any{map[string]any{
				"code": r.Fail, "title": title, "message": title, "error_data": map[string]string{"details": title},
				"href": "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/",
			}}
		} else {
			body["pricing"] = map[string]any{
				"billable": true, "pricing_model": "PMP", "category": "marketing", "type": "regular",
			}
		}
		for range 1 + bit(r.Webhooks == Twice) {
			heap.Push(&a.post, &item{due: due, sender: m.Sender, kind: "statuses", body: body})
		}
	}
	a.post.changed()
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// UserID is what the businesses of this API know the person of a number by.
func UserID(to string) string { return "US." + waID(strings.TrimPrefix(to, "+")) }

// Inbound has a person write to a sender: a webhook says so. from is digits only, or a UserID: then the number is not
// told.
func (a *API) Inbound(sender, from, text string) {
	now, by := a.o.Now(), "from"
	if strings.Contains(from, ".") {
		by = "from_user_id"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	heap.Push(&a.post, &item{due: now, sender: sender, kind: "messages", from: from, name: "Demo", body: map[string]any{
		by: from, "id": "wamid." + base64.StdEncoding.EncodeToString([]byte(from+rand.Text()[:12])),
		"timestamp": strconv.FormatInt(now.Unix(), 10), "type": "text", "text": map[string]string{"body": text},
	}})
	a.post.changed()
}

// Run posts webhooks until ctx ends, and then waits for those under way. Webhooks that wait stay, for another Run.
func (a *API) Run(ctx context.Context) error {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: a.o.Posts}}
	defer client.CloseIdleConnections()
	var posts errgroup.Group
	posts.SetLimit(a.o.Posts)
	defer func() { _ = posts.Wait() }() // posts have no error: what fails is due again
	for ctx.Err() == nil {
		batch, next := a.batch()
		if len(batch) > 0 {
			posts.Go(func() error {
				a.settle(batch, a.deliver(context.WithoutCancel(ctx), client, batch))
				return nil
			})
			continue
		}
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-t.C:
		case <-a.post.wake:
		}
		t.Stop()
	}
	return nil
}

// Settled blocks until no webhook waits, or until ctx ends, and returns its error. Run has to run.
func (a *API) Settled(ctx context.Context) error {
	a.mu.Lock()
	if a.post.waiting() == 0 {
		a.mu.Unlock()
		return nil
	}
	if a.post.empty == nil {
		a.post.empty = make(chan struct{})
	}
	empty := a.post.empty
	a.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batch takes what is due, or says in how long something is.
func (a *API) batch() (batch []*item, next time.Duration) {
	now := a.o.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.post.items) > 0 && len(batch) < a.o.Batch {
		if wait := a.post.items[0].due.Sub(now); wait > 0 {
			next = wait
			break
		}
		batch = append(batch, heap.Pop(&a.post).(*item)) //nolint:forcetypeassert // only items are pushed
	}
	a.post.busy += len(batch)
	if len(a.post.items) == 0 {
		next = time.Hour
	}
	return batch, next
}

// settle notes the end of a request.
func (a *API) settle(batch []*item, err error) {
	now := a.o.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.post.busy -= len(batch)
	for _, it := range batch {
		switch it.tries++; {
		case err == nil:
			a.counts.Posted++
		case it.tries >= a.o.Tries:
			a.counts.Unposted++
		default:
			it.due = now.Add(a.o.Retry << min(it.tries-1, 10))
			heap.Push(&a.post, it)
		}
	}
	a.post.changed()
}

// deliver posts a batch: an entry with a change for each sender and kind, in the order of the batch.
func (a *API) deliver(ctx context.Context, client *http.Client, batch []*item) error {
	type key struct{ sender, kind string }
	var order []key
	values := map[key]map[string]any{}
	for _, it := range batch {
		k := key{it.sender, it.kind}
		v := values[k]
		if v == nil {
			v = map[string]any{
				"messaging_product": "whatsapp",
				"metadata":          map[string]string{"display_phone_number": "15550783881", "phone_number_id": it.sender},
			}
			values[k], order = v, append(order, k)
		}
		list, _ := v[it.kind].([]any)
		v[it.kind] = append(list, it.body)
		if it.kind == "messages" {
			contacts, _ := v["contacts"].([]any)
			by := "wa_id"
			if strings.Contains(it.from, ".") {
				by = "user_id"
			}
			v["contacts"] = append(contacts, map[string]any{"profile": map[string]string{"name": it.name}, by: it.from})
		}
	}
	var changes []any
	for _, k := range order {
		changes = append(changes, map[string]any{"field": "messages", "value": values[k]})
	}
	body, err := json.Marshal(map[string]any{
		"object": "whatsapp_business_account", "entry": []any{map[string]any{"id": a.o.Account, "changes": changes}},
	})
	if err != nil {
		return fmt.Errorf("encode webhook: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.o.Webhook, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make webhook request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "facebookexternalua")
	req.Header.Set(whatsapp.SignatureHeader, whatsapp.Sign(body, a.o.Secret))
	return answered(client, req, nil)
}

// answered sends a request and wants 200; read takes the body.
func answered(client *http.Client, req *http.Request, read func([]byte) error) error {
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("call webhook: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	switch {
	case err != nil:
		return fmt.Errorf("read answer of webhook: %w", err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("call webhook: status %d", resp.StatusCode)
	case read != nil:
		return read(body)
	}
	return nil
}

// Verify asks the webhook for its verification, as Meta does when its address is set.
func (a *API) Verify(ctx context.Context, token string) error {
	challenge := rand.Text()
	query := url.Values{"hub.mode": {"subscribe"}, "hub.verify_token": {token}, "hub.challenge": {challenge}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.o.Webhook+"?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("make webhook request: %w", err)
	}
	client := &http.Client{Timeout: 10 * time.Second}
	return answered(client, req, func(body []byte) error {
		if string(body) != challenge {
			return fmt.Errorf("verify webhook: it did not answer with the challenge")
		}
		return nil
	})
}
