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

// watchMisses is how many calls in a row may fail, a second apart: the API may be restarted.
const watchMisses = 30

// run returns the last state.
func (w watch[T]) run(ctx context.Context) (last T, err error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	defer w.clear()
	shown, name, ended := time.Time{}, "", false
	for misses := 0; ; {
		var got T // a new value each time: a field that the response leaves out must not keep its old value
		switch err := w.api.call(ctx, http.MethodGet, w.path, nil, &got); {
		case err == nil:
			last, misses = got, 0
			now, over := w.state(got)
			if w.live || now != name || time.Since(shown) >= w.every {
				w.show(got)
				shown = time.Now()
			}
			name, ended = now, over
		case ctx.Err() != nil:
		default:
			if misses++; misses > watchMisses {
				return last, err
			}
		}
		if ended {
			return last, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, errors.New("stopped watching; " + w.left)
		}
	}
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
