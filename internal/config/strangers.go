package config

import (
	"regexp"
	"slices"
	"strings"
)

// others are variables of ours that are no settings: those of the CLI, of the local stack, of builds and of tests, and
// what Kubernetes sets for a service whose name begins with conveyor.
var others = regexp.MustCompile(`^CONVEYOR_(HOME|TENANT|VERSION|SHARED|SHOTS|NORMALIZER_CASES|(STACK|CLUSTER|TEST)(_\w+)?` +
	`|(\w+_)?(PORT|SERVICE_HOST|SERVICE_PORT)(_\w+)?)$`)

// Strangers are the names of variables that begin as those of settings do, and are none: misspelt, or of another
// version. What they say is not done. environ is as os.Environ returns it.
func Strangers(environ []string) []string {
	known := map[string]bool{}
	for _, s := range (Config{}).Settings() {
		known[s.Variable] = true
	}
	var out []string
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if value != "" && strings.HasPrefix(name, "CONVEYOR_") && !known[name] && !others.MatchString(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
