package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A world is one Conveyor with services of its own: two bridges, two workers and an API, each supervised, adverts that
// flow, and a consumer that reads every event.
type world struct {
	t        *testing.T
	ctx      context.Context // ends with the test, or when it takes too long
	cancel   context.CancelFunc
	without  string // a condition on workflows that are not waited for, beside others
	outside  string // more addresses that the roles may reach, each after a comma
	address  string // that servers of the test listen on: those of the outside world
	dir      string
	began    time.Time
	stack    *devstack.Stack // everything but our tables: Temporal's Postgres too
	app      *devstack.Stack // the Postgres of our tables
	services *os.File        // output of the stacks
	vars     map[string]string
	db       *pgxpool.Pool
	temporal client.Client
	hosts    map[string]*host
	disk     *disk
	release  release // that the roles run at first
	roles    []*role
	flow     *flow
	watch    *watch
	reader   *reader
	people   *people  // nil = nobody decides on homes
	settings []string // of every process, beside those of all worlds
	tempt    func()   // makes something happen that is written to the database
	// draftsFail says that the test has drafts fail: dead letters by the contract of crawl requests, which it follows.
	draftsFail bool
	pulse      func() string // changes while work goes on that is not counted among what is left

	dismiss func() // asks the roles to end
	gone    sync.WaitGroup

	postgres, broker sync.Mutex // held by a fault that takes the whole service away

	mu     sync.Mutex
	dice   *rand.Rand
	blows  []blow
	losses losses
}

// worlds counts those of this process.
var worlds atomic.Int64

// newWorld starts everything, and more services, and returns when adverts are taken.
func newWorld(t *testing.T, more []string, settings ...string) *world {
	t.Helper()
	return newWorldOf(t, release{binary: binary}, more, settings...)
}

// newWorldOf is newWorld with the binary of another release.
func newWorldOf(t *testing.T, of release, more []string, settings ...string) *world {
	t.Helper()
	return newWorldBeside(t, of, nil, more, settings...)
}

// newWorldBeside is newWorldOf with servers of the test that the roles may reach, too.
func newWorldBeside(t *testing.T, of release, sites []*httptest.Server, more []string, settings ...string) *world {
	t.Helper()
	within := 10 * servicetest.Patience() // all of its waits together: a run that comes to nothing ends
	if *long || *only != "" || *random > 0 {
		within = 80*time.Minute + *random
	}
	w, home := bareWorld(t, within, settings)
	w.release = of
	for _, s := range sites {
		w.outside += "," + strings.TrimPrefix(s.URL, "http://")
	}
	require.NoError(t, w.startServices(filepath.Join(home, "bin"), more))
	w.begin(w.usualRoles)
	return w
}

// bareWorld has no services yet. It returns the folder of the tools, too.
func bareWorld(t *testing.T, within time.Duration, settings []string) (w *world, home string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	home, err := homeDir()
	require.NoError(t, err)
	w = &world{t: t, ctx: ctx, cancel: cancel, address: "127.0.0.1", began: time.Now(),
		dice: rand.New(rand.NewPCG(*seed, 2)), settings: settings, release: release{binary: binary}}
	w.tempt, w.pulse = func() { w.flow.feed(1) }, func() string { return "" }
	// Swept by its name after a killed run.
	w.dir = filepath.Join(home, fmt.Sprintf("test-faults-%d-%d", os.Getpid(), worlds.Add(1)))
	require.NoError(t, os.MkdirAll(filepath.Join(w.dir, "log"), 0o755))
	t.Cleanup(func() { _ = devstack.Remove(w.dir) })
	w.services, err = os.Create(filepath.Join(w.dir, "log", "stack.log"))
	require.NoError(t, err)
	return w, home
}

// begin starts the outside world and Conveyor's roles, and returns when adverts are taken. The services are there.
func (w *world) begin(roles func() []*role) {
	t := w.t
	t.Helper()
	w.hosts = newHosts(w.serve)
	w.disk = newDisk(t, w.dir)
	var err error
	w.db, err = pgxpool.New(w.ctx, named(w.vars["DATABASE_URL"], "faults"))
	require.NoError(t, err)
	t.Cleanup(w.db.Close)
	frontend, _, _ := strings.Cut(w.vars["TEMPORAL_ADDRESS"], ",")
	w.temporal, err = client.NewLazyClient(client.Options{
		HostPort: frontend, Namespace: devstack.Namespace,
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(w.temporal.Close)

	for _, command := range []string{"migrate", "bootstrap"} {
		require.NoError(t, w.once(w.ctx, w.release, command))
	}
	tables, err := pgxpool.New(w.ctx, named(owner(w.vars), "faults"))
	require.NoError(t, err)
	_, err = tables.Exec(w.ctx, dbtest.KeepTold)
	tables.Close()
	require.NoError(t, err)
	w.flow, w.watch = newFlow(w.vars["RABBITMQ_URL"], w.hosts), newWatch(w.vars["RABBITMQ_URL"])
	require.NoError(t, w.watch.bind())
	w.startRoles(roles())
	require.NoError(t, eventually(w.ctx, servicetest.Patience(), w.healthy), "the roles are not healthy: %s", w.ailing())
	if w.stack != nil {
		// RabbitMQ 3.10 writes the directory of its quorum queues seconds after a queue is declared. One that is killed
		// before has a queue without a leader for ever, whoever uses it.
		require.NoError(t, w.rabbitmqctl(w.ctx, "eval", "[dets:sync(T) || T <- dets:all()]."))
	}
	w.reader = &reader{apis: w.of("api")}
	for _, run := range []func(context.Context){w.flow.run, w.watch.run, w.reader.run, w.weigh} {
		w.gone.Go(func() { run(w.ctx) })
	}
	t.Cleanup(func() { w.cancel(); w.dismiss(); w.gone.Wait() })
}

// homeDir is the folder of data and tools.
func homeDir() (string, error) {
	if dir := os.Getenv("CONVEYOR_HOME"); dir != "" {
		return dir, nil
	}
	return filepath.Abs(filepath.Join("..", "..", config.Home()))
}

// serve lets the outside world have a server.
func (w *world) serve(h http.Handler) *httptest.Server { return serveAt(w.t, w.address)(h) }

// serveAt makes servers that listen on an address.
func serveAt(t *testing.T, address string) func(http.Handler) *httptest.Server {
	return func(h http.Handler) *httptest.Server {
		t.Helper()
		listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		require.NoError(t, err)
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}}
		server.Start()
		t.Cleanup(server.Close)
		return server
	}
}

// startServices starts two stacks: our tables have a Postgres of their own, so that it can be away while Temporal works.
func (w *world) startServices(bin string, more []string) error {
	log := slog.New(slog.NewTextHandler(w.services, nil))
	services := append([]string{devstack.Postgres, devstack.RabbitMQ, devstack.Redis, devstack.Temporal}, more...)
	start := func(into **devstack.Stack, o devstack.Options) func() error {
		o.Bin, o.FreePorts, o.Log = bin, true, log
		return func() (err error) {
			*into, err = devstack.Start(w.ctx, o)
			return err
		}
	}
	var out io.Writer // of one world at a time
	if len(more) == 0 {
		out = os.Stderr
	}
	var both errgroup.Group
	both.Go(start(&w.stack, devstack.Options{Dir: w.dir, Services: services, Out: out}))
	both.Go(start(&w.app, devstack.Options{Dir: w.dir + "-app", Services: []string{devstack.Postgres}}))
	err := both.Wait()
	w.t.Cleanup(func() {
		for _, s := range []*devstack.Stack{w.stack, w.app} {
			if s != nil {
				_ = s.Stop(context.WithoutCancel(w.ctx))
			}
		}
		_ = os.RemoveAll(w.dir + "-app")
	})
	if err != nil {
		return err
	}
	w.vars = w.stack.Vars()
	for k, v := range w.app.Vars() {
		if strings.HasPrefix(k, "DATABASE_") {
			w.vars[k] = v
		}
	}
	return nil
}

// env is the environment of a process of ours. Its connections to Postgres carry its name.
func (w *world) env(name string) []string {
	env := os.Environ()
	for k, v := range w.vars {
		env = append(env, k+"="+v)
	}
	env = append(env,
		"DATABASE_URL="+named(w.vars["DATABASE_URL"], name), "CONVEYOR_HOME="+w.dir, "CONVEYOR_LOG_FORMAT=json",
		"CONVEYOR_BLOB_URL=file://"+w.disk.door, "CONVEYOR_ALLOW_PRIVATE_HOSTS="+addresses(w.hosts)+w.outside,
		"CONVEYOR_DEMO=true", "CONVEYOR_IMAGE_INTERVAL=20ms", "CONVEYOR_STOP_GRACE=5s",
		"CONVEYOR_UPLOAD_RESERVE=1048576", // of a small disk
		"CONVEYOR_STALENESS_EVERY=87600h", // the adverts of the flow are old: they are archived only on demand
		"CONVEYOR_API_ADDRESS="+strings.TrimPrefix(w.vars["CONVEYOR_API_URL"], "http://"),
	)
	return append(env, w.settings...)
}

// owner is the address of a stack's database for the role that owns it.
func owner(vars map[string]string) string {
	return cmp.Or(vars["DATABASE_MIGRATE_URL"], vars["DATABASE_URL"])
}

// named adds a name to the address of a database, by which its connections are told apart.
func named(database, name string) string { return database + "&application_name=" + name }

// usualRoles are two bridges, two workers and an API, on this machine.
func (w *world) usualRoles() (list []*role) {
	// A stack on free ports has a block of 32 to itself, beginning with the API's, and uses the first 18.
	spare := w.stack.Ports().API + 24
	for i, name := range []string{"bridge-1", "bridge-2", "worker-1", "worker-2", "api"} {
		command, _, _ := strings.Cut(name, "-")
		r := &role{name: name, command: command, env: w.env(name), ask: w.vars["CONVEYOR_API_URL"] + "/ready"}
		if command != "api" {
			metrics := fmt.Sprintf("127.0.0.1:%d", spare+i)
			r.env = append(r.env, "CONVEYOR_METRICS_ADDRESS="+metrics)
			r.ask = "http://" + metrics + "/metrics"
		}
		list = append(list, r)
	}
	return list
}

// startRoles starts the processes, each under its supervisor.
func (w *world) startRoles(list []*role) {
	ctx, dismiss := context.WithCancel(context.Background())
	var supervisors sync.WaitGroup
	w.dismiss = func() { dismiss(); supervisors.Wait() }
	for _, r := range list {
		file, err := os.Create(filepath.Join(w.dir, "log", r.name+".log"))
		require.NoError(w.t, err)
		r.log, r.release = &roleLog{file: file}, w.release
		w.roles = append(w.roles, r)
		supervisors.Go(func() { r.keep(ctx) })
	}
}

// of returns the roles of a kind: bridge, worker or api.
func (w *world) of(command string) (list []*role) {
	for _, r := range w.roles {
		if r.command == command {
			list = append(list, r)
		}
	}
	return list
}

func (w *world) healthy() bool { return w.ailing() == "" }

// ailing says which role is not healthy, and why; "" when all are.
func (w *world) ailing() string {
	var all []string
	for _, r := range w.roles {
		if why := w.sick(r); why != "" {
			all = append(all, r.name+": "+why)
		}
	}
	return strings.Join(all, "; ")
}

// sick says why a role is not healthy; "" when it is. It asks as an operator would.
func (w *world) sick(r *role) string {
	code, body, err := get(w.ctx, r.ask, 5*time.Second)
	switch {
	case err != nil:
		return err.Error()
	case code != http.StatusOK:
		return fmt.Sprint(code, " ", body)
	case r.command == "bridge":
		return idle(body)
	case r.command == "worker":
		if err := w.polls(r); err != nil {
			return err.Error()
		}
	}
	return ""
}

// idle says what a bridge does not consume, by its metrics.
func idle(metrics string) string {
	var closed []string
	open := 0
	for line := range strings.Lines(metrics) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "conveyor_consumer_open{") && !strings.HasSuffix(line, " 0"):
			open++
		case strings.HasPrefix(line, "conveyor_consumer_open{"),
			strings.HasPrefix(line, "conveyor_messages_held{") && !strings.HasSuffix(line, " 0"):
			closed = append(closed, line)
		}
	}
	if open == 0 {
		closed = append(closed, "no consumer is open")
	}
	return strings.Join(closed, ", ")
}

// get asks for a page.
func get(ctx context.Context, address string, within time.Duration) (code int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	code, all, err := devstack.Ask(ctx, http.MethodGet, address)
	return code, string(all), err
}

// A content is a body and its media type.
type content struct {
	kind string
	data []byte
	key  string // Idempotency-Key; "" = none
}

func body(text string) *content { return &content{kind: "application/json", data: []byte(text)} }

// ask sends a request to the API, of a tenant unless it is "".
func (w *world) ask(ctx context.Context, c *http.Client, tenant, method, path string, in *content) (code int, answer []byte, err error) {
	u, err := url.Parse(w.vars["CONVEYOR_API_URL"] + path)
	if err != nil {
		return 0, nil, err
	}
	if tenant != "" {
		q := u.Query()
		q.Set("tenant", tenant)
		u.RawQuery = q.Encode()
	}
	var data io.Reader
	if in != nil {
		data = bytes.NewReader(in.data)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), data)
	if err != nil {
		return 0, nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", in.kind)
		if in.key != "" {
			req.Header.Set("Idempotency-Key", in.key)
		}
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return resp.StatusCode, answer, err
}

// send has a request of the operator served, and decodes the answer into out, unless that is nil.
func (w *world) send(method, path, text string, out any) error {
	ctx, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	code, answer, err := w.ask(ctx, http.DefaultClient, "", method, path, body(text))
	return decoded(code, answer, err, out)
}

// decoded has an answer of the API decoded into out, unless that is nil; a refusal is an error.
func decoded(code int, answer []byte, err error, out any) error {
	switch {
	case err != nil:
		return err
	case code >= http.StatusBadRequest:
		return fmt.Errorf("%d %s: %s", code, http.StatusText(code), answer)
	case out == nil:
		return nil
	}
	return json.Unmarshal(answer, out)
}

// management asks the broker's management API, and decodes its answer.
func (w *world) management(method, path string, out any) (code int, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	code, answer, err := devstack.Ask(ctx, method, w.vars["RABBITMQ_MANAGEMENT_URL"]+path)
	if err != nil || out == nil || code != http.StatusOK {
		return code, err
	}
	return code, json.Unmarshal(answer, out)
}

// cut closes every connection of these names that the broker's management knows of, and says how many there were. It
// learns of a new one within five seconds.
func (w *world) cut(names ...string) (n int, err error) {
	var all []struct {
		Name       string         `json:"name"`
		Properties map[string]any `json:"client_properties"`
	}
	if _, err := w.management(http.MethodGet, "/api/connections", &all); err != nil {
		return 0, err
	}
	for _, c := range all {
		for _, name := range names {
			if c.Properties["connection_name"] != name {
				continue
			}
			code, err := w.management(http.MethodDelete, "/api/connections/"+url.PathEscape(c.Name), nil)
			if err != nil {
				return n, err
			}
			if code == http.StatusNoContent { // it may be gone already
				n++
			}
		}
	}
	return n, nil
}

// rabbitmqctl runs the broker's own tool.
func (w *world) rabbitmqctl(ctx context.Context, args ...string) error {
	home := filepath.Join(w.dir, "data", "rabbitmq")
	// Not the wrapper in /usr/sbin, which insists on the user rabbitmq and on the system's cookie.
	const script = `set -a; . "$0"; PATH=/usr/lib/rabbitmq/bin:$PATH; exec rabbitmqctl "$@"`
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, filepath.Join(home, "env")}, args...)...)
	cmd.Dir = home
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("rabbitmqctl %v: %w: %s", args, err, bytes.TrimSpace(out))
	}
	return nil
}

// say prints progress, with the time since the start.
func (w *world) say(format string, args ...any) {
	name := strings.TrimSuffix(strings.TrimPrefix(w.t.Name(), "TestTheLedger"), "Balances") // of its ledger
	fmt.Printf("%7.1fs  %s\n", time.Since(w.began).Seconds(), strings.TrimSpace(name+"  "+fmt.Sprintf(format, args...)))
}

// keepLogs moves the logs of a run that failed to where they outlive it.
func (w *world) keepLogs() {
	to := filepath.Join(os.TempDir(), fmt.Sprintf("conveyor-faults-%d-%s", *seed, filepath.Base(w.dir)))
	if err := os.CopyFS(to, os.DirFS(filepath.Join(w.dir, "log"))); err == nil {
		w.t.Logf("the output of the processes is in %s", to)
	}
}

// A reader asks the API without pause, for as long as the test lasts.
type reader struct {
	apis []*role // in turn

	mu      sync.Mutex
	answers map[string]int // by kind
	odd     map[string]int // answers that an API must not give, even while services are down
	slowest time.Duration
}

func (r *reader) run(ctx context.Context) {
	r.answers, r.odd = map[string]int{}, map[string]int{}
	paths := []string{"/health", "/listings?limit=3", "/ready"}
	for n := 0; pause(ctx, 200*time.Millisecond); n++ {
		path := paths[n%len(paths)]
		began := time.Now()
		api := r.apis[n/len(paths)%len(r.apis)]
		code, body, err := get(ctx, strings.TrimSuffix(api.ask, "/ready")+path, servicetest.Patience())
		if ctx.Err() != nil {
			return
		}
		took := time.Since(began)
		r.mu.Lock()
		r.slowest = max(r.slowest, took)
		switch {
		case err != nil && api.cutSince(began):
			r.answers["cut"]++
		case errors.Is(err, context.DeadlineExceeded):
			r.odd["no answer to "+path]++
		case err != nil: // it was killed
			r.answers["cut"]++
		case code == http.StatusOK || code == http.StatusServiceUnavailable && path != "/health":
			r.answers[fmt.Sprint(code)]++
		default:
			r.odd[fmt.Sprintf("%d to %s: %s", code, path, body)]++
		}
		r.mu.Unlock()
	}
}

// dial opens a channel on a connection of its own that is not part of the experiment.
func dial(addresses string) (ch *amqp.Channel, hangUp func(), err error) {
	conn, err := dialAs("ledger", addresses)
	if err != nil {
		return nil, nil, err
	}
	hangUp = func() { _ = conn.CloseDeadline(time.Now().Add(time.Second)) }
	if ch, err = conn.Channel(); err != nil {
		hangUp()
	}
	return ch, hangUp, err
}

// dialAs tries the nodes of a broker in turn.
func dialAs(name, addresses string) (conn *amqp.Connection, err error) {
	for address := range strings.SplitSeq(addresses, ",") {
		conn, err = amqp.DialConfig(address, amqp.Config{
			Dial: amqp.DefaultDial(2 * time.Second), Properties: amqp.Table{"connection_name": name},
		})
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}
