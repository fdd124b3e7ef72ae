// Package body opens what rental sites answer with, for the readers of domain/platform: HTML, JSON, and data within
// scripts. What arrived in part is a *web.ShapeError and never a shorter page.
package body

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/PuerkitoBio/goquery"

	"github.com/mtlrent/conveyor/domain/web"
)

// HTML parses a page that has arrived to its end.
func HTML(p web.Page) (*goquery.Document, error) {
	if !bytes.Contains(bytes.ToLower(p.Body[max(0, len(p.Body)-1024):]), []byte("</html>")) {
		return nil, web.Unrecognized("the page has no end")
	}
	return Fragment(p.Body)
}

// Fragment parses HTML that need not be a whole page.
func Fragment(html []byte) (*goquery.Document, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(html))
	if err != nil {
		return nil, web.Unrecognized("no HTML: %v", err)
	}
	return doc, nil
}

// JSON returns the JSON of an answer, also where Chromium shows it as a page; nil for anything else. It need not be
// valid.
func JSON(answer []byte) []byte {
	answer = bytes.TrimPrefix(bytes.TrimSpace(answer), []byte("\ufeff"))
	if bytes.HasPrefix(answer, []byte("{")) || bytes.HasPrefix(answer, []byte("[")) {
		return answer
	}
	if !bytes.Contains(answer[:min(len(answer), 2048)], []byte("<pre")) {
		return nil
	}
	doc, err := Fragment(answer)
	if err != nil {
		return nil
	}
	text := strings.TrimSpace(doc.Find("body > pre").First().Text())
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		return []byte(text)
	}
	return nil
}

// Assigned returns the JSON value that a script of the page assigns to name ("App.store.listing"), nil where no script
// does. A value that is cut off or no JSON is a *web.ShapeError.
func Assigned(doc *goquery.Document, name string) (value json.RawMessage, err error) {
	doc.Find("script").EachWithBreak(func(_ int, s *goquery.Selection) bool {
		text := s.Text()
		for {
			_, rest, found := strings.Cut(text, name)
			if !found {
				return true
			}
			text = rest
			if rest = strings.TrimLeft(rest, " \t\r\n"); strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") {
				text = rest[1:]
				break
			}
		}
		if wrong := json.NewDecoder(strings.NewReader(text)).Decode(&value); wrong != nil {
			value, err = nil, web.Unrecognized("%s: %v", name, wrong)
		}
		return false
	})
	return value, err
}

// LinkedData returns the blocks of JSON-LD of a page that are valid JSON, in order.
func LinkedData(doc *goquery.Document) (blocks []json.RawMessage) {
	doc.Find(`script[type="application/ld+json"]`).Each(func(_ int, s *goquery.Selection) {
		if raw := []byte(s.Text()); json.Valid(raw) {
			blocks = append(blocks, raw)
		}
	})
	return blocks
}

// Line folds white space, that which does not break included.
func Line(s string) string { return strings.Join(strings.Fields(s), " ") }

// Address puts an address together of what there is of it. "None" is how sites write that it has no postal code.
func Address(street, city, region, code string) string {
	out := Line(street)
	for _, part := range []string{city, region} {
		if part != "" {
			out += ", " + part
		}
	}
	if code != "" && !strings.EqualFold(code, "none") {
		out += " " + code
	}
	return strings.TrimPrefix(out, ", ")
}

// Text is the text of the first element of a selection as one line; "" for none.
func Text(s *goquery.Selection) string { return Line(s.First().Text()) }

// Inner is the content of an element, with its tags; "" for none.
func Inner(s *goquery.Selection) string {
	if s.Length() == 0 {
		return ""
	}
	html, _ := s.Html() // fails only on a writer that fails
	return strings.TrimSpace(html)
}

// Degrees reads coordinates as a page writes them, nil and nil where one of them is no number.
func Degrees(lat, lon string) (*float64, *float64) {
	a, err1 := strconv.ParseFloat(strings.TrimSpace(lat), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSpace(lon), 64)
	if err1 != nil || err2 != nil || !(math.Abs(a)+math.Abs(b) <= 1e6) { // "NaN", "Infinity"
		return nil, nil
	}
	return &a, &b
}

// Images makes addresses on a page absolute, each once, in their order. What is no address is left out.
func Images(p web.Page, addresses ...string) (out []string) {
	seen := map[string]bool{}
	for _, s := range addresses {
		u := p.Link(s)
		if u == nil {
			continue
		}
		u.ForceQuery = false // "….jpg?"
		if address := u.String(); !seen[address] {
			seen[address] = true
			out = append(out, address)
		}
	}
	return out
}
