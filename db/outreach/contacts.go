// Package outreach keeps what tenants have: files of contacts and their import, contacts, lists and segments, senders,
// messages, campaigns, the webhooks that report on them, and how a tenant is exported and erased.
package outreach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/text/unicode/norm"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Contacts are the people that tenants write to, their lists and segments, and those that are never written to. Every
// method is of one tenant; what is another's is fault.Gone.
type Contacts struct {
	pool *pgxpool.Pool
	key  *OptOutKey
}

// NewContacts returns the contacts kept in pool. Opt-outs that are hashed by key are found, too.
func NewContacts(pool *pgxpool.Pool, key *OptOutKey) *Contacts {
	return &Contacts{pool: pool, key: key}
}

// A Contact is a person as it is stored.
type Contact struct {
	ID int64
	contact.Contact
	WaID      string // the number that WhatsApp has, digits only; "" = that of the phone, or it was never written to
	OptedOut  bool   // it is never written to
	CreatedAt time.Time
	UpdatedAt time.Time
}

// contactFault makes an error of a method: no row is fault.Gone.
func contactFault(err error, verb string, id int64) error {
	return db.Gone(db.Refused(fault.Wrap(err, "%s contact %d", verb, id)), "there is no contact %d", id)
}

// sqlOptedOut says whether contacts c of the tenant $1 have opted out. $3 and $4 are the pads of the key of opt-outs.
const sqlOptedOut = `EXISTS (SELECT FROM opt_outs o WHERE o.tenant = $1 AND o.digest = ANY (ARRAY[
        c.digest, c.email_digest, opt_out_keyed(c.digest, $3, $4), opt_out_keyed(c.email_digest, $3, $4)]))`

// sqlContactColumns are those of a Contact, of contacts c; the parameters are those of sqlOptedOut.
const sqlContactColumns = `
    c.id, c.key, c.phone, c.country, c.email, c.name, c.given_name, c.family_name, c.locale, c.tags, c.fields, c.wa_id,
    ` + sqlOptedOut + `, c.created_at, c.updated_at`

const sqlContactRead = `/* sqlContactRead */
SELECT ` + sqlContactColumns + ` FROM contacts c WHERE c.tenant = $1 AND c.id = $2`

// Get returns a contact.
func (s *Contacts) Get(ctx context.Context, tenant string, id int64) (Contact, error) {
	pads, err := s.key.pads(ctx)
	if err != nil {
		return Contact{}, err
	}
	c, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[Contact], sqlContactRead, tenant, id,
		pads.Inner, pads.Outer))
	return c, contactFault(err, "read", id)
}

const sqlContactFind = `/* sqlContactFind */
SELECT ` + sqlContactColumns + ` FROM contacts c WHERE c.tenant = $1 AND c.key = $2`

// Find returns the contact with a key, as contact.Key makes it of a phone or an address.
func (s *Contacts) Find(ctx context.Context, tenant, key string) (Contact, error) {
	pads, err := s.key.pads(ctx)
	if err != nil {
		return Contact{}, err
	}
	c, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[Contact], sqlContactFind, tenant,
		db.Storable(key), pads.Inner, pads.Outer))
	if errors.Is(err, pgx.ErrNoRows) {
		return c, fault.Newf(fault.Gone, "there is no such contact")
	}
	return c, contactFault(err, "find", 0)
}

// The beginnings of statements that contactCondition goes on with.
const (
	contactsSearch = `SELECT ` + sqlContactColumns + ` FROM contacts c WHERE c.tenant = $1 AND c.id > $2 AND `
	contactsCount  = `SELECT count(*) FROM contacts c WHERE c.tenant = $1 AND `
)

// contactsBytes is how much of contacts is held at once, but for the last of them: the custom fields of one may have
// more than a megabyte.
const contactsBytes = 8 << 20

// Search returns up to limit contacts that a filter has, after a number (0 begins), the oldest first, and the number to
// go on from: nil when these were the last. There are fewer where they are large. A filter that means nothing is
// fault.Invalid.
func (s *Contacts) Search(ctx context.Context, tenant string, f contact.Filter, after int64, limit int) (
	[]Contact, *int64, error,
) {
	if err := f.Check(); err != nil {
		return nil, nil, err
	}
	pads, err := s.key.pads(ctx)
	if err != nil {
		return nil, nil, err
	}
	args := []any{tenant, after, pads.Inner, pads.Outer}
	text := contactsSearch + contactCondition(f, &args)
	args = append(args, limit+1)
	text += " ORDER BY c.id LIMIT $" + strconv.Itoa(len(args))
	list, more, err := db.TenantRowsUpTo(ctx, s.pool, tenant, contactsBytes, pgx.RowToStructByPos[Contact], text, args...)
	if more {
		return list, new(list[len(list)-1].ID), nil
	}
	list, next := db.CutPage(list, limit, func(c Contact) int64 { return c.ID })
	return list, next, db.Refused(fault.Wrap(err, "search contacts"))
}

const sqlContactFields = `/* sqlContactFields */
SELECT DISTINCT k FROM contacts c, jsonb_object_keys(c.fields) k WHERE c.tenant = $1 ORDER BY k LIMIT $2`

// FieldNames returns the names of up to most custom fields that contacts of a tenant have, in their order. It looks at
// all contacts of the tenant.
func (s *Contacts) FieldNames(ctx context.Context, tenant string, most int) ([]string, error) {
	names, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[string], sqlContactFields, tenant, most)
	return names, fault.Wrap(err, "read names of custom fields")
}

// Count is how many contacts a filter has. It looks at all contacts of the tenant.
func (s *Contacts) Count(ctx context.Context, tenant string, f contact.Filter) (int64, error) {
	if err := f.Check(); err != nil {
		return 0, err
	}
	args := []any{tenant}
	text := contactsCount + contactCondition(f, &args)
	n, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[int64], text, args...))
	return n, db.Refused(fault.Wrap(err, "count contacts"))
}

// contactCondition is a filter that Check accepts as a condition on contacts c. What it compares with goes to args, and
// nothing of it into the text. It is never NULL.
func contactCondition(f contact.Filter, args *[]any) string {
	arg := func(v any, kind string) string {
		*args = append(*args, v)
		return "$" + strconv.Itoa(len(*args)) + "::" + kind
	}
	text := func(s string) string { return arg(norm.NFC.String(s), "text") } // as contacts have it
	several := func(list []contact.Filter, word string) string {
		parts := make([]string, len(list))
		for i, inner := range list {
			parts[i] = contactCondition(inner, args)
		}
		return "(" + strings.Join(parts, word) + ")"
	}
	within := func(column string, r contact.Range) string {
		var parts []string
		if r.From != nil {
			parts = append(parts, column+" >= "+arg(*r.From, "timestamptz"))
		}
		if r.Before != nil {
			parts = append(parts, column+" < "+arg(*r.Before, "timestamptz"))
		}
		return "(" + strings.Join(parts, " AND ") + ")"
	}
	switch {
	case f.All != nil:
		return several(f.All, " AND ")
	case f.Any != nil:
		return several(f.Any, " OR ")
	case f.Not != nil:
		return "NOT " + contactCondition(*f.Not, args)
	case f.Tag != "":
		return "c.tags && " + arg(tagForms(f.Tag), "text[]")
	case f.List != "":
		return "EXISTS (SELECT FROM contact_list_members m WHERE m.tenant = c.tenant AND m.contact = c.id AND m.list = " +
			arg(f.List, "uuid") + ")"
	case f.Locale != "":
		own := arg(f.Language(), "text")
		return "(c.locale = " + own + " OR starts_with(c.locale, " + own + " || '-'))"
	case f.Country != "":
		return "c.country = " + arg(f.Country, "text")
	case f.Created != nil:
		return within("c.created_at", *f.Created)
	case f.Updated != nil:
		return within("c.updated_at", *f.Updated)
	case f.Field != "":
		name, custom := f.FilterField()
		column := "c." + name // one of contact.FilterFields, which are columns
		if custom {
			column = "coalesce(c.fields ->> " + arg(name, "text") + ", '')"
		}
		switch {
		case f.Equals != nil:
			return "lower(" + column + ") = lower(" + text(*f.Equals) + ")"
		case f.Contains != nil:
			return "strpos(lower(" + column + "), lower(" + text(*f.Contains) + ")) > 0"
		}
		return "(" + column + " <> '') = " + arg(*f.Exists, "boolean")
	}
	return "true"
}

// Put stores one contact as an upload would, and says what became of it: it is new, or one that was there and is now,
// or not, another. Of one that was there and is updated, the fields named by empty, as columns of a file are
// (contact.FieldEmail, …), are emptied. A tenant that may not have another one, and KnownFail of a known one, are
// fault.Conflict. What it writes has an audit record. It may be repeated.
func (s *Contacts) Put(ctx context.Context, tenant string, c contact.Contact, known Known, actor string,
	now time.Time, empty ...string) (id int64, added bool, err error) {
	if err := CheckKnown(known); err != nil {
		return 0, false, err
	}
	pads, err := s.key.pads(ctx)
	if err != nil {
		return 0, false, err
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if err := tenantWorks(ctx, tx, tenant); err != nil {
			return err
		}
		room, err := tenantRoom(ctx, tx, tenant, 0)
		if err != nil {
			return err
		}
		done, err := contactsWrite(ctx, tx, tenant, known, []contact.Contact{c}, uuid.Nil, room, false, now)
		if err != nil {
			return err
		}
		switch id = done[0].ID; {
		case done[0].Was == writtenOver:
			return db.QuotaFull("max_contacts", "contacts")
		case done[0].Was == writtenKnown && known == KnownFail:
			return fault.Newf(fault.Conflict, "the contact is there already")
		}
		if done[0].Was == writtenUpdated && len(c.Fields) > 0 {
			if err := contactHas(ctx, tx, tenant, id, c.Fields); err != nil {
				return err
			}
		}
		emptied := false
		if known == KnownUpdate && done[0].Was != writtenNew && len(empty) > 0 {
			if emptied, err = contactEmpty(ctx, tx, tenant, id, empty, pads, now); err != nil {
				return err
			}
		}
		if done[0].Was == writtenKnown && !emptied {
			return nil
		}
		action := "contact.changed"
		if added = done[0].Was == writtenNew; added {
			action = "contact.added"
			if _, err := tx.Exec(ctx, sqlTenantContacts, tenant, 1); err != nil {
				return err
			}
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, action, fmt.Sprintf("contact/%d", id), actor, now, nil))
	})
	return id, added, contactFault(err, "store", id)
}

const sqlContactHas = `/* sqlContactHas */ SELECT fields @> $3::jsonb FROM contacts WHERE tenant = $1 AND id = $2`

// contactHas refuses, as fault.Invalid, fields for which a contact had no room: sqlContactsWrite.
func contactHas(ctx context.Context, tx pgx.Tx, tenant string, id int64, fields map[string]string) error {
	var has bool
	if err := tx.QueryRow(ctx, sqlContactHas, tenant, id, fields).Scan(&has); err != nil || has {
		return err
	}
	return fault.Newf(fault.Invalid, "fields: the contact would have more than 2 MiB of custom fields")
}

// roomPlenty is more contacts than all transactions that are under way at once store.
const roomPlenty = 1_000_000

// tenantRoom is how many contacts a tenant may have besides those that it has, and so many others; -1 = as many as a
// transaction stores. Where they are fewer than roomPlenty, it locks the row of the tenant, so that no other
// transaction takes the room.
func tenantRoom(ctx context.Context, tx pgx.Tx, tenant string, others int64) (int64, error) {
	var room int64
	switch err := tx.QueryRow(ctx, sqlTenantRoom, tenant, roomPlenty+others).Scan(&room); {
	case errors.Is(err, pgx.ErrNoRows):
		return -1, nil
	case err != nil:
		return 0, err
	}
	return max(room-others, 0), nil
}

// Others, as whoever writes a campaign, lock contacts in another order, so that none is deleted: beside that, tags may
// change.
const sqlContactsTag = `/* sqlContactsTag */
UPDATE contacts c SET updated_at = $5, tags = (
    SELECT (stay || come)[:greatest(cardinality(stay), $6)] FROM (SELECT
        ARRAY(SELECT t FROM unnest(c.tags) WITH ORDINALITY AS o(t, n) WHERE t <> ALL ($4) ORDER BY n) AS stay,
        ARRAY(SELECT t FROM unnest($3::text[]) WITH ORDINALITY AS a(t, n) WHERE t <> ALL (c.tags)
            GROUP BY t ORDER BY min(n)) AS come) p)
WHERE c.tenant = $1 AND c.id = ANY (ARRAY(
        SELECT id FROM contacts WHERE tenant = $1 AND id = ANY ($2) ORDER BY key FOR NO KEY UPDATE))
    AND (c.tags && $4 OR NOT c.tags @> $3 AND cardinality(c.tags) < $6)`

// tagForms are the notations of a tag that a contact may have: composed, as all are stored now, and, as they once were,
// in that of who gave it.
func tagForms(tag string) []string { return []string{norm.NFC.String(tag), tag, norm.NFD.String(tag)} }

// Tag adds and removes tags of contacts, with an audit record where that changes something, and returns how many of
// them it changed; those that are not there are ignored. Accents are added composed, and removed in either notation.
// A tag that is in both lists is removed. Of a contact that has
// contact.MaxTags, with those that stay, the rest is left out. It may be repeated.
func (s *Contacts) Tag(ctx context.Context, tenant string, ids []int64, add, remove []string, actor string,
	now time.Time) (int64, error) {
	for _, tag := range slices.Concat(add, remove) {
		if err := (contact.Filter{Tag: tag}).Check(); err != nil || tag == "" || db.Storable(tag) != tag {
			return 0, fault.Newf(fault.Invalid, "tags: %.80q is no tag: expected 1 to %d characters", tag, contact.MaxTag)
		}
	}
	var forms []string
	for _, tag := range remove {
		forms = append(forms, tagForms(tag)...)
	}
	var come []string
	for _, tag := range add {
		if tag = norm.NFC.String(tag); !slices.Contains(forms, tag) {
			come = append(come, tag)
		}
	}
	var changed int64
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlContactsTag, tenant, ids, db.Some(come), db.Some(forms), now, contact.MaxTags)
		if changed = tag.RowsAffected(); err != nil || changed == 0 {
			return err
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "contact.tagged", "tenant/"+tenant, actor, now, map[string]any{
			"contacts": changed, "added": len(come), "removed": len(remove),
		}))
	})
	return changed, fault.Wrap(err, "tag %d contacts", len(ids))
}

// Of NOT EXISTS the planner makes a join, and row-level security keeps what is computed of its rows from an index: it
// read all opt-outs of the tenant.
const sqlOptOutsAdd = `/* sqlOptOutsAdd */
INSERT INTO opt_outs AS o (tenant, digest, source, at) SELECT $1, d, $3, $4 FROM (
    SELECT unnest($2::bytea[]) AS d
    UNION SELECT digest FROM contacts WHERE tenant = $1 AND email_digest = ANY ($2::bytea[]) AND email_digest <> ''
) p WHERE ` + db.SQLTenantStands + ` AND (
    SELECT source FROM opt_outs WHERE tenant = $1 AND digest = opt_out_keyed(d, $5, $6) AND source <> 'message') IS NULL
ORDER BY d
ON CONFLICT (tenant, digest) DO UPDATE SET source = excluded.source, at = excluded.at WHERE o.source = 'message'`

// OptOut notes that the people with some keys, as contact.Key makes them, are never written to, whether they are
// contacts or not, with an audit record of the number of digests on the subject. An address is that of every contact
// that has it: their phones are noted too, and one that is imported with it later is not written to for as long as it
// has it. The source is import or api; requests by message are stored with their webhook, and may be taken back. This
// holds for good, of those who have written so, too. It may be repeated: the first one stays.
func (s *Contacts) OptOut(ctx context.Context, tenant string, keys []string, source, subject, actor string,
	now time.Time) error {
	digests := digestsOf(tenant, keys)
	pads, err := s.key.pads(ctx)
	if err != nil {
		return err
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlOptOutsAdd, tenant, digests, source, now, pads.Inner, pads.Outer)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return db.TenantStands(ctx, tx, tenant)
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "contact.opted_out", subject, actor, now,
			map[string]any{"digests": tag.RowsAffected(), "source": source}))
	})
	return fault.Wrap(err, "opt out %d contacts", len(keys))
}

// digestsOf are those of keys, in their order.
func digestsOf(tenant string, keys []string) [][]byte {
	digests := make([][]byte, len(keys))
	for i, key := range keys {
		digest := contact.Digest(tenant, key)
		digests[i] = digest[:]
	}
	slices.SortFunc(digests, bytes.Compare)
	return digests
}

const sqlContactsOf = `/* sqlContactsOf */
SELECT count(*) FROM (
    SELECT id FROM contacts WHERE tenant = $1 AND key = ANY ($2)
    UNION SELECT id FROM contacts WHERE tenant = $1 AND email_digest = ANY ($3::bytea[]) AND email_digest <> '') c`

// Reach is how many contacts OptOut is about: those that have one of the keys, or an address among them beside a phone.
func (s *Contacts) Reach(ctx context.Context, tenant string, keys []string) (int64, error) {
	n, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[int64], sqlContactsOf, tenant, keys,
		digestsOf(tenant, keys)))
	return n, fault.Wrap(err, "count contacts of %d keys", len(keys))
}
