package crawl

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/web"
)

// Kind says whether an answer is a page whose links can be read, and whether it is to be read as XML. It goes by the
// content type, as browsers do: XML of another type is a page where its root is of XHTML, and an answer without a type
// where it begins like a page. A file that calls itself a page is none, by what it is before its conversion to UTF-8.
func Kind(contentType string, raw, body []byte) (html, xml bool) {
	switch kind, _ := web.MediaType(contentType); kind {
	case "text/html":
		return !isFile(raw), false
	case "application/xhtml+xml":
		return true, true
	case "application/xml", "text/xml":
		xhtml := isXHTML(body)
		return xhtml, xhtml
	case "":
		if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("<?xml")) {
			xhtml := isXHTML(body)
			return xhtml, xhtml
		}
		return beginsLikePage(body), false
	}
	return false, false
}

// files are what files begin with by the MIME Sniffing Standard, and office documents: PDF and PostScript, ZIP (as
// office documents are) and those before, pictures, sound and films, fonts, archives. A "." is any byte.
var files = []string{
	"%PDF-", "%!PS-Adobe-", "PK\x03\x04", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
	"GIF87a", "GIF89a", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "\x00\x00\x01\x00", "RIFF....WEBPVP",
	"RIFF....WAVE", "RIFF....AVI ", "FORM....AIFF", "OggS\x00", "ID3\x02", "ID3\x03", "ID3\x04", "MThd\x00\x00\x00\x06",
	"\x00\x00..ftyp", "\x1a\x45\xdf\xa3", "wOFF\x00\x01\x00\x00", "wOFFOTTO", "wOF2\x00\x01\x00\x00", "wOF2OTTO",
	"\x1f\x8b\x08", "Rar!\x1a\x07",
}

// isFile says that a body is one, as it came.
func isFile(raw []byte) bool {
	return slices.ContainsFunc(files, func(sign string) bool {
		for i := range len(sign) {
			if i == len(raw) || raw[i] != sign[i] && sign[i] != '.' {
				return false
			}
		}
		return true
	})
}

// headMost is how much of a body tells what it is, in bytes.
const headMost = 1024

// isXHTML says that the root element of XML is html, of the namespace of XHTML.
func isXHTML(body []byte) bool {
	head := body[:min(len(body), headMost)]
	for {
		i := bytes.IndexByte(head, '<')
		if i < 0 || i+1 == len(head) {
			return false
		}
		head = head[i+1:]
		end := ">"
		switch {
		case bytes.HasPrefix(head, []byte("!--")):
			end = "-->"
		case head[0] != '!' && head[0] != '?':
			root, _, whole := bytes.Cut(head, []byte(">"))
			words := bytes.Fields(root)
			return whole && len(words) > 0 && (string(words[0]) == "html" || bytes.HasSuffix(words[0], []byte(":html"))) &&
				bytes.Contains(root, []byte("http://www.w3.org/1999/xhtml"))
		}
		_, rest, found := bytes.Cut(head, []byte(end))
		if !found {
			return false
		}
		head = rest
	}
}

// begins are the tags with which browsers take a body without a type for a page, and "<frameset".
var begins = strings.Fields("<html <head <script <iframe <h1 <div <font <table <a <style <title <b <body <br <p <frameset")

// beginsLikePage is the rule of the MIME Sniffing Standard.
func beginsLikePage(body []byte) bool {
	start := bytes.ToLower(bytes.TrimLeft(body[:min(len(body), headMost)], " \t\r\n\f\ufeff"))
	if bytes.HasPrefix(start, []byte("<!--")) || bytes.HasPrefix(start, []byte("<!doctype html")) {
		return true
	}
	end := bytes.IndexAny(start, " >\t\r\n")
	return end > 0 && slices.Contains(begins, string(start[:end]))
}
