package listing

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/google/uuid"
)

// namespace makes our UUIDv5 IDs ours. It never changes: every listing's ID depends on it.
var namespace = uuid.MustParse("6f1d1a0e-9c58-5c7e-8d7c-0b5a7f3f2c11")

// ID is the listing's ID in tables, events and addresses. It is made from the Ref, so that every process that meets
// an advert, in whatever order, names it alike.
func (r Ref) ID() uuid.UUID { return uuid.NewSHA1(namespace, []byte(r.String())) }

// WorkflowID is the ID of the advert's workflow, a workflows.Listing: "listing/kijiji/1668602387". Without a
// PlatformID it is what the IDs of all adverts of the platform begin with.
func (r Ref) WorkflowID() string { return "listing/" + r.String() }

// ImageActivityID is the ID of the activity that fetches the image at url for the advert without a workflow: it names
// the listing by its ID, and the address by the first 16 hexadecimal digits of its SHA-256.
func (r Ref) ImageActivityID(url string) string {
	sum := sha256.Sum256([]byte(url))
	return "image/" + r.ID().String() + "/" + hex.EncodeToString(sum[:8])
}
