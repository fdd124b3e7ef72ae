package listings_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/saved"
)

// due has deliveries be due of each webhook of a tenant, one a minute, and returns the targets in the order of their
// times.
func (w *telling) due(t *testing.T, tenant string, n, minutes int) (targets []uuid.UUID) {
	t.Helper()

	for i := range n {
		w.search(t, tenant+fmt.Sprint(i), saved.Criteria{}, ofTenant(tenant))
	}
	w.system(t, fmt.Sprintf(`INSERT INTO saved_deliveries (id, tenant, target, due_at)
		SELECT gen_random_uuid(), tenant, id, '%s'::timestamptz + make_interval(mins => row_number() OVER ()::int - 1)
		FROM saved_targets WHERE tenant = '%s' AND kind = 'webhook'`, dbtest.After(minutes).Format(time.RFC3339), tenant))
	for _, id := range dbtest.Lines(t, w.pool, `SELECT target::text FROM saved_deliveries WHERE tenant = $1
		ORDER BY due_at`, tenant) {
		targets = append(targets, uuid.MustParse(id))
	}
	return targets
}

// ask has a target be asked whether it wants news.
func (w *telling) ask(t *testing.T, target uuid.UUID, minutes int) {
	t.Helper()

	w.system(t, fmt.Sprintf(`INSERT INTO saved_deliveries (id, tenant, target, due_at, confirms)
		SELECT gen_random_uuid(), tenant, id, '%s', true FROM saved_targets WHERE id = '%s'`,
		dbtest.After(minutes).Add(time.Second).Format(time.RFC3339), target))
}

// turn begins what has its turn next, up to a share of its tenant, and returns the targets.
func (w *telling) turn(t *testing.T, share, minutes int) (out []uuid.UUID) {
	t.Helper()

	begun, err := w.Begin(t.Context(), 100, share, dbtest.Start.Add(-time.Hour), dbtest.After(minutes))
	require.NoError(t, err)
	for _, d := range begun {
		n, err := w.NoticeHead(t.Context(), d.Tenant, d.ID)
		require.NoError(t, err)
		out = append(out, n.Target)
	}
	return out
}

// Who has just entered an address is asked before the news of the tenant are told, however many are due; these wait for
// the questions of an hour, and no longer.
func TestSavedQuestionsComeFirst(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	news := w.due(t, "acme", 30, 0)
	asked := news[20:]
	for i, target := range asked[:3] {
		w.ask(t, target, 58+i)
	}
	require.Equal(t, asked[:1], w.turn(t, 1, 62))
	require.Equal(t, []uuid.UUID{asked[1], news[0]}, w.turn(t, 2, 62), "due an hour before the last question")
	require.Equal(t, asked[2:3], w.turn(t, 1, 62))
	require.ElementsMatch(t, news[1:3], w.turn(t, 2, 62))
}

// Targets that take their news are told before those that fail, which wait for the news of an hour, and no longer.
func TestSavedFailingTargetsComeLast(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	news := w.due(t, "acme", 8, 0)
	fails := func(target uuid.UUID, how string) {
		w.system(t, fmt.Sprintf(how, target))
	}
	const under = `INSERT INTO saved_deliveries (id, tenant, target, due_at, state, started_at, %s)
		SELECT gen_random_uuid(), tenant, id, '2020-01-01', 'started', '2100-01-01', %s FROM saved_targets WHERE id = '%%s'`
	fails(news[0], fmt.Sprintf(under, "tries", "1"))
	fails(news[1], fmt.Sprintf(under, "unreached_since", "'2020-01-01'"))
	fails(news[2], "UPDATE saved_targets SET failing_since = '2020-01-01' WHERE id = '%s'")
	w.system(t, fmt.Sprintf("UPDATE saved_deliveries SET due_at = '%s' WHERE target = '%s'",
		dbtest.After(61).Add(time.Second).Format(time.RFC3339), news[7]))
	require.ElementsMatch(t, news[3:5], w.turn(t, 2, 70))
	require.ElementsMatch(t, append(news[5:7:7], news[0]), w.turn(t, 3, 70), "it had waited for what was due for an hour")
	require.ElementsMatch(t, news[1:2], w.turn(t, 1, 70))
	require.ElementsMatch(t, news[7:], w.turn(t, 1, 70))
	require.ElementsMatch(t, news[2:3], w.turn(t, 1, 70))
	require.Empty(t, w.turn(t, 10, 70))
}
