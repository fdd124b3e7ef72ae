package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/draft"
)

// DraftCmd requests product drafts, and lists and cancels the requests.
type DraftCmd struct {
	Request draftRequestCmd `cmd:"" default:"withargs" help:"Request the draft of a page, or those of a file of URLs; the word request may be left out."`
	List    draftListCmd    `cmd:"" help:"List crawl requests made over the API, newest first."`
	Cancel  draftCancelCmd  `cmd:"" help:"Cancel crawl requests for good: no draft is stored for them."`
}

type draftRequestCmd struct {
	URL     string        `arg:"" optional:"" help:"URL of a product page."`
	File    string        `help:"CSV file of URLs, - is standard input: request the draft of each, print the requests as CSV, and wait for none. A header may name the columns url, out_dir, locale and event_id. The same file again is the same drafts." placeholder:"CSV"`
	OutDir  string        `help:"Folder for the files of the draft on the worker, below CONVEYOR_OUT_ROOT; the default is out." placeholder:"DIR"`
	Locale  string        `help:"Locale of the browser: the language, script and country that the site is told, such as fr-CA; the default is en-US." placeholder:"LOCALE"`
	EventID uuid.UUID     `help:"UUID of the request; two requests with the same one make one draft. The default is a new one; with --file it parts this request of the file from others." placeholder:"UUID"`
	NoWait  bool          `help:"Print the event ID and stop."`
	Timeout time.Duration `help:"Maximum time to wait for the draft." default:"2m"`
}

// Run requests a draft, waits for it, and prints it as JSON. A draft that failed, or whose request was dead-lettered,
// is an error.
func (c *draftRequestCmd) Run(ctx context.Context, connect Connect) error {
	r, err := connect()
	if err != nil {
		return err
	}
	if c.File != "" {
		return c.runFile(ctx, r, os.Stdin, os.Stdout)
	}
	return c.run(ctx, r, os.Stdout, os.Stderr)
}

// Validate holds that there is something to request.
func (c *draftRequestCmd) Validate() error {
	if (c.URL == "") == (c.File == "") {
		return errors.New("give one URL, or --file")
	}
	return nil
}

func (c *draftRequestCmd) run(ctx context.Context, r Client, out, progress io.Writer) error {
	request := api.DraftRequest{URL: c.URL, OutDir: c.OutDir, Locale: c.Locale}
	if c.EventID != uuid.Nil {
		request.EventID = &c.EventID
	}
	var accepted api.DraftRequestAccepted
	if err := r.call(ctx, http.MethodPost, "/crawl-requests", request, &accepted); err != nil {
		return err
	}
	if c.NoWait {
		_, err := fmt.Fprintln(out, accepted.EventID)
		return err
	}
	state, err := c.wait(ctx, r, accepted.EventID, progress)
	if err != nil {
		return err
	}
	if state.State == "canceled" {
		return errors.New("make draft: the request was canceled")
	}
	if state.State == "dead" {
		letter := ""
		if state.DeadLetter != nil {
			letter = fmt.Sprintf("; fix the cause and run conveyor dead-letters replay %d", *state.DeadLetter)
		}
		return fmt.Errorf("make draft: %s%s", state.Error, letter)
	}
	var made api.DraftAnswer
	if err := r.call(ctx, http.MethodGet, "/drafts/"+accepted.DraftID.String(), nil, &made); err != nil {
		return err
	}
	if err := PrintJSON(out, made); err != nil {
		return err
	}
	if made.Outcome == draft.Failed {
		return fmt.Errorf("make draft: %s", made.Error)
	}
	return nil
}

// wait returns the final state of the request, and prints each state on the way.
func (c *draftRequestCmd) wait(
	ctx context.Context, r Client, event uuid.UUID, progress io.Writer,
) (state api.DraftRequestState, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout,
		fmt.Errorf("no draft after %s; GET /crawl-requests/%s returns its state", c.Timeout, event))
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	began, last := time.Now(), ""
	tell := func(end string) {
		if f, ok := progress.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
			fmt.Fprintf(progress, "\rdraft %s: %-9s %4.1f s%s", event, state.State, time.Since(began).Seconds(), end)
		} else if last != state.State {
			fmt.Fprintf(progress, "draft %s: %s\n", event, state.State)
		}
		last = state.State
	}
	for {
		if err = r.call(ctx, http.MethodGet, "/crawl-requests/"+event.String(), nil, &state); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return state, err
		}
		if state.State != "queued" && state.State != "running" {
			tell("\n")
			return state, nil
		}
		tell("")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return state, context.Cause(ctx)
		}
	}
}
