package e2e

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/mtlrent/conveyor/workflows"
)

// spans is a collector of traces: it keeps the spans that an OpenTelemetry collector would receive.
type spans struct {
	mu  sync.Mutex
	all []span
}

type span struct {
	*trace.Span
	role string
}

func (s span) id() string     { return hex.EncodeToString(s.GetSpanId()) }
func (s span) parent() string { return hex.EncodeToString(s.GetParentSpanId()) }

// collect takes OTLP over HTTP and returns the settings with which roles send it there, soon and whole.
func collect(t *testing.T) (*spans, []string) {
	t.Helper()

	s := new(spans)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var in collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &in) != nil {
			t.Errorf("export to %s: %v", r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.add(&in)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	return s, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL, "OTEL_BSP_SCHEDULE_DELAY=100"}
}

func (s *spans) add(in *collector.ExportTraceServiceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range in.GetResourceSpans() {
		role := ""
		for _, a := range from.GetResource().GetAttributes() {
			if a.GetKey() == "conveyor.role" {
				role = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range from.GetScopeSpans() {
			for _, one := range scope.GetSpans() {
				s.all = append(s.all, span{one, role})
			}
		}
	}
}

// of returns the spans of one trace, by when they began.
func (s *spans) of(traceID string) []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []span
	for _, one := range s.all {
		if hex.EncodeToString(one.GetTraceId()) == traceID {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b span) int { return int(int64(a.GetStartTimeUnixNano() - b.GetStartTimeUnixNano())) })
	return out
}

// everything is all that was ever told, as text.
func (s *spans) everything() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for _, one := range s.all {
		fmt.Fprintln(&out, one.Span)
	}
	return out.String()
}

// tree draws the spans below a span, a line each: name and role.
func tree(all []span, parent string) string {
	var out strings.Builder
	var below func(parent, indent string)
	below = func(parent, indent string) {
		for _, s := range all {
			if s.parent() == parent {
				fmt.Fprintf(&out, "%s%s  [%s]\n", indent, s.GetName(), s.role)
				below(s.id(), indent+"  ")
			}
		}
	}
	below(parent, "")
	return out.String()
}

// under says whether there is such a path of names, each the parent of the next, below the given span.
func under(all []span, parent string, names ...string) bool {
	return slices.ContainsFunc(all, func(s span) bool {
		return s.parent() == parent && s.GetName() == names[0] && (len(names) == 1 || under(all, s.id(), names[1:]...))
	})
}

// One trace goes from the scraper's message to the event that others receive, through everything in between.
// It ends the roles of its world.
func (w *world) traces(seen *spans, roles map[string]*process) {
	t := w.t
	w.eventually("the events of others are out", func() bool {
		return one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	w.drain("listings.published")
	const (
		id     = "4bf92f3577b34da6a3ce929d0e0e4736"
		sender = "00f067aa0ba902b7"
	)
	send := func(traceID string, body []byte) {
		w.broker.Send("scraped", "kijiji", amqp.Publishing{
			MessageId: "message-" + traceID[:4], Body: body,
			Headers: amqp.Table{"traceparent": "00-" + traceID + "-" + sender + "-01", "tracestate": "vendor=opaque"},
		})
	}
	send(id, advert("3001", with("image_urls", []string{w.siteURL + "/photos/3001/1.jpg"})))
	w.eventually("the image is attached, and told", func() bool {
		return one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached' AND url LIKE '%/3001/%'") == 1 &&
			one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})

	events := w.drain("listings.published")
	require.Len(t, events, 1)
	traceparent, _ := events[0].Headers["traceparent"].(string)
	require.Equal(t, "00-"+id, traceparent[:35], "the event carries on the trace of the message")
	require.Equal(t, "vendor=opaque", events[0].Headers["tracestate"])

	run := []string{"process scraped.kijiji", "StartWorkflow:Listing", "RunWorkflow:Listing"}
	activity := func(name string, more ...string) []string {
		return slices.Concat(run, []string{"StartActivity:" + name, "RunActivity:" + name}, more)
	}
	paths := [][]string{
		activity("NormalizeListing", "sqlRawPayload"),
		activity("NormalizeListing", "batch start", "sqlRawNormalized"),
		activity("NormalizeListing", "publish listings.normalized"),
		activity("DedupeListing", "batch start", "sqlHomeOthers"),
		activity("ImportListing", "batch start", "sqlListingSave"),
		activity("ImportListing", "publish listings.published"),
		activity("AttachImage", "GET"),
		activity("AttachImage", "publish images.attached"),
	}
	found := func() bool {
		all := seen.of(id)
		return !slices.ContainsFunc(paths, func(path []string) bool { return !under(all, sender, path...) })
	}
	defer func() { t.Logf("the trace:\n%s", tree(seen.of(id), sender)) }()
	w.eventually("all of it is told", found)
	all := seen.of(id)
	known := map[string]bool{sender: true}
	for _, s := range all {
		known[s.id()] = true
	}
	for _, s := range all {
		require.True(t, known[s.parent()], "%s hangs in the air", s.GetName())
	}
	published := slices.IndexFunc(all, func(s span) bool { return s.GetName() == "publish listings.published" })
	require.Equal(t, traceparent[36:52], all[published].id(), "a consumer's span hangs below the publishing")

	// Another trace for a message that cannot be: its dead letter keeps the header.
	const bad = "aaaabbbbccccddddeeeeffff00001111"
	send(bad, []byte(`{"platform":"kijiji"}`))
	w.eventually("it is a dead letter", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE headers->>'traceparent' LIKE $1", "00-"+bad+"-%") == 1
	})
	w.eventually("its span says so", func() bool {
		all := seen.of(bad)
		return len(all) == 1 && all[0].GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR
	})
	require.Contains(t, roles["bridge"].log.tail(1<<20), `"trace_id":"`+bad+`"`, "and so does the log")

	// A request is the beginning of a trace, or the next of its caller's. Its query is not told, not even of one that is
	// refused.
	resp, err := http.Post(w.api+"/listings/kijiji/3001/process?token=hunter2", "", nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnprocessableEntity, resp.StatusCode)
	const asked = "0af7651916cd43dd8448eb211c80319c"
	req, err := http.NewRequestWithContext(w.ctx(), http.MethodPost, w.api+"/listings/kijiji/3001/process", nil)
	require.NoError(t, err)
	req.Header.Set("traceparent", "00-"+asked+"-"+sender+"-01")
	req.Header.Set("User-Agent", "a person's browser")
	resp, err = http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	w.eventually("the request is told", func() bool {
		return under(seen.of(asked), sender, "POST /listings/:platform/:platform_id/process", "StartWorkflow:Listing",
			"RunWorkflow:Listing", "StartActivity:NormalizeListing", "RunActivity:NormalizeListing", "sqlRawPayload")
	})
	w.eventually("the second run is closed", func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), workflowID("3001"), "")
		require.NoError(t, err)
		return d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
	for _, p := range roles { // the last spans come with the end
		p.stop(t)
	}
	told := seen.everything()
	for _, secret := range []string{
		"555 0199", "Deux chambres", "Northcrest", "Grand 4", "hunter2", "a person's", "client.address", "peer.address", "photos/",
	} {
		require.False(t, strings.Contains(told, secret), "a span tells %q", secret)
	}

	// A run that was traced replays where tracing is off.
	r := worker.NewWorkflowReplayer()
	r.RegisterWorkflow(workflows.Listing)
	require.NoError(t, r.ReplayWorkflowHistory(nil, w.history(workflowID("3001"), "")))
}
