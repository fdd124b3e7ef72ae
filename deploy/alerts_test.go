package deploy_test

import (
	"os"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// A role that is started anew is away for its grace, twice where activities run inside workflow tasks, and some seconds of
// its start. Nobody is paged for that; and a queue whose worker is lost is known soon.
func TestAlertsOutwaitRestarts(t *testing.T) {
	t.Parallel()

	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, For string }
		}
	}
	text, err := os.ReadFile("prometheus/alerts.yml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &rules))
	waits := map[string]time.Duration{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if waits[r.Alert], err = time.ParseDuration(r.For); r.For != "" {
				require.NoError(t, err, r.Alert)
			}
		}
	}
	const restart = 2*15*time.Second + 10*time.Second
	for _, name := range []string{
		"ConveyorProcessDown", "ConveyorQueueWithoutConsumer", "ConveyorTaskQueueWithoutWorker",
	} {
		require.Greater(t, waits[name], restart, name)
	}
	require.LessOrEqual(t, waits["ConveyorTaskQueueWithoutWorker"], time.Minute)
}
