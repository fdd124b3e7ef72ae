//go:build cluster

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

// A world is the cluster that all tests share, one after the other: it takes most of their time to start.
type world struct {
	*cluster.Cluster
	log  *os.File
	last int // advert
}

var (
	starting sync.Once
	shared   *world
	broken   error
)

// theWorld starts the cluster at its first call.
func theWorld(t testing.TB) *world {
	t.Helper()
	starting.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		o := options()
		log, err := os.Create(filepath.Join(o.Dir, "driver.log"))
		if err != nil {
			broken = err
			return
		}
		o.Log = slog.New(slog.NewTextHandler(log, nil))
		began := time.Now()
		c, err := cluster.Start(ctx, o)
		if err != nil {
			broken = err
			return
		}
		t.Logf("the cluster is up after %s", time.Since(began).Round(time.Second))
		shared = &world{Cluster: c, log: log}
	})
	if broken != nil {
		t.Fatal(broken)
	}
	return shared
}

// stop ends the cluster after the last test.
func stop() error {
	if shared == nil {
		return nil
	}
	return shared.Stop(context.Background())
}

// advert publishes an advert to whichever node of the broker takes it, waits until it is a listing, and returns how
// long all of that took. It fails the test when that is longer than within.
func (w *world) advert(t testing.TB, within time.Duration) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	began := time.Now()
	w.last++
	require.NoError(t, w.publish(ctx, w.id()), "publish an advert")
	w.listed(t, w.id(), within-time.Since(began))
	return time.Since(began)
}

// id is that of the advert that was published last.
func (w *world) id() string { return fmt.Sprint(1_000_000 + w.last) }

// listed waits until an advert is a listing, and fails the test when that takes longer than within.
func (w *world) listed(t testing.TB, id string, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var last error
	for {
		there, err := w.imported(ctx, id)
		if there {
			return
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the advert is no listing after %s; the last error was: %v", within, last)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// publish tries the nodes in turn until one confirms.
func (w *world) publish(ctx context.Context, id string) error {
	var failed error
	for ctx.Err() == nil {
		for node := range strings.SplitSeq(w.Var("RABBITMQ_URL"), ",") {
			err := publishTo(ctx, node, id)
			if err == nil {
				return nil
			}
			failed = err
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return errors.Join(ctx.Err(), failed)
}

func publishTo(ctx context.Context, node, id string) error {
	conn, err := amqp.DialConfig(node, amqp.Config{Dial: amqp.DefaultDial(2 * time.Second)})
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseDeadline(time.Now().Add(time.Second)) }()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := ch.Confirm(false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	confirm, err := ch.PublishWithDeferredConfirmWithContext(ctx, "scraped", "kijiji", true, false, amqp.Publishing{
		MessageId: id, DeliveryMode: amqp.Persistent, ContentType: "application/json", Body: body(id),
	})
	if err != nil {
		return err
	}
	switch ok, err := confirm.WaitContext(ctx); {
	case err != nil:
		return fmt.Errorf("wait for the confirm: %w", err)
	case !ok:
		return errors.New("the broker refused it")
	}
	return nil
}

// body is an advert. Each lies a hundred metres or more from all others, or some would be the same home.
func body(id string) []byte {
	var n int
	_, _ = fmt.Sscan(id, &n) // it is a number
	text, err := json.Marshal(map[string]any{
		"platform": "kijiji", "platform_id": id, "url": "https://www.kijiji.ca/v-appartement/" + id,
		"scraped_at": time.Now().UTC(), "title": "Grand 4 ½ rénové près du métro " + id,
		"description": "<p>Deux chambres fermées, chauffé, éclairé.</p>",
		"price":       map[string]any{"amount_cents": 100_000 + n%1000*100, "type": "FIXED"},
		"latitude":    45.40 + float64(n%400)*.001, "longitude": -73.95 + float64(n/400%400)*.0015,
		"attributes": map[string]any{"numberbedrooms": []string{"2"}},
		"contact":    map[string]any{"name": "Jo", "phone": "514 555 0199"},
	})
	if err != nil {
		panic(err)
	}
	return text
}

const sqlImported = `SELECT EXISTS (SELECT FROM raw_listings WHERE platform_id = $1 AND status = 'imported')`

// imported asks the primary, whichever host it is, by a connection of its own.
func (w *world) imported(ctx context.Context, id string) (there bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, w.Var("DATABASE_URL")+"&connect_timeout=1")
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, sqlImported, id).Scan(&there)
	return there, err
}
