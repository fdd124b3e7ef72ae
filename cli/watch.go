package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A watch shows the progress of something until it ends: in one line that changes, or a line now and then.
type watch[T any] struct {
	api   Client
	path  string                            // of its state
	line  func(T) string                    // its progress
	state func(T) (name string, ended bool) // a line is written when the name changes
	left  string                            // what goes on after watching was stopped
	out   io.Writer
	live  bool          // out is a terminal
	every time.Duration // between two lines
}

// onto has the progress shown on a file: live, where that is a terminal.
func (w watch[T]) onto(f *os.File) watch[T] {
	w.out, w.every = f, 10*time.Second
	if isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb" {
		w.live, w.every = true, time.Second
	}
	return w
}

// run returns the last state.
func (w watch[T]) run(ctx context.Context) (last T, err error) {
	defer w.clear()
	shown, name := time.Time{}, ""
	return poll(ctx, w.api, w.path, "; "+w.left, 1, func(got T) (ended bool) {
		now, ended := w.state(got)
		if w.live || now != name || time.Since(shown) >= w.every {
			w.show(got)
			shown = time.Now()
		}
		name = now
		return ended
	})
}

// toEnd shows the progress, and prints the last state as printAs does. One that is not well is ExitError 1.
func (w watch[T]) toEnd(ctx context.Context, asJSON bool, text func(io.Writer, T) error, well func(T) bool) error {
	last, err := w.onto(os.Stderr).run(ctx)
	if err == nil {
		err = printAs(os.Stdout, last, asJSON, text)
	}
	if err == nil && !well(last) {
		return ExitError(1)
	}
	return err
}

// pollMisses is for how many seconds calls in a row may fail before there was a state: the API may be restarted. After
// one the address is right, and the API may be away for as long as pollPatience: another release is installed.
const (
	pollMisses   = 30
	pollPatience = 300
)

// poll asks the API for a state, looks times a second, until seen says that it is the last, and returns it. left says
// what goes on when it ends before, as ctx does or as the API is away for long. A request that is wrong ends it at
// once; one for something that does not exist, or no longer, leaves nothing that goes on.
func poll[T any](
	ctx context.Context, r Client, path, left string, looks int, seen func(T) (ended bool),
) (last T, err error) {
	tick := time.NewTicker(time.Second / time.Duration(looks))
	defer tick.Stop()
	for misses, most := 0, pollMisses; ; {
		var wrong refused
		var got T // a new value each time: a field that the response leaves out must not keep its old value
		switch err := r.call(ctx, http.MethodGet, path, nil, &got); {
		case err == nil:
			last, misses, most = got, 0, pollPatience
			if seen(got) {
				return last, nil
			}
		case ctx.Err() != nil:
		case errors.As(err, &wrong) && wrong.ofCaller() && (most == pollMisses || wrong.ofNothing()):
			return last, err
		case errors.As(err, &wrong) && wrong.ofCaller():
			return last, stopped(left, err)
		default:
			if misses++; misses > most*looks {
				return last, stopped(left, err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, errors.New("stopped watching" + left)
		}
	}
}

// stopped is the error of watching that ended for another error before what is watched did.
func stopped(left string, err error) error { return fmt.Errorf("stopped watching%s: %w", left, err) }

// Progress is a bar on a file, shown where that is a terminal; of is -1 where nobody knows the end.
func Progress(f *os.File, what string, of int64, options ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(of, append(options, progressbar.OptionSetWriter(f),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(isatty.IsTerminal(f.Fd())))...)
}

func (w watch[T]) show(got T) {
	line := w.line(got)
	if !w.live {
		fmt.Fprintln(w.out, line)
		return
	}
	if columns := columnsOf(w.out); columns > 1 {
		line = Short(line, columns-1)
	}
	fmt.Fprintf(w.out, "\r\x1b[K%s", line)
}

// clear takes the live line away.
func (w watch[T]) clear() {
	if w.live {
		fmt.Fprint(w.out, "\r\x1b[K")
	}
}

// columnsOf is the width of a terminal; 0 where out is none.
func columnsOf(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
