package listing_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
)

func TestUnfinishedEntry(t *testing.T) {
	t.Parallel()
	all := listing.Stages
	theirs := []string{listing.StageDedupe, listing.StageImport}
	for _, tt := range []struct {
		name                        string
		staged, normalized, offered bool
		stages                      []string
		want                        string
	}{
		{"as it was scraped", false, false, true, all, listing.StageNormalize},
		{"normalized by us: all of it again", false, true, true, all, listing.StageNormalize},
		{"no longer offered", false, false, false, all, ""},
		{"it came normalized", true, true, true, all, listing.StageDedupe},
		{"it came normalized, and we only import", true, true, true, []string{listing.StageImport}, listing.StageImport},
		{"normalizing is another team's", false, false, true, theirs, ""},
		{"normalized by another team", false, true, true, theirs, listing.StageDedupe},
		{"it came normalized, and we only normalize", true, true, true, []string{listing.StageNormalize}, ""},
		{"images only", false, true, true, []string{listing.StageImages}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u := listing.Unfinished{Staged: tt.staged, Normalized: tt.normalized, Offered: tt.offered}
			require.Equal(t, tt.want, u.Entry(tt.stages))
		})
	}
}
