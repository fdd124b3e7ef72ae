package outreach

import (
	"testing"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/rowtest"
)

func TestRowsAreShownWhole(t *testing.T) {
	t.Parallel()
	rowtest.Whole(t, Tenants{door: &api.Door{}}.show(t.Context(), rowtest.Filled[db.Tenant](t)))
	rowtest.Whole(t, showSender(rowtest.Filled[dboutreach.Sender](t)))
	rowtest.Whole(t, showAttempt(rowtest.Filled[dboutreach.Attempt](t)))
}
