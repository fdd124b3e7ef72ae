package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/chromium"
)

// The roles of our own Postgres. The superuser does nothing but make the others; the application's role owns nothing.
const (
	roleSuper    = "postgres"
	roleOwner    = "conveyor_owner" // of the database conveyor and its tables: conveyor migrate
	roleApp      = "conveyor"
	roleTemporal = "temporal"
)

// databaseURL is the address of one database of our own Postgres.
func (s *Stack) databaseURL(port int, role, password, name string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, password), Host: s.addr(port),
		Path: "/" + name, RawQuery: "sslmode=disable"}
	return u.String()
}

// SuperURL is the address of a database for the superuser.
func (s *Stack) SuperURL(name string) string {
	address := s.databaseURL(s.ports.Postgres, roleSuper, s.secrets.Superuser, name)
	if s.opts.Member != nil {
		address += "&synchronous_commit=local" // a primary is set up before its standby, for which it may have to wait
	}
	return address
}

// postgres needs a user other than root to run as; when we are root it gets the user postgres of Debian, or "nobody",
// and its data folder belongs to that user.
func (s *Stack) postgres() ([]*service, error) {
	attr, err := s.postgresUser()
	if err != nil {
		return nil, err
	}
	data, err := s.postgresData(attr)
	if err != nil {
		return nil, err
	}
	s.tools.of(data)
	bin := s.tools.postgres
	stopBy := syscall.SIGINT // "fast": ends sessions, writes a checkpoint
	if s.opts.Throwaway {
		stopBy = syscall.SIGQUIT // "immediate"
	}
	at := s.addr(s.ports.Postgres)
	if filepath.Dir(filepath.Dir(data)) != s.opts.Dir {
		at += ", data in " + data
	}
	return []*service{{
		name: Postgres,
		at:   at,
		prepare: func(ctx context.Context) error {
			if primary := s.opts.Member.primary(); primary != "" {
				return s.copyPrimary(ctx, data, primary, attr)
			}
			return s.prepareCluster(ctx, data, attr)
		},
		command: func() *exec.Cmd {
			args := []string{"-D", data, "-p", strconv.Itoa(s.ports.Postgres)}
			for _, c := range s.postgresSettings() {
				args = append(args, "-c", c)
			}
			cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
			cmd.Dir, cmd.SysProcAttr = "/", attr
			return cmd
		},
		probe:  func(ctx context.Context) error { return pingPostgres(ctx, s.SuperURL("postgres")) },
		settle: s.settlePostgres,
		stopBy: stopBy,
		grace:  20 * time.Second,
		within: 60 * time.Second,
	}}, nil
}

// postgresSettings go to the command line, so that a data folder from an older Conveyor gets them too.
func (s *Stack) postgresSettings() []string {
	set := []string{
		"listen_addresses=" + s.host(),
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
	set = append(set, s.opts.Member.postgresSettings()...)
	if s.opts.Throwaway {
		set = append(set, "fsync=off", "full_page_writes=off")
		if s.opts.Member == nil { // a commit that waits for no disk would wait for no replica either
			set = append(set, "synchronous_commit=off")
		}
	}
	return set
}

// postgresUser returns the process attributes for everything that runs on the data folder. They hold no capabilities:
// whoever may run SQL as the superuser may run programs and read files as this user.
func (s *Stack) postgresUser() (*syscall.SysProcAttr, error) {
	attr := procAttr(syscall.SIGINT)
	if os.Geteuid() != 0 {
		return attr, nil
	}
	var err error
	if attr.Credential, err = chromium.Unprivileged("postgres", "nobody"); err != nil {
		return nil, fmt.Errorf("find a user for postgres, which refuses to run as root: %w", err)
	}
	return attr, nil
}

// outside is where data of Postgres lies when its user cannot enter the stack's folder, such as one below /root.
const outside = "/var/lib/conveyor"

// postgresData returns the data folder. Where another user could not reach it in the stack's folder, it is a folder of
// its own below outside, to which data/postgres is then a link; a cluster that exists is moved there.
func (s *Stack) postgresData(attr *syscall.SysProcAttr) (string, error) {
	data := filepath.Join(s.opts.Dir, "data", Postgres)
	if to, err := os.Readlink(data); err == nil {
		return to, nil
	}
	if attr.Credential == nil {
		return data, nil
	}
	if chromium.Closed(filepath.Dir(s.opts.Dir)) == "" {
		for _, dir := range []string{s.opts.Dir, filepath.Dir(data)} { // others may pass, and see nothing
			if err := errors.Join(os.MkdirAll(dir, 0o711), os.Chmod(dir, 0o711)); err != nil {
				return "", fmt.Errorf("create data folder: %w", err)
			}
		}
		return data, nil
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(data), 0o700), os.MkdirAll(outside, 0o711), os.Chmod(outside, 0o711))
	if err != nil {
		return "", fmt.Errorf("create data folder: %w", err)
	}
	dir, err := os.MkdirTemp(outside, "stack-*")
	if err != nil {
		return "", fmt.Errorf("create data folder: %w", err)
	}
	to := filepath.Join(dir, Postgres)
	err = os.Chmod(dir, 0o711)
	if _, old := os.Lstat(data); old == nil && err == nil {
		if err = os.Rename(data, to); err != nil {
			err = fmt.Errorf("%w: stop everything that uses it, and `mv %s %s && ln -s %s %s`", err, data, to, to, data)
		}
	}
	if err == nil {
		err = os.Symlink(to, data)
	}
	return to, fault.Wrap(err, "keep the data of Postgres where its user can reach it")
}

// Remove deletes the folder of a stack that does not run, with data of Postgres that lies elsewhere.
func Remove(dir string) error {
	to, err := os.Readlink(filepath.Join(dir, "data", Postgres))
	if err == nil && filepath.Dir(filepath.Dir(to)) == outside {
		err = os.RemoveAll(filepath.Dir(to))
	} else {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// prepareCluster creates the cluster once, or makes one of an older version, which let everybody in, ask for passwords.
func (s *Stack) prepareCluster(ctx context.Context, data string, attr *syscall.SysProcAttr) error {
	if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); err != nil {
		return s.initdb(ctx, data, attr)
	}
	if err := checkMajor(data, strconv.Itoa(s.tools.major)); err != nil || s.secrets.Cluster {
		return err
	}
	s.log.Warn("the Postgres cluster gets new passwords: use the addresses in the file env", "data", data)
	f, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0)
	if err == nil {
		_, err = f.WriteString("host all all 127.0.0.1/32 scram-sha-256\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("make Postgres ask for passwords: %w", err)
	}
	// Without a network, as the first superuser. The first line fails where there is such a role.
	cmd := exec.CommandContext(ctx, filepath.Join(s.tools.postgres, "postgres"), "--single", "-D", data, "postgres")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", baseEnv(), attr
	cmd.Stdin = strings.NewReader("CREATE ROLE " + roleSuper + " SUPERUSER LOGIN\n" +
		"ALTER ROLE " + roleSuper + " SUPERUSER LOGIN PASSWORD '" + s.secrets.Superuser + "'\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("set the password of Postgres: %w: %s", err, lastLine(out))
	}
	s.secrets.Cluster = true
	return s.secrets.save(s.opts.Dir)
}

// initdb creates the cluster. A folder that an interrupted initdb left half done has no PG_VERSION of ours: it is built
// next door and renamed when whole.
func (s *Stack) initdb(ctx context.Context, data string, attr *syscall.SysProcAttr) error {
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove half-made cluster: %w", err)
	}
	err := errors.Join(os.MkdirAll(filepath.Dir(fresh), 0o711), os.Mkdir(fresh, 0o700))
	if err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	if c := attr.Credential; c != nil {
		if err := os.Chown(fresh, int(c.Uid), int(c.Gid)); err != nil {
			return fmt.Errorf("give data folder to postgres: %w", err)
		}
	}
	password := data + ".password" // on the command line it could be read by every process
	err = writePrivate(password, []byte(s.secrets.Superuser+"\n"))
	defer func() { _ = os.Remove(password) }()
	if c := attr.Credential; c != nil && err == nil {
		err = os.Chown(password, int(c.Uid), int(c.Gid))
	}
	if err != nil {
		return fmt.Errorf("write the password of postgres: %w", err)
	}
	args := []string{"-D", fresh, "-U", roleSuper, "--auth=scram-sha-256", "--pwfile=" + password, "-E", "UTF8",
		"--locale=C.UTF-8"}
	if s.opts.Throwaway {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.tools.postgres, "initdb"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", baseEnv(), attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, lastLine(out))
	}
	s.secrets.Cluster = true
	if err := s.secrets.save(s.opts.Dir); err != nil {
		return err
	}
	if err := s.opts.Member.letIn(fresh); err != nil {
		return err
	}
	return fault.Wrap(os.Rename(fresh, data), "move new cluster into place")
}

// checkMajor refuses a folder that another major version of Postgres has written, before the server does in its log.
func checkMajor(data, have string) error {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return fmt.Errorf("read cluster version: %w", err)
	}
	if v := lastLine(b); v != have {
		return fmt.Errorf("%[1]s was written by Postgres %[2]s, but %[3]s is installed: install %[2]s, or dump and "+
			"restore it", data, v, have)
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

// setUpDatabases makes the roles and databases that are missing, and gives each role its password of this stack.
func (s *Stack) setUpDatabases(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.SuperURL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	// A cluster of an older version was made by a superuser of the application's name. No other role can take its place.
	var first string
	if err := conn.QueryRow(ctx, "SELECT rolname FROM pg_roles WHERE oid = 10").Scan(&first); err != nil {
		return fmt.Errorf("look for the first superuser: %w", err)
	}
	if first == roleApp {
		s.log.Warn("the role conveyor of Postgres is no superuser any more: conveyor_owner owns the tables")
		const rename = "ALTER ROLE conveyor RENAME TO conveyor_before; ALTER ROLE conveyor_before NOLOGIN"
		if _, err := conn.Exec(ctx, rename); err != nil {
			return fmt.Errorf("rename the superuser conveyor: %w", err)
		}
	}
	owners := "NOSUPERUSER NOCREATEDB"
	if s.opts.CreateDB {
		owners = "NOSUPERUSER CREATEDB CREATEROLE"
	}
	for _, r := range []struct{ name, password, may string }{
		{roleApp, s.secrets.App, "NOSUPERUSER NOCREATEDB"},
		{roleOwner, s.secrets.Owner, owners},
		{roleTemporal, s.secrets.Temporal, "NOSUPERUSER NOCREATEDB"},
	} {
		verb := "ALTER"
		var there bool
		row := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", r.name)
		if err := row.Scan(&there); err != nil {
			return fmt.Errorf("look for role %q: %w", r.name, err)
		}
		if !there {
			verb = "CREATE"
		}
		// rand.Text has letters and digits only.
		set := fmt.Sprintf("%s ROLE %s LOGIN %s PASSWORD '%s'", verb, r.name, r.may, r.password)
		if _, err := conn.Exec(ctx, set); err != nil {
			return fmt.Errorf("set up role %q: %w", r.name, err)
		}
	}
	// The owner may do what the application may: end its sessions, before a database is dropped.
	if _, err := conn.Exec(ctx, "GRANT "+roleApp+" TO "+roleOwner); err != nil {
		return fmt.Errorf("grant the application's role: %w", err)
	}
	if err := s.setUpDatabase(ctx, "template1", ""); err != nil { // each new database is a copy of it
		return err
	}
	owned := map[string]string{"conveyor": roleOwner}
	if s.starts(Temporal) {
		for name := range temporalDatabases {
			owned[name] = roleTemporal
		}
	}
	for name, owner := range owned {
		if err := createDatabase(ctx, conn, name); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "ALTER DATABASE "+name+" OWNER TO "+owner); err != nil {
			return fmt.Errorf("give database %q to its owner: %w", name, err)
		}
		if err := s.setUpDatabase(ctx, name, owner); err != nil {
			return err
		}
	}
	return nil
}

// setUpDatabase lets the application read and write the tables that the owner will make, and gives to the owner, unless
// it is "", what the first superuser of a cluster of an older version owns.
func (s *Stack) setUpDatabase(ctx context.Context, name, owner string) error {
	conn, err := pgx.Connect(ctx, s.SuperURL(name))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sqlDefaultPrivileges); err != nil {
		return fmt.Errorf("set default privileges in %q: %w", name, err)
	}
	if owner == "" {
		return nil
	}
	// A DO block takes no parameters.
	_, err = conn.Exec(ctx, strings.ReplaceAll(sqlChangeOwners, "new_owner", owner))
	return fault.Wrap(err, "give the tables of %q to their owner", name)
}

const sqlDefaultPrivileges = `
ALTER DEFAULT PRIVILEGES FOR ROLE conveyor_owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO conveyor;
ALTER DEFAULT PRIVILEGES FOR ROLE conveyor_owner GRANT USAGE, SELECT ON SEQUENCES TO conveyor`

// What belongs to an extension stays where it is, and a sequence of a column follows its table. Tables that change
// their owner get the privileges that new ones have.
const sqlChangeOwners = `
DO $$
DECLARE
	o record;
BEGIN
	FOR o IN
		SELECT c.oid::regclass AS name, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW'
			WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relowner = 10 AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
			AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
				AND (d.deptype = 'e' OR c.relkind = 'S' AND d.deptype IN ('a', 'i')))
	LOOP
		EXECUTE format('ALTER %s %s OWNER TO new_owner', o.kind, o.name);
		IF 'new_owner' = 'conveyor_owner' AND o.kind <> 'SEQUENCE' THEN
			EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO conveyor', o.name);
		END IF;
	END LOOP;
	FOR o IN
		SELECT p.oid::regprocedure AS name
		FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
		WHERE p.proowner = 10 AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
				AND d.deptype = 'e')
	LOOP
		EXECUTE format('ALTER ROUTINE %s OWNER TO new_owner', o.name);
	END LOOP;
	FOR o IN
		SELECT t.oid::regtype AS name
		FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
		WHERE t.typowner = 10 AND t.typtype IN ('e', 'd') AND n.nspname NOT LIKE 'pg\_%'
			AND n.nspname <> 'information_schema'
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_type'::regclass AND d.objid = t.oid
				AND d.deptype = 'e')
	LOOP
		EXECUTE format('ALTER TYPE %s OWNER TO new_owner', o.name);
	END LOOP;
END $$`

// createDatabase creates a database unless it is there. CREATE DATABASE has no IF NOT EXISTS.
func createDatabase(ctx context.Context, conn *pgx.Conn, name string) error {
	var there bool
	row := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name)
	if err := row.Scan(&there); err != nil {
		return fmt.Errorf("look for database %q: %w", name, err)
	}
	if there {
		return nil
	}
	_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return fault.Wrap(err, "create database %q", name)
}
