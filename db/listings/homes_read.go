package listings

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A Home is adverts that are taken for one home.
type Home struct {
	ID        uuid.UUID
	Shown     uuid.UUID  // the listing that is shown for the others
	Chosen    *uuid.UUID // that a person wants to be shown
	CreatedAt time.Time
	UpdatedAt time.Time
	Members   []HomeAdvert  // the one that is shown first
	Verdicts  []HomeVerdict // the newest first, at most 20
}

// A HomeAdvert is one advert of a home.
type HomeAdvert struct {
	Home        uuid.UUID
	ListingID   uuid.UUID
	Platform    string
	PlatformID  string
	URL         string
	Title       string
	RentCents   int64 // CAD a month
	Status      string
	Raw         string // status of the advert, as in Audit
	Kind        string // duplicate repost; "" = the first
	Matched     *uuid.UUID
	Reasons     []listing.Reason
	Figures     listing.Figures
	Hidden      bool
	Pinned      bool
	ReviewedBy  string
	PublishedAt *time.Time
	JudgedAt    time.Time
}

// A HomeVerdict is what a person said of an advert and a home.
type HomeVerdict struct {
	ID        int64
	ListingID uuid.UUID
	OtherID   *uuid.UUID
	Verdict   string
	Reviewer  string
	At        time.Time
	UndoneAt  *time.Time
	UndoneBy  string
}

// HomeFilter says which homes to return. A zero field does not filter; of several values any will do.
type HomeFilter struct {
	Kind     []string     // of listing.MatchKinds: that one of its adverts is
	Reviewed *bool        // a person has said something of one of its adverts
	Listing  *uuid.UUID   // its home, also where it is alone there by a decision that stands
	After    *db.Position // the last home of the page before
	Limit    int          // 1 to 100
}

// Homes that persons have said something of are few, and found by an index. Otherwise a filter looks at the 10,000
// homes after the position: one that few of them pass would read all. The last of them is among the rows whether it
// passes or not, for the list goes on after it.
const (
	sqlHomes = `/* sqlHomes */
SELECT id, shown, chosen, created_at, updated_at, true, false FROM homes h
WHERE ` + sqlHomeAfter + ` AND ` + sqlHomeHas + ` AND ` + sqlHomeFits + sqlHomesOrder + ` LIMIT $3`

	sqlHomesReviewed = `/* sqlHomesReviewed */
SELECT id, shown, chosen, created_at, updated_at, true, false FROM homes h
WHERE id IN (SELECT home_id FROM home_members WHERE reviewed_by <> '')
    AND ` + sqlHomeAfter + ` AND ` + sqlHomeHas + ` AND ` + sqlHomeFits + sqlHomesOrder + ` LIMIT $3`

	sqlHomesSome = `/* sqlHomesSome */
SELECT id, shown, chosen, created_at, updated_at, passes, place = 10000
FROM (
    SELECT *, row_number() OVER (ORDER BY updated_at DESC, id DESC) AS place, ` + sqlHomePasses + ` AS passes
    FROM (SELECT * FROM homes WHERE ` + sqlHomeAfter + sqlHomesOrder + ` LIMIT 10000) h
) looked
WHERE passes OR place = 10000` + sqlHomesOrder + ` LIMIT $3`

	sqlHomeAfter   = `($1::uuid IS NULL OR (updated_at, id) < ($2::timestamptz, $1::uuid))`
	sqlHomePasses  = sqlHomeSeveral + ` AND ` + sqlHomeFits
	sqlHomeSeveral = `(SELECT count(*) FROM (SELECT FROM home_members WHERE home_id = h.id LIMIT 2) two) = 2`
	sqlHomeFits    = `($4::text[] IS NULL OR EXISTS (SELECT FROM home_members WHERE home_id = h.id AND kind = ANY ($4)))
    AND ($5::boolean IS NULL OR $5 = EXISTS (SELECT FROM home_members WHERE home_id = h.id AND reviewed_by <> ''))`

	// That of one listing may have no other by what a person has said: it is found, so that this can be undone.
	sqlHomeHas = `($6::uuid IS NULL OR id = (SELECT home_id FROM home_members WHERE listing_id = $6))
    AND (` + sqlHomeSeveral + `
        OR EXISTS (SELECT FROM home_verdicts WHERE (listing_id = $6 OR other_id = $6) AND undone_at IS NULL))`
	sqlHomesOrder = ` ORDER BY updated_at DESC, id DESC`
)

const sqlHomeAdverts = `/* sqlHomeAdverts */
SELECT m.home_id, m.listing_id, r.platform, r.platform_id, r.url, coalesce(r.normalized ->> 'title', l.title, ''),
    m.rent_cents, coalesce(l.status, ''), r.status, m.kind, m.matched, m.reasons, m.figures, m.hidden, m.pinned,
    m.reviewed_by, l.published_at, m.judged_at
FROM home_members m JOIN raw_listings r ON r.id = m.listing_id LEFT JOIN listings l ON l.id = r.id
JOIN homes h ON h.id = m.home_id
WHERE m.home_id = ANY ($1) ORDER BY m.listing_id <> h.shown, l.published_at, m.listing_id LIMIT 5000`

const sqlHomeVerdicts = `/* sqlHomeVerdicts */
SELECT DISTINCT m.home_id, v.id, v.listing_id, v.other_id, v.verdict, v.reviewer, v.at, v.undone_at, v.undone_by
FROM home_members m JOIN home_verdicts v ON v.listing_id = m.listing_id OR v.other_id = m.listing_id
WHERE m.home_id = ANY ($1) ORDER BY v.id DESC LIMIT 500`

// Homes returns the page of homes with several adverts after f.After, the last changed first, and the position to go on
// from: nil when this was the last. That of f.Listing may have one only. Kinds, and homes of which nobody has said
// anything, are looked for in the next 10,000 only: where fewer than a page are found, the position is that of the last
// of them.
func (s *Listings) Homes(ctx context.Context, f HomeFilter) ([]Home, *db.Position, error) {
	id, at := f.After.Keys()
	text, args := sqlHomes, []any{id, at, f.Limit + 1, db.Among(f.Kind), f.Reviewed}
	switch {
	case f.Reviewed != nil && *f.Reviewed:
		text, args = sqlHomesReviewed, append(args, f.Listing)
	case f.Listing == nil && (len(f.Kind) > 0 || f.Reviewed != nil):
		text = sqlHomesSome
	default:
		args = append(args, f.Listing)
	}
	rows, err := db.Rows(ctx, s.pool, func(row pgx.CollectableRow) (r db.Looked[Home], err error) {
		h := &r.Row
		return r, row.Scan(&h.ID, &h.Shown, &h.Chosen, &h.CreatedAt, &h.UpdatedAt, &r.Passes, &r.Last)
	}, text, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("list homes: %w", err)
	}
	found, next := db.CutLooked(rows, f.Limit, func(h Home) db.Position { return db.Position{At: h.UpdatedAt, ID: h.ID} })
	ids, byID := make([]uuid.UUID, len(found)), make(map[uuid.UUID]*Home, len(found))
	for i := range found {
		ids[i], byID[found[i].ID] = found[i].ID, &found[i]
	}
	b := new(pgx.Batch)
	b.Queue(sqlHomeAdverts, ids).Query(func(rows pgx.Rows) error {
		adverts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[HomeAdvert])
		for _, a := range adverts {
			byID[a.Home].Members = append(byID[a.Home].Members, a)
		}
		return err
	})
	b.Queue(sqlHomeVerdicts, ids).Query(func(rows pgx.Rows) error {
		var home uuid.UUID
		var v HomeVerdict
		_, err := pgx.ForEachRow(rows, []any{&home, &v.ID, &v.ListingID, &v.OtherID, &v.Verdict, &v.Reviewer, &v.At,
			&v.UndoneAt, &v.UndoneBy}, func() error {
			if h := byID[home]; len(h.Verdicts) < 20 {
				h.Verdicts = append(h.Verdicts, v)
			}
			return nil
		})
		return err
	})
	err = s.pool.SendBatch(ctx, b).Close()
	return found, next, fault.Wrap(err, "read homes")
}
