package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// StatusCmd shows queues, outbox, dead letters, imports, messages, task queues, platforms and hosts, from GET /queues.
type StatusCmd struct {
	Every time.Duration `help:"Refresh interval." default:"2s"`
	Once  bool          `help:"Print the table once. This is the default when standard output is not a terminal."`
	Check bool          `help:"Print the table once, and exit with 1 when there are warnings."`
	JSON  bool          `name:"json" help:"Print the response of GET /queues once."`
}

// Run prints the status table. On a terminal it refreshes until ctx ends. With --check, warnings are ExitError 1.
func (c *StatusCmd) Run(ctx context.Context, r Client) error {
	if c.Every <= 0 {
		return Usage("read --every: is %s, expected more than 0", c.Every)
	}
	terminal := isatty.IsTerminal(os.Stdout.Fd()) && os.Getenv("TERM") != "dumb"
	s := &statusScreen{api: r, paint: terminal && os.Getenv("NO_COLOR") == ""}
	if terminal && !c.Once && !c.Check && !c.JSON {
		return s.watch(ctx, c.Every)
	}
	now, raw, err := s.look(ctx)
	switch {
	case err != nil:
		return err
	case c.JSON:
		err = printLine(os.Stdout, raw)
	default:
		_, err = io.WriteString(os.Stdout, s.frame(now, nil))
	}
	if err == nil && c.Check && len(now.Warnings) > 0 {
		return ExitError(1)
	}
	return err
}

// statusScreen renders the status table for a terminal or a file.
type statusScreen struct {
	api   Client
	paint bool // with colours
}

func (s *statusScreen) look(ctx context.Context) (r backlog.Report, raw json.RawMessage, err error) {
	if err := s.api.call(ctx, http.MethodGet, "/queues", nil, &raw); err != nil {
		return r, nil, err
	}
	err = json.Unmarshal(raw, &r)
	return r, raw, fault.Wrap(err, "read response to GET /queues")
}

// Terminal control: switch to the alternate screen with cursor and line wrapping off, and back.
const (
	screenOpen  = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	screenClose = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	screenTop   = "\x1b[H"
	lineEnd     = "\x1b[K\r\n"
	screenRest  = "\x1b[J"
)

// watch redraws the table until ctx ends, and leaves the last one on the normal screen. Failed calls to the API are
// shown and tried again.
func (s *statusScreen) watch(ctx context.Context, every time.Duration) error {
	fmt.Print(screenOpen)
	var text string
	defer func() { fmt.Print(screenClose + text) }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last *backlog.Report
	for {
		r, _, err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			text, last = s.colour(inRed, "conveyor: "+Plain(err.Error()))+"\n", nil
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

// cutToScreen cuts a text to the height of the terminal.
func cutToScreen(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if _, height, err := term.GetSize(int(os.Stdout.Fd())); err == nil && len(lines) > height {
		lines = append(lines[:height-1], fmt.Sprintf("… %d more lines; conveyor status --once shows all",
			len(lines)-height+1))
	}
	return strings.Join(lines, lineEnd)
}

// frame renders the whole table. With an earlier report it also shows by how much each backlog has changed since.
func (s *statusScreen) frame(r backlog.Report, before *backlog.Report) string {
	before = cmp.Or(before, &r)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n\n", s.colour(inBold, "conveyor status"), s.api.URL, r.At.Format(time.DateTime+" MST"))
	s.summary(&b, r, before)
	s.queues(&b, r, before)
	s.taskQueues(&b, r, before)
	s.messages(&b, r, before)
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

// summary writes the lines of services, outbox and dead letters.
func (s *statusScreen) summary(b *strings.Builder, r backlog.Report, before *backlog.Report) {
	var services []string
	for _, name := range backlog.Services {
		state, colour := cmp.Or(r.Services[name], "not checked"), inGreen
		switch state {
		case backlog.OK:
		case backlog.Slow:
			colour = inYellow
		default:
			colour = inRed
		}
		services = append(services, name+" "+s.colour(colour, state))
	}
	fmt.Fprintf(b, "services      %s\n", strings.Join(services, " · "))
	if r.Knows(backlog.PartOutbox) {
		fmt.Fprintf(b, "outbox        %s", s.number(r.Outbox.Pending, before.Outbox.Pending))
		if r.Outbox.Pending >= backlog.MostPending {
			fmt.Fprint(b, " or more")
		}
		fmt.Fprint(b, " pending")
		if r.Outbox.Pending > 0 {
			fmt.Fprintf(b, ", the oldest for %s", spanText(r.Outbox.OldestAgeSeconds))
		}
		if r.Outbox.Refused > 0 {
			fmt.Fprintf(b, ", %s", s.colour(inRed, fmt.Sprintf("%d refused", r.Outbox.Refused)))
		}
		fmt.Fprintln(b)
	}
	if r.Knows(backlog.PartDeadLetters) {
		fmt.Fprintf(b, "dead letters  %s open", s.number(r.OpenDeadLetters(), before.OpenDeadLetters()))
		sign := ":"
		for _, d := range r.DeadLetters {
			fmt.Fprintf(b, "%s %d %s (%s)", sign, d.Open, Plain(d.Queue), Plain(d.Class)) // both come from message headers
			sign = ","
		}
		fmt.Fprintln(b)
	}
	if u := r.Unfinished; u.Listings+u.Images > 0 {
		fmt.Fprintf(b, "unfinished    %d adverts, %d images, for more than an hour\n", u.Listings, u.Images)
	}
	if c := r.Crawls; c.Running+c.Paused > 0 {
		fmt.Fprintf(b, "crawls        %d running, %d paused: %s URLs open, %d finished in the last minute\n", c.Running, c.Paused,
			s.number(c.OpenURLs, before.Crawls.OpenURLs), c.FinishedLastMinute)
	}
	s.outreach(b, r, before)
	fmt.Fprintln(b)
}

// outreach writes the lines of imports, webhooks, and messages that do not go.
func (s *statusScreen) outreach(b *strings.Builder, r backlog.Report, before *backlog.Report) {
	line := func(title, unit string, n, most, before int64, age float64) {
		fmt.Fprintf(b, "%-14s%s%s%s", title, s.number(n, before), map[bool]string{true: " or more"}[n >= most], unit)
		if age > 0 {
			fmt.Fprintf(b, ", the oldest for %s", spanText(age))
		}
		fmt.Fprintln(b)
	}
	if i := r.Imports; i.Uploads > 0 {
		line("imports", fmt.Sprintf(" chunks of %d files wait", i.Uploads), i.Chunks, backlog.MostChunks,
			before.Imports.Chunks, i.OldestAgeSeconds)
	}
	if w := r.Webhooks; w.Waiting > 0 {
		line("webhooks", " wait", w.Waiting, backlog.MostWebhooks, before.Webhooks.Waiting, w.OldestAgeSeconds)
	}
	if n := r.News; n.Events > 0 {
		line("news", " events wait for saved searches", n.Events, backlog.MostNews, before.News.Events, n.EventAgeSeconds)
	}
	if m := r.Messages; m.Held+m.Unknown > 0 {
		fmt.Fprintf(b, "messages      %d held back, %d unknown for more than an hour\n", m.Held, m.Unknown)
	}
}

// messages writes how many messages of each tier and kind wait.
func (s *statusScreen) messages(b *strings.Builder, r backlog.Report, before *backlog.Report) {
	t := statusTable{{"MESSAGES", "WAIT", "OLDEST"}}
	for i, m := range r.Messages.Waiting {
		if m.Waiting == 0 {
			continue
		}
		was := m.Waiting
		if i < len(before.Messages.Waiting) {
			was = before.Messages.Waiting[i].Waiting
		}
		t = append(t, []string{m.Kind + " (" + m.Tier + ")", s.number(m.Waiting, was), spanText(m.OldestAgeSeconds)})
	}
	s.print(b, t)
}

func (s *statusScreen) queues(b *strings.Builder, r backlog.Report, before *backlog.Report) {
	was := map[string]int64{}
	for _, q := range slices.Concat(r.Queues, before.Queues) {
		was[q.Name] = q.Ready
	}
	t := statusTable{{"QUEUE", "READY", "UNACKED", "IN/S", "OUT/S", "DONE/S", "CONSUMERS", " "}}
	for _, q := range r.Queues {
		if q.DeadLetters && q.Ready == 0 && q.Warning == "" {
			continue
		}
		remark := s.colour(inRed, q.Warning)
		if !q.Ours && q.Warning == "" {
			remark = s.colour(inFaint, "for others")
		}
		t = append(t, []string{
			q.Name, s.number(q.Ready, was[q.Name]), countText(q.Unacked), rateText(q.PublishRate), rateText(q.DeliverRate),
			rateText(q.AckRate), fmt.Sprint(q.Consumers), remark,
		})
	}
	s.print(b, t)
}

func (s *statusScreen) taskQueues(b *strings.Builder, r backlog.Report, before *backlog.Report) {
	was := map[string]int64{}
	for _, q := range slices.Concat(r.TaskQueues, before.TaskQueues) {
		was[q.Name+q.Type] = q.Backlog
	}
	t := statusTable{{"TASK QUEUE", "WAIT", "OLDEST", "IN/S", "OUT/S", "WORKERS", " "}}
	for _, q := range r.TaskQueues {
		t = append(t, []string{
			q.Name + " (" + q.Type + ")", s.number(q.Backlog, was[q.Name+q.Type]), spanText(q.OldestAgeSeconds),
			rateText(&q.AddRate), rateText(&q.DispatchRate), fmt.Sprint(q.Workers), s.colour(inRed, q.Warning),
		})
	}
	s.print(b, t)
}

// platforms writes the state of every scraper that is not disabled.
func (s *statusScreen) platforms(b *strings.Builder, r backlog.Report) {
	t := statusTable{{"PLATFORM", "ADVERTS", "FAILED", "GONE", "REFUSALS", "LAST PAGE", " "}}
	for _, p := range r.Platforms {
		if p.State == scrape.Disabled {
			continue
		}
		last := "–"
		if p.LastSuccessAt != nil {
			last = spanText(max(time.Second, r.At.Sub(*p.LastSuccessAt)).Seconds()) + " ago"
		}
		state, next := p.State, s.colour(inFaint, Plain(p.Next))
		if state == scrape.Blocked || state == scrape.Suspect {
			state, next = s.colour(inRed, state), Plain(p.Next)
		}
		t = append(t, []string{
			p.Name + " (" + state + ")", fmt.Sprint(p.Adverts.Known), fmt.Sprint(p.Adverts.Failed), fmt.Sprint(p.Adverts.Gone),
			fmt.Sprint(p.Refusals), last, next,
		})
	}
	s.print(b, t)
}

func (s *statusScreen) limits(b *strings.Builder, r backlog.Report) {
	const most = 10
	t := statusTable{{"HOST HELD BACK", "NEXT TURN IN"}}
	for i, h := range r.Limits {
		if i == most {
			t = append(t, []string{fmt.Sprintf("and %d more", len(r.Limits)-most), ""})
			break
		}
		t = append(t, []string{Plain(h.Host) + " (" + h.Limiter + ")", spanText(h.WaitSeconds)})
	}
	s.print(b, t)
}

// number renders a backlog and how it has changed since the previous report.
func (s *statusScreen) number(now, before int64) string {
	n := fmt.Sprint(now)
	if before == now {
		return n
	}
	colour := inGreen
	if now > before {
		colour = inYellow
	}
	return s.colour(colour, fmt.Sprintf("%+d", now-before)) + " " + n
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

// spanText renders a number of seconds as a duration; 0 is a dash.
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

// A statusTable has its header in the first row. The first column is text and left-aligned, the others are numbers and
// right-aligned; a last column headed by a space is text again.
type statusTable [][]string

// print writes the table, unless it has only a header.
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

// Terminal colours, as SGR codes.
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

// shownWidth is the number of columns that a text takes on a terminal, without its colour codes.
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
