package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack"
)

func TestExitCodes(t *testing.T) {
	home := t.TempDir()
	tests := []struct {
		name string
		args []string
		want int
	}{
		{"done", []string{"version"}, 0},
		{"an unknown flag", []string{"up", "--sideways"}, 2},
		{"with-services without a command", []string{"--home", home, "with-services", "--"}, 2},
		{"the command's own", []string{"--home", home, "with-services", "--only", "redis", "--", "sh", "-c", "exit 7"}, 7},
		{"a command killed by a signal",
			[]string{"--home", home, "with-services", "--only=redis", "--", "sh", "-c", "kill -9 $$"}, 137},
		{"a command that is not there", []string{"--home", home, "with-services", "--only=redis", "--", "nowhere"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, run(tt.args), tt.args)
		})
	}
}

// What is printed of an address holds no password.
func TestWithoutUser(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://conveyor:secret@127.0.0.1:15673/#/queues": "http://127.0.0.1:15673/#/queues",
		"https://a:b@mq:15671?cacertfile=/etc/ca.pem":     "https://mq:15671",
		"http://127.0.0.1:8233":                           "http://127.0.0.1:8233",
		"http://a:b@c:%zz/":                               "?",
	} {
		assert.Equal(t, want, withoutUser(address), address)
	}
}

// Real sites keep their pace: only the demo site is scraped faster.
func TestPaceOfTheDemo(t *testing.T) {
	for name, tt := range map[string]struct {
		env  map[string]string
		want []string // delay, cooldown, interval of images; "" = the default
	}{
		"the demo":       {nil, []string{"1s", "10s", "100ms"}},
		"a slower demo":  {map[string]string{"CONVEYOR_SCRAPE_DELAY": "3s"}, []string{"3s", "10s", "100ms"}},
		"sites":          {map[string]string{"CONVEYOR_SCRAPE": "kijiji,kangalou"}, []string{"", "", ""}},
		"sites, at will": {map[string]string{"CONVEYOR_SCRAPE": "kijiji", "CONVEYOR_IMAGE_INTERVAL": "2s"}, []string{"", "", "2s"}},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tt.env {
				t.Setenv(key, value)
			}
			ports, err := devstack.PortsFrom(func(string) string { return "" })
			require.NoError(t, err)
			got, err := roleSettings(ports, t.TempDir())
			require.NoError(t, err)
			require.Equal(t, tt.want, []string{
				got["CONVEYOR_SCRAPE_DELAY"], got["CONVEYOR_SCRAPE_COOLDOWN"], got["CONVEYOR_IMAGE_INTERVAL"],
			})
		})
	}
}

// Without the demo the settings are accepted, and nothing on the loopback is scraped or reached.
func TestNoDemo(t *testing.T) {
	t.Setenv("CONVEYOR_DEMO", "false")
	ports, err := devstack.PortsFrom(func(string) string { return "" })
	require.NoError(t, err)
	got, err := roleSettings(ports, t.TempDir())
	require.NoError(t, err)
	for key, value := range got {
		t.Setenv(key, value)
	}
	c, err := settings()
	require.NoError(t, err)
	require.Empty(t, c.Images.AllowPrivate)
	require.Empty(t, c.Notices.WebhookHosts)
	require.Empty(t, c.Scrape.Platforms)
	require.NotContains(t, got, "CONVEYOR_IMAGE_INTERVAL")
}

// A broker that is named by its parts is used as one that is named by its URL.
func TestExternalServices(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		env        map[string]string
		broker     string
		management string
	}{
		{map[string]string{}, "", ""},
		{map[string]string{"RABBITMQ_PASSWORD": "alone"}, "", ""},
		{map[string]string{"RABBITMQ_URL": "amqp://b/", "RABBITMQ_USER": "me"}, "amqp://b/", ""},
		{map[string]string{"RABBITMQ_USER": "me", "RABBITMQ_PASSWORD": "p/w", "RABBITMQ_HOST": "b", "RABBITMQ_PORT": "5",
			"RABBITMQ_VHOST": "v"}, "amqp://me:p%2Fw@b:5/v", "http://b:15672"},
	} {
		given, err := externalServices(func(name string) string { return tt.env[name] })
		if err != nil || given.RabbitMQURL != tt.broker || given.ManagementURL != tt.management {
			t.Errorf("%v: %q, %q, %v", tt.env, given.RabbitMQURL, given.ManagementURL, err)
		}
	}
	_, err := externalServices(func(name string) string {
		return map[string]string{"RABBITMQ_HOST": "b", "RABBITMQ_PORT": "amqp"}[name]
	})
	if err == nil {
		t.Error("a port that is none passes")
	}
}

// A worker below with-services has as long as one that runs by itself.
func TestCommandStops(t *testing.T) {
	t.Parallel()
	require.Equal(t, 30*time.Second, commandStops(0))
	require.Equal(t, 185*time.Second, commandStops(90*time.Second))
}
