package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/mtlrent/conveyor/domain/place"
)

//go:embed migrations/*.sql
var migrations embed.FS

// SchemaID names the schema that this binary migrates to: other migrations, another ID.
func SchemaID() string {
	sum := sha256.New()
	err := fs.WalkDir(migrations, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := migrations.ReadFile(path)
		fmt.Fprintf(sum, "%s\x00%s\x00", path, text)
		return err
	})
	if err != nil {
		panic(err) // they are part of the binary
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

const (
	// lockTimeout bounds how long a migration waits for the lock of a table. Everybody else who wants the table waits
	// behind it, so it gives up soon and tries again.
	lockTimeout = 3 * time.Second

	lockTries   = 60               // about a quarter of an hour
	lockWait    = time.Second      // before the second try; doubled each time
	maxLockWait = 15 * time.Second //

	partitionTries = 10 // a second apart

	// turnWithin is how long a process waits while another one migrates, which may build an index for long.
	turnWithin = time.Hour
)

// A MigrateOption changes how Migrate works.
type MigrateOption func(*migrator)

// Progress reports what Migrate does, in a line and pairs of key and value: slog.Logger.InfoContext is such a function.
func Progress(report func(ctx context.Context, line string, pairs ...any)) MigrateOption {
	return func(m *migrator) { m.report = report }
}

// GrantTo gives the role of DATABASE_URL what the application needs, once the schema is up to date: to read and write
// every table, of the audit and the list of migrations less, and to call the functions that run as the owner. A role
// that is the one that migrates needs nothing.
func GrantTo(role string) MigrateOption { return func(m *migrator) { m.role = role } }

// From applies the migrations in files, instead of those of this binary.
func From(files fs.FS) MigrateOption { return func(m *migrator) { m.files = files } }

// migrator applies migrations, one at a time.
type migrator struct {
	lock.SessionLocker // one process migrates at a time

	files    fs.FS
	report   func(ctx context.Context, line string, pairs ...any)
	role     string
	parts    map[string][]string // of GrantPart by role
	wait     time.Duration       // lockTimeout
	settings string              // SET statements for the migration that comes next
	rebuild  []string            // indexes that it builds: invalid ones of these names are leftovers
}

const sqlNeighbourhoodSave = `/* sqlNeighbourhoodSave */
INSERT INTO neighbourhoods (key, name, borough, city) VALUES ($1, $2, $3, $4)
ON CONFLICT (key) DO UPDATE SET name = excluded.name, borough = excluded.borough, city = excluded.city`

// Migrate brings the schema and the neighbourhoods up to date; pool's role must own the tables. Several processes may
// call it at once: they take turns, and a migration that has been applied is not applied again. It may run while the
// application does: a migration that has to wait for a lock gives up after three seconds, lets the others pass, and is
// tried again for about a quarter of an hour.
func Migrate(ctx context.Context, pool *pgxpool.Pool, options ...MigrateOption) error {
	m := &migrator{report: func(context.Context, string, ...any) {}, wait: lockTimeout}
	var err error
	if m.files, err = fs.Sub(migrations, "migrations"); err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	for _, with := range options {
		with(m)
	}
	m.SessionLocker, err = lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, uint64(turnWithin/time.Second)))
	if err != nil {
		return fmt.Errorf("make migration lock: %w", err)
	}
	// Connections of its own: what is set on them must not come back to the pool.
	conn := stdlib.OpenDB(*pool.Config().ConnConfig)
	defer conn.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, conn, m.files, goose.WithSessionLocker(m))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if err := m.up(ctx, provider); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	b := new(pgx.Batch)
	for _, n := range place.All() {
		b.Queue(sqlNeighbourhoodSave, n.Key, n.Name, n.Borough, n.City)
	}
	if err := pool.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("save neighbourhoods: %w", err)
	}
	if err := m.partitions(ctx, pool); err != nil {
		return err
	}
	return m.grant(ctx, pool)
}

const sqlMigratedAt = `/* sqlMigratedAt */ SELECT now()`

// partitions makes those of the months and the runs that come. Where a table stays locked, retention makes them later.
func (m *migrator) partitions(ctx context.Context, pool *pgxpool.Pool) error {
	var now time.Time
	if err := pool.QueryRow(ctx, sqlMigratedAt).Scan(&now); err != nil {
		return fmt.Errorf("read the time of Postgres: %w", err)
	}
	for try := 1; ; try++ {
		err := makePartitions(ctx, pool, now)
		if err == nil {
			err = makeCrawlPartitions(ctx, pool, now)
		}
		if err == nil || !lockedOut(err) || ctx.Err() != nil {
			return err
		}
		if try == partitionTries {
			m.report(ctx, "tables stayed locked: the partitions of what comes next are left to retention", "err", err)
			return nil
		}
		select {
		case <-time.After(lockWait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// up applies the migrations that the database does not have, in their order.
func (m *migrator) up(ctx context.Context, provider *goose.Provider) error {
	list, err := provider.Status(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.State == goose.StateApplied {
			continue
		}
		if err := m.prepare(s.Source.Path); err != nil {
			return err
		}
		if err := m.apply(ctx, provider, s.Source); err != nil {
			return err
		}
	}
	return nil
}

var (
	noTransaction = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION`)
	concurrently  = regexp.MustCompile(`(?i)CREATE\s+(?:UNIQUE\s+)?INDEX\s+CONCURRENTLY\s+IF\s+NOT\s+EXISTS\s+(\w+)`)
)

// prepare sets how long the statements of a file wait. One without a transaction builds indexes CONCURRENTLY: that
// blocks nobody while it waits, so it waits as long as it must.
func (m *migrator) prepare(file string) error {
	text, err := fs.ReadFile(m.files, file)
	if err != nil {
		return fmt.Errorf("read migration %s: %w", file, err)
	}
	wait := m.wait
	m.rebuild = nil
	if noTransaction.Match(text) {
		wait = 0
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, found := range concurrently.FindAllStringSubmatch(up, -1) {
			m.rebuild = append(m.rebuild, found[1])
		}
	}
	m.settings = fmt.Sprintf("SET lock_timeout = %d; SET statement_timeout = 0; SET transaction_timeout = 0; "+
		"SET idle_in_transaction_session_timeout = 0", wait.Milliseconds())
	return nil
}

const sqlIndexesInvalid = `/* sqlIndexesInvalid */
SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE NOT i.indisvalid AND c.relname = ANY ($1) AND c.relnamespace = current_schema()::regnamespace`

// SessionLock waits for the turn of this process and then prepares the connection. An index whose CONCURRENTLY was
// interrupted is there but invalid, and IF NOT EXISTS would be content with it, so it is dropped first.
func (m *migrator) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := m.SessionLocker.SessionLock(ctx, conn); err != nil {
		return fmt.Errorf("wait for another process that migrates: %w", err)
	}
	if err := m.session(ctx, conn); err != nil {
		return errors.Join(err, m.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

func (m *migrator) session(ctx context.Context, conn *sql.Conn) error {
	for one := range strings.SplitSeq(m.settings, "; ") {
		if _, err := conn.ExecContext(ctx, one); err != nil && !unknownSetting(err) {
			return fmt.Errorf("%s: %w", one, err)
		}
	}
	if len(m.rebuild) == 0 {
		return nil
	}
	rows, err := conn.QueryContext(ctx, sqlIndexesInvalid, m.rebuild)
	if err != nil {
		return fmt.Errorf("find invalid indexes: %w", err)
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("find invalid indexes: %w", err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("find invalid indexes: %w", err)
	}
	for _, name := range names {
		m.report(ctx, "an index was left unfinished by an interrupted migration and is built again", "index", name)
		drop := "DROP INDEX CONCURRENTLY IF EXISTS " + pgx.Identifier{name}.Sanitize()
		if _, err := conn.ExecContext(ctx, drop); err != nil {
			return fmt.Errorf("drop invalid index %s: %w", name, err)
		}
	}
	return nil
}

// apply applies one migration, again and again while tables that it needs are locked.
func (m *migrator) apply(ctx context.Context, provider *goose.Provider, source *goose.Source) error {
	if len(m.rebuild) > 0 {
		m.report(ctx, "a migration builds indexes; writers are not blocked, and open transactions delay it",
			"file", source.Path)
	}
	for try, wait := 1, lockWait; ; try, wait = try+1, min(2*wait, maxLockWait) {
		done, err := provider.ApplyVersion(ctx, source.Version, true)
		switch {
		case err == nil:
			m.report(ctx, "migration applied", "file", source.Path, "took", done.Duration.Round(time.Millisecond))
			return nil
		case errors.Is(err, goose.ErrAlreadyApplied): // by another process
			return nil
		case !lockedOut(err) || ctx.Err() != nil:
			return err
		case try == lockTries:
			return fmt.Errorf("a table stayed locked through %d tries; end the transaction that holds it: %w", try, err)
		}
		m.report(ctx, "a migration waits for the lock of a table and is tried again", "file", source.Path, "try", try,
			"in", wait, "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lockedOut reports whether a statement got no lock: it waited for too long, or was the victim of a deadlock.
func lockedOut(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == LockNotAvailable || pg.Code == "40P01")
}

// unknownSetting reports whether this version of Postgres lacks a setting.
func unknownSetting(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42704"
}

const sqlMigratedBy = `/* sqlMigratedBy */ SELECT current_user, current_schema()`

// grants has the schema and the role as %[1]s and %[2]s. The lock keeps two processes from changing one row of pg_class
// at once, which Postgres refuses. What is taken back was granted in the same transaction, so the role never has it.
// The audit is append-only for the application, and partitions are only reached through their tables.
// The functions that run as the owner are named, for the schema may have those of others; their migrations take them
// from PUBLIC.
const grants = `
SELECT pg_advisory_xact_lock(4097083627);
GRANT USAGE ON SCHEMA %[1]s TO %[2]s;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO %[2]s;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %[1]s TO %[2]s;
ALTER DEFAULT PRIVILEGES IN SCHEMA %[1]s GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO %[2]s;
ALTER DEFAULT PRIVILEGES IN SCHEMA %[1]s GRANT USAGE, SELECT ON SEQUENCES TO %[2]s;
REVOKE UPDATE, DELETE, TRUNCATE ON %[1]s.audit FROM %[2]s;
REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON %[1]s.goose_db_version FROM %[2]s;
DO $partitions$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT oid FROM pg_class
        WHERE relispartition AND relkind = 'r' AND relnamespace = '%[1]s'::regnamespace
    LOOP
        EXECUTE format('REVOKE ALL ON %%s FROM %%s', part, '%[2]s');
    END LOOP;
END $partitions$;
DO $functions$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT oid FROM pg_proc
        WHERE prosecdef AND pronamespace = '%[1]s'::regnamespace AND proname IN (
            'audit_expire', 'partitions_make', 'partitions_analyze', 'partitions_expire', 'partitions_state',
            'crawl_partitions_make', 'crawl_partitions_analyze', 'crawl_partitions_expire', 'crawl_partitions_state')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %%s TO %%s', f, '%[2]s');
    END LOOP;
END $functions$`

// grant gives the application's role its privileges, where that is not the role that migrates, and those of parts
// theirs.
func (m *migrator) grant(ctx context.Context, pool *pgxpool.Pool) error {
	if m.role == "" && m.parts == nil {
		return nil
	}
	var user, schema string
	if err := pool.QueryRow(ctx, sqlMigratedBy).Scan(&user, &schema); err != nil {
		return fmt.Errorf("read role: %w", err)
	}
	if err := m.grantParts(ctx, pool, user, schema); err != nil {
		return err
	}
	if m.role == "" || m.role == user {
		return nil
	}
	statements := fmt.Sprintf(grants, pgx.Identifier{schema}.Sanitize(), pgx.Identifier{m.role}.Sanitize())
	if _, err := pool.Exec(ctx, statements); err != nil { // several statements at once are one transaction
		return fmt.Errorf("grant role %q what the application needs: %w", m.role, err)
	}
	return nil
}
