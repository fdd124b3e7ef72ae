package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeIP takes the place of iproute2: it keeps the names of namespaces in a folder, writes down what it is asked, and
// fails where it is asked for a batch.
func fakeIP(t *testing.T) (asked func() string) {
	t.Helper()

	dir := t.TempDir()
	before := spaces
	spaces = filepath.Join(dir, "netns")
	t.Cleanup(func() { spaces = before })
	require.NoError(t, os.Mkdir(spaces, 0o700))
	script := "#!/bin/sh\ncd " + dir + "\necho \"$*\" >> asked\ncase \"$1 $2\" in\n\"netns add\") touch netns/$3 ;;\n" +
		"\"netns del\") rm netns/$3 ;;\n*-batch*) echo no such device >&2; exit 1 ;;\nesac\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ip"), []byte(script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		text, err := os.ReadFile(filepath.Join(dir, "asked"))
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, "asked")))
		return string(text)
	}
}

// Where the links cannot all be laid, Start leaves none of the namespaces that it has made.
func TestStartThatFailsLeavesNoNamespace(t *testing.T) {
	asked := fakeIP(t)
	dir := t.TempDir()
	t.Setenv(envSwitch, prefix(dir)+theSwitch)
	_, err := Start(t.Context(), Options{Dir: dir})
	require.ErrorContains(t, err, "no such device")
	require.Contains(t, asked(), "netns add "+prefix(dir)+"host3")
	left, err := os.ReadDir(spaces)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A link that was slow and cannot be made slow in another way is fast, as its state says, and healing makes sure of it.
func TestSlowThatFailsPutsTheHostBackOnTheBridge(t *testing.T) {
	asked := fakeIP(t)
	files := []*os.File{}
	for range 2 {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		files = append(files, f)
	}
	w := &wires{away: map[string]bool{}, relays: map[string]*relay{"host1": {port: files[0], tap: files[1]}}}
	require.Contains(t, w.describe("host1"), "slow")
	require.ErrorContains(t, w.slow(t.Context(), "host1", time.Second, 0), "slow the link of host1, which is fast now")
	require.Equal(t, "link set p-host1 master br0\n", asked())
	require.Equal(t, "up", w.describe("host1"))
	require.NoError(t, w.heal(t.Context(), "host1"))
	require.Equal(t, "link set p-host1 master br0 up\n", asked())
}
