package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// command is the argument that makes this program a child.
const command = "confined-reader"

// What a child says that ends because its job has taken more than it may.
const (
	overCPU    = "CPU time limit exceeded"
	overMemory = "memory limit exceeded"
)

// A child is replaced after so many jobs, or when it holds so much memory after one. Less than that it gives back to
// the system while it waits for the next job.
const (
	maxJobs = 1_000
	maxHeld = 256 << 20 // bytes
	maxIdle = 64 << 20  // bytes
)

// Child does jobs until its parent closes standard input, where the program was started as a child; it does not return
// then. A program that makes a Pool calls it before anything else.
func Child() {
	if len(os.Args) != 3 || os.Args[1] != command {
		return
	}
	if err := serve(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A job reads data by its parameters, in JSON. out is encoded as JSON; blobs come beside it.
type job func(in json.RawMessage, data []byte) (out any, blobs [][]byte, err error)

func serve(memory string) error {
	most, err := strconv.ParseInt(memory, 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM) // those are for the parent, which lets jobs finish
	if err := bound(most, noFiles, die); err != nil {
		return err
	}
	for done := 1; ; done++ {
		parts, err := read(os.Stdin)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || len(parts) != 4 {
			return fmt.Errorf("read job: %w", err)
		}
		seconds, _ := strconv.ParseUint(string(parts[1]), 10, 32)
		if err := boundCPU(seconds); err != nil {
			return fmt.Errorf("limit CPU time: %w", err)
		}
		watched := watch(uint64(most), die)
		var (
			out   any
			blobs [][]byte
		)
		err = run(func() (err error) {
			do := jobs[string(parts[0])]
			if do == nil {
				return fault.Newf(fault.Invalid, "there is no such job")
			}
			out, blobs, err = do(parts[2], parts[3])
			return err
		})
		watched()
		if err := unboundCPU(); err != nil { // or reading the next job, which may be large, would count as this one
			return fmt.Errorf("lift limit of CPU time: %w", err)
		}
		result, wrong := json.Marshal(out)
		if err == nil && wrong != nil { // the same next time
			err = fault.Newf(fault.Invalid, "write result: %w", wrong)
		}
		result = withoutNUL(result)
		o := outcomeOf(err)
		o.Last = done >= maxJobs || held() > maxHeld
		head, err := json.Marshal(o)
		if err != nil {
			return err
		}
		if err := write(os.Stdout, append([][]byte{head, result}, blobs...)...); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
		if o.Last {
			return nil
		}
		if held() > maxIdle {
			debug.FreeOSMemory()
		}
	}
}

// withoutNUL drops NUL characters from the strings of a JSON document, where they are escapes: some pages have them in
// their data, and no store takes them.
func withoutNUL(doc []byte) []byte {
	escape := []byte(`\u0000`)
	if !bytes.Contains(doc, escape) {
		return doc
	}
	out := doc[:0]
	for i := 0; i < len(doc); {
		n := 1
		if doc[i] == '\\' {
			if bytes.HasPrefix(doc[i:], escape) {
				i += len(escape)
				continue
			}
			n = 2
		}
		out = append(out, doc[i:i+n]...)
		i += n
	}
	return out
}

// An output is what a process may still write to once it is bounded.
type output bool

const (
	noFiles    output = false // pipes
	keepOutput output = true  // what it has open, files as well: a user's "> page.json"
)

// bound limits what this process may take from now on: so many bytes, most, beside the program. It calls over when the
// CPU time of boundCPU is used up, and nothing but the kernel stops it from taking more memory; see watch.
func bound(most int64, out output, over func(reason string)) error {
	used := make(chan os.Signal, 1)
	signal.Notify(used, syscall.SIGXCPU)
	go func() { // until the process ends
		<-used
		over(overCPU)
	}()
	time.Sleep(time.Nanosecond) // opens what timers of the runtime need, while there may be files
	debug.SetGCPercent(400)     // jobs are short, and memory is bounded
	debug.SetMemoryLimit(most - most/4)
	debug.SetMaxStack(64 << 20)
	return fault.Wrap(confine(most+most/2, out), "limit this process")
}

// run does a job. A panic is the input's fault: the same code on the same input would panic again.
func run(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = web.Unrecognized("the parser panicked: %.200s", fmt.Sprint(p))
		}
	}()
	return do()
}

// watch calls over when the process holds more bytes than it may, until the returned function is called. The kernel's
// limit is above that one: where it is reached, the runtime ends with any of its errors.
func watch(most uint64, over func(reason string)) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if held() > most {
					over(overMemory)
				}
			}
		}
	}()
	return func() { close(done) }
}

// held is how many bytes this process has from the system.
func held() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// An outcome is how a job ended.
type outcome struct {
	Error   string        `json:"error,omitempty"`
	Class   fault.Class   `json:"class,omitempty"` // of the error
	After   time.Duration `json:"after,omitempty"` // of the error
	Refusal string        `json:"refusal,omitempty"`
	Shape   string        `json:"shape,omitempty"`
	Last    bool          `json:"last"` // this child does no other job
}

var lastMark = []byte(`"last":true`)

func outcomeOf(err error) (o outcome) {
	if err == nil {
		return o
	}
	o.Error = err.Error()
	o.Class, o.After = fault.Of(err)
	if r := web.RefusalOf(err); r != nil {
		o.Refusal = r.Reason
	}
	if shape, ok := errors.AsType[*web.ShapeError](err); ok {
		o.Shape = shape.What
	}
	return o
}

// err is the error of a job with its text, its class and, in its chain, what it is.
func (o outcome) err() error {
	if o.Error == "" {
		return nil
	}
	told := told{text: o.Error}
	switch {
	case o.Refusal != "":
		told.is = &web.Refusal{Reason: o.Refusal}
	case o.Shape != "":
		told.is = &web.ShapeError{What: o.Shape}
	}
	return &fault.Error{Class: o.Class, After: o.After, Err: told}
}

// told is an error that another process told.
type told struct {
	text string
	is   error
}

func (t told) Error() string { return t.text }
func (t told) Unwrap() error { return t.is }
