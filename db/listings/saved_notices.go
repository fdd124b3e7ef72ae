package listings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A DueNotice is a delivery whose workflow is to be started.
type DueNotice struct {
	ID     uuid.UUID
	Tenant string
}

const (
	// sqlNoticeFree is a condition on a delivery w that waits: fewer than $2 of its target are under way at a time $1, or
	// go before it. Those that a failure has put off are under way only where they were due after $3: a target that
	// fails is not sent one after the other, of which each would be tried again and again.
	sqlNoticeFree = `(w.confirms OR $2 > (
            SELECT count(*) FROM (
                SELECT FROM saved_deliveries o
                WHERE o.target = w.target AND o.state IN ('waiting', 'started') AND CASE o.state
                    WHEN 'waiting' THEN o.due_at < w.due_at
                    ELSE o.started_at <= $1 OR o.tries = 0 AND o.unreached_since IS NULL OR o.due_at > $3 END
                LIMIT $2) ahead))`

	// sqlNoticeFailing is a condition on a delivery w: its target has failed, and has taken nothing since, or something on
	// its way to it has failed.
	sqlNoticeFailing = `((SELECT t.failing_since FROM saved_targets t WHERE t.id = w.target) IS NOT NULL OR 0 < (
            SELECT count(*) FROM (
                SELECT FROM saved_deliveries o
                WHERE o.target = w.target AND o.state IN ('waiting', 'started') AND o.state = 'started'
                    AND (o.tries > 0 OR o.unreached_since IS NOT NULL)
                LIMIT 1) failed))`

	// sqlNoticeNews are news of a tenant k that are due and may be begun, the oldest first.
	sqlNoticeNews = `(SELECT id, due_at, target FROM saved_deliveries w
                WHERE tenant = k.id AND state = 'waiting' AND NOT confirms AND due_at <= $1 AND ` + sqlNoticeFree + `
                ORDER BY due_at`

	// A delivery that was begun and has not ended is due again after a while: the process that was to start its workflow
	// may have been killed. A workflow that is running is joined. Those that were never begun come first, the first of
	// each tenant before the second of any, and $6 of one at most: however many are due of a tenant, or do not end, they
	// hold up no other. Of a tenant they have their turns in the order of their times, a confirmation as if it had been
	// due $7 before, and what goes to a target that fails as if it were due $7 later: the others are sought among the
	// first $8 that are due. Of a target no more than $2 are under way: the others take more news until then.
	sqlNoticesBegin = `/* sqlNoticesBegin */
WITH turns AS (
    SELECT d.id FROM tenants k CROSS JOIN LATERAL (
        SELECT id, at, row_number() OVER (ORDER BY at, id) AS turn FROM (
            (SELECT id, due_at - $7::interval AS at FROM saved_deliveries
            WHERE tenant = k.id AND state = 'waiting' AND confirms AND due_at <= $1
            ORDER BY due_at LIMIT least($4::bigint, $6::bigint))
            UNION ALL
            (SELECT id, due_at FROM ` + sqlNoticeNews + ` LIMIT $8) w
            WHERE NOT ` + sqlNoticeFailing + ` ORDER BY due_at LIMIT least($4::bigint, $6::bigint))
            UNION ALL
            SELECT id, due_at + $7::interval FROM ` + sqlNoticeNews + ` LIMIT least($4::bigint, $6::bigint)) w
            WHERE ` + sqlNoticeFailing + `) o
        ORDER BY at, id LIMIT least($4::bigint, $6::bigint)) d
    ORDER BY d.turn, d.at LIMIT $4
), fresh AS (
    SELECT id, tenant, due_at, confirms FROM saved_deliveries
    WHERE id IN (SELECT id FROM turns) AND state = 'waiting' FOR UPDATE SKIP LOCKED
), had AS (
    SELECT tenant, CASE WHEN day >= ($1 AT TIME ZONE 'UTC')::date THEN n ELSE 0 END AS n
    FROM saved_told WHERE tenant IN (SELECT tenant FROM fresh) ORDER BY tenant FOR UPDATE
), judged AS (
    SELECT f.id, f.tenant, coalesce(
        coalesce(h.n, 0) + row_number() OVER (PARTITION BY f.tenant ORDER BY f.due_at, f.id) > k.max_notices_day,
        false) AS over
    FROM fresh f JOIN tenants k ON k.id = f.tenant LEFT JOIN had h ON h.tenant = f.tenant WHERE NOT f.confirms
), told AS (
    INSERT INTO saved_told AS t (tenant, day, n, begun_at)
    SELECT f.tenant, ($1 AT TIME ZONE 'UTC')::date, count(*) FILTER (WHERE NOT j.over), $1
    FROM fresh f LEFT JOIN judged j ON j.id = f.id GROUP BY f.tenant ORDER BY f.tenant
    ON CONFLICT (tenant) DO UPDATE SET day = greatest(t.day, excluded.day),
        n = CASE WHEN t.day >= excluded.day THEN t.n ELSE 0 END + excluded.n, begun_at = excluded.begun_at
), dropped AS (
    UPDATE saved_deliveries d SET state = 'dropped', finished_at = $1,
        reason = 'the tenant has had its quota max_notices_day of messages'
    FROM judged j WHERE d.id = j.id AND j.over RETURNING d.id
), again AS (
    SELECT id FROM saved_deliveries WHERE state = 'started' AND started_at <= $5
    ORDER BY started_at LIMIT greatest($4 - (SELECT count(*) FROM fresh), $4 / 10) FOR UPDATE SKIP LOCKED
), begun AS (
    UPDATE saved_deliveries d SET state = 'started', started_at = $1, begun_at = coalesce(d.begun_at, $1)
    FROM (SELECT id FROM fresh WHERE id NOT IN (SELECT id FROM dropped) UNION ALL SELECT id FROM again) o
    WHERE d.id = o.id RETURNING d.id, d.tenant, d.confirms
)
SELECT id, tenant FROM begun ORDER BY NOT confirms`
)

// Begin marks up to n deliveries that are due as started, no more than a share of them of one tenant, then those that
// were begun, or put off, before a time and have not ended, n/10 of them where n are due, and returns them. From then
// on a delivery takes no further items: one whose target is busy is not begun. What is more than the tenant's quota of
// a day is dropped, and not counted; a feed has it. Confirmations are no news: they are not counted either, and come
// first, here as in the row of their tenant; targets that fail come last in that.
func (s *Saved) Begin(ctx context.Context, n, share int, before, now time.Time) ([]DueNotice, error) {
	due, err := db.SystemRows(ctx, s.pool, pgx.RowToStructByPos[DueNotice], sqlNoticesBegin, now,
		saved.AtOnceMost, now.Add(-saved.FailingPause), n, before, share, saved.AheadMost, saved.AheadAmong)
	return due, fault.Wrap(err, "begin notices")
}

const (
	sqlNotice = `/* sqlNotice */
SELECT d.id, d.tenant, d.state, d.due_at, d.tries, d.unreached_since, d.confirms, s.id, s.name, s.schedule, s.language,
    t.id, t.kind, t.label, t.state, s.state = 'active', k.state = 'stopped', t.box_key, t.box
FROM saved_deliveries d JOIN saved_targets t ON t.id = d.target JOIN saved_searches s ON s.id = t.search
JOIN tenants k ON k.id = d.tenant
WHERE d.tenant = $1 AND d.id = $2`

	sqlNoticeItems = `/* sqlNoticeItems */
WITH told AS MATERIALIZED (
    SELECT m.*, coalesce(h.home_id, m.listing) AS home
    FROM saved_items i JOIN saved_matches m ON m.search = i.search AND m.event = i.event
    LEFT JOIN home_members h ON h.listing_id = m.listing WHERE i.delivery = $1
), first AS (
    SELECT home, min(event) AS event FROM told GROUP BY home ORDER BY 2 LIMIT $2
)
SELECT ` + sqlSavedItemColumns + `
FROM first f JOIN told m ON m.home = f.home ` + sqlSavedItemJoins + `
ORDER BY m.event`

	sqlNoticeHomes = `/* sqlNoticeHomes */
SELECT count(DISTINCT coalesce(h.home_id, m.listing))
FROM saved_items i JOIN saved_matches m ON m.search = i.search AND m.event = i.event
LEFT JOIN home_members h ON h.listing_id = m.listing WHERE i.delivery = $1`
)

// NoticeHead is Notice without the items.
func (s *Saved) NoticeHead(ctx context.Context, tenant string, id uuid.UUID) (saved.Notice, error) {
	n, err := db.One(db.TenantRows(ctx, s.pool, tenant, func(row pgx.CollectableRow) (n saved.Notice, err error) {
		return n, row.Scan(&n.ID, &n.Tenant, &n.State, &n.Due, &n.Tries, &n.Astray, &n.Confirms, &n.Search, &n.Name,
			&n.Schedule, &n.Language, &n.Target, &n.Channel, &n.Label, &n.Standing, &n.On, &n.Stopped, &n.Sealed.Key,
			&n.Sealed.Box)
	}, sqlNotice, tenant, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return n, fault.Newf(fault.Gone, "there is no notice %s", id)
	}
	return n, fault.Wrap(err, "read notice %s", id)
}

// Notice returns a delivery with its items, each home once and at most saved.MaxItems, and its address sealed. That of
// a search that is deleted is idle, and once it is emptied fault.Gone.
func (s *Saved) Notice(ctx context.Context, tenant string, id uuid.UUID) (n saved.Notice, err error) {
	if n, err = s.NoticeHead(ctx, tenant, id); err != nil {
		return n, err
	}
	items, err := db.TenantRows(ctx, s.pool, tenant, scanSavedItem, sqlNoticeItems, id, saved.MaxItems)
	n.Items = saved.Together(items)
	if err == nil && len(n.Items) >= saved.MaxItems {
		n.More, err = db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[int], sqlNoticeHomes, id))
		n.More = max(n.More-len(n.Items), 0)
	}
	return n, fault.Wrap(err, "read notice %s", id)
}

const (
	sqlNoticePutOff = `/* sqlNoticePutOff */
UPDATE saved_deliveries SET tries = tries + $5::boolean::int, reason = coalesce(nullif($3, ''), reason),
    started_at = $4, begun_at = CASE WHEN $3 = '' THEN $4 ELSE begun_at END,
    unreached_since = CASE WHEN $6 THEN coalesce(unreached_since, $7) WHEN $3 = '' THEN unreached_since END
WHERE tenant = $1 AND id = $2 AND state IN ('waiting', 'started') RETURNING tries`

	sqlNoticeEnd = `/* sqlNoticeEnd */
UPDATE saved_deliveries SET state = $3, reason = $4, finished_at = $5
WHERE tenant = $1 AND id = $2 AND state IN ('waiting', 'started')`

	// Before sqlNoticeEnd, too: how a challenge has ended. What is sent was sent back.
	sqlTargetAnswered = `/* sqlTargetAnswered */
WITH answered AS (
    UPDATE saved_targets t
    SET state = CASE WHEN $3 = 'sent' THEN 'active' ELSE t.state END, reason = $4, updated_at = $5
    FROM saved_deliveries d
    WHERE d.tenant = $1 AND d.id = $2 AND d.confirms AND d.state IN ('waiting', 'started') AND t.id = d.target
        AND t.kind = 'webhook' AND t.state = 'unconfirmed'
    RETURNING t.tenant, t.search, t.state
), counted AS (
    UPDATE saved_asks a SET hooks = a.hooks - 1 FROM answered t
    WHERE a.tenant = t.tenant AND t.state = 'active' AND a.hooks > 0
)
INSERT INTO audit (at, actor, action, subject, detail)
SELECT $5, 'conveyor', 'search.target_confirmed', 'search/' || search, jsonb_build_object('tenant', tenant)
FROM answered WHERE state = 'active'`

	sqlTargetWell = `/* sqlTargetWell */
UPDATE saved_targets SET failing_since = NULL
WHERE tenant = $1 AND id = (SELECT target FROM saved_deliveries WHERE id = $2) AND failing_since IS NOT NULL`

	// It comes before sqlNoticeEnd, so that a repetition counts nothing. Only webhooks have servers of their own: where
	// e-mail or Telegram fails, ours is at fault.
	sqlTargetFailing = `/* sqlTargetFailing */
UPDATE saved_targets t SET failing_since = coalesce(t.failing_since, $3),
    state = CASE WHEN t.failing_since <= $4 AND t.state = 'active' THEN 'stopped' ELSE t.state END,
    reason = CASE WHEN t.failing_since <= $4 AND t.state = 'active' THEN $5 ELSE t.reason END,
    updated_at = CASE WHEN t.failing_since <= $4 AND t.state = 'active' THEN $3 ELSE t.updated_at END
FROM saved_deliveries d
WHERE d.tenant = $1 AND d.id = $2 AND d.state IN ('waiting', 'started') AND t.id = d.target AND t.kind = 'webhook'`
)

// PutOffNotice notes when the workflow of a delivery tries it next, so that Begin leaves it alone until then, and what
// became of the last try. One that was not tried is not late before then. It returns how many are counted. One that has
// ended is fault.Conflict.
func (s *Saved) PutOffNotice(ctx context.Context, tenant string, id uuid.UUID, p saved.Pause) (tries int, err error) {
	tries, err = db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[int], sqlNoticePutOff, tenant, id,
		db.Storable(p.Reason), p.Until, p.Counts, p.Astray, p.At))
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fault.Newf(fault.Conflict, "notice %s has ended", id)
	}
	return tries, fault.Wrap(err, "put off notice %s", id)
}

// EndNotice ends a delivery: sent, dropped for a reason, or failed without a dead letter. A challenge that is sent was
// answered: its target is active from then on, with an audit record. A dead letter that the delivery was is resolved
// when it is sent. Repeated, it changes nothing.
func (s *Saved) EndNotice(ctx context.Context, tenant string, id uuid.UUID, state, reason string, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlTargetAnswered, tenant, id, state, db.Storable(reason), now)
	b.Queue(sqlNoticeEnd, tenant, id, state, db.Storable(reason), now)
	if state == "sent" {
		b.Queue(sqlTargetWell, tenant, id)
		b.Queue(db.SQLDeadLetterResolveKey, db.LetterFingerprint(saved.WorkflowID(id)))
	}
	return fault.Wrap(db.TenantWrite(ctx, s.pool, tenant, b), "end notice %s", id)
}

const sqlNoticeStop = `/* sqlNoticeStop */
UPDATE saved_targets SET state = 'stopped', reason = $3, updated_at = $4
WHERE tenant = $1 AND id = (SELECT target FROM saved_deliveries WHERE id = $2) AND state <> 'stopped'`

// FailNotice ends a delivery that cannot be made, as a dead letter of the tenant. A replay of it makes the delivery
// again. Of the class fault.Gone it is no dead letter: its target is stopped, for it is not there any more or wants no
// more; an address that could not be asked to confirm may be asked anew. A webhook to which nothing could be delivered
// for saved.FailingMost is stopped, too.
func (s *Saved) FailNotice(ctx context.Context, tenant string, id uuid.UUID, class fault.Class, reason string,
	now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlTargetFailing, tenant, id, now, now.Add(-saved.FailingMost),
		db.Storable(fmt.Sprintf("nothing could be delivered for %d days: %s", saved.FailingMost/(24*time.Hour), reason)))
	b.Queue(sqlNoticeEnd, tenant, id, "failed", db.Storable(reason), now)
	if class == fault.Gone {
		b.Queue(sqlNoticeStop, tenant, id, db.Storable(reason), now)
		b.Queue(sqlAddressUnask, tenant, id, now)
	} else {
		db.DeadLetterAdd(b, db.DeadLetter{
			Key: saved.WorkflowID(id), Tenant: tenant, Route: contract.Route{Queue: saved.Queue}, MessageID: id.String(),
			Body: fmt.Appendf(nil, `{"notice":%q}`, id), Reason: reason, Class: string(class),
			WorkflowID: saved.WorkflowID(id), At: now,
		})
	}
	return fault.Wrap(db.TenantWrite(ctx, s.pool, tenant, b), "fail notice %s", id)
}

// What waits for its turn among those of its tenant is late where nothing of the tenant is begun any more.
const sqlNoticesUntried = `/* sqlNoticesUntried */
WITH waits AS (
    SELECT w.due_at, greatest(w.due_at, b.begun_at) AS since
    FROM tenants k LEFT JOIN saved_told b ON b.tenant = k.id CROSS JOIN LATERAL (
        SELECT due_at FROM saved_deliveries w
        WHERE tenant = k.id AND state = 'waiting' AND due_at <= $1 AND ` + sqlNoticeFree + `
        ORDER BY due_at LIMIT 1) w
)
SELECT coalesce(extract(epoch FROM greatest($1 - (SELECT min(since) FROM (
        SELECT since FROM waits
        UNION ALL
        SELECT coalesce(begun_at, due_at) FROM saved_deliveries
        WHERE state = 'started' AND tries = 0 AND unreached_since IS NULL AND started_at <= $1) d), '0')), 0)::float8,
    coalesce(extract(epoch FROM $1 - (SELECT min(due_at) FROM waits)), 0)::float8`

// Untried is how many seconds the oldest delivery has waited that is due, is not put off and was not tried: since it
// was begun, or had its turn at its target, server or tenant, or since one of its tenant was begun last; and for how
// long the oldest was due that waits for its turn among those of its tenant. 0 = there is none.
func (s *Saved) Untried(ctx context.Context, now time.Time) (late, turn float64, err error) {
	n, err := db.One(db.SystemRows(ctx, s.pool, func(row pgx.CollectableRow) (n [2]float64, err error) {
		return n, row.Scan(&n[0], &n[1])
	}, sqlNoticesUntried, now, saved.AtOnceMost, now.Add(-saved.FailingPause)))
	return n[0], n[1], fault.Wrap(err, "find the oldest notices")
}

// Edits have a time of their own; that of other events is in listing_events.
const sqlSavedQueued = `/* sqlSavedQueued */
SELECT (SELECT count(*) FROM (SELECT FROM saved_queue LIMIT $2) q), coalesce((
    SELECT extract(epoch FROM greatest($1 - coalesce(q.at, e.at), '0'))
    FROM saved_queue q LEFT JOIN listing_events e ON e.id = q.event ORDER BY q.event LIMIT 1), 0)::float8`

// Backlog counts the events that wait to be compared with the searches, up to backlog.MostNews, and says how long the
// oldest of them and the oldest delivery have waited.
func (s *Saved) Backlog(ctx context.Context, now time.Time) (backlog.NewsCount, error) {
	n, err := db.One(db.SystemRows(ctx, s.pool, func(row pgx.CollectableRow) (n backlog.NewsCount, err error) {
		return n, row.Scan(&n.Events, &n.EventAgeSeconds)
	}, sqlSavedQueued, now, backlog.MostNews))
	if err != nil {
		return backlog.NewsCount{}, fmt.Errorf("count the events of saved searches: %w", err)
	}
	n.NoticeAgeSeconds, n.TurnAgeSeconds, err = s.Untried(ctx, now)
	return n, err
}

const sqlNoticeReopen = `/* sqlNoticeReopen */
UPDATE saved_deliveries d SET state = 'waiting', tries = 0, unreached_since = NULL, finished_at = NULL,
    begun_at = NULL
WHERE tenant = $1 AND id = $2 AND state = 'failed' AND ` + sqlNoticeOfSearch

const sqlNoticeOfSearch = `EXISTS (
    SELECT FROM saved_targets t JOIN saved_searches s ON s.id = t.search
    WHERE t.id = d.target AND s.deleted_at IS NULL)`

const sqlNoticeStands = `/* sqlNoticeStands */
SELECT state FROM saved_deliveries d WHERE tenant = $1 AND id = $2 AND ` + sqlNoticeOfSearch

// Reopeners are those of the deliveries, and of the events that could not be matched.
func Reopeners() db.Reopeners {
	return db.Reopeners{saved.Queue: {Of: noticeReopen, Back: sqlSavedBack}}
}

// noticeReopen is the reopener of deliveries.
func noticeReopen(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID, _ time.Time) error {
	tag, err := tx.Exec(ctx, sqlNoticeReopen, tenant, id)
	if err != nil || tag.RowsAffected() > 0 {
		return err
	}
	var state string
	switch err := tx.QueryRow(ctx, sqlNoticeStands, tenant, id).Scan(&state); {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.Newf(fault.Gone, "there is no notice %s", id)
	case err != nil:
		return err
	case state == "waiting" || state == "started":
		return nil
	}
	return fault.Newf(fault.Conflict, "notice %s is %s: it is not sent again", id, state)
}
