package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// What is measured is rows that are stored: none may be refused.
func TestPeopleAreTaken(t *testing.T) {
	t.Parallel()

	const n = 200_000
	file, err := io.ReadAll(peopleCSV(n))
	require.NoError(t, err)
	data := bytes.NewReader(file)
	plan, err := contact.Sniff(data, data.Size(), peopleOptions)
	require.NoError(t, err)
	text, err := plan.Open(data, data.Size())
	require.NoError(t, err)
	phones := map[string]bool{}
	_, err = plan.Split(text, contact.Position{}, func(c contact.Chunk) error {
		return plan.Parse(bytes.NewReader(file[c.Offset:c.Offset+c.Length]), c, func(r contact.Row) error {
			if len(r.Problems) > 0 {
				require.Empty(t, r.Problems, "line %d", r.Line)
			}
			phones[r.Contact.Phone] = true
			return nil
		})
	})
	require.NoError(t, err)
	require.Len(t, phones, n)
}
