//go:build !linux

package servicetest

import "time"

// CPU returns for how long f ran.
func CPU(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}
