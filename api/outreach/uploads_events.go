package outreach

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/fault"
)

const eventEvery = time.Second

// events writes the progress of an upload as server-sent events. The row is read again every second; while the database
// is away, the stream goes on without events.
func (h Uploads) events(ctx context.Context, tenant string, in *uploadInput) (*huma.StreamResponse, error) {
	finding, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	u, err := h.Store.Get(finding, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		c := humagin.Unwrap(hc)
		c.Header("Content-Type", "text/event-stream")
		if api.OnlyHead(ctx) { // its connection is wanted for the next request
			return
		}
		leave, ok := h.streams.Take(u.Tenant)
		if !ok {
			api.Answer(c, api.TooMany("too many streams of events of the tenant "+u.Tenant, api.RetryAfter))
			return
		}
		defer leave()
		ctx := c.Request.Context()
		c.Header("Cache-Control", "no-store")
		c.Header("X-Accel-Buffering", "no")
		out, control := api.Paced(c), http.NewResponseController(c.Writer)
		send := func(text string) bool {
			_, err := out.Write([]byte(text))
			return err == nil && control.Flush() == nil
		}
		tick := time.NewTicker(eventEvery)
		defer tick.Stop()
		var last []byte
		for sent := time.Now(); ; {
			doc, ended, err := h.event(ctx, tenant, u.ID)
			switch class := fault.ClassOf(err); {
			case err != nil && class == fault.Gone, ctx.Err() != nil:
				return
			case err == nil && ended:
				send("event: progress\ndata: " + string(doc) + "\n\nevent: end\ndata: " + string(doc) + "\n\n")
				return
			case err == nil && !bytes.Equal(doc, last):
				if last, sent = doc, time.Now(); !send("event: progress\ndata: " + string(doc) + "\n\n") {
					return
				}
			case time.Since(sent) >= api.HeartbeatAfter:
				if sent = time.Now(); !send(": \n\n") {
					return
				}
			}
			select {
			case <-tick.C:
				if h.door.Ended(ctx) {
					return
				}
			case <-ctx.Done():
				return
			case <-h.door.Stopping:
				return
			}
		}
	}}, nil
}

// event is the upload as it is now.
func (h Uploads) event(ctx context.Context, tenant string, id uuid.UUID) (doc []byte, ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	u, err := h.Store.Get(ctx, tenant, id)
	if err != nil {
		return nil, false, err
	}
	shown, err := h.progress(ctx, u)
	if err != nil {
		return nil, false, err
	}
	doc, err = json.Marshal(shown)
	return doc, shown.Ended(), err
}
