package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Events serves /events: one stream of what has changed, for all that a browser shows.
type Events struct {
	Store  *db.Marks
	Report func(context.Context) backlog.Report // as for Queues; nil = the topic report has no events

	Every     time.Duration // between two looks at the database; default 1 s
	Heartbeat time.Duration // without an event; default 15 s
	Again     time.Duration // between two checks of the caller's credentials; default 5 s
}

const (
	streamFor   = 15 * time.Minute // then the browser comes back
	mostStreams = 500              // in this process
	ownStreams  = 50               // of one caller: an API key may be that of many browsers
	mostTopics  = 20
)

// heartbeat is an event and no comment: of comments a page is not told, and a connection whose other end has gone looks
// open to it for hours. It has no ID, so a reader goes on where it was.
const heartbeat = "event: beat\ndata: {}\n\n"

// topicForm is a topic.
var topicForm = regexp.MustCompile(`^(report|flow|feed|letters|replays|platforms|drafts|run:[1-9][0-9]{0,17}|` +
	`(upload|campaign):[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// Register serves a gin route: the streams of huma cannot have deadlines of their own.
func (h Events) Register(d *Door) {
	h.Every, h.Heartbeat = orElse(h.Every, time.Second), orElse(h.Heartbeat, HeartbeatAfter)
	h.Again = orElse(h.Again, keysFresh)
	o := Needs(access.Read, huma.Operation{
		OperationID: "watch-events", Method: http.MethodGet, Path: "/events", Tags: []string{"operations"},
		Summary: "Watch what changes, as server-sent events", Errors: []int{422},
		Metadata: map[string]any{TimeoutKey: streamFor},
		Description: "An event is named by its topic and says that it has changed, once a second at most; that of report " +
			"has its numbers. The event resync says that something may have been missed: read all anew. The event beat, " +
			"every 15 seconds, says that the stream lives. It ends after 15 minutes and with the caller's credentials; with " +
			"Last-Event-ID it goes on where it was.",
		Parameters: []*huma.Param{
			{
				Name: "topics", In: "query", Required: true, Example: "report,feed,run:12",
				Description: "separated by commas: report (GET /queues), flow, feed (GET /listings/recent), letters, replays, " +
					"platforms, drafts, run:NUMBER (of a crawl), upload:ID, campaign:ID; at most 20",
				Schema: &huma.Schema{Type: huma.TypeString},
			},
			{Name: "Last-Event-ID", In: "header", Schema: &huma.Schema{Type: huma.TypeString}},
		},
		Responses: map[string]*huma.Response{
			"200": {Description: "The events", Content: map[string]*huma.MediaType{"text/event-stream": {}}},
		},
	})
	for _, status := range o.Errors { // huma adds them to the operations that it serves
		o.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: map[string]*huma.MediaType{"application/problem+json": {
				Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"},
			}},
		}
	}
	d.API.OpenAPI().AddOperation(&o)
	hub, turns := newHub(h.Store, h.Report, h.Every, d), NewTurns(mostStreams, ownStreams)
	d.Router.GET("/events", func(c *gin.Context) {
		topics := slices.Compact(slices.Sorted(strings.SplitSeq(c.Query("topics"), ",")))
		wrong := slices.ContainsFunc(topics, func(t string) bool { return !topicForm.MatchString(t) })
		if wrong || len(topics) > mostTopics {
			Answer(c, huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
				Message: "expected up to 20 of report, flow, feed, letters, replays, platforms, drafts, run:NUMBER, upload:ID " +
					"and campaign:ID, by commas",
				Location: "query.topics", Value: Shown(c.Query("topics")),
			}))
			return
		}
		if OnlyHead(c.Request.Context()) {
			c.Header("Content-Type", "text/event-stream")
			c.Status(http.StatusOK)
			return
		}
		leave, ok := turns.Take(CallerOf(c.Request.Context()).Name)
		if !ok {
			Answer(c, TooMany("too many streams of events", RetryAfter))
			return
		}
		defer leave()
		h.stream(c, d, hub, topics)
	})
}

func orElse(d, instead time.Duration) time.Duration {
	if d == 0 {
		return instead
	}
	return d
}

// stream writes events until the reader has gone, its credentials are no longer valid, or the API stops.
func (h Events) stream(c *gin.Context, d *Door, hub *hub, topics []string) {
	ctx := c.Request.Context()
	c.Header("Content-Type", "text/event-stream")
	c.Header("X-Accel-Buffering", "no")
	c.Status(http.StatusOK)
	out, control := Paced(c), http.NewResponseController(c.Writer)
	send := func(text string) bool {
		_, err := out.Write([]byte(text))
		return err == nil && control.Flush() == nil
	}
	reader, missed, leave := hub.join(topics, c.GetHeader("Last-Event-ID"))
	defer leave()
	first := ": \n\n" // the headers go out at once
	for _, e := range missed {
		first += hub.text(e)
	}
	if !send(first) {
		return
	}
	beat, again := time.NewTicker(h.Heartbeat), time.NewTicker(h.Again)
	defer beat.Stop()
	defer again.Stop()
	look := time.NewTicker(h.Every)
	defer look.Stop()
	for {
		text := ""
		select {
		case e := <-reader.events:
			text = hub.text(e)
		case <-look.C:
			if hub.missedSome(reader) {
				text = hub.resync()
			}
		case <-beat.C:
			text = heartbeat
		case <-again.C:
			if locked, err := d.guard.Locked(ctx); err == nil && locked {
				if _, err := d.guard.known(c, "watch-events"); err != nil {
					return
				}
			}
		case <-ctx.Done():
			return
		case <-d.Stopping:
			return
		}
		if text != "" && !send(text) {
			return
		}
	}
}

// HeartbeatAfter is how long a stream of events is silent at most, so that proxies keep the connection.
const HeartbeatAfter = 15 * time.Second

const (
	hubRing   = 1000            // events that a stream may come back to
	hubBuffer = 64              // events that wait for a slow reader; then it is told to read all anew
	hubWithin = 5 * time.Second // for a look
	reportGap = 5 * time.Second // between two looks at the backlog
)

// topicReport is the topic of the backlog; the others are those of db.Marks.
const topicReport = "report"

// resync tells a reader to read all anew: it may have missed something.
const resync = "resync"

// An event is what streams are told.
type event struct {
	n     int64
	topic string
	data  string
}

// hub looks for changes, once for all streams, and not at all while there is none.
type hub struct {
	store  *db.Marks
	report func(context.Context) backlog.Report
	every  time.Duration
	now    func() time.Time
	log    *slog.Logger
	name   string // of this process: the numbers of another one's events mean nothing here

	mu      sync.Mutex
	streams map[*reader]bool
	looking bool
	last    map[string]watched // the last look, by topic
	ring    []event            // the newest ones, the oldest first
	n       int64              // of the newest event, or of a topic that was looked at for the first time after it
	dropped int64              // of the newest event that is no longer in ring
}

// A watched topic is looked at for some stream.
type watched struct {
	mark  string
	since int64 // the number from which on nothing was missed: a reader that has seen less does not know all before
}

// A reader is a stream.
type reader struct {
	topics []string
	events chan event
	lost   bool // it was too slow, or something may have happened before it was known: under hub.mu
}

func newHub(store *db.Marks, report func(context.Context) backlog.Report, every time.Duration, d *Door) *hub {
	return &hub{
		store: store, report: report, every: every, now: d.Now, log: d.Log, name: uuid.NewString()[:8],
		streams: map[*reader]bool{},
	}
}

// join begins a stream of topics after the event with an ID; "" begins anew. The missed events come first. A reader
// whose ID is too old, or of another process, is told to read all anew. Call leave when the stream is over.
func (h *hub) join(topics []string, after string) (r *reader, missed []event, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r = &reader{topics: topics, events: make(chan event, hubBuffer)}
	name, number, _ := strings.Cut(after, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || name != h.name || n > h.n || n < h.dropped:
		r.lost = true
	default:
		for _, e := range h.ring {
			if e.n > n && slices.Contains(topics, e.topic) {
				missed = append(missed, e)
			}
		}
	}
	if !h.looking || slices.ContainsFunc(topics, func(t string) bool { l, ok := h.last[t]; return !ok || n < l.since }) {
		r.lost = true // nobody has looked meanwhile, or not all the time
	}
	h.streams[r] = true
	if !h.looking {
		h.looking, h.last = true, nil
		go h.look() // ends with the last stream
	}
	return r, missed, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.streams, r)
	}
}

// missedSome says, once, that a reader has to read all anew, after the topics it wants were looked at.
func (h *hub) missedSome(r *reader) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range r.topics {
		if _, ok := h.last[t]; !ok && t != topicReport {
			return false
		}
	}
	lost := r.lost
	r.lost = false
	return lost
}

// look looks for changes until there is no stream.
func (h *hub) look() {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	var reported time.Time
	for {
		topics, ok := h.wanted()
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), hubWithin)
		var marks map[string]string
		err := fault.Try("looking for changes", h.log.Error, func() (err error) {
			marks, err = h.marks(ctx, topics, &reported)
			return err
		})
		cancel()
		if err != nil {
			h.log.WarnContext(ctx, "cannot look for changes for the streams of events", "err", err)
		} else {
			h.publish(topics, marks)
		}
		<-tick.C
	}
}

// wanted are the topics of all streams; ok is false, and the look is over, when there is none.
func (h *hub) wanted() (topics []string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for r := range h.streams {
		topics = append(topics, r.topics...)
	}
	slices.Sort(topics)
	h.looking = len(h.streams) > 0
	return slices.Compact(topics), h.looking
}

func (h *hub) marks(ctx context.Context, topics []string, reported *time.Time) (map[string]string, error) {
	marks, err := h.store.Read(ctx, topics, h.now())
	if err != nil {
		return nil, err
	}
	if slices.Contains(topics, topicReport) && h.report != nil && time.Since(*reported) >= min(reportGap, 5*h.every) {
		*reported = time.Now()
		marks[topicReport] = summary(h.report(ctx))
	}
	return marks, nil
}

// summary is the data of an event of the backlog: its numbers, as JSON.
func summary(r backlog.Report) string {
	var ready int64
	for _, q := range r.Queues {
		ready += q.Ready
	}
	doc, err := json.Marshal(map[string]any{
		"dead_letters": r.OpenDeadLetters(), "ready": ready, "outbox": r.Outbox.Pending, "concerns": len(r.Concerns),
		"services": r.Services, "crawls": r.Crawls.Running,
	})
	if err != nil {
		panic(err) // numbers and names
	}
	return string(doc)
}

// publish tells the streams what has changed since the look before. What is looked at for the first time has not.
func (h *hub) publish(topics []string, marks map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := map[string]watched{}
	for _, topic := range topics {
		before, known := h.last[topic]
		mark, read := marks[topic]
		if !read {
			if known {
				last[topic] = before
			}
			continue
		}
		if !known { // a number of its own: who has the one before it may have gone before anything was missed, or after
			h.n++
			before.since = h.n
		}
		last[topic] = watched{mark, before.since}
		if known && mark != before.mark || topic == topicReport && !known {
			data := "{}"
			if topic == topicReport {
				data = mark
			}
			h.n++
			e := event{h.n, topic, data}
			if h.ring = append(h.ring, e); len(h.ring) > hubRing {
				h.dropped = h.ring[len(h.ring)-hubRing-1].n
				h.ring = slices.Clone(h.ring[len(h.ring)-hubRing:])
			}
			h.tell(e)
		}
	}
	h.last = last
}

// tell gives an event to the streams that want it. The caller holds the lock.
func (h *hub) tell(e event) {
	for r := range h.streams {
		if !slices.Contains(r.topics, e.topic) {
			continue
		}
		select {
		case r.events <- e:
		default:
			r.lost = true
		}
	}
}

// text is an event as server-sent events have it.
func (h *hub) text(e event) string {
	return fmt.Sprintf("id: %s-%d\nevent: %s\ndata: %s\n\n", h.name, e.n, e.topic, e.data)
}

// resync is the event that tells a reader to read all anew, with the ID that it goes on from.
func (h *hub) resync() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text(event{h.n, resync, "{}"})
}
