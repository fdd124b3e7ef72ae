package config

// Search is the indexer of crawled pages.
type Search struct {
	Ours      bool `env:"CONVEYOR_SEARCH" envDefault:"true" doc:"consume crawler_queue; false leaves it to another indexer"`
	Prefetch  int  `env:"CONVEYOR_SEARCH_BATCH" envDefault:"300" doc:"most crawled pages that are stored together, 1 to 1000; a batch also ends at 16 MiB" validate:"min=1,max=1000"`
	Consumers int  `env:"CONVEYOR_SEARCH_CONSUMERS" envDefault:"2" doc:"batches of crawled pages that a bridge has in hand at once, 1 to 16" validate:"min=1,max=16"`
}
