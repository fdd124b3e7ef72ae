package whatsapp_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// BenchmarkRateAtTheAPI sends for a minute as much as a tenant of each tier may, from one process and from four, to a
// fake that answers after 50 ms. It reports what arrived there: the share of the rate, and the most in any one second.
func BenchmarkRateAtTheAPI(b *testing.B) {
	for _, perSecond := range []int{10, 50} {
		for _, processes := range []int{1, 4} {
			b.Run(fmt.Sprintf("%d-a-second/%d-processes", perSecond, processes), func(b *testing.B) {
				for range b.N {
					api := cloudapi.New(cloudapi.Options{
						Limits: cloudapi.Limits{PerSecond: -1, PairBurst: -1}, Latency: 50 * time.Millisecond,
					})
					s := httptest.NewServer(api)
					ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
					name := "bench-" + rand.Text()
					var wg sync.WaitGroup
					for range processes {
						wg.Go(func() { dispatch(ctx, b, name, s.URL, perSecond) })
					}
					wg.Wait()
					cancel()
					s.Close()
					b.ReportMetric(float64(api.Counts().Requests)/float64(60*perSecond)*100, "%of-rate")
					b.ReportMetric(float64(api.Most(time.Second)), "most-in-1s")
				}
			})
		}
	}
}

// dispatch sends until ctx ends, as a process does.
func dispatch(ctx context.Context, b *testing.B, name, url string, perSecond int) {
	o, err := redis.ParseURL(servicetest.Address(b, "REDIS_URL"))
	require.NoError(b, err)
	rdb := redis.NewClient(o)
	defer rdb.Close()
	c, err := whatsapp.New(whatsapp.Options{URL: url})
	require.NoError(b, err)
	defer c.Close()
	f := limit.NewFlow(rdb, limit.FlowOptions{Name: name})
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		passes, again := f.Take(ctx, 16, limit.Cap{Key: "acme", PerSecond: perSecond}, limit.Cap{Key: "sender", PerSecond: 80})
		for _, p := range passes {
			wg.Go(func() {
				if p.Await(ctx) {
					_, err := c.Send(context.WithoutCancel(ctx), sender, whatsapp.Message{ID: uuid.New(), To: "+15550101234", Body: hello})
					assert.NoError(b, err)
				}
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}
