package demosite

import (
	"bytes"
	_ "embed" // the stylesheet
	"fmt"
	"html"
	"net/http"
	"strings"
)

//go:embed style.css
var style string

// here stands in rendered pages for the site's own address, which is that of the request.
const here = "http://demo.invalid"

const notice = "This is a demo site. Nothing on it is real: no home here is for rent."

// reply is a rendered page.
type reply struct {
	status      int
	location    string // of a redirect
	contentType string
	body        []byte
}

func htmlReply(body []byte) reply {
	return reply{status: http.StatusOK, contentType: "text/html; charset=utf-8", body: body}
}

func notFound(why string) reply {
	text := []byte("demo: " + why + "\n")
	return reply{status: http.StatusNotFound, contentType: "text/plain; charset=utf-8", body: text}
}

// head begins a page; more elements of its head may follow, then comes body.
func head(p *bytes.Buffer, lang, title, half string) {
	fmt.Fprintf(p, `<!DOCTYPE html>
<html lang="%s" data-half="%s"><head><meta charset="utf-8"><meta name="robots" content="noindex">
<meta name="viewport" content="width=device-width"><title>%s (demo)</title><link rel="stylesheet" href="/style.css">
`, lang, half, html.EscapeString(title))
}

func body(p *bytes.Buffer) {
	fmt.Fprintf(p, `</head>
<body><p class="demo"><strong>%s</strong></p>
<nav><a class="home" href="/">Demo site</a><a href="%s">Kijiji's half</a><a href="%s">Kangalou's half</a>
<a href="%s">Centris' part</a></nav>
<main>
`, notice, kijijiPath, kangalouPath, centrisPath())
}

func foot(p *bytes.Buffer) { p.WriteString("\n</main></body></html>\n") }

// pager links to the pages of a search, the first to the last; at is the address of one.
func pager(p *bytes.Buffer, n, last int, at func(n int) string) {
	if last < 2 {
		return
	}
	p.WriteString("<nav class=\"pages\">")
	for i := 1; i <= last; i++ {
		rel := ""
		switch {
		case i == n:
			fmt.Fprintf(p, "<b aria-current=\"page\">%d</b>", i)
			continue
		case i == n-1:
			rel = ` rel="prev"`
		case i == n+1:
			rel = ` rel="next"`
		case i > 3 && i < last-2 && (i < n-3 || i > n+3):
			continue
		}
		fmt.Fprintf(p, `<a href="%s"%s>%d</a>`, html.EscapeString(at(i)), rel, i)
	}
	p.WriteString("</nav>\n")
}

// photos shows an advert's photos, as Kangalou's pages do.
func photos(p *bytes.Buffer, o *home) {
	p.WriteString("<div class=\"photos\">\n")
	for n := range o.photos {
		src := strings.TrimPrefix(o.photo(n+1), here)
		fmt.Fprintf(p, `<div class="slick-slide"><a class="js-LightobxTrigger" href="%[1]s"><img src="%[1]s" alt="photo %[2]d" `+
			`width="240" height="180" loading="lazy"></a></div>`+"\n", src, n+1)
	}
	p.WriteString("</div>\n")
}

// WritePage answers with an HTML page that says that it is a demo. The title is text, the body is HTML.
func WritePage(w http.ResponseWriter, title, content string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var p bytes.Buffer
	head(&p, "en", title, "")
	body(&p)
	fmt.Fprintf(&p, "<h1>%s</h1>\n%s", html.EscapeString(title), content)
	foot(&p)
	_, _ = w.Write(p.Bytes())
}

// origin is the site's address as the client knows it.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
