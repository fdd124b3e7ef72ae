package servicetest

import (
	"fmt"
	"os"
	"time"
)

const patient = 2 * time.Minute

// Patience is for how long a test waits for something that is to come about before it fails: CONVEYOR_TEST_PATIENCE, a
// duration, or two minutes. No test of the gate has a shorter bound: one says how busy the machine is, not whether the
// code is right. What must come soon is proved by order (the other ways to it wait for an hour), by counts, or on a
// clock of the test's own. A value that is no positive duration panics.
func Patience() time.Duration {
	value := os.Getenv("CONVEYOR_TEST_PATIENCE")
	if value == "" {
		return patient
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		panic(fmt.Sprintf("CONVEYOR_TEST_PATIENCE is %q, not a positive duration such as 2m", value))
	}
	return d
}
