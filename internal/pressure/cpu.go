// Package pressure tells whether the machine has fewer cores than its work needs.
package pressure

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"
)

// A CPU knows whether work waits for cores, of the machine and of the container. It believes the kernel
// (https://docs.kernel.org/accounting/psi.html); where that does not tell, none waits. It is safe for concurrent use.
type CPU struct {
	now   func() time.Time
	files []string

	mu    sync.Mutex
	read  time.Time
	waits []time.Duration // of each file, since the machine has started
	short bool
}

// Those of the machine, and of the container that has a share of it.
var files = []string{"/proc/pressure/cpu", "/sys/fs/cgroup/cpu.pressure"}

const (
	// window is what is looked at, and stale what is too long ago to say something of now.
	window = 500 * time.Millisecond
	stale  = 10 * time.Second
	// most is the share of the time for which some work may wait: half of the cores can be idle meanwhile, for work comes
	// in bursts. Where all are busy it is close to one.
	most = 0.8
)

// NewCPU is the pressure by a clock.
func NewCPU(now func() time.Time) *CPU {
	return &CPU{now: now, files: files, waits: make([]time.Duration, len(files))}
}

// Short says whether some work has waited for a core for most of the last while. It costs little: it may be asked at
// each step of work that gives way.
func (c *CPU) Short() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	took := now.Sub(c.read)
	if took < window {
		return c.short
	}
	c.read, c.short = now, false
	for i, file := range c.files {
		waits, ok := some(file)
		if ok && c.waits[i] > 0 && took < stale && (waits-c.waits[i]).Seconds() > most*took.Seconds() {
			c.short = true
		}
		c.waits[i] = waits
	}
	return c.short
}

// some reads for how long some work has waited: `some avg10=… avg60=… avg300=… total=MICROSECONDS`.
func some(file string) (time.Duration, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	_, total, ok := bytes.Cut(line, []byte("total="))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(total)), 10, 64)
	return time.Duration(n) * time.Microsecond, ok && err == nil
}
