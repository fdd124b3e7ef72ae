package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/launch"
)

// An alert is a rule of Prometheus.
type alert struct{ Alert, Expr, For string }

func alerts(t *testing.T) (out []alert) {
	t.Helper()

	var rules struct {
		Groups []struct{ Rules []alert }
	}
	text, err := os.ReadFile("helm/conveyor/files/alerts.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &rules))
	for _, g := range rules.Groups {
		out = append(out, g.Rules...)
	}
	return out
}

// A role that is started anew is away for its grace, twice where activities run inside workflow tasks, and some seconds of
// its start. Nobody is paged for that; and a task queue whose last worker was killed pages within a minute: the metric
// tells the two apart (internal/launch), and the alert has nothing to wait for.
func TestAlertsOutwaitRestarts(t *testing.T) {
	t.Parallel()

	waits := map[string]time.Duration{}
	for _, r := range alerts(t) {
		var err error
		if waits[r.Alert], err = time.ParseDuration(r.For); r.For != "" {
			require.NoError(t, err, r.Alert)
		}
	}
	const restart = 2*15*time.Second + 10*time.Second
	for _, name := range []string{
		"ConveyorProcessDown", "ConveyorQueueWithoutConsumer",
	} {
		require.Greater(t, waits[name], restart, name)
	}
	require.Greater(t, launch.RestartGrace, restart)
	var prometheus struct {
		Global struct {
			Scrape   time.Duration `yaml:"scrape_interval"`
			Evaluate time.Duration `yaml:"evaluation_interval"`
		}
	}
	text, err := os.ReadFile("prometheus/prometheus.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &prometheus))
	require.Positive(t, prometheus.Global.Scrape)
	require.LessOrEqual(t, launch.LostWithin+prometheus.Global.Scrape+prometheus.Global.Evaluate+
		waits["ConveyorTaskQueueWithoutWorker"], time.Minute)
}

// Whoever is paged finds the alert in the table that the runbook begins with.
func TestRunbookHasEveryAlert(t *testing.T) {
	t.Parallel()

	runbook, err := os.ReadFile("../docs/runbook.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(runbook), "| symptom | go to |")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, r := range alerts(t) {
		short := "`…" + strings.TrimPrefix(r.Alert, "Conveyor") + "`"
		require.True(t, strings.Contains(table, "`"+r.Alert+"`") || strings.Contains(table, short), r.Alert)
	}
}

// A gauge that has no series while there is nothing begins at what is there then, and its delta is 0: what came at once
// counts as a whole, before the delta, for as long as the series is younger than that looks back.
func TestAlertsCountWhatCameAtOnce(t *testing.T) {
	t.Parallel()

	looked := 0
	delta := regexp.MustCompile(`delta\((\w+)\[(\w+)\]\)`)
	for _, r := range alerts(t) {
		expr := strings.Join(strings.Fields(r.Expr), " ")
		for _, m := range delta.FindAllStringSubmatch(expr, -1) {
			looked++
			require.Contains(t, expr, fmt.Sprintf("(max by (queue, class) (%[1]s) unless max by (queue, class) (last_over_time(%[1]s[15m] offset %[2]s))) "+
				"or max by (queue, class) (%[3]s)", m[1], m[2], m[0]), r.Alert)
		}
	}
	require.Positive(t, looked)
}

// A series that a scrape lacks ends there: at that moment, an instant value of before finds nothing, and all that there is
// would be new. A range finds what was there until then.
func TestAlertsLookBackBeyondAGap(t *testing.T) {
	t.Parallel()

	looked := 0
	ranged := regexp.MustCompile(`last_over_time\(\s*\w+(\{[^}]*\})?\[\w+\] offset \w+\)`)
	for _, r := range alerts(t) {
		looked += strings.Count(r.Expr, " offset ")
		require.Len(t, ranged.FindAllString(r.Expr, -1), strings.Count(r.Expr, " offset "), r.Alert)
	}
	require.Positive(t, looked)
}

// What must hold for long does not begin anew where one scrape of many lacks it.
func TestLongAlertsOutlastAGap(t *testing.T) {
	t.Parallel()

	looked := 0
	metric := regexp.MustCompile(`\bconveyor_\w+(\{[^}]*\})?(\[\w+\])?`)
	for _, r := range alerts(t) {
		if wait, err := time.ParseDuration(r.For); err != nil || wait <= 15*time.Minute {
			continue
		}
		for _, m := range metric.FindAllStringSubmatch(r.Expr, -1) {
			looked++
			require.NotEmpty(t, m[2], "%s: %s", r.Alert, m[0])
		}
	}
	require.Positive(t, looked)
}

// One failure of two is half of them: what is a share of all must also be more than a few.
func TestSharesAskForANumber(t *testing.T) {
	t.Parallel()

	looked := 0
	share := regexp.MustCompile(`\brate\(.* / .*\brate\(.* > 0[.]\d`)
	number := regexp.MustCompile(` and sum by \(\w+\) \(increase\(.* > \d+$| and sum\(increase\(.* > \d+$`)
	for _, r := range alerts(t) {
		if expr := strings.Join(strings.Fields(r.Expr), " "); share.MatchString(expr) {
			looked++
			require.Regexp(t, number, expr, r.Alert)
		}
	}
	require.Equal(t, 4, looked)
}

// The documents call Temporal's metrics by the names that they are exported by: those of the dashboards and alerts, which
// another test looks for in what the roles export.
func TestDocumentsNameMetricsOfTemporal(t *testing.T) {
	t.Parallel()

	files, err := filepath.Glob("helm/conveyor/files/dashboards/*.json")
	require.NoError(t, err)
	name, exported := regexp.MustCompile(`\btemporal_[a-z_]+`), map[string]bool{"temporal_visibility": true} // a database
	for _, file := range append(files, "helm/conveyor/files/alerts.yml") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range name.FindAllString(string(text), -1) {
			exported[strings.TrimSuffix(m, "_bucket")] = true
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	looked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range name.FindAllString(string(text), -1) {
			looked++
			require.Contains(t, exported, m, page)
		}
	}
	require.Greater(t, looked, 2)
}

// The alert of chunks that pile up fires before uploads are refused for them: afterwards there would be no more.
func TestChunksMayPile(t *testing.T) {
	t.Parallel()

	field, ok := reflect.TypeFor[config.Outreach]().FieldByName("UploadChunks")
	require.True(t, ok)
	refused, err := strconv.Atoi(field.Tag.Get("envDefault"))
	require.NoError(t, err)
	for _, r := range alerts(t) {
		if r.Alert == "ConveyorChunksPile" {
			_, number, _ := strings.Cut(r.Expr, "> ")
			most, err := strconv.Atoi(number)
			require.NoError(t, err)
			require.Less(t, most, refused)
			return
		}
	}
	require.Fail(t, "there is no such alert")
}
