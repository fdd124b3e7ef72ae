package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

var walk = flag.Bool("console", false, "walk every path of the console, and upload 100,000 rows: make test-console")

// paths are what people do at the console. All but the short ones are walked by `make test-console` only.
var paths = []struct {
	name  string
	short bool
	walk  func(t *testing.T, f *furnished)
}{
	{"an upload goes on without its tab", true, uploadWithoutItsTab},
	{"today agrees with the tables", true, todayAgrees},
	{"a refused advert is published while it is watched", false, refusedUntilPublished},
	{"refused adverts are chosen", false, refusedChosen},
	{"a bulk replay keeps its filter across a reload", false, bulkAcrossReload},
	{"a crawl whose worker is killed", false, crawlWatched},
	{"ten tabs have one stream", false, tenTabs},
	{"a tour by keyboard", false, tourByKeyboard},
	{"French has no English left", false, french},
	{"zoomed to 200 %, without motion", false, zoomed},
	{"the API is killed", false, apiKilled}, // the last: others would hear of it
}

// rows waits until a list of a page has so many rows by its own words.
func (v *visitor) rows(p playwright.Page, n int) {
	v.t.Helper()

	words := fmt.Sprintf("%d rows", n)
	if n == 1 {
		words = "1 row"
	}
	v.shown(p, p.Locator(".more", playwright.PageLocatorOptions{HasText: regexp.MustCompile("^" + words + "$")}), words)
}

// press clicks a button by its name.
func (v *visitor) press(p playwright.Page, name any) {
	v.t.Helper()

	err := p.GetByRole(*playwright.AriaRoleButton, playwright.PageGetByRoleOptions{Name: name}).First().Click()
	require.NoError(v.t, err, name)
}

// A file is dropped, its tab is closed, and another tab shows how it ends: four numbers that add up, and are those of
// the tables.
func uploadWithoutItsTab(t *testing.T, f *furnished) {
	servicetest.Slow(t, servicetest.TestE2E)
	n := 3_000
	if *walk {
		n = 100_000
	}
	text, distinct, invalid, duplicate := people(n)
	file := filepath.Join(t.TempDir(), "people.csv")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	v := f.visit(t, size(1440))
	p := v.page("/uploads?tenant=acme")
	require.NoError(t, p.GetByLabel("show me first").Uncheck())
	require.NoError(t, p.Locator("input[type=file]").SetInputFiles(file))
	require.NoError(t, p.WaitForURL(regexp.MustCompile(`/ui/uploads/[0-9a-f-]{36}`)))
	at := strings.TrimPrefix(p.URL(), f.api+"/ui")
	require.NoError(t, p.Close())

	p = v.page(at)
	grouped := func(n int) string { return regexp.MustCompile(`(\d)(\d{3})$`).ReplaceAllString(fmt.Sprint(n), "$1,$2") }
	adds := fmt.Sprintf("%s read = %s stored + %s duplicates + %s invalid + 0 skipped", grouped(n), grouped(distinct),
		grouped(duplicate), grouped(invalid))
	err := p.GetByText(adds).WaitFor(playwright.LocatorWaitForOptions{Timeout: playwright.Float(300_000)})
	require.NoError(t, err, adds)
}

// What Today says of the hour is what the tables hold, and a figure that is clicked shows as many rows.
func todayAgrees(t *testing.T, f *furnished) {
	v := f.visit(t, size(1440))
	p := v.page("/")
	in, refused := one[int](f.world, "SELECT count(*) FROM raw_listings"), one[int](f.world,
		"SELECT count(*) FROM raw_listings WHERE status = 'rejected'")
	v.until(p, "the sentence agrees with the tables", fmt.Sprintf(`() => {
		const said = document.querySelector('main .say')?.textContent ?? ''
		return said.includes('%d adverts came in') && said.includes('%d were refused')
	}`, in, refused))
	open := one[int](f.world, "SELECT count(*) FROM dead_letters WHERE state = 'open' AND queue = 'scraped.kijiji' AND class = 'invalid'")
	v.open(p, "/dead-letters?queue=scraped.kijiji&class=invalid")
	v.rows(p, open)
	v.open(p, "/refused?status=rejected")
	v.rows(p, refused)
	missing := one[int](f.world, `SELECT count(*) FROM raw_listings WHERE status = 'rejected' AND reasons @> '[{"code":"missing"}]'`)
	require.NoError(t, p.Locator(".legend a", playwright.PageLocatorOptions{HasText: "missing"}).First().Click())
	v.rows(p, missing)
}

// An advert is refused, a rule changes, the advert is processed again from the list, and Today shows it, without a
// reload, in another tab.
func refusedUntilPublished(t *testing.T, f *furnished) {
	const id = "71001"
	f.publish("scraped", "kijiji", advert(id, with("scraped_at", time.Now().UTC()), with("title", "Watched until it is published"),
		with("price", map[string]any{"type": "CONTACT"}), with("address", ""), with("latitude", 45.61)))
	f.settles(id)
	v := f.visit(t, size(1440))
	today := v.page("/")
	v.sees(today, "Needs a person")
	listed := today.Locator(".feed tr", playwright.PageLocatorOptions{HasText: "Watched until"}).
		Filter(playwright.LocatorFilterOptions{HasText: "new"})
	n, err := listed.Count()
	require.NoError(t, err)
	require.Zero(t, n, "it is not new yet")

	// A test cannot change a rule of the normalizer, so it changes the payload that the rule reads.
	_, err = f.db.Exec(t.Context(), `
		UPDATE raw_listings SET payload = jsonb_set(payload, '{price}', '{"amount_cents":99900}') WHERE platform_id = $1`, id)
	require.NoError(t, err)
	list := v.page("/refused?status=rejected")
	row := list.Locator("tr", playwright.PageLocatorOptions{HasText: "Watched until"})
	require.NoError(t, row.GetByRole(*playwright.AriaRoleButton).Click())
	f.eventually("it is a listing", func() bool {
		return one[int](f.world, "SELECT count(*) FROM listings WHERE platform_id = $1", id) == 1
	})
	began := time.Now()
	v.shown(today, listed, "the new listing")
	t.Logf("seen %s after it was in the table", time.Since(began).Round(100*time.Millisecond))
	require.NoError(t, row.WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateDetached}),
		"the list of refused adverts drops it")
}

// Of the refused adverts only those that were chosen are processed again.
func refusedChosen(t *testing.T, f *furnished) {
	const id = "71002"
	f.publish("scraped", "kijiji", advert(id, with("scraped_at", time.Now().UTC()), with("title", "Chosen by hand"),
		with("price", map[string]any{"type": "CONTACT"}), with("address", ""), with("latitude", 45.62)))
	f.settles(id)
	v := f.visit(t, size(1440))
	p := v.page("/refused?status=rejected")
	require.NoError(t, p.GetByLabel("Chosen by hand").Check())
	v.sees(p, "1 chosen")
	v.press(p, "Process again …")
	v.sees(p, "The adverts that you chose")
	v.sees(p, "1 matches.")
	v.press(p, "Process 1 again")
	v.sees(p, "A replay was started. Adverts: 1.")
	require.Equal(t, 1, one[int](f.world, `
		SELECT count(*) FROM replays p, raw_listings r
		WHERE r.platform_id = $1 AND p.total = 1 AND p.filter->'ids' = jsonb_build_array(r.id)`, id))
}

// Dead letters are replayed by a filter: after a reload the filter is the same, and those that match it are sent, and
// no other.
func bulkAcrossReload(t *testing.T, f *furnished) {
	const which = "reason ILIKE '%no rent is stated%' AND state = 'open'"
	letters := one[int](f.world, "SELECT count(*) FROM dead_letters WHERE "+which)
	others := one[int](f.world, "SELECT coalesce(sum(replays), 0) FROM dead_letters WHERE NOT ("+which+")")
	require.Positive(t, letters)
	v := f.visit(t, size(1440))
	p := v.page("/dead-letters?reason=no+rent+is+stated")
	v.rows(p, letters)
	_, err := p.Reload()
	require.NoError(t, err)
	v.rows(p, letters)
	v.press(p, "Replay all that match …")
	v.sees(p, "Open dead letters with Reason: no rent is stated.")
	matches := fmt.Sprintf("%d match.", letters)
	if letters == 1 {
		matches = "1 matches."
	}
	v.sees(p, matches)
	v.press(p, fmt.Sprintf("Replay %d", letters))
	v.sees(p, fmt.Sprintf("Sent again: %d.", letters))
	require.Equal(t, letters, one[int](f.world, "SELECT count(*) FROM dead_letters WHERE replays > 0 AND reason ILIKE '%no rent is stated%'"))
	require.Equal(t, others, one[int](f.world, "SELECT coalesce(sum(replays), 0) FROM dead_letters WHERE reason NOT ILIKE '%no rent is stated%'"),
		"others are left alone")
}

// A crawl whose worker is killed is watched: at its end its counters are those of the export.
func crawlWatched(t *testing.T, f *furnished) {
	run := f.crawl(f.graph.URL+"/", deep)
	v := f.visit(t, size(1440))
	p := v.page(fmt.Sprintf("/crawl/%d", run))
	f.eventually("pages are visited", func() bool {
		return one[int](f.world, "SELECT visited FROM crawl_runs WHERE id = $1", run) > 20
	})
	f.worker.kill()
	f.worker = f.start("worker")
	f.completed(run)
	by := map[string]int{}
	for _, u := range f.exported(run) {
		by[strings.ToLower(string(u.State))]++
	}
	v.sees(p, "completed")
	for label, n := range map[string]int{
		"visited": by["visited"], "not found": by["not_found"], "forbidden": by["forbidden"], "waiting": 0,
	} {
		v.until(p, fmt.Sprintf("%d %s", n, label), fmt.Sprintf(`() => [...document.querySelectorAll('main .cnt > *')].some((e) =>
			e.querySelector('b')?.textContent === '%d' && e.textContent.includes(%q))`, n, label))
	}
}
