// Package servicetest tells tests where the services are that they run against.
package servicetest

import (
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	reachWithin = 5 * time.Second
	start       = "run: make test, or: bin/conveyor with-services -- go test ./..."
)

// Address is the value of an environment variable that names a service: DATABASE_URL, RABBITMQ_URL,
// RABBITMQ_MANAGEMENT_URL, REDIS_URL, TEMPORAL_ADDRESS or CHROME_DEVTOOLS_URL. Where it is not set, or nothing accepts
// connections there within five seconds, the test fails with the command that starts the services: it neither waits nor
// is skipped.
func Address(t testing.TB, variable string) string {
	t.Helper()

	value := os.Getenv(variable)
	if value == "" {
		t.Fatalf("%s is not set; %s", variable, start)
	}
	host := value
	if u, err := url.Parse(value); err == nil && strings.Contains(value, "://") {
		host = u.Host
	}
	conn, err := net.DialTimeout("tcp", host, reachWithin)
	if err != nil {
		t.Fatalf("the service of %s cannot be reached (%v); %s", variable, err, start)
	}
	_ = conn.Close() // only to see that it is accepted
	return value
}
