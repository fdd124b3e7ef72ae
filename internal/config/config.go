// Package config is every setting of Conveyor: one struct, read from the environment, printed by `conveyor config`.
// Each system has a file with its settings and a field in Config.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/mtlrent/conveyor/domain/listing"
)

// Config is every setting, in groups. In a group, the tag env names the variable, envDefault is its default, doc its
// description, and validate its valid values (see rules.go). secret hides the value: all of it, or what a url may hold.
//
// Temporal's own connection settings (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key, profile file) are read by
// go.temporal.io/sdk/contrib/envconfig.
type Config struct {
	Postgres      Postgres
	RabbitMQ      RabbitMQ
	DraftRequests DraftRequests
	Redis         Redis
	Temporal      Temporal
	API           API
	OIDC          OIDC
	Console       Console
	Listings      Listings
	Enrich        Enrich
	Images        Images
	Browser       Browser
	Drafts        Drafts
	Crawl         Crawl
	Search        Search
	Outreach      Outreach
	Dispatch      Dispatch
	Imports       Imports
	WhatsApp      WhatsApp
	Notices       Notices
	Scrape        Scrape
	Worker        Worker
	Outbox        Outbox
	Retention     Retention
	Telemetry     Telemetry
}

// Load reads the configuration from the environment. taskQueues are the names that CONVEYOR_TASK_QUEUES may have, all
// of them by default. The error names every variable that is wrong and what was expected; it quotes no secret.
func Load(taskQueues []string) (Config, error) {
	c, err := env.ParseAs[Config]()
	if err != nil {
		return c, fmt.Errorf("read configuration: %w", unreadable(err))
	}
	if len(c.Worker.Queues) == 0 {
		c.Worker.Queues = slices.Clone(taskQueues)
	}
	if len(c.Listings.Stages) == 0 {
		c.Listings.Stages = slices.Clone(listing.Stages)
	}
	blobs, err := filepath.Abs(filepath.Join(Home(), "blobs"))
	if err != nil {
		return c, fmt.Errorf("find folder of blobs: %w", err)
	}
	drafts, err := filepath.Abs(filepath.Join(Home(), "drafts"))
	if err != nil {
		return c, fmt.Errorf("find folder of drafts: %w", err)
	}
	c.API.URL = strings.TrimRight(c.API.URL, "/") // paths are appended to it
	c.RabbitMQ.compose(os.Getenv)
	c.Images.BlobURL = cmp.Or(c.Images.BlobURL, "file://"+filepath.ToSlash(blobs))
	c.Drafts.OutRoot = cmp.Or(c.Drafts.OutRoot, drafts)
	if wrong := c.problems(taskQueues); len(wrong) > 0 {
		return c, fmt.Errorf("read configuration: %s", strings.Join(wrong, "; "))
	}
	return c, nil
}

// unreadable names the variables of values that have the wrong type; the library names the fields of our struct.
func unreadable(err error) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	var out []error
	for _, e := range all.Errors {
		if wrong, ok := errors.AsType[env.ParseError](e); ok {
			e = fmt.Errorf("%s: %w", variable(wrong), wrong.Err)
		}
		out = append(out, e)
	}
	return errors.Join(out...)
}

// variable is the variable of a field. Two fields of one name differ in type, or in the value that the error quotes.
func variable(wrong env.ParseError) string {
	groups := reflect.TypeFor[Config]()
	for field := range groups.Fields() {
		f, ok := field.Type.FieldByName(wrong.Name)
		name := f.Tag.Get("env")
		if value := os.Getenv(name); ok && f.Type == wrong.Type && value != "" && strings.Contains(wrong.Err.Error(), value) {
			return name
		}
	}
	return wrong.Name
}

// Home is the folder of the local stack's data: CONVEYOR_HOME, or .conveyor in the working directory.
func Home() string {
	if dir := os.Getenv("CONVEYOR_HOME"); dir != "" {
		return dir
	}
	return ".conveyor"
}
