package activities_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// The www. twin of the seed's host belongs to the run, with URLs of its own, and no other host does.
func TestCrawlWWW(t *testing.T) {
	t.Parallel()

	const origin, twin = "https://a.example", "https://www.a.example"
	site := crawlsite.WWW.Site(origin, twin)
	c := newCrawled(t)
	c.answer = func(r web.Request) (web.Exchange, error) {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, r.URL, nil))
		e := html(r, rec.Body.String())
		e.Status = rec.Code
		return e, nil
	}
	c.work()
	got := map[string]crawlsite.Want{}
	for url, results := range c.results {
		require.Len(t, results, 1, url)
		got[url] = crawlsite.Want{Depth: results[0].Depth, State: results[0].State, Status: results[0].HTTPStatus}
	}
	require.Equal(t, crawlsite.WWW.Expected(origin, twin), got)
}
