package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// rebuildBroker kills the broker, deletes its data and starts it again, as on a new disk.
func rebuildBroker(w *world) (string, error) {
	if !w.broker.TryLock() {
		return "", errBusy
	}
	defer w.broker.Unlock()
	ctx, cancel := context.WithTimeout(w.ctx, 2*servicetest.Patience())
	defer cancel()
	from := time.Now()
	if err := w.save("listings.published"); err != nil {
		return "", err
	}
	back, away := make(chan error, 1), 3*time.Second
	go func() { back <- w.stack.Restart(ctx, devstack.RabbitMQ, true, away) }()
	err := eventually(ctx, servicetest.Patience(), func() bool { return w.stack.Pid(devstack.RabbitMQ) == 0 })
	if err == nil {
		err = empty(filepath.Join(w.dir, "data", "rabbitmq", "mnesia"))
	}
	if err := errors.Join(err, <-back); err != nil {
		return "", err
	}
	said, err := w.recovered("listings.published", fresh)
	w.forgive(from)
	if err != nil {
		return said, err
	}
	again, err := w.publishAgain(time.Now())
	return fmt.Sprintf("%s, %d messages published again", said, again), err
}

// empty deletes what is in a folder.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) == 0 {
		err = fmt.Errorf("nothing is in %s", dir)
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// deleteFromBroker deletes an exchange or a queue while it is used by messages of a kind.
func (w *world) deleteFromBroker(what, name, kind string) (string, error) {
	if !w.broker.TryLock() {
		return "", errBusy
	}
	defer w.broker.Unlock()
	from := time.Now()
	if name == "listings.published" {
		if err := w.save(name); err != nil {
			return "", err
		}
	}
	path := "/api/" + what + "/%2F/" + url.PathEscape(name)
	code, err := w.management(http.MethodDelete, path, nil)
	if err != nil {
		return "", err
	}
	if code != http.StatusNoContent {
		return "", fmt.Errorf("DELETE %s: %d", path, code)
	}
	said, err := w.recovered(name, kind)
	if err != nil {
		return said, fmt.Errorf("%s is not declared again: %w", name, err)
	}
	switch name {
	case "listings.events", "listings.published":
		w.forgive(from)
	case "scraped.kijiji", "scraped.kijiji.dlq":
		var again int
		again, err = w.publishAgain(time.Now())
		said += fmt.Sprintf(", %d messages published again", again)
	}
	return said, err
}

// forgive notes that events may have reached no queue that lasted since then. The watch may have been behind before, and
// a relay marks what it has published within its timeout.
func (w *world) forgive(from time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losses.times = append(w.losses.times, lossy{from.Add(-10 * time.Second), time.Now().Add(6 * time.Second)})
}

// recovered returns when an exchange or a queue is there again and used as before. Its users find out that it is missing.
func (w *world) recovered(name, kind string) (string, error) {
	began := time.Now()
	ready := func() bool {
		w.flow.kinds(kind)
		pause(w.ctx, 250*time.Millisecond)
		return w.bound(name) && w.watch.bound()
	}
	err := eventually(w.ctx, servicetest.Patience(), ready)
	return fmt.Sprintf(": declared again after %s", time.Since(began).Round(100*time.Millisecond)), err
}

// bound says whether the broker has an exchange, or a queue, bound to what it must be bound to.
func (w *world) bound(name string) bool {
	for exchange, queue := range map[string]string{
		"scraped": "scraped.kijiji", "scraped.dlx": "scraped.kijiji.dlq", "listings.events": "listings.published",
	} {
		if name != exchange && name != queue {
			continue
		}
		var all []struct{ Source, Destination string }
		code, err := w.management(http.MethodGet, "/api/exchanges/%2F/"+exchange+"/bindings/source", &all)
		if err != nil || code != http.StatusOK {
			return false
		}
		for _, b := range all {
			if b.Destination == queue {
				return true
			}
		}
		return false
	}
	panic("what is " + name)
}

// save takes what lies in a queue that is about to be emptied, for the ledger.
func (w *world) save(queue string) error {
	ids, err := w.drain(queue)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.losses.saved == nil {
		w.losses.saved = map[string]bool{}
	}
	maps.Copy(w.losses.saved, ids)
	return err
}

// What is stored and not settled may have been in hand when its message was lost: no workflow was started.
const sqlArrived = `
SELECT platform_id, last_scraped_at FROM raw_listings WHERE settled_revision >= revision
UNION ALL SELECT message_id, now() FROM dead_letters WHERE message_id <> ''`

// publishAgain publishes every message again that Postgres has not, or has not brought to its end, as a scraper publishes
// an advert again with its next visit. It says how many there were.
func (w *world) publishAgain(before time.Time) (n int, err error) {
	type arrival struct {
		ID string
		At time.Time
	}
	var arrived []arrival
	wait := eventually(w.ctx, servicetest.Patience(), func() bool { // Postgres may be away too
		arrived, err = table[arrival](w, sqlArrived)
		return err == nil
	})
	if wait != nil {
		return 0, errors.Join(err, wait)
	}
	last := map[string]time.Time{}
	for _, a := range arrived {
		last[a.ID] = a.At
	}
	n = w.flow.again(func(m message) bool {
		if m.confirmedAt.After(before) {
			return false
		}
		if m.kind == invalid {
			return last[m.id].IsZero()
		}
		return last[m.advert].Before(m.at)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losses.again += n
	return n, nil
}
