package devstack

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// halfMade is a schema of Temporal that was cut short while it was made: brought to the version up, said to be of at.
type halfMade struct{ up, at string }

// inUse puts something into a schema, and stillThere fails where that is gone.
const (
	inUse      = "INSERT INTO namespaces VALUES (1, '', 'a', 1, '', '', false)"
	stillThere = "DO $$ BEGIN ASSERT (SELECT count(*) FROM namespaces) = 1; END $$"
)

// A stack whose first start was cut short while the schema of Temporal was made starts the next time. A schema with
// anything in it is left as it is.
func TestHalfMadeSchemas(t *testing.T) {
	t.Parallel()
	s := throwaway(t, t.TempDir(), Postgres)
	s.log = slog.New(slog.DiscardHandler)
	s.tools.temporalSQL = filepath.Join(goTools[0].dir(s.opts.Bin), "sql")
	if _, err := os.Stat(s.tools.temporalSQL); err != nil {
		t.Fatalf("no Temporal server: run `make test`, which builds it (%v)", err)
	}
	pg, err := pgconn.ParseConfig(s.temporalURL())
	require.NoError(t, err)
	do := func(database, statement string) error {
		return execute(t.Context(), s.SuperURL(database), "SET ROLE temporal; "+statement)
	}
	leave := func(left halfMade) {
		t.Helper()
		for name, of := range temporalDatabases {
			for _, statement := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name + " OWNER temporal"} {
				require.NoError(t, execute(t.Context(), s.SuperURL("postgres"), statement))
			}
			err := s.sqlTool(t.Context(), pg, name, []string{"setup-schema", "-v", "0.0"})
			if err == nil {
				err = s.sqlTool(t.Context(), pg, name, []string{"update-schema", "--schema-name", of.schema, "-v", left.up})
			}
			if err == nil {
				err = do(name, fmt.Sprintf("UPDATE schema_version SET curr_version = '%s'", left.at))
			}
			if err == nil && left.at == "" {
				err = do(name, "DELETE FROM schema_version")
			}
			require.NoError(t, err)
		}
	}
	whole := func(name string) error {
		columns := map[string]string{"temporal": "nexus_endpoints", "temporal_visibility": "executions_visibility"}
		return do(name, "DO $$ BEGIN ASSERT (SELECT curr_version <> '0.0' FROM schema_version); END $$; SELECT FROM "+columns[name])
	}
	for _, left := range []halfMade{{"0.0", ""}, {"0.0", "0.0"}, {"1.0", "0.0"}, {"1.4", "1.3"}, {"1.8", "1.7"}} {
		leave(left)
		assert.NoError(t, s.temporalSchema(t.Context(), pg), left)
		for name := range temporalDatabases {
			if err := whole(name); err != nil {
				t.Errorf("%v: %s is not whole: %v", left, name, err)
			}
		}
	}

	leave(halfMade{"1.4", "1.3"})
	require.NoError(t, do("temporal", inUse))
	if err := s.temporalSchema(t.Context(), pg); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a schema in use: %v; want the error of the tool", err)
	}
	assert.NoError(t, do("temporal", stillThere))

	bin := t.TempDir()
	require.NoError(t, execute(t.Context(), s.SuperURL("postgres"), "ALTER ROLE temporal CREATEDB"))
	require.NoError(t, os.Symlink(s.tools.temporalSQL, filepath.Join(bin, "temporal-sql-tool")))
	mark := func(statement string) {
		t.Helper()
		for name := range temporalDatabases {
			require.NoError(t, execute(t.Context(), s.SuperURL("postgres"), fmt.Sprintf(statement, name+"_first_start")))
		}
	}
	for _, left := range []halfMade{{"0.0", ""}, {"0.0", "0.0"}, {"1.0", "0.0"}, {"1.4", "1.3"}, {"1.8", "1.7"}} { // as Docker Compose does
		leave(left)
		if left.at != "" && left.at != "0.0" {
			mark("CREATE DATABASE %s OWNER temporal")
		}
		for _, next := range []string{inUse, stillThere} {
			if out, err := s.schemaScript(t.Context(), bin, pg); err != nil {
				t.Fatalf("%v: %v\n%s", left, err, out)
			}
			assert.NoError(t, do("temporal", next), left)
		}
		for name := range temporalDatabases {
			if err := whole(name); err != nil {
				t.Errorf("%v: %s is not whole: %v", left, name, err)
			}
		}
		mark("CREATE DATABASE %s") // there was none left
		mark("DROP DATABASE %s")
	}

	// What is whole, or was, is not made anew.
	mark("CREATE DATABASE %s OWNER temporal")
	if out, err := s.schemaScript(t.Context(), bin, pg); err != nil {
		t.Fatalf("whole, with a mark: %v\n%s", err, out)
	}
	assert.NoError(t, do("temporal", stillThere))
	mark("CREATE DATABASE %s")
	mark("DROP DATABASE %s")
	leave(halfMade{"1.4", "1.3"})
	require.NoError(t, do("temporal", inUse))
	if out, err := s.schemaScript(t.Context(), bin, pg); err == nil || !strings.Contains(string(out), "does not exist") {
		t.Errorf("an upgrade that was cut short: %v; want the error of the tool\n%s", err, out)
	}
	assert.NoError(t, do("temporal", stillThere))
}

func (s *Stack) schemaScript(ctx context.Context, bin string, pg *pgconn.Config) ([]byte, error) {
	script := exec.CommandContext(ctx, "sh", "../../deploy/temporal/schema.sh")
	script.Env = []string{"PATH=" + bin, "SQL_HOST=" + pg.Host, "SQL_PORT=" + itoa(int(pg.Port)), "SQL_USER=" + pg.User,
		"SQL_PASSWORD=" + pg.Password}
	return script.CombinedOutput()
}
