package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/sizing"
)

// SizeCmd says how large an installation must be. It asks no service.
type SizeCmd struct {
	Listings float64       `help:"Active adverts, such as 5e6." default:"0" placeholder:"N"`
	Rescrape time.Duration `help:"Each of them is seen once in this time." default:"6h"`
	Changed  float64       `help:"Share of those seen that is new or changed." default:"0.05"`
	Turnover float64       `help:"Share of the active adverts that is new each day." default:"0.033"`
	Images   float64       `help:"Images of a new advert." default:"6"`
	Pages    float64       `help:"Pages crawled a day." default:"0" placeholder:"N"`
	Crawls   float64       `help:"Crawl runs begun a day." default:"0" placeholder:"N"`
	Messages float64       `help:"Messages sent a day." default:"0" placeholder:"N"`
	Uploads  float64       `help:"Rows of contacts imported a day." default:"0" placeholder:"N"`
	Drafts   float64       `help:"Product drafts a day." default:"0" placeholder:"N"`
	Peak     float64       `help:"The busiest minute, as a multiple of the mean." default:"3"`
	Keep     time.Duration `help:"How long pages, messages, rows and files are kept." default:"2160h"`
	Shards   int           `help:"History shards of a Temporal that is there; 0 advises a number." default:"0"`
	Conns    int           `help:"CONVEYOR_DB_MAX_CONNS of the roles." default:"24"`
	Costs    string        `help:"Costs of a machine of yours: bin/bench.json, which make bench writes." placeholder:"FILE" type:"path"`
	JSON     bool          `name:"json" help:"Print JSON instead of the tables."`
}

// maxCosts is the most bytes of a report of make bench; one has some 100 kB.
const maxCosts = 16 << 20

// Run prints the plan.
func (c *SizeCmd) Run() error { return c.print(os.Stdout) }

func (c *SizeCmd) print(w io.Writer) error {
	costs := sizing.Ours()
	if c.Costs != "" {
		f, err := os.Open(c.Costs)
		if err != nil {
			return fmt.Errorf("--costs: %w", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxCosts))
		if err != nil {
			return fmt.Errorf("--costs: %w", err)
		}
		if costs, err = costs.Measured(c.Costs, text); err != nil {
			return err
		}
	}
	p, err := sizing.Of(sizing.Load{
		Listings: c.Listings, Rescrape: c.Rescrape, Changed: c.Changed, Turnover: c.Turnover, Images: c.Images,
		Pages: c.Pages, Crawls: c.Crawls, Messages: c.Messages, Uploads: c.Uploads, Drafts: c.Drafts, Peak: c.Peak,
		Keep: c.Keep, Shards: c.Shards, Conns: c.Conns,
	}, costs)
	if err != nil {
		return err
	}
	return printAs(w, p, c.JSON, printPlan)
}

func printPlan(w io.Writer, p sizing.Plan) error {
	t := Table(w)
	fmt.Fprintf(t, "Costs: %s\n\nWORK\tA SECOND\tAT THE PEAK\n", p.Source)
	for _, r := range p.Rates {
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.What, figure(r.Second), figure(r.Second*p.Load.Peak))
	}
	fmt.Fprint(t, "\nCORES AT THE PEAK\tBUSY\tTO HAVE\n")
	for _, n := range p.Cores {
		fmt.Fprintf(t, "%s\t%s\t%s\n", n.Engine, figure(n.Busy), figure(n.Cores))
	}
	var processes []string
	for _, role := range slices.Sorted(maps.Keys(p.Processes)) {
		processes = append(processes, fmt.Sprintf("%d %s", p.Processes[role], role))
	}
	fmt.Fprintf(t, "\nprocesses\t%s\n", strings.Join(processes, ", "))
	fmt.Fprintf(t, "connections of Postgres\t%d\n", p.Connections)
	fmt.Fprintf(t, "transitions of Temporal\t%s a second\n", figure(p.Transitions))
	fmt.Fprintf(t, "history shards\t%d\n", p.Shards)
	for _, what := range slices.Sorted(maps.Keys(p.Disk)) {
		fmt.Fprintf(t, "disk: %s\t%s GB\n", what, figure(p.Disk[what]/1e9))
	}
	fmt.Fprintf(t, "from sites and callers\t%s Mbit/s\n", figure(p.In/1e6))
	fmt.Fprintf(t, "to providers of messages\t%s Mbit/s\n", figure(p.Out/1e6))
	fmt.Fprint(t, "\nWHAT DOES NOT GROW WITH MORE MACHINES\tNEED\tMOST\tUNIT\t")
	for _, s := range p.Scales {
		fmt.Fprintf(t, "%g×\t", s.Times)
	}
	fmt.Fprintln(t, "BASIS")
	for _, c := range p.Ceilings {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t", c.Name, figure(c.Need), figure(c.Most), c.Unit)
		for _, s := range p.Scales {
			fmt.Fprintf(t, "%s %%\t", figure(100*s.Share[c.Name]))
		}
		fmt.Fprintln(t, c.Basis)
	}
	for _, s := range p.Scales[1:] {
		fmt.Fprintf(t, "\n%g× the load: %s", s.Times, saturated(p.Ceilings, s))
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// saturated says which ceilings a multiple of the load is above, the first one with what is done about it.
func saturated(all []sizing.Ceiling, s sizing.Scaled) string {
	var over []string
	for _, c := range all {
		if s.Share[c.Name] > 1 {
			over = append(over, c.Name)
		}
	}
	switch {
	case len(over) == 0:
		return "nothing is saturated; " + s.First + " is the nearest"
	}
	beyond := all[slices.IndexFunc(all, func(c sizing.Ceiling) bool { return c.Name == s.First })].Beyond
	text := s.First + " is saturated first (" + beyond + ")"
	if len(over) > 1 {
		text += "; then " + strings.Join(over[1:], ", ")
	}
	return text
}

// figure is a number in two or three digits that mean something.
func figure(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < .01:
		return "< 0.01"
	case v < 10:
		return fmt.Sprintf("%.2g", v)
	case v < 999.5:
		return fmt.Sprintf("%.0f", v)
	}
	digits := fmt.Sprintf("%.0f", math.Round(v))
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
