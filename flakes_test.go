package conveyor_test

import (
	"encoding/csv"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A test that passed at its second try only stands in test/flakes.tsv. For two weeks, and twice, that is a note; then it is
// a failure, until it says what cured it.
func TestFlakesAreCured(t *testing.T) {
	t.Parallel()

	f, err := os.Open("test/flakes.tsv")
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.FieldsPerRecord, r.LazyQuotes = '\t', 5, true // test, date, commit, cause, cured by
	rows, err := r.ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("test/flakes.tsv: %d rows, %v", len(rows), err)
	}
	uncured := map[string]int{}
	for _, row := range rows[1:] {
		name, date, cured := row[0], row[1], row[4]
		seen, err := time.Parse(time.DateOnly, date)
		assert.NoError(t, err, name)
		if cured != "" {
			continue
		}
		if uncured[name]++; uncured[name] >= 3 {
			t.Errorf("%s passed at its second try only, three times: cure it", name)
		}
		if time.Since(seen) > 14*24*time.Hour {
			t.Errorf("%s has been waiting for its cure since %s", name, date)
		}
	}
}
