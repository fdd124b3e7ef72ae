package listings

import (
	"time"

	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Enrichment is what is known of a listing beyond the fields of its advert.
type Enrichment struct {
	Facts       []listing.Fact   `json:"facts" doc:"details that the text states, each with the words it was read from"`
	Places      []listing.Nearby `json:"places" doc:"the nearest of each kind within 2 km, by straight distance"`
	Attribution string           `json:"attribution,omitempty" doc:"to be shown with the places: whose data they are, and their licence"`
	UpdatedAt   time.Time        `json:"updated_at"`
}

func showEnrichment(e *dblistings.ListingEnrichment) *Enrichment {
	if e == nil {
		return nil
	}
	return &Enrichment{
		Facts: append([]listing.Fact{}, e.All()...), Places: append([]listing.Nearby{}, e.Places...),
		Attribution: e.Attribution, UpdatedAt: e.UpdatedAt.UTC(),
	}
}

// A RentComparison is a rent beside those that are asked for other listings. It is of the moment: the median moves with
// every listing.
type RentComparison struct {
	Scope       string `json:"scope" enum:"neighbourhood,borough" doc:"of the listings compared with; the borough where its neighbourhood has too few"`
	Place       string `json:"place" doc:"key of the neighbourhood, or name of the borough"`
	Sample      int    `json:"sample" doc:"listings that the median is of, 10 or more, this one not among them"`
	MedianCents int64  `json:"median_cents" doc:"median rent, CAD cents a month"`
	Percent     int    `json:"percent" doc:"by how much the rent is above the median; below is negative"`
}
