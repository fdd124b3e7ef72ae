package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/page"
)

func TestNotFound(t *testing.T) {
	t.Parallel()
	for markup, want := range map[string]bool{
		`<title>Page not found | Shop</title><h1>Oops! Page not found</h1><p>The page is not here.`:                                         true,
		`<title>404 - Shop</title><h1>404</h1><p>This page could not be found.`:                                                             true,
		`<title>Page not found – Blog</title><h1>Oops! That page can’t be found.</h1>` + strings.Repeat("<p>Some of the latest posts", 200): true,
		`<title>Boutique – Page introuvable</title><h1>Page introuvable</h1>`:                                                               true,
		`<title>Ошибка 404. Страница не найдена</title><p>Перейти на главную`:                                                               true,
		`<title>找不到页面 - 商店</title><p>返回首页`:                                                                                                  true,
		`<title>404</title><h1>404</h1><p>` + strings.Repeat("Words. ", 400):                                                                false,
		`<title>Peugeot 404 – cars</title><h1>Peugeot 404</h1><p>A car of 1960.`:                                                            false,
		`<title>404 – Peugeot</title><h1>404</h1><p>A car of 1960, of which 2,885,374 were made.`:                                           false,
		`<title>How to design a page not found</title><h1>Page not found</h1>`:                                                              false,
		`<title>Page not found: what to do</title><h1>Seven ways</h1>` + strings.Repeat("<p>Words.", 400):                                   false,
		`<title>Dog not found</title><h1>Our dog was not found</h1><p>Please call.`:                                                         false,
		`<h1>Page not found</h1>`: false, ``: false,
	} {
		require.Equal(t, want, page.Read([]byte(markup), page.ReadOptions{Text: true}).NotFound(), markup)
	}
}

func TestNofollowBetweenCommas(t *testing.T) {
	t.Parallel()
	r := page.Read([]byte(`<a rel="ugc,NoFollow" href="/a"><a rel="nofollow;noopener" href="/b"><a rel="donofollow" href="/c">`), page.ReadOptions{})
	require.Equal(t, []page.Link{{Href: "/a", Nofollow: true}, {Href: "/b", Nofollow: true}, {Href: "/c"}}, r.Links)
}
