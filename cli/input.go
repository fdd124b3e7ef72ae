package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Until returns in with reads that end when ctx does: nothing interrupts one of standard input, and the first Ctrl-C is
// to end a command that waits for it.
func Until(ctx context.Context, in io.Reader) io.Reader {
	var own []byte // a read that goes on after ctx has ended is to write to nothing of the caller
	return readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if len(own) < len(p) {
			own = make([]byte, len(p))
		}
		type result struct {
			n   int
			err error
		}
		done := make(chan result, 1)
		into := own[:len(p)]
		go func() {
			n, err := in.Read(into)
			done <- result{n, err}
		}()
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case r := <-done:
			return copy(p, into[:r.n]), r.err
		}
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// answer asks a question and returns the line that follows; the end of the input, or of ctx, is an empty one. An input
// without a line, such as that of a cron job, will never have an answer.
func answer(ctx context.Context, in io.Reader, out io.Writer, question string) string {
	fmt.Fprint(out, question)
	line, err := bufio.NewReader(Until(ctx, in)).ReadString('\n')
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(out) // what is said next does not belong to the question
	case line == "" && errors.Is(err, io.EOF):
		fmt.Fprintln(out, "\nstandard input has no answer: --yes goes without one")
	}
	return strings.TrimSpace(line)
}

// confirmed asks a question and reads the answer: only y and yes, in any case, confirm.
func confirmed(ctx context.Context, in io.Reader, out io.Writer, question string) bool {
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(answer(ctx, in, out, question+" [y/N] ")))
}
