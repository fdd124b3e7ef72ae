package contact

import (
	"maps"
	"slices"
)

// Given reads a person as a request gives it, by the rules for a row of a file. Numbers without a country code are of
// the region. The names of custom fields are taken as valid. The problems say why it is none.
func Given(given Contact, region string) (Contact, []Problem) {
	p := Plan{Region: region}
	var cells []string
	add := func(field, header, cell string) {
		p.Mapping, cells = append(p.Mapping, Column{Field: field, Header: header}), append(cells, cell)
	}
	add(FieldPhone, "", given.Phone)
	add(FieldEmail, "", given.Email)
	add(FieldName, "", given.Name)
	add(FieldGiven, "", given.GivenName)
	add(FieldFamily, "", given.FamilyName)
	add(FieldLocale, "", given.Locale)
	for _, name := range slices.Sorted(maps.Keys(given.Fields)) {
		add(FieldCustom+name, FieldCustom+name, given.Fields[name])
	}
	tagged := len(cells)
	for _, tag := range given.Tags {
		add(FieldIgnored, "", tag) // not as a cell of tags, in which a comma parts them
	}

	var row Row
	b := builder{parser: newParser(p), row: &row}
	b.cells, b.exact = cells, true
	b.read()
	c := row.Contact
	for i := tagged; i < len(cells); i++ {
		if tag, ok := b.cell(i, FieldTags, MaxTag); ok && tag != "" && !slices.Contains(c.Tags, oneLine(tag)) {
			c.Tags = append(c.Tags, oneLine(tag))
		}
	}
	if len(c.Tags) > MaxTags {
		b.problem(FieldTags, CodeTags, "more than %d tags", MaxTags)
	}
	return c, row.Problems
}

// IsCustom says that a custom field may have a name: it is as a header becomes one.
func IsCustom(name string) bool { return name != "" && slug(name) == name }
