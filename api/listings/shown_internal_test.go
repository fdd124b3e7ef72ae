package listings

import (
	"testing"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/rowtest"
)

func TestRowsAreShownWhole(t *testing.T) {
	t.Parallel()
	d := &api.Door{}
	centris := rowtest.Filled[dblistings.Platform](t)
	centris.Name = "centris" // of which something is unproven
	rowtest.Whole(t, showListing(rowtest.Filled[dblistings.ListingSummary](t)))
	rowtest.Whole(t, showAdvert(uuid.New(), rowtest.Filled[dblistings.ListingDetail](t), api.WorkflowLink{ID: "id", URL: "url"},
		d.Letter, access.Read))
	rowtest.Whole(t, showPastCycle(rowtest.Filled[dblistings.PlatformCycle](t)))
	rowtest.Whole(t, Replays{door: d}.show(rowtest.Filled[dblistings.Replay](t)))
	rowtest.Whole(t, Platforms{door: d}.show(centris))
}
