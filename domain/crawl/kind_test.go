package crawl_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/crawl"
)

func TestKind(t *testing.T) {
	t.Parallel()
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
		{"", "%PDF-1.7", false, false},
		{"", "", false, false},
	} {
		html, xml := crawl.Kind(tt.contentType, []byte(tt.body))
		if html != tt.html || xml != tt.xml {
			t.Errorf("Kind(%q, %q) = %t, %t; want %t, %t", tt.contentType, tt.body, html, xml, tt.html, tt.xml)
		}
	}
}
