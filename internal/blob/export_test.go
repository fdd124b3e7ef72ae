package blob

import (
	"os"

	"gocloud.dev/blob"
)

// Over is a store over any bucket.
func Over(b *blob.Bucket) *Store { return &Store{bucket: b} }

// Kept has f called with each file and folder that the disk is to keep, before it does.
func (s *Store) Kept(f func(*os.File)) { s.kept = f }
