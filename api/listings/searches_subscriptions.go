package listings

import (
	"bytes"
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A subscriptionDeed is what the owner of an e-mail address or a Telegram chat may do by a link in its messages.
type subscriptionDeed struct {
	path             string
	show, do         string // IDs of operations
	summary          string
	state            string // of the target when it is done
	ask, button, did map[saved.Language]string
	change           func(*dblistings.Saved, context.Context, []byte, string, time.Time) (dblistings.Subscription, error)
}

var subscriptionDeeds = []subscriptionDeed{
	{
		path: "confirm", show: "show-confirmation", do: "confirm-subscription", state: saved.TargetActive,
		summary: "Confirm an e-mail address or a Telegram chat: from now on it receives the news of its search",
		ask: map[saved.Language]string{
			saved.English: "Send the news of the search “%[2]s” to %[1]s?",
			saved.French:  "Voulez-vous que %s reçoive les nouvelles de la recherche « %s » ?",
		},
		button: map[saved.Language]string{saved.English: "Yes, confirm", saved.French: "Oui, confirmer"},
		did: map[saved.Language]string{
			saved.English: "It is confirmed: the news of this search are sent there.",
			saved.French:  "C’est confirmé : les nouvelles de cette recherche y seront envoyées.",
		},
		change: (*dblistings.Saved).Confirm,
	},
	{
		path: "unsubscribe", show: "show-unsubscription", do: "unsubscribe", state: saved.TargetStopped,
		summary: "Stop an e-mail address or a Telegram chat: it receives no more news of its search. RFC 8058: mail programs do so in one request",
		ask: map[saved.Language]string{
			saved.English: "Send no more news of the search “%[2]s” to %[1]s?",
			saved.French:  "Voulez-vous que %s ne reçoive plus rien de la recherche « %s » ?",
		},
		button: map[saved.Language]string{saved.English: "Yes, unsubscribe", saved.French: "Oui, se désabonner"},
		did:    subscriptionOver,
		change: (*dblistings.Saved).Unsubscribe,
	},
}

// subscriptionOver is said of a target that is stopped.
var subscriptionOver = map[saved.Language]string{
	saved.English: "No more news of this search are sent there.",
	saved.French:  "Plus rien de cette recherche n’y sera envoyé.",
}

// subscriptions registers the pages that links in e-mails and Telegram messages lead to. The token in the address is
// the only credential. GET changes nothing, for mail programs follow links by themselves. These are gin routes, as they
// answer with pages; huma knows them for the gate and the document.
func (h Searches) subscriptions(d *api.Door) {
	page := map[string]*huma.MediaType{"text/html": {}}
	for _, deed := range subscriptionDeeds {
		for _, o := range []huma.Operation{
			{OperationID: deed.show, Method: http.MethodGet, Summary: "Show the page with the button for this: " + deed.summary},
			{OperationID: deed.do, Method: http.MethodPost, Summary: deed.summary},
		} {
			o.Path, o.Tags = "/subscriptions/{token}/"+deed.path, []string{"searches"}
			o.Parameters = []*huma.Param{{
				Name: "token", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
				Description: "that stands in the links of the messages",
			}}
			o.Responses = map[string]*huma.Response{
				"200": {Description: "The page", Content: page},
				"404": {Description: "There is no such subscription", Content: page},
				"429": {Description: "Too many requests from the address", Content: problems},
				"503": {Description: "The database is away", Content: problems},
			}
			d.API.OpenAPI().AddOperation(&o)
			d.Router.Handle(o.Method, "/subscriptions/:token/"+deed.path, func(c *gin.Context) { h.subscription(c, &deed) })
		}
	}
}

func (h Searches) subscription(c *gin.Context, deed *subscriptionDeed) {
	ctx, sum := c.Request.Context(), sumOf(c.Param("token"))
	var s dblistings.Subscription
	var err error
	if c.Request.Method == http.MethodPost {
		ctx = db.WithOrigin(ctx, db.Origin{Remote: c.ClientIP(), RequestID: c.GetString(api.RequestID)})
		s, err = deed.change(h.Store, ctx, sum, api.CallerOf(ctx).Name, h.door.Now())
	} else {
		s, err = h.Store.Subscription(ctx, sum)
	}
	view := subscriptionView{Language: s.Language, Name: s.Name, Label: s.Label}
	switch class := fault.ClassOf(err); {
	case class == fault.Gone:
		view.Says = "This link leads nowhere any more: nothing is sent by it. · Ce lien n’est plus valide : plus rien n’est " +
			"envoyé par lui."
		h.showSubscription(c, http.StatusNotFound, view)
		return
	case err != nil && class != fault.Conflict: // a conflict is that it is stopped
		api.Answer(c, api.Problem(ctx, h.door.Log, err))
		return
	case s.State == deed.state:
		view.Says = deed.did[s.Language]
	case s.State == saved.TargetStopped:
		view.Says = subscriptionOver[s.Language]
	default:
		view.Ask, view.Button = deed.ask[s.Language], deed.button[s.Language]
	}
	h.showSubscription(c, http.StatusOK, view)
}

// A subscriptionView is what a page shows: a text, or a question with a button.
type subscriptionView struct {
	Language saved.Language
	Name     string // of the search
	Label    string // of the address
	Says     string
	Ask      string // a format of Label and Name
	Button   string
}

var subscriptionPage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="{{.Language}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>{{or .Name "Conveyor"}}</title></head>
<body>{{with .Name}}<h1>{{.}}</h1>{{end}}
{{if .Ask}}<p>{{printf .Ask .Label .Name}}</p><form method="post"><button>{{.Button}}</button></form>
{{else}}<p>{{.Says}}</p>
{{end}}</body></html>
`))

func (h Searches) showSubscription(c *gin.Context, status int, view subscriptionView) {
	var page bytes.Buffer
	if err := subscriptionPage.Execute(&page, view); err != nil {
		api.Answer(c, api.Problem(c.Request.Context(), h.door.Log, err))
		return
	}
	c.Header("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	c.Header("Referrer-Policy", "same-origin") // or an old browser would say that its form comes from another site
	c.Data(status, "text/html; charset=utf-8", page.Bytes())
}
