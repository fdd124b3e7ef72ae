package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

// ListingsCmd exports listings and their rents, shows adverts that are none, and claims listings for their owners.
type ListingsCmd struct {
	Export  listingsExportCmd  `cmd:"" help:"Write listings as CSV, NDJSON or GeoJSON."`
	Rents   rentsCmd           `cmd:"" help:"Show the rents asked, by place, bedrooms and time."`
	Refused listingsRefusedCmd `cmd:"" help:"List adverts that are no listings, with every reason."`
	Reasons listingsReasonsCmd `cmd:"" help:"Count rejected adverts by day, platform and reason."`
	Claim   claimCmd           `cmd:"" help:"Claim a listing for its owner: it is not archived when it is no longer seen."`
	Unclaim unclaimCmd         `cmd:"" help:"Lift the claim of a listing."`
}

type listingsExportCmd struct {
	Format   string `help:"Format: ${enum}." enum:"csv,ndjson,geojson" default:"csv"`
	Out      string `short:"o" help:"File to write; the default is standard output." placeholder:"FILE"`
	Platform string `help:"Only listings of this platform."`
	Status   string `help:"Only listings in this state: ${enum}." enum:"active,archived,claimed,any" default:"active"`
	homeFlags
	HasImages    string `help:"Whether at least one picture is stored: yes or no." placeholder:"WHICH"`
	UpdatedSince string `help:"Least time of the last change." placeholder:"2027-07-01T00:00:00Z"`
	BBox         signed `name:"bbox" help:"Part of the map: west,south,east,north in degrees." placeholder:"W,S,E,N"`
	Text         string `help:"Words in title, description and address, at most 32 words or phrases."`
}

// path is the export in the API.
func (c *listingsExportCmd) path() string {
	q := url.Values{"format": {c.Format}, "status": {c.Status}}
	setQuery(q, "platform", c.Platform)
	c.setQuery(q)
	setQuery(q, "has_images", c.HasImages)
	setQuery(q, "updated_since", c.UpdatedSince)
	setQuery(q, "bbox", string(c.BBox))
	setQuery(q, "text", c.Text)
	return "/listings/export?" + q.Encode()
}

// Run writes listings. A file is there only when it is whole.
func (c *listingsExportCmd) Run(ctx context.Context, r Client) error {
	body, err := r.stream(ctx, c.path())
	if err != nil {
		return err
	}
	defer body.Close()
	return save(body, c.Out, ofAnyone)
}

type rentsCmd struct {
	By       string `help:"Places: ${enum}." enum:"borough,neighbourhood" default:"borough"`
	Interval string `help:"Length of an interval: ${enum}." enum:"week,month,quarter" default:"month"`
	Since    string `help:"First day; the default is a year before the last one." placeholder:"2026-01-01"`
	Until    string `help:"Day after the last one." placeholder:"2027-01-01"`
	Bedrooms []int  `help:"Any of these numbers of bedrooms; 0 is a studio." placeholder:"N"`
	Least    int    `help:"Leave out groups of fewer listings." default:"5"`
	JSON     bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints the groups as a table.
func (c *rentsCmd) Run(ctx context.Context, r Client) error {
	q := url.Values{"by": {c.By}, "interval": {c.Interval}, "least": {strconv.Itoa(c.Least)}}
	setQuery(q, "since", c.Since)
	setQuery(q, "until", c.Until)
	setQuery(q, "bedrooms", commas(c.Bedrooms))
	return show(ctx, r, http.MethodGet, "/stats/rents?"+q.Encode(), nil, c.JSON, printRents)
}

func printRents(out io.Writer, got apilistings.Rents) error {
	return printTable(out, got.Groups,
		"no group has as many listings; --least 1 leaves none out, --since goes further back",
		"FROM\tPLACE\tBEDROOMS\tLISTINGS\tLOW\tMEDIAN\tHIGH", func(t io.Writer, g apilistings.RentGroup) {
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d $\t%d $\t%d $\n", g.From.Format(time.DateOnly), Plain(cmp.Or(g.Place, "–")),
				g.Bedrooms, g.Listings, g.LowCents/100, g.MidCents/100, g.HighCents/100)
		})
}

// setQuery sets a parameter that is given.
func setQuery(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// commas are values as a parameter has them.
func commas[T any](values []T) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, ",")
}

// An advertArg names an advert.
type advertArg struct {
	Advert string `arg:"" help:"<platform>/<platform ID>, such as kijiji/1734829312."`
}

// Validate reports a name of another form; kong calls it.
func (a *advertArg) Validate() error {
	if platform, id, ok := strings.Cut(a.Advert, "/"); !ok || platform == "" || id == "" || strings.Contains(id, "/") {
		return errors.New(strconv.Quote(a.Advert) + " does not have the form <platform>/<platform ID>")
	}
	return nil
}

type claimCmd struct{ advertArg }

// Run claims a listing.
func (c *claimCmd) Run(ctx context.Context, r Client) error {
	return c.set(ctx, r, "claim", os.Stdout)
}

type unclaimCmd struct{ advertArg }

// Run lifts a claim.
func (c *unclaimCmd) Run(ctx context.Context, r Client) error {
	return c.set(ctx, r, "unclaim", os.Stdout)
}

// set claims a listing, or lifts its claim, and says what came of it.
func (a *advertArg) set(ctx context.Context, r Client, verb string, out io.Writer) error {
	platform, id, _ := strings.Cut(a.Advert, "/")
	var got apilistings.ListingClaim
	path := "/listings/" + url.PathEscape(platform) + "/" + url.PathEscape(id) + "/" + verb
	if err := r.call(ctx, http.MethodPost, path, nil, &got); err != nil {
		return err
	}
	said := verb + "ed"
	if !got.Changed {
		said = "was " + said + " already"
	}
	fmt.Fprintf(out, "%s (listing %s): %s\n", Plain(a.Advert), got.ListingID, said)
	return nil
}
