package devstack

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheStandardLibraryIsCompiledOnce: what the Makefile compiles serves the build of Temporal's server only when
// toolchain and flags are the same; the build of an empty cache takes a minute longer otherwise.
func TestTheStandardLibraryIsCompiledOnce(t *testing.T) {
	t.Parallel()

	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	require.Contains(t, string(makefile), "export GOTOOLCHAIN := "+buildToolchain+"\n")
	require.Regexp(t, `BUILD_FLAGS +:= -trimpath -tags=\S+ -gcflags=all=-dwarf=false `, string(makefile))
	require.Subset(t, buildFlags, []string{"-trimpath", "-gcflags=all=-dwarf=false"})
}
