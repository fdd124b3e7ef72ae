package devstack

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/mtlrent/conveyor/domain/page"
)

// state is the word on one line of the display.
type state string

const (
	waiting    state = "waiting"
	installing state = "installing"
	building   state = "building"
	preparing  state = "preparing"
	starting   state = "starting"
	ready      state = "ready"
	external   state = "external"
	failed     state = "failed"
)

// final states keep their elapsed time.
func (s state) final() bool { return s == ready || s == external || s == failed }

// Progress shows one line for each thing that is being brought up, with its state and how long it has taken so far.
// On a terminal the lines are redrawn in place; elsewhere each change is a line of its own, and a step that takes long
// says every 15 seconds that it is still there.
type Progress struct {
	out   io.Writer
	live  bool
	width int // of the terminal; a line that wraps would spoil the redrawing

	mu    sync.Mutex
	rows  []*progressRow
	drawn int
	stop  chan struct{}
	done  chan struct{}
}

type progressRow struct {
	name, detail string
	state        state
	since, said  time.Time
	took         time.Duration
}

// NewProgress shows it on out; nil is silent.
func NewProgress(out io.Writer) *Progress {
	if out == nil {
		out = io.Discard
	}
	p := &Progress{out: out, stop: make(chan struct{}), done: make(chan struct{})}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.live, p.width = true, 80
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			p.width = w
		}
	}
	go p.tick()
	return p
}

// Starting says that a name is being started.
func (p *Progress) Starting(name string) { p.set(name, starting, "") }

// Ready says that a name is up, and what of it is worth knowing.
func (p *Progress) Ready(name, detail string) { p.set(name, ready, detail) }

// Failed says why a name is not up.
func (p *Progress) Failed(name string, cause error) { p.set(name, failed, cause.Error()) }

// set moves a line to a state. The elapsed time counts from the first state that was not waiting.
func (p *Progress) set(name string, s state, detail string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	row := p.row(name)
	now := time.Now()
	if row.state == s && row.detail == detail {
		return
	}
	if row.since.IsZero() && s != waiting {
		row.since = now
	}
	row.state, row.detail, row.said = s, detail, now
	if s.final() {
		row.took = now.Sub(row.since)
	}
	switch {
	case p.live:
		p.draw()
	case s != waiting:
		_, _ = fmt.Fprintln(p.out, row.line(now))
	}
}

func (p *Progress) row(name string) *progressRow {
	for _, r := range p.rows {
		if r.name == name {
			return r
		}
	}
	r := &progressRow{name: name}
	p.rows = append(p.rows, r)
	return r
}

func (p *Progress) tick() {
	defer close(p.done)
	t := time.NewTicker(250 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
		}
		p.mu.Lock()
		if p.live {
			p.draw()
		} else {
			p.remind(time.Now())
		}
		p.mu.Unlock()
	}
}

func (p *Progress) remind(now time.Time) {
	for _, r := range p.rows {
		if r.state == waiting || r.state.final() || now.Sub(r.said) < 15*time.Second {
			continue
		}
		r.said = now
		_, _ = fmt.Fprintln(p.out, r.line(now))
	}
}

// draw repaints every line in place. The caller holds mu.
func (p *Progress) draw() {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	now := time.Now()
	for _, r := range p.rows {
		fmt.Fprintf(&b, "\x1b[2K%s\n", page.Short(r.line(now), p.width-1))
	}
	p.drawn = len(p.rows)
	_, _ = io.WriteString(p.out, b.String())
}

func (r *progressRow) line(now time.Time) string {
	took := r.took
	if !r.state.final() && !r.since.IsZero() {
		took = now.Sub(r.since)
	}
	elapsed := ""
	if !r.since.IsZero() && r.state != external {
		elapsed = fmt.Sprintf("%.1fs", took.Seconds())
	}
	return strings.TrimRight(fmt.Sprintf("  %-21s %-10s %7s  %s", r.name, r.state, elapsed, oneLine(r.detail)), " ")
}

// Close paints the last state and leaves the lines where they are. After it, set does nothing visible on a terminal
// but print below.
func (p *Progress) Close() {
	close(p.stop)
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.draw()
	}
	p.out = io.Discard
}

// oneLine keeps a detail from breaking the display: the first line, and not all of that if it is long.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return page.Short(s, 90)
}
