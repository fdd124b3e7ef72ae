package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
)

// enrichments is the database as the enrichment sees it.
type enrichments struct {
	of     listing.Enriching
	answer []listing.Fact // known for every question
	left   int            // questions of the day
	err    error          // of every write

	saved []listing.Enrichment
}

func (s *enrichments) Enriching(context.Context, uuid.UUID) (listing.Enriching, error) {
	return s.of, nil
}

func (s *enrichments) ModelAnswer(context.Context, []byte) ([]listing.Fact, error) {
	return s.answer, nil
}

func (s *enrichments) SaveEnrichment(_ context.Context, of listing.Enriching, e listing.Enrichment, _ time.Time) error {
	if s.err == nil {
		s.saved, s.of.Stored, s.of.Of = append(s.saved, e), &e, of.Revision
	}
	return s.err
}

func (s *enrichments) TakeQuestion(context.Context, int, time.Time) (bool, error) {
	s.left--
	return s.left >= 0, nil
}

// gasHeated is a published listing by a metro station.
func gasHeated() *enrichments {
	lat, lon := 45.5432, -73.6281
	return &enrichments{left: 1, of: listing.Enriching{Revision: 3, Listing: listing.Listing{
		Ref: ref, Title: "4½ rénové", Description: "Chauffage au gaz. Toit terrasse commun.", Latitude: &lat, Longitude: &lon,
	}}}
}

func stations(t *testing.T) *place.Points {
	t.Helper()
	set, err := place.ReadPoints("metro", []byte("name,lat,lon\nJarry,45.5431,-73.6285\nElsewhere,46.5,-73.6\n"))
	require.NoError(t, err)
	return &place.Points{Sets: []place.Set{set}, Attribution: "© the city"}
}

func TestEnrichListing(t *testing.T) {
	t.Parallel()
	s := gasHeated()
	a := &activities.Enriching{Store: s, Places: stations(t), Now: clock}
	for range 2 { // the second finds everything stored
		job, err := step(t, a.EnrichListing, activities.ListingJob{Ref: ref})
		require.NoError(t, err)
		require.Equal(t, activities.ListingJob{Ref: ref, Revision: 3}, job)
	}
	require.Equal(t, []listing.Enrichment{{
		Facts: []listing.Fact{
			{Field: "amenity", Value: "rooftop", From: "description", Text: "Toit terrasse"},
			{Field: "heating", Value: "gas", From: "description", Text: "Chauffage au gaz"},
			{Field: "renovated", Value: "all", From: "title", Text: "rénové"},
		},
		Places: []listing.Nearby{{Kind: "metro", Name: "Jarry", Metres: 33}}, Attribution: "© the city",
	}}, s.saved)

	a.Model = "small"
	job, err := step(t, a.EnrichListing, activities.ListingJob{Ref: ref})
	require.NoError(t, err)
	require.True(t, job.Ask)
	require.NotEmpty(t, s.of.Stored.Question)
	s.answer = []listing.Fact{}
	job, err = step(t, a.EnrichListing, activities.ListingJob{Ref: ref})
	require.NoError(t, err)
	require.False(t, job.Ask, "another advert had the same text")

	s.of.Revision++
	_, err = step(t, a.EnrichListing, activities.ListingJob{Ref: ref})
	require.NoError(t, err)
	require.EqualValues(t, 4, s.of.Of, "the same is known of the next version")

	s.err, s.of.Stored, s.of.Of = errAway, nil, 0
	_, err = step(t, a.EnrichListing, activities.ListingJob{Ref: ref})
	require.Equal(t, fault.Transient, fault.ClassOf(err))
}

// An import enriches what it publishes, in its transaction, unless all of that is stored.
func TestImportListingEnriches(t *testing.T) {
	t.Parallel()
	answers := gasHeated()
	s := &store{version: listing.Version{Listing: answers.of.Listing, Revision: 3}}
	a := &activities.Listings{
		Store: s, Now: clock, Enriching: &activities.Enriching{Store: answers, Places: stations(t), Now: clock},
	}
	run := func(enrich bool) activities.ListingJob {
		s.publication = listing.Publication{}
		job, err := step(t, a.ImportListing, activities.ListingJob{Ref: ref, Enrich: enrich})
		require.NoError(t, err)
		require.Equal(t, activities.Imported, job.Outcome)
		return job
	}
	require.Empty(t, run(false).Enriched)
	require.Nil(t, s.publication.Enrichment)

	job := run(true)
	require.Equal(t, "3 facts, 1 places", job.Enriched)
	require.False(t, job.Ask)
	require.Len(t, s.publication.Enrichment.Facts, 3)
	require.Equal(t, []listing.Nearby{{Kind: "metro", Name: "Jarry", Metres: 33}}, s.publication.Enrichment.Places)
	require.Empty(t, answers.saved, "it is saved with the listing")

	s.version.Enriched, s.version.EnrichedOf = s.publication.Enrichment, 3
	require.Equal(t, "3 facts, 1 places", run(true).Enriched)
	require.Nil(t, s.publication.Enrichment, "all of it is stored")
	s.version.Revision++
	run(true)
	require.NotNil(t, s.publication.Enrichment, "the same is known of the next version")

	a.Enriching.Model = "small"
	require.True(t, run(true).Ask)
	answers.answer = []listing.Fact{}
	require.False(t, run(true).Ask, "another advert had the same text")
}

// model answers every question with a text or an error.
type model struct {
	answer string
	err    error
	asked  int
}

func (m *model) Answer(context.Context, listing.Question) (string, error) {
	m.asked++
	return m.answer, m.err
}

func TestAskModel(t *testing.T) {
	t.Parallel()
	true1 := `{"field": "amenity", "value": "rooftop", "quote": "toit terrasse"}`
	lie := `{"field": "view", "value": "water", "quote": "vue sur le fleuve"}`
	roof := listing.Fact{Field: "amenity", Value: "rooftop", From: "model", Text: "toit terrasse"}
	for _, tt := range []struct {
		name  string
		store func(*enrichments)
		model model
		class fault.Class
		want  []listing.Fact // stored; nil = nothing is
		asked int
	}{
		{"an answer", nil, model{answer: `{"fields": [` + true1 + `]}`}, "",
			[]listing.Fact{roof}, 1},
		{"a lie in it", nil, model{answer: `{"fields": [` + lie + `,` + true1 + `]}`}, "",
			[]listing.Fact{roof}, 1},
		{"nonsense", nil, model{answer: "As a language model"}, fault.Transient, nil, 1},
		{"a refusal", nil, model{err: fault.Newf(fault.Blocked, "HTTP 401")}, fault.Blocked, nil, 1},
		{"a stall", nil, model{err: errors.New("deadline exceeded")}, fault.Transient, nil, 1},
		{"no question left", func(s *enrichments) { s.left = 0 }, model{}, "", nil, 0},
		{"answered meanwhile", func(s *enrichments) { s.answer = []listing.Fact{roof} }, model{}, "",
			[]listing.Fact{roof}, 0},
		{"not enriched", func(s *enrichments) { s.of.Stored = nil }, model{}, "", nil, 0},
		{"the database goes down", func(s *enrichments) { s.err = errAway }, model{answer: `{"fields": []}`},
			fault.Transient, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := gasHeated()
			s.of.Stored = &listing.Enrichment{Facts: []listing.Fact{}, Places: []listing.Nearby{}}
			if tt.store != nil {
				tt.store(s)
			}
			a := &activities.Asking{Store: s, Model: &tt.model, Name: "small", Daily: 1, Now: clock}
			_, err := step(t, a.AskModel, activities.ListingJob{Ref: ref})
			require.Equal(t, tt.class, fault.ClassOf(err), "%v", err)
			require.Equal(t, tt.asked, tt.model.asked)
			if tt.want == nil {
				require.Empty(t, s.saved)
				return
			}
			require.Len(t, s.saved, 1)
			require.Equal(t, tt.want, s.saved[0].Model)
		})
	}
}
