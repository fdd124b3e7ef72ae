package platform

import (
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

// Facts reads what the title and the description of a listing of any platform state beyond its fields, each with the
// words it was read from. The result depends on the listing alone.
func Facts(l listing.Listing) []listing.Fact { return prose.Facts(l) }
