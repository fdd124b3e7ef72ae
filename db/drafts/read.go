package drafts

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A DraftFilter says which drafts to return. Zero values do not filter; of several values any will do.
type DraftFilter struct {
	Outcome      []string
	Host         []string
	URL          string
	Name         string   // a part of it
	Brand        []string // whatever its case
	SKU          []string
	GTIN         []string
	MPN          []string
	Availability []string
	Currency     []string
	MinPrice     string // decimal
	MaxPrice     string
	Since        *time.Time
	After        *db.Position // the last draft of the page before
	Limit        int          // 1 to 100
}

// A DraftSummary is a draft in a list.
type DraftSummary struct {
	ID           uuid.UUID
	EventID      uuid.UUID // of the crawl request
	URL          string    // as requested
	FinalURL     *string   // after redirects
	Outcome      string    // succeeded failed
	Class        string    // of the failure: transient ones may succeed another time
	Error        string    // why it failed
	Status       *int      // HTTP
	Name         *string
	Brand        *string
	Price        *string // decimal
	Currency     *string // ISO 4217
	Availability *string // of schema.org
	SKU          *string
	GTIN         *string
	MPN          *string
	OutDir       string       // folder of its files on the worker
	Files        []draft.File // for GET /drafts/{id}/files/{name}
	CrawledAt    time.Time
	TookMS       int64 // milliseconds from opening the page to storing its files
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

const sqlDraftColumns = `
    id, event_id, url, final_url, outcome, class, error, http_status, name, brand, price::text, currency, availability,
    sku, gtin, mpn, out_dir, files, crawled_at, took_ms, created_at, updated_at`

// What has no index is looked for in the next 10,000 drafts: reading all of them would take minutes. The last of them
// is among the rows whether it passes or not, for the list goes on after it.
const (
	sqlDraftsSearch = `/* sqlDraftsSearch */
SELECT ` + sqlDraftColumns + `, true, false ` + sqlDraftsNext + ` LIMIT $11`

	sqlDraftsSome = `/* sqlDraftsSome */
SELECT ` + sqlDraftColumns + `, passes, place = 10000
FROM (
    SELECT *, row_number() OVER (ORDER BY created_at DESC, id DESC) AS place,
        coalesce(($12::text IS NULL OR strpos(lower(name), lower($12)) > 0)
            AND ($13::text[] IS NULL OR availability = ANY ($13))
            AND ($14::text[] IS NULL OR currency = ANY ($14))
            AND ($15::text IS NULL OR price >= $15::text::numeric)
            AND ($16::text IS NULL OR price <= $16::text::numeric), false) AS passes
    FROM (SELECT * ` + sqlDraftsNext + ` LIMIT 10000) newest
) looked
WHERE passes OR place = 10000
ORDER BY created_at DESC, id DESC LIMIT $11`

	sqlDraftsNext = `FROM product_drafts
WHERE CASE WHEN $1::text[] IS NULL THEN true WHEN cardinality($1) = 1 THEN outcome = $1[1] ELSE outcome = ANY ($1) END
    AND CASE WHEN $2::text[] IS NULL THEN true WHEN cardinality($2) = 1 THEN host = $2[1] ELSE host = ANY ($2) END
    AND ($3::text IS NULL OR url = $3)
    AND CASE WHEN $4::text[] IS NULL THEN true WHEN cardinality($4) = 1 THEN lower(brand) = lower($4[1])
        ELSE lower(brand) = ANY (ARRAY(SELECT lower(b) FROM unnest($4) AS b)) END
    AND CASE WHEN $5::text[] IS NULL THEN true WHEN cardinality($5) = 1 THEN sku = $5[1] ELSE sku = ANY ($5) END
    AND CASE WHEN $6::text[] IS NULL THEN true WHEN cardinality($6) = 1 THEN gtin = $6[1] ELSE gtin = ANY ($6) END
    AND CASE WHEN $7::text[] IS NULL THEN true WHEN cardinality($7) = 1 THEN mpn = $7[1] ELSE mpn = ANY ($7) END
    AND ($8::timestamptz IS NULL OR created_at >= $8)
    AND ($9::uuid IS NULL OR (created_at, id) < ($10::timestamptz, $9))
ORDER BY created_at DESC, id DESC`
)

// Search returns the page of drafts after f.After, the newest first, and the position to go on from: nil when this was
// the last. A name, an availability, a currency and a price are looked for in the next 10,000 of the other filters
// only: where fewer than a page are found, the position is that of the last of them.
func (s *Drafts) Search(ctx context.Context, f DraftFilter) ([]DraftSummary, *db.Position, error) {
	hosts := db.Among(f.Host)
	for i := range hosts {
		hosts[i] = strings.ToLower(hosts[i])
	}
	id, at := f.After.Keys()
	text, args := sqlDraftsSearch, []any{
		db.Among(f.Outcome), hosts, db.Stated(f.URL), db.Among(f.Brand), db.Among(f.SKU), db.Among(f.GTIN),
		db.Among(f.MPN), f.Since, id, at, f.Limit + 1,
	}
	if len(f.Name)+len(f.Availability)+len(f.Currency)+len(f.MinPrice)+len(f.MaxPrice) > 0 {
		text, args = sqlDraftsSome, append(args, db.Stated(f.Name), db.Among(f.Availability), db.Among(f.Currency),
			db.Stated(f.MinPrice), db.Stated(f.MaxPrice))
	}
	looked, err := db.Rows(ctx, s.pool, scanDraft, text, args...)
	found, next := db.CutLooked(looked, f.Limit, func(d DraftSummary) db.Position {
		return db.Position{At: d.CreatedAt, ID: d.ID}
	})
	return found, next, db.Refused(fault.Wrap(err, "search drafts"))
}

func scanDraft(row pgx.CollectableRow) (r db.Looked[DraftSummary], err error) {
	got, err := pgx.RowToStructByPos[struct {
		DraftSummary
		Passes, Last bool
	}](row)
	return db.Looked[DraftSummary]{Row: got.DraftSummary, Passes: got.Passes, Last: got.Last}, err
}

// A DraftDetail is a draft with where each value was found.
type DraftDetail struct {
	DraftSummary
	Redirects []string     // the addresses before final_url, in order, beginning with url
	Unstable  bool         // the page was still changing when it was read
	Draft     *draft.Draft // every value with its source and a confidence; nil where there was no page

	Candidates []draft.Candidate // values that are not in it

	Locale string // that was asked for; "" = en-US, or not known: it came by message, and no page was read
	Sealed bool   // it was asked for with headers or cookies; false where that is not known, as Locale
}

const sqlDraftGet = `/* sqlDraftGet */
SELECT d.*, coalesce(r.locale, ''), coalesce(r.sealed, false)
FROM (SELECT ` + sqlDraftColumns + `, document FROM product_drafts WHERE id = $1) d
LEFT JOIN draft_requests r USING (event_id)`

// Draft returns a draft by its ID. One that is not there is fault.Gone.
func (s *Drafts) Draft(ctx context.Context, id uuid.UUID) (DraftDetail, error) {
	row, err := db.Row(ctx, s.pool, pgx.RowToStructByPos[struct {
		DraftSummary
		Document *draft.Document
		Locale   string
		Sealed   bool
	}], sqlDraftGet, id)
	if err != nil {
		return DraftDetail{}, db.Gone(fmt.Errorf("read draft %s: %w", id, err), "there is no draft %s", id)
	}
	out := DraftDetail{DraftSummary: row.DraftSummary, Redirects: []string{}, Locale: row.Locale, Sealed: row.Sealed}
	if d := row.Document; d != nil {
		out.Draft, out.Unstable, out.Candidates = &d.Draft, d.Unstable, d.Candidates
		out.Redirects = append(out.Redirects, d.Redirects...)
		out.Locale, out.Sealed = cmp.Or(d.Locale, out.Locale), out.Sealed || d.Sealed
	}
	return out, nil
}

// A DraftRequestState is how far a crawl request has come, by what is stored.
type DraftRequestState struct {
	URL         *string    // NULL where the request came by message, and nothing is stored of it yet
	RequestedAt *time.Time // by REST
	DraftID     *uuid.UUID
	Outcome     *string // of the draft
	Error       *string // of the draft, or of its dead letter
	DeadLetter  *int64  // where there is no draft
	DeadState   *string // open, replayed or discarded
	Canceled    bool
	CanceledBy  *string // caller of the API
	CanceledAt  *time.Time
}

// What is stored of a page counts more than a letter.
const sqlDraftRequestState = `/* sqlDraftRequestState */
SELECT coalesce(d.url, r.url), r.requested_at, d.id, d.outcome, coalesce(d.error, l.reason), l.id, l.state,
    c.event_id IS NOT NULL, c.canceled_by, c.canceled_at
FROM (SELECT $1::uuid AS event_id) e
LEFT JOIN draft_requests r USING (event_id)
LEFT JOIN product_drafts d USING (event_id)
LEFT JOIN draft_cancels c USING (event_id)
LEFT JOIN LATERAL (
    SELECT id, state, reason FROM dead_letters
    WHERE (workflow_id = $3 AND workflow_id <> '' OR message_id = e.event_id::text AND message_id <> '') AND queue = $2
        AND state IN ('open', 'replayed', 'discarded') AND d.id IS NULL
    ORDER BY last_at DESC, id DESC LIMIT 1
) l ON true`

// Request returns what is known of a crawl request. queue is where such requests are consumed.
func (s *Drafts) Request(ctx context.Context, eventID uuid.UUID, queue string) (DraftRequestState, error) {
	out, err := db.Row(ctx, s.pool, pgx.RowToStructByPos[DraftRequestState],
		sqlDraftRequestState, eventID, queue, draft.WorkflowID(eventID))
	return out, fault.Wrap(err, "read crawl request %s", eventID)
}

// DraftRequestStates are the states of a crawl request in a list.
var DraftRequestStates = []string{"pending", "succeeded", "failed", "dead", "canceled"}

// A DraftRequestFilter says which crawl requests to return. Zero values do not filter.
type DraftRequestFilter struct {
	State []string // of DraftRequestStates
	Since *time.Time
	After *db.Position // the last request of the page before
	Limit int          // 1 to 100
}

// A DraftRequestSummary is a crawl request that came by REST, in a list.
type DraftRequestSummary struct {
	EventID     uuid.UUID
	URL         string
	OutDir      string // as asked for; "" = out
	Locale      string // as asked for; "" = en-US
	RequestedAt time.Time
	State       string // of DraftRequestStates
	DraftID     *uuid.UUID
	Error       *string // of the draft, or of its dead letter
	DeadLetter  *int64  // where there is no draft, and it was not replayed
}

// As in sqlDraftRequestState, what is stored of a page counts more than a letter. The states of the next 10,000 are
// looked at: one that few requests have would read all that are kept. The last of them is among the rows whether it
// passes or not, for the list goes on after it.
const sqlDraftRequestsList = `/* sqlDraftRequestsList */
SELECT event_id, url, out_dir, locale, requested_at, state, draft_id, nullif(error, ''), letter_id,
    $6::text[] IS NULL OR state = ANY ($6), place = 10000
FROM (
    SELECT r.event_id, r.url, r.out_dir, r.locale, r.requested_at, r.place, d.id AS draft_id, l.id AS letter_id,
        coalesce(d.error, l.reason) AS error,
        CASE WHEN d.id IS NOT NULL THEN d.outcome WHEN c.event_id IS NOT NULL THEN 'canceled'
            WHEN l.id IS NOT NULL THEN 'dead' ELSE 'pending' END AS state
    FROM (
        SELECT event_id, url, out_dir, locale, requested_at,
            row_number() OVER (ORDER BY requested_at DESC, event_id DESC) AS place
        FROM draft_requests
        WHERE ($3::timestamptz IS NULL OR requested_at >= $3)
            AND ($4::uuid IS NULL OR (requested_at, event_id) < ($5::timestamptz, $4))
        ORDER BY requested_at DESC, event_id DESC LIMIT 10000
    ) r
    LEFT JOIN LATERAL (SELECT id, outcome, error FROM product_drafts WHERE event_id = r.event_id LIMIT 1) d ON true
    LEFT JOIN draft_cancels c USING (event_id)
    LEFT JOIN LATERAL (
        SELECT id, reason FROM (
            SELECT id, reason, state FROM dead_letters
            WHERE (workflow_id = $1 || r.event_id::text AND workflow_id <> ''
                OR message_id = r.event_id::text AND message_id <> '') AND queue = $2
                AND state IN ('open', 'replayed', 'discarded') AND d.id IS NULL
            ORDER BY last_at DESC, id DESC LIMIT 1
        ) newest WHERE state <> 'replayed'
    ) l ON true
) q
WHERE $6::text[] IS NULL OR state = ANY ($6) OR place = 10000
ORDER BY requested_at DESC, event_id DESC LIMIT $7`

// A draftRequestRow is a row of sqlDraftRequestsList.
type draftRequestRow struct {
	DraftRequestSummary
	Passes bool // the filter
	Last   bool // the filter was not asked of those after it
}

func (r draftRequestRow) position() db.Position { return db.Position{At: r.RequestedAt, ID: r.EventID} }

// Requests returns the page of crawl requests after f.After, the newest first, and the position to go on from: nil when
// this was the last. Of the next 10,000 only it is asked whether they are in f.State: where fewer than a page are, the
// position is that of the last of them. queue is where such requests are consumed. Those that came by message are not
// listed: nothing is stored of them before their drafts.
func (s *Drafts) Requests(
	ctx context.Context, f DraftRequestFilter, queue string,
) ([]DraftRequestSummary, *db.Position, error) {
	id, at := f.After.Keys()
	looked, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[draftRequestRow],
		sqlDraftRequestsList, draft.WorkflowPrefix, queue, f.Since, id, at, db.Among(f.State), f.Limit+1)
	if err != nil {
		return nil, nil, db.Refused(fmt.Errorf("list crawl requests: %w", err))
	}
	looked, next := db.CutPage(looked, f.Limit, draftRequestRow.position)
	if end := len(looked) - 1; next == nil && end >= 0 && looked[end].Last {
		next = new(looked[end].position())
	}
	found := []DraftRequestSummary{}
	for _, r := range looked {
		if r.Passes {
			found = append(found, r.DraftRequestSummary)
		}
	}
	return found, next, nil
}
