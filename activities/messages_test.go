package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// posts is a queue of messages, and all that a slice needs to send them.
type posts struct {
	mu       sync.Mutex
	sender   uuid.UUID
	waiting  []campaign.Claim
	others   []campaign.Waiting // kinds that are not this slice's
	results  []campaign.Result
	released []uuid.UUID
	rest     []uuid.UUID // tokens
	sent     map[uuid.UUID]int
	caps     [][]campaign.Cap
	late     int           // passes that come too late
	lose     int           // claims that are stored, and whose answer is lost
	resting  uuid.UUID     // a sender with messages that gets no pass
	none     time.Duration // for which there are no passes after the first three
	away     int           // calls of ReleaseRest that fail
	looks    int
	first    bool   // what waits was not tried before
	line     error  // of the sender
	refused  string // a wamid that cannot be stored
	answer   func(c campaign.Claim) (campaign.Answer, error)
}

func newPosts(n int) *posts {
	p := &posts{sender: uuid.New(), sent: map[uuid.UUID]int{}}
	for range n {
		p.waiting = append(p.waiting, campaign.Claim{ID: uuid.New(), Sender: p.sender, QueuedAt: time.Now()})
	}
	p.answer = func(c campaign.Claim) (campaign.Answer, error) {
		return campaign.Answer{Status: 200, ID: "wamid." + c.ID.String(), Written: true}, nil
	}
	return p
}

func (p *posts) Waiting(context.Context, string) ([]campaign.Waiting, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	out := slices.Clone(p.others)
	if p.resting != uuid.Nil {
		out = append(out, campaign.Waiting{Sender: p.resting, Tried: true})
	}
	if len(p.waiting) > 0 {
		out = append(out, campaign.Waiting{Sender: p.sender, Tried: !p.first})
	}
	return out, nil
}

func (p *posts) Claim(_ context.Context, t campaign.Take) ([]campaign.Claim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.Sender != p.sender || t.Lease != time.Minute || !t.Unlimited {
		return nil, fault.Newf(fault.Invalid, "not a claim of a slice: %+v", t)
	}
	n := min(t.Max, len(p.waiting))
	claims := p.waiting[:n]
	p.waiting = p.waiting[n:]
	if p.lose > 0 {
		p.lose--
		p.waiting = append(slices.Clone(claims), p.waiting...) // as ReleaseRest does
		return nil, errors.New("connection reset")
	}
	return claims, nil
}

func (p *posts) Record(_ context.Context, _ string, _ uuid.UUID, results []campaign.Result, _ time.Time) (
	campaign.Recorded, error,
) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.ContainsFunc(results, func(r campaign.Result) bool { return p.refused != "" && r.WAMID == p.refused }) {
		return campaign.Recorded{}, fault.Newf(fault.Invalid, "postgres cannot store it")
	}
	p.results = append(p.results, results...)
	return campaign.Recorded{Stored: len(results)}, nil
}

func (p *posts) Release(_ context.Context, _ string, _ uuid.UUID, ids []uuid.UUID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = append(p.released, ids...)
	return nil
}

func (p *posts) ReleaseRest(_ context.Context, _ string, tokens, _ []uuid.UUID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away > 0 {
		p.away--
		return errors.New("connection refused")
	}
	p.rest = append(p.rest, tokens...)
	return nil
}

func (p *posts) Account(context.Context, string) (campaign.Account, error) {
	return campaign.Account{Tier: campaign.Standard, Senders: 1, Unlimited: true}, nil
}

func (p *posts) Line(context.Context, string, uuid.UUID) (activities.MessageLine, error) {
	return activities.MessageLine{PerSecond: 80, Send: func(_ context.Context, c campaign.Claim) (campaign.Answer, error) {
		p.mu.Lock()
		p.sent[c.ID]++
		p.mu.Unlock()
		return p.answer(c)
	}}, p.line
}

func (p *posts) Take(_ context.Context, n int, caps ...campaign.Cap) ([]activities.MessagePass, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caps = append(p.caps, caps)
	if p.resting != uuid.Nil && slices.Contains(caps, campaign.SenderCap(p.resting, 80)) || p.none > 0 && len(p.caps) > 1 {
		return nil, max(p.none, time.Minute)
	}
	passes := make([]activities.MessagePass, min(n, 3))
	for i := range passes {
		passes[i] = postPass{p}
	}
	return passes, 0
}

type postPass struct{ p *posts }

func (postPass) In() time.Duration { return 0 }
func (postPass) Drop()             {}
func (o postPass) Await(ctx context.Context) bool {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	if o.p.late > 0 {
		o.p.late--
		return false
	}
	return ctx.Err() == nil
}

func (*posts) Sent(campaign.Tier, campaign.Result) {}
func (*posts) Waited(string, time.Duration)        {}
func (*posts) Slice(string, time.Duration)         {}

func (p *posts) dispatching() *activities.Dispatching {
	return &activities.Dispatching{
		Queue: p, Rest: p, Accounts: p, Flow: p, Metrics: p, Slots: make(activities.MessageSlots, 4),
		Rates: map[campaign.Tier]int{campaign.Standard: 10}, Lease: time.Minute, Now: time.Now,
		Dice: func() float64 { return 0 },
	}
}

// run runs a slice, which ends when nothing is due; one of first tries a second later.
func (p *posts) run(t *testing.T, a *activities.Dispatching) activities.DispatchDone {
	t.Helper()

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	got, err := env.ExecuteActivity(a.DispatchMessages, activities.DispatchJob{Tenant: "acme", Tried: !p.first, Slice: 10 * time.Second})
	require.NoError(t, err)
	var done activities.DispatchDone
	require.NoError(t, got.Get(&done))
	require.Empty(t, a.Slots, "each request has given its slot back")
	for id, n := range p.sent {
		require.Equal(t, 1, n, "%s is sent once", id)
	}
	return done
}

func TestDispatchMessages(t *testing.T) {
	t.Parallel()

	stopped := campaign.Answer{Err: context.Canceled}
	for name, tt := range map[string]struct {
		change func(p *posts)
		want   activities.DispatchDone
		check  func(t *testing.T, p *posts)
	}{
		"all are accepted":     {func(*posts) {}, activities.DispatchDone{Accepted: 20}, nil},
		"passes come too late": {func(p *posts) { p.late = 7 }, activities.DispatchDone{Accepted: 20}, nil},
		"the sender cannot be used": {
			func(p *posts) { p.line = fault.Newf(fault.Invalid, "no key") }, activities.DispatchDone{Hold: 30 * time.Second},
			func(t *testing.T, p *posts) {
				t.Helper()
				require.Len(t, p.waiting, 20, "its messages wait")
			},
		},
		"no request can be made": {func(p *posts) {
			p.answer = func(campaign.Claim) (campaign.Answer, error) {
				return campaign.Answer{}, fault.Newf(fault.Invalid, "recipient is neither a phone number nor a user id")
			}
		}, activities.DispatchDone{Failed: 20}, func(t *testing.T, p *posts) {
			t.Helper()
			require.Equal(t, campaign.ClassBadContent, p.results[0].Class)
		}},
		"the requests were not begun": {func(p *posts) {
			p.answer = func(campaign.Claim) (campaign.Answer, error) { return stopped, nil }
		}, activities.DispatchDone{}, func(t *testing.T, p *posts) {
			t.Helper()
			require.Len(t, p.released, 20)
			require.Empty(t, p.results)
		}},
		"what is said of one cannot be stored": {
			func(p *posts) { p.refused = "wamid." + p.waiting[3].ID.String() }, activities.DispatchDone{Accepted: 20},
			func(t *testing.T, p *posts) {
				t.Helper()
				require.Len(t, p.results, 20)
				require.Len(t, slices.DeleteFunc(p.results, func(r campaign.Result) bool { return r.WAMID != "" }), 1)
			},
		},
		"answers are lost": {func(p *posts) {
			p.answer = func(campaign.Claim) (campaign.Answer, error) {
				return campaign.Answer{Written: true, Err: errors.New("EOF")}, nil
			}
		}, activities.DispatchDone{Unknown: 20}, nil},
		"a request panics": {func(p *posts) {
			bad := p.waiting[3].ID
			p.answer = func(c campaign.Claim) (campaign.Answer, error) {
				if c.ID == bad {
					panic("no such body")
				}
				return campaign.Answer{Status: 200, ID: "wamid." + c.ID.String(), Written: true}, nil
			}
		}, activities.DispatchDone{Accepted: 19, Unknown: 1}, nil},
		"the answers of claims are lost": {
			func(p *posts) { p.lose = 2 }, activities.DispatchDone{Accepted: 20},
			func(t *testing.T, p *posts) {
				t.Helper()
				times := map[uuid.UUID]int{}
				for _, token := range p.rest {
					times[token]++
				}
				require.Len(t, times, 2, "what they took is given back")
				for _, n := range times {
					require.Greater(t, n, 1, "a claim may be committed after it was looked for: it is so again at the end")
				}
			},
		},
		"our database is away when a lost claim is given back": {
			func(p *posts) { p.lose, p.away = 1, 3 }, activities.DispatchDone{Accepted: 20},
			func(t *testing.T, p *posts) {
				t.Helper()
				require.NotEmpty(t, p.rest)
			},
		},
		"another sender has to wait": {
			func(p *posts) { p.resting = uuid.New() }, activities.DispatchDone{Accepted: 20},
			func(t *testing.T, p *posts) {
				t.Helper()
				require.LessOrEqual(t, p.looks, 5)
			},
		},
		"claims whose passes came too late get no other": {
			func(p *posts) { p.late, p.none = 3, time.Minute }, activities.DispatchDone{},
			func(t *testing.T, p *posts) {
				t.Helper()
				require.Len(t, p.released, 3, "they do not wait for the end of the slice")
			},
		},
		"first tries wait": {
			func(p *posts) { p.others = []campaign.Waiting{{Sender: p.sender, Transactional: true}} },
			activities.DispatchDone{Accepted: 20},
			func(t *testing.T, p *posts) {
				t.Helper()
				require.Contains(t, p.caps[0], campaign.RetryCap("acme", 10))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPosts(20)
			tt.change(p)
			done := p.run(t, p.dispatching())
			if p.resting != uuid.Nil || p.none > 0 { // the slice ends, for none may send soon
				require.InDelta(t, time.Minute, done.Hold, float64(5*time.Second))
				done.Hold = 0
			}
			require.Equal(t, tt.want, done)
			if tt.check != nil {
				tt.check(t, p)
			}
		})
	}
}

func TestPlanDispatch(t *testing.T) {
	t.Parallel()

	p := newPosts(1)
	p.others = []campaign.Waiting{{Sender: p.sender, Wait: time.Minute}, {Sender: p.sender, Wait: time.Minute, Transactional: true}}
	got, err := (&activities.Dispatching{Queue: p}).PlanDispatch(t.Context(), activities.DispatchQuery{Tenant: "acme"})
	require.NoError(t, err)
	require.Equal(t, activities.DispatchPlan{
		First: activities.DispatchKind{Any: true, Wait: time.Minute, Transactional: true}, Tried: activities.DispatchKind{Any: true},
	}, got)
}

// A campaignBook is one campaign.
type campaignBook struct {
	campaign.Progress
	freezes, drops int
	refuse         error
	cannot         error // of the start of the first campaign
	woken, started int
	waited         int // campaigns that were started before those that wait were noted
	reason         string
}

func (b *campaignBook) get() campaign.Progress {
	p := b.Progress
	p.Written = p.State != campaign.Queued && b.freezes == 0
	return p
}

func (b *campaignBook) Begin(context.Context, string, uuid.UUID, time.Time) error {
	b.State = campaign.Running
	return nil
}

func (b *campaignBook) Abandon(_ context.Context, _ string, _ uuid.UUID, reason string, _ time.Time) error {
	b.State, b.reason = campaign.Canceled, reason
	return nil
}

func (b *campaignBook) Finish(context.Context, string, uuid.UUID, time.Time) (campaign.Progress, error) {
	p := b.get()
	p.Ended = p.State == campaign.Canceled && b.drops == 0 || p.State == campaign.Running && p.Written && p.Counts.Waiting == 0
	return p, nil
}

func (b *campaignBook) Freeze(context.Context, string, uuid.UUID, int, time.Time) (bool, error) {
	if b.refuse != nil {
		return false, b.refuse
	}
	b.freezes--
	b.Counts.Waiting += 1000
	return b.freezes > 0, nil
}

func (b *campaignBook) Drop(context.Context, string, uuid.UUID, int) (int64, error) {
	if b.drops == 0 {
		return 0, nil
	}
	b.drops--
	return 1000, nil
}

func (b *campaignBook) StartCampaign(context.Context, string, uuid.UUID) (err error) {
	if b.cannot != nil {
		err, b.cannot = b.cannot, nil
		return err
	}
	b.started++
	return nil
}

func (b *campaignBook) WakeDispatch(context.Context, string) error {
	b.woken++
	return nil
}

func (b *campaignBook) Ready(context.Context, time.Time) (out []campaign.Ready, err error) {
	for i := range 6 {
		out = append(out, campaign.Ready{ID: uuid.New(), Tenant: fmt.Sprint("t", i/3)})
	}
	return out, nil
}

func (b *campaignBook) Lease(_ context.Context, ids []uuid.UUID, _, _ time.Time) ([]uuid.UUID, error) {
	return ids[1:], nil // another scheduler has one
}

func (b *campaignBook) Wait(context.Context, time.Time) error {
	b.waited = b.started
	return nil
}

// bookStore has the progress of a campaign under the name that its embedded field takes.
type bookStore struct{ *campaignBook }

func (s bookStore) Progress(context.Context, string, uuid.UUID, time.Time) (campaign.Progress, error) {
	return s.get(), nil
}

func TestTendCampaign(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		book  campaignBook
		state campaign.State
		ended bool
		woken int
	}{
		"its time has come":         {campaignBook{Progress: campaign.Progress{State: campaign.Queued, Due: true}, freezes: 3}, campaign.Running, false, 3},
		"it was put off":            {campaignBook{Progress: campaign.Progress{State: campaign.Queued}}, campaign.Queued, true, 0},
		"its time is about to come": {campaignBook{Progress: campaign.Progress{State: campaign.Queued, Soon: true}}, campaign.Queued, false, 0},
		"it is a draft again":       {campaignBook{Progress: campaign.Progress{State: campaign.Draft}}, campaign.Draft, true, 0},
		"it was paused at once":     {campaignBook{Progress: campaign.Progress{State: campaign.Paused}, freezes: 2}, campaign.Paused, false, 0},
		"its messages wait":         {campaignBook{Progress: campaign.Progress{State: campaign.Running, Counts: campaign.Counts{Waiting: 5}}}, campaign.Running, false, 1},
		"none of them waits":        {campaignBook{Progress: campaign.Progress{State: campaign.Running}}, campaign.Running, true, 0},
		"it was canceled":           {campaignBook{Progress: campaign.Progress{State: campaign.Canceled}, drops: 4}, campaign.Canceled, true, 0},
		"its audience was deleted":  {campaignBook{Progress: campaign.Progress{State: campaign.Running}, freezes: 1, refuse: fault.Newf(fault.Invalid, "no list")}, campaign.Canceled, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &tt.book
			a := &activities.Campaigns{Store: bookStore{b}, Messages: b, Cycle: b, Start: b, Now: time.Now}
			p, err := a.TendCampaign(t.Context(), activities.CampaignJob{Tenant: "acme"})
			require.NoError(t, err)
			require.Equal(t, tt.state, p.State)
			require.Equal(t, tt.ended, p.Ended)
			require.Equal(t, tt.woken, b.woken)
			require.Equal(t, b.refuse != nil, b.reason != "")
		})
	}
}

func TestStartReadyCampaigns(t *testing.T) {
	t.Parallel()

	b := &campaignBook{}
	a := &activities.Campaigns{Store: bookStore{b}, Messages: b, Cycle: b, Start: b, Now: time.Now}
	got, err := a.StartReadyCampaigns(t.Context(), activities.ScheduleJob{})
	require.NoError(t, err)
	require.Equal(t, activities.CampaignsStarted{Ready: 6, Started: 3}, got, "two of each tenant, but for the one that is leased")
	require.Equal(t, 3, b.started)
	require.Equal(t, 3, b.waited, "the others wait for their turn")

	b = &campaignBook{cannot: errors.New("it cannot be started")}
	a = &activities.Campaigns{Store: bookStore{b}, Messages: b, Cycle: b, Start: b, Now: time.Now}
	_, err = a.StartReadyCampaigns(t.Context(), activities.ScheduleJob{})
	require.ErrorContains(t, err, "it cannot be started")
	require.Equal(t, []int{2, 2}, []int{b.started, b.waited}, "one that cannot be started keeps no other")
}
