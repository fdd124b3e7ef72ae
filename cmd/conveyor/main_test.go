package main

import (
	"os"
	"testing"

	"github.com/mtlrent/conveyor/internal/confine"
)

func TestMain(m *testing.M) {
	confine.Child()
	os.Exit(m.Run())
}
