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

	// Of several changes of one user ID the last counts. What another made of it is the same person's: the last ID to
	// which that leads leads to what counts. Where that ID led back, as in a circle, no other is found by that alone: so
	// all that are told to be one person stay connected, with one row of each ID.
	sqlUserChange = `/* sqlUserChange */
WITH RECURSIVE two AS (
    SELECT c.tenant, CASE WHEN c.at < $4::timestamptz THEN c.wa_user ELSE $3 END AS lost,
        CASE WHEN c.at < $4 THEN $3 ELSE c.wa_user END AS counts, least(c.at, $4) AS at
    FROM wa_user_changes c JOIN senders s ON s.tenant = c.tenant
    WHERE s.phone_number_id = $1 AND c.was = $2 AND c.wa_user <> $3
), walk AS (
    SELECT tenant, ARRAY[lost] AS names, lost AS name FROM two
    UNION ALL
    SELECT w.tenant, w.names || c.wa_user, c.wa_user
    FROM walk w JOIN wa_user_changes c ON c.tenant = w.tenant AND c.was = w.name
    WHERE c.wa_user <> ALL (w.names) AND cardinality(w.names) < 1000
), led AS (
    INSERT INTO wa_user_changes (tenant, was, wa_user, at)
    SELECT tenant, name, counts, at
    FROM (SELECT * FROM walk ORDER BY cardinality(names) DESC LIMIT 1) w JOIN two USING (tenant)
    WHERE NOT names && ARRAY[$2, counts]
    ON CONFLICT (tenant, was) DO UPDATE SET wa_user = excluded.wa_user, at = excluded.at
)
INSERT INTO wa_user_changes AS c (tenant, was, wa_user, at)
SELECT tenant, $2, $3, $4 FROM senders WHERE phone_number_id = $1
ON CONFLICT (tenant, was) DO UPDATE SET wa_user = excluded.wa_user, at = excluded.at WHERE c.at < excluded.at`

	// Up to $3 of the user IDs that are told, by numbers of senders, and those of the same people, the nearest first; and
	// the wishes of all of them.
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
), nearest AS (
    SELECT * FROM named LIMIT $3
)
SELECT n.tenant, n.number, n.wa_user, c.wa_user, '', c.at
FROM nearest n JOIN wa_user_changes c ON c.tenant = n.tenant AND c.was = n.wa_user
UNION ALL
SELECT n.tenant, n.number, n.wa_user, '', w.wish, w.at
FROM nearest n JOIN wa_user_wishes w ON w.tenant = n.tenant AND w.wa_user = n.wa_user`

	sqlUserWish = `/* sqlUserWish */
INSERT INTO wa_user_wishes AS w (tenant, wa_user, wish, at)
SELECT tenant, wa_user, wish, max(at)
FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) AS t(tenant, wa_user, wish, at)
GROUP BY tenant, wa_user, wish ORDER BY 1, 2, 3
ON CONFLICT (tenant, wa_user, wish) DO UPDATE SET at = excluded.at, told_at = now() WHERE w.at < excluded.at`
)

// mostNames is how many user IDs of a person are looked at, in the mean of those that deliveries tell. WhatsApp gives
// another one with another number.
const mostNames = 100

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
	for i := range t.was {
		b.Queue(sqlUserChange, t.changedBy[i], t.was[i], t.became[i], t.at[i])
	}
	if len(t.users) > 0 {
		b.Queue(sqlUserKnown, t.by, t.users, mostNames*len(t.users)).Query(u.read)
	}
}

// users are what is known of people by their user IDs.
type users struct {
	next map[sign]string    // the user IDs that took the place of others
	was  map[sign][]string  // those whose place they took
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
				u.next, u.was = map[sign]string{}, map[sign][]string{}
			}
			if by := (sign{user, tenant}); u.next[by] == "" {
				u.next[by] = next
				u.was[sign{next, tenant}] = append(u.was[sign{next, tenant}], user)
			}
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

// names are all that WhatsApp calls a person within the business of a tenant: user, what took its place, what had it
// before, and what became of that otherwise.
func (u users) names(tenant, user string) (names []string) {
	if user == "" {
		return nil
	}
	names = []string{user}
	has := map[string]bool{user: true}
	for i := 0; i < len(names); i++ {
		by := sign{names[i], tenant}
		for _, name := range append([]string{u.next[by]}, u.was[by]...) {
			if name != "" && !has[name] {
				has[name] = true
				names = append(names, name)
			}
		}
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
