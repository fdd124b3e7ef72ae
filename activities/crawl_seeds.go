package activities

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/sitemap"
	"github.com/mtlrent/conveyor/domain/web"
)

// Seeding is the activity that starts a run from the sitemaps of its site, besides its seed.
type Seeding struct {
	Store  CrawlSeedStore
	Web    CrawlWeb
	Hosts  CrawlHosts
	Robots CrawlRobots
	Slots  CrawlSlots // whose Sitemaps are taken
	Agent  string     // name in robots.txt
}

// CrawlSeedStore adds URLs that a run begins with. Adding one twice is adding it once.
type CrawlSeedStore interface {
	Run(ctx context.Context, id int64) (crawl.Run, error)
	Seed(ctx context.Context, run int64, links []crawl.Link) error
	// Note keeps what an operator should know of the run.
	Note(ctx context.Context, run int64, note string) error
}

// What is read of sitemaps at most.
const (
	sitemapsMost = 1000 // files that are asked for, those that cannot be read included
	seedsAtOnce  = 1000
	// sitemapsWithin is how long reading them may take: a slow site, or one that asks for long pauses, gives fewer.
	sitemapsWithin = 8 * time.Minute
	// hostPatience is the longest pause of a host after which it is asked for a sitemap nevertheless.
	hostPatience = time.Minute
)

// CrawlSeeds is what sitemaps have brought.
type CrawlSeeds struct {
	Sitemaps int    `json:"sitemaps"` // files that were read
	URLs     int    `json:"urls"`     // in scope
	Note     string `json:"note,omitempty"`
}

// SeedCrawl reads the sitemaps that robots.txt names, or /sitemap.xml, and adds their URLs to the run. A sitemap that
// cannot be read is left out: the run has its seed. Each is requested in its host's turn, as pages are, and none of a
// host that has answered 429 or 503. It does nothing for a run that does not want sitemaps, has begun or has ended:
// URLs that are retried are no reason to look for new ones. It is fault.Limited for one that is paused, and may be
// repeated.
func (a *Seeding) SeedCrawl(ctx context.Context, job CrawlShardJob) (out CrawlSeeds, err error) {
	run, err := a.Store.Run(ctx, job.RunID)
	if err != nil || !run.Settings.UseSitemaps || run.Begun {
		return out, err
	}
	if err := goesOn(run.Status); err != nil {
		return out, halted(err)
	}
	root, err := web.Canonical(run.RootURL)
	if err != nil {
		return out, err
	}
	scope := crawl.ScopeOf(root, run.Settings.ScopeMode, run.AllowedHosts)
	within, cancel := context.WithTimeout(ctx, sitemapsWithin)
	defer cancel()
	visit := newSitemaps(a, run, scope)
	at := strings.TrimSuffix(root.URL, root.Path)
	files := []string{at + "/sitemap.xml"}
	rules, err := a.Robots.Rules(ctx, at)
	if class, after := fault.Of(err); class == fault.Limited && after <= hostPatience { // it may name some, later
		return out, err
	}
	if err == nil && len(rules.Sitemaps()) > 0 {
		files = addresses(at+"/robots.txt", rules.Sitemaps())
	}
	visit.name(files)
	most := run.Settings.MaxPages
	round := "" // a file that leads to another one of those that are named
	for len(visit.waiting) > 0 && out.URLs < most {
		file := visit.waiting[0]
		visit.waiting = visit.waiting[1:]
		s, err := visit.read(within, file)
		if ctx.Err() != nil {
			return out, stopped(ctx, err)
		}
		if within.Err() != nil {
			out.Note = fmt.Sprintf("reading the sitemaps took longer than %s: %d were read, and the rest left out", sitemapsWithin,
				out.Sitemaps)
			break
		}
		if visit.halt != nil {
			return out, halted(visit.halt)
		}
		switch {
		case errors.Is(err, errNamed):
			round = file
			continue
		case err != nil:
			out.Note = cut(fmt.Sprintf("%s: %v", web.Show(file), err), 300)
			continue
		}
		out.Sitemaps++
		visit.name(s.Sitemaps)
		if err := visit.keep(ctx, s.URLs, &out.URLs); err != nil {
			return out, err
		}
	}
	if round != "" && out.Sitemaps == 0 && out.Note == "" { // then they lead to one another
		out.Note = cut(fmt.Sprintf("%s: %v", web.Show(round), errLoop), 300)
	}
	if visit.left && out.URLs < most {
		left := fmt.Sprintf("more than %d sitemaps are named, and the rest left out", sitemapsMost)
		out.Note = cut(strings.TrimSuffix(left+"; "+out.Note, "; "), 300)
	}
	if len(visit.links) > 0 {
		err = visit.store(ctx)
	}
	if err == nil && out.Note != "" {
		err = a.Store.Note(ctx, run.ID, out.Note)
	}
	return out, err
}

var errRunEnded = errors.New("the run has ended")

// goesOn returns fault.Limited while a run is paused, and errRunEnded when it has ended.
func goesOn(status string) error {
	switch {
	case crawl.Ended(status):
		return errRunEnded
	case status == crawl.Paused:
		return fault.Newf(fault.Limited, "the run is paused")
	}
	return nil
}

// halted is the error of reading sitemaps that was given up: a run that has ended needs none.
func halted(err error) error {
	if errors.Is(err, errRunEnded) {
		return nil
	}
	return err
}

// A CrawlNote is what an operator should know of a run.
type CrawlNote struct {
	RunID int64  `json:"run_id"`
	Note  string `json:"note"`
}

// NoteCrawl keeps a note with a run, in place of the one before.
func (a *Seeding) NoteCrawl(ctx context.Context, n CrawlNote) (struct{}, error) {
	return struct{}{}, a.Store.Note(ctx, n.RunID, n.Note)
}

// sitemaps are those of one run.
type sitemaps struct {
	*Seeding
	run      crawl.Run
	scope    crawl.Scope
	refusing map[string]bool // hosts that have had enough
	halt     error           // why nothing more is asked for: the run does not go on, or cannot be read

	named   map[string]bool       // files that were asked for or wait, sitemapsMost at most
	waiting []string              // files
	led     map[string]bool       // files that others led to by a redirect
	left    bool                  // more files are named
	pages   map[[16]byte]struct{} // digests of addresses: a run may have millions of long ones
	links   []crawl.Link          // pages that are not stored yet
	held    bool                  // a slot
}

// release gives back the slot of the file that was asked for last.
func (s *sitemaps) release() {
	if s.held {
		s.held = false
		<-s.Slots.Sitemaps
	}
}

func newSitemaps(a *Seeding, run crawl.Run, scope crawl.Scope) *sitemaps {
	return &sitemaps{
		Seeding: a, run: run, scope: scope, refusing: map[string]bool{}, named: map[string]bool{},
		led: map[string]bool{}, pages: map[[16]byte]struct{}{},
	}
}

// name lets files wait that are named for the first time, and keeps none that will not be asked for.
func (s *sitemaps) name(files []string) {
	for _, file := range files {
		switch {
		case s.named[file], s.led[file]:
		case len(s.named) == sitemapsMost:
			s.left = true
			return
		default:
			s.named[file] = true
			s.waiting = append(s.waiting, file)
		}
	}
}

// first says whether a page is named for the first time, and is no sitemap.
func (s *sitemaps) first(page string) bool {
	sum := sha256.Sum256([]byte(page))
	key := [16]byte(sum[:16])
	if _, ok := s.pages[key]; ok || s.named[page] {
		return false
	}
	s.pages[key] = struct{}{}
	return true
}

// keep takes the pages in scope that are named for the first time, up to the most of the run, and counts them.
func (s *sitemaps) keep(ctx context.Context, pages []string, count *int) error {
	for _, address := range pages {
		if *count == s.run.Settings.MaxPages {
			break
		}
		u, err := web.Canonical(address)
		if err != nil || !s.scope.Has(u) || !s.run.Settings.IncludeDocuments && crawl.IsDocument(u.Path) || !s.first(u.URL) {
			continue
		}
		if s.links = append(s.links, crawl.Link{URL: u.URL, Host: u.Host}); len(s.links) == seedsAtOnce {
			if err := s.store(ctx); err != nil {
				return err
			}
		}
		*count++
	}
	return nil
}

// store adds the pages that were kept to the run.
func (s *sitemaps) store(ctx context.Context) error {
	err := s.Store.Seed(ctx, s.run.ID, s.links)
	s.links = s.links[:0]
	return err
}

// addresses are canonical: those that the file at says, some of which are relative to it. What is none stays as it is.
func addresses(at string, said []string) []string {
	base, err := web.NewBase(at)
	if err != nil {
		return said
	}
	out := make([]string, len(said))
	for i, address := range said {
		out[i] = address
		if a, ok := base.Resolve(address); ok {
			out[i] = a.URL
		}
	}
	return out
}

var (
	errNamed = errors.New("it leads to a sitemap that is named as well")
	errLoop  = fault.Newf(fault.Invalid, "redirects in a loop")
)

// read reads one file. Its redirects are followed, a few. It is errNamed for one that leads to a file which was asked
// for, or waits.
func (s *sitemaps) read(ctx context.Context, address string) (sitemap.Sitemap, error) {
	way := map[string]bool{}
	defer s.release()
	for range 5 {
		way[address] = true
		e, err := s.ask(ctx, address)
		switch {
		case err != nil:
			return sitemap.Sitemap{}, err
		case way[e.RedirectTo]:
			return sitemap.Sitemap{}, errLoop
		case s.named[e.RedirectTo], s.led[e.RedirectTo]:
			return sitemap.Sitemap{}, errNamed
		case e.RedirectTo != "":
			if _, err := web.Canonical(e.RedirectTo); err != nil { // what a site wrote, however long
				return sitemap.Sitemap{}, err
			}
			address = e.RedirectTo
			s.led[address] = true
			continue
		case e.Status != 200:
			return sitemap.Sitemap{}, fault.Newf(fault.Gone, "status %d", e.Status)
		}
		return sitemap.Parse(e.Raw, address)
	}
	return sitemap.Sitemap{}, fault.Newf(fault.Invalid, "too many redirects")
}

// ask makes one request, in its host's turn: a wait that is not too long is waited for, and so is a network of ours
// that is away. The state of the run is read before each request and after each wait: an operator may have changed it.
func (s *sitemaps) ask(ctx context.Context, address string) (web.Exchange, error) {
	for {
		run, err := s.Store.Run(ctx, s.run.ID)
		if err == nil {
			err = goesOn(run.Status)
		}
		if s.halt = err; err != nil {
			return web.Exchange{}, err
		}
		e, err := s.askOnce(ctx, address)
		class, after := fault.Of(err)
		if class != fault.Limited || after > hostPatience {
			return e, err
		}
		s.release()
		if err := pause(ctx, max(after, time.Second)); err != nil {
			return e, err
		}
	}
}

// askOnce asks a host outside of the scope only what its own robots.txt allows.
func (s *sitemaps) askOnce(ctx context.Context, address string) (e web.Exchange, err error) {
	u, err := web.Canonical(address)
	if err != nil {
		return e, err
	}
	if s.refusing[u.Host] {
		return e, fault.Newf(fault.Blocked, "its host refuses requests")
	}
	rules, err := s.Robots.Rules(ctx, strings.TrimSuffix(u.URL, u.Path))
	switch class, after := fault.Of(err); {
	case err != nil && (s.run.Settings.RespectRobots || class == fault.Limited && after <= hostPatience):
		return e, fmt.Errorf("read robots.txt: %w", err)
	case !s.scope.Has(u) && !rules.Allowed(s.Agent, u.Path):
		return e, errDisallowed
	}
	s.release()
	leave, err := enter(ctx, s.Slots.Sitemaps, s.Hosts, u.Host, rules.CrawlDelay(s.Agent))
	if err != nil {
		return e, err
	}
	s.held = true
	within, cancel := context.WithTimeout(ctx, 4*s.run.Settings.Timeout())
	defer cancel()
	e, err = s.Web.Ask(within, web.Request{URL: address, Most: sitemap.MaxSize + 1})
	if ctx.Err() != nil {
		leave(crawl.Unasked)
		return e, ctx.Err()
	}
	leave(crawl.Judge(e.Status, e.RetryAfter, err))
	s.refusing[u.Host] = s.refusing[u.Host] || e.Status == 429 || e.Status == 503
	return e, err
}
