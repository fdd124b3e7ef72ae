package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// pgbouncer gives out the sessions of our Postgres a transaction at a time, to the application's role alone. It refuses
// to run as root, so it runs as the user of Postgres, with its files beside the data of that. It takes the oldest
// program that is supported, Debian's 1.18, which has no prepared statements in this mode.
func (s *Stack) pgbouncer() ([]*service, error) {
	attr, err := s.postgresUser()
	if err != nil {
		return nil, err
	}
	data, err := s.postgresData(attr)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(filepath.Dir(data), PgBouncer)
	conf := filepath.Join(home, "pgbouncer.ini")
	return []*service{{
		name:    PgBouncer,
		needs:   []string{Postgres},
		at:      s.addr(s.ports.PgBouncer),
		prepare: func(context.Context) error { return s.pgbouncerFiles(home, conf, attr) },
		command: func() *exec.Cmd {
			cmd := exec.Command(s.tools.pgbouncer, "-q", conf)
			cmd.Dir, cmd.SysProcAttr = "/", attr
			return cmd
		},
		probe: func(ctx context.Context) error {
			return pingPostgres(ctx, s.databaseURL(s.ports.PgBouncer, roleApp, s.secrets.App, "conveyor"))
		},
		stopBy: syscall.SIGINT, // waits for the transactions that are open
		grace:  5 * time.Second,
		within: 30 * time.Second,
	}}, nil
}

// pgbouncerFiles writes what docs/deployment.md recommends, for any database, and no setting that makes a client's
// session look kept: no startup parameter is ignored, nothing is reset between transactions.
func (s *Stack) pgbouncerFiles(home, conf string, attr *syscall.SysProcAttr) error {
	users := filepath.Join(home, "users")
	const limits = "SET statement_timeout = 60000; SET idle_in_transaction_session_timeout = 60000"
	text := fmt.Sprintf(`[databases]
* = host=127.0.0.1 port=%d connect_query='%s'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = scram-sha-256
auth_file = %s
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 12
log_connections = 0
log_disconnections = 0
`, s.ports.Postgres, limits, s.ports.PgBouncer, users)
	if err := private(home); err != nil {
		return fmt.Errorf("create folder of pgbouncer: %w", err)
	}
	// rand.Text has letters and digits only. PgBouncer needs the password itself to answer the server.
	err := errors.Join(writePrivate(conf, []byte(text)),
		writePrivate(users, fmt.Appendf(nil, "%q %q\n", roleApp, s.secrets.App)))
	if c := attr.Credential; c != nil && err == nil {
		for _, path := range []string{home, conf, users} {
			err = errors.Join(err, os.Chown(path, int(c.Uid), int(c.Gid)))
		}
	}
	return fault.Wrap(err, "write files of pgbouncer")
}
