package contact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

func TestFilter(t *testing.T) {
	t.Parallel()

	const list = `"0198c0de-0000-7000-8000-000000000001"`
	for _, tt := range []struct{ name, filter, says string }{
		{"everybody", `{}`, ""},
		{"tag", `{"tag": "vip"}`, ""},
		{"list", `{"list": ` + list + `}`, ""},
		{"all kinds", `{"all": [{"tag": "vip"}, {"any": [{"country": "CA"}, {"locale": "fr-CA"}]}, {"not": {"field": "city", "equals": "Laval"}},
			{"field": "fields.name", "contains": "x"}, {"field": "email", "exists": false}, {"created": {"from": "2024-05-01T00:00:00Z"}},
			{"updated": {"from": "2024-05-01T00:00:00Z", "before": "2024-06-01T00:00:00Z"}}]}`, ""},
		{"custom field in another script", `{"field": "город", "exists": true}`, ""},

		{"empty condition", `{"all": [{"tag": "a"}, {}]}`, "all[1]: has no condition"},
		{"two at once", `{"any": [{"tag": "a", "country": "CA"}]}`, "any[0]: has tag and country at once"},
		{"empty list of conditions", `{"all": []}`, "all: is empty"},
		{"inner empty list", `{"not": {"any": []}}`, "not.any: is empty"},
		{"list by name", `{"list": "friends"}`, `list: "friends" is not the ID of a list`},
		{"country in words", `{"not": {"country": "Canada"}}`, `not.country: "Canada" is not a country`},
		{"country in small letters", `{"country": "ca"}`, "country: "},
		{"locale", `{"locale": "klingon!"}`, "locale: "},
		{"tag with spaces", `{"tag": " vip"}`, "tag: "},
		{"tag that is not text", `{"tag": "a\u0000b"}`, "tag: "},
		{"no comparison", `{"field": "city"}`, "field: needs exactly one of equals, contains, exists; it has 0"},
		{"two comparisons", `{"field": "city", "equals": "a", "exists": true}`, "it has 2"},
		{"comparison of nothing", `{"equals": "a"}`, "field: is missing"},
		{"empty text", `{"field": "city", "equals": ""}`, `use "exists": false`},
		{"long text", `{"field": "city", "contains": "` + strings.Repeat("é", 201) + `"}`, "more than 200"},
		{"NUL", `{"field": "city", "contains": "a\u0000"}`, "not text"},
		{"no such field", `{"field": "Last City", "exists": true}`, `field: unknown field "Last City"`},
		{"empty range", `{"created": {}}`, "created: is empty"},
		{"range that ends first", `{"updated": {"from": "2024-06-01T00:00:00Z", "before": "2024-05-01T00:00:00Z"}}`, "updated: ends before"},
		{"deep", strings.Repeat(`{"not": `, 5) + `{"tag": "a"}` + strings.Repeat("}", 5), "nested more than 5"},
		{"long", `{"any": [` + strings.TrimSuffix(strings.Repeat(`{"tag": "a"},`, 50), ",") + `]}`, "more than 50"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var f contact.Filter
			require.NoError(t, json.Unmarshal([]byte(tt.filter), &f))
			err := f.Check()
			if tt.says == "" {
				assert.NoError(t, err, tt.filter)
				return
			}
			refused(t, err, tt.says)
		})
	}
	for field, want := range map[string]string{"phone": "phone", "city": "city custom", "fields.phone": "phone custom"} {
		name, custom := contact.Filter{Field: field}.FilterField()
		if custom {
			name += " custom"
		}
		assert.Equal(t, want, name, field)
	}
}

// What a filter looks for may be a telephone number, of which there are so few that a digest tells it.
func TestTextless(t *testing.T) {
	t.Parallel()
	of := func(doc string) string {
		var f contact.Filter
		require.NoError(t, json.Unmarshal([]byte(doc), &f))
		out, err := json.Marshal(f.Textless())
		require.NoError(t, err)
		again, err := json.Marshal(f)
		require.NoError(t, err)
		require.JSONEq(t, doc, string(again), "it is as it was")
		return string(out)
	}
	require.JSONEq(t, `{"all": [{"tag": "vip"}, {"any": [{"field": "phone", "equals": ""}, {"field": "name", "contains": ""}]},
		{"not": {"not": {"field": "email", "equals": ""}}}, {"field": "city", "exists": true}]}`, of(
		`{"all": [{"tag": "vip"}, {"any": [{"field": "phone", "equals": "+15145550199"}, {"field": "name", "contains": "Jo"}]},
		{"not": {"not": {"field": "email", "equals": "jo@example.org"}}}, {"field": "city", "exists": true}]}`))
	require.JSONEq(t, `{}`, of(`{}`))
}
