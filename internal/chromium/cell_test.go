package chromium

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program in a cell has a home and little else: not our environment, not root's rights, not all of the memory.
func TestCell(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://secret")
	c, err := NewCell()
	require.NoError(t, err)
	cmd := c.Command("/bin/sh", "-c", "env; echo uid=$(id -u); echo data=$(ulimit -d); touch mine")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	text := string(out)
	if strings.Contains(text, "secret") || !strings.Contains(text, "data=1572864\n") || !strings.Contains(text, "HOME="+c.Home()) ||
		strings.Contains(text, "uid=0\n") {
		t.Errorf("in the cell: %s", text)
	}
	require.NoError(t, c.Remove())
	if _, err := os.Stat(c.Home()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("home after Remove: %v", err)
	}
}

// The driver's Node gets its words as they are, runs in the cell, and cannot change what starts it.
func TestCellOfDriver(t *testing.T) {
	t.Parallel()
	folder, c := t.TempDir(), (*Cell)(nil)
	sh, err := exec.LookPath("sh")
	require.NoError(t, err)
	if err := errors.Join(os.Mkdir(filepath.Join(folder, "package"), 0o755),
		os.WriteFile(filepath.Join(folder, "package", "cli.js"), []byte(`echo "$1 at $0"; touch ../x 2>&1`), 0o600),
		os.Symlink(sh, filepath.Join(folder, "node"))); err != nil {
		t.Fatal(err)
	}
	if c, err = NewCell(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Remove() })
	dir, err := c.Driver(folder)
	require.NoError(t, err)
	out, err := exec.Command(filepath.Join(dir, "node"), filepath.Join(dir, "package", "cli.js"), "it's $1").CombinedOutput()
	if !strings.HasPrefix(string(out), "it's $1 at "+c.Code()+"/package/cli.js\n") {
		t.Errorf("node: %v, %s", err, out)
	}
	if os.Geteuid() == 0 && !strings.Contains(string(out), "Permission denied") {
		t.Errorf("the driver can change its cell: %s", out)
	}
}

// A cell whose process was killed is removed by the next; one that is in use is not.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"dead", "used", "new"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "home"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "lock"), nil, 0o600))
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "new", "home")))
	held, err := os.OpenFile(filepath.Join(dir, "used", "lock"), os.O_RDWR, 0)
	require.NoError(t, err)
	defer held.Close()
	require.NoError(t, syscall.Flock(int(held.Fd()), syscall.LOCK_EX))
	sweep(filepath.Join(dir, "*"))
	for name, want := range map[string]bool{"dead": false, "used": true, "new": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
