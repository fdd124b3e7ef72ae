package notify

import (
	"html/template"
	"net/mail"
	"net/url"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// links are the addresses by which the owner of a target answers. Both lead to a page that asks, for mail programs
// follow links by themselves.
type links struct{ Confirm, Stop string }

// linksOf are those of a notice, in ASCII, as a header has them; api is the URL of the API.
func linksOf(api string, n *saved.Notice) links {
	if u, err := url.Parse(api); err == nil {
		if host, err := idna.Lookup.ToASCII(u.Hostname()); err == nil && !ascii(u.Host) {
			u.Host = strings.Replace(u.Host, u.Hostname(), host, 1)
		}
		api = u.String()
	}
	base := strings.TrimSuffix(api, "/") + "/subscriptions/" + n.Address.Token
	return links{base + "/confirm", base + "/unsubscribe"}
}

// write is the e-mail of a notice, text and HTML. That of one delivery differs between tries only in its date, and
// where a listing has changed.
func (m *Mail) write(n saved.Notice) (*gomail.Msg, error) {
	letter, to := n.Letter(), linksOf(m.o.Links, &n)
	var page strings.Builder
	err := htmlLetter.Execute(&page, map[string]any{"Letter": letter, "To": to, "Language": n.Language})
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "write e-mail: %w", err)
	}
	_, domain := parted(m.from.Address)
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent(),
		gomail.WithBoundary(strings.ReplaceAll(n.ID.String(), "-", "")))
	msg.FromMailAddress(m.from)
	msg.ToMailAddress(&mail.Address{Address: n.Address.Email}) // one that is in quotes where it has to be
	msg.Subject(letter.Subject)
	msg.SetDateWithValue(m.o.Now().UTC())
	msg.SetMessageIDWithValue(n.ID.String() + "@" + domain)
	// SetListUnsubscribe leaves the header out without a word where it finds fault with an address, and what is not
	// preformatted is folded, before an address that is long.
	msg.SetGenHeaderPreformatted(gomail.HeaderListUnsubscribe, "<"+to.Stop+">")
	msg.SetListUnsubscribePost()
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader(gomail.HeaderContentLang, string(n.Language))
	msg.SetBodyString(gomail.TypeTextPlain, plainLetter(letter, to))
	msg.AddAlternativeString(gomail.TypeTextHTML, page.String())
	return msg, nil
}

func plainLetter(l saved.Letter, to links) string {
	var b strings.Builder
	line := func(texts ...string) {
		for _, text := range texts {
			if text != "" {
				b.WriteString(text + "\r\n")
			}
		}
	}
	line(l.Intro...)
	for _, i := range l.Items {
		line(i.Headline, i.Where, i.Change, i.Note, i.URL)
		b.WriteString("\r\n")
	}
	line(l.More)
	if l.Confirm != "" {
		line(to.Confirm)
		b.WriteString("\r\n")
		line(l.Never, to.Stop)
		return b.String()
	}
	b.WriteString("-- \r\n")
	line(l.Why, l.Stop+": "+to.Stop)
	return b.String()
}

var htmlLetter = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="{{.Language}}"><head><meta charset="utf-8"><title>{{.Letter.Subject}}</title></head>
<body style="font-family: sans-serif; max-width: 40em">
{{range .Letter.Intro}}<p>{{.}}</p>
{{end}}{{range .Letter.Items}}<p>{{if .URL}}<a href="{{.URL}}"><b>{{.Headline}}</b></a>{{else}}<b>{{.Headline}}</b>{{end -}}
{{with .Where}}<br>{{.}}{{end}}{{with .Change}}<br>{{.}}{{end}}{{with .Note}}<br><i>{{.}}</i>{{end}}</p>
{{end}}{{with .Letter.More}}<p>{{.}}</p>
{{end}}{{if .Letter.Confirm}}<p><a href="{{.To.Confirm}}"><b>{{.Letter.Confirm}}</b></a></p>
<p>{{.Letter.Never}} <a href="{{.To.Stop}}">{{.Letter.Stop}}</a></p>
{{else}}<hr><p><small>{{.Letter.Why}} <a href="{{.To.Stop}}">{{.Letter.Stop}}</a></small></p>
{{end}}</body></html>
`))
