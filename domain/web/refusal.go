package web

import (
	"errors"
	"fmt"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Refusal is the error of a site that refuses requests for now: by 429, 403, a CAPTCHA, a refused connection.
type Refusal struct {
	Reason string // for operators and a metric's label: "429", "403", "captcha", "connection refused", …
}

func (r *Refusal) Error() string { return "the site refuses: " + r.Reason }

// Refused makes the error of a refusal. after is the wait that the site itself asks for, 0 = none.
func Refused(reason string, after time.Duration) error {
	return &fault.Error{Class: fault.Throttled, After: after, Err: &Refusal{reason}}
}

// RefusalOf returns the refusal in err's chain, and nil for any other error.
func RefusalOf(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return nil
}

// A ShapeError says that a parser does not recognize a page: the site has changed, or it is another page. It is never
// mistaken for a page without results.
type ShapeError struct {
	What string // the element or value that was not found
}

func (e *ShapeError) Error() string { return "page not recognized: " + e.What }

// Unrecognized makes a ShapeError. It is fault.Invalid: the same page will not be read the next time either.
func Unrecognized(format string, args ...any) error {
	return &fault.Error{Class: fault.Invalid, Err: &ShapeError{fmt.Sprintf(format, args...)}}
}

// MaxRetryAfter is the longest wait that a site may ask for.
const MaxRetryAfter = 6 * time.Hour
