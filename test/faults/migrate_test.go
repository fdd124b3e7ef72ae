package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A release after this one: its migrations, beside those of this one.
var nextMigrations = map[string]string{
	"9001_faults.sql": `-- +goose Up
ALTER TABLE raw_listings ADD COLUMN IF NOT EXISTS faults text;
ALTER TABLE listings ADD COLUMN IF NOT EXISTS faults text;
`,
	"9002_faults_index.sql": `-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY IF NOT EXISTS listings_faults ON listings (faults, title);
`,
}

// nextRelease builds the binary of that release, once.
var nextRelease = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(binary) // removed with it
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range nextMigrations {
		overlay["Replace"][filepath.Join(root, "db", "migrations", name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	doc, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	path, next := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "next")
	if err := os.WriteFile(path, doc, 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-overlay", path, "-o", next, "../../cmd/conveyor").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the next release: %w: %s", err, out)
	}
	return next, nil
})

const (
	sqlUnmigrate = `DELETE FROM goose_db_version WHERE version_id > 9000`

	// Waits of our roles behind the migration, not those behind another fault.
	sqlHeldUp = `
SELECT coalesce(max(extract(epoch FROM now() - a.query_start)), 0)::float8 FROM pg_stat_activity a
WHERE a.wait_event_type = 'Lock' AND a.application_name NOT LIKE 'faults%' AND EXISTS (
    SELECT FROM unnest(pg_blocking_pids(a.pid)) b(pid) JOIN pg_stat_activity m USING (pid)
    WHERE m.application_name = 'faults-migrate')`

	sqlMigrated = `
SELECT EXISTS (SELECT FROM goose_db_version WHERE version_id = 9002 AND is_applied)
    AND coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('listings_faults')), false)`
)

// heldUp is how long a migration may keep a statement of ours waiting: its lock_timeout of 3 s, and some.
const heldUp = 4 * time.Second

// migrateUnderLoad migrates to the next release, as its operator does, while adverts come in and a report reads the
// tables for fifteen seconds. The migration waits for the report; nothing may wait for the migration.
func migrateUnderLoad(w *world) (said string, err error) {
	next, err := nextRelease()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(w.ctx, 2*servicetest.Patience())
	defer cancel()
	admin, err := pgx.Connect(ctx, named(owner(w.vars), "faults"))
	if err != nil {
		return "", err
	}
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{sqlUnmigrate, "DROP INDEX CONCURRENTLY IF EXISTS listings_faults"} { // of the last time
		if _, err := admin.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	report, err := pgx.Connect(ctx, named(w.vars["DATABASE_URL"], "faults"))
	if err != nil {
		return "", err
	}
	defer func() { _ = report.Close(context.WithoutCancel(ctx)) }()
	reading, err := report.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return "", err
	}
	if _, err := reading.Exec(ctx, "SELECT (SELECT count(*) FROM listings), (SELECT count(*) FROM raw_listings)"); err != nil {
		return "", err
	}

	var longest float64 // seconds
	watching, done := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() {
		for pause(watching, 100*time.Millisecond) {
			var seconds float64
			if w.db.QueryRow(watching, sqlHeldUp).Scan(&seconds) == nil {
				longest = max(longest, seconds)
			}
		}
	})
	migrated := make(chan error, 1)
	go func() { migrated <- w.migrate(ctx, next) }()
	w.under(15 * time.Second)
	ended := reading.Rollback(ctx)
	err = <-migrated
	done()
	watched.Wait()
	said = fmt.Sprintf(": it kept a statement waiting for %.1f s at most", longest)
	if longest > heldUp.Seconds() {
		return said, errors.Join(err, errors.New(said[2:]))
	}
	var whole bool
	if err := errors.Join(err, ended, w.db.QueryRow(ctx, sqlMigrated).Scan(&whole)); err != nil {
		return said, err
	}
	if !whole {
		return said, errors.New("it is not whole")
	}
	return said, nil
}

// migrate runs a release's migrate until it succeeds, as an operator does whose database is restarted meanwhile.
func (w *world) migrate(ctx context.Context, release string) error {
	for {
		cmd := exec.CommandContext(ctx, release, "migrate")
		cmd.Env = append(w.env("faults-migrate"), "DATABASE_MIGRATE_URL="+named(owner(w.vars), "faults-migrate"))
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		if !pause(ctx, 2*time.Second) {
			return fmt.Errorf("migrate: %w: %s", err, out)
		}
	}
}
