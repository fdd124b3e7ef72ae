package db_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// released is the newest migration that was written before there were these rules.
const released = "0013"

// smallTables have a row a platform, a key or a replay: no statement on them takes long.
var smallTables = []string{"neighbourhoods", "platforms", "replays", "replay_items", "api_keys"}

// TestMigrationsDoNotLock holds every new migration to the rules of CONTRIBUTING.md: it may run on tables of any size
// while the application works.
func TestMigrationsDoNotLock(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	slices.Sort(files)
	c := newLockCheck()
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		wrong := c.file(string(text))
		if base := filepath.Base(name); base[:4] > released {
			require.Empty(t, wrong, name)
		}
	}
}

func TestLockCheck(t *testing.T) {
	t.Parallel()

	const before = "-- +goose Up\n"
	const alone = "-- +goose NO TRANSACTION\n-- +goose Up\n"
	cases := map[string]struct {
		files []string // the last one is looked at
		wrong string   // part of the complaint; "" = none
	}{
		"an index of a new table": {[]string{before + "CREATE TABLE t (a int); CREATE INDEX i ON t (a);"}, ""},
		"an index":                {[]string{before + "CREATE INDEX i ON listings (a);"}, "CONCURRENTLY"},
		"a unique index":          {[]string{before + "CREATE UNIQUE INDEX i ON ONLY public.listings (a);"}, "CONCURRENTLY"},
		"an index that is commented out": {
			[]string{before + "-- CREATE INDEX i ON listings (a);\n/* DROP INDEX i; */ SELECT ';DROP INDEX i';"}, "",
		},
		"an index alone":               {[]string{alone + "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON listings (a);"}, ""},
		"an index that exists":         {[]string{alone + "CREATE INDEX CONCURRENTLY i ON listings (a);"}, "IF NOT EXISTS"},
		"concurrently in a tx":         {[]string{before + "CREATE INDEX CONCURRENTLY IF NOT EXISTS i ON listings (a);"}, "NO TRANSACTION"},
		"a drop of an index":           {[]string{before + "DROP INDEX i;"}, "CONCURRENTLY"},
		"a drop alone":                 {[]string{alone + "DROP INDEX CONCURRENTLY IF EXISTS i;"}, ""},
		"a drop of a new table's":      {[]string{before + "CREATE TABLE t (a int); CREATE INDEX i ON t (a); DROP INDEX i;"}, ""},
		"down may lock":                {[]string{before + "SELECT 1;\n-- +goose Down\nDROP INDEX i; DELETE FROM listings;"}, ""},
		"a column":                     {[]string{before + "ALTER TABLE listings ADD COLUMN a int, ADD b text NOT NULL DEFAULT '';"}, ""},
		"a column with now":            {[]string{before + "ALTER TABLE listings ADD COLUMN a timestamptz DEFAULT now();"}, ""},
		"a jsonb column":               {[]string{before + "ALTER TABLE listings ADD COLUMN a jsonb NOT NULL DEFAULT '{}'::jsonb;"}, ""},
		"a numeric column":             {[]string{before + "ALTER TABLE listings ADD COLUMN a numeric(4,1) DEFAULT -1.5, ADD b bool DEFAULT false;"}, ""},
		"a setting as a default":       {[]string{before + "ALTER TABLE outbox ADD a text DEFAULT coalesce(current_setting('a', true), '');"}, "DEFAULT"},
		"a volatile default":           {[]string{before + "ALTER TABLE listings ADD COLUMN a uuid DEFAULT gen_random_uuid();"}, "DEFAULT"},
		"a clock as a default":         {[]string{before + "ALTER TABLE listings ADD a timestamptz DEFAULT clock_timestamp();"}, "DEFAULT"},
		"a computed column":            {[]string{before + "ALTER TABLE listings ADD a int GENERATED ALWAYS AS (b + 1) STORED;"}, "GENERATED"},
		"an identity":                  {[]string{before + "ALTER TABLE listings ADD a bigint GENERATED ALWAYS AS IDENTITY;"}, "GENERATED"},
		"a serial":                     {[]string{before + "ALTER TABLE listings ADD a bigserial;"}, "serial"},
		"a checked column":             {[]string{before + "ALTER TABLE listings ADD a int CHECK (a > 0);"}, "NOT VALID"},
		"a column that refers":         {[]string{before + "ALTER TABLE listings ADD a uuid REFERENCES replays;"}, "NOT VALID"},
		"a unique column":              {[]string{before + "ALTER TABLE listings ADD a uuid UNIQUE;"}, "index"},
		"a constraint":                 {[]string{before + "ALTER TABLE listings ADD CONSTRAINT c CHECK (a > 0);"}, "NOT VALID"},
		"a constraint, not valid":      {[]string{before + "ALTER TABLE listings ADD CONSTRAINT c CHECK (a IN (1, 2)) NOT VALID;"}, ""},
		"a nameless constraint":        {[]string{before + "ALTER TABLE listings ADD CHECK (a > 0);"}, "NOT VALID"},
		"a foreign key":                {[]string{before + "ALTER TABLE listings ADD FOREIGN KEY (a) REFERENCES replays;"}, "NOT VALID"},
		"a unique constraint":          {[]string{before + "ALTER TABLE listings ADD UNIQUE (a);"}, "USING INDEX"},
		"a primary key":                {[]string{before + "ALTER TABLE listings ADD CONSTRAINT c PRIMARY KEY (a);"}, "USING INDEX"},
		"a unique constraint by index": {[]string{before + "ALTER TABLE listings ADD CONSTRAINT c UNIQUE USING INDEX i;"}, ""},
		"a validation in the same tx": {
			[]string{before + "ALTER TABLE listings ADD CONSTRAINT c CHECK (a > 0) NOT VALID; ALTER TABLE listings VALIDATE CONSTRAINT c;"},
			"NO TRANSACTION",
		},
		"a validation alone":   {[]string{alone + "ALTER TABLE listings VALIDATE CONSTRAINT c;"}, ""},
		"a type":               {[]string{before + "ALTER TABLE listings ALTER COLUMN a TYPE bigint;"}, "TYPE"},
		"a type, long form":    {[]string{before + "ALTER TABLE IF EXISTS listings ALTER a SET DATA TYPE bigint;"}, "TYPE"},
		"not null":             {[]string{before + "ALTER TABLE listings ALTER COLUMN a SET NOT NULL;"}, "SET NOT NULL"},
		"a default":            {[]string{before + "ALTER TABLE listings ALTER COLUMN a SET DEFAULT gen_random_uuid();"}, ""},
		"a drop of a column":   {[]string{before + "ALTER TABLE listings DROP COLUMN a, DROP CONSTRAINT c;"}, ""},
		"a rename":             {[]string{before + "ALTER TABLE outbox RENAME COLUMN a TO b;"}, ""},
		"a storage parameter":  {[]string{before + "ALTER TABLE outbox SET (fillfactor = 70);"}, ""},
		"unlogged":             {[]string{before + "ALTER TABLE outbox SET UNLOGGED;"}, "rewrites"},
		"another tablespace":   {[]string{before + "ALTER TABLE outbox SET TABLESPACE fast;"}, "rewrites"},
		"a table alone":        {[]string{alone + "ALTER TABLE listings ADD COLUMN IF NOT EXISTS a int;"}, "a file of its own"},
		"an update":            {[]string{before + "UPDATE listings SET a = 1 WHERE b;"}, "batch"},
		"a batched update":     {[]string{before + "UPDATE listings SET a = 1 WHERE id IN (SELECT id FROM listings WHERE b LIMIT 100);"}, ""},
		"a delete":             {[]string{before + "DELETE FROM ONLY outbox;"}, "batch"},
		"a delete in a with":   {[]string{before + "WITH x AS (DELETE FROM outbox RETURNING 1) SELECT 1 FROM x;"}, "batch"},
		"an update of few":     {[]string{before + "UPDATE platforms SET paused = true;"}, ""},
		"an update of a new":   {[]string{before + "CREATE TABLE IF NOT EXISTS t (a int); UPDATE t SET a = 1;"}, ""},
		"an update in a do":    {[]string{before + "DO $$ BEGIN UPDATE listings SET a = 1; END $$;"}, "batch"},
		"a trigger's function": {[]string{before + "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $x$ BEGIN UPDATE listings SET a = 1; DELETE FROM outbox; RETURN NULL; END $x$;"}, ""},
		"a trigger":            {[]string{before + "CREATE TRIGGER a BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION f();"}, ""},
		"an upsert": {
			[]string{before + "INSERT INTO platforms (name) VALUES ('a') ON CONFLICT (name) DO UPDATE SET paused = true;"}, "",
		},
		"a lock":              {[]string{before + "LOCK TABLE listings IN SHARE MODE;"}, "LOCK"},
		"a truncate":          {[]string{before + "TRUNCATE listing_events;"}, "TRUNCATE"},
		"a cluster":           {[]string{before + "CLUSTER listings USING i;"}, "rewrites"},
		"a vacuum":            {[]string{alone + "VACUUM FULL listings;"}, "rewrites"},
		"a reindex":           {[]string{before + "REINDEX TABLE listings;"}, "CONCURRENTLY"},
		"a reindex, alone":    {[]string{alone + "REINDEX INDEX CONCURRENTLY i;"}, ""},
		"a primary key's new": {[]string{before + "CREATE TABLE t (a int PRIMARY KEY); ALTER TABLE t ADD CHECK (a > 0);"}, ""},
		"not null, checked": {[]string{
			before + "ALTER TABLE listings ADD CONSTRAINT c CHECK (a IS NOT NULL) NOT VALID;",
			alone + "ALTER TABLE listings VALIDATE CONSTRAINT c;",
			before + "ALTER TABLE listings ALTER COLUMN a SET NOT NULL, DROP CONSTRAINT c;",
		}, ""},
		"not null, not validated": {[]string{
			before + "ALTER TABLE listings ADD CONSTRAINT c CHECK (a IS NOT NULL) NOT VALID;",
			before + "ALTER TABLE listings ALTER COLUMN a SET NOT NULL;",
		}, "SET NOT NULL"},
		"a table of another file": {[]string{before + "CREATE TABLE t (a int);", before + "CREATE INDEX i ON t (a);"}, "CONCURRENTLY"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := newLockCheck()
			var wrong []string
			for _, text := range test.files {
				wrong = c.file(text)
			}
			if test.wrong == "" {
				require.Empty(t, wrong)
				return
			}
			require.Len(t, wrong, 1)
			require.Contains(t, wrong[0], test.wrong)
		})
	}
}

// lockCheck looks in migrations, in their order, for statements that hold a lock for longer than an instant: those that
// read or rewrite all of a table that may be large.
type lockCheck struct {
	notNull   map[string]string // constraint → the column that it says is not null
	validated map[string]bool   // constraints

	tables, indexes []string // made in this file
	alone           bool     // this file has no transaction
	wrong           []string
}

func newLockCheck() *lockCheck {
	return &lockCheck{notNull: map[string]string{}, validated: map[string]bool{}}
}

// file returns what is wrong with the Up part of a migration.
func (c *lockCheck) file(text string) []string {
	c.wrong, c.indexes, c.tables = nil, nil, slices.Clone(smallTables)
	c.alone = regexp.MustCompile(`(?m)^-- \+goose NO TRANSACTION`).MatchString(text)
	up, _, _ := strings.Cut(text, "-- +goose Down")
	for _, s := range statements(up) {
		c.statement(s)
	}
	return c.wrong
}

func (c *lockCheck) refuse(s, format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf("%.80q: ", s)+fmt.Sprintf(format, args...))
}

var (
	createTable = regexp.MustCompile(`(?i)^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(?:public\.)?(\w+)`)
	createIndex = regexp.MustCompile(
		`(?i)^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?(IF NOT EXISTS )?(\w+) ON (?:ONLY )?(?:public\.)?(\w+)`)
	dropIndex  = regexp.MustCompile(`(?i)^DROP INDEX (CONCURRENTLY )?(IF EXISTS )?(\w+)`)
	alterTable = regexp.MustCompile(`(?i)^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(?:public\.)?(\w+) (.*)$`)
	validate   = regexp.MustCompile(`(?i)^VALIDATE CONSTRAINT (\w+)$`)
	writes     = regexp.MustCompile(`(?i)\b(?:UPDATE|DELETE FROM) (?:ONLY )?(?:public\.)?(\w+)`)
	notAWrite  = regexp.MustCompile(`(?i)\b(?:FOR( NO KEY)? UPDATE|DO UPDATE|ON UPDATE|ON DELETE)\b`)
	limited    = regexp.MustCompile(`(?i)\bLIMIT\b`)
	safeAlone  = regexp.MustCompile(`(?i)^(CREATE (UNIQUE )?INDEX|DROP INDEX|REINDEX|ANALYZE|VACUUM|CLUSTER|DO|SET|RESET|SELECT) `)
)

func (c *lockCheck) statement(s string) {
	verb, rest, _ := strings.Cut(s, " ")
	verb = strings.ToUpper(verb)
	switch index, drop, table := createIndex.FindStringSubmatch(s), dropIndex.FindStringSubmatch(s),
		createTable.FindStringSubmatch(s); {
	case table != nil:
		c.tables = append(c.tables, table[1])
	case index != nil && slices.Contains(c.tables, index[4]):
		c.indexes = append(c.indexes, index[3])
	case index != nil:
		c.concurrent(s, index[1] != "", index[2] != "", "IF NOT EXISTS")
	case drop != nil && !slices.Contains(c.indexes, drop[3]):
		c.concurrent(s, drop[1] != "", drop[2] != "", "IF EXISTS")
	case verb == "REINDEX":
		c.concurrent(s, strings.Contains(strings.ToUpper(rest), "CONCURRENTLY"), true, "")
	case verb == "ALTER":
		if m := alterTable.FindStringSubmatch(s); m != nil && !slices.Contains(c.tables, m[1]) {
			for _, action := range split(m[2], ',') {
				c.alter(s, strings.TrimSpace(action))
			}
		}
	case verb == "LOCK":
		c.refuse(s, "LOCK stops everybody for the rest of the transaction")
	case verb == "TRUNCATE" && !slices.Contains(c.tables, strings.TrimPrefix(strings.ToLower(rest), "table ")):
		c.refuse(s, "TRUNCATE waits for every reader, and everybody behind it")
	case verb == "CLUSTER", verb == "VACUUM" && strings.Contains(strings.ToUpper(rest), "FULL"):
		c.refuse(s, "it rewrites the table")
	case verb == "UPDATE" || verb == "DELETE" || verb == "WITH" || verb == "DO" || verb == "INSERT":
		c.write(s)
	case c.alone && !safeAlone.MatchString(s):
		c.refuse(s, "without a transaction it may be half done: put it into a file of its own")
	}
}

// concurrent holds the making or dropping of an index to its rules. It must be possible to repeat it.
func (c *lockCheck) concurrent(s string, concurrently, repeatable bool, how string) {
	switch {
	case !concurrently:
		c.refuse(s, "use CONCURRENTLY %s, in a file with NO TRANSACTION", how)
	case !c.alone:
		c.refuse(s, "CONCURRENTLY needs a file that begins with -- +goose NO TRANSACTION")
	case !repeatable:
		c.refuse(s, "use %s: without a transaction it may have to be repeated", how)
	}
}

// write refuses a statement that changes any number of rows: it bloats the table, and locks its rows for as long.
func (c *lockCheck) write(s string) {
	for _, m := range writes.FindAllStringSubmatch(notAWrite.ReplaceAllString(s, ""), -1) {
		if !slices.Contains(c.tables, m[1]) && !limited.MatchString(s) {
			c.refuse(s, "change the rows of %s in batches with a LIMIT, or lazily, in the code", m[1])
			return
		}
	}
}

var (
	addColumn = regexp.MustCompile(
		`(?i)^ADD (?:COLUMN )?(?:IF NOT EXISTS )?("?\w+"?) (\w+)(?: precision| varying)?(?: ?\([\d, ]+\))?(?:\[\])? ?(.*)$`)
	addConstraint = regexp.MustCompile(`(?i)^ADD (?:CONSTRAINT (\w+) )?(CHECK|FOREIGN KEY|UNIQUE|PRIMARY KEY|EXCLUDE)\b(.*)$`)
	setNotNull    = regexp.MustCompile(`(?i)^ALTER (?:COLUMN )?(\w+) SET NOT NULL$`)
	isNotNull     = regexp.MustCompile(`(?i)^ ?\( ?(\w+) IS NOT NULL ?\)`)
	setType       = regexp.MustCompile(`(?i)^ALTER (?:COLUMN )?\w+ (SET DATA )?TYPE\b`)
	rewrites      = regexp.MustCompile(`(?i)^(SET (UN)?LOGGED|SET TABLESPACE|SET ACCESS METHOD|ALTER (COLUMN )?\w+ SET EXPRESSION)`)
	attach        = regexp.MustCompile(`(?i)^ATTACH PARTITION`)
	defaulted     = regexp.MustCompile(`(?i)\bDEFAULT (.*)$`)
	// A default that is worked out once, and then kept for all rows that there are.
	constant = regexp.MustCompile(`(?i)^('[^']*'|-?[\d.]+|true|false|null|now\(\)|current_timestamp)(::\w+(\[\])?)?( NOT NULL| NULL)?$`)
)

// alter refuses the forms of ALTER TABLE that read or rewrite the table, which they do under a lock that nobody passes.
func (c *lockCheck) alter(s, action string) {
	upper := strings.ToUpper(action)
	if m := validate.FindStringSubmatch(action); m != nil {
		if c.validated[m[1]] = c.alone; !c.alone {
			c.refuse(s, "VALIDATE CONSTRAINT reads the table: put it into a file with NO TRANSACTION")
		}
		return
	}
	if c.alone {
		c.refuse(s, "without a transaction it waits for its lock without end: put it into a file of its own")
		return
	}
	if m := addConstraint.FindStringSubmatch(action); m != nil {
		c.constraint(s, m[1], strings.ToUpper(m[2]), m[3])
		return
	}
	if m := setNotNull.FindStringSubmatch(action); m != nil {
		for name, column := range c.notNull {
			if column == m[1] && c.validated[name] {
				return
			}
		}
		c.refuse(s, "SET NOT NULL reads the table unless a validated CHECK (%s IS NOT NULL) proves it", m[1])
		return
	}
	switch column := addColumn.FindStringSubmatch(action); {
	case setType.MatchString(action):
		c.refuse(s, "a change of TYPE rewrites the table: add a column")
	case rewrites.MatchString(action):
		c.refuse(s, "it rewrites the table")
	case attach.MatchString(action):
		c.refuse(s, "ATTACH PARTITION reads the table")
	case column == nil:
	case strings.HasSuffix(strings.ToLower(column[2]), "serial"):
		c.refuse(s, "a serial rewrites the table")
	case strings.Contains(upper, " GENERATED "):
		c.refuse(s, "a GENERATED column rewrites the table")
	case regexp.MustCompile(`\b(CHECK|REFERENCES)\b`).MatchString(upper):
		c.refuse(s, "a constraint of a new column reads the table: add it with ADD CONSTRAINT … NOT VALID")
	case regexp.MustCompile(`\b(UNIQUE|PRIMARY KEY)\b`).MatchString(upper):
		c.refuse(s, "it builds an index: build that CONCURRENTLY")
	default:
		if m := defaulted.FindStringSubmatch(column[3]); m != nil && !constant.MatchString(m[1]) {
			c.refuse(s, "a DEFAULT that is no constant may rewrite the table")
		}
	}
}

func (c *lockCheck) constraint(s, name, kind, rest string) {
	valid := !regexp.MustCompile(`(?i)NOT VALID$`).MatchString(rest)
	switch {
	case kind == "CHECK" || kind == "FOREIGN KEY":
		if valid {
			c.refuse(s, "add it NOT VALID, and validate it in a file with NO TRANSACTION")
		} else if m := isNotNull.FindStringSubmatch(rest); m != nil && name != "" {
			c.notNull[name] = m[1]
		}
	case !regexp.MustCompile(`(?i)^ USING INDEX`).MatchString(rest):
		c.refuse(s, "build its index CONCURRENTLY, and add it USING INDEX")
	}
}

// statements takes SQL apart into statements on one line each, without comments, and without the bodies of functions:
// those run later. That of a DO block stays.
func statements(text string) (out []string) {
	var plain strings.Builder
	dollar := regexp.MustCompile(`^\$\w*\$`)
	for i := 0; i < len(text); {
		rest := text[i:]
		switch tag := dollar.FindString(rest); {
		case strings.HasPrefix(rest, "--"):
			i += len(rest) - len(strings.TrimLeft(rest, "-"))
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(text)
			}
		case strings.HasPrefix(rest, "/*"):
			i += strings.Index(rest, "*/") + 2
		case rest[0] == '\'':
			end := 1 + strings.IndexByte(rest[1:], '\'') + 1
			plain.WriteString(strings.NewReplacer(";", " ", ",", " ").Replace(rest[:end]))
			i += end
		case tag != "":
			end := len(tag) + strings.Index(rest[len(tag):], tag) + len(tag)
			body := ""
			done := plain.String()
			if last := done[strings.LastIndexByte(done, ';')+1:]; strings.HasPrefix(strings.TrimSpace(strings.ToUpper(last)), "DO") {
				body = strings.NewReplacer(";", " ", tag, " ").Replace(rest[:end])
			}
			plain.WriteString(body)
			i += end
		default:
			plain.WriteByte(rest[0])
			i++
		}
	}
	for _, s := range split(plain.String(), ';') {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// split cuts s at a separator that is in no parentheses.
func split(s string, at byte) (out []string) {
	depth, start := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case at:
			if depth == 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	return append(out, s[start:])
}
