package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

// DuplicatesCmd lists homes with several adverts and takes a person's decisions on them.
type DuplicatesCmd struct {
	List      duplicatesListCmd   `cmd:"" help:"List homes with several adverts, the last changed first."`
	Same      duplicatesDecideCmd `cmd:"" help:"Assign a listing to a home; no rule removes it again."`
	Different duplicatesDecideCmd `cmd:"" help:"Remove a listing from a home; no rule adds it again."`
	Show      duplicatesDecideCmd `cmd:"" help:"Choose the listing that is shown for a home."`
	Undo      duplicatesUndoCmd   `cmd:"" help:"Undo a decision, by its number."`
}

type duplicatesListCmd struct {
	Kind     string `help:"Homes with an advert of this kind: duplicate (another platform) or repost (the same one)." enum:"duplicate,repost," default:""`
	Reviewed string `help:"Homes that a person has decided on: yes or no." enum:"yes,no," default:""`
	Listing  string `help:"The home of the listing with this ID, also one that it is alone in by a decision that can be undone." placeholder:"ID"`
	listFlags
}

// Run prints page after page, up to --limit.
func (c *duplicatesListCmd) Run(ctx context.Context, r Client) error {
	q := url.Values{}
	setQuery(q, "kind", c.Kind)
	setQuery(q, "reviewed", c.Reviewed)
	setQuery(q, "listing", c.Listing)
	return pages[apilistings.Home]{
		Path: "/duplicates", Query: q, listFlags: c.listFlags,
		Row: printHome,
	}.list(ctx, r, "no home with several adverts matches")
}

// printHome writes a line for a home, one for each of its adverts, and one for each decision.
func printHome(w io.Writer, h apilistings.Home) {
	fmt.Fprintf(w, "home %s\tchanged %s\n", h.ID, h.UpdatedAt.UTC().Format(time.DateTime))
	for _, m := range h.Members {
		state := "linked"
		switch {
		case m.ListingID == h.Shown:
			state = "shown"
		case m.Hidden:
			state = "hidden"
		}
		if m.ReviewedBy != "" {
			state += ", reviewed by " + Plain(m.ReviewedBy)
		}
		why := make([]string, len(m.Reasons))
		for i, r := range m.Reasons {
			why[i] = r.Message
		}
		fmt.Fprintf(w, "  %s\t%s/%s\t%s\t%d $\t%s\t%s\n", m.ListingID, Plain(m.Platform), Plain(m.PlatformID), state,
			m.RentCents/100, Short(Plain(m.Title), 50), Short(Plain(strings.Join(why, "; ")), 120))
	}
	for _, v := range h.Verdicts {
		undone := ""
		if v.UndoneAt != nil {
			undone = ", undone by " + Plain(v.UndoneBy)
		}
		fmt.Fprintf(w, "  decision %d\t%s\t%s by %s%s\n", v.Number, v.ListingID, v.Verdict, Plain(v.Reviewer), undone)
	}
}

type duplicatesDecideCmd struct {
	Home    uuid.UUID `arg:"" help:"ID of a home, from the list, or of a listing of it."`
	Listing uuid.UUID `arg:"" help:"ID of the listing that the decision is about."`
}

// Run says of the listing what the command is called.
func (c *duplicatesDecideCmd) Run(ctx context.Context, r Client, k *kong.Context) error {
	var out apilistings.DuplicateDecided
	in := apilistings.DuplicateDecision{Verdict: k.Selected().Name, ListingID: c.Listing}
	if err := r.call(ctx, http.MethodPost, "/duplicates/"+c.Home.String(), in, &out); err != nil {
		return err
	}
	fmt.Printf("decision %d: listing %s belongs to home %s; %d adverts go through the pipeline; conveyor duplicates undo %d undoes it\n",
		out.Number, c.Listing, out.Home, out.Restarted, out.Number)
	return nil
}

type duplicatesUndoCmd struct {
	Number int64 `arg:"" help:"Number of the decision, from list --listing ID."`
}

// Run undoes a decision.
func (c *duplicatesUndoCmd) Run(ctx context.Context, r Client) error {
	path := fmt.Sprintf("/duplicates/verdicts/%d/undo", c.Number)
	if err := r.call(ctx, http.MethodPost, path, nil, nil); err != nil {
		return err
	}
	fmt.Printf("decision %d is undone\n", c.Number)
	return nil
}
