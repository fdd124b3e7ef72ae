package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/workflows"
)

const (
	unpolled     = workflows.QueueImportPersistence
	unpolledRows = 2000
	// seenWithin is how soon it is seen that no worker polls a task queue, by Prometheus too, which looks every so often and
	// then decides as often.
	seenWithin = time.Minute
	lookEvery  = 15 * time.Second // deploy/prometheus
)

// A task queue that no worker polls is seen within a minute: by /ready, conveyor status and the alert. What is for it
// waits, the rest goes on, and when a worker comes all is done, and nothing says so any longer. So it is where workers
// were asked to end, and where they were killed, which Temporal learns by the heartbeats that it misses.
func TestAQueueThatNoWorkerPollsIsSeen(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel()
	w := newWorld(t, nil)
	d := &rig{world: w, got: map[uuid.UUID]personFile{}}
	var err error
	d.imports, err = newImports(w)
	require.NoError(t, err)
	rule := alertRule(t, "ConveyorTaskQueueWithoutWorker")
	require.Equal(t, "max by (task_queue, type) ("+workersMetric+") == 0", rule)
	all := release{binary: binary}
	without := release{binary: binary, settings: []string{"CONVEYOR_TASK_QUEUES=" + strings.Join(d.queuesBut(unpolled), ",")}}
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	for _, end := range []struct {
		name  string
		alert time.Duration // until the metric says it
		end   func(r *role) error
	}{
		{"were asked to end", launch.RestartGrace + lookEvery, func(r *role) error {
			_, err := r.retire(w.ctx, without)
			return err
		}},
		{"were killed", seenWithin - 2*lookEvery, func(r *role) error {
			r.mu.Lock()
			r.release = without
			r.mu.Unlock()
			return r.signal(syscall.SIGKILL)
		}},
	} {
		d.come("nothing says that a queue has no worker", func() bool { return len(d.signs()) == 0 })
		for _, r := range w.of("worker") {
			require.NoError(t, end.end(r))
		}
		began := time.Now()
		w.say("the workers of %s %s …", unpolled, end.name)
		file := newPersonFile(unpolledRows, end.name)
		id := d.mustUpload(file, "")
		probe := w.flow.probe()
		seen := map[string]time.Duration{}
		_ = eventually(w.ctx, servicetest.Patience(), func() bool {
			for _, sign := range d.signs() {
				if _, before := seen[sign]; !before {
					seen[sign] = time.Since(began)
				}
			}
			return len(seen) == len(signsOf)
		})
		for _, sign := range slices.Sorted(maps.Keys(signsOf)) {
			took, ok := seen[sign]
			if !ok {
				took = servicetest.Patience()
			}
			within := seenWithin
			if sign == signAlert {
				within = end.alert
			}
			l.within(fmt.Sprintf("workers %s: seconds until seen in %s", end.name, sign), int(took.Seconds()), 0, int(within.Seconds()))
		}
		d.come("the rest goes on", func() bool { return w.watch.saw(probe.advert) })
		state, stored := d.fileState(id)
		l.must(fmt.Sprintf("workers %s: rows that were stored meanwhile", end.name), stored, 0)
		if state == "done" || state == "failed" {
			l.Wrong = append(l.Wrong, "without a worker that stores it, a file is "+state)
		}
		w.say("a worker comes")
		for _, r := range w.of("worker") {
			_, err := r.retire(w.ctx, all)
			require.NoError(t, err)
		}
		d.come("the file is stored", func() bool { state, _ := d.fileState(id); return state == "done" })
	}
	d.come("nothing says that a queue has no worker", func() bool { return len(d.signs()) == 0 })
	w.rest(l)
	l.flowed(w)
	if err := d.imports.balance(l, d.got, newPersonFile(unpolledRows, "")); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.workflows(w)
	l.processes(w)
	l.close(w)
}

// signAlert is what is seen only when Prometheus has asked.
const signAlert = "the metric that the alert compares"

// signsOf say in which ways it is seen that no worker polls the task queue.
var signsOf = map[string]func(d *rig) bool{
	"/ready": func(d *rig) bool {
		code, answer, err := get(d.ctx, d.vars["CONVEYOR_API_URL"]+"/ready", servicetest.Patience())
		var ready struct{ Unpolled []string }
		return err == nil && code == http.StatusServiceUnavailable && json.Unmarshal([]byte(answer), &ready) == nil &&
			slices.Contains(ready.Unpolled, unpolled)
	},
	"conveyor status --check": func(d *rig) bool {
		err := d.once(d.ctx, release{binary: binary}, "status", "--check") // fails where there is a warning
		return err != nil && strings.Contains(err.Error(), "! task queue "+unpolled+" (activity): no worker")
	},
	signAlert: func(d *rig) bool {
		most := d.workersOf(unpolled)
		return len(most) > 0 && slices.Contains(slices.Collect(maps.Values(most)), 0)
	},
}

// signs are those that show.
func (d *rig) signs() (list []string) {
	for name, shows := range signsOf {
		if shows(d) {
			list = append(list, name)
		}
	}
	return list
}

const workersMetric = "conveyor_task_queue_workers"

// workersOf is the alert's expression without its comparison: of the types of a task queue, the greatest number of
// workers that any role exports.
func (d *rig) workersOf(queue string) map[string]float64 {
	most := map[string]float64{}
	for _, r := range d.roles {
		_, text, err := get(d.ctx, strings.Replace(r.ask, "/ready", "/metrics", 1), servicetest.Patience())
		for line := range strings.Lines(text) {
			labels, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), workersMetric+"{"), "} ")
			n, wrong := strconv.ParseFloat(value, 64)
			if !ok || err != nil || wrong != nil || !strings.HasPrefix(line, workersMetric+"{") ||
				!strings.Contains(labels, `task_queue="`+queue+`"`) {
				continue
			}
			most[labels] = max(most[labels], n)
		}
	}
	return most
}

// alertRule is the expression of an alert.
func alertRule(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/helm/conveyor/files/alerts.yml")
	require.NoError(t, err)
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &rules))
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Alert == name {
				return r.Expr
			}
		}
	}
	require.Fail(t, "there is no such alert", name)
	return ""
}

// queuesBut are the task queues that have workers, without one.
func (d *rig) queuesBut(one string) (names []string) {
	d.t.Helper()
	var now struct {
		TaskQueues []struct {
			Name    string
			Workers int
		} `json:"task_queues"`
	}
	require.NoError(d.t, d.send(http.MethodGet, "/queues", "", &now))
	for _, q := range now.TaskQueues {
		if q.Workers > 0 && q.Name != one && !slices.Contains(names, q.Name) {
			names = append(names, q.Name)
		}
	}
	require.NotEmpty(d.t, names)
	return names
}

// fileState says how far a file of contacts is, and how many of its rows are stored.
func (d *rig) fileState(id uuid.UUID) (state string, stored int) {
	u, err := d.imports.uploads.Get(d.ctx, importTenant, id)
	if err != nil {
		return err.Error(), -1
	}
	return string(u.State), u.Stored
}
