package crawl

import (
	"testing"
	"time"

	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/internal/rowtest"
)

func TestRowsAreShownWhole(t *testing.T) {
	t.Parallel()
	rowtest.Whole(t, showCrawlURL(rowtest.Filled[dbcrawl.CrawlURL](t)))
	rowtest.Whole(t, showCrawlPage(rowtest.Filled[dbcrawl.CrawlPage](t)))
	rowtest.Whole(t, showCrawlBrokenLink(rowtest.Filled[dbcrawl.CrawlBrokenLink](t)))
	rowtest.Whole(t, showCrawlDifference(rowtest.Filled[dbcrawl.CrawlDifference](t)))
	rowtest.Whole(t, showCrawlRate(rowtest.Filled[dbcrawl.CrawlRate](t), time.Second))
}
