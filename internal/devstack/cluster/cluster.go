// Package cluster runs every engine of Conveyor as operators run it, several processes of each, on one machine: three
// nodes of RabbitMQ, a primary of Postgres with a replica, two servers of Temporal, Redis with a replica and three
// Sentinels, and three hosts of Conveyor. Each is a host in a network namespace of its own, on one switch, so that
// links can be cut and slowed. It is for tests, and for seeing what an operator sees.
//
// The process that drives a cluster is on its switch (Enter), from where it reaches every host.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/internal/devstack"
)

// Options of a cluster. Dir and Binary are required.
type Options struct {
	// Dir holds a folder a host, the passwords and the blobs. It is created, and belongs to one cluster at a time.
	Dir string
	// Bin is where the programs of Temporal are linked to; default Dir/bin.
	Bin string
	// Binary is the conveyor that the hosts run, an absolute path; "" starts the engines only.
	Binary string
	// Settings are more variables of every process of Conveyor, as KEY=value.
	Settings []string
	// Synchronous makes each commit wait for the replica of Postgres.
	Synchronous bool
	// Throwaway trades durability against a loss of power for speed.
	Throwaway bool
	// NoInstall makes a missing package an error that names it.
	NoInstall bool
	// Seed is that of the frames that slow links lose.
	Seed uint64
	// Out shows progress; nil is silent. Log takes later events; nil is slog.Default.
	Out io.Writer
	Log *slog.Logger
}

// node is a host of the cluster: its name, the last byte of its address, its services, and the hosts that must be ready
// before.
type node struct {
	name     string
	last     byte
	services []string
	needs    []string
}

// nodes are all hosts. Temporal's tables have a Postgres of their own, as in test/faults: Temporal names one address,
// so its failover would be that of a proxy in front of it, which is not ours to test; and ours can be away while
// Temporal works. Sentinels are on the hosts of Conveyor, where they see what Conveyor sees.
var nodes = []node{
	{"rabbit1", 11, []string{devstack.RabbitMQ}, nil},
	{"rabbit2", 12, []string{devstack.RabbitMQ}, nil},
	{"rabbit3", 13, []string{devstack.RabbitMQ}, nil},
	{"pg1", 21, []string{devstack.Postgres}, nil},
	{"pg2", 22, []string{devstack.Postgres}, nil},
	{"tdb", 30, []string{devstack.Postgres}, nil},
	{"temporal1", 31, []string{devstack.Temporal, devstack.TemporalUI}, []string{"tdb"}},
	{"temporal2", 32, []string{devstack.Temporal, devstack.TemporalUI}, []string{"temporal1"}},
	{"redis1", 41, []string{devstack.Redis}, nil},
	{"redis2", 42, []string{devstack.Redis}, nil},
	{"host1", 51, []string{devstack.Sentinel}, hostNeeds},
	{"host2", 52, []string{devstack.Sentinel}, hostNeeds},
	{"host3", 53, []string{devstack.Sentinel}, hostNeeds},
}

var hostNeeds = []string{
	"rabbit1", "rabbit2", "rabbit3", "pg1", "pg2", "temporal1", "temporal2", "redis1", "redis2",
}

// The hosts of each kind.
var (
	Brokers   = []string{"rabbit1", "rabbit2", "rabbit3"}
	Databases = []string{"pg1", "pg2"}
	Temporals = []string{"temporal1", "temporal2"}
	Redises   = []string{"redis1", "redis2"}
	Hosts     = []string{"host1", "host2", "host3"}
)

// Names are the hosts of a cluster.
func Names() []string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.name)
	}
	return list
}

// Address is that of a host; of "" that of the switch, where the driver is.
func Address(name string) string {
	last := byte(1)
	for _, n := range nodes {
		if n.name == name {
			last = n.last
		}
	}
	return fmt.Sprintf("%s.%d", network, last)
}

// network is the first three bytes of every address: of 198.18.0.0/15, which is for tests of networks. Each cluster has
// it to itself.
const network = "198.18.0"

// Cluster is a running one. Its methods may be called by several at once.
type Cluster struct {
	opts  Options
	ports devstack.Ports
	wires *wires
	vars  map[string]string
	lock  *os.File
	show  *devstack.Progress

	stacks  map[string]*devstack.Stack
	members map[string]*devstack.Member

	change sync.Mutex // held by one failure, or its repair, at a time

	lag     lag
	unwatch func() // nil = it is not watched yet

	mu      sync.Mutex
	primary string
}

// Start brings up every host, and returns when all answer. The process must have been through Enter. On an error
// nothing is left.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %q: %w", o.Dir, err)
	}
	o.Dir = dir
	if o.Bin == "" {
		o.Bin = filepath.Join(dir, "bin")
	}
	if o.Bin, err = filepath.Abs(o.Bin); err != nil { // processes of hosts have folders of their own
		return nil, fmt.Errorf("resolve %q: %w", o.Bin, err)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	c := &Cluster{opts: o, stacks: map[string]*devstack.Stack{}, members: map[string]*devstack.Member{}}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if !inside(c.opts.Dir) {
		return errors.New("start a cluster: this process is not on its switch")
	}
	if c.ports, err = devstack.PortsFrom(func(string) string { return "" }); err != nil {
		return err
	}
	if c.lock, err = devstack.Lock(c.opts.Dir); err != nil {
		return err
	}
	for _, n := range nodes {
		devstack.EndLeftovers(filepath.Join(c.opts.Dir, n.name))
	}
	if err := c.readPrimary(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(c.opts.Dir, "blobs"), 0o700); err != nil {
		return fmt.Errorf("create folder of blobs: %w", err)
	}
	if c.wires, err = lay(ctx, c.opts.Dir, c.opts.Seed); err != nil {
		return err
	}
	c.show = devstack.NewProgress(c.opts.Out)
	defer c.show.Close()
	if err := c.launch(ctx); err != nil {
		return err
	}
	if c.opts.Synchronous {
		if err := c.stack(c.primary).Synchronous(ctx, true); err != nil {
			return err
		}
	}
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() { c.watch(watching) })
	c.unwatch = func() { cancel(); watch.Wait() }
	return nil
}

// launch starts every host when those that it needs are ready.
func (c *Cluster) launch(ctx context.Context) error {
	up := map[string]chan struct{}{}
	for _, n := range nodes {
		up[n.name] = make(chan struct{})
	}
	for _, n := range nodes {
		c.members[n.name] = c.member(n)
	}
	prepared := sync.OnceValue(func() error { return c.prepare(ctx) })
	g, ctx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		needs := n.needs
		if n.name == c.standby() {
			needs = []string{c.primary}
		}
		g.Go(func() error {
			for _, need := range needs {
				select {
				case <-up[need]:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			c.show.Starting(n.name)
			if slices.Contains(Hosts, n.name) {
				if err := prepared(); err != nil {
					return err
				}
			}
			if err := c.launchNode(ctx, n); err != nil {
				c.show.Failed(n.name, err)
				return fmt.Errorf("%s: %w", n.name, err)
			}
			c.show.Ready(n.name, Address(n.name)+" "+strings.Join(c.stack(n.name).Names(), ", "))
			close(up[n.name])
			return nil
		})
	}
	return g.Wait()
}

func (c *Cluster) launchNode(ctx context.Context, n node) error {
	dir := filepath.Join(c.opts.Dir, n.name)
	c.mu.Lock()
	err := devstack.SharePasswords(c.opts.Dir, dir)
	member := c.members[n.name]
	c.mu.Unlock()
	if err != nil {
		return err
	}
	o := devstack.Options{
		Dir: dir, Bin: c.opts.Bin, Services: n.services, Member: member, NoInstall: true, Throwaway: c.opts.Throwaway,
		CreateDB: n.name == "tdb", Log: c.opts.Log.With("host", n.name),
	}
	if slices.Contains(n.services, devstack.Temporal) {
		o.External.DatabaseURL = c.stack("tdb").Vars()["DATABASE_MIGRATE_URL"]
	}
	if slices.Contains(Hosts, n.name) && c.opts.Binary != "" {
		member.Programs = c.programs(n.name)
	}
	s, err := devstack.Start(ctx, o)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.stacks[n.name] = s
	c.mu.Unlock()
	if slices.Contains(Hosts, n.name) && c.opts.Binary != "" {
		return c.awaitQueues(ctx, n.name)
	}
	return nil
}

// declareWithin bounds the declaration of all queues, on a busy machine.
const declareWithin = 2 * time.Minute

// awaitQueues waits until the bridge of a host consumes every queue.
func (c *Cluster) awaitQueues(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, declareWithin)
	defer cancel()
	for {
		open, closed, err := Consumers(ctx, c.metrics(host, "bridge"))
		if err == nil && open > 0 && closed == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the bridge to consume: %d queues of %d are open (%w)", open, open+closed,
				errors.Join(ctx.Err(), err))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Consumers counts the queues that a bridge consumes, and those that it does not, by its metrics.
func Consumers(ctx context.Context, url string) (open, closed int, err error) {
	_, text, err := devstack.Ask(ctx, http.MethodGet, url)
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case !strings.HasPrefix(line, "conveyor_consumer_open{"):
		case strings.HasSuffix(line, " 0"):
			closed++
		default:
			open++
		}
	}
	return open, closed, nil
}

func (c *Cluster) stack(name string) *devstack.Stack {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stacks[name]
}

// member is what the host knows of the others.
func (c *Cluster) member(n node) *devstack.Member {
	m := &devstack.Member{
		Address: Address(n.name), Network: c.wires.path(n.name), Range: network + ".0/24", Shards: 8,
	}
	switch {
	case slices.Contains(Brokers, n.name):
		for _, name := range Brokers {
			m.Brokers = append(m.Brokers, Address(name))
		}
	case n.name == "redis2", slices.Contains(Hosts, n.name):
		m.Leader = fmt.Sprintf("%s:%d", Address("redis1"), c.ports.Redis)
	case n.name == c.standby():
		m.Follow(c.at(c.primary))
	}
	return m
}

// at is where the Postgres of a host listens.
func (c *Cluster) at(name string) string {
	return fmt.Sprintf("%s:%d", Address(name), c.ports.Postgres)
}

// prepare makes the tables, and what Conveyor needs in Temporal.
func (c *Cluster) prepare(ctx context.Context) error {
	if err := c.addresses(); err != nil || c.opts.Binary == "" {
		return err
	}
	for _, command := range []string{"migrate", "bootstrap"} {
		cmd := exec.CommandContext(ctx, c.opts.Binary, command)
		cmd.Env = append(c.Env(), "CONVEYOR_HOME="+c.opts.Dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("conveyor %s: %w: %s", command, err, lastLines(out))
		}
	}
	return nil
}

// lastLines are those of a command's output that say why it failed.
func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

// addresses composes the variables by which Conveyor finds the engines, all hosts of each.
func (c *Cluster) addresses() error {
	vars := map[string]string{"TEMPORAL_NAMESPACE": devstack.Namespace}
	for _, key := range []string{"DATABASE_URL", "DATABASE_MIGRATE_URL"} {
		u, err := url.Parse(c.stack("pg1").Vars()[key])
		if err != nil {
			return fmt.Errorf("read %s: %w", key, err)
		}
		u.Host = c.at("pg1") + "," + c.at("pg2")
		u.RawQuery += "&target_session_attrs=read-write"
		vars[key] = u.String()
	}
	join := func(names []string, key string) {
		var list []string
		for _, name := range names {
			list = append(list, c.stack(name).Vars()[key])
		}
		vars[key] = strings.Join(list, ",")
	}
	join(Brokers, "RABBITMQ_URL")
	join(Brokers, "RABBITMQ_MANAGEMENT_URL")
	join(Temporals, "TEMPORAL_ADDRESS")
	redis, err := url.Parse(c.stack("redis1").Vars()["REDIS_URL"])
	if err != nil {
		return fmt.Errorf("read REDIS_URL: %w", err)
	}
	password, _ := redis.User.Password()
	q := url.Values{"master_name": {devstack.RedisMaster}, "password": {password}}
	for _, name := range Hosts[1:] {
		q.Add("addr", fmt.Sprintf("%s:%d", Address(name), devstack.SentinelPort))
	}
	redis.Host, redis.RawQuery = fmt.Sprintf("%s:%d", Address(Hosts[0]), devstack.SentinelPort), q.Encode()
	vars["REDIS_URL"] = redis.String()
	vars["CONVEYOR_SECRET_KEYS"] = c.stack("pg1").Vars()["CONVEYOR_SECRET_KEYS"]
	vars["CONVEYOR_BLOB_URL"] = "file://" + filepath.Join(c.opts.Dir, "blobs") // one disk for all hosts
	c.mu.Lock()
	defer c.mu.Unlock()
	c.vars = vars
	return nil
}

// programs are Conveyor's processes on a host.
func (c *Cluster) programs(host string) []devstack.Program {
	var list []devstack.Program
	for _, role := range []string{"worker", "bridge", "api"} {
		p := devstack.Program{
			Name: role, Command: []string{c.opts.Binary, role}, Ready: c.metrics(host, role),
			Env: append(c.Env(), "CONVEYOR_HOME="+filepath.Join(c.opts.Dir, host), "CONVEYOR_LOG_FORMAT=json",
				"CONVEYOR_API_URL="+c.API(host)),
		}
		if role == "api" {
			p.Env = append(p.Env, fmt.Sprintf("CONVEYOR_API_ADDRESS=%s:%d", Address(host), c.ports.API),
				"CONVEYOR_API_OPEN=true") // nothing but this cluster reaches it
			p.Ready = c.API(host) + "/ready"
		} else {
			p.Env = append(p.Env, "CONVEYOR_METRICS_ADDRESS="+metricsAt(host, role))
		}
		list = append(list, p)
	}
	return list
}

// metricsPorts are where the roles that serve nothing else show their metrics.
var metricsPorts = map[string]int{"worker": 9101, "bridge": 9102}

func metricsAt(host, role string) string {
	return fmt.Sprintf("%s:%d", Address(host), metricsPorts[role])
}

// metrics is the URL of a role's metrics.
func (c *Cluster) metrics(host, role string) string {
	if role == "api" {
		return c.API(host) + "/metrics"
	}
	return "http://" + metricsAt(host, role) + "/metrics"
}

// API is the URL of a host's API.
func (c *Cluster) API(host string) string {
	return fmt.Sprintf("http://%s:%d", Address(host), c.ports.API)
}

// Env are the variables by which Conveyor finds the engines, and the settings, as KEY=value.
func (c *Cluster) Env() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	for k, v := range c.vars {
		env = append(env, k+"="+v)
	}
	return append(env, c.opts.Settings...)
}

// Var is one of the variables of Env.
func (c *Cluster) Var(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.vars[key]
}

// stopWithin bounds the end of one rank of hosts.
const stopWithin = 40 * time.Second

// SuperURL is where the superuser of a host's Postgres connects.
func (c *Cluster) SuperURL(host string) string { return c.stack(host).SuperURL("postgres") }

// Within is the command that runs another one, which follows it, on a host.
func (c *Cluster) Within(host string) []string {
	return []string{"ip", "netns", "exec", c.wires.prefix + host}
}

// Stop ends every process, Conveyor's first, and removes the network. The data stay.
func (c *Cluster) Stop(ctx context.Context) error {
	var errs []error
	if c.unwatch != nil {
		c.unwatch()
	}
	if c.wires != nil {
		c.wires.release() // what is cut off or slow stops worse
	}
	ranks := [][]string{Hosts, Temporals, append(slices.Concat(Brokers, Redises), "tdb", c.standby()), {c.primary}}
	for _, rank := range ranks {
		ctx, cancel := context.WithTimeout(ctx, stopWithin)
		var g errgroup.Group
		for _, name := range rank {
			if s := c.stack(name); s != nil {
				g.Go(func() error { return s.Stop(ctx) })
			}
		}
		errs = append(errs, g.Wait())
		cancel()
	}
	if c.wires != nil {
		errs = append(errs, c.wires.remove(context.WithoutCancel(ctx)))
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close())
	}
	return errors.Join(errs...)
}
