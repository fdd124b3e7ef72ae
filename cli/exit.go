package cli

import "fmt"

// ExitError ends the process with this exit code and without a message, for commands that have already printed the
// reason.
type ExitError int

// Error says which code it is; only a program that does not know the type prints it.
func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }
