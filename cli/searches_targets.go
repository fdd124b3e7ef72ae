package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/saved"
)

// targetFlags say where the news of a search are told.
type targetFlags struct {
	Webhook  []string `help:"Address that receives news by signed requests; may be repeated." placeholder:"URL" sep:"none"`
	Email    []string `help:"Address that receives news by e-mail, once its owner has confirmed it; may be repeated." placeholder:"ADDRESS" sep:"none"`
	Telegram []signed `help:"Chat that the bot writes to, by its ID, or the @name of a channel; may be repeated." placeholder:"CHAT" sep:"none"`
	Feed     bool     `help:"Make a feed: Atom and JSON Feed."`
	Target   []string `help:"Target as the API takes it, such as {\"kind\":\"feed\"}; may be repeated." placeholder:"JSON" sep:"none"`
}

// targets are what the flags name: at least one.
func (f targetFlags) targets() (out []apilistings.TargetStart, err error) {
	for _, address := range f.Webhook {
		out = append(out, apilistings.TargetStart{Kind: string(saved.Webhook), URL: address})
	}
	for _, address := range f.Email {
		out = append(out, apilistings.TargetStart{Kind: string(saved.Email), Email: address})
	}
	for _, chat := range f.Telegram {
		out = append(out, apilistings.TargetStart{Kind: string(saved.Telegram), Chat: string(chat)})
	}
	if f.Feed {
		out = append(out, apilistings.TargetStart{Kind: string(saved.Feed)})
	}
	for _, text := range f.Target {
		var t apilistings.TargetStart
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&t); err != nil {
			return nil, Usage("read --target: %v", err)
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, Usage("name a target for the news: --webhook URL, --email ADDRESS, --telegram CHAT, " +
			"--feed or --target")
	}
	return out, nil
}

type searchesTargetsCmd struct {
	Add    searchesTargetsAddCmd    `cmd:"" help:"Add targets to a search: they are notified of what is found from then on."`
	Rotate searchesTargetsRotateCmd `cmd:"" help:"Replace the secret of a webhook, or the addresses of a feed."`
	Delete searchesTargetsDeleteCmd `cmd:"" help:"Delete a target of a search; pending notifications are dropped."`
}

type searchesTargetsAddCmd struct {
	savedArg
	targetFlags
}

// Help says what is printed once.
func (searchesTargetsAddCmd) Help() string {
	return `The secret of a webhook and the addresses of a feed are printed once; nothing shows them again.`
}

// Run adds targets and prints each. Those before one that is refused are added.
func (c *searchesTargetsAddCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	targets, err := c.targets()
	if err != nil {
		return err
	}
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	path := group.path("/searches/"+s.ID.String()+"/targets", nil)
	for _, in := range targets {
		var to apilistings.SearchTarget
		if err := r.call(ctx, http.MethodPost, path, in, &to); err != nil {
			return err
		}
		t := Table(os.Stdout)
		showTarget(t, to)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

type searchesTargetsRotateCmd struct {
	savedArg
	Target  uuid.UUID     `arg:"" help:"ID of the target, which show has."`
	Overlap time.Duration `help:"For how long a webhook is signed with the secret before, too: whole hours, at most 168h; 0 ends that one at once." default:"24h" placeholder:"DURATION"`
}

// Help says what to do with what is printed.
func (searchesTargetsRotateCmd) Help() string {
	return `The new secret of a webhook, or the new addresses of a feed, are printed once. Meanwhile requests have two
signatures, with a comma between them: give the receiver the new secret before the overlap ends. The addresses of a
feed before are 404 at once.`
}

// Run rotates a target, and prints it.
func (c *searchesTargetsRotateCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	if c.Overlap%time.Hour != 0 {
		return Usage("--overlap is in whole hours, such as 24h")
	}
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	path := group.path("/searches/"+s.ID.String()+"/targets/"+c.Target.String()+"/rotate", url.Values{
		"overlap_hours": {strconv.Itoa(int(c.Overlap / time.Hour))},
	})
	var to apilistings.SearchTarget
	if err := r.call(ctx, http.MethodPost, path, nil, &to); err != nil {
		return err
	}
	t := Table(os.Stdout)
	showTarget(t, to)
	if to.BeforeUntil != nil {
		fmt.Fprintf(t, "  secret before	good until %s\n", to.BeforeUntil.Format(time.RFC3339))
	}
	return t.Flush()
}

type searchesTargetsDeleteCmd struct {
	savedArg
	Target uuid.UUID `arg:"" help:"ID of the target, which show has."`
}

// Run deletes a target.
func (c *searchesTargetsDeleteCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	path := "/searches/" + s.ID.String() + "/targets/" + c.Target.String()
	if err := r.call(ctx, http.MethodDelete, group.path(path, nil), nil, nil); err != nil {
		return err
	}
	fmt.Printf("target %s is deleted\n", c.Target)
	return nil
}

type searchesChallengeCmd struct {
	savedArg
	Target uuid.UUID `arg:"" optional:"" help:"ID of the webhook, which show has; without it, all that are not active."`
}

// Run asks the webhooks of a search.
func (c *searchesChallengeCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	asked := 0
	for _, to := range s.Targets {
		named := to.ID == c.Target
		if !named && (c.Target != uuid.Nil || to.Kind != string(saved.Webhook) || to.State == saved.TargetActive) {
			continue
		}
		path := "/searches/" + s.ID.String() + "/targets/" + to.ID.String() + "/challenge"
		if err := r.call(ctx, http.MethodPost, group.path(path, nil), nil, &to); err != nil {
			return err
		}
		fmt.Printf("%s %s is asked, and %s until it has answered\n", to.ID, Plain(to.Label), to.State)
		asked++
	}
	if asked == 0 {
		return fmt.Errorf("search %s has no such webhook that is not active", Plain(s.Name))
	}
	return nil
}

func showTarget(t io.Writer, to apilistings.SearchTarget) {
	fmt.Fprintf(t, "%s\t%s\n", to.Kind+unlessActive(to.State), strings.TrimSpace(to.ID.String()+" "+Plain(to.Label)))
	for _, more := range [][2]string{
		{"reason", to.Reason}, {"secret", to.Secret}, {"json", to.JSONURL}, {"atom", to.AtomURL},
	} {
		if more[1] != "" {
			fmt.Fprintf(t, "  %s\t%s\n", more[0], Plain(more[1]))
		}
	}
}

// unlessActive is the state of a target behind its kind: that it is active needs no word.
func unlessActive(state string) string {
	if state == "" || state == saved.TargetActive {
		return ""
	}
	return ":" + state
}
