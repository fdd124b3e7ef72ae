package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// An alert or a panel whose metric no role exposes is silent for ever, so every name, label and value in deploy/ must
// stand in the roles' metrics once a little of everything has happened to them. The same processes report the backlog.
func TestPanelsAndAlertsHaveTheirMetrics(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	// A site of one advert, which refuses once.
	rentals := demosite.New(demosite.Options{Adverts: 1, Frozen: true})
	require.NoError(t, rentals.Break(demosite.Fault{Platform: demosite.Kangalou, Kind: "429", Times: 1}))
	site := httptest.NewServer(rentals)
	t.Cleanup(site.Close)
	w := newPost(t, "CONVEYOR_IMAGE_INTERVAL=2s", // images that wait for their turn are seen
		"CONVEYOR_SCRAPE=kangalou="+site.URL+"/fr/recherche/",
		"CONVEYOR_SCRAPE_TRANSPORT=browser", "CONVEYOR_SCRAPE_DELAY=0s", "CONVEYOR_SCRAPE_COOLDOWN=24h",
		"CONVEYOR_BROWSER_MAX_CYCLES=1") // the second one has a new browser
	w.env = append(w.env, "CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(w.siteURL, "http://")+","+
		strings.TrimPrefix(site.URL, "http://"))
	doors := []string{w.world.api}
	w.start("api")
	for _, role := range []string{"worker", "bridge"} {
		address := freeAddress(t)
		w.start(role, "CONVEYOR_METRICS_ADDRESS="+address)
		doors = append(doors, "http://"+address)
	}
	w.ready()
	seen := map[string]map[string]bool{"up": {}} // label names by metric; up is Prometheus's own
	look := func() {                             // also in between: some metrics are there while something waits
		for _, door := range doors {
			w.scrape(door, seen)
		}
	}

	images := []string{w.siteURL + "/bad/404"}
	for n := range 4 {
		images = append(images, fmt.Sprintf("%s/photos/1/%d.jpg", w.siteURL, n+1))
	}
	withImages := with("image_urls", images)
	w.publish("scraped", "kijiji", advert("1", withImages), advert("2"), advert("3", with("price", map[string]any{})),
		[]byte("not JSON"))
	w.eventually("two are published", func() bool {
		look()
		return one[int](w.world, "SELECT count(*) FROM listings WHERE platform = 'kijiji'") == 2
	})
	w.publish("scraped", "kijiji",
		advert("1", withImages, with("scraped_at", "2026-01-10T13:00:00Z"), with("title", "Changed while its images wait")),
		advert("2", with("scraped_at", "2026-01-10T13:00:00Z")))
	w.run("draft", w.siteURL+"/shop/kettle", "--no-wait")
	_, err := w.temporal.ExecuteWorkflow(w.ctx(), client.StartWorkflowOptions{ID: "odd", TaskQueue: "listings"},
		"NobodyRunsThis")
	require.NoError(t, err)

	sender := w.tenant("acme", campaign.Standard)
	w.put("acme", sender, "+15145550101")
	files, err := blob.Open(t.Context(), w.dir+"/blobs")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	file, err := files.PutUpload(t.Context(), strings.NewReader("Name,Phone\nZoé,514-555-0101\nBob,\n"))
	require.NoError(t, err)
	upload, err := dboutreach.NewUploads(w.db).Create(t.Context(), dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", FileName: "people.csv", Blob: file.Key, Bytes: file.Bytes, SHA256: file.SHA256,
		CreatedBy: "me", CreatedAt: time.Now(), Options: []byte(`{"region":"CA"}`),
	})
	require.NoError(t, err)
	require.NoError(t, w.launch.StartImport(t.Context(), upload.Tenant, upload.ID))

	cycles := func() int {
		return one[int](w.world, "SELECT count(*) FROM platform_cycles WHERE ended_at IS NOT NULL")
	}
	w.eventually("a cycle has ended", func() bool { look(); return cycles() == 1 })
	w.run("platforms", "scrape", "kangalou")

	wanted := expressions(t)
	require.Greater(t, len(wanted), 60)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		look()
		assert.Empty(c, missing(wanted, seen))
	}, servicetest.Patience(), 200*time.Millisecond)

	var report backlog.Report
	w.eventually("the dead letters are reported", func() bool {
		return w.get("/queues", &report) == http.StatusOK && report.OpenDeadLetters() == 3
	})
	require.Equal(t, map[string]string{
		"postgres": "ok", "rabbitmq": "ok", "management": "ok", "temporal": "ok", "redis": "ok", "files": "ok",
	}, report.Services)
	require.Empty(t, report.Warnings)
	require.Equal(t, []backlog.DeadCount{
		{Queue: "images.pending", Class: "gone", Open: 1}, {Queue: "scraped.kijiji", Class: "invalid", Open: 2},
	}, report.DeadLetters)
	for _, q := range report.TaskQueues {
		require.EqualValues(t, 1, q.Workers, q.Name)
	}
	for _, q := range report.Queues {
		require.Equal(t, q.Ours, q.Consumers > 0, q.Name)
	}

	// Not by cycles: a report is given out for a second, and may be older than what the table says.
	w.eventually("the one that was wanted is reported as ended", func() bool {
		return w.get("/queues", &report) == http.StatusOK && slices.ContainsFunc(report.Platforms, func(p backlog.Scraper) bool {
			return p.Name == "kangalou" && strings.HasPrefix(p.Next, "begins cycle 3 ")
		})
	})
	table := w.run("status", "--check")
	require.Contains(t, table, "nothing is wrong")
	require.Regexp(t, `(?m)^listings.published +4 .* for others$`, table)
	require.Regexp(t, `(?m)^kangalou \(cooling\) +1 +0 +0 +0 .* ago  begins cycle 3 in `, table)
	require.NotContains(t, table, "\x1b", "no colours in a pipe")
	require.Regexp(t, `(?m)^kangalou +cooling +begins cycle 3 in .* 2, ended .* 0 +0 +1 +0 +0 +0$`, w.run("platforms"))
	var printed backlog.Report
	require.NoError(t, json.Unmarshal([]byte(w.run("status", "--json")), &printed))
	require.Equal(t, report.Services, printed.Services)
}

// An expression is a PromQL query and the panel or alert that it is for.
type expression struct{ where, query, legend string }

// expressions are those of every panel and alert in deploy/.
func expressions(t *testing.T) (out []expression) {
	t.Helper()

	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Expr        string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	text, err := os.ReadFile("../../deploy/helm/conveyor/files/alerts.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &rules))
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			require.Contains(t, []string{"page", "warn"}, r.Labels["severity"], r.Alert)
			require.NotEmpty(t, r.Annotations["action"], r.Alert)
			out = append(out, expression{"alert " + r.Alert, r.Expr, r.Annotations["summary"]})
		}
	}
	files, err := filepath.Glob("../../deploy/helm/conveyor/files/dashboards/*.json")
	require.NoError(t, err)
	require.Len(t, files, 6)
	for _, file := range files {
		var board struct {
			Panels []struct {
				Type, Title string
				Targets     []struct{ Expr, LegendFormat string }
			}
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &board), file)
		for _, p := range board.Panels {
			require.True(t, p.Type == "row" || len(p.Targets) > 0, "%s: %s shows nothing", file, p.Title)
			for _, target := range p.Targets {
				out = append(out, expression{filepath.Base(file) + ": " + p.Title, target.Expr, target.LegendFormat})
			}
		}
	}
	return out
}

var (
	metricName = regexp.MustCompile(`\b(?:conveyor|crawl|processed|temporal|go|process)_[a-z_]+\b|\bup\b`)
	selector   = regexp.MustCompile(`\{[^}]*\}`)
	labelName  = regexp.MustCompile(`(\w+)[!=]?[=~]"`)
	labelValue = regexp.MustCompile(`(\w+)="[^"]*"`)
	grouping   = regexp.MustCompile(`\b(?:by|on)\s*\(([^)]*)\)`)
	legendName = regexp.MustCompile(`\{\{\s*\.?(?:\$labels\.)?(\w+)\s*\}\}`)
	sampleLine = regexp.MustCompile(`^(\w+)(?:\{(.*)\})? `)
)

// notMade are the values of labels that stand in expressions and that this test does not make happen.
var notMade = []string{`class="transient"`, `limiter="crawl"`, `failure_reason="NonDeterminismError"`}

// missing returns the metrics, labels and values of labels that expressions name and no role has exposed.
func missing(all []expression, seen map[string]map[string]bool) (out []string) {
	for _, e := range all {
		metrics := metricName.FindAllString(grouping.ReplaceAllString(selector.ReplaceAllString(e.query, ""), ""), -1)
		if len(metrics) == 0 {
			out = append(out, e.where+": no metric in "+e.query)
		}
		known := map[string]bool{"job": true, "instance": true, "role": true} // made by prometheus.yml
		for _, m := range metrics {
			if _, ok := seen[m]; !ok {
				out = append(out, e.where+": "+m)
			}
			maps.Copy(known, seen[m])
		}
		var labels []string
		for _, s := range selector.FindAllString(e.query, -1) {
			for _, m := range labelName.FindAllStringSubmatch(s, -1) {
				labels = append(labels, m[1])
			}
		}
		for _, g := range grouping.FindAllStringSubmatch(e.query, -1) {
			labels = append(labels, strings.FieldsFunc(g[1], func(r rune) bool { return r == ',' || r == ' ' })...)
		}
		for _, l := range legendName.FindAllStringSubmatch(e.legend, -1) {
			labels = append(labels, l[1])
		}
		for _, s := range selector.FindAllString(e.query, -1) {
			for _, m := range labelValue.FindAllStringSubmatch(s, -1) {
				if m[1] != "job" && !known[m[0]] && !slices.Contains(notMade, m[0]) {
					out = append(out, e.where+": no "+m[0])
				}
			}
		}
		for _, l := range labels {
			if !known[l] {
				out = append(out, e.where+": label "+l)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// scrape adds the metrics and labels that a role serves to seen.
func (w *world) scrape(door string, seen map[string]map[string]bool) {
	w.t.Helper()

	resp, err := http.Get(door + "/metrics")
	if err != nil {
		return // not yet
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, resp.StatusCode, string(body))
	for line := range bytes.Lines(body) {
		m := sampleLine.FindSubmatch(line)
		if m == nil {
			continue
		}
		name := string(m[1])
		if seen[name] == nil {
			seen[name] = map[string]bool{}
		}
		for _, l := range labelName.FindAllSubmatch(m[2], -1) {
			seen[name][string(l[1])] = true
		}
		for _, l := range labelValue.FindAll(m[2], -1) {
			seen[name][string(l)] = true
		}
	}
}
