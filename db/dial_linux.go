package db

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// giveUp makes the kernel close a connection whose data, or whose probes, no host acknowledges for that long. By itself
// it tries for a quarter of an hour, and a statement that was sent to a host that is cut off waits as long.
func giveUp(after time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if failed := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(after.Milliseconds()))
		}); failed != nil {
			return failed
		}
		return err
	}
}
