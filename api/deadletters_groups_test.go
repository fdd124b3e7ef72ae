package api_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
)

func TestDeadLetterGroups(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for i := range 3 {
		d.Bury(t, fmt.Sprint("rent", i), i)
	}
	var last int64
	for i, id := range []string{"814f8a0d-a910-5984-8259-78f1a467e73c", "17", "kijiji-2b"} {
		last = d.Bury(t, id, 10+i, func(l *db.DeadLetter) {
			l.Reason, l.Class = fmt.Sprintf("fetch %s: status 41%d from the image host", id, i), "gone"
		})
	}
	d.Bury(t, "done", 20)
	require.NoError(t, d.Letters.Discard(t.Context(), last+1, "test", apitest.Now))

	got := apitest.Read[api.LetterGroups](t, d.Get(t, "/dead-letters/groups"), 200).Items
	require.Len(t, got, 2)
	require.Equal(t, []any{"fetch …: status … from the image host", "from the image host", int64(3), last},
		[]any{got[0].Reason, got[0].Contains, got[0].Letters, got[0].Newest})
	require.Equal(t, []any{"scraped.kijiji", "invalid", "price: is missing", int64(3)},
		[]any{got[1].Queue, got[1].Class, got[1].Reason, got[1].Letters})
	require.Len(t, apitest.Read[api.LetterGroups](t, d.Get(t, "/dead-letters/groups?class=gone"), 200).Items, 1)
	apitest.Refused(t, d.Get(t, "/dead-letters/groups?clas=gone"), 422)

	discard := func(body string) api.LettersDiscarded {
		return apitest.Read[api.LettersDiscarded](t, d.Ask(t, "POST", "/dead-letters/discard", body), 200)
	}
	dry := discard(`{"reason":"` + got[0].Contains + `"}`)
	require.Equal(t, []any{true, 3, 0, 3, 3}, []any{dry.DryRun, dry.Matched, dry.Discarded, dry.Left, len(dry.Sample)})
	one := discard(`{"class":"gone","limit":1,"dry_run":false}`)
	require.Equal(t, []any{false, 3, 1, 2}, []any{one.DryRun, one.Matched, one.Discarded, one.Left})
	rest := discard(`{"class":"gone","dry_run":false}`)
	require.Equal(t, []int{2, 2, 0}, []int{rest.Matched, rest.Discarded, rest.Left})
	require.Len(t, apitest.Read[api.LetterGroups](t, d.Get(t, "/dead-letters/groups"), 200).Items, 1)
	require.Len(t, d.Audited(t, fmt.Sprint("dead-letter/", last)), 1)
	require.Equal(t, "discarded", apitest.Value[string](t, d, "SELECT state FROM dead_letters WHERE id = $1", last))
}
