// Package test renders the chart, as Helm does, and reads every manifest as Kubernetes' API does: strictly. It is a module
// of its own, because Helm and the types of Kubernetes are needed here only.
package test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	scaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// KEDA's objects, as far as the chart makes them (keda.sh/v1alpha1).
type (
	scaledObject struct {
		meta.TypeMeta
		meta.ObjectMeta `json:"metadata"`
		Spec            struct {
			ScaleTargetRef  struct{ Name string }
			MinReplicaCount int
			MaxReplicaCount int
			PollingInterval int
			CooldownPeriod  int
			Triggers        []struct {
				Type              string
				Metadata          map[string]string
				AuthenticationRef *struct{ Name string }
			}
		}
	}
	triggerAuthentication struct {
		meta.TypeMeta
		meta.ObjectMeta `json:"metadata"`
		Spec            struct {
			SecretTargetRef []struct{ Parameter, Name, Key string }
		}
	}
)

// blank is an object of each kind that the chart may make.
func blank(kind string) any {
	switch kind {
	case "apps/v1 Deployment":
		return &apps.Deployment{}
	case "apps/v1 DaemonSet":
		return &apps.DaemonSet{}
	case "batch/v1 Job":
		return &batch.Job{}
	case "v1 Service":
		return &core.Service{}
	case "v1 ServiceAccount":
		return &core.ServiceAccount{}
	case "v1 ConfigMap":
		return &core.ConfigMap{}
	case "policy/v1 PodDisruptionBudget":
		return &policy.PodDisruptionBudget{}
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networking.NetworkPolicy{}
	case "networking.k8s.io/v1 Ingress":
		return &networking.Ingress{}
	case "autoscaling/v2 HorizontalPodAutoscaler":
		return &scaling.HorizontalPodAutoscaler{}
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return &monitoring.ServiceMonitor{}
	case "monitoring.coreos.com/v1 PrometheusRule":
		return &monitoring.PrometheusRule{}
	case "keda.sh/v1alpha1 ScaledObject":
		return &scaledObject{}
	case "keda.sh/v1alpha1 TriggerAuthentication":
		return &triggerAuthentication{}
	}
	return nil
}

func load(t *testing.T) *chart.Chart {
	t.Helper()

	c, err := loader.Load("../conveyor")
	require.NoError(t, err)
	return c
}

// render renders the chart with values in YAML, and returns its objects by kind and name.
func render(t *testing.T, values string) map[string]any {
	t.Helper()

	texts, err := rendered(t, values)
	require.NoError(t, err)
	out := map[string]any{}
	for file, text := range texts {
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		for _, document := range regexp.MustCompile(`(?m)^---\s*$`).Split(text, -1) {
			var head struct {
				meta.TypeMeta `json:",inline"`
				Metadata      struct{ Name string }
			}
			require.NoError(t, yaml.Unmarshal([]byte(document), &head), "%s\n%s", file, document)
			if head.Kind == "" {
				continue
			}
			kind := head.APIVersion + " " + head.Kind
			o := blank(kind)
			require.NotNil(t, o, kind)
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), o), "%s\n%s", file, document)
			key := head.Kind + " " + head.Metadata.Name
			require.NotContains(t, out, key, "twice")
			out[key] = o
		}
	}
	return out
}

func rendered(t *testing.T, values string) (map[string]string, error) {
	t.Helper()

	var v map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(values), &v))
	c := load(t)
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "homes", Namespace: "conveyor"}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.Render(c, all)
}

// tables are values that operators would set.
var tables = map[string]string{
	"defaults": "{}",
	"everything": `
image: {repository: registry.example/conveyor, tag: v1.2.3, pullSecrets: [{name: registry}]}
files: [{name: ca, secret: conveyor-ca}, {name: places, configMap: places}]
autoscaling: keda
deployment: {name: homes}
chromium: {install: {enabled: true}}
ingress: {enabled: true, className: nginx, tlsSecret: conveyor-tls, annotations: {a: b}}
networkPolicy:
  apiFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: ingress}}}]
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  services: [{ipBlock: {cidr: 10.20.0.0/16}}]
  extraEgress: [{to: [{ipBlock: {cidr: 169.254.170.23/32}}], ports: [{protocol: TCP, port: 80}]}]
extraSecrets: [conveyor-bucket, conveyor-more]
keda: {temporalAuth: [{parameter: cert, name: temporal-client, key: tls.crt}, {parameter: key, name: temporal-client, key: tls.key}, {parameter: ca, key: CA}]}
priorityClassName: high
serviceAccount: {annotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/conveyor"}}
monitoring: {serviceMonitor: true, rules: true, dashboards: true, labels: {release: prometheus}}
settings: {CONVEYOR_API_PROXIES: 10.42.0.0/16, TEMPORAL_ADDRESS: "t1:7233,t2:7233", CONVEYOR_LOG_LEVEL: debug, CONVEYOR_DB_MAX_CONNS: 12, CONVEYOR_STORE_SLOTS: 8, CONVEYOR_UPLOAD_MAX_BYTES: 2147483648, TEMPORAL_TLS_CLIENT_CERT_PATH: /etc/conveyor/ca/tls.crt, TEMPORAL_TLS_SERVER_NAME: temporal.example}
jobs: {resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 1Gi}}}
roles:
  importer: {resources: {limits: {cpu: 1500m}}}
  worker: {replicas: 5, nodeSelector: {pool: work}, tolerations: [{key: a, operator: Exists}], podAnnotations: {a: b}, settings: {CONVEYOR_IMAGE_SLOTS: 64}}
`,
	"hpa":         `{autoscaling: hpa}`,
	"keda, plain": `{autoscaling: keda, keda: {queues: []}}`,
	"more workers": `
settings: {CONVEYOR_STOP_GRACE: 1m30s}
networkPolicy: {services: [{ipBlock: {cidr: 10.20.0.0/16}}]}
roles:
  browser: {replicas: 0}
  drafts: {replicas: 0}
  worker: {queues: [listings, enrich, search], settings: {CONVEYOR_STOP_GRACE: 5s}}
  images: {queues: [images], replicas: 2, maxReplicas: 8, nodeSelector: {pool: net}, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 4, memory: 2Gi}}}
  pages-2: {queues: [browser, drafts], replicas: 1, maxReplicas: 2, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 4Gi}}}
  news: {queues: [notify], replicas: 1, maxReplicas: 2, resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 512Mi}}}
`,
	"no chromium": `{roles: {browser: {replicas: 0}, drafts: {replicas: 0}}}`,
	"alone":       `{networkPolicy: {enabled: false}, serviceAccount: {create: false, name: mine}, roles: {api: {replicas: 1}, bridge: {replicas: 1}}}`,
}

// pods are the pods of all objects, by their objects' keys.
func pods(objects map[string]any) map[string]core.PodTemplateSpec {
	out := map[string]core.PodTemplateSpec{}
	for key, o := range objects {
		switch o := o.(type) {
		case *apps.Deployment:
			out[key] = o.Spec.Template
		case *apps.DaemonSet:
			out[key] = o.Spec.Template
		case *batch.Job:
			out[key] = o.Spec.Template
		}
	}
	return out
}

// apart says whether an object has Chromium, and nothing of a role.
func apart(key string) bool { return strings.HasSuffix(key, "-chromium") }

func TestTables(t *testing.T) {
	known, binary := settings(t), build(t)
	for name, values := range tables {
		t.Run(name, func(t *testing.T) {
			objects := render(t, values)
			for key, pod := range pods(objects) {
				for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
					require.NotRegexp(t, `:latest$|^[^:]+$`, c.Image, key)
					require.False(t, c.Resources.Limits.Memory().IsZero(), "%s: no limit", key)
					require.False(t, c.Resources.Requests.Cpu().IsZero(), "%s: no request", key)
					require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, key)
					require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, key)
					require.Equal(t, []core.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, key)
					for _, e := range c.Env {
						require.True(t, known[e.Name], "%s: %s is no setting", key, e.Name)
					}
					if key != "DaemonSet homes-seccomp" {
						accepted(t, binary, key, c)
					}
				}
				require.False(t, *pod.Spec.AutomountServiceAccountToken, key)
				if key != "DaemonSet homes-seccomp" {
					require.True(t, *pod.Spec.SecurityContext.RunAsNonRoot, key)
				}
			}
			for key, o := range objects {
				d, ok := o.(*apps.Deployment)
				if !ok {
					continue
				}
				for _, name := range slices.Collect(maps.Keys(d.Spec.Selector.MatchLabels)) {
					require.Equal(t, d.Spec.Selector.MatchLabels[name], d.Spec.Template.Labels[name], key)
				}
				c := d.Spec.Template.Spec.Containers[0]
				require.NotNil(t, c.LivenessProbe, key)
				require.NotNil(t, c.ReadinessProbe, key)
				require.GreaterOrEqual(t, *d.Spec.Template.Spec.TerminationGracePeriodSeconds, int64(30), key)
				require.Len(t, d.Spec.Template.Spec.TopologySpreadConstraints, 2, key)
				budget, spread := objects["PodDisruptionBudget "+d.Name]
				if d.Spec.Replicas != nil && *d.Spec.Replicas > 1 {
					require.True(t, spread, key)
					require.Equal(t, d.Spec.Selector, budget.(*policy.PodDisruptionBudget).Spec.Selector)
				}
			}
		})
	}
}

// build returns where the program is: that of the Makefile, or one that is built.
func build(t *testing.T) string {
	t.Helper()

	if binary := os.Getenv("CONVEYOR_TEST_BINARY"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "conveyor")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/conveyor")
	command.Dir = "../../.."
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// accepted requires that the program takes the values of a container. It has none of the Secret's.
func accepted(t *testing.T, binary, key string, c core.Container) {
	t.Helper()

	command := exec.CommandContext(t.Context(), binary, "config")
	command.Env = []string{"CONVEYOR_SECRET_KEYS=k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			command.Env = append(command.Env, e.Name+"="+e.Value)
		}
	}
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", key, out)
}

// settings are the names that the program knows: those that `conveyor config` is made of, and those that Temporal's SDK
// reads, by its source.
func settings(t *testing.T) map[string]bool {
	t.Helper()

	out := map[string]bool{"CONVEYOR_HOME": true}
	files, err := os.ReadDir("../../../internal/config")
	require.NoError(t, err)
	tag := regexp.MustCompile("`env:\"([A-Z0-9_]+)\"")
	for _, f := range files {
		text, err := os.ReadFile("../../../internal/config/" + f.Name())
		require.NoError(t, err)
		for _, m := range tag.FindAllSubmatch(text, -1) {
			out[string(m[1])] = true
		}
	}
	require.Greater(t, len(out), 100)
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "go.temporal.io/sdk/contrib/envconfig")
	list.Dir = "../../.."
	dir, err := list.Output()
	require.NoError(t, err)
	text, err := os.ReadFile(strings.TrimSpace(string(dir)) + "/client_config_load.go")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`LookupEnv\("(TEMPORAL_\w+)"\)`).FindAllSubmatch(text, -1) {
		out[string(m[1])] = true
	}
	require.True(t, out["TEMPORAL_TLS_CLIENT_CERT_PATH"])
	require.False(t, out["TEMPORAL_TLS_CERT"], "the name of the temporal CLI before 1.0")
	return out
}

// The time that a pod has to end follows the grace of its role; the API goes on while its address is being forgotten.
func TestEnd(t *testing.T) {
	graces := func(values string) map[string]int64 {
		out := map[string]int64{}
		for key, o := range render(t, values) {
			if d, ok := o.(*apps.Deployment); ok {
				out[strings.TrimPrefix(key, "Deployment homes-")] = *d.Spec.Template.Spec.TerminationGracePeriodSeconds
			}
		}
		return out
	}
	byDefault := graces("{}")
	require.Equal(t, []int64{45, 40, 40}, []int64{byDefault["api"], byDefault["bridge"], byDefault["worker"]})
	longer := graces(tables["more workers"])
	require.Equal(t, []int64{195, 30, 190}, []int64{longer["api"], longer["worker"], longer["images"]})

	objects := render(t, "{}")
	for key, pod := range pods(objects) {
		hook := pod.Spec.Containers[0].Lifecycle
		if key == "Deployment homes-api" {
			require.Equal(t, int64(5), hook.PreStop.Sleep.Seconds)
			continue
		}
		require.Nil(t, hook, key)
	}
	require.Equal(t, ">=1.30.0-0", load(t).Metadata.KubeVersion, "the first with sleep in preStop")
}

// Every role that uses the bucket reaches it, and the credentials for it, when the services are named.
func TestEgress(t *testing.T) {
	for _, table := range []string{"everything", "more workers"} {
		objects := render(t, tables[table])
		selector, err := meta.LabelSelectorAsSelector(&objects["NetworkPolicy homes-sites"].(*networking.NetworkPolicy).Spec.PodSelector)
		require.NoError(t, err)
		for key, pod := range pods(objects) {
			closed := apart(key) || slices.Contains([]string{
				"Deployment homes-bridge", "Job homes-migrate", "Job homes-bootstrap", "Job homes-rollout", "DaemonSet homes-seccomp",
			}, key)
			require.Equal(t, !closed, selector.Matches(labels.Set(pod.Labels)), key)
		}
	}
	rules := render(t, tables["everything"])["NetworkPolicy homes"].(*networking.NetworkPolicy).Spec.Egress
	require.Equal(t, "169.254.170.23/32", rules[len(rules)-1].To[0].IPBlock.CIDR)
	require.Equal(t, 80, rules[len(rules)-1].Ports[0].Port.IntValue())
	require.Len(t, render(t, "{}")["NetworkPolicy homes"].(*networking.NetworkPolicy).Spec.Egress, 2)
}

// More Secrets are for every container of ours, as a whole.
func TestExtraSecrets(t *testing.T) {
	for key, pod := range pods(render(t, tables["everything"])) {
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			var names []string
			for _, from := range c.EnvFrom {
				names = append(names, from.SecretRef.Name)
			}
			if key == "DaemonSet homes-seccomp" || apart(key) {
				require.Empty(t, names)
				continue
			}
			require.Equal(t, []string{"conveyor-bucket", "conveyor-more"}, names, key)
		}
	}
}

// A worker of a name of one's own has what its task queues need.
func TestMoreWorkers(t *testing.T) {
	objects := render(t, tables["more workers"])
	role := func(name string) (core.PodSpec, core.Container) {
		pod := objects["Deployment homes-"+name].(*apps.Deployment).Spec.Template.Spec
		return pod, pod.Containers[0]
	}
	pod, images := role("images")
	require.Equal(t, []string{"worker"}, images.Args)
	require.Equal(t, "images", value(images, "CONVEYOR_TASK_QUEUES"))
	require.Equal(t, "conveyor:devel", images.Image)
	require.Equal(t, "4", images.Resources.Limits.Cpu().String())
	require.Equal(t, map[string]string{"pool": "net"}, pod.NodeSelector)
	require.False(t, has(images, "CONVEYOR_SECRET_KEYS"))
	require.Contains(t, objects, "PodDisruptionBudget homes-images")

	pod, pages := role("pages-2")
	require.Equal(t, "conveyor-browser:devel", pages.Image)
	require.Equal(t, core.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.Equal(t, []string{"worker"}, pages.Args)
	require.True(t, has(pages, "CONVEYOR_SECRET_KEYS"))
	for _, at := range []string{"CONVEYOR_BROWSER_URL", "CHROME_DEVTOOLS_URL"} {
		require.Equal(t, "http://conveyor:$(CONVEYOR_CHROMIUM_PASSWORD)@homes-pages-2-chromium:9222", value(pages, at))
	}
	require.Contains(t, objects, "ConfigMap homes-seccomp", "though browser and drafts are off")

	_, news := role("news")
	require.True(t, has(news, "CONVEYOR_SMTP_URL") && has(news, "CONVEYOR_SECRET_KEYS"))
	_, worker := role("worker")
	require.True(t, has(worker, "CONVEYOR_ENRICH_KEY") && has(worker, "CONVEYOR_SEARCH_URL") && !has(worker, "CONVEYOR_SMTP_URL"))

	hpa := render(t, tables["more workers"]+"autoscaling: hpa")
	require.Equal(t, int32(8), hpa["HorizontalPodAutoscaler homes-images"].(*scaling.HorizontalPodAutoscaler).Spec.MaxReplicas)
	keda := render(t, tables["more workers"]+"autoscaling: keda")
	require.Equal(t, "images", keda["ScaledObject homes-images"].(*scaledObject).Spec.Triggers[0].Metadata["taskQueue"])
}

// Opt-outs are hashed by workers of message_dispatch, whichever role they are and wherever the setting stands.
func TestKeyOfOptOuts(t *testing.T) {
	const setting, more = "CONVEYOR_KEY_OPT_OUTS", `{queues: [message_dispatch], replicas: 1, maxReplicas: 2, ` +
		`resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 512Mi}}}`
	for values, want := range map[string][]string{
		`{settings: {` + setting + `: true}, roles: {more: ` + more + `}}`: {"Deployment homes-dispatcher", "Deployment homes-more"},
		`{roles: {dispatcher: {settings: {` + setting + `: true}}}}`:       {"Deployment homes-dispatcher"},
		`{}`: nil,
	} {
		var got []string
		for key, pod := range pods(render(t, values)) {
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				if has(c, setting) {
					require.Equal(t, "true", value(c, setting), key)
					require.True(t, has(c, "CONVEYOR_SECRET_KEYS"), key)
					got = append(got, key)
				}
			}
		}
		slices.Sort(got)
		require.Equal(t, want, got, values)
	}
}

// The API asks for no worker of the queues of roles that are off, unless another role has them, or settings say which.
func TestUnusedQueues(t *testing.T) {
	for values, want := range map[string]any{
		tables["defaults"]:     nil,
		tables["no chromium"]:  "browser,drafts",
		tables["more workers"]: nil, // another role has them
		`{roles: {dispatcher: {replicas: 0}, news: {queues: [notify], replicas: 1, maxReplicas: 2, ` +
			`resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 512Mi}}}}}`: "campaigns,message_dispatch,message_retry",
		`{settings: {CONVEYOR_UNUSED_TASK_QUEUES: notify}, roles: {drafts: {replicas: 0}}}`:                 "notify",
		`{roles: {drafts: {replicas: 0}, api: {settings: {CONVEYOR_UNUSED_TASK_QUEUES: "notify,drafts"}}}}`: "notify,drafts",
	} {
		objects := render(t, values)
		api := objects["Deployment homes-api"].(*apps.Deployment).Spec.Template.Spec.Containers[0]
		require.Equal(t, want, value(api, "CONVEYOR_UNUSED_TASK_QUEUES"), values)
		bridge := objects["Deployment homes-bridge"].(*apps.Deployment).Spec.Template.Spec.Containers[0]
		if want != "notify" { // of every role
			require.False(t, has(bridge, "CONVEYOR_UNUSED_TASK_QUEUES"), values)
		}
	}
}

// Every role of docker-compose.yml is there, with its command and its task queues, and all task queues are served.
func TestRolesAreThoseOfCompose(t *testing.T) {
	text, err := os.ReadFile("../../../docker-compose.yml")
	require.NoError(t, err)
	var file struct {
		Services map[string]struct {
			Command     any
			Environment any
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	objects := render(t, "{}")
	for role, s := range file.Services {
		env, _ := s.Environment.(map[string]any)
		if env["CONVEYOR_METRICS_ADDRESS"] == nil {
			continue // a service, a job or the demo
		}
		d, ok := objects["Deployment homes-"+role].(*apps.Deployment)
		require.True(t, ok, role)
		c := d.Spec.Template.Spec.Containers[0]
		require.Equal(t, fmt.Sprint(s.Command), fmt.Sprint(c.Args), role)
		require.Equal(t, fmt.Sprint(env["CONVEYOR_TASK_QUEUES"]), fmt.Sprint(value(c, "CONVEYOR_TASK_QUEUES")), role)
		// No role gets a secret that it does not get there; the optional ones of Secrets aside.
		if keys := env["CONVEYOR_SECRET_KEYS"]; keys != nil {
			require.True(t, has(c, "CONVEYOR_SECRET_KEYS"), role)
		}
		require.Equal(t, env["RABBITMQ_URL"] != nil, has(c, "RABBITMQ_URL"), role)
	}
}

func has(c core.Container, name string) bool {
	return slices.ContainsFunc(c.Env, func(e core.EnvVar) bool { return e.Name == name })
}

// value is that of a variable, or nil.
func value(c core.Container, name string) any {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return nil
}

func TestScaling(t *testing.T) {
	objects := render(t, tables["everything"])
	worker := objects["ScaledObject homes-worker"].(*scaledObject)
	require.Len(t, worker.Spec.Triggers, 4)
	require.Equal(t, map[string]string{
		"endpoint": "t1:7233", "namespace": "conveyor", "taskQueue": "listings", "queueTypes": "workflow,activity", "targetQueueSize": "50",
		"workerDeploymentName": "homes", "workerDeploymentBuildId": "v1.2.3", "tlsServerName": "temporal.example",
	}, worker.Spec.Triggers[0].Metadata)
	require.Equal(t, "homes-temporal", worker.Spec.Triggers[0].AuthenticationRef.Name)
	require.Equal(t, []struct{ Parameter, Name, Key string }{
		{"cert", "temporal-client", "tls.crt"}, {"key", "temporal-client", "tls.key"}, {"ca", "conveyor", "CA"},
	}, objects["TriggerAuthentication homes-temporal"].(*triggerAuthentication).Spec.SecretTargetRef)
	require.Equal(t, 5, worker.Spec.MinReplicaCount)
	bridge := objects["ScaledObject homes-bridge"].(*scaledObject)
	require.Len(t, bridge.Spec.Triggers, 1, "of the queues, which are there by default, one that settings do not take away")
	require.Equal(t, "scraped.kijiji", bridge.Spec.Triggers[0].Metadata["queueName"])
	require.NotNil(t, objects["HorizontalPodAutoscaler homes-api"], "no backlog: by CPU")
	require.Nil(t, objects["Deployment homes-worker"].(*apps.Deployment).Spec.Replicas, "the scaler's")
	plain := render(t, tables["keda, plain"])
	require.Nil(t, plain["ScaledObject homes-crawler"].(*scaledObject).Spec.Triggers[0].AuthenticationRef)
	require.NotContains(t, plain["ScaledObject homes-crawler"].(*scaledObject).Spec.Triggers[0].Metadata, "workerDeploymentName")
	require.NotContains(t, plain, "TriggerAuthentication homes-temporal")
	require.NotContains(t, plain, "ScaledObject homes-bridge")
	require.Contains(t, plain, "HorizontalPodAutoscaler homes-bridge", "no queue: by CPU")
	_, err := rendered(t, `{autoscaling: keda, settings: {TEMPORAL_TLS: true}}`)
	require.ErrorContains(t, err, "keda.temporalAuth")
	hpa := render(t, tables["hpa"])
	require.NotNil(t, hpa["HorizontalPodAutoscaler homes-worker"])
	require.NotNil(t, render(t, "{}")["Deployment homes-worker"].(*apps.Deployment).Spec.Replicas)
}

// With a Worker Deployment every process is of the build that is the image's tag, and a job makes it current.
func TestRollout(t *testing.T) {
	require.NotContains(t, render(t, "{}"), "Job homes-rollout")
	objects := render(t, tables["everything"])
	for key, pod := range pods(objects) {
		if key == "DaemonSet homes-seccomp" || apart(key) {
			continue
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			require.Equal(t, "homes", value(c, "CONVEYOR_DEPLOYMENT"), key)
			require.Equal(t, "v1.2.3", value(c, "CONVEYOR_BUILD_ID"), key)
		}
	}
	job := objects["Job homes-rollout"].(*batch.Job).Spec.Template.Spec
	require.Equal(t, []string{"deployment", "set-current", "--wait=15m"}, job.InitContainers[0].Args)
	require.Equal(t, []string{"deployment", "drain", "--move", "--within=15m"}, job.Containers[0].Args)
}

// A chart has no files but those in its folder. Not every copy of a repository keeps symbolic links: a chart with one for
// its seccomp profile would install what is none, so the link to it is the path that users of Docker name.
func TestProfileOfTheChartIsAFile(t *testing.T) {
	profile, err := os.Lstat("../conveyor/files/seccomp-chromium.json")
	require.NoError(t, err)
	require.True(t, profile.Mode().IsRegular())
}

var update = flag.Bool("update", false, "write the names of settings into the chart")

// The chart has the names of all settings, to tell misspelt ones.
func TestSettingsFile(t *testing.T) {
	const file = "../conveyor/files/settings.txt"
	ours := regexp.MustCompile(`^(CONVEYOR|DATABASE|RABBITMQ|REDIS|CHROME|CRAWL|CRAWLER|FETCH|RETRY|WORKER)_`)
	var names []string
	for name := range settings(t) {
		if ours.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	list := strings.Join(names, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(list), 0o644))
	}
	listed, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, list, string(listed), "cd deploy/helm/test && go test . -update")
}

func TestMonitoring(t *testing.T) {
	objects := render(t, tables["everything"])
	alerts, err := os.ReadFile("../conveyor/files/alerts.yml")
	require.NoError(t, err)
	rules := objects["PrometheusRule homes"].(*monitoring.PrometheusRule)
	require.Equal(t, bytes.Count(alerts, []byte("- alert:")), func() (n int) {
		for _, g := range rules.Spec.Groups {
			n += len(g.Rules)
		}
		return n
	}())
	require.Contains(t, rules.Spec.Groups[0].Rules[0].Annotations["summary"], "{{ $labels.role }}", "not a template of Helm's")
	require.Contains(t, objects["ConfigMap homes-dashboards"].(*core.ConfigMap).Data, "overview.json")
	require.Contains(t, objects["ConfigMap homes-seccomp"].(*core.ConfigMap).Data["chromium.json"], "defaultAction")
	require.Equal(t, "metrics", objects["ServiceMonitor homes"].(*monitoring.ServiceMonitor).Spec.Endpoints[0].Port)
}

// What cannot work is refused with the name of the value.
func TestSchema(t *testing.T) {
	for values, says := range map[string]string{
		`{roles: {worker: {replica: 3}}}`:                          "replica",
		`{autoscaling: yes please}`:                                "autoscaling",
		`{settings: {CONVEYOR_BLOB_URL: "file:///data"}}`:          "CONVEYOR_BLOB_URL",
		`{settings: {DATABASE_URL: "postgres://me:hunter2@db/x"}}`: "DATABASE_URL",
		`{secretName: ""}`:                                         "secretName",
		`{files: [{name: ca}]}`:                                    "files",
		`{deployment: {name: a.b}}`:                                "deployment",
		`{workers: 3}`:                                             "workers",

		`{roles: {images: {replicas: 1, maxReplicas: 1, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}}}`:              "queues",
		`{roles: {migrate: {queues: [a], replicas: 1, maxReplicas: 1, resources: {requests: {cpu: 1, memory: 1}, limits: {memory: 1}}}}}`:    "migrate",
		`{roles: {Images: {queues: [a], replicas: 1, maxReplicas: 1, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}}}`: "Images",
		`{roles: {api: {queues: [listings]}}}`:                            "queues",
		`{roles: {wroker: {replicas: 3}}}`:                                "wroker",
		`{roles: {worker: {resources: {limits: {memory: null}}}}}`:        "memory",
		`{roles: {worker: {resources: {limits: {cpus: 2}}}}}`:             "cpus",
		`{roles: {worker: {settings: {DATABASE_URL: x}}}}`:                "DATABASE_URL",
		`{settings: {AWS_SECRET_ACCESS_KEY: hunter2}}`:                    "AWS_SECRET_ACCESS_KEY",
		`{settings: {CONVEYOR_STOP_GRACE: 1500ms}}`:                       "CONVEYOR_STOP_GRACE",
		`{roles: {worker: {settings: {CONVEYOR_STOP_GRACE: 15}}}}`:        "CONVEYOR_STOP_GRACE",
		`{extraSecrets: bucket}`:                                          "extraSecrets",
		`{networkPolicy: {extraEgress: [{ipBlock: {cidr: 1.2.3.4/32}}]}}`: "extraEgress",
		`{networkPolicy: {services: [{cidr: 10.0.0.0/8}]}}`:               "services",
		`{keda: {temporalAuth: [{parameter: token, key: x}]}}`:            "temporalAuth",
	} {
		_, err := rendered(t, values)
		require.ErrorContains(t, err, says, values)
	}
}

// The profile of Chromium's sandbox comes to every node, and again where it has changed.
func TestSeccompIsInstalled(t *testing.T) {
	objects := render(t, tables["everything"])
	pod := objects["DaemonSet homes-seccomp"].(*apps.DaemonSet).Spec.Template
	require.Equal(t, []core.Toleration{{Operator: core.TolerationOpExists}}, pod.Spec.Tolerations)
	require.Equal(t, []core.LocalObjectReference{{Name: "registry"}}, pod.Spec.ImagePullSecrets)
	profile, err := os.ReadFile("../../seccomp-chromium.json")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%x", sha256.Sum256(profile)), pod.Annotations["checksum/profile"])
	require.Nil(t, render(t, `{chromium: {install: {enabled: true}}}`)["DaemonSet homes-seccomp"].(*apps.DaemonSet).
		Spec.Template.Spec.ImagePullSecrets)
}

// A pod with Chromium has a process that reaps those it leaves, as a container of docker-compose.yml has an init.
func TestChromiumIsReaped(t *testing.T) {
	for _, table := range []string{"defaults", "more workers"} {
		seen := 0
		for key, pod := range pods(render(t, tables[table])) {
			chromium := strings.HasPrefix(pod.Spec.Containers[0].Image, "conveyor-browser:")
			require.Equal(t, chromium, pod.Spec.ShareProcessNamespace != nil && *pod.Spec.ShareProcessNamespace, key)
			if chromium {
				seen++
			}
		}
		require.Positive(t, seen, table)
	}
}

// Chromium runs in pods that have its password and nothing else, that no policy but their own is for, and that reach the
// workers of their role alone.
func TestChromiumApart(t *testing.T) {
	objects := render(t, tables["everything"])
	for _, role := range []string{"browser", "drafts"} {
		d := objects["Deployment homes-"+role+"-chromium"].(*apps.Deployment)
		pod, c := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
		require.Equal(t, []string{"chromium", "--address=:9222"}, c.Args)
		require.Equal(t, "default", pod.ServiceAccountName)
		require.Empty(t, c.EnvFrom)
		for _, e := range c.Env {
			require.Contains(t, []string{"CONVEYOR_CHROMIUM_PASSWORD", "CONVEYOR_LOG_FORMAT", "CONVEYOR_LOG_LEVEL"}, e.Name)
		}
		require.Len(t, c.VolumeMounts, 1, "a folder for temporary files")
		worker := objects["Deployment homes-"+role].(*apps.Deployment).Spec.Template
		require.True(t, has(worker.Spec.Containers[0], "CONVEYOR_CHROMIUM_PASSWORD"))
		service := objects["Service homes-"+role+"-chromium"].(*core.Service)
		require.Equal(t, d.Spec.Template.Labels, service.Spec.Selector)

		own := objects["NetworkPolicy homes-"+role+"-chromium"].(*networking.NetworkPolicy).Spec
		require.Len(t, own.Egress, 1)
		require.Len(t, own.Egress[0].To, 1)
		require.Len(t, own.Ingress, 1)
		for key, o := range objects {
			policy, ok := o.(*networking.NetworkPolicy)
			if !ok {
				continue
			}
			selector, err := meta.LabelSelectorAsSelector(&policy.Spec.PodSelector)
			require.NoError(t, err)
			require.Equal(t, key == "NetworkPolicy homes-"+role+"-chromium", selector.Matches(labels.Set(d.Spec.Template.Labels)), key)
		}
		for key, p := range pods(objects) {
			to, err := meta.LabelSelectorAsSelector(own.Egress[0].To[0].PodSelector)
			require.NoError(t, err)
			require.Equal(t, key == "Deployment homes-"+role, to.Matches(labels.Set(p.Labels)), "%s reaches %s", role, key)
		}
		workers := objects["NetworkPolicy homes-"+role+"-chromium-worker"].(*networking.NetworkPolicy).Spec
		require.Equal(t, own.Egress[0].To[0].PodSelector.MatchLabels, workers.PodSelector.MatchLabels)
		require.Equal(t, d.Spec.Template.Labels, workers.Ingress[0].From[0].PodSelector.MatchLabels)
	}
	beside := render(t, `{chromium: {apart: {enabled: false}}}`)
	require.NotContains(t, beside, "Deployment homes-drafts-chromium")
	drafts := beside["Deployment homes-drafts"].(*apps.Deployment).Spec.Template.Spec
	require.Contains(t, drafts.Containers[0].Args, "--only=chromium")
	require.Equal(t, core.SeccompProfileTypeLocalhost, drafts.SecurityContext.SeccompProfile.Type)
}

// Workers and bridges have a role of the database of their own, where the owner is told to grant it.
func TestDatabaseOfPages(t *testing.T) {
	key := func(objects map[string]any, name string) string {
		var keys []string
		for _, e := range objects["Deployment homes-"+name].(*apps.Deployment).Spec.Template.Spec.Containers[0].Env {
			if strings.HasPrefix(e.Name, "DATABASE_") {
				keys = append(keys, e.ValueFrom.SecretKeyRef.Key)
			}
		}
		return strings.Join(keys, " ")
	}
	const all, few = "DATABASE_URL DATABASE_LISTEN_URL", "DATABASE_PAGES_URL DATABASE_PAGES_LISTEN_URL"
	told := render(t, `{settings: {CONVEYOR_DATABASE_ROLES: "browser=p,drafts=p"}, roles: {images: {queues: [images, drafts],
		replicas: 1, maxReplicas: 1, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}}}`)
	for name, want := range map[string]string{
		"browser": few, "drafts": few, "images": all, "api": all,
	} {
		require.Equal(t, want, key(told, name), name)
	}
	told = render(t, `{settings: {CONVEYOR_DATABASE_ROLES: "api=a,bridge=b,crawl=c,upload_jobs=i,upload_chunks=i,import_persistence=i,listings=w"}}`)
	for name, want := range map[string]string{
		"bridge": "DATABASE_BRIDGE_URL DATABASE_BRIDGE_LISTEN_URL", "crawler": "DATABASE_CRAWLER_URL DATABASE_CRAWLER_LISTEN_URL",
		"importer": "DATABASE_IMPORTER_URL DATABASE_IMPORTER_LISTEN_URL", "worker": all, "dispatcher": all,
		"api": "DATABASE_API_URL DATABASE_API_LISTEN_URL",
	} {
		require.Equal(t, want, key(told, name), name)
	}
	require.Equal(t, all, key(render(t, "{}"), "drafts"))
	require.Equal(t, all, key(render(t, `{settings: {CONVEYOR_DATABASE_ROLES: "browser=p"}}`), "drafts"), "it was granted nothing")
}

// A misspelt setting is refused, also of a role, and so is one that is a secret: values are no place for it, and the
// Secret's would stand beside it.
func TestSettingsAreKnown(t *testing.T) {
	for _, values := range []string{
		`{settings: {%s: x}}`, `{roles: {worker: {settings: {%s: x}}}}`, `{roles: {bridge: {settings: {%s: x}}}}`,
	} {
		_, err := rendered(t, fmt.Sprintf(values, "CONVEYOR_KEEP_MESAGES"))
		require.ErrorContains(t, err, "CONVEYOR_KEEP_MESAGES, which is no setting", values)
	}
	render(t, `{settings: {AWS_REGION: x, OTEL_TRACES_SAMPLER: x, TEMPORAL_TLS: true, CONVEYOR_KEEP_MESSAGES: 30}}`)
	secrets := map[string]bool{}
	for _, pod := range pods(render(t, "{}")) {
		for _, e := range pod.Spec.Containers[0].Env {
			if e.ValueFrom != nil {
				secrets[e.Name] = true
			}
		}
	}
	files, err := filepath.Glob("../../../internal/config/*.go")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile("`env:\"([A-Z0-9_]+)\"[^`]* secret:\"all\"").FindAllSubmatch(text, -1) {
			secrets[string(m[1])] = true
		}
	}
	require.Greater(t, len(secrets), 15)
	for name := range secrets {
		_, err := rendered(t, fmt.Sprintf(`{settings: {%s: x}}`, name))
		require.ErrorContains(t, err, name)
	}
}

// Kubernetes refuses some pairs of values, of which one may be the chart's default: with half of the roles new.
func TestPairs(t *testing.T) {
	for _, kind := range []core.SeccompProfileType{core.SeccompProfileTypeUnconfined, core.SeccompProfileTypeRuntimeDefault} {
		for key, pod := range pods(render(t, fmt.Sprintf(`{chromium: {seccompProfile: {type: %s}}}`, kind))) {
			require.Nil(t, pod.Spec.SecurityContext.SeccompProfile.LocalhostProfile, key)
			if key == "Deployment homes-browser-chromium" || key == "Deployment homes-drafts-chromium" {
				require.Equal(t, kind, pod.Spec.SecurityContext.SeccompProfile.Type, key)
			}
		}
	}
	browser := render(t, "{}")["Deployment homes-browser-chromium"].(*apps.Deployment).Spec.Template.Spec
	require.Equal(t, "conveyor/chromium.json", *browser.SecurityContext.SeccompProfile.LocalhostProfile)

	budget := render(t, `{podDisruptionBudget: {minAvailable: 1, unhealthyPodEvictionPolicy: AlwaysAllow}}`)
	spec := budget["PodDisruptionBudget homes-worker"].(*policy.PodDisruptionBudget).Spec
	require.Equal(t, 1, spec.MinAvailable.IntValue())
	require.Nil(t, spec.MaxUnavailable)
	require.Equal(t, policy.AlwaysAllow, *spec.UnhealthyPodEvictionPolicy)

	for _, scaler := range []string{"hpa", "keda"} {
		_, err := rendered(t, `{autoscaling: `+scaler+`, roles: {worker: {replicas: 30}}}`)
		require.ErrorContains(t, err, "roles.worker.replicas is 30, more than its maxReplicas, 20")
	}
	render(t, `{roles: {worker: {replicas: 30}}}`)
}

// Behind an Ingress all callers would be one address.
func TestIngressIsTrusted(t *testing.T) {
	const ingress = `ingress: {enabled: true}, `
	for values, says := range map[string]string{
		`{` + ingress + `}`: "CONVEYOR_API_PROXIES",
		`{` + ingress + `settings: {CONVEYOR_API_PROXIES: "10.42.0.0/16,10.43.0.7"}}`:       "",
		`{` + ingress + `roles: {api: {settings: {CONVEYOR_API_PROXIES: "10.42.0.0/16"}}}}`: "",
	} {
		_, err := rendered(t, values)
		if says == "" {
			require.NoError(t, err, values)
			continue
		}
		require.ErrorContains(t, err, says, values)
	}
}

// A misspelt name is refused in every section that has names of its own.
func TestSchemaOfSections(t *testing.T) {
	var values map[string]any
	text, err := os.ReadFile("../conveyor/values.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &values))
	sections := 0
	var each func(path []string, section map[string]any)
	each = func(path []string, section map[string]any) {
		// Names of operators' own: variables, roles, annotations and labels.
		if !slices.Contains([]string{"settings", "roles", "annotations", "labels"}, strings.Join(path[max(0, len(path)-1):], "")) {
			open, shut := "", ""
			for _, name := range path {
				open, shut = open+"{"+name+": ", shut+"}"
			}
			_, err := rendered(t, open+"{mispelt: 1}"+shut)
			require.ErrorContains(t, err, "mispelt", path)
			sections++
		}
		for name, value := range section {
			if below, ok := value.(map[string]any); ok {
				each(append(slices.Clone(path), name), below)
			}
		}
	}
	each(nil, values)
	require.Greater(t, sections, 30)
}

// The notes name commands that exist.
func TestNotes(t *testing.T) {
	texts, err := rendered(t, "{}")
	require.NoError(t, err)
	notes := texts["conveyor/templates/NOTES.txt"]
	require.Contains(t, notes, "/conveyor keys create me --role admin")
	require.Contains(t, notes, "seccomp profile")
	require.Contains(t, notes, "--timeout 40m")
}
