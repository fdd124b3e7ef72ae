package blob

import "gocloud.dev/blob"

// Over is a store over any bucket.
func Over(b *blob.Bucket) *Store { return &Store{bucket: b} }
