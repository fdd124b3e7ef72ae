package deploy_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The chart is tested by a module of its own, so that Helm and the types of Kubernetes are no part of ours.
func TestHelmChart(t *testing.T) {
	t.Parallel()

	cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "./...")
	cmd.Dir = "helm/test"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
