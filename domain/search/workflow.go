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

// DistinctKeys are the keys in their own order, each once: so a batch that comes again in another order is the same.
func DistinctKeys(keys []uuid.UUID) []uuid.UUID {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(keys)
}

// IndexWorkflowID is the ID of the workflow that stores the messages of distinct keys.
func IndexWorkflowID(distinct []uuid.UUID) string {
	h := sha256.New()
	for _, k := range distinct {
		h.Write(k[:])
	}
	return "index/" + hex.EncodeToString(h.Sum(nil)[:16])
}

// DeleteWorkflowID is the ID of the workflow that deletes the pages of a site.
func DeleteWorkflowID(site string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(site)))
	return "delete-pages/" + hex.EncodeToString(sum[:16])
}
