package activities_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/mtlrent/conveyor/internal/confine"
)

// readers are child processes, as in a worker.
var readers *confine.Pool

func TestMain(m *testing.M) {
	confine.Child()
	readers = confine.New(confine.Options{})
	code := m.Run()
	if err := readers.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
