package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
	"github.com/mtlrent/conveyor/domain/platform"
)

// A Call is what one call of the store costs an advert, in CPU microseconds: the connection's process, and ours.
type Call struct {
	Name     string  `json:"name"`
	Postgres float64 `json:"postgres_us"`
	Own      float64 `json:"own_us"`
}

const (
	callsName  = "calls of the store"
	callsWarm  = 200 // adverts before counting begins: by then the connection has its plans
	callsCount = 500 // adverts that are counted
)

// calls takes new adverts through the calls of the store that the steps of the pipeline make, one after the other, on
// one connection. Nothing else runs on that connection, so what a call costs hardly depends on what the machine does.
func (h *system) calls(ctx context.Context, report *Report) error {
	pool, err := db.Open(ctx, h.db.Config().ConnString(), 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	var pid int
	if err := pool.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	var calls []Call
	at := 0
	counted := false
	measure := func(name string, call func() error) error {
		if at == len(calls) {
			calls = append(calls, Call{Name: name})
		}
		server, own := ran(pid), cpuTime()
		if err := call(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if counted {
			calls[at].Postgres += float64(ran(pid)-server) / 1000 / callsCount
			calls[at].Own += float64((cpuTime() - own).Nanoseconds()) / 1000 / callsCount
		}
		at++
		return nil
	}
	store := dblistings.NewListings(pool)
	for i, a := range generateFrom(5_000_000, callsWarm+callsCount) {
		at, counted = 0, i >= callsWarm
		if err := takeThrough(ctx, store, a, measure); err != nil {
			return err
		}
	}
	report.Calls = append(report.Calls, calls...)
	return nil
}

// takeThrough makes the calls of an advert's steps, as package activities does.
func takeThrough(ctx context.Context, store *dblistings.Listings, a advert,
	measure func(string, func() error) error) error {
	var raw listing.Raw
	if err := json.Unmarshal(a.body, &raw); err != nil {
		return err
	}
	arrival, err := dblistings.NewArrival(raw, a.body)
	if err != nil {
		return err
	}
	site, _ := platform.ByName(raw.Platform)
	run, now := listing.Run{WorkflowID: raw.WorkflowID(), RunID: raw.ID().String()}, time.Now()
	var (
		l listing.Listing
		p listing.Payload
		v listing.Version
	)
	load := func() (err error) {
		var kept bool
		if v, kept = store.Kept(raw.ID(), p.Revision); !kept {
			v, err = store.Load(ctx, raw.ID())
		}
		return err
	}
	for _, c := range []struct {
		name string
		call func() error
	}{
		{"receive", func() error {
			_, err := store.Receive(ctx, []dblistings.Arrival{arrival}, now)
			return err
		}},
		{"normalize: read", func() (err error) {
			p, err = store.Raw(ctx, raw.ID())
			return err
		}},
		{"normalize: read the advert", func() (err error) {
			l, err = site.Normalize(raw)
			return err
		}},
		{"normalize: store", func() error { return store.SaveNormalized(ctx, l, p, now) }},
		{"dedupe: read", load},
		{"dedupe: decide, store", func() error {
			_, _, err := store.JoinHome(ctx, v, nil, run, now)
			return err
		}},
		{"import: read", load},
		{"import: store", func() error {
			p := listing.Publication{
				Version: v, WithoutImages: true, Enrichment: &listing.Enrichment{Facts: platform.Facts(v.Listing)},
			}
			if n, ok := place.At(*l.Latitude, *l.Longitude); ok {
				p.Neighbourhood = n.Key
			}
			_, err := store.Publish(ctx, p, run, now)
			return err
		}},
	} {
		if err := measure(c.name, c.call); err != nil {
			return err
		}
	}
	return nil
}

// ran is how long a process has run, in nanoseconds.
func ran(pid int) int64 {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	first, _, _ := strings.Cut(string(line), " ")
	n, _ := strconv.ParseInt(first, 10, 64)
	return n
}

func (r Report) printCalls(w io.Writer) {
	if len(r.Calls) == 0 {
		return
	}
	all := Call{Name: "all"}
	for _, c := range r.Calls {
		all.Postgres, all.Own = all.Postgres+c.Postgres, all.Own+c.Own
	}
	table(w, "\nan advert, call by call, CPU-µs each:", "Postgres\tours\t", append(r.Calls, all),
		func(t io.Writer, c Call) { fmt.Fprintf(t, "%.0f\t%.0f\t  %s\n", c.Postgres, c.Own, c.Name) })
}
