package api

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
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
