package db

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/find"
)

// Finder looks up single things of every kind by what a person typed. Each method is of one kind, and returns at most
// findMost of it; one that a query cannot mean returns none, without a statement.
type Finder struct {
	pool  *pgxpool.Pool
	words func(ctx context.Context, text string, most int) ([]Found, error)
}

// NewFinder returns a finder in pool. words finds listings by words, at most so many; for a text without any it finds
// none.
func NewFinder(pool *pgxpool.Pool, words func(ctx context.Context, text string, most int) ([]Found, error)) *Finder {
	return &Finder{pool, words}
}

// A Found is one thing.
type Found struct {
	ID    string // as addresses have it
	Title string // of strangers, where the thing has one; may be empty
	State string
}

// findMost is the most of one kind.
const findMost = 5

// The listing at exactly the typed address comes first.
const sqlFindAdverts = `/* sqlFindAdverts */
SELECT r.id::text, left(coalesce(l.title, r.payload->>'title', r.payload->'listing'->>'title', r.url), 200),
    coalesce(l.status, r.status)
FROM raw_listings r LEFT JOIN listings l USING (id)
WHERE r.id = ANY ($1) ORDER BY r.url = $2 DESC, r.last_scraped_at DESC LIMIT $3`

// Texts that begin with $1 are those from it to the greatest that does: a range, which the index finds whatever the
// plan.
const sqlFindAddress = `/* sqlFindAddress */
SELECT id::text, left(title || ' · ' || address, 200), status FROM listings
WHERE address <> '' AND lower(address) COLLATE "C" >= lower($1::text)
    AND lower(address) COLLATE "C" < lower($1::text) || E'\U0010FFFF'
ORDER BY lower(address) COLLATE "C", id LIMIT $2`

// Adverts finds listings, and adverts that are none, whose state says so: by ID, by the ID that they have on their
// platform, by the beginning of the street address and by words.
func (f *Finder) Adverts(ctx context.Context, q find.Query) (out []Found, err error) {
	if ids := append(append([]uuid.UUID{}, q.Adverts...), q.IDs...); len(ids) > 0 {
		if out, err = f.rows(ctx, "adverts", sqlFindAdverts, ids, Storable(q.URL), findMost); err != nil {
			return nil, err
		}
	}
	if !q.Words || len(out) > 0 {
		return out, nil
	}
	if out, err = f.rows(ctx, "listings by address", sqlFindAddress, Storable(q.Text), findMost); err != nil ||
		len(out) > 0 {
		return out, err
	}
	return f.words(ctx, Storable(q.Text), findMost)
}

const (
	sqlFindDraftIDs = `/* sqlFindDraftIDs */ ` + sqlFindDraft + ` WHERE id = ANY ($1) OR event_id = ANY ($1) LIMIT $2`

	sqlFindDraftURL = `/* sqlFindDraftURL */ ` + sqlFindDraft + `
WHERE url = $1 OR final_url = $1 ORDER BY created_at DESC, id DESC LIMIT $2`

	// A number is found wherever it is, by its index; words, which have none, in the newest 10,000 drafts.
	sqlFindDraftWords = `/* sqlFindDraftWords */
SELECT id::text, title, outcome FROM (
    (SELECT ` + sqlFindDraftColumns + ` WHERE sku = $1 ORDER BY created_at DESC, id DESC LIMIT $2)
    UNION (SELECT ` + sqlFindDraftColumns + ` WHERE gtin = $1 ORDER BY created_at DESC, id DESC LIMIT $2)
    UNION (SELECT ` + sqlFindDraftColumns + ` WHERE mpn = $1 ORDER BY created_at DESC, id DESC LIMIT $2)
    UNION (SELECT id, title, outcome, created_at, exact FROM (
        SELECT name, ` + sqlFindDraftColumns + ` ORDER BY created_at DESC, id DESC LIMIT 10000
    ) newest WHERE strpos(lower(name), lower($1)) > 0 ORDER BY created_at DESC, id DESC LIMIT $2)
) d ORDER BY exact DESC, created_at DESC, id DESC LIMIT $2`

	sqlFindDraftColumns = `id, left(coalesce(nullif(name, ''), url), 200) AS title, outcome, created_at,
    coalesce($1 IN (sku, gtin, mpn), false) AS exact FROM product_drafts`

	sqlFindDraft = `/* sqlFindDraft */
SELECT id::text, left(coalesce(nullif(name, ''), url), 200), outcome FROM product_drafts`
)

// Drafts finds drafts by their ID or that of their request, by address, by its numbers, and the newest 10,000 by
// the name of the product.
func (f *Finder) Drafts(ctx context.Context, q find.Query) ([]Found, error) {
	switch {
	case len(q.IDs) > 0:
		return f.rows(ctx, "drafts", sqlFindDraftIDs, q.IDs, findMost)
	case q.URL != "":
		return f.rows(ctx, "drafts of an address", sqlFindDraftURL, Storable(q.URL), findMost)
	case q.Words:
		return f.rows(ctx, "drafts by words", sqlFindDraftWords, Storable(q.Text), findMost)
	}
	return nil, nil
}

// Those that have come to their end are found as drafts.
const sqlFindDraftRequests = `/* sqlFindDraftRequests */
SELECT r.event_id::text, left(r.url, 200), CASE WHEN c.event_id IS NULL THEN '' ELSE 'canceled' END
FROM draft_requests r LEFT JOIN draft_cancels c USING (event_id)
WHERE r.event_id = ANY ($1) AND NOT EXISTS (SELECT FROM product_drafts d WHERE d.event_id = r.event_id)`

// DraftRequests finds requests for drafts that have none yet, by ID.
func (f *Finder) DraftRequests(ctx context.Context, q find.Query) ([]Found, error) {
	if len(q.IDs) == 0 {
		return nil, nil
	}
	return f.rows(ctx, "requests for drafts", sqlFindDraftRequests, q.IDs)
}

const sqlFindCrawls = `/* sqlFindCrawls */
SELECT id::text, left(seed_url, 200), lower(status) FROM crawl_runs
WHERE id = $1 OR normalized_seed_url = $2 OR seed_url = $3 OR strpos(lower(normalized_seed_url), lower($4)) > 0
ORDER BY id = $1 DESC, id DESC LIMIT $5`

// Crawls finds crawls by number, by the address that they begin at, and by a part of it.
func (f *Finder) Crawls(ctx context.Context, q find.Query) ([]Found, error) {
	part := ""
	if q.Words && q.Number == 0 && q.Workflow == "" {
		part = q.Text
	}
	if q.Number == 0 && q.URL == "" && part == "" {
		return nil, nil
	}
	return f.rows(ctx, "crawls", sqlFindCrawls, q.Number, Stated(Storable(q.Key)), Stated(Storable(q.URL)),
		Stated(Storable(part)), findMost)
}

const sqlFindPage = `/* sqlFindPage */
SELECT id::text, left(coalesce(nullif(title, ''), url), 200), type FROM pages WHERE url_key = $1`

// Pages finds the page that is stored of an address.
func (f *Finder) Pages(ctx context.Context, q find.Query) ([]Found, error) {
	if q.Key == "" {
		return nil, nil
	}
	return f.rows(ctx, "pages", sqlFindPage, URLKey(Storable(q.Key)))
}

const sqlFindReplays = `/* sqlFindReplays */ SELECT id::text, stage, state FROM replays WHERE id = ANY ($1)`

// Replays finds replays by ID.
func (f *Finder) Replays(ctx context.Context, q find.Query) ([]Found, error) {
	if len(q.IDs) == 0 {
		return nil, nil
	}
	return f.rows(ctx, "replays", sqlFindReplays, q.IDs)
}

// Each condition has its own index, two of them without the empty text.
const sqlFindLetters = `/* sqlFindLetters */
SELECT id::text, left(queue || ': ' || reason, 200), state FROM dead_letters
WHERE (id = $1 OR message_id = $2 AND message_id <> '' OR workflow_id = $3 AND workflow_id <> '')
    AND ($4 OR tenant = '')
ORDER BY last_at DESC, id DESC LIMIT $5`

// Letters finds dead letters by number, and by the ID of their message and workflow: of tenants too, or of none only.
func (f *Finder) Letters(ctx context.Context, q find.Query, tenants bool) ([]Found, error) {
	message := ""
	if len(q.IDs) > 0 {
		message = q.IDs[0].String()
	}
	number := q.Number
	if strings.HasPrefix(q.Workflow, "crawl-run/") { // the number is the crawl's
		number = 0
	}
	if number == 0 && message == "" && q.Workflow == "" {
		return nil, nil
	}
	return f.rows(ctx, "dead letters", sqlFindLetters, number, message, Storable(q.Workflow), tenants, findMost)
}

const sqlFindPlatforms = `/* sqlFindPlatforms */
SELECT name, name, CASE WHEN paused THEN 'paused' ELSE '' END FROM platforms
WHERE starts_with(name, lower($1)) ORDER BY name LIMIT $2`

// Platforms finds platforms by the beginning of their name.
func (f *Finder) Platforms(ctx context.Context, q find.Query) ([]Found, error) {
	if !q.Words {
		return nil, nil
	}
	return f.rows(ctx, "platforms", sqlFindPlatforms, Storable(q.Text), findMost)
}

const (
	sqlFindCampaigns = `/* sqlFindCampaigns */
SELECT id::text, left(name, 200), state FROM campaigns
WHERE tenant = $1 AND (id = ANY ($2) OR strpos(lower(name), lower($3)) > 0)
ORDER BY created_at DESC, id DESC LIMIT $4`

	sqlFindUploads = `/* sqlFindUploads */
SELECT id::text, left(file_name, 200), state FROM uploads
WHERE tenant = $1 AND (id = ANY ($2) OR strpos(lower(file_name), lower($3)) > 0)
ORDER BY created_at DESC, id DESC LIMIT $4`

	// The recipient is none of the title: not everyone who finds things may read it.
	sqlFindMessages = `/* sqlFindMessages */
SELECT m.id::text, left(coalesce(c.name, m.kind), 200), m.state
FROM messages m LEFT JOIN campaigns c ON c.id = m.campaign WHERE m.tenant = $1 AND m.id = ANY ($2)`
)

// Campaigns finds campaigns of a tenant by ID and by a part of their name.
func (f *Finder) Campaigns(ctx context.Context, tenant string, q find.Query) ([]Found, error) {
	return f.ofTenant(ctx, "campaigns", sqlFindCampaigns, tenant, q)
}

// Uploads finds uploads of a tenant by ID and by a part of the file's name.
func (f *Finder) Uploads(ctx context.Context, tenant string, q find.Query) ([]Found, error) {
	return f.ofTenant(ctx, "uploads", sqlFindUploads, tenant, q)
}

// Messages finds messages of a tenant by ID.
func (f *Finder) Messages(ctx context.Context, tenant string, q find.Query) ([]Found, error) {
	if len(q.IDs) == 0 {
		return nil, nil
	}
	out, err := TenantRows(ctx, f.pool, tenant, pgx.RowToStructByPos[Found], sqlFindMessages, tenant, q.IDs)
	return out, fault.Wrap(err, "find messages of %s", tenant)
}

func (f *Finder) ofTenant(ctx context.Context, kind, sql, tenant string, q find.Query) ([]Found, error) {
	part := ""
	if q.Words {
		part = q.Text
	}
	if len(q.IDs) == 0 && part == "" {
		return nil, nil
	}
	out, err := TenantRows(ctx, f.pool, tenant, pgx.RowToStructByPos[Found], sql, tenant, q.IDs, Stated(Storable(part)),
		findMost)
	return out, fault.Wrap(err, "find %s of %s", kind, tenant)
}

func (f *Finder) rows(ctx context.Context, kind, sql string, args ...any) ([]Found, error) {
	out, err := Rows(ctx, f.pool, pgx.RowToStructByPos[Found], sql, args...)
	return out, fault.Wrap(err, "find %s", kind)
}
