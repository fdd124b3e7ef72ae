package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// campaignShown is what the API says of a campaign.
type campaignShown struct {
	State      string
	Warning    string
	FinishedAt *time.Time `json:"finished_at"`
	Counts     struct{ Total, Waiting, Read, Skipped int64 }
}

// A campaign is started, paused, resumed and canceled by the API: a pause and an end hold within two seconds, what is
// left is sent after it, and once. What Meta reports arrives by the webhook. A message to one person goes before it all.
func TestACampaignThroughTheAPI(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	const messages, rate = 500, 50
	p := newPost(t, fmt.Sprint("CONVEYOR_DISPATCH_STANDARD=", rate))
	sender := p.tenant("acme", campaign.Standard)
	p.start("api")
	p.start("worker")
	var posting sync.WaitGroup
	t.Cleanup(posting.Wait)
	posting.Go(func() { _ = p.api.Run(t.Context()) })
	p.eventually("the API answers", func() bool { return p.get("/health", nil) == http.StatusOK })
	do := func(id uuid.UUID, action string) time.Time {
		t.Helper()
		require.Less(t, p.send("POST", fmt.Sprintf("/campaigns/%s/%s?tenant=acme", id, action), ""), 300, action)
		return time.Now()
	}
	show := func(id uuid.UUID) (c campaignShown) {
		t.Helper()
		require.Equal(t, 200, p.get(fmt.Sprintf("/campaigns/%s?tenant=acme", id), &c))
		return c
	}
	accepted := func(more int) func() bool {
		before := p.api.Counts().Accepted
		return func() bool { return p.api.Counts().Accepted >= before+more }
	}
	// held does an action, and checks that Meta gets no more than what was claimed before it.
	held := func(id uuid.UUID, action string) {
		t.Helper()
		since := do(id, action)
		accepted := p.api.Counts().Accepted
		p.nothingIsBeingSent("acme", id)
		after := p.api.Ledger()[accepted:]
		require.LessOrEqual(t, len(after), 2*rate, "two seconds of sending at the most, however slow the machine")
		if len(after) > 0 {
			t.Logf("%s: the last message was accepted %s after it", action, after[len(after)-1].At.Sub(since).Round(time.Millisecond))
		}
	}

	one := p.campaign("acme", sender, messages)
	do(one, "unschedule")
	do(one, "start")
	p.eventually("it is sent", accepted(30))
	held(one, "pause")
	require.Equal(t, "paused", show(one).State)
	resumed := do(one, "resume")
	p.eventually("it is sent again", accepted(1))
	t.Logf("resume: the first message was accepted after %s", time.Since(resumed).Round(100*time.Millisecond))

	var took []time.Duration
	for n := range 20 {
		start := time.Now()
		body := fmt.Sprintf(`{"sender":"%s","to":"+1514888%04d","body":{"type":"text","text":{"body":"1234"}}}`, sender, n)
		require.Equal(t, http.StatusAccepted, p.send("POST", "/messages?tenant=acme", body))
		to := fmt.Sprintf("1514888%04d", n)
		p.eventually("the message is accepted", func() bool {
			for _, a := range slices.Backward(p.api.Ledger()) {
				if a.To == to {
					took = append(took, a.At.Sub(start))
					return true
				}
			}
			return false
		})
	}
	slices.Sort(took)
	t.Logf("messages beside a campaign: from POST to the API of Meta %s, %s at most", took[len(took)/2], took[len(took)-1])

	p.eventually("it is done, and all of it was read", func() bool {
		c := show(one)
		return c.State == "done" && c.Counts.Read == messages
	})
	require.Empty(t, p.api.Repeated())
	require.Contains(t, p.run("campaigns", "--tenant", "acme", "show", one.String()), fmt.Sprintf("%d, [##########] 100%%", messages))

	two := p.campaign("acme", sender, messages)
	do(two, "unschedule")
	do(two, "start")
	p.eventually("another is sent", accepted(30))
	held(two, "cancel")
	p.eventually("it has ended", func() bool { return show(two).FinishedAt != nil })
	c := show(two)
	require.Equal(t, "canceled", c.State)
	require.Positive(t, c.Counts.Skipped)
	require.Zero(t, c.Counts.Waiting)
	require.EqualValues(t, messages, c.Counts.Total)
	require.Contains(t, p.run("campaigns", "--tenant", "acme", "list"), "canceled")
}
