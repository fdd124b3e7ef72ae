package listings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A HomeDecision is what a person says of an advert and a home.
type HomeDecision struct {
	Home    uuid.UUID // of GET /duplicates, or a listing's ID: the home of that one
	Verdict string    // listing.SaySame, SayDifferent or SayShow
	Listing uuid.UUID // the advert that it is about
	By      string
	At      time.Time
}

// A HomeDecided is what a decision, or the undoing of one, came to.
type HomeDecided struct {
	Verdict int64             // its number, by which it can be undone
	Home    uuid.UUID         // that the advert is of now
	Restart []listing.Restart // adverts that are to go through the pipeline, which publishes them
}

const sqlHomeOf = `/* sqlHomeOf */
SELECT coalesce((SELECT id FROM homes WHERE id = $1), (SELECT home_id FROM home_members WHERE listing_id = $1), $1),
    coalesce((SELECT home_id FROM home_members WHERE listing_id = $2), $2)`

// Members of homes, and a listing that is alone and was never judged: its home has its own ID.
const sqlHomeTouched = `/* sqlHomeTouched */
SELECT listing_id FROM home_members WHERE home_id = ANY ($1)
UNION
SELECT id FROM listings l WHERE id = ANY ($1) AND NOT EXISTS (SELECT FROM home_members WHERE listing_id = l.id)
ORDER BY 1 LIMIT 501`

const sqlHomeStates = `/* sqlHomeStates */
WITH near AS (SELECT unnest($1::uuid[]) AS id) SELECT ` + sqlHomeDetails + `, ` +
	sqlHomeColumns + sqlHomeTables + ` ORDER BY l.published_at, r.id`

// Everything that a decision changes, to restore it.
const sqlHomeSnapshot = `/* sqlHomeSnapshot */
SELECT jsonb_build_object(
    'members', (SELECT coalesce(jsonb_agg(to_jsonb(m) - 'keys'), '[]') FROM home_members m WHERE listing_id = ANY ($1)),
    'homes', (SELECT coalesce(jsonb_agg(to_jsonb(h)), '[]') FROM homes h WHERE id = ANY ($2)),
    'apart', (SELECT coalesce(jsonb_agg(to_jsonb(a)), '[]') FROM home_apart a
        WHERE listing_id = ANY ($1) AND other_id = ANY ($1)),
    'raw', (SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'revision', revision, 'status', status,
        'duplicate_of', duplicate_of, 'reasons', reasons, 'settled_revision', settled_revision)), '[]')
        FROM raw_listings WHERE id = ANY ($1)),
    'listings', (SELECT coalesce(jsonb_agg(
        jsonb_build_object('id', id, 'status', status, 'repost_of', repost_of)), '[]')
        FROM listings WHERE id = ANY ($1)))`

const sqlHomeVerdict = `/* sqlHomeVerdict */
INSERT INTO home_verdicts (listing_id, other_id, verdict, reviewer, at, touched, before)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`

// maxHome is how many adverts the homes of one decision may have.
const maxHome = 500

// The last decision about the adverts, if it is the one that is said, by the same person; and its adverts that have yet
// to go through the pipeline.
const (
	sqlHomeVerdictSaid = `/* sqlHomeVerdictSaid */
SELECT id FROM (
    SELECT * FROM home_verdicts WHERE touched && $1::uuid[] AND undone_at IS NULL ORDER BY id DESC LIMIT 1) v
WHERE listing_id = $2 AND verdict = $3 AND reviewer = $4 AND touched @> $1`
	sqlHomeUnfinished = `/* sqlHomeUnfinished */
SELECT id FROM raw_listings WHERE id = ANY ($1) AND status = 'normalized' AND settled_revision < revision`
)

// homeSaid returns a decision that was stored already: its caller asks again, for the answer was lost. Its number is 0
// where it was not.
func homeSaid(ctx context.Context, tx pgx.Tx, d HomeDecision, touched []uuid.UUID, members []listing.HomeMember) (
	out HomeDecided, err error,
) {
	err = tx.QueryRow(ctx, sqlHomeVerdictSaid, touched, d.Listing, d.Verdict, db.Storable(d.By)).Scan(&out.Verdict)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return out, nil
	case err != nil:
		return out, err
	}
	for _, m := range members {
		if m.ID() == d.Listing {
			out.Home = m.Home
		}
	}
	unfinished, err := db.Rows(ctx, tx, pgx.RowTo[uuid.UUID], sqlHomeUnfinished, touched)
	if err == nil {
		out.Restart, err = restarts(ctx, tx, unfinished)
	}
	return out, err
}

// DecideHome stores what a person says, with what was there before. No rule overrules it. It changes what is visible in
// the same transaction, as it was published last; what is not offered any more becomes visible by its next scrape.
// Adverts that were hidden or never published go through the pipeline for what is new of them. Said again by the same
// person, with no other decision about these adverts in between, it is the one from before and changes nothing. What
// makes no sense is fault.Conflict; a listing or home that is not known is fault.Gone.
func (s *Listings) DecideHome(ctx context.Context, d HomeDecision, prefer []string) (out HomeDecided, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var home, from uuid.UUID
		if err := tx.QueryRow(ctx, sqlHomeOf, d.Home, d.Listing).Scan(&home, &from); err != nil {
			return err
		}
		members, err := homeMembers(ctx, tx, []uuid.UUID{home, from}, d.At)
		if err != nil {
			return err
		}
		touched := make([]uuid.UUID, len(members))
		for i, m := range members {
			touched[i] = m.ID()
		}
		if out, err = homeSaid(ctx, tx, d, touched, members); err != nil || out.Verdict != 0 {
			return err
		}
		plan, err := listing.DecideHome(members, home, d.Verdict, d.Listing, prefer, uuid.New())
		if err != nil {
			return err
		}
		var before []byte
		if err := tx.QueryRow(ctx, sqlHomeSnapshot, touched, []uuid.UUID{home, from}).Scan(&before); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, sqlHomeVerdict, d.Listing, db.Stated(plan.Other), d.Verdict, db.Storable(d.By), d.At, touched,
			before).Scan(&out.Verdict)
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		released, err := homeApply(ctx, tx, b, members, plan, d, out.Verdict)
		if err != nil {
			return err
		}
		db.AuditAdd(ctx, b, db.AuditEntry{At: d.At, Actor: d.By, Action: "home.decided",
			Subject: "listing/" + d.Listing.String(),
			Detail:  map[string]any{"home": home, "verdict": d.Verdict, "number": out.Verdict}})
		db.RememberTrace(ctx, b)
		out.Home = plan.Of(d.Listing).Home
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		out.Restart, err = restarts(ctx, tx, released)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("decide on home %s: %w", d.Home, err)
	}
	s.added.Wake(ctx)
	return out, nil
}

// homeMembers locks the homes, as JoinHome does, and returns their members, the oldest first.
func homeMembers(ctx context.Context, tx pgx.Tx, homes []uuid.UUID, now time.Time) ([]listing.HomeMember, error) {
	return homeLocked(ctx, tx, now, func() ([]uuid.UUID, error) {
		ids, err := db.Rows(ctx, tx, pgx.RowTo[uuid.UUID], sqlHomeTouched, homes)
		if err == nil && len(ids) > maxHome {
			err = fault.Newf(fault.Conflict, "the home has more than %d adverts", maxHome)
		}
		return ids, err
	})
}

// homeLocked locks the keys of the adverts that find returns, and returns them as they are then, the oldest first. When
// other adverts or keys are found under the locks it is fault.Conflict.
func homeLocked(ctx context.Context, tx pgx.Tx, now time.Time, find func() ([]uuid.UUID, error)) ([]listing.HomeMember,
	error) {
	var before []uuid.UUID
	var locked []int64
	for {
		ids, err := find()
		if err != nil {
			return nil, err
		}
		members, err := db.Rows(ctx, tx, homeMemberOf, sqlHomeStates, ids, now.Add(-listing.ClaimFor))
		if err != nil {
			return nil, err
		}
		keys := []int64{}
		for _, m := range members {
			keys = append(keys, homeKeys(m.Listing)...)
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		switch {
		case locked == nil:
		case slices.Equal(ids, before) && slices.Equal(keys, locked):
			return members, nil
		default:
			return nil, fault.Newf(fault.Conflict, "the home is changing; ask again")
		}
		if _, err := tx.Exec(ctx, sqlHomeLock, keys); err != nil {
			return nil, err
		}
		before, locked = ids, keys
	}
}

const (
	sqlHomeMove = `/* sqlHomeMove */
INSERT INTO home_members AS m (listing_id, home_id, keys, rent_cents, kind, matched, hidden, pinned, reviewed_by,
    reasons, against, judged_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (listing_id) DO UPDATE SET home_id = excluded.home_id, kind = excluded.kind, matched = excluded.matched,
    hidden = excluded.hidden, pinned = excluded.pinned, reviewed_by = excluded.reviewed_by,
    reasons = CASE WHEN m.home_id = excluded.home_id AND m.hidden = excluded.hidden THEN m.reasons
        ELSE excluded.reasons END,
    against = excluded.against`
	sqlHomeSet = `/* sqlHomeSet */
INSERT INTO homes AS h (id, shown, chosen, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (id) DO UPDATE SET shown = excluded.shown, chosen = excluded.chosen, updated_at = excluded.updated_at`
	sqlHomeEmpty = `/* sqlHomeEmpty */
DELETE FROM homes WHERE id = ANY ($1) AND NOT EXISTS (SELECT FROM home_members WHERE home_id = homes.id)`
	sqlHomeApart = `/* sqlHomeApart */
INSERT INTO home_apart (listing_id, other_id, verdict) SELECT $1::uuid, o, $3::bigint FROM unnest($2::uuid[]) o
UNION ALL SELECT o, $1, $3 FROM unnest($2::uuid[]) o ON CONFLICT DO NOTHING`
	sqlHomeTogether = `/* sqlHomeTogether */ DELETE FROM home_apart WHERE listing_id = ANY ($1) AND other_id = ANY ($1)`

	// A duplicate is left to its run, which publishes it, or what has changed of it while it was hidden, with the pictures
	// that retention has deleted; it is unfinished until then.
	sqlHomeRelease = `/* sqlHomeRelease */
UPDATE raw_listings SET status = 'normalized', duplicate_of = NULL, reasons = '[]',
    settled_revision = least(settled_revision, revision - 1)
WHERE id = ANY ($1) AND status = 'duplicate'`
	// A listing carries over the history of the oldest one of its platform and home; not any more that of one which is of
	// another home now.
	sqlHomeRelink = `/* sqlHomeRelink */
UPDATE listings l SET repost_of = (
    SELECT o.id FROM home_members m JOIN home_members om ON om.home_id = m.home_id
    JOIN listings o ON o.id = om.listing_id
    WHERE m.listing_id = l.id AND o.platform = l.platform AND o.published_at < l.published_at
    ORDER BY o.published_at, o.id LIMIT 1)
FROM home_members a, home_members b
WHERE l.id = ANY ($1) AND a.listing_id = l.id AND b.listing_id = l.repost_of AND a.home_id <> b.home_id`
	sqlHomeRedirect = `/* sqlHomeRedirect */
UPDATE raw_listings r SET duplicate_of = $2 FROM home_members m
WHERE m.listing_id = r.id AND m.home_id = $1 AND m.hidden AND r.status = 'duplicate'`
)

// homeApply queues what a plan changes, and returns the adverts that are to go through the pipeline. number is that of
// the decision.
func homeApply(ctx context.Context, tx pgx.Tx, b *pgx.Batch, members []listing.HomeMember, plan listing.HomePlan,
	d HomeDecision, number int64) ([]uuid.UUID, error) {
	reasons, err := json.Marshal([]listing.Reason{{Field: "home", Code: string(listing.Duplicate),
		Message: "a person said so: " + d.Verdict}})
	if err != nil {
		return nil, err
	}
	ids, old, hide, reveal := []uuid.UUID{}, []uuid.UUID{}, map[uuid.UUID][]uuid.UUID{}, []uuid.UUID{}
	release := append([]uuid.UUID{}, plan.Restart...)
	for i, m := range members {
		p := plan.Members[i]
		ids, old = append(ids, m.ID()), append(old, m.Home)
		why := reasons
		if !p.Hidden {
			why = []byte("[]")
		}
		var by string
		if p.Pinned || m.ID() == d.Listing {
			by = d.By
		}
		b.Queue(sqlHomeMove, m.ID(), p.Home, homeKeys(m.Listing), m.Listing.RentCents, p.Kind, db.Stated(p.Matched), p.Hidden,
			p.Pinned, db.Storable(by), why, p.Against, d.At)
		switch {
		case p.Hidden && m.Status == "active":
			hide[p.Shown] = append(hide[p.Shown], m.ID())
		case !p.Hidden && m.Hidden:
			release = append(release, m.ID())
			if m.Offered && m.Status == "archived" { // what is not offered is withheld until its next scrape
				reveal = append(reveal, m.ID())
			}
		}
	}
	for _, h := range plan.Homes {
		b.Queue(sqlHomeSet, h.ID, h.Shown, db.Stated(h.Chosen), d.At)
	}
	b.Queue(sqlHomeEmpty, old)
	b.Queue(sqlHomeRelink, ids)
	b.Queue(sqlHomeRaws, ids, []uuid.UUID{})
	if plan.Together {
		b.Queue(sqlHomeTogether, ids)
	}
	if len(plan.Apart) > 0 {
		b.Queue(sqlHomeApart, d.Listing, plan.Apart, number)
	}
	for _, h := range plan.Homes {
		if err := homeHide(ctx, tx, b, hide[h.Shown], h.Shown, d.At); err != nil {
			return nil, err
		}
		b.Queue(sqlHomeRedirect, h.ID, h.Shown)
	}
	b.Queue(sqlHomeRelease, release)
	if err := homeReveal(ctx, tx, b, reveal, d.At); err != nil {
		return nil, err
	}
	for i, m := range members {
		if p := plan.Members[i]; p.Home != m.Home {
			if err := homeTellMoved(b, m, p.Home, p.Shown, d.Verdict == listing.SaySame, d.By, d.At); err != nil {
				return nil, err
			}
		}
	}
	return release, nil
}

// homeTellMoved queues the event of an advert that a person moved into a home of others, or out of one.
func homeTellMoved(b *pgx.Batch, m listing.HomeMember, home, shown uuid.UUID, merged bool, by string,
	now time.Time) error {
	name := contract.ListingSplit
	data := contract.HomeData{HomeID: m.Home.String(), ShownID: m.Shown.String(), Reviewer: by}
	if merged {
		name, data.HomeID, data.ShownID, data.Kind = contract.ListingMerged, home.String(), shown.String(),
			string(listing.Duplicate)
	}
	data.Revision = m.Revision
	return homeTell(b, name, m.Listing, data, now)
}

const (
	sqlHomeConcealed = `/* sqlHomeConcealed */
SELECT details, revision, coalesce(neighbourhood, '')
FROM listings WHERE id = ANY ($1) AND status = 'archived' ORDER BY id FOR NO KEY UPDATE`
	sqlEventRevealed = `/* sqlEventRevealed */
INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
SELECT id, revision, 'status', $2, 'archived', 'active' FROM listings WHERE id = ANY ($1)`
	sqlHomeReveal = `/* sqlHomeReveal */ UPDATE listings SET status = 'active', updated_at = $2 WHERE id = ANY ($1)`
)

// homeReveal queues that archived listings are visible again, with the event that they are published.
func homeReveal(ctx context.Context, tx pgx.Tx, b *pgx.Batch, ids []uuid.UUID, now time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	found, err := db.Rows(ctx, tx, func(row pgx.CollectableRow) (uuid.UUID, error) {
		var l listing.Listing
		var revision int64
		var neighbourhood string
		if err := row.Scan(&l, &revision, &neighbourhood); err != nil {
			return uuid.Nil, err
		}
		data := publishedData(l, revision, neighbourhood)
		data.Change = "returned"
		m, err := db.OutboxEvent(contract.ListingPublished, l.Platform, uuid.New(), data, now)
		if err == nil {
			db.OutboxAdd(b, m)
		}
		return l.ID(), err
	}, sqlHomeConcealed, ids)
	if err != nil {
		return err
	}
	b.Queue(sqlEventRevealed, found, now)
	b.Queue(sqlHomeReveal, found, now)
	return nil
}

// restarts are the adverts that are to go through dedupe and import.
func restarts(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) ([]listing.Restart, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return db.Rows(ctx, tx, scanRestart, sqlHomeRestarts, ids)
}

const sqlHomeRestarts = `/* sqlHomeRestarts */
SELECT ` + sqlRestart + ` WHERE id = ANY ($1) AND normalized_revision = revision ORDER BY id`

const (
	sqlHomeVerdictTake = `/* sqlHomeVerdictTake */
SELECT touched, before, undone_at IS NOT NULL,
    (SELECT max(o.id) FROM home_verdicts o WHERE o.id > v.id AND o.touched && v.touched AND o.undone_at IS NULL)
FROM home_verdicts v WHERE id = $1 FOR UPDATE`
	sqlHomeVerdictUndo = `/* sqlHomeVerdictUndo */ UPDATE home_verdicts SET undone_at = $2, undone_by = $3 WHERE id = $1`

	sqlHomeForget = `/* sqlHomeForget */
DELETE FROM home_members m WHERE listing_id = ANY ($1) AND NOT EXISTS (
    SELECT FROM jsonb_array_elements($2::jsonb -> 'members') s WHERE (s ->> 'listing_id')::uuid = m.listing_id)`
	sqlHomeRestore = `/* sqlHomeRestore */
UPDATE home_members m SET home_id = s.home_id, kind = s.kind, matched = s.matched, against = s.against,
    reasons = s.reasons, figures = s.figures, hidden = s.hidden, pinned = s.pinned, reviewed_by = s.reviewed_by
FROM jsonb_to_recordset($1::jsonb -> 'members') AS s (listing_id uuid, home_id uuid, kind text, matched uuid,
    against bigint, reasons jsonb, figures jsonb, hidden boolean, pinned boolean, reviewed_by text)
WHERE m.listing_id = s.listing_id`
	// A home that was made since, and has no two members.
	sqlHomeUnmake = `/* sqlHomeUnmake */
DELETE FROM homes h WHERE id = ANY ($1) AND (SELECT count(*) FROM home_members WHERE home_id = h.id) < 2
    AND NOT EXISTS (SELECT FROM jsonb_array_elements($2::jsonb -> 'homes') s WHERE (s ->> 'id')::uuid = h.id)`
	sqlHomesRestore = `/* sqlHomesRestore */
INSERT INTO homes AS h (id, shown, chosen, created_at, updated_at)
SELECT id, shown, chosen, created_at, updated_at FROM jsonb_populate_recordset(NULL::homes, $1::jsonb -> 'homes')
ON CONFLICT (id) DO UPDATE SET shown = excluded.shown, chosen = excluded.chosen, updated_at = excluded.updated_at`
	// Also what adverts have inherited that were posted since.
	sqlHomeApartUndo    = `/* sqlHomeApartUndo */ DELETE FROM home_apart WHERE verdict = $1`
	sqlHomeApartRestore = `/* sqlHomeApartRestore */
INSERT INTO home_apart SELECT * FROM jsonb_populate_recordset(NULL::home_apart, $1::jsonb -> 'apart')
ON CONFLICT DO NOTHING`
	// A snapshot of before this was kept has no such member.
	sqlHomeLinksRestore = `/* sqlHomeLinksRestore */
UPDATE listings l SET repost_of = (s ->> 'repost_of')::uuid
FROM jsonb_array_elements($1::jsonb -> 'listings') s
WHERE l.id = (s ->> 'id')::uuid AND s ? 'repost_of' AND l.repost_of IS DISTINCT FROM (s ->> 'repost_of')::uuid`
	// Of an advert with a newer revision nothing is restored: its run judges it. One that has ended by then, with a
	// duplicate, is unfinished again where the advert is not hidden any more.
	sqlHomeRawRelease = `/* sqlHomeRawRelease */
UPDATE raw_listings r SET status = 'normalized', duplicate_of = NULL, reasons = '[]',
    settled_revision = least(r.settled_revision, r.revision - 1)
FROM jsonb_to_recordset($1::jsonb -> 'raw') AS s (id uuid, revision bigint)
LEFT JOIN home_members m ON m.listing_id = s.id
WHERE r.id = s.id AND r.revision > s.revision AND r.status = 'duplicate' AND NOT coalesce(m.hidden, false)`
	sqlHomeRawRestore = `/* sqlHomeRawRestore */
UPDATE raw_listings r SET status = s.status, duplicate_of = s.duplicate_of, reasons = s.reasons,
    settled_revision = s.settled_revision
FROM jsonb_to_recordset($1::jsonb -> 'raw') AS s (id uuid, revision bigint, status text, duplicate_of uuid,
    reasons jsonb, settled_revision bigint)
WHERE r.id = s.id AND r.revision = s.revision`
	// An advert that is visible, and was not, though it was not hidden, is judged again as one of the home that it is in.
	sqlHomeRawReturned = `/* sqlHomeRawReturned */
UPDATE raw_listings r SET settled_revision = least(r.settled_revision, r.revision - 1)
FROM jsonb_to_recordset($1::jsonb -> 'listings') AS s (id uuid, status text) JOIN listings l USING (id)
WHERE r.id = s.id AND s.status = 'archived' AND l.status = 'active'`
	// Of what is hidden again, what was published since the decision. An advert that came back meanwhile, and is not
	// hidden, stays visible: the decision did not make it so.
	sqlHomeRestoreLists = `/* sqlHomeRestoreLists */
SELECT array_agg(l.id) FILTER (WHERE l.status = 'active' AND m.hidden AND (s.status = 'archived' OR s.id IS NULL)),
    array_agg(l.id) FILTER (WHERE l.status = 'archived' AND s.status = 'active' AND r.gone_at IS NULL)
FROM listings l JOIN raw_listings r ON r.id = l.id LEFT JOIN home_members m ON m.listing_id = l.id
LEFT JOIN jsonb_to_recordset($2::jsonb -> 'listings') AS s (id uuid, status text) ON s.id = l.id
WHERE l.id = ANY ($1)`
)

// UndoHomeVerdict restores what was there before a decision: homes, members, what is visible, the audit trail of each
// advert. The later ones about the same adverts are to be undone first: fault.Conflict names the last. One that is
// undone already is fault.Conflict as well, and an unknown one fault.Gone.
func (s *Listings) UndoHomeVerdict(ctx context.Context, number int64, by string, now time.Time) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		touched, before, err := homeVerdict(ctx, tx, number)
		if err != nil {
			return err
		}
		were, err := homeLocked(ctx, tx, now, func() ([]uuid.UUID, error) { return touched, nil })
		if err != nil {
			return err
		}
		if _, _, err := homeVerdict(ctx, tx, number); err != nil { // a later one may have come while this one waited
			return err
		}
		return homeUndo(ctx, tx, number, touched, before, were, by, now)
	})
	if err != nil {
		return fmt.Errorf("undo verdict %d: %w", number, err)
	}
	s.added.Wake(ctx)
	return nil
}

// homeVerdict locks a decision and returns the adverts that it was about, and what was there before. One that cannot be
// undone is an error.
func homeVerdict(ctx context.Context, tx pgx.Tx, number int64) (touched []uuid.UUID, before []byte, err error) {
	var undone bool
	var later *int64
	err = tx.QueryRow(ctx, sqlHomeVerdictTake, number).Scan(&touched, &before, &undone, &later)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = fault.Newf(fault.Gone, "there is no verdict %d", number)
	case err != nil:
	case undone:
		err = fault.Newf(fault.Conflict, "verdict %d is undone already", number)
	case later != nil:
		err = fault.Newf(fault.Conflict, "verdict %d is about the same adverts and came later: undo it first", *later)
	}
	return touched, before, err
}

// homeUndo restores a snapshot. were are the adverts as they are, whose keys are locked.
func homeUndo(ctx context.Context, tx pgx.Tx, number int64, touched []uuid.UUID, before []byte,
	were []listing.HomeMember, by string, now time.Time) error {
	homes := []uuid.UUID{}
	for _, m := range were {
		homes = append(homes, m.Home)
	}
	b := new(pgx.Batch)
	b.Queue(sqlHomeForget, touched, before)
	b.Queue(sqlHomeRestore, before)
	b.Queue(sqlHomesRestore, before)
	b.Queue(sqlHomeUnmake, homes, before)
	b.Queue(sqlHomeTogether, touched)
	b.Queue(sqlHomeApartUndo, number)
	b.Queue(sqlHomeApartRestore, before)
	var hide, reveal []uuid.UUID
	b.Queue(sqlHomeRestoreLists, touched, before).QueryRow(func(row pgx.Row) error { return row.Scan(&hide, &reveal) })
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	are, err := db.Rows(ctx, tx, homeMemberOf, sqlHomeStates, touched, now.Add(-listing.ClaimFor))
	if err != nil {
		return err
	}
	b = new(pgx.Batch)
	b.Queue(sqlHomeLinksRestore, before)
	b.Queue(sqlHomeRaws, touched, []uuid.UUID{})
	for i, m := range were {
		if err := homeTellBack(b, were, are, i, by, now); err != nil {
			return err
		}
		if slices.Contains(hide, m.ID()) {
			if err := homeHide(ctx, tx, b, []uuid.UUID{m.ID()}, are[i].Shown, now); err != nil {
				return err
			}
		}
	}
	if err := homeReveal(ctx, tx, b, reveal, now); err != nil {
		return err
	}
	b.Queue(sqlHomeRawRestore, before)
	b.Queue(sqlHomeRawRelease, before)
	b.Queue(sqlHomeRawReturned, before)
	b.Queue(sqlHomeVerdictUndo, number, now, db.Storable(by))
	db.AuditAdd(ctx, b, db.AuditEntry{
		At: now, Actor: by, Action: "home.undone", Subject: fmt.Sprint("home-verdict/", number)})
	db.RememberTrace(ctx, b)
	return tx.SendBatch(ctx, b).Close()
}

// homeTellBack queues the events of one of the adverts that an undoing has moved: that it left those it was with, and
// that it joined others, unless it is the one that its home began with, whom the others have joined.
func homeTellBack(b *pgx.Batch, were, are []listing.HomeMember, i int, by string, now time.Time) error {
	m, home := were[i], are[i].Home
	if home == m.Home {
		return nil
	}
	left, joined := false, false
	for k, o := range were {
		left = left || k != i && o.Home == m.Home
		joined = joined || k != i && are[k].Home == home && (o.Home == home || home != m.ID())
	}
	if left {
		if err := homeTellMoved(b, m, home, are[i].Shown, false, by, now); err != nil {
			return err
		}
	}
	if joined {
		return homeTellMoved(b, m, home, are[i].Shown, true, by, now)
	}
	return nil
}
