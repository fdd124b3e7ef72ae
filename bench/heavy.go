package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// A Burdened is how long GET /listings takes beside heavy requests.
type Burdened struct {
	How      string             `json:"how"`
	Asked    int                `json:"asked"`
	Millis   map[string]float64 `json:"ms"`
	Answered int                `json:"heavy_answered"` // heavy requests that had a turn
	Refused  int                `json:"heavy_refused"`  // by 429
	Failed   int                `json:"heavy_failed"`
}

const (
	heavyAtOnce = 100
	heavyAsked  = 400 // times that GET /listings is asked for, one after the other
	heavyWithin = 3   // times its own p95, at most
)

// heavyRequests are what the callers ask for in turn: all are of one tenant, or of one caller.
var heavyRequests = []struct{ method, path, body string }{
	{http.MethodPost, "/searches/try?tenant=heavy", `{"filter":{"text":"zzzz"},"days":90}`},
	{http.MethodGet, "/listings/export?format=ndjson", ""},
	{http.MethodPost, "/contacts/search?tenant=heavy", `{"text":"zzzz"}`},
	{http.MethodPost, "/contacts/export?tenant=heavy", `{}`},
}

// heavy asks for listings alone, and beside a hundred callers who ask for what is heavy again and again.
func (h *system) heavy(ctx context.Context, report *Report) error {
	var listings int
	if err := h.db.QueryRow(ctx, "SELECT count(*) FROM listings").Scan(&listings); err != nil {
		return err
	}
	if listings < 100_000 { // in a run of all scenarios they are there
		if err := h.fill(ctx, 100_000); err != nil {
			return err
		}
	}
	err := db.NewTenants(h.db).Create(ctx, db.Tenant{
		ID: "heavy", Name: "heavy", Tier: campaign.Standard, CreatedAt: time.Now(),
	}, "bench")
	if err != nil {
		return err
	}
	const path = "/listings?limit=20"
	h.repeat(ctx, "", heavyAsked, 0, func(int) string { return path }) // plans and caches
	alone := h.repeat(ctx, "", heavyAsked, 0, func(int) string { return path })
	report.Burdened = append(report.Burdened, Burdened{How: "alone", Asked: heavyAsked, Millis: alone.Millis})

	loading, stop := context.WithCancel(ctx)
	defer stop()
	b := Burdened{How: fmt.Sprintf("beside %d heavy requests at once", heavyAtOnce), Asked: heavyAsked}
	var mu sync.Mutex
	var callers sync.WaitGroup
	refused := make(chan struct{}, 1) // all turns are taken
	for i := range heavyAtOnce {
		callers.Go(func() {
			for n := i; loading.Err() == nil; n++ {
				status := h.load(loading, n)
				if loading.Err() != nil {
					return
				}
				mu.Lock()
				switch status {
				case http.StatusOK:
					b.Answered++
				case http.StatusTooManyRequests:
					b.Refused++
					select {
					case refused <- struct{}{}:
					default:
					}
				default:
					b.Failed++
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-refused:
	case <-ctx.Done():
		return ctx.Err()
	}
	beside := h.repeat(ctx, "", heavyAsked, 10*time.Millisecond, func(int) string { return path })
	stop()
	callers.Wait()
	b.Millis = beside.Millis
	report.Burdened = append(report.Burdened, b)
	if failed := alone.Failed + beside.Failed; failed > 0 {
		return fmt.Errorf("GET %s: %d of %d failed: %s%s", path, failed, 2*heavyAsked, alone.Note, beside.Note)
	}
	if ratio := b.Millis["p95"] / alone.Millis["p95"]; ratio > heavyWithin {
		return fmt.Errorf("p95 of GET %s is %.1f times its own, expected at most %d", path, ratio, heavyWithin)
	}
	return nil
}

// load sends the n-th heavy request, reads its answer, and returns the status; 0 where there is none.
func (h *system) load(ctx context.Context, n int) int {
	r := heavyRequests[n%len(heavyRequests)]
	req, err := http.NewRequestWithContext(ctx, r.method, h.api+r.path, strings.NewReader(r.body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

func (r Report) printHeavy(w io.Writer) {
	if len(r.Burdened) == 0 {
		return
	}
	fmt.Fprintln(w, "\nGET /listings beside heavy requests of one tenant:")
	for _, b := range r.Burdened {
		fmt.Fprintf(w, "  %s: p50 %.1f ms, p95 %.1f, p99 %.1f, of %d", b.How, b.Millis["p50"], b.Millis["p95"],
			b.Millis["p99"], b.Asked)
		fmt.Fprintf(w, "; heavy ones: %d answered, %d refused, %d failed\n", b.Answered, b.Refused, b.Failed)
	}
}
