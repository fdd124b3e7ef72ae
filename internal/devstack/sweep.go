package devstack

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// scratch begins the names of folders in memory.
const scratch = "conveyor-test-"

// Scratch makes a folder for a stack that is deleted afterwards: below home, or, unless it has to be durable, in memory
// where there is plenty. Databases of tests come and go by the hundred, and a file system such as ext4 is slow to make
// files after others were deleted. What earlier stacks left is swept.
func Scratch(home string, durable bool) (string, error) {
	Sweep(filepath.Join(home, "test-*"))
	if memory := inMemory(); memory != "" && !durable {
		Sweep(filepath.Join(memory, scratch+"*"))
		if dir, err := os.MkdirTemp(memory, scratch+"*"); err == nil {
			return dir, nil
		}
	}
	dir := filepath.Join(home, fmt.Sprintf("test-%d", os.Getpid()))
	err := private(dir)
	return dir, fault.Wrap(err, "create %s", dir)
}

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
