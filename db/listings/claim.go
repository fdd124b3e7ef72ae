package listings

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

const sqlListingClaimLock = `/* sqlListingClaimLock */
SELECT l.status, l.revision, l.url, l.title, l.rent_cents, l.bedrooms, coalesce(l.neighbourhood, ''), l.updated_at,
    coalesce((SELECT hidden FROM home_members WHERE listing_id = l.id), false)
FROM listings l WHERE l.id = $1 FOR NO KEY UPDATE`

const sqlListingClaim = `/* sqlListingClaim */ UPDATE listings SET status = $2, updated_at = $3 WHERE id = $1`

const sqlEventStatus = `/* sqlEventStatus */
INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
VALUES ($1, $2, 'status', $3, $4, $5)`

// Claim makes a listing claimed, or with claimed = false lifts that: it is active again, and the next check of
// staleness archives it if its platform no longer offers it; one that was claimed while another was shown in its place
// is archived again, which is told as well. Status, history, event and the entry of the audit are one
// transaction. It returns false, and changes nothing, for a listing that is so already. An unknown one is fault.Gone.
func (s *Listings) Claim(ctx context.Context, ref listing.Ref, claimed bool, by string, now time.Time) (changed bool,
	err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		changed, err = listingClaim(ctx, tx, ref, claimed, by, now)
		return err
	})
	return changed, db.Gone(fault.Wrap(err, "claim listing %s", ref), "there is no listing of advert %s", ref)
}

func listingClaim(ctx context.Context, tx pgx.Tx, ref listing.Ref, claimed bool, by string, now time.Time) (bool,
	error) {
	var (
		had      string
		bedrooms int
		hidden   bool // another advert of its home is shown in its place
		since    time.Time
		data     = contract.ListingData{ListingID: ref.ID().String(), PlatformID: ref.PlatformID, Bedrooms: &bedrooms}
	)
	err := tx.QueryRow(ctx, sqlListingClaimLock, ref.ID()).Scan(&had, &data.Revision, &data.URL, &data.Title,
		&data.RentCents, &bedrooms, &data.Neighbourhood, &since, &hidden)
	if err != nil || claimed == (had == "claimed") {
		return false, err
	}
	events, action, status := []string{contract.ListingClaimed}, "listing.claimed", "claimed"
	if !claimed {
		events, action, status = []string{contract.ListingUnclaimed}, "listing.unclaimed", "active"
		if hidden {
			events, status = append(events, contract.ListingArchived), "archived"
		}
	}
	b := new(pgx.Batch)
	b.Queue(sqlSavedClaimed, ref.ID(), now)
	b.Queue(sqlListingClaim, ref.ID(), status, now)
	b.Queue(sqlEventStatus, ref.ID(), data.Revision, now, had, status)
	// It may be claimed any number of times at one revision; the time of its last change makes each event's ID its own.
	for _, event := range events {
		if err := listingTell(b, event, ref, data, since.UTC().AppendFormat(nil, time.RFC3339Nano), now); err != nil {
			return false, err
		}
	}
	db.AuditAdd(ctx, b, db.AuditEntry{At: now, Actor: by, Action: action, Subject: "listing/" + ref.String()})
	db.RememberTrace(ctx, b)
	return true, tx.SendBatch(ctx, b).Close()
}
