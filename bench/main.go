// Command bench feeds adverts through Conveyor on this machine and prints what they cost: listings a second, latency
// from publish to listings.published, CPU time by process group, Postgres transactions and Temporal state transitions.
// `make bench` runs it with services of its own.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Result is one scenario's figures.
type Result struct {
	Scenario         string             `json:"scenario"`
	Messages         int                `json:"messages"`
	Seconds          float64            `json:"seconds"`     // from the first publish to the last effect
	PerSecond        float64            `json:"per_second"`  // messages
	CPUMillis        float64            `json:"cpu_ms_each"` // all processes
	CPUByGroup       map[string]float64 `json:"cpu_ms_each_by_group"`
	P50, P95, P99    float64            `json:"-"`
	LatencyMillis    map[string]float64 `json:"latency_ms,omitempty"` // publish to listings.published
	StateTransitions float64            `json:"state_transitions_each,omitempty"`
	Transactions     map[string]float64 `json:"postgres_transactions_each"` // by database
}

func main() {
	n := flag.Int("n", 2000, "listings to feed")
	binary := flag.String("conveyor", "bin/conveyor", "binary to measure")
	one := flag.Bool("one-process", false, "run all roles in one process, as conveyor up does")
	out := flag.String("json", "", "file for the figures as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	results, err := run(ctx, *binary, *n, *one)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	printTable(results)
	if *out != "" {
		doc, err := json.MarshalIndent(results, "", "  ")
		if err == nil {
			err = os.WriteFile(*out, append(doc, '\n'), 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
}

// run measures every scenario in one house.
func run(ctx context.Context, binary string, n int, oneProcess bool) ([]Result, error) {
	h, err := open(ctx, binary, oneProcess)
	if err != nil {
		return nil, err
	}
	defer h.close()
	var results []Result
	adverts := generate(n)
	for _, s := range []struct {
		name string
		run  func() (Result, error)
	}{
		{"warm-up", func() (Result, error) { return h.feed(ctx, generateFrom(1_000_000, 200), 0) }},
		{"all new", func() (Result, error) { return h.feed(ctx, adverts, 0) }},
		{"95 % unchanged", func() (Result, error) { return h.feed(ctx, rescrape(adverts), 0) }},
		{"all new, 10 a second", func() (Result, error) { return h.feed(ctx, generateFrom(2_000_000, 200), 10) }},
	} {
		fmt.Fprintf(os.Stderr, "bench: %s …\n", s.name)
		r, err := s.run()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		r.Scenario = s.name
		if s.name != "warm-up" {
			results = append(results, r)
		}
	}
	return results, nil
}

func printTable(results []Result) {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tmessages\tper s\tCPU-ms each\tp50 ms\tp95 ms\tp99 ms\ttransitions\tPG tx\t")
	for _, r := range results {
		var tx float64
		for _, v := range r.Transactions {
			tx += v
		}
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.2f\t%.1f\t%.1f\t%.1f\t%.2f\t%.1f\t\n", r.Scenario, r.Messages, r.PerSecond, r.CPUMillis,
			r.LatencyMillis["p50"], r.LatencyMillis["p95"], r.LatencyMillis["p99"], r.StateTransitions, tx)
	}
	_ = t.Flush() // to a terminal
	for _, r := range results {
		var groups []string
		for g, ms := range r.CPUByGroup {
			groups = append(groups, fmt.Sprintf("%s %.2f", g, ms))
		}
		slices.Sort(groups)
		fmt.Printf("%s, CPU-ms each: %s\n", r.Scenario, strings.Join(groups, ", "))
		var databases []string
		for name, n := range r.Transactions {
			if n >= 0.05 {
				databases = append(databases, fmt.Sprintf("%s %.1f", name, n))
			}
		}
		slices.Sort(databases)
		fmt.Printf("%s, Postgres transactions each: %s\n", r.Scenario, strings.Join(databases, ", "))
	}
}
