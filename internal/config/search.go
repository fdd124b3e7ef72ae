package config

import (
	"net/url"

	"github.com/mtlrent/conveyor/internal/opensearch"
)

// Search is the indexer of crawled pages.
type Search struct {
	Ours      bool   `env:"CONVEYOR_SEARCH" envDefault:"true" doc:"consume crawler_queue; false leaves it to another indexer"`
	Prefetch  int    `env:"CONVEYOR_SEARCH_BATCH" envDefault:"300" doc:"most crawled pages that are stored together, 1 to 1000; a batch also ends at 16 MiB" validate:"min=1,max=1000"`
	URL       string `env:"CONVEYOR_SEARCH_URL" envDefault:"" doc:"URL of an OpenSearch that pages are written to as well, https://user:password@host:9200/index, with ?cacertfile=…&certfile=…&keyfile=… where it has a private authority; see docs/search.md" secret:"url"`
	Engine    string `env:"CONVEYOR_SEARCH_ENGINE" envDefault:"postgres" doc:"engine that answers queries: postgres or opensearch; with opensearch, pages are no longer written to the index in Postgres" validate:"oneof=postgres opensearch"`
	Consumers int    `env:"CONVEYOR_SEARCH_CONSUMERS" envDefault:"2" doc:"batches of crawled pages that a bridge has in hand at once, 1 to 16" validate:"min=1,max=16"`
}

// check tests the address, and that no password travels in clear text.
func (s Search) check(c Config) []string {
	u, err := url.Parse(s.URL)
	switch {
	case err == nil && u.Scheme == "http" && u.User != nil && !isLoopback(u.Hostname()) && !c.Images.Demo:
		return []string{"CONVEYOR_SEARCH_URL begins with http://, by which its password would travel in clear text"}
	case s.URL != "":
		if _, err := opensearch.New(s.URL); err != nil {
			return []string{"CONVEYOR_SEARCH_URL: " + err.Error()}
		}
	case s.Engine == "opensearch":
		return []string{"CONVEYOR_SEARCH_ENGINE is opensearch, but CONVEYOR_SEARCH_URL is not set"}
	}
	return nil
}
