package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A disk is where the blob store lies, and can be full. As root it is a file system of its own, in memory, that really
// runs out of space. Without the right to mount one, the workers are forbidden to write to files (RLIMIT_FSIZE), which
// stops each write as a full disk does, half way, with another error.
type disk struct {
	path  string
	door  string // where the roles see it: see takeAway
	real  bool
	limit []int // processes that are forbidden to write
}

const diskSize = "64m"

func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{path: filepath.Join(dir, "blobs"), door: filepath.Join(dir, "files")}
	require.NoError(t, os.MkdirAll(d.path, 0o755))
	t.Cleanup(func() { _ = os.Remove(d.door) })
	defer func() {
		require.NoError(t, d.giveBack())
	}()
	if exec.Command("mount", "-t", "tmpfs", "-o", "size="+diskSize, "conveyor-faults", d.path).Run() != nil {
		return d
	}
	// It is taken out of the tree at once and lives as long as we hold it, so that no run leaves a mount behind.
	held, err := os.Open(d.path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = held.Close() })
	require.NoError(t, exec.Command("umount", "-l", d.path).Run())
	d.path, d.real = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), held.Fd()), true
	return d
}

// takeAway unmounts the disk, as the roles see it.
func (d *disk) takeAway() error { return os.Remove(d.door) }

// giveBack mounts it again. It fails when anything was written in its place, where it would be lost.
func (d *disk) giveBack() error { return os.Symlink(d.path, d.door) }

func (d *disk) filler() string { return filepath.Join(d.path, "filler") }

// leave fills a real disk until so many bytes are free.
func (d *disk) leave(bytes int64) error {
	var is syscall.Statfs_t
	if err := syscall.Statfs(d.path, &is); err != nil {
		return err
	}
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for block, left := make([]byte, 1<<16), int64(is.Bavail)*is.Bsize-bytes; left > 0 && err == nil; left -= int64(len(block)) {
		_, err = f.Write(block[:min(left, int64(len(block)))])
	}
	return err
}

// fill leaves no room for the workers' files. It may be repeated: what is done with makes room.
func (d *disk) fill(ctx context.Context, workers []*role) error {
	if !d.real {
		for _, r := range workers {
			if pid := r.pid(); pid != 0 {
				d.limit = append(d.limit, pid)
				if err := fileLimit(ctx, pid, "0:"); err != nil {
					return err
				}
			}
		}
		return nil
	}
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(block)
	}
	for b := []byte{0}; len(b) > 0; { // the last page too
		if _, err := f.Write(b); err != nil {
			return nil
		}
	}
	return nil
}

// free gives the room back.
func (d *disk) free(ctx context.Context) (err error) {
	if d.real {
		return os.Remove(d.filler())
	}
	for _, pid := range d.limit {
		_ = fileLimit(ctx, pid, "unlimited:") // it may have been killed meanwhile
	}
	d.limit = nil
	return err
}

func fileLimit(ctx context.Context, pid int, limit string) error {
	out, err := exec.CommandContext(ctx, "prlimit", "--pid", strconv.Itoa(pid), "--fsize="+limit).CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("limit the files of %d: %s", pid, out), err)
	}
	return nil
}
