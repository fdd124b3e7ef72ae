package confine

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/page"
)

// An Alone reads pages in this process, which has bounded itself as a child is bounded. It is for a command that reads
// a page, prints what it found and ends: starting the program a second time takes longer than the page.
type Alone struct{ o Options }

// Here bounds this process for the rest of its life: it opens no file and no connection any more, and it ends with exit
// code 1 and the reason on standard error when it takes more memory or CPU time than o has; the CPU time is that of all
// jobs together. What the command reads, it reads before. It writes to what it has open, which may be files. The
// environment stays. It is called once.
func Here(o Options) (*Alone, error) {
	o = o.whole()
	seconds := uint64(math.Ceil(o.CPU.Seconds()))
	over := func(reason string) {
		die("conveyor: read page: " + map[string]string{overCPU: tookCPU(o), overMemory: tookMemory(o)}[reason])
	}
	if err := bound(o.Memory, keepOutput, over); err != nil {
		return nil, err
	}
	if err := boundCPU(seconds); err != nil {
		return nil, fmt.Errorf("limit CPU time: %w", err)
	}
	watch(uint64(o.Memory), over)
	return &Alone{o}, nil
}

// Extract is draft.Read.
func (a *Alone) Extract(ctx context.Context, body []byte, address string) (draft.Extraction, error) {
	return within(ctx, a.o, func() (draft.Extraction, error) { return draft.Read(body, address) })
}

// Canonical is page.Canonical.
func (a *Alone) Canonical(ctx context.Context, body []byte) (string, error) {
	return within(ctx, a.o, func() (string, error) { return page.Canonical(body), nil })
}

// within does a job until it is done, until ctx ends or until it took too long; the job goes on then until the process
// ends, which is soon.
func within[T any](ctx context.Context, o Options, do func() (T, error)) (out T, err error) {
	type result struct {
		out T
		err error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.err = run(func() (err error) { r.out, err = do(); return err })
		done <- r
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-time.After(o.Wall):
		return out, fault.Newf(fault.Transient, "reading it took longer than %s", o.Wall)
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
}

func tookCPU(o Options) string {
	return fmt.Sprintf("reading it takes more than %s of CPU time", o.CPU)
}

func tookMemory(o Options) string {
	return fmt.Sprintf("reading it takes more than %d MiB of memory", o.Memory>>20)
}

func die(reason string) {
	fmt.Fprintln(os.Stderr, reason)
	os.Exit(1)
}
