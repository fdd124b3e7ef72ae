//go:build cluster

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	crawling "github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/devstack/cluster"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// onSwitch is given by TestTheLedgerOfTheClusterBalances to its second self, which is on the switch of a cluster.
var onSwitch = flag.String("cluster", "", "the conveyor under test, for the test of the cluster that runs on its switch")

func init() {
	beforeBuild = func() error {
		if *onSwitch == "" {
			return nil
		}
		binary = *onSwitch
		return enterCluster()
	}
}

// clusterOptions are those of the cluster of this process, which has the same number on the switch.
func clusterOptions() (cluster.Options, error) {
	home, err := homeDir()
	return cluster.Options{
		Dir: filepath.Join(home, fmt.Sprintf("test-faults-cluster-%d", os.Getpid())), Bin: filepath.Join(home, "bin"),
		Synchronous: true, Throwaway: true, Seed: *seed, Out: os.Stderr,
	}, err
}

// enterCluster goes on to the switch. It returns there.
func enterCluster() error {
	o, err := clusterOptions()
	if err != nil {
		return err
	}
	cluster.Sweep(context.Background(), filepath.Join(filepath.Dir(o.Dir), "test-faults-cluster-*"))
	return cluster.Enter(context.Background(), o)
}

// The load of the cluster: a crawl and a campaign that last for about as long as the failures do.
const (
	clusterGap  = 250 * time.Millisecond // between two requests of all hosts to the crawled site
	clusterRate = 10                     // messages a second
)

// A breakdown is a failure that lasts until it is mended. An advert published when it has begun says when work goes on;
// another one, that all is well when it is over.
type breakdown struct {
	name      string
	short     bool                     // it is part of the short form
	lasts     func() time.Duration     // at least; nil = until work goes on
	begin     func(c *clustered) error // an error is a failure of the test, as of the next two
	meanwhile func(c *clustered) error // nil = nothing
	end       func(c *clustered) error
}

// A clustered is a world on a cluster, its load and its failures.
type clustered struct {
	*world
	nodes    *cluster.Cluster
	suffered []suffered
}

func lasting(short, long_ time.Duration) func() time.Duration {
	return func() time.Duration {
		if *long {
			return long_
		}
		return short
	}
}

// breakdowns strike in this order. Nodes of RabbitMQ fail one after the other, for of three only one may be away.
var breakdowns = []breakdown{
	killed("rabbit1", true), killed("rabbit2", false), killed("redis1", true), killed("temporal1", true),
	{
		name: "Postgres primary killed, replica promoted", short: true,
		begin: func(c *clustered) error {
			return errors.Join(c.nodes.Kill(c.ctx, c.nodes.Primary()), c.nodes.Promote(c.ctx))
		},
		end: (*clustered).replicate,
	},
	{
		name: "Postgres primary cut off, replica promoted",
		begin: func(c *clustered) error {
			err := c.nodes.Cut(c.ctx, c.nodes.Primary())
			pause(c.ctx, 2*time.Second)
			return errors.Join(err, c.nodes.Promote(c.ctx))
		},
		end: (*clustered).replicate,
	},
	cutOff("host1", true), cutOff("host2", false), cutOff("host3", false), cutOff("rabbit3", false),
	{
		name: "200 ms and 2 % loss, a rolling deploy meanwhile", short: true,
		lasts: lasting(20*time.Second, 5*time.Minute),
		begin: func(c *clustered) error {
			for _, host := range cluster.Hosts {
				if err := c.nodes.Slow(c.ctx, host, 200*time.Millisecond, .02); err != nil {
					return err
				}
			}
			return nil
		},
		meanwhile: (*clustered).roll,
		end: func(c *clustered) error {
			var errs []error
			for _, host := range cluster.Hosts {
				errs = append(errs, c.nodes.Heal(c.ctx, host))
			}
			return errors.Join(errs...)
		},
	},
}

func killed(node string, short bool) breakdown {
	return breakdown{
		name: node + " killed -9", short: short,
		begin: func(c *clustered) error { return c.nodes.Kill(c.ctx, node) },
		end:   func(c *clustered) error { return c.nodes.Revive(c.ctx, node) },
	}
}

// cutOff takes a node off the network, with the roles that run there.
func cutOff(node string, short bool) breakdown {
	var back []func()
	return breakdown{
		name: node + " cut off", short: short, lasts: lasting(15*time.Second, time.Minute),
		begin: func(c *clustered) error {
			for _, r := range c.roles {
				if strings.HasSuffix(r.name, "-"+node) {
					back = append(back, r.cut())
				}
			}
			return c.nodes.Cut(c.ctx, node)
		},
		end: func(c *clustered) error {
			err := c.nodes.Heal(c.ctx, node)
			for _, f := range back {
				f()
			}
			return err
		},
	}
}

// replicate makes the Postgres that was the primary the replica of the new one, which waits for it again.
func (c *clustered) replicate() error {
	old := "pg1"
	if c.nodes.Primary() == old {
		old = "pg2"
	}
	return errors.Join(c.nodes.Heal(c.ctx, old), c.nodes.Revive(c.ctx, old))
}

// roll replaces every role by one of the next release, one at a time, and then back; in the short form by its own.
func (c *clustered) roll() error {
	next := binary
	if *long {
		var err error
		if next, err = nextRelease(); err != nil {
			return err
		}
		if err := c.migrate(c.ctx, next); err != nil {
			return err
		}
	}
	for _, to := range []string{next, binary} {
		for _, r := range c.roles {
			if _, err := r.retire(c.ctx, release{binary: to}); err != nil {
				return err
			}
			if !*long {
				continue
			}
			if err := eventually(c.ctx, servicetest.Patience(), func() bool { return c.sick(r) == "" }); err != nil {
				return fmt.Errorf("%s is not healthy after it was replaced: %s", r.name, c.sick(r))
			}
		}
		if !*long {
			return nil
		}
	}
	return nil
}

// On a cluster, under mixed load, with one host after the other killed, cut off or slow: nothing is lost and nothing is
// there twice, no site is asked more often than it may be by all hosts together, and no message is sent too soon.
func TestTheLedgerOfTheClusterBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	if *onSwitch == "" {
		onTheSwitch(t)
		return
	}
	if *long {
		_, err := nextRelease() // before the load, for it takes the processors
		require.NoError(t, err)
	}
	box, keys := newKeys(t)
	settings := []string{
		"CONVEYOR_SECRET_KEYS=" + keys, fmt.Sprintf("CONVEYOR_DISPATCH_STANDARD=%d", clusterRate),
		"CONVEYOR_WHATSAPP_TIMEOUT=3s", fmt.Sprintf("FETCH_MIN_GAP_PER_HOST_MS=%d", clusterGap.Milliseconds()),
		"FETCH_GAP_JITTER_MS=0", "CONVEYOR_API_OPEN=true", // nothing but this cluster reaches it
	}
	c := newClustered(t, settings)
	pages, rows := 400, 1000 // for about as long as the failures take
	if *long {
		pages, rows = 1500, 8000
	}

	g := crawlsite.NewGraph(crawlsite.GraphOptions{Seed: *seed, Pages: pages, Chain: 5, Flaky: true})
	bell := &bell{}
	site := crawlsite.New(bell.before(g))
	address := c.serve(site).URL
	var hooks *dboutreach.Webhooks
	api, sends := phone(c.serve, func(r *http.Request) error { return applyWebhook(r, hooks) })
	c.settings = append(c.settings, "CONVEYOR_WHATSAPP_URL="+sends)
	c.outside = "," + strings.TrimPrefix(address, "http://")
	c.begin(c.hostRoles)
	hooks = dboutreach.NewWebhooks(c.db, nil)
	c.gone.Go(func() { _ = api.Run(c.ctx) })
	c.pulse = func() string { return fmt.Sprint(" ", len(api.Ledger()), " ", site.Total()) }
	i, err := newImports(c.world)
	require.NoError(t, err)

	limits := crawling.Defaults
	limits.MaxDepth, limits.MaxPages = 1000, 10*pages
	run, err := c.startCrawl(address+"/", limits)
	require.NoError(t, err)
	people := newPersonFile(rows, "Montréal")
	upload := i.upload(people)
	sent := make(chan uuid.UUID, 1)
	c.gone.Go(func() { // a campaign to the people of the file, as soon as they are there
		defer close(sent)
		_ = eventually(c.ctx, 5*servicetest.Patience(), func() bool { return !i.open(upload) })
		var id uuid.UUID
		err := eventually(c.ctx, servicetest.Patience(), func() bool { id, err = c.makeCampaign(box); return err == nil })
		if err == nil {
			sent <- id
		}
	})

	l := &Ledger{Seed: *seed, Wrong: []string{}}
	flowing, enough := context.WithCancel(c.ctx)
	c.gone.Go(func() {
		for pause(flowing, time.Second) {
			c.flow.feed(1)
		}
	})
	for _, b := range breakdowns {
		if (*long || b.short) && strings.Contains(b.name, *only) {
			c.suffer(b, l)
		}
	}
	enough()
	id, ok := <-sent
	if !ok {
		l.Wrong = append(l.Wrong, "no campaign was made")
	}
	start := launch.Launch{Temporal: c.temporal}
	_ = start.StartCampaign(c.ctx, "acme", id) // the schedule would, within a minute
	c.rest(l)
	l.flowed(c.world)
	l.crawls(c.world, address, []int64{run}, g.Expected(address, limits), site.Hits())
	if err := i.balance(l, map[uuid.UUID]personFile{upload.ID: people}, people); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.campaign(c.world, id, api, people.distinct, 4*clusterRate*len(c.suffered))
	requests, at := most(bell.times(), mostWithin)
	l.within("requests to the crawled site within 10 s", requests, 1, int(mostWithin/clusterGap)*11/10+1)
	l.row("the most of them came", int(at.Sub(c.began).Seconds()), "s after the start")
	l.within("messages sent within 10 s", api.Most(mostWithin), 1, clusterRate*11)
	l.workflows(c.world)
	l.processes(c.world)
	m := c.measure(bell, api)
	l.close(c.world)
	fmt.Print(m.String())
	if *report != "" {
		doc, err := json.MarshalIndent(struct {
			*Ledger
			measured
		}{l, m}, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(*report, append(doc, '\n'), 0o644))
	}
}

// onTheSwitch runs the test again in a process of its own, which goes to the switch before anything else.
func onTheSwitch(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	args := []string{"-test.run=^" + t.Name() + "$", "-test.v", "-test.timeout=0", "-cluster=" + binary,
		fmt.Sprintf("-seed=%d", *seed), fmt.Sprintf("-long=%t", *long), "-only=" + *only, "-json=" + *report}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	require.NoError(t, cmd.Run(), "the test on the switch")
}

// newClustered starts the engines.
func newClustered(t *testing.T, settings []string) *clustered {
	t.Helper()
	within := 20 * time.Minute // beside other tests it has taken 14
	if *long {
		within = time.Hour
	}
	w, _ := bareWorld(t, within, settings)
	o, err := clusterOptions()
	require.NoError(t, err)
	nodes, err := cluster.Start(w.ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, nodes.Stop(context.WithoutCancel(w.ctx)))
		if !t.Failed() { // the logs of the engines say why
			require.NoError(t, cluster.Remove(o.Dir))
		}
	})
	w.address, w.vars = cluster.Address(""), map[string]string{"CONVEYOR_API_URL": nodes.API(cluster.Hosts[0])}
	for _, line := range nodes.Env() {
		k, v, _ := strings.Cut(line, "=")
		w.vars[k] = v
	}
	return &clustered{world: w, nodes: nodes}
}

// hostRoles are a bridge, a worker and an API on each host.
func (c *clustered) hostRoles() (list []*role) {
	for _, host := range cluster.Hosts {
		for n, command := range []string{"bridge", "worker", "api"} {
			r := &role{name: command + "-" + host, command: command, within: c.nodes.Within(host)}
			r.env, r.ask = c.env(r.name), c.nodes.API(host)+"/ready"
			api := strings.TrimPrefix(c.nodes.API(host), "http://")
			if command == "api" {
				r.env = append(r.env, "CONVEYOR_API_URL=http://"+api, "CONVEYOR_API_ADDRESS="+api)
			} else {
				metrics := fmt.Sprintf("%s:%d", cluster.Address(host), 9101+n)
				r.env, r.ask = append(r.env, "CONVEYOR_METRICS_ADDRESS="+metrics), "http://"+metrics+"/metrics"
			}
			list = append(list, r)
		}
	}
	return list
}

// suffer lets a breakdown begin and end, and measures how long it takes until an advert that was published meanwhile is
// a listing, from the beginning.
func (c *clustered) suffer(b breakdown, l *Ledger) {
	c.say("%s …", b.name)
	began := time.Now()
	if err := b.begin(c); err != nil {
		l.Wrong = append(l.Wrong, fmt.Sprintf("%s: %v", b.name, err))
	}
	during := c.recover(b.name, began, l)
	if b.meanwhile != nil {
		if err := b.meanwhile(c); err != nil {
			l.Wrong = append(l.Wrong, fmt.Sprintf("%s: %v", b.name, err))
		}
	}
	if b.lasts != nil {
		pause(c.ctx, b.lasts()-time.Since(began))
	}
	if err := b.end(c); err != nil {
		l.Wrong = append(l.Wrong, fmt.Sprintf("%s, its end: %v", b.name, err))
	}
	healed := time.Now()
	after := c.recover(b.name+", its end", healed, l)
	c.say("%s: work went on after %.1f s, and %.1f s after its end", b.name, during, after)
	_ = eventually(c.ctx, servicetest.Patience(), c.healthy)
	c.suffered = append(c.suffered, suffered{
		Failure: b.name, Lasted: healed.Sub(began).Seconds(), During: during, After: after, span: span{began, time.Now()},
	})
}

// recover publishes an advert and waits until it is a listing.
func (c *clustered) recover(name string, since time.Time, l *Ledger) float64 {
	probe := c.flow.probe()
	if err := eventually(c.ctx, 2*servicetest.Patience(), func() bool { return c.watch.saw(probe.advert) }); err != nil {
		l.Wrong = append(l.Wrong, name+": an advert published then is still no listing: "+c.restless())
		return -1
	}
	return c.watch.when(probe.advert).Sub(since).Seconds()
}
