package blob

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Free is how many bytes are free in the folder of the store; of a bucket, or where nobody can say, as many as there
// are.
func (s *Store) Free(context.Context) (int64, error) {
	if s.dir == "" {
		return math.MaxInt64, nil
	}
	var is unix.Statfs_t
	if err := unix.Statfs(s.dir, &is); err != nil {
		return 0, fmt.Errorf("find free space of %s: %w", s.dir, err)
	}
	return int64(is.Bavail) * is.Bsize, nil
}
