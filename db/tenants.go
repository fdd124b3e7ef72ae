package db

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Tenants are the customers whose messages are sent. Their methods are for operators, not for tenants.
type Tenants struct{ pool *pgxpool.Pool }

// NewTenants returns the tenants kept in pool.
func NewTenants(pool *pgxpool.Pool) *Tenants { return &Tenants{pool} }

// A Tenant is a customer: its tier, its quotas, and whether anything of it is processed.
type Tenant struct {
	ID     string        `json:"id"`   // as access.CheckTenant accepts it; it never changes
	Name   string        `json:"name"` // 1 to 200 characters
	Tier   campaign.Tier `json:"tier"`
	Region string        `json:"region"` // ISO 3166-1 alpha-2, of phones without a country; "" = none
	Quotas
	State         TenantState `json:"state"`
	StoppedReason string      `json:"stopped_reason"` // while it is stopped
	Erasing       bool        `json:"-"`              // it is being erased, or was: it cannot be changed any more
	Contacts      int64       `json:"-"`              // that it has
	CreatedAt     time.Time   `json:"-"`
	UpdatedAt     time.Time   `json:"-"`
}

// Quotas are what a tenant may keep; nil = no limit. Create gives one that is nil its default.
type Quotas = QuotasOf[*int64]

// QuotasOf has a T for each quota of a tenant.
type QuotasOf[T any] struct {
	MaxContacts    T `json:"max_contacts"`
	MaxMessagesDay T `json:"max_messages_day"` // of campaigns and of callers, UTC
	MaxSearches    T `json:"max_searches"`     // saved
	MaxNoticesDay  T `json:"max_notices_day"`  // messages of saved searches that are begun in a day, UTC
	MaxLists       T `json:"max_lists"`        // of contacts
	MaxSegments    T `json:"max_segments"`
	MaxBytes       T `json:"max_bytes"`      // of uploaded files, their copies and refused rows
	MaxTargets     T `json:"max_targets"`    // of all saved searches
	MaxConditions  T `json:"max_conditions"` // of one audience, those of its segments included
}

// All are those of all quotas, in the same order whatever T is.
func (q *QuotasOf[T]) All() []*T {
	return []*T{
		&q.MaxContacts, &q.MaxMessagesDay, &q.MaxSearches, &q.MaxNoticesDay, &q.MaxLists, &q.MaxSegments, &q.MaxBytes,
		&q.MaxTargets, &q.MaxConditions,
	}
}

// usualQuotas are the limits of a new tenant that was given none: the defaults of 0100_tenant_quotas.sql and
// 0174_tenant_targets.sql, and those of contacts and messages, of which tenants of a version before have none.
var usualQuotas = QuotasOf[int64]{
	MaxContacts: 10_000_000, MaxMessagesDay: 1_000_000, MaxSearches: 200, MaxNoticesDay: 10_000, MaxLists: 500,
	MaxSegments: 500, MaxBytes: 20 << 30, MaxTargets: 2000, MaxConditions: 200,
}

// givenQuotas are the quotas of a new tenant: those that it was given, and the usual ones.
func givenQuotas(q Quotas) Quotas {
	usual := usualQuotas.All()
	for i, most := range q.All() {
		*most = cmp.Or(*most, new(*usual[i]))
	}
	return q
}

// A TenantState says whether a tenant's work is done.
type TenantState string

// The states of a tenant.
const (
	TenantActive  TenantState = "active"
	TenantStopped TenantState = "stopped" // it may read; no file is accepted and nothing sent, but imports that run go on
)

// check refuses, as fault.Invalid, what cannot be a tenant. was is the region that it has.
func (t Tenant) check(was string) error {
	if t.Region != "" && t.Region != was && !contact.KnownRegion(t.Region) {
		return fault.Newf(fault.Invalid, "region: %.20q is not known; use two capital letters such as CA", t.Region)
	}
	if err := access.CheckTenant(t.ID); err != nil {
		return err
	}
	if err := CheckName(t.Name); err != nil {
		return err
	}
	if _, err := campaign.ParseTier(string(t.Tier)); err != nil {
		return err
	}
	for field, most := range fields(t.Quotas) {
		if n, limit := most.(float64); limit && n < 0 {
			return fault.Newf(fault.Invalid, "%s: is %.0f, expected 0 or more", field, n)
		}
	}
	if t.State != TenantActive && t.State != TenantStopped {
		return fault.Newf(fault.Invalid, "state: is %.20q, expected active or stopped", t.State)
	}
	return nil
}

// maxName is the most characters of the name of a tenant, sender, list or segment.
const maxName = 200

// CheckName refuses, as fault.Invalid, a text that cannot be such a name.
func CheckName(name string) error {
	n := utf8.RuneCountInString(name)
	if n < 1 || n > maxName || strings.TrimSpace(name) != name || Storable(name) != name {
		return fault.Newf(fault.Invalid, "name: is %.80q, expected 1 to %d characters, no space first or last", name, maxName)
	}
	return nil
}

const sqlTenantAdd = `/* sqlTenantAdd */
INSERT INTO tenants (id, name, tier, region, max_contacts, max_messages_day, created_at, updated_at, max_searches,
    max_notices_day, max_lists, max_segments, max_bytes, max_targets, max_conditions)
VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $7, $8, $9, $10, $11, $12, $13, $14)`

// Create stores an active tenant, created at t.CreatedAt, with an audit record. An ID that is taken is fault.Conflict.
func (s *Tenants) Create(ctx context.Context, t Tenant, actor string) error {
	t.State, t.StoppedReason = TenantActive, ""
	if err := t.check(""); err != nil {
		return err
	}
	t.Quotas = givenQuotas(t.Quotas)
	b := new(pgx.Batch)
	b.Queue(sqlTenantAdd, t.ID, t.Name, t.Tier, t.Region, t.MaxContacts, t.MaxMessagesDay, t.CreatedAt, t.MaxSearches,
		t.MaxNoticesDay, t.MaxLists, t.MaxSegments, t.MaxBytes, t.MaxTargets, t.MaxConditions)
	AuditAdd(ctx, b, AuditEntry{
		At: t.CreatedAt, Actor: actor, Action: "tenant.created", Subject: "tenant/" + t.ID, Detail: t,
	})
	err := SystemWrite(ctx, s.pool, b)
	if Violates(err, UniqueViolation, "tenants_pkey") {
		return fault.Newf(fault.Conflict, "id: there is a tenant %q", t.ID)
	}
	return fault.Wrap(err, "create tenant %q", t.ID)
}

// Has reports whether these are the limits that a tenant was created with, by this version or one that knew no default
// of contacts and messages.
func (t Tenant) Has(want Tenant) bool {
	is, given := t.Quotas, givenQuotas(want.Quotas)
	if is.MaxContacts == nil && want.MaxContacts == nil {
		given.MaxContacts = nil
	}
	if is.MaxMessagesDay == nil && want.MaxMessagesDay == nil {
		given.MaxMessagesDay = nil
	}
	return reflect.DeepEqual(is, given)
}

const sqlTenantColumns = `
    id, name, tier, coalesce(region, ''), max_contacts, max_messages_day, max_searches, max_notices_day, max_lists,
    max_segments, max_bytes, max_targets, max_conditions, state, stopped_reason, erasing, contacts, created_at,
    updated_at`

const sqlTenantsList = `/* sqlTenantsList */
SELECT ` + sqlTenantColumns + ` FROM tenants WHERE id > $1 ORDER BY id LIMIT $2`

// List returns up to limit tenants after an ID (empty begins), by ID, and the ID to go on from: nil when these were the
// last.
func (s *Tenants) List(ctx context.Context, after string, limit int) ([]Tenant, *string, error) {
	list, err := SystemRows(ctx, s.pool, pgx.RowToStructByPos[Tenant], sqlTenantsList, Storable(after), limit+1)
	list, next := CutPage(list, limit, func(t Tenant) string { return t.ID })
	return list, next, fault.Wrap(err, "list tenants")
}

const sqlTenantRead = `/* sqlTenantRead */ SELECT ` + sqlTenantColumns + ` FROM tenants WHERE id = $1`

// Get returns a tenant. An unknown one is fault.Gone.
func (s *Tenants) Get(ctx context.Context, id string) (Tenant, error) {
	t, err := One(TenantRows(ctx, s.pool, id, pgx.RowToStructByPos[Tenant], sqlTenantRead, id))
	return t, Gone(fault.Wrap(err, "read tenant %.80q", id), "there is no tenant %.80q", id)
}

const (
	// SQLTenantHold reads a tenant that nobody else changes meanwhile.
	SQLTenantHold = `/* sqlTenantHold */ ` + sqlTenantRead + ` FOR UPDATE`

	sqlTenantWrite = `/* sqlTenantWrite */
UPDATE tenants SET name = $2, tier = $3, region = nullif($4, ''), max_contacts = $5, max_messages_day = $6,
    state = $7, stopped_reason = $8, updated_at = $9, max_searches = $10, max_notices_day = $11, max_lists = $12,
    max_segments = $13, max_bytes = $14, max_targets = $15, max_conditions = $16
WHERE id = $1`
)

// Change lets change set what may be set of a tenant (all but its ID and times) under its lock and stores the result,
// with an audit record of what differs: tenant.stopped and tenant.resumed, else tenant.changed. Nothing is stored when
// nothing differs. To stop a tenant, set State and StoppedReason; resuming clears the reason. An unknown tenant is
// fault.Gone, one that is erased fault.Conflict.
func (s *Tenants) Change(ctx context.Context, id, actor string, now time.Time, change func(*Tenant)) (Tenant, error) {
	var t Tenant
	err := TenantTx(ctx, s.pool, id, func(tx pgx.Tx) error {
		was, err := Row(ctx, tx, pgx.RowToStructByPos[Tenant], SQLTenantHold, id)
		if err != nil {
			return err
		}
		if was.Erasing {
			return fault.Newf(fault.Conflict, "the tenant %q is erased: it cannot be changed", id)
		}
		t = was
		change(&t)
		t.ID, t.Contacts, t.CreatedAt, t.UpdatedAt = was.ID, was.Contacts, was.CreatedAt, was.UpdatedAt
		if t.State == TenantActive {
			t.StoppedReason = ""
		}
		if err := t.check(was.Region); err != nil {
			return err
		}
		detail := Differs(was, t)
		if len(detail) == 0 {
			return nil
		}
		t.UpdatedAt, t.StoppedReason = now, Storable(t.StoppedReason)
		b := new(pgx.Batch)
		b.Queue(sqlTenantWrite, t.ID, t.Name, t.Tier, t.Region, t.MaxContacts, t.MaxMessagesDay, t.State,
			t.StoppedReason, now, t.MaxSearches, t.MaxNoticesDay, t.MaxLists, t.MaxSegments, t.MaxBytes, t.MaxTargets,
			t.MaxConditions)
		action := "tenant.changed"
		switch {
		case was.State == t.State:
		case t.State == TenantStopped:
			action = "tenant.stopped"
		default:
			action = "tenant.resumed"
		}
		AuditAdd(ctx, b, AuditEntry{At: now, Actor: actor, Action: action, Subject: "tenant/" + id, Detail: detail})
		return tx.SendBatch(ctx, b).Close()
	})
	return t, Gone(fault.Wrap(err, "change tenant %.80q", id), "there is no tenant %.80q", id)
}

// Differs are the fields of after, as JSON names them, that are not as in before.
func Differs[T any](before, after T) map[string]any {
	was, is := fields(before), fields(after)
	for name, value := range was {
		if reflect.DeepEqual(value, is[name]) {
			delete(is, name)
		}
	}
	return is
}

// fields are the fields of a struct as JSON has them.
func fields(v any) (m map[string]any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		panic(err) // v has plain fields
	}
	return m
}

// SQLQuotaTurn is for whoever compares a quota with what there is, in the next statement of its transaction: until its
// end no other adds to it. It comes before all other locks, which others would wait for behind it.
const SQLQuotaTurn = `/* sqlQuotaTurn */ SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE`

// A FullError is that of something that is more than a quota of its tenant allows.
type FullError struct{ Says string } // which names the quota

func (e *FullError) Error() string { return e.Says }

// QuotaFull is a FullError of a tenant that has as many things as a quota, a field of Tenant in JSON, allows. Its class
// is fault.Conflict: it is no use to try again before something was deleted, or the quota raised.
func QuotaFull(quota, things string) error {
	return &fault.Error{Class: fault.Conflict, Err: &FullError{
		"the tenant has as many " + things + " as its quota " + quota + " allows",
	}}
}
