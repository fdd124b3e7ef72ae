package e2e

import (
	"fmt"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A replay judges again what an earlier version of the rules took for two homes, and leaves alone what a person said.
func (w *world) judgesHomesAgain() {
	t := w.t
	now := with("scraped_at", time.Now().UTC()) // or a replay takes them for gone
	for i, id := range []string{"81", "82", "83"} {
		for platform, cents := range map[string]int{"kijiji": 145_000, "kangalou": 190_000} {
			if id == "82" {
				cents = 145_000
			}
			w.publish("scraped", platform, advert(id, now, with("platform", platform), with("latitude", 45.3+float64(i)/20),
				with("price", map[string]any{"amount_cents": cents, "type": "FIXED"}), with("address", "")))
		}
	}
	w.eventually("all are published", func() bool {
		return one[int](w, "SELECT count(*) FROM raw_listings WHERE settled_revision = revision AND platform_id LIKE '8_'") == 6 &&
			one[int](w, "SELECT count(*) FROM listings WHERE status = 'active' AND platform_id LIKE '8_'") == 5
	})
	w.run("duplicates", "different", listingID("kijiji", "82"), listingID("kangalou", "82"))
	w.run("duplicates", "same", listingID("kijiji", "83"), listingID("kangalou", "83"))
	visible := func() []string {
		return one[[]string](w, `SELECT array_agg(platform || '/' || platform_id ORDER BY platform_id, platform)
			FROM listings WHERE status = 'active' AND platform_id LIKE '8_'`)
	}
	before := []string{"kangalou/81", "kijiji/81", "kangalou/82", "kijiji/82", "kijiji/83"}
	w.eventually("all that are visible", func() bool { return slices.Equal(before, visible()) })

	// As rules that read the rents of a platform otherwise have left 81: now they are one rent. Those of 83 differ still.
	for _, change := range []string{
		"raw_listings SET normalized = normalized", "listings SET rent_cents = 145000, details = details",
	} {
		_, err := w.db.Exec(w.ctx(), fmt.Sprintf(`UPDATE %s || '{"rent_cents": 145000}'
			WHERE platform_id = '81'`, change))
		require.NoError(t, err)
	}
	_, err := w.db.Exec(w.ctx(), "UPDATE home_members SET rent_cents = 145000 WHERE listing_id = $1",
		listingID("kangalou", "81"))
	require.NoError(t, err)

	told := func(key string) int {
		return one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = $1", key)
	}
	merged, split := told(contract.ListingMerged), told(contract.ListingSplit)
	for range 2 {
		require.Contains(t, w.run("replay", "start", "--stage", listing.StageDedupe, "--wait"), "completed")
		got := visible()
		require.Len(t, got, 4, got)
		require.NotEqual(t, slices.Contains(got, "kangalou/81"), slices.Contains(got, "kijiji/81"), "it is shown once")
		require.Equal(t, before[2:], got[1:], "a person's word stands")
		require.Equal(t, merged+1, told(contract.ListingMerged))
		require.Equal(t, split, told(contract.ListingSplit))
	}
	require.Contains(t, w.run("duplicates", "list", "--listing", listingID("kijiji", "81")), "kangalou/81")
}
