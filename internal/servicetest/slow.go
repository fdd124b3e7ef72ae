package servicetest

import "testing"

// The targets of the Makefile that run what the gate, `make test`, leaves out.
const (
	TestSlow   = "make test-slow"
	TestE2E    = "make test-e2e"
	TestFaults = "make test-faults-short"
)

// Slow leaves a test out of the gate, which is `go test -short`, and says which target runs it. What such a test
// promises is also promised by a faster one, or is about scale, real time or the machine.
func Slow(t testing.TB, target string) {
	t.Helper()

	if testing.Short() {
		t.Skip("not in the gate: runs in " + target)
	}
}
