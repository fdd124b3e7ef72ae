package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Several values of a filter are any of them, with commas between them or given one by one; an unknown one is refused.
func TestFiltersTakeSeveralValues(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for i, platform := range []string{"kijiji", "kangalou", "rentals"} {
		d.Publish(t, listing.Listing{Ref: listing.Ref{Platform: platform, PlatformID: "1"}, RentCents: 90_000}, "", apitest.Now)
		d.Bury(t, platform, i, func(l *db.DeadLetter) {
			l.Route, l.Class = listing.StageRoute(listing.StageNormalize, platform), []string{"gone", "invalid", "blocked"}[i]
		})
	}
	listings := func(query string) (platforms []string) {
		for _, l := range apitest.Read[apilistings.ListingPage](t, d.Get(t, "/listings?"+query), 200).Items {
			platforms = append(platforms, l.Platform)
		}
		slices.Sort(platforms)
		return platforms
	}
	letters := func(path string) (classes []string) {
		for _, l := range apitest.Read[api.LetterPage](t, d.Get(t, path), 200).Items {
			classes = append(classes, l.Class)
		}
		slices.Sort(classes)
		return classes
	}
	two := []string{"kangalou", "kijiji"}
	require.Equal(t, two, listings("platform=kijiji,kangalou"))
	require.Equal(t, two, listings("platform=kijiji&platform=kangalou&platform=kijiji"))
	require.Equal(t, []string{"rentals"}, listings("platform=rentals"))
	_, err := d.Pool.Exec(t.Context(), "UPDATE listings SET status = CASE platform WHEN 'kijiji' THEN 'archived' ELSE 'claimed' END"+
		" WHERE platform <> 'rentals'")
	require.NoError(t, err)
	require.Equal(t, []string{"rentals"}, listings(""))
	require.Equal(t, two, listings("status=archived,claimed"))
	require.Equal(t, []string{"kijiji", "rentals"}, listings("status=active&status=archived"))
	for _, all := range []string{"any", "archived,any"} {
		require.Len(t, listings("status="+all), 3, all)
	}
	for _, usual := range []string{"", ",", ",,", ",&status="} {
		require.Equal(t, []string{"rentals"}, listings("status="+usual), "what is active, as without the filter: %q", usual)
	}
	for _, none := range []string{"", ",", ",,", ",&platform=,"} {
		require.Len(t, listings("status=any&platform="+none), 3)
		require.Len(t, letters("/dead-letters?platform="+none), 3)
	}
	dbtest.CrawlSite(t, d.Pool)
	require.NotEmpty(t, apitest.Read[apicrawl.CrawlRunPage](t, d.Get(t, "/crawl-runs?state=,"), 200).Items)
	require.Equal(t, []string{"gone", "invalid"}, letters("/dead-letters?platform=kijiji,kangalou"))
	require.Equal(t, []string{"blocked", "gone"}, letters("/dead-letters?class=gone&class=blocked"))
	queue := func(platform string) string { return listing.StageRoute(listing.StageNormalize, platform).Queue }
	require.Equal(t, []string{"blocked", "invalid"},
		letters("/dead-letters?queue="+queue("kangalou")+","+queue("rentals")))
	letter := apitest.Read[api.LetterPage](t, d.Get(t, "/dead-letters?class=blocked"), 200).Items[0].ID
	require.Equal(t, 204, d.Ask(t, "DELETE", fmt.Sprint("/dead-letters/", letter), "").Status)
	require.Equal(t, []string{"gone", "invalid"}, letters("/dead-letters"))
	require.Equal(t, []string{"gone", "invalid"}, letters("/dead-letters?state=,"))
	require.Equal(t, []string{"blocked", "gone", "invalid"}, letters("/dead-letters?state=open,discarded"))
	require.Equal(t, []string{"blocked"}, letters("/dead-letters?state=replayed&state=discarded"))
	require.Len(t, apitest.Read[api.LetterGroups](t, d.Get(t, "/dead-letters/groups?state=any"), 200).Items, 3)
	require.Len(t, apitest.Read[api.LetterGroups](t, d.Get(t, "/dead-letters/groups?class=gone,invalid"), 200).Items, 2)
	done := apitest.Read[api.LettersReplayed](t, d.Ask(t, "POST", "/dead-letters/replay", `{"platform":"kijiji,rentals"}`), 200)
	require.Equal(t, 1, done.Matched)
	const many = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u"
	var queues []string // twenty, whose names are much longer together than one may be
	for i := range 20 {
		queues = append(queues, fmt.Sprint(strings.Repeat("q", 200), i))
	}
	long := strings.Join(queues, ",")
	require.Equal(t, 200, d.Get(t, "/dead-letters?queue="+long+"&class="+long).Status)
	require.Equal(t, 200, d.Get(t, "/dead-letters/groups?queue="+long).Status)
	require.Equal(t, 200, d.Get(t, "/audit?actor="+long+"&action="+long).Status)
	for _, path := range []string{"/dead-letters/replay", "/dead-letters/discard"} {
		require.Equal(t, 200, d.Ask(t, "POST", path, `{"queue":"`+long+`"}`).Status)
		for _, wrong := range []string{many, strings.Repeat("q", 401), `\u0000`} {
			require.Equal(t, []string{"body.queue"}, apitest.Refused(t, d.Ask(t, "POST", path, `{"queue":"`+wrong+`"}`), 422).Fields())
		}
	}

	for path, field := range map[string]string{
		"/listings?platform=kijiji,A":                      "query.platform",
		"/listings?platform=kijiji&platform=A":             "query.platform",
		"/listings?neighbourhood=x,Y":                      "query.neighbourhood",
		"/listings?status=active&status=x":                 "query.status",
		"/listings?min_price=1&min_price=2":                "query.min_price", // one at a time
		"/adverts?status=rejected,any":                     "query.status",
		"/dead-letters?state=open,x":                       "query.state",
		"/dead-letters/groups?state=open,x":                "query.state",
		"/dead-letters?queue=%00":                          "query.queue",
		"/audit?actor=a&actor=" + strings.Repeat("a", 401): "query.actor",
		"/drafts?outcome=failed,x":                         "query.outcome",
		"/drafts?currency=EUR,eur":                         "query.currency",
		"/drafts?brand=%ff":                                "query.brand",
		"/drafts?" + strings.Repeat("&brand=a,b", 21):      "query.brand",
		"/duplicates?kind=repost,x":                        "query.kind",
		"/adverts?reason=missing,%23":                      "query.reason",
		"/adverts/reasons?platform=A":                      "query.platform",
		"/replays?state=running,x":                         "query.state",
		"/crawl-runs?state=RUNNING&state=x":                "query.state",
		"/crawl-requests?state=dead,x":                     "query.state",
		"/dead-letters?platform=A":                         "query.platform",
		"/listings?platform=" + strings.Repeat("a,", 3):    "",
	} {
		if field == "" {
			require.Empty(t, apitest.Read[apilistings.ListingPage](t, d.Get(t, path), 200).Items, path)
			continue
		}
		require.Equal(t, []string{field}, apitest.Refused(t, d.Get(t, path), 422).Fields(), path)
	}
	require.Equal(t, []string{"query.min_price", "query.max_price", "query.min_area", "query.text"}, apitest.Refused(t,
		d.Get(t, "/listings?text=a&text=b&min_price=1&min_price=2&max_price=3&max_price=4&min_area=1&min_area=2"), 422).Fields())
	for _, path := range []string{"/replays?state=running,completed", "/crawl-runs?state=RUNNING&state=PAUSED",
		"/crawl-requests?state=dead,failed", "/replays?state=any,running", "/adverts?reason=missing,%20low&platform=kijiji"} {
		require.Equal(t, 200, d.Get(t, path).Status, path)
	}
}
