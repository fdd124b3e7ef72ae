package bridge

import (
	"context"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"

	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Search is the queue of crawled pages.
type Search struct {
	Ours      bool // consume it; false leaves it to another indexer
	Most      int  // most messages that it keeps while it is not ours; 0 keeps all
	Store     *dbsearch.Pages
	Launch    PageStarter
	Prefetch  int    // most messages of a batch, 1 or more
	Consumers int    // batches at once in a bridge, 1 or more
	TaskQueue string // whose workers store pages
}

// PageStarter stores batches of crawled pages.
type PageStarter interface {
	// SearchServed returns nil while a worker stores pages, and an error when none has asked for work lately.
	SearchServed(ctx context.Context) error
	// IndexPages returns when the messages of keys are stored and findable, or refused. hosts are those of the pages.
	IndexPages(ctx context.Context, keys []uuid.UUID, hosts []string) (launch.Indexed, error)
	// CompactIndex begins to merge parts of the index, unless that is being done.
	CompactIndex(ctx context.Context) error
}

// Queues returns the row of the queue. It is on the default exchange, so the exchange of its dead letters has a name of
// its own; its messages may be larger than those of other queues. They stay there while no worker stores pages.
func (s *Search) Queues() []Queue {
	q := Queue{
		Name: contract.QueueCrawler, Key: contract.QueueCrawler, DLX: contract.ExchangeCrawlerDLX,
		DLXKind: amqp.ExchangeDirect, MaxBody: contract.MaxCrawledPage, Prefetch: 1, Consumers: 1, Most: s.Most,
	}
	if s.Ours {
		q.Prefetch, q.Consumers, q.Handle = s.Prefetch, s.Consumers, together(s.crawled)
		q.TaskQueue = s.TaskQueue
		q.Ready = func(ctx context.Context) error { return s.Launch.SearchServed(ctx) }
		q.Waits = true // and the next consumer of the same messages joins the workflow that is running
	}
	return []Queue{q}
}

// crawled stores the pages that wait, and returns when they are findable. A message that can never be read is refused
// at once, and one that can never be stored by its workflow; neither holds the others up.
func (s *Search) crawled(ctx context.Context, from source, batch []amqp.Delivery) []error {
	began := time.Now()
	errs := make([]error, len(batch))
	var (
		bodies [][]byte
		hosts  []string
		at     []int // where in batch
	)
	for i, d := range batch {
		m, err := page(from, d)
		if err != nil {
			errs[i] = from.message(ctx, d, func(context.Context) error { return err })
			continue
		}
		bodies, hosts, at = append(bodies, d.Body), append(hosts, web.Host(m.URL)), append(at, i)
	}
	if len(at) == 0 {
		return errs
	}
	keys, err := s.Store.Inbox(ctx, bodies, from.now())
	var done launch.Indexed
	if err == nil {
		done, err = s.Launch.IndexPages(ctx, keys, hosts)
	}
	if err != nil {
		for _, i := range at {
			errs[i] = fault.Newf(fault.Transient, "%w", err) // of ours; it says nothing of the messages
		}
		return errs
	}
	for k, i := range at {
		if reason, refused := done.Refused[keys[k]]; refused {
			errs[i] = from.message(ctx, batch[i], func(context.Context) error {
				return &launch.Failed{WorkflowID: done.WorkflowID, RunID: done.RunID, Err: fault.Newf(fault.Invalid, "%s", reason)}
			})
			continue
		}
		from.metrics.findable(findable(batch[i], began, from.now()))
	}
	if done.Full {
		if err := s.Launch.CompactIndex(ctx); err != nil { // the next batch asks again
			from.log.WarnContext(ctx, "merging the index could not be started", "err", err)
		}
	}
	return errs
}

// page reads a message. Every error is fault.Invalid.
func page(from source, d amqp.Delivery) (contract.CrawledPage, error) {
	m, err := contract.Decode[contract.CrawledPage](d.Body, from.MaxBody)
	if err == nil { // it would be the newest version of its page for as long as the sender's clock is wrong by
		err = future("metadata.timestamp", m.Metadata.Timestamp, from.now())
	}
	if err != nil {
		return m, &fault.Error{Class: fault.Invalid, Err: err}
	}
	return m, nil
}

// findable is how long a message took from its publication until now, to within a second: AMQP's timestamps are whole
// ones. Without a timestamp it is the time since its batch began.
func findable(d amqp.Delivery, began, now time.Time) time.Duration {
	took := time.Since(began)
	if !d.Timestamp.IsZero() {
		took = max(took, now.Sub(d.Timestamp)-time.Second)
	}
	return took
}
