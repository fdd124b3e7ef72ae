package apitest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apicrawl "github.com/mtlrent/conveyor/api/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// Crawl starts a run of a site and returns its ID.
func (d *Door) Crawl(t *testing.T) int64 {
	t.Helper()
	return Read[apicrawl.CrawlRun](t, d.Ask(t, "POST", "/crawl-runs", `{"seedUrl":"https://example.org"}`), 201).ID
}

// Fail adds n URLs in a state of failure to a run.
func (d *Door) Fail(t *testing.T, run int64, state crawl.State, n int) {
	t.Helper()
	column := strings.ToLower(string(state))
	_, err := d.Pool.Exec(t.Context(), "UPDATE crawl_runs SET discovered = discovered + $2, admitted = admitted + $2, "+column+
		" = "+column+" + $2 WHERE id = $1", run, n)
	require.NoError(t, err)
	_, err = d.Pool.Exec(t.Context(), `INSERT INTO crawl_urls (run_id, url_key, seq, depth, created_at, updated_at, status,
			host, normalized_url)
		SELECT $1, gen_random_uuid(), 1, 1, $4, $4, $3, 'example.org', 'https://example.org/' || $3 || i
		FROM generate_series(1, $2) i`, run, n, state, Now)
	require.NoError(t, err)
}
