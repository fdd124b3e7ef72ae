package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// startRedis starts the cheapest real stack there is.
func startRedis(t *testing.T, dir string) *Stack {
	t.Helper()
	s, err := Start(t.Context(), Options{Dir: dir, FreePorts: true, Services: []string{Redis}, NoInstall: true,
		Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func pingRedis(ctx context.Context, s *Stack) error {
	c := redis.NewClient(&redis.Options{Addr: addr(s.Ports().Redis), Password: s.secrets.Redis, MaxRetries: -1})
	defer func() { _ = c.Close() }()
	return c.Ping(ctx).Err()
}

func TestStackLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startRedis(t, dir)
	require.NoError(t, pingRedis(t.Context(), s))
	require.NoError(t, syscall.Kill(s.Pid(Redis), syscall.SIGKILL))
	eventually(t, "redis is back", func() bool { return pingRedis(t.Context(), s) == nil })
	if got, want := s.Vars()["REDIS_URL"], "redis://:"+s.secrets.Redis+"@"+addr(s.Ports().Redis)+"/0"; got != want {
		t.Errorf("REDIS_URL = %q; want %q", got, want)
	}
	if _, ok := s.Vars()["DATABASE_URL"]; ok {
		t.Error("DATABASE_URL is set, without a Postgres")
	}
	require.NoError(t, s.Stop(t.Context()))
	require.Error(t, pingRedis(t.Context(), s), "redis answers after Stop")
	if _, err := os.Stat(filepath.Join(dir, "env")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("env file after Stop: %v; want it gone", err)
	}
}

// Chromium answers with an empty profile, comes back when it dies, and leaves nothing.
func TestChromiumLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Start(t.Context(), Options{Dir: dir, FreePorts: true, Services: []string{Chromium}, NoInstall: true,
		External: External{Browser: os.Getenv("CONVEYOR_BROWSER"), BrowserDriver: os.Getenv("CONVEYOR_BROWSER_DRIVER")},
		Log:      slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { _ = s.Stop(context.Background()) }()
	at := s.Vars()["CHROME_DEVTOOLS_URL"]
	if want := "http://conveyor:" + s.secrets.DevTools + "@" + addr(s.Ports().Chromium); at != want || s.Vars()["CONVEYOR_BROWSER_DRIVER"] == "" {
		t.Errorf("variables are %v; want %s and the driver", s.Vars(), want)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.Pid(Chromium)))
	require.NoError(t, err)
	_, profile, _ := strings.Cut(string(line), "--user-data-dir=")
	profile, _, _ = strings.Cut(profile, "\x00")
	profile, _, _ = strings.Cut(profile, " ")
	old := filepath.Join(profile, "old")
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	first := s.Pid(Chromium)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	eventually(t, "Chromium is back", func() bool {
		p := s.Pid(Chromium)
		return p != 0 && p != first && pingHTTP(t.Context(), at+"/json/version") == nil
	})
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("file of the old profile: %v; want it gone", err)
	}
	require.NoError(t, s.Stop(t.Context()))
	require.Empty(t, living(leftovers(mark(dir))), "processes are left")
	if _, err := os.Stat(profile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("profile after Stop: %v; want it gone", err)
	}
}

func TestSecondStartInOneFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startRedis(t, dir)
	_, err := Start(t.Context(), Options{Dir: dir, FreePorts: true, Services: []string{Redis}})
	if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("second Start = %v; want ErrRunning with the pid of the first", err)
	}
	require.NoError(t, pingRedis(t.Context(), s), "the first stack after the second Start")
}

func TestPortInUseIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	ports, err := PortsFrom(func(string) string { return "" })
	require.NoError(t, err)
	ports.Redis = l.Addr().(*net.TCPAddr).Port
	_, err = Start(t.Context(), Options{Dir: t.TempDir(), Ports: ports, Services: []string{Redis}})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("port %d (Redis)", ports.Redis)) ||
		!strings.Contains(err.Error(), "CONVEYOR_REDIS_PORT") {
		t.Errorf("Start = %v; want the port and its variable", err)
	}
}

func TestExternalServicesAreUsedWhereTheyAre(t *testing.T) {
	t.Parallel()
	e := External{DatabaseURL: "postgres://db/x", RabbitMQURL: "amqp://mq/", ManagementURL: "http://mq",
		RedisURL: "redis://r", TemporalAddress: "t:7233", DevtoolsURL: "http://c:9222",
		Browser: "/b/chromium", BrowserDriver: "/b/driver"}
	s, err := Start(t.Context(), Options{Dir: t.TempDir(), FreePorts: true, External: e, NoInstall: true})
	require.NoError(t, err)
	defer func() { _ = s.Stop(t.Context()) }()
	require.Empty(t, s.keepers)
	want := "DATABASE_URL=postgres://db/x RABBITMQ_URL=amqp://mq/ RABBITMQ_MANAGEMENT_URL=http://mq REDIS_URL=redis://r " +
		"TEMPORAL_ADDRESS=t:7233 TEMPORAL_NAMESPACE=conveyor CONVEYOR_API_URL=http://" + addr(s.Ports().API) +
		" CHROME_DEVTOOLS_URL=http://c:9222 CONVEYOR_BROWSER=/b/chromium CONVEYOR_BROWSER_DRIVER=/b/driver"
	require.Equal(t, want, strings.Join(s.Env(), " "))
}

// A shell that has sourced the file env of a stack has its addresses after the stack has stopped, too.
// It is not parallel: a process that another test starts has copies of the sockets that freePorts closed, until its exec.
func TestAddressesOfAStoppedStackAreGone(t *testing.T) {
	p, held, err := freePorts()
	require.NoError(t, err)
	defer func() { _ = held.Close() }()
	l, err := net.Listen("tcp", addr(p.Redis))
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	e := External{DatabaseURL: "postgres://conveyor:x@" + addr(p.Postgres) + "/conveyor?sslmode=disable",
		RabbitMQURL: "amqp://mq:5672/", RedisURL: "redis://:x@" + addr(p.Redis) + "/0", TemporalAddress: addr(p.Temporal)}
	require.Equal(t, "DATABASE_URL TEMPORAL_ADDRESS", strings.Join(e.Gone(p), " "))
}

func TestSweepRemovesOnlyDeadStacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead, foreign := filepath.Join(dir, "test-dead"), filepath.Join(dir, "test-foreign")
	for _, d := range []string{dead, foreign} {
		require.NoError(t, os.Mkdir(d, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dead, "lock"), nil, 0o644))
	live := startRedis(t, filepath.Join(dir, "test-live"))
	Sweep(filepath.Join(dir, "test-*"))
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("dead stack: %v; want it gone", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("folder that is no stack: %v; want it left alone", err)
	}
	require.NoError(t, pingRedis(t.Context(), live), "live stack")
}

func TestScratch(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	durable, err := Scratch(home, true)
	if err != nil || filepath.Dir(durable) != home {
		t.Errorf("Scratch, durable = %q, %v; want a folder below %s", durable, err, home)
	}
	dir, err := Scratch(home, false)
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	want := home
	if memory := inMemory(); memory != "" {
		want = memory
	}
	require.Equal(t, want, filepath.Dir(dir))
}

// TestWholeStack asks every service of the running test stack by the probes that starting it waited for.
func TestWholeStack(t *testing.T) {
	t.Parallel()
	if os.Getenv("CONVEYOR_TEST") == "" {
		t.Fatal("no services: run `make test`, or `bin/conveyor with-services -- go test ./internal/devstack`")
	}
	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	defer cancel()
	for name, err := range map[string]error{
		Postgres:     pingPostgres(ctx, os.Getenv("DATABASE_URL")),
		RabbitMQ:     pingAMQP(os.Getenv("RABBITMQ_URL")),
		"management": pingHTTP(ctx, os.Getenv("RABBITMQ_MANAGEMENT_URL")+"/api/overview"),
		Chromium:     pingHTTP(ctx, os.Getenv("CHROME_DEVTOOLS_URL")+"/json/version"),
		Temporal:     pingTemporal(ctx, os.Getenv("TEMPORAL_ADDRESS")),
	} {
		assert.NoError(t, err, name)
	}
}

// The Web UI of Temporal has no login: it is for this machine, and changes nothing.
func TestTemporalUIOnlyReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	services, err := (&Stack{opts: Options{Dir: dir}, log: slog.New(slog.DiscardHandler)}).temporalUI()
	if err == nil {
		err = services[0].prepare(t.Context())
		defer services[0].shut()
	}
	require.NoError(t, err)
	config, err := os.ReadFile(filepath.Join(dir, "data", TemporalUI, "config", "conveyor.yaml"))
	require.NoError(t, err)
	for _, want := range []string{"disableWriteActions: true", "host: 127.0.0.1"} {
		if !strings.Contains(string(config), want+"\n") && !strings.Contains(string(config), want+" #") {
			t.Errorf("no %q in\n%s", want, config)
		}
	}
}

// The frontend answers by HTTP, too, and has no password: by no other name than its address.
func TestTemporalHTTPChecksHost(t *testing.T) {
	t.Parallel()
	if !bytes.Contains(dynamicConfig, []byte("\nfrontend.httpAllowedHosts: [{value: [\"127.0.0.1:*\"]}]\n")) {
		t.Errorf("frontend.httpAllowedHosts is not 127.0.0.1 alone")
	}
}

// TestDynamicConfigIsValid asks the server itself, which ignores keys that it does not know when it starts.
func TestDynamicConfigIsValid(t *testing.T) {
	t.Parallel()
	server := filepath.Join(goTools[0].dir(""), "server")
	if _, err := os.Stat(server); err != nil {
		t.Fatalf("no Temporal server: run `make test`, which builds it (%v)", err)
	}
	out, err := exec.Command(server, "validate-dynamic-config", "dynamicconfig.yaml").CombinedOutput()
	if err != nil || strings.Contains(string(out), "unregistered") {
		t.Errorf("validate-dynamic-config: %v\n%s", err, out)
	}
}
