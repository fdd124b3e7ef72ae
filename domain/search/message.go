package search

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/language"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/web"
)

// Bounds of what is kept of a message, in characters. A text is as long as its message.
const (
	maxTitle       = 1000
	maxDescription = 4000
	maxHeadings    = 50
	maxHeading     = 200
)

// DocumentOf is the page that a message brings, under its canonical address. What the metadata lack, and the text where
// that has no words, is taken from the HTML, where the message has it. NUL characters are spaces.
// An address that no page can have is fault.Invalid.
func DocumentOf(m contract.CrawledPage) (Document, error) {
	a, err := web.Canonical(m.URL)
	if err != nil {
		return Document{}, fault.Newf(fault.Invalid, // the address last: reasons are cut
			"url: expected http or https, a host and no credentials, at most %d bytes percent-encoded, not %s", web.MaxAddress,
			web.Show(m.URL))
	}
	about := m.Metadata
	d := Document{
		URL: a.URL, Site: a.Host,
		Title: oneLine(about.Title, maxTitle), Description: oneLine(about.Description, maxDescription),
		Language: Language(about.Language), Type: typeOf(a, about.ContentType),
		CrawledAt: about.Timestamp.UTC().Truncate(time.Microsecond),
	}
	headings := about.Headings
	if m.Text != nil {
		d.Text = strings.ReplaceAll(*m.Text, "\x00", " ")
	}
	if m.HTML != nil {
		read := page.Read([]byte(*m.HTML), page.ReadOptions{Text: true, MaxText: contract.MaxCrawledPage, MaxLinks: 1})
		if strings.TrimSpace(d.Text) == "" {
			d.Text = read.Text
		}
		if d.Title == "" {
			d.Title = oneLine(read.Title, maxTitle)
		}
		if d.Description == "" {
			d.Description = oneLine(read.Description, maxDescription)
		}
		if d.Language == "" {
			d.Language = Language(read.Lang)
		}
		if len(headings) == 0 {
			headings = read.Headings
		}
	}
	for _, h := range headings {
		if h = oneLine(h, maxHeading); h != "" && len(d.Headings) < maxHeadings {
			d.Headings = append(d.Headings, h)
		}
	}
	if d.Language == "" {
		d.Language = Detect(d.Text)
	}
	return d, nil
}

// oneLine is text in one line, without white space around it, of at most so many characters.
func oneLine(s string, most int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	s, _ = page.Cut(strings.Join(strings.Fields(strings.ReplaceAll(s, "\x00", " ")), " "), most)
	return s
}

// Language is the ISO 639-1 code of a language tag such as "fr-CA" or "eng"; "" for one that has none.
func Language(tag string) string {
	tag, _, _ = strings.Cut(strings.ReplaceAll(strings.TrimSpace(tag), "_", "-"), "-")
	if len(tag) < 2 || len(tag) > 3 {
		return ""
	}
	parsed, err := language.Parse(tag)
	base, sure := parsed.Base()
	if err != nil || sure != language.Exact || len(base.String()) != 2 {
		return ""
	}
	return base.String()
}

// The types of pages.
const (
	TypeHTML         = "html" // of all addresses that name no other
	TypeText         = "text"
	TypePDF          = "pdf"
	TypeDocument     = "document"
	TypeSpreadsheet  = "spreadsheet"
	TypePresentation = "presentation"
	TypeData         = "data" // XML, JSON, …
)

// Types are all of them.
var Types = []string{TypeHTML, TypeText, TypePDF, TypeDocument, TypeSpreadsheet, TypePresentation, TypeData}

// extensions and contentTypes name a type; what they do not have is TypeHTML.
var (
	extensions = map[string]string{
		"txt": TypeText, "text": TypeText, "md": TypeText, "markdown": TypeText, "rst": TypeText, "log": TypeText,
		"tex": TypeText, "pdf": TypePDF, "doc": TypeDocument, "docx": TypeDocument, "odt": TypeDocument, "rtf": TypeDocument,
		"pages": TypeDocument, "epub": TypeDocument, "ps": TypeDocument, "xls": TypeSpreadsheet, "xlsx": TypeSpreadsheet,
		"ods": TypeSpreadsheet, "csv": TypeSpreadsheet, "tsv": TypeSpreadsheet, "ppt": TypePresentation,
		"pptx": TypePresentation, "odp": TypePresentation, "key": TypePresentation, "xml": TypeData, "rss": TypeData,
		"atom": TypeData, "json": TypeData, "yaml": TypeData, "yml": TypeData, "rdf": TypeData, "toml": TypeData,
	}
	contentTypes = map[string]string{
		"text/html": TypeHTML, "application/xhtml+xml": TypeHTML, "text/plain": TypeText, "text/markdown": TypeText,
		"application/pdf": TypePDF, "application/msword": TypeDocument, "application/rtf": TypeDocument,
		"application/epub+zip": TypeDocument, "application/postscript": TypeDocument,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": TypeDocument,
		"application/vnd.oasis.opendocument.text":                                 TypeDocument, "text/csv": TypeSpreadsheet,
		"application/vnd.ms-excel": TypeSpreadsheet, "application/vnd.oasis.opendocument.spreadsheet": TypeSpreadsheet,
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         TypeSpreadsheet,
		"application/vnd.ms-powerpoint":                                             TypePresentation,
		"application/vnd.oasis.opendocument.presentation":                           TypePresentation,
		"application/vnd.openxmlformats-officedocument.presentationml.presentation": TypePresentation,
		"application/json": TypeData, "application/xml": TypeData, "text/xml": TypeData, "application/rss+xml": TypeData,
		"application/atom+xml": TypeData, "application/yaml": TypeData,
	}
)

// typeOf goes by the content type, and without a known one by the extension of the address.
func typeOf(a web.Address, contentType string) string {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	if t, ok := contentTypes[strings.TrimSpace(kind)]; ok {
		return t
	}
	name, _, _ := strings.Cut(a.Path, "?")
	if t, ok := extensions[strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))]; ok {
		return t
	}
	return TypeHTML
}
