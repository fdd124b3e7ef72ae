package outreach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Campaigns are what tenants send to many contacts. Their messages are those of Messages. A campaign of another tenant
// is fault.Gone, as one that does not exist is.
type Campaigns struct {
	pool  *pgxpool.Pool
	added db.Waker // to the outbox
	key   *OptOutKey
}

// NewCampaigns returns the campaigns kept in pool. Opt-outs that are hashed by key are found, too.
func NewCampaigns(pool *pgxpool.Pool, key *OptOutKey) *Campaigns {
	return &Campaigns{pool: pool, added: db.NewWaker(pool), key: key}
}

// A Plan is what a person decides of a campaign. It may change while the campaign is a draft.
type Plan struct {
	Name     string
	Sender   uuid.UUID
	Template campaign.Body // with placeholders
	Audience campaign.Audience
}

// A Campaign is one of a tenant.
type Campaign struct {
	ID     uuid.UUID
	Tenant string
	Plan
	State       campaign.State
	Reason      string // why it is paused, or was canceled; "" = a person has said nothing
	ScheduledAt *time.Time
	NotAfter    *time.Time // it begins no later; nil = at any time
	FrozenAt    *time.Time // contacts that were stored by then are its audience
	WrittenAt   *time.Time // every contact of the audience has its message; nil: Counts grow
	Counts      campaign.Counts
	CreatedBy   string
	CreatedAt   time.Time
	UpdatedAt   time.Time
	StartedAt   *time.Time
	FinishedAt  *time.Time
}

const sqlCampaignColumns = `id, tenant, name, sender, template, audience, state, reason, scheduled_at, not_after,
    frozen_at, written_at, waiting, unknown, sent, delivered, read, failed, skipped, created_by, created_at, updated_at,
    started_at, finished_at`

func scanCampaign(row pgx.CollectableRow) (c Campaign, err error) {
	n := &c.Counts
	return c, row.Scan(&c.ID, &c.Tenant, &c.Name, &c.Sender, &c.Template, &c.Audience, &c.State, &c.Reason,
		&c.ScheduledAt, &c.NotAfter, &c.FrozenAt, &c.WrittenAt, &n.Waiting, &n.Unknown, &n.Sent, &n.Delivered, &n.Read,
		&n.Failed, &n.Skipped, &c.CreatedBy, &c.CreatedAt, &c.UpdatedAt, &c.StartedAt, &c.FinishedAt)
}

func campaignSubject(id uuid.UUID) string { return "campaign/" + id.String() }

// What a plan names must be there. The statement says what is not.
const sqlCampaignPlanMissing = `/* sqlCampaignPlanMissing */
SELECT 'sender' AS field, $2::uuid AS id WHERE NOT EXISTS (SELECT FROM senders WHERE tenant = $1 AND id = $2)
UNION ALL
SELECT 'audience: list', l FROM unnest($3::uuid[]) l
WHERE NOT EXISTS (SELECT FROM contact_lists WHERE tenant = $1 AND id = l AND deleted_at IS NULL)
UNION ALL
SELECT 'audience: segment', l FROM unnest($4::uuid[]) l
WHERE NOT EXISTS (SELECT FROM segments WHERE tenant = $1 AND id = l)`

// check refuses a plan that could not be carried out, as fault.Invalid. It returns the audience as one filter, with its
// segments as they are now.
func (p *Plan) check(ctx context.Context, tx pgx.Tx, tenant string) (f contact.Filter, err error) {
	if strings.TrimSpace(p.Name) == "" {
		return f, fault.Newf(fault.Invalid, "name: is missing")
	}
	if err := p.Template.Check(true); err != nil {
		return f, err
	}
	if err := p.Audience.Check(); err != nil {
		return f, err
	}
	if f := p.Audience.Filter; f != nil {
		if err := listsThere(ctx, tx, tenant, *f); err != nil {
			return *f, err
		}
	}
	missing, err := db.Rows(ctx, tx, func(row pgx.CollectableRow) (string, error) {
		var field string
		var id uuid.UUID
		err := row.Scan(&field, &id)
		return fmt.Sprintf("%s: there is no %s", field, id), err
	}, sqlCampaignPlanMissing, tenant, p.Sender, p.Audience.Lists(), p.Audience.Segments())
	if err == nil && len(missing) > 0 {
		err = fault.Newf(fault.Invalid, "%s", strings.Join(missing, "; "))
	}
	if err != nil {
		return f, err
	}
	return p.contacts(ctx, tx, tenant)
}

const sqlCampaignSegments = `/* sqlCampaignSegments */
SELECT id, filter FROM segments WHERE tenant = $1 AND id = ANY ($2)`

const sqlTenantConditions = `/* sqlTenantConditions */
SELECT EXISTS (SELECT FROM tenants WHERE id = $1 AND max_conditions < $2)`

// contacts is the audience as one filter. One of more conditions than the tenant's quota is fault.Invalid: no time
// helps, but another audience does.
func (p *Plan) contacts(ctx context.Context, tx pgx.Tx, tenant string) (f contact.Filter, err error) {
	rows, _ := tx.Query(ctx, sqlCampaignSegments, tenant, p.Audience.Segments()) // ForEachRow reports its error
	filters := map[uuid.UUID]contact.Filter{}
	var id uuid.UUID
	var doc []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &doc}, func() error {
		var f contact.Filter
		err := json.Unmarshal(doc, &f)
		filters[id] = f
		return err
	}); err != nil {
		return f, err
	}
	if f, err = p.Audience.Contacts(filters); err != nil {
		return f, err
	}
	var full bool
	n := f.Conditions()
	if err := tx.QueryRow(ctx, sqlTenantConditions, tenant, n).Scan(&full); err != nil {
		return f, err
	}
	if full {
		return f, fault.Newf(fault.Invalid, "%w", &db.FullError{Says: fmt.Sprintf("audience: has %d conditions, those of "+
			"its segments included, more than the quota max_conditions of its tenant allows", n)})
	}
	return f, nil
}

const sqlCampaignCreate = `/* sqlCampaignCreate */
INSERT INTO campaigns (id, tenant, name, sender, template, audience, created_by, created_at, updated_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $8 WHERE ` + db.SQLTenantStands + `
ON CONFLICT (id) DO NOTHING`

const sqlCampaignSame = `/* sqlCampaignSame */
SELECT name = $3 AND sender = $4 AND template = $5::jsonb AND audience = $6::jsonb FROM campaigns
WHERE tenant = $1 AND id = $2`

// Create stores a draft under an ID that the caller makes: a repeated call with the same plan is the same campaign, one
// with another plan is fault.Conflict. A plan that cannot be carried out is fault.Invalid.
func (s *Campaigns) Create(ctx context.Context, tenant string, id uuid.UUID, p Plan, by string, now time.Time) (
	c Campaign, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := p.check(ctx, tx, tenant); err != nil {
			return err
		}
		name := db.Storable(p.Name)
		tag, err := tx.Exec(ctx, sqlCampaignCreate, id, tenant, name, p.Sender, p.Template, p.Audience, db.Storable(by), now)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			if err := db.TenantStands(ctx, tx, tenant); err != nil {
				return err
			}
			var same bool
			err := tx.QueryRow(ctx, sqlCampaignSame, tenant, id, name, p.Sender, p.Template, p.Audience).Scan(&same)
			if errors.Is(err, pgx.ErrNoRows) || err == nil && !same {
				return fault.Newf(fault.Conflict, "id: there is another campaign %s", id)
			}
			if err != nil {
				return err
			}
		} else if err := db.AuditTx(ctx, tx, db.AuditEntry{
			At: now, Actor: by, Action: "campaign.created", Subject: campaignSubject(id),
			Detail: map[string]any{"tenant": tenant},
		}); err != nil {
			return err
		}
		c, err = campaignOf(ctx, tx, tenant, id)
		return err
	})
	return c, fault.Wrap(db.Refused(err), "create campaign")
}

const sqlCampaignGet = `/* sqlCampaignGet */
SELECT ` + sqlCampaignColumns + ` FROM campaigns WHERE tenant = $1 AND id = $2`

func campaignOf(ctx context.Context, tx pgx.Tx, tenant string, id uuid.UUID) (Campaign, error) {
	c, err := db.Row(ctx, tx, scanCampaign, sqlCampaignGet, tenant, id)
	return c, ofCampaign(id, err)
}

// ofCampaign is err about a campaign; fault.Gone where there is none.
func ofCampaign(id uuid.UUID, err error) error {
	return db.Gone(err, "there is no campaign %s", id)
}

// Get returns a campaign.
func (s *Campaigns) Get(ctx context.Context, tenant string, id uuid.UUID) (Campaign, error) {
	c, err := db.One(db.TenantRows(ctx, s.pool, tenant, scanCampaign, sqlCampaignGet, tenant, id))
	return c, fault.Wrap(ofCampaign(id, err), "read campaign")
}

const sqlCampaignList = `/* sqlCampaignList */
SELECT ` + sqlCampaignColumns + ` FROM campaigns
WHERE tenant = $1 AND ($2::text[] IS NULL OR state = ANY ($2))
    AND ($4::uuid IS NULL OR (created_at, id) < ($3::timestamptz, $4::uuid))
ORDER BY created_at DESC, id DESC LIMIT $5`

// List returns up to n campaigns of a tenant after a position, the newest first, in one of the states,
// or in any for none, and the position to go on from: nil when these were the last.
func (s *Campaigns) List(ctx context.Context, tenant string, states []string, after *db.Position, n int) (
	[]Campaign, *db.Position, error,
) {
	id, at := after.Keys()
	found, err := db.TenantRows(ctx, s.pool, tenant, scanCampaign, sqlCampaignList, tenant, db.Among(states), at, id, n+1)
	found, next := db.CutPage(found, n, func(c Campaign) db.Position { return db.Position{At: c.CreatedAt, ID: c.ID} })
	return found, next, fault.Wrap(err, "list campaigns")
}

const sqlCampaignEdit = `/* sqlCampaignEdit */
UPDATE campaigns SET name = $3, sender = $4, template = $5, audience = $6, updated_at = $7
WHERE tenant = $1 AND id = $2 AND state = 'draft'
RETURNING ` + sqlCampaignColumns

// Edit replaces the plan of a draft. In any other state it is fault.Conflict.
func (s *Campaigns) Edit(ctx context.Context, tenant string, id uuid.UUID, p Plan, by string, now time.Time) (
	c Campaign, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if c, err = campaignOf(ctx, tx, tenant, id); err != nil {
			return err
		}
		if _, err := p.check(ctx, tx, tenant); err != nil {
			return err
		}
		edited, err := db.Rows(ctx, tx, scanCampaign,
			sqlCampaignEdit, tenant, id, db.Storable(p.Name), p.Sender, p.Template, p.Audience, now)
		if err != nil {
			return err
		}
		if len(edited) == 0 {
			return fault.Newf(fault.Conflict, "campaign %s is %s: only a draft may be edited", id, c.State)
		}
		c = edited[0]
		return db.AuditTx(ctx, tx, db.AuditEntry{
			At: now, Actor: by, Action: "campaign.edited", Subject: campaignSubject(id),
			Detail: map[string]any{"tenant": tenant},
		})
	})
	return c, fault.Wrap(db.Refused(err), "edit campaign")
}

// A campaign that is canceled before it has begun is at its end at once. One that was put off meanwhile does not begin.
// Its audience is frozen by the clock of Postgres, and no contact is stored with a time after that clock's. Its time
// has come when both clocks say so, that of Postgres and that of the process; what is to start at once starts by both.
const sqlCampaignMove = `/* sqlCampaignMove */
UPDATE campaigns SET state = $3, reason = $4, updated_at = $5, lease_until = NULL,
    scheduled_at = CASE $3 WHEN 'queued' THEN CASE WHEN $7 <= $5 THEN least($7, now()) ELSE $7::timestamptz END
        WHEN 'draft' THEN NULL ELSE scheduled_at END,
    not_after = CASE $3 WHEN 'queued' THEN $8::timestamptz WHEN 'draft' THEN NULL ELSE not_after END,
    not_after_moves = CASE $3 WHEN 'queued' THEN $9::boolean ELSE not_after_moves END,
    not_after_ours = CASE $3 WHEN 'queued' THEN $8 ELSE not_after_ours END,
    waited_at = CASE $3 WHEN 'queued' THEN NULL ELSE waited_at END,
    started_at = CASE $3 WHEN 'running' THEN coalesce(started_at, $5) ELSE started_at END,
    frozen_at = CASE $3 WHEN 'running' THEN coalesce(frozen_at, now()) ELSE frozen_at END,
    finished_at = CASE WHEN $3 = 'canceled' AND started_at IS NULL THEN $5 WHEN $3 = 'running' THEN NULL
        ELSE finished_at END
WHERE tenant = $1 AND id = $2 AND state = ANY ($6::text[])
    AND ($3 <> 'running' OR state <> 'queued' OR scheduled_at <= least($5, now())
        AND (not_after IS NULL OR not_after >= least($5, now())))
RETURNING ` + sqlCampaignColumns

// A move is a change of the state of a campaign.
type move struct {
	to     campaign.State
	from   []campaign.State
	at     *time.Time // of the start
	latest *time.Time // of the start
	waits  bool       // latest is put off while it waits for its turn
	by     string     // "" = not a person: it is not audited
	action string     // for the audit
	reason string
	letter *db.DeadLetter // nil = none
}

// moves are what leads a campaign from a state to what a person meant to reach by asking for another one.
var moves = map[[2]campaign.State]string{
	{campaign.Paused, campaign.Queued}:  "resume it",
	{campaign.Draft, campaign.Running}:  "start it",
	{campaign.Queued, campaign.Running}: "start it",
	{campaign.Queued, campaign.Paused}:  "unschedule it",
	{campaign.Running, campaign.Draft}:  "pause or cancel it",
	{campaign.Paused, campaign.Draft}:   "cancel it",
}

// instead says what to do with a campaign in a state that m does not lead from.
func (m move) instead(state campaign.State) string {
	does := moves[[2]campaign.State{state, m.to}]
	switch {
	case m.by != "" && does != "":
		return does + " instead"
	case m.by != "" && state.Ended():
		return "it has ended, and another one is created for what is still to be sent"
	}
	return fmt.Sprintf("it cannot become %s", m.to)
}

// move changes the state of a campaign. One that is in the new state already stays as it is; in a state that is not
// among from it is fault.Conflict.
func (s *Campaigns) move(ctx context.Context, tenant string, id uuid.UUID, m move, now time.Time) (
	c Campaign, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		moved, err := db.Rows(ctx, tx, scanCampaign,
			sqlCampaignMove, tenant, id, m.to, db.Storable(m.reason), now, m.from, m.at, m.latest, m.waits)
		if err != nil {
			return err
		}
		if len(moved) == 0 {
			if c, err = campaignOf(ctx, tx, tenant, id); err == nil && c.State != m.to {
				err = fault.Newf(fault.Conflict, "campaign %s is %s: %s", id, c.State, m.instead(c.State))
			}
			return err
		}
		if c = moved[0]; m.by == "" {
			return nil
		}
		err = db.AuditTx(ctx, tx, db.AuditEntry{
			At: now, Actor: m.by, Action: m.action, Subject: campaignSubject(id),
			Detail: map[string]any{"tenant": tenant, "reason": db.Storable(m.reason)},
		})
		if err != nil || m.letter == nil {
			return err
		}
		b := new(pgx.Batch)
		db.DeadLetterAdd(b, *m.letter)
		return tx.SendBatch(ctx, b).Close()
	})
	return c, fault.Wrap(err, "change campaign")
}

// Schedule lets a draft start at a time, or as soon as its tenant has its turn where that has passed. One that is
// queued gets the new time.
func (s *Campaigns) Schedule(ctx context.Context, tenant string, id uuid.UUID, at time.Time, by string, now time.Time) (
	Campaign, error,
) {
	return s.ScheduleUntil(ctx, tenant, id, at, nil, by, now)
}

// ScheduleWithin is Schedule of a campaign that begins so long after its time at most, without the time for which it
// waits for its turn behind others.
func (s *Campaigns) ScheduleWithin(ctx context.Context, tenant string, id uuid.UUID, at time.Time, late time.Duration,
	by string, now time.Time) (Campaign, error) {
	return s.move(ctx, tenant, id, move{
		to: campaign.Queued, from: []campaign.State{campaign.Draft, campaign.Queued}, at: &at, latest: new(at.Add(late)),
		waits: true, by: by, action: "campaign.scheduled",
	}, now)
}

// ScheduleUntil is Schedule of a campaign that begins no later than latest, whatever holds it up; nil = at any time.
func (s *Campaigns) ScheduleUntil(ctx context.Context, tenant string, id uuid.UUID, at time.Time, latest *time.Time,
	by string, now time.Time) (Campaign, error) {
	return s.move(ctx, tenant, id, move{
		to: campaign.Queued, from: []campaign.State{campaign.Draft, campaign.Queued}, at: &at, latest: latest, by: by,
		action: "campaign.scheduled",
	}, now)
}

// Unschedule makes a campaign that has not started a draft again.
func (s *Campaigns) Unschedule(ctx context.Context, tenant string, id uuid.UUID, by string, now time.Time) (
	Campaign, error,
) {
	return s.move(ctx, tenant, id, move{
		to: campaign.Draft, from: campaign.From(campaign.Draft), by: by, action: "campaign.unscheduled",
	}, now)
}

// It has begun, and is paused before its first message is claimed: a person resumes or cancels it.
const sqlCampaignLate = `/* sqlCampaignLate */
UPDATE campaigns SET state = 'paused', updated_at = $3, lease_until = NULL, started_at = coalesce(started_at, $3),
    frozen_at = coalesce(frozen_at, now()), reason = format('it could not start before %s, and was to start by %s',
        to_char($3 AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
        to_char(not_after AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'))
WHERE tenant = $1 AND id = $2 AND state = 'queued' AND scheduled_at <= $3 AND not_after < least($3, now())
    AND not_after >= scheduled_at -- else it was left by a release that did not know it, when the campaign was moved
RETURNING ` + sqlCampaignColumns

// late pauses a queued campaign that may not begin any more, with an audit record.
func (s *Campaigns) late(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (
	paused []Campaign, err error,
) {
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if paused, err = db.Rows(ctx, tx, scanCampaign, sqlCampaignLate, tenant, id, now); err != nil || len(paused) == 0 {
			return err
		}
		return db.AuditTx(ctx, tx, db.AuditEntry{
			At: now, Actor: "conveyor", Action: "campaign.paused", Subject: campaignSubject(id),
			Detail: map[string]any{"tenant": tenant, "reason": paused[0].Reason},
		})
	})
	return paused, fault.Wrap(err, "pause a late campaign")
}

// Begin starts a queued campaign whose time has come, else it is fault.Conflict: contacts that are stored by now are
// its audience. One whose latest time has passed is paused instead. It may be repeated.
func (s *Campaigns) Begin(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (Campaign, error) {
	if paused, err := s.late(ctx, tenant, id, now); err != nil || len(paused) > 0 {
		return append(paused, Campaign{})[0], err
	}
	return s.move(ctx, tenant, id, move{to: campaign.Running, from: []campaign.State{campaign.Queued}}, now)
}

// Pause holds a running campaign: none of its messages is claimed by a Claim that begins after the commit. Those that a
// worker holds, or is about to by a Claim that had begun, are sent.
func (s *Campaigns) Pause(ctx context.Context, tenant string, id uuid.UUID, reason, by string, now time.Time) (
	Campaign, error,
) {
	return s.move(ctx, tenant, id, move{
		to: campaign.Paused, from: campaign.From(campaign.Paused), by: by, action: "campaign.paused", reason: reason,
	}, now)
}

// Resume lets a paused campaign send what it has not sent.
func (s *Campaigns) Resume(ctx context.Context, tenant string, id uuid.UUID, by string, now time.Time) (
	Campaign, error,
) {
	return s.move(ctx, tenant, id, move{
		to: campaign.Running, from: []campaign.State{campaign.Paused}, by: by, action: "campaign.resumed",
	}, now)
}

// Cancel ends a campaign. None of its messages is claimed by a Claim that begins after the commit; Drop and Finish
// bring it to its end.
func (s *Campaigns) Cancel(ctx context.Context, tenant string, id uuid.UUID, reason, by string, now time.Time) (
	Campaign, error,
) {
	return s.move(ctx, tenant, id, move{
		to: campaign.Canceled, from: campaign.From(campaign.Canceled), by: by, action: "campaign.canceled", reason: reason,
	}, now)
}

// Abandon cancels a campaign that cannot be carried out, with a dead letter. Repeated, it changes nothing.
func (s *Campaigns) Abandon(ctx context.Context, tenant string, id uuid.UUID, reason string, now time.Time) error {
	_, err := s.move(ctx, tenant, id, move{
		to: campaign.Canceled, from: campaign.From(campaign.Canceled), by: "conveyor", action: "campaign.canceled",
		reason: reason, letter: &db.DeadLetter{
			Key: campaign.WorkflowID(id), Tenant: tenant, Route: contract.Route{Queue: campaign.QueueCampaigns},
			MessageID: id.String(), Body: fmt.Appendf(nil, `{"campaign":%q}`, id), Reason: reason,
			Class: string(fault.Invalid), WorkflowID: campaign.WorkflowID(id), At: now,
		},
	}, now)
	return err
}

const sqlCampaignDrop = `/* sqlCampaignDrop */
WITH dropped AS (
    UPDATE messages m SET state = 'skipped', class = $4
    FROM campaigns c
    WHERE c.tenant = $1 AND c.id = $2 AND c.state = 'canceled' AND m.tenant = $1 AND m.id = ANY (ARRAY(
        SELECT id FROM messages WHERE tenant = $1 AND campaign = $2 AND state = 'queued'
        ORDER BY tried, due_at, id LIMIT $3 FOR UPDATE SKIP LOCKED))
    RETURNING m.id
)
UPDATE campaigns SET waiting = waiting - n, skipped = skipped + n
FROM (SELECT count(*) AS n FROM dropped) d WHERE tenant = $1 AND id = $2 AND n > 0
RETURNING n`

// Drop skips up to n messages of a canceled campaign that wait, and returns how many.
func (s *Campaigns) Drop(ctx context.Context, tenant string, id uuid.UUID, n int) (int64, error) {
	dropped, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowTo[int64], sqlCampaignDrop, tenant, id, n,
		campaign.ClassCanceled)
	if err != nil {
		return 0, fmt.Errorf("drop messages of campaign %s: %w", id, err)
	}
	if len(dropped) == 0 {
		return 0, nil
	}
	return dropped[0], nil
}

const sqlCampaignFinish = `/* sqlCampaignFinish */
UPDATE campaigns SET state = CASE state WHEN 'running' THEN 'done' ELSE state END, finished_at = $3, updated_at = $3
WHERE tenant = $1 AND id = $2 AND finished_at IS NULL AND waiting = 0
    AND (state = 'running' AND written_at IS NOT NULL OR state = 'canceled')
RETURNING ` + sqlCampaignColumns

// Finish ends a campaign none of whose messages waits, with the event campaign.completed, and returns it as it is then:
// it has ended when FinishedAt is set. It may be repeated; the event is written once. A message whose answer was lost
// does not wait: Meta may report it later.
func (s *Campaigns) Finish(ctx context.Context, tenant string, id uuid.UUID, now time.Time) (c Campaign, err error) {
	told := false
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		ended, err := db.Rows(ctx, tx, scanCampaign, sqlCampaignFinish, tenant, id, now)
		if err != nil {
			return err
		}
		if len(ended) == 0 {
			c, err = campaignOf(ctx, tx, tenant, id)
			return err
		}
		c, told = ended[0], true
		m, err := campaignCompleted(c)
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		db.RememberTrace(ctx, b)
		db.OutboxAdd(b, m)
		if c.State == campaign.Done {
			b.Queue(db.SQLDeadLetterResolveKey, db.LetterFingerprint(campaign.WorkflowID(id)))
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return c, fmt.Errorf("finish campaign: %w", err)
	}
	if told {
		s.added.Wake(ctx)
	}
	return c, nil
}

// campaignCompleted is the event of the end of c. A campaign that is sent in part again has more than one end.
func campaignCompleted(c Campaign) (db.Message, error) {
	n := c.Counts
	id := uuid.NewSHA1(c.ID, []byte("completed/"+c.FinishedAt.UTC().Format(time.RFC3339Nano)))
	return db.TenantEvent(contract.CampaignCompleted, c.Tenant, id, contract.CampaignData{
		CampaignID: c.ID.String(), Name: c.Name, State: string(c.State), Total: n.Total(), Sent: n.Sent,
		Delivered: n.Delivered, Read: n.Read, Failed: n.Failed, Unknown: n.Unknown, Skipped: n.Skipped,
		StartedAt: c.StartedAt.UTC(), FinishedAt: c.FinishedAt.UTC(),
	}, *c.FinishedAt)
}
