package listings_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// TestAdverts lists adverts that are no listings and counts their reasons: nine were rejected on three days, of two
// platforms, one is a duplicate, one waits and one is a listing.
func TestAdverts(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	missing := listing.Reason{Field: "price", Code: "missing", Message: "none is stated"}
	wanted := listing.Reason{Field: "title", Code: "wanted", Message: "the advert looks for a home"}
	refuse := func(ref listing.Ref, at time.Time, reasons ...listing.Reason) {
		revision := d.Scrape(t, ref, "Advert "+ref.PlatformID, at)
		err := d.Store.Reject(t.Context(), listing.Raw{Ref: ref}, listing.Payload{Revision: revision, Body: []byte(`{}`)},
			&listing.Rejection{Reasons: reasons}, listing.Run{WorkflowID: ref.WorkflowID()}, at)
		require.NoError(t, err)
	}
	for i := range 7 {
		refuse(apitest.Kijiji(fmt.Sprint(i)), apitest.Now.Add(-time.Duration(i)*time.Minute), missing)
	}
	refuse(apitest.Kijiji("both"), apitest.Now.AddDate(0, 0, -1), missing, wanted, listing.Reason{Field: "bedrooms", Code: "missing"})
	refuse(listing.Ref{Platform: "zumper", PlatformID: "old"}, apitest.Now.AddDate(0, 0, -2), wanted)
	shown := listing.Listing{Ref: apitest.Kijiji("shown"), Title: "Beau 4½", RentCents: 150_000}
	d.Publish(t, shown, "", apitest.Now)
	revision := d.Scrape(t, apitest.Kijiji("twin"), "Beau 4½", apitest.Now)
	require.NoError(t, d.Store.SaveDuplicate(t.Context(), apitest.Kijiji("twin"), revision, shown.ID(),
		[]listing.Reason{{Field: "home", Code: "duplicate"}}, listing.Run{}, apitest.Now))
	d.Scrape(t, apitest.Kijiji("waits"), "Just in", apitest.Now)

	ask := func(query string) (got apilistings.AdvertPage) {
		return apitest.Read[apilistings.AdvertPage](t, d.Get(t, "/adverts?"+query), http.StatusOK)
	}
	var ids []string
	for cursor := ""; ; {
		got := ask("limit=4&cursor=" + url.QueryEscape(cursor))
		for _, a := range got.Items {
			ids = append(ids, a.PlatformID)
			require.Equal(t, "rejected", a.Status)
		}
		if cursor = got.NextCursor; cursor == "" {
			break
		}
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "both", "old"}, ids)
	both := ask("reason=wanted&platform=kijiji").Items
	require.Len(t, both, 1)
	require.Equal(t, "Advert both", both[0].Title)
	require.Len(t, both[0].Reasons, 3)
	require.Equal(t, apitest.Kijiji("both").ID(), both[0].ListingID)
	require.Len(t, ask("since="+url.QueryEscape(apitest.Now.Add(-2*time.Minute).Format(time.RFC3339))).Items, 3)
	require.Len(t, ask("text=ADVERT+B").Items, 1)
	require.Len(t, ask("text="+url.QueryEscape("ádvert")+"&platform=zumper").Items, 1)
	require.Empty(t, ask("text=ginette").Items, "contact data is not looked into")
	require.Empty(t, ask("text="+url.QueryEscape("%")).Items)
	require.Len(t, ask("text=beau&status=duplicate").Items, 1)
	twins := ask("status=duplicate").Items
	require.Len(t, twins, 1)
	require.Equal(t, shown.ID(), *twins[0].DuplicateOf)
	require.Len(t, ask("status=rejected,duplicate").Items, 10)
	require.Len(t, ask("status=duplicate&status=rejected&text=advert").Items, 9)
	require.Len(t, ask("status=rejected,duplicate&text=e").Items, 10)
	two := ask("status=rejected,duplicate&limit=2")
	require.Equal(t, ask("status=rejected,duplicate").Items[2:], ask("status=rejected,duplicate&cursor="+two.NextCursor).Items)

	counts := func(query string) (lines []string) {
		for _, c := range apitest.Read[apilistings.ReasonCounts](t, d.Get(t, "/adverts/reasons?"+query), http.StatusOK).Counts {
			lines = append(lines, fmt.Sprint(c.Day.Format(time.DateOnly), " ", c.Platform, " ", c.Code, " ", c.Adverts))
		}
		return lines
	}
	day := func(n int) string { return apitest.Now.AddDate(0, 0, -n).UTC().Format(time.DateOnly) }
	require.Equal(t, []string{
		day(2) + " zumper wanted 1", day(1) + " kijiji missing 1", day(1) + " kijiji wanted 1", day(0) + " kijiji missing 7",
	}, counts(""))
	require.Equal(t, []string{day(1) + " kijiji missing 1", day(1) + " kijiji wanted 1", day(0) + " kijiji missing 7"},
		counts("days=2"))
	require.Equal(t, []string{day(2) + " zumper wanted 1"}, counts("platform=zumper"))
	require.Equal(t, []string{day(0) + " kijiji missing 3"},
		counts("since="+url.QueryEscape(apitest.Now.Add(-2*time.Minute).Format(time.RFC3339))))

	for _, query := range []string{"status=imported", "reason=No%20Code", "limit=0", "cursor=%21", "since=soon", "text=%00", "words=a"} {
		apitest.Refused(t, d.Get(t, "/adverts?"+query), http.StatusUnprocessableEntity)
	}
}

// A text is looked for in the newest 10,000 adverts of both statuses together, also where the duplicates are older.
func TestTextOfAdvertsOfBothStatuses(t *testing.T) {
	t.Parallel()
	servicetest.Slow(t, servicetest.TestSlow)
	d := apitest.Open(t)
	page := func(query string) apilistings.AdvertPage {
		return apitest.Read[apilistings.AdvertPage](t, d.Get(t, "/adverts?"+query), http.StatusOK)
	}
	ask := func(query string) []apilistings.AdvertSummary { return page(query).Items }
	revision := d.Scrape(t, apitest.Kijiji("0"), "Advert", apitest.Now)
	err := d.Store.Reject(t.Context(), listing.Raw{Ref: apitest.Kijiji("0")}, listing.Payload{Revision: revision, Body: []byte(`{}`)},
		&listing.Rejection{Reasons: []listing.Reason{{Field: "price", Code: "missing"}}}, listing.Run{}, apitest.Now)
	require.NoError(t, err)
	shown := listing.Listing{Ref: apitest.Kijiji("shown"), Title: "Beau 4½", RentCents: 150_000}
	d.Publish(t, shown, "", apitest.Now)
	revision = d.Scrape(t, apitest.Kijiji("twin"), "Beau 4½", apitest.Now.Add(-time.Minute))
	require.NoError(t, d.Store.SaveDuplicate(t.Context(), apitest.Kijiji("twin"), revision, shown.ID(),
		[]listing.Reason{{Field: "home", Code: "duplicate"}}, listing.Run{}, apitest.Now))
	hidden := "status=rejected,duplicate&text=beau"
	require.NotEmpty(t, ask(hidden))
	more := func(n int) {
		_, err := d.Pool.Exec(t.Context(), `INSERT INTO raw_listings SELECT m.* FROM raw_listings r, generate_series(1, $1) n,
			jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'platform_id', gen_random_uuid() || '-' || n,
				'platform', 'many', 'revised_at', $2::timestamptz)) m WHERE r.platform_id = '0'`, n, apitest.Now.Add(time.Minute))
		require.NoError(t, err)
	}
	more(9_998) // and kijiji("0")
	require.Len(t, ask(hidden), 1, "the last that is looked at")
	more(1)
	none := page(hidden)
	require.Empty(t, none.Items, "of both statuses 10,000 are looked at, not of each")
	require.Len(t, ask(hidden+"&cursor="+none.NextCursor), 1, "the next page looks at those after them")
	require.Len(t, ask("status=duplicate&text=beau"), 1)
}
