package devstack

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/mtlrent/conveyor/domain/fault"
)

// dynamicConfig is written next to the server's data at each start; edits of the copy do not last.
//
//go:embed dynamicconfig.yaml
var dynamicConfig []byte

// The two databases of Temporal: where the sql tool finds their schema in itself, and the table that has rows as soon
// as there is anything to lose in one.
var temporalDatabases = map[string]struct{ schema, holds string }{
	"temporal":            {"postgresql/v12/temporal", "namespaces"},
	"temporal_visibility": {"postgresql/v12/visibility", "executions_visibility"},
}

// temporal is the server with all four of its services in one process, on the stack's Postgres or, with an external
// DATABASE_URL, on that one.
func (s *Stack) temporal() ([]*service, error) {
	data := filepath.Join(s.opts.Dir, "data", Temporal)
	config := filepath.Join(data, "dynamicconfig.yaml")
	pg, err := pgconn.ParseConfig(s.temporalURL())
	if err != nil {
		return nil, fmt.Errorf("read DATABASE_URL: %w", err)
	}
	if filepath.IsAbs(pg.Host) {
		return nil, fmt.Errorf("host %q of DATABASE_URL is a socket, Temporal needs TCP: set TEMPORAL_ADDRESS too", pg.Host)
	}
	return []*service{{
		name:  Temporal,
		needs: []string{Postgres, built},
		at:    s.addr(s.ports.Temporal),
		prepare: func(ctx context.Context) error {
			if err := errors.Join(private(data), os.WriteFile(config, dynamicConfig, 0o644)); err != nil {
				return err
			}
			return s.temporalSchema(ctx, pg)
		},
		command: func() *exec.Cmd {
			cmd := exec.Command(s.tools.temporalServer, "--allow-no-auth", "start")
			cmd.Dir, cmd.Env = data, append(baseEnv(), s.temporalEnv(pg, config)...)
			return cmd
		},
		probe:  func(ctx context.Context) error { return pingTemporal(ctx, s.addr(s.ports.Temporal)) },
		stopBy: syscall.SIGTERM,
		grace:  20 * time.Second,
		within: 90 * time.Second,
	}}, nil
}

func (s *Stack) temporalEnv(pg *pgconn.Config, config string) []string {
	p := s.ports
	env := []string{
		"DB=postgres12_pgx", "POSTGRES_SEEDS=" + pg.Host, "POSTGRES_USER=" + pg.User, "POSTGRES_PWD=" + pg.Password,
		"BIND_ON_IP=" + s.host(), "LOG_LEVEL=warn", "DYNAMIC_CONFIG_FILE_PATH=" + config,
		// Fixed at the first start; one is slower, more cost memory and polls.
		"NUM_HISTORY_SHARDS=" + strconv.Itoa(s.shards()),
		"GOGC=400", // about one CPU millisecond less a workflow, for some 100 MB
	}
	for name, port := range map[string]int{
		"DB_PORT": int(pg.Port), "FRONTEND_GRPC_PORT": p.Temporal, "FRONTEND_HTTP_PORT": p.TemporalHTTP,
		"HISTORY_GRPC_PORT": p.History, "MATCHING_GRPC_PORT": p.Matching, "WORKER_GRPC_PORT": p.Worker,
		"FRONTEND_MEMBERSHIP_PORT": p.MemberFrontend, "HISTORY_MEMBERSHIP_PORT": p.MemberHist,
		"MATCHING_MEMBERSHIP_PORT": p.MemberMatch, "WORKER_MEMBERSHIP_PORT": p.MemberWorker,
	} {
		env = append(env, name+"="+strconv.Itoa(port))
	}
	if pg.TLSConfig != nil {
		env = append(env, "SQL_TLS_ENABLED=true",
			"SQL_HOST_VERIFICATION="+strconv.FormatBool(!pg.TLSConfig.InsecureSkipVerify))
	}
	return env
}

// temporalURL is the address of a database of the server on which Temporal keeps its own.
func (s *Stack) temporalURL() string {
	if url := s.opts.External.DatabaseURL; url != "" {
		return url
	}
	return s.databaseURL(s.ports.Postgres, roleTemporal, s.secrets.Temporal, "postgres")
}

// temporalSchema creates or updates the schemas of both databases at once. On our own Postgres they exist.
func (s *Stack) temporalSchema(ctx context.Context, pg *pgconn.Config) error {
	var wg sync.WaitGroup
	errs := make(chan error, len(temporalDatabases))
	for name := range temporalDatabases {
		wg.Go(func() {
			if s.opts.External.DatabaseURL != "" {
				if err := s.createExternal(ctx, name); err != nil {
					errs <- err
					return
				}
			}
			errs <- s.makeSchema(ctx, pg, name)
		})
	}
	wg.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func (s *Stack) createExternal(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, s.temporalURL())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return createDatabase(ctx, conn, name)
}

// makeSchema brings the schema of a database up to date. The tool has no transactions, so what was cut short may have
// left a schema that it cannot go on with: where nothing is lost by it, the tables are made anew.
func (s *Stack) makeSchema(ctx context.Context, pg *pgconn.Config, database string) error {
	cfg, err := pgx.ParseConfig(s.temporalURL())
	if err != nil {
		return fmt.Errorf("read DATABASE_URL: %w", err)
	}
	cfg.Database = database
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	of := temporalDatabases[database]
	setup, update := []string{"setup-schema", "-v", "0.0"}, []string{"update-schema", "--schema-name", of.schema}
	versioned, err := exists(ctx, conn, "schema_version")
	if err == nil && !versioned {
		err = s.sqlTool(ctx, pg, database, setup)
	}
	if err == nil {
		err = s.sqlTool(ctx, pg, database, update)
	}
	if err == nil || ctx.Err() != nil || s.opts.External.DatabaseURL != "" { // on another's server, nothing is dropped
		return err
	}
	if held, lookErr := holds(ctx, conn, of.holds); held || lookErr != nil {
		return errors.Join(err, lookErr)
	}
	s.log.Warn("the schema was cut short while it was made: it is made anew", "database", database, "err", err)
	if err := s.sqlTool(ctx, pg, database, append(setup, "--overwrite")); err != nil {
		return err
	}
	return s.sqlTool(ctx, pg, database, update)
}

func exists(ctx context.Context, conn *pgx.Conn, table string) (there bool, err error) {
	err = conn.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", table).Scan(&there)
	return there, fault.Wrap(err, "look for the table %s", table)
}

// holds says whether there is such a table, with rows.
func holds(ctx context.Context, conn *pgx.Conn, table string) (held bool, err error) {
	if there, err := exists(ctx, conn, table); err != nil || !there {
		return false, err
	}
	err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+table+")").Scan(&held)
	return held, fault.Wrap(err, "look into the table %s", table)
}

func (s *Stack) sqlTool(ctx context.Context, pg *pgconn.Config, database string, run []string) error {
	args := []string{"--plugin", "postgres12_pgx", "--ep", pg.Host, "-p", strconv.Itoa(int(pg.Port)), "-u", pg.User,
		"--db", database}
	if pg.TLSConfig != nil {
		args = append(args, "--tls")
		if pg.TLSConfig.InsecureSkipVerify {
			args = append(args, "--tls-disable-host-verification")
		}
	}
	cmd := exec.CommandContext(ctx, s.tools.temporalSQL, append(args, run...)...)
	cmd.Env = append(baseEnv(), "SQL_PASSWORD="+pg.Password) // not on the command line, which every process can read
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s of %s: %w: %s", run[0], database, err, lastLine(out))
	}
	return nil
}

// pingTemporal asks the frontend for its health, and then for something that it cannot answer without the matching and
// history services and the database: just after a start the frontend is healthy alone.
func pingTemporal(ctx context.Context, at string) error {
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	health, err := grpc_health_v1.NewHealthClient(conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: "temporal.api.workflowservice.v1.WorkflowService"})
	if err != nil {
		return err
	}
	if health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("health is %s", health.GetStatus())
	}
	frontend := workflowservice.NewWorkflowServiceClient(conn)
	if _, err := frontend.DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace:     "temporal-system",
		TaskQueue:     &taskqueuepb.TaskQueue{Name: "conveyor-probe"},
		TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
	}); err != nil {
		return err
	}
	_, err = frontend.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "temporal-system", Execution: &commonpb.WorkflowExecution{WorkflowId: "conveyor-probe"},
	})
	if status.Code(err) == codes.NotFound {
		return nil // as it must be
	}
	return err
}

// temporalUI is the Web UI, which talks to Temporal only, and what answers at its address. On a host of a cluster it
// listens there itself: what leads to it from outside looks at Host.
func (s *Stack) temporalUI() ([]*service, error) {
	root := filepath.Join(s.opts.Dir, "data", TemporalUI)
	at := "http://" + s.addr(s.ports.TemporalUI)
	f := &front{guard: s.guardUI, log: s.log, cert: filepath.Join(root, "cert.pem"), key: filepath.Join(root, "key.pem")}
	port, tls := s.ports.TemporalUIBehind, fmt.Sprintf("uiServerTLS: {certFile: %q, keyFile: %q}\n", f.cert, f.key)
	if s.opts.Member != nil {
		port, tls = s.ports.TemporalUI, ""
	}
	config := fmt.Sprintf(`temporalGrpcAddress: %s
host: %s
port: %d
enableUi: true
defaultNamespace: %s
disableNewsFetch: true
hideLogs: true
disableWriteActions: true # it has no login: what is started and ended has a role and an audit, in the API
cors:
  cookieInsecure: true # plain HTTP on the loopback
  allowOrigins: ["%s", "http://localhost:%d"]
%s`, s.addr(s.ports.Temporal), s.host(), port, Namespace, at, s.ports.TemporalUI, tls)
	return []*service{{
		name:  TemporalUI,
		needs: []string{Temporal, built},
		at:    at,
		prepare: func(ctx context.Context) error {
			dir := filepath.Join(root, "config")
			if err := errors.Join(os.MkdirAll(dir, 0o755),
				os.WriteFile(filepath.Join(dir, "conveyor.yaml"), []byte(config), 0o644)); err != nil {
				return err
			}
			if s.opts.Member != nil {
				return nil
			}
			return f.open(ctx, s.addr(s.ports.TemporalUI), s.addr(port))
		},
		command: func() *exec.Cmd {
			cmd := exec.Command(s.tools.temporalUI, "--root", root, "--env", "conveyor", "start")
			cmd.Dir, cmd.Env = root, baseEnv()
			return cmd
		},
		probe:  func(ctx context.Context) error { return pingHTTP(ctx, at) },
		shut:   f.close,
		stopBy: syscall.SIGTERM,
		grace:  5 * time.Second,
		within: 30 * time.Second,
	}}, nil
}

// shards is the number of Temporal's history shards.
func (s *Stack) shards() int {
	if m := s.opts.Member; m != nil && m.Shards > 0 {
		return m.Shards
	}
	return 4
}
