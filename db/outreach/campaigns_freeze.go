package outreach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

const sqlCampaignHold = `/* sqlCampaignHold */ SELECT ` + sqlCampaignColumns + `, audience_at, frozen FROM campaigns
WHERE tenant = $1 AND id = $2 FOR NO KEY UPDATE`

// frozenAudience is the audience of a plan as one filter, with its segments as they are now.
func (p *Plan) frozenAudience(ctx context.Context, tx pgx.Tx, tenant string) (contact.Filter, error) {
	f, err := p.check(ctx, tx, tenant)
	if err != nil {
		return f, err
	}
	return f, listsThere(ctx, tx, tenant, f)
}

// The contacts of a tenant in the order of their numbers: the scan goes on where the last one ended. The condition of
// the audience follows, and the end. The contacts are locked: one that is forgotten meanwhile either is none of them,
// or is forgotten after its message was stored, with its message.
const (
	campaignAudience = `
SELECT c.id, c.digest, c.phone, c.email, c.name, c.given_name, c.family_name, c.locale, c.fields,
    c.email_digest, ` + sqlOptedOut + `
FROM contacts c
WHERE c.tenant = $1 AND c.id > $2 AND c.id <= $7 AND c.created_at <= $5 AND `
	campaignAudienceEnd = ` ORDER BY c.id LIMIT $6 FOR KEY SHARE OF c`
)

const sqlCampaignSpan = `/* sqlCampaignSpan */
SELECT count(*), coalesce(max(id), $2) FROM (
    SELECT id FROM contacts WHERE tenant = $1 AND id > $2 ORDER BY id LIMIT $3) c`

// freezeSpan is how many contacts one transaction looks at, in the audience or not: whoever pauses or cancels the
// campaign waits for it.
const freezeSpan = 10_000

// audience are the next contacts of the audience f of c after the one of a number: up to n, or fewer that are large,
// among the next freezeSpan of the tenant. It also returns the number to go on after, and whether there may be more.
func audience(ctx context.Context, tx pgx.Tx, c Campaign, f contact.Filter, key contact.Pads, after int64, n int) (
	people []person, at int64, more bool, err error,
) {
	var span int
	if err := tx.QueryRow(ctx, sqlCampaignSpan, c.Tenant, after, freezeSpan).Scan(&span, &at); err != nil {
		return nil, 0, false, err
	}
	args := []any{c.Tenant, after, key.Inner, key.Outer, c.FrozenAt, n, at}
	text := campaignAudience + contactCondition(f, &args) + campaignAudienceEnd
	people, large, err := db.RowsUpTo(ctx, tx, contactsBytes, scanPerson, text, args...)
	if err != nil {
		return nil, 0, false, err
	}
	if large || len(people) == n {
		return people, people[len(people)-1].id, true, nil
	}
	return people, at, span == freezeSpan, nil
}

const sqlCampaignWrite = `/* sqlCampaignWrite */
WITH added AS (
    INSERT INTO messages (id, tenant, campaign, contact, sender, kind, state, class, error, recipient, digest,
        email_digest, body, due_at, queued_at, failed_at)
    SELECT w.id, $1::text, $2::uuid, w.contact, $3::uuid, 'campaign', w.state, w.class, w.error, w.recipient, w.digest,
        w.email_digest, w.body::jsonb, now(), $4::timestamptz, CASE w.state WHEN 'failed' THEN $4::timestamptz END
    FROM unnest($5::uuid[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bytea[], $12::text[],
        $16::bytea[]) AS w(id, contact, state, class, error, recipient, digest, body, email_digest)
    ON CONFLICT (id) DO NOTHING
    RETURNING state
)
UPDATE campaigns c SET audience_at = $13, frozen = $15, updated_at = $4,
    written_at = CASE WHEN $14::bool THEN $4::timestamptz END,
    waiting = c.waiting + n.waiting, failed = c.failed + n.failed, skipped = c.skipped + n.skipped
FROM (SELECT count(*) FILTER (WHERE state = 'queued') AS waiting, count(*) FILTER (WHERE state = 'failed') AS failed,
        count(*) FILTER (WHERE state = 'skipped') AS skipped FROM added) n
WHERE c.tenant = $1 AND c.id = $2`

// Freeze writes the messages of up to n next contacts of a campaign's audience, with their parameters as they are now,
// and reports whether there may be more, also after it has found none among those that it looked at. Messages and the
// place in the audience are one transaction, so a repeated call goes on where the last one ended. Contacts that have
// opted out or have no phone number get a message that is skipped; those without a field that the template needs get
// one that has failed. Nothing is written once the campaign has ended. A list or a segment that was deleted since the
// campaign was made is fault.Invalid, and nothing is written. What Postgres refuses of a batch is fault.Transient: the
// batches before it are written, and the campaign goes on when the reason is away.
func (s *Campaigns) Freeze(ctx context.Context, tenant string, id uuid.UUID, n int, now time.Time) (
	more bool, err error,
) {
	pads, err := s.key.pads(ctx)
	if err != nil {
		return false, err
	}
	told := false
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		more = false
		rows, _ := tx.Query(ctx, sqlCampaignHold, tenant, id)
		var at int64
		var frozen *contact.Filter
		c, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (Campaign, error) {
			return scanCampaign(andScan{row, []any{&at, &frozen}})
		})
		if err != nil {
			return ofCampaign(id, err)
		}
		if c.State != campaign.Running && c.State != campaign.Paused || c.WrittenAt != nil {
			return nil
		}
		if frozen == nil {
			f, err := c.frozenAudience(ctx, tx, tenant)
			if err != nil {
				return err
			}
			frozen = &f
		}
		people, at, left, err := audience(ctx, tx, c, *frozen, pads, at, n)
		if err != nil {
			return err
		}
		more = left
		w, err := messagesTo(c, people)
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		b.Queue(sqlCampaignWrite, tenant, id, c.Sender, now, w.ids, w.contacts, w.states, w.classes, w.errors,
			w.recipients, w.digests, w.bodies, at, !more, frozen, w.emails)
		told, err = w.tell(b, c, now)
		if err != nil {
			return err
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if _, ok := errors.AsType[*pgconn.PgError](err); ok {
		err = fault.Newf(fault.Transient, "%w", err)
	}
	if err != nil {
		return false, fmt.Errorf("write messages of campaign: %w", err)
	}
	if told {
		s.added.Wake(ctx)
	}
	return more, nil
}

// tell queues the events of the messages that have failed already.
func (w *rendered) tell(b *pgx.Batch, c Campaign, now time.Time) (told bool, err error) {
	for i, state := range w.states {
		if state != campaign.MessageFailed {
			continue
		}
		m, err := messageStatus(c.Tenant, w.ids[i], c.ID, state, 0, now, now,
			reported{verdict: campaign.Verdict{Class: w.classes[i]}, text: w.errors[i]})
		if err != nil {
			return false, err
		}
		db.OutboxAdd(b, m)
		told = true
	}
	return told, nil
}

// andScan scans more columns after those that are asked for.
type andScan struct {
	pgx.CollectableRow
	more []any
}

func (r andScan) Scan(dest ...any) error { return r.CollectableRow.Scan(append(dest, r.more...)...) }

// A person is a contact as templates know it.
type person struct {
	id     int64
	digest []byte
	email  []byte // digest of its address
	contact.Contact
	optedOut bool
}

func scanPerson(row pgx.CollectableRow) (p person, err error) {
	return p, row.Scan(&p.id, &p.digest, &p.Phone, &p.Email, &p.Name, &p.GivenName, &p.FamilyName, &p.Locale, &p.Fields,
		&p.email, &p.optedOut)
}

// field is a field of the contact by its name in templates; "" where it has none.
func (p *person) field(name string) string {
	switch name {
	case "phone":
		return p.Phone
	case "email":
		return p.Email
	case "name":
		return p.Name
	case "given_name":
		return p.GivenName
	case "family_name":
		return p.FamilyName
	case "locale":
		return p.Locale
	}
	return p.Fields[name]
}

// rendered are the columns of messages.
type rendered struct {
	ids        []uuid.UUID
	contacts   []int64
	states     []campaign.Status
	classes    []campaign.Class
	errors     []string
	recipients []string
	digests    [][]byte
	emails     [][]byte // digests too
	bodies     []string
}

// messagesTo are the messages of c to people.
func messagesTo(c Campaign, people []person) (w rendered, err error) {
	for _, p := range people {
		state, class, reason, body := campaign.MessageQueued, campaign.ClassNone, "", []byte("{}")
		switch out, err := c.Template.Render(p.field); {
		case p.optedOut:
			state, class = campaign.MessageSkipped, campaign.ClassOptedOut
		case p.Phone == "":
			state, class = campaign.MessageSkipped, campaign.ClassNoPhone
		case err != nil:
			var refusal *campaign.Refusal
			if !errors.As(err, &refusal) {
				return w, err
			}
			state, class, reason = campaign.MessageFailed, refusal.Class, refusal.Reason
		default:
			if body, err = json.Marshal(out); err != nil {
				return w, err
			}
		}
		w.ids = append(w.ids, campaign.MessageID(c.ID, p.id))
		w.contacts = append(w.contacts, p.id)
		w.states = append(w.states, state)
		w.classes = append(w.classes, class)
		w.errors = append(w.errors, reason)
		w.recipients = append(w.recipients, p.Phone)
		w.digests = append(w.digests, p.digest)
		w.emails = append(w.emails, p.email)
		w.bodies = append(w.bodies, string(body))
	}
	return w, nil
}
