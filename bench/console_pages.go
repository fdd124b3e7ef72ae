package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/playwright-community/playwright-go"

	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// watchScript runs in each page before its own scripts: it notes when Today is usable, long tasks and moved layout.
const watchScript = `(() => {
  const seen = (window.benchSeen = { usable: 0, longest: 0, shift: 0 });
  const observe = (type, note) =>
    new PerformanceObserver((l) => l.getEntries().forEach(note)).observe({ type, buffered: true });
  observe('longtask', (e) => (seen.longest = Math.max(seen.longest, e.duration)));
  observe('layout-shift', (e) => e.hadRecentInput || (seen.shift += e.value));
  const look = () => {
    const there = ['.waiting tbody tr', '.lines svg', '.feed tr'].every((s) => document.querySelector(s));
    if (there)
      requestAnimationFrame(() => (seen.usable = performance.now()));
    else requestAnimationFrame(look);
  };
  look();
})()`

const (
	todayTimes  = 5                // loads of which the median is reported
	scrollTimes = 3                // parts of a table that are scrolled through, one after another
	settled     = 3 * time.Second  // after which a page that was loaded moves no more
	patience    = 60 * time.Second // for anything that a page should do at once
)

// until waits until a script, of a condition, is true on a page. The page's policy allows no script that waits there.
func until(ctx context.Context, p playwright.Page, script string) error {
	for began := time.Now(); time.Since(began) < patience; {
		v, err := p.Evaluate(script)
		if v == true || err != nil {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("after %s it is not so that %s", patience, script)
}

// today loads Today with empty caches and with full ones.
func (w *watched) today(ctx context.Context) error {
	figures := map[string][]float64{}
	load := func(p playwright.Page, how string) error {
		if err := w.browser.StartTracing(playwright.BrowserStartTracingOptions{
			Page: p, Categories: []string{"toplevel"},
		}); err != nil {
			return err
		}
		if _, err := p.Goto(w.api + "/ui/"); err != nil {
			return err
		}
		if err := until(ctx, p, "benchSeen.usable > 0"); err != nil {
			return err
		}
		if err := pause(ctx, settled); err != nil {
			return err
		}
		trace, err := w.browser.StopTracing()
		if err != nil {
			return err
		}
		most, err := busiest(trace)
		if err != nil {
			return err
		}
		figures[how+" busiest"] = append(figures[how+" busiest"], most)
		for _, name := range []string{"usable", "longest", "shift"} {
			v, err := figure(p, "benchSeen."+name)
			if err != nil {
				return err
			}
			figures[how+" "+name] = append(figures[how+" "+name], v)
		}
		return nil
	}
	for range todayTimes {
		p, end, err := w.tab()
		if err != nil {
			return err
		}
		err = p.AddInitScript(playwright.Script{Content: playwright.String(watchScript)})
		if err == nil {
			err = errors.Join(load(p, "cold"), load(p, "warm"))
		}
		end()
		if err != nil {
			return err
		}
	}
	for _, b := range []struct {
		key, what, unit string
		budget          float64
	}{
		{"cold usable", "Today usable, empty caches", "ms", 1200},
		{"warm usable", "Today usable, full caches", "ms", 500},
		{"cold longest", "… longest task, empty caches", "ms", 120},
		{"cold busiest", "… the most CPU that a task takes, empty caches", "ms", 120},
		{"warm longest", "… longest task, full caches", "ms", 120},
		{"warm busiest", "… the most CPU that a task takes, full caches", "ms", 120},
		{"cold shift", "… layout moved (CLS)", "", .02},
	} {
		list := figures[b.key]
		slices.Sort(list)
		w.report.budget(Budget{
			What: b.what, Unit: b.unit, Value: list[len(list)/2], Budget: b.budget,
			Note: fmt.Sprintf("median of %d", len(list)),
		})
	}
	return nil
}

// busiest is the most CPU time in ms that a task of a page's main thread took, of a trace of Chromium. A task may last
// longer: on two cores it waits for the browser's other threads, and for the services.
func busiest(trace []byte) (most float64, err error) {
	var t struct {
		Events []struct {
			Name     string  `json:"name"`
			Process  int     `json:"pid"`
			Thread   int     `json:"tid"`
			CPU      float64 `json:"tdur"` // µs
			Metadata struct {
				Name string `json:"name"`
			} `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(trace, &t); err != nil {
		return 0, fmt.Errorf("read a trace: %w", err)
	}
	pages := map[[2]int]bool{}
	for _, e := range t.Events {
		if e.Name == "thread_name" && e.Metadata.Name == "CrRendererMain" {
			pages[[2]int{e.Process, e.Thread}] = true
		}
	}
	for _, e := range t.Events {
		if e.Name == "ThreadControllerImpl::RunTask" && pages[[2]int{e.Process, e.Thread}] {
			most = max(most, e.CPU/1000)
		}
	}
	if most == 0 {
		return 0, errors.New("a trace tells of no task")
	}
	return most, nil
}

// sqlConsoleRun makes the URLs of a finished run: a page has up to ten that were found on it first.
const sqlConsoleRun = `
WITH seed AS (SELECT min(id) AS id FROM crawl_urls WHERE run_id = $1)
INSERT INTO crawl_urls (run_id, url_key, seq, depth, status, http_status, host, normalized_url, title, took_ms,
    visited_at, created_at, updated_at, discovered_from_url_id)
SELECT $1, md5('/page/' || n)::uuid, n + 1, 1 + floor(log(10, n + 9))::int,
    CASE n % 50 WHEN 0 THEN 'NOT_FOUND' WHEN 1 THEN 'FORBIDDEN' ELSE 'VISITED' END,
    CASE n % 50 WHEN 0 THEN 404 WHEN 1 THEN 403 ELSE 200 END, 'bench.example', 'https://bench.example/page/' || n,
    'Page ' || n, 20 + n % 90, now(), now(), now(), seed.id + (n - 1) / 10
FROM generate_series(1, $2::int - 1) n, seed`

const sqlConsoleSeed = `
UPDATE crawl_urls SET status = 'VISITED', http_status = 200 WHERE run_id = $1 AND status = 'QUEUED'`

const sqlConsoleCounts = `
UPDATE crawl_runs SET status = 'COMPLETED', finished_at = now(), seq = $2, discovered = $2, admitted = $2,
    visited = (SELECT count(*) FROM crawl_urls WHERE run_id = $1 AND status = 'VISITED'),
    not_found = (SELECT count(*) FROM crawl_urls WHERE run_id = $1 AND status = 'NOT_FOUND'),
    forbidden = (SELECT count(*) FROM crawl_urls WHERE run_id = $1 AND status = 'FORBIDDEN')
WHERE id = $1`

// run stores a finished crawl run of n URLs and returns its ID.
func (w *watched) run(ctx context.Context, n int) (int64, error) {
	root, err := web.Canonical("https://bench.example/")
	if err != nil {
		return 0, err
	}
	run, err := dbcrawl.NewCrawls(w.db).Create(ctx, dbcrawl.NewRun{
		SeedURL: root.URL, Root: root, AllowedHosts: []string{root.Host}, Settings: crawl.Defaults, By: "bench",
	}, time.Now().Add(24*time.Hour)) // until then no worker gives it a workflow
	if err != nil {
		return 0, err
	}
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{sqlConsoleRun, []any{run.ID, n}},
		{sqlConsoleSeed, []any{run.ID}},
		{sqlConsoleCounts, []any{run.ID, n}},
		{"VACUUM ANALYZE crawl_urls", nil},
	} {
		if _, err := w.db.Exec(ctx, s.sql, s.args...); err != nil {
			return 0, err
		}
	}
	return run.ID, nil
}

// scrollScript scrolls the longest list of a page for ms, a third of a screen a frame, and returns frames a second, the
// longest frame in ms, and the most rows that were in the document.
const scrollScript = `async (ms) => {
  const all = [document.scrollingElement, ...document.querySelectorAll('main *')];
  const list = all.reduce((a, b) => (b.scrollHeight - b.clientHeight > a.scrollHeight - a.clientHeight &&
    (b === all[0] || /auto|scroll/.test(getComputedStyle(b).overflowY)) ? b : a));
  window.benchList = list;
  let frames = 0, longest = 0, rows = 0, last = performance.now();
  const until = last + ms;
  while (last < until) {
    list.scrollTop += innerHeight / 3;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    frames++;
    rows = Math.max(rows, document.querySelectorAll('main tbody tr, main [role=row]').length);
  }
  return [frames / (ms / 1000), longest, rows];
}`

// jumpScript jumps to the end of that list and returns the ms until the last URL is shown; 0 = it was not.
const jumpScript = `async ([text, patience]) => {
  const began = performance.now();
  while (performance.now() - began < patience) {
    benchList.scrollTop = benchList.scrollHeight;
    await new Promise(requestAnimationFrame);
    if ([...document.querySelectorAll('main tbody tr, main [role=row]')].some((r) => r.textContent.includes(text)))
      return performance.now() - began;
  }
  return 0;
}`

// pageOfRun opens the page of a run with n URLs, which end closes.
func (w *watched) pageOfRun(ctx context.Context, n int) (p playwright.Page, end func(), err error) {
	id, err := w.run(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	if p, end, err = w.tab(); err != nil {
		return nil, nil, err
	}
	if _, err := p.Goto(fmt.Sprintf("%s/ui/crawl/%d", w.api, id)); err != nil {
		end()
		return nil, nil, err
	}
	return p, end, nil
}

const rowsOfRun = 100_000

// rows scrolls through the table of a run's URLs.
func (w *watched) rows(ctx context.Context) error {
	p, end, err := w.pageOfRun(ctx, rowsOfRun)
	if err != nil {
		return err
	}
	defer end()
	if err := p.GetByText("/page/").First().WaitFor(playwright.LocatorWaitForOptions{
		Timeout: playwright.Float(float64(patience.Milliseconds())),
	}); err != nil {
		return err
	}
	if err := pause(ctx, settled); err != nil {
		return err
	}
	var fps []float64
	var longest, inDocument float64
	for range scrollTimes {
		got, err := p.Evaluate(scrollScript, 5000)
		if err != nil {
			return err
		}
		var f [3]float64
		for i, v := range got.([]any) { //nolint:forcetypeassert // what the script returns
			switch v := v.(type) {
			case float64:
				f[i] = v
			case int:
				f[i] = float64(v)
			}
		}
		fps = append(fps, f[0])
		longest, inDocument = max(longest, f[1]), max(inDocument, f[2])
	}
	slices.Sort(fps)
	jumped, err := figure(p, jumpScript, []any{fmt.Sprint("/page/", rowsOfRun-1), 20_000})
	if err != nil {
		return err
	}
	w.report.budget(Budget{What: "100,000 URLs: rows in the document", Value: inDocument, Budget: 60})
	w.report.budget(Budget{
		What: "100,000 URLs: frames a second while scrolling", Value: fps[len(fps)/2], Budget: 50, AtLeast: true,
		Note: fmt.Sprintf("median of %d, the slowest %.0f; longest frame %.0f ms", len(fps), fps[0], longest),
	})
	if jumped == 0 {
		w.report.budget(Budget{What: "100,000 URLs: jump to the end", Unit: "s", Note: "not there after 20 s"})
	} else {
		w.report.budget(Budget{What: "100,000 URLs: jump to the end", Unit: "ms", Value: jumped, Budget: 200})
	}
	return nil
}

const nodes = 50_000

// lineage draws a run's graph and moves it. The page says what its worker needed, in attributes beside data-drawn.
func (w *watched) lineage(ctx context.Context) error {
	p, end, err := w.pageOfRun(ctx, nodes)
	if err != nil {
		return err
	}
	defer end()
	drawn := fmt.Sprintf("Number(document.querySelector('[data-drawn]')?.dataset.drawn) >= %d", nodes)
	if err := until(ctx, p, drawn); err != nil {
		return fmt.Errorf("the lineage is not drawn: %w", err)
	}
	box, err := p.Locator("[data-drawn]").BoundingBox()
	if err != nil || box == nil {
		return fmt.Errorf("the lineage has no place on the page: %w", err)
	}
	frames := func() (n float64, drawing share, err error) {
		n, err = figure(p, "Number(document.querySelector('[data-drawn]').dataset.frames ?? 0)")
		return n, threads("DedicatedWorker"), err
	}
	x, y := box.X+box.Width/2, box.Y+box.Height/2
	mouse := p.Mouse()
	before, was, err := frames()
	if err != nil {
		return err
	}
	if err := errors.Join(mouse.Move(x, y), mouse.Down()); err != nil {
		return err
	}
	for i := range 120 { // there and back
		if err := mouse.Move(x+float64(i%60)*3, y+float64(i%40)*2); err != nil {
			return err
		}
	}
	after, is, err := frames()
	if err != nil {
		return err
	}
	if after == before {
		return errors.New("the lineage was dragged and drew no frame")
	}
	cost := fmt.Sprintf("on average %.1f ms of its thread's CPU, and %.1f waiting for a core",
		(is.ran-was.ran)/(after-before)/1e6, (is.waited-was.waited)/(after-before)/1e6)
	if err := mouse.Up(); err != nil {
		return err
	}
	for i := range 60 { // nearer, and back
		by := 60.0
		if i < 30 {
			by = -by
		}
		if err := mouse.Wheel(0, by); err != nil {
			return err
		}
	}
	if err := pause(ctx, settled); err != nil {
		return err
	}
	for _, b := range []struct {
		attribute, what, note string
		budget                float64
	}{
		{"layoutMs", "layout", "", 150},
		{"movingMs", "a moving frame, 95 of 100 within", cost, 16},
		{"zoomingMs", "a frame of another size, 95 of 100 within", "", 16},
		{"crispMs", "a crisp frame", "", 80},
	} {
		v, err := figure(p, fmt.Sprintf("Number(document.querySelector('[data-drawn]').dataset.%s ?? 0)", b.attribute))
		if err != nil {
			return err
		}
		w.report.budget(Budget{What: "50,000 nodes: " + b.what, Unit: "ms", Value: v, Budget: b.budget, Note: b.note})
	}
	return nil
}

// pause waits unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
