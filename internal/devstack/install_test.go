package devstack

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Postgres that is found by the PATH, in whatever folder, is known by its version: it takes the cluster that it has
// written. It is not parallel: it sets the PATH.
func TestPostgresOfThePath(t *testing.T) {
	var real tools
	require.NoError(t, findPostgres(&real, debianPostgres))
	dir, err := os.MkdirTemp("", "conveyor-test-*") // which the user of Postgres may enter
	require.NoError(t, err)
	t.Cleanup(func() { _ = Remove(filepath.Join(dir, "stack")); _ = os.RemoveAll(dir) })
	bin, own := filepath.Join(dir, "usr", "bin"), filepath.Join(dir, "stack")
	err = errors.Join(os.Chmod(dir, 0o755), os.MkdirAll(bin, 0o755), os.Mkdir(own, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		err = errors.Join(err, os.Symlink(filepath.Join(real.postgres, name), filepath.Join(bin, name)))
	}
	require.NoError(t, err)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	s := &Stack{opts: Options{Dir: own, Throwaway: true}, log: slog.New(slog.DiscardHandler)}
	if err := findPostgres(&s.tools, dir); err != nil || s.tools.postgres != bin || s.tools.major != real.major {
		t.Fatalf("findPostgres = %v, %d in %s; want %d in %s", err, s.tools.major, s.tools.postgres, real.major, bin)
	}
	if s.secrets, err = loadSecrets(own); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is made, and found
		services, err := s.postgres()
		if err == nil {
			err = services[0].prepare(t.Context())
		}
		require.NoError(t, err)
	}

	script := "#!/bin/sh\necho 'initdb (PostgreSQL) 14.9'\n"
	err = errors.Join(os.Remove(filepath.Join(bin, "initdb")), os.WriteFile(filepath.Join(bin, "initdb"), []byte(script), 0o755))
	require.NoError(t, err)
	if err := findPostgres(&s.tools, dir); err == nil || !strings.Contains(err.Error(), "14 is too old") {
		t.Errorf("findPostgres = %v; want it to refuse 14", err)
	}
}

// A new major version beside the one that has written the cluster does not take its place.
func TestClusterKeepsItsMajor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, major := range []string{"13", "15", "99"} {
		bin := filepath.Join(dir, major, "bin")
		require.NoError(t, errors.Join(os.MkdirAll(bin, 0o755), os.WriteFile(filepath.Join(bin, "initdb"), nil, 0o755)))
	}
	for wrote, want := range map[string]int{"": 99, "99": 99, "15": 15, "16": 99, "13": 99} {
		var found tools
		require.NoError(t, findPostgres(&found, dir))
		data := t.TempDir()
		if wrote != "" {
			require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(wrote+"\n"), 0o600))
		}
		found.of(data)
		if found.major != want || found.postgres != filepath.Join(dir, itoa(want), "bin") {
			t.Errorf("a cluster of %q gets %d in %s; want %d", wrote, found.major, found.postgres, want)
		}
		if err := checkMajor(data, itoa(found.major)); wrote == "13" && (err == nil || strings.Contains(err.Error(), "delete")) {
			t.Errorf("checkMajor = %v; want no advice to delete data", err)
		}
	}
}
