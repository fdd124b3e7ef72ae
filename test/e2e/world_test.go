// Package e2e tests the whole thing: the built binary, a process a role, real services, and an outside world that
// misbehaves on script.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// binary is the conveyor under test: that of the Makefile, or one that is built first.
var binary = os.Getenv("CONVEYOR_TEST_BINARY")

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	if binary == "" {
		dir, err := os.MkdirTemp("", "conveyor-e2e-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "conveyor")
		if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/conveyor").CombinedOutput(); err != nil {
			panic(fmt.Sprintf("build: %v\n%s", err, out))
		}
	}
	defer stopSpaces()
	return m.Run()
}

// A world is one Conveyor: a database, a vhost and a namespace of its own, and the roles that a test starts.
type world struct {
	t        *testing.T
	dir      string
	env      []string
	db       *pgxpool.Pool
	part     string // address of the database for the role of the API
	broker   *bridgetest.Broker
	temporal client.Client
	space    string // namespace
	api      string // address
	site     *demosite.Site
	siteURL  string
	door     *atomic.Pointer[func(*http.Request)] // told of each request before the site is
}

// newWorld makes a world in which the schema, the queues and the namespace exist and nothing runs.
func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	return newWorldAround(t, demosite.New(demosite.Options{}), settings...)
}

// newWorldAround makes a world whose outside is site.
func newWorldAround(t *testing.T, site *demosite.Site, settings ...string) *world {
	t.Helper()

	name := takeSpace(t)
	w := &world{
		t: t, dir: t.TempDir(), db: dbtest.New(t), space: name, site: site, door: new(atomic.Pointer[func(*http.Request)]),
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if told := w.door.Load(); told != nil {
			(*told)(r)
		}
		w.site.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	w.siteURL = server.URL
	w.broker = bridgetest.New(t)
	address := freeAddress(t)
	w.api = "http://" + address
	w.env = append(os.Environ(),
		"DATABASE_URL="+w.db.Config().ConnString(), "DATABASE_MIGRATE_URL="+dbtest.Owner(t, w.db),
		"RABBITMQ_URL="+w.broker.URL, "TEMPORAL_NAMESPACE="+name,
		"CONVEYOR_HOME="+w.dir, "CONVEYOR_API_ADDRESS="+address, "CONVEYOR_API_URL="+w.api,
		"CONVEYOR_LOG_FORMAT=json",
		"CONVEYOR_API_RATE=0", "CONVEYOR_API_WRITE_RATE=0", // the tests share a Redis and an address
		"CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(server.URL, "http://"), "CONVEYOR_DEMO=true",
		"CONVEYOR_IMAGE_INTERVAL=10ms",
		"CONVEYOR_STALENESS_EVERY=87600h", // the adverts of these tests are old: they are archived only on demand
	)
	if os.Getenv("DATABASE_LISTEN_URL") != "" { // DATABASE_URL is a pooler, which knows no other role
		w.env = append(w.env, "DATABASE_LISTEN_URL="+dbtest.Direct(t, w.db))
	} else {
		w.part = dbtest.Part(t, w.db, "api").Config().ConnString()
	}
	w.env = append(w.env, settings...)
	var err error
	w.temporal, err = client.NewLazyClient(client.Options{HostPort: servicetest.Address(t, "TEMPORAL_ADDRESS"), Namespace: name})
	require.NoError(t, err)
	t.Cleanup(w.temporal.Close)
	t.Cleanup(func() { unschedule(w.temporal) })
	t.Cleanup(w.replayClosed)
	t.Cleanup(w.explain)
	w.run("bootstrap")
	return w
}

// in is the world as a case of its test has it: what fails there fails the case, and what the case starts ends with it.
func (w *world) in(t *testing.T) *world {
	c := *w
	c.t, c.broker = t, w.broker.In(t)
	return &c
}

// explain logs, for a test that has failed, which workflows are still running and what they wait for.
func (w *world) explain() {
	if !w.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	open, err := w.temporal.ListOpenWorkflow(ctx, &workflowservice.ListOpenWorkflowExecutionsRequest{MaximumPageSize: 10})
	if err != nil {
		w.t.Logf("no workflows to be seen: %v", err)
		return
	}
	for _, e := range open.GetExecutions() {
		d, err := w.temporal.DescribeWorkflowExecution(ctx, e.GetExecution().GetWorkflowId(), "")
		w.t.Logf("%s runs: tasks %v, activities %v, %v", e.GetExecution().GetWorkflowId(), d.GetPendingWorkflowTask(),
			d.GetPendingActivities(), err)
	}
}

// nextPort is where freeAddress looks next. Its ports lie below those that the system gives to outgoing connections
// (32768 on) and those of the services (20000 on), so that nobody takes one between its closing and its use.
var nextPort = func() *atomic.Int32 {
	n := new(atomic.Int32)
	n.Store(int32(os.Getpid() % 250 * 40))
	return n
}()

func freeAddress(t *testing.T) string {
	t.Helper()

	for range 10000 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10000+nextPort.Add(1)%10000))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("every port from 10000 to 19999 is in use")
	return ""
}

// run runs a command of conveyor to its end.
func (w *world) run(args ...string) string {
	w.t.Helper()

	cmd := exec.CommandContext(w.t.Context(), binary, args...)
	cmd.Env = w.env
	out, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "conveyor %v: %s", args, out)
	return string(out)
}

// alter changes the schema, as the owner of the tables.
func (w *world) alter(sql string) {
	w.t.Helper()

	dbtest.Alter(w.t, w.db, sql)
}

// A process is a role that runs.
type process struct {
	cmd  *exec.Cmd
	role string
	log  *syncBuffer
	end  chan struct{}
}

// start starts a role, with settings of its own. It is killed when the test ends, if it has not ended by then.
func (w *world) start(role string, settings ...string) *process {
	w.t.Helper()

	p := &process{cmd: exec.Command(binary, role), role: role, log: new(syncBuffer), end: make(chan struct{})}
	p.cmd.Env = slices.Clone(w.env)
	if role == "api" && w.part != "" {
		p.cmd.Env = append(p.cmd.Env, "DATABASE_URL="+w.part)
	}
	p.cmd.Env = append(p.cmd.Env, settings...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(w.t, p.cmd.Start())
	go func() { // ends with the process
		_ = p.cmd.Wait()
		close(p.end)
	}()
	w.t.Cleanup(func() {
		p.kill()
		if w.t.Failed() {
			w.t.Logf("%s said at the end:\n%s", role, p.log.tail(6000))
		}
	})
	return p
}

// kill is kill -9, and returns when the process is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.end
}

// stop asks the process to end, and requires that it exits cleanly.
func (p *process) stop(t *testing.T) {
	t.Helper()

	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.end:
		require.Equal(t, 0, p.cmd.ProcessState.ExitCode(), p.log.tail(3000))
	case <-time.After(servicetest.Patience()):
		t.Fatalf("%s does not stop: %s", p.role, p.log.tail(3000))
	}
}

// publish sends bodies to an exchange and waits for the confirms.
func (w *world) publish(exchange, key string, bodies ...[]byte) {
	w.t.Helper()
	w.broker.Publish(exchange, key, bodies...)
}

// eventually waits for a condition on the world, for as long as work may take on a busy machine.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	require.Eventually(w.t, ok, 2*servicetest.Patience(), 100*time.Millisecond, what)
}

// one reads one value.
func one[T any](w *world, sql string, args ...any) T {
	w.t.Helper()

	var v T
	require.NoError(w.t, w.db.QueryRow(w.t.Context(), sql, args...).Scan(&v), sql)
	return v
}

// send asks the API to do something; "" is no body.
func (w *world) send(method, path, body string) int {
	w.t.Helper()

	r, err := http.NewRequestWithContext(w.ctx(), method, w.api+path, strings.NewReader(body))
	require.NoError(w.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	return resp.StatusCode
}

// get reads JSON from the API. The status is 0 while it does not answer.
func (w *world) get(path string, out any) int {
	w.t.Helper()

	resp, err := http.Get(w.api + path)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	if out != nil {
		require.NoError(w.t, json.Unmarshal(body, out), string(body))
	}
	return resp.StatusCode
}

// drain takes everything that lies in a queue.
func (w *world) drain(queue string) []amqp.Delivery {
	w.t.Helper()

	ch := w.broker.Channel()
	var out []amqp.Delivery
	for {
		d, ok, err := ch.Get(queue, true)
		require.NoError(w.t, err)
		if !ok {
			return out
		}
		out = append(out, d)
	}
}

// running makes a world with a worker and a bridge that has its queues.
func running(t *testing.T) (w *world, bridge *process) {
	t.Helper()

	w = newWorld(t)
	w.start("worker")
	bridge = w.start("bridge")
	w.ready()
	return w, bridge
}

// ready waits until the bridge consumes.
func (w *world) ready() {
	w.t.Helper()

	w.eventually("the bridge consumes", func() bool {
		q, err := w.broker.Channel().QueueDeclarePassive("scraped.kijiji", true, false, false, false, nil)
		return err == nil && q.Consumers > 0
	})
}

// advert is a message of scraped.kijiji that becomes a listing.
func advert(id string, change ...func(map[string]any)) []byte {
	m := map[string]any{
		"platform": "kijiji", "platform_id": id, "url": "https://www.kijiji.ca/v-appartement/" + id,
		"scraped_at": "2026-01-10T12:00:00Z", "title": "Grand 4 ½ rénové près du métro " + id,
		"description": "<p>Deux chambres fermées, chauffé, éclairé.</p>",
		"price":       map[string]any{"amount_cents": 145000, "type": "FIXED", "text": "1 450,00 $"},
		"address":     "6280 Northcrest, Montréal, QC H3S 2N1", "latitude": 45.51195, "longitude": -73.62514,
		"attributes": map[string]any{"numberbedrooms": []string{"2"}}, "image_urls": []string{},
		"contact": map[string]any{"name": "Jo", "phone": "514 555 0199"},
	}
	for _, f := range change {
		f(m)
	}
	body, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return body
}

func with(key string, value any) func(map[string]any) {
	return func(m map[string]any) { m[key] = value }
}

// syncBuffer is a log that is written and read at once.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) tail(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.b.Bytes()
	return string(b[max(0, len(b)-n):])
}

func (w *world) ctx() context.Context { return w.t.Context() }
