package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// Drafts are the activities that make a product draft of a page.
type Drafts struct {
	Browser DraftBrowser
	Secrets DraftSecrets
	Reader  DraftReader
	Folders DraftFolders
	Blobs   DraftBlobs
	Store   DraftStore
	Now     func() time.Time
}

// DraftBrowser is the Chromium that loads the pages of drafts, reached by its DevTools.
type DraftBrowser interface {
	CheckDevtools(ctx context.Context) error
	// Capture loads a page in a locale, such as fr-CA; "" is en-US. It is asked with the secrets.
	Capture(ctx context.Context, address, locale string, s draft.Secrets) (draft.Capture, error)
}

// DraftSecrets are the headers and cookies of requests.
type DraftSecrets interface {
	// OpenDraft returns those of a request. Such as are gone are fault.Gone.
	OpenDraft(ctx context.Context, eventID uuid.UUID) (draft.Secrets, error)
}

// DraftReader reads pages apart from this process: one that takes too much memory or time is fault.Invalid. Another
// fault that is not final says nothing of the page.
type DraftReader interface {
	Extract(ctx context.Context, page []byte, address string) (draft.Extraction, error)
}

// DraftFolders is where a draft's files are put for the requester, all below one root folder.
type DraftFolders interface {
	// ResolveOutDir makes the folder and returns its cleaned name. One outside of the root folder is fault.Invalid.
	ResolveOutDir(dir string) (string, error)
	// WriteOut writes a file, in place of an older one; without data it removes it. A reader sees all of the file or none.
	WriteOut(dir, name string, data []byte) error
}

// DraftBlobs keeps files under a key made of their content; storing them twice is storing them once.
type DraftBlobs interface {
	PutFile(ctx context.Context, data []byte, ext string) (key, sum string, err error)
	ReadFile(ctx context.Context, key string) ([]byte, error)
}

// DraftStore keeps drafts. Storing one twice is storing it once.
type DraftStore interface {
	PersistDraft(ctx context.Context, r draft.Result, d *draft.Document, now time.Time) error
}

// CheckDevtools returns r, and an error when Chromium cannot be reached.
func (a *Drafts) CheckDevtools(ctx context.Context, r draft.Request) (draft.Request, error) {
	return r, stopped(ctx, a.Browser.CheckDevtools(ctx))
}

// stopped makes the error of a step that was cut off by the end of its worker one that another worker retries.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fault.Newf(fault.Limited, "stopped in the middle: %w", errors.Join(err, context.Cause(ctx)))
}

// ResolveOutDir sets the folder of the draft's files, DefaultOutDir unless the request has one, and makes it.
func (a *Drafts) ResolveOutDir(_ context.Context, r draft.Request) (draft.Request, error) {
	var err error
	r.OutDir, err = a.Folders.ResolveOutDir(r.OutDir)
	return r, err
}

// RunCrawler loads the page, extracts the product, and stores page, screenshot and draft as files. A page that cannot
// be loaded is a result with the outcome Failed, and a failure of our own storage or browser one with the outcome
// Unmade; so are secrets that are gone or for another page: without them it would not be the page that is wanted. A
// page at which mostDeaths workers have died is Failed, and not loaded again; those that were stopped do not count. An
// error means that the run was stopped in the middle.
func (a *Drafts) RunCrawler(ctx context.Context, r draft.Request) (draft.Result, error) {
	began := a.Now()
	var result draft.Result
	if deaths(ctx) >= mostDeaths {
		return draft.Fail(r, fault.Transient, fmt.Sprintf(
			"run crawler: the worker that loaded it died or hung, at the last of %d tries", mostDeaths), began), nil
	}
	defer tellStop(ctx)(nil)
	files, status, err := a.crawl(ctx, r)
	if ctx.Err() != nil { // the error comes from the stop, not from the page
		return result, stopped(ctx, err)
	}
	var own *ownError
	switch class := fault.ClassOf(err); {
	case err == nil:
		result = draft.Result{Request: r, Outcome: draft.Succeeded}
	case errors.As(err, &own), errors.Is(err, web.ErrNoBrowser):
		result = draft.Fail(r, class, err.Error(), began)
		result.Outcome = draft.Unmade
	default:
		result = draft.Fail(r, class, err.Error(), began)
	}
	result.Status, result.Files, result.CrawledAt = status, files, began
	result.TookMS = a.Now().Sub(began).Milliseconds()
	return result, nil
}

// ownError is a failure of our own: to open secrets, to read the page, or to store a draft's files.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

// The faults of a page without a product.
var (
	errNoProduct = fault.Newf(fault.Invalid, "read page: there is no product on it")
	errChallenge = fault.Newf(fault.Blocked, "read page: the site shows a CAPTCHA")
)

// crawl returns the files that could be stored and the HTTP status, 0 without an answer, also beside an error.
func (a *Drafts) crawl(ctx context.Context, r draft.Request) (files []draft.File, status int, err error) {
	secrets, err := a.secrets(ctx, r)
	if err != nil {
		return nil, 0, &ownError{err}
	}
	page, err := a.Browser.Capture(ctx, r.URL, r.Locale, secrets)
	if err != nil {
		return nil, 0, err
	}
	found, unread := a.Reader.Extract(ctx, page.HTML, page.URL)
	if unread != nil && !fault.ClassOf(unread).Final() {
		// Not Limited, which would say that the worker stops.
		return nil, page.Status, &ownError{fault.Newf(fault.Transient, "read page: %w", unread)}
	}
	document, err := json.MarshalIndent(draft.Document{
		EventID: &r.EventID, URL: r.URL, FinalURL: page.URL, Redirects: page.Redirects, Locale: r.Locale,
		Sealed: r.Sealed, Status: page.Status, Unstable: page.Unstable, CrawledAt: a.Now().UTC(), Draft: found.Draft,
		Candidates: found.Candidates,
	}, "", "  ")
	if err != nil {
		return nil, page.Status, fmt.Errorf("write %s: %w", draft.DocumentName, err)
	}
	for _, f := range []struct {
		name, ext string
		data      []byte
	}{
		{draft.PageName, "html", page.HTML}, {draft.ScreenshotName, "png", page.Screenshot},
		{draft.DocumentName, "json", document},
	} {
		if len(f.data) > 0 { // a screenshot may be missing
			kept := draft.File{Name: f.name, Bytes: int64(len(f.data))}
			if kept.Key, kept.SHA256, err = a.Blobs.PutFile(ctx, f.data, f.ext); err != nil {
				return files, page.Status, &ownError{fmt.Errorf("keep %s: %w", f.name, err)}
			}
			files = append(files, kept)
		}
		if err := a.Folders.WriteOut(r.OutDir, f.name, f.data); err != nil {
			return files, page.Status, &ownError{fmt.Errorf("write %s: %w", f.name, err)}
		}
	}
	switch class := fault.OfStatus(page.Status); {
	case class != "":
		return files, page.Status, fault.Newf(class, "HTTP %d", page.Status)
	case unread != nil:
		return files, page.Status, fmt.Errorf("read page: %w", unread)
	case found.Challenge:
		return files, page.Status, errChallenge
	case !found.Product:
		return files, page.Status, errNoProduct
	}
	return files, page.Status, nil
}

// secrets returns those of a request, none where it has none.
func (a *Drafts) secrets(ctx context.Context, r draft.Request) (draft.Secrets, error) {
	if !r.Sealed {
		return draft.Secrets{}, nil
	}
	s, err := a.Secrets.OpenDraft(ctx, r.EventID)
	if err == nil && s.URL != r.URL {
		err = fault.Newf(fault.Conflict, "the headers and cookies of crawl request %s are for another url", r.EventID)
	}
	if err != nil {
		return draft.Secrets{}, err
	}
	return s, nil
}

// Persisted names a draft that is stored.
type Persisted struct {
	DraftID uuid.UUID `json:"draft_id"`
	Name    string    `json:"name,omitempty"`  // of the product
	Price   string    `json:"price,omitempty"` // with its currency
}

// PersistDraft stores the result of a crawl, a draft or a failure, under its event's ID. It is idempotent.
func (a *Drafts) PersistDraft(ctx context.Context, r draft.Result) (Persisted, error) {
	out := Persisted{DraftID: draft.ID(r.EventID)}
	var document *draft.Document
	for _, f := range r.Files {
		if f.Name != draft.DocumentName {
			continue
		}
		data, err := a.Blobs.ReadFile(ctx, f.Key)
		if err != nil {
			return out, err
		}
		if err := json.Unmarshal(data, &document); err != nil {
			return out, fault.Newf(fault.Invalid, "read %s: %w", f.Key, err)
		}
		out.describe(document.Draft)
	}
	if err := a.Store.PersistDraft(ctx, r, document, a.Now()); err != nil {
		return out, err
	}
	m := activity.GetMetricsHandler(ctx).WithTags(map[string]string{"outcome": r.Outcome, "class": string(r.Class)})
	m.Counter(draftsStored).Inc(1)
	m.Timer(draftTook).Record(time.Duration(r.TookMS) * time.Millisecond)
	return out, nil
}

// The metrics of drafts, by outcome and the class of a failure. The exporter adds _total and _seconds.
const (
	draftsStored = "conveyor_drafts"
	draftTook    = "conveyor_draft_crawl" // from asking for the page to its files
)

func (p *Persisted) describe(d draft.Draft) {
	if d.Name != nil {
		p.Name = d.Name.Value
	}
	if d.Price != nil {
		p.Price = d.Price.Value
	}
	if d.Price != nil && d.Currency != nil {
		p.Price += " " + d.Currency.Value
	}
}
