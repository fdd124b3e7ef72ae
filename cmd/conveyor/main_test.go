package main

import (
	"os"
	"testing"

	"github.com/mtlrent/conveyor/internal/confine"
)

func TestMain(m *testing.M) {
	confine.Child()
	if len(os.Args) > 1 && os.Args[1] == "extract" { // the command itself
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}
