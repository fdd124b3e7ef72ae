package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/db"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

type importDraftsCmd struct {
	File    string `arg:"" help:"The SQLite file. A write-ahead log beside it is read, too." type:"existingfile"`
	DryRun  bool   `help:"Store nothing; report which rows would be imported, which would not, and why."`
	Table   string `help:"Table to read." default:"product_drafts"`
	Refused string `help:"File to write the refused rows to, as CSV: row, event ID, reason." placeholder:"FILE"`
}

// Run stores each row as the draft of its event, with the time of its crawl: a draft of ours that is newer stays, and a
// row that is stored already changes nothing.
func (c *importDraftsCmd) Run(ctx context.Context) error {
	var store *dbdrafts.Drafts
	if !c.DryRun {
		conf, err := settings()
		if err != nil {
			return err
		}
		// Past a pooler, so that its mode does not matter.
		pool, err := db.Open(ctx, cmp.Or(conf.Postgres.ListenURL, conf.Postgres.URL), 2)
		if err != nil {
			return err
		}
		defer pool.Close()
		store = dbdrafts.NewDrafts(pool)
	}
	file, err := filepath.Abs(c.File)
	if err != nil {
		return fmt.Errorf("open %s: %w", c.File, err)
	}
	from, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: "mode=ro"}).String())
	if err != nil {
		return fmt.Errorf("open %s: %w", c.File, err)
	}
	defer from.Close()
	return counting(c.Refused, c.DryRun, func(t *tally) error { return c.each(ctx, from, store, t) })
}

// each stores the rows, unless store is nil, and counts them.
func (c *importDraftsCmd) each(ctx context.Context, from *sql.DB, store *dbdrafts.Drafts, t *tally) error {
	table := `"` + strings.ReplaceAll(c.Table, `"`, `""`) + `"`
	var total int64
	if err := from.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&total); err != nil { //nolint:gosec // quoted
		return fmt.Errorf("read %s: %w", c.File, err)
	}
	rows, err := from.QueryContext(ctx, "SELECT * FROM "+table+" ORDER BY rowid") //nolint:gosec // quoted
	if err != nil {
		return fmt.Errorf("read %s: %w", c.File, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return fmt.Errorf("read %s: %w", c.File, err)
	}
	bar := cli.Progress(os.Stderr, "importing", total, progressbar.OptionShowCount())
	defer func() { _ = bar.Finish() }()
	cells, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		t.rows++
		_ = bar.Add(1)
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read %s, row %d: %w", c.File, t.rows, err)
		}
		values := make(map[string]string, len(columns))
		for i, name := range columns {
			values[strings.ToLower(name)] = cell(cells[i])
		}
		r, d, err := draft.FromStored(values)
		if err != nil {
			t.refuse(t.rows, values["event_id"], err)
			continue
		}
		if store != nil {
			err := store.PersistDraft(ctx, r, d, time.Now())
			class := fault.ClassOf(err)
			switch {
			case class == fault.Conflict:
				t.refuse(t.rows, values["event_id"], errors.New("its crawl request was canceled"))
				continue
			case class.Final(): // Postgres does not take it
				t.refuse(t.rows, values["event_id"], err)
				continue
			case err != nil:
				return fmt.Errorf("after %d rows: %w; those may be imported again", t.rows-1, err)
			}
		}
		t.sent++
	}
	return fault.Wrap(rows.Err(), "read %s after row %d", c.File, t.rows)
}

// cell is a value of SQLite as text; "" is NULL.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v)
}
