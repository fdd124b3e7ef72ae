// Package outreach is the operations of the API on tenants, their contacts, campaigns and messages.
package outreach

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Tenants serves /tenants, for operators.
type Tenants struct {
	Wakes *Wakes
	Rates TierRates

	Erasures *dboutreach.Erasures
	Launch   Eraser
	Files    TenantFiles // of an export

	door *api.Door
}

// Register implements api.Part.
func (h Tenants) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Admin, huma.Operation{
		OperationID: "create-tenant", Method: http.MethodPost, Path: "/tenants", Tags: []string{"tenants"},
		Summary: "Create a tenant", DefaultStatus: http.StatusCreated, Errors: []int{409},
		Responses: map[string]*huma.Response{"200": api.Answered[Tenant](d, "It is there already, with the same values")},
		Description: "A request that is repeated with the same values answers with the tenant as it is. Its keys are made " +
			"by POST /keys.",
	}), h.create)
	api.Serve(d, api.Needs(access.Operate, api.Query("tenants", "list-tenants", "GET /tenants", "List tenants by ID",
		"")), h.list)
	api.Serve(d, api.Needs(access.Operate, api.Op("tenants", "get-tenant", "GET /tenants/{tenant}", "Get a tenant",
		"")), h.get)
	api.Serve(d, api.Needs(access.Admin, api.Op("tenants", "change-tenant", "PATCH /tenants/{tenant}",
		"Change a tenant: its tier, limits and state",
		"Omitted fields are unchanged. While a tenant is stopped, none of its files is accepted, no message and no news of "+
			"its saved searches are sent, and its feeds are 404; it may read what it has.", 409)), h.change)
	h.registerErasure(d)
}

// TierRates are the messages a second of a tenant, by its tier; one that is not in it has its usual rate.
type TierRates map[campaign.Tier]int

func (r TierRates) of(t campaign.Tier) int {
	if n, ok := r[t]; ok {
		return n
	}
	return t.PerSecond()
}

// Tier is a tier of a tenant.
type Tier campaign.Tier

// Schema implements huma.SchemaProvider.
func (Tier) Schema(huma.Registry) *huma.Schema { return api.EnumOf(campaign.Tiers) }

// A Tenant is a customer whose messages are sent.
type Tenant struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Tier      Tier   `json:"tier"`
	PerSecond int    `json:"per_second" doc:"messages, of its tier"`
	Region    string `json:"region,omitempty" doc:"ISO 3166-1 alpha-2, of telephone numbers without a country; absent: none"`
	TenantQuotas
	State         string           `json:"state" enum:"active,stopped"`
	StoppedReason string           `json:"stopped_reason,omitempty" doc:"why it is stopped"`
	Contacts      int64            `json:"contacts" doc:"that it has"`
	CreatedAt     time.Time        `json:"created_at"`
	UpdatedAt     time.Time        `json:"updated_at"`
	Workflow      api.WorkflowLink `json:"workflow" doc:"sends its messages while there are any"`
}

// TenantQuotas are db.Quotas that a tenant has.
type TenantQuotas struct {
	MaxContacts    *int64 `json:"max_contacts,omitempty" doc:"absent: no limit"`
	MaxMessagesDay *int64 `json:"max_messages_day,omitempty" doc:"absent: no limit"`
	MaxSearches    *int64 `json:"max_searches,omitempty" doc:"saved searches; absent: no limit"`
	MaxNoticesDay  *int64 `json:"max_notices_day,omitempty" doc:"messages of saved searches in a day, UTC; absent: no limit"`
	MaxLists       *int64 `json:"max_lists,omitempty" doc:"of contacts; absent: no limit"`
	MaxSegments    *int64 `json:"max_segments,omitempty" doc:"absent: no limit"`
	MaxBytes       *int64 `json:"max_bytes,omitempty" doc:"of uploaded files, their copies and refused rows; absent: no limit"`
	MaxTargets     *int64 `json:"max_targets,omitempty" doc:"of all saved searches; absent: no limit"`
	MaxConditions  *int64 `json:"max_conditions,omitempty" doc:"of the audience of a campaign, those of its segments included; absent: no limit but that of all tenants, 1,000"`
}

func (h Tenants) show(ctx context.Context, t db.Tenant) Tenant {
	return Tenant{
		ID: t.ID, Name: t.Name, Tier: Tier(t.Tier), PerSecond: h.Rates.of(t.Tier), Region: t.Region,
		TenantQuotas: TenantQuotas(t.Quotas), State: string(t.State), StoppedReason: t.StoppedReason,
		Contacts: t.Contacts, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
		Workflow: h.door.WorkflowFor(ctx, campaign.DispatchWorkflowID(t.ID)),
	}
}

// TenantStart is the body of POST /tenants.
type TenantStart struct {
	ID     string `json:"id" pattern:"^[a-z0-9][a-z0-9-]{0,39}$" doc:"1 to 40 of a-z, 0-9 and dash, a letter or digit first; it cannot be changed" example:"acme"`
	Name   string `json:"name" minLength:"1" maxLength:"200"`
	Tier   Tier   `json:"tier,omitempty" default:"standard"`
	Region string `json:"region,omitempty" pattern:"^([A-Z]{2})?$" doc:"ISO 3166-1 alpha-2, of telephone numbers without a country" example:"CA"`
	TenantStartQuotas
}

// TenantStartQuotas are db.Quotas that a new tenant is given.
type TenantStartQuotas struct {
	MaxContacts    *int64 `json:"max_contacts,omitempty" minimum:"0" doc:"absent: 10,000,000"`
	MaxMessagesDay *int64 `json:"max_messages_day,omitempty" minimum:"0" doc:"absent: 1,000,000"`
	MaxSearches    *int64 `json:"max_searches,omitempty" minimum:"0" doc:"saved searches; absent: 200"`
	MaxNoticesDay  *int64 `json:"max_notices_day,omitempty" minimum:"0" doc:"messages of saved searches in a day, UTC; absent: 10,000"`
	MaxLists       *int64 `json:"max_lists,omitempty" minimum:"0" doc:"of contacts; absent: 500"`
	MaxSegments    *int64 `json:"max_segments,omitempty" minimum:"0" doc:"absent: 500"`
	MaxBytes       *int64 `json:"max_bytes,omitempty" minimum:"0" doc:"of uploaded files, their copies and refused rows; absent: 20 GiB"`
	MaxTargets     *int64 `json:"max_targets,omitempty" minimum:"0" doc:"of all saved searches; absent: 2,000"`
	MaxConditions  *int64 `json:"max_conditions,omitempty" minimum:"0" doc:"of the audience of a campaign, those of its segments included; absent: 200"`
}

type createTenantInput struct{ Body TenantStart }

type createTenantOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     Tenant
}

func (h Tenants) create(ctx context.Context, in *createTenantInput) (*createTenantOutput, error) {
	b := in.Body
	want := db.Tenant{
		ID: b.ID, Name: b.Name, Tier: campaign.Tier(b.Tier), Region: b.Region, CreatedAt: h.door.Now(),
		Quotas: db.Quotas(b.TenantStartQuotas),
	}
	status, wrong := http.StatusCreated, h.door.Tenants.Create(ctx, want, api.CallerOf(ctx).Name)
	if wrong != nil && fault.ClassOf(wrong) != fault.Conflict {
		return nil, wrong
	}
	t, err := h.door.Tenants.Get(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	if wrong != nil {
		same := !t.Erasing && t.Name == want.Name && t.Tier == want.Tier && t.Region == want.Region &&
			t.Has(want)
		if status = http.StatusOK; !same {
			return nil, wrong
		}
	}
	return &createTenantOutput{Status: status, Location: "/tenants/" + t.ID, Body: h.show(ctx, t)}, nil
}

type listTenantsInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	after string
}

// tenantOrder is the only order of tenants, for their cursors.
const tenantOrder = "tenants"

// Resolve reads the cursor.
func (in *listTenantsInput) Resolve(huma.Context) (wrong []error) {
	var err error
	in.after, err = api.ParseTextCursor(in.Cursor, tenantOrder)
	return api.WrongCursor(in.Cursor, err)
}

// TenantPage is the answer of GET /tenants.
type TenantPage api.Page[Tenant]

func (h Tenants) list(ctx context.Context, in *listTenantsInput) (*api.Body[TenantPage], error) {
	rows, next, err := h.door.Tenants.List(ctx, in.after, in.Limit)
	if err != nil {
		return nil, err
	}
	out := api.PageOf(rows, func(t db.Tenant) Tenant { return h.show(ctx, t) }, api.CursorOf(next, tenantOrder))
	return api.BodyOf(TenantPage(out)), nil
}

type tenantPathInput struct {
	Tenant string `path:"tenant" maxLength:"40"`
}

func (h Tenants) get(ctx context.Context, in *tenantPathInput) (*api.Body[Tenant], error) {
	t, err := h.door.Tenants.Get(ctx, in.Tenant)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(h.show(ctx, t)), nil
}

// A Quota is a change of a limit: null, or the word none, is none. One that is left out stays as it is.
type Quota struct {
	Said bool
	Most *int64 // nil = no limit
}

// UnmarshalJSON implements json.Unmarshaler.
func (q *Quota) UnmarshalJSON(b []byte) error {
	q.Said = true
	return json.Unmarshal(b, &q.Most)
}

// UnmarshalText reads a number, or the word none.
func (q *Quota) UnmarshalText(text []byte) error {
	q.Said = true
	if string(text) == "none" {
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("is %q, expected a number or none", text)
	}
	q.Most = &n
	return nil
}

// MarshalJSON implements json.Marshaler.
func (q Quota) MarshalJSON() ([]byte, error) { return json.Marshal(q.Most) }

// IsZero says that the limit stays.
func (q Quota) IsZero() bool { return !q.Said }

// Schema implements huma.SchemaProvider.
func (Quota) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: new(0.0), Nullable: true}
}

// TenantPatch is the body of PATCH /tenants/{tenant}.
type TenantPatch struct {
	Name   *string `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Tier   *Tier   `json:"tier,omitempty"`
	Region *string `json:"region,omitempty" pattern:"^([A-Z]{2})?$" doc:"empty: none"`
	TenantQuotaChanges
	State         *string `json:"state,omitempty" enum:"active,stopped"`
	StoppedReason *string `json:"stopped_reason,omitempty" maxLength:"1000" doc:"shown while it is stopped"`
}

// TenantQuotaChanges are changes of db.Quotas.
type TenantQuotaChanges struct {
	MaxContacts    Quota `json:"max_contacts,omitzero" required:"false" doc:"null: no limit"`
	MaxMessagesDay Quota `json:"max_messages_day,omitzero" required:"false" doc:"null: no limit"`
	MaxSearches    Quota `json:"max_searches,omitzero" required:"false" doc:"saved searches; null: no limit"`
	MaxNoticesDay  Quota `json:"max_notices_day,omitzero" required:"false" doc:"messages of saved searches in a day, UTC; null: no limit"`
	MaxLists       Quota `json:"max_lists,omitzero" required:"false" doc:"of contacts; null: no limit"`
	MaxSegments    Quota `json:"max_segments,omitzero" required:"false" doc:"null: no limit"`
	MaxBytes       Quota `json:"max_bytes,omitzero" required:"false" doc:"of uploaded files, their copies and refused rows; null: no limit"`
	MaxTargets     Quota `json:"max_targets,omitzero" required:"false" doc:"of all saved searches; null: no limit"`
	MaxConditions  Quota `json:"max_conditions,omitzero" required:"false" doc:"of the audience of a campaign, those of its segments included; null: no limit but that of all tenants, 1,000"`
}

type changeTenantInput struct {
	Tenant string `path:"tenant" maxLength:"40"`
	Body   TenantPatch
}

func (h Tenants) change(ctx context.Context, in *changeTenantInput) (*api.Body[Tenant], error) {
	b, quotas := in.Body, db.QuotasOf[Quota](in.Body.TenantQuotaChanges)
	t, err := h.door.Tenants.Change(ctx, in.Tenant, api.CallerOf(ctx).Name, h.door.Now(), func(t *db.Tenant) {
		api.Set(&t.Name, b.Name)
		api.Set(&t.Tier, api.Maybe(b.Tier, func(t Tier) campaign.Tier { return campaign.Tier(t) }))
		api.Set(&t.Region, b.Region)
		for i, most := range t.Quotas.All() {
			if change := quotas.All()[i]; change.Said {
				*most = change.Most
			}
		}
		api.Set(&t.State, api.Maybe(b.State, func(s string) db.TenantState { return db.TenantState(s) }))
		api.Set(&t.StoppedReason, b.StoppedReason)
	})
	if err != nil {
		return nil, err
	}
	h.Wakes.Wake(ctx, t.ID)
	return api.BodyOf(h.show(ctx, t)), nil
}
