//go:build cluster

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

// standby is the host of the Postgres that takes no writes.
func (w *world) standby() string {
	i := slices.IndexFunc(cluster.Databases, func(name string) bool { return name != w.Primary() })
	return cluster.Databases[i]
}

// Commits that wait for a replica that is away are seen on every host, in words that say what to do. When the replica
// is back, or is no longer waited for, what was begun meanwhile ends.
func TestCommitsThatWaitAreSeen(t *testing.T) {
	w := theWorld(t)
	w.becomesWhole(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	do := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	standby := w.standby()
	do(w.Synchronous(ctx, true))
	t.Cleanup(func() { _ = w.Synchronous(context.WithoutCancel(ctx), false) }) // the test has failed, if it is on
	w.advert(t, recoverWithin)

	do(w.Kill(ctx, standby))
	began := time.Now()
	w.stuck(t, "no standby is connected")
	t.Logf("no standby: every host says so after %s", time.Since(began).Round(10*time.Millisecond))
	w.last++
	do(w.publish(ctx, w.id()))
	do(w.Revive(ctx, standby))
	w.listed(t, w.id(), recoverWithin)
	w.ready(t, recoverWithin, "")

	do(w.Cut(ctx, standby)) // the primary takes it for connected
	began = time.Now()
	w.last++
	do(w.publish(ctx, w.id()))
	w.stuck(t, "the synchronous standby does not confirm them, the oldest for ")
	t.Logf("a standby cut off: every host says so after %s", time.Since(began).Round(10*time.Millisecond))
	do(w.Synchronous(ctx, false))
	w.listed(t, w.id(), recoverWithin)
	w.ready(t, recoverWithin, "")
	do(w.Heal(ctx, standby))
	w.becomesWhole(t)
}

// stuck waits until every host says that Postgres stores nothing, and why.
func (w *world) stuck(t testing.TB, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, host := range cluster.Hosts {
		for {
			ready, err := answer(ctx, w.API(host)+"/ready", http.StatusServiceUnavailable)
			if err == nil && strings.Contains(ready, `"postgres":"stuck"`) {
				break
			}
			if pause(ctx, 100*time.Millisecond) != nil {
				t.Fatalf("GET /ready of %s does not say that postgres is stuck: %s (%v)", host, ready, err)
			}
		}
		text, err := answer(ctx, w.API(host)+"/queues", http.StatusOK)
		require.NoError(t, err)
		var report struct{ Warnings []string }
		require.NoError(t, json.Unmarshal([]byte(text), &report))
		if !slices.ContainsFunc(report.Warnings, func(s string) bool {
			return strings.Contains(s, why) && strings.Contains(s, "ALTER SYSTEM SET synchronous_standby_names = ''")
		}) {
			t.Errorf("%s warns of %q, and not that %s", host, report.Warnings, why)
		}
	}
}

// answer is the body of an answer, which must have a status.
func answer(ctx context.Context, url string, status int) (string, error) {
	got, text, err := devstack.Ask(ctx, http.MethodGet, url)
	if err == nil && got != status {
		err = fmt.Errorf("GET %s: status %d", url, got)
	}
	return string(text), err
}
