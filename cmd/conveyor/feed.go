package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform"
)

type feedCmd struct {
	File  string  `arg:"" help:"Messages of scraped.<platform>, one JSON object per line; - is standard input."`
	Rate  float64 `help:"Messages per second; 0 is as fast as the broker confirms." default:"0"`
	Limit int     `help:"Stop after this many messages; 0 sends all." default:"0"`
	Now   bool    `help:"Set scraped_at to the current time, as a scraper does."`
	Demo  string  `help:"URL at which workers reach the demo site, for the photos of its adverts." default:"http://127.0.0.1:8090"`
}

// Run publishes each line to the exchange "scraped" with its platform as routing key, and waits for the confirm of
// each. Lines are sent unchanged, invalid messages too, so that their handling can be tried.
func (c *feedCmd) Run(ctx context.Context) error {
	if c.Limit < 0 || c.Rate < 0 {
		return cli.UsageError("read --limit and --rate: expected 0 or more")
	}
	conf, err := settings()
	if err != nil {
		return err
	}
	in, total, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	sender := bridge.NewSender(conf.RabbitMQ.URLs()...)
	defer sender.Close()

	bar := cli.Progress(os.Stderr, "feeding", total, progressbar.OptionShowIts(), progressbar.OptionSetItsString("msg"),
		progressbar.OptionShowCount())
	began, sent := time.Now(), 0
	batch := make([]bridge.Parcel, 0, feedBatch)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := sender.Send(ctx, batch); err != nil {
			return unsent(ctx, fmt.Sprintf("%d messages", sent), err)
		}
		sent += len(batch)
		_ = bar.Add(len(batch))
		batch = batch[:0]
		return nil
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	for number, n := 1, 0; c.Limit == 0 || n < c.Limit; number++ {
		line, readErr := lines.ReadBytes('\n')
		switch {
		case readErr == nil, errors.Is(readErr, io.EOF):
		case ctx.Err() != nil:
			return unsent(ctx, fmt.Sprintf("%d messages", sent), readErr)
		default:
			return fmt.Errorf("read %s: %w", c.File, readErr)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			n++
			parcel, err := c.parcel(line)
			if err != nil {
				return errors.Join(flush(), fmt.Errorf("line %d: %w; %d messages before it were sent", number, err, n-1))
			}
			batch = append(batch, parcel)
		}
		if len(batch) == feedBatch || c.Rate > 0 {
			if err := flush(); err != nil {
				return err
			}
			if err := keepPace(ctx, began, sent, c.Rate); err != nil {
				return unsent(ctx, fmt.Sprintf("%d messages", sent), err)
			}
		}
		if readErr != nil {
			break
		}
	}
	if err := flush(); err != nil {
		return err
	}
	_ = bar.Finish()
	took := time.Since(began)
	fmt.Printf("fed %d messages in %s (%.0f/s), all confirmed\n", sent, took.Round(time.Millisecond), float64(sent)/took.Seconds())
	return nil
}

// demoURL is the URL of the demo site in the corpus of this repository.
const demoURL = "http://127.0.0.1:8090"

// feedBatch is the number of messages published before their confirms are awaited.
const feedBatch = 200

// open opens the file and counts its lines, for the progress bar; -1 is unknown.
func (c *feedCmd) open(ctx context.Context) (io.ReadCloser, int64, error) {
	if c.File == "-" {
		return io.NopCloser(cli.Until(ctx, os.Stdin)), -1, nil
	}
	data, err := os.ReadFile(c.File)
	if err != nil {
		return nil, 0, fmt.Errorf("read feed: %w", err)
	}
	total := int64(bytes.Count(data, []byte("\n")))
	if c.Limit > 0 {
		total = min(total, int64(c.Limit))
	}
	return io.NopCloser(bytes.NewReader(data)), total, nil
}

// parcel is the message of a line.
func (c *feedCmd) parcel(line []byte) (bridge.Parcel, error) {
	if demo := strings.TrimSuffix(c.Demo, "/"); demo != demoURL {
		line = bytes.ReplaceAll(line, []byte(demoURL+"/"), []byte(demo+"/"))
	}
	var m struct {
		Platform string `json:"platform"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return bridge.Parcel{}, fmt.Errorf("not JSON: %w", err)
	}
	if m.Platform == "" {
		return bridge.Parcel{}, errors.New("platform is missing, so there is no queue for it")
	}
	if _, ok := platform.ByName(m.Platform); !ok {
		return bridge.Parcel{}, fmt.Errorf("platform %q is not known, so there is no queue for it", m.Platform)
	}
	if c.Now {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(line, &all); err != nil {
			return bridge.Parcel{}, err
		}
		all["scraped_at"], _ = json.Marshal(time.Now().UTC()) // a time always marshals
		line, _ = json.Marshal(all)                           // so does what was unmarshaled
	}
	return bridge.Parcel{Exchange: contract.ExchangeScraped, RoutingKey: m.Platform, Body: line}, nil
}

// unsent is why no more was sent after so much: the command was stopped, or the broker did not take it.
func unsent(ctx context.Context, after string, err error) error {
	if ctx.Err() != nil {
		return errors.New("stopped after " + after + "; what was sent may be sent again")
	}
	return fmt.Errorf("after %s: %w; is RabbitMQ up (make run), has a bridge declared its queues, is RABBITMQ_URL right? "+
		"What was sent may be sent again", after, err)
}

// keepPace waits until the next message is due at a rate in messages a second; 0 is no limit.
func keepPace(ctx context.Context, began time.Time, sent int, rate float64) error {
	if rate <= 0 {
		return ctx.Err()
	}
	due := began.Add(time.Duration(float64(sent) / rate * float64(time.Second)))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type normalizeCmd struct {
	File   string `arg:"" optional:"" default:"-" help:"Scraped messages, one JSON object per line; - is standard input."`
	Pretty bool   `help:"Indent the output."`
}

// normalized is a line of output: the listing, or the reasons for its rejection.
type normalized struct {
	PlatformID string           `json:"platform_id"`
	Listing    *listing.Listing `json:"listing,omitempty"`
	Reasons    []listing.Reason `json:"reasons,omitempty"`
}

// Run writes a line for each line it reads: the normalized listing, or every reason for its rejection.
func (c *normalizeCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdin, os.Stdout) }

func (c *normalizeCmd) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	in := io.NopCloser(cli.Until(ctx, stdin))
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("read adverts: %w", err)
		}
		in = f
	}
	defer in.Close()
	out := bufio.NewWriter(stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if c.Pretty {
		enc.SetIndent("", "  ")
	}
	lines := bufio.NewReaderSize(in, 1<<20)
	var good, bad int
	for {
		line, readErr := lines.ReadBytes('\n')
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return errors.Join(out.Flush(), fmt.Errorf("read %s: %w", c.File, readErr))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			row := normalizeLine(line)
			if row.Listing != nil {
				good++
			} else {
				bad++
			}
			if err := enc.Encode(row); err != nil {
				return fmt.Errorf("write line %d: %w", good+bad, err)
			}
		}
		if readErr != nil {
			break
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	fmt.Fprintf(os.Stderr, "%d normalized, %d rejected\n", good, bad)
	return nil
}

// normalizeLine decodes and normalizes a message as the pipeline does.
func normalizeLine(line []byte) normalized {
	m, err := contract.Decode[contract.ScrapedListing](line, contract.MaxBody)
	row := normalized{PlatformID: m.PlatformID}
	if fields, ok := errors.AsType[contract.Errors](err); ok {
		for _, f := range fields {
			row.Reasons = append(row.Reasons, listing.Reason{Field: f.Field, Code: "contract", Message: f.Reason})
		}
		return row
	}
	site, ok := platform.ByName(m.Platform)
	if !ok {
		row.Reasons = []listing.Reason{{
			Field: "platform", Code: "unknown", Message: fmt.Sprintf("%q is not known", m.Platform),
		}}
		return row
	}
	var raw listing.Raw
	if err := json.Unmarshal(line, &raw); err != nil {
		row.Reasons = []listing.Reason{{Code: "contract", Message: err.Error()}}
		return row
	}
	l, err := site.Normalize(raw)
	var rejection *listing.Rejection
	switch {
	case errors.As(err, &rejection):
		row.Reasons = rejection.Reasons
	case err != nil:
		row.Reasons = []listing.Reason{{Code: "error", Message: err.Error()}}
	default:
		row.Listing = &l
	}
	return row
}
