package contact

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tagged are the tags of all columns of tags. Google's own group of all contacts is none.
func (b *builder) tagged() []string {
	var tags []string
	for _, i := range b.tags {
		v, ok := b.cell(i, FieldTags, MaxTags*MaxTag)
		if !ok || v == "" {
			continue
		}
		for _, tag := range tagsIn(v) {
			tag = oneLine(strings.TrimPrefix(tag, "* "))
			if tag == "" || tag == "myContacts" || tag == "My Contacts" || slices.Contains(tags, tag) {
				continue
			}
			if utf8.RuneCountInString(tag) > MaxTag {
				b.problem(FieldTags, CodeTags, "tag %s has more than %d characters; shorten it", excerpt(tag), MaxTag)
				return nil
			}
			tags = append(tags, tag)
		}
	}
	if len(tags) > MaxTags {
		b.problem(FieldTags, CodeTags, "the row has %d tags, and at most %d are kept; remove some", len(tags), MaxTags)
		return nil
	}
	return tags
}

// tagsIn are the tags of a cell: a list of JSON, or they stand apart by ::: (Google), or by semicolons, bars, commas or
// line breaks.
func tagsIn(cell string) (tags []string) {
	if tags, ok := listOfJSON(cell); ok {
		return tags
	}
	quotes := `"`
	if inner, ok := listOf(cell); ok {
		cell, quotes = inner, `"'`
	}
	for tag := range strings.FieldsFuncSeq(strings.ReplaceAll(cell, ":::", "\n"), func(r rune) bool {
		return r == ';' || r == '|' || r == ',' || r == '\n'
	}) {
		tag = strings.TrimSpace(tag)
		if n := len(tag); n > 2 && tag[0] == tag[n-1] && strings.IndexByte(quotes, tag[0]) >= 0 { // "VIP","Lead"
			tag = strings.TrimSpace(tag[1 : n-1])
		}
		tags = append(tags, tag)
	}
	return tags
}

// listOfJSON are the texts of a list of JSON, with its escapes and commas read. One with control characters in it is
// none.
func listOfJSON(cell string) (tags []string, ok bool) {
	if cell[0] != '[' || json.Unmarshal([]byte(cell), &tags) != nil {
		return nil, false
	}
	for i, tag := range tags {
		if strings.ContainsFunc(tag, unicode.IsControl) {
			return nil, false
		}
		tags[i] = strings.TrimSpace(norm.NFC.String(tag))
	}
	return tags, true
}

// listOf is what stands in the brackets of a list as databases and programs write it: [VIP, Lead], {VIP,"a b"}. One
// word in brackets may be a tag, and so may each of several: [VIP], [Lead].
func listOf(v string) (inner string, ok bool) {
	n := len(v) - 1
	if n < 1 || v[:1]+v[n:] != "[]" && v[:1]+v[n:] != "{}" {
		return "", false
	}
	inner = strings.TrimSpace(v[1:n])
	if strings.ContainsAny(inner, v[:1]+v[n:]) {
		return "", false
	}
	return inner, inner == "" || strings.ContainsAny(inner, `,"`) || inner[0] == '\''
}
