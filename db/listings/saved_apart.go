package listings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// An event is set aside with all that its row says, for all tenants or for one. listing_id is the name that
// ForgetLetters looks for. One that is put back may be there for other tenants already.
const (
	sqlSavedAside = `/* sqlSavedAside */ DELETE FROM saved_queue WHERE event = $1 RETURNING ` + sqlSavedAsideDoc

	sqlSavedAsideOf = `/* sqlSavedAsideOf */
SELECT ` + sqlSavedAsideDoc + ` || jsonb_build_object('tenants', ARRAY[$2::text]) FROM saved_queue WHERE event = $1`

	sqlSavedAsideDoc = `jsonb_strip_nulls(jsonb_build_object('event', event, 'listing_id', listing, 'at', at,
    'before', before, 'tenants', tenants))`

	sqlSavedBack = `/* sqlSavedBack */
INSERT INTO saved_queue AS q (event, listing, at, before, tenants)
SELECT (e.doc ->> 'event')::bigint, (e.doc ->> 'listing_id')::uuid, (e.doc ->> 'at')::timestamptz, e.doc -> 'before',
    (SELECT array_agg(value) FROM jsonb_array_elements_text(e.doc -> 'tenants'))
FROM (SELECT convert_from(body, 'UTF8')::jsonb AS doc FROM dead_letters WHERE id = $1) e
ON CONFLICT (event) DO UPDATE SET
    tenants = CASE WHEN q.tenants IS NOT NULL AND excluded.tenants IS NOT NULL THEN q.tenants || excluded.tenants END`
)

// setAside makes a dead letter of an event. It does nothing while another process compares.
func (m *SavedMatcher) setAside(ctx context.Context, event int64, cause error, now time.Time) (done bool, err error) {
	err = db.SystemTx(ctx, m.store.pool, func(tx pgx.Tx) error {
		done = false
		var turn bool
		if err := tx.QueryRow(ctx, sqlSavedMatchTurn, "0").Scan(&turn, nil, nil); err != nil || !turn {
			return err
		}
		var body []byte
		err := tx.QueryRow(ctx, sqlSavedAside, event).Scan(&body)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		done = true
		return savedLetter(ctx, tx, event, "", body, cause, now)
	})
	return done, fault.Wrap(err, "set event %d aside", event)
}

// savedLetter makes a dead letter of an event, for all tenants ("") or for one. It is no letter of that one: what became
// of it is for an operator.
func savedLetter(ctx context.Context, tx pgx.Tx, event int64, tenant string, body []byte, cause error,
	now time.Time) error {
	key, reason := fmt.Sprintf("saved-event/%d", event), cause.Error()
	if tenant != "" {
		key, reason = key+"/"+tenant, fmt.Sprintf("searches of tenant %s: %s", tenant, reason)
	}
	b := new(pgx.Batch)
	db.DeadLetterAdd(b, db.DeadLetter{
		Key: key, Route: contract.Route{Queue: saved.Queue}, MessageID: strconv.FormatInt(event, 10), Body: body,
		Reason: reason, Class: string(fault.ClassOf(cause)), At: now,
	})
	return tx.SendBatch(ctx, b).Close()
}

// missed has half as many events compared next. One that has failed alone for saved.MaxCompares times, each time for a
// cause that may be its own, is set aside.
func (m *SavedMatcher) missed(ctx context.Context, n int, cause error, now time.Time) (aside []int64, err error) {
	m.most = max(n/2, 1)
	if n > 1 || m.first == 0 || ctx.Err() != nil || !ofEvent(cause) {
		return nil, nil
	}
	if m.alone != m.first {
		m.alone, m.failed = m.first, 0
	}
	if m.failed++; m.failed < saved.MaxCompares {
		return nil, nil
	}
	done, err := m.setAside(ctx, m.alone, cause, now)
	if err != nil || !done {
		return nil, err
	}
	m.failed = 0
	return []int64{m.alone}, nil
}

// ofEvent reports whether an error may be due to what was compared. Any other would be that of all events: the schema,
// a connection, resources, other transactions, an operator.
func ofEvent(err error) bool {
	var scan pgx.ScanArgError // a value that this release cannot take
	if errors.Is(err, errComparePanic) || errors.As(err, &scan) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code[:2] {
	case "21", "22", "23", "54", "P0": // what its values are, or are too much for
		return true
	}
	return pg.Code == "57014" // its statement takes too long
}

// savedPause is for how long a tenant is not tried again that could not be told: its rows are locked, or it took too
// long. 0 = another cause.
func savedPause(err error) time.Duration {
	var pg *pgconn.PgError
	switch {
	case !errors.As(err, &pg):
		return 0
	case pg.Code == "55P03": // a lock was not had
		return time.Minute
	case pg.Code == "57014": // a statement took too long
		return savedPauseMost
	}
	return 0
}

const savedPauseMost = 10 * time.Minute

var errComparePanic = errors.New("comparing it with saved searches panicked")

const sqlSavedWait = `/* sqlSavedWait */
UPDATE saved_queue q SET tenants = w.tenants, not_before = w.until
FROM (
    SELECT event, array_agg(DISTINCT tenant) AS tenants, max(until) AS until
    FROM unnest($1::bigint[], $2::text[], $3::timestamptz[]) w(event, tenant, until) GROUP BY event) w
WHERE q.event = w.event`

// A savedApart is what is told tenant by tenant.
type savedApart struct {
	m    *SavedMatcher
	tx   pgx.Tx
	now  time.Time
	done *Matched

	behind map[string]time.Time // tenants that cannot be told now, and until when they are not tried again

	events  []int64 // that wait for tenants, until then
	tenants []string
	until   []time.Time
}

// tellApart tells the candidates of each tenant behind a savepoint, and returns the events that wait for nobody. Those
// of a tenant whose rows are locked, or one of whose events takes too long by itself, stay in the queue for it alone,
// with all that come until it is tried again. An event that fails by itself for another cause that may be its own is
// set aside for the tenant.
func (m *SavedMatcher) tellApart(ctx context.Context, tx pgx.Tx, ids []int64, candidates []savedCandidate,
	behind map[string]time.Time, now time.Time, done *Matched) (taken []int64, err error) {
	a := savedApart{m: m, tx: tx, now: now, done: done, behind: behind}
	of := map[string][]savedCandidate{}
	for _, c := range candidates {
		of[c.search.Tenant] = append(of[c.search.Tenant], c)
	}
	for _, tenant := range slices.Sorted(maps.Keys(of)) {
		if err := a.tell(ctx, tenant, of[tenant]); err != nil {
			return nil, err
		}
	}
	if len(a.events) == 0 {
		return ids, nil
	}
	if _, err := tx.Exec(ctx, sqlSavedWait, a.events, a.tenants, a.until); err != nil {
		return nil, err
	}
	waits := map[int64]bool{}
	for _, event := range a.events {
		waits[event] = true
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return waits[id] }), nil
}

// tell tells candidates of a tenant, at least one.
func (a *savedApart) tell(ctx context.Context, tenant string, candidates []savedCandidate) error {
	if a.behind[tenant].After(a.now) {
		a.wait(tenant, candidates)
		return nil
	}
	err := a.try(ctx, candidates)
	first, last := candidates[0].event, candidates[len(candidates)-1].event
	switch pause := savedPause(err); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return err
	case pause == savedPauseMost && first != last: // fewer at once may not take too long
	case pause > 0:
		a.behind[tenant] = a.now.Add(pause)
		a.done.Behind, a.done.Cause = append(a.done.Behind, tenant), err
		a.wait(tenant, candidates)
		return nil
	case !ofEvent(err):
		return err
	case first == last:
		var body []byte
		if failed := a.tx.QueryRow(ctx, sqlSavedAsideOf, first.ID, tenant).Scan(&body); failed != nil {
			return failed
		}
		a.done.Aside, a.done.Cause = append(a.done.Aside, first.ID), err
		return savedLetter(ctx, a.tx, first.ID, tenant, body, err, a.now)
	}
	for len(candidates) > 0 { // an event at a time
		n := slices.IndexFunc(candidates, func(c savedCandidate) bool { return c.event != candidates[0].event })
		if n < 0 {
			n = len(candidates)
		}
		if err := a.tell(ctx, tenant, candidates[:n]); err != nil {
			return err
		}
		candidates = candidates[n:]
	}
	return nil
}

// try tells candidates, all of them or none.
func (a *savedApart) try(ctx context.Context, candidates []savedCandidate) error {
	savepoint, err := a.tx.Begin(ctx)
	if err != nil {
		return err
	}
	matches, err := a.m.tell(ctx, savepoint, candidates, a.now)
	if err != nil {
		if failed := savepoint.Rollback(ctx); failed != nil {
			return errors.Join(failed, err)
		}
		return err
	}
	a.done.Matches += matches
	return savepoint.Commit(ctx)
}

// wait has the events of candidates compared for a tenant once it is tried again.
func (a *savedApart) wait(tenant string, candidates []savedCandidate) {
	for i, c := range candidates {
		if i > 0 && c.event == candidates[i-1].event {
			continue
		}
		a.events, a.tenants = append(a.events, c.event.ID), append(a.tenants, tenant)
		a.until = append(a.until, a.behind[tenant])
	}
}
