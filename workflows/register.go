package workflows

import (
	"reflect"
	"slices"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/saved"
)

// The task queues. They are kinds of work that must not starve each other, not systems.
const (
	QueueListings = "listings"
	QueueImages   = "images"
	QueueEnrich   = "enrich"
	QueueBrowser  = "browser"
	QueueDrafts   = "drafts"
	QueueCrawl    = "crawl"
	QueueSearch   = "search"

	QueueUploadJobs        = contact.QueueJobs
	QueueUploadChunks      = contact.QueueChunks
	QueueImportPersistence = contact.QueuePersistence

	QueueCampaigns = campaign.QueueCampaigns
	QueueDispatch  = campaign.QueueDispatch
	QueueRetry     = campaign.QueueRetry

	QueueNotify = saved.Queue
)

// A Queue is one of Temporal's task queues. Each has workflows, activities, or both.
type Queue struct {
	Name       string
	Workflows  []any  // the workflow functions whose tasks are in it; a run goes on with the release that is current
	Pinned     []any  // more of them, which end within minutes: by the release that began them
	Activities bool   // it has tasks of regular activities; those of local ones are in no queue
	Doc        string // the kind of work, in a line
}

// Queues are all task queues and, with All, the only list of either. Add a workflow or a queue here, and only here.
// Which workflows are pinned matters where CONVEYOR_DEPLOYMENT is set: docs/adr/0017-worker-deployments.md.
var Queues = []Queue{
	{
		Name: QueueListings, Workflows: []any{
			Listing, Replay, ArchiveStale, ScrapePlatform, ApplyRetention, EraseTenant,
		},
		Pinned: []any{ForgetListing},
		Doc:    "short steps on the database, all of them local activities",
	},
	{
		Name: QueueImages, Activities: true,
		Doc: "images from foreign hosts, one fairness key a host; `conveyor bootstrap` sets a rate limit on the server",
	},
	{Name: QueueEnrich, Activities: true, Doc: "adverts that a language model reads, after they are published"},
	{Name: QueueBrowser, Activities: true, Doc: "pages of rental sites, by Chromium or a plain client"},
	{
		Name: QueueDrafts, Pinned: []any{CrawlDraft}, Activities: true,
		Doc: "requests for product drafts, one fairness key a host: one page each, in a Chromium reached by DevTools",
	},
	{
		Name: QueueCrawl, Workflows: []any{CrawlRun}, Activities: true,
		Doc: "crawls of sites: shards that claim URLs from the frontier, request and read them",
	},
	{
		Name: QueueSearch, Workflows: []any{CompactIndex, ReindexPages, DeletePages}, Pinned: []any{IndexPages},
		Activities: true,
		Doc:        "pages for the search: batches of messages by local activities; merges and re-indexes by regular ones",
	},
	{
		Name: QueueCampaigns, Workflows: []any{ScheduleCampaigns, RunCampaign},
		Doc: "starting campaigns, writing their messages, and their end: all of it local activities",
	},
	{
		Name: QueueDispatch, Workflows: []any{Dispatch}, Activities: true,
		Doc: "messages of tenants: slices of sending, one fairness key a tenant",
	},
	{Name: QueueRetry, Activities: true, Doc: "slices of sending messages that were tried before"},
	{
		Name: QueueUploadJobs, Workflows: []any{ImportContacts}, Activities: true,
		Doc: "files of contacts: what they are, and where their chunks begin",
	},
	{Name: QueueUploadChunks, Activities: true, Doc: "chunks of files of contacts: reading and checking their rows"},
	{Name: QueueImportPersistence, Activities: true, Doc: "storing contacts that were read"},
	{
		Name: QueueNotify, Workflows: []any{Notify}, Activities: true,
		Doc: "notices of saved searches, one workflow a delivery and one fairness key a tenant",
	},
}

// Functions are those of all its workflows.
func (q Queue) Functions() []any { return slices.Concat(q.Workflows, q.Pinned) }

// All has the functions of all workflows, each once.
var All = all()

func all() (functions []any) {
	for _, q := range Queues {
		functions = append(functions, q.Functions()...)
	}
	return functions
}

// do names every activity: local(ctx, do.ImportListing, job). Its pointers stay nil, for Temporal takes only the
// method's name. The names of activities must be unique, and here they are: two promoted methods of one name do not
// compile.
var do struct {
	*activities.Listings
	*activities.Images
	*activities.Enriching
	*activities.Asking
	*activities.Replays
	*activities.Staleness
	*activities.Unfinished
	*activities.Cycles
	*activities.Visits
	*activities.Drafts
	*activities.Retention
	*activities.Forgetting
	*activities.Erasing
	*activities.Crawling
	*activities.Tending
	*activities.Seeding
	*activities.Searching
	*activities.Campaigns
	*activities.Dispatching
	*activities.Imports
	*activities.ImportChunks
	*activities.ImportPersistence
	*activities.Notices
}

// QueueNames returns the names of all task queues, in the order of Queues.
func QueueNames() []string {
	names := make([]string, len(Queues))
	for i, q := range Queues {
		names[i] = q.Name
	}
	return names
}

// Activities returns a nil pointer to each struct whose exported methods are activities: together all the activities
// that workflows can run.
func Activities() (structs []any) {
	for _, field := range reflect.ValueOf(do).Fields() {
		structs = append(structs, field.Interface())
	}
	return structs
}
