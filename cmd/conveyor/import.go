package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/formula"
	"github.com/mtlrent/conveyor/domain/listing/dump"
)

// importCmd takes over what another system has stored.
type importCmd struct {
	Drafts   importDraftsCmd   `cmd:"" help:"Import product drafts from a SQLite file."`
	Listings importListingsCmd `cmd:"" help:"Import listings from a dump of their table: plain SQL of pg_dump, CSV, or a JSON object a line."`
}

type importListingsCmd struct {
	File     string            `arg:"" help:"The dump." type:"existingfile"`
	DryRun   bool              `help:"Send nothing; report which rows would be imported, which would not, and why."`
	Table    string            `help:"Table to read from a dump of plain SQL." default:"public.listings"`
	Platform string            `help:"Platform of all rows, where no column names it." placeholder:"NAME"`
	Column   map[string]string `help:"Column that a field is read from, where its name does not say so; repeatable." placeholder:"FIELD=COLUMN"`
	Status   []string          `help:"Import rows in these states, where the table has one." default:"active,claimed,published"`
	Refused  string            `help:"File to write the refused rows to, as CSV: row, platform ID, reason." placeholder:"FILE"`
	Rate     float64           `help:"Messages per second; 0 is as fast as the broker confirms." default:"0"`
}

// sampleRows is how many rows show which columns there are; documents of JSON need not have all members.
const sampleRows = 1000

// Run reads the file twice: for its columns, and row by row. Each row becomes a message to listings.normalized, as
// another team's normalizer would send it. A row that was sent before changes nothing.
func (c *importListingsCmd) Run(ctx context.Context) error {
	if c.Rate < 0 {
		return cli.UsageError("read --rate: expected 0 or more")
	}
	plan, err := c.plan()
	if err != nil {
		return fmt.Errorf("read %s: %w", c.File, err)
	}
	for _, field := range slices.Sorted(maps.Keys(plan.Columns)) {
		fmt.Fprintf(os.Stderr, "%-14s from column %s\n", field, cli.Plain(plan.Columns[field]))
	}
	if len(plan.Ignored) > 0 {
		fmt.Fprintf(os.Stderr, "not read: %s\n", cli.Plain(strings.Join(plan.Ignored, ", ")))
	}
	send := func(context.Context, []bridge.Parcel) error { return nil }
	if !c.DryRun {
		conf, err := settings()
		if err != nil {
			return err
		}
		sender := bridge.NewSender(conf.RabbitMQ.URLs()...)
		defer sender.Close()
		send = sender.Send
	}
	return counting(c.Refused, c.DryRun, func(t *tally) error { return c.each(ctx, plan, t, send) })
}

// plan looks at the first rows.
func (c *importListingsCmd) plan() (dump.Plan, error) {
	f, err := os.Open(c.File)
	if err != nil {
		return dump.Plan{}, err
	}
	defer f.Close()
	seen := map[string]bool{}
	var columns []string
	for row, err := range dump.Rows(f, c.Table) {
		if err != nil && row.Number == 0 {
			return dump.Plan{}, err
		}
		for _, name := range row.Columns {
			if !seen[name] {
				seen[name] = true
				columns = append(columns, name)
			}
		}
		if row.Number == sampleRows {
			break
		}
	}
	if len(columns) == 0 {
		return dump.Plan{}, errors.New("it has no rows")
	}
	plan, err := dump.Find(columns, dump.Options{Platform: c.Platform, Columns: c.Column})
	if err != nil {
		err = fmt.Errorf("%w (--column FIELD=COLUMN, --platform NAME)", err)
	}
	return plan, err
}

// each sends the rows in batches, and counts them.
func (c *importListingsCmd) each(ctx context.Context, plan dump.Plan, t *tally,
	send func(context.Context, []bridge.Parcel) error) error {
	f, err := os.Open(c.File)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	bar := cli.Progress(os.Stderr, "importing", info.Size(), progressbar.OptionShowBytes(true))
	defer func() { _ = bar.Finish() }()
	began, last := time.Now(), 0
	batch := make([]bridge.Parcel, 0, feedBatch)
	flush := func() error {
		err := send(ctx, batch)
		if err == nil {
			t.sent += len(batch)
			last, batch = t.rows, batch[:0]
			err = keepPace(ctx, began, t.sent, c.Rate)
		}
		if err != nil {
			return unsent(ctx, fmt.Sprintf("row %d", last), err)
		}
		return nil
	}
	for row, err := range dump.Rows(io.TeeReader(f, bar), c.Table) {
		if row.Number == 0 {
			return errors.Join(flush(), fmt.Errorf("read %s after row %d: %w", c.File, t.rows, err))
		}
		t.rows++
		if status := plan.Status(row); err == nil && status != "" && !slices.Contains(c.Status, status) {
			t.leave(status)
			continue
		}
		var m contract.StagedListing
		if err == nil {
			m, err = plan.Message(row)
		}
		if err != nil {
			t.refuse(row.Number, m.PlatformID, err)
			continue
		}
		body, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("write row %d: %w", row.Number, err)
		}
		if len(body) > contract.MaxBody {
			t.refuse(row.Number, m.PlatformID,
				fmt.Errorf("has %d bytes as a message, expected at most %d", len(body), contract.MaxBody))
			continue
		}
		route := contract.ListingsRoute(contract.QueueNormalized)
		batch = append(batch, bridge.Parcel{Exchange: route.Exchange, RoutingKey: route.RoutingKey, Body: body})
		if len(batch) == cap(batch) || c.Rate > 0 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// A tally counts the rows of an import.
type tally struct {
	rows, sent int
	states     map[string]int // rows that were left out
	refused    int
	reasons    map[string]*reason // by field and reason
	file       *csv.Writer        // of refused rows
}

// counting runs an import and prints its counts. The rows that it refuses are written to a file; "" is none.
func counting(refused string, dry bool, each func(*tally) error) error {
	out := io.Discard
	if refused != "" {
		f, err := os.Create(refused)
		if err != nil {
			return fmt.Errorf("write refused rows: %w", err)
		}
		defer f.Close()
		out = f
	}
	t := tally{file: csv.NewWriter(out)}
	err := each(&t)
	t.file.Flush()
	t.print(os.Stdout, dry)
	return errors.Join(err, t.file.Error())
}

// A reason is why rows were refused.
type reason struct {
	text  string
	count int
	rows  []int // the first ones
}

func (t *tally) leave(status string) {
	if t.states == nil {
		t.states = map[string]int{}
	}
	t.states[status]++
}

// refuse counts a row by each of its reasons, without the value in it.
func (t *tally) refuse(row int, id string, err error) {
	t.refused++
	reasons := []string{err.Error()}
	if wrong, ok := errors.AsType[contract.Errors](err); ok {
		reasons = nil
		for _, e := range wrong {
			reasons = append(reasons, e.Field+": "+e.Reason)
		}
	}
	if t.refused == 1 {
		_ = t.file.Write([]string{"row", "id", "reason"}) // counting reports its error
	}
	for _, text := range reasons {
		_ = t.file.Write([]string{strconv.Itoa(row), formula.Escape(id), formula.Escape(text)})
		key := text
		if before, after, ok := strings.Cut(text, `"`); ok { // without the value
			key = before + after[strings.LastIndexByte(after, '"')+1:]
		}
		if t.reasons == nil {
			t.reasons = map[string]*reason{}
		}
		if t.reasons[key] == nil {
			t.reasons[key] = &reason{text: text}
		}
		r := t.reasons[key]
		if r.count++; len(r.rows) < 3 {
			r.rows = append(r.rows, row)
		}
	}
}

// print says what came in, what did not, and why.
func (t *tally) print(w io.Writer, dry bool) {
	verb := "imported"
	if dry {
		verb = "would be imported"
	}
	fmt.Fprintf(w, "%d rows: %d %s, %d refused", t.rows, t.sent, verb, t.refused)
	for _, status := range slices.Sorted(maps.Keys(t.states)) {
		fmt.Fprintf(w, ", %d %s", t.states[status], cli.Plain(status))
	}
	fmt.Fprintln(w)
	all := slices.SortedFunc(maps.Values(t.reasons), func(a, b *reason) int {
		return cmp.Or(b.count-a.count, cmp.Compare(a.text, b.text))
	})
	for _, r := range all[:min(len(all), 20)] {
		fmt.Fprintf(w, "  %d: %s (row %s)\n", r.count, cli.Short(cli.Plain(r.text), 120), strings.Trim(fmt.Sprint(r.rows), "[]"))
	}
}
