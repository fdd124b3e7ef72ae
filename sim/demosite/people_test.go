package demosite_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// The demo's file is read without a word about how, and what is bad about it is found.
func TestPeople(t *testing.T) {
	t.Parallel()
	var file, again, other bytes.Buffer
	require.NoError(t, demosite.WritePeople(&file, 1))
	require.NoError(t, demosite.WritePeople(&again, 1))
	require.NoError(t, demosite.WritePeople(&other, 2))
	require.Equal(t, file.String(), again.String())
	require.NotEqual(t, file.String(), other.String())

	data := bytes.NewReader(file.Bytes())
	plan, err := contact.Sniff(data, data.Size(), contact.Options{Region: "CA"})
	require.NoError(t, err)
	var fields []string
	for _, c := range plan.Mapping {
		fields = append(fields, c.Field)
	}
	require.Equal(t, []string{"given_name", "family_name", "phone", "email", "locale", "fields.ville", "tags",
		"fields.dernier_achat", "fields.points"}, fields)
	text, err := plan.Open(data, data.Size())
	require.NoError(t, err)
	var rows []contact.Row
	end, err := plan.Split(text, contact.Position{}, func(c contact.Chunk) error {
		part := bytes.NewReader(file.Bytes()[c.Offset : c.Offset+c.Length])
		return plan.Parse(part, c, func(r contact.Row) error { rows = append(rows, r); return nil })
	})
	require.NoError(t, err)
	require.EqualValues(t, demosite.People, end.Row-1)

	keys, codes, tagged, duplicates := map[string]bool{}, map[string]int{}, 0, 0
	fiction := regexp.MustCompile(`^\+1[2-9][0-9]{2}55501[0-9]{2}$`)
	for _, r := range rows {
		for _, p := range r.Problems {
			codes[p.Code]++
		}
		switch {
		case !r.Valid():
			continue
		case keys[r.Contact.Key]:
			duplicates++
		case len(r.Contact.Tags) > 0 && r.Contact.Tags[0] == "VIP" || len(r.Contact.Tags) > 1 && r.Contact.Tags[1] == "VIP":
			tagged++
		}
		keys[r.Contact.Key] = true
		if r.Contact.Phone != "" {
			require.Regexp(t, fiction, r.Contact.Phone)
		}
		require.NotEmpty(t, r.Contact.Name)
		require.NotEmpty(t, r.Contact.Locale)
	}
	require.Equal(t, 200, duplicates)
	require.InDelta(t, 9550, len(keys), 30)
	require.Greater(t, tagged, 400)
	for _, code := range []string{
		contact.CodeMissing, contact.CodePhone, contact.CodeScientific, contact.CodeExtension, contact.CodeEmail,
		contact.CodeLetters, contact.CodeLocale, contact.CodeFormula,
	} {
		require.Greater(t, codes[code], 10, "%s: %v", code, codes)
	}
}
