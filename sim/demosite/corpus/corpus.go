// Package corpus holds the adverts that the demo site shows. test/corpus/README.md says whose they are.
package corpus

import (
	"bytes"
	_ "embed" // the adverts
	"encoding/json"
	"fmt"
	"sync"

	"github.com/mtlrent/conveyor/domain/listing"
)

//go:embed quebec-2018.jsonl
var data []byte

// All returns the 1,249 adverts in the order in which they were collected. The first call parses them (about 20 ms).
// The slice and what it points to are shared: callers do not change them.
var All = sync.OnceValue(func() []listing.Raw {
	var all []listing.Raw
	for line := range bytes.Lines(data) {
		var raw listing.Raw
		if err := json.Unmarshal(line, &raw); err != nil {
			panic(fmt.Sprintf("corpus: parse embedded advert %d: %v", len(all)+1, err)) // only a bad build holds one
		}
		all = append(all, raw)
	}
	return all
})
