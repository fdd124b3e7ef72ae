package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform"
)

// Common designs of today, as measures for Conveyor's cost: with the same normalizer, on the same services, with
// durable quorum queues and confirms.
const (
	bareRabbit   = "yardstick: bare RabbitMQ"
	textTemporal = "yardstick: textbook Temporal"
)

func yardsticks() []string { return []string{bareRabbit, textTemporal} }

// The queues of a yardstick, on the default exchange.
const (
	yardScraped    = "yardstick.scraped"
	yardNormalized = "yardstick.normalized"
	yardPublished  = "yardstick.published"
)

// startYardstick starts the yardstick's process, as a role of the system is.
func (h *system) startYardstick(ctx context.Context, name string) (*pipeline, error) {
	_, err := h.db.Exec(ctx, `
		CREATE TABLE IF NOT EXISTS yardstick_raw (id uuid PRIMARY KEY, payload jsonb NOT NULL);
		CREATE TABLE IF NOT EXISTS yardstick_listings
			(id uuid PRIMARY KEY, rent_cents bigint NOT NULL, details jsonb NOT NULL);
		TRUNCATE yardstick_raw, yardstick_listings`)
	if err != nil {
		return nil, fmt.Errorf("make its tables: %w", err)
	}
	ch, err := h.broker.Channel()
	if err != nil {
		return nil, err
	}
	defer ch.Close()
	for _, queue := range []string{yardScraped, yardNormalized, yardPublished} {
		args := amqp.Table{"x-queue-type": "quorum"}
		if _, err := ch.QueueDeclare(queue, true, false, false, false, args); err != nil {
			return nil, fmt.Errorf("declare %s: %w", queue, err)
		}
		if _, err := ch.QueuePurge(queue, false); err != nil {
			return nil, fmt.Errorf("empty %s: %w", queue, err)
		}
	}
	if err := h.onlyYardstick(name); err != nil {
		return nil, err
	}
	p := &pipeline{
		system: h, key: yardScraped, published: yardPublished, most: 2000,
		begin: func(context.Context) error { return nil },
		left:  func(_ context.Context, n, seen int) (int64, error) { return int64(n - seen), nil },
	}
	if name == textTemporal {
		p.workflow, p.most = textbookID, 500
	}
	return p, h.ready(ctx, yardScraped)
}

// onlyYardstick starts the process of a yardstick, and ends that of another one first.
func (h *system) onlyYardstick(name string) error {
	if last := h.roles[len(h.roles)-1]; slices.Contains(last.Args, "-yardstick") {
		if err := last.Process.Kill(); err != nil {
			return err
		}
		_ = last.Wait() // it was killed
		h.roles = h.roles[:len(h.roles)-1]
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return h.start(self, "-yardstick", name)
}

// runYardstick is the process of one yardstick. It ends with the context.
func runYardstick(ctx context.Context, name string) error {
	pool, err := db.Open(ctx, os.Getenv("DATABASE_URL"), 20)
	if err != nil {
		return err
	}
	defer pool.Close()
	conn, err := amqp.Dial(os.Getenv("RABBITMQ_URL"))
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	y := &yardstick{db: pool, broker: conn}
	switch name {
	case bareRabbit:
		return y.bare(ctx)
	case textTemporal:
		return y.textbook(ctx)
	}
	return fmt.Errorf("there is no yardstick %q; there are %q", name, yardsticks())
}

// A yardstick is the part that both of them share: the steps, written plainly.
type yardstick struct {
	db     *pgxpool.Pool
	broker *amqp.Connection
}

// bare is a normalizer and an importer, each a consumer of its queue with 16 goroutines.
func (y *yardstick) bare(ctx context.Context) error {
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		return y.consume(ctx, yardScraped, 16, func(ctx context.Context, ch *amqp.Channel, body []byte) error {
			l, err := y.normalize(ctx, body)
			if err != nil {
				return err
			}
			doc, err := json.Marshal(l)
			if err != nil {
				return err
			}
			return publish(ctx, ch, yardNormalized, doc)
		})
	})
	work.Go(func() error {
		return y.consume(ctx, yardNormalized, 16, func(ctx context.Context, ch *amqp.Channel, body []byte) error {
			var l listing.Listing
			if err := json.Unmarshal(body, &l); err != nil {
				return err
			}
			if err := y.save(ctx, l); err != nil {
				return err
			}
			return tell(ctx, ch, l)
		})
	})
	return work.Wait()
}

// consume hands each delivery of a queue to one of n goroutines, each with a channel for its publishing, and acks the
// handled ones.
func (y *yardstick) consume(ctx context.Context, queue string, n int,
	handle func(context.Context, *amqp.Channel, []byte) error) error {
	in, err := y.broker.Channel()
	if err != nil {
		return err
	}
	defer in.Close()
	if err := in.Qos(10*n, 0, false); err != nil {
		return err
	}
	deliveries, err := in.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	for range n {
		out, err := y.broker.Channel()
		if err != nil {
			return err
		}
		if err := out.Confirm(false); err != nil {
			return err
		}
		work.Go(func() error {
			defer out.Close()
			for d := range deliveries {
				if err := handle(ctx, out, d.Body); err != nil {
					return err
				}
				if err := d.Ack(false); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := work.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// normalize stores the message and interprets it.
func (y *yardstick) normalize(ctx context.Context, body []byte) (l listing.Listing, err error) {
	var raw listing.Raw
	if err := json.Unmarshal(body, &raw); err != nil {
		return l, err
	}
	if _, err := y.db.Exec(ctx, `INSERT INTO yardstick_raw (id, payload) VALUES ($1, $2)
		ON CONFLICT (id) DO UPDATE SET payload = excluded.payload`, raw.ID(), body); err != nil {
		return l, err
	}
	site, ok := platform.ByName(raw.Platform)
	if !ok {
		return l, fmt.Errorf("no platform %q", raw.Platform)
	}
	return site.Normalize(raw)
}

func (y *yardstick) save(ctx context.Context, l listing.Listing) error {
	_, err := y.db.Exec(ctx, `INSERT INTO yardstick_listings (id, rent_cents, details) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET rent_cents = excluded.rent_cents, details = excluded.details`, l.ID(), l.RentCents, l)
	return err
}

// tell publishes the event that the bench waits for.
func tell(ctx context.Context, ch *amqp.Channel, l listing.Listing) error {
	data, err := json.Marshal(contract.ListingData{
		ListingID: l.ID().String(), PlatformID: l.PlatformID, RentCents: l.RentCents,
	})
	if err != nil {
		return err
	}
	body, err := json.Marshal(contract.Event{
		EventID: uuid.NewString(), EventName: contract.ListingPublished, TS: time.Now().UTC(), Platform: l.Platform,
		Data: data,
	})
	if err != nil {
		return err
	}
	return publish(ctx, ch, yardPublished, body)
}

// publish waits for the confirm.
func publish(ctx context.Context, ch *amqp.Channel, queue string, body []byte) error {
	c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false,
		amqp.Publishing{DeliveryMode: amqp.Persistent, Body: slices.Clone(body)})
	if err != nil {
		return err
	}
	if ok, err := c.WaitContext(ctx); err != nil || !ok {
		return errors.Join(fmt.Errorf("%s: not confirmed", queue), err)
	}
	return nil
}
