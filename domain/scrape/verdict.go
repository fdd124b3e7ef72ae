package scrape

import (
	"fmt"
	"time"
)

// A Verdict says what a cycle that reached the last search page amounts to.
type Verdict string

// The verdicts.
const (
	Complete   Verdict = "complete"   // adverts that it did not see are missing
	TooFew     Verdict = "too few"    // it saw far fewer adverts than the site states: none is missing
	Suspicious Verdict = "suspicious" // too many adverts went missing at once: none is, and a person should look
)

// manyMissing is how many adverts must go missing at once, and outnumber those that are left, before the site is
// suspected rather than the adverts taken for removed.
const manyMissing = 20

// An advert that is missing from GoneAfter complete cycles in a row is gone, for GoneReason, unless its own page says
// otherwise: adverts move to other pages while a search is read, and a cycle may miss one that way. From GoneForSure
// cycles on its page no longer counts, for some sites keep the pages of removed adverts.
const (
	GoneAfter   = 2
	GoneForSure = 10
	GoneReason  = "missing in two cycles"
)

// After so many visits in a row that failed, or found the advert removed, the site is at fault and not an advert.
const (
	FailedInARow = 3
	GoneInARow   = 5 // a search page shows adverts that exist
)

// Judge says what a cycle amounts to that saw so many adverts of the total that the site states (-1 = it states none),
// with so many newly missing: in the complete cycle before and not in this one. The note says in words why it is not
// complete, and is "" when it is.
func Judge(seen, total, missing int) (v Verdict, note string) {
	switch {
	case !nearlyAll(seen, total):
		return TooFew, fmt.Sprintf("saw %d of %d adverts", seen, total)
	case missing >= manyMissing && missing > seen:
		return Suspicious, fmt.Sprintf("%d adverts are missing at once and %d are left", missing, seen)
	}
	return Complete, ""
}

// EmptyPage says why an empty search page is suspicious, and "" when it is not. page is its number, 1 being the first;
// had says that it held adverts before; the pages before it held seen adverts of the total that the site states (-1 =
// it states none). A page that had adverts before may be empty when those pages held nearly all. Page 1 never may.
func EmptyPage(page, seen, total int, had bool) (reason string) {
	if !had || page > 1 && total > 0 && nearlyAll(seen, total) {
		return ""
	}
	return "no adverts on a page that had some before"
}

// nearlyAll says that n adverts are at least nine tenths of a total: some come and go while the pages are read.
func nearlyAll(n, total int) bool { return n*10 >= total*9 }

// IsGone says whether an advert is gone that so many complete cycles in a row did not show, the last of which began at
// started. One whose own page was there since is not, until GoneForSure.
func IsGone(missed int, visited, started time.Time) bool {
	return missed >= GoneForSure || missed >= GoneAfter && visited.Before(started)
}
