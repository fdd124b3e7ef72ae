package outreach_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// An answer is of now, whatever the clock of the process said by which the tenant, or the campaign, was changed last.
func TestAnswerAfterChangeByClockAhead(t *testing.T) {
	t.Parallel()

	for code, want := range map[int]string{190: "stopped running", 132015: "active paused"} {
		m := newMailing(t)
		m.running(t, "a", m.sender, 2)
		m.exec(t, "UPDATE tenants SET updated_at = now() + interval '2 hours'")
		m.exec(t, "UPDATE campaigns SET updated_at = now() + interval '2 hours'")
		token, claims := m.claim(t, 1)
		m.record(t, token, refusal(code), claims...)
		require.Equal(t, []string{want}, m.lines(t, "SELECT t.state, c.state FROM tenants t, campaigns c"))
	}
}

// A failure that Meta dates later than now is retried as one of now.
func TestRetryOfFailureByClockAhead(t *testing.T) {
	t.Parallel()

	for code, hours := range map[int]string{131000: "0", 131049: "24"} {
		m := newMailing(t)
		id := m.running(t, "a", m.sender, 1)
		token, claims := m.claim(t, 1)
		m.record(t, token, accepted, claims...)
		m.apply(t, campaign.Report{
			WAMID: wamid(claims[0].ID, 1), Status: campaign.MessageFailed, At: time.Now().Add(3 * time.Hour),
			Verdict: refusal(code),
		})
		n, err := m.campaigns.RetryFailed(t.Context(), "acme", id, "zoe", time.Now())
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, []string{hours}, m.lines(t, "SELECT round(extract(epoch FROM due_at - now()) / 3600)::int FROM messages"))
	}
}

// A campaign is started by the clock of Postgres: a process whose clock is ahead neither starts it before its time nor
// takes it for late.
func TestCampaignByClockAhead(t *testing.T) {
	t.Parallel()

	m, ctx, now := newMailing(t), t.Context(), time.Now()
	early, late, ahead := m.draft(t, "early"), m.draft(t, "late"), now.Add(2*time.Hour)
	_, err := m.campaigns.ScheduleWithin(ctx, "acme", early, now.Add(time.Hour), 30*time.Minute, "zoe", now)
	require.NoError(t, err)
	require.NoError(t, m.campaigns.Wait(ctx, now.Add(time.Hour+time.Minute)))
	require.Equal(t, []string{"5400"}, m.lines(t, "SELECT extract(epoch FROM not_after - $1::timestamptz)::int FROM campaigns WHERE id = $2",
		now, early), "it does not wait yet")
	ready, err := m.campaigns.Ready(ctx, ahead)
	require.NoError(t, err)
	require.Empty(t, ready)
	reserved, err := m.campaigns.Reserve(ctx, "acme", early, ahead, ahead.Add(time.Minute))
	require.NoError(t, err)
	require.False(t, reserved)
	_, err = m.campaigns.Begin(ctx, "acme", early, ahead)
	dbtest.RequireClass(t, fault.Conflict, err)

	_, err = m.campaigns.Schedule(ctx, "acme", early, ahead, "zoe", ahead)
	require.NoError(t, err)
	reserved, err = m.campaigns.Reserve(ctx, "acme", early, ahead, ahead.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, reserved, "it is to start at once")

	_, err = m.campaigns.ScheduleUntil(ctx, "acme", late, now.Add(-time.Minute), new(now.Add(time.Hour)), "zoe", now)
	require.NoError(t, err)
	c, err := m.campaigns.Begin(ctx, "acme", late, ahead)
	require.NoError(t, err)
	require.Equal(t, campaign.Running, c.State)
}

// The start of a campaign is reserved by the clock of Postgres: that of a process which is behind lasts, and one that is
// ahead takes none early; nor does it put off the latest time of one that waits.
func TestCampaignLeaseByAnyClock(t *testing.T) {
	t.Parallel()

	m, ctx, now := newMailing(t), t.Context(), time.Now()
	queued := func(name string) []uuid.UUID {
		id := m.draft(t, name)
		_, err := m.campaigns.ScheduleWithin(ctx, "acme", id, now.Add(-time.Minute), 31*time.Minute, "zoe", now)
		require.NoError(t, err)
		return []uuid.UUID{id}
	}
	lease := func(ids []uuid.UUID, off time.Duration) int {
		leased, err := m.campaigns.Lease(ctx, ids, now.Add(off), now.Add(off+campaign.Lease))
		require.NoError(t, err)
		return len(leased)
	}
	behind, ahead := queued("behind"), queued("ahead")
	require.NoError(t, m.campaigns.Wait(ctx, now))
	require.NoError(t, m.campaigns.Wait(ctx, now.Add(2*time.Minute)))
	require.Equal(t, []string{"31", "31"}, m.lines(t, "SELECT floor(extract(epoch FROM not_after - $1::timestamptz) / 60)::int FROM campaigns",
		now), "a minute that it waited")
	require.Equal(t, 1, lease(behind, -10*time.Minute))
	require.Zero(t, lease(behind, 0))
	require.Zero(t, lease(behind, 10*time.Minute))
	require.Equal(t, 1, lease(ahead, 10*time.Minute))
	for _, ids := range [][]uuid.UUID{behind, ahead} {
		reserved, err := m.campaigns.Reserve(ctx, "acme", ids[0], now.Add(10*time.Minute), now.Add(11*time.Minute))
		require.NoError(t, err)
		require.False(t, reserved)
	}
	m.exec(t, "UPDATE campaigns SET lease_until = lease_until - $1::interval", campaign.Lease)
	require.Equal(t, 1, lease(ahead, time.Since(now)+time.Second), "it has lasted no longer")
}

// A message counts on the day of Postgres, whatever the day of the process is: two clocks around midnight would begin
// the count anew each time.
func TestDayByClockAhead(t *testing.T) {
	t.Parallel()

	m := newMailing(t)
	m.exec(t, "UPDATE tenants SET max_messages_day = 9")
	for i, ahead := range []time.Duration{0, 25 * time.Hour, 0} {
		_, err := m.Put(t.Context(), "acme", dboutreach.NewMessage{
			ID: uuid.New(), Sender: m.sender, Recipient: "+15145550101", Body: text("a"),
		}, time.Now().Add(ahead))
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprint(i + 1)}, m.lines(t, "SELECT n FROM message_days"))
	}
}
