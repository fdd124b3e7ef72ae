package contact_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// TestSharedFiles reads the tables among the shared data. Where encoding/csv can read a file too, the cells are the same.
// Files in data/contacts (polluted and survey files) are read or refused, and none of their rows is lost.
func TestSharedFiles(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(sharedtest.Dir(t, "reading real tables"), "data")
	compared := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".csv" && filepath.Base(filepath.Dir(path)) != "contacts" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := tryImport(t, data, contact.Options{Mapping: map[string]string{"#1": "phone"}})
		if class, _ := fault.Of(err); class == fault.Invalid {
			t.Logf("%s: %v", path, err)
			return nil
		}
		if err != nil {
			return err
		}
		t.Logf("%s: %d rows, %d columns, delimiter %q", path, len(f.rows), len(f.plan.Format.Columns), f.plan.Format.Delimiter)
		r := csv.NewReader(bytes.NewReader(data))
		r.Comma = rune(f.plan.Format.Delimiter[0])
		want, err := r.ReadAll()
		if err != nil || f.plan.Copied() || !f.plan.Format.Header || f.plan.Format.Skip > 0 {
			return nil
		}
		if len(want)-1 != len(f.rows) {
			t.Errorf("%s: %d rows, encoding/csv has %d", path, len(f.rows), len(want)-1)
			return nil
		}
		compared++
		for i, row := range f.rows {
			if len(row.Record) > 0 && !slices.Equal(row.Record, want[i+1]) {
				t.Errorf("%s: line %d: %q, encoding/csv has %q", path, row.Line, row.Record, want[i+1])
				return nil
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, compared, "files that were compared")
	if _, err := os.Stat(filepath.Join(dir, "contacts")); errors.Is(err, fs.ErrNotExist) {
		t.Logf("%s is missing: polluted and survey files go unchecked", strings.TrimSuffix(filepath.Join(dir, "contacts"), "/"))
	}
}
