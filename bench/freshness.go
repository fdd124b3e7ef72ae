package main

import (
	"fmt"
	"io"
	"time"

	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/sim/freshness"
)

const freshnessName = "freshness"

// A Fresh is a simulated year of a site.
type Fresh struct {
	How string `json:"how"`
	freshness.Result
}

// fresh simulates a year of a site of 9,000 adverts at the pace of the real sites. Its figures do not depend on the
// machine.
func fresh(report *Report) error {
	lanes := scrape.Pace{Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute, Look: scrape.DefaultLook,
		Cycle: scrape.DefaultCycle}
	noLooks, bounded := lanes, lanes
	noLooks.Look, bounded.MaxPages = 0, 100
	for _, s := range []struct {
		how  string
		pace scrape.Pace
	}{{"two lanes", lanes}, {"the slow lane alone", noLooks}, {"two lanes, 100 search pages at most", bounded}} {
		r := Fresh{s.how, freshness.Simulate(freshness.NineThousand, s.pace, 365, 1)}
		report.Fresh = append(report.Fresh, r)
		if r.Wrong > 0 {
			return fmt.Errorf("%s: %d adverts were found to be gone that were not", s.how, r.Wrong)
		}
	}
	return nil
}

func (r Report) printFresh(w io.Writer) {
	table(w, "\na simulated year of a site of 9,000 adverts, a request each 9 s; latency is from publication to the visit:",
		"p50\tp95\tmost\trequests a day\tlooks\tsearch\tvisits\toldest visit\tcycle\tgone\twrongly\t", r.Fresh,
		func(t io.Writer, f Fresh) {
			s := time.Second
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%d\t%d\t  %s\n", f.P50.Round(s), f.P95.Round(s), f.Most.Round(s),
				f.Requests/f.Days, f.Looks/f.Days, f.Search/f.Days, f.Visits/f.Days, f.Oldest.Round(s), f.Cycle.Round(s), f.Gone,
				f.Wrong, f.How)
		})
}
