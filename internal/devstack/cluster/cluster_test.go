package cluster

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestHostsHaveAddressesAndNamesOfTheirOwn(t *testing.T) {
	t.Parallel()

	tests := netip.MustParsePrefix("198.18.0.0/15")
	seen := map[string]string{Address(""): "the switch"}
	for _, name := range Names() {
		at := Address(name)
		require.True(t, tests.Contains(netip.MustParseAddr(at)), "%s is at %s, outside of the range for tests", name, at)
		require.Empty(t, seen[at], "%s and %s have one address", name, seen[at])
		seen[at] = name
		require.LessOrEqual(t, len("p-"+name), 15, "Linux takes no longer name of an interface")
	}
	for _, n := range nodes {
		for _, need := range n.needs {
			require.Contains(t, Names(), need)
		}
	}
	require.NotEqual(t, prefix("/a"), prefix("/b"), "clusters of two folders would share their namespaces")
}

func TestStartNeedsTheSwitch(t *testing.T) {
	t.Parallel()

	_, err := Start(t.Context(), Options{Dir: t.TempDir()})
	require.ErrorContains(t, err, "not on its switch")
}

func TestAskWithoutACluster(t *testing.T) {
	t.Parallel()

	for _, dir := range []string{t.TempDir(), "/nowhere"} {
		_, err := Ask(t.Context(), dir, Request{Action: "status"})
		require.ErrorContains(t, err, "no cluster runs in "+dir)
	}
}

// Commands reach the driver through its socket, however deep its folder is, and its errors come back.
func TestCommandsReachTheDriver(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	for len(dir) < 150 {
		dir += "/" + strings.Repeat("d", 40)
	}
	require.NoError(t, os.MkdirAll(dir, 0o700))
	c := &Cluster{opts: Options{Dir: dir}, primary: "pg1"}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- c.Serve(ctx) }()
	for in, want := range map[Request]string{
		{Action: "kill", Node: "rabbit9"}:    `there is no host "rabbit9"; there are rabbit1, rabbit2`,
		{Action: "explode", Node: "rabbit1"}: `there is no "explode"`,
		{Action: "cut", Node: "host1"}:       `there is no host "host1"`, // for it was not started
	} {
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			_, err := Ask(ctx, dir, in)
			require.ErrorContains(t, err, want)
		}, servicetest.Patience(), 10*time.Millisecond)
	}
	cancel()
	require.NoError(t, <-served)
}
