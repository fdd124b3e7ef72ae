package bridge

import (
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/domain/contract"
)

// Crawl is the queue of the crawler.
type Crawl struct {
	Pages int // most messages that crawler_queue keeps; 0 keeps all
}

// Queues returns the row of the queue on which the search indexer gets each crawled page. It is on the default
// exchange, so the exchange of its dead letters has a name of its own; they may be larger than those of other queues.
func (s *Crawl) Queues() []Queue {
	return []Queue{{
		Name: contract.QueueCrawler, Key: contract.QueueCrawler, DLX: contract.ExchangeCrawlerDLX,
		DLXKind: amqp.ExchangeDirect, MaxBody: contract.MaxCrawledPage, Prefetch: 1, Consumers: 1, Most: s.Pages,
	}}
}
