package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/mtlrent/conveyor/internal/devstack"
)

// Sweep removes the folders of clusters that match pattern and whose driver is gone, with the processes and the network
// namespaces that are left of them. It leaves those of clusters that are alive.
func Sweep(ctx context.Context, pattern string) {
	dirs, _ := filepath.Glob(pattern) // fails for a malformed pattern only
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
			continue
		}
		held, err := devstack.Lock(dir)
		if err != nil {
			continue
		}
		for _, n := range nodes {
			devstack.EndLeftovers(filepath.Join(dir, n.name))
		}
		if abs, err := filepath.Abs(dir); err == nil {
			_ = removeSpaces(ctx, prefix(abs), "")
		}
		_ = Remove(dir)
		_ = held.Close()
	}
}

// Remove deletes the folder of a cluster that does not run, with data of Postgres that lie elsewhere.
func Remove(dir string) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, devstack.Remove(filepath.Join(dir, n.name)))
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}
