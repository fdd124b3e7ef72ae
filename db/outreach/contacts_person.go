package outreach

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A Person is all that is kept of a contact, for a request of that person.
type Person struct {
	Contact  Contact
	Lists    []ContactList
	OptOut   *OptOut // nil = there is none
	Messages []PersonMessage
	Refused  []PersonRow // of files, where the phone or the address could be read
	LeftOut  int64       // messages and rows that are too many
}

// personBytes is how much of a person's messages, and of the rows, is exported: the newest. A file of a million rows
// may be about one person.
const personBytes = 16 << 20

// An OptOut is a wish for no more messages.
type OptOut struct {
	Source string // import, api, message
	At     time.Time
}

// A PersonMessage is a message to a person, under any notation of the phone.
type PersonMessage struct {
	ID          uuid.UUID
	Campaign    *uuid.UUID
	Recipient   string // E.164
	State       string
	Body        json.RawMessage
	QueuedAt    time.Time
	SentAt      *time.Time
	DeliveredAt *time.Time
	ReadAt      *time.Time
	WAUser      string // what WhatsApp calls the person; "" = it was not told
	WAUserWas   string // what it called the person before that; "" = the same
}

// A PersonRow is a row of a file that was refused.
type PersonRow struct {
	Upload   uuid.UUID
	Row      int64 // number of the record, from 1
	Line     int64
	Problems []contact.Problem
	Record   []string // the cells as they were in the file
}

const (
	sqlPersonDigest = `/* sqlPersonDigest */
SELECT digest, email_digest, phone, email FROM contacts WHERE tenant = $1 AND id = $2 FOR UPDATE`

	sqlPersonLists = `/* sqlPersonLists */
SELECT id, name, created_at FROM contact_lists l
WHERE tenant = $1 AND deleted_at IS NULL
    AND EXISTS (SELECT FROM contact_list_members WHERE tenant = $1 AND list = l.id AND contact = $2)
ORDER BY name`

	sqlPersonOptOut = `/* sqlPersonOptOut */
SELECT source, at FROM opt_outs WHERE tenant = $1 AND digest = ANY ($2::bytea[]) ORDER BY at LIMIT 1`

	// IDs of uploads say nothing of their order. The inner sum is of what is stored, and reads no record: the length of
	// the text of one can be many times that, but it is asked of no more rows than may be shown.
	sqlPersonRefused = `/* sqlPersonRefused */
SELECT upload, row, line, problems, record FROM (
    SELECT *, sum(octet_length(record::text) + octet_length(problems::text) + 500) OVER newest AS bytes
    FROM (
        SELECT e.*, u.created_at, sum(pg_column_size(e.record) + 500) OVER (
            ORDER BY u.created_at DESC, e.upload, e.row DESC) AS stored
        FROM upload_errors e JOIN uploads u ON u.tenant = e.tenant AND u.id = e.upload
        WHERE e.tenant = $1 AND ` + sqlRefusedOf + `) s
    WHERE stored <= $3
    WINDOW newest AS (ORDER BY created_at DESC, upload, row DESC)) r
WHERE bytes <= $3 ORDER BY created_at, upload DESC, row`

	sqlPersonMessages = `/* sqlPersonMessages */
SELECT id, campaign, recipient, state, body, queued_at, sent_at, delivered_at, read_at,
    coalesce(ltrim(wa_user, '` + sqlMoved + `'), ''), coalesce(wa_user_was, '') FROM (
    SELECT *, sum(octet_length(body::text) + 500) OVER (ORDER BY queued_at DESC, id DESC) AS bytes
    FROM messages WHERE tenant = $1 AND digest = $2) m
WHERE bytes <= $3 ORDER BY queued_at, id`

	sqlPersonHas = `/* sqlPersonHas */
SELECT (SELECT count(*) FROM messages WHERE tenant = $1 AND digest = $3)
    + (SELECT count(*) FROM upload_errors WHERE tenant = $1 AND ` + sqlRefusedOf + `)`

	// Under row-level security a condition is looked up in an index where its operator is leakproof: that of uuid is,
	// those of arrays are not. A row has one person for its phone, and one for its address.
	sqlRefusedOf = `(persons[1] = ANY ($2::uuid[]) OR persons[2] = ANY ($2::uuid[]))`
)

// Shown records in the audit that contacts were given out, or a person: action says how, and subject of whom.
func (s *Contacts) Shown(ctx context.Context, tenant, action, subject, actor string, now time.Time,
	detail map[string]any) error {
	return shown(ctx, s.pool, contactDeed(tenant, action, subject, actor, now, detail))
}

func shown(ctx context.Context, pool *pgxpool.Pool, e db.AuditEntry) error {
	b := new(pgx.Batch)
	db.AuditAdd(ctx, b, e)
	return fault.Wrap(db.Write(ctx, pool, b), "record %s of %s", e.Action, e.Subject)
}

// Export returns all that is kept of a contact, of its messages and rows up to personBytes each. Files that were
// uploaded are not in it, nor are rows of them that were refused and whose phone and address could not be read: it
// cannot be told whose they are.
func (s *Contacts) Export(ctx context.Context, tenant string, id int64) (Person, error) {
	var p Person
	pads, err := s.key.pads(ctx)
	if err != nil {
		return p, err
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		var digest, email []byte
		var c contact.Contact
		if err := tx.QueryRow(ctx, sqlPersonDigest, tenant, id).Scan(&digest, &email, &c.Phone, &c.Email); err != nil {
			return err
		}
		var err error
		p.Contact, err = db.Row(ctx, tx, pgx.RowToStructByPos[Contact], sqlContactRead, tenant, id, pads.Inner, pads.Outer)
		if err != nil {
			return err
		}
		p.Lists, err = db.Rows(ctx, tx, pgx.RowToStructByPos[ContactList], sqlPersonLists, tenant, id)
		if err != nil {
			return err
		}
		out, err := db.Rows(ctx, tx, pgx.RowToAddrOfStructByPos[OptOut], sqlPersonOptOut, tenant,
			[][]byte{digest, email, pads.Keyed(digest), pads.Keyed(email)})
		if err != nil {
			return err
		}
		if len(out) > 0 {
			p.OptOut = out[0]
		}
		persons := digests(tenant, c.Persons())
		if err := tx.QueryRow(ctx, sqlPersonHas, tenant, persons, digest).Scan(&p.LeftOut); err != nil {
			return err
		}
		p.Messages, err = db.Rows(ctx, tx, pgx.RowToStructByPos[PersonMessage], sqlPersonMessages, tenant, digest,
			personBytes)
		if err != nil {
			return err
		}
		p.Refused, err = db.Rows(ctx, tx, pgx.RowToStructByPos[PersonRow], sqlPersonRefused, tenant, persons, personBytes)
		p.LeftOut = max(0, p.LeftOut-int64(len(p.Messages)+len(p.Refused))) // others may be stored meanwhile
		return err
	})
	return p, contactFault(err, "export", id)
}

const (
	sqlPersonLeave = `/* sqlPersonLeave */
WITH gone AS (
    DELETE FROM contact_list_members WHERE tenant = $1 AND contact = $2
        AND list IN (SELECT id FROM contact_lists WHERE tenant = $1)
    RETURNING list
), turns AS (
    SELECT id FROM contact_lists WHERE tenant = $1 AND id IN (SELECT list FROM gone) ORDER BY id FOR NO KEY UPDATE
)
UPDATE contact_lists l SET members = l.members - 1 FROM turns t WHERE l.tenant = $1 AND l.id = t.id`

	sqlPersonMessagesHold = `/* sqlPersonMessagesHold */
SELECT FROM messages
WHERE tenant = $1 AND digest = (SELECT digest FROM contacts WHERE tenant = $1 AND id = $2) AND digest <> ''
ORDER BY id FOR UPDATE`

	// Messages that wait are not sent; of the others the time and the outcome stay, for the counts. A wamid has the phone
	// in it. One that was stored since sqlPersonMessagesHold is not waited for: the tenant is locked by now, and with it
	// whoever else forgets somebody of the tenant. What was told of user IDs goes by all that took the place of another.
	sqlPersonMessagesForget = `/* sqlPersonMessagesForget */
WITH RECURSIVE held AS (
    SELECT id, state, campaign, concat_ws(' ', ltrim(wa_user, '` + sqlMoved + `'), wa_user_was) AS users
    FROM messages WHERE tenant = $1 AND digest = $2 ORDER BY id FOR UPDATE NOWAIT
), names AS (
    SELECT unnest(string_to_array(users, ' ')) AS name FROM held
    UNION
    SELECT o.name FROM names n CROSS JOIN LATERAL (
        SELECT wa_user AS name FROM wa_user_changes WHERE tenant = $1 AND was = n.name
        UNION ALL
        SELECT was FROM wa_user_changes WHERE tenant = $1 AND wa_user = n.name) o
), changes AS (
    DELETE FROM wa_user_changes
    WHERE tenant = $1 AND (was IN (SELECT name FROM names) OR wa_user IN (SELECT name FROM names))
), wishes AS (
    DELETE FROM wa_user_wishes WHERE tenant = $1 AND wa_user IN (SELECT name FROM names)
), ended AS (
    UPDATE messages m SET recipient = '', contact = NULL, body = '{}', error = '', wamid = NULL,
        wa_user = NULL, wa_user_was = NULL, email_digest = '',
        state = CASE m.state WHEN 'queued' THEN 'skipped' ELSE m.state END,
        class = CASE m.state WHEN 'queued' THEN $3 ELSE m.class END, digest = '\x'
    FROM held h WHERE m.tenant = $1 AND m.id = h.id
), named AS (
    UPDATE message_attempts a SET wamid = NULL, error = ''
    FROM held h WHERE a.tenant = $1 AND a.message = h.id
), turns AS (
    SELECT id FROM campaigns WHERE tenant = $1 AND id IN (SELECT campaign FROM held WHERE state = 'queued')
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE campaigns c SET waiting = c.waiting - n, skipped = c.skipped + n
FROM turns t JOIN (SELECT campaign, count(*) AS n FROM held WHERE state = 'queued' GROUP BY campaign) h
    ON h.campaign = t.id
WHERE c.tenant = $1 AND c.id = t.id`

	// Where neither phone nor address of a refused row could be read, it cannot be told whose it is.
	sqlPersonErrorsForget = `/* sqlPersonErrorsForget */
DELETE FROM upload_errors WHERE tenant = $1 AND ` + sqlRefusedOf

	sqlContactDelete = `/* sqlContactDelete */ DELETE FROM contacts WHERE tenant = $1 AND id = $2`
)

// Delete forgets a person, with an audit record that names nobody: the contact, its places in lists, the recipient and
// content of messages with Meta's IDs of them and of the person, what was told of these IDs, and the refused rows of
// files that have the phone or the address; messages that wait are skipped. An opt-out stays, without the phone, so
// that it holds when the person is imported again. Uploaded files stay as long as files are kept. An unknown contact
// is fault.Gone.
func (s *Contacts) Delete(ctx context.Context, tenant string, id int64, actor string, now time.Time) error {
	for {
		err := s.forget(ctx, tenant, id, actor, now)
		if !db.Violates(err, db.LockNotAvailable, "") {
			return contactFault(err, "delete", id)
		}
	}
}

// forget is Delete. Where a message to the person has come, and others have it, while the tenant was waited for, it is
// db.LockNotAvailable, and nothing was done: by the next call the message is waited for first.
func (s *Contacts) forget(ctx context.Context, tenant string, id int64, actor string, now time.Time) error {
	return db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		var digest, email []byte
		var c contact.Contact
		// As deliveries of webhooks: what is told of user IDs has its turn before anything is locked.
		if _, err := tx.Exec(ctx, sqlUserTurn, tenant); err != nil {
			return err
		}
		// As results of messages, by which a tenant may be stopped: messages are locked before it.
		if _, err := tx.Exec(ctx, sqlPersonMessagesHold, tenant, id); err != nil {
			return err
		}
		// As whoever adds contacts: a tenant near its limit is locked before them, any other one after them.
		if _, err := tenantRoom(ctx, tx, tenant, 0); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlPersonDigest, tenant, id).Scan(&digest, &email, &c.Phone, &c.Email); err != nil {
			return err
		}
		b := new(pgx.Batch)
		b.Queue(sqlPersonLeave, tenant, id)
		b.Queue(sqlTenantContacts, tenant, -1) // before campaigns, as a tenant is stopped
		b.Queue(sqlPersonMessagesForget, tenant, digest, campaign.ClassCanceled)
		b.Queue(sqlPersonErrorsForget, tenant, digests(tenant, c.Persons()))
		b.Queue(sqlContactDelete, tenant, id)
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: actor, Action: "contact.deleted", Subject: fmt.Sprintf("contact/%d", id),
			Detail: map[string]any{"tenant": tenant},
		})
		return tx.SendBatch(ctx, b).Close()
	})
}
