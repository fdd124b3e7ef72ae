// Package drafts keeps the drafts of products, the requests for them and the secrets that those bring.
package drafts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// Drafts are the product drafts, and the requests for them.
type Drafts struct {
	pool  *pgxpool.Pool
	added db.Waker // to the outbox
}

// NewDrafts returns the drafts kept in pool.
func NewDrafts(pool *pgxpool.Pool) *Drafts { return &Drafts{pool, db.NewWaker(pool)} }

const sqlDraftPersist = `/* sqlDraftPersist */
INSERT INTO product_drafts AS d (id, event_id, url, host, final_url, out_dir, outcome, class, error, http_status, name,
    brand, price, currency, availability, sku, gtin, mpn, document, files, crawled_at, took_ms, created_at, updated_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, nullif($10, 0), $11, $12, $13::text::numeric, $14, $15, $16, $17, $18, $19,
    $20, $21, $22, $23, $23
WHERE NOT EXISTS (SELECT FROM draft_cancels WHERE event_id = $2)
ON CONFLICT (event_id) DO UPDATE SET
    url = excluded.url, host = excluded.host, final_url = excluded.final_url, out_dir = excluded.out_dir,
    outcome = excluded.outcome, class = excluded.class, error = excluded.error, http_status = excluded.http_status,
    name = excluded.name, brand = excluded.brand, price = excluded.price, currency = excluded.currency,
    availability = excluded.availability, sku = excluded.sku, gtin = excluded.gtin, mpn = excluded.mpn,
    document = excluded.document, files = excluded.files, crawled_at = excluded.crawled_at, took_ms = excluded.took_ms,
    updated_at = excluded.updated_at
WHERE d.crawled_at <= excluded.crawled_at`

// Its dead letters are those of its workflow, and of a message that got none. That neither is empty makes the partial
// indexes fit for a generic plan too.
const sqlDraftResolve = `/* sqlDraftResolve */
UPDATE dead_letters SET state = 'resolved'
WHERE (workflow_id = $1 AND workflow_id <> '' OR message_id = $2 AND message_id <> '' AND workflow_id = '')
    AND state IN ('open', 'replayed')`

// After the draft is stored: the result of a crawl that was canceled, or is older than the stored one, says nothing.
const sqlDraftTell = `/* sqlDraftTell */
INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
SELECT $1, $2, $3, $4, $5, $6 WHERE EXISTS (SELECT FROM product_drafts WHERE event_id = $7 AND crawled_at <= $8)
ON CONFLICT (message_id) DO NOTHING`

// PersistDraft stores the result of a crawl under its event's ID, in place of an earlier result, resolves its dead
// letters, deletes its secrets, and tells of it once by the event drafts.completed. The result of a crawl that began
// earlier than the stored one changes nothing. Of a request that was canceled nothing is stored: fault.Conflict. d is
// nil where there was no page.
func (s *Drafts) PersistDraft(ctx context.Context, r draft.Result, d *draft.Document, now time.Time) error {
	var finalURL *string
	var document []byte
	var product draft.Draft
	if d != nil {
		finalURL, product = db.Stated(db.Storable(d.FinalURL)), d.Draft
		var err error
		if document, err = json.Marshal(d); err != nil {
			return fmt.Errorf("write draft of %s: %w", r.EventID, err)
		}
		// JSON spells NUL, which Postgres does not store.
		document = []byte(strings.ReplaceAll(string(document), `\u0000`, `\ufffd`))
	}
	files, err := json.Marshal(append([]draft.File{}, r.Files...))
	if err != nil {
		return fmt.Errorf("write files of %s: %w", r.EventID, err)
	}
	m, err := draftEvent(r, finalURL, product, now)
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	b.Queue(sqlDraftTurn, draft.WorkflowID(r.EventID))
	b.Queue(sqlDraftPersist, draft.ID(r.EventID), r.EventID, db.Storable(r.URL), web.Host(r.URL), finalURL, r.OutDir,
		r.Outcome, string(r.Class), db.Storable(r.Error), r.Status, draftValue(product.Name), draftValue(product.Brand),
		draftValue(product.Price), draftValue(product.Currency), draftValue(product.Availability),
		draftValue(product.SKU), draftValue(product.GTIN), draftValue(product.MPN), document, files, r.CrawledAt,
		r.TookMS, now)
	b.Queue(sqlDraftResolve, draft.WorkflowID(r.EventID), r.EventID.String())
	b.Queue(sqlDraftSecretsDelete, r.EventID)
	b.Queue(sqlDraftTell, m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Body, m.CreatedAt, r.EventID, r.CrawledAt)
	var canceled bool
	b.Queue(sqlDraftCanceled, r.EventID).QueryRow(func(row pgx.Row) error { return row.Scan(&canceled) })
	if err := db.Write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("store draft of %s: %w", r.EventID, err)
	}
	if canceled {
		return fault.Newf(fault.Conflict, "store draft of %s: the request was canceled", r.EventID)
	}
	s.added.Wake(ctx)
	return nil
}

// draftEvent is drafts.completed of a result. Its ID is made of the request and of when its page was crawled: stored
// twice it is one event, and a draft that is made anew is another.
func draftEvent(r draft.Result, finalURL *string, d draft.Draft, now time.Time) (db.Message, error) {
	said := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	id := uuid.NewSHA1(draft.ID(r.EventID), []byte(contract.DraftCompleted+r.CrawledAt.UTC().Format(time.RFC3339Nano)))
	data := contract.DraftData{
		RequestID: r.EventID.String(), DraftID: draft.ID(r.EventID).String(), URL: db.Storable(r.URL),
		FinalURL: said(finalURL), Outcome: r.Outcome, Class: string(r.Class), Error: db.Storable(r.Error), Status: r.Status,
		Name: said(draftValue(d.Name)), Brand: said(draftValue(d.Brand)), Price: said(draftValue(d.Price)),
		PriceTo:  said(draftValue(d.PriceTo)),
		Currency: said(draftValue(d.Currency)), Availability: said(draftValue(d.Availability)),
		SKU: said(draftValue(d.SKU)), GTIN: said(draftValue(d.GTIN)), MPN: said(draftValue(d.MPN)),
		CrawledAt: r.CrawledAt.UTC(),
	}
	return db.OutboxEnvelope(contract.Event{EventID: id.String(), EventName: contract.DraftCompleted, TS: now.UTC()}, id,
		draftEventLane, data)
}

// draftValue is the value that was found, and NULL where none was.
func draftValue[T ~string](f *draft.Found[T]) *string {
	if f == nil {
		return nil
	}
	return db.Stated(db.Storable(string(f.Value)))
}

const sqlDraftRequestAdd = `/* sqlDraftRequestAdd */
INSERT INTO draft_requests (event_id, url, out_dir, locale, sealed, requested_by, requested_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (event_id) DO NOTHING`

const sqlDraftRequestGet = `/* sqlDraftRequestGet */
SELECT url, out_dir, locale, sealed FROM draft_requests WHERE event_id = $1`

// Target is where a message is published to.
type Target struct{ Exchange, RoutingKey string }

// RequestDraft stores a request, its audit entry, its message, which the relay publishes, and where r.Sealed its
// secrets, which are not in the message. A repeated request is stored and published once, with its first secrets; a
// different one with the same event ID is fault.Conflict.
func (s *Drafts) RequestDraft(ctx context.Context, r draft.Request, secrets db.Sealed, by string, to Target,
	now time.Time) error {
	at := now.UTC()
	body, err := json.Marshal(contract.CrawlRequested{
		EventName: contract.CrawlRequestedName, EventID: r.EventID.String(), TS: &at,
		Data: contract.CrawlRequest{URL: r.URL, OutDir: r.OutDir, Locale: r.Locale, Sealed: r.Sealed},
	})
	if err != nil {
		return fmt.Errorf("write crawl request %s: %w", r.EventID, err)
	}
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlDraftRequestAdd, r.EventID, r.URL, r.OutDir, r.Locale, r.Sealed, by, now)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			had := draft.Request{EventID: r.EventID}
			err := tx.QueryRow(ctx, sqlDraftRequestGet, r.EventID).Scan(&had.URL, &had.OutDir, &had.Locale, &had.Sealed)
			if err != nil {
				return err
			}
			if had != r {
				return fault.Newf(fault.Conflict, "event_id: %s was requested before with another url, out_dir or locale, or "+
					"without headers and cookies where this has some, or with some where this has none", r.EventID)
			}
			return nil
		}
		b := new(pgx.Batch)
		if r.Sealed {
			b.Queue(sqlDraftTurn, draft.WorkflowID(r.EventID))
			b.Queue(sqlDraftSecretsAdd, r.EventID, secrets.Key, secrets.Box, now)
		}
		db.OutboxAdd(b, db.Message{
			MessageID: r.EventID, Lane: draftLane, Exchange: to.Exchange, RoutingKey: to.RoutingKey,
			Type: contract.CrawlRequestedName, Body: body, CreatedAt: now,
		})
		db.AuditAdd(ctx, b, db.AuditEntry{
			At: now, Actor: by, Action: "crawl_request.created", Subject: "crawl-request/" + r.EventID.String(),
		})
		db.RememberTrace(ctx, b)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("store crawl request: %w", db.Refused(err))
	}
	s.added.Wake(ctx)
	return nil
}

// The lanes of drafts in the outbox: of requests for them, and of events.
const (
	draftLane      = "drafts"
	draftEventLane = "drafts.events"
)
