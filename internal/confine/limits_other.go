//go:build !linux

package confine

import (
	"os"
	"syscall"
)

// Shield does nothing here.
func Shield() error { return nil }

func self() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func confine(int64, output) error { return nil }

func boundCPU(uint64) error { return nil }

func unboundCPU() error { return nil }
