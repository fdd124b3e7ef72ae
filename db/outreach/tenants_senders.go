package outreach

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// Senders are the telephone numbers that tenants send from, with the tokens that allow it.
type Senders struct{ pool *pgxpool.Pool }

// NewSenders returns the senders kept in pool.
func NewSenders(pool *pgxpool.Pool) *Senders { return &Senders{pool} }

// A Sender is a number of a WhatsApp business account, without its token.
type Sender struct {
	ID                uuid.UUID   `json:"id"`
	Tenant            string      `json:"-"`
	Name              string      `json:"name"`                // 1 to 200 characters, once in a tenant
	PhoneNumberID     string      `json:"phone_number_id"`     // Meta's, of digits; once in all tenants
	BusinessAccountID string      `json:"business_account_id"` // Meta's, of digits
	TokenKey          string      `json:"token_key"`           // ID of the key that its token is sealed with
	PerSecond         int         `json:"per_second"`          // messages, 1 to 1000
	State             SenderState `json:"state"`
	PausedUntil       *time.Time  `json:"paused_until"` // of a paused one: when it resumes; nil = when it is told to
	Reason            string      `json:"reason"`       // of its state, unless it is active
	CreatedAt         time.Time   `json:"-"`
	UpdatedAt         time.Time   `json:"-"`
}

// A SenderState says whether a number sends.
type SenderState string

// The states of a sender.
const (
	SenderActive  SenderState = "active"
	SenderPaused  SenderState = "paused"  // its messages wait
	SenderStopped SenderState = "stopped" // its token or account is refused: an operator has to resume it
)

// Sends says whether messages may be sent from s at a time.
func (s Sender) Sends(at time.Time) bool {
	return s.State == SenderActive || s.State == SenderPaused && s.PausedUntil != nil && !at.Before(*s.PausedUntil)
}

// maxPerSecond is the highest rate of a number: that of Meta's highest tier.
const maxPerSecond = 1000

// check refuses, as fault.Invalid, what cannot be a sender.
func (s Sender) check() error {
	if err := db.CheckName(s.Name); err != nil {
		return err
	}
	for field, id := range map[string]string{
		"phone_number_id": s.PhoneNumberID, "business_account_id": s.BusinessAccountID,
	} {
		if !isDigits(id) {
			return fault.Newf(fault.Invalid, "%s: is %.40q, expected 1 to 32 digits", field, id)
		}
	}
	if s.PerSecond < 1 || s.PerSecond > maxPerSecond {
		return fault.Newf(fault.Invalid, "per_second: is %d, expected 1 to %d", s.PerSecond, maxPerSecond)
	}
	switch s.State {
	case SenderActive, SenderPaused, SenderStopped:
		return nil
	}
	return fault.Newf(fault.Invalid, "state: is %.20q, expected active, paused or stopped", s.State)
}

func isDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 32
}

// SenderPurpose is what the token of a sender is sealed for by releases before 0.5.
func SenderPurpose(id uuid.UUID) string { return "sender/" + id.String() }

// SenderPurposes are what the token of a sender may be sealed for; a new one is for the first of them. A token that is
// bound is so to its tenant and number: it is of no use in a row that was changed to name others. Releases before 0.5
// cannot open it.
func SenderPurposes(tenant string, id uuid.UUID, phoneNumberID string, bound bool) []string {
	list := []string{SenderPurpose(id) + "/" + tenant + "/" + phoneNumberID, SenderPurpose(id)}
	if !bound {
		slices.Reverse(list)
	}
	return list
}

const sqlSenderAdd = `/* sqlSenderAdd */
INSERT INTO senders (id, tenant, name, phone_number_id, business_account_id, token, token_key, per_second,
    created_at, updated_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $9 WHERE ` + db.SQLTenantStands

// Add stores an active sender of s.Tenant, created at s.CreatedAt, with its token sealed for one of SenderPurposes, and
// an audit record. PerSecond 0 is campaign.DefaultSenderRate. A name of another sender of the tenant, and a number that
// any tenant has, are fault.Conflict; a tenant that is unknown, or erased, is fault.Gone.
func (d *Senders) Add(ctx context.Context, s Sender, token db.Sealed, actor string) error {
	s.State, s.Reason, s.PausedUntil, s.TokenKey = SenderActive, "", nil, token.Key
	if s.PerSecond == 0 {
		s.PerSecond = campaign.DefaultSenderRate
	}
	if err := s.check(); err != nil {
		return err
	}
	err := db.TenantTx(ctx, d.pool, s.Tenant, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlSenderAdd, s.ID, s.Tenant, s.Name, s.PhoneNumberID, s.BusinessAccountID, token.Box,
			token.Key, s.PerSecond, s.CreatedAt)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return cmp.Or(db.TenantStands(ctx, tx, s.Tenant), fault.Newf(fault.Gone, "the tenant %q took no sender", s.Tenant))
		}
		return db.AuditTx(ctx, tx, db.AuditEntry{
			At: s.CreatedAt, Actor: actor, Action: "sender.created", Subject: "sender/" + s.ID.String(), Detail: s,
		})
	})
	switch {
	case db.Violates(err, db.UniqueViolation, "senders_phone_number_id_key"):
		return fault.Newf(fault.Conflict, "phone_number_id: %s is in use", s.PhoneNumberID)
	case db.Violates(err, db.UniqueViolation, "senders_tenant_name_key"):
		return fault.Newf(fault.Conflict, "name: there is a sender %q", s.Name)
	case err != nil:
		return fmt.Errorf("add sender %s: %w", s.ID, err)
	}
	return nil
}

const sqlSenderColumns = `
    id, tenant, name, phone_number_id, business_account_id, token_key, per_second, state, paused_until, reason,
    created_at, updated_at`

const sqlSendersList = `/* sqlSendersList */
SELECT ` + sqlSenderColumns + ` FROM senders WHERE tenant = $1 ORDER BY name`

// List returns the senders of a tenant by name.
func (d *Senders) List(ctx context.Context, tenant string) ([]Sender, error) {
	list, err := db.TenantRows(ctx, d.pool, tenant, pgx.RowToStructByPos[Sender], sqlSendersList, tenant)
	return list, fault.Wrap(err, "list senders")
}

const sqlSenderRead = `/* sqlSenderRead */ SELECT ` + sqlSenderColumns + ` FROM senders WHERE tenant = $1 AND id = $2`

// Get returns a sender of a tenant. An unknown one is fault.Gone.
func (d *Senders) Get(ctx context.Context, tenant string, id uuid.UUID) (Sender, error) {
	s, err := db.One(db.TenantRows(ctx, d.pool, tenant, pgx.RowToStructByPos[Sender], sqlSenderRead, tenant, id))
	return s, senderFault(err, "read", id)
}

// senderFault makes an error of a method: no row is fault.Gone.
func senderFault(err error, verb string, id uuid.UUID) error {
	if db.Violates(err, db.UniqueViolation, "senders_tenant_name_key") {
		return fault.Newf(fault.Conflict, "name: there is another sender of this name")
	}
	return db.Gone(fault.Wrap(err, "%s sender %s", verb, id), "there is no sender %s", id)
}

const sqlSenderToken = `/* sqlSenderToken */ SELECT token_key, token FROM senders WHERE tenant = $1 AND id = $2`

// Token returns the sealed token of a sender, to send with. An unknown sender is fault.Gone.
func (d *Senders) Token(ctx context.Context, tenant string, id uuid.UUID) (db.Sealed, error) {
	token, err := db.One(db.TenantRows(ctx, d.pool, tenant, pgx.RowToStructByPos[db.Sealed], sqlSenderToken, tenant, id))
	return token, senderFault(err, "read token of", id)
}

const (
	sqlSenderHold = `/* sqlSenderHold */ ` + sqlSenderRead + ` FOR UPDATE`

	sqlSenderWrite = `/* sqlSenderWrite */
UPDATE senders SET name = $3, per_second = $4, state = $5, paused_until = $6, reason = $7, token_key = $8,
    token = coalesce($9, token), updated_at = $10
WHERE tenant = $1 AND id = $2`
)

// Change lets change set the name, rate, state, PausedUntil and Reason of a sender under its lock, and stores the
// result, with an audit record of what differs: sender.paused, sender.resumed, sender.stopped, else sender.changed. A
// token, nil = as it was, takes the place of the sender's. Nothing is stored when nothing differs. A sender that
// becomes active has neither PausedUntil nor Reason; one that is stays paused by a limit of the API, unless change
// takes PausedUntil away. An unknown sender is fault.Gone.
func (d *Senders) Change(
	ctx context.Context, tenant string, id uuid.UUID, token *db.Sealed, actor string, now time.Time, change func(*Sender),
) (Sender, error) {
	var s Sender
	err := db.TenantTx(ctx, d.pool, tenant, func(tx pgx.Tx) error {
		was, err := db.Row(ctx, tx, pgx.RowToStructByPos[Sender], sqlSenderHold, tenant, id)
		if err != nil {
			return err
		}
		s = was
		if change != nil {
			change(&s)
		}
		next := was
		next.Name, next.PerSecond, next.State = s.Name, s.PerSecond, s.State
		switch {
		case s.State != SenderActive:
			next.Reason = db.Storable(s.Reason)
			if next.PausedUntil = nil; s.State == SenderPaused {
				next.PausedUntil = s.PausedUntil
			}
		case was.State != SenderActive || s.PausedUntil == nil:
			next.Reason, next.PausedUntil = "", nil
		}
		s = next
		if err := s.check(); err != nil {
			return err
		}
		var box []byte
		if token != nil {
			s.TokenKey, box = token.Key, token.Box
		}
		detail := db.Differs(was, s)
		if token != nil {
			detail["token"] = "replaced"
		}
		if len(detail) == 0 {
			return nil
		}
		s.UpdatedAt = now
		b := new(pgx.Batch)
		b.Queue(sqlSenderWrite, tenant, id, s.Name, s.PerSecond, s.State, s.PausedUntil, s.Reason, s.TokenKey, box, now)
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: actor, Action: senderAction(was.State, s.State), Subject: "sender/" + id.String(), Detail: detail,
		})
		return tx.SendBatch(ctx, b).Close()
	})
	return s, senderFault(err, "change", id)
}

func senderAction(was, is SenderState) string {
	switch {
	case was == is:
		return "sender.changed"
	case is == SenderActive:
		return "sender.resumed"
	}
	return "sender." + string(is)
}

const (
	// A row of platforms and of their searches has no uuid: its place is a digest of its key.
	sqlSealedOldKeys = `/* sqlSealedOldKeys */
SELECT id, '' AS of, tenant AS a, phone_number_id AS b, '' AS c, token_key, token FROM senders WHERE id > $2
UNION ALL
SELECT id, 'target', '', '', '', box_key, box FROM saved_targets WHERE box_key NOT IN ($1, '') AND id > $2
UNION ALL
SELECT event_id, 'draft', '', '', '', box_key, box FROM draft_secrets WHERE box_key <> $1 AND event_id > $2
UNION ALL
SELECT id, 'addresses', '', '', '', box_key, box FROM saved_address_key WHERE box_key <> $1 AND id > $2
UNION ALL
SELECT id, 'opt-outs', '', '', '', box_key, box FROM opt_out_key WHERE box_key <> $1 AND id > $2
UNION ALL
SELECT md5(name)::uuid, 'proxy', name, '', proxy_shown, proxy_key, proxy_sealed FROM platforms
WHERE proxy_key NOT IN ($1, '') AND md5(name)::uuid > $2
UNION ALL
SELECT md5(platform || '/' || search)::uuid, 'search proxy', platform, search, proxy_shown, proxy_key, proxy_sealed
FROM platform_searches WHERE proxy_key NOT IN ($1, '') AND md5(platform || '/' || search)::uuid > $2
ORDER BY id LIMIT $3`

	sqlSenderReseal = `/* sqlSenderReseal */
UPDATE senders SET token_key = $4, token = $5 WHERE id = $1 AND token_key = $2 AND token = $3`

	sqlSavedReseal = `/* sqlSavedReseal */
UPDATE saved_targets SET box_key = $4, box = $5 WHERE id = $1 AND box_key = $2 AND box = $3`

	sqlAddressKeyReseal = `/* sqlAddressKeyReseal */
UPDATE saved_address_key SET box_key = $4, box = $5 WHERE id = $1 AND box_key = $2 AND box = $3`

	sqlOptOutKeyReseal = `/* sqlOptOutKeyReseal */
UPDATE opt_out_key SET box_key = $4, box = $5 WHERE id = $1 AND box_key = $2 AND box = $3`

	sqlDraftReseal = `/* sqlDraftReseal */
UPDATE draft_secrets SET box_key = $4, box = $5 WHERE event_id = $1 AND box_key = $2 AND box = $3`

	sqlProxyReseal = `/* sqlProxyReseal */
UPDATE platforms SET proxy_key = $4, proxy_sealed = $5
WHERE md5(name)::uuid = $1 AND proxy_key = $2 AND proxy_sealed = $3`

	sqlSearchProxyReseal = `/* sqlSearchProxyReseal */
UPDATE platform_searches SET proxy_key = $4, proxy_sealed = $5
WHERE md5(platform || '/' || search)::uuid = $1 AND proxy_key = $2 AND proxy_sealed = $3`
)

// Reseal seals up to most tokens of senders, of all tenants, addresses of saved searches, secrets of crawl requests,
// credentials of proxies, and the keys that e-mail addresses and opt-outs are hashed by, that are not sealed with a
// key: all that is stored sealed, which TestSealedColumns holds. reseal opens one, which is sealed for one of some
// purposes, and seals it for the first of them. A token that is as it should be comes back as it was. bound is that of
// SenderPurposes. after is the ID that the call before ended at (zero begins) and last the one that this one ended at;
// it is zero when there are no more. A token that was replaced meanwhile stays. The first error of reseal ends it;
// those before are stored.
func (d *Senders) Reseal(ctx context.Context, key string, after uuid.UUID, most int, bound bool,
	reseal func(purposes []string, old db.Sealed) (db.Sealed, error)) (last uuid.UUID, err error) {
	type row struct {
		ID uuid.UUID
		Of string // "" = a sender, target, addresses = of saved searches, draft = a crawl request, opt-outs, … proxy
		// A, B and C are more of what its purpose is made of.
		A, B, C string
		db.Sealed
	}
	old, err := db.SystemRows(ctx, d.pool, pgx.RowToStructByPos[row], sqlSealedOldKeys, key, after, most)
	if err != nil {
		return last, fmt.Errorf("find tokens of other keys than %q: %w", key, err)
	}
	b := new(pgx.Batch)
	var wrong error
	for _, r := range old {
		purposes, write := SenderPurposes(r.A, r.ID, r.B, bound), sqlSenderReseal
		switch r.Of {
		case "target":
			purposes, write = []string{saved.TargetPurpose(r.ID)}, sqlSavedReseal
		case "addresses":
			purposes, write = []string{saved.AddressesPurpose}, sqlAddressKeyReseal
		case "opt-outs":
			purposes, write = []string{contact.OptOutPurpose}, sqlOptOutKeyReseal
		case "draft":
			purposes, write = []string{draft.SecretsPurpose(r.ID)}, sqlDraftReseal
		case "proxy":
			purposes, write = []string{scrape.ProxyPurpose(r.A, "", r.C)}, sqlProxyReseal
		case "search proxy":
			purposes, write = []string{scrape.ProxyPurpose(r.A, r.B, r.C)}, sqlSearchProxyReseal
		}
		sealed, err := reseal(purposes, r.Sealed)
		if err != nil {
			wrong = fmt.Errorf("seal %s again: %w", purposes[0], err)
			break
		}
		if sealed.Key == r.Key && bytes.Equal(sealed.Box, r.Box) {
			continue
		}
		b.Queue(write, r.ID, r.Key, r.Box, sealed.Key, sealed.Box)
	}
	if err := db.SystemWrite(ctx, d.pool, b); err != nil {
		return last, fmt.Errorf("store tokens sealed with %q: %w", key, err)
	}
	if wrong == nil && len(old) == most {
		last = old[most-1].ID
	}
	return last, wrong
}
