package outreach

import (
	"cmp"
	"fmt"
	"strings"
)

// A tenantTable is a table with rows of tenants: how they are read by an export, and deleted by an erasure. Both go
// through it in the order of its primary key, a bounded number of rows at a time, whoever's they are: no step needs an
// index that begins with the tenant.
type tenantTable struct {
	name   string
	tenant string      // column with the tenant, or what it is in SQL; "" = tenant
	own    bool        // its primary key begins with the tenant, so only rows of the tenant are looked at
	key    []keyColumn // the rest of its primary key, or all of it
	hidden []string    // columns that an export leaves out: secrets, and hashes of them
	adds   string      // columns that an export adds, or has otherwise, as JSON; $5 and $6 are the opt-out key's pads
	late   string      // condition of rows that an export reads after the others, which may become such ones meanwhile
	erase  string      // statement in place of the usual one; its arguments and columns are those of eraseText
	also   string      // CTE about the rows that are gone, in the usual one
	gone   string      // columns of these that also, or files, looks at
	files  bool        // they have files: blob, bytes and copy_bytes are columns of gone
	kept   string      // why rows stay
}

// A keyColumn is a column of a primary key with its type.
type keyColumn struct{ name, kind string }

// lowest is less than every value of a type that is in use, as JSON.
var lowest = map[string]string{
	"uuid": `"00000000-0000-0000-0000-000000000000"`, "bigint": "-1", "int": "-1", "bytea": `"\\x"`, "text": `""`,
}

func keyColumns(kind string, names ...string) (list []keyColumn) {
	for _, name := range names {
		list = append(list, keyColumn{name, kind})
	}
	return list
}

// tenantTables are all tables with rows of tenants, in the order in which they are erased: what lets requests in comes
// first, and rows come before those that they refer to. A table that is missing here fails TestTenantTables.
var tenantTables = []tenantTable{
	{
		name: "api_keys", key: keyColumns("text", "id"), hidden: []string{"sum"}, erase: sqlKeysErase,
		kept: "revoked: a key's name is used once, so that it means one key in the audit",
	},
	{name: "sessions", tenant: "caller_tenant", key: keyColumns("bytea", "sum"), hidden: []string{"sum", "key_sum"}},
	{name: "saved_items", key: []keyColumn{{"target", "uuid"}, {"event", "bigint"}}},
	{name: "saved_matches", key: []keyColumn{{"search", "uuid"}, {"event", "bigint"}}},
	{name: "saved_deliveries", key: keyColumns("uuid", "id")},
	{name: "saved_targets", key: keyColumns("uuid", "id"), hidden: []string{"token", "box", "box_key", "address"}},
	{
		name: "saved_searches", key: keyColumns("uuid", "id"), gone: "id",
		also: `told AS (
    INSERT INTO saved_changes (search, version, at) SELECT id, nextval('saved_version'), now() FROM gone
    ON CONFLICT (search) DO UPDATE SET version = excluded.version, at = excluded.at
)`,
	},
	{name: "saved_asks", own: true, key: keyColumns("text", "tenant")},
	{name: "saved_told", own: true, key: keyColumns("text", "tenant")},
	{name: "message_attempts", key: []keyColumn{{"message", "uuid"}, {"n", "int"}}},
	{
		name: "messages", key: keyColumns("uuid", "id"),
		adds: `jsonb_build_object('wa_user', ltrim(x.wa_user, '` + sqlMoved + `'))`,
	},
	{name: "wa_user_changes", own: true, key: keyColumns("text", "was")},
	{name: "wa_user_wishes", own: true, key: keyColumns("text", "wa_user", "wish")},
	{name: "message_days", own: true, key: keyColumns("text", "tenant")},
	{name: "campaigns", key: keyColumns("uuid", "id")},
	{name: "upload_errors", key: []keyColumn{{"upload", "uuid"}, {"row", "bigint"}}},
	{name: "upload_keys", key: keyColumns("uuid", "upload", "key")},
	{name: "upload_chunks", key: []keyColumn{{"upload", "uuid"}, {"n", "int"}}},
	{
		name: "uploads", key: keyColumns("uuid", "id"), gone: "blob, bytes, copy_bytes", files: true,
		also: `marked AS (
    INSERT INTO unused_blobs (key, due_at) SELECT DISTINCT blob, '-infinity'::timestamptz FROM gone WHERE blob <> ''
    ON CONFLICT (key) DO UPDATE SET due_at = excluded.due_at
)`,
	},
	{name: "contact_list_members", key: []keyColumn{{"list", "uuid"}, {"contact", "bigint"}}},
	{name: "contact_lists", key: keyColumns("uuid", "id")},
	{name: "segments", key: keyColumns("uuid", "id")},
	{
		name: "contacts", own: true, key: keyColumns("bigint", "id"),
		// Who reads the archive has no key to find them in opt_outs.
		adds: `jsonb_build_object('opted_out', EXISTS (
        SELECT FROM opt_outs o WHERE o.tenant = x.tenant AND o.digest = ANY (ARRAY[x.digest, x.email_digest,
            opt_out_keyed(x.digest, $5, $6), opt_out_keyed(x.email_digest, $5, $6)])))`,
	},
	{name: "opt_ins", own: true, key: keyColumns("bytea", "digest"), late: hashed},
	{name: "opt_outs", own: true, key: keyColumns("bytea", "digest"), late: hashed},
	{name: "senders", key: keyColumns("uuid", "id"), hidden: []string{"token", "token_key"}},
	{name: "outbox", tenant: sqlOutboxTenant, key: keyColumns("bigint", "id")}, // before what it may become
	{name: "dead_letters", key: keyColumns("bigint", "id")},
	{
		name: "tenants", tenant: "id", own: true, key: keyColumns("text", "id"), erase: sqlTenantErase,
		kept: "with nothing but the ID, which is not given out again: entries of the audit go on to mean one tenant",
	},
	{
		name: "tenant_erasures", own: true, key: keyColumns("text", "tenant"), erase: sqlNoneErase,
		kept: "the report of the erasure",
	},
}

// sqlOutboxTenant is the tenant of an event that waits to be published. Its lane may be a platform, too.
const sqlOutboxTenant = `CASE WHEN exchange = 'listings.events' AND published_at IS NULL
    THEN substring(convert_from(body, 'UTF8') FROM '"tenant":"([^"]*)"') END`

// hashed says that a digest is by the key of opt-outs: until it is, it is another one, at another place of the table.
const hashed = "octet_length(digest) = 32"

// of is the column with the tenant.
func (t tenantTable) of() string {
	if t.tenant != "" {
		return t.tenant
	}
	return "tenant"
}

// first is the place before the first row.
func (t tenantTable) first() string {
	var values []string
	for _, c := range t.key {
		values = append(values, lowest[c.kind])
	}
	return "[" + strings.Join(values, ",") + "]"
}

// looked is the beginning of both statements: up to $3 rows after the place $2, with what is selected of each.
func (t tenantTable) looked(selected string) string {
	var names, values []string
	for n, c := range t.key {
		names, values = append(names, c.name), append(values, fmt.Sprintf("($2::text::jsonb ->> %d)::%s", n, c.kind))
	}
	key, own := strings.Join(names, ", "), ""
	if t.own {
		own = t.of() + " = $1 AND "
	}
	return fmt.Sprintf(`
SELECT jsonb_build_array(%[1]s)::text AS at, %[2]s FROM %[3]s x
WHERE %[4]s(%[1]s) > (%[5]s) ORDER BY %[1]s LIMIT $3`, key, selected, t.name, own, strings.Join(values, ", "))
}

// eraseText deletes those of $3 rows after the place $2 that are of the tenant $1. It returns the place to go on from,
// whether there may be more rows, and how many rows, files and bytes of them are gone. A row that is written meanwhile
// may stay: the next pass finds it. It reads no column but those of the key, the tenant and gone, so that the role that
// erases need not read what tenants have.
func (t tenantTable) eraseText() string {
	if t.erase != "" {
		return t.erase
	}
	also, files := "", "0::bigint, 0::bigint"
	if t.also != "" {
		also = ", " + t.also
	}
	if t.files {
		files = `(SELECT count(*) FROM gone WHERE blob <> ''),
    (SELECT coalesce(sum(bytes + copy_bytes), 0)::bigint FROM gone WHERE blob <> '')`
	}
	return fmt.Sprintf(`/* sqlTenantErase %[2]s */
WITH looked AS MATERIALIZED (%[1]s), gone AS (
    DELETE FROM %[2]s WHERE ctid = ANY (ARRAY(SELECT place FROM looked WHERE mine)) AND %[3]s = $1 RETURNING %[6]s
)%[4]s
SELECT coalesce((SELECT at FROM looked ORDER BY n DESC LIMIT 1), $2), (SELECT count(*) FROM looked) = $3,
    (SELECT count(*) FROM gone), %[5]s`,
		t.looked(fmt.Sprintf("ctid AS place, %s = $1 AS mine, row_number() OVER (ORDER BY %s) AS n", t.of(), t.order())),
		t.name, t.of(), also, files, cmp.Or(t.gone, "1"))
}

func (t tenantTable) order() string {
	var names []string
	for _, c := range t.key {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

// readText opens a cursor over $3 rows after the place $2: the place of each, and the row as JSON without the columns
// $4 where it is of the tenant $1, and late or not. fetches read on from it.
func (t tenantTable) readText(late bool) string {
	row := "to_jsonb(x) - $4::text[]"
	if t.adds != "" {
		row = "(" + row + ") || " + t.adds
	}
	which := t.of() + " = $1"
	if t.late != "" {
		which += fmt.Sprintf(" AND (%s) = %t", t.late, late)
	}
	row = fmt.Sprintf("CASE WHEN %s THEN (%s)::text END", which, row)
	return "/* sqlTenantExport " + t.name + " */ DECLARE place NO SCROLL CURSOR FOR" + t.looked(row)
}

// fetches read 1, 2, 4, … rows.
var fetches = func() (list []string) {
	for n := range 9 {
		list = append(list, fmt.Sprintf("/* sqlTenantFetch */ FETCH FORWARD %d FROM place", 1<<n))
	}
	return list
}()
