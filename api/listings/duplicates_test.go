package listings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
)

func TestDuplicates(t *testing.T) {
	t.Parallel()

	d := apitest.Open(t)
	first, second := d.Twins(t, "1")
	d.Twins(t, "2")
	list := func(query string) apilistings.HomePage {
		return apitest.Read[apilistings.HomePage](t, d.Get(t, "/duplicates"+query), 200)
	}
	require.Len(t, list("").Items, 2)
	p := list("?limit=1")
	require.Len(t, p.Items, 1)
	require.NotEqual(t, p.Items[0].ID, list("?limit=1&cursor=" + p.NextCursor).Items[0].ID)
	require.Empty(t, list("?reviewed=yes").Items)
	require.Empty(t, list("?kind=repost").Items)
	require.Len(t, list("?kind=repost,duplicate").Items, len(list("?kind=duplicate").Items))
	require.NotEmpty(t, list("?kind=repost&kind=duplicate").Items)
	apitest.Refused(t, d.Get(t, "/duplicates?cursor=x"), http.StatusUnprocessableEntity)
	apitest.Refused(t, d.Get(t, "/duplicates?listing=x"), http.StatusUnprocessableEntity)

	home := list("?listing=" + second.String()).Items[0]
	require.Equal(t, first, home.Shown)
	require.Len(t, home.Members, 2)
	require.Equal(t, second, home.Members[1].ListingID)
	require.Equal(t, "duplicate", home.Members[1].Kind)
	require.True(t, home.Members[1].Hidden)
	require.NotEmpty(t, home.Members[1].Reasons)
	require.NotNil(t, home.Members[1].Figures.Metres)

	path := "/duplicates/" + home.ID.String()
	body := func(verdict string, id uuid.UUID) string {
		return fmt.Sprintf(`{"verdict":%q,"listing_id":%q}`, verdict, id)
	}
	apitest.Refused(t, d.Ask(t, http.MethodPost, path, body("maybe", second)), http.StatusUnprocessableEntity)
	apitest.Refused(t, d.Ask(t, http.MethodPost, path, body("different", uuid.New())), http.StatusNotFound)
	got := apitest.Read[apilistings.DuplicateDecided](t, d.Ask(t, http.MethodPost, path, body("different", second)), 200)
	require.Equal(t, 1, got.Restarted)
	require.Equal(t, got, apitest.Read[apilistings.DuplicateDecided](t, d.Ask(t, http.MethodPost, path, body("different", second)), 200),
		"its answer was lost: it is asked again")
	require.Len(t, list("").Items, 1)
	for _, id := range []uuid.UUID{first, second} { // each of a home of its own, and what was said is found to be undone
		alone := list("?listing=" + id.String()).Items
		require.Len(t, alone, 1)
		require.Len(t, alone[0].Members, 1)
		require.Equal(t, got.Number, alone[0].Verdicts[0].Number)
	}
	undo := fmt.Sprintf("/duplicates/verdicts/%d/undo", got.Number)
	require.Equal(t, http.StatusNoContent, d.Ask(t, http.MethodPost, undo, "").Status)
	apitest.Refused(t, d.Ask(t, http.MethodPost, undo, ""), http.StatusConflict)
	apitest.Refused(t, d.Ask(t, http.MethodPost, "/duplicates/verdicts/99/undo", ""), http.StatusNotFound)
	home = list("?listing=" + second.String()).Items[0]
	require.Len(t, home.Members, 2)
	require.Len(t, home.Verdicts, 1)
	require.NotNil(t, home.Verdicts[0].UndoneAt)
	_, err := d.Store.DecideHome(t.Context(), dblistings.HomeDecision{Home: home.ID, Verdict: listing.SaySame, Listing: second,
		By: "Ginette", At: apitest.Now}, nil)
	require.NoError(t, err)
	require.Len(t, list("?reviewed=yes").Items, 1)
}

// A merge that is undone leaves what was there before, as readers see it, and is told both ways once.
func TestUndoDuplicate(t *testing.T) {
	t.Parallel()

	d := apitest.Open(t)
	first, hidden := d.Twins(t, "1")
	second, _ := d.Twins(t, "2")
	before := map[string]string{}
	paths := []string{"/duplicates", "/listings", "/listings/" + first.String(), "/listings/" + hidden.String(),
		"/listings/" + second.String()}
	see := func(path string) string {
		got := apitest.Read[map[string]any](t, d.Get(t, path), http.StatusOK)
		delete(got, "history") // it says that the listing was not visible meanwhile
		items, _ := got["items"].([]any)
		for _, item := range items {
			home, _ := item.(map[string]any)
			delete(home, "verdicts") // the one that was undone is among them
		}
		text, err := json.Marshal(got)
		require.NoError(t, err)
		return string(text)
	}
	for _, path := range paths {
		before[path] = see(path)
	}
	told := func(key string) (n int) {
		require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox WHERE routing_key = $1", key).Scan(&n))
		return n
	}
	events := []int{told("listings.merged"), told("listings.split")}
	body := fmt.Sprintf(`{"verdict":"same","listing_id":%q}`, first)
	apitest.Refused(t, d.Ask(t, http.MethodPost, "/duplicates/"+uuid.NewString(), body), http.StatusNotFound)
	got := apitest.Read[apilistings.DuplicateDecided](t, d.Ask(t, http.MethodPost, "/duplicates/"+second.String(), body), http.StatusOK)
	require.Zero(t, got.Restarted)
	require.NotEqual(t, before["/listings"], see("/listings"))
	require.Len(t, apitest.Read[apilistings.HomePage](t, d.Get(t, "/duplicates"), http.StatusOK).Items, 1)
	require.Equal(t, []int{events[0] + 2, events[1]}, []int{told("listings.merged"), told("listings.split")})

	undo := fmt.Sprintf("/duplicates/verdicts/%d/undo", got.Number)
	require.Equal(t, http.StatusNoContent, d.Ask(t, http.MethodPost, undo, "").Status)
	apitest.Refused(t, d.Ask(t, http.MethodPost, undo, ""), http.StatusConflict)
	for _, path := range paths {
		require.Equal(t, before[path], see(path), path)
	}
	require.Equal(t, []int{events[0] + 3, events[1] + 2}, []int{told("listings.merged"), told("listings.split")},
		"both have left, and are one home again")
}
