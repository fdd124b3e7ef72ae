//go:build cluster

package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

// A failure is one thing that goes wrong, and how it is made good.
type failure struct {
	name    string
	long    bool   // of the long form only; most of these are in the short form of test/faults' ledger of a cluster
	away    string // a host of Conveyor that is cut off, for hostAway
	happen  func(ctx context.Context, w *world) error
	restore func(ctx context.Context, w *world) error
}

// waits is the part of a failure that is no recovery.
func (f failure) waits() time.Duration {
	if f.away == "" {
		return 0
	}
	return hostAway()
}

// recoverWithin bounds a recovery on a busy machine; how long it took is logged. The kernel alone would keep a
// connection to a host that is cut off for a quarter of an hour.
const recoverWithin = 90 * time.Second

// hostAway is how long a host of Conveyor is cut off.
func hostAway() time.Duration {
	if *long {
		return time.Minute
	}
	return 12 * time.Second
}

// Each failure is found by all of Conveyor, which goes on without what has failed: an advert that is published at once
// becomes a listing, and every host that is not away says that it is ready. Then it is made good, and the cluster
// becomes whole again.
func TestClusterSurvives(t *testing.T) {
	w := theWorld(t)
	for _, f := range failures() {
		if f.long && !*long {
			continue
		}
		var listed, ready []time.Duration
		ok := t.Run(f.name, func(t *testing.T) {
			for range *rounds {
				a, b := w.survive(t, f)
				listed, ready = append(listed, a), append(ready, b)
			}
		})
		if !ok {
			return // the next would not find the cluster whole
		}
		if len(listed) == 0 {
			continue // -run leaves it out
		}
		t.Logf("%-55s a listing after %s, all hosts ready after %s", f.name, spread(listed), spread(ready))
	}
}

// survive lets a failure happen and makes it good. It returns how long after it an advert was a listing, and all hosts
// were ready; what a failure waits for by itself is not counted.
func (w *world) survive(t *testing.T, f failure) (listed, ready time.Duration) {
	t.Helper()
	w.becomesWhole(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	require.NoError(t, f.happen(ctx, w))
	began = began.Add(f.waits())
	w.advert(t, recoverWithin)
	listed = time.Since(began)
	w.ready(t, recoverWithin, f.away)
	ready = time.Since(began)
	require.NoError(t, f.restore(ctx, w))
	w.becomesWhole(t)
	return listed, ready
}

// spread is one time, or the median and the 95th percentile of several.
func spread(all []time.Duration) string {
	slices.Sort(all)
	at := func(share float64) time.Duration {
		return all[min(len(all)-1, int(share*float64(len(all))))].Round(10 * time.Millisecond)
	}
	if len(all) == 1 {
		return at(0).String()
	}
	return fmt.Sprintf("%s (p50), %s (p95 of %d)", at(.5), at(.95), len(all))
}

func failures() []failure {
	kill := func(name string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error { return w.Kill(ctx, name) }
	}
	revive := func(name string) func(context.Context, *world) error {
		return func(ctx context.Context, w *world) error { return w.Revive(ctx, name) }
	}
	var old, leader string // of the failure that happens
	return []failure{
		{"a node of RabbitMQ killed", true, "", kill("rabbit1"), revive("rabbit1")},
		{"a node of RabbitMQ cut off", true, "",
			func(ctx context.Context, w *world) error { return w.Cut(ctx, "rabbit2") },
			func(ctx context.Context, w *world) error { return w.Heal(ctx, "rabbit2") }},
		{"the primary of Postgres killed, its replica promoted", true, "",
			func(ctx context.Context, w *world) error {
				old = w.Primary()
				if err := w.Kill(ctx, old); err != nil {
					return err
				}
				return w.Promote(ctx)
			},
			func(ctx context.Context, w *world) error { return w.Revive(ctx, old) }},
		{"the primary of Postgres cut off, its replica promoted", false, "",
			func(ctx context.Context, w *world) error {
				old = w.Primary()
				if err := w.Cut(ctx, old); err != nil {
					return err
				}
				return w.Promote(ctx)
			},
			func(ctx context.Context, w *world) error {
				if err := w.Heal(ctx, old); err != nil {
					return err
				}
				return w.Revive(ctx, old)
			}},
		{"a server of Temporal killed", true, "", kill("temporal1"), revive("temporal1")},
		{"the leader of Redis killed", true, "",
			func(ctx context.Context, w *world) (err error) {
				if leader, err = w.RedisLeader(ctx, "host1"); err != nil {
					return err
				}
				return w.Kill(ctx, leader)
			},
			func(ctx context.Context, w *world) error { return w.Revive(ctx, leader) }},
		{"a host of Conveyor cut off", true, "host2",
			func(ctx context.Context, w *world) error {
				if err := w.Cut(ctx, "host2"); err != nil {
					return err
				}
				return pause(ctx, hostAway())
			},
			func(ctx context.Context, w *world) error { return w.Heal(ctx, "host2") }},
		{"a link slow", false, "",
			func(ctx context.Context, w *world) error { return slow(ctx, w) },
			func(ctx context.Context, w *world) error {
				if err := w.Heal(ctx, "host1"); err != nil {
					return err
				}
				took, err := ping(ctx, w, "host1")
				if err == nil && took > 50*time.Millisecond {
					err = fmt.Errorf("a round trip takes %s after the link was healed", took)
				}
				return err
			}},
	}
}

// Without a replica that answers, nothing is promoted, and the primary goes on: it is not ended first.
func TestPromotionNeedsAReplica(t *testing.T) {
	w := theWorld(t)
	w.becomesWhole(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	primary, replica := w.Primary(), w.standby()
	for _, away := range []struct {
		name          string
		happen, again func(context.Context, string) error
	}{
		{"killed", w.Kill, w.Revive}, {"cut off", w.Cut, w.Heal},
	} {
		require.NoError(t, away.happen(ctx, replica))
		err := w.Promote(ctx)
		if want := primary + " stays the primary: " + replica + " cannot take its place"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("a replica that is %s is promoted: %v; want %q", away.name, err, want)
		}
		require.Equal(t, primary, w.Primary(), "the primary")
		w.advert(t, recoverWithin)
		require.NoError(t, away.again(ctx, replica))
		w.becomesWhole(t)
	}
}

const slowBy = 200 * time.Millisecond

// slow slows a link, and measures it.
func slow(ctx context.Context, w *world) error {
	if err := w.Slow(ctx, "host1", slowBy, .02); err != nil {
		return err
	}
	took, err := ping(ctx, w, "host1")
	if err == nil && (took < slowBy || took > slowBy*3/2) {
		err = fmt.Errorf("a round trip takes %s; want %s", took, slowBy)
	}
	return err
}

// ping is the shortest of five round trips to a host: of the first packets of a connection. Lost ones take a second.
func ping(ctx context.Context, w *world, host string) (time.Duration, error) {
	var all []time.Duration
	at := strings.TrimPrefix(w.API(host), "http://")
	for range 5 {
		began := time.Now()
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", at)
		if err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
		_ = conn.Close()
	}
	return slices.Min(all), nil
}

// ready waits until the API of every host but one says that it and all engines answer.
func (w *world) ready(t testing.TB, within time.Duration, but string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for _, host := range cluster.Hosts {
		if host == but {
			continue
		}
		for {
			err := isReady(ctx, w.API(host))
			if err == nil {
				break
			}
			if pause(ctx, 100*time.Millisecond) != nil {
				t.Fatalf("%s is not ready after %s: %v", host, within, err)
			}
		}
	}
}

func isReady(ctx context.Context, api string) error {
	_, err := answer(ctx, api+"/ready", http.StatusOK)
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
