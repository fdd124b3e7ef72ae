package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// MessagesCmd sends messages to one person each, and shows what became of them.
type MessagesCmd struct {
	ofTenant

	Send  messagesSendCmd  `cmd:"" help:"Send a message to one person, before all messages of campaigns."`
	Show  messagesShowCmd  `cmd:"" help:"Show a message, of a campaign or not, with every attempt and status."`
	List  messagesListCmd  `cmd:"" help:"List messages without a campaign, newest first."`
	Retry messagesRetryCmd `cmd:"" help:"Send a message again that failed for a cause that may have passed."`
}

// contentFlags say what is sent.
type contentFlags struct {
	Text     string   `help:"Text to send; that of a campaign may have placeholders such as {{given_name|there}}." xor:"what"`
	Template string   `help:"Name of the template of WhatsApp to send." xor:"what"`
	Language string   `help:"Language of the template." default:"en"`
	Param    []string `help:"Parameter of the body of the template; repeat it for each. That of a campaign may have placeholders." placeholder:"TEXT" sep:"none"`
}

// body is what is sent, in the form of the Cloud API.
func (c contentFlags) body() campaign.Body {
	if c.Text != "" {
		return campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: c.Text}}
	}
	t := &campaign.Template{Name: c.Template, Language: campaign.Language{Code: c.Language}}
	if len(c.Param) > 0 {
		body := campaign.Component{Type: "body"}
		for _, text := range c.Param {
			body.Parameters = append(body.Parameters, campaign.Parameter{Type: "text", Text: text})
		}
		t.Components = []campaign.Component{body}
	}
	return campaign.Body{Type: campaign.TypeTemplate, Template: t}
}

type messagesSendCmd struct {
	To     string `arg:"" help:"Telephone number with its country code, such as +15145550199."`
	Sender string `help:"ID or name of the number to send from; not needed where there is one only."`
	contentFlags
	Key  string `help:"Any text: the command given again with it is the same message, and not a second one." placeholder:"TEXT"`
	JSON bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run sends a message. It is stored, and on its way, when the answer comes.
func (c *messagesSendCmd) Run(ctx context.Context, group *MessagesCmd, r Client) error {
	if c.Text == "" && c.Template == "" {
		return Usage("nothing to send: give --text or --template")
	}
	sender, err := group.find(ctx, r, "/senders", "sender", c.Sender)
	if err != nil {
		return err
	}
	in := apioutreach.MessageStart{Sender: sender, To: c.To, Body: c.body()}
	return show(ctx, r.again(c.Key), http.MethodPost, group.path("/messages", nil), in, c.JSON, printMessage)
}

// messageID is the argument of the commands on one message.
type messageID struct {
	ID   uuid.UUID `arg:"" help:"ID of the message."`
	JSON bool      `name:"json" help:"Print the answer of the API as JSON."`
}

type (
	messagesShowCmd  struct{ messageID }
	messagesRetryCmd struct{ messageID }
)

// Run prints a message.
func (c *messagesShowCmd) Run(ctx context.Context, group *MessagesCmd, r Client) error {
	path := group.path("/messages/"+c.ID.String(), nil)
	return show(ctx, r, http.MethodGet, path, nil, c.JSON, func(w io.Writer, m apioutreach.MessageDetail) error {
		if err := printMessage(w, m.Message); err != nil {
			return err
		}
		t := Table(w)
		for _, e := range m.Timeline {
			fmt.Fprintf(t, "%s\t%s", e.At.UTC().Format(time.RFC3339), e.Event)
			if a := e.Attempt; a != nil {
				fmt.Fprintf(t, " %d: %s after %d ms", a.N, a.Outcome, a.TookMS)
				if a.Error != "" {
					fmt.Fprintf(t, ", %s", Plain(a.Error))
				}
			}
			fmt.Fprintln(t)
		}
		return t.Flush()
	})
}

// Run sends a message again, and prints it.
func (c *messagesRetryCmd) Run(ctx context.Context, group *MessagesCmd, r Client) error {
	path := group.path("/messages/"+c.ID.String()+"/retry", nil)
	return show(ctx, r, http.MethodPost, path, nil, c.JSON, printMessage)
}

// printMessage writes a message as text. What it does not have is left out.
func printMessage(w io.Writer, m apioutreach.Message) error {
	t, row := newFacts(w)
	row("message", "%s", m.ID)
	if m.Campaign != nil {
		row("campaign", "%s", m.Campaign)
	}
	row("state", "%s", m.State)
	if m.To != "" {
		row("to", "%s", Plain(m.To))
	}
	if m.Body != nil {
		row("sends", "%s", Short(Plain(content(*m.Body)), 100))
	}
	row("attempts", "%d", m.Attempts)
	if m.Class != "" {
		row("class", "%s", m.Class)
	}
	if m.Error != "" {
		row("error", "%s", Plain(m.Error))
	}
	return t.Flush()
}

// messageFlags are those of a list of messages.
type messageFlags struct {
	stateFlags `set:"states=queued,sending,unknown,sent,delivered,read,failed,skipped"`
}

// list prints messages page after page, up to --limit.
func (f messageFlags) list(ctx context.Context, r Client, path string, q url.Values) error {
	return pages[apioutreach.Message]{
		Path: path, Query: f.query(q), listFlags: f.listFlags,
		Head: "ID\tTO\tSTATE\tATTEMPTS\tCLASS\tCODE\tERROR",
		Row: func(t io.Writer, m apioutreach.Message) {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%d\t%s\n", m.ID, Plain(cmp.Or(m.To, "-")), m.State, m.Attempts,
				cmp.Or(m.Class, "-"), m.Code, Short(Plain(m.Error), 80))
		},
	}.list(ctx, r, "there are no such messages")
}

type messagesListCmd struct{ messageFlags }

// Run prints messages of no campaign.
func (c *messagesListCmd) Run(ctx context.Context, group *MessagesCmd, r Client) error {
	return c.list(ctx, r, "/messages", group.query(nil))
}
