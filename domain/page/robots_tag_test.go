package page_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/page"
)

func TestCanonicalAsWritten(t *testing.T) {
	t.Parallel()
	for markup, want := range map[string]string{
		`<link rel="Canonical nofollow" href="/c">`: "/c", `<link rel="alternate  canonical" href=" /c ">`: "/c",
		`<link rel=canonical href=" "><link rel=canonical href="/d">`: "/d", `<link rel="canonicals" href="/c">`: "",
	} {
		require.Equal(t, want, page.Canonical([]byte(markup)), markup)
	}
}

func TestLinksOfPictures(t *testing.T) {
	t.Parallel()
	links := page.Read([]byte(`<svg><a xlink:href="/a"><text>x</text></a><a href="/b" xlink:href="/c"/></svg><a xlink:href="/d">y</a>
		<meta name=robots content="noindex;nofollow">`), page.ReadOptions{})
	require.Equal(t, []page.Link{{Href: "/a"}, {Href: "/b"}}, links.Links)
	require.True(t, links.NoIndex && links.NoFollow)
}

func TestRobotsTag(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values           []string
		noIndex, noFollw bool
	}{
		{nil, false, false}, {[]string{"all"}, false, false}, {[]string{"noindex"}, true, false}, {[]string{"None"}, true, true},
		{[]string{"noarchive, NOINDEX ,nofollow"}, true, true}, {[]string{"noindex", "nofollow"}, true, true},
		{[]string{"otherbot: noindex"}, false, false}, {[]string{"otherbot: noindex, nofollow"}, false, false},
		{[]string{"ourbot: noindex"}, true, false}, {[]string{"OurBot: noindex, nofollow"}, true, true},
		{[]string{"otherbot: noindex, ourbot: nofollow"}, false, true}, {[]string{"nofollow, otherbot: noindex"}, false, true},
		{[]string{"otherbot: noindex", "nofollow"}, false, true}, {[]string{"*: noindex"}, true, false},
		{[]string{"max-snippet: 20, noindex"}, true, false}, {[]string{"max-image-preview:large"}, false, false},
		{[]string{"unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, nofollow"}, false, true},
		{[]string{"MJ12bot: nofollow, noindex"}, false, false}, {[]string{"Mail.RU_Bot: noindex, nofollow"}, false, false},
		{[]string{"360Spider: noindex, nofollow"}, false, false}, {[]string{"noindex, MJ12bot: nofollow"}, true, false},
		{[]string{"otherbot: unavailable_after: 2010-06-25T15:00:00Z, noindex"}, false, false},
		{[]string{"unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noindex"}, true, false},
		{[]string{"unavailable_after: Fri, 2010-06-25T15:00:00Z, noindex"}, true, false},
		{[]string{"noindexing", "no index"}, false, false}, {[]string{"", ",", ":"}, false, false},
	} {
		noIndex, noFollow := page.RobotsTag(tt.values, "ourbot")
		require.Equal(t, tt.noIndex, noIndex, tt.values)
		require.Equal(t, tt.noFollw, noFollow, tt.values)
	}
}

// The name of our robot may have digits and dots, too.
func TestRobotsTagOfAnyName(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"bot2", "shop.example_bot", "4seasons", "bot"} {
		noIndex, noFollow := page.RobotsTag([]string{"MJ12bot: nofollow, " + agent + ": noindex"}, agent)
		require.True(t, noIndex, agent)
		require.False(t, noFollow, agent)
	}
}
