package outreach_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// everyone is a plan of acme for all its contacts.
func (m *mailing) everyone(name string) dboutreach.Plan {
	return dboutreach.Plan{
		Name: name, Sender: m.sender, Template: text("Hello {{given_name|you}}"), Audience: campaign.Audience{All: true},
	}
}

// A campaign from its draft to its end.
func TestCampaign(t *testing.T) {
	t.Parallel()

	m, ctx, now := newMailing(t), t.Context(), time.Now().Add(-2*time.Hour)
	m.tenant(t, "other")
	s, id := m.campaigns, uuid.New()
	c, err := s.Create(ctx, "acme", id, m.everyone("Spring"), "zoe", now)
	require.NoError(t, err)
	require.Equal(t, campaign.Draft, c.State)
	_, err = s.Create(ctx, "acme", id, m.everyone("Spring"), "zoe", now)
	require.NoError(t, err, "a repeat is the same campaign")
	_, err = s.Create(ctx, "acme", id, m.everyone("Autumn"), "zoe", now)
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	_, err = s.Create(ctx, "other", id, m.everyone("Spring"), "eve", now)
	require.Error(t, err)
	for name, change := range map[string]func(*dboutreach.Plan){
		"no name":           func(p *dboutreach.Plan) { p.Name = " " },
		"no such sender":    func(p *dboutreach.Plan) { p.Sender = uuid.New() },
		"no such list":      func(p *dboutreach.Plan) { p.Audience.Except.Lists = []uuid.UUID{uuid.New()} },
		"no such segment":   func(p *dboutreach.Plan) { p.Audience.Except.Segments = []uuid.UUID{uuid.New()} },
		"no audience":       func(p *dboutreach.Plan) { p.Audience = campaign.Audience{} },
		"an empty template": func(p *dboutreach.Plan) { p.Template = campaign.Body{} },
	} {
		p := m.everyone("x")
		change(&p)
		_, err := s.Create(ctx, "acme", uuid.New(), p, "zoe", now)
		require.Equal(t, fault.Invalid, fault.ClassOf(err), name)
	}
	c, err = s.Edit(ctx, "acme", id, m.everyone("Summer"), "zoe", now)
	require.NoError(t, err)
	require.Equal(t, "Summer", c.Name)

	at := now.Add(time.Hour)
	c, err = s.Schedule(ctx, "acme", id, at, "zoe", now)
	require.NoError(t, err)
	require.Equal(t, campaign.Queued, c.State)
	require.WithinDuration(t, at, *c.ScheduledAt, time.Millisecond)
	_, err = s.Edit(ctx, "acme", id, m.everyone("Winter"), "zoe", now)
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	_, err = s.Pause(ctx, "acme", id, "", "zoe", now)
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	c, err = s.Unschedule(ctx, "acme", id, "zoe", now)
	require.NoError(t, err)
	require.Nil(t, c.ScheduledAt)
	_, err = s.Schedule(ctx, "acme", id, at, "zoe", now)
	require.NoError(t, err)
	_, err = s.Begin(ctx, "acme", id, now)
	require.Equal(t, fault.Conflict, fault.ClassOf(err), "it was put off")
	c, err = s.Get(ctx, "acme", id)
	require.NoError(t, err)
	require.Equal(t, campaign.Queued, c.State)
	for range 2 {
		c, err = s.Begin(ctx, "acme", id, at)
		require.NoError(t, err)
		require.Equal(t, campaign.Running, c.State)
	}
	c, err = s.Finish(ctx, "acme", id, now)
	require.NoError(t, err)
	require.Nil(t, c.FinishedAt, "its messages are not written")
	more, err := s.Freeze(ctx, "acme", id, 10, now)
	require.NoError(t, err)
	require.False(t, more)
	for range 2 {
		c, err = s.Finish(ctx, "acme", id, now)
		require.NoError(t, err)
		require.Equal(t, campaign.Done, c.State)
	}
	require.Equal(t, []string{"campaign.completed tenant/acme acme done"}, m.lines(t, `SELECT routing_key, lane,
		convert_from(body, 'UTF8')::jsonb->>'tenant', convert_from(body, 'UTF8')::jsonb->'data'->>'state' FROM outbox`))
	_, err = s.Cancel(ctx, "acme", id, "", "zoe", now)
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	require.Equal(t, []string{"campaign.created", "campaign.edited", "campaign.scheduled", "campaign.unscheduled",
		"campaign.scheduled"}, m.lines(t, "SELECT action FROM audit ORDER BY id"))
	require.Equal(t, []string{"acme"}, m.lines(t, "SELECT DISTINCT detail->>'tenant' FROM audit"))

	// Of another tenant there is nothing.
	_, err = s.Get(ctx, "other", id)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	for name, do := range map[string]func() error{
		"edit":   func() error { _, err := s.Edit(ctx, "other", id, m.everyone("x"), "eve", now); return err },
		"pause":  func() error { _, err := s.Pause(ctx, "other", id, "", "eve", now); return err },
		"cancel": func() error { _, err := s.Cancel(ctx, "other", id, "", "eve", now); return err },
		"begin":  func() error { _, err := s.Begin(ctx, "other", id, now); return err },
		"freeze": func() error { _, err := s.Freeze(ctx, "other", id, 1, now); return err },
		"finish": func() error { _, err := s.Finish(ctx, "other", id, now); return err },
		"retry":  func() error { _, err := s.RetryFailed(ctx, "other", id, "eve", now); return err },
	} {
		require.Equal(t, fault.Gone, fault.ClassOf(do()), name)
	}
	list, _, err := s.List(ctx, "other", nil, nil, 10)
	require.NoError(t, err)
	require.Empty(t, list)
	_, err = s.Cancel(ctx, "acme", m.draft(t, "n"), "", "zoe", now)
	require.NoError(t, err)
	list, next, err := s.List(ctx, "acme", nil, nil, 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	rest, _, err := s.List(ctx, "acme", nil, next, 1)
	require.NoError(t, err)
	require.NotEqual(t, list[0].ID, rest[0].ID)
	list, _, err = s.List(ctx, "acme", []string{string(campaign.Canceled)}, nil, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NotNil(t, list[0].FinishedAt, "it had not begun")
}

func (m *mailing) draft(t testing.TB, name string) uuid.UUID {
	t.Helper()

	c, err := m.campaigns.Create(t.Context(), "acme", uuid.New(), m.everyone(name), "zoe", time.Now())
	require.NoError(t, err)
	return c.ID
}

// However many schedulers look at once, each campaign is started by one of them; and one whose scheduler died, later.
func TestCampaignLease(t *testing.T) {
	t.Parallel()

	m, ctx, now := newMailing(t), t.Context(), time.Now()
	for i := range 8 {
		_, err := m.campaigns.Schedule(ctx, "acme", m.draft(t, fmt.Sprint(i)), now.Add(-time.Duration(i)*time.Minute), "zoe", now)
		require.NoError(t, err)
	}
	later := m.draft(t, "later")
	_, err := m.campaigns.Schedule(ctx, "acme", later, now.Add(time.Minute), "zoe", now)
	require.NoError(t, err)
	sender := m.tenant(t, "other")
	m.exec(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, scheduled_at, created_by, created_at, updated_at)
		VALUES (gen_random_uuid(), 'other', 'o', $1, '{}', '{}', 'queued', $2, '', $2, $2)`, sender, now)

	ready, err := m.campaigns.Ready(ctx, now)
	require.NoError(t, err)
	var tenants []string
	for _, r := range campaign.Select(ready) {
		tenants = append(tenants, r.Tenant)
	}
	require.Equal(t, []string{"acme", "other", "acme"}, tenants)
	var ids []uuid.UUID
	for _, r := range ready {
		ids = append(ids, r.ID)
	}
	var work errgroup.Group
	got := make([]int, 6)
	for i := range got {
		work.Go(func() error {
			leased, err := m.campaigns.Lease(ctx, ids, now, now.Add(campaign.Lease))
			got[i] = len(leased)
			return err
		})
	}
	require.NoError(t, work.Wait())
	sum := 0
	for _, n := range got {
		sum += n
	}
	require.Equal(t, 3, sum)
	ready, err = m.campaigns.Ready(ctx, now)
	require.NoError(t, err)
	require.Len(t, ready, 2, "the next two of acme")
	ready, err = m.campaigns.Ready(ctx, now.Add(campaign.Lease))
	require.NoError(t, err)
	require.Len(t, ready, 2, "by a clock that is ahead, too")
	m.exec(t, "UPDATE campaigns SET lease_until = now() WHERE lease_until IS NOT NULL")
	ready, err = m.campaigns.Ready(ctx, now.Add(campaign.Lease))
	require.NoError(t, err)
	require.Len(t, ready, 3, "those that nobody came to start")
	m.exec(t, "UPDATE tenants SET state = 'stopped' WHERE id = 'acme'")
	ready, err = m.campaigns.Ready(ctx, now.Add(time.Hour))
	require.NoError(t, err)
	require.Len(t, ready, 1)
}

// However many of a tenant's campaigns are started at once, two of them have their turn.
func TestReserveCampaigns(t *testing.T) {
	t.Parallel()

	m, ctx, now := newMailing(t), t.Context(), time.Now()
	queued := func(name string, at time.Time) uuid.UUID {
		id := m.draft(t, name)
		_, err := m.campaigns.Schedule(ctx, "acme", id, at, "zoe", now)
		require.NoError(t, err)
		return id
	}
	var work errgroup.Group
	got := make([]bool, 5)
	ids := make([]uuid.UUID, len(got))
	for i := range got {
		ids[i] = queued(fmt.Sprint(i), now)
		work.Go(func() (err error) {
			got[i], err = m.campaigns.Reserve(ctx, "acme", ids[i], now, now.Add(time.Minute))
			return err
		})
	}
	require.NoError(t, work.Wait())
	sum := 0
	var last uuid.UUID
	for i, reserved := range got {
		if reserved {
			sum++
			_, err := m.campaigns.Begin(ctx, "acme", ids[i], now)
			require.NoError(t, err)
		} else {
			last = ids[i]
		}
	}
	require.Equal(t, campaign.SelectPerTenant, sum)
	reserve := func(tenant string, id uuid.UUID, at time.Time) bool {
		reserved, err := m.campaigns.Reserve(ctx, tenant, id, at, at.Add(time.Minute))
		require.NoError(t, err)
		return reserved
	}
	require.False(t, reserve("acme", last, now.Add(time.Hour)), "two run")
	m.exec(t, "UPDATE campaigns SET state = 'done' WHERE state = 'running'")
	require.False(t, reserve("acme", queued("later", now.Add(time.Hour)), now))
	require.False(t, reserve("nobody", last, now))
	m.exec(t, "UPDATE tenants SET state = 'stopped'")
	require.False(t, reserve("acme", last, now))
	m.exec(t, "UPDATE tenants SET state = 'active'")
	require.True(t, reserve("acme", last, now))
	require.False(t, reserve("acme", last, now), "it is reserved")
	m.exec(t, "UPDATE campaigns SET lease_until = now() WHERE id = $1", last)
	require.True(t, reserve("acme", last, now.Add(time.Minute)), "its start did not come")
}

// An audience is who is in its groups and in none of its exceptions; who cannot be written to gets a message that says
// why. Nobody gets two, whatever is repeated and at once.
func TestFreeze(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	one, two := uuid.New(), uuid.New()
	m.exec(t, `INSERT INTO contact_lists (id, tenant, name, created_at) VALUES ($1, 'acme', '1', now()), ($2, 'acme', '2', now())`, one, two)
	add := func(key, phone, fields string, tags ...string) {
		m.exec(t, `INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone, fields, tags)
			VALUES ('acme', now(), now(), substr(sha256(convert_to($1, 'UTF8')), 1, 16), $1, $2, $3, $4)`, key, phone, fields, append([]string{}, tags...))
	}
	add("a", "+15145550101", `{"city": "Laval"}`, "vip")
	add("b", "+15145550102", `{"city": "Gaspé"}`)
	add("c", "+15145550103", `{}`, "vip", "new")
	add("d", "", `{"city": "Laval"}`, "vip")
	add("e", "+15145550105", `{"city": "Laval"}`, "old")
	add("f", "+15145550106", `{"city": "Laval"}`)
	m.exec(t, "INSERT INTO contact_list_members SELECT 'acme', $1, id FROM contacts WHERE key IN ('b', 'e')", one)
	m.exec(t, "INSERT INTO contact_list_members SELECT 'acme', $1, id FROM contacts WHERE key IN ('a', 'f')", two)
	m.exec(t, "INSERT INTO opt_outs SELECT 'acme', digest, 'api', now() FROM contacts WHERE key = 'b'")

	laval, segment := contact.Filter{Field: "city", Equals: new("laval")}, uuid.New()
	m.exec(t, `INSERT INTO segments (id, tenant, name, filter, created_at, updated_at) VALUES ($1, 'acme', 's', $2, now(), now())`,
		segment, laval)

	for name, tt := range map[string]struct {
		audience campaign.Audience
		want     string
	}{
		"all": {campaign.Audience{All: true}, "[a queued Laval b skipped opted_out c failed missing_field " +
			"d skipped no_phone e queued Laval f queued Laval]"},
		"a list":           {campaign.Audience{To: campaign.Groups{Lists: []uuid.UUID{one}}}, "[b skipped opted_out e queued Laval]"},
		"a tag":            {campaign.Audience{To: campaign.Groups{Tags: []string{"new", "none"}}}, "[c failed missing_field]"},
		"either":           {campaign.Audience{To: campaign.Groups{Tags: []string{"old"}, Lists: []uuid.UUID{two}}}, "[a queued Laval e queued Laval f queued Laval]"},
		"but not":          {campaign.Audience{All: true, Except: campaign.Groups{Tags: []string{"vip"}, Lists: []uuid.UUID{one}}}, "[f queued Laval]"},
		"not a list":       {campaign.Audience{To: campaign.Groups{Tags: []string{"vip"}}, Except: campaign.Groups{Lists: []uuid.UUID{two}}}, "[c failed missing_field d skipped no_phone]"},
		"of all, a filter": {campaign.Audience{All: true, Filter: &contact.Filter{Not: &laval}}, "[b skipped opted_out c failed missing_field]"},
		"a segment":        {campaign.Audience{To: campaign.Groups{Segments: []uuid.UUID{segment}}}, "[a queued Laval d skipped no_phone e queued Laval f queued Laval]"},
		"not a segment":    {campaign.Audience{All: true, Except: campaign.Groups{Segments: []uuid.UUID{segment}, Tags: []string{"new"}}}, "[b skipped opted_out]"},
		"nobody there":     {campaign.Audience{To: campaign.Groups{Tags: []string{"none"}}}, "[]"},
	} {
		p := m.everyone(name)
		p.Template, p.Audience = text("{{city}}"), tt.audience
		c, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
		require.NoError(t, err)
		size, err := m.campaigns.Audience(ctx, "acme", c.ID, 100)
		require.NoError(t, err)
		want := dboutreach.AudienceSize{
			Contacts: int64(len(strings.Fields(tt.want)) / 3), OptedOut: int64(strings.Count(tt.want, "opted_out")),
			WithoutPhone: int64(strings.Count(tt.want, "no_phone")),
		}
		require.Equal(t, want, size, name)
		_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
		require.NoError(t, err)
		_, err = m.campaigns.Begin(ctx, "acme", c.ID, time.Now().Add(time.Second))
		require.NoError(t, err)
		var work errgroup.Group
		for range 3 {
			work.Go(func() error {
				for more := true; more; {
					var err error
					if more, err = m.campaigns.Freeze(ctx, "acme", c.ID, 2, time.Now()); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, work.Wait())
		got := m.lines(t, `SELECT k.key, m.state, coalesce(nullif(m.class, ''), m.body->'text'->>'body') FROM messages m
			JOIN contacts k ON k.id = m.contact WHERE campaign = $1 ORDER BY k.key`, c.ID)
		require.Equal(t, tt.want, fmt.Sprint(got), name)
		m.counted(t)
	}
	require.Equal(t, []string{"failed", "failed", "failed", "failed"}, m.told(t), "of four campaigns that the contact c is in")
	add("g", "+15145550107", `{"city": "Laval"}`)
	require.Empty(t, m.lines(t, "SELECT 1 FROM messages m JOIN contacts k ON k.id = m.contact AND k.key = 'g'"), "it came later")

	// An exception that is gone is no reason to write to those who were to be spared.
	p := m.everyone("spared")
	p.Audience.Except = campaign.Groups{Segments: []uuid.UUID{segment}}
	c, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
	require.NoError(t, err)
	size, err := m.campaigns.Audience(ctx, "acme", c.ID, 2)
	require.NoError(t, err)
	require.Equal(t, dboutreach.AudienceSize{Contacts: 2, OptedOut: 1, More: true}, size)
	_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", c.ID, time.Now())
	require.NoError(t, err)
	m.exec(t, "DELETE FROM segments")
	_, err = m.campaigns.Freeze(ctx, "acme", c.ID, 2, time.Now())
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	_, err = m.campaigns.Audience(ctx, "acme", c.ID, 100)
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	_, err = m.campaigns.Audience(ctx, "acme", uuid.New(), 100)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

// Contacts are stored, and campaigns begun, by machines whose clocks differ.
func TestFreezeByOneClock(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	people, now := dboutreach.NewContacts(m.pool, nil), time.Now()
	_, _, err := people.Put(ctx, "acme", someone("+15145550001"), dboutreach.KnownUpdate, "test", now.Add(time.Hour))
	require.NoError(t, err)
	id, early := m.draft(t, "a"), now.Add(-time.Hour)
	_, err = m.campaigns.Schedule(ctx, "acme", id, early, "zoe", early)
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", id, early)
	require.NoError(t, err)
	_, _, err = people.Put(ctx, "acme", someone("+15145550002"), dboutreach.KnownUpdate, "test", now.Add(time.Hour))
	require.NoError(t, err)
	more, err := m.campaigns.Freeze(ctx, "acme", id, 10, now)
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, []string{"+15145550001"}, m.lines(t, "SELECT recipient FROM messages WHERE campaign = $1", id),
		"the other came later")
}

// A batch that Postgres refuses is nothing against the audience: the campaign goes on once it is taken.
func TestFreezeIsRefused(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.begun(t, "Spring", m.sender, 3)
	more, err := m.campaigns.Freeze(ctx, "acme", id, 1, time.Now())
	require.NoError(t, err)
	require.True(t, more)
	for refused, sql := range map[string]string{
		"a check":  "ALTER TABLE messages ADD CONSTRAINT refused CHECK (queued_at < '2000-01-01') NOT VALID",
		"a number": "ALTER TABLE messages ADD CONSTRAINT refused CHECK (1 / attempts > 0) NOT VALID",
	} {
		dbtest.Alter(t, m.pool, sql)
		_, err = m.campaigns.Freeze(ctx, "acme", id, 10, time.Now())
		require.ErrorContains(t, err, "postgres cannot store it", refused)
		require.Equal(t, fault.Transient, fault.ClassOf(err), refused)
		dbtest.Alter(t, m.pool, "ALTER TABLE messages DROP CONSTRAINT refused")
	}
	more, err = m.campaigns.Freeze(ctx, "acme", id, 10, time.Now())
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, m.lines(t, "SELECT recipient FROM messages"), 3)
}

// A list stays until the campaigns that have begun to choose contacts by it have chosen them all.
func TestFreezeKeepsLists(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	s := dboutreach.NewContacts(m.pool, nil)
	spared, err := s.CreateList(ctx, "acme", "spared", "zoe", time.Now())
	require.NoError(t, err)
	put(t, s, "acme", someone("+15145550101"))
	members := []int64{put(t, s, "acme", someone("+15145550102")), put(t, s, "acme", someone("+15145550103"))}
	_, _, err = s.Members(ctx, "acme", spared.ID, members, nil, "zoe", time.Now())
	require.NoError(t, err)
	p := m.everyone("but those")
	p.Audience.Except.Lists = []uuid.UUID{spared.ID}
	c, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", c.ID, time.Now().Add(time.Second))
	require.NoError(t, err)
	more, err := m.campaigns.Freeze(ctx, "acme", c.ID, 1, time.Now())
	require.NoError(t, err)
	require.True(t, more)
	_, err = s.DeleteList(ctx, "acme", spared.ID, 1, "zoe", time.Now())
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	require.ErrorContains(t, err, c.ID.String())
	more, err = m.campaigns.Freeze(ctx, "acme", c.ID, 10, time.Now())
	require.NoError(t, err)
	require.False(t, more)
	more, err = s.DeleteList(ctx, "acme", spared.ID, 10, "zoe", time.Now())
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, []string{"+15145550101"}, m.lines(t, "SELECT recipient FROM messages"))
}

// An audience has no more conditions than its tenant's quota, those of its segments as they are included.
func TestQuotaOfConditions(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	tenants, s := db.NewTenants(m.pool), dboutreach.NewContacts(m.pool, nil)
	most := func(n *int64) {
		t.Helper()
		_, err := tenants.Change(ctx, "acme", "zoe", time.Now(), func(t *db.Tenant) { t.MaxConditions = n })
		require.NoError(t, err)
	}
	put(t, s, "acme", someone("+15145550101"))
	segment := dboutreach.Segment{ID: uuid.New(), Name: "those", Filter: contact.Filter{Not: &contact.Filter{Tag: "a"}}}
	grow := func(conditions int) {
		t.Helper()
		segment.Filter = contact.Filter{Not: &contact.Filter{Any: slices.Repeat([]contact.Filter{{Tag: "a"}}, conditions)}}
		_, err := s.PutSegment(ctx, "acme", segment, "zoe", time.Now())
		require.NoError(t, err)
	}
	full := func(err error, n int) {
		t.Helper()
		require.Equal(t, fault.Invalid, fault.ClassOf(err), "%v", err)
		require.ErrorContains(t, err, fmt.Sprintf("has %d conditions, those of its segments included, more than the quota "+
			"max_conditions of its tenant allows", n))
		_, is := errors.AsType[*db.FullError](err)
		require.True(t, is)
	}
	grow(2)
	p := m.everyone("those")
	p.Audience = campaign.Audience{To: campaign.Groups{Segments: []uuid.UUID{segment.ID}}, Filter: &contact.Filter{Not: &contact.Filter{Tag: "b"}}}
	most(new(int64(2)))
	_, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
	full(err, 3)
	most(new(int64(3)))
	c, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
	require.NoError(t, err)
	grow(3)
	_, err = m.campaigns.Edit(ctx, "acme", c.ID, p, "zoe", time.Now())
	full(err, 4)
	_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", c.ID, time.Now().Add(time.Second))
	require.NoError(t, err)
	_, err = m.campaigns.Freeze(ctx, "acme", c.ID, 10, time.Now())
	full(err, 4)
	require.Empty(t, m.lines(t, "SELECT recipient FROM messages"))

	most(nil) // as many as any tenant may have
	list := make([]uuid.UUID, campaign.MaxConditions/40)
	for i := range list {
		segment.ID, segment.Name = uuid.New(), fmt.Sprint(i)
		grow(40)
		list[i] = segment.ID
	}
	p.Audience = campaign.Audience{To: campaign.Groups{Segments: list}}
	c, err = m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", c.ID, time.Now().Add(time.Second))
	require.NoError(t, err)
	_, err = m.campaigns.Freeze(ctx, "acme", c.ID, 10, time.Now())
	require.NoError(t, err)
	require.Equal(t, []string{"+15145550101"}, m.lines(t, "SELECT recipient FROM messages"))
	p.Audience.Filter = &contact.Filter{Tag: "a"}
	_, err = m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
	require.ErrorContains(t, err, fmt.Sprintf("has %d conditions", campaign.MaxConditions+1))
}

// A list whose members are being deleted is there for nobody: no campaign begins to choose by what is left of it.
func TestHalfDeletedList(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	s, uploads := dboutreach.NewContacts(m.pool, nil), dboutreach.NewUploads(m.pool)
	spared, err := s.CreateList(ctx, "acme", "spared", "zoe", time.Now())
	require.NoError(t, err)
	members := []int64{put(t, s, "acme", someone("+15145550102")), put(t, s, "acme", someone("+15145550103"))}
	_, _, err = s.Members(ctx, "acme", spared.ID, members, nil, "zoe", time.Now())
	require.NoError(t, err)
	segment, err := s.PutSegment(ctx, "acme", dboutreach.Segment{
		ID: uuid.New(), Name: "those", Filter: contact.Filter{Not: &contact.Filter{List: spared.ID.String()}},
	}, "zoe", time.Now())
	require.NoError(t, err)
	named, within := m.everyone("but those"), m.everyone("in a segment")
	named.Audience.Except.Lists = []uuid.UUID{spared.ID}
	within.Audience = campaign.Audience{To: campaign.Groups{Segments: []uuid.UUID{segment.ID}}}
	var ready []uuid.UUID
	for _, p := range []dboutreach.Plan{named, within} {
		c, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
		require.NoError(t, err)
		_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
		require.NoError(t, err)
		ready = append(ready, c.ID)
	}

	more, err := s.DeleteList(ctx, "acme", spared.ID, 1, "zoe", time.Now())
	require.NoError(t, err)
	require.True(t, more)
	for _, id := range ready {
		_, err = m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
		require.NoError(t, err)
		_, err = m.campaigns.Freeze(ctx, "acme", id, 10, time.Now())
		require.Equal(t, fault.Invalid, fault.ClassOf(err), "%v", err)
	}
	require.Empty(t, m.lines(t, "SELECT recipient FROM messages"))
	_, err = m.campaigns.Create(ctx, "acme", uuid.New(), named, "zoe", time.Now())
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	_, _, err = s.Members(ctx, "acme", spared.ID, members, nil, "zoe", time.Now())
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	u := dboutreach.Upload{ID: uuid.New(), Tenant: "acme", Lists: []uuid.UUID{spared.ID}, State: dboutreach.UploadReceived}
	_, err = uploads.Create(ctx, u)
	require.Equal(t, fault.Invalid, fault.ClassOf(err), "%v", err)
	lists, err := s.Lists(ctx, "acme")
	require.NoError(t, err)
	require.Empty(t, lists)
	again, err := s.CreateList(ctx, "acme", "spared", "zoe", time.Now())
	require.NoError(t, err)
	require.NotEqual(t, spared.ID, again.ID)
	for more := true; more; {
		more, err = s.DeleteList(ctx, "acme", spared.ID, 1, "zoe", time.Now())
		require.NoError(t, err)
	}
	_, err = s.DeleteList(ctx, "acme", spared.ID, 1, "zoe", time.Now())
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	require.Empty(t, m.lines(t, "SELECT contact::text FROM contact_list_members"))
}

// A list that is named by a filter, or by that of a segment, is there as one that the audience names by itself.
func TestListsOfFilters(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	s := dboutreach.NewContacts(m.pool, nil)
	m.tenant(t, "other")
	put(t, s, "acme", someone("+15145550101"))
	members := []int64{put(t, s, "acme", someone("+15145550102")), put(t, s, "acme", someone("+15145550103"))}
	begin := func(a campaign.Audience) uuid.UUID {
		t.Helper()
		p := m.everyone("but those")
		p.Audience = a
		c, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
		require.NoError(t, err)
		_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
		require.NoError(t, err)
		return c.ID
	}
	theirs, err := s.CreateList(ctx, "other", "theirs", "eve", time.Now())
	require.NoError(t, err)
	for _, id := range []uuid.UUID{uuid.New(), theirs.ID} {
		without := contact.Filter{All: []contact.Filter{{Tag: "vip"}, {Not: &contact.Filter{Any: []contact.Filter{{List: id.String()}}}}}}
		_, err = s.PutSegment(ctx, "acme", dboutreach.Segment{ID: uuid.New(), Name: "s", Filter: without}, "zoe", time.Now())
		require.Equal(t, fault.Invalid, fault.ClassOf(err), "%v", err)
		p := m.everyone("but those")
		p.Audience.Filter = &without
		_, err = m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
		require.Equal(t, fault.Invalid, fault.ClassOf(err), "%v", err)
		require.ErrorContains(t, err, id.String())
	}
	for name, write := range map[string]func(string) string{"small": strings.ToLower, "capitals": strings.ToUpper} {
		spared, err := s.CreateList(ctx, "acme", name, "zoe", time.Now())
		require.NoError(t, err)
		_, _, err = s.Members(ctx, "acme", spared.ID, members, nil, "zoe", time.Now())
		require.NoError(t, err)
		those := contact.Filter{List: write(spared.ID.String())}
		segment, err := s.PutSegment(ctx, "acme", dboutreach.Segment{ID: uuid.New(), Name: name, Filter: those}, "zoe", time.Now())
		require.NoError(t, err)
		audiences := []campaign.Audience{
			{All: true, Except: campaign.Groups{Segments: []uuid.UUID{segment.ID}}},
			{All: true, Filter: &contact.Filter{Not: &those}},
		}
		for _, a := range audiences {
			id := begin(a)
			_, err = m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
			require.NoError(t, err)
			for range 2 { // of its contacts, none is chosen, and then one
				_, err = s.DeleteList(ctx, "acme", spared.ID, 10, "zoe", time.Now())
				require.Equal(t, fault.Conflict, fault.ClassOf(err), "%s: %v", name, err)
				require.ErrorContains(t, err, id.String())
				_, err = m.campaigns.Freeze(ctx, "acme", id, 1, time.Now())
				require.NoError(t, err)
			}
			require.Equal(t, []string{"+15145550101"}, m.lines(t, "SELECT recipient FROM messages WHERE campaign = $1", id))
		}
		waiting := []uuid.UUID{begin(audiences[0]), begin(audiences[1])}
		_, err = s.DeleteList(ctx, "acme", spared.ID, 10, "zoe", time.Now())
		require.NoError(t, err)
		for _, id := range waiting {
			_, err = m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
			require.NoError(t, err)
			_, err = m.campaigns.Freeze(ctx, "acme", id, 10, time.Now())
			require.Equal(t, fault.Invalid, fault.ClassOf(err), "%s: %v", name, err)
			_, err = m.campaigns.Audience(ctx, "acme", id, 10)
			require.Equal(t, fault.Invalid, fault.ClassOf(err), "%s: %v", name, err)
			require.Empty(t, m.lines(t, "SELECT recipient FROM messages WHERE campaign = $1", id))
		}
	}
}

// A transaction looks at a bounded number of contacts, however few of them are in the audience.
func TestFreezeSparse(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.exec(t, `INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone, tags)
		SELECT 'acme', now(), now(), substr(sha256(convert_to(n::text, 'UTF8')), 1, 16), n, '+151455' || n,
			CASE n WHEN 24999 THEN '{vip}' ELSE '{}' END::text[] FROM generate_series(1, 25000) n`)
	p := m.everyone("sparse")
	p.Audience = campaign.Audience{To: campaign.Groups{Tags: []string{"vip"}}}
	c, err := m.campaigns.Create(ctx, "acme", uuid.New(), p, "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Schedule(ctx, "acme", c.ID, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", c.ID, time.Now().Add(time.Second))
	require.NoError(t, err)
	for _, looked := range []int{10_000, 20_000, 25_000} {
		more, err := m.campaigns.Freeze(ctx, "acme", c.ID, 1000, time.Now())
		require.NoError(t, err)
		require.Equal(t, looked < 25_000, more)
		require.Equal(t, []string{fmt.Sprint(looked)}, m.lines(t, `SELECT count(*) FROM contacts
			WHERE id <= (SELECT audience_at FROM campaigns)`))
	}
	require.Equal(t, []string{"+15145524999"}, m.lines(t, "SELECT recipient FROM messages"))
	c, err = m.campaigns.Get(ctx, "acme", c.ID)
	require.NoError(t, err)
	require.NotNil(t, c.WrittenAt)
}

// A transaction holds a bounded number of bytes of contacts, however large these are.
func TestFreezeLarge(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.exec(t, `INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone, fields)
		SELECT 'acme', now(), now(), substr(sha256(convert_to(n::text, 'UTF8')), 1, 16), n, '+15145550' || n,
			jsonb_build_object('note', repeat('x', 3 << 20)) FROM generate_series(100, 106) n`)
	id := m.draft(t, "large")
	_, err := m.campaigns.Schedule(ctx, "acme", id, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
	require.NoError(t, err)
	for _, written := range []int{3, 6, 7} {
		more, err := m.campaigns.Freeze(ctx, "acme", id, 1000, time.Now())
		require.NoError(t, err)
		require.Equal(t, written < 7, more)
		require.Equal(t, []string{fmt.Sprint(written)}, m.lines(t, "SELECT count(*) FROM messages"))
	}
	m.counted(t)
}

// A transaction that breaks off leaves a campaign as it was, and the next one goes on.
func TestFreezeBreaksOff(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	m.exec(t, `INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone)
		SELECT 'acme', now(), now(), substr(sha256(convert_to(n::text, 'UTF8')), 1, 16), n, '+1514555' || n FROM generate_series(1000, 1099) n`)
	id := m.draft(t, "a")
	_, err := m.campaigns.Schedule(ctx, "acme", id, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	_, err = m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
	require.NoError(t, err)
	_, err = m.campaigns.Freeze(ctx, "acme", id, 60, time.Now())
	require.NoError(t, err)
	dbtest.Alter(t, m.pool, `CREATE FUNCTION kill() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$`)
	dbtest.Alter(t, m.pool, `CREATE TRIGGER kill AFTER UPDATE ON campaigns EXECUTE FUNCTION kill()`)
	_, err = m.campaigns.Freeze(ctx, "acme", id, 60, time.Now())
	require.Error(t, err)
	dbtest.Alter(t, m.pool, `DROP TRIGGER kill ON campaigns`)
	require.Equal(t, []string{"60"}, m.lines(t, "SELECT count(*) FROM messages"))
	more, err := m.campaigns.Freeze(ctx, "acme", id, 60, time.Now())
	require.NoError(t, err)
	require.False(t, more)
	c, err := m.campaigns.Get(ctx, "acme", id)
	require.NoError(t, err)
	require.Equal(t, campaign.Counts{Waiting: 100}, c.Counts)
	m.counted(t)
}

// A campaign that cannot be carried out is a dead letter, and is started again when that is replayed, unless it was
// canceled after messages of it were written.
func TestAbandonCampaign(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	letters := db.NewDeadLetters(m.pool, dboutreach.Reopeners())
	m.exec(t, `INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone)
		VALUES ('acme', now(), now(), '\x01', 'a', '+15145550101')`)
	start := func(id uuid.UUID) {
		_, err := m.campaigns.Begin(ctx, "acme", id, time.Now().Add(time.Second))
		require.NoError(t, err)
	}
	finish := func(id uuid.UUID) {
		c, err := m.campaigns.Finish(ctx, "acme", id, time.Now())
		require.NoError(t, err)
		require.NotNil(t, c.FinishedAt)
	}
	replay := func() error {
		_, err := letters.ReplayAll(ctx, db.LetterFilter{Tenant: "acme"}, 10, "zoe", time.Now())
		return err
	}
	id := m.draft(t, "a")
	_, err := m.campaigns.Schedule(ctx, "acme", id, time.Now(), "zoe", time.Now())
	require.NoError(t, err)
	start(id)
	for range 2 {
		require.NoError(t, m.campaigns.Abandon(ctx, "acme", id, "the segment is gone", time.Now()))
	}
	finish(id)
	read := "SELECT d.queue, d.tenant, d.state, d.deaths, d.reason, c.state FROM dead_letters d, campaigns c"
	require.Equal(t, []string{"campaigns acme open 1 the segment is gone canceled"}, m.lines(t, read))

	require.NoError(t, replay())
	require.Equal(t, []string{"campaigns acme replayed 1 the segment is gone queued"}, m.lines(t, read))
	start(id)
	require.NoError(t, m.campaigns.Abandon(ctx, "acme", id, "the list is gone", time.Now()))
	require.NoError(t, replay())
	start(id)
	more, err := m.campaigns.Freeze(ctx, "acme", id, 10, time.Now())
	require.NoError(t, err)
	require.False(t, more)
	token, claims := m.claim(t, 10)
	m.record(t, token, accepted, claims...)
	finish(id)
	require.Equal(t, []string{"campaigns acme resolved 2 the list is gone done"}, m.lines(t, read))
	m.exec(t, "UPDATE dead_letters SET state = 'open'")
	_, err = letters.Replay(ctx, 1, false, "zoe", time.Now())
	require.ErrorContains(t, err, "is done: it is not started again")
	m.counted(t)
}

// What is canceled never is sent, and what was sent stays so.
func TestCancelCampaign(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, 25)
	token, claims := m.claim(t, 5)
	m.record(t, token, accepted, claims[:3]...)
	n, err := m.campaigns.Drop(ctx, "acme", id, 10)
	require.NoError(t, err)
	require.Zero(t, n, "it is not canceled")
	_, err = m.campaigns.Cancel(ctx, "acme", id, "a mistake", "zoe", time.Now())
	require.NoError(t, err)
	for _, want := range []int64{10, 10, 0} {
		n, err := m.campaigns.Drop(ctx, "acme", id, 10)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	c, err := m.campaigns.Finish(ctx, "acme", id, time.Now())
	require.NoError(t, err)
	require.Nil(t, c.FinishedAt, "two are being sent")
	m.record(t, token, refusal(131000), claims[3])
	m.record(t, token, accepted, claims[4])
	_, rest := m.claim(t, 50)
	require.Empty(t, rest)
	n, err = m.campaigns.Drop(ctx, "acme", id, 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	c, err = m.campaigns.Finish(ctx, "acme", id, time.Now())
	require.NoError(t, err)
	require.Equal(t, campaign.Canceled, c.State)
	require.NotNil(t, c.FinishedAt)
	require.Equal(t, campaign.Counts{Sent: 4, Skipped: 21}, c.Counts)
	m.counted(t)
	_, err = m.campaigns.RetryFailed(ctx, "acme", id, "zoe", time.Now())
	require.Equal(t, fault.Conflict, fault.ClassOf(err))
	list, next, err := m.OfCampaign(ctx, "acme", id, dboutreach.MessageFilter{}, nil, 20)
	require.NoError(t, err)
	require.Equal(t, campaign.MessageSent, list[0].State)
	list, next, err = m.OfCampaign(ctx, "acme", id, dboutreach.MessageFilter{State: []campaign.Status{campaign.MessageSkipped}}, next, 20)
	require.NoError(t, err)
	require.Len(t, list, 25-20)
	require.Nil(t, next)
}

// Those that may succeed are sent again, each once more with all its attempts, and the campaign ends a second time.
func TestRetryFailed(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.running(t, "a", m.sender, 4)
	token, claims := m.claim(t, 4)
	m.record(t, token, refusal(131026), claims[0])
	m.record(t, token, accepted, claims[1])
	m.record(t, token, lost, claims[2])
	m.record(t, token, refusal(131000), claims[3])
	for range 2 {
		m.exec(t, "UPDATE messages SET due_at = now() - interval '1 s'")
		token, again := m.claim(t, 4)
		require.Len(t, again, 1)
		m.record(t, token, refusal(131000), again...)
	}
	require.Equal(t, []string{"open"}, m.lines(t, "SELECT state FROM dead_letters"))
	_, err := m.campaigns.Finish(ctx, "acme", id, time.Now())
	require.NoError(t, err)
	n, err := m.campaigns.RetryFailed(ctx, "acme", id, "zoe", time.Now())
	require.NoError(t, err)
	require.Equal(t, 1, n, "neither the recipient that cannot be reached nor the answer that was lost")
	require.Equal(t, []string{"resolved"}, m.lines(t, "SELECT state FROM dead_letters"))
	m.counted(t)
	for range 3 {
		m.exec(t, "UPDATE messages SET due_at = now() - interval '1 s'")
		token, again := m.claim(t, 4)
		require.Len(t, again, 1)
		m.record(t, token, refusal(131000), again...)
	}
	require.Equal(t, []string{"open", "resolved"}, m.lines(t, "SELECT state FROM dead_letters ORDER BY state"))
	c, err := m.campaigns.Finish(ctx, "acme", id, time.Now().Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, campaign.Done, c.State)
	require.Equal(t, campaign.Counts{Unknown: 1, Sent: 1, Failed: 2}, c.Counts)
	require.Equal(t, []string{"2"}, m.lines(t, "SELECT count(*) FROM outbox WHERE routing_key = 'campaign.completed'"))
	row, attempts, err := m.Get(ctx, "acme", claims[3].ID)
	require.NoError(t, err)
	require.Equal(t, 6, row.Attempts)
	require.Len(t, attempts, 6)
	m.counted(t)
}

// Results, reports, pauses and retries at once: nothing locks up, and every count is right in the end.
func TestCampaignAtOnce(t *testing.T) {
	t.Parallel()

	const messages = 300
	m, ctx := newMailing(t), t.Context()
	ids := []uuid.UUID{m.running(t, "a", m.sender, messages), m.running(t, "b", m.sender, messages)}
	sent := make(chan campaign.Claim, 10*messages)
	var work, reports errgroup.Group
	for w := range 3 {
		work.Go(func() error {
			for i := 0; ; i++ {
				token := uuid.New()
				claims, err := m.Claim(ctx, campaign.Take{Tenant: "acme", Max: 20, Token: token, Lease: time.Hour})
				if err != nil || len(claims) == 0 && i > 20 {
					return err
				}
				var results []campaign.Result
				for n, c := range claims {
					r := campaign.Result{Claim: c, Verdict: accepted, WAMID: wamid(c.ID, c.Attempts+1), At: time.Now()}
					if (w+n)%5 == 0 {
						r.Verdict, r.WAMID = refusal(132012), ""
						r.Class = campaign.ClassTransient
					} else {
						sent <- c
					}
					results = append(results, r)
				}
				if _, err := m.Record(ctx, "acme", token, results, time.Now()); err != nil {
					return err
				}
			}
		})
	}
	for range 2 {
		reports.Go(func() error {
			var batch []campaign.Report
			for c := range sent {
				for _, s := range []campaign.Status{campaign.MessageRead, campaign.MessageDelivered} {
					batch = append(batch, campaign.Report{
						PhoneNumberID: "acme", WAMID: wamid(c.ID, c.Attempts+1), Message: c.ID, Status: s, At: time.Now(),
					})
				}
				if len(batch) < 30 {
					continue
				}
				id, err := m.hooks.Store(ctx, []byte(uuid.NewString()), len(batch), 0, time.Now())
				if err == nil {
					_, err = m.hooks.Apply(ctx, id, batch, nil, time.Now())
				}
				if err != nil {
					return err
				}
				batch = nil
			}
			return nil
		})
	}
	work.Go(func() error {
		for i := range 10 {
			_, err := m.campaigns.Pause(ctx, "acme", ids[i%2], "", "zoe", time.Now())
			_, err2 := m.campaigns.RetryFailed(ctx, "acme", ids[(i+1)%2], "zoe", time.Now())
			_, err3 := m.campaigns.Resume(ctx, "acme", ids[i%2], "zoe", time.Now())
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, work.Wait())
	close(sent)
	require.NoError(t, reports.Wait())
	m.counted(t)
}

// With 100,000 messages of one tenant, as many of a campaign that is paused, and some of twenty others, a claim looks
// at what it takes, before the planner knows the table and after, and so do the statements beside it.
func TestClaimPlan(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	tenants := []string{"acme"}
	for i := range 20 {
		tenants = append(tenants, fmt.Sprint("t", i))
		m.tenant(t, tenants[i+1])
	}
	m.exec(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, created_by, created_at, updated_at)
		SELECT gen_random_uuid(), s.tenant, k, s.id, '{}', '{}', k, '', now(), now()
		FROM senders s CROSS JOIN unnest('{running,paused}'::text[]) k`)
	fill := func(n int, of, where string) {
		m.exec(t, `INSERT INTO messages (id, tenant, campaign, sender, kind, recipient, digest, body, due_at, queued_at)
			SELECT gen_random_uuid(), c.tenant, `+of+`, c.sender, CASE WHEN `+of+` IS NULL THEN 'transactional' ELSE 'campaign' END,
				'+15145550199', '', '{"type": "text"}', now() - n * interval '1 ms', now()
			FROM campaigns c CROSS JOIN generate_series(1, $1) n WHERE `+where, n)
	}
	fill(60_000, "c.id", "c.tenant = 'acme'")
	fill(40_000, "NULL::uuid", "c.tenant = 'acme' AND c.state = 'running'")
	fill(50, "c.id", "c.tenant <> 'acme' AND c.state = 'running'")
	m.exec(t, `UPDATE messages SET due_at = now() + interval '1 hour' WHERE id IN (
		SELECT id FROM messages WHERE tenant = 'acme' AND campaign IS NULL ORDER BY due_at LIMIT 20000)`)
	m.exec(t, `UPDATE messages SET attempts = 1, due_at = now() - interval '1 hour' WHERE id IN (
		SELECT id FROM messages WHERE tenant = 'acme' AND due_at <= now() LIMIT 20000)`)
	texts := dbtest.Statements(t)
	args := func(tenant string) []any {
		return []any{tenant, 20, nil, uuid.New(), time.Hour, "opted_out", false, nil, nil}
	}
	for _, before := range []string{"SELECT", "ANALYZE"} {
		dbtest.Alter(t, m.pool, before)
		for _, tenant := range []string{"acme", "t7"} {
			for name, args := range map[string][]any{
				"sqlMessageClaim": args(tenant), "sqlMessageWaiting": {tenant}, "sqlMessageTenants": {"", 100},
			} {
				conn, err := m.pool.Acquire(ctx)
				require.NoError(t, err)
				var plans []struct{ Plan dbtest.Explained }
				err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{
					BeginQuery: "BEGIN; SELECT set_config('conveyor.tenant', '*', true)",
				}, func(tx pgx.Tx) error {
					for _, set := range []string{texts["sqlMessagePlan"], "SET LOCAL plan_cache_mode = force_generic_plan"} {
						if _, err := tx.Exec(ctx, set); err != nil {
							return err
						}
					}
					if err := tx.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+texts[name], args...).Scan(&plans); err != nil {
						return err
					}
					return errRollback
				})
				conn.Release()
				require.ErrorIs(t, err, errRollback, name)
				if name == "sqlMessageClaim" {
					require.Equal(t, 20, plans[0].Plan.Rows)
				}
				require.Less(t, plans[0].Plan.Most(), 1000, "%s of %s after %s: rows that one step looked at", name, tenant, before)
			}
		}
	}
}

// What looks messages up does it by an index, under plans for any arguments, before the planner knows the tables and
// after.
func TestMessagePlans(t *testing.T) {
	t.Parallel()

	m, ctx, texts := newMailing(t), t.Context(), dbtest.Statements(t)
	id := m.running(t, "a", m.sender, 3000)
	for range 5 {
		token, claims := m.claim(t, 100)
		m.record(t, token, accepted, claims...)
	}
	m.exec(t, `UPDATE messages SET wa_user_was = o.was FROM (SELECT id, 'CA.' || n || CASE WHEN n > 995 THEN ' CA.0' ELSE '' END AS was
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM messages) m WHERE n <= 1000) o WHERE messages.id = o.id`)
	for set, names := range map[string][]string{
		"SELECT": {"sqlMessageExpire", "sqlMessageReleaseRest", "sqlCampaignRetry", "sqlCampaignDrop",
			"sqlMessagesOfCampaign", "sqlMessagesOfCampaignSome", "sqlMessagesDirect", "sqlMessagesDirectSome", "sqlMessageGet", "sqlMessageAttempts"},
		strings.ReplaceAll(texts["sqlMessagePlan"], "true)", "false)"): {"sqlMessageRelease", "sqlMessageRecord",
			"sqlReportFind", "sqlReportApply", "sqlMessageDead", "sqlWebhookAnswered"},
	} {
		conn, err := m.pool.Acquire(ctx)
		require.NoError(t, err)
		defer conn.Release()
		for _, sql := range []string{set, "SET plan_cache_mode = force_generic_plan"} {
			_, err = conn.Exec(ctx, sql)
			require.NoError(t, err)
		}
		for _, before := range []string{"SELECT", "ANALYZE"} {
			dbtest.Alter(t, m.pool, before)
			for _, name := range names {
				plan := dbtest.GenericPlan(ctx, t, conn.Conn(), name+before, texts[name])
				for _, table := range []string{"messages", "message_attempts", "contacts"} {
					require.NotContains(t, plan, "Seq Scan on "+table, "%s after %s", name, before)
				}
				if name == "sqlWebhookAnswered" {
					require.Contains(t, plan, "Scan using messages_wa_users_were ", before)
				}
			}
		}
	}
	require.NoError(t, m.system(ctx, func(tx pgx.Tx) error {
		for _, state := range []string{"sent", "failed"} {
			plan := dbtest.CustomPlan(ctx, t, tx, texts["sqlMessagesOfCampaign"], "acme", id, []string{state}, nil, nil, 51)
			require.Regexp(t, `Scan using messages_campaign .*\n.*Index Cond: .*state = '`+state, plan)
			require.NotContains(t, plan, "Sort")
		}
		return nil
	}))
}

// A filter that few messages of a campaign pass looks at 10,000 for a page, and the list goes on from there.
func TestMessagesOfCampaignSparse(t *testing.T) {
	t.Parallel()

	m, ctx := newMailing(t), t.Context()
	id := m.draft(t, "a")
	m.exec(t, `INSERT INTO messages (id, tenant, campaign, sender, kind, state, class, digest, recipient, body, due_at, queued_at)
		SELECT lpad(to_hex(n), 32, '0')::uuid, 'acme', $1, $2, 'campaign', 'failed', CASE n WHEN 20001 THEN 'recipient' ELSE '' END,
			'', '', '{}', now(), now() FROM generate_series(1, 20001) n`, id, m.sender)
	f := dboutreach.MessageFilter{
		State: []campaign.Status{campaign.MessageFailed}, Class: []campaign.Class{"recipient"}, Code: []string{"0"},
	}
	var next *dboutreach.MessagePosition
	for _, want := range []int{0, 0, 1} {
		list, after, err := m.OfCampaign(ctx, "acme", id, f, next, 20)
		require.NoError(t, err)
		require.Len(t, list, want)
		require.Equal(t, want > 0, after == nil)
		next = after
	}
}

var errRollback = errors.New("roll back")

// BenchmarkDispatch is what Postgres takes of a message: a claim of 50, and their results with their attempts and
// events, by four workers.
func BenchmarkDispatch(b *testing.B) {
	m := newMailing(b)
	var claim, record time.Duration
	m.running(b, "a", m.sender, max(b.N, 1000))
	ctx := b.Context()
	b.ResetTimer()
	var work errgroup.Group
	for w := range 4 {
		work.Go(func() error {
			for {
				at, token := time.Now(), uuid.New()
				claims, err := m.Claim(ctx, campaign.Take{Tenant: "acme", Max: 50, Token: token, Lease: time.Hour})
				if err != nil || len(claims) == 0 {
					return err
				}
				var results []campaign.Result
				for _, c := range claims {
					results = append(results, campaign.Result{Claim: c, Verdict: accepted, WAMID: wamid(c.ID, 1), At: at})
				}
				claimed := time.Now()
				if _, err := m.Record(ctx, "acme", token, results, at); err != nil {
					return err
				}
				if w == 0 {
					claim, record = claim+claimed.Sub(at), record+time.Since(claimed)
				}
			}
		})
	}
	require.NoError(b, work.Wait())
	b.ReportMetric(float64(max(b.N, 1000))/b.Elapsed().Seconds(), "messages/s")
	all := claim + record
	b.ReportMetric(100*claim.Seconds()/all.Seconds(), "%claim")
	b.ReportMetric(100*record.Seconds()/all.Seconds(), "%record")
}

// A campaign that comes to its turn after its latest time is paused, with the reason, and nothing of it is claimed until
// a person resumes it.
func TestCampaignStartsLate(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	ctx, now, s := t.Context(), time.Now().UTC().Truncate(time.Microsecond).Add(-200*time.Hour), m.campaigns
	begin := func(late time.Duration) dboutreach.Campaign {
		t.Helper()
		id := m.draft(t, uuid.NewString())
		c, err := s.ScheduleUntil(ctx, "acme", id, now, new(now.Add(time.Hour)), "zoe", now)
		require.NoError(t, err)
		require.Equal(t, now.Add(time.Hour), c.NotAfter.UTC())
		c, err = s.Begin(ctx, "acme", id, now.Add(late))
		require.NoError(t, err)
		return c
	}
	require.Equal(t, campaign.Running, begin(time.Hour).State)
	c := begin(time.Hour + time.Second)
	require.Equal(t, campaign.Paused, c.State)
	require.Contains(t, c.Reason, "was to start by "+now.Add(time.Hour).Format("2006-01-02 15:04")+" UTC")
	require.NotNil(t, c.FrozenAt)
	_, err := s.Begin(ctx, "acme", c.ID, now.Add(2*time.Hour))
	dbtest.RequireClass(t, fault.Conflict, err)
	require.Equal(t, int64(1), dbtest.Count(t, m.pool,
		"audit WHERE action = 'campaign.paused' AND actor = 'conveyor' AND detail->>'tenant' = 'acme'"))
	c, err = s.Resume(ctx, "acme", c.ID, "zoe", now.Add(3*time.Hour))
	require.NoError(t, err)
	require.Equal(t, campaign.Running, c.State, "a person wants it")

	again := m.draft(t, "again")
	_, err = s.ScheduleUntil(ctx, "acme", again, now, &now, "zoe", now)
	require.NoError(t, err)
	c, err = s.Unschedule(ctx, "acme", again, "zoe", now)
	require.NoError(t, err)
	require.Nil(t, c.NotAfter)
	_, err = s.Schedule(ctx, "acme", again, now, "zoe", now)
	require.NoError(t, err)
	c, err = s.Begin(ctx, "acme", again, now.Add(100*time.Hour))
	require.NoError(t, err)
	require.Equal(t, campaign.Running, c.State, "without a latest time")
}

// A campaign of ScheduleWithin is late by the time for which nobody looked at it, and not by its wait for others of its
// tenant: however many there are, all begin. One with a latest time that a person gave is late by both.
func TestCampaignWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	ctx, at := t.Context(), time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	const late = 5 * time.Minute
	for name, tt := range map[string]struct {
		away   int // minutes, after the third cycle
		person bool
		paused int
	}{
		"a queue of seven minutes":                     {0, false, 0},
		"and an outage that is short enough":           {4, false, 0},
		"and a longer one":                             {5, false, 8},
		"a queue of seven minutes, and a time to keep": {0, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMailing(t)
			s := m.campaigns
			for n := range 14 {
				id := m.draft(t, fmt.Sprint(n))
				var err error
				if tt.person {
					_, err = s.ScheduleUntil(ctx, "acme", id, at, new(at.Add(late)), "zoe", at)
				} else {
					_, err = s.ScheduleWithin(ctx, "acme", id, at, late, "zoe", at)
				}
				require.NoError(t, err)
			}
			cycle := func(now time.Time) bool {
				ready, err := s.Ready(ctx, now)
				require.NoError(t, err)
				var ids []uuid.UUID
				for _, r := range campaign.Select(ready) {
					ids = append(ids, r.ID)
				}
				leased, err := s.Lease(ctx, ids, now, now.Add(campaign.Lease))
				require.NoError(t, err)
				for range 2 { // it may be repeated
					require.NoError(t, s.Wait(ctx, now))
				}
				for _, id := range leased {
					_, err := s.Begin(ctx, "acme", id, now)
					require.NoError(t, err)
				}
				return len(ready) > 0
			}
			now := at
			for n := 0; cycle(now); n++ {
				if now = now.Add(time.Minute); n == 2 {
					now = now.Add(time.Duration(tt.away) * time.Minute)
				}
			}
			require.Equal(t, []int64{int64(tt.paused), int64(14 - tt.paused)}, dbtest.Seen(t, m.pool, `
				SELECT count(*) FROM campaigns WHERE state = 'paused'
				UNION ALL SELECT count(*) FROM campaigns WHERE state = 'running'`))
		})
	}
}

// While its tenant is stopped, a campaign does not wait for its turn.
func TestCampaignWaitsForNoStoppedTenant(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	id := m.draft(t, "spring")
	c, err := m.campaigns.ScheduleWithin(ctx, "acme", id, now, time.Hour, "zoe", now)
	require.NoError(t, err)
	require.Equal(t, now.Add(time.Hour), c.NotAfter.UTC())
	latest := func(minutes int) time.Duration {
		t.Helper()
		require.NoError(t, m.campaigns.Wait(ctx, now.Add(time.Duration(minutes)*time.Minute)))
		c, err := m.campaigns.Get(ctx, "acme", id)
		require.NoError(t, err)
		return c.NotAfter.Sub(now)
	}
	stop := func(state db.TenantState) {
		_, err := db.NewTenants(m.pool).Change(ctx, "acme", "test", now, func(t *db.Tenant) { t.State = state })
		require.NoError(t, err)
	}
	require.Equal(t, 62*time.Minute, latest(2))
	stop(db.TenantStopped)
	for minutes := 3; minutes < 10; minutes++ {
		require.Equal(t, 62*time.Minute, latest(minutes))
	}
	stop(db.TenantActive)
	require.Equal(t, 62*time.Minute, latest(10))
	require.Equal(t, 63*time.Minute, latest(11))
	c, err = m.campaigns.ScheduleWithin(ctx, "acme", id, now.Add(time.Minute), time.Hour, "zoe", now)
	require.NoError(t, err)
	require.Equal(t, now.Add(61*time.Minute), c.NotAfter.UTC(), "it was moved")
	require.Equal(t, 63*time.Minute, latest(3))
}

// A process of the release before changes not_after and leaves the rest: what a person gave through it is kept.
func TestNotAfterOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	ctx, now := t.Context(), time.Now().UTC().Truncate(time.Microsecond).Add(-time.Hour)
	after := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	id := m.draft(t, "spring")
	latest := func() time.Time {
		t.Helper()
		c, err := m.campaigns.Get(ctx, "acme", id)
		require.NoError(t, err)
		return c.NotAfter.UTC()
	}
	_, err := m.campaigns.ScheduleWithin(ctx, "acme", id, now, time.Hour, "zoe", now)
	require.NoError(t, err)
	require.NoError(t, m.campaigns.Wait(ctx, after(1)))
	require.Equal(t, after(61), latest())
	m.exec(t, "UPDATE campaigns SET scheduled_at = $2, not_after = $3, updated_at = $2 WHERE id = $1", id, now, after(30))
	for minute := 2; minute < 5; minute++ {
		require.NoError(t, m.campaigns.Wait(ctx, after(minute)))
	}
	require.Equal(t, after(30), latest())
	leased, err := m.campaigns.Lease(ctx, []uuid.UUID{id}, after(5), after(6))
	require.NoError(t, err)
	require.Len(t, leased, 1)
	require.Equal(t, after(30), latest())

	_, err = m.campaigns.ScheduleWithin(ctx, "acme", id, now, time.Hour, "zoe", after(7))
	require.NoError(t, err)
	require.NoError(t, m.campaigns.Wait(ctx, after(2)))
	require.Equal(t, after(62), latest(), "through this release")
}
