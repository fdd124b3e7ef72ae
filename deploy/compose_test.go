// Package deploy_test holds docker-compose.yml and the Dockerfile to what they promise. No container is started: a
// Compose parser reads the file, and what it says is compared with the code that it starts.
package deploy_test

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/template"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/workflows"
)

const composeFile = "../docker-compose.yml"

// load reads the Compose file with every profile, as it is when .env has these lines. The parser refuses what it does
// not know, volumes that are not declared, and services that wait for each other.
func load(t *testing.T, dotEnv ...string) *types.Project {
	t.Helper()

	o, err := cli.NewProjectOptions([]string{composeFile}, cli.WithProfiles([]string{"*"}), cli.WithEnv(dotEnv),
		cli.WithoutEnvironmentResolution) // a developer's own .env is not part of the test
	require.NoError(t, err)
	project, err := o.LoadProject(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(project.Services), 10)
	return project
}

// ours are the services that run our image, by name.
func ours(p *types.Project) map[string]types.ServiceConfig {
	out := map[string]types.ServiceConfig{}
	for name, s := range p.Services {
		if s.Build != nil {
			out[name] = s
		}
	}
	return out
}

// job says whether a service runs to its end instead of for ever.
func job(s types.ServiceConfig) bool {
	return s.Restart == "no" || strings.HasPrefix(s.Restart, "on-failure")
}

// value is a variable of a service, "" when it has none.
func value(s types.ServiceConfig, name string) string {
	if v := s.Environment[name]; v != nil {
		return *v
	}
	return ""
}

// port is the number after the last colon.
func port(t *testing.T, address string) int {
	t.Helper()

	_, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// listens are the ports that a container listens on: those that are published, those that its settings name, and those
// that its image opens without being told.
func listens(t *testing.T, name string, s types.ServiceConfig) []int {
	t.Helper()

	var out []int
	for _, p := range s.Ports {
		out = append(out, int(p.Target))
	}
	for _, v := range []string{"CONVEYOR_API_ADDRESS", "CONVEYOR_METRICS_ADDRESS", "PROMETHEUS_ENDPOINT"} {
		if address := value(s, v); address != "" {
			out = append(out, port(t, address))
		}
	}
	if name == "temporal" {
		out = append(out, 7243) // FRONTEND_HTTP_PORT
	}
	return out
}

func TestImagesArePinned(t *testing.T) {
	t.Parallel()

	exact := regexp.MustCompile(`^[a-z]+(/[a-z-]+)?:(v?\d+\.\d+\.\d+|17\.\d+)(-[a-z0-9.]+)?$`) // Postgres has two numbers
	for name, s := range load(t).Services {
		if s.Build == nil {
			require.Regexp(t, exact, s.Image, name)
		}
	}
	// One version of Temporal everywhere: schema, server and Web UI are those of the local stack.
	local, err := os.ReadFile("../internal/devstack/build.go")
	require.NoError(t, err)
	p := load(t)
	for service, binary := range map[string]string{
		"temporal": "temporal-server", "temporal-schema": "temporal-server", "temporal-ui": "temporal-ui",
	} {
		built := regexp.MustCompile(`"` + binary + `", "v(\d+\.\d+\.\d+)"`).FindSubmatch(local)
		require.NotNil(t, built, binary)
		require.True(t, strings.HasSuffix(p.Services[service].Image, ":"+string(built[1])),
			"%s is %s, the local stack has %s", service, p.Services[service].Image, built[1])
	}
}

// Together the containers serve every task queue: workflows on one that none of them serves would wait without end.
func TestEveryTaskQueueIsServed(t *testing.T) {
	t.Parallel()

	served := map[string]bool{}
	for _, s := range ours(load(t)) {
		if list := s.Environment["CONVEYOR_TASK_QUEUES"]; list != nil {
			for queue := range strings.SplitSeq(*list, ",") {
				served[queue] = true
			}
		}
	}
	for _, name := range workflows.QueueNames() {
		require.True(t, served[name], "no container of docker-compose.yml has %s in CONVEYOR_TASK_QUEUES", name)
	}
}

// Every variable that our containers get is one that `conveyor config` prints, and its value is one that it takes.
func TestSettingsAreKnown(t *testing.T) {
	known := map[string]bool{"TEMPORAL_ADDRESS": true, "TEMPORAL_NAMESPACE": true, "CONVEYOR_HOME": true}
	for _, s := range (config.Config{}).Settings() {
		known[s.Variable] = true
	}
	p := load(t)
	for name, s := range ours(p) {
		t.Run(name, func(t *testing.T) {
			for variable, v := range s.Environment {
				require.True(t, known[variable], variable)
				require.NotNil(t, v, variable)
				t.Setenv(variable, *v)
			}
			c, err := config.Load(workflows.QueueNames())
			require.NoError(t, err)
			require.Greater(t, time.Duration(*s.StopGracePeriod), c.Worker.StopGrace+15*time.Second,
				"a container must not be killed while it finishes what is under way")
			if name == "demo" {
				return // it needs nobody
			}
			require.Equal(t, "file:///data/blobs", c.Images.BlobURL)
			o, err := envconfig.LoadDefaultClientOptions()
			require.NoError(t, err)
			require.Equal(t, devstack.Namespace, o.Namespace)
			for what, address := range map[string]string{
				"postgres": c.Postgres.URL, "rabbitmq": c.RabbitMQ.URL, "redis": c.Redis.URL, "temporal": "tcp://" + o.HostPort,
				"management of rabbitmq": c.RabbitMQ.ManagementURL, // asked from inside, too
			} {
				u, err := url.Parse(address)
				require.NoError(t, err)
				what = strings.TrimPrefix(what, "management of ")
				require.Equal(t, what, u.Hostname())
				require.Contains(t, listens(t, what, p.Services[what]), port(t, u.Host), what)
			}
			for link, service := range map[string]string{c.API.URL: "api", c.Temporal.UIURL: "temporal-ui"} {
				u, err := url.Parse(link)
				require.NoError(t, err)
				require.Nil(t, u.User, "a link goes to browsers")
				require.True(t, slices.ContainsFunc(p.Services[service].Ports, func(p types.ServicePortConfig) bool {
					return p.HostIP == u.Hostname() && p.Published == u.Port()
				}), "%s is not published", link)
			}
		})
	}
	connections := 60 // Temporal's, and those of people
	for range []string{"api", "worker", "worker", "worker", "browser", "drafts", "bridge"} {
		connections += 24
	}
	require.Contains(t, p.Services["postgres"].Command, "-cmax_connections=300")
	require.Less(t, connections, 300)
}

// The demo site is on a private network, so the workers must be told that they may ask it, and the feed where it is.
func TestDemo(t *testing.T) {
	t.Parallel()

	p := load(t)
	for _, asks := range []string{"worker", "browser", "drafts"} {
		require.Equal(t, "demo:8090", value(p.Services[asks], "CONVEYOR_ALLOW_PRIVATE_HOSTS"), asks)
	}
	require.Contains(t, p.Services["demo"].Command, "--address=0.0.0.0:8090")
	require.Contains(t, p.Services["feed"].Command, "--demo=http://demo:8090")
	for _, name := range []string{"demo", "feed"} {
		require.Equal(t, []string{"demo"}, p.Services[name].Profiles)
	}
}

// The pages of platforms are loaded where Chromium is, and the rest is done where it is not: the two share a role, an
// image each, and no task queue.
func TestBrowser(t *testing.T) {
	t.Parallel()

	p := load(t)
	worker, browser := p.Services["worker"], p.Services["browser"]
	require.Equal(t, worker.Command, browser.Command)
	require.Equal(t, "listings,images", value(worker, "CONVEYOR_TASK_QUEUES"))
	require.Equal(t, "browser", value(browser, "CONVEYOR_TASK_QUEUES"))
	require.Equal(t, "browser", browser.Build.Target)
	require.Empty(t, worker.Build.Target)
	require.NotEqual(t, worker.Image, browser.Image)
	require.True(t, *browser.Init, "nobody else takes care of what a killed Chromium leaves")
	require.Contains(t, browser.Tmpfs, "/tmp", "Chromium has nothing else to write to")
	require.Greater(t, int64(browser.Deploy.Resources.Limits.MemoryBytes), int64(2*1536<<20),
		"two of CONVEYOR_BROWSER_MAX_RSS while one Chromium takes over from another")
}

// Each worker that takes product pages has a Chromium of its own, which starts and ends with it.
func TestDrafts(t *testing.T) {
	t.Parallel()

	p := load(t)
	browser, drafts := p.Services["browser"], p.Services["drafts"]
	require.Equal(t, browser.Image, drafts.Image)
	require.Equal(t, "drafts", value(drafts, "CONVEYOR_TASK_QUEUES"))
	require.Contains(t, drafts.Command, "--only="+devstack.Chromium)
	require.Contains(t, drafts.Command, "--home=/tmp/conveyor", "containers share /data")
	require.Contains(t, drafts.Tmpfs, "/tmp")
	require.True(t, *drafts.Init)
}

// A port that a health check asks is one that its container listens on. Which paths ours answer is tested with the
// commands, in cmd/conveyor; those of others were asked by hand, at the versions that are pinned.
func TestHealthChecks(t *testing.T) {
	t.Parallel()

	others := map[string]string{
		"temporal":    "/api/v1/namespaces/temporal-system/task-queues/conveyor-probe",
		"temporal-ui": "/healthz", "prometheus": "/-/healthy", "grafana": "/api/health",
	}
	number := regexp.MustCompile(`^(--port=)?(\d{4,5})$`)
	for name, s := range load(t).Services {
		if job(s) {
			require.Nil(t, s.HealthCheck, "%s ends by itself", name)
			continue
		}
		require.NotNil(t, s.HealthCheck, name)
		h := s.HealthCheck
		require.Equal(t, "CMD", h.Test[0], "%s: not every image has a shell", name)
		require.Less(t, *h.Timeout, *h.Interval, name)
		require.NotNil(t, h.StartPeriod, name)
		asked := 0
		for _, arg := range h.Test[1:] {
			if u, err := url.Parse(arg); err == nil && u.Scheme == "http" {
				asked = port(t, u.Host)
				require.Equal(t, "127.0.0.1", u.Hostname(), name)
				if s.Build == nil {
					require.Equal(t, others[name], u.Path, name)
				}
			} else if m := number.FindStringSubmatch(arg); m != nil {
				asked, _ = strconv.Atoi(m[2])
			}
		}
		require.Contains(t, listens(t, name, s), asked, "%s: %s", name, h.Test)
	}
}

// Ports are published on the loopback only, with the numbers of the local stack, and moved by the same variables.
func TestPublishedPorts(t *testing.T) {
	t.Parallel()

	local, err := devstack.PortsFrom(func(string) string { return "" })
	require.NoError(t, err)
	want := map[string]int{
		"CONVEYOR_API_PORT": local.API, "CONVEYOR_DEMO_PORT": local.Demo, "CONVEYOR_POSTGRES_PORT": local.Postgres,
		"CONVEYOR_REDIS_PORT": local.Redis, "CONVEYOR_RABBITMQ_PORT": local.RabbitMQ,
		"CONVEYOR_RABBITMQ_MANAGEMENT_PORT": local.Management, "CONVEYOR_TEMPORAL_PORT": local.Temporal,
		"CONVEYOR_TEMPORAL_UI_PORT": local.TemporalUI,
		"CONVEYOR_PROMETHEUS_PORT":  9090, "CONVEYOR_GRAFANA_PORT": 3000,
	}
	published := func(dotEnv ...string) (out []int) {
		for name, s := range load(t, dotEnv...).Services {
			for _, p := range s.Ports {
				require.Equal(t, "127.0.0.1", p.HostIP, name)
				n, err := strconv.Atoi(p.Published)
				require.NoError(t, err)
				out = append(out, n)
			}
			if name == "worker" || name == "browser" || name == "drafts" || name == "bridge" {
				require.Empty(t, s.Ports, "%s: a second one could not have the same port", name)
			}
			require.Empty(t, s.ContainerName, "%s: a second one could not have the same name", name)
		}
		return out
	}
	require.ElementsMatch(t, slices.Collect(maps.Values(want)), published())
	var moved []string
	for variable, n := range want {
		moved = append(moved, fmt.Sprintf("%s=%d", variable, n+10_000))
		want[variable] = n + 10_000
	}
	require.ElementsMatch(t, slices.Collect(maps.Values(want)), published(moved...))
}

// What is mounted is there, and what lasts is in a volume.
func TestMounts(t *testing.T) {
	t.Parallel()

	p := load(t)
	used := map[string]bool{}
	for name, s := range p.Services {
		for _, v := range s.Volumes {
			switch v.Type {
			case types.VolumeTypeVolume:
				used[v.Source] = true
				require.False(t, v.ReadOnly, name)
			case types.VolumeTypeBind:
				require.True(t, v.ReadOnly, "%s may write to %s", name, v.Source)
				t.Run(filepath.Base(v.Source), func(t *testing.T) {
					_, err := os.Stat(v.Source)
					require.NoError(t, err, "Docker would make an empty folder of that name")
				})
			default:
				t.Errorf("%s mounts %s as a %s", name, v.Source, v.Type)
			}
		}
	}
	require.ElementsMatch(t, p.VolumeNames(), slices.Collect(maps.Keys(used)))
	for _, name := range []string{"api", "worker", "browser"} {
		require.True(t, slices.ContainsFunc(p.Services[name].Volumes, func(v types.ServiceVolumeConfig) bool {
			return v.Source == "files" && v.Target == "/data"
		}), "%s must see the pictures", name)
	}
}

// Who waits for what: a job for its end, anything else for its health. No role starts before both jobs are done.
func TestOrder(t *testing.T) {
	t.Parallel()

	p := load(t)
	for name, s := range p.Services {
		for on, how := range s.DependsOn {
			want := types.ServiceConditionHealthy
			if job(p.Services[on]) {
				want = types.ServiceConditionCompletedSuccessfully
			}
			require.Equal(t, want, how.Condition, "%s on %s", name, on)
			require.Subset(t, s.Profiles, p.Services[on].Profiles, "%s waits for %s, which may not be started", name, on)
		}
	}
	for _, role := range []string{"api", "worker", "browser", "drafts", "bridge"} {
		require.Equal(t, []string{"bootstrap", "migrate", "rabbitmq", "redis"},
			slices.Sorted(maps.Keys(p.Services[role].DependsOn)), role)
		require.Empty(t, p.Services[role].Profiles, role)
	}
	for job, needs := range map[string]string{
		"migrate": "postgres", "temporal-schema": "postgres", "temporal": "temporal-schema", "bootstrap": "temporal",
		"temporal-ui": "temporal",
	} {
		require.Contains(t, p.Services[job].DependsOn, needs, job)
	}
}

// Our containers can do nothing but their work.
func TestContainersAreClosed(t *testing.T) {
	t.Parallel()

	p := load(t)
	for name, s := range p.Services {
		require.Contains(t, s.SecurityOpt, "no-new-privileges:true", name)
		require.False(t, s.Privileged, name)
		require.Empty(t, s.NetworkMode, name)
		require.Empty(t, s.CapAdd, name)
		require.NotNil(t, s.Logging, "%s: logs fill the disk", name)
		if !job(s) {
			require.NotNil(t, s.Deploy, name)
			require.Positive(t, int64(s.Deploy.Resources.Limits.MemoryBytes), name)
			require.Equal(t, "unless-stopped", s.Restart, name)
		}
	}
	for name, s := range ours(p) {
		require.True(t, s.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, s.CapDrop, name)
		require.Empty(t, s.User, "%s: the image says it", name)
		require.Empty(t, s.Entrypoint, name)
	}
}

// No secret stands in the file: each comes from .env, wherever it is used.
func TestSecrets(t *testing.T) {
	t.Parallel()

	secret := map[string]string{
		"POSTGRES_PASSWORD": "pg-0123", "RABBITMQ_PASSWORD": "mq-4567", "GRAFANA_PASSWORD": "gf-89ab",
	}
	var dotEnv []string
	for name, v := range secret {
		dotEnv = append(dotEnv, name+"="+v)
	}
	isSecret, seen := regexp.MustCompile(`PASS|PWD|SECRET|TOKEN`), 0
	for name, s := range load(t, dotEnv...).Services {
		for variable, v := range s.Environment {
			require.NotNil(t, v, variable) // would be taken from the shell
			password := *v
			if u, err := url.Parse(*v); err == nil && u.User != nil {
				password, _ = u.User.Password()
			} else if !isSecret.MatchString(variable) {
				continue
			}
			seen++
			require.Contains(t, slices.Collect(maps.Values(secret)), password, "%s of %s", variable, name)
		}
	}
	require.GreaterOrEqual(t, seen, 10)
}

// .env.example has every variable of the file with its default, and no other.
func TestEnvExample(t *testing.T) {
	t.Parallel()

	o, err := cli.NewProjectOptions([]string{composeFile}, cli.WithProfiles([]string{"*"}), cli.WithInterpolation(false),
		cli.WithConsistency(false), cli.WithNormalization(false))
	require.NoError(t, err)
	model, err := o.LoadModel(t.Context())
	require.NoError(t, err)
	want := map[string]string{}
	for name, v := range template.ExtractVariables(model, nil) {
		require.False(t, v.Required, "%s: the system starts without .env", name)
		want[name] = v.DefaultValue
	}
	text, err := os.ReadFile("../.env.example")
	require.NoError(t, err)
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^#?([A-Z_]+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = m[2]
	}
	require.Equal(t, want, got)
}
