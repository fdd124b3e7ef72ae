package outreach

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A Known says what becomes of a contact that is stored already when a file or a request has it again.
type Known string

// What becomes of known contacts.
const (
	// KnownUpdate overwrites what the new row has a value for, and adds its fields, and its tags up to contact.MaxTags.
	KnownUpdate Known = "update"
	// KnownSkip leaves the contact as it is. It still becomes a member of the lists.
	KnownSkip Known = "skip"
	// KnownFail refuses the row, with the code contact_known.
	KnownFail Known = "fail"
)

// CheckKnown refuses, as fault.Invalid, any other text.
func CheckKnown(k Known) error {
	if k != KnownUpdate && k != KnownSkip && k != KnownFail {
		return fault.Newf(fault.Invalid, "known: is %.20q, expected update, skip or fail", k)
	}
	return nil
}

// What became of a contact that was to be stored.
type written string

const (
	writtenNew     written = "new"
	writtenUpdated written = "updated"
	writtenKnown   written = "known" // it was there, and nothing was changed
	writtenOver    written = "over"  // the tenant may not have another one
)

// A kept is a contact after it was stored.
type kept struct {
	ID  int64 // 0 of one that is not stored
	Was written
}

// The contacts given are $3 to $13, in their order; an empty text gives nothing. A contact has at most $18 tags, those
// that it had before first, then those that are given, in their order; one that had more keeps them. Its fields take at
// most 2 MiB, twice what a row has: those that would take more stay as they were. Those that are
// known are compared with what is stored, so that a file that is imported again writes nothing; others are not, for
// that takes a quarter of the time. The LIMIT makes it look each of them up by its key: a join would read the contacts
// of all tenants for every few thousand rows.
const sqlContactsLooked = `
looked AS MATERIALIZED (
    SELECT g.*, o.id, row_number() OVER (PARTITION BY o.id IS NULL ORDER BY g.n) AS nth,
        o.id IS NOT NULL AND $2 = 'update' AND (g.phone NOT IN ('', o.phone) OR g.country NOT IN ('', o.country)
            OR g.email NOT IN ('', o.email) OR g.name NOT IN ('', o.name) OR g.given_name NOT IN ('', o.given_name)
            OR g.family_name NOT IN ('', o.family_name) OR g.locale NOT IN ('', o.locale)
            OR cardinality(o.tags) < $18 AND NOT o.tags @> g.tags::text[] OR NOT o.fields @> g.fields::jsonb) AS differs
    FROM unnest($3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
        $11::text[], $12::text[], $13::text[], $17::bytea[]) WITH ORDINALITY
        AS g(key, digest, phone, country, email, name, given_name, family_name, locale, tags, fields, email_digest, n)
    LEFT JOIN LATERAL (SELECT * FROM contacts c WHERE c.tenant = $1 AND c.key = g.key LIMIT 1) o ON true
)`

// Rows are locked in the order of keys, so that two transactions do not wait for each other. A contact that another
// transaction has added since the statement began is updated, or is not in the answer. None is from a time that is to
// come: a campaign that begins next would leave it out.
const sqlContactsWrite = `/* sqlContactsWrite */
WITH ` + sqlContactsLooked + `, wrote AS (
    INSERT INTO contacts AS c (tenant, created_at, updated_at, upload, digest, key, phone, country, email, name,
        given_name, family_name, locale, tags, fields, email_digest)
    SELECT $1, least($15::timestamptz, now()), $15, $16::uuid, digest, key, phone, country, email, name, given_name,
        family_name, locale, (tags::text[])[:$18], fields::jsonb, email_digest
    FROM looked WHERE id IS NULL AND ($14::bigint IS NULL OR nth <= $14) OR id IS NOT NULL AND differs
    ORDER BY key
    ON CONFLICT (tenant, key) DO UPDATE SET
        updated_at = excluded.updated_at, upload = excluded.upload,
        phone = coalesce(nullif(excluded.phone, ''), c.phone),
        country = coalesce(nullif(excluded.country, ''), c.country),
        email = coalesce(nullif(excluded.email, ''), c.email),
        email_digest = coalesce(nullif(excluded.email_digest, ''), c.email_digest),
        name = coalesce(nullif(excluded.name, ''), c.name),
        given_name = coalesce(nullif(excluded.given_name, ''), c.given_name),
        family_name = coalesce(nullif(excluded.family_name, ''), c.family_name),
        locale = coalesce(nullif(excluded.locale, ''), c.locale),
        tags = CASE WHEN c.tags @> excluded.tags THEN c.tags
            ELSE (c.tags || ARRAY(SELECT t FROM unnest(excluded.tags) WITH ORDINALITY AS e(t, n) WHERE t <> ALL (c.tags)
                GROUP BY t ORDER BY min(n)))[:greatest(cardinality(c.tags), $18)] END,
        fields = CASE WHEN pg_column_size(c.fields || excluded.fields) <= 2097152 THEN c.fields || excluded.fields
            ELSE c.fields END
    WHERE $2 = 'update'
    RETURNING c.key, c.id, CASE WHEN c.xmax = 0 THEN 'new' ELSE 'updated' END AS was
)
SELECT key, id, was FROM wrote
UNION ALL SELECT key, id, 'known' FROM looked WHERE id IS NOT NULL AND NOT differs`

// The same without writing.
const sqlContactsCompare = `/* sqlContactsCompare */
WITH ` + sqlContactsLooked + `
SELECT key, coalesce(id, 0), CASE WHEN id IS NULL THEN 'new' WHEN differs THEN 'updated' ELSE 'known' END FROM looked
WHERE (id IS NOT NULL OR $14::bigint IS NULL OR nth <= $14)
    AND $15::timestamptz IS NOT NULL AND $16::uuid IS NOT NULL`

// contactsWrite stores contacts, of which no two have the same key, or with dry only says what would become of them. No
// more than room new ones are stored, the first ones (below 0 = any number). The answer is in their order. An upload
// of zero is none.
func contactsWrite(ctx context.Context, tx pgx.Tx, tenant string, known Known, list []contact.Contact, upload uuid.UUID,
	room int64, dry bool, now time.Time) ([]kept, error) {
	out, place, left := make([]kept, len(list)), make(map[string]int, len(list)), list
	for i, c := range list {
		place[c.Key] = i
	}
	text := sqlContactsWrite
	if dry {
		text = sqlContactsCompare
	}
	var from *uuid.UUID
	if upload != uuid.Nil {
		from = &upload
	}
	// A contact that another transaction adds meanwhile is seen by the next statement.
	for try := 0; len(left) > 0; try++ {
		args, emails, err := contactArgs(tenant, left)
		if err != nil {
			return nil, err
		}
		var limit *int64
		if room >= 0 {
			limit = &room
		}
		rows, _ := tx.Query(ctx, text, append([]any{tenant, string(known)}, append(args, limit, now, from, emails,
			contact.MaxTags)...)...)
		var key string
		var k kept
		_, err = pgx.ForEachRow(rows, []any{&key, &k.ID, &k.Was}, func() error {
			out[place[key]] = k
			if k.Was == writtenNew && room > 0 {
				room--
			}
			return nil
		})
		if err != nil {
			return nil, db.Refused(err)
		}
		var missing []contact.Contact
		for _, c := range left {
			if out[place[c.Key]].Was == "" {
				missing = append(missing, c)
			}
		}
		if left = missing; room == 0 || try == 3 {
			break
		}
	}
	for _, c := range left {
		if room != 0 {
			return nil, fault.Newf(fault.Transient, "contacts are being changed by others at once")
		}
		out[place[c.Key]] = kept{Was: writtenOver}
	}
	return out, nil
}

// contactArgs are contacts as the arguments of sqlContactsLooked, and the digests of their addresses beside a phone.
func contactArgs(tenant string, list []contact.Contact) (args []any, emails [][]byte, err error) {
	n := len(list)
	column := func() []string { return make([]string, n) }
	keys, phones, countries, addresses, names := column(), column(), column(), column(), column()
	given, family, locales, tags, fields := column(), column(), column(), column(), column()
	digests := make([][]byte, n)
	emails = make([][]byte, n)
	m := pgtype.NewMap()
	for i, c := range list {
		digest := contact.Digest(tenant, c.Key)
		keys[i], digests[i], phones[i], countries[i] = c.Key, digest[:], c.Phone, c.Country
		addresses[i], names[i], emails[i] = c.Email, c.Name, []byte{}
		if c.Phone != "" && c.Email != "" {
			digest := contact.Digest(tenant, contact.Key("", c.Email))
			emails[i] = digest[:]
		}
		given[i], family[i], locales[i], tags[i], fields[i] = c.GivenName, c.FamilyName, c.Locale, "{}", "{}"
		if len(c.Tags) > 0 {
			literal, err := m.Encode(pgtype.TextArrayOID, pgtype.TextFormatCode, c.Tags, nil)
			if err != nil {
				return nil, nil, fmt.Errorf("write tags: %w", err)
			}
			tags[i] = string(literal)
		}
		if len(c.Fields) > 0 {
			object, err := json.Marshal(c.Fields)
			if err != nil {
				return nil, nil, fmt.Errorf("write fields: %w", err)
			}
			fields[i] = string(object)
		}
	}
	return []any{keys, digests, phones, countries, addresses, names, given, family, locales, tags, fields}, emails, nil
}

// Lists are locked after their members, for the count, and in the order of their numbers.
const sqlMembersAdd = `/* sqlMembersAdd */
WITH added AS (
    INSERT INTO contact_list_members (tenant, list, contact)
    SELECT $1, l.id, m.contact FROM contact_lists l, unnest($3::bigint[]) AS m(contact)
    WHERE l.tenant = $1 AND l.id = ANY ($2) AND l.deleted_at IS NULL ORDER BY 2, 3
    ON CONFLICT DO NOTHING RETURNING list
), turns AS (
    SELECT id FROM contact_lists WHERE tenant = $1 AND id IN (SELECT list FROM added) ORDER BY id FOR NO KEY UPDATE
)
UPDATE contact_lists l SET members = l.members + n
FROM turns t JOIN (SELECT list, count(*) AS n FROM added GROUP BY list) a ON a.list = t.id
WHERE l.tenant = $1 AND l.id = t.id`

// A list that was deleted while sqlMembersAdd ran was not locked by it, and has got members that nothing would delete.
const sqlMembersStray = `/* sqlMembersStray */
DELETE FROM contact_list_members WHERE tenant = $1 AND contact = ANY ($3) AND list = ANY (ARRAY(
    SELECT unnest($2::uuid[]) EXCEPT SELECT id FROM contact_lists WHERE tenant = $1 AND id = ANY ($2)))`

// membersAdd makes contacts members of lists, both of the tenant. A list that was deleted gets none.
func membersAdd(ctx context.Context, tx pgx.Tx, tenant string, lists []uuid.UUID, contacts []int64) error {
	if len(lists) == 0 || len(contacts) == 0 {
		return nil
	}
	b := new(pgx.Batch)
	b.Queue(sqlMembersAdd, tenant, lists, contacts)
	b.Queue(sqlMembersStray, tenant, lists, contacts)
	return tx.SendBatch(ctx, b).Close()
}
