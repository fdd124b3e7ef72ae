package api

import (
	"bytes"
	"encoding/json"
	"strings"
)

// personal are parts of the names of members with contact data, in the spellings of all scrapers.
var personal = []string{"contact", "phone", "mail", "courriel", "mobile"}

// withoutContact drops every member of a payload, at any depth, whose name is one of contact data. Contact data inside
// texts stays: it is public on the platform. A payload that is not JSON becomes null.
func withoutContact(payload json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber() // numbers stay as they were printed
	var v any
	if err := d.Decode(&v); err != nil {
		return json.RawMessage("null") // nil, or not from jsonb
	}
	doc, err := json.Marshal(dropPersonal(v))
	if err != nil {
		panic(err) // it was JSON
	}
	return doc
}

func dropPersonal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if isPersonal(name) {
				delete(v, name)
				continue
			}
			v[name] = dropPersonal(value)
		}
	case []any:
		for i := range v {
			v[i] = dropPersonal(v[i])
		}
	}
	return v
}

func isPersonal(name string) bool {
	name = strings.ToLower(name)
	for _, part := range personal {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
