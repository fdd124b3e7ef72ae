package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/scrape"
)

type statusCmd struct {
	Every time.Duration `help:"Time between two looks." default:"2s"`
	Once  bool          `help:"Print the table once. That is so anyway where the output is no terminal."`
	Check bool          `help:"Print it once, and exit with 1 when something is wrong."`
	JSON  bool          `name:"json" help:"Print the answer of GET /queues once."`
}

// Run prints what waits where. On a terminal it goes on until Ctrl-C.
func (c *statusCmd) Run(ctx context.Context) error {
	if c.Every <= 0 {
		return fmt.Errorf("read --every: is %s, expected more than 0", c.Every)
	}
	api, err := newRemote()
	if err != nil {
		return err
	}
	terminal := isatty.IsTerminal(os.Stdout.Fd()) && os.Getenv("TERM") != "dumb"
	s := &statusScreen{api: api, paint: terminal && os.Getenv("NO_COLOR") == ""}
	if terminal && !c.Once && !c.Check && !c.JSON {
		return s.watch(ctx, c.Every)
	}
	r, raw, err := s.look(ctx)
	switch {
	case err != nil:
		return err
	case c.JSON:
		err = json.NewEncoder(os.Stdout).Encode(raw)
	default:
		_, err = io.WriteString(os.Stdout, s.frame(r, nil))
	}
	if err == nil && c.Check && len(r.Warnings) > 0 {
		return exitError(1)
	}
	return err
}

// statusScreen is the table on its way to a terminal or a file.
type statusScreen struct {
	api   remote
	paint bool // colours are wanted
}

func (s *statusScreen) look(ctx context.Context) (r api.Report, raw json.RawMessage, err error) {
	if err := s.api.call(ctx, http.MethodGet, "/queues", nil, &raw); err != nil {
		return r, nil, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, nil, fmt.Errorf("read the answer of GET /queues: %w", err)
	}
	return r, raw, nil
}

// What a terminal is told: another screen without cursor and line breaks of its own, and back.
const (
	screenOpen  = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	screenClose = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	screenTop   = "\x1b[H"
	lineEnd     = "\x1b[K\r\n"
	screenRest  = "\x1b[J"
)

// watch draws the table over itself until ctx ends, and leaves the last one behind. An API that is away may come back.
func (s *statusScreen) watch(ctx context.Context, every time.Duration) error {
	fmt.Print(screenOpen)
	var text string
	defer func() { fmt.Print(screenClose + text) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last *api.Report
	for {
		r, _, err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			text, last = s.colour(inRed, "conveyor: "+err.Error())+"\n", nil
		default:
			text, last = s.frame(r, last), &r
		}
		fmt.Print(screenTop + cutToScreen(text) + screenRest)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// cutToScreen cuts a text to the lines that the terminal has.
func cutToScreen(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if _, height, err := term.GetSize(int(os.Stdout.Fd())); err == nil && len(lines) > height {
		lines = append(lines[:height-1], fmt.Sprintf("… %d more lines; conveyor status --once shows all",
			len(lines)-height+1))
	}
	return strings.Join(lines, lineEnd)
}

// frame is the whole table. With an earlier report it says how what waits has changed since.
func (s *statusScreen) frame(r api.Report, before *api.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n\n", s.colour(inBold, "conveyor status"), s.api.url, r.At.Format(time.DateTime+" MST"))
	s.summary(&b, r, before)
	s.queues(&b, r, before)
	s.taskQueues(&b, r, before)
	s.platforms(&b, r)
	s.limits(&b, r)
	for _, w := range r.Warnings {
		fmt.Fprintln(&b, s.colour(inRed, "! "+w))
	}
	if len(r.Warnings) == 0 {
		fmt.Fprintln(&b, s.colour(inGreen, "nothing is wrong"))
	}
	return b.String()
}

// summary is what has one line each: services, outbox, dead letters.
func (s *statusScreen) summary(b *strings.Builder, r api.Report, before *api.Report) {
	var services []string
	for _, name := range backlog.Services {
		state, colour := cmp.Or(r.Services[name], "not asked"), inGreen
		if state != backlog.OK {
			colour = inRed
		}
		services = append(services, name+" "+s.colour(colour, state))
	}
	fmt.Fprintf(b, "services      %s\n", strings.Join(services, " · "))
	if r.Services[backlog.Postgres] == backlog.OK {
		events, letters := change{now: r.Outbox.Pending}, change{now: r.OpenDeadLetters()}
		if before != nil {
			events.before, letters.before = &before.Outbox.Pending, new(before.OpenDeadLetters())
		}
		fmt.Fprintf(b, "outbox        %s pending", s.number(events))
		if r.Outbox.Pending > 0 {
			fmt.Fprintf(b, ", the oldest for %s", spanText(r.Outbox.OldestAgeSeconds))
		}
		if r.Outbox.Refused > 0 {
			fmt.Fprintf(b, ", %s", s.colour(inRed, fmt.Sprintf("%d refused", r.Outbox.Refused)))
		}
		fmt.Fprintf(b, "\ndead letters  %s open", s.number(letters))
		sign := ":"
		for _, d := range r.DeadLetters {
			fmt.Fprintf(b, "%s %d %s (%s)", sign, d.Open, plain(d.Queue), plain(d.Class)) // strangers may have written it
			sign = ","
		}
		fmt.Fprintln(b)
	}
	fmt.Fprintln(b)
}

func (s *statusScreen) queues(b *strings.Builder, r api.Report, before *api.Report) {
	was := map[string]int64{}
	if before != nil {
		for _, q := range before.Queues {
			was[q.Name] = q.Ready
		}
	}
	t := statusTable{{"QUEUE", "READY", "UNACKED", "IN/S", "OUT/S", "DONE/S", "CONSUMERS", " "}}
	for _, q := range r.Queues {
		if q.DeadLetters && q.Ready == 0 && q.Warning == "" {
			continue
		}
		ready := change{now: q.Ready}
		if n, ok := was[q.Name]; ok {
			ready.before = &n
		}
		remark := s.colour(inRed, q.Warning)
		if !q.Ours && q.Warning == "" {
			remark = s.colour(inFaint, "for others")
		}
		t = append(t, []string{
			q.Name, s.number(ready), countText(q.Unacked), rateText(q.PublishRate), rateText(q.DeliverRate), rateText(q.AckRate),
			fmt.Sprint(q.Consumers), remark,
		})
	}
	s.print(b, t)
}

func (s *statusScreen) taskQueues(b *strings.Builder, r api.Report, before *api.Report) {
	was := map[string]int64{}
	if before != nil {
		for _, q := range before.TaskQueues {
			was[q.Name+q.Type] = q.Backlog
		}
	}
	t := statusTable{{"TASK QUEUE", "WAIT", "OLDEST", "IN/S", "OUT/S", "WORKERS", " "}}
	for _, q := range r.TaskQueues {
		tasks := change{now: q.Backlog}
		if n, ok := was[q.Name+q.Type]; ok {
			tasks.before = &n
		}
		t = append(t, []string{
			q.Name + " (" + q.Type + ")", s.number(tasks), spanText(q.OldestAgeSeconds), rateText(&q.AddRate),
			rateText(&q.DispatchRate), fmt.Sprint(q.Workers), s.colour(inRed, q.Warning),
		})
	}
	s.print(b, t)
}

// platforms says how the scrapers stand that somebody wants.
func (s *statusScreen) platforms(b *strings.Builder, r api.Report) {
	t := statusTable{{"PLATFORM", "ADVERTS", "FAILED", "GONE", "REFUSALS", "LAST PAGE", " "}}
	for _, p := range r.Platforms {
		if p.State == scrape.Disabled {
			continue
		}
		last := "–"
		if p.LastSuccessAt != nil {
			last = spanText(max(time.Second, r.At.Sub(*p.LastSuccessAt)).Seconds()) + " ago"
		}
		state, next := p.State, s.colour(inFaint, plain(p.Next))
		if state == scrape.Blocked || state == scrape.Suspect {
			state, next = s.colour(inRed, state), plain(p.Next)
		}
		t = append(t, []string{
			p.Name + " (" + state + ")", fmt.Sprint(p.Adverts.Known), fmt.Sprint(p.Adverts.Failed), fmt.Sprint(p.Adverts.Gone),
			fmt.Sprint(p.Refusals), last, next,
		})
	}
	s.print(b, t)
}

func (s *statusScreen) limits(b *strings.Builder, r api.Report) {
	const most = 10
	t := statusTable{{"HOST HELD BACK", "NEXT TURN IN"}}
	for i, h := range r.Limits {
		if i == most {
			t = append(t, []string{fmt.Sprintf("and %d more", len(r.Limits)-most), ""})
			break
		}
		t = append(t, []string{plain(h.Host) + " (" + h.Limiter + ")", spanText(h.WaitSeconds)})
	}
	s.print(b, t)
}

// change is how much waits, and how much did at the last look.
type change struct {
	now    int64
	before *int64
}

// number says how much waits, and how that has changed.
func (s *statusScreen) number(w change) string {
	n := fmt.Sprint(w.now)
	if w.before == nil || *w.before == w.now {
		return n
	}
	colour := inGreen
	if w.now > *w.before {
		colour = inYellow
	}
	return s.colour(colour, fmt.Sprintf("%+d", w.now-*w.before)) + " " + n
}

func countText(n *int64) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprint(*n)
}

func rateText(r *float64) string {
	if r == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", *r)
}

// spanText writes seconds for people; none is a dash.
func spanText(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d <= 0:
		return "–"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// A statusTable's first row is its header; the first column is words, what follows are numbers, and a last one without
// a name is words again.
type statusTable [][]string

// print writes a table that has more than a header.
func (s *statusScreen) print(b *strings.Builder, t statusTable) {
	if len(t) < 2 {
		return
	}
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], shownWidth(cell))
		}
	}
	for n, row := range t {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-shownWidth(cell))
			if i == 0 || t[0][i] == " " {
				line.WriteString(cell + space + "  ")
			} else {
				line.WriteString(space + cell + "  ")
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if n == 0 {
			text = s.colour(inFaint, text)
		}
		fmt.Fprintln(b, text)
	}
	fmt.Fprintln(b)
}

// The colours of a terminal, as it is told them.
const (
	inBold   = "1"
	inFaint  = "2"
	inRed    = "31"
	inGreen  = "32"
	inYellow = "33"
)

func (s *statusScreen) colour(code, text string) string {
	if !s.paint || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// shownWidth is how many places a text takes on a terminal, without its colours.
func shownWidth(text string) int {
	n, colour := 0, false
	for _, r := range text {
		switch {
		case r == '\x1b':
			colour = true
		case colour:
			colour = r != 'm'
		default:
			n++
		}
	}
	return n
}
