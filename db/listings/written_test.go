package listings_test

import (
	"crypto/sha256"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// The hash is stored with each listing: it stays what it was, the hash of the document without a time.
func TestWrittenOnceForDocumentAndHash(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 12, 1, 10, 0, 0, 123456000, time.FixedZone("", -5*3600))
	const said = `"scraped_at":"1999-01-01T00:00:00Z"`
	for name, l := range map[string]listing.Listing{
		"empty":             {},
		"at a time":         {ScrapedAt: at, Title: "4 ½", RentCents: 120_000},
		"text that says so": {ScrapedAt: at, Title: said, Description: "{" + said + "}"},
		"names that say so": {
			ScrapedAt: at, Ref: listing.Ref{Platform: said, PlatformID: said}, URL: "https://a.example/?" + said,
		},
	} {
		doc, sum, err := dblistings.Written(l)
		require.NoError(t, err, name)
		stored, err := json.Marshal(l)
		require.NoError(t, err, name)
		require.Equal(t, string(stored), string(doc), name)
		l.ScrapedAt = time.Time{}
		timeless, err := json.Marshal(l)
		require.NoError(t, err, name)
		want := sha256.Sum256(timeless)
		require.Equal(t, want[:], sum, name)
	}
	nan := math.NaN()
	_, _, err := dblistings.Written(listing.Listing{Latitude: &nan})
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class)
}
