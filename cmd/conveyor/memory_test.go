package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestGarbage(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0: 400, 24 << 20: 400, 48 << 20: 200, 96 << 20: 100, 128 << 20: 100, 4 << 30: 100,
	} {
		require.Equal(t, want, garbage(live), "%d bytes", live)
	}
}

// The more is alive, the less garbage there may be; and the other way round.
func TestPaceCollector(t *testing.T) {
	before := debug.SetGCPercent(100)
	require.NoError(t, os.Unsetenv("GOGC"))
	paceCollector()
	percent := func() uint64 {
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	alive := make([]byte, 120<<20)
	require.Eventually(t, func() bool { return percent() == 100 }, servicetest.Patience(), time.Millisecond)
	runtime.KeepAlive(alive)
	require.Eventually(t, func() bool { return percent() > 100 }, servicetest.Patience(), time.Millisecond)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// A limit that the operator sets stays.
func TestBoundMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "123MiB")
	boundMemory("worker")
	require.Equal(t, int64(math.MaxInt64), debug.SetMemoryLimit(-1), "the runtime has read GOMEMLIMIT at its start")
	require.NoError(t, os.Unsetenv("GOMEMLIMIT"))
	boundMemory("worker")
	require.Positive(t, debug.SetMemoryLimit(-1))
}
