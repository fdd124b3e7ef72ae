package outreach

import (
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/campaign"
)

const (
	// Who tells of the user IDs of a tenant's people waits for those that store what depends on them, and these for all
	// others, so that one of two sees what the other has stored.
	sqlUserTurns = `/* sqlUserTurns */
SELECT CASE WHEN alone THEN pg_advisory_xact_lock(turn) ELSE pg_advisory_xact_lock_shared(turn) END FROM (
    SELECT hashtextextended('wa_users/' || s.tenant, 0) AS turn, bool_or(t.alone) AS alone
    FROM unnest($1::text[], $2::bool[]) AS t(number, alone) JOIN senders s ON s.phone_number_id = t.number
    GROUP BY s.tenant ORDER BY turn) o`

	// Whoever deletes what was told of them waits for those that store it.
	sqlUserTurn = `/* sqlUserTurn */ SELECT pg_advisory_xact_lock_shared(hashtextextended('wa_users/' || $1, 0))`

	// Of several changes of one user ID the last counts. What the others made of it is the same person's: each such ID
	// leads to the next and back, unless something else is told of it.
	sqlUserChange = `/* sqlUserChange */
WITH told AS (
    SELECT DISTINCT s.tenant, t.was, t.wa_user, t.at
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS t(number, was, wa_user, at)
    JOIN senders s ON s.phone_number_id = t.number
), became AS (
    SELECT tenant, was, wa_user, max(at) AS at FROM (
        SELECT tenant, was, wa_user, at FROM told
        UNION ALL
        SELECT tenant, was, wa_user, at FROM wa_user_changes WHERE (tenant, was) IN (SELECT tenant, was FROM told)) o
    GROUP BY tenant, was, wa_user
), same AS (
    SELECT tenant, wa_user, at, lead(wa_user) OVER (PARTITION BY tenant, was ORDER BY at, wa_user) AS other FROM became
), led AS (
    INSERT INTO wa_user_changes (tenant, was, wa_user, at)
    SELECT tenant, was, wa_user, at FROM (
        SELECT tenant, wa_user AS was, other AS wa_user, at FROM same
        UNION ALL
        SELECT tenant, other, wa_user, at FROM same) o
    WHERE was <> wa_user AND (tenant, was) NOT IN (SELECT tenant, was FROM told) ORDER BY tenant, was
    ON CONFLICT DO NOTHING
)
INSERT INTO wa_user_changes AS c (tenant, was, wa_user, at)
SELECT DISTINCT ON (tenant, was) tenant, was, wa_user, at FROM told ORDER BY tenant, was, at DESC, wa_user DESC
ON CONFLICT (tenant, was) DO UPDATE SET wa_user = excluded.wa_user, at = excluded.at WHERE c.at < excluded.at`

	// The user IDs that are told, by numbers of senders, those that took their place, those whose place they took, and the
	// wishes of all of them.
	sqlUserKnown = `/* sqlUserKnown */
WITH RECURSIVE named AS (
    SELECT s.tenant, t.number, t.wa_user
    FROM unnest($1::text[], $2::text[]) AS t(number, wa_user) JOIN senders s ON s.phone_number_id = t.number
    UNION
    SELECT n.tenant, n.number, o.wa_user
    FROM named n CROSS JOIN LATERAL (
        SELECT c.wa_user FROM wa_user_changes c WHERE c.tenant = n.tenant AND c.was = n.wa_user
        UNION ALL
        SELECT c.was FROM wa_user_changes c WHERE c.tenant = n.tenant AND c.wa_user = n.wa_user) o
)
SELECT n.tenant, n.number, n.wa_user, c.wa_user, '', c.at
FROM named n JOIN wa_user_changes c ON c.tenant = n.tenant AND c.was = n.wa_user
UNION ALL
SELECT n.tenant, n.number, n.wa_user, '', w.wish, w.at
FROM named n JOIN wa_user_wishes w ON w.tenant = n.tenant AND w.wa_user = n.wa_user`

	sqlUserWish = `/* sqlUserWish */
INSERT INTO wa_user_wishes AS w (tenant, wa_user, wish, at)
SELECT tenant, wa_user, wish, max(at)
FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS t(tenant, wa_user, wish, at)
GROUP BY tenant, wa_user, wish ORDER BY 1, 2, 3
ON CONFLICT (tenant, wa_user, wish) DO UPDATE SET at = excluded.at, told_at = now() WHERE w.at < excluded.at`
)

// toldUsers are what deliveries tell of user IDs, in columns for statements.
type toldUsers struct {
	numbers []string // senders whose people it tells of
	alone   []bool   // of each: others depend on it, or it on others

	by, users []string // IDs, by numbers of senders

	changedBy, was, became []string
	at                     []time.Time
}

// tellUsers reads what reports and inbound messages tell of user IDs.
func tellUsers(reports []campaign.Report, inbound []campaign.Inbound) (t toldUsers) {
	place, names := map[string]int{}, map[sign]bool{}
	turn := func(number string, alone bool) {
		i, ok := place[number]
		if !ok {
			i, place[number] = len(t.numbers), len(t.numbers)
			t.numbers, t.alone = append(t.numbers, number), append(t.alone, false)
		}
		t.alone[i] = t.alone[i] || alone
	}
	tell := func(number, user string) {
		if by := (sign{user, number}); !names[by] {
			names[by] = true
			t.by, t.users = append(t.by, number), append(t.users, user)
		}
	}
	for _, r := range reports {
		if r.User != "" {
			turn(r.PhoneNumberID, false)
			tell(r.PhoneNumberID, r.User)
		}
	}
	for _, m := range inbound {
		changes := m.WasUser != "" && m.WasUser != m.User
		if m.User == "" || !changes && m.Wants() == "" {
			continue
		}
		turn(m.PhoneNumberID, true)
		tell(m.PhoneNumberID, m.User)
		if changes {
			tell(m.PhoneNumberID, m.WasUser)
			t.changedBy, t.was = append(t.changedBy, m.PhoneNumberID), append(t.was, m.WasUser)
			t.became, t.at = append(t.became, m.User), append(t.at, m.At)
		}
	}
	return t
}

// queueTurns queues into b the wait for others that tell of the same people, before anything is locked.
func (t toldUsers) queueTurns(b *pgx.Batch) {
	if len(t.numbers) > 0 {
		b.Queue(sqlUserTurns, t.numbers, t.alone)
	}
}

// queueKnown queues into b what is told, behind the lock of messages, as by whoever forgets a person, and reads into u
// what is known then.
func (t toldUsers) queueKnown(b *pgx.Batch, u *users) {
	if len(t.was) > 0 {
		b.Queue(sqlUserChange, t.changedBy, t.was, t.became, t.at)
	}
	if len(t.users) > 0 {
		b.Queue(sqlUserKnown, t.by, t.users).Query(u.read)
	}
}

// users are what is known of people by their user IDs.
type users struct {
	next map[sign]string    // the user IDs that took the place of others
	kept []campaign.Inbound // wishes that were told before, some of them before it was known whose they are
}

// read reads the rows of sqlUserKnown.
func (u *users) read(rows pgx.Rows) error {
	var tenant, number, user, next, wish string
	var at time.Time
	heard := map[sign]bool{} // a tenant may have several senders
	_, err := pgx.ForEachRow(rows, []any{&tenant, &number, &user, &next, &wish, &at}, func() error {
		if next != "" {
			if u.next == nil {
				u.next = map[sign]string{}
			}
			u.next[sign{user, tenant}] = next
			return nil
		}
		if by := (sign{wish + " " + user, tenant}); !heard[by] {
			heard[by] = true
			u.kept = append(u.kept, campaign.Inbound{
				PhoneNumberID: number, User: user, Wish: campaign.Wish(wish), At: at,
			})
		}
		return nil
	})
	return err
}

// since are what WhatsApp calls a person within the business of a tenant: user, and what took its place, in that order.
func (u users) since(tenant, user string) (names []string) {
	for user != "" && !slices.Contains(names, user) {
		names = append(names, user)
		user = u.next[sign{user, tenant}]
	}
	return names
}

// follow notes what WhatsApp calls the recipient of a message by now.
func (u users) follow(m *subject) {
	if m.user == "" || m.recipient == "" {
		return
	}
	for user := strings.TrimPrefix(m.user, sqlMoved); ; {
		next := u.next[sign{user, m.tenant}]
		if next == "" || next == user || slices.Contains(m.had, next) {
			return
		}
		m.call(next)
		user = next
	}
}

// A userWish is that of a person whom WhatsApp calls user within the business of a tenant.
type userWish struct {
	tenant, user string
	campaign.Wish
	at time.Time
}

// queueKept queues wishes into b that are kept for what tells whose they are.
func queueKept(b *pgx.Batch, kept []userWish) {
	if len(kept) == 0 {
		return
	}
	n := len(kept)
	of, names, wants, at := make([]string, n), make([]string, n), make([]string, n), make([]time.Time, n)
	for i, w := range kept {
		of[i], names[i], wants[i], at[i] = w.tenant, w.user, string(w.Wish), w.at
	}
	b.Queue(sqlUserWish, of, names, wants, at)
}
