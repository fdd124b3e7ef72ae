package activities

import (
	"context"
	"fmt"
	"strings"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/sitemap"
	"github.com/mtlrent/conveyor/domain/web"
)

// Seeding is the activity that starts a run from the sitemaps of its site, besides its seed.
type Seeding struct {
	Store  CrawlSeedStore
	Web    CrawlWeb
	Robots CrawlRobots
}

// CrawlSeedStore adds URLs that a run begins with. Adding one twice is adding it once.
type CrawlSeedStore interface {
	Run(ctx context.Context, id int64) (crawl.Run, error)
	Seed(ctx context.Context, run int64, links []crawl.Link) error
}

// What is read of sitemaps at most.
const (
	sitemapsMost = 100 // files
	seedsAtOnce  = 1000
)

// CrawlSeeds is what sitemaps have brought.
type CrawlSeeds struct {
	Sitemaps int    `json:"sitemaps"` // files that were read
	URLs     int    `json:"urls"`     // in scope
	Note     string `json:"note,omitempty"`
}

// SeedCrawl reads the sitemaps that robots.txt names, or /sitemap.xml, and adds their URLs to the run. A sitemap that
// cannot be read is left out: the run has its seed. It does nothing for a run that does not want sitemaps, and may be
// repeated.
func (a *Seeding) SeedCrawl(ctx context.Context, job CrawlShardJob) (out CrawlSeeds, err error) {
	run, err := a.Store.Run(ctx, job.RunID)
	if err != nil || !run.Settings.UseSitemaps || crawl.Ended(run.Status) {
		return out, err
	}
	root, err := web.Canonical(run.RootURL)
	if err != nil {
		return out, err
	}
	scope := crawl.ScopeOf(root, run.Settings.ScopeMode, run.AllowedHosts)
	at := strings.TrimSuffix(root.URL, root.Path)
	files := []string{at + "/sitemap.xml"}
	if rules, err := a.Robots.Rules(ctx, at); err == nil && len(rules.Sitemaps()) > 0 {
		files = rules.Sitemaps()
	}
	seen, most := map[string]bool{}, run.Settings.MaxPages
	var links []crawl.Link
	for len(files) > 0 && out.Sitemaps < sitemapsMost && out.URLs < most {
		file := files[0]
		files = files[1:]
		if seen[file] {
			continue
		}
		seen[file] = true
		s, err := a.sitemap(ctx, run, file)
		if ctx.Err() != nil {
			return out, stopped(ctx, err)
		}
		if err != nil {
			out.Note = cut(fmt.Sprintf("%s: %v", web.Show(file), err), 300)
			continue
		}
		out.Sitemaps++
		files = append(files, s.Sitemaps...)
		for _, address := range s.URLs {
			u, err := web.Canonical(address)
			if err != nil || !scope.Has(u) || seen[u.URL] || !run.Settings.IncludeDocuments && crawl.IsDocument(u.Path) {
				continue
			}
			seen[u.URL] = true
			if links = append(links, crawl.Link{URL: u.URL, Host: u.Host}); len(links) == seedsAtOnce {
				if err := a.Store.Seed(ctx, run.ID, links); err != nil {
					return out, err
				}
				links = links[:0]
			}
			if out.URLs++; out.URLs == most {
				break
			}
		}
	}
	if len(links) > 0 {
		err = a.Store.Seed(ctx, run.ID, links)
	}
	return out, err
}

// sitemap reads one file. Its redirects are followed, a few.
func (a *Seeding) sitemap(ctx context.Context, run crawl.Run, address string) (sitemap.Sitemap, error) {
	for range 5 {
		within, cancel := context.WithTimeout(ctx, 4*run.Settings.Timeout())
		e, err := a.Web.Ask(within, web.Request{URL: address, Most: sitemap.MaxSize})
		cancel()
		switch {
		case err != nil:
			return sitemap.Sitemap{}, err
		case e.RedirectTo != "":
			address = e.RedirectTo
			continue
		case e.Status != 200:
			return sitemap.Sitemap{}, fault.Newf(fault.Gone, "status %d", e.Status)
		}
		return sitemap.Parse(e.Raw, address)
	}
	return sitemap.Sitemap{}, fault.Newf(fault.Invalid, "too many redirects")
}
