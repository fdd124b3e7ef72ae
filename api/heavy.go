package api

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A lane is the turns of heavy operations that are alike. An operation waits for those of its lane only: a trial of a
// second is not held up by exports of an hour.
type lane struct {
	of    string        // what they are, for the answer to one that gets no turn
	most  int           // at once in a process with usualPool connections, and with others in proportion
	top   int           // at once, however many connections there are
	share int           // at once of a tenant, or of a caller where they are of no tenant
	wait  time.Duration // for a turn
	long  bool          // takes up to an hour: lanes such as it leave a turn to the others
	site  bool          // for the visitors of public sites: lanes of tenants leave a quarter of all turns to such as it
	brisk bool          // its turns never rest: each takes milliseconds, but where somebody wants to do harm
}

// usualPool is the number of connections that CONVEYOR_DB_MAX_CONNS is by itself.
const usualPool = 24

// Each holds a connection to Postgres: all lanes together leave a quarter of the pool to what is cheap. With many
// connections it is the cores, of Postgres and of the process, that are to be left to it.
var (
	trials = &lane{
		of: "searches that are tried and audiences that are counted", most: 2, top: 4, share: 1, wait: 2 * time.Second,
	}
	// The console asks for a page of contacts and their number together.
	people = &lane{of: "searches through contacts", most: 5, top: 10, share: 2, wait: 2 * time.Second}
	// A workbook takes up to some 200 MB.
	previews = &lane{of: "previews of files", most: 2, top: 2, share: 1, wait: 10 * time.Second}
	// A page of the console follows a run while another one compares runs.
	crawled = &lane{of: "reads of whole crawl runs", most: 3, top: 6, share: 2, wait: 2 * time.Second, long: true}
	exports = &lane{of: "exports", most: 6, top: 12, share: 1, wait: 2 * time.Second, long: true}
	// The console asks for rents once for each advert that is looked at, and draws it without them where there is no turn.
	// A count reads all listings where few of them match.
	rents = &lane{of: "statistics of rents and counts of listings", most: 3, top: 6, share: 2, wait: 2 * time.Second}

	// One caller may have all of them: a public site asks with one key for all of its visitors. Each ranks a thousand
	// listings.
	ranked = &lane{of: "searches of listings by relevance", most: 2, top: 4, share: 4, wait: 2 * time.Second, site: true}
	// Where few listings match all are looked at, however few are asked for; of a map a quarter of a million is counted.
	sought = &lane{
		of: "maps of listings and searches of them by words or details", most: 6, top: 12, share: 12, wait: 2 * time.Second,
		site: true, brisk: true,
	}

	// They wait for the rows that they change of one another.
	changes = &lane{of: "changes of many contacts or messages", most: 4, top: 8, share: 1, wait: 2 * time.Second}

	lanes = []*lane{trials, people, previews, crawled, exports, rents, ranked, sought, changes}
)

// turnsOf is how many turns of a lane a process with so many connections has, 0 = usualPool.
func (l *lane) turnsOf(connections int) int { return inProportion(l.most, l.top, connections) }

// heavyTurns is how many heavy operations such a process does at once: of a small pool a turn of each lane would be too
// many.
func heavyTurns(connections int) int {
	const most = usualPool * 3 / 4
	return inProportion(most, 2*most, connections)
}

func inProportion(most, top, connections int) int {
	if connections == 0 {
		connections = usualPool
	}
	return min(max(1, most*connections/usualPool), top)
}

// turnsOfOne is how many of these one name may have.
func (l *lane) turnsOfOne(connections int) int { return min(l.share, l.turnsOf(connections)) }

// heavy is an operation that takes seconds of Postgres, or of a core.
type heavy struct {
	lane   *lane
	best   *lane         // of those of its requests that are Heaviest; nil = there are none
	within time.Duration // once it has its turn
	rows   int           // that the answer has, or is made of, at most; 0 = all that there are in this time
	ready  bool          // the answer is streamed, and whole when the handler returns: a slow reader of it holds no turn
}

// A Weight is that of a request of an operation some of whose requests are heavier than others: its input says so by a
// method Weight. Those of any other heavy operation are Heavy.
type Weight int

// The weights.
const (
	Light    Weight = iota // it takes no turn
	Heavy                  // it takes a turn of the lane of its operation
	Heaviest               // it takes one of another lane
)

// laneOf is the lane that a request takes a turn of; nil = none.
func (h *heavy) laneOf(in any) *lane {
	if of, ok := in.(interface{ Weight() Weight }); ok {
		switch of.Weight() {
		case Light:
			return nil
		case Heaviest:
			return h.best
		case Heavy:
		}
	}
	return h.lane
}

// ExportRows is more than an export has: one that goes on is cut off.
const ExportRows = 10_000_000

// Times of operations, each with what it is for.
const (
	ExportTimeout      = time.Hour        // a whole export; a reader that stops is cut off sooner, see PacedWriter
	SearchTimeout      = 55 * time.Second // every link of a run, every URL of two, every listing of a filter
	ContactsTimeout    = 30 * time.Second // a search through all contacts of a tenant: some million
	PreviewTimeout     = 30 * time.Second // a look into a file
	DeleteListTimeout  = time.Minute      // the deletion of a list: some million members
	RetryFailedTimeout = time.Minute      // POST …/retry-failed: some hundred thousand messages
)

// PreviewRows are the rows of a file that a preview has.
const PreviewRows = 20

// AudienceMost is how many contacts of an audience are counted, in half a second; a million take 4.5, and longer beside
// other work, while a person waits. An audience that is sparse in a million is found in one to two.
const AudienceMost = 100_000

// heavyOperations are all operations that take turns, by ID. Serve and Stream see to it.
var heavyOperations = map[string]heavy{
	"try-search":              {lane: trials, within: RequestTimeout, rows: saved.TryMost},
	"count-campaign-audience": {lane: trials, within: RequestTimeout, rows: AudienceMost},

	"search-contacts": {lane: people, within: ContactsTimeout, rows: 1000},
	"count-contacts":  {lane: people, within: ContactsTimeout},
	"get-segment":     {lane: people, within: ContactsTimeout},
	"list-opt-outs":   {lane: people, within: ContactsTimeout, rows: 200},

	"preview-upload":     {lane: previews, within: PreviewTimeout, rows: PreviewRows},
	"set-upload-options": {lane: previews, within: PreviewTimeout, rows: PreviewRows},

	"change-contact-list":   {lane: changes, within: RequestTimeout},
	"tag-contacts":          {lane: changes, within: RequestTimeout},
	"delete-contact-list":   {lane: changes, within: DeleteListTimeout},
	"retry-failed-messages": {lane: changes, within: RetryFailedTimeout},

	"get-rents":       {lane: rents, within: SearchTimeout},
	"count-listings":  {lane: rents, within: SearchTimeout},
	"search-listings": {lane: sought, best: ranked, within: RequestTimeout, rows: 1000},
	"map-listings":    {lane: sought, within: SearchTimeout},

	"get-crawl-lineage":       {lane: crawled, within: RequestTimeout, rows: 50_000, ready: true},
	"get-crawl-url":           {lane: crawled, within: SearchTimeout, rows: 1000},
	"compare-crawl-runs":      {lane: crawled, within: SearchTimeout, rows: 10_000},
	"list-crawl-broken-links": {lane: crawled, within: ExportTimeout, rows: ExportRows},

	"export-contacts":   {lane: exports, within: ExportTimeout, rows: ExportRows},
	"export-person":     {lane: exports, within: RequestTimeout},
	"get-upload-errors": {lane: exports, within: ExportTimeout, rows: ExportRows},
	"export-crawl-run":  {lane: exports, within: ExportTimeout, rows: ExportRows},
	"get-crawl-graph":   {lane: exports, within: ExportTimeout, rows: 5_000_000},
	"export-listings":   {lane: exports, within: ExportTimeout, rows: ExportRows},
	"export-tenant":     {lane: exports, within: ExportTimeout},
}

// laneTurns are the turns of a process: of each lane, of all heavy operations, of the long ones among them, and of
// those of tenants.
type laneTurns struct {
	of                 map[*lane]*Turns
	all, long, tenants *Turns
	short              func() bool // the machine has fewer cores than its work needs
}

// newLanes are the turns of a process with so many connections to Postgres. short may be nil: never.
func newLanes(connections int, short func() bool) laneTurns {
	if short == nil {
		short = func() bool { return false }
	}
	n := heavyTurns(connections)
	tenants := n - n/4
	long := max(1, tenants-1)
	t := laneTurns{
		of: map[*lane]*Turns{}, all: NewTurns(n, n), long: NewTurns(long, long), tenants: NewTurns(tenants, tenants),
		short: short,
	}
	for _, l := range lanes {
		t.of[l] = NewTurns(l.turnsOf(connections), l.share)
	}
	return t
}

// inTurn makes a heavy operation take turns; any other one stays as it is.
func inTurn[I, O any](d *Door, o huma.Operation, handle func(context.Context, *I) (*O, error)) (
	huma.Operation, func(context.Context, *I) (*O, error),
) {
	h, ok := heavyOperations[o.OperationID]
	if !ok {
		return o, handle
	}
	o.Metadata[TimeoutKey] = max(wholeTimeout, h.lane.wait+h.within)
	whose := "caller"
	if of, _ := o.Metadata[tenantKey].(bool); of {
		whose = "tenant"
	}
	if h.best != nil {
		o.Description += h.best.described(whose)
	}
	o.Description += h.lane.described(whose)
	return o, func(ctx context.Context, in *I) (out *O, err error) {
		l := h.laneOf(in)
		if l == nil {
			return handle(ctx, in)
		}
		name := ofWhom(ctx, in)
		waiting, cancel := context.WithTimeout(ctx, l.wait)
		defer cancel()
		left, ok := d.lanes.take(waiting, l, name)
		if !ok {
			return nil, TooMany("too many "+l.of+" at once, of the "+name+" or of all: wait until one has ended", RetryAfter)
		}
		began, rests := time.Now(), func() float64 { return d.lanes.rests(l, name) }
		leave := func() {
			if n := rests(); n > 0 {
				d.lanes.of[l].rest(name, min(times(n, time.Since(began)), d.lanes.restMost()))
			}
			left()
		}
		later := false
		defer func() { // also when the handler panics
			if !later {
				leave()
			}
		}()
		if out, err = handle(ctx, in); err != nil {
			return nil, err
		}
		if answer, ok := any(out).(*huma.StreamResponse); ok && !h.ready {
			write := answer.Body
			later, answer.Body = true, func(hc huma.Context) {
				defer leave()
				c := humagin.Unwrap(hc)
				c.Request = c.Request.WithContext(context.WithValue(c.Request.Context(), restsKey{}, rests))
				write(hc)
			}
		}
		return out, nil
	}
}

// described is what the document says of the turns of a lane, as many as there are in a usual process.
func (l *lane) described(whose string) string {
	return fmt.Sprintf(" At most %d of the %s run at once for a %s: a further request waits, and is answered by 429 "+
		"after %d s.", l.turnsOfOne(0), l.of, whose, int(l.wait.Seconds()))
}

// Who asks for more than its turns has each of them for a quarter of the time at most, so that cores are left to the
// others: a turn rests for three times as long as it took or longer, and an answer that is streamed after each piece.
const (
	restMost      = time.Second
	restMostShort = 30 * time.Second
	pauseMost     = 100 * time.Millisecond
	shareShort    = 10 // one of so many parts of a core is what the turns of a name have together
)

// rests is how many times as long as it has worked a turn rests where others of its name wait for it; 0 where none do.
// All turns that are taken or rest shall work on a quarter of the cores of this process together, for Postgres may be
// on them, too: where they are many, a quarter of the time each would be more. Where the machine is short of cores, all
// turns of the name together work on a tenth of one: who asks for more than its turns waits for itself then.
func (t laneTurns) rests(l *lane, name string) float64 {
	if l.brisk || !t.of[l].awaited(name) {
		return 0
	}
	taken, own := 0, 0
	for _, of := range t.of {
		a, o := of.taken(name)
		taken, own = taken+a, own+o
	}
	n := restsOf(taken, runtime.GOMAXPROCS(0))
	if t.short() {
		n = max(n, float64(shareShort*own)-1)
	}
	return n
}

// restMost is how long a turn rests at most.
func (t laneTurns) restMost() time.Duration {
	if t.short() {
		return restMostShort
	}
	return restMost
}

func restsOf(taken, cores int) float64 { return max(3, 4*float64(taken)/float64(cores)-1) }

func times(n float64, d time.Duration) time.Duration { return time.Duration(n * float64(d)) }

// restsKey is the key of a func() float64 in the context of an answer that is streamed: rests of its turn.
type restsKey struct{}

// A spell is the work since the last pause.
type spell struct {
	rests func() float64 // nil = it has no turn
	since time.Time
	until time.Time // half of the time of the answer, zero = no end: after it there are no pauses, or it is cut off
}

func spellOf(ctx context.Context) spell {
	s := spell{since: time.Now()}
	s.rests, _ = ctx.Value(restsKey{}).(func() float64)
	if end, ok := ctx.Deadline(); ok {
		s.until = s.since.Add(end.Sub(s.since) / 2)
	}
	return s
}

// pause ends a spell, and rests where others wait for the turn.
func (s *spell) pause(ctx context.Context) {
	if s.rests != nil && (s.until.IsZero() || time.Now().Before(s.until)) {
		if n := s.rests(); n > 0 {
			select {
			case <-time.After(min(times(n, time.Since(s.since)), pauseMost)):
			case <-ctx.Done():
			}
		}
	}
	s.since = time.Now()
}

// take takes a turn of a lane, one of the long ones where it is long, one of those of tenants but for a lane of public
// sites, and then one of all: what waits for its lane holds up no other.
func (t laneTurns) take(ctx context.Context, l *lane, name string) (leave func(), ok bool) {
	var taken []func()
	leave = func() {
		for _, f := range slices.Backward(taken) {
			f()
		}
	}
	take := func(of *Turns, name string) bool {
		f, ok := of.Wait(ctx, name)
		if ok {
			taken = append(taken, f)
		}
		return ok
	}
	if take(t.of[l], name) && (!l.long || take(t.long, "")) && (l.site || take(t.tenants, "")) && take(t.all, "") {
		return leave, true
	}
	leave()
	return nil, false
}

// ofWhom is whose share a request counts for. To a caller of a tenant the tenant that it names makes no difference.
func ofWhom(ctx context.Context, in any) string {
	caller := CallerOf(ctx)
	if caller.Tenant != "" {
		return "tenant " + caller.Tenant
	}
	if of, ok := in.(interface{ named() string }); ok && of.named() != "" {
		return "tenant " + of.named()
	}
	return "caller " + caller.Name
}

// Bounded ends rows by an error after so many: nobody takes a part for the whole.
func Bounded[R any](rows iter.Seq2[R, error], most int) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		n := 0
		for row, err := range rows {
			if n++; n > most && err == nil {
				var none R
				yield(none, TooManyRows(most))
				return
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

// TooManyRows is the error of an operation whose answer would have more rows than it may.
func TooManyRows(most int) error {
	return fault.Newf(fault.Invalid, "there are more than %s rows: ask for fewer, by a filter", strconv.Itoa(most))
}

// Turns bound what is done at once in a process, in all and by name: that of a tenant, or of a network. What waits for
// one gets it in the order in which it came.
type Turns struct {
	most, share int

	mu    sync.Mutex
	all   int
	of    map[string]int
	queue []*waiter // none of them could have a turn now
}

// A waiter waits for a turn of a name. got is closed once it has one, which leave gives back.
type waiter struct {
	name  string
	got   chan struct{}
	leave func()
}

// NewTurns are so many turns, of which each name has a share.
func NewTurns(most, share int) *Turns {
	return &Turns{most: most, share: share, of: map[string]int{}}
}

// Take takes a turn of a name; ok is false when there is none. Call leave when it is over.
func (t *Turns) Take(name string) (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.fits(name) {
		return nil, false
	}
	return t.give(name), true
}

// Wait takes a turn as Take does, and waits for one until ctx ends.
func (t *Turns) Wait(ctx context.Context, name string) (leave func(), ok bool) {
	if leave, ok := t.Take(name); ok {
		return leave, true
	}
	w := &waiter{name: name, got: make(chan struct{})}
	t.mu.Lock()
	t.queue = append(t.queue, w)
	t.handOn()
	t.mu.Unlock()
	select {
	case <-w.got:
		return w.leave, true
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = slices.DeleteFunc(t.queue, func(o *waiter) bool { return o == w })
	return w.leave, w.leave != nil
}

// fits says that there is a turn of a name. The caller of it, of give, free and handOn holds the lock.
func (t *Turns) fits(name string) bool { return t.all < t.most && t.of[name] < t.share }

func (t *Turns) give(name string) (leave func()) {
	t.all++
	t.of[name]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all--
		t.free(name)
	}
}

// awaited says whether anything of a name waits for a turn.
func (t *Turns) awaited(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.queue, func(w *waiter) bool { return w.name == name })
}

// taken is how many turns are taken, of all and of a name, those that rest among them.
func (t *Turns) taken(name string) (all, own int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.of {
		all += of
	}
	return all, t.of[name]
}

// rest keeps a turn of the name's share for some time more, without one of all. Call it before leave.
func (t *Turns) rest(name string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[name]++
	time.AfterFunc(d, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.free(name)
	})
}

// free gives back a turn of a name's share.
func (t *Turns) free(name string) {
	if t.of[name]--; t.of[name] == 0 {
		delete(t.of, name)
	}
	t.handOn()
}

// handOn gives turns to those that wait, the first of them that fit.
func (t *Turns) handOn() {
	t.queue = slices.DeleteFunc(t.queue, func(w *waiter) bool {
		if !t.fits(w.name) {
			return false
		}
		w.leave = t.give(w.name)
		close(w.got)
		return true
	})
}
