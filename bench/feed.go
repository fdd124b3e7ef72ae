package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// feed publishes the adverts, as fast as the broker takes them or at rate a second, waits until each is brought to its
// end, and says what that cost.
func (h *house) feed(ctx context.Context, adverts []advert, rate float64) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := &arrivals{at: map[string]time.Time{}}
	if err := h.watch(ctx, seen); err != nil {
		return Result{}, err
	}
	scrapes, err := h.scrapes(ctx)
	if err != nil {
		return Result{}, err
	}
	tx, err := h.transactions(ctx)
	if err != nil {
		return Result{}, err
	}
	cpu := processes()
	began := time.Now()
	sent, err := h.publish(ctx, adverts, rate)
	if err != nil {
		return Result{}, err
	}
	for {
		n, err := h.scrapes(ctx)
		if err != nil {
			return Result{}, err
		}
		left, err := h.unfinished(ctx)
		if err != nil {
			return Result{}, err
		}
		if n-scrapes >= int64(len(adverts)) && left == 0 {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return Result{}, fmt.Errorf("%d of %d messages received, %d unfinished: %w",
				n-scrapes, len(adverts), left, ctx.Err())
		}
	}
	ended := time.Now()
	<-time.After(2 * time.Second) // what trails behind belongs to the cost
	n := float64(len(adverts))
	r := Result{
		Messages: len(adverts), Seconds: ended.Sub(began).Seconds(), PerSecond: n / ended.Sub(began).Seconds(),
		CPUByGroup: map[string]float64{}, Transactions: map[string]float64{}, LatencyMillis: map[string]float64{},
	}
	for group, used := range spent(cpu, processes()) {
		r.CPUByGroup[group] = used.Seconds() * 1000 / n
		r.CPUMillis += r.CPUByGroup[group]
	}
	after, err := h.transactions(ctx)
	if err != nil {
		return Result{}, err
	}
	for name, count := range after {
		r.Transactions[name] = float64(count-tx[name]) / n
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	var took []float64
	for key, at := range seen.at {
		if s, ok := sent[key]; ok {
			took = append(took, float64(at.Sub(s).Microseconds())/1000)
		}
	}
	slices.Sort(took)
	for name, p := range map[string]float64{"p50": .5, "p95": .95, "p99": .99} {
		if len(took) > 0 {
			r.LatencyMillis[name] = took[int(float64(len(took)-1)*p)]
		}
	}
	r.StateTransitions, err = h.transitions(ctx, adverts)
	return r, err
}

// publish returns when each version was sent.
func (h *house) publish(ctx context.Context, adverts []advert, rate float64) (map[string]time.Time, error) {
	ch, err := h.broker.Channel()
	if err != nil {
		return nil, err
	}
	defer ch.Close()
	if err := ch.Confirm(false); err != nil {
		return nil, err
	}
	sent := make(map[string]time.Time, len(adverts))
	began := time.Now()
	var pending []*amqp.DeferredConfirmation
	for i, a := range adverts {
		if rate > 0 {
			select {
			case <-time.After(time.Until(began.Add(time.Duration(float64(i) / rate * float64(time.Second))))):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		var m struct {
			PlatformID string `json:"platform_id"`
			Price      struct {
				AmountCents int64 `json:"amount_cents"`
			} `json:"price"`
		}
		if err := json.Unmarshal(a.body, &m); err != nil {
			return nil, err
		}
		key := fmt.Sprintf("%s/%d", m.PlatformID, m.Price.AmountCents)
		if _, ok := sent[key]; !ok {
			sent[key] = time.Now()
		}
		c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "scraped", "kijiji", true, false,
			amqp.Publishing{DeliveryMode: amqp.Persistent, Body: a.body})
		if err != nil {
			return nil, fmt.Errorf("publish: %w", err)
		}
		pending = append(pending, c)
		if len(pending) == 500 || i == len(adverts)-1 {
			for _, c := range pending {
				if ok, err := c.WaitContext(ctx); err != nil || !ok {
					return nil, fmt.Errorf("confirm: %t, %w", ok, err)
				}
			}
			pending = pending[:0]
		}
	}
	return sent, nil
}

func (h *house) scrapes(ctx context.Context) (n int64, err error) {
	err = h.db.QueryRow(ctx, "SELECT coalesce(sum(scrapes), 0)::bigint FROM raw_listings").Scan(&n)
	return n, err
}

// unfinished counts revisions under way and events not yet published.
func (h *house) unfinished(ctx context.Context) (n int64, err error) {
	err = h.db.QueryRow(ctx, `SELECT (SELECT count(*) FROM raw_listings WHERE settled_revision < revision)
		+ (SELECT count(*) FROM outbox WHERE published_at IS NULL)`).Scan(&n)
	return n, err
}

// transactions are those of every database since the server started.
func (h *house) transactions(ctx context.Context) (map[string]int64, error) {
	rows, err := h.db.Query(ctx, "SELECT datname, xact_commit FROM pg_stat_database WHERE datname IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			return nil, err
		}
		out[name] = n
	}
	return out, rows.Err()
}

// transitions is the mean of a sample of the newest runs.
func (h *house) transitions(ctx context.Context, adverts []advert) (float64, error) {
	const sample = 50
	var sum, n float64
	for i := 0; i < len(adverts); i += max(1, len(adverts)/sample) {
		id := fmt.Sprintf("listing/kijiji/%d", 9_000_000_000+adverts[i].id)
		d, err := h.temporal.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return 0, err
		}
		sum += float64(d.GetWorkflowExecutionInfo().GetStateTransitionCount())
		n++
	}
	return sum / n, nil
}
