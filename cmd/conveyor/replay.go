package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/listing"
)

// replaysCmd are the commands on replays, over the API.
type replaysCmd struct {
	Start  replayStartCmd  `cmd:"" help:"Start a replay of the raw listings that match, all of them without a filter."`
	Show   replayShowCmd   `cmd:"" help:"Print how far a replay has come."`
	List   replayListCmd   `cmd:"" help:"Print replays, the newest first."`
	Cancel replayCancelCmd `cmd:"" help:"Stop a replay; what was started goes its way."`
}

type replayStartCmd struct {
	Stage    string      `help:"Where they enter: ${enum}." enum:"normalize,dedupe,import" default:"normalize"`
	Platform string      `help:"Only adverts of this platform."`
	Status   []string    `help:"Only those that are any of: scraped, normalized, imported, duplicate, rejected."`
	Since    when        `help:"Only those last scraped then or later: 2026-11-20, 2026-11-20T14:00:00Z, or 48h for so long ago." placeholder:"WHEN"`
	Until    when        `help:"Only those last scraped before." placeholder:"WHEN"`
	ID       []uuid.UUID `help:"Only these listings, by ID."`
	Reason   string      `help:"Only those rejected for a reason of this code, such as missing."`
	Rate     int         `help:"Adverts a second, at most: 1 to 100." default:"20"`
	DryRun   bool        `help:"Start nothing, only say how many match."`
	Wait     bool        `help:"Stay and show how far it has come. Ctrl-C leaves; the replay goes on."`
}

// Run starts the replay under an ID of our own, so that a request whose answer got lost can be sent again.
func (c *replayStartCmd) Run(ctx context.Context) error {
	r, err := newRemote()
	if err != nil {
		return err
	}
	id := uuid.New()
	in := api.ReplayStart{
		ID: &id, Stage: api.Stage(c.Stage), Rate: c.Rate, DryRun: c.DryRun,
		Filter: api.ReplayWhich{
			Platform: c.Platform, Status: c.Status, ScrapedSince: c.Since.moment(), ScrapedUntil: c.Until.moment(),
			IDs: c.ID, Reason: c.Reason,
		},
	}
	var out api.ReplayAccepted
	if err := r.call(ctx, http.MethodPost, "/replays", in, &out); err != nil {
		return err
	}
	if c.DryRun {
		fmt.Printf("%d raw listings match; nothing was started\n", out.Total)
		return nil
	}
	fmt.Printf("replay %s: %d raw listings from stage %s, at most %d a second\n%s\n", out.Replay.ID, out.Total, c.Stage,
		c.Rate, out.Replay.Workflow.URL)
	if !c.Wait {
		return nil
	}
	done, err := r.watch(ctx, id)
	if err != nil {
		return err
	}
	printReplay(os.Stdout, done)
	if done.State != listing.ReplayCompleted {
		return exitError(1)
	}
	return nil
}

// watch shows a replay's progress until it ends. An API that is away for a while is asked again.
func (r remote) watch(ctx context.Context, id uuid.UUID) (last api.Replay, err error) {
	bar := progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("replaying"),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(isatty.IsTerminal(os.Stderr.Fd())))
	defer func() { _ = bar.Finish() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for misses := 0; ; {
		var got api.Replay // anew each time: what is left out of an answer is not so any more
		switch err := r.call(ctx, http.MethodGet, "/replays/"+id.String(), nil, &got); {
		case err == nil:
			last, misses = got, 0
		case ctx.Err() != nil:
		default:
			if misses++; misses > 30 {
				return last, err
			}
		}
		bar.ChangeMax64(max(last.Total, last.Done, 1))
		_ = bar.Set64(last.Done)
		if last.State != "" && last.State != listing.ReplayRunning {
			return last, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, fmt.Errorf("stopped watching at %d of %d; the replay goes on: conveyor replay show %s", last.Done,
				last.Total, id)
		}
	}
}

type replayShowCmd struct {
	ID uuid.UUID `arg:"" help:"ID of the replay."`
}

func (c *replayShowCmd) Run(ctx context.Context) error {
	return onReplay(ctx, http.MethodGet, c.ID)
}

type replayCancelCmd struct {
	ID uuid.UUID `arg:"" help:"ID of the replay."`
}

func (c *replayCancelCmd) Run(ctx context.Context) error {
	return onReplay(ctx, http.MethodDelete, c.ID)
}

// onReplay asks for something to be done with a replay and prints how it stands.
func onReplay(ctx context.Context, method string, id uuid.UUID) error {
	r, err := newRemote()
	if err != nil {
		return err
	}
	var out api.Replay
	if err := r.call(ctx, method, "/replays/"+id.String(), nil, &out); err != nil {
		return err
	}
	printReplay(os.Stdout, out)
	return nil
}

type replayListCmd struct {
	State string `help:"Only those that are: ${enum}." enum:"running,completed,canceled,failed,any" default:"any"`
	Limit int    `help:"How many, at most 100." default:"20"`
}

func (c *replayListCmd) Run(ctx context.Context) error {
	r, err := newRemote()
	if err != nil {
		return err
	}
	query := url.Values{"state": {c.State}, "limit": {strconv.Itoa(c.Limit)}}
	var page api.ReplayPage
	if err := r.call(ctx, http.MethodGet, "/replays?"+query.Encode(), nil, &page); err != nil {
		return err
	}
	if len(page.Items) == 0 {
		fmt.Println("there are no replays")
		return nil
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tSTATE\tSTAGE\tDONE\tTOTAL\tSTARTED BY\tCREATED")
	for _, p := range page.Items {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", p.ID, p.State, p.Stage, p.Done, p.Total, plain(p.StartedBy),
			p.CreatedAt.Format(time.RFC3339))
	}
	return t.Flush()
}

// printReplay writes how a replay stands, for people. Counts that are zero are left out.
func printReplay(w io.Writer, r api.Replay) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	row("replay", "%s", r.ID)
	row("state", "%s", plain(strings.TrimSuffix(r.State+": "+r.Reason, ": ")))
	row("stage", "%s, at most %d a second", r.Stage, r.Rate)
	row("done", "%d of %d, %d started", r.Done, r.Total, r.Started)
	for _, n := range []struct {
		name  string
		count int64
	}{
		{"  imported", r.Outcomes.Imported}, {"  duplicate", r.Outcomes.Duplicate}, {"  rejected", r.Outcomes.Rejected},
		{"  handed on", r.Outcomes.HandedOn}, {"  failed", r.Failed}, {"  skipped, archived", r.Skips.Archived},
		{"  skipped, staged", r.Skips.Staged}, {"  skipped, not normalized", r.Skips.NotNormalized},
	} {
		if n.count > 0 {
			row(n.name, "%d", n.count)
		}
	}
	row("started", "by %s at %s", plain(r.StartedBy), r.CreatedAt.Format(time.RFC3339))
	if r.EndedAt != nil {
		row("ended", "%s, after %s", r.EndedAt.Format(time.RFC3339), r.EndedAt.Sub(r.CreatedAt).Round(time.Second))
	}
	if r.ETA != nil {
		row("ends", "about %s", r.ETA.Format(time.RFC3339))
	}
	row("workflow", "%s", r.Workflow.URL)
	_ = t.Flush() // to a terminal
}
