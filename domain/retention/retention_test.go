package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/retention"
)

func TestNext(t *testing.T) {
	t.Parallel()

	limits := retention.Limits{retention.Files: time.Hour, retention.Events: time.Hour, retention.Audit: 0}
	require.Equal(t, retention.Events, limits.Next(""))
	require.Equal(t, retention.Files, limits.Next(retention.Events))
	require.Equal(t, retention.Files, limits.Next(retention.Audit))
	require.Empty(t, limits.Next(retention.Files))
	require.Empty(t, retention.Limits{}.Next(""))
}
