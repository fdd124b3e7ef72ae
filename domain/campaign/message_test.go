package campaign_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
)

func TestMessageIDs(t *testing.T) {
	t.Parallel()

	a, b := uuid.UUID{1}, uuid.UUID{2}
	seen := map[uuid.UUID]bool{}
	for _, id := range []uuid.UUID{
		campaign.MessageID(a, 1), campaign.MessageID(a, 12), campaign.MessageID(b, 1),
		campaign.TransactionalID("acme", "k"), campaign.TransactionalID("acm", "ek"), campaign.TransactionalID("acme", "k2"),
		campaign.EventID(a, campaign.MessageSent, 1), campaign.EventID(a, campaign.MessageSent, 2),
		campaign.EventID(a, campaign.MessageRead, 1),
	} {
		require.False(t, seen[id])
		require.EqualValues(t, 5, id.Version())
		seen[id] = true
	}
	require.Equal(t, campaign.MessageID(a, 1), campaign.MessageID(a, 1))
	require.Equal(t, uuid.UUID{1}, a, "it is not changed")
}

// What becomes of a message, for each outcome and number of attempts.
func TestNext(t *testing.T) {
	t.Parallel()

	answer := func(code int) campaign.Verdict {
		return campaign.Judge(campaign.Answer{Status: 400, Error: &campaign.APIError{Code: code}})
	}
	for _, tt := range []struct {
		name            string
		verdict         campaign.Verdict
		attempts, spent int
		status          campaign.Status
		wait, pause     time.Duration
		givenUp         bool
	}{
		{"accepted", campaign.Verdict{Outcome: campaign.Accepted}, 0, 0, campaign.MessageSent, 0, 0, false},
		{"a fault", answer(131000), 0, 0, campaign.MessageQueued, 10 * time.Second, 0, false},
		{"a fault again", answer(131000), 1, 1, campaign.MessageQueued, 30 * time.Second, 0, false},
		{"a fault after pauses", answer(131000), 5, 0, campaign.MessageQueued, 10 * time.Second, 0, false},
		{"the last fault", answer(131000), 2, 2, campaign.MessageFailed, 0, 0, true},
		{"too fast", answer(130429), 0, 0, campaign.MessageQueued, 0, 2 * time.Second, false},
		{"too fast, without end", answer(130429), 90, 0, campaign.MessageQueued, 0, 2 * time.Second, false},
		{"to this recipient", answer(131056), 0, 0, campaign.MessageQueued, 4 * time.Second, 0, false},
		{"again", answer(131056), 2, 1, campaign.MessageQueued, 16 * time.Second, 0, false},
		{"the service is away", answer(131016), 0, 0, campaign.MessageQueued, 0, 30 * time.Second, false},
		{"and away", answer(131016), 2, 2, campaign.MessageFailed, 0, 30 * time.Second, true},
		{"no such recipient", answer(131026), 0, 0, campaign.MessageFailed, 0, 0, false},
		{"no such template", answer(132001), 0, 0, campaign.MessageFailed, 0, 0, false},
		{"the token", answer(190), 7, 0, campaign.MessageQueued, 0, 0, false},
		{"lost", campaign.Judge(campaign.Answer{Written: true, Err: context.DeadlineExceeded}), 0, 0,
			campaign.MessageUnknown, 0, 0, false},
		{"not reached", campaign.Judge(campaign.Answer{Err: context.DeadlineExceeded}), 0, 0,
			campaign.MessageQueued, 0, 5 * time.Second, false},
		{"not begun", campaign.Judge(campaign.Answer{Err: context.Canceled}), 0, 0,
			campaign.MessageQueued, time.Millisecond, 0, false},
	} {
		r := campaign.Result{Verdict: tt.verdict, Claim: campaign.Claim{Attempts: tt.attempts, Spent: tt.spent}}
		status, wait := r.Next()
		require.Equal(t, tt.status, status, tt.name)
		require.Equal(t, tt.wait, wait, tt.name)
		require.Equal(t, tt.pause, r.Pause(), tt.name)
		require.Equal(t, tt.givenUp, r.GivenUp(), tt.name)
	}
	for status := range 3 {
		a := campaign.Answer{Status: 500 + status/2, Written: true, Error: []*campaign.APIError{nil, {Code: 131000}, {Code: 99}}[status]}
		r := a.Result(campaign.Claim{Attempts: 1, Spent: 1}, time.Time{}, 0, 0)
		state, wait := r.Next()
		require.Equal(t, []any{campaign.MessageQueued, 30 * time.Second, time.Second}, []any{state, wait, r.Pause()}, status)
		require.True(t, r.Spends)
		r = a.Result(campaign.Claim{Attempts: 9, Spent: 2, Holds: 3}, time.Time{}, 0, 0)
		state, _ = r.Next()
		require.Equal(t, []any{campaign.MessageQueued, 64 * time.Second}, []any{state, r.Pause()}, "nothing else is accepted")
		r = a.Result(campaign.Claim{Attempts: 30, Spent: 2, Holds: 3}, time.Time{}, 0, 0)
		require.True(t, r.GivenUp(), "it is not sent for ever")
		a.After = time.Hour
		r = a.Result(campaign.Claim{}, time.Time{}, 0, 0)
		require.Equal(t, time.Hour, r.Pause())
	}
	away := campaign.Answer{Status: 503, Written: true}.Result(campaign.Claim{Attempts: 2, Spent: 2, Holds: 1}, time.Time{}, 0, 0)
	require.False(t, away.GivenUp(), "the API is away for all")
	media := campaign.Answer{Status: 500, Written: true, Error: &campaign.APIError{Code: 131053}}.Result(campaign.Claim{}, time.Time{}, 0, 0)
	require.Equal(t, campaign.RetryLater, media.Outcome, "one message's file")
	r := campaign.Result{Verdict: answer(130429), Claim: campaign.Claim{Holds: 3}}
	require.Equal(t, 16*time.Second, r.Pause(), "longer after each in a row")
}
