package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// CampaignsCmd creates, starts, controls and shows campaigns.
type CampaignsCmd struct {
	ofTenant

	Create      campaignsCreateCmd   `cmd:"" help:"Create a campaign, as a draft: from a JSON file, or from flags."`
	Audience    campaignsAudienceCmd `cmd:"" help:"Count whom a campaign would be sent to if it started now."`
	Start       campaignsStartCmd    `cmd:"" help:"Start a campaign, now or at a time."`
	Pause       campaignsPauseCmd    `cmd:"" help:"Pause a campaign."`
	Resume      campaignsChangeCmd   `cmd:"" help:"Resume a paused campaign; it sends what it has not sent."`
	Cancel      campaignsCancelCmd   `cmd:"" help:"Cancel a campaign for good."`
	Unschedule  campaignsChangeCmd   `cmd:"" help:"Make a scheduled campaign a draft again."`
	RetryFailed campaignsRetryCmd    `cmd:"" name:"retry-failed" help:"Send the messages again that failed for a cause that may have passed."`
	Show        campaignsShowCmd     `cmd:"" help:"Show the state, counts and progress of a campaign."`
	List        campaignsListCmd     `cmd:"" help:"List campaigns, newest first."`
	Messages    campaignsMessagesCmd `cmd:"" help:"List the messages of a campaign."`
}

type campaignsCreateCmd struct {
	File string `arg:"" optional:"" help:"JSON file with name, sender, template and audience, as POST /campaigns takes it; - is standard input."`

	Name   string `help:"Name of the campaign."`
	Sender string `help:"ID or name of the number to send from; not needed where there is one only."`
	contentFlags

	All           bool        `help:"Write to every contact."`
	List          []uuid.UUID `help:"Write to the members of this list." placeholder:"ID"`
	Segment       []uuid.UUID `help:"Write to the contacts of this segment." placeholder:"ID"`
	Tag           []string    `help:"Write to contacts with this tag; may be repeated." sep:"none"`
	ExceptList    []uuid.UUID `help:"But not to the members of this list." placeholder:"ID"`
	ExceptSegment []uuid.UUID `help:"But not to the contacts of this segment." placeholder:"ID"`
	ExceptTag     []string    `help:"But not to contacts with this tag; may be repeated." placeholder:"TAG" sep:"none"`

	Start bool   `help:"Start it at once."`
	Key   string `help:"Any text: the command given again with it is the same campaign, and not a second one." placeholder:"TEXT"`
	JSON  bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// plan is the body of the request: that of the file, or that of the flags.
func (c *campaignsCreateCmd) plan(ctx context.Context) (p apioutreach.CampaignPlan, err error) {
	flags := c.Text != "" || c.Template != "" || c.All || len(c.List)+len(c.Segment)+len(c.Tag)+len(c.Param)+
		len(c.ExceptList)+len(c.ExceptSegment)+len(c.ExceptTag) > 0
	switch {
	case c.File != "" && flags:
		return p, Usage("a file says what is sent to which contacts: give no flags for these beside it")
	case c.File != "":
		if err := readJSON(ctx, c.File, &p); err != nil {
			return p, err
		}
		p.Name = cmp.Or(c.Name, p.Name)
		return p, nil
	case c.Text == "" && c.Template == "":
		return p, Usage("nothing to send: give a file, --text or --template")
	}
	p.Name = cmp.Or(c.Name, c.Template, Short(c.Text, 40))
	p.Audience = campaign.Audience{
		All: c.All, To: campaign.Groups{Lists: c.List, Segments: c.Segment, Tags: c.Tag},
		Except: campaign.Groups{Lists: c.ExceptList, Segments: c.ExceptSegment, Tags: c.ExceptTag},
	}
	p.Template = c.body()
	return p, nil
}

// readJSON reads a file, - is standard input, with no member that v does not have.
func readJSON(ctx context.Context, name string, v any) error {
	in := io.Reader(os.Stdin)
	if name != "-" {
		doc, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		in = bytes.NewReader(doc)
	}
	d := json.NewDecoder(Until(ctx, in))
	d.DisallowUnknownFields()
	return fault.Wrap(d.Decode(v), "read %s", name)
}

// Run creates a campaign and prints it. With --start it is started.
func (c *campaignsCreateCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	in, err := c.plan(ctx)
	if err != nil {
		return err
	}
	if in.Sender == uuid.Nil || c.Sender != "" {
		if in.Sender, err = group.find(ctx, r, "/senders", "sender", c.Sender); err != nil {
			return err
		}
	}
	var out apioutreach.Campaign
	if err := r.again(c.Key).call(ctx, http.MethodPost, group.path("/campaigns", nil), in, &out); err != nil {
		return err
	}
	if !c.Start || out.State != apioutreach.CampaignState(campaign.Draft) { // that of the key may be started
		return printAs(os.Stdout, out, c.JSON, told)
	}
	return unstarted(campaignID{out.ID}.control(ctx, group, r, "/start", nil, c.JSON), out.ID, group.flag())
}

// unstarted is the error of the start of a campaign that was created. It names the campaign: the command given again
// may be a second one to the same contacts.
func unstarted(err error, id uuid.UUID, flag string) error {
	var wrong refused
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.ofCaller():
		return fmt.Errorf("campaign %s is created; conveyor campaigns start %s%s starts it, which is refused now: %w",
			id, id, flag, err)
	}
	return fmt.Errorf("campaign %s is created, and may be started; "+
		"conveyor campaigns start %s%s starts it if it is not: %w", id, id, flag, err)
}

// told prints a campaign in a line, and its warning.
func told(w io.Writer, c apioutreach.Campaign) error {
	fmt.Fprintf(w, "campaign %s: %s, %s\n", c.ID, Plain(c.Name), stateOf(c))
	warn(os.Stderr, c.Warning)
	return nil
}

// stateOf is the state of a campaign with its reason, or the time of its start.
func stateOf(c apioutreach.Campaign) string {
	state := string(c.State)
	if c.State == apioutreach.CampaignState(campaign.Queued) && c.ScheduledAt != nil {
		state += " since " + c.ScheduledAt.UTC().Format(time.RFC3339)
		if c.ScheduledAt.After(time.Now()) {
			state = "starts at " + c.ScheduledAt.UTC().Format(time.RFC3339)
		}
	}
	if c.Reason != "" {
		state += ": " + Plain(c.Reason)
	}
	return state
}

// campaignID is the argument of the commands on one campaign.
type campaignID struct {
	ID uuid.UUID `arg:"" help:"ID of the campaign."`
}

func (c campaignID) path(rest string) string { return "/campaigns/" + c.ID.String() + rest }

// control changes the state of a campaign and prints it.
func (c campaignID) control(
	ctx context.Context, group *CampaignsCmd, r Client, action string, in any, asJSON bool,
) error {
	return show(ctx, r, http.MethodPost, group.path(c.path(action), nil), in, asJSON, told)
}

type campaignsAudienceCmd struct {
	campaignID
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run counts the audience of a campaign.
func (c *campaignsAudienceCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	return show(ctx, r, http.MethodGet, group.path(c.path("/audience"), nil), nil, c.JSON, printAudience)
}

func printAudience(w io.Writer, a apioutreach.CampaignAudience) error {
	more := ""
	if a.More {
		more = ", and maybe more"
	}
	_, err := fmt.Fprintf(w, "contacts       %d%s\nopted out      %d\nwithout phone  %d\nto be sent to  %d\n",
		a.Contacts, more, a.OptedOut, a.WithoutPhone, a.ToSend)
	return err
}

type campaignsStartCmd struct {
	campaignID
	At       hour `help:"Time to start at, such as 2026-12-01T09:00:00-05:00; the default is now." placeholder:"TIME"`
	NotAfter hour `help:"Latest time to start at; later it is paused, and not sent." placeholder:"TIME"`
	Watch    bool `help:"Show the progress until it ends. Ctrl-C stops watching; the campaign goes on."`
	JSON     bool `name:"json" help:"Print the answer of the API as JSON."`
}

// hour is a time to come on the command line, with its offset: a campaign must not start at another hour than is meant.
type hour struct{ time.Time }

// UnmarshalText reads an RFC 3339 time.
func (h *hour) UnmarshalText(text []byte) (err error) {
	if h.Time, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("%q is not a time with its offset from UTC such as 2026-12-01T09:00:00-05:00", text)
	}
	return nil
}

// Run starts a campaign. With --watch, one that ends otherwise than done is ExitError 1.
func (c *campaignsStartCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	in := apioutreach.CampaignStart{}
	if !c.At.IsZero() {
		in.At = &c.At.Time
	}
	if !c.NotAfter.IsZero() {
		in.NotAfter = &c.NotAfter.Time
	}
	if !c.Watch {
		return c.control(ctx, group, r, "/start", in, c.JSON)
	}
	var out apioutreach.Campaign
	if err := r.call(ctx, http.MethodPost, group.path(c.path("/start"), nil), in, &out); err != nil {
		return err
	}
	if err := told(os.Stderr, out); err != nil { // standard output is for how it ends
		return err
	}
	return c.watch(ctx, group, r, c.JSON)
}

type (
	campaignsPauseCmd struct {
		campaignID
		Reason string `help:"Shown with the campaign while it is paused."`
	}
	campaignsCancelCmd struct {
		campaignID
		Reason string `help:"Shown with the campaign."`
	}
	campaignsChangeCmd struct{ campaignID }
	campaignsRetryCmd  struct{ campaignID }
)

// Run pauses a campaign.
func (c *campaignsPauseCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	return c.control(ctx, group, r, "/pause", apioutreach.CampaignControl{Reason: c.Reason}, false)
}

// Run cancels a campaign.
func (c *campaignsCancelCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	return c.control(ctx, group, r, "/cancel", apioutreach.CampaignControl{Reason: c.Reason}, false)
}

// Run does with a campaign what the command is called.
func (c *campaignsChangeCmd) Run(ctx context.Context, group *CampaignsCmd, r Client, k *kong.Context) error {
	return c.control(ctx, group, r, "/"+k.Selected().Name, nil, false)
}

// Run sends failed messages again, and says how many.
func (c *campaignsRetryCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	var out apioutreach.CampaignRetried
	if err := r.call(ctx, http.MethodPost, group.path(c.path("/retry-failed"), nil), nil, &out); err != nil {
		return err
	}
	fmt.Printf("campaign %s: %s, %d messages queued again\n", c.ID, stateOf(out.Campaign), out.Retried)
	warn(os.Stderr, out.Campaign.Warning)
	return nil
}

type campaignsShowCmd struct {
	campaignID
	Watch bool `help:"Show the progress until it ends. Ctrl-C stops watching; the campaign goes on."`
	JSON  bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints a campaign. With --watch, one that ends otherwise than done is ExitError 1.
func (c *campaignsShowCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	if c.Watch {
		return c.watch(ctx, group, r, c.JSON)
	}
	return show(ctx, r, http.MethodGet, group.path(c.path(""), nil), nil, c.JSON, printCampaign)
}

// watch shows the progress of a campaign until it ends.
func (c campaignID) watch(ctx context.Context, group *CampaignsCmd, r Client, asJSON bool) error {
	return watch[apioutreach.CampaignDetail]{
		api: r, path: group.path(c.path(""), nil), line: campaignLine,
		state: func(v apioutreach.CampaignDetail) (string, bool) {
			return string(v.State), campaign.State(v.State).Ended() && v.FinishedAt != nil
		},
		left: "the campaign goes on: conveyor campaigns show " + c.ID.String() + group.flag(),
	}.toEnd(ctx, asJSON, printCampaign, func(v apioutreach.CampaignDetail) bool {
		return v.State == apioutreach.CampaignState(campaign.Done)
	})
}

// bar is a share, 0 to 1, as ten characters and a percentage, which is 100 only at the end.
func bar(share float64) string {
	full := int(share * 10)
	return fmt.Sprintf("[%s%s] %d%%", strings.Repeat("#", full), strings.Repeat(".", 10-full), int(share*100))
}

// campaignLine is the progress of a campaign in a line.
func campaignLine(c apioutreach.CampaignDetail) string {
	n := c.Counts
	_, delivered := reached(n)
	line := fmt.Sprintf("campaign %s %s %s %d of %d", Short(Plain(c.Name), 30), c.State, bar(c.Progress),
		n.Total-n.Waiting, n.Total)
	if c.WrittenAt == nil && c.State == apioutreach.CampaignState(campaign.Running) {
		line += " written so far"
	}
	for _, v := range []tally{
		{"delivered", delivered}, {"failed", n.Failed}, {"unknown", n.Unknown}, {"skipped", n.Skipped},
	} {
		if v.n > 0 {
			line += fmt.Sprintf(", %d %s", v.n, v.of)
		}
	}
	switch {
	case c.Held != "":
		line += ", waits: " + Plain(c.Held)
	case c.SecondsLeft != nil:
		line += ", " + seconds(*c.SecondsLeft).Round(time.Second).String() + " left"
	}
	return line
}

// printCampaign writes a campaign as text. Counts that are zero are left out.
func printCampaign(w io.Writer, c apioutreach.CampaignDetail) error {
	t, row := newFacts(w)
	at := func(name string, at *time.Time, by string) {
		if at != nil {
			row(name, "%s%s", at.UTC().Format(time.RFC3339), by)
		}
	}
	n := c.Counts
	sent, delivered := reached(n)
	row("campaign", "%s", c.ID)
	row("name", "%s", Plain(c.Name))
	row("state", "%s", stateOf(c.Campaign))
	if c.Held != "" {
		row("waits", "%s", Plain(c.Held))
	}
	row("sends", "%s", Short(Plain(content(c.Template)), 100))
	row("to", "%s", Short(Plain(recipients(c.Audience)), 100))
	if n.Total > 0 {
		row("messages", "%d, %s", n.Total, bar(c.Progress))
	}
	tallied(row, tally{"waiting", n.Waiting}, tally{"unknown", n.Unknown}, tally{"sent", sent},
		tally{"delivered", delivered}, tally{"read", n.Read}, tally{"failed", n.Failed}, tally{"skipped", n.Skipped})
	row("rate", "at most %d a second", c.PerSecond)
	if c.SecondsLeft != nil {
		row("time left", "%s", seconds(*c.SecondsLeft).Round(time.Second))
	}
	at("created", &c.CreatedAt, " by "+Plain(c.CreatedBy))
	at("started", c.StartedAt, "")
	at("ended", c.FinishedAt, "")
	row("workflow", "%s", c.Workflow.URL)
	return t.Flush()
}

// content is what is sent, in words.
func content(b campaign.Body) string {
	switch {
	case b.Template != nil:
		return fmt.Sprintf("template %s (%s)", b.Template.Name, b.Template.Language.Code)
	case b.Text != nil:
		return fmt.Sprintf("text %q", b.Text.Body)
	}
	return b.Type
}

// recipients are an audience in words.
func recipients(a campaign.Audience) string {
	groups := func(g campaign.Groups) string {
		var parts []string
		for _, v := range []tally{{"lists", int64(len(g.Lists))}, {"segments", int64(len(g.Segments))}} {
			if v.n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", v.n, v.of))
			}
		}
		if len(g.Tags) > 0 {
			parts = append(parts, "tags "+strings.Join(g.Tags, ", "))
		}
		return strings.Join(parts, ", ")
	}
	out := groups(a.To)
	if a.All {
		out = "every contact"
	}
	if a.Filter != nil {
		out += ", filtered"
	}
	if except := groups(a.Except); except != "" {
		out += ", except " + except
	}
	return out
}

type campaignsListCmd struct {
	stateFlags `set:"states=draft,queued,running,paused,done,canceled"`
}

// Run prints page after page, up to --limit.
func (c *campaignsListCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	return pages[apioutreach.Campaign]{
		Path: "/campaigns", Query: c.query(group.query(nil)), listFlags: c.listFlags,
		Head: campaignHead,
		Row: func(t io.Writer, v apioutreach.Campaign) {
			fmt.Fprintln(t, campaignRow(v))
		},
	}.list(ctx, r, "there are no campaigns")
}

const campaignHead = "ID\tNAME\tSTATE\tMESSAGES\tWAITING\tUNKNOWN\tSENT\tDELIVERED\tREAD\tFAILED\tSKIPPED\tCREATED"

// reached are the messages that were sent and delivered. A message is in one count of the API: here what was read was
// delivered, too, and what was delivered was sent.
func reached(n apioutreach.CampaignCounts) (sent, delivered int64) {
	delivered = n.Delivered + n.Read
	return n.Sent + delivered, delivered
}

// campaignRow is a campaign as a row below campaignHead.
func campaignRow(c apioutreach.Campaign) string {
	n := c.Counts
	sent, delivered := reached(n)
	return fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s", c.ID, Short(Plain(c.Name), 40), c.State,
		n.Total, n.Waiting, n.Unknown, sent, delivered, n.Read, n.Failed, n.Skipped,
		c.CreatedAt.UTC().Format(time.RFC3339))
}

type campaignsMessagesCmd struct {
	campaignID
	messageFlags
}

// Run prints the messages of a campaign.
func (c *campaignsMessagesCmd) Run(ctx context.Context, group *CampaignsCmd, r Client) error {
	return c.list(ctx, r, c.path("/messages"), group.query(nil))
}
