package db_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"go/ast"
	goconstant "go/constant"
	"go/types"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/workflows"
)

var update = flag.Bool("update", false, "write parts.txt anew")

const command = ours + "cmd/conveyor"

// roots are what a process begins with.
type roots struct {
	objects []types.Object
	nodes   []ast.Node
}

// parts are the roots of the workers of each task queue, and of the other processes: the activities in the rows of the
// queue, what is tended as part of it, and what every process does.
func (r *reach) parts(t *testing.T) map[string]roots {
	t.Helper()

	functions := map[string]types.Object{}
	for o := range r.refers {
		if f, ok := o.(*types.Func); ok {
			functions[f.FullName()] = f
		}
	}
	function := func(name string) types.Object {
		require.NotNil(t, functions[name], "there is no function %s", name)
		return functions[name]
	}
	every := []types.Object{function(command + ".openHouse"), function("(*" + command + ".house).measured")}
	out := map[string]roots{}
	add := func(part string, objects []types.Object, nodes ...ast.Node) {
		of := out[part]
		out[part] = roots{objects: append(of.objects, objects...), nodes: append(of.nodes, nodes...)}
	}
	add("bridge", append([]types.Object{function("(*" + command + ".house).bridge")}, every...))
	add("api", append([]types.Object{function("(*" + command + ".house).api")}, every...))
	for _, name := range []string{"keysCreate", "keysList", "keysRevoke", "sessionsList", "sessionsEnd"} {
		add("api", []types.Object{function("(*" + command + "." + name + "Cmd).Run")}) // they are run in its container
	}
	for _, q := range workflows.QueueNames() {
		add(q, slices.Clone(every))
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if functions[name].Pkg().Path() != command {
			continue
		}
		ast.Inspect(r.refers[functions[name]][0], func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr: // h.tend(queue, doing, every, work)
				f, ok := n.Fun.(*ast.SelectorExpr)
				if ok && f.Sel.Name == "tend" && len(n.Args) == 4 && r.info.Types[n.Args[0]].Value != nil {
					add(r.queue(t, n.Args[0]), nil, n.Args[3])
				}
			case *ast.CompositeLit:
				r.literal(t, n, add)
			}
			return true
		})
	}
	return out
}

// literal adds what a row of a worker, or a resume, has for its task queue.
func (r *reach) literal(t *testing.T, n *ast.CompositeLit, add func(part string, objects []types.Object, nodes ...ast.Node)) {
	t.Helper()

	of, ok := r.info.Types[n].Type.(*types.Named)
	if !ok || !inModule(of.Obj()) || of.Obj().Name() != "Row" && of.Obj().Name() != "resume" {
		return
	}
	values := map[string]ast.Expr{}
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		require.True(t, ok)
		values[types.ExprString(kv.Key)] = kv.Value
	}
	if of.Obj().Name() == "resume" {
		add(r.queue(t, values["queue"]), nil, values["list"], values["start"])
		return
	}
	list := values["Activities"]
	if id, ok := list.(*ast.Ident); ok { // a variable
		list = r.lists[r.info.Uses[id]]
	}
	built, ok := list.(*ast.CompositeLit)
	require.True(t, ok, "activities are no list at %s", r.files.Position(n.Pos()))
	for _, e := range built.Elts {
		methods := exported(r.info.Types[e].Type)
		require.NotEmpty(t, methods)
		add(r.queue(t, values["Queue"]), methods)
	}
}

// queue is the constant that names a task queue.
func (r *reach) queue(t *testing.T, e ast.Expr) string {
	t.Helper()

	v := r.info.Types[e].Value
	require.True(t, v != nil && v.Kind() == goconstant.String, "no constant at %s", r.files.Position(e.Pos()))
	return goconstant.StringVal(v)
}

// composed are the privileges of statements that are put together when they run, by what has pieces of them.
var composed = map[string][]string{
	"db/outreach.keyText": {
		"SELECT, UPDATE, DELETE ON opt_outs", "SELECT, UPDATE, DELETE ON opt_ins", "SELECT ON opt_out_key",
	},
	"db/outreach.tenantTable.eraseText": erases(),
	"db/outreach.tenantTables":          {}, // of eraseText
	"db/outreach.tenantTable.looked":    {}, // the same
	"db/outreach.tenantTable.readText":  exports(),
	"db/outreach.contactCondition":      {"SELECT ON contact_list_members"},
	"db/outreach.Contacts.Search":       {"SELECT ON contacts", "SELECT ON opt_outs"},
	"db/outreach.Contacts.Count":        {"SELECT ON contacts"},
	"db/outreach.Campaigns.Audience":    {"SELECT ON contacts", "SELECT ON opt_outs"},
	"db/listings.Replays.Count":         {"SELECT ON raw_listings"},
	"db/outreach.audience":              {"SELECT, UPDATE (id) ON contacts", "SELECT ON opt_outs"},
	"db/search.copyBlocks":              {"INSERT ON search_postings"},
}

// ofTenants are the tables from which an erasure deletes rows.
var ofTenants = []string{
	"sessions", "saved_items", "saved_matches", "saved_deliveries", "saved_targets", "saved_searches",
	"saved_asks", "saved_told", "message_attempts", "messages", "wa_user_changes", "wa_user_wishes",
	"message_days", "campaigns", "upload_errors", "upload_keys", "upload_chunks", "uploads",
	"contact_list_members", "contact_lists", "segments", "contacts", "opt_ins", "opt_outs", "senders",
	"outbox", "dead_letters",
}

// erased are the columns by which an erasure finds rows of some of byColumn.
var erased = map[string]string{
	"sessions": "caller_tenant, ctid, sum", "opt_outs": "ctid, digest, tenant",
	"message_attempts": "ctid, message, n, tenant", "upload_errors": "ctid, row, tenant, upload",
	"outbox": "body, ctid, exchange, id, published_at",
}

// exports are those of an export of a tenant, which TestPartServesTheAPI makes.
func exports() (list []string) {
	for _, table := range slices.Concat(ofTenants, []string{"api_keys", "tenants"}) {
		list = append(list, "SELECT ON "+table)
	}
	return list
}

// erases are those of an erasure, which TestPartErasesTenants does.
func erases() (list []string) {
	for _, table := range ofTenants {
		columns := "" // all
		if slices.Contains(byColumn, table) {
			columns = " (" + cmp.Or(erased[table], "ctid, id, tenant") + ")"
		}
		list = append(list, "SELECT"+columns+", DELETE ON "+table)
	}
	return append(list, "SELECT, INSERT, UPDATE ON unused_blobs", "SELECT, INSERT, UPDATE ON saved_changes",
		"USAGE ON SEQUENCE saved_version")
}

// byColumn are the tables with what others wrote, or with persons and secrets: of them parts read columns. Of the others
// they read rows, so that a release that reads one column more can run beside the one before.
var byColumn = []string{
	"api_keys", "sessions", "audit", "contacts", "dead_letters", "draft_secrets", "message_attempts", "messages", "opt_outs",
	"outbox", "saved_targets", "senders", "tenants", "upload_errors", "webhook_events",
}

// privileges are those of a part: of a table its verbs, with the columns of each; no columns are all of them.
type privileges map[string]map[string][]string

const whole = "" // stands for all columns

func (p privileges) add(object, verb string, columns ...string) {
	if p[object] == nil {
		p[object] = map[string][]string{}
	}
	p[object][verb] = append(p[object][verb], columns...)
}

// lines are the privileges as GRANT has them.
func (p privileges) lines() (list []string) {
	for _, object := range slices.Sorted(maps.Keys(p)) {
		var verbs []string
		for _, verb := range []string{"SELECT", "INSERT", "UPDATE", "DELETE", "USAGE", "EXECUTE"} {
			columns, ok := p[object][verb]
			if !ok {
				continue
			}
			slices.Sort(columns)
			columns = slices.Compact(columns)
			if slices.Contains(columns, whole) {
				verbs = append(verbs, verb)
			} else {
				verbs = append(verbs, verb+" ("+strings.Join(columns, ", ")+")")
			}
		}
		list = append(list, strings.Join(verbs, ", ")+" ON "+object)
	}
	return list
}

var granted = regexp.MustCompile(`(\w+)(?: \(([^)]*)\))?,? `)

func (p privileges) line(t *testing.T, line string) {
	t.Helper()

	verbs, object, ok := strings.Cut(line, " ON ")
	require.True(t, ok, line)
	for _, m := range granted.FindAllStringSubmatch(verbs+" ", -1) {
		p.add(object, m[1], strings.Split(m[2], ", ")...)
	}
}

// A catalog is what the schema says of statements.
type catalog struct {
	conn      *pgx.Conn
	said      *strings.Builder      // by the server, of the statement that it reads
	tables    map[string]string     // names by OID
	columns   map[string][]string   // of a table; the first is at 1, dropped ones are empty
	functions map[string]string     // names by OID, of those that run as the owner
	bodies    map[string]string     // of the others, by OID
	triggers  map[string]privileges // what the triggers of a table do, by table and verb
}

func readCatalog(t *testing.T) *catalog {
	t.Helper()

	ctx, pool := t.Context(), dbtest.New(t)
	c := &catalog{
		said: new(strings.Builder), tables: map[string]string{}, columns: map[string][]string{},
		functions: map[string]string{}, bodies: map[string]string{}, triggers: map[string]privileges{},
	}
	config, err := pgx.ParseConfig(dbtest.Direct(t, pool))
	require.NoError(t, err)
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.said.WriteString(n.Detail + n.Message) }
	c.conn, err = pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.conn.Close(context.WithoutCancel(ctx)) })

	each := func(sql string, do func(a, b, c string)) {
		rows, _ := c.conn.Query(ctx, sql)
		var one, two, three string
		_, err := pgx.ForEachRow(rows, []any{&one, &two, &three}, func() error { do(one, two, three); return nil })
		require.NoError(t, err, sql)
	}
	each(`SELECT c.oid::text, c.relname::text, '' FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
		AND c.relkind IN ('r', 'p')`, func(oid, name, _ string) { c.tables[oid] = name })
	each(`SELECT c.relname::text, CASE WHEN a.attisdropped THEN '' ELSE a.attname::text END, '' FROM pg_class c
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1, a.attnum`,
		func(table, column, _ string) { c.columns[table] = append(c.columns[table], column) })
	each(`SELECT oid::text, CASE WHEN prosecdef THEN proname::text ELSE '' END, coalesce(prosrc, '') FROM pg_proc
		WHERE pronamespace = 'public'::regnamespace`, func(oid, name, body string) {
		if name != "" {
			c.functions[oid] = name
		} else {
			c.bodies[oid] = body
		}
	})
	each(`SELECT c.relname::text, concat_ws(' ', CASE WHEN tgtype & 4 <> 0 THEN 'INSERT' END,
			CASE WHEN tgtype & 8 <> 0 THEN 'DELETE' END, CASE WHEN tgtype & 16 <> 0 THEN 'UPDATE' END), tgfoid::text
		FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT tgisinternal`, func(table, verbs, function string) {
		for verb := range strings.FieldsSeq(verbs) {
			key := table + " " + verb
			if c.triggers[key] == nil {
				c.triggers[key] = privileges{}
			}
			c.body(c.triggers[key], function)
		}
	})
	_, err = c.conn.Exec(ctx, "SET client_min_messages = log; SET debug_print_rewritten = on; SET debug_pretty_print = off")
	require.NoError(t, err)
	return c
}

var worded = regexp.MustCompile(`(?i)\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN)\s+(\w+)`)

// body adds what a function does that runs as its caller, as far as words tell.
func (c *catalog) body(to privileges, oid string) {
	for _, m := range worded.FindAllStringSubmatch(c.bodies[oid], -1) {
		if c.columns[m[2]] == nil {
			continue
		}
		verb := strings.Fields(strings.ToUpper(m[1]))[0]
		if verb == "FROM" || verb == "JOIN" || verb == "UPDATE" || verb == "DELETE" {
			to.add(m[2], "SELECT", whole)
		}
		if verb == "INSERT" || verb == "UPDATE" || verb == "DELETE" {
			to.add(m[2], verb, whole)
		}
	}
}

// names says whether a text is about a table: FROM it, INTO it, and so on.
func (c *catalog) names(text string) bool {
	return slices.ContainsFunc(worded.FindAllStringSubmatch(text, -1), func(m []string) bool { return c.columns[m[2]] != nil })
}

var (
	// Of Postgres 15 and of 16 and later; both name the table, the verbs and the columns.
	asked = regexp.MustCompile(`:relid (\d+)[^{}]*? :requiredPerms (\d+) :checkAsUser \d+ :selectedCols \(b([ \d]*)\) ` +
		`:insertedCols \(b[ \d]*\) :updatedCols \(b([ \d]*)\)`)
	called  = regexp.MustCompile(`:funcid (\d+)`)
	counted = regexp.MustCompile(`nextval\('(\w+)'\)`)
)

// read adds what a statement needs; the error is that of the server, which cannot read it.
func (c *catalog) read(ctx context.Context, to privileges, text string) error {
	c.said.Reset()
	if _, err := c.conn.PgConn().Prepare(ctx, "", text, nil); err != nil {
		return err
	}
	said := strings.Join(strings.Fields(c.said.String()), " ")
	for _, m := range asked.FindAllStringSubmatch(said, -1) {
		table := c.tables[m[1]]
		bits, _ := strconv.Atoi(m[2])
		for verb, bit := range map[string]int{"INSERT": 1, "SELECT": 2, "UPDATE": 4, "DELETE": 8} {
			if bits&bit == 0 || table == "" {
				continue
			}
			of := map[string]string{"SELECT": m[3], "UPDATE": m[4]}[verb]
			to.add(table, verb, c.named(table, verb, of)...)
			for object, verbs := range c.triggers[table+" "+verb] {
				for verb, columns := range verbs {
					to.add(object, verb, columns...)
				}
			}
		}
	}
	for _, m := range called.FindAllStringSubmatch(said, -1) {
		if name := c.functions[m[1]]; name != "" {
			to.add("FUNCTION "+name, "EXECUTE", whole)
		}
		c.body(to, m[1])
	}
	for _, m := range counted.FindAllStringSubmatch(text, -1) {
		to.add("SEQUENCE "+m[1], "USAGE", whole)
	}
	return nil
}

// named are the columns in a set of Postgres, in which the first one is 8.
func (c *catalog) named(table, verb, set string) (columns []string) {
	if !slices.Contains(byColumn, table) || verb == "INSERT" || verb == "DELETE" {
		return []string{whole}
	}
	for number := range strings.FieldsSeq(set) {
		n, _ := strconv.Atoi(number)
		switch {
		case n == 6:
			columns = append(columns, "ctid")
		case n <= 7: // the row as a whole, or what else the system says of it
			return []string{whole}
		default:
			columns = append(columns, c.columns[table][n-8])
		}
	}
	if columns == nil { // to count rows or to lock them, one is enough
		columns = c.columns[table][:1]
	}
	return columns
}

// statement begins a statement: those of the house with their names.
var statement = regexp.MustCompile(`^(/\* sql\w+ \*/|(SELECT|WITH|INSERT|UPDATE|DELETE FROM|DECLARE|COPY)\s)`)

// needs are the statements of each part, and their privileges.
func needs(t *testing.T) (statements map[string][]string, of map[string]privileges) {
	t.Helper()

	c, r := readCatalog(t), readModule(t)
	statements, of = map[string][]string{}, map[string]privileges{}
	known, used := map[string]privileges{}, map[string]bool{}
	for part, begin := range r.parts(t) {
		of[part] = privileges{}
		texts := map[string]bool{}
		for o, said := range r.from(begin.objects, begin.nodes...) {
			name := objectName(o)
			used[name] = true
			for _, line := range composed[name] {
				of[part].line(t, line)
			}
			for _, text := range said {
				if strings.Contains(text, "*/ FETCH ") {
					continue // it needs what the declaration of its cursor does
				}
				if statement.MatchString(text) && !strings.Contains(text, "%[") && !strings.HasSuffix(text, " AND ") {
					texts[text] = true
				} else if strings.HasPrefix(name, "db") && c.names(text) {
					require.Contains(t, composed, name, "its statements are put together when they run: %s", text)
				}
			}
		}
		statements[part] = slices.Sorted(maps.Keys(texts))
		for _, text := range statements[part] {
			if known[text] == nil {
				known[text] = privileges{}
				require.NoError(t, c.read(t.Context(), known[text], text), text)
			}
			for object, verbs := range known[text] {
				for verb, columns := range verbs {
					of[part].add(object, verb, columns...)
				}
			}
		}
	}
	for name := range composed {
		require.True(t, used[name], "nothing reaches %s", name)
	}
	return statements, of
}

// objectName is a name such as db/outreach.keyText.
func objectName(o types.Object) string {
	if o == nil || o.Pkg() == nil {
		return ""
	}
	name := o.Name()
	if f, ok := o.(*types.Func); ok {
		name = strings.NewReplacer("(", "", ")", "", "*", "", o.Pkg().Path()+".", "").Replace(f.FullName())
	} else if o.Parent() != o.Pkg().Scope() {
		return ""
	}
	return strings.TrimPrefix(o.Pkg().Path(), ours) + "." + name
}

const partsFile = "parts.txt"

// What is granted to a part is what its statements need, and nothing else.
func TestPartsHaveWhatTheyNeed(t *testing.T) {
	t.Parallel()

	statements, of := needs(t)
	text := partsHead
	for _, part := range slices.Sorted(maps.Keys(of)) {
		text += "\n[" + part + "]\n" + strings.Join(of[part].lines(), "\n") + "\n"
	}
	if *update {
		require.NoError(t, os.WriteFile(partsFile, []byte(text), 0o600))
		return
	}
	have, err := os.ReadFile(partsFile)
	require.NoError(t, err)
	require.Equal(t, text, string(have), "go test ./db -run ^TestPartsHaveWhatTheyNeed$ -update writes it")
	require.ElementsMatch(t, slices.Collect(maps.Keys(of)), db.Parts())

	// And Postgres says the same.
	pool := dbtest.New(t)
	for process, texts := range statements {
		conn, err := dbtest.Part(t, pool, process).Acquire(t.Context())
		require.NoError(t, err)
		t.Cleanup(conn.Release) // before the pool is closed, which waits for it
		for n, text := range texts {
			if strings.Contains(text, "/* sqlDiskLog */") { // needs pg_monitor, and is done without where that is not granted
				continue
			}
			name := fmt.Sprintf("s%d", n)
			sd, err := conn.Conn().Prepare(t.Context(), name, text)
			if !assert.NoError(t, err, "%s: %s", process, text) {
				continue
			}
			nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(sd.ParamOIDs)), ",")
			if nulls != "" {
				nulls = "(" + nulls + ")"
			}
			_, err = conn.Exec(t.Context(), "EXPLAIN EXECUTE "+name+nulls)
			assert.NoError(t, err, "%s: %s", process, text)
		}
	}
}

const partsHead = `# The privileges of each part, a task queue's workers or another process, as GrantPart gives them: those of the statements
# that its code can reach, which TestPartsHaveWhatTheyNeed finds and writes. What goes from here, processes of the release
# before still need while they run.
`
