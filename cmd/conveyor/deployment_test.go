package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/launch"
)

func TestPrintDeployment(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printDeployment(&b, launch.DeploymentState{Name: "conveyor"}))
	require.Equal(t, "deployment conveyor: no worker has reported a build yet\n", b.String())

	b.Reset()
	made := time.Date(2026, 11, 23, 20, 21, 0, 0, time.UTC)
	require.NoError(t, printDeployment(&b, launch.DeploymentState{
		Name: "conveyor", Current: "1.1", Ramping: "1.2", Percent: 12.5, Builds: []launch.Build{
			{ID: "1.2", State: launch.BuildRamping, CreatedAt: made, Workers: 1},
			{ID: "1.1", State: launch.BuildCurrent, CreatedAt: made, Missing: []string{"drafts workflow", "images activity"}},
			{ID: "1.0", State: launch.BuildDraining, CreatedAt: made, Pinned: 3, Missing: []string{"drafts workflow"}},
			{ID: "0.9", State: launch.BuildDrained, CreatedAt: made, Missing: []string{"drafts workflow"}},
		},
	}))
	require.Equal(t, `deployment conveyor: build 1.1 is current
BUILD  STATE           WORKERS  PINNED  SINCE              WARNING
1.2    ramping 12.5 %  1        0       2026-11-23 20:21Z  
1.1    current         0        0       2026-11-23 20:21Z  no worker of it polls drafts workflow, images activity
1.0    draining        0        3       2026-11-23 20:21Z  no worker of it polls drafts workflow
0.9    drained         0        0       2026-11-23 20:21Z  
`, b.String())
}

// What a drain waits for says what to do where it would wait for ever.
func TestDrainText(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]launch.Build{
		"no workflow is pinned to it; waiting until Temporal has looked, too": {State: launch.BuildDraining},
		"2 workflows are pinned to it":                                        {State: launch.BuildDraining, Pinned: 2},
		"1 workflows are pinned to it, and no worker of it polls drafts workflow: start one, or give --move": {
			State: launch.BuildDraining, Pinned: 1, Missing: []string{"drafts workflow"}},
	} {
		require.Equal(t, want, drainText(b))
	}
}

// The build ID of any binary is one that the setting may have, and that of a binary without a version is its hash.
func TestBuildID(t *testing.T) {
	id, err := buildID()
	require.NoError(t, err)
	release = "devel" // of images that were built without CONVEYOR_VERSION, which are not all one build
	t.Cleanup(func() { release = "" })
	again, err := buildID()
	require.NoError(t, err)
	require.Equal(t, id, again)
	t.Setenv("CONVEYOR_BUILD_ID", id)
	c, err := settings()
	require.NoError(t, err, id)
	require.Equal(t, id, c.Temporal.BuildID)
}

// Without CONVEYOR_DEPLOYMENT the commands say what is missing, and do not ask Temporal.
func TestDeploymentUnset(t *testing.T) {
	t.Parallel()
	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	h := &house{config: config.Config{}, temporal: c}
	require.ErrorContains(t, h.named(), "CONVEYOR_DEPLOYMENT is not set")
	require.Empty(t, h.workerVersion())
	h.config.Temporal.Deployment, h.config.Temporal.BuildID = "conveyor", "1.0"
	require.NoError(t, h.named())
	require.Equal(t, "conveyor", h.workerVersion().DeploymentName)
	require.Equal(t, "1.0", h.workerVersion().BuildID)
}
