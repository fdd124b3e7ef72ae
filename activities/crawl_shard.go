package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

const (
	heldMost    = 128                    // URLs that a shard holds at once
	batchMost   = 64                     // results in a transaction
	batchLinks  = 50_000                 // links in one, but for those of its last result
	batchWait   = 150 * time.Millisecond // for a batch to fill
	leaseTime   = 20 * time.Second       // a worker that is gone is noticed so late at the latest
	keepEvery   = leaseTime / 4
	idleLeast   = 100 * time.Millisecond // between two claims while nothing is due
	idleMost    = time.Second
	looksMost   = 15              // in a row that find nothing to claim, some 12 s, before a shard leaves its slot
	recordGrace = 5 * time.Second // to record what is in hand when the worker stops

	windowFresh    = 8         // URLs that are claimed of a host of which none are held: so that many have their turn
	windowFirst    = heldMost  // URLs of one host that a shard holds at once, until it knows the host's pace
	bytesOfLink    = 48        // of memory, beside its texts
	heavy          = 256 << 10 // bytes of a result: those of its host may all be like that, and fewer are held at once
	unrecordedMost = 64 << 20  // bytes of heavy results of a process that wait to be recorded
)

// A shard is one activity's work on a run. Its goroutine claims and records; each URL that it holds has a goroutine of
// its own, and most of these wait for their host's turn.
type shard struct {
	*Crawling
	run    crawl.Run
	scope  crawl.Scope
	worker string
	first  bool // of its run: there is always one that looks

	results chan crawl.Result
	held    int               // claims without a recorded result
	hosts   map[string]*host  // those that URLs were held of lately
	refused map[string]string // by host: what its last request came to, where the host refused it
	cursor  string            // of the last claim
	done    CrawlShardDone
	visits  sync.WaitGroup

	mu      sync.Mutex
	leased  map[int64]struct{} // the URLs that are held
	weights map[int64]int64    // by URL, of Slots.Results
}

// A host is what a shard knows of one: how many URLs of it are held, how many may be, and until when none.
type host struct {
	held, window int
	until        time.Time
}

func newShard(a *Crawling, run crawl.Run, worker string) (*shard, error) {
	root, err := web.Canonical(run.RootURL)
	if err != nil {
		return nil, fmt.Errorf("read root of run %d: %w", run.ID, err)
	}
	return &shard{
		Crawling: a, run: run, scope: crawl.ScopeOf(root, run.Settings.ScopeMode, run.AllowedHosts), worker: worker,
		results: make(chan crawl.Result, heldMost), hosts: map[string]*host{}, refused: map[string]string{},
		leased: map[int64]struct{}{}, weights: map[int64]int64{},
	}, nil
}

// work claims until end, and returns when nothing is held any more. A shard that is not the first of its run ends
// before that when there is nothing to claim: the slot is for other runs, and the next slice has all shards again. When
// it is to end, URLs that wait for their host's turn go back to the frontier, and those that are being requested are
// finished.
func (s *shard) work(ctx context.Context, end time.Time) (CrawlShardDone, error) {
	waiting, leave := context.WithDeadline(ctx, end)
	defer func() {
		s.visits.Wait()
		s.lighten(slices.Collect(maps.Keys(s.weights))...)
	}()
	defer leave()
	stop := activity.GetWorkerStopChannel(ctx)
	holding, release := context.WithCancel(ctx) // also while the last requests are finished
	defer release()
	s.visits.Go(func() { s.keep(holding) })
	idle, next, looks := idleLeast, s.Now(), 0
	for {
		select {
		case <-stop:
			leave()
		default:
		}
		if wait := s.keeper.wait(s.Now()); wait > 0 && s.run.Settings.StoreBodies {
			if soon := s.Now().Add(min(wait, idleMost)); next.Before(soon) {
				next = soon
			}
		}
		if waiting.Err() == nil && s.held <= heldMost-batchMost && !s.Now().Before(next) {
			switch n, err := s.claim(ctx, waiting); {
			case err != nil && final(err):
				leave()
				return s.done, errors.Join(err, s.drain(ctx))
			case err != nil: // our database is away: it will be back
				activity.GetLogger(ctx).Warn("crawl: claiming failed", "err", err)
				next = s.Now().Add(idleMost)
			case s.done.Status != crawl.Running:
				leave()
			case n == 0:
				next, idle = s.Now().Add(idle), min(2*idle, idleMost)
				if looks++; s.held > 0 {
					looks = 0
				}
				if looks == looksMost && !s.first {
					leave()
				}
			default:
				idle, looks = idleLeast, 0
			}
		}
		if waiting.Err() != nil {
			return s.done, s.drain(ctx)
		}
		if err := s.record(ctx, s.gather(waiting, next.Sub(s.Now()))); err != nil {
			leave()
			return s.done, err
		}
	}
}

// drain records what the visits that are left come to.
func (s *shard) drain(ctx context.Context) error {
	for s.held > 0 {
		if err := s.record(ctx, s.gather(ctx, 0)); err != nil {
			return err
		}
	}
	return stopped(ctx, ctx.Err())
}

func final(err error) bool { return fault.ClassOf(err).Final() }

// keep extends the leases of what is held until ctx ends. When Postgres is away for longer than a lease, the URLs are
// claimed by others, and the results of this shard do not count.
func (s *shard) keep(ctx context.Context) {
	for pause(ctx, keepEvery) == nil {
		s.mu.Lock()
		urls := slices.Collect(maps.Keys(s.leased))
		s.mu.Unlock()
		_ = fault.Try("keeping leases", activity.GetLogger(ctx).Error, func() error {
			return s.Frontier.Keep(ctx, s.run.ID, s.worker, urls, leaseTime)
		})
	}
}

// claim leases URLs and starts their visits. It returns how many there were.
func (s *shard) claim(ctx, waiting context.Context) (int, error) {
	now := s.Now()
	room := make(map[string]int, len(s.hosts))
	for name, h := range s.hosts {
		switch {
		case h.until.After(now):
			room[name] = 0
		case h.held == 0 && h.window >= windowFirst:
			delete(s.hosts, name) // as good as a host that is not known
		default:
			room[name] = h.window - h.held
		}
	}
	claims, status, err := s.Frontier.Claim(ctx, crawl.Take{
		Run: s.run.ID, Pauses: s.run.Pauses, Base: s.run.BaseID, Worker: s.worker, Max: heldMost - s.held, Room: room,
		Fresh: windowFresh, Cursor: s.cursor, Lease: leaseTime,
	})
	if err != nil {
		return 0, err
	}
	s.done.Status = status
	recent := s.recent(ctx, claims)
	s.mu.Lock()
	defer s.mu.Unlock()
	last := int64(-1)
	for i, c := range claims {
		if c.Turn > last {
			last, s.cursor = c.Turn, c.Host
		}
		h := s.hosts[c.Host]
		if h == nil {
			h = &host{window: windowFirst}
			s.hosts[c.Host] = h
		}
		h.held++
		s.held++
		s.leased[c.ID] = struct{}{}
		s.Metrics.Waited(now.Sub(c.QueuedAt))
		if recent[i] {
			s.results <- crawl.Result{Claim: c, State: crawl.Skipped, Reason: crawl.SkippedRecent, Began: now}
			continue
		}
		s.visits.Go(func() { s.results <- s.visit(ctx, waiting, c) })
	}
	return len(claims), nil
}

// recent says which claims another run crawled a short while ago. What this run has marked may be a result that did not
// count, or was lost. What cannot be told was not crawled: it is a courtesy to sites.
func (s *shard) recent(ctx context.Context, claims []crawl.Claim) []bool {
	none := make([]bool, len(claims))
	if !s.run.Settings.SkipRecent || len(claims) == 0 {
		return none
	}
	urls := make([]string, len(claims))
	for i, c := range claims {
		urls[i] = c.URL
	}
	seen, err := s.Recent.Seen(ctx, s.run.ID, urls)
	if err != nil {
		return none
	}
	return seen
}

// gather returns results to be recorded: half of what is held, or what comes within a short while after the first. So
// batches are large where much is to be done, and nothing waits where little is. Without any it returns after the wait.
func (s *shard) gather(ctx context.Context, wait time.Duration) (batch []crawl.Result) {
	if s.held == 0 {
		_ = pause(ctx, max(wait, time.Millisecond))
		return nil
	}
	ended := ctx.Done()
	if wait <= 0 || s.held > heldMost-batchMost { // nothing else is to be done before a result comes
		wait = idleMost
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for links := 0; len(batch) < min(batchMost, (s.held+1)/2) && links < batchLinks; {
		select {
		case r := <-s.results:
			links += len(r.Links)
			if batch = append(batch, r); len(batch) == 1 {
				timer.Reset(batchWait)
			}
		case <-timer.C:
			return batch
		case <-ended: // what waits comes back now
			ended = nil
			timer.Reset(batchWait)
		}
	}
	return batch
}

// record stores results. While our database is away it tries again, until the worker stops: what was fetched need not
// be fetched a second time, and what was not requested need not wait for its lease to end.
func (s *shard) record(ctx context.Context, batch []crawl.Result) error {
	if len(batch) == 0 {
		return nil
	}
	s.explain(batch)
	err := insist(ctx, "crawl: recording failed", []any{"urls", len(batch)}, func(ctx context.Context) error {
		return s.store(ctx, batch)
	})
	if err != nil {
		return err
	}
	var visited []string
	now, ids := s.Now(), make([]int64, len(batch))
	s.mu.Lock()
	for i, r := range batch {
		ids[i] = r.ID
		delete(s.leased, r.ID)
	}
	s.mu.Unlock()
	s.lighten(ids...)
	for _, r := range batch {
		h := s.hosts[r.Host]
		h.held--
		s.held--
		s.done.URLs++
		switch {
		case r.Asked && r.HTTPStatus == 0: // a host that does not answer may not have many of the slots
			s.done.Fetches++
			h.window = max(1, h.window/4)
		case r.Asked && bytesOf(r) > heavy:
			s.done.Fetches++
			h.window = min(h.window, max(windowFresh, h.window/2))
		case r.Asked:
			s.done.Fetches++
			h.window = min(h.window+1, heldMost)
		case r.State == crawl.Queued && r.Pause > 0: // its host's turn was too far away
			h.window, h.until = max(1, h.window/2), now.Add(r.Pause)
		}
		if r.State == crawl.Visited {
			visited = append(visited, r.URL)
		}
		s.Metrics.Processed(now.Sub(r.Began), crawl.OutcomeOf(r))
	}
	if s.run.Settings.SkipRecent && len(visited) > 0 {
		return s.Recent.Mark(ctx, s.run.ID, visited)
	}
	return nil
}

// bytesOf is what a result takes of memory, about.
func bytesOf(r crawl.Result) int {
	size := len(r.Message)
	for _, l := range r.Links {
		size += bytesOfLink + len(l.URL) + len(l.Raw)
	}
	return size
}

// weigh waits until there is room for a heavy result beside those that are not recorded yet. Its URL has its slot for
// that long, so no more pages are read than can be stored. It waits for nothing when waiting has ended.
func (s *shard) weigh(waiting context.Context, r crawl.Result) {
	weight := min(int64(bytesOf(r)), unrecordedMost)
	if weight <= heavy || s.Slots.Results.Acquire(waiting, weight) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.weights[r.ID] += weight // a URL whose lease was lost may be held twice
}

// lighten makes the room of URLs' results free.
func (s *shard) lighten(urls ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range urls {
		if weight, ok := s.weights[id]; ok {
			delete(s.weights, id)
			s.Slots.Results.Release(weight)
		}
	}
}

// explain says of hosts in their cooldown which answer that follows, where this shard has had it.
func (s *shard) explain(batch []crawl.Result) {
	for i := range batch {
		switch r := &batch[i]; {
		case r.Held == crawl.HeldCooldown:
			r.Cause = s.refused[r.Host]
		case !r.Asked:
		case r.HTTPStatus == 0:
			s.refused[r.Host] = cut(r.Error, maxCause)
		case crawl.Judge(r.HTTPStatus, 0, nil).Refused:
			s.refused[r.Host] = fmt.Sprintf("HTTP %d", r.HTTPStatus)
		default:
			delete(s.refused, r.Host)
		}
	}
}

// insist does what may be repeated until it succeeds, or never can. When ctx has ended it is done one more time. Each
// failure is logged as text with args.
func insist(ctx context.Context, text string, args []any, do func(context.Context) error) error {
	for wait := idleLeast; ; wait = min(2*wait, idleMost) {
		err := do(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordGrace)
			defer cancel()
			if err = do(last); err == nil {
				return nil
			}
			return stopped(ctx, err)
		}
		if final(err) {
			return err
		}
		activity.GetLogger(ctx).Warn(text, append(args[:len(args):len(args)], "err", err)...)
		_ = pause(ctx, wait)
	}
}

// store records a batch. Where Postgres refuses the data, it is that of one result, which fails.
func (s *shard) store(ctx context.Context, batch []crawl.Result) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := s.Frontier.Record(ctx, s.run.ID, s.worker, batch)
	switch class := fault.ClassOf(err); {
	case class != fault.Invalid:
		return err
	case len(batch) > 1:
		return errors.Join(s.store(ctx, batch[:len(batch)/2]), s.store(ctx, batch[len(batch)/2:]))
	}
	r := batch[0]
	return s.Frontier.Record(ctx, s.run.ID, s.worker, []crawl.Result{{
		Claim: r.Claim, State: crawl.Failed, Asked: r.Asked, HTTPStatus: r.HTTPStatus, Took: r.Took,
		Error: "its data cannot be stored: " + err.Error(), ErrorClass: string(fault.Invalid),
	}})
}

// conditional are the headers that make a request conditional.
func conditional(c crawl.Claim) map[string]string {
	if c.ETag == "" && c.LastModified == "" {
		return nil
	}
	h := map[string]string{}
	if c.ETag != "" {
		h["If-None-Match"] = c.ETag
	}
	if c.LastModified != "" {
		h["If-Modified-Since"] = c.LastModified
	}
	return h
}
