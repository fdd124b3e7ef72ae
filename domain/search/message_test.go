package search_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

func documentOf(t *testing.T, body string) search.Document {
	t.Helper()

	m, err := contract.Decode[contract.CrawledPage]([]byte(body), contract.MaxCrawledPage)
	require.NoError(t, err)
	d, err := search.DocumentOf(m)
	require.NoError(t, err)
	return d
}

const crawledAt = `"timestamp":"2025-11-01T12:00:00.1234567Z","status_code":200`

func TestDocumentOf(t *testing.T) {
	t.Parallel()

	at := time.Date(2025, 11, 1, 12, 0, 0, 123456000, time.UTC)
	require.Equal(t, search.Document{
		URL: "https://example.com/Page?q=1", Site: "example.com", Title: "A page", Description: "Its words",
		Headings: []string{"one", "two"}, Text: "the text", Language: "fr", Type: search.TypeHTML, CrawledAt: at,
	}, documentOf(t, `{"url":"HTTPS://Example.COM:443/Page?q=1#part","text":"the text","html":"<h1>no</h1>","metadata":{`+
		`"title":" A \n page ","description":"Its words","language":"fr_CA","headings":["one",""," two "],`+crawledAt+`}}`))

	require.Equal(t, search.Document{
		URL: "http://example.com:8080/", Site: "example.com:8080", Title: "A Page", Description: "About it",
		Headings: []string{"the first"}, Text: "the first some text", Language: "en", Type: search.TypeHTML, CrawledAt: at,
	}, documentOf(t, `{"url":"http://example.com:8080","html":"<html lang=en><title>A Page</title>`+
		`<meta name=description content='About it'><h1>The First</h1><p>Some text","metadata":{"title":"",`+crawledAt+`}}`))

	require.Equal(t, search.Document{
		URL: "https://example.com/", Site: "example.com", Title: "A Page", Text: "its words", Language: "en",
		Type: search.TypeHTML, CrawledAt: at,
	}, documentOf(t, `{"url":"https://example.com/","text":"its words","html":"<html lang=en><meta charset=latin1>`+
		`<title>A Page</title><p>other words","metadata":{`+crawledAt+`}}`), "what the metadata lack, but no text")
	require.Equal(t, "été", documentOf(t, `{"url":"https://example.com/","text":" ","html":"<meta charset=latin1>`+
		`<p>\u00c9t\u00e9","metadata":{`+crawledAt+`}}`).Text, "the text has no words")
	require.Empty(t, documentOf(t, `{"url":"https://example.com/","html":"","metadata":{`+crawledAt+`}}`).Text)

	nul := documentOf(t, `{"url":"https://example.com/","text":"one\u0000two","metadata":{"title":"a\u0000b",`+
		`"description":"\u0000","headings":["\u0000","c\u0000d"],"language":"\u0000",`+crawledAt+`}}`)
	require.Equal(t, []string{"one two", "a b", "", "c d"}, []string{nul.Text, nul.Title, nul.Description, nul.Headings[0]})
	nul = documentOf(t, `{"url":"https://example.com/","html":"a\u0000b<title>c\u0000d</title>","metadata":{`+crawledAt+`}}`)
	require.NotContains(t, nul.Text+nul.Title, "\x00")

	d := documentOf(t, `{"url":"https://example.com/","text":"x","metadata":{"title":"`+strings.Repeat("é", 2000)+
		`","headings":[`+strings.Repeat(`"x",`, 80)+`"x"],`+crawledAt+`}}`)
	require.Equal(t, strings.Repeat("é", 1000), d.Title)
	require.Len(t, d.Headings, 50)

	text := "x"
	_, err := search.DocumentOf(contract.CrawledPage{URL: "https://user:secret@example.com/", Text: &text})
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class)
	require.NotContains(t, err.Error(), "secret")
}

func TestTypeOfPage(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ url, contentType, want string }{
		{"https://e.example/", "", "html"},
		{"https://e.example/a.b/c", "", "html"},
		{"https://e.example/a.PDF?x=.txt", "", "pdf"},
		{"https://e.example/a.php", "", "html"},
		{"https://e.example/a.pdf", "text/html; charset=utf-8", "html"},
		{"https://e.example/get?file", "application/pdf", "pdf"},
		{"https://e.example/a.xlsx", "application/octet-stream", "spreadsheet"},
	} {
		d := documentOf(t, `{"url":"`+tt.url+`","text":"x","metadata":{"content_type":"`+tt.contentType+`",`+crawledAt+`}}`)
		require.Equal(t, tt.want, d.Type, tt.url)
		require.Contains(t, search.Types, d.Type)
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()

	for tag, want := range map[string]string{
		"": "", "fr": "fr", "FR-ca": "fr", "en_US": "en", "eng": "en", "zh-Hant-TW": "zh", "x-klingon": "", "und": "",
		"english": "", "tlh": "", "xx": "", " de ": "de", "iw": "he", "\xff\xfe": "",
	} {
		require.Equal(t, want, search.Language(tag), tag)
	}
}
