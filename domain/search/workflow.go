package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Collection is the name of what is indexed: pages.
const Collection = "pages"

// The names of engines.
const (
	EnginePostgres   = "postgres"
	EngineOpenSearch = "opensearch"
)

// The IDs of workflows of which there is one at a time.
const (
	CompactWorkflowID = "compact/" + Collection
	ReindexWorkflowID = "reindex/" + Collection
)

// IndexWorkflowID is the ID of the workflow that stores the messages of these keys, in whatever order and however often
// each is named.
func IndexWorkflowID(keys []uuid.UUID) string {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	h := sha256.New()
	for _, k := range slices.Compact(keys) {
		h.Write(k[:])
	}
	return "index/" + hex.EncodeToString(h.Sum(nil)[:16])
}

// DeleteWorkflowID is the ID of the workflow that deletes the pages of a site.
func DeleteWorkflowID(site string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(site)))
	return "delete-pages/" + hex.EncodeToString(sum[:16])
}
