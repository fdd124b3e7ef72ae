package listings

import (
	"bytes"
	"cmp"
	"context"
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

// Two adverts that may be one home share a key, so the one that is judged second sees the first. The keys are sorted:
// every transaction takes them in one order.
const sqlHomeLock = `/* sqlHomeLock */ SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) k`

// sqlHomeTurn is sqlHomeLock and what the transaction is planned by. What is read and written for one advert is a few
// rows, by indexes: one plan is as good for another advert, and making one costs more than the statement. The settings
// hold until the end of the transaction.
const sqlHomeTurn = `/* sqlHomeTurn */
SELECT (SELECT count(pg_advisory_xact_lock(k)) FROM unnest($1::bigint[]) k),
    (SELECT count(set_config(name, value, true))
    FROM unnest(ARRAY['jit', 'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'plan_cache_mode'],
        ARRAY['off', 'off', 'off', 'off', 'force_generic_plan']) AS s(name, value))`

// An advert is visible, or about to be: judged since $2, and neither hidden, gone, withheld nor rejected since.
const sqlHomeLive = `(coalesce(l.status, '') IN ('active', 'claimed') OR NOT m.hidden AND m.judged_at > $2
    AND r.gone_at IS NULL AND r.archived_at IS NULL AND r.status <> 'rejected')`

// The columns of homeMemberOf, but for the first, and the tables of a list near of adverts.
const (
	sqlHomeDetails = `coalesce(l.details, r.normalized)`
	sqlHomeColumns = `coalesce(m.home_id, r.id), coalesce(m.kind, ''),
    coalesce(l.status, ''), l.published_at, coalesce(l.revision, 0), coalesce(` + sqlHomeLive + `, false),
    coalesce(l.status, '') IN ('active', 'claimed') OR r.gone_at IS NULL AND r.archived_at IS NULL
        AND r.status <> 'rejected' AND coalesce(m.hidden OR m.judged_at > $2, false),
    coalesce(m.hidden, false), coalesce(m.pinned, false), m.listing_id IS NOT NULL, coalesce(h.shown, r.id), h.chosen,
    (SELECT array_agg(DISTINCT i.perceptual) FROM listing_images i
        WHERE i.listing_id = r.id AND i.state = 'attached' AND i.perceptual IS NOT NULL),
    (SELECT array_agg(coalesce(p.home_id, a.other_id)) FROM home_apart a
        LEFT JOIN home_members p ON p.listing_id = a.other_id WHERE a.listing_id = r.id), r.xmin`
	sqlHomeTables = `
FROM near JOIN raw_listings r ON r.id = near.id
LEFT JOIN listings l ON l.id = r.id
LEFT JOIN home_members m ON m.listing_id = r.id
LEFT JOIN homes h ON h.id = m.home_id
WHERE coalesce(l.details, r.normalized) IS NOT NULL`
)

// The advert itself comes first, without its details, which the caller has, then those of its home, those of its
// address, and those of the nearest rents: a tower has more of one size than are read. Listings that were published
// before they had keys are found by their coordinates. Those that are alone and beyond listing.SameHomeBounds are not
// read: most neighbours, whose details cost more than the rest. Large parts of the others that listing.JudgeHome does
// not look at are left out. A member of a home counts for that home wherever it is.
const sqlHomeOthers = `/* sqlHomeOthers */
WITH mine AS (SELECT home_id FROM home_members WHERE listing_id = $1),
near AS (
    SELECT listing_id AS id FROM home_members
    WHERE keys && $3::bigint[] AND (rent_cents BETWEEN $4 AND $5 OR keys && $6::bigint[])
    UNION
    SELECT id FROM listings
    WHERE bedrooms = $7 AND latitude BETWEEN $8 AND $9 AND longitude BETWEEN $10 AND $11
        AND rent_cents BETWEEN $4 AND $5 AND status <> 'archived'
    UNION
    SELECT m.listing_id FROM mine JOIN home_members m USING (home_id)
    UNION
    SELECT $1
)
SELECT CASE WHEN r.id = $1 THEN jsonb_build_object('platform', r.platform, 'platform_id', r.platform_id)
        ELSE ` + sqlHomeDetails + ` - '{sources,warnings,image_urls}'::text[] END, ` + sqlHomeColumns + `
` + sqlHomeTables + `
    AND (r.id = $1 OR h.id IS NOT NULL OR m.home_id <> r.id OR l.latitude IS NULL OR l.longitude IS NULL
        OR coalesce(l.latitude BETWEEN $14 AND $15 AND l.longitude BETWEEN $16 AND $17, true)
        OR coalesce(m.keys && $6::bigint[], false))
ORDER BY r.id <> $1, m.home_id IS DISTINCT FROM (SELECT home_id FROM mine),
    coalesce(m.keys && $12::bigint[], false) DESC, abs(coalesce(m.rent_cents, l.rent_cents) - $13), r.id
LIMIT 51`

func homeMemberOf(row pgx.CollectableRow) (m listing.HomeMember, err error) {
	var published *time.Time
	var chosen *uuid.UUID
	var photos []int64
	err = row.Scan(&m.Listing, &m.Home, &m.Kind, &m.Status, &published, &m.Revision, &m.Live, &m.Offered, &m.Hidden,
		&m.Pinned, &m.Enrolled, &m.Shown, &chosen, &photos, &m.Apart, &m.Row)
	for _, p := range photos {
		m.Listing.Photos = append(m.Listing.Photos, uint64(p)) //nolint:gosec // the same 64 bits
	}
	if published != nil {
		m.Published = *published
	}
	if chosen != nil {
		m.Chosen = *chosen
	}
	return m, err
}

const sqlHomeMember = `/* sqlHomeMember */
INSERT INTO home_members AS m (listing_id, home_id, keys, rent_cents, kind, matched, against, reasons, figures, hidden,
    judged_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (listing_id) DO UPDATE SET home_id = excluded.home_id, keys = excluded.keys,
    rent_cents = excluded.rent_cents, kind = excluded.kind, matched = excluded.matched, against = excluded.against,
    reasons = excluded.reasons, figures = excluded.figures, hidden = excluded.hidden, judged_at = excluded.judged_at`

// A member that was never judged: its listing is older than the keys.
const sqlHomeEnrol = `/* sqlHomeEnrol */
INSERT INTO home_members (listing_id, home_id, keys, rent_cents, judged_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING`

// The adverts that are hidden stay duplicates of the one that is shown; with against -1 the next check judges them
// again.
const sqlHomeShow = `/* sqlHomeShow */
WITH home AS (
    INSERT INTO homes AS h (id, shown, created_at, updated_at) VALUES ($1, $2, $3, $3)
    ON CONFLICT (id) DO UPDATE SET shown = excluded.shown, updated_at = excluded.updated_at
    WHERE h.shown <> excluded.shown OR $4
    RETURNING id
), moved AS (
    UPDATE home_members m SET against = -1 FROM home h
    WHERE m.home_id = h.id AND m.hidden AND m.listing_id <> $5
    RETURNING m.listing_id
)
UPDATE raw_listings r SET duplicate_of = $2 FROM moved
WHERE r.id = moved.listing_id AND r.status = 'duplicate' AND r.id <> $2`

// An advert is held apart from those that the one which it reposts is held apart from, by the same decisions. A pair of
// an earlier release does not name its decision.
const sqlHomeApartAs = `/* sqlHomeApartAs */
WITH pairs AS (
    SELECT a.other_id AS id, coalesce(a.verdict, (
        SELECT max(v.id) FROM home_verdicts v
        WHERE v.verdict = 'different' AND v.undone_at IS NULL AND v.listing_id IN (a.listing_id, a.other_id)
            AND v.touched @> ARRAY[a.listing_id, a.other_id])) AS verdict
    FROM home_apart a WHERE a.listing_id = $2 AND a.other_id <> $1
)
INSERT INTO home_apart (listing_id, other_id, verdict)
SELECT $1::uuid, id, verdict FROM pairs UNION ALL SELECT id, $1, verdict FROM pairs
ON CONFLICT DO NOTHING`

// JoinHome decides which home a version is of and whether it is shown, by listing.JudgeHome, and stores that with the
// events listings.merged and listings.split. Two adverts of one home at the same instant do not both pass: they take
// turns by the locks of their keys. An advert that is not shown is settled as a duplicate of the one that is; its
// listing, and those that it is shown in place of, are archived. Repeating it tells nothing again; an advert that
// others have joined since is then found to be the same as one of them.
func (s *Listings) JoinHome(ctx context.Context, v listing.Version, prefer []string, run listing.Run, now time.Time) (
	j listing.HomeJudgement, others int, err error,
) {
	first := new(pgx.Batch)
	read := homeAround(first, v, now)
	err = db.TxBatches(ctx, s.pool, first, func(tx db.Querier) (*pgx.Batch, error) {
		self, around := read()
		if v.Row != 0 && (v.Row != self.Row || self.Status != "") {
			return nil, fault.Newf(fault.Transient, "%w", listing.ErrMoved)
		}
		others = len(around)
		j = listing.JudgeHome(self, around, prefer, uuid.New())
		b := new(pgx.Batch)
		reasons, err := homeJoin(ctx, tx, b, v, self, around, j, now)
		if err != nil {
			return nil, err
		}
		if j.Hidden {
			stepAdd(b, listingStep{
				ID: v.Listing.ID(), Revision: v.Revision, Pass: &v.Pass, Step: "twin", Status: "duplicate", At: now,
			})
			b.Queue(sqlRawDuplicate, v.Listing.ID(), v.Revision, j.Shown, reasons)
			b.Queue(db.SQLDeadLetterResolve, run.WorkflowID, v.Listing.ID(), v.Revision, contract.QueueImages)
		}
		db.RememberTrace(ctx, b)
		return b, nil
	})
	if err != nil {
		return j, others, db.Refused(fmt.Errorf("find the home of %s: %w", v.Listing.Ref, err))
	}
	if j.Matched != uuid.Nil || j.Left {
		s.added.Wake(ctx)
	}
	if !j.Hidden {
		s.kept.put(v)
	}
	return j, others, nil
}

// homeAround queues the locks of a version's keys and what reads it as a member, with those that it may be of one home
// with. The function that it returns has them, the oldest first, once the batch was executed.
func homeAround(b *pgx.Batch, v listing.Version, now time.Time) func() (
	self listing.HomeMember, others []listing.HomeMember,
) {
	l, id := v.Listing, v.Listing.ID()
	keys := homeKeys(l)
	address, centris := append([]int64{}, listing.AddressKeys(l)...), append([]int64{}, listing.CentrisKeys(l)...)
	near, located := listing.HomeBounds(l)
	place, same := []any{nil, nil, nil, nil}, []any{nil, nil, nil, nil}
	if located {
		place = []any{near.South, near.North, near.West, near.East}
		at := listing.SameHomeBounds(l)
		same = []any{at.South, at.North, at.West, at.East}
	}
	args := []any{id, now.Add(-listing.ClaimFor), keys, l.RentCents * 9 / 10, l.RentCents*10/9 + 1, centris, l.Bedrooms}
	args = slices.Concat(args, place, []any{address, l.RentCents}, same)
	var others []listing.HomeMember
	b.Queue(sqlHomeTurn, keys)
	b.Queue(sqlHomeOthers, args...).Query(func(rows pgx.Rows) (err error) {
		others, err = pgx.CollectRows(rows, homeMemberOf)
		return err
	})
	return func() (listing.HomeMember, []listing.HomeMember) {
		self := listing.HomeMember{Home: id, Shown: id}
		if len(others) > 0 && others[0].ID() == id {
			self, others = others[0], others[1:]
		}
		if v.Claimed {
			self.Status = "claimed" // it will be
		}
		l.Photos = self.Listing.Photos
		self.Listing = l
		slices.SortFunc(others, func(a, b listing.HomeMember) int {
			return cmp.Or(cmp.Compare(published(a), published(b)), bytes.Compare(uuidBytes(a), uuidBytes(b)))
		})
		return self, others
	}
}

// homeKeys are listing.HomeKeys as an array that is not NULL.
func homeKeys(l listing.Listing) []int64 { return append([]int64{}, listing.HomeKeys(l)...) }

// published is when a member was first published, in microseconds; later than any other when it was not.
func published(m listing.HomeMember) int64 {
	if m.Published.IsZero() {
		return 1 << 62
	}
	return m.Published.UnixMicro()
}

func uuidBytes(m listing.HomeMember) []byte {
	id := m.ID()
	return id[:]
}

// homeJoin queues what follows from a judgement, but that the advert itself is settled, and returns its reasons.
func homeJoin(ctx context.Context, tx db.Querier, b *pgx.Batch, v listing.Version, self listing.HomeMember,
	others []listing.HomeMember, j listing.HomeJudgement, now time.Time) (reasons []byte, err error) {
	l, id := v.Listing, v.Listing.ID()
	reasons, figures, err := homeReasons(self, others, j)
	if err != nil {
		return nil, err
	}
	b.Queue(sqlHomeMember, id, j.Home, homeKeys(l), l.RentCents, j.Kind, db.Stated(j.Matched), j.Against, reasons,
		figures, j.Hidden, now)
	if j.ApartAs != uuid.Nil {
		b.Queue(sqlHomeApartAs, id, j.ApartAs)
	}
	joined := !j.Alone && (j.Home != self.Home || !self.Enrolled)
	if j.Left {
		data := contract.HomeData{HomeID: self.Home.String(), ShownID: self.Shown.String()}
		data.Revision = v.Revision
		if err := homeTell(b, contract.ListingSplit, l, data, now); err != nil {
			return nil, err
		}
	}
	if j.Alone {
		return reasons, nil
	}
	for _, o := range others {
		if o.Home == j.Home && !o.Enrolled {
			b.Queue(sqlHomeEnrol, o.ID(), j.Home, homeKeys(o.Listing), o.Listing.RentCents, now)
		}
	}
	b.Queue(sqlHomeRaws, append([]uuid.UUID{id}, j.Hide...), []uuid.UUID{j.Home})
	b.Queue(sqlHomeShow, j.Home, j.Shown, now, joined, id)
	if joined {
		data := contract.HomeData{HomeID: j.Home.String(), ShownID: j.Shown.String(), Kind: string(j.Kind)}
		data.Revision = v.Revision
		for _, text := range j.Match.Reasons {
			data.Reasons = append(data.Reasons, contract.Reason{Field: "home", Code: data.Kind, Message: text})
		}
		if err := homeTell(b, contract.ListingMerged, l, data, now); err != nil {
			return nil, err
		}
	}
	hide := j.Hide
	if j.Hidden && self.Status == "active" {
		hide = append(hide, id)
	}
	return reasons, homeHide(ctx, tx, b, hide, j.Shown, now)
}

// homeReasons writes why an advert is of its home: as the audit trail has it, and as figures.
func homeReasons(self listing.HomeMember, others []listing.HomeMember, j listing.HomeJudgement) (
	reasons, figures []byte, err error,
) {
	list := []listing.Reason{}
	for _, o := range others {
		if o.ID() != j.Matched {
			continue
		}
		for _, text := range j.Match.Reasons {
			list = append(list, listing.Reason{Field: "home", Code: string(listing.Duplicate),
				Message: o.Listing.Ref.String() + ": " + text})
		}
	}
	if self.Pinned && len(list) == 0 {
		list = append(list, listing.Reason{Field: "home", Code: string(listing.Duplicate), Message: "a person said so"})
	}
	if reasons, err = db.JSON(list); err != nil {
		return nil, nil, fmt.Errorf("write reasons of %s: %w", self.Listing.Ref, err)
	}
	figures, err = db.JSON(j.Match.Figures)
	return reasons, figures, fault.Wrap(err, "write figures of %s", self.Listing.Ref)
}

// Rows are locked in one order, as in Publish: listings, then raw adverts.
const sqlHomeVisible = `/* sqlHomeVisible */
SELECT id, platform, platform_id, revision, url, title, rent_cents, bedrooms, neighbourhood, updated_at
FROM listings WHERE id = ANY ($1) AND status = 'active' ORDER BY id FOR NO KEY UPDATE`

const sqlHomeHide = `/* sqlHomeHide */ UPDATE home_members SET hidden = true WHERE listing_id = ANY ($1)`

// A newer revision that is under way is left to its run.
const sqlHomeDuplicates = `/* sqlHomeDuplicates */
UPDATE raw_listings r SET status = 'duplicate', duplicate_of = $2, reasons = m.reasons
FROM home_members m WHERE m.listing_id = r.id AND r.id = ANY ($1) AND r.status = 'imported'`

// Whoever changes several raw adverts locks them in the order of their IDs first, as Receive does.
const sqlHomeRaws = `/* sqlHomeRaws */
SELECT FROM raw_listings
WHERE id = ANY ($1::uuid[] || ARRAY(SELECT listing_id FROM home_members WHERE home_id = ANY ($2))) ORDER BY id
FOR NO KEY UPDATE`

// homeHide queues the archiving of visible listings that another is shown in place of.
func homeHide(ctx context.Context, tx db.Querier, b *pgx.Batch, ids []uuid.UUID, shown uuid.UUID, now time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	visible, err := db.Rows(ctx, tx, func(row pgx.CollectableRow) (uuid.UUID, error) {
		return listingTellArchived(b, row, now)
	}, sqlHomeVisible, ids)
	if err != nil {
		return err
	}
	b.Queue(sqlHomeHide, ids)
	b.Queue(sqlEventArchived, visible, now)
	b.Queue(sqlListingsArchive, visible, now)
	b.Queue(sqlHomeDuplicates, visible, shown)
	return nil
}

// homeTell queues listings.merged or listings.split of an advert. Both are written in the transaction that changes its
// home, once.
func homeTell(b *pgx.Batch, name string, l listing.Listing, data contract.HomeData, now time.Time) error {
	reasons := data.Reasons
	data.ListingData = listingData(l, data.Revision)
	data.Reasons = reasons
	m, err := db.OutboxEvent(name, l.Platform, uuid.New(), data, now)
	if err != nil {
		return err
	}
	db.OutboxAdd(b, m)
	return nil
}
