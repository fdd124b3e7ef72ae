package config

import "time"

// DraftRequests is the queue that requests for product drafts arrive on. On the wire they are called crawl requests.
type DraftRequests struct {
	Ours       bool   `env:"CONVEYOR_CRAWL_REQUESTS" envDefault:"true" doc:"consume crawl requests; false leaves their queue to another system"`
	Exchange   string `env:"RABBITMQ_EXCHANGE" envDefault:"events" doc:"topic exchange that crawl requests are published to" validate:"amqpname"`
	Queue      string `env:"RABBITMQ_QUEUE" envDefault:"crawler.url.requested.v1" doc:"queue of crawl requests" validate:"amqpname"`
	RoutingKey string `env:"RABBITMQ_ROUTING_KEY" envDefault:"crawler.url.requested.v1" doc:"routing key of crawl requests" validate:"amqpname"`
	Prefetch   int    `env:"RABBITMQ_PREFETCH" envDefault:"1" doc:"unacknowledged crawl requests per bridge, 1 to 100" validate:"min=1,max=100" why:"it applies to crawl requests; CONVEYOR_PREFETCH is that of the other queues"`
}

// Drafts is the Chromium that loads product pages, which runs outside of the worker, and the files of drafts.
type Drafts struct {
	DevtoolsURL string        `env:"CHROME_DEVTOOLS_URL" envDefault:"" secret:"url" doc:"DevTools endpoint of the Chromium that loads product pages: http, https, ws or wss; a worker without it makes no drafts; conveyor up starts one" validate:"omitempty,scheme=http https ws wss"`
	ProxyHost   string        `env:"CONVEYOR_DRAFT_PROXY_HOST" envDefault:"" doc:"host, or host:port, at which that Chromium reaches the proxy of the worker; the default is the worker's address on the way to CHROME_DEVTOOLS_URL"`
	Pages       int           `env:"CONVEYOR_DRAFT_PAGES" envDefault:"2" doc:"pages loaded at once per process, 1 to 32" validate:"min=1,max=32"`
	Timeout     time.Duration `env:"CONVEYOR_DRAFT_TIMEOUT" envDefault:"30s" doc:"maximum time of a page, 1s to 45s; a page that is usable after 5/6 of it is taken as it is" validate:"min=1s,max=45s"`
	OutRoot     string        `env:"CONVEYOR_OUT_ROOT" envDefault:"" doc:"folder on each worker that contains the out_dir of crawl requests; the default is .conveyor/drafts"`
}
