package listing

// The stages of a listing, in order. CONVEYOR_LISTING_STAGES says which are ours; another team may own the rest.
const (
	StageNormalize = "normalize"
	StageDedupe    = "dedupe"
	StageImport    = "import"
	StageImages    = "images"
)
