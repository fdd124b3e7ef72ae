package drafts

import (
	"testing"

	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/internal/rowtest"
)

func TestRowsAreShownWhole(t *testing.T) {
	t.Parallel()
	rowtest.Whole(t, showDraft(rowtest.Filled[dbdrafts.DraftSummary](t)))
}
