package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/domain/contract"
)

// Limits of a file of URLs.
const (
	maxURLFile = 32 << 20 // bytes
	maxURLRows = 100_000
)

// urlFiles is the namespace of the event IDs of rows.
var urlFiles = uuid.MustParse("8f6c1a4e-3d0b-5f1a-9c57-6f1b2d9e7a03")

// A urlRow is one request of a file.
type urlRow struct {
	line    int // of the file, from 1
	request apidrafts.DraftRequest
}

// readURLs reads a CSV file of URLs. A header that names a column url may name out_dir, locale and event_id, too;
// without one the first column holds the URLs. Each row has an event ID, its own or one made of its URL, folder,
// locale and batch, which is the hash of the file where it is the nil UUID: the same file again is the same drafts.
// All rows are checked before any is requested; the error names the line.
func readURLs(in io.Reader, outDir, locale string, batch uuid.UUID) ([]urlRow, error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxURLFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read URLs: %w", err)
	case len(raw) > maxURLFile:
		return nil, fmt.Errorf("read URLs: the file has more than %d bytes", maxURLFile)
	}
	if batch == uuid.Nil {
		sum := sha256.Sum256(raw)
		batch = uuid.NewSHA1(urlFiles, sum[:])
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\ufeff"))))
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	columns := map[string]int{"url": 0}
	var rows []urlRow
	lines := map[uuid.UUID]int{} // event ID → line
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read URLs: %w", err)
		}
		if first && slices.ContainsFunc(record, isURLColumn) {
			clear(columns)
			for i, name := range record {
				columns[strings.ToLower(strings.TrimSpace(name))] = i
			}
			continue
		}
		line, _ := r.FieldPos(0)
		row, err := rowOf(record, columns, outDir, locale, batch)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if before, ok := lines[*row.EventID]; ok {
			return nil, fmt.Errorf("line %d: is the same request as line %d", line, before)
		}
		if len(rows) == maxURLRows {
			return nil, fmt.Errorf("line %d: a file may have %d URLs", line, maxURLRows)
		}
		lines[*row.EventID] = line
		rows = append(rows, urlRow{line, row})
	}
	if len(rows) == 0 {
		return nil, errors.New("read URLs: there are none")
	}
	return rows, nil
}

// isURLColumn says that a cell is the heading of the column of URLs.
func isURLColumn(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), "url") }

// rowOf is the request of one record.
func rowOf(
	record []string, columns map[string]int, outDir, locale string, batch uuid.UUID,
) (apidrafts.DraftRequest, error) {
	cell := func(name string) string {
		if i, ok := columns[name]; ok && i < len(record) {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	row := apidrafts.DraftRequest{
		URL: cell("url"), OutDir: cmp.Or(cell("out_dir"), outDir), Locale: cmp.Or(cell("locale"), locale),
	}
	if err := (contract.CrawlRequest{URL: row.URL, OutDir: row.OutDir, Locale: row.Locale}).Check(); err != nil {
		return row, err
	}
	key := row.URL + "\x00" + row.OutDir
	if row.Locale != "" {
		key += "\x00" + row.Locale
	}
	id := uuid.NewSHA1(batch, []byte(key))
	if own := cell("event_id"); own != "" {
		var err error
		if id, err = uuid.Parse(own); err != nil || id == uuid.Nil {
			return row, fmt.Errorf("event_id %.40q is not a UUID", own)
		}
	}
	row.EventID = &id
	return row, nil
}

// runFile requests the draft of each URL of the file, and prints a CSV of the requests. It waits for none. After a
// failure the same command goes on: what was requested before is not requested again.
func (c *draftRequestCmd) runFile(ctx context.Context, r Client, stdin io.Reader, out io.Writer) error {
	in := stdin
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	rows, err := readURLs(Until(ctx, in), c.OutDir, c.Locale, c.EventID)
	if err != nil {
		return err
	}
	table := csv.NewWriter(out)
	if err := table.Write([]string{"line", "event_id", "draft_id", "url"}); err != nil {
		return err
	}
	bar := progressbar.DefaultSilent(int64(len(rows)))
	if f, ok := out.(*os.File); ok && !isatty.IsTerminal(f.Fd()) { // on a terminal the rows are the progress
		bar = Progress(os.Stderr, "requesting", int64(len(rows)), progressbar.OptionShowCount())
	}
	defer func() { _ = bar.Finish() }()
	for n, row := range rows {
		var accepted apidrafts.DraftRequestAccepted
		if err := r.call(ctx, http.MethodPost, "/crawl-requests", row.request, &accepted); err != nil {
			table.Flush()
			return fmt.Errorf("line %d: %w; %d of %d were requested, and the same command requests the rest",
				row.line, err, n, len(rows))
		}
		if err := table.Write([]string{strconv.Itoa(row.line), accepted.EventID.String(), accepted.DraftID.String(),
			row.request.URL}); err != nil {
			return err
		}
		table.Flush() // what was requested is known, whatever comes
		_ = bar.Add(1)
	}
	table.Flush()
	return table.Error()
}
