package activities_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// A message that comes while the slice of the one before lingers is sent when its workflow is woken; where that runs in
// another process, a quarter of a second later at most, and sooner behind another one. A slice looks seldom meanwhile.
func TestDispatchLingers(t *testing.T) {
	t.Parallel()

	type message struct {
		at   time.Duration
		wake bool // the workflow, in this process
		most time.Duration
	}
	for name, tt := range map[string]struct {
		messages []message
		looks    int // of the slice: before and after each claim, and while it lingers
	}{
		"none":                      {nil, 8},
		"a wake":                    {[]message{{420 * time.Millisecond, true, 0}}, 13},
		"a wake soon":               {[]message{{20 * time.Millisecond, true, 0}}, 10},
		"wakes one after another":   {[]message{{420 * time.Millisecond, true, 0}, {700 * time.Millisecond, true, 0}}, 17},
		"no wake":                   {[]message{{420 * time.Millisecond, false, 250 * time.Millisecond}}, 13},
		"no wake of one of a burst": {[]message{{20 * time.Millisecond, false, 100 * time.Millisecond}}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPosts(1)
				p.first = true
				a, began, sent := p.dispatching(), time.Now(), map[uuid.UUID]time.Duration{}
				answer := p.answer
				p.answer = func(c campaign.Claim) (campaign.Answer, error) {
					p.mu.Lock()
					defer p.mu.Unlock()
					sent[c.ID] = time.Since(began)
					return answer(c)
				}
				over := make(chan activities.DispatchDone, 1)
				go func() { over <- p.run(t, a) }()
				ids, plans := make([]uuid.UUID, len(tt.messages)), 0
				for i, m := range tt.messages {
					time.Sleep(m.at - time.Since(began))
					ids[i] = p.put()
					if m.wake {
						for _, tenant := range []string{"other", "acme"} {
							_, err := a.PlanDispatch(t.Context(), activities.DispatchQuery{Tenant: tenant})
							require.NoError(t, err)
							plans++
						}
					}
				}
				require.Equal(t, activities.DispatchDone{Accepted: 1 + len(ids)}, <-over)
				last := time.Duration(0)
				for i, m := range tt.messages {
					require.LessOrEqual(t, sent[ids[i]]-m.at, m.most)
					last = sent[ids[i]]
				}
				require.LessOrEqual(t, p.looks-plans, tt.looks)
				require.Greater(t, time.Since(began), last+time.Second, "it lingers for a second")
			})
		})
	}
}

// put stores one more message.
func (p *posts) put() uuid.UUID {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := uuid.New()
	p.waiting = append(p.waiting, campaign.Claim{ID: id, Sender: p.sender, QueuedAt: time.Now()})
	return id
}
