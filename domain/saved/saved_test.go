package saved_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) // 07:00 in Montréal

func TestFitter(t *testing.T) {
	t.Parallel()
	lat, lon := 45.5231, -73.5817
	l := saved.Listing{
		Platform: "kijiji", Neighbourhood: "plateau", RentCents: 145_000, Bedrooms: 2, Latitude: &lat, Longitude: &lon,
		Title: "Grand 4½ ensoleillé", Description: "Près du parc La Fontaine, chauffé", Address: "rue Rachel",
		Rooms: new(4.5), AreaSqFt: new(800), Available: "2026-07-01",
		Traits: []string{"pets_yes", "pets_cats", "parking_yes", "parking_extra", "parking_indoor"},
	}
	for name, tt := range map[string]struct {
		filter saved.Criteria
		want   bool
	}{
		"everything":            {saved.Criteria{}, true},
		"its platform":          {saved.Criteria{Platform: "kijiji"}, true},
		"another platform":      {saved.Criteria{Platform: "kangalou"}, false},
		"its rent, inclusive":   {saved.Criteria{MinPrice: 1450, MaxPrice: 1450}, true},
		"a lower rent":          {saved.Criteria{MaxPrice: 1449}, false},
		"other bedrooms":        {saved.Criteria{Bedrooms: []int{1, 3}}, false},
		"at least two bedrooms": {saved.Criteria{MinBedrooms: 2}, true},
		"around it":             {saved.Criteria{Polygon: [][]float64{{-73.6, 45.5}, {-73.5, 45.5}, {-73.55, 45.6}}}, true},
		"beside it":             {saved.Criteria{Polygon: [][]float64{{-73.6, 45.5}, {-73.59, 45.5}, {-73.6, 45.6}}}, false},
		"a circle around it":    {saved.Criteria{Near: &saved.Near{Latitude: 45.5231, Longitude: -73.57, Metres: 1000}}, true},
		"a circle that ends":    {saved.Criteria{Near: &saved.Near{Latitude: 45.5231, Longitude: -73.57, Metres: 900}}, false},
		"a box":                 {saved.Criteria{Box: []float64{-73.6, 45.5, -73.5, 45.6}}, true},
		"words":                 {saved.Criteria{Text: "parc ensoleillé"}, true},
		"a phrase":              {saved.Criteria{Text: `"parc la fontaine"`}, true},
		"another order":         {saved.Criteria{Text: `"fontaine la parc"`}, false},
		"without a word":        {saved.Criteria{Text: "parc -chauffé"}, false},
		"a word that is absent": {saved.Criteria{Text: "piscine"}, false},
		"rooms":                 {saved.Criteria{Rooms: []float64{3.5, 4.5}}, true},
		"other rooms":           {saved.Criteria{Rooms: []float64{3.5}}, false},
		"its area, exactly":     {saved.Criteria{MinArea: 800, MaxArea: 800}, true},
		"a larger area":         {saved.Criteria{MinArea: 801}, false},
		"a smaller area":        {saved.Criteria{MaxArea: 799}, false},
		"free on that day":      {saved.Criteria{AvailableBy: "2026-07-01"}, true},
		"with a picture":        {saved.Criteria{HasImages: true}, false},
		"taken over":            {saved.Criteria{Claimed: new(true)}, false},
		"not taken over":        {saved.Criteria{Claimed: new(false)}, true},
		"not free yet":          {saved.Criteria{AvailableBy: "2026-06-30"}, false},
		"cats":                  {saved.Criteria{Traits: listing.Traits{Pets: "cats"}}, true},
		"dogs":                  {saved.Criteria{Traits: listing.Traits{Pets: "dogs"}}, false},
		"any of two": {saved.Criteria{Traits: listing.Traits{
			Pets: "cats", Parking: []string{"none", "indoor"},
		}}, true},
		"each of two": {saved.Criteria{Traits: listing.Traits{
			Furnished: []string{"yes"}, Parking: []string{"indoor"},
		}}, false},
	} {
		fits, err := tt.filter.Fitter()
		require.NoError(t, err, name)
		require.Equal(t, tt.want, fits(&l), name)
	}
	for name, f := range map[string]saved.Criteria{
		"two corners":   {Polygon: [][]float64{{-73, 45}, {-74, 45}}},
		"off the earth": {Near: &saved.Near{Latitude: 91, Metres: 1}},
		"upside down":   {MinPrice: 2, MaxPrice: 1},
		"site:":         {Text: "site:example.org"},
		"many words":    {Text: words(33)},
		"a long phrase": {Text: `"` + words(33) + `"`},
		"no rooms":      {Rooms: []float64{0}},
		"area":          {MinArea: 2, MaxArea: 1},
		"no day":        {AvailableBy: "2026-02-30"},
		"pets":          {Traits: listing.Traits{Pets: "fish"}},
		"parking":       {Traits: listing.Traits{Parking: []string{"yes", "moon"}}},
	} {
		_, err := f.Fitter()
		require.Error(t, err, name)
	}
	_, err := saved.Conditions("site:example.org")
	require.ErrorContains(t, err, "listings are searched by words")
}

// words are so many different words.
func words(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("w%d", i))
	}
	return strings.Join(list, " ")
}

// A text may have as many words as are looked for. A search that was saved with more is looked for by the first ones.
func TestTextBounds(t *testing.T) {
	t.Parallel()
	require.NoError(t, saved.Criteria{Text: words(32)}.Check())
	require.NoError(t, saved.Criteria{Text: `"` + words(32) + `"`}.Check())
	require.EqualError(t, saved.Criteria{Text: words(33)}.Check(),
		"filter.text: expected at most 32 words or phrases, and phrases of at most 32 words")
	before := saved.Search{Filter: saved.Criteria{Text: words(33)}, Name: "x", Kinds: saved.Kinds, State: saved.Active}
	require.NoError(t, before.CheckRest())
	x, met := saved.NewIndex(), 0
	x.Put(before)
	x.Meet(&saved.Listing{Title: words(32)}, nil, func(*saved.Search, bool) { met++ })
	require.Equal(t, 1, met)
	slots, err := before.Filter.Slots()
	require.NoError(t, err)
	require.Positive(t, slots)
}

// A listing met a search before when all of what it was then did, its text included.
func TestMetBefore(t *testing.T) {
	t.Parallel()
	x := saved.NewIndex()
	for name, f := range map[string]saved.Criteria{
		"text": {Text: "piscine"}, "rent": {MaxPrice: 1000}, "place": {Polygon: [][]float64{{-1, -1}, {1, -1}, {0, 1}}},
		"hood": {Neighbourhood: "plateau", Text: "-balcon"},
	} {
		x.Put(saved.Search{ID: uuid.New(), Name: name, Filter: f, Kinds: saved.Kinds, State: saved.Active})
	}
	l := saved.Listing{
		Title: "Avec piscine", RentCents: 1000_00, Neighbourhood: "plateau", Latitude: new(0.0), Longitude: new(0.0),
	}
	for name, change := range map[string]func(l *saved.Listing){
		"":      func(*saved.Listing) {},
		"text":  func(l *saved.Listing) { l.Title = "Sans" },
		"rent":  func(l *saved.Listing) { l.RentCents++ },
		"place": func(l *saved.Listing) { l.Latitude = new(2.0) },
		"hood":  func(l *saved.Listing) { l.Description = "Balcon" },
	} {
		before, met := l, 0
		change(&before)
		x.Meet(&l, &before, func(s *saved.Search, fitted bool) {
			met++
			require.Equal(t, s.Name != name, fitted, "%s, without its %s", s.Name, name)
		})
		require.Equal(t, 4, met)
	}
}

// The index finds the searches that comparing a listing with each of them finds, and looks at few others.
func TestIndexFindsAll(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	x := saved.NewIndex()
	fits := map[uuid.UUID]func(*saved.Listing) bool{}
	for i := range 3000 {
		var f saved.Criteria
		if dice.IntN(2) == 0 {
			f.MaxPrice = int64(800 + dice.IntN(2000))
		}
		if dice.IntN(2) == 0 {
			f.Bedrooms = []int{dice.IntN(4), dice.IntN(4)}
		}
		lon, lat := -73.9+dice.Float64()*.4, 45.4+dice.Float64()*.3
		switch i % 6 {
		case 0:
			f.Near = &saved.Near{Latitude: lat, Longitude: lon, Metres: 300 + 2000*dice.Float64()}
		case 1:
			f.Box = []float64{lon, lat, lon + .03, lat + .02}
		case 2:
			f.Polygon = [][]float64{{lon, lat}, {lon + .04, lat}, {lon + .02, lat + .03}}
		case 3:
			f.Neighbourhood = fmt.Sprintf("hood-%d", dice.IntN(40))
		case 4:
			f.Text = fmt.Sprintf("balcony beautiful%d", dice.IntN(50))
		}
		s := saved.Search{
			ID: uuid.New(), Name: "x", Filter: f, Kinds: saved.Kinds, State: saved.Active,
		}
		x.Put(s)
		fit, err := f.Fitter()
		require.NoError(t, err)
		fits[s.ID] = fit
	}
	looked := 0
	const listings = 100
	for range listings {
		lon, lat := -73.9+dice.Float64()*.4, 45.4+dice.Float64()*.3
		l := saved.Listing{
			Neighbourhood: fmt.Sprintf("hood-%d", dice.IntN(40)), RentCents: int64(60_000 + dice.IntN(250_000)),
			Bedrooms: dice.IntN(4), Latitude: &lat, Longitude: &lon, Title: fmt.Sprintf("beautiful%d", dice.IntN(50)),
			Description: "with a balcony",
		}
		found := map[uuid.UUID]bool{}
		looked += x.Meet(&l, nil, func(s *saved.Search, _ bool) {
			require.False(t, found[s.ID], "found twice")
			found[s.ID] = true
		})
		for id, fit := range fits {
			require.Equal(t, fit(&l), found[id])
		}
	}
	require.Less(t, looked/listings, 700, "of 3,000")
	for id := range fits {
		x.Remove(id)
	}
	require.Zero(t, x.Len())
}

// What is compared after its digest was due is told soon, with all that is late, but in no quiet hours.
func TestDueOfLateNews(t *testing.T) {
	t.Parallel()
	daily, quiet := saved.Schedule{Pace: saved.Daily}, saved.Schedule{Pace: saved.Daily, QuietAt: "08:02", QuietTo: "09:00"}
	eight := noon.Add(time.Hour)
	for name, tt := range map[string]struct {
		schedule saved.Schedule
		now      time.Duration // after eight
		want     time.Duration
	}{
		"in time":     {daily, -time.Minute, 0},
		"late":        {daily, time.Second, 10 * time.Minute},
		"as late":     {daily, 5*time.Minute - 1, 10 * time.Minute},
		"later":       {daily, 2 * time.Hour, 2*time.Hour + 10*time.Minute},
		"by the hour": {saved.Schedule{Pace: saved.Hourly}, time.Minute, 10 * time.Minute},
		"next soon":   {daily, 24*time.Hour - time.Minute, 24 * time.Hour},
		"at once":     {saved.Schedule{}, time.Minute, time.Minute},
		"quiet":       {quiet, time.Minute, time.Hour},
	} {
		due, late := tt.schedule.DueOf(eight.Add(-time.Minute), eight.Add(tt.now))
		require.Equal(t, eight.Add(tt.want), due, name)
		require.Equal(t, tt.schedule.Pace != "" && tt.now > 0, late, name)
	}
	due, _ := daily.DueOf(eight, eight.Add(time.Minute))
	require.Equal(t, eight.Add(24*time.Hour), due, "of the next day")
}

func TestDue(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		due, err := time.Parse(time.RFC3339, s)
		require.NoError(t, err)
		return due
	}
	for name, tt := range map[string]struct {
		schedule saved.Schedule
		now      time.Time
		want     string
	}{
		"at once":          {saved.Schedule{}, noon, "2026-11-23T12:00:00Z"},
		"the next hour":    {saved.Schedule{Pace: saved.Hourly}, noon.Add(time.Minute), "2026-11-23T13:00:00Z"},
		"today at eight":   {saved.Schedule{Pace: saved.Daily}, noon, "2026-11-23T13:00:00Z"},
		"tomorrow at six":  {saved.Schedule{Pace: saved.Daily, At: "06:00"}, noon, "2026-11-24T11:00:00Z"},
		"in the quiet":     {saved.Schedule{QuietAt: "22:00", QuietTo: "07:30"}, noon, "2026-11-23T12:30:00Z"},
		"before the quiet": {saved.Schedule{QuietAt: "22:00", QuietTo: "06:30"}, noon, "2026-11-23T12:00:00Z"},
		"in another zone":  {saved.Schedule{QuietAt: "12:00", QuietTo: "14:00", TimeZone: "UTC"}, noon, "2026-11-23T14:00:00Z"},
		"the next hour of half an hour": {
			saved.Schedule{Pace: saved.Hourly, TimeZone: "America/St_Johns"}, noon.Add(time.Minute), "2026-11-23T12:30:00Z",
		},
		"the next hour, as it strikes": {
			saved.Schedule{Pace: saved.Hourly, TimeZone: "Asia/Kathmandu"}, at("2026-11-23T12:15:00Z"), "2026-11-23T13:15:00Z",
		},
		"the hour that comes twice": {
			saved.Schedule{Pace: saved.Hourly}, at("2026-11-01T05:30:01Z"), "2026-11-01T06:00:00Z",
		},
		"the hour that is left out": {
			saved.Schedule{Pace: saved.Hourly}, at("2026-03-08T06:59:59.5Z"), "2026-03-08T07:00:00Z",
		},
		"quiet to a time that is left out": {
			saved.Schedule{QuietAt: "22:00", QuietTo: "02:30"}, at("2027-03-14T04:00:00Z"), "2027-03-14T07:00:00Z",
		},
		"quiet to a time that is left out, soon": {
			saved.Schedule{QuietAt: "22:00", QuietTo: "02:30"}, at("2027-03-14T06:30:01Z"), "2027-03-14T07:00:00Z",
		},
		"behind a time that is left out": {
			saved.Schedule{QuietAt: "22:00", QuietTo: "02:30"}, at("2027-03-14T07:00:00Z"), "2027-03-14T07:00:00Z",
		},
		"quiet to a time that is left out, east": {
			saved.Schedule{QuietAt: "22:00", QuietTo: "02:30", TimeZone: "Europe/Berlin"}, at("2027-03-28T00:30:01Z"),
			"2027-03-28T01:00:00Z",
		},
		"quiet to a time that is left out at midnight": {
			saved.Schedule{QuietAt: "22:00", QuietTo: "00:30", TimeZone: "America/Santiago"}, at("2027-09-05T03:45:00Z"),
			"2027-09-05T04:00:00Z",
		},
		"quiet to a time that comes twice": {
			saved.Schedule{QuietAt: "22:00", QuietTo: "01:30"}, at("2026-11-01T05:10:00Z"), "2026-11-01T05:30:00Z",
		},
		"behind a time that comes twice": {
			saved.Schedule{QuietAt: "22:00", QuietTo: "01:30"}, at("2026-11-01T06:10:00Z"), "2026-11-01T06:10:00Z",
		},
		"daily at a time that is left out": {
			saved.Schedule{Pace: saved.Daily, At: "02:30"}, at("2027-03-14T04:00:00Z"), "2027-03-14T07:00:00Z",
		},
		"no quiet":               {saved.Schedule{QuietAt: "07:00", QuietTo: "07:00"}, noon, "2026-11-23T12:00:00Z"},
		"over the end of summer": {saved.Schedule{Pace: saved.Daily}, at("2026-10-31T13:00:00Z"), "2026-11-01T13:00:00Z"},
	} {
		require.NoError(t, tt.schedule.Check(), name)
		require.Equal(t, at(tt.want), tt.schedule.Due(tt.now), name)
	}
	for _, s := range []saved.Schedule{
		{Pace: "weekly"}, {At: "25:00"}, {QuietAt: "22:00"}, {TimeZone: "Mars"}, {TimeZone: "Local"},
	} {
		require.Error(t, s.Check())
	}
}

// Items of one home are told as one.
func TestTogether(t *testing.T) {
	t.Parallel()
	home, other := uuid.New(), uuid.New()
	got := saved.Together([]saved.Item{
		{Events: []int64{1}, Kind: saved.New, Home: home, RentCents: 150_000},
		{Events: []int64{2}, Kind: saved.New, Home: other, RentCents: 90_000},
		{Events: []int64{3}, Kind: saved.PriceDrop, Home: home, RentCents: 140_000, OldRentCents: new(int64(150_000))},
	})
	require.Len(t, got, 2)
	require.Equal(t, []int64{1, 3}, got[0].Events)
	require.Equal(t, saved.New, got[0].Kind)
	require.Equal(t, int64(140_000), got[0].RentCents)
	require.Nil(t, got[0].OldRentCents)
	require.Equal(t, "1,450.50 $", saved.Dollars(145_050))
}

// A letter says in the language of its search what changed, and links only to what a browser opens as a page.
func TestLetter(t *testing.T) {
	t.Parallel()
	n := saved.Notice{Name: "Plateau\r\nMont-Royal", Language: saved.French, Items: []saved.Item{{
		Kind: saved.PriceDrop, Title: "Grand\n4½", Address: "rue Rachel, Plateau", District: "Plateau", RentCents: 139_000,
		OldRentCents: new(int64(145_000)), URL: "https://a.example/1", Offered: true,
	}}}
	const headline = "Baisse de prix : Grand 4½, 1\u00a0390\u00a0$ par mois au lieu de 1\u00a0450\u00a0$"
	l := n.Letter()
	require.Equal(t, headline, l.Subject)
	require.Equal(t, []saved.LetterItem{{
		Headline: headline, Where: "rue Rachel, Plateau", Change: "1\u00a0450\u00a0$ → 1\u00a0390\u00a0$",
		URL: "https://a.example/1",
	}}, l.Items)
	require.Empty(t, l.Confirm)
	for range 2 * saved.MaxLetterItems {
		n.Items = append(n.Items, saved.Item{Kind: saved.New, Title: "Loft", District: "Mile End", URL: "data:text/html,x"})
	}
	n.Language = saved.English
	l = n.Letter()
	require.Equal(t, "101 homes: Plateau Mont-Royal", l.Subject)
	require.Len(t, l.Items, saved.MaxLetterItems)
	require.Equal(t, "and 51 more", l.More)
	require.Equal(t, saved.LetterItem{
		Headline: "New: Loft, 0 $ a month", Where: "Mile End", Note: "no longer offered",
	}, l.Items[1])
	n.Confirms = true
	require.NotEmpty(t, n.Letter().Confirm)
	require.Empty(t, n.Letter().Items)
}

// An address is one however it is written.
func TestMailbox(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Jo@Example.org": "jo@example.org", "jo+homes+2@example.org": "jo@example.org", "\"a@b\"@c.example": "\"a@b\"@c.example",
		"+@c.example": "@c.example", "": "",
	} {
		require.Equal(t, want, saved.Mailbox(in))
	}
}

// A chat is one however it is written, and no mailbox.
func TestChatroom(t *testing.T) {
	t.Parallel()
	require.Equal(t, saved.Chatroom("@homes"), saved.Chatroom("@Homes"))
	require.NotEqual(t, saved.Chatroom("-1"), saved.Chatroom("1"))
	require.NotEqual(t, saved.Mailbox("telegram@homes"), saved.Chatroom("@homes"))
}

// A question for a stranger has little of what somebody else has written.
func TestLetterAsks(t *testing.T) {
	t.Parallel()
	for _, l := range saved.Languages {
		n := saved.Notice{Confirms: true, Language: l, Name: strings.Repeat("buy ", 40)}
		require.NotContains(t, n.Letter().Subject, "buy")
		require.Equal(t, 15, strings.Count(n.Letter().Intro[1], "buy"))
		mail := n.Letter()
		n.Channel = saved.Telegram
		require.NotEqual(t, mail.Confirm, n.Letter().Confirm, "a chat is no address")
		require.NotEqual(t, mail.Intro[0], n.Letter().Intro[0])
	}
}

// A webhook whose address leads nowhere is asked a few times over an hour or two, not for a day.
func TestMissedChallenge(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	n, now, asked := saved.Notice{Confirms: true, Channel: saved.Webhook}, began, 0
	for n.Tries < n.MaxTries() {
		counts, pause := n.Missed(saved.ErrUnreached, now)
		if asked++; counts {
			require.GreaterOrEqual(t, now.Sub(began), saved.UnreachedAsks)
			n.Tries++
		}
		n.Astray = &began
		now = now.Add(pause)
	}
	require.Less(t, asked, 30)
	require.Less(t, now.Sub(began), 2*time.Hour)
}

func TestBegunAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cores, roomy, short int }{{1, 5, 1}, {2, 10, 1}, {3, 15, 1}, {16, 80, 8}} {
		require.Equal(t, c.roomy, saved.BegunAtOnce(c.cores, false))
		require.Equal(t, c.short, saved.BegunAtOnce(c.cores, true))
	}
}
