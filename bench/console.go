package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// A Budget is a figure of the console beside the most that it may be, or the least.
type Budget struct {
	What    string  `json:"what"`
	Unit    string  `json:"unit"`
	Value   float64 `json:"value"`
	Budget  float64 `json:"budget,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"` // the budget is the least
	Note    string  `json:"note,omitempty"`
}

// over reports whether the budget is not kept.
func (b Budget) over() bool {
	return b.Budget > 0 && (b.AtLeast && b.Value < b.Budget || !b.AtLeast && b.Value > b.Budget)
}

func (r *Report) budget(b Budget) { r.Console = append(r.Console, b) }

func (r Report) printConsole(w io.Writer) {
	const title = "\nthe console in a headless Chromium on the machine of everything else:"
	table(w, title, "measured\tbudget\t\t", r.Console, func(t io.Writer, b Budget) {
		limit, over := "", ""
		if b.Budget > 0 {
			limit = "≤ "
			if b.AtLeast {
				limit = "≥ "
			}
			limit += fmt.Sprintf("%.4g %s", b.Budget, b.Unit)
		}
		if b.over() {
			over = "OVER"
		}
		line := b.What
		if b.Note != "" {
			line += " (" + b.Note + ")"
		}
		fmt.Fprintf(t, "%.4g %s\t%s\t%s\t  %s\n", b.Value, b.Unit, limit, over, line)
	})
}

// console are the scenarios of the pages at /ui/. soak is how long Today is watched at six times the events of an
// ordinary busy hour.
func (h *system) console(ctx context.Context, soak time.Duration, report *Report) []scenario {
	in := func(measure func(*watched) error) func() error {
		return func() error { return h.watchConsole(ctx, report, measure) }
	}
	return []scenario{
		{"console: sizes", func() error { return h.consoleSizes(ctx, report) }},
		{"console: today", in(func(w *watched) error { return w.today(ctx) })},
		{"console: rows", in(func(w *watched) error { return w.rows(ctx) })},
		{"console: tabs", in(func(w *watched) error { return w.tabs(ctx) })},
		{"console: soak", in(func(w *watched) error { return w.soak(ctx, soak) })},
		{"console: lineage", in(func(w *watched) error { return w.lineage(ctx) })},
	}
}

// A watched is the console in a browser, on a system with a few listings.
type watched struct {
	*system
	report  *Report
	browser playwright.Browser
}

// watchConsole starts a browser for a measurement, and ends it.
func (h *system) watchConsole(ctx context.Context, report *Report, measure func(*watched) error) error {
	folder := chromium.DefaultDriver()
	if err := chromium.CheckDriver(folder); err != nil {
		return err
	}
	pw, err := playwright.Run(&playwright.RunOptions{DriverDirectory: folder, SkipInstallBrowsers: true})
	if err != nil {
		return err
	}
	defer func() { _ = pw.Stop() }()
	executable := chromium.Find()
	// The pages are our own: no sandbox is needed against them.
	b, err := pw.Chromium.Launch(playwright.BrowserTypeLaunchOptions{
		ExecutablePath: &executable, Args: []string{"--no-sandbox", "--disable-dev-shm-usage"},
	})
	if err != nil {
		return err
	}
	defer b.Close()
	if err := h.answers(ctx); err != nil {
		return err
	}
	return measure(&watched{system: h, report: report, browser: b})
}

// tab opens a tab of the desktop's size in a browser whose caches are empty. Call the function it returns at the end.
func (w *watched) tab() (playwright.Page, func(), error) {
	c, err := w.browser.NewContext(playwright.BrowserNewContextOptions{
		Viewport: &playwright.Size{Width: 1440, Height: 900}, Locale: playwright.String("en-CA"),
	})
	if err != nil {
		return nil, nil, err
	}
	p, err := c.NewPage()
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return p, func() { _ = c.Close() }, nil
}

// figure asks a page for one figure.
func figure(p playwright.Page, script string, arg ...any) (float64, error) {
	v, err := p.Evaluate(script, arg...)
	if err != nil {
		return 0, err
	}
	switch v := v.(type) {
	case float64:
		return v, nil
	case int:
		return float64(v), nil
	}
	return 0, fmt.Errorf("a page answers %v where a number is expected", v)
}

// Budgets of sizes, in kB of gzip but for fonts.
const (
	budgetFirstJS  = 215
	budgetFirstCSS = 18
	budgetChunk    = 40
	budgetFonts    = 252
)

// libraries are the chunks that may be larger: each is a library that a few pages load.
var libraries = []string{"map", "react", "router"}

var (
	namedByPage = regexp.MustCompile(`(?:src|href)="/ui/(assets/[^"]+)"`)
	namedByCode = regexp.MustCompile(`(?:"|'|\()(?:\./|/ui/)?((?:assets/)?[\w-]+-[\w-]{8}\.(?:js|css|woff2))(?:"|'|\))`)
)

// consoleSizes weighs what the API sends, packed as it sends it.
func (h *system) consoleSizes(ctx context.Context, report *Report) error {
	page, _, err := h.packed(ctx, "")
	if err != nil {
		return err
	}
	var first []string
	for _, m := range namedByPage.FindAllStringSubmatch(string(page), -1) {
		first = append(first, m[1])
	}
	sizes, todo := map[string]float64{}, slices.Clone(first)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if _, seen := sizes[name]; seen {
			continue
		}
		text, size, err := h.packed(ctx, name)
		if err != nil {
			return err
		}
		sizes[name] = float64(size) / 1000
		if strings.HasSuffix(name, ".woff2") {
			continue
		}
		for _, m := range namedByCode.FindAllStringSubmatch(string(text), -1) {
			todo = append(todo, "assets/"+strings.TrimPrefix(m[1], "assets/"))
		}
	}
	var js, css, fonts, all, largest float64
	var which string
	for name, size := range sizes {
		all += size
		base := strings.TrimPrefix(name, "assets/")
		library := slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(base, l+"-") })
		switch {
		case strings.HasSuffix(name, ".woff2"):
			fonts += size
		case slices.Contains(first, name) && strings.HasSuffix(name, ".js"):
			js += size
		case slices.Contains(first, name) && strings.HasSuffix(name, ".css"):
			css += size
		case strings.HasSuffix(name, ".js") && !library && size > largest:
			largest, which = size, base
		}
	}
	report.budget(Budget{What: "first load, JavaScript packed", Unit: "kB", Value: js, Budget: budgetFirstJS})
	report.budget(Budget{What: "first load, styles packed", Unit: "kB", Value: css, Budget: budgetFirstCSS})
	report.budget(Budget{What: "largest chunk of a page", Unit: "kB", Value: largest, Budget: budgetChunk, Note: which})
	report.budget(Budget{What: "fonts", Unit: "kB", Value: fonts, Budget: budgetFonts})
	report.budget(Budget{What: "all files, packed", Unit: "kB", Value: all, Note: fmt.Sprint(len(sizes), " files")})
	return nil
}

// packed reads a file of the console as browsers do, and returns it with the bytes that were sent.
func (h *system) packed(ctx context.Context, name string) (text []byte, size int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.api+"/ui/"+name, nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept-Encoding", "gzip") // set by hand, so that it is not unpacked on the way
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	sent := &counted{r: resp.Body}
	from := io.Reader(sent)
	if resp.Header.Get("Content-Encoding") == "gzip" {
		if from, err = gzip.NewReader(sent); err != nil {
			return nil, 0, err
		}
	}
	if text, err = io.ReadAll(from); err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET /ui/%s: %s", name, resp.Status)
	}
	return text, sent.n, err
}

// A counted counts what is read of it.
type counted struct {
	r io.Reader
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}
