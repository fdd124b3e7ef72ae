package draft_test

import (
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/domain/draft"
)

func TestGTIN(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ name, in, want string }{
		{"EAN-13", "4006381333931", "4006381333931"},
		{"EAN-13 with spaces", " 4 006381 333931 ", "4006381333931"},
		{"EAN-8", "73513537", "73513537"},
		{"UPC-A", "036000291452", "036000291452"},
		{"GTIN-14", "10036000291459", "10036000291459"},
		{"ISBN-13 with hyphens", "978-0-306-40615-7", "9780306406157"},
		{"ISBN-13 with typographic hyphens", "978\u20110\u2011306\u201140615\u20117", "9780306406157"},
		{"ISBN-10", "0-306-40615-2", "9780306406157"},
		{"ISBN-10 with X", "0-8044-2957-X", "9780804429573"},
		{"ISBN-10 with x", "080442957x", "9780804429573"},
		{"wrong check digit", "4006381333932", ""},
		{"two digits swapped", "4006318333931", ""},
		{"ISBN-10, wrong check digit", "0306406153", ""},
		{"ISBN-10, X inside", "03064X6152", ""},
		{"ISBN-10, a sign for ten", "080442957:", ""},
		{"zeros", "0000000000000", ""},
		{"zeros of ISBN-10", "0000000000", ""},
		{"too short", "4006381", ""},
		{"9 digits", "400638133", ""},
		{"11 digits", "03600029145", ""},
		{"too long", "400638133393100", ""},
		{"letters", "40063813339A1", ""},
		{"other digits", "٤٠٠٦٣٨١٣٣٣٩٣١", ""},
		{"nothing", "", ""},
		{"hyphens only", "--------", ""},
		{"a text", strings.Repeat("4006381333931 ", 100), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, ok := draft.GTIN(tt.in); got != tt.want || ok != (tt.want != "") {
				t.Errorf("GTIN(%q) = %q, %t; want %q", tt.in, got, ok, tt.want)
			}
		})
	}
}

func FuzzGTIN(f *testing.F) {
	for _, s := range []string{"4006381333931", "0-8044-2957-X", "73513537", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := draft.GTIN(s)
		if again, okAgain := draft.GTIN(got); ok && (!okAgain || again != got) {
			t.Errorf("GTIN(%q) = %q, which is none", s, got)
		}
	})
}

func TestGTINOfLinks(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"https://id.gs1.org/01/04006381333931": "04006381333931", "https://example.com/de/01/4006381333931/10/ABC/21/1?17=250101#x": "4006381333931",
		"http://example.com/gtin/036000291452/": "036000291452", "https://example.com/01/4006381333930": "", "https://example.com/p/4006381333931": "",
		"https://example.com/?gtin/4006381333931": "", "https://example.com/01": "", "https://": "",
	} {
		got, ok := draft.GTIN(link)
		if got != want || ok != (want != "") {
			t.Errorf("GTIN(%q) = %q, %t; want %q", link, got, ok, want)
		}
	}
}
