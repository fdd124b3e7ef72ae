package config

import (
	"fmt"
	"time"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/domain/search"
)

// Retention says for how many days things are kept that would otherwise grow for ever.
type Retention struct {
	Every time.Duration `env:"CONVEYOR_RETENTION_EVERY" envDefault:"24h" doc:"interval of the deletion of what is older than the CONVEYOR_KEEP_* settings say; applied by conveyor bootstrap" validate:"min=1m"`

	Adverts     int `env:"CONVEYOR_KEEP_ADVERTS" envDefault:"730" doc:"days for which an advert that is no longer seen, and whose listing is archived, is kept with all that was made of it; 7 or more; 0 is for ever" validate:"min=0,max=36500"`
	Images      int `env:"CONVEYOR_KEEP_IMAGES" envDefault:"90" doc:"days for which an archived listing keeps its images; they are downloaded again if it returns; 0 is for ever" validate:"min=0,max=36500"`
	Revisions   int `env:"CONVEYOR_KEEP_REVISIONS" envDefault:"180" doc:"days for which older versions of an advert are kept, and the steps of their way; the newest always is; 0 is for ever" validate:"min=0,max=36500"`
	Events      int `env:"CONVEYOR_KEEP_EVENTS" envDefault:"400" doc:"days of price and status history; 0 is for ever" validate:"min=0,max=36500"`
	DeadLetters int `env:"CONVEYOR_KEEP_DEAD_LETTERS" envDefault:"90" doc:"days for which resolved, discarded and replayed dead letters are kept; open ones always are; 7 or more; 0 is for ever" validate:"min=0,max=36500"`
	Drafts      int `env:"CONVEYOR_KEEP_DRAFTS" envDefault:"180" doc:"days for which product drafts are kept, with their files and requests; 7 or more; 0 is for ever" validate:"min=0,max=36500"`
	Replays     int `env:"CONVEYOR_KEEP_REPLAYS" envDefault:"90" doc:"days for which replays that have ended are kept; 0 is for ever" validate:"min=0,max=36500"`
	Scrapes     int `env:"CONVEYOR_KEEP_SCRAPES" envDefault:"90" doc:"days for which scrape cycles, and adverts that scrapers no longer see, are kept; the last ten cycles always are; 7 or more; 0 is for ever" validate:"min=0,max=36500"`
	Audit       int `env:"CONVEYOR_KEEP_AUDIT" envDefault:"400" doc:"days for which the audit is kept, 90 or more; 0 is for ever" validate:"min=0,max=36500"`
	CrawlRuns   int `env:"CONVEYOR_KEEP_CRAWL_RUNS" envDefault:"30" doc:"days for which crawl runs that have ended are kept, with their URLs, links and stored pages; 0 is for ever" validate:"min=0,max=36500"`
	Messages    int `env:"CONVEYOR_KEEP_MESSAGES" envDefault:"180" doc:"days for which messages are kept, with their attempts, after they were sent or their campaign has ended; campaigns and their counts are kept; 7 or more; 0 is for ever" validate:"min=0,max=36500"`
	Webhooks    int `env:"CONVEYOR_KEEP_WEBHOOKS" envDefault:"14" doc:"days for which webhooks that were applied are kept, without their bodies, so that one that comes again is known; 7 or more; 0 is for ever" validate:"min=0,max=36500"`
	UploadFiles int `env:"CONVEYOR_KEEP_UPLOAD_FILES" envDefault:"30" doc:"days for which a file of contacts is kept after its import, with the rows that were refused; 0 is for ever" validate:"min=0,max=36500"`
	Uploads     int `env:"CONVEYOR_KEEP_UPLOADS" envDefault:"365" doc:"days for which the counts of an import are kept; 7 or more, and CONVEYOR_KEEP_UPLOAD_FILES or more; 0 is for ever" validate:"min=0,max=36500"`
	Notices     int `env:"CONVEYOR_KEEP_NOTICES" envDefault:"90" doc:"days for which matches and deliveries of saved searches are kept, and e-mail addresses and chats that were not confirmed; 7 or more; the last match of each search and listing is kept longer, so that nothing is sent twice; 0 is for ever" validate:"min=0,max=36500"`
	Files       int `env:"CONVEYOR_KEEP_FILES" envDefault:"7" doc:"days after which a file of the blob store that nothing refers to is deleted; 0 is never" validate:"min=0,max=36500"`
}

// Limits are the settings by kind.
func (r Retention) Limits() retention.Limits {
	days := func(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
	return retention.Limits{
		retention.Partitions: time.Second, // of no age: always made
		retention.Adverts:    days(r.Adverts), retention.Images: days(r.Images), retention.Revisions: days(r.Revisions),
		retention.Steps:  days(r.Revisions),
		retention.Events: days(r.Events), retention.DeadLetters: days(r.DeadLetters), retention.Drafts: days(r.Drafts),
		retention.DraftRequests: days(r.Drafts), retention.DraftSecrets: draft.KeepSecrets,
		retention.Replays: days(r.Replays), retention.Cycles: days(r.Scrapes),
		retention.Seen: days(r.Scrapes), retention.Audit: days(r.Audit), retention.CrawlRuns: days(r.CrawlRuns),
		retention.Unreported: campaign.ReportedWithin, retention.Messages: days(r.Messages),
		retention.Transactional: days(r.Messages), retention.Webhooks: days(r.Webhooks),
		retention.UploadFiles: days(r.UploadFiles), retention.Uploads: days(r.Uploads), retention.Lists: retention.ListsWait,
		retention.Notices: days(r.Notices), retention.News: days(r.Notices), retention.Unconfirmed: days(r.Notices),
		retention.Searches: time.Second, // at once: nobody sees them
		retention.Deleted:  days(r.Notices), retention.Removals: r.removals(),
		retention.Unused: days(r.Files), retention.Files: max(days(r.Files), days(r.UploadFiles)), // 0 = nothing is marked
	}
}

// removals is for how long it is known that a page was removed from the search: also for as long as a run from before
// may be kept, whose validators would bring a 304 in place of the page.
func (r Retention) removals() time.Duration {
	if r.CrawlRuns == 0 {
		return 0
	}
	return max(search.KeepRemovals, time.Duration(r.CrawlRuns)*24*time.Hour+2*retention.CrawlRunsWait)
}

// check refuses limits under which something would be deleted that still keeps a repeated message from counting twice.
func (r Retention) check(Config) (wrong []string) {
	for _, v := range []struct {
		name      string
		have, low int
		why       string
	}{
		{"CONVEYOR_KEEP_ADVERTS", r.Adverts, 7, "a scraper that was stopped for a week would lose what it knows"},
		{"CONVEYOR_KEEP_DEAD_LETTERS", r.DeadLetters, 7, "a message that dies again is found by its first death"},
		{"CONVEYOR_KEEP_DRAFTS", r.Drafts, 7, "a request that is sent again is found by its first"},
		{"CONVEYOR_KEEP_SCRAPES", r.Scrapes, 7, "a scraper that was stopped for a week would lose what it knows"},
		{"CONVEYOR_KEEP_MESSAGES", r.Messages, 7, "webhooks report on a message for so long"},
		{"CONVEYOR_KEEP_WEBHOOKS", r.Webhooks, 7, "a webhook may come again for so long"},
		{"CONVEYOR_KEEP_NOTICES", r.Notices, 7, "a person may take days to confirm an address"},
		{"CONVEYOR_KEEP_UPLOADS", r.Uploads, 7, "a request that is sent again is found by its first"},
		{"CONVEYOR_KEEP_AUDIT", r.Audit, 90, "the database deletes nothing younger from it"},
	} {
		if v.have > 0 && v.have < v.low {
			wrong = append(wrong, fmt.Sprintf("%s is %d, expected 0, or %d or more: %s", v.name, v.have, v.low, v.why))
		}
	}
	if r.Uploads > 0 && (r.UploadFiles == 0 || r.UploadFiles > r.Uploads) {
		wrong = append(wrong, fmt.Sprintf("CONVEYOR_KEEP_UPLOADS is %d, expected 0, or CONVEYOR_KEEP_UPLOAD_FILES (%d) or more",
			r.Uploads, r.UploadFiles))
	}
	return wrong
}
