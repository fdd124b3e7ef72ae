package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Change is a field whose value is another than before. From and To are JSON values as in Listing; nil = not stated.
// Long fields, description and image_urls, are named without their values.
type Change struct {
	Field    string          // as Listing's JSON names it: rent_cents, pets …
	From, To json.RawMessage // nil = not stated
}

// Changes returns what an advert says that it did not say before, sorted by field. How a value came about (sources,
// warnings) and when it was scraped are no changes.
func Changes(before, after Listing) []Change {
	from, to := fieldsOf(before), fieldsOf(after)
	names := slices.Collect(maps.Keys(from))
	for name := range to {
		if _, ok := from[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []Change
	for _, name := range names {
		if bytes.Equal(from[name], to[name]) {
			continue
		}
		c := Change{Field: name, From: from[name], To: to[name]}
		switch name {
		case "scraped_at", "sources", "warnings":
			continue
		case "description", "image_urls":
			c.From, c.To = nil, nil
		}
		out = append(out, c)
	}
	return out
}

// fieldsOf are the fields of a listing's JSON.
func fieldsOf(l Listing) map[string]json.RawMessage {
	doc, err := json.Marshal(l)
	if err != nil { // finite numbers and strings only
		panic(fmt.Sprintf("listing: write %s: %v", l.Ref, err))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil {
		panic(fmt.Sprintf("listing: read %s: %v", l.Ref, err))
	}
	return fields
}
