package listing

import (
	"slices"

	"github.com/mtlrent/conveyor/domain/contract"
)

// The stages of a listing. CONVEYOR_LISTING_STAGES says which are ours; another team may own the rest.
const (
	StageNormalize = "normalize"
	StageDedupe    = "dedupe"
	StageImport    = "import"
	StageImages    = "images"
)

// Stages are all of them, in order.
var Stages = []string{StageNormalize, StageDedupe, StageImport, StageImages}

// Entries are the stages at which an advert can enter the pipeline: all but images, which follow an import.
var Entries = Stages[:3]

// StageOrder is the place of a stage in Stages, and -1 for any other text.
func StageOrder(stage string) int { return slices.Index(Stages, stage) }

// StageRoute is where the work of a stage is published for an advert of platform. It is the zero Route for what is no
// stage.
func StageRoute(stage, platform string) contract.Route {
	switch stage {
	case StageNormalize:
		return contract.Route{
			Exchange: contract.ExchangeScraped, RoutingKey: platform, Queue: contract.QueueScraped(platform),
		}
	case StageEnrich, StageDedupe:
		return contract.ListingsRoute(contract.QueueNormalized)
	case StageImport:
		return contract.ListingsRoute(contract.QueueReady)
	case StageImages:
		return contract.ListingsRoute(contract.QueueImages)
	}
	return contract.Route{}
}
