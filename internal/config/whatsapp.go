package config

import (
	"net/url"
	"time"

	"github.com/mtlrent/conveyor/internal/whatsapp"
)

// WhatsApp is the Cloud API that messages are sent by, and its webhook.
type WhatsApp struct {
	URL          string        `env:"CONVEYOR_WHATSAPP_URL" envDefault:"https://graph.facebook.com" doc:"URL of the WhatsApp Cloud API, without a version; http:// on the loopback interface, or with CONVEYOR_DEMO" validate:"scheme=https http"`
	Version      string        `env:"CONVEYOR_WHATSAPP_VERSION" envDefault:"v23.0" doc:"version of the WhatsApp Cloud API"`
	Timeout      time.Duration `env:"CONVEYOR_WHATSAPP_TIMEOUT" envDefault:"10s" doc:"time that one request to the WhatsApp Cloud API may take, 1s to 1m; a message whose answer did not come is not sent again: a webhook reports what became of it" validate:"min=1s,max=1m"`
	Connections  int           `env:"CONVEYOR_WHATSAPP_CONNECTIONS" envDefault:"64" doc:"idle connections that a process keeps to the WhatsApp Cloud API" validate:"min=1,max=1000"`
	AppSecrets   []string      `env:"CONVEYOR_WHATSAPP_APP_SECRETS" envDefault:"" secret:"all" doc:"secrets of the Meta app that signs webhooks, by commas: the new and the old one while it is replaced; without one, webhooks are refused"`
	VerifyTokens []string      `env:"CONVEYOR_WHATSAPP_VERIFY_TOKENS" envDefault:"" secret:"all" doc:"tokens by which Meta verifies the address of the webhook, by commas; without one, it is not verified"`
}

// check tests the address and the version, and that no access token travels in clear text.
func (w WhatsApp) check(c Config) []string {
	u, err := url.Parse(w.URL)
	if err != nil || u.Host == "" {
		return nil // told already
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.Images.Demo {
		return []string{"CONVEYOR_WHATSAPP_URL begins with http://, by which access tokens would travel in clear text"}
	}
	if client, err := whatsapp.New(w.Options()); err != nil {
		return []string{"CONVEYOR_WHATSAPP_URL, CONVEYOR_WHATSAPP_VERSION: " + err.Error()}
	} else {
		client.Close()
	}
	return nil
}

// Options are those of a client.
func (w WhatsApp) Options() whatsapp.Options {
	return whatsapp.Options{URL: w.URL, Version: w.Version, Timeout: w.Timeout, Connections: w.Connections}
}
