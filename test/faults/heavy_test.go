package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

const (
	heavyListings = 20_000
	heavyFew      = 4
	heavyAsked    = 400 // times that GET /listings is asked for in a round, one after the other
	heavyTurns    = 2   // rounds alone, each with one beside each of the loads after it
	heavyWithin   = 3   // times its own p95, at most
)

type heavyRequest struct{ method, path, body string }

// heavyRequests are all of one tenant, or of one caller.
var heavyRequests = []heavyRequest{
	{http.MethodPost, "/searches/try", `{"filter":{"text":"zzzz"},"days":90}`},
	{http.MethodGet, "/listings/export?format=ndjson", ""},
	{http.MethodPost, "/contacts/search", `{"text":"zzzz"}`},
	{http.MethodPost, "/contacts/export", `{}`},
}

// bestListings are of one caller, as the visitors of a site are that asks with one key for all of them.
var bestListings = []heavyRequest{{http.MethodGet, "/listings?text=grand&sort=relevance&limit=100", ""}}

// heavyLoads are who asks for what beside GET /listings, all at once and again and again.
var heavyLoads = []struct {
	name     string
	callers  int
	requests []heavyRequest
	refused  bool // some have to be
}{
	{"heavy requests", 100, heavyRequests, true},
	{"searches by relevance", 50, bestListings, false},
}

// Expensive reads take turns: beside a hundred callers who ask for them again and again, listings are answered nearly
// as fast as alone, and whoever gets no turn is refused. A few who search by relevance never are.
func TestExpensiveReadsTakeTurns(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel()
	w := newWorld(t, nil, "CONVEYOR_IMAGES=false", "CONVEYOR_API_RATE=0", "CONVEYOR_API_WRITE_RATE=0")
	w.tempt = func() {}
	require.NoError(t, w.makeTenant("heavy", db.Quotas{}))
	probe := w.flow.probe()
	require.NoError(t, eventually(w.ctx, servicetest.Patience(), func() bool { return w.watch.saw(probe.advert) }))
	require.NoError(t, w.fillListings(heavyListings))
	w.say("seed %d: %d listings", *seed, heavyListings)

	var failed []string
	look := func(times int) (took []time.Duration) {
		for range times {
			began := time.Now()
			code, _, err := w.ask(w.ctx, http.DefaultClient, "", http.MethodGet, "/listings?limit=20", nil)
			if took = append(took, time.Since(began)); err != nil || code != http.StatusOK {
				failed = append(failed, fmt.Sprintf("%d %v", code, err))
			}
			if !pause(w.ctx, 10*time.Millisecond) {
				break
			}
		}
		return took
	}
	p95 := func(took []time.Duration) float64 { // in ms
		slices.Sort(took)
		return float64(took[len(took)*95/100].Microseconds()) / 1000
	}
	look(heavyAsked) // plans and caches
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	for _, load := range heavyLoads {
		var alone, beside []time.Duration
		h := &heavy{world: w, answers: map[int]int{}}
		for range heavyTurns {
			alone = append(alone, look(heavyAsked)...)
			stop := h.begin(load.callers, load.requests)
			beside = append(beside, look(heavyAsked)...)
			stop()
		}
		own, p95 := p95(alone), p95(beside)
		l.row("p95 of GET /listings beside "+load.name+", in ms", int(p95), "%.1f, and %.1f alone", p95, own)
		l.within("the same in percent of that alone", int(100*p95/own), 0, 100*heavyWithin)
		l.within(load.name+" that had a turn", h.answers[http.StatusOK], 1, 1<<30)
		if load.refused {
			l.within(load.name+" that were refused", h.answers[http.StatusTooManyRequests], 1, 1<<30)
		} else {
			l.row(load.name+" that were refused", h.answers[http.StatusTooManyRequests], "")
		}
		delete(h.answers, http.StatusOK)
		delete(h.answers, http.StatusTooManyRequests)
		l.must(load.name+" with another answer", len(h.answers), 0, fmt.Sprint(h.answers))
	}
	l.none("requests for listings that failed", failed)
	few := &heavy{world: w, answers: map[int]int{}}
	stop := few.begin(heavyFew, bestListings)
	look(heavyAsked)
	stop()
	l.within("searches by relevance of a few callers", few.answers[http.StatusOK], 1, 1<<30)
	l.must("those that were refused", len(few.answers)-1, 0, fmt.Sprint(few.answers))
	w.dismiss()
	l.Seconds = time.Since(w.began).Seconds()
	l.processes(w)
	l.close(w)
}

// heavy are the callers of what is heavy, and what they were answered.
type heavy struct {
	*world

	mu      sync.Mutex
	answers map[int]int // by status; 0 = none
}

// begin has so many callers ask for requests in turn until stop is called. It returns once there are as many answers:
// by then all turns were taken.
func (h *heavy) begin(callers int, requests []heavyRequest) (stop func()) {
	ctx, cancel := context.WithCancel(h.ctx)
	var asking sync.WaitGroup
	answered := make(chan struct{}, callers)
	for i := range callers {
		asking.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				h.load(ctx, requests[n%len(requests)])
				select {
				case answered <- struct{}{}:
				default:
				}
			}
		})
	}
	for range callers {
		select {
		case <-answered:
		case <-ctx.Done():
		}
	}
	return func() { cancel(); asking.Wait() }
}

// load sends a request, and notes its answer.
func (h *heavy) load(ctx context.Context, r heavyRequest) {
	var in *content
	if r.body != "" {
		in = body(r.body)
	}
	tenant := "heavy"
	if r.method == http.MethodGet { // of what is of no tenant
		tenant = ""
	}
	code, _, err := h.ask(ctx, http.DefaultClient, tenant, r.method, r.path, in)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		code = 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[code]++
}

const (
	sqlOwnColumns = `
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`

	// A copy has the name that its number gives it, in each of the tables.
	sqlCopyListings = `
INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM (
    SELECT m.* FROM %[1]s t, generate_series(1, $1) n, jsonb_populate_record(t, %[4]s) m WHERE t.%[3]s) copies`
)

// fillListings copies a listing n times.
func (w *world) fillListings(n int) error {
	for _, of := range []struct{ table, which, change string }{
		{"raw_listings", "id = (SELECT min(id::text)::uuid FROM listings)",
			"jsonb_build_object('id', md5(t.id::text || n)::uuid, 'platform_id', 'copy-' || n)"},
		{"listings", "id = (SELECT min(id::text)::uuid FROM listings)",
			"jsonb_build_object('id', md5(t.id::text || n)::uuid, 'platform_id', 'copy-' || n, 'rent_cents', 60000 + n, " +
				"'details_hash', n::text::bytea, 'published_at', t.published_at - n * interval '1 minute')"},
		{"home_members", "listing_id = (SELECT min(id::text)::uuid FROM listings WHERE platform_id !~ '^copy')",
			"jsonb_build_object('listing_id', md5(t.listing_id::text || n)::uuid, 'home_id', md5(t.listing_id::text || n)::uuid)"},
	} {
		var columns string
		if err := w.db.QueryRow(w.ctx, sqlOwnColumns, of.table).Scan(&columns); err != nil {
			return err
		}
		if _, err := w.db.Exec(w.ctx, fmt.Sprintf(sqlCopyListings, of.table, columns, of.which, of.change), n); err != nil {
			return fmt.Errorf("copy %s: %w", of.table, err)
		}
	}
	_, err := w.db.Exec(w.ctx, "ANALYZE listings, home_members")
	return err
}
