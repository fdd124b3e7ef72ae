package crawl_test

import (
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/domain/crawl"
)

func TestKind(t *testing.T) {
	t.Parallel()
	const xhtml = `<?xml version="1.0"?><?xml-stylesheet href="x"?><!-- x --><!DOCTYPE html PUBLIC
		"-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
		<html xmlns="http://www.w3.org/1999/xhtml" lang="en">`
	for _, tt := range []struct {
		contentType, body string
		html, xml         bool
	}{
		{"text/html", "", true, false},
		{"Text/HTML; charset=utf-8", "", true, false},
		{"application/xhtml+xml;charset=utf-8", "", true, true},
		{"text/plain", "<html>", false, false},
		{"application/xml", "<html>", false, false},
		{"", "\ufeff\n <!DOCTYPE html><title>x", true, false},
		{"", "<HTML>", true, false},
		{"", " \n" + xhtml, true, true},
		{"", `<?xml version="1.0"?><rss>`, false, false},
		{"", "%PDF-1.7", false, false},
		{"", " \n<DIV>x", true, false},
		{"", "<a href=/x>x", true, false},
		{"", "<p\tclass=x>x", true, false},
		{"", "<pre>x", false, false},
		{"", "<article>x", false, false},
		{"", "<p", false, false},
		{"", "<!-- x -->", true, false},
		{"*/*", "<html>", true, false},
		{"unknown/unknown", "<html>", true, false},
		{"html", "<html>", true, false},
		{"text/html charset=utf-8", "x", true, false},
		{"text/html;;charset=utf-8", "x", true, false},
		{"text/html, text/html; charset=utf-8", "x", true, false},
		{"text/plain, text/html", "x", true, false},
		{"text/html", "%PDF-1.7\n", false, false},
		{"text/html", "PK\x03\x04\x14", false, false},
		{"text/html", "\x89PNG\r\n\x1a\n\x00", false, false},
		{"text/html", "\xff\xd8\xff\xe1\x1c\x45Exif", false, false},
		{"text/html", "\x1f\x8b\x08\x00", false, false},
		{"text/html", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", false, false},
		{"text/html", "\xcf\xf0\xe8\xe2\xe5\xf2", true, false}, // in Windows-1251
		{"text/html", "GIF89a;", false, false},
		{"text/html", "RIFF\x24\x00\x00\x00WEBPVP8 ", false, false},
		{"text/html", "RIFF is a kind of file", true, false},
		{"text/html", "\x00\x00\x00\x18ftypmp42", false, false},
		{"text/html", "ID3\x03\x00", false, false},
		{"text/html", "ID3 is a tag", true, false},
		{"text/html", "%!PS-Adobe-3.0\n", false, false},
		{"text/html", "%!PS", true, false},
		{"text/html", "<p>%PDF-1.7\x00PK\x03\x04", true, false},
		{"text/xml", xhtml, true, true},
		{"application/xml; charset=utf-8", "<h:html\n xmlns:h='http://www.w3.org/1999/xhtml'>", true, true},
		{"application/xml", "<html xmlns='urn:x'>http://www.w3.org/1999/xhtml", false, false},
		{"application/xml", "<urlset xmlns:xhtml='http://www.w3.org/1999/xhtml'>", false, false},
		{"application/rss+xml", xhtml, false, false},
		{"text/xml", "<!-- <html xmlns='http://www.w3.org/1999/xhtml'> --><rss>", false, false},
		{"text/xml", "<", false, false},
		{"text/xml", "<!--", false, false},
		{"text/xml", "<html xmlns='http://www.w3.org/1999/xhtml'", false, false},
		{"", "", false, false},
	} {
		html, xml := crawl.Kind(tt.contentType, []byte(tt.body), []byte(strings.ToValidUTF8(tt.body, "\ufffd")))
		if html != tt.html || xml != tt.xml {
			t.Errorf("Kind(%q, %q) = %t, %t; want %t, %t", tt.contentType, tt.body, html, xml, tt.html, tt.xml)
		}
	}
}
