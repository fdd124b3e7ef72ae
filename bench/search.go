package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// A Filled is an index that the generated pages were put into.
type Filled struct {
	Engine    string             `json:"engine"`
	Pages     int                `json:"pages"`
	Seconds   float64            `json:"seconds"`
	PerSecond float64            `json:"per_second"`
	TextBytes float64            `json:"text_bytes_each"`
	Bytes     float64            `json:"index_bytes_each"`
	Parts     map[string]float64 `json:"bytes_each_by_part"`
}

// A Found is how long queries of one kind take.
type Found struct {
	Engine  string             `json:"engine"`
	Query   string             `json:"query"`
	Times   int                `json:"times"`
	Millis  map[string]float64 `json:"ms"`
	Most    float64            `json:"most_ms"`
	Answers float64            `json:"answers_each"` // that were counted; 0 where none are
	Failed  int                `json:"failed"`
	CPU     map[string]float64 `json:"cpu_ms_each_by_group,omitempty"` // the bench is what searches, but for HTTP
}

// A Stored is how messages of crawler_queue become findable.
type Stored struct {
	How       string             `json:"how"`
	Messages  int                `json:"messages"`
	PerSecond float64            `json:"per_second"`
	Millis    map[string]float64 `json:"publish_to_findable_ms,omitempty"`
	CPU       map[string]float64 `json:"cpu_ms_each_by_group"`
}

// searching is the search scenarios' part of a run.
type searching struct {
	*system
	maker  *pageMaker
	n      int // pages
	pages  *dbsearch.Pages
	index  *dbsearch.SearchIndex
	report *Report
	next   int // number of the next page that no scenario had
}

// searches are the scenarios of the search, in this order: all of them need the pages of the first.
func (h *system) searches(ctx context.Context, n int, report *Report) []scenario {
	s := &searching{
		system: h, maker: newPageMaker(), n: n, report: report,
		pages: dbsearch.NewPages(h.db), index: dbsearch.NewSearchIndex(h.db),
		next: n,
	}
	run := func(f func(context.Context) error) func() error { return func() error { return f(ctx) } }
	return []scenario{
		{"search: fill", run(s.fillPages)},
		{"search: queries", run(s.queries)},
		{"search: hostile queries", run(s.hostile)},
		{"search: crawler_queue, one a time", run(s.single)},
		{"search: crawler_queue, a backlog", run(s.backlog)},
		{"search: " + tsRank, run(s.tsRank)},
		{"search: " + bleveName, run(s.bleve)},
	}
}

// The batches of a fill, two at a time as the bridge has two consumers.
const (
	fillBatch = 300
	fillers   = 2
)

// fillPages stores and indexes the pages as the activity does, and merges segments beside.
func (s *searching) fillPages(ctx context.Context) error {
	began := time.Now()
	text, err := s.eachBatch(ctx, s.n, fillBatch, fillers, func(ctx context.Context, docs []search.Document) error {
		incoming := make([]search.Incoming, len(docs))
		for i, d := range docs {
			incoming[i] = search.Incoming{Document: d, StatusCode: 200}
		}
		stored, err := s.pages.Store(ctx, incoming, time.Now())
		if err != nil {
			return err
		}
		pages := make([]search.Page, len(docs))
		for i, d := range docs {
			pages[i] = search.Page{ID: stored[i].ID, Revision: stored[i].Revision, Document: d}
		}
		if err := s.index.Index(ctx, pages); err != nil {
			return err
		}
		return s.compact(ctx)
	})
	if err != nil {
		return err
	}
	f := Filled{Engine: "conveyor", Pages: s.n, Seconds: time.Since(began).Seconds(), TextBytes: text / float64(s.n)}
	if _, err := s.db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	f.Parts = map[string]float64{}
	for _, table := range []string{"pages", "search_segments", "search_postings", "search_terms"} {
		if f.Parts[table], err = s.size(ctx, table); err != nil {
			return err
		}
		if table != "pages" {
			f.Bytes += f.Parts[table]
		}
	}
	s.filled(f)
	return nil
}

func (s *searching) filled(f Filled) {
	f.PerSecond = float64(f.Pages) / f.Seconds
	s.report.Filled = append(s.report.Filled, f)
}

// compact merges until no level of the index is full.
func (s *searching) compact(ctx context.Context) error {
	more, err := s.index.Full(ctx)
	for more && err == nil {
		more, err = s.index.Compact(ctx)
	}
	return err
}

// eachBatch makes n pages and gives them to f in batches, some at a time. It returns the bytes of their text.
func (s *searching) eachBatch(
	ctx context.Context, n, size, together int, f func(context.Context, []search.Document) error,
) (text float64, err error) {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(together)
	for from := 0; from < n && ctx.Err() == nil; from += size {
		docs := make([]search.Document, min(size, n-from))
		for i := range docs {
			docs[i] = s.maker.page(from + i)
			text += float64(len(docs[i].Text))
		}
		work.Go(func() error { return f(ctx, docs) })
	}
	return text, work.Wait()
}

// size is the bytes of a table with its indexes, a page.
func (s *searching) size(ctx context.Context, table string) (float64, error) {
	var bytes int64
	err := s.db.QueryRow(ctx, "SELECT pg_total_relation_size($1::text::regclass)", table).Scan(&bytes)
	return float64(bytes) / float64(s.n), err
}

// measure asks n queries of a kind, after a few that do not count.
func (s *searching) measure(
	engine string, q pageQuery, n int, ask func(text string) (answers int, err error),
) error {
	r := rand.New(rand.NewPCG(5, uint64(len(q.name)))) //nolint:gosec // the same for each engine
	f := Found{Engine: engine, Query: q.name, Times: n}
	var took []time.Duration
	var before map[string]time.Duration
	var own time.Duration
	for i := range n + 3 {
		if i == 3 {
			before, own = processes(), cpuTime()
		}
		text := q.text(r)
		began := time.Now()
		answers, err := ask(text)
		switch {
		case err != nil:
			return fmt.Errorf("%s, %s: %q: %w", engine, q.name, text, err)
		case i >= 3:
			took = append(took, time.Since(began))
			f.Answers += float64(answers) / float64(n)
		}
	}
	spent := cpuTime() - own
	f.CPU = cost(before, float64(n)/1000)
	f.CPU["the bench"] = spent.Seconds() * 1000 / float64(n)
	f.Millis, f.Most = percentiles(took), float64(slices.Max(took).Microseconds())/1000
	s.report.Found = append(s.report.Found, f)
	return nil
}

// queries asks each kind of query, in process and for some kinds over HTTP.
func (s *searching) queries(ctx context.Context) error {
	for _, q := range pageQueries {
		err := s.measure("conveyor", q, 60, func(text string) (int, error) {
			r, err := s.index.Search(ctx, search.Query{Text: text, Limit: 10, Facets: q.facets})
			return r.Total, err
		})
		if err != nil {
			return err
		}
	}
	for _, q := range pageQueries {
		if q.name != "two common words" && q.name != "five common words, facets" {
			continue
		}
		err := s.measure("conveyor, GET /search", q, 60, func(text string) (int, error) {
			body, err := ask(ctx, http.MethodGet,
				s.api+"/search?limit=10&facets="+fmt.Sprint(q.facets)+"&q="+url.QueryEscape(text), "")
			var answer struct {
				Total int `json:"total"`
			}
			return answer.Total, errors.Join(err, json.Unmarshal(body, &answer))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hostile asks each hostile query three times. One that is refused as invalid is answered.
func (s *searching) hostile(ctx context.Context) error {
	f := Found{Engine: "conveyor", Query: "hostile", Times: 0}
	var took []time.Duration
	for range 3 {
		for _, text := range hostile() {
			began := time.Now()
			_, err := s.index.Search(ctx, search.Query{Text: text, Limit: 10, Facets: true})
			if class, _ := fault.Of(err); err != nil && class != fault.Invalid {
				return fmt.Errorf("%.40q: %w", text, err)
			}
			took = append(took, time.Since(began))
		}
	}
	f.Times, f.Millis, f.Most = len(took), percentiles(took), float64(slices.Max(took).Microseconds())/1000
	s.report.Found = append(s.report.Found, f)
	return nil
}

// message is the message of a page, and the page's address.
func (s *searching) message(i int) (body []byte, address string, err error) {
	d := s.maker.page(i)
	text := strings.ToLower(d.Text)
	body, err = json.Marshal(contract.CrawledPage{URL: d.URL, Text: &text, Metadata: contract.CrawledMetadata{
		Title: d.Title, Description: d.Description, Timestamp: d.CrawledAt, StatusCode: http.StatusOK,
		Language: d.Language, Headings: d.Headings,
	}})
	return body, d.URL, err
}

// send publishes one message with a confirm.
func send(ctx context.Context, ch *amqp.Channel, body []byte) (*amqp.DeferredConfirmation, error) {
	return ch.PublishWithDeferredConfirmWithContext(ctx, "", contract.QueueCrawler, true, false, amqp.Publishing{
		DeliveryMode: amqp.Persistent, ContentType: "application/json", MessageId: uuid.NewString(), Body: body,
	})
}

// single publishes messages while the system is idle, each when the one before it is findable.
func (s *searching) single(ctx context.Context) error {
	const n = 60
	ch, err := s.channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	var took []time.Duration
	before := processes()
	for range n {
		body, address, err := s.message(s.next)
		if err != nil {
			return err
		}
		s.next++
		began := time.Now()
		if _, err := send(ctx, ch, body); err != nil {
			return err
		}
		for findable := 0; findable == 0; {
			if findable, err = s.findable(ctx, byAddress, address); err != nil {
				return err
			}
		}
		took = append(took, time.Since(began))
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	s.stored(Stored{How: "one at a time", Messages: n, Millis: percentiles(took)}, before)
	return nil
}

// backlog publishes messages as fast as the broker takes them, and waits until all are findable.
func (s *searching) backlog(ctx context.Context) error {
	n := min(10_000, s.n)
	ch, err := s.channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	var highest int64
	if err := s.db.QueryRow(ctx, "SELECT coalesce(max(id), 0) FROM pages").Scan(&highest); err != nil {
		return err
	}
	bodies := make([][]byte, n)
	for i := range bodies {
		if bodies[i], _, err = s.message(s.next); err != nil {
			return err
		}
		s.next++
	}
	before, began := processes(), time.Now()
	var pending []*amqp.DeferredConfirmation
	for _, body := range bodies {
		c, err := send(ctx, ch, body)
		if err != nil {
			return err
		}
		if pending = append(pending, c); len(pending) == 500 {
			for _, c := range pending {
				if ok, err := c.WaitContext(ctx); err != nil || !ok {
					return errors.Join(errors.New("a message was not confirmed"), err)
				}
			}
			pending = nil
		}
	}
	for left := n; left > 0; {
		findable, err := s.findable(ctx, "id > $1", highest)
		if err != nil {
			return err
		}
		if left = n - findable; left <= 0 {
			break
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d pages are not findable: %w", left, n, err)
		}
	}
	s.stored(Stored{How: "a backlog", Messages: n, PerSecond: float64(n) / time.Since(began).Seconds()}, before)
	return nil
}

// byAddress finds a page by its index: looking at all pages would be most of what a message takes.
const byAddress = "url_key = left(encode(sha256(convert_to($1, 'UTF8')), 'hex'), 32)::uuid"

// findable counts the pages that are in the index. The condition has one argument.
func (s *searching) findable(ctx context.Context, condition string, arg any) (n int, err error) {
	err = s.db.QueryRow(ctx, "SELECT count(*) FROM pages WHERE doc_revision = revision AND "+condition, arg).Scan(&n)
	return n, err
}

func (s *searching) stored(r Stored, before map[string]time.Duration) {
	r.CPU = cost(before, float64(r.Messages)/1000)
	s.report.Stored = append(s.report.Stored, r)
}

// channel is one with confirms.
func (h *system) channel() (*amqp.Channel, error) {
	ch, err := h.broker.Channel()
	if err != nil {
		return nil, err
	}
	return ch, ch.Confirm(false)
}

// sortFound puts the engines of one kind of query beside each other.
func sortFound(all []Found) []Found {
	rank := map[string]int{"hostile": len(pageQueries)}
	for i, q := range pageQueries {
		rank[q.name] = i
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b Found) int { return cmp.Compare(rank[a.Query], rank[b.Query]) })
	return out
}
