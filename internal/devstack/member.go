package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Member makes a stack one host of a cluster: its services listen at an address of its own and know the other hosts.
// Every member of a cluster has the same file of passwords (SharePasswords) and the same ports.
type Member struct {
	// Address is the host's, IPv4; Network the path of the network namespace that its processes start in.
	Address, Network string
	// Range is where the clients of Postgres, and its replicas, come from: a CIDR.
	Range string
	// Brokers are the addresses of all nodes of RabbitMQ, this one included.
	Brokers []string
	// Leader is the address of the Redis that the one here copies; "" = it is a leader. Sentinels watch it.
	Leader string
	// Shards is Temporal's numHistoryShards; 0 = as a stack has it.
	Shards int
	// Programs are started when the services are ready.
	Programs []Program

	mu      sync.Mutex
	standby string // address of the primary, see Follow
}

// Program is a process of ours on a host of a cluster.
type Program struct {
	Name    string
	Command []string
	Env     []string // beside what every process needs to run
	Ready   string   // URL that answers 200 when it works
}

// Follow makes the Postgres of this host a copy of the one at an address, host:port, from its next start on: as a
// standby that goes on copying. "" makes it stay what its data are. A standby that has its data keeps them; what was a
// primary is replaced by a new base backup, so that there are never two.
func (m *Member) Follow(primary string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.standby = primary
}

func (m *Member) primary() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.standby
}

func (m *Member) network() string {
	if m == nil {
		return ""
	}
	return m.Network
}

// SharePasswords gives the folder of a member the passwords of the cluster, which are in another and are made there at
// first. A member that has a file of its own keeps it: it is the same.
func SharePasswords(cluster, member string) error {
	s, err := loadSecrets(cluster)
	if err != nil {
		return err
	}
	if err := private(member); err != nil {
		return fmt.Errorf("create %s: %w", member, err)
	}
	if _, err := os.Stat(filepath.Join(member, "secrets")); err == nil {
		return nil
	}
	s.Cluster = false // of each Postgres its own
	return s.save(member)
}

// Install gets the programs that stacks with these services need, as Start does, and starts nothing.
func Install(ctx context.Context, o Options) error {
	s := &Stack{opts: o, show: NewProgress(o.Out)}
	defer s.show.Close()
	if s.opts.Bin == "" {
		s.opts.Bin = filepath.Join(o.Dir, "bin")
	}
	if err := s.install(ctx); err != nil || s.build == nil {
		return err
	}
	return s.build(ctx)
}

// Down ends a service, or with "" all of them, the last started first: as an operator does it, or with kill as a loss
// of power does. It stays away until Up.
func (s *Stack) Down(ctx context.Context, service string, kill bool) error {
	return s.each(ctx, service, true, restart{down: true, kill: kill})
}

// Up starts a service that is away, or with "" all that are, and returns when it answers.
func (s *Stack) Up(ctx context.Context, service string) error {
	return s.each(ctx, service, false, restart{up: true})
}

// each asks the keepers of a service, "" = of all, one after the other.
func (s *Stack) each(ctx context.Context, service string, backwards bool, r restart) error {
	list := slices.Clone(s.keepers)
	if backwards {
		slices.Reverse(list)
	}
	found := false
	for _, k := range list {
		if service != "" && k.svc.name != service {
			continue
		}
		found = true
		r.back = make(chan error, 1)
		select {
		case k.asked <- r:
		case <-k.quit:
			return fmt.Errorf("%s: the stack is being stopped", k.svc.name)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", k.svc.name, ctx.Err())
		}
		select {
		case err := <-r.back:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", k.svc.name, ctx.Err())
		}
	}
	if !found {
		return fmt.Errorf("this stack did not start %q", service)
	}
	return nil
}

// Names are the services and programs of the stack that are shown, in the order of their start.
func (s *Stack) Names() []string {
	var list []string
	for _, k := range s.keepers {
		if !k.svc.hidden {
			list = append(list, k.svc.name)
		}
	}
	return list
}

// programs are the services that run Conveyor.
func (s *Stack) programs() []*service {
	if s.opts.Member == nil {
		return nil
	}
	var list []*service
	needs := s.opts.Services
	for _, p := range s.opts.Member.Programs {
		list = append(list, &service{
			name: p.Name, needs: needs, at: p.Ready,
			command: func() *exec.Cmd {
				cmd := exec.Command(p.Command[0], p.Command[1:]...)
				cmd.Dir, cmd.Env = s.opts.Dir, append(baseEnv(), p.Env...)
				return cmd
			},
			probe:  func(ctx context.Context) error { return pingHTTP(ctx, p.Ready) },
			stopBy: syscall.SIGTERM,
			grace:  30 * time.Second,
			within: 90 * time.Second,
		})
	}
	return list
}

// postgresSettings are those of a server that has, or is, a replica, among others on a small machine.
func (m *Member) postgresSettings() []string {
	if m == nil {
		return nil
	}
	return []string{
		"wal_level=replica", "max_wal_senders=8", "wal_keep_size=256MB", "hot_standby=on", "shared_buffers=64MB",
		// A replica or a primary that was cut off is noticed in seconds.
		"wal_sender_timeout=10s", "wal_receiver_timeout=10s", "wal_receiver_status_interval=1s",
		"wal_retrieve_retry_interval=1s",
	}
}

// letIn lets clients and replicas of other hosts into a new cluster of databases, with a password.
func (m *Member) letIn(data string) error {
	if m == nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err == nil {
		_, err = fmt.Fprintf(f, "host all all %s scram-sha-256\nhost replication all %s scram-sha-256\n", m.Range, m.Range)
		err = errors.Join(err, f.Close())
	}
	return fault.Wrap(err, "let other hosts into Postgres")
}

// copyPrimary makes the data of a standby, unless they are there. It waits for no primary: one that is away is an
// error.
func (s *Stack) copyPrimary(ctx context.Context, data, primary string, attr *syscall.SysProcAttr) error {
	if _, err := os.Stat(filepath.Join(data, "standby.signal")); err == nil {
		return nil
	}
	fresh := data + ".new"
	err := errors.Join(os.RemoveAll(fresh), os.MkdirAll(filepath.Dir(fresh), 0o711), os.Mkdir(fresh, 0o700))
	if c := attr.Credential; c != nil && err == nil {
		err = os.Chown(fresh, int(c.Uid), int(c.Gid))
	}
	if err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.tools.postgres, "pg_basebackup"), "-D", fresh, "-X", "stream", "-R",
		"-c", "fast", "--no-sync", "-d", "postgres://"+roleSuper+"@"+primary+"/postgres?sslmode=disable")
	cmd.Dir, cmd.SysProcAttr = "/", attr
	cmd.Env = append(baseEnv(), "PGPASSWORD="+s.secrets.Superuser) // not on the command line, which others can read
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, lastLine(out))
	}
	s.secrets.Cluster = true
	if err := s.secrets.save(s.opts.Dir); err != nil {
		return err
	}
	return fault.Wrap(errors.Join(os.RemoveAll(data), os.Rename(fresh, data)), "move copy of the primary into place")
}

// settlePostgres sets up roles and databases, but on a standby, which has those of its primary.
func (s *Stack) settlePostgres(ctx context.Context) error {
	if s.opts.Member.primary() != "" {
		return nil
	}
	return s.setUpDatabases(ctx)
}

// Promote makes the standby of this host the primary, and returns when it takes writes. The caller has made sure that
// the old primary does not run: two of them would each take a part of the writes.
func (s *Stack) Promote(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.SuperURL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	// The name of its own standby came with the copy: commits would wait for it.
	for _, sql := range []string{sqlAsynchronous, sqlReload} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("promote: %w", err)
		}
	}
	var done bool
	if err := conn.QueryRow(ctx, sqlPromote).Scan(&done); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	if !done {
		return errors.New("promote: the standby is not the primary after a minute")
	}
	s.opts.Member.Follow("")
	return nil
}

// Synchronous makes each commit of this host's Postgres wait for a standby, or no longer.
func (s *Stack) Synchronous(ctx context.Context, on bool) error {
	conn, err := pgx.Connect(ctx, s.SuperURL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	set := sqlAsynchronous
	if on {
		set = sqlSynchronous
	}
	for _, sql := range []string{set, sqlReload} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("set synchronous_standby_names: %w", err)
		}
	}
	return nil
}

const (
	sqlPromote      = "SELECT pg_promote(true, 60)"
	sqlReload       = "SELECT pg_reload_conf()"
	sqlSynchronous  = "ALTER SYSTEM SET synchronous_standby_names = '*'"
	sqlAsynchronous = "ALTER SYSTEM RESET synchronous_standby_names"
)

// rabbitEnv makes a broker one of several: nodes are named by their addresses, for there is no name service.
func (m *Member) rabbitEnv() []string {
	if m == nil || m.Brokers == nil {
		return nil
	}
	return []string{
		"RABBITMQ_USE_LONGNAME=true", "RABBITMQ_NODENAME=" + nodeName(m.Address),
		// A node that is cut off is given up by the others after ten seconds; the default is a minute.
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none -kernel net_ticktime 10 " +
			"-kernel inet_dist_use_interface {" + strings.ReplaceAll(m.Address, ".", ",") + "}",
	}
}

func nodeName(address string) string { return "rabbit@" + address }

// rabbitConf lists the nodes. A minority that was cut off stops taking messages.
func (m *Member) rabbitConf() string {
	if m == nil || m.Brokers == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("cluster_formation.peer_discovery_backend = classic_config\n" +
		"cluster_partition_handling = pause_minority\nqueue_leader_locator = balanced\n" +
		"cluster_formation.randomized_startup_delay_range.min = 0\n" +
		"cluster_formation.randomized_startup_delay_range.max = 2\n")
	for i, at := range m.Brokers {
		fmt.Fprintf(&b, "cluster_formation.classic_config.nodes.%d = %s\n", i+1, nodeName(at))
	}
	return b.String()
}

// cookie writes the secret by which the nodes of a broker know each other.
func (s *Stack) cookie(home string) error {
	path := filepath.Join(home, ".erlang.cookie")
	if err := writePrivate(path, []byte(s.secrets.Cookie)); err != nil {
		return fmt.Errorf("write the cookie of the broker: %w", err)
	}
	return os.Chmod(path, 0o400)
}

// redisConf names the leader that a Redis copies, and lets Sentinels turn it into one.
func (m *Member) redisConf(password string) string {
	if m == nil {
		return ""
	}
	conf := "masterauth " + password + "\nrepl-timeout 10\nrepl-ping-replica-period 2\n"
	if m.Leader != "" {
		conf += "replicaof " + strings.ReplaceAll(m.Leader, ":", " ") + "\n"
	}
	return conf
}

// RedisMaster is the name by which Sentinels know the Redis of a cluster; SentinelPort is where they listen.
const (
	RedisMaster  = "conveyor"
	SentinelPort = 26379
)

// sentinel watches the Redis of a cluster. Two of three that cannot reach the leader make its replica the leader.
func (s *Stack) sentinel() ([]*service, error) {
	data := filepath.Join(s.opts.Dir, "data", Sentinel)
	config := filepath.Join(data, "sentinel.conf")
	at := fmt.Sprintf("%s:%d", s.host(), SentinelPort)
	leader := strings.ReplaceAll(s.opts.Member.Leader, ":", " ")
	text := fmt.Sprintf(`bind %s
port %d
dir %s
requirepass %s
sentinel sentinel-pass %s
sentinel monitor %s %s 2
sentinel auth-pass %s %s
sentinel down-after-milliseconds %s 3000
sentinel failover-timeout %s 10000
`, s.host(), SentinelPort, data, s.secrets.Redis, s.secrets.Redis, RedisMaster, leader, RedisMaster, s.secrets.Redis,
		RedisMaster, RedisMaster)
	return []*service{{
		name: Sentinel,
		at:   at,
		prepare: func(context.Context) error {
			return errors.Join(private(data), writePrivate(config, []byte(text)))
		},
		command: func() *exec.Cmd {
			cmd := exec.Command(s.tools.redis, config, "--sentinel")
			cmd.Dir = data
			return cmd
		},
		probe: func(ctx context.Context) error {
			c := redis.NewSentinelClient(&redis.Options{Addr: at, Password: s.secrets.Redis, MaxRetries: -1})
			defer func() { _ = c.Close() }()
			return c.Ping(ctx).Err()
		},
		stopBy: syscall.SIGTERM,
		grace:  5 * time.Second,
		within: 30 * time.Second,
	}}, nil
}

// Lock takes a folder for this process, as a stack takes its own: until the file is closed or the process ends. An
// ErrRunning says which process has it.
func Lock(dir string) (*os.File, error) {
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	return lock(dir, fmt.Sprintf("pid %d", os.Getpid()))
}

// EndLeftovers ends the processes that a killed driver has left of the stack in dir, unless another process runs it.
func EndLeftovers(dir string) {
	held, err := lock(dir, "being ended")
	if err != nil {
		return
	}
	endLeftovers(dir, 10*time.Second)
	_ = held.Close()
}

// WriteEnv writes the file env of a folder: KEY=value lines that a shell can source, for this user only.
func WriteEnv(dir string, vars map[string]string) error {
	return writeEnv(filepath.Join(dir, "env"), nil, vars)
}
