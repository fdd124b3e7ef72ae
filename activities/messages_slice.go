package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	sendMost = 64 // requests of a slice at once
	// A message is claimed, which marks its request as written, so long before the time of its pass: time enough for the
	// database, and little to lose when the worker is killed in between.
	sendAhead = 40 * time.Millisecond

	lingerFor = time.Second            // a slice ends when nothing is to be sent for so long
	awayLeast = 100 * time.Millisecond // between two tries while our database is away
	heldFor   = 25 * time.Millisecond  // until messages that others hold are looked for again
	lookEvery = 250 * time.Millisecond // while several senders take turns, or first tries go before others

	resultsMost = 128                    // in a transaction
	resultsWait = 200 * time.Millisecond // for more of them, while all are good
	tokenFor    = time.Second
	brokenFor   = 30 * time.Second // until a sender that cannot be used is tried again
	// A claim whose pass was lost is given back so long after it: its campaign may have been paused.
	claimedFor = time.Second
)

// A slice is one activity's work on a tenant. Its goroutine claims, each request has one, and another one records.
type slice struct {
	*Dispatching
	job     DispatchJob
	account campaign.Account
	lines   map[uuid.UUID]MessageLine
	broken  map[uuid.UUID]bool // senders that cannot be used

	due      []uuid.UUID             // senders with messages, in the order of their turns
	resting  map[uuid.UUID]time.Time // when the next pass of a sender may be had
	over     bool                    // no sender may send soon
	soonest  time.Duration           // until one has some, as it was when they were looked for; < 0 = none has
	yields   bool                    // first tries wait, which go before
	looked   time.Time
	lastWork time.Time
	hold     time.Duration

	bell <-chan struct{} // something may be due

	token   uuid.UUID
	tokenAt time.Time
	lost    []uuid.UUID // tokens of claims whose answer was lost

	slots    chan struct{}
	results  chan ended
	requests sync.WaitGroup
	done     DispatchDone // the recorder's, until it has ended

	mu     sync.Mutex
	inHand map[uuid.UUID]uuid.UUID // messages, and the token of their claim: the same one may be claimed anew
}

// ended is a claim that is no longer in hand: with a result, or given back.
type ended struct {
	campaign.Result
	token uuid.UUID
	back  bool
}

// good says that a message was accepted.
func (e *ended) good() bool { return !e.back && e.Outcome == campaign.Accepted }

func newSlice(a *Dispatching, job DispatchJob, account campaign.Account) *slice {
	return &slice{
		Dispatching: a, job: job, account: account, lines: map[uuid.UUID]MessageLine{}, broken: map[uuid.UUID]bool{},
		resting: map[uuid.UUID]time.Time{},
		slots:   make(chan struct{}, sendMost), results: make(chan ended, sendMost), inHand: map[uuid.UUID]uuid.UUID{},
	}
}

// work claims until the slice is over, the worker stops, or there is nothing to do. Then it waits for the requests that
// are being written and records what became of them.
func (s *slice) work(ctx context.Context) (DispatchDone, error) {
	claiming, leave := context.WithTimeout(ctx, s.job.Slice)
	defer leave()
	bell, takeDown := s.bells.hang(s.job.Tenant)
	defer takeDown()
	s.bell = bell
	stop := activity.GetWorkerStopChannel(ctx)
	var others sync.WaitGroup
	others.Go(func() {
		select {
		case <-stop:
			leave()
		case <-claiming.Done():
		}
	})
	var recorded error
	others.Go(func() {
		if recorded = s.record(ctx); recorded != nil {
			leave()
		}
	})
	s.lastWork = s.Now()
	err := s.claims(ctx, claiming)
	leave()
	s.requests.Wait()
	lost := s.insist(ctx, s.settleLost)
	close(s.results)
	others.Wait()
	s.done.Hold = s.hold
	if err == nil {
		err = lost
	}
	if err == nil {
		err = recorded
	}
	return s.done, err
}

// claims takes turns between senders until claiming ends, or nothing is to be sent for a while.
func (s *slice) claims(ctx, claiming context.Context) error {
	for idle := awayLeast; claiming.Err() == nil && !s.over; {
		err := s.look(claiming)
		if err == nil && len(s.due) == 0 {
			if s.idle() {
				return nil
			}
			s.linger(claiming)
			s.looked = time.Time{}
			continue
		}
		if err == nil {
			err = s.turn(ctx, claiming)
		}
		switch {
		case err == nil:
			idle = awayLeast
		case claiming.Err() != nil:
		case final(err):
			return err
		default: // our database is away: it will be back
			activity.GetLogger(ctx).Warn("sending messages: the queue cannot be read", "tenant", s.job.Tenant, "err", err)
			_ = pause(claiming, idle)
			idle, s.looked = min(2*idle, time.Second), time.Time{}
		}
	}
	return nil
}

// idle says that the slice should end, for there is nothing to do within a second.
func (s *slice) idle() bool {
	if len(s.broken) > 0 {
		s.hold = max(s.hold, brokenFor)
	}
	if s.soonest >= 0 && s.soonest <= lingerFor {
		return false
	}
	return s.job.Tried || s.Now().Sub(s.lastWork) > lingerFor
}

// look finds the senders that have messages which are due, where it is not known or may have changed.
func (s *slice) look(ctx context.Context) error {
	now := s.Now()
	if len(s.due) > 0 && (s.account.Senders < 2 && !s.job.Tried || now.Sub(s.looked) < lookEvery) {
		return nil
	}
	select {
	case <-s.bell: // this look is the one that it was rung for
	default:
	}
	waiting, err := s.Queue.Waiting(ctx, s.job.Tenant)
	if err != nil {
		return err
	}
	s.looked, s.soonest, s.yields = now, -1, false
	turns := s.due
	s.due = nil
	for _, w := range waiting { // transactional ones come first
		switch {
		case w.Tried != s.job.Tried:
			s.yields = s.yields || !w.Tried && w.Wait == 0
			continue
		case s.broken[w.Sender]:
			continue
		case w.Wait == 0 && !slices.Contains(s.due, w.Sender):
			s.due = append(s.due, w.Sender)
		}
		if s.soonest < 0 || w.Wait < s.soonest {
			s.soonest = w.Wait
		}
	}
	if len(turns) > 0 && len(s.due) > 1 && !transactional(waiting, s.job.Tried) { // go on after the last turn
		slices.SortStableFunc(s.due, func(a, b uuid.UUID) int { return slices.Index(turns, a) - slices.Index(turns, b) })
	}
	return nil
}

// transactional says whether a transactional message of a kind is due.
func transactional(waiting []campaign.Waiting, tried bool) bool {
	return slices.ContainsFunc(waiting, func(w campaign.Waiting) bool {
		return w.Transactional && w.Wait == 0 && w.Tried == tried
	})
}

// next is the sender whose turn it is: the first that may send now, or, after a wait, the one that may soonest.
func (s *slice) next() (sender uuid.UUID, wait time.Duration) {
	now := s.Now()
	for i, id := range s.due {
		rest := max(0, s.resting[id].Sub(now))
		if i == 0 || rest < wait {
			sender, wait = id, rest
		}
	}
	return sender, wait
}

// turn sends what the next sender may send. While none may, it waits, or ends the slice where that would take long.
func (s *slice) turn(ctx, claiming context.Context) error {
	sender, wait := s.next()
	if wait > 0 {
		s.over = wait > lingerFor
		if s.over {
			s.hold = wait
			return nil
		}
		_ = pause(claiming, min(wait, lookEvery))
		return nil
	}
	s.leave(sender)
	s.due = append(s.due, sender)
	line, err := s.line(claiming, sender)
	if err != nil || line == nil {
		return err
	}
	n := s.acquire(claiming)
	if n == 0 {
		return nil
	}
	caps := s.caps(sender, line)
	passes, again := s.Flow.Take(claiming, n, caps...)
	s.free(n - len(passes))
	if len(passes) == 0 {
		s.resting[sender] = s.Now().Add(max(again, time.Millisecond))
		return nil
	}
	for len(passes) > 0 {
		if pause(claiming, passes[0].In()-sendAhead) != nil {
			break
		}
		k := 1
		for k < len(passes) && passes[k].In() <= sendAhead {
			k++
		}
		taken, err := s.claim(ctx, sender, k)
		for i, c := range taken {
			s.start(ctx, claiming, c, passes[i], line, caps)
		}
		passes = passes[len(taken):]
		if err != nil || len(taken) < k { // nothing more is due
			s.drop(passes)
			if err == nil {
				s.leave(sender)
			}
			if err == nil && len(taken) == 0 { // others hold what is due
				_ = pause(claiming, heldFor)
			}
			return err
		}
	}
	s.drop(passes)
	return nil
}

// leave takes a sender out of the turns until it is known to have messages again.
func (s *slice) leave(sender uuid.UUID) {
	s.due = slices.DeleteFunc(s.due, func(id uuid.UUID) bool { return id == sender })
}

// drop gives back passes that are not used, and their slots.
func (s *slice) drop(passes []MessagePass) {
	for _, p := range passes {
		p.Drop()
	}
	s.free(len(passes))
}

// caps are the limits that a message of a sender is sent under.
func (s *slice) caps(sender uuid.UUID, line *MessageLine) []campaign.Cap {
	rate := s.Rates[s.account.Tier]
	caps := []campaign.Cap{campaign.TenantCap(s.job.Tenant, rate), campaign.SenderCap(sender, line.PerSecond)}
	if s.job.Tried && s.yields {
		caps = append(caps, campaign.RetryCap(s.job.Tenant, rate))
	}
	return caps
}

// line opens a sender, once in a slice. It is nil where that is not possible: its messages wait.
func (s *slice) line(ctx context.Context, sender uuid.UUID) (*MessageLine, error) {
	if line, ok := s.lines[sender]; ok {
		return &line, nil
	}
	line, err := s.Accounts.Line(ctx, s.job.Tenant, sender)
	if err != nil && !final(err) {
		return nil, err
	}
	if err != nil {
		activity.GetLogger(ctx).Error("sender cannot be used", "tenant", s.job.Tenant, "sender", sender, "err", err)
		s.broken[sender] = true
		s.leave(sender)
		return nil, nil
	}
	s.lines[sender] = line
	return &line, nil
}

// acquire waits until the slice and the process may make one more request, and returns how many they may make. While
// many slices run, each has its share.
func (s *slice) acquire(ctx context.Context) (n int) {
	share := func() int { return min(sendMost, max(1, cap(s.Slots)/int(max(1, s.running.Load())))) }
	for len(s.slots) >= share() {
		if pause(ctx, 2*time.Millisecond) != nil {
			return 0
		}
	}
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	select {
	case s.Slots <- struct{}{}:
		n++
	case <-ctx.Done():
		<-s.slots
		return 0
	}
	for len(s.slots) < share() {
		select {
		case s.slots <- struct{}{}:
		default:
			return n
		}
		select {
		case s.Slots <- struct{}{}:
			n++
		default:
			<-s.slots
			return n
		}
	}
	return n
}

// free gives back the right to make n requests.
func (s *slice) free(n int) {
	for range n {
		<-s.Slots
		<-s.slots
	}
}

// claim leases up to n messages of a sender whose requests are written next. ctx is not to end with the slice: Postgres
// may commit a claim that nobody waits for any more, after settleLost has looked for it.
func (s *slice) claim(ctx context.Context, sender uuid.UUID, n int) ([]campaign.Claim, error) {
	now := s.Now()
	if now.Sub(s.tokenAt) > tokenFor {
		s.token, s.tokenAt = uuid.New(), now
		once, cancel := context.WithTimeout(ctx, recordGrace)
		_ = s.settleLost(once)
		cancel()
	}
	claims, err := s.Queue.Claim(ctx, campaign.Take{
		Tenant: s.job.Tenant, Sender: sender, Tried: s.job.Tried, Max: n, Token: s.token, Lease: s.Lease,
		Unlimited: s.account.Unlimited,
	})
	if err != nil {
		s.lost, s.tokenAt = append(s.lost, s.token), time.Time{}
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range claims {
		s.inHand[c.ID] = s.token
	}
	if len(claims) > 0 {
		s.lastWork = now
	}
	return claims, nil
}

// settleLost gives back what was claimed when the answer was lost. Postgres may commit a claim after it was looked
// for, so it is looked for until the slice ends.
func (s *slice) settleLost(ctx context.Context) error {
	if len(s.lost) == 0 {
		return nil
	}
	s.mu.Lock()
	held := slices.Collect(maps.Keys(s.inHand))
	s.mu.Unlock()
	return s.Rest.ReleaseRest(ctx, s.job.Tenant, s.lost, held)
}

// start sends a message at the time of its pass, by a goroutine.
func (s *slice) start(
	ctx, claiming context.Context, c campaign.Claim, pass MessagePass, line *MessageLine, caps []campaign.Cap,
) {
	token, until := s.token, s.Now().Add(claimedFor)
	s.requests.Go(func() {
		defer s.free(1)
		for !pass.Await(ctx) {
			if pass = s.pass(claiming, until, caps); pass == nil {
				s.results <- ended{Result: campaign.Result{Claim: c}, token: token, back: true}
				return
			}
		}
		s.results <- s.send(ctx, c, line, token)
	})
}

// pass waits for another pass until a time; nil when there was none, or claiming has ended.
func (s *slice) pass(claiming context.Context, until time.Time, caps []campaign.Cap) MessagePass {
	for claiming.Err() == nil && s.Now().Before(until) {
		passes, again := s.Flow.Take(claiming, 1, caps...)
		if len(passes) == 1 {
			return passes[0]
		}
		_ = pause(claiming, min(max(again, time.Millisecond), until.Sub(s.Now())))
	}
	return nil
}

// send makes the request of a message. One that is under way goes on when the slice is taken from this worker, for what
// became of it would not be known otherwise; it has a timeout of its own.
func (s *slice) send(ctx context.Context, c campaign.Claim, line *MessageLine, token uuid.UUID) ended {
	ctx = context.WithoutCancel(ctx)
	at := s.Now()
	kind := campaign.KindTransactional
	if c.Campaign != uuid.Nil {
		kind = campaign.KindCampaign
	}
	s.Metrics.Waited(kind, at.Sub(c.QueuedAt))
	answer, err := request(ctx, c, line)
	took := s.Now().Sub(at)
	if err != nil { // it can never be a request
		return ended{token: token, Result: campaign.Result{
			Claim: c, At: at, Took: took, Error: err.Error(), Verdict: campaign.CannotBeSent,
		}}
	}
	if !answer.Begun() {
		return ended{Result: campaign.Result{Claim: c}, token: token, back: true}
	}
	return ended{Result: answer.Result(c, at, took, s.Dice()), token: token}
}

// request sends a message. One that makes that panic may have been written; the process goes on, for it has others in
// hand, which nobody else would know of.
func request(ctx context.Context, c campaign.Claim, line *MessageLine) (answer campaign.Answer, err error) {
	answer = campaign.Answer{Written: true}
	defer fault.Survive(&answer.Err, fmt.Sprintf("sending message %s", c.ID), activity.GetLogger(ctx).Error)
	return line.Send(ctx, c)
}

// record stores what became of messages, until there is no more. Batches are as large as they come while one is stored.
func (s *slice) record(ctx context.Context) error {
	for first := range s.results {
		batch := s.gather(first)
		log := activity.GetLogger(ctx).Error
		if err := fault.Try("storing results", log, func() error { return s.store(ctx, batch) }); err != nil {
			for range s.results { // so that no request waits for ever to say what became of it
			}
			return err
		}
	}
	return nil
}

// gather is what comes with a result, or within a short while after it. What may hold others back is not kept waiting.
func (s *slice) gather(first ended) []ended {
	batch := []ended{first}
	timer := time.NewTimer(resultsWait)
	defer timer.Stop()
	if !first.good() {
		timer.Reset(0)
	}
	for len(batch) < resultsMost {
		select {
		case e, ok := <-s.results:
			if !ok {
				return batch
			}
			if batch = append(batch, e); !e.good() {
				timer.Reset(0)
			}
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// store records a batch. While our database is away it tries again until the worker stops: what was accepted would be
// unknown otherwise, until the webhook.
func (s *slice) store(ctx context.Context, batch []ended) error {
	byToken := map[uuid.UUID][]ended{}
	for _, e := range batch {
		byToken[e.token] = append(byToken[e.token], e)
	}
	for token, list := range byToken {
		var back []uuid.UUID
		var results []campaign.Result
		for _, e := range list {
			if e.back {
				back = append(back, e.ID)
			} else {
				results = append(results, e.Result)
			}
		}
		err := s.insist(ctx, func(ctx context.Context) error {
			if len(back) > 0 {
				if err := s.Queue.Release(ctx, s.job.Tenant, token, back); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil && len(results) > 0 {
			err = s.keep(ctx, token, results)
		}
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range batch {
		if s.inHand[e.ID] == e.token {
			delete(s.inHand, e.ID)
		}
	}
	return nil
}

// keep records results and counts them. Where Postgres refuses the data, it is that of one result, of which it is
// recorded what it means, without what the API said.
func (s *slice) keep(ctx context.Context, token uuid.UUID, results []campaign.Result) error {
	err := s.insist(ctx, func(ctx context.Context) error {
		_, err := s.Queue.Record(ctx, s.job.Tenant, token, results, s.Now())
		return err
	})
	r := &results[0]
	switch said := r.WAMID + r.WaID + r.Error; {
	case err == nil:
		s.count(results)
		return nil
	case fault.ClassOf(err) != fault.Invalid:
		return err
	case len(results) > 1:
		half := len(results) / 2
		return errors.Join(s.keep(ctx, token, results[:half]), s.keep(ctx, token, results[half:]))
	case said == "":
		return err
	}
	activity.GetLogger(ctx).Error("what the API said of a message cannot be stored",
		"tenant", s.job.Tenant, "message", r.ID)
	r.WAMID, r.WaID, r.Error = "", "", ""
	return s.keep(ctx, token, results)
}

func (s *slice) insist(ctx context.Context, do func(context.Context) error) error {
	return insist(ctx, "sending messages: recording failed", []any{"tenant", s.job.Tenant}, do)
}

// count counts results that are stored.
func (s *slice) count(results []campaign.Result) {
	for i := range results {
		r := &results[i]
		s.Metrics.Sent(s.account.Tier, *r)
		switch state, _ := r.Next(); state {
		case campaign.MessageSent:
			s.done.Accepted++
		case campaign.MessageQueued:
			s.done.Later++
		case campaign.MessageUnknown:
			s.done.Unknown++
		default:
			s.done.Failed++
		}
	}
}
