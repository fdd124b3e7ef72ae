package contact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

// The cells of valid rows are kept only where the store may refuse some: they take time and room.
func TestImportKeeps(t *testing.T) {
	t.Parallel()

	text := contact.Plan{Format: contact.Format{Container: contact.Plain, Encoding: contact.UTF8}}
	old := contact.Plan{Format: contact.Format{Container: contact.Plain, Encoding: contact.Windows1252}}
	packed := contact.Plan{Format: contact.Format{Container: contact.Zip, Encoding: contact.UTF8}}
	for name, tt := range map[string]struct {
		i    contact.Import
		p    contact.Plan
		want bool
	}{
		"no limit":                    {contact.Import{Bytes: 1 << 30}, text, false},
		"known contacts are refused":  {contact.Import{Records: true}, text, true},
		"it has room":                 {contact.Import{Bytes: 90 << 20, Left: new(int64(10_000_000))}, text, false},
		"it is nothing but numbers":   {contact.Import{Bytes: 11 * 1200, Left: new(int64(1000))}, text, true},
		"so many may be in it":        {contact.Import{Bytes: 1 << 20, Left: new(int64(50_000))}, text, true},
		"packed, it has more":         {contact.Import{Bytes: 1 << 20, Left: new(int64(1_000_000))}, packed, true},
		"packed, and it has room":     {contact.Import{Bytes: 4 << 20, Left: new(int64(10_000_000))}, packed, false},
		"decoded, and it has room":    {contact.Import{Bytes: 90 << 20, Left: new(int64(10_000_000))}, old, false},
		"no file has more":            {contact.Import{Bytes: 4 << 30, Left: new(int64(contact.MaxRows))}, packed, false},
		"a row, and there is no room": {contact.Import{Bytes: 3, Left: new(int64(0))}, text, true},
	} {
		require.Equal(t, tt.want, tt.i.Keeps(tt.p), name)
	}
}
