package listing_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
)

// Adverts that are taken for one home share a key, or the one that is judged second would not find the first.
func TestHomeKeysOfOneHome(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(15, 4))
	some := func(values ...string) string { return values[dice.IntN(len(values))] }
	matches := 0
	for range 40_000 {
		var pair [2]listing.Listing
		for i := range pair {
			lat, lon := 45.5+(dice.Float64()-.5)*.0012, -73.6+(dice.Float64()-.5)*.0012
			l := home(some("kijiji", "kangalou"), some("1", "2", "3"), nil)
			l.Address = listing.Address{Street: some("", "Rue Cartier", "av. Cartier"), City: some("", "Montréal"),
				PostalCode: some("", "H2L 3Z1", "h2l3z1", "H2L")}
			if civic := some("", "10", "12"); civic != "" {
				l.Address.Civic = []string{civic}
			}
			if dice.IntN(3) > 0 {
				l.Latitude, l.Longitude = &lat, &lon
			} else {
				l.Latitude, l.Longitude = nil, nil
			}
			l.CentrisNumber = some("", "", "", "12345678")
			pair[i] = l
		}
		if listing.SameHome(pair[0], pair[1]).Kind == "" {
			continue
		}
		matches++
		others := listing.HomeKeys(pair[1])
		require.True(t, slices.IsSorted(others), others)
		if !slices.ContainsFunc(listing.HomeKeys(pair[0]), func(k int64) bool { return slices.Contains(others, k) }) {
			t.Fatalf("one home without a common key:\n%+v\n%+v", pair[0], pair[1])
		}
	}
	require.GreaterOrEqual(t, matches, 1000, "pairs that are one home")
}

func TestJudgeHome(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	member := func(platform, id string, change func(*listing.HomeMember)) listing.HomeMember {
		l := home(platform, id, nil)
		m := listing.HomeMember{Listing: l, Home: l.ID(), Shown: l.ID(), Status: "active", Published: day(1), Live: true,
			Offered: true, Enrolled: true}
		if change != nil {
			change(&m)
		}
		return m
	}
	first := member("kijiji", "1", nil)
	of := func(m listing.HomeMember) listing.HomeMember {
		m.Home, m.Shown = first.Home, first.ID()
		return m
	}
	newcomer := member("kangalou", "2", func(m *listing.HomeMember) {
		m.Status, m.Published, m.Live, m.Offered = "", time.Time{}, false, false
	})
	otherRent := func(m listing.HomeMember, cents int64) listing.HomeMember {
		m.Listing.RentCents = cents
		return m
	}
	hidden := of(newcomer)
	hidden.Hidden = true
	apart := func(m, from listing.HomeMember) listing.HomeMember {
		m.Apart = []uuid.UUID{from.Home}
		return m
	}
	split := member("kangalou", "3", nil)
	third := member("kijiji", "3", func(m *listing.HomeMember) { m.Status, m.Published = "", time.Time{} })
	second := member("kijiji", "2", func(m *listing.HomeMember) { m.Status, m.Live, m.Offered = "archived", false, false })
	unit := func(m listing.HomeMember, unit, text string) listing.HomeMember {
		m.Listing.Address.Unit, m.Listing.Title, m.Listing.Description = unit, "", text
		return m
	}
	const words = "Condo de coin au huitième étage, vue sur le fleuve, piscine et salle d'entraînement, stationnement en sus."
	eighth, ninth := unit(member("centris", "8", nil), "801", words), unit(member("centris", "9", nil), "901", "")
	unstated := unit(newcomer, "", "")
	withEighth := unstated
	withEighth.Home, withEighth.Shown, withEighth.Live, withEighth.Hidden = eighth.Home, eighth.ID(), false, true
	fresh := uuid.New()
	for _, tt := range []struct {
		name   string
		self   listing.HomeMember
		others []listing.HomeMember
		prefer []string
		home   uuid.UUID
		shown  uuid.UUID
		hidden bool
		left   bool
	}{
		{"alone", newcomer, nil, nil, newcomer.ID(), newcomer.ID(), false, false},
		{"a twin", newcomer, []listing.HomeMember{first}, nil, first.ID(), first.ID(), true, false},
		{"a twin of a better platform", newcomer, []listing.HomeMember{first}, []string{"kangalou"}, first.ID(),
			newcomer.ID(), false, false},
		{"a better platform while the other is about to be visible", newcomer, []listing.HomeMember{
			member("kijiji", "1", func(m *listing.HomeMember) { m.Status, m.Published = "", time.Time{} })},
			[]string{"kangalou"}, first.ID(), first.ID(), true, false},
		{"a person said it is another home", apart(newcomer, first), []listing.HomeMember{first}, nil, newcomer.ID(),
			newcomer.ID(), false, false},
		{"a repost of one that is another home", newcomer, []listing.HomeMember{first, apart(split, first)}, nil, split.ID(),
			split.ID(), false, false},
		{"a repost of the one that is gone", third, []listing.HomeMember{apart(first, second), apart(second, first)}, nil,
			second.ID(), third.ID(), false, false},
		{"not of one that is another platform's", third, []listing.HomeMember{first, apart(split, first)}, nil, first.ID(),
			first.ID(), false, false},
		{"pinned beside one that is another home", func() listing.HomeMember { m := hidden; m.Pinned = true; return m }(),
			[]listing.HomeMember{first, apart(split, first)}, nil, first.ID(), first.ID(), true, false},
		{"a claimed one is never hidden", member("kangalou", "2", func(m *listing.HomeMember) { m.Status = "claimed" }),
			[]listing.HomeMember{first}, nil, first.ID(), listing.Ref{Platform: "kangalou", PlatformID: "2"}.ID(), false, false},
		{"a repost is shown as well", member("kijiji", "2", func(m *listing.HomeMember) { m.Status = "" }),
			[]listing.HomeMember{first}, nil, first.ID(), first.ID(), false, false},
		{"the original has another rent now", hidden, []listing.HomeMember{otherRent(first, 200_000)}, nil, fresh,
			newcomer.ID(), false, true},
		{"the original has a near rent now", hidden, []listing.HomeMember{otherRent(first, 120_000)}, nil, first.ID(),
			first.ID(), true, false},
		{"pinned, with another rent", func() listing.HomeMember { m := hidden; m.Pinned = true; return m }(),
			[]listing.HomeMember{otherRent(first, 200_000)}, nil, first.ID(), first.ID(), true, false},
		{"the original is gone", hidden, []listing.HomeMember{func() listing.HomeMember {
			m := first
			m.Status, m.Live, m.Offered = "archived", false, false
			return m
		}()}, nil, first.ID(), newcomer.ID(), false, false},
		{"a person chose it", func() listing.HomeMember { m := hidden; m.Chosen = m.ID(); return m }(),
			[]listing.HomeMember{func() listing.HomeMember { m := first; m.Chosen = newcomer.ID(); return m }()}, nil,
			first.ID(), newcomer.ID(), false, false},
		{"of a tower, and two units may be it", unstated, []listing.HomeMember{ninth, eighth}, nil, newcomer.ID(), newcomer.ID(),
			false, false},
		{"the unit whose words it has", unit(newcomer, "", words), []listing.HomeMember{ninth, eighth}, nil, eighth.ID(),
			eighth.ID(), true, false},
		{"its twin is in the home of another unit", ninth, []listing.HomeMember{eighth, withEighth}, nil, ninth.ID(),
			ninth.ID(), false, false},
		{"shown, and the others are to leave", otherRent(first, 200_000), []listing.HomeMember{of(member("kangalou", "2",
			func(m *listing.HomeMember) { m.Hidden, m.Live = true, false }))}, nil, first.ID(), first.ID(), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			j := listing.JudgeHome(tt.self, tt.others, tt.prefer, fresh)
			if j.Home != tt.home || j.Shown != tt.shown || j.Hidden != tt.hidden || j.Left != tt.left {
				t.Errorf("JudgeHome = %+v; want home %s, shown %s, hidden %t, left %t", j, tt.home, tt.shown, tt.hidden, tt.left)
			}
		})
	}
}
