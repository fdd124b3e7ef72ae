package main

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/licences"
)

// testsOnly are modules that tests link and the binary does not, by the beginning of their names.
var testsOnly = []string{
	"github.com/stretchr/", "github.com/davecgh/", "github.com/pmezard/", "gopkg.in/yaml.v3", "github.com/kr/",
	"github.com/rogpeppe/",
}

// Every module that is linked here is in the list of licences, at its version.
func TestLicencesOfTheBinary(t *testing.T) {
	t.Parallel()
	l, err := licences.Unpack(licences.Packed)
	require.NoError(t, err)
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	require.NotEmpty(t, info.Deps)
	for _, m := range info.Deps {
		if slices.ContainsFunc(testsOnly, func(s string) bool { return strings.HasPrefix(m.Path, s) }) {
			continue
		}
		require.Truef(t, slices.ContainsFunc(l.Parts, func(p licences.Part) bool {
			return p.Name == m.Path && p.Version == m.Version
		}), "%s %s is not in the list: run go generate ./internal/licences", m.Path, m.Version)
	}
}
