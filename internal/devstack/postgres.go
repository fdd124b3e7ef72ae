package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// databaseURL is the address of one database of our own Postgres. User and password are public knowledge: the server
// listens on the loopback only.
func databaseURL(port int, name string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("conveyor", "conveyor"), Host: addr(port), Path: "/" + name,
		RawQuery: "sslmode=disable"}
	return u.String()
}

// postgres needs a user other than root to run as; when we are root it gets the user postgres of Debian, or "nobody",
// and its data folder belongs to that user.
func (s *Stack) postgres() ([]*service, error) {
	data := filepath.Join(s.opts.Dir, "data", Postgres)
	attr, err := s.postgresUser(data)
	if err != nil {
		return nil, err
	}
	bin := s.tools.postgres
	stopBy := syscall.SIGINT // "fast": ends sessions, writes a checkpoint
	if s.opts.Throwaway {
		stopBy = syscall.SIGQUIT // "immediate"
	}
	return []*service{{
		name: Postgres,
		at:   "127.0.0.1:" + strconv.Itoa(s.ports.Postgres),
		prepare: func(ctx context.Context) error {
			return s.initdb(ctx, filepath.Join(bin, "initdb"), data, attr)
		},
		command: func() *exec.Cmd {
			args := []string{"-D", data, "-p", strconv.Itoa(s.ports.Postgres)}
			for _, c := range postgresSettings(s.opts.Throwaway) {
				args = append(args, "-c", c)
			}
			cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
			cmd.Dir, cmd.SysProcAttr = "/", attr // not data: passFolders works from exec on, too late for that
			return cmd
		},
		probe: func(ctx context.Context) error { return pingPostgres(ctx, databaseURL(s.ports.Postgres, "postgres")) },
		settle: func(ctx context.Context) error {
			return createDatabases(ctx, databaseURL(s.ports.Postgres, "postgres"), "conveyor")
		},
		stopBy: stopBy,
		grace:  20 * time.Second,
		within: 60 * time.Second,
	}}, nil
}

// postgresSettings go to the command line, so that a data folder from an older Conveyor gets them too.
func postgresSettings(throwaway bool) []string {
	set := []string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=", // a path below a deep checkout may exceed the 107 bytes of a socket address
		"max_connections=300",      // Temporal takes up to 40, each test database a few
		"shared_buffers=256MB",
		"max_wal_size=2GB",
		"wal_level=minimal", "max_wal_senders=0", "max_logical_replication_workers=0", // nothing replicates from here
		"jit=off",                       // short statements only
		"default_toast_compression=lz4", // a tenth of pglz's time for payloads that are read as often as written
		"timezone=UTC", "log_timezone=UTC",
		// Temporal's queue tables are all insert and delete; the default waits for 20 % of the table.
		"autovacuum_vacuum_scale_factor=0.05", "autovacuum_naptime=20s",
		"log_min_messages=warning", "log_checkpoints=off",
	}
	if throwaway {
		set = append(set, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	return set
}

// postgresUser returns the process attributes for everything that runs on the data folder.
func (s *Stack) postgresUser(data string) (*syscall.SysProcAttr, error) {
	attr := procAttr(syscall.SIGINT)
	if os.Geteuid() != 0 {
		return attr, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("find a user for postgres, which refuses to run as root: %w", err)
	}
	uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uerr, gerr); err != nil {
		return nil, fmt.Errorf("read ids of user %q: %w", u.Username, err)
	}
	attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if closed := closedFolder(filepath.Dir(data)); closed != "" && !passFolders(attr) {
		return nil, fmt.Errorf("user %q, as which postgres runs, cannot enter %s: `chmod o+x %s`, or set CONVEYOR_HOME",
			u.Username, closed, closed)
	}
	return attr, nil
}

// closedFolder returns the first folder on the way to dir that others may not enter, or "".
func closedFolder(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode()&0o001 == 0 {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// initdb creates the cluster once. A folder that an interrupted initdb left half done has no PG_VERSION of ours: it is
// built next door and renamed when whole.
func (s *Stack) initdb(ctx context.Context, initdb, data string, attr *syscall.SysProcAttr) error {
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err == nil {
		return checkMajor(data, filepath.Base(filepath.Dir(s.tools.postgres)))
	}
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove half-made cluster: %w", err)
	}
	err := os.MkdirAll(filepath.Dir(fresh), 0o755) // postgres must get through it
	if err == nil {
		err = os.Mkdir(fresh, 0o700)
	}
	if err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	if c := attr.Credential; c != nil {
		if err := os.Chown(fresh, int(c.Uid), int(c.Gid)); err != nil {
			return fmt.Errorf("give data folder to postgres: %w", err)
		}
	}
	// trust: the password is public anyway, and checking it by SCRAM costs some milliseconds a connection.
	args := []string{"-D", fresh, "-U", "conveyor", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8"}
	if s.opts.Throwaway {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, initdb, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", baseEnv(), attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLine(out))
	}
	if err := os.Rename(fresh, data); err != nil {
		return fmt.Errorf("move new cluster into place: %w", err)
	}
	return nil
}

// checkMajor refuses a folder that another major version of Postgres has written, before the server does in its log.
func checkMajor(data, have string) error {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return fmt.Errorf("read cluster version: %w", err)
	}
	if v := lastLine(b); v != have {
		return fmt.Errorf("%s was written by Postgres %s, but %s is installed: dump and restore it, or delete it",
			data, v, have)
	}
	return nil
}

func pingPostgres(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT 1")
	return errors.Join(err, conn.Close(ctx))
}

// createDatabases creates those that are missing. CREATE DATABASE has no IF NOT EXISTS.
func createDatabases(ctx context.Context, url string, names ...string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, name := range names {
		var there bool
		row := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name)
		if err := row.Scan(&there); err != nil {
			return fmt.Errorf("look for database %q: %w", name, err)
		}
		if there {
			continue
		}
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
			return fmt.Errorf("create database %q: %w", name, err)
		}
	}
	return nil
}
