package listings_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
)

// The figures that the console asks for every few seconds read no large table as a whole: where that is forbidden,
// there is an index for each.
func TestFiguresOfTheConsoleUseIndexes(t *testing.T) {
	t.Parallel()

	pool, texts := dbtest.New(t), dbtest.Statements(t)
	large := regexp.MustCompile(`Seq Scan on (product_drafts|draft_requests|crawl_runs|crawl_urls|uploads|campaigns|messages|flow|contacts|pages|upload_errors)\b`)
	for name, values := range map[string][]string{
		"sqlFlowCrawl":     {"'2026-11-23'::timestamptz"},
		"sqlFlowDrafts":    {"'2026-11-23'::timestamptz"},
		"sqlFlowOutreach":  {"'2026-11-23'::timestamptz"},
		"sqlTenantShares":  {"'2026-11-23'"},
		"sqlMessageErrors": {"'acme'", "'00000000-0000-0000-0000-000000000001'", "10000"},
		"sqlUploadReasons": {"'acme'", "'00000000-0000-0000-0000-000000000001'", "10000"},
	} {
		text := texts[name]
		require.NotEmpty(t, text, name)
		for i, v := range values {
			text = strings.ReplaceAll(text, "$"+string(rune('1'+i)), v)
		}
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
			rows, err := tx.Query(t.Context(), "EXPLAIN "+text)
			if err != nil {
				return err
			}
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			plan := strings.Join(lines, "\n")
			require.Falsef(t, large.MatchString(plan), "%s\n%s", name, plan)
			return err
		})
		require.NoError(t, err, name)
	}
}
