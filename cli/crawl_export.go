package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/schollz/progressbar/v3"

	"github.com/mtlrent/conveyor/domain/fault"
)

type crawlExportCmd struct {
	crawlID
	Format string   `help:"Format: ${enum}." enum:"json,csv,ndjson,warc" default:"json"`
	Out    string   `short:"o" help:"File to write; the default is standard output." placeholder:"FILE"`
	Status []string `help:"Only URLs in these states." placeholder:"STATE"`
	Limit  int      `help:"Write at most this many; 0 writes all." default:"0"`
}

// Run writes an export. A file is there only when it is whole.
func (c *crawlExportCmd) Run(ctx context.Context, r Client) error {
	q := url.Values{"format": {c.Format}, "limit": {strconv.Itoa(c.Limit)}}
	if len(c.Status) > 0 {
		q.Set("status", strings.ToUpper(strings.Join(c.Status, ",")))
	}
	body, err := r.stream(ctx, c.path("/export?"+q.Encode()))
	if err != nil {
		return err
	}
	defer body.Close()
	return save(body, c.Out, ofAnyone)
}

// The modes of files, as far as the umask and a file that is replaced have them.
const (
	ofAnyone = 0o666
	ofPeople = 0o600 // contact data is for nobody else on the machine
)

// save writes an export to a file, which is there only when it is whole; "" and "-" are standard output. What is there
// and no file, such as a device or a pipe, is written to as it is.
func save(body io.Reader, name string, mode os.FileMode) error {
	if name == "" || name == "-" {
		_, err := io.Copy(os.Stdout, body)
		return exportError(err)
	}
	is, err := os.Stat(name)
	if err == nil && !is.Mode().IsRegular() {
		return pour(body, name)
	}
	if err == nil { // a link stays one
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(name+"."+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, errors.Unwrap(err)) // not the name that it has until it is whole
	}
	defer func() { _ = os.Remove(file.Name()) }() // it has another name when all is well
	if is != nil {
		if err := file.Chmod(is.Mode().Perm() & mode); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	bar := Progress(os.Stderr, "exporting", -1, progressbar.OptionShowBytes(true))
	n, err := io.Copy(io.MultiWriter(file, bar), body)
	_ = bar.Finish()
	if err := errors.Join(exportError(err), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, size(n))
	return nil
}

// pour writes an export to what is no file.
func pour(body io.Reader, name string) error {
	to, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, body)
	return errors.Join(exportError(err), to.Close())
}

// exportError explains an export that ended early.
func exportError(err error) error { return fault.Wrap(err, "read export") }

// stream sends a GET whose answer may take as long as ctx. The caller closes it.
func (r Client) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	return r.flow(ctx, http.MethodGet, path, nil)
}

// flow sends in as JSON, unless it is nil. The answer may take as long as ctx; the caller closes it.
func (r Client) flow(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	req, err := r.request(ctx, method, path, in)
	if err != nil {
		return nil, err
	}
	resp, err := direct.Do(req)
	if err != nil {
		return nil, unanswered(req, err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		defer resp.Body.Close()
		doc, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return nil, r.refusal(resp, doc)
	}
	return resp.Body, nil
}

type crawlCompareCmd struct {
	A     string `arg:"" help:"ID of a run, or a file with an export of it: JSON, NDJSON or CSV."`
	B     string `arg:"" help:"The other one."`
	Limit int    `help:"Print at most this many URLs of each difference; 0 prints all." default:"100"`
}

// Run prints the differences of two runs: ExitError 1 when there are any, and ExitError 2 when one cannot be read.
func (c *crawlCompareCmd) Run(ctx context.Context, group *CrawlCmd, connect Connect, line *kong.Context) error {
	same, err := c.run(ctx, func() (Client, error) { return group.ProvideClient(connect, line) }, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conveyor: "+Plain(err.Error()))
		return ExitError(2)
	}
	if !same {
		return ExitError(1)
	}
	return nil
}

func (c *crawlCompareCmd) run(ctx context.Context, connect Connect, out io.Writer) (same bool, err error) {
	a, err := crawlStates(ctx, connect, c.A)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", c.A, err)
	}
	b, err := crawlStates(ctx, connect, c.B)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", c.B, err)
	}
	onlyA, onlyB, differ := []string{}, []string{}, []string{}
	for u, state := range a {
		other, ok := b[u]
		switch {
		case !ok:
			onlyA = append(onlyA, u)
		case state != other:
			differ = append(differ, u)
		}
	}
	for u := range b {
		if _, ok := a[u]; !ok {
			onlyB = append(onlyB, u)
		}
	}
	fmt.Fprintf(out, "A  %s: %d URLs\nB  %s: %d URLs\n", Plain(c.A), len(a), Plain(c.B), len(b))
	if same = len(onlyA)+len(onlyB)+len(differ) == 0; same {
		_, err = fmt.Fprintln(out, "the same URLs in the same states")
		return same, err
	}
	c.print(out, "only in A", onlyA, func(u string) string { return a[u] })
	c.print(out, "only in B", onlyB, func(u string) string { return b[u] })
	c.print(out, "in different states", differ, func(u string) string { return a[u] + " → " + b[u] })
	return same, nil
}

// print writes a difference in the order of its URLs, up to the limit.
func (c *crawlCompareCmd) print(out io.Writer, name string, urls []string, state func(string) string) {
	if len(urls) == 0 {
		return
	}
	slices.Sort(urls)
	fmt.Fprintf(out, "%s: %d\n", name, len(urls))
	for i, u := range urls {
		if i == c.Limit && c.Limit > 0 {
			fmt.Fprintf(out, "  … and %d more\n", len(urls)-i)
			return
		}
		fmt.Fprintf(out, "  %s  %s\n", Plain(u), Plain(state(u)))
	}
}

// crawlStates returns the states of all URLs of a run, or of an export in a file.
func crawlStates(ctx context.Context, connect Connect, what string) (map[string]string, error) {
	var from io.ReadCloser
	if id, err := strconv.ParseInt(what, 10, 64); err == nil {
		r, err := connect()
		if err != nil {
			return nil, err
		}
		from, err = r.stream(ctx, crawlID{id}.path("/export?format=ndjson&limit=0"))
		if err != nil {
			return nil, err
		}
	} else if from, err = os.Open(what); err != nil {
		return nil, err
	}
	defer from.Close()
	return readExport(from)
}

// readExport reads the states of the URLs in an export: JSON, NDJSON or CSV, plain or gzipped.
func readExport(from io.Reader) (map[string]string, error) {
	r := bufio.NewReaderSize(from, 64<<10)
	if magic, _ := r.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		defer unzipped.Close()
		r = bufio.NewReaderSize(unzipped, 64<<10)
	}
	if mark, _ := r.Peek(3); string(mark) == "\ufeff" {
		_, _ = r.Discard(3)
	}
	for {
		first, err := r.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return map[string]string{}, nil // the NDJSON of no URLs
		case err != nil:
			return nil, err
		case strings.ContainsAny(string(first), " \t\r\n"):
			_, _ = r.Discard(1)
			continue
		case first[0] == '{' || first[0] == '[':
			return readJSONExport(json.NewDecoder(r))
		}
		return readCSVExport(csv.NewReader(r))
	}
}

// An exportRow is what a comparison needs of a URL.
type exportRow struct {
	NormalizedURL string `json:"normalized_url"`
	Status        string `json:"status"`
}

// exportRows are the rows of an export, by URL.
type exportRows map[string]string

func (rows exportRows) add(row exportRow) error {
	if row.NormalizedURL == "" {
		return fmt.Errorf("row %d has no normalized_url: it is not an export of a crawl run", len(rows)+1)
	}
	rows[row.NormalizedURL] = row.Status
	return nil
}

// readJSONExport reads an array of URLs, an object with that array as urls, or an object a URL.
func readJSONExport(d *json.Decoder) (map[string]string, error) {
	rows := exportRows{}
	for {
		switch token, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err
		case token == json.Delim('['):
			if err := rows.array(d); err != nil {
				return nil, err
			}
		case token == json.Delim('{'):
			if err := rows.object(d); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("expected objects, got %v", token)
		}
	}
}

// array reads the rest of an array of URLs.
func (rows exportRows) array(d *json.Decoder) error {
	for d.More() {
		var row exportRow
		if err := d.Decode(&row); err != nil {
			return fault.NoEOF(err)
		}
		if err := rows.add(row); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return fault.NoEOF(err)
}

// object reads the rest of an object: a URL, or a whole export.
func (rows exportRows) object(d *json.Decoder) error {
	var row exportRow
	export := false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return fault.NoEOF(err)
		}
		switch name {
		case "urls":
			if token, err := d.Token(); err != nil || token != json.Delim('[') {
				return fmt.Errorf("read urls: expected an array, got %v (%w)", token, fault.NoEOF(err))
			}
			export = true
			err = rows.array(d)
		case "normalized_url":
			err = d.Decode(&row.NormalizedURL)
		case "status":
			err = d.Decode(&row.Status)
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return fault.NoEOF(err)
		}
	}
	if _, err := d.Token(); err != nil {
		return fault.NoEOF(err)
	}
	if export {
		return nil
	}
	return rows.add(row)
}

// readCSVExport reads the columns normalized_url and status.
func readCSVExport(c *csv.Reader) (map[string]string, error) {
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return nil, err
	}
	at, state := slices.Index(head, "normalized_url"), slices.Index(head, "status")
	if at < 0 || state < 0 {
		return nil, errors.New("expected the columns normalized_url and status: it is not an export of a crawl run")
	}
	rows := exportRows{}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if err := rows.add(exportRow{row[at], row[state]}); err != nil {
			return nil, err
		}
	}
}
