package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/schollz/progressbar/v3"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
)

// ContactsCmd imports, exports and corrects the contacts of a tenant.
type ContactsCmd struct {
	ofTenant

	Import   contactsImportCmd `cmd:"" help:"Import a file of contacts: CSV, TSV, XLSX, vCard, gzip, or a zip of one file."`
	Export   contactsExportCmd `cmd:"" help:"Write contacts as CSV."`
	Set      contactsSetCmd    `cmd:"" help:"Add a contact, or correct one."`
	OptOut   contactsOptOutCmd `cmd:"" help:"Never write to a person again."`
	OptOuts  optOutsCmd        `cmd:"" help:"List the contacts that are never written to, with why and since when."`
	Lists    listsCmd          `cmd:"" help:"List, create, fill and delete lists of contacts."`
	Segments segmentsCmd       `cmd:"" help:"List, show, create, change and delete segments: saved filters of contacts."`
	Uploads  uploadsCmd        `cmd:"" help:"List, show, start and cancel the imports of files."`
}

type contactsImportCmd struct {
	File   string            `arg:"" help:"File to import: CSV, TSV, XLSX, vCard, gzip, or a zip of one file." type:"existingfile"`
	DryRun bool              `help:"Read and check everything, and store nothing."`
	Map    map[string]string `help:"Field of a column, by its header or number (#2): phone, email, name, given_name, family_name, locale, tags, fields.NAME, or - to leave it out." placeholder:"COLUMN=FIELD" mapsep:"none"`
	List   []string          `help:"Lists that the contacts become members of; they are created where they do not exist, but not by a dry run." placeholder:"NAME" sep:"none"`
	Tag    []string          `help:"Tags that the contacts get." placeholder:"TAG" sep:"none"`
	Known  string            `help:"What becomes of contacts that are there already: ${enum}." enum:"update,skip,fail" default:"update"`
	Region string            `help:"Region of telephone numbers without a country code, such as CA; the default is the tenant's." placeholder:"CC"`

	Sheet     string `help:"Worksheet of a workbook; the default is the first visible one." placeholder:"NAME"`
	Encoding  string `help:"Encoding of the text, such as windows-1252 or macintosh; the default is what it looks like." placeholder:"NAME"`
	Delimiter string `help:"Character between cells: , ; | : ^ ~ or tab; the default is what it looks like." placeholder:"CHARACTER"`
	Header    *bool  `help:"The first row has the names of the columns; the default is what it looks like." negatable:""`

	Errors string `help:"Save the refused rows to this file, to mend and import them." placeholder:"FILE"`
	NoWait bool   `help:"Do not wait for the end of the import."`
	JSON   bool   `name:"json" help:"Print the upload as JSON."`
}

// Run imports a file and waits for the end: ExitError 1 when rows were refused, or the import did not end well.
func (c *contactsImportCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return c.run(ctx, r, group.ofTenant, os.Stdout, os.Stderr)
}

func (c *contactsImportCmd) run(ctx context.Context, r Client, tenant ofTenant, out io.Writer,
	progress *os.File) error {
	if c.Errors != "" { // after the import it would be too late
		if _, err := os.Stat(filepath.Dir(c.Errors)); err != nil {
			return fmt.Errorf("--errors: %w", err)
		}
	}
	u, err := c.send(ctx, r, tenant, progress)
	if err != nil {
		return err
	}
	warn(progress, u.Warning)
	again := "conveyor contacts import " + shell(c.Errors) + tenant.flag() + c.flags()
	if !c.NoWait {
		tenant.Tenant = cmp.Or(tenant.Tenant, u.Tenant)
		if u, err = watchUpload(r, tenant, u.ID).onto(progress).run(ctx); err != nil {
			return err
		}
	}
	if err := printAs(out, u, c.JSON, printUpload); err != nil {
		return err
	}
	if c.NoWait {
		fmt.Fprintf(progress, "conveyor contacts uploads show %s%s --watch shows the progress\n", u.ID, tenant.flag())
		return nil
	}
	if u.Rows.Invalid > 0 {
		if err := c.refused(ctx, r, tenant, u, again, out, progress); err != nil {
			return err
		}
	}
	if u.Rows.Invalid > 0 || u.State != "done" {
		return ExitError(1)
	}
	return nil
}

// send uploads the file. While the API refuses uploads because imports are behind, it waits and tries again; a request
// that is repeated is one upload.
func (c *contactsImportCmd) send(ctx context.Context, r Client, tenant ofTenant, progress *os.File) (
	u apioutreach.Upload, err error,
) {
	fields, err := c.fields(ctx, r, tenant)
	if err != nil {
		return u, err
	}
	file, err := os.Open(c.File)
	if err != nil {
		return u, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return u, err
	}
	key := uuid.NewString()
	for {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return u, err
		}
		bar := Progress(progress, "uploading", stat.Size(), progressbar.OptionShowBytes(true))
		content := io.TeeReader(file, bar)
		wait, err := r.form(ctx, tenant.path("/uploads", nil), key, fields, filepath.Base(c.File), content, stat.Size(), &u)
		_ = bar.Finish()
		if wait == 0 || err == nil {
			return u, err
		}
		fmt.Fprintf(progress, "conveyor: %s\n", Plain(err.Error()))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return u, err
		}
	}
}

// fields are those of the form, names and values in turn.
func (c *contactsImportCmd) fields(ctx context.Context, r Client, tenant ofTenant) ([]string, error) {
	options, err := json.Marshal(contact.Options{
		Mapping: c.Map, Region: c.Region, Sheet: c.Sheet, Encoding: c.Encoding, Delimiter: c.Delimiter, Header: c.Header,
	})
	if err != nil {
		return nil, err
	}
	fields := []string{"options", string(options), "known", c.Known, "dry_run", strconv.FormatBool(c.DryRun)}
	lists, err := c.lists(ctx, r, tenant)
	if err != nil {
		return nil, err
	}
	for _, id := range lists {
		fields = append(fields, "list", id.String())
	}
	for _, tag := range c.Tag {
		fields = append(fields, "tag", tag)
	}
	return fields, nil
}

// flags are those that hold for the refused rows of the file too, for the command that imports them again.
func (c *contactsImportCmd) flags() string {
	var out strings.Builder
	flag := func(name, value string) { fmt.Fprintf(&out, " --%s %s", name, shell(value)) }
	for _, column := range slices.Sorted(maps.Keys(c.Map)) {
		flag("map", column+"="+c.Map[column])
	}
	for _, name := range c.List {
		flag("list", name)
	}
	for _, tag := range c.Tag {
		flag("tag", tag)
	}
	if c.Known != "" && c.Known != "update" {
		flag("known", c.Known)
	}
	if c.Region != "" {
		flag("region", c.Region)
	}
	return out.String()
}

// shell is a word as a shell reads it.
func shell(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=@%,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// lists are those that the contacts become members of. A dry run creates none: it leaves out one that is not there.
func (c *contactsImportCmd) lists(ctx context.Context, r Client, tenant ofTenant) (ids []uuid.UUID, err error) {
	path := tenant.path("/contact-lists", nil)
	if c.DryRun && len(c.List) > 0 {
		var known apioutreach.ContactLists
		if err := r.call(ctx, http.MethodGet, path, nil, &known); err != nil {
			return nil, fmt.Errorf("find lists: %w", err)
		}
		for _, l := range known.Items {
			if slices.Contains(c.List, l.Name) {
				ids = append(ids, l.ID)
			}
		}
		return ids, nil
	}
	for _, name := range c.List {
		var l apioutreach.ContactList
		if err := r.call(ctx, http.MethodPost, path, apioutreach.ContactListStart{Name: name}, &l); err != nil {
			return nil, fmt.Errorf("find list %q: %w", name, err)
		}
		ids = append(ids, l.ID)
	}
	return ids, nil
}

// refused prints the first refused rows, and saves all of them where that is wanted, for the command again.
func (c *contactsImportCmd) refused(ctx context.Context, r Client, tenant ofTenant, u apioutreach.Upload, again string,
	out, progress io.Writer) error {
	body, err := r.stream(ctx, uploadPath(u.ID, "/errors.csv", tenant))
	if err != nil {
		return err
	}
	defer body.Close()
	var rows io.Reader = body
	if c.Errors != "" {
		file, err := os.OpenFile(c.Errors, os.O_RDWR|os.O_CREATE|os.O_TRUNC, ofPeople)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(file, body)
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		if err != nil {
			return fmt.Errorf("save refused rows: %w", err)
		}
		rows = file
	}
	if !c.JSON {
		if err := printRefused(out, rows, u.Rows.Invalid-u.Rows.Unlisted, c.Errors != ""); err != nil {
			return err
		}
	}
	if c.Errors != "" {
		fmt.Fprintf(progress, "refused rows: %s\nmend them there, then: %s\n", c.Errors, again)
	}
	return nil
}

// refusedShown is how many refused rows are printed.
const refusedShown = 10

// printRefused prints the first rows of an errors.csv; saved = all of them are in a file.
func printRefused(out io.Writer, from io.Reader, all int64, saved bool) error {
	rows := csv.NewReader(from)
	rows.FieldsPerRecord = -1
	head, err := rows.Read()
	if err != nil {
		return fmt.Errorf("read refused rows: %w", err)
	}
	at := slices.Index(head, "error_line")
	if at < 0 || at+3 >= len(head) {
		return errors.New("read refused rows: they have no column error_line")
	}
	for range int64(refusedShown) {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read refused rows: %w", err)
		}
		if len(row) < at+4 {
			return errors.New("read refused rows: a row is too short")
		}
		fmt.Fprintf(out, "line %s: %s (%s)\n", Plain(row[at]), Plain(row[at+3]), Plain(row[at+2]))
	}
	switch {
	case all > refusedShown && saved:
		fmt.Fprintf(out, "… and %d more\n", all-refusedShown)
	case all > refusedShown:
		fmt.Fprintf(out, "… and %d more; --errors FILE saves all of them\n", all-refusedShown)
	}
	return nil
}

func uploadPath(id uuid.UUID, rest string, tenant ofTenant) string {
	return tenant.path("/uploads/"+id.String()+rest, nil)
}

// watchUpload follows an upload until it ends.
func watchUpload(r Client, tenant ofTenant, id uuid.UUID) watch[apioutreach.Upload] {
	return watch[apioutreach.Upload]{
		api: r, path: uploadPath(id, "", tenant), line: uploadLine,
		state: func(u apioutreach.Upload) (string, bool) { return string(u.State), u.Ended() },
		left:  fmt.Sprintf("the import goes on: conveyor contacts uploads show %s%s", id, tenant.flag()),
	}
}

// uploadLine is the progress of an upload in a line, with a bar once its size is known.
func uploadLine(u apioutreach.Upload) string {
	line := fmt.Sprintf("%s: %d rows read", u.State, u.Rows.Read)
	if u.State == "running" && u.Chunks > 0 {
		const width = 30
		done := u.StoredChunks * width / u.Chunks
		line = fmt.Sprintf("[%s%s] %3d %%  %d rows read", strings.Repeat("█", done), strings.Repeat("░", width-done),
			u.StoredChunks*100/u.Chunks, u.Rows.Read)
	}
	if u.Rows.Invalid > 0 {
		line += fmt.Sprintf(", %d refused", u.Rows.Invalid)
	}
	if u.RowsPerSecond > 0 {
		line += fmt.Sprintf(", %.0f rows/s", u.RowsPerSecond)
	}
	if u.SecondsLeft != nil {
		line += ", " + seconds(*u.SecondsLeft).Round(time.Second).String() + " left"
	}
	return line
}

// printUpload prints an upload and what became of its rows.
func printUpload(out io.Writer, u apioutreach.Upload) error {
	n := u.Rows
	dry := ""
	if u.DryRun {
		dry = " (dry run: nothing was stored)"
	}
	fmt.Fprintf(out, "upload %s: %s%s\n", u.ID, u.State, dry)
	if u.Error != "" {
		fmt.Fprintln(out, Plain(u.Error))
	}
	_, err := fmt.Fprintf(out, "%d rows read: %d valid (%d new, %d updated, %d unchanged), %d refused, %d duplicates\n",
		n.Read, n.Valid, n.New, n.Updated, n.Skipped, n.Invalid, n.Duplicate)
	if n.Unlisted > 0 {
		_, err = fmt.Fprintf(out, "the first %d of the refused rows are kept; the others are counted only\n", n.Invalid-n.Unlisted)
	}
	return err
}

// form sends a form with a file of a size while it is read. A wait above zero is the time after which it may be sent
// again: it was refused before anything was read of it.
func (r Client) form(ctx context.Context, path, key string, fields []string, name string, content io.Reader, size int64,
	out any) (wait time.Duration, err error) {
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			return 0, err
		}
	}
	if _, err := form.CreateFormFile("file", name); err != nil {
		return 0, err
	}
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	size += int64(head.Len() + len(tail))
	req, err := r.again(key).request(ctx, http.MethodPost, path, nil)
	if err != nil {
		return 0, err
	}
	req.Body = io.NopCloser(io.MultiReader(&head, content, strings.NewReader(tail)))
	req.ContentLength = size // a file of unknown length is refused while another one of the tenant is received
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Expect", "100-continue") // a refusal comes before the file is sent
	return r.send(req, path, out)
}

type contactsExportCmd struct {
	Out     string        `short:"o" help:"File to write; the default is standard output." placeholder:"FILE"`
	Filter  contactFilter `help:"Conditions as JSON, such as {\"tag\":\"vip\"}." placeholder:"JSON"`
	Segment string        `help:"ID or name of a segment." placeholder:"SEGMENT"`
	Text    string        `help:"Part of a telephone number, an address or a name." placeholder:"TEXT"`
}

// Run writes contacts as CSV. A file is there only when it is whole.
func (c *contactsExportCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	q := apioutreach.ContactQuery{Text: c.Text, Filter: c.Filter.Filter}
	if c.Segment != "" {
		id, err := group.find(ctx, r, "/segments", "segment", c.Segment)
		if err != nil {
			return err
		}
		q.Segment = &id
	}
	body, err := r.flow(ctx, http.MethodPost, group.path("/contacts/export", nil), q)
	if err != nil {
		return err
	}
	defer body.Close()
	return save(body, c.Out, ofPeople)
}
