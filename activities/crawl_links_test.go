package activities_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// farm is a frontier that keeps no links of its pages, and notes how many it is given at once.
type farm struct {
	*crawled
	most, big int // links in a transaction, and bytes of the links of a page
	held      int // URLs that were leased at once, once most of the pages were known
}

func (f *farm) Claim(ctx context.Context, t crawl.Take) ([]crawl.Claim, string, error) {
	claims, status, err := f.crawled.Claim(ctx, t)
	if len(f.results) > 140 {
		f.held = max(f.held, f.leased)
	}
	return claims, status, err
}

func (f *farm) Record(ctx context.Context, run int64, worker string, results []crawl.Result) error {
	links := 0
	results = slices.Clone(results)
	for i, r := range results {
		size := 0
		for _, l := range r.Links {
			size += len(l.URL)
		}
		f.big = max(f.big, size)
		if links += len(r.Links); len(r.Links) > 1000 {
			results[i].Links = nil
		}
	}
	f.most = max(f.most, links)
	return f.crawled.Record(ctx, run, worker, results)
}

// A site all of whose pages have as many links as are taken, each as long as an address may be, takes some megabytes of
// memory, not gigabytes, and a transaction has no more links than Postgres can take in time.
func TestCrawlOfALinkFarm(t *testing.T) {
	t.Parallel()
	c := newCrawled(t)
	f := &farm{crawled: c}
	c.answer = func(r web.Request) (web.Exchange, error) {
		var b strings.Builder
		switch {
		case r.URL == "https://a.example/":
			for i := range 170 {
				fmt.Fprintf(&b, `<a href="/%d">`, i)
			}
		case strings.HasSuffix(r.URL, "0"):
			fmt.Fprintf(&b, "<base href='/%s/'>", strings.Repeat("x", web.MaxAddress-100))
			fallthrough
		default:
			for i := range 20_000 {
				fmt.Fprintf(&b, "<a href=%d>", i)
			}
		}
		return html(r, b.String()), nil
	}
	c.frontier = f
	require.Len(t, c.work(), 171)
	require.LessOrEqual(t, f.most, 70_000, "links in a transaction")
	require.LessOrEqual(t, f.big, 4<<20, "bytes of a page's links")
	require.LessOrEqual(t, f.held, 8, "pages that are held")
}

// slow is a frontier that stores results only when nothing else can go on, and notes how many were waiting.
type slow struct {
	*crawled
	most int
}

func (s *slow) Record(ctx context.Context, run int64, worker string, results []crawl.Result) error {
	synctest.Wait()
	s.mu.Lock()
	s.most = max(s.most, len(s.asked)-len(s.results))
	s.mu.Unlock()
	return s.crawled.Record(ctx, run, worker, results)
}

// A shard may hold 128 URLs of a host that it does not know yet. Where Postgres is slow, and each page has a megabyte of
// text, no more pages are read than 64 MiB of results and those in hand.
func TestCrawlOfHeavyPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrawled(t)
		s := &slow{crawled: c}
		c.frontier = s
		var home strings.Builder
		for i := range 200 {
			fmt.Fprintf(&home, `<a href="/%d">`, i)
		}
		text := strings.Repeat("word ", 200_000)
		c.answer = func(r web.Request) (web.Exchange, error) {
			if r.URL == "https://a.example/" {
				return html(r, home.String()), nil
			}
			return html(r, text), nil
		}
		require.Len(t, c.work(), 201)
		require.LessOrEqual(t, s.most, 64<<20/len(text)+cap(c.slots.Jobs), "pages that were read and not stored")
	})
}
