package config

import (
	"time"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// Crawl are the defaults of crawl runs, and the bounds of a worker that crawls. The names without a prefix are those of
// the system that this one replaces.
type Crawl struct {
	MaxPages   int `env:"CRAWL_MAX_PAGES" envDefault:"5000" doc:"default of a run's maxPages" validate:"min=1,max=5000000"`
	MaxDepth   int `env:"CRAWL_MAX_DEPTH" envDefault:"25" doc:"default of a run's maxDepth" validate:"min=0,max=1000"`
	MaxRetries int `env:"MAX_RETRIES" envDefault:"2" doc:"default of a run's maxRetries" validate:"min=0,max=20"`

	RetryBaseMS int `env:"RETRY_BASE_DELAY_MS" envDefault:"500" doc:"milliseconds until the first retry of a URL; doubles with each" validate:"min=1,max=3600000"`
	RetryMaxMS  int `env:"RETRY_MAX_DELAY_MS" envDefault:"30000" doc:"milliseconds until a retry at most, Retry-After included" validate:"min=1,max=21600000"`

	Jobs           int `env:"WORKER_CONCURRENCY" envDefault:"8" doc:"URLs that a process requests or reads at once, and as many sitemaps besides" validate:"min=1,max=1000"`
	Fetches        int `env:"FETCH_CONCURRENCY" envDefault:"12" doc:"of these URLs, the requests" validate:"min=1,max=1000"`
	PerHost        int `env:"FETCH_CONCURRENCY_PER_HOST" envDefault:"4" doc:"requests to one host at once, of all processes together" validate:"min=1,max=1000"`
	GapMS          int `env:"FETCH_MIN_GAP_PER_HOST_MS" envDefault:"40" doc:"milliseconds between the starts of two requests to one host, of all processes together; 0 = none" validate:"min=0,max=3600000"`
	JitterMS       int `env:"FETCH_GAP_JITTER_MS" envDefault:"25" doc:"milliseconds added to that gap at random, at most the gap itself" validate:"min=0,max=3600000"`
	CooldownBaseMS int `env:"FETCH_HOST_COOLDOWN_BASE_MS" envDefault:"500" doc:"milliseconds for which a host that refuses is left alone; doubles with each refusal; 0 = never" validate:"min=0,max=3600000"`
	CooldownMaxMS  int `env:"FETCH_HOST_COOLDOWN_MAX_MS" envDefault:"5000" doc:"milliseconds for which such a host is left alone at most" validate:"min=0,max=21600000"`

	UserAgent string        `env:"CRAWLER_USER_AGENT" envDefault:"" doc:"User-Agent of the crawler; its first word, or that behind compatible; in it, is the name in robots.txt; empty names this project"`
	TTL       time.Duration `env:"CONVEYOR_CRAWL_TTL" envDefault:"24h" doc:"time in which a run with skipRecent does not crawl a URL again" validate:"min=1s"`
	Idle      int           `env:"CONVEYOR_CRAWL_IDLE_CONNS" envDefault:"16" doc:"idle connections kept to one host" validate:"min=1,max=1000"`
	Shards    int           `env:"CONVEYOR_CRAWL_SLOTS" envDefault:"32" doc:"shards of crawl runs, and their maintenance, that a process works on at once; most of the time they wait" validate:"min=2,max=1000"`
}

// Settings are the defaults of a run.
func (c Crawl) Settings() crawl.Settings {
	s := crawl.Defaults
	s.MaxPages, s.MaxDepth, s.MaxRetries = c.MaxPages, c.MaxDepth, c.MaxRetries
	return s
}
