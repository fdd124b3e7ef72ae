package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/draft"
)

type draftCmd struct {
	URL     string        `arg:"" help:"Address of a product's page."`
	OutDir  string        `help:"Folder for its files on the worker, below CONVEYOR_OUT_ROOT; the default is out." placeholder:"DIR"`
	EventID uuid.UUID     `help:"UUID of the request; the same one twice is one draft. The default is a new one." placeholder:"UUID"`
	NoWait  bool          `help:"Say the event ID and stop."`
	Timeout time.Duration `help:"How long to wait." default:"2m"`
}

// Run asks the API for a draft, waits for it, and prints it as JSON. A draft that failed, or will never be, is exit
// code 1.
func (c *draftCmd) Run(ctx context.Context) error {
	r, err := newRemote()
	if err != nil {
		return err
	}
	return c.run(ctx, r, os.Stdout, os.Stderr)
}

func (c *draftCmd) run(ctx context.Context, r remote, out, told io.Writer) error {
	wish := api.DraftRequest{URL: c.URL, OutDir: c.OutDir}
	if c.EventID != uuid.Nil {
		wish.EventID = &c.EventID
	}
	var accepted api.DraftRequestAccepted
	if err := r.call(ctx, http.MethodPost, "/crawl-requests", wish, &accepted); err != nil {
		return err
	}
	if c.NoWait {
		_, err := fmt.Fprintln(out, accepted.EventID)
		return err
	}
	state, err := c.wait(ctx, r, accepted.EventID, told)
	if err != nil {
		return err
	}
	if state.State == "dead" {
		letter := ""
		if state.DeadLetter != nil {
			letter = fmt.Sprintf("; mend that and run conveyor dead-letters replay %d", *state.DeadLetter)
		}
		return fmt.Errorf("make draft: %s%s", state.Error, letter)
	}
	var made api.DraftAnswer
	if err := r.call(ctx, http.MethodGet, "/drafts/"+accepted.DraftID.String(), nil, &made); err != nil {
		return err
	}
	if err := printJSON(out, made); err != nil {
		return err
	}
	if made.Outcome == draft.Failed {
		return fmt.Errorf("make draft: %s", made.Error)
	}
	return nil
}

// wait returns when the request has come to its end, and tells of each state on the way.
func (c *draftCmd) wait(
	ctx context.Context, r remote, event uuid.UUID, told io.Writer,
) (state api.DraftRequestState, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout,
		fmt.Errorf("it is not there after %s; look again with GET /crawl-requests/%s", c.Timeout, event))
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	began, last := time.Now(), ""
	tell := func(end string) {
		if f, ok := told.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
			fmt.Fprintf(told, "\rdraft %s: %-9s %4.1f s%s", event, state.State, time.Since(began).Seconds(), end)
		} else if last != state.State {
			fmt.Fprintf(told, "draft %s: %s\n", event, state.State)
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

type extractCmd struct {
	File string `arg:"" help:"Saved page, HTML or that compressed by gzip; - is standard input."`
	URL  string `name:"url" help:"Where it came from: for links, and to know the country. The default is what the page says." placeholder:"URL"`
}

// Run prints the draft of a saved page as JSON. It needs none of the services.
func (c *extractCmd) Run() error { return c.run(os.Stdin, os.Stdout) }

func (c *extractCmd) run(in io.Reader, out io.Writer) error {
	page, err := savedPage(c.File, in)
	if err != nil {
		return err
	}
	const unknown = "http://unknown.invalid"
	address := c.URL
	if address == "" {
		address = ownAddress(page, unknown+"/")
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return fmt.Errorf("read --url: %q is not an address", address)
	}
	d, err := draft.Extract(page, address)
	if err != nil {
		return err
	}
	if strings.HasPrefix(address, unknown) { // what is relative stays so
		address = ""
		for i, image := range d.Images {
			d.Images[i].Value = strings.TrimPrefix(image.Value, unknown)
		}
	}
	return printJSON(out, draft.Document{URL: address, FinalURL: address, Draft: d})
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
