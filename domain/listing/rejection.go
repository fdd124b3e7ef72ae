package listing

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Codes of reasons and warnings.
const (
	CodeMissing     = "missing"      // reason: a required field is not stated anywhere
	CodeOutOfRange  = "out_of_range" // reason, or warning for a value that was dropped
	CodeWanted      = "wanted"       // reason: the advert looks for a home
	CodeSwap        = "swap"         // reason: a home for a home
	CodeSale        = "sale"         // reason: for sale
	CodeNotAHome    = "not_a_home"   // reason: shop, office, parking place
	CodePerDay      = "per_day"      // reason: a price per day has no monthly equivalent
	CodeConflict    = "conflict"     // warning: two sources disagree
	CodeMultiUnit   = "multi_unit"   // warning: several homes in one advert
	CodePlaceholder = "placeholder"  // warning: a value that only fills a form
	CodeTruncated   = "truncated"    // warning
	CodeCleaned     = "cleaned"      // warning: bytes that no text should hold were dropped
	CodeWeekly      = "weekly"       // warning: a rent per week was converted
	CodeYearly      = "yearly"       // warning: a rent per year was converted
	CodeDoubtful    = "doubtful"     // warning: possible, but unlikely
	CodeInvalidURL  = "invalid_url"  // warning: an image address was dropped
	CodeTooMany     = "too_many"     // warning: more images than MaxImages
	CodeRoom        = "room"         // warning: a room in a shared home
	CodeElsewhere   = "elsewhere"    // warning: the home is far from where the advert was posted
)

// A Reason is one thing that keeps an advert from becoming a listing.
type Reason struct {
	Field   string `json:"field"`   // as in the scraped message: title, price, bedrooms, …
	Code    string `json:"code"`    // e.g. missing, out_of_range, wanted, not_a_rental
	Message string `json:"message"` // the value found and the one expected
}

// Rejection is the error for an advert that can never become a listing. It carries every reason, not only the
// first, and its fault class is Invalid.
type Rejection struct {
	Reasons []Reason `json:"reasons"`
}

func (r *Rejection) Error() string {
	parts := make([]string, len(r.Reasons))
	for i, reason := range r.Reasons {
		parts[i] = reason.Field + ": " + reason.Message
	}
	return strings.Join(parts, "; ")
}

// Unwrap gives the rejection its class.
func (r *Rejection) Unwrap() error { return &fault.Error{Class: fault.Invalid, Err: errRejected} }

var errRejected = fault.Newf(fault.Invalid, "the advert cannot become a listing")
