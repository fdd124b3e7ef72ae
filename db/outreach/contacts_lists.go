package outreach

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A ContactList is a list that contacts are members of.
type ContactList struct {
	ID        uuid.UUID
	Name      string // 1 to 200 characters, once in a tenant
	CreatedAt time.Time
}

const (
	sqlListAdd = `/* sqlListAdd */
INSERT INTO contact_lists (id, tenant, name, created_at) SELECT $2, $1, $3, $4
WHERE ` + db.SQLTenantStands + ` AND NOT EXISTS (
    SELECT FROM tenants t WHERE t.id = $1 AND t.max_lists <= (
        SELECT count(*) FROM contact_lists WHERE tenant = $1 AND deleted_at IS NULL))
ON CONFLICT (tenant, name) DO NOTHING`

	sqlListByName = `/* sqlListByName */ SELECT id, name, created_at FROM contact_lists WHERE tenant = $1 AND name = $2`
)

// CreateList returns the list of a name, and makes it where there is none, with an audit record. One more than the
// tenant's quota is fault.Conflict.
func (s *Contacts) CreateList(ctx context.Context, tenant, name, actor string, now time.Time) (
	l ContactList, err error,
) {
	if err := db.CheckName(name); err != nil {
		return l, err
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLQuotaTurn, tenant); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlListAdd, tenant, uuid.New(), name, now)
		if err != nil {
			return err
		}
		l, err = db.Row(ctx, tx, pgx.RowToStructByPos[ContactList], sqlListByName, tenant, name)
		if errors.Is(err, pgx.ErrNoRows) {
			if err := db.TenantStands(ctx, tx, tenant); err != nil {
				return err
			}
			return db.QuotaFull("max_lists", "lists")
		}
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		deed := contactDeed(tenant, "contact_list.created", "contact-list/"+l.ID.String(), actor, now, nil)
		return db.AuditTx(ctx, tx, deed)
	})
	return l, fault.Wrap(db.Refused(err), "create list")
}

const sqlListsRead = `/* sqlListsRead */
SELECT id, name, created_at, members FROM contact_lists WHERE tenant = $1 AND deleted_at IS NULL ORDER BY name`

// contactDeed is the audit record of a change of contacts, lists and segments. It names nobody.
func contactDeed(tenant, action, subject, actor string, now time.Time, detail map[string]any) db.AuditEntry {
	all := map[string]any{"tenant": tenant}
	maps.Copy(all, detail)
	return db.AuditEntry{At: now, Actor: actor, Action: action, Subject: subject, Detail: all}
}

// A CountedList is a list with the number of its members.
type CountedList struct {
	ContactList
	Members int64
}

// Lists returns the lists of a tenant by name.
func (s *Contacts) Lists(ctx context.Context, tenant string) ([]CountedList, error) {
	lists, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[CountedList], sqlListsRead, tenant)
	return lists, fault.Wrap(err, "read lists")
}

const (
	sqlListHold = `/* sqlListHold */ SELECT id FROM contact_lists WHERE tenant = $1 AND id = $2 AND deleted_at IS NULL FOR KEY SHARE`

	sqlMembersJoin = `/* sqlMembersJoin */
INSERT INTO contact_list_members (tenant, list, contact)
SELECT $1, $2, id FROM contacts WHERE tenant = $1 AND id = ANY ($3) ORDER BY id
ON CONFLICT DO NOTHING`

	sqlMembersCount = `/* sqlMembersCount */ UPDATE contact_lists SET members = members + $3 WHERE tenant = $1 AND id = $2`

	sqlMembersLeave = `/* sqlMembersLeave */
DELETE FROM contact_list_members WHERE tenant = $1 AND list = $2 AND contact = ANY ($3)`
)

// Members makes contacts members of a list and ends that others are, with an audit record where that changes something,
// and returns how many were none and how many were. Contacts that are not there are ignored; one in both is no member
// afterwards. An unknown list is fault.Gone. It may be repeated.
func (s *Contacts) Members(ctx context.Context, tenant string, list uuid.UUID, join, leave []int64, actor string,
	now time.Time) (joined, left int64, err error) {
	join = slices.DeleteFunc(slices.Clone(join), func(id int64) bool { return slices.Contains(leave, id) })
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlListHold, tenant, list).Scan(&list); err != nil {
			return err
		}
		in, err := tx.Exec(ctx, sqlMembersJoin, tenant, list, join)
		if err != nil {
			return err
		}
		out, err := tx.Exec(ctx, sqlMembersLeave, tenant, list, leave)
		if err != nil {
			return err
		}
		if joined, left = in.RowsAffected(), out.RowsAffected(); joined+left == 0 {
			return nil
		}
		if _, err := tx.Exec(ctx, sqlMembersCount, tenant, list, joined-left); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "contact_list.changed", "contact-list/"+list.String(), actor, now,
			map[string]any{"joined": joined, "left": left}))
	})
	return joined, left, listFault(err, "change", "list", list)
}

// listFault makes an error of a method on a list or a segment: no row is fault.Gone.
func listFault(err error, verb, noun string, id uuid.UUID) error {
	switch {
	case db.Violates(err, db.UniqueViolation, "segments_tenant_name_key"):
		return fault.Newf(fault.Conflict, "name: there is another %s of this name", noun)
	case db.Violates(err, db.ForeignViolation, ""):
		return fault.Newf(fault.Gone, "there is no such tenant")
	}
	return db.Gone(fault.Wrap(db.Refused(err), "%s %s %s", verb, noun, id), "there is no %s %s", noun, id)
}

const (
	sqlMembersDrop = `/* sqlMembersDrop */
DELETE FROM contact_list_members WHERE tenant = $1 AND list = $2 AND contact = ANY (ARRAY(
    SELECT contact FROM contact_list_members WHERE tenant = $1 AND list = $2 ORDER BY contact LIMIT $3))`

	// Its name may be that of another list at once.
	sqlListForget = `/* sqlListForget */
UPDATE contact_lists SET deleted_at = $3, name = id::text WHERE tenant = $1 AND id = $2 AND deleted_at IS NULL`

	sqlListForgotten = `/* sqlListForgotten */ SELECT id FROM contact_lists WHERE tenant = $1 AND id = $2`

	sqlListDrop = `/* sqlListDrop */
DELETE FROM contact_lists l WHERE tenant = $1 AND id = $2
    AND NOT EXISTS (SELECT FROM contact_list_members WHERE list = l.id)`

	// Campaigns that choose contacts by the list, or will, also by that of a segment, and whether they have begun to. A
	// filter may have it in capital letters. They are locked, so none begins before the list is gone for all to see; and
	// last, as by whoever deletes a contact.
	sqlListChooses = `/* sqlListChooses */
SELECT id, state IN ('running', 'paused') FROM campaigns
WHERE tenant = $1 AND state NOT IN ('done', 'canceled') AND written_at IS NULL
    AND (strpos(lower(coalesce(frozen, audience)::text), '"' || $2::uuid || '"') > 0
        OR frozen IS NULL AND EXISTS (SELECT FROM segments s WHERE s.tenant = $1
            AND strpos(lower(s.filter::text), '"' || $2 || '"') > 0 AND strpos(audience::text, '"' || s.id || '"') > 0))
ORDER BY id FOR SHARE`
)

// chosen refuses, as fault.Conflict, the deletion of a list by which a campaign that has begun still chooses contacts:
// the rest of them would be written to as if the list had no members.
func chosen(ctx context.Context, tx pgx.Tx, tenant string, list uuid.UUID) error {
	rows, _ := tx.Query(ctx, sqlListChooses, tenant, list) // ForEachRow reports its error
	var id, by uuid.UUID
	var begun bool
	if _, err := pgx.ForEachRow(rows, []any{&id, &begun}, func() error {
		if begun {
			by = id
		}
		return nil
	}); err != nil || by == uuid.Nil {
		return err
	}
	return fault.Newf(fault.Conflict, "campaign %s is choosing its contacts by it: delete the list once written_at of "+
		"the campaign is set, or cancel the campaign", by)
}

// forgetList makes a list one that is there for nobody, with an audit record, unless that was done before.
func (s *Contacts) forgetList(ctx context.Context, tenant string, list uuid.UUID, actor string, now time.Time) error {
	return db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlListForget, tenant, list, now)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return tx.QueryRow(ctx, sqlListForgotten, tenant, list).Scan(&list)
		}
		if err := chosen(ctx, tx, tenant, list); err != nil {
			return err
		}
		deed := contactDeed(tenant, "contact_list.deleted", "contact-list/"+list.String(), actor, now, nil)
		return db.AuditTx(ctx, tx, deed)
	})
}

// DeleteList deletes a list, with an audit record, and then up to most of its members, and says whether there are more:
// call it until there are none. The list is there for nobody, and for no campaign, from the first call on. The contacts
// stay. A list that is not there, to its last member, is fault.Gone, one by which a campaign still chooses contacts
// fault.Conflict.
func (s *Contacts) DeleteList(ctx context.Context, tenant string, list uuid.UUID, most int, actor string,
	now time.Time) (more bool, err error) {
	if err := s.forgetList(ctx, tenant, list, actor, now); err != nil {
		return false, listFault(err, "delete", "list", list)
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlMembersDrop, tenant, list, most)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlMembersCount, tenant, list, -tag.RowsAffected()); err != nil {
			return err
		}
		if more = int(tag.RowsAffected()) == most; more {
			return nil
		}
		tag, err = tx.Exec(ctx, sqlListDrop, tenant, list)
		more = tag.RowsAffected() == 0 // a contact became a member just now, or another request deleted the last ones
		return err
	})
	return more, listFault(err, "delete", "list", list)
}

const sqlListsMissing = `/* sqlListsMissing */
SELECT l FROM unnest($2::uuid[]) l WHERE NOT EXISTS (
    SELECT FROM contact_lists WHERE tenant = $1 AND id = l AND deleted_at IS NULL)`

// listsThere refuses, as fault.Invalid, a filter by a list that is not there: without it, those who were to be spared
// would be written to.
func listsThere(ctx context.Context, tx pgx.Tx, tenant string, f contact.Filter) error {
	missing := uuid.Nil
	switch err := tx.QueryRow(ctx, sqlListsMissing, tenant, f.Lists()).Scan(&missing); {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fault.Newf(fault.Invalid, "filter: there is no list %s", missing)
}

// A Segment is a saved filter.
type Segment struct {
	ID        uuid.UUID
	Name      string // 1 to 200 characters, once in a tenant
	Filter    contact.Filter
	CreatedAt time.Time
	UpdatedAt time.Time
}

const sqlSegmentsFull = `/* sqlSegmentsFull */
SELECT EXISTS (SELECT FROM tenants t WHERE t.id = $1
        AND t.max_segments <= (SELECT count(*) FROM segments WHERE tenant = $1))
    AND NOT EXISTS (SELECT FROM segments WHERE id = $2)`

const sqlSegmentPut = `/* sqlSegmentPut */
INSERT INTO segments AS s (id, tenant, name, filter, created_at, updated_at) SELECT $2, $1, $3, $4, $5, $5
WHERE ` + db.SQLTenantStands + `
ON CONFLICT (id) DO UPDATE SET name = excluded.name, filter = excluded.filter, updated_at = excluded.updated_at
WHERE s.tenant = $1 RETURNING id, name, filter, created_at, updated_at`

// PutSegment stores a segment, or changes the name and filter of the one with its ID, with an audit record. A filter
// that means nothing, or names a list that is not there, is fault.Invalid, a name of another segment fault.Conflict, as
// is one more than the tenant's quota.
func (s *Contacts) PutSegment(ctx context.Context, tenant string, g Segment, actor string, now time.Time) (
	kept Segment, err error,
) {
	if err := db.CheckName(g.Name); err != nil {
		return g, err
	}
	if err := g.Filter.Check(); err != nil {
		return g, err
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLQuotaTurn, tenant); err != nil {
			return err
		}
		var full bool
		if err := tx.QueryRow(ctx, sqlSegmentsFull, tenant, g.ID).Scan(&full); err != nil {
			return err
		}
		if full {
			return db.QuotaFull("max_segments", "segments")
		}
		if err := listsThere(ctx, tx, tenant, g.Filter); err != nil {
			return err
		}
		kept, err = db.Row(ctx, tx, pgx.RowToStructByPos[Segment], sqlSegmentPut, tenant, g.ID, g.Name, g.Filter, now)
		if errors.Is(err, pgx.ErrNoRows) {
			return cmp.Or(db.TenantStands(ctx, tx, tenant), err)
		}
		if err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "segment.stored", "segment/"+g.ID.String(), actor, now, nil))
	})
	if denied(err) { // the ID is that of another tenant's
		err = pgx.ErrNoRows
	}
	return kept, listFault(err, "store", "segment", g.ID)
}

const sqlSegmentChange = `/* sqlSegmentChange */
UPDATE segments SET name = coalesce($3, name), filter = coalesce($4, filter), updated_at = $5
WHERE tenant = $1 AND id = $2 RETURNING id, name, filter, created_at, updated_at`

// ChangeSegment changes the name and the filter of a segment, each where it is given, with an audit record; what others
// change at the same time stays. Its faults are those of PutSegment, and fault.Gone of a segment that is not there.
func (s *Contacts) ChangeSegment(ctx context.Context, tenant string, id uuid.UUID, name *string, f *contact.Filter,
	actor string, now time.Time) (kept Segment, err error) {
	if name != nil {
		if err := db.CheckName(*name); err != nil {
			return kept, err
		}
	}
	if f != nil {
		if err := f.Check(); err != nil {
			return kept, err
		}
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if f != nil {
			if err := listsThere(ctx, tx, tenant, *f); err != nil {
				return err
			}
		}
		kept, err = db.Row(ctx, tx, pgx.RowToStructByPos[Segment], sqlSegmentChange, tenant, id, name, f, now)
		if err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "segment.stored", "segment/"+id.String(), actor, now, nil))
	})
	return kept, listFault(err, "change", "segment", id)
}

// denied says that a policy refused a row.
func denied(err error) bool { return db.Violates(err, "42501", "") }

const sqlSegmentsRead = `/* sqlSegmentsRead */
SELECT id, name, filter, created_at, updated_at FROM segments WHERE tenant = $1 AND ($2::uuid IS NULL OR id = $2)
ORDER BY name`

// Segments returns the segments of a tenant by name.
func (s *Contacts) Segments(ctx context.Context, tenant string) ([]Segment, error) {
	list, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[Segment], sqlSegmentsRead, tenant, nil)
	return list, fault.Wrap(err, "read segments")
}

// Segment returns a segment.
func (s *Contacts) Segment(ctx context.Context, tenant string, id uuid.UUID) (Segment, error) {
	g, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[Segment], sqlSegmentsRead, tenant, id))
	return g, listFault(err, "read", "segment", id)
}

const sqlSegmentDelete = `/* sqlSegmentDelete */ DELETE FROM segments WHERE tenant = $1 AND id = $2`

// DeleteSegment deletes a segment, with an audit record; the contacts stay. One that is not there is fault.Gone.
func (s *Contacts) DeleteSegment(ctx context.Context, tenant string, id uuid.UUID, actor string, now time.Time) error {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlSegmentDelete, tenant, id)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return pgx.ErrNoRows
		}
		return db.AuditTx(ctx, tx, contactDeed(tenant, "segment.deleted", "segment/"+id.String(), actor, now, nil))
	})
	return listFault(err, "delete", "segment", id)
}
