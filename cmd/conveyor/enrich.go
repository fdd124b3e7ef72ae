package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/activities"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/model"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// modelSlots is how many questions to the language model one worker has in flight.
const modelSlots = 4

// enrichment builds the activities that enrich listings. A file of places that cannot be read, or a model that cannot
// be asked, is logged and left out: listings are published without.
func (h *house) enrichment(ctx context.Context, store *dblistings.Listings) (
	enriching *activities.Enriching, rows []workers.Row, done func(),
) {
	c := h.config.Enrich
	enriching = &activities.Enriching{Store: store, Now: time.Now}
	asking := &activities.Asking{Store: store, Name: c.Model, Daily: c.Daily, Now: time.Now}
	done = func() {}
	if slices.Contains(h.config.Worker.Queues, workflows.QueueListings) && h.config.Listings.Enrich == listing.EnrichHere {
		points, err := readPlaces(c)
		if err != nil {
			h.log.WarnContext(ctx, "listings are enriched without places", "err", err)
		}
		enriching.Places = points
	}
	if c.URL != "" {
		client, err := model.New(c.Options())
		if err != nil { // config has checked it
			h.log.WarnContext(ctx, "listings are enriched without a language model", "err", err)
		} else {
			enriching.Model, asking.Model, done = c.Model, client, client.Close
		}
	}
	return enriching, []workers.Row{
		{Queue: workflows.QueueListings, Activities: []any{enriching}},
		{Queue: workflows.QueueEnrich, Slots: modelSlots, Activities: []any{asking}},
	}, done
}

// readPlaces reads the files of CONVEYOR_ENRICH_PLACES. Without any it is nil.
func readPlaces(c config.Enrich) (*place.Points, error) {
	if len(c.Places) == 0 {
		return nil, nil //nolint:nilnil // nil points are none
	}
	points := &place.Points{Attribution: c.Attribution}
	for _, p := range c.Places {
		kind, path, _ := strings.Cut(p, "=")
		data, err := readUpTo(path, place.MaxPointsFile)
		if err != nil {
			return nil, fmt.Errorf("read places of kind %s: %w", kind, err)
		}
		set, err := place.ReadPoints(kind, data)
		if err != nil {
			return nil, err
		}
		points.Sets = append(points.Sets, set)
	}
	return points, nil
}

// readUpTo reads a file of at most so many bytes.
func readUpTo(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return data, err
}
