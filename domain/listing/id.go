package listing

import "github.com/google/uuid"

// namespace makes our UUIDv5 IDs ours. It never changes: every listing's ID depends on it.
var namespace = uuid.MustParse("6f1d1a0e-9c58-5c7e-8d7c-0b5a7f3f2c11")

// ID is the listing's ID in tables, events and addresses. It is made from the Ref, so that every process that meets
// an advert, in whatever order, names it alike.
func (r Ref) ID() uuid.UUID { return uuid.NewSHA1(namespace, []byte(r.String())) }
