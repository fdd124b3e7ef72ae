//go:build cluster

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

// Adverts of one measurement: those before it are not measured.
const (
	warmUp   = 100
	measured = 800
)

// BenchmarkHosts publishes adverts to one, two and three hosts of Conveyor, each with a worker, a bridge and an API. All
// of them, and every engine, share the cores of this machine: it shows what more hosts cost, not what they bring.
func BenchmarkHosts(b *testing.B) {
	w := theWorld(b)
	for n := range cluster.Hosts {
		b.Run(fmt.Sprint(n+1), func(b *testing.B) {
			for b.Loop() {
				for i, host := range cluster.Hosts {
					change := w.Revive
					if i > n {
						change = w.Shut
					}
					for _, role := range []string{"worker", "bridge", "api"} {
						require.NoError(b, change(b.Context(), host+"/"+role))
					}
				}
				if _, _, err := w.flood(b.Context(), warmUp); err != nil {
					b.Fatal(err)
				}
				took, cpu, err := w.flood(b.Context(), measured)
				require.NoError(b, err)
				b.ReportMetric(measured/took.Seconds(), "listings/s")
				b.ReportMetric(float64(cpu.Milliseconds())/measured, "cpu-ms/listing")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// flood publishes n adverts at once, waits until all are listings, and says how long that took, and how much time of all
// cores the whole machine spent on it, this test included.
func (w *world) flood(ctx context.Context, n int) (took, cpu time.Duration, err error) {
	first := w.last + 1
	w.last += n
	before, err := busy()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	node, _, _ := strings.Cut(w.Var("RABBITMQ_URL"), ",")
	conn, err := amqp.Dial(node)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = conn.Close() }()
	ch, err := conn.Channel()
	if err != nil {
		return 0, 0, err
	}
	if err := ch.Confirm(false); err != nil {
		return 0, 0, err
	}
	var confirms []*amqp.DeferredConfirmation
	for i := first; i <= w.last; i++ {
		id := fmt.Sprint(1_000_000 + i)
		c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "scraped", "kijiji", true, false, amqp.Publishing{
			MessageId: id, DeliveryMode: amqp.Persistent, ContentType: "application/json", Body: body(id),
		})
		if err != nil {
			return 0, 0, err
		}
		confirms = append(confirms, c)
	}
	for _, c := range confirms {
		if ok, err := c.WaitContext(ctx); err != nil || !ok {
			return 0, 0, errors.Join(errors.New("an advert was not confirmed"), err)
		}
	}
	db, err := pgx.Connect(ctx, w.Var("DATABASE_URL"))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = db.Close(context.WithoutCancel(ctx)) }()
	for {
		var there int
		if err := db.QueryRow(ctx, sqlFlooded, 1_000_000+first, 1_000_000+w.last).Scan(&there); err != nil {
			return 0, 0, err
		}
		if there == n {
			break
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
	after, err := busy()
	return time.Since(began), after - before, err
}

const sqlFlooded = `
SELECT count(*)::int FROM raw_listings
WHERE status = 'imported' AND length(platform_id) = 7 AND platform_id BETWEEN $1::int::text AND $2::int::text`

// busy is the time that the cores of this machine have spent on work since it was started, of a hundredth of a second.
func busy() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	var user, nice, system, idle, wait, irq, soft int64
	if _, err := fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq,
		&soft); err != nil {
		return 0, fmt.Errorf("read /proc/stat: %w", err)
	}
	return time.Duration(user+nice+system+irq+soft) * 10 * time.Millisecond, nil
}
