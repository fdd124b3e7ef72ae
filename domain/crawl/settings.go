package crawl

import (
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// The scope modes.
const (
	SameHost   = "same_host"   // the seed's host and its www. twin
	SameDomain = "same_domain" // every host below the seed's registrable domain
	Prefix     = "prefix"      // same host, and a path that begins with the folder of the seed's
)

// ScopeModes are all of them.
var ScopeModes = []string{SameHost, SameDomain, Prefix}

// Settings are those of one run: run_config. What a caller leaves out has the value of Defaults.
type Settings struct {
	MaxPages         int    `json:"maxPages" minimum:"1" maximum:"5000000" doc:"URLs that may be requested; those found beyond it are SKIPPED with the reason max_pages"`
	MaxDepth         int    `json:"maxDepth" minimum:"0" maximum:"1000" doc:"links from the seed to a page; URLs further away are SKIPPED with the reason max_depth"`
	ScopeMode        string `json:"scopeMode" enum:"same_host,same_domain,prefix" doc:"which URLs belong to the run: same_host = the seed's host and its www. twin; same_domain = every host of the registrable domain; prefix = same host, below the folder of the seed"`
	IncludeDocuments bool   `json:"includeDocuments" doc:"also request links whose extension names a file that is no page: PDF, office documents, archives, films, …"`
	FollowRedirects  bool   `json:"followRedirects" doc:"add the target of a redirect, where it is in scope, as a URL of its own"`
	DemoDelayMS      int    `json:"demoDelayMs" minimum:"0" maximum:"60000" doc:"wait before each request, in milliseconds"`
	RequestTimeoutMS int    `json:"requestTimeoutMs" minimum:"100" maximum:"120000" doc:"time of one request with its body, in milliseconds"`
	MaxRetries       int    `json:"maxRetries" minimum:"0" maximum:"20" doc:"tries after the first one, of answers and failures that may pass"`

	RespectRobots bool `json:"respectRobots" doc:"obey robots.txt and its Crawl-delay"`
	UseSitemaps   bool `json:"useSitemaps" doc:"also start from the sitemaps that robots.txt names, or /sitemap.xml"`
	FollowLinkRel bool `json:"followLinkRel" doc:"also follow link elements: stylesheet, alternate, next, …"`
	Nofollow      bool `json:"nofollow" doc:"leave out links with rel=nofollow and all of a page whose robots meta says nofollow"`
	Render        bool `json:"render" doc:"load pages in a browser and read them after their scripts ran"`
	StoreBodies   bool `json:"storeBodies" doc:"keep each answer as a WARC record, for /export?format=warc"`
	SkipRecent    bool `json:"skipRecent" doc:"skip URLs that a run with skipRecent crawled within CONVEYOR_CRAWL_TTL"`
	Conditional   bool `json:"conditional" doc:"send the validators of the last completed run of the same seed; a 304 is VISITED with the links of that run"`
	Publish       bool `json:"publish" doc:"publish each page to crawler_queue for the search indexer"`
	Shards        int  `json:"shards" minimum:"1" maximum:"64" doc:"activities that crawl at once; as many worker processes can take part"`
}

// Defaults are those of the system that this one replaces, and ours.
var Defaults = Settings{
	MaxPages: 5000, MaxDepth: 25, ScopeMode: SameHost, FollowRedirects: true, RequestTimeoutMS: 5000, MaxRetries: 2,
	RespectRobots: true, Publish: true, Shards: 4,
}

// Timeout is that of one request.
func (s Settings) Timeout() time.Duration {
	return time.Duration(s.RequestTimeoutMS) * time.Millisecond
}

// Check returns fault.Invalid with the field and the reason for settings out of range.
func (s Settings) Check() error {
	for _, f := range []struct {
		name       string
		value      int
		least, max int
	}{
		{"maxPages", s.MaxPages, 1, 5_000_000}, {"maxDepth", s.MaxDepth, 0, 1000}, {"demoDelayMs", s.DemoDelayMS, 0, 60_000},
		{"requestTimeoutMs", s.RequestTimeoutMS, 100, 120_000}, {"maxRetries", s.MaxRetries, 0, 20},
		{"shards", s.Shards, 1, 64},
	} {
		if f.value < f.least || f.value > f.max {
			return fault.Newf(fault.Invalid, "settings.%s: is %d, expected %d to %d", f.name, f.value, f.least, f.max)
		}
	}
	switch s.ScopeMode {
	case SameHost, SameDomain, Prefix:
		return nil
	}
	return fault.Newf(fault.Invalid, "settings.scopeMode: is %.40q, expected one of %v", s.ScopeMode, ScopeModes)
}
