package notify

import (
	"bytes"
	"fmt"
	"html/template"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// links are the addresses by which the owner of a target answers. Both lead to a page that asks, for mail programs
// follow links by themselves.
type links struct{ Confirm, Stop string }

// linksOf are those of a notice; api is the URL of the API.
func linksOf(api string, n *saved.Notice) links {
	base := strings.TrimSuffix(api, "/") + "/subscriptions/" + n.Address.Token
	return links{base + "/confirm", base + "/unsubscribe"}
}

// write is the e-mail of a notice, text and HTML. That of one delivery differs between tries only in its date, and
// where a listing has changed.
func (m *Mail) write(n saved.Notice) ([]byte, error) {
	letter, to := n.Letter(), linksOf(m.o.Links, &n)
	var out bytes.Buffer
	_, domain := parted(m.from.Address)
	header := func(name, value string) { fmt.Fprintf(&out, "%s: %s\r\n", name, value) }
	header("From", m.from.String())
	header("To", (&mail.Address{Address: n.Address.Email}).String())
	// Encoded words stand in a line each: of one line, there may be more than servers take.
	header("Subject", strings.ReplaceAll(mime.QEncoding.Encode("utf-8", letter.Subject), "?= =?", "?=\r\n =?"))
	header("Date", m.o.Now().UTC().Format(time.RFC1123Z))
	header("Message-ID", "<"+n.ID.String()+"@"+domain+">")
	header("List-Unsubscribe", "<"+to.Stop+">")
	header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	header("Auto-Submitted", "auto-generated")
	header("Content-Language", string(n.Language))
	header("MIME-Version", "1.0")
	parts := multipart.NewWriter(&out)
	if err := parts.SetBoundary(strings.ReplaceAll(n.ID.String(), "-", "")); err != nil {
		return nil, fault.Newf(fault.Invalid, "write e-mail: %w", err)
	}
	header("Content-Type", `multipart/alternative; boundary="`+parts.Boundary()+`"`)
	out.WriteString("\r\n")
	var page bytes.Buffer
	err := htmlLetter.Execute(&page, map[string]any{"Letter": letter, "To": to, "Language": n.Language})
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "write e-mail: %w", err)
	}
	for _, part := range []struct{ kind, body string }{
		{"text/plain", plainLetter(letter, to)}, {"text/html", page.String()},
	} {
		w, err := parts.CreatePart(textproto.MIMEHeader{
			"Content-Type": {part.kind + "; charset=utf-8"}, "Content-Transfer-Encoding": {"quoted-printable"},
		})
		if err == nil {
			q := quotedprintable.NewWriter(w)
			if _, err = q.Write([]byte(part.body)); err == nil {
				err = q.Close()
			}
		}
		if err != nil {
			return nil, fault.Newf(fault.Invalid, "write e-mail: %w", err)
		}
	}
	if err := parts.Close(); err != nil {
		return nil, fault.Newf(fault.Invalid, "write e-mail: %w", err)
	}
	return out.Bytes(), nil
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
