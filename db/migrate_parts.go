package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parts are the task queues whose workers need little of the database, with what they need: adverts and drafts, which
// they read themselves from pages. Of dead letters and the outbox, which have data of others, they read columns only.
// What goes from here, workers of the release before still need while they run.
var parts = map[string][]string{
	"browser": {
		"SELECT, UPDATE ON platforms", "SELECT, UPDATE ON platform_searches", "SELECT, UPDATE ON platform_cycles",
		"SELECT, INSERT, UPDATE ON platform_adverts", "SELECT, INSERT, UPDATE ON platform_sightings",
		"SELECT, INSERT, DELETE ON platform_units",
		"SELECT, INSERT, UPDATE ON raw_listings", "SELECT, INSERT ON raw_listing_revisions", "INSERT ON listing_steps",
		"SELECT ON blocked_adverts", "SELECT, INSERT, UPDATE ON flow", "SELECT (message_id), INSERT ON outbox",
	},
	"drafts": {
		"SELECT, INSERT, UPDATE ON product_drafts", "SELECT ON draft_cancels", "SELECT, DELETE ON draft_secrets",
		"SELECT (workflow_id, message_id, state), UPDATE (state) ON dead_letters",
		"SELECT (key), DELETE ON unused_blobs", // before a file is written
		"SELECT (message_id), INSERT ON outbox",
	},
}

// Parts are the task queues that GrantPart takes.
func Parts() []string { return slices.Sorted(maps.Keys(parts)) }

// GrantPart gives a role what the workers of a task queue of Parts need, and takes what else it has on tables: they
// have that role in their DATABASE_URL, so whoever takes over such a worker reads no contacts and no keys. A role may
// be that of several parts, but not that of GrantTo nor the one that migrates. Another queue is an error of Migrate.
func GrantPart(queue, role string) MigrateOption {
	return func(m *migrator) {
		if m.parts == nil {
			m.parts = map[string][]string{}
		}
		m.parts[role] = append(m.parts[role], queue)
	}
}

// partGrants has the schema and the role as %[1]s and %[2]s. What is taken back and granted again is so in one
// transaction, so that the role never lacks it. The lock is that of grants.
const partGrants = `
SELECT pg_advisory_xact_lock(4097083627);
GRANT USAGE ON SCHEMA %[1]s TO %[2]s;
REVOKE ALL ON ALL TABLES IN SCHEMA %[1]s FROM %[2]s`

// grantParts gives the roles of parts their privileges. user is the role that migrates.
func (m *migrator) grantParts(ctx context.Context, pool *pgxpool.Pool, user, schema string) error {
	for role, queues := range m.parts {
		if role == user || role == m.role {
			return fmt.Errorf("role %q of workers of %s is that of the application or of the tables: give them one of their own",
				role, strings.Join(queues, ", "))
		}
		within, to := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
		statements := fmt.Sprintf(partGrants, within, to)
		for _, queue := range queues {
			if parts[queue] == nil {
				return fmt.Errorf("there are no privileges for workers of %q; there are for those of %s", queue,
					strings.Join(Parts(), ", "))
			}
			for _, p := range parts[queue] {
				privileges, table, _ := strings.Cut(p, " ON ")
				statements += fmt.Sprintf(";\nGRANT %s ON %s.%s TO %s", privileges, within, table, to)
			}
		}
		if _, err := pool.Exec(ctx, statements); err != nil { // several statements at once are one transaction
			return fmt.Errorf("grant role %q what workers of %s need: %w", role, strings.Join(queues, ", "), err)
		}
	}
	return nil
}
