//go:build cluster

package cluster

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

// whole is what each kind of host says of itself while nothing is wrong. The words of a host contain all of a row.
func (w *world) whole() map[string][]string {
	want := map[string][]string{"tdb": {"primary"}}
	for _, name := range cluster.Brokers {
		want[name] = []string{"3 of 3 nodes run"}
	}
	for _, name := range cluster.Databases {
		want[name] = []string{"standby, primary is streaming"}
	}
	want[w.Primary()] = []string{"primary, standby: streaming"}
	for _, name := range cluster.Temporals {
		want[name] = []string{"8 services of all servers are members, 4 of this one"}
	}
	for _, name := range cluster.Hosts {
		want[name] = []string{"api is ready"}
	}
	return want
}

// wholeWithin bounds how long a cluster takes to become whole, on a busy machine.
const wholeWithin = 2 * time.Minute

// becomesWhole waits until every host runs, is linked and says that nothing is wrong.
func (w *world) becomesWhole(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wholeWithin)
	defer cancel()
	for {
		var wrong []string
		leaders := map[string]int{}
		want := w.whole()
		for _, h := range w.Status(ctx) {
			if h.Link != "up" || len(h.Away) > 0 {
				wrong = append(wrong, h.Name+": link "+h.Link+", away: "+strings.Join(h.Away, " "))
			}
			for _, words := range want[h.Name] {
				if !strings.Contains(h.Says, words) {
					wrong = append(wrong, h.Name+" says "+h.Says)
				}
			}
			if strings.Contains(h.Says, "role master, connected_slaves 1") {
				leaders[h.Name]++
			}
		}
		if len(leaders) != 1 {
			wrong = append(wrong, "redis has not one leader with a replica")
		}
		if len(wrong) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %s: %s", wholeWithin, strings.Join(wrong, "\n"))
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// Every engine is one cluster, not several that are alone, and an advert goes through all of it.
func TestClusterForms(t *testing.T) {
	w := theWorld(t)
	w.becomesWhole(t)
	t.Logf("an advert is a listing after %s", w.advert(t, recoverWithin).Round(time.Millisecond))
	leads := 0
	for _, h := range w.Status(t.Context()) {
		t.Logf("%-10s %-4s %s", h.Name, h.Link, h.Says)
		if strings.HasPrefix(h.Name, "rabbit") && !strings.Contains(h.Says, "leads 0 of") {
			leads++
		}
	}
	require.GreaterOrEqual(t, leads, 2, "nodes with leaders of queues")
}
