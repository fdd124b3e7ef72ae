package servicetest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Seed is that of a test with dice. In the gate it is always the same, so that a run that fails can be repeated and one
// that passes says that the next will; elsewhere it is drawn, or that of CONVEYOR_TEST_SEED, and noted in the log of
// the test.
func Seed(t testing.TB) uint64 {
	t.Helper()

	if testing.Short() {
		return 271828
	}
	seed := rand.Uint64()
	if value := os.Getenv("CONVEYOR_TEST_SEED"); value != "" {
		set, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			t.Fatalf("CONVEYOR_TEST_SEED is %q, not a number", value)
		}
		seed = set
	}
	t.Logf("CONVEYOR_TEST_SEED=%d", seed)
	return seed
}
