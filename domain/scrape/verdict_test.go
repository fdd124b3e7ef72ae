package scrape_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/scrape"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                 string
		seen, total, missing int
		want                 scrape.Verdict
		note                 string
	}{
		{"all of them", 100, 100, 0, scrape.Complete, ""},
		{"nine tenths", 90, 100, 5, scrape.Complete, ""},
		{"one fewer", 89, 100, 5, scrape.TooFew, "saw 89 of 100 adverts"},
		{"none of many", 0, 100, 500, scrape.TooFew, "saw 0 of 100 adverts"},
		{"more than stated", 101, 100, 0, scrape.Complete, ""},
		{"no total stated", 3, -1, 0, scrape.Complete, ""},
		{"no total stated, none seen", 0, -1, 19, scrape.Complete, ""},
		{"an empty search", 0, 0, 0, scrape.Complete, ""},
		{"as many missing as are left", 20, 20, 20, scrape.Complete, ""},
		{"more missing than are left", 20, 20, 21, scrape.Suspicious, "21 adverts are missing at once and 20 are left"},
		{"more missing than are left, but few", 3, 3, 19, scrape.Complete, ""},
		{"just many", 3, 3, 20, scrape.Suspicious, "20 adverts are missing at once and 3 are left"},
		{"all are missing, no total stated", 0, -1, 20, scrape.Suspicious, "20 adverts are missing at once and 0 are left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, note := scrape.Judge(tt.seen, tt.total, tt.missing)
			if got != tt.want || note != tt.note {
				t.Errorf("Judge(%d, %d, %d) = %q, %q; want %q, %q", tt.seen, tt.total, tt.missing, got, note, tt.want, tt.note)
			}
		})
	}
}

func TestEmptyPage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		page, seen, total int
		had, suspicious   bool
	}{
		{"page 1 never had any", 1, 0, 0, false, false},
		{"page 1 had some", 1, 0, 0, true, true},
		{"page 1 had some, whatever was seen", 1, 9, 9, true, true},
		{"page 2 never had any", 2, 0, 50, false, false},
		{"page 2 had some, and page 1 holds all", 2, 9, 9, true, false},
		{"page 2 had some, and page 1 holds nine tenths", 2, 9, 10, true, false},
		{"page 2 had some, and page 1 holds fewer", 2, 8, 10, true, true},
		{"page 2 had some, and no total is stated", 2, 9, -1, true, true},
		{"page 2 had some, and the total is none", 2, 0, 0, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := scrape.EmptyPage(tt.page, tt.seen, tt.total, tt.had); (got != "") != tt.suspicious {
				t.Errorf("EmptyPage(%d, %d, %d, %t) = %q", tt.page, tt.seen, tt.total, tt.had, got)
			}
		})
	}
}
