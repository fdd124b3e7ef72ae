package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/mtlrent/conveyor/internal/pace" // for its init, too: starting costs a quarter less
)

// Garbage may be four times as much as what is alive, for less CPU time a listing, but no more than garbageMost, or
// than what is alive.
const (
	garbagePercent = pace.Percent
	garbageMost    = 96 << 20 // bytes
)

// paceCollector says to the garbage collector how much garbage there may be, after each of its cycles. GOGC overrides
// it.
func paceCollector() {
	if _, said := os.LookupEnv("GOGC"); said {
		return
	}
	percent := garbagePercent
	debug.SetGCPercent(percent)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	type cycle struct{ _ *cycle } // collected by each cycle
	var after func(*cycle)
	after = func(c *cycle) {
		metrics.Read(live)
		if now := garbage(live[0].Value.Uint64()); now != percent {
			percent = now
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(c, after)
	}
	runtime.SetFinalizer(new(cycle), after)
}

// garbage is the GOGC of a process in which so many bytes are alive, in steps of 20.
func garbage(live uint64) int {
	percent := garbageMost * 100 / max(live, 1) / 20 * 20
	return int(min(max(percent, 100), garbagePercent))
}

// boundMemory has the garbage collector work harder where the memory limit of the cgroup comes near. GOMEMLIMIT wins.
// A worker leaves room for its child processes and Chromium, which are in the same cgroup.
func boundMemory(role string) {
	share := 0.9
	if role == "worker" || role == "up" {
		share = 0.5
	}
	_, _ = memlimit.Set(memlimit.WithRatio(share)) // without a cgroup there is nothing to bound it by
}
