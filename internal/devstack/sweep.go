package devstack

import (
	"os"
	"path/filepath"
	"time"
)

// Sweep removes the folders of throwaway stacks that match pattern and whose process is gone, with the processes that
// still run in them. Folders of stacks that are alive are left alone, and so is everything that is not a stack's
// folder.
func Sweep(pattern string) {
	for _, dir := range glob(pattern) {
		if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
			continue
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		held, err := lock(abs, "being removed")
		if err != nil {
			continue
		}
		endLeftovers(abs, time.Second)
		_ = Remove(abs)
		_ = held.Close()
	}
}
