package outreach

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
)

// sqlMoved is before what WhatsApp calls the recipient of a message by now, where it called the person something else
// when the message was sent: the person has another number then, and that of the message may be somebody else's. Their
// stops count for it, and no wish for more.
const sqlMoved = "~"

const (
	sqlWebhookSenders = `/* sqlWebhookSenders */
SELECT phone_number_id, tenant FROM senders WHERE phone_number_id = ANY ($1)`

	// Of those who had several user IDs before, only messages_wa_users_were has few rows. Its condition holds for no NULL,
	// but must not say so: then the planner, which takes it for true of a third of all messages, reads all of
	// messages_wa_user_was.
	sqlWebhookAnswered = `/* sqlWebhookAnswered */
SELECT wamid, tenant, digest, coalesce(starts_with(wa_user, '` + sqlMoved + `'), false) FROM messages
WHERE wamid = ANY ($1) AND digest <> ''
UNION SELECT wa_id, tenant, digest, false FROM contacts WHERE wa_id = ANY ($2) AND wa_id <> ''
UNION SELECT ltrim(wa_user, '` + sqlMoved + `'), tenant, digest, starts_with(wa_user, '` + sqlMoved + `') FROM messages
WHERE wa_user = ANY ($3) AND digest <> ''
UNION SELECT wa_user_was, tenant, digest, true FROM messages WHERE wa_user_was = ANY ($3) AND digest <> ''
UNION SELECT was, tenant, digest, true FROM messages, unnest(string_to_array(wa_user_was, ' ')) AS was
WHERE coalesce(strpos(wa_user_was, ' '), 0) > 0 AND was = ANY ($3) AND digest <> ''`
)

// The latest of a person's wishes counts, by the time that Meta gives, in whatever order they are told, and told again.
// Where a stop and a wish for more have one time, it is the stop. $4 is the other form of $2, by the key of opt-outs.
const (
	// Whoever stores wishes of a person waits for others that do, in the order of all, and then sees what these stored.
	sqlWishTurns = `/* sqlWishTurns */
SELECT pg_advisory_xact_lock(turn) FROM (
    SELECT DISTINCT hashtextextended(tenant || encode(digest, 'hex'), 0) AS turn
    FROM unnest($1::text[], $2::bytea[]) AS w(tenant, digest) ORDER BY turn) o`

	sqlOptOutAdd = `/* sqlOptOutAdd */
INSERT INTO opt_outs AS o (tenant, digest, source, at)
SELECT $1::text, $2::bytea, 'message', $3::timestamptz
WHERE NOT EXISTS (SELECT FROM opt_ins WHERE tenant = $1 AND digest IN ($2, $4::bytea) AND at > $3::timestamptz)
    AND NOT EXISTS (SELECT FROM opt_outs WHERE tenant = $1 AND digest = $4 AND (source <> 'message' OR at >= $3))
` + sqlOptOutLatest

	sqlOptIn = `/* sqlOptIn */
WITH since AS (
    INSERT INTO opt_ins AS i (tenant, digest, at) VALUES ($1, $2, $3)
    ON CONFLICT (tenant, digest) DO UPDATE SET at = excluded.at WHERE i.at < excluded.at
)
DELETE FROM opt_outs WHERE tenant = $1 AND digest IN ($2, $4) AND source = 'message' AND at < $3`
)

// A wish is a person's for no more messages, or for more.
type wish struct {
	tenant string
	digest []byte
	campaign.Wish
	at    time.Time
	opted *int // counts it where it is a stop that changes something; nil: it was counted
}

// refused are the wishes of people who get no more messages, as Meta says in a report that has changed one.
func refused(found []subject) (wishes []wish) {
	for _, m := range found {
		if m.now != m.was && m.now == campaign.MessageFailed && m.verdict.OptsOut && len(m.digest) > 0 {
			wishes = append(wishes, wish{m.tenant, m.digest, campaign.WishStop, *m.failed, nil})
		}
	}
	return wishes
}

// asked are the wishes among messages to our senders. Whoever wrote before another user ID was told is known by the one
// before that; by all those that a message of found has lost by what the same transaction applies; and by all others of
// the same person, as known says. Those by user IDs are kept: it may be told later of further messages that they are to
// the same person.
func asked(ctx context.Context, tx pgx.Tx, inbound []campaign.Inbound, found []subject, known users, out *Applied) (
	wishes []wish, kept []userWish, err error,
) {
	stops := slices.DeleteFunc(slices.Clone(inbound), func(m campaign.Inbound) bool { return m.Wants() == "" })
	if len(stops) == 0 {
		return nil, nil, nil
	}
	var numbers, answered, from, users []string
	for _, m := range stops {
		numbers, answered, from = append(numbers, m.PhoneNumberID), append(answered, m.ReplyTo), append(from, m.From)
	}
	tenants, err := tenantsOf(ctx, tx, numbers)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range stops {
		for _, user := range known.names(tenants[m.PhoneNumberID], m.User) {
			users = append(users, user, sqlMoved+user)
		}
	}
	writers, err := writersOf(ctx, tx, answered, from, users)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range found {
		for _, user := range m.had[len(m.had)-m.lost:] {
			if by := (sign{user, m.tenant}); len(m.digest) > 0 {
				writers[by] = append(writers[by], writer{m.digest, true})
			}
		}
	}
	for _, m := range stops {
		tenant, ours := tenants[m.PhoneNumberID]
		if !ours {
			continue
		}
		var digests [][]byte
		by := slices.Concat(writers[sign{m.ReplyTo, tenant}], writers[sign{m.From, tenant}], writers[sign{m.User, tenant}])
		if m.User != "" {
			kept = append(kept, userWish{tenant, m.User, m.Wants(), m.At})
		}
		for _, w := range by {
			if !w.moved || m.Wants() == campaign.WishStop { // the number may be another's by now, who has stopped
				digests = append(digests, w.digest)
			}
		}
		for _, user := range known.names(tenant, m.User) {
			for _, w := range writers[sign{user, tenant}] {
				if user != m.User && m.Wants() == campaign.WishStop {
					digests = append(digests, w.digest)
				}
			}
		}
		if m.From != "" {
			of := contact.Digest(tenant, contact.Key("+"+m.From, ""))
			digests = append(digests, of[:])
		}
		slices.SortFunc(digests, bytes.Compare)
		for _, digest := range slices.CompactFunc(digests, bytes.Equal) {
			wishes = append(wishes, wish{tenant, digest, m.Wants(), m.At, nil})
		}
		switch {
		case len(digests) == 0:
			out.Unknown++
		case m.Wants() == campaign.WishStop:
			out.Opted++
		}
	}
	return wishes, kept, nil
}

// tenantsOf are the tenants of senders by Meta's IDs of these.
func tenantsOf(ctx context.Context, tx pgx.Tx, numbers []string) (map[string]string, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	rows, _ := tx.Query(ctx, sqlWebhookSenders, numbers) // ForEachRow reports its error
	tenants := map[string]string{}
	var number, tenant string
	_, err := pgx.ForEachRow(rows, []any{&number, &tenant}, func() error {
		tenants[number] = tenant
		return nil
	})
	return tenants, err
}

// queueWishes queues wishes into b, in the order of people.
func queueWishes(b *pgx.Batch, wishes []wish, key contact.Pads) {
	if len(wishes) == 0 {
		return
	}
	slices.SortStableFunc(wishes, func(a, b wish) int {
		return cmp.Or(strings.Compare(a.tenant, b.tenant), bytes.Compare(a.digest, b.digest))
	})
	of, digests := make([]string, len(wishes)), make([][]byte, len(wishes))
	for i, w := range wishes {
		of[i], digests[i] = w.tenant, w.digest
	}
	b.Queue(sqlWishTurns, of, digests)
	for _, w := range wishes {
		text := sqlOptOutAdd
		if w.Wish == campaign.WishResume {
			text = sqlOptIn
		}
		q := b.Queue(text, w.tenant, w.digest, w.at, key.Keyed(w.digest))
		if w.Wish == campaign.WishStop && w.opted != nil {
			q.Exec(func(tag pgconn.CommandTag) error {
				*w.opted += int(tag.RowsAffected())
				return nil
			})
		}
	}
}

// A sign is what the writer of a message to a tenant is known by: Meta's ID of the message that is answered, the
// writer's number, or what WhatsApp calls the writer.
type sign struct{ text, tenant string }

// A writer is the recipient of messages, by the digest of the number.
type writer struct {
	digest []byte
	moved  bool // the person has got another user ID since, as with another number
}

// writersOf are the recipients of messages, contacts that WhatsApp has under other numbers, and recipients that it
// calls so.
func writersOf(ctx context.Context, tx pgx.Tx, wamids, numbers, users []string) (map[sign][]writer, error) {
	rows, _ := tx.Query(ctx, sqlWebhookAnswered, wamids, numbers, users) // ForEachRow reports its error
	writers := map[sign][]writer{}
	var by sign
	var w writer
	_, err := pgx.ForEachRow(rows, []any{&by.text, &by.tenant, &w.digest, &w.moved}, func() error {
		writers[by] = append(writers[by], w)
		return nil
	})
	return writers, err
}
