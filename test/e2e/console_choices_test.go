package e2e

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// What is behind the first page of a list can be chosen as well.
func TestChoicesInTheConsole(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := consoleWorld(t, secretKeys)
	for _, sql := range []string{
		`INSERT INTO crawl_runs (seed_url, normalized_seed_url, root_url, allowed_hosts, run_config, status, created_at,
			updated_at) SELECT u, u, u, '{}', '{}', 'COMPLETED', now(), now()
			FROM (SELECT 'https://books.example/' || n AS u FROM generate_series(1, 101) n) urls`,
		`INSERT INTO dead_letters (fingerprint, queue, exchange, routing_key, body, reason, class, first_at, last_at)
			SELECT sha256(n::text::bytea), 'scraped.kijiji', 'scraped', 'kijiji', '{}', 'reason ' || chr(96 + n), 'invalid',
			now(), now() FROM generate_series(1, 9) n`,
	} {
		_, err := w.db.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	for n := range 201 {
		require.Equal(t, 201, w.send("POST", "/tenants", fmt.Sprintf(`{"id":"t%03d","name":"Tenant %[1]d"}`, n+1)))
	}
	for n := range 101 {
		require.Equal(t, 201, w.send("POST", "/searches?tenant=t201",
			fmt.Sprintf(`{"name":"search %03d","filter":{},"targets":[{"kind":"feed"}]}`, n)))
	}
	v := w.visit(t, size(1440))
	p := v.page("/uploads")
	_, err := p.GetByLabel("Tenant").SelectOption(playwright.SelectOptionValues{Labels: &[]string{"Tenant 201"}})
	require.NoError(t, err)
	v.sees(p, "Drop a file of contacts")

	first := one[int64](w, "SELECT min(id) FROM crawl_runs")
	there := func() bool {
		n, err := p.Locator("select").First().Locator(fmt.Sprintf(`option[value="%d"]`, first)).Count()
		require.NoError(t, err)
		return n > 0
	}
	v.open(p, "/crawl/compare")
	more := p.GetByRole("button", playwright.PageGetByRoleOptions{Name: "More: Crawl runs"})
	v.shown(p, more, "there are more runs")
	require.False(t, there())
	require.NoError(t, more.Click())
	v.until(p, "all runs are there", "() => document.querySelectorAll('select:first-of-type option').length >= 2*102")
	require.True(t, there())

	v.open(p, "/dead-letters")
	v.press(p, "all 9")
	v.until(p, "all groups are there", "() => document.querySelectorAll('button[data-row]').length === 9")

	var page struct {
		Items []apilistings.SavedSearch
		Next  string `json:"next_cursor"`
	}
	require.Equal(t, 200, w.get("/searches?tenant=t201&limit=100", &page))
	require.Equal(t, 200, w.get("/searches?tenant=t201&cursor="+url.QueryEscape(page.Next), &page))
	require.Len(t, page.Items, 1)
	v.open(p, "/searches?tenant=t201&search="+page.Items[0].ID.String())
	v.sees(p, "Nothing since it was saved.")
}
