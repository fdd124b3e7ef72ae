package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Do has a child do one of the jobs below.
func (p *Pool) Do(ctx context.Context, job string, data []byte) (out string, err error) {
	_, err = p.do(ctx, job, nil, data, &out)
	return out, err
}

// Unbound reads in this process, which has no bounds.
func Unbound() *Alone { return &Alone{Options{}.whole()} }

// Do does one of the jobs below.
func (a *Alone) Do(ctx context.Context, job string) (out any, err error) {
	return within(ctx, a.o, func() (any, error) {
		out, _, err := jobs[job](nil, nil)
		return out, err
	})
}

// Processes are the IDs of the children.
func (p *Pool) Processes() (pids []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.all {
		pids = append(pids, c.cmd.Process.Pid)
	}
	return pids
}

// lingers is the CPU time, in user mode, that a child takes by the job "linger".
const lingers = 2500 * time.Millisecond

// Lingered says whether a child has come to its end, or has taken as much CPU time as "linger" does.
func Lingered(t *testing.T, pid int) (dead, lingered bool) {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	require.NoError(t, err)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ticks, err := strconv.Atoi(fields[11]) // 100 a second
	require.NoError(t, err)
	return fields[0] == "Z", time.Duration(ticks)*10*time.Millisecond >= lingers
}

var kept [][]byte

// Jobs that are as bad as jobs can be.
func init() {
	for name, do := range map[string]func(data []byte) (any, error){
		"echo": func(data []byte) (any, error) { return string(data), nil },
		"spin": func([]byte) (any, error) {
			for n := 0; ; n++ {
				kept = kept[:0]
			}
		},
		"kill": func([]byte) (any, error) { return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL) },
		"nap":  func([]byte) (any, error) { time.Sleep(100 * time.Millisecond); return "", nil },
		"linger": func([]byte) (any, error) { // goes on behind its job
			go func() {
				for used := (syscall.Rusage{}); used.Utime.Nano() < int64(lingers); {
					for range 1 << 20 { // the kernel's time does not count
					}
					_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
				}
			}()
			return "", nil
		},
		"wait":  func([]byte) (any, error) { select {} },
		"panic": func([]byte) (any, error) { panic("oops") },
		"exit":  func([]byte) (any, error) { os.Exit(3); return nil, nil },
		"deep":  func([]byte) (any, error) { return deep(1), nil },
		"eat": func([]byte) (any, error) {
			for {
				kept = append(kept, make([]byte, 1<<20))
				for i := range kept[len(kept)-1] {
					kept[len(kept)-1][i] = 1
				}
			}
		},
		"grow": func([]byte) (any, error) {
			kept = append(kept, make([]byte, maxHeld))
			for i := range kept[len(kept)-1] {
				kept[len(kept)-1][i] = 1
			}
			return "", nil
		},
		"fault": func([]byte) (any, error) { return nil, fault.Newf(fault.Gone, "it is gone") },
		"nan":   func([]byte) (any, error) { return math.NaN(), nil },
		"powers": func([]byte) (any, error) {
			_, file := os.ReadFile("/etc/passwd")
			_, socket := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
			out, err := json.Marshal(map[string]any{
				"file": file != nil, "socket": socket != nil, "environment": os.Environ(), "pid": os.Getpid(),
			})
			return string(out), err
		},
	} {
		jobs[name] = func(_ json.RawMessage, data []byte) (any, [][]byte, error) {
			out, err := do(data)
			return out, nil, err
		}
	}
}

func deep(n int) int {
	if n < 0 {
		return 0
	}
	return deep(n+1) + deep(n+2)
}
