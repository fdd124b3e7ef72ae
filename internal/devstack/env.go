package devstack

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// envKeys are the variables of a stack, in the order in which the env file lists them.
var envKeys = []string{
	"DATABASE_URL", "DATABASE_MIGRATE_URL", "DATABASE_LISTEN_URL", "RABBITMQ_URL", "RABBITMQ_MANAGEMENT_URL",
	"REDIS_URL", "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "CONVEYOR_API_URL", "CHROME_DEVTOOLS_URL",
	"CONVEYOR_BROWSER", "CONVEYOR_BROWSER_DRIVER", "CONVEYOR_SECRET_KEYS",
}

// External are services that already run and are used where they are. An empty field means: start our own.
type External struct {
	DatabaseURL, MigrateURL string // MigrateURL is the owner's, if that is another role

	RabbitMQURL, ManagementURL, RedisURL, TemporalAddress string

	DevtoolsURL string

	SecretKeys string // CONVEYOR_SECRET_KEYS of the roles

	Browser, BrowserDriver string // Chromium's path, and the folder of Playwright's driver
}

// ExternalFrom reads DATABASE_URL, DATABASE_MIGRATE_URL, RABBITMQ_URL, RABBITMQ_MANAGEMENT_URL, REDIS_URL,
// TEMPORAL_ADDRESS, CHROME_DEVTOOLS_URL, CONVEYOR_BROWSER, CONVEYOR_BROWSER_DRIVER and CONVEYOR_SECRET_KEYS through
// getenv. With a DATABASE_URL and no TEMPORAL_ADDRESS our own Temporal keeps its two databases on that server, so its
// user must be allowed to create databases.
func ExternalFrom(getenv func(string) string) External {
	return External{
		DatabaseURL: getenv("DATABASE_URL"), MigrateURL: getenv("DATABASE_MIGRATE_URL"),
		RabbitMQURL: getenv("RABBITMQ_URL"), ManagementURL: getenv("RABBITMQ_MANAGEMENT_URL"), RedisURL: getenv("REDIS_URL"),
		TemporalAddress: getenv("TEMPORAL_ADDRESS"), DevtoolsURL: getenv("CHROME_DEVTOOLS_URL"),
		Browser: getenv("CONVEYOR_BROWSER"), BrowserDriver: getenv("CONVEYOR_BROWSER_DRIVER"),
		SecretKeys: getenv("CONVEYOR_SECRET_KEYS"),
	}
}

// Gone are the variables that lead to a port of the stack itself, where nothing answers: those of a shell that has
// sourced the file env of a stack that has stopped since.
func (e External) Gone(p Ports) (variables []string) {
	for _, x := range []struct {
		variable, given string
		port            int
	}{
		{"DATABASE_URL", e.DatabaseURL, p.Postgres}, {"RABBITMQ_URL", e.RabbitMQURL, p.RabbitMQ},
		{"REDIS_URL", e.RedisURL, p.Redis}, {"TEMPORAL_ADDRESS", e.TemporalAddress, p.Temporal},
		{"CHROME_DEVTOOLS_URL", e.DevtoolsURL, p.Chromium},
	} {
		at := x.given // as TEMPORAL_ADDRESS is
		if u, err := url.Parse(x.given); err == nil && u.Host != "" {
			at = u.Host
		}
		if at == addr(x.port) && portFree(x.port) {
			variables = append(variables, x.variable)
		}
	}
	return variables
}

// writeEnv writes KEY=value lines that a POSIX shell can source: the stack's own, then the settings. A reader sees the
// old file or the new one, never half.
func writeEnv(path string, env, settings map[string]string) error {
	var b strings.Builder
	for _, k := range envKeys {
		if v, ok := env[k]; ok {
			fmt.Fprintf(&b, "%s=%s\n", k, shellQuote(v))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s=%s\n", k, shellQuote(settings[k]))
	}
	return fault.Wrap(writePrivate(path, []byte(b.String())), "write %s", path)
}

// shellQuote leaves plain values as they are, for other tools read the file line by line, and quotes the rest.
func shellQuote(v string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.,:/@%+=?", r)
	}
	if !slices.ContainsFunc([]rune(v), func(r rune) bool { return !plain(r) }) {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}
