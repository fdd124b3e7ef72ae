package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/fault"
)

// DeadLettersCmd lists, shows, replays and discards the messages and images that could not be processed.
type DeadLettersCmd struct {
	List    lettersListCmd    `cmd:"" help:"List dead letters, most recently dead-lettered first."`
	Reasons lettersReasonsCmd `cmd:"" help:"Count dead letters by queue, class and reason."`
	Show    lettersShowCmd    `cmd:"" help:"Show one dead letter with its headers, body and audit trail; contact data is removed."`
	Replay  lettersReplayCmd  `cmd:"" help:"Send dead letters to their queues again, by ID or by filter."`
	Discard lettersDiscardCmd `cmd:"" help:"Discard dead letters, by ID or by filter. They can still be shown and, with --force, replayed."`
}

// letterFlags are the filters of dead letters: all that are given must match.
type letterFlags struct {
	Queue    string `help:"Queue it was dead-lettered from, such as scraped.kijiji or images.pending." placeholder:"NAME"`
	Class    string `help:"Class of the failure: invalid, gone, blocked, transient, …" placeholder:"NAME"`
	Platform string `help:"Adverts of this platform, and their images." placeholder:"NAME"`
	Tenant   string `help:"Uploads and messages of this tenant." placeholder:"ID"`
	Reason   string `help:"Text that the reason contains; case is ignored." placeholder:"TEXT"`
	Workflow string `help:"Workflow that failed on it, such as listing/kijiji/1668602387." placeholder:"ID"`
	Since    when   `help:"Last dead-lettered at this time or later: 2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago." placeholder:"TIME"`
	Until    when   `help:"Last dead-lettered at this time or earlier." placeholder:"TIME"`
}

// lettersOf are the filters of dead letters that are in a state.
type lettersOf struct {
	letterFlags
	State anyCase `help:"State: ${enum}." enum:"open,replayed,resolved,discarded,any" default:"open"`
}

func (l lettersOf) query() url.Values {
	q := l.letterFlags.query()
	q.Set("state", string(l.State))
	return q
}

// query returns the filter as the query of GET /dead-letters.
func (f letterFlags) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"queue": f.Queue, "class": f.Class, "platform": f.Platform, "tenant": f.Tenant, "reason": f.Reason,
		"workflow_id": f.Workflow, "since": f.Since.text(), "until": f.Until.text(),
	} {
		setQuery(q, name, value)
	}
	return q
}

type lettersListCmd struct {
	lettersOf
	listFlags
}

// Run prints page after page, up to --limit.
func (c *lettersListCmd) Run(ctx context.Context, r Client) error {
	return pages[api.LetterItem]{
		Path: "/dead-letters", Query: c.query(), listFlags: c.listFlags,
		Head: letterHead,
		Row:  letterRow,
	}.list(ctx, r, "no dead letter matches")
}

const letterHead = "ID\tDIED LAST (UTC)\tSTATE\tQUEUE\tCLASS\tDEATHS\tREPLAYS\tREASON"

// letterRow prints a dead letter as a row below letterHead.
func letterRow(t io.Writer, l api.LetterItem) {
	fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", l.ID, l.LastAt.UTC().Format(time.DateTime), l.State,
		Plain(l.Queue), Plain(l.Class), l.Deaths, l.Replays, Short(Plain(l.Reason), 80))
}

type lettersReasonsCmd struct {
	lettersOf
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints a line for each queue, class and reason, the commonest first.
func (c *lettersReasonsCmd) Run(ctx context.Context, r Client) error {
	return show(ctx, r, http.MethodGet, "/dead-letters/groups?"+c.query().Encode(), nil, c.JSON, printGroups)
}

// printGroups writes what dead letters died of. What --reason takes is a part of each, without the numbers in it.
func printGroups(w io.Writer, got api.LetterGroups) error {
	return printTable(w, got.Items, "no dead letter matches", "LETTERS\tQUEUE\tCLASS\tDIED LAST (UTC)\tNEWEST\tREASON",
		func(t io.Writer, g api.LetterGroup) {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%d\t%s\n", g.Letters, Plain(g.Queue), Plain(g.Class),
				g.LastAt.UTC().Format(time.DateTime), g.Newest, Short(Plain(g.Reason), 100))
		})
}

type lettersShowCmd struct {
	ID   int64 `arg:"" help:"ID of the dead letter, from the list."`
	JSON bool  `name:"json" help:"Print the response of the API."`
}

// Run prints everything that the API returns of a dead letter.
func (c *lettersShowCmd) Run(ctx context.Context, r Client) error {
	var doc json.RawMessage
	if err := r.call(ctx, http.MethodGet, letterPath(c.ID), nil, &doc); err != nil {
		return err
	}
	if c.JSON {
		fmt.Println(tame(string(doc)))
		return nil
	}
	var l api.LetterDetail
	if err := json.Unmarshal(doc, &l); err != nil {
		return fmt.Errorf("read dead letter %d: %w", c.ID, err)
	}
	return showLetter(os.Stdout, l)
}

func letterPath(id int64) string { return "/dead-letters/" + strconv.FormatInt(id, 10) }

// showLetter prints a dead letter as text.
func showLetter(w io.Writer, l api.LetterDetail) error {
	t := Table(w)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, Plain(fmt.Sprintf(format, args...)))
	}
	line("id", "%d", l.ID)
	line("state", "%s", l.State)
	line("queue", "%s", l.Queue)
	line("published to", "exchange %q, key %q", l.Exchange, l.RoutingKey)
	if l.MessageID != "" {
		line("message id", "%s", l.MessageID)
	}
	line("class", "%s", l.Class)
	line("reason", "%s", l.Reason)
	line("died first", "%s", l.FirstAt.UTC().Format(time.RFC3339))
	line("died last", "%s, %s", l.LastAt.UTC().Format(time.RFC3339), times(l.Deaths))
	if l.ReplayedAt != nil {
		line("replayed", "%s, %s%s", l.ReplayedAt.UTC().Format(time.RFC3339), times(l.Replays), howFar(l))
	}
	if l.Workflow != nil {
		line("workflow", "%s", l.Workflow.ID)
		line("", "%s", l.Workflow.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		line("header", "%s: %s", name, l.Headers[name])
	}
	if l.Hidden > 0 {
		line("hidden", "%d headers and members of the body", l.Hidden)
	}
	for _, d := range l.Audit {
		line("audit", "%s %s by %s %s", d.At.UTC().Format(time.RFC3339), d.Action, d.Actor, d.Detail)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	fmt.Fprintf(w, "\nbody, %d bytes", l.Bytes)
	switch {
	case len(l.Body) > 0:
		doc, err := readable(l.Body)
		if err != nil {
			return fmt.Errorf("read body: %w", err)
		}
		fmt.Fprintf(w, ", without contact data:\n%s", doc)
	case len(l.BodyBase64) > 0:
		fmt.Fprintf(w, ", not JSON:\n%q\n", l.BodyBase64)
	case l.Bytes > 0:
		fmt.Fprintln(w, ", not JSON: only keys with the role operate or admin may see it")
	default:
		fmt.Fprintln(w)
	}
	return nil
}

// readable indents JSON, with < as it is and numbers as they were written.
func readable(doc json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		lines[i] = Plain(line)
	}
	return strings.Join(lines, "\n"), nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// howFar is the progress of the last replay, to be appended to a line.
func howFar(l api.LetterDetail) string {
	switch {
	case l.Replay == nil, l.Replay.SentAt != nil:
		return ""
	case l.Replay.Error != "":
		return ", not sent yet: " + l.Replay.Error
	}
	return ", on its way"
}

// lettersWhich says which dead letters a command is about: those with the IDs, or the open ones that match the filters.
type lettersWhich struct {
	IDs []int64 `arg:"" name:"id" optional:"" help:"IDs, from the list. Without any, the filters select."`
	letterFlags
	All    bool `help:"All open dead letters; goes without filters."`
	Limit  int  `help:"With filters: at most this many, 1 to 10000, oldest first." default:"10000"`
	DryRun bool `help:"With filters: show which they would be, and stop."`
	Yes    bool `short:"y" help:"Do not ask for confirmation."`
}

// check reports what does not go together.
func (c *lettersWhich) check() error {
	filtered := len(c.query()) > 0
	switch {
	case len(c.IDs) > 0 && (filtered || c.All):
		return Usage("IDs and filters do not go together: give one or the other")
	case len(c.IDs) > 0 && c.DryRun:
		return Usage("--dry-run goes with filters; conveyor dead-letters show ID shows one dead letter")
	case len(c.IDs) == 0 && !filtered && !c.All:
		return Usage("nothing selected: give IDs, filters or --all")
	case filtered && c.All:
		return Usage("--all and filters do not go together: give one or the other")
	case len(c.IDs) == 0:
		return within("limit", c.Limit, 10_000)
	}
	return nil
}

type lettersReplayCmd struct {
	lettersWhich
	Force bool `help:"With IDs: also dead letters that are replayed, resolved or discarded."`
}

// Help is shown by --help.
func (lettersReplayCmd) Help() string {
	return "A replay sends the original body, with its headers as text and its message ID, to the queue that the message " +
		"was dead-lettered from. It bypasses the check for unchanged adverts. A message that fails again becomes the same " +
		"dead letter, open again; otherwise the dead letter stays replayed, and becomes resolved when its workflow or image " +
		"succeeds. One whose work is over, such as an upload whose file is no longer kept, cannot be sent: with its ID that " +
		"is an error, and by filters it becomes resolved and is counted apart. Every replay is written to the audit log."
}

// Run replays the dead letters with the given IDs, or those that match the filters after a confirmation.
func (c *lettersReplayCmd) Run(ctx context.Context, r Client) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(c.IDs) == 0 {
		if c.Force {
			return Usage("--force goes with IDs: filters select open dead letters only")
		}
		return c.byFilter(ctx, r, "replay")
	}
	return eachLetter(c.IDs, "replayed", func(id int64) (string, error) {
		var got struct {
			Queue   string
			Replays int
		}
		err := r.call(ctx, http.MethodPost, letterPath(id)+"/replay", api.ReplayLetter{Force: c.Force}, &got)
		return fmt.Sprintf("sent to %s again, replay %d", Plain(got.Queue), got.Replays), err
	})
}

// lettersDone is the answer to a replay or a discard by filter.
type lettersDone struct {
	api.LettersReplayed
	Discarded int `json:"discarded"`
}

// byFilter shows what would be replayed or discarded, asks for confirmation, and does it.
func (c *lettersWhich) byFilter(ctx context.Context, r Client, verb string) error {
	yes, no, path := true, false, "/dead-letters/"+verb
	in := api.ReplayLetters{
		Queue: c.Queue, Class: c.Class, Platform: c.Platform, Tenant: c.Tenant, Reason: c.Reason, WorkflowID: c.Workflow,
		Since: c.Since.Time, Until: c.Until.Time, Limit: c.Limit, DryRun: &yes,
	}
	var dry, done lettersDone
	if err := r.call(ctx, http.MethodPost, path, in, &dry); err != nil {
		return err
	}
	if dry.Matched == 0 {
		fmt.Println("no open dead letter matches")
		return nil
	}
	if err := printSample(os.Stdout, dry.LettersReplayed); err != nil {
		return err
	}
	n := min(dry.Matched, c.Limit)
	if c.DryRun {
		fmt.Printf("would %s %d of %d\n", verb, n, dry.Matched)
		return nil
	}
	if !c.Yes {
		if !isatty.IsTerminal(os.Stdin.Fd()) {
			return Usage("standard input is not a terminal, so there is no confirmation: give --yes to %s, or --dry-run to show",
				verb)
		}
		question := fmt.Sprintf("%s%s %d of %d dead letters?", strings.ToUpper(verb[:1]), verb[1:], n, dry.Matched)
		if !confirmed(ctx, os.Stdin, os.Stderr, question) {
			fmt.Printf("nothing was %sed\n", verb)
			return nil
		}
	}
	in.DryRun = &no
	if err := r.call(ctx, http.MethodPost, path, in, &done); err != nil {
		return err
	}
	fmt.Printf("%sed %d\n", verb, done.Replayed+done.Discarded)
	if done.Over > 0 {
		fmt.Printf("%d belong to work that is over, or have lost their file: they are resolved, and were not sent\n", done.Over)
	}
	if done.Left > 0 {
		fmt.Printf("%d are left: run the command again for them\n", done.Left)
	}
	return nil
}

// printSample writes some of the dead letters that match, and how many more there are.
func printSample(w io.Writer, found api.LettersReplayed) error {
	table := Table(w)
	fmt.Fprintln(table, letterHead)
	for _, l := range found.Sample {
		letterRow(table, l)
	}
	if rest := found.Matched - len(found.Sample); rest > 0 {
		fmt.Fprintf(table, "… and %d more\n", rest)
	}
	return fault.Wrap(table.Flush(), "write")
}

type lettersDiscardCmd struct{ lettersWhich }

// Run discards the dead letters with the given IDs, or those that match the filters after a confirmation.
func (c *lettersDiscardCmd) Run(ctx context.Context, r Client) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(c.IDs) == 0 {
		return c.byFilter(ctx, r, "discard")
	}
	return eachLetter(c.IDs, "discarded", func(id int64) (string, error) {
		return "discarded", r.call(ctx, http.MethodDelete, letterPath(id), nil, nil)
	})
}

// eachLetter does something to each dead letter, also after a failure, and prints the result of each. what is the past
// participle for its error.
func eachLetter(ids []int64, what string, do func(id int64) (string, error)) error {
	failed := 0
	for _, id := range ids {
		said, err := do(id)
		if err != nil {
			failed++
			fmt.Fprintf(os.Stderr, "%d: %s\n", id, Plain(err.Error()))
			continue
		}
		fmt.Printf("%d: %s\n", id, said)
	}
	switch {
	case failed == 0:
		return nil
	case len(ids) == 1:
		return ExitError(1) // the reason is printed above
	}
	return fmt.Errorf("%d of %d were not %s", failed, len(ids), what)
}
