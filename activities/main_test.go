package activities_test

import (
	"os"
	"testing"
	"time"

	"github.com/mtlrent/conveyor/internal/confine"
)

// readers are child processes, as in a worker, with less memory and, for a machine that is busy with tests, more time.
var readers *confine.Pool

func TestMain(m *testing.M) {
	confine.Child()
	readers = confine.New(confine.Options{Memory: 128 << 20, Wall: 10 * time.Minute})
	code := m.Run()
	readers.Close()
	os.Exit(code)
}
