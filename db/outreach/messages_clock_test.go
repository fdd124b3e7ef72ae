package outreach_test

import (
	"testing"

	"github.com/stretchr/testify/require"
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
