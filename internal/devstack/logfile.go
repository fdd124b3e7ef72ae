package devstack

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// maxLog is the size past which a log is moved to <name>.log.1 and started anew.
const maxLog = 16 << 20

// openLog starts a service's log afresh and keeps the previous run's as .1. It is opened for appending, so a child that
// holds it goes on at the new end after capLog has emptied it.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		_ = os.Rename(path, path+".1")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|os.O_TRUNC, 0o600)
	return f, fault.Wrap(err, "open log")
}

// capLog empties a log that has grown past maxLog, after copying it to .1. Lines written in between are lost, which is
// the price of handing the file itself to the child: the log survives us.
func capLog(f *os.File) {
	info, err := f.Stat()
	if err != nil || info.Size() <= maxLog {
		return
	}
	old, err := os.OpenFile(f.Name()+".1", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = old.Close() }()
	if _, err := io.Copy(old, io.NewSectionReader(f, 0, info.Size())); err != nil {
		return
	}
	_ = f.Truncate(0)
}

// tail returns the last lines of a file, for an error message. Empty when there are none.
func tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const window = 8 << 10
	if info, err := f.Stat(); err == nil && info.Size() > window {
		_, _ = f.Seek(-window, io.SeekEnd)
	}
	b, _ := io.ReadAll(f)
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
