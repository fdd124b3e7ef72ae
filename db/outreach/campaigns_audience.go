package outreach

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
)

// AudienceSize is how many contacts an audience has.
type AudienceSize struct {
	Contacts     int64
	OptedOut     int64 // of Contacts: they are left out
	WithoutPhone int64 // of Contacts, and not opted out: they are left out too
	More         bool  // there may be more than these
}

// ToSend is how many of them are written to, but for fields that the template needs and they do not have.
func (a AudienceSize) ToSend() int64 { return a.Contacts - a.OptedOut - a.WithoutPhone }

// The condition of the audience follows, and the end.
const (
	campaignAudienceSize = `
SELECT count(*), count(*) FILTER (WHERE a.out), count(*) FILTER (WHERE NOT a.out AND a.phone = '') FROM (
    SELECT c.phone, ` + sqlOptedOut + ` AS out
    FROM contacts c WHERE c.tenant = $1 AND `
	campaignAudienceSizeEnd = ` LIMIT $2) a`
)

// Audience counts the contacts that a campaign would have if it started now, up to most of them; of one that has
// started too. A list or a segment that was deleted is fault.Invalid.
func (s *Campaigns) Audience(ctx context.Context, tenant string, id uuid.UUID, most int) (a AudienceSize, err error) {
	pads, err := s.key.pads(ctx)
	if err != nil {
		return a, err
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		c, err := campaignOf(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		f, err := c.frozenAudience(ctx, tx, tenant)
		if err != nil {
			return err
		}
		args := []any{tenant, most, pads.Inner, pads.Outer}
		text := campaignAudienceSize + contactCondition(f, &args) + campaignAudienceSizeEnd
		return tx.QueryRow(ctx, text, args...).Scan(&a.Contacts, &a.OptedOut, &a.WithoutPhone)
	})
	if err != nil {
		return AudienceSize{}, fmt.Errorf("count audience of campaign: %w", err)
	}
	a.More = a.Contacts == int64(most)
	return a, nil
}
