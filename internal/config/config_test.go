package config_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/config"
)

// queues are the task queues of these tests.
var queues = []string{"listings", "images"}

func TestLoad(t *testing.T) {
	t.Setenv("RABBITMQ_URL", "amqp://me:hunter2@broker:5672/, amqps://me:hunter2@other/")
	t.Setenv("CONVEYOR_LISTING_STAGES", "import,images")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://me:hunter2@collector:4318")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=hunter2")
	c, err := config.Load(queues)
	require.NoError(t, err)
	require.Equal(t, []string{"import", "images"}, c.Listings.Stages)
	require.True(t, strings.HasPrefix(c.Images.BlobURL, "file:///"), c.Images.BlobURL)

	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "amqp://me:xxxxx@broker:5672/,amqps://me:xxxxx@other/")
	require.Contains(t, out.String(), "https://me:xxxxx@collector:4318")
}

// Paths are appended to the address of the API, by whoever has it: it is the same with a slash at its end.
func TestAddressOfTheAPI(t *testing.T) {
	for _, given := range []string{"https://homes.example", "https://homes.example/", "https://homes.example//"} {
		t.Setenv("CONVEYOR_API_URL", given)
		c, err := config.Load(queues)
		require.NoError(t, err)
		require.Equal(t, "https://homes.example", c.API.URL, given)
	}
}

// A secret is not printed, however it is spelt, and not quoted in an error.
// The broker may be named as the contract of crawler_queue does.
func TestBrokerByItsParts(t *testing.T) {
	for _, tt := range []struct {
		env             map[string]string
		url, management string
	}{
		{map[string]string{"RABBITMQ_USER": "me", "RABBITMQ_PASSWORD": "p@ss/w:rd"},
			"amqp://me:p%40ss%2Fw%3Ard@rabbitmq:5672/", "http://rabbitmq:15672"},
		{map[string]string{"RABBITMQ_HOST": "::1", "RABBITMQ_PORT": "5673", "RABBITMQ_VHOST": "a/b", "RABBITMQ_MANAGEMENT_URL": "http://x"},
			"amqp://[::1]:5673/a%2Fb", "http://x"},
		{map[string]string{"RABBITMQ_USER": "me", "RABBITMQ_URL": "amqp://broker/"}, "amqp://broker/", "http://127.0.0.1:15673"},
		{map[string]string{"RABBITMQ_PASSWORD": "alone"}, "amqp://127.0.0.1:5673/", "http://127.0.0.1:15673"},
	} {
		for _, name := range []string{"USER", "PASSWORD", "HOST", "PORT", "VHOST", "URL", "MANAGEMENT_URL"} {
			t.Setenv("RABBITMQ_"+name, tt.env["RABBITMQ_"+name])
		}
		c, err := config.Load(nil)
		require.NoError(t, err)
		require.Equal(t, []string{tt.url, tt.management}, []string{c.RabbitMQ.URL, c.RabbitMQ.ManagementURL})
		broker, management, err := config.Broker(os.Getenv)
		require.NoError(t, err)
		if tt.env["RABBITMQ_PASSWORD"] == "alone" { // it names none
			require.Equal(t, []string{"", ""}, []string{broker, management})
		} else {
			require.Equal(t, tt.url, broker)
			require.Contains(t, []string{tt.management, ""}, management)
		}
		var b strings.Builder
		require.NoError(t, c.Print(&b))
		require.NotContains(t, b.String(), "p@ss")
		require.NotContains(t, b.String(), "p%40ss")
	}
}

func TestSecretsStayHidden(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://me@db/conveyor?password=hunter2&sslmode=disable")
	c, err := config.Load(queues)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	require.NotContains(t, out.String(), "hunter2")
	require.Contains(t, out.String(), "sslmode=disable")

	t.Setenv("DATABASE_URL", "host=db password=hunter2")
	t.Setenv("RABBITMQ_URL", "amqp://me:hunter2%zz@broker/")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "DATABASE_URL is not a URL")
	require.ErrorContains(t, err, "RABBITMQ_URL is not a URL")
	require.NotContains(t, err.Error(), "hunter2")
}

// Files of TLS are for connections that use it.
func TestFilesOfTLS(t *testing.T) {
	for _, name := range []string{"REDIS_CA_FILE", "REDIS_CERT_FILE", "REDIS_KEY_FILE"} {
		t.Setenv(name, "/etc/x.pem")
	}
	t.Setenv("REDIS_URL", "rediss://:hunter2@redis/0")
	_, err := config.Load(queues)
	require.NoError(t, err)
	t.Setenv("REDIS_URL", "redis://:hunter2@redis/0")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "REDIS_CERT_FILE is for rediss:// only")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestLoadNamesWhatIsWrong(t *testing.T) {
	t.Setenv("CONVEYOR_LISTING_STAGES", "normalise")
	t.Setenv("RABBITMQ_QUEUE_TYPE", "mirrored")
	_, err := config.Load(queues)
	require.ErrorContains(t, err, `CONVEYOR_LISTING_STAGES is "normalise"`)
	require.ErrorContains(t, err, `RABBITMQ_QUEUE_TYPE is "mirrored"`)
}

// What is misspelt is told, without its value.
func TestStrangers(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"CONVEYOR_ALLOW_PRIVATE_HOST", "CONVEYOR_KEEP_MESAGES"}, config.Strangers([]string{
		"CONVEYOR_KEEP_MESAGES=30", "CONVEYOR_ALLOW_PRIVATE_HOST=a:1", "CONVEYOR_KEEP_MESSAGES=30", "CONVEYOR_STOPGRACE=",
		"CONVEYOR_HOME=/x", "CONVEYOR_TENANT=a", "CONVEYOR_GRAFANA_PORT=1", "CONVEYOR_TEST_SEED=1", "CONVEYOR_CLUSTER_SWITCH=1",
		"CONVEYOR_PORT_8080_TCP_ADDR=10.0.0.1", "CONVEYOR_SERVICE_HOST=10.0.0.1", "CONVEYOR_API_PORT=tcp://10.0.0.1:80", "PATH=/bin", "x",
	}))
}

func TestStrangersArePrinted(t *testing.T) {
	t.Setenv("CONVEYOR_KEEP_MESAGES", "hunter2")
	c, err := config.Load(queues)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	require.Regexp(t, `CONVEYOR_KEEP_MESAGES +! is set, and is no setting`, out.String())
	require.NotContains(t, out.String(), "hunter2")
}

func TestLoadNamesWhatCannotBeRead(t *testing.T) {
	t.Setenv("CONVEYOR_IMAGE_INTERVAL", "fast")
	t.Setenv("CONVEYOR_IMAGE_SLOTS", "many")
	t.Setenv("CONVEYOR_TEMPORAL_RETENTION", "48h") // two settings are called Retention: this one is right
	t.Setenv("CONVEYOR_OUTBOX_RETENTION", "long")
	_, err := config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_OUTBOX_RETENTION: ")
	require.ErrorContains(t, err, "CONVEYOR_IMAGE_INTERVAL: ")
	require.ErrorContains(t, err, "CONVEYOR_IMAGE_SLOTS: ")
}

// Every setting says what it is, and no two read the same variable.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()

	seen := map[string]bool{}
	for _, s := range (config.Config{}).Settings() {
		require.NotEmpty(t, s.Variable)
		require.NotEmpty(t, s.Doc, s.Variable)
		require.False(t, seen[s.Variable], s.Variable)
		seen[s.Variable] = true
	}
}

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestKeysInTheSettings(t *testing.T) {
	t.Setenv("CONVEYOR_API_KEYS", "grafana:read:"+sum+", ci:operate:"+sum)
	c, err := config.Load(queues)
	require.NoError(t, err)
	grants, err := c.API.Grants()
	require.NoError(t, err)
	require.Equal(t, []string{"grafana:read:" + sum, "ci:operate:" + sum}, []string{grants[0].String(), grants[1].String()})
	var out bytes.Buffer
	require.NoError(t, c.Print(&out))
	require.NotContains(t, out.String(), sum)

	t.Setenv("CONVEYOR_API_KEYS", "grafana:read:"+sum+",ci:operate:hunter2")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_API_KEYS entry 2: sha256: of ci")
	require.NotContains(t, err.Error(), "hunter2")
}

func TestOIDC(t *testing.T) {
	t.Setenv("CONVEYOR_OIDC_ISSUER", "https://login.example/realms/ops")
	_, err := config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_OIDC_AUDIENCE is missing")
	t.Setenv("CONVEYOR_OIDC_AUDIENCE", "conveyor")
	c, err := config.Load(queues)
	require.NoError(t, err)
	mapping, err := c.OIDC.Mapping()
	require.NoError(t, err)
	require.Nil(t, mapping)
	t.Setenv("CONVEYOR_OIDC_ROLES", "admin=ops-admins,read=ops,operate=ops,read=ops")
	c, err = config.Load(queues)
	require.NoError(t, err)
	mapping, err = c.OIDC.Mapping()
	require.NoError(t, err)
	require.Equal(t, map[string]access.Role{"ops-admins": access.Admin, "ops": access.Operate}, mapping)

	t.Setenv("CONVEYOR_OIDC_CLIENT_SECRET", "hunter2")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_OIDC_CLIENT_ID is missing: CONVEYOR_OIDC_CLIENT_SECRET is of it")
	require.NotContains(t, err.Error(), "hunter2")
	t.Setenv("CONVEYOR_OIDC_CLIENT_ID", "console")
	c, err = config.Load(queues)
	require.NoError(t, err)
	require.Equal(t, []string{"openid"}, c.OIDC.Scopes)
	t.Setenv("CONVEYOR_OIDC_CLIENT_SECRET", "") // as in all roles but the API
	_, err = config.Load(queues)
	require.NoError(t, err)
	t.Setenv("CONVEYOR_OIDC_SCOPES", "groups")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_OIDC_SCOPES has not openid")
	t.Setenv("CONVEYOR_OIDC_ISSUER", "")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_OIDC_ISSUER is missing")
}

// Secrets of webhooks are lists, for they are replaced; a version is one of the API.
// A model needs a name, places need an attribution, and nothing travels in clear text to another machine.
func TestEnrichment(t *testing.T) {
	t.Setenv("CONVEYOR_ENRICH_PLACES", "metro=/data/metro.geojson")
	_, err := config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_ENRICH_PLACES_ATTRIBUTION is not set")
	t.Setenv("CONVEYOR_ENRICH_PLACES_ATTRIBUTION", "© the city, CC-BY 4.0")
	t.Setenv("CONVEYOR_ENRICH_URL", "http://model.internal/v1")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "CONVEYOR_ENRICH_URL: the model has no name")
	t.Setenv("CONVEYOR_ENRICH_MODEL", "small")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "the key would travel in clear text")
	t.Setenv("CONVEYOR_DEMO", "true")
	_, err = config.Load(queues)
	require.NoError(t, err)
}

func TestWhatsApp(t *testing.T) {
	t.Setenv("CONVEYOR_WHATSAPP_APP_SECRETS", "hunter2,hunter3")
	t.Setenv("CONVEYOR_WHATSAPP_VERIFY_TOKENS", "hunter4")
	c, err := config.Load(queues)
	require.NoError(t, err)
	require.Equal(t, []string{"hunter2", "hunter3"}, c.WhatsApp.AppSecrets)
	require.Equal(t, []string{"hunter4"}, c.WhatsApp.VerifyTokens)
	require.Equal(t, "v23.0", c.WhatsApp.Options().Version)
	var b strings.Builder
	require.NoError(t, c.Print(&b))
	require.NotContains(t, b.String(), "hunter")

	t.Setenv("CONVEYOR_WHATSAPP_VERSION", "23")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, `CONVEYOR_WHATSAPP_VERSION: version of the WhatsApp API is "23", expected one such as v23.0`)
	t.Setenv("CONVEYOR_WHATSAPP_VERSION", "v24.0")
	t.Setenv("CONVEYOR_WHATSAPP_URL", "http://demo:8090/whatsapp")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "access tokens would travel in clear text")
	t.Setenv("CONVEYOR_DEMO", "true")
	_, err = config.Load(queues)
	require.NoError(t, err)
}
