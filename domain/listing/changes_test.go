package listing_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
)

func TestChanges(t *testing.T) {
	before := listing.Listing{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1"}, Title: "4 ½", Description: "one", RentCents: 130_000,
		Bedrooms: 2, Pets: listing.Pets{Policy: "no"}, ImageURLs: []string{"https://a.example/1.jpg"},
		Sources: map[string]listing.Source{"rent_cents": {From: "price"}},
	}
	require.Empty(t, listing.Changes(before, before))

	after := before
	after.ScrapedAt = time.Unix(1, 0)
	after.Sources = map[string]listing.Source{"rent_cents": {From: "title"}}
	require.Empty(t, listing.Changes(before, after), "when and how it was read")

	after.Description, after.RentCents, after.Pets, after.Furnished = "two", 125_000, listing.Pets{Cats: "yes"}, "yes"
	after.ImageURLs = nil
	value := func(s string) json.RawMessage { return json.RawMessage(s) }
	require.Equal(t, []listing.Change{
		{Field: "description"},
		{Field: "furnished", To: value(`"yes"`)},
		{Field: "image_urls"},
		{Field: "pets", From: value(`{"policy":"no"}`), To: value(`{"cats":"yes"}`)},
		{Field: "rent_cents", From: value("130000"), To: value("125000")},
	}, listing.Changes(before, after))
}
