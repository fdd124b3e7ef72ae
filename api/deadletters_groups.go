package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

func (h DeadLetters) registerGroups(d *Door, tags []string) {
	Serve(d, Needs(access.Read, huma.Operation{
		OperationID: "group-dead-letters", Method: http.MethodGet, Path: "/dead-letters/groups", Tags: tags,
		Summary: "Group dead letters by queue, class and reason", RejectUnknownQueryParameters: true,
		Description: "Reasons that differ in numbers and IDs only are one. The largest group comes first. The newest 10,000 " +
			"dead letters are looked at, and at most 200 groups are shown.",
	}), h.groups)
	Serve(d, Needs(access.Operate, huma.Operation{
		OperationID: "discard-dead-letters", Method: http.MethodPost, Path: "/dead-letters/discard", Tags: tags,
		Summary:  "Discard all open dead letters that match a filter",
		Metadata: map[string]any{TimeoutKey: replayTimeout},
		Description: "Reports what would be discarded; with dry_run false, discards it, the oldest first. They stay on " +
			"record and can be replayed with force. A filter that is given needs a value. When left is not 0, repeat the request.",
	}), h.discardAll)
}

type groupLettersInput struct{ LettersQuery }

// Resolve checks what a schema cannot express.
func (in *groupLettersInput) Resolve(ctx huma.Context) []error { return in.wrong(ctx) }

// LetterGroups is the answer of GET /dead-letters/groups.
type LetterGroups struct {
	Items []LetterGroup `json:"items"`
}

// A LetterGroup is the dead letters of one queue and class whose reasons differ in numbers and IDs only.
type LetterGroup struct {
	Queue    string    `json:"queue"`
	Class    string    `json:"class"`
	Reason   string    `json:"reason" doc:"with … in place of numbers and IDs; cut to 200 characters"`
	Contains string    `json:"reason_contains" doc:"the longest part that all reasons of the group have, for the filter reason; other groups may have it too"`
	Letters  int64     `json:"letters"`
	FirstAt  time.Time `json:"first_at" doc:"first death of any"`
	LastAt   time.Time `json:"last_at"`
	Newest   int64     `json:"newest" doc:"number of the one that died last"`
}

func (h DeadLetters) groups(ctx context.Context, in *groupLettersInput) (*Body[LetterGroups], error) {
	f := in.filter()
	f.OfNone = ReachesTenants(ctx) != nil
	found, err := h.Store.Groups(ctx, f)
	if err != nil {
		return nil, err
	}
	return BodyOf(LetterGroups{Each(found, showLetterGroup)}), nil
}

func showLetterGroup(g db.LetterGroup) LetterGroup {
	parts := strings.Split(g.Reason, "…")
	longest := slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
	return LetterGroup{
		g.Queue, g.Class, g.Reason, strings.TrimSpace(longest), g.Letters, g.FirstAt, g.LastAt, g.Newest,
	}
}

type discardLettersInput struct{ Body ReplayLetters }

// Resolve checks what a schema cannot express.
func (in *discardLettersInput) Resolve(huma.Context) []error { return in.Body.wrong() }

// LettersDiscarded is the answer of POST /dead-letters/discard.
type LettersDiscarded struct {
	DryRun    bool         `json:"dry_run"`
	Matched   int          `json:"matched" doc:"open dead letters that match the filter"`
	Discarded int          `json:"discarded"`
	Left      int          `json:"left" doc:"of those that matched: beyond the limit, or for the next request"`
	Sample    []LetterItem `json:"sample" doc:"up to ten of those that matched, the latest deaths first"`
}

func (h DeadLetters) discardAll(ctx context.Context, in *discardLettersInput) (*Body[LettersDiscarded], error) {
	done, err := h.onAll(ctx, in.Body, "discard", h.Store.DiscardAll)
	if err != nil {
		return nil, err
	}
	return BodyOf(LettersDiscarded{done.dryRun, done.matched, done.acted, done.left, done.sample}), nil
}
