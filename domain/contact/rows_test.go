package contact_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// written are rows in the form of RowsWriter.
func written(rows []contact.Row) []byte {
	var w contact.RowsWriter
	for _, r := range rows {
		w.Add(r)
	}
	return w.Bytes()
}

// What a file has comes back as it was; what is damaged is refused.
func TestRowsWriter(t *testing.T) {
	t.Parallel()

	data := append(people(50, false), "Jo,,not a number,x,,,,\n\"\x00\",,,,,,,\n"...)
	f := importFile(t, data, contact.Options{})
	require.Positive(t, f.invalid)
	text := written(f.rows)
	got, err := contact.ReadRows(text)
	require.NoError(t, err)
	require.Equal(t, f.rows, got)
	require.Less(t, len(text), 2*len(data))

	none, err := contact.ReadRows(written(nil))
	require.NoError(t, err)
	require.Empty(t, none)
	for n := range len(text) {
		_, err := contact.ReadRows(text[:n])
		class, _ := fault.Of(err)
		require.Equal(t, fault.Invalid, class, "cut after %d bytes", n)
	}
	for n := range text {
		damaged := bytes.Clone(text)
		damaged[n] ^= 0x10
		_, err := contact.ReadRows(damaged)
		require.Error(t, err, "byte %d", n)
	}
}

func BenchmarkRows(b *testing.B) {
	f := importFile(b, people(1000, false), contact.Options{})
	for b.Loop() {
		if _, err := contact.ReadRows(written(f.rows)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
