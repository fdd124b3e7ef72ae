package search

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/domain/web"
)

// pages registers the operations on stored pages.
func (h Search) pages(d *api.Door) {
	api.Serve(d, api.Needs(access.Read, api.Query("search", "get-page", "GET /pages/{id}", "Get a page as it is stored",
		"", 400)), h.page)
	api.Serve(d, api.Needs(access.Admin, huma.Operation{
		OperationID: "delete-pages", Method: http.MethodDelete, Path: "/pages", Tags: []string{"search"},
		Summary:   "Delete the page of a URL, or all pages of a site",
		Responses: map[string]*huma.Response{"202": {Description: "A workflow deletes the pages of the site"}},
		Description: "A url is deleted, and no longer found, when the answer comes; a site is deleted by a workflow, and the " +
			"answer is 202. A request that is repeated deletes what is left. Pages come back when they are crawled again.",
	}), h.remove)
}

// maxPageText is how much text of a page is returned, in code points.
const maxPageText = 1_000_000

// maxPageMarks is how many places of words are marked in it.
const maxPageMarks = 1000

type getPageInput struct {
	ID   int64  `path:"id" minimum:"1"`
	Text bool   `query:"text" default:"true" doc:"with the text"`
	Q    string `query:"q" doc:"a query, as of GET /search, whose words are marked in the text"`
}

// A StoredPage is the answer of GET /pages/{id}.
type StoredPage struct {
	ID          int64        `json:"id"`
	URL         string       `json:"url" doc:"canonical"`
	Site        string       `json:"site"`
	Title       string       `json:"title" doc:"may be empty"`
	Description string       `json:"description,omitempty"`
	Headings    []string     `json:"headings"`
	Language    string       `json:"language,omitempty" doc:"ISO 639-1; absent where it is unknown"`
	Type        string       `json:"type"`
	StatusCode  int          `json:"status_code" doc:"HTTP status that the page was answered with"`
	CrawledAt   time.Time    `json:"crawled_at"`
	StoredAt    time.Time    `json:"stored_at"`
	Revision    int64        `json:"revision" doc:"grows with each version that is stored"`
	Text        *string      `json:"text,omitempty" doc:"without tags; its first 1,000,000 code points"`
	TextCut     bool         `json:"text_cut,omitempty" doc:"the page has more text"`
	TextMarks   []SearchMark `json:"text_marks,omitempty" doc:"with q: the first 1,000 places of its words in text"`
}

func (h Search) page(ctx context.Context, in *getPageInput) (*api.Body[StoredPage], error) {
	var ask search.Ask
	if in.Q != "" {
		var err error
		if ask, err = search.Parse(in.Q); err != nil {
			return nil, api.Asked("q", in.Q, err)
		}
	}
	most := 0
	if in.Text {
		most = maxPageText + 1
	}
	p, err := h.Store.Page(ctx, in.ID, most)
	if err != nil {
		return nil, err
	}
	out := StoredPage{
		ID: p.ID, URL: p.URL, Site: p.Site, Title: p.Title, Description: p.Description, Language: p.Language, Type: p.Type,
		Headings:   append([]string{}, p.Headings...),
		StatusCode: p.StatusCode, CrawledAt: p.CrawledAt, StoredAt: p.StoredAt, Revision: p.Revision,
	}
	if in.Text {
		out.Text, out.TextCut = firstOf(p.Text, maxPageText)
		out.TextMarks = api.Listed(search.MarkAll(*out.Text, ask, p.Language, maxPageMarks), showMark)
	}
	return api.BodyOf(out), nil
}

// firstOf is the first n code points of a text, and whether there are more.
func firstOf(text string, n int) (*string, bool) {
	for at := range text {
		if n == 0 {
			text = text[:at]
			return &text, true
		}
		n--
	}
	return &text, false
}

type deletePagesInput struct {
	URL    string `query:"url" maxLength:"4096" doc:"delete the page of this URL" example:"https://example.org/a"`
	Site   string `query:"site" maxLength:"300" doc:"delete all pages of this host and its subdomains" example:"example.org"`
	DryRun bool   `query:"dry_run" doc:"only count the pages"`

	which dbsearch.PagesWhere
}

// Resolve reads the URL or the site.
func (in *deletePagesInput) Resolve(huma.Context) []error {
	refuse := func(name, message, value string) []error {
		return []error{&huma.ErrorDetail{Message: message, Location: "query." + name, Value: value}}
	}
	if (in.URL == "") == (in.Site == "") {
		return refuse("url", "expected either url or site", in.URL)
	}
	if in.URL != "" {
		a, err := web.Canonical(strings.TrimSpace(in.URL))
		if err != nil {
			return refuse("url", "expected an http or https address", web.Show(in.URL))
		}
		in.which.URL = a.URL
		return nil
	}
	var err error
	if in.which.Site, err = siteOf(in.Site); err != nil || strings.HasPrefix(strings.TrimSpace(in.Site), "*") {
		return refuse("site", "expected a host, such as example.org: its subdomains are deleted with it", api.Shown(in.Site))
	}
	return nil
}

// PagesDeleted is the answer of DELETE /pages.
type PagesDeleted struct {
	Pages    int               `json:"pages" doc:"that match: of a url, deleted; of a site, to be deleted"`
	DryRun   bool              `json:"dry_run" doc:"nothing is deleted"`
	Workflow *api.WorkflowLink `json:"workflow,omitempty" doc:"that deletes the pages of the site"`
}

type deletePagesOutput struct {
	Status int
	Body   PagesDeleted
}

// remove has deleted a URL when it answers, and durably accepted the deletion of a site. Neither has a transaction that
// covers all of it: it is recorded first, so that none happens without.
func (h Search) remove(ctx context.Context, in *deletePagesInput) (*deletePagesOutput, error) {
	count, err := h.Store.Count(ctx, in.which)
	if err != nil {
		return nil, err
	}
	out := &deletePagesOutput{Status: http.StatusOK, Body: PagesDeleted{Pages: count, DryRun: in.DryRun}}
	if in.DryRun || count == 0 {
		return out, nil
	}
	subject := "site/" + in.which.Site
	if in.which.URL != "" {
		subject = "page/" + web.Show(in.which.URL)
	}
	err = h.Audit.Record(ctx, db.AuditEntry{
		At: h.door.Now(), Actor: api.CallerOf(ctx).Name, Action: "pages.delete_wanted", Subject: subject,
		Detail: map[string]any{"pages": count},
	})
	if err != nil {
		return nil, err
	}
	if in.which.URL != "" {
		out.Body.Pages, err = h.Store.Delete(ctx, in.which, 1, search.Removal(h.Engines))
		return out, err
	}
	id, _, err := h.Launch.DeletePages(ctx, in.which.Site)
	if err != nil {
		return nil, err
	}
	out.Status, out.Body.Workflow = http.StatusAccepted, new(h.door.Workflow(id))
	return out, nil
}
