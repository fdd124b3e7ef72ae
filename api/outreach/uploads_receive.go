package outreach

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/blob"
)

const (
	formMargin = 1 << 20          // bytes of a request besides the file
	fieldMost  = 64 << 10         // bytes of a field of the form
	fieldsMost = 100              // before the file
	bodyWithin = 30 * time.Second // a sender that sends nothing for so long is cut off
	bodyRate   = 8 << 10          // bytes a second that a sender sends in the long run, at least
)

// uploadKeys is the namespace of the IDs of uploads that are made of an Idempotency-Key.
var uploadKeys = uuid.MustParse("7a1c7d0e-3d55-4a0e-9a5c-2f6a5d2b9f14")

type createUploadInput struct {
	api.OfTenant
	Key     string   `header:"Idempotency-Key" maxLength:"200" doc:"any text: the same key of the same tenant is the same upload; with another file or other parameters it is a conflict"`
	DryRun  bool     `query:"dry_run" doc:"read and check everything, and store no contact"`
	Hold    bool     `query:"hold" doc:"only keep the file, for its preview, until POST …/start"`
	Known   string   `query:"known" enum:"update,skip,fail" default:"update" doc:"what becomes of contacts that are there already: update overwrites what the row has a value for, skip leaves them, fail refuses the row"`
	Lists   []string `query:"list,explode" maxItems:"50" doc:"IDs of lists that the contacts become members of"`
	Tags    []string `query:"tag,explode" maxItems:"50" doc:"tags that the contacts get" example:"[\"newsletter\"]"`
	Options string   `query:"options" maxLength:"65536" doc:"how to read the file, as JSON (the schema UploadOptions)" example:"{\"mapping\":{\"Tél.\":\"phone\"}}"`

	c      *gin.Context
	wish   uploadWish
	region string // of the tenant
	room   int64  // bytes that the file may have
}

// uploadWish is what is to become of a file.
type uploadWish struct {
	dryRun, hold bool
	known        dboutreach.Known
	lists        []uuid.UUID
	tags         []string
	options      contact.Options
}

// digest is the SHA-256 of what was asked for.
func (w uploadWish) digest() ([]byte, error) {
	doc, err := json.Marshal([]any{w.dryRun, w.hold, w.known, w.lists, w.tags, w.options})
	if err != nil {
		return nil, fmt.Errorf("write parameters: %w", err)
	}
	sum := sha256.Sum256(doc)
	return sum[:], nil
}

// Resolve reads the query, and keeps the request for its body.
func (in *createUploadInput) Resolve(ctx huma.Context) (wrong []error) {
	in.c = humagin.Unwrap(ctx)
	in.wish = uploadWish{dryRun: in.DryRun, hold: in.Hold, known: dboutreach.Known(in.Known)}
	set := func(name, value string) {
		if err := in.wish.set(name, value); err != nil {
			wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: "query." + name})
		}
	}
	for _, id := range in.Lists {
		set("list", id)
	}
	for _, tag := range in.Tags {
		set("tag", tag)
	}
	if in.Options != "" {
		set("options", in.Options)
	}
	return wrong
}

// set is a field of the form, or a parameter of the query. Its error is for the caller, and repeats no value.
func (w *uploadWish) set(name, value string) (err error) {
	switch name {
	case "dry_run":
		w.dryRun, err = strconv.ParseBool(value)
	case "hold":
		w.hold, err = strconv.ParseBool(value)
	case "known":
		w.known = dboutreach.Known(value)
		return dboutreach.CheckKnown(w.known)
	case "list":
		var id uuid.UUID
		if id, err = uuid.Parse(value); err == nil && !slices.Contains(w.lists, id) {
			w.lists = append(w.lists, id)
		}
		if err != nil {
			return fault.Newf(fault.Invalid, "list: expected the ID of a list")
		}
	case "tag":
		value = norm.NFC.String(strings.TrimSpace(value))
		if n := utf8.RuneCountInString(value); n < 1 || n > contact.MaxTag || len(api.WrongText("", value)) > 0 {
			return fault.Newf(fault.Invalid, "tag: expected 1 to %d characters", contact.MaxTag)
		}
		if !slices.Contains(w.tags, value) {
			w.tags = append(w.tags, value)
		}
		if len(w.tags) > contact.MaxTags {
			return fault.Newf(fault.Invalid, "tag: expected at most %d", contact.MaxTags)
		}
	case "options":
		d := json.NewDecoder(strings.NewReader(value))
		d.DisallowUnknownFields()
		w.options = contact.Options{}
		if err := d.Decode(&w.options); err != nil {
			return fault.Newf(fault.Invalid, "options: %w", err)
		}
		if err := w.options.Check(); err != nil {
			return fault.Newf(fault.Invalid, "options: %w", err)
		}
	default:
		return fault.Newf(fault.Invalid, "unknown field %.40q; expected options, known, dry_run, hold, list, tag, "+
			"and file as the last one", name)
	}
	if err != nil {
		return fault.Newf(fault.Invalid, "%s: expected true or false", name)
	}
	return nil
}

// createOperation is POST /uploads, and the body that is documented.
func (h Uploads) createOperation(d *api.Door) (huma.Operation, *huma.RequestBody) {
	text := &huma.Schema{Type: huma.TypeString}
	o := huma.Operation{
		OperationID: "create-upload", Method: http.MethodPost, Path: "/uploads", Tags: []string{"contacts"},
		Summary: "Upload a file of contacts, and import it", DefaultStatus: http.StatusAccepted,
		Errors:       []int{400, 408, 409, 413, 415, 422, 429, 503},
		MaxBodyBytes: h.Limits.Bytes + formMargin, Metadata: map[string]any{api.TimeoutKey: uploadTimeout},
		Description: "CSV, TSV, XLSX, vCard, gzip, or a zip of one file, as the field file of a form; other fields, which are those " +
			"of the query, come before it. curl -F file=@people.csv URL/uploads. The file is stored as it comes; when the " +
			"answer is there, it is imported even if the API or Temporal stops. An upload that is cut off stores nothing. " +
			"429 with Retry-After means that the tenant's imports, or all, are behind: nothing of the file was read.",
	}
	return o, &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {
		Schema: &huma.Schema{
			Type: huma.TypeObject, Required: []string{"file"},
			Properties: map[string]*huma.Schema{
				"options": d.API.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[UploadOptions](), true, ""),
				"known":   text, "dry_run": text, "hold": text, "list": text, "tag": text,
				"file": {Type: huma.TypeString, Format: "binary", Description: "the file, as the last field"},
			},
		},
	}}}
}

type createUploadOutput struct {
	Location string `header:"Location" doc:"where to see its state"`
	Body     Upload
}

// create receives a file. Nothing of it is read while there is a reason to refuse it.
func (h Uploads) create(ctx context.Context, tenant string, in *createUploadInput) (*createUploadOutput, error) {
	u, admitted, err := h.admitted(ctx, tenant, in)
	if err != nil {
		return nil, err
	}
	defer admitted()
	leave, ok := h.taking.Take(u.Tenant)
	if !ok {
		return nil, h.refuse(&turnedAway{
			refusedTaking, "too many files are being received of the tenant " + u.Tenant, api.RetryAfter,
		})
	}
	defer leave()
	if u.Blob != "" { // it is there
		return h.again(ctx, in, u)
	}
	if u, err = h.receive(ctx, in, u); err != nil {
		return nil, err
	}
	return h.accepted(ctx, u), nil
}

func (h Uploads) accepted(ctx context.Context, u dboutreach.Upload) *createUploadOutput {
	return &createUploadOutput{"/uploads/" + u.ID.String(), h.launched(ctx, u)}
}

// admitted is the upload that a request makes, or, with a Blob, the one that its key has made. Its error is why the
// file is not read. Call leave when the file is received, or not.
func (h Uploads) admitted(
	ctx context.Context, tenant string, in *createUploadInput,
) (u dboutreach.Upload, leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	t, err := h.door.Tenants.Get(ctx, tenant)
	if err != nil {
		return u, nil, err
	}
	size := in.c.Request.ContentLength
	if in.room = h.Limits.Bytes; size > in.room+formMargin {
		return u, nil, h.tooLarge()
	}
	if in.Key != "" {
		id := api.Keyed(uploadKeys, tenant, in.Key, uuid.Nil)
		u, err = h.Store.Get(ctx, tenant, id)
		if err == nil || fault.ClassOf(err) != fault.Gone {
			return u, func() {}, err
		}
		u = dboutreach.Upload{ID: id}
	} else if u.ID, err = uuid.NewV7(); err != nil {
		return u, nil, err
	}
	if t.State != db.TenantActive {
		return u, nil, fault.Newf(fault.Conflict, "the tenant %s is stopped", tenant)
	}
	if in.room, err = h.room(ctx, tenant, size); err != nil {
		return u, nil, err
	}
	u.Tenant, u.CreatedBy, u.CreatedAt = tenant, api.CallerOf(ctx).Name, h.door.Now()
	in.region = t.Region
	leave, err = h.admit(ctx, tenant, size)
	return u, leave, err
}

// refuse counts a refusal, and is its answer.
func (h Uploads) refuse(r *turnedAway) error {
	h.refused.WithLabelValues(r.reason).Inc()
	return api.TooMany(r.says, r.wait)
}

func (h Uploads) tooLarge() error {
	h.refused.WithLabelValues(refusedSize).Inc()
	return huma.NewError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the file is larger than %d bytes; split it, or "+
		"compress it with gzip", h.Limits.Bytes))
}

// receive stores the file and then its row. Whatever fails, no file without a row stays, unless the process dies or
// Postgres does not say whether there is one.
func (h Uploads) receive(ctx context.Context, in *createUploadInput, u dboutreach.Upload) (dboutreach.Upload, error) {
	var file blob.UploadFile
	stored := false
	err := h.form(in, func(part *multipart.Part, content io.Reader) (err error) {
		u.FileName = fileName(part.FileName())
		file, err = h.Blobs.PutUpload(ctx, content)
		if stored = err == nil; stored && file.Bytes == 0 {
			err = fault.Newf(fault.Invalid, "file: is empty; upload one with a header and at least one row")
		}
		return err
	})
	defer func() {
		if stored {
			h.discard(ctx, file.Key)
		}
	}()
	if err != nil {
		return u, err
	}
	w := in.wish
	if u.Asked, err = w.digest(); err != nil {
		return u, err
	}
	u.Blob, u.Bytes, u.SHA256 = file.Key, file.Bytes, file.SHA256
	u.Known, u.DryRun, u.Lists, u.Tags = w.known, w.dryRun, w.lists, w.tags
	if w.hold {
		u.State = dboutreach.UploadHeld
	}
	if u.Options, err = json.Marshal(w.options.In(in.region)); err != nil {
		return u, fmt.Errorf("write options: %w", err)
	}
	storing, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	made, err := h.Store.Create(storing, u)
	if errors.Is(err, dboutreach.ErrUploadsFull) { // others took the room while the file came
		return made, h.noRoom()
	}
	if err != nil {
		return made, h.unsure(ctx, u, err, &stored)
	}
	if stored = made.Blob != u.Blob; stored {
		return made, repeats(made, u.SHA256, u.Asked)
	}
	return made, nil
}

// unsure is called when no row is known to be stored: the file stays while there may be one. A COMMIT that was not
// answered may be over after the row was looked for; retention deletes a file that no row has.
func (h Uploads) unsure(ctx context.Context, u dboutreach.Upload, err error, discard *bool) error {
	if fault.ClassOf(err) == fault.Transient && errors.Is(err, dboutreach.ErrMayBeStored) {
		looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.RequestTimeout)
		defer cancel()
		there, lost := h.Store.Get(looking, u.Tenant, u.ID)
		*discard = lost == nil && there.Blob != u.Blob
	}
	return err
}

// discard deletes a file that no row has.
func (h Uploads) discard(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.RequestTimeout)
	defer cancel()
	if err := h.Blobs.DeleteUpload(ctx, key); err != nil {
		h.door.Log.WarnContext(ctx, "a file that no upload has could not be deleted", "key", key, "err", err)
	}
}

// again answers a request whose key has made an upload. The file is read to compare it, and not stored.
func (h Uploads) again(ctx context.Context, in *createUploadInput, u dboutreach.Upload) (*createUploadOutput, error) {
	sum := sha256.New()
	err := h.form(in, func(_ *multipart.Part, content io.Reader) error {
		_, err := io.Copy(sum, content)
		return err
	})
	if err != nil {
		return nil, err
	}
	asked, err := in.wish.digest()
	if err != nil {
		return nil, err
	}
	if err := repeats(u, sum.Sum(nil), asked); err != nil {
		return nil, err
	}
	return h.accepted(ctx, u), nil
}

// repeats refuses, as fault.Conflict, a request whose key has made an upload of another file or with other parameters.
func repeats(made dboutreach.Upload, sha256, asked []byte) error {
	other := "of another file"
	switch {
	case !bytes.Equal(made.SHA256, sha256):
	case !bytes.Equal(made.Asked, asked):
		other = "with other parameters"
	default:
		return nil
	}
	return fault.Newf(fault.Conflict, "Idempotency-Key: it was used for the upload %s, %s", made.ID, other)
}

// fileName is the name of an uploaded file as it is kept: without folders and control characters, at most 255 bytes.
func fileName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, name)
	if len(name) > 255 {
		name = strings.ToValidUTF8(name[:255], "")
	}
	if name = strings.TrimSpace(name); name == "" {
		return "upload"
	}
	return name
}

// form reads a form: its fields, and the file, which is the last one, with take.
func (h Uploads) form(in *createUploadInput, take func(*multipart.Part, io.Reader) error) error {
	request := in.c.Request
	kind, params, err := mime.ParseMediaType(request.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" {
		return huma.Error415UnsupportedMediaType("expected multipart/form-data with the field file: curl -F file=@people.csv")
	}
	body := &patient{Reader: request.Body, control: http.NewResponseController(in.c.Writer), now: time.Now}
	form := multipart.NewReader(body, params["boundary"])
	for range fieldsMost {
		part, err := form.NextPart()
		switch {
		case err == io.EOF: // one that is wrapped is a body that was cut off
			return fault.Newf(fault.Invalid, "file: is missing; send the file as the field file, the last one of the form")
		case err != nil:
			return h.broken(body, err)
		}
		if name := part.FormName(); name != "file" {
			value, err := io.ReadAll(io.LimitReader(part, fieldMost+1))
			switch {
			case err != nil:
				return h.broken(body, err)
			case len(value) > fieldMost:
				return fault.Newf(fault.Invalid, "%.40s: is longer than %d bytes", name, fieldMost)
			}
			if err := in.wish.set(name, string(value)); err != nil {
				return err
			}
			continue
		}
		content := &limited{Reader: part, left: in.room}
		if err := take(part, content); err != nil {
			if errors.Is(content.err, errFileTooLarge) && in.room < h.Limits.Bytes {
				return h.noRoom()
			}
			if content.err != nil {
				return h.broken(body, content.err)
			}
			return err
		}
		switch _, err := form.NextPart(); {
		case err == nil:
			return fault.Newf(fault.Invalid, "file: must be the last field of the form; send the others before it")
		case err != io.EOF:
			return h.broken(body, err)
		}
		return nil
	}
	return fault.Newf(fault.Invalid, "file: is missing among the first %d fields", fieldsMost)
}

// errFileTooLarge ends the reading of a file beyond its bound.
var errFileTooLarge = errors.New("the file is too large")

// broken is the answer to a body that cannot be read.
func (h Uploads) broken(body *patient, err error) error {
	var most *http.MaxBytesError
	switch {
	case errors.Is(err, errFileTooLarge), errors.As(err, &most), errors.As(body.err, &most):
		return h.tooLarge()
	case errors.Is(body.err, os.ErrDeadlineExceeded):
		return huma.NewError(http.StatusRequestTimeout,
			fmt.Sprintf("nothing was received for %s, or less than %d bytes a second; upload the file again", bodyWithin,
				bodyRate))
	}
	return huma.Error400BadRequest("the body ends before the form does, or is none; upload the file again")
}

// limited is a file of at most so many bytes; it keeps why it could not be read.
type limited struct {
	io.Reader
	left int64
	err  error
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		n, err = 0, errFileTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.err = err
	}
	return n, err
}

// patient is a body whose sender has its time for every part of it, and for the whole as long as it keeps a least rate.
// What we take to store what came does not count. It keeps why it ended.
type patient struct {
	io.Reader
	control *http.ResponseController
	now     func() time.Time
	waited  time.Duration // for the sender
	read    int64
	err     error
}

// Read implements io.Reader.
func (r *patient) Read(p []byte) (int, error) {
	began := r.now()
	earned := bodyWithin + time.Duration(r.read/bodyRate)*time.Second - r.waited
	_ = r.control.SetReadDeadline(began.Add(min(earned, bodyWithin))) // the server of a test may not support deadlines
	n, err := r.Reader.Read(p)
	r.read, r.waited = r.read+int64(n), r.waited+r.now().Sub(began)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
