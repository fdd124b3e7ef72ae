package launch_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// connect returns a client of the tests' Temporal in a namespace.
func connect(t *testing.T, namespace string) client.Client {
	t.Helper()

	return dial(t, servicetest.Address(t, "TEMPORAL_ADDRESS"), namespace)
}

func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()

	quiet := sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: namespace, Logger: quiet})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// namespace is made once for the tests that start things in it: it takes seconds until the servers know a new one.
var namespace = sync.OnceValues(func() (string, error) {
	name := "test-" + uuid.NewString()
	c, err := client.NewLazyClient(client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: name})
	if err != nil {
		return "", err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), servicetest.Patience())
	defer cancel()
	b := launch.Bootstrap{Namespace: name, Retention: 72 * time.Hour, ImageInterval: 500 * time.Millisecond,
		StaleEvery: 4 * time.Hour}
	return name, b.Apply(ctx, c)
})

func open(t *testing.T) *launch.Launch {
	t.Helper()

	servicetest.Address(t, "TEMPORAL_ADDRESS")
	name, err := namespace()
	require.NoError(t, err)
	return &launch.Launch{Temporal: connect(t, name), Namespace: name, Stages: []string{listing.StageNormalize, listing.StageDedupe}}
}

func newRef() listing.Ref { return listing.Ref{Platform: "kijiji", PlatformID: uuid.NewString()} }

// A second start for an advert joins the run that is there, and both reasons arrive.
func TestListing(t *testing.T) {
	t.Parallel()
	l, ref, ctx := open(t), newRef(), t.Context()
	first := launch.Arrival{Stage: listing.StageNormalize, Revision: 1}
	require.NoError(t, l.Listing(ctx, ref, first, "Beau 4½ · 1500 $"))
	before, err := l.Temporal.DescribeWorkflow(ctx, "listing/"+ref.String(), "")
	require.NoError(t, err)
	require.NoError(t, l.Listing(ctx, ref, launch.Arrival{Stage: listing.StageDedupe, Force: true}, "Another title"))
	after, err := l.Temporal.DescribeWorkflow(ctx, ref.WorkflowID(), "")
	require.NoError(t, err)

	require.Equal(t, before.WorkflowExecution.RunID, after.WorkflowExecution.RunID)
	summary, err := after.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "Beau 4½ · 1500 $", summary)
	require.Equal(t, "Listing", after.WorkflowType.Name)
	require.Equal(t, "listings", after.TaskQueueName)
	values := map[string]any{}
	for key, value := range after.TypedSearchAttributes.GetUntypedValues() {
		values[key.GetName()] = value
	}
	require.Equal(t, map[string]any{"ConveyorPlatform": "kijiji", "ConveyorStage": "normalize"}, values)

	var arrivals []launch.Arrival
	var stages []string
	all := enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
	history := l.Temporal.GetWorkflowHistory(ctx, ref.WorkflowID(), "", false, all)
	for history.HasNext() {
		e, err := history.Next()
		require.NoError(t, err)
		if signal := e.GetWorkflowExecutionSignaledEventAttributes(); signal != nil {
			var a launch.Arrival
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &a))
			arrivals = append(arrivals, a)
		}
		if start := e.GetWorkflowExecutionStartedEventAttributes(); start != nil {
			var in struct {
				Ref     listing.Ref
				Stages  []string
				Arrival launch.Arrival
			}
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(start.GetInput(), &in))
			require.Equal(t, ref, in.Ref)
			require.Equal(t, first, in.Arrival)
			stages = in.Stages
		}
	}
	require.Equal(t, []launch.Arrival{{Stage: listing.StageDedupe, Force: true}}, arrivals)
	require.Equal(t, l.Stages, stages)
}

// Many concurrent callers start one run.
func TestListingAtOnce(t *testing.T) {
	t.Parallel()
	l, ref := open(t), newRef()
	var doors sync.WaitGroup
	for i := range 8 {
		doors.Go(func() {
			a := launch.Arrival{Stage: listing.StageNormalize, Revision: int64(i)}
			assert.NoError(t, l.Listing(t.Context(), ref, a, "4½"))
		})
	}
	doors.Wait()
	require.Eventually(t, func() bool { // visibility follows
		n, err := l.Temporal.CountWorkflow(t.Context(), countOf("listing/"+ref.String()))
		return err == nil && n.GetCount() == 1
	}, servicetest.Patience(), 100*time.Millisecond)
}

// A second request for an image joins the activity that is there.
func TestImage(t *testing.T) {
	t.Parallel()
	l, ctx := open(t), t.Context()
	job := launch.ImageJob{Ref: newRef(), Image: listing.Image{URL: "https://img.example/1.jpg?" + uuid.NewString()}}
	require.NoError(t, l.Image(ctx, job, time.Time{}))
	require.NoError(t, l.Image(ctx, job, time.Time{}))
	other := job
	other.Image.URL += "&size=2"
	require.NoError(t, l.Image(ctx, other, time.Time{}))
	for range 2 { // given up since, it does not join the try that gave it up
		require.NoError(t, l.Image(ctx, job, time.Unix(1_800_000_000, 0)))
	}

	found := map[string]int{}
	require.Eventually(t, func() bool {
		clear(found)
		list, err := l.Temporal.ListActivities(ctx, client.ListActivitiesOptions{Query: `TaskQueue="images"`})
		if err != nil {
			return false
		}
		for a, err := range list.Results {
			if err != nil {
				return false
			}
			if strings.HasPrefix(a.ActivityID, "image/"+job.Ref.ID().String()+"/") {
				found[a.ActivityID]++
			}
		}
		return len(found) == 3
	}, servicetest.Patience(), 100*time.Millisecond)
	for id, n := range found {
		require.Equal(t, 1, n, id)
		a, err := l.Temporal.GetActivityHandle(client.GetActivityHandleOptions{ActivityID: id}).
			Describe(ctx, client.DescribeActivityOptions{})
		require.NoError(t, err)
		summary, err := a.GetSummary()
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(summary, job.Image.URL), summary)
		require.Equal(t, "AttachImage", a.ActivityType)
		require.Equal(t, "images", a.TaskQueue)
		require.Equal(t, "img.example", a.Priority.FairnessKey)
	}
}

// A host that is no UTF-8, or is cut inside a rune, would be refused by gRPC on every retry, and a summary that is too
// long in JSON by the server.
func TestImageOfAnOddAddress(t *testing.T) {
	t.Parallel()
	l := open(t)
	for _, address := range []string{
		"%ff.example/1.jpg", strings.Repeat("é", 40) + ".example/1.jpg", "i.example/1.jpg?" + strings.Repeat("a=1&", 500),
		"i.example/" + strings.Repeat("<", 60), "i.example/" + strings.Repeat("\u2028>", 500),
	} {
		job := launch.ImageJob{Ref: newRef(), Image: listing.Image{URL: "https://" + address}}
		require.NoError(t, l.Image(t.Context(), job, time.Time{}), "%.40s", address)
	}
}

func TestHealthy(t *testing.T) {
	t.Parallel()
	require.NoError(t, open(t).Healthy(t.Context()))
	away := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "conveyor")}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	require.Error(t, away.Healthy(ctx))
}

// A start that fails is transient, and fails soon: its callers keep their message or request.
func TestClasses(t *testing.T) {
	t.Parallel()
	long := listing.Ref{Platform: "kijiji", PlatformID: strings.Repeat("9", 5000)}
	for _, tt := range []struct {
		name  string
		class fault.Class
		start func(context.Context, *testing.T) error
	}{
		{"Temporal is down", fault.Transient, func(ctx context.Context, t *testing.T) error {
			l := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "conveyor")}
			return l.Listing(ctx, newRef(), launch.Arrival{Stage: listing.StageNormalize}, "4½")
		}},
		{"Temporal is down for an image", fault.Transient, func(ctx context.Context, t *testing.T) error {
			l := &launch.Launch{Temporal: dial(t, "127.0.0.1:1", "conveyor")}
			return l.Image(ctx, launch.ImageJob{Ref: newRef()}, time.Time{})
		}},
		{"a namespace that is not there yet", fault.Transient, func(ctx context.Context, t *testing.T) error {
			l := &launch.Launch{Temporal: connect(t, "test-"+uuid.NewString())}
			return l.Listing(ctx, newRef(), launch.Arrival{Stage: listing.StageNormalize}, "4½")
		}},
		{"an ID that is too long, which the contract refuses before", fault.Transient, func(ctx context.Context, t *testing.T) error {
			return open(t).Listing(ctx, long, launch.Arrival{Stage: listing.StageNormalize}, "4½")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			open(t) // the namespace is no part of the time
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			start := time.Now()
			err := tt.start(ctx, t)
			require.Equal(t, tt.class, fault.ClassOf(err), "%v", err)
			require.Error(t, err)
			require.Less(t, time.Since(start), servicetest.Patience())
		})
	}
	t.Run("the door has gone", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := open(t).Listing(ctx, newRef(), launch.Arrival{Stage: listing.StageNormalize}, "4½")
		require.Equal(t, fault.Transient, fault.ClassOf(err))
		require.ErrorContains(t, err, "cancel")
	})
}

func TestAdvertSummary(t *testing.T) {
	t.Parallel()
	rent, odd := int64(150_000), int64(99_950)
	for _, tt := range []struct {
		name, title string
		rent        *int64
		want        string
	}{
		{"title and price", "Beau 4½", &rent, "Beau 4½ · 1500 $"},
		{"cents are cut off", "Beau 4½", &odd, "Beau 4½ · 999 $"},
		{"no price", "Beau 4½", nil, "Beau 4½"},
		{"white space is folded", " Beau\n\t4½  ", nil, "Beau 4½"},
		{"contact data is masked", "4½ appelez 514 555-0199 ou zoe@example.org", &rent,
			"4½ appelez [phone] ou [email] · 1500 $"},
		{"before the title is cut", strings.Repeat("x", 145) + " 514 555-0199 Laval", nil,
			strings.Repeat("x", 145) + " [phone] Laval"},
		{"a long title is cut between runes", "x" + strings.Repeat("é", 200), &rent,
			"x" + strings.Repeat("é", 79) + " · 1500 $"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := launch.AdvertSummary(tt.title, tt.rent)
			require.Equal(t, tt.want, got)
			require.LessOrEqual(t, len(got), 200, "bytes, Temporal's limit")
		})
	}
}
