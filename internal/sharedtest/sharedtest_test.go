package sharedtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// A recorder is a test that notes how it ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (*recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// dir calls Dir as a test of its own.
func dir(t *testing.T) (path string, r *recorder) {
	t.Helper()
	r = &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		path = sharedtest.Dir(r, "the weather")
	}()
	<-done
	return path, r
}

func TestDir(t *testing.T) {
	there := t.TempDir()
	missing := filepath.Join(there, "missing")
	for _, tt := range []struct {
		name, shared, ci string
		path             string
		skips, fails     bool
	}{
		{name: "named", shared: there, path: there},
		{name: "named, in CI", shared: there, ci: "true", path: there},
		{name: "missing", shared: missing, skips: true},
		{name: "missing, in CI", shared: missing, ci: "true", fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("CONVEYOR_SHARED", tt.shared)
			t.Setenv("CI", tt.ci)
			path, r := dir(t)
			said := r.skipped + r.failed
			if path != tt.path || r.skipped != "" != tt.skips || r.failed != "" != tt.fails {
				t.Errorf("Dir = %q, skipped %q, failed %q", path, r.skipped, r.failed)
			}
			if said != "" && (!strings.Contains(said, missing) || !strings.Contains(said, "the weather")) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// TestDirBeside finds the folder beside a repository, from a folder deep in it.
func TestDirBeside(t *testing.T) {
	top := t.TempDir()
	deep := filepath.Join(top, "repository", "a", "b")
	for _, d := range []string{deep, filepath.Join(top, "shared")} {
		require.NoError(t, os.MkdirAll(d, 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(top, "repository", "go.mod"), nil, 0o600))
	t.Setenv("CONVEYOR_SHARED", "")
	t.Chdir(deep)
	path, r := dir(t)
	if filepath.Base(path) != "shared" || filepath.Base(filepath.Dir(path)) != filepath.Base(top) {
		t.Errorf("Dir = %q, skipped %q, failed %q", path, r.skipped, r.failed)
	}
}

// The whole suite, run by anybody, is CI: nothing is skipped for want of something.
func TestTheWholeSuiteIsCI(t *testing.T) {
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "make"), []byte("#!/bin/sh\necho \"$1 $CI\"\n"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for given, want := range map[string]string{"": "check true\n", "yes": "check yes\n"} {
		t.Setenv("CI", given)
		out, err := exec.Command("../../.ci/run").Output()
		require.NoError(t, err)
		require.Contains(t, string(out), want)
	}
}
