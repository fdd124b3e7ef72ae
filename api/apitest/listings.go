package apitest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/blob"
)

// PersonalData is in every advert of these tests and in no answer.
var PersonalData = []string{"Ginette Tremblay", "514-555-0199", "ginette@example.org"}

// Scrape stores an advert as it comes from a scraper, and returns its revision.
func (d *Door) Scrape(t *testing.T, ref listing.Ref, title string, at time.Time) int64 {
	t.Helper()

	payload := fmt.Sprintf(`{"platform": %q, "platform_id": %q, "title": %q, "size": 1.50,
		"contact": {"name": %[4]q, "phone": %[5]q}, "Contact": {"name": %[4]q},
		"raw": {"sellerPhone": %[5]q, "id": 7, "list": [{"e-mail": %[6]q, "kept": true}]}}`,
		ref.Platform, ref.PlatformID, title, PersonalData[0], PersonalData[1], PersonalData[2])
	got, err := d.Store.Receive(t.Context(), []dblistings.Arrival{{
		Ref: ref, URL: "https://example.org/" + ref.PlatformID, Payload: []byte(payload), ContentHash: []byte(payload),
		ScrapedAt: at,
	}}, at)
	require.NoError(t, err)
	return got[0].Revision
}

// Publish brings an advert to its end.
func (d *Door) Publish(t *testing.T, l listing.Listing, neighbourhood string, at time.Time) {
	t.Helper()

	ctx := t.Context()
	revision := d.Scrape(t, l.Ref, fmt.Sprint(l.Title, l.RentCents), at)
	l.URL, l.ScrapedAt = "https://example.org/"+l.PlatformID, at
	require.NoError(t, d.Store.SaveNormalized(ctx, l, listing.Payload{Revision: revision}, at))
	v, err := d.Store.Load(ctx, l.ID())
	require.NoError(t, err)
	p := listing.Publication{Version: v, Neighbourhood: neighbourhood}
	_, err = d.Store.Publish(ctx, p, listing.Run{WorkflowID: "listing/" + l.String()}, at)
	require.NoError(t, err)
}

// Kijiji is an advert of it.
func Kijiji(id string) listing.Ref { return listing.Ref{Platform: "kijiji", PlatformID: id} }

// Page is the answer of a list of listings.
type Page struct {
	Items      []apilistings.ListingSummary
	NextCursor string `json:"next_cursor"`
}

// Names are the numbers of its adverts.
func (p Page) Names() []string {
	out := []string{}
	for _, l := range p.Items {
		out = append(out, l.PlatformID)
	}
	return out
}

// Twins stores two adverts of one home, on two platforms: the first is published, and the second is a duplicate.
func (d *Door) Twins(t *testing.T, id string) (first, second uuid.UUID) {
	t.Helper()

	ctx := t.Context()
	for _, platform := range []string{"kijiji", "kangalou"} {
		ref := listing.Ref{Platform: platform, PlatformID: id}
		revision := d.Scrape(t, ref, "Beau 4½", Now)
		lat, lon := 45.5, -73.6
		l := listing.Listing{Ref: ref, URL: "https://example.org/" + id, ScrapedAt: Now, Title: "Beau 4½", RentCents: 125_000,
			Bedrooms: 2, Latitude: &lat, Longitude: &lon, Address: listing.Address{Civic: []string{id}, Street: "Rue Cartier"}}
		require.NoError(t, d.Store.SaveNormalized(ctx, l, listing.Payload{Revision: revision}, Now))
		v, err := d.Store.Load(ctx, l.ID())
		require.NoError(t, err)
		j, _, err := d.Store.JoinHome(ctx, v, nil, listing.Run{}, Now)
		require.NoError(t, err)
		if !j.Hidden {
			_, err = d.Store.Publish(ctx, listing.Publication{Version: v}, listing.Run{}, Now)
			require.NoError(t, err)
			first = l.ID()
			continue
		}
		second = l.ID()
	}
	require.NotZero(t, second)
	return first, second
}

// Gallery serves a store with one picture and its thumbnail from a folder that has a secret beside it.
func Gallery(t *testing.T) (d *Door, key string) {
	t.Helper()

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.jpg"), []byte("secret"), 0o600))
	pictures, err := blob.Open(t.Context(), filepath.Join(dir, "store"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = pictures.Close() }) // a test may have closed it
	key, _, err = pictures.PutImage(t.Context(), []byte("0123456789"), "png")
	require.NoError(t, err)
	_, err = pictures.PutThumbnail(t.Context(), key, []byte("small"))
	require.NoError(t, err)
	return Bare(t, func(p *Parts) { p.Images.Blobs = pictures }), key
}

// SearchURL is the address of a search on Kijiji.
const SearchURL = "https://www.kijiji.ca/b-apartments-condos/ville-de-montreal/c37l1700281"

// Scraped returns platforms of which kijiji is scraped, and kangalou is once an operator enables it.
func Scraped(t *testing.T, d *Door) *dblistings.Platforms {
	t.Helper()

	s := dblistings.NewPlatforms(d.Pool)
	pace := scrape.Pace{Transport: scrape.Browser, Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute}
	require.NoError(t, s.Configure(t.Context(), "kijiji", scrape.Settings{URL: SearchURL, Enabled: true, Pace: pace}, Now))
	pace.Transport = scrape.HTTP
	require.NoError(t, s.Configure(t.Context(), "kangalou", scrape.Settings{URL: "https://k.example/fr/recherche/", Pace: pace}, Now))
	return s
}

// Platform is a platform as the API shows it.
func (d *Door) Platform(t *testing.T, name string) apilistings.Platform {
	t.Helper()
	return Read[apilistings.Platform](t, d.Get(t, "/platforms/"+name), http.StatusOK)
}

// Deeds are the rows of the audit.
func (d *Door) Deeds(t *testing.T) (out []string) {
	t.Helper()

	rows, err := d.Pool.Query(t.Context(), "SELECT actor || ' ' || action || ' ' || subject FROM audit ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var s string
		require.NoError(t, rows.Scan(&s))
		out = append(out, s)
	}
	return out
}

// End ends a replay.
func (d *Door) End(t *testing.T, id uuid.UUID) {
	t.Helper()
	require.NoError(t, d.Replays.Store.EndReplay(t.Context(), id, listing.ReplayFailed, "why", Now))
}
