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
	heavyAtOnce   = 100
	heavyAsked    = 400 // times that GET /listings is asked for in a round, one after the other
	heavyTurns    = 2   // rounds alone, each with one beside the heavy requests after it
	heavyWithin   = 3   // times its own p95, at most
)

// heavyRequests are what the callers ask for in turn: all are of one tenant, or of one caller.
var heavyRequests = []struct{ method, path, body string }{
	{http.MethodPost, "/searches/try", `{"filter":{"text":"zzzz"},"days":90}`},
	{http.MethodGet, "/listings/export?format=ndjson", ""},
	{http.MethodPost, "/contacts/search", `{"text":"zzzz"}`},
	{http.MethodPost, "/contacts/export", `{}`},
}

// Expensive reads take turns: beside a hundred callers who ask for them again and again, listings are answered nearly as
// fast as alone, and whoever gets no turn is refused.
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

	var took [2][]time.Duration // alone, and beside the heavy requests
	var failed []string
	look := func(into int, times int) {
		for range times {
			began := time.Now()
			code, _, err := w.ask(w.ctx, http.DefaultClient, "", http.MethodGet, "/listings?limit=20", nil)
			if took[into] = append(took[into], time.Since(began)); err != nil || code != http.StatusOK {
				failed = append(failed, fmt.Sprintf("%d %v", code, err))
			}
			if !pause(w.ctx, 10*time.Millisecond) {
				return
			}
		}
	}
	look(0, heavyAsked) // plans and caches
	took[0] = nil
	h := &heavy{world: w, answers: map[int]int{}, refused: make(chan struct{}, 1)}
	for range heavyTurns {
		look(0, heavyAsked)
		stop := h.begin()
		select {
		case <-h.refused: // all turns are taken
		case <-w.ctx.Done():
		}
		look(1, heavyAsked)
		stop()
	}
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	var p95 [2]float64 // in ms
	for i, all := range took {
		slices.Sort(all)
		p95[i] = float64(all[len(all)*95/100].Microseconds()) / 1000
	}
	l.row("p95 of GET /listings beside heavy requests, in ms", int(p95[1]), "%.1f, and %.1f alone", p95[1], p95[0])
	l.within("the same in percent of that alone", int(100*p95[1]/p95[0]), 0, 100*heavyWithin)
	l.none("requests for listings that failed", failed)
	answered, refused := h.answers[http.StatusOK], h.answers[http.StatusTooManyRequests]
	l.within("heavy requests that had a turn", answered, 1, 1<<30)
	l.within("heavy requests that were refused", refused, 1, 1<<30)
	delete(h.answers, http.StatusOK)
	delete(h.answers, http.StatusTooManyRequests)
	l.must("heavy requests with another answer", len(h.answers), 0, fmt.Sprint(h.answers))
	w.dismiss()
	l.Seconds = time.Since(w.began).Seconds()
	l.processes(w)
	l.close(w)
}

// heavy are the callers of what is heavy, and what they were answered.
type heavy struct {
	*world
	refused chan struct{} // one was, since it was last looked at

	mu      sync.Mutex
	answers map[int]int // by status; 0 = none
}

// begin has them ask until stop is called.
func (h *heavy) begin() (stop func()) {
	ctx, cancel := context.WithCancel(h.ctx)
	var callers sync.WaitGroup
	for i := range heavyAtOnce {
		callers.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				r := heavyRequests[n%len(heavyRequests)]
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
				h.note(code)
			}
		})
	}
	return func() { cancel(); callers.Wait() }
}

func (h *heavy) note(code int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[code]++
	if code == http.StatusTooManyRequests {
		select {
		case h.refused <- struct{}{}:
		default:
		}
	}
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
