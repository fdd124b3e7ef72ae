// Package deploy_test holds docker-compose.yml and the Dockerfile to what they promise. No container is started: a
// Compose parser reads the file, and what it says is compared with the code that it starts.
package deploy_test

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
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
	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/workflows"
)

const (
	composeFile = "../docker-compose.yml"
	portsFile   = "compose.ports.yml" // added to it, it publishes the ports of the services
)

// secrets are the lines of .env without which the Compose file is refused.
var secrets = []string{
	"POSTGRES_PASSWORD=pg-0123", "DATABASE_OWNER_PASSWORD=own-4567", "DATABASE_PASSWORD=app-89ab",
	"DATABASE_API_PASSWORD=api-cdef", "DATABASE_PAGES_PASSWORD=pages-cdef",
	"DATABASE_WORKER_PASSWORD=worker-cdef", "DATABASE_CRAWLER_PASSWORD=crawler-cdef",
	"DATABASE_IMPORTER_PASSWORD=importer-cdef", "DATABASE_DISPATCHER_PASSWORD=dispatcher-cdef",
	"DATABASE_BRIDGE_PASSWORD=bridge-cdef",
	"TEMPORAL_DATABASE_PASSWORD=tmp-cdef", "RABBITMQ_PASSWORD=mq-0123", "REDIS_PASSWORD=rd-4567",
	"GRAFANA_PASSWORD=gf-89ab", "CHROMIUM_PASSWORD=cr-cdef", "CONVEYOR_SECRET_KEYS=k1:" + aKey,
}

// later are those of them that a .env of an earlier release does not have: who is told to write it anew loses its keys.
var later = map[string]bool{
	"DATABASE_PAGES_PASSWORD": true, "CHROMIUM_PASSWORD": true, "DATABASE_WORKER_PASSWORD": true,
	"DATABASE_CRAWLER_PASSWORD": true, "DATABASE_IMPORTER_PASSWORD": true, "DATABASE_DISPATCHER_PASSWORD": true,
	"DATABASE_BRIDGE_PASSWORD": true, "DATABASE_API_PASSWORD": true,
}

// aKey is 32 bytes as base64.
const aKey = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// read reads Compose files with every profile, as they are when .env has these lines. The parser refuses what it does
// not know, volumes that are not declared, and services that wait for each other.
func read(t *testing.T, dotEnv []string, files ...string) (*types.Project, error) {
	t.Helper()

	o, err := cli.NewProjectOptions(files, cli.WithProfiles([]string{"*"}), cli.WithEnv(dotEnv),
		cli.WithoutEnvironmentResolution) // a developer's own .env is not part of the test
	require.NoError(t, err)
	return o.LoadProject(t.Context())
}

// load reads the Compose file with the secrets and these lines in .env.
func load(t *testing.T, dotEnv ...string) *types.Project {
	t.Helper()

	project, err := read(t, slices.Concat(secrets, dotEnv), composeFile)
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

// roles are our services that run for ever, but the site of the demo, what feeds it, the proxy, and Chromium, by name.
func roles(p *types.Project) (out []string) {
	for name, s := range ours(p) {
		if !job(s) && !alone[name] && name != "feed" {
			out = append(out, name)
		}
	}
	return out
}

// alone are our services that use no store and serve no metrics.
var alone = map[string]bool{
	"demo": true, "temporal-ui-proxy": true, "chromium-browser": true, "chromium-drafts": true,
}

// cells are the services with Chromium, by their workers.
var cells = map[string]string{"browser": "chromium-browser", "drafts": "chromium-drafts"}

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
	for _, arg := range s.Command {
		if address, ok := strings.CutPrefix(arg, "--address="); ok {
			out = append(out, port(t, address))
		}
	}
	for _, v := range []string{"CONVEYOR_API_ADDRESS", "CONVEYOR_METRICS_ADDRESS", "PROMETHEUS_ENDPOINT"} {
		if address := value(s, v); address != "" {
			out = append(out, port(t, address))
		}
	}
	if number := value(s, "TEMPORAL_UI_PORT"); number != "" {
		out = append(out, port(t, ":"+number))
	}
	return append(out, map[string][]int{
		"temporal": {7233, 7243}, // FRONTEND_HTTP_PORT
		"postgres": {5432}, "redis": {6379}, "rabbitmq": {5672, 15672},
	}[name]...)
}

// shared are the networks that two services have in common.
func shared(a, b types.ServiceConfig) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(a.Networks)), func(name string) bool {
		_, both := b.Networks[name]
		return !both
	})
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
			if alone[name] {
				return
			}
			addresses := map[string]string{"rabbitmq": c.RabbitMQ.URL, "management of rabbitmq": c.RabbitMQ.ManagementURL}
			if name != "feed" { // it only publishes
				require.Equal(t, "file:///data/blobs", c.Images.BlobURL)
				o, err := envconfig.LoadDefaultClientOptions()
				require.NoError(t, err)
				require.Equal(t, devstack.Namespace, o.Namespace)
				if s.Environment["RABBITMQ_URL"] == nil {
					clear(addresses)
				}
				addresses["postgres"], addresses["redis"], addresses["temporal"] = c.Postgres.URL, c.Redis.URL,
					"tcp://"+o.HostPort
			} else {
				delete(addresses, "management of rabbitmq")
			}
			for what, address := range addresses {
				u, err := url.Parse(address)
				require.NoError(t, err)
				what = strings.TrimPrefix(what, "management of ")
				require.Equal(t, what, u.Hostname())
				require.Contains(t, listens(t, what, p.Services[what]), port(t, u.Host), what)
				require.NotEmpty(t, shared(s, p.Services[what]), "%s has no network with %s", name, what)
			}
			if name == "feed" {
				return
			}
			for link, service := range map[string]string{c.API.URL: "api", c.Temporal.UIURL: "temporal-ui-proxy"} {
				u, err := url.Parse(link)
				require.NoError(t, err)
				require.Nil(t, u.User, "a link goes to browsers")
				require.True(t, slices.ContainsFunc(p.Services[service].Ports, func(p types.ServicePortConfig) bool {
					return p.HostIP == u.Hostname() && p.Published == u.Port()
				}), "%s is not published", link)
			}
		})
	}
	connections := 60                       // Temporal's, and those of people
	connections += 24 * (len(roles(p)) + 2) // two more workers
	require.Contains(t, p.Services["postgres"].Command, "-cmax_connections=400")
	require.Less(t, connections, 400)
}

// The Web UI of Temporal has no login: it changes nothing, is for this machine, and is reached through what looks at
// Host alone.
func TestTemporalUIOnlyReads(t *testing.T) {
	t.Parallel()

	p := load(t)
	ui, proxy := p.Services["temporal-ui"], p.Services["temporal-ui-proxy"]
	require.Equal(t, "true", value(ui, "TEMPORAL_DISABLE_WRITE_ACTIONS"))
	require.Empty(t, ui.Ports)
	for network := range ui.Networks {
		require.True(t, p.Networks[network].Internal, network)
	}
	require.NotEmpty(t, shared(ui, proxy))
	require.Contains(t, proxy.Command, "--to=http://temporal-ui:"+value(ui, "TEMPORAL_UI_PORT"))
	require.Len(t, proxy.Ports, 1)
	require.Equal(t, "127.0.0.1", proxy.Ports[0].HostIP)
	require.Contains(t, proxy.Command, fmt.Sprintf("--address=0.0.0.0:%d", proxy.Ports[0].Target))
	require.Empty(t, proxy.Volumes, "it needs no file")
	for variable := range proxy.Environment {
		require.Contains(t, []string{"CONVEYOR_LOG_FORMAT", "CONVEYOR_TEMPORAL_UI_URL"}, variable, "it needs no password")
	}
	require.Equal(t, "https://workflows.example",
		value(load(t, "CONVEYOR_TEMPORAL_UI_URL=https://workflows.example").Services["temporal-ui-proxy"],
			"CONVEYOR_TEMPORAL_UI_URL"), "requests to its host are answered")
}

// The demo site is on a private network, so the workers must be told that they may ask it, and the feed where it is.
// Its adverts are of 2018: unless their dates are set, the next staleness run archives them.
func TestDemo(t *testing.T) {
	t.Parallel()

	p, told := load(t), load(t, "CONVEYOR_ALLOW_PRIVATE_HOSTS=demo:8090")
	for _, asks := range []string{"worker", "crawler", "browser", "drafts"} {
		require.Empty(t, value(p.Services[asks], "CONVEYOR_ALLOW_PRIVATE_HOSTS"), asks)
		require.Equal(t, "demo:8090", value(told.Services[asks], "CONVEYOR_ALLOW_PRIVATE_HOSTS"), asks)
		require.NotEmpty(t, shared(p.Services[asks], p.Services["demo"]), asks)
	}
	require.Contains(t, p.Services["feed"].Command, "--now")
	require.Contains(t, p.Services["demo"].Command, "--address=0.0.0.0:8090")
	require.Contains(t, p.Services["feed"].Command, "--demo=http://demo:8090")
	for _, name := range []string{"demo", "feed"} {
		require.Equal(t, []string{"demo"}, p.Services[name].Profiles)
	}
}

// Pages are loaded by workers of their own, each with a Chromium in another container: the rest has no use for the image.
func TestBrowser(t *testing.T) {
	t.Parallel()

	p := load(t)
	worker := p.Services["worker"]
	require.Equal(t, "listings,images,enrich,search", value(worker, "CONVEYOR_TASK_QUEUES"))
	require.Empty(t, worker.Build.Target)
	addresses := map[string]string{"browser": "CONVEYOR_BROWSER_URL", "drafts": "CHROME_DEVTOOLS_URL"}
	for queue, cell := range cells {
		drives, renders := p.Services[queue], p.Services[cell]
		require.Equal(t, worker.Command, drives.Command, queue)
		require.Equal(t, queue, value(drives, "CONVEYOR_TASK_QUEUES"))
		for _, s := range []types.ServiceConfig{drives, renders} {
			require.Equal(t, "browser", s.Build.Target, s.Name)
			require.NotEqual(t, worker.Image, s.Image, s.Name)
			require.True(t, *s.Init, "%s: nobody else takes care of what a killed driver or Chromium leaves", s.Name)
			require.Contains(t, s.Tmpfs, "/tmp", "%s has nothing else to write to", s.Name)
		}
		at, err := url.Parse(value(drives, addresses[queue]))
		require.NoError(t, err)
		require.Equal(t, cell, at.Hostname())
		require.Contains(t, listens(t, cell, renders), port(t, at.Host), queue)
		password, _ := at.User.Password()
		require.Equal(t, value(renders, "CONVEYOR_CHROMIUM_PASSWORD"), password, queue)
		require.Greater(t, int64(renders.Deploy.Resources.Limits.MemoryBytes), int64(2*1536<<20),
			"two of CONVEYOR_BROWSER_MAX_RSS while one Chromium takes over from another")
	}
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
	ofServices := []string{"postgres", "redis", "rabbitmq", "temporal"}
	published := func(dotEnv ...string) (out []int) {
		p, err := read(t, slices.Concat(secrets, dotEnv), composeFile, portsFile)
		require.NoError(t, err)
		closed := load(t, dotEnv...)
		for _, name := range ofServices {
			require.Empty(t, closed.Services[name].Ports, "%s is published without %s", name, portsFile)
		}
		for name, s := range p.Services {
			if len(s.Ports) > 0 {
				_, outside := s.Networks["front"]
				require.True(t, outside, "%s: an internal network publishes no port", name)
			}
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
	require.Subset(t, roles(p), []string{"api", "worker", "bridge"})
	for _, role := range roles(p) {
		waits := []string{"bootstrap", "migrate", "rabbitmq", "redis"}
		if cell, ok := cells[role]; ok {
			waits = append(waits, cell)
		}
		require.ElementsMatch(t, waits, slices.Collect(maps.Keys(p.Services[role].DependsOn)), role)
		require.Empty(t, p.Services[role].Profiles, role)
	}
	for job, needs := range map[string][]string{
		"migrate": {"postgres"}, "temporal-schema": {"postgres"}, "temporal": {"temporal-schema"},
		"bootstrap": {"temporal", "migrate"}, "temporal-ui": {"temporal"}, "temporal-ui-proxy": {"temporal-ui"},
	} {
		require.Subset(t, slices.Collect(maps.Keys(p.Services[job].DependsOn)), needs, job)
	}
	for name, s := range p.Services {
		for on := range s.DependsOn {
			if name == "feed" || on == "migrate" || on == "bootstrap" || on == "rabbitmq" || name == "temporal" ||
				name == "grafana" {
				continue // one waits for the other and does not call it
			}
			require.NotEmpty(t, shared(s, p.Services[on]), "%s has no network with %s", name, on)
		}
	}
}

// Prometheus asks each of our containers that lasts, by a name and a port that it answers on.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("prometheus/prometheus.yml")
	require.NoError(t, err)
	var conf struct {
		Scrape []struct {
			DNS []struct {
				Names []string `yaml:"names"`
				Port  int      `yaml:"port"`
			} `yaml:"dns_sd_configs"`
			Static []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &conf))
	asked := map[string]int{}
	for _, job := range conf.Scrape {
		for _, d := range job.DNS {
			for _, name := range d.Names {
				asked[name] = d.Port
			}
		}
		for _, s := range job.Static {
			for _, target := range s.Targets {
				name, _, _ := strings.Cut(target, ":")
				asked[name] = port(t, target)
			}
		}
	}
	p := load(t)
	prometheus := p.Services["prometheus"]
	for name, s := range ours(p) {
		if job(s) || alone[name] {
			continue
		}
		require.Contains(t, asked, name, "Prometheus does not scrape %s", name)
		require.Contains(t, listens(t, name, s), asked[name], name)
	}
	for name := range asked {
		require.NotEmpty(t, shared(prometheus, p.Services[name]), "Prometheus has no network with %s", name)
	}
}

// Prometheus starts without rules where no file is at their path, and Grafana without dashboards: the chart's are there.
func TestMonitoringIsMounted(t *testing.T) {
	t.Parallel()

	p := load(t)
	for file, path := range map[string]string{
		"prometheus/prometheus.yml":                    "/etc/alerts/alerts.yml",
		"grafana/provisioning/dashboards/conveyor.yml": "/var/lib/grafana/dashboards",
	} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), path)
		service, _, _ := strings.Cut(file, "/")
		require.True(t, slices.ContainsFunc(p.Services[service].Volumes, func(v types.ServiceVolumeConfig) bool {
			below, ok := strings.CutPrefix(path, v.Target)
			_, err := os.Stat(v.Source + below)
			return ok && err == nil
		}), "%s has no %s", service, path)
	}
}

// Nobody outside reaches the services, and a page that takes over Chromium finds as little as possible.
func TestNetworks(t *testing.T) {
	t.Parallel()

	p := load(t)
	for _, name := range []string{"back", "broker"} {
		require.True(t, p.Networks[name].Internal, name)
	}
	for _, name := range []string{"postgres", "redis", "rabbitmq", "temporal"} {
		for network := range p.Services[name].Networks {
			require.True(t, p.Networks[network].Internal, "%s is in %s", name, network)
		}
	}
	for name, cell := range cells {
		worker, s := p.Services[name], p.Services[cell]
		require.Empty(t, shared(worker, p.Services["rabbitmq"]), name)
		require.NotContains(t, worker.Environment, "RABBITMQ_URL", name)

		require.Len(t, s.Networks, 1, cell)
		for network := range s.Networks {
			require.True(t, p.Networks[network].Internal, network)
			require.Equal(t, "isolated", p.Networks[network].DriverOpts["com.docker.network.bridge.gateway_mode_ipv4"],
				"%s: Chromium reaches what listens on the machine", network)
		}
		for other, o := range p.Services {
			if other != name && other != cell {
				require.Empty(t, shared(s, o), "Chromium reaches %s", other)
			}
		}
		require.Empty(t, s.EnvFiles, cell)
		require.Empty(t, s.Volumes, cell)
		require.ElementsMatch(t, []string{
			"CONVEYOR_LOG_FORMAT", "CONVEYOR_CHROMIUM_PASSWORD", "CONVEYOR_BROWSER_SANDBOX", "CONVEYOR_BROWSER_MAX_RSS",
		}, slices.Collect(maps.Keys(s.Environment)), cell)
		require.Positive(t, s.Deploy.Resources.Limits.Pids, "%s: a page starts processes without end", cell)
		require.Contains(t, s.SecurityOpt, "seccomp:deploy/seccomp-chromium.json", "%s: Chromium has no sandbox", cell)
		require.NotContains(t, worker.SecurityOpt, "seccomp:deploy/seccomp-chromium.json", "%s needs no namespaces", name)
	}
	_, err := os.Stat("seccomp-chromium.json")
	require.NoError(t, err)
	for name, s := range ours(p) {
		for _, f := range s.EnvFiles {
			require.Equal(t, "settings.env", filepath.Base(f.Path), "%s: .env has the passwords of all", name)
		}
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

// No secret stands in the file: each comes from .env, wherever it is used, and without it nothing starts. The superuser
// of Postgres is nobody's login.
func TestSecrets(t *testing.T) {
	t.Parallel()

	given := map[string]bool{}
	for _, line := range secrets {
		name, v, _ := strings.Cut(line, "=")
		given[v] = true
		_, err := read(t, slices.DeleteFunc(slices.Clone(secrets), func(l string) bool { return l == line }), composeFile)
		says := "run deploy/env.sh > .env"
		if later[name] {
			says = "add one to .env as deploy/env.sh prints it"
		}
		require.ErrorContains(t, err, name+" is missing a value: "+says, "%s has a default", name)
	}
	sealing := map[string]bool{"api": true, "dispatcher": true, "browser": true, "drafts": true, "bridge": true}
	isSecret, seen := regexp.MustCompile(`PASS|PWD|SECRET|TOKEN|AUTH$`), 0
	for name, s := range load(t).Services {
		for variable, v := range s.Environment {
			require.NotNil(t, v, variable) // would be taken from the shell
			password := *v
			if u, err := url.Parse(*v); err == nil && u.User != nil {
				password, _ = u.User.Password()
			} else if !isSecret.MatchString(variable) || variable == "TEMPORAL_ALLOW_NO_AUTH" {
				continue
			}
			seen++
			require.True(t, given[password], "%s of %s", variable, name)
			if name != "postgres" {
				require.NotEqual(t, "pg-0123", password, "%s of %s is the superuser's", variable, name)
			}
			require.True(t, variable != "CONVEYOR_SECRET_KEYS" || sealing[name], name)
			require.True(t, password != "own-4567" || name == "migrate" || name == "postgres", "%s of %s", variable, name)
		}
	}
	require.GreaterOrEqual(t, seen, 15)
}

// Processes that have a role of the database of their own have it, and the owner grants it to them: a role for each
// container, but for both that read pages.
func TestDatabaseRoles(t *testing.T) {
	t.Parallel()

	p := load(t)
	granted := map[string]string{}
	for part := range strings.SplitSeq(value(p.Services["migrate"], "CONVEYOR_DATABASE_ROLES"), ",") {
		queue, role, _ := strings.Cut(part, "=")
		granted[queue] = role
	}
	require.ElementsMatch(t, db.Parts(), slices.Collect(maps.Keys(granted)))
	script, err := os.ReadFile("postgres/roles.sh")
	require.NoError(t, err)
	of := map[string][]string{}
	for name, s := range ours(p) {
		if alone[name] || name == "feed" {
			continue
		}
		u, err := url.Parse(value(s, "DATABASE_URL"))
		require.NoError(t, err)
		role := cmp.Or(granted[name], "conveyor")
		if queues := value(s, "CONVEYOR_TASK_QUEUES"); queues != "" {
			for queue := range strings.SplitSeq(queues, ",") {
				role = granted[queue]
				require.Equal(t, u.User.Username(), role, "%s of %s", queue, name)
			}
			of[role] = append(of[role], name)
		}
		require.Equal(t, role, u.User.Username(), name)
		require.Contains(t, string(script), "ALTER ROLE "+role+" NOSUPERUSER", name)
		require.True(t, name == "migrate" || value(s, "CONVEYOR_DATABASE_ROLES") == "", name)
	}
	for role, names := range of {
		require.True(t, len(names) == 1 || role == "conveyor_pages", "%s is that of %s", role, names)
	}
}

// Whoever seals or opens what is kept encrypted has the keys: access tokens of senders, addresses of saved searches,
// headers of crawl requests, credentials of proxies.
func TestSecretKeys(t *testing.T) {
	t.Parallel()

	of := []string{"campaigns", "message_dispatch", "message_retry", "notify", "browser", "drafts"}
	var found []string
	for name, s := range ours(load(t)) {
		queues := strings.Split(value(s, "CONVEYOR_TASK_QUEUES"), ",")
		queues = slices.DeleteFunc(queues, func(q string) bool { return !slices.Contains(of, q) })
		if len(queues) > 0 || name == "api" || name == "bridge" {
			require.NotEmpty(t, value(s, "CONVEYOR_SECRET_KEYS"), name)
		}
		found = append(found, queues...)
	}
	require.ElementsMatch(t, of, found)
}

// Opt-outs are hashed by the workers of message_dispatch, where .env says so. Whoever looks them up can open their key.
func TestKeyOfOptOuts(t *testing.T) {
	t.Parallel()

	const setting = "CONVEYOR_KEY_OPT_OUTS"
	p, told := load(t), load(t, setting+"=true")
	hash, lookUp := 0, []string{"campaigns", "message_dispatch", "message_retry"}
	for name, s := range ours(p) {
		queues := strings.Split(value(s, "CONVEYOR_TASK_QUEUES"), ",")
		if name == "api" || slices.ContainsFunc(queues, func(q string) bool { return slices.Contains(lookUp, q) }) {
			require.NotEmpty(t, value(s, "CONVEYOR_SECRET_KEYS"), name)
		}
		if !slices.Contains(queues, "message_dispatch") {
			require.NotContains(t, told.Services[name].Environment, setting, name)
			continue
		}
		hash++
		require.Equal(t, "false", value(s, setting), name)
		require.Equal(t, "true", value(told.Services[name], setting), name)
	}
	require.Positive(t, hash)
}

// .env.example has every variable of the files with its default, and no other. env.sh fills in the empty ones.
func TestEnvExample(t *testing.T) {
	t.Parallel()

	o, err := cli.NewProjectOptions([]string{composeFile, portsFile}, cli.WithProfiles([]string{"*"}),
		cli.WithInterpolation(false), cli.WithConsistency(false), cli.WithNormalization(false))
	require.NoError(t, err)
	model, err := o.LoadModel(t.Context())
	require.NoError(t, err)
	want := map[string]string{}
	for name, v := range template.ExtractVariables(model, nil) {
		want[name] = v.DefaultValue
	}
	text, err := os.ReadFile("../.env.example")
	require.NoError(t, err)
	line := regexp.MustCompile(`(?m)^#?([A-Z_]+)=(.*)$`)
	got := map[string]string{}
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		got[m[1]] = m[2]
	}
	require.Equal(t, want, got)

	filled, err := exec.CommandContext(t.Context(), "./env.sh").Output()
	require.NoError(t, err)
	drawn := map[string]bool{}
	var lines []string
	for _, m := range line.FindAllStringSubmatch(string(filled), -1) {
		switch {
		case strings.HasSuffix(m[1], "_PASSWORD"):
			require.Regexp(t, `^[0-9a-f]{48}$`, m[2], m[1])
		case m[1] == "CONVEYOR_SECRET_KEYS":
			_, err := secret.Parse(m[2])
			require.NoError(t, err)
		case m[1] == "CONVEYOR_KEY_OPT_OUTS": // of a new installation: one that is there has a .env, in which it is off
			require.Equal(t, m[1]+"=true", m[0])
			lines = append(lines, m[0])
			continue
		default:
			continue
		}
		drawn[m[2]] = true
		lines = append(lines, m[1]+"="+m[2])
	}
	require.Len(t, drawn, len(secrets), "each has one of its own")
	p, err := read(t, lines, composeFile)
	require.NoError(t, err)
	require.Equal(t, "true", value(p.Services["dispatcher"], "CONVEYOR_KEY_OPT_OUTS"))
}
