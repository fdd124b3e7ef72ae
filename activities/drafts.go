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
)

// Drafts are the activities that make a product draft of a page.
type Drafts struct {
	Browser DraftBrowser
	Folders DraftFolders
	Blobs   DraftBlobs
	Store   DraftStore
	Now     func() time.Time
}

// DraftBrowser is the Chromium that drafts are made with, reached by its DevTools.
type DraftBrowser interface {
	CheckDevtools(ctx context.Context) error
	Capture(ctx context.Context, address string) (draft.Capture, error)
}

// DraftFolders is where a draft's files are put for whoever asked for it, below one folder that nothing leaves.
type DraftFolders interface {
	// ResolveOutDir makes the folder and returns its cleaned name. One that would lie elsewhere is fault.Invalid.
	ResolveOutDir(dir string) (string, error)
	// WriteOut puts a file there, in place of what is there; without data there is none afterwards. A reader sees all of
	// it or none.
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

// CheckDevtools says whether there is a Chromium to make the draft with.
func (a *Drafts) CheckDevtools(ctx context.Context, r draft.Request) (draft.Request, error) {
	return r, stopped(ctx, a.Browser.CheckDevtools(ctx))
}

// stopped says of a step that was cut off by the end of its worker that another worker may take it over.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return fault.Newf(fault.Limited, "stopped in the middle: %w", errors.Join(err, context.Cause(ctx)))
}

// ResolveOutDir says where the draft's files go: DefaultOutDir unless the request says.
func (a *Drafts) ResolveOutDir(_ context.Context, r draft.Request) (draft.Request, error) {
	var err error
	r.OutDir, err = a.Folders.ResolveOutDir(r.OutDir)
	return r, err
}

// RunCrawler loads the page, reads the product off it, and keeps page, screenshot and draft. A page that cannot be had
// is no error but a failure-shaped result, and so is trouble of our own: an Unmade one. An error means that the run was
// stopped in the middle.
func (a *Drafts) RunCrawler(ctx context.Context, r draft.Request) (draft.Result, error) {
	began := a.Now()
	var result draft.Result
	files, status, err := a.crawl(ctx, r)
	if ctx.Err() != nil { // whatever it looks like now, it is no verdict on the page
		return result, stopped(ctx, err)
	}
	var ours *houseError
	switch class, _ := fault.Of(err); {
	case err == nil:
		result = draft.Result{Request: r, Outcome: draft.Succeeded}
	case errors.As(err, &ours), errors.Is(err, draft.ErrNoBrowser):
		result = draft.Fail(r, class, err.Error(), began)
		result.Outcome = draft.Unmade
	default:
		result = draft.Fail(r, class, err.Error(), began)
	}
	result.Status, result.Files, result.CrawledAt = status, files, began
	result.TookMS = a.Now().Sub(began).Milliseconds()
	return result, nil
}

// houseError is trouble with keeping a draft's files.
type houseError struct{ error }

func (e *houseError) Unwrap() error { return e.error }

// What a page without a product comes to.
var (
	errNoProduct = fault.Newf(fault.Invalid, "read page: there is no product on it")
	errChallenge = fault.Newf(fault.Blocked, "read page: the site asks whether we are a robot")
)

// crawl returns what could be kept, also beside an error.
func (a *Drafts) crawl(ctx context.Context, r draft.Request) (files []draft.File, status int, err error) {
	page, err := a.Browser.Capture(ctx, r.URL)
	if err != nil {
		return nil, 0, err
	}
	found, unread := draft.Extract(page.HTML, page.URL)
	document, err := json.MarshalIndent(draft.Document{
		EventID: &r.EventID, URL: r.URL, FinalURL: page.URL, Redirects: page.Redirects, Status: page.Status,
		Unstable: page.Unstable, CrawledAt: a.Now().UTC(), Draft: found,
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
		if len(f.data) > 0 { // a screenshot cannot always be made
			kept := draft.File{Name: f.name, Bytes: int64(len(f.data))}
			if kept.Key, kept.SHA256, err = a.Blobs.PutFile(ctx, f.data, f.ext); err != nil {
				return files, page.Status, &houseError{fmt.Errorf("keep %s: %w", f.name, err)}
			}
			files = append(files, kept)
		}
		if err := a.Folders.WriteOut(r.OutDir, f.name, f.data); err != nil {
			return files, page.Status, &houseError{fmt.Errorf("write %s: %w", f.name, err)}
		}
	}
	switch class := fault.OfStatus(page.Status); {
	case class != "":
		return files, page.Status, fault.Newf(class, "HTTP %d", page.Status)
	case unread != nil:
		return files, page.Status, unread
	case !found.IsProduct() && draft.Challenge(page.HTML):
		return files, page.Status, errChallenge
	case !found.IsProduct():
		return files, page.Status, errNoProduct
	}
	return files, page.Status, nil
}

// Persisted names a draft that is stored.
type Persisted struct {
	DraftID uuid.UUID `json:"draft_id"`
	Name    string    `json:"name,omitempty"`  // of the product
	Price   string    `json:"price,omitempty"` // with its currency
}

// PersistDraft stores what came of a crawl, good or bad, under its event's ID.
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
