package listings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/place"
)

func (h Listings) registerMap(d *api.Door) {
	api.Serve(d, api.Needs(access.Read, api.Query("listings", "count-listings", "GET /listings/count", "Count listings",
		"Of the same filters as GET /listings: exactly up to 1,000, and above that an estimate.", 400)), h.count)
	api.Serve(d, api.Needs(access.Read, api.Query("listings", "map-listings", "GET /listings/cells",
		"Count listings by squares of the map",
		"Of the same filters as GET /listings; bbox is required. At most 400 squares. Listings without coordinates are in "+
			"none.", 400)), h.cells)
	places := api.Needs(access.Read, api.Query("listings", "list-neighbourhoods", "GET /neighbourhoods",
		"List the districts of Montréal with their rents",
		"The 91 housing reference districts (City of Montréal, CC-BY 4.0), with limits simplified to 20 metres, and the "+
			"active listings of each, within a minute. If-None-Match is answered by 304.", 304))
	places.Metadata[api.TimeoutKey] = api.SearchTimeout
	api.Serve(d, places, h.neighbourhoods)
}

type countListingsInput struct{ ListingQuery }

// Resolve checks what a schema cannot express.
func (in *countListingsInput) Resolve(ctx huma.Context) (wrong []error) {
	in.check(ctx, &wrong)
	return wrong
}

// ListingCount is the answer of GET /listings/count.
type ListingCount struct {
	Count int64 `json:"count"`
	Exact bool  `json:"exact" doc:"false: more than 1,000, and about as many as count says"`
}

func (h Listings) count(ctx context.Context, in *countListingsInput) (*api.Body[ListingCount], error) {
	n, exact, err := h.Store.Count(ctx, in.filter())
	return api.BodyOf(ListingCount{n, exact}), api.Asked("text", in.Text, err)
}

type mapListingsInput struct {
	ListingQuery
	Zoom int `query:"zoom" minimum:"0" maximum:"20" default:"12" doc:"of the map: the squares are about 32 pixels wide, where there are not too many of them"`
}

// Resolve checks what a schema cannot express.
func (in *mapListingsInput) Resolve(ctx huma.Context) (wrong []error) {
	in.check(ctx, &wrong)
	if in.BBox == "" {
		api.Refusing(&wrong)("bbox", in.BBox, errors.New("expected west,south,east,north in degrees"))
	}
	return wrong
}

// ListingCells is the answer of GET /listings/cells.
type ListingCells struct {
	Width  float64       `json:"width" doc:"of a square, in degrees of longitude"`
	Height float64       `json:"height" doc:"in degrees of latitude"`
	Cells  []ListingCell `json:"cells" doc:"the fullest first"`
}

// A ListingCell is the listings of a square of the map.
type ListingCell struct {
	Longitude       float64    `json:"longitude" doc:"of the middle of the listings"`
	Latitude        float64    `json:"latitude"`
	Count           int64      `json:"count"`
	MedianRentCents int64      `json:"median_rent_cents"`
	ID              *uuid.UUID `json:"id,omitempty" doc:"of the listing, where there is only one"`
}

const (
	mostCells  = 400
	cellPixels = 32
	tilePixels = 256
)

// cellSize is the size of the squares of a map, in degrees: so wide that a box has no more of them than mostCells. It
// depends on the zoom and the extent of the box only, so that squares stay where they are when the map is moved.
func cellSize(box dblistings.Box, zoom int) (width, height float64) {
	width = 360 * cellPixels / (tilePixels * math.Exp2(float64(zoom)))
	for {
		height = width * math.Cos(45.5*math.Pi/180) // as high as wide, at Montréal
		across, down := (box.East-box.West)/width+2, (box.North-box.South)/height+2
		if across*down <= mostCells {
			return width, height
		}
		width *= 2
	}
}

func (h Listings) cells(ctx context.Context, in *mapListingsInput) (*api.Body[ListingCells], error) {
	width, height := cellSize(*in.box, in.Zoom)
	cells, err := h.Store.Cells(ctx, in.filter(), width, height, mostCells)
	if err != nil {
		return nil, api.Asked("text", in.Text, err)
	}
	show := func(c dblistings.ListingCell) ListingCell { return ListingCell(c) }
	return api.BodyOf(ListingCells{width, height, api.Each(cells, show)}), nil
}

type neighbourhoodsInput struct {
	Geometry bool   `query:"geometry" doc:"with their limits, about 80 kB"`
	Match    string `header:"If-None-Match" maxLength:"2000"`
}

// NeighbourhoodList is the answer of GET /neighbourhoods.
type NeighbourhoodList struct {
	Attribution string          `json:"attribution" doc:"to be shown with the limits"`
	Items       []Neighbourhood `json:"items"`
}

// A Neighbourhood is a district, with the rents of its active listings. Rooms in shared homes are left out.
type Neighbourhood struct {
	Key         string             `json:"key"`
	Name        string             `json:"name" doc:"may say little by itself: label has the borough"`
	Label       string             `json:"label"`
	Borough     string             `json:"borough,omitempty"`
	City        string             `json:"city"`
	Active      int64              `json:"active" doc:"listings"`
	MedianCents int64              `json:"median_rent_cents,omitempty" doc:"absent where there are no listings"`
	Rents       []NeighbourhoodFor `json:"rents" doc:"by bedrooms"`
	Polygons    [][][][2]float64   `json:"polygons,omitempty" doc:"as a MultiPolygon of GeoJSON"`
}

// NeighbourhoodFor is the rents of homes with as many bedrooms.
type NeighbourhoodFor struct {
	Bedrooms    int   `json:"bedrooms" doc:"0 is a studio"`
	Active      int64 `json:"active"`
	MedianCents int64 `json:"median_rent_cents"`
}

type neighbourhoodsOutput struct {
	ETag string `header:"ETag"`
	Body NeighbourhoodList
}

func (h Listings) neighbourhoods(ctx context.Context, in *neighbourhoodsInput) (*neighbourhoodsOutput, error) {
	rents, err := h.Store.PlaceRents(ctx)
	if err != nil {
		return nil, err
	}
	by := map[string][]dblistings.PlaceRents{}
	for _, r := range rents {
		by[r.Key] = append(by[r.Key], r)
	}
	out := NeighbourhoodList{Attribution: "Ville de Montréal, CC BY 4.0", Items: []Neighbourhood{}}
	for _, o := range place.Outlines() {
		n := Neighbourhood{
			Key: o.Key, Name: o.Name, Label: o.Label(), Borough: o.Borough, City: o.City, Rents: []NeighbourhoodFor{},
		}
		for _, r := range by[o.Key] {
			if r.Bedrooms == nil {
				n.Active, n.MedianCents = r.Active, r.MedianCents
			} else {
				n.Rents = append(n.Rents, NeighbourhoodFor{*r.Bedrooms, r.Active, r.MedianCents})
			}
		}
		if in.Geometry {
			n.Polygons = o.Polygons
		}
		out.Items = append(out.Items, n)
	}
	doc, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(doc)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	if api.Unchanged(in.Match, tag) {
		return nil, huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"Etag": {tag}})
	}
	return &neighbourhoodsOutput{tag, out}, nil
}
