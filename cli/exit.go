package cli

import "fmt"

// A UsageError says what of a command line does not go, which its flags one by one do not show: the exit code is 2, and
// the command's help is pointed to.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Usage is a UsageError.
func Usage(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }

// ExitError ends the process with this exit code and without a message, for commands that have already printed the
// reason.
type ExitError int

// Error says which code it is; only a program that does not know the type prints it.
func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
