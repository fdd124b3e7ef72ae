package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/contract"
)

// A pipeline takes adverts: Conveyor, or a yardstick.
type pipeline struct {
	system        *system
	exchange, key string // where adverts go in
	published     string // the queue that tells of each one that came out, as listings.published does
	workflow      string // ID of an advert's workflow, without the advert's own; "" has none
	most          int    // adverts in one feed, for a pipeline that is slow
	// left counts the work that is not done yet of n messages, of which seen came out.
	left func(ctx context.Context, n, seen int) (int64, error)
	// begin is called before a feed, for the counts that left compares with.
	begin func(ctx context.Context) error
}

// conveyor is the pipeline that is measured.
func (h *system) conveyor() *pipeline {
	var before, lost int64 // lost are those of a filled table that wait for the staleness check
	return &pipeline{
		system: h, exchange: contract.ExchangeScraped, key: "kijiji", published: contract.QueuePublished,
		workflow: "listing/kijiji/",
		begin: func(ctx context.Context) (err error) {
			if before, err = h.scrapes(ctx); err == nil {
				lost, err = h.unfinished(ctx)
			}
			return err
		},
		left: func(ctx context.Context, n, seen int) (int64, error) {
			// The cheap questions first: the last one reads the whole table, and would be part of the measured cost.
			if left, err := h.waiting(ctx); left > 0 || err != nil {
				return left, err
			}
			scrapes, err := h.scrapes(ctx)
			if err != nil {
				return 0, err
			}
			left, err := h.unfinished(ctx)
			return left - lost + int64(n) - (scrapes - before), err
		},
	}
}

// warmUp feeds a few adverts that are not measured.
func (p *pipeline) warmUp(ctx context.Context) error {
	_, err := p.system.feed(ctx, p, generateFrom(1_000_000, 200), 0)
	return err
}

// feed publishes the adverts, as fast as the broker takes them or at rate a second, waits until each is brought to its
// end, and returns the cost.
func (h *system) feed(ctx context.Context, p *pipeline, adverts []advert, rate float64) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen := &arrivals{at: map[string]time.Time{}}
	if err := h.watch(ctx, p.published, seen); err != nil {
		return Result{}, err
	}
	if err := p.begin(ctx); err != nil {
		return Result{}, err
	}
	tx, err := h.transactions(ctx)
	if err != nil {
		return Result{}, err
	}
	wal, err := h.wal(ctx)
	if err != nil {
		return Result{}, err
	}
	cpu, conns := processes(), connections()
	began := time.Now()
	sent, err := h.publish(ctx, p, adverts, rate)
	if err != nil {
		return Result{}, err
	}
	for {
		left := int64(len(adverts) - seen.count())
		if adverts[0].again || left == 0 { // those that did not change have no event
			if left, err = p.left(ctx, len(adverts), seen.count()); err != nil {
				return Result{}, err
			}
		}
		if left <= 0 {
			break
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return Result{}, fmt.Errorf("%d of %d messages are not done: %w", left, len(adverts), err)
		}
	}
	ended := time.Now()
	<-time.After(2 * time.Second) // work that trails behind belongs to the cost
	n := float64(len(adverts))
	r := Result{
		Messages: len(adverts), Seconds: ended.Sub(began).Seconds(), PerSecond: n / ended.Sub(began).Seconds(),
		CPUByGroup: cost(cpu, n/1000), CPUByDatabase: databases(conns, n/1000), Transactions: map[string]float64{},
	}
	for _, used := range r.CPUByGroup {
		r.CPUMillis += used
	}
	after, err := h.transactions(ctx)
	if err != nil {
		return Result{}, err
	}
	for name, count := range after {
		r.Transactions[name] = float64(count-tx[name]) / n
	}
	written, err := h.wal(ctx)
	if err != nil {
		return Result{}, err
	}
	r.WALBytes = float64(written-wal) / n
	r.LatencyMillis = seen.since(sent)
	if p.workflow != "" {
		r.StateTransitions, err = h.transitions(ctx, p.workflow, adverts)
	}
	return r, err
}

// publish returns when each version was sent.
func (h *system) publish(ctx context.Context, p *pipeline, adverts []advert, rate float64) (
	map[string]time.Time, error,
) {
	ch, err := h.channel()
	if err != nil {
		return nil, err
	}
	defer ch.Close()
	sent := make(map[string]time.Time, len(adverts))
	began := time.Now()
	var pending []*amqp.DeferredConfirmation
	for i, a := range adverts {
		if rate > 0 {
			at := began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
			if err := pause(ctx, time.Until(at)); err != nil {
				return nil, err
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
		c, err := ch.PublishWithDeferredConfirmWithContext(ctx, p.exchange, p.key, true, false,
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

func (h *system) scrapes(ctx context.Context) (n int64, err error) {
	err = h.db.QueryRow(ctx, "SELECT coalesce(sum(scrapes), 0)::bigint FROM raw_listings").Scan(&n)
	return n, err
}

// unfinished counts revisions under way and events not yet published.
func (h *system) unfinished(ctx context.Context) (n int64, err error) {
	err = h.db.QueryRow(ctx, `SELECT (SELECT count(*) FROM raw_listings WHERE settled_revision < revision)
		+ (SELECT count(*) FROM outbox WHERE published_at IS NULL)`).Scan(&n)
	return n, err
}

// waiting counts messages that were not consumed, and events that are not published.
func (h *system) waiting(ctx context.Context) (n int64, err error) {
	ch, err := h.broker.Channel()
	if err != nil {
		return 0, err
	}
	defer ch.Close()
	q, err := ch.QueueDeclarePassive(contract.QueueScraped("kijiji"), true, false, false, false, nil)
	if err != nil {
		return 0, err
	}
	err = h.db.QueryRow(ctx, "SELECT count(*) FROM outbox WHERE published_at IS NULL").Scan(&n)
	return n + int64(q.Messages), err
}

// transactions are those of every database since the server started.
func (h *system) transactions(ctx context.Context) (map[string]int64, error) {
	rows, _ := h.db.Query(ctx, "SELECT datname, xact_commit FROM pg_stat_database WHERE datname IS NOT NULL")
	out := map[string]int64{}
	var name string
	var n int64
	_, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		out[name] = n
		return nil
	})
	return out, err
}

// wal is how many bytes Postgres has written to its log.
func (h *system) wal(ctx context.Context) (n int64, err error) {
	err = h.db.QueryRow(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&n)
	return n, err
}

// transitions is the mean of a sample of the newest runs.
func (h *system) transitions(ctx context.Context, workflow string, adverts []advert) (float64, error) {
	const sample = 50
	var sum, n float64
	for i := 0; i < len(adverts); i += max(1, len(adverts)/sample) {
		id := fmt.Sprintf("%s%d", workflow, 9_000_000_000+adverts[i].id)
		d, err := h.temporal.DescribeWorkflowExecution(ctx, id, "")
		if err != nil {
			return 0, err
		}
		sum += float64(d.GetWorkflowExecutionInfo().GetStateTransitionCount())
		n++
	}
	return sum / n, nil
}
