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
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

// TenantsCmd creates, shows and changes tenants and the numbers that they send from.
type TenantsCmd struct {
	Create tenantsCreateCmd `cmd:"" help:"Create a tenant; conveyor keys create --tenant makes its keys."`
	List   tenantsListCmd   `cmd:"" help:"List tenants."`
	Show   tenantsShowCmd   `cmd:"" help:"Show a tenant and its senders."`
	Set    tenantsSetCmd    `cmd:"" help:"Change the tier, limits or state of a tenant."`
	Sender senderCmd        `cmd:"" help:"Add and change the telephone numbers that a tenant sends from."`
	Export tenantsExportCmd `cmd:"" help:"Write all that is kept of a tenant as a zip: rows by table, and uploaded files."`
	Erase  tenantsEraseCmd  `cmd:"" help:"Delete a tenant that is stopped, and all that is kept of it, for good."`

	Erasure tenantsErasureCmd `cmd:"" help:"Show how far the deletion of a tenant is, and its report."`

	Rekey tenantsRekeyCmd `cmd:"" help:"Encrypt all that is stored encrypted by the first of CONVEYOR_SECRET_KEYS of the API."`
}

type tenantsCreateCmd struct {
	ID     string `arg:"" help:"1 to 40 of a-z, 0-9 and dash; it cannot be changed."`
	Name   string `help:"Name; the default is the ID."`
	Tier   string `help:"Tier: ${enum}; 10 or 50 messages a second." enum:"standard,enterprise" default:"standard"`
	Region string `help:"Country of telephone numbers that have none, such as CA." placeholder:"CC"`
	tenantQuotas
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

type tenantQuotas struct {
	MaxContacts    *int64 `help:"Maximum of contacts; the default is 10,000,000." placeholder:"N"`
	MaxMessagesDay *int64 `help:"Maximum of messages a day; the default is 1,000,000." placeholder:"N"`
	MaxSearches    *int64 `help:"Maximum of saved searches; the default is 200." placeholder:"N"`
	MaxNoticesDay  *int64 `help:"Maximum of messages of saved searches a day; the default is 10,000." placeholder:"N"`
	MaxLists       *int64 `help:"Maximum of lists of contacts; the default is 500." placeholder:"N"`
	MaxSegments    *int64 `help:"Maximum of segments; the default is 500." placeholder:"N"`
	MaxBytes       *int64 `help:"Maximum of bytes of uploaded files, their copies and refused rows; the default is 20 GiB." placeholder:"N"`
	MaxTargets     *int64 `help:"Maximum of targets of saved searches; the default is 2,000." placeholder:"N"`
	MaxConditions  *int64 `help:"Maximum of conditions of an audience; the default is 200." placeholder:"N"`
}

// Run creates a tenant; one that is there with the same values is printed.
func (c *tenantsCreateCmd) Run(ctx context.Context, r Client) error {
	var out apioutreach.Tenant
	in := apioutreach.TenantStart{
		ID: c.ID, Name: cmp.Or(c.Name, c.ID), Tier: apioutreach.Tier(c.Tier), Region: strings.ToUpper(c.Region),
		TenantStartQuotas: apioutreach.TenantStartQuotas(c.tenantQuotas),
	}
	if err := r.call(ctx, http.MethodPost, "/tenants", in, &out); err != nil {
		return err
	}
	return showTenant(out, nil, c.JSON)
}

type tenantsListCmd struct {
	listFlags
}

// Run prints page after page, up to --limit.
func (c *tenantsListCmd) Run(ctx context.Context, r Client) error {
	return pages[apioutreach.Tenant]{
		Path: "/tenants", Query: url.Values{}, listFlags: c.listFlags,
		Head: "ID\tNAME\tTIER\tSTATE\tCONTACTS\tREGION\tCREATED\tREASON",
		Row: func(t io.Writer, v apioutreach.Tenant) {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.ID, Short(Plain(v.Name), 40), v.Tier, v.State,
				outOf(v.Contacts, v.MaxContacts), cmp.Or(v.Region, "-"), v.CreatedAt.UTC().Format(time.DateOnly),
				Short(Plain(v.StoppedReason), 60))
		},
	}.list(ctx, r, "there are no tenants; create one with conveyor tenants create ID")
}

// outOf is a number with its limit, nil = none.
func outOf(n int64, most *int64) string {
	if most == nil {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d of %d", n, *most)
}

type tenantsShowCmd struct {
	ID   string `arg:"" help:"ID of the tenant."`
	JSON bool   `name:"json" help:"Print the answers of the API as JSON."`
}

// Run prints a tenant and its senders.
func (c *tenantsShowCmd) Run(ctx context.Context, r Client) error {
	var out apioutreach.Tenant
	var senders apioutreach.SenderList
	if err := r.call(ctx, http.MethodGet, tenantPath(c.ID, ""), nil, &out); err != nil {
		return err
	}
	if err := r.call(ctx, http.MethodGet, tenantPath(c.ID, "/senders"), nil, &senders); err != nil {
		return err
	}
	return showTenant(out, senders.Items, c.JSON)
}

func tenantPath(id, rest string) string { return "/tenants/" + url.PathEscape(id) + rest }

func showTenant(t apioutreach.Tenant, senders []apioutreach.Sender, asJSON bool) error {
	if asJSON {
		return PrintJSON(os.Stdout, struct {
			apioutreach.Tenant
			Senders []apioutreach.Sender `json:"senders,omitempty"`
		}{t, senders})
	}
	return printTenant(os.Stdout, t, senders)
}

func printTenant(w io.Writer, t apioutreach.Tenant, senders []apioutreach.Sender) error {
	out, row := newFacts(w)
	row("tenant", "%s", t.ID)
	row("name", "%s", Plain(t.Name))
	row("tier", "%s, %d messages a second", t.Tier, t.PerSecond)
	row("state", "%s", strings.TrimSuffix(t.State+": "+Plain(t.StoppedReason), ": "))
	row("contacts", "%s", outOf(t.Contacts, t.MaxContacts))
	for _, quota := range []struct {
		of   string
		most *int64
	}{
		{"messages a day", t.MaxMessagesDay}, {"saved searches", t.MaxSearches}, {"notices a day", t.MaxNoticesDay},
		{"search targets", t.MaxTargets}, {"lists", t.MaxLists}, {"segments", t.MaxSegments},
		{"audience conditions", t.MaxConditions}, {"bytes of files", t.MaxBytes},
	} {
		if quota.most != nil {
			row(quota.of, "at most %d", *quota.most)
		}
	}
	if t.Region != "" {
		row("region", "%s", t.Region)
	}
	row("created", "%s", t.CreatedAt.UTC().Format(time.RFC3339))
	row("workflow", "%s", t.Workflow.URL)
	if err := out.Flush(); err != nil || len(senders) == 0 {
		return err
	}
	fmt.Fprintln(w)
	return printSenders(w, senders)
}

type tenantsSetCmd struct {
	ID     string  `arg:"" help:"ID of the tenant."`
	Name   *string `help:"Name."`
	Tier   *string `help:"Tier: standard or enterprise." placeholder:"TIER"`
	Region *string `help:"Country of telephone numbers that have none, such as CA; empty for none." placeholder:"CC"`
	tenantQuotaChanges
	Stop   string `help:"Accept no file and send nothing of the tenant any more, for this reason; imports that have begun go on." placeholder:"REASON"`
	Resume bool   `help:"Go on after a stop."`
	JSON   bool   `name:"json" help:"Print the answer of the API as JSON."`
}

type tenantQuotaChanges struct {
	MaxContacts    apioutreach.Quota `help:"Maximum of contacts, or none." placeholder:"N"`
	MaxMessagesDay apioutreach.Quota `help:"Maximum of messages a day, or none." placeholder:"N"`
	MaxSearches    apioutreach.Quota `help:"Maximum of saved searches, or none." placeholder:"N"`
	MaxNoticesDay  apioutreach.Quota `help:"Maximum of messages of saved searches a day, or none." placeholder:"N"`
	MaxLists       apioutreach.Quota `help:"Maximum of lists of contacts, or none." placeholder:"N"`
	MaxSegments    apioutreach.Quota `help:"Maximum of segments, or none." placeholder:"N"`
	MaxBytes       apioutreach.Quota `help:"Maximum of bytes of uploaded files, their copies and refused rows, or none." placeholder:"N"`
	MaxTargets     apioutreach.Quota `help:"Maximum of targets of saved searches, or none." placeholder:"N"`
	MaxConditions  apioutreach.Quota `help:"Maximum of conditions of an audience, up to 1,000, or none." placeholder:"N"`
}

// Run changes what was given, and prints the tenant.
func (c *tenantsSetCmd) Run(ctx context.Context, r Client) error {
	if c.Stop != "" && c.Resume {
		return Usage("--stop and --resume do not go together")
	}
	in := apioutreach.TenantPatch{
		Name: c.Name, Region: c.Region, TenantQuotaChanges: apioutreach.TenantQuotaChanges(c.tenantQuotaChanges),
	}
	if c.Tier != nil {
		in.Tier = new(apioutreach.Tier(*c.Tier))
	}
	switch {
	case c.Stop != "":
		in.State, in.StoppedReason = new("stopped"), &c.Stop
	case c.Resume:
		in.State = new("active")
	}
	if reflect.ValueOf(in).IsZero() {
		return Usage("say what to change, such as --tier enterprise or --stop REASON")
	}
	var out apioutreach.Tenant
	if err := r.call(ctx, http.MethodPatch, tenantPath(c.ID, ""), in, &out); err != nil {
		return err
	}
	return showTenant(out, nil, c.JSON)
}

type tenantsRekeyCmd struct{}

// Run encrypts tokens anew, and says how many.
func (c *tenantsRekeyCmd) Run(ctx context.Context, r Client) error {
	var out apioutreach.Resealed
	if err := r.call(ctx, http.MethodPost, "/senders/reseal", nil, &out); err != nil {
		return err
	}
	fmt.Printf("%d secrets encrypted anew; all are encrypted by the key %s now\n", out.Resealed, out.Key)
	return nil
}

// senderCmd are the commands on the telephone numbers of tenants.
type senderCmd struct {
	Add  senderAddCmd  `cmd:"" help:"Add a number; its access token is read from a file or from standard input."`
	List senderListCmd `cmd:"" help:"List the numbers of a tenant."`
	Set  senderSetCmd  `cmd:"" help:"Change the name, rate, state or access token of a number."`
}

type senderAddCmd struct {
	ID        string `arg:"" help:"ID of the tenant."`
	Name      string `required:"" help:"Name of the number."`
	PhoneID   string `name:"phone-number-id" required:"" help:"Meta's ID of the number." placeholder:"ID"`
	AccountID string `name:"business-account-id" required:"" help:"Meta's ID of the WhatsApp Business account." placeholder:"ID"`
	TokenFile string `help:"File with the access token; - is standard input." default:"-" placeholder:"FILE"`
	PerSecond int    `help:"Messages a second, at most: 1 to 1000." default:"80"`
	JSON      bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run adds a number, and prints it.
func (c *senderAddCmd) Run(ctx context.Context, r Client) error {
	if err := within("per-second", c.PerSecond, 1000); err != nil {
		return err
	}
	token, err := readSecret(ctx, c.TokenFile)
	if err != nil {
		return err
	}
	in := apioutreach.SenderStart{
		Name: c.Name, PhoneNumberID: c.PhoneID, BusinessAccountID: c.AccountID, Token: token, PerSecond: c.PerSecond,
	}
	return show(ctx, r, http.MethodPost, tenantPath(c.ID, "/senders"), in, c.JSON, printSender)
}

func printSender(w io.Writer, s apioutreach.Sender) error {
	return printSenders(w, []apioutreach.Sender{s})
}

// readSecret reads the one line of a file; - is standard input. A secret is no argument: others could see it there.
func readSecret(ctx context.Context, name string) (apioutreach.Token, error) {
	const most = 64 << 10
	in := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(Until(ctx, in), most))
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := apioutreach.Token(strings.TrimSpace(string(text)))
	if token == "" {
		return "", errors.New("read token: there is none")
	}
	return token, nil
}

type senderListCmd struct {
	ID   string `arg:"" help:"ID of the tenant."`
	JSON bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints the numbers of a tenant.
func (c *senderListCmd) Run(ctx context.Context, r Client) error {
	return show(ctx, r, http.MethodGet, tenantPath(c.ID, "/senders"), nil, c.JSON,
		func(w io.Writer, got apioutreach.SenderList) error { return printSenders(w, got.Items) })
}

func printSenders(w io.Writer, list []apioutreach.Sender) error {
	return printTable(w, list, "there are no senders; add one with conveyor tenants sender add",
		"SENDER\tNAME\tPHONE NUMBER ID\tRATE\tSTATE\tTOKEN KEY\tREASON", func(t io.Writer, s apioutreach.Sender) {
			state := s.State
			if s.PausedUntil != nil {
				state = "paused until " + s.PausedUntil.UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d/s\t%s\t%s\t%s\n", s.ID, Short(Plain(s.Name), 40), s.PhoneNumberID, s.PerSecond, state,
				s.TokenKey, Short(Plain(s.Reason), 60))
		})
}

type senderSetCmd struct {
	ID        string    `arg:"" help:"ID of the tenant."`
	Sender    uuid.UUID `arg:"" help:"ID of the number."`
	Name      *string   `help:"Name of the number."`
	PerSecond *int      `help:"Messages a second, at most." placeholder:"N"`
	TokenFile string    `help:"File with a new access token; - is standard input." placeholder:"FILE"`
	Pause     string    `help:"Have its messages wait, for this reason." placeholder:"REASON"`
	Resume    bool      `help:"Send again, after a pause or a stop."`
	JSON      bool      `name:"json" help:"Print the answer of the API as JSON."`
}

// Run changes what was given, and prints the number.
func (c *senderSetCmd) Run(ctx context.Context, r Client) error {
	if c.Pause != "" && c.Resume {
		return Usage("--pause and --resume do not go together")
	}
	in := apioutreach.SenderPatch{Name: c.Name, PerSecond: c.PerSecond}
	switch {
	case c.Pause != "":
		in.State, in.Reason = new("paused"), &c.Pause
	case c.Resume:
		in.State = new("active")
	}
	if c.TokenFile != "" {
		token, err := readSecret(ctx, c.TokenFile)
		if err != nil {
			return err
		}
		in.Token = &token
	}
	if reflect.ValueOf(in).IsZero() {
		return Usage("say what to change, such as --per-second 20 or --pause REASON")
	}
	return show(ctx, r, http.MethodPatch, tenantPath(c.ID, "/senders/"+c.Sender.String()), in, c.JSON, printSender)
}
