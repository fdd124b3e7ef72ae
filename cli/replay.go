package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform"
)

// ReplayCmd starts, shows, lists and cancels replays of stored adverts through the pipeline.
type ReplayCmd struct {
	Start  replayStartCmd  `cmd:"" help:"Start a replay of the raw listings that match the filters, of all without a filter."`
	Show   replayShowCmd   `cmd:"" help:"Show the progress of a replay."`
	List   replayListCmd   `cmd:"" help:"List replays, newest first."`
	Cancel replayCancelCmd `cmd:"" help:"Cancel a replay; adverts already started are finished."`
}

type replayStartCmd struct {
	Stage    string      `help:"Stage at which the adverts enter: ${enum}." enum:"normalize,dedupe,import" default:"normalize"`
	Platform string      `help:"Only adverts of this platform."`
	Status   []string    `help:"Only adverts in one of these states: scraped, normalized, imported, duplicate, rejected."`
	Since    when        `help:"Only adverts last scraped at this time or later: 2026-11-20, 2026-11-20T14:00:00Z, or 48h for 48 hours ago." placeholder:"TIME"`
	Until    when        `help:"Only adverts last scraped before this time." placeholder:"TIME"`
	ID       []uuid.UUID `help:"Only the listings with these IDs."`
	Reason   string      `help:"Only adverts rejected for a reason with this code, such as missing."`
	Rate     int         `help:"Maximum of adverts per second, 1 to 100." default:"20"`
	DryRun   bool        `help:"Start nothing; print how many match."`
	Wait     bool        `help:"Show the progress until the replay ends. Ctrl-C stops watching; the replay goes on."`
	JSON     bool        `name:"json" help:"Print the answer of the API as JSON; with --wait, the replay as it ended."`
}

// Run starts a replay. It chooses the ID, so that a request whose response was lost can be sent again. With --wait, a
// replay that does not complete is ExitError 1.
func (c *replayStartCmd) Run(ctx context.Context, r Client) error {
	if err := within("rate", c.Rate, 100); err != nil {
		return err
	}
	id := uuid.New()
	in := apilistings.ReplayStart{
		ID: &id, Stage: apilistings.Stage(c.Stage), Rate: c.Rate, DryRun: c.DryRun,
		Filter: apilistings.ReplayWhich{
			Platform: c.Platform, Status: c.Status, ScrapedSince: c.Since.moment(), ScrapedUntil: c.Until.moment(),
			IDs: c.ID, Reason: c.Reason,
		},
	}
	var out apilistings.ReplayAccepted
	if _, known := platform.ByName(c.Platform); c.Platform != "" && !known { // there may be adverts of another release's
		in.DryRun = true
		if err := r.call(ctx, http.MethodPost, "/replays", in, &out); err != nil {
			return err
		}
		if out.Total == 0 {
			return fmt.Errorf("no advert matches, and there is no platform %q; known are %s", c.Platform,
				strings.Join(platform.Names(), ", "))
		}
		in.DryRun = c.DryRun
	}
	if err := r.call(ctx, http.MethodPost, "/replays", in, &out); err != nil {
		return err
	}
	warn(os.Stderr, out.Warning)
	wait, started := c.Wait && !c.DryRun, os.Stdout
	if wait && c.JSON {
		started = os.Stderr // standard output is for how it ends
	}
	if err := printAs(started, out, c.JSON && !wait, c.printStarted); err != nil || !wait {
		return err
	}
	return watchReplay(r, id).toEnd(ctx, c.JSON, printReplay, func(p apilistings.Replay) bool {
		return p.State == listing.ReplayCompleted
	})
}

// printStarted writes a replay that was started as text, or how many would match.
func (c *replayStartCmd) printStarted(w io.Writer, out apilistings.ReplayAccepted) (err error) {
	if out.Replay == nil {
		_, err = fmt.Fprintf(w, "%s%d raw listings match; nothing was started\n", estimate(out.Counted), out.Total)
	} else {
		_, err = fmt.Fprintf(w, "replay %s: %s raw listings from stage %s, at most %d a second\n%s\n", out.Replay.ID,
			total(out.Replay), c.Stage, c.Rate, out.Replay.Workflow.URL)
	}
	return err
}

// estimate is the word before a number that was not counted.
func estimate(counted bool) string {
	if counted {
		return ""
	}
	return "about "
}

// total is the number of a replay's adverts, as far as it is known.
func total(r *apilistings.Replay) string {
	switch {
	case r.Counted:
		return strconv.FormatInt(r.Total, 10)
	case r.Total == 0:
		return "?"
	}
	return fmt.Sprintf("%d+", r.Total)
}

// watchReplay follows a replay until it ends.
func watchReplay(r Client, id uuid.UUID) watch[apilistings.Replay] {
	return watch[apilistings.Replay]{
		api: r, path: "/replays/" + id.String(), line: replayLine,
		state: func(p apilistings.Replay) (string, bool) {
			return p.State, p.State != "" && p.State != listing.ReplayRunning
		},
		left: "the replay goes on: conveyor replay show " + id.String(),
	}
}

// replayLine is the progress of a replay in a line.
func replayLine(p apilistings.Replay) string {
	line := fmt.Sprintf("replay %s: %d of %s done", p.State, p.Done, total(&p))
	if p.Failed > 0 {
		line += fmt.Sprintf(", %d failed", p.Failed)
	}
	if p.ETA != nil {
		line += ", " + max(0, time.Until(*p.ETA)).Round(time.Second).String() + " left"
	}
	return line
}

// replayID is the argument of the commands on one replay.
type replayID struct {
	ID   uuid.UUID `arg:"" help:"ID of the replay."`
	JSON bool      `name:"json" help:"Print the answer of the API as JSON."`
}

type (
	replayShowCmd   struct{ replayID }
	replayCancelCmd struct{ replayID }
)

func (c *replayShowCmd) Run(ctx context.Context, r Client) error {
	return c.ask(ctx, r, http.MethodGet)
}

func (c *replayCancelCmd) Run(ctx context.Context, r Client) error {
	return c.ask(ctx, r, http.MethodDelete)
}

// ask sends a request about a replay and prints its state afterwards.
func (c replayID) ask(ctx context.Context, r Client, method string) error {
	return show(ctx, r, method, "/replays/"+c.ID.String(), nil, c.JSON, printReplay)
}

type replayListCmd struct {
	stateFlags `set:"states=running,completed,canceled,failed"`
}

// Run prints page after page, up to --limit.
func (c *replayListCmd) Run(ctx context.Context, r Client) error {
	return pages[*apilistings.Replay]{
		Path: "/replays", Query: c.query(url.Values{}), listFlags: c.listFlags,
		Head: "ID\tSTATE\tSTAGE\tDONE\tTOTAL\tSTARTED BY\tCREATED",
		Row: func(t io.Writer, p *apilistings.Replay) {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", p.ID, p.State, p.Stage, p.Done, total(p), Plain(p.StartedBy),
				p.CreatedAt.UTC().Format(time.RFC3339))
		},
	}.list(ctx, r, "there are no replays")
}

// printReplay writes the state of a replay as text. Counts that are zero are left out.
func printReplay(w io.Writer, r apilistings.Replay) error {
	t, row := newFacts(w)
	row("replay", "%s", r.ID)
	row("state", "%s", Plain(strings.TrimSuffix(r.State+": "+r.Reason, ": ")))
	row("stage", "%s, at most %d a second", r.Stage, r.Rate)
	row("done", "%d of %s, %d started", r.Done, total(&r), r.Started)
	tallied(row, tally{"imported", r.Outcomes.Imported}, tally{"duplicate", r.Outcomes.Duplicate},
		tally{"rejected", r.Outcomes.Rejected}, tally{"handed on", r.Outcomes.HandedOn}, tally{"failed", r.Failed},
		tally{"skipped, archived", r.Skips.Archived}, tally{"skipped, gone", r.Skips.Gone},
		tally{"skipped, staged", r.Skips.Staged}, tally{"skipped, not normalized", r.Skips.NotNormalized})
	row("started", "by %s at %s", Plain(r.StartedBy), r.CreatedAt.UTC().Format(time.RFC3339))
	if r.EndedAt != nil {
		row("ended", "%s, after %s", r.EndedAt.UTC().Format(time.RFC3339), r.EndedAt.Sub(r.CreatedAt).Round(time.Second))
	}
	if r.ETA != nil {
		row("ends", "about %s", r.ETA.UTC().Format(time.RFC3339))
	}
	row("workflow", "%s", r.Workflow.URL)
	return t.Flush()
}
