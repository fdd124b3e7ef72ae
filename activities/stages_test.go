package activities_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// meter is a metrics handler that remembers our own metrics: name and tags, in order.
type meter struct {
	tags map[string]string
	seen *[]string
}

func (m meter) WithTags(tags map[string]string) client.MetricsHandler {
	all := maps.Clone(m.tags)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, tags)
	return meter{all, m.seen}
}

func (m meter) note(name, value string) {
	if !strings.HasPrefix(name, "conveyor_") {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m.tags)) {
		if slices.Contains([]string{"stage", "platform", "outcome", "reason"}, key) {
			name += " " + m.tags[key]
		}
	}
	*m.seen = append(*m.seen, strings.TrimPrefix(name, "conveyor_")+value)
}

type (
	counter func(int64)
	timer   func(time.Duration)
	gauge   func(float64)
)

func (f counter) Inc(n int64)                    { f(n) }
func (f timer) Record(d time.Duration)           { f(d) }
func (f gauge) Update(v float64)                 { f(v) }
func (m meter) Gauge(string) client.MetricsGauge { return gauge(func(float64) {}) }

func (m meter) Counter(name string) client.MetricsCounter {
	return counter(func(n int64) { m.note(name, fmt.Sprint(" ", n)) })
}

func (m meter) Timer(name string) client.MetricsTimer {
	return timer(func(d time.Duration) { m.note(name, " "+d.String()) })
}

// An advert that is through a stage is counted when it is stored, and not before.
func TestStageMetrics(t *testing.T) {
	t.Parallel()
	away := &store{err: errAway, payload: message("kijiji", "Grand 4 ½", 150000, "2")}
	fresh := listing.Version{
		Listing: listing.Listing{Ref: ref, ScrapedAt: now.Add(-time.Hour)}, ReceivedAt: now.Add(-2 * time.Second),
	}
	replayed, same := fresh, fresh
	replayed.ReceivedAt = time.Time{}
	same.Same, same.Published = true, "active"
	steps := func(s *store) *activities.Listings { return &activities.Listings{Store: s, Now: clock} }
	job := activities.ListingJob{Ref: ref}
	imported := []string{"stage_in kijiji import 1"}
	for _, tt := range []struct {
		name string
		act  func(context.Context) error
		want []string
	}{
		{"normalized", func(ctx context.Context) error {
			s := &store{payload: message("kijiji", "Grand 4 ½", 150000, "2")}
			_, err := steps(s).NormalizeListing(ctx, job)
			return err
		}, []string{"stage_in kijiji normalize 1", "stage_out passed kijiji normalize 1"}},
		{"rejected, for two reasons", func(ctx context.Context) error {
			_, err := steps(&store{payload: message("kijiji", "", 0, "2")}).NormalizeListing(ctx, job)
			return err
		}, []string{
			"stage_in kijiji normalize 1", "stage_out rejected kijiji normalize 1",
			"stage_rejected kijiji title missing normalize 1", "stage_rejected kijiji price missing normalize 1",
		}},
		{"not stored", func(ctx context.Context) error {
			_, err := steps(away).NormalizeListing(ctx, job)
			return err
		}, []string{"stage_in kijiji normalize 1"}},
		{"imported", func(ctx context.Context) error {
			_, err := steps(&store{version: fresh}).ImportListing(ctx, job)
			return err
		}, append(imported, "received_to_published kijiji 2s", "scraped_to_published kijiji 1h0m0s",
			"stage_out imported kijiji import 1")},
		{"replayed", func(ctx context.Context) error {
			_, err := steps(&store{version: replayed}).ImportListing(ctx, job)
			return err
		}, append(imported, "stage_out imported kijiji import 1")},
		{"nothing new", func(ctx context.Context) error {
			_, err := steps(&store{version: same}).ImportListing(ctx, job)
			return err
		}, append(imported, "stage_out imported kijiji import 1")},
		{"handed over", func(ctx context.Context) error {
			_, err := steps(&store{version: fresh}).HandOverListing(ctx, activities.ListingJob{Ref: ref, Stage: "import"})
			return err
		}, []string{"stage_out handed_on kijiji import 1"}},
		{"an image", func(ctx context.Context) error {
			g := &gallery{state: "pending"}
			return (&activities.Images{Store: g, Source: g, Blobs: g, Now: clock}).AttachImage(ctx, imageJob)
		}, []string{"stage_in kijiji images 1", "stage_out attached kijiji images 1"}},
		{"an image that is not there", func(ctx context.Context) error {
			g := &gallery{state: "pending", fetch: fault.Newf(fault.Gone, "HTTP 404")}
			return (&activities.Images{Store: g, Source: g, Blobs: g, Now: clock}).AttachImage(ctx, imageJob)
		}, []string{"stage_in kijiji images 1", "stage_out failed kijiji images 1", "stage_rejected kijiji gone images 1"}},
		{"an image that is settled", func(ctx context.Context) error {
			g := &gallery{state: "attached"}
			return (&activities.Images{Store: g, Source: g, Blobs: g, Now: clock}).AttachImage(ctx, imageJob)
		}, []string{"stage_in kijiji images 1", "stage_out unwanted kijiji images 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(sdklog.NewStructuredLogger(quiet))
			suite.SetMetricsHandler(meter{seen: &seen})
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivity(tt.act)
			_, _ = env.ExecuteActivity(tt.act) // its error is another test's
			require.Equal(t, tt.want, seen)
		})
	}
}
