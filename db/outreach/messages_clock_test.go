package outreach_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
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
