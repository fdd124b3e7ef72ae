package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Several values of a filter are any of them, with commas between them or given one by one; an unknown one is refused.
func TestFiltersTakeSeveralValues(t *testing.T) {
	t.Parallel()
	d := open(t)
	for i, platform := range []string{"kijiji", "kangalou", "rentals"} {
		d.publish(t, listing.Listing{Ref: listing.Ref{Platform: platform, PlatformID: "1"}, RentCents: 90_000}, "", now)
		d.bury(t, platform, i, func(l *db.DeadLetter) {
			l.Route, l.Class = listing.StageRoute(listing.StageNormalize, platform), []string{"gone", "invalid", "blocked"}[i]
		})
	}
	listings := func(query string) (platforms []string) {
		for _, l := range read[api.ListingPage](t, d.get(t, "/listings?"+query), 200).Items {
			platforms = append(platforms, l.Platform)
		}
		slices.Sort(platforms)
		return platforms
	}
	letters := func(path string) (classes []string) {
		for _, l := range read[api.LetterPage](t, d.get(t, path), 200).Items {
			classes = append(classes, l.Class)
		}
		slices.Sort(classes)
		return classes
	}
	two := []string{"kangalou", "kijiji"}
	require.Equal(t, two, listings("platform=kijiji,kangalou"))
	require.Equal(t, two, listings("platform=kijiji&platform=kangalou&platform=kijiji"))
	require.Equal(t, []string{"rentals"}, listings("platform=rentals"))
	for _, none := range []string{"", ",", ",,", ",&platform=,"} {
		require.Len(t, listings("platform="+none), 3)
		require.Len(t, letters("/dead-letters?platform="+none), 3)
	}
	dbtest.CrawlSite(t, d.pool)
	require.NotEmpty(t, read[api.CrawlRunPage](t, d.get(t, "/crawl-runs?state=,"), 200).Items)
	require.Equal(t, []string{"gone", "invalid"}, letters("/dead-letters?platform=kijiji,kangalou"))
	require.Equal(t, []string{"blocked", "gone"}, letters("/dead-letters?class=gone&class=blocked"))
	queue := func(platform string) string { return listing.StageRoute(listing.StageNormalize, platform).Queue }
	require.Equal(t, []string{"blocked", "invalid"},
		letters("/dead-letters?queue="+queue("kangalou")+","+queue("rentals")))
	require.Len(t, read[api.LetterGroups](t, d.get(t, "/dead-letters/groups?class=gone,invalid"), 200).Items, 2)
	done := read[api.LettersReplayed](t, d.ask(t, "POST", "/dead-letters/replay", `{"platform":"kijiji,rentals"}`), 200)
	require.Equal(t, 2, done.Matched)

	for path, field := range map[string]string{
		"/listings?platform=kijiji,A":                   "query.platform",
		"/listings?platform=kijiji&platform=A":          "query.platform",
		"/listings?neighbourhood=x,Y":                   "query.neighbourhood",
		"/listings?status=active&status=archived":       "query.status", // one at a time
		"/adverts?reason=missing,%20":                   "query.reason",
		"/adverts/reasons?platform=A":                   "query.platform",
		"/replays?state=running,x":                      "query.state",
		"/crawl-runs?state=RUNNING&state=x":             "query.state",
		"/crawl-requests?state=dead,x":                  "query.state",
		"/dead-letters?platform=A":                      "query.platform",
		"/listings?platform=" + strings.Repeat("a,", 3): "",
	} {
		if field == "" {
			require.Empty(t, read[api.ListingPage](t, d.get(t, path), 200).Items, path)
			continue
		}
		require.Equal(t, []string{field}, refused(t, d.get(t, path), 422).fields(), path)
	}
	for _, path := range []string{"/replays?state=running,completed", "/crawl-runs?state=RUNNING&state=PAUSED",
		"/crawl-requests?state=dead,failed", "/replays?state=any,running", "/adverts?reason=missing,low&platform=kijiji"} {
		require.Equal(t, 200, d.get(t, path).Status, path)
	}
}
