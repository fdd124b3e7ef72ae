package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/contract"
)

// seenQueue gets a copy of every event.
const seenQueue = "faults.seen"

// A sight is one event as a consumer sees it.
type sight struct {
	name    string
	listing string // its ID
	advert  string // platform ID, where the event says it
	times   int    // that it was delivered
}

// A watch reads every event that is published, each at least once, and is there again whenever the broker is.
type watch struct {
	url string

	mu     sync.Mutex
	seen   map[string]*sight    // by event ID
	listed map[string]time.Time // when listings.published of an advert first came
}

func newWatch(url string) *watch {
	return &watch{url: url, seen: map[string]*sight{}, listed: map[string]time.Time{}}
}

// bind declares the queue, and the exchange as a bridge does: a scraper publishes before all roles are healthy.
func (w *watch) bind() error {
	ch, hangUp, err := dial(w.url)
	if err != nil {
		return err
	}
	defer hangUp()
	return errors.Join(ch.ExchangeDeclare("listings.events", "topic", true, false, false, false, nil), listen(ch))
}

// listen binds the queue to the exchange, which a bridge has declared, or has declared again.
func listen(ch *amqp.Channel) error {
	if err := ch.ExchangeDeclarePassive("listings.events", "topic", true, false, false, false, nil); err != nil {
		return err
	}
	_, err := ch.QueueDeclare(seenQueue, true, false, false, false, map[string]any{"x-queue-type": "quorum"})
	return errors.Join(err, ch.QueueBind(seenQueue, "#", "listings.events", false, nil))
}

// bound says whether the queue gets the events, after binding it where it was not.
func (w *watch) bound() bool {
	ch, hangUp, err := dial(w.url)
	if err != nil {
		return false
	}
	defer hangUp()
	return listen(ch) == nil
}

func (w *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = w.session(ctx) // any error is tried again
		pause(ctx, 200*time.Millisecond)
	}
}

func (w *watch) session(ctx context.Context) error {
	ch, hangUp, err := dial(w.url)
	if err != nil {
		return err
	}
	defer hangUp()
	if err := errors.Join(listen(ch), ch.Qos(100, 0, false)); err != nil {
		return err
	}
	deliveries, err := ch.Consume(seenQueue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	for {
		select {
		case d, ok := <-deliveries:
			if !ok {
				return errors.New("the broker ended it")
			}
			if err := w.note(d.MessageId, d.Body); err != nil {
				return err
			}
			if err := d.Ack(false); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watch) note(id string, body []byte) error {
	var e contract.Event
	if err := json.Unmarshal(body, &e); err != nil || e.EventID != id {
		return fmt.Errorf("event %q cannot be read: %w", id, err)
	}
	var data contract.ListingData
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.seen[id]
	if s == nil {
		s = &sight{name: e.EventName, listing: data.ListingID, advert: data.PlatformID}
		w.seen[id] = s
	}
	s.times++
	if _, known := w.listed[data.PlatformID]; !known && e.EventName == contract.ListingPublished {
		w.listed[data.PlatformID] = time.Now()
	}
	return nil
}

// saw says whether an advert has become a listing that others know of.
func (w *watch) saw(advert string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.listed[advert].IsZero()
}

// when is the time of that.
func (w *watch) when(advert string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.listed[advert]
}

func (w *watch) snapshot() map[string]sight {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[string]sight, len(w.seen))
	for id, s := range w.seen {
		out[id] = *s
	}
	return out
}
