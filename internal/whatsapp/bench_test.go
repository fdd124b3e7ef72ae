package whatsapp_test

import (
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// BenchmarkSend sends to the fake, without limits, 16 messages at a time: messages a second, and the CPU time of client
// and fake together.
func BenchmarkSend(b *testing.B) {
	api := cloudapi.New(cloudapi.Options{Limits: cloudapi.Limits{PerSecond: -1, PairBurst: -1}})
	s := httptest.NewServer(api)
	defer s.Close()
	c, err := whatsapp.New(whatsapp.Options{URL: s.URL})
	require.NoError(b, err)
	defer c.Close()
	var n atomic.Int64
	before, began := cpu(b), time.Now()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			a, err := c.Send(b.Context(), sender, whatsapp.Message{
				ID: uuid.New(), To: fmt.Sprint("+1555", 1_000_000+n.Add(1)), Body: hello,
			})
			if err != nil || a.ID == "" {
				b.Errorf("%+v, %v", a, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "messages/s")
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/message")
}

// cpu is the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
