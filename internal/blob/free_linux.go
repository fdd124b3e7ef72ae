package blob

import "golang.org/x/sys/unix"

// free is how many bytes are free in a folder.
func free(dir string) (int64, error) {
	var is unix.Statfs_t
	if err := unix.Statfs(dir, &is); err != nil {
		return 0, err
	}
	return int64(is.Bavail) * is.Bsize, nil
}
