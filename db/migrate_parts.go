package db

import (
	"context"
	_ "embed" // parts.txt
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed parts.txt
var partsText string

// parts are the processes that may have a role of their own, with what they need: the workers of a task queue by its
// name, api and bridge. TestPartsHaveWhatTheyNeed derives it from their code.
var parts = readParts(partsText)

// readParts reads lines such as SELECT, INSERT ON outbox below the name of their part in brackets.
func readParts(text string) map[string][]string {
	out, part := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			part = strings.Trim(line, "[]")
			out[part] = []string{}
		default:
			out[part] = append(out[part], line)
		}
	}
	return out
}

// Parts are what GrantPart takes.
func Parts() []string { return slices.Sorted(maps.Keys(parts)) }

// GrantPart gives a role what the processes of one of Parts need, and takes what else it has in the schema: they have
// that role in their DATABASE_URL, so whoever takes over such a process reads what it reads, and no more. A role may be
// that of several parts, but not that of GrantTo nor the one that migrates. Another part is an error of Migrate.
func GrantPart(part, role string) MigrateOption {
	return func(m *migrator) {
		if m.parts == nil {
			m.parts = map[string][]string{}
		}
		m.parts[role] = append(m.parts[role], part)
	}
}

// partGrants has the schema and the role as %[1]s and %[2]s. What is taken back and granted again is so in one
// transaction, so that the role never lacks it. The lock is that of grants.
const partGrants = `
SELECT pg_advisory_xact_lock(4097083627);
GRANT USAGE ON SCHEMA %[1]s TO %[2]s;
REVOKE ALL ON ALL TABLES IN SCHEMA %[1]s FROM %[2]s;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA %[1]s FROM %[2]s;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %[1]s FROM %[2]s`

// grantParts gives the roles of parts their privileges. user is the role that migrates.
func (m *migrator) grantParts(ctx context.Context, pool *pgxpool.Pool, user, schema string) error {
	for role, names := range m.parts {
		if role == user || role == m.role {
			return fmt.Errorf("role %q of %s is that of the application or of the tables: give them one of their own",
				role, strings.Join(names, ", "))
		}
		within, to := pgx.Identifier{schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
		statements := fmt.Sprintf(partGrants, within, to)
		for _, name := range names {
			if parts[name] == nil {
				return fmt.Errorf("there are no privileges for %q; there are for %s", name, strings.Join(Parts(), ", "))
			}
			for _, p := range parts[name] {
				privileges, object, _ := strings.Cut(p, " ON ")
				kind, object, ok := strings.Cut(object, " ") // FUNCTION, SEQUENCE
				if !ok {
					kind, object = "TABLE", kind
				}
				statements += fmt.Sprintf(";\nGRANT %s ON %s %s.%s TO %s", privileges, kind, within, object, to)
			}
		}
		if _, err := pool.Exec(ctx, statements); err != nil { // several statements at once are one transaction
			return fmt.Errorf("grant role %q what %s need: %w", role, strings.Join(names, ", "), err)
		}
	}
	return nil
}
