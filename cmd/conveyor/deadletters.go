package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/mattn/go-isatty"

	"github.com/mtlrent/conveyor/api"
)

type deadLettersCmd struct {
	List    lettersListCmd    `cmd:"" help:"List dead letters, those that died last first."`
	Show    lettersShowCmd    `cmd:"" help:"Show one with its headers, its body and what was done to it; contact data is left out."`
	Replay  lettersReplayCmd  `cmd:"" help:"Send dead letters to their queues again, by number or by filter."`
	Discard lettersDiscardCmd `cmd:"" help:"Give dead letters up. They can still be looked at and, by force, replayed."`
}

// letterFlags are the filters. They combine.
type letterFlags struct {
	Queue    string `help:"Where it died, such as scraped.kijiji or images.pending." placeholder:"NAME"`
	Class    string `help:"Class of the fault: invalid, gone, blocked, transient, …" placeholder:"NAME"`
	Platform string `help:"Whose adverts, and their images." placeholder:"NAME"`
	Reason   string `help:"Words that the reason contains, in capitals or not." placeholder:"TEXT"`
	Workflow string `help:"Workflow that it died in, such as listing/kijiji/1668602387." placeholder:"ID"`
	Since    when   `help:"Died last at this time or after: 2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago." placeholder:"TIME"`
	Until    when   `help:"Died last at this time or before." placeholder:"TIME"`
}

// query is the filter as GET /dead-letters takes it.
func (f letterFlags) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"queue": f.Queue, "class": f.Class, "platform": f.Platform, "reason": f.Reason, "workflow_id": f.Workflow,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, at := range map[string]when{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			q.Set(name, at.Format(time.RFC3339Nano))
		}
	}
	return q
}

type lettersListCmd struct {
	letterFlags
	State string `help:"open, replayed, resolved, discarded or any." enum:"open,replayed,resolved,discarded,any" default:"open"`
	Limit int    `help:"Show at most this many; 0 is all." default:"50"`
	JSON  bool   `name:"json" help:"One JSON object a line instead of the table."`
}

// lettersPage is the most that one request answers.
const lettersPage = 100

// Run asks for page after page.
func (c *lettersListCmd) Run(ctx context.Context) error {
	if c.Limit < 0 {
		return errors.New("--limit is 0 or more")
	}
	r, err := newRemote()
	if err != nil {
		return err
	}
	table := letterTable(os.Stdout)
	enc := json.NewEncoder(os.Stdout)
	shown, more := 0, false
	for cursor := ""; ; {
		size := lettersPage
		if c.Limit > 0 {
			size = min(size, c.Limit-shown)
		}
		q := c.query()
		q.Set("state", c.State)
		q.Set("cursor", cursor)
		q.Set("limit", strconv.Itoa(size))
		var page api.LetterPage
		if err := r.call(ctx, http.MethodGet, "/dead-letters?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, l := range page.Items {
			if !c.JSON {
				table.row(l)
			} else if err := enc.Encode(l); err != nil {
				return fmt.Errorf("write: %w", err)
			}
		}
		shown, cursor = shown+len(page.Items), page.NextCursor
		more = cursor != ""
		if !more || shown == c.Limit {
			break
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	switch {
	case shown == 0:
		fmt.Fprintln(os.Stderr, "no dead letter matches")
	case more:
		fmt.Fprintf(os.Stderr, "%d shown, there are more: --limit 0 shows all\n", shown)
	}
	return nil
}

// A lettersTable prints dead letters in columns; its head comes with the first row.
type lettersTable struct {
	*tabwriter.Writer
	begun bool
}

func letterTable(w io.Writer) *lettersTable {
	return &lettersTable{Writer: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
}

func (t *lettersTable) row(l api.LetterItem) {
	if !t.begun {
		t.begun = true
		fmt.Fprintln(t, "ID\tDIED LAST (UTC)\tSTATE\tQUEUE\tCLASS\tDEATHS\tREPLAYS\tREASON")
	}
	fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", l.ID, l.LastAt.UTC().Format(time.DateTime), l.State,
		plain(l.Queue), plain(l.Class), l.Deaths, l.Replays, short(plain(l.Reason), 80))
}

// plain keeps what strangers wrote from steering the terminal, on one line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}

// short cuts s to n runes.
func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

type lettersShowCmd struct {
	ID   int64 `arg:"" help:"Its number, from the list."`
	JSON bool  `name:"json" help:"As the API answers it."`
}

// Run shows all there is of a dead letter.
func (c *lettersShowCmd) Run(ctx context.Context) error {
	r, err := newRemote()
	if err != nil {
		return err
	}
	var doc json.RawMessage
	if err := r.call(ctx, http.MethodGet, letterPath(c.ID), nil, &doc); err != nil {
		return err
	}
	if c.JSON {
		fmt.Println(string(doc))
		return nil
	}
	var l api.LetterDetail
	if err := json.Unmarshal(doc, &l); err != nil {
		return fmt.Errorf("read dead letter %d: %w", c.ID, err)
	}
	return showLetter(os.Stdout, l)
}

func letterPath(id int64) string { return "/dead-letters/" + strconv.FormatInt(id, 10) }

// showLetter prints a dead letter for people.
func showLetter(w io.Writer, l api.LetterDetail) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, plain(fmt.Sprintf(format, args...)))
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
		fmt.Fprintln(w, ", not JSON, so it is shown only to those who may replay it")
	default:
		fmt.Fprintln(w)
	}
	return nil
}

// readable lays JSON out for people: < as it is, numbers as they were printed.
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
		lines[i] = plain(line)
	}
	return strings.Join(lines, "\n"), nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// howFar says how far the last replay has come.
func howFar(l api.LetterDetail) string {
	switch {
	case l.Replay == nil, l.Replay.SentAt != nil:
		return ""
	case l.Replay.Error != "":
		return ", not sent yet: " + l.Replay.Error
	}
	return ", on its way"
}

type lettersReplayCmd struct {
	IDs []int64 `arg:"" name:"id" optional:"" help:"Numbers, from the list. Without any, filters say which."`
	letterFlags
	All    bool `help:"All open ones, when there is no filter."`
	Limit  int  `help:"With filters: replay no more than this, 1 to 10000, the oldest first." default:"10000"`
	Force  bool `help:"With numbers: also those that are replayed, resolved or discarded."`
	DryRun bool `help:"Only show what would be replayed."`
	Yes    bool `short:"y" help:"Do not ask."`
}

// Help is shown by --help.
func (lettersReplayCmd) Help() string {
	return "A replay sends body and headers, as they came, to the queue that the letter died in. It bypasses the check for " +
		"unchanged adverts. What dies again is the same dead letter, open again; what does not stays as replayed, or is " +
		"resolved when its workflow or image ends well. Everything is written to the audit.\n\n" +
		"  conveyor dead-letters replay 12 13\n" +
		"  conveyor dead-letters replay --queue images.pending --class gone --since 24h"
}

// Run replays the letters with the given numbers, or those that the filters mean after it has asked.
func (c *lettersReplayCmd) Run(ctx context.Context) error {
	filtered := len(c.query()) > 0
	switch {
	case len(c.IDs) > 0 && (filtered || c.All):
		return errors.New("numbers and filters do not go together: give one or the other")
	case len(c.IDs) > 0 && c.DryRun:
		return errors.New("--dry-run goes with filters; conveyor dead-letters show ID shows what one is")
	case len(c.IDs) == 0 && !filtered && !c.All:
		return errors.New("say which: numbers, filters, or --all; see conveyor dead-letters replay --help")
	case filtered && c.All:
		return errors.New("--all means no filter: give one or the other")
	case len(c.IDs) == 0 && c.Force:
		return errors.New("--force goes with numbers: filters mean open dead letters only")
	}
	r, err := newRemote()
	if err != nil {
		return err
	}
	if len(c.IDs) == 0 {
		return c.byFilter(ctx, r)
	}
	return eachLetter(c.IDs, "replayed", func(id int64) (string, error) {
		var got struct {
			Queue   string
			Replays int
		}
		err := r.call(ctx, http.MethodPost, letterPath(id)+"/replay", api.ReplayLetter{Force: c.Force}, &got)
		return fmt.Sprintf("sent to %s again, replay %d", plain(got.Queue), got.Replays), err
	})
}

// byFilter shows what would be replayed, asks, and replays it.
func (c *lettersReplayCmd) byFilter(ctx context.Context, r remote) error {
	yes, no := true, false
	in := api.ReplayLetters{
		Queue: c.Queue, Class: c.Class, Platform: c.Platform, Reason: c.Reason, WorkflowID: c.Workflow,
		Since: c.Since.Time, Until: c.Until.Time, Limit: c.Limit, DryRun: &yes,
	}
	var dry, done api.LettersReplayed
	if err := r.call(ctx, http.MethodPost, "/dead-letters/replay", in, &dry); err != nil {
		return err
	}
	if dry.Matched == 0 {
		fmt.Println("no open dead letter matches")
		return nil
	}
	table := letterTable(os.Stdout)
	for _, l := range dry.Sample {
		table.row(l)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if rest := dry.Matched - len(dry.Sample); rest > 0 {
		fmt.Printf("… and %d more\n", rest)
	}
	n := min(dry.Matched, c.Limit)
	if c.DryRun {
		fmt.Printf("would replay %d of %d\n", n, dry.Matched)
		return nil
	}
	if !c.Yes {
		if !isatty.IsTerminal(os.Stdin.Fd()) {
			return errors.New("nobody is there to ask: say --yes to replay them, or --dry-run to only look")
		}
		if !confirmed(os.Stdin, os.Stderr, fmt.Sprintf("Replay %d of %d dead letters?", n, dry.Matched)) {
			fmt.Println("nothing was replayed")
			return nil
		}
	}
	in.DryRun = &no
	if err := r.call(ctx, http.MethodPost, "/dead-letters/replay", in, &done); err != nil {
		return err
	}
	fmt.Printf("replayed %d\n", done.Replayed)
	if done.Left > 0 {
		fmt.Printf("%d are left: run it again for them\n", done.Left)
	}
	return nil
}

// confirmed asks a question. Only yes is yes.
func confirmed(in io.Reader, out io.Writer, question string) bool {
	fmt.Fprint(out, question+" [y/N] ")
	line, _ := bufio.NewReader(in).ReadString('\n') // an end without a line is no
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(line)))
}

type lettersDiscardCmd struct {
	IDs []int64 `arg:"" name:"id" help:"Numbers, from the list."`
}

// Run discards the letters with the given numbers.
func (c *lettersDiscardCmd) Run(ctx context.Context) error {
	r, err := newRemote()
	if err != nil {
		return err
	}
	return eachLetter(c.IDs, "discarded", func(id int64) (string, error) {
		return "discarded", r.call(ctx, http.MethodDelete, letterPath(id), nil, nil)
	})
}

// eachLetter does something to each letter, whatever came of those before, and says what.
func eachLetter(ids []int64, what string, do func(id int64) (string, error)) error {
	failed := 0
	for _, id := range ids {
		said, err := do(id)
		if err != nil {
			failed++
			fmt.Fprintf(os.Stderr, "%d: %v\n", id, err)
			continue
		}
		fmt.Printf("%d: %s\n", id, said)
	}
	switch {
	case failed == 0:
		return nil
	case len(ids) == 1:
		return exitError(1) // it has been said
	}
	return fmt.Errorf("%d of %d were not %s", failed, len(ids), what)
}
