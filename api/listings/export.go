package listings

import (
	"context"
	"iter"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
)

func (h Listings) registerExport(d *api.Door) {
	export := api.Needs(access.Read, api.Query("listings", "export-listings", "GET /listings/export", "Export listings",
		"All listings that the filters of GET /listings let through, the newest first, as CSV with a header, as a JSON "+
			"document a line, or as a GeoJSON FeatureCollection of those that have coordinates. Cells of CSV that a "+
			"spreadsheet would take for a formula have an apostrophe before them. An export that fails on the way ends "+
			"without its last chunk.", 400))
	export.Responses = api.Streamed("The listings", "text/csv")
	export.Responses["200"].Content["application/x-ndjson"] = &huma.MediaType{}
	export.Responses["200"].Content["application/geo+json"] = &huma.MediaType{}
	api.Stream(d, export, h.export)
}

type exportListingsInput struct {
	ListingQuery
	Format string `query:"format" enum:"csv,ndjson,geojson" default:"csv"`
}

// Resolve checks what a schema cannot express.
func (in *exportListingsInput) Resolve(ctx huma.Context) (wrong []error) {
	in.check(ctx, &wrong)
	return wrong
}

func (h Listings) export(_ context.Context, in *exportListingsInput) (*huma.StreamResponse, error) {
	switch in.Format {
	case "ndjson":
		return h.door.Export(api.File{ContentType: "application/x-ndjson", Name: "listings.ndjson"},
			func(ctx context.Context, w *api.Export) {
				h.each(ctx, w, in, func(l dblistings.ListingSummary) {
					w.JSON(showListing(l))
					w.Text("\n")
				})
			}), nil
	case "geojson":
		return h.door.Export(api.File{ContentType: "application/geo+json", Name: "listings.geojson"},
			func(ctx context.Context, w *api.Export) {
				w.Text(`{"type":"FeatureCollection","features":[`)
				comma := "\n"
				h.each(ctx, w, in, func(l dblistings.ListingSummary) {
					if l.Longitude == nil || l.Latitude == nil {
						return
					}
					w.Text(comma)
					comma = ",\n"
					w.JSON(showFeature(l))
				})
				w.Text("\n]}\n")
			}), nil
	}
	return h.door.Export(api.File{ContentType: "text/csv; charset=utf-8; header=present", Name: "listings.csv"},
		func(ctx context.Context, w *api.Export) {
			api.WriteTable(w, listingColumns, h.all(ctx, in), listingCells)
		}), nil
}

// all are the listings of an export.
func (h Listings) all(ctx context.Context, in *exportListingsInput) iter.Seq2[dblistings.ListingSummary, error] {
	return func(yield func(dblistings.ListingSummary, error) bool) {
		for l, err := range api.Bounded(h.Store.Export(ctx, in.filter()), api.ExportRows) {
			if err != nil {
				err = api.Asked("text", in.Text, err)
			}
			if !yield(l, err) {
				return
			}
		}
	}
}

// each calls write for each listing, until it or the database fails.
func (h Listings) each(
	ctx context.Context, w *api.Export, in *exportListingsInput, write func(dblistings.ListingSummary),
) {
	for l, err := range h.all(ctx, in) {
		if err != nil {
			w.Fail(err)
		}
		if w.Failed() {
			return
		}
		write(l)
	}
}

// A Feature is a listing on a map, as RFC 7946 has it.
type Feature struct {
	Type       string         `json:"type" enum:"Feature"`
	ID         string         `json:"id"`
	Geometry   Point          `json:"geometry"`
	Properties ListingSummary `json:"properties"`
}

// A Point is a place on a map: longitude, latitude, in degrees WGS 84.
type Point struct {
	Type        string     `json:"type" enum:"Point"`
	Coordinates [2]float64 `json:"coordinates"`
}

func showFeature(l dblistings.ListingSummary) Feature {
	return Feature{
		Type: "Feature", ID: l.ID.String(), Properties: showListing(l),
		Geometry: Point{Type: "Point", Coordinates: [2]float64{*l.Longitude, *l.Latitude}},
	}
}

// listingColumns are those of a CSV export; listingCells are their values.
var listingColumns = []string{
	"id", "platform", "platform_id", "status", "url", "title", "rent_cents", "bedrooms", "rooms", "bathrooms", "area_sqft",
	"property_type", "address", "latitude", "longitude", "neighbourhood", "neighbourhood_name", "borough", "images",
	"published_at", "updated_at", "posted_at",
}

func listingCells(l dblistings.ListingSummary) []string {
	return []string{
		l.ID.String(), l.Platform, api.TextCell(&l.PlatformID), l.Status, api.TextCell(&l.URL), api.TextCell(&l.Title),
		api.NumberCell(&l.RentCents), api.NumberCell(&l.Bedrooms), decimal(l.Rooms), decimal(l.Bathrooms),
		api.NumberCell(l.AreaSqFt), l.PropertyType, api.TextCell(&l.Address), decimal(l.Latitude), decimal(l.Longitude),
		api.TextOf(l.Neighbourhood), api.TextOf(l.NeighbourhoodName), api.TextOf(l.Borough), api.NumberCell(&l.Images),
		api.TimeCell(&l.PublishedAt), api.TimeCell(&l.UpdatedAt), api.TimeCell(l.PostedAt),
	}
}

// decimal is a number in a cell, "" for none.
func decimal(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}
