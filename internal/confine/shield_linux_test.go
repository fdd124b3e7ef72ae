package confine_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/pprof"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/confine"
)

// keeper makes this test the process that has a secret in its environment.
const keeper = "CONVEYOR_TEST_KEEPER"

// A process of the same user, which a broken Chromium is in the image, cannot read the environment of a role, and the
// role goes on: it looks at itself, writes profiles, and has children that read pages.
func TestShield(t *testing.T) {
	if how := os.Getenv(keeper); how != "" {
		keep(t, how == "shielded")
		return
	}
	as := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 { // may read everything
		user, err := chromium.Unprivileged("nobody")
		require.NoError(t, err)
		as.Credential = user
	}
	program, err := os.Open("/proc/self/exe") // its folder may be closed to nobody
	require.NoError(t, err)
	defer program.Close()
	for _, how := range []string{"open", "shielded"} {
		kept := exec.CommandContext(t.Context(), "/proc/self/fd/3", "-test.run=^TestShield$")
		kept.SysProcAttr, kept.ExtraFiles, kept.Dir = as, []*os.File{program}, "/"
		kept.Env = []string{keeper + "=" + how, "DATABASE_URL=postgres://me:hunter2@db/conveyor"}
		in, err := kept.StdinPipe()
		require.NoError(t, err)
		out, err := kept.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, kept.Start())
		said := make([]byte, len(ready))
		_, err = io.ReadFull(out, said)
		require.NoError(t, err)
		require.Equal(t, ready, string(said))

		stranger := exec.CommandContext(t.Context(), "cat", fmt.Sprintf("/proc/%d/environ", kept.Process.Pid))
		stranger.SysProcAttr, stranger.Dir = as, "/"
		found, err := stranger.CombinedOutput()
		if how == "open" {
			require.NoError(t, err)
			require.Contains(t, string(found), "hunter2", "the test sees nothing at all")
		} else {
			require.Error(t, err)
			require.NotContains(t, string(found), "hunter2")
		}
		require.NoError(t, in.Close())
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		require.NoError(t, kept.Wait(), string(rest))
	}
}

const ready = "ready\n"

// keep does what a role does of its own process, and ends with standard input.
func keep(t *testing.T, shielded bool) {
	t.Helper()
	if shielded {
		require.NoError(t, confine.Shield())
	}
	p := confine.New(confine.Options{})
	_, err := p.Do(t.Context(), "echo", nil)
	require.NoError(t, err)
	p.Close()
	require.NoError(t, pprof.Lookup("heap").WriteTo(io.Discard, 0))
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{ReportErrors: true}))
	_, err = registry.Gather()
	require.NoError(t, err)
	fmt.Print(ready)
	_, err = io.Copy(&bytes.Buffer{}, os.Stdin)
	require.NoError(t, err)
}
