//go:build !linux

package devstack

import (
	"errors"
	"os/exec"
	"syscall"
)

// procAttr makes a child the leader of its own process group. Only Linux can also tie its life to ours.
func procAttr(syscall.Signal) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// Tie does nothing here.
func Tie(*exec.Cmd) {}

// leftovers finds nothing here: without /proc there is no sure way to tell our processes from others.
func leftovers(string) []int { return nil }

func enterNetwork(string) error { return errors.New("network namespaces are of Linux only") }

func zombie(int) bool { return false }

// inMemory knows no such folder here.
func inMemory() string { return "" }
