package contract

// The topic exchanges. Each queue is bound to one of them by a routing key.
const (
	ExchangeScraped       = "scraped"         // adverts as scrapers saw them; routing key = platform
	ExchangeListings      = "listings"        // work of the listing stages; routing key = queue
	ExchangeListingEvents = "listings.events" // events; routing key = event name
	ExchangeEvents        = "events"          // requests of other services; RABBITMQ_EXCHANGE may name another
)

// The queues. Where an exchange says so, each is also its routing key.
const (
	QueueNormalized     = "listings.normalized"      // StagedListing, next is dedupe
	QueueEnriched       = "listings.enriched"        // StagedListing, next is dedupe; where another team enriches
	QueueReady          = "listings.ready"           // StagedListing, next is import
	QueueImages         = "images.pending"           // PendingImage
	QueuePublished      = "listings.published"       // Event, for other services to consume
	QueueCrawler        = "crawler_queue"            // CrawledPage, on the default exchange
	QueueDraftRequested = "crawler.url.requested.v1" // CrawlRequested; RABBITMQ_QUEUE may name another
)

// QueueScraped is the queue of a platform's ScrapedListing messages.
func QueueScraped(platform string) string { return ExchangeScraped + "." + platform }

// Every queue has a dead-letter exchange and a dead-letter queue.
const (
	SuffixDLX = ".dlx" // after an exchange: where its queues' dead letters go
	SuffixDLQ = ".dlq" // after a queue: where they stay
)

// ExchangeCrawlerDLX takes the dead letters of QueueCrawler, which has no exchange to name one after.
const ExchangeCrawlerDLX = "crawler" + SuffixDLX

// A Route is how a message gets to a queue.
type Route struct{ Exchange, RoutingKey, Queue string }

// ListingsRoute is the Route of a queue on ExchangeListings.
func ListingsRoute(queue string) Route { return Route{ExchangeListings, queue, queue} }
