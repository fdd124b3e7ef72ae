package db_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// The commands of the runbook back up the rows of every tenant and partition, and bring them back with what the
// application may do.
func TestBackupOfTheRunbook(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	migrating, working := roles(t)
	migrate := func() error { return db.Migrate(ctx, migrating, db.GrantTo(working.Config().ConnConfig.User)) }
	require.NoError(t, migrate())
	runbook, err := os.ReadFile("../docs/runbook.md")
	require.NoError(t, err)
	dir := t.TempDir()
	run := func(part string) {
		t.Helper()
		line := regexp.MustCompile(`(?m)^(?:PGOPTIONS|pg_restore|psql "\$DATABASE_MIGRATE_URL").*` + part + `.*$`).FindString(string(runbook))
		require.NotEmpty(t, line, part)
		c := exec.CommandContext(ctx, "sh", "-c", line)
		c.Dir = dir
		c.Env = append(os.Environ(), "DATABASE_URL="+working.Config().ConnString(),
			"DATABASE_MIGRATE_URL="+migrating.Config().ConnString())
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s\n%s", line, out)
	}
	record := func(at time.Time) {
		t.Helper()
		require.NoError(t, db.NewAuditLog(working).Record(ctx, db.AuditEntry{At: at, Actor: "jo", Action: "x", Subject: "x"}))
	}
	dbtest.NewTenant(t, working, "acme")
	dbtest.NewTenant(t, working, "beta")
	record(time.Now())
	record(time.Now().AddDate(3, 0, 0)) // in the default partition
	run("pg_dump")
	audited := dbtest.Count(t, working, "audit")
	dbtest.NewTenant(t, working, "late")
	record(time.Now())

	run("DROP SCHEMA")
	run("conveyor.dump$")
	require.NoError(t, migrate())
	require.Equal(t, []int64{2}, dbtest.Seen(t, working, "SELECT count(*) FROM tenants"))
	require.Equal(t, audited, dbtest.Count(t, working, "audit"))
	record(time.Now())
	for _, part := range dbtest.Query[string](t, migrating, "SELECT DISTINCT tableoid::regclass::text FROM audit") {
		require.False(t, dbtest.Query[bool](t, working, "SELECT has_table_privilege($1, 'SELECT')", part)[0], part)
	}
}
