package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	compose "github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/rebind"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// load reads docker-compose.yml, with all profiles.
func load(t *testing.T) *types.Project {
	t.Helper()

	secrets := []string{"CONVEYOR_SECRET_KEYS=k1:secret"}
	for _, name := range []string{
		"POSTGRES", "DATABASE_OWNER", "DATABASE", "DATABASE_API", "DATABASE_PAGES", "DATABASE_WORKER", "DATABASE_CRAWLER",
		"DATABASE_IMPORTER", "DATABASE_DISPATCHER", "DATABASE_BRIDGE", "TEMPORAL_DATABASE", "RABBITMQ", "REDIS", "GRAFANA", "CHROMIUM",
	} {
		secrets = append(secrets, name+"_PASSWORD=secret")
	}
	o, err := compose.NewProjectOptions([]string{"../../docker-compose.yml"}, compose.WithProfiles([]string{"*"}),
		compose.WithEnv(secrets), compose.WithoutEnvironmentResolution)
	require.NoError(t, err)
	project, err := o.LoadProject(t.Context())
	require.NoError(t, err)
	return project
}

// The commands by which the runbook reaches the containers name services, and the address of the API inside of its own.
func TestRunbookOfCompose(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	project := load(t)
	variables := map[string]string{}
	commands := regexp.MustCompile(`docker compose (exec|run --rm)(?: -T| \$tty)?((?: -e [^ ]+)*) ("?[$a-z][a-z0-9-]*"?)( [^ ]+)?`).
		FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(commands), 4)
	for _, c := range commands {
		for _, of := range regexp.MustCompile(`-e (\w+)=([^ ]+)`).FindAllStringSubmatch(c[2], -1) {
			variables[c[3]+" "+of[1]] = of[2]
		}
		if c[3] != `"$1"` {
			require.Contains(t, project.Services, c[3], c[0])
		}
	}
	_, port, err := net.SplitHostPort(*project.Services["api"].Environment["CONVEYOR_API_ADDRESS"])
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:"+port, variables["api CONVEYOR_API_URL"])
	require.Equal(t, `"$CONVEYOR_API_KEY"`, variables["api CONVEYOR_API_KEY"], "exec passes nothing of the shell on")
	require.Contains(t, project.Services["temporal-schema"].Image, "admin-tools", "it has the temporal CLI")
	for _, job := range []string{"migrate", "bootstrap"} {
		require.Contains(t, string(text), "migrate|bootstrap) docker compose run --rm", job)
		require.Equal(t, []string{job}, []string(project.Services[job].Command))
	}
	settings := project.Services["worker"].Environment
	require.Equal(t, *settings["TEMPORAL_ADDRESS"], variables["temporal-schema TEMPORAL_ADDRESS"])
	require.Equal(t, *settings["TEMPORAL_NAMESPACE"], variables["temporal-schema TEMPORAL_NAMESPACE"])
}

// What the runbook's commands take from the environment is set with Docker Compose, too, where there is no file env, and
// whoever calls the API has a key.
func TestRunbookSetsWhatItUses(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)
	_, compose, found := strings.Cut(string(text), "*Compose:* these")
	require.True(t, found)
	compose, _, _ = strings.Cut(compose, "\n`PID` is")
	for _, m := range regexp.MustCompile(`\$([A-Z]+_[A-Z_]+)`).FindAllStringSubmatch(string(text), -1) {
		said := strings.Contains(compose, " "+m[1]+"=") || strings.Contains(compose, "$"+m[1]+"\"`") ||
			strings.Contains(compose, "`$"+m[1]+"`")
		require.True(t, said, "$%s is not set with Docker Compose", m[1])
	}
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	calls := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "curl ") && strings.Contains(line, "$CONVEYOR_API_URL") {
				calls++
				require.Regexp(t, `-H "(Authorization: Bearer \$CONVEYOR_API_KEY|\$key)"`, line, page)
			}
		}
	}
	require.Greater(t, calls, 5)
}

// TestCompose runs what docker-compose.yml tells our containers to run, up to the point where services are needed:
// every command line is one of ours, and every health check asks a path that its role answers.
func TestCompose(t *testing.T) {
	t.Parallel()

	project := load(t)
	instruments := (&house{registry: prometheus.NewRegistry()}).instruments()
	answers := map[string]http.Handler{ // by service
		"api":  api.New(api.Options{Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)}, api.Health{}),
		"demo": demosite.New(demosite.Options{}),
	}
	// The proxy has no path of its own: it passes on what the check of the Web UI's own container asks.
	mux, ui := http.NewServeMux(), project.Services["temporal-ui"].HealthCheck.Test
	own, err := url.Parse(ui[len(ui)-1])
	require.NoError(t, err)
	mux.HandleFunc(own.Path, func(http.ResponseWriter, *http.Request) {})
	behind := httptest.NewServer(mux)
	t.Cleanup(behind.Close)
	to, err := url.Parse(behind.URL)
	require.NoError(t, err)
	answers["temporal-ui-proxy"] = rebind.NamesOf().Guard("", rebind.Proxy(to, nil, slog.New(slog.DiscardHandler)))
	lender := chromium.NewLender(chromium.LenderOptions{Password: "secret"})
	answers["chromium-browser"], answers["chromium-drafts"] = lender, lender
	for name, s := range project.Services { // the roles: what runs our image for ever, but for what feeds the demo
		ends := s.Restart == "no" || strings.HasPrefix(s.Restart, "on-failure")
		if s.Build != nil && !ends && answers[name] == nil && name != "feed" {
			answers[name] = instruments
		}
	}
	checked := 0
	for name, s := range project.Services {
		if s.Build == nil {
			continue
		}
		parse(t, s.Command)
		if s.HealthCheck == nil {
			continue
		}
		require.Equal(t, []string{"CMD", "/conveyor", "health"}, []string(s.HealthCheck.Test[:3]), name)
		parse(t, s.HealthCheck.Test[2:])
		u, err := url.Parse(s.HealthCheck.Test[3])
		require.NoError(t, err)
		answer := httptest.NewRecorder()
		answers[name].ServeHTTP(answer, httptest.NewRequest(http.MethodGet, u.String(), http.NoBody))
		require.Equal(t, http.StatusOK, answer.Code, "%s of %s", u.Path, name)
		checked++
	}
	require.Equal(t, len(answers), checked)
}

// parse reads a command line as the program does. Files that it names are looked for in the container.
func parse(t *testing.T, line []string) {
	t.Helper()

	parser, err := kong.New(new(CLI))
	require.NoError(t, err)
	_, err = parser.Parse(line)
	require.NoError(t, err, "conveyor %s", strings.Join(line, " "))
}

// The build of the image names its version by a variable of ours: the linker is silent about one that is not there.
func TestRelease(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(text), "-X main.release=$CONVEYOR_VERSION")
	release = "v1.2.3"
	t.Cleanup(func() { release = "" })
	require.True(t, strings.HasPrefix(version(), "conveyor v1.2.3 "), version())
}
