package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
)

// DraftCmd requests product drafts, and lists and cancels the requests.
type DraftCmd struct {
	Request draftRequestCmd `cmd:"" default:"withargs" help:"Request the draft of a page, or those of a file of URLs; the word request may be left out."`
	List    draftListCmd    `cmd:"" help:"List crawl requests made over the API, newest first. Pending are those that are queued or running."`
	Cancel  draftCancelCmd  `cmd:"" help:"Cancel crawl requests for good: no draft is stored for them."`
}

type draftRequestCmd struct {
	URL     string        `arg:"" optional:"" help:"URL of a product page."`
	File    string        `help:"CSV file of URLs, - is standard input: request the draft of each, print the requests as CSV, and wait for none. A header may name the columns url, out_dir, locale and event_id. The same file again is the same drafts." placeholder:"CSV"`
	OutDir  string        `help:"Folder for the files of the draft on the worker, below CONVEYOR_OUT_ROOT; the default is out." placeholder:"DIR"`
	Locale  string        `help:"Locale of the browser: the language, script and country that the site sees, such as fr-CA; the default is en-US." placeholder:"LOCALE"`
	Header  []string      `help:"Header of the requests to the origin of the URL, and to no other; repeat it for each. It is kept encrypted until the draft is there, and not printed." placeholder:"NAME:VALUE" sep:"none"`
	Cookie  []string      `help:"Cookie for the host of the URL; repeat it for each. A path may follow: a=b; path=/shop." placeholder:"NAME=VALUE" sep:"none"`
	EventID uuid.UUID     `help:"UUID of the request; two requests with the same one make one draft. The default is a new one; with --file it parts this request of the file from others." placeholder:"UUID"`
	NoWait  bool          `help:"Print the event ID and stop."`
	Timeout time.Duration `help:"Maximum time to wait for the draft." default:"2m"`
}

// Run requests a draft, waits for it, and prints it as JSON. A draft that failed, or whose request was dead-lettered,
// is an error.
func (c *draftRequestCmd) Run(ctx context.Context, r Client) error {
	if c.File != "" {
		return c.runFile(ctx, r, os.Stdin, os.Stdout)
	}
	return c.run(ctx, r, os.Stdout, os.Stderr)
}

// Validate holds that there is something to request, and that secrets go to one site.
func (c *draftRequestCmd) Validate() error {
	if (c.URL == "") == (c.File == "") {
		return errors.New("give one URL, or --file")
	}
	if c.File != "" && len(c.Header)+len(c.Cookie) > 0 {
		return errors.New("--header and --cookie are for one URL: those of a file may be of several sites")
	}
	_, err := c.request()
	return err
}

// request is what is asked for. Its errors quote neither headers nor cookies.
func (c *draftRequestCmd) request() (r apidrafts.DraftRequest, err error) {
	r = apidrafts.DraftRequest{URL: c.URL, OutDir: c.OutDir, Locale: c.Locale}
	if c.EventID != uuid.Nil {
		r.EventID = &c.EventID
	}
	for i, line := range c.Header {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return r, fmt.Errorf("header %d is not NAME:VALUE", i+1)
		}
		if r.Headers == nil {
			r.Headers = map[string]string{}
		}
		if _, twice := r.Headers[name]; twice {
			return r, fmt.Errorf("header %d is there twice", i+1)
		}
		r.Headers[name] = strings.TrimSpace(value)
	}
	for i, line := range c.Cookie {
		pair, more, _ := strings.Cut(line, ";")
		name, value, ok := strings.Cut(pair, "=")
		cookie := apidrafts.DraftCookie{Name: strings.TrimSpace(name), Value: strings.TrimSpace(value)}
		attribute, path, isPath := strings.Cut(strings.TrimSpace(more), "=")
		if isPath = isPath && strings.EqualFold(strings.TrimSpace(attribute), "path"); isPath {
			cookie.Path = strings.TrimSpace(path)
		}
		if !ok || cookie.Name == "" || strings.TrimSpace(more) != "" && !isPath {
			return r, fmt.Errorf("cookie %d is not NAME=VALUE, or NAME=VALUE; path=/PATH", i+1)
		}
		r.Cookies = append(r.Cookies, cookie)
	}
	return r, nil
}

func (c *draftRequestCmd) run(ctx context.Context, r Client, out, progress io.Writer) error {
	request, err := c.request()
	if err != nil {
		return err
	}
	var accepted apidrafts.DraftRequestAccepted
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
	var made apidrafts.DraftAnswer
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

// letterLooks is how often a request whose workflow has failed is looked at for its dead letter, which has the cause
// and is there a moment later. One of a workflow that was terminated by hand may have none.
const letterLooks = 30

// draftLooks is how often a second the state of a request is asked for.
const draftLooks = 3

// wait returns the final state of the request, and prints each state on the way.
func (c *draftRequestCmd) wait(
	ctx context.Context, r Client, event uuid.UUID, progress io.Writer,
) (state apidrafts.DraftRequestState, err error) {
	left := "; the request goes on: conveyor draft list has it, conveyor draft cancel " + event.String() + " ends it"
	caller := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("no draft after %s%s", c.Timeout, left))
	defer cancel()
	began, last, letters := time.Now(), "", letterLooks
	tell := func(end string) {
		if f, ok := progress.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
			fmt.Fprintf(progress, "\rdraft %s: %-9s %4.1f s%s", event, state.State, time.Since(began).Seconds(), end)
		} else if last != state.State {
			fmt.Fprintf(progress, "draft %s: %s\n", event, state.State)
		}
		last = state.State
	}
	_, err = poll(ctx, r, "/crawl-requests/"+event.String(), left, draftLooks, func(got apidrafts.DraftRequestState) bool {
		state = got
		if tell(""); state.State == "dead" && state.DeadLetter == nil && letters > 0 {
			letters--
			return false
		}
		return state.State != "queued" && state.State != "running"
	})
	tell("\n")
	var wrong refused
	switch {
	case state.State == "dead": // only the letter is missing: why it failed is known
		return state, nil
	case caller.Err() == nil && ctx.Err() != nil:
		return state, context.Cause(ctx)
	case state.State == "" && errors.As(err, &wrong) && wrong.ofCaller() && !wrong.ofNothing():
		return state, stopped(left, err)
	}
	return state, err
}
