package outreach

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// dayPlenty is more messages than all workers have in hand at once: while more are left of the day, no claim waits for
// another one of the tenant.
const dayPlenty = 100_000

const sqlMessageAccount = `/* sqlMessageAccount */
WITH quota AS (` + sqlMessageRoom + `)
SELECT tier, (SELECT count(*) FROM senders WHERE tenant = $1), NOT coalesce((SELECT room < $2 FROM quota), false)
FROM tenants WHERE id = $1`

// Account is what a tenant sends by, in a single round trip. An unknown tenant is fault.Gone.
func (s *Messages) Account(ctx context.Context, tenant string) (campaign.Account, error) {
	a, err := db.One(db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[campaign.Account], sqlMessageAccount, tenant,
		dayPlenty))
	return a, db.Gone(fault.Wrap(err, "read account of tenant %.80q", tenant), "there is no tenant %.80q", tenant)
}

// A Line is what requests of a sender are made with.
type Line struct {
	PhoneNumberID string
	PerSecond     int // messages
	Token         db.Sealed
}

const sqlMessageLine = `/* sqlMessageLine */
SELECT phone_number_id, per_second, token_key, token FROM senders WHERE tenant = $1 AND id = $2`

// Line is that of a sender, whatever its state, in a single round trip. An unknown sender is fault.Gone.
func (s *Messages) Line(ctx context.Context, tenant string, sender uuid.UUID) (Line, error) {
	scan := func(row pgx.CollectableRow) (l Line, err error) {
		return l, row.Scan(&l.PhoneNumberID, &l.PerSecond, &l.Token.Key, &l.Token.Box)
	}
	l, err := db.One(db.TenantRows(ctx, s.pool, tenant, scan, sqlMessageLine, tenant, sender))
	return l, senderFault(err, "open", sender)
}
