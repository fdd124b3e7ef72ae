package listing

import (
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Reason is one thing that keeps an advert from becoming a listing.
type Reason struct {
	Field   string `json:"field"`   // as in the scraped message: title, price, bedrooms, …
	Code    string `json:"code"`    // e.g. missing, out_of_range, wanted, not_a_rental
	Message string `json:"message"` // what was found and what is expected
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
