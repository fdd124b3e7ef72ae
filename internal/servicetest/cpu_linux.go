package servicetest

import (
	"runtime"
	"syscall"
	"time"
)

const rusageThread = 1 // RUSAGE_THREAD, which package syscall does not name

// CPU returns for how long f kept the processor, in its own goroutine only: a busy machine makes it last no longer, so
// a bound on it is about f alone. Elsewhere than on Linux it is the time that passed.
func CPU(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(rusageThread, &u) // it knows both arguments
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := used()
	f()
	return used() - began
}
