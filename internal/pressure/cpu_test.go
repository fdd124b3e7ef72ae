package pressure

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShort(t *testing.T) {
	t.Parallel()
	now, dir := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), t.TempDir()
	c := NewCPU(func() time.Time { return now })
	c.files = []string{filepath.Join(dir, "machine"), filepath.Join(dir, "container")}
	require.False(t, c.Short(), "the kernel does not tell")
	total := map[string]time.Duration{}
	after := func(d time.Duration, file string, waits time.Duration) bool {
		now = now.Add(d)
		total[file] += waits
		text := fmt.Sprintf("some avg10=1.00 avg60=1.00 avg300=1.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
			total[file].Microseconds())
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		return c.Short()
	}
	for _, file := range []string{"machine", "container"} {
		require.False(t, after(time.Second, file, time.Hour), "since when is not known")
		require.False(t, after(time.Second, file, 700*time.Millisecond))
		require.True(t, after(time.Second, file, 990*time.Millisecond))
		require.True(t, after(400*time.Millisecond, file, 0), "for a while")
		require.False(t, after(600*time.Millisecond, file, 0))
		require.False(t, after(time.Minute, file, time.Minute), "too long ago")
		require.True(t, after(time.Second, file, time.Second))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "machine"), []byte("some avg10=?\n"), 0o600))
	require.False(t, after(time.Second, "container", 0))
}
