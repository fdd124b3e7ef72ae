package centris_test

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/centris"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// brokered are the real adverts of a file of rows that others have read, as far as they are homes.
func brokered(t *testing.T, file string) (all []listing.Listing) {
	t.Helper()
	b := sharedtest.Read(t, filepath.Join(sharedtest.Dir(t, "judging real adverts of Centris"), "data", "platforms", "centris", file))
	var rows []struct {
		Address, Description, Category, Features, Price, Area, URL string
		Summary                                                    string `json:"summary_url"`
	}
	require.NoError(t, json.Unmarshal(b, &rows))
	seen := map[string]bool{}
	for _, r := range rows {
		link := strings.TrimSuffix(cmp.Or(r.URL, r.Summary), "?view=Summary")
		beds, _, _ := strings.Cut(r.Features, " ")
		l, err := centris.Platform{}.Normalize(listing.Raw{
			Ref: listing.Ref{Platform: "centris", PlatformID: path.Base(link)}, URL: link, Title: r.Category + ", " + r.Address,
			Address: r.Address, Description: r.Description, Price: listing.RawPrice{Text: r.Price},
			Attributes: map[string][]string{"category": {r.Category}, "cac": {beds}, "superficie nette": {r.Area}},
		})
		if err == nil && !seen[l.PlatformID] {
			seen[l.PlatformID] = true
			all = append(all, l)
		}
	}
	return all
}

// TestTwinsOfUnits gives half of the real adverts of brokers, whose numbers tell homes apart, a twin on a platform that
// states no unit, and judges all of them one after the other. Where a twin comes before its original, and another unit of
// the building is there at the same rent, nothing tells the two apart.
func TestTwinsOfUnits(t *testing.T) {
	t.Parallel()
	for file, least := range map[string][2]float64{ // precision, recall
		"montreal_rent_fr_2024-10.parsed.json": {.90, .84}, "montreal_rent_2024-08.detailed.parsed.json": {.96, .93},
	} {
		for _, words := range []bool{true, false} {
			var all []listing.Listing
			for i, l := range brokered(t, file) {
				all = append(all, l)
				if i%2 == 0 {
					continue
				}
				l.Platform, l.Title, l.CentrisNumber, l.Address.Unit, l.Floor, l.AreaSqFt = "kijiji", "", "", "", "", 0
				if !words {
					l.Description = ""
				}
				all = append(all, l)
			}
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			twins, right, wrong := len(all)/3, 0, 0
			for _, members := range homes(all) {
				for i, a := range members {
					for _, b := range members[i+1:] {
						switch {
						case a.PlatformID == b.PlatformID:
							right++
						case a.Platform != b.Platform:
							wrong++
						}
					}
				}
			}
			precision, recall := float64(right)/float64(right+wrong), float64(right)/float64(twins)
			t.Logf("%s, same words %t: %d twins: precision %.3f, recall %.3f", file, words, twins, precision, recall)
			if precision < least[0] || recall < least[1] {
				t.Errorf("%s, same words %t: want %v", file, words, least)
			}
		}
	}
}

// homes judges adverts in their order, and returns those of each home.
func homes(all []listing.Listing) map[uuid.UUID][]listing.Listing {
	members := make([]listing.HomeMember, len(all))
	byKey, byHome := map[int64][]int{}, map[uuid.UUID][]int{}
	for n, l := range all {
		self := listing.HomeMember{Listing: l, Home: l.ID(), Shown: l.ID(), Status: "active", Offered: true, Enrolled: true,
			Published: time.Date(2024, 1, 1, 0, n, 0, 0, time.UTC)}
		var near []int
		for _, k := range listing.AddressKeys(l) {
			near = append(near, byKey[k]...)
			byKey[k] = append(byKey[k], n)
		}
		slices.Sort(near)
		var others []listing.HomeMember
		for _, i := range slices.Compact(near) {
			others = append(others, members[i])
		}
		j := listing.JudgeHome(self, others, nil, uuid.New())
		self.Home, self.Live, self.Hidden = j.Home, !j.Hidden, j.Hidden
		members[n] = self
		byHome[j.Home] = append(byHome[j.Home], n)
		for _, i := range byHome[j.Home] {
			m := &members[i]
			m.Shown = j.Shown
			if slices.Contains(j.Hide, m.ID()) {
				m.Live, m.Hidden = false, true
			}
		}
	}
	out := map[uuid.UUID][]listing.Listing{}
	for home, of := range byHome {
		for _, i := range of {
			out[home] = append(out[home], all[i])
		}
	}
	return out
}
