// Package search keeps the pages that were crawled, and the index in which they are found.
package search

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// Pages are the pages that can be searched, whatever the engine, and the inbox of the messages that bring them.
// A transaction that locks several pages locks them in the order of their url_key.
type Pages struct{ pool *pgxpool.Pool }

// NewPages returns the pages kept in pool.
func NewPages(pool *pgxpool.Pool) *Pages { return &Pages{pool} }

// Each URL of a batch comes once. A version that was crawled at the same time replaces the one that is kept only where
// it differs. One that was removed later does not come back. What is stored is counted in the flow.
const sqlPagesStore = `/* sqlPagesStore */
WITH stored AS (
INSERT INTO pages AS p (url_key, url, site, title, description, headings, text, language, type, status_code, crawled_at,
    stored_at)
SELECT url_key, url, site, title, description,
    CASE WHEN headings = '' THEN '{}' ELSE string_to_array(headings, E'\n') END, text, language, type, status_code,
    crawled_at, $12
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::int[], $11::timestamptz[])
    AS r(url_key, url, site, title, description, headings, text, language, type, status_code, crawled_at)
WHERE NOT EXISTS (SELECT FROM page_removals x WHERE x.url_key = r.url_key AND x.removed_at >= r.crawled_at)
ORDER BY url_key
ON CONFLICT (url_key) DO UPDATE SET revision = p.revision + 1, site = excluded.site, title = excluded.title,
    description = excluded.description, headings = excluded.headings, text = excluded.text,
    language = excluded.language, type = excluded.type, status_code = excluded.status_code,
    crawled_at = excluded.crawled_at, stored_at = excluded.stored_at
WHERE excluded.crawled_at > p.crawled_at OR excluded.crawled_at = p.crawled_at AND
    (excluded.title, excluded.description, excluded.headings, excluded.language, excluded.type, excluded.status_code,
        excluded.site, excluded.text)
    IS DISTINCT FROM (p.title, p.description, p.headings, p.language, p.type, p.status_code, p.site, p.text)
RETURNING url_key
), counted AS (
` + db.SQLFlowInto + `)
SELECT date_trunc('minute', $12::timestamptz), 'crawl', 'stored', 'stored', '', -1, pg_backend_pid(), count(*)
FROM stored HAVING count(*) > 0` + db.SQLFlowAdd + `
)
SELECT url_key FROM stored`

// The rows are locked by the statement above, those that it left as they were too.
const sqlPagesKept = `/* sqlPagesKept */
SELECT url_key, id, revision, crawled_at, doc IS NOT NULL AND doc_revision = revision
FROM pages WHERE url_key = ANY ($1)`

// Store keeps the version of each page that was crawled last, and returns what is kept of each, in the same order. Of
// two versions that were crawled at the same time, the one that came last counts. One that was crawled before its
// address was removed is overtaken, and of no ID where nothing newer is kept. Text that Postgres does not take is
// made fit for it; a page that no column takes is fault.Invalid, and nothing is stored then. It may be repeated.
func (s *Pages) Store(ctx context.Context, pages []search.Incoming, at time.Time) ([]search.Stored, error) {
	if len(pages) == 0 {
		return nil, nil
	}
	keys := make([]uuid.UUID, len(pages))
	last := make(map[uuid.UUID]int, len(pages)) // the index of the newest version of each
	for i, p := range pages {
		keys[i] = db.URLKey(db.Storable(p.URL))
		if before, ok := last[keys[i]]; !ok || !p.CrawledAt.Before(pages[before].CrawledAt) {
			last[keys[i]] = i
		}
	}
	c := newPageColumns(len(last))
	for i, p := range pages {
		if last[keys[i]] == i {
			c.add(keys[i], p)
		}
	}
	wrote := make(map[uuid.UUID]bool, len(last))
	type row struct {
		search.Stored
		crawledAt time.Time
	}
	kept := make(map[uuid.UUID]row, len(last))
	b := new(pgx.Batch)
	b.Queue(sqlPagesStoring)
	b.Queue(sqlPagesStore, append(c.args(), at)...).Query(func(rows pgx.Rows) error {
		var key uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&key}, func() error { wrote[key] = true; return nil })
		return err
	})
	b.Queue(sqlPagesKept, c.keys).Query(func(rows pgx.Rows) error {
		var key uuid.UUID
		var r row
		_, err := pgx.ForEachRow(rows, []any{&key, &r.ID, &r.Revision, &r.crawledAt, &r.Indexed}, func() error {
			kept[key] = r
			return nil
		})
		return err
	})
	if err := db.Write(ctx, s.pool, b); err != nil {
		return nil, fmt.Errorf("store %d pages: %w", len(pages), err)
	}
	out := make([]search.Stored, len(pages))
	for i, key := range keys {
		r, there := kept[key]
		switch {
		case last[key] != i || !there || r.crawledAt.After(pages[i].CrawledAt):
			r.Outcome = search.OutcomeOvertaken
		case wrote[key]:
			r.Outcome = search.OutcomeStored
		default:
			r.Outcome = search.OutcomeUnchanged
		}
		out[i] = r.Stored
	}
	return out, nil
}

// pageColumns are pages by columns.
type pageColumns struct {
	keys                                                       []uuid.UUID
	urls, sites, titles, texts, headings, abouts, langs, types []string
	statuses                                                   []int32
	times                                                      []time.Time
}

func newPageColumns(n int) *pageColumns {
	return &pageColumns{
		keys: make([]uuid.UUID, 0, n), urls: make([]string, 0, n), sites: make([]string, 0, n),
		titles: make([]string, 0, n), texts: make([]string, 0, n), headings: make([]string, 0, n),
		abouts: make([]string, 0, n), langs: make([]string, 0, n), types: make([]string, 0, n),
		statuses: make([]int32, 0, n), times: make([]time.Time, 0, n),
	}
}

func (c *pageColumns) add(key uuid.UUID, p search.Incoming) {
	headings := make([]string, 0, len(p.Headings))
	for _, h := range p.Headings {
		if h = strings.Join(strings.Fields(h), " "); h != "" {
			headings = append(headings, h)
		}
	}
	c.keys, c.urls, c.sites = append(c.keys, key), append(c.urls, db.Storable(p.URL)), append(c.sites, db.Storable(p.Site))
	c.titles, c.texts = append(c.titles, db.Storable(p.Title)), append(c.texts, db.Storable(p.Text))
	c.headings = append(c.headings, db.Storable(strings.Join(headings, "\n")))
	c.abouts, c.langs = append(c.abouts, db.Storable(p.Description)), append(c.langs, db.Storable(p.Language))
	c.types, c.statuses = append(c.types, db.Storable(p.Type)), append(c.statuses, int32(p.StatusCode))
	c.times = append(c.times, p.CrawledAt)
}

// args are the arguments of sqlPagesStore but the last.
func (c *pageColumns) args() []any {
	return []any{c.keys, c.urls, c.sites, c.titles, c.abouts, c.headings, c.texts, c.langs, c.types, c.statuses, c.times}
}

// A KeptPage is a page as it is kept.
type KeptPage struct {
	search.Page
	StatusCode int
	StoredAt   time.Time
	Indexed    bool // the index in Postgres has this version
}

const sqlPageFields = `id, revision, url, site, title, description, headings, language, type, status_code, crawled_at,
    stored_at, coalesce(doc_revision = revision AND doc IS NOT NULL, false)`

func keptPage(row pgx.CollectableRow) (p KeptPage, err error) {
	err = row.Scan(&p.ID, &p.Revision, &p.URL, &p.Site, &p.Title, &p.Description, &p.Headings, &p.Language, &p.Type,
		&p.StatusCode, &p.CrawledAt, &p.StoredAt, &p.Indexed, &p.Text)
	p.CrawledAt, p.StoredAt = p.CrawledAt.UTC(), p.StoredAt.UTC()
	return p, err
}

const sqlPageByID = `/* sqlPageByID */ SELECT ` + sqlPageFields + `, substr(text, 1, $2) FROM pages WHERE id = $1`

// Page returns a page with the first upTo code points of its text (0 = none). One that is not kept is fault.Gone.
func (s *Pages) Page(ctx context.Context, id int64, upTo int) (KeptPage, error) {
	p, err := db.Row(ctx, s.pool, keptPage, sqlPageByID, id, upTo)
	return p, db.Gone(fault.Wrap(err, "read page %d", id), "there is no page %d", id)
}

const sqlPagesCurrent = `/* sqlPagesCurrent */
SELECT ` + sqlPageFields + `, text FROM pages WHERE id = ANY ($1) ORDER BY id`

// Current returns the versions of pages that are kept, by rising ID. Those that are not kept are left out.
func (s *Pages) Current(ctx context.Context, ids []int64) ([]search.Page, error) {
	pages, err := db.Rows(ctx, s.pool, indexable, sqlPagesCurrent, ids)
	return pages, fault.Wrap(err, "read %d pages", len(ids))
}

func indexable(row pgx.CollectableRow) (search.Page, error) {
	p, err := keptPage(row)
	return p.Page, err
}

// The length of a text is known without reading it.
const sqlPagesAfter = `/* sqlPagesAfter */
WITH listed AS (
    SELECT id AS page, sum(octet_length(text)) OVER (ORDER BY id) - octet_length(text) AS before
    FROM (SELECT id, text FROM pages WHERE id > $1 ORDER BY id LIMIT $2) p
)
SELECT ` + sqlPageFields + `, text FROM listed JOIN pages ON id = page WHERE before < $3 ORDER BY id`

// maxPagesBytes bounds the text that After returns, its last page apart.
const maxPagesBytes = 16 << 20

// After returns at most n pages with IDs above one, by rising ID: fewer where their texts are large, and none only
// where there are no more.
func (s *Pages) After(ctx context.Context, id int64, n int) ([]search.Page, error) {
	pages, err := db.Rows(ctx, s.pool, indexable, sqlPagesAfter, id, n, maxPagesBytes)
	return pages, fault.Wrap(err, "read pages after %d", id)
}

// PagesWhere says which pages are meant: the one at a URL in canonical form, or those of a site and its subdomains.
// Exactly one of the two is set.
type PagesWhere struct{ URL, Site string }

// Subdomains of example.org are those that reversed begin with "gro.elpmaxe.", and "/" comes after ".".
const sqlPagesOf = `(reverse(site) COLLATE "C" = reverse($1) OR
    reverse(site) COLLATE "C" > reverse($1) || '.' AND reverse(site) COLLATE "C" < reverse($1) || '/')`

const (
	sqlPageAtURL    = `/* sqlPageAtURL */ SELECT id FROM pages WHERE url_key = $1`
	sqlPagesOfSite  = `/* sqlPagesOfSite */ SELECT id FROM pages WHERE ` + sqlPagesOf + ` ORDER BY id LIMIT $2`
	sqlPagesCountOf = `/* sqlPagesCountOf */ SELECT count(*) FROM pages WHERE ` + sqlPagesOf
	sqlPagesHeld    = `/* sqlPagesHeld */
SELECT id, coalesce(doc, 0) FROM pages WHERE id = ANY ($1) ORDER BY url_key FOR UPDATE`
)

// Find returns the IDs of at most most pages.
func (s *Pages) Find(ctx context.Context, which PagesWhere, most int) ([]int64, error) {
	ids, err := findPages(ctx, s.pool, which, most)
	return ids, fault.Wrap(err, "find pages")
}

func findPages(ctx context.Context, pool *pgxpool.Pool, which PagesWhere, most int) ([]int64, error) {
	var rows pgx.Rows
	if which.URL != "" {
		rows, _ = pool.Query(ctx, sqlPageAtURL, db.URLKey(db.Storable(which.URL)))
	} else {
		rows, _ = pool.Query(ctx, sqlPagesOfSite, db.Storable(which.Site), most)
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Count returns how many pages there are of those that are meant.
func (s *Pages) Count(ctx context.Context, which PagesWhere) (n int, err error) {
	if which.URL != "" {
		ids, err := s.Find(ctx, which, 1)
		return len(ids), err
	}
	err = s.pool.QueryRow(ctx, sqlPagesCountOf, db.Storable(which.Site)).Scan(&n)
	return n, fault.Wrap(err, "count pages")
}

// Delete deletes at most most pages, from the index in Postgres too, and returns how many it deleted: none only when
// there are no more. remove has them removed from all other engines (nil = there is none) while their rows are locked,
// before they are gone: so a page is never findable that is not kept, whatever fails, and what is indexed meanwhile is
// removed here or found by Gone. It may be repeated.
func (s *Pages) Delete(
	ctx context.Context, which PagesWhere, most int, remove func(ctx context.Context, ids []int64) error,
) (n int, err error) {
	for n == 0 {
		ids, err := s.Find(ctx, which, most)
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
			held, docs, err := holdPages(ctx, tx, ids)
			if err != nil || len(held) == 0 { // others have deleted them
				return err
			}
			n = len(held)
			return deleteHeld(ctx, tx, held, docs, remove)
		})
		if err != nil {
			return 0, fmt.Errorf("delete %d pages: %w", len(ids), err)
		}
	}
	return n, nil
}

// One that is being deleted is waited for.
const sqlPagesThere = `/* sqlPagesThere */ SELECT id FROM pages WHERE id = ANY ($1) ORDER BY url_key FOR KEY SHARE`

// Gone returns which pages are not kept, those that are being deleted too. IDs never come back.
func (s *Pages) Gone(ctx context.Context, ids []int64) (gone []int64, err error) {
	there, err := db.Rows(ctx, s.pool, pgx.RowTo[int64], sqlPagesThere, ids)
	if err != nil {
		return nil, fmt.Errorf("look for %d pages: %w", len(ids), err)
	}
	kept := make(map[int64]bool, len(there))
	for _, id := range there {
		kept[id] = true
	}
	for _, id := range ids {
		if !kept[id] {
			gone = append(gone, id)
		}
	}
	return gone, nil
}

// Callers of Store hold the lock together and those of Remove alone, each while it writes: a version that a Store has
// written without seeing a removal is committed before that is, and so found by what deletes older versions.
const (
	sqlPagesStoring  = `/* sqlPagesStoring */ SELECT pg_advisory_xact_lock_shared(hashtext('conveyor pages removed'))`
	sqlPagesRemoving = `/* sqlPagesRemoving */ SELECT pg_advisory_xact_lock(hashtext('conveyor pages removed'))`
)

const sqlPagesRemoved = `/* sqlPagesRemoved */
INSERT INTO page_removals AS x (url_key, removed_at, stored_at)
SELECT key, max(at), $3 FROM unnest($1::uuid[], $2::timestamptz[]) AS r(key, at) GROUP BY key ORDER BY key
ON CONFLICT (url_key) DO UPDATE SET removed_at = excluded.removed_at, stored_at = excluded.stored_at
WHERE x.removed_at < excluded.removed_at`

const sqlPagesOutdated = `/* sqlPagesOutdated */
SELECT p.id FROM page_removals x JOIN pages p ON p.url_key = x.url_key
WHERE x.url_key = ANY ($1) AND p.crawled_at <= x.removed_at`

// A page that is stored anew meanwhile stays: its row is looked at again under its lock.
const sqlPagesOutdatedHeld = `/* sqlPagesOutdatedHeld */
SELECT p.id, coalesce(p.doc, 0) FROM pages p
WHERE p.id = ANY ($1) AND p.crawled_at <= (SELECT x.removed_at FROM page_removals x WHERE x.url_key = p.url_key)
ORDER BY p.url_key FOR UPDATE OF p`

// Remove notes that the pages were gone when they were crawled, and deletes the versions of them from before, from the
// index in Postgres too. Versions that were crawled until then do not come back. It returns how many pages it deleted.
// As with Delete, remove has them removed from all other engines. It may be repeated.
func (s *Pages) Remove(
	ctx context.Context, pages []search.Incoming, at time.Time, remove func(ctx context.Context, ids []int64) error,
) (n int, err error) {
	keys, times := make([]uuid.UUID, len(pages)), make([]time.Time, len(pages))
	for i, p := range pages {
		keys[i], times[i] = db.URLKey(db.Storable(p.URL)), p.CrawledAt
	}
	b := new(pgx.Batch)
	b.Queue(sqlPagesRemoving)
	b.Queue(sqlPagesRemoved, keys, times, at)
	if err := db.Write(ctx, s.pool, b); err != nil {
		return 0, fmt.Errorf("note that %d pages are gone: %w", len(pages), err)
	}
	ids, err := db.Rows(ctx, s.pool, pgx.RowTo[int64], sqlPagesOutdated, keys)
	if err == nil && len(ids) > 0 {
		err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
			held, docs, err := holdPagesBy(ctx, tx, sqlPagesOutdatedHeld, ids)
			if err != nil || len(held) == 0 {
				return err
			}
			n = len(held)
			return deleteHeld(ctx, tx, held, docs, remove)
		})
	}
	return n, fault.Wrap(err, "delete pages that are gone")
}

// Pages that are deleted are noted as removed before all times: a conditional crawl asks for such a page whole until it
// is back, and no version is kept out of the search.
const sqlPagesDelete = `/* sqlPagesDelete */
WITH gone AS (
    DELETE FROM pages WHERE id = ANY ($1) RETURNING url_key
)
INSERT INTO page_removals AS x (url_key, removed_at, stored_at)
SELECT url_key, '-infinity', now() FROM gone ORDER BY url_key
ON CONFLICT (url_key) DO UPDATE SET stored_at = greatest(x.stored_at, excluded.stored_at)`

// deleteHeld deletes pages that are locked: see Delete.
func deleteHeld(
	ctx context.Context, tx pgx.Tx, ids, docs []int64, remove func(ctx context.Context, ids []int64) error,
) error {
	if _, err := tx.Exec(ctx, sqlPagesDelete, ids); err != nil {
		return err
	}
	if err := addKills(ctx, tx, collectionPages, docs); err != nil || remove == nil {
		return err
	}
	return remove(ctx, ids)
}

// holdPages locks pages and returns those that there are, and the numbers of those that are in the index.
func holdPages(ctx context.Context, tx pgx.Tx, ids []int64) (held, docs []int64, err error) {
	return holdPagesBy(ctx, tx, sqlPagesHeld, ids)
}

func holdPagesBy(ctx context.Context, tx pgx.Tx, sql string, ids []int64) (held, docs []int64, err error) {
	rows, _ := tx.Query(ctx, sql, ids)
	var id, doc int64
	_, err = pgx.ForEachRow(rows, []any{&id, &doc}, func() error {
		held = append(held, id)
		if doc > 0 {
			docs = append(docs, doc)
		}
		return nil
	})
	return held, docs, err
}

const sqlPagesCounts = `/* sqlPagesCounts */
SELECT (SELECT count(*) FROM pages), (SELECT count(*) FROM page_inbox WHERE error IS NULL),
    (SELECT count(*) FROM page_inbox WHERE error IS NOT NULL)`

// PageCounts say how many pages and messages there are.
type PageCounts struct {
	Pages   int // kept
	Waiting int // messages that are being stored
	Refused int // messages that can never be stored and were not swept yet
}

// Counts counts pages and messages.
func (s *Pages) Counts(ctx context.Context) (c PageCounts, err error) {
	err = s.pool.QueryRow(ctx, sqlPagesCounts).Scan(&c.Pages, &c.Waiting, &c.Refused)
	return c, fault.Wrap(err, "count pages")
}
